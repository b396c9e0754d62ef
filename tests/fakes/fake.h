/* fake.h - what the fake drivers share. Shared objects in the drivers' names do just enough for the engines to go all
 * the way, and fail where the environment says so:
 *
 *   FAKES     "cuInit=100 cuMemAlloc_v2=2@3": these functions return these errors; @3: only their third call does
 *   FAKE_CRASH  "cuInit=11": this function ends the process by that signal; "cuInit=-3": with that exit status
 *   FAKE_HANG   "clFinish=3": from its third call on this function does not return
 *   FAKE_LOG  a file that gets the name of every call that succeeded, one per line, and "failed" before those that were
 *             told to fail
 *
 * No kernel is run, unless a fake says so: what a launch should have written stays as it was. */
#ifndef TILEWRIGHT_FAKE_H
#define TILEWRIGHT_FAKE_H

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The number after `name` in the environment variable; `otherwise` where it is not there. */
static inline int fake_number(const char *variable, const char *name, int otherwise, int *call)
{
    const char *text = getenv(variable);
    size_t length = strlen(name);
    *call = 0;
    for (const char *at = text; at != NULL && (at = strstr(at, name)) != NULL; at += length) {
        if ((at != text && at[-1] != ' ') || at[length] != '=') continue;
        char *end;
        int number = (int)strtol(at + length + 1, &end, 10);
        if (*end == '@') *call = atoi(end + 1);
        return number;
    }
    return otherwise;
}

static inline void fake_log(const char *line)
{
    const char *path = getenv("FAKE_LOG");
    FILE *log = path != NULL ? fopen(path, "a") : NULL;
    if (log == NULL) return;
    fprintf(log, "%s\n", line);
    fclose(log);
}

static inline int fake_fault(const char *name, int calls)
{
    char line[96];
    int only, crash = fake_number("FAKE_CRASH", name, 0, &only), error = fake_number("FAKES", name, 0, &only);
    if (crash > 0) raise(crash);
    if (crash < 0) exit(-crash);
    int hangs = fake_number("FAKE_HANG", name, 0, &only);
    if (hangs > 0 && calls >= hangs)
        for (;;) pause();
    fake_number("FAKES", name, 0, &only); /* of which call FAKES speaks */
    bool fails = error != 0 && (only == 0 || only == calls);
    snprintf(line, sizeof line, "%s%s", fails ? "failed " : "", name);
    fake_log(line);
    return fails ? error : 0;
}

/* The error that this call is to return; 0: none. */
#define FAULT(name, variable)                                                                                          \
    static _Atomic int fake_calls;                                                                                     \
    int variable = fake_fault(#name, ++fake_calls)

#endif
