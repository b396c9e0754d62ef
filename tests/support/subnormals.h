/* subnormals.h - a thread that takes subnormal numbers for 0, where the processor can. */
#ifndef TILEWRIGHT_SUBNORMALS_H
#define TILEWRIGHT_SUBNORMALS_H

#if defined(__x86_64__)
enum { FLUSH = 0x8040 }; /* results that are subnormal, and operands */
static inline void flush_subnormals(void) { __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | FLUSH); }
#else
static inline void flush_subnormals(void) {}
#endif

#endif
