/* report.c - errors of a BLAS call: told to the handlers of the program or of its other BLAS, else printed. */
#include "report.h"

#include <tilewright.h>

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Handlers of the program or of another BLAS, which the linker finds outside of this library. It exports none: a
 * preloaded one would take the place of those that other libraries call, such as NumPy's, which raises. NULL: none. */
void xerbla_(const char *routine, const int *number, size_t routine_length) __attribute__((weak));
void xerbla_64_(const char *routine, const int64_t *number, size_t routine_length) __attribute__((weak));
void cblas_xerbla(int number, const char *routine, const char *format, ...) __attribute__((weak));
void cblas_xerbla64_(int64_t number, const char *routine, const char *format, ...) __attribute__((weak));

/* What a reference CBLAS that is loaded too tells its handlers by, as its own routines do. */
extern int CBLAS_CallFromC __attribute__((weak)), RowMajorStrg __attribute__((weak));

static void tell_reference(bool from_c, bool row_major)
{
    if (&CBLAS_CallFromC != NULL) CBLAS_CallFromC = from_c;
    if (&RowMajorStrg != NULL) RowMajorStrg = row_major;
}

/* The number that the C call gives to what is argument `number` of the column-major call. */
static int number_in_rows(const blas_caller *caller, int number)
{
    for (int i = 0; i < (int)sizeof caller->exchanged; i++)
        if (caller->exchanged[i] == number) return caller->exchanged[i ^ 1];
    return number;
}

/* Argument `number` of a C call; 0: none, and the sentence says what it is. */
static void report_to_c(const blas_caller *caller, int number, const char *sentence)
{
    const int own = caller->row_major ? number_in_rows(caller, number) : number, told = caller->extra ? own : number;
    if (caller->wide && cblas_xerbla64_ != NULL)
        cblas_xerbla64_(told, caller->entry, "%s", sentence);
    else if (!caller->wide && cblas_xerbla != NULL)
        cblas_xerbla(told, caller->entry, "%s", sentence);
    else if (number > 0)
        fprintf(stderr, "Parameter %d to routine %s was incorrect\n%s", own, caller->entry, sentence);
    else
        fputs(sentence, stderr);
}

static void report_to_fortran(const blas_caller *caller, int number, const char *sentence)
{
    if (number == 0) fputs(sentence, stderr); /* for which xerbla_ has no argument */
    const int64_t wide_number = number;
    if (caller->wide && xerbla_64_ != NULL)
        xerbla_64_(caller->fortran_name, &wide_number, strlen(caller->fortran_name));
    else if (!caller->wide && xerbla_ != NULL)
        xerbla_(caller->fortran_name, &number, strlen(caller->fortran_name));
    else if (number > 0)
        fprintf(stderr, " ** On entry to %s parameter number %2d had an illegal value\n", caller->fortran_name, number);
}

static void report(const blas_caller *caller, int number, const char *sentence)
{
    tell_reference(caller->from_c, caller->row_major && !caller->extra);
    const bool told_as_fortran = !caller->extra && (caller->wide ? xerbla_64_ != NULL : xerbla_ != NULL);
    if (caller->from_c && (!told_as_fortran || number == 0))
        report_to_c(caller, number > 0 ? number + 1 : 0, sentence);
    else
        report_to_fortran(caller, number, sentence);
    tell_reference(false, false);
}

void blas_report(const blas_caller *caller, int number) { report(caller, number, ""); }

void blas_report_failure(const blas_caller *caller, bool wrote, const char *why)
{
    char sentence[500];
    const char *name = caller->from_c ? caller->entry : caller->fortran_name;
    snprintf(sentence, sizeof sentence, "%.*s %s: %s\n", (int)strcspn(name, " "), name,
             wrote ? "failed, and its result is undefined" : "did nothing", why);
    report(caller, 0, sentence);
}

void blas_report_setting(const blas_caller *caller, int number, const char *what, int found)
{
    char sentence[80];
    snprintf(sentence, sizeof sentence, "Illegal %s setting, %d\n", what, found);
    tell_reference(true, caller->row_major && !caller->extra);
    report_to_c(caller, number, sentence);
    tell_reference(false, false);
}
