/* parts.cuh - the fix-up of split-K: adds the partial sums of a tile whose k several blocks divide, always in the same
 * order. For sgemm_slicedk_sm80 and sgemm_slicedk_tma_sm90. Include it after their BM x BN tile, THREADS, and EACH: the
 * quads (4 neighbours) of the tile that a thread holds, ceil(BM * BN / 4 / THREADS).
 *
 * Through global memory: every block but the last stores its sums there and signals a flag. The last of each GROUP adds
 * the group's, and the last of all adds those of the groups. A block waits only for blocks that begin before it.
 *
 *     part      0   1   ...   7  |  8   9   ...   15  |  16   17
 *     adds                  0-6  |             8 - 14  |       16, then 7 and 15: the tile
 *
 * MEETS = 1, cluster reduction, from sm_90 on: a tile's 2, 4 or 8 blocks are one cluster and run at the same time. Each
 * adds an equal part of the tile. It sends the others their parts into their shared memory (DSMEM), where an mbarrier
 * counts what has come. A block that has ended is sent nothing.
 *
 *     part      0            1            2            3
 *     adds      rows 0-15    rows 16-31   rows 32-47   rows 48-63, of parts 0, 1, 2, 3
 *
 * SOURCE    PTX ISA: st.async, mapa, mbarrier, barrier.cluster */
#include "flags.cuh"
#include "shared.cuh"

#ifndef MEETS
#define MEETS 0
#endif

enum { GROUP = 8, TILE_QUADS = BM * BN / 4 };

/* In shared memory: what the blocks of the cluster have sent for this block's part, block by block. */
struct meeting {
    float4 sent[TILE_QUADS];
    unsigned long long full;
};

/* Quads of the tile that a block stores, and the first of them. */
static __device__ __forceinline__ int quads_of_part(int parts) { return MEETS ? TILE_QUADS / parts : TILE_QUADS; }

static __device__ __forceinline__ int first_quad(int part, int parts)
{
    return MEETS ? part * quads_of_part(parts) : 0;
}

#if MEETS

static __device__ __forceinline__ unsigned address_at(const void *p, int part)
{
    unsigned there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(shared_address(p)), "r"(part));
    return there;
}

/* All threads, at the start: a block that has begun may be sent to. */
static __device__ __forceinline__ void meeting_begin(struct meeting *here)
{
    unsigned full = shared_address(&here->full);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(full) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(full), "r"(TILE_QUADS * 16)
                     : "memory");
    }
    __syncwarp();
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}

/* All threads: x becomes the sum of all blocks, for the quads first_quad() + threadIdx.x, and each THREADS further. */
static __device__ __forceinline__ bool add_parts(float4 *x, struct meeting *here, int, int part, int parts, float4 *,
                                                 unsigned long long *, unsigned long long)
{
    int share = quads_of_part(parts), came;
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
    UNROLLED
    for (int i = 0; i < EACH; i++) {
        int e = threadIdx.x + i * THREADS, to = e / share;
        if (e >= TILE_QUADS) break;
        asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(
                         address_at(&here->sent[part * share + e % share], to)),
                     "f"(x[i].x), "f"(x[i].y), "f"(x[i].z), "f"(x[i].w), "r"(address_at(&here->full, to))
                     : "memory");
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
        if (e >= share) break;
        x[i] = here->sent[e];
        ROLLED
        for (int from = 1; from < parts; from++) {
            float4 y = here->sent[from * share + e];
            x[i].x += y.x, x[i].y += y.y, x[i].z += y.z, x[i].w += y.w;
        }
    }
    return true;
}
#else

static __device__ __forceinline__ void meeting_begin(struct meeting *) {}

/* All threads: the partial sums of this block are stored; signal the flag. */
static __device__ __forceinline__ void raise(unsigned long long *flag, unsigned long long ticket)
{
    __syncthreads();
    if (threadIdx.x == 0) flag_raise(flag, ticket);
}

/* All threads: wait for the flags first, first + by, ... below `end`; then add those partial sums to x, in order. */
static __device__ __forceinline__ void gather(float4 *x, const float4 *memory, unsigned long long *flags,
                                              unsigned long long ticket, int first, int by, int end)
{
    for (int other = first + (int)threadIdx.x * by; other < end; other += THREADS * by)
        flag_lower(flags, other, ticket);
    __syncthreads();
    _Pragma("unroll 4") for (int other = first; other < end; other += by)
    {
        UNROLLED
        for (int i = 0; i < EACH; i++) {
            int e = threadIdx.x + i * THREADS;
            float4 y = e < TILE_QUADS ? __ldcg(&memory[(long)other * TILE_QUADS + e]) : make_float4(0, 0, 0, 0);
            x[i].x += y.x, x[i].y += y.y, x[i].z += y.z, x[i].w += y.w;
        }
    }
}

static __device__ __forceinline__ void keep(const float4 *x, float4 *memory)
{
    UNROLLED
    for (int i = 0; i < EACH; i++)
        if (threadIdx.x + i * THREADS < TILE_QUADS) __stcg(&memory[threadIdx.x + i * THREADS], x[i]);
}

/* For block number `part` of a tile: true if x has become the sum of all, for the quads first_quad() + threadIdx.x, and
 * each THREADS further. */
static __device__ __forceinline__ bool add_parts(float4 *x, struct meeting *, int tile, int part, int parts,
                                                 float4 *memory, unsigned long long *flags, unsigned long long ticket)
{
    if (parts == 1) return true;
    float4 *tile_memory = memory + (long)tile * parts * TILE_QUADS;
    unsigned long long *tile_flags = flags + (long)tile * parts;
    int group = part / GROUP * GROUP, last = min(group + GROUP, parts) - 1;
    if (part == last) gather(x, tile_memory, tile_flags, ticket, group, 1, part);
    if (part == parts - 1) {
        gather(x, tile_memory, tile_flags, ticket, GROUP - 1, GROUP, group);
        return true;
    }
    keep(x, tile_memory + (long)part * TILE_QUADS);
    raise(&tile_flags[part], ticket);
    return false;
}
#endif
