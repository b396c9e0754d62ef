/* report.h - tells the handlers xerbla_ and cblas_xerbla what is wrong with a call, or prints it where there are
 * none. */
#ifndef TILEWRIGHT_BLAS_REPORT_H
#define TILEWRIGHT_BLAS_REPORT_H

#include <tilewright_blas.h>

#include <stdbool.h>

typedef struct blas_caller {
    const char *fortran_name, *entry; /* "SGEMM " of at least six characters; "sgemm_" or "cblas_sgemm" */
    bool from_c, row_major, wide;     /* wide: sizes are of 64 bits, and handlers' names end in 64_ */
    /* numbers of the C call's arguments in pairs: a row-major call has one in the other's place; 0: no more */
    unsigned char exchanged[6];
    bool extra; /* beyond the reference: its handlers know neither the name nor the numbers */
} blas_caller;

/* Through xerbla_: argument `number` of the Fortran call is wrong. */
void blas_report(const blas_caller *caller, int number);

/* As number 0: the call could not be computed. wrote: some of its result was, which is undefined now. */
void blas_report_failure(const blas_caller *caller, bool wrote, const char *why);

/* Through cblas_xerbla: argument `number` of the C call is a setting that does not exist. */
void blas_report_setting(const blas_caller *caller, int number, const char *what, int found);

#endif
