/* tool.c - see tool.h. */
#define _POSIX_C_SOURCE 200809L
#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "guard.h"

static const size_t MOST_BYTES = (size_t)256 << 20;

bool tool_find(const char *name, char path[TOOL_PATH])
{
    char folders[8192];
    const char *from_path = getenv("PATH");
    snprintf(folders, sizeof folders, "%s:/usr/local/cuda/bin", from_path != NULL ? from_path : "");
    for (char *rest = folders, *folder; (folder = strtok_r(rest, ":", &rest)) != NULL;)
        if (folder[0] == '/' && snprintf(path, TOOL_PATH, "%s/%s", folder, name) < TOOL_PATH && access(path, X_OK) == 0) return true;
    return false;
}

static void become(const char *const words[], int output)
{
    int nothing = open("/dev/null", O_RDWR);
    if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0 || dup2(nothing, STDERR_FILENO) < 0) _exit(127);
    setenv("LC_ALL", "C", 1);
    execv(words[0], (char *const *)(uintptr_t)words);
    _exit(127);
}

/* All that comes; NULL where it is too much or memory runs out. */
static char *read_all(int input)
{
    size_t count = 0, room = 1 << 16;
    char *text = malloc(room);
    while (text != NULL) {
        ssize_t got = read(input, text + count, room - count - 1);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        count += (size_t)got;
        if (room - count > 1) continue;
        char *more = room < MOST_BYTES ? realloc(text, room * 2) : NULL;
        if (more == NULL) free(text);
        text = more;
        room *= 2;
    }
    if (text != NULL) text[count] = '\0';
    return text;
}

char *tool_run(const char *const words[])
{
    int ends[2], status = 0;
    if (pipe(ends) != 0) return NULL;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        become(words, ends[1]);
    }
    close(ends[1]);
    char *text = child > 0 ? read_all(ends[0]) : NULL;
    close(ends[0]); /* one that writes on gets a broken pipe */
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (text != NULL && WIFEXITED(status) && WEXITSTATUS(status) == 0) return text;
    free(text);
    return NULL;
}

bool tool_file(const void *bytes, size_t count, char path[TOOL_PATH])
{
    const char *folder = getenv("TMPDIR"), *from = bytes;
    int length = snprintf(path, TOOL_PATH, "%s/tilewright-explain.XXXXXX", folder != NULL && folder[0] == '/' ? folder : "/tmp");
    if (length >= TOOL_PATH) return false;
    guard_hold();
    int fd = mkstemp(path);
    if (fd >= 0) guard_output(path);
    guard_release();
    while (fd >= 0 && count > 0) {
        ssize_t put = write(fd, from, count);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) break;
        from += put, count -= (size_t)put;
    }
    if (fd >= 0 && close(fd) == 0 && count == 0) return true;
    if (fd >= 0) tool_file_end(path);
    return false;
}

void tool_file_end(const char *path)
{
    guard_hold();
    unlink(path);
    guard_output(NULL);
    guard_release();
}
