/* lanes.c - see lanes.h. */
#include "lanes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "bench/workers.h"
#include "report/story.h"
#include "user_kernel.h"

enum { WARP = ACCESS_WARP, HALF = WARP / 2, MOST_EVENTS = 4096, GROUPS = 3, LEAST_LD = 160 };

static const double LIMIT_S = 10;

/* ---- one inner group, seen ---- */

typedef struct event {
    int64_t address;
    signed char what; /* access_kind; -1: tile memory, whose kind is not known yet */
    bool store;
} event;

/* What is seen, in the process of the kernel. */
typedef struct sight {
    lanes *out;
    host_run run;
    int threads;
    int count[HOST_MOST_THREADS];
    event *events; /* MOST_EVENTS for each work-item */
} sight;

static bool inner(host_place block) { return block.x == 1 && block.y == 1; }

static bool end(lanes *out, lanes_outcome outcome) { return out->outcome = outcome, false; }

static bool see(void *job, host_place block, int thread, const host_access *access)
{
    sight *s = job;
    const int i = s->count[thread];
    if (access->where == HOST_OUTSIDE) {
        snprintf(s->out->why, HOST_WHY, "work-item %d of group (%u, %u) %s memory outside of A, B, C and the tiles",
                 thread, block.x, block.y, access->store ? "writes" : "reads");
        return end(s->out, LANES_CRASHED);
    }
    if (access->store && access->where <= HOST_B) {
        snprintf(s->out->why, HOST_WHY, "%s is written", access->where == HOST_A ? "A" : "B");
        return end(s->out, LANES_WRONG);
    }
    if (!inner(block)) return true;
    if (i == MOST_EVENTS || access->bytes != 4) {
        snprintf(s->out->why, HOST_WHY, "a work-item has more than %d accesses, or one of %d bytes", MOST_EVENTS,
                 access->bytes);
        return end(s->out, LANES_UNJUDGED);
    }
    static const signed char kinds[] = {LOAD_A, LOAD_B, STORE_C, -1};
    s->events[thread * MOST_EVENTS + i] = (event){access->address, kinds[access->where], access->store};
    s->count[thread]++;
    return true;
}

/* Elements of A are negative, of B positive: what lies in a tile's word says whose tile it is. */
static void name_tiles(void *job, host_place block, const char *tiles)
{
    sight *s = job;
    if (!inner(block)) return;
    for (int t = 0; t < s->threads; t++)
        for (int i = 0; i < s->count[t]; i++) {
            event *e = &s->events[t * MOST_EVENTS + i];
            if (e->what != -1) continue;
            float word;
            memcpy(&word, tiles + e->address, sizeof word);
            e->what = (signed char)(e->store ? (word < 0 ? STORE_A_TILE : STORE_B_TILE)
                                             : (word < 0 ? READ_A_TILE : READ_B_TILE));
        }
}

/* ---- requests and their degrees ---- */

static lanes_degree degree_of(access_kind what, const int64_t address[WARP])
{
    access_cost now = access_price(ERA_NOW, what, address, 1);
    if (!access_is_global(what)) return (lanes_degree){.wavefronts = (int)now.transactions};
    return (lanes_degree){(int)now.transactions, (int)now.lines, (int)now.used, 0};
}

/* Transactions or conflicts of a warp's first half. */
static int of_half(access_era era, access_kind what, const int64_t address[WARP])
{
    int64_t half[WARP];
    for (int i = 0; i < WARP; i++) half[i] = i < HALF ? address[i] : -1;
    return (int)access_price(era, what, half, 1).transactions;
}

static int cost_of(const lanes_degree *d) { return d->sectors + d->wavefronts; }

static void add_request(lanes_kind *kind, access_kind what, const int64_t address[WARP])
{
    lanes_degree d = degree_of(what, address);
    int old[2] = {of_half(ERA_1_0, what, address), access_is_global(what) ? of_half(ERA_1_2, what, address) : 0};
    bool same = memcmp(&kind->at, &d, sizeof d) == 0 && memcmp(kind->old, old, sizeof old) == 0;
    if (kind->requests++ > 0 && (same || cost_of(&d) <= cost_of(&kind->at))) {
        kind->alike += same;
        return;
    }
    kind->at = d, kind->alike = 1;
    memcpy(kind->old, old, sizeof old);
}

