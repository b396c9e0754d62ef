/* exact.c - sums of products of doubles in fixed point, with nothing rounded (the idea is Kulisch's long accumulator),
 * and the set of results that IEEE 754 allows in any order of summation. */
#include "exact.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- an unsigned number in fixed point: bit 0 is worth 2^LOWEST ----
 * alpha a b needs bits from 3 * -1074 to 3 * 1024 + 63; a digit holds 32 bits and has 32 more for carries that wait. */
enum { LOWEST = -3264, DIGITS = 204, CARRY_EVERY = 1 << 30 };

typedef struct fixed {
    uint64_t digit[DIGITS];
    int low, high;  /* digits outside low .. high - 1 are 0 */
    uint32_t added; /* since carries were last settled */
} fixed;

static void clear(fixed *f)
{
    memset(f, 0, sizeof *f);
    f->low = DIGITS;
}

static void settle(fixed *f)
{
    uint64_t carry = 0;
    for (int i = f->low; i < f->high || carry != 0; i++) {
        carry += f->digit[i];
        f->digit[i] = carry & UINT32_MAX;
        carry >>= 32;
        if (i >= f->high) f->high = i + 1;
    }
    f->added = 0;
}

/* Add x * y * 2^exponent; x and y below 2^53. */
static void add_product(fixed *f, uint64_t x, uint64_t y, int exponent)
{
    uint64_t x0 = x & UINT32_MAX, x1 = x >> 32, y0 = y & UINT32_MAX, y1 = y >> 32;
    uint64_t middle = x0 * y1 + x1 * y0, low = x0 * y0, high = x1 * y1 + (middle >> 32);
    low += middle << 32;
    high += low < middle << 32;
    int position = exponent - LOWEST, first = position / 32, shift = position % 32;
    uint64_t *d = f->digit + first;
    d[0] += (low << shift) & UINT32_MAX;
    d[1] += (low >> (32 - shift)) & UINT32_MAX;
    d[2] += ((high << shift) | ((low >> 1) >> (63 - shift))) & UINT32_MAX;
    d[3] += (high >> (32 - shift)) & UINT32_MAX;
    d[4] += (high >> 1) >> (63 - shift);
    if (first < f->low) f->low = first;
    if (first + 5 > f->high) f->high = first + 5;
    if (++f->added == CARRY_EVERY) settle(f);
}

/* |value| = significand * 2^exponent, for finite values. */
static uint64_t take_apart(double value, int *exponent)
{
    uint64_t bits, fraction;
    memcpy(&bits, &value, sizeof bits);
    fraction = bits & ((UINT64_C(1) << 52) - 1);
    int field = (int)(bits >> 52) & 0x7ff;
    *exponent = field > 0 ? field - 1075 : -1074;
    return field > 0 ? fraction | UINT64_C(1) << 52 : fraction;
}

/* Add |x y|; x and y finite. */
static void add_terms(fixed *f, double x, double y)
{
    int x_exponent, y_exponent;
    uint64_t x_part = take_apart(x, &x_exponent), y_part = take_apart(y, &y_exponent);
    if (x_part != 0 && y_part != 0) add_product(f, x_part, y_part, x_exponent + y_exponent);
}

/* to += |factor| * f, digit by digit. f's carries are settled, and f is a sum of products of two doubles: its digits
 * below 2^-2148 are 0, so that no position is negative. */
static void add_scaled(fixed *to, const fixed *f, double factor)
{
    int exponent;
    uint64_t part = take_apart(factor, &exponent);
    if (part == 0) return;
    for (int i = f->low; i < f->high; i++)
        if (f->digit[i] != 0) add_product(to, f->digit[i], part, LOWEST + 32 * i + exponent);
}

/* ---- a positive or negative number with an exponent of its own: m * 2^e, m in [0.5, 1) or 0 ---- */

typedef struct scaled {
    double m;
    int e;
} scaled;

static scaled scaled_of(double m, int e)
{
    int more;
    scaled s = {frexp(m, &more), 0};
    if (s.m != 0) s.e = e + more;
    return s;
}

static scaled scaled_product(scaled x, double y)
{
    scaled s = scaled_of(y, x.e);
    return scaled_of(s.m * x.m, s.e);
}

/* The value times 2^-e. */
static double scaled_at(scaled s, int e) { return ldexp(s.m, s.e - e); }

/* The exponent of the largest of three magnitudes; 0 where all are 0. */
static int highest(scaled x, scaled y, scaled z)
{
    int e = INT_MIN;
    if (x.m != 0 && x.e > e) e = x.e;
    if (y.m != 0 && y.e > e) e = y.e;
    if (z.m != 0 && z.e > e) e = z.e;
    return e == INT_MIN ? 0 : e;
}

