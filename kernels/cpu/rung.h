/* rung.h - the few words that every rung of the CPU ladder shares. The build compiles each rung once per dtype with
 * REAL (float or double) and KERNEL (the function's name) defined; alone it compiles as float. */
#ifndef TILEWRIGHT_RUNG_H
#define TILEWRIGHT_RUNG_H

#include "cpu.h"

#ifndef REAL
#define REAL           float
#define KERNEL         kernel
#define REAL_IS_DOUBLE 0
#endif

typedef REAL real;

/* ROLLED keeps a loop rolled, so that r06 alone can show what unrolling gains; UNROLLED copies its body for each
 * count. */
#if defined(__clang__)
#define ROLLED      _Pragma("clang loop unroll(disable)")
#define UNROLLED(n) UNROLLED_(clang loop unroll_count(n))
#else
#define ROLLED      _Pragma("GCC unroll 1")
#define UNROLLED(n) UNROLLED_(GCC unroll n)
#endif
#define UNROLLED_(x) _Pragma(#x)

static inline int64_t smaller(int64_t x, int64_t y) { return x < y ? x : y; }

/* c <- alpha * sum + beta * c, where beta == 0 means that c is not read. */
static inline void blend(real *c, real alpha, real sum, real beta)
{
    *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
}

/* The same for a rows x cols block of sums whose rows are ld apart. */
static inline void blend_block(const cpu_problem *x, int64_t i, int64_t j, int64_t rows, int64_t cols, const real *sums,
                               int64_t ld)
{
    real *c = (real *)x->c + i * x->ldc + j;
    for (int64_t row = 0; row < rows; row++)
        for (int64_t col = 0; col < cols; col++)
            blend(&c[row * x->ldc + col], (real)x->alpha, sums[row * ld + col], (real)x->beta);
}

#endif
