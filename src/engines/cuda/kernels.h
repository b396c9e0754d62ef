/* kernels.h - CUDA's kernels as functions of a context: built ahead, kept on disk, or compiled by NVRTC for the very
 * device, at first use. */
#ifndef TILEWRIGHT_KERNELS_H
#define TILEWRIGHT_KERNELS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "../../jit_cache.h"
#include "../engine.h"
#include "cu_api.h"

/* A kernel to be had: its text and entry, compiler options, bytes of dynamic shared memory. */
typedef struct wanted {
    tw_lab_source source;
    const char *options;
    int dynamic_bytes;
} wanted;

typedef struct built built;

/* sm and driver_version are filled in once the device is known, before the first of the calls that find and build. */
typedef struct kernels {
    const cu_api *cu;
    int sm, driver_version;
    jit_cache *cache, *ahead; /* what was compiled here, and what somebody built ahead */
    pthread_mutex_t building; /* guards the cache, and additions to the list below, whose head is read without it */
    _Atomic(built *) built;
} kernels;

void kernels_open(kernels *k, const cu_api *cu);
/* kernels_close - the context is current, or `current` is false and only what is the host's is given up. */
void kernels_close(kernels *k, bool current);

/* kernels_find - the function, if it is built; NULL. Nobody who builds another is waited for. */
cu_function kernels_find(kernels *k, const wanted *w);
/* kernels_build - the function, built at first use. The context is current. */
tw_status kernels_build(kernels *k, const wanted *w, cu_function *out);

/* kernels_code - a plan's code for reading: nothing is loaded or kept, and no device is needed. */
tw_status kernels_code(const plan *p, int sm, bool ptx, tw_lab_code *out);

/* kernels_ahead - was something built ahead that such a device takes? */
bool kernels_ahead(const jit_cache *ahead, int sm);
/* kernels_tensor_maps - does NVRTC compile copies through tensor maps for such a device? */
bool kernels_tensor_maps(int sm);
/* kernels_clusters - does the NVRTC at hand, if there is one, know all that kernels of clusters say (PTX ISA 8.1, CUDA
 * 12.1)? */
bool kernels_clusters(void);

#endif