/* x - y, settling both; relative error below 2^-50. */
static scaled difference(fixed *x, fixed *y)
{
    settle(x), settle(y);
    int top = (x->high > y->high ? x->high : y->high) - 1, low = x->low < y->low ? x->low : y->low;
    while (top >= low && x->digit[top] == y->digit[top]) top--;
    if (top < low) return (scaled){0, 0};
    bool negative = x->digit[top] < y->digit[top];
    const fixed *large = negative ? y : x, *less = negative ? x : y;
    uint64_t digit[DIGITS + 2] = {0}; /* two zeros below the lowest */
    int64_t borrow = 0;
    for (int i = low; i <= top; i++) {
        int64_t d = (int64_t)large->digit[i] - (int64_t)less->digit[i] - borrow;
        borrow = d < 0;
        digit[i + 2] = (uint64_t)(d + (borrow << 32));
    }
    for (top += 2; digit[top] == 0; top--) {
    } /* the difference is not 0 */
    double m = (double)digit[top] * 0x1p64 + (double)digit[top - 1] * 0x1p32 + (double)digit[top - 2];
    return scaled_of(negative ? -m : m, LOWEST + 32 * (top - 4));
}

static scaled value_of(fixed *x)
{
    fixed zero;
    clear(&zero);
    return difference(x, &zero);
}

/* ---- which results are possible ---- */

enum { FINITE = 1, PLUS = 2, MINUS = 4, NOT_A_NUMBER = 8 };

static unsigned class_of(double value)
{
    if (isnan(value)) return NOT_A_NUMBER;
    if (isinf(value)) return value > 0 ? PLUS : MINUS;
    return FINITE;
}

static unsigned turned(unsigned set)
{
    return (set & (FINITE | NOT_A_NUMBER)) | (set & PLUS ? MINUS : 0u) | (set & MINUS ? PLUS : 0u);
}

/* May a magnitude up to s round beyond the largest finite number? Compared at s's own exponent: it may be larger than
 * any double, and the largest f16 is so small that a common scale would have to be near 1. */
static bool beyond(scaled s, double largest) { return s.m * (1 + 0x1p-40) > ldexp(largest, -s.e); }

/* The products' own sum: plus and minus are the sums of the positive and the negative products' magnitudes, with room
 * for every rounding; infinite holds the classes of those products that are not finite. */
static unsigned sum_classes(unsigned infinite, scaled plus, scaled minus, double largest)
{
    bool up = beyond(plus, largest), down = beyond(minus, largest);
    if ((infinite & NOT_A_NUMBER) || (infinite & (PLUS | MINUS)) == (PLUS | MINUS)) return NOT_A_NUMBER;
    if (infinite & PLUS) return PLUS | (down ? NOT_A_NUMBER : 0u);
    if (infinite & MINUS) return MINUS | (up ? NOT_A_NUMBER : 0u);
    return FINITE | (up ? PLUS : 0u) | (down ? MINUS : 0u) | (up && down ? NOT_A_NUMBER : 0u);
}

/* alpha times a sum that lies in low .. high when it is finite. */
static unsigned scaled_classes(unsigned sum, double alpha, scaled low, scaled high, double largest)
{
    if (isnan(alpha)) return NOT_A_NUMBER;
    unsigned set = sum & ~(unsigned)FINITE;
    if (alpha == 0 && set != 0) return (sum & FINITE) | NOT_A_NUMBER;
    if (sum & FINITE) {
        if (isinf(alpha)) {
            if (high.m > 0) set |= PLUS;
            if (low.m < 0) set |= MINUS;
            if (low.m <= 0 && high.m >= 0) set |= NOT_A_NUMBER; /* the sum may be 0 */
        } else {
            set |= FINITE;
            if (beyond(scaled_product(high, fabs(alpha)), largest)) set |= PLUS;
            if (beyond(scaled_product(low, -fabs(alpha)), largest)) set |= MINUS;
        }
    }
    return alpha < 0 ? turned(set) : set;
}

static unsigned sum_of_classes(unsigned x, unsigned y)
{
    unsigned set = 0;
    for (unsigned i = FINITE; i <= NOT_A_NUMBER; i <<= 1)
        for (unsigned j = FINITE; j <= NOT_A_NUMBER; j <<= 1) {
            if (!(x & i) || !(y & j)) continue;
            if (i == j || j == FINITE)
                set |= i;
            else if (i == FINITE)
                set |= j;
            else
                set |= NOT_A_NUMBER;
        }
    return set;
}

