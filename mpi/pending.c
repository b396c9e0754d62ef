/* pending.c - see pending.h. */
#include "notice.h"
#include "pending.h"

#include <stdlib.h>

enum { MESSAGE_BYTES = 1 << 30 }; /* MPI-3.1 counts by int */

void pending_begin(pending *p, MPI_Comm comm, double timeout_s)
{
    p->comm = comm, p->timeout_s = timeout_s;
    p->received = 0, p->status = p->exchange_status = TW_OK, p->heard = false;
}

void pending_free(pending *p)
{
    free(p->requests), free(p->notes), free(p->indices), free(p->turns);
    *p = (pending){0};
}

static bool grow(pending *p)
{
    if (p->count < p->room) return true;
    const int room = 2 * p->room + 64;
    MPI_Request *requests = realloc(p->requests, (size_t)room * sizeof *requests);
    if (requests != NULL) p->requests = requests;
    pending_note *notes = realloc(p->notes, (size_t)room * sizeof *notes);
    if (notes != NULL) p->notes = notes;
    int *indices = realloc(p->indices, (size_t)room * sizeof *indices);
    if (indices != NULL) p->indices = indices;
    if (requests == NULL || notes == NULL || indices == NULL) return false;
    p->room = room;
    return true;
}

/* The bytes of a block of one message, as a type that lives until it is committed and used. */
static tw_status type_of(const block *b, MPI_Datatype *type)
{
    const int64_t line = b->cols * b->bytes;
    const bool solid = b->rows == 1 || b->ld == b->cols;
    int code = solid ? MPI_Type_contiguous((int)(b->rows * line), MPI_BYTE, type)
                     : MPI_Type_create_hvector((int)b->rows, (int)line, (MPI_Aint)(b->ld * b->bytes), MPI_BYTE, type);
    if (code == MPI_SUCCESS) code = MPI_Type_commit(type);
    return failure_mpi(code, "describing a block");
}

typedef struct route {
    bool sends;
    int rank, tag;
    int *left;
} route;

static void post(pending *p, const block *b, const route *to)
{
    MPI_Datatype type;
    if (p->status != TW_OK) return;
    if (!grow(p)) p->status = failure(TW_NO_MEMORY, "no memory for the list of %d messages", p->count + 1);
    if (p->status == TW_OK) p->status = type_of(b, &type);
    if (p->status != TW_OK) return;
    MPI_Request *request = &p->requests[p->count];
    const int code = to->sends ? MPI_Isend(b->data, 1, type, to->rank, to->tag, p->comm, request)
                               : MPI_Irecv(b->data, 1, type, to->rank, to->tag, p->comm, request);
    MPI_Type_free(&type);
    p->status = failure_mpi(code, to->sends ? "sending a block" : "receiving a block");
    if (p->status != TW_OK) return;
    p->notes[p->count++] = (pending_note){to->left, to->rank};
    ++*to->left;
    if (!to->sends) p->received += b->rows * b->cols;
}

/* Whole rows while one fits in a message, else parts of rows. */
static void post_all(pending *p, const block *b, const route *to)
{
    const int64_t most = MESSAGE_BYTES / b->bytes;
    if (b->rows == 0 || b->cols == 0) return;
    const int64_t cols = b->cols < most ? b->cols : most, rows = most / cols;
    for (int64_t i = 0; i < b->rows; i += rows)
        for (int64_t j = 0; j < b->cols; j += cols) {
            block part = *b;
            part.data += (i * b->ld + j) * b->bytes;
            part.rows = b->rows - i < rows ? b->rows - i : rows, part.cols = b->cols - j < cols ? b->cols - j : cols;
            post(p, &part, to);
        }
}

void pending_send(pending *p, const block *b, int rank, int tag, int *left)
{
    post_all(p, b, &(route){true, rank, tag, left});
}

void pending_receive(pending *p, const block *b, int rank, int tag, int *left)
{
    post_all(p, b, &(route){false, rank, tag, left});
}

static int poll_messages(pending *p)
{
    int done = 0;
    if (p->count == 0 || p->status != TW_OK) return 0;
    const int code = MPI_Testsome(p->count, p->requests, &done, p->indices, MPI_STATUSES_IGNORE);
    p->status = failure_mpi(code, "moving blocks between ranks");
    if (p->status != TW_OK || done == MPI_UNDEFINED) return 0;
    for (int d = 0; d < done; d++) --*p->notes[p->indices[d]].left;
    int kept = 0;
    for (int i = 0; done > 0 && i < p->count; i++)
        if (p->requests[i] != MPI_REQUEST_NULL) p->requests[kept] = p->requests[i], p->notes[kept++] = p->notes[i];
    if (done > 0) p->count = kept;
    return done;
}

