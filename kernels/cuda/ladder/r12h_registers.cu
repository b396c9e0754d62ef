/* r12h_registers - rung 12h: operands come out of both banks of the register file.
 *
 * IDEA      An FMA reads three registers. The register file has two banks, the even and the odd ones. Three words out
 *           of one bank take a cycle more than two of one and one of the other; a word that is still there from the FMA
 *           before takes none (the compiler marks it .reuse). In r12 a thread's words of A at one step of k are every
 *           fourth register, since it has read 16 bytes along k: all lie in one bank. Where b's word and the sum are in
 *           that bank too, the FMA waits a cycle.
 *           Here A's tile lies along the edge, like B's, so that a thread's 16 words of A and 8 of B are neighbours:
 *           even, odd, even, odd. And the order of the FMAs goes through a row of sums and back through the next:
 *
 *               row 0    b 7 6 5 4 3 2 1 0    a[0] stays for all 8
 *               row 1    b 0 1 2 3 4 5 6 7    b[0] stays from row 0 to row 1
 *               row 2    b 7 6 5 4 3 2 1 0    b[7] stays from row 1 to row 2
 *
 *           TMA cannot transpose, so another kernel first packs A as k x m (pack.cu), which reads and writes it once.
 *           A stage is given back by a barrier of all threads, not by empty[s]: other blocks of the multiprocessor
 *           multiply while these wait. With empty[s] the same kernel had 0.96 of this speed.
 * NUMBERS   32 flop per byte asked. 6 loads of 16 bytes for 128 FMAs. ptxas decides which registers these are: in 1024
 *           FMAs r12 waits 300 cycles for a bank, this order 75 (counted in the code for sgemm_tma_sm90). A stage has
 *           16 steps, 16 KiB. 168 registers and 48 KiB: three blocks per multiprocessor, for r12's two.
 *           H200: 1.09 of r12 at 4096, 1.25 at 8192 x 8192 x 64; 0.81 at 256 cubed, where the packing pass is a launch
 *           more. At 4096 it has 0.99 of the speed of tw_gemm's kernel, sgemm_tma_sm90, which adds: tiles that divide k
 *           in the last wave (r12d), edge tiles of 32 rows or columns, whole rows where C is not aligned, PDL's wait
 *           (r12g).
 *           At 8192 x 8192 x 64 it has 1.10 of that speed: what the other adds costs more there than it gains.
 * LIMITS    sm_90 and above. m, n >= 1. Operands that lie otherwise are packed: all transposes and addresses. WIDE as
 *           in r09, of c alone. Fewer than 2^31 tiles.
 * HOST      grid ceil(m / 128) ceil(n / 128), block 128. Two tensor maps without swizzle, boxes {128, 16}: a_map of A
 *           as k x m, b_map of B as k x n.
 * CHANGED   from r12: how A lies, without a swizzle; 16 x 8 sums for 8 x 16, in an order of their own; 16 steps in a
 *           stage for 32; three blocks for two; a barrier of all threads for empty[].
 * SOURCE    maxas; Jia et al.: Dissecting the NVIDIA Volta GPU architecture via microbenchmarking, 2018. */
#include "../rung.cuh"
#include "../wide.cuh"
#include "../hopper.cuh"

enum { BM = ROW_M, BN = ROW_N, BK = ROW_K, THREADS = ROW_THREADS, STAGES = ROW_STAGES, GROUP_M = 8 };
ASSUME(BM == 128 && BN == 128 && BK == 16 && THREADS == 128)

struct stage {
    float a[BK][BM], b[BK][BN];
};

struct ring {
    struct stage stage[STAGES];
    barrier full[STAGES];
};
ASSUME(sizeof(struct ring) == ROW_BYTES)
ASSUME_BOXES(BK, BM, BK, BN)

/* One thread: block number `block` of A and B into its stage, once all warps have read what was there. */
static __device__ __forceinline__ void fetch(struct ring *ring, const tensor_map *a_map, const tensor_map *b_map,
                                             int i0, int j0, int block)
{
    int s = block % STAGES;
    barrier_expect(&ring->full[s], sizeof(struct stage));
    tma_load(ring->stage[s].a, a_map, i0, block * BK, &ring->full[s]);
    tma_load(ring->stage[s].b, b_map, j0, block * BK, &ring->full[s]);
}

extern "C" __global__ void __launch_bounds__(THREADS, 3)
    r12h_registers(const __grid_constant__ tensor_map a_map, const __grid_constant__ tensor_map b_map, int m, int n,
                   int k, float alpha, float beta, float *__restrict__ c, long ldc)
{
    extern __shared__ __align__(1024) struct ring ring[];
    int tid = threadIdx.x, lane = tid % 32, warp = tid / 32, s = 0, phase = 0, blocks = ceil_div(k, BK);
    int tiles_m = ceil_div(m, BM), tiles_n = ceil_div(n, BN);
    int group = blockIdx.x / (GROUP_M * tiles_n), rows = min(GROUP_M, tiles_m - group * GROUP_M),
        in_group = blockIdx.x % (GROUP_M * tiles_n);
    int i0 = (group * GROUP_M + in_group % rows) * BM, j0 = in_group / rows * BN;
    int a_at = (lane / 8 * 2 + lane % 2) * 4, b_at = warp * 32 + lane / 2 % 4 * 4;
    float sum[16][8] = {0};
    if (tid == 0) {
        ring_init(STAGES, ring->full);
        for (int q = 0; q < STAGES && q < blocks; q++) fetch(ring, &a_map, &b_map, i0, j0, q);
    }
    __syncthreads();
    ROLLED
    for (int block = 0; block < blocks; block++) {
        const float *a_tile = &ring->stage[s].a[0][a_at], *b_tile = &ring->stage[s].b[0][b_at];
        barrier_wait(&ring->full[s], phase);
        _Pragma("unroll 8") for (int p = 0; p < BK; p++)
        {
            float a_p[16], b_p[8];
            UNROLLED
            for (int i = 0; i < 4; i++) *(float4 *)&a_p[4 * i] = *(const float4 *)&a_tile[p * BM + 32 * i];
            UNROLLED
            for (int j = 0; j < 2; j++) *(float4 *)&b_p[4 * j] = *(const float4 *)&b_tile[p * BN + 16 * j];
            UNROLLED
            for (int i = 0; i < 16; i++) {
                UNROLLED
                for (int q = 0; q < 8; q++) {
                    int j = i % 2 ? q : 7 - q;
                    sum[i][j] = fmaf(a_p[i], b_p[j], sum[i][j]);
                }
            }
        }
        __syncthreads();
        if (tid == 0 && block + STAGES < blocks) fetch(ring, &a_map, &b_map, i0, j0, block + STAGES);
        if (++s == STAGES) s = 0, phase ^= 1;
    }
    UNROLLED
    for (int i = 0; i < 16; i++) {
        int row = i0 + a_at + i / 4 * 32 + i % 4;
        UNROLLED
        for (int j = 0; j < 2; j++)
            if (row < m) store4(&C(row, j0 + b_at + 16 * j), n - j0 - b_at - 16 * j, alpha, &sum[i][4 * j], beta);
    }
}
