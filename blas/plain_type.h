/* plain_type.h - the functions of plain.h for numbers of one type: `number` of `real` parts, complex if IS_COMPLEX,
 * with the names NAMED(...). plain.c includes it once for each type. */

#if IS_COMPLEX
/* As a product is written, and as Fortran has it: the parts of an infinite factor are not looked at. */
static inline number NAMED(times)(number x, number y)
{
    const real re = __real__ x, im = __imag__ x;
    return __builtin_complex(re * __real__ y - im * __imag__ y, re * __imag__ y + im * __real__ y);
}

/* Smith's division: it squares nothing, and on its way to the quotient no value is more than twice the largest part of
 * x or y. R. L. Smith, CACM algorithm 116, 1962. */
static inline number NAMED(over)(number x, number y)
{
    const real c = __real__ y, d = __imag__ y, size_c = c < 0 ? -c : c, size_d = d < 0 ? -d : d;
    if (size_c >= size_d) {
        const real ratio = d / c, whole = c + d * ratio;
        return __builtin_complex((__real__ x + __imag__ x * ratio) / whole, (__imag__ x - __real__ x * ratio) / whole);
    }
    const real ratio = c / d, whole = c * ratio + d;
    return __builtin_complex((__real__ x * ratio + __imag__ x) / whole, (__imag__ x * ratio - __real__ x) / whole);
}

static inline number NAMED(conjugate)(number x) { return __builtin_complex(__real__ x, -__imag__ x); }

static inline number NAMED(of)(scalar x) { return __builtin_complex((real)x.re, (real)x.im); }

/* A scalar without an imaginary part multiplies as a real number. */
static inline number NAMED(scale)(scalar s, number x)
{
    return s.im != 0 ? NAMED(times)(NAMED(of)(s), x)
                     : __builtin_complex((real)s.re * __real__ x, (real)s.re * __imag__ x);
}
#else
static inline number NAMED(times)(number x, number y) { return x * y; }
static inline number NAMED(over)(number x, number y) { return x / y; }
static inline number NAMED(conjugate)(number x) { return x; }
static inline number NAMED(scale)(scalar s, number x) { return (real)s.re * x; }
#endif

/* Element (i, j) of a matrix, which may lie at any address. */
static inline number NAMED(get)(const matrix *x, int64_t i, int64_t j)
{
    number value;
    memcpy(&value, x->at + (x->by_columns ? j * x->ld + i : i * x->ld + j) * (int64_t)sizeof value, sizeof value);
    return x->conjugated ? NAMED(conjugate)(value) : value;
}

static inline void NAMED(put)(const matrix *x, int64_t i, int64_t j, number value)
{
    memcpy(x->at + (x->by_columns ? j * x->ld + i : i * x->ld + j) * (int64_t)sizeof value, &value, sizeof value);
}

static void NAMED(multiply)(scalar alpha, const matrix *a, const matrix *b, scalar beta, const matrix *c,
                            uint32_t flags)
{
    const bool reads = scalar_is_set(alpha), reads_c = scalar_is_set(beta);
    for (int64_t i = 0; i < c->rows; i++)
        for (int64_t j = flags == TW_UPPER ? i : 0; j < (flags == TW_LOWER ? i + 1 : c->cols); j++) {
            number sum = 0, made = 0;
            for (int64_t p = 0; reads && p < a->cols; p++)
                sum += NAMED(times)(NAMED(get)(a, i, p), NAMED(get)(b, p, j));
            if (reads && a->cols > 0) made = NAMED(scale)(alpha, sum);
            NAMED(put)(c, i, j, reads_c ? made + NAMED(scale)(beta, NAMED(get)(c, i, j)) : made);
        }
}

static void NAMED(triangle)(const triangle *t, bool solves, scalar alpha, const matrix *b)
{
    const int64_t m = b->rows;
    for (int64_t j = 0; j < b->cols; j++)
        for (int64_t step = 0; step < m; step++) {
            const int64_t i = t->lower == solves ? step : m - 1 - step;
            const number diagonal = t->unit ? 1 : NAMED(get)(&t->part, i, i), x = NAMED(get)(b, i, j);
            number sum = 0;
            for (int64_t p = t->lower ? 0 : i + 1; p < (t->lower ? i : m); p++)
                sum += NAMED(times)(NAMED(get)(&t->part, i, p), NAMED(get)(b, p, j));
            if (!solves)
                sum = NAMED(scale)(alpha, (t->unit ? x : NAMED(times)(diagonal, x)) + sum);
            else if (t->unit)
                sum = NAMED(scale)(alpha, x) - sum;
            else
                sum = NAMED(over)(NAMED(scale)(alpha, x) - sum, diagonal);
            NAMED(put)(b, i, j, sum);
        }
}

static void NAMED(expand)(const matrix *lower, bool hermitian, number *full, int64_t ld)
{
    enum { SQUARE = 16 }; /* both ways of it stay in the L1 */
    const int64_t n = lower->rows;
    for (int64_t i0 = 0; i0 < n; i0 += SQUARE)
        for (int64_t j0 = 0; j0 <= i0; j0 += SQUARE)
            for (int64_t j = j0; j < j0 + SQUARE && j < n; j++)
                for (int64_t i = j > i0 ? j : i0; i < i0 + SQUARE && i < n; i++) {
                    const number x = NAMED(get)(lower, i, j);
                    full[i * ld + j] = x;
                    full[j * ld + i] = hermitian ? NAMED(conjugate)(x) : x;
                }
}
