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

/* processors_widen - from where a thread may run to where its helpers may: a mask of one processor, as OpenMP's runtimes
 * give to each of their threads, is widened to those of the process's other threads and to the mask under which this
 * library was loaded. The process may use them all. */
void processors_widen(processor_set *mask);

/* processors_usable - the count of the mask, cut by the cgroup's CPU quota; at least 1. from says which. stays: of the
 * calling thread's own mask, which is not widened. */
int processors_usable(bool stays, char *from, size_t bytes);

/* processors_most - the most threads that a call may have in this process, INT_MAX if nobody set a limit. */
int processors_most(void);

/* processors_line - the first line of a small file of the kernel's, without its newline; false when it cannot be
 * read. */
bool processors_line(const char *path, char *line, size_t bytes);

#endif
