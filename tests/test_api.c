/* test_api.c - the public calls: every status provoked and its sentence compared, special cases, contexts, devices and
 * the table of kernels. */
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>

#include "integers.h"
#include "plan.h"
#include "support/expect.h"
#include "support/tap.h"
#include "tilewright_lab.h"

static float a[64], b[64], c[64];

/* The call failed with this status and its sentence holds these words, and C is as it was. */
static void expect_failure(const char *what, tw_status found, tw_status expected, const char *words)
{
    bool untouched = true;
    if (!tap_case("error: %s", what)) return;
    for (int i = 0; i < 64; i++) untouched = untouched && c[i] == 7;
    tap_result(found == expected && strstr(tw_error_text(), words) != NULL && untouched,
               "status %s, expected %s; sentence \"%s\", expected \"%s\"; C %s", tw_status_name(found),
               tw_status_name(expected), tw_error_text(), words, untouched ? "untouched" : "written");
}

static tw_status with(void (*change)(tw_problem *))
{
    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, 3, 4, 5);
    change(&p);
    return tw_gemm(NULL, &p, a, b, c);
}

static void no_size(tw_problem *p) { p->size = 0; }
static void odd_dtype(tw_problem *p) { p->dtype = (tw_dtype)99; }
static void odd_dtype_c(tw_problem *p) { p->dtype_c = TW_F64; }
static void odd_dtype_c_of_bf16(tw_problem *p) { p->dtype = TW_BF16, p->dtype_c = TW_F16; }
static void odd_op_a(tw_problem *p) { p->op_a = (tw_op)2; }
static void odd_op_b(tw_problem *p) { p->op_b = (tw_op)-1; }
static void odd_place(tw_problem *p) { p->place_b = (tw_place)1; }
static void no_place(tw_problem *p) { p->place_a = p->place_b = p->place_c = (tw_place)2; }
static void device_places(tw_problem *p) { p->place_a = p->place_b = p->place_c = TW_DEVICE; }
static void negative_m(tw_problem *p) { p->m = -1; }
static void negative_n(tw_problem *p) { p->n = -2; }
static void negative_k(tw_problem *p) { p->k = INT64_MIN; }
static void small_lda(tw_problem *p) { p->lda = 4; }
static void small_lda_transposed(tw_problem *p) { p->op_a = TW_T, p->lda = 2; }
static void small_ldb(tw_problem *p) { p->ldb = 3; }
static void small_ldc(tw_problem *p) { p->ldc = 3; }
static void zero_ldc(tw_problem *p) { p->n = 0, p->ldb = 1, p->ldc = 0; }
static void huge_a(tw_problem *p) { p->lda = INT64_MAX; }
static void huge_c(tw_problem *p) { p->m = INT64_MAX / 4, p->n = 16, p->ldb = p->ldc = 16; }

