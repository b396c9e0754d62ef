/* ahead.h - how kernels that were built ahead are named: by architecture, options and text, whatever driver and
 * compiler a machine has. */
#ifndef TILEWRIGHT_AHEAD_H
#define TILEWRIGHT_AHEAD_H

#include "../../jit_cache.h"
#include "../gpu.h"

/* The architectures that are built for, each with the first device that takes it and the last, and the kernel that
 * stands for all: a folder that has not got it is of another version. */
static const struct ahead_arch {
    const char *name;
    int from_sm, to_sm;
    const char *row, *options; /* options: before what the text has of its row */
} ahead_archs[] = {{"sm_80", 80, 89, "cuda_f32_sgemm_simt_128x128", "-DTILE=16 -DOP_A=0 -DOP_B=0 -DWIDE=1"},
                   {"sm_90a", 90, 90, "cuda_f32_sgemm_tma_sm90_128x128", "-DTILE=16 -DOP_A=1 -DOP_B=0 -DWIDE=1"}};

enum { AHEAD_ARCHS = sizeof ahead_archs / sizeof *ahead_archs };

static inline jit_key ahead_key(const char *arch, const char *options, const tw_lab_source *source)
{
    return jit_key_of(5, (const char *const[]){"cuda ahead", arch, options, source->entry, gpu_text(source)});
}

#endif
