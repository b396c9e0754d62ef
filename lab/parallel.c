/* parallel.c - see parallel.h. */
#define _POSIX_C_SOURCE 200809L
#include "parallel.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include "tilewright_lab.h"

static const double WORK_OF_A_THREAD = 0x1p22; /* multiply-adds: some 3 ms; a thread takes 0.1 ms to begin */

int parallel_threads(double work, int most)
{
    tw_device host = {.size = sizeof host};
    int32_t count = 0;
    double threads = work / WORK_OF_A_THREAD;
    if (threads < 2 || most == 1) return 1;
    if (tw_lab_engine_devices("cpu", &host, 1, &count) != TW_OK || count < 1) return 1;
    if (most == 0 || most > host.threads) most = host.threads;
    if (most > PARALLEL_MOST) most = PARALLEL_MOST;
    return threads < most ? (int)threads : most;
}

typedef struct shared {
    atomic_llong next;
    int64_t parts;
    void (*part)(void *job, int thread, int64_t index);
    void *job;
} shared;

typedef struct worker {
    shared *of;
    int thread;
} worker;

static void *work(void *argument)
{
    const worker *w = argument;
    for (int64_t i; (i = atomic_fetch_add(&w->of->next, 1)) < w->of->parts;) w->of->part(w->of->job, w->thread, i);
    return NULL;
}

void parallel_run(int64_t parts, int threads, void (*part)(void *job, int thread, int64_t index), void *job)
{
    shared all = {0, parts, part, job};
    worker workers[PARALLEL_MOST];
    pthread_t begun[PARALLEL_MOST];
    sigset_t every, before;
    int count = 1;
    sigfillset(&every);
    pthread_sigmask(SIG_BLOCK, &every, &before);
    while (count < threads && count < parts) {
        workers[count] = (worker){&all, count};
        if (pthread_create(&begun[count], NULL, work, &workers[count]) != 0) break;
        count++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    work(&(worker){&all, 0});
    for (int i = 1; i < count; i++) pthread_join(begun[i], NULL);
}
