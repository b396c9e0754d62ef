/* splitk.cuh - the fix-up of split-K: adds the partial sums of a tile whose k several blocks divide, always in the same
 * order. For sgemm_slicedk_sm80, sgemm_slicedk_tma_sm90, dgemm_mma_sm80 and dgemm_tma_sm90. Include it after their BM x
 * BN tile, THREADS, and EACH: the pieces of 16 bytes that a thread holds of the tile, ceil(BM * BN / PIECE_SUMS /
 * THREADS). A piece is a float4, or a double2 if SUMS_F64.
 *
 * Through global memory: every block but the last stores its sums there and signals a flag. The last of each GROUP adds
 * the group's, and the last of all adds those of the groups. A block waits only for blocks that begin before it.
 *
 *     split     0   1   ...   7  |  8   9   ...   15  |  16   17
 *     adds                  0-6  |             8 - 14  |       16, then 7 and 15: the tile
 *
 * CLUSTER_REDUCE = 1, cluster reduction, from sm_90 on: a tile's 2, 4 or 8 blocks are one cluster and run at the same
 * time. Each adds an equal part of the tile. It sends the others their parts into their shared memory (DSMEM), where an
 * mbarrier counts what has come. A block that has ended is sent nothing.
 *
 *     split     0            1            2            3
 *     adds      rows 0-15    rows 16-31   rows 32-47   rows 48-63, of splits 0, 1, 2, 3
 *
 * Of f64 a tile's blocks may be several clusters, of 8. Each block stores what it has added, an eighth of the tile, and
 * signals a flag. Those of the last cluster add the eighths of the others.
 *
 *     cluster             0        1       ...   14
 *     block 0, eighth 0   stores   stores        adds 0, 1, ... 13 to its own: the tile's eighth 0
 *     ...
 *     block 7, eighth 7   stores   stores        adds 0, 1, ... 13 to its own: the tile's eighth 7
 *
 * SOURCE    PTX ISA: st.async, mapa, mbarrier, barrier.cluster */
#include "flags.cuh"
#include "shared.cuh"

#ifndef CLUSTER_REDUCE
#define CLUSTER_REDUCE 0
#endif

#if SUMS_F64
typedef double2 sums_piece;
enum { PIECE_SUMS = 2 };
static __device__ __forceinline__ void add(double2 *x, double2 y) { x->x += y.x, x->y += y.y; }
static __device__ __forceinline__ double2 no_sums(void) { return make_double2(0, 0); }
#else
typedef float4 sums_piece;
enum { PIECE_SUMS = 4 };
static __device__ __forceinline__ void add(float4 *x, float4 y) { x->x += y.x, x->y += y.y, x->z += y.z, x->w += y.w; }
static __device__ __forceinline__ float4 no_sums(void) { return make_float4(0, 0, 0, 0); }
#endif

/* TOGETHER: blocks whose sums are loaded before the first are added; registers hold them. */
enum { GROUP = 8, TILE_PIECES = BM * BN / PIECE_SUMS, TOGETHER = EACH > 8 ? 1 : 4 };

/* In shared memory: what the blocks of the cluster have sent for this block's part, block by block. */
struct cluster_sums {
    sums_piece sent[TILE_PIECES];
    unsigned long long full;
};

enum { CLUSTER = 8 };

/* Blocks of a cluster: all of a tile's; of f64 CLUSTER of them. */
static __device__ __forceinline__ int cluster_blocks(int splits) { return SUMS_F64 ? CLUSTER : splits; }

/* A block's number in its cluster. */
static __device__ __forceinline__ int cluster_rank(int split, int splits)
{
    return SUMS_F64 ? split % cluster_blocks(splits) : split;
}

/* Pieces of the tile that a block stores, and the first of them. */
static __device__ __forceinline__ int quads_of_split(int splits)
{
    return CLUSTER_REDUCE ? TILE_PIECES / cluster_blocks(splits) : TILE_PIECES;
}

static __device__ __forceinline__ int first_quad(int split, int splits)
{
    return CLUSTER_REDUCE ? cluster_rank(split, splits) * quads_of_split(splits) : 0;
}

#if CLUSTER_REDUCE

static __device__ __forceinline__ unsigned address_at(const void *p, int split)
{
    unsigned there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(shared_address(p)), "r"(split));
    return there;
}

/* All threads, at the start: a block that has begun may be sent to. */
static __device__ __forceinline__ void cluster_begin(struct cluster_sums *here)
{
    unsigned full = shared_address(&here->full);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(full) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(full), "r"(TILE_PIECES * 16)
                     : "memory");
    }
    __syncwarp();
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}

/* Sends a piece to `to` in another block's shared memory, whose barrier `full` counts its bytes. */
static __device__ __forceinline__ void send(unsigned to, unsigned full, float4 x)
{
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(to),
                 "f"(x.x), "f"(x.y), "f"(x.z), "f"(x.w), "r"(full)
                 : "memory");
}

static __device__ __forceinline__ void send(unsigned to, unsigned full, double2 x)
{
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.f64 [%0], {%1, %2}, [%3];" ::"r"(to),
                 "d"(x.x), "d"(x.y), "r"(full)
                 : "memory");
}

#if SUMS_F64
enum { PART = TILE_PIECES / CLUSTER, EACH_PART = (PART + THREADS - 1) / THREADS };

/* x is the block's part of its cluster's sums. True in the last cluster, where it becomes that of all clusters' sums,
 * always added in the same order. */
