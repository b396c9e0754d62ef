/* compare_cuda.c - cuBLASLt beside the cuda engine: both put their products on one stream, with CUDA events around
 * them. See compare.h. */
#include "compare.h"

#include <stdio.h>
#include <stdlib.h>
#include "../cublas.h"
#include "../cuda.h"

_Static_assert((int)COMPARE_CANDIDATES == (int)CUBLAS_CANDIDATES, "each candidate is tried");

typedef struct duel {
    cuda cuda;
    cublas library;
    char *memory, *workspace, *peer_workspace; /* on the device; memory: the sets, and one more to judge in */
    int64_t workspace_bytes;
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
    if (d == NULL) {
        snprintf(g->why, sizeof g->why, "memory ran out: there is no room for the comparison");
        return TW_NO_MEMORY;
    }
    if (!because(g, cuda_open(&d->cuda, g->setup.device->index), d->cuda.why)) return TW_NO_DEVICE;
    if (!cublas_open(&d->library, folder)) {
        snprintf(g->why, sizeof g->why, "cublas: it %s", d->library.why);
        return TW_NO_DEVICE;
    }
    snprintf(g->version, sizeof g->version, "%s", d->library.version);
    clocks_open(d->cuda.bus);
    if (cuda_allocate(&d->cuda, CUBLAS_WORKSPACE_BYTES, &d->peer_workspace)) return TW_OK;
    snprintf(g->why, sizeof g->why, "there is no device memory for cuBLASLt's workspace: %s", d->cuda.why);
    return TW_NO_MEMORY;
}

static void close_both(comparison *g)
{
    duel *d = duel_of(g);
    if (d == NULL) return;
    clocks_close();
    cublas_close(&d->library);
    cuda_release(&d->cuda, &d->peer_workspace);
    cuda_close(&d->cuda);
    free(d);
    g->own = NULL;
}

static tw_status plan_ours(comparison *g, const tw_problem *host)
{
    duel *d = duel_of(g);
    const tw_batch batch = tw_batch_make(host, g->items);
    d->workspace_bytes = 0;
    tw_status status = tw_workspace_bytes(g->setup.context, &g->problem, &d->workspace_bytes);
    if (status == TW_OK)
        status = tw_lab_plan_of(g->setup.context, &(tw_lab_choice){.batch = g->batched ? &batch : NULL}, &g->problem,
                                &g->plan);
    if (status != TW_OK) return status;
    return g->batched ? tw_prepare_batched(g->setup.context, &g->problem, &batch)
                      : tw_prepare(g->setup.context, &g->problem);
}

/* ---- operands ---- */

static tw_status take_memory(comparison *g, const tw_problem *host)
{
    duel *d = duel_of(g);
    g->sets = sets_beyond_l2(host, g->items, g->setup.device);
    g->set_count = g->warm ? 2 : g->sets.wanted;
    while (g->set_count >= 2 && !cuda_allocate(&d->cuda, (size_t)(g->set_count + 1) * g->sets.set_bytes, &d->memory))
        g->set_count /= 2;
    if (d->memory == NULL)
        return bench_tell(&g->setup, TW_NO_MEMORY,
                          "there is no device memory for two sets of operands and one more: %s", d->cuda.why);
    if (d->workspace_bytes > 0 && !cuda_allocate(&d->cuda, (size_t)d->workspace_bytes, &d->workspace))
        return bench_tell(&g->setup, TW_NO_MEMORY, "there is no device memory for the workspace of %lld bytes: %s",
                          (long long)d->workspace_bytes, d->cuda.why);
    return TW_OK;
}

static tw_status fill(comparison *g, const tw_problem *host)
{
    duel *d = duel_of(g);
    bool copied = true;
    tw_status status = take_memory(g, host);
    if (status != TW_OK) return status;
    char *set = malloc(g->sets.set_bytes);
    if (set == NULL) return bench_no_memory(&g->setup, "a set of operands");
    sets_fill(&g->sets, host, g->items, 1, set);
    for (int i = 0; copied && i < g->set_count; i++)
        copied = cuda_up(&d->cuda, d->memory + (size_t)i * g->sets.set_bytes, set, g->sets.set_bytes);
    free(set);
    return copied ? TW_OK : bench_tell(&g->setup, TW_DEVICE_FAILED, "%s", d->cuda.why);
}

static void release(comparison *g)
{
    duel *d = duel_of(g);
    cublas_end(&d->library);
    cuda_release(&d->cuda, &d->workspace);
    cuda_release(&d->cuda, &d->memory);
}

/* ---- the library's candidates ---- */

static int candidates(comparison *g, const tw_problem *host)
{
    duel *d = duel_of(g);
    return because(g, cublas_begin(&d->library, host, g->batched ? g->items : 0), d->library.why) ? d->library.count
                                                                                                  : 0;
}

static void describe(comparison *g, int candidate, char text[PEER_TEXT])
{
    cublas_name(&duel_of(g)->library, candidate, text);
}

/* ---- products ---- */

static bool launch(comparison *g, int i, int candidate, int set)
{
    duel *d = duel_of(g);
    char *a = d->memory + (size_t)set * g->sets.set_bytes, *b = a + g->sets.a_bytes, *c = b + g->sets.b_bytes;
    const tw_launch to = {
        .size = sizeof to, .stream = d->cuda.stream, .workspace = d->workspace, .workspace_bytes = d->workspace_bytes};
    const tw_batch batch = tw_batch_make(&g->problem, g->items);
    if (i != OURS)
        return because(g, cublas_multiply(&d->library, candidate, a, b, c, d->peer_workspace, d->cuda.stream),
                       d->library.why);
    tw_status status = g->batched ? tw_enqueue_batched(g->setup.context, &g->problem, &batch, a, b, c, &to)
                                  : tw_enqueue(g->setup.context, &g->problem, a, b, c, &to);
    return status == TW_OK || because(g, false, tw_error_text());
}

static bool multiply(comparison *g, int i, int candidate, batch_operands *all)
{
    duel *d = duel_of(g);
    char *a = d->memory + (size_t)g->set_count * g->sets.set_bytes, *b = a + g->sets.a_bytes, *c = b + g->sets.b_bytes;
    bool copied = cuda_up(&d->cuda, a, all->a, all->a_bytes) && cuda_up(&d->cuda, b, all->b, all->b_bytes) &&
                  cuda_up(&d->cuda, c, all->c, all->c_bytes);
    if (copied && !launch(g, i, candidate, g->set_count)) {
        compare_refuse(g, i, g->why);
        return false;
    }
    return because(g, copied && cuda_down(&d->cuda, all->c, c, all->c_bytes), d->cuda.why);
}

static bool begin(comparison *g) { return because(g, cuda_begin(&duel_of(g)->cuda), duel_of(g)->cuda.why); }

static bool end(comparison *g, double *seconds)
{
    return because(g, cuda_end(&duel_of(g)->cuda, seconds), duel_of(g)->cuda.why);
}

#define METHOD "device events around launches on one stream, behind one that is not timed, all libraries in turns, "

const compare_peer compare_cublas = {.name = "cublas",
                                     .title = "cuBLASLt",
                                     .sides = {"tilewright", "cuBLASLt's heuristic", "cuBLASLt's best"},
                                     .chooses = true,
                                     .batched = "tw_enqueue_batched()",
                                     .method = METHOD "operands rotated beyond the L2",
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
