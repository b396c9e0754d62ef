/* test_emulated.c - f32 products from f16 halves (accuracy TW_EMULATED): elements near which the rule that allows them
 * might be wrong, in a model of the matrix unit in C and on a GPU; and whole products of hostile operands on a GPU. */
#include "../kernels/cuda/arguments.h"
#include "../kernels/cuda/emulated.h"
#include "element.h"
#include "support/die.h"
#include "support/tap.h"
#include "tilewright_lab.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double u = 0x1p-24, subnormal = 0x1p-149;

static double g(int64_t roundings) { return (double)roundings * u / (1 - (double)roundings * u); }

/* ---- lines ---- */

/* How a line's elements are drawn: sizes are powers of two of this spread, so many of 100 are zeros, and so many of
 * 1000 have the line's `far` sizes instead. */
typedef struct kind {
    const char *name;
    int spread, zeros, far_of, far;
    float special; /* not 0: one element of some lines */
    bool passes;   /* the rule allows halves beside even sizes */
} kind;

static const kind kinds[] = {{"even sizes", 1, 0, 0, 0, 0, true},
                             {"sizes over 2^20", 20, 0, 0, 0, 0, true},
                             {"sizes over 2^45", 45, 0, 0, 0, 0, false},
                             {"sizes over 2^120", 120, 0, 0, 0, 0, false},
                             {"half zeros", 1, 50, 0, 0, 0, true},
                             {"half zeros, sizes over 2^30", 30, 50, 0, 0, 0, false},
                             {"few elements 2^-40 of the others", 1, 0, 20, -40, 0, true},
                             {"few elements 2^40 times the others", 1, 0, 20, 40, 0, false},
                             {"few elements 2^24 times the others", 4, 30, 40, 24, 0, true},
                             {"few elements other than zero, of two sizes", 1, 97, 500, -30, 0, true},
                             {"a NaN", 1, 0, 0, 0, NAN, false},
                             {"an infinity", 1, 0, 0, 0, INFINITY, false},
                             {"negative infinity, sizes over 2^20", 20, 0, 0, 0, -INFINITY, false}};
enum { KINDS = sizeof kinds / sizeof *kinds };

static float draw(const kind *by, int scale, die *d)
{
    const double size = 1 + (double)roll(d, 1 << 23) * 0x1p-23;
    const int exponent = scale + (int)roll(d, by->spread) - by->spread / 2 + (roll(d, 1000) < by->far_of ? by->far : 0);
    if (roll(d, 100) < by->zeros) return 0;
    return (float)ldexp(roll(d, 2) ? size : -size, exponent);
}

/* A line and one that is hard on it. The first has one large element, where the second has 0; all others are rounded in
 * one direction by as much as can be, and the second is largest there. They are as small as counts as exact; or tiny,
 * with a low number alone, a subnormal high one or none, and then just enough elements, or few, are of the least size
 * that counts as big, beside the least that does not count as small. Or all sizes are random. */
