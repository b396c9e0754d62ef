/* cases.h - the shapes that bench times, in classes: those of the command line, or a set's. The one table of sets
 * stands in cases.c. */
#ifndef TILEWRIGHT_CASES_H
#define TILEWRIGHT_CASES_H

#include "opts.h"
#include "tilewright.h"

typedef struct bench_case {
    const char *group; /* its class: of rows that say one thing together */
    tw_op op_a, op_b;
    shape p;
    int64_t pad; /* elements between the rows of A, B and C */
} bench_case;

enum { MOST_CASES = 384, RANDOM_CASES = 200 };

typedef struct case_list {
    int count;
    bench_case items[MOST_CASES];
} case_list;

/* cases_choose - what --shape, --size, --set, --pad and --transpose-a, --transpose-b ask for; or, after a sentence,
 * EXIT_USAGE. */
exit_code cases_choose(const options *opt, case_list *out);

tw_problem case_problem(const bench_case *c, tw_dtype dtype);

/* case_text - "1000x1000x1000", "256x256x256 NT", "4096x4096x4096 +1" with as many elements between rows. */
typedef char case_name[80];
const char *case_text(const tw_problem *p, case_name out);

#endif
