/* flags.cuh - flags in global memory, by which a block waits for what other blocks have stored: a flag that holds the
 * launch's ticket is signalled. For sgemm_tma_sm90, gemm_swapab_sm90, and parts.cuh.
 *
 * SOURCE    PTX ISA: memory consistency model */

/* One thread, after a barrier of those that have written: it is there. */
static __device__ __forceinline__ void flag_raise(unsigned long long *flag, unsigned long long ticket)
{
    asm volatile("fence.acq_rel.gpu; st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(flag), "l"(ticket) : "memory");
}

/* One thread, before a barrier of those that will read: wait for that, and lower flag number `other`, so that the same
 * ticket may come again (a graph that is launched twice). */
static __device__ __forceinline__ void flag_lower(unsigned long long *flags, int other, unsigned long long ticket)
{
    unsigned long long seen;
    do asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(seen) : "l"(&flags[other]) : "memory");
    while (seen != ticket);
    flags[other] = 0;
}
