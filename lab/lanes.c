/* lanes.c - see lanes.h. */
#include "lanes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "bench/workers.h"
#include "report/story.h"
#include "user_kernel.h"

enum { GAP = 1 << 20, WARP = ACCESS_WARP, HALF = WARP / 2, MOST_EVENTS = 4096, GROUPS = 3, LEAST_LD = 160 };

static const double LIMIT_S = 10;

/* ---- one inner group, seen ---- */

typedef struct event {
    int64_t address;
    signed char what; /* access_kind; -1: tile memory, whose kind is not known yet */
    bool store;
} event;

enum { TILE_WORDS = 1 << 16 };

/* What is seen, in the process of the kernel. */
typedef struct sight {
    lanes *out;
    host_run run;
    bool watches; /* accesses are kept */
    int threads;
    int count[HOST_MOST_THREADS];
    event *events;                 /* MOST_EVENTS for each work-item */
    signed char owner[TILE_WORDS]; /* of a word of the tiles, as a work-item reads it: -1 A's, 1 B's, 0 not known */
} sight;

static bool inner(host_place block) { return block.x == 1 && block.y == 1; }

static bool end(lanes *out, lanes_outcome outcome) { return out->outcome = outcome, false; }

/* Elements of A are negative, of B positive: what lies in a tile's word says whose tile it is. */
static void note_owner(sight *s, const host_access *access)
{
    float word;
    if (access->store || access->where != HOST_TILES || access->bytes != 4 || access->address / 4 >= TILE_WORDS) return;
    memcpy(&word, access->at, sizeof word);
    if (word < 0 || word > 0) s->owner[access->address / 4] = word < 0 ? -1 : 1;
}

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
    if (!s->watches || !inner(block)) return true;
    note_owner(s, access);
    if (i == MOST_EVENTS || access->bytes != 4) {
        if (i == MOST_EVENTS)
            snprintf(s->out->why, HOST_WHY, "a work-item has more than %d accesses", MOST_EVENTS);
        else
            snprintf(s->out->why, HOST_WHY, "a work-item has an access of %d bytes", access->bytes);
        return end(s->out, LANES_UNJUDGED);
    }
    static const signed char kinds[] = {LOAD_A, LOAD_B, STORE_C, -1};
    s->events[thread * MOST_EVENTS + i] = (event){access->address, kinds[access->where], access->store};
    s->count[thread]++;
    return true;
}

