/* gemm.c - the names of PBLAS. Compiled twice: with integers of 32 bits, and as names with 64_ at their end, of 64. */
#include "product.h"

#include <tilewright_pblas.h>

#ifdef PBLAS_WIDE
typedef int64_t integer;
#define NAME(name) name##_64_
#else
typedef int integer;
#define NAME(name) name##_
#endif

static pblas_matrix matrix_of(char letter, int number, const void *data, const integer *i, const integer *j,
                              const integer *descriptor)
{
    pblas_matrix x = {.letter = letter, .number = number, .data = (char *)(uintptr_t)data, .i = *i, .j = *j};
    const bool is_short = descriptor[DTYPE] != 2; /* its first blocks are as all others */
    for (int e = 0; e < ENTRIES; e++) x.descriptor[e] = descriptor[is_short && e > INB ? e - 2 : e];
    if (is_short) x.descriptor[IMB] = x.descriptor[MB], x.descriptor[INB] = x.descriptor[NB];
    return x;
}

/* parts: of a number, 1 or 2 of its real type. */
#define GEMM(name, text, type_id, type, real, parts)                                                                   \
    void NAME(name)(const char *op_a, const char *op_b, const integer *m, const integer *n, const integer *k,          \
                    const type *alpha, const type *a, const integer *ia, const integer *ja, const integer *desc_a,     \
                    const type *b, const integer *ib, const integer *jb, const integer *desc_b, const type *beta,      \
                    type *c, const integer *ic, const integer *jc, const integer *desc_c)                              \
    {                                                                                                                  \
        const real *x = (const real *)alpha, *y = (const real *)beta;                                                  \
        const pblas_product product = {.routine = text,                                                                \
                                       .dtype = type_id,                                                               \
                                       .op_a = *op_a,                                                                  \
                                       .op_b = *op_b,                                                                  \
                                       .m = *m,                                                                        \
                                       .n = *n,                                                                        \
                                       .k = *k,                                                                        \
                                       .alpha = {x[0], (parts) == 2 ? x[(parts)-1] : 0},                               \
                                       .beta = {y[0], (parts) == 2 ? y[(parts)-1] : 0},                                \
                                       .a = matrix_of('A', 10, a, ia, ja, desc_a),                                     \
                                       .b = matrix_of('B', 14, b, ib, jb, desc_b),                                     \
                                       .c = matrix_of('C', 19, c, ic, jc, desc_c)};                                    \
        pblas_multiply(&product);                                                                                      \
    }

GEMM(psgemm, "PSGEMM", TW_F32, float, float, 1)
GEMM(pdgemm, "PDGEMM", TW_F64, double, double, 1)
GEMM(pcgemm, "PCGEMM", TW_CF32, void, float, 2)
GEMM(pzgemm, "PZGEMM", TW_CF64, void, double, 2)
