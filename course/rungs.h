/* rungs.h - which rows of the kernel table are the ladder's on this device. */
#ifndef TILEWRIGHT_RUNGS_H
#define TILEWRIGHT_RUNGS_H

#include <stdio.h>
#include "../program/exit.h"
#include "judge/user_kernel.h"

enum { RUNGS_MOST = 64 };

/* Which rungs are asked for, and of what. */
typedef struct rung_wish {
    tw_context *context;
    const tw_device *device;
    FILE *text; /* which says what other engines have */
    int count;
    const char (*words)[256]; /* of --rung, rungs and files */
    bool all, skinny, deep;
} rung_wish;

/* rungs_read_user - read the files among the words of --rung. EXIT_OK, or after a sentence EXIT_INPUT, or EXIT_BUILD
 * where gaps are left; user_kernels is to be freed in any case. They must stay until the context is closed. */
exit_code rungs_read_user(const char (*words)[256], int count, user_kernels *user);

typedef struct rung_list {
    int count;
    const tw_lab_kernel *rows[RUNGS_MOST];
    bool planned;               /* behind them the last rung, RUNG_PLANNED */
    const tw_lab_kernel *takes; /* which is this row here; NULL: the planner refuses */
} rung_list;

/* rungs_choose - one row per rung of the dtype (in an f32 ladder also rungs that f32 lacks, in their first type), in
 * the table's order: those of --rung, and those that files of the reader's own (NULL: none) are launched like, or all;
 * with --skinny only the thin ones, which come unasked only then; production kernels with --all, or by name. Of several
 * rows (instruction sets) of a rung: the planner's, else the last that fits, else the first, which will be refused with
 * its reason. EXIT_DEVICE, after a sentence, where this engine has none. */
exit_code rungs_choose(const rung_wish *wish, const tw_problem *problem, const user_kernels *user, rung_list *out);

/* rung_in_ladder - is the row of an engine's ladder of this type? A rung that f32 lacks stands in the f32 ladder with
 * its own type: the matrix units'. */
bool rung_in_ladder(const char *engine, tw_dtype dtype, const tw_lab_kernel *row);

#endif
