/* pack - an operand on its way to kernels that the copy engine feeds: exchanged, or only in rows of whole 16 bytes.
 *
 * to (cols x rows, TURNS = 1, or rows x cols, TURNS = 0; rows to_ld apart) <- from (rows x cols, rows ld apart). A block takes 64 x 64: each
 * thread reads four times four neighbours, and writes likewise; between lies a tile whose rows are 65 words apart (33 in types of 2 bytes), so
 * that what lanes write and read by rows and by columns lies in many banks.
 *
 * NUMBERS   8 bytes moved per element: at 4096 x 4096 134 MB in 34 us, of an H200's 2.5 ms for the product. 32 registers: eight blocks per
 *           multiprocessor, which take all of 2048 x 2048 at once.
 * LIMITS    any rows, cols, ld and from; to aligned to 16 bytes, to_ld a multiple of 16 bytes, whose gap may be written; fewer than 2^31 blocks.
 * HOST      grid ceil(rows / 64) * ceil(cols / 64), block 256. */
#ifndef TURNS
#define TURNS 1
#endif
#ifndef HALF
#define HALF 0
#endif
#if HALF
typedef unsigned short element; /* bf16, f16: only carried */
#else
typedef float element;
#endif

struct __align__(4 * sizeof(element)) four {
    element v[4];
};

enum { TILE = 64, THREADS = 256, LINES = THREADS * 4 / TILE, EACH = TILE / LINES };

/* Four neighbours, of which `count` are there; the others are 0. */
static __device__ __forceinline__ struct four take(const element *from, int count, bool aligned)
{
    struct four x;
    if (aligned && count >= 4) return *(const struct four *)from;
#pragma unroll
    for (int q = 0; q < 4; q++) x.v[q] = q < count ? from[q] : (element)0;
    return x;
}

extern "C" __global__ void __launch_bounds__(THREADS, 8)
    pack(int rows, int cols, const element *__restrict__ from, long ld, element *__restrict__ to, long to_ld)
{
    __shared__ element tile[TILE][TILE + (HALF ? 2 : 1)]; /* rows an odd number of words apart */
    int wide = cols / TILE + (cols % TILE != 0), i0 = blockIdx.x / wide * TILE, j0 = blockIdx.x % wide * TILE;
    int x = threadIdx.x % (TILE / 4) * 4, y = threadIdx.x / (TILE / 4);
    bool aligned = ((unsigned long long)from | ld * sizeof(element)) % sizeof(struct four) == 0;
    struct four taken[EACH];
#pragma unroll
    for (int e = 0; e < EACH; e++) {
        int i = i0 + y + e * LINES;
        taken[e] = take(from + (long)i * ld + j0 + x, i < rows ? cols - j0 - x : 0, aligned);
    }
#pragma unroll
    for (int e = 0; e < EACH; e++)
#pragma unroll
        for (int q = 0; q < 4; q++) tile[y + e * LINES][x + q] = taken[e].v[q];
    __syncthreads();
    int lines = TURNS ? cols - j0 : rows - i0, length = TURNS ? rows - i0 : cols - j0;
    element *out = TURNS ? to + (long)j0 * to_ld + i0 : to + (long)i0 * to_ld + j0;
#pragma unroll
    for (int e = 0; e < EACH; e++) {
        int i = y + e * LINES;
        struct four x4;
#pragma unroll
        for (int q = 0; q < 4; q++) x4.v[q] = TURNS ? tile[x + q][i] : tile[i][x + q];
        if (i < lines && x < length) *(struct four *)&out[(long)i * to_ld + x] = x4;
    }
}
