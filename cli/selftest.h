/* selftest.h - every kernel of the table against both oracles, for `selftest` and the end of `doctor`. */
#ifndef TILEWRIGHT_SELFTEST_H
#define TILEWRIGHT_SELFTEST_H

#include "session.h"

typedef struct selftest_count {
    int passed, failed, refused;
} selftest_count;

/* selftest_run - judge the open device's engine's kernels; quick: of the CPU the production kernels and
 * r01, fewer products; where a driver compiles kernels r01 and what the planner takes, on one product of f32.
 * Prints a line per kernel when `lines` is set, and always the failures. EXIT_OK, or the exit code of what broke
 * down. */
exit_code selftest_run(session *s, bool quick, bool lines, selftest_count *count);

#endif
