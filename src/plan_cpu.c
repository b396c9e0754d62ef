/* plan_cpu.c - divides a product into blocks, tasks and threads of a CPU, and says what is packed. Pure, as plan.c. */
#include "planners.h"
#include "tuned.h"

/* Below thread_work multiply-adds of 4 bytes per thread another thread that is awake costs more than it gains
 * (docs/perf/cpu-threads.md#small-on-sixteen). waited_work, which is more, is for calls that wait for threads that wake
 * late (batches, rungs); half of it for types that are packed, if C has more than WAKING_EDGE rows and columns. Of a
 * triangle, and beyond MEASURED_THREADS, a thread has at least BEYOND, or waited_work. */
enum { MEASURED_THREADS = 16 };
static const double BEYOND = 262144;
/* What other threads must take off the caller where vectors have 64 bytes: HAND_OFFS times thread_work, but HAND_OFF at
 * most; twice as much for a single other one on processors that were seen to run two threads on one core. */
static const double HAND_OFFS = 2, HAND_OFF = 131072;
/* With less than LEAST_PER_THREAD to do, each of more than two threads has one task; with less than LITTLE_PER_THREAD
 * two. More would be too short. */
static const double LEAST_PER_THREAD = 524288, LITTLE_PER_THREAD = 1048576;

/* Times as much work, where a thread has to be woken; less of few rows or columns, which take longer for as much work
 * (docs/perf/cpu-threads.md#pauses). */
enum { WAKING = 4, WAKING_EDGE = 16 };
static const double WOKEN_WORK = 393216; /* instead of thread_work, where that is less */

/* Fewest outputs in a task of GEMV: LEAST_GEMV_ROWS, or a vector of 64 bytes, where k lies side by side, LEAST_ACROSS
 * where outputs do and rows are short; LEAST_GEMV elsewhere, and in a share of a long k. GEMV_BYTES, as sums count
 * them: most of a task, since a call that is cancelled waits for those that run; and of each thread's part of a product
 * that is computed without looking. */
enum { LEAST_GEMV = 64, LEAST_GEMV_ROWS = 16, LEAST_ACROSS = 512, GEMV_BYTES = 1 << 27 };
enum { SUM_MACRO = 1024, WORKSPACE_ALIGN = 64 };
/* docs/perf/cpu-threads.md#divided-k */
/* SMALL_TILES: of C for each task of a thread. LONG_K_TILES: with at most two threads a chunk, or LONG_K_THREADS if k
 * is LONG_K_QUARTERS quarters of a chunk or more (docs/perf/cpu-threads.md#three-chunks). LEAST_CHUNK: of integers */
enum {
    FEW_TILES = 64,
    SMALL_TILES = 2,
    LONG_K_TILES = 4,
    LONG_K_THREADS = 6,
    LONG_K_QUARTERS = 9,
    SHARES_PER_THREAD = 2,
    LEAST_CHUNK = 2048
};

/* Split `length` evenly into blocks of at most `most`, each a multiple of `unit`: 1000 in blocks of at most 384 is
 * 3 x 336. */
static int64_t even_block(int64_t length, int64_t most, int64_t unit)
{
    int64_t blocks = max_i64(ceil_div(length, max_i64(most, unit)), 1);
    return max_i64(round_up(ceil_div(length, blocks), unit), unit);
}

/* How threads divide rows of C: `length` of them in tiles of `tile`. A task has a multiple of `unit` rows, from `least`
 * to `most`; there are `others` tasks for each of these, and all of them `repeats` times. */
typedef struct division {
    int64_t length, tile, unit, least, most, others, repeats;
    int threads;
} division;

/* What a task takes, in rows: one more for each tile, which reads all of the task's columns of B again. */
static int64_t task_time(const division *d, int64_t rows) { return rows + ceil_div(rows, d->tile); }

/* When the last thread ends: tasks are taken one after the other, shorter ones where a thread would have none. */
static int64_t last_end(const division *d, int64_t rows)
{
    const int64_t times = d->others * d->repeats, whole = d->length / rows * times,
                  rounds = ceil_div(whole, d->threads), rest = d->length % rows,
                  more = (rest > 0 ? times : 0) - (rounds * d->threads - whole);
    return rounds * task_time(d, rows) + (more > 0 ? ceil_div(more, d->threads) * task_time(d, rest) : 0);
}

/* Rows of a task: as usual, or those of `each` to twice as many tasks a thread, where that ends earlier by a sixteenth
 * or more. Eight tasks take five threads as long as four (docs/perf/cpu-threads.md#even-shares). */
static int64_t even_rows(const division *d, int64_t usual, int64_t each)
{
    enum { EARLIER = 16 };
    const int64_t tiles = ceil_div(d->length, d->tile) * d->others;
    int64_t best = usual, best_end = last_end(d, usual);
    best_end -= best_end / EARLIER;
    for (int64_t tasks = min_i64(each, ceil_div(tiles, d->threads)); tasks <= 2 * each; tasks++) {
        const int64_t rows = round_up(ceil_div(d->length * d->others, tasks * d->threads), d->unit);
        if (rows < d->least) break;
        if (rows <= d->most && last_end(d, rows) < best_end) best = rows, best_end = last_end(d, rows);
    }
    return best;
}

static int threads_for(const tw_problem *p, const device_facts *device, int wanted, double work_per_thread)
{
    double most = (double)p->m * (double)p->n * (double)max_i64(p->k, 1) / work_per_thread;
    if (p->flags != 0) most /= 2; /* a triangle of C */
    int threads = wanted > 0 ? wanted : device->threads;
    return most < threads ? (most < 1 ? 1 : (int)most) : threads;
}

static size_t padded(int64_t elements, size_t element_bytes)
{
    return (size_t)round_up(elements * (int64_t)element_bytes, WORKSPACE_ALIGN);
}

/* Small-m products: B is read once, in place, a few rows at a time (small_m_rows) along all columns of a task, so that
 * the same pages and the prefetched lines to the right serve until the next rows; copying B pays on many threads alone
 * (copies_own_b). Small-n: the same for A, SMALL_M_KC of its columns. In tiles, columns and pages
 * (docs/perf/cpu-skinny.md#few-rows). */
