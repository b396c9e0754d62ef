/* test_results.c - what stands in C where its type is not that of the sums, by each instruction set: all 65,536 halves
 * widened, floats around every f16 and bf16 rounded, sums in i32 scaled to f32, i8 and u8; and products that are, bit
 * for bit, those with a C of the sums' type, scaled and rounded once. Those of f16 are those of their values in f32. */
#include <fenv.h>
#include <inttypes.h>
#include <math.h>

#include "engines/cpu/cpu_engine.h"
#include "support/die.h"
#include "support/tap.h"

enum { HALVES = 65536, ROOM = 64 };

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* By IEEE 754's own words: sign, exponent, fraction. */
static float widened_f16(uint16_t half)
{
    const int exponent = half >> 10 & 31, fraction = half & 1023;
    const double size = exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25);
    if (exponent < 31) return (float)(half & 0x8000 ? -size : size);
    const uint32_t quiet = fraction != 0 ? 0x400000 : 0;
    return float_of((uint32_t)(half & 0x8000) << 16 | 0x7f800000 | (uint32_t)fraction << 13 | quiet);
}

static float widened_bf16(uint16_t bits) { return float_of((uint32_t)bits << 16); }

/* A type of two bytes: its numbers, infinity and quiet NaN; bits of a float that it lacks; the size from which on
 * infinity is nearer than its largest number, and what it stands for then. */
typedef struct narrow {
    tw_dtype dtype;
    float (*widened)(uint16_t bits);
    uint16_t infinity, quiet;
    int lacks;
    double overflows, beyond;
} narrow;
static const narrow narrows[] = {{TW_F16, widened_f16, 0x7c00, 0x7e00, 13, 65520, 65536},
                                 {TW_BF16, widened_bf16, 0x7f80, 0x7fc0, 16, 0x1.ffp127, 0x1p128}};
enum { NARROWS = sizeof narrows / sizeof *narrows };

/* The nearest of its numbers: the neighbour below by bisection, then whichever is nearer, a tie to the even one. */
static uint16_t narrowed(const narrow *to, float x)
{
    const uint16_t sign = signbit(x) ? 0x8000 : 0, payload = (uint16_t)((to->quiet ^ to->infinity) - 1);
    const double size = fabs((double)x);
    if (isnan(x)) return (uint16_t)(sign | to->quiet | (bits_of(x) >> to->lacks & payload));
    if (size >= to->overflows) return (uint16_t)(sign | to->infinity);
    uint16_t low = 0, high = to->infinity;
    while (high - low > 1) {
        const uint16_t middle = (uint16_t)((low + high) / 2);
        if ((double)to->widened(middle) <= size)
            low = middle;
        else
            high = middle;
    }
    const double below = size - (double)to->widened(low),
                 above = (high == to->infinity ? to->beyond : (double)to->widened(high)) - size;
    return (uint16_t)(sign | (below < above || (below == above && low % 2 == 0) ? low : high));
}

/* alpha * sum + beta * c, each operation rounded to double. */
static double scaled(int32_t sum, double c, double alpha, double beta)
{
    return beta == 0 ? alpha * sum : alpha * sum + beta * c;
}

/* x as a byte: the nearest whole number, a tie the even one, saturated; 0 for NaN. */
static int whole_of(tw_dtype dtype, double x)
{
    const double least = dtype == TW_U8 ? 0 : -128, most = dtype == TW_U8 ? 255 : 127;
    return isnan(x) ? 0 : (int)nearbyint(fmin(fmax(x, least), most));
}

static const struct {
    const char *name;
    int mode;
} roundings[] = {{"to nearest", FE_TONEAREST}, {"down", FE_DOWNWARD}, {"up", FE_UPWARD}, {"to 0", FE_TOWARDZERO}};
enum { ROUNDINGS = sizeof roundings / sizeof *roundings };