static bool add_warp(const sight *s, int first)
{
    for (int i = 0; i < s->count[first]; i++) {
        const event *lead = &s->events[first * MOST_EVENTS + i];
        lanes_kind *kind = &s->out->of[(int)lead->what];
        int64_t address[WARP];
        for (int lane = 0; lane < WARP; lane++) {
            const event *e = lead + lane * MOST_EVENTS;
            if (s->count[first + lane] != s->count[first] || e->what != lead->what || e->store != lead->store) {
                snprintf(s->out->why, HOST_WHY, "lanes of one warp part ways in an inner group");
                return end(s->out, LANES_UNJUDGED);
            }
            address[lane] = e->address;
        }
        add_request(kind, (access_kind)lead->what, address);
        if (first == 0) kind->per_thread++;
    }
    return true;
}

static bool is_right(const sight *s, bool b_transposed)
{
    const host_run *r = &s->run;
    for (int i = 0; i < r->m; i++)
        for (int j = 0; j < r->n; j++) {
            float sum = 0;
            for (int p = 0; p < r->k; p++)
                sum += r->a[i * r->lda + p] * (b_transposed ? r->b[j * r->ldb + p] : r->b[p * r->ldb + j]);
            if (r->c[i * r->ldc + j] == sum) continue;
            snprintf(s->out->why, HOST_WHY, "C[%d, %d] is %g, expected %g", i, j, r->c[i * r->ldc + j], sum);
            return end(s->out, LANES_WRONG);
        }
    return true;
}

/* ---- the product, in a process of its own ---- */

typedef struct work {
    const tw_lab_launch *launch;
    const tw_problem *problem;
    const char *entry;
    int library;
} work;

static size_t span(int64_t rows, int64_t cols, int64_t ld) { return sizeof(float) * (size_t)((rows - 1) * ld + cols); }

/* Rows and columns of A and B differ, so that a swap shows. */
static void fill(float *x, size_t bytes, int64_t ld, int sign)
{
    for (size_t i = 0; i < bytes / sizeof *x; i++) {
        const size_t row = i / (size_t)ld, col = i % (size_t)ld;
        x[i] = (float)(sign * (int)(1 + (sign < 0 ? (row * 3 + col * 7 + row * col) % 5 : (row * 5 + col * 11) % 7)));
    }
}

static void look(const work *w, sight *s)
{
    const tw_problem *p = w->problem;
    const bool b_transposed = w->launch->transposes_b != 0;
    host_kernel kernel;
    host_run *r = &s->run;
    *r = (host_run){.m = (int)p->m,
                    .n = (int)p->n,
                    .k = (int)p->k,
                    .alpha = 1,
                    .lda = p->lda,
                    .ldb = b_transposed ? LEAST_LD : p->ldb,
                    .ldc = p->ldc,
                    .grid = {(unsigned)w->launch->grid_x, (unsigned)w->launch->grid_y, 1},
                    .size = {(unsigned)w->launch->threads_x, (unsigned)w->launch->threads_y, 1},
                    .note = see,
                    .after_block = name_tiles,
                    .job = s};
    r->a_bytes = span(r->m, r->k, r->lda), r->c_bytes = span(r->m, r->n, r->ldc);
    r->b_bytes = b_transposed ? span(r->n, r->k, r->ldb) : span(r->k, r->n, r->ldb);
    s->threads = (int)(r->size.x * r->size.y);
    float *a = malloc(r->a_bytes), *b = malloc(r->b_bytes);
    r->a = a, r->b = b, r->c = calloc(1, r->c_bytes);
    s->events = calloc((size_t)s->threads * MOST_EVENTS, sizeof *s->events);
    if (a == NULL || b == NULL || r->c == NULL || s->events == NULL) return;
    fill(a, r->a_bytes, r->lda, -1);
    fill(b, r->b_bytes, r->ldb, 1);
    if (!host_load(w->library, w->entry, &kernel, s->out->why)) {
        end(s->out, LANES_NOT_C);
        return;
    }
    if (!host_launch(&kernel, r) || !is_right(s, b_transposed)) return;
    s->out->outcome = LANES_SEEN, s->out->why[0] = '\0';
    memcpy(s->out->barriers, r->barriers, sizeof r->barriers);
    for (int first = 0; first < s->threads && add_warp(s, first); first += WARP) continue;
}