static void error_cases(void)
{
    for (int i = 0; i < 64; i++) c[i] = 7;
    expect_failure("problem NULL", tw_gemm(NULL, NULL, a, b, c), TW_BAD_ARGUMENT, "problem is NULL");
    expect_failure("size", with(no_size), TW_BAD_ARGUMENT, "problem.size is 0, expected");
    expect_failure("dtype", with(odd_dtype), TW_BAD_ARGUMENT, "dtype is 99");
    expect_failure("dtype_c", with(odd_dtype_c), TW_BAD_ARGUMENT, "dtype_c is 1, expected 0 or 2: f32 operands");
    expect_failure("dtype_c of bf16", with(odd_dtype_c_of_bf16), TW_BAD_ARGUMENT,
                   "dtype_c is 3, expected 0, 2 or 4: bf16 operands give those types");
    expect_failure("op_a", with(odd_op_a), TW_BAD_ARGUMENT, "op_a is 2, expected TW_N or TW_T");
    expect_failure("op_b", with(odd_op_b), TW_BAD_ARGUMENT, "op_b is -1");
    expect_failure("place", with(odd_place), TW_BAD_ARGUMENT,
                   "are 0, 1, 0, expected all TW_HOST (0) or all TW_DEVICE (1)");
    expect_failure("places that there are not", with(no_place), TW_BAD_ARGUMENT, "are 2, 2, 2, expected all TW_HOST");
    expect_failure("device memory on the cpu engine", with(device_places), TW_NO_KERNEL,
                   "the operands are in device memory, the cpu engine takes");
    expect_failure("m", with(negative_m), TW_BAD_ARGUMENT, "m is -1, expected 0 or more");
    expect_failure("n", with(negative_n), TW_BAD_ARGUMENT, "n is -2");
    expect_failure("k", with(negative_k), TW_BAD_ARGUMENT, "k is -9223372036854775808");
    expect_failure("lda", with(small_lda), TW_BAD_ARGUMENT, "lda is 4, expected at least 5");
    expect_failure("lda transposed", with(small_lda_transposed), TW_BAD_ARGUMENT, "lda is 2, expected at least 3");
    expect_failure("ldb", with(small_ldb), TW_BAD_ARGUMENT, "ldb is 3, expected at least 4");
    expect_failure("ldc", with(small_ldc), TW_BAD_ARGUMENT, "ldc is 3, expected at least 4");
    expect_failure("ldc 0", with(zero_ldc), TW_BAD_ARGUMENT, "ldc is 0, expected at least 1");
    expect_failure("a too large", with(huge_a), TW_BAD_ARGUMENT, "a spans more bytes");
    expect_failure("m * n overflow", with(huge_c), TW_BAD_ARGUMENT, "spans more bytes");
    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, 3, 4, 5);
    expect_failure("a NULL", tw_gemm(NULL, &p, NULL, b, c), TW_BAD_ARGUMENT, "a is NULL, expected 3 x 5");
    expect_failure("b NULL", tw_gemm(NULL, &p, a, NULL, c), TW_BAD_ARGUMENT, "b is NULL, expected 5 x 4");
    expect_failure("c NULL", tw_gemm(NULL, &p, a, b, NULL), TW_BAD_ARGUMENT, "c is NULL, expected 3 x 4");
    expect_failure("a misaligned", tw_gemm(NULL, &p, (char *)a + 2, b, c), TW_BAD_ARGUMENT, "a is not aligned");
    float product[3 * 4];
    tw_problem placed = p;
    device_places(&placed);
    tw_status first = tw_gemm(NULL, &p, a, b, product), second = tw_gemm(NULL, &placed, a, b, product);
    expect_failure("device memory, after host memory of this shape", first == TW_OK ? second : TW_OK, TW_NO_KERNEL,
                   "the operands are in device memory");
    tw_context *own = NULL; /* whose kept plan is found again by its problem alone */
    first = tw_open(NULL, &own) == TW_OK ? tw_gemm(own, &p, a, b, product) : TW_NO_DEVICE;
    second = tw_gemm(own, &placed, a, b, product);
    expect_failure("device memory, after host memory of this shape, on a context", first == TW_OK ? second : TW_OK,
                   TW_NO_KERNEL, "the operands are in device memory");
    tw_close(own);
    expect_failure("sgemm", tw_sgemm(NULL, TW_N, TW_N, 3, 4, 5, 1, a, 4, b, 4, 0, c, 4), TW_BAD_ARGUMENT, "lda is 4");
    const int64_t far = ((int64_t)1 << 62) + 5; /* not 5 */
    expect_failure("sgemm: lda", tw_sgemm(NULL, TW_N, TW_N, 3, 4, 5, 1, a, far, b, 4, 0, c, 4), TW_BAD_ARGUMENT,
                   "a spans more bytes");
    expect_failure("sgemm: ldb", tw_sgemm(NULL, TW_N, TW_N, 3, 4, 5, 1, a, 5, b, far, 0, c, 4), TW_BAD_ARGUMENT,
                   "b spans more bytes");
    expect_failure("sgemm: ldc", tw_sgemm(NULL, TW_N, TW_N, 3, 4, 5, 1, a, 5, b, 4, 0, c, far), TW_BAD_ARGUMENT,
                   "c spans more bytes");

    tw_problem whole = tw_problem_make(TW_I8, TW_N, TW_N, 3, 4, 5);
    whole.alpha = 0.5;
    expect_failure("alpha of integers", tw_gemm(NULL, &whole, a, b, c), TW_BAD_ARGUMENT,
                   "alpha is 0.5, expected a whole number from -2^31 to 2^31 - 1");
    whole.alpha = 1, whole.beta = 0x1p31;
    expect_failure("beta of integers", tw_gemm(NULL, &whole, a, b, c), TW_BAD_ARGUMENT,
                   "beta is 2.14748e+09, expected a whole number");
    whole.beta = NAN;
    expect_failure("NaN of integers", tw_gemm(NULL, &whole, a, b, c), TW_BAD_ARGUMENT,
                   "beta is nan, expected a whole number");
    for (int i = 0; i < 3; i++) {
        static const tw_dtype dtypes[] = {TW_I16, TW_I32, TW_I64};
        const bool wide = dtypes[i] == TW_I64;
        whole = tw_problem_make(dtypes[i], TW_N, TW_N, 3, 4, 5);
        whole.alpha = -1.5;
        expect_failure("alpha of wider integers", tw_gemm(NULL, &whole, a, b, c), TW_BAD_ARGUMENT,
                       "alpha is -1.5, expected a whole number from -2^");
        whole.alpha = wide ? 1 - 0x1p53 : INT32_MIN, whole.beta = wide ? 0x1p53 : 0x1p31;
        expect_failure("beta of wider integers", tw_gemm(NULL, &whole, a, b, c), TW_BAD_ARGUMENT,
                       wide ? "beta is 9.0072e+15, expected a whole number from -2^53 + 1 to 2^53 - 1"
                            : "beta is 2.14748e+09, expected a whole number from -2^31 to 2^31 - 1");
        whole.beta = 0, whole.dtype_b = TW_I8;
        expect_failure("types of integers", tw_gemm(NULL, &whole, a, b, c), TW_BAD_ARGUMENT,
                       "dtype_b is 5, expected 0 or");
        whole.dtype_b = 0, whole.dtype_c = wide ? TW_I32 : TW_I64;
        expect_failure("C of integers", tw_gemm(NULL, &whole, a, b, c), TW_BAD_ARGUMENT,
                       wide ? "dtype_c is 6, expected 0 or 14: i64 operands give that type"
                            : "dtype_c is 14, expected 0 or");
    }
    tw_context *context = NULL;
    tw_options options = {.size = sizeof options};
    options.engine = "abacus";
    expect_failure("engine", tw_open(&options, &context), TW_NO_DEVICE, "there is no engine named abacus");
    options.engine = "cpu", options.device = 3;
    expect_failure("device", tw_open(&options, &context), TW_NO_DEVICE, "device 3 was asked for");
    options.device = 0, options.threads = -1;
    expect_failure("threads", tw_open(&options, &context), TW_BAD_ARGUMENT,
                   "options.threads is -1, expected 0 to 4096");
    options.threads = 4097;
    expect_failure("too many threads", tw_open(&options, &context), TW_BAD_ARGUMENT,
                   "options.threads is 4097, expected 0 to 4096");
    options.engine = "opencl", options.threads = INT32_MAX;
    expect_failure("too many threads of any engine", tw_open(&options, &context), TW_BAD_ARGUMENT,
                   "options.threads is 2147483647, expected 0 to 4096");
    options.engine = "cpu";
    options.threads = 0, options.instruction_set = "mmx";
    expect_failure("instruction set", tw_open(&options, &context), TW_BAD_ARGUMENT,
#if defined(__aarch64__)
                   "is mmx, expected base or neon");
#else
                   "is mmx, expected base, avx2, avx512, avx512_vnni, avx512_bf16 or amx");