/* The row of this instruction set that multiplies the type here; NULL: there is none. */
static const kernel_row *row_of(const char *level, tw_dtype dtype)
{
    for (int i = 0; i < kernel_count(); i++) {
        const kernel_row *row = kernel_at(i);
        if (row->micro != NULL && row->lab.dtype == dtype && strcmp(cpu_set_name(row->features), level) == 0)
            return cpu_has(detect_features(), row->features) ? row : NULL;
    }
    return NULL;
}

static void widen_case(const kernel_row *row)
{
    static uint16_t halves[HALVES + ROOM];
    static float found[HALVES + ROOM];
    int wrong = -1;
    if (!tap_case("%s widens all halves", row->lab.name)) return;
    for (int i = 0; i < HALVES + ROOM; i++) halves[i] = (uint16_t)i;
    for (int r = 0; r < ROUNDINGS; r++) {
        fesetround(roundings[r].mode);
        row->widen(halves, found, HALVES);
        fesetround(FE_TONEAREST);
        for (int i = 0; wrong < 0 && i < HALVES; i++)
            if (bits_of(found[i]) != bits_of(widened_f16((uint16_t)i))) wrong = i;
    }
    /* every count, from odd addresses of halves, and nothing behind the last */
    for (int count = 0; wrong < 0 && count < ROOM; count++) {
        memset(found, 0xa5, sizeof(float) * (ROOM + 1));
        row->widen(halves + 1 + count, found, count);
        for (int i = 0; wrong < 0 && i <= ROOM; i++)
            if (bits_of(found[i]) != (i < count ? bits_of(widened_f16((uint16_t)(1 + count + i))) : 0xa5a5a5a5))
                wrong = i;
    }
    tap_result(wrong < 0, "%04x became %08x", wrong, wrong < 0 ? 0 : (unsigned)bits_of(found[wrong]));
}

/* Each number of the type, the middle between it and the next, the floats beside both, and as many floats at random. */
enum { FLOATS = 6 * HALVES };
typedef struct floats {
    float from[FLOATS];
    uint16_t expected[FLOATS];
    bool made;
} floats;

static const floats *floats_for(const narrow *to)
{
    static floats all[NARROWS];
    floats *x = &all[to - narrows];
    die d = {.seed = 16};
    const uint16_t largest = to->infinity - 1;
    int count = 0;
    for (int i = 0; !x->made && i < HALVES; i++) {
        const float at = to->widened((uint16_t)i);
        const double next = (i & 0x7fff) == largest ? copysign(to->beyond, (double)at)
                                                    : (double)to->widened((uint16_t)(i + 1));
        const float middle = (i & 0x7fff) >= to->infinity ? at : (float)((double)at / 2 + next / 2);
        x->from[count++] = at, x->from[count++] = middle;
        x->from[count++] = nextafterf(middle, INFINITY), x->from[count++] = nextafterf(middle, -INFINITY);
        x->from[count++] = nextafterf(at, INFINITY);
        x->from[count++] = float_of((uint32_t)roll(&d, INT64_C(1) << 32));
    }
    for (int i = 0; !x->made && i < FLOATS; i++) x->expected[i] = narrowed(to, x->from[i]);
    x->made = true;
    return x;
}

/* A row of C of its sums. */
static void finish_row(cpu_finish *finish, const void *sums, void *c, int64_t count, double alpha, double beta)
{
    finish(&(cpu_outputs){
        .sums = sums, .sums_ld = count, .c = c, .ldc = count, .rows = 1, .cols = count, .alpha = alpha, .beta = beta});
}

