/* r13a_pingpong - rung 13a: ping-pong. Two warpgroups, each with a tile of its own, take turns on the matrix units.
 *
 * IDEA      In r13 both consumer warpgroups work on one tile and finish it together. While they store C, the matrix
 *           units have nothing to do. Here each has a tile of its own, 64 x 256, and they take turns: while one
 *           multiplies, the other stores. Of a block's tiles warpgroup 0 takes 0, 2, 4 ..., warpgroup 1 takes 1, 3 ...
 *
 *         r13   warpgroup 0   | multiply 0              | store 0 | multiply 1              | store 1 | multiply 2 ...
 *               warpgroup 1   | multiply 0              | store 0 | multiply 1              | store 1 | multiply 2 ...
 *
 *         r13a  warpgroup 0   | multiply 0 | store 0 |  | multiply 2 | store 2 |  | multiply 4 | store 4 |  | ...
 *               warpgroup 1   |            | multiply 1 | store 1 |  | multiply 3 | store 3 |  | multiply 5 | ...
 *
 *           The turn goes from tile to tile by two named barriers, one for each warpgroup to wait at. Each counts 256
 *           threads: 128 that wait for the turn (sync) and 128 that pass it on without waiting (arrive). A warpgroup
 *           passes the turn on once it has issued the last wgmma of its tile. The block's first tile waits for nobody
 *           and its last passes nothing on, so at the end nobody waits and no arrival is left over:
 *
 *               tile 0: multiply, arrive[1]  ->  tile 1: sync[1], multiply, arrive[0]  ->  tile 2: sync[0], multiply
 *
 *           The producer fills the ring in the order of the tiles, as in r13. A warpgroup counts the other's steps too:
 *           the block's tile q begins with step q * blocks of the ring. full[s] tells even rounds of the ring from odd
 *           ones, no more, so a warpgroup may not look before the other has seen the round before: it waits for its
 *           turn first. One warpgroup reads a stage, so empty[s] counts 4 warps.
 * NUMBERS   tile 64 x 256: 51 flop per byte asked, where r13 has 85. Per 64 steps of k a multiprocessor asks 40 KiB of
 *           the L2 for the 512 cycles of 4 wgmma, 80 bytes a cycle at the matrix units' peak (r13: 48). Per wgmma the
 *           same 10 KiB of shared memory as in r13. A turn at k = 4096 is 256 wgmma, 32,768 cycles; the other warpgroup
 *           has as long to store 64 KiB of C. 384 threads, 168 registers on entry, then 24 and 240, 128 sums a thread;
 *           5 stages of 40 KiB: one block per multiprocessor.
 *           H200, bf16: 1.25 of r13 at 1024, where it has twice the tiles, one for each block: no turn is taken there.
 *           And 1.44 at 16 x 8192 x 8192, where five stages for three keep more of B under way; 1.00 at 4096, and 0.95
 *           at 8192, where it asks the L2 for more.
 * LIMITS    those of r13; tiles + 2 grids < 2^31.
 * HOST      tiles of 64 x 256, dynamic shared memory sizeof(struct ring) = 204880 bytes, a_map: box {64, 64}; else as
 *           r13. A block that has one tile leaves warpgroup 1 without work.
 * CHANGED   from r13: whose a tile is; the turns; stages and phases by count; the tile and the ring; GROUP_M of
 *           8 for 16. The production kernel gemm_wgmma_sm90 is made so, in other tiles.
 * SOURCE    PTX ISA (bar.sync, bar.arrive); NVIDIA: CUTLASS, 2023 (ping-pong, ordered sequence barrier). */
#include "../rung.cuh"
#include "../wide.cuh"
#include "../hopper.cuh"

enum {
    BM = ROW_M,
    BN = ROW_N,
    BK = ROW_K,
    LINE = 64,
    STAGES = ROW_STAGES,
    THREADS = ROW_THREADS,
    CONSUMERS = THREADS - 128,
    TURN = 1, /* named barriers: TURN + 0 for warpgroup 0, TURN + 1 for 1 */
    GROUP_M = 8
};
ASSUME(BM == 64 && BN == 256 && BK == LINE && CONSUMERS == 256)

struct stage {
    unsigned short a[BM][LINE], b[BN / LINE][BK][LINE];
};

struct ring {
    struct stage stage[STAGES];
    barrier full[STAGES], empty[STAGES];
};
ASSUME(sizeof(struct ring) == ROW_BYTES)
ASSUME_BOXES(BM, BK, BK, LINE)

