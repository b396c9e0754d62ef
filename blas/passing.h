/* passing.h - how elements and scalars of each type come from C and from Fortran. */
#ifndef TILEWRIGHT_BLAS_PASSING_H
#define TILEWRIGHT_BLAS_PASSING_H

#include "arguments.h"
#include "blocks.h"

/* How a type's elements and scalars are passed, and what such a scalar's value is. */
#define NUMBER_f32    float
#define NUMBER_f64    double
#define NUMBER_cf32   void
#define NUMBER_cf64   void
#define BY_VALUE_f32  float
#define BY_VALUE_f64  double
#define BY_VALUE_cf32 const void *
#define BY_VALUE_cf64 const void *
#define VALUE_f32(x)  ((scalar){(double)(x), 0})
#define VALUE_f64(x)  ((scalar){x, 0})
#define VALUE_cf32(x) AT_cf32(x)
#define VALUE_cf64(x) AT_cf64(x)
#define AT_f32(x)     scalar_at(TW_F32, x, 0)
#define AT_f64(x)     scalar_at(TW_F64, x, 0)
#define AT_cf32(x)    scalar_at(TW_CF32, x, 0)
#define AT_cf64(x)    scalar_at(TW_CF64, x, 0)

/* Element i of an array of scalars of a type. */
static inline scalar scalar_at(tw_dtype dtype, const void *x, int64_t i)
{
    const float *const single = x;
    const double *const wide = x;
    switch (dtype) {
    case TW_F32: return (scalar){(double)single[i], 0};
    case TW_F64: return (scalar){wide[i], 0};
    case TW_CF32: return (scalar){(double)single[2 * i], (double)single[2 * i + 1]};
    default: return (scalar){wide[2 * i], wide[2 * i + 1]};
    }
}

#endif
