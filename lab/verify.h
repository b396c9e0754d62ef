/* verify.h - what the parts of verify.c share: one check of C, by vectors of signs and by single elements. */
#ifndef TILEWRIGHT_VERIFY_H
#define TILEWRIGHT_VERIFY_H

#include <pthread.h>
#include "exact.h"
#include "oracle.h"
#include "whole.h"

enum { PANEL = 16, CHUNK = 1024 }; /* rows and columns of a matrix held as doubles at a time */
enum { WORST_ROWS = 16 };          /* rows searched for wrong elements */
/* of a row or column; DARK: the vectors cannot see it */
enum { HAS_NAN = 1, HAS_INFINITY = 2, DARK = 4, FAILED = 8 };

typedef struct check {
    product x;
    view c;
    int64_t m, n, k;
    int64_t samples;
    const verify_options *options;
    verify_report *report;
    double work; /* left for elements that vectors cannot see */
    unsigned char *row_flags, *col_flags;
    bool masked;           /* some column has flags */
    int threads;           /* for vectors and samples */
    double *buffer;        /* PANEL x CHUNK, of each thread */
    double *signs;         /* n x LANES: +1 and -1 */
    lanes_panel y;         /* k x LANES: B x; all in the head where one double is enough */
    double *z;             /* k: sums of |b| over the columns that are not flagged */
    double *row_bound;     /* m: sum of the bounds of a row's elements and of the residual's own error */
    double *row_share;     /* m: largest |residual| over that bound */
    double *a_row, *b_col; /* k: for single elements, of each thread */
    double *class_sums;    /* the larger of m and n */
    double *values;        /* for rows recomputed as a whole: batch x n three times, and n twice */
    int64_t batch;         /* rows at a time: all that are searched, fewer where they are long */
    int64_t *largest_cols; /* of every largest_step-th row */
    int64_t largest_step;
    pthread_mutex_t *report_lock; /* held where threads write to the report, the flags of rows and panels_done */
    double *panels_done, panels_all;
} check;

/* ---- verify_elements.c: single elements, in exact arithmetic ---- */

/* Load rows x cols of a matrix into the buffer, CHUNK apart; masked: columns of C and B that have flags become 0. */
void verify_load_chunk(check *v, view from, int64_t row0, int64_t rows, int64_t col0, int64_t cols, bool masked);

void verify_mark_failed(check *v, int64_t row);

/* verify_load_for - the row of op(A) and the column of op(B) that an element needs. verify_look_at - its verdict by
 * them. verify_take - that in the report; did the element pass? */
void verify_load_for(const check *v, int64_t row, int64_t col, double *a_row, double *b_col);
exact_verdict verify_look_at(const check *v, int64_t row, int64_t col, const double *a, const double *b);
bool verify_take(check *v, int64_t row, int64_t col, exact_verdict e);

/* verify_rows - recompute rows as a whole, in higher precision; where that does not settle an element, in exact
 * arithmetic. */
void verify_rows(check *v, const int64_t *rows, int64_t count);

/* verify_by_classes - rows and columns that vectors cannot see, as far as work allows. */
void verify_by_classes(check *v);

/* ---- verify_vectors.c: C x against alpha A (B x) + beta C0 x, row by row ---- */

void verify_by_vectors(check *v);

#endif
