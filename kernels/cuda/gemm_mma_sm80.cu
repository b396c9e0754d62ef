/* gemm_mma_sm80 - the production kernel for types of 1 and 4 bytes on the matrix units of one warp: i8, u8 and tf32
 * from sm_80 on, e4m3 and e5m2 from sm_89 on.
 *
 * IDEA      r13m_mma, whose instructions see 16 bytes along k of each row whatever lies in them: ldmatrix brings 32
 *           bytes of k, which mma.sync multiplies as 32 elements of 1 byte or 8 of 4. Only 2-byte elements can be
 *           turned on the way, so both operands lie along k: others are transposed first (pack.cu).
 *
 *           fp8: the unit keeps few bits of a sum, so that parts of 64 of k are added in f32 (docs/ACCURACY.md). Their
 *           tiles are of half the edge, since sums and parts are both held in registers.
 * NUMBERS   128 x 128: 64 flop per byte of a 4-byte element; 3 stages of 16 KiB, 128 threads.
 * LIMITS    Any m, n >= 1 and k; A is m x k and B n x k, both aligned to 16 bytes, rows multiples of 16 bytes apart; c
 *           and ldc are any. Fewer than 2^31 tiles.
 * HOST      grid ceil(m / ROW_M) * ceil(n / ROW_N), block ROW_THREADS, dynamic shared memory ROW_BYTES.
 * CHANGED   from r13m_mma: the types; operands along k only; C of several types.
 * SOURCE    PTX ISA (mma.sync, ldmatrix, cp.async); Kerr et al.: CUTLASS, 2017 */
#include "rung.cuh"
#include "c_types.cuh"
#include "ampere.cuh"
#include "tf32.cuh"

enum {
    BM = ROW_M,
    BN = ROW_N,
    LINE = 64, /* bytes along k of a stage */
    BK = LINE / ELEMENT_BYTES,
    CHUNK = 16,
    ACROSS = LINE / CHUNK,
    WM = WARP_EDGE,
    WN = WARP_EDGE,
    WARPS_N = BN / WN,
    THREADS = BM / WM * WARPS_N * 32,
    STAGES = ROW_STAGES,
    GROUP_M = 8
};
ASSUME(THREADS == ROW_THREADS && BK == ROW_K)

#define KIND_TEXT_(x) #x
#define KIND_TEXT(x)  KIND_TEXT_(x)
#if ELEMENT_BYTES == 4
#define KIND_K "k8"
typedef unsigned element_in;
#else
#define KIND_K "k32"
typedef unsigned char element_in;
#endif
/* the sums of fp8 are promoted */
#define PROMOTES (ELEMENT_BYTES == 1 && !SUMS_S32)

struct stage {
    char a[BM * LINE], b[BN * LINE];
};
ASSUME(STAGES * sizeof(struct stage) == ROW_BYTES)

#include "raster.cuh"

/* Where a chunk of 16 bytes lies in a tile: those of 8 lines at one place along k in 8 different groups of 4 banks. */
static __device__ __forceinline__ int chunk_at(int line, int chunk)
{
    return (line * ACROSS + (chunk ^ line / 2 % ACROSS)) * CHUNK;
}

/* The thread's chunks of a tile of EDGE lines of an operand. */
template <int EDGE>
static __device__ __forceinline__ void fetch(char *tile, const char *x, long ld, int line0, int lines, long at0,
                                             long length)
{
    int line = threadIdx.x / ACROSS, chunk = threadIdx.x % ACROSS;
    const long at = at0 + chunk * CHUNK;
    const int there = (int)min(max(length - at, 0l), (long)CHUNK);
    UNROLLED
    for (int e = 0; e < EDGE; e += THREADS / ACROSS) {
        int i = line0 + line + e;
        const char *from = x + (long)i * ld + at;
        char *to = &tile[chunk_at(line + e, chunk)];
        if (i < lines && there % CHUNK != 0) { /* the end of a row: elements one by one */
            UNROLLED
            for (int q = 0; q < CHUNK; q += ELEMENT_BYTES) {
                element_in y = 0;
                if (q < there) y = *(const element_in *)(from + q);
                *(element_in *)(to + q) = y;
            }
        } else
            copy_16(to, from, i < lines ? there : 0);
    }
}

/* tf32: operands rounded; the unit would cut them off. */
static __device__ __forceinline__ void round_all(unsigned *four)
{
#if ELEMENT_BYTES == 4
    UNROLLED
    for (int q = 0; q < 4; q++) four[q] = tf32_of(four[q]);
#endif
}

