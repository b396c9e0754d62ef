/* far.h - a product of small integers whose rows, or whose batch's items, lie more than 2^31 elements apart: an offset
 * cut to 32 bits meets what is not mapped, or another element. It takes gigabytes of addresses, next to no memory. */
#ifndef TILEWRIGHT_FAR_H
#define TILEWRIGHT_FAR_H

#include "integers.h"

typedef enum far_verdict { FAR_RIGHT, FAR_WRONG, FAR_NO_ROOM } far_verdict;

/* far_product - the product of x twice, the second time from the plan that was kept, on a context that reads host
 * memory. apart: elements from one row to the next of each operand as stored; items: from one item of x->batch to the
 * next. If not right, text says why. */
far_verdict far_product(tw_context *context, integers *x, bool items, int64_t apart, char *text, size_t text_bytes);

#endif
