/* hopper.cuh - the instructions of sm_90a that CUDA C has no word for, each as one line of PTX: barriers in shared memory, copies by the
 * tensor memory accelerator (TMA), wgmma. For r12 and above; compiled for sm_90a only. Shared memory is named by 32-bit addresses.
 *
 * A BARRIER counts arrivals and announced bytes; when both have come, its phase flips. barrier_wait(bar, parity) returns once the phase
 * of that parity has passed: a fresh barrier stands in phase 0, so waiting for parity 1 returns at once. */

/* What cuTensorMapEncodeTiled writes on the host. */
struct __align__(64) tensor_map {
    unsigned long long v[16];
};

static __device__ __forceinline__ unsigned shared_address(const void *p)
{
    return (unsigned)__cvta_generic_to_shared(p);
}

static __device__ __forceinline__ void barrier_init(unsigned bar, int arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(arrivals) : "memory");
}

/* After the last barrier_init and before __syncthreads(): the copy engine too must see barriers that are ready. */
static __device__ __forceinline__ void barrier_init_done(void)
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

static __device__ __forceinline__ void barrier_arrive(unsigned bar)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(bar) : "memory");
}

/* Arrives, and announces bytes that copies will bring. */
static __device__ __forceinline__ void barrier_expect(unsigned bar, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes) : "memory");
}

static __device__ __forceinline__ void barrier_wait(unsigned bar, unsigned parity)
{
    unsigned passed;
    do
        asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
                     : "=r"(passed)
                     : "r"(bar), "r"(parity)
                     : "memory");
    while (!passed);
}

/* Copies one box of the map, whose first element is x within a row of row y, to shared memory, and tells the barrier. What lies outside
 * the matrix arrives as zeros and counts as bytes. One thread calls this. */
static __device__ __forceinline__ void copy_box(unsigned to, const tensor_map *map, int x, int y, unsigned bar)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(to),
                 "l"(map), "r"(x), "r"(y), "r"(bar)
                 : "memory");
}

/* Registers move between the warps of a block: a warpgroup (4 warps) keeps COUNT of its registers per thread, or grows to COUNT. */
#define REGISTERS_KEEP(COUNT) asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(COUNT))
#define REGISTERS_TAKE(COUNT) asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(COUNT))

/* A wgmma reads its operands from shared memory through a descriptor: address, two strides in units of 16 bytes, and the swizzle of 128
 * bytes. A line of 128 bytes holds 64 neighbours as they lie in memory; 8 lines, aligned to 1024 bytes, are swizzled together.
 *   lines along k (A as stored):        group = bytes from 8 rows to the next 8; reach has no meaning
 *   lines along m or n (B as stored):   group = bytes from 8 steps of k to the next 8; reach = bytes from 64 columns to the next 64 */
static __device__ __forceinline__ unsigned long long matrix_descriptor(unsigned address, int group, int reach)
{
    return (unsigned long long)(address >> 4 & 0x3fff) | (unsigned long long)(reach >> 4) << 16 | (unsigned long long)(group >> 4) << 32 |
           1ull << 62;
}

/* Before the first wgmma, and wherever other instructions have touched its registers. */
static __device__ __forceinline__ void matrix_begin(void)
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

static __device__ __forceinline__ void matrix_commit(void)
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/* Waits until at most PENDING committed groups are under way. */
#define MATRIX_WAIT(PENDING) asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory")

#ifndef MATRIX_TYPE
#define MATRIX_TYPE "bf16"
#endif
#define SUM_8(i)                                                                                                                       \
    "+f"(sum[i]), "+f"(sum[i + 1]), "+f"(sum[i + 2]), "+f"(sum[i + 3]), "+f"(sum[i + 4]), "+f"(sum[i + 5]), "+f"(sum[i + 6]),          \
        "+f"(sum[i + 7])
#define SUM_32(i) SUM_8(i), SUM_8(i + 8), SUM_8(i + 16), SUM_8(i + 24)

/* sum (64 x 256 in a warpgroup, 128 in a thread) <- a b + (add ? sum : 0) for 16 steps of k; a's lines lie along k, b's along n. */
static __device__ __forceinline__ void matrix_multiply(float *sum, unsigned long long a, unsigned long long b, int add)
{
    asm volatile("{.reg .pred add; setp.ne.s32 add, %130, 0; "
                 "wgmma.mma_async.sync.aligned.m64n256k16.f32." MATRIX_TYPE "." MATRIX_TYPE " {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
                 "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
                 "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
                 "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
                 "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
                 "}, %128, %129, add, 1, 1, 0, 1;}"
                 : SUM_32(0), SUM_32(32), SUM_32(64), SUM_32(96)
                 : "l"(a), "l"(b), "r"(add));
}
