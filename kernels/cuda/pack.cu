/* pack - an operand on its way to kernels that the copy engine feeds: exchanged, or only in rows of whole 16 bytes.
 *
 * to (cols x rows, TURNS = 1, or rows x cols, TURNS = 0; rows to_ld apart) <- from (rows x cols, rows ld apart). A block takes 64 x 64: each
 * thread reads 16 elements of one column, so that neighbours read neighbours, and writes 16 likewise; between lies a tile whose rows are 65
 * words apart (33 in types of 2 bytes), so that 32 lanes meet 32 banks by rows and by columns.
 *
 * NUMBERS   8 bytes moved per element: at 4096 x 4096 134 MB, some 35 us of an H200's 2.6 ms for the product.
 * LIMITS    any rows, cols, ld and addresses; fewer than 2^31 blocks.
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

enum { TILE = 64, THREADS = 256, EACH = TILE * TILE / THREADS };

extern "C" __global__ void __launch_bounds__(THREADS)
    pack(int rows, int cols, const element *__restrict__ from, long ld, element *__restrict__ to, long to_ld)
{
    __shared__ element tile[TILE][TILE + (HALF ? 2 : 1)]; /* rows an odd number of words apart */
    int wide = cols / TILE + (cols % TILE != 0), i0 = blockIdx.x / wide * TILE, j0 = blockIdx.x % wide * TILE;
    int x = threadIdx.x % TILE, y = threadIdx.x / TILE;
#pragma unroll
    for (int e = 0; e < EACH; e++) {
        int i = y + e * (THREADS / TILE);
        if (i0 + i < rows && j0 + x < cols) tile[i][x] = from[(long)(i0 + i) * ld + j0 + x];
    }
    __syncthreads();
#pragma unroll
    for (int e = 0; e < EACH; e++) {
        int i = y + e * (THREADS / TILE);
        if (!TURNS && i0 + i < rows && j0 + x < cols) to[(long)(i0 + i) * to_ld + j0 + x] = tile[i][x];
        if (TURNS && j0 + i < cols && i0 + x < rows) to[(long)(j0 + i) * to_ld + i0 + x] = tile[x][i];
    }
}
