/* vec.h - one vocabulary for vectors of REAL: load, store, broadcast, multiply-add, in AVX-512, AVX2 with FMA, or the
 * 16-byte vectors that GCC and clang make of any machine, on AArch64 with NEON's FMA. The build's -m flags choose.
 * REAL is float or double or, where REAL_INT_BITS is not 0, the unsigned integer of so many bits, whose wrap-around is
 * C's.
 *
 * Where DOT is not 0, REAL is what sums and C are made of, float or uint32_t, and panels hold words of 4 bytes, each
 * with DOT_GROUP neighbours along k of one row of A or one column of B; vec_step(a, b, sum) adds the products of all of
 * them:
 *   DOT_BF16   two bf16: vdpbf16ps, sum <- a0 b0 + (a1 b1 + sum), each + rounded to nearest, what is subnormal on the
 *              way in or out taken as 0
 *   DOT_I16    two int16: vpmaddwd, or shifts and multiplications
 *   DOT_U8     four bytes, those of B unsigned and those of A signed: vpdpbusd, whose sums wrap around
 *   DOT_S8     the same, those of A unsigned and those of B signed */
#ifndef TILEWRIGHT_VEC_H
#define TILEWRIGHT_VEC_H

#include <stdint.h>

#ifndef REAL_IS_DOUBLE
#error "REAL_IS_DOUBLE must be 0 or 1"
#endif

#define DOT_BF16 1
#define DOT_I16  2
#define DOT_U8   3
#define DOT_S8   4
#ifndef DOT
#define DOT 0
#endif
enum { DOT_GROUP = DOT == 0 ? 1 : DOT >= DOT_U8 ? 4 : 2 };
#ifndef REAL_INT_BITS
#define REAL_INT_BITS 0
#endif
#define REAL_IS_INT (REAL_INT_BITS != 0)

#if REAL_IS_INT
#define real_of(x)            ((REAL)(int64_t)(x)) /* of whole numbers, negative ones too */
#define BY_BITS_(name, bits)  name##bits
#define BY_BITS__(name, bits) BY_BITS_(name, bits)
#define BY_BITS(name)         BY_BITS__(name, REAL_INT_BITS) /* an instruction for elements of this width */
#else
#define real_of(x) ((REAL)(x))
#endif