static void draw_pair(float *a, float *b, int64_t k, die *d)
{
    enum { EXACT, ENOUGH_BIG, LOW_ALONE, SUBNORMAL, TOO_FEW, RANDOM, WAYS };
    const int way = (int)roll(d, WAYS), scale = (int)roll(d, 41) - 20, tiny = -14 - (int)roll(d, 60),
              small = -(int)roll(d, 60), few = 1 + (int)roll(d, 40);
    const double just_below = 1 - 0x1p-20, exact_size = ldexp(1, TINY) + ldexp(just_below, -25 - LOW);
    const int64_t most = k < 2 * ENOUGH ? k : 2 * ENOUGH;
    int64_t big = ((k - 1) * ENOUGH + most + ENOUGH - 1) / (most + ENOUGH); /* all others are tiny */
    if (way == TOO_FEW) big = roll(d, 3);
    for (int64_t p = 0; p < k; p++) {
        const bool large = roll(d, 100) < few;
        const double x = 1 + (double)roll(d, 1 << 23) * 0x1p-23, y = 1 + (double)roll(d, 1 << 23) * 0x1p-23;
        if (way == RANDOM) {
            a[p] = (float)ldexp(roll(d, 2) ? x : -x, large ? 0 : tiny);
            b[p] = large && scale > 0 ? 0 : (float)ldexp(roll(d, 2) ? y : -y, large ? small : 0);
            continue;
        }
        const bool first = p == 0, is_big = way != EXACT && p <= big;
        const double least = way == EXACT       ? exact_size
                             : way == LOW_ALONE ? ldexp(just_below, -25)
                             : way == SUBNORMAL ? ldexp(1, -24)
                                                : ldexp(just_below, -25 - LOW);
        a[p] = (float)ldexp(first ? ldexp(1, LARGEST) : is_big ? ldexp(1, BIG) : least, scale);
        b[p] = first ? 0 : (float)(is_big ? ldexp(1, SMALL) : ldexp(2 - 0x1p-23, LARGEST));
    }
}

/* ---- the model: what split.cu, the matrix unit and sgemm_emulated_sm90 do with two lines ---- */

typedef struct line {
    int exponent;
    int64_t tiny, big, small;
} line;

static line look_at(const float *x, int64_t k)
{
    line made = {0, 0, 0, 0};
    float largest = 0;
    for (int64_t p = 0; p < k; p++) largest = fmaxf(largest, fabsf(x[p]));
    if (largest > 0) made.exponent = LARGEST - ilogb(largest);
    for (int64_t p = 0; p < k && largest > 0; p++) { /* of zeros alone nothing is counted */
        const double size = ldexp(fabs((double)x[p]), made.exponent);
        made.tiny += size > 0 && size < ldexp(1, TINY);
        made.big += size >= ldexp(1, BIG);
        made.small += size < ldexp(1, SMALL);
    }
    return made;
}

/* May the tiny elements of one line be off beside the other? */
static bool allows(const line *one, const line *other, int64_t k)
{
    const int64_t most = k < 2 * ENOUGH ? k : 2 * ENOUGH;
    return one->tiny == 0 || one->big - (one->tiny * ENOUGH + most - 1) / most >= other->small;
}

/* Rounded to f16: to 11 bits, or to 2^-24. */
static double half_of(double x)
{
    const double unit = ldexp(1, x == 0 ? -24 : (int)fmax(ilogb(x) - 10, -24));
    return nearbyint(x / unit) * unit;
}

/* The exponent of a factor in f16: of subnormal numbers that of the least normal one. */
static int exponent_of(double x) { return x == 0 ? -1000 : (int)fmax(ilogb(x), -14); }

/* The matrix unit: 16 products and the sum so far, cut off 25 bits below the largest exponent and then to 24 bits. */
static double unit_step(double sum, const double *x, const double *y)
{
    double all = 0;
    int largest = sum == 0 ? -1000 : ilogb(sum);
    for (int q = 0; q < 16; q++) largest = (int)fmax(largest, exponent_of(x[q]) + exponent_of(y[q]));
    if (largest <= -1000) return 0;
    const double unit = ldexp(1, largest - 25);
    for (int q = 0; q < 16; q++) all += trunc(x[q] * y[q] / unit) * unit;
    all += trunc(sum / unit) * unit;
    if (all == 0) return 0;
    const double last = ldexp(1, ilogb(all) - 23);
    return trunc(all / last) * last;
}

enum { MOST_K = 16384 };

