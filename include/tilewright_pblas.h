/* tilewright_pblas.h - ScaLAPACK's product of matrices that are spread over a grid of processes, by the names of PBLAS.
 *
 *     sub(C)  <-  alpha * op(sub(A)) * op(sub(B))  +  beta * sub(C)    sub(A): op(sub(A)) is m x k, from (ia, ja) on
 *
 * The library is built once for each MPI: link libtilewright_pblas_openmpi.so or libtilewright_pblas_mpich.so before
 * ScaLAPACK, or preload it. The contexts of descriptors are those of the program's own BLACS, which are found at run
 * time; the library links none. Names with 64_ at the end take integers of 64 bits. These prototypes are for C: a
 * program that has its own, or is in Fortran, needs none.
 *
 * Arrays     by columns, block-cyclic (descriptors of type 1, or of type 2 with first blocks of their own), any blocks,
 *            first processes and submatrices. rsrc or csrc -1 (copies on all processes) is refused.
 * Collective over the processes of A's context, which have all arguments alike but contexts, lld and arrays.
 * Arguments  All are checked, and agreed on, before anything moves. Of a wrong one the first is told on stderr by its
 *            number in PBLAS, that of a descriptor's entry 100 * number + entry. Then the program ends, by
 *            blacs_abort_(): PBLAS have no status. So ends a call whose memory or MPI fails.
 * Special    as tilewright.h: beta 0: C is not read. alpha or k 0: A and B are not read. c and z: 'C' conjugates.
 * Bits       Those of tw_gemm() of the whole, at any grid and blocks. A k of at least m + n may be divided among
 *            processes: then they depend on the grid.
 * Threads    of a process: TILEWRIGHT_THREADS, else OMP_NUM_THREADS, else all that it may run on.
 *            TILEWRIGHT_PBLAS_TIMEOUT: seconds without a message after which a call fails, of time in which no process
 *            multiplies; not set: none.
 */
#ifndef TILEWRIGHT_PBLAS_H
#define TILEWRIGHT_PBLAS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* psgemm_, pdgemm_, pcgemm_, pzgemm_ - in single and double precision; c and z: of complex numbers, each two reals. */
void psgemm_(const char *op_a, const char *op_b, const int *m, const int *n, const int *k, const float *alpha,
             const float *a, const int *ia, const int *ja, const int *desc_a, const float *b, const int *ib,
             const int *jb, const int *desc_b, const float *beta, float *c, const int *ic, const int *jc,
             const int *desc_c);
void pdgemm_(const char *op_a, const char *op_b, const int *m, const int *n, const int *k, const double *alpha,
             const double *a, const int *ia, const int *ja, const int *desc_a, const double *b, const int *ib,
             const int *jb, const int *desc_b, const double *beta, double *c, const int *ic, const int *jc,
             const int *desc_c);
void pcgemm_(const char *op_a, const char *op_b, const int *m, const int *n, const int *k, const void *alpha,
             const void *a, const int *ia, const int *ja, const int *desc_a, const void *b, const int *ib,
             const int *jb, const int *desc_b, const void *beta, void *c, const int *ic, const int *jc,
             const int *desc_c);
void pzgemm_(const char *op_a, const char *op_b, const int *m, const int *n, const int *k, const void *alpha,
             const void *a, const int *ia, const int *ja, const int *desc_a, const void *b, const int *ib,
             const int *jb, const int *desc_b, const void *beta, void *c, const int *ic, const int *jc,
             const int *desc_c);

/* psgemm_64_, pdgemm_64_, pcgemm_64_, pzgemm_64_ - the same, with integers of 64 bits in descriptors too. */
void psgemm_64_(const char *op_a, const char *op_b, const int64_t *m, const int64_t *n, const int64_t *k,
                const float *alpha, const float *a, const int64_t *ia, const int64_t *ja, const int64_t *desc_a,
                const float *b, const int64_t *ib, const int64_t *jb, const int64_t *desc_b, const float *beta,
                float *c, const int64_t *ic, const int64_t *jc, const int64_t *desc_c);
void pdgemm_64_(const char *op_a, const char *op_b, const int64_t *m, const int64_t *n, const int64_t *k,
                const double *alpha, const double *a, const int64_t *ia, const int64_t *ja, const int64_t *desc_a,
                const double *b, const int64_t *ib, const int64_t *jb, const int64_t *desc_b, const double *beta,
                double *c, const int64_t *ic, const int64_t *jc, const int64_t *desc_c);
void pcgemm_64_(const char *op_a, const char *op_b, const int64_t *m, const int64_t *n, const int64_t *k,
                const void *alpha, const void *a, const int64_t *ia, const int64_t *ja, const int64_t *desc_a,
                const void *b, const int64_t *ib, const int64_t *jb, const int64_t *desc_b, const void *beta, void *c,
                const int64_t *ic, const int64_t *jc, const int64_t *desc_c);
void pzgemm_64_(const char *op_a, const char *op_b, const int64_t *m, const int64_t *n, const int64_t *k,
                const void *alpha, const void *a, const int64_t *ia, const int64_t *ja, const int64_t *desc_a,
                const void *b, const int64_t *ib, const int64_t *jb, const int64_t *desc_b, const void *beta, void *c,
                const int64_t *ic, const int64_t *jc, const int64_t *desc_c);

#ifdef __cplusplus
}
#endif
#endif