static void narrow_case(const kernel_row *row, const narrow *to)
{
    static uint16_t found[FLOATS + ROOM];
    int wrong = -1, mode = 0;
    if (!tap_case("%s rounds to %s, whatever the caller's mode", row->lab.name, tw_lab_dtype_of(to->dtype)->name))
        return;
    cpu_finish *finish = kernel_finish(row, &(tw_problem){.dtype_c = to->dtype});
    const floats *x = floats_for(to);
    for (; wrong < 0 && mode < ROUNDINGS; mode++) {
        fesetround(roundings[mode].mode);
        finish_row(finish, x->from, found, FLOATS, 1, 0);
        fesetround(FE_TONEAREST);
        for (int i = 0; wrong < 0 && i < FLOATS; i++)
            if (found[i] != x->expected[i]) wrong = i;
    }
    for (int left = 0; wrong < 0 && left < ROOM; left++) {
        memset(found, 0xa5, sizeof(uint16_t) * (ROOM + 1));
        finish_row(finish, x->from + 3 * left, found, left, 1, 0);
        for (int i = 0; wrong < 0 && i <= ROOM; i++)
            if (found[i] != (i < left ? x->expected[3 * left + i] : 0xa5a5)) wrong = 3 * left + i;
    }
    tap_result(wrong < 0, "%a became %04x, expected %04x, in mode %d", wrong < 0 ? 0 : (double)x->from[wrong],
               wrong < 0 ? 0 : found[wrong], wrong < 0 ? 0 : x->expected[wrong], mode);
}

/* An element of C from its sum, and its value. */
static void put_scaled(tw_dtype dtype_c, void *c, int64_t i, int32_t sum, double old, double alpha, double beta)
{
    const double x = scaled(sum, old, alpha, beta);
    if (dtype_c == TW_F32)
        ((float *)c)[i] = (float)x;
    else
        ((uint8_t *)c)[i] = (uint8_t)whole_of(dtype_c, x);
}

static double value_of(tw_dtype dtype, const void *c, int64_t i)
{
    switch (dtype) {
    case TW_F16: return (double)widened_f16(((const uint16_t *)c)[i]);
    case TW_BF16: return (double)widened_bf16(((const uint16_t *)c)[i]);
    case TW_F32: return (double)((const float *)c)[i];
    case TW_I32: return ((const int32_t *)c)[i];
    case TW_I8: return ((const int8_t *)c)[i];
    default: return ((const uint8_t *)c)[i];
    }
}

/* Have two elements one value? Which NaN comes of two is the processor's choice. */
static bool alike(tw_dtype dtype, const void *c, const void *expected, int64_t i)
{
    const double x = value_of(dtype, c, i), y = value_of(dtype, expected, i);
    return (x == y && signbit(x) == signbit(y)) || (isnan(x) && isnan(y));
}

/* Rows of sums of all sizes, of every tie and beyond both ends, with scalars that overflow, vanish and are no
 * numbers. */
