/* library_worker.c - see library_worker.h. */
#include "library_worker.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include "../measure.h"
#include "workers.h"

/* A sample lasts so long at least, and its pauses at most; before it, runs that wake caches, clock and threads, unless
 * one run alone takes longer than that. */
static const double SAMPLE_S = 1e-3, PAUSES_S = 0.05, WAKE_S = 2e-3, LONG_S = 0.05;

typedef struct library_worker {
    const worker_job *job;
    tw_context *context; /* of Tilewright's own */
    peer peer;
    work_order order; /* the present one */
    int64_t runs;
    int repeats;
    double run_s;
} library_worker;

/* One product of a set; false, and why is in the answer. */
static bool multiply(library_worker *x, int set, work_answer *answer)
{
    const work_order *o = &x->order;
    char *a = x->job->memory + (size_t)set * o->sets.set_bytes, *b = a + o->sets.a_bytes, *c = b + o->sets.b_bytes;
    if (x->job->row == NULL) {
        if (tw_gemm(x->context, &o->problem, a, b, c) == TW_OK) return true;
        snprintf(answer->text, sizeof answer->text, "%s", tw_error_text());
        return false;
    }
    int status = peer_multiply(&x->peer, &o->problem, a, b, c);
    if (status != 0) snprintf(answer->text, sizeof answer->text, "refused this product with status %d", status);
    return status == 0;
}

static double clock_s(const library_worker *x)
{
    struct timespec used;
    if (x->job->threads > 1 || clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) != 0) return measure_now_s();
    return (double)used.tv_sec + 1e-9 * (double)used.tv_nsec;
}

static void compute_elsewhere(double pause_s)
{
    for (const double until_s = measure_now_s() + pause_s; measure_now_s() < until_s;) continue;
}

/* The time of the products, without what is computed before each. */
static bool run(library_worker *x, int repeats, double *seconds, work_answer *answer)
{
    double start_s = clock_s(x), paused_s = 0;
    for (int i = 0; i < repeats; i++) {
        if (x->job->pause_s > 0) {
            const double from_s = clock_s(x);
            compute_elsewhere(x->job->pause_s);
            paused_s += clock_s(x) - from_s;
        }
        if (!multiply(x, (int)(x->runs++ % x->order.count), answer)) return false;
    }
    *seconds = clock_s(x) - start_s - paused_s;
    return true;
}

static void open_library(library_worker *x, work_answer *answer)
{
    const tw_options wanted = {.size = sizeof wanted, .engine = "cpu", .threads = x->job->threads};
    if (x->job->row != NULL) {
        answer->done = peer_open(x->job->row, x->job->folder, x->job->threads, &x->peer, answer->text,
                                 sizeof answer->text);
        if (answer->done) peer_version(&x->peer, answer->text), peer_choice(&x->peer, answer->choice);
        return;
    }
    answer->done = tw_open(&wanted, &x->context) == TW_OK;
    snprintf(answer->text, sizeof answer->text, "%s", answer->done ? tw_version() : tw_error_text());
}

static void product(library_worker *x, work_answer *answer)
{
    const tw_lab_choice choice = {.threads = x->job->threads};
    tw_lab_plan plan;
    answer->done = multiply(x, 0, answer);
    if (!answer->done) return;
    if (x->job->row != NULL)
        peer_choice(&x->peer, answer->choice);
    else if (tw_lab_plan_of(x->context, &choice, &x->order.problem, &plan) == TW_OK)
        snprintf(answer->choice, sizeof answer->choice, "%s", plan.kernel->name);
}

/* Make the pages of the shared memory known to this process. */
static void touch(const library_worker *x)
{
    const size_t page = 4096, bytes = (size_t)x->order.count * x->order.sets.set_bytes;
    volatile char *at = x->job->memory;
    for (size_t i = 0; i < bytes; i += page) {
        char kept = at[i];
        at[i] = kept;
    }
}

enum { MOST_COUNTED = 1024 };

typedef struct thread_clock {
    long id;
    double used_ns;
} thread_clock;

