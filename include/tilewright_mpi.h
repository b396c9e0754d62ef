/* tilewright_mpi.h - one product over all ranks of an MPI communicator.
 *
 *     C  <-  alpha * op(A) * op(B)  +  beta * C,   each rank holding its share of A, B and C
 *
 * A plan says which blocks each rank owns. The caller fills them; tw_mpi_gemm() moves what other ranks need while it
 * multiplies. The library is built once for each MPI: link libtilewright_openmpi.so or libtilewright_mpich.so, beside
 * libtilewright.so.
 *
 *     tw_problem problem = tw_problem_make(TW_F64, TW_N, TW_N, m, n, k);
 *     tw_mpi_plan *plan;
 *     tw_mpi_layout layout = {.size = sizeof layout};
 *     tw_mpi_plan_make(NULL, &problem, MPI_COMM_WORLD, NULL, &plan);
 *     tw_mpi_plan_layout(plan, &layout);
 *     ... layout.a.rows x layout.a.cols elements of A from (layout.a.row, layout.a.col) on; B and C likewise
 *     tw_mpi_gemm(plan, a, lda, b, ldb, c, ldc);
 *     tw_mpi_plan_free(plan);
 *
 * CALLS    that take a communicator or a plan are collective, but tw_mpi_plan_layout(). They may not overlap on one
 *          plan. MPI is to be initialised, by MPI_THREAD_FUNNELED at least; the caller is the thread that calls MPI.
 * ERRORS   All ranks of a call return the same status. tw_mpi_error_text() explains the calling thread's last failure,
 *          and names the rank that failed. After TW_DEVICE_FAILED messages may be on their way: the communicator's
 *          other ranks can only be ended, by MPI_Abort().
 * RANKS    with the same byte order and types. Hosts with other instruction sets give other last bits.
 * GPUS     With a context of the cuda engine each rank multiplies on its context's GPU; several ranks may share one.
 *          Choosing the GPU is the caller's: the rank among those of its host, modulo tw_devices(), say. Blocks lie in
 *          host memory, or all on the GPU (problem.place_a to place_c). Where each rank has a GPU of its own and NCCL,
 *          panels of A and B go from GPU to GPU by it; else through pinned host memory, as sums do always
 *          (tw_mpi_options.panels). Each piece of A and B is copied to the GPU once; C, or sums, stay there until the
 *          end. A plan by NCCL holds a communicator, and its memory on the GPU. Of such plans no two of a process may
 *          compute at the same time: their ranks would have to begin all exchanges in one order.
 */
#ifndef TILEWRIGHT_MPI_H
#define TILEWRIGHT_MPI_H

#ifndef TILEWRIGHT_MPI_TYPES /* defined: the structs alone, without mpi.h */
#include <mpi.h>
#endif
#include "tilewright.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A block of a matrix as it is stored: rows x cols elements from (row, col) on. */
typedef struct tw_mpi_block {
    int64_t row, col, rows, cols;
} tw_mpi_block;

/* What a plan may be asked for; a zeroed one, but for its size, asks for nothing. */
typedef struct tw_mpi_options {
    uint32_t size;   /* sizeof(tw_mpi_options) */
    int32_t grid[3]; /* pm, pn and pk: parts of m, of n and of k; 0: chosen */
    /* assumed speed of a rank's link in Gbit/s; 0: 32 where all ranks are on one host, else 10. Only grids that are
     * chosen depend on it */
    double network_gbps;
    int64_t memory_bytes; /* most memory of a rank's blocks and buffers; 0: any */
    /* give up where a rank has not answered for so long, or no block has moved and no rank has computed for so long; 0:
     * never. Must be equal on all ranks. A CPU may compute for any time, a GPU for timeout_s and 20 times its nominal
     * time */
    double timeout_s;
    int32_t panels;   /* TW_MPI_PANELS_AUTO, ...: cuda engine only */
    int32_t reserved; /* 0 */
} tw_mpi_options;

/* How panels of A and B go between ranks with GPUs. The bits do not depend on it. */
enum {
    TW_MPI_PANELS_AUTO = 0,  /* by NCCL where all ranks can and have the memory, else staged */
    TW_MPI_PANELS_NCCL = 1,  /* from GPU to GPU by NCCL 2; TW_NO_DEVICE where a rank cannot and panels are to go */
    TW_MPI_PANELS_STAGED = 2 /* through pinned host memory, by MPI */
};

/* What a plan says to this rank. */
typedef struct tw_mpi_layout {
    uint32_t size;        /* sizeof(tw_mpi_layout), set by the caller */
    int32_t ranks;        /* that compute, at most those of the communicator; the others own nothing */
    int32_t grid[3];      /* pm, pn, pk */
    int32_t reserved;     /* 0 */
    tw_mpi_block a, b, c; /* that this rank owns, of A, B and C as they are stored */
    int64_t panel;        /* steps of k that are gathered at a time */
    int64_t buffer_bytes; /* of host memory that a rank allocates beside its blocks, at most */
    int64_t words;        /* elements of A, B and sums that this rank receives in a call */
    double mean_words;    /* of all ranks that compute */
    double seconds;       /* estimated */
} tw_mpi_layout;

