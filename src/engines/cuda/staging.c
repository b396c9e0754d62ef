/* staging.c - large copies between pageable host memory and the device: threads carry pieces through pinned memory.
 *
 * The driver copies pageable memory on one thread, at some GB/s. Here each of a few threads takes the next piece, copies it into pinned memory, and while
 * the device fetches that takes another; for what comes down, the other way round. They share nothing but the count of pieces. The threads
 * live as long as one copy: starting them takes tens of microseconds, a piece hundreds, and nothing is left for a fork() to break. */
#include "staging.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>

#include "../engine.h"

enum { PIECE_BYTES = 2 << 20, STREAM_NON_BLOCKING = 1, EVENT_NO_TIMING = 2 };

/* A copy that is under way. Piece number i is rows `rows_each` * (i / across) and on, from column `PIECE_BYTES` * (i % across) on. */
typedef struct job {
    staging *s;
    cu_context context;
    const staged *what;
    int64_t across, rows_each, pieces;
    atomic_llong next;
    atomic_int error; /* the first; the others stop */
    const char *_Atomic call;
} job;

typedef struct piece {
    char *host;
    cu_pointer device;
    size_t width;
    int64_t rows;
} piece;

static piece piece_at(const job *j, int64_t i)
{
    const staged *w = j->what;
    int64_t row = i / j->across * j->rows_each;
    size_t column = (size_t)(i % j->across) * PIECE_BYTES, rest = w->width - column;
    return (piece){.host = w->host + (size_t)row * w->host_pitch + column, .device = w->device + (size_t)row * w->device_pitch + column,
                   .width = rest < PIECE_BYTES ? rest : PIECE_BYTES, .rows = min_i64(j->rows_each, w->rows - row)};
}

/* In pinned memory a piece lies as on the device, so that one copy without rows moves it. */
static size_t piece_bytes(const job *j, const piece *p)
{
    return (size_t)(p->rows - 1) * j->what->device_pitch + p->width;
}

static void copy_rows(const job *j, const piece *p, char *pinned)
{
    for (int64_t i = 0; i < p->rows; i++) {
        char *host = p->host + (size_t)i * j->what->host_pitch, *staged = pinned + (size_t)i * j->what->device_pitch;
        if (j->what->up)
            memcpy(staged, host, p->width);
        else
            memcpy(host, staged, p->width);
    }
}

/* True where the call has succeeded. */
static bool worked(job *j, const char *call, cu_result error)
{
    int none = CU_SUCCESS;
    if (error != CU_SUCCESS && atomic_compare_exchange_strong(&j->error, &none, error)) atomic_store(&j->call, call);
    return error == CU_SUCCESS;
}
#define WORKED(name, arguments) worked(j, #name, cu->name arguments)

/* The next piece; false where there is none, or a thread has failed. */
static bool take(job *j, piece *p)
{
    if (atomic_load(&j->error) != CU_SUCCESS) return false;
    int64_t i = atomic_fetch_add_explicit(&j->next, 1, memory_order_relaxed);
    if (i < j->pieces) *p = piece_at(j, i);
    return i < j->pieces;
}

static void carry_up(job *j, const copier *c)
{
    const cu_api *cu = j->s->cu;
    piece p;
    for (int64_t n = 0; take(j, &p); n++) {
        if (n >= 2 && !WORKED(cuEventSynchronize, (c->done[n % 2]))) return;
        copy_rows(j, &p, c->pinned[n % 2]);
        if (!WORKED(cuMemcpyHtoDAsync_v2, (p.device, c->pinned[n % 2], piece_bytes(j, &p), c->stream))) return;
        if (!WORKED(cuEventRecord, (c->done[n % 2], c->stream))) return;
    }
}

