/* compare_opencl.c - CLBlast beside the opencl engine, on one device. See compare.h.
 *
 * Each works in a context of its own, on operands of its own. Each operand has a buffer, since CLBlast copies those
 * that do not begin where a buffer does. Both have their workspaces before time runs. Only for batches CLBlast takes
 * none and allocates it in the call. The host's clock runs from before a call until the device is done, for each
 * product of either: CLBlast's event is that of its last kernel alone, and the engine waits for each product. So what
 * the host spends on enqueueing counts for both. */
#include "compare.h"

#include <stdio.h>
#include <stdlib.h>
#include "../clblast.h"
#include "../element.h"
#include "../opencl.h"

enum { MOST_RUNS = 1 << 14 };

typedef void *buffers[3]; /* a, b, c */

typedef struct duel {
    opencl opencl;
    clblast library;
    tw_problem problem; /* as it lies on the host: the engine copies it */
    tw_lab_run **runs;  /* ours of each set, one for each item */
    buffers *sets;      /* theirs of each set */
    int made;           /* how many sets of both there are */
    void *workspace;
    double begin_s;
} duel;

static duel *duel_of(const comparison *g) { return g->own; }

static bool because(comparison *g, bool done, const char *why)
{
    if (!done) snprintf(g->why, sizeof g->why, "%s", why);
    return done;
}

static tw_status open_both(comparison *g, const char *folder)
{
    duel *d = g->own = calloc(1, sizeof *d);
    if (!because(g, d != NULL, "memory ran out: there is no room for the comparison")) return TW_NO_MEMORY;
    if (!clblast_load(&d->library, folder)) {
        snprintf(g->why, sizeof g->why, "clblast: it %s", d->library.why);
        return TW_NO_DEVICE;
    }
    snprintf(g->version, sizeof g->version, "%s", d->library.version);
    return because(g, opencl_open(&d->opencl, g->setup.device), d->opencl.why) ? TW_OK : TW_NO_DEVICE;
}

static void close_both(comparison *g)
{
    duel *d = duel_of(g);
    if (d != NULL) opencl_close(&d->opencl);
    free(d);
    g->own = NULL;
}

/* A kernel that is named takes operands as they lie on the host, padding included, as CLBlast gets them: tw_gemm() lets
 * the rows of its copies begin at multiples of 16 bytes. */
static tw_lab_choice choice_of(const comparison *g) { return (tw_lab_choice){.kernel = g->plan.kernel->name}; }

static tw_status plan_ours(comparison *g, const tw_problem *host)
{
    duel *d = duel_of(g);
    tw_lab_plan forced;
    d->problem = *host;
    tw_status status = tw_lab_plan_of(g->setup.context, NULL, host, &g->plan);
    if (status != TW_OK) return status;
    const tw_lab_choice choice = choice_of(g);
    status = tw_lab_plan_of(g->setup.context, &choice, host, &forced);
    if (status == TW_OK) snprintf(g->plan.text, sizeof g->plan.text, "%s", forced.text);
    return status;
}

/* ---- operands ---- */

static void release_buffers(duel *d, buffers abc)
{
    for (int i = 0; i < 3; i++) opencl_release(&d->opencl, &abc[i]);
}

static bool make_buffers(duel *d, const char *const from[3], const size_t bytes[3], buffers abc)
{
    for (int i = 0; i < 3; i++)
        if (!opencl_allocate(&d->opencl, bytes[i], &abc[i]) || !opencl_up(&d->opencl, abc[i], from[i], bytes[i]))
            return false;
    return true;
}

static void close_runs(const comparison *g, tw_lab_run **runs)
{
    for (int64_t item = 0; item < g->items; item++) tw_lab_run_close(runs[item]), runs[item] = NULL;
}

