/* triangle.c - a diagonal block of trmm or trsm: T is packed once, and the threads divide columns of B, which do not
 * depend on each other. */
#include "cpu_engine.h"

/* Columns of a task, whole strips of the kernel; multiply-adds worth a thread. */
enum { COLUMNS = 64, WORK_PER_THREAD = 393216 };

_Static_assert(COLUMNS *(int)sizeof(float) % CPU_TRIANGLE_ROW_BYTES == 0, "whole strips");
_Static_assert((int)TW_LAB_TRIANGLE_EDGE == (int)CPU_TRIANGLE_EDGE, "the kernel's");

typedef struct work {
    const kernel_row *row;
    cpu_triangle block;
    int64_t column_bytes;
} work;

static bool compute_columns(void *context, int64_t task, team *team)
{
    const work *w = context;
    cpu_triangle own = w->block;
    (void)team;
    if (task * COLUMNS >= own.n) return false;
    own.b = (char *)own.b + task * COLUMNS * w->column_bytes, own.n = min_i64(COLUMNS, own.n - task * COLUMNS);
    w->row->triangle(&own);
    return true;
}

static void walk(void *context, team *team) { team_tasks(team, compute_columns, context); }

tw_status cpu_triangle_compute(engine *e, const tw_lab_triangle *x)
{
    const int64_t bytes = dtype_find(x->dtype)->lab.bytes;
    work w = {.row = e->triangles[x->dtype == TW_F64],
              .block = {.m = x->m,
                        .n = x->n,
                        .t = x->t,
                        .b = x->b,
                        .packed = cpu_take(e, (size_t)(cpu_triangle_elements(x->m) * bytes)),
                        .t_rs = x->t_rs,
                        .t_cs = x->t_cs,
                        .b_rs = x->b_rs,
                        .b_cs = x->b_cs,
                        .alpha = x->alpha,
                        .lower = x->lower,
                        .unit = x->unit,
                        .solves = x->solves},
              .column_bytes = x->b_cs * bytes};
    if (w.block.packed == NULL) return fail(TW_NO_MEMORY, "no memory for a triangle of %d rows", (int)x->m);
    const double worth = (double)x->m * (double)x->m / 2 * (double)x->n / WORK_PER_THREAD;
    const int threads = worth < e->threads ? (int)worth : e->threads;
    w.row->triangle_pack(&w.block);
    if (threads > 1 && x->n > COLUMNS)
        pool_run_tasks(e->pool, threads, threads, walk, &w, NULL);
    else
        w.row->triangle(&w.block);
    cpu_give(e, w.block.packed);
    return TW_OK;
}
