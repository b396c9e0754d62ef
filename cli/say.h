/* say.h - sentences on stderr: "tilewright: multiply: A.npy: ...", one line each, whatever a file name holds. */
#ifndef TILEWRIGHT_SAY_H
#define TILEWRIGHT_SAY_H

#include "../io/io.h"
#include "exit.h"
#include "tilewright.h"

void say_command(const char *name); /* which command the sentences name; it must stay */
const char *say_command_name(void);

/* say - print a sentence; returns code, so that a function can end with `return say(...)`. */
exit_code say(exit_code code, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* the library's last sentence, its status as an exit code */
exit_code say_tw(tw_status status);
exit_code say_io(io_status status, const io_error *error); /* a file's sentence likewise */
exit_code say_no_memory(const char *what);
exit_code say_lab(tw_status status,
                  const char *what); /* of lab/, which leaves no sentence when memory for `what` ran out */

/* say_name - the name of a file as it may stand on a terminal: control characters replaced, a long one cut. */
typedef char tame_name[256];
const char *say_name(const char *name, tame_name out);

/* say_closest - the word of a list that `word` was probably meant to be, or NULL: for "did you mean". */
const char *say_closest(const char *word, const char *const words[], int count);

#endif
