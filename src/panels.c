/* panels.c - computes a large product of host memory on one device in row panels of C, as a list of steps
 * (engines/spread.h). While one panel is computed, the next rows of A are uploaded and the panel before is downloaded.
 *
 *     LANE_UP      | B | A 0 | A 1 | A 2 | A 3 | ...
 *     LANE_PACK        | B |                             if the kernel wants it packed: once for all panels
 *     LANE_TILE              | C 0 | C 1 | C 2 | C 3 |
 *     LANE_DOWN                    | C 0 | C 1 | C 2 | C 3 | */
#include "panels.h"
#include "room.h"
#include "spread_list.h"

#include <string.h>

enum {
    MOST_PANELS = 8,
    MOST_STEPS = 2 + 4 * MOST_PANELS, /* of B; of each panel A and C up, the product, C down */
    MOST_COPIES = 1 + 3 * MOST_PANELS,
    MOST_NEEDS = 1 + 4 * MOST_PANELS
};

/* An operand in host memory, and where its copy lies on the device. */
typedef struct matrix {
    const void *host;
    int64_t rows, cols, ld, device_ld, element_bytes, at;
} matrix;

/* A product in panels: rows of C in each but the last, and its list. */
typedef struct panels {
    int64_t count, rows;
    matrix of[3]; /* a, b, c */
    bool packs_b;
    int64_t b_at;                     /* where products read B on the device */
    int32_t up_b, up[MOST_PANELS][2]; /* the steps that bring B, and of each panel A and C */
    spread_work work;
    spread_plan plans[2]; /* of a panel, and of the last */
    spread_step steps[MOST_STEPS];
    spread_copy copies[MOST_COPIES];
    int32_t needs[MOST_NEEDS];
} panels;

/* Rows of C in a panel, so that copying A and C costs little beside the work; 0: too little is copied to divide it.
 * Panels are of whole tiles. */
static int64_t panel_rows(const tw_problem *p)
{
    const int64_t least_bytes = (int64_t)64 << 20, tiles = 256;
    if (op_transposes(p->op_a) || p->k == 0) return 0;
    int64_t bytes = p->m * (p->lda * dtype_find(p->dtype)->lab.bytes + p->ldc * dtype_find(p->dtype_c)->lab.bytes);
    int64_t rows = round_up(ceil_div(p->m, MOST_PANELS), tiles);
    return bytes >= least_bytes && rows < p->m ? rows : 0;
}

/* Plans of a panel and of the last one, by the kernel of the whole. B is packed once for all; only where it is split
 * into halves, or complex, each panel writes it by itself: a few per cent of the time that its copies take. False: they
 * would be built otherwise. */
static bool plan_each(const tw_lab_run *run, panels *x)
{
    const plan *whole = &run->plan;
    const tw_lab_choice same = {.kernel = whole->row->lab.name};
    device_facts facts = run->context->facts;
    facts.clusters = whole->gpu.k_split.by_cluster, facts.whole_k = whole->gpu.k_split.count == 0;
    facts.complex = whole->gpu.complex.way;
    for (int i = 0; i < 2; i++) {
        plan *packs = &x->plans[i].packs, *tile = &x->plans[i].tile;
        tw_problem p = whole->problem;
        p.m = i == 0 ? x->rows : p.m - (x->count - 1) * x->rows;
        if (plan_find(&p, &facts, &same, packs) != TW_OK || strcmp(packs->gpu.options, whole->gpu.options) != 0)
            return false;
        *tile = *packs;
        if (packs->gpu.rest == NULL && !problem_is_complex(&p)) spread_take_packed(tile, 1);
    }
    x->packs_b = x->plans[0].packs.gpu.pack_b.needed && !x->plans[0].tile.gpu.pack_b.needed;
    return true;
}

/* Memory for all on the device. False: there is no room for it, though there is for the whole. */
static bool find_room(const tw_lab_run *run, panels *x)
{
    plan other = run->plan;
    for (int i = 0; i < 3; i++) {
        const int64_t bytes = x->of[i].rows * x->of[i].device_ld * x->of[i].element_bytes;
        x->of[i].at = spread_take_bytes(&x->work, 0, bytes);
    }
    const int64_t operands = x->work.bytes[0];
    x->b_at = x->of[1].at;
    if (x->packs_b) x->b_at = spread_take_bytes(&x->work, 0, x->plans[0].packs.gpu.pack_b.bytes);
    const size_t workspaces[2] = {x->plans[0].tile.workspace_bytes, x->plans[1].tile.workspace_bytes};
    x->work.workspace[0][0] = spread_take_bytes(
        &x->work, 0, (int64_t)(workspaces[0] > workspaces[1] ? workspaces[0] : workspaces[1]));
    other.workspace_bytes = (size_t)(x->work.bytes[0] - operands);
    return other.workspace_bytes <= run->plan.workspace_bytes || room_check(run->context, &other) == TW_OK;
}

