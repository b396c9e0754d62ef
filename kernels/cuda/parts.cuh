/* parts.cuh - sums of a tile whose k several blocks divide: all but the last leave theirs in memory and raise a flag, the last of GROUP adds theirs, and the last of all
 * the groups', always in the same order. A block waits only for blocks that begin before it. For r14k and r14b, after their BM x BN tile, THREADS, and EACH: quads of
 * neighbours that a thread has of it, ceil(BM * BN / 4 / THREADS).
 *
 *     part      0   1   ...   7  |  8   9   ...   15  |  16   17
 *     adds                  0-6  |             8 - 14  |       16, then 7 and 15: the tile
 */
#include "flags.cuh"

enum { GROUP = 8 };

/* All threads: this block's part of a tile is in memory for whoever waits for its flag. */
static __device__ __forceinline__ void raise(unsigned long long *flag, unsigned long long ticket)
{
    __syncthreads();
    if (threadIdx.x == 0) flag_raise(flag, ticket);
}

/* All threads: wait for the flags first, first + by, ... below `end`; then add those parts to x, in their order. */
static __device__ __forceinline__ void gather(float4 *x, const float4 *memory, unsigned long long *flags, unsigned long long ticket, int first, int by, int end)
{
    for (int other = first + (int)threadIdx.x * by; other < end; other += THREADS * by) flag_lower(flags, other, ticket);
    __syncthreads();
    _Pragma("unroll 4")
    for (int other = first; other < end; other += by)
        UNROLLED
        for (int i = 0; i < EACH; i++) {
            int e = threadIdx.x + i * THREADS;
            float4 y = e < BM * BN / 4 ? __ldcg(&memory[(long)other * (BM * BN / 4) + e]) : make_float4(0, 0, 0, 0);
            x[i].x += y.x, x[i].y += y.y, x[i].z += y.z, x[i].w += y.w;
        }
}

static __device__ __forceinline__ void keep(const float4 *x, float4 *memory)
{
    UNROLLED
    for (int i = 0; i < EACH; i++)
        if (threadIdx.x + i * THREADS < BM * BN / 4) __stcg(&memory[threadIdx.x + i * THREADS], x[i]);
}

/* A tile's part number `part`: true where x has become the sum of all. */
static __device__ __forceinline__ bool add_parts(float4 *x, int tile, int part, int parts, float4 *memory, unsigned long long *flags, unsigned long long ticket)
{
    if (parts == 1) return true;
    float4 *tile_memory = memory + (long)tile * parts * (BM * BN / 4);
    unsigned long long *tile_flags = flags + (long)tile * parts;
    int group = part / GROUP * GROUP, last = min(group + GROUP, parts) - 1;
    if (part == last) gather(x, tile_memory, tile_flags, ticket, group, 1, part);
    if (part == parts - 1) {
        gather(x, tile_memory, tile_flags, ticket, GROUP - 1, GROUP, group);
        return true;
    }
    keep(x, tile_memory + (long)part * (BM * BN / 4));
    raise(&tile_flags[part], ticket);
    return false;
}
