/* side.h - how large a square may be when nobody said. */
#ifndef TILEWRIGHT_SIDE_H
#define TILEWRIGHT_SIDE_H

#include "session.h"

/* side_choose - *n = most, halved until one run of the kernel on n x n x k, as a small run foretells it, lasts at most
 * longest_s; says so where it is smaller. k 0: k = n. */
exit_code side_choose(session *s, const tw_lab_kernel *kernel, int64_t k, int64_t most, double longest_s, int64_t *n);

#endif
