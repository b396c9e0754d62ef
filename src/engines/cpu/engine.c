/* engine.c - the CPU as an engine: kernels run where the operands lie, so upload and download move nothing. */
#define _DEFAULT_SOURCE /* madvise */
#include "cpu_engine.h"
#include "../../processors.h"

#include <inttypes.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { KEPT_WORKSPACES = 8, ALIGNMENT = 64, HUGE_PAGE = 2 << 20 };

/* A workspace is kept from call to call; each has its size in front of it. */
typedef struct workspace {
    size_t bytes;
} workspace;

struct engine {
    cpu_level level;
    cpu_caches caches;
    int threads;
    char threads_from[64], name[96];
    pool *pool;
    _Atomic(workspace *) kept[KEPT_WORKSPACES]; /* lock-free slots: nothing here can be held across a fork */
};

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- devices, open, describe, facts ---- */

/* An empty environment variable is none. */
static const char *unless_empty(const char *text) { return text != NULL && text[0] != '\0' ? text : NULL; }

/* The whole number of 1 to MOST_THREADS that the text (NULL: none) is, up to this character if it is there; 0: none. */
static int threads_in(const char *text, char until)
{
    if (text == NULL) return 0;
    char *end;
    long value = strtol(text, &end, 10);
    return end != text && (*end == '\0' || *end == until) && value >= 1 && value <= MOST_THREADS ? (int)value : 0;
}

/* A wrong word in our own variable is an error, and the threads are then those without it; in OpenMP's, which may be a
 * list of which the first number counts, it is OpenMP's business. */
static tw_status choose_threads(engine *e, int wanted)
{
    tw_status status = TW_OK;
    const char *ours = unless_empty(getenv("TILEWRIGHT_THREADS"));
    e->threads = wanted;
    snprintf(e->threads_from, sizeof e->threads_from, "the caller");
    if (e->threads == 0 && ours != NULL) {
        e->threads = threads_in(ours, '\0');
        snprintf(e->threads_from, sizeof e->threads_from, "TILEWRIGHT_THREADS");
        if (e->threads == 0)
            status = fail(TW_BAD_ARGUMENT, "TILEWRIGHT_THREADS is %.60s, expected a whole number from 1 to %d", ours,
                          MOST_THREADS);
    }
    if (e->threads == 0) {
        e->threads = threads_in(unless_empty(getenv("OMP_NUM_THREADS")), ',');
        snprintf(e->threads_from, sizeof e->threads_from, "OMP_NUM_THREADS");
    }
    if (e->threads == 0) e->threads = processors_usable(e->threads_from, sizeof e->threads_from);
    return status;
}

/* The level to use: what the processor has, also after an error, or less where the caller or TILEWRIGHT_CPU says so. */
static tw_status choose_level(const char *wanted, const char *wanted_by, cpu_level has, cpu_level *out)
{
    *out = has;
    if (wanted == NULL) return TW_OK;
    for (cpu_level level = CPU_base; level < CPU_LEVELS; level++) {
        if (strcmp(wanted, cpu_level_name(level)) != 0) continue;
        if (level > has)
            return fail(TW_NO_DEVICE, "%s asks for %s instructions, this processor has %s", wanted_by, wanted,
                        cpu_level_name(has));
        *out = level;
        return TW_OK;
    }
    return fail(TW_BAD_ARGUMENT, "%s is %s, expected base, avx2, avx512, avx512_vnni, avx512_bf16 or amx", wanted_by,
                wanted);
}

static tw_status engine_settings(const tw_options *options, bool despite, engine *e)
{
    const char *variable = unless_empty(getenv("TILEWRIGHT_CPU"));
    const char *wanted = options->instruction_set ? options->instruction_set : variable;
    if (options->device != 0)
        return fail(TW_NO_DEVICE, "device %d was asked for, the cpu engine has device 0 only", (int)options->device);
    tw_status of_level = choose_level(wanted, options->instruction_set ? "options.instruction_set" : "TILEWRIGHT_CPU",
                                      detect_level(), &e->level);
    if (of_level != TW_OK && (options->instruction_set != NULL || !despite)) return of_level;
    char passed_over[400];
    snprintf(passed_over, sizeof passed_over, "%.200s", of_level != TW_OK ? tw_error_text() : "");
    e->caches = detect_caches();
    detect_name(e->name, sizeof e->name);
    tw_status of_threads = choose_threads(e, options->threads);
    if (!despite) return of_threads;
    size_t used = strlen(passed_over);
    if (of_threads != TW_OK)
        snprintf(passed_over + used, sizeof passed_over - used, "%s%s", used > 0 ? "; " : "", tw_error_text());
    return fail(TW_OK, "%s", passed_over);
}