enum { SMALL_M_TILES = 16, SMALL_N_TILES = 4, SMALL_M_KC = 1024, SMALL_M_TASKS = 2, SMALL_M_WIDTH = 2 };
enum { FEWEST_ROWS_OF_B = 8, PAGES_FOLLOWED = 32, PAGES_OF_B = 128, MOST_ROWS_OF_B = 256, PAGE = 4096 };
/* From COPIES_THREADS threads on each copies the B that it multiplies, if C has more than COPIES_TILES tiles of rows,
 * or COPIES_CONFLICT_TILES where rows of B conflict, and at most COPIES_MOST_ROWS rows: COPIES_STEPS of its rows at a
 * time, up to COPY_BYTES (docs/perf/cpu-skinny.md#own-copies). */
enum { COPIES_THREADS = 8, COPIES_TILES = 12, COPIES_CONFLICT_TILES = 2, COPIES_MOST_ROWS = 512 };
enum { COPIES_STEPS = 128, COPY_BYTES = 65536 };
enum { SMALL_L1 = 32768 };                              /* the kinds of cores that were measured differ in it */
enum { SPLIT_ROWS = 28, SPLIT_COLS = 4 };               /* in tiles; docs/perf/cpu-packing.md#row-by-row */
enum { TRANSPOSE_BYTES = 196608, TRANSPOSE_RATIO = 4 }; /* docs/perf/cpu-threads.md#two-threads-on-small */
/* of k of a transposed A that is read in place though B is packed; docs/perf/cpu-threads.md#two-threads-on-small */
enum { FEW_BYTES = 384 };
enum { MANY_BYTES = 256 }; /* of a step of B; docs/perf/cpu-threads.md#long-k */
/* rows of A and columns of B, and steps of k; docs/perf/cpu-packing.md#avx2 */
enum { LEAST_COPIED = 192, LEAST_COMPLEX_COPIED = 40, LEAST_DEPTH = 32 };

/* Rows a multiple of 4 KiB apart fall into the same few sets of the cache. */
static bool rows_conflict(int64_t ld, int64_t bytes) { return ld % (PAGE / bytes) == 0; }

/* Whether more rows than the L2 has ways alias: in an L2 of 1 or 2 MiB the same part of each row then competes for the
 * same sets (docs/perf/cpu-threads.md#long-k). */
static bool rows_alias(int64_t rows, int64_t ld, int64_t bytes)
{
    enum { WAYS = 16, ALIAS_BYTES = 65536 };
    return rows > WAYS && ld % (ALIAS_BYTES / bytes) == 0;
}

/* Whether many tiles would read rows of B that are not cache-line aligned, and so two lines for a vector, on a
 * processor where a copy of B costs less. Of those measured (docs/perf/cpu-packing.md#row-by-row) that is the one with
 * two units of 512 bits; here its L1 of 48 KiB tells it from one that computes such vectors in halves. Measured where C
 * is not read, on one thread, two and sixteen; more threads need more rows. */
static bool splits_lines(const tw_problem *p, const device_facts *device, int threads, int64_t mr, int64_t nr,
                         int64_t bytes)
{
    /* not one of many, in a batch */
    const bool fast = cpu_has(device->features, CPU_avx512) && device->l1_bytes > SMALL_L1 &&
                      (threads > 1 || device->threads == 1);
    const bool many = p->m > SPLIT_ROWS * min_i64(threads, 4) * mr && p->n > SPLIT_COLS * nr;
    return fast && many && !op_transposes(p->op_a) && !op_transposes(p->op_b) && !problem_reads_c(p) &&
           p->ldb % (CPU_LINE_BYTES / bytes) != 0;
}

/* Whether the product is computed unpacked: A, B and C together are at most `unpacked` times the L2, or `unpacked_tall`
 * times where C has more than few rows and the rows of A are not transposed (docs/perf/cpu-packing.md#strips-of-b).
 * Then there is one panel, and an operand is packed only where it must be. Not where C is more than one tile high and
 * what its tiles read again (a tile's width of B, its rows of A and the next ones, which are prefetched) takes more
 * than half of the L2, or long rows of A fall into the same sets: A would be packed whole. */
static bool fits_unpacked(const tw_problem *p, const device_facts *device, const tuned_values *tuned, int threads,
                          int64_t mr, int64_t nr, int64_t bytes)
{
    const bool rows_of_a = !op_transposes(p->op_a), tall = rows_of_a && p->m > SMALL_M_TILES * mr,
               long_rows_conflict = rows_of_a && p->k * bytes >= 4096 && rows_conflict(p->lda, bytes);
    if (p->m > mr &&
        (long_rows_conflict || 2 * (double)p->k * (double)((2 * mr + nr) * bytes) > (double)device->l2_bytes))
        return false;
    if (splits_lines(p, device, threads, mr, nr, bytes)) return false;
    const double whole = ((double)p->m * (double)p->k + (double)p->k * (double)p->n + (double)p->m * (double)p->n) *
                         (double)bytes;
    return whole <= (tall ? tuned->unpacked_tall : tuned->unpacked) * (double)device->l2_bytes;
}

/* Whether copies of A and B pay, though the operands could be read in place. AVX2's tile in place has 12 loads and
 * prefetches for 12 multiply-adds, all that two a cycle allow; that of panels has 9 (docs/perf/cpu-packing.md#avx2).
 * Wider vectors load less for each flop. */
static bool copies_pay(const tw_problem *p, const device_facts *device)
{
    const int64_t least = problem_is_complex(p) ? LEAST_COMPLEX_COPIED : LEAST_COPIED;
    return (device->features & (CPU_AVX2 | CPU_AVX512)) == CPU_AVX2 && p->m >= least && p->n >= least &&
           p->k >= LEAST_DEPTH;
}

/* Whether A is packed though its rows could be read in place, since many threads compute a large C. Measured on 16
 * threads of a processor with two units of 512 bits, which its L1 tells from others, and with beta 0
 * (docs/perf/cpu-packing.md#a-on-many-threads). */
