/* explain.h - what the parts of `tilewright explain` share: the rung, the shape and the element that they talk
 * about. */
#ifndef TILEWRIGHT_EXPLAIN_H
#define TILEWRIGHT_EXPLAIN_H

#include "../lab/access/predict.h"
#include "session.h"

typedef struct explain {
    session *s;
    const tw_lab_kernel *kernel;
    tw_problem problem;
    int tile;                 /* T, or the CPU's r; 0 where the rung has none */
    int64_t block_m, block_n; /* of C: what is read once for all of it */
    int64_t block_k;          /* 0: the rung has no tiles along k */
    int64_t i, j;             /* the element of C */
    bool modelled;            /* false: no_model says why there is no access model */
    access_launch launch;
    char no_model[600];
    const published_device *gpu; /* of --gpu; NULL: not given */
    bool rolled;                 /* it has a default build beside */
    char binary[8];              /* what explain_binary found: "sass", "ptx", "host"; "": nothing */
    int loop_instructions, loop_multiply_adds;
} explain;

void explain_heading(const explain *x, const char *text);

/* explain_fits - predict_fits of this rung and tile. */
bool explain_fits(const explain *x, const published_device *d, char *why, size_t why_bytes);

/* explain_peak_gflops - what a device's maker publishes: multiply-adds in f32; NAN for a rung of another type, which
 * may beat it. */
double explain_peak_gflops(const explain *x, const published_device *d);

void explain_pictures(const explain *x);   /* the documents' pictures for the element */
void explain_arithmetic(const explain *x); /* flop, bytes asked, their ratio: as formulas and in numbers */
void explain_accesses(const explain *x);   /* one warp's requests, lane by lane; what they cost on each generation */
void explain_bounds(const explain *x);     /* on the documents' devices, the one of --gpu, or the present one */
exit_code explain_binary(explain *x);      /* the inner loop as machine code, and its mix */
exit_code explain_tables(session *s);      /* the documents' own tables */

#endif
