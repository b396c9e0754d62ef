/* kmajor_tile.cuh - a block's tile of types of 1 and 4 bytes on the matrix units of one warp: both operands lie in
 * shared memory along k, in lines of 64 bytes. For gemm_mma_sm80 and gemm_batched_kmajor_sm80. After rung.cuh and
 * ampere.cuh.
 *
 * SOURCE    PTX ISA (mma.sync, ldmatrix, cp.async) */
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
    STAGES = ROW_STAGES
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
    for (int q = 0; q < 4; q++) four[q] = tf32_seen(four[q]);
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

/* Adds LINE bytes of k. */
static __device__ __forceinline__ void multiply(number (&sum)[WM / 16][WN / 8][4], const char *a, const char *b,
                                                int i_warp, int j_warp)
{
    int lane = threadIdx.x % 32;
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
            matrix_load(a_p[i], shared_address(&a[chunk_at(i_warp + i * 16 + lane % 16, p + lane / 16)]), false);
        UNROLLED
        for (int i = 0; i < WM / 16; i++) round_all(a_p[i]);
        UNROLLED
        for (int j = 0; j < WN / 16; j++)
            matrix_load(b_p[j],
                        shared_address(&b[chunk_at(j_warp + j * 16 + lane % 8 + lane / 16 * 8, p + lane / 8 % 2)]),
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
}
