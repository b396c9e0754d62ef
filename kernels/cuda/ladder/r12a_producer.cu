/* r12a_producer - rung 12a: warps are specialised. One fetches, the others do nothing but multiply.
 *
 * IDEA      In r12 thread 0 multiplies like all others, and asks for the boxes in between: its warp waits for empty[s],
 *           and soon the others for it. Here a warp of its own asks, as far ahead as the ring has room. The warps that
 *           multiply never wait for empty[s] and never fetch:
 *
 *         producer     fetch 0 1 2 | wait empty[0], fetch 3   | wait empty[1], fetch 4   | ...
 *         4 consumers     wait full[0] | multiply 0, arrive empty[0] | multiply 1, arrive empty[1] | ...
 *
 *           Registers are given to threads as the kernel starts, to all the same number. 128 producers, of which one
 *           works, would hold half of them: with 255 for each, one block would fit. setmaxnreg moves them: the
 *           producers keep 24, the consumers take 232. It works on whole warpgroups, four warps each, so there must be
 *           128 producers.
 * NUMBERS   r12's bytes, FMAs and shared loads. 256 threads begin with 128 registers, 32,768 for a block: two blocks
 *           per multiprocessor, as in r12.
 *           H200: slower than r12, 0.96 of it at 4096 and from 0.95 to 0.98 elsewhere. FMAs bound both. Of r12's
 *           instructions few were thread 0's, and the consumers have 232 registers in place of 255. r13 and the
 *           production kernels on the matrix units are made so.
 * LIMITS    sm_90a alone (setmaxnreg); else those of r12.
 * HOST      block 256; else as r12.
 * CHANGED   from r12: who asks for the boxes, and whose the registers are.
 * SOURCE    PTX ISA (setmaxnreg); NVIDIA: CUTLASS, 2023 (warp specialisation). */
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

/* The producer: block number `block` of A and B into its stage, once all warps have read what was there. */
static __device__ __forceinline__ void fetch(struct ring *ring, const tensor_map *a_map, const tensor_map *b_map,
                                             int i0, int j0, int block)
{
    int s = block % STAGES;
    barrier_wait(&ring->empty[s], block / STAGES % 2 ^ 1);
    barrier_expect(&ring->full[s], sizeof(struct stage));
    tma_load(ring->stage[s].a, a_map, block * BK, i0, &ring->full[s]);
    tma_load(ring->stage[s].b, b_map, j0, block * BK, &ring->full[s]);
}

extern "C" __global__ void __launch_bounds__(THREADS, 2)
    r12a_producer(const __grid_constant__ tensor_map a_map, const __grid_constant__ tensor_map b_map, int m, int n,
                  int k, float alpha, float beta, float *__restrict__ c, long ldc)
{
    extern __shared__ __align__(1024) struct ring ring[];
    int tid = threadIdx.x, lane = tid % 32, warp = tid / 32, s = 0, phase = 0, blocks = ceil_div(k, BK);
    int tiles_m = ceil_div(m, BM), tiles_n = ceil_div(n, BN);
    int group = blockIdx.x / (GROUP_M * tiles_n), rows = min(GROUP_M, tiles_m - group * GROUP_M),
        in_group = blockIdx.x % (GROUP_M * tiles_n);
    int i0 = (group * GROUP_M + in_group % rows) * BM, j0 = in_group / rows * BN;
    int x = lane / 8 * 2 + lane % 2, a_at = warp / 2 * 64 + x, b_at = warp % 2 * 64 + lane / 2 % 4 * 4;
    float sum[8][16] = {0};
    if (tid == 0) ring_init(STAGES, ring->full, ring->empty, CONSUMERS / 32);
    __syncthreads();
    if (tid >= CONSUMERS) {
        REGISTERS_KEEP(24);
        ROLLED
        for (int block = 0; tid == CONSUMERS && block < blocks; block++) fetch(ring, &a_map, &b_map, i0, j0, block);
        return;
    }
    REGISTERS_TAKE(232);
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
