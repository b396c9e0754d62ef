/* c_types.cuh - the type of C and one of its elements, for kernels that give several: after rung.cuh. C_HALF = 1: C of
 * 2 bytes, bf16 or with IN_F16 f16; else f32, of integers i32, of f64 f64. */
#ifndef C_HALF
#define C_HALF 0
#endif
#if C_HALF
typedef unsigned short element_c;
#else
typedef number element_c;
#endif

/* c <- alpha * sum + beta * c of integers, modulo 2^32. */
static __device__ __forceinline__ void blend(int *c, int alpha, int sum, int beta)
{
    unsigned made = (unsigned)alpha * (unsigned)sum;
    *c = (int)(beta == 0 ? made : made + (unsigned)beta * (unsigned)*c);
}

/* The same of f64. */
static __device__ __forceinline__ void blend(double *c, double alpha, double sum, double beta)
{
    *c = beta == 0 ? alpha * sum : fma(alpha, sum, beta * *c);
}

/* What 2 bytes of the type of 2 bytes are worth. */
static __device__ __forceinline__ float float_of(unsigned short x)
{
#if IN_F16
    float y;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x));
    return y;
#else
    return __uint_as_float((unsigned)x << 16);
#endif
}

#if C_HALF
/* c <- alpha * sum + beta * c, rounded once. bf16 is rounded by hand: the instruction came with sm_80. */
static __device__ __forceinline__ void blend(unsigned short *c, float alpha, float sum, float beta)
{
    float x = beta != 0 ? float_of(*c) : 0;
    blend(&x, alpha, sum, beta);
#if IN_F16
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(*c) : "f"(x));
#else
    unsigned bits = __float_as_uint(x), nan = (bits & 0x7fffffff) > 0x7f800000;
    *c = (unsigned short)(nan ? 0x7fff : (bits + 0x7fff + (bits >> 16 & 1)) >> 16);
#endif
}
#endif
