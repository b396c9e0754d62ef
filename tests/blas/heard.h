/* heard.h - the program's own cblas_xerbla, and what it was told last. */
#ifndef TILEWRIGHT_TESTS_BLAS_HEARD_H
#define TILEWRIGHT_TESTS_BLAS_HEARD_H

#include <tilewright_blas.h>

#include <stdarg.h>
#include <stdio.h>

static struct {
    int calls, number;
    char routine[40], text[300];
} heard;

void cblas_xerbla(int number, const char *routine, const char *format, ...)
{
    va_list arguments;
    heard.calls++, heard.number = number;
    snprintf(heard.routine, sizeof heard.routine, "%s", routine);
    va_start(arguments, format);
    vsnprintf(heard.text, sizeof heard.text, format, arguments);
    va_end(arguments);
}

#endif
