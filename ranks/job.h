/* job.h - one product over ranks in hand, and the stages of it that stand in files of their own. */
#ifndef TILEWRIGHT_RANKS_JOB_H
#define TILEWRIGHT_RANKS_JOB_H

#include "../io/io.h"
#include "../lab/oracle.h"
#include "../multiply/operands.h"
#include "launched.h"

/* What is asked for. recheck: before the output gets its name, EXIT_OK, or after a sentence why it may not. */
typedef struct ranks_wish {
    product_wish product; /* on the device of this rank */
    const char *panels;   /* of --panels; NULL: not given */
    bool has_grid;
    int32_t grid[3];
    double network_gbps; /* 0: not given, as below */
    int64_t timeout_s;
    exit_code (*recheck)(const char *path);
} ranks_wish;

typedef struct rank_job {
    ranks_wish wish;
    const rank_plugin *mpi;
    rank_world world;
    double timeout_s;
    operands in;
    io_output out; /* of rank 0; of the others the path of the temporary file alone */
    tw_mpi_layout layout;
    char *a, *b, *c; /* this rank's blocks, row by row */
    double read_s, compute_s, write_s, check_s;
    verify_report report;
    int64_t nans, infinite;
    int sharing;      /* ranks that use this rank's GPU; of all the most in the end */
    char method[260]; /* of the record, as the plan */
    tw_lab_plan plan;
} rank_job;

/* ranks_lost - MPI failed, or a rank does not answer: nobody can be asked any more. */
void ranks_lost(const rank_job *j) __attribute__((noreturn));

/* ranks_together - the worst of all ranks' codes; the lowest rank that has it says why. */
exit_code ranks_together(const rank_job *j, exit_code code);

/* ranks_checked - a call of the plug-in: every rank has its status, but where MPI failed. */
exit_code ranks_checked(const rank_job *j, tw_status status);

/* ranks_read, ranks_write - this rank's blocks of A, B and C0 from their files, and its block of C into the output. */
exit_code ranks_read(rank_job *j);
exit_code ranks_write(rank_job *j);

#endif
