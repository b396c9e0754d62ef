/* r12d_streamk - rung 12d: stream-K. All blocks but the last compute equally many steps of k, wherever tiles end.
 *
 * IDEA      In r12b a block computes whole tiles. 544 tiles on 264 blocks are three rounds, of which the last has 16
 *           tiles. Here the steps of k of all tiles stand in one row, and each block takes as many of them:
 *
 *               tiles     |    tile 0     |    tile 1     |    tile 2     |
 *               blocks    |  block 0  |  block 1  |  block 2  |  block 3  |
 *                                      ^ 1 finishes tile 0 with 0's sums, and gives 2 those of tile 1
 *
 *           A step is a stage of the ring, 32 of k. A block that has not a tile's end stores its sums in memory, then
 *           signals its flag. The block that has the tile's last steps finishes it (the fix-up): it waits for the flags
 *           of those before it, the nearest first, adds their sums, and stores C. Which blocks these are, and in what
 *           order they are added, follows from their numbers: the same bits each time.
 *           A block takes its steps from their end. So it first stores what others wait for, and waits for others last.
 *           It waits for blocks of lower numbers alone, which devices start first; and all blocks are resident at a
 *           time.
 * NUMBERS   r12b's bytes, FMAs and shared loads for each step; and 64 KiB that are written and read again for each part
 *           of a tile but its last, at most one part for each block: 17 MB on an H200. H200: 6.22 of r12b at 512 x 512
 *           x 8192, whose 16 tiles are for 256 blocks now, and 1.17 at 4096 x 2112 x 4096; 0.96 at 8192 x 8192 x 64,
 *           where the fix-up costs more than it evens out.
 * LIMITS    those of r12b. Bits depend on how many multiprocessors there are: that decides where tiles are cut.
 * HOST      length = ceil(all steps / two blocks for each multiprocessor), grid = ceil(all steps / length).
 *           memory: 64 KiB for each block; flags: one for each block, none of which is `epoch`, another number in each
 *           launch. Else as r12b.
 * CHANGED   from r12b: which steps a block takes; the fix-up.
 * SOURCE    Osama et al.: Stream-K, 2023; PTX ISA (memory consistency model). */
#include "../rung.cuh"
#include "../wide.cuh"
#include "../hopper.cuh"
#include "../flags.cuh"

enum { BM = ROW_M, BN = ROW_N, BK = ROW_K, THREADS = ROW_THREADS, STAGES = ROW_STAGES, GROUP_M = 8, CONSUMERS = 128 };
ASSUME(BM == 128 && BN == 128 && BK == 32 && THREADS == CONSUMERS + 128)

struct stage {
    float a[BM][BK], b[BK][BN];
};

struct ring {
    struct stage stage[STAGES];
    barrier full[STAGES], empty[STAGES];
};
ASSUME(sizeof(struct ring) == ROW_BYTES)
ASSUME_BOXES(BM, BK, BK, BN)

/* The producer: block number `block` of a tile into stage s, once all warps have read what was there. */
static __device__ __forceinline__ void fetch(struct ring *ring, const tensor_map *a_map, const tensor_map *b_map,
                                             int i0, int j0, int block, int s, int phase)
{
    barrier_wait(&ring->empty[s], phase ^ 1);
    barrier_expect(&ring->full[s], sizeof(struct stage));
    tma_load(ring->stage[s].a, a_map, block * BK, i0, &ring->full[s]);
    tma_load(ring->stage[s].b, b_map, j0, block * BK, &ring->full[s]);
}

/* Where in C tile number `tile` is: down GROUP_M rows of tiles, then the next column, as r11 numbers blocks. */
static __device__ __forceinline__ void place(int tile, int tiles_m, int tiles_n, int *i0, int *j0)
{
    int group = tile / (GROUP_M * tiles_n), rows = min(GROUP_M, tiles_m - group * GROUP_M),
        in_group = tile % (GROUP_M * tiles_n);
    *i0 = (group * GROUP_M + in_group % rows) * BM, *j0 = in_group / rows * BN;
}

/* The block's next steps, from the end of those it has left, from ... to - 1 of all: which of one tile's they are. */
static __device__ __forceinline__ void take(long from, long *to, int steps, int *tile, int *first, int *last)
{
    *tile = (int)((*to - 1) / steps);
    *last = (int)(*to - (long)*tile * steps), *first = (int)(max(from, (long)*tile * steps) - (long)*tile * steps);
    *to -= *last - *first;
}

