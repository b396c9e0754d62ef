/* test_triangle.c - a triangle of C (TW_LOWER, TW_UPPER) has the bits of the whole product, and the rest of C is
 * neither read nor written; what cannot compute one says so. */
#include "support/expect.h"
#include "support/tap.h"
#include "tilewright_lab.h"

#include <stdlib.h>
#include <string.h>

static bool inside(uint32_t flags, int64_t i, int64_t j) { return flags == TW_LOWER ? j <= i : j >= i; }

static void *operand(tw_dtype dtype, int64_t count, unsigned seed)
{
    const size_t bytes = dtype == TW_F64 ? 8 : 4;
    void *x = aligned_alloc(64, ((size_t)count * bytes + 64) / 64 * 64);
    if (x == NULL) exit(5);
    for (int64_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        const double value = (double)(seed >> 8) / (1 << 24) - 0.5;
        if (dtype == TW_F64)
            ((double *)x)[i] = value;
        else
            ((float *)x)[i] = (float)value;
    }
    return x;
}

static bool same_bits(tw_context *context, tw_dtype dtype, int op, int64_t n, int64_t k, uint32_t flags, double beta,
                      char why[160])
{
    const size_t bytes = dtype == TW_F64 ? 8 : 4;
    tw_problem p = tw_problem_make(dtype, (tw_op)(op / 2), (tw_op)(op % 2), n, n, k);
    p.lda += 3, p.ldb += 5, p.ldc += 7, p.alpha = 0.7, p.beta = beta;
    const int64_t elements = n * p.ldc;
    char *a = operand(dtype, (p.op_a == TW_N ? n : k) * p.lda, 1),
         *b = operand(dtype, (p.op_b == TW_N ? k : n) * p.ldb, 2), *all = operand(dtype, elements, 3),
         *part = operand(dtype, elements, 3);
    bool right = true;
    for (int64_t i = 0; i < elements; i++)
        if (beta == 0 || !inside(flags, i / p.ldc, i % p.ldc) || i % p.ldc >= n)
            memset(part + (size_t)i * bytes, 0xff, bytes); /* NaN */
    right = tw_gemm(context, &p, a, b, all) == TW_OK;
    p.flags = flags;
    right = right && tw_gemm(context, &p, a, b, part) == TW_OK;
    if (!right) snprintf(why, 160, "%.150s", tw_error_text());
    for (int64_t i = 0; right && i < elements; i++) {
        static const unsigned char untouched[8] = {255, 255, 255, 255, 255, 255, 255, 255};
        const bool is_in = inside(flags, i / p.ldc, i % p.ldc) && i % p.ldc < n;
        right = memcmp(part + (size_t)i * bytes, is_in ? all + (size_t)i * bytes : (const char *)untouched, bytes) == 0;
        if (!right)
            snprintf(why, 160, "row %lld, column %lld %s (op %d, beta %g)", (long long)(i / p.ldc),
                     (long long)(i % p.ldc), is_in ? "has other bits" : "was written", op, beta);
    }
    free(a), free(b), free(all), free(part);
    return right;
}

static void triangles(void)
{
    static const int64_t sizes[][2] = {{1, 1},   {5, 9},     {6, 6},     {8, 8},     {24, 30}, {49, 100},
                                       {97, 33}, {130, 700}, {257, 900}, {1100, 900}, {40, 0}};
    for (int threads = 1; threads <= 2; threads++) {
        tw_context *context = NULL;
        if (!tap.list &&
            tw_open(&(tw_options){.size = sizeof(tw_options), .engine = "cpu", .threads = threads}, &context) != TW_OK)
            exit(5);
        for (int d = 0; d < 2; d++)
            for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
                for (uint32_t flags = TW_LOWER; flags <= TW_UPPER; flags++) {
                    char why[160] = "";
                    bool right = true;
                    if (!tap_case("%s %s %lldx%lld, %d threads", d ? "f64" : "f32",
                                  flags == TW_LOWER ? "lower" : "upper", (long long)sizes[s][0], (long long)sizes[s][1],
                                  threads))
                        continue;
                    for (int op = 0; right && op < 4; op++)
                        for (int beta = 0; right && beta < 2; beta++)
                            right = same_bits(context, d ? TW_F64 : TW_F32, op, sizes[s][0], sizes[s][1], flags,
                                              beta ? -1.3 : 0, why);
                    tap_result(right, "%s", why);
                }
        tw_close(context);
    }
}

static void batches(void)
{
    enum { N = 20, COUNT = 5 };
    static float x[COUNT * N * N], c[COUNT * N * N];
    if (!tap_case("a batch of triangles")) return;
    for (int i = 0; i < COUNT * N * N; i++) x[i] = (float)(i % 7 - 3), c[i] = -1;
    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_T, N, N, N);
    p.flags = TW_LOWER;
    const tw_batch batch = tw_batch_make(&p, COUNT);
    bool right = tw_gemm_batched(NULL, &p, &batch, x, x, c) == TW_OK;
    for (int i = 0; right && i < COUNT * N * N; i++) {
        float sum = 0;
        for (int q = 0; q < N; q++) sum += x[i / N * N + q] * x[(i / (N * N) * N + i % N) * N + q];
        right = c[i] == (i % N <= i / N % N ? sum : -1);
    }
    tap_result(right, "%s", tw_error_text());
}

static tw_problem square(tw_dtype dtype, uint32_t flags)
{
    tw_problem p = tw_problem_make(dtype, TW_N, TW_N, 4, 4, 4);
    p.flags = flags;
    return p;
}

static bool refused(const tw_problem *p, const char *says)
{
    static double a[64], c[64];
    return tw_gemm(NULL, p, a, a, c) != TW_OK && strstr(tw_error_text(), says) != NULL;
}

static void refusals(void)
{
    tw_problem p = square(TW_F64, 3);
    expect("both triangles", refused(&p, "flags is 3, expected 0, TW_LOWER (1) or TW_UPPER (2)"));
    p = square(TW_F64, TW_LOWER), p.n = 3;
    expect("a C that is not square", refused(&p, "m is 4 and n 3, expected the same"));
    p = square(TW_I8, TW_LOWER);
    expect("integers", refused(&p, "it computes all of C, the problem wants a triangle"));
    tw_lab_choice choice = {.kernel = "cpu_f64_r05_outer"};
    tw_lab_plan plan;
    p = square(TW_F64, TW_UPPER);
    expect("a rung of the ladder", tw_lab_plan_of(NULL, &choice, &p, &plan) == TW_NO_KERNEL &&
                                       strstr(tw_error_text(), "it computes all of C") != NULL);
    double a[16], c[16];
    for (int i = 0; i < 16; i++) a[i] = 1, c[i] = 0;
    p = square(TW_F64, 0);
    bool whole = tw_gemm(NULL, &p, a, a, c) == TW_OK && c[3] == 4;
    p.flags = TW_LOWER, c[3] = 7;
    bool part = tw_gemm(NULL, &p, a, a, c) == TW_OK && c[3] == 7 && c[12] == 4;
    p.flags = 0;
    expect("a plan of the whole is not taken for a triangle, nor the other way round",
           whole && part && tw_gemm(NULL, &p, a, a, c) == TW_OK && c[3] == 4);
}

int main(int argc, char **argv)
{
    tap_start(argc, argv);
    triangles();
    batches();
    refusals();
    return tap_finish();
}
