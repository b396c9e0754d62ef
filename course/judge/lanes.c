/* lanes.c - see lanes.h. */
#include "lanes.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "../../lab/bench/workers.h"
#include "../../lab/measure.h"
#include "../../lab/mistake.h"
#include "../../program/confine.h"
#include "../story.h"
#include "user_kernel.h"
#include "witness.h"

enum { WARP = ACCESS_WARP, HALF = WARP / 2, MOST_EVENTS = 4096, LEAST_LD = 160 };

static const double LIMIT_S = 10;
static const char NOT_CONFINED[] = "its process could not be confined";

/* ---- one inner group, seen ---- */

typedef struct event {
    int64_t address;
    signed char what, words; /* access_kind; -1: tile memory, whose kind is not known yet */
    bool store;
} event;

enum { TILE_WORDS = 1 << 16 };

/* What is seen, in the process of the kernel. */
typedef struct sight {
    lanes *out;
    host_run run;
    witness *witness;
    bool watches;             /* accesses are kept */
    host_place inner;         /* the group whose accesses are kept */
    char unwatched[HOST_WHY]; /* why they no longer are; else "" */
    int threads;
    int count[HOST_MOST_THREADS];
    event *events;                 /* MOST_EVENTS for each work-item */
    signed char owner[TILE_WORDS]; /* of a word of the tiles, as a work-item reads it: -1 A's, 1 B's, 0 not known */
} sight;

static bool is_inner(const sight *s, host_place block) { return block.x == s->inner.x && block.y == s->inner.y; }

static bool end(lanes *out, lanes_outcome outcome) { return out->outcome = outcome, false; }

/* Elements of A are negative, of B positive: what lies in a tile's word says whose tile it is. */
static void note_owner(sight *s, const host_access *access)
{
    float word;
    if (access->store || access->where != HOST_TILES) return;
    for (int64_t i = 0, at = access->address / 4; i < access->bytes / 4 && at + i < TILE_WORDS; i++) {
        memcpy(&word, (const char *)access->at + 4 * i, sizeof word);
        if (word < 0 || word > 0) s->owner[at + i] = word < 0 ? -1 : 1;
    }
}

static void watch(sight *s, host_place block, int thread, const host_access *access)
{
    static const signed char kinds[] = {LOAD_A, LOAD_B, STORE_C, -1};
    const int i = s->count[thread];
    const bool of_words = access->bytes == 4 || access->bytes == 16; /* a float, a float4 */
    if (!s->watches || !is_inner(s, block)) return;
    note_owner(s, access);
    if (i < MOST_EVENTS && of_words && access->where < HOST_OUTSIDE) {
        s->events[thread * MOST_EVENTS + i] = (event){.address = access->address,
                                                      .what = kinds[access->where],
                                                      .words = (signed char)(access->bytes / 4),
                                                      .store = access->store};
        s->count[thread]++;
        return;
    }
    if (i == MOST_EVENTS)
        snprintf(s->unwatched, HOST_WHY, "a work-item has more than %d accesses", MOST_EVENTS);
    else
        snprintf(s->unwatched, HOST_WHY, "a work-item has an access of %d bytes", access->bytes);
    s->watches = false;
}

static bool see(void *job, host_place block, int thread, const host_access *access)
{
    sight *s = job;
    watch(s, block, thread, access);
    return witness_see(s->witness, block, thread, access);
}

