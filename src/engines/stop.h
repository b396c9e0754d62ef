/* stop.h - how tw_cancel() ends a call: it advances a count of its context, which a call compares with what it was as
 * the call began. Whoever sees another begins nothing more, and the call's end says so. */
#ifndef TILEWRIGHT_STOP_H
#define TILEWRIGHT_STOP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "../error.h"

typedef struct stop {
    const atomic_uint *count;
    unsigned begun; /* the count then */
} stop;

static inline stop stop_begin(const atomic_uint *count)
{
    return (stop){count, atomic_load_explicit(count, memory_order_relaxed)};
}

/* stop_asked - has the call been cancelled? NULL: one that cannot be. */
static inline bool stop_asked(const stop *s)
{
    return s != NULL && atomic_load_explicit(s->count, memory_order_relaxed) != s->begun;
}

/* stop_check - the same as a status. What was written before tw_cancel() can be read behind it. */
static inline tw_status stop_check(const stop *s)
{
    const bool asked = s != NULL && atomic_load_explicit(s->count, memory_order_acquire) != s->begun;
    return asked ? fail(TW_CANCELLED, "tw_cancel() has ended the call") : TW_OK;
}

#endif
