/* pdl.cuh - programmatic dependent launch (PDL): from sm_90 on a kernel launched with it (GPU_PDL) may begin while
 * the one before it in the stream still runs. Launched otherwise, or on older devices, these functions do nothing.
 *
 * WHEN TO TRIGGER   The blocks of the next kernel take what room is left, however unevenly that lies over the
 *                   multiprocessors, and keep it while they wait. Called first, the trigger saves most of a launch
 *                   where a block is brief. Where one computes for long it comes behind pdl_wait(), so that no third
 *                   kernel can be there, or with the last loads or behind the mainloop
 *                   (docs/perf/batches.md#trigger).
 *
 * SOURCE    PTX ISA: griddepcontrol */

/* Waits until the kernel before has ended and its stores are visible. Every thread calls it before it touches
 * memory. */
static __device__ __forceinline__ void pdl_wait(void)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/* Trigger: once all blocks have called this or ended, the next kernel may begin where there is room. */
static __device__ __forceinline__ void pdl_trigger(void)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
