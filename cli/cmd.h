/* cmd.h - the commands, one function each; main.c has the table of them. */
#ifndef TILEWRIGHT_CMD_H
#define TILEWRIGHT_CMD_H

#include "../ranks/launched.h"
#include "session.h"

exit_code cmd_multiply(session *s);
exit_code cmd_verify(session *s);
exit_code cmd_bench(session *s);
exit_code cmd_ladder(session *s);
exit_code cmd_explain(session *s);
exit_code cmd_report(session *s);
exit_code cmd_devices(session *s);
exit_code cmd_doctor(session *s);
exit_code cmd_selftest(session *s);
exit_code cmd_tune(session *s);
exit_code cmd_grade(session *s);

exit_code cmd_ladder_gpu(session *s);                        /* of `ladder --gpu` */
exit_code cmd_multiply_ranks(session *s, const launched *l); /* of `multiply` that mpirun started */

/* of `selftest`, and of the end of `doctor` */
typedef struct selftest_count {
    int passed, failed, refused;
} selftest_count;

/* selftest_run - judge the open device's engine's kernels against both oracles; quick: of the CPU the production
 * kernels and r01, fewer products; where a driver compiles kernels r01 and what the planner takes, on one product of
 * f32. Prints a line per kernel when `lines` is set, and always the failures. EXIT_OK, or the exit code of what broke
 * down. */
exit_code selftest_run(session *s, bool quick, bool lines, selftest_count *count);

#endif