#endif
    options.size = 1;
    expect_failure("options.size", tw_open(&options, &context), TW_BAD_ARGUMENT, "options.size is 1");
    options = (tw_options){.size = sizeof options, .device_context = &options};
    expect_failure("a context of CUDA's for the cpu engine", tw_open(&options, &context), TW_BAD_ARGUMENT,
                   "options.device_context is given, expected NULL: the cpu");
    int64_t bytes = -1;
    expect_failure("streams of the cpu engine", tw_enqueue(NULL, &p, a, b, c, NULL), TW_BAD_ARGUMENT,
                   "the cpu engine, which has no streams");
    expect_failure("workspace of the cpu engine", tw_workspace_bytes(NULL, &p, &bytes), TW_BAD_ARGUMENT,
                   "the cpu engine, which has no streams");
    expect_failure("bytes NULL", tw_workspace_bytes(NULL, &p, NULL), TW_BAD_ARGUMENT, "bytes is NULL");
    expect_failure("workspace of no problem", tw_workspace_bytes(NULL, NULL, &bytes), TW_BAD_ARGUMENT,
                   "problem is NULL");
    const tw_batch three = tw_batch_make(&p, 3);
    expect_failure("workspace of a batch of the cpu engine", tw_workspace_bytes_batched(NULL, &p, &three, &bytes),
                   TW_BAD_ARGUMENT, "the cpu engine, which has no streams");
    expect_failure("bytes of a batch NULL", tw_workspace_bytes_batched(NULL, &p, &three, NULL), TW_BAD_ARGUMENT,
                   "bytes is NULL");
    expect_failure("workspace of no batch", tw_workspace_bytes_batched(NULL, &p, NULL, &bytes), TW_BAD_ARGUMENT,
                   "batch is NULL");
    expect_failure("prepare no problem", tw_prepare(NULL, NULL), TW_BAD_ARGUMENT, "problem is NULL");
    p.align_b = 6;
    expect_failure("prepare an odd alignment", tw_prepare(NULL, &p), TW_BAD_ARGUMENT,
                   "b is not aligned to one element");
    p.align_b = 0;
    expect_failure("context NULL", tw_open(NULL, NULL), TW_BAD_ARGUMENT, "context is NULL");
    expect_failure("count NULL", tw_devices(NULL, 0, NULL), TW_BAD_ARGUMENT, "count is NULL");
    tw_lab_code code;
    expect_failure("code NULL", tw_lab_code_make(NULL, NULL, &p, 90, 0, NULL), TW_BAD_ARGUMENT, "code is NULL");
    expect_failure("code of no kernel", tw_lab_code_make(NULL, NULL, &p, 90, 0, &code), TW_BAD_ARGUMENT,
                   "a kernel and a problem must be named");
    expect_failure("code of a CPU's kernel",
                   tw_lab_code_make(NULL, &(tw_lab_choice){.kernel = "cpu_f32_r01_naive"}, &p, 90, 0, &code),
                   TW_NO_KERNEL, "");
    tw_lab_plan plan;
    const tw_lab_source source = {"mine.cu", "mine", "extern"}, textless = {"mine.cu", "mine", NULL};
    expect_failure("a source like a CPU's rung",
                   tw_lab_plan_of(NULL, &(tw_lab_choice){.kernel = "cpu_f32_r01_naive", .source = &source}, &p, &plan),
                   TW_BAD_ARGUMENT, "mine.cu is to be launched like cpu_f32_r01_naive");
    expect_failure("a source like the planner's choice",
                   tw_lab_plan_of(NULL, &(tw_lab_choice){.source = &source}, &p, &plan), TW_BAD_ARGUMENT,
                   "the planner's choice, which takes no other text");
    expect_failure(
        "a source like a rung with tensor maps",
        tw_lab_code_make(NULL, &(tw_lab_choice){.kernel = "cuda_f32_r12_async", .source = &source}, &p, 90, 0, &code),
        TW_BAD_ARGUMENT, "like cuda_f32_r12_async, which takes no other text");
    expect_failure(
        "a source without text",
        tw_lab_code_make(NULL, &(tw_lab_choice){.kernel = "cuda_f32_r01_naive", .source = &textless}, &p, 90, 0, &code),
        TW_BAD_ARGUMENT, "text of a kernel's source is NULL");
    tw_context *host = NULL;
    tw_options cpu = {.size = sizeof cpu, .engine = "cpu"};
    if (tw_open(&cpu, &host) == TW_OK)
        expect_failure("code of the cpu engine", tw_lab_code_make(host, NULL, &p, 0, 0, &code), TW_NO_KERNEL,
                       "is not compiled at run time");
    tw_close(host);
    tw_lab_code_free(&code);
    tw_lab_code_free(NULL);
    tw_device device = {0};
    int32_t count;
    expect_failure("device.size", tw_devices(&device, 1, &count), TW_BAD_ARGUMENT, "devices[0].size is 0");
    expect_failure("describe size", tw_describe(NULL, &device), TW_BAD_ARGUMENT, "device.size is 0");
    expect_failure("describe NULL", tw_describe(NULL, NULL), TW_BAD_ARGUMENT, "device is NULL");

    tw_lab_choice choice = {"cpu_f32_r99", 0, 0};
    tw_lab_run *run;
    expect_failure("no kernel of that name", tw_lab_plan_of(NULL, &choice, &p, &plan), TW_BAD_ARGUMENT,
                   "no kernel is named cpu_f32_r99");
    choice.kernel = "cpu_f64_r01_naive";
    expect_failure("wrong dtype", tw_lab_run_open(NULL, &choice, &p, a, b, c, &run), TW_NO_KERNEL,
                   "it multiplies f64, the problem is f32");
    choice = (tw_lab_choice){"cpu_f32_gemm_simd_base", 5, 0};
    expect_failure("no tile", tw_lab_plan_of(NULL, &choice, &p, &plan), TW_BAD_ARGUMENT, "has no tile to choose");
    choice = (tw_lab_choice){NULL, 0, -2};
    expect_failure("threads of a choice", tw_lab_plan_of(NULL, &choice, &p, &plan), TW_BAD_ARGUMENT, "threads -2");
    choice.threads = 4097;
    expect_failure("too many threads of a choice", tw_lab_plan_of(NULL, &choice, &p, &plan), TW_BAD_ARGUMENT,
                   "threads 4097 are forced, expected 0 to 65536 and 0 to 4096");
    double rate;
    expect_failure("too many threads of a probe", tw_lab_peak_flops(NULL, TW_F32, 4097, 1, &rate), TW_BAD_ARGUMENT,
                   "threads 4097, tries 1: expected");
    expect_failure("too many threads that read", tw_lab_bandwidth(NULL, 4096, 4097, 1, &rate), TW_BAD_ARGUMENT,
                   "threads 4097, tries 1: expected");
}

