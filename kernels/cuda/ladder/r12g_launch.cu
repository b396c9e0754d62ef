/* r12g_launch - rung 12g: programmatic dependent launch (PDL): a kernel begins while the one before it runs.
 *
 * IDEA      Kernels of a stream run one after the other. After the last store of one the next is launched, its blocks
 *           initialise barriers, compute where their tiles lie, and only then fetch. Meanwhile nothing is multiplied.
 *           This head touches nothing that the kernel before computes. PDL starts a kernel early, and it waits itself:
 *
 *         as r12a      kernel 1   head | multiply ... | store |
 *                      kernel 2                               launch | head | fetch, multiply ... | store
 *
 *         with PDL     kernel 1   head | multiply ... | trigger, store |
 *                      kernel 2                         launch | head | wait | fetch, multiply ... | trigger, store
 *
 *           Trigger (griddepcontrol.launch_dependents): once all blocks have called it or ended, blocks of the next
 *           kernel take the room that is left. It is called behind the mainloop. Called first, it would let not one
 *           kernel come but a row of them, each of which triggers the next while it waits: their blocks fill the second
 *           place of some multiprocessors while others have none.
 *           Wait (griddepcontrol.wait): until the kernel before has ended and its stores are visible. It may write A,
 *           B or C and read C, so none of these is touched before. A kernel that never waits could end before the one
 *           ahead of it, and the one behind would take both for ended. So all threads wait, at k = 0 too.
 * NUMBERS   r12a's, and the head: 6 barriers, two tensor maps of 128 bytes. What is saved is a time for each launch,
 *           whatever the product: much of a small one, nothing of a large one.
 *           H200, 100 products one after the other in a graph, us for each, r12a and this: 128 x 128 x 32 6.55 and
 *           5.97, 256 x 256 x 32 6.86 and 6.12, 1024 x 1024 x 256 28.4 and 27.8, 4096 cubed 2914 and 2918. With the
 *           trigger called first 1024 x 1024 x 256 took 46.4. `ladder` times launches apart, and shows nothing of this.
 * LIMITS    those of r12a. Launched without PDL, trigger and wait do nothing.
 * HOST      the launch attribute programmatic stream serialisation; else as r12a.
 * CHANGED   from r12a: when the head runs, and that it prefetches the tensor maps.
 * SOURCE    PTX ISA (griddepcontrol). */
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
    r12g_launch(const __grid_constant__ tensor_map a_map, const __grid_constant__ tensor_map b_map, int m, int n, int k,
                float alpha, float beta, float *__restrict__ c, long ldc)
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
    if (tid == CONSUMERS && blocks > 0) prefetch_map(&a_map), prefetch_map(&b_map);
    __syncthreads();
    pdl_wait(); /* from here on global memory may be read and written */
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
    pdl_trigger();
    UNROLLED
    for (int i = 0; i < 8; i++) {
        int row = i0 + a_at + 8 * i;
        UNROLLED
        for (int j = 0; j < 4; j++)
            if (row < m) store4(&C(row, j0 + b_at + 16 * j), n - j0 - b_at - 16 * j, alpha, &sum[i][4 * j], beta);
    }
}