/* What each thread of this process has computed so far. The number of them; 0: the system does not say, or there
 * are too many. */
static int thread_clocks(thread_clock *out)
{
    int count = 0;
    DIR *threads = opendir("/proc/self/task");
    for (struct dirent *thread; threads != NULL && count < MOST_COUNTED && (thread = readdir(threads)) != NULL;) {
        char path[64];
        snprintf(path, sizeof path, "/proc/self/task/%.20s/schedstat", thread->d_name);
        FILE *stat = thread->d_name[0] != '.' ? fopen(path, "r") : NULL;
        out[count].id = atol(thread->d_name);
        count += stat != NULL && fscanf(stat, "%lf", &out[count].used_ns) == 1;
        if (stat != NULL) fclose(stat);
    }
    if (threads != NULL) closedir(threads);
    return count < MOST_COUNTED ? count : 0;
}

/* How many threads have computed since: at least a tenth of what the busiest has. Others woke up and slept again. */
static int threads_since(const thread_clock *before, int count)
{
    thread_clock now[MOST_COUNTED];
    double most_ns = 0;
    int busy = 0, found = thread_clocks(now);
    for (int i = 0; i < found; i++) {
        for (int j = 0; j < count; j++)
            if (before[j].id == now[i].id) now[i].used_ns -= before[j].used_ns;
        most_ns = fmax(most_ns, now[i].used_ns);
    }
    for (int i = 0; i < found; i++) busy += now[i].used_ns > 0 && now[i].used_ns >= 0.1 * most_ns;
    return busy;
}

static void ready(library_worker *x, work_answer *answer)
{
    thread_clock before[MOST_COUNTED];
    const double most = x->job->pause_s > 0 ? fmax(1, PAUSES_S / x->job->pause_s) : INFINITY;
    double seconds = 0;
    touch(x);
    const int counted = thread_clocks(before);
    x->repeats = 1;
    answer->done = run(x, 1, &seconds, answer);
    while (answer->done && seconds < LONG_S) { /* a first run that is shorter may have been slower than the next */
        answer->done = run(x, x->repeats, &seconds, answer);
        if (seconds >= SAMPLE_S || x->repeats + 1 > most) break;
        double wanted = seconds > 0 ? ceil(1.25 * x->repeats * SAMPLE_S / seconds) : 10.0 * x->repeats;
        x->repeats = (int)fmin(fmin(fmax(wanted, x->repeats + 1), 10.0 * x->repeats), most);
    }
    answer->threads = threads_since(before, counted);
    x->run_s = seconds / x->repeats;
    answer->repeats = x->repeats;
    answer->seconds = x->run_s;
}

static void sample(library_worker *x, work_answer *answer)
{
    double woken_s = 0, seconds = 0;
    answer->done = true;
    while (answer->done && x->run_s < LONG_S && woken_s < WAKE_S) {
        answer->done = run(x, 1, &seconds, answer);
        woken_s += seconds + x->job->pause_s;
    }
    if (answer->done) answer->done = run(x, x->repeats, &seconds, answer);
    answer->seconds = seconds / x->repeats;
}

static void peak(library_worker *x, work_answer *answer)
{
    answer->done = tw_lab_peak_flops(x->context, x->order.problem.dtype, x->job->threads, 3, &answer->seconds) == TW_OK;
    if (!answer->done) snprintf(answer->text, sizeof answer->text, "%s", tw_error_text());
}

void library_worker_run(void *job, int orders, int answers)
{
    static void (*const works[])(library_worker *, work_answer *) = {[WORK_OPEN] = open_library,
                                                                     [WORK_PRODUCT] = product,
                                                                     [WORK_READY] = ready,
                                                                     [WORK_SAMPLE] = sample,
                                                                     [WORK_PEAK] = peak};
    static library_worker x;
    x.job = job;
    while (worker_take(orders, &x.order, sizeof x.order)) {
        work_answer answer = {0};
        works[x.order.what](&x, &answer);
        if (!worker_give(answers, &answer, sizeof answer)) return;
    }
}
