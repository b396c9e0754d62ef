/* cpu_loops.c - the five loops, after Goto and van de Geijn: the packed block of B that one task uses (kc x task_n)
 * takes `b_share` of the L2, a sliver of A (mr x kc) lies in the L1. Partial sums over k live in C itself; where they
 * cannot (cpu_keeps_sums), they get a part of the workspace and macro-blocks are smaller.
 *
 * How A and B are read, the first that holds (reading_of):
 *   B was packed before (TW_PACKED_B)       from its panels
 *   all small                               one panel, in which an operand is packed only where it must be
 *   few rows and columns, no transposes     both in place
 *   few columns, A not transposed           A in place, B packed
 *   up to 512 rows, on many threads         each copies the rows of B that it multiplies
 *   few rows, B not transposed              B in place, some rows at a time
 *   else                                    B packed
 * With AVX2 the second and third way, copies and rows of B are for products that no copy of B pays for (copies_pay,
 * cpu.c). In the last three A is packed if it is transposed or conflicts, if many threads compute a large C, or beside
 * B (packs_a_too). */
#include "cpu.h"

/* Small-m products: B is read once, in place, a few rows at a time (small_m_rows) along all columns of a task, so that
 * the same pages and the prefetched lines to the right serve until the next rows; copying B pays on many threads alone
 * (copies_own_b), COPIES_STEPS of its rows at a time, up to COPY_BYTES. Small-n: the same for A, SMALL_KC of its
 * columns (docs/perf/cpu-skinny.md#few-rows). */
enum { SMALL_KC = 1024, COPIES_STEPS = 128, COPY_BYTES = 65536 };

static int64_t panel(const cpu_case *c, int64_t most)
{
    return even_block(min_i64(c->p->k, c->chunk), most, panel_unit(c->row));
}

/* The sums of complex types depend on where k is divided, so no tuned row moves that. */
int64_t cpu_packed_depth(const cpu_case *c)
{
    return panel(c, c->tuned->kc > 0 && !c->complex ? (int64_t)c->tuned->kc : c->row->lab.tile_k);
}

/* Whether an A whose rows alias is to be copied, as more than two tiles and MANY_BYTES of columns use the copy. More
 * rows than an L2 of 1 or 2 MiB has ways alias there if the same part of each competes for the same sets
 * (docs/perf/cpu-threads.md#long-k). */
static bool aliases(const cpu_case *c)
{
    enum { WAYS = 16, ALIAS_BYTES = 65536, MANY_BYTES = 256 };
    const tw_problem *p = c->p;
    return p->n > 2 * c->nr && p->n * c->bytes >= MANY_BYTES && p->m > WAYS &&
           rows_apart(p->lda, c->bytes, ALIAS_BYTES);
}

/* Whether A is packed though its rows could be read in place, since many threads compute a large C. Measured on 16
 * threads of a processor with two wide units, and with beta 0 (docs/perf/cpu-packing.md#a-on-many-threads). */
static bool many_pack_a(const cpu_case *c)
{
    enum { LEAST = 512, STEPS = 64 };
    const tw_problem *p = c->p;
    return has_two_wide_units(c->device) && has_many_threads(c) && p->m > LEAST && p->n > LEAST && p->k >= STEPS &&
           problem_triangle(p) == 0 && !problem_reads_c(p) && !c->complex;
}

/* Whether AVX2 packs A beside a copy of B: on many threads, for many tiles of C, and for the few steps of a tile, whose
 * addresses of six rows take as long. Complex types gain nothing by the last two. */
static bool packs_a_too(const cpu_case *c)
{
    enum { WIDE = 100 }; /* in tiles */
    const bool costs_little = has_short_k(c) || c->p->n >= WIDE * c->nr;
    return c->copies_b && (has_many_threads(c) || (costs_little && !c->complex));
}

/* Whether C is so small, and k so long, that neither operand is used often enough for a copy. */
static bool uses_both_seldom(const cpu_case *c)
{
    return has_few_rows(c) && has_few_columns(c) && !c->a_transposed && !c->b_transposed && !c->b_conflicts;
}

/* Whether each of many threads copies the rows of B that it multiplies, a few at a time. Panels that all threads read
 * are stored no faster by many of them than by four; B in place is as good for few rows of C, if its rows do not
 * conflict (docs/perf/cpu-skinny.md#own-copies). */
static bool copies_own_b(const cpu_case *c)
{
    enum { MOST_ROWS = 512, TILES = 12, CONFLICT_TILES = 2 };
    const tw_problem *p = c->p;
    return has_many_threads(c) && p->m <= MOST_ROWS && p->n >= c->threads * c->nr && p->k >= COPIES_STEPS &&
           p->m > (c->b_conflicts ? CONFLICT_TILES : TILES) * c->mr && !c->b_transposed;
}

static bool reads_b_by_rows(const cpu_case *c)
{
    return has_few_rows(c) && !c->b_transposed && !(c->b_conflicts && c->p->n * c->bytes < PAGE_BYTES);
}