/* A program that goes on with what a failed tw_open() left. */
static void context_that_was_not_opened(void)
{
    static const char why[] =
        "the context is NULL, the default one; this thread's last tw_open() failed: there is no engine named abacus";
    const tw_options options = {.size = sizeof options, .engine = "abacus"};
    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, 3, 4, 5);
    tw_context *context, *other;
    int64_t bytes;
    device_places(&p);
    expect("the context of a tw_open that failed is NULL",
           tw_open(&options, &context) == TW_NO_DEVICE && context == NULL);
    expect_failure("gemm without the context", tw_gemm(context, &p, a, b, c), TW_NO_KERNEL, why);
    expect_failure("prepare without the context", tw_prepare(context, &p), TW_NO_KERNEL, why);
    expect_failure("workspace without the context", tw_workspace_bytes(context, &p, &bytes), TW_NO_KERNEL, why);
    expect_failure("enqueue without the context", tw_enqueue(context, &p, a, b, c, NULL), TW_NO_KERNEL, why);
    expect("a tw_open that does not fail ends that",
           tw_open(NULL, &other) == TW_OK && tw_prepare(NULL, &p) == TW_NO_KERNEL &&
               strstr(tw_error_text(), "the context is NULL, the default one") != NULL &&
               strstr(tw_error_text(), "abacus") == NULL);
    tw_close(other);
}

static bool all_are(const float *x, int count, float value)
{
    for (int i = 0; i < count; i++)
        if (!(x[i] == value)) return false;
    return true;
}

static void special_cases(void)
{
    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, 8, 8, 8);
    for (int i = 0; i < 64; i++) a[i] = b[i] = 1, c[i] = NAN;
    expect("beta = 0 does not read C", tw_gemm(NULL, &p, a, b, c) == TW_OK && all_are(c, 64, 8));
    p.alpha = 0, p.beta = 2;
    expect("alpha = 0 reads neither A nor B", tw_gemm(NULL, &p, NULL, NULL, c) == TW_OK && all_are(c, 64, 16));
    p.beta = 0;
    for (int i = 0; i < 64; i++) c[i] = NAN;
    expect("alpha = beta = 0 writes zeros", tw_gemm(NULL, &p, NULL, NULL, c) == TW_OK && all_are(c, 64, 0));
    p = tw_problem_make(TW_F32, TW_N, TW_N, 8, 8, 0);
    p.alpha = NAN, p.beta = 1;
    for (int i = 0; i < 64; i++) c[i] = 3;
    expect("k = 0 with beta = 1 keeps C, whatever alpha",
           tw_gemm(NULL, &p, NULL, NULL, c) == TW_OK && all_are(c, 64, 3));
    p = tw_problem_make(TW_F32, TW_N, TW_N, 8, 8, 8);
    p.beta = NAN;
    expect("beta = NaN reaches C", tw_gemm(NULL, &p, a, b, c) == TW_OK && isnan(c[0]) && isnan(c[63]));
    p = tw_problem_make(TW_F32, TW_N, TW_N, 0, 8, 8);
    expect("m = 0 with NULL everywhere", tw_gemm(NULL, &p, NULL, NULL, NULL) == TW_OK);
    p = tw_problem_make(TW_F32, TW_T, TW_T, 8, 0, 8);
    expect("n = 0 with NULL everywhere", tw_gemm(NULL, &p, NULL, NULL, NULL) == TW_OK);
    for (int i = 0; i < 64; i++) a[i] = b[i] = 1, c[i] = NAN;
    p = tw_problem_make(TW_F32, TW_N, TW_N, 1, 5, 1);
    p.lda = p.ldb = p.ldc = INT64_MAX;
    expect("leading dimensions of single rows may be anything",
           tw_gemm(NULL, &p, a, b, c) == TW_OK && all_are(c, 5, 1) && isnan(c[5]));
    p = tw_problem_make(TW_F32, TW_N, TW_N, 3, 5, 1);
    p.ldb = INT64_MAX;
    for (int i = 0; i < 64; i++) c[i] = NAN;
    expect("so may that of B where k is 1", tw_gemm(NULL, &p, a, b, c) == TW_OK && all_are(c, 15, 1) && isnan(c[15]));
    p = tw_problem_make(TW_F32, TW_N, TW_N, 8, 8, 0);
    p.lda = INT64_MAX, p.beta = 2;
    for (int i = 0; i < 64; i++) c[i] = 1;
    expect("and that of A where k is 0", tw_gemm(NULL, &p, a, b, c) == TW_OK && all_are(c, 64, 2));
    p = tw_problem_make(TW_F32, TW_N, TW_N, INT64_MAX, 0, 0);
    expect("huge m with nothing in it", tw_gemm(NULL, &p, NULL, NULL, NULL) == TW_OK);
    p = tw_problem_make(TW_F32, TW_N, TW_N, 8, 8, 8);
    p.alpha = 1e-60, p.beta = 1e-60;
    for (int i = 0; i < 64; i++) c[i] = NAN;
    expect("alpha and beta that round to 0 are 0", tw_gemm(NULL, &p, NULL, NULL, c) == TW_OK && all_are(c, 64, 0));
    double x[2] = {3, 4}, y[2] = {5, 6}, z[1] = {1};
    expect("dgemm: 3 * 5 + 4 * 6 + 1",
           tw_dgemm(NULL, TW_N, TW_N, 1, 1, 2, 1, x, 2, y, 1, 1, z, 1) == TW_OK && z[0] == 40);
    /* 2 x 2 each, padded: 1 2; 3 4 by 5 6; 7 8 is 19 22; 43 50 */
    double x3[] = {1, 2, NAN, 3, 4}, y4[] = {5, 6, NAN, NAN, 7, 8}, z5[] = {0, 0, -1, -1, -1, 0, 0};
    float u3[] = {1, 2, NAN, 3, 4}, v4[] = {5, 6, NAN, NAN, 7, 8}, w5[] = {0, 0, -1, -1, -1, 0, 0};
    const double right[] = {19, 22, -1, -1, -1, 43, 50};
    bool f64 = tw_dgemm(NULL, TW_N, TW_N, 2, 2, 2, 1, x3, 3, y4, 4, 0, z5, 5) == TW_OK, f32;
    f32 = tw_sgemm(NULL, TW_N, TW_N, 2, 2, 2, 1, u3, 3, v4, 4, 0, w5, 5) == TW_OK;
    for (int i = 0; i < 7; i++) f64 = f64 && z5[i] == right[i], f32 = f32 && (double)w5[i] == right[i];
    expect("dgemm: each operand has its own leading dimension", f64);
    expect("sgemm: each operand has its own leading dimension", f32);
    expect("A may be B", tw_sgemm(NULL, TW_N, TW_T, 8, 8, 8, 1, a, 8, a, 8, 0, c, 8) == TW_OK && all_are(c, 64, 8));
    expect("alpha is rounded to f32 once",
           tw_sgemm(NULL, TW_N, TW_N, 1, 1, 1, 0.1f, a, 1, b, 1, 0, c, 1) == TW_OK && c[0] == 0.1f);
}

