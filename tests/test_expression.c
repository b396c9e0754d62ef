/* test_expression.c - epilogues: what a text makes of C, on every engine. Formulas against the same in C; random texts
 * and products against intervals (src/interval.c); each function over the floats; refusals, texts that mean harm. */
#include <math.h>

#include "engines/cuda/cu_api.h"
#include "oracle.h"
#include "support/die.h"
#include "support/tap.h"
#include "tilewright_lab.h"

enum { LONGEST = 400, MOST_TEXT = 4096, EPILOGUE_LENGTH_TESTED = MOST_TEXT + 2 };

/* Where products run: contexts to take in turns, NULL where there is no device. */
typedef struct place {
    const char *engine;
    tw_context *of[2];
    const double *ulps; /* of each of `functions` */
} place;

enum { FUNCTION_CASES = 6 };
static const double exact_ulps[FUNCTION_CASES] = {2, 2, 3, 3, 1, 0.5},
                    opencl_ulps[FUNCTION_CASES] = {3, 3, 5, 3, 1, 0.5}; /* OpenCL 1.2, section 7.4 */
static place cpu = {.engine = "cpu", .ulps = exact_ulps}, cuda = {.engine = "cuda", .ulps = exact_ulps},
             opencl = {.engine = "opencl", .ulps = opencl_ulps};

static bool is_gpu(const place *on) { return on != &cpu; }

/* ---- formulas ---- */

/* The operands that are bound, by their names; element q of each is operand_at(). */
enum { BIAS, SCALE, GRID, FACTOR, THIRD, BINDINGS };

static double operand_at(int64_t q) { return (double)(q % 11 - 5) / 4; }

typedef struct formula {
    const char *text;
    double (*value)(double acc, int64_t i, int64_t j);
} formula;

static double bias(int64_t j) { return operand_at(j); }
static double scale(int64_t i) { return operand_at(3 * i); }
static double grid(int64_t i, int64_t j) { return operand_at(i * LONGEST + j); }

static double plain(double acc, int64_t i, int64_t j) { return acc + 0 * (double)(i + j); }
static double biased(double acc, int64_t i, int64_t j) { return fmax(acc + bias(j) + 0 * (double)i, 0); }
static double scaled(double acc, int64_t i, int64_t j) { return acc * scale(i) - grid(i, j) / 2; }
static double leaky(double acc, int64_t i, int64_t j) { return acc < 0 ? 0.5 * acc : acc + 0 * (double)(i + j); }
static double placed(double acc, int64_t i, int64_t j) { return acc * 0 + (double)(3 * i - j); }
static double across(double acc, int64_t i, int64_t j) { return fmin(fmax(acc, grid(j, i)), 4) + bias(i) * scale(j); }
static double constant(double acc, int64_t i, int64_t j) { return 0.5 + 3.25 + 0 * (acc + (double)(i + j)); }
static double compared(double acc, int64_t i, int64_t j)
{
    return (acc <= bias(j)) + 2 * (acc > scale(i)) + 4 * (acc == 0) + 8 * (acc != 1) + 16 * (i >= j);
}
static double rooted(double acc, int64_t i, int64_t j)
{
    return sqrt(fabs(acc) * fabs(acc)) + -(-2.0) * (double)(i + j);
}

static double together(double acc, int64_t i, int64_t j)
{
    return acc / 2 + bias(j) - 2 * scale(i) + grid(i, j) - grid(j, i) / 2;
}
static double uncontracted(double acc, int64_t i, int64_t j) { return 0 * (acc + (double)(i + j)); }
static double masked(double acc, int64_t i, int64_t j) { return j > i ? -(double)INFINITY : acc; }

static const formula formulas[] = {
    {"acc", plain},
    {"relu(acc + bias[j])", biased},
    {" acc*scale[i] -grid[ i , j ]/ 2.0 ", scaled},
    {"where(acc < 0, factor * acc, acc)", leaky},
    {"3 * i - j", placed},
    {"clamp(acc, grid[j, i], 4) + bias[i] * scale[j]", across},
    {"factor + 325e-2", constant},
    {"(acc <= bias[j]) + 2 * (acc > scale[i]) + 4*(acc == 0) + 8*(acc != 1) + 16*(i >= j)", compared},
    {"sqrt(abs(acc) * abs(acc)) + --2 * (i + j)", rooted},
    {"where(j > i, -1 / 0, acc)", masked},
    {"acc * third - acc * third", uncontracted},
    {"where(1 / abs(-0 * acc) > 0, acc, 0 / 0)", plain}};

/* Operands in the type of the sums, with strides that leave gaps; of i8 in f32. */
typedef struct bound {
    void *memory[BINDINGS];
    tw_binding list[BINDINGS];
} bound;

static void put_number(tw_dtype dtype, void *x, int64_t at, double value)
{
    if (dtype == TW_F64)
        ((double *)x)[at] = value;
    else if (dtype == TW_F32)
        ((float *)x)[at] = (float)value;
    else { /* bf16, in which these values are exact */
        const float as_float = (float)value;
        uint32_t word;
        memcpy(&word, &as_float, sizeof word);
        ((uint16_t *)x)[at] = (uint16_t)(word >> 16);
    }
}

