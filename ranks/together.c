/* together.c - all ranks agree on how a stage ended; the lowest rank that failed says why. */
#include <stdio.h>
#include "../program/diag.h"
#include "../program/guard.h"
#include "job.h"

void ranks_lost(const rank_job *j)
{
    char who[320];
    snprintf(who, sizeof who, "rank %d on %.250s: ", j->world.rank, j->world.host);
    diag_let_go(true, who);
    diag(EXIT_RUN, "%s%s", who, j->mpi->error());
    guard_end(EXIT_RUN);
}

exit_code ranks_together(const rank_job *j, exit_code code)
{
    int worst = EXIT_OK, rank = 0;
    char who[320] = "";
    if (j->mpi->worst((int)code, &worst, &rank) != TW_OK) ranks_lost(j);
    if (worst == EXIT_OK) return EXIT_OK;
    if (rank > 0) snprintf(who, sizeof who, "rank %d on %.250s: ", rank, j->world.host);
    diag_let_go(rank == j->world.rank, who);
    diag_hold();
    return (exit_code)worst;
}

exit_code ranks_checked(const rank_job *j, tw_status status)
{
    if (status == TW_DEVICE_FAILED && !j->mpi->agreed()) ranks_lost(j);
    return status == TW_OK ? EXIT_OK : diag(diag_code(status), "%s", j->mpi->error());
}
