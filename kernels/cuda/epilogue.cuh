/* epilogue.cuh - what becomes of the sums of production kernels: c <- alpha * sum + beta * c, rounded once to C's type,
 * for 1, 2 or 4 neighbours of a row at a time. After rung.cuh. Whether C is read, for beta is not 0, is asked here, and
 * what lies outside C is left out: a kernel says which row and column its sums belong to. What leaves by TMA is scaled
 * here and rounded by wgmma_c.cuh.
 * sgemm_simt, which is a rung for all transposes, stores by wide.cuh as rungs do: readers compile their texts as C.
 *
 * C_HALF = 1: C of 2 bytes, bf16 or with IN_F16 f16; else of the sums' type: f32, of integers i32, of f64 f64. WIDE = 1
 * promises c aligned to 16 bytes and rows of C a multiple of 16 bytes apart. */
#ifndef WIDE
#define WIDE 1
#endif
#ifndef C_HALF
#define C_HALF 0
#endif
#if C_HALF
typedef unsigned short element_c;
#else
typedef number element_c;
#endif

/* C, or that of an item of a batch, and what sums become in it. OUT makes it of a kernel's parameters. */
struct out {
    element_c *c;
    long ldc;
    int m, n;
    number alpha, beta;
};
#define OUT                                                                                                            \
    {                                                                                                                  \
        c, ldc, m, n, alpha, beta                                                                                      \
    }

static __device__ __forceinline__ bool reads_c(number beta) { return beta != 0; }

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

/* And what an element of C is. */
static __device__ __forceinline__ number value_of(element_c x)
{
#if C_HALF
    return float_of(x);
#else
    return x;
#endif
}

/* alpha * sum, and with beta * old; of integers modulo 2^32. */
static __device__ __forceinline__ number scaled(number alpha, number sum)
{
#if SUMS_S32
    return (int)((unsigned)alpha * (unsigned)sum);
#else
    return alpha * sum;
#endif
}
static __device__ __forceinline__ number blended(number alpha, number sum, number beta, number old)
{
#if SUMS_S32
    return (int)((unsigned)alpha * (unsigned)sum + (unsigned)beta * (unsigned)old);
#elif SUMS_F64
    return fma(alpha, sum, beta * old);
#else
    return fmaf(alpha, sum, beta * old);
#endif
}

/* What becomes of a sum; old, C's element, counts only where C is read. */
static __device__ __forceinline__ number result(number alpha, number sum, number beta, number old)
{
    return reads_c(beta) ? blended(alpha, sum, beta, old) : scaled(alpha, sum);
}

#if C_HALF && __CUDA_ARCH__ >= 800
/* Both rounded, x in the low half. */
static __device__ __forceinline__ unsigned pair_of(float x, float y)
{
    unsigned pair;
    asm("cvt.rn." MATRIX_TYPE "x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(y), "f"(x));
    return pair;
}
#endif

/* Rounds N results. The instruction came with sm_80: before, bf16 is rounded by hand. */
template <int N> static __device__ __forceinline__ void round_results(element_c *to, const number *x)
{
#if !C_HALF
    UNROLLED
    for (int q = 0; q < N; q++) to[q] = x[q];
#elif __CUDA_ARCH__ >= 800
    UNROLLED
    for (int q = 0; q < N; q += 2) {
        unsigned pair = pair_of(x[q], q + 1 < N ? x[q + 1] : 0);
        to[q] = (unsigned short)pair;
        if (q + 1 < N) to[q + 1] = (unsigned short)(pair >> 16);
    }
#else
    UNROLLED
    for (int q = 0; q < N; q++) {
#if IN_F16
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(to[q]) : "f"(x[q]));
#else
        unsigned bits = __float_as_uint(x[q]), nan = (bits & 0x7fffffff) > 0x7f800000;
        to[q] = (unsigned short)(nan ? 0x7fff : (bits + 0x7fff + (bits >> 16 & 1)) >> 16);
#endif
    }
#endif
}

template <int N> struct alignas(N * sizeof(element_c)) neighbours {
    element_c c[N];
};

static __device__ __forceinline__ void put_at(element_c *c, const struct out &to, number sum)
{
    number x = reads_c(to.beta) ? blended(to.alpha, sum, to.beta, value_of(*c)) : scaled(to.alpha, sum);
    round_results<1>(c, &x);
}

/* The element of a row and a column. */
static __device__ __forceinline__ void put_one(const struct out &to, int row, int column, number sum)
{
    if (row < to.m && column < to.n) put_at(to.c + row * to.ldc + column, to, sum);
}

/* N neighbours from that element on: at once where all lie in C, else one by one. */
template <int N>
static __device__ __forceinline__ void put(const struct out &to, int row, int column, const number *sum)
{
    if (row >= to.m) return;
    element_c *c = to.c + row * to.ldc + column;
    if (WIDE && to.n - column >= N) {
        neighbours<N> all = {};
        number x[N];
        if (reads_c(to.beta)) all = *(const neighbours<N> *)c;
        UNROLLED
        for (int q = 0; q < N; q++) x[q] = result(to.alpha, sum[q], to.beta, value_of(all.c[q]));
        round_results<N>(all.c, x);
        *(neighbours<N> *)c = all;
        return;
    }
    UNROLLED
    for (int q = 0; q < N; q++)
        if (q < to.n - column) put_at(&c[q], to, sum[q]);
}