/* Whose tile is it? What is read there says, else what lies there at the end. */
static void name_tiles(void *job, host_place block, const char *tiles)
{
    sight *s = job;
    witness_next_group(s->witness);
    if (!s->watches || !is_inner(s, block)) return;
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

static lanes_degree degree_of(access_kind what, const int64_t address[WARP], int words)
{
    access_cost now = access_price(ERA_NOW, what, address, words);
    if (!access_is_global(what)) return (lanes_degree){.wavefronts = (int)now.transactions};
    return (lanes_degree){(int)now.transactions, (int)now.lines, (int)now.used, 0};
}

/* Transactions or conflicts of a warp's first half. */
static int of_half(access_era era, access_kind what, const int64_t address[WARP], int words)
{
    int64_t half[WARP];
    for (int i = 0; i < WARP; i++) half[i] = i < HALF ? address[i] : -1;
    return (int)access_price(era, what, half, words).transactions;
}

int lanes_cost(const lanes_degree *d) { return d->sectors + d->wavefronts; }

static void add_request(lanes_kind *kind, access_kind what, const int64_t address[WARP], int words)
{
    lanes_degree d = degree_of(what, address, words);
    int old[2] = {of_half(ERA_1_0, what, address, words),
                  access_is_global(what) ? of_half(ERA_1_2, what, address, words) : 0};
    kind->total += lanes_cost(&d);
    bool same = memcmp(&kind->at, &d, sizeof d) == 0 && memcmp(kind->old, old, sizeof old) == 0;
    if (kind->requests++ > 0 && (same || lanes_cost(&d) <= lanes_cost(&kind->at))) {
        kind->alike += same;
        return;
    }
    kind->at = d, kind->alike = 1, kind->words = words;
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
            if (s->count[first + lane] != s->count[first] || e->what != lead->what || e->store != lead->store ||
                e->words != lead->words) {
                snprintf(s->out->why, HOST_WHY, "lanes of one warp part ways in an inner group");
                return end(s->out, LANES_UNJUDGED);
            }
            address[lane] = e->address;
        }
        add_request(kind, (access_kind)lead->what, address, lead->words);
        if (first == 0) kind->per_thread++;
    }
    return true;
}

/* ---- one product ---- */

/* A launch of the kernel: shape and scalars. */
typedef struct trial {
    tw_problem problem;
    tw_lab_launch launch;
    bool is_wide; /* its text may load and store vectors */
} trial;

enum { NOT_TRANSPOSED = 6, MOST_TRIALS = 9 }; /* as many without transposes come first */

typedef struct work {
    int count;
    trial trials[MOST_TRIALS];
    bool watches; /* the accesses of the first are kept */
    bool orders;  /* the kernel itself says which tile of C a group computes */
    bool any_ops; /* some trials have transposes */
    int tile[3];  /* of C, and of k */
    const char *entry;
    bool cuda;
    int library;
    const char *folder; /* as confined_in */
    int seconds;
} work;

static size_t span(int64_t rows, int64_t cols, int64_t ld) { return sizeof(float) * (size_t)((rows - 1) * ld + cols); }

/* Numbers without a pattern, so that an exchange of any two rows or columns shows: integers from 1 to 7 of this sign,
 * or with `any` quarters of both signs; sums of their products are exact. What lies beyond a row's end, and behind the
 * last, is NaN. */
static void fill(float *x, size_t bytes, int64_t cols, int64_t ld, int sign, bool any)
{
    uint32_t state = sign < 0 ? 1 : 2;
    memset(x, 0xff, bytes + WITNESS_GAP);
    for (size_t i = 0; i < bytes / sizeof *x; i++) {
        state = state * 1664525 + 1013904223;
        const int number = (int)(1 + (state >> 16) % 7), other = (state >> 24) % 2 == 0 ? number : -number;
        if ((int64_t)(i % (size_t)ld) < cols) x[i] = any ? 0.25f * (float)other : (float)(sign * number);
    }
}

static bool transposes_b(const trial *t) { return t->launch.transposes_b != 0 || t->problem.op_b == TW_T; }

/* C before the product: NaN where it must not be read, another number beyond a row's end. */
static float c_before(const host_run *r, size_t i)
{
    const float beyond = -77;
    return i % (size_t)r->ldc >= (size_t)r->n ? beyond : r->beta == 0 ? NAN : (float)(1 + i % 3);
}

static double a_at(const host_run *r, long i, long p) { return r->a[r->op_a ? p * r->lda + i : i * r->lda + p]; }
static double b_at(const host_run *r, long p, long j) { return r->b[r->op_b ? j * r->ldb + p : p * r->ldb + j]; }

static bool same(double x, double y) { return x == y || (isnan(x) && isnan(y)); }