/* Whose tile is it? What is read there says, else what lies there at the end. */
static void name_tiles(void *job, host_place block, const char *tiles)
{
    sight *s = job;
    if (!s->watches || !inner(block)) return;
    for (int t = 0; t < s->threads; t++)
        for (int i = 0; i < s->count[t]; i++) {
            event *e = &s->events[t * MOST_EVENTS + i];
            if (e->what != -1) continue;
            float word;
            memcpy(&word, tiles + e->address, sizeof word);
            const int owner = e->address / 4 < TILE_WORDS ? s->owner[e->address / 4] : 0;
            const bool of_a = owner != 0 ? owner < 0 : word < 0;
            e->what = (signed char)(e->store ? (of_a ? STORE_A_TILE : STORE_B_TILE)
                                             : (of_a ? READ_A_TILE : READ_B_TILE));
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
    kind->total += cost_of(&d);
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

/* ---- one product ---- */

/* A launch of the kernel: shape and scalars. `where` names it in a sentence about what is wrong; "": the first. */
typedef struct trial {
    tw_problem problem;
    tw_lab_launch launch;
    float alpha, beta;
    char where[100];
} trial;

typedef struct work {
    trial even, odd; /* whole tiles, alpha 1 and beta 0; edge tiles, and scalars that show */
    const char *entry;
    bool cuda;
    int library;
} work;

static size_t span(int64_t rows, int64_t cols, int64_t ld) { return sizeof(float) * (size_t)((rows - 1) * ld + cols); }

/* Rows and columns of A and B differ, so that a swap shows. What lies beyond a row's end is NaN. */
static void fill(float *x, size_t bytes, int64_t cols, int64_t ld, int sign)
{
    for (size_t i = 0; i < bytes / sizeof *x; i++) {
        const size_t row = i / (size_t)ld, col = i % (size_t)ld;
        const int value = 1 + (int)(sign < 0 ? (row * 3 + col * 7 + row * col) % 5 : (row * 5 + col * 11) % 7);
        x[i] = (int64_t)col < cols ? (float)(sign * value) : NAN;
    }
}

static bool transposes_b(const trial *t) { return t->launch.transposes_b != 0; }

/* C before the product: NaN where it must not be read, another number beyond a row's end. */
static float c_before(const host_run *r, size_t i)
{
    const float beyond = -77;
    return i % (size_t)r->ldc >= (size_t)r->n ? beyond : r->beta == 0 ? NAN : (float)(1 + i % 3);
}

static float c_after(const host_run *r, bool b_transposed, size_t at)
{
    const long i = (long)(at / (size_t)r->ldc), j = (long)(at % (size_t)r->ldc);
    float sum = 0;
    if (j >= r->n) return c_before(r, at);
    for (int p = 0; p < r->k; p++)
        sum += r->a[i * r->lda + p] * (b_transposed ? r->b[j * r->ldb + p] : r->b[p * r->ldb + j]);
    return r->beta == 0 ? r->alpha * sum : r->alpha * sum + r->beta * c_before(r, at);
}

static bool same(float x, float y) { return x == y || (isnan(x) && isnan(y)); }

/* Is C right, and what the same launch makes with the work-items in the other order? */
static bool is_right(const sight *s, const trial *t, const float *other)
{
    const host_run *r = &s->run;
    for (size_t i = 0; i < r->c_bytes / sizeof *other; i++) {
        const long row = (long)(i / (size_t)r->ldc), col = (long)(i % (size_t)r->ldc);
        if (same(r->c[i], other[i])) continue;
        snprintf(s->out->why, HOST_WHY,
                 "%sC[%ld, %ld] depends on the order of the work-items: %g or %g; is a barrier missing?", t->where, row,
                 col, r->c[i], other[i]);
        return end(s->out, LANES_RACE);
    }
    for (size_t i = 0; i < r->c_bytes / sizeof *other; i++) {
        const float expected = c_after(r, transposes_b(t), i);
        if (same(r->c[i], expected)) continue;
        snprintf(s->out->why, HOST_WHY, "%sC[%ld, %ld] is %g, expected %g", t->where, (long)(i / (size_t)r->ldc),
                 (long)(i % (size_t)r->ldc), r->c[i], expected);
        return end(s->out, LANES_WRONG);
    }
    return true;
}

/* One launch into c. */
static bool run_once(const host_kernel *kernel, const trial *t, bool backwards, float *c, sight *s)
{
    host_run *r = &s->run;
    r->backwards = backwards, r->c = c;
    for (size_t i = 0; i < r->c_bytes / sizeof *c; i++) c[i] = c_before(r, i);
    if (host_launch(kernel, r)) return true;
    if (r->fault[0] != '\0') {
        snprintf(s->out->why, HOST_WHY, "%s%.400s", t->where, r->fault);
        return end(s->out, LANES_CRASHED);
    }
    if (t->where[0] != '\0' && s->out->outcome != LANES_FAILED) {
        char what[HOST_WHY];
        memcpy(what, s->out->why, sizeof what);
        snprintf(s->out->why, HOST_WHY, "%s%.400s", t->where, what);
    }
    return false;
}

/* The product in both orders of the work-items; with watches the accesses of the first are kept. false: s->out says
 * what is wrong. */
static bool run_trial(const host_kernel *kernel, const work *w, const trial *t, bool watches, sight *s)
{
    const tw_problem *p = &t->problem;
    host_run *r = &s->run;
    *r = (host_run){.m = (int)p->m,
                    .n = (int)p->n,
                    .k = (int)p->k,
                    .alpha = t->alpha,
                    .beta = t->beta,
                    .lda = p->lda,
                    .ldb = transposes_b(t) ? LEAST_LD : p->ldb,
                    .ldc = p->ldc,
                    .grid = {(unsigned)t->launch.grid_x, (unsigned)t->launch.grid_y, 1},
                    .size = {(unsigned)t->launch.threads_x, (unsigned)t->launch.threads_y, 1},
                    .note = see,
                    .after_block = name_tiles,
                    .job = s,
                    .ends_early = w->cuda};
    r->a_bytes = span(r->m, r->k, r->lda), r->c_bytes = span(r->m, r->n, r->ldc);
    r->b_bytes = transposes_b(t) ? span(r->n, r->k, r->ldb) : span(r->k, r->n, r->ldb);
    s->threads = (int)(r->size.x * r->size.y), s->watches = watches;
    /* behind each a gap that belongs to none: more than a tile of rows */
    float *a = malloc(r->a_bytes + GAP), *b = malloc(r->b_bytes + GAP), *c = malloc(r->c_bytes + GAP),
          *other = malloc(r->c_bytes + GAP);
    r->a = a, r->b = b;
    bool right = false;
    if (a != NULL && b != NULL && c != NULL && other != NULL) {
        fill(a, r->a_bytes, r->k, r->lda, -1);
        fill(b, r->b_bytes, transposes_b(t) ? r->k : r->n, r->ldb, 1);
        right = run_once(kernel, t, false, c, s);
        if (watches) memcpy(s->out->barriers, r->barriers, sizeof r->barriers);
        s->watches = false;
        right = right && run_once(kernel, t, true, other, s);
        r->c = c;
        right = right && is_right(s, t, other);
    }
    free(a), free(b), free(c), free(other);
    return right;
}

/* ---- in a process of its own ---- */

static void look(const work *w, sight *s)
{
    host_kernel kernel;
    s->events = calloc((size_t)HOST_MOST_THREADS * MOST_EVENTS, sizeof *s->events);
    if (s->events == NULL) return;
    if (!host_load(w->library, w->entry, &kernel, s->out->why)) {
        end(s->out, LANES_NOT_C);
        return;
    }
    if (!run_trial(&kernel, w, &w->even, true, s) || !run_trial(&kernel, w, &w->odd, false, s)) return;
    s->out->outcome = LANES_SEEN, s->out->why[0] = '\0';
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
        snprintf(out->why, HOST_WHY, "it %s%s", how,
                 process.late ? ": does each of its loops end? --deadline SECONDS waits longer" : "");
        out->outcome = LANES_CRASHED;
    } else {
        seen.why[HOST_WHY - 1] = '\0';
        seen.tile = out->tile, seen.k = out->k;
        *out = seen;
    }
    worker_end(&process);
    close(w->library);
}

static bool plan_trial(const tw_lab_choice *choice, const tw_problem *p, float alpha, float beta, trial *t, lanes *out)
{
    *t = (trial){.problem = *p, .alpha = alpha, .beta = beta};
    if (beta != 0)
        snprintf(t->where, sizeof t->where, "at %lld x %lld x %lld with alpha %g and beta %g, ", (long long)p->m,
                 (long long)p->n, (long long)p->k, alpha, beta);
    if (tw_lab_launch_of(choice, p, &t->launch) != TW_OK) {
        snprintf(out->why, HOST_WHY, "%s", tw_error_text());
        return end(out, LANES_UNJUDGED);
    }
    if (t->launch.grid_x == GROUPS && t->launch.grid_y == GROUPS) return true;
    snprintf(out->why, HOST_WHY, "the kernel itself says which part of C a group computes");
    return end(out, LANES_UNJUDGED);
}

/* Three by three blocks, of which the one in the middle is seen; leading dimensions that are whole lines. Then the same
 * with the last blocks and the last of five tiles of k cut. */
static bool plan_trials(const lanes_question *q, work *w, lanes *out)
{
    enum { CUT_M = 3, CUT_N = 5, CUT_K = 7, DEEP = 5 };
    const tw_lab_kernel *k = q->kernel;
    const tw_lab_choice choice = {.kernel = k->name, .tile = q->tile, .source = q->source};
    const int tile = q->tile > 0 ? q->tile : k->default_tile > 0 ? k->default_tile : 16;
    const int64_t m = GROUPS * (k->tile_m > 1 ? k->tile_m : tile), n = GROUPS * (k->tile_n > 1 ? k->tile_n : tile);
    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, m, n, k->skinny ? tile : GROUPS * tile);
    if (!k->skinny) p.lda = LEAST_LD; /* the A of NVIDIA Best Practices is T wide */
    p.ldb = p.ldc = n > 4 * LEAST_LD ? (n + WARP - 1) / WARP * WARP : 4 * LEAST_LD;
    out->tile = tile, out->k = (int)p.k;
    if (!plan_trial(&choice, &p, 1, 0, &w->even, out)) return false;
    p.m -= CUT_M, p.n -= CUT_N, p.k = k->skinny ? p.k : DEEP * tile - CUT_K;
    return plan_trial(&choice, &p, 2, 3, &w->odd, out);
}

