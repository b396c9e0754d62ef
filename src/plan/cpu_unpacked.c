/* cpu_unpacked.c - small products: nothing is packed, k is one panel, and C may be computed transposed. */
#include "cpu.h"

/* Whether many tiles would read rows of B that are not cache-line aligned, and so two lines for a vector, on a
 * processor where a copy of B costs less: of those measured (docs/perf/cpu-packing.md#row-by-row) the one with two wide
 * units. Measured where C is not read, on one thread, two and sixteen; more threads need more rows. */
static bool splits_lines(const cpu_case *c)
{
    enum { ROWS = 28, COLS = 4 }; /* in tiles */
    const tw_problem *p = c->p;
    const bool one_of_many = c->threads == 1 && c->device->threads != 1; /* in a batch */
    return has_two_wide_units(c->device) && !one_of_many && p->m > ROWS * min_i64(c->threads, 4) * c->mr &&
           p->n > COLS * c->nr && !c->a_transposed && !c->b_transposed && !problem_reads_c(p) &&
           !rows_apart(p->ldb, c->bytes, CPU_LINE_BYTES);
}

/* Slivers (kernels/cpu/gemm_simd.c): whether B, of few steps of k and at most a vector wide, stays in registers while
 * each row of A makes one of C, so that nothing is read again. */
static bool is_sliver(const cpu_case *c)
{
    return !c->complex && c->p->k >= 1 && c->p->k <= CPU_SLIVER_STEPS && c->p->m > c->mr &&
           c->p->n * c->bytes <= cpu_vector_bytes(c->row->features);
}

/* Whether A, B and C together are at most `unpacked` times the L2, or `unpacked_tall` times where C has more than few
 * rows and the rows of A are not transposed (docs/perf/cpu-packing.md#strips-of-b). Not where C is more than one tile
 * high and what its tiles read again (a tile's width of B, its rows of A and the next ones, which are prefetched) takes
 * more than half of the L2, or long rows of A fall into the same sets: A would be packed whole. */
static bool fits_unpacked(const cpu_case *c)
{
    enum { LONG_ROW = 4096 };
    const tw_problem *p = c->p;
    const double m = (double)p->m, n = (double)p->n, k = (double)p->k, bytes = (double)c->bytes,
                 l2 = (double)c->device->l2_bytes;
    const bool rows_of_a = !c->a_transposed, tall = rows_of_a && !has_few_rows(c),
               long_rows_conflict = rows_of_a && p->k * c->bytes >= LONG_ROW && c->a_conflicts;
    if (is_sliver(c)) return true;
    if (p->m > c->mr && (long_rows_conflict || 2 * k * (double)((2 * c->mr + c->nr) * c->bytes) > l2)) return false;
    return !splits_lines(c) &&
           (m * k + k * n + m * n) * bytes <= (tall ? c->tuned->unpacked_tall : c->tuned->unpacked) * l2;
}

bool cpu_one_panel(const cpu_case *c)
{
    return c->in_place && !in_chunks(c) && fits_unpacked(c) && !(c->complex && c->p->k > c->row->lab.tile_k);
}

/* Rows of A are as good as packed slivers, and not copied. Transposed, each step of k is a cache line of its own: as
 * many as leave room in the L1 for the other operands, few where B is transposed and packed, too
 * (docs/perf/cpu-threads.md#two-threads-on-small). */
cpu_reading cpu_one_panel_reading(const cpu_case *c)
{
    enum { FEW_BYTES = 384 };
    const int64_t k = c->p->k;
    const bool short_k = (!c->b_transposed || k * c->bytes <= FEW_BYTES) &&
                         k * CPU_LINE_BYTES <= c->device->l1_bytes * 5 / 8,
               a_lies = (short_k || !c->a_transposed) && !c->a_conflicts, b_lies = !c->b_transposed && !c->b_conflicts;
    return (cpu_reading){a_lies ? READ_IN_PLACE : READ_PACKED, b_lies ? READ_IN_PLACE : READ_PACKED, max_i64(k, 1)};
}

/* As the transposed C = B A of the operands in place, where both are transposed and neither conflicts. */
static cpu_case transposed_case(const cpu_case *c, tw_problem *room)
{
    cpu_case t = *c;
    *room = *c->p;
    room->m = c->p->n, room->n = c->p->m, room->lda = c->p->ldb, room->ldb = c->p->lda;
    t.p = room, t.a_transposed = t.b_transposed = false;
    return t;
}

/* Both operands transposed: whether it is less work to transpose C than to pack A and B. So where all are small, or C
 * is much smaller than they. */