#if defined(__AVX512F__)
#include <immintrin.h>
#if REAL_IS_INT
/* of its own lanes: as __m512i, gcc would keep sums in memory */
typedef REAL vec __attribute__((vector_size(64)));
#if REAL_INT_BITS == 16
typedef __mmask32 some; /* the first lanes of a vector */
#define vec_all(x) (vec) _mm512_set1_epi16((short)(x))
#elif REAL_INT_BITS == 32
typedef __mmask16 some;
#define vec_all(x) (vec) _mm512_set1_epi32((int)(x))
#else
typedef __mmask8 some;
#define vec_all(x) (vec) _mm512_set1_epi64((long long)(x))
#endif
#define vec_load_some(p, s)     (vec) BY_BITS(_mm512_maskz_loadu_epi)(s, p)
#define vec_store_some(p, s, v) BY_BITS(_mm512_mask_storeu_epi)(p, s, (__m512i)(v))
#define vec_load(p)             (vec) _mm512_loadu_si512(p)
#define vec_store(p, v)         _mm512_storeu_si512(p, (__m512i)(v))
#if DOT == DOT_U8
#define vec_step(a, b, c) (vec) _mm512_dpbusd_epi32((__m512i)(c), (__m512i)(b), (__m512i)(a))
#elif DOT == DOT_S8
#define vec_step(a, b, c) (vec) _mm512_dpbusd_epi32((__m512i)(c), (__m512i)(a), (__m512i)(b))
#elif DOT == DOT_I16
#define vec_step(a, b, c) ((vec)_mm512_madd_epi16((__m512i)(a), (__m512i)(b)) + (c))
#endif
#elif REAL_IS_DOUBLE
typedef __m512d vec;
typedef __mmask8 some; /* the first lanes of a vector */
#define vec_load_some(p, s)      _mm512_maskz_loadu_pd(s, p)
#define vec_store_some(p, s, v)  _mm512_mask_storeu_pd(p, s, v)
#define vec_load(p)              _mm512_loadu_pd(p)
#define vec_store(p, v)          _mm512_storeu_pd(p, v)
#define vec_all(x)               _mm512_set1_pd(x)
#define vec_add(a, b)            _mm512_add_pd(a, b)
#define vec_mul(a, b)            _mm512_mul_pd(a, b)
#define vec_fma(a, b, c)         _mm512_fmadd_pd(a, b, c)
typedef __m256d half;
#define half_load_some(p, s)     _mm256_maskz_loadu_pd((__mmask8)(s), p)
#define half_store_some(p, s, v) _mm256_mask_storeu_pd(p, (__mmask8)(s), v)
#define half_store(p, v)         _mm256_storeu_pd(p, v)
#define half_all(x)              _mm256_set1_pd(x)
#define half_of(v)               _mm512_castpd512_pd256(v) /* its first lanes */
#define half_add(a, b)           _mm256_add_pd(a, b)
#define half_mul(a, b)           _mm256_mul_pd(a, b)
#define half_fma(a, b, c)        _mm256_fmadd_pd(a, b, c)
#else
typedef __m512 vec;
typedef __mmask16 some;
#define vec_load_some(p, s)      _mm512_maskz_loadu_ps(s, p)
#define vec_store_some(p, s, v)  _mm512_mask_storeu_ps(p, s, v)
#define vec_load(p)              _mm512_loadu_ps(p)
#define vec_store(p, v)          _mm512_storeu_ps(p, v)
#define vec_all(x)               _mm512_set1_ps(x)
#define vec_add(a, b)            _mm512_add_ps(a, b)
#define vec_mul(a, b)            _mm512_mul_ps(a, b)
#define vec_fma(a, b, c)         _mm512_fmadd_ps(a, b, c)
typedef __m256 half;
#define half_load_some(p, s)     _mm256_maskz_loadu_ps((__mmask8)(s), p)
#define half_store_some(p, s, v) _mm256_mask_storeu_ps(p, (__mmask8)(s), v)
#define half_store(p, v)         _mm256_storeu_ps(p, v)
#define half_all(x)              _mm256_set1_ps(x)
#define half_of(v)               _mm512_castps512_ps256(v)
#define half_add(a, b)           _mm256_add_ps(a, b)
#define half_mul(a, b)           _mm256_mul_ps(a, b)
#define half_fma(a, b, c)        _mm256_fmadd_ps(a, b, c)
#if DOT == DOT_BF16
#define vec_step(a, b, c) _mm512_dpbf16_ps(c, (__m512bh)(a), (__m512bh)(b))
#endif
#endif

