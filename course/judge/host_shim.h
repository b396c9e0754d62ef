/* host_shim.h - the words of OpenCL C and CUDA C in terms of C, so that a kernel's own text can be compiled for this
 * machine and run one work-item at a time (host_kernel.h). Part of the program as text (tools/embed.c), laid before the
 * kernel's. Compiled with -fsanitize=thread, which makes the compiler call __tsan_read4() and its like before every
 * access to memory; they are defined here, and hand address and size on. No sanitizer's library is linked.
 *
 * host_kernel.c gives -DHOST_CUDA or -DHOST_OPENCL, and replaces in the text what macros cannot: `extern "C"` goes, a
 * __local that begins the declaration of a tile becomes HOST_TILE, the pragma of ROLLED HOST_ROLLED, and
 * UNROLLED goes for a HOST_ASK of its loop's length. Of a float4 v, v.y becomes v[1], and (float4)( HOST_FLOAT4(. */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

typedef struct host_place {
    unsigned x, y, z;
} host_place;

/* Where the work-item that runs now stands, and whom to tell. */
struct host_now {
    host_place thread, block, grid, size;
    void (*wait)(bool warp_only, int place);
    void (*note)(const void *address, int bytes, bool store);
    const char *tiles, *tiles_end; /* the arrays that the work-items of a group share */
    const char *image, *image_end; /* all that was compiled: these arrays, and constants */
    int op_a, op_b;                /* of the run, for who compiles with OP_A and OP_B of these names */
    unsigned rolled;               /* loops marked ROLLED that were begun */
    unsigned asked;                /* for the end of loops marked UNROLLED, if it is not constant */
    unsigned fences;               /* that were met */
    bool of_global;                /* the barrier that comes orders global memory alone */
} host_now;

#define static_assert _Static_assert
#define HOST_QUIET __attribute__((no_sanitize("thread")))
extern char __start_host_tiles[], __stop_host_tiles[];
extern __attribute__((visibility("hidden"))) char __ehdr_start[], _end[];
#define HOST_TILE static __attribute__((section("host_tiles")))
HOST_TILE __attribute__((used)) char host_no_tile[64]; /* so that the section is there */

__attribute__((constructor)) HOST_QUIET static void host_start(void)
{
    host_now.tiles = __start_host_tiles, host_now.tiles_end = __stop_host_tiles;
    host_now.image = __ehdr_start, host_now.image_end = _end;
}

HOST_QUIET void __tsan_init(void) {}
HOST_QUIET void __tsan_func_entry(void *caller) { (void)caller; }
HOST_QUIET void __tsan_func_exit(void) {}
#define HOST_NOTE(name, bytes, store)                                                                                  \
    HOST_QUIET void name(const void *address) { host_now.note(address, bytes, store); }
