/* threads.c - OpenBLAS's names for the number of threads: a limit of ours, and of the OpenBLAS that is loaded behind
 * this library, whose other routines may run. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include "product.h"

#include <tilewright_blas.h>

#include <dlfcn.h>

enum { MOST = 4096 }; /* of tw_threads_set() */

void openblas_set_num_threads(int threads)
{
    tw_threads_set(threads > 0 && threads <= MOST ? threads : 0);
    void (*behind)(int);
    *(void **)&behind = dlsym(RTLD_NEXT, "openblas_set_num_threads");
    if (behind == NULL)
        dlerror(); /* the program's next one tells of its own calls */
    else
        behind(threads);
}

int openblas_get_num_threads(void)
{
    tw_device device = {.size = sizeof device};
    const int limit = tw_threads_get();
    if (blas_context() == NULL || tw_describe(blas_context(), &device) != TW_OK) return limit > 0 ? limit : 1;
    return limit > 0 && limit < device.threads ? limit : device.threads;
}
