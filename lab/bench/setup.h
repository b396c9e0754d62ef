/* setup.h - what the program hands to lab/bench: the device, how to measure, and functions to call meanwhile. */
#ifndef TILEWRIGHT_SETUP_H
#define TILEWRIGHT_SETUP_H

#include "tilewright.h"

typedef struct bench_hooks {
    void (*hold)(void), (*release)(void); /* block signals that stop the program: around a fork */
    void (*forked)(void);                 /* in the forked process: drop the program's signal handlers */
    void (*progress)(const char *what);   /* show what is going on */
    void (*tell)(const char *sentence);   /* print a sentence; the run may go on */
    void (*foreign)(const char *file);    /* a user's kernel of this file runs from now on; NULL: no more */
    void (*waits)(const char *file, const char *does); /* for its run to "end", or it to "compile"; NULL: no more */
} bench_hooks;

typedef struct bench_setup {
    tw_context *context;
    const tw_device *device; /* of the context */
    const char *driver;      /* what the engine says of it; "" where it has none */
    int threads, samples;    /* 0: as many as is usual */
    uint64_t seed;           /* of the operands that are judged */
    const bench_hooks *hooks;
} bench_setup;

/* bench_tell - a sentence by the hook `tell`; returns status, so that a function can end with `return bench_tell()`. */
tw_status bench_tell(const bench_setup *s, tw_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
tw_status bench_no_memory(const bench_setup *s, const char *what);

#endif
