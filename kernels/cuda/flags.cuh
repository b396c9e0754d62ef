/* flags.cuh - flags in global memory, by which a block waits for what other blocks have stored: a flag that holds the
 * launch's epoch is signalled. For sgemm_tma_sm90, gemm_swapab_sm90, splitk.cuh and r12d.
 *
 * SOURCE    PTX ISA: memory consistency model */

/* Signal: one thread, after a barrier of the threads that stored. Releases what they stored. */
static __device__ __forceinline__ void flag_signal(unsigned long long *flag, unsigned long long epoch)
{
    asm volatile("fence.acq_rel.gpu; st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(flag), "l"(epoch) : "memory");
}

/* Wait and reset: one thread, before a barrier of the threads that will read. Acquires what was stored, then resets
 * flag number `other`, so that the same epoch may come again (a graph that is launched twice). */
static __device__ __forceinline__ void flag_wait_and_reset(unsigned long long *flags, int other,
                                                           unsigned long long epoch)
{
    unsigned long long seen;
    do asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(seen) : "l"(&flags[other]) : "memory");
    while (seen != epoch);
    flags[other] = 0;
}

/* All threads: the partial sums of this block are stored; signal the flag. */
static __device__ __forceinline__ void signal_flag(unsigned long long *flag, unsigned long long epoch)
{
    __syncthreads();
    if (threadIdx.x == 0) flag_signal(flag, epoch);
}