/* A shape that was computed a moment ago skips its checks and its plan, unless what is given now asks for them. */
static void again_cases(void)
{
    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, 8, 8, 8), q = p;
    tw_device seen = {.size = sizeof seen};
    tw_lab_plan planned;
    for (int i = 0; i < 64; i++) a[i] = b[i] = 1, c[i] = 7;
    float made[64];
#define AGAIN() (tw_gemm(NULL, &p, a, b, made) == TW_OK && all_are(made, 64, 8))
    expect("again: the same", AGAIN() && AGAIN() && tw_describe(NULL, &seen) == TW_OK &&
                                  tw_lab_plan_of(NULL, NULL, &p, &planned) == TW_OK && planned.workspace_bytes == 0);
    expect_failure("again: size", AGAIN() ? (q.size = 1, tw_gemm(NULL, &q, a, b, c)) : TW_OK, TW_BAD_ARGUMENT,
                   "problem.size is 1");
    expect_failure("again: problem NULL", AGAIN() ? tw_gemm(NULL, NULL, a, b, c) : TW_OK, TW_BAD_ARGUMENT,
                   "problem is NULL");
    expect_failure("again: a NULL", AGAIN() ? tw_gemm(NULL, &p, NULL, b, c) : TW_OK, TW_BAD_ARGUMENT, "a is NULL");
    expect_failure("again: b NULL", AGAIN() ? tw_gemm(NULL, &p, a, NULL, c) : TW_OK, TW_BAD_ARGUMENT, "b is NULL");
    expect_failure("again: c NULL", AGAIN() ? tw_gemm(NULL, &p, a, b, NULL) : TW_OK, TW_BAD_ARGUMENT, "c is NULL");
    expect_failure("again: b misaligned", AGAIN() ? tw_gemm(NULL, &p, a, (char *)b + 2, c) : TW_OK, TW_BAD_ARGUMENT,
                   "b is not aligned");
    q = p, q.dtype_c = TW_F64;
    expect_failure("again: dtype_c", AGAIN() ? tw_gemm(NULL, &q, a, b, c) : TW_OK, TW_BAD_ARGUMENT, "dtype_c is 1");
    for (int i = 0; i < 3; i++) {
        static const char *const names[] = {"again: place_a", "again: place_b", "again: place_c"};
        q = p, *(i == 0 ? &q.place_a : i == 1 ? &q.place_b : &q.place_c) = TW_DEVICE;
        expect_failure(names[i], AGAIN() ? tw_gemm(NULL, &q, a, b, c) : TW_OK, TW_BAD_ARGUMENT, "expected all TW_HOST");
    }
    q = p, q.lda = 7;
    expect_failure("again: lda", AGAIN() ? tw_gemm(NULL, &q, a, b, c) : TW_OK, TW_BAD_ARGUMENT, "lda is 7");
    q = p, q.alpha = 0, q.beta = 2;
    expect("again: alpha = 0 reads neither A nor B",
           AGAIN() && tw_gemm(NULL, &q, NULL, NULL, made) == TW_OK && all_are(made, 64, 16));
    q = p, q.alpha = 1e-60, q.beta = 1e-60;
    expect("again: alpha and beta that round to 0",
           AGAIN() && (made[3] = NAN, tw_gemm(NULL, &q, NULL, NULL, made) == TW_OK) && all_are(made, 64, 0));
    q = p, q.beta = 1e-60;
    expect("again: beta that rounds to 0 does not read C",
           AGAIN() && (made[3] = NAN, tw_gemm(NULL, &q, a, b, made) == TW_OK) && all_are(made, 64, 8));
    q = p, q.alpha = 2, q.beta = 1;
    expect("again: other scalars", AGAIN() && tw_gemm(NULL, &q, a, b, made) == TW_OK && all_are(made, 64, 24));
    q = p, q.k = 0, q.beta = 1;
    expect("again: k = 0", AGAIN() && tw_gemm(NULL, &q, NULL, NULL, made) == TW_OK &&
                               tw_gemm(NULL, &q, NULL, NULL, made) == TW_OK && all_are(made, 64, 8));
    q.alpha = INFINITY;
    expect("again: k = 0, whatever alpha", AGAIN() && tw_gemm(NULL, &q, a, b, made) == TW_OK &&
                                               tw_gemm(NULL, &q, a, b, made) == TW_OK && all_are(made, 64, 8));
    double x[64], y[64];
    for (int i = 0; i < 64; i++) x[i] = 2;
    expect("again: the other type", AGAIN() && tw_dgemm(NULL, TW_N, TW_N, 8, 8, 8, 0.1, x, 8, x, 8, 0, y, 8) == TW_OK &&
                                        y[0] == 0.1 * 32 && AGAIN());
    tw_context *base = NULL;
    bool opened = tw_open(&(tw_options){.size = sizeof(tw_options), .engine = "cpu", .instruction_set = "base"},
                          &base) == TW_OK;
    for (int i = 0; i < 64; i++) a[i] = (float)(i * 37 % 64) / 64, b[i] = (float)(i * 23 % 64) / 48;
    float first[64], other[64];
    bool same = opened && tw_gemm(base, &p, a, b, first) == TW_OK && tw_gemm(NULL, &p, a, b, made) == TW_OK &&
                tw_gemm(base, &p, a, b, other) == TW_OK;
    expect("again: another context in between", same && memcmp(first, other, sizeof first) == 0);
    tw_close(base);
