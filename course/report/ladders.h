/* ladders.h - records sorted into ladders: one for each machine, problem and width of elements, of each the steps in
 * the order of the rungs. Libraries stand apart, in ladders of their own: they are no rungs. */
#ifndef TILEWRIGHT_LADDERS_H
#define TILEWRIGHT_LADDERS_H

#include "../../lab/records.h"

/* An engine on a device of a host; the order is that of the records. Where no host is named, driver and instruction set
 * tell machines apart. */
typedef struct machine {
    const char *engine, *device, *host, *driver, *instruction_set; /* the last three NULL: no record says */
    int number; /* from 1 on among machines of one engine and device; 0: there is no other */
    int ladder; /* the place of its main one: most steps timed, of these a plain one, the largest; -1: it has none */
} machine;

/* LADDER_ALIGN: of operands whose addresses leave nothing to wish for */
enum { STEP_LABEL = 96, LADDER_ALIGN = 256 };

/* One rung in one type with one tile and number of threads, or one library; r01 to r05 of a GPU also in their default
 * build. */
typedef struct ladder_step {
    const records_row *row;        /* loops held rolled, where the rung holds them */
    const records_row *by_default; /* NULL: there is no such build */
    char label[STEP_LABEL];        /* "r02_tiled", "r02_tiled 32" in a sweep of tiles, "r13_matrix bf16" */
} ladder_step;

typedef struct ladder {
    int machine;
    int64_t m, n, k;
    char op_a, op_b;
    int64_t lda, ldb, ldc, align_a, align_b, align_c;
    int64_t batch; /* products of one call; -1: single ones */
    double alpha, beta;
    bool library; /* of libraries, Tilewright's own calls beside them too; no rungs */
    bool skinny;  /* s1 to s3 */
    bool wide;    /* f64 */
    int count, timed;
    ladder_step *steps;
} ladder;

typedef struct ladders {
    /* superseded: records that a newer one of the same kind took the place of */
    int machine_count, count, superseded;
    machine *machines;
    ladder *items;
    ladder_step *steps; /* of all */
    int *machine_of;    /* of each record; -1: of hardware counters */
} ladders;

/* ladders_sort - records point on: they must stay. Counter records and shapes of `bench --cliffs` are left out. TW_OK,
 * TW_NO_MEMORY. */
tw_status ladders_sort(const records *all, ladders *out);
void ladders_free(ladders *l);

const char *row_rung(const records_row *row); /* its rung, as it is called now, else its library or kernel */
/* the order of two rungs, or of their labels, as by strcmp(): r01 to r14, then production kernels by name */
int rung_compare(const char *a, const char *b);
/* the row of the table; NULL: this program has no such rung */
const tw_lab_kernel *row_kernel(const records_row *row);
bool row_timed(const records_row *row);           /* it was verified and timed */
bool row_is_cliff(const records_row *row);        /* the same, beside a friendlier shape */
double row_speed(const records_row *row);         /* GFLOP/s; NAN where it was not timed, or row is NULL */
double row_operand_bytes(const records_row *row); /* A and B once, C left out as in bytes asked; NAN */
/* what the bytes asked allow, at most the peak; NAN */
double row_no_cache_gflops(const records_row *row);
bool ladder_is_plain(const ladder *l); /* no transposes, padding, scalars or batch */
/* the step that its own file names as the one before; NULL */
const ladder_step *ladder_before(const ladder *l, const ladder_step *step);
const ladder_step *ladder_step_named(const ladder *l, const char *label); /* NULL */
bool ladder_compares(const ladder *l, const records_row *row);            /* it has the ladder's own type */
const ladder *ladder_main(const ladders *l, int machine);                 /* NULL: it has none */
/* whole calls of the same problem on the same machine, of libraries and ours; NULL: no records hold any */
const ladder *ladder_libraries(const ladders *l, const ladder *of);

#endif
