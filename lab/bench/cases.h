/* cases.h - the shapes that are timed, in classes. The one table of them stands in cases.c. */
#ifndef TILEWRIGHT_CASES_H
#define TILEWRIGHT_CASES_H

#include <stdbool.h>
#include "tilewright.h"

typedef struct bench_case {
    const char *group; /* its class: cases with one geometric mean */
    tw_op op_a, op_b;
    int64_t m, n, k;
    int64_t pad;  /* elements between the rows of A, B and C */
    bool padded;  /* more, so that rows begin at multiples of 16 bytes; else they lie as a caller's do */
    bool emulate; /* accuracy TW_EMULATED */
} bench_case;

enum { RANDOM_CASES = 200 };

const bench_case *cases_at(int index); /* a case of the table; NULL beyond the last */

/* cases_random - draws RANDOM_CASES cases of the class gpu-random from a seed: sides up to 4096 and k up to 65536, each
 * power of two as likely as the next. */
void cases_random(bench_case *out);

tw_problem case_problem(const bench_case *c, tw_dtype dtype);

/* case_text - "1000x1000x1000", "256x256x256 NT", "4096x4096x4096 +1" with as many elements between rows, "33x20x40
 * padded" with different numbers. */
typedef char case_name[80];
const char *case_text(const tw_problem *p, case_name out);

#endif
