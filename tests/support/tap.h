/* tap.h - a test program's cases: `--list` prints their names, `--full` runs the whole product, `--only TEXT` those
 * whose name contains it, `--part I/N` of N parts that together are all of them the part I, `--gpu` leaves out what
 * needs no driver of a device, `--unspared` runs under sanitizers what is run without them. Output is TAP: "ok 3 -
 * name", "not ok 4 - name" with the reason behind "#", "ok 5 - name # SKIP why", "1..5". */
#ifndef TILEWRIGHT_TAP_H
#define TILEWRIGHT_TAP_H

#if defined(__has_feature) /* clang's words for what gcc defines */
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#endif

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    bool list, full, gpu, unspared;
    const char *only;
    int part, parts, seen; /* of --part; cases so far, of all parts */
    uint32_t group;        /* not 0: the cases that follow stay in one part, since they share what is built for them */
    int count, failed;
    int asked, brought; /* tap_brings, of this case */
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
        else if (strcmp(argv[i], "--unspared") == 0)
            tap.unspared = true;
        else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc)
            tap.only = argv[++i];
        else if (strcmp(argv[i], "--part") == 0 && i + 1 < argc &&
                 sscanf(argv[i + 1], "%d/%d", &tap.part, &tap.parts) == 2 && tap.part >= 1 && tap.part <= tap.parts)
            i++;
        else {
            fprintf(stderr, "usage: %s [--list] [--full] [--gpu] [--unspared] [--only TEXT] [--part I/N]\n", argv[0]);
            exit(2);
        }
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
}

/* Sanitizers take a program ten times as long, and see at the first case of a way through memory what they see at all.
 * Is this a build with one of them, where cases that differ in numbers alone are spared? */
__attribute__((unused)) static bool tap_spares(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return !tap.full && !tap.unspared;
#else
    return false;
#endif
}

/* How often to repeat what is repeated for its schedules: so often, and where sanitizers watch each. */
__attribute__((unused)) static int tap_rounds(int usual, int fewer) { return tap_spares() ? fewer : usual; }

/* Does the case that comes bring a property that none before it had? A case is worth a sanitizer's time for one of its
 * properties: `if (!(tap_brings("m %d", m) | tap_brings("op %d", op))) continue;`, an int, whose | has no
 * short cut. Without sanitizers each is. */
__attribute__((format(printf, 1, 2), unused)) static int tap_brings(const char *format, ...)
{
    enum { MOST = 1 << 14 };
    static uint64_t seen[MOST]; /* hashes of their texts */
    char text[128];
    va_list arguments;
    tap.asked++, tap.brought++;
    if (!tap_spares() || tap.only != NULL) return true;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    uint64_t hash = UINT64_C(14695981039346656037);
    for (const char *at = text; *at != '\0'; at++) hash = (hash ^ (unsigned char)*at) * UINT64_C(1099511628211);
    uint32_t i = (uint32_t)(hash >> 32) % MOST;
    for (int tries = 0; seen[i] != 0 && seen[i] != hash && tries < MOST; tries++) i = (i + 1) % MOST;
    const bool is_new = seen[i] != hash;
    seen[i] = hash;
    if (!is_new) tap.brought--;
    return is_new;
}

/* Name a case. False: it is only listed, or not asked for. */
__attribute__((format(printf, 1, 2))) static bool tap_case(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(tap.name, sizeof tap.name, format, arguments);
    va_end(arguments);
    tap.asked = tap.brought = 0;
    if (tap.only != NULL && strstr(tap.name, tap.only) == NULL) return false;
    const uint32_t number = tap.group != 0 ? (tap.group * 2654435769u) >> 16 : (uint32_t)tap.seen++;
    if (tap.parts > 0 && number % (uint32_t)tap.parts != (uint32_t)tap.part - 1) return false;
    if (tap.list) puts(tap.name);
    return !tap.list;
}

/* The verdict on the case named last; the reason is printed where it failed. A case that asked tap_brings() and was
 * always told no has shown nothing. */
__attribute__((format(printf, 2, 3))) static void tap_result(bool passed, const char *format, ...)
{
    va_list arguments;
    const bool nothing = passed && tap.asked > 0 && tap.brought == 0;
    tap.count++;
    printf("%sok %d - %s%s\n", passed ? "" : "not ", tap.count, tap.name,
           nothing ? " # SKIP it brings a sanitizer nothing new" : "");
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
