/* f16.h - IEEE halves, as they lie in memory, from and to vectors of float: by the processor's own conversions, else by
 * integers. Widening is exact; a NaN becomes quiet and keeps its payload. Narrowing rounds to nearest, ties to even,
 * whatever the caller's rounding mode, and what is too large becomes infinite. Include it behind vec.h. */
#ifndef TILEWRIGHT_F16_H
#define TILEWRIGHT_F16_H

#include <stdint.h>
#include <string.h>

#define F16_INLINE static inline __attribute__((always_inline, unused))

#if defined(__F16C__)
F16_INLINE float f16_widen(uint16_t bits) { return _cvtsh_ss(bits); }
F16_INLINE uint16_t f16_narrow(float x) { return _cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT); }
#else
/* One number, or four: the same steps on T, unsigned, and F, float, of 32 bits. MASK(condition): all ones or zeros.
 *
 * What is normal gets another bias, infinity and NaN once more. A subnormal half is the fraction of a number that
 * begins at 2^-14, which is subtracted. */
#define F16_WIDEN(T, F, MASK, h, out)                                                                                  \
    do {                                                                                                               \
        const T rest_ = ((h)&0x7fff) << 13, least_ = rest_ + (113U << 23);                                             \
        T made_ = rest_ + (112U << 23) + (MASK(rest_ >= 0x0f800000U) & (112U << 23)), tiny_;                           \
        F at_;                                                                                                         \
        memcpy(&at_, &least_, sizeof at_);                                                                             \
        at_ = at_ - 0x1p-14F;                                                                                          \
        memcpy(&tiny_, &at_, sizeof tiny_);                                                                            \
        made_ |= MASK(rest_ > 0x0f800000U) & 0x400000U;                                                                \
        tiny_ &= 0x7fffffffU; /* 0 may have got a sign */                                                              \
        const T is_tiny_ = MASK(rest_ < 0x00800000U);                                                                  \
        (out) = (tiny_ & is_tiny_) | (made_ & ~is_tiny_) | ((h)&0x8000) << 16;                                         \
    } while (0)
#define F16_ONE(condition)  ((condition) ? UINT32_MAX : 0U)
#define F16_FOUR(condition) ((f16_words)(condition))

F16_INLINE float f16_widen(uint16_t bits)
{
    uint32_t word;
    float x;
    F16_WIDEN(uint32_t, float, F16_ONE, (uint32_t)bits, word);
    memcpy(&x, &word, sizeof x);
    return x;
}

/* The fraction is cut where the half ends, and what is cut off decides: more than half a unit, or half a unit behind an
 * odd fraction, rounds up, by a carry into the exponent too. */
F16_INLINE uint16_t f16_narrow(float x)
{
    uint32_t word;
    memcpy(&word, &x, sizeof word);
    const uint32_t sign = word >> 16 & 0x8000, rest = word & 0x7fffffff;
    if (rest > 0x7f800000) return (uint16_t)(sign | 0x7e00 | (rest >> 13 & 0x3ff)); /* NaN */
    if (rest >= 0x47800000) return (uint16_t)(sign | 0x7c00);                       /* 2^16 and above */
    if (rest < 0x33000000) return (uint16_t)sign;                                   /* below 2^-25 */
    const uint32_t exponent = rest >> 23, subnormal = exponent < 113;
    const uint32_t cut = subnormal ? 126 - exponent : 13;
    const uint32_t whole = subnormal ? (rest & 0x7fffff) | 0x800000 : rest - (112U << 23);
    const uint32_t kept = whole >> cut, lost = whole & ((1U << cut) - 1), half_unit = 1U << (cut - 1);
    return (uint16_t)(sign | (kept + (lost > half_unit || (lost == half_unit && (kept & 1)))));
}
#endif

/* Of vectors of float. some: the first lanes of one, as in vec.h. f16_load_pairs: two halves in each lane, as they lie;
 * f16_split: widens the first of each, and the second. */
