/* problem.h - one multiplication as a plain value: checked, completed, printed. */
#ifndef TILEWRIGHT_PROBLEM_H
#define TILEWRIGHT_PROBLEM_H

#include "dtypes.h"
#include "error.h"
#include "expression.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum { PROBLEM_FIRST_BYTES = offsetof(tw_problem, dtype_b) }; /* sizeof(tw_problem) of the first layout */

/* problem_is_plain - is the size known, and every field 0 that the first layout did not have? */
static inline bool problem_is_plain(const tw_problem *user)
{
    if (user->size == PROBLEM_FIRST_BYTES) return true;
    if (user->size != sizeof *user) return false;
    uint64_t words[(sizeof *user - PROBLEM_FIRST_BYTES) / sizeof(uint64_t)], set = 0;
    memcpy(words, (const char *)user + PROBLEM_FIRST_BYTES, sizeof words);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) set |= words[i];
    return set == 0;
}

/* problem_take - copy the caller's problem, whatever its size; TW_BAD_ARGUMENT where a reserved field is set. */
tw_status problem_take(const tw_problem *user, tw_problem *p);

/* problem_alignment - the largest power of two up to 256 that divides the address. */
uint32_t problem_alignment(const void *pointer);

/* problem_load - take the caller's problem, check every argument against its pointers (a sentence names the first that
 * is wrong), fill in what is derived: dtype_c, alignments, k = 0 and alpha = 0 wherever either is 0. */
tw_status problem_load(const tw_problem *user, const void *a, const void *b, const void *c, tw_problem *out);

/* batch_check - is this a batch of the checked problem p: count, strides, overlap? */
tw_status batch_check(const tw_batch *batch, const tw_problem *p);

/* batch_check_addresses - are these arrays of a batch's addresses; where they are in host memory, all of them? */
tw_status batch_check_addresses(const tw_batch *batch, const tw_problem *p, const void *a, const void *b,
                                const void *c);

/* batch_item - the address of operand number i of a batch of elements of that many bytes; the stride of an operand that
 * is not read may be anything. */
static inline void *batch_item(const tw_batch *batch, const void *items, int64_t stride, size_t bytes, int64_t i)
{
    if (items == NULL) return NULL;
    return batch->pointers ? ((void *const *)items)[i]
                           : (void *)((uintptr_t)items + (size_t)stride * (size_t)i * bytes);
}

static inline bool op_transposes(tw_op op) { return op == TW_T || op == TW_C; }
static inline bool op_conjugates(tw_op op) { return op == TW_C || op == TW_R; }

static inline int64_t problem_a_rows(const tw_problem *p) { return op_transposes(p->op_a) ? p->k : p->m; }
static inline int64_t problem_a_cols(const tw_problem *p) { return op_transposes(p->op_a) ? p->m : p->k; }
static inline int64_t problem_b_rows(const tw_problem *p) { return op_transposes(p->op_b) ? p->n : p->k; }
static inline int64_t problem_b_cols(const tw_problem *p) { return op_transposes(p->op_b) ? p->k : p->n; }

static inline bool problem_is_complex(const tw_problem *p) { return p->dtype == TW_CF32 || p->dtype == TW_CF64; }

/* Is C of another type than the sums, which are of the type's own result? */
static inline bool problem_converts_c(const tw_problem *p) { return p->dtype_c != dtype_find(p->dtype)->result; }

/* Bytes of a sum, which are those of an element of C unless C is of another type. */
static inline int64_t problem_sum_bytes(const tw_problem *p) { return dtype_find(p->dtype)->sum_bytes; }

/* The triangle of C that is wanted: TW_LOWER, TW_UPPER; 0: all of C. */
static inline uint32_t problem_triangle(const tw_problem *p) { return p->flags & (uint32_t)(TW_LOWER | TW_UPPER); }

/* Is B in a tw_packed_b? */
static inline bool problem_b_is_packed(const tw_problem *p) { return (p->flags & (uint32_t)TW_PACKED_B) != 0; }

/* Are the bits of a row of C to depend on that row alone, and so the order of its sums? Integers are exact in any. */
static inline bool problem_keeps_order(const tw_problem *p)
{
    return (p->flags & TW_INVARIANT) != 0 && !dtype_is_integer(p->dtype);
}

/* Is beta anything but 0, and so C read? */
static inline bool problem_reads_c(const tw_problem *p) { return p->beta != 0 || p->beta_imaginary != 0; }

static inline int64_t ceil_div(int64_t x, int64_t y) { return x / y + (x % y != 0); }
static inline int64_t round_up(int64_t x, int64_t y) { return ceil_div(x, y) * y; }
static inline int64_t min_i64(int64_t x, int64_t y) { return x < y ? x : y; }
static inline int64_t max_i64(int64_t x, int64_t y) { return x > y ? x : y; }

#endif
