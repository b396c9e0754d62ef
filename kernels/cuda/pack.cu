/* pack - the relayout pass before kernels that load by TMA: transposes an operand, or copies it into rows of whole 16
 * bytes; one operand, or both in one launch.
 *
 * to (transposed: cols x rows, else rows x cols; rows to_ld apart) <- from (rows x cols, rows ld apart). A block takes
 * 64 x 64: each thread reads four times four neighbours, and writes likewise. Between lies a tile whose rows are 65
 * words apart (33 in types of 2 bytes, 17 in those of 1, 130 in f64), so that accesses by rows and by columns spread
 * over many banks.
 *
 * NUMBERS   8 bytes moved per element: at 4096 x 4096 134 MB in 34 us; the product takes an H200 2.5 ms. 32 registers:
 *           eight blocks per multiprocessor, which take all of 2048 x 2048 at once (f64: 64, four blocks).
 * LIMITS    any rows, cols, ld and from; to aligned to 16 bytes, to_ld a multiple of 16 bytes, whose gap may be
 *           written; fewer than 2^31 blocks.
 * HOST      grid ceil(rows / 64) * ceil(cols / 64) of both, block 256; rows = 0 where there is no second. From sm_90 on
 *           it may be launched with PDL. */
#include "pdl.cuh"

#ifndef ELEMENT_BYTES
#define ELEMENT_BYTES 4
#endif
/* only carried */
#if ELEMENT_BYTES == 1
typedef unsigned char element;
#elif ELEMENT_BYTES == 2
typedef unsigned short element;
#elif ELEMENT_BYTES == 8
typedef double element;
#else
typedef float element;
#endif

struct __align__(4 * sizeof(element)) four { element v[4]; };

/* rows of the tile an odd number of words apart */
enum {
    TILE = 64,
    THREADS = 256,
    LINES = THREADS * 4 / TILE,
    EACH = TILE / LINES,
    WIDTH = TILE + (ELEMENT_BYTES < 4 ? 4 / ELEMENT_BYTES : 1)
};

/* Four neighbours, of which `count` are there; the others are 0. */
static __device__ __forceinline__ struct four take(const element *from, int count, bool aligned)
{
    struct four x;
    if (aligned && count >= 4) return *(const struct four *)from;
#pragma unroll
    for (int q = 0; q < 4; q++) x.v[q] = q < count ? from[q] : (element)0;
    return x;
}

struct operand {
    const element *from;
    long ld;
    element *to;
    long to_ld;
    int rows, cols, transposes;
};

static __device__ __forceinline__ int tiles_along(int edge) { return edge / TILE + (edge % TILE != 0); }

/* One tile of an operand. */
static __device__ __forceinline__ void carry(element (*tile)[WIDTH], const struct operand *o, int block,
                                             const bool transposes)
{
    int wide = tiles_along(o->cols), i0 = block / wide * TILE, j0 = block % wide * TILE;
    int x = threadIdx.x % (TILE / 4) * 4, y = threadIdx.x / (TILE / 4);
    bool aligned = ((unsigned long long)o->from | o->ld * sizeof(element)) % sizeof(struct four) == 0;
    struct four taken[EACH];
#pragma unroll
    for (int e = 0; e < EACH; e++) {
        int i = i0 + y + e * LINES;
        taken[e] = take(o->from + (long)i * o->ld + j0 + x, i < o->rows ? o->cols - j0 - x : 0, aligned);
    }
#pragma unroll
    for (int e = 0; e < EACH; e++)
#pragma unroll
        for (int q = 0; q < 4; q++) tile[y + e * LINES][x + q] = taken[e].v[q];
    __syncthreads();
    int lines = transposes ? o->cols - j0 : o->rows - i0, length = transposes ? o->rows - i0 : o->cols - j0;
    element *out = transposes ? o->to + (long)j0 * o->to_ld + i0 : o->to + (long)i0 * o->to_ld + j0;
#pragma unroll
    for (int e = 0; e < EACH; e++) {
        int i = y + e * LINES;
        struct four x4;
#pragma unroll
        for (int q = 0; q < 4; q++) x4.v[q] = transposes ? tile[x + q][i] : tile[i][x + q];
        if (i < lines && x < length) *(struct four *)&out[(long)i * o->to_ld + x] = x4;
    }
}

/* REST: nothing is packed where sgemm_emulated_sm90 has left no tile. */
#ifdef REST
#define ONLY_IF , const int *left
#else
#define ONLY_IF
#endif

extern "C" __global__ void __launch_bounds__(THREADS, ELEMENT_BYTES == 8 ? 4 : 8)
    pack(const __grid_constant__ struct operand first, const __grid_constant__ struct operand second ONLY_IF)
{
    __shared__ element tile[TILE][WIDTH];
    int block = blockIdx.x, before = tiles_along(first.rows) * tiles_along(first.cols);
    const struct operand *o = block < before ? &first : &second;
    if (block >= before) block -= before;
    pdl_wait();
#ifdef REST
    if (*left == 0) return;
#endif
    if (o->transposes)
        carry(tile, o, block, true);
    else
        carry(tile, o, block, false);
}
