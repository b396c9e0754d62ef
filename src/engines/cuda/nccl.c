/* nccl.c - blocks between GPUs of several processes, by NCCL on a stream of its own. NCCL does not block: each
 * exchange is given to it when it has taken the one before, which whoever asks for the end moves on. Until it has, and
 * says so, nothing else is put on the stream. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_engine.h"
#include "nccl_api.h"

/* In a list: first those that NCCL has taken, with an event behind them on the stream. */
typedef struct turn {
    struct turn *next;
    tw_lab_exchange what;
    cu_event before[2]; /* what it waits for, of copies and of products; NULL: nothing */
    cu_event end;       /* NULL: not yet on the stream */
} turn;

struct exchanges {
    engine *e;
    const nccl_api *nccl;
    nccl_comm comm;
    cu_stream stream;
    cu_event after; /* the products that the next one waits for; NULL: none */
    turn *first, **last;
    turn *next; /* to be given to NCCL; NULL: none */
    bool joined;
    bool taking; /* NCCL is: an event is to follow *next */
    int64_t done;
};

/* NCCL has no error for memory that is short; its last words tell. */
static tw_status failed(const nccl_api *nccl, const char *call, nccl_result error)
{
    char words[200] = "";
    const char *last = nccl->ncclGetLastError != NULL ? nccl->ncclGetLastError(NULL) : NULL;
    snprintf(words, sizeof words, "%s", last != NULL ? last : "");
    for (char *c = words; *c != '\0'; c++)
        if ((unsigned char)*c < ' ') *c = ' ';
    const bool no_memory = strstr(words, "out of memory") != NULL || strstr(words, "Cannot allocate memory") != NULL;
    return fail(no_memory ? TW_NO_MEMORY : TW_DEVICE_FAILED, "%s failed with %s (%d)%s%s", call,
                nccl->ncclGetErrorString(error), error, words[0] != '\0' ? ": " : "", words);
}

static bool is_taken(nccl_result result) { return result == NCCL_SUCCESS || result == NCCL_IN_PROGRESS; }

