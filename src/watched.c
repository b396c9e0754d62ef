/* watched.c - a product that a thread of its own computes while the caller's asks whether it is still wanted. */
#include "api.h"
#include "thread.h"

#include <stdio.h>
#include <time.h>

typedef struct watched {
    tw_context *context;
    const tw_problem *problem;
    const tw_batch *batch;
    const void *a, *b;
    void *c;
    atomic_uint count; /* of this product alone */
    stop stop;
    pthread_mutex_t lock; /* guards the next three */
    pthread_cond_t changed;
    bool ended;
    tw_status status;
    char text[4096];
} watched;

static void *compute(void *argument)
{
    watched *w = argument;
    const tw_status status = w->batch != NULL
                                 ? api_gemm_batched(w->context, &w->stop, w->problem, w->batch, w->a, w->b, w->c)
                                 : api_gemm(w->context, &w->stop, w->problem, w->a, w->b, w->c);
    pthread_mutex_lock(&w->lock);
    if (status != TW_OK) snprintf(w->text, sizeof w->text, "%s", tw_error_text());
    w->status = status, w->ended = true;
    pthread_cond_signal(&w->changed);
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

/* Has the product ended, now or in so many milliseconds? */
static bool wait_until_ended(watched *w, int milliseconds)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += milliseconds % 1000 * 1000000L, until.tv_sec += milliseconds / 1000 + until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    pthread_mutex_lock(&w->lock);
    while (!w->ended && pthread_cond_timedwait(&w->changed, &w->lock, &until) == 0) continue;
    const bool ended = w->ended;
    pthread_mutex_unlock(&w->lock);
    return ended;
}

/* of_context: what tw_cancel() asks, which is handed on. */
static void watch_it(watched *w, const stop *of_context, const tw_lab_watch *watch)
{
    bool wanted = true;
    void *left = watch->leave();
    while (!wait_until_ended(w, watch->milliseconds)) {
        watch->enter(left);
        wanted = wanted && watch->asks() == 0;
        if (!wanted || stop_asked(of_context)) atomic_store_explicit(&w->count, 1, memory_order_relaxed);
        left = watch->leave();
    }
    watch->enter(left);
}

tw_status tw_lab_gemm_watched(tw_context *context, const tw_problem *problem, const tw_batch *batch, const void *a,
                              const void *b, void *c, const tw_lab_watch *watch)
{
    HOLD_CANCELLATION;
    const stop of_context = context_stop(context);
    watched w = {.context = context, .problem = problem, .batch = batch, .a = a, .b = b, .c = c};
    pthread_condattr_t attributes;
    pthread_t thread;
    w.stop = stop_begin(&w.count);
    pthread_mutex_init(&w.lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&w.changed, &attributes);
    const bool started = thread_start(&thread, NULL, compute, &w) == 0;
    if (!started) {
        void *left = watch->leave();
        compute(&w);
        watch->enter(left);
    } else {
        watch_it(&w, &of_context, watch);
        pthread_join(thread, NULL);
    }
    pthread_condattr_destroy(&attributes);
    pthread_cond_destroy(&w.changed);
    pthread_mutex_destroy(&w.lock);
    return w.status == TW_OK ? TW_OK : fail(w.status, "%s", w.text);
}