static double emulated(const float *a, const float *b, int64_t k, int exponent_a, int exponent_b)
{
    static double high_a[MOST_K], low_a[MOST_K], high_b[MOST_K], low_b[MOST_K];
    double small = 0;
    float sum = 0;
    for (int64_t p = k; p < k + HALVES_STEP && p < MOST_K; p++) high_a[p] = low_a[p] = high_b[p] = low_b[p] = 0;
    for (int64_t p = 0; p < k; p++) {
        const double x = ldexp(a[p], exponent_a), y = ldexp(b[p], exponent_b);
        high_a[p] = half_of(x), low_a[p] = half_of(ldexp(x - high_a[p], LOW));
        high_b[p] = half_of(y), low_b[p] = half_of(ldexp(y - high_b[p], LOW));
    }
    for (int64_t p = 0; p < k; p += HALVES_STEP) {
        double large = 0;
        for (int64_t q = p; q < p + HALVES_STEP; q += 16) {
            large = unit_step(large, &high_a[q], &high_b[q]);
            small = unit_step(small, &high_a[q], &low_b[q]);
            small = unit_step(small, &low_a[q], &high_b[q]);
        }
        sum += (float)large;
    }
    return ldexp(fmaf((float)small, ldexpf(1, -LOW), sum), -exponent_a - exponent_b);
}

/* The exact product and the sum of its finite terms' sizes, both to some 2^-50 of the latter. */
static void exact(const float *a, int64_t a_step, const float *b, int64_t b_step, int64_t k, double *sum, double *sizes)
{
    *sum = *sizes = 0;
    for (int64_t p = 0; p < k; p++) {
        const double x = (double)a[p * a_step] * b[p * b_step];
        *sum += x, *sizes += isfinite(x) ? fabs(x) : 0;
    }
}

/* Pairs of lines of a kind beside another: where the rule allows halves, the model is within the bound. NULL: lines
 * that are hard on each other; of some that the rule refuses halves would break the bound. */
static void model_case(const kind *of_a, const kind *of_b, int64_t k)
{
    enum { PAIRS = 60 };
    die d = {.seed = (uint64_t)k + 977};
    int allowed = 0, needed = 0, wrong = 0;
    double worst = 0;
    static float a[MOST_K], b[MOST_K];
    const bool hard = of_a == NULL, passes = !hard && of_b == &kinds[0] && of_a->passes;
    if (!tap_case("model: %s beside %s, k %d", hard ? "a line" : of_a->name, hard ? "one against it" : of_b->name,
                  (int)k))
        return;
    const int pairs = tap_rounds(k > 1000 ? PAIRS / 5 : PAIRS, 2);
    for (int i = 0; i < (tap.full ? 20 * pairs : pairs); i++) {
        double sum, sizes;
        if (hard)
            draw_pair(i % 2 ? a : b, i % 2 ? b : a, k, &d);
        else
            for (int64_t p = 0; p < k; p++) a[p] = draw(of_a, 0, &d), b[p] = draw(of_b, 0, &d);
        const line x = look_at(a, k), y = look_at(b, k);
        exact(a, 1, b, 1, k, &sum, &sizes);
        const double error = fabs(emulated(a, b, k, x.exponent, y.exponent) - sum),
                     bound = g(k + 2) * sizes + (double)(k + 1) * subnormal;
        const bool may = allows(&x, &y, k) && allows(&y, &x, k);
        allowed += may, needed += !may && error > bound, wrong += may && !(error <= bound);
        if (may && error / bound > worst) worst = error / bound;
    }
    tap_result(wrong == 0 && (allowed > 0 || !passes) && (needed > 0 || !hard || tap_spares()),
               "%d beyond the bound, the worst at %.3f of it; %d allowed, %d had to be refused", wrong, worst, allowed,
               needed);
}

static void model_cases(void)
{
    static const int64_t depths[] = {EMULATED_LEAST_K, 131, 500, 2048, MOST_K};
    for (size_t q = 0; q < sizeof depths / sizeof *depths; q++) {
        model_case(NULL, NULL, depths[q]);
        for (int i = 0; i < KINDS; i++)
            if (kinds[i].special == 0 && kinds[i].spread < 100)
                model_case(&kinds[i], &kinds[0], depths[q]), model_case(&kinds[i], &kinds[i], depths[q]);
    }
}

/* ---- whole products on a GPU ---- */

static tw_context *gpu;
static const char no_device[] = "no CUDA device of sm_90";