#undef AGAIN
}

static void context_cases(void)
{
    tw_context *context = NULL;
    tw_options options = {.size = sizeof options, .threads = 4096};
    tw_device device = {.size = sizeof device};
    expect("open for as many threads as may be asked for",
           tw_open(&options, &context) == TW_OK && tw_describe(context, &device) == TW_OK && device.threads == 4096);
    tw_close(context);
    options = (tw_options){.size = sizeof options, .instruction_set = "base", .threads = 3};
    expect("open with base instructions", tw_open(&options, &context) == TW_OK &&
                                              tw_describe(context, &device) == TW_OK &&
                                              strcmp(device.instruction_set, "base") == 0 && device.threads == 3);
    tw_lab_choice choice = {"cpu_f32_gemm_simd_avx2", 0, 0};
    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, 8, 8, 8);
    char reason[160] = "";
    if (kernel_named(choice.kernel) != NULL)
        expect("a base context refuses avx2 and says why",
               tw_lab_fits(context, &choice, &p, reason, sizeof reason) == 0 &&
                   strstr(reason, "it needs avx2 instructions, this device has base"));
    choice.kernel = "cpu_f32_r01_naive";
    p.dtype_c = (tw_dtype)99;
    expect("a dtype_c that is none is no question of fitting",
           tw_lab_fits(context, &choice, &p, reason, 0) == -1 && strstr(tw_error_text(), "dtype_c") != NULL);
    p.dtype_c = 0, p.dtype_b = (tw_dtype)99;
    expect("nor is a dtype_b that is none", tw_lab_fits(context, &choice, &p, NULL, 0) == -1);
    p.dtype_b = 0;
    expect("nor no problem", tw_lab_fits(context, &choice, NULL, NULL, 0) == -1);
    tw_lab_plan plan;
    expect("and plans a base kernel",
           tw_lab_plan_of(context, NULL, &p, &plan) == TW_OK && strcmp(plan.kernel->needs, "base") == 0);
    tw_close(context);
    tw_close(NULL);

    setenv("TILEWRIGHT_THREADS", "5", 1);
    setenv("OMP_NUM_THREADS", "4,2", 1);
    setenv("TILEWRIGHT_CPU", "base", 1);
    expect("TILEWRIGHT_THREADS and TILEWRIGHT_CPU are read at open",
           tw_open(NULL, &context) == TW_OK && tw_describe(context, &device) == TW_OK && device.threads == 5 &&
               strcmp(device.threads_from, "TILEWRIGHT_THREADS") == 0 && strcmp(device.instruction_set, "base") == 0);
    tw_close(context);
    unsetenv("TILEWRIGHT_THREADS");
    expect("then OMP_NUM_THREADS, its first number",
           tw_open(NULL, &context) == TW_OK && tw_describe(context, &device) == TW_OK && device.threads == 4 &&
               strcmp(device.threads_from, "OMP_NUM_THREADS") == 0);
    tw_close(context);
    setenv("OMP_NUM_THREADS", "many", 1);
    expect("a word there is passed over", tw_open(NULL, &context) == TW_OK && tw_describe(context, &device) == TW_OK &&
                                              device.threads >= 1 &&
                                              strcmp(device.threads_from, "OMP_NUM_THREADS") != 0);
    tw_close(context);
    setenv("TILEWRIGHT_THREADS", "many", 1);
    expect("a word in TILEWRIGHT_THREADS is an error that names it",
           tw_open(NULL, &context) == TW_BAD_ARGUMENT &&
               strstr(tw_error_text(), "TILEWRIGHT_THREADS is many, expected"));
    setenv("TILEWRIGHT_THREADS", "2,1", 1);
    expect("and so is a list, which is OpenMP's", tw_open(NULL, &context) == TW_BAD_ARGUMENT &&
                                                      strstr(tw_error_text(), "TILEWRIGHT_THREADS is 2,1, expected"));
    unsetenv("TILEWRIGHT_THREADS");
    setenv("TILEWRIGHT_WAIT", "never", 1);
    expect("a wrong TILEWRIGHT_WAIT is an error that names it",
           tw_open(NULL, &context) == TW_BAD_ARGUMENT &&
               strstr(tw_error_text(), "TILEWRIGHT_WAIT is never, expected auto, spin or sleep"));
    for (int i = 0; i < 4; i++) {
        setenv("TILEWRIGHT_WAIT", (const char *[]){"auto", "spin", "sleep", ""}[i], 1);
        expect("auto, spin, sleep or nothing is none", tw_open(NULL, &context) == TW_OK);
        tw_close(context);
    }
    unsetenv("TILEWRIGHT_WAIT");
    setenv("TILEWRIGHT_THREADS", "", 1);
    setenv("TILEWRIGHT_CPU", "", 1);
    setenv("OMP_NUM_THREADS", "3", 1);
    expect("empty variables are not set",
           tw_open(NULL, &context) == TW_OK && tw_describe(context, &device) == TW_OK && device.threads == 3);
    tw_close(context);
    unsetenv("TILEWRIGHT_THREADS");
    setenv("TILEWRIGHT_CPU", "sse9", 1);
    expect("a wrong TILEWRIGHT_CPU is an error that names it", tw_open(NULL, &context) == TW_BAD_ARGUMENT &&
                                                                   context == NULL &&
                                                                   strstr(tw_error_text(), "TILEWRIGHT_CPU is sse9"));
    int32_t count = 0;
    expect("and so it is when devices are counted",
           tw_devices(NULL, 0, &count) == TW_BAD_ARGUMENT && strstr(tw_error_text(), "TILEWRIGHT_CPU is sse9"));
    expect("or described",
           tw_devices(&device, 1, &count) == TW_BAD_ARGUMENT && strstr(tw_error_text(), "TILEWRIGHT_CPU is sse9"));
    unsetenv("TILEWRIGHT_CPU");
    unsetenv("OMP_NUM_THREADS");
    expect("devices without room are counted", tw_devices(NULL, 0, &count) == TW_OK && count >= 1);
    expect("devices are described",
           tw_devices(&device, 1, &count) == TW_OK && strcmp(device.engine, "cpu") == 0 && device.memory_bytes > 0);
    tw_sgemm(NULL, TW_N, TW_N, -1, 1, 1, 1, a, 1, b, 1, 0, c, 1);
    expect("what was left out of the list is told, and nothing older",
           tw_devices(NULL, 0, &count) == TW_OK && strstr(tw_error_text(), "expected 0 or more") == NULL &&
               (tw_error_text()[0] == '\0' || strstr(tw_error_text(), "opencl: ") != NULL ||
                strstr(tw_error_text(), "cuda: ") != NULL));
}

