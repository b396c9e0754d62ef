/* dgemm_pieces.cuh - f64 on the matrix units: the sums of a piece of 16 x 8 that a lane holds, and what one mma.sync
 * adds to them. For dgemm_tile.cuh and dgemm_tma_sm90. After rung.cuh.
 *
 * SOURCE    PTX ISA (mma.sync for f64) */
#include "epilogue.cuh"

/* The sums of a piece (16 x 8): of rows l / 4 and l / 4 + 8, columns l % 4 * 2 and the next. */
struct piece_sums {
    double upper[2], lower[2];
};

/* Volatile: the loads stay between the multiplications. */
static __device__ __forceinline__ void multiply_8(struct piece_sums *x, const double *a, const double *b)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+d"(x->upper[0]), "+d"(x->upper[1]), "+d"(x->lower[0]), "+d"(x->lower[1])
                 : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#else
    UNROLLED
    for (int q = 0; q < 2; q++) {
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                     : "+d"(x->upper[0]), "+d"(x->upper[1])
                     : "d"(a[2 * q]), "d"(b[q]));
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                     : "+d"(x->lower[0]), "+d"(x->lower[1])
                     : "d"(a[2 * q + 1]), "d"(b[q]));
    }
#endif
}
