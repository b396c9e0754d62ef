/* case_list.h - which shapes bench times: those of the command line, or a set's. */
#ifndef TILEWRIGHT_CASE_LIST_H
#define TILEWRIGHT_CASE_LIST_H

#include "../lab/bench/cases.h"
#include "opts.h"

enum { MOST_CASES = 384 };

typedef struct case_list {
    int count;
    bench_case items[MOST_CASES];
} case_list;

/* cases_choose - what --shape, --size, --set, --pad and --transpose-a, --transpose-b ask for; or, after a sentence,
 * EXIT_USAGE. */
exit_code cases_choose(const options *opt, case_list *out);

#endif