static void carry_down(job *j, const copier *c)
{
    const cu_api *cu = j->s->cu;
    piece now, before = {.rows = 0};
    for (int64_t n = 0;; n++) {
        bool more = take(j, &now);
        if (more && !WORKED(cuMemcpyDtoHAsync_v2, (c->pinned[n % 2], now.device, piece_bytes(j, &now), c->stream))) return;
        if (more && !WORKED(cuEventRecord, (c->done[n % 2], c->stream))) return;
        if (n > 0 && !WORKED(cuEventSynchronize, (c->done[(n - 1) % 2]))) return;
        if (n > 0) copy_rows(j, &before, c->pinned[(n - 1) % 2]);
        if (!more) return;
        before = now;
    }
}

static void destroy_copier(const cu_api *cu, copier *c)
{
    for (int i = 0; i < 2; i++) {
        if (c->done[i] != NULL) cu->cuEventDestroy_v2(c->done[i]);
        if (c->pinned[i] != NULL) cu->cuMemFreeHost(c->pinned[i]);
    }
    if (c->stream != NULL) cu->cuStreamDestroy_v2(c->stream);
}

static bool make_copier(job *j, copier *c)
{
    const cu_api *cu = j->s->cu;
    bool made = WORKED(cuStreamCreate, (&c->stream, STREAM_NON_BLOCKING));
    for (int i = 0; i < 2; i++)
        made = made && WORKED(cuEventCreate, (&c->done[i], EVENT_NO_TIMING)) && WORKED(cuMemHostAlloc, ((void **)&c->pinned[i], PIECE_BYTES, 0));
    if (!made) destroy_copier(cu, c);
    return made;
}

/* One that is idle, else a new one. */
static bool take_copier(job *j, copier *c)
{
    *c = (copier){0};
    pthread_mutex_lock(&j->s->idling);
    if (j->s->idle_count > 0) *c = j->s->idle[--j->s->idle_count];
    pthread_mutex_unlock(&j->s->idling);
    return c->stream != NULL || make_copier(j, c);
}

static void give_copier(staging *s, copier *c)
{
    pthread_mutex_lock(&s->idling);
    bool kept = s->idle_count < MOST_COPIERS;
    if (kept) s->idle[s->idle_count++] = *c;
    pthread_mutex_unlock(&s->idling);
    if (!kept) destroy_copier(s->cu, c);
}

/* One thread's part. The stream is waited for whatever has failed: pinned memory goes to the next call. */
static void carry(job *j)
{
    const cu_api *cu = j->s->cu;
    copier c;
    if (!take_copier(j, &c)) return;
    if (j->what->up)
        carry_up(j, &c);
    else
        carry_down(j, &c);
    (void)WORKED(cuStreamSynchronize, (c.stream));
    give_copier(j->s, &c);
}

static void *carry_in_thread(void *argument)
{
    job *j = argument;
    const cu_api *cu = j->s->cu;
    cu_context popped;
    if (!WORKED(cuCtxPushCurrent_v2, (j->context))) return NULL;
    carry(j);
    cu->cuCtxPopCurrent_v2(&popped);
    return NULL;
}

/* Signals are the program's own threads' business, but for the faults, which belong to the thread that causes them. */
static int start_threads(job *j, pthread_t *threads, int count)
{
    static const int own_faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
    sigset_t all, before;
    int started = 0;
    sigfillset(&all);
    for (size_t i = 0; i < sizeof own_faults / sizeof *own_faults; i++) sigdelset(&all, own_faults[i]);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (started < count && pthread_create(&threads[started], NULL, carry_in_thread, j) == 0) started++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

cu_result staging_copy(staging *s, cu_context context, const staged *what, const char **call)
{
    pthread_t threads[MOST_COPIERS];
    job j = {.s = s, .context = context, .what = what, .across = ceil_div((int64_t)what->width, PIECE_BYTES)};
    j.rows_each = j.across > 1 ? 1 : max_i64(PIECE_BYTES / (int64_t)what->device_pitch, 1);
    j.pieces = j.across * ceil_div(what->rows, j.rows_each);
    int started = start_threads(&j, threads, (int)min_i64(s->threads, j.pieces) - 1);
    carry(&j);
    for (int i = 0; i < started; i++) pthread_join(threads[i], NULL);
    *call = atomic_load(&j.call);
    return atomic_load(&j.error);
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
