/* blocks.cuh - the matrix units of sm_80 and above, warp by warp, for gemm_batched_mma_sm80 and gemm_batched_tma_sm90:
 * operands are 8 x 8 blocks of MATRIX_TYPE (rung.cuh).
 *
 * SOURCE    PTX ISA: ldmatrix, mma.sync m16n8k16 */
typedef unsigned short element; /* its bits */

/* Four blocks; lanes 8 q to 8 q + 7 say where in shared memory the rows of block q are. Turned: rows are columns. */
static __device__ __forceinline__ void load_blocks(unsigned x[4], unsigned row, bool turned)
{
    if (turned)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                     : "r"(row)
                     : "memory");
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                     : "r"(row)
                     : "memory");
}

/* sum (16 x 8) <- a (16 x 16) b (16 x 8) + sum */
static __device__ __forceinline__ void multiply_blocks(float sum[4], const unsigned a[4], const unsigned b[2])
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." MATRIX_TYPE "." MATRIX_TYPE
                 ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
