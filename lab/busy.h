/* busy.h - how much of the processors other processes used while something was timed. */
#ifndef TILEWRIGHT_BUSY_H
#define TILEWRIGHT_BUSY_H

/* Seconds of processor time since the system began, summed over its processors; NAN: unknown. */
typedef struct busy_reading {
    double used_s, all_s; /* by all processes, with what a hypervisor gave to others; used or idle */
    double own_s;         /* by this process and its children that have ended */
} busy_reading;

busy_reading busy_now(void);

/* From this share on others disturb what is timed. */
#define BUSY_DISTURBS 0.05

/* busy_read - the same from the first line of /proc/stat, whose unit is ticks. */
busy_reading busy_read(const char *line, double ticks_per_s, double own_s);

/* busy_share - the share of all processors that others used from `from` to `to`, 0 to 1. NAN: unknown, or under 50 ms
 * of a processor passed. */
double busy_share(const busy_reading *from, const busy_reading *to);

#endif
