/* arguments.h - what all routines have in common: their integers, their names, and how they read settings. */
#ifndef TILEWRIGHT_BLAS_ARGUMENTS_H
#define TILEWRIGHT_BLAS_ARGUMENTS_H

/* The entries are compiled twice: with sizes of 32 bits, and as names with 64_ at their end, of 64. */
#ifndef BLAS_WIDE
#define BLAS_WIDE 0
#endif

#include "report.h"

#include <tilewright.h>
#include <tilewright_blas.h>
#if BLAS_WIDE
#include <tilewright_blas64.h>
#endif

#if BLAS_WIDE
typedef int64_t integer;
#define FORTRAN_NAME(name) name##_64_
#define C_NAME(name)       cblas_##name##64_
#else
typedef int integer;
#define FORTRAN_NAME(name) name##_
#define C_NAME(name)       cblas_##name
#endif

#define STRING(name)  STRING_(name)
#define STRING_(name) #name

enum { NONE = -1 }; /* a setting that does not exist */

static inline integer at_least_1(integer value) { return value > 1 ? value : 1; }

/* TW_N, TW_T, TW_C or NONE. */
static inline int op_of(const char *letter)
{
    switch (*letter) {
    case 'N':
    case 'n': return TW_N;
    case 'T':
    case 't': return TW_T;
    case 'C':
    case 'c': return TW_C;
    default: return NONE;
    }
}

static inline int op_from(int op)
{
    return op == CblasNoTrans ? TW_N : op == CblasTrans ? TW_T : op == CblasConjTrans ? TW_C : NONE;
}

/* The conjugate transpose of a real matrix is its transpose. */
static inline int real_op(int op) { return op == TW_C ? TW_T : op; }

/* The settings of a C call to gemm, or to one like it. False: one does not exist, and was reported. */
static inline bool gemm_settings_exist(const blas_caller *caller, int layout, int op_a, int op_b)
{
    if (layout != CblasRowMajor && layout != CblasColMajor)
        blas_report_setting(caller, 1, "layout", layout);
    else if (op_from(op_a) == NONE)
        blas_report_setting(caller, 2, "TransA", op_a);
    else if (op_from(op_b) == NONE)
        blas_report_setting(caller, 3, "TransB", op_b);
    else
        return true;
    return false;
}

/* The number of the first wrong argument of gemm's Fortran call, in the reference's order; 0: none. */
static inline int gemm_first_wrong(int op_a, int op_b, integer m, integer n, integer k, integer lda, integer ldb,
                                   integer ldc)
{
    if (op_a == NONE) return 1;
    if (op_b == NONE) return 2;
    if (m < 0) return 3;
    if (n < 0) return 4;
    if (k < 0) return 5;
    if (lda < at_least_1(op_a == TW_N ? m : k)) return 8;
    if (ldb < at_least_1(op_b == TW_N ? k : n)) return 10;
    return ldc < at_least_1(m) ? 13 : 0;
}

#define EXCHANGE(type, x, y)                                                                                           \
    do {                                                                                                               \
        type kept_ = x;                                                                                                \
        x = y, y = kept_;                                                                                              \
    } while (0)

#endif
