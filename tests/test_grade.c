/* test_grade.c - grades of products (lab/grade.c): the CPU's own, and some that are wrong in known ways. */
#include "grade.h"
#include "support/tap.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef enum fault {
    NOTHING,     /* sums in order */
    BY_LARGEST,  /* elements rounded to 24 bits below the largest of their row or column: a fixed point */
    MIXED_ROWS,  /* one step of Strassen's algorithm */
    FLUSHED,     /* subnormal numbers count as 0 */
    ROUNDS_DOWN, /* sums rounded toward zero, 8 bits too early: errors grow with n */
    ONE_NAN
} fault;

/* ---- products that are wrong; f32 ---- */

static double rounded_by(float x, float largest, int bits)
{
    const double unit = ldexp(1, largest > 0 ? ilogbf(largest) - bits : 0);
    return nearbyint(x / unit) * unit;
}

static void by_largest(int64_t n, const float *a, const float *b, float *c)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            float of_a = 0, of_b = 0;
            double sum = 0;
            for (int64_t p = 0; p < n; p++)
                of_a = fmaxf(of_a, fabsf(a[i * n + p])), of_b = fmaxf(of_b, fabsf(b[p * n + j]));
            for (int64_t p = 0; p < n; p++)
                sum += rounded_by(a[i * n + p], of_a, 24) * rounded_by(b[p * n + j], of_b, 24);
            c[i * n + j] = (float)sum;
        }
}

static float tamed(float x, fault f) { return f == FLUSHED && fabsf(x) < FLT_MIN ? 0 : x; }

static float cut(float x)
{
    if (x == 0 || !isfinite(x)) return x;
    const float unit = ldexpf(1, ilogbf(x) - 15);
    return truncf(x / unit) * unit;
}

static void in_order(fault f, int64_t n, const float *a, const float *b, float *c)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            float sum = 0;
            for (int64_t p = 0; p < n; p++) {
                sum = tamed(fmaf(tamed(a[i * n + p], f), tamed(b[p * n + j], f), sum), f);
                if (f == ROUNDS_DOWN) sum = cut(sum);
            }
            c[i * n + j] = f == ONE_NAN && i == n - 1 && j == 3 ? NAN : sum;
        }
}

/* Block (row, column) of four of x, plus sign times another. */
static float *combined(int64_t n, const float *x, int row, int column, int sign, int row_2, int column_2)
{
    const int64_t h = n / 2;
    float *made = malloc((size_t)(h * h) * sizeof *made);
    if (made == NULL) abort();
    for (int64_t i = 0; i < h; i++)
        for (int64_t j = 0; j < h; j++)
            made[i * h + j] = x[(row * h + i) * n + column * h + j] +
                              (float)sign * x[(row_2 * h + i) * n + column_2 * h + j];
    return made;
}

static void strassen(int64_t n, const float *a, const float *b, float *c)
{
    static const int of[7][10] = {/* A: row, column, sign, row, column; B likewise */
                                  {0, 0, 1, 1, 1, 0, 0, 1, 1, 1},  {1, 0, 1, 1, 1, 0, 0, 0, 0, 0},
                                  {0, 0, 0, 0, 0, 0, 1, -1, 1, 1}, {1, 1, 0, 0, 0, 1, 0, -1, 0, 0},
                                  {0, 0, 1, 0, 1, 1, 1, 0, 0, 0},  {1, 0, -1, 0, 0, 0, 0, 1, 0, 1},
                                  {0, 1, -1, 1, 1, 1, 0, 1, 1, 1}};
    const int64_t h = n / 2;
    float *m[7];
    for (int q = 0; q < 7; q++) {
        const int *o = of[q];
        float *x = combined(n, a, o[0], o[1], o[2], o[3], o[4]), *y = combined(n, b, o[5], o[6], o[7], o[8], o[9]);
        m[q] = malloc((size_t)(h * h) * sizeof(float));
        if (m[q] == NULL) abort();
        in_order(NOTHING, h, x, y, m[q]);
        free(x), free(y);
    }
    for (int64_t i = 0; i < h; i++)
        for (int64_t j = 0; j < h; j++) {
            const int64_t at = i * h + j;
            c[i * n + j] = m[0][at] + m[3][at] - m[4][at] + m[6][at];
            c[i * n + h + j] = m[2][at] + m[4][at];
            c[(h + i) * n + j] = m[1][at] + m[3][at];
            c[(h + i) * n + h + j] = m[0][at] - m[1][at] + m[2][at] + m[5][at];
        }
    for (int q = 0; q < 7; q++) free(m[q]);
}