typedef struct matrix {
    float *at;
    int64_t line, step; /* from line to line, from one step of k to the next */
} matrix;

/* Lines of a kind, of sizes of their own around 2^all; one in 7, the first among them, holds what is special. */
static matrix make_lines(const kind *by, int64_t lines, int64_t k, bool along, int64_t ld, int scale, int all, die *d)
{
    matrix made = {malloc((size_t)((along ? lines : k) * ld) * sizeof(float)), along ? ld : 1, along ? 1 : ld};
    if (made.at == NULL) abort();
    for (int64_t i = 0; i < (along ? lines : k) * ld; i++) made.at[i] = NAN;
    for (int64_t i = 0; i < lines; i++) {
        const int own = all + scale * ((int)roll(d, 9) - 4);
        for (int64_t p = 0; p < k; p++) made.at[i * made.line + p * made.step] = draw(by, own, d);
        if (by->special != 0 && (i % 128 == 0 || roll(d, 7) == 0))
            made.at[i * made.line + roll(d, k) * made.step] = by->special;
    }
    return made;
}

static bool is_right(float found, double expected, double bound)
{
    if (isnan(expected)) return isnan(found);
    if (isinf(expected)) return found == expected;
    return fabs((double)found - expected) <= bound;
}

/* The first element beyond its bound, told; true: there is none. Where sums may overflow anything is right. */
static bool judge(const tw_problem *p, const matrix *a, const matrix *b, const float *before, const float *c,
                  char text[160])
{
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++) {
            double sum, sizes;
            const double c0 = p->beta != 0 ? before[i * p->ldc + j] : 0;
            exact(a->at + i * a->line, a->step, b->at + j * b->line, b->step, p->k, &sum, &sizes);
            const double expected = p->alpha * sum + p->beta * c0,
                         bound = fabs(p->alpha) * g(p->k + 2) * sizes + g(2) * fabs(p->beta * c0) +
                                 (fmax(1, fabs(p->alpha)) * (double)p->k + 1) * subnormal;
            if (sizes * fmax(1, fabs(p->alpha)) > FLT_MAX / 2) continue;
            if (is_right(c[i * p->ldc + j], expected, bound)) continue;
            snprintf(text, 160, "(%d, %d) is %.9g, expected %.9g within %.3g", (int)i, (int)j,
                     (double)c[i * p->ldc + j], expected, bound);
            return false;
        }
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = p->n; j < p->ldc; j++)
            if (memcmp(&c[i * p->ldc + j], &before[i * p->ldc + j], sizeof *c) != 0) {
                snprintf(text, 160, "row %d: the gap behind it was written", (int)i);
                return false;
            }
    return true;
}

/* How a product is run: by a kernel that is forced, or by tw_gemm() as it chooses. */
static tw_status run(const char *kernel, const tw_problem *p, const matrix *a, const matrix *b, float *c)
{
    const tw_lab_choice choice = {.kernel = kernel};
    tw_lab_run *run = NULL;
    if (kernel == NULL) return tw_gemm(gpu, p, a->at, b->at, c);
    tw_status status = tw_lab_run_open(gpu, &choice, p, a->at, b->at, c, &run);
    if (status == TW_OK) status = tw_lab_run_once(run, NULL);
    if (status == TW_OK) status = tw_lab_run_fetch(run, c);
    tw_lab_run_close(run);
    return status;
}

/* What the bits must show, beside native f32's: something was emulated, nothing was, or either. */
typedef enum bits { OTHER, SAME, ANY } bits;

static bool bits_are(bits wanted, const tw_problem *p, const float *c, const float *native)
{
    bool same = true;
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++) {
            const float x = c[i * p->ldc + j], y = native[i * p->ldc + j];
            same = same && (memcmp(&x, &y, sizeof x) == 0 || (isnan(x) && isnan(y)));
        }
    return wanted == ANY || same == (wanted == SAME);
}

