/* wgmma_c.cuh - how the sums of wgmma become C: by TMA through shared memory, or by the threads themselves. For
 * gemm_wgmma_sm90 and gemm_fp8_sm90, after hopper.cuh. WIDE = 1 promises c aligned to 16 bytes and rows of C a multiple
 * of 16 bytes apart. */
#include "epilogue.cuh"

enum { OUT_COLS = 128 / sizeof(element_c) };

static __device__ __forceinline__ void store_two(unsigned at, int x, int y)
{
    asm volatile("st.shared.v2.s32 [%0], {%1, %2};" ::"r"(at), "r"(x), "r"(y) : "memory");
}

/* Writes 16 lines of OUT_COLS sums of a warp, from row `row` of the buffer on, swizzled as TMA reads them: 16 bytes
 * number q of a line lie at number q ^ (line % 8). */
static __device__ __forceinline__ void stage_rows(unsigned out, int row, int lane, number alpha, const number *sum)
{
#if C_HALF
    UNROLLED
    for (int q = 0; q < 8; q += 2) {
        const number *x = &sum[4 * q];
        unsigned pairs[4];
        UNROLLED
        for (int e = 0; e < 4; e++) pairs[e] = pair_of(alpha * x[2 * e], alpha * x[2 * e + 1]);
        store_four(out + (row + lane % 16) * 128 + ((q + lane / 16) ^ lane % 8) * 16, pairs);
    }
#else
    /* alternate lines take other columns, so that the 16 lanes that store at once meet in no bank */
    int line = lane / 4, odd = line % 2;
    UNROLLED
    for (int q = 0; q < 4; q++) {
        UNROLLED
        for (int half = 0; half < 4; half += 2) {
            number x = odd ? sum[4 * (q ^ 2) + half] : sum[4 * q + half],
                   y = odd ? sum[4 * (q ^ 2) + half + 1] : sum[4 * q + half + 1];
            store_two(out + (row + half * 4 + line) * 128 + (((q ^ odd * 2) * 2 + lane % 4 / 2) ^ line) * 16 +
                          lane % 2 * 8,
                      alpha * x, alpha * y);
        }
    }
#endif
}

/* Epilogue by TMA: 64 x `columns` sums of a warpgroup to C from row i0, column j0 on, through its two buffers; `*next`
 * is the next. `within` is a named barrier of its threads. */
static __device__ __forceinline__ void epilogue_by_tma(element_c (*buffers)[64][OUT_COLS], int within, int *next,
                                                       const tensor_map *c_map, int i0, int j0, const int columns,
                                                       number alpha, const number *sum)
{
    int tid = threadIdx.x % 128;
    UNROLLED
    for (int j = 0; j < columns; j += OUT_COLS, *next ^= 1) {
        element_c(*out)[OUT_COLS] = buffers[*next];
        /* TMA has read the buffer; only the thread that started the store can wait for that */
        if (tid == 0) TMA_STORES_READ(1);
        named_barrier_sync(within, 128); /* all wait for that thread */
        stage_rows(shared_address(out), tid / 32 * 16, tid % 32, alpha, &sum[j / 2]);
        tma_fence();
        named_barrier_sync(within, 128); /* that thread waits for all: the lines are written */
        if (tid == 0) tma_store(c_map, j0 + j, i0, out);
    }
}

/* Epilogue by the threads themselves. */
static __device__ __forceinline__ void epilogue_by_threads(element_c *c, long ldc, int i0, int j0, int m, int n,
                                                           const int columns, number alpha, const number *sum,
                                                           number beta)
{
    int lane = threadIdx.x % 32, row = i0 + threadIdx.x % 128 / 32 * 16 + lane / 4, col = j0 + lane % 4 * 2;
    UNROLLED
    for (int j = 0; j < columns / 8; j++, col += 8) {
        if (row < m) put<2>(&C(row, col), n - col, alpha, &sum[4 * j], beta);
        if (row + 8 < m) put<2>(&C(row + 8, col), n - col, alpha, &sum[4 * j + 2], beta);
    }
}

/* May a tile of `columns` from column j0 on leave by TMA, which reads no C and writes whole 16 bytes? A last tile that
 * ends within them may not. */
static __device__ __forceinline__ bool leaves_by_tma(int j0, const int columns, int n, number beta)
{
    return WIDE && !reads_c(beta) && (j0 + columns <= n || n % (16 / (int)sizeof(element_c)) == 0);
}
