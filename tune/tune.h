/* tune.h - the search for tuned rows: a local search over a planner's parameters for one class of products. Knows
 * nothing of devices, files and clocks: those are functions that it is given. */
#ifndef TILEWRIGHT_TUNE_H
#define TILEWRIGHT_TUNE_H

#include <stdbool.h>
#include "tilewright_lab.h"

enum { TUNE_PARAMETERS = 64, TUNE_KERNELS = 24, TUNE_DIMS = 128, TUNE_ROW = 600, TUNE_ROWS = 4096, TUNE_WHY = 400 };

/* A parameter of all kernels ("*") or of one. */
typedef struct tune_dim {
    tw_lab_parameter about;
    char kernel[48];
    double committed, at; /* what the library brings; what is the best so far */
} tune_dim;

typedef struct tune_space {
    char engine[8], dtype[8], shape_class[16], ops[4];
    int count;
    tune_dim dims[TUNE_DIMS];
} tune_space;

typedef enum tune_verdict {
    TUNE_SAME,    /* the plan is that of the present rows: nothing was run */
    TUNE_KNOWN,   /* it is one that was run before: nothing was run */
    TUNE_SLOWER,  /* or not faster beyond the spread, twice */
    TUNE_UNCLEAR, /* the spread is too wide to say: another run tries it again */
    TUNE_BETTER,
    TUNE_WRONG,  /* it failed an oracle: not timed */
    TUNE_HUNG,   /* it did not end in time, and its process was ended */
    TUNE_FAILED, /* it does not fit, does not compile, or its process crashed: why says so */
    TUNE_BUSY,   /* other processes used the processors meanwhile: nothing is known of it */
    TUNE_NO_TIME /* the budget ended first: nothing is known of it */
} tune_verdict;

const char *tune_verdict_name(tune_verdict verdict); /* "same", "slower", ... */

typedef struct tune_result {
    tune_verdict verdict;
    double before_s, after_s;            /* medians */
    double speed, low_speed, high_speed; /* of the candidate over the present rows */
    double others;                       /* the share of the processors that other processes used meanwhile; NAN */
    char why[TUNE_WHY]; /* what is wrong; else which kernel computes instead of which, if it is another */
} tune_result;

typedef struct tune_tally {
    int known, same;                                 /* it or its plan was tried before; of the present plan */
    int tried, better, wrong, hung, failed, unclear; /* tried: that ran; the others are among them */
    int busy;                                        /* that ran beside other processes: not judged */
    /* products of the speeds of those that were better, and of the ends of their spreads; 1: none was */
    double gain, low_gain, high_gain;
    bool finished; /* no neighbour of the best is left; false: the time ended first */
} tune_tally;

/* What the search works with. */
typedef struct tune_bench {
    void *job;
    double (*now_s)(void *job);
    bool (*known)(void *job, const char *row); /* was it tried before? */
    /* Try the rows of `candidate` beside those of `present`; both texts have a row a line. limit_s: until the budget
     * ends. */
    void (*try_rows)(void *job, const char *present, const char *candidate, double limit_s, tune_result *out);
    /* remember that this row was run */
    tw_status (*tried)(void *job, const char *row, const tune_result *result);
    /* the rows of the space are now the best */
    tw_status (*keep)(void *job, const tune_space *space, const tune_result *result);
    void (*progress)(void *job, const tune_tally *tally, double left_s);
} tune_bench;

/* tune_judge - the verdict on times that were measured; faster: beyond the spread, twice. */
tune_verdict tune_judge(const tune_result *times, bool faster);

/* tune_rows - the rows of the space as lines of text: one for each kernel that has a parameter other than the committed
 * one. "" where none has. */
void tune_rows(const tune_space *space, char text[TUNE_ROWS]);

/* tune_row - that of one kernel, with parameter `dim` in it whatever it is (-1: none). false: it has no parameter. */
bool tune_row(const tune_space *space, const char *kernel, int dim, char row[TUNE_ROW]);

/* tune_search - from the present values: one parameter after the other, a step up or down, and on while that is better;
 * then again by the root of the steps; at last what changes no plan goes back to the committed value. Ends at until_s.
 * The best is left in the space. Returns TW_OK, or the first failure of `tried` or `keep`. */
tw_status tune_search(tune_space *space, const tune_bench *bench, double until_s, tune_tally *tally);

#endif
