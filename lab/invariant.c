/* invariant.c - random products with TW_INVARIANT, and their rows in other company. */
#include "invariant.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cuda.h"
#include "element.h"

enum { MOST_ROWS = 4096, MOST_COLUMNS = 4096, MOST_DEPTH = 65536, MOST_SHIFT = 9, MOST_ITEMS = 7 };

typedef struct die {
    uint64_t seed, rolled;
} die;

static uint64_t roll(die *d, uint64_t sides) { return element_mix(d->seed, d->rolled++) % sides; }

/* From 1 to most, log-uniform. */
static int64_t roll_size(die *d, int64_t most)
{
    const double share = (double)(roll(d, 1 << 20) + 1) / (1 << 20);
    const int64_t size = (int64_t)exp(share * log((double)most + 0.5));
    return size < 1 ? 1 : size > most ? most : size;
}

/* A matrix as its caller has it: rows x cols of so many bytes, `ld` apart, from `shift` elements behind its memory's
 * beginning on. */
typedef struct laid {
    char *host, *device; /* device NULL: it lies in the host's memory */
    int64_t bytes, ld, shift, size;
} laid;

static char *first_of(const laid *x) { return (x->device != NULL ? x->device : x->host) + x->shift * x->size; }

/* A product as it is drawn: A m x k, B k x n and the old C m x n without gaps, and what C became. */
typedef struct whole {
    tw_problem problem;
    int64_t a_size, b_size, c_size;
    char *a, *b, *old, *c;
} whole;

/* The rows r to r + m of the whole, as items of so many rows each, from operands that lie so. */
typedef struct company {
    int64_t row, m, items;
    bool a_transposed, b_transposed, on_device;
    int64_t pad[3], shift[3];
    const char *name;
} company;

static void lay(laid *x, const char *from, int64_t rows, int64_t cols, bool transposed)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++)
            memcpy(x->host + (x->shift + (transposed ? j * x->ld + i : i * x->ld + j)) * x->size,
                   from + (i * cols + j) * x->size, (size_t)x->size);
}

static tw_status make_laid(laid *x, cuda *gpu, int64_t rows, int64_t cols, int64_t size, int64_t pad, int64_t shift)
{
    *x = (laid){.ld = cols + pad, .shift = shift, .size = size, .bytes = (shift + rows * (cols + pad)) * size};
    x->host = malloc((size_t)x->bytes);
    if (x->host == NULL) return TW_NO_MEMORY;
    memset(x->host, 0xff, (size_t)x->bytes); /* NaN beside the matrix */
    return gpu == NULL || cuda_allocate(gpu, (size_t)x->bytes, &x->device) ? TW_OK : TW_NO_MEMORY;
}

static void free_laid(laid *x, cuda *gpu)
{
    free(x->host);
    if (gpu != NULL) cuda_release(gpu, &x->device);
}

static bool up(cuda *gpu, const laid *x) { return gpu == NULL || cuda_up(gpu, x->device, x->host, (size_t)x->bytes); }

/* Computes what the company is, and leaves its C in x[2].host. */
static tw_status multiply(invariant_search *s, const whole *w, const company *g, cuda *gpu, laid x[3])
{
    const int64_t m = g->m * g->items, n = w->problem.n, k = w->problem.k;
    tw_problem p = w->problem;
    tw_status status = make_laid(&x[0], gpu, g->a_transposed ? k : m, g->a_transposed ? m : k, w->a_size, g->pad[0],
                                 g->shift[0]);
    if (status == TW_OK)
        status = make_laid(&x[1], gpu, g->b_transposed ? n : k, g->b_transposed ? k : n, w->b_size, g->pad[1],
                           g->shift[1]);
    if (status == TW_OK) status = make_laid(&x[2], gpu, m, n, w->c_size, g->pad[2], g->shift[2]);
    if (status != TW_OK) return status;
    lay(&x[0], w->a + g->row * k * w->a_size, m, k, g->a_transposed);
    lay(&x[1], w->b, k, n, g->b_transposed);
    lay(&x[2], w->old + g->row * n * w->c_size, m, n, false);
    if (!up(gpu, &x[0]) || !up(gpu, &x[1]) || !up(gpu, &x[2])) return TW_DEVICE_FAILED;
    p.m = g->m, p.lda = x[0].ld, p.ldb = x[1].ld, p.ldc = x[2].ld;
    p.op_a = g->a_transposed ? TW_T : TW_N, p.op_b = g->b_transposed ? TW_T : TW_N;
    p.place_a = p.place_b = p.place_c = gpu != NULL ? TW_DEVICE : TW_HOST;
    if (g->items > 1) {
        tw_batch batch = tw_batch_make(&p, g->items);
        batch.stride_a = g->m * (g->a_transposed ? 1 : p.lda), batch.stride_b = 0, batch.stride_c = g->m * p.ldc;
        status = tw_gemm_batched(s->context, &p, &batch, first_of(&x[0]), first_of(&x[1]), first_of(&x[2]));
    } else
        status = tw_gemm(s->context, &p, first_of(&x[0]), first_of(&x[1]), first_of(&x[2]));
    if (status == TW_OK && gpu != NULL && !cuda_down(gpu, x[2].host, x[2].device, (size_t)x[2].bytes))
        status = TW_DEVICE_FAILED;
    return status;
}

