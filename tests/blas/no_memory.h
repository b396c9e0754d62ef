/* no_memory.h - memory that runs out while no_memory is true in this thread: the program's own aligned_alloc and
 * calloc. */
#ifndef TILEWRIGHT_TESTS_BLAS_NO_MEMORY_H
#define TILEWRIGHT_TESTS_BLAS_NO_MEMORY_H

#include "../support/aligned.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static _Thread_local bool no_memory;
static _Thread_local int refused; /* requests */
static _Thread_local int spared;  /* requests that are granted before */

static bool is_granted(void) { return !no_memory || spared-- > 0; }

void *aligned_alloc(size_t alignment, size_t bytes)
{
    if (is_granted()) return system_aligned_alloc(alignment, bytes);
    refused++;
    errno = ENOMEM; /* glibc looks */
    return NULL;
}

#ifndef __SANITIZE_THREAD__ /* which needs its own before it can begin */
void *calloc(size_t count, size_t bytes)
{
    bool fits = bytes == 0 || count <= SIZE_MAX / bytes;
    void *memory = fits && is_granted() ? system_aligned_alloc(64, (count * bytes + 63) / 64 * 64) : NULL;
    if (memory != NULL) return memset(memory, 0, count * bytes);
    refused += no_memory;
    errno = ENOMEM;
    return NULL;
}
#endif

#endif