static bool bound_make(bound *b, tw_dtype dtype)
{
    const int64_t counts[] = {2 * LONGEST, 3 * LONGEST, (int64_t)LONGEST * (LONGEST + 5)};
    *b = (bound){{NULL}, {{0}}};
    for (int i = 0; i < FACTOR; i++) {
        b->memory[i] = malloc((size_t)counts[i] * 8);
        for (int64_t q = 0; b->memory[i] != NULL && q < counts[i]; q++) put_number(dtype, b->memory[i], q, NAN);
        if (b->memory[i] == NULL) return false;
    }
    for (int64_t q = 0; q < LONGEST; q++) {
        put_number(dtype, b->memory[BIAS], 2 * q, operand_at(q));
        put_number(dtype, b->memory[SCALE], 3 * (LONGEST - 1 - q), operand_at(3 * q));
        for (int64_t r = 0; r < LONGEST; r++)
            put_number(dtype, b->memory[GRID], q * (LONGEST + 5) + r, operand_at(q * LONGEST + r));
    }
    const size_t bytes = dtype == TW_F64 ? 8 : dtype == TW_F32 ? 4 : 2;
    const tw_binding list[BINDINGS] = {
        {.dtype = dtype, .name = "bias", .at = b->memory[BIAS], .stride = 2},
        {.dtype = dtype, .name = "scale", .at = (char *)b->memory[SCALE] + 3 * (LONGEST - 1) * bytes, .stride = -3},
        {.dtype = dtype, .name = "grid", .at = b->memory[GRID], .ld = LONGEST + 5},
        {.name = "factor", .value = 0.5},
        {.name = "third", .value = 1.0 / 3}};
    for (int i = 0; i < BINDINGS; i++) b->list[i] = list[i], b->list[i].size = sizeof list[i];
    return true;
}

static void bound_free(bound *b)
{
    for (int i = 0; i < BINDINGS; i++) free(b->memory[i]);
}

static int64_t a_at(int64_t i, int64_t p) { return (i + 2 * p) % 3 - 1; }
static int64_t b_at(int64_t p, int64_t j) { return (2 * p + j) % 3 - 1; }

static void put_whole(tw_dtype dtype, void *x, int64_t at, int64_t value)
{
    static const uint16_t halves[] = {0xbc00, 0, 0x3c00};
    if (dtype == TW_I8)
        ((int8_t *)x)[at] = (int8_t)value;
    else if (dtype == TW_F16)
        ((uint16_t *)x)[at] = halves[value + 1];
    else
        put_number(dtype, x, at, (double)value);
}

/* tw_gemm(), or the product by a kernel that is forced. */
static tw_status multiply(tw_context *context, const char *kernel, const tw_problem *p, const void *a, const void *b,
                          void *c)
{
    const tw_lab_choice choice = {.kernel = kernel};
    tw_lab_run *run;
    if (kernel == NULL) return tw_gemm(context, p, a, b, c);
    tw_status status = tw_lab_run_open(context, &choice, p, a, b, c, &run);
    if (status != TW_OK) return status;
    status = tw_lab_run_once(run, NULL);
    if (status == TW_OK) status = tw_lab_run_fetch(run, c);
    tw_lab_run_close(run);
    return status;
}

/* Is C what the formula makes of the exact sums? Its values are exact in every type but bytes. */
static bool formula_holds(tw_dtype dtype, const formula *f, const tw_epilogue *e, const tw_context *context,
                          const char *kernel, int64_t m, int64_t n, int64_t k, double *worst)
{
    tw_problem p = tw_problem_make(dtype, TW_N, TW_N, m, n, k);
    p.epilogue = e, p.dtype_c = dtype == TW_F64 ? TW_F64 : TW_F32;
    char *a = malloc((size_t)(m * k + 1) * 8), *b = malloc((size_t)(k * n + 1) * 8), *c = malloc((size_t)(m * n) * 8);
    bool right = a != NULL && b != NULL && c != NULL;
    for (int64_t q = 0; right && q < m * k; q++) put_whole(dtype, a, q, a_at(q / k, q % k));
    for (int64_t q = 0; right && q < k * n; q++) put_whole(dtype, b, q, b_at(q / n, q % n));
    for (int64_t q = 0; right && q < m * n; q++) put_number(p.dtype_c, c, q, NAN);
    right = right && multiply((tw_context *)(uintptr_t)context, kernel, &p, a, b, c) == TW_OK;
    for (int64_t i = 0; right && i < m; i++)
        for (int64_t j = 0; right && j < n; j++) {
            int64_t acc = 0;
            for (int64_t q = 0; q < k; q++) acc += a_at(i, q) * b_at(q, j);
            const double found = dtype == TW_F64 ? ((double *)(void *)c)[i * n + j]
                                                 : (double)((float *)(void *)c)[i * n + j],
                         expected = f->value((double)acc, i, j);
            right = found == expected;
            if (!right) printf("# C[%d, %d] is %g, expected %g\n", (int)i, (int)j, found, expected);
            if (isfinite(found) && fabs(found) > *worst) *worst = fabs(found);
        }
    free(a), free(b), free(c);
    return right;
}

