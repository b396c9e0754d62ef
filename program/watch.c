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
#include "diag.h"
#include "exit.h"
#include "guard.h"

static const long tick_ns = 250000000;

static atomic_int idle_ticks;
static atomic_bool ends;
static _Atomic(const char *) stage = "MPI starts", user_file; /* NULL: none that runs */
static bool of_files;
static double limit_s;

static int describe(char *text, size_t size, const char *file, double idle_s)
{
    if (file == NULL)
        return snprintf(text, size,
                        "tilewright: multiply: nothing has moved for %.0f s while %s: a rank or a link is lost\n",
                        idle_s, atomic_load(&stage));
    return snprintf(
        text, size,
        "tilewright: %s: %.300s: the kernel did not %s within %.0f s; there is no verdict. Does each of its "
        "loops end? --deadline SECONDS waits longer\n",
        diag_command_name(), file, atomic_load(&stage), limit_s);
}

static void *watch(void *unused)
{
    (void)unused;
    while (!atomic_load(&ends)) {
        nanosleep(&(struct timespec){.tv_nsec = tick_ns}, NULL);
        const char *file = atomic_load(&user_file); /* before the ticks, which begin anew before it is told */
        const double idle_s = 1e-9 * (double)tick_ns * atomic_fetch_add(&idle_ticks, 1);
        if (idle_s < limit_s || (of_files && file == NULL)) continue;
        char text[600];
        const int length = describe(text, sizeof text, file, idle_s);
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

static bool start(double seconds)
{
    limit_s = seconds;
    watch_alive();
    pthread_t thread;
    return pthread_create(&thread, NULL, watch, NULL) == 0 && pthread_detach(thread) == 0;
}

void watch_begin(double seconds) { start(seconds); }

void watch_end(void) { atomic_store(&ends, true); }

bool watch_file_begin(double seconds)
{
    static bool begun;
    if (!of_files) of_files = true, begun = start(seconds);
    return begun;
}

void watch_file(const char *file, const char *does)
{
    if (file != NULL) watch_stage(does);
    atomic_store(&user_file, file);
}