#elif defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
#if REAL_INT_BITS != 16
typedef __m256i some; /* the first lanes of a vector */
#endif
#if REAL_IS_INT
typedef REAL vec __attribute__((vector_size(32)));
#define vec_load(p)     (vec) _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define vec_store(p, v) _mm256_storeu_si256((__m256i *)(void *)(p), (__m256i)(v))
#if REAL_INT_BITS == 16
#define vec_all(x) (vec) _mm256_set1_epi16((short)(x))
/* AVX2 masks pairs of such lanes: those that are whole, and the last lane, which may stand alone, by itself. */
typedef struct some {
    __m256i pairs, last;
    int64_t count;
} some;
static inline vec vec_load_some(const REAL *p, some s)
{
    const __m256i pairs = _mm256_maskload_epi32((const int *)(const void *)p, s.pairs);
    return (vec)_mm256_blendv_epi8(pairs, _mm256_set1_epi16((short)p[s.count - 1]), s.last);
}
static inline void vec_store_some(REAL *p, some s, vec v)
{
    REAL lanes[sizeof v / sizeof *p];
    vec_store(lanes, v);
    _mm256_maskstore_epi32((int *)(void *)p, s.pairs, (__m256i)v);
    p[s.count - 1] = lanes[s.count - 1];
}
#elif REAL_INT_BITS == 32
#define vec_all(x)              (vec) _mm256_set1_epi32((int)(x))
#define vec_load_some(p, s)     (vec) _mm256_maskload_epi32((const int *)(p), s)
#define vec_store_some(p, s, v) _mm256_maskstore_epi32((int *)(p), s, (__m256i)(v))
#else
#define vec_all(x)              (vec) _mm256_set1_epi64x((long long)(x))
#define vec_load_some(p, s)     (vec) _mm256_maskload_epi64((const long long *)(p), s)
#define vec_store_some(p, s, v) _mm256_maskstore_epi64((long long *)(p), s, (__m256i)(v))
#endif
#if DOT == DOT_I16
#define vec_step(a, b, c) ((vec)_mm256_madd_epi16((__m256i)(a), (__m256i)(b)) + (c))
#endif
#elif REAL_IS_DOUBLE
typedef __m256d vec;
#define vec_load_some(p, s)     _mm256_maskload_pd(p, s)
#define vec_store_some(p, s, v) _mm256_maskstore_pd(p, s, v)
#define vec_load(p)             _mm256_loadu_pd(p)
#define vec_store(p, v)         _mm256_storeu_pd(p, v)
#define vec_all(x)              _mm256_set1_pd(x)
#define vec_add(a, b)           _mm256_add_pd(a, b)
#define vec_mul(a, b)           _mm256_mul_pd(a, b)
#define vec_fma(a, b, c)        _mm256_fmadd_pd(a, b, c)
#else
typedef __m256 vec;
#define vec_load_some(p, s)     _mm256_maskload_ps(p, s)
#define vec_store_some(p, s, v) _mm256_maskstore_ps(p, s, v)
#define vec_load(p)             _mm256_loadu_ps(p)
#define vec_store(p, v)         _mm256_storeu_ps(p, v)
#define vec_all(x)              _mm256_set1_ps(x)
#define vec_add(a, b)           _mm256_add_ps(a, b)
#define vec_mul(a, b)           _mm256_mul_ps(a, b)
#define vec_fma(a, b, c)        _mm256_fmadd_ps(a, b, c)
#endif

#else
#include <string.h>
#if defined(__aarch64__)
#include <arm_neon.h>
#endif
typedef REAL vec __attribute__((vector_size(16)));
typedef int some; /* how many of the first lanes of a vector */
static inline vec vec_load(const REAL *p)
{
    vec v;
    memcpy(&v, p, sizeof v);
    return v;
}
static inline void vec_store(REAL *p, vec v) { memcpy(p, &v, sizeof v); }
static inline vec vec_load_some(const REAL *p, some lanes)
{
    vec v = {0};
    memcpy(&v, p, (size_t)lanes * sizeof *p);
    return v;
}
static inline void vec_store_some(REAL *p, some lanes, vec v) { memcpy(p, &v, (size_t)lanes * sizeof *p); }
/* x - 0 is x for every x, x + 0 is not: no subtraction is left of it */
static inline vec vec_all(REAL x) { return x - (vec){0}; }
#if !REAL_IS_INT
static inline vec vec_add(vec a, vec b) { return a + b; }
static inline vec vec_mul(vec a, vec b) { return a * b; }
#if defined(__aarch64__) && REAL_IS_DOUBLE
static inline vec vec_fma(vec a, vec b, vec c) { return vfmaq_f64(c, a, b); }
#elif defined(__aarch64__)
static inline vec vec_fma(vec a, vec b, vec c) { return vfmaq_f32(c, a, b); }
#else
static inline vec vec_fma(vec a, vec b, vec c) { return a * b + c; } /* two roundings */
#endif
#elif DOT == DOT_I16
typedef int32_t vec_signed __attribute__((vector_size(16)));
static inline vec vec_low_half(vec a) { return (vec)((vec_signed)(a << 16) >> 16); }
static inline vec vec_high_half(vec a) { return (vec)((vec_signed)a >> 16); }
#define vec_step(a, b, c) ((c) + vec_low_half(a) * vec_low_half(b) + vec_high_half(a) * vec_high_half(b))
#endif
#endif

