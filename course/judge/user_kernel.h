/* user_kernel.h - user kernels: a file of OpenCL C or CUDA C, made ready to be launched like a rung of the table. The
 * file holds one kernel, whose parameters are the word PARAMETERS of rung.clh or rung.cuh. Its name selects the launch:
 * r05_mine is launched like r05_outer, any other name like r01_naive. The headers of kernels/ may be included; line
 * numbers in compiler messages are those of the file. */
#ifndef TILEWRIGHT_USER_KERNEL_H
#define TILEWRIGHT_USER_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include "tilewright_lab.h"

enum { USER_KERNEL_MOST_BYTES = 1 << 18, USER_KERNEL_LABEL = 40, USER_KERNEL_ENTRY = 64 };

typedef struct user_kernel {
    const tw_lab_kernel *like;     /* the row that it is launched like */
    tw_lab_source source;          /* file: the path as given */
    bool bears_rung;               /* its name is a rung's: it must take what the rung takes, and cost no more */
    char label[USER_KERNEL_LABEL]; /* "own:mine.cl": its rung in tables and records */
    char entry[USER_KERNEL_ENTRY];
    char *memory;
} user_kernel;

/* user_kernel_is_path - whether this word of --rung names a file: it has a slash or a dot. */
bool user_kernel_is_path(const char *word);

/* user_kernel_read - TW_OK; TW_NO_MEMORY; TW_BAD_ARGUMENT, and why in a sentence that begins with the path. out must
 * stay where it is, since source points into it. On failure nothing is left to free. */
tw_status user_kernel_read(const char *path, user_kernel *out, char *why, int why_bytes);

/* user_kernel_make - the same of a file's text, `bytes` long and ended by a zero. */
tw_status user_kernel_make(const char *path, const char *text, size_t bytes, user_kernel *out, char *why,
                           int why_bytes);

/* user_kernel_skip - from a comment's or a string's first byte to behind its end; at: none begins here. */
const char *user_kernel_skip(const char *at);

size_t user_kernel_word(const char *at); /* letters, digits and underscores from here on */

void user_kernel_free(user_kernel *user); /* a zeroed one is fine */

enum { USER_KERNELS_MOST = 64 };

typedef struct user_kernels {
    int count;
    user_kernel items[USER_KERNELS_MOST];
} user_kernels;

/* user_kernels_add - user_kernel_read of one more, whose label differs from those before. */
tw_status user_kernels_add(user_kernels *all, const char *path, char *why, int why_bytes);
void user_kernels_free(user_kernels *all);

#endif
