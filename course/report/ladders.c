/* ladders.c - see ladders.h. */
#include "ladders.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "../story.h"

/* As the record says it. */
static const char *own_rung(const records_row *row)
{
    if (row->r.rung == NULL && row->r.library != NULL) return row->r.library;
    return row->r.rung != NULL ? row->r.rung : row->r.kernel;
}

static bool is_rung(const tw_lab_kernel *kernel, const char *rung)
{
    return strcmp(kernel->rung, rung) == 0 || (kernel->formerly != NULL && strcmp(kernel->formerly, rung) == 0);
}

const tw_lab_kernel *row_kernel(const records_row *row)
{
    const tw_lab_kernel *kernel = tw_lab_kernel_named(row->r.kernel);
    if (kernel != NULL) return kernel;
    for (int i = 0; (kernel = tw_lab_kernel_at(i)) != NULL; i++)
        if (strcmp(kernel->engine, row->r.engine) == 0 && is_rung(kernel, own_rung(row))) return kernel;
    return NULL;
}

const char *row_rung(const records_row *row)
{
    const tw_lab_kernel *kernel = row_kernel(row);
    const char *rung = own_rung(row);
    return kernel != NULL && is_rung(kernel, rung) ? kernel->rung : rung;
}

static bool is_numbered(const char *rung) { return rung[0] != '\0' && rung[1] >= '0' && rung[1] <= '9'; }

int rung_compare(const char *a, const char *b)
{
    bool a_first = is_numbered(a), b_first = is_numbered(b);
    return a_first != b_first ? (a_first ? -1 : 1) : strcmp(a, b);
}

bool row_timed(const records_row *row) { return !row->counted && row->r.refused == NULL && row->r.median_s > 0; }

bool row_is_cliff(const records_row *row)
{
    const record *r = &row->r;
    const double ratio = r->median_s / r->friendlier_s;
    return row_timed(row) && r->friendlier_s > 0 && r->m > 0 && r->n > 0 && r->k > 0 && isfinite(ratio) && ratio > 0;
}

double row_speed(const records_row *row)
{
    return row != NULL && row_timed(row) && row->r.gflops > 0 ? row->r.gflops : (double)NAN;
}

/* ---- sorting ---- */

typedef struct entry {
    const records_row *row;
    int machine, order;
} entry;

double row_operand_bytes(const records_row *row)
{
    const record *r = &row->r;
    const tw_lab_dtype *type = tw_lab_dtype_named(r->dtype);
    return type != NULL ? ((double)r->m * (double)r->k + (double)r->k * (double)r->n) * type->bytes : (double)NAN;
}

double row_no_cache_gflops(const records_row *row)
{
    const record *r = &row->r;
    return r->no_cache_gflops > 0 ? fmin(r->no_cache_gflops, r->peak_gflops > 0 ? r->peak_gflops : INFINITY)
                                  : (double)NAN;
}

static bool is_skinny(const records_row *row)
{
    const char *rung = row_rung(row);
    return rung[0] == 's' && rung[1] >= '0' && rung[1] <= '9';
}

static bool is_wide(const records_row *row) { return strcmp(row->r.dtype, "f64") == 0; }

static bool is_default(const records_row *row) { return row->r.build != NULL && strcmp(row->r.build, "default") == 0; }

static int compare_int(int64_t a, int64_t b) { return (a > b) - (a < b); }

/* The ladder that a record belongs to, still without steps. What a record does not say is as this program has it
 * unless asked. */
static ladder ladder_of(const entry *x)
{
    const record *r = &x->row->r;
    ladder l = {.machine = x->machine,
                .m = r->m,
                .n = r->n,
                .k = r->k,
                .op_a = r->op_a == 't' ? 't' : 'n',
                .op_b = r->op_b == 't' ? 't' : 'n',
                .batch = r->batch,
                .library = r->library != NULL,
                .skinny = is_skinny(x->row),
                .wide = is_wide(x->row)};
    l.lda = r->lda >= 0 ? r->lda : l.op_a == 't' ? l.m : l.k;
    l.ldb = r->ldb >= 0 ? r->ldb : l.op_b == 't' ? l.k : l.n;
    l.ldc = r->ldc >= 0 ? r->ldc : l.n;
    l.align_a = r->align_a >= 0 ? r->align_a : LADDER_ALIGN;
    l.align_b = r->align_b >= 0 ? r->align_b : LADDER_ALIGN;
    l.align_c = r->align_c >= 0 ? r->align_c : LADDER_ALIGN;
    l.alpha = isnan(r->alpha) ? 1 : r->alpha, l.beta = isnan(r->beta) ? 0 : r->beta;
    return l;
}

