/* test_random.c - random problems against both oracles: types, transposes, lengths from 0 on, primes and lengths about
 * tiles, scalars, leading dimensions, crooked addresses and batches, in host memory and, on CUDA, in device memory by
 * every call. All processors make problems and judge products on one context at once.
 *
 *   test_random [--seed S] [--first N] [--count N] [--seconds T] ...
 *       problems number N, N + 1, ... of seed S, so many of each engine, or for so long
 *
 * A problem follows from its number, its seed and the engine's types alone (support/random_problem.h), and a failure
 * prints what computes it again. A problem that does not end is named, and the program with it. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "support/cuda_caller.h"
#include "processors.h"
#include "support/random_problem.h"
#include "support/tap.h"

enum { MOST_THREADS = 32, MOST_FAILURES = 8, HANG_S = 300 };

static struct {
    int64_t seed, first, count; /* count 0: the usual */
    double seconds;             /* 0: no end but count's */
} asked = {.seed = 1};

/* ---- computing ---- */

static caller me;

#define CU(call)                                                                                                       \
    do {                                                                                                               \
        cu_result error_ = (call);                                                                                     \
        if (error_ != CU_SUCCESS) {                                                                                    \
            snprintf(s->why, sizeof s->why, "%s failed with %s", #call, cu_error_name(me.cu, error_));                 \
            return false;                                                                                              \
        }                                                                                                              \
    } while (0)

static uint32_t alignment_of(size_t at) { return at % 256 == 0 ? 256 : (uint32_t)(at & -at) & 255; }

static bool run_here(const engine *e, const job *j, operands *s)
{
    put_addresses(s, (uintptr_t)s->after);
    memcpy(s->after, s->before, s->bytes);
    return said(s, multiply(e, j, s, &j->p, (uintptr_t)s->after, NULL));
}

/* memory: as large as the block, the workspace and a band behind it. */
static bool run_at(const engine *e, const job *j, operands *s, const tw_problem *p, cu_pointer memory,
                   int64_t workspace_bytes, cu_stream stream)
{
    const cu_pointer workspace = memory + (s->bytes + 255) / 256 * 256, end = workspace + (cu_pointer)workspace_bytes;
    const tw_launch launch = {.size = sizeof launch,
                              .stream = stream,
                              .workspace = workspace_bytes > 0 ? (void *)(uintptr_t)workspace : NULL,
                              .workspace_bytes = workspace_bytes};
    char band[BAND];
    put_addresses(s, (uintptr_t)memory);
    CU(me.cu->cuMemcpyHtoDAsync_v2(memory, s->before, s->bytes, stream));
    CU(me.cu->cuMemcpyHtoDAsync_v2(end, s->before, BAND, stream)); /* the block's first band */
    /* the library's own stream does not wait for ours */
    if (j->way == DEVICE) CU(me.cu->cuStreamSynchronize(stream));
    if (!said(s, multiply(e, j, s, p, (uintptr_t)memory, j->way == DEVICE ? NULL : &launch))) return false;
    CU(me.cu->cuMemcpyDtoHAsync_v2(s->after, memory, s->bytes, stream));
    CU(me.cu->cuMemcpyDtoHAsync_v2(band, end, BAND, stream));
    CU(me.cu->cuStreamSynchronize(stream));
    if (memcmp(band, s->before, BAND) == 0) return true;
    snprintf(s->why, sizeof s->why, "what follows %" PRId64 " bytes of workspace was written", workspace_bytes);
    return false;
}

static bool run_there(const engine *e, const job *j, operands *s, cu_stream stream)
{
    tw_problem p = j->p;
    int64_t workspace_bytes = 0;
    cu_pointer memory = 0;
    for (int i = 0; i < 3; i++) {
        uint32_t *const aligns[] = {&p.align_a, &p.align_b, &p.align_c};
        *aligns[i] = alignment_of(s->x[i].at | (j->items > 0 ? s->x[i].stride : 0));
    }
    const tw_batch batch = batch_of(j, s);
    if (j->way == STREAM && !said(s, j->items > 0 ? tw_workspace_bytes_batched(e->context, &p, &batch, &workspace_bytes)
                                                  : tw_workspace_bytes(e->context, &p, &workspace_bytes)))
        return false;
    CU(me.cu->cuMemAlloc_v2(&memory, s->bytes + 256 + (size_t)workspace_bytes + BAND));
    bool passed = run_at(e, j, s, &p, memory, workspace_bytes, stream);
    CU(me.cu->cuMemFree_v2(memory));
    return passed;
}

/* ---- all processors, and who watches them ---- */

typedef struct worker {
    pthread_t thread;
    _Atomic double since; /* when its problem began; 0: it has none */
    job job;
} worker;

static struct {
    const engine *engine;
    worker workers[MOST_THREADS];
    int threads;
    _Atomic int64_t next, last; /* the number to take next, and the first not to be */
    double until, longest;      /* 0: no end in time */
    int64_t done, longest_number;
    int running, failures;
    cu_context primary;
    char first_failure[1024];
    pthread_mutex_t lock;
    pthread_cond_t ended;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void note_result(const job *j, bool passed, const char *why, double seconds)
{
    char text[LINE];
    describe(j, text);
    pthread_mutex_lock(&all.lock);
    all.done++;
    if (seconds > all.longest) all.longest = seconds, all.longest_number = j->number;
    if (!passed) {
        char failure[sizeof all.first_failure];
        snprintf(failure, sizeof failure, "%s: --seed %" PRId64 " --first %" PRId64 " --count 1: %s: %s",
                 all.engine->name, asked.seed, j->number, text, why);
        printf("# %s\n", failure);
        if (all.failures++ == 0) strcpy(all.first_failure, failure);
        if (all.failures == MOST_FAILURES) atomic_store(&all.last, 0);
    }
    pthread_mutex_unlock(&all.lock);
}

static void *work(void *context)
{
    worker *self = context;
    const engine *e = all.engine;
    cu_stream stream = NULL;
    operands *s = malloc(sizeof *s);
    bool ready = s != NULL && (!e->device || (me.cu->cuCtxPushCurrent_v2(all.primary) == CU_SUCCESS &&
                                              me.cu->cuStreamCreate(&stream, CALLER_NON_BLOCKING) == CU_SUCCESS));
    for (int64_t number;
         (number = atomic_fetch_add(&all.next, 1)) < atomic_load(&all.last) && !(all.until > 0 && now() > all.until);) {
        double begin = now();
        self->job = draw(e, asked.seed, number);
        atomic_store(&self->since, begin);
        bool passed = ready && operands_make(&self->job, s) &&
                      (self->job.way == HOST ? run_here(e, &self->job, s) : run_there(e, &self->job, s, stream)) &&
                      judge(&self->job, s);
        note_result(&self->job, passed, ready ? s->why : "a thread got no memory or no stream", now() - begin);
        if (ready) operands_free(s);
        atomic_store(&self->since, 0);
    }
    if (stream != NULL) me.cu->cuStreamDestroy_v2(stream);
    free(s);
    pthread_mutex_lock(&all.lock);
    all.running--;
    pthread_cond_signal(&all.ended);
    pthread_mutex_unlock(&all.lock);
    return NULL;
}

/* Whose problem has taken longer than HANG_S? NULL: nobody's. */
static worker *hanging(double at)
{
    for (int i = 0; i < all.threads; i++) {
        double since = atomic_load(&all.workers[i].since);
        if (since > 0 && at - since > HANG_S) return &all.workers[i];
    }
    return NULL;
}

/* Until all threads have ended; a line each minute. */
static void watch(void)
{
    pthread_mutex_lock(&all.lock);
    for (double told = now(); all.running > 0;) {
        if (now() - told > 60) {
            told = now();
            printf("# %s: %" PRId64 " problems so far, %d failed\n", all.engine->name, all.done, all.failures);
        }
        struct timespec next;
        clock_gettime(CLOCK_REALTIME, &next);
        next.tv_sec++;
        pthread_cond_timedwait(&all.ended, &all.lock, &next);
        worker *stuck = hanging(now());
        if (stuck == NULL) continue;
        char text[LINE];
        describe(&stuck->job, text);
        printf("Bail out! %s: --seed %" PRId64 " --first %" PRId64 " --count 1: %s: has not ended in %d s\n",
               all.engine->name, asked.seed, stuck->job.number, text, HANG_S);
        fflush(stdout);
        _exit(1);
    }
    pthread_mutex_unlock(&all.lock);
}

static void random_case(engine *e)
{
    int64_t count = asked.count > 0     ? asked.count
                    : asked.seconds > 0 ? INT64_MAX / 2
                    : tap.full          ? e->count * 20
                                        : e->count;
    if (!tap_case("%s: random problems of seed %" PRId64 " from number %" PRId64 " on", e->name, asked.seed,
                  asked.first))
        return;
    if (e->refusal[0] != '\0') {
        tap_skip(e->refusal);
        return;
    }
    all.engine = e;
    all.done = all.failures = 0, all.longest = 0;
    all.until = asked.seconds > 0 ? now() + asked.seconds : 0;
    atomic_store(&all.next, asked.first), atomic_store(&all.last, asked.first + count);
    all.threads = processors_usable(false, NULL, 0);
    if (all.threads > MOST_THREADS) all.threads = MOST_THREADS;
    if (all.threads > count) all.threads = (int)count;
    double begin = now();
    all.running = all.threads;
    for (int i = 0; i < all.threads; i++)
        if (pthread_create(&all.workers[i].thread, NULL, work, &all.workers[i]) != 0)
            perror("test_random: pthread_create"), exit(1);
    watch();
    for (int i = 0; i < all.threads; i++) pthread_join(all.workers[i].thread, NULL);
    printf("# %s: %" PRId64 " problems, %d failed, %.1f s on %d threads; the longest, number %" PRId64 ", %.2f s\n",
           e->name, all.done, all.failures, now() - begin, all.threads, all.longest_number, all.longest);
    tap_result(all.failures == 0 && all.done > 0, "%d of %" PRId64 " failed, first %s", all.failures, all.done,
               all.first_failure);
}

/* ---- the checks themselves ---- */

/* A right C passes; with one element off by a little, or a byte beside C, it does not. row: one that has no reference
 * of its own. */
static void planted_case(engine *e, tw_dtype dtype, oracle_kind kind)
{
    if (!tap_case("a wrong %s element and a touched byte are found, %s", tw_lab_dtype_of(dtype)->name,
                  kind == ORACLE_EXACT ? "exact" : "bound"))
        return;
    job j = {.p = tw_problem_make(dtype, TW_T, TW_N, 400, 500, 300),
             .kind = kind,
             .seed = 5,
             .items = 2,
             .gap = 3,
             .crooked = {1, 2, 3}};
    j.p.alpha = 2, j.p.beta = -1, j.p.ldc += 5;
    operands s;
    const char *what = "";
    bool right = operands_make(&j, &s) && run_here(e, &j, &s) && judge(&j, &s);
    if (!right) what = "a right product is refused";
    const int parts = element_of(dtype)->parts;
    const int64_t ldc = j.p.ldc * parts;
    int64_t row = 0, col = 123;
    while (right && row < s.o[1].row_count && s.o[1].rows != NULL && s.o[1].rows[row] == row) row++;
    if (right && (s.o[1].rows == NULL || row == s.o[1].row_count)) right = false, what = "every row has a reference";
    if (right) {
        const element *type = element_part(element_of(dtype)->result);
        void *c = s.after + s.x[2].at + s.x[2].stride;
        double good, bad;
        type->load(c, row * ldc + col, 1, 1, &good, 1);
        bad = kind == ORACLE_EXACT ? good + 1 : good + 1 + fabs(good);
        type->store(c, row * ldc + col, 1, &bad);
        if (judge(&j, &s)) right = false, what = "a wrong element passes";
        type->store(c, row * ldc + col, 1, &good);
        if (right && !judge(&j, &s)) right = false, what = "the right element is refused";
        const size_t touched[] = {s.x[0].at, s.x[2].at - 1, s.x[2].at + s.x[2].bytes, s.bytes - 1};
        for (int i = 0; right && i < 4; i++) {
            s.after[touched[i]] ^= 1;
            if (judge(&j, &s)) right = false, what = "a touched byte passes";
            s.after[touched[i]] ^= 1;
        }
    }
    tap_result(right, "%s: %s", what, s.why);
    operands_free(&s);
}

static void hanging_case(void)
{
    if (!tap_case("a problem that does not end is found")) return;
    all.threads = 2;
    atomic_store(&all.workers[1].since, 1000);
    bool early = hanging(1000 + HANG_S) != NULL, late = hanging(1001 + HANG_S) == &all.workers[1];
    atomic_store(&all.workers[1].since, 0);
    tap_result(!early && late && hanging(1e9) == NULL, "after %d s: %d, after one more: %d", HANG_S, early, late);
}

/* ---- engines ---- */

static void engine_open(engine *e)
{
    if (tw_open(&(tw_options){.size = sizeof(tw_options), .engine = e->name}, &e->context) != TW_OK) {
        snprintf(e->refusal, sizeof e->refusal, "no %s device: %.200s", e->name, tw_error_text());
        return;
    }
    engine_types(e);
    if (e->type_count == 0) snprintf(e->refusal, sizeof e->refusal, "%s multiplies no type here", e->name);
    if (strcmp(e->name, "cuda") == 0) e->device = caller_open(&me, &all.primary, e->refusal, sizeof e->refusal);
}

/* Takes our own options out of the command line. */
static void read_options(int *argc, char **argv)
{
    int kept = 1;
    for (int i = 1; i < *argc; i++) {
        static const char *const names[] = {"--seed", "--first", "--count", "--seconds"};
        int64_t *const numbers[] = {&asked.seed, &asked.first, &asked.count, NULL};
        int which = 0;
        while (which < 4 && strcmp(argv[i], names[which]) != 0) which++;
        if (which == 4) {
            argv[kept++] = argv[i];
            continue;
        }
        const char *word = i + 1 < *argc ? argv[++i] : "";
        char *rest;
        errno = 0;
        double value = which == 3 ? strtod(word, &rest) : (double)strtoll(word, &rest, 10);
        if (rest == word || *rest != '\0' || errno != 0 || !(value >= (which >= 2)) || value > 1e15) {
            fprintf(stderr, "test_random: %s: found '%s', expected a number from %d\n", names[which], word, which >= 2);
            exit(2);
        }
        if (which == 3)
            asked.seconds = value;
        else
            *numbers[which] = (int64_t)value;
    }
    *argc = kept;
}

int main(int argc, char **argv)
{
    static engine engines[] = {{.name = "cpu", .most_log2 = 16, .elements = 1 << 21},
                               {.name = "opencl", .most_log2 = 11, .elements = 1 << 16, .count = 100},
                               {.name = "cuda", .most_log2 = 16, .elements = 1 << 23, .count = 500}};
    read_options(&argc, argv);
    tap_start(argc, argv);
    engines[0].count = tap_rounds(300, 60);
    for (int i = 0; i < 3 && !tap.list; i++) engine_open(&engines[i]);
    planted_case(&engines[0], TW_F32, ORACLE_EXACT);
    planted_case(&engines[0], TW_F32, ORACLE_BOUND);
    planted_case(&engines[0], TW_BF16, ORACLE_EXACT);
    planted_case(&engines[0], TW_CF64, ORACLE_EXACT);
    planted_case(&engines[0], TW_CF32, ORACLE_BOUND);
    hanging_case();
    for (int i = tap.gpu; i < 3; i++) random_case(&engines[i]);
    for (int i = 0; i < 3; i++) tw_close(engines[i].context);
    return tap_finish();
}
