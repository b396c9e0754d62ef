/* vec.h - one vocabulary for vectors of REAL: load, store, broadcast, multiply-add, in AVX-512, AVX2 with FMA, or the 16-byte
 * vectors that GCC and clang make of any machine. The build's -m flags choose. */
#ifndef TILEWRIGHT_VEC_H
#define TILEWRIGHT_VEC_H

#include <stdint.h>

#ifndef REAL_IS_DOUBLE
#error "REAL_IS_DOUBLE must be 0 or 1"
#endif

#if defined(__AVX512F__)
#include <immintrin.h>
#if REAL_IS_DOUBLE
typedef __m512d vec;
typedef __mmask8 some; /* the first lanes of a vector */
#define vec_load_some(p, s)     _mm512_maskz_loadu_pd(s, p)
#define vec_store_some(p, s, v) _mm512_mask_storeu_pd(p, s, v)
#define vec_load(p)      _mm512_loadu_pd(p)
#define vec_store(p, v)  _mm512_storeu_pd(p, v)
#define vec_all(x)       _mm512_set1_pd(x)
#define vec_add(a, b)    _mm512_add_pd(a, b)
#define vec_mul(a, b)    _mm512_mul_pd(a, b)
#define vec_fma(a, b, c) _mm512_fmadd_pd(a, b, c)
#else
typedef __m512 vec;
typedef __mmask16 some;
#define vec_load_some(p, s)     _mm512_maskz_loadu_ps(s, p)
#define vec_store_some(p, s, v) _mm512_mask_storeu_ps(p, s, v)
#define vec_load(p)      _mm512_loadu_ps(p)
#define vec_store(p, v)  _mm512_storeu_ps(p, v)
#define vec_all(x)       _mm512_set1_ps(x)
#define vec_add(a, b)    _mm512_add_ps(a, b)
#define vec_mul(a, b)    _mm512_mul_ps(a, b)
#define vec_fma(a, b, c) _mm512_fmadd_ps(a, b, c)
#endif

#elif defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
typedef __m256i some; /* the first lanes of a vector */
#if REAL_IS_DOUBLE
typedef __m256d vec;
#define vec_load_some(p, s)     _mm256_maskload_pd(p, s)
#define vec_store_some(p, s, v) _mm256_maskstore_pd(p, s, v)
#define vec_load(p)      _mm256_loadu_pd(p)
#define vec_store(p, v)  _mm256_storeu_pd(p, v)
#define vec_all(x)       _mm256_set1_pd(x)
#define vec_add(a, b)    _mm256_add_pd(a, b)
#define vec_mul(a, b)    _mm256_mul_pd(a, b)
#define vec_fma(a, b, c) _mm256_fmadd_pd(a, b, c)
#else
typedef __m256 vec;
#define vec_load_some(p, s)     _mm256_maskload_ps(p, s)
#define vec_store_some(p, s, v) _mm256_maskstore_ps(p, s, v)
#define vec_load(p)      _mm256_loadu_ps(p)
#define vec_store(p, v)  _mm256_storeu_ps(p, v)
#define vec_all(x)       _mm256_set1_ps(x)
#define vec_add(a, b)    _mm256_add_ps(a, b)
#define vec_mul(a, b)    _mm256_mul_ps(a, b)
#define vec_fma(a, b, c) _mm256_fmadd_ps(a, b, c)
#endif

#else
#include <string.h>
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
static inline vec vec_all(REAL x) { return x - (vec){0}; } /* x - 0 is x for every x, x + 0 is not: no subtraction is left of it */
static inline vec vec_add(vec a, vec b) { return a + b; }
static inline vec vec_mul(vec a, vec b) { return a * b; }
static inline vec vec_fma(vec a, vec b, vec c) { return a * b + c; } /* two roundings where the machine has no FMA */
#endif

enum {
    LANES = sizeof(vec) / sizeof(REAL),
#if defined(__AVX512F__) || defined(__aarch64__)
    REGISTERS = 32
#else
    REGISTERS = 16
#endif
};

/* The first `count` lanes, 0 to LANES. */
static inline some vec_first(int64_t count)
{
#if defined(__AVX512F__)
    return (some)((1u << count) - 1);
#elif defined(__AVX2__) && defined(__FMA__) && REAL_IS_DOUBLE
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), _mm256_setr_epi64x(0, 1, 2, 3));
#elif defined(__AVX2__) && defined(__FMA__)
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
#else
    return (some)count;
#endif
}

#endif
