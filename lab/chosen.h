/* chosen.h - which kernel of the table a device takes for each type. */
#ifndef TILEWRIGHT_CHOSEN_H
#define TILEWRIGHT_CHOSEN_H

#include "tilewright_lab.h"

enum { CHOSEN_TEXT = 800 };

/* chosen_kernels - "f64 cpu_f64_gemm_simd_avx512_8x24, i8 cpu_i8_gemm_simd_avx512_vnni_8x48": for a large square
 * without transposes. */
void chosen_kernels(tw_context *context, char text[CHOSEN_TEXT]);

enum { UNUSED_TEXT = 3000 };

/* chosen_unused - what failed its self-test on the device, so that others compute in its place: a sentence for each
 * kernel, on lines of their own; with a problem, of those that would fit it. "": none. */
void chosen_unused(tw_context *context, const tw_problem *problem, char text[UNUSED_TEXT]);

#endif
