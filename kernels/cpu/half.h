/* half.h - the type of 2 bytes that a text is compiled for: HALF is its name, <name>.h its file, of_half(load) its
 * function f16_load. finish.c and convert_half.c need load, load_some, store and store_some; gemv_simd.c also
 * load_pairs, split and, of one number, widen. Include it behind vec.h. */
#ifndef TILEWRIGHT_HALF_H
#define TILEWRIGHT_HALF_H

#ifndef HALF
#define HALF f16
#endif

#define HALF_FILE(name)        HALF_FILE_(name.h)
#define HALF_FILE_(file)       #file
#define of_half(what)          HALF_NAME(HALF, what)
#define HALF_NAME(name, what)  HALF_NAME_(name, what)
#define HALF_NAME_(name, what) name##_##what
#include HALF_FILE(HALF)

#endif
