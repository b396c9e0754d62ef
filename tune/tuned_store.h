/* tuned_store.h - files of tuned rows as lines: read whole, written whole or not at all, by one program at a time. */
#ifndef TILEWRIGHT_TUNED_STORE_H
#define TILEWRIGHT_TUNED_STORE_H

#include <stdbool.h>
#include "../program/exit.h"

enum { TUNED_PATH = 4200 };

typedef struct tuned_lines {
    int count;
    char **lines; /* without their ends */
    int *numbers; /* of store_read: where in the file each stands, from 1 */
    bool is_ours; /* of store_read: may it be written again? */
} tuned_lines;

/* store_read - the lines of a file, comments left out; none where there is no file and it may be missing. A file is
 * ours where it is missing or empty, begins as we begin one, or at least half of its lines are rows, whole or damaged.
 * EXIT_INPUT, EXIT_MEMORY after a sentence. store_free() takes a zeroed one. */
exit_code store_read(const char *path, bool may_miss, tuned_lines *out);
void store_free(tuned_lines *lines);

/* store_ours - EXIT_OK where the file is ours; else EXIT_OUTPUT after a sentence, or what store_read() returns. */
exit_code store_ours(const char *path);

/* store_beside - the same of a file that nobody named: a link to nothing is not followed (EXIT_OUTPUT), since it would
 * make a file anywhere. */
exit_code store_beside(const char *path);

/* store_is_read_only - is the file there, and nobody may write it? access() does not tell root. */
bool store_is_read_only(const char *path);

/* store_writable - EXIT_OK unless the file is read-only: EXIT_OUTPUT after a sentence then. */
exit_code store_writable(const char *path);

/* store_check - can the file be written? Makes its folder where that is missing. Else EXIT_OUTPUT after a sentence. */
exit_code store_check(const char *path);

/* store_replace - the file without the lines that goes() names and with `added` (lines with their ends; "": none)
 * behind the others. Another program that does the same waits, for 10 s at most. *gone (may be NULL): lines that went.
 * A file that is not ours stays as it is: EXIT_OUTPUT. */
exit_code store_replace(const char *path, bool (*goes)(void *job, const char *line), void *job, const char *added,
                        int *gone);

/* store_append - one more line, in one write. */
exit_code store_append(const char *path, const char *line);

/* store_write - a file of these lines in the place of whatever has that name. */
exit_code store_write(const char *path, const tuned_lines *lines);

#endif
