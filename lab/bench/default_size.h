/* default_size.h - the default size of a square product. */
#ifndef TILEWRIGHT_DEFAULT_SIZE_H
#define TILEWRIGHT_DEFAULT_SIZE_H

#include "setup.h"
#include "tilewright_lab.h"

/* default_size - *n = most, halved until one run of the kernel on n x n x k, as a small run foretells it, lasts at most
 * longest_s. *most_s: what one with n = most would take. k 0: k = n. Where the small run fails *n is most. */
tw_status default_size(const bench_setup *s, const tw_lab_kernel *kernel, int64_t k, int64_t most, double longest_s,
                       int64_t *n, double *most_s);

#endif
