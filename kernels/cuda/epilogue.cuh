/* epilogue.cuh - what becomes of the sums of production kernels: c <- alpha * sum + beta * c, rounded once to C's type,
 * for 1, 2 or 4 neighbours of a row at a time. After rung.cuh. Whether C is read, for beta is not 0, is asked here, and
 * what lies outside C is left out: a kernel says which row and column its sums belong to. What leaves by TMA is scaled
 * here and rounded by wgmma_c.cuh. Where the text begins with EPILOGUE_VALUES, a caller's epilogue, that comes between.
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
#ifdef EPILOGUE_VALUES
    const bound_operands *bound;
#define OUT                                                                                                            \
    {                                                                                                                  \
        c, ldc, m, n, alpha, beta, &bound                                                                              \
    }
#else
#define OUT                                                                                                            \
    {                                                                                                                  \
        c, ldc, m, n, alpha, beta                                                                                      \
    }
#endif
};

#ifdef EPILOGUE_VALUES
/* The words of EPILOGUE_VALUES. An element of vector number v, where no kernel holds it, is loaded. */
#define BOUND_I(v, element)                 element
#define BOUND_J(v, element)                 element
#define LITERAL(bits, single_bits)          ((number)__longlong_as_double((long long)bits##ULL))
#define ROW_INDEX                           ((number)i)
#define COLUMN_INDEX                        ((number)j)
#define BOUND_NUMBER(q)                     ((number)bound.number[q])
#define BOUND_LD(q)                         bound.ld[q]
#define BOUND_STRIDE(q)                     bound.stride[q]
#define BOUND_AT(type, q, offset)           value_at((const bound_##type *)bound.at[q] + (offset))
#define BOUND_ACROSS(type, q, offset, step) BOUND_AT(type, q, offset)
#define PREFETCH_AT(type, q, offset)                                                                                   \
    asm volatile("prefetch.global.L2 [%0];" ::"l"((const bound_##type *)bound.at[q] + (offset)));
#define VALUE    number
#define FUNCTION static __device__ __forceinline__ number
/* Not contracted: which kernel computes decides no bit, and each operation rounds once. */
#if SUMS_F64
FUNCTION value_add(number x, number y) { return __dadd_rn(x, y); }
FUNCTION value_subtract(number x, number y) { return __dsub_rn(x, y); }
FUNCTION value_multiply(number x, number y) { return __dmul_rn(x, y); }
#else
FUNCTION value_add(number x, number y) { return __fadd_rn(x, y); }
FUNCTION value_subtract(number x, number y) { return __fsub_rn(x, y); }
FUNCTION value_multiply(number x, number y) { return __fmul_rn(x, y); }
#endif
FUNCTION value_negate(number x) { return -x; }
FUNCTION value_less(number x, number y) { return x < y; }
FUNCTION value_less_equal(number x, number y) { return x <= y; }
FUNCTION value_equal(number x, number y) { return x == y; }
FUNCTION value_not_equal(number x, number y) { return x != y; }
FUNCTION value_abs(number x) { return fabs(x); }
FUNCTION value_min(number x, number y) { return x < y || x != x ? x : y; }
FUNCTION value_max(number x, number y) { return x > y || x != x ? x : y; }
FUNCTION value_where(number x, number y, number z) { return x != 0 ? y : z; }
FUNCTION value_sqrt(number x) { return sqrt(x); }
#if C_HALF /* VALUE_HALF_ULPS */
FUNCTION value_exp(float x) { return __expf(x); }
FUNCTION value_divide(float x, float y)
{
    float z;
    asm("div.full.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y));
    return z;
}
#else
FUNCTION value_exp(number x) { return exp(x); }
FUNCTION value_divide(number x, number y) { return x / y; }
#endif
FUNCTION value_log(number x) { return log(x); }
FUNCTION value_tanh(number x) { return tanh(x); }
FUNCTION value_erf(number x) { return erf(x); }
typedef double bound_f64;
typedef float bound_f32;
struct bound_f16 {
    unsigned short bits;
};
struct bound_bf16 {
    unsigned short bits;
};
FUNCTION value_at(const double *x) { return __ldg(x); }
FUNCTION value_at(const float *x) { return __ldg(x); }
FUNCTION value_at(const bound_bf16 *x) { return __uint_as_float((unsigned)__ldg(&x->bits) << 16); }
FUNCTION value_at(const bound_f16 *x)
{
    float y;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(__ldg(&x->bits)));
    return y;
}
#endif

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

/* The same; old, C's element, counts only where C is read. */
static __device__ __forceinline__ number result(number alpha, number sum, number beta, number old)
{
    return reads_c(beta) ? blended(alpha, sum, beta, old) : scaled(alpha, sum);
}

/* What an epilogue makes of this, in that row and column of C: the body is src/expression_text.c's. */
static __device__ __forceinline__ number made(const struct out &to, int row, int column, number acc)
{
#ifdef EPILOGUE_VALUES
    if (to.bound == NULL) return acc; /* it is made already */
    const bound_operands &bound = *to.bound;
    const long long i = row, j = column;
    EPILOGUE_VALUES
#else
    return acc;
#endif
}

/* What becomes of a sum in that row and column. */
static __device__ __forceinline__ number result(const struct out &to, int row, int column, number sum, number old)
{
    return made(to, row, column, result(to.alpha, sum, to.beta, old));
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

static __device__ __forceinline__ void put_at(element_c *c, const struct out &to, int row, int column, number sum)
{
    number x = reads_c(to.beta) ? blended(to.alpha, sum, to.beta, value_of(*c)) : scaled(to.alpha, sum);
    x = made(to, row, column, x);
    round_results<1>(c, &x);
}

/* The element of a row and a column. Before an epilogue the nearest element of C stands for one outside, so that what
 * it reads is there and no load waits for a branch. */
static __device__ __forceinline__ void put_one(const struct out &to, int row, int column, number sum)
{
#ifdef EPILOGUE_VALUES
    int i = min(row, to.m - 1), j = min(column, to.n - 1);
    element_c *c = to.c + i * to.ldc + j;
    number x = result(to, i, j, sum, reads_c(to.beta) ? value_of(*c) : 0);
    if (row < to.m && column < to.n) round_results<1>(c, &x);
#else
    if (row < to.m && column < to.n) put_at(to.c + row * to.ldc + column, to, row, column, sum);
#endif
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
        for (int q = 0; q < N; q++) x[q] = result(to, row, column + q, sum[q], value_of(all.c[q]));
        round_results<N>(all.c, x);
        *(neighbours<N> *)c = all;
        return;
    }
    UNROLLED
    for (int q = 0; q < N; q++)
        if (q < to.n - column) put_at(&c[q], to, row, column + q, sum[q]);
}

/* Asks for the rows x columns of the matrices that an epilogue reads, from row i0 and column j0 on: `threads` share
 * them. They are in the L2 when the sums are complete. */
static __device__ __forceinline__ void prefetch_matrices(const struct out &to, int i0, int j0, const int rows,
                                                         const int columns, int thread, const int threads)
{
#ifdef EPILOGUE_MATRICES
    enum { LINE = 32 }; /* elements, of at least 2 bytes: every sector is named */
    const bound_operands &bound = *to.bound;
    for (int e = thread; e < rows * (columns / LINE); e += threads) {
        const long long i = min(i0 + e % rows, to.m - 1), j = min(j0 + e / rows * LINE, to.n - 1);
        EPILOGUE_MATRICES
    }
#endif
}