/* Is there a device for a case that wants one? */
static bool has_device(const place *on)
{
    if (on->of[0] == NULL) tap_skip(on == &cuda ? "no CUDA device" : "no OpenCL device");
    return on->of[0] != NULL;
}

static void formula_case(tw_dtype dtype, const place *on)
{
    static const int64_t shapes[][3] = {{5, 7, 4},     {1, 300, 20}, {300, 1, 20}, {1, 1, 0},
                                        {61, 133, 30}, {37, 129, 0}, {3, 5, 9000}, {150, 70, 40}};
    if (!tap_case("%s %s: formulas give what C gives", on->engine, tw_lab_dtype_of(dtype)->name) || !has_device(on))
        return;
    bound b;
    double worst = 0;
    const formula *wrong = NULL;
    bool made = bound_make(&b, dtype == TW_F64 ? TW_F64 : dtype == TW_BF16 ? TW_BF16 : TW_F32);
    for (size_t q = 0; made && wrong == NULL && q < sizeof formulas / sizeof *formulas; q++) {
        tw_epilogue *e = NULL;
        made = tw_epilogue_make(formulas[q].text, b.list, BINDINGS, &e) == TW_OK;
        for (size_t s = 0; made && wrong == NULL && s < sizeof shapes / sizeof *shapes; s++)
            if (!formula_holds(dtype, &formulas[q], e, on->of[(q + s) % 2], NULL, shapes[s][0], shapes[s][1],
                               shapes[s][2], &worst)) {
                wrong = &formulas[q];
                printf("# %dx%dx%d\n", (int)shapes[s][0], (int)shapes[s][1], (int)shapes[s][2]);
            }
        tw_epilogue_free(e);
    }
    bound_free(&b);
    tap_result(made && wrong == NULL && worst > 0, "%s: %s", wrong != NULL ? wrong->text : "nothing was made",
               tw_error_text());
}

/* Does a smaller tile of the same text and type take an epilogue too? */
static bool has_smaller(const tw_lab_kernel *k)
{
    for (int i = 0; i < tw_lab_kernel_count(); i++) {
        const tw_lab_kernel *other = tw_lab_kernel_at(i);
        if (other->dtype == k->dtype && strcmp(other->file, k->file) == 0 &&
            other->tile_m * other->tile_n < k->tile_m * k->tile_n)
            return true;
    }
    return false;
}

/* A production kernel of OpenCL on rows that are aligned, and not; in the covering set the smallest tile of each text
 * and type. */
static void row_case(const tw_lab_kernel *k)
{
    static const formula all = {"acc * factor + bias[j] - 2 * scale[i] + grid[i, j] - grid[j, i] / 2", together};
    static const int64_t shapes[][3] = {{64, 64, 64}, {37, 45, 50}, {1, 64, 64}, {64, 1, 64}};
    if (!tap_case("%s takes an epilogue", k->name) || !has_device(&opencl)) return;
    bound b;
    double worst = 0;
    char reason[200] = "";
    int count = 0;
    bool right = bound_make(&b, k->dtype == TW_F64 ? TW_F64 : k->dtype == TW_BF16 ? TW_BF16 : TW_F32);
    tw_epilogue *e = NULL;
    right = right && tw_epilogue_make(all.text, b.list, BINDINGS, &e) == TW_OK;
    for (size_t s = 0; right && s < sizeof shapes / sizeof *shapes; s++) {
        tw_problem p = tw_problem_make(k->dtype, TW_N, TW_N, shapes[s][0], shapes[s][1], shapes[s][2]);
        p.epilogue = e;
        if (tw_lab_fits(opencl.of[0], &(tw_lab_choice){.kernel = k->name}, &p, reason, sizeof reason) != 1) continue;
        count++;
        right = formula_holds(k->dtype, &all, e, opencl.of[0], k->name, shapes[s][0], shapes[s][1], shapes[s][2],
                              &worst);
    }
    tw_epilogue_free(e), bound_free(&b);
    if (right && count == 0 && (strncmp(k->needs, "sm_", 3) == 0 || strstr(k->name, "panels") != NULL))
        tap_skip("no device for the kernel");
    else
        tap_result(right && count > 0, "%s: %s", tw_error_text(), reason);
}

static void row_cases(void)
{
    for (int i = 0; i < tw_lab_kernel_count(); i++) {
        const tw_lab_kernel *k = tw_lab_kernel_at(i);
        const bool whole = k->dtype == TW_I8 || k->dtype == TW_U8;
        if (strcmp(k->engine, "opencl") == 0 && k->production && !whole && (tap.full || tap.gpu || !has_smaller(k)))
            row_case(k);
    }
}

/* ---- random texts, products and types, judged by intervals ---- */

static void append(char *text, const char *more)
{
    if (strlen(text) + strlen(more) < MOST_TEXT) strcat(text, more);
}

