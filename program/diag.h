/* diag.h - sentences on stderr: "tilewright: multiply: A.npy: ...", one line each, whatever a file name holds. */
#ifndef TILEWRIGHT_DIAG_H
#define TILEWRIGHT_DIAG_H

#include "../io/io.h"
#include "exit.h"
#include "tilewright.h"

void diag_command(const char *name); /* which command the sentences name; it must stay */
const char *diag_command_name(void);

/* diag - print a sentence; returns code, so that a function can end with `return diag(...)`. */
exit_code diag(exit_code code, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* diag_hold - sentences are kept from now on, not printed. diag_let_go - print what is kept, each behind `before`, or
 * forget it; from then on they are printed again. */
void diag_hold(void);
void diag_let_go(bool print, const char *before);
exit_code diag_code(tw_status status); /* the exit code of a status of the library */
/* the library's last sentence, its status as an exit code */
exit_code diag_tw(tw_status status);
exit_code diag_io(io_status status, const io_error *error); /* a file's sentence likewise */
exit_code diag_no_memory(const char *what);
exit_code diag_lab(tw_status status,
                   const char *what); /* of lab/, which leaves no sentence when memory for `what` ran out */

/* diag_name - the name of a file as it may stand on a terminal: control characters replaced, a long one cut. */
typedef char tame_name[256];
const char *diag_name(const char *name, tame_name out);

#endif