/* Tile number `tile`, taken down GROUP_M rows of tiles before the next column, as in r11. */
static __device__ __forceinline__ void place(int tile, int tiles_m, int tiles_n, int *i0, int *j0)
{
    int group = tile / (GROUP_M * tiles_n), rows = min(GROUP_M, tiles_m - group * GROUP_M),
        in_group = tile % (GROUP_M * tiles_n);
    *i0 = (group * GROUP_M + in_group % rows) * BM, *j0 = in_group / rows * BN;
}

/* A thread holds, of every 8 columns, 2 in row r and the same 2 in row r + 8. Two neighbouring lanes trade, so that the
 * even one has 4 of row r and the odd one 4 of row r + 8. */
static __device__ __forceinline__ void trade(float *four, const float *sum, int odd)
{
    float u = __shfl_xor_sync(~0u, odd ? sum[0] : sum[2], 1), v = __shfl_xor_sync(~0u, odd ? sum[1] : sum[3], 1);
    four[0] = odd ? u : sum[0], four[1] = odd ? v : sum[1], four[2] = odd ? sum[2] : u, four[3] = odd ? sum[3] : v;
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    r13a_pingpong(const __grid_constant__ tensor_map a_map, const __grid_constant__ tensor_map b_map, int m, int n,
                  int k, float alpha, float beta, float *__restrict__ c, long ldc)
{
    extern __shared__ __align__(1024) struct ring ring[];
    int tid = threadIdx.x, lane = tid % 32, warp = tid / 32, group = warp / 4, s = 0, phase = 0,
        blocks = ceil_div(k, BK), i0, j0;
    int tiles_m = ceil_div(m, BM), tiles_n = ceil_div(n, BN), tiles = tiles_m * tiles_n;
    if (tid == 0) ring_init(STAGES, ring->full, ring->empty, 4);
    __syncthreads();
    if (tid >= CONSUMERS) {
        REGISTERS_KEEP(24);
        for (int tile = blockIdx.x; tid == CONSUMERS && tile < tiles; tile += gridDim.x) {
            place(tile, tiles_m, tiles_n, &i0, &j0);
            ROLLED
            for (int block = 0; block < blocks; block++) {
                barrier_wait(&ring->empty[s], phase ^ 1);
                barrier_expect(&ring->full[s], sizeof(struct stage));
                tma_load(ring->stage[s].a, &a_map, block * BK, i0, &ring->full[s]);
                for (int q = 0; q < BN / LINE; q++)
                    tma_load(ring->stage[s].b[q], &b_map, j0 + q * LINE, block * BK, &ring->full[s]);
                if (++s == STAGES) s = 0, phase ^= 1;
            }
        }
    } else {
        REGISTERS_TAKE(240);
        /* set by wgmma alone, as in r13 */
        float sum[128];
        for (int q = group, tile = blockIdx.x + q * gridDim.x; tile < tiles; q += 2, tile += 2 * gridDim.x) {
            int before = 0;
            long step = (long)q * blocks;
            s = step % STAGES, phase = step / STAGES % 2;
            if (q > 0) named_barrier_sync(TURN + group, CONSUMERS); /* wait for the turn */
            ROLLED
            for (int block = 0; block < blocks; block++) {
                barrier_wait(&ring->full[s], phase);
                unsigned long long a = matrix_descriptor(ring->stage[s].a, 8 * 128, 0);
                unsigned long long b = matrix_descriptor(ring->stage[s].b, 8 * 128, BK * 128);
                matrix_begin();
                UNROLLED
                for (int p = 0; p < BK; p += 16) matrix_multiply(sum, a + p * 2 / 16, b + p * 128 / 16, block | p);
                matrix_commit();
                MATRIX_WAIT(1);
                if (block > 0 && lane == 0) barrier_arrive(&ring->empty[before]);
                before = s;
                if (++s == STAGES) s = 0, phase ^= 1;
            }
            if (tile + gridDim.x < tiles) named_barrier_arrive(TURN + (group ^ 1), CONSUMERS); /* pass it on */
            MATRIX_WAIT(0);
            matrix_end(sum);
            if (lane == 0) barrier_arrive(&ring->empty[before]);
            place(tile, tiles_m, tiles_n, &i0, &j0);
            int row = i0 + warp % 4 * 16 + lane % 2 * 8 + lane / 4, col = j0 + lane / 2 % 2 * 4;
            UNROLLED
            for (int j = 0; j < BN / 8; j++) {
                float four[4];
                trade(four, &sum[4 * j], lane % 2);
                if (blocks == 0) four[0] = four[1] = four[2] = four[3] = 0;
                if (row < m) store4(&C(row, col + 8 * j), n - col - 8 * j, alpha, four, beta);
            }
        }
    }
}
