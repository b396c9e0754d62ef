/* busy.c - see busy.h. */
#define _DEFAULT_SOURCE /* getrusage */
#include "busy.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static double seconds_of(int who)
{
    struct rusage used;
    if (getrusage(who, &used) != 0) return NAN;
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

busy_reading busy_read(const char *line, double ticks_per_s, double own_s)
{
    /* user nice system idle iowait irq softirq steal; what guests of ours use is part of user */
    double t[8] = {0};
    int got = sscanf(line, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6],
                     &t[7]);
    if (got < 4 || !(ticks_per_s > 0)) return (busy_reading){NAN, NAN, own_s};
    double used = t[0] + t[1] + t[2] + t[5] + t[6] + t[7];
    return (busy_reading){used / ticks_per_s, (used + t[3] + t[4]) / ticks_per_s, own_s};
}

busy_reading busy_now(void)
{
    char line[512] = "";
    FILE *stat = fopen("/proc/stat", "re");
    if (stat != NULL && fgets(line, sizeof line, stat) == NULL) line[0] = '\0';
    if (stat != NULL) fclose(stat);
    return busy_read(line, (double)sysconf(_SC_CLK_TCK), seconds_of(RUSAGE_SELF) + seconds_of(RUSAGE_CHILDREN));
}

double busy_share(const busy_reading *from, const busy_reading *to)
{
    double all_s = to->all_s - from->all_s, others_s = to->used_s - from->used_s - (to->own_s - from->own_s);
    if (!(all_s >= 0.05)) return NAN;
    return fmin(fmax(others_s / all_s, 0), 1);
}
