/* self_test.h - a few small products by one compiled kernel alone, compared bit for bit with plain loops. */
#ifndef TILEWRIGHT_SELF_TEST_H
#define TILEWRIGHT_SELF_TEST_H

#include "engines/engine.h"

typedef struct self_test_result {
    char text[VERDICT_BYTES]; /* "": it passed; else kernel, device and what is wrong, in a sentence */
    bool lasts;               /* false: it did not build or run, for which there may be causes that pass */
} self_test_result;

/* self_test_run - test the kernel of a plan. Operands are small integers, so that each sum and each element of C is
 * exact; what lies around them is NaN, as is C where beta is 0. A status other than TW_OK says nothing of the kernel:
 * there was no memory, or copies failed. */
tw_status self_test_run(const engine_ops *ops, engine *e, const device_facts *device, const plan *of,
                        self_test_result *out);

/* The betas of each shape. */
enum { SELF_TEST_BETAS = 2 };

/* self_test_plans - how the kernel of plan `of` is tested: the same program, used in the same way, with tails in m, n
 * and k, and with k divided or not. Returns what plan_find() does. */
tw_status self_test_plans(const plan *of, const device_facts *device, bool divides, plan out[SELF_TEST_BETAS]);

#endif
