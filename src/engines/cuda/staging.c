/* staging.c - large copies between pageable host memory and the device: threads carry pieces through pinned memory.
 *
 * The driver copies pageable memory on one thread, at some GB/s. Here each of a few threads takes the next piece,
 * copies it into pinned memory, and while the device fetches that takes another; for what comes down, the other way
 * round. spread.c carries pieces likewise, beside the work.
 *
 * The threads live as long as one call: starting them takes tens of microseconds, a piece hundreds, and nothing is left
 * for a fork() to break. */
#include "staging.h"
#include "../../thread.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { PIECE_BYTES = 2 << 20 };

/* One call. */
typedef struct job {
    staging *s;
    cu_context context;
    const staged *what;
    const stop *stop;
    atomic_llong next;         /* piece */
    atomic_bool failed, wrote; /* wrote: some of what comes down */
    tw_status status;          /* the first failure's */
    char text[512];
} job;

static int64_t pieces_across(const staged *w) { return ceil_div((int64_t)w->width, PIECE_BYTES); }
static int64_t rows_each(const staged *w)
{
    return pieces_across(w) > 1 || w->alone ? 1 : max_i64(PIECE_BYTES / (int64_t)w->device_pitch, 1);
}
int64_t staging_piece_count(const staged *w) { return pieces_across(w) * ceil_div(w->rows, rows_each(w)); }

piece staging_piece_at(const staged *w, int64_t i)
{
    int64_t row = i / pieces_across(w) * rows_each(w);
    size_t column = (size_t)(i % pieces_across(w)) * PIECE_BYTES, rest = w->width - column;
    return (piece){.of = w,
                   .host = w->host + (size_t)row * w->host_pitch + column,
                   .device = w->device + (size_t)row * w->device_pitch + column,
                   .width = rest < PIECE_BYTES ? rest : PIECE_BYTES,
                   .rows = min_i64(rows_each(w), w->rows - row)};
}

size_t staging_piece_bytes(const piece *p) { return (size_t)(p->rows - 1) * p->of->device_pitch + p->width; }

void staging_copy_piece(const piece *p, char *pinned)
{
    bool dense = p->of->width == p->of->host_pitch && p->of->width == p->of->device_pitch;
    size_t width = dense ? staging_piece_bytes(p) : p->width;
    for (int64_t i = 0; i < (dense ? 1 : p->rows); i++) {
        char *host = p->host + (size_t)i * p->of->host_pitch, *staged = pinned + (size_t)i * p->of->device_pitch;
        if (p->of->up)
            memcpy(staged, host, width);
        else
            memcpy(host, staged, width);
    }
}

/* Keeps the first failure, whose sentence is in this thread; the other threads stop at their next piece. */
static bool keep(job *j, tw_status status)
{
    if (status != TW_OK && !atomic_exchange(&j->failed, true)) {
        j->status = status;
        snprintf(j->text, sizeof j->text, "%s", tw_error_text());
    }
    return status == TW_OK;
}

#define WORKED(name, arguments) worked(j, #name, j->s->cu->name arguments)
static bool worked(job *j, const char *call, cu_result error)
{
    return error == CU_SUCCESS || keep(j, cu_fail(j->s->cu, call, error));
}

/* The next piece; false where there is none, a thread has failed, or the call is cancelled. */
static bool take(job *j, piece *p)
{
    if (atomic_load(&j->failed) || stop_asked(j->stop)) return false;
    const int64_t i = atomic_fetch_add_explicit(&j->next, 1, memory_order_relaxed);
    if (i >= staging_piece_count(j->what)) return false;
    *p = staging_piece_at(j->what, i);
    return true;
}

/* ---- one thread's part ---- */

static bool begin(job *j, const copier *c, int half, const piece *p)
{
    if (p->of->up) staging_copy_piece(p, c->pinned[half]);
    return (p->of->up
                ? WORKED(cuMemcpyHtoDAsync_v2, (p->device, c->pinned[half], staging_piece_bytes(p), c->stream))
                : WORKED(cuMemcpyDtoHAsync_v2, (c->pinned[half], p->device, staging_piece_bytes(p), c->stream))) &&
           WORKED(cuEventRecord, (c->done[half], c->stream));
}

/* Waits until the device is done with this half of the pinned memory; copies out what was downloaded. */
static bool end(job *j, const copier *c, int half, piece *p)
{
    if (p->rows == 0) return true;
    if (!WORKED(cuEventSynchronize, (c->done[half]))) return false;
    if (!p->of->up) {
        atomic_store(&j->wrote, true);
        staging_copy_piece(p, c->pinned[half]);
    }
    p->rows = 0;
    return true;
}

static void carry_pieces(job *j, const copier *c)
{
    piece under_way[2] = {{.rows = 0}, {.rows = 0}}, next;
    int half = 0;
    for (; take(j, &next); half = 1 - half) {
        if (!end(j, c, half, &under_way[half]) || !begin(j, c, half, &next)) return;
        under_way[half] = next;
    }
    if (end(j, c, half, &under_way[half])) end(j, c, 1 - half, &under_way[1 - half]);
}

