/* r12c_store - rung 12c: TMA stores C, too.
 *
 * IDEA      In r12b a thread stores 32 groups of 4 sums, and reckons an address and asks for an edge with each; while
 *           it does, this block multiplies nothing. Here a warp puts 8 rows of its sums into shared memory, one thread
 *           asks for the box to be stored, and the warp goes on with the next 8 while TMA copies:
 *
 *               warp     rows 0 ... 7 -> box 0 | rows 8 ... 15 -> box 1 | box 0 is read: rows 16 ... 23 -> box 0 | ...
 *               TMA                            |      box 0 -> C        |            box 1 -> C                  | ...
 *
 *           With a beta threads still read C. The last two boxes go out while the next tile is multiplied. What of a
 *           box lies beyond C is left out by TMA, as it fills with zeros when it loads. Between the two sides stands a
 *           fence: TMA reads shared memory by another way (the async proxy) than threads write it.
 * NUMBERS   r12b's bytes, FMAs and shared loads. A box is 8 x 64 sums, 2 KiB; two for each of 4 warps make 16 KiB, and
 *           with r12's ring 112 KiB: two blocks still fit on a multiprocessor. A warp's stores into its box take 8
 *           wavefronts for 4: rows are 256 bytes apart and begin in one bank, and of 8 lanes that are served at a time
 *           4 are in one row and 4 in the next. H200: 1.05 of r12b at 8192 x 8192 x 64, where C is much of the work,
 *           and 0.97 at 4096.
 * LIMITS    those of r12b. C's addresses and rows are multiples of 16 bytes (WIDE = 1), else threads store as in r12b.
 * HOST      a third map for C, boxes of 8 rows and 64 columns; else as r12b.
 * CHANGED   from r12b: how sums come to C, whose lines the L2 evicts first.
 * SOURCE    PTX ISA (cp.async.bulk.tensor, fence.proxy.async). */
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
    float c[CONSUMERS / 32][2][8][64];
    barrier full[STAGES], empty[STAGES];
};
ASSUME(sizeof(struct ring) == ROW_BYTES)
ASSUME_BOXES(BM, BK, BK, BN)
ASSUME_C_BOX(8, 64)

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

/* Four sums of a row, blended with what C holds there, into a box. */
static __device__ __forceinline__ void blend4(float *to, float alpha, const float *sum, float beta, float4 old)
{
    blend(&old.x, alpha, sum[0], beta), blend(&old.y, alpha, sum[1], beta);
    blend(&old.z, alpha, sum[2], beta), blend(&old.w, alpha, sum[3], beta);
    *(float4 *)to = old;
}

extern "C" __global__ void __launch_bounds__(THREADS, 2)
    r12c_store(const __grid_constant__ tensor_map a_map, const __grid_constant__ tensor_map b_map,
               const __grid_constant__ tensor_map c_map, int m, int n, int k, float alpha, float beta,
               float *__restrict__ c, long ldc)
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
            float(*box)[64] = ring->c[warp][i % 2];
            if (WIDE && lane == 0) TMA_STORES_READ(1); /* the box's last store, two ago */
            __syncwarp();
            UNROLLED
            for (int j = 0; j < 4; j++) {
                int col = j0 + b_at + 16 * j;
                if (!WIDE && row < m) store4(&C(row, col), n - col, alpha, &sum[i][4 * j], beta);
                if (WIDE) {
                    float4 old = {0, 0, 0, 0};
                    if (beta != 0 && row < m) old = load4(&C(row, col), n - col);
                    blend4(&box[x][b_at % 64 + 16 * j], alpha, &sum[i][4 * j], beta, old);
                }
            }
            if (!WIDE) continue;
            tma_fence();
            __syncwarp();
            if (lane == 0) tma_store(&c_map, j0 + warp % 2 * 64, i0 + warp / 2 * 64 + 8 * i, box);
        }
    }
    if (WIDE && lane == 0) TMA_STORES_DONE();
}