/* The whole result: its positive and negative terms' sums, and what the sizes of the terms allow. */
typedef struct total {
    fixed up, down;
    scaled mass, addend; /* alpha's terms' sizes, and beta's */
    /* the largest that finite terms above 0 may be together, and of those below 0 the negative of it */
    scaled above, below;
    int terms;
    unsigned set; /* of the results of their sum, each term by itself */
} total;

static scaled scaled_sum(scaled x, scaled y)
{
    const int e = highest(x, y, (scaled){0, 0});
    return scaled_of(scaled_at(x, e) + scaled_at(y, e), e);
}

/* A term that lies in low .. high where it is finite. */
static void add_term(total *t, unsigned set, scaled low, scaled high)
{
    t->set = sum_of_classes(t->set, set);
    t->terms++;
    if (!(set & FINITE)) return;
    if (high.m > 0) t->above = scaled_sum(t->above, high);
    if (low.m < 0) t->below = scaled_sum(t->below, (scaled){-low.m, low.e});
}

/* Term scalar * sum_p a[p] b[p], or with i op(A) in place of op(A), of which a[p] becomes a neighbour. */
static void add_product_term(total *t, const product *x, double scalar, bool turned, const double *a, const double *b)
{
    const double largest = x->accumulator->largest;
    fixed plus, minus; /* sums of products by sign */
    unsigned infinite = 0;
    clear(&plus), clear(&minus);
    for (int64_t p = 0; p < x->problem.k; p++) {
        const double u = !turned ? a[p] : p % 2 == 0 ? -a[p + 1] : a[p - 1];
        if (!isfinite(u) || !isfinite(b[p]))
            infinite |= class_of(u * b[p]);
        else
            add_terms((u < 0) != (b[p] < 0) ? &minus : &plus, u, b[p]);
    }
    scaled plus_value = value_of(&plus), minus_value = value_of(&minus); /* settles both */
    double room = 1 + x->g_sum;
    unsigned set = sum_classes(infinite, scaled_product(plus_value, room), scaled_product(minus_value, room), largest);

    scaled sum = difference(&plus, &minus);
    int e = highest(plus_value, minus_value, sum);
    double all = scaled_at(plus_value, e) + scaled_at(minus_value, e), middle = scaled_at(sum, e);
    double tiny = ((double)x->problem.k + 1) * x->accumulator->smallest;
    double error = all > 0 ? x->g_sum * all * (1 + 0x1p-40) + ldexp(tiny, -e) : 0;
    scaled low = scaled_of(middle - error, e), high = scaled_of(middle + error, e);
    set = scaled_classes(set, scalar, low, high, largest);
    if (!isfinite(scalar)) {
        add_term(t, set, (scaled){0, 0}, (scaled){0, 0});
        return;
    }
    add_scaled(scalar < 0 ? &t->down : &t->up, &plus, scalar);
    add_scaled(scalar < 0 ? &t->up : &t->down, &minus, scalar);
    t->mass = scaled_sum(t->mass, scaled_product(scaled_of(all, e), fabs(scalar)));
    low = scaled_product(low, scalar), high = scaled_product(high, scalar);
    if (scalar < 0)
        add_term(t, set, high, low);
    else
        add_term(t, set, low, high);
}

/* Term scalar * c0. */
static void add_addend(total *t, const product *x, double scalar, double c0)
{
    const scaled nothing = {0, 0};
    if (!isfinite(scalar) || !isfinite(c0)) {
        add_term(t, class_of(scalar * c0), nothing, nothing);
        return;
    }
    const bool negative = (scalar < 0) != (c0 < 0);
    const scaled size = scaled_product(scaled_of(fabs(c0), 0), fabs(scalar));
    unsigned set = FINITE;
    add_terms(negative ? &t->down : &t->up, scalar, c0);
    t->addend = scaled_sum(t->addend, size);
    if (beyond(size, x->accumulator->largest)) set |= negative ? MINUS : PLUS;
    add_term(t, set, negative ? (scaled){-size.m, size.e} : nothing, negative ? nothing : size);
}

/* Of three terms and more those that are added first may overflow by themselves. */
static void allow_partial_overflow(total *t, const product *x)
{
    const double room = 1 + x->g_add, largest = x->accumulator->largest;
    const bool up = beyond(scaled_product(t->above, room), largest),
               down = beyond(scaled_product(t->below, room), largest);
    if (t->terms < 3 || !(t->set & FINITE)) return;
    t->set = sum_of_classes(t->set, FINITE | (up ? PLUS : 0u) | (down ? MINUS : 0u) | (up && down ? NOT_A_NUMBER : 0u));
}