/* Ends with the process, which frees all. */
static void look_apart(void *job, int orders, int answers)
{
    static sight s;
    lanes out = {.outcome = LANES_FAILED, .why = "memory ran out"};
    char order;
    s.out = &out;
    if (!worker_take(orders, &order, 1)) return;
    look(job, &s);
    worker_give(answers, &out, sizeof out);
}

static void run_apart(const work *w, const lanes_question *q, lanes *out)
{
    worker_process process;
    lanes seen;
    char how[200];
    work own = *w;
    if (!worker_start(q->hooks, &process, 0, look_apart, &own)) {
        snprintf(out->why, HOST_WHY, "no process could be started");
        out->outcome = LANES_FAILED;
    } else if (!worker_ask(&process, "", 1, &seen, sizeof seen, q->limit_s > 0 ? q->limit_s : LIMIT_S, how,
                           sizeof how)) {
        snprintf(out->why, HOST_WHY, "it %s", how);
        out->outcome = LANES_CRASHED;
    } else {
        seen.why[HOST_WHY - 1] = '\0';
        seen.tile = out->tile, seen.k = out->k;
        *out = seen;
    }
    worker_end(&process);
    close(w->library);
}

/* Three by three blocks, of which the one in the middle is seen; leading dimensions that are whole lines. */
static bool plan_launch(const lanes_question *q, tw_problem *p, tw_lab_launch *launch, lanes *out)
{
    const tw_lab_kernel *k = q->kernel;
    const tw_lab_choice choice = {.kernel = k->name, .tile = q->tile, .source = q->source};
    const int tile = q->tile > 0 ? q->tile : k->default_tile > 0 ? k->default_tile : 16;
    const int64_t m = GROUPS * (k->tile_m > 1 ? k->tile_m : tile), n = GROUPS * (k->tile_n > 1 ? k->tile_n : tile);
    *p = tw_problem_make(TW_F32, TW_N, TW_N, m, n, k->skinny ? tile : GROUPS * tile);
    if (!k->skinny) p->lda = LEAST_LD; /* the A of NVIDIA Best Practices is T wide */
    p->ldb = p->ldc = n > 4 * LEAST_LD ? (n + WARP - 1) / WARP * WARP : 4 * LEAST_LD;
    out->tile = tile, out->k = (int)p->k;
    if (tw_lab_launch_of(&choice, p, launch) != TW_OK) {
        snprintf(out->why, HOST_WHY, "%s", tw_error_text());
        return end(out, LANES_UNJUDGED);
    }
    if (launch->grid_x == GROUPS && launch->grid_y == GROUPS) return true;
    snprintf(out->why, HOST_WHY, "the kernel itself says which part of C a group computes");
    return end(out, LANES_UNJUDGED);
}

static lanes_outcome outcome_of(host_built built)
{
    return built == HOST_UNABLE ? LANES_UNABLE : built == HOST_NOT_C ? LANES_NOT_C : LANES_FAILED;
}

