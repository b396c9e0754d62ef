/* command.h - runs another program, found on PATH, without a shell, and hands over what it wrote. */
#ifndef TILEWRIGHT_COMMAND_H
#define TILEWRIGHT_COMMAND_H

#include <signal.h>
#include <stdbool.h>

enum { COMMAND_PATH = 1024 };

/* command_find - the program's path: folders of PATH that begin at the root. A name with a slash is a path. */
bool command_find(const char *name, char path[COMMAND_PATH]);
bool command_is_program(const char *path); /* a file that may be run */

/* command_run - run it with these words (the first is its path, NULL ends them), nothing on its standard input. Returns
 * what it wrote on standard output, or with `messages` on standard error, for free(), ended by a zero; the other is
 * dropped. *status: its exit status; -1: a signal ended it, or this function did after limit_s seconds (0: no limit).
 * NULL: it could not be run, or wrote more than 256 MiB. */
char *command_run(const char *const words[], bool messages, double limit_s, int *status);

/* command_stops - the signals that end a program from outside. */
void command_stops(sigset_t *set);

/* command_stop_waits - has this process, which blocks them, been sent a signal that ends a program? */
bool command_stop_waits(void);

#endif