static void draw_text(die *d, char *text, int depth)
{
    static const char *const leaves[] = {"acc",     "acc", "bias[j]", "scale[i]",   "grid[i, j]", "factor", "0.75",
                                         "bias[i]", "2",   "1e-3",    "grid[j, i]", "i",          "j"},
                             *const operators[] = {" + ", " - ", " * ", "/", " < ", " >= ", " == "},
                             *const functions[] = {"relu(", "silu(",     "gelu(",         "gelu_tanh(", "sigmoid(",
                                                   "tanh(", "exp(",      "abs(",          "log(abs(",   "erf(",
                                                   "neg(",  "sqrt(abs(", "rsqrt(1 + abs("};
    enum {
        LEAVES = sizeof leaves / sizeof *leaves,
        OPERATORS = sizeof operators / sizeof *operators,
        FUNCTIONS = sizeof functions / sizeof *functions
    };
    const int64_t what = depth == 0 ? 0 : roll(d, 5);
    if (what == 0) {
        append(text, leaves[roll(d, LEAVES)]);
    } else if (what < 3) {
        append(text, "(");
        draw_text(d, text, depth - 1);
        append(text, operators[roll(d, roll(d, 3) > 0 ? 3 : OPERATORS)]);
        draw_text(d, text, depth - 1);
        append(text, ")");
    } else if (what == 3) {
        const char *function = functions[roll(d, FUNCTIONS)];
        append(text, function);
        draw_text(d, text, depth - 1);
        append(text, strchr(function, '(') != strrchr(function, '(') ? "))" : ")");
    } else {
        append(text, roll(d, 2) > 0 ? "where(" : "clamp(");
        for (int i = 0; i < 3; i++) {
            if (i > 0) append(text, ", ");
            draw_text(d, text, depth - 1);
        }
        append(text, ")");
    }
}

static int64_t draw_edge(die *d)
{
    static const int64_t edges[] = {1, 2, 5, 7, 15, 16, 17, 31, 33, 47, 48, 49, 97};
    return roll(d, 4) > 0 ? edges[roll(d, sizeof edges / sizeof *edges)] : 1 + roll(d, 130);
}

static int64_t round_to(int64_t x, int64_t unit) { return (x + unit - 1) / unit * unit; }

static tw_problem draw_problem(die *d, tw_dtype dtype, const place *on)
{
    tw_problem p = tw_problem_make(dtype, roll(d, 2) > 0 ? TW_T : TW_N, roll(d, 2) > 0 ? TW_T : TW_N, draw_edge(d),
                                   draw_edge(d), roll(d, 8) > 0 ? roll(d, 60) : 8190 + roll(d, 40));
    p.lda += roll(d, 4), p.ldb += roll(d, 4), p.ldc += roll(d, 4);
    p.alpha = roll(d, 3) > 0 ? 1 : -0.375, p.beta = roll(d, 2) > 0 ? 0 : 0.625;
    p.dtype_c = dtype == TW_I8                        ? (tw_dtype[]){TW_F32, TW_I8, TW_U8}[roll(d, 3)]
                : dtype == TW_BF16 || dtype == TW_F16 ? roll(d, 2) > 0 ? dtype : TW_F32
                                                      : dtype;
    if (is_gpu(on)) {
        p.m = 1 + roll(d, roll(d, 2) > 0 ? 40 : LONGEST), p.n = 1 + roll(d, roll(d, 2) > 0 ? 40 : LONGEST);
        p.k = roll(d, 8) > 0 ? 1 + roll(d, 300) : 4000 + roll(d, 4000);
        const int64_t unit = roll(d, 2) > 0 ? 16 : 1;
        p.lda = round_to(p.op_a == TW_N ? p.k : p.m, unit), p.ldb = round_to(p.op_b == TW_N ? p.n : p.k, unit),
        p.ldc = round_to(p.n, unit);
    }
    if (dtype == TW_TF32 || dtype == TW_E4M3) p.dtype_c = TW_F32;
    if (!is_gpu(on) && (dtype == TW_F32 || dtype == TW_F64) && roll(d, 4) == 0)
        p.n = p.m, p.ldb += LONGEST, p.ldc += LONGEST, p.flags = roll(d, 2) > 0 ? TW_LOWER : TW_UPPER;
    return p;
}

/* Judges the triangle alone by giving the oracle back the elements that are not to be written: what it makes of their
 * sums is of no interest. */
static bool keeps_rest(const tw_problem *p, const oracle *o, char *c, size_t bytes)
{
    bool kept = true;
    for (int64_t i = 0; p->flags != 0 && kept && i < p->m; i++)
        for (int64_t j = 0; kept && j < p->n; j++)
            if (p->flags == TW_LOWER ? j > i : j < i) {
                const size_t at = (size_t)(i * p->ldc + j) * bytes;
                kept = memcmp(c + at, (const char *)o->c0 + at, bytes) == 0;
            }
    return kept;
}

static bool verifies(const tw_problem *p, const oracle *o, const void *c)
{
    verify_report r;
    const bool right = verify_product(p, o->a, o->b, o->c0, c, NULL, &r) == TW_OK && r.passed;
    if (!right) printf("# verify_product: %s\n", r.text);
    return right;
}

