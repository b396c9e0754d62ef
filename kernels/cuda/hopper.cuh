/* hopper.cuh - the instructions of sm_90a that CUDA C has no word for, each under a name of its own: barriers in shared memory, copies by
 * the tensor memory accelerator (TMA), registers that move between warps, wgmma. For r12 and above, built for sm_90a.
 *
 * A BARRIER counts arrivals and announced bytes; when all have come, its phase ends and the next begins. barrier_wait(bar, parity) returns
 * once the phase of that parity has ended. A fresh barrier is in phase 0: waiting for parity 0 waits, waiting for parity 1 returns.
 *
 *     filler:  wait empty[s], expect bytes on full[s], copy ...        reader:  wait full[s], read, arrive at empty[s]
 *
 * SOURCE    PTX ISA 8.0 and above: mbarrier, cp.async.bulk.tensor, wgmma.mma_async and its matrix descriptor, setmaxnreg. */

typedef unsigned long long barrier;

/* What cuTensorMapEncodeTiled writes on the host; a kernel takes it as const __grid_constant__. */
struct __align__(64) tensor_map {
    unsigned long long v[16];
};

static __device__ __forceinline__ unsigned shared_address(const void *p)
{
    return (unsigned)__cvta_generic_to_shared(p);
}

static __device__ __forceinline__ void barrier_init(barrier *bar, int arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(bar)), "r"(arrivals) : "memory");
}

/* After the last barrier_init, before __syncthreads() and the first copy: the copy engine must see the barriers ready. */
static __device__ __forceinline__ void barrier_init_done(void)
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

static __device__ __forceinline__ void barrier_arrive(barrier *bar)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(bar)) : "memory");
}

/* Arrives, and announces bytes that copies will bring. */
static __device__ __forceinline__ void barrier_expect(barrier *bar, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(bar)), "r"(bytes) : "memory");
}

static __device__ __forceinline__ void barrier_wait(barrier *bar, int parity)
{
    int ended;
    do asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.s32 %0, 1, 0, p;}"
                    : "=r"(ended)
                    : "r"(shared_address(bar)), "r"(parity)
                    : "memory");
    while (!ended);
}

/* One thread asks for one box of a matrix; the box begins at column x of row y. What lies outside the matrix comes as zeros, and counts. */
static __device__ __forceinline__ void copy_box(void *to, const tensor_map *map, int x, int y, barrier *bar)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
                     shared_address(to)),
                 "l"(map), "r"(x), "r"(y), "r"(shared_address(bar))
                 : "memory");
}

/* All four warps of a warpgroup keep only COUNT registers per thread, or grow to COUNT once others have given theirs up. */
#define REGISTERS_KEEP(COUNT) asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(COUNT))
#define REGISTERS_TAKE(COUNT) asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(COUNT))

/* How wgmma finds an operand in shared memory: address, two strides, swizzle, in units of 16 bytes. The operand is made of lines of 128
 * bytes (64 neighbours as they lie in memory); 8 lines, from an address that is a multiple of 1024, are swizzled together.
 *     lines along k (A as stored):  eight = bytes from 8 rows to the next 8;         along is not used
 *     lines along n (B as stored):  eight = bytes from 8 steps of k to the next 8;   along = bytes from 64 columns to the next 64 */
static __device__ __forceinline__ unsigned long long matrix_descriptor(const void *p, int eight, int along)
{
    return 1ull << 62 | (unsigned long long)(eight >> 4) << 32 | (unsigned long long)(along >> 4) << 16 | (shared_address(p) >> 4 & 0x3fff);
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

/* Until at most PENDING committed groups are under way. */
#define MATRIX_WAIT(PENDING) asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory")

/* sum (64 x 256 in a warpgroup, 128 in a thread) <- a b + (add ? sum : 0), for 16 steps of k; a's lines lie along k, b's along n. */
#ifndef MATRIX_TYPE
#define MATRIX_TYPE "bf16"
#endif
#define SUM_4(i) "+f"(sum[i]), "+f"(sum[i + 1]), "+f"(sum[i + 2]), "+f"(sum[i + 3])
#define SUM_16(i) SUM_4(i), SUM_4(i + 4), SUM_4(i + 8), SUM_4(i + 12)
#define SUM_64(i) SUM_16(i), SUM_16(i + 16), SUM_16(i + 32), SUM_16(i + 48)

static __device__ __forceinline__ void matrix_multiply(float *sum, unsigned long long a, unsigned long long b, int add)
{
    asm volatile("{.reg .pred p; setp.ne.s32 p, %130, 0;"
                 "wgmma.mma_async.sync.aligned.m64n256k16.f32." MATRIX_TYPE "." MATRIX_TYPE " {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
                 "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
                 "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
                 "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
                 "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
                 "}, %128, %129, p, 1, 1, 0, 1;}"
                 : SUM_64(0), SUM_64(64)
                 : "l"(a), "l"(b), "r"(add));
}

/* After MATRIX_WAIT(0): what follows may not read sum from before. */
static __device__ __forceinline__ void matrix_end(float *sum)
{
    UNROLLED
    for (int i = 0; i < 128; i++) asm volatile("" : "+f"(sum[i])::"memory");
}