/* The fix-up: adds what the blocks from `first` on have left for this tile, and waits for each. */
static __device__ __forceinline__ void add_others(float sum[8][16], int first, const float4 *memory,
                                                  unsigned long long *flags, unsigned long long epoch)
{
    ROLLED
    for (int other = blockIdx.x - 1; other >= first; other--) {
        if (threadIdx.x == 0) flag_wait_and_reset(flags, other, epoch);
        named_barrier_sync(1, CONSUMERS);
        UNROLLED
        for (int e = 0; e < 32; e++) {
            float4 x = __ldcg(&memory[((long)other * 32 + e) * CONSUMERS + threadIdx.x]);
            float *four = &sum[e / 4][e % 4 * 4];
            four[0] += x.x, four[1] += x.y, four[2] += x.z, four[3] += x.w;
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 2)
    r12d_streamk(const __grid_constant__ tensor_map a_map, const __grid_constant__ tensor_map b_map, int m, int n,
                 int k, float alpha, float beta, float *__restrict__ c, long ldc, int, int length, float4 *memory,
                 unsigned long long *flags, unsigned long long epoch)
{
    extern __shared__ __align__(1024) struct ring ring[];
    int tid = threadIdx.x, lane = tid % 32, warp = tid / 32, s = 0, phase = 0, blocks = ceil_div(k, BK);
    int tiles_m = ceil_div(m, BM), tiles_n = ceil_div(n, BN), steps = max(blocks, 1), tile, i0, j0;
    int first, last;
    long from = (long)blockIdx.x * length, to = min(from + length, (long)tiles_m * tiles_n * steps);
    int x = lane / 8 * 2 + lane % 2, a_at = warp / 2 * 64 + x, b_at = warp % 2 * 64 + lane / 2 % 4 * 4;
    if (tid == 0) ring_init(STAGES, ring->full, ring->empty, CONSUMERS / 32);
    __syncthreads();
    if (tid >= CONSUMERS) {
        REGISTERS_KEEP(24);
        while (tid == CONSUMERS && from < to) {
            take(from, &to, steps, &tile, &first, &last);
            place(tile, tiles_m, tiles_n, &i0, &j0);
            ROLLED
            for (int block = first; block < min(last, blocks); block++) {
                fetch(ring, &a_map, &b_map, i0, j0, block, s, phase);
                if (++s == STAGES) s = 0, phase ^= 1;
            }
        }
        return;
    }
    REGISTERS_TAKE(232);
    ROLLED
    while (from < to) {
        float sum[8][16] = {0};
        take(from, &to, steps, &tile, &first, &last);
        place(tile, tiles_m, tiles_n, &i0, &j0);
        ROLLED
        for (int block = first; block < min(last, blocks); block++) {
            const float *a_tile = ring->stage[s].a[a_at], *b_tile = &ring->stage[s].b[0][b_at];
            barrier_wait(&ring->full[s], phase);
            _Pragma("unroll 2") for (int q = 0; q < BK / 4; q++)
            {
                float4 a_q[8];
                UNROLLED
                for (int i = 0; i < 8; i++) a_q[i] = *(const float4 *)&a_tile[8 * i * BK + (q ^ x) * 4];
                UNROLLED
                for (int p = 0; p < 4; p++) {
                    float b_p[16];
                    UNROLLED
                    for (int j = 0; j < 4; j++)
                        *(float4 *)&b_p[4 * j] = *(const float4 *)&b_tile[(4 * q + p) * BN + 16 * j];
                    UNROLLED
                    for (int i = 0; i < 8; i++) {
                        float a_p = p == 0 ? a_q[i].x : p == 1 ? a_q[i].y : p == 2 ? a_q[i].z : a_q[i].w;
                        UNROLLED
                        for (int j = 0; j < 16; j++) sum[i][j] = fmaf(a_p, b_p[j], sum[i][j]);
                    }
                }
            }
            __syncwarp();
            if (lane == 0) barrier_arrive(&ring->empty[s]);
            if (++s == STAGES) s = 0, phase ^= 1;
        }
        if (last < steps) { /* another block has the tile's end */
            UNROLLED
            for (int e = 0; e < 32; e++)
                __stcg(&memory[((long)blockIdx.x * 32 + e) * CONSUMERS + tid], *(const float4 *)&sum[e / 4][e % 4 * 4]);
            named_barrier_sync(1, CONSUMERS);
            if (tid == 0) flag_signal(&flags[blockIdx.x], epoch);
            continue;
        }
        if (first > 0) add_others(sum, (int)((long)tile * steps / length), memory, flags, epoch);
        UNROLLED
        for (int i = 0; i < 8; i++) {
            int row = i0 + a_at + 8 * i;
            UNROLLED
            for (int j = 0; j < 4; j++)
                if (row < m) store4(&C(row, j0 + b_at + 16 * j), n - j0 - b_at - 16 * j, alpha, &sum[i][4 * j], beta);
        }
    }
}