static bool many_pack_a(const plan *plan, const device_facts *device)
{
    enum { THREADS = 8, LEAST = 512, STEPS = 64 };
    const tw_problem *p = &plan->problem;
    return cpu_has(device->features, CPU_avx512) && device->l1_bytes > SMALL_L1 && plan->threads >= THREADS &&
           p->m > LEAST && p->n > LEAST && p->k >= STEPS && p->flags == 0 && !problem_reads_c(p) &&
           !problem_is_complex(p);
}

/* GEMV: one pass over the matrix, its outputs divided among the threads. */
static void plan_gemv(plan *plan, const tuned_values *tuned)
{
    cpu_plan *cpu = &plan->cpu;
    const tw_problem *p = &plan->problem;
    int64_t count = max_i64(p->m, p->n),
            tasks = plan->threads > 1 ? (int64_t)plan->threads * (int64_t)tuned->thread_tasks : 1;
    const bool across = p->m == 1 ? !op_transposes(p->op_b) : op_transposes(p->op_a); /* outputs side by side */
    const int64_t least_rows = max_i64(LEAST_GEMV_ROWS, CPU_LINE_BYTES / problem_sum_bytes(p));
    int64_t each = max_i64(ceil_div(count, tasks), across ? LEAST_GEMV : least_rows);
    if (across && cpu_layout_tiles(plan->row->layout)) /* whose rows are short */
        each = max_i64(each, min_i64(ceil_div(count, plan->threads), LEAST_ACROSS));
    const int64_t row_bytes = max_i64(p->k, 1) * problem_sum_bytes(p);
    each = min_i64(each, max_i64(GEMV_BYTES / row_bytes, LEAST_GEMV));
    cpu->gemv = cpu->direct_a = cpu->direct_b = true;
    plan->in_place = (double)count * (double)row_bytes <= (double)GEMV_BYTES * plan->threads;
    plan->at_once = plan->in_place && plan->threads == 1;
    cpu->kc = cpu->k_step = max_i64(p->k, 1);
    cpu->macro_m = round_up(p->m, plan->row->lab.tile_m), cpu->macro_n = round_up(p->n, plan->row->lab.tile_n);
    cpu->task_m = p->m == 1 ? cpu->macro_m : even_block(count, each, plan->row->lab.tile_m);
    cpu->task_n = p->m != 1 ? cpu->macro_n : even_block(count, each, plan->row->lab.tile_n);
}

/* Rows of B that a small-m product reads at a time; short rows share pages. With beta the partial sums of a short k
 * would have to be kept elsewhere. A core with an L1 of more than 32 KiB (of those measured, Intel's, whose prefetchers
 * seem to follow 32 pages) wants few; others want fewer still where C is one tile high and the vectors wide, else
 * many. */
static int64_t small_m_rows(const plan *plan, const device_facts *device, int64_t bytes)
{
    const tw_problem *p = &plan->problem;
    const bool follows = device->l1_bytes > SMALL_L1;
    if (p->beta != 0 && p->k <= MOST_ROWS_OF_B) return plan->cpu.kc;
    if (plan->cpu.copy_n > 0) return COPIES_STEPS;
    if (!follows && p->m <= plan->row->lab.tile_m)
        return plan->threads == 1 && cpu_has(device->features, CPU_avx512) ? FEWEST_ROWS_OF_B : MOST_ROWS_OF_B;
    const int64_t pages = follows ? PAGES_FOLLOWED : PAGES_OF_B;
    return min_i64(max_i64(pages * PAGE / bytes / p->ldb, pages), MOST_ROWS_OF_B);
}

/* Whether each of many threads copies the rows of B that it multiplies, a few at a time. Panels that all threads read
 * are stored no faster by many of them than by four; B in place is as good for few rows of C, if its rows do not
 * conflict. */
static bool copies_own_b(const plan *plan, int64_t bytes)
{
    const tw_problem *p = &plan->problem;
    const int64_t mr = plan->row->lab.tile_m, nr = plan->row->lab.tile_n;
    return plan->threads >= COPIES_THREADS && p->m <= COPIES_MOST_ROWS && p->n >= plan->threads * nr &&
           p->k >= COPIES_STEPS && p->m > (rows_conflict(p->ldb, bytes) ? COPIES_CONFLICT_TILES : COPIES_TILES) * mr;
}

/* Columns of a task: all of a macro-block's, or two tasks for each thread, to even out. */
static int64_t small_m_columns(const plan *plan)
{
    return plan->threads == 1 ? plan->cpu.macro_n
                              : max_i64(ceil_div(plan->cpu.macro_n, SMALL_M_TASKS * (int64_t)plan->threads),
                                        SMALL_M_WIDTH * plan->row->lab.tile_n);
}

/* Whether C cannot hold sums until the end: its old elements are needed then, or it is of another type, or tiles at its
 * diagonal have elements that are not to be written. */
static bool keeps_c(const plan *plan)
{
    const tw_problem *p = &plan->problem;
    return problem_reads_c(p) || problem_converts_c(p) || p->flags != 0;
}

/* Whether the partial sums of a chunk are kept beside C. */
static bool keeps_sums(const plan *plan)
{
    const cpu_plan *cpu = &plan->cpu;
    return !cpu->divided && keeps_c(plan) && min_i64(plan->problem.k, cpu->chunk) > cpu->k_step;
}

/* Whether the sum of the chunks before is: C may hold it where it holds no partial sums. */
static bool keeps_total(const plan *plan)
{
    const cpu_plan *cpu = &plan->cpu;
    return !cpu->divided && plan->problem.k > cpu->chunk && (keeps_c(plan) || cpu->chunk > cpu->k_step);
}

