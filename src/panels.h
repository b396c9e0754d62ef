/* panels.h - a large product of host memory on one device, in row panels of C. */
#ifndef TILEWRIGHT_PANELS_H
#define TILEWRIGHT_PANELS_H

#include "run.h"

/* panels_run - where it pays, carry out run's plan in panels, as run_whole() does as a whole. *done false: it does not
 * pay, or has no room, and nothing was done. */
tw_status panels_run(const tw_lab_run *run, const tw_problem *h, const void *a, const void *b, void *c, bool *done);

#endif
