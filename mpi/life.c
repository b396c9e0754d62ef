/* life.c - see life.h. */
#include "life.h"

enum { ENDED, WAITS, COMPUTES };

void life_begin(life *l, MPI_Comm comm, double timeout_s)
{
    *l = (life){.comm = comm, .timeout_s = timeout_s, .code = MPI_SUCCESS, .sign_s = failure_now_s()};
    l->next_s = l->sign_s + timeout_s / LIFE_ROUNDS;
}

static void begin_round(life *l, int does)
{
    l->mine = does, l->computed = false, l->silent_s = 0, l->looked_s = failure_now_s();
    l->code = MPI_Iallreduce(&l->mine, &l->most, 1, MPI_INT64_T, MPI_MAX, l->comm, &l->request);
    l->under_way = l->code == MPI_SUCCESS;
}

/* The round under way has just ended. */
static bool ends_round(life *l)
{
    int done = 0;
    if (!l->under_way || l->code != MPI_SUCCESS) return false;
    const double now_s = failure_now_s(), most_s = l->timeout_s / LIFE_ROUNDS, since_s = now_s - l->looked_s;
    l->silent_s += since_s < most_s ? since_s : most_s, l->looked_s = now_s; /* between two looks MPI may stand still */
    l->code = MPI_Test(&l->request, &done, MPI_STATUS_IGNORE);
    if (l->code != MPI_SUCCESS || !done) return false;
    l->under_way = false, l->silent_s = 0;
    if (l->most == COMPUTES) l->sign_s = now_s;
    l->next_s = now_s + most_s;
    return true;
}

static bool is_due(const life *l)
{
    return l->timeout_s > 0 && !l->under_way && l->code == MPI_SUCCESS && failure_now_s() >= l->next_s;
}

void life_waits(life *l)
{
    ends_round(l);
    if (is_due(l)) begin_round(l, l->computed ? COMPUTES : WAITS);
}

void life_computes(life *l)
{
    l->computed = true;
    life_waits(l);
}

tw_status life_end(life *l)
{
    const double start_s = failure_now_s();
    while (l->timeout_s > 0) {
        if (ends_round(l) && l->most == ENDED) break;
        if (!l->under_way && l->code == MPI_SUCCESS) begin_round(l, ENDED);
        if (l->code != MPI_SUCCESS) return failure_mpi(l->code, "agreeing on the outcome");
        if (l->silent_s > l->timeout_s)
            return failure(TW_DEVICE_FAILED, "agreeing on the outcome: the other ranks have not answered for %g s",
                           l->timeout_s);
        failure_idle(failure_now_s() - start_s);
    }
    l->timeout_s = 0;
    return TW_OK;
}