/* The whole problem counts: no two of different leading dimensions, alignments or scalars are one point. */
static int compare_problem(const ladder *a, const ladder *b)
{
    const int64_t of_a[] = {a->machine, a->library, a->skinny, a->wide, a->m,       a->n,       a->k,       a->op_a,
                            a->op_b,    a->lda,     a->ldb,    a->ldc,  a->align_a, a->align_b, a->align_c, a->batch};
    const int64_t of_b[] = {b->machine, b->library, b->skinny, b->wide, b->m,       b->n,       b->k,       b->op_a,
                            b->op_b,    b->lda,     b->ldb,    b->ldc,  b->align_a, b->align_b, b->align_c, b->batch};
    int c = 0;
    for (size_t i = 0; c == 0 && i < sizeof of_a / sizeof *of_a; i++) c = compare_int(of_a[i], of_b[i]);
    if (c == 0) c = (a->alpha > b->alpha) - (a->alpha < b->alpha);
    return c != 0 ? c : (a->beta > b->beta) - (a->beta < b->beta);
}

static int compare_ladder(const entry *x, const entry *y)
{
    const ladder a = ladder_of(x), b = ladder_of(y);
    return compare_problem(&a, &b);
}

static int compare_step(const entry *x, const entry *y)
{
    const record *a = &x->row->r, *b = &y->row->r;
    int c = rung_compare(row_rung(x->row), row_rung(y->row));
    if (c == 0) c = strcmp(a->dtype, b->dtype);
    if (c == 0) c = compare_int(a->tile, b->tile);
    if (c == 0) c = compare_int(a->threads, b->threads);
    return c != 0 ? c : strcmp(a->method, b->method);
}

static int compare(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    int c = compare_ladder(x, y);
    if (c == 0) c = compare_step(x, y);
    if (c == 0) c = compare_int(is_default(x->row), is_default(y->row));
    return c != 0 ? c : compare_int(x->order, y->order);
}

static bool of_one_name(const machine *x, const char *engine, const char *device)
{
    return strcmp(x->engine, engine) == 0 && strcmp(x->device, device) == 0;
}

static bool contradict(const char *a, const char *b) { return a != NULL && b != NULL && strcmp(a, b) != 0; }

/* May the record be of this machine? Its host decides; records without one are told apart by what else they say. */
static bool may_be_of(const machine *x, const record *r)
{
    if (!of_one_name(x, r->engine, r->device)) return false;
    if (x->host != NULL || r->host != NULL) return x->host != NULL && r->host != NULL && strcmp(x->host, r->host) == 0;
    return !contradict(x->driver, r->driver) && !contradict(x->instruction_set, r->instruction_set);
}

static int machine_of(ladders *l, const record *r)
{
    int i = 0;
    while (i < l->machine_count && !may_be_of(&l->machines[i], r)) i++;
    machine *x = &l->machines[i];
    if (i == l->machine_count) {
        *x = (machine){.engine = r->engine, .device = r->device, .host = r->host, .ladder = -1};
        l->machine_count++;
    }
    if (x->driver == NULL) x->driver = r->driver;
    if (x->instruction_set == NULL) x->instruction_set = r->instruction_set;
    return i;
}

static void number_machines(ladders *l)
{
    for (int i = 0; i < l->machine_count; i++) {
        int before = 0, after = 0;
        for (int j = 0; j < l->machine_count; j++)
            if (j != i && of_one_name(&l->machines[i], l->machines[j].engine, l->machines[j].device))
                *(j < i ? &before : &after) += 1;
        l->machines[i].number = before + after > 0 ? before + 1 : 0;
    }
}

/* ---- ladders out of what is sorted ---- */

/* Of two records of one kind the newer one stays; where a time is unknown or both are equal, the last one. */
static void put_row(ladders *l, ladder_step *step, const records_row *row)
{
    const records_row **place = is_default(row) ? &step->by_default : &step->row, *old = *place;
    l->superseded += old != NULL;
    if (old != NULL && old->r.time != NULL && row->r.time != NULL && strcmp(old->r.time, row->r.time) > 0) return;
    *place = row;
}

/* A label says what tells its step from the others: the tile or the threads in a sweep, the type where it is not the
 * ladder's. */
static void name_steps(ladder *l)
{
    for (int i = 0; i < l->count; i++) {
        ladder_step *step = &l->steps[i];
        const record *r = &step->row->r;
        bool sweeps = false, threads_differ = false;
        for (int j = 0; j < l->count; j++) {
            if (strcmp(row_rung(l->steps[j].row), row_rung(step->row)) != 0) continue;
            sweeps |= l->steps[j].row->r.tile != r->tile;
            threads_differ |= l->steps[j].row->r.threads != r->threads;
        }
        int used = snprintf(step->label, STEP_LABEL, "%.40s", row_rung(step->row));
        if (sweeps && r->tile > 0) used += snprintf(step->label + used, STEP_LABEL - (size_t)used, " %d", r->tile);
        if (threads_differ && r->threads > 0)
            used += snprintf(step->label + used, STEP_LABEL - (size_t)used, " %d thr", r->threads);
        if (strcmp(r->dtype, l->wide ? "f64" : "f32") != 0)
            used += snprintf(step->label + used, STEP_LABEL - (size_t)used, " %.6s", r->dtype);
        if (strncmp(r->method, "tw_gemm", 7) == 0) snprintf(step->label + used, STEP_LABEL - (size_t)used, " call");
    }
}

static void finish_ladder(ladder *l)
{
    for (int i = 0; i < l->count; i++) {
        ladder_step *step = &l->steps[i];
        if (step->row == NULL) step->row = step->by_default, step->by_default = NULL;
        l->timed += row_timed(step->row);
    }
    name_steps(l);
}

