/* engine.c - the CPU as an engine: kernels run where the operands lie, so upload and download move nothing. */
#define _DEFAULT_SOURCE /* madvise */
#include "cpu_engine.h"
#include "../../packed_b.h"
#include "../../processors.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ALIGNMENT = 64, HUGE_PAGE = 2 << 20 };

/* ---- devices, open, describe, facts ---- */

/* An empty environment variable counts as not set. */
static const char *unless_empty(const char *text) { return text != NULL && text[0] != '\0' ? text : NULL; }

/* The whole number from 1 to MOST_THREADS in the text (NULL: none), up to this character if it is there; 0: no such
 * number. */
static int threads_in(const char *text, char until)
{
    if (text == NULL) return 0;
    char *end;
    long value = strtol(text, &end, 10);
    return end != text && (*end == '\0' || *end == until) && value >= 1 && value <= MOST_THREADS ? (int)value : 0;
}

/* An invalid TILEWRIGHT_THREADS is an error, and the threads are then those without it. An invalid OMP_NUM_THREADS,
 * which may be a list whose first number counts, is ignored. */
static tw_status choose_threads(engine *e, const tw_options *options)
{
    tw_status status = TW_OK;
    const char *ours = unless_empty(getenv("TILEWRIGHT_THREADS"));
    e->threads = options->threads;
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
    if (e->threads == 0) e->threads = processors_usable(e->stays, e->threads_from, sizeof e->threads_from);
    return status;
}

/* TW_STAY, or TILEWRIGHT_STAY for programs that open no context themselves. */
static tw_status choose_stay(uint32_t flags, bool *stays)
{
    const char *wanted = unless_empty(getenv("TILEWRIGHT_STAY"));
    *stays = (flags & TW_STAY) != 0 || (wanted != NULL && strcmp(wanted, "1") == 0);
    if (wanted == NULL || strcmp(wanted, "0") == 0 || strcmp(wanted, "1") == 0) return TW_OK;
    return fail(TW_BAD_ARGUMENT, "TILEWRIGHT_STAY is %.60s, expected 0 or 1", wanted);
}

/* An invalid TILEWRIGHT_WAIT is an error, and threads then wait as without it. */
static tw_status choose_wait(engine *e)
{
    static const char *const names[] = {
        [POOL_WAIT_AUTO] = "auto", [POOL_WAIT_SPIN] = "spin", [POOL_WAIT_SLEEP] = "sleep"};
    const char *wanted = unless_empty(getenv("TILEWRIGHT_WAIT"));
    for (int i = POOL_WAIT_AUTO; wanted != NULL && i <= POOL_WAIT_SLEEP; i++)
        if (strcmp(wanted, names[i]) == 0) {
            e->wait = (pool_wait)i;
            return TW_OK;
        }
    if (wanted == NULL) return TW_OK;
    return fail(TW_BAD_ARGUMENT, "TILEWRIGHT_WAIT is %.60s, expected auto, spin or sleep", wanted);
}

/* "base, avx2 or amx": those that this machine knows. */
static void sets_text(char *text, size_t bytes)
{
    for (const cpu_set *set = cpu_sets; set->name != NULL; set++) {
        const char *before = set == cpu_sets ? "" : set[1].name != NULL ? ", " : " or ";
        const int used = snprintf(text, bytes, "%s%s", before, set->name);
        text += used, bytes -= (size_t)used;
    }
}

/* The instruction set to use: the widest of the processor, also after an error, or less where the caller or
 * TILEWRIGHT_CPU says so. */
static tw_status choose_features(const char *wanted, const char *wanted_by, cpu_features has, cpu_features *out)
{
    *out = has;
    if (wanted == NULL) return TW_OK;
    for (const cpu_set *set = cpu_sets; set->name != NULL; set++) {
        if (strcmp(wanted, set->name) != 0) continue;
        if (!cpu_has(has, set->features))
            return fail(TW_NO_DEVICE, "%s asks for %s instructions, this processor has %s", wanted_by, wanted,
                        cpu_set_name(has));
        *out = set->features;
        return TW_OK;
    }
    char known[256];
    sets_text(known, sizeof known);
    return fail(TW_BAD_ARGUMENT, "%s is %s, expected %s", wanted_by, wanted, known);
}

