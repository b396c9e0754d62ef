/* r12j_wgmma - rung 12j: the matrix units of a warpgroup (wgmma) read A and B straight out of shared memory.
 *
 * IDEA      In r12i A and B pass through registers on their way to the matrix units, and every warp issues ldmatrix for
 *           them. A wgmma is one instruction of 128 threads (a warpgroup). It multiplies 64 x 16 of A by 16 x 128 of B
 *           and adds to 64 x 128 sums in their registers. Its width may be 8 to 256, in eights. It takes A and B from
 *           shared memory, by descriptors: an address, two strides and the swizzle. No ldmatrix, no A or B in
 *           registers:
 *
 *               r12i   shared memory -> ldmatrix -> registers -> mma.sync     a warp, 16 steps: 8 ldmatrix, 32 mma.sync
 *               r12j   shared memory ------------------------> wgmma          4 warps, 16 steps: 2 wgmma, one of rows
 *                                                                             0 ... 63 of the tile, one of 64 ... 127
 *
 *           wgmma reads the lines of 128 bytes that TMA swizzles. A is K-major (neighbours in memory are neighbours in
 *           k), B MN-major, both as stored; 16 steps on are 32 bytes in A and 2048 in B:
 *
 *               A 128 x 64  one box: line i = row i                 from 8 rows to the next 8: 1024 bytes
 *               B 64 x 128  2 boxes: line p = step p of 64 columns  from 8 steps to the next 8: 1024; to box 1: 8192
 *
 *           A wgmma goes on beside the threads. They issue the 8 of a block of k as one group, then wait for the group
 *           before and give its stage back. So one group is always under way:
 *
 *               threads       issue 0 | issue 1 | wait for 0, empty[0] | issue 2 | wait for 1, empty[1] | issue 3 | ...
 *               matrix units          | multiply 0                     | multiply 1                     | multiply 2
 *
 * NUMBERS   r12i's tile, stages and bytes: 64 flop per byte asked of the L2. Per block of 64 steps a warp issues 8
 *           wgmma, where in r12i it issues 160 ldmatrix and mma.sync.
 *           A wgmma names 2 KiB of A and 4 KiB of B. If it reads them once, 8 of them read 48 KiB, where r12i reads 64:
 *           43 flop per byte of shared memory, 384 cycles at 128 bytes a cycle for 512 of the matrix units. With 256
 *           columns, as in r13, it names 10 KiB: 51 flop per byte.
 *           128 sums per thread. 256 threads begin with 128 registers, then have 24 and 232: two blocks per
 *           multiprocessor, so that one can multiply while the other stores C.
 *           H200, bf16: 1.35 of r12i at 4096 and 1.30 at 8192, with 0.43 of its instructions (ncu, at 4096); 0.95 at
 *           8192 x 8192 x 64, 0.98 at 1024.
 * LIMITS    those of r12i.
 * HOST      as r12i.
 * CHANGED   from r12i: who multiplies, when a stage is given back, and sums that nobody sets where k is 0. r13 is this
 *           with a tile of 128 x 256, two warpgroups that share it, and blocks that stay for tile after tile as in
 *           r12b.
 * SOURCE    PTX ISA (wgmma.mma_async and its matrix descriptor); NVIDIA: CUTLASS, 2023. */
#include "../rung.cuh"
#include "../wide.cuh"
#define MATRIX_N          128 /* columns of a wgmma */
#define MATRIX_MN_MAJOR_A 0
#define MATRIX_MN_MAJOR_B 1
#include "../hopper.cuh"

enum {
    BM = ROW_M,
    BN = ROW_N,
    BK = ROW_K,
    LINE = 64,
    THREADS = ROW_THREADS,
    STAGES = ROW_STAGES,
    GROUP_M = 8,
    CONSUMERS = 128
};
ASSUME(BM == 128 && BN == MATRIX_N && BK == LINE && THREADS == CONSUMERS + 128)

struct stage {
    unsigned short a[BM][LINE], b[BN / LINE][BK][LINE];
};

