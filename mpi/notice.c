/* notice.c - see notice.h. */
#include "notice.h"

enum { NOTICE_TAG = 4 };

tw_status notice_send(MPI_Comm comm, int ranks)
{
    int me;
    tw_status status = TW_OK;
    MPI_Comm_rank(comm, &me);
    for (int r = 0; r < ranks && status == TW_OK; r++) {
        MPI_Request request;
        if (r == me) continue;
        status = failure_mpi(MPI_Isend(NULL, 0, MPI_BYTE, r, NOTICE_TAG, comm, &request), "telling of a failure");
        if (status == TW_OK) MPI_Request_free(&request); /* it has no bytes that could change */
    }
    return status;
}

bool notice_heard(MPI_Comm comm)
{
    int came = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, NOTICE_TAG, comm, &came, MPI_STATUS_IGNORE);
    return came != 0;
}

tw_status notice_collect(MPI_Comm comm, int ranks, bool sent, int64_t *count, double timeout_s)
{
    int me;
    const int64_t mine = sent;
    MPI_Comm_rank(comm, &me);
    tw_status status = failure_reduce(comm, &mine, count, 1, MPI_SUM, "counting the ranks that failed", timeout_s);
    for (int64_t left = me < ranks ? *count - mine : 0; left > 0 && status == TW_OK; left--) {
        MPI_Request request;
        status = failure_mpi(MPI_Irecv(NULL, 0, MPI_BYTE, MPI_ANY_SOURCE, NOTICE_TAG, comm, &request),
                             "hearing of a failure");
        if (status == TW_OK) status = failure_await(&request, "hearing of a failure", timeout_s);
    }
    return status;
}
