/* s2_shared_a - skinny rung 2: A's tile goes through local memory, coalesced; one sub-group waits for itself, where
 * there is one.
 *
 * IDEA      Each word of A's tile is read from global memory once, by work-items that are neighbours in x, and
 *           broadcast from local memory:
 *
 *             a_tile[ty][tx] = A(by*T + ty, tx)           row ty of the tile: written by row ty of the group ...
 *             ROW_BARRIER()
 *             sum += a_tile[ty][p] * B(p, j)              ... and read by row ty alone
 *
 *           A row of T = 16 or 32 work-items lies in one warp, so no other warp has to be waited for.
 *           OpenCL C 1.2 has no barrier for that: with SUBGROUP_BARRIER = 1 it is a sub-group barrier where the device
 *           has cl_khr_subgroups, else PTX's (NVIDIA); with 0, the default and PoCL's case, the whole group waits. The
 *           host probes, and the row says which.
 * NUMBERS   T = 16 (32): 17 (33) global loads, 1 local store, T local loads per work-item: 72 (136) bytes asked per
 *           element of C. A warp's load of A: 4 sectors, all used; of B as s1; local memory: no conflicts. Published:
 *           GTX 280 14.3 GB/s, 8800 GTX 8.2 (there the load of A fell from 16 transactions to 1). Rolled, H200: 1189
 *           (577) GB/s, 1.02 (0.99) times s1: caches have left nothing to coalesce.
 * LIMITS    k = T, and only then; T = 16 or 32. Any m, n, ld and transposes. No work-item leaves before the barrier:
 *           those beyond an edge take zeros of A, and a column of B that is there.
 *           SUBGROUP_BARRIER = 1 needs sub-groups of at least T work-items that are neighbours in x.
 * CHANGED   from s1: a_tile, the barrier, no early return.
 * SOURCE    NVIDIA Best Practices, shared memory for A. It has no barrier and relies on half-warps in lock step: not
 *           promised since compute capability 7.0. */
#include "../rung.clh"

#ifndef SUBGROUP_BARRIER
#define SUBGROUP_BARRIER 0
#endif
#if !SUBGROUP_BARRIER
#define ROW_BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#elif defined(cl_khr_subgroups)
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
#define ROW_BARRIER() sub_group_barrier(CLK_LOCAL_MEM_FENCE)
#else
#define ROW_BARRIER() __asm__ volatile("bar.warp.sync 0xffffffff;" : : : "memory")
#endif

__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1))) void s2_shared_a(PARAMETERS)
{
    __local float a_tile[TILE][TILE];
    int tx = get_local_id(0), ty = get_local_id(1);
    int i = get_group_id(1) * TILE + ty, j = get_group_id(0) * TILE + tx;
    int j_load = j < n ? j : n - 1;
    float sum = 0;
    a_tile[ty][tx] = i < m ? A(i, tx) : 0;
    ROW_BARRIER();
    ROLLED
    for (int p = 0; p < TILE; p++) sum = fma(a_tile[ty][p], B(p, j_load), sum);
    if (i < m && j < n) blend(&C(i, j), alpha, sum, beta);
}