/* Adds a step that waits for these others, of which NONE is no step; returns its number. */
static int32_t add_step(panels *x, spread_step step, int32_t first, int32_t second, int32_t third)
{
    spread_work *w = &x->work;
    const int32_t needs[] = {first, second, third};
    step.first_need = w->need_count;
    for (int i = 0; i < 3; i++)
        if (needs[i] != NONE) x->needs[w->need_count++] = needs[i], step.needs++;
    x->steps[w->step_count] = step;
    return (int32_t)w->step_count++;
}

/* Rows of an operand go up, or down once `needed` is done. */
static int32_t move_rows(panels *x, int operand, int64_t first, int64_t rows, bool up, int32_t needed)
{
    const matrix *o = &x->of[operand];
    const int64_t pitch = o->device_ld * o->element_bytes;
    const spread_step step = {.kind = up ? SPREAD_UPLOAD : SPREAD_DOWNLOAD,
                              .lane = up ? LANE_UP : LANE_DOWN,
                              .copies = 1,
                              .first_copy = x->work.copy_count};
    x->copies[x->work.copy_count++] = (spread_copy){.operand = operand,
                                                    .caller_device = HOST_MEMORY,
                                                    .caller = (uint64_t)(uintptr_t)o->host +
                                                              (uint64_t)(first * o->ld * o->element_bytes),
                                                    .caller_pitch = (size_t)(o->ld * o->element_bytes),
                                                    .pitch = (size_t)pitch,
                                                    .width = (size_t)(o->cols * o->element_bytes),
                                                    .rows = rows,
                                                    .at = {.offset = o->at + first * pitch}};
    return add_step(x, step, needed, NONE, NONE);
}

static spread_at rows_at(const panels *x, int operand, int64_t first)
{
    return (spread_at){.offset = x->of[operand].at + first * x->of[operand].device_ld * x->of[operand].element_bytes};
}

/* B goes up, and is packed where the kernel wants it so. */
static void upload_b(panels *x)
{
    x->up_b = move_rows(x, 1, 0, x->of[1].rows, true, NONE);
    const spread_step pack = {
        .kind = SPREAD_PACK, .lane = LANE_PACK, .operand = 1, .a = rows_at(x, 1, 0), .c = {.offset = x->b_at}};
    if (x->packs_b) x->up_b = add_step(x, pack, x->up_b, NONE, NONE);
}

static void upload_panel(panels *x, int64_t i)
{
    const int64_t first = i * x->rows, rows = min_i64(x->rows, x->of[2].rows - first);
    x->up[i][0] = move_rows(x, 0, first, rows, true, NONE);
    x->up[i][1] = x->work.reads_c ? move_rows(x, 2, first, rows, true, NONE) : NONE;
}

static void compute_panel(panels *x, int64_t i)
{
    const int64_t first = i * x->rows, rows = min_i64(x->rows, x->of[2].rows - first);
    const spread_step tile = {.kind = SPREAD_TILE,
                              .lane = LANE_TILE,
                              .plan = i + 1 == x->count,
                              .a = rows_at(x, 0, first),
                              .b = {.offset = x->b_at},
                              .c = rows_at(x, 2, first)};
    move_rows(x, 2, first, rows, false, add_step(x, tile, x->up[i][0], x->up_b, x->up[i][1]));
}

/* What a panel needs stands before C of the one before it, which threads carry down once that is computed. */
static void list_steps(panels *x)
{
    upload_b(x);
    upload_panel(x, 0);
    for (int64_t i = 0; i < x->count; i++) {
        if (i + 1 < x->count) upload_panel(x, i + 1);
        compute_panel(x, i);
    }
}

tw_status panels_run(const tw_lab_run *run, const tw_problem *h, const void *a, const void *b, void *c, bool *done)
{
    const tw_problem *p = &run->plan.problem;
    const engine_ops *ops = run->context->ops;
    const int64_t rows = ops->spread != NULL && p->place_c == TW_HOST ? panel_rows(p) : 0,
                  bytes = dtype_find(p->dtype)->lab.bytes, c_bytes = dtype_find(p->dtype_c)->lab.bytes;
    *done = false;
    if (rows == 0 || p->epilogue != NULL) return TW_OK;
    panels x = {.count = ceil_div(p->m, rows),
                .rows = rows,
                .of = {{a, p->m, p->k, h->lda, p->lda, bytes, 0},
                       {b, problem_b_rows(p), problem_b_cols(p), h->ldb, p->ldb, bytes, 0},
                       {c, p->m, p->n, h->ldc, p->ldc, c_bytes, 0}},
                .work = {.devices = 1, .reads_c = problem_reads_c(p), .stop = run->stop, .plan_count = 2}};
    x.work.plans = x.plans, x.work.steps = x.steps, x.work.copies = x.copies, x.work.needs = x.needs;
    if (!plan_each(run, &x) || !find_room(run, &x)) return TW_OK;
    list_steps(&x);
    const tw_status status = ops->spread(run->context->devices, &x.work);
    if (status == TW_NO_MEMORY) return TW_OK; /* nothing was written: there may be room for the whole, or no thread */
    *done = true;
    TRY(status);
    return stop_check(run->stop);
}
