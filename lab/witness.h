/* witness.h - what a kernel's launch on this machine (host_kernel.h) does, beside its product: whether work-items race,
 * where an access leaves its operand, and which words of A, B and C were touched, which names the mistake of many a
 * wrong product. */
#ifndef TILEWRIGHT_WITNESS_H
#define TILEWRIGHT_WITNESS_H

#include "host_kernel.h"

/* Behind each operand so many bytes that belong to none, so that a mistake can be seen to its end. */
enum { WITNESS_GAP = 1 << 20 };

typedef struct witness witness;

/* witness_open - of a launch whose operands have their gaps; tile: rows and columns of C that a group computes, and
 * steps of k of a tile. run must stay. NULL: no memory. */
witness *witness_open(const host_run *run, const int tile[3]);
void witness_close(witness *w);

/* witness_see - as host_run.note. false: a race, a store into A or B, or an access to memory that is nobody's;
 * witness_why says which. */
bool witness_see(witness *w, host_place block, int thread, const host_access *access);
const char *witness_why(const witness *w);

void witness_next_group(witness *w); /* its tiles are others */

/* witness_outside - the first access outside of its operand, in words; "": there is none. */
const char *witness_outside(const witness *w);

/* witness_is_faulty - was there one that is wrong whatever C is: a store, or a load that is not of a row's padding? */
bool witness_is_faulty(const witness *w);

/* witness_name - what the words that were touched say of a wrong C, as a clause. first: what leaves no doubt; else the
 * rest. */
bool witness_name(witness *w, bool first, char text[HOST_WHY]);

#endif
