/* heard.h - the program's own cblas_xerbla, as that of a reference CBLAS, and what it was told last. */
#ifndef TILEWRIGHT_TESTS_BLAS_HEARD_H
#define TILEWRIGHT_TESTS_BLAS_HEARD_H

#include <tilewright_blas.h>

#include <stdarg.h>
#include <stdio.h>

/* By which the reference's handler exchanges the numbers of its own routines. */
int RowMajorStrg;

static struct {
    int calls, number, by_rows; /* by_rows: the calls in which RowMajorStrg was set */
    char routine[40], text[300];
} heard;

void cblas_xerbla(int number, const char *routine, const char *format, ...)
{
    va_list arguments;
    heard.calls++, heard.number = number, heard.by_rows += RowMajorStrg;
    snprintf(heard.routine, sizeof heard.routine, "%s", routine);
    va_start(arguments, format);
    vsnprintf(heard.text, sizeof heard.text, format, arguments);
    va_end(arguments);
}

#endif
