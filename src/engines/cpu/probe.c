/* probe.c - what this processor can do at most: multiply-adds of its registers, bytes from a working set. */
#include "cpu_engine.h"

#include <inttypes.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static _Atomic double probe_sink; /* results go here, so that no compiler drops the work */

/* 20 ms per try; 2 threads wait some 4 ms, a slice of the scheduler, before they yield */
enum { WINDOWS = 40, PIECES = 2, PAUSES = 200000 };
static const double WINDOW_S = 0.0005;

/* The threads of a team meet, compute pieces of `rounds` rounds of the probe for half a millisecond, meet again. A
 * window's rate is the sum of its threads', each from the common beginning to the end of its last piece, so that one
 * whose core is shared counts for what it does, as it would where tiles are taken from a counter; the best window
 * counts. Windows are short, since on a busy machine no long stretch has all threads computing; and a thread that waits
 * here does not sleep, since waking it would be part of the window. */
typedef struct flops_work {
    const kernel_row *row;
    int64_t rounds;
    double flops;              /* of them */
    atomic_int arrived, met;   /* arrivals, meetings that all have come to */
    atomic_llong kflops_per_s; /* of this window: the sum over its threads */
    double met_s, flops_per_s; /* the last meeting; the best so far */
} flops_work;

static void meet(flops_work *work, int threads, int meeting)
{
    if (atomic_fetch_add_explicit(&work->arrived, 1, memory_order_acq_rel) == (meeting + 1) * threads - 1) {
        double flops_per_s = 1e3 * (double)atomic_exchange_explicit(&work->kflops_per_s, 0, memory_order_relaxed);
        if (flops_per_s > work->flops_per_s) work->flops_per_s = flops_per_s;
        work->met_s = cpu_now_s();
        atomic_store_explicit(&work->met, meeting + 1, memory_order_release);
    }
    for (int pauses = 0; atomic_load_explicit(&work->met, memory_order_acquire) <= meeting; pauses++) {
        pause_briefly();
        if (pauses >= PAUSES / threads) sched_yield();
    }
}

static void flops_team(void *context, team *team)
{
    flops_work *work = context;
    double sink;
    for (int window = 0; window < WINDOWS; window++) {
        meet(work, team_threads(team), window);
        double begin = work->met_s, end = cpu_now_s(), flops = 0;
        for (; end - begin < WINDOW_S; end = cpu_now_s()) {
            work->row->probe(work->rounds, &sink);
            flops += work->flops;
        }
        atomic_fetch_add_explicit(&work->kflops_per_s, (long long)(1e-3 * flops / (end - begin)), memory_order_relaxed);
        atomic_store_explicit(&probe_sink, sink, memory_order_relaxed);
    }
    meet(work, team_threads(team), WINDOWS);
}

/* One measurement shared by a team: `parts` pieces of equal work, `rounds` times. */
typedef struct read_work {
    const kernel_row *row;
    int64_t parts, rounds, part_bytes;
    const char *data;
} read_work;

static void read_part(void *context, int64_t i)
{
    const read_work *work = context;
    atomic_store_explicit(&probe_sink, work->row->reader(work->data + i * work->part_bytes, work->part_bytes),
                          memory_order_relaxed);
}

static void read_team(void *context, team *team)
{
    const read_work *work = context;
    for (int64_t round = 0; round < work->rounds; round++) team_for(team, work->parts, read_part, context);
}

/* The shortest of `tries` runs of the work by the team. */
static double least_seconds(engine *e, int threads, int tries, read_work *work)
{
    double least = 0;
    for (int i = 0; i < tries; i++) {
        double begin = cpu_now_s();
        pool_run(e->pool, threads, read_team, work);
        double seconds = cpu_now_s() - begin;
        if (i == 0 || seconds < least) least = seconds;
    }
    return least;
}

tw_status cpu_peak_flops(engine *e, tw_dtype dtype, int threads, int tries, double *flops_per_s)
{
    flops_work work = {.row = kernel_probed(dtype, e->features), .rounds = 10000};
    if (work.row == NULL) return fail(TW_NO_KERNEL, "the cpu engine has no probe for %s", dtype_find(dtype)->lab.name);
    double sink, begin = cpu_now_s(), flops = work.row->probe(work.rounds, &sink), seconds = cpu_now_s() - begin + 1e-9;
    work.flops_per_s = flops / seconds; /* what one thread does, more can do */
    double scale = WINDOW_S / PIECES / seconds;
    work.rounds = (int64_t)(10000 * scale) + 1;
    work.flops = flops * (double)work.rounds / 10000;
    for (int i = 0; i < tries; i++) {
        atomic_store(&work.arrived, 0);
        atomic_store(&work.met, 0);
        atomic_store(&work.kflops_per_s, 0);
        pool_run(e->pool, threads, flops_team, &work);
    }
    *flops_per_s = work.flops_per_s;
    return TW_OK;
}

tw_status cpu_bandwidth(engine *e, int64_t bytes, int threads, int tries, double *bytes_per_s)
{
    enum { UNIT = 1024, LEAST_PER_TRY = 64 << 20 };
    read_work work = {.row = kernel_probed(TW_F64, e->features), .parts = threads == 1 ? 1 : 4 * threads};
    work.part_bytes = round_up(ceil_div(bytes, work.parts), UNIT);
    int64_t total = work.part_bytes * work.parts;
    work.rounds = ceil_div(LEAST_PER_TRY, total);
    char *data = aligned_alloc(CPU_LINE_BYTES, (size_t)total);
    if (data == NULL) return fail(TW_NO_MEMORY, "no memory for a working set of %" PRId64 " bytes", total);
    memset(data, 0, (size_t)total);
    work.data = data;
    *bytes_per_s = (double)total * (double)work.rounds / least_seconds(e, threads, tries, &work);
    free(data);
    return TW_OK;
}