#define NCCL_TRY(name, arguments)                                                                                      \
    do {                                                                                                               \
        const nccl_result nccl_error_ = x->nccl->name arguments;                                                       \
        if (!is_taken(nccl_error_)) return failed(x->nccl, #name, nccl_error_);                                        \
    } while (0)

/* ---- beginning and end ---- */

/* NCCL's own threads use the primary context. */
static tw_status check_context(engine *e)
{
    cu_context primary;
    if (!e->adopted) return TW_OK;
    CU_TRY(cuDevicePrimaryCtxRetain, (&primary, e->device));
    e->cu->cuDevicePrimaryCtxRelease_v2(e->device);
    if (primary == e->context) return TW_OK;
    return fail(TW_NO_DEVICE, "NCCL works in the primary context of device %d, and the caller's is another", e->index);
}

tw_status cuda_nccl(engine *e, int *version)
{
    const nccl_api *nccl = nccl_api_load();
    if (nccl == NULL) return TW_NO_DEVICE;
    *version = nccl->version;
    return check_context(e);
}

tw_status cuda_nccl_id(char id[TW_LAB_COMM_ID])
{
    const nccl_api *nccl = nccl_api_load();
    if (nccl == NULL) return TW_NO_DEVICE;
    nccl_id made;
    const nccl_result error = nccl->ncclGetUniqueId(&made);
    if (error != NCCL_SUCCESS) return failed(nccl, "ncclGetUniqueId", error);
    memcpy(id, made.bytes, sizeof made.bytes);
    return TW_OK;
}

static tw_status join(exchanges *x, const char *name, int rank, int ranks)
{
    engine *e = x->e;
    nccl_id id;
    nccl_config config = {.size = sizeof config, .magic = NCCL_MAGIC, .version = NCCL_OLDEST, .blocking = 0};
    memcpy(id.bytes, name, sizeof id.bytes);
    /* its kernels do not wait behind all blocks of a product */
    CU_TRY(cuStreamCreateWithPriority, (&x->stream, STREAM_NON_BLOCKING, HIGHEST_PRIORITY));
    NCCL_TRY(ncclCommInitRankConfig, (&x->comm, ranks, id, rank, &config));
    return TW_OK;
}

tw_status cuda_exchanges_open(engine *e, const char id[TW_LAB_COMM_ID], int rank, int ranks, exchanges **out)
{
    exchanges *x = calloc(1, sizeof *x);
    *out = NULL;
    if (x == NULL) return fail(TW_NO_MEMORY, "no memory for exchanges of %zu bytes", sizeof *x);
    x->e = e, x->nccl = nccl_api_load(), x->last = &x->first;
    const tw_status status = x->nccl != NULL ? join(x, id, rank, ranks) : TW_NO_DEVICE;
    if (status == TW_OK)
        *out = x;
    else
        cuda_exchanges_close(x);
    return status;
}

static void free_turn(const exchanges *x, turn *t)
{
    const cu_event events[] = {t->before[0], t->before[1], t->end};
    for (int i = 0; i < 3; i++)
        if (events[i] != NULL) x->e->cu->cuEventDestroy_v2(events[i]);
    free(t);
}

tw_status cuda_exchanges_close(exchanges *x)
{
    if (x == NULL) return TW_OK;
    const cu_api *cu = x->e->cu;
    if (x->comm != NULL) NCCL_TRY(ncclCommAbort, (x->comm)); /* its kernels end, and nobody is waited for */
    if (x->stream != NULL) cu->cuStreamSynchronize(x->stream), cu->cuStreamDestroy_v2(x->stream);
    if (x->after != NULL) cu->cuEventDestroy_v2(x->after);
    for (turn *t = x->first, *next; t != NULL; t = next) next = t->next, free_turn(x, t);
    free(x);
    return TW_OK;
}

/* ---- exchanges ---- */

/* Records what is on the stream now, in an event that nobody waits for; NULL: a new one. */
static tw_status mark(engine *e, cu_stream stream, cu_event *event)
{
    if (*event == NULL) CU_TRY(cuEventCreate, (event, EVENT_NO_TIMING));
    CU_TRY(cuEventRecord, (*event, stream));
    return TW_OK;
}

tw_status cuda_exchanges_after(exchanges *x, cu_stream products) { return mark(x->e, products, &x->after); }

/* Gives the next one to NCCL. */
static tw_status issue(exchanges *x)
{
    engine *e = x->e;
    const nccl_api *nccl = x->nccl;
    const tw_lab_exchange *w = &x->next->what;
    nccl_result sent = NCCL_SUCCESS, received = NCCL_SUCCESS;
    for (int i = 0; i < 2; i++)
        if (x->next->before[i] != NULL) CU_TRY(cuStreamWaitEvent, (x->stream, x->next->before[i], 0));
    NCCL_TRY(ncclGroupStart, ());
    if (w->sent_bytes > 0) sent = nccl->ncclSend(w->sent, (size_t)w->sent_bytes, NCCL_INT8, w->to, x->comm, x->stream);
    if (w->received_bytes > 0)
        received = nccl->ncclRecv(w->received, (size_t)w->received_bytes, NCCL_INT8, w->from, x->comm, x->stream);
    const nccl_result ended = nccl->ncclGroupEnd(); /* also behind a failure: else no other call works */
    if (!is_taken(sent)) return failed(nccl, "ncclSend", sent);
    if (!is_taken(received)) return failed(nccl, "ncclRecv", received);
    if (!is_taken(ended)) return failed(nccl, "ncclGroupEnd", ended);
    x->taking = true;
    return TW_OK;
}

/* Gives NCCL what it can take: one at a time, each with an event behind it. */
static tw_status move_on(exchanges *x)
{
    engine *e = x->e;
    for (;;) {
        nccl_result state = NCCL_SUCCESS;
        NCCL_TRY(ncclCommGetAsyncError, (x->comm, &state));
        if (state == NCCL_IN_PROGRESS) return TW_OK;
        if (state != NCCL_SUCCESS) return failed(x->nccl, "NCCL", state);
        x->joined = true;
        if (x->taking) {
            cu_event end;
            CU_TRY(cuEventCreate, (&end, EVENT_NO_TIMING));
            x->next->end = end;
            CU_TRY(cuEventRecord, (end, x->stream));
            x->next = x->next->next, x->taking = false;
        }
        if (x->next == NULL) return TW_OK;
        TRY(issue(x));
    }
}

tw_status cuda_exchanges_add(exchanges *x, cu_stream copies, const tw_lab_exchange *what)
{
    turn *made = calloc(1, sizeof *made);
    if (made == NULL) return fail(TW_NO_MEMORY, "no memory for a list of exchanges");
    made->what = *what;
    const tw_status status = mark(x->e, copies, &made->before[0]);
    if (status != TW_OK) {
        free_turn(x, made);
        return status;
    }
    made->before[1] = x->after, x->after = NULL;
    *x->last = made, x->last = &made->next;
    if (x->next == NULL) x->next = made;
    return move_on(x);
}

tw_status cuda_exchanges_poll(exchanges *x, int64_t *done)
{
    engine *e = x->e;
    TRY(move_on(x));
    while (x->first != NULL && x->first->end != NULL) {
        turn *t = x->first;
        const cu_result error = e->cu->cuEventQuery(t->end);
        if (error == CU_NOT_READY) break;
        if (error != CU_SUCCESS) return cu_fail(e->cu, "cuEventQuery", error);
        x->first = t->next;
        if (x->first == NULL) x->last = &x->first;
        free_turn(x, t);
        x->done++;
    }
    *done = x->joined ? x->done : -1;
    return TW_OK;
}
