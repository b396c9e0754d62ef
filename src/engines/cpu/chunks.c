/* chunks.c - a product that threads divide into products of their own. Where k is longer than a chunk and C has few
 * tiles these are sums of single chunks, beside C, which then are added in ascending order: the bits of the five loops.
 * Where there is one chunk they are parts of C itself. */
#include "cpu_engine.h"

/* One thread's view of the product. */
typedef struct divided {
    const plan *plan;
    const char *a, *b;
    char *c, *sums, *blocks;            /* sums of all chunks; this thread's packed panels */
    plan share;                         /* of a share: its place, m, n and k are those of its task */
    int64_t chunks, shares_m, shares_n; /* of k; of C */
    int64_t add_m;                      /* rows whose chunks a task adds */
    int64_t bytes, source_bytes;        /* of a sum; of an element of A and B */
    cpu_epilogue epilogue;              /* C's bytes, also where nothing is finished */
    int64_t a_rs, a_cs, b_rs, b_cs;
} divided;

static char *sum_at(const divided *d, int64_t chunk, int64_t i, int64_t j)
{
    return d->sums + (size_t)chunk * d->plan->cpu.chunk_bytes + (size_t)((i * d->plan->problem.n + j) * d->bytes);
}

/* A share of a chunk, which is a product on one thread. */
typedef struct share_task {
    const divided *divided;
    int64_t i, j, chunk;
} share_task;

static void compute_share(void *context, team *team)
{
    const share_task *t = context;
    const divided *d = t->divided;
    const int64_t p0 = t->chunk * d->plan->cpu.chunk;
    char *const c = d->chunks > 1 ? sum_at(d, t->chunk, t->i, t->j)
                                  : d->c + (t->i * d->plan->problem.ldc + t->j) * d->epilogue.c_bytes;
    loops_walk(&d->share, d->a + (t->i * d->a_rs + p0 * d->a_cs) * d->source_bytes,
               d->b + (p0 * d->b_rs + t->j * d->b_cs) * d->source_bytes, c, NULL, NULL, d->blocks, team);
}

/* Shares of one chunk follow each other, since they read the same operands. */
static void share_at(divided *d, int64_t task, const team *team)
{
    const plan *whole = d->plan;
    const cpu_plan *cpu = &whole->cpu;
    tw_problem *p = &d->share.problem;
    cpu_unpacked *shape = &d->share.cpu.unpacked_shape;
    const int64_t shares = d->shares_m * d->shares_n, share = task % shares;
    share_task t = {d, share % d->shares_m * cpu->share_m, share / d->shares_m * cpu->share_n, task / shares};
    p->m = min_i64(cpu->share_m, whole->problem.m - t.i), p->n = min_i64(cpu->share_n, whole->problem.n - t.j);
    p->k = min_i64(cpu->chunk, whole->problem.k - t.chunk * cpu->chunk);
    d->share.cpu.i0 = t.i, d->share.cpu.j0 = t.j;
    shape->m = shape->transposed ? p->n : p->m, shape->n = shape->transposed ? p->m : p->n, shape->k = p->k;
    team_alone(team, compute_share, &t);
}

/* Adds the chunks of a tile's sums in ascending order, into the first chunk's and at last into C, by the micro-kernel:
 * it rounds what it writes to C as everywhere. Sums that are finished stay in the first chunk's until then. */
