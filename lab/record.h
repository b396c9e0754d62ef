/* record.h - one measurement as one value and one JSON line: a number never travels alone. */
#ifndef TILEWRIGHT_RECORD_H
#define TILEWRIGHT_RECORD_H

#include <stdbool.h>
#include <stdio.h>
#include "measure.h"

/* Unknown numbers are NAN, unknown counts -1, unknown strings NULL: each is written as null. */
typedef struct record {
    const char *engine, *device, *kernel, *rung, *dtype;
    const char *dtype_b, *dtype_c; /* of B and C, where a command takes them by themselves */
    int64_t m, n, k, lda, ldb, ldc;
    char op_a, op_b;                                     /* 'n' or 't'; of complex types also 'c' or 'r' */
    double alpha, beta, alpha_imaginary, beta_imaginary; /* the imaginary parts: of complex types alone */
    const char *method;                                  /* what the time holds, in words */
    /* GPU rungs that hold their loops rolled: "rolled", or "default" where the compiler chose */
    const char *build;
    int64_t batch;                                /* products of one call, of which times are one's share */
    int threads, samples, repeats, sets, tile;    /* threads of the CPU; block_threads of a GPU */
    double min_s, median_s, p95_s, max_s, gflops; /* gflops from the median */
    const char *verified;                         /* "exact+bound", "exact+bound sampled", "no", "WRONG" */
    double error_ratio;
    double bytes_asked, compulsory_bytes, bytes_tile; /* bytes_tile: of A and B in one step of one block */
    double peak_gflops, bandwidth_gbps, no_cache_gflops, bound_gflops, fraction_of_bound, bound_asked_gflops;
    int64_t block_threads, tile_m, tile_n, tile_k, registers, local_bytes, spill_bytes;
    double occupancy, barriers_per_tile, effective_gbps, sectors_per_load, bank_degree_load, bank_degree_store,
        prepare_s;
    const char *plan;                      /* the plan as one line */
    const char *refused;                   /* why it did not run; times are then null */
    const char *instruction_set, *driver;  /* what the device runs, as tw_describe and the engine say */
    const char *library, *library_version; /* whose product it is, where libraries are compared: no rung */
    const char *doubt;                     /* why the library's number is doubtful; never its speed */
    /* of a GPU, around the samples */
    double sm_mhz_before, sm_mhz_after, power_w_before, power_w_after, temperature_c_before, temperature_c_after;
    int64_t align_a, align_b, align_c; /* largest powers of two up to 256 that divide the operands' addresses */
    /* of a product out of core: panels and bytes of A, B and C0 read, seconds spent on it, on products and on writing,
     * and the most memory that it took */
    int64_t panels;
    double bytes_read, read_s, multiply_s, write_s, memory_bytes;
    double others; /* share of the processors that other processes used meanwhile, 0 to 1 */
    /* of a shape of `bench --cliffs`: the friendlier shape that contains it, its kernel and its median; the median of
     * the shape itself with aligned rows */
    int64_t friendlier_m, friendlier_n, friendlier_k;
    const char *friendlier_kernel;
    double friendlier_s, aligned_s;
    const char *best_kernel; /* of all candidates, and the time of the planner's choice over its time */
    double regret;
    const char *epilogue;       /* the text that says what became of each element of C */
    const char *version, *time; /* NULL: this library's, now */
    const char *host;           /* tells machines apart whose devices have one name; NULL: this machine's */
    const char *run_id;         /* tells the runs of a machine apart; NULL: this one */
} record;

/* The fields in the order in which they are written. TEXT: string, NULL unknown. LETTER: char, 0 unknown. COUNT:
 * integer, -1 unknown. NUMBER: double, NAN unknown. */
/* clang-format off */
#define RECORD_FIELDS_BEFORE_VERSION(TEXT, LETTER, COUNT, NUMBER)                                                      \
    TEXT(engine) TEXT(device) TEXT(kernel) TEXT(rung) TEXT(dtype) COUNT(m) COUNT(n) COUNT(k) LETTER(op_a)              \
    LETTER(op_b) TEXT(method) NUMBER(min_s) NUMBER(median_s) NUMBER(p95_s) NUMBER(gflops) TEXT(verified)               \
    NUMBER(error_ratio) NUMBER(bytes_asked) NUMBER(compulsory_bytes) NUMBER(peak_gflops) NUMBER(bandwidth_gbps)        \
    NUMBER(no_cache_gflops) NUMBER(bound_gflops) NUMBER(fraction_of_bound)
