/* plan.h - a product divided among ranks, as every file of the schedule sees it. */
#ifndef TILEWRIGHT_MPI_PLAN_H
#define TILEWRIGHT_MPI_PLAN_H

#include "engine.h"
#include "grid.h"
#include "pending.h"

/* A or B as one rank gathers it: its block, in pieces of which each belongs to another rank of a row or column of the
 * grid. */
typedef struct side {
    bool along_rows;   /* pieces are rows of the stored matrix; else columns */
    int peers, me;     /* ranks that have a piece; which of them this one is */
    int first, apart;  /* rank of piece i: first + i * apart */
    int64_t length;    /* of all pieces together: rows of op(A), columns of op(B) */
    int64_t bytes;     /* of an element */
    bool copies_own;   /* the own piece goes into the buffers too */
    int64_t in_buffer; /* length of what lies in a buffer */
    char *buffer[2]; /* panels, one after the other; of NCCL on the device, what does not lie straight in the mirror */
    int *left[2];    /* of each piece: messages still to come */
    int sent[2];     /* of a panel: messages that are being sent */
    bool *taken;     /* of each piece of the panel: multiplied, or about to be */
    int group;       /* on a device: pieces that are multiplied together; 0: pieces are, as they come */
    char *mirror[2]; /* panels on the device */
    char *own_sent[2]; /* own's panels, from where they are sent: on the host, if own is not; of NCCL on the device */
    bool straight;     /* NCCL brings pieces to their places in the mirror */
    const char *own;   /* this rank's block, of the call */
    int64_t ld;
    int tag;
} side;

/* What a rank exchanges with its peers at this distance: pieces of panels, one way round on all ranks. */
static inline tw_lab_exchange side_exchange(const side *s, int distance)
{
    return (tw_lab_exchange){.to = s->first + (s->me + s->peers - distance) % s->peers * s->apart,
                             .from = s->first + (s->me + distance) % s->peers * s->apart};
}

struct tw_mpi_plan {
    MPI_Comm comm;
    int rank, ranks;
    double timeout_s;
    rank_engine engine;
    tw_problem problem; /* its types settled */
    grid_problem sizes;
    grid grid;
    grid_place at;
    bool computes; /* this rank is one of the grid */
    bool whole;    /* one panel, one segment: sums are scaled as they are made */
    side a, b;
    char *sums;    /* of the block of C where they lie beside it; else NULL */
    char *reduced; /* parts of other ranks' sums */
    int64_t reduced_bytes;
    tw_lab_pipeline *pipeline; /* NULL: blocks are multiplied where they lie */
    char *c_mirror;            /* of the block of C, or its sums, on the device */
    int64_t ld_mirror;
    char *c_host; /* where C lies on the device and is finished on the host: it, meanwhile */
    pending pending;
    double flops; /* that this rank was last seen to compute in a second */
    bool direct;  /* panels go by NCCL, from device to device */
    bool stopped; /* this rank's part of the call has failed, and the others were told */
    bool ended;   /* NCCL was left after a call that failed, or the device was: of no use */
    bool lost;    /* the ranks could not agree: nothing can be asked on comm, and MPI may use what it was given */
    life life;
    char panels_text[512];
};

/* schedule_prepare - on a device, ahead of schedule_run(): all kernels of the products that go into c, or into what
 * lies beside it, and their workspace. No product waits for other ranks' panels then. */
tw_status schedule_prepare(tw_mpi_plan *plan, char *c, int64_t ldc);

/* schedule_run - gather panels and multiply them. Into c what a grid with pk = 1 computes; else unscaled into sums.
 * status: of this rank's work before. A rank whose work fails goes on to send and to receive, and returns that. */
tw_status schedule_run(tw_mpi_plan *plan, char *c, int64_t ldc, tw_status status);

/* reduce_run - add the sums of all segments of k in ascending order; into c the rows that this rank owns. status: as
 * for schedule_run(). */
tw_status reduce_run(tw_mpi_plan *plan, char *c, int64_t ldc, tw_status status);

/* plan_make - tw_mpi_plan_make() with any engine. home: where C lies already, alike on all ranks; NULL: nowhere. */
tw_status plan_make(const rank_engine *engine, const tw_problem *problem, MPI_Comm comm, const tw_mpi_options *options,
                    const grid_home *home, tw_mpi_plan **out);

/* plan_blocks - the blocks that any rank owns: a, b, c and words of *layout. */
void plan_blocks(const tw_mpi_plan *plan, int rank, tw_mpi_layout *layout);

#endif
