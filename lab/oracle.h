/* oracle.h - judges a product: two oracles that a wrong kernel cannot pass, and an independent check of files.
 *
 * EXACT  operands are small integers whose product is exact in the accumulator and the output type in any order of
 *        summation: one differing bit fails.
 * BOUND  random operands in (-1, 1) against |alpha| g(k+2) sum|a||b| + g(2)|beta c0| + (max(1, |alpha|) k + 1) smallest
 *        subnormal plus the reference's own error, element by element, in the form !(error <= bound), so that NaN
 *        fails. Derived in docs/ACCURACY.md. Of integers operands are any, and one differing bit fails; where C is of
 *        another type than their sums, what no value within the bound is rounded to.
 *
 * alpha and beta are first rounded to the accumulator's type, and an alpha or beta that rounds to 0 is 0. The reference
 * sums in higher precision (f32: double; f64: two doubles) and shares no code with any kernel. A complex product is
 * judged as the real one that it is, each part by itself (view in reference.h).
 * Includes only tilewright.h and tilewright_lab.h.
 */
#ifndef TILEWRIGHT_ORACLE_H
#define TILEWRIGHT_ORACLE_H

#include <stdbool.h>
#include "tilewright_lab.h"

typedef enum oracle_kind { ORACLE_EXACT, ORACLE_BOUND } oracle_kind;

/* The operands of one problem in host memory and what their product must be. */
typedef struct oracle {
    tw_problem problem;
    oracle_kind kind;
    /* as stored, lda and ldb; the padding between rows is NaN, and so is all where A and B may not be read (alpha == 0
     * or k == 0). Each block of memory ends with its matrix's last element. */
    void *a, *b;
    void *c0;       /* C before the call, ldc: data when beta != 0, NaN when beta == 0; padding is NaN */
    char text[160]; /* why oracle_make failed; else "" */
    /* private */
    /* row_count x n values, of complex types 2 n (as many second halves after them where the dtype needs them); NULL
     * where alpha or beta is so large or small that elements are judged one by one */
    double *reference;
    double *bound;  /* as many; NULL for EXACT */
    int64_t *whole; /* of integers instead of both; else NULL */
    int64_t *rows;  /* rows that have a reference, ascending; NULL: all (see oracle_make) */
    int64_t row_count;
    double limit;  /* no element of the product is larger */
    int64_t chunk; /* 0: none */
} oracle;

typedef struct oracle_verdict {
    bool passed;
    bool sampled; /* only some rows had an element-wise reference */
    /* largest error / bound over the elements judged; EXACT and wrong padding: 0 or infinity */
    double error_ratio;
    int64_t row, col;              /* of the worst element, or of the first touched padding; -1: none */
    double found, expected, bound; /* of complex types of the part that text names */
    char text[256]; /* one sentence when it failed, e.g. "C[3, 11] is 1.5, expected 2 +- 1e-6"; else "" */
} oracle_verdict;

/* oracle_make - operands and reference for a problem.
 *
 * The reference costs m n k multiply-adds of plain C. Where that exceeds max_work (0: no limit), whole rows are
 * sampled: first, last, the rows around multiples of 16, 64 and 128, then random ones, as many as max_work pays for (at
 * least 8); verdicts then say sampled. The other rows are still looked at: no element may be NaN, infinite or larger
 * than any product of such operands.
 * seed      the same seed gives the same op(A), op(B) and C0 on every machine, whatever the ops and leading dimensions
 *           (a counter-based generator)
 * Returns   TW_OK; TW_NO_MEMORY; TW_BAD_ARGUMENT where the problem is not valid or EXACT cannot hold (k too large for
 *           the dtype, alpha or beta with too many bits). out is zeroed then, but for its text. */
tw_status oracle_make(const tw_problem *problem, oracle_kind kind, uint64_t seed, double max_work, oracle *out);

/* oracle_make_in_chunks - the same, with the bound of a kernel that sums chunks of so many steps of k: smaller where k
 * is longer (docs/ACCURACY.md, Chunks). */
tw_status oracle_make_in_chunks(const tw_problem *problem, oracle_kind kind, uint64_t seed, double max_work,
                                int64_t chunk, oracle *out);
void oracle_free(oracle *o);

