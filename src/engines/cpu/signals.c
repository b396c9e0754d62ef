/* signals.c - how threads wait for each other: they spin for some tens of microseconds, then sleep. */
#include "signals.h"

#include "cpu_engine.h"
#include "masks.h"

#include <sched.h>
#include <time.h>

double cpu_now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void pause_briefly(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

void signal_init(signal_count *s)
{
    atomic_init(&s->value, 0);
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->changed, NULL);
}

void signal_destroy(signal_count *s)
{
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->lock);
}

void signal_advance(signal_count *s)
{
    pthread_mutex_lock(&s->lock);
    atomic_fetch_add_explicit(&s->value, 1, memory_order_release);
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

static bool has_changed(const signal_count *s, unsigned old)
{
    return atomic_load_explicit(&s->value, memory_order_acquire) != old;
}

bool signal_spin(const signal_count *s, unsigned old, double spin_s, const atomic_int *cpu)
{
    if (has_changed(s, old)) return true;
    for (const double until_s = cpu_now_s() + spin_s; cpu_now_s() < until_s;) {
        if (cpu != NULL)
            masks_leave(atomic_load_explicit(cpu, memory_order_relaxed));
        else
            sched_yield();
        for (int i = 0; i < SPINS; i++) {
            if (has_changed(s, old)) return true;
            pause_briefly();
        }
    }
    return false;
}

void signal_sleep(signal_count *s, unsigned old)
{
    pthread_mutex_lock(&s->lock);
    while (!has_changed(s, old)) pthread_cond_wait(&s->changed, &s->lock);
    pthread_mutex_unlock(&s->lock);
}

unsigned signal_wait(signal_count *s, unsigned old)
{
    if (!signal_spin(s, old, WITHIN_S, NULL)) signal_sleep(s, old);
    return atomic_load_explicit(&s->value, memory_order_acquire);
}