/* The workspace of the blocks. */
static void count_workspace(plan *plan)
{
    cpu_plan *cpu = &plan->cpu;
    const tw_problem *p = &plan->problem;
    const size_t bytes = (size_t)problem_sum_bytes(p);
    cpu->a_bytes = cpu->direct_a ? 0 : padded(cpu->macro_m * cpu_layout_a_steps(plan->row->layout, cpu->kc), bytes);
    cpu->b_bytes = cpu->direct_b ? 0 : padded(cpu->macro_n * cpu_layout_steps(plan->row->layout, cpu->kc), bytes);
    cpu->sum_bytes = keeps_sums(plan) ? padded(cpu->macro_m * cpu->macro_n, bytes) : 0;
    cpu->total_bytes = keeps_total(plan) ? padded(cpu->macro_m * cpu->macro_n, bytes) : 0;
    /* a row of a tile more, since as much is prefetched behind it, so that no thread asks for another's copy */
    cpu->copy_bytes = cpu->copy_n > 0 ? padded(cpu->copy_n * cpu->k_step + plan->row->lab.tile_n, bytes) : 0;
    plan->workspace_bytes = (cpu->packs_ahead ? 2 : 1) * (cpu->a_bytes + cpu->b_bytes) + cpu->sum_bytes +
                            cpu->total_bytes + (size_t)plan->threads * cpu->copy_bytes;
    if (cpu->divided)
        plan->workspace_bytes = (size_t)ceil_div(p->k, cpu->chunk) * cpu->chunk_bytes +
                                (size_t)cpu->block_sets * plan->workspace_bytes;
}

/* A problem whose operands are both transposed, as the transposed C = B A of the operands in place. */
static tw_problem transposed_problem(const tw_problem *p)
{
    tw_problem transposed = *p;
    transposed.m = p->n, transposed.n = p->m, transposed.op_a = transposed.op_b = TW_N, transposed.lda = p->ldb,
    transposed.ldb = p->lda;
    return transposed;
}

/* Both operands transposed: whether it is less work to transpose C than to pack A and B. So where all are small, or C
 * is much smaller than they. */
static bool transposes_cheaply(const tw_problem *p, int64_t bytes)
{
    if (problem_is_complex(p) || p->op_a != TW_T || p->op_b != TW_T || p->beta != 0 || rows_conflict(p->lda, bytes) ||
        rows_conflict(p->ldb, bytes))
        return false;
    const double packed = (double)p->k * ((double)p->m + (double)p->n), transposed = (double)p->m * (double)p->n;
    return packed >= ((packed + transposed) * (double)bytes <= TRANSPOSE_BYTES ? 1 : TRANSPOSE_RATIO) * transposed;
}

/* Rows of an unpacked product are divided in multiples of this: whole tiles; where C is computed transposed, whose rows
 * are columns of C, whole cache lines of C or nearly. */
static int64_t rows_together(const plan *plan, int64_t bytes)
{
    return round_up(plan->cpu.unpacked_shape.transposed ? CPU_LINE_BYTES / bytes : 1, plan->row->lab.tile_m);
}

/* Bytes of the L2 for the columns of B that a task reads again and again. */
static int64_t b_bytes(const device_facts *device, const tuned_values *tuned)
{
    return (int64_t)((double)device->l2_bytes * tuned->b_share);
}

/* Divides an unpacked product among threads: rows, and columns where there are few rows or B takes more than thread_b
 * for each thread. A C that is computed transposed is divided in whole cache lines of its rows. */
static void divide_unpacked(plan *plan, const tw_problem *p, const tuned_values *tuned, int64_t bytes)
{
    cpu_plan *cpu = &plan->cpu;
    const int64_t mr = plan->row->lab.tile_m, nr = plan->row->lab.tile_n, line = CPU_LINE_BYTES / bytes,
                  columns = (int64_t)tuned->thread_b / (cpu->kc * bytes);
    const bool transposed = cpu->unpacked_shape.transposed, shares_b = !transposed && columns < cpu->task_n;
    const double work = (double)p->m * (double)p->n * (double)p->k * (double)bytes / 4 / plan->threads;
    const int64_t each = work < LEAST_PER_THREAD && plan->threads > 2 ? 1
                         : work < LITTLE_PER_THREAD                   ? 2
                                                                      : (int64_t)tuned->thread_tasks;
    if (shares_b) cpu->task_n = even_block(p->n, columns, line);
    const int64_t tasks_n = ceil_div(p->n, cpu->task_n);
    cpu->task_m = even_block(p->m, ceil_div(shares_b ? p->m * tasks_n : p->m, each * plan->threads),
                             rows_together(plan, bytes));
    const division rows = {.length = p->m,
                           .tile = mr,
                           .unit = 1,
                           .least = mr / 2 + 1,
                           .most = p->m,
                           .others = tasks_n,
                           .repeats = 1,
                           .threads = plan->threads};
    const bool wide = p->n > 2 * p->m; /* whose columns are divided where rows are too few */
    if (!transposed && (!wide || ceil_div(p->m, cpu->task_m) * tasks_n >= plan->threads))
        cpu->task_m = even_rows(&rows, cpu->task_m, each);
    const int64_t most_idle = plan->threads / 8; /* so that 15 tasks of 16 threads are not cut in two */
    while (cpu->task_n > nr && ceil_div(p->m, cpu->task_m) * ceil_div(p->n, cpu->task_n) < plan->threads - most_idle)
        cpu->task_n = round_up(cpu->task_n / 2, nr);
}

/* Nothing is packed: one macro-block, and on one thread one task. p: the problem of the plan, or that transposed. */
static void plan_unpacked(plan *plan, const tw_problem *p, bool transposed, const device_facts *device,
                          const tuned_values *tuned, int64_t bytes)
{
    cpu_plan *cpu = &plan->cpu;
    const int64_t mr = plan->row->lab.tile_m, nr = plan->row->lab.tile_n;
    const bool a_transposed = op_transposes(p->op_a);
    cpu->unpacked = cpu->direct_a = cpu->direct_b = true;
    cpu->kc = cpu->k_step = max_i64(p->k, 1);
    plan->in_place = !problem_is_complex(p); /* compute() gets two real scalars */
    plan->at_once = plan->in_place && plan->threads == 1;
    cpu->unpacked_shape = (cpu_unpacked){
        p->m, p->n, p->k, a_transposed ? 1 : p->lda, a_transposed ? p->lda : 1, p->ldb, p->ldc, transposed};
    cpu->macro_m = cpu->task_m = round_up(p->m, mr), cpu->macro_n = round_up(p->n, nr);
    cpu->task_n = even_block(p->n, b_bytes(device, tuned) / (cpu->kc * bytes), nr);
    if (plan->threads > 1) divide_unpacked(plan, p, tuned, bytes);
}

