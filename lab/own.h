/* own.h - user kernels: a file of OpenCL C or CUDA C, made ready to be launched like a rung of the table. The file
 * holds one kernel, whose parameters are the word PARAMETERS of rung.clh or rung.cuh. Its name selects the launch:
 * r05_mine is launched like r05_outer, any other name like r01_naive. The headers of kernels/ may be included; line
 * numbers in compiler messages are those of the file. */
#ifndef TILEWRIGHT_OWN_H
#define TILEWRIGHT_OWN_H

#include <stdbool.h>
#include <stddef.h>
#include "tilewright_lab.h"

enum { OWN_MOST_BYTES = 1 << 18, OWN_LABEL = 40, OWN_ENTRY = 64 };

typedef struct own_kernel {
    const tw_lab_kernel *like; /* the row that it is launched like */
    tw_lab_source source;      /* file: the path as given */
    char label[OWN_LABEL];     /* "own:mine.cl": its rung in tables and records */
    char entry[OWN_ENTRY];
    char *memory;
} own_kernel;

/* own_is_path - whether this word of --rung names a file: it has a slash, or ends in .cl or .cu. */
bool own_is_path(const char *word);

/* own_read - TW_OK; TW_NO_MEMORY; TW_BAD_ARGUMENT, and why in a sentence that begins with the path. out must stay where
 * it is, since source points into it. On failure nothing is left to free. */
tw_status own_read(const char *path, own_kernel *out, char *why, int why_bytes);

/* own_make - the same of a file's text, `bytes` long and ended by a zero. */
tw_status own_make(const char *path, const char *text, size_t bytes, own_kernel *out, char *why, int why_bytes);

void own_free(own_kernel *own); /* a zeroed one is fine */

#endif