#if REAL_IS_INT
#define vec_add(a, b)    ((a) + (b))
#define vec_mul(a, b)    ((a) * (b))
#define vec_fma(a, b, c) ((a) * (b) + (c))
#endif

#ifndef vec_step
#define vec_step(a, b, c) vec_fma(a, b, c) /* sum <- a * b + sum for one step of k */
#endif

enum {
    LANES = sizeof(vec) / sizeof(REAL),
#if defined(__AVX512F__) || defined(__aarch64__)
    REGISTERS = 32
#else
    REGISTERS = 16
#endif
};

/* Vectors of half the lanes: where wide ones are computed in two halves, or on two of three units, a row's end in one
 * costs half as much. Others have none. */
#if defined(half_fma) && DOT == 0 && !(defined(PARTS) && PARTS == 2)
enum { HAS_HALVES = 1 };
#else
enum { HAS_HALVES = 0 };
#endif
#ifndef half_fma
typedef vec half;
#define half_load_some(p, s)     vec_load_some(p, s)
#define half_store_some(p, s, v) vec_store_some(p, s, v)
#define half_store(p, v)         vec_store(p, v)
#define half_all(x)              vec_all(x)
#define half_of(v)               (v)
#define half_add(a, b)           vec_add(a, b)
#define half_mul(a, b)           vec_mul(a, b)
#define half_fma(a, b, c)        vec_fma(a, b, c)
#endif

#if REAL_IS_INT && DOT == 0
/* Of each 16 bytes of two vectors the low or the high halves, interleaved in pieces of so many bits; and of whole
 * blocks of 16 bytes the even or the odd ones of both. */
#if defined(__AVX512F__)
#define low_of(bits, a, b)  (vec) _mm512_unpacklo_epi##bits((__m512i)(a), (__m512i)(b))
#define high_of(bits, a, b) (vec) _mm512_unpackhi_epi##bits((__m512i)(a), (__m512i)(b))
#define vec_even(a, b)      (vec) _mm512_shuffle_i64x2((__m512i)(a), (__m512i)(b), 0x88)
#define vec_odd(a, b)       (vec) _mm512_shuffle_i64x2((__m512i)(a), (__m512i)(b), 0xdd)
#elif defined(__AVX2__) && defined(__FMA__)
#define low_of(bits, a, b)  (vec) _mm256_unpacklo_epi##bits((__m256i)(a), (__m256i)(b))
#define high_of(bits, a, b) (vec) _mm256_unpackhi_epi##bits((__m256i)(a), (__m256i)(b))
#define vec_even(a, b)      (vec) _mm256_permute2x128_si256((__m256i)(a), (__m256i)(b), 0x20)
#define vec_odd(a, b)       (vec) _mm256_permute2x128_si256((__m256i)(a), (__m256i)(b), 0x31)
#else
typedef uint16_t of_16 __attribute__((vector_size(16)));
typedef uint32_t of_32 __attribute__((vector_size(16)));
typedef uint64_t of_64 __attribute__((vector_size(16)));
#define low_16              0, 8, 1, 9, 2, 10, 3, 11
#define high_16             4, 12, 5, 13, 6, 14, 7, 15
#define low_32              0, 4, 1, 5
#define high_32             2, 6, 3, 7
#define low_64              0, 2
#define high_64             1, 3
#define low_of(bits, a, b)  (vec) __builtin_shufflevector((of_##bits)(a), (of_##bits)(b), low_##bits)
#define high_of(bits, a, b) (vec) __builtin_shufflevector((of_##bits)(a), (of_##bits)(b), high_##bits)
#endif
#elif DOT == 0 || DOT == DOT_BF16
/* The shuffles of a transpose: of each 16 bytes of two vectors the low or the high elements, interleaved (f32 also in
 * pairs), and of whole blocks of 16 bytes the even or the odd ones of both. vec_swap: of neighbours in one vector. */
