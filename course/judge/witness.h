/* witness.h - watches a kernel's launch on this machine (host_kernel.h): races of work-items, accesses outside their
 * operand, and the words of A, B and C that were touched. Those words explain many a wrong product. */
#ifndef TILEWRIGHT_WITNESS_H
#define TILEWRIGHT_WITNESS_H

#include "host_kernel.h"

/* Bytes behind each operand that belong to no operand, so that out-of-bounds accesses do not hit the next one. */
enum { WITNESS_GAP = 1 << 20 };

typedef struct witness witness;

/* witness_open - of a launch whose operands have their gaps; tile: rows and columns of C that a group computes, and
 * steps of k of a tile. run must stay. NULL: no memory. */
witness *witness_open(const host_run *run, const int tile[3]);
void witness_close(witness *w);

/* witness_see - as host_run.note. false: a race, a store into A or B, or an access outside the operands, their gaps and
 * the tiles; witness_why says which. */
bool witness_see(witness *w, host_place block, int thread, const host_access *access);
const char *witness_why(const witness *w);

void witness_next_group(witness *w); /* its tiles are others */

/* witness_outside - the first access outside of its operand, in words; "": there is none. */
const char *witness_outside(const witness *w);

/* witness_is_faulty - is such an access wrong even if C is right: a store, or a load not from a row's padding? */
bool witness_is_faulty(const witness *w);

/* witness_group_of - which group stores this element of C; false: none. */
bool witness_group_of(const witness *w, int row, int col, host_place *group);

/* witness_name - explains a wrong C by the words that were touched, as a clause. first: only mistakes that are certain;
 * else only the others. */
bool witness_name(witness *w, bool first, char text[HOST_WHY]);

#endif
