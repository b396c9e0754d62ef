/* record.h - one measurement as one value and one JSON line: a number never travels alone. */
#ifndef TILEWRIGHT_RECORD_H
#define TILEWRIGHT_RECORD_H

#include <stdbool.h>
#include <stdio.h>
#include "measure.h"

/* Unknown numbers are NAN, unknown counts -1, unknown strings NULL: each is written as null. */
typedef struct record {
    const char *engine, *device, *kernel, *rung, *dtype;
    int64_t m, n, k, lda, ldb, ldc;
    char op_a, op_b; /* 'n' or 't' */
    double alpha, beta;
    const char *method;      /* what the time holds, in words */
    const char *build;       /* GPU rungs that hold their loops rolled: "rolled", or "default" where the compiler chose */
    int threads, samples, repeats, sets, tile; /* threads of the CPU; block_threads of a GPU */
    double min_s, median_s, p95_s, gflops; /* gflops from the median */
    const char *verified;    /* "exact+bound", "exact+bound sampled", "no", "WRONG" */
    double error_ratio;
    double bytes_asked, compulsory_bytes, bytes_tile; /* bytes_tile: of A and B in one step of one block */
    double peak_gflops, bandwidth_gbps, no_cache_gflops, bound_gflops, fraction_of_bound, bound_asked_gflops;
    int64_t block_threads, tile_m, tile_n, tile_k, registers, local_bytes, spill_bytes;
    double occupancy, barriers_per_tile, effective_gbps, sectors_per_load, bank_degree_load, bank_degree_store, prepare_s;
    const char *plan;        /* the plan as one line */
    const char *refused;     /* why it did not run; times are then null */
} record;

record record_blank(void); /* everything unknown */
/* record_fill_bounds - derive gflops, the byte counts, both bounds and fraction_of_bound from what is set: problem,
 * block_m x block_n, peak and bandwidth (flop/s, byte/s; NAN unknown), median_s. */
void record_fill_bounds(record *r, const tw_problem *p, int64_t block_m, int64_t block_n, double peak_flops,
                        double bytes_per_s);
/* record_write - one JSON object and a newline; adds version and time fields. 0, or -1 when the stream failed. */
int record_write(FILE *stream, const record *r);

/* json_string, json_number - escape and print one JSON value: control characters escaped, invalid UTF-8 replaced by
 * U+FFFD, numbers with 17 significant digits as needed, NaN and infinities as null. */
void json_string(FILE *stream, const char *text);
void json_number(FILE *stream, double value);

#endif