static void scale_case(const kernel_row *row, tw_dtype dtype_c)
{
    enum { ROWS = 600, COUNT = ROOM + 8, BYTES = 4 };
    static const double scalars[] = {1, -1, 0.00390625, 0.1, -0.0073, 1e308, -1e308, 1e-310, INFINITY, NAN, 0};
    enum { SCALARS = sizeof scalars / sizeof *scalars };
    char text[160] = "";
    if (!tap_case("%s scales to %s", row->lab.name, tw_lab_dtype_of(dtype_c)->name)) return;
    cpu_finish *finish = kernel_finish(row, &(tw_problem){.dtype_c = dtype_c});
    die d = {.seed = 8};
    int32_t sums[COUNT];
    _Alignas(8) unsigned char c[BYTES * (COUNT + 1)], old[sizeof c], expected[sizeof c];
    for (int r = 0; text[0] == '\0' && r < ROWS; r++) {
        const double alpha = scalars[roll(&d, SCALARS)], beta = roll(&d, 2) ? 0 : scalars[roll(&d, SCALARS)];
        const int64_t shift = roll(&d, 25), count = r % (ROOM + 1), first = roll(&d, 4);
        for (int j = 0; j < COUNT; j++) sums[j] = (int32_t)(uint32_t)roll(&d, INT64_C(1) << 32) >> shift;
        for (size_t i = 0; i < sizeof old; i++) old[i] = (unsigned char)roll(&d, 256);
        memcpy(c, old, sizeof c), memcpy(expected, old, sizeof c);
        for (int64_t j = 0; j < count; j++)
            put_scaled(dtype_c, expected, first + j, sums[j], value_of(dtype_c, old, first + j), alpha, beta);
        finish_row(finish, sums, c + first * (dtype_c == TW_F32 ? 4 : 1), count, alpha, beta);
        for (int j = 0; text[0] == '\0' && j < COUNT; j++)
            if (!alike(dtype_c, c, expected, j))
                snprintf(text, sizeof text, "row %d, element %d of %d from %d on: alpha %g beta %g, %g instead of %g",
                         r, j, (int)count, (int)first, alpha, beta, value_of(dtype_c, c, j),
                         value_of(dtype_c, expected, j));
    }
    /* all sums between the ends in steps of 1/256, which no mode rounds but in the end */
    for (int r = 0; text[0] == '\0' && dtype_c != TW_F32 && r < ROUNDINGS; r++)
        for (int32_t first = -40000; text[0] == '\0' && first < 70000; first += ROOM) {
            for (int j = 0; j < ROOM; j++) sums[j] = first + j;
            fesetround(roundings[r].mode);
            finish_row(finish, sums, c, ROOM, 0x1p-8, 0);
            fesetround(FE_TONEAREST);
            for (int j = 0; j < ROOM; j++)
                if (value_of(dtype_c, c, j) != whole_of(dtype_c, sums[j] * 0x1p-8))
                    snprintf(text, sizeof text, "%d / 256 became %g, the caller rounding %s", (int)sums[j],
                             value_of(dtype_c, c, j), roundings[r].name);
        }
    tap_result(text[0] == '\0', "%s", text);
}

/* ---- products ---- */

/* Types of A, B and C, and of the sums. */
typedef struct types {
    tw_dtype a, b, c, sums;
} types;
static const types all_types[] = {
    {TW_F16, TW_F16, TW_F16, TW_F32}, {TW_BF16, TW_BF16, TW_BF16, TW_F32}, {TW_I8, TW_I8, TW_F32, TW_I32},
    {TW_U8, TW_I8, TW_I8, TW_I32},    {TW_I8, TW_U8, TW_U8, TW_I32},       {TW_U8, TW_U8, TW_F32, TW_I32},
    {TW_I8, TW_I8, TW_U8, TW_I32},    {TW_U8, TW_U8, TW_U8, TW_I32},       {TW_I8, TW_I8, TW_I8, TW_I32}};
enum { ALL_TYPES = sizeof all_types / sizeof *all_types };

static bool is_byte(tw_dtype dtype) { return dtype == TW_I8 || dtype == TW_U8; }
static size_t bytes_of(tw_dtype dtype) { return (size_t)tw_lab_dtype_of(dtype)->bytes; }

/* An element: of ordinary size; special: any bits now and then; of bytes at one end of their range. */
static void draw(die *d, tw_dtype dtype, void *to, int64_t i, bool special)
{
    const int64_t any = roll(d, HALVES);
    const bool whole = special && roll(d, 50) == 0;
    if (is_byte(dtype))
        ((uint8_t *)to)[i] = (uint8_t)(special ? (dtype == TW_U8 ? 255 : any & 1 ? 127 : 128) : any);
    else if (dtype == TW_F32)
        ((float *)to)[i] = whole ? float_of((uint32_t)any << 16) : (float)(any - HALVES / 2) / 256;
    else if (dtype == TW_F16)
        ((uint16_t *)to)[i] = (uint16_t)(whole ? any : (any & 0x83ff) | (8 + roll(d, 12)) << 10);
    else
        ((uint16_t *)to)[i] = (uint16_t)(whole ? any : (any & 0x807f) | (121 + roll(d, 12)) << 7);
}