static tw_status engine_settings(const tw_options *options, bool despite, engine *e)
{
    const char *variable = unless_empty(getenv("TILEWRIGHT_CPU"));
    const char *wanted = options->instruction_set ? options->instruction_set : variable;
    if (options->device != 0)
        return fail(TW_NO_DEVICE, "device %d was asked for, the cpu engine has device 0 only", (int)options->device);
    tw_status chosen = choose_features(wanted, options->instruction_set ? "options.instruction_set" : "TILEWRIGHT_CPU",
                                       detect_features(), &e->features);
    if (chosen != TW_OK && (options->instruction_set != NULL || !despite)) return chosen;
    char passed_over[400];
    snprintf(passed_over, sizeof passed_over, "%.200s", chosen != TW_OK ? tw_error_text() : "");
    e->caches = detect_caches();
    detect_name(e->name, sizeof e->name);
    for (int i = 0; i < 3; i++) {
        const tw_status status = i == 0   ? choose_stay(options->flags, &e->stays)
                                 : i == 1 ? choose_threads(e, options)
                                          : choose_wait(e);
        if (status == TW_OK) continue;
        if (!despite) return status;
        const size_t used = strlen(passed_over);
        snprintf(passed_over + used, sizeof passed_over - used, "%s%s", used > 0 ? "; " : "", tw_error_text());
    }
    if (!despite) return TW_OK;
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
    snprintf(out->instruction_set, sizeof out->instruction_set, "%s", cpu_set_name(e->features));
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
    snprintf(text, bytes, "ready, with %s instructions", cpu_set_name(detect_features()));
}

static tw_status cpu_open(const tw_options *options, bool despite, engine **out)
{
    engine *made = calloc(1, sizeof *made);
    if (made == NULL) return fail(TW_NO_MEMORY, "no memory for the cpu engine of %zu bytes", sizeof *made);
    tw_status status = engine_settings(options, despite, made);
    if (status == TW_OK) status = pool_open(made->wait, &made->pool);
    if (status == TW_OK && made->stays) pool_stay(made->pool);
    if (status == TW_OK) pool_lend(made->pool, options->parallel_for, options->parallel_state);
    if (status != TW_OK) {
        free(made);
        return status;
    }
    made->triangles[0] = kernel_probed(TW_F32, made->features);
    made->triangles[1] = kernel_probed(TW_F64, made->features);
    *out = made;
    return TW_OK;
}

static void cpu_facts(const engine *e, device_facts *out)
{
    /* If the system does not tell, assume the smallest caches of the last fifteen years. */
    *out = (device_facts){.engine = "cpu",
                          .features = e->features,
                          .threads = e->threads,
                          .l1_bytes = e->caches.l1_bytes ? e->caches.l1_bytes : 32768,
                          .l2_bytes = e->caches.l2_bytes ? e->caches.l2_bytes : 262144,
                          .l3_bytes = e->caches.l3_bytes};
}

static void cpu_identity(const engine *e, char *text, size_t bytes)
{
    snprintf(text, bytes, "%s, %d thread%s", cpu_set_name(e->features), e->threads, e->threads == 1 ? "" : "s");
}

/* ---- workspaces ---- */

/* Each is preceded by its size. */
struct workspace {
    size_t bytes;
};

/* Aligned to 64 bytes, much of it to huge pages. */
static void *allocate(size_t bytes)
{
    if (bytes > SIZE_MAX - 2 * HUGE_PAGE) return NULL;
    const size_t unit = bytes >= HUGE_PAGE / 2 ? HUGE_PAGE : ALIGNMENT, whole = (bytes + unit - 1) / unit * unit;
    void *memory = aligned_alloc(unit, whole);
#ifdef MADV_HUGEPAGE
    /* fewer TLB misses; a system without huge pages refuses, and nothing is lost */
    if (memory != NULL && unit == HUGE_PAGE) madvise(memory, whole, MADV_HUGEPAGE);
#endif
    return memory;
}

void *cpu_take(engine *e, size_t bytes)
{
    for (int i = 0; i < KEPT_WORKSPACES; i++) {
        workspace *w = atomic_exchange(&e->kept[i], NULL);
        if (w == NULL) continue;
        if (w->bytes >= bytes) return (char *)w + ALIGNMENT;
        free(w); /* too small: the next one will serve both */
    }
    workspace *w = bytes <= SIZE_MAX - ALIGNMENT ? allocate(bytes + ALIGNMENT) : NULL;
    if (w == NULL) return NULL;
    w->bytes = bytes;
    return (char *)w + ALIGNMENT;
}

void cpu_give(engine *e, void *memory)
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

/* The product of a rung, and what is left of its workspace for the threads to come. */
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

