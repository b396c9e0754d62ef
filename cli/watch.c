/* watch.c - see watch.h. A thread that counts its own ticks: those of a stopped process do not pass. */
#define _POSIX_C_SOURCE 200809L
#include "watch.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "guard.h"
#include "exit.h"

static const long tick_ns = 250000000;

static atomic_int idle_ticks;
static atomic_bool ends;
static _Atomic(const char *) stage = "MPI starts";
static double limit_s;

static void *watch(void *unused)
{
    (void)unused;
    while (!atomic_load(&ends)) {
        nanosleep(&(struct timespec){.tv_nsec = tick_ns}, NULL);
        const double idle_s = 1e-9 * (double)tick_ns * atomic_fetch_add(&idle_ticks, 1);
        if (idle_s < limit_s) continue;
        char text[300];
        const int length = snprintf(text, sizeof text,
                                    "tilewright: multiply: nothing has moved for %.0f s while %s: a rank or a link is "
                                    "lost\n",
                                    idle_s, atomic_load(&stage));
        if (write(STDERR_FILENO, text, (size_t)length) < 0) continue;
        guard_end(EXIT_RUN);
    }
    return NULL;
}

void watch_alive(void) { atomic_store(&idle_ticks, 0); }

void watch_stage(const char *name)
{
    atomic_store(&stage, name);
    watch_alive();
}

void watch_begin(double seconds)
{
    limit_s = seconds;
    watch_alive();
    pthread_t thread;
    if (pthread_create(&thread, NULL, watch, NULL) == 0) pthread_detach(thread);
}

void watch_end(void) { atomic_store(&ends, true); }