/* Steps of k in a panel. The sums of complex types depend on where k is divided, so no tuned row moves that. */
static int64_t panel_depth(const plan *plan, const tuned_values *tuned)
{
    return tuned->kc > 0 && !problem_is_complex(&plan->problem) ? (int64_t)tuned->kc : plan->row->lab.tile_k;
}

/* Least multiply-adds of a thread that is waited for. row NULL: of any kernel. */
static double waited_work(const tw_problem *p, const kernel_row *row, const device_facts *device)
{
    tuned_values room;
    const tuned_values *tuned = tuned_find(device, p, row, &room);
    return tuned->waited_work;
}

/* Elements of k in a chunk; sums of integers are exact in any order, and chunks only what threads share. */
static int64_t chunk_of(const tw_problem *p)
{
    return CPU_CHUNK_BYTES / (p->dtype == TW_F64 || p->dtype == TW_CF64 ? 8 : 4);
}

/* The same where threads share none. */
static int64_t chunk_in_loops(const tw_problem *p)
{
    return dtype_is_integer(p->dtype) ? max_i64(p->k, 1) : chunk_of(p);
}

/* A matrix times a vector, whose kernel reads both in place. */
static bool is_gemv(const plan *plan)
{
    return (plan->problem.m == 1 || plan->problem.n == 1) && plan->row->gemv != NULL;
}

/* Divides C among the shares of a chunk: enough of them for all threads, by rows or, where there are fewer tiles, by
 * columns. Each share reads all of the other operand's chunk: where that is more than its own part, they are as few as
 * give each thread as many. */
static void plan_shares(plan *plan, int64_t chunk, bool line)
{
    cpu_plan *cpu = &plan->cpu;
    const tw_problem *p = &plan->problem;
    const int64_t mr = plan->row->lab.tile_m, nr = plan->row->lab.tile_n, least = line ? LEAST_GEMV : 1,
                  chunks = ceil_div(p->k, chunk), lacks = (chunk - p->k % chunk) % chunk,
                  fewest = ceil_div(plan->threads, chunks);
    const bool rows = ceil_div(p->m, mr) >= ceil_div(p->n, nr);
    int64_t shares = plan->threads > 1 ? ceil_div(SHARES_PER_THREAD * (int64_t)plan->threads, chunks) : 1;
    if ((rows ? p->n : p->m) > ceil_div(rows ? p->m : p->n, shares) && lacks <= chunk / 8 &&
        chunks * fewest % plan->threads == 0)
        shares = fewest;
    cpu->share_m = p->m, cpu->share_n = p->n;
    if (rows)
        cpu->share_m = min_i64(even_block(p->m, max_i64(ceil_div(p->m, shares), least), mr), p->m);
    else
        cpu->share_n = min_i64(even_block(p->n, max_i64(ceil_div(p->n, shares), least), nr), p->n);
}

/* A k of several chunks and a C of few tiles, or of one row or column: threads share chunks, not C alone. False: not
 * so, or C is of another type than the sums, which are added into it. */
static bool plan_divided(plan *plan, const device_facts *device, const tuned_values *tuned)
{
    const tw_problem *p = &plan->problem;
    int64_t chunk = chunk_of(p);
    const bool long_k = p->k / LONG_K_QUARTERS >= chunk / 4;
    const int64_t tiles_m = ceil_div(p->m, plan->row->lab.tile_m), tiles_n = ceil_div(p->n, plan->row->lab.tile_n),
                  chunks = ceil_div(p->k, chunk),
                  times = plan->row->layout != CPU_PLAIN                            ? 1
                          : chunks * (long_k ? LONG_K_THREADS : 2) >= plan->threads ? LONG_K_TILES
                                                                                    : SMALL_TILES,
                  each = times * (int64_t)tuned->thread_tasks;
    const bool line = is_gemv(plan),
               few = (double)tiles_m * (double)tiles_n <= (double)max_i64(FEW_TILES, each * plan->threads);
    if (p->k <= chunk || problem_converts_c(p) || !(line || (few && p->flags == 0))) return false;
    if (dtype_is_integer(p->dtype) && !line) /* exact in any order: one for each thread, if not too short */
        chunk = min_i64(chunk, max_i64(LEAST_CHUNK, round_up(ceil_div(p->k, plan->threads), CPU_K_UNIT)));
    plan_shares(plan, chunk, line);
    struct plan share = {.problem = *p, .row = plan->row};
    share.problem.m = plan->cpu.share_m, share.problem.n = plan->cpu.share_n, share.problem.k = chunk;
    share.problem.ldc = p->n, share.problem.flags = 0;
    share.problem.alpha = 1, share.problem.beta = share.problem.alpha_imaginary = share.problem.beta_imaginary = 0;
    plan_loops(&share, device, 1);
    share.cpu.share_m = plan->cpu.share_m, share.cpu.share_n = plan->cpu.share_n;
    plan->cpu = share.cpu;
    plan->cpu.divided = true, plan->cpu.chunk = chunk, plan->cpu.block_sets = plan->threads;
    plan->cpu.chunk_bytes = padded(p->m * p->n, (size_t)problem_sum_bytes(p));
    count_workspace(plan);
    return true;
}

/* How a product of the matrix unit is divided so that each thread packs what it multiplies by itself: no thread waits
 * for another, and no panel goes from one core's cache to another's. PACKED_ELEMENT: the multiply-adds in the time of
 * packing an element. */
enum { PACKED_ELEMENT = 192 };

/* Whether threads that each pack their own share of C pack few more bytes of A and B than together. Of eight to 16
 * threads, without transposes: a wide C always counts, as copying rows of A is cheap; a tall one only if each weaves
 * few more elements of B (docs/perf/cpu-bf16-int8.md#wide-and-tall). */