static const char *planned(const invariant_search *s, const tw_problem *p)
{
    tw_lab_plan plan;
    return tw_lab_plan_of(s->context, NULL, p, &plan) == TW_OK && plan.kernel != NULL ? plan.kernel->name : "no plan";
}

static void compare(invariant_search *s, const whole *w, const company *g, const laid *c)
{
    const int64_t n = w->problem.n;
    for (int64_t i = 0; i < g->m * g->items && !s->differs; i++, s->rows++) {
        const char *here = c->host + (c->shift + i * c->ld) * c->size, *there = w->c + (g->row + i) * n * c->size;
        int64_t j = 0;
        if (memcmp(here, there, (size_t)(n * c->size)) == 0) continue;
        while (memcmp(here + j * c->size, there + j * c->size, (size_t)c->size) == 0) j++;
        tw_problem p = tw_problem_make(w->problem.dtype, g->a_transposed ? TW_T : TW_N, g->b_transposed ? TW_T : TW_N,
                                       g->m, n, w->problem.k);
        p.dtype_c = w->problem.dtype_c, p.flags = w->problem.flags;
        s->differs = true;
        snprintf(s->text, sizeof s->text,
                 "%s, %" PRId64 " x %" PRId64 " x %" PRId64 ", C in %s: element %" PRId64 ", %" PRId64
                 " is another %s (rows %" PRId64 " to %" PRId64 ", %" PRId64 " at a time, %c%c, in %s memory; near %s)",
                 tw_lab_dtype_of(p.dtype)->name, w->problem.m, n, p.k, tw_lab_dtype_of(p.dtype_c)->name, g->row + i, j,
                 g->name, g->row, g->row + g->m * g->items, g->m, g->a_transposed ? 'T' : 'N',
                 g->b_transposed ? 'T' : 'N', g->on_device ? "device" : "host", planned(s, &p));
    }
    s->products++;
}

static company draw_company(die *d, const whole *w, int kind, bool device)
{
    const int64_t most = w->problem.m;
    company g = {.m = most, .items = 1, .on_device = device && roll(d, 2)};
    if (kind > 0) {
        g.m = roll(d, 2) ? 1 : roll_size(d, most);
        if (kind == 2) g.items = 1 + (int64_t)roll(d, (uint64_t)(most / g.m < MOST_ITEMS ? most / g.m : MOST_ITEMS));
        g.row = (int64_t)roll(d, (uint64_t)(most - g.m * g.items + 1));
    }
    g.name = kind == 0 ? "where operands lie otherwise" : kind == 1 ? "among fewer rows" : "as a row of a batch";
    g.a_transposed = roll(d, 2) && g.items == 1, g.b_transposed = roll(d, 2);
    for (int x = 0; x < 3; x++)
        g.pad[x] = roll(d, 2) ? 0 : (int64_t)roll(d, MOST_SHIFT), g.shift[x] = roll(d, 2) ? 0 : (int64_t)roll(d, 9);
    return g;
}

static tw_status run(invariant_search *s, const whole *w, const company *g, cuda *gpu)
{
    laid x[3] = {{0}};
    cuda *where = g->on_device ? gpu : NULL;
    tw_status status = multiply(s, w, g, where, x);
    if (status == TW_OK && g->name == NULL)
        for (int64_t i = 0; i < g->m; i++)
            memcpy(w->c + i * w->problem.n * w->c_size, x[2].host + i * x[2].ld * w->c_size,
                   (size_t)(w->problem.n * w->c_size));
    else if (status == TW_OK)
        compare(s, w, g, &x[2]);
    for (int i = 0; i < 3; i++) free_laid(&x[i], where);
    return status;
}

