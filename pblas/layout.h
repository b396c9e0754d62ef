/* layout.h - ScaLAPACK's matrices: what an array descriptor says, and where the elements of a submatrix lie. */
#ifndef TILEWRIGHT_PBLAS_LAYOUT_H
#define TILEWRIGHT_PBLAS_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

/* Entries of a descriptor of type 2; one of type 1 has no IMB and INB. */
enum { DTYPE, CTXT, M, N, IMB, INB, MB, NB, RSRC, CSRC, LLD, ENTRIES };

/* A dimension in blocks, of which the first has a length of its own, dealt out in turn to `processes`, from process
 * `first` on. */
typedef struct cyclic {
    int64_t first_block, block;
    int first, processes;
} cyclic;

/* Elements before index `end` that a process has. */
int64_t cyclic_count(const cyclic *d, int64_t end, int process);

/* Positions at to at + length of an order of elements: process `owner` stores them from index `local` on. */
typedef struct stretch {
    int64_t at, length, local;
    int owner;
} stretch;

typedef struct stretches {
    stretch *list;
    int64_t count, room;
} stretches;

/* stretches_make - where `length` indices of d lie, from `begin` on. order NULL: in ascending order. Else process by
 * process of another dimension, in which they begin at order_begin: those of process 0 first. False: no memory. */
bool stretches_make(stretches *out, const cyclic *d, int64_t begin, int64_t length, const cyclic *order,
                    int64_t order_begin);
void stretches_free(stretches *s);

#endif