static void sum_terms(total *t, const product *x, const double *a, const double *b, double c0, double c0_by_i)
{
    *t = (total){.set = FINITE};
    clear(&t->up), clear(&t->down);
    if (x->reads_ab) add_product_term(t, x, x->alpha, false, a, b);
    if (x->reads_ab && x->alpha_imaginary != 0) add_product_term(t, x, x->alpha_imaginary, true, a, b);
    if (x->reads_c0) add_addend(t, x, x->beta, c0);
    if (x->reads_c0 && x->beta_imaginary != 0) add_addend(t, x, x->beta_imaginary, c0_by_i);
    allow_partial_overflow(t, x);
}

/* How far a result of this size may be from the exact one, times 2^-e. */
static double bound_at(const product *x, const total *t, scaled size, int e)
{
    double wide = x->tiny == 0 ? 0 : ldexp(x->tiny + x->tiny_c, -e);
    double bound = x->g_sum * scaled_at(t->mass, e) + x->g_add * scaled_at(t->addend, e) + wide;
    if (x->round_c > 0) bound += x->round_c * (scaled_at(size, e) + bound);
    return bound * (1 + 0x1p-40);
}

static exact_verdict judge(const product *x, const double *a, const double *b, double c0, double c0_by_i, double found)
{
    double largest = x->accumulator->largest;
    total t;
    sum_terms(&t, x, a, b, c0, c0_by_i);
    unsigned set = t.set;

    scaled result = difference(&t.up, &t.down);
    exact_verdict verdict = {.expected = scaled_at(result, 0)};
    if (set & FINITE) {
        scaled error = result, size = scaled_of(fabs(isfinite(found) ? found : 0), 0);
        if (isfinite(found)) {
            add_terms(found < 0 ? &t.up : &t.down, found, 1);
            error = difference(&t.up, &t.down);
        }
        int e = highest(t.mass, t.addend, error);
        double bound = bound_at(x, &t, size, e);
        verdict.bound = ldexp(bound, e);
        scaled top = scaled_of(scaled_at(result, e) + bound, e), bottom = scaled_of(bound - scaled_at(result, e), e);
        if (beyond(top, largest) || beyond(top, x->type_c->largest)) set |= PLUS;
        if (beyond(bottom, largest) || beyond(bottom, x->type_c->largest)) set |= MINUS;
        if (isfinite(found)) {
            double distance = fabs(scaled_at(error, e));
            verdict.passed = distance <= bound;
            verdict.ratio = distance == 0 ? 0 : distance / bound;
            return verdict;
        }
    } else {
        verdict.expected = set & NOT_A_NUMBER ? (double)NAN : set & PLUS ? (double)INFINITY : -(double)INFINITY;
    }
    verdict.passed = (set & class_of(found)) != 0;
    verdict.ratio = verdict.passed ? 0 : (double)INFINITY;
    return verdict;
}

exact_verdict exact_judge(const product *x, const double *a, const double *b, double c0, double found)
{
    return judge(x, a, b, c0, 0, found);
}

/* ---- a C that an epilogue made ---- */

static const exact_range no_number = {.low = (double)INFINITY, .high = -(double)INFINITY};

static exact_range range_of(const product *x, const double *a, const double *b, double c0)
{
    const double largest = x->accumulator->largest;
    total t;
    sum_terms(&t, x, a, b, c0, 0);
    exact_range acc = no_number;
    if (t.set & FINITE) {
        const scaled result = difference(&t.up, &t.down);
        const int e = highest(t.mass, t.addend, result);
        const double middle = scaled_at(result, e), lost = 0x1p-50 * fabs(middle), /* of the difference */
            bound = bound_at(x, &t, (scaled){0, 0}, e) + lost;
        const scaled top = scaled_of(middle + bound, e), bottom = scaled_of(middle - bound, e);
        if (beyond(top, largest)) t.set |= PLUS;
        if (beyond((scaled){-bottom.m, bottom.e}, largest)) t.set |= MINUS;
        acc.low = scaled_at(bottom, 0), acc.high = scaled_at(top, 0);
        if (bound > 0) acc.low = nextafter(acc.low, -INFINITY), acc.high = nextafter(acc.high, INFINITY);
        acc.low = fmax(fmin(acc.low, largest), -largest), acc.high = fmax(fmin(acc.high, largest), -largest);
    }
    acc.plus = (t.set & PLUS) != 0, acc.minus = (t.set & MINUS) != 0, acc.nan = (t.set & NOT_A_NUMBER) != 0;
    return acc;
}