static void run_rung(const plan *plan, const buffer *a, const buffer *b, const buffer *c, void *workspace, pool *pool)
{
    const tw_problem *p = &plan->problem;
    bool a_transposed = p->op_a == TW_T, b_transposed = p->op_b == TW_T; /* no rung is of a complex type */
    atomic_llong next_block = 0;
    cpu_problem x = {.m = p->m,
                     .n = p->n,
                     .k = p->k,
                     .a = a->host,
                     .b = b->host,
                     .c = c->host,
                     .a_rs = a_transposed ? 1 : p->lda,
                     .a_cs = a_transposed ? p->lda : 1,
                     .b_rs = b_transposed ? 1 : p->ldb,
                     .b_cs = b_transposed ? p->ldb : 1,
                     .ldc = p->ldc,
                     .alpha = p->alpha,
                     .beta = p->beta,
                     .tile = max_i64(plan->tile, 1),
                     .workspace = workspace,
                     .next_block = &next_block};
    rung_work work = {.plan = plan, .problem = x};
    pool_run(pool, plan->threads, rung_team, &work);
}

/* If there is no memory for a workspace, the smallest blocks of the five loops fit on the stack. Not inlined, so that
 * no other call pays for it. */
__attribute__((noinline)) static tw_status launch_on_stack(engine *e, const runnable *r, const buffer *a,
                                                           const buffer *b, const buffer *c)
{
    _Alignas(ALIGNMENT) char workspace[20 << 10]; /* 8 x 64 of A, 64 x 24 of B and twice 8 x 24 sums in f64 */
    const plan *p = r->plan;
    if (r->batch != NULL || p->row->micro == NULL || p->workspace_bytes > sizeof workspace)
        return fail(TW_NO_MEMORY, "no memory for a workspace of %zu bytes", p->workspace_bytes);
    product_run(p, a->host, b->host, c->host, workspace, e->pool, r->stop);
    return TW_OK;
}

static void cpu_compute(engine *e, const plan *p, double alpha, double beta, const void *a, const void *b, void *c)
{
    if (p->at_once)
        in_place_compute(p, alpha, beta, a, b, c);
    else
        in_place_share(p, alpha, beta, a, b, c, e->pool);
}

static tw_status cpu_launch(engine *e, runnable *r, const buffer *a, const buffer *b, const buffer *c)
{
    const plan *p = r->plan;
    void *workspace = NULL;
    buffer packed = *b;
    if (p->problem.m == 0 || p->problem.n == 0) return TW_OK;
    if (problem_b_is_packed(&p->problem)) {
        TRY(packed_b_find(b->host, p, &packed.host));
        b = &packed;
    }
    double begin = r->timed ? cpu_now_s() : 0;
    if (p->workspace_bytes > 0 && (workspace = cpu_take(e, p->workspace_bytes)) == NULL)
        TRY(launch_on_stack(e, r, a, b, c));
    else if (r->batch != NULL)
        batch_run(p, r->batch, a->host, b->host, c->host, workspace, e->pool, r->stop);
    else if (p->row->micro != NULL)
        product_run(p, a->host, b->host, c->host, workspace, e->pool, r->stop);
    else
        run_rung(p, a, b, c, workspace, e->pool);
    cpu_give(e, workspace);
    r->seconds = r->timed ? cpu_now_s() - begin : 0;
    return TW_OK;
}

static tw_status cpu_pack_b(engine *e, const plan *p, const void *b, void **memory)
{
    const size_t bytes = cpu_whole_bytes(p, false);
    *memory = allocate(bytes);
    if (*memory == NULL) return fail(TW_NO_MEMORY, "no memory for a packed B of %zu bytes", bytes);
    product_pack_b(p, b, *memory, e->pool);
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

static void cpu_close(engine *e)
{
    pool_close(e->pool);
    for (int i = 0; i < KEPT_WORKSPACES; i++) free(atomic_load(&e->kept[i]));
    free(e);
}

static const lab_ops lab = {
    .state = cpu_state,
    .peak_flops = cpu_peak_flops,
    .bandwidth = cpu_bandwidth,
};

const engine_ops cpu_engine = {
    .name = "cpu",
    .devices = cpu_devices,
    .open = cpu_open,
    .describe = cpu_describe,
    .facts = cpu_facts,
    .identity = cpu_identity,
    .prepare = cpu_prepare,
    .upload = cpu_upload,
    .launch = cpu_launch,
    .compute = cpu_compute,
    .wait = cpu_wait,
    .download = cpu_download,
    .release = cpu_release,
    .drop = cpu_drop,
    .pack_b = cpu_pack_b,
    .triangle = cpu_triangle_compute,
    .lab = &lab,
    .close = cpu_close,
};