/* The peak of a type is that of the instructions of its production kernel, wherever the rows stand in the table. */
static void probe_cases(void)
{
    static const tw_dtype dtypes[] = {TW_F64, TW_F32, TW_CF64, TW_CF32, TW_BF16, TW_I8, TW_I16, TW_I32, TW_I64};
    for (int i = 0; cpu_sets[i / 9].name != NULL; i++) {
        const tw_dtype dtype = dtypes[i % 9];
        const device_facts facts = {.engine = "cpu",
                                    .features = cpu_sets[i / 9].features,
                                    .threads = 1,
                                    .l1_bytes = 32768,
                                    .l2_bytes = 1 << 20};
        const tw_problem made = tw_problem_make(dtype, TW_N, TW_N, 64, 64, 64);
        tw_problem p;
        plan out;
        if (!tap_case("%s, %s: the probe of the production kernel", tw_lab_dtype_of(dtype)->name,
                      cpu_set_name(facts.features)))
            continue;
        const bool planned = problem_load(&made, a, a, a, &p) == TW_OK && plan_find(&p, &facts, NULL, &out) == TW_OK;
        const kernel_row *probed = kernel_probed(dtype, facts.features);
        tap_result(planned && probed == out.row, "%s, planned %s", probed != NULL ? probed->lab.name : "none",
                   planned ? out.row->lab.name : tw_error_text());
    }
    expect("no probe on the CPU for e4m3", kernel_probed(TW_E4M3, CPU_amx) == NULL);
}

