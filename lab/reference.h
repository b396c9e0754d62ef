/* reference.h - a product as the lab sees it: operands viewed through their op, the bound, and dot products in higher
 * precision, eight columns at a time. Shares no code with any kernel. Derivations: docs/ACCURACY.md. */
#ifndef TILEWRIGHT_REFERENCE_H
#define TILEWRIGHT_REFERENCE_H

#include "element.h"

/* A matrix of real numbers: element (i, j) lies i * row + j * col elements after base.
 *
 * A complex matrix is seen as a real one. Where one axis has parts, its neighbours 2 i and 2 i + 1 are the real and the
 * imaginary part of element i. Where both have, an element x + i y is the square
 *
 *      x  y        so that  (r s) times it  is both parts of (r + i s)(x + i y):
 *     -y  x        C of m x 2n is op(A) of m x 2k times op(B) of 2k x 2n.
 */
typedef struct view {
    const element *type; /* real */
    const void *base;
    int64_t row, col;          /* in real numbers; from one complex element to the next where the axis has parts */
    bool row_parts, col_parts; /* the axis has parts */
    bool conjugated, turned;   /* turned: every element times i, of a view with parts along one axis */
} view;

double view_at(view v, int64_t i, int64_t j);
view view_transposed(view v); /* its transpose */
/* view_load - out[(i - i0) * ld + j - j0] = element (i, j), for rows x cols of them; memory is read along its rows. */
void view_load(view v, int64_t i0, int64_t rows, int64_t j0, int64_t cols, double *out, int64_t ld);

/* C = alpha op(A) op(B) + beta C0, all of real numbers. Of complex types the problem is the real one of which C is the
 * same memory: n, k and the leading dimensions are twice the caller's, dtype is a part's. Then, where a scalar has an
 * imaginary part, C = (alpha op(A) + alpha_imaginary (i op(A))) op(B) + beta C0 + beta_imaginary (i C0). */
typedef struct product {
    tw_problem problem; /* with dtype_c filled in; its ops are the caller's, and in the views already */
    int parts;          /* 2: it was complex */
    const element *type, *type_b, *type_c, *accumulator; /* type: of A */
    view a, b, c0;                                       /* op(A) m x k, op(B) k x n, C0 m x n */
    view a_by_i, c0_by_i;
    double alpha, beta; /* rounded to the accumulator's type; of integers as they are */
    double alpha_imaginary, beta_imaginary;
    double alpha_size, beta_size; /* |alpha| + |alpha_imaginary|, and beta's */
    bool reads_ab, reads_c0;      /* do A and B, does C0 take part? */
    bool scaled;                  /* of integers: C is of another type than their sums (whole_scaled) */
    double unit_roundoff;         /* of the accumulator */
    /* bound = g_sum (alpha's sizes times sums of |a||b|) + g_add (beta's terms' sizes) + tiny */
    double g_sum, g_add, tiny;
    /* rounding to a narrower type of C: round_c |c| + tiny_c; 0 where it is not narrower */
    double round_c, tiny_c;
    double slack; /* > 1: covers every rounding made in computing a bound */
} product;

/* product_make - TW_BAD_ARGUMENT where the problem or a pointer that is needed is not valid. */
tw_status product_make(const tw_problem *problem, const void *a, const void *b, const void *c0, product *out);

/* product_in_chunks - narrow the bound to that of a kernel that sums chunks of so many steps of k each by itself and
 * then adds the chunks one after the other. */
void product_in_chunks(product *x, int64_t chunk);

/* product_allow_flushing - widen the bound by what is lost where subnormals of A and B count as 0, if the type's may
 * and there are some. */
void product_allow_flushing(product *x);

/* product_bound - for one element, or summed over several: mass = |alpha| sum|a||b|, addend = |beta c0|, with imaginary
 * scalars those of all terms; size = |c|, count = number of elements. */
double product_bound(const product *x, double mass, double addend, double size, double count);

double gamma_of(double j, double unit_roundoff); /* g(j); where j u > 1/2, (1 + u)^j - 1 */

/* ---- eight sums at once ---- */

enum { LANES = 8 };

/* Compiled for wider vectors too; the loader takes the widest that the processor has. Each operation rounds once, so
 * that all give the same bits. Without sanitizers: the loader asks before they are ready. clang is not tested. */
#if defined __x86_64__ && defined __GLIBC__ && !defined __clang__ && !defined __SANITIZE_ADDRESS__ &&                  \
    !defined __SANITIZE_THREAD__
#define WIDEST __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define WIDEST
#endif

typedef struct lanes { /* sum = high + low; mass = sum of the absolute terms */
    double high[LANES], low[LANES], mass[LANES];
} lanes;

/* A right-hand side of count x LANES: head + tail is the value, split so that products of parts are exact; low (may be
 * NULL) is the second half of a value of two doubles. */
typedef struct lanes_panel {
    double *head, *tail, *low;
} lanes_panel;

/* All add  sum_p v[p] * x[p][lane]  to sums. lanes_sum_pair takes signs of +1, 0 and -1 only. The pair ones leave an
 * error of second order (Ogita, Rump, Oishi 2005, algorithms Sum2 and Dot2); the others sum in plain double. */
void lanes_dot(const double *v, const double *x, int64_t count, lanes *sums);
void lanes_dot_pair(const double *v, const lanes_panel *x, int64_t count, lanes *sums);
void lanes_sum_pair(const double *v, const double *signs, int64_t count, lanes *sums);

/* split_to - head[i] + tail[i] = v[i] with at most 26 bits in each (Veltkamp). |v| < 2^996. In place is allowed. */
void split_to(const double *v, int64_t count, double *head, double *tail);

/* ---- sums of two doubles ---- */

typedef struct pair { /* high + low; |low| <= 2^-53 |high| */
    double high, low;
} pair;

pair pair_sum(double x, double y);      /* exact (Knuth) */
pair pair_times(double factor, pair x); /* relative error below 4 * 2^-106 */
pair pair_add(pair x, pair y);          /* error below 4 * 2^-106 (|x| + |y|) */

/* reference_rows - the given rows (NULL: 0, 1, ...) of op(A) op(B), all n columns: sums and masses, row_count x n each.
 * low is NULL where one double per sum is enough (see element.pair). Errors, with g of 2^-53: g(k) mass; pairs g(k+1)^2
 * mass. threads: at most, as parallel_threads() has it; the sums do not depend on them. Returns TW_OK, TW_NO_MEMORY. */
tw_status reference_rows(const product *x, const int64_t *rows, int64_t row_count, int threads, double *high,
                         double *low, double *mass);

/* product_finish - turn sums and masses of one whole row's products, not of integers, in place, into values of alpha *
 * sum + beta * c0 (high + low) and their bounds. own: how far each value may itself be from the exact one. c0: not read
 * unless x->reads_c0. Where something overflows on the way, value, bound or own is not finite. */
void product_finish(const product *x, double *high, double *low, double *mass, double *own, const double *c0,
                    int64_t count);

#endif