/* How A and B are read. Where neither is copied, panels of both take three quarters of the L2. */
static cpu_reading reading_of(const cpu_case *c)
{
    if (cpu_one_panel(c) && !problem_b_is_packed(c->p)) return cpu_one_panel_reading(c);
    const bool a_lies = c->readable && !c->a_transposed && !c->a_conflicts && !many_pack_a(c) && !packs_a_too(c),
               few = has_few_columns(c) && !c->a_transposed && problem_triangle(c->p) == 0 && !c->complex,
               seldom = c->in_place && !c->complex && uses_both_seldom(c);
    const cpu_way a = a_lies ? READ_IN_PLACE : READ_PACKED;
    if (problem_b_is_packed(c->p)) /* as deep whatever the product is */
        return (cpu_reading){a, READ_BEFORE, panel(c, c->row->lab.tile_k)};
    if (seldom && !aliases(c))
        return (cpu_reading){READ_IN_PLACE, READ_IN_PLACE,
                             panel(c, c->device->l2_bytes * 3 / 4 / ((c->p->m + c->p->n) * c->bytes))};
    if (few && !seldom && (c->in_place || (c->copies_b && !aliases(c))))
        return (cpu_reading){READ_IN_PLACE, READ_PACKED, panel(c, SMALL_KC)};
    if (c->in_place && !c->complex) {
        if (copies_own_b(c)) return (cpu_reading){a, READ_COPIED, panel(c, SMALL_KC)};
        if (reads_b_by_rows(c)) return (cpu_reading){a, READ_BY_ROWS, panel(c, SMALL_KC)};
    }
    return (cpu_reading){a, READ_PACKED, cpu_packed_depth(c)};
}

/* Rows of B that a small-m product reads at a time; short rows share pages. With beta the partial sums of a short k
 * would have to be kept elsewhere. A core with an L1 of more than 32 KiB (of those measured, Intel's, whose prefetchers
 * seem to follow 32 pages) wants few; others want fewer still where C is one tile high and the vectors wide, else
 * many. */
static int64_t small_m_rows(const cpu_case *c, const cpu_reading *reads)
{
    enum { FEWEST = 8, MOST = 256, PAGES_FOLLOWED = 32, PAGES = 128 };
    const tw_problem *p = c->p;
    const bool follows = c->device->l1_bytes > SMALL_L1;
    if (p->beta != 0 && p->k <= MOST) return reads->kc;
    if (reads->b == READ_COPIED) return COPIES_STEPS;
    if (!follows && p->m <= c->mr) return c->threads == 1 && has_wide_vectors(c->device) ? FEWEST : MOST;
    const int64_t pages = follows ? PAGES_FOLLOWED : PAGES;
    return min_i64(max_i64(pages * PAGE_BYTES / c->bytes / p->ldb, pages), MOST);
}

/* Columns of a task: all of a macro-block's, or two tasks for each thread, to even out. */
static int64_t small_m_columns(const cpu_case *c, int64_t macro_n)
{
    enum { TASKS = 2, LEAST_TILES = 2 };
    return c->threads == 1 ? macro_n : max_i64(ceil_div(macro_n, TASKS * (int64_t)c->threads), LEAST_TILES * c->nr);
}

/* Rows of a task. */
static int64_t even_tasks(const cpu_case *c, const cpu_plan *cpu)
{
    enum { MANY = 4096 }; /* repeats, which decide no more; so that no sum of the longest sides overflows */
    const tw_problem *p = c->p;
    const int64_t repeats = pieces_of(p->m, p->n, cpu->macro_m, cpu->macro_n) * ceil_div(max_i64(p->k, 1), cpu->kc);
    const division rows = {.length = min_i64(p->m, cpu->macro_m),
                           .unit = c->mr,
                           .most = (int64_t)c->tuned->shared_task_tiles * c->mr,
                           .others = ceil_div(cpu->macro_n, cpu->task_n),
                           .repeats = min_i64(repeats, MANY)};
    return cpu_even_rows(c, &rows, cpu->task_m, (int64_t)c->tuned->thread_tasks);
}

static void fill(const cpu_case *c, plan *plan)
{
    enum { SUM_MACRO = 1024 };
    cpu_plan *cpu = &plan->cpu;
    const tw_problem *p = c->p;
    const tuned_values *tuned = c->tuned;
    const cpu_reading reads = reading_of(c);
    const bool copies = reads.b == READ_COPIED, before = reads.b == READ_BEFORE, several = c->threads > 1;
    const int64_t mr = c->mr, nr = c->nr;
    cpu->direct_a = reads.a == READ_IN_PLACE, cpu->direct_b = reads.b != READ_PACKED && !before;
    cpu->small_m = copies || reads.b == READ_BY_ROWS || (before && has_few_rows(c));
    cpu->kc = reads.kc;
    cpu->k_step = cpu->small_m && !before ? even_block(cpu->kc, small_m_rows(c, &reads), 4) : cpu->kc;
    const int64_t most = cpu_keeps_sums(plan) ? SUM_MACRO : (int64_t)tuned->macro_block;
    cpu->macro_m = even_block(p->m, most, mr), cpu->macro_n = even_block(p->n, most, nr);
    cpu->task_n = even_block(cpu->macro_n, cpu->small_m ? small_m_columns(c, cpu->macro_n) : cached_columns(c, cpu->kc),
                             nr);
    if (copies) cpu->copy_n = min_i64(max_i64(COPY_BYTES / (cpu->k_step * c->bytes * nr), 1) * nr, cpu->task_n);
    /* Tall tasks read, or copy, their block of B seldom; with several threads the last tasks are waited for
     * (docs/perf/cpu-threads.md#packing-among-tasks). */
    const int64_t tiles = (int64_t)(several ? tuned->shared_task_tiles : tuned->task_tiles),
                  tasks = (cpu->small_m ? 1 : (int64_t)tuned->thread_tasks) * c->threads;
    cpu->task_m = copies ? cpu->macro_m : even_block(cpu->macro_m, tiles * mr, mr);
    if (several) cpu->task_m = halved(cpu->task_m, mr, cpu->macro_m, ceil_div(cpu->macro_n, cpu->task_n), tasks);
    if (several && problem_triangle(p) == 0 && !cpu->small_m) cpu->task_m = even_tasks(c, cpu);
    cpu->packs_ahead = several && !(cpu->direct_a && (cpu->direct_b || before));
}

const cpu_strategy strategy_loops = {"five loops", NULL, fill};