static void *drawn(die *d, tw_dtype dtype, int64_t count, bool special)
{
    void *made = malloc((size_t)count * bytes_of(dtype) + 4);
    for (int64_t i = 0; i < count; i++) draw(d, dtype, made, i, special);
    return made;
}

/* A product, the same with a C of the sums' type, and what C must be. */
typedef struct products {
    tw_problem p;
    types types;
    void *a, *b, *c, *old, *sums;
    int64_t a_count, b_count, c_count;
} products;

static products products_make(die *d, const tw_problem *p, const types *of, bool special)
{
    products x = {.p = *p, .types = *of};
    x.a_count = (p->op_a == TW_N ? p->m : p->k) * p->lda, x.b_count = (p->op_b == TW_N ? p->k : p->n) * p->ldb,
    x.c_count = p->m * p->ldc;
    x.a = drawn(d, of->a, x.a_count, special), x.b = drawn(d, of->b, x.b_count, special);
    x.c = drawn(d, of->c, x.c_count, special), x.old = malloc((size_t)x.c_count * 4 + 4);
    x.sums = malloc((size_t)x.c_count * 4 + 4);
    /* beta 0 must not see a NaN */
    if (p->beta == 0 && !is_byte(of->c)) memset(x.c, 0xff, (size_t)x.c_count * bytes_of(of->c));
    memcpy(x.old, x.c, (size_t)x.c_count * bytes_of(of->c));
    for (int64_t i = 0; of->sums == TW_F32 && i < x.c_count; i++)
        ((float *)x.sums)[i] = (float)value_of(of->c, x.old, i);
    return x;
}

static void products_free(products *x) { free(x->a), free(x->b), free(x->c), free(x->old), free(x->sums); }

/* What C must be, in place of what it was. */
static void expect(products *x)
{
    const tw_problem *p = &x->p;
    const narrow *to = x->types.c == TW_F16 ? &narrows[0] : &narrows[1];
    const double alpha = p->k == 0 ? 0 : p->alpha; /* C <- beta * C: no sum is scaled, so that 0 has no sign */
    for (int64_t i = 0; i < x->c_count; i++) {
        if (i % p->ldc >= p->n) continue;
        if (x->types.sums == TW_F32)
            ((uint16_t *)x->old)[i] = narrowed(to, ((float *)x->sums)[i]);
        else
            put_scaled(x->types.c, x->old, i, ((int32_t *)x->sums)[i], value_of(x->types.c, x->old, i), alpha, p->beta);
    }
}

/* Of f16: has the product of the values in f32 the bits of the sums? */
static bool widened_agree(tw_context *context, const products *x)
{
    tw_problem p = x->p;
    float *a = malloc((size_t)x->a_count * 4 + 4), *b = malloc((size_t)x->b_count * 4 + 4),
          *c = malloc((size_t)x->c_count * 4 + 4);
    for (int64_t i = 0; i < x->a_count; i++) a[i] = widened_f16(((uint16_t *)x->a)[i]);
    for (int64_t i = 0; i < x->b_count; i++) b[i] = widened_f16(((uint16_t *)x->b)[i]);
    for (int64_t i = 0; i < x->c_count; i++) c[i] = widened_f16(((uint16_t *)x->old)[i]);
    p.dtype = TW_F32, p.dtype_b = p.dtype_c = 0;
    bool agree = tw_gemm(context, &p, a, b, c) == TW_OK;
    for (int64_t i = 0; agree && i < x->c_count; i++) agree = alike(TW_F32, x->sums, c, i);
    free(a), free(b), free(c);
    return agree;
}

