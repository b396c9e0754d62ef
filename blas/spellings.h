/* spellings.h - the other names of an entry: those of the OpenBLAS in NumPy's and SciPy's packages (scipy_dgemm_,
 * scipy_cblas_dgemm64_), and with sizes of 64 bits those of MKL and the reference CBLAS (dgemm_64, cblas_dgemm_64). */
#ifndef TILEWRIGHT_BLAS_SPELLINGS_H
#define TILEWRIGHT_BLAS_SPELLINGS_H

#include "arguments.h"

#define SPELL_AS(name, other) extern __typeof__(name) other __attribute__((alias(STRING(name))))
#if BLAS_WIDE
#define SPELL(name)                                                                                                    \
    SPELL_AS(cblas_##name##64_, cblas_##name##_64);                                                                    \
    SPELL_AS(cblas_##name##64_, scipy_cblas_##name##64_);                                                              \
    SPELL_AS(name##_64_, name##_64);                                                                                   \
    SPELL_AS(name##_64_, scipy_##name##_64_)
#else
#define SPELL(name)                                                                                                    \
    SPELL_AS(cblas_##name, scipy_cblas_##name);                                                                        \
    SPELL_AS(name##_, scipy_##name##_)
#endif

#endif