static tw_status wrongly(void *with, tw_dtype dtype, int64_t n, const void *a, const void *b, void *c)
{
    const fault f = *(fault *)with;
    if (dtype != TW_F32) return TW_NO_KERNEL;
    if (f == BY_LARGEST)
        by_largest(n, a, b, c);
    else if (f == MIXED_ROWS)
        strassen(n, a, b, c);
    else
        in_order(f, n, a, b, c);
    return TW_OK;
}

/* ---- the cases ---- */

static void tell(const grade *g, char text[200])
{
    int used = snprintf(text, 200, "%c:", g->letter);
    for (int t = 0; t < GRADE_TESTS; t++)
        used += snprintf(text + used, 200 - (size_t)used, " %s %.3g", grade_names[t], g->worst[t]);
    snprintf(text + used, 200 - (size_t)used, " slope %.2f", g->slope);
}

/* failing: a bit for each test that fails. */
static void wrong_case(const char *name, fault f, char letter, unsigned failing)
{
    enum { N = 64 };
    grade g;
    char text[200];
    unsigned found = 0;
    if (!tap_case("a product %s: %c", name, letter)) return;
    const tw_status status = grade_take(wrongly, &f, TW_F32, N, 7, &g);
    for (int t = 0; t < GRADE_TESTS; t++) found |= (unsigned)!(g.worst[t] <= 1) << t;
    tell(&g, text);
    tap_result(status == TW_OK && g.letter == letter && found == failing, "%s, failing %x, expected %x", text, found,
               failing);
}

static tw_status by_gemm(void *with, tw_dtype dtype, int64_t n, const void *a, const void *b, void *c)
{
    const tw_problem p = tw_problem_make(dtype, TW_N, TW_N, n, n, n);
    return tw_gemm(with, &p, a, b, c);
}

static void own_case(tw_dtype dtype, const char *set)
{
    tw_options options = {.size = sizeof options, .engine = "cpu", .instruction_set = set};
    tw_context *context;
    grade g;
    char text[200];
    if (!tap_case("cpu %s, %s: A", set != NULL ? set : "of this machine", tw_lab_dtype_of(dtype)->name)) return;
    if (tw_open(&options, &context) != TW_OK) {
        tap_skip(tw_error_text());
        return;
    }
    const tw_status status = grade_take(by_gemm, context, dtype, 128, 3, &g);
    tell(&g, text);
    tap_result(status == TW_OK && g.letter == 'A', "%s", status == TW_OK ? text : tw_error_text());
    tw_close(context);
}

static void refused_case(void)
{
    fault f = NOTHING;
    grade g;
    if (!tap_case("what the product refuses")) return;
    tap_result(grade_take(wrongly, &f, TW_F64, 16, 1, &g) == TW_NO_KERNEL, "it is not told");
}

int main(int argc, char **argv)
{
    static const char *const sets[] = {NULL, "base", "avx2"};
    tap_start(argc, argv);
    wrong_case("in order", NOTHING, 'A', 0);
    wrong_case("by a fixed point", BY_LARGEST, 'B', 1 << GRADE_FIXED | 1 << GRADE_SCALED);
    wrong_case("that flushes", FLUSHED, 'B', 1 << GRADE_UNDERFLOW);
    wrong_case("by Strassen", MIXED_ROWS, 'C', 1 << GRADE_ZEROS | 1 << GRADE_FIXED | 1 << GRADE_SCALED);
    wrong_case("that rounds early", ROUNDS_DOWN, 'C', 31);
    wrong_case("with one NaN", ONE_NAN, 'C', 31);
    for (int i = 0; i < 3; i++) own_case(TW_F32, sets[i]), own_case(TW_F64, sets[i]);
    refused_case();
    return tap_finish();
}
