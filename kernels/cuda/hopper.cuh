/* hopper.cuh - the instructions of sm_90 and sm_90a that CUDA C has no word for, each under a name of its own: barriers
 * in shared memory, copies by the tensor memory accelerator (TMA), registers that move between warps, wgmma. For r11b
 * and above; registers that move and wgmma are built for sm_90a alone.
 *
 * A BARRIER counts arrivals and announced bytes; when all have come, its phase ends and the next begins.
 * barrier_wait(bar, parity) returns once the phase of that parity has ended. A fresh barrier is in phase 0: waiting for
 * parity 0 waits, waiting for parity 1 returns.
 *
 *     filler:  wait empty[s], expect bytes on full[s], copy ...        reader:  wait full[s], read, arrive at empty[s]
 *
 * SOURCE    PTX ISA 8.0 and above: mbarrier, cp.async.bulk.tensor, wgmma.mma_async and its matrix descriptor,
 *           setmaxnreg. */

#include "pdl.cuh"
#include "shared.cuh"

/* The boxes of A and of B, rows and columns of each, for which a kernel's copies are written: those of its row. */
static __device__ constexpr bool boxes_are(int a_rows, int a_cols, int b_rows, int b_cols, int a_rows_here,
                                           int a_cols_here, int b_rows_here, int b_cols_here)
{
    return a_rows == a_rows_here && a_cols == a_cols_here && b_rows == b_rows_here && b_cols == b_cols_here;
}
#define ASSUME_BOXES(...) ASSUME(boxes_are(ROW_BOXES, __VA_ARGS__))
#define ASSUME_C_BOX(...) ASSUME(boxes_are(ROW_C_BOX, 0, 0, __VA_ARGS__, 0, 0))

typedef unsigned long long barrier;

/* What cuTensorMapEncodeTiled writes on the host; a kernel takes it as const __grid_constant__. */
struct __align__(64) tensor_map { unsigned long long v[16]; };

static __device__ __forceinline__ void barrier_init(barrier *bar, int arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(bar)), "r"(arrivals) : "memory");
}

/* After the last barrier_init, before __syncthreads() and the first copy: TMA must see the barriers initialised. */
static __device__ __forceinline__ void barrier_init_done(void)
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/* One thread: the barriers of a ring of stages, for one asker and for `readers`, if they say when a stage is empty. */
static __device__ __forceinline__ void ring_init(const int stages, barrier *full, barrier *empty = 0, int readers = 0)
{
    for (int q = 0; q < stages; q++) {
        barrier_init(&full[q], 1);
        if (readers > 0) barrier_init(&empty[q], readers);
    }
    barrier_init_done();
}

static __device__ __forceinline__ void barrier_arrive(barrier *bar)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(bar)) : "memory");
}

/* Arrives, and announces the bytes of the copies to come. */
static __device__ __forceinline__ void barrier_expect(barrier *bar, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(bar)), "r"(bytes)
                 : "memory");
}

static __device__ __forceinline__ void barrier_wait(barrier *bar, int parity)
{
    int ended;
    do
        asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.s32 %0, 1, 0, p;}"
                     : "=r"(ended)
                     : "r"(shared_address(bar)), "r"(parity)
                     : "memory");
    while (!ended);
}

/* As many as the device's numbers of multiprocessors go up to. */
static __device__ __forceinline__ unsigned multiprocessors(void)
{
    unsigned count;
    asm("mov.u32 %0, %%nsmid;" : "=r"(count));
    return count;
}

/* True in one lane of the warp, all of which call this. */
static __device__ __forceinline__ bool elected(void)
{
    unsigned one;
    asm volatile("{.reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p;}" : "=r"(one));
    return one;
}

/* One thread starts the copy of one box, which begins at column x of row y. What lies outside the matrix is filled with
 * zeros, and counts as bytes. */
static __device__ __forceinline__ void tma_load(void *to, const tensor_map *map, int x, int y, barrier *bar)
{
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
            shared_address(to)),
        "l"(map), "r"(x), "r"(y), "r"(shared_address(bar))
        : "memory");
}

/* The same for data that is read once: the L2 may evict it first. */
static __device__ __forceinline__ void tma_load_once(void *to, const tensor_map *map, int x, int y, barrier *bar)
{
    asm volatile("{.reg .b64 policy; createpolicy.fractional.L2::evict_first.b64 policy;"
                 "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], "
                 "[%1, {%2, %3}], [%4], policy;}" ::"r"(shared_address(to)),
                 "l"(map), "r"(x), "r"(y), "r"(shared_address(bar))
                 : "memory");
}

/* Prefetches the tensor map of copies to come. */
static __device__ __forceinline__ void prefetch_map(const tensor_map *map)
{
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

/* ---- from shared memory to the matrix ---- */

/* Four 8 x 8 tiles of 2-byte elements into shared memory, held as wgmma holds its sums, two in a word; each lane names
 * where one row of 16 bytes begins, lanes 0 to 7 those of the first tile. */
static __device__ __forceinline__ void store_four(unsigned at, const unsigned *pairs)
{
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(at), "r"(pairs[0]),
                 "r"(pairs[1]), "r"(pairs[2]), "r"(pairs[3])
                 : "memory");
}

