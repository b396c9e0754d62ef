/* placed.h - operands in device memory: where they lie for the engine, and how they are aligned. */
#ifndef TILEWRIGHT_PLACED_H
#define TILEWRIGHT_PLACED_H

#include "context.h"

/* An operand in device memory as the caller names it: an address, or the driver's handle. */
static inline buffer buffer_on_device(const void *given)
{
    return (buffer){.device = (uintptr_t)given, .memory = (void *)(uintptr_t)given};
}

/* placed_align - what the items of a batch are aligned to, if the first one is to `align` bytes. */
uint32_t placed_align(uint32_t align, int64_t stride, tw_dtype dtype);

/* placed_find - the operands of a problem in device memory, each offsets[i] elements behind what the caller gives
 * (NULL: none). Where the engine can look at them they are checked, and the problem gets their alignments. batch: NULL,
 * or what api_settle_batch() has checked. */
tw_status placed_find(const tw_context *context, tw_problem *p, const tw_batch *batch, const int64_t *offsets,
                      const void *a, const void *b, const void *c, buffer out[3]);

/* placed_check - the same where nothing is done with them yet. Operands in host memory pass. */
tw_status placed_check(const tw_context *context, tw_problem *p, const tw_batch *batch, const void *a, const void *b,
                       const void *c);

#endif
