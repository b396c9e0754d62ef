/* packed_b.h - a B that was packed before its products: what it is, and whether it is the one of a product. */
#ifndef TILEWRIGHT_PACKED_B_H
#define TILEWRIGHT_PACKED_B_H

#include "plan.h"

enum { PACKED_B_MAGIC = 0x7477b9ac };

struct tw_packed_b {
    uint32_t magic; /* PACKED_B_MAGIC */
    tw_dtype dtype, dtype_b;
    tw_op op_b;
    int64_t n, k;
    const kernel_row *row; /* which reads it */
    void *memory;          /* as loops_pack_all() (engines/cpu/loops.c) makes it; NULL: k or n is 0 */
};

/* packed_b_check - is `b` the packed B of this problem, if it reads B? */
tw_status packed_b_check(const void *b, const tw_problem *p);

/* packed_b_find - what it holds, if the plan's kernel reads that. */
tw_status packed_b_find(const void *b, const plan *p, void **memory);

#endif
