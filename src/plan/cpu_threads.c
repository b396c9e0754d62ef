/* cpu_threads.c - how many threads of a CPU compute a product, and how they divide its rows to end together. */
#include "cpu.h"

/* Below thread_work multiply-adds of 4 bytes per thread another thread that is awake costs more than it gains
 * (docs/perf/cpu-threads.md#small-on-sixteen). waited_work, which is more, is for calls that wait for threads that wake
 * late (batches, rungs); half of it for types that are packed, if C has more than WAKING_EDGE rows and columns. Of a
 * triangle, and beyond MEASURED_THREADS, a thread has at least BEYOND, or waited_work. */
static const double BEYOND = 262144;
/* What other threads must take off the caller where vectors have 64 bytes: HAND_OFFS times thread_work, but HAND_OFF at
 * most; twice as much for a single other one on processors that were seen to run two threads on one core. */
static const double HAND_OFFS = 2, HAND_OFF = 131072;
/* Times as much work, where a thread has to be woken; less of few rows or columns, which take longer for as much work
 * (docs/perf/cpu-threads.md#pauses). */
enum { WAKING = 4, WAKING_EDGE = 16 };
static const double WOKEN_WORK = 393216; /* instead of thread_work, where that is less */

int cpu_threads_of(double work, double each, int most)
{
    const double threads = work / each;
    return threads < most ? (threads < 1 ? 1 : (int)threads) : most;
}

/* The same, of all of C or a triangle. */
static int threads_for(const tw_problem *p, double each, int most)
{
    return cpu_threads_of(work_of(p) / (problem_triangle(p) != 0 ? 2 : 1), each, most);
}

int cpu_threads_waited(const tw_problem *p, const kernel_row *row, const device_facts *device, int wanted)
{
    tuned_values room;
    return threads_for(p, tuned_find(device, p, row, &room)->waited_work, wanted > 0 ? wanted : device->threads);
}

void cpu_count_threads(cpu_case *c, int wanted)
{
    const tw_problem *p = c->p;
    const int most = wanted > 0 ? wanted : c->device->threads;
    c->threads = c->woken = 1;
    if (most == 1) return;
    /* where C has few rows or columns each thread packs for itself, if all are woken (cpu_alone.c) */
    const bool few = min_i64(p->m, p->n) <= WAKING_EDGE, tiles = cpu_layout_tiles(c->row->layout),
               packs = c->row->layout != CPU_PLAIN && !(tiles && c->gemv);
    const double waited = c->tuned->waited_work;
    double work = waited / (few ? 1 : 2), beyond = waited, woken_work = waited, hand_off = tiles ? waited : 0,
           hand_off_of_two = hand_off;
    if (!packs) {
        /* a complex multiply-add is four */
        const double of_4_bytes = 4 / ((c->complex ? 2 : 1) * (double)c->bytes), least = c->tuned->thread_work,
                     taken_off = HAND_OFFS * least < HAND_OFF ? HAND_OFFS * least : HAND_OFF;
        beyond = (least < BEYOND ? BEYOND : least) * of_4_bytes;
        work = problem_triangle(p) != 0 ? beyond : least * of_4_bytes; /* nothing less was measured of a triangle */
        woken_work = (least < WOKEN_WORK ? WOKEN_WORK : least) * of_4_bytes;
        hand_off = has_wide_vectors(c->device) ? taken_off * of_4_bytes : 0;
        hand_off_of_two = c->device->l1_bytes > SMALL_L1 ? 2 * hand_off : hand_off;
    }
    const int64_t waking = min_i64(max_i64(ceil_div(min_i64(p->m, p->n), WAKING_EDGE), 1), WAKING);
    c->threads = threads_for(p, work, most);
    if (c->threads > MEASURED_THREADS)
        c->threads = (int)min_i64(c->threads, max_i64(threads_for(p, beyond, most), MEASURED_THREADS));
    const double taken = work_of(p) * (c->threads - 1) / c->threads;
    if (taken < (c->threads == 2 ? hand_off_of_two : hand_off)) c->threads = 1;
    c->woken = threads_for(p, (double)waking * woken_work, most);
}

/* What a task takes, in rows: one more for each tile, which reads all of the task's columns of B again. */
static int64_t task_time(const cpu_case *c, int64_t rows) { return rows + ceil_div(rows, c->mr); }

/* When the last thread ends: tasks are taken one after the other, shorter ones where a thread would have none. */
static int64_t last_end(const cpu_case *c, const division *d, int64_t rows)
{
    const int64_t times = d->others * d->repeats, whole = d->length / rows * times,
                  rounds = ceil_div(whole, c->threads), rest = d->length % rows,
                  more = (rest > 0 ? times : 0) - (rounds * c->threads - whole);
    return rounds * task_time(c, rows) + (more > 0 ? ceil_div(more, c->threads) * task_time(c, rest) : 0);
}

/* Eight tasks take five threads as long as four (docs/perf/cpu-threads.md#even-shares). */
int64_t cpu_even_rows(const cpu_case *c, const division *d, int64_t usual, int64_t each)
{
    enum { EARLIER = 16 };
    const int64_t tiles = ceil_div(d->length, c->mr) * d->others;
    int64_t best = usual, best_end = last_end(c, d, usual);
    best_end -= best_end / EARLIER;
    for (int64_t tasks = min_i64(each, ceil_div(tiles, c->threads)); tasks <= 2 * each; tasks++) {
        const int64_t rows = round_up(ceil_div(d->length * d->others, tasks * c->threads), d->unit);
        if (rows < max_i64(d->unit, c->mr / 2 + 1)) break;
        if (rows <= d->most && last_end(c, d, rows) < best_end) best = rows, best_end = last_end(c, d, rows);
    }
    return best;
}
