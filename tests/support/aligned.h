/* aligned.h - for a program that puts an aligned_alloc() of its own before the system's. posix_memalign() is no way to
 * the latter: musl's calls the program's. Include it first. */
#ifndef TILEWRIGHT_TESTS_ALIGNED_H
#define TILEWRIGHT_TESTS_ALIGNED_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RTLD_NEXT */
#endif
#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>

/* Looked up once: a child that was forked while another thread looked must not wait for that one's lock. */
static void *system_aligned_alloc(size_t alignment, size_t bytes)
{
    static _Atomic(void *) found;
    void *(*next)(size_t, size_t);
    void *known = atomic_load(&found);
    if (known == NULL) atomic_store(&found, known = dlsym(RTLD_NEXT, "aligned_alloc"));
    *(void **)&next = known;
    return next(alignment, bytes);
}

#endif
