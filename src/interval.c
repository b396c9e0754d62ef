/* interval.c - bounds of an element that an epilogue makes: every number that a right kernel may give lies within them
 * [docs/ACCURACY.md#epilogues]. Each value of the list is an interval, widened by what its operation may round, in
 * arithmetic that is wider than the kernels'. */
#include "expression.h"
#include "tilewright_lab.h"

#include <float.h>
#include <math.h>

/* Numbers from low to high, none where low is above high; and NaN, or not. */
typedef struct interval {
    long double low, high;
    bool nan;
} interval;

/* The type that values are computed in, and whether C is of 2 bytes. */
typedef struct computed_in {
    long double roundoff, smallest, largest;
    bool half;
} computed_in;

static const computed_in in_f32 = {0x1p-24L, 0x1p-149L, FLT_MAX, false},
                         in_f64 = {0x1p-53L, 0x1p-1074L, DBL_MAX, false},
                         for_half = {0x1p-24L, 0x1p-149L, FLT_MAX, true};
static const interval only_nan = {INFINITY, -INFINITY, true};

static bool is_empty(interval x) { return x.low > x.high; }
static bool has_zero(interval x) { return x.low <= 0 && x.high >= 0; }
static interval exactly(long double x) { return isnan(x) ? only_nan : (interval){x, x, false}; }

/* Further apart by `ulps` units in the last place; what is beyond the largest number may be infinite. */
static interval widened(interval x, long double ulps, const computed_in *in)
{
    if (is_empty(x)) return x;
    const long double slack = 1 + 0x1p-40L; /* of this arithmetic, and of the functions' */
    if (isfinite(x.low)) x.low -= (2 * ulps * in->roundoff * fabsl(x.low) + ulps * in->smallest) * slack;
    if (isfinite(x.high)) x.high += (2 * ulps * in->roundoff * fabsl(x.high) + ulps * in->smallest) * slack;
    if (x.high > in->largest) x.high = INFINITY;
    if (x.low < -in->largest) x.low = -INFINITY;
    /* an infinity for certain stays one */
    if (x.low > in->largest && isfinite(x.low)) x.low = in->largest;
    if (x.high < -in->largest && isfinite(x.high)) x.high = -in->largest;
    return x;
}

/* A number in that type: exact where it has one for it. */
static interval number_in(long double x, const computed_in *in)
{
    const bool exact = in->roundoff == in_f64.roundoff ? (long double)(double)x == x : (long double)(float)x == x;
    return exact || isnan(x) ? exactly(x) : widened(exactly(x), 0.5L, in);
}

/* Takes a number into an interval that began as only_nan; nan: it may be none. */
static void take(interval *x, long double number, bool *nan)
{
    if (isnan(number)) {
        *nan = true;
        return;
    }
    if (number < x->low) x->low = number;
    if (number > x->high) x->high = number;
}

static bool has_infinity(interval x) { return isinf(x.low) || isinf(x.high); }

/* Of all ends with each other, where the extremes are. 0 times infinity is no number, and need not be of ends. */
static interval of_ends(value_op op, interval x, interval y)
{
    interval made = only_nan;
    const long double a[] = {x.low, x.high}, b[] = {y.low, y.high};
    bool nan = op == VALUE_MULTIPLY && ((has_zero(x) && has_infinity(y)) || (has_infinity(x) && has_zero(y)));
    for (int i = 0; i < 4; i++) {
        const long double p = a[i / 2], q = b[i % 2];
        take(&made,
             op == VALUE_ADD        ? p + q
             : op == VALUE_SUBTRACT ? p - q
             : op == VALUE_MULTIPLY ? p * q
                                    : p / q,
             &nan);
    }
    if (op == VALUE_MULTIPLY && nan) take(&made, 0, &nan);
    made.nan = x.nan || y.nan || nan;
    return made;
}

static interval divided(interval x, interval y)
{
    if (!has_zero(y)) return of_ends(VALUE_DIVIDE, x, y);
    return (interval){-INFINITY, INFINITY, x.nan || y.nan || has_zero(x) || (has_infinity(x) && has_infinity(y))};
}

static interval hull(interval x, interval y)
{
    if (is_empty(x) || is_empty(y)) {
        interval one = is_empty(x) ? y : x;
        one.nan = x.nan || y.nan;
        return one;
    }
    return (interval){fminl(x.low, y.low), fmaxl(x.high, y.high), x.nan || y.nan};
}

/* 1 where it holds for all numbers of both, 0 where for none. */
static interval truth(value_op op, interval x, interval y)
{
    bool always, never;
    if (op == VALUE_LESS)
        always = x.high < y.low, never = x.low >= y.high;
    else if (op == VALUE_LESS_EQUAL)
        always = x.high <= y.low, never = x.low > y.high;
    else
        always = x.low == x.high && y.low == y.high && x.low == y.low, never = x.high < y.low || y.high < x.low;
    const bool unequal = op == VALUE_NOT_EQUAL, nan = x.nan || y.nan;
    if (is_empty(x) || is_empty(y)) return exactly(unequal);
    if (nan) always = false; /* with a NaN only != holds */
    if (unequal) return (interval){never ? 1 : 0, always ? 0 : 1, false};
    return (interval){always ? 1 : 0, never ? 0 : 1, false};
}

static interval chosen(interval x, interval y, interval z)
{
    const bool zero = !is_empty(x) && x.low == 0 && x.high == 0 && !x.nan;
    if (zero) return z;
    return is_empty(x) || !has_zero(x) ? y : hull(y, z);
}

/* Of a function that rises, defined from `least` on. */
static interval rising(long double (*f)(long double), interval x, long double least)
{
    interval made = {0, 0, x.nan || x.low < least};
    if (x.high < least) return only_nan;
    made.low = f(x.low < least ? least : x.low), made.high = f(x.high);
    return made;
}

