/* elementary.h - exp, log, tanh and erf of vectors, for evaluate.c behind vec.h. In f32 by polynomials, to within what
 * data/functions.def says; in f64 by the C library, lane by lane. Infinities and NaN give what IEEE 754 says.
 *
 * IDEA      exp: x = k ln 2 + r, |r| <= ln 2 / 2; a polynomial of r, times 2^k by two multiplications, since 2^k alone
 *           may be no normal number. log: x = 2^k (1 + f), 2/3 <= 1 + f < 4/3; k ln 2 plus a polynomial of f. tanh and
 *           erf: an odd polynomial where |x| is small, else 1 - 2 / (exp(2 |x|) + 1), and 1 - exp(-q(|x|)).
 * NUMBERS   Polynomials: minimax in relative error by iteratively reweighted least squares, 2^-27.9 and better, rounded
 *           to f32.
 * SOURCE    Muller: Elementary functions, 2016, chapters 3 and 11. */
#ifndef TILEWRIGHT_ELEMENTARY_H
#define TILEWRIGHT_ELEMENTARY_H

#include <math.h>
#include <string.h>

#define ELEMENTARY static inline __attribute__((always_inline, unused))

#if REAL_IS_DOUBLE
typedef int64_t lanes_int __attribute__((vector_size(sizeof(vec))));
#else
typedef int32_t lanes_int __attribute__((vector_size(sizeof(vec))));
typedef uint32_t lanes_bits __attribute__((vector_size(sizeof(vec))));
#endif

/* Of masks, all ones or zeros in each lane. */
ELEMENTARY vec chosen(lanes_int mask, vec x, vec y) { return (vec)((mask & (lanes_int)x) | (~mask & (lanes_int)y)); }
ELEMENTARY vec magnitude(vec x) { return (vec)((lanes_int)x & ~(lanes_int)vec_all((REAL)-0.0)); }

#if REAL_IS_DOUBLE
#define BY_LANES(name, function)                                                                                       \
    ELEMENTARY vec name(vec x)                                                                                         \
    {                                                                                                                  \
        for (int i = 0; i < (int)LANES; i++) x[i] = function(x[i]);                                                    \
        return x;                                                                                                      \
    }
BY_LANES(vec_exp, exp)
BY_LANES(vec_log, log)
BY_LANES(vec_tanh, tanh)
BY_LANES(vec_erf, erf)
BY_LANES(vec_sqrt, sqrt)
#else
#define ALL(x) vec_all(x)

ELEMENTARY vec with_sign_of(vec magnitude, vec x)
{
    const lanes_bits sign = (lanes_bits)vec_all(-0.0F);
    return (vec)(((lanes_bits)x & sign) | ((lanes_bits)magnitude & ~sign));
}

/* 2^k for -126 <= k <= 127 */
ELEMENTARY vec power_of_two(lanes_int k) { return (vec)((lanes_bits)(k + 127) << 23); }

ELEMENTARY vec vec_exp(vec x)
{
    /* beyond these exp is infinite or rounds to 0 */
    const vec most = ALL(89.0F), least = ALL(-104.0F), whole = ALL(0x1.8p23F); /* + whole rounds to integers */
    x = chosen(x > most, most, x), x = chosen(x < least, least, x);
    const vec rounded = vec_fma(x, ALL(0x1.715476p0F), whole), k = rounded - whole;
    vec r = vec_fma(k, ALL(-0x1.62e4p-1F), x); /* ln 2 in two parts, the first of 15 bits */
    r = vec_fma(k, ALL(-0x1.7f7d1cp-20F), r);
    vec p = ALL(0x1.6dc4dcp-10F);
    p = vec_fma(p, r, ALL(0x1.124764p-7F)), p = vec_fma(p, r, ALL(0x1.55544ap-5F));
    p = vec_fma(p, r, ALL(0x1.55547ep-3F)), p = vec_fma(p, r, ALL(0.5F));
    p = vec_fma(p, r * r, r) + 1;
    const lanes_int power = (lanes_int)((lanes_bits)rounded - (lanes_bits)whole), half = power >> 1;
    return p * power_of_two(half) * power_of_two(power - half); /* of a NaN p is one */
}

