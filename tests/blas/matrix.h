/* matrix.h - matrices as BLAS sees them, of small integers, so that every sum is exact; what no routine may read or
 * write is NaN. */
#ifndef TILEWRIGHT_TESTS_BLAS_MATRIX_H
#define TILEWRIGHT_TESTS_BLAS_MATRIX_H

#include <tilewright_blas.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef enum way { FORTRAN, C_COLUMNS, C_ROWS, WAYS } way;
static const char *const way_names[] = {"fortran", "cblas_columns", "cblas_rows"};

/* A matrix as BLAS sees it: element (i, j) of rows x cols, stored by rows or by columns, the gaps between them NaN. */
typedef struct matrix {
    bool is_f32, by_rows;
    int rows, cols, ld;
    size_t bytes;
    void *data;
} matrix;

static inline matrix matrix_new(bool is_f32, bool by_rows, int rows, int cols, int padding)
{
    matrix x = {is_f32, by_rows, rows, cols, (by_rows ? cols : rows) + padding, 0, NULL};
    if (x.ld < 1) x.ld = 1;
    x.bytes = (size_t)x.ld * (size_t)(by_rows ? rows : cols) * (is_f32 ? 4 : 8);
    x.data = malloc(x.bytes + 8);
    if (x.data == NULL) exit(5);
    memset(x.data, 0xff, x.bytes); /* all bits 1: a NaN in both types */
    return x;
}

static inline size_t place(const matrix *x, int i, int j)
{
    return x->by_rows ? (size_t)i * (size_t)x->ld + (size_t)j : (size_t)j * (size_t)x->ld + (size_t)i;
}

static inline double get(const matrix *x, int i, int j)
{
    return x->is_f32 ? (double)((float *)x->data)[place(x, i, j)] : ((double *)x->data)[place(x, i, j)];
}

static inline void put(matrix *x, int i, int j, double value)
{
    if (x->is_f32)
        ((float *)x->data)[place(x, i, j)] = (float)value;
    else
        ((double *)x->data)[place(x, i, j)] = value;
}

/* Whole numbers from -4 to 4, the same for the same seed. */
static inline void fill(matrix *x, unsigned seed)
{
    for (int i = 0; i < x->rows; i++)
        for (int j = 0; j < x->cols; j++) {
            seed = seed * 1664525u + 1013904223u;
            put(x, i, j, (double)(seed >> 16) - 9 * (double)((seed >> 16) / 9) - 4);
        }
}

/* Numbers from -1 to 1. */
static inline void fill_random(matrix *x, unsigned seed)
{
    for (int i = 0; i < x->rows; i++)
        for (int j = 0; j < x->cols; j++) {
            seed = seed * 1664525u + 1013904223u;
            put(x, i, j, (double)(seed >> 8) / 0x1p23 - 1);
        }
}

static inline CBLAS_TRANSPOSE number_of(char op)
{
    return strchr("Nn", op) ? CblasNoTrans : strchr("Tt", op) ? CblasTrans : CblasConjTrans;
}

#endif