static bool products_agree(tw_context *context, products *x, char text[200])
{
    tw_problem p = x->p, plain = p;
    text[0] = '\0';
    p.dtype_c = x->types.c;
    if (x->types.sums == TW_I32) plain.alpha = 1, plain.beta = 0;
    if (tw_gemm(context, &p, x->a, x->b, x->c) != TW_OK || tw_gemm(context, &plain, x->a, x->b, x->sums) != TW_OK)
        snprintf(text, 200, "%.190s", tw_error_text());
    else if (x->types.a == TW_F16 && !widened_agree(context, x))
        snprintf(text, 200, "C in f32 has other bits than of the operands in f32");
    if (text[0] != '\0') return false;
    expect(x);
    for (int64_t i = 0; text[0] == '\0' && i < x->c_count; i++)
        if (!alike(x->types.c, x->c, x->old, i))
            snprintf(text, 200, "element %" PRId64 " of C is %g, expected %g, of %a", i, value_of(x->types.c, x->c, i),
                     value_of(x->types.c, x->old, i), value_of(x->types.sums, x->sums, i));
    return text[0] == '\0';
}

static tw_context *open_as(const char *level, int threads)
{
    tw_context *context = NULL;
    const tw_options options = {.size = sizeof options, .engine = "cpu", .instruction_set = level, .threads = threads};
    return tw_open(&options, &context) == TW_OK ? context : NULL;
}

/* Shapes that take each way through the engine, drawn; every fourth has elements of all kinds among its operands. */
static void product_case(const char *level, const types *of, int threads)
{
    static const int64_t shapes[][3] = {{1, 1, 1},
                                        {1, 77, 130},
                                        {300, 1, 97},
                                        {1, 5000, 33},
                                        {17, 1, 600},
                                        {5, 3, 0},
                                        {7, 9, 33},
                                        {8, 48, 64},
                                        {9, 49, 65},
                                        {6, 16, 512},
                                        {13, 33, 513},
                                        {61, 127, 385},
                                        {130, 97, 700},
                                        {257, 300, 129},
                                        {2, 900, 1000},
                                        /* of several chunks of k; the last so long that sums of bytes wrap around */
                                        {1, 40, 16400},
                                        {50, 1, 8200},
                                        {9, 50, 20001},
                                        {70, 400, 8193},
                                        {2, 3, 140000}};
    static const double alphas[] = {0.25, 1.5, 2.75, 4}, scales[] = {0.015625, -0.0007, 1, 0.4};
    enum { SHAPES = sizeof shapes / sizeof *shapes };
    char text[200] = "";
    const bool halves = of->a == TW_F16;
    if (!tap_case("%s, %d threads, %s by %s to %s: rounded once", level, threads, tw_lab_dtype_of(of->a)->name,
                  tw_lab_dtype_of(of->b)->name, tw_lab_dtype_of(of->c)->name))
        return;
    tw_context *context = open_as(level, threads);
    bool passed = context != NULL;
    die d = {.seed = (uint64_t)threads};
    tw_problem p = {0};
    for (int i = 0; passed && i < (tap.full ? 16 : halves ? 2 : 1) * SHAPES; i++) {
        const int64_t *s = shapes[i % SHAPES];
        p = tw_problem_make(of->a, (tw_op)roll(&d, 2), (tw_op)roll(&d, 2), s[0], s[1], s[2]);
        p.dtype_b = of->b;
        p.lda += roll(&d, 2) * 3, p.ldb += roll(&d, 2) * 5, p.ldc += roll(&d, 2);
        p.alpha = of->sums == TW_I32 ? scales[roll(&d, 4)] : alphas[roll(&d, 4)], p.beta = (double)roll(&d, 3) / 2;
        products x = products_make(&d, &p, of, i % 4 == 3);
        passed = products_agree(context, &x, text);
        products_free(&x);
    }
    tw_close(context);
    tap_result(passed, "%c%c %" PRId64 " x %" PRId64 " x %" PRId64 " alpha %g beta %g: %s", "NT"[p.op_a], "NT"[p.op_b],
               p.m, p.n, p.k, p.alpha, p.beta, text);
}

