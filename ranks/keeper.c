/* keeper.c - see keeper.h. It reads paths from a pipe; the last one counts when the pipe ends, with the program. */
#define _POSIX_C_SOURCE 200809L
#include "keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>
#include "../program/guard.h"

static int pipe_end = -1;

/* In a session of its own, so that no signal to the program's group ends it, and without the program's streams, whose
 * readers wait for their end. */
static void keep(int from)
{
    char path[4352] = "";
    size_t length = 0;
    guard_leave();
    setsid();
    for (int fd = 0; fd < 1024; fd++)
        if (fd != from) close(fd);
    for (;;) {
        char c;
        const ssize_t got = read(from, &c, 1);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        if (length == 0) path[0] = '\0';
        if (c != '\n' && length + 1 < sizeof path) path[length++] = c, path[length] = '\0';
        if (c == '\n') length = 0;
    }
    if (path[0] != '\0') unlink(path);
    _exit(0);
}

void keeper_begin(void)
{
    int ends[2];
    if (pipe(ends) != 0) return;
    const pid_t child = fork();
    if (child == 0) {
        close(ends[1]);
        keep(ends[0]);
    }
    close(ends[0]);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    if (child > 0)
        pipe_end = ends[1];
    else
        close(ends[1]);
}

void keeper_file(const char *path)
{
    if (pipe_end < 0 || (path != NULL && strchr(path, '\n') != NULL)) return;
    const char *const parts[] = {path != NULL ? path : "", "\n"};
    for (int p = 0; p < 2; p++)
        for (size_t at = 0, size = strlen(parts[p]); at < size;) {
            const ssize_t done = write(pipe_end, parts[p] + at, size - at);
            if (done < 0 && errno != EINTR) return;
            if (done > 0) at += (size_t)done;
        }
}
