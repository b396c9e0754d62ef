/* test_parts.c - products of host memory on a device with less memory than their operands take: in parts of C, in parts
 * of k, or a sentence that says how much there is. Operands are small integers, so that each order of summation gives
 * the same bits. */
#include "support/tap.h"

#include <stdint.h>

#include "tilewright_lab.h"

enum { PAD = 3 };

static size_t bytes_of(tw_dtype dtype) { return (size_t)tw_lab_dtype_of(dtype)->bytes; }

static void fill(tw_dtype dtype, void *to, int64_t count, unsigned seed)
{
    for (int64_t i = 0; i < count; i++) {
        seed = seed * 1664525 + 1013904223;
        const int value = (int)(seed >> 28) - 7;
        if (dtype == TW_F64)
            ((double *)to)[i] = value;
        else if (dtype == TW_F32)
            ((float *)to)[i] = (float)value;
        else if (dtype == TW_I16)
            ((int16_t *)to)[i] = (int16_t)value;
        else if (dtype == TW_I32)
            ((int32_t *)to)[i] = value;
        else if (dtype == TW_I64)
            ((int64_t *)to)[i] = value;
        else
            ((int8_t *)to)[i] = (int8_t)value;
    }
}

static tw_status product(const char *engine, int64_t memory_bytes, const tw_problem *p, const void *a, const void *b,
                         void *c)
{
    const tw_options options = {.size = sizeof options, .engine = engine, .memory_bytes = memory_bytes};
    tw_context *context;
    tw_status status = tw_open(&options, &context);
    if (status == TW_OK) status = tw_gemm(context, p, a, b, c);
    tw_close(context);
    return status;
}

typedef struct parts_case {
    tw_dtype dtype;
    tw_op op_a, op_b;
    int64_t m, n, k;
    double beta;
    int64_t memory_bytes;
} parts_case;

static void run_case(const parts_case *x)
{
    if (!tap_case("opencl: %s %c%c %d x %d x %d, beta %g, within %d KiB", tw_lab_dtype_of(x->dtype)->name,
                  "nt"[x->op_a], "nt"[x->op_b], (int)x -> m, (int)x -> n, (int)x -> k, x -> beta,
                  (int)(x->memory_bytes >> 10)))
        return;
    if (tw_lab_engine_state("opencl", NULL, 0) != 1) {
        tap_skip("no opencl device is here");
        return;
    }
    tw_problem p = tw_problem_make(x->dtype, x->op_a, x->op_b, x->m, x->n, x->k);
    const tw_dtype c_type = x->dtype == TW_I8 ? TW_I32 : x->dtype;
    p.lda += PAD, p.ldb += PAD, p.ldc += PAD, p.alpha = -2, p.beta = x->beta;
    const int64_t of_a = (x->op_a == TW_N ? x->m : x->k) * p.lda, of_b = (x->op_b == TW_N ? x->k : x->n) * p.ldb,
                  of_c = x->m * p.ldc;
    const size_t c_bytes = (size_t)of_c * bytes_of(c_type);
    void *a = malloc((size_t)of_a * bytes_of(x->dtype)), *b = malloc((size_t)of_b * bytes_of(x->dtype)),
         *c = malloc(c_bytes), *expected = malloc(c_bytes);
    bool right = a != NULL && b != NULL && c != NULL && expected != NULL;
    if (right) {
        fill(x->dtype, a, of_a, 1), fill(x->dtype, b, of_b, 2), fill(c_type, c, of_c, 3);
        memcpy(expected, c, c_bytes); /* padding included, which must stay */
        right = product("opencl", x->memory_bytes, &p, a, b, c) == TW_OK &&
                product("cpu", 0, &p, a, b, expected) == TW_OK && memcmp(c, expected, c_bytes) == 0;
    }
    free(a), free(b), free(c), free(expected);
    tap_result(right, "%s", tw_error_text());
}

