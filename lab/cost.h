/* cost.h - how long a product of operands in host memory takes on a device, in seconds, by nominal numbers
 * (data/costs.def): a pure function of device and problem, so that a program chooses alike in each run. */
#ifndef TILEWRIGHT_COST_H
#define TILEWRIGHT_COST_H

#include <stdbool.h>
#include "tilewright.h"

/* cost_of - start + compilation + bytes / bandwidth + flops / rate. compiles: the kernels are still to be compiled. */
double cost_of(const tw_device *device, const tw_problem *p, bool compiles);

/* cost_least_of_cuda - what no CUDA device stays below: one that has the kernels and computes in no time. */
double cost_least_of_cuda(const tw_problem *p);

#endif
