/* left.c - what a round leaves over: file descriptors, threads, memory. */
#define _GNU_SOURCE /* mallinfo2, gettid */
#include "soak.h"

#include <dirent.h>
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int entries_of(const char *folder)
{
    int count = 0;
    DIR *list = opendir(folder);
    while (list != NULL && readdir(list) != NULL) count++;
    if (list != NULL) closedir(list);
    return count;
}

/* A thread that was joined is in the system's list a little longer. */
int threads_over(int allowed)
{
    int count = 0;
    for (int turn = 0; turn < 2000; turn++) {
        count = entries_of("/proc/self/task") - 2; /* . and .. */
        if (count <= allowed) return 0;
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
    return count - allowed;
}

/* R: runs; S: waits; a name may have any sign, so the state is sought behind the last bracket. 'X': it has ended. */
static char state_of(const char *thread)
{
    char path[300], line[512] = "";
    snprintf(path, sizeof path, "/proc/self/task/%s/stat", thread);
    FILE *stat = fopen(path, "r");
    if (stat == NULL) return errno == ENOENT || errno == ESRCH ? 'X' : 'R';
    const bool read = fgets(line, sizeof line, stat) != NULL;
    fclose(stat);
    const char *end = strrchr(line, ')');
    return !read ? 'X' : end != NULL && end[1] == ' ' ? end[2] : 'R';
}

bool others_wait(void)
{
    bool wait = true;
    DIR *list = opendir("/proc/self/task");
    if (list == NULL) return false;
    for (struct dirent *each; (each = readdir(list)) != NULL;)
        if (atoi(each->d_name) != 0 && atoi(each->d_name) != gettid())
            wait = strchr("SXZ", state_of(each->d_name)) != NULL && wait;
    closedir(list);
    return wait;
}

/* What a process holds: bytes in small blocks, in large ones, and resident. Large: mapped one by one. */
typedef struct held {
    size_t small, large, resident;
} held;

enum { WARM = 5, WINDOW = 5 };
static const held growth = {1 << 20, 96 << 20, 160 << 20}; /* more than engines keep workspaces */

#if defined(__GLIBC__)
#if __GLIBC_PREREQ(2, 33)
#define TELLS_BLOCKS
#endif
#endif

/* Other C libraries do not tell what they have given: there only what is resident is watched. */
static held blocks_now(void)
{
#ifdef TELLS_BLOCKS
    malloc_trim(0);
    const struct mallinfo2 info = mallinfo2();
    return (held){info.uordblks, info.hblkhd, 0};
#else
    return (held){0, 0, 0};
#endif
}

void watch_begin(void)
{
#ifdef TELLS_BLOCKS
    mallopt(M_MMAP_THRESHOLD, 1 << 16); /* of large blocks */
#endif
}

static held held_now(void)
{
    held now = blocks_now();
    unsigned long size = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file != NULL && fscanf(file, "%lu %lu", &size, &resident) == 2)
        now.resident = resident * (size_t)sysconf(_SC_PAGESIZE);
    if (file != NULL) fclose(file);
    return now;
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }
static held least_of(held a, held b)
{
    return (held){least(a.small, b.small), least(a.large, b.large), least(a.resident, b.resident)};
}

/* The least of a window early, and of the latest: a round's own rise is no growth. */
void watch_memory(int64_t round)
{
    static held early, latest[WINDOW];
    if (UNDER_ASAN || UNDER_TSAN) return; /* they keep what was freed; AddressSanitizer sees leaks at the end */
    const held now = held_now();
    latest[round % WINDOW] = now;
    if (round < WARM) return;
    if (round < WARM + WINDOW) {
        early = round == WARM ? now : least_of(early, now);
        return;
    }
    held late = now;
    for (int i = 0; i < WINDOW; i++) late = least_of(late, latest[i]);
    if (late.small > early.small + growth.small || late.large > early.large + growth.large ||
        late.resident > early.resident + growth.resident)
        soak_fail(
            "memory grew in %lld rounds: small blocks from %zu to %zu bytes, large ones from %zu to %zu, resident "
            "from %zu to %zu",
            (long long)round + 1, early.small, late.small, early.large, late.large, early.resident, late.resident);
}
