/* check.h - cases that are functions: a check that does not hold ends its case, whose others go on. The reason has the
 * file, the line and what was compared. */
#ifndef TILEWRIGHT_CHECK_H
#define TILEWRIGHT_CHECK_H

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tap.h"

/* A case; before and after it, where there are such, also where it failed. */
typedef struct check_case {
    const char *name;
    void (*run)(void), (*before)(void), (*after)(void);
} check_case;

#define CHECK_CASE(function)                                                                                           \
    {                                                                                                                  \
#function, function, NULL, NULL                                                                                \
    }

enum { CHECK_FAILED = 1, CHECK_SKIPPED };

static struct {
    jmp_buf end;
    int how;
    char why[2048];
} check;

__attribute__((noreturn, format(printf, 3, 4))) static void check_fail(const char *file, int line, const char *format,
                                                                       ...)
{
    int length = snprintf(check.why, sizeof check.why, "%s:%d: ", file, line);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(check.why + length, sizeof check.why - (size_t)length, format, arguments);
    va_end(arguments);
    longjmp(check.end, CHECK_FAILED);
}

__attribute__((noreturn, unused)) static void check_skip(const char *why)
{
    snprintf(check.why, sizeof check.why, "%s", why);
    longjmp(check.end, CHECK_SKIPPED);
}

__attribute__((unused)) static void check_numbers(const char *file, int line, const char *text, uintmax_t found,
                                                  uintmax_t expected)
{
    if (found != expected)
        check_fail(file, line, "%s: found %" PRIdMAX ", expected %" PRIdMAX, text, (intmax_t)found, (intmax_t)expected);
}

__attribute__((unused)) static void check_strings(const char *file, int line, const char *text, const char *found,
                                                  const char *expected)
{
    if (strcmp(found, expected) != 0) check_fail(file, line, "%s: found '%s', expected '%s'", text, found, expected);
}

__attribute__((unused)) static void check_bytes(const char *file, int line, const char *text, const void *found,
                                                const void *expected, size_t count)
{
    const unsigned char *x = found, *y = expected;
    for (size_t i = 0; i < count; i++)
        if (x[i] != y[i]) check_fail(file, line, "%s: byte %zu is 0x%02x, expected 0x%02x", text, i, x[i], y[i]);
}

#define COUNT_OF(array) ((int)(sizeof(array) / sizeof *(array)))

#define fail_msg(...)                    check_fail(__FILE__, __LINE__, __VA_ARGS__)
#define assert_true(holds)               ((holds) ? (void)0 : fail_msg("%s", #holds " does not hold"))
#define assert_false(holds)              ((holds) ? fail_msg("%s", #holds " holds") : (void)0)
#define assert_null(x)                   assert_true((x) == NULL)
#define assert_non_null(x)               assert_true((x) != NULL)
#define assert_ptr_equal(x, y)           assert_true((const void *)(x) == (const void *)(y))
#define assert_int_equal(x, y)           check_numbers(__FILE__, __LINE__, #x, (uintmax_t)(x), (uintmax_t)(y))
#define assert_string_equal(x, y)        check_strings(__FILE__, __LINE__, #x, x, y)
#define assert_memory_equal(x, y, count) check_bytes(__FILE__, __LINE__, #x, x, y, count)

static void check_one(const check_case *c)
{
    if (!tap_case("%s", c->name)) return;
    if (c->before != NULL) c->before();
    check.how = setjmp(check.end);
    if (check.how == 0) c->run();
    if (c->after != NULL) c->after();
    if (check.how == CHECK_SKIPPED)
        tap_skip(check.why);
    else
        tap_result(check.how == 0, "%s", check.why);
}

/* All of them; what main() returns. */
static int check_all(int argc, char **argv, const check_case *cases, size_t count)
{
    tap_start(argc, argv);
    for (size_t i = 0; i < count; i++) check_one(&cases[i]);
    return tap_finish();
}

#define CHECK_MAIN(cases)                                                                                              \
    int main(int argc, char **argv) { return check_all(argc, argv, cases, sizeof(cases) / sizeof *(cases)); }

#endif
