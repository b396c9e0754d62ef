/* named.h - what people call a row of the kernel table, and a type of element. */
#ifndef TILEWRIGHT_NAMED_H
#define TILEWRIGHT_NAMED_H

#include <stdbool.h>
#include "tilewright_lab.h"

/* kernel_is_called - "r04" and "r04_banks" both name r04_banks, "r03" does not name r03t_transposed; "sgemm_tma_sm90"
 * names each of its tiles, and so does a name that the row had formerly; "cpu_f32_gemm_simd_avx2_6x16" is a row's whole
 * name, present or former. */
bool kernel_is_called(const tw_lab_kernel *row, const char *word);

/* The ladder's last rung is no row of the table: it is what tw_gemm runs for the shape. */
#define RUNG_PLANNED "r14"

/* type_called - our name of a type that NumPy or C names otherwise: "f32" for "float32", "f64" for "double". Any other
 * word is returned itself. */
const char *type_called(const char *word);

/* type_doubt - why a word is no name of a type though it looks like one: "f32 in C and f64 in Python". NULL: it does
 * not look so. */
const char *type_doubt(const char *word);

#endif
