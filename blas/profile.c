/* profile.c - the profile of a process: a table in memory, one row for each routine and shape. */
#include "profile.h"

#include "switch.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 2048, MOST_SHAPES = 1024, NAME_BYTES = 200, PRINTED = 30 };

typedef struct row {
    char name[NAME_BYTES]; /* "": of nothing */
    long long calls;
    double seconds, flops;
} row;

static struct {
    bool on;
    pid_t process; /* whose calls these are: a child counts its own */
    int shapes;
    row row[ROWS]; /* by the hash of the name, or behind it */
    row others;    /* of all shapes beyond */
} profile;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static row *row_of(const char *name)
{
    unsigned at = 2166136261u;
    for (const char *c = name; *c != '\0'; c++) at = (at ^ (unsigned char)*c) * 16777619u;
    for (at %= ROWS; profile.row[at].name[0] != '\0'; at = (at + 1) % ROWS)
        if (strcmp(profile.row[at].name, name) == 0) return &profile.row[at];
    if (profile.shapes == MOST_SHAPES) return &profile.others;
    profile.shapes++;
    strcpy(profile.row[at].name, name);
    return &profile.row[at];
}

static void add(row *to, long long calls, double seconds, double flops)
{
    to->calls += calls, to->seconds += seconds, to->flops += flops;
}

static void take_lock(void) { pthread_mutex_lock(&lock); }
static void give_lock(void) { pthread_mutex_unlock(&lock); }

bool profile_open(void)
{
    profile.on = switch_is_on("TILEWRIGHT_PROFILE", getenv("TILEWRIGHT_PROFILE"));
    if (profile.on) pthread_atfork(take_lock, give_lock, give_lock); /* no child finds it taken */
    return profile.on;
}

void profile_count(const char *entry, const char *order, const char *said, double seconds, double flops)
{
    char name[NAME_BYTES];
    const char *end = strstr(said, " lda");
    if (!profile.on) return;
    snprintf(name, sizeof name, "%s%s %.*s", entry, order, end != NULL ? (int)(end - said) : (int)strlen(said), said);
    pthread_mutex_lock(&lock);
    if (profile.process != getpid()) {
        memset(profile.row, 0, sizeof profile.row), memset(&profile.others, 0, sizeof profile.others);
        profile.process = getpid(), profile.shapes = 0;
    }
    add(row_of(name), 1, seconds, flops);
    pthread_mutex_unlock(&lock);
}

static int by_time(const void *x, const void *y)
{
    const row *a = x, *b = y; /* rows of nothing last */
    return a->seconds != b->seconds ? (a->seconds < b->seconds) - (a->seconds > b->seconds)
                                    : (a->calls < b->calls) - (a->calls > b->calls);
}

static void print_row(const row *r, double seconds)
{
    fprintf(stderr, "%11.6f %6.1f%% %9lld %9.2f  %s\n", r->seconds, seconds > 0 ? 100 * r->seconds / seconds : 0,
            r->calls, r->seconds > 0 ? r->flops / r->seconds / 1e9 : 0, r->name);
}

/* As the process ends. A child that called nothing has nothing to tell. */
__attribute__((destructor)) static void print(void)
{
    if (!profile.on || profile.process != getpid()) return;
    pthread_mutex_lock(&lock);
    row *rest = &profile.others, all = *rest;
    qsort(profile.row, ROWS, sizeof *profile.row, by_time);
    for (int i = 0; i < profile.shapes; i++) {
        const row *r = &profile.row[i];
        add(&all, r->calls, r->seconds, r->flops);
        if (i >= PRINTED) add(rest, r->calls, r->seconds, r->flops);
    }
    fprintf(stderr, "tilewright: profile of process %ld: %lld calls, %.3f s in them\n", (long)getpid(), all.calls,
            all.seconds);
    fprintf(stderr, "    time, s   share     calls   GFLOP/s  call\n");
    for (int i = 0; i < profile.shapes && i < PRINTED; i++) print_row(&profile.row[i], all.seconds);
    strcpy(rest->name, "all other shapes");
    if (rest->calls > 0) print_row(rest, all.seconds);
    pthread_mutex_unlock(&lock);
}