static void cpu_describe(const engine *e, tw_device *out)
{
    *out = (tw_device){.size = sizeof *out,
                       .index = 0,
                       .engine = "cpu",
                       .threads = e->threads,
                       .memory_bytes = detect_memory_bytes(),
                       .l1_bytes = e->caches.l1_bytes,
                       .l2_bytes = e->caches.l2_bytes,
                       .l3_bytes = e->caches.l3_bytes};
    snprintf(out->name, sizeof out->name, "%s", e->name);
    snprintf(out->instruction_set, sizeof out->instruction_set, "%s", cpu_level_name(e->level));
    snprintf(out->threads_from, sizeof out->threads_from, "%s", e->threads_from);
}

static tw_status cpu_devices(tw_device *devices, int32_t capacity, int32_t *count)
{
    static const tw_options defaults = {.size = sizeof defaults};
    engine seen = {0};
    *count = 0;
    TRY(engine_settings(&defaults, false, &seen));
    *count = 1;
    if (capacity > 0) cpu_describe(&seen, &devices[0]);
    return TW_OK;
}

static void cpu_state(char *text, size_t bytes)
{
    snprintf(text, bytes, "ready, with %s instructions", cpu_level_name(detect_level()));
}

static tw_status cpu_open(const tw_options *options, bool despite, engine **out)
{
    engine *made = calloc(1, sizeof *made);
    if (made == NULL) return fail(TW_NO_MEMORY, "no memory for the cpu engine of %zu bytes", sizeof *made);
    tw_status status = engine_settings(options, despite, made);
    if (status == TW_OK) status = pool_open(&made->pool);
    if (status != TW_OK) {
        free(made);
        return status;
    }
    *out = made;
    return TW_OK;
}

static void cpu_facts(const engine *e, device_facts *out)
{
    /* Where the system does not tell, assume the smallest caches of the last fifteen years. */
    *out = (device_facts){.engine = "cpu",
                          .level = e->level,
                          .threads = e->threads,
                          .l1_bytes = e->caches.l1_bytes ? e->caches.l1_bytes : 32768,
                          .l2_bytes = e->caches.l2_bytes ? e->caches.l2_bytes : 262144,
                          .l3_bytes = e->caches.l3_bytes};
}

/* ---- workspaces ---- */

static void *workspace_take(engine *e, size_t bytes)
{
    for (int i = 0; i < KEPT_WORKSPACES; i++) {
        workspace *w = atomic_exchange(&e->kept[i], NULL);
        if (w == NULL) continue;
        if (w->bytes >= bytes) return (char *)w + ALIGNMENT;
        free(w); /* too small: the next one will serve both */
    }
    if (bytes > SIZE_MAX - 2 * HUGE_PAGE) return NULL;
    size_t unit = bytes >= HUGE_PAGE / 2 ? HUGE_PAGE : ALIGNMENT, whole = (bytes + ALIGNMENT + unit - 1) / unit * unit;
    workspace *w = aligned_alloc(unit, whole);
    if (w == NULL) return NULL;
#ifdef MADV_HUGEPAGE
    /* fewer pages to look up; a system without them refuses, and nothing is lost */
    if (unit == HUGE_PAGE) madvise(w, whole, MADV_HUGEPAGE);
#endif
    w->bytes = bytes;
    return (char *)w + ALIGNMENT;
}

static void workspace_give(engine *e, void *memory)
{
    if (memory == NULL) return;
    workspace *w = (workspace *)((char *)memory - ALIGNMENT);
    for (int i = 0; i < KEPT_WORKSPACES; i++) {
        workspace *empty = NULL;
        if (atomic_compare_exchange_strong(&e->kept[i], &empty, w)) return;
    }
    free(w);
}

/* ---- prepare, upload, launch, wait, download, release, drop ---- */

static tw_status cpu_prepare(engine *e, const plan *p, runnable *out)
{
    (void)e;
    *out = (runnable){.plan = p};
    return TW_OK;
}

