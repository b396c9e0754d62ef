/* r12f_cluster - rung 12f: the 8 blocks of a cluster divide a tile's k and add their sums out of each other's shared
 * memory.
 *
 * IDEA      A C of few tiles with a long k leaves most multiprocessors idle in r12a. d1_splitk divides k among blocks:
 *           each writes its sums to memory, and a second kernel reads them and adds (split-K). Here a tile's blocks are
 *           a cluster: they run at the same time and can read each other's shared memory (distributed shared memory,
 *           DSMEM). So the sums never go to memory, and there is neither a workspace nor a second kernel.
 *
 *             block         0          1         ...  7
 *             multiplies    k / 8      next k / 8     last k / 8     from a ring in each, as in r12a
 *             keeps         128 x 128  128 x 128      128 x 128      its sums, where the ring was
 *                           ------------ cluster barrier ------------
 *             adds, stores  rows 0-15  rows 16-31     rows 112-127   of blocks 0, 1, ... 7, in this order
 *                           ------------ cluster barrier ------------
 *
 *           The order is always the same, and so are the bits. The second barrier keeps a block's shared memory until
 *           all have read it.
 *           Lanes l and l ^ 1 hold the same columns of two neighbouring rows. A row of sums is padded by 16 floats, so
 *           they write to different banks. Later a warp reads a whole row, and stores it: 512 bytes.
 * NUMBERS   r12a's bytes, FMAs and shared loads for each step of k. 512 x 512 x 8192 has 16 tiles: in r12a 16 blocks
 *           with 256 boxes of k each, here 128 blocks with 32. A block writes 64 KiB to its own shared memory. It reads
 *           as many, 56 KiB of them from others. Through memory the 128 blocks would write 8 MiB, and read them again.
 *           H200: 3.86 of r12a at 512 x 512 x 8192 (r12d, with any number of blocks for a tile, 6.31), 2.27 at 256
 *           cubed; 0.87 at 4096, and 0.17 at 8192 x 8192 x 64, where 6 of 8 blocks of a cluster have no step.
 * LIMITS    those of r12a; fewer than 2^28 tiles. k is always divided by 8, the most blocks of a cluster that every
 *           device takes. A C of many tiles gains nothing, and pays for the adding.
 * HOST      grid 8 ceil(m / 128) ceil(n / 128); the kernel itself says that clusters have 8 blocks. Else as r12a.
 * CHANGED   from r12a: which steps of k a block has; how sums reach C.
 * SOURCE    PTX ISA (mapa, ld.shared::cluster, barrier.cluster). */
#include "../rung.cuh"
#include "../wide.cuh"
#include "../hopper.cuh"

enum { BM = ROW_M, BN = ROW_N, BK = ROW_K, THREADS = ROW_THREADS, STAGES = ROW_STAGES, GROUP_M = 8, CONSUMERS = 128 };
enum { CLUSTER = 8, PAD = 16 };
ASSUME(CLUSTER == ROW_CLUSTER && BM == 128 && BN == 128 && BK == 32 && THREADS == CONSUMERS + 128)

struct stage {
    float a[BM][BK], b[BK][BN];
};

struct ring {
    struct stage stage[STAGES];
    barrier full[STAGES], empty[STAGES];
};
ASSUME(sizeof(struct ring) == ROW_BYTES)
ASSUME_BOXES(BM, BK, BK, BN)

/* The block's sums, where the stages were. */
struct sums {
    float row[BM][BN + PAD];
};
ASSUME(sizeof(struct sums) <= STAGES * sizeof(struct stage))

/* Four neighbours at this place in the shared memory of the block of that rank. */
static __device__ __forceinline__ float4 load_from(const float *p, int rank)
{
    float4 x;
    asm volatile("{.reg .b32 there; mapa.shared::cluster.u32 there, %4, %5;"
                 "ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [there];}"
                 : "=f"(x.x), "=f"(x.y), "=f"(x.z), "=f"(x.w)
                 : "r"(shared_address(p)), "r"(rank)
                 : "memory");
    return x;
}

/* The producer: block number `block`, from step p0 of k on, of A and B into its stage, once all warps have read what
 * was there. */
static __device__ __forceinline__ void fetch(struct ring *ring, const tensor_map *a_map, const tensor_map *b_map,
                                             int i0, int j0, int p0, int block)
{
    int s = block % STAGES;
    barrier_wait(&ring->empty[s], block / STAGES % 2 ^ 1);
    barrier_expect(&ring->full[s], sizeof(struct stage));
    tma_load(ring->stage[s].a, a_map, p0 + block * BK, i0, &ring->full[s]);
    tma_load(ring->stage[s].b, b_map, j0, p0 + block * BK, &ring->full[s]);
}

extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(THREADS, 2)
    r12f_cluster(const __grid_constant__ tensor_map a_map, const __grid_constant__ tensor_map b_map, int m, int n,
                 int k, float alpha, float beta, float *__restrict__ c, long ldc)
{
    extern __shared__ __align__(1024) struct ring ring[];
    int tid = threadIdx.x, lane = tid % 32, warp = tid / 32, s = 0, phase = 0, rank = blockIdx.x % CLUSTER;
    int each = ceil_div(ceil_div(k, BK), CLUSTER), blocks = min(each, ceil_div(k, BK) - rank * each);
    int tiles_m = ceil_div(m, BM), tiles_n = ceil_div(n, BN), tile = blockIdx.x / CLUSTER;
    int group = tile / (GROUP_M * tiles_n), rows = min(GROUP_M, tiles_m - group * GROUP_M),
        in_group = tile % (GROUP_M * tiles_n);
    int i0 = (group * GROUP_M + in_group % rows) * BM, j0 = in_group / rows * BN;
    int x = lane / 8 * 2 + lane % 2, a_at = warp / 2 * 64 + x, b_at = warp % 2 * 64 + lane / 2 % 4 * 4;
    float sum[8][16] = {0};
    if (tid == 0) ring_init(STAGES, ring->full, ring->empty, CONSUMERS / 32);
    __syncthreads();
    if (tid >= CONSUMERS) {
        REGISTERS_KEEP(24);
        ROLLED
        for (int block = 0; tid == CONSUMERS && block < blocks; block++)
            fetch(ring, &a_map, &b_map, i0, j0, rank * each * BK, block);
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
    struct sums *sums = (struct sums *)ring->stage;
    named_barrier_sync(1, CONSUMERS); /* all warps have read the stages */
    UNROLLED
    for (int i = 0; i < 8; i++) {
        UNROLLED
        for (int j = 0; j < 4; j++)
            *(float4 *)&sums->row[a_at + 8 * i][b_at + 16 * j] = *(const float4 *)&sum[i][4 * j];
    }
    CLUSTER_ARRIVE();
    CLUSTER_WAIT();
    int first = rank * BM / CLUSTER + warp;
    float4 total[4] = {0};
    UNROLLED
    for (int i = 0; i < 4; i++) {
        UNROLLED
        for (int from = 0; from < CLUSTER; from++) {
            float4 y = load_from(&sums->row[first + 4 * i][lane * 4], from);
            total[i].x += y.x, total[i].y += y.y, total[i].z += y.z, total[i].w += y.w;
        }
    }
    CLUSTER_ARRIVE(); /* this block has read the others */
    UNROLLED
    for (int i = 0; i < 4; i++) {
        int row = i0 + first + 4 * i, col = j0 + lane * 4;
        if (row < m) store4(&C(row, col), n - col, alpha, &total[i].x, beta);
    }
    __syncwarp();
    CLUSTER_WAIT(); /* the others this one: it may end */
}