#if defined(__AVX512F__) && REAL_IS_DOUBLE
#define vec_low(a, b)  _mm512_unpacklo_pd(a, b)
#define vec_high(a, b) _mm512_unpackhi_pd(a, b)
#define vec_even(a, b) _mm512_shuffle_f64x2(a, b, 0x88)
#define vec_odd(a, b)  _mm512_shuffle_f64x2(a, b, 0xdd)
#define vec_swap(a)    _mm512_permute_pd(a, 0x55)
#elif defined(__AVX512F__)
#define vec_low(a, b)        _mm512_unpacklo_ps(a, b)
#define vec_high(a, b)       _mm512_unpackhi_ps(a, b)
#define vec_low_pairs(a, b)  _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(a), _mm512_castps_pd(b)))
#define vec_high_pairs(a, b) _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(a), _mm512_castps_pd(b)))
#define vec_even(a, b)       _mm512_shuffle_f32x4(a, b, 0x88)
#define vec_odd(a, b)        _mm512_shuffle_f32x4(a, b, 0xdd)
#define vec_swap(a)          _mm512_permute_ps(a, 0xb1)
#elif defined(__AVX2__) && defined(__FMA__) && REAL_IS_DOUBLE
#define vec_low(a, b)  _mm256_unpacklo_pd(a, b)
#define vec_high(a, b) _mm256_unpackhi_pd(a, b)
#define vec_even(a, b) _mm256_permute2f128_pd(a, b, 0x20)
#define vec_odd(a, b)  _mm256_permute2f128_pd(a, b, 0x31)
#define vec_swap(a)    _mm256_permute_pd(a, 0x5)
#elif defined(__AVX2__) && defined(__FMA__)
#define vec_low(a, b)        _mm256_unpacklo_ps(a, b)
#define vec_high(a, b)       _mm256_unpackhi_ps(a, b)
#define vec_low_pairs(a, b)  _mm256_castpd_ps(_mm256_unpacklo_pd(_mm256_castps_pd(a), _mm256_castps_pd(b)))
#define vec_high_pairs(a, b) _mm256_castpd_ps(_mm256_unpackhi_pd(_mm256_castps_pd(a), _mm256_castps_pd(b)))
#define vec_even(a, b)       _mm256_permute2f128_ps(a, b, 0x20)
#define vec_odd(a, b)        _mm256_permute2f128_ps(a, b, 0x31)
#define vec_swap(a)          _mm256_permute_ps(a, 0xb1)
#elif REAL_IS_DOUBLE
#define vec_low(a, b)  __builtin_shufflevector(a, b, 0, 2)
#define vec_high(a, b) __builtin_shufflevector(a, b, 1, 3)
#define vec_swap(a)    __builtin_shufflevector(a, a, 1, 0)
#else
#define vec_low(a, b)        __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define vec_high(a, b)       __builtin_shufflevector(a, b, 2, 6, 3, 7)
#define vec_low_pairs(a, b)  __builtin_shufflevector(a, b, 0, 1, 4, 5)
#define vec_high_pairs(a, b) __builtin_shufflevector(a, b, 2, 3, 6, 7)
#define vec_swap(a)          __builtin_shufflevector(a, a, 1, 0, 3, 2)
#endif

#endif

#if !REAL_IS_INT || DOT == 0
/* vec_transpose - lane j of from[i] becomes lane i of to[j], for LANES vectors: first within blocks of 16 bytes, then
 * the blocks themselves. */
