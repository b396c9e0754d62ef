/* divided.h - how a product would be divided among ranks, and what it would take: of `explain --ranks N`. */
#ifndef TILEWRIGHT_DIVIDED_H
#define TILEWRIGHT_DIVIDED_H

#include <stdint.h>
#include <stdio.h>
#include "../program/exit.h"
#include "tilewright_lab.h"

/* What is asked. 0: not given. */
typedef struct divided_wish {
    int ranks, hosts, threads; /* threads: of a rank */
    int grid[3];               /* 0: any */
    tw_dtype dtype;
    int64_t m, n, k, memory;
    double network_gbps, rate_gflops; /* of a rank */
} divided_wish;

/* divided_explain - in lines, and as an object where json is no NULL. EXIT_OK, or another after a sentence. */
exit_code divided_explain(const divided_wish *wish, FILE *text, FILE *json);

#endif