static __device__ __forceinline__ bool add_clusters(double2 *x, int split, int splits, double2 *memory,
                                                    unsigned long long *flags, unsigned long long epoch)
{
    enum { AT_ONCE = 8 }; /* loaded before the first is added */
    const int last = splits - CLUSTER;
    if (split < last) {
        UNROLLED
        for (int i = 0; i < EACH_PART; i++) {
            int e = threadIdx.x + i * THREADS;
            if (e < PART) __stcg(&memory[(long)split * PART + e], x[i]);
        }
        signal_flag(&flags[split], epoch);
        return false;
    }
    for (int other = split % CLUSTER + (int)threadIdx.x * CLUSTER; other < last; other += THREADS * CLUSTER)
        flag_wait_and_reset(flags, other, epoch);
    __syncthreads();
    ROLLED
    for (int first = split % CLUSTER; first < last; first += AT_ONCE * CLUSTER) {
        double2 y[AT_ONCE][EACH_PART];
        UNROLLED
        for (int q = 0; q < AT_ONCE; q++) {
            UNROLLED
            for (int i = 0; i < EACH_PART; i++) {
                int other = first + q * CLUSTER, e = threadIdx.x + i * THREADS;
                if (other < last && e < PART) y[q][i] = __ldcg(&memory[(long)other * PART + e]);
            }
        }
        UNROLLED
        for (int q = 0; q < AT_ONCE; q++) {
            if (first + q * CLUSTER >= last) break;
            UNROLLED
            for (int i = 0; i < EACH_PART; i++) add(&x[i], y[q][i]);
        }
    }
    return true;
}
#endif

/* All threads: x becomes the sum of all blocks of the cluster, for the quads first_quad() + threadIdx.x, and each
 * THREADS further; and if true that of all blocks. */
static __device__ __forceinline__ bool fix_up(sums_piece *x, struct cluster_sums *here, int tile, int split, int splits,
                                              sums_piece *memory, unsigned long long *flags, unsigned long long epoch)
{
    int quads = quads_of_split(splits), came;
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
    UNROLLED
    for (int i = 0; i < EACH; i++) {
        int e = threadIdx.x + i * THREADS, to = e / quads;
        if (e >= TILE_PIECES) break;
        send(address_at(&here->sent[cluster_rank(split, splits) * quads + e % quads], to), address_at(&here->full, to),
             x[i]);
    }
    do
        asm volatile(
            "{.reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], 0; selp.s32 %0, 1, 0, p;}"
            : "=r"(came)
            : "r"(shared_address(&here->full))
            : "memory");
    while (!came);
    UNROLLED
    for (int i = 0; i < EACH; i++) {
        int e = threadIdx.x + i * THREADS;
        if (e >= quads) break;
        x[i] = here->sent[e];
        ROLLED
        for (int from = 1; from < cluster_blocks(splits); from++) add(&x[i], here->sent[from * quads + e]);
    }
#if SUMS_F64
    return add_clusters(x, split, splits, memory + (long)tile * splits * PART, flags + (long)tile * splits, epoch);
#else
    return true;
#endif
}
#else

static __device__ __forceinline__ void cluster_begin(struct cluster_sums *) {}

/* Is there a piece of this number? Of most tiles each thread has as many. */
static __device__ __forceinline__ bool holds(int piece) { return TILE_PIECES % THREADS == 0 || piece < TILE_PIECES; }

/* All threads: wait for the flags first, first + by, ... below `end`; then add those partial sums to x, in order. */
static __device__ __forceinline__ void gather(sums_piece *x, const sums_piece *memory, unsigned long long *flags,
                                              unsigned long long epoch, int first, int by, int end)
{
    for (int other = first + (int)threadIdx.x * by; other < end; other += THREADS * by)
        flag_wait_and_reset(flags, other, epoch);
    __syncthreads();
    _Pragma("unroll TOGETHER") for (int other = first; other < end; other += by)
    {
        UNROLLED
        for (int i = 0; i < EACH; i++) {
            int e = threadIdx.x + i * THREADS;
            add(&x[i], holds(e) ? __ldcg(&memory[(long)other * TILE_PIECES + e]) : no_sums());
        }
    }
}

static __device__ __forceinline__ void keep(const sums_piece *x, sums_piece *memory)
{
    UNROLLED
    for (int i = 0; i < EACH; i++)
        if (holds(threadIdx.x + i * THREADS)) __stcg(&memory[threadIdx.x + i * THREADS], x[i]);
}

/* For block number `split` of a tile: true if x has become the sum of all, for the quads first_quad() + threadIdx.x,
 * and each THREADS further. */
static __device__ __forceinline__ bool fix_up(sums_piece *x, struct cluster_sums *, int tile, int split, int splits,
                                              sums_piece *memory, unsigned long long *flags, unsigned long long epoch)
{
    if (splits == 1) return true;
    sums_piece *tile_memory = memory + (long)tile * splits * TILE_PIECES;
    unsigned long long *tile_flags = flags + (long)tile * splits;
    int group = split / GROUP * GROUP, last = min(group + GROUP, splits) - 1;
    if (split == last) gather(x, tile_memory, tile_flags, epoch, group, 1, split);
    if (split == splits - 1) {
        gather(x, tile_memory, tile_flags, epoch, GROUP - 1, GROUP, group);
        return true;
    }
    keep(x, tile_memory + (long)split * TILE_PIECES);
    signal_flag(&tile_flags[split], epoch);
    return false;
}
#endif