static tw_status cpu_upload(engine *e, const operand *from, bool copies, buffer *out)
{
    (void)e, (void)copies;
    out->host = from->host;
    return TW_OK;
}

/* A rung's product, and what is left of its workspace for the threads still to come. */
typedef struct rung_work {
    const plan *plan;
    cpu_problem problem;
    atomic_int threads;
} rung_work;

static void rung_team(void *context, team *team)
{
    (void)team;
    rung_work *work = context;
    cpu_problem own = work->problem;
    size_t part = work->plan->workspace_bytes / (size_t)work->plan->threads;
    own.workspace = (char *)own.workspace + part * (size_t)atomic_fetch_add(&work->threads, 1);
    work->plan->row->whole(&own);
}

static void run_rung_in(const plan *plan, const buffer *a, const buffer *b, const buffer *c, void *workspace,
                        pool *pool)
{
    const tw_problem *p = &plan->problem;
    bool a_turned = p->op_a == TW_T, b_turned = p->op_b == TW_T;
    atomic_llong next_block = 0;
    cpu_problem x = {.m = p->m,
                     .n = p->n,
                     .k = p->k,
                     .a = a->host,
                     .b = b->host,
                     .c = c->host,
                     .a_rs = a_turned ? 1 : p->lda,
                     .a_cs = a_turned ? p->lda : 1,
                     .b_rs = b_turned ? 1 : p->ldb,
                     .b_cs = b_turned ? p->ldb : 1,
                     .ldc = p->ldc,
                     .alpha = p->alpha,
                     .beta = p->beta,
                     .tile = max_i64(plan->tile, 1),
                     .workspace = workspace,
                     .next_block = &next_block};
    rung_work work = {.plan = plan, .problem = x};
    pool_run(pool, plan->threads, rung_team, &work);
}

/* In the smallest blocks, for which there is room on the stack. */
static tw_status run_on_stack(engine *e, const plan *p, const buffer *a, const buffer *b, const buffer *c)
{
    _Alignas(ALIGNMENT) char workspace[18 << 10]; /* 8 x 64 of A, 64 x 24 of B and 8 x 24 sums in f64 */
    if (p->workspace_bytes > sizeof workspace)
        return fail(TW_NO_MEMORY, "no memory for a workspace of %zu bytes, the smallest", p->workspace_bytes);
    loops_run(p, a->host, b->host, c->host, workspace, e->pool);
    return TW_OK;
}

/* The production kernel, in blocks for which there is memory. */
static tw_status run_loops(engine *e, const plan *wanted, const buffer *a, const buffer *b, const buffer *c)
{
    void *workspace = wanted->workspace_bytes > 0 ? workspace_take(e, wanted->workspace_bytes) : NULL;
    if (workspace != NULL || wanted->workspace_bytes == 0) {
        loops_run(wanted, a->host, b->host, c->host, workspace, e->pool);
        workspace_give(e, workspace);
        return TW_OK;
    }
    plan smaller = *wanted;
    while (workspace == NULL && plan_shrink(&smaller))
        if (smaller.workspace_bytes > 0) workspace = workspace_take(e, smaller.workspace_bytes);
    if (workspace == NULL) return run_on_stack(e, &smaller, a, b, c);
    loops_run(&smaller, a->host, b->host, c->host, workspace, e->pool);
    workspace_give(e, workspace);
    return TW_OK;
}

static tw_status run_rung(engine *e, const plan *p, const buffer *a, const buffer *b, const buffer *c)
{
    void *workspace = NULL;
    if (p->workspace_bytes > 0 && (workspace = workspace_take(e, p->workspace_bytes)) == NULL)
        return fail(TW_NO_MEMORY, "no memory for a workspace of %zu bytes", p->workspace_bytes);
    run_rung_in(p, a, b, c, workspace, e->pool);
    workspace_give(e, workspace);
    return TW_OK;
}