#define RECORD_FIELDS_AFTER_VERSION(TEXT, LETTER, COUNT, NUMBER)                                                       \
    NUMBER(bound_asked_gflops) NUMBER(bytes_tile) TEXT(build) COUNT(lda) COUNT(ldb) COUNT(ldc) NUMBER(alpha)           \
    NUMBER(beta) COUNT(threads) COUNT(samples) COUNT(repeats) COUNT(sets) COUNT(tile) COUNT(block_threads)             \
    COUNT(tile_m) COUNT(tile_n) COUNT(tile_k) COUNT(registers) COUNT(local_bytes) COUNT(spill_bytes)                   \
    NUMBER(occupancy) NUMBER(barriers_per_tile) NUMBER(effective_gbps) NUMBER(sectors_per_load)                        \
    NUMBER(bank_degree_load) NUMBER(bank_degree_store) NUMBER(prepare_s) TEXT(plan) TEXT(refused)                      \
    TEXT(instruction_set) TEXT(driver) TEXT(library) TEXT(library_version) COUNT(batch) NUMBER(sm_mhz_before)          \
    NUMBER(sm_mhz_after) NUMBER(power_w_before) NUMBER(power_w_after) NUMBER(temperature_c_before)                     \
    NUMBER(temperature_c_after) COUNT(align_a) COUNT(align_b) COUNT(align_c) NUMBER(max_s)    \
    NUMBER(alpha_imaginary) NUMBER(beta_imaginary) TEXT(dtype_b) TEXT(dtype_c) COUNT(panels) NUMBER(bytes_read)        \
    NUMBER(read_s) NUMBER(multiply_s) NUMBER(write_s) NUMBER(memory_bytes) NUMBER(others) \
    TEXT(doubt) COUNT(friendlier_m) COUNT(friendlier_n) COUNT(friendlier_k) TEXT(friendlier_kernel)                    \
    NUMBER(friendlier_s) NUMBER(aligned_s) TEXT(best_kernel) NUMBER(regret) TEXT(epilogue)
/* Of the run; NULL: of this one. */
#define RECORD_FIELDS_OF_RUN(TEXT) TEXT(version) TEXT(time) TEXT(host) TEXT(run_id)
/* clang-format on */

record record_blank(void); /* everything unknown */
/* record_fill_bounds - derive gflops, the byte counts, both bounds and fraction_of_bound from what is set: problem,
 * block_m x block_n, peak and bandwidth (flop/s, byte/s; NAN unknown), median_s. */
void record_fill_bounds(record *r, const tw_problem *p, int64_t block_m, int64_t block_n, double peak_flops,
                        double bytes_per_s);
typedef char record_time_text[32];
const char *record_time(record_time_text out); /* now, "2026-11-21T04:18:41Z" */
typedef char record_host_text[160];
const char *record_host(record_host_text out); /* this machine: "name, 16 processors, 126 GiB" */
typedef char record_run_text[64];
const char *record_run(record_run_text out); /* this process: "2026-11-21T04:18:41Z 1234", its first record's time */

/* Clocks and timers wobble that much; nothing is faster than its bound. */
#define RECORD_MOST_OF_BOUND 1.02
typedef char record_doubt_text[400];
/* record_doubt - why a record is doubtful: it is faster than its bound, or other processes used BUSY_DISTURBS or more
 * of the processors. A clause; "": it is not. */
const char *record_doubt(const record *r, record_doubt_text out);

/* record_write - one JSON object and a newline. 0, or -1 when the stream failed. */
int record_write(FILE *stream, const record *r);

/* json_put_text, json_put_number - escape and print one JSON value: control characters escaped, invalid UTF-8 replaced
 * by U+FFFD, numbers with 17 significant digits as needed, NaN and infinities as null. */
void json_put_text(FILE *stream, const char *text);
void json_put_number(FILE *stream, double value);

/* utf8_sequence_bytes - of the well-formed UTF-8 sequence at s (Unicode, table 3-7); 0: there is none. */
int utf8_sequence_bytes(const unsigned char *s);

#endif