void lanes_see(const lanes_question *q, lanes *out)
{
    user_kernel row = {0};
    tw_problem problem;
    tw_lab_launch launch;
    const tw_lab_source *source = q->source;
    *out = (lanes){0};
    if (!plan_launch(q, &problem, &launch, out)) return;
    if (source == NULL) {
        const char *text = story_text_of(q->kernel->file);
        if (user_kernel_make(q->kernel->file, text, strlen(text), &row, out->why, HOST_WHY) != TW_OK) {
            end(out, LANES_FAILED);
            return;
        }
        source = &row.source;
    }
    if (strstr(source->text, "float4") != NULL) { /* not all accesses to one are reported by gcc */
        snprintf(out->why, HOST_WHY, "vector types are not judged");
        end(out, LANES_UNJUDGED);
        user_kernel_free(&row);
        return;
    }
    char options[sizeof launch.options + 64];
    work w = {.launch = &launch, .problem = &problem, .entry = source->entry};
    snprintf(options, sizeof options, "%s %s", launch.options, q->options != NULL ? q->options : "");
    host_built built = host_compile(q->kernel->engine, options, source->text, &w.library, out->why);
    if (built == HOST_BUILT)
        run_apart(&w, q, out);
    else
        end(out, outcome_of(built));
    user_kernel_free(&row);
}

/* ---- beside a rung ---- */

/* One figure of both, in words; false: it is the same. */
static bool differs(const char *what, const char *verb, const char *unit, const char *of, int own, int like,
                    const char *rung, char text[HOST_WHY])
{
    if (own == like) return false;
    snprintf(text, HOST_WHY, "%s %s %d %s%s%s where %s %s %d", what, verb, own, unit, own == 1 ? "" : "s", of, rung,
             verb, like);
    return true;
}

static int compare_kind(const lanes_kind *own, const lanes_kind *like, const char *what, const char *rung,
                        char text[HOST_WHY])
{
    if (own->requests == 0 && like->requests == 0) return 0;
    if (own->requests == 0) {
        snprintf(text, HOST_WHY, "there is no %s, of which %s has %d per thread", what, rung, like->per_thread);
        return -1;
    }
    if (like->requests == 0) {
        snprintf(text, HOST_WHY, "%s happens %d times per thread, in %s never%s", what, own->per_thread, rung,
                 own->at.wavefronts > 1 ? "; with bank conflicts" : "");
        return own->at.wavefronts > 1 ? 1 : -1;
    }
    if (differs(what, "asks", "sector", " a request", own->at.sectors, like->at.sectors, rung, text) ||
        differs(what, "touches", "line", " a request", own->at.lines, like->at.lines, rung, text) ||
        differs(what, "takes", "wavefront", " a request", own->at.wavefronts, like->at.wavefronts, rung, text)) {
        const size_t used = strlen(text);
        char in[64] = "";
        if (own->alike < own->requests) snprintf(in, sizeof in, ", in %d of %d requests", own->alike, own->requests);
        snprintf(text + used, HOST_WHY - used, "%s%s", in,
                 own->at.wavefronts > like->at.wavefronts ? ": bank conflict" : "");
        return cost_of(&own->at) + own->at.lines > cost_of(&like->at) + like->at.lines ? 1 : -1;
    }
    if (differs(what, "happens", "time", " per thread", own->per_thread, like->per_thread, rung, text))
        return own->per_thread > like->per_thread ? 1 : -1;
    if (differs(what, "uses", "byte", " a request", own->at.used, like->at.used, rung, text) ||
        differs(what, "takes", "transaction", " on 1.0", own->old[0], like->old[0], rung, text) ||
        differs(what, "takes", "transaction", " on 1.2", own->old[1], like->old[1], rung, text))
        return own->old[0] + own->old[1] > like->old[0] + like->old[1] ? 1 : -1;
    return 0;
}

int lanes_compare(const lanes *own, const lanes *like, const char *rung, int kind, char text[HOST_WHY])
{
    if (kind < ACCESS_KINDS)
        return compare_kind(&own->of[kind], &like->of[kind], access_kind_text((access_kind)kind), rung, text);
    if (!differs("a work-item", "meets", "barrier", "", own->barriers[0] + own->barriers[1],
                 like->barriers[0] + like->barriers[1], rung, text))
        return 0;
    return own->barriers[0] + own->barriers[1] > like->barriers[0] + like->barriers[1] ? 1 : -1;
}
