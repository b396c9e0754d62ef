/* plain.c - plain.h for each type. */
#include "plain.h"

#include <string.h>

#define JOIN_(x, y) x##y
#define JOIN(x, y)  JOIN_(x, y)

#define IS_COMPLEX  0
#define NAMED(name) JOIN(name, _f32)
#define real        float
#define number      float
#include "plain_type.h"
#undef NAMED
#undef real
#undef number
#define NAMED(name) JOIN(name, _f64)
#define real        double
#define number      double
#include "plain_type.h"
#undef NAMED
#undef real
#undef number
#undef IS_COMPLEX
#define IS_COMPLEX  1
#define NAMED(name) JOIN(name, _cf32)
#define real        float
#define number      float _Complex
#include "plain_type.h"
#undef NAMED
#undef real
#undef number
#define NAMED(name) JOIN(name, _cf64)
#define real        double
#define number      double _Complex
#include "plain_type.h"

/* Calls the function of the type. */
#define OF_TYPE(dtype, name, ...)                                                                                      \
    switch (dtype) {                                                                                                   \
    case TW_F32: JOIN(name, _f32)(__VA_ARGS__); break;                                                                 \
    case TW_F64: JOIN(name, _f64)(__VA_ARGS__); break;                                                                 \
    case TW_CF32: JOIN(name, _cf32)(__VA_ARGS__); break;                                                               \
    default: JOIN(name, _cf64)(__VA_ARGS__);                                                                           \
    }

void plain_multiply(tw_dtype dtype, scalar alpha, const matrix *a, const matrix *b, scalar beta, const matrix *c,
                    uint32_t flags)
{
    OF_TYPE(dtype, multiply, alpha, a, b, beta, c, flags)
}

void plain_triangle(tw_dtype dtype, const triangle *t, bool solves, scalar alpha, const matrix *b)
{
    OF_TYPE(dtype, triangle, t, solves, alpha, b)
}

void plain_expand(tw_dtype dtype, const matrix *lower, bool hermitian, void *full, int64_t ld)
{
    OF_TYPE(dtype, expand, lower, hermitian, full, ld)
    if (hermitian) plain_make_real(dtype, &(matrix){full, lower->rows, lower->rows, ld, false, false});
}

void plain_make_real(tw_dtype dtype, const matrix *c)
{
    const int64_t part_bytes = blas_bytes(dtype) / 2;
    for (int64_t i = 0; i < c->rows; i++) memset(c->at + ((i * c->ld + i) * 2 + 1) * part_bytes, 0, (size_t)part_bytes);
}