/* One product, judged, and its bits beside those of a kernel that adds in the same order as the native one. Frees. */
static void judge_product(const char *kernel, const tw_problem *p, matrix a, matrix b, bits wanted, die *d)
{
    const size_t bytes = (size_t)(p->m * p->ldc) * sizeof(float);
    float *c = malloc(bytes), *before = malloc(bytes), *native = malloc(bytes);
    char text[160] = "as native f32 has them, or not, where it should be otherwise";
    if (c == NULL || before == NULL || native == NULL) abort();
    for (int64_t i = 0; i < p->m * p->ldc; i++) before[i] = p->beta == 0 ? NAN : draw(&kinds[0], 0, d);
    memcpy(c, before, bytes), memcpy(native, before, bytes);
    tw_status status = run(kernel, p, &a, &b, c);
    if (status == TW_OK) status = run("cuda_f32_sgemm_cpasync_sm80_128x128", p, &a, &b, native);
    const bool right = status == TW_OK && judge(p, &a, &b, before, c, text) && bits_are(wanted, p, c, native);
    tap_result(right, "%s", status == TW_OK ? text : tw_error_text());
    free(a.at), free(b.at), free(c), free(before), free(native);
}

static bool has_gpu(void)
{
    if (gpu == NULL) tap_skip(no_device);
    return gpu != NULL;
}

static const char emulated_kernel[] = "cuda_f32_sgemm_emulated_sm90_128x128";

/* scales: powers of two by which lines differ from each other, and all of A and of B. */
static void product_case(const kind *of_a, const kind *of_b, int ops, int64_t m, int64_t n, int64_t k,
                         const int scales[3], int pad)
{
    tw_problem p = tw_problem_make(TW_F32, (tw_op)(ops / 2), (tw_op)(ops % 2), m, n, k);
    die d = {.seed = (uint64_t)(m * 7 + n * 5 + k * 3 + ops)};
    if (!tap_case("gpu: %s by %s %c%c %dx%dx%d scales %d %d %d pad %d", of_a->name, of_b->name, "nt"[p.op_a],
                  "nt"[p.op_b], (int)m, (int)n, (int)k, scales[0], scales[1], scales[2], pad) ||
        !has_gpu())
        return;
    p.lda += pad, p.ldb += pad, p.ldc += pad;
    p.alpha = ops % 2 ? -0.75 : 1, p.beta = pad ? 0.5 : 0;
    const bool special = of_a->special != 0 && m > 100;
    judge_product(emulated_kernel, &p, make_lines(of_a, m, k, p.op_a == TW_N, p.lda, scales[0], scales[1], &d),
                  make_lines(of_b, n, k, p.op_b == TW_T, p.ldb, -scales[0], scales[2], &d),
                  special                                                 ? SAME
                  : of_a == &kinds[0] && of_b == &kinds[0] && m * n > 100 ? OTHER
                                                                          : ANY,
                  &d);
}

/* Operands that are hard on each other, line by line; some tiles have none. */
static void hard_case(int64_t m, int64_t n, int64_t k)
{
    const tw_problem p = tw_problem_make(TW_F32, TW_N, TW_T, m, n, k);
    die d = {.seed = (uint64_t)k};
    if (!tap_case("gpu: lines against each other %dx%dx%d", (int)m, (int)n, (int)k) || !has_gpu()) return;
    const matrix a = make_lines(&kinds[0], m, k, true, k, 0, 0, &d), b = make_lines(&kinds[0], n, k, true, k, 0, 0, &d);
    for (int64_t i = 0; i < m && i < n; i += 1 + roll(&d, 200)) {
        const bool of_a = roll(&d, 2) == 0;
        draw_pair((of_a ? a : b).at + i * k, (of_a ? b : a).at + i * k, k, &d);
    }
    judge_product(emulated_kernel, &p, a, b, OTHER, &d);
}

/* As callers have it: tw_gemm() chooses, and blocks that compute several tiles find some of them left. Then the same
 * with an epilogue, and without what is left, on the same device memory as like as not. */