/* A set of features is no level: what a processor has of a later one helps, without the ones between. */
static void feature_cases(void)
{
    static const struct {
        cpu_features features;
        tw_dtype dtype;
        const char *named, *kernel;
    } cases[] = {{CPU_avx512 | CPU_BF16 | CPU_AMX, TW_BF16, "avx512", "cpu_bf16_gemm_simd_avx512"},
                 {CPU_avx512 | CPU_VNNI | CPU_AMX, TW_I8, "avx512_vnni", "cpu_i8_gemm_simd_avx512_vnni"},
                 {CPU_avx2 | CPU_VNNI, TW_I8, "avx2", "cpu_i8_gemm_simd_avx2"},
                 {CPU_VNNI | CPU_BF16, TW_F32, "base", "cpu_f32_gemm_simd_base"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const device_facts facts = {
            .engine = "cpu", .features = cases[i].features, .threads = 1, .l1_bytes = 32768, .l2_bytes = 1 << 20};
        const tw_problem made = tw_problem_make(cases[i].dtype, TW_N, TW_N, 64, 64, 64);
        tw_problem p;
        plan out;
        if (!tap_case("of some features: %s", cases[i].kernel)) continue;
        if (kernel_named(cases[i].kernel) == NULL) {
            tap_skip("no such row on this architecture");
            continue;
        }
        const bool planned = problem_load(&made, a, a, a, &p) == TW_OK && plan_find(&p, &facts, NULL, &out) == TW_OK;
        tap_result(planned && out.row == kernel_named(cases[i].kernel) &&
                       strcmp(cpu_set_name(cases[i].features), cases[i].named) == 0,
                   "%s, named %s", planned ? out.row->lab.name : tw_error_text(), cpu_set_name(cases[i].features));
    }
}

/* Every row is found by its name; where it was called otherwise once, and of a CPU family without its tile, also so. */
static void name_cases(void)
{
    char name[128];
    for (int i = 0; i < tw_lab_kernel_count(); i++) {
        const tw_lab_kernel *k = tw_lab_kernel_at(i);
        if (!tap_case("the names of %s", k->name)) continue;
        const size_t before = (size_t)(strstr(k->name, k->rung) - k->name), after = before + strlen(k->rung);
        bool found = tw_lab_kernel_named(k->name) == k;
        snprintf(name, sizeof name, "%.*s%s%s", (int)before, k->name, k->formerly != NULL ? k->formerly : k->rung,
                 k->name + after);
        found = found && tw_lab_kernel_named(name) == k;
        const bool tiled = k->family && strcmp(k->engine, "cpu") == 0;
        if (tiled) *strrchr(name, '_') = '\0';
        /* of several tiles the last */
        const tw_lab_kernel *other = tw_lab_kernel_named(name);
        found = found && other != NULL && other->dtype == k->dtype && strcmp(other->needs, k->needs) == 0 &&
                (tiled ? other >= k : other == k) && k->idea != NULL && k->source != NULL;
        strcat(name, tiled ? "_" : "x"); /* is no name */
        tap_result(found && tw_lab_kernel_named(name) == NULL, "%s", name);
    }
    expect("half a tile is no name", tw_lab_kernel_named("cpu_f32_gemm_simd_base_4x") == NULL);
}

/* OpenCL multiplies no complex numbers, cuda by its kernels of real ones; by a rung that is named neither does. */
static void complex_cases(void)
{
    static const char *const engines[] = {"opencl", "cuda"}, *const kernels[] = {"opencl_f32_r11_warp",
                                                                                 "cuda_f32_r03t_transposed"};
    for (int i = 0; i < 2 * 2; i++) {
        const device_facts facts = {.engine = engines[i / 2],
                                    .addresses = true,
                                    .sm = 90,
                                    .most_threads = 1024,
                                    .multiprocessors = 132,
                                    .local_bytes = 49152,
                                    .l2_bytes = 50 << 20,
                                    .largest_bytes = (int64_t)1 << 34};
        const tw_problem made = tw_problem_make(i % 2 ? TW_CF64 : TW_CF32, TW_C, TW_N, 64, 64, 64);
        const tw_lab_choice named = {.kernel = kernels[i / 2]};
        char words[80];
        tw_problem p;
        plan out;
        if (!tap_case("%s %s %s", engines[i / 2], i / 2 ? "multiplies as real numbers" : "refuses",
                      tw_lab_dtype_of(made.dtype)->name))
            continue;
        snprintf(words, sizeof words, "the %s engine has no production kernel for %s", engines[i / 2],
                 tw_lab_dtype_of(made.dtype)->name);
        bool right = problem_load(&made, a, a, a, &p) == TW_OK;
        if (i / 2)
            right = right && plan_find(&p, &facts, NULL, &out) == TW_OK && out.gpu.problem.k == 128 &&
                    out.row->lab.dtype == (i % 2 ? TW_F64 : TW_F32);
        else
            right = right && plan_find(&p, &facts, NULL, &out) == TW_NO_KERNEL &&
                    strstr(tw_error_text(), words) != NULL;
        snprintf(words, sizeof words, "it multiplies f32, the problem is %s", tw_lab_dtype_of(made.dtype)->name);
        tap_result(right && plan_find(&p, &facts, &named, &out) == TW_NO_KERNEL &&
                       strstr(tw_error_text(), words) != NULL,
                   "%s", tw_error_text());
    }
    static double x[2 * 64];
    tw_problem p = tw_problem_make(TW_CF64, TW_N, TW_N, 3, 4, 5);
    for (int i = 0; i < 64; i++) c[i] = 7;
    expect_failure("dtype_c of cf64", (p.dtype_c = TW_F64, tw_gemm(NULL, &p, x, x, c)), TW_BAD_ARGUMENT,
                   "dtype_c is 1, expected 0 or 8: cf64 operands give that type");
    p.dtype_c = 0;
    expect_failure("cf64 at a multiple of 4", tw_gemm(NULL, &p, (char *)x + 4, x, c), TW_BAD_ARGUMENT,
                   "a is not aligned to one real part of 8 bytes");
    p.lda = 4;
    expect_failure("lda of cf64", tw_gemm(NULL, &p, x, x, c), TW_BAD_ARGUMENT, "lda is 4, expected at least 5");
    p.lda = 5, p.op_b = (tw_op)-1;
    expect_failure("op_b of cf64", tw_gemm(NULL, &p, x, x, c), TW_BAD_ARGUMENT,
                   "op_b is -1, expected TW_N, TW_T, TW_C or TW_R");
    p.op_b = TW_N, p.k = 0, p.lda = p.ldc = 1, p.beta_imaginary = 1;
    double of_c[] = {0, 1, 2, 3};
    p.m = 2, p.n = 1;
    expect("complex: k 0 and beta i", tw_gemm(NULL, &p, NULL, NULL, of_c) == TW_OK && of_c[0] == -1 && of_c[1] == 0 &&
                                          of_c[2] == -3 && of_c[3] == 2);
}

static void table_cases(void)
{
    bool unique = true, filled = true, found = true, small = true;
    for (int i = 0; i < tw_lab_kernel_count(); i++) {
        const tw_lab_kernel *k = tw_lab_kernel_at(i);
        const kernel_row *row = kernel_named(k->name);
        for (int j = 0; j < i; j++) unique = unique && strcmp(k->name, tw_lab_kernel_at(j)->name) != 0;
        filled = filled && k->idea[0] && k->source[0] && k->rung[0] && k->file[0] && k->needs[0];
        found = found && row != NULL && (row->whole != NULL) + (row->micro != NULL) + (row->gpu.entry != NULL) == 1;
        small = small && (row->micro == NULL || k->tile_m * k->tile_n * tw_lab_dtype_of(k->dtype)->bytes <= 4096);
    }
    expect("kernel names are unique", unique);
    expect("every row has its texts", filled);
    expect("every row has one kernel", found);
    expect("micro-tiles fit the edge buffer of loops.c", small);
    expect("kernel_at knows its range",
           tw_lab_kernel_at(-1) == NULL && tw_lab_kernel_at(tw_lab_kernel_count()) == NULL);
    expect("dtypes by name and number", tw_lab_dtype_named("f32") == tw_lab_dtype_of(TW_F32) &&
                                            tw_lab_dtype_named("f33") == NULL && tw_lab_dtype_of((tw_dtype)0) == NULL);
    expect("status names and texts", strcmp(tw_status_name(TW_NO_MEMORY), "TW_NO_MEMORY") == 0 &&
                                         tw_status_text(TW_OK)[0] &&
                                         strcmp(tw_status_name((tw_status)77), "unknown status") == 0);
    char version[32];
    snprintf(version, sizeof version, "%d.%d.%d", TW_VERSION_MAJOR, TW_VERSION_MINOR, TW_VERSION_PATCH);
    expect("version", strcmp(tw_version(), version) == 0);
}

int main(int argc, char **argv)
{
    tap_start(argc, argv);
    error_cases();
    context_that_was_not_opened();
    special_cases();
    again_cases();
    context_cases();
    table_cases();
    probe_cases();
    feature_cases();
    name_cases();
    complex_cases();
    return tap_finish();
}
