/* r12e_multicast - rung 12e: two blocks form a cluster, and each box of B goes into the shared memory of both.
 *
 * IDEA      In r12a the blocks of two tiles, one above the other, both ask for the same boxes of B. Here they are a
 *           cluster: the hardware starts them together, close to each other, and one can write into the other's shared
 *           memory. Each asks for its own A and for half of the steps of B. TMA puts that half into both (multicast),
 *           and counts its bytes on full[s] of both, each of which expects 32 KiB: its own A and both halves of B.
 *           Bytes may come before they are expected: a phase does not end before its own arrival.
 *
 *             block 0   asks for A,  rows   0 to 127    and B, steps  0 to 15 of 32 ---> full[s] of 0 and 1
 *             block 1   asks for A,  rows 128 to 255    and B, steps 16 to 31 of 32 ---> full[s] of 0 and 1
 *
 *             A 128 x 32 |-> C, rows   0 to 127  <-|
 *                                                  | B 32 x 128, the same in both
 *             A 128 x 32 |-> C, rows 128 to 255  <-|
 *
 *           A stage belongs to both blocks, so both must have read it before either fills it again. Each of the 4 + 4
 *           warps that multiply arrives at empty[s] of both blocks, lane 0 at block 0's and lane 1 at block 1's. The
 *           blocks wait for each other twice (cluster barrier). At the start, until the other's barriers are
 *           initialised. At the end, since the other may still arrive here.
 * NUMBERS   256 x 128 of C for a cluster: for 32 steps of k it asks for 48 KiB, where two blocks of r12a ask for 64.
 *           That is 43 flop per byte asked, r12a's are 32. Shared memory gets as many bytes as before. FMAs, shared
 *           loads, stages, registers: r12a's. A warp's second arrival is in the same instruction.
 *           H200: the L2 is read 0.84 as often (ncu, sectors at 4096), but no size that was tried gains: 0.98 of r12a
 *           at 4096, 0.97 at 8192 x 8192 x 64. FMAs are the bound, not the L2, and now the blocks of a cluster wait for
 *           each other.
 * LIMITS    those of r12a; fewer than 2^30 tiles. Where m ends within the upper half of a tile, block 1 multiplies
 *           zeros.
 * HOST      grid 2 ceil(m / 256) ceil(n / 128); the kernel itself says that clusters have 2 blocks.
 *               b_map: box {128, 16}; else as r12a
 * CHANGED   from r12a: who asks for B; which warps empty[s] counts; the cluster barriers; GROUP_M counts tiles of 256
 *           rows, so 4 are r12a's 8.
 * SOURCE    PTX ISA (cp.async.bulk.tensor with .multicast::cluster, mapa, barrier.cluster). */
#include "../rung.cuh"
#include "../wide.cuh"
#include "../hopper.cuh"

enum { CLUSTER = 2, BM = ROW_M / CLUSTER, BN = ROW_N, BK = ROW_K, HALF = BK / CLUSTER };
enum { THREADS = ROW_THREADS, STAGES = ROW_STAGES, GROUP_M = 4, CONSUMERS = 128 };
ASSUME(CLUSTER == ROW_CLUSTER && BM == 128 && BN == 128 && BK == 32 && THREADS == CONSUMERS + 128)

struct stage {
    float a[BM][BK], b[BK][BN];
};

struct ring {
    struct stage stage[STAGES];
    barrier full[STAGES], empty[STAGES];
};
ASSUME(sizeof(struct ring) == ROW_BYTES)
ASSUME_BOXES(BM, BK, HALF, BN)

/* Arrives at the same barrier of the block of that rank. */
static __device__ __forceinline__ void barrier_arrive_at(barrier *bar, int rank)
{
    asm volatile("{.reg .b32 there; mapa.shared::cluster.u32 there, %0, %1;"
                 "mbarrier.arrive.shared::cluster.b64 _, [there];}" ::"r"(shared_address(bar)),
                 "r"(rank)
                 : "memory");
}

/* As tma_load(), to the same place in every block of the cluster; each block's own barrier counts the bytes. */
static __device__ __forceinline__ void tma_multicast(void *to, const tensor_map *map, int x, int y, barrier *bar)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
                 "[%1, {%2, %3}], [%4], %5;" ::"r"(shared_address(to)),
                 "l"(map), "r"(x), "r"(y), "r"(shared_address(bar)), "h"((short)((1 << CLUSTER) - 1))
                 : "memory");
}

/* The producer: block number `block` of A and its half of B, once the warps of both blocks have read that stage. */
static __device__ __forceinline__ void fetch(struct ring *ring, const tensor_map *a_map, const tensor_map *b_map,
                                             int i0, int j0, int block, int rank)
{
    int s = block % STAGES, p0 = rank * HALF;
    barrier_wait(&ring->empty[s], block / STAGES % 2 ^ 1);
    barrier_expect(&ring->full[s], sizeof(struct stage));
    tma_load(ring->stage[s].a, a_map, block * BK, i0, &ring->full[s]);
    tma_multicast(ring->stage[s].b[p0], b_map, j0, block * BK + p0, &ring->full[s]);
}

extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(THREADS, 2)
    r12e_multicast(const __grid_constant__ tensor_map a_map, const __grid_constant__ tensor_map b_map, int m, int n,
                   int k, float alpha, float beta, float *__restrict__ c, long ldc)
{
    extern __shared__ __align__(1024) struct ring ring[];
    int tid = threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32, s = 0, phase = 0, blocks = ceil_div(k, BK);
    int tiles_m = ceil_div(m, ROW_M), tiles_n = ceil_div(n, BN);
    int tile = blockIdx.x / CLUSTER, rank = blockIdx.x % CLUSTER;
    int group = tile / (GROUP_M * tiles_n), rows = min(GROUP_M, tiles_m - group * GROUP_M),
        in_group = tile % (GROUP_M * tiles_n);
    int i0 = (group * GROUP_M + in_group % rows) * ROW_M + rank * BM, j0 = in_group / rows * BN;
    int x = lane / 8 * 2 + lane % 2, a_at = warp / 2 * 64 + x, b_at = warp % 2 * 64 + lane / 2 % 4 * 4;
    float sum[8][16] = {0};
    if (tid == 0) ring_init(STAGES, ring->full, ring->empty, CLUSTER * CONSUMERS / 32);
    CLUSTER_ARRIVE();
    CLUSTER_WAIT();
    if (tid >= CONSUMERS) {
        REGISTERS_KEEP(24);
        ROLLED
        for (int block = 0; tid == CONSUMERS && block < blocks; block++)
            fetch(ring, &a_map, &b_map, i0, j0, block, rank);
        return;
    }
    REGISTERS_TAKE(232);
    ROLLED
    for (int left = k; left > 0; left -= BK) {
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
        if (lane < CLUSTER) barrier_arrive_at(&ring->empty[s], lane);
        if (++s == STAGES) s = 0, phase ^= 1;
    }
    CLUSTER_ARRIVE(); /* at empty[] this block has arrived for the last time */
    UNROLLED
    for (int i = 0; i < 8; i++) {
        int row = i0 + a_at + 8 * i;
        UNROLLED
        for (int j = 0; j < 4; j++)
            if (row < m) store4(&C(row, j0 + b_at + 16 * j), n - j0 - b_at - 16 * j, alpha, &sum[i][4 * j], beta);
    }
    __syncwarp();
    CLUSTER_WAIT(); /* the other block, too: this one may end */
}
