/* degrees.h - what user kernels ask of memory (lanes.h), beside the rungs that they are launched like. */
#ifndef TILEWRIGHT_DEGREES_H
#define TILEWRIGHT_DEGREES_H

#include <stdio.h>
#include "../../program/exit.h"
#include "lanes.h"
#include "user_kernel.h"

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

/* degrees_see - all files at all edges of the tile (count 0: the rung's own), each within limit_s; 0: the default of
 * lanes.h. Must come before a driver is opened, which makes threads. EXIT_OK, or EXIT_MEMORY after a sentence. */
exit_code degrees_see(const user_kernels *user, const int64_t *tiles, int count, double limit_s, degrees *out);

/* degrees_tell - how a file whose product is right differs from its rung, a line for each difference, or why that is
 * not known. EXIT_OK; or EXIT_CHECK, after a sentence, where it bears the rung's name and costs more. */
exit_code degrees_tell(FILE *text, const char *indent, const degree_pair *pair);

/* degrees_of - what was seen of this file's text at this edge. */
const degree_pair *degrees_of(const degrees *d, const tw_lab_source *source, int tile);

/* degrees_wrong - what is wrong with the file; NULL: nothing that could be found on this machine. */
const char *degrees_wrong(const degree_pair *pair);

/* degrees_crashed - EXIT_OK; or EXIT_RUN, after a sentence, where a file did not come to its end. */
exit_code degrees_crashed(const degrees *d);

#endif