static lanes_outcome outcome_of(host_built built)
{
    return built == HOST_UNABLE ? LANES_UNABLE : built == HOST_NOT_C ? LANES_NOT_C : LANES_FAILED;
}

/* Outside of comments and strings. Not all accesses to a float4 are reported by gcc. */
static bool uses_vectors(const char *text)
{
    for (const char *at = text, *end; *at != '\0'; at = end) {
        end = user_kernel_skip(at);
        if (end > at) continue;
        if (strncmp(at, "float4", 6) == 0) return true;
        end = at + 1;
    }
    return false;
}

void lanes_see(const lanes_question *q, lanes *out)
{
    user_kernel row = {0};
    work w = {.cuda = strcmp(q->kernel->engine, "cuda") == 0};
    const tw_lab_source *source = q->source;
    *out = (lanes){0};
    if (!plan_trials(q, &w, out)) return;
    if (source == NULL) {
        const char *text = story_text_of(q->kernel->file);
        if (user_kernel_make(q->kernel->file, text, strlen(text), &row, out->why, HOST_WHY) != TW_OK) {
            end(out, LANES_FAILED);
            return;
        }
        source = &row.source;
    }
    const char *why_not = uses_vectors(source->text) ? "vector types are not judged"
                          : !w.cuda && !host_local_is_plain(source->text)
                              ? "__local is not the first word of a declaration: tiles "
                                "declared otherwise are not judged"
                              : NULL;
    if (why_not != NULL) {
        snprintf(out->why, HOST_WHY, "%s", why_not);
        end(out, LANES_UNJUDGED);
        user_kernel_free(&row);
        return;
    }
    char options[sizeof w.even.launch.options + 64];
    w.entry = source->entry;
    snprintf(options, sizeof options, "%s %s", w.even.launch.options, q->options != NULL ? q->options : "");
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

static int compare_kind(const lanes_kind *own, const lanes_kind *like, access_kind kind, const char *rung,
                        char text[HOST_WHY])
{
    const char *what = access_kind_text(kind);
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
    if (differs(what, access_is_global(kind) ? "asks" : "takes", access_is_global(kind) ? "sector" : "wavefront",
                " in all of a group", own->total, like->total, rung, text))
        return own->total > like->total ? 1 : -1;
    if (differs(what, "uses", "byte", " a request", own->at.used, like->at.used, rung, text) ||
        differs(what, "takes", "transaction", " on 1.0", own->old[0], like->old[0], rung, text) ||
        differs(what, "takes", "transaction", " on 1.2", own->old[1], like->old[1], rung, text))
        return own->old[0] + own->old[1] > like->old[0] + like->old[1] ? 1 : -1;
    return 0;
}

int lanes_compare(const lanes *own, const lanes *like, const char *rung, int kind, char text[HOST_WHY])
{
    if (kind < ACCESS_KINDS) return compare_kind(&own->of[kind], &like->of[kind], (access_kind)kind, rung, text);
    for (int of_warp = 0; of_warp < 2; of_warp++)
        if (differs("a work-item", "meets", "barrier", of_warp ? " of its warp" : "", own->barriers[of_warp],
                    like->barriers[of_warp], rung, text))
            return own->barriers[of_warp] > like->barriers[of_warp] ? 1 : -1;
    return 0;
}
