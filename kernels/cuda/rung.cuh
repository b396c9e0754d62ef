/* rung.cuh - the few words that the rungs of the CUDA ladder share.
 *
 * Every rung has the same parameters: C (m x n, rows ldc apart) <- alpha op(A) op(B) + beta C, row-major, m n k below
 * 2^31. The build defines OP_A and OP_B (0 as stored, 1 transposed) and TILE where a rung's tile edge may be chosen,
 * else the numbers of the row: ROW_M and so on (kernels.def). */
#ifndef OP_A
#define OP_A 0
#endif
#ifndef OP_B
#define OP_B 0
#endif
#ifndef TILE
#define TILE 16
#endif

/* The type of 2 bytes, as PTX writes it. */
#ifndef IN_F16
#define IN_F16 0
#endif
#if IN_F16
#define MATRIX_TYPE "f16"
#else
#define MATRIX_TYPE "bf16"
#endif

/* Where the matrix units take other operands: TYPE_A and TYPE_B as PTX writes them, their ELEMENT_BYTES, and SUMS_S32
 * for integers, whose sums, alpha, beta and C are of 32 bits. SUMS_F64: of f64. */
#ifndef ELEMENT_BYTES
#define ELEMENT_BYTES 2
#endif
#ifndef SUMS_S32
#define SUMS_S32 0
#endif
#ifndef SUMS_F64
#define SUMS_F64 0
#endif
#if SUMS_S32
typedef int number;
#elif SUMS_F64
typedef double number;
#else
typedef float number; /* of a sum, of alpha and beta */
#endif

/* Split-K in two kernels (arguments.h). */
#ifndef SPLIT_K
#define SPLIT_K 0
#endif

/* Elements of op(A) and op(B): offsets are 64 bits wide. */
#define A(i, p) a[OP_A ? (long)(p)*lda + (i) : (long)(i)*lda + (p)]
#define B(p, j) b[OP_B ? (long)(j)*ldb + (p) : (long)(p)*ldb + (j)]
#define C(i, j) c[(long)(i)*ldc + (j)]

/* ROLLED keeps a loop rolled in r01 to r05, so that r06 has something to show; DEFAULT_BUILD leaves it to the
 * compiler. */
#ifdef DEFAULT_BUILD
#define ROLLED
#else
#define ROLLED _Pragma("unroll 1")
#endif
#define UNROLLED _Pragma("unroll")

/* What a kernel assumes of its row: one that says otherwise does not compile. */
#define ASSUME(condition) static_assert(condition, "the kernel cannot be what its row in kernels.def says");

#define PARAMETERS                                                                                                     \
    int m, int n, int k, float alpha, const float *__restrict__ a, long lda, const float *__restrict__ b, long ldb,    \
        float beta, float *__restrict__ c, long ldc

/* c <- alpha * sum + beta * c, where beta == 0 means that c is not read. */
static __device__ __forceinline__ void blend(float *c, float alpha, float sum, float beta)
{
    *c = beta == 0 ? alpha * sum : fmaf(alpha, sum, beta * *c);
}

static __device__ __forceinline__ int ceil_div(int x, int y) { return x / y + (x % y != 0); }
