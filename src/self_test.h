/* self_test.h - a few small products, or a small batch, by one compiled kernel alone, compared bit for bit with plain
 * loops. */
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

/* What a launch computes: a product, one whose k is divided, or items of a batch. */
typedef enum self_test_way { SELF_TEST_WHOLE, SELF_TEST_SPLITS, SELF_TEST_BATCH, SELF_TEST_WAYS } self_test_way;

/* self_test_uses - is the kernel of plan `of` launched in this way? */
bool self_test_uses(const plan *of, self_test_way way);

/* self_test_plans - how the kernel of plan `of` is tested: the same program, used in the same way, with tails in m, n
 * and k. Returns what plan_find() does. */
tw_status self_test_plans(const plan *of, const device_facts *device, self_test_way way, plan out[SELF_TEST_BETAS]);

#endif
