/* compare_opencl.c - CLBlast beside the opencl engine, on one device. See compare.h.
 *
 * Both take operands in buffers, on one queue of one context. Each operand has a buffer, since CLBlast copies those
 * that do not begin where a buffer does. Both have their workspaces before time runs. Only for batches CLBlast takes
 * none and allocates it in the call. The host's clock runs from before a call until the device is done, for each call
 * of either, since CLBlast's event is that of its last kernel alone: what the host spends on enqueueing counts. */
#include "compare.h"

#include <stdio.h>
#include <stdlib.h>
#include "../clblast.h"
#include "../opencl.h"

typedef void *buffers[3]; /* a, b, c */

typedef struct duel {
    opencl opencl;
    clblast library;
    tw_context *context; /* of the opencl engine, in opencl's context */
    tw_launch launch;    /* ours: the queue, and the workspace that the plan wants */
    void *workspace;     /* theirs */
    buffers *sets;
    int made; /* how many sets there are */
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
    if (!because(g, opencl_open(&d->opencl, g->setup.device), d->opencl.why)) return TW_NO_DEVICE;
    const tw_options options = {.size = sizeof options, .engine = "opencl", .device_context = d->opencl.context};
    tw_status status = tw_open(&options, &d->context);
    because(g, status == TW_OK, tw_error_text());
    return status;
}

static void close_both(comparison *g)
{
    duel *d = duel_of(g);
    if (d == NULL) return;
    tw_close(d->context);
    opencl_close(&d->opencl);
    free(d);
    g->own = NULL;
}

static tw_status plan_ours(comparison *g, const tw_problem *host)
{
    duel *d = duel_of(g);
    const tw_batch batch = tw_batch_make(host, g->items);
    d->launch = (tw_launch){.size = sizeof d->launch, .queue = d->opencl.queue};
    tw_status status = tw_lab_plan_of(d->context, &(tw_lab_choice){.batch = g->batched ? &batch : NULL}, &g->problem,
                                      &g->plan);
    if (status != TW_OK) return status;
    return g->batched ? tw_prepare_batched(d->context, &g->problem, &batch) : tw_prepare(d->context, &g->problem);
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

/* TW_NO_MEMORY: there is none for the workspace. */
static tw_status make_workspace(comparison *g)
{
    duel *d = duel_of(g);
    const tw_batch batch = tw_batch_make(&g->problem, g->items);
    tw_status status = g->batched
                           ? tw_workspace_bytes_batched(d->context, &g->problem, &batch, &d->launch.workspace_bytes)
                           : tw_workspace_bytes(d->context, &g->problem, &d->launch.workspace_bytes);
    if (status != TW_OK) return bench_tell(&g->setup, status, "%s", tw_error_text());
    const size_t bytes = (size_t)d->launch.workspace_bytes;
    if (bytes == 0 || opencl_allocate(&d->opencl, bytes, &d->launch.workspace)) return TW_OK;
    return bench_tell(&g->setup, TW_NO_MEMORY, "there is no device memory for the workspace of %zu bytes: %s", bytes,
                      d->opencl.why);
}

/* As many sets as there is memory for. */
static tw_status make_sets(comparison *g, const char *host)
{
    duel *d = duel_of(g);
    const char *const from[3] = {host, host + g->sets.a_bytes, host + g->sets.a_bytes + g->sets.b_bytes};
    const size_t bytes[3] = {g->sets.a_bytes, g->sets.b_bytes, g->sets.set_bytes - g->sets.a_bytes - g->sets.b_bytes};
    const int wanted = g->warm || g->sets.wanted < 2 ? 2 : g->sets.wanted;
    d->sets = calloc((size_t)wanted, sizeof *d->sets);
    if (d->sets == NULL) return bench_no_memory(&g->setup, "the buffers of the operands");
    while (d->made < wanted && make_buffers(d, from, bytes, d->sets[d->made])) d->made++;
    if (d->made < wanted) release_buffers(d, d->sets[d->made]);
    g->set_count = d->made;
    return d->made >= 2 ? TW_OK
                        : bench_tell(&g->setup, TW_NO_MEMORY, "there is no device memory for two sets of operands: %s",
                                     d->opencl.why);
}

static tw_status fill(comparison *g, const tw_problem *host)
{
    tw_status status = g->sides[OURS].outcome == SIDE_TIMED ? make_workspace(g) : TW_OK;
    if (status != TW_OK) return status;
    g->sets = sets_for(host, g->items, g->setup.device);
    char *set = malloc(g->sets.set_bytes);
    if (set == NULL) return bench_no_memory(&g->setup, "a set of operands");
    sets_fill(&g->sets, host, g->items, 1, set);
    status = make_sets(g, set);
    free(set);
    return status;
}

static void release(comparison *g)
{
    duel *d = duel_of(g);
    for (int set = 0; set < d->made; set++) release_buffers(d, d->sets[set]);
    opencl_release(&d->opencl, &d->workspace);
    opencl_release(&d->opencl, &d->launch.workspace);
    free(d->sets);
    d->sets = NULL, d->made = 0;
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

static bool run_ours(comparison *g, const tw_batch *batch, buffers abc)
{
    duel *d = duel_of(g);
    tw_status status = g->batched
                           ? tw_enqueue_batched(d->context, &g->problem, batch, abc[0], abc[1], abc[2], &d->launch)
                           : tw_enqueue(d->context, &g->problem, abc[0], abc[1], abc[2], &d->launch);
    return because(g, status == TW_OK, tw_error_text());
}

static bool run_theirs(comparison *g, const tw_batch *batch, buffers abc)
{
    duel *d = duel_of(g);
    bool done = g->batched ? clblast_multiply_batch(&d->library, &g->problem, batch, abc, d->opencl.queue)
                           : clblast_multiply(&d->library, &g->problem, abc, d->workspace, d->opencl.queue);
    return because(g, done, d->library.why);
}

static bool run(comparison *g, int i, buffers abc)
{
    duel *d = duel_of(g);
    const tw_batch batch = tw_batch_make(&g->problem, g->items);
    return (i == OURS ? run_ours(g, &batch, abc) : run_theirs(g, &batch, abc)) &&
           because(g, opencl_wait(&d->opencl), d->opencl.why);
}

static bool launch(comparison *g, int i, int candidate, int set)
{
    (void)candidate;
    return run(g, i, duel_of(g)->sets[set]);
}

static bool multiply(comparison *g, int i, int candidate, batch_operands *all)
{
    duel *d = duel_of(g);
    buffers abc = {NULL, NULL, NULL};
    const char *const from[3] = {all->a, all->b, all->c};
    const size_t bytes[3] = {all->a_bytes, all->b_bytes, all->c_bytes};
    (void)candidate;
    bool done = because(g, make_buffers(d, from, bytes, abc), d->opencl.why) && run(g, i, abc) &&
                because(g, opencl_down(&d->opencl, all->c, abc[2], all->c_bytes), d->opencl.why);
    release_buffers(d, abc);
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
    "the host's clock from a call until the device is done, after each call, behind one that is not timed, both "      \
    "libraries in turns, "

const compare_peer compare_clblast = {.name = "clblast",
                                      .title = "CLBlast",
                                      .sides = {"tilewright", "clblast", ""},
                                      .batched = "tw_enqueue_batched()",
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