static bool packs_little_more(const tw_problem *p, int64_t share_m, int64_t share_n, int64_t threads)
{
    enum { LEAST_THREADS = 8, WIDE_ROWS = 768, WIDE_SHARE = 1024, MORE_OF_TALL = 131072, MORE_BYTES = 524288 };
    const double more_a = ((double)share_m - (double)p->m / (double)threads) * (double)p->k,
                 more_b = ((double)share_n - (double)p->n / (double)threads) * (double)p->k;
    if (threads >= LEAST_THREADS && threads <= MEASURED_THREADS && !op_transposes(p->op_a) && !op_transposes(p->op_b)) {
        if (p->m <= WIDE_ROWS && p->m <= p->n / 2 && share_n <= WIDE_SHARE) return true;
        if (p->n <= p->m / 2 && more_b > MORE_OF_TALL) return false;
    }
    return (more_a + more_b) * (double)dtype_find(p->dtype)->lab.bytes <= MORE_BYTES;
}

static bool plan_alone(plan *plan, const device_facts *device)
{
    const tw_problem *p = &plan->problem;
    const int64_t mr = plan->row->lab.tile_m, nr = plan->row->lab.tile_n, threads = plan->threads;
    if (threads < 2 || plan->woken < threads || p->flags != 0 || p->k < 1 || !cpu_layout_tiles(plan->row->layout))
        return false; /* the few that run after a rest would pack for all */
    int64_t share_m = p->m, share_n = p->n;
    double least = 0;
    for (int64_t high = 1; high <= threads; high++) {
        const int64_t m = min_i64(round_up(ceil_div(p->m, high), mr), p->m),
                      n = min_i64(round_up(ceil_div(p->n, threads / high), nr), p->n);
        const double time = (double)ceil_div(ceil_div(p->m, m) * ceil_div(p->n, n), threads) *
                            (PACKED_ELEMENT * ((double)m + (double)n) + (double)m * (double)n);
        if (high == 1 || time < least) share_m = m, share_n = n, least = time;
    }
    if (!packs_little_more(p, share_m, share_n, threads)) return false;
    struct plan share = {.problem = *p, .row = plan->row};
    share.problem.m = share_m, share.problem.n = share_n;
    plan_loops(&share, device, 1);
    if (share.cpu.sum_bytes + share.cpu.total_bytes > 0) return false; /* beside C, whose old elements are needed */
    if (share.cpu.divided) return false;                               /* its chunks are laid out for a C of its own */
    plan->cpu = share.cpu;
    plan->cpu.divided = true, plan->cpu.block_sets = plan->threads;
    plan->cpu.share_m = share_m, plan->cpu.share_n = share_n;
    count_workspace(plan);
    return true;
}

/* Rows of a task of the five loops. */
static void even_tasks(plan *plan, const tuned_values *tuned)
{
    cpu_plan *cpu = &plan->cpu;
    const tw_problem *p = &plan->problem;
    enum { MANY = 4096 }; /* repeats, which decide no more; so that no sum of the longest sides overflows */
    const int64_t mr = plan->row->lab.tile_m, panels = ceil_div(max_i64(p->k, 1), cpu->kc),
                  blocks = ceil_div(p->m, cpu->macro_m) * ceil_div(p->n, cpu->macro_n);
    const division rows = {.length = min_i64(p->m, cpu->macro_m),
                           .tile = mr,
                           .unit = mr,
                           .least = mr,
                           .most = (int64_t)tuned->shared_task_tiles * mr,
                           .others = ceil_div(cpu->macro_n, cpu->task_n),
                           .repeats = min_i64(blocks * panels, MANY),
                           .threads = plan->threads};
    cpu->task_m = even_rows(&rows, cpu->task_m, (int64_t)tuned->thread_tasks);
}

/* Threads of a call that finds them awake, and of one that wakes them. */
static void count_threads(plan *plan, const device_facts *device, const tuned_values *tuned, int wanted)
{
    const tw_problem *p = &plan->problem;
    /* where C has few rows or columns each thread packs for itself, if all are woken (plan_alone) */
    const bool few = min_i64(p->m, p->n) <= WAKING_EDGE, tiles = cpu_layout_tiles(plan->row->layout),
               packs = plan->row->layout != CPU_PLAIN && !(tiles && is_gemv(plan));
    double work = tuned->waited_work / (few ? 1 : 2), beyond = tuned->waited_work, woken_work = beyond,
           hand_off = tiles ? beyond : 0, hand_off_of_two = hand_off;
    if (!packs) {
        /* a complex multiply-add is four */
        const double of_4_bytes = 4 / ((problem_is_complex(p) ? 2 : 1) * (double)problem_sum_bytes(p)),
                     least = tuned->thread_work, most = HAND_OFFS * least < HAND_OFF ? HAND_OFFS * least : HAND_OFF;
        beyond = (least < BEYOND ? BEYOND : least) * of_4_bytes;
        work = p->flags != 0 ? beyond : least * of_4_bytes; /* nothing less was measured of a triangle */
        woken_work = (least < WOKEN_WORK ? WOKEN_WORK : least) * of_4_bytes;
        hand_off = cpu_has(device->features, CPU_avx512) ? most * of_4_bytes : 0;
        hand_off_of_two = device->l1_bytes > SMALL_L1 ? 2 * hand_off : hand_off;
    }
    const int64_t waking = min_i64(max_i64(ceil_div(min_i64(p->m, p->n), WAKING_EDGE), 1), WAKING);
    plan->threads = (int)min_i64(threads_for(p, device, wanted, work),
                                 max_i64(threads_for(p, device, wanted, beyond), MEASURED_THREADS));
    const double all = (double)p->m * (double)p->n * (double)max_i64(p->k, 1),
                 taken = all * (plan->threads - 1) / plan->threads;
    if (taken < (plan->threads == 2 ? hand_off_of_two : hand_off)) plan->threads = 1;
    plan->woken = threads_for(p, device, wanted, (double)waking * woken_work);
}

/* Blocks of the five loops, after Goto and van de Geijn: the packed block of B that one task uses (kc x task_n) takes
 * `b_share` of the L2, a sliver of A (mr x kc) lies in the L1. Partial sums over k live in C itself; where they cannot
 * (keeps_sums), they get a part of the workspace and macro-blocks are smaller. */
