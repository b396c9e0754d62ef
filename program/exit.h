/* exit.h - the program's exit codes. Scripts rely on them: a number never changes its meaning. */
#ifndef TILEWRIGHT_EXIT_H
#define TILEWRIGHT_EXIT_H

typedef enum exit_code {
    EXIT_OK = 0,
    EXIT_CHECK = 1,         /* a check failed */
    EXIT_USAGE = 2,         /* the command line is wrong */
    EXIT_DEVICE = 3,        /* no usable device, no kernel that fits, or a file that is not judged here */
    EXIT_BUILD = 4,         /* a kernel could not be compiled */
    EXIT_MEMORY = 5,        /* memory ran out */
    EXIT_INPUT = 6,         /* an input file is bad */
    EXIT_OUTPUT = 7,        /* an output could not be written */
    EXIT_RUN = 8,           /* a device or its driver failed while running */
    EXIT_INTERRUPTED = 130, /* SIGINT, SIGTERM or SIGHUP */
    EXIT_PIPE = 141 /* nobody reads standard output any longer: what a shell shows of a program that SIGPIPE ended */
} exit_code;

#endif
