/* context.h - a context, the engine behind it, and what every public call begins with. */
#ifndef TILEWRIGHT_CONTEXT_H
#define TILEWRIGHT_CONTEXT_H

#include "engines/engine.h"

#include <pthread.h>
#include <stdatomic.h>

struct tw_context {
    const engine_ops *ops;
    engine *engine; /* the first device's */
    engine *devices[MOST_JOINED];
    int device_count;
    bool peers;              /* each device reaches the memory of each other */
    char joined[200];        /* how several devices work together, in a sentence; "": there is one */
    device_facts facts;      /* without verdicts: first_use_facts() */
    bool tests;              /* kernels at first use */
    pthread_mutex_t testing; /* held during a test */
    const kernel_verdict *_Atomic verdicts;
    struct tuned_table *tuned; /* facts.tuned */
    char tuned_state[700];     /* of the user's rows, in a sentence */
    int64_t memory_bytes;      /* most that a call takes on the device; 0: what is free */
    atomic_uint cancelled;     /* how often: stop.h */
};

/* A thread that is cancelled inside a call would leave locks held and other threads at work on its stack. So
 * cancellation waits until the call returns. First line of every call that may wait, lock, open or compute. */
#define HOLD_CANCELLATION                                                                                              \
    __attribute__((unused, cleanup(restore_cancellation))) int cancel_state_ = disable_cancellation()

static inline int disable_cancellation(void)
{
    int before = PTHREAD_CANCEL_ENABLE;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}

static inline void restore_cancellation(const int *before)
{
    int disabled;
    pthread_setcancelstate(*before, &disabled);
}

/* engine_at, engine_named - an engine by its place in the list, or by its name, of which NULL and "auto" are the
 * default's. NULL: there is none. */
const engine_ops *engine_at(int index);
const engine_ops *engine_named(const char *name);

/* devices_check - can devices be listed there? */
tw_status devices_check(const tw_device *devices, int32_t capacity, const int32_t *count);

/* context_open - tw_open(). despite: as in engine_ops. */
tw_status context_open(const tw_options *options, bool despite, tw_context **context);

/* context_renew - a number of its own for what the context plans from now on: each thread's last plan is none of it. */
void context_renew(tw_context *context);

/* context_signature - what tuned rows are signed with. */
struct tuned_signature;
void context_signature(const tw_context *context, struct tuned_signature *out);

/* context_default - the process-wide context; NULL until a call asks for it. */
extern _Atomic(tw_context *) context_default;

/* context_stop - how a call that begins now is cancelled, in the context that its caller gave. */
stop context_stop(tw_context *context);

/* context_find - *context NULL becomes the process-wide default. Two threads may open it at once; the second's is
 * closed again. */
tw_status context_find(tw_context **context);

/* context_refuse_default - the sentence for device memory in a call whose context was NULL, which is also what a failed
 * tw_open() leaves. */
tw_status context_refuse_default(const tw_context *context);

#endif
