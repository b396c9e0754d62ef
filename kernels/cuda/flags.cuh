/* flags.cuh - flags in global memory, by which a block waits for what other blocks have stored: a flag that holds the
 * launch's ticket is signalled. For sgemm_tma_sm90, gemm_swapab_sm90, and parts.cuh.
 *
 * SOURCE    PTX ISA: memory consistency model */

/* Signal: one thread, after a barrier of the threads that stored. Releases what they stored. */
static __device__ __forceinline__ void flag_raise(unsigned long long *flag, unsigned long long ticket)
{
    asm volatile("fence.acq_rel.gpu; st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(flag), "l"(ticket) : "memory");
}

/* Wait and reset: one thread, before a barrier of the threads that will read. Acquires what was stored, then resets
 * flag number `other`, so that the same ticket may come again (a graph that is launched twice). */
static __device__ __forceinline__ void flag_lower(unsigned long long *flags, int other, unsigned long long ticket)
{
    unsigned long long seen;
    do asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(seen) : "l"(&flags[other]) : "memory");
    while (seen != ticket);
    flags[other] = 0;
}