/* A run for each item. The first product of a run allocates its workspace. */
static tw_status open_runs(const comparison *g, char *const from[3], tw_lab_run **runs)
{
    const duel *d = duel_of(g);
    const tw_batch batch = tw_batch_make(&d->problem, g->items);
    const element *type = element_of(d->problem.dtype);
    const size_t bytes = (size_t)type->bytes, bytes_c = (size_t)element_of(type->result)->bytes;
    const tw_lab_choice choice = choice_of(g);
    tw_status status = TW_OK;
    for (int64_t item = 0; status == TW_OK && item < g->items; item++) {
        const size_t at_a = (size_t)(item * batch.stride_a) * bytes, at_b = (size_t)(item * batch.stride_b) * bytes,
                     at_c = (size_t)(item * batch.stride_c) * bytes_c;
        status = tw_lab_run_open(g->setup.context, &choice, &d->problem, from[0] + at_a, from[1] + at_b, from[2] + at_c,
                                 &runs[item]);
        if (status == TW_OK && g->plan.workspace_bytes > 0) status = tw_lab_run_once(runs[item], NULL);
    }
    return status;
}

/* One more set for both. TW_NO_MEMORY: there is no room. */
static tw_status make_set(comparison *g, char *host)
{
    duel *d = duel_of(g);
    char *from[3] = {host, host + g->sets.a_bytes, host + g->sets.a_bytes + g->sets.b_bytes};
    const size_t bytes[3] = {g->sets.a_bytes, g->sets.b_bytes, g->sets.set_bytes - g->sets.a_bytes - g->sets.b_bytes};
    tw_lab_run **runs = d->runs + d->made * g->items;
    tw_status status = make_buffers(d, (const char *const *)from, bytes, d->sets[d->made]) ? TW_OK : TW_NO_MEMORY;
    because(g, status == TW_OK, d->opencl.why);
    if (status == TW_OK && g->sides[OURS].outcome == SIDE_TIMED) {
        status = open_runs(g, from, runs);
        because(g, status == TW_OK, tw_error_text());
    }
    if (status == TW_OK) {
        d->made++;
        return status;
    }
    release_buffers(d, d->sets[d->made]);
    close_runs(g, runs);
    return status;
}

static tw_status make_sets(comparison *g, int wanted, char *host)
{
    duel *d = duel_of(g);
    tw_status status = TW_OK;
    while (d->made < wanted && status == TW_OK) {
        status = make_set(g, host);
        if (status == TW_OK || status == TW_NO_MEMORY) continue;
        for (int set = 0; set < d->made; set++) close_runs(g, d->runs + set * g->items);
        compare_refuse(g, OURS, g->why); /* the kernel cannot be built or launched: the library goes on alone */
        status = TW_OK;
    }
    g->set_count = d->made;
    return d->made >= 2
               ? TW_OK
               : bench_tell(&g->setup, TW_NO_MEMORY,
                            "there is no device memory for two sets of operands of both libraries: %s", g->why);
}

static int count_sets(const comparison *g)
{
    const int most = (int)(MOST_RUNS / g->items), wanted = g->sets.wanted < most ? g->sets.wanted : most;
    return g->warm || wanted < 2 ? 2 : wanted;
}

static tw_status fill(comparison *g, const tw_problem *host)
{
    duel *d = duel_of(g);
    g->sets = sets_for(host, g->items, g->setup.device);
    const int wanted = count_sets(g);
    char *set = malloc(g->sets.set_bytes);
    d->runs = calloc((size_t)wanted * (size_t)g->items, sizeof(tw_lab_run *));
    d->sets = calloc((size_t)wanted, sizeof *d->sets);
    tw_status status = set != NULL && d->runs != NULL && d->sets != NULL
                           ? TW_OK
                           : bench_no_memory(&g->setup, "a set of operands");
    if (status == TW_OK) {
        sets_fill(&g->sets, host, g->items, 1, set);
        status = make_sets(g, wanted, set);
    }
    free(set);
    return status;
}

static void release(comparison *g)
{
    duel *d = duel_of(g);
    for (int set = 0; set < d->made; set++) {
        release_buffers(d, d->sets[set]);
        close_runs(g, d->runs + set * g->items);
    }
    opencl_release(&d->opencl, &d->workspace);
    free(d->runs);
    free(d->sets);
    d->runs = NULL, d->sets = NULL, d->made = 0;
}

/* ---- the library ---- */

static int candidates(comparison *g, const tw_problem *host)
{
    duel *d = duel_of(g);
    size_t bytes = 0;
    bool takes = clblast_takes(&d->library, host) &&
                 (g->batched || clblast_workspace(&d->library, host, d->opencl.queue, &bytes));
    if (!because(g, takes, d->library.why)) return 0;
    return bytes == 0 || because(g, opencl_allocate(&d->opencl, bytes, &d->workspace), d->opencl.why) ? 1 : 0;
}