/* "at 29 x 59 x 73 with B transposed, alpha 2 and beta 3: " */
static void name_trial(const trial *t, char text[HOST_WHY])
{
    static const char *const ops[] = {"", "A transposed", "B transposed", "A and B transposed"};
    const tw_problem *p = &t->problem;
    const char *op = ops[(p->op_a == TW_T) + 2 * (p->op_b == TW_T)];
    const bool scaled = p->alpha != 1 || p->beta != 0;
    int used = snprintf(text, HOST_WHY, "at %lld x %lld x %lld%s%s", (long long)p->m, (long long)p->n, (long long)p->k,
                        op[0] != '\0' || scaled ? " with " : "", op);
    if (scaled)
        used += snprintf(text + used, HOST_WHY - (size_t)used, "%salpha %g and beta %g", op[0] != '\0' ? ", " : "",
                         p->alpha, p->beta);
    snprintf(text + used, HOST_WHY - (size_t)used, ": ");
}

/* The trial is wrong, by what. */
static void is_wrong(const sight *s, const trial *t, const char *what)
{
    name_trial(t, s->out->why);
    const size_t used = strlen(s->out->why);
    snprintf(s->out->why + used, HOST_WHY - used, "%s", what);
    end(s->out, LANES_WRONG);
}

/* Dense copies of the operands and both Cs. false: no memory. */
static bool make_product(const sight *s, mistake_product *x)
{
    const host_run *r = &s->run;
    const int64_t m = r->m, n = r->n, k = r->k;
    double *a = malloc((size_t)(m * k + k * n + 3 * m * n) * sizeof *a);
    if (a == NULL) return false;
    double *b = a + m * k, *before = b + k * n, *found = before + m * n, *expected = found + m * n;
    for (int64_t i = 0; i < m; i++)
        for (int64_t p = 0; p < k; p++) a[i * k + p] = a_at(r, i, p);
    for (int64_t p = 0; p < k; p++)
        for (int64_t j = 0; j < n; j++) b[p * n + j] = b_at(r, p, j);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            const int64_t e = i * n + j;
            double sum = 0;
            for (int64_t p = 0; p < k; p++) sum += a[i * k + p] * b[p * n + j];
            before[e] = c_before(r, (size_t)(i * r->ldc + j));
            found[e] = r->c[i * r->ldc + j];
            expected[e] = r->alpha * sum + (r->beta == 0 ? 0 : r->beta * before[e]);
        }
    *x = (mistake_product){.m = m,
                           .n = n,
                           .k = k,
                           .alpha = r->alpha,
                           .beta = r->beta,
                           .unset = (double)HOST_UNSET,
                           .a = a,
                           .b = b,
                           .before = before,
                           .found = found,
                           .expected = expected};
    return true;
}

/* Of a wrong element: what explains it, and where it stands. */
static void name_wrong(const sight *s, const trial *t, const mistake_product *x, int64_t wrong)
{
    char what[HOST_WHY], part[MISTAKE_BYTES];
    const int64_t row = wrong / x->n, col = wrong % x->n;
    if (s->run.early[0] != '\0')
        snprintf(what, sizeof what, "%s", s->run.early);
    else if (mistake_of(x, part))
        snprintf(what, sizeof what, "%s", part);
    else if (!witness_name(s->witness, true, what) && !witness_name(s->witness, false, what))
        snprintf(what, sizeof what, "%s", mistake_part(x, part) ? part : "C is wrong in all rows and columns");
    const size_t used = strlen(what);
    const double found = x->found[wrong], expected = x->expected[wrong];
    char number[40] = "NaN";
    if (!isnan(found)) snprintf(number, sizeof number, "%g", found);
    snprintf(what + used, sizeof what - used, "; C[%lld, %lld] is %s, expected %g", (long long)row, (long long)col,
             number, expected);
    is_wrong(s, t, what);
}

/* Is C right, and was nothing outside of it stored, nor loaded from outside of A and B? */
static bool is_right(const sight *s, const trial *t)
{
    mistake_product x;
    int64_t wrong = 0;
    if (!make_product(s, &x)) return false;
    while (wrong < x.m * x.n && same(x.found[wrong], x.expected[wrong])) wrong++;
    const bool right = wrong == x.m * x.n;
    if (!right)
        name_wrong(s, t, &x, wrong);
    else if (witness_is_faulty(s->witness))
        is_wrong(s, t, witness_outside(s->witness));
    free((double *)(uintptr_t)x.a);
    return right && !witness_is_faulty(s->witness);
}

