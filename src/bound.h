/* bound.h - what an epilogue reads, brought to where the engine computes. */
#ifndef TILEWRIGHT_BOUND_H
#define TILEWRIGHT_BOUND_H

#include "run.h"

/* bound_begin - behind prepare: uploads the operands that the problem's epilogue binds, if it has one and they lie on
 * the host, away from the engine's kernels. Where it fails, nothing is left to release. */
tw_status bound_begin(tw_lab_run *run);

void bound_end(tw_lab_run *run);

#endif
