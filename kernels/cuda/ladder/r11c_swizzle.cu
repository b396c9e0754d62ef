/* r11c_swizzle - rung 11c: the tile of A lies swizzled, so that lanes of a warp read different banks.
 *
 * IDEA      r11b's lanes read 8 lines of A's tile, which meet in the same banks. TMA's 128-byte swizzle permutes the 8
 *           pieces of 16 bytes of a line of 128 bytes: number q of line r lies at place q ^ (r % 8). So a line must be
 *           128 bytes, 32 steps of k. It is all 32 banks, and without the swizzle all 8 lanes would meet. With it each
 *           line holds the same words in another order, and the 8 lanes read from 8 places:
 *
 *               line 0 | 0 1 2 3 4 5 6 7        lanes want q = 0:  line 0 place 0, line 1 place 1, line 2 place 2 ...
 *               line 1 | 1 0 3 2 5 4 7 6        a thread's own lines are 8 apart, and r % 8 is the same for all of
 *               line 2 | 2 3 0 1 6 7 4 5        them: one XOR for 4 steps of k serves 8 loads
 *
 *           No word of memory is added, as rows of BM + 4 words were in r05. TMA swizzles by bits of the address, so
 *           a stage begins at a multiple of 1024. Two wavefronts are the least: 16 bytes a lane go by half-warps.
 * NUMBERS   r11b's bytes and FMAs. A shared load of A takes 2 wavefronts in place of 4 (ncu: of both operands 2.0 for
 *           3.0). Tiles are twice as deep, so half as many barriers are met.
 *           H200: 1.01 of r11b at 4096, 1.05 where one block has a multiprocessor (512 x 512 x 8192) and nobody hides
 *           its conflicts; 0.97 at 8192 x 8192 x 64, where two deep tiles are all of k.
 * LIMITS    those of r11b.
 * HOST      as r11b's, but for a_map: box {32, 128}, swizzle 128 B; b_map: box {128, 32}.
 * CHANGED   from r11b: where the words of A's tile lie; the depth of a tile, 3 stages, and a loop unrolled by two,
 *           which would spill if it were unrolled whole.
 * SOURCE    PTX ISA (swizzling modes of tensor maps). */
#include "../rung.cuh"
#include "../wide.cuh"
#include "../hopper.cuh"

enum { BM = ROW_M, BN = ROW_N, BK = ROW_K, THREADS = ROW_THREADS, STAGES = ROW_STAGES, GROUP_M = 8 };
ASSUME(BM == 128 && BN == 128 && BK == 32 && BM * BN == 64 * THREADS)

struct stage {
    float a[BM][BK], b[BK][BN];
};

struct ring {
    struct stage stage[STAGES];
    barrier full[STAGES], empty[STAGES];
};
ASSUME(sizeof(struct ring) == ROW_BYTES)
ASSUME_BOXES(BM, BK, BK, BN)

/* One thread: tile number t of A and of B into its stage, once all warps have read what was there. */
static __device__ __forceinline__ void fetch(struct ring *ring, const tensor_map *a_map, const tensor_map *b_map,
                                             int i0, int j0, int t)
{
    int s = t % STAGES;
    barrier_wait(&ring->empty[s], t / STAGES % 2 ^ 1);
    barrier_expect(&ring->full[s], sizeof(struct stage));
    tma_load(ring->stage[s].a, a_map, t * BK, i0, &ring->full[s]);
    tma_load(ring->stage[s].b, b_map, j0, t * BK, &ring->full[s]);
}

extern "C" __global__ void __launch_bounds__(THREADS, 2)
    r11c_swizzle(const __grid_constant__ tensor_map a_map, const __grid_constant__ tensor_map b_map, int m, int n,
                 int k, float alpha, float beta, float *__restrict__ c, long ldc)
{
    extern __shared__ __align__(1024) struct ring ring[];
    int tid = threadIdx.x, lane = tid % 32, warp = tid / 32, s = 0, phase = 0, tiles = ceil_div(k, BK);
    int tiles_m = ceil_div(m, BM), tiles_n = ceil_div(n, BN), group = blockIdx.x / (GROUP_M * tiles_n);
    int rows = min(GROUP_M, tiles_m - group * GROUP_M), in_group = blockIdx.x % (GROUP_M * tiles_n);
    int i0 = (group * GROUP_M + in_group % rows) * BM, j0 = in_group / rows * BN;
    int x = lane / 8 * 2 + lane % 2, a_at = warp / 4 * 64 + x, b_at = warp % 4 * 32 + lane / 2 % 4 * 4;
    float sum[8][8] = {0};
    if (tid == 0) {
        ring_init(STAGES, ring->full, ring->empty, THREADS / 32);
        for (int t = 0; t < STAGES - 1 && t < tiles; t++) fetch(ring, &a_map, &b_map, i0, j0, t);
    }
    __syncthreads();
    ROLLED
    for (int t = 0; t < tiles; t++) {
        struct stage *stage = &ring->stage[s];
        barrier_wait(&ring->full[s], phase);
        _Pragma("unroll 2") for (int q = 0; q < BK / 4; q++)
        {
            float4 a_q[8];
            UNROLLED
            for (int i = 0; i < 8; i++) a_q[i] = *(float4 *)&stage->a[a_at + 8 * i][4 * (q ^ x)];
            UNROLLED
            for (int p = 0; p < 4; p++) {
                __align__(16) float b_p[8];
                *(float4 *)&b_p[0] = *(float4 *)&stage->b[4 * q + p][b_at];
                *(float4 *)&b_p[4] = *(float4 *)&stage->b[4 * q + p][b_at + 16];
                UNROLLED
                for (int i = 0; i < 8; i++) {
                    float a_p = p == 0 ? a_q[i].x : p == 1 ? a_q[i].y : p == 2 ? a_q[i].z : a_q[i].w;
                    UNROLLED
                    for (int j = 0; j < 8; j++) sum[i][j] = fmaf(a_p, b_p[j], sum[i][j]);
                }
            }
        }
        __syncwarp();
        if (lane == 0) barrier_arrive(&ring->empty[s]);
        if (tid == 0 && t + STAGES - 1 < tiles) fetch(ring, &a_map, &b_map, i0, j0, t + STAGES - 1);
        if (++s == STAGES) s = 0, phase ^= 1;
    }
    UNROLLED
    for (int i = 0; i < 8; i++) {
        int row = i0 + a_at + 8 * i;
        if (row >= m) continue;
        store4(&C(row, j0 + b_at), n - j0 - b_at, alpha, &sum[i][0], beta);
        store4(&C(row, j0 + b_at + 16), n - j0 - b_at - 16, alpha, &sum[i][4], beta);
    }
}