void plan_loops(plan *plan, const device_facts *device, int wanted_threads)
{
    cpu_plan *cpu = &plan->cpu;
    const tw_problem *p = &plan->problem;
    int64_t mr = plan->row->lab.tile_m, nr = plan->row->lab.tile_n, bytes = problem_sum_bytes(p);
    tuned_values room;
    const tuned_values *tuned = tuned_find(device, p, plan->row, &room);
    /* operands can be read in place; else panels hold other words than the operands */
    bool lies = plan->row->layout == CPU_PLAIN;
    const bool complex = problem_is_complex(p), a_transposed = op_transposes(p->op_a),
               b_transposed = op_transposes(p->op_b);
    /* nor a triangle of C, of which the five loops leave out tiles */
    const bool in_place = lies && p->flags == 0 && !copies_pay(p, device);
    count_threads(plan, device, tuned, wanted_threads);
    if (plan_divided(plan, device, tuned)) return;
    cpu->chunk = chunk_in_loops(p);
    const bool in_chunks = p->k > cpu->chunk;
    if (is_gemv(plan) && !in_chunks) {
        plan_gemv(plan, tuned);
        return;
    }
    if (!in_chunks && plan_alone(plan, device)) return;
    const tw_problem transposed = transposed_problem(p);
    if (in_place && !in_chunks && transposes_cheaply(p, bytes) &&
        fits_unpacked(&transposed, device, tuned, plan->threads, mr, nr, bytes)) {
        plan_unpacked(plan, &transposed, true, device, tuned, bytes);
        return;
    }
    const bool unpacked = in_place && !in_chunks && fits_unpacked(p, device, tuned, plan->threads, mr, nr, bytes) &&
                          !(complex && p->k > plan->row->lab.tile_k);
    /* A small C and a long k: both operands are used so seldom that neither is worth a copy. Panels of both take three
     * quarters of the L2. An A whose rows alias there is copied, if more than two tiles and MANY_BYTES of columns use
     * the copy. */
    const bool long_k = in_place && !unpacked && !complex && !a_transposed && !b_transposed &&
                        p->m <= SMALL_M_TILES * mr && p->n <= SMALL_N_TILES * nr && !rows_conflict(p->ldb, bytes),
               deep = long_k && (p->n <= 2 * nr || p->n * bytes < MANY_BYTES || !rows_alias(p->m, p->lda, bytes)),
               small_n = in_place && !unpacked && !complex && !long_k && !a_transposed && p->n <= SMALL_N_TILES * nr;
    /* Rows of A are as good as packed slivers, and not copied, but by many threads. Transposed, each step of k is a
     * cache line of its own: as many as leave room in the L1 for the other operands, few where B is transposed and
     * packed, too. */
    const bool short_k = unpacked && (!b_transposed || p->k * bytes <= FEW_BYTES) &&
                         p->k * CPU_LINE_BYTES <= device->l1_bytes * 5 / 8;
    cpu->direct_a = deep || small_n ||
                    (lies && !copies_pay(p, device) && (short_k || !a_transposed) && !rows_conflict(p->lda, bytes) &&
                     (unpacked || !many_pack_a(plan, device)));
    const bool rows_of_b = in_place && !unpacked && !complex && !deep && !small_n && !b_transposed,
               copies = rows_of_b && copies_own_b(plan, bytes);
    cpu->small_m = copies ||
                   (rows_of_b && p->m <= SMALL_M_TILES * mr && !(rows_conflict(p->ldb, bytes) && p->n * bytes < PAGE));
    cpu->direct_b = deep || cpu->small_m || (unpacked && !rows_conflict(p->ldb, bytes) && !b_transposed);
    /* of complex types the same for each problem of this k: their sums depend on where k is divided */
    cpu->kc = unpacked ? max_i64(p->k, 1)
                       : even_block(min_i64(p->k, cpu->chunk),
                                    deep                      ? device->l2_bytes * 3 / 4 / ((p->m + p->n) * bytes)
                                    : cpu->small_m || small_n ? SMALL_M_KC
                                                              : panel_depth(plan, tuned),
                                    lies ? 4 : CPU_K_UNIT);
    cpu->copy_n = copies ? nr : 0; /* more, once the steps are known */
    cpu->k_step = cpu->small_m ? even_block(cpu->kc, small_m_rows(plan, device, bytes), 4) : cpu->kc;
    const int64_t steps = cpu_layout_steps(plan->row->layout, cpu->kc);
    if (unpacked && cpu->direct_a && cpu->direct_b) {
        plan_unpacked(plan, p, false, device, tuned, bytes);
        return;
    }
    const int64_t most = keeps_sums(plan) ? SUM_MACRO : (int64_t)tuned->macro_block;
    cpu->macro_m = even_block(p->m, most, mr), cpu->macro_n = even_block(p->n, most, nr);
    cpu->task_n = even_block(cpu->macro_n,
                             cpu->small_m ? small_m_columns(plan) : b_bytes(device, tuned) / (steps * bytes), nr);
    if (copies) cpu->copy_n = min_i64(max_i64(COPY_BYTES / (cpu->k_step * bytes * nr), 1) * nr, cpu->task_n);
    /* Tall tasks read, or copy, their block of B seldom; with several threads the last tasks are waited for
     * (docs/perf/cpu-threads.md#packing-among-tasks). */
    const int64_t tiles = (int64_t)(plan->threads > 1 ? tuned->shared_task_tiles : tuned->task_tiles);
    cpu->task_m = copies ? cpu->macro_m : even_block(cpu->macro_m, tiles * mr, mr);
    while (plan->threads > 1 && cpu->task_m > mr &&
           ceil_div(cpu->macro_m, cpu->task_m) * ceil_div(cpu->macro_n, cpu->task_n) <
               (cpu->small_m ? 1 : (int64_t)tuned->thread_tasks) * plan->threads)
        cpu->task_m = round_up(cpu->task_m / 2, mr);
    if (plan->threads > 1 && p->flags == 0 && !cpu->small_m) even_tasks(plan, tuned);
    cpu->packs_ahead = plan->threads > 1 && !(cpu->direct_a && cpu->direct_b);
    count_workspace(plan);
}