/* So little that no part fits: C stays as it is. */
static void refused_case(void)
{
    enum { EDGE = 300 };
    static float a[EDGE * EDGE], b[EDGE * EDGE], c[EDGE * EDGE];
    if (!tap_case("opencl: less than the smallest part takes")) return;
    if (tw_lab_engine_state("opencl", NULL, 0) != 1) {
        tap_skip("no opencl device is here");
        return;
    }
    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, EDGE, EDGE, EDGE);
    c[5] = 7;
    tw_status status = product("opencl", 100000, &p, a, b, c);
    tap_result(status == TW_NO_MEMORY && c[5] == 7 && strstr(tw_error_text(), "100000 may be used") != NULL, "%d: %s",
               (int)status, tw_error_text());
}

static void options_case(void)
{
    tw_context *context;
    if (!tap_case("a limit that is no size, and one for an engine without memory of its own")) return;
    tw_options options = {.size = sizeof options, .engine = "opencl", .memory_bytes = -1};
    bool right = tw_open(&options, &context) == TW_BAD_ARGUMENT &&
                 strstr(tw_error_text(), "options.memory_bytes is -1, expected 0 or more") != NULL;
    options.engine = "cpu", options.memory_bytes = 1;
    right = right && tw_open(&options, &context) == TW_BAD_ARGUMENT &&
            strstr(tw_error_text(), "options.memory_bytes is set, expected 0: the cpu engine") != NULL;
    tap_result(right, "%s", tw_error_text());
}

/* The last step of sums: what a product of the cpu engine makes of the same sums, which here is one of k = 1. */
static void finish_case(tw_dtype dtype, double alpha, double beta)
{
    enum { COUNT = 999 };
    if (!tap_case("sums of %s are finished as a product is, alpha %g, beta %g", tw_lab_dtype_of(dtype)->name, alpha,
                  beta))
        return;
    static double sums[COUNT], c[COUNT], expected[COUNT], one = 1;
    static const float one_f32 = 1;
    static const int64_t one_whole = 1;
    fill(dtype, sums, COUNT, 4), fill(dtype, c, COUNT, 5);
    for (int i = 0; i < COUNT; i++) {
        if (dtype == TW_F64)
            sums[i] /= 3, c[i] /= 7;
        else if (dtype == TW_F32)
            ((float *)sums)[i] /= 3, ((float *)c)[i] /= 7;
    }
    memcpy(expected, c, sizeof c);
    tw_problem p = tw_problem_make(dtype, TW_N, TW_N, COUNT, 1, 1);
    p.alpha = alpha, p.beta = beta;
    const void *by = dtype == TW_F64 ? &one : dtype == TW_F32 ? (const void *)&one_f32 : &one_whole;
    bool right = tw_gemm(NULL, &p, sums, by, expected) == TW_OK &&
                 tw_lab_finish_sums(NULL, dtype, 1, COUNT, alpha, sums, COUNT, beta, c, COUNT) == TW_OK;
    tap_result(right && memcmp(c, expected, sizeof c) == 0, "%s", tw_error_text());
}

int main(int argc, char **argv)
{
    static const parts_case cases[] = {
        {TW_F32, TW_N, TW_N, 600, 700, 64, 3, 400 << 10},       {TW_F32, TW_T, TW_T, 300, 20, 2 * 8192, 0, 9 << 20},
        {TW_F64, TW_N, TW_T, 40, 30, 2 * 4096 + 5, 3, 3 << 20}, {TW_I8, TW_T, TW_N, 300, 530, 70, 3, 400 << 10},
        {TW_F32, TW_N, TW_N, 300, 50, 1023, 3, 1300 << 10},
    };
    tap_start(argc, argv);
    if (!tap.full)
        setenv("TILEWRIGHT_OPENCL_OPTIONS", "-cl-opt-disable", 1); /* PoCL compiles for longer than it computes */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) run_case(&cases[i]);
    refused_case();
    options_case();
    finish_case(TW_F32, 1.1, 0);
    finish_case(TW_F32, 0.3, -1.7);
    finish_case(TW_F64, 0.3, 0.1);
    finish_case(TW_I16, 20001, -30003);
    finish_case(TW_I16, INT32_MIN, 0);
    finish_case(TW_I32, INT32_MAX, -3);
    finish_case(TW_I64, 0x1p53 - 1, 1 - 0x1p53);
    return tap_finish();
}
