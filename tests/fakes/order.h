/* order.h - streams of the fake CUDA driver: what is put on one waits there, and is done in another order than that of
 * the calls wherever no stream, event or wait orders it.
 *
 * FAKE_CUDA "order=1": nothing is done before somebody waits for it, and then no more than that needs. "order=S": each
 * call does some of what may be done, drawn from the seed S. Without it each call does its work at once. */
#ifndef TILEWRIGHT_FAKE_ORDER_H
#define TILEWRIGHT_FAKE_ORDER_H

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct cu_event_ {
    int64_t us, recorded, done; /* the clock; how often it was recorded, and how often that was reached */
    struct cu_stream_ *stream;  /* of the last record */
};

typedef struct work {
    struct work *next;
    void (*run)(struct work *);   /* NULL: a record, or a wait */
    bool (*ready)(struct work *); /* may it be done yet? NULL: yes */
    struct cu_event_ *event;
    int64_t reaches; /* the event's `done` that a wait waits for, or a record makes */
    bool waits;
    struct cu_stream_ *recorder; /* that of the wait's event */
    struct cu_stream_ *stream;
    /* what run() is told */
    char *to;
    const char *from;
    size_t to_pitch, from_pitch, width, height;
    const void *kernel;
    char arguments[16][128];
    bool (*given_ready)(void *); /* of another fake, */
    void (*given_run)(void *);   /* with what these are told */
    void *given;
    int64_t until_ms; /* of the host's clock */
} work;

struct cu_stream_ {
    struct cu_stream_ *next;
    cu_context context;
    int capturing;
    bool held; /* another fake's: nobody else may put anything there */
    work *first, **last;
};

static pthread_mutex_t ordering = PTHREAD_MUTEX_INITIALIZER;
static struct cu_stream_ *all_streams;
static unsigned order_state;

/* The first of a stream's work, if it may be done. */
static bool step(struct cu_stream_ *s)
{
    work *w = s->first;
    if (w == NULL || (w->waits && w->event->done < w->reaches) || (w->ready != NULL && !w->ready(w))) return false;
    s->first = w->next;
    if (s->first == NULL) s->last = &s->first;
    if (w->run != NULL) w->run(w);
    if (w->event != NULL && !w->waits) w->event->done = w->reaches;
    free(w);
    return true;
}

static void reach(struct cu_stream_ *s, const struct cu_event_ *event, int64_t reaches);

/* Does the first of a stream's work, behind what that waits for. */
static void force(struct cu_stream_ *s)
{
    if (step(s)) return;
    const work *w = s->first;
    if (w != NULL && w->waits) reach(w->recorder, w->event, w->reaches);
    if (w != NULL && w->ready != NULL)
        nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL); /* another process has it, or the clock */
}

static bool asking; /* a query: it returns though what it asks for may not be done */

static void reach(struct cu_stream_ *s, const struct cu_event_ *event, int64_t reaches)
{
    while (event->done < reaches && s->first != NULL) {
        force(s);
        if (asking) break;
    }
}

static void drain(struct cu_stream_ *s)
{
    while (s->first != NULL) force(s);
}

static void drain_all(void)
{
    for (struct cu_stream_ *s = all_streams; s != NULL; s = s->next) drain(s);
}

/* Does another process's work lie there? */
static bool has_given(const struct cu_stream_ *s)
{
    for (const work *w = s->first; w != NULL; w = w->next)
        if (w->given_ready != NULL) return true;
    return false;
}

static unsigned draw(unsigned below)
{
    order_state = order_state * 1664525 + 1013904223;
    return (order_state >> 16) % below;
}

/* Some of what may be done, of any stream. */
static void do_some(int order)
{
    unsigned count = 0;
    if (order < 2) return;
    if (order_state == 0) order_state = (unsigned)order;
    for (struct cu_stream_ *s = all_streams; s != NULL; s = s->next) count++;
    for (unsigned tries = draw(4); tries > 0 && count > 0; tries--) {
        struct cu_stream_ *s = all_streams;
        for (unsigned at = draw(count); at > 0; at--) s = s->next;
        for (unsigned steps = draw(3); steps > 0 && step(s); steps--) continue;
    }
}

static void put(struct cu_stream_ *s, work *w, int order)
{
    if (s->held) fputs("the fake driver: something was put on a stream on which NCCL is at work\n", stderr), abort();
    w->stream = s;
    *s->last = w, s->last = &w->next;
    while (order == 0 && step(s)) continue;
    do_some(order);
}

static void add_stream(struct cu_stream_ *s)
{
    pthread_mutex_lock(&ordering);
    s->last = &s->first, s->next = all_streams, all_streams = s;
    pthread_mutex_unlock(&ordering);
}

static void remove_stream(struct cu_stream_ *s)
{
    pthread_mutex_lock(&ordering);
    drain(s);
    struct cu_stream_ **at = &all_streams;
    while (*at != s) at = &(*at)->next;
    *at = s->next;
    pthread_mutex_unlock(&ordering);
    free(s);
}

#endif