/* A divided product as one of the five loops with the smallest blocks that are worth a copy: the same sums. */
static void undivide(plan *plan)
{
    enum { EDGE_TILES = 4 };
    cpu_plan *cpu = &plan->cpu;
    const tw_problem *p = &plan->problem;
    const int64_t mr = plan->row->lab.tile_m, nr = plan->row->lab.tile_n;
    const int64_t chunk = chunk_in_loops(p);
    *cpu = (cpu_plan){.chunk = chunk};
    cpu->kc = cpu->k_step = even_block(min_i64(p->k, chunk), plan->row->lab.tile_k,
                                       plan->row->layout == CPU_PLAIN ? 4 : CPU_K_UNIT);
    cpu->macro_m = cpu->task_m = even_block(p->m, EDGE_TILES * mr, mr);
    cpu->macro_n = cpu->task_n = even_block(p->n, EDGE_TILES * nr, nr);
    count_workspace(plan);
}

bool plan_shrink(plan *plan)
{
    if (plan->row->micro == NULL || plan->workspace_bytes == 0) return false;
    cpu_plan *cpu = &plan->cpu;
    /* in less, A and B are packed so often that one may as well read them where they lie */
    enum { LEAST_BLOCKS = 256 << 10 };
    const int64_t mr = plan->row->lab.tile_m, nr = plan->row->lab.tile_n;
    const bool complex = problem_is_complex(&plan->problem), b_transposed = op_transposes(plan->problem.op_b),
               packs = !(cpu->direct_a && cpu->direct_b);
    if (cpu->divided) {
        undivide(plan);
        return true;
    }
    if (cpu->packs_ahead)
        cpu->packs_ahead = false;
    else if (cpu->copy_n > 0)
        cpu->copy_n = 0;
    else if (complex && packs && plan->workspace_bytes <= LEAST_BLOCKS) /* k is divided as before */
        cpu->direct_a = cpu->direct_b = true, cpu->by_columns = b_transposed;
    else if (plan->row->layout == CPU_PLAIN && !complex && !b_transposed &&
             (packs || cpu->k_step < min_i64(plan->problem.k, cpu->chunk)) && plan->workspace_bytes <= LEAST_BLOCKS)
        cpu->direct_a = cpu->direct_b = true, cpu->kc = cpu->k_step = min_i64(max_i64(plan->problem.k, 1), cpu->chunk);
    else if (cpu->macro_m > mr || cpu->macro_n > nr)
        cpu->macro_m = round_up(cpu->macro_m / 2, mr), cpu->macro_n = round_up(cpu->macro_n / 2, nr);
    else if (!complex && packs && cpu->kc > CPU_K_UNIT)
        cpu->kc = CPU_K_UNIT, cpu->k_step = min_i64(cpu->k_step, cpu->kc);
    else
        return false;
    cpu->task_m = min_i64(cpu->task_m, cpu->macro_m), cpu->task_n = min_i64(cpu->task_n, cpu->macro_n);
    count_workspace(plan);
    return true;
}

/* A rung keeps one block of sums, one packed block of A and one of B for each thread, each tile x tile, the edge
 * rounded up to whole register tiles. */
void plan_rung(plan *plan, const device_facts *device, const tw_lab_choice *choice)
{
    const tw_problem *p = &plan->problem;
    int64_t longest = max_i64(max_i64(p->m, p->n), max_i64(p->k, 1));
    plan->tile = (int)min_i64(choice->tile > 0 ? choice->tile : plan->row->lab.default_tile, longest);
    int64_t block = max_i64(plan->tile, 1), edge = block + CPU_LONGEST_REGISTER_TILE - 1,
            blocks = ceil_div(p->m, block) * ceil_div(p->n, block);
    plan->threads = plan->row->threaded ? (int)max_i64(min_i64(threads_for(p, device, choice->threads,
                                                                           waited_work(p, plan->row, device)),
                                                               blocks),
                                                       1)
                                        : 1;
    if (plan->row->lab.default_tile > 0)
        plan->workspace_bytes = (size_t)plan->threads * 3 *
                                padded(edge * edge, (size_t)dtype_find(p->dtype)->lab.bytes);
}

/* How threads share a batch: its items, if they are as many as one item would have threads. */
bool plan_batch_shares(const plan *each, const tw_batch *batch, const device_facts *device)
{
    return threads_for(&each->problem, device, 0, waited_work(&each->problem, each->row, device)) > batch->count;
}

void plan_batch_cpu(const tw_batch *batch, const device_facts *device, bool together, plan *out)
{
    cpu_plan *cpu = &out->cpu;
    const tw_problem p = out->problem;
    tuned_values room;
    const tuned_values *tuned = tuned_find(device, &p, out->row, &room);
    double work = (double)p.m * (double)p.n * (double)max_i64(p.k, 1) * (double)batch->count / tuned->waited_work;
    int threads = work < device->threads ? (work < 1 ? 1 : (int)work) : device->threads;
    cpu->together = together;
    if (!together) out->threads = threads;
    cpu->packs_ahead = false;
    count_workspace(out);
    int64_t unit = rows_together(out, problem_sum_bytes(&p)), panels = cpu_panels_before(cpu, max_i64(p.k, 1) - 1) + 1;
    cpu->part_m = cpu->macro_m;
    while (out->at_once && !cpu->gemv && cpu->part_m > unit &&
           batch->count * ceil_div(cpu->unpacked_shape.m, cpu->part_m) < (int64_t)tuned->thread_tasks * threads)
        cpu->part_m = round_up(cpu->part_m / 2, unit);
    bool several = batch->count > 1 && !batch->pointers && p.k > 0 && !cpu->divided;
    if (several && batch->stride_a == 0)
        cpu->all_a_bytes = (size_t)(ceil_div(p.m, cpu->macro_m) * panels) * cpu->a_bytes;
    if (several && batch->stride_b == 0)
        cpu->all_b_bytes = (size_t)(ceil_div(p.n, cpu->macro_n) * panels) * cpu->b_bytes;
    cpu->each_bytes = out->workspace_bytes - (cpu->all_a_bytes > 0 ? cpu->a_bytes : 0) -
                      (cpu->all_b_bytes > 0 ? cpu->b_bytes : 0);
    out->workspace_bytes = cpu->all_a_bytes + cpu->all_b_bytes +
                           (cpu->together ? 1 : (size_t)threads) * cpu->each_bytes;
}
