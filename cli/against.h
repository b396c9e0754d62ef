/* against.h - `tilewright bench --against`: Tilewright and other libraries on the same operands, each in a process of
 * its own, in turns. */
#ifndef TILEWRIGHT_AGAINST_H
#define TILEWRIGHT_AGAINST_H

#include "../lab/bench/player.h"
#include "../lab/bench/trial.h"
#include "../lab/bench/turns.h"
#include "../lab/measure.h"
#include "cases.h"
#include "session.h"

enum { MOST_SIDES = 16 };

typedef char against_path[4096];

/* What came of a side's present case. */
typedef enum side_outcome {
    SIDE_GONE,    /* its process is no more: why says so */
    SIDE_REFUSED, /* it does not take such a problem: why says so */
    SIDE_WRONG,   /* it did not pass the oracles, as the verdict says: no time was taken */
    SIDE_TIMED
} side_outcome;

/* Side 0 is Tilewright itself. */
typedef struct side {
    const peer_row *row; /* NULL: Tilewright */
    const char *name;
    bool met; /* its library was opened */
    player_job job;
    char version[PEER_TEXT], choice[PEER_TEXT];
    double share[2]; /* of the peak, by its best sample at 2048, in f32 and f64; NAN: not measured */
    side_outcome outcome;
    char why[PEER_TEXT + 64];
    trial_verdict verdict;
    int repeats;
    double run_s, *times_s;
    measure_result result;
} side;

typedef struct against {
    session *s;
    int count, threads, samples;
    side sides[MOST_SIDES];
    turn_process processes[MOST_SIDES]; /* of the sides */
    against_path folder;                /* of the peers */
    char *memory;                       /* shared by all */
    size_t bytes;
    tw_problem problem; /* the present case */
    operand_sets sets;
    double peak_flops[2]; /* of f32 and f64, with that many threads; 0: not measured, as why_no_peak says */
    char why_no_peak[PEER_TEXT];
} against;

/* Below this share of the peak at 2048 a peer is not what it is elsewhere: it does not count as best. */
#define AGAINST_LEAST_SHARE 0.8

int against_type(tw_dtype dtype);                   /* 0: f32, 1: f64: the place in share and peak_flops */
bool against_counts(const side *x, tw_dtype dtype); /* a peer that was timed and is not misconfigured */

/* against_bench - compare on each case in each type (f32, f64), print the tables, write the records. */
exit_code against_bench(session *s, const case_list *cases, const name_list *dtypes);

/* against_cuda_bench - the same on a CUDA device with cuBLASLt, in one process: against_cuda.c. */
exit_code against_cuda_bench(session *s, const case_list *cases, const name_list *dtypes);

/* against_row - the row of a name of --against, for that engine; or, after a sentence, EXIT_USAGE. */
exit_code against_row(const char *name, const char *engine, const peer_row **row);

void against_folder(against_path out); /* of the peers */

/* ---- the tables: against_table.c ---- */

/* Ratios of one class, or of all. */
typedef struct against_mean {
    int count;
    double log_median, log_best;
} against_mean;

void against_print_sides(const against *g, tw_dtype dtype);
void against_print_header(const against *g, const char *group, tw_dtype dtype);
void against_print_case(const against *g, against_mean *group, against_mean *all);
void against_mean_add(against_mean *mean, double median, double best);
void against_print_mean(FILE *text, const char *what, const against_mean *mean);

#endif
