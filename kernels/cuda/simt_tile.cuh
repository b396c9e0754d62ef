/* simt_tile.cuh - a block's tile of any type by plain multiply-adds: for dgemm_simt, where the picture is, gemm_simt
 * and gemm_batched_simt. After rung.cuh. An element becomes a number when it is copied into shared memory. */
#include "epilogue.cuh"
#include "tf32.cuh"

enum { BM = ROW_M, BN = ROW_N, BK = ROW_K, THREADS = ROW_THREADS, PAD = 2 };
ASSUME(BM == 64 && BN == 64 && BK == 16 && THREADS == 256)

#include "schedule.cuh"

#ifndef TYPE_A /* one of 2 bytes */
#define TYPE_A half_word
#define TYPE_B half_word
#endif

/* The types as they lie in memory. */
struct half_word {
    unsigned short bits;
};
struct tf32 {
    unsigned bits;
};
struct f32 {
    float value;
};
struct f64 {
    double value;
};
struct e4m3 {
    unsigned char bits;
};
struct e5m2 {
    unsigned char bits;
};
struct s8 {
    signed char value;
};
struct u8 {
    unsigned char value;
};

static __device__ __forceinline__ float of_f16(unsigned bits)
{
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"((unsigned short)bits));
    return x;
}

static __device__ __forceinline__ float number_of(half_word x) { return float_of(x.bits); }
static __device__ __forceinline__ float number_of(tf32 x) { return __uint_as_float(tf32_of(x.bits)); }
/* e5m2 is the upper half of an f16; e4m3 has another bias, and NaN where f16 has numbers */
static __device__ __forceinline__ float number_of(e5m2 x) { return of_f16((unsigned)x.bits << 8); }
static __device__ __forceinline__ float number_of(e4m3 x)
{
    unsigned size = x.bits & 127;
    return size == 127 ? __uint_as_float(0x7fffffff) : 256 * of_f16((x.bits & 128u) << 8 | size << 7);
}
static __device__ __forceinline__ float number_of(f32 x) { return x.value; }
static __device__ __forceinline__ double number_of(f64 x) { return x.value; }
static __device__ __forceinline__ int number_of(s8 x) { return x.value; }
static __device__ __forceinline__ int number_of(u8 x) { return x.value; }

static __device__ __forceinline__ float multiply_add(float a, float b, float sum) { return fmaf(a, b, sum); }
static __device__ __forceinline__ double multiply_add(double a, double b, double sum) { return fma(a, b, sum); }
static __device__ __forceinline__ int multiply_add(int a, int b, int sum)
{
    return (int)((unsigned)a * (unsigned)b + (unsigned)sum);
}

/* The tile of C from row i0 and column j0 on. Ends behind a barrier, if k is not 0. */
static __device__ __forceinline__ void multiply_tile(int k, const TYPE_A *__restrict__ a, long lda,
                                                     const TYPE_B *__restrict__ b, long ldb, const struct out &to,
                                                     int i0, int j0)
{
    const int m = to.m, n = to.n;
    __shared__ number a_tile[BK][BM + PAD], b_tile[BK][BN + PAD];
    int tid = threadIdx.x, tx = tid % 16, ty = tid / 16;
    number sum[4][4] = {0};
    ROLLED
    for (int p0 = 0; p0 < k; p0 += BK) {
        UNROLLED
        for (int e = tid; e < BM * BK; e += THREADS) {
            /* neighbours in memory by neighbouring lanes */
            int i = OP_A ? e % BM : e / BK, a_p = OP_A ? e / BM : e % BK, j = OP_B ? e / BK : e % BN,
                b_p = OP_B ? e % BK : e / BN;
            a_tile[a_p][i] = i0 + i < m && p0 + a_p < k ? number_of(A(i0 + i, p0 + a_p)) : 0;
            b_tile[b_p][j] = j0 + j < n && p0 + b_p < k ? number_of(B(p0 + b_p, j0 + j)) : 0;
        }
        __syncthreads();
        UNROLLED
        for (int p = 0; p < BK; p++) {
            number a_p[4], b_p[4];
            UNROLLED
            for (int q = 0; q < 4; q++) a_p[q] = a_tile[p][ty + 16 * q], b_p[q] = b_tile[p][tx + 16 * q];
            UNROLLED
            for (int i = 0; i < 4; i++) {
                UNROLLED
                for (int j = 0; j < 4; j++) sum[i][j] = multiply_add(a_p[i], b_p[j], sum[i][j]);
            }
        }
        __syncthreads();
    }
    UNROLLED
    for (int i = 0; i < 4; i++) {
        UNROLLED
        for (int j = 0; j < 4; j++) put_one(to, i0 + ty + 16 * i, j0 + tx + 16 * j, sum[i][j]);
    }
}