/* Items of a batch, at strides with a shared A or B, and by addresses, have the bits of tw_gemm. */
static void batch_case(const char *level, const types *of, tw_dtype dtype_c, int form, int64_t m, int64_t n)
{
    enum { COUNT = 5, K = 71 };
    const int64_t a_items = form == 1 ? 1 : COUNT, b_items = form == 2 ? 1 : COUNT;
    if (!tap_case("%s: a batch of %" PRId64 " x %" PRId64 ", %s by %s to %s, form %d", level, m, n,
                  tw_lab_dtype_of(of->a)->name, tw_lab_dtype_of(of->b)->name, tw_lab_dtype_of(dtype_c)->name, form))
        return;
    tw_context *context = open_as(level, 2);
    die d = {.seed = (uint64_t)form};
    tw_problem p = tw_problem_make(of->a, TW_N, form % 2 ? TW_T : TW_N, m, n, K);
    p.dtype_b = of->b, p.dtype_c = dtype_c;
    if (of->sums == TW_I32) p.alpha = 0.015625;
    tw_batch batch = tw_batch_make(&p, COUNT);
    const size_t c_bytes = (size_t)(m * n) * bytes_of(dtype_c), bytes = bytes_of(of->a);
    char *a = drawn(&d, of->a, a_items * m * K, false), *b = drawn(&d, of->b, b_items * K * n, false);
    char *c = malloc(COUNT * c_bytes), *each = malloc(COUNT * c_bytes);
    const void *at[3][COUNT];
    if (form == 1) batch.stride_a = 0;
    if (form == 2) batch.stride_b = 0;
    bool passed = true;
    for (int i = 0; passed && i < COUNT; i++) {
        at[0][i] = a + (size_t)(i * batch.stride_a) * bytes, at[1][i] = b + (size_t)(i * batch.stride_b) * bytes;
        at[2][i] = c + (size_t)i * c_bytes;
        passed = tw_gemm(context, &p, at[0][i], at[1][i], each + (size_t)i * c_bytes) == TW_OK;
    }
    if (form == 3) batch.pointers = 1, batch.stride_a = batch.stride_b = batch.stride_c = 0;
    if (passed)
        passed = (form == 3 ? tw_gemm_batched(context, &p, &batch, at[0], at[1], (void *)at[2])
                            : tw_gemm_batched(context, &p, &batch, a, b, c)) == TW_OK;
    tap_result(passed && memcmp(c, each, COUNT * c_bytes) == 0, "%s", passed ? "other bits" : tw_error_text());
    free(a), free(b), free(c), free(each);
    tw_close(context);
}

/* A call that leaves dtype_c out after one of the same shape with a C of two bytes. */
static void recall_case(const char *level, const narrow *of)
{
    const uint16_t one = narrowed(of, 1), two = narrowed(of, 2);
    _Alignas(8) const uint16_t x[2] = {one, two}; /* aligned, so that the plan is recalled */
    _Alignas(8) const uint16_t y[1] = {one};
    if (!tap_case("%s: C in f32 after C in %s", level, tw_lab_dtype_of(of->dtype)->name)) return;
    tw_context *context = open_as(level, 1);
    tw_problem p = tw_problem_make(of->dtype, TW_N, TW_N, 2, 1, 1);
    _Alignas(8) uint16_t half[2] = {0};
    float single[2] = {0};
    p.dtype_c = of->dtype;
    bool passed = tw_gemm(context, &p, x, y, half) == TW_OK;
    p.dtype_c = 0;
    passed = passed && tw_gemm(context, &p, x, y, single) == TW_OK;
    tap_result(passed && half[0] == one && half[1] == two && single[0] == 1 && single[1] == 2, "%04x %04x, %g %g",
               half[0], half[1], (double)single[0], (double)single[1]);
    tw_close(context);
}

