/* processors.c - how many processors this process may keep busy. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "processors.h"

#include <dirent.h>
#include <limits.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cgroup.h"
#include "error.h"
#include "first_line.h"
#include "plan.h"

static atomic_int most_threads; /* 0: no limit */

int processors_most(void)
{
    const int most = atomic_load_explicit(&most_threads, memory_order_relaxed);
    return most > 0 ? most : INT_MAX;
}

tw_status tw_threads_set(int32_t most)
{
    if (most < 0 || most > MOST_THREADS)
        return fail(TW_BAD_ARGUMENT, "most is %d, expected 0 to %d threads", (int)most, MOST_THREADS);
    atomic_store_explicit(&most_threads, most, memory_order_relaxed);
    return TW_OK;
}

int32_t tw_threads_get(void) { return atomic_load_explicit(&most_threads, memory_order_relaxed); }

/* ---- masks ---- */

static processor_set at_load; /* empty: not known */

static bool read_mask(pid_t thread, processor_set *out)
{
    cpu_set_t mask;
    _Static_assert(sizeof mask == sizeof *out, "1024 processors");
    if (sched_getaffinity(thread, sizeof mask, &mask) != 0) return false;
    memcpy(out, &mask, sizeof mask);
    return true;
}

__attribute__((constructor)) static void note_the_mask(void) { read_mask(0, &at_load); }

static int count_of(const processor_set *set)
{
    int count = 0;
    for (size_t i = 0; i < sizeof set->words / sizeof *set->words; i++) count += __builtin_popcountl(set->words[i]);
    return count;
}

/* Of a list as the kernel writes it: "0-3,8". */
static void add_listed(const char *list, processor_set *to)
{
    const size_t bits = 8 * sizeof *to->words;
    for (char *end; *list != '\0'; list = *end == ',' ? end + 1 : "") {
        unsigned long first = strtoul(list, &end, 10), last = first;
        if (*end == '-') last = strtoul(end + 1, &end, 10);
        for (; first <= last && first < 8 * sizeof *to; first++) to->words[first / bits] |= 1ul << first % bits;
    }
}

bool processors_within(const processor_set *part, const processor_set *whole)
{
    for (size_t i = 0; i < sizeof part->words / sizeof *part->words; i++)
        if ((part->words[i] & ~whole->words[i]) != 0) return false;
    return true;
}

bool processors_bound(const char *root, const processor_set *mask)
{
    enum { MOST_OF_A_CORE = 8 };
    char path[256], list[128];
    const int count = count_of(mask);
    if (count <= 1) return true;
    if (count > MOST_OF_A_CORE) return false;
    int first = 0;
    while ((mask->words[first / (8 * (int)sizeof *mask->words)] >> first % (8 * (int)sizeof *mask->words) & 1) == 0)
        first++;
    snprintf(path, sizeof path, "%s/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", root, first);
    processor_set core = {{0}};
    if (first_line(path, list, sizeof list)) add_listed(list, &core);
    return processors_within(mask, &core);
}

static void add_set(processor_set *to, const processor_set *more)
{
    for (size_t i = 0; i < sizeof to->words / sizeof *to->words; i++) to->words[i] |= more->words[i];
}

bool processors_mask(processor_set *out) { return read_mask(0, out); }

void processors_widen(processor_set *wide)
{
    add_set(wide, &at_load);
    DIR *tasks = opendir("/proc/self/task");
    processor_set mask;
    for (const struct dirent *task; tasks != NULL && (task = readdir(tasks)) != NULL;)
        if (task->d_name[0] != '.' && read_mask((pid_t)atoi(task->d_name), &mask)) add_set(wide, &mask);
    if (tasks != NULL) closedir(tasks);
}

static int affinity_count(bool stays)
{
    processor_set own;
    if (read_mask(0, &own)) {
        if (!stays && processors_bound("", &own)) processors_widen(&own);
        return count_of(&own);
    }
    for (size_t cpus = 1024; cpus <= 65536; cpus *= 2) { /* the kernel refuses a mask smaller than its own */
        cpu_set_t *set = CPU_ALLOC(cpus);
        if (set == NULL) break;
        size_t size = CPU_ALLOC_SIZE(cpus);
        int count = sched_getaffinity(0, size, set) == 0 ? CPU_COUNT_S(size, set) : 0;
        CPU_FREE(set);
        if (count > 0) return count;
    }
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (int)online : 1;
}

int processors_usable(bool stays, char *from, size_t bytes)
{
    int threads = affinity_count(stays);
    tw_lab_limits limits;
    cgroup_read("", &limits);
    const double quota = limits.processors;
    int allowed = (int)(quota + 0.999);
    snprintf(from, bytes, "the processors that the process may use");
    if (quota > 0 && allowed < threads) {
        threads = allowed > 0 ? allowed : 1;
        snprintf(from, bytes, "a cgroup quota of %.2f processors", quota);
    }
    return threads;
}