static void describe(comparison *g, int candidate, char text[PEER_TEXT])
{
    (void)candidate;
    snprintf(text, PEER_TEXT, "%s", clblast_name(&g->problem, g->batched));
}

/* ---- products ---- */

static bool run_ours(comparison *g, tw_lab_run **runs)
{
    for (int64_t item = 0; item < g->items; item++)
        if (tw_lab_run_once(runs[item], NULL) != TW_OK) return because(g, false, tw_error_text());
    return true;
}

static bool run_theirs(comparison *g, buffers abc)
{
    duel *d = duel_of(g);
    const tw_batch batch = tw_batch_make(&d->problem, g->items);
    bool done = g->batched ? clblast_multiply_batch(&d->library, &d->problem, &batch, abc, d->opencl.queue)
                           : clblast_multiply(&d->library, &d->problem, abc, d->workspace, d->opencl.queue);
    return because(g, done, d->library.why) && because(g, opencl_wait(&d->opencl), d->opencl.why);
}

static bool launch(comparison *g, int i, int candidate, int set)
{
    duel *d = duel_of(g);
    (void)candidate;
    return i == OURS ? run_ours(g, d->runs + set * g->items) : run_theirs(g, d->sets[set]);
}

static bool multiply_ours(comparison *g, batch_operands *all)
{
    tw_lab_run **runs = calloc((size_t)g->items, sizeof(tw_lab_run *));
    char *from[3] = {all->a, all->b, all->c};
    const size_t item_bytes = all->c_bytes / (size_t)g->items;
    bool done = because(g, runs != NULL, "memory ran out: there is no room for a run of each item") &&
                because(g, open_runs(g, from, runs) == TW_OK, tw_error_text()) && run_ours(g, runs);
    for (int64_t item = 0; done && item < g->items; item++)
        done = because(g, tw_lab_run_fetch(runs[item], all->c + (size_t)item * item_bytes) == TW_OK, tw_error_text());
    if (runs != NULL) close_runs(g, runs);
    free(runs);
    return done;
}

static bool multiply_theirs(comparison *g, batch_operands *all)
{
    duel *d = duel_of(g);
    buffers abc = {NULL, NULL, NULL};
    const char *const from[3] = {all->a, all->b, all->c};
    const size_t bytes[3] = {all->a_bytes, all->b_bytes, all->c_bytes};
    bool done = because(g, make_buffers(d, from, bytes, abc), d->opencl.why) && run_theirs(g, abc) &&
                because(g, opencl_down(&d->opencl, all->c, abc[2], all->c_bytes), d->opencl.why);
    release_buffers(d, abc);
    return done;
}

static bool multiply(comparison *g, int i, int candidate, batch_operands *all)
{
    (void)candidate;
    bool done = i == OURS ? multiply_ours(g, all) : multiply_theirs(g, all);
    if (!done) compare_refuse(g, i, g->why);
    return done;
}

static bool begin(comparison *g)
{
    duel_of(g)->begin_s = measure_now_s();
    return true;
}

static bool end(comparison *g, double *seconds)
{
    *seconds = measure_now_s() - duel_of(g)->begin_s;
    return true;
}

#define METHOD                                                                                                         \
    "the host's clock from a call until the device is done, after each product, behind one that is not timed, both "   \
    "libraries in turns, "

const compare_peer compare_clblast = {.name = "clblast",
                                      .title = "CLBlast",
                                      .sides = {"tilewright", "clblast", ""},
                                      .batched = "tw_gemm_batched()'s launches, one for each product",
                                      .most_items = MOST_RUNS / 2,
                                      .method = METHOD "operands rotated beyond the caches",
                                      .method_warm = METHOD "operands in place",
                                      .open = open_both,
                                      .close = close_both,
                                      .plan = plan_ours,
                                      .fill = fill,
                                      .release = release,
                                      .candidates = candidates,
                                      .describe = describe,
                                      .launch = launch,
                                      .multiply = multiply,
                                      .begin = begin,
                                      .end = end};