#define HOST_NOTES(bytes)                                                                                              \
    HOST_NOTE(__tsan_read##bytes, bytes, 0)                                                                            \
    HOST_NOTE(__tsan_write##bytes, bytes, 1)                                                                           \
    HOST_NOTE(__tsan_unaligned_read##bytes, bytes, 0)                                                                  \
    HOST_NOTE(__tsan_unaligned_write##bytes, bytes, 1)
HOST_NOTES(1)
HOST_NOTES(2)
HOST_NOTES(4)
HOST_NOTES(8)
HOST_NOTES(16)
HOST_QUIET void __tsan_read_range(const void *address, long bytes) { host_now.note(address, (int)bytes, 0); }
HOST_QUIET void __tsan_write_range(void *address, long bytes) { host_now.note(address, (int)bytes, 1); }
/* clang: private arrays, and a float4 that is copied */
HOST_QUIET void *__tsan_memset(void *to, int byte, size_t bytes) { return memset(to, byte, bytes); }
HOST_QUIET void *__tsan_memcpy(void *to, const void *from, size_t bytes)
{
    host_now.note(from, (int)bytes, 0);
    host_now.note(to, (int)bytes, 1);
    return memcpy(to, from, bytes);
}

#ifdef HOST_CONFINED /* linked with no library: what compilers call by themselves */
HOST_QUIET void *memset(void *to, int byte, size_t bytes)
{
    for (char *c = to; bytes > 0; bytes--) *c++ = (char)byte;
    return to;
}
HOST_QUIET void *memcpy(void *to, const void *from, size_t bytes)
{
    for (char *c = to; bytes > 0; bytes--) *c++ = *(const char *)from, from = (const char *)from + 1;
    return to;
}
#endif

HOST_QUIET static inline bool host_rolled(void) { return host_now.rolled++, false; }
#define HOST_ROLLED                                                                                                    \
    if (host_rolled())                                                                                                 \
        ;                                                                                                              \
    else
#define HOST_ASK(...) host_now.asked += !__builtin_constant_p((__VA_ARGS__))
#define HOST_FENCE    ((void)host_now.fences++)

#define HOST_CHOOSE(x, y, which)                                                                                       \
    __extension__({                                                                                                    \
        __typeof__((x) + (y)) host_x = (x), host_y = (y);                                                              \
        host_x which host_y ? host_x : host_y;                                                                         \
    })
#define min(x, y) HOST_CHOOSE(x, y, <)
#define max(x, y) HOST_CHOOSE(x, y, >)

/* A vector of the compiler's, not a struct: of structs not all accesses are told. */
typedef float float4 __attribute__((vector_size(16)));
#define HOST_EACH(x, y, z, w)             ((float4){(x), (y), (z), (w)})
#define HOST_ALL(x)                       ((x)*1.0f + (float4){0})
#define HOST_PICK(x, y, z, w, which, ...) which
#define HOST_FLOAT4(...)                  HOST_PICK(__VA_ARGS__, HOST_EACH, , , HOST_ALL, )(__VA_ARGS__)

#define fma(x, y, z)  ((x) * (y) + (z)) /* operands are small: exact either way */
#define fmaf(x, y, z) ((x) * (y) + (z))

#define fmaxf(x, y) max(x, y)
#define fminf(x, y) min(x, y)
#define fmax(x, y)  max(x, y)
#define fmin(x, y)  min(x, y)
typedef unsigned uint;

#ifdef HOST_CUDA
#include <stdint.h>
#define __host__
#define __inline__ inline
#define __fmaf_rn(x, y, z) fmaf(x, y, z)
#define __fmul_rn(x, y)    ((x) * (y))
#define __fadd_rn(x, y)    ((x) + (y))
#define __mul24(x, y)      ((x) * (y))
#define __CUDA_ARCH__      900
#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __shared__       HOST_TILE
#define threadIdx        host_now.thread
#define blockIdx         host_now.block
#define gridDim          host_now.grid
#define blockDim         host_now.size
#define __syncthreads()  host_now.wait(false, __COUNTER__)
#define __syncwarp(...)  host_now.wait(true, __COUNTER__)
#define __ldg(address)   (*(address))
#define __ldcg(address)  (*(address))

#define __threadfence_block()   HOST_FENCE
#define __threadfence()         HOST_FENCE
#define __threadfence_system()  HOST_FENCE
#define make_float4(x, y, z, w) ((float4){(x), (y), (z), (w)})
#else
#define __kernel
#define reqd_work_group_size(x, y, z)
#define __global
#define __private
#define __constant               const
#define __local                  /* in a parameter or a cast */
#define get_local_id(d)          ((size_t)(&host_now.thread.x)[d])
#define get_group_id(d)          ((size_t)(&host_now.block.x)[d])
#define get_num_groups(d)        ((size_t)(&host_now.grid.x)[d])
#define get_local_size(d)        ((size_t)(&host_now.size.x)[d])
#define get_global_id(d)         (get_group_id(d) * get_local_size(d) + get_local_id(d))
#define get_global_offset(d)     ((size_t)0)
#define get_local_linear_id()    (get_local_id(1) * get_local_size(0) + get_local_id(0))
#define get_group_linear_id()    (get_group_id(1) * get_num_groups(0) + get_group_id(0))
#define __OPENCL_VERSION__       120
#define get_global_size(d)       (get_num_groups(d) * get_local_size(d))
#define mad(x, y, z)             fma(x, y, z)
#define CLK_GLOBAL_MEM_FENCE     2
#define CLK_LOCAL_MEM_FENCE      1
#define barrier(fence)           (HOST_OF_GLOBAL(fence), host_now.wait(false, __COUNTER__))
#define sub_group_barrier(fence) host_now.wait(true, __COUNTER__)

#define HOST_OF_GLOBAL(fence)       host_now.of_global = !((fence)&CLK_LOCAL_MEM_FENCE)
#define work_group_barrier(...)     host_now.wait(false, __COUNTER__)
#define mem_fence(fence)            HOST_FENCE
#define read_mem_fence(fence)       HOST_FENCE
#define write_mem_fence(fence)      HOST_FENCE
#define atomic_work_item_fence(...) HOST_FENCE

#define kernel
#define global
#define constant       const
#define mul24(x, y)    ((x) * (y))
#define mad24(x, y, z) ((x) * (y) + (z))
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned long ulong;
#endif
