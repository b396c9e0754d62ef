/* signals.h - a count that threads wait on: a while in a loop, then asleep. */
#ifndef TILEWRIGHT_CPU_SIGNALS_H
#define TILEWRIGHT_CPU_SIGNALS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { LINE = 64 }; /* bytes of a cache line */

/* Inside a call a thread spins for WITHIN_S before it sleeps; it looks at the clock after SPINS pauses. */
enum { SPINS = 16 };
static const double WITHIN_S = 5e-5;

/* Nothing else lies in the line that waiters spin on. */
typedef struct signal_count {
    char before[LINE];
    atomic_uint value;
    char behind[LINE];
    pthread_mutex_t lock;
    pthread_cond_t changed;
} signal_count;

void signal_init(signal_count *s);
void signal_destroy(signal_count *s);
void signal_advance(signal_count *s); /* and wakes those that sleep */

/* signal_spin - waits for so long until the value differs from `old`; does it? Not on the processor of that number;
 * where there is none, other threads of this processor run first. */
bool signal_spin(const signal_count *s, unsigned old, double spin_s, const atomic_int *cpu);

void signal_sleep(signal_count *s, unsigned old);

/* signal_wait - waits inside a call until the value differs from `old`; returns it. */
unsigned signal_wait(signal_count *s, unsigned old);

#endif
