/* test_f16.c - halves on the CPU, by each instruction set: all 65,536 of them widened, floats around every one
 * narrowed, and products that are, bit for bit, those of the widened operands in f32. */
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
static float widened(uint16_t half)
{
    const int exponent = half >> 10 & 31, fraction = half & 1023;
    const double size = exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25);
    if (exponent < 31) return (float)(half & 0x8000 ? -size : size);
    const uint32_t quiet = fraction != 0 ? 0x400000 : 0;
    return float_of((uint32_t)(half & 0x8000) << 16 | 0x7f800000 | (uint32_t)fraction << 13 | quiet);
}

/* The nearest of all halves: the neighbour below by bisection, then whichever is nearer, a tie to the even one. Sizes
 * from 65520 on are nearer to 2^16, for which infinity stands. */
static uint16_t narrowed(float x)
{
    const uint16_t sign = signbit(x) ? 0x8000 : 0;
    const double size = fabs((double)x);
    if (isnan(x)) return (uint16_t)(sign | 0x7e00 | (bits_of(x) >> 13 & 0x1ff));
    if (size >= 65520) return (uint16_t)(sign | 0x7c00);
    uint16_t low = 0, high = 0x7c00;
    while (high - low > 1) {
        const uint16_t middle = (uint16_t)((low + high) / 2);
        if ((double)widened(middle) <= size)
            low = middle;
        else
            high = middle;
    }
    const double below = size - (double)widened(low), above = (high == 0x7c00 ? 65536 : (double)widened(high)) - size;
    return (uint16_t)(sign | (below < above || (below == above && low % 2 == 0) ? low : high));
}

static const kernel_row *row_of(const char *level)
{
    char name[64];
    snprintf(name, sizeof name, "cpu_f16_gemm_simd_%s", level);
    const kernel_row *row = kernel_named(name);
    return row != NULL && cpu_has(detect_features(), row->features) ? row : NULL;
}

static const struct {
    const char *name;
    int mode;
} roundings[] = {{"to nearest", FE_TONEAREST}, {"down", FE_DOWNWARD}, {"up", FE_UPWARD}, {"to 0", FE_TOWARDZERO}};
enum { ROUNDINGS = sizeof roundings / sizeof *roundings };

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
            if (bits_of(found[i]) != bits_of(widened((uint16_t)i))) wrong = i;
    }
    /* every count, from odd addresses of halves, and nothing behind the last */
    for (int count = 0; wrong < 0 && count < ROOM; count++) {
        memset(found, 0xa5, sizeof(float) * (ROOM + 1));
        row->widen(halves + 1 + count, found, count);
        for (int i = 0; wrong < 0 && i <= ROOM; i++)
            if (bits_of(found[i]) != (i < count ? bits_of(widened((uint16_t)(1 + count + i))) : 0xa5a5a5a5)) wrong = i;
    }
    tap_result(wrong < 0, "%04x became %08x", wrong, wrong < 0 ? 0 : (unsigned)bits_of(found[wrong]));
}

/* Each half, the middle between it and the next, the floats beside both, and as many floats at random. */
static void narrow_case(const kernel_row *row, int rounding)
{
    static float from[6 * HALVES];
    static uint16_t found[6 * HALVES + ROOM];
    die d = {.seed = 16};
    int count = 0, wrong = -1;
    if (!tap_case("%s narrows to nearest, the caller rounding %s", row->lab.name, roundings[rounding].name)) return;
    for (int i = 0; i < HALVES; i++) {
        const float at = widened((uint16_t)i);
        const float next = (i & 0x7fff) == 0x7bff ? copysignf(65536, at) : widened((uint16_t)(i + 1));
        const float middle = (i & 0x7fff) >= 0x7c00 ? at : (float)(((double)at + (double)next) / 2);
        from[count++] = at, from[count++] = middle;
        from[count++] = nextafterf(middle, INFINITY), from[count++] = nextafterf(middle, -INFINITY);
        from[count++] = nextafterf(at, INFINITY);
        from[count++] = float_of((uint32_t)roll(&d, INT64_C(1) << 32));
    }
    fesetround(roundings[rounding].mode);
    row->narrow(from, found, count);
    fesetround(FE_TONEAREST);
    for (int i = 0; wrong < 0 && i < count; i++)
        if (found[i] != narrowed(from[i])) wrong = i;
    for (int left = 0; wrong < 0 && left < ROOM; left++) {
        memset(found, 0xa5, sizeof(uint16_t) * (ROOM + 1));
        row->narrow(from + 3 * left, found, left);
        for (int i = 0; wrong < 0 && i <= ROOM; i++)
            if (found[i] != (i < left ? narrowed(from[3 * left + i]) : 0xa5a5)) wrong = 3 * left + i;
    }
    tap_result(wrong < 0, "%a became %04x, expected %04x", wrong < 0 ? 0 : (double)from[wrong],
               wrong < 0 ? 0 : found[wrong], wrong < 0 ? 0 : narrowed(from[wrong]));
}