/* One launch, and what is wrong with it. */
static bool judge_launch(const host_kernel *kernel, const work *w, const trial *t, sight *s)
{
    host_run *r = &s->run;
    if ((s->witness = witness_open(r, w->tile)) == NULL) return false;
    bool right = host_launch(kernel, r);
    const char *why = r->fault[0] != '\0' ? r->fault : witness_why(s->witness);
    if (right)
        right = is_right(s, t);
    else if (why[0] != '\0')
        is_wrong(s, t, why);
    const bool raced = strncmp(why, "no barrier", 10) == 0;
    if (raced && r->fences + r->of_global > 0) {
        const size_t used = strlen(s->out->why);
        snprintf(s->out->why + used, HOST_WHY - used, "%s",
                 r->fences > 0 ? "; a fence makes no work-item wait"
                               : "; barrier(CLK_GLOBAL_MEM_FENCE) orders global memory alone");
    }
    if (!witness_group_of(s->witness, w->tile[0], w->tile[1], &s->inner)) s->inner = (host_place){1, 1, 0};
    witness_close(s->witness);
    return right;
}

/* The product, watched or not. false: s->out says what is wrong. */
static bool run_trial(const host_kernel *kernel, const work *w, const trial *t, bool watches, sight *s)
{
    const tw_problem *p = &t->problem;
    const bool op_a = p->op_a == TW_T, op_b = transposes_b(t);
    host_run *r = &s->run;
    *r = (host_run){.m = (int)p->m,
                    .n = (int)p->n,
                    .k = (int)p->k,
                    .alpha = (float)p->alpha,
                    .beta = (float)p->beta,
                    .op_a = op_a,
                    .op_b = op_b,
                    .lda = p->lda,
                    .ldb = t->launch.transposes_b ? LEAST_LD : p->ldb,
                    .ldc = p->ldc,
                    .grid = {(unsigned)t->launch.grid_x, (unsigned)t->launch.grid_y, 1},
                    .size = {(unsigned)t->launch.threads_x, (unsigned)t->launch.threads_y, 1},
                    .note = see,
                    .after_block = name_tiles,
                    .job = s,
                    .ends_early = w->cuda};
    r->a_bytes = op_a ? span(r->k, r->m, r->lda) : span(r->m, r->k, r->lda), r->c_bytes = span(r->m, r->n, r->ldc);
    r->b_bytes = op_b ? span(r->n, r->k, r->ldb) : span(r->k, r->n, r->ldb);
    s->threads = (int)(r->size.x * r->size.y), s->watches = watches;
    float *a = malloc(r->a_bytes + WITNESS_GAP), *b = malloc(r->b_bytes + WITNESS_GAP);
    r->a = a, r->b = b, r->c = malloc(r->c_bytes + WITNESS_GAP);
    bool right = false;
    if (a != NULL && b != NULL && r->c != NULL) {
        const bool any = t != w->trials || !w->watches; /* in the first their signs say whose a tile is */
        fill(a, r->a_bytes, op_a ? r->m : r->k, r->lda, -1, any);
        fill(b, r->b_bytes, op_b ? r->k : r->n, r->ldb, 1, any);
        for (size_t i = 0; i < r->c_bytes / sizeof *r->c; i++) r->c[i] = c_before(r, i);
        right = judge_launch(kernel, w, t, s);
        if (watches) memcpy(s->out->barriers, r->barriers, sizeof r->barriers);
        const unsigned all = r->grid.x * r->grid.y * (unsigned)s->threads;
        if (watches) s->out->rolled = (int)(r->rolled / all), s->out->asked = (int)(r->asked / all);
    }
    free(a), free(b), free(r->c);
    return right;
}

/* ---- in a process of its own ---- */

/* What its parents had open is not for it. */
static void close_others(int library, int answers)
{
    const long most = sysconf(_SC_OPEN_MAX);
    for (int file = 0; file < (most > 0 && most < 4096 ? most : 4096); file++)
        if (file != library && file != answers) close(file);
}