#if !REAL_IS_DOUBLE && !REAL_IS_INT
#if defined(__AVX512F__)
#define f16_load(p)             _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)(p)))
#define f16_load_some(p, s)     _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(s, p))
#define f16_nearest(v)          _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
#define f16_store(p, v)         _mm256_storeu_si256((__m256i *)(void *)(p), f16_nearest(v))
#define f16_store_some(p, s, v) _mm256_mask_storeu_epi16(p, s, f16_nearest(v))
F16_INLINE vec f16_load_pairs(const uint16_t *p) { return (vec)_mm512_loadu_si512(p); }
F16_INLINE void f16_split(vec pairs, vec *even, vec *odd)
{
    const __m512i order = _mm512_add_epi32(_mm512_set1_epi32(0x00020000), /* 0 2 4 .. 30, then 1 3 5 .. 31 */
                                           _mm512_setr_epi32(0, 0x40004, 0x80008, 0xc000c, 0x100010, 0x140014, 0x180018,
                                                             0x1c001c, 0x10001, 0x50005, 0x90009, 0xd000d, 0x110011,
                                                             0x150015, 0x190019, 0x1d001d));
    const __m512i apart = _mm512_permutexvar_epi16(order, (__m512i)pairs);
    *even = _mm512_cvtph_ps(_mm512_castsi512_si256(apart));
    *odd = _mm512_cvtph_ps(_mm512_extracti64x4_epi64(apart, 1));
}
#elif defined(__F16C__)
F16_INLINE vec f16_load(const uint16_t *p)
{
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)p));
}
F16_INLINE void f16_store(uint16_t *p, vec v)
{
    _mm_storeu_si128((__m128i *)(void *)p, _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
}
F16_INLINE vec f16_load_pairs(const uint16_t *p) { return (vec)_mm256_loadu_si256((const __m256i *)(const void *)p); }
F16_INLINE void f16_split(vec pairs, vec *even, vec *odd)
{
    const __m256i words = (__m256i)pairs, low = _mm256_and_si256(words, _mm256_set1_epi32(0xffff));
    const __m256i apart = _mm256_permute4x64_epi64(_mm256_packus_epi32(low, _mm256_srli_epi32(words, 16)), 0xd8);
    *even = _mm256_cvtph_ps(_mm256_castsi256_si128(apart)), *odd = _mm256_cvtph_ps(_mm256_extracti128_si256(apart, 1));
}
F16_INLINE size_t f16_bytes(some s)
{
    return sizeof(uint16_t) * (size_t)__builtin_popcount((unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(s)));
}
#else
typedef uint32_t f16_words __attribute__((vector_size(16)));
F16_INLINE vec f16_widen_words(f16_words h)
{
    f16_words word;
    vec x;
    F16_WIDEN(f16_words, vec, F16_FOUR, h, word);
    memcpy(&x, &word, sizeof x);
    return x;
}
F16_INLINE vec f16_load(const uint16_t *p)
{
#if defined(__aarch64__)
    float16x4_t halves;
    memcpy(&halves, p, sizeof halves);
    return (vec)vcvt_f32_f16(halves);
#else
    uint16_t h[4];
    memcpy(h, p, sizeof h);
    return f16_widen_words((f16_words){h[0], h[1], h[2], h[3]});
#endif
}
F16_INLINE vec f16_load_pairs(const uint16_t *p)
{
    vec pairs;
    memcpy(&pairs, p, sizeof pairs);
    return pairs;
}
F16_INLINE void f16_split(vec pairs, vec *even, vec *odd)
{
    f16_words words;
    memcpy(&words, &pairs, sizeof words);
    *even = f16_widen_words(words & 0xffff), *odd = f16_widen_words(words >> 16);
}
F16_INLINE void f16_store(uint16_t *p, vec v)
{
    for (int i = 0; i < (int)LANES; i++) p[i] = f16_narrow(v[i]);
}
F16_INLINE size_t f16_bytes(some lanes) { return sizeof(uint16_t) * (size_t)lanes; }
#endif
#if !defined(__AVX512F__)
F16_INLINE vec f16_load_some(const uint16_t *p, some lanes)
{
    uint16_t whole[LANES] = {0};
    memcpy(whole, p, f16_bytes(lanes));
    return f16_load(whole);
}
F16_INLINE void f16_store_some(uint16_t *p, some lanes, vec v)
{
    uint16_t whole[LANES];
    f16_store(whole, v);
    memcpy(p, whole, f16_bytes(lanes));
}
#endif
#endif

#endif