static void chosen_case(bool hostile, bool with_epilogue)
{
    enum { M = 1536, N = 1664, K = 200, BAND = 128 };
    static float bias[N];
    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, M, N, K);
    tw_lab_plan plan;
    die d = {.seed = 11};
    if (!tap_case("gpu: as tw_gemm() chooses%s%s", hostile ? ", every third band of rows left" : "",
                  with_epilogue ? ", with an epilogue" : "") ||
        !has_gpu())
        return;
    const tw_binding of_bias = {.size = sizeof of_bias, .dtype = TW_F32, .name = "bias", .at = bias, .stride = 1};
    tw_epilogue *epilogue = NULL;
    matrix a = make_lines(&kinds[0], M, K, true, K, 0, 0, &d), b = make_lines(&kinds[0], N, K, false, N, 0, 0, &d);
    for (int64_t i = 0; hostile && i < M; i += 3 * BAND) a.at[i * K + 5] = 0x1p60f, a.at[i * K + 6] = 0x1p-60f;
    for (int64_t j = 0; hostile && j < N; j++) b.at[5 * N + j] = 0;
    p.accuracy = TW_EMULATED;
    const bool made = !with_epilogue || tw_epilogue_make("acc + bias[j]", &of_bias, 1, &epilogue) == TW_OK;
    p.epilogue = epilogue; /* which adds 0 */
    const tw_lab_choice choice = {.kernel = NULL};
    if (!made || tw_lab_plan_of(gpu, &choice, &p, &plan) != TW_OK || !plan.kernel->emulates)
        tap_result(false, "%s", made ? "it is not emulated" : tw_error_text()), free(a.at), free(b.at);
    else
        judge_product(NULL, &p, a, b, OTHER, &d);
    tw_epilogue_free(epilogue);
}

/* Lines of 160: products of 2^-1 in the first half, as many as the rule wants; in each step of 16 of the other half
 * products of 2^-12 beside one of the largest element by `beside`. What the unit cuts off there says by what exponent
 * it aligns the latter, whose product is smaller. */
static void draw_probe(float *a, float *b, float beside, die *d)
{
    for (int64_t p = 0; p < 160; p++) {
        const bool first_half = p < 80, largest = !first_half && p % 16 == 5;
        a[p] = largest ? 0x1p14f : draw(&kinds[0], -7, d);
        b[p] = p == 0 ? 0x1p14f : largest ? beside : draw(&kinds[0], first_half ? 6 : -5, d);
    }
    a[0] = 0;
}

/* The bits of the model, element by element, of lines of a kind or of draw_probe(). */
static void model_bits_case(const kind *by, const char *what, float beside)
{
    enum { LINES = 40, K = 160 };
    const tw_problem p = tw_problem_make(TW_F32, TW_N, TW_T, LINES, LINES, K);
    die d = {.seed = 5};
    float c[LINES * LINES];
    int others = 0;
    if (!tap_case("gpu: the bits of the model, %s", what) || !has_gpu()) return;
    matrix a = make_lines(by, LINES, K, true, K, 0, 0, &d), b = make_lines(by, LINES, K, true, K, 0, 0, &d);
    if (by == &kinds[0] && what != by->name) /* whichever line of A meets which of B */
        for (int64_t i = 0; i < LINES; i++) draw_probe(a.at + i * K, b.at + i * K, beside, &d);
    const tw_status status = run(emulated_kernel, &p, &a, &b, c);
    for (int64_t i = 0; i < LINES && status == TW_OK; i++)
        for (int64_t j = 0; j < LINES; j++) {
            const line x = look_at(a.at + i * K, K), y = look_at(b.at + j * K, K);
            others += c[i * LINES + j] != (float)emulated(a.at + i * K, b.at + j * K, K, x.exponent, y.exponent);
        }
    tap_result(status == TW_OK && others == 0, "%s: %d of %d elements have other bits",
               status == TW_OK ? "" : tw_error_text(), others, LINES * LINES);
    free(a.at), free(b.at);
}

