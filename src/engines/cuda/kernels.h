/* kernels.h - the CUDA kernels of a context: built ahead, kept on disk, or compiled by NVRTC for the very device at
 * first use. */
#ifndef TILEWRIGHT_KERNELS_H
#define TILEWRIGHT_KERNELS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "../../jit_cache.h"
#include "../engine.h"
#include "cu_api.h"

typedef struct built built;

/* sm and driver_version are filled in once the device is known, before the first of the calls that find and build. */
typedef struct kernels {
    const cu_api *cu;
    int sm, driver_version;
    jit_cache *cache, *ahead; /* folders of what was compiled here, and of what was built ahead */
    pthread_mutex_t building; /* guards the cache, and additions to the list below, whose head is read without it */
    _Atomic(built *) built;
} kernels;

void kernels_open(kernels *k, const cu_api *cu);
/* kernels_close - the context is current; or `current` is false, and only host memory is freed. */
void kernels_close(kernels *k, bool current);

/* kernels_find - the function if it is built, else NULL. Never blocks on another thread's compilation. */
cu_function kernels_find(kernels *k, const kernel_text *w);
/* kernels_build - the function, built at first use. The context is current. */
tw_status kernels_build(kernels *k, const kernel_text *w, cu_function *out);
/* kernels_kept - whether the function is built, or its binary lies on disk: nothing would be compiled. */
bool kernels_kept(kernels *k, const kernel_text *w);

/* kernels_code - the compiled code of a plan, to be read: loads and keeps nothing, and needs no device. */
tw_status kernels_code(const plan *p, int sm, bool ptx, tw_lab_code *out);

/* kernels_ahead - whether kernels were built ahead for such a device. */
bool kernels_ahead(const jit_cache *ahead, int sm);
/* kernels_tensor_maps - whether NVRTC compiles TMA copies for such a device. */
bool kernels_tensor_maps(int sm);
/* kernels_clusters - whether the NVRTC that was found, if any, compiles cluster reductions (PTX ISA 8.1, CUDA 12.1). */
bool kernels_clusters(void);
/* kernels_planned_sm - of which architecture a device's kernels may be: its own, or without NVRTC that of those built
 * ahead. */
int kernels_planned_sm(int sm);

#endif
