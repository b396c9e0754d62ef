/* emulated.h - the numbers of the rule in emulated.cuh, for the kernels and for the test that models them. Exponents of
 * two, but ENOUGH. docs/ACCURACY.md#emulated-f32 holds for these values alone. */
#ifndef TILEWRIGHT_CUDA_EMULATED_H
#define TILEWRIGHT_CUDA_EMULATED_H

enum { LARGEST = 14, LOW = 11, TINY = -14, SMALL = -8, BIG = 5, ENOUGH = 1 << 10 };

#endif