static interval of_one(value_op op, interval x)
{
    if (is_empty(x)) return only_nan;
    switch (op) {
    case VALUE_NEGATE: return (interval){-x.high, -x.low, x.nan};
    case VALUE_ABS:
        return (interval){has_zero(x) ? 0 : fminl(fabsl(x.low), fabsl(x.high)), fmaxl(fabsl(x.low), fabsl(x.high)),
                          x.nan};
    case VALUE_SQRT: return rising(sqrtl, x, 0);
    case VALUE_EXP: return rising(expl, x, -INFINITY);
    case VALUE_LOG: return rising(logl, x, 0);
    case VALUE_TANH: return rising(tanhl, x, -INFINITY);
    default: return rising(erfl, x, -INFINITY);
    }
}

static interval of_two(value_op op, interval x, interval y)
{
    if (op >= VALUE_LESS && op <= VALUE_NOT_EQUAL) return truth(op, x, y);
    if (is_empty(x) || is_empty(y)) return only_nan;
    if (op == VALUE_MIN) return (interval){fminl(x.low, y.low), fminl(x.high, y.high), x.nan || y.nan};
    if (op == VALUE_MAX) return (interval){fmaxl(x.low, y.low), fmaxl(x.high, y.high), x.nan || y.nan};
    return op == VALUE_DIVIDE ? divided(x, y) : of_ends(op, x, y);
}

/* Units in the last place that an operation may round by; of sums and the like half of one. */
static long double ulps_of(value_op op, const computed_in *in)
{
    static const float of_functions[VALUE_OPS][2] = {
#define OPERATION(id, name, operands, ulps, wide) [VALUE_##id] = {ulps, wide},
#define DEFINED(...)
#include "../data/functions.def"
    };
    const long double ulps = (long double)of_functions[op][in->roundoff == in_f64.roundoff];
    if (in->half && (op == VALUE_DIVIDE || ulps > 0)) return VALUE_HALF_ULPS;
    return op >= VALUE_ADD && op <= VALUE_DIVIDE ? 0.5L : ulps;
}

static double element_of(const value_binding *b, int64_t index)
{
    uint32_t word;
    float x;
    if (b->type == TYPE_NUMBER) return b->number;
    if (b->type == TYPE_F64) return ((const double *)b->at)[index];
    if (b->type == TYPE_F32) return (double)((const float *)b->at)[index];
    const uint16_t half = ((const uint16_t *)b->at)[index];
    if (b->type == TYPE_BF16) {
        word = (uint32_t)half << 16;
        memcpy(&x, &word, sizeof x);
        return (double)x;
    }
    const int exponent = half >> 10 & 31, fraction = half & 1023;
    const double size = exponent == 31  ? fraction != 0 ? (double)NAN : (double)INFINITY
                        : exponent == 0 ? ldexp(fraction, -24)
                                        : ldexp(fraction + 1024, exponent - 25);
    return half >> 15 ? -size : size;
}

static interval value_interval(const value_list *list, const value *v, const interval *made, int64_t i, int64_t j,
                               interval acc, const computed_in *in)
{
    const value_op op = (value_op)v->op;
    const interval *x = &made[v->of[0]], *y = &made[v->of[1]], *z = &made[v->of[2]];
    if (op == VALUE_ACC) return acc;
    if (op == VALUE_NUMBER) return number_in(v->number, in);
    if (op == VALUE_ROW) return number_in(i, in);
    if (op == VALUE_COLUMN) return number_in(j, in);
    if (op == VALUE_BOUND) {
        const value_binding *b = &list->bound[v->of[0]];
        const double number = element_of(b, value_step(list, v, INDEX_I) * i + value_step(list, v, INDEX_J) * j);
        return b->type == TYPE_NUMBER ? number_in(number, in) : exactly(number);
    }
    if (op == VALUE_WHERE) return chosen(*x, *y, *z);
    const bool two = op < VALUE_NEGATE || (op > VALUE_NEGATE && op < VALUE_ABS) || op == VALUE_MIN || op == VALUE_MAX;
    const interval hull = two ? of_two(op, *x, *y) : of_one(op, *x);
    const bool one = hull.low == hull.high && op >= VALUE_ADD && op <= VALUE_MULTIPLY;
    return one && !hull.nan ? number_in(hull.low, in) : widened(hull, ulps_of(op, in), in);
}

tw_status tw_lab_epilogue_interval(const tw_epilogue *epilogue, tw_dtype sums, tw_dtype dtype_c, int64_t i, int64_t j,
                                   double acc_low, double acc_high, double *low, double *high, int *nan)
{
    interval made[MOST_VALUES];
    if (epilogue == NULL || epilogue->magic != EPILOGUE_MAGIC || low == NULL || high == NULL || nan == NULL)
        return fail(TW_BAD_ARGUMENT, "the epilogue or a result is NULL");
    const value_list *list = &epilogue->values;
    const bool half = dtype_c == TW_F16 || dtype_c == TW_BF16;
    const computed_in *in = sums == TW_F64 ? &in_f64 : half ? &for_half : &in_f32;
    interval acc = isnan(acc_low) || isnan(acc_high) ? only_nan : (interval){acc_low, acc_high, false};
    if (sums == TW_I32) acc = widened(acc, 0.5L, in); /* which is rounded to f32 */
    for (int q = 0; q < list->count; q++) made[q] = value_interval(list, &list->of[q], made, i, j, acc, in);
    const interval last = made[list->count - 1];
    *low = (double)last.low, *high = (double)last.high, *nan = last.nan;
    return TW_OK;
}