exact_range exact_around(double high, double low, double limit)
{
    exact_range acc = no_number;
    acc.nan = isnan(high);
    if (limit > 0)
        acc.low = nextafter(high + (low - limit), -(double)INFINITY),
        acc.high = nextafter(high + (low + limit), (double)INFINITY);
    else if (!acc.nan)
        acc.low = acc.high = high;
    return acc;
}

/* The same of an acc from `least` to `most`, or NaN. */
static exact_verdict made_of(const product *x, int64_t row, int64_t col, double least, double most, double found)
{
    const element *type = x->type_c;
    double low = 0, high = 0;
    int nan = 0;
    exact_verdict e = {.expected = (double)NAN, .ratio = (double)INFINITY};
    if (tw_lab_epilogue_interval(x->problem.epilogue, x->type->result, x->problem.dtype_c, row, col, least, most, &low,
                                 &high, &nan) != TW_OK)
        return e; /* nothing may stand there */
    low = element_converted(type, low), high = element_converted(type, high);
    const double middle = low + (high - low) / 2, half = (high - low) / 2;
    if (low <= high && !isnan(middle)) e.expected = middle, e.bound = half;
    const bool within = found >= low && found <= high;
    e.passed = within || (nan && (isnan(found) || (type->integer && found == 0)));
    if (e.passed) e.ratio = within && half > 0 && isfinite(half) ? fmin(fabs(found - middle) / half, 1) : 0;
    return e;
}

exact_verdict exact_made(const product *x, int64_t row, int64_t col, exact_range acc, double found)
{
    const double infinity = (double)INFINITY, nan = (double)NAN;
    const struct {
        bool possible;
        double least, most;
    } all[] = {{acc.low <= acc.high, acc.low, acc.high},
               {acc.plus, infinity, infinity},
               {acc.minus, -infinity, -infinity},
               {acc.nan, nan, nan}};
    exact_verdict e = {.expected = nan, .ratio = infinity};
    bool any = false;
    for (size_t q = 0; q < sizeof all / sizeof *all && !e.passed; q++) {
        if (!all[q].possible) continue;
        const exact_verdict one = made_of(x, row, col, all[q].least, all[q].most, found);
        if (!any || one.passed) e = one;
        any = true;
    }
    return e;
}

exact_verdict exact_judge_at(const product *x, const double *a, const double *b, int64_t row, int64_t col, double found)
{
    const double c0 = x->reads_c0 ? view_at(x->c0, row, col) : 0;
    if (x->problem.epilogue != NULL) return exact_made(x, row, col, range_of(x, a, b, c0), found);
    return judge(x, a, b, c0, x->reads_c0 && x->beta_imaginary != 0 ? view_at(x->c0_by_i, row, col) : 0, found);
}

enum { NUMBER_BYTES = 320 };

/* Whole numbers in full, else the shortest text that reads back as the same value of the type. */
static void number_text(char text[NUMBER_BYTES], const element *type, double value)
{
    const double longest = 1e9;
    int most = (type->digits * 30103 + 99999) / 100000 + 1;
    if (fabs(value) < longest && value == trunc(value)) {
        snprintf(text, NUMBER_BYTES, "%.0f", value);
        return;
    }
    for (int digits = 1; digits <= most; digits++) {
        snprintf(text, NUMBER_BYTES, "%.*g", digits, value);
        if (isnan(value) || element_round(type, strtod(text, NULL)) == element_round(type, value)) return;
    }
}

void exact_sentence(char *text, size_t bytes, const product *x, int64_t row, int64_t col, double found, double expected,
                    double bound, double ratio)
{
    const element *type = x->type_c;
    const char *part = x->parts == 1 ? "" : col % 2 == 0 ? " (its real part)" : " (its imaginary part)";
    char found_text[NUMBER_BYTES], expected_text[NUMBER_BYTES], tail[96] = "";
    number_text(found_text, type, found), number_text(expected_text, type, expected);
    if (!isfinite(expected))
        tail[0] = '\0';
    else if (bound == 0)
        snprintf(tail, sizeof tail, " exactly");
    else if (isfinite(ratio))
        snprintf(tail, sizeof tail, " +- %.2g (error %.3g times its bound)", bound, ratio);
    else
        snprintf(tail, sizeof tail, " +- %.2g", bound);
    snprintf(text, bytes, "C[%lld, %lld]%s is %s, expected %s%s", (long long)row, (long long)(col / x->parts), part,
             found_text, expected_text, tail);
}