/* All items at once, or, where there is no memory for that, one after the other. */
static tw_status run_batch(engine *e, const runnable *r, const buffer *a, const buffer *b, const buffer *c)
{
    const plan *p = r->plan;
    void *workspace = p->workspace_bytes > 0 ? workspace_take(e, p->workspace_bytes) : NULL;
    if (workspace != NULL || p->workspace_bytes == 0) {
        batch_run(p, r->batch, a->host, b->host, c->host, workspace, e->pool);
        workspace_give(e, workspace);
        return TW_OK;
    }
    const size_t bytes = (size_t)dtype_find(p->problem.dtype)->lab.bytes,
                 c_bytes = (size_t)dtype_find(p->problem.dtype_c)->lab.bytes;
    plan one = *p;
    one.workspace_bytes = one.a_bytes + one.b_bytes + one.sum_bytes;
    for (int64_t i = 0; i < r->batch->count; i++) {
        buffer x = *a, y = *b, z = *c;
        x.host = batch_item(r->batch, a->host, r->batch->stride_a, bytes, i);
        y.host = batch_item(r->batch, b->host, r->batch->stride_b, bytes, i);
        z.host = batch_item(r->batch, c->host, r->batch->stride_c, c_bytes, i);
        TRY(run_loops(e, &one, &x, &y, &z));
    }
    return TW_OK;
}

static tw_status cpu_launch(engine *e, runnable *r, const buffer *a, const buffer *b, const buffer *c)
{
    const plan *p = r->plan;
    if (p->problem.m == 0 || p->problem.n == 0) return TW_OK;
    double begin = r->timed ? now_s() : 0;
    TRY(r->batch != NULL        ? run_batch(e, r, a, b, c)
        : p->row->micro != NULL ? run_loops(e, p, a, b, c)
                                : run_rung(e, p, a, b, c));
    r->seconds = r->timed ? now_s() - begin : 0;
    return TW_OK;
}

static tw_status cpu_wait(engine *e, runnable *r)
{
    (void)e, (void)r; /* launch returns when the product is done */
    return TW_OK;
}

static tw_status cpu_download(engine *e, const buffer *from, const operand *to)
{
    (void)e;
    if (to->host == from->host) return TW_OK;
    for (int64_t i = 0; i < to->rows; i++) {
        size_t offset = (size_t)(i * to->ld) * to->element_bytes;
        memcpy((char *)to->host + offset, (char *)from->host + offset, (size_t)to->cols * to->element_bytes);
    }
    return TW_OK;
}

static void cpu_release(engine *e, buffer *b) { (void)e, (void)b; }

static void cpu_drop(engine *e, runnable *r) { (void)e, (void)r; }

/* ---- what this processor can do at most ---- */

static _Atomic double probe_sink; /* results go here, so that no compiler drops the work */

/* 20 ms per try; 2 threads wait some 4 ms, a slice of the scheduler, before they yield */
enum { WINDOWS = 40, PIECES = 2, PAUSES = 200000 };
static const double WINDOW_S = 0.0005;

/* The threads of a team meet, compute pieces of `rounds` rounds of the probe for half a millisecond, meet again. A
 * window's rate is the sum of its threads', each from the common beginning to the end of its last piece, so that one
 * whose core is shared counts for what it does, as it would where tiles are taken from a counter; the best window
 * counts. Windows are short, since on a busy machine no long stretch has all threads computing; and a thread that waits
 * here does not sleep, since waking it would be part of the window. */
typedef struct flops_work {
    const kernel_row *row;
    int64_t rounds;
    double flops;              /* of them */
    atomic_int arrived, met;   /* arrivals, meetings that all have come to */
    atomic_llong kflops_per_s; /* of this window: the sum over its threads */
    double met_s, flops_per_s; /* the last meeting; the best so far */
} flops_work;

static void meet(flops_work *work, int threads, int meeting)
{
    if (atomic_fetch_add_explicit(&work->arrived, 1, memory_order_acq_rel) == (meeting + 1) * threads - 1) {
        double flops_per_s = 1e3 * (double)atomic_exchange_explicit(&work->kflops_per_s, 0, memory_order_relaxed);
        if (flops_per_s > work->flops_per_s) work->flops_per_s = flops_per_s;
        work->met_s = now_s();
        atomic_store_explicit(&work->met, meeting + 1, memory_order_release);
    }
    for (int pauses = 0; atomic_load_explicit(&work->met, memory_order_acquire) <= meeting; pauses++) {
        pause_briefly();
        if (pauses >= PAUSES / threads) sched_yield();
    }
}