static __device__ __forceinline__ void warp_multiply_kind(number *sum, const unsigned *a, const unsigned *b)
{
#if SUMS_S32
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32." KIND_TEXT(TYPE_A) "." KIND_TEXT(
                     TYPE_B) ".s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
    asm volatile("mma.sync.aligned.m16n8" KIND_K ".row.col.f32." KIND_TEXT(TYPE_A) "." KIND_TEXT(
                     TYPE_B) ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    gemm_mma_sm80(int m, int n, int k, number alpha, const char *__restrict__ a, long lda, const char *__restrict__ b,
                  long ldb, number beta, element_c *__restrict__ c, long ldc)
{
    extern __shared__ __align__(128) struct stage ring[];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, blocks = ceil_div(k, BK), now = 0, to = STAGES - 1, i0, j0;
    const long a_ld = lda * ELEMENT_BYTES, b_ld = ldb * ELEMENT_BYTES;
    const long length = (long)k * ELEMENT_BYTES;
    raster(blockIdx.x, ceil_div(m, BM), ceil_div(n, BN), &i0, &j0);
    int i_warp = warp / WARPS_N * WM, j_warp = warp % WARPS_N * WN;
    number sum[WM / 16][WN / 8][4] = {0};
    for (int q = 0; q < STAGES - 1; q++) {
        if (q < blocks) {
            fetch<BM>(ring[q].a, a, a_ld, i0, m, q * LINE, length);
            fetch<BN>(ring[q].b, b, b_ld, j0, n, q * LINE, length);
        }
        copies_commit();
    }
    ROLLED
    for (int block = 0; block < blocks; block++) {
        COPIES_WAIT(STAGES - 2);
        __syncthreads(); /* this stage has come for all, and all have read the one before */
        if (block + STAGES - 1 < blocks) {
            fetch<BM>(ring[to].a, a, a_ld, i0, m, (block + STAGES - 1l) * LINE, length);
            fetch<BN>(ring[to].b, b, b_ld, j0, n, (block + STAGES - 1l) * LINE, length);
        }
        copies_commit();
        to = now;
#if PROMOTES
        number part[WM / 16][WN / 8][4] = {0};
#else
        auto &part = sum;
#endif
        UNROLLED
        for (int p = 0; p < LINE / CHUNK; p += 2) {
            unsigned a_p[WM / 16][4], b_p[WN / 16][4];
            UNROLLED
            for (int i = 0; i < WM / 16; i++)
                matrix_load(a_p[i], shared_address(&ring[now].a[chunk_at(i_warp + i * 16 + lane % 16, p + lane / 16)]),
                            false);
            UNROLLED
            for (int i = 0; i < WM / 16; i++) round_all(a_p[i]);
            UNROLLED
            for (int j = 0; j < WN / 16; j++)
                matrix_load(b_p[j],
                            shared_address(
                                &ring[now].b[chunk_at(j_warp + j * 16 + lane % 8 + lane / 16 * 8, p + lane / 8 % 2)]),
                            false);
            UNROLLED
            for (int j = 0; j < WN / 16; j++) round_all(b_p[j]);
            UNROLLED
            for (int i = 0; i < WM / 16; i++) {
                UNROLLED
                for (int j = 0; j < WN / 8; j++) warp_multiply_kind(part[i][j], a_p[i], &b_p[j / 2][j % 2 * 2]);
            }
        }
#if PROMOTES
        UNROLLED
        for (int e = 0; e < WM / 16 * (WN / 8) * 4; e++)
            sum[e / 4 / (WN / 8)][e / 4 % (WN / 8)][e % 4] += part[e / 4 / (WN / 8)][e / 4 % (WN / 8)][e % 4];
#endif
        if (++now == STAGES) now = 0;
    }
    UNROLLED
    for (int i = 0; i < WM / 16; i++) {
        UNROLLED
        for (int j = 0; j < WN / 8; j++) {
            UNROLLED
            for (int e = 0; e < 4; e++) {
                int row = i0 + i_warp + i * 16 + lane / 4 + e / 2 * 8, col = j0 + j_warp + j * 8 + lane % 4 * 2 + e % 2;
                if (row < m && col < n) blend(&C(row, col), alpha, sum[i][j][e], beta);
            }
        }
    }
}