static void add_tile(const divided *d, int64_t i, int64_t j)
{
    /* of no steps of k nothing is read but what a panel of CPU_U8 begins with */
    static const char zeros[CPU_LINE_BYTES] __attribute__((aligned(CPU_LINE_BYTES)));
    const plan *plan = d->plan;
    const tw_problem *p = &plan->problem;
    char *const c = d->c + (i * p->ldc + j) * d->epilogue.c_bytes, *const total = sum_at(d, 0, i, j);
    cpu_tile tile = {.rows = min_i64(plan->row->lab.tile_m, p->m - i),
                     .cols = min_i64(plan->row->lab.tile_n, p->n - j),
                     .a = zeros,
                     .b = zeros,
                     .total = total,
                     .c = c,
                     .a_next = (uintptr_t)zeros,
                     .c_next = (uintptr_t)c,
                     .sum_in_ld = p->n,
                     .total_ld = p->n,
                     .sum_out_ld = p->n,
                     .ldc = p->ldc,
                     .alpha = p->alpha,
                     .beta = p->beta,
                     .complex = {.alpha = p->alpha_imaginary, .beta = p->beta_imaginary}};
    for (int64_t chunk = 1; chunk < d->chunks; chunk++) {
        tile.sum_in = sum_at(d, chunk, i, j);
        tile.sum_out = chunk + 1 < d->chunks || plan->finish != NULL ? total : NULL;
        plan->row->micro(&tile);
    }
    if (plan->finish != NULL) cpu_finish_block(&d->epilogue, i, j, tile.rows, tile.cols, total, p->n);
}

static void add_rows(const divided *d, int64_t first, const team *team)
{
    const kernel_row *row = d->plan->row;
    const int64_t last = min_i64(first + d->add_m, d->plan->problem.m);
    if (row->enter != NULL) row->enter();
    for (int64_t i = first; i < last && !team_ends(team); i += row->lab.tile_m)
        for (int64_t j = 0; j < d->plan->problem.n; j += row->lab.tile_n) add_tile(d, i, j);
    if (row->leave != NULL) row->leave();
}

/* All shares of all chunks, then the sums of all of them. */
static bool run_divided_task(void *context, int64_t i, team *team)
{
    divided *d = context;
    const int64_t shares = d->chunks * d->shares_m * d->shares_n, first = (i - shares) * d->add_m;
    if (i < shares) {
        share_at(d, i, team);
        return true;
    }
    if (d->chunks == 1 || first >= d->plan->problem.m) return false;
    team_after(team, 0, shares - 1);
    add_rows(d, first, team);
    return true;
}

void chunks_walk(const plan *plan, const void *a, const void *b, void *c, void *workspace, team *team)
{
    const cpu_plan *cpu = &plan->cpu;
    const tw_problem *p = &plan->problem;
    const int64_t chunks = ceil_div(p->k, cpu->chunk);
    const bool a_transposed = op_transposes(p->op_a), b_transposed = op_transposes(p->op_b);
    divided d = {.plan = plan,
                 .a = a,
                 .b = b,
                 .c = c,
                 .sums = workspace,
                 .blocks = (char *)workspace + (size_t)chunks * cpu->chunk_bytes +
                           (size_t)team_join(team) * (cpu->a_bytes + cpu->b_bytes),
                 .share = *plan,
                 .chunks = chunks,
                 .shares_m = ceil_div(p->m, cpu->share_m),
                 .shares_n = ceil_div(p->n, cpu->share_n),
                 .add_m = round_up(ceil_div(p->m, plan->threads), plan->row->lab.tile_m),
                 .bytes = problem_sum_bytes(p),
                 .source_bytes = dtype_find(p->dtype)->lab.bytes,
                 .epilogue = cpu_epilogue_of(plan, p->alpha, p->beta, c),
                 .a_rs = a_transposed ? 1 : p->lda,
                 .a_cs = a_transposed ? p->lda : 1,
                 .b_rs = b_transposed ? 1 : p->ldb,
                 .b_cs = b_transposed ? p->ldb : 1};
    tw_problem *of_share = &d.share.problem;
    of_share->flags = 0;
    if (chunks > 1) {
        of_share->ldc = p->n, of_share->alpha = 1, of_share->beta = 0;
        of_share->alpha_imaginary = of_share->beta_imaginary = 0;
        d.share.finish = NULL; /* its C is a chunk's sums */
    }
    d.share.cpu.divided = false;
    team_tasks(team, run_divided_task, &d);
}
