/* child.h - runs a part of a test in a process of its own, which opens the library's context anew. */
#ifndef TILEWRIGHT_TESTS_BLAS_CHILD_H
#define TILEWRIGHT_TESTS_BLAS_CHILD_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SAID = 4000 };

/* Runs in a process of its own, before this one has opened a context, with one variable set. Returns its exit status;
 * what it wrote to stderr is in said. */
static inline int run_with(const char *variable, const char *word, int (*body)(void), char said[SAID])
{
    int pipe_ends[2], status = -1;
    size_t used = 0;
    said[0] = '\0';
    fflush(stdout);
    if (pipe(pipe_ends) != 0) return -1;
    pid_t child = fork();
    if (child == 0) {
        dup2(pipe_ends[1], STDERR_FILENO);
        close(pipe_ends[0]), close(pipe_ends[1]);
        setenv(variable, word, 1);
        _exit(body());
    }
    close(pipe_ends[1]);
    for (ssize_t got; used < SAID - 1 && (got = read(pipe_ends[0], said + used, SAID - 1 - used)) > 0;)
        used += (size_t)got;
    said[used] = '\0';
    close(pipe_ends[0]);
    waitpid(child, &status, 0);
    return status;
}

static inline int lines_of(const char *text)
{
    int lines = 0;
    for (; *text != '\0'; text++) lines += *text == '\n';
    return lines;
}

#endif