/* A product of halves and that of their values in f32. */
typedef struct products {
    tw_problem p;
    uint16_t *a, *b, *c_half; /* c_half: of f16 */
    float *wide_a, *wide_b, *wide_c, *c;
    int64_t a_count, b_count, c_count;
} products;

static uint16_t draw_half(die *d, bool special)
{
    const int64_t any = roll(d, HALVES);
    if (special && roll(d, 50) == 0) return (uint16_t)any;
    return (uint16_t)((any & 0x83ff) | (8 + roll(d, 12)) << 10); /* of ordinary size */
}

static void products_make(products *x, die *d, const tw_problem *p, bool special)
{
    x->p = *p;
    x->a_count = (p->op_a == TW_N ? p->m : p->k) * p->lda, x->b_count = (p->op_b == TW_N ? p->k : p->n) * p->ldb,
    x->c_count = p->m * p->ldc;
    x->a = malloc((size_t)x->a_count * 2 + 2), x->b = malloc((size_t)x->b_count * 2 + 2);
    x->c_half = malloc((size_t)x->c_count * 2 + 2), x->c = malloc((size_t)x->c_count * 4 + 4);
    x->wide_a = malloc((size_t)x->a_count * 4 + 4), x->wide_b = malloc((size_t)x->b_count * 4 + 4);
    x->wide_c = malloc((size_t)x->c_count * 4 + 4);
    for (int64_t i = 0; i < x->a_count; i++) x->wide_a[i] = widened(x->a[i] = draw_half(d, special));
    for (int64_t i = 0; i < x->b_count; i++) x->wide_b[i] = widened(x->b[i] = draw_half(d, special));
    /* beta 0 must not see a NaN */
    for (int64_t i = 0; i < x->c_count; i++)
        x->c[i] = x->wide_c[i] = widened(x->c_half[i] = p->beta == 0 ? 0x7e01 : draw_half(d, special));
}

static void products_free(products *x)
{
    free(x->a), free(x->b), free(x->c_half), free(x->c);
    free(x->wide_a), free(x->wide_b), free(x->wide_c);
}

/* Which NaN comes of two is the processor's choice. */
static bool alike(float x, float y) { return bits_of(x) == bits_of(y) || (isnan(x) && isnan(y)); }

static bool products_agree(tw_context *context, products *x, char text[200])
{
    tw_problem p = x->p;
    text[0] = '\0';
    tw_status status = tw_gemm(context, &p, x->a, x->b, x->c);
    p.dtype_c = TW_F16;
    if (status == TW_OK) status = tw_gemm(context, &p, x->a, x->b, x->c_half);
    p.dtype = TW_F32, p.dtype_c = 0;
    if (status == TW_OK) status = tw_gemm(context, &p, x->wide_a, x->wide_b, x->wide_c);
    if (status != TW_OK) snprintf(text, 200, "%.190s", tw_error_text());
    for (int64_t i = 0; text[0] == '\0' && i < x->c_count; i++) {
        const bool padding = i % p.ldc >= p.n;
        const uint16_t expected = narrowed(x->wide_c[i]);
        if (!alike(x->c[i], x->wide_c[i]))
            snprintf(text, 200, "element %" PRId64 " of C in f32 is %a, of the widened operands %a", i, (double)x->c[i],
                     (double)x->wide_c[i]);
        else if (!padding && x->c_half[i] != expected && !(isnan(x->wide_c[i]) && isnan(widened(x->c_half[i]))))
            snprintf(text, 200, "element %" PRId64 " of C in f16 is %04x, expected %04x", i, x->c_half[i], expected);
    }
    return text[0] == '\0';
}

static tw_context *open_as(const char *level, int threads)
{
    tw_context *context = NULL;
    const tw_options options = {.size = sizeof options, .engine = "cpu", .instruction_set = level, .threads = threads};
    return tw_open(&options, &context) == TW_OK ? context : NULL;
}

