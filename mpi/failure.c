/* failure.c - see failure.h. Nothing here blocks inside MPI: a rank that never answers ends in a sentence. */
#define _POSIX_C_SOURCE 200809L
#include "failure.h"

#include <inttypes.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static _Thread_local char sentence[FAILURE_TEXT];
static _Thread_local bool agreed; /* all ranks have it */

const char *tw_mpi_error_text(void) { return sentence; }

tw_status failure(tw_status status, const char *format, ...)
{
    char text[FAILURE_TEXT];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    memcpy(sentence, text, sizeof sentence);
    agreed = false;
    return status;
}

bool failure_is_agreed(void) { return agreed; }

tw_status failure_mpi(int code, const char *what)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    if (code == MPI_SUCCESS) return TW_OK;
    MPI_Error_string(code, text, &length);
    return failure(TW_DEVICE_FAILED, "%s failed: %.*s", what, length, text);
}

double failure_now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void (*while_idle)(void);

void failure_while_idle(void (*call)(void)) { while_idle = call; }

/* More ranks than processors: whoever is waited for needs the processor. */
void failure_idle(double waited_s)
{
    if (while_idle != NULL) while_idle();
    if (waited_s > 20e-6 && waited_s <= 10e-3) sched_yield();
    if (waited_s > 10e-3) nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
}

tw_status failure_await(MPI_Request *request, const char *what, double timeout_s)
{
    const double start_s = failure_now_s();
    for (;;) {
        int done = 0;
        const int code = MPI_Test(request, &done, MPI_STATUS_IGNORE);
        if (code != MPI_SUCCESS) return failure_mpi(code, what);
        if (done) return TW_OK;
        const double waited_s = failure_now_s() - start_s;
        if (timeout_s > 0 && waited_s > timeout_s)
            return failure(TW_DEVICE_FAILED, "%s: the other ranks have not answered for %g s", what, timeout_s);
        failure_idle(waited_s);
    }
}

/* What a request reads and writes. After a deadline it stays, for MPI may still use it. */
static tw_status await_room(MPI_Request *request, void *room, void *to, const void *from, size_t bytes,
                            const char *what, double timeout_s)
{
    const tw_status status = failure_await(request, what, timeout_s);
    if (status != TW_OK) return status;
    memcpy(to, from, bytes);
    free(room);
    return TW_OK;
}

tw_status failure_reduce(MPI_Comm comm, const int64_t *from, int64_t *to, int count, MPI_Op op, const char *what,
                         double timeout_s)
{
    MPI_Request request;
    const size_t bytes = (size_t)count * sizeof *from;
    int64_t *room = malloc(2 * bytes);
    if (room == NULL) return failure(TW_NO_MEMORY, "%s: no memory for %d values", what, count);
    memcpy(room, from, bytes);
    const tw_status status = failure_mpi(MPI_Iallreduce(room, room + count, count, MPI_INT64_T, op, comm, &request),
                                         what);
    if (status != TW_OK) return free(room), status;
    return await_room(&request, room, to, room + count, bytes, what, timeout_s);
}

tw_status failure_tell(MPI_Comm comm, int from, void *words, int bytes, const char *what, double timeout_s)
{
    MPI_Request request;
    char *room = malloc((size_t)bytes);
    if (room == NULL) return failure(TW_NO_MEMORY, "%s: no memory for %d bytes", what, bytes);
    memcpy(room, words, (size_t)bytes);
    const tw_status status = failure_mpi(MPI_Ibcast(room, bytes, MPI_BYTE, from, comm, &request), what);
    if (status != TW_OK) return free(room), status;
    return await_room(&request, room, words, room, (size_t)bytes, what, timeout_s);
}

tw_status failure_unheard(tw_status status, const char own[FAILURE_TEXT])
{
    char why[FAILURE_TEXT];
    if (status == TW_OK) return TW_DEVICE_FAILED;
    memcpy(why, sentence, sizeof why);
    return failure(TW_DEVICE_FAILED, "%.700s; then %.300s", own, why);
}

tw_status failure_agree(MPI_Comm comm, tw_status status, double timeout_s)
{
    int rank;
    char own[FAILURE_TEXT], text[FAILURE_TEXT];
    MPI_Comm_rank(comm, &rank);
    memcpy(own, sentence, sizeof own);
    /* the largest status first, of its ranks the lowest */
    const int64_t mine = ((int64_t)status << 32) + (INT32_MAX - rank);
    int64_t all = 0;
    tw_status told = failure_reduce(comm, &mine, &all, 1, MPI_MAX, "agreeing on the outcome", timeout_s);
    if (told != TW_OK) return failure_unheard(status, own);
    const tw_status agreed_status = (tw_status)(all >> 32);
    const int from = (int)(INT32_MAX - (all & INT32_MAX));
    if (agreed_status == TW_OK) return TW_OK;
    memcpy(text, own, sizeof text);
    told = failure_tell(comm, from, text, sizeof text, "telling of a failure", timeout_s);
    if (told != TW_OK) return failure_unheard(status, own);
    if (from != rank) failure(agreed_status, "rank %d: %.900s", from, text);
    agreed = true;
    return agreed_status;
}

tw_status failure_alike(MPI_Comm comm, const rank_value *values, int count, double timeout_s)
{
    enum { MOST = 64 };
    int64_t mine[2 * MOST] = {0}, least[2 * MOST] = {0};
    if (count > MOST) return failure(TW_DEVICE_FAILED, "more than %d values to agree on", MOST);
    /* the least of ~x is ~ of the largest x */
    for (int i = 0; i < count; i++) mine[i] = values[i].value, mine[count + i] = ~values[i].value;
    const tw_status status = failure_reduce(comm, mine, least, 2 * count, MPI_MIN, "comparing what the ranks ask for",
                                            timeout_s);
    if (status != TW_OK) return status;
    for (int i = 0; i < count; i++)
        if (least[i] != ~least[count + i]) {
            failure(TW_BAD_ARGUMENT,
                    "the ranks do not ask for the same: %s is %" PRId64 " on one and %" PRId64 " on another",
                    values[i].name, least[i], ~least[count + i]);
            agreed = true;
            return TW_BAD_ARGUMENT;
        }
    return TW_OK;
}
