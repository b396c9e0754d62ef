/* files.h - the files that a command line names, compared before any of them is opened for writing. */
#ifndef TILEWRIGHT_FILES_H
#define TILEWRIGHT_FILES_H

#include "opts.h"

/* files_check - refuse outputs that would destroy something. No output may be an input, another output, or where
 * standard output or standard error goes. Links are followed; files are compared by device and inode, files yet to be
 * made by their folder's and their name. The one exception: `multiply -o` may replace an operand. An existing output
 * must hold the kind of file that replaces it, unless --force was given. `--json /dev/stdout` becomes `--json -`.
 *
 * Returns EXIT_OK; or, after a sentence, EXIT_USAGE (two names, one file) or EXIT_OUTPUT (another kind). */
exit_code files_check(options *opt);

/* files_recheck - before an output gets its name: is there still no file of another kind, made since files_check? */
exit_code files_recheck(const char *path);

/* files_replaced - after files_check: ", in place of A" where -o names an operand, else "". */
const char *files_replaced(void);

const char *files_input(const char *word); /* the path of an input: `-` is standard input */

#endif
