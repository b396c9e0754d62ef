/* threads.c - OpenBLAS's names for the number of threads, which programs and threadpoolctl call: a limit of ours, and
 * of the OpenBLAS that is loaded behind this library, whose other routines may run. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include "product.h"

#include <tilewright_blas.h>

#include <dlfcn.h>

void openblas_set_num_threads(int threads)
{
    if (tw_threads_set(threads) != TW_OK) tw_threads_set(0); /* less than none, or more than any call has */
    void (*behind)(int);
    *(void **)&behind = dlsym(RTLD_NEXT, "openblas_set_num_threads");
    if (behind != NULL) behind(threads);
}

int openblas_get_num_threads(void)
{
    tw_device device = {.size = sizeof device};
    const int limit = tw_threads_get();
    if (blas_context() == NULL || tw_describe(blas_context(), &device) != TW_OK) return limit > 0 ? limit : 1;
    return limit > 0 && limit < device.threads ? limit : device.threads;
}
