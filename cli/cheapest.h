/* cheapest.h - `multiply --engine auto`: a CUDA GPU where it is faster with its driver's start, compilation and copies
 * counted (lab/cost.h), else the CPU. Never OpenCL. */
#ifndef TILEWRIGHT_CHEAPEST_H
#define TILEWRIGHT_CHEAPEST_H

#include "session.h"

typedef char cheapest_why[512]; /* a line of --verbose: the engine, the estimates and the reason */

/* cheapest_open - of a session on the cpu: open the cuda engine in its place, or leave it. No driver is loaded where no
 * GPU could be faster. EXIT_OK also without a usable GPU. */
exit_code cheapest_open(session *s, const tw_problem *p, cheapest_why why);

/* cheapest_fall_back - the product failed on the GPU with this status: back to the cpu. */
exit_code cheapest_fall_back(session *s, tw_status status, cheapest_why why);

#endif