static void destroy_copier(const cu_api *cu, copier *c)
{
    for (int i = 0; i < 2; i++) {
        if (c->done[i] != NULL) cu->cuEventDestroy_v2(c->done[i]);
        if (c->pinned[i] != NULL) cu->cuMemFreeHost(c->pinned[i]);
    }
    if (c->stream != NULL) cu->cuStreamDestroy_v2(c->stream);
}

/* A failure is not kept yet: *call names what failed. */
static cu_result make_copier(const cu_api *cu, copier *c, const char **call)
{
    *call = "cuStreamCreate";
    cu_result error = cu->cuStreamCreate(&c->stream, STREAM_NON_BLOCKING);
    for (int i = 0; i < 2 && error == CU_SUCCESS; i++) {
        *call = "cuEventCreate";
        error = cu->cuEventCreate(&c->done[i], EVENT_NO_TIMING);
        if (error != CU_SUCCESS) break;
        *call = "cuMemHostAlloc";
        error = cu->cuMemHostAlloc((void **)&c->pinned[i], PIECE_BYTES, 0);
    }
    if (error != CU_SUCCESS) destroy_copier(cu, c);
    return error;
}

cu_result staging_take_copier(staging *s, copier *c, const char **call)
{
    *c = (copier){0};
    pthread_mutex_lock(&s->idling);
    if (s->idle_count > 0) *c = s->idle[--s->idle_count];
    pthread_mutex_unlock(&s->idling);
    return c->stream != NULL ? CU_SUCCESS : make_copier(s->cu, c, call);
}

void staging_give_copier(staging *s, copier *c)
{
    pthread_mutex_lock(&s->idling);
    bool kept = s->idle_count < MOST_COPIERS;
    if (kept) s->idle[s->idle_count++] = *c;
    pthread_mutex_unlock(&s->idling);
    if (!kept) destroy_copier(s->cu, c);
}

tw_status staging_reserve(staging *s)
{
    copier taken[MOST_COPIERS];
    const char *call;
    cu_result error = CU_SUCCESS;
    int count = 0;
    while (count < s->threads && (error = staging_take_copier(s, &taken[count], &call)) == CU_SUCCESS) count++;
    while (count > 0) staging_give_copier(s, &taken[--count]);
    return error == CU_SUCCESS ? TW_OK : cu_fail(s->cu, call, error);
}

/* The stream is synchronised even after a failure, since the next call reuses the pinned memory. */
static void carry(job *j, copier *c)
{
    carry_pieces(j, c);
    (void)WORKED(cuStreamSynchronize, (c->stream));
    staging_give_copier(j->s, c);
}

/* A thread that cannot start has taken no piece: the others carry on without it. */
static void *carry_in_thread(void *argument)
{
    job *j = argument;
    cu_context popped;
    copier c;
    const char *call;
    if (j->s->cu->cuCtxPushCurrent_v2(j->context) != CU_SUCCESS) return NULL;
    if (staging_take_copier(j->s, &c, &call) == CU_SUCCESS) carry(j, &c);
    j->s->cu->cuCtxPopCurrent_v2(&popped);
    return NULL;
}

/* ---- */

/* Memory for the calling thread is taken before any piece: if there is none, nothing has been written. */
static void carry_all(job *j, int64_t pieces)
{
    pthread_t threads[MOST_COPIERS];
    copier c;
    const char *call;
    cu_result error = staging_take_copier(j->s, &c, &call);
    if (error != CU_SUCCESS) {
        worked(j, call, error);
        return;
    }
    int started = 0;
    while (started < (int)min_i64(j->s->threads, pieces) - 1 &&
           thread_start(&threads[started], NULL, carry_in_thread, j) == 0)
        started++;
    carry(j, &c);
    for (int i = 0; i < started; i++) pthread_join(threads[i], NULL);
}

tw_status staging_run(staging *s, cu_context context, const staged *what, const stop *stop)
{
    job j = {.s = s, .context = context, .what = what, .stop = stop, .status = TW_OK};
    carry_all(&j, staging_piece_count(what));
    /* no memory, the status, promises that C is as it was */
    if (j.status == TW_NO_MEMORY && atomic_load(&j.wrote)) j.status = TW_DEVICE_FAILED;
    return j.status == TW_OK ? TW_OK : fail(j.status, "%s", j.text);
}

void staging_open(staging *s, const cu_api *cu, int threads)
{
    *s = (staging){.cu = cu, .threads = (int)max_i64(min_i64(threads, MOST_COPIERS), 1)};
    pthread_mutex_init(&s->idling, NULL);
}

void staging_close(staging *s, bool current)
{
    while (current && s->idle_count > 0) destroy_copier(s->cu, &s->idle[--s->idle_count]);
    pthread_mutex_destroy(&s->idling);
}
