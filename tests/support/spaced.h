/* spaced.h - a matrix whose rows lie on pages of their own: between them nothing may be touched, so that reading or
 * writing the padding is a crash, and copying it would take more memory than there is. */
#ifndef TILEWRIGHT_SPACED_H
#define TILEWRIGHT_SPACED_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct spaced {
    char *all;
    size_t all_bytes;
    float *at; /* element 0, 0 */
    int rows, cols;
    int64_t ld;
} spaced;

/* rows x cols floats `pages` pages apart, at least 2; each row ends at the end of its page, or begins at its beginning.
 * The rest of the pages is NaN. */
static spaced spaced_make(int rows, int cols, int64_t pages, bool at_end)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    spaced s = {.rows = rows,
                .cols = cols,
                .ld = pages * (int64_t)(page / sizeof(float)),
                .all_bytes = (size_t)rows * (size_t)pages * page};
    int zero = open("/dev/zero", O_RDWR); /* no MAP_ANONYMOUS in POSIX */
    s.all = mmap(NULL, s.all_bytes, PROT_NONE, MAP_PRIVATE, zero, 0);
    close(zero);
    if (s.all == MAP_FAILED || (size_t)cols * sizeof(float) > page) {
        perror("spaced_make");
        exit(1);
    }
    for (int i = 0; i < rows; i++) {
        float *row = (float *)(void *)(s.all + (size_t)i * (size_t)pages * page);
        if (mprotect(row, page, PROT_READ | PROT_WRITE) != 0) perror("spaced_make"), exit(1);
        for (size_t j = 0; j < page / sizeof *row; j++) row[j] = NAN;
    }
    s.at = (float *)(void *)s.all + (at_end ? page / sizeof(float) - (size_t)cols : 0);
    return s;
}

static float *spaced_at(const spaced *s, int i, int j) { return s->at + i * s->ld + j; }

/* Is all that is mapped beside the elements still NaN? */
static bool spaced_is_clean(const spaced *s)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE) / sizeof(float), begin = (size_t)(s->at - (float *)(void *)s->all);
    for (int i = 0; i < s->rows; i++)
        for (size_t j = 0; j < page; j++)
            if ((j < begin || j >= begin + (size_t)s->cols) &&
                !isnan(((float *)(void *)s->all)[i * s->ld + (int64_t)j]))
                return false;
    return true;
}

static void spaced_free(spaced *s) { munmap(s->all, s->all_bytes); }

#endif