static void look(const work *w, sight *s, int answers)
{
    host_kernel kernel;
    s->events = calloc((size_t)HOST_MOST_THREADS * MOST_EVENTS, sizeof *s->events);
    if (s->events == NULL) return;
    if (w->folder != NULL) close_others(w->library, answers);
    if (w->folder != NULL && !confine_loading(w->folder, w->seconds)) {
        snprintf(s->out->why, HOST_WHY, "%s", NOT_CONFINED);
        return;
    }
    if (!host_load(w->library, w->entry, &kernel, s->out->why)) {
        end(s->out, LANES_NOT_C);
        return;
    }
    if (w->folder != NULL && !confine_computing(answers)) {
        snprintf(s->out->why, HOST_WHY, "%s", NOT_CONFINED);
        return;
    }
    s->inner = (host_place){1, 1, 0};
    if (w->watches && w->orders && !run_trial(&kernel, w, &w->trials[0], false, s)) return; /* which group is it? */
    for (int i = 0; i < w->count; i++)
        if (!run_trial(&kernel, w, &w->trials[i], i == 0 && w->watches, s)) return;
    s->out->outcome = LANES_SEEN;
    snprintf(s->out->why, HOST_WHY, "%s", s->unwatched);
    if (s->unwatched[0] != '\0') end(s->out, LANES_UNJUDGED);
    for (int first = 0; w->watches && s->out->outcome == LANES_SEEN && first < s->threads; first += WARP)
        add_warp(s, first);
}

typedef struct answer {
    uint64_t token; /* that of the order */
    lanes seen;
} answer;

/* Ends with the process, which frees all. */
static void look_apart(void *job, int orders, int answers)
{
    static sight s;
    answer given = {.seen = {.outcome = LANES_FAILED, .why = "memory ran out"}};
    s.out = &given.seen;
    if (!worker_take(orders, &given.token, sizeof given.token)) return;
    /* a text that would answer by itself must find out where to, and by which number it is known */
    const int place = fcntl(answers, F_DUPFD_CLOEXEC, 16 + (int)(given.token % 200));
    look(job, &s, place < 0 ? answers : place);
    worker_give(place < 0 ? answers : place, &given, sizeof given);
}

static uint64_t some_number(void)
{
    uint64_t number = 0;
    FILE *random = fopen("/dev/urandom", "rb");
    if (random == NULL || fread(&number, sizeof number, 1, random) != 1) number = (uint64_t)(measure_now_s() * 1e9);
    if (random != NULL) fclose(random);
    return number;
}

static void run_apart(const work *w, const lanes_question *q, lanes *out)
{
    worker_process process;
    const uint64_t token = some_number();
    answer given;
    char how[200];
    work own = *w;
    /* of a stranger the processor's time is limited: how busy the machine is must not decide */
    const double limit_s = q->limit_s > 0 ? q->limit_s : LIMIT_S;
    const double wall_s = w->folder != NULL ? 20 * limit_s + 60 : limit_s;
    if (!worker_start(q->hooks, &process, 0, look_apart, &own)) {
        snprintf(out->why, HOST_WHY, "no process could be started");
        out->outcome = LANES_FAILED;
    } else if (!worker_ask(&process, &token, sizeof token, &given, sizeof given, wall_s, how, sizeof how)) {
        const bool endless = process.late || process.ended_by == SIGXCPU;
        snprintf(out->why, HOST_WHY, "it %s%s", process.ended_by == SIGXCPU ? "did not end" : how,
                 endless ? ": does each of its loops end? --deadline SECONDS waits longer" : "");
        out->outcome = LANES_CRASHED;
        if (w->folder != NULL && process.late) { /* it had not enough of the processor: others had */
            snprintf(out->why, HOST_WHY, "this machine was too busy: in %.0f s it had not %d s of a processor", wall_s,
                     w->seconds);
            out->outcome = LANES_FAILED;
        }
    } else {
        lanes *seen = &given.seen;
        seen->why[HOST_WHY - 1] = '\0';
        seen->tile = out->tile, seen->k = out->k;
        if (seen->outcome == LANES_NONE || seen->outcome > LANES_FAILED ||
            given.token != token) /* it is the text that says so */
            *seen = (lanes){.outcome = LANES_WRONG, .why = "it answers in its judge's place"};
        for (char *c = seen->why; *c != '\0'; c++)
            if ((unsigned char)*c < ' ' || *c == 127) *c = '?';
        *out = *seen;
    }
    worker_end(&process);
    close(w->library);
}

/* ---- which products ---- */

