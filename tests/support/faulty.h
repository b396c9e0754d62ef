/* faulty.h - what the parts of faulty.c print, and the numbers that its callers know. */
#ifndef TILEWRIGHT_FAULTY_H
#define TILEWRIGHT_FAULTY_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tilewright.h"

enum { NOBODY = 65534, N = 24, THREADS = 8, CALLS = 25 };

/* The child that uses CUDA itself, of faulty_streams.c. */
int faulty_streams(void);

/* One line, though the sentence ends in the lines of a compiler's log. */
static inline void tell(const char *what, tw_status status)
{
    printf("%s:%d:", what, (int)status);
    for (const char *at = status == TW_OK ? "" : tw_error_text(); *at != '\0'; at++) putchar(*at == '\n' ? ' ' : *at);
    putchar('\n');
}

static inline void mark(const char *text)
{
    FILE *log = fopen(getenv("FAKE_LOG"), "a");
    if (log == NULL) return;
    fprintf(log, "%s\n", text);
    fclose(log);
}

static inline bool cpu_right(void)
{
    float a[N * N], b[N * N], c[N * N];
    tw_options options = {.size = sizeof options, .engine = "cpu"};
    tw_context *context = NULL;
    for (int i = 0; i < N * N; i++) a[i] = (float)(i % 3), b[i] = (float)(i % N == i / N);
    bool right = tw_open(&options, &context) == TW_OK &&
                 tw_sgemm(context, TW_N, TW_N, N, N, N, 1, a, N, b, N, 0, c, N) == TW_OK;
    tw_close(context);
    return right && memcmp(a, c, sizeof a) == 0;
}

#endif
