/* chosen.h - which kernel of the table a device takes for each type. */
#ifndef TILEWRIGHT_CHOSEN_H
#define TILEWRIGHT_CHOSEN_H

#include "tilewright_lab.h"

enum { CHOSEN_TEXT = 800 };

/* chosen_kernels - "f64 cpu_f64_gemm_simd_avx512, i8 cpu_i8_gemm_simd_avx512_vnni": for a large square without
 * transposes. */
void chosen_kernels(tw_context *context, char text[CHOSEN_TEXT]);

#endif