static void gpu_cases(void)
{
    static const struct {
        int64_t m, n, k;
    } shapes[] = {{128, 128, 128}, {127, 129, 160}, {300, 257, 131}, {129, 520, 1000}, {1, 1, 500}, {385, 3, 333}};
    static const int plain[3] = {0, 0, 0}, apart[3] = {15, 0, 0},
                     ends[][3] = {{0, -140, 120}, {0, 120, -140}, {0, -70, -70}, {2, 60, 50}, {0, -126, 126}};
    for (int i = 0; i < KINDS; i++)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
            product_case(&kinds[i], &kinds[s == 0 ? 0 : (i + (int)s) % KINDS], (i + (int)s) % 4, shapes[s].m,
                         shapes[s].n, shapes[s].k, i % 3 == 1 ? apart : plain, (i + (int)s) % 5);
    for (size_t s = 0; s < sizeof ends / sizeof *ends; s++)
        for (int i = 0; i < 2; i++) product_case(&kinds[i], &kinds[0], (int)s % 4, 130, 140, 150, ends[s], (int)s % 2);
    hard_case(640, 600, 128), hard_case(600, 640, 700);
    for (int i = 0; i < KINDS; i++) /* of few elements other than zero some tiles are left */
        if (kinds[i].passes && kinds[i].zeros < 90) model_bits_case(&kinds[i], kinds[i].name, 0);
    model_bits_case(&kinds[0], "the largest beside a zero", 0);
    model_bits_case(&kinds[0], "the largest beside a subnormal high number", 0x1p-24f);
    model_bits_case(&kinds[0], "the largest beside a low number alone", 0x1.8p-26f);
    model_bits_case(&kinds[0], "the largest beside a subnormal low number", 0x1p-14f + 0x1p-36f);
    chosen_case(true, false), chosen_case(true, true), chosen_case(false, false);
}

/* ---- what a caller sees elsewhere ---- */

/* Where nothing is emulated, allowing it changes no bit. */
static void cpu_case(void)
{
    float a[100 * 100], b[100 * 100], c[2][100 * 100];
    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, 100, 100, 100);
    die d = {.seed = 3};
    if (!tap_case("cpu: the bits of TW_NATIVE")) return;
    for (int i = 0; i < 100 * 100; i++) a[i] = draw(&kinds[1], 0, &d), b[i] = draw(&kinds[1], 0, &d);
    const tw_status native = tw_gemm(NULL, &p, a, b, c[0]);
    p.accuracy = TW_EMULATED;
    const tw_status emulated = tw_gemm(NULL, &p, a, b, c[1]);
    tap_result(native == TW_OK && emulated == TW_OK && memcmp(c[0], c[1], sizeof c[0]) == 0, "%s", tw_error_text());
}

static void refused_case(void)
{
    float x = 1;
    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, 1, 1, 1);
    if (!tap_case("an accuracy that there is not")) return;
    p.accuracy = 2;
    const tw_status status = tw_gemm(NULL, &p, &x, &x, &x);
    tap_result(status == TW_BAD_ARGUMENT &&
                   strcmp(tw_error_text(), "accuracy is 2, expected TW_NATIVE (0) or TW_EMULATED (1)") == 0,
               "%d: %s", status, tw_error_text());
}

int main(int argc, char **argv)
{
    tap_start(argc, argv);
    const tw_options options = {.size = sizeof options, .engine = "cuda"};
    const tw_lab_choice choice = {.kernel = emulated_kernel};
    const tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, 128, 128, 128);
    if (!tap.list && tw_open(&options, &gpu) == TW_OK && tw_lab_fits(gpu, &choice, &p, NULL, 0) != 1)
        tw_close(gpu), gpu = NULL;
    model_cases();
    gpu_cases();
    cpu_case();
    refused_case();
    tw_close(gpu);
    return tap_finish();
}
