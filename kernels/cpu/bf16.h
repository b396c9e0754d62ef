/* bf16.h - bfloat16, the upper half of a float, from and to vectors of float: what finish.c asks of a HALF. A NaN
 * becomes quiet and keeps its upper half; narrowing rounds to nearest, ties to even. Include it behind vec.h. */
#ifndef TILEWRIGHT_BF16_H
#define TILEWRIGHT_BF16_H

#include "f16.h"

#define BF16_INLINE static inline __attribute__((always_inline, unused))

typedef uint32_t words __attribute__((vector_size(sizeof(vec))));
typedef int32_t signed_words __attribute__((vector_size(sizeof(vec))));
typedef uint16_t halves __attribute__((vector_size(sizeof(vec) / 2)));

BF16_INLINE vec bf16_widen(halves h) { return (vec)(__builtin_convertvector(h, words) << 16); }
BF16_INLINE halves bf16_narrow(vec v)
{
    const words word = (words)v, is_nan = (words)((signed_words)(word & 0x7fffffff) > 0x7f800000),
                rounded = word + 0x7fff + (word >> 16 & 1);
    return __builtin_convertvector(((is_nan & (word | 0x400000)) | (~is_nan & rounded)) >> 16, halves);
}
BF16_INLINE vec bf16_load(const uint16_t *p)
{
    halves h;
    memcpy(&h, p, sizeof h);
    return bf16_widen(h);
}
BF16_INLINE void bf16_store(uint16_t *p, vec v)
{
    const halves h = bf16_narrow(v);
    memcpy(p, &h, sizeof h);
}
#if defined(__AVX512F__)
#define bf16_load_some(p, s)     bf16_widen((halves)_mm256_maskz_loadu_epi16(s, p))
#define bf16_store_some(p, s, v) _mm256_mask_storeu_epi16(p, s, (__m256i)bf16_narrow(v))
#else
BF16_INLINE vec bf16_load_some(const uint16_t *p, some lanes)
{
    halves h = {0};
    memcpy(&h, p, f16_bytes(lanes));
    return bf16_widen(h);
}
BF16_INLINE void bf16_store_some(uint16_t *p, some lanes, vec v)
{
    const halves h = bf16_narrow(v);
    memcpy(p, &h, f16_bytes(lanes));
}
#endif

#endif
