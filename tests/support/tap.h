/* tap.h - a test program's cases: `--list` prints their names, `--full` runs the whole product, `--only TEXT` those
 * whose name contains it, `--part I/N` of N parts that together are all of them the part I, `--gpu` leaves out what
 * needs no driver of a device. Output is TAP: "ok 3 - name", "not ok 4 - name" with the reason behind "#", "ok 5 - name
 * # SKIP why", "1..5". */
#ifndef TILEWRIGHT_TAP_H
#define TILEWRIGHT_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    bool list, full, gpu;
    const char *only;
    int part, parts, seen; /* of --part; cases so far, of all parts */
    uint32_t group;        /* not 0: the cases that follow stay in one part, since they share what is built for them */
    int count, failed;
    char name[256];
} tap;

static void tap_start(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--list") == 0)
            tap.list = true;
        else if (strcmp(argv[i], "--full") == 0)
            tap.full = true;
        else if (strcmp(argv[i], "--gpu") == 0)
            tap.gpu = true;
        else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc)
            tap.only = argv[++i];
        else if (strcmp(argv[i], "--part") == 0 && i + 1 < argc &&
                 sscanf(argv[i + 1], "%d/%d", &tap.part, &tap.parts) == 2 && tap.part >= 1 && tap.part <= tap.parts)
            i++;
        else {
            fprintf(stderr, "usage: %s [--list] [--full] [--gpu] [--only TEXT] [--part I/N]\n", argv[0]);
            exit(2);
        }
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
}

/* Is this the covering set, all that ./dev test runs under AddressSanitizer? Large products take it ten times as
 * long, and it sees of each what the others do with memory too. */
__attribute__((unused)) static bool tap_spares(void)
{
#ifdef __SANITIZE_ADDRESS__
    return !tap.full;
#else
    return false;
#endif
}

/* Name a case. False: it is only listed, or not asked for. */
__attribute__((format(printf, 1, 2))) static bool tap_case(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(tap.name, sizeof tap.name, format, arguments);
    va_end(arguments);
    if (tap.only != NULL && strstr(tap.name, tap.only) == NULL) return false;
    const uint32_t number = tap.group != 0 ? (tap.group * 2654435769u) >> 16 : (uint32_t)tap.seen++;
    if (tap.parts > 0 && number % (uint32_t)tap.parts != (uint32_t)tap.part - 1) return false;
    if (tap.list) puts(tap.name);
    return !tap.list;
}

/* The verdict on the case named last; the reason is printed where it failed. */
__attribute__((format(printf, 2, 3))) static void tap_result(bool passed, const char *format, ...)
{
    va_list arguments;
    tap.count++;
    printf("%sok %d - %s\n", passed ? "" : "not ", tap.count, tap.name);
    if (passed) return;
    tap.failed++;
    printf("# ");
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
}

__attribute__((unused)) static void tap_skip(const char *why)
{
    printf("ok %d - %s # SKIP %s\n", ++tap.count, tap.name, why);
}

static int tap_finish(void)
{
    if (!tap.list) printf("1..%d\n", tap.count);
    return tap.failed > 0;
}

#endif
