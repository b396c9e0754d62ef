/* reduce.c - adds up the sums of the segments of k: each rank of a column of the grid gets the rows that it owns from
 * all the others, some rows at a time, and adds them in ascending order of the segments, whatever came first. */
#include "plan.h"

enum { SUMS_TAG = 3 };

static int rank_of(const tw_mpi_plan *plan, int ik)
{
    return (plan->at.im * plan->grid.pn + plan->at.in) * plan->grid.pk + ik;
}

/* Rows `at` to at + most of those that rank ik of the column owns, in the block. */
static grid_part rows_of(const tw_mpi_plan *plan, int ik, int64_t at, int64_t most)
{
    const grid_part own = grid_divide(plan->at.m.length, plan->grid.pk, ik);
    const int64_t left = own.length - at;
    return (grid_part){own.begin + at, left < 0 ? 0 : left < most ? left : most};
}

static block sums_block(const tw_mpi_plan *plan, grid_part rows)
{
    const int64_t cols = plan->at.n.length, bytes = plan->sizes.c_bytes;
    return (block){plan->sums + rows.begin * cols * bytes, rows.length, cols, cols, bytes};
}

/* Sums of segment ik for this rank's rows: its own, or those that came. */
static char *part_at(const tw_mpi_plan *plan, int ik, grid_part rows, int64_t most)
{
    const int64_t each = most * plan->at.n.length * plan->sizes.c_bytes;
    if (ik == plan->at.ik) return sums_block(plan, rows).data;
    return plan->reduced + (ik < plan->at.ik ? ik : ik - 1) * each;
}

static tw_status exchange(tw_mpi_plan *plan, int64_t at, int64_t most)
{
    int left = 0;
    const grid_part own = rows_of(plan, plan->at.ik, at, most);
    for (int d = 1; d < plan->grid.pk; d++) {
        const int ik = (plan->at.ik + d) % plan->grid.pk;
        block b = sums_block(plan, own);
        b.data = part_at(plan, ik, own, most);
        pending_receive(&plan->pending, &b, rank_of(plan, ik), SUMS_TAG, &left);
    }
    for (int d = 1; d < plan->grid.pk; d++) {
        const int ik = (plan->at.ik + plan->grid.pk - d) % plan->grid.pk;
        const block b = sums_block(plan, rows_of(plan, ik, at, most));
        pending_send(&plan->pending, &b, rank_of(plan, ik), SUMS_TAG, &left);
    }
    return pending_wait_all(&plan->pending);
}

static tw_status add(tw_mpi_plan *plan, grid_part own, int64_t most, char *c, int64_t ldc)
{
    const rank_engine *e = &plan->engine;
    const tw_problem *p = &plan->problem;
    const int64_t cols = plan->at.n.length, ld = cols > 0 ? cols : 1;
    char *total = part_at(plan, 0, own, most);
    tw_status status = TW_OK;
    for (int ik = 1; status == TW_OK && ik < plan->grid.pk; ik++)
        status = e->finish(e->self, p->dtype_c, own.length, cols, 1, part_at(plan, ik, own, most), ld, 1, total, ld);
    if (status == TW_OK)
        status = e->finish(e->self, p->dtype_c, own.length, cols, p->alpha, total, ld, p->beta, c, ldc);
    return status == TW_OK ? TW_OK : failure(status, "%.900s", e->error());
}

tw_status reduce_run(tw_mpi_plan *plan, char *c, int64_t ldc, tw_status status)
{
    const int64_t line = plan->at.n.length * plan->sizes.c_bytes,
                  longest = grid_divide(plan->at.m.length, plan->grid.pk, 0).length;
    if (line == 0 || longest == 0) return status;
    const int64_t most = plan->reduced_bytes / (line * (plan->grid.pk - 1));
    for (int64_t at = 0; at < longest; at += most) {
        const grid_part own = rows_of(plan, plan->at.ik, at, most);
        const tw_status moved = exchange(plan, at, most);
        if (moved != TW_OK) return moved;
        if (status == TW_OK && own.length > 0) status = add(plan, own, most, c + at * ldc * plan->sizes.c_bytes, ldc);
    }
    return status;
}
