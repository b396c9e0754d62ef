/* r12b_persistent - rung 12b: a block takes tile after tile, and the ring never runs dry between them.
 *
 * IDEA      In r12a a block's first multiply waits for its first boxes, and nothing is fetched while C is stored. Two
 *           blocks on a multiprocessor hide some of that. Here no more blocks start than fit on the device, two for
 *           each multiprocessor, and each takes every gridDim.x-th tile. Its producer knows no end of a tile: while
 *           the consumers store C of one, the ring fills with boxes of the next.
 *
 *         producer     fetch ... of tile 0 | fetch 0 1 2 of tile 1 |      ...           | fetch 0 1 2 of tile 2
 *         consumers    multiply ... tile 0 |  store C of tile 0    | multiply ... tile 1 |  store C of tile 1
 *
 *           Stage and phase go on from tile to tile, in the producer and in the consumers alike: nobody resets them.
 * NUMBERS   r12a's bytes, FMAs and shared loads. What is saved is the start of each tile, which counts where k is
 *           short. H200: 1.12 of r12a at 8192 x 8192 x 64, 1.02 at 512 x 512 x 8192, where each block has one tile: the
 *           1.02 is not this idea's; r12a spills 16 bytes, this kernel none. What is lost is that blocks do not go
 *           where there is room: 0.99 at 4096, whose 1024 tiles are 3 or 4 for each of 264 blocks, and 0.99 at 4096 x
 *           2112 x 4096, whose 544 are 2 or 3.
 * LIMITS    those of r12a; tiles + grid < 2^31.
 * HOST      grid: two blocks for each multiprocessor, or one for each tile if those are fewer; else as r12a. Fewer
 *           blocks that need as few rounds, as r13 has them, leave some multiprocessors with one block and others with
 *           two: 182 for 544 tiles had 0.83 of r12a's speed.
 * CHANGED   from r12a: how many tiles a block computes.
 * SOURCE    NVIDIA: CUTLASS, 2023 (persistent kernels). */
#include "../rung.cuh"
#include "../wide.cuh"
#include "../hopper.cuh"

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

extern "C" __global__ void __launch_bounds__(THREADS, 2)
    r12b_persistent(const __grid_constant__ tensor_map a_map, const __grid_constant__ tensor_map b_map, int m, int n,
                    int k, float alpha, float beta, float *__restrict__ c, long ldc)
{
    extern __shared__ __align__(1024) struct ring ring[];
    int tid = threadIdx.x, lane = tid % 32, warp = tid / 32, s = 0, phase = 0, blocks = ceil_div(k, BK);
    int tiles_m = ceil_div(m, BM), tiles_n = ceil_div(n, BN), tiles = tiles_m * tiles_n, i0, j0;
    int x = lane / 8 * 2 + lane % 2, a_at = warp / 2 * 64 + x, b_at = warp % 2 * 64 + lane / 2 % 4 * 4;
    if (tid == 0) ring_init(STAGES, ring->full, ring->empty, CONSUMERS / 32);
    __syncthreads();
    if (tid >= CONSUMERS) {
        REGISTERS_KEEP(24);
        for (int tile = blockIdx.x; tid == CONSUMERS && tile < tiles; tile += gridDim.x) {
            place(tile, tiles_m, tiles_n, &i0, &j0);
            ROLLED
            for (int block = 0; block < blocks; block++) {
                fetch(ring, &a_map, &b_map, i0, j0, block, s, phase);
                if (++s == STAGES) s = 0, phase ^= 1;
            }
        }
        return;
    }
    REGISTERS_TAKE(232);
    ROLLED
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        float sum[8][16] = {0};
        place(tile, tiles_m, tiles_n, &i0, &j0);
        ROLLED
        for (int block = 0; block < blocks; block++) {
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
        UNROLLED
        for (int i = 0; i < 8; i++) {
            int row = i0 + a_at + 8 * i;
            UNROLLED
            for (int j = 0; j < 4; j++)
                if (row < m) store4(&C(row, j0 + b_at + 16 * j), n - j0 - b_at - 16 * j, alpha, &sum[i][4 * j], beta);
        }
    }
}
