/* guard.h - what must happen when the program is stopped from outside: no temporary file stays behind, finished JSON
 * lines are kept, and a mapped input that another program cuts short is a bad input file, not a crash. */
#ifndef TILEWRIGHT_GUARD_H
#define TILEWRIGHT_GUARD_H

#include <stddef.h>
#include "../io/io.h"

/* guard_install - closed standard streams are held, so that no file takes their place. SIGINT, SIGTERM and SIGHUP end
 * the program with 130, SIGBUS in a watched mapping with 6, each after the clean-up; SIGPIPE with 141, silently, where
 * standard output's reader is gone. A signal that the caller ignores stays ignored. */
void guard_install(void);

/* guard_leave - in a forked process: signals end it as they end any, and the files are its parent's to clean up. */
void guard_leave(void);

/* guard_end - end the program at once, after the clean-up; from any thread. */
void guard_end(int code) __attribute__((noreturn));

/* guard_hold, guard_release - these signals, SIGQUIT and SIGXCPU wait while a file is made and registered, or renamed
 * and forgotten. */
void guard_hold(void);
void guard_release(void);

/* guard_kept - a part of a sentence that says what stays where a signal ends the program; NULL: nothing is said. */
void guard_kept(const char *text);

void guard_output(const char *temp_path); /* remove this file; NULL: none any more */
void guard_tool(const char *temp_path);   /* the same, of a file that a tool reads */
void guard_json(const io_output *output); /* as above, but give it its name once it has lines */
void guard_json_has_lines(void);

/* guard_foreign - from now on a kernel runs that a reader wrote, in that file; NULL: no more. Where the device is this
 * very CPU, an access outside of all memory ends the program with 8 and a sentence. */
void guard_foreign(const char *path);

/* guard_driver - from now on this engine's driver is in use in this process; NULL: none is. If it aborts, crashes or
 * calls exit(), the program ends with 8 and a sentence: which driver, how it ended and, unless it crashed, the advice
 * ("" or ": ..."). A crash of the program's own code, and a signal that another process sends, end it as usual.
 * Does nothing in a forked process, whose parent tells how it ended. */
void guard_driver(const char *engine, const char *driver, const char *advice);

/* guard_done - main() returns: a call of exit() from now on is not a driver's. */
void guard_done(void);

/* guard_watch - from now on bytes from start on are the mapped file of that name; returns what guard_unwatch takes. */
int guard_watch(const void *start, size_t bytes, const char *path);
void guard_unwatch(int watch);

#endif