/* Rows that share a micro-kernel have the tile that it is compiled for. */
static void shared_case(void)
{
    const char *wrong = NULL;
    int shared = 0;
    if (!tap_case("rows of one micro-kernel have one tile")) return;
    for (int i = 0; i < kernel_count(); i++)
        for (int j = 0; j < i; j++) {
            const kernel_row *x = kernel_at(i), *y = kernel_at(j);
            if (x->micro == NULL || x->micro != y->micro) continue;
            shared++;
            if (x->lab.tile_m != y->lab.tile_m || x->lab.tile_n != y->lab.tile_n) wrong = x->lab.name;
        }
    tap_result(wrong == NULL && shared > 0, "%s", wrong != NULL ? wrong : "none is shared");
}

/* What has no such C says so, and so does a scalar of a C that has no fractions. */
static void refused_case(void)
{
    int8_t a[4] = {1, 2, 3, 4};
    float c[4] = {0};
    char why[3][200];
    if (!tap_case("what is refused")) return;
    tw_problem p = tw_problem_make(TW_I8, TW_N, TW_N, 2, 2, 2);
    p.alpha = 0.5;
    bool right = tw_gemm(NULL, &p, a, a, c) == TW_BAD_ARGUMENT;
    snprintf(why[0], sizeof why[0], "%.190s", tw_error_text());
    p.dtype_c = TW_F32;
    right = right && tw_gemm(NULL, &p, a, a, c) == TW_OK && c[0] == 3.5f && c[3] == 11;
    p.flags = TW_LOWER;
    right = right && tw_gemm(NULL, &p, a, a, c) == TW_NO_KERNEL;
    snprintf(why[1], sizeof why[1], "%.190s", tw_error_text());
    p.flags = 0, p.dtype_c = TW_BF16;
    right = right && tw_gemm(NULL, &p, a, a, c) == TW_BAD_ARGUMENT;
    snprintf(why[2], sizeof why[2], "%.190s", tw_error_text());
    tap_result(right && strstr(why[0], "alpha is 0.5, expected a whole number") != NULL &&
                   strstr(why[1], "the problem wants a triangle") != NULL &&
                   strstr(why[2], "dtype_c is 4, expected 0, 6, 2, 5 or 12: i8 operands give those types") != NULL,
               "%s; %s; %s", why[0], why[1], why[2]);
}

int main(int argc, char **argv)
{
    static const char *const levels[] = {"base", "neon", "avx2", "avx512", "avx512_vnni", "avx512_bf16", "amx"};
    tap_start(argc, argv);
    shared_case();
    refused_case();
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        const kernel_row *of_f16 = row_of(levels[i], TW_F16), *of_bf16 = row_of(levels[i], TW_BF16),
                         *of_i8 = row_of(levels[i], TW_I8);
        if (of_f16 == NULL && of_bf16 == NULL && of_i8 == NULL && tap_case("%s", levels[i]))
            tap_skip("no kernel of this instruction set runs here");
        if (of_f16 != NULL) {
            widen_case(of_f16);
            narrow_case(of_f16, &narrows[0]), narrow_case(of_f16, &narrows[1]);
            recall_case(levels[i], &narrows[0]);
            for (int form = 0; form < 4; form++) batch_case(levels[i], &all_types[0], TW_F32, form, 19, 50);
        }
        if (of_bf16 != NULL) recall_case(levels[i], &narrows[1]);
        if (of_i8 != NULL) scale_case(of_i8, TW_F32), scale_case(of_i8, TW_I8), scale_case(of_i8, TW_U8);
        for (int t = 0; t < ALL_TYPES; t++) {
            const types *of = &all_types[t];
            if (row_of(levels[i], of->a) == NULL) continue;
            for (int threads = 1; threads <= 3; threads++)
                if (tap.full || of->sums == TW_F32 || threads == 1 + t % 3) product_case(levels[i], of, threads);
            for (int form = 0; form < 4; form++) {
                if (!tap.full && of->sums == TW_I32 && form != t % 4) continue;
                batch_case(levels[i], of, of->c, form, 19, 50), batch_case(levels[i], of, of->c, form, 1, 70);
            }
        }
    }
    return tap_finish();
}