static bool fill(const element *e, char *to, int64_t rows, int64_t cols, uint64_t seed)
{
    double *row = malloc((size_t)cols * sizeof *row);
    if (row == NULL) return false;
    for (int64_t i = 0; i < rows; i++) {
        element_uniforms(e, seed, (uint64_t)(i * cols), 1, cols, row, 1);
        e->store(to, i * cols, cols, row);
    }
    free(row);
    return true;
}

/* A row of zeros, of which each has another sign. */
static void fill_zeros(const element *e, char *to, int64_t row, int64_t cols)
{
    for (int64_t j = 0; j < cols; j++) e->store(to, row * cols + j, 1, (const double[]){j % 2 ? -0.0 : 0.0});
}

static tw_problem draw_problem(const invariant_search *s, die *d)
{
    const element *e = element_of(s->dtype);
    const int64_t k = roll_size(d, MOST_DEPTH), left = s->most_work / k > 1 ? s->most_work / k : 1,
                  n = roll_size(d, left < MOST_COLUMNS ? left : MOST_COLUMNS), rest = left / n > 1 ? left / n : 1,
                  m = roll_size(d, rest < MOST_ROWS ? rest : MOST_ROWS);
    tw_problem p = tw_problem_make(s->dtype, TW_N, TW_N, m, n, k);
    p.flags = s->flags, p.dtype_c = e->result;
    if (e->bytes == 2 && !e->integer && roll(d, 2)) p.dtype_c = s->dtype;
    if (roll(d, 2)) p.alpha = e->integer ? 3 : 0.7;
    if (roll(d, 2)) p.beta = e->integer ? -2 : 0.3;
    return p;
}

tw_status invariant_draw(invariant_search *s, uint64_t number)
{
    enum { KINDS = 3 };
    die d = {.seed = element_mix(s->seed, number)};
    whole w = {.problem = draw_problem(s, &d)};
    const tw_problem *p = &w.problem;
    const element *e = element_part(p->dtype), *of_c = element_part(p->dtype_c);
    const int parts = element_of(p->dtype)->parts;
    cuda gpu = {0};
    tw_status status = TW_OK;
    w.a_size = w.b_size = (int64_t)e->bytes * parts, w.c_size = (int64_t)of_c->bytes * parts;
    w.a = malloc((size_t)(p->m * p->k * w.a_size)), w.b = malloc((size_t)(p->k * p->n * w.b_size));
    w.old = malloc((size_t)(p->m * p->n * w.c_size)), w.c = malloc((size_t)(p->m * p->n * w.c_size));
    if (w.a == NULL || w.b == NULL || w.old == NULL || w.c == NULL) status = TW_NO_MEMORY;
    if (status == TW_OK && s->cuda_device >= 0 && !cuda_open(&gpu, s->cuda_device)) status = TW_DEVICE_FAILED;
    const bool filled = status == TW_OK && fill(e, w.a, p->m, p->k * parts, d.seed + 1) &&
                        fill(e, w.b, p->k, p->n * parts, d.seed + 2) &&
                        fill(of_c, w.old, p->m, p->n * parts, d.seed + 3);
    if (status == TW_OK && !filled) status = TW_NO_MEMORY;
    if (status == TW_OK) {
        if (!e->integer && roll(&d, 4) == 0) fill_zeros(e, w.a, (int64_t)roll(&d, (uint64_t)p->m), p->k * parts);
        status = run(s, &w, &(company){.m = p->m, .items = 1, .on_device = s->cuda_device >= 0 && roll(&d, 2)}, &gpu);
    }
    for (int kind = 0; status == TW_OK && !s->differs && kind < KINDS; kind++) {
        const company g = draw_company(&d, &w, kind, s->cuda_device >= 0);
        status = run(s, &w, &g, &gpu);
    }
    if (status != TW_OK && gpu.why[0] != '\0') snprintf(s->text, sizeof s->text, "%s", gpu.why);
    if (s->cuda_device >= 0) cuda_close(&gpu);
    free(w.a), free(w.b), free(w.old), free(w.c);
    return status;
}
