/* watch.h - ends the program where nothing moves any more: a rank or a link that is lost hangs inside MPI, a user's
 * kernel that does not end inside a driver. */
#ifndef TILEWRIGHT_WATCH_H
#define TILEWRIGHT_WATCH_H

#include <stdbool.h>

/* watch_begin - from now on the program ends with EXIT_RUN and a sentence, after the clean-up of guard.h, when for so
 * many seconds watch_alive() was not called. Seconds in which the process was stopped do not count. */
void watch_begin(double limit_s);
void watch_alive(void);
void watch_stage(const char *stage); /* alive, and at what: "reading A"; it must stay */
void watch_end(void);

/* watch_file_begin - from now on a thread ends the program in the same way when what watch_file() began has not ended
 * after so many seconds. A second call does nothing. false: the thread could not be started. */
enum { WATCH_FILE_S = 60 }; /* without --deadline */
bool watch_file_begin(double limit_s);
void watch_file(const char *file, const char *does); /* "end", or "compile"; it must stay. NULL: it has ended */

#endif
