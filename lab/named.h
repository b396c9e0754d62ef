/* named.h - what people call a row of the kernel table. */
#ifndef TILEWRIGHT_NAMED_H
#define TILEWRIGHT_NAMED_H

#include <stdbool.h>
#include "tilewright_lab.h"

/* kernel_is_called - "r04" and "r04_banks" both name r04_banks, "r03" does not name r03t_transposed; "sgemm_tma_sm90"
 * names each of its tiles, and so does a name that the row had formerly; "cpu_f32_gemm_simd_avx2" is a row's whole
 * name. */
bool kernel_is_called(const tw_lab_kernel *row, const char *word);

#endif