/* Of which kernels: all; those that load vectors where rows begin at whole ones, as here; those that order the tiles of
 * C themselves, as in bands of 8, of which this has one and a part. */
typedef enum shape_of { OF_ALL, OF_VECTORS, OF_ORDERS } shape_of;

/* One of `tiles` tiles in m, n and k, of which the last are cut by so much. */
typedef struct shape {
    int tiles[3], cut[3];
    tw_op op_a, op_b;
    double alpha, beta;
    shape_of of;
} shape;

/* The first product is watched: the group in its middle has no edge tiles. The others have different numbers of tiles
 * in m, n and k, and different leading dimensions. One is less than a tile deep, one a step less than whole tiles, and
 * one a step more: a number of tiles that is wrong by one shows nowhere else. Where vectors are loaded, B ends with a
 * whole tile once, and once within one. */
static const shape shapes[MOST_TRIALS] = {{{3, 3, 3}, {0, 0, 0}, TW_N, TW_N, 1, 0},
                                          {{2, 4, 3}, {3, 5, 0}, TW_N, TW_N, 1, 0, OF_VECTORS},
                                          {{2, 3, 3}, {3, 5, 7}, TW_N, TW_N, 0.5, -0.25, OF_VECTORS},
                                          {{2, 4, 5}, {3, 5, 7}, TW_N, TW_N, 2, 3},
                                          {{4, 2, 1}, {3, 5, 1}, TW_N, TW_N, -1.5, 0},
                                          {{10, 2, 1}, {3, 5, 1}, TW_N, TW_N, 1, 0, OF_ORDERS},
                                          {{2, 4, 3}, {3, 5, 15}, TW_T, TW_N, 2, 3},
                                          {{2, 4, 3}, {3, 5, 7}, TW_N, TW_T, 2, 3},
                                          {{3, 2, 4}, {3, 5, 7}, TW_T, TW_T, 0.5, -0.25}};

static int64_t whole_vectors(int64_t ld) { return (ld + 3) / 4 * 4; }

static tw_problem problem_of(const lanes_question *q, const work *w, const shape *x)
{
    const int k = q->kernel->skinny ? w->tile[2] : x->tiles[2] * w->tile[2] - x->cut[2];
    tw_problem p = tw_problem_make(TW_F32, x->op_a, x->op_b, x->tiles[0] * w->tile[0] - x->cut[0],
                                   x->tiles[1] * w->tile[1] - x->cut[1], k);
    p.alpha = x->alpha, p.beta = x->beta;
    if (x != shapes) {
        p.lda += 6, p.ldb += 10, p.ldc += 17;
        if (x->of == OF_VECTORS)
            p.lda = whole_vectors(p.lda), p.ldb = whole_vectors(p.ldb), p.ldc = whole_vectors(p.ldc);
        return p;
    }
    if (!q->kernel->skinny) p.lda = LEAST_LD; /* the A of NVIDIA Best Practices is T wide */
    p.ldb = p.n > 4 * LEAST_LD ? (p.n + WARP - 1) / WARP * WARP : 4 * LEAST_LD; /* whole lines */
    p.ldc = p.ldb + WARP;
    return p;
}

/* false: out says why the kernel cannot be judged. A kernel that refuses a transpose is not asked for it. */
static bool plan_trial(const lanes_question *q, const shape *x, work *w, lanes *out)
{
    const tw_lab_choice choice = {.kernel = q->kernel->name, .tile = q->tile, .source = q->source};
    trial *t = &w->trials[w->count];
    *t = (trial){.problem = problem_of(q, w, x)};
    if (tw_lab_launch_of(&choice, &t->problem, &t->launch) != TW_OK) {
        if (x->op_a == TW_T || x->op_b == TW_T) return true;
        snprintf(out->why, HOST_WHY, "%s", tw_error_text());
        return end(out, LANES_UNJUDGED);
    }
    t->is_wide = strstr(t->launch.options, "-DWIDE=1") != NULL;
    if ((x->of == OF_VECTORS && !t->is_wide) || (x->of == OF_ORDERS && !w->orders)) return true;
    w->count++;
    w->any_ops = w->any_ops || x->op_a == TW_T || x->op_b == TW_T;
    const bool orders = t->launch.grid_x != x->tiles[1] || t->launch.grid_y != x->tiles[0];
    w->orders = w->orders || orders;
    if (!orders || t->launch.grid_x * t->launch.grid_y == x->tiles[0] * x->tiles[1]) return true;
    snprintf(out->why, HOST_WHY, "a group of it computes several tiles of C");
    return end(out, LANES_UNJUDGED);
}

