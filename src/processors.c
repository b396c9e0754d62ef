/* processors.c - how many processors this process may keep busy. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "processors.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool processors_line(const char *path, char *line, size_t bytes)
{
    FILE *file = fopen(path, "re");
    if (file == NULL) return false;
    bool read = fgets(line, (int)bytes, file) != NULL;
    fclose(file);
    if (read) line[strcspn(line, "\n")] = '\0';
    return read;
}

static int affinity_count(void)
{
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

/* "max 100000" or "150000 100000" (cgroup v2 cpu.max): the quota in processors, 0 for none. */
static double quota_of(const char *text)
{
    double quota, period;
    return sscanf(text, "%lf %lf", &quota, &period) == 2 && quota > 0 && period > 0 ? quota / period : 0;
}

/* The tightest cpu.max from this process's cgroup up to the root; 0 where there is none. */
static double cgroup_quota(void)
{
    char line[512], path[640], text[64];
    double tightest = 0;
    if (!processors_line("/proc/self/cgroup", line, sizeof line) || strncmp(line, "0::", 3) != 0) return 0;
    for (char *group = line + 3;;) {
        snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max", group);
        double quota = processors_line(path, text, sizeof text) ? quota_of(text) : 0;
        if (quota > 0 && (tightest <= 0 || quota < tightest)) tightest = quota;
        char *slash = strrchr(group, '/');
        if (slash == NULL) return tightest;
        *slash = '\0';
    }
}

int processors_usable(char *from, size_t bytes)
{
    int threads = affinity_count();
    double quota = cgroup_quota();
    int allowed = (int)(quota + 0.999);
    snprintf(from, bytes, "the affinity mask");
    if (quota > 0 && allowed < threads) {
        threads = allowed > 0 ? allowed : 1;
        snprintf(from, bytes, "a cgroup quota of %.2f processors", quota);
    }
    return threads;
}
