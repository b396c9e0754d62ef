/* r12_async - rung 12: half the threads, each with twice the sums. A ring that TMA fills keeps so few warps busy.
 *
 * IDEA      In r11c 256 threads have 8 x 8 sums each: for four steps of k 8 loads of A and 8 of B serve 256 FMAs. No
 *           register holds a tile on its way any more, so that there is room for more sums, and loads are under way
 *           whatever the warps do, so that few warps are enough. Here 128 threads have 8 x 16 sums each: 8 loads of A
 *           and 16 of B serve 512 FMAs.
 *
 *               r11c   8 warps, 64 x 32 of C each        r12   4 warps, 64 x 64 of C each
 *
 *           The ring is r11b's: one thread asks for a box of A and a box of B, and TMA writes them to shared memory,
 *           with zeros outside the matrix, while all threads compute. full[s] opens when the bytes are there, empty[s]
 *           when all warps have read them.
 *
 *         thread 0  fetch 0  fetch 1 |  ...          fetch 2 |  ...          fetch 3 |  into the stage read a block ago
 *         4 warps       wait full[0] |  multiply 0, arrive empty[0]  |  multiply 1, arrive empty[1]  |  ...
 *
 *           The tile of A lies as r11c's, K-major (neighbours in memory are neighbours in k): 128 lines of 32 floats. A
 *           thread reads 16 bytes ALONG k, four steps for one row. The lanes of a warp read 8 rows, which would all
 *           meet in the same 4 banks; TMA's 128-byte swizzle puts the 16 bytes number q of line r at place q ^ (r % 8),
 *           and the 8 lanes read from 8 different places:
 *
 *               line 0 | 0 1 2 3 4 5 6 7        lanes want q = 0:  line 0 place 0, line 1 place 1, line 2 place 2 ...
 *               line 1 | 1 0 3 2 5 4 7 6        a thread's own lines are 8 apart: one XOR per 4 steps of k serves all
 *               line 2 | 2 3 0 1 6 7 4 5
 *
 * NUMBERS   32 flop per byte asked, as r11. Per thread and 4 steps of k: 8 loads of A, 16 of B, 512 FMAs: 94 % of the
 *           inner loop's instructions are FMAs. A shared load costs 2.0 wavefronts (ncu; r10's 3.0), none of them by
 *           conflict: lane l stands in row l/8*2 + l%2 and column l/2%4 of the warp's 8 x 4, so that lanes l and l^1
 *           want the same B, lanes l and l^2 the same A, and the hardware packs such pairs. 128 threads, 255 registers,
 *           3 stages of 32 KiB: two blocks per multiprocessor.
 *           H200: 48.3 to 48.7 TFLOP/s at 4096, 49.1 at 8192 (r11 at 4096: 44.5). ncu: 81 % of the issue slots used;
 *           most of what is missing waits at dispatch (14 % of the samples): the register file gives one operand of
 *           each of its two banks per cycle, an FMA has three.
 * LIMITS    sm_90 and above. m, n >= 1, no transposes. a and b aligned to 16 bytes, lda and ldb multiples of 4 (rules
 *           of TMA). WIDE = 1 promises c aligned to 16 bytes and ldc a multiple of 4; WIDE = 0 takes any.
 *           Fewer than 2^31 tiles.
 * HOST      grid ceil(m / 128) * ceil(n / 128), block 128, dynamic shared memory sizeof(struct ring) = 98352 bytes. Two
 *           tensor maps, rank 2, FLOAT32, element strides 1, no interleave, zeros outside, L2 promotion 256 B:
 *               a_map: address a, dims {k, m}, stride {4 lda} bytes, box {32, 128}, swizzle 128 B
 *               b_map: address b, dims {n, k}, stride {4 ldb} bytes, box {128, 32}, no swizzle
 * CHANGED   from r11c: 128 threads of 8 x 16 sums in place of 256 of 8 x 8, so that a load of B serves 8 rows and one
 *           of A 16 columns: 24 loads for 512 FMAs, where r11c has 16 for 256. r11a to r11c have its other ideas one
 *           by one: the ring, the boxes and the swizzle.
 * SOURCE    PTX ISA (cp.async.bulk.tensor, mbarrier); the lanes: maxas. */
#include "../rung.cuh"
#include "../wide.cuh"
#include "../hopper.cuh"

enum { BM = ROW_M, BN = ROW_N, BK = ROW_K, THREADS = ROW_THREADS, STAGES = ROW_STAGES, GROUP_M = 8 };
ASSUME(BM == 128 && BN == 128 && BK == 32 && THREADS == 128)

struct stage {
    float a[BM][BK], b[BK][BN];
};

struct ring {
    struct stage stage[STAGES];
    barrier full[STAGES], empty[STAGES];
};
ASSUME(sizeof(struct ring) == ROW_BYTES)
ASSUME_BOXES(BM, BK, BK, BN)

/* One thread: block number `block` of A and B into its stage, once all warps have read what was there. */
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
    r12_async(const __grid_constant__ tensor_map a_map, const __grid_constant__ tensor_map b_map, int m, int n, int k,
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
    if (tid == 0) {
        for (int q = 0; q < STAGES; q++) barrier_init(&ring->full[q], 1), barrier_init(&ring->empty[q], THREADS / 32);
        barrier_init_done();
        for (int q = 0; q < STAGES - 1 && q < blocks; q++) fetch(ring, &a_map, &b_map, i0, j0, q);
    }
    __syncthreads();
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
        if (tid == 0 && block + STAGES - 1 < blocks) fetch(ring, &a_map, &b_map, i0, j0, block + STAGES - 1);
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