struct ring {
    struct stage stage[STAGES];
    barrier full[STAGES], empty[STAGES];
};
ASSUME(sizeof(struct ring) == ROW_BYTES)
ASSUME_BOXES(BM, BK, BK, LINE)

/* The producer: block number `block` of A and B into its stage, once all warps have read what was there. */
static __device__ __forceinline__ void fetch(struct ring *ring, const tensor_map *a_map, const tensor_map *b_map,
                                             int i0, int j0, int block)
{
    int s = block % STAGES;
    barrier_wait(&ring->empty[s], block / STAGES % 2 ^ 1);
    barrier_expect(&ring->full[s], sizeof(struct stage));
    tma_load(ring->stage[s].a, a_map, block * BK, i0, &ring->full[s]);
    for (int q = 0; q < BN / LINE; q++) tma_load(ring->stage[s].b[q], b_map, j0 + q * LINE, block * BK, &ring->full[s]);
}

/* A thread holds, of every 8 columns, 2 in row r and the same 2 in row r + 8. Two neighbouring lanes trade, so that the
 * even one has 4 of row r and the odd one 4 of row r + 8. */
static __device__ __forceinline__ void trade(float *four, const float *sum, int odd)
{
    float u = __shfl_xor_sync(~0u, odd ? sum[0] : sum[2], 1), v = __shfl_xor_sync(~0u, odd ? sum[1] : sum[3], 1);
    four[0] = odd ? u : sum[0], four[1] = odd ? v : sum[1], four[2] = odd ? sum[2] : u, four[3] = odd ? sum[3] : v;
}

extern "C" __global__ void __launch_bounds__(THREADS, 2)
    r12j_wgmma(const __grid_constant__ tensor_map a_map, const __grid_constant__ tensor_map b_map, int m, int n, int k,
               float alpha, float beta, float *__restrict__ c, long ldc)
{
    extern __shared__ __align__(1024) struct ring ring[];
    int tid = threadIdx.x, lane = tid % 32, warp = tid / 32, s = 0, phase = 0, blocks = ceil_div(k, BK), before = 0;
    int tiles_m = ceil_div(m, BM), tiles_n = ceil_div(n, BN);
    int group = blockIdx.x / (GROUP_M * tiles_n), rows = min(GROUP_M, tiles_m - group * GROUP_M),
        in_group = blockIdx.x % (GROUP_M * tiles_n);
    int i0 = (group * GROUP_M + in_group % rows) * BM, j0 = in_group / rows * BN;
    float sum[2][64]; /* set by wgmma alone: the first of each adds to nothing */
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
        barrier_wait(&ring->full[s], phase);
        unsigned long long a = matrix_descriptor(ring->stage[s].a, 8 * 128, 0);
        unsigned long long b = matrix_descriptor(ring->stage[s].b, 8 * 128, BK * 128);
        matrix_begin();
        UNROLLED
        for (int p = 0; p < BK; p += 16) {
            UNROLLED
            for (int i = 0; i < 2; i++)
                matrix_multiply(sum[i], a + (i * 64 * 128 + p * 2) / 16, b + p * 128 / 16, block | p);
        }
        matrix_commit();
        MATRIX_WAIT(1);
        if (block > 0 && lane == 0) barrier_arrive(&ring->empty[before]);
        before = s;
        if (++s == STAGES) s = 0, phase ^= 1;
    }
    MATRIX_WAIT(0);
    UNROLLED
    for (int i = 0; i < 2; i++) {
        int row = i0 + 64 * i + 16 * warp + lane % 2 * 8 + lane / 4, col = j0 + lane / 2 % 2 * 4;
        matrix_end(sum[i]);
        UNROLLED
        for (int j = 0; j < BN / 8; j++) {
            float four[4];
            trade(four, &sum[i][4 * j], lane % 2);
            if (blocks == 0) four[0] = four[1] = four[2] = four[3] = 0;
            if (row < m) store4(&C(row, col + 8 * j), n - col - 8 * j, alpha, four, beta);
        }
    }
}
