/* explain.h - what the parts of `tilewright explain` share: the rung, the shape and the element that they talk
 * about. */
#ifndef TILEWRIGHT_EXPLAIN_H
#define TILEWRIGHT_EXPLAIN_H

#include "../../program/exit.h"
#include "../../program/units.h"
#include "../access/predict.h"
#include "../judge/degrees.h"
#include "../published.h"
#include "listing.h"
#include "tool.h"

typedef struct explain {
    FILE *text;
    const tw_lab_kernel *kernel;
    const tw_lab_source *user; /* a file's text, launched like kernel; NULL: the rung's own */
    tw_problem problem;
    int tile;                 /* T, or the CPU's r; 0 where the rung has none */
    int64_t block_m, block_n; /* of C: what is read once for all of it */
    int64_t block_k;          /* 0: the rung has no tiles along k */
    int64_t i, j;             /* the element of C */
    bool modelled;            /* false: no_model says why there is no access model */
    access_launch launch;
    char no_model[600];
    const published_device *gpu;       /* of --gpu; NULL: not given */
    tw_context *context;               /* open on a device of the kernel's engine; NULL: on none */
    const tw_device *device;           /* which */
    bool rolled;                       /* it has a default build beside */
    bool binary_wanted;                /* --binary was given */
    double deadline_s;                 /* of user, for its compiler */
    char binary[8];                    /* what explain_binary found: "sass", "ptx", "host"; "": nothing */
    char binary_from[TOOL_PATH + 200]; /* where, or why not */
    code_loop loop;
} explain;

void explain_heading(const explain *x, const char *text);
void explain_record(const explain *x, FILE *json); /* as one object; NULL: nothing is written */

/* explain_fits - predict_fits of this rung and tile. */
bool explain_fits(const explain *x, const published_device *d, char *why, size_t why_bytes);

/* explain_peak_gflops - what a device's maker publishes: multiply-adds in f32; NAN for a rung of another type, which
 * may beat it. */
double explain_peak_gflops(const explain *x, const published_device *d);

/* What the terminal and the page both tell. */
enum { EXPLAIN_TEXT = 300, EXPLAIN_DEVICES = 5 };
typedef char explain_text[EXPLAIN_TEXT];

/* which of the documents' pictures show the rung */
typedef enum explain_form { FORM_NAIVE, FORM_TILED, FORM_OUTER, FORM_SKINNY } explain_form;
explain_form explain_form_of(const explain *x);
int64_t explain_iterations(const explain *x);            /* tiles along k */
int64_t explain_outer_thread(const explain *x);          /* of an outer product: whose sum the element is */
void explain_written_out(FILE *text, const explain *x);  /* ECE569: P(1,5) written out */
void explain_tile_product(FILE *text, const explain *x); /* C(0,0) = A(0,0) B(0,0) + ... */
void explain_owner(FILE *text, const explain *x);        /* the thread that computes the element; modelled */
const char *explain_published_share(const explain *x);   /* of multiply-adds in the loop, as 5kk73 counts */

typedef struct explain_lines {
    int count;
    struct {
        const char *label;
        explain_text text;
    } items[8];
} explain_lines;
void explain_count(const explain *x, explain_lines *out); /* flop, bytes and their ratio */

/* The warp that computes the element, at its first tile and step. */
typedef struct explain_warp {
    access_place place;
    int number;
} explain_warp;
explain_warp explain_warp_of(const explain *x);
char explain_operand(access_kind kind);                                /* 'A', 'B' or 'C' */
const char *explain_row_text(const access_row *row, explain_text out); /* "load of A  A(i, p), ..." */
const char *explain_cost_text(access_kind kind, const access_cost *c,
                              explain_text out);                       /* of a request: "16: 12% used" */
const char *explain_box_text(const access_row *row, explain_text out); /* of TMA: "TMA copies a box of ..." */
/* of each kind the first row in which the warp has a part; count of them */
int explain_rows(const explain *x, const explain_warp *w, const access_row *out[ACCESS_MOST_ROWS]);
/* sectors of a request with rows or columns stored; NAN: the rung takes no such operands, or TMA loads them */
double explain_sectors(const explain *x, access_kind kind, bool columns);

/* What a device allows, GFLOP/s; NAN: not known. predicted: what it would reach, or why the rung does not fit it. */
typedef struct explain_bound {
    bool fits;
    double asked_gflops, roofline_gflops, shared_gflops, issue_gflops, traffic_gflops;
    explain_text predicted;
} explain_bound;
explain_bound explain_bound_on(const explain *x, double gbps, double peak_gflops, const published_device *d);
int explain_devices(const explain *x, const published_device *out[EXPLAIN_DEVICES]); /* the documents', or --gpu's */

/* ---- parts ---- */

exit_code explain_words(const explain *x); /* its text's own, and what changed since the rung before */
void explain_pictures(const explain *x);   /* the documents' pictures for the element */
void explain_arithmetic(const explain *x); /* flop, bytes asked, their ratio: as formulas and in numbers */
void explain_accesses(const explain *x);   /* one warp's requests, lane by lane; what they cost on each generation */
void explain_bounds(const explain *x);     /* on the documents' devices, the one of --gpu, or the present one */
void explain_traffic(const explain *x);    /* bytes that reach the L2 and memory, on the device of --gpu or an H200 */
/* registers, shared memory, spills, occupancy; state: of the engine where it has no device */
void explain_compiled(const explain *x, const char *state);
exit_code explain_binary(explain *x);              /* the inner loop as machine code, and its mix */
exit_code explain_page(FILE *out, const void *of); /* of an explain: the page of --html */

/* ---- a user kernel ---- */

/* each request of its warps, beside the same of the rung that it is launched like */
void explain_file(FILE *text, const degree_pair *pair);
/* of: what explain_binary found, where --binary was given */
void explain_file_record(FILE *json, const degree_pair *pair, const explain *of);

/* ---- the documents' own tables ---- */

typedef struct explain_present {
    tw_context *context; /* NULL: no device is open */
    const tw_device *device;
    double skinny_gbps[PUBLISHED_RUNGS]; /* effective, of the skinny rungs; NAN: not measured */
    int64_t side;                        /* of C, where they were; else 0 */
} explain_present;
const tw_lab_kernel *explain_skinny(const char *engine, int i); /* the rung of row i of the published table */
exit_code explain_tables(FILE *text, FILE *json, const explain_present *present);

#endif