static bool random_holds(die *d, tw_dtype dtype, const place *on, const bound *b)
{
    char text[MOST_TEXT + 1] = "";
    tw_epilogue *e = NULL;
    oracle o;
    draw_text(d, text, 1 + (int)roll(d, 4));
    const tw_status made = tw_epilogue_make(text, b->list, BINDINGS, &e);
    if (made != TW_OK) printf("# %s: %s\n", text, tw_error_text());
    tw_problem p = draw_problem(d, dtype, on), whole = p;
    p.epilogue = whole.epilogue = e, whole.flags = 0;
    tw_context *const context = on->of[roll(d, 2)];
    if (made != TW_OK || oracle_make(&whole, ORACLE_BOUND, d->seed + d->thrown, 0, &o) != TW_OK) {
        tw_epilogue_free(e);
        return false;
    }
    char *c = malloc(oracle_c_bytes(&o) + 1), *full = malloc(oracle_c_bytes(&o) + 1);
    bool right = c != NULL && full != NULL;
    if (right) oracle_poison(&o, c), oracle_poison(&o, full);
    right = right && tw_gemm(context, &p, o.a, o.b, c) == TW_OK && tw_gemm(context, &whole, o.a, o.b, full) == TW_OK;
    oracle_verdict v = {.passed = false};
    if (right) v = oracle_judge(&o, full);
    right = right && v.passed && (roll(d, 16) > 0 || verifies(&whole, &o, full));
    const size_t bytes = (size_t)tw_lab_dtype_of(p.dtype_c)->bytes;
    right = right && keeps_rest(&p, &o, c, bytes);
    for (int64_t i = 0; right && i < p.m; i++)
        for (int64_t j = 0; right && j < p.n; j++) {
            const size_t at = (size_t)(i * p.ldc + j) * bytes;
            const bool wanted = p.flags == 0 || (p.flags == TW_LOWER ? j <= i : j >= i);
            right = !wanted || memcmp(c + at, full + at, bytes) == 0;
        }
    if (!right)
        printf("# %s %c%c %dx%dx%d C in %s, alpha %g, beta %g, flags %u: %s: %s\n", tw_lab_dtype_of(dtype)->name,
               p.op_a == TW_N ? 'N' : 'T', p.op_b == TW_N ? 'N' : 'T', (int)p.m, (int)p.n, (int)p.k,
               tw_lab_dtype_of(p.dtype_c)->name, p.alpha, p.beta, p.flags, text,
               v.text[0] != '\0' ? v.text : "the triangle, or a call");
    free(c), free(full), oracle_free(&o), tw_epilogue_free(e);
    return right;
}

static void random_case(tw_dtype dtype, const place *on)
{
    enum { USUAL = 60, SPARED = 10, FULL = 3000, ON_GPU = 40, FULL_ON_PROCESSOR = 12, ON_PROCESSOR = 2 };
    if (!tap_case("%s %s: random texts and products lie within their intervals", on->engine,
                  tw_lab_dtype_of(dtype)->name) ||
        !has_device(on))
        return;
    bound b;
    die d = {.seed = 65 + (uint64_t)dtype};
    bool right = bound_make(&b, dtype == TW_F64 ? TW_F64 : dtype == TW_BF16 ? TW_BF16 : TW_F32);
    const int draws = !is_gpu(on) ? tap.full ? FULL : tap_rounds(USUAL, SPARED)
                      : tap.gpu ? ON_GPU
                      : tap.full  ? FULL_ON_PROCESSOR
                                  : ON_PROCESSOR;
    for (int i = 0; right && i < draws; i++) right = random_holds(&d, dtype, on, &b);
    bound_free(&b);
    tap_result(right, "%s", tw_error_text());
}

/* ---- the functions ---- */

typedef struct function {
    const char *text;
    double (*exact)(double);
} function;

static double inverse(double x) { return 1 / fabs(x); }

static const function functions[FUNCTION_CASES] = {{"exp(acc)", exp}, {"log(acc)", log},   {"tanh(acc)", tanh},
                                                   {"erf(acc)", erf}, {"sqrt(acc)", sqrt}, {"1 / abs(acc)", inverse}};

static double ulps_between(float found, double exact)
{
    const float nearest = (float)exact;
    int exponent;
    if (isnan(exact) || isnan(found)) return isnan(exact) && isnan(found) ? 0 : (double)INFINITY;
    if (isinf(nearest) || isinf(found)) return nearest == found ? 0 : (double)INFINITY;
    frexp(exact, &exponent);
    return fabs((double)found - exact) / ldexp(1, (exponent < -125 ? -125 : exponent) - 24);
}

static void function_case(int number, const place *on)
{
    enum { COUNT = 1 << 16 };
    static float x[COUNT], c[COUNT];
    const bool whole = tap.full && (on != &opencl || tap.gpu); /* all of them: 5 minutes a function on a processor */
    const uint64_t step = whole ? 1 : tap.full ? 61 : tap_spares() ? 1048583 : 8209, end = (uint64_t)1 << 32;
    const float one = 1;
    const function *f = &functions[number];
    const double most = on->ulps[number];
    if (!tap_case("%s: %s is right to %g ulp", on->engine, f->text, most) || !has_device(on)) return;
    double worst = 0, at = 0;
    tw_epilogue *e = NULL;
    bool right = tw_epilogue_make(f->text, NULL, 0, &e) == TW_OK;
    for (uint64_t bits = 0; right && bits < end;) {
        int count = 0;
        for (; count < COUNT && bits < end; count++, bits += step) {
            const uint32_t word = (uint32_t)bits;
            memcpy(&x[count], &word, sizeof word);
        }
        const bool down = bits / step / COUNT % 2 == 0; /* else along a row, where kernels have vectors */
        tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, down ? count : 1, down ? 1 : count, 1);
        p.epilogue = e;
        right = tw_gemm(on->of[0], &p, down ? x : &one, down ? &one : x, c) == TW_OK;
        for (int i = 0; right && i < count; i++) {
            const double ulps = ulps_between(c[i], f->exact((double)x[i]));
            if (ulps > worst) worst = ulps, at = (double)x[i];
        }
    }
    tw_epilogue_free(e);
    tap_result(right && worst <= most, "%g ulp at %a", worst, at);
}

