/* degrees.h - what user kernels ask of memory (lab/lanes.h), beside the rungs that they are launched like. */
#ifndef TILEWRIGHT_DEGREES_H
#define TILEWRIGHT_DEGREES_H

#include "../lab/lanes.h"
#include "rungs.h"

/* One file at one edge of the tile, and its rung; of neither the outcome need be LANES_SEEN. */
typedef struct degree_pair {
    const user_kernel *user;
    int tile; /* of --tile; 0: the rung's own */
    lanes own, like;
} degree_pair;

typedef struct degrees {
    int count;
    degree_pair *pairs; /* free() them */
} degrees;

/* degrees_see - all files at all edges of --tile, each within --deadline. Must come before a driver is opened, which
 * makes threads. EXIT_OK, or EXIT_MEMORY after a sentence. */
exit_code degrees_see(const user_kernels *user, const options *opt, degrees *out);

/* degrees_differences - a line for each difference of two that were seen, behind the word for where the file costs more
 * or does not. Returns how many. */
int degrees_differences(FILE *text, const degree_pair *pair, const char *more, const char *less);

/* degrees_tell - how a file whose product was judged right differs from its rung, or why that is not known; of a wrong
 * one what a run on this machine found. */
void degrees_tell(FILE *text, const degrees *d, const user_kernel *user, int tile, bool right);

/* explain_file - `tilewright explain FILE`. */
exit_code explain_file(session *s, const char *path);

#endif