static bool transposes_cheaply(const cpu_case *c)
{
    /* docs/perf/cpu-threads.md#two-threads-on-small */
    enum { TRANSPOSE_BYTES = 196608, TRANSPOSE_RATIO = 4 };
    const tw_problem *p = c->p;
    if (c->complex || p->op_a != TW_T || p->op_b != TW_T || p->beta != 0 || c->a_conflicts || c->b_conflicts)
        return false;
    const double packed = (double)p->k * ((double)p->m + (double)p->n), transposed = (double)p->m * (double)p->n;
    return packed >= ((packed + transposed) * (double)c->bytes <= TRANSPOSE_BYTES ? 1 : TRANSPOSE_RATIO) * transposed;
}

/* Whole tiles; where C is computed transposed, whose rows are columns of C, whole cache lines of C or nearly. */
int64_t cpu_rows_together(const plan *plan)
{
    const int64_t line = CPU_LINE_BYTES / problem_sum_bytes(&plan->problem);
    return round_up(plan->cpu.unpacked_shape.transposed ? line : 1, plan->row->lab.tile_m);
}

/* Divides an unpacked product among threads: rows, and columns where there are few rows or B takes more than thread_b
 * for each thread. A C that is computed transposed is divided in whole cache lines of its rows. */
static void divide(const cpu_case *c, plan *plan)
{
    /* with less than LEAST_PER_THREAD to do, each of more than two threads has one task; with less than
     * LITTLE_PER_THREAD two: more would be too short */
    static const double LEAST_PER_THREAD = 524288, LITTLE_PER_THREAD = 1048576;
    cpu_plan *cpu = &plan->cpu;
    const tw_problem *p = c->p;
    const int64_t line = CPU_LINE_BYTES / c->bytes, columns = (int64_t)c->tuned->thread_b / (cpu->kc * c->bytes);
    const bool transposed = cpu->unpacked_shape.transposed, shares_b = !transposed && columns < cpu->task_n;
    const double work = (double)p->m * (double)p->n * (double)p->k * (double)c->bytes / 4 / c->threads;
    const int64_t each = work < LEAST_PER_THREAD && c->threads > 2 ? 1
                         : work < LITTLE_PER_THREAD                ? 2
                                                                   : (int64_t)c->tuned->thread_tasks;
    if (shares_b) cpu->task_n = even_block(p->n, columns, line);
    const int64_t tasks_n = ceil_div(p->n, cpu->task_n);
    cpu->task_m = even_block(p->m, ceil_div(shares_b ? p->m * tasks_n : p->m, each * c->threads),
                             cpu_rows_together(plan));
    const division rows = {.length = p->m, .unit = 1, .most = p->m, .others = tasks_n, .repeats = 1};
    const bool wide = p->n > 2 * p->m; /* whose columns are divided where rows are too few */
    if (!transposed && (!wide || pieces_of(p->m, p->n, cpu->task_m, cpu->task_n) >= c->threads))
        cpu->task_m = cpu_even_rows(c, &rows, cpu->task_m, each);
    const int64_t most_idle = c->threads / 8; /* so that 15 tasks of 16 threads are not cut in two */
    cpu->task_n = halved(cpu->task_n, c->nr, p->n, ceil_div(p->m, cpu->task_m), c->threads - most_idle);
}

/* One macro-block, and on one thread one task. */
static void fill_shape(const cpu_case *c, bool transposed, plan *plan)
{
    cpu_plan *cpu = &plan->cpu;
    const tw_problem *p = c->p;
    cpu->unpacked = cpu->direct_a = cpu->direct_b = true;
    cpu->kc = cpu->k_step = max_i64(p->k, 1);
    plan->in_place = !c->complex; /* compute() gets two real scalars */
    cpu->unpacked_shape = (cpu_unpacked){
        p->m, p->n, p->k, c->a_transposed ? 1 : p->lda, c->a_transposed ? p->lda : 1, p->ldb, p->ldc, transposed};
    cpu->macro_m = cpu->task_m = round_up(p->m, c->mr), cpu->macro_n = round_up(p->n, c->nr);
    cpu->task_n = even_block(p->n, cached_columns(c, cpu->kc), c->nr);
    if (c->threads > 1) divide(c, plan);
}

static bool suits_transposed(const cpu_case *c)
{
    if (!c->in_place || in_chunks(c) || !transposes_cheaply(c)) return false;
    tw_problem room;
    const cpu_case t = transposed_case(c, &room);
    return fits_unpacked(&t);
}

static void fill_transposed(const cpu_case *c, plan *plan)
{
    tw_problem room;
    const cpu_case t = transposed_case(c, &room);
    fill_shape(&t, true, plan);
}

const cpu_strategy strategy_transposed = {"C transposed", suits_transposed, fill_transposed};

static bool suits(const cpu_case *c)
{
    if (!cpu_one_panel(c)) return false;
    const cpu_reading reads = cpu_one_panel_reading(c);
    return reads.a == READ_IN_PLACE && reads.b == READ_IN_PLACE;
}

static void fill(const cpu_case *c, plan *plan) { fill_shape(c, false, plan); }

const cpu_strategy strategy_unpacked = {"unpacked", suits, fill};
