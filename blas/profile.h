/* profile.h - counts calls and their time by routine and shape, and prints them as the process ends:
 * TILEWRIGHT_PROFILE=1. */
#ifndef TILEWRIGHT_BLAS_PROFILE_H
#define TILEWRIGHT_BLAS_PROFILE_H

#include <stdbool.h>

/* profile_open - read the environment, at the first product; true: calls are to be counted. */
bool profile_open(void);

/* profile_count - a call of `entry`, in that order of storage, described by `said`, of which what stands before " lda"
 * tells shapes apart. Does nothing unless profile_open() said true. */
void profile_count(const char *entry, const char *order, const char *said, double seconds, double flops);

#endif