static void fill(ladders *l, const entry *entries, int count)
{
    ladder_step *step = l->steps - 1;
    for (int i = 0; i < count; i++) {
        bool new_ladder = i == 0 || compare_ladder(&entries[i - 1], &entries[i]) != 0;
        if (new_ladder) {
            l->items[l->count] = ladder_of(&entries[i]);
            l->items[l->count++].steps = step + 1;
        }
        if (new_ladder || compare_step(&entries[i - 1], &entries[i]) != 0) l->items[l->count - 1].count++, step++;
        put_row(l, step, entries[i].row);
    }
}

static double work(const ladder *l) { return (double)l->m * (double)l->n * (double)l->k; }

/* Does x show more than y? More steps that were timed; of equals the plain one, then the larger. */
static bool is_better(const ladder *x, const ladder *y)
{
    if (x->timed != y->timed) return x->timed > y->timed;
    if (ladder_is_plain(x) != ladder_is_plain(y)) return ladder_is_plain(x);
    return work(x) > work(y);
}

static void choose_main(ladders *l)
{
    for (int i = 0; i < l->count; i++) {
        const ladder *x = &l->items[i];
        int *best = &l->machines[x->machine].ladder;
        if (x->skinny || x->library) continue;
        if (*best < 0 || is_better(x, &l->items[*best])) *best = i;
    }
}

tw_status ladders_sort(const records *all, ladders *out)
{
    size_t most = (size_t)all->count + 1;
    entry *entries = calloc(most, sizeof *entries);
    *out = (ladders){.machines = calloc(most, sizeof *out->machines),
                     .items = calloc(most, sizeof *out->items),
                     .steps = calloc(most, sizeof *out->steps),
                     .machine_of = calloc(most, sizeof *out->machine_of)};
    bool room = entries != NULL && out->machines != NULL && out->items != NULL && out->steps != NULL &&
                out->machine_of != NULL;
    int count = 0;
    for (int i = 0; room && i < all->count; i++) {
        out->machine_of[i] = all->rows[i].counted ? -1 : machine_of(out, &all->rows[i].r);
        if (!all->rows[i].counted && !row_is_cliff(&all->rows[i]))
            entries[count++] = (entry){&all->rows[i], out->machine_of[i], i};
    }
    if (room) {
        number_machines(out);
        qsort(entries, (size_t)count, sizeof *entries, compare);
        fill(out, entries, count);
        for (int i = 0; i < out->count; i++) finish_ladder(&out->items[i]);
        choose_main(out);
    } else {
        ladders_free(out);
    }
    free(entries);
    return room ? TW_OK : TW_NO_MEMORY;
}

void ladders_free(ladders *l)
{
    free(l->machines);
    free(l->items);
    free(l->steps);
    free(l->machine_of);
    *l = (ladders){0};
}

/* ---- questions ---- */

const ladder_step *ladder_before(const ladder *l, const ladder_step *step)
{
    const tw_lab_kernel *kernel = row_kernel(step->row);
    const ladder_step *found = NULL;
    story s;
    if (kernel == NULL || story_tell(kernel, &s) != TW_OK) return NULL;
    for (int i = 0, most = -1; s.before != NULL && i < l->count; i++) {
        const record *r = &l->steps[i].row->r;
        if (strcmp(row_rung(l->steps[i].row), s.before->rung) != 0 || strcmp(r->dtype, step->row->r.dtype) != 0)
            continue;
        int alike = 2 * (r->tile == step->row->r.tile) + (r->threads == step->row->r.threads);
        if (strcmp(r->method, step->row->r.method) == 0 && alike > most) found = &l->steps[i], most = alike;
    }
    story_free(&s);
    return found;
}

const ladder_step *ladder_step_named(const ladder *l, const char *label)
{
    for (int i = 0; i < l->count; i++)
        if (strcmp(l->steps[i].label, label) == 0) return &l->steps[i];
    return NULL;
}

bool ladder_compares(const ladder *l, const records_row *row)
{
    return strcmp(row->r.dtype, l->wide ? "f64" : "f32") == 0;
}

bool ladder_is_plain(const ladder *l)
{
    bool tight = l->lda == l->k && l->ldb == l->n && l->ldc == l->n;
    bool aligned = l->align_a == LADDER_ALIGN && l->align_b == LADDER_ALIGN && l->align_c == LADDER_ALIGN;
    return l->op_a == 'n' && l->op_b == 'n' && tight && aligned && l->batch < 0 && !(fabs(l->alpha - 1) > 0) &&
           !(fabs(l->beta) > 0);
}

const ladder *ladder_main(const ladders *l, int machine)
{
    return l->machines[machine].ladder >= 0 ? &l->items[l->machines[machine].ladder] : NULL;
}

const ladder *ladder_libraries(const ladders *l, const ladder *of)
{
    ladder wanted = *of;
    wanted.library = true;
    for (int i = 0; i < l->count; i++)
        if (compare_problem(&l->items[i], &wanted) == 0) return &l->items[i];
    return NULL;
}