static __device__ __forceinline__ void store_two(unsigned at, float x, float y)
{
    asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(at), "f"(x), "f"(y) : "memory");
}

/* Makes what this thread wrote into shared memory visible to TMA. */
static __device__ __forceinline__ void tma_fence(void) { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

/* One thread stores a box; what lies outside the matrix is left out. The store is a group of its own, and only this
 * thread can wait for it. The L2 evicts these lines first. */
static __device__ __forceinline__ void tma_store(const tensor_map *map, int x, int y, const void *from)
{
    unsigned long long leaves_first;
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(leaves_first));
    asm volatile(
        "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group.L2::cache_hint [%0, {%1, %2}], [%3], %4;" ::"l"(map),
        "r"(x), "r"(y), "r"(shared_address(from)), "l"(leaves_first)
        : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

/* Until at most PENDING of this thread's boxes are still to be read from shared memory; until all are written. */
#define TMA_STORES_READ(PENDING) asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(PENDING) : "memory")
#define TMA_STORES_DONE()        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory")

/* Named barrier: `threads` threads, whole warps, that name the same barrier (1 to 15) wait for each other. */
static __device__ __forceinline__ void named_barrier_sync(int which, int threads)
{
    asm volatile("bar.sync %0, %1;" ::"r"(which), "r"(threads) : "memory");
}

/* The same without waiting: counts as arrived for those that wait. */
static __device__ __forceinline__ void named_barrier_arrive(int which, int threads)
{
    asm volatile("bar.arrive %0, %1;" ::"r"(which), "r"(threads) : "memory");
}

/* Cluster barrier: a thread waits until all threads of the cluster's blocks have arrived or ended, and sees what they
 * wrote before. Warps arrive and wait as one. */
#define CLUSTER_ARRIVE() asm volatile("barrier.cluster.arrive.aligned;" ::: "memory")
#define CLUSTER_WAIT()   asm volatile("barrier.cluster.wait.aligned;" ::: "memory")

/* All four warps of a warpgroup keep only COUNT registers per thread, or grow to COUNT once others have given theirs
 * up. */
#define REGISTERS_KEEP(COUNT) asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(COUNT))
#define REGISTERS_TAKE(COUNT) asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(COUNT))

/* How wgmma finds an operand in shared memory: address, two strides, swizzle, in units of 16 bytes. The operand is made
 * of lines of 128 bytes (64 neighbours as they lie in memory); 8 lines, from an address that is a multiple of 1024, are
 * swizzled together.
 *     lines along k (A as stored, B transposed):    eight = bytes from 8 rows to the next 8; along is not used
 *     lines along n (B as stored; A transposed: m): eight = bytes from 8 steps of k to the next 8;
 *                                                   along = bytes from 64 columns to the next 64 */
static __device__ __forceinline__ unsigned long long matrix_descriptor(const void *p, int eight, int along)
{
    return 1ull << 62 | (unsigned long long)(eight >> 4) << 32 | (unsigned long long)(along >> 4) << 16 |
           (shared_address(p) >> 4 & 0x3fff);
}

/* Before the first wgmma, and wherever other instructions have touched its registers. */
static __device__ __forceinline__ void matrix_begin(void) { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

static __device__ __forceinline__ void matrix_commit(void)
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/* Until at most PENDING committed groups are under way. */
#define MATRIX_WAIT(PENDING) asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory")

#if !SUMS_F64 /* wgmma has no f64 */
/* sum (64 x MATRIX_N in a warpgroup, MATRIX_N / 2 in a thread) <- a b + (add ? sum : 0), for 32 bytes of k: 16 steps
 * of 2-byte elements. a's lines lie along k, along m where MATRIX_MN_MAJOR_A is 1; b's along n, along k where
 * MATRIX_MN_MAJOR_B is 0: elements of other sizes lie along k only. */
#ifndef MATRIX_N
#define MATRIX_N          256
#define MATRIX_MN_MAJOR_A 0
#define MATRIX_MN_MAJOR_B 1
#endif
#if SUMS_S32
#define SUM_IS "+r"
#else
#define SUM_IS "+f"
#endif
#define SUM_4(i) SUM_IS(sum[i]), SUM_IS(sum[i + 1]), SUM_IS(sum[i + 2]), SUM_IS(sum[i + 3])
#define SUM_32(i)                                                                                                      \
    SUM_4(i), SUM_4(i + 4), SUM_4(i + 8), SUM_4(i + 12), SUM_4(i + 16), SUM_4(i + 20), SUM_4(i + 24), SUM_4(i + 28)
#define NAMES_0                                                                                                        \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                                           \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define NAMES_32                                                                                                       \
    NAMES_0 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "                       \
            "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define NAMES_64                                                                                                       \
    NAMES_32 ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "                      \
             "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define NAMES_96                                                                                                       \
    NAMES_64 ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "          \
             "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#if MATRIX_N == 16
#define MATRIX_ASM(ASM) ASM("%10", "%8", "%9", "%0, %1, %2, %3, %4, %5, %6, %7", SUM_4(0), SUM_4(4))
#elif MATRIX_N == 64
#define MATRIX_ASM(ASM) ASM("%34", "%32", "%33", NAMES_0, SUM_32(0))
#elif MATRIX_N == 128
#define MATRIX_ASM(ASM) ASM("%66", "%64", "%65", NAMES_32, SUM_32(0), SUM_32(32))
#elif MATRIX_N == 192
#define MATRIX_ASM(ASM) ASM("%98", "%96", "%97", NAMES_64, SUM_32(0), SUM_32(32), SUM_32(64))
#else
#define MATRIX_ASM(ASM) ASM("%130", "%128", "%129", NAMES_96, SUM_32(0), SUM_32(32), SUM_32(64), SUM_32(96))
#endif
#define MATRIX_TEXT_(x) #x
#define MATRIX_TEXT(x)  MATRIX_TEXT_(x)

#ifndef MATRIX_A
#define MATRIX_A TYPE_A
#define MATRIX_B TYPE_B
#endif
/* the shape's k, the types, and what stands behind the predicate: signs, and where 2-byte elements lie */
#if ELEMENT_BYTES == 2
#define MATRIX_KIND "k16.f32." MATRIX_TYPE "." MATRIX_TYPE
#define MATRIX_TAIL ", 1, 1, " MATRIX_TEXT(MATRIX_MN_MAJOR_A) ", " MATRIX_TEXT(MATRIX_MN_MAJOR_B)
#elif ELEMENT_BYTES == 4
#define MATRIX_KIND "k8.f32." MATRIX_TEXT(MATRIX_A) "." MATRIX_TEXT(MATRIX_B)
#define MATRIX_TAIL ", 1, 1"
#elif SUMS_S32
#define MATRIX_KIND "k32.s32." MATRIX_TEXT(MATRIX_A) "." MATRIX_TEXT(MATRIX_B)
#define MATRIX_TAIL ""
#else
#define MATRIX_KIND "k32.f32." MATRIX_TEXT(MATRIX_A) "." MATRIX_TEXT(MATRIX_B)
#define MATRIX_TAIL ", 1, 1"
#endif

static __device__ __forceinline__ void matrix_multiply(number *sum, unsigned long long a, unsigned long long b, int add)
{
#define MULTIPLY(ADD, A_AT, B_AT, NAMES, ...)                                                                          \
    asm volatile("{.reg .pred p; setp.ne.s32 p, " ADD ", 0;"                                                           \
                 "wgmma.mma_async.sync.aligned.m64n" MATRIX_TEXT(MATRIX_N) MATRIX_KIND " {" NAMES "}, " A_AT ", " B_AT \
                                                                                       ", p" MATRIX_TAIL ";}"          \
                 : __VA_ARGS__                                                                                         \
                 : "l"(a), "l"(b), "r"(add));
    MATRIX_ASM(MULTIPLY)
}

#if ELEMENT_BYTES == 2
/* needs a transpose for b alone */
#elif MATRIX_N == 16
#define MATRIX_OWN_ASM(ASM)                                                                                            \
    ASM("%13", "{%8, %9, %10, %11}", "%12", "%0, %1, %2, %3, %4, %5, %6, %7", SUM_4(0), SUM_4(4))
#elif MATRIX_N == 64
#define MATRIX_OWN_ASM(ASM) ASM("%37", "{%32, %33, %34, %35}", "%36", NAMES_0, SUM_32(0))
#elif MATRIX_N == 128
#define MATRIX_OWN_ASM(ASM) ASM("%69", "{%64, %65, %66, %67}", "%68", NAMES_32, SUM_32(0), SUM_32(32))
#endif

#ifdef MATRIX_OWN_ASM
/* The same with a in registers, for elements of 1 and 4 bytes. Of 16 rows a warp has, lane l holds 4 bytes of each of
 * four places: row l / 4, bytes l % 4 * 4 of k; row l / 4 + 8; and of both the same 16 bytes further along k. The
 * registers may change again after MATRIX_WAIT. */
static __device__ __forceinline__ void matrix_multiply_own(number *sum, const unsigned *a, unsigned long long b,
                                                           int add)
{
#define MULTIPLY_OWN(ADD, A_AT, B_AT, NAMES, ...)                                                                      \
    asm volatile("{.reg .pred p; setp.ne.s32 p, " ADD ", 0;"                                                           \
                 "wgmma.mma_async.sync.aligned.m64n" MATRIX_TEXT(MATRIX_N) MATRIX_KIND " {" NAMES "}, " A_AT ", " B_AT \
                                                                                       ", p" MATRIX_TAIL ";}"          \
                 : __VA_ARGS__                                                                                         \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));
    MATRIX_OWN_ASM(MULTIPLY_OWN)
}
#endif

/* After MATRIX_WAIT(0): what follows may not read sum from before. */
static __device__ __forceinline__ void matrix_end(number *sum)
{
    UNROLLED
    for (int i = 0; i < MATRIX_N / 2; i++) asm volatile("" : SUM_IS(sum[i])::"memory");
}
#endif
