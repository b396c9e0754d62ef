/* rungs.h - which rows of the kernel table are the ladder's on this device. */
#ifndef TILEWRIGHT_RUNGS_H
#define TILEWRIGHT_RUNGS_H

#include "session.h"

enum { RUNGS_MOST = 64 };

typedef struct rung_list {
    int count;
    const tw_lab_kernel *rows[RUNGS_MOST];
} rung_list;

/* rungs_choose - one row per rung of the dtype, in the table's order, only those of --rung where it was given. Of several rows
 * (instruction sets) of a rung: the planner's, else the last that fits, else the first, which will be refused with its reason. */
exit_code rungs_choose(session *s, const tw_problem *problem, rung_list *out);

#endif
