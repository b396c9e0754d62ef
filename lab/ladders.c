/* ladders.c - see ladders.h. */
#include "ladders.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "story.h"

const char *row_rung(const records_row *row)
{
    if (row->r.rung == NULL && row->r.library != NULL) return row->r.library;
    return row->r.rung != NULL ? row->r.rung : row->r.kernel;
}

const tw_lab_kernel *row_kernel(const records_row *row)
{
    const tw_lab_kernel *kernel, *same_rung = NULL;
    for (int i = 0; (kernel = tw_lab_kernel_at(i)) != NULL; i++) {
        if (row->r.kernel != NULL && strcmp(kernel->name, row->r.kernel) == 0) return kernel;
        if (same_rung == NULL && strcmp(kernel->engine, row->r.engine) == 0 && strcmp(kernel->rung, row_rung(row)) == 0) same_rung = kernel;
    }
    return same_rung;
}

bool row_timed(const records_row *row)
{
    return !row->counted && row->r.refused == NULL && row->r.median_s > 0;
}

/* ---- sorting ---- */

typedef struct entry {
    const records_row *row;
    int machine, order;
} entry;

static bool is_skinny(const records_row *row)
{
    const char *rung = row_rung(row);
    return rung[0] == 's' && rung[1] >= '0' && rung[1] <= '9';
}

static bool is_wide(const records_row *row)
{
    return strcmp(row->r.dtype, "f64") == 0;
}

static bool is_default(const records_row *row)
{
    return row->r.build != NULL && strcmp(row->r.build, "default") == 0;
}

static int compare_int(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int compare_ladder(const entry *x, const entry *y)
{
    const record *a = &x->row->r, *b = &y->row->r;
    int c = compare_int(x->machine, y->machine);
    if (c == 0) c = compare_int(is_skinny(x->row), is_skinny(y->row));
    if (c == 0) c = compare_int(is_wide(x->row), is_wide(y->row));
    if (c == 0) c = compare_int(a->m, b->m);
    if (c == 0) c = compare_int(a->n, b->n);
    if (c == 0) c = compare_int(a->k, b->k);
    if (c == 0) c = compare_int(a->op_a, b->op_a);
    return c != 0 ? c : compare_int(a->op_b, b->op_b);
}

static int compare_step(const entry *x, const entry *y)
{
    const record *a = &x->row->r, *b = &y->row->r;
    int c = strcmp(row_rung(x->row), row_rung(y->row));
    if (c == 0) c = strcmp(a->dtype, b->dtype);
    if (c == 0) c = compare_int(a->tile, b->tile);
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

static int machine_of(ladders *l, const record *r)
{
    for (int i = 0; i < l->machine_count; i++)
        if (strcmp(l->machines[i].engine, r->engine) == 0 && strcmp(l->machines[i].device, r->device) == 0) return i;
    l->machines[l->machine_count] = (machine){r->engine, r->device, -1};
    return l->machine_count++;
}

/* ---- ladders out of what is sorted ---- */

static void put_row(ladders *l, ladder_step *step, const records_row *row)
{
    const records_row **place = is_default(row) ? &step->by_default : &step->row;
    l->superseded += *place != NULL;
    *place = row;
}

/* A label says what tells its step from the others: the tile in a sweep, the type where it is not the ladder's. */
static void name_steps(ladder *l)
{
    for (int i = 0; i < l->count; i++) {
        ladder_step *step = &l->steps[i];
        const record *r = &step->row->r;
        bool sweeps = false;
        for (int j = 0; j < l->count; j++)
            sweeps |= l->steps[j].row->r.tile != r->tile && strcmp(row_rung(l->steps[j].row), row_rung(step->row)) == 0;
        int used = snprintf(step->label, STEP_LABEL, "%.40s", row_rung(step->row));
        if (sweeps && r->tile > 0) used += snprintf(step->label + used, STEP_LABEL - (size_t)used, " %d", r->tile);
        if (strcmp(r->dtype, l->wide ? "f64" : "f32") != 0) used += snprintf(step->label + used, STEP_LABEL - (size_t)used, " %.6s", r->dtype);
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
        const record *r = &entries[i].row->r;
        bool new_ladder = i == 0 || compare_ladder(&entries[i - 1], &entries[i]) != 0;
        if (new_ladder)
            l->items[l->count++] = (ladder){.machine = entries[i].machine, .m = r->m, .n = r->n, .k = r->k, .op_a = r->op_a, .op_b = r->op_b,
                                            .steps = step + 1, .skinny = is_skinny(entries[i].row), .wide = is_wide(entries[i].row)};
        if (new_ladder || compare_step(&entries[i - 1], &entries[i]) != 0) l->items[l->count - 1].count++, step++;
        put_row(l, step, entries[i].row);
    }
}

static double work(const ladder *l)
{
    return (double)l->m * (double)l->n * (double)l->k;
}

static void choose_main(ladders *l)
{
    for (int i = 0; i < l->count; i++) {
        const ladder *x = &l->items[i];
        int *best = &l->machines[x->machine].ladder;
        if (x->skinny) continue;
        if (*best < 0 || x->timed > l->items[*best].timed || (x->timed == l->items[*best].timed && work(x) > work(&l->items[*best]))) *best = i;
    }
}

tw_status ladders_sort(const records *all, ladders *out)
{
    size_t most = (size_t)all->count + 1;
    entry *entries = calloc(most, sizeof *entries);
    *out = (ladders){.machines = calloc(most, sizeof *out->machines), .items = calloc(most, sizeof *out->items), .steps = calloc(most, sizeof *out->steps)};
    bool room = entries != NULL && out->machines != NULL && out->items != NULL && out->steps != NULL;
    int count = 0;
    for (int i = 0; room && i < all->count; i++)
        if (!all->rows[i].counted) {
            entries[count] = (entry){&all->rows[i], machine_of(out, &all->rows[i].r), i};
            count++;
        }
    if (room) {
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
    *l = (ladders){0};
}

/* ---- questions ---- */

const ladder_step *ladder_before(const ladder *l, const ladder_step *step)
{
    const tw_lab_kernel *kernel = row_kernel(step->row);
    const ladder_step *found = NULL;
    story s;
    if (kernel == NULL || story_tell(kernel, &s) != TW_OK) return NULL;
    for (int i = 0; s.before != NULL && i < l->count; i++) {
        const record *r = &l->steps[i].row->r;
        if (strcmp(row_rung(l->steps[i].row), s.before->rung) != 0 || strcmp(r->dtype, step->row->r.dtype) != 0) continue;
        if (strcmp(r->method, step->row->r.method) == 0 && (found == NULL || r->tile == step->row->r.tile)) found = &l->steps[i];
    }
    story_free(&s);
    return found;
}

const ladder *ladder_main(const ladders *l, int machine)
{
    return l->machines[machine].ladder >= 0 ? &l->items[l->machines[machine].ladder] : NULL;
}