ELEMENTARY vec vec_log(vec x)
{
    const vec given = x;
    const lanes_int tiny = x < 0x1p-126F;
    x = chosen(tiny, x * 0x1p23F, x);
    /* the exponent, of a number from 2/3 to 4/3 taken as 0 */
    const lanes_bits bits = (lanes_bits)x - 0x3f2aaaab;
    const lanes_int power = (lanes_int)bits >> 23;
    const vec f = (vec)((bits & 0x7fffff) + 0x3f2aaaab) - 1,
              k = __builtin_convertvector(power, vec) - (vec)(tiny & (lanes_int)ALL(23.0F));
    vec p = ALL(0x1.fa80d8p-4F);
    p = vec_fma(p, f, ALL(-0x1.073f50p-3F)), p = vec_fma(p, f, ALL(0x1.b49b66p-4F));
    p = vec_fma(p, f, ALL(-0x1.f37674p-4F)), p = vec_fma(p, f, ALL(0x1.25216cp-3F));
    p = vec_fma(p, f, ALL(-0x1.5599acp-3F)), p = vec_fma(p, f, ALL(0x1.9995eep-3F));
    p = vec_fma(p, f, ALL(-0x1.ffff0cp-3F)), p = vec_fma(p, f, ALL(0x1.555558p-2F));
    const vec square = f * f;
    vec low = vec_fma(p * f, square, k * 0x1.7f7d1cp-20F); /* the small parts first */
    low = vec_fma(square, ALL(-0.5F), low) + f;
    const vec made = vec_fma(k, ALL(0x1.62e4p-1F), low), infinite = ALL(INFINITY);
    vec out = chosen(given == infinite, infinite, made);
    out = chosen(given == 0, -infinite, out);
    return chosen((given < 0) | (given != given), ALL(NAN), out);
}

ELEMENTARY vec vec_tanh(vec x)
{
    const vec a = magnitude(x), z = a * a;
    vec p = ALL(-0x1.76abf6p-8F);
    p = vec_fma(p, z, ALL(0x1.5256cep-6F)), p = vec_fma(p, z, ALL(-0x1.b84448p-5F));
    p = vec_fma(p, z, ALL(0x1.110768p-3F)), p = vec_fma(p, z, ALL(-0x1.555534p-2F));
    const vec small = vec_fma(p * z, a, a), large = 1 - 2 / (vec_exp(a + a) + 1);
    return with_sign_of(chosen(a < 0.625F, small, large), x);
}

ELEMENTARY vec vec_erf(vec x)
{
    const vec a = magnitude(x), z = a * a, end = ALL(4.0F), b = chosen(a > end, end, a);
    vec p = ALL(0x1.5489a4p-14F);
    p = vec_fma(p, z, ALL(-0x1.a7adp-11F)), p = vec_fma(p, z, ALL(0x1.547be4p-8F));
    p = vec_fma(p, z, ALL(-0x1.b80684p-6F)), p = vec_fma(p, z, ALL(0x1.ce2da8p-4F));
    p = vec_fma(p, z, ALL(-0x1.812742p-2F)), p = vec_fma(p, z, ALL(0x1.06eba8p-3F));
    vec q = ALL(-0x1.94a5cep-13F);
    q = vec_fma(q, b, ALL(0x1.8b0b74p-9F)), q = vec_fma(q, b, ALL(-0x1.6a41b2p-6F));
    q = vec_fma(q, b, ALL(0x1.a8b6fep-4F)), q = vec_fma(q, b, ALL(0x1.4660c4p-1F));
    q = vec_fma(q, b, ALL(0x1.20a4acp+0F)), q = vec_fma(q, b, ALL(0x1.ecf8d6p-13F));
    return with_sign_of(chosen(a < 0.95F, vec_fma(p, a, a), 1 - vec_exp(-q)), x);
}

#if defined(__AVX512F__)
#define vec_sqrt(x) _mm512_sqrt_ps(x)
#elif defined(__AVX2__)
#define vec_sqrt(x) _mm256_sqrt_ps(x)
#else
ELEMENTARY vec vec_sqrt(vec x)
{
    for (int i = 0; i < (int)LANES; i++) x[i] = sqrtf(x[i]);
    return x;
}
#endif
#undef ALL
#endif

#endif
