/* tool.c - see tool.h. */
#define _POSIX_C_SOURCE 200809L
#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "guard.h"

extern char **environ;

static const size_t MOST_BYTES = (size_t)256 << 20;

/* A file that may be run; folders may be too, in their own sense. */
static bool is_program(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

bool tool_find(const char *name, char path[TOOL_PATH])
{
    const char *folder = getenv("PATH");
    for (int length; folder != NULL && *folder != '\0'; folder += length + (folder[length] == ':')) {
        length = (int)strcspn(folder, ":");
        if (folder[0] == '/' && snprintf(path, TOOL_PATH, "%.*s/%s", length, folder, name) < TOOL_PATH &&
            is_program(path))
            return true;
    }
    return snprintf(path, TOOL_PATH, "/usr/local/cuda/bin/%s", name) < TOOL_PATH && is_program(path);
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

/* The program as a child whose output goes into this pipe. Between fork() and exec() a process that has threads may do
 * next to nothing, and drivers make threads: posix_spawn() does no more than that. */
static bool start(const char *const words[], const int ends[2], pid_t *child)
{
    posix_spawn_file_actions_t actions;
    if (posix_spawn_file_actions_init(&actions) != 0) return false;
    bool ready = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0) == 0 &&
                 posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO) == 0 &&
                 posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0) == 0;
    ready = ready && posix_spawn(child, words[0], &actions, NULL, (char *const *)(uintptr_t)words, environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
    return ready;
}

char *tool_run(const char *const words[])
{
    int ends[2], status = 0;
    pid_t child;
    if (pipe(ends) != 0) return NULL;
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    bool started = start(words, ends, &child);
    close(ends[1]);
    char *text = started ? read_all(ends[0]) : NULL;
    close(ends[0]); /* one that writes on gets a broken pipe */
    while (started && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (text != NULL && WIFEXITED(status) && WEXITSTATUS(status) == 0) return text;
    free(text);
    return NULL;
}

bool tool_file(const void *bytes, size_t count, char path[TOOL_PATH])
{
    const char *folder = getenv("TMPDIR"), *from = bytes;
    int length = snprintf(path, TOOL_PATH, "%s/tilewright-explain.XXXXXX",
                          folder != NULL && folder[0] == '/' ? folder : "/tmp");
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