/* ---- compiled for CUDA, without a device ---- */

/* Compiles a text in front of that kernel's for sm_90. */
static void compile_case(const tw_lab_kernel *k)
{
    enum { MOST = 64 }; /* bytes: NVRTC 13.0 spills 48, some hundreds where it hoists loads */
    if (!tap_case("%s compiles an epilogue, and spills at most %d bytes for bias and relu", k->name, (int)MOST)) return;
    if (nvrtc_api_load() == NULL) {
        tap_skip(tw_error_text());
        return;
    }
    static const char *const texts[] = {"relu(acc + bias[j])",
                                        "where(i < j, gelu(acc * scale[i]), log(acc) / exp(grid[i, j])) + grid[j, i] * "
                                        "factor + where(i == j, 1 / 0, 0 / 0)"};
    bound b;
    bool right = bound_make(&b, k->dtype == TW_F64 ? TW_F64 : k->dtype == TW_BF16 ? TW_BF16 : TW_F32);
    b.list[BIAS].stride = 1; /* nothing is read */
    int spilled = 0;
    for (size_t q = 0; right && q < (tap.full ? sizeof texts / sizeof *texts : 1); q++) {
        tw_epilogue *e = NULL;
        tw_lab_code code = {.size = 0};
        tw_problem p = tw_problem_make(k->dtype, TW_N, TW_T, 512, 512, 512);
        right = tw_epilogue_make(texts[q], b.list, BINDINGS, &e) == TW_OK;
        p.epilogue = e, p.dtype_c = k->dtype == TW_BF16 ? TW_BF16 : (tw_dtype)0;
        right = right && tw_lab_code_make(NULL, &(tw_lab_choice){.kernel = k->name}, &p, 90, 0, &code) == TW_OK;
        if (q == 0) spilled = code.resources.spill_bytes;
        tw_lab_code_free(&code), tw_epilogue_free(e);
    }
    bound_free(&b);
    tap_result(right && spilled <= MOST, "%d bytes spilled; %s", spilled, tw_error_text());
}

/* The kernel that has most ways to end, since each takes some seconds; --full: all. */
static void compile_cases(void)
{
    if (!tap.full) compile_case(tw_lab_kernel_named("cuda_bf16_gemm_wgmma_sm90_128x128"));
    for (int i = 0; tap.full && i < tw_lab_kernel_count(); i++) {
        const tw_lab_kernel *k = tw_lab_kernel_at(i);
        const bool whole = k->dtype == TW_I8 || k->dtype == TW_U8,
                   takes = strstr(k->name, "sgemm_simt") == NULL && strstr(k->name, "r13m_mma") == NULL &&
                           ((strstr(k->name, "wgmma_sm90") == NULL && strstr(k->name, "fp8_sm90") == NULL) ||
                            k->tile_m * k->tile_n <= 128 * 128);
        if (strcmp(k->engine, "cuda") == 0 && k->production && !whole && takes) compile_case(k);
    }
}

/* ---- refusals ---- */

typedef struct refusal {
    const char *text, *expected; /* of the sentence */
} refusal;

static void refusal_case(void)
{
    static const refusal refusals[] = {
        {"", "column 1: found the end"},
        {"acc +", "column 6: found the end"},
        {"acc acc", "column 5: found 'a', expected an operator or the end"},
        {"(acc", "column 5: found the end, expected ')' or an operator"},
        {"acc)", "column 4: found ')'"},
        {"relu + 1", "column 1: relu is a function, expected what it is of, as in relu(acc)"},
        {"bais[j]", "column 1: nothing is bound to the name bais; there are acc, i, j, bias, scale, grid, factor"},
        {"acc * softmax(acc)", "column 7: no function is named softmax; there are abs, min"},
        {"relu(acc, 1)", "column 9: relu takes 1 operand"},
        {"min(acc)", "column 8: min takes 2 operands"},
        {"bias[k]", "column 6: found 'k', expected the index i or j"},
        {"bias[j", "column 7: found the end, expected ',' or ']'"},
        {"grid[i, i]", "column 10: a matrix has the index i, j or j, i"},
        {"bias[i, j]", "column 10: bias has two indices, and its ld is 0"},
        {"factor[j]", "column 1: factor is bound to a number"},
        {"acc < 1 < 2", "column 9: found '<'"},
        {"acc = 1", "column 5: found '='"},
        {"1.2.3", "column 1: found '1', expected a number"},
        {"1e", "column 1: found '1', expected a number"},
        {"1e999", "column 1: the number is too large"},
        {"acc ? 1 : 2", "column 5: found '?'"},
        {"acc + \x80", "column 7: found byte 0x80"},
        {"a23456789012345678901234567890123", "column 1: a name of 33 characters, expected at most 31"},
    };
    if (!tap_case("each refusal names the column and what stands there")) return;
    bound b;
    const char *wrong = NULL;
    bool right = bound_make(&b, TW_F32);
    for (size_t i = 0; right && wrong == NULL && i < sizeof refusals / sizeof *refusals; i++) {
        tw_epilogue *e = (tw_epilogue *)&b;
        const tw_status status = tw_epilogue_make(refusals[i].text, b.list, BINDINGS, &e);
        if (status != TW_BAD_ARGUMENT || e != NULL || strstr(tw_error_text(), refusals[i].expected) == NULL)
            wrong = refusals[i].text;
    }
    bound_free(&b);
    tap_result(right && wrong == NULL, "%s: %s", wrong != NULL ? wrong : "", tw_error_text());
}

