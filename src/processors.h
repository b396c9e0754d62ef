/* processors.h - how many processors this process may keep busy. */
#ifndef TILEWRIGHT_PROCESSORS_H
#define TILEWRIGHT_PROCESSORS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct processor_set {
    unsigned long words[1024 / (8 * sizeof(unsigned long))]; /* as cpu_set_t */
} processor_set;

/* processors_mask - where the calling thread may run. False: the system does not say, or has more processors. */
bool processors_mask(processor_set *out);

/* processors_bound - is the thread with this mask bound to one core, of which it may use one hardware thread or all? So
 * OpenMP's runtimes bind each of their threads. root: "", or a folder in front of /sys (in tests). */
bool processors_bound(const char *root, const processor_set *mask);

/* processors_within - are all processors of the one mask in the other? */
bool processors_within(const processor_set *part, const processor_set *whole);

/* processors_widen - turns the mask of a bound thread into that of its helpers: adds the masks of all threads of the
 * process, and the mask under which the process loaded this library. */
void processors_widen(processor_set *mask);

/* processors_usable - how many processors the calling thread's mask has (of a bound thread: its helpers' mask), cut by
 * the cgroup's CPU quota; at least 1. from says which. stays: the thread's own mask counts in any case. */
int processors_usable(bool stays, char *from, size_t bytes);

/* processors_most - the most threads that a call may have in this process, INT_MAX if nobody set a limit. */
int processors_most(void);

#endif
