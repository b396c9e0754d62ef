/* r11b_boxes - rung 11b: one thread asks for a box, and the tensor memory accelerator (TMA) copies it.
 *
 * IDEA      In r11a every thread computes addresses, tests edges and asks for five copies a tile. TMA knows the matrix
 *           from a tensor map, which the host makes: address, rows, columns, the distance of rows, the size of a box.
 *           One thread names the box's corner. TMA writes the box into shared memory, with zeros outside the matrix.
 *
 *           TMA's copies belong to no thread's group, so another way to wait is needed. A barrier in shared memory
 *           (mbarrier) counts arrivals and bytes: full[s] ends its phase when the fetching thread has arrived and the
 *           bytes that it announced are there, empty[s] when all warps have read the stage. Thread 0 waits for empty[s]
 *           before it fetches: else TMA would overwrite a stage that a slower warp still reads. Phases alternate in
 *           parity, and flip each time the ring comes round; a fresh barrier counts as ended with parity 1, so that
 *           the first fetches do not wait. No barrier of all threads is left in the loop.
 *
 *         thread 0  fetch 0 1 2 |  ...            fetch 3 |  ...             fetch 4 |  into the stage read a tile ago
 *         8 warps       wait full[0] |  multiply 0, arrive empty[0] |  multiply 1, arrive empty[1] |  ...
 *
 *           TMA cannot transpose. A's tile is as A lies, 128 lines of 16 floats, and a thread reads 16 bytes ALONG k:
 *           four steps of one row. It then loads B's words step by step. The 8 rows that
 *           lanes of a warp read lie 64 bytes apart: every other one begins in the same bank.
 *
 *                line 0 | 0 1 2 3            banks  0 ...  4 ...  8 ... 12 ...      lanes want column 0 of the 8 lines:
 *                line 1 | 0 1 2 3            banks 16 ... 20 ... 24 ... 28 ...      4 of them lie in the same 4 banks
 *                line 2 | 0 1 2 3            banks  0 ...
 * NUMBERS   r11's bytes and FMAs. A product of 4096 takes 2.36 10^9 warp instructions, r11a 2.73 (ncu); 2.15 are FMAs.
 *           Shared loads for 4 steps of k: 8 of A, which conflict, and 8 of B, which do not: 4 wavefronts and 2.
 *           H200: 1.04 of r11a at 4096, 1.05 at 4096 x 2112 x 4096, 1.02 at 8192 x 8192 x 64.
 * LIMITS    sm_90 and above. m, n >= 1, no transposes. a and b aligned to 16 bytes, lda and ldb multiples of 4 (rules
 *           of TMA). WIDE as in r09, of c alone. Fewer than 2^31 tiles.
 * HOST      grid ceil(m / 128) * ceil(n / 128), block 256, dynamic shared memory sizeof(struct ring). Two tensor maps,
 *           rank 2, FLOAT32, element strides 1, no interleave, no swizzle, zeros outside, L2 promotion 256 B:
 *               a_map: address a, dims {k, m}, stride {4 lda} bytes, box {16, 128}
 *               b_map: address b, dims {n, k}, stride {4 ldb} bytes, box {128, 16}
 * CHANGED   from r11a: who copies, how others wait for it, how A lies in shared memory; a tile is twice as deep, and
 *           there are 4 stages.
 * SOURCE    PTX ISA (cp.async.bulk.tensor, mbarrier). */
#include "../rung.cuh"
#include "../wide.cuh"
#include "../hopper.cuh"

enum { BM = ROW_M, BN = ROW_N, BK = ROW_K, THREADS = ROW_THREADS, STAGES = ROW_STAGES, GROUP_M = 8 };
ASSUME(BM == 128 && BN == 128 && BK == 16 && BM * BN == 64 * THREADS)

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
    r11b_boxes(const __grid_constant__ tensor_map a_map, const __grid_constant__ tensor_map b_map, int m, int n, int k,
               float alpha, float beta, float *__restrict__ c, long ldc)
{
    extern __shared__ __align__(1024) struct ring ring[];
    int tid = threadIdx.x, lane = tid % 32, warp = tid / 32, s = 0, phase = 0, tiles = ceil_div(k, BK);
    int tiles_m = ceil_div(m, BM), tiles_n = ceil_div(n, BN), group = blockIdx.x / (GROUP_M * tiles_n);
    int rows = min(GROUP_M, tiles_m - group * GROUP_M), in_group = blockIdx.x % (GROUP_M * tiles_n);
    int i0 = (group * GROUP_M + in_group % rows) * BM, j0 = in_group / rows * BN;
    int a_at = warp / 4 * 64 + lane / 8 * 2 + lane % 2, b_at = warp % 4 * 32 + lane / 2 % 4 * 4;
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
        UNROLLED
        for (int q = 0; q < BK / 4; q++) {
            float4 a_q[8];
            UNROLLED
            for (int i = 0; i < 8; i++) a_q[i] = *(float4 *)&stage->a[a_at + 8 * i][4 * q];
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