static bool refuses(tw_status expected, const char *sentence, tw_status status)
{
    const bool right = status == expected && strstr(tw_error_text(), sentence) != NULL;
    if (!right) printf("# %s: %s\n", tw_status_name(status), tw_error_text());
    return right;
}

static bool refuses_binding(const char *sentence, tw_binding b, int count)
{
    tw_epilogue *e = NULL;
    const tw_binding both[] = {b, b};
    return refuses(TW_BAD_ARGUMENT, sentence, tw_epilogue_make("acc", both, (size_t)count, &e)) && e == NULL;
}

static void argument_case(void)
{
    const float x[2] = {1, 2};
    const tw_binding good = {.size = sizeof good, .dtype = TW_F32, .name = "x", .at = x};
    tw_binding sizeless = good, typed = good, nowhere = good, numbered = good, crooked = good, reserved = good,
               unnamed = good, spaced = good;
    tw_epilogue *e = NULL, *of_f32 = NULL, *of_f64 = NULL;
    char longest[EPILOGUE_LENGTH_TESTED];
    if (!tap_case("arguments that are wrong are named")) return;
    sizeless.size = 0, typed.dtype = TW_I8, nowhere.at = NULL, numbered.dtype = (tw_dtype)0, reserved.name = "acc";
    crooked.at = (const char *)x + 1, unnamed.name = NULL, spaced.name = "x y";
    memset(longest, ' ', sizeof longest - 1), longest[sizeof longest - 1] = '\0';
    bool right = refuses(TW_BAD_ARGUMENT, "out is NULL", tw_epilogue_make("acc", NULL, 0, NULL)) &&
                 refuses(TW_BAD_ARGUMENT, "text is NULL", tw_epilogue_make(NULL, NULL, 0, &e)) &&
                 refuses(TW_BAD_ARGUMENT, "bindings is NULL", tw_epilogue_make("acc", NULL, 1, &e)) &&
                 refuses(TW_BAD_ARGUMENT, "at most 16", tw_epilogue_make("acc", &good, 17, &e)) &&
                 refuses(TW_BAD_ARGUMENT, "at most 4096", tw_epilogue_make(longest, NULL, 0, &e)) &&
                 refuses_binding("binding.size is 0", sizeless, 1) && refuses_binding("dtype is 5", typed, 1) &&
                 refuses_binding("bindings[0].at is NULL", nowhere, 1) &&
                 refuses_binding("bindings[0].at is given", numbered, 1) &&
                 refuses_binding("not aligned", crooked, 1) && refuses_binding("name is NULL", unnamed, 1) &&
                 refuses_binding("'x y'", spaced, 1) && refuses_binding("'acc'", reserved, 1) &&
                 refuses_binding("both 'x'", good, 2);
    right = right && tw_epilogue_make("acc + x", &good, 1, &of_f32) == TW_OK &&
            tw_epilogue_make("acc + x",
                             &(tw_binding){.size = sizeof good, .dtype = TW_F64, .name = "x", .at = &(double){1}}, 1,
                             &of_f64) == TW_OK;
    float c[4] = {0};
    const tw_dtype refused[] = {TW_CF32, TW_I32, TW_I8};
    for (size_t i = 0; right && i < sizeof refused / sizeof *refused; i++) {
        tw_problem p = tw_problem_make(refused[i], TW_N, TW_N, 1, 1, 1);
        p.epilogue = of_f32;
        right = refuses(TW_NO_KERNEL, "an epilogue", tw_gemm(cpu.of[0], &p, x, x, c));
    }
    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, 1, 1, 1);
    p.epilogue = of_f64;
    right = right && refuses(TW_NO_KERNEL, "the epilogue's x is f64, expected f32, f16 or bf16",
                             tw_gemm(cpu.of[0], &p, x, x, c));
    p = tw_problem_make(TW_I8, TW_N, TW_N, 1, 1, 1), p.epilogue = of_f32, p.dtype_c = TW_F32;
    if (right && opencl.of[0] != NULL) right = refuses(TW_NO_KERNEL, "C in i32", tw_gemm(opencl.of[0], &p, x, x, c));
    tw_epilogue_free(of_f32), tw_epilogue_free(of_f64), tw_epilogue_free(NULL);
    tap_result(right, "%s", tw_error_text());
}