/* ---- exchanges ---- */

static tw_status exchange_failed(pending *p, tw_status status)
{
    if (status != TW_OK) p->exchange_status = failure(status, "%.900s", p->engine->error());
    return status;
}

static bool grow_turns(pending *p)
{
    if (p->end < p->turn_room) return true;
    const int room = 2 * p->turn_room + 64;
    pending_turn *turns = realloc(p->turns, (size_t)room * sizeof *turns);
    if (turns == NULL) return false;
    p->turns = turns, p->turn_room = room;
    return true;
}

void pending_exchange(pending *p, const tw_lab_exchange *what, int64_t received, int *left)
{
    if (p->status != TW_OK || p->exchange_status != TW_OK || (what->sent_bytes == 0 && what->received_bytes == 0))
        return;
    if (!grow_turns(p)) p->exchange_status = failure(TW_NO_MEMORY, "no memory for the list of exchanges");
    if (p->exchange_status == TW_OK) exchange_failed(p, p->engine->device.exchange(p->pipeline, what));
    if (p->exchange_status != TW_OK) return;
    p->turns[p->end++] = (pending_turn){left, what->from};
    ++*left;
    p->received += received;
}

void pending_drop_exchanges(pending *p) { p->first = p->end = 0; }

static int poll_exchanges(pending *p)
{
    int64_t count = 0;
    if (p->first == p->end || p->exchange_status != TW_OK) return 0;
    if (exchange_failed(p, p->engine->device.exchanged(p->pipeline, &count)) != TW_OK) return 0;
    const int done = (int)(count - p->exchanged);
    for (int i = 0; i < done; i++, p->first++) --*p->turns[p->first].left;
    p->exchanged = count;
    if (p->first == p->end) p->first = p->end = 0;
    return done;
}

/* ---- both ---- */

static int poll_once(pending *p) { return poll_messages(p) + poll_exchanges(p); }

/* While exchanges are under way: have they, or has another rank, failed? */
static tw_status check_exchanges(pending *p)
{
    if (p->first == p->end) return TW_OK;
    if (!p->heard) p->heard = notice_heard(p->comm);
    if (p->heard) return failure(TW_DEVICE_FAILED, "another rank has failed");
    return p->exchange_status;
}

tw_status pending_stuck(pending *p)
{
    p->stuck = true;
    return failure(TW_DEVICE_FAILED, "the device has not finished its products for %g s", p->device_s);
}

void pending_poll(pending *p)
{
    while (poll_once(p) > 0) continue;
    if (p->life != NULL) life_computes(p->life);
}

/* For how long this rank has waited while no rank computed, or while one did not answer. */
static double look_for_life(pending *p, double start_s)
{
    const double now_s = failure_now_s();
    if (p->life == NULL) return now_s - start_s;
    life_waits(p->life);
    const double idle_s = now_s - (p->life->sign_s > start_s ? p->life->sign_s : start_s);
    return p->life->silent_s > idle_s ? p->life->silent_s : idle_s;
}

/* Where exchanges alone have stopped, MPI still tells the others. */
static void give_up(pending *p)
{
    const bool by_messages = p->count > 0;
    const tw_status status = failure(
        TW_DEVICE_FAILED, "rank %d and this one have not moved a block for %g s; messages on their way: %d",
        by_messages ? p->notes[0].rank : p->turns[p->first].rank, p->timeout_s, p->count + p->end - p->first);
    *(by_messages ? &p->status : &p->exchange_status) = status;
}

tw_status pending_wait(pending *p)
{
    const double start_s = failure_now_s();
    tw_status told = check_exchanges(p);
    while ((p->count > 0 || p->first < p->end) && p->status == TW_OK && told == TW_OK && poll_once(p) == 0) {
        const double waited_s = look_for_life(p, start_s);
        told = check_exchanges(p);
        if (p->timeout_s > 0 && waited_s > p->timeout_s && told == TW_OK) give_up(p);
        failure_idle(failure_now_s() - start_s);
    }
    return p->status != TW_OK ? p->status : check_exchanges(p);
}

tw_status pending_wait_all(pending *p)
{
    tw_status status = p->status;
    while ((p->count > 0 || p->first < p->end) && status == TW_OK) status = pending_wait(p);
    return status;
}
