/* tool.c - see tool.h. */
#define _POSIX_C_SOURCE 200809L
#include "tool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "../../program/guard.h"

bool tool_find(const char *name, char path[TOOL_PATH])
{
    return command_find(name, path) ||
           (snprintf(path, TOOL_PATH, "/usr/local/cuda/bin/%s", name) < TOOL_PATH && command_is_program(path));
}

char *tool_run(const char *const words[])
{
    int status;
    char *text = command_run(words, false, 0, &status);
    if (text != NULL && status == 0) return text;
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
    if (fd >= 0) guard_tool(path);
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
    guard_tool(NULL);
    guard_release();
}