/* Shapes that take each way through the engine, drawn; every fourth has halves of all kinds among its operands. */
static void product_case(const char *level, int threads)
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
                                        /* of several chunks of k */
                                        {1, 40, 16400},
                                        {50, 1, 8200},
                                        {9, 50, 20001},
                                        {70, 400, 8193}};
    enum { SHAPES = sizeof shapes / sizeof *shapes };
    char text[200] = "";
    if (!tap_case("%s, %d threads: the bits of f32", level, threads)) return;
    tw_context *context = open_as(level, threads);
    bool passed = context != NULL;
    die d = {.seed = (uint64_t)threads};
    tw_problem p = {0};
    for (int i = 0; passed && i < (tap.full ? 16 : 4) * SHAPES; i++) {
        const int64_t *s = shapes[i % SHAPES];
        p = tw_problem_make(TW_F16, (tw_op)roll(&d, 2), (tw_op)roll(&d, 2), s[0], s[1], s[2]);
        p.lda += roll(&d, 2) * 3, p.ldb += roll(&d, 2) * 5, p.ldc += roll(&d, 2);
        p.alpha = (double)(roll(&d, 4) * 5 + 1) / 4, p.beta = (double)roll(&d, 3) / 2;
        products x;
        products_make(&x, &d, &p, i % 4 == 3);
        passed = products_agree(context, &x, text);
        products_free(&x);
    }
    tw_close(context);
    tap_result(passed, "%c%c %" PRId64 " x %" PRId64 " x %" PRId64 " alpha %g beta %g: %s", "NT"[p.op_a], "NT"[p.op_b],
               p.m, p.n, p.k, p.alpha, p.beta, text);
}

/* Items of a batch, at strides with a shared A or B, and by addresses, have the bits of tw_gemm. */
static void batch_case(const char *level, tw_dtype dtype_c, int form, int64_t m, int64_t n)
{
    enum { COUNT = 5, K = 71 };
    const int64_t a_items = form == 1 ? 1 : COUNT, b_items = form == 2 ? 1 : COUNT;
    if (!tap_case("%s: a batch of %" PRId64 " x %" PRId64 ", C in %s, form %d", level, m, n,
                  tw_lab_dtype_of(dtype_c)->name, form))
        return;
    tw_context *context = open_as(level, 2);
    die d = {.seed = (uint64_t)form};
    tw_problem p = tw_problem_make(TW_F16, TW_N, form % 2 ? TW_T : TW_N, m, n, K);
    p.dtype_c = dtype_c;
    tw_batch batch = tw_batch_make(&p, COUNT);
    const size_t c_bytes = (size_t)(m * n) * (dtype_c == TW_F16 ? 2 : 4);
    uint16_t *a = malloc((size_t)(a_items * m * K) * 2), *b = malloc((size_t)(b_items * K * n) * 2);
    char *c = malloc(COUNT * c_bytes), *each = malloc(COUNT * c_bytes);
    const void *at[3][COUNT];
    for (int64_t i = 0; i < a_items * m * K; i++) a[i] = draw_half(&d, false);
    for (int64_t i = 0; i < b_items * K * n; i++) b[i] = draw_half(&d, false);
    if (form == 1) batch.stride_a = 0;
    if (form == 2) batch.stride_b = 0;
    bool passed = true;
    for (int i = 0; passed && i < COUNT; i++) {
        at[0][i] = a + i * batch.stride_a, at[1][i] = b + i * batch.stride_b, at[2][i] = c + (size_t)i * c_bytes;
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

/* A call that leaves dtype_c out after one of the same shape with a C of f16. */
static void recall_case(const char *level)
{
    _Alignas(8) const uint16_t x[2] = {0x3c00, 0x4000}; /* aligned, so that the plan is recalled */
    _Alignas(8) const uint16_t y[1] = {0x3c00};
    if (!tap_case("%s: C in f32 after C in f16", level)) return;
    tw_context *context = open_as(level, 1);
    tw_problem p = tw_problem_make(TW_F16, TW_N, TW_N, 2, 1, 1);
    _Alignas(8) uint16_t half[2] = {0};
    float single[2] = {0};
    p.dtype_c = TW_F16;
    bool passed = tw_gemm(context, &p, x, y, half) == TW_OK;
    p.dtype_c = 0;
    passed = passed && tw_gemm(context, &p, x, y, single) == TW_OK;
    tap_result(passed && half[0] == 0x3c00 && half[1] == 0x4000 && single[0] == 1 && single[1] == 2, "%04x %04x, %g %g",
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

int main(int argc, char **argv)
{
    static const char *const levels[] = {"base", "neon", "avx2", "avx512"};
    tap_start(argc, argv);
    shared_case();
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        const kernel_row *row = row_of(levels[i]);
        if (row == NULL) {
            if (tap_case("%s", levels[i])) tap_skip("no kernel of this instruction set runs here");
            continue;
        }
        widen_case(row);
        for (int r = 0; r < ROUNDINGS; r++) narrow_case(row, r);
        for (int threads = 1; threads <= 3; threads++) product_case(levels[i], threads);
        for (int form = 0; form < 4; form++) {
            batch_case(levels[i], TW_F32, form, 19, 50), batch_case(levels[i], TW_F16, form, 19, 50);
            batch_case(levels[i], TW_F16, form, 1, 70);
        }
        recall_case(levels[i]);
    }
    return tap_finish();
}
