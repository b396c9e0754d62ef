/* aligned.h - for a program that puts an aligned_alloc() of its own before the system's. posix_memalign() is no way to
 * the latter: musl's calls the program's. Include it first. */
#ifndef TILEWRIGHT_TESTS_ALIGNED_H
#define TILEWRIGHT_TESTS_ALIGNED_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RTLD_NEXT */
#endif
#include <dlfcn.h>
#include <stddef.h>

static void *system_aligned_alloc(size_t alignment, size_t bytes)
{
    void *(*next)(size_t, size_t);
    *(void **)&next = dlsym(RTLD_NEXT, "aligned_alloc");
    return next(alignment, bytes);
}

#endif
