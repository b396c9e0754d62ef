/* report.c - errors of a BLAS call, and the handlers that print them where the program has none of its own. */
#include "report.h"

#include <tilewright.h>

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Whose call is being reported. A reference CBLAS that is loaded too has the same as two globals: its own routines set the first
 * and then come to our xerbla_, and a program's handlers may read the second. */
static _Thread_local blas_caller reported;
extern int CBLAS_CallFromC __attribute__((weak)), RowMajorStrg __attribute__((weak));

static void begin(const blas_caller *caller)
{
    reported = *caller;
    if (&RowMajorStrg != NULL) RowMajorStrg = caller->row_major;
}

static void end(void)
{
    reported = (blas_caller){.from_c = false};
    if (&RowMajorStrg != NULL) RowMajorStrg = 0;
}

void blas_report(const blas_caller *caller, int number)
{
    begin(caller);
    xerbla_(caller->fortran_name, &number, FORTRAN_NAME);
    end();
}

void blas_report_setting(const blas_caller *caller, int number, const char *what, int found)
{
    begin(caller);
    cblas_xerbla(number, caller->c_name, "Illegal %s setting, %d\n", what, found);
    end();
}

/* A Fortran name without its blanks, as a string; callers written in C may not pass its length. */
static void name_of(const char *name, size_t length, char text[static 33])
{
    size_t used = 0, most = length >= 1 && length <= 32 ? length : 32;
    while (used < most && (isalnum((unsigned char)name[used]) || name[used] == '_')) used++;
    memcpy(text, name, used);
    text[used] = '\0';
}

__attribute__((weak)) void xerbla_(const char *routine, const int *number, size_t routine_length)
{
    char name[33], c_name[40] = "cblas_";
    name_of(routine, routine_length, name);
    if (reported.from_c || (&CBLAS_CallFromC != NULL && CBLAS_CallFromC)) {
        for (size_t i = 0; i <= strlen(name); i++) c_name[6 + i] = (char)tolower((unsigned char)name[i]);
        if (*number > 0)
            cblas_xerbla(*number + 1, c_name, "%s", "");
        else
            cblas_xerbla(0, c_name, "%s\n", tw_error_text());
    } else if (*number > 0) {
        fprintf(stderr, " ** On entry to %-6s parameter number %2d had an illegal value\n", name, *number);
    } else {
        fprintf(stderr, "%s did nothing: %s\n", name, tw_error_text());
    }
}

/* The number that the C call gives to what is argument `number` of the column-major call. */
static int number_in_rows(int number)
{
    switch (number) {
    case 4: return 5;
    case 5: return 4;
    case 9: return 11;
    case 11: return 9;
    default: return number;
    }
}

__attribute__((weak)) void cblas_xerbla(int number, const char *routine, const char *format, ...)
{
    if (number > 0)
        fprintf(stderr, "Parameter %d to routine %s was incorrect\n", reported.row_major ? number_in_rows(number) : number, routine);
    else
        fprintf(stderr, "%s did nothing: ", routine);
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
}
