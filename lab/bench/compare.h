/* compare.h - compares Tilewright and one library on one device in one process, interleaved launch by launch: cuBLASLt
 * on CUDA (compare_cuda.c), CLBlast on OpenCL (compare_opencl.c). Call compare_begin first; for each case compare_plan,
 * compare_run, compare_release. compare_begin and compare_run report a failure at once through the hook `tell`; the
 * status says its kind. */
#ifndef TILEWRIGHT_COMPARE_H
#define TILEWRIGHT_COMPARE_H

#include "../clocks.h"
#include "against.h"
#include "batch.h"

enum { OURS, HEURISTIC, BEST, COMPARE_SIDES, COMPARE_CANDIDATES = 8 };

typedef struct comparison comparison;

/* A library that is compared with, and the device beneath it. A function that fails has written to g->why what did. */
typedef struct compare_peer {
    const char *name, *title; /* as lab/peers.def has it; as its makers write it */
    const char *sides[COMPARE_SIDES];
    bool chooses;                     /* it has several candidates for a product, which are tried */
    const char *batched;              /* how we compute a batch */
    const char *method, *method_warm; /* as in a record */
    /* close() comes after open() also where that failed. */
    tw_status (*open)(comparison *g, const char *folder);
    void (*close)(comparison *g);
    tw_status (*plan)(comparison *g, const tw_problem *host); /* g->plan, and its kernel built; tw_error_text() */
    /* Make g->sets and g->set_count of them, filled, on the device. It tells its own failures; release() comes then
     * too. */
    tw_status (*fill)(comparison *g, const tw_problem *host);
    void (*release)(comparison *g);
    int (*candidates)(comparison *g, const tw_problem *host); /* how many there are; 0: it does not take the problem */
    void (*describe)(comparison *g, int candidate, char text[PEER_TEXT]); /* the kernel of a candidate */
    bool (*launch)(comparison *g, int i, int candidate, int set);         /* a product of a set, by side i */
    /* The same of these operands: the result is their C. Where the side itself fails it is refused. */
    bool (*multiply)(comparison *g, int i, int candidate, batch_operands *all);
    bool (*begin)(comparison *g);                /* time runs */
    bool (*end)(comparison *g, double *seconds); /* all that was launched since is done, and took so long */
} compare_peer;

extern const compare_peer compare_cublas, compare_clblast;

const compare_peer *compare_peer_of(const char *engine); /* NULL: this engine has none */

struct comparison {
    const compare_peer *peer;
    void *own; /* the peer's */
    bench_setup setup;
    bool warm; /* operands in place, not rotated beyond the caches */
    int samples;
    char version[PEER_TEXT], why[400]; /* of the library; what failed last */
    side sides[COMPARE_SIDES];
    bool best_is_heuristic; /* then it is timed once, as the heuristic's */
    int best, candidates;   /* the number of the candidate, of how many */
    /* what each took when it was tried; INFINITY: it failed, or its product is wrong */
    double trial_s[COMPARE_CANDIDATES];
    tw_lab_plan plan;   /* ours */
    tw_problem problem; /* the present case, in device memory */
    bool batched;       /* items products at a time, of which one is told */
    int64_t items;      /* 1, or of a batch */
    operand_sets sets;
    int set_count;
    int64_t launches;
    double busy_s;             /* of the samples since the warm-up began, by the peer's clock */
    double peak_flops, others; /* others: as in a record, while the samples were taken */
    clocks_reading before, after;
};

/* compare_begin - the caller zeroes g and sets peer, setup, warm, batched and items. Call compare_end in any case. */
tw_status compare_begin(comparison *g, const char *folder);
void compare_end(comparison *g);

void compare_peak(comparison *g, tw_dtype dtype); /* measure peak_flops now; NAN where that fails */

/* compare_plan - pick and build our kernel for a problem. Where no kernel fits, our side says why and the others go on.
 * Any other failure is a status, with its sentence in tw_error_text(). */
tw_status compare_plan(comparison *g, const tw_problem *host);

/* compare_run - judge and time all sides on that problem. */
tw_status compare_run(comparison *g, const tw_problem *host, const trial *t);
void compare_release(comparison *g); /* after each case, also one that failed */

void compare_refuse(comparison *g, int i, const char *why); /* side i is not timed */

typedef char compare_candidate[64];
/* compare_record - side i of the present case. The record points into g and text. */
record compare_record(const comparison *g, int i, compare_candidate text);

#endif
