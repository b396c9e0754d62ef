/* soak.h - what the parts of the soak share: the run as all its processes see it, and a product that is drawn, called
 * and judged. */
#ifndef TILEWRIGHT_SOAK_H
#define TILEWRIGHT_SOAK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tilewright.h"

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#ifdef __SANITIZE_THREAD__
enum { UNDER_TSAN = 1 };
#else
enum { UNDER_TSAN = 0 };
#endif
#ifdef __SANITIZE_ADDRESS__
enum { UNDER_ASAN = 1 };
#else
enum { UNDER_ASAN = 0 };
#endif

enum { SLOTS = 8, TEXT = 512 };

/* Faults that the program plants itself, so that a test sees each of them found. */
typedef enum plant { NONE, ELEMENT, CHILD, BITS, PADDING, DESCRIPTOR, THREAD, MEMORY, CRASH, HANG, PLANTS } plant;

/* The run, in memory that all its processes share. */
typedef struct soak_run {
    plant plant; /* to be planted, once; of MEMORY in each round */
    double hang_s;
    atomic_bool stops, failed, planted, no_package;
    _Atomic int64_t seed; /* of the round that is under way */
    atomic_llong rounds, calls, forks, cancellations;
    _Atomic uint64_t progress; /* changes whenever something has ended */
    char failure[4 * TEXT];    /* of the first that set `failed` */
    char doing[SLOTS][TEXT];   /* each thread of the round, for who finds it hanging */
} soak_run;

extern soak_run *run;

/* soak_fail - the first failure of the run is kept. Returns false. */
bool soak_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* soak_plants - is it time to plant this fault? True once in a run. */
bool soak_plants(plant wanted);

/* One product of a kind, with its operands and oracle. */
typedef struct soak_product {
    const struct product_kind *kind;
    void *state;
    bool exact;   /* can be judged in every rounding mode, and with subnormals flushed */
    bool unusual; /* it was called so */
    bool refused; /* memory is, to the calling thread */
    bool starved; /* memory may have run out: the library may say so */
    char text[TEXT];
} soak_product;

typedef struct product_kind {
    /* false: no memory, or the oracle failed; soak_fail() was told */
    bool (*draw)(soak_product *, uint64_t seed, tw_context *context);
    void (*call)(soak_product *); /* the library's call and no more */
    bool (*judge)(soak_product *, char *why, size_t why_bytes);
    bool (*spoil)(soak_product *, plant); /* a wrong ELEMENT, other BITS, or PADDING; false: it has none */
    void (*end)(soak_product *);
} product_kind;

extern const product_kind api_kind, blas_kind;

/* memory_refuse - this thread's requests by aligned_alloc() and calloc() fail after the first `granted`.
 * memory_allow - they no longer do. */
void memory_refuse(int granted);
void memory_allow(void);

/* entries_of - of a folder, with those of itself and its parent. */
int entries_of(const char *folder);

/* threads_over - how many of this process there are above so many; those that were joined have time to vanish. */
int threads_over(int allowed);

/* others_wait - does every other thread of this process wait for something? */
bool others_wait(void);

/* watch_begin - before the first round.
 * watch_memory - after round 0, 1, ...: has what the process holds grown since the first ones? Fails the run if so. */
void watch_begin(void);
void watch_memory(int64_t round);

/* worker_main - rounds of seeds from `seed` on, `rounds` of them or until run->stops: this process's exit status. */
int worker_main(int64_t seed, int64_t rounds);

/* child_main - a few products in a process that was executed anew, from several threads at once: its exit status. */
int child_main(uint64_t seed);

/* soak_state - the descriptor of the run's memory, which executed children are given. */
extern int soak_state;

#endif
