/* processors.h - how many processors this process may keep busy. */
#ifndef TILEWRIGHT_PROCESSORS_H
#define TILEWRIGHT_PROCESSORS_H

#include <stddef.h>

/* processors_usable - the affinity mask's count, cut by the cgroup's CPU quota; at least 1. from says which. */
int processors_usable(char *from, size_t bytes);

#endif