/* A rung of the table is right: it is watched, and no more. */
static bool plan_trials(const lanes_question *q, work *w, lanes *out)
{
    const tw_lab_kernel *k = q->kernel;
    const int tile = q->tile > 0 ? q->tile : k->default_tile > 0 ? k->default_tile : 16;
    w->tile[0] = k->tile_m > 1 ? k->tile_m : tile, w->tile[1] = k->tile_n > 1 ? k->tile_n : tile, w->tile[2] = tile;
    for (int i = 0; i < (q->source == NULL ? 1 : q->transposes ? MOST_TRIALS : NOT_TRANSPOSED); i++) {
        if (i == NOT_TRANSPOSED && w->trials[0].launch.transposes_b) break;
        if (!plan_trial(q, &shapes[i], w, out)) return false;
    }
    out->tile = tile, out->k = (int)w->trials[0].problem.k;
    return true;
}

static lanes_outcome outcome_of(host_built built)
{
    return built == HOST_UNABLE ? LANES_UNABLE : built == HOST_NOT_C ? LANES_NOT_C : LANES_FAILED;
}

/* Compile the text with these options, and do the work. */
static void judge_built(const lanes_question *q, const char *text, const char *more, work *w, lanes *out)
{
    char options[sizeof w->trials[0].launch.options + 192];
    snprintf(options, sizeof options, "%s %s %s%s", w->trials[0].launch.options, more,
             q->options != NULL ? q->options : "", w->folder != NULL ? " -DHOST_CONFINED -Wl,-z,defs" : "");
    host_built built = host_compile(q->kernel->engine, options, text, &w->library, out->why);
    if (built == HOST_BUILT)
        run_apart(w, q, out);
    else
        end(out, outcome_of(built));
}

/* Does one compilation serve both; any_ops: whatever their transposes are? */
static bool alike(const trial *x, const trial *y, bool any_ops)
{
    const bool ops = x->problem.op_a == y->problem.op_a && x->problem.op_b == y->problem.op_b;
    return x->is_wide == y->is_wide && (any_ops || ops);
}

/* With a compilation for each set of options. */
static void judge_parts(const lanes_question *q, const char *text, bool any_ops, const work *w, lanes *out)
{
    for (int i = 0; i < w->count && (i == 0 || out->outcome == LANES_SEEN || out->outcome == LANES_UNJUDGED);) {
        lanes found = *out;
        work part = *w;
        part.watches = i == 0, part.count = 0;
        for (const trial *first = &w->trials[i]; i < w->count && alike(first, &w->trials[i], any_ops); i++)
            part.trials[part.count++] = w->trials[i];
        judge_built(q, text, any_ops ? "-DOP_A=(host_now.op_a) -DOP_B=(host_now.op_b)" : "", &part, &found);
        if (part.watches || found.outcome != LANES_SEEN) *out = found;
    }
}

/* One compilation serves all transposes, unless the text tests OP_A or OP_B in the preprocessor. */
static void judge(const lanes_question *q, const char *text, const work *w, lanes *out)
{
    judge_parts(q, text, w->any_ops, w, out);
    if (w->any_ops && out->outcome == LANES_NOT_C) judge_parts(q, text, false, w, out);
}

void lanes_see(const lanes_question *q, lanes *out)
{
    user_kernel row = {0};
    work w = {.cuda = strcmp(q->kernel->engine, "cuda") == 0,
              .folder = q->confined_in,
              .seconds = (int)(q->limit_s > 0 ? q->limit_s : LIMIT_S) + 1};
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
    if (!w.cuda && !host_local_is_plain(source->text)) {
        snprintf(out->why, HOST_WHY,
                 "__local is not the first word of a declaration: tiles declared otherwise are not judged");
        end(out, LANES_UNJUDGED);
        user_kernel_free(&row);
        return;
    }
    w.entry = source->entry;
    judge(q, source->text, &w, out);
    user_kernel_free(&row);
}