/* Texts of the grammar's own pieces in any order, and of any bytes: each is made, or refused with a column. */
static void hostile_case(void)
{
    static const char *const pieces[] = {"acc", "(", ")", "[", "]", ",", "+",   "-",     "*",
                                         "/",   "<", "=", "!", ">", "i", "j",   "relu",  "where(",
                                         "x",   "1", ".", "e", "-", " ", "0.5", "[i,j]", "\t"};
    enum { PIECES = sizeof pieces / sizeof *pieces, TEXTS = 10000 };
    if (!tap_case("%d texts that mean harm", (int)TEXTS)) return;
    const float x[16] = {1};
    const tw_binding b = {.size = sizeof b, .dtype = TW_F32, .name = "x", .at = x, .ld = 4};
    char text[300], deep[4000], wide[4000] = "acc";
    die d = {.seed = 66};
    int made = 0;
    bool right = true;
    for (int t = 0; right && t < TEXTS; t++) {
        tw_epilogue *e = NULL;
        text[0] = '\0';
        for (int64_t i = roll(&d, 20); i >= 0; i--) {
            const char any[] = {(char)(1 + roll(&d, 255)), '\0'};
            strcat(text, roll(&d, 20) == 0 ? any : pieces[roll(&d, PIECES)]);
        }
        const tw_status status = tw_epilogue_make(text, &b, 1, &e);
        right = status == TW_OK ? e != NULL : status == TW_BAD_ARGUMENT && strstr(tw_error_text(), "column") != NULL;
        made += status == TW_OK;
        tw_epilogue_free(e);
    }
    tw_epilogue *e = NULL;
    memset(deep, '(', sizeof deep - 1), deep[sizeof deep - 1] = '\0';
    right = right && made > 10 && refuses(TW_BAD_ARGUMENT, "64 brackets", tw_epilogue_make(deep, NULL, 0, &e));
    for (int depth = 64; right && depth <= 65; depth++) {
        memset(deep, '(', (size_t)depth), deep[depth] = '1';
        memset(deep + depth + 1, ')', (size_t)depth), deep[2 * depth + 1] = '\0';
        right = (tw_epilogue_make(deep, NULL, 0, &e) == TW_OK) == (depth == 64);
        tw_epilogue_free(e), e = NULL;
    }
    memset(deep, '-', sizeof deep - 2), deep[sizeof deep - 2] = '1';
    right = right && tw_epilogue_make(deep, NULL, 0, &e) == TW_OK;
    tw_epilogue_free(e), e = NULL;
    for (int i = 0; i < 300; i++) snprintf(wide + strlen(wide), sizeof wide - strlen(wide), "+%d*acc", i + 2);
    right = right && refuses(TW_BAD_ARGUMENT, "more than 256 values", tw_epilogue_make(wide, NULL, 0, &e));
    wide[0] = '\0';
    for (int i = 0; i < 30; i++) snprintf(wide + strlen(wide), sizeof wide - strlen(wide), "(acc - %d) * (", i);
    strcat(wide, "acc");
    for (int i = 0; i < 30; i++) strcat(wide, ")");
    right = right && refuses(TW_BAD_ARGUMENT, "24 values", tw_epilogue_make(wide, NULL, 0, &e));
    tap_result(right, "%s: %s", text, tw_error_text());
}

int main(int argc, char **argv)
{
    static const tw_dtype types[] = {TW_F32, TW_F64, TW_BF16, TW_F16, TW_I8, TW_TF32, TW_E4M3};
    static place *const places[] = {&cpu, &cuda, &opencl};
    tap_start(argc, argv);
    if (!tap.full && !tap.gpu) setenv("TILEWRIGHT_OPENCL_OPTIONS", "-cl-opt-disable", 1); /* PoCL takes long with it */
    for (int at = 0; at < 3; at++)
        for (uint32_t i = 0; i < 2; i++) {
            const tw_options options = {
                .size = sizeof options, .engine = places[at]->engine, .threads = at == 0 ? 1 + 2 * i : 0};
            if (tw_open(&options, &places[at]->of[i]) != TW_OK) places[at]->of[0] = places[at]->of[i] = NULL;
        }
    if (cpu.of[0] == NULL) return 1;
    for (int at = tap.gpu ? 1 : 0; at < 3; at++) {
        const place *on = places[at];
        const size_t count = on == &opencl && !tap.gpu && !tap.full ? 1 : sizeof types / sizeof *types;
        for (size_t i = 0; i < count; i++) {
            const bool here = on == &cpu ? types[i] <= TW_I8 : on == &opencl ? i < 4 : types[i] != TW_I8;
            if (here && i < 5) formula_case(types[i], on);
            if (here) random_case(types[i], on);
        }
        for (int i = 0; i < FUNCTION_CASES; i++) function_case(i, on);
        if (on == &opencl) row_cases();
    }
    if (!tap_spares()) compile_cases();
    refusal_case();
    argument_case();
    hostile_case();
    for (int i = 0; i < 6; i++) tw_close(places[i / 2]->of[i % 2]);
    return tap_finish();
}
