/* pipe.h - io_read() of bytes that come through a pipe, as from /dev/stdin: a few, or without end. */
#ifndef TILEWRIGHT_PIPE_H
#define TILEWRIGHT_PIPE_H

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "../../io/io.h"

/* The bytes and then `rest`, a block of 4096 bytes, for ever; NULL: nothing more. */
static inline io_status read_pipe_then(const void *bytes, size_t count, const char *rest, const io_raw_shape *raw,
                                       io_matrix *m, io_error *error)
{
    int ends[2];
    char path[32];
    assert_int_equal(pipe(ends), 0);
    const pid_t writer = fork(); /* a pipe does not hold all that is written */
    if (writer == 0) {
        close(ends[0]);
        signal(SIGPIPE, SIG_DFL);
        if (write(ends[1], bytes, count) == (ssize_t)count)
            while (rest != NULL && write(ends[1], rest, 4096) > 0) {
            }
        _exit(0);
    }
    close(ends[1]);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    io_status status = io_read(path, raw, m, error);
    close(ends[0]);
    assert_int_equal(waitpid(writer, NULL, 0), writer);
    return status;
}

static inline io_status read_pipe(const void *bytes, size_t count, const io_raw_shape *raw, io_matrix *m,
                                  io_error *error)
{
    return read_pipe_then(bytes, count, NULL, raw, m, error);
}

#endif