static void flops_team(void *context, team *team)
{
    flops_work *work = context;
    double sink;
    for (int window = 0; window < WINDOWS; window++) {
        meet(work, team_threads(team), window);
        double begin = work->met_s, end = now_s(), flops = 0;
        for (; end - begin < WINDOW_S; end = now_s()) {
            work->row->probe(work->rounds, &sink);
            flops += work->flops;
        }
        atomic_fetch_add_explicit(&work->kflops_per_s, (long long)(1e-3 * flops / (end - begin)), memory_order_relaxed);
        atomic_store_explicit(&probe_sink, sink, memory_order_relaxed);
    }
    meet(work, team_threads(team), WINDOWS);
}

/* One measurement shared by a team: `parts` pieces of equal work, `rounds` times. */
typedef struct read_work {
    const kernel_row *row;
    int64_t parts, rounds, part_bytes;
    const char *data;
} read_work;

static void read_part(void *context, int64_t i)
{
    const read_work *work = context;
    atomic_store_explicit(&probe_sink, work->row->reader(work->data + i * work->part_bytes, work->part_bytes),
                          memory_order_relaxed);
}

static void read_team(void *context, team *team)
{
    const read_work *work = context;
    for (int64_t round = 0; round < work->rounds; round++) team_for(team, work->parts, read_part, context);
}

/* The shortest of `tries` runs of the work by the team. */
static double least_seconds(engine *e, int threads, int tries, read_work *work)
{
    double least = 0;
    for (int i = 0; i < tries; i++) {
        double begin = now_s();
        pool_run(e->pool, threads, read_team, work);
        double seconds = now_s() - begin;
        if (i == 0 || seconds < least) least = seconds;
    }
    return least;
}

static tw_status cpu_peak_flops(engine *e, tw_dtype dtype, int threads, int tries, double *flops_per_s)
{
    flops_work work = {.row = kernel_probed(dtype, e->level), .rounds = 10000};
    if (work.row == NULL) return fail(TW_NO_KERNEL, "the cpu engine has no probe for %s", dtype_find(dtype)->lab.name);
    double sink, begin = now_s(), flops = work.row->probe(work.rounds, &sink), seconds = now_s() - begin + 1e-9;
    work.flops_per_s = flops / seconds; /* what one thread does, more can do */
    double scale = WINDOW_S / PIECES / seconds;
    work.rounds = (int64_t)(10000 * scale) + 1;
    work.flops = flops * (double)work.rounds / 10000;
    for (int i = 0; i < tries; i++) {
        atomic_store(&work.arrived, 0);
        atomic_store(&work.met, 0);
        atomic_store(&work.kflops_per_s, 0);
        pool_run(e->pool, threads, flops_team, &work);
    }
    *flops_per_s = work.flops_per_s;
    return TW_OK;
}

static tw_status cpu_bandwidth(engine *e, int64_t bytes, int threads, int tries, double *bytes_per_s)
{
    enum { UNIT = 1024, LEAST_PER_TRY = 64 << 20 };
    read_work work = {.row = kernel_probed(TW_F64, e->level), .parts = threads == 1 ? 1 : 4 * threads};
    work.part_bytes = round_up(ceil_div(bytes, work.parts), UNIT);
    int64_t total = work.part_bytes * work.parts;
    work.rounds = ceil_div(LEAST_PER_TRY, total);
    char *data = aligned_alloc(ALIGNMENT, (size_t)total);
    if (data == NULL) return fail(TW_NO_MEMORY, "no memory for a working set of %" PRId64 " bytes", total);
    memset(data, 0, (size_t)total);
    work.data = data;
    *bytes_per_s = (double)total * (double)work.rounds / least_seconds(e, threads, tries, &work);
    free(data);
    return TW_OK;
}

static void cpu_close(engine *e)
{
    pool_close(e->pool);
    for (int i = 0; i < KEPT_WORKSPACES; i++) free(atomic_load(&e->kept[i]));
    free(e);
}

const engine_ops cpu_engine = {
    .name = "cpu",
    .devices = cpu_devices,
    .state = cpu_state,
    .open = cpu_open,
    .describe = cpu_describe,
    .facts = cpu_facts,
    .prepare = cpu_prepare,
    .upload = cpu_upload,
    .launch = cpu_launch,
    .compute = loops_compute,
    .wait = cpu_wait,
    .download = cpu_download,
    .release = cpu_release,
    .drop = cpu_drop,
    .peak_flops = cpu_peak_flops,
    .bandwidth = cpu_bandwidth,
    .close = cpu_close,
};