/* of a: from its first element to its last, padding between rows included */
size_t oracle_a_bytes(const oracle *o);
size_t oracle_b_bytes(const oracle *o);
size_t oracle_c_bytes(const oracle *o);       /* of a C array: (m - 1) * ldc + n elements, 0 when m or n is 0 */
void oracle_poison(const oracle *o, void *c); /* make c what it must be before the call: a copy of c0 */
/* oracle_judge - is c (after the call) the product, and is its padding bit for bit what it was? NaN never passes unless
 * the reference is NaN too; where the reference is infinite, c must be the same infinity. -0 and +0 are one value:
 * which of them an exact zero is depends on the order of summation. */
oracle_verdict oracle_judge(const oracle *o, const void *c);

/* oracle_random - fill count elements of a dtype: values in (-1, 1), uniform, from (seed, index) alone. */
void oracle_random(tw_dtype dtype, uint64_t seed, int64_t count, void *out);

/* ---- the check of somebody's C: verify and multiply --verify ---- */

typedef struct verify_options {
    uint64_t seed;
    int vectors;      /* Freivalds vectors of random signs; 0: 32 */
    int64_t samples;  /* elements recomputed one by one, beside the suspicious ones; 0: 4096 */
    int threads;      /* at most; the report does not depend on them. 0: as many as a call of the library uses */
    bool is_unsigned; /* integers are told as such: their products are the same bits */
    void (*progress)(void *context, double fraction); /* may be NULL */
    void *progress_context;
} verify_options;

typedef struct verify_report {
    bool passed; /* no fault was found; see unchecked */
    int vectors;
    int64_t elements;    /* judged one by one: recomputed, or by their class (NaN, infinity); of complex types parts */
    int64_t failed_rows; /* rows in which the vectors or an element showed a fault */
    /* elements that the vectors could not see (their rows meet an overflow, or a NaN or infinity of C0; or they meet
     * infinities of A or B) and that were too many to be judged one by one; some may be among the samples, some counted
     * twice */
    int64_t unchecked;
    /* largest |residual| / row bound over rows and vectors, a row bound being the sum of its elements' bounds. Above 1:
     * a fault for certain. One element off by more than 2 row bounds is seen for certain, several in one row with
     * probability 1 - 2^-vectors, errors of half of the range in integers 1 - 2^-(vectors / 2) */
    double row_ratio;
    double element_ratio; /* largest error / bound over the elements judged */
    /* the largest row bound. Smaller errors are seen where their rows are among the 16 with the largest residuals (in
     * practice: errors above their own bound) or by the samples */
    double worst_row_bound;
    double worst_element_bound;
    int64_t row, col; /* worst element; col -1: only the row is known; row -1: none */
    double found, expected, bound;
    int64_t whole[2]; /* of integers that are wrong found and expected with all their bits, as signed ones */
    char text[512];   /* one sentence when it failed or left elements unchecked; else "" */
} verify_report;

/* verify_product - judge C = alpha op(A) op(B) + beta C0 by an independent route: residuals of random sign vectors in
 * higher precision, row by row, then single elements (all where there are no more than `samples`; else random ones,
 * each row's largest, the corners, all of the 16 rows with the largest residuals, and those that vectors cannot see:
 * all that meet a NaN or infinity of the operands, are not finite, or overflow on the way) against the derived bound;
 * in doubt in exact arithmetic. Integers by vectors of random weights, modulo 2^n: a row is wrong or not, and its ratio
 * infinity or 0; where C is of another type than their sums, each element by itself, without vectors. So too a C that
 * an epilogue made, by what its text may make of each element's acc (docs/ACCURACY.md, Epilogues). Where that is more
 * work than 2^32 multiply-adds, an element counting as 1024 beside its k, samples of a C of floats alone, with a random
 * element of each row for its largest: the report has fewer elements than C then.
 *
 * c0        may be NULL when beta == 0; it has c's leading dimension
 * Special   NaN and infinities must be where IEEE 754 puts them. Where a sum may overflow in some order of summation,
 *           an infinity (or NaN, where both infinities may meet) is accepted as well as a finite value within the
 *           bound.
 * Cost      some 3 vectors (m k + k n + m n) flops (f64: 5 times that), and 10 k for each of the single elements; of a
 *           C of another type than sums of integers m n k multiply-adds;
 *           memory: some 600 bytes times n + k, and 0.8 MB and 16 k bytes a thread
 * Returns   TW_OK and the report (passed or not), TW_NO_MEMORY, TW_BAD_ARGUMENT */
double verify_bytes(const tw_problem *problem, const verify_options *options); /* the memory that it takes, at most */
tw_status verify_product(const tw_problem *problem, const void *a, const void *b, const void *c0, const void *c,
                         const verify_options *options, verify_report *report);

#endif
