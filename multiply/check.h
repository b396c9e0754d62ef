/* check.h - the independent check of a product, for `verify` and `multiply --verify`, and what it can and cannot
 * see. */
#ifndef TILEWRIGHT_CHECK_H
#define TILEWRIGHT_CHECK_H

#include "../lab/oracle.h"
#include "operands.h"

/* check_product - judge the dense m x n elements at c, named name, against the operands; prints the verdict of
 * `verify` on wish->text, with --verbose also what the check can see, and where it failed, or could not look at
 * everything, a sentence on stderr. EXIT_OK, EXIT_CHECK, or EXIT_MEMORY; *report is filled in the first two cases. */
exit_code check_product(const product_wish *wish, operands *o, const void *c, const char *name, verify_report *report);

/* check_is_sampled - did it look at samples alone, since an epilogue made C and there are many elements? */
bool check_is_sampled(const tw_problem *problem, const verify_report *report);

/* check_bytes - the memory that check_product() takes, at most, beside the operands. */
double check_bytes(const product_wish *wish, const tw_problem *problem);

/* check_nans - how many of the dense elements at c are NaN, and *infinite infinite; *first, which may be NULL, is the
 * index of the first NaN. */
int64_t check_nans(const operands *o, const void *c, int64_t *first, int64_t *infinite);

#endif