typedef struct tw_mpi_plan tw_mpi_plan;

#ifndef TILEWRIGHT_MPI_TYPES
/* tw_mpi_plan_make - choose a grid of ranks for a product, and allocate what it needs.
 *
 * context   of the cpu engine, or of cuda, on all ranks alike; NULL: as in tw_gemm(). Of several GPUs the first. It
 *           must live as long as the plan
 * problem   m, n and k of the whole product. Leading dimensions and alignments are not read. flags are 0. place_a to
 *           place_c: where tw_mpi_gemm() finds its blocks, on all ranks alike; TW_DEVICE with cuda alone
 * options   NULL: all fields 0. memory_bytes is the host's; tw_options.memory_bytes limits what is taken on a GPU
 * Special   Fewer ranks than there are compute where more would be slower (layout.ranks).
 * Bits      With pk = 1 those of tw_gemm(). With pk > 1 each segment of k is summed by itself, and these sums are added
 *           in ascending order: they depend on the grid, and on nothing else.
 *           With cuda they depend on the grid, the kind of GPU and its tuned rows and, of a C on the GPU, its alignment
 *           and ldc; not on what comes first, nor on how ranks share GPUs. They are not those of tw_gemm(): kernels are
 *           chosen for pieces, and a k of more than two tw_lab_sum_depth() is summed in panels.
 * Memory    of a GPU: a rank's block of C, and its blocks of A and B over layout.panel steps of k, twice where there
 *           are more. With NCCL as many times also the rank's own pieces, and pieces of other ranks of fewer than 2048
 *           columns; NCCL needs memory of its own too. Panels do not shrink: where they do not fit by NCCL, they are
 *           staged, unless NCCL was asked for; where they do not fit either way, TW_NO_MEMORY.
 * Returns   TW_OK and *plan; TW_BAD_ARGUMENT (also where ranks ask for different things, or for a grid of more ranks
 *           than there are), TW_NO_DEVICE (a rank cannot use NCCL, which was asked for), TW_NO_KERNEL, TW_BUILD_FAILED
 *           (a GPU's kernel), TW_NO_MEMORY, TW_DEVICE_FAILED (MPI failed), and *plan NULL */
TW_API tw_status tw_mpi_plan_make(tw_context *context, const tw_problem *problem, MPI_Comm comm,
                                  const tw_mpi_options *options, tw_mpi_plan **plan);

/* tw_mpi_plan_free - free a plan: every rank calls it; NULL does nothing. After TW_DEVICE_FAILED what other ranks or a
 * GPU may still use is not freed. */
TW_API void tw_mpi_plan_free(tw_mpi_plan *plan);

/* tw_mpi_plan_layout - which blocks this rank owns. Not collective. Returns TW_OK, TW_BAD_ARGUMENT. */
TW_API tw_status tw_mpi_plan_layout(const tw_mpi_plan *plan, tw_mpi_layout *layout);

/* tw_mpi_gemm - compute the product of a plan.
 *
 * a, b, c   this rank's blocks, row by row, lda, ldb and ldc elements from one row to the next; not read, and may be
 *           NULL, where the block is empty. On a GPU no stream may be using them
 * Special   as tw_gemm(): k or alpha 0, beta 0
 * Error     as tw_gemm()
 * Cost      layout.words elements received by this rank, in messages of 1 GiB at most; 2 m n k flops in all
 * Returns   TW_OK; TW_BAD_ARGUMENT: C untouched; TW_NO_MEMORY, TW_BUILD_FAILED (a GPU's kernel), TW_DEVICE_FAILED (a
 *           rank's product or MPI failed, or the time ran out): C undefined. Where a rank has failed while panels went
 *           by NCCL, or the time ran out, later calls of the plan are refused (TW_BAD_ARGUMENT). A GPU that has not
 *           finished in time may still read and write this rank's blocks, and MPI read A and B after a lost rank: keep
 *           them. tw_close() would wait for such a GPU */
TW_API tw_status tw_mpi_gemm(tw_mpi_plan *plan, const void *a, int64_t lda, const void *b, int64_t ldb, void *c,
                             int64_t ldc);

/* tw_mpi_panels_text - how panels go between ranks with GPUs, and why: "NCCL 2.27.3", "staged through host memory:
 * ranks 0 and 1 share a GPU", "none between ranks" where only k is divided. "" on the CPU. Not collective; lives as
 * long as the plan. */
TW_API const char *tw_mpi_panels_text(const tw_mpi_plan *plan);

/* tw_mpi_received_words - the elements that this rank's last tw_mpi_gemm() has received, as counted. */
TW_API int64_t tw_mpi_received_words(const tw_mpi_plan *plan);

/* tw_mpi_error_text - one sentence about the calling thread's last failure of these calls, or "". */
TW_API const char *tw_mpi_error_text(void);
#endif

#ifdef __cplusplus
}
#endif
#endif
