/* processors.h - how many processors this process may keep busy. */
#ifndef TILEWRIGHT_PROCESSORS_H
#define TILEWRIGHT_PROCESSORS_H

#include <stdbool.h>
#include <stddef.h>

/* processors_usable - the affinity mask's count, cut by the cgroup's CPU quota; at least 1. from says which. */
int processors_usable(char *from, size_t bytes);

/* processors_most - the most threads that a call may have in this process, INT_MAX if nobody set a limit. */
int processors_most(void);

/* processors_line - the first line of a small file of the kernel's, without its newline; false when it cannot be
 * read. */
bool processors_line(const char *path, char *line, size_t bytes);

#endif
