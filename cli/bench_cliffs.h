/* bench_cliffs.h - `bench --cliffs`: random shapes beside friendlier ones, the worst first. */
#ifndef TILEWRIGHT_BENCH_CLIFFS_H
#define TILEWRIGHT_BENCH_CLIFFS_H

#include "session.h"

/* cliffs_check - EXIT_USAGE, after a sentence, where the options do not go with --cliffs, or need it. */
exit_code cliffs_check(const options *opt);

/* cliffs_bench - on the open device; kernel NULL: the planner's choice. */
exit_code cliffs_bench(session *s, const tw_lab_kernel *kernel, const name_list *dtypes);

#endif
