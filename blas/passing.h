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
#define AT_f32(x)     ((scalar){SCALAR_AT(float, x), 0})
#define AT_f64(x)     ((scalar){SCALAR_AT(double, x), 0})
#define AT_cf32(x)    ((scalar){SCALAR_AT(float, x), PART_AT(float, x)})
#define AT_cf64(x)    ((scalar){SCALAR_AT(double, x), PART_AT(double, x)})
/* Element i of an array of scalars. */
#define ELEMENT_f32(x, i)  AT_f32(&(x)[i])
#define ELEMENT_f64(x, i)  AT_f64(&(x)[i])
#define ELEMENT_cf32(x, i) AT_cf32((const float *)(x) + 2 * (i))
#define ELEMENT_cf64(x, i) AT_cf64((const double *)(x) + 2 * (i))

#endif