static inline __attribute__((always_inline, unused)) void vec_transpose(const vec *from, vec *to)
{
    enum { EDGE = 16 / sizeof(REAL), BLOCKS = LANES / EDGE };
#if defined(__AVX2__) && defined(__FMA__)
    vec in[LANES];
#else
    vec *in = to;
#endif
    _Pragma("GCC unroll 8") for (int g = 0; g < BLOCKS; g++)
    {
        const vec *f = from + g * EDGE;
        vec *t = in + g * EDGE; /* block b of t[q]: rows g * EDGE and on at lane b * EDGE + q */
#if REAL_IS_INT
        /* of each `rows` rows the low halves, then the high ones, in pieces twice as long each time */
#define INTERLEAVE(bits, rows, from, to)                                                                               \
    _Pragma("GCC unroll 4") for (int i = 0; i < EDGE / 2; i++)                                                         \
    {                                                                                                                  \
        const int at = i / ((rows) / 2) * (rows) + i % ((rows) / 2);                                                   \
        (to)[at] = low_of(bits, (from)[2 * i], (from)[2 * i + 1]);                                                     \
        (to)[at + (rows) / 2] = high_of(bits, (from)[2 * i], (from)[2 * i + 1]);                                       \
    }
#if REAL_INT_BITS == 16
        vec by_16[EDGE], by_32[EDGE];
        INTERLEAVE(16, 8, f, by_16)
        INTERLEAVE(32, 4, by_16, by_32)
        INTERLEAVE(64, 2, by_32, t)
#elif REAL_INT_BITS == 32
        vec by_32[EDGE];
        INTERLEAVE(32, 4, f, by_32)
        INTERLEAVE(64, 2, by_32, t)
#else
        INTERLEAVE(64, 2, f, t)
#endif
#undef INTERLEAVE
#elif REAL_IS_DOUBLE
        t[0] = vec_low(f[0], f[1]), t[1] = vec_high(f[0], f[1]);
#else
        vec low[2] = {vec_low(f[0], f[1]), vec_low(f[2], f[3])}, high[2] = {vec_high(f[0], f[1]), vec_high(f[2], f[3])};
        t[0] = vec_low_pairs(low[0], low[1]), t[1] = vec_high_pairs(low[0], low[1]);
        t[2] = vec_low_pairs(high[0], high[1]), t[3] = vec_high_pairs(high[0], high[1]);
#endif
    }
#if defined(__AVX2__) && defined(__FMA__)
    _Pragma("GCC unroll 8") for (int q = 0; q < EDGE; q++)
    {
#if defined(__AVX512F__)
        vec even[2] = {vec_even(in[q], in[EDGE + q]), vec_even(in[2 * EDGE + q], in[3 * EDGE + q])};
        vec odd[2] = {vec_odd(in[q], in[EDGE + q]), vec_odd(in[2 * EDGE + q], in[3 * EDGE + q])};
        to[q] = vec_even(even[0], even[1]), to[2 * EDGE + q] = vec_odd(even[0], even[1]);
        to[EDGE + q] = vec_even(odd[0], odd[1]), to[3 * EDGE + q] = vec_odd(odd[0], odd[1]);
#else
        to[q] = vec_even(in[q], in[EDGE + q]), to[EDGE + q] = vec_odd(in[q], in[EDGE + q]);
#endif
    }
#endif
}

#endif

/* The first `count` lanes, 0 to LANES. */
static inline some vec_first(int64_t count)
{
#if defined(__AVX512F__)
    return (some)((UINT64_C(1) << count) - 1);
#elif defined(__AVX2__) && defined(__FMA__) && REAL_INT_BITS == 16
    const __m256i lanes = _mm256_setr_epi16(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16);
    const __m256i pairs = _mm256_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15);
    return (some){_mm256_cmpgt_epi32(_mm256_set1_epi32((int)count), pairs),
                  _mm256_cmpeq_epi16(_mm256_set1_epi16((short)count), lanes), count};
#elif defined(__AVX2__) && defined(__FMA__) && (REAL_IS_DOUBLE || REAL_INT_BITS == 64)
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), _mm256_setr_epi64x(0, 1, 2, 3));
#elif defined(__AVX2__) && defined(__FMA__)
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
#else
    return (some)count;
#endif
}

#endif
