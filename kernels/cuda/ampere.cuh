/* ampere.cuh - the instructions of sm_80 and newer that CUDA C has no word for, each under a name of its own: copies
 * from global to shared memory that no register sees, and the matrix units of one warp.
 *
 * A COPY is asked for and goes on beside the thread. What a thread has asked for since its last copies_commit() is a
 * group; COPIES_WAIT(n) returns once all but its n youngest groups have come. Others see them after a __syncthreads()
 * behind that.
 *
 * SOURCE    PTX ISA 7.0 and above: cp.async, ldmatrix, mma.sync and the places of its elements. */

#include "shared.cuh"

/* One copy between an address in shared memory and one in global memory, both multiples of what it moves, if that is
 * there (`there` is as many bytes); zeros if not (0: from is not looked at). Not fewer: they would count as a read of
 * all 16 (compute-sanitizer), which at the end of an operand are not there. */
#define COPY(HOW, to, from, bytes, there)                                                                              \
    asm volatile("cp.async." HOW " [%0], [%1], " bytes ", %2;" ::"r"(to), "l"(from), "r"(there) : "memory")
#define COPY_4(to, from, there)  COPY("ca.shared.global", to, from, "4", there)
#define COPY_8(to, from, there)  COPY("ca.shared.global", to, from, "8", there)
#define COPY_16(to, from, there) COPY("cg.shared.global", to, from, "16", there)
/* the L2 fetches the 128 bytes around */
#define COPY_16_OF_128(to, from, there) COPY("cg.shared.global.L2::128B", to, from, "16", there)

/* The same between pointers. COPY_FROM is __cvta_generic_to_global(x) where a loop's code was chosen with it. */
#ifndef COPY_FROM
#define COPY_FROM(x) (x)
#endif

static __device__ __forceinline__ void copy_4(void *to, const void *from, int there)
{
    COPY_4(shared_address(to), COPY_FROM(from), there);
}

static __device__ __forceinline__ void copy_16(void *to, const void *from, int there)
{
    COPY_16(shared_address(to), COPY_FROM(from), there);
}

static __device__ __forceinline__ void copies_commit(void) { asm volatile("cp.async.commit_group;" ::: "memory"); }

#define COPIES_WAIT(YOUNGEST) asm volatile("cp.async.wait_group %0;" ::"n"(YOUNGEST) : "memory")

/* MATRICES of 8 x 8 elements of 2 bytes, four at a time: lane l gives the address of 8 neighbours, line l % 8 of matrix
 * l / 8. Of each matrix a lane gets two neighbours of line l / 4, l % 4 pairs from its begin; transposed, two of column
 * l / 4, one below the other. */
static __device__ __forceinline__ void matrix_load(unsigned *four, unsigned line, bool transposed)
{
    if (transposed)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(four[0]), "=r"(four[1]), "=r"(four[2]), "=r"(four[3])
                     : "r"(line)
                     : "memory");
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(four[0]), "=r"(four[1]), "=r"(four[2]), "=r"(four[3])
                     : "r"(line)
                     : "memory");
}

/* sum (16 x 8) <- a (16 x 16: matrices above, below, right above, right below) b (16 x 8: above, below, each
 * transposed) + sum, by one warp. A lane holds sums of row l / 4, columns l % 4 * 2 and the next, and the same of row l
 * / 4 + 8. */
static __device__ __forceinline__ void warp_multiply(float *sum, const unsigned *a, const unsigned *b)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." MATRIX_TYPE "." MATRIX_TYPE
                 ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/* Does an operand begin, and have its rows, at multiples of 16 bytes? */
template <typename T> static __device__ __forceinline__ bool in_16(const T *x, long ld)
{
    return ((unsigned long long)x % 16 | ld % (16 / (long)sizeof(T))) == 0;
}
