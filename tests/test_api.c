/* test_api.c - the public calls: every status provoked and its sentence compared, special cases, contexts,
 * environment. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "integers.h"
#include "plan.h"
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
static void small_lda_turned(tw_problem *p) { p->op_a = TW_T, p->lda = 2; }
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
    expect_failure("lda transposed", with(small_lda_turned), TW_BAD_ARGUMENT, "lda is 2, expected at least 3");
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
    whole = tw_problem_make(TW_I32, TW_N, TW_N, 3, 4, 5);
    expect_failure("operands of i32", tw_gemm(NULL, &whole, a, b, c), TW_NO_KERNEL,
                   "the cpu engine has no production kernel for i32");
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
                   "is mmx, expected base, avx2, avx512, avx512_vnni, avx512_bf16 or amx");
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
    expect_failure("describe size", tw_describe(NULL, &device), TW_BAD_ARGUMENT, "its size is not");

    tw_lab_choice choice = {"cpu_f32_r99", 0, 0};
    tw_lab_run *run;
    expect_failure("no kernel of that name", tw_lab_plan_of(NULL, &choice, &p, &plan), TW_BAD_ARGUMENT,
                   "no kernel is named cpu_f32_r99");
    choice.kernel = "cpu_f64_r01_naive";
    expect_failure("wrong dtype", tw_lab_run_open(NULL, &choice, &p, a, b, c, &run), TW_NO_KERNEL,
                   "it multiplies f64, the problem is f32");
    choice = (tw_lab_choice){"cpu_f32_r14_peak_base", 5, 0};
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

static void expect(const char *what, bool holds)
{
    if (tap_case("%s", what)) tap_result(holds, "%s", tw_error_text());
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
    p = tw_problem_make(TW_F32, TW_N, TW_N, INT64_MAX, 0, 0);
    expect("huge m with nothing in it", tw_gemm(NULL, &p, NULL, NULL, NULL) == TW_OK);
    p = tw_problem_make(TW_F32, TW_N, TW_N, 8, 8, 8);
    p.alpha = 1e-60, p.beta = 1e-60;
    for (int i = 0; i < 64; i++) c[i] = NAN;
    expect("alpha and beta that round to 0 are 0", tw_gemm(NULL, &p, NULL, NULL, c) == TW_OK && all_are(c, 64, 0));
    double x[2] = {3, 4}, y[2] = {5, 6}, z[1] = {1};
    expect("dgemm: 3 * 5 + 4 * 6 + 1",
           tw_dgemm(NULL, TW_N, TW_N, 1, 1, 2, 1, x, 2, y, 1, 1, z, 1) == TW_OK && z[0] == 40);
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

/* A product that is computed at once after another one of the same thread, which differs from it in one field. */
typedef struct recalled {
    const char *what;
    int64_t m, n, k;
    tw_op op_a, op_b;
    double beta;
    int threads;
} recalled;

enum { FIELDS = 12 };

/* The problem with field number `field` changed, and nothing else. */
static const char *change_field(tw_problem *p, int field)
{
    switch (field) {
    case 0: p->m++; return "m";
    case 1: p->n++; return "n";
    case 2: p->k++; return "k";
    case 3: p->lda++; return "lda";
    case 4: p->ldb++; return "ldb";
    case 5: p->ldc++; return "ldc";
    case 6: p->op_a = p->op_a == TW_N ? TW_T : TW_N; return "op_a";
    case 7: p->op_b = p->op_b == TW_N ? TW_T : TW_N; return "op_b";
    case 8: p->alpha = p->dtype == TW_F64 ? 0x1p24 + 1 : 3; return "alpha";
    case 9: p->beta = p->beta == 0 ? p->dtype == TW_F64 ? 0x1p25 + 3 : -2 : 0; return "beta";
    case 10: p->dtype = p->dtype == TW_F64 ? TW_F32 : TW_F64; return "dtype";
    default: p->dtype = TW_BF16; return "dtype, to bf16,"; /* whose C is of f32 too */
    }
}

static bool computed_right(tw_context *context, integers *x)
{
    char text[200];
    if (tw_gemm(context, &x->problem, x->a, x->b, x->c) != TW_OK) return false;
    return integers_judge(x, text, sizeof text);
}

static void recalled_case(const recalled *r, tw_dtype dtype, tw_context *context)
{
    for (int field = 0; field < FIELDS; field++) {
        /* Rows so far apart that the leading dimensions fit transposed operands too. */
        tw_problem first = tw_problem_make(dtype, r->op_a, r->op_b, r->m, r->n, r->k), second;
        first.lda = first.ldb = first.ldc = r->m + r->n + r->k + 1, first.beta = r->beta;
        second = first;
        const char *name = change_field(&second, field);
        if (!tap_case("again: %s of %s, %s changed alone", r->what, tw_lab_dtype_of(dtype)->name, name)) continue;
        integers x = {0}, y = {0};
        bool right = integers_make(&first, NULL, 1, &x) == TW_OK && integers_make(&second, NULL, 2, &y) == TW_OK;
        for (int i = 0; right && i < 3; i++)
            right = computed_right(context, &x) && computed_right(context, &x) && computed_right(context, &y);
        tap_result(right, "one was computed as the other: %s", tw_error_text());
        integers_free(&x), integers_free(&y);
    }
}

/* Two contexts on one thread, in turns: each has its own plan, whose kernel another processor's instructions round
 * otherwise. */
static void recalled_by_context(void)
{
    enum { SIDE = 9 };
    const tw_options base = {.size = sizeof base, .engine = "cpu", .instruction_set = "base", .threads = 1},
                     best = {.size = sizeof best, .engine = "cpu", .threads = 1};
    tw_context *context[2] = {NULL, NULL};
    float x[SIDE * SIDE], y[SIDE * SIDE], made[4][SIDE * SIDE];
    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, SIDE, SIDE, SIDE),
               other = tw_problem_make(TW_F32, TW_N, TW_N, 2, 2, 2);
    if (!tap_case("again: another context of the same thread")) return;
    bool right = tw_open(&base, &context[0]) == TW_OK && tw_open(&best, &context[1]) == TW_OK;
    for (int i = 0; i < SIDE * SIDE; i++) x[i] = 1.0f / (float)(i + 3), y[i] = 1.0f / (float)(2 * i + 7);
    for (int i = 0; i < 4; i++) /* the first of each behind another shape, whose plan is none for it */
        right = right && (i > 1 || tw_gemm(context[i], &other, x, y, made[3]) == TW_OK) &&
                tw_gemm(context[i % 2], &p, x, y, made[i]) == TW_OK;
    right = right && memcmp(made[0], made[2], sizeof made[0]) == 0 && memcmp(made[1], made[3], sizeof made[1]) == 0;
    bool differ = memcmp(made[0], made[1], sizeof made[0]) != 0;
    tw_close(context[0]), tw_close(context[1]);
    if (right && !differ)
        tap_skip("all instructions of this processor round this product alike");
    else
        tap_result(right, "one was computed by the other's kernel");
}

/* In place, turned, as a line: by one thread, from the plan that it kept; and by two, whose plan is found again. */
static void recalled_cases(void)
{
    static const recalled all[] = {
        {"a small product", 9, 17, 11, TW_N, TW_N, 0, 1},
        {"a small sum", 9, 17, 11, TW_N, TW_N, 1, 1},
        {"a turned product", 9, 17, 11, TW_T, TW_T, 0, 1},
        {"one row", 1, 40, 21, TW_N, TW_N, 0, 1},
        {"one column", 40, 1, 21, TW_T, TW_N, 2, 1},
        {"a product of two threads", 100, 90, 110, TW_N, TW_N, 0, 2},
        {"a packed product of two threads", 100, 90, 110, TW_N, TW_T, 1, 2},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        tw_context *context = NULL;
        const tw_options options = {.size = sizeof options, .engine = "cpu", .threads = all[i].threads};
        if (tw_open(&options, &context) != TW_OK) expect("a context of some threads", false);
        recalled_case(&all[i], TW_F32, context), recalled_case(&all[i], TW_F64, context);
        tw_close(context);
    }
    recalled_by_context();
}

/* dgemm with scalars that float cannot hold: in place, recalled, GEMV, packed and in a batch. */
static void wide_scalar_cases(void)
{
    static const int64_t shapes[][3] = {{5, 6, 7}, {1, 30, 9}, {30, 1, 9}, {70, 80, 500}};
    for (int i = 0; i < 4 * 4; i++) {
        tw_problem p = tw_problem_make(TW_F64, (tw_op)(i / 2 % 2), (tw_op)(i % 2), shapes[i / 4][0], shapes[i / 4][1],
                                       shapes[i / 4][2]);
        p.alpha = -(0x1p24 + 1);
        for (int adds = 0; adds < 2; adds++) {
            integers x = {0}, y = {0};
            p.beta = adds ? 0x1p25 + 3 : 0;
            if (!tap_case("f64 %c%c %dx%dx%d: alpha 2^24 + 1, beta %g", "nt"[i / 2 % 2], "nt"[i % 2], (int)p.m,
                          (int)p.n, (int)p.k, p.beta))
                continue;
            const tw_batch batch = tw_batch_make(&p, 3);
            bool right = integers_make(&p, NULL, 3, &x) == TW_OK && integers_make(&p, &batch, 4, &y) == TW_OK;
            char text[200] = "";
            for (int again = 0; right && again < 2; again++) {
                right = tw_dgemm(NULL, p.op_a, p.op_b, p.m, p.n, p.k, p.alpha, x.a, p.lda, x.b, p.ldb, p.beta, x.c,
                                 p.ldc) == TW_OK &&
                        integers_judge(&x, text, sizeof text);
                right = right && tw_gemm_batched(NULL, &p, &batch, y.a, y.b, y.c) == TW_OK &&
                        integers_judge(&y, text, sizeof text);
            }
            tap_result(right, "%s", text);
            integers_free(&x), integers_free(&y);
        }
    }
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
    tw_lab_choice choice = {"cpu_f32_r14_peak_avx2", 0, 0};
    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, 8, 8, 8);
    char reason[160] = "";
    if (kernel_named(choice.kernel) != NULL)
        expect("a base context refuses avx2 and says why",
               tw_lab_fits(context, &choice, &p, reason, sizeof reason) == 0 &&
                   strstr(reason, "it needs avx2 instructions, this device has base"));
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
    static const tw_dtype dtypes[] = {TW_F64, TW_F32, TW_BF16, TW_I8};
    for (int i = 0; i < 4 * CPU_LEVELS; i++) {
        const tw_dtype dtype = dtypes[i % 4];
        const device_facts facts = {
            .engine = "cpu", .level = (cpu_level)(i / 4), .threads = 1, .l1_bytes = 32768, .l2_bytes = 1 << 20};
        const tw_problem made = tw_problem_make(dtype, TW_N, TW_N, 64, 64, 64);
        tw_problem p;
        plan out;
        if (!tap_case("%s, %s: the probe of the production kernel", tw_lab_dtype_of(dtype)->name,
                      cpu_level_name(facts.level)))
            continue;
        const bool planned = problem_load(&made, a, a, a, &p) == TW_OK && plan_find(&p, &facts, NULL, &out) == TW_OK;
        const kernel_row *probed = kernel_probed(dtype, facts.level);
        tap_result(planned && probed == out.row, "%s, planned %s", probed != NULL ? probed->lab.name : "none",
                   planned ? out.row->lab.name : tw_error_text());
    }
    expect("no probe on the CPU for f16", kernel_probed(TW_F16, CPU_amx) == NULL);
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
    expect("version", strcmp(tw_version(), "0.1.0") == 0);
}

/* A made-up GPU with small blocks: what fits is asked of the tile that would be used, not of the row's own. */
static void tile_case(const char *kernel, int64_t k, int tile, int most_threads, int64_t local_bytes,
                      const char *refusal)
{
    device_facts device = {.engine = "opencl",
                           .threads = 1,
                           .most_threads = most_threads,
                           .local_bytes = local_bytes,
                           .largest_bytes = 1 << 30};
    tw_problem p, made = tw_problem_make(TW_F32, TW_N, TW_N, 64, 64, k);
    tw_lab_choice choice = {.kernel = kernel, .tile = tile};
    char reason[160] = "";
    plan out;
    if (!tap_case("%s, k %d, tile %d: %d threads and %d bytes a block", kernel, (int)k, tile, most_threads,
                  (int)local_bytes))
        return;
    bool loaded = problem_load(&made, a, a, a, &p) == TW_OK,
         fits = kernel_fits(kernel_named(kernel), &p, &device, tile, reason, sizeof reason);
    tw_status status = plan_find(&p, &device, &choice, &out);
    tap_result(loaded && fits == (refusal == NULL) && (status == TW_OK) == fits &&
                   (fits || (strstr(reason, refusal) && status == TW_NO_KERNEL)),
               "fits %d, plan %s: %s", fits, tw_status_name(status), reason);
}

static void tile_cases(void)
{
    tile_case("opencl_f32_r04_banks", 64, 0, 256, 2048, NULL);
    tile_case("opencl_f32_r04_banks", 64, 8, 64, 512, NULL);
    tile_case("opencl_f32_r04_banks", 64, 32, 1024, 8192, NULL);
    tile_case("opencl_f32_r04_banks", 64, 32, 256, 8192, "its blocks have 1024 threads, this device takes 256");
    tile_case("opencl_f32_r04_banks", 64, 32, 1024, 8191, "it needs 8192 bytes of local memory, this device has 8191");
    tile_case("opencl_f32_r04_banks", 64, 16, 255, 8192, "its blocks have 256 threads, this device takes 255");
    tile_case("opencl_f32_s1_unoptimised", 32, 0, 256, 0, "its blocks have 1024 threads, this device takes 256");
    tile_case("opencl_f32_s2_shared_a", 16, 0, 256, 1024, NULL);
    tile_case("opencl_f32_s2_shared_a", 32, 0, 1024, 1024, "it needs 4096 bytes of local memory, this device has 1024");
    tile_case("opencl_f32_r11_warp", 64, 0, 256, 16640, NULL);
    tile_case("opencl_f32_r11_warp", 64, 0, 128, 16640, "its blocks have 256 threads, this device takes 128");
}

/* How k is divided among blocks: by the shape and the tile, whatever the device; one part where there is no memory. */
static void deep_case(int64_t m, int64_t n, int64_t k, int tile, int64_t parts, int64_t length, int64_t bytes)
{
    const tw_lab_choice choice = {.kernel = "cuda_f32_d1_splitk", .tile = tile};
    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, m, n, k);
    p.dtype_c = TW_F32;
    plan one = {0}, many = {0}, bare = {0};
    device_facts cuda = {.engine = "cuda",
                         .sm = 75,
                         .most_threads = 1024,
                         .multiprocessors = 1,
                         .local_bytes = 48 << 10,
                         .largest_bytes = (int64_t)1 << 37};
    if (!tap_case("deep %dx%dx%d tile %d", (int)m, (int)n, (int)k, tile)) return;
    bool planned = plan_find(&p, &cuda, &choice, &one) == TW_OK;
    cuda.multiprocessors = 132;
    planned = planned && plan_find(&p, &cuda, &choice, &many) == TW_OK;
    cuda.no_workspace = true;
    planned = planned && plan_find(&p, &cuda, &choice, &bare) == TW_OK;
    tap_result(planned && memcmp(&one.shares, &many.shares, sizeof one.shares) == 0 && one.shares.parts == parts &&
                   one.shares.length == length && (int64_t)one.workspace_bytes == bytes &&
                   one.grid_x == parts * bare.grid_x && bare.shares.parts == 1 && bare.workspace_bytes == 0,
               "%lld parts of %lld steps, %zu bytes, %s", (long long)one.shares.parts, (long long)one.shares.length,
               one.workspace_bytes, planned ? "" : tw_error_text());
}

static void deep_cases(void)
{
    deep_case(64, 64, 65536, 16, 64, 64, 64 * 64 * 64 * 4);
    deep_case(64, 64, 65536, 32, 256, 8, 256 * 64 * 64 * 4);
    deep_case(40, 50, 5003, 0, 79, 4, 632064); /* 12 tiles, room for 85 parts: 313 steps by fours */
    deep_case(40, 50, 20, 0, 2, 1, 16128);     /* no more parts than steps */
    deep_case(4096, 4096, 4096, 0, 1, 0, 0);   /* tiles enough */
    deep_case(5, 5, 0, 0, 1, 0, 0);
}

static const tw_lab_choice r14h = {.kernel = "cuda_f32_r14h_hopper"};

/* On a made-up sm_90, which kernel device operands at these addresses, rows lda, ldb, ldc apart, would have. */
static void place_case(const char *what, const void *x, const void *y, const void *z, int64_t lda, int64_t ldb,
                       int64_t ldc, bool mapped, const char *wide)
{
    const device_facts sm_90 = {.engine = "cuda",
                                .threads = 1,
                                .copies = true,
                                .addresses = true,
                                .sm = 90,
                                .most_threads = 1024,
                                .multiprocessors = 132,
                                .tensor_maps = true,
                                .local_bytes = 227 << 10,
                                .largest_bytes = (int64_t)1 << 37};
    tw_problem p, made = tw_problem_make(TW_F32, TW_N, TW_N, 200, 300, 100);
    char reason[200] = "";
    plan out = {0};
    if (!tap_case("device operands: %s", what)) return;
    made.place_a = made.place_b = made.place_c = TW_DEVICE;
    made.lda = lda, made.ldb = ldb, made.ldc = ldc;
    bool planned = problem_load(&made, x, y, z, &p) == TW_OK && plan_find(&p, &sm_90, &r14h, &out) == TW_OK;
    bool fits = planned && kernel_fits(kernel_named("cuda_f32_r12_async"), &p, &sm_90, 0, reason, sizeof reason);
    bool chosen = planned && out.row == kernel_named("cuda_f32_r14h_hopper") && out.pack_a.needed && out.pack_a.turns &&
                  !out.pack_b.turns;
    tap_result(
        chosen && fits == mapped && strstr(out.options, wide) != NULL &&
            out.pack_b.needed == (ldb % 4 != 0 || (uintptr_t)y % 16 != 0) &&
            (mapped ||
             strstr(reason, "the copy engine needs addresses and rows of A and B in multiples of 16 bytes") != NULL),
        "%s %s: %s", planned ? out.row->lab.name : tw_error_text(), out.options, reason);
}

/* What the production kernel of sm_90 packs, and into how much, by transposes and rows; without a workspace another
 * kernel is chosen. */
static void packing_case(tw_op op_a, tw_op op_b, int64_t lda, int64_t ldb, int64_t k, const char *expected,
                         int64_t bytes)
{
    device_facts sm_90 = {.engine = "cuda",
                          .threads = 1,
                          .copies = true,
                          .addresses = true,
                          .sm = 90,
                          .most_threads = 1024,
                          .multiprocessors = 132,
                          .tensor_maps = true,
                          .local_bytes = 227 << 10,
                          .largest_bytes = (int64_t)1 << 37};
    static const _Alignas(256) float x[64] = {0};
    tw_problem p, made = tw_problem_make(TW_F32, op_a, op_b, 203, 300, k);
    char text[200] = "", found[40] = "";
    plan out, bare;
    if (!tap_case("packing %c%c lda %d ldb %d k %d", "nt"[op_a], "nt"[op_b], (int)lda, (int)ldb, (int)k)) return;
    made.place_a = made.place_b = made.place_c = TW_DEVICE;
    made.lda = lda, made.ldb = ldb;
    bool planned = problem_load(&made, x, x, x, &p) == TW_OK && plan_find(&p, &sm_90, &r14h, &out) == TW_OK;
    sm_90.no_workspace = true;
    planned = planned && plan_find(&p, &sm_90, NULL, &bare) == TW_OK;
    if (planned) plan_text(&out, text, sizeof text), sscanf(text, "cuda_f32_r14h_hopper%39[ a-zA-Z] grid", found);
    tap_result(planned && strncmp(found, expected, strlen(expected)) == 0 &&
                   (int64_t)out.workspace_bytes - out.shares.bytes == bytes && bare.workspace_bytes == 0 &&
                   bare.shares.count == 0 && (bytes > 0) == !kernel_fits(out.row, &p, &sm_90, 0, NULL, 0),
               "%s, without: %s", planned ? text : tw_error_text(), planned ? bare.row->lab.name : "");
}

/* How the production kernel of sm_90 divides a product on 132 multiprocessors; the shares hold the tiles that are left,
 * exactly. */
static void shares_case(int64_t m, int64_t n, int64_t k, const char *kernel, int64_t whole, int64_t count,
                        int64_t length)
{
    const device_facts sm_90 = {.engine = "cuda",
                                .threads = 1,
                                .copies = true,
                                .addresses = true,
                                .sm = 90,
                                .most_threads = 1024,
                                .multiprocessors = 132,
                                .tensor_maps = true,
                                .local_bytes = 227 << 10,
                                .largest_bytes = (int64_t)1 << 37};
    const tw_lab_choice choice = {.kernel = kernel};
    static const _Alignas(256) float x[64] = {0};
    tw_problem p, made = tw_problem_make(TW_F32, TW_T, TW_N, m, n, k);
    plan out = {0};
    if (!tap_case("shares of %s %dx%dx%d", kernel, (int)m, (int)n, (int)k)) return;
    made.place_a = made.place_b = made.place_c = TW_DEVICE;
    made.lda = (m + 3) / 4 * 4, made.ldb = (n + 3) / 4 * 4;
    bool planned = problem_load(&made, x, x, x, &p) == TW_OK && plan_find(&p, &sm_90, &choice, &out) == TW_OK;
    const shares *s = &out.shares;
    int64_t tile_n = planned ? out.row->lab.tile_n : 1, steps = (k + 15) / 16,
            tiles = (m + 127) / 128 * ((n + tile_n - 1) / tile_n);
    /* a tile with at most 32 rows or columns in C takes a third */
    int64_t wide = tile_n == 128 ? (m + 95) / 128 * ((n + 95) / 128) : tiles,
            left = (wide - s->whole) * steps + (tiles - wide) * ((steps + 2) / 3);
    bool exact = s->count * s->length >= left && (s->count - 1) * s->length < left && s->length < steps;
    tap_result(planned && s->whole == whole && s->count == count && s->length == length &&
                   out.grid_x == whole + count && (count > 0 ? exact && s->whole <= wide : s->whole == tiles) &&
                   (int64_t)out.workspace_bytes == s->bytes && s->bytes >= count * (128 * tile_n * 4 + 8),
               "whole %lld, %lld shares of %lld, %zu bytes %s", (long long)s->whole, (long long)s->count,
               (long long)s->length, out.workspace_bytes, planned ? "" : tw_error_text());
}

/* Shares of few and of many tiles and steps take no more than what tw_workspace_bytes() names for each
 * multiprocessor. */
static void share_bytes_case(const char *kernel)
{
    enum { MULTIPROCESSORS = 3, NAMED = 560000 };
    const device_facts sm_90 = {.engine = "cuda",
                                .threads = 1,
                                .copies = true,
                                .addresses = true,
                                .sm = 90,
                                .most_threads = 1024,
                                .multiprocessors = MULTIPROCESSORS,
                                .tensor_maps = true,
                                .local_bytes = 227 << 10,
                                .largest_bytes = (int64_t)1 << 37};
    const tw_lab_choice choice = {.kernel = kernel};
    bool planned = true;
    size_t most = 0;
    if (!tap_case("the most that shares of %s take", kernel)) return;
    for (int64_t tiles = 1; tiles < 18; tiles++)
        for (int64_t steps = 1; steps < 200; steps++) {
            for (int narrow = 0; narrow < 2; narrow++) { /* of 64 columns, or of 32 rows */
                tw_problem p = tw_problem_make(TW_F32, TW_T, TW_N, narrow ? 32 : 128 * tiles, narrow ? 384 * tiles : 64,
                                               16 * steps);
                plan out = {0};
                p.dtype_c = TW_F32, p.align_a = p.align_b = p.align_c = 256;
                planned = planned && plan_find(&p, &sm_90, &choice, &out) == TW_OK;
                if (out.workspace_bytes > most) most = out.workspace_bytes;
            }
        }
    tap_result(planned && most > NAMED / 2 * MULTIPROCESSORS && most <= NAMED * MULTIPROCESSORS, "%zu bytes %s", most,
               planned ? "" : tw_error_text());
}

/* Which row the planner takes on 132 multiprocessors. */
static void row_case(tw_op op_a, int64_t m, int64_t n, int64_t k, const char *expected)
{
    const device_facts sm_90 = {.engine = "cuda",
                                .threads = 1,
                                .copies = true,
                                .addresses = true,
                                .sm = 90,
                                .most_threads = 1024,
                                .multiprocessors = 132,
                                .clusters = true,
                                .tensor_maps = true,
                                .local_bytes = 227 << 10,
                                .largest_bytes = (int64_t)1 << 37};
    tw_problem p = tw_problem_make(TW_F32, op_a, TW_N, m, n, k);
    plan out;
    if (!tap_case("the row of %c %d x %d x %d", "nt"[op_a], (int)m, (int)n, (int)k)) return;
    p.dtype_c = TW_F32, p.align_a = p.align_b = p.align_c = 256;
    bool planned = plan_find(&p, &sm_90, NULL, &out) == TW_OK;
    tap_result(planned && out.row == kernel_named(expected), "%s, expected %s",
               planned ? out.row->lab.name : tw_error_text(), expected);
}

/* So many blocks (-1: any number) divide k: those of a tile are a cluster, which needs no workspace, or their sums go
 * by memory. */
static void cluster_case(const char *kernel, int64_t m, int64_t n, int64_t k, bool clusters, int64_t blocks, bool meets)
{
    const device_facts sm_90 = {.engine = "cuda",
                                .threads = 1,
                                .copies = true,
                                .addresses = true,
                                .sm = 90,
                                .most_threads = 1024,
                                .multiprocessors = 132,
                                .clusters = clusters,
                                .tensor_maps = true,
                                .local_bytes = 227 << 10,
                                .largest_bytes = (int64_t)1 << 37};
    const tw_lab_choice choice = {.kernel = kernel};
    device_facts bare = sm_90;
    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, m, n, k);
    char text[256] = "";
    plan out = {0}, without = {0};
    if (!tap_case("%s %s %dx%dx%d: parts of a tile %s", clusters ? "clusters," : "no clusters,", kernel, (int)m, (int)n,
                  (int)k, meets ? "meet" : "go by memory"))
        return;
    p.dtype_c = TW_F32, p.align_a = p.align_b = p.align_c = 256;
    bare.no_workspace = true;
    bool planned = plan_find(&p, &sm_90, &choice, &out) == TW_OK && plan_find(&p, &bare, &choice, &without) == TW_OK;
    if (planned) plan_text(&out, text, sizeof text);
    int64_t tile_bytes = planned ? out.row->lab.tile_m * out.row->lab.tile_n * 4 : 0;
    bool told = strstr(out.options, "-DMEETS=1") != NULL && strstr(text, "in clusters") != NULL;
    tap_result(planned && (blocks < 0 || out.shares.count == blocks) && out.shares.meets == meets && told == meets &&
                   (out.workspace_bytes == 0) == (meets || blocks == 0) &&
                   out.dynamic_bytes == out.row->gpu.dynamic_bytes + (meets ? (int)tile_bytes + 16 : 0) &&
                   (!meets || without.shares.meets),
               "%s, %d bytes shared, without workspace %lld blocks", planned ? text : tw_error_text(),
               planned ? out.dynamic_bytes : 0, planned ? (long long)without.shares.count : 0);
}

static void cluster_cases(void)
{
    cluster_case("cuda_f32_r14f_flat", 16, 16, 1024, true, 4, true);
    cluster_case("cuda_f32_r14f_flat", 16, 16, 1024, false, 4, false);
    cluster_case("cuda_f32_r14t_tall", 200, 30, 4000, true, 14 * 8, true);
    cluster_case("cuda_f32_r14k_slices", 474, 170, 288, true, 48 * 2, true);
    cluster_case("cuda_f32_r14e_each", 128, 128, 128, true, 8 * 8, true);
    /* two blocks on a multiprocessor, with room for what they send */
    cluster_case("cuda_f32_r14q_square", 128, 128, 128, true, 4 * 2, true);
    cluster_case("cuda_f32_r14f_flat", 32, 32, 32768, true, 2 * 66, false); /* more parts than a cluster has blocks */
    cluster_case("cuda_f32_r14b_boxes", 64, 1024, 16384, true, 8 * 16, false);
    cluster_case("cuda_f32_r14k_slices", 512, 512, 512, true, 0, false);
    for (int i = 0; i < kernel_count(); i++) /* what tools/ahead.c builds for clusters */
        if (kernel_at(i)->gpu.traits & GPU_SLICES) cluster_case(kernel_at(i)->lab.name, 4, 4, 1280, true, -1, true);
}

/* Which tile bf16 gets on sm_90, and what is packed, as the plan says it. */
static void matrix_case(tw_op op_a, tw_op op_b, int64_t m, int64_t n, int64_t k, int64_t pad, tw_dtype dtype_c,
                        const char *expected, int64_t bytes)
{
    const device_facts sm_90 = {.engine = "cuda",
                                .threads = 1,
                                .copies = true,
                                .addresses = true,
                                .sm = 90,
                                .most_threads = 1024,
                                .multiprocessors = 132,
                                .tensor_maps = true,
                                .local_bytes = 227 << 10,
                                .largest_bytes = (int64_t)1 << 37};
    tw_problem p = tw_problem_make(TW_BF16, op_a, op_b, m, n, k);
    char text[256] = "";
    plan out;
    if (!tap_case("matrix units %c%c %dx%dx%d pad %d", "nt"[op_a], "nt"[op_b], (int)m, (int)n, (int)k, (int)pad))
        return;
    p.dtype_c = dtype_c, p.align_a = p.align_b = p.align_c = 256, p.lda += pad, p.ldb += pad;
    bool planned = plan_find(&p, &sm_90, NULL, &out) == TW_OK;
    if (planned) plan_text(&out, text, sizeof text);
    tap_result(planned && strncmp(text, expected, strlen(expected)) == 0 && (int64_t)out.workspace_bytes == bytes &&
                   strstr(out.options, dtype_c == TW_F32 ? "-DC_HALF=0" : "-DC_HALF=1") != NULL,
               "%s, expected %s and %d bytes", planned ? text : tw_error_text(), expected, (int)bytes);
}

static void matrix_cases(void)
{
    matrix_case(TW_N, TW_N, 4096, 4096, 4096, 0, TW_F32, "cuda_bf16_r14w_128x128 grid 128x1", 0);
    matrix_case(TW_T, TW_N, 4096, 4096, 4096, 0, TW_BF16, "cuda_bf16_r14w_128x128 grid 128x1", 0);
    /* 384 tiles, 2.9 rounds; of 128 x 128 4.4 */
    matrix_case(TW_N, TW_T, 3072, 3072, 3072, 0, TW_BF16, "cuda_bf16_r14w_128x192 grid 128x1", 0);
    matrix_case(TW_T, TW_T, 768, 1536, 4096, 0, TW_F32, "cuda_bf16_r14w_64x192 grid 96x1", 0);
    matrix_case(TW_N, TW_N, 1024, 1024, 1024, 0, TW_F32, "cuda_bf16_r14w_64x128 grid 128x1", 0);
    matrix_case(TW_N, TW_N, 512, 512, 512, 0, TW_F32, "cuda_bf16_r14w_64x64 grid 64x1", 0);
    matrix_case(TW_T, TW_N, 203, 304, 100, 0, TW_F32, "cuda_bf16_r14w_64x64 copies A grid", 100 * 256 * 2);
    matrix_case(TW_N, TW_N, 1, 8192, 8192, 0, TW_F32, "cuda_bf16_r14s_16x64 grid 128x1 threads", 0);
    matrix_case(TW_T, TW_N, 16, 8192, 8192, 0, TW_BF16, "cuda_bf16_r14s_16x64 grid 128x1 threads", 0);
    matrix_case(TW_N, TW_T, 8192, 16, 8192, 0, TW_F32, "cuda_bf16_r14s_16x64 grid 128x1 threads", 0);
    matrix_case(TW_N, TW_N, 16, 28672, 4096, 0, TW_F32,
                "cuda_bf16_r14s_16x128 grid 132x1 (132 of them shares of 109 steps)", 132 * (16 * 128 * 4 + 8) + 224);
    matrix_case(TW_N, TW_N, 64, 8192, 8192, 0, TW_F32, "cuda_bf16_r14s_64x64 grid 128x1 threads", 0);
    matrix_case(TW_N, TW_T, 64, 28672, 4096, 0, TW_BF16, "cuda_bf16_r14s_64x128 grid 132x1 (132 of them",
                132 * (64 * 128 * 4 + 8) + 224);
    matrix_case(TW_N, TW_N, 128, 8192, 8192, 0, TW_F32, "cuda_bf16_r14s_128x64 grid 128x1 threads", 0);
    matrix_case(TW_N, TW_N, 128, 28672, 4096, 0, TW_F32, "cuda_bf16_r14s_128x128 grid 132x1 (132 of them",
                132 * (128 * 128 * 4 + 8) + 224);
    matrix_case(TW_N, TW_N, 16, 1024, 8192, 0, TW_F32,
                "cuda_bf16_r14s_16x64 grid 112x1 (112 of them shares of 19 steps)", 459776);
    matrix_case(TW_N, TW_N, 64, 64, 65536, 0, TW_F32, "cuda_bf16_r14s_64x64 grid 16x1 (16 of them shares of 64 steps)",
                262400);
    matrix_case(TW_N, TW_N, 64, 64, 64, 0, TW_F32, "cuda_bf16_r14w_64x64 grid 1x1", 0);
    matrix_case(TW_N, TW_N, 128, 512, 512, 0, TW_F32, "cuda_bf16_r14w_64x64 grid 16x1", 0);
    matrix_case(TW_N, TW_N, 1, 512, 512, 0, TW_F32, "cuda_bf16_r14s_16x64 grid 8x1", 0);
    matrix_case(TW_N, TW_T, 203, 300, 100, 1, TW_F32, "cuda_bf16_r14w_64x64 copies A copies B grid",
                203 * 128 * 2 + 300 * 128 * 2);
}

/* r14b turns what lies along k itself, A, B or both. */
static void turns_case(void)
{
    const device_facts sm_90 = {.engine = "cuda",
                                .copies = true,
                                .addresses = true,
                                .sm = 90,
                                .most_threads = 1024,
                                .multiprocessors = 132,
                                .tensor_maps = true,
                                .local_bytes = 227 << 10,
                                .largest_bytes = (int64_t)1 << 37};
    for (int op = 0; op < 4; op++) {
        tw_problem p = tw_problem_make(TW_F32, (tw_op)(op / 2), (tw_op)(op % 2), 1024, 1024, 1024);
        plan out;
        if (!tap_case("1024 cubed %c%c is packed nowhere", "nt"[op / 2], "nt"[op % 2])) continue;
        p.dtype_c = TW_F32, p.align_a = p.align_b = p.align_c = 256;
        bool planned = plan_find(&p, &sm_90, NULL, &out) == TW_OK;
        tap_result(planned && out.row == kernel_named("cuda_f32_r14b_boxes") && out.workspace_bytes == 0,
                   "%s, %zu bytes", planned ? out.row->lab.name : tw_error_text(), planned ? out.workspace_bytes : 0);
    }
}

/* A row that the model of slices weighs without its pace would be expected to take no time. */
static void pace_case(void)
{
    if (!tap_case("every row of slices has its pace, of which a block that is always alone has one, and no other row"))
        return;
    const char *wrong = "";
    for (int i = 0; i < kernel_count(); i++) {
        const kernel_row *row = kernel_at(i);
        const slice_pace *pace = &row->gpu.pace;
        bool slices = row->gpu.traits & GPU_SLICES, paced = pace->alone > 0 && pace->share > 0 && pace->block > 0;
        /* an H200's multiprocessor has room for a second block */
        bool shares = 2 * row->gpu.dynamic_bytes <= 227 << 10;
        if (slices != paced || (slices && !shares && pace->share != pace->alone)) wrong = row->lab.name;
    }
    tap_result(wrong[0] == '\0', "not so: %s", wrong);
}

static void packing_cases(void)
{
    pace_case();
    cluster_cases();
    turns_case();
    matrix_cases();
    share_bytes_case("cuda_f32_r14h_hopper");
    share_bytes_case("cuda_f32_r14n_hopper");
    share_bytes_case("cuda_f32_r14b_boxes");
    shares_case(4096, 4096, 4096, "cuda_f32_r14h_hopper", 792, 396, 150);
    shares_case(2048, 2048, 2048, "cuda_f32_r14h_hopper", 0, 395, 83);
    shares_case(1024, 1024, 1024, "cuda_f32_r14h_hopper", 0, 256, 16);
    shares_case(512, 512, 512, "cuda_f32_r14h_hopper", 0, 64, 8);
    shares_case(512, 512, 512, "cuda_f32_r14n_hopper", 0, 128, 8);
    shares_case(3000, 3000, 3000, "cuda_f32_r14n_hopper", 792, 790, 80);
    shares_case(5001, 5001, 5001, "cuda_f32_r14h_hopper", 1188, 395, 285);
    shares_case(5001, 5001, 5001, "cuda_f32_r14n_hopper", 3160, 0, 0);
    shares_case(4095, 4097, 4099, "cuda_f32_r14h_hopper", 792, 395, 158);
    shares_case(4097, 4095, 4099, "cuda_f32_r14h_hopper", 792, 395, 158);
    shares_case(32, 100000, 4096, "cuda_f32_r14h_hopper", 782, 0, 0); /* narrow, six to a multiprocessor */
    shares_case(32, 50688, 16384, "cuda_f32_r14h_hopper", 396, 0, 0); /* a share would be a tile */
    shares_case(32, 25000, 16384, "cuda_f32_r14h_hopper", 0, 395, 170);
    shares_case(161, 160, 4096, "cuda_f32_r14h_hopper", 0, 22, 32);
    shares_case(8192, 8192, 8192, "cuda_f32_r14h_hopper", 3960, 396, 176);
    shares_case(4224, 1536, 4096, "cuda_f32_r14h_hopper", 396, 0, 0);
    shares_case(64, 64, 65536, "cuda_f32_r14n_hopper", 0, 16, 256);
    shares_case(128, 128, 128, "cuda_f32_r14h_hopper", 1, 0, 0);
    shares_case(128, 128, 16, "cuda_f32_r14h_hopper", 1, 0, 0);
    shares_case(1, 1, 0, "cuda_f32_r14h_hopper", 1, 0, 0);
    shares_case(1, 1, 1, "cuda_f32_r14h_hopper", 1, 0, 0);
    row_case(TW_T, 4096, 4096, 4096, "cuda_f32_r14h_hopper"); /* 8 tiles for the busiest, or 16 of half the width */
    /* of the last tiles only 8 rows and columns, which it spares */
    row_case(TW_T, 5000, 5000, 5000, "cuda_f32_r14h_hopper");
    row_case(TW_T, 5040, 5040, 5040, "cuda_f32_r14n_hopper"); /* padded to 5120 x 5120, or to 5056 columns */
    row_case(TW_T, 2048, 2048, 2048, "cuda_f32_r14h_hopper"); /* one or two halves, which end no earlier */
    row_case(TW_T, 180000, 180000, 1, "cuda_f32_r14h_hopper");
    row_case(TW_N, 2048, 2048, 2048, "cuda_f32_r14h_hopper"); /* with A to be turned by a pass before */
    row_case(TW_N, 3000, 3000, 3000, "cuda_f32_r14n_hopper");
    row_case(TW_N, 4096, 4096, 4096, "cuda_f32_r14h_hopper");
    row_case(TW_N, 64, 64, 64, "cuda_f32_r14f_flat");
    row_case(TW_N, 256, 256, 256, "cuda_f32_r14f_flat");
    row_case(TW_N, 512, 512, 512, "cuda_f32_r14k_slices");
    row_case(TW_N, 1024, 1024, 1024, "cuda_f32_r14b_boxes");
    row_case(TW_N, 1000, 1000, 1000, "cuda_f32_r14b_boxes");
    row_case(TW_N, 500, 300, 700, "cuda_f32_r14e_each");
    row_case(TW_N, 768, 768, 768, "cuda_f32_r14e_each");
    row_case(TW_N, 64, 64, 65536, "cuda_f32_r14e_each");
    row_case(TW_N, 733, 781, 957, "cuda_f32_r14e_each"); /* packing costs less than copies of 4 bytes */
    row_case(TW_N, 958, 68, 3, "cuda_f32_r14k_slices");  /* and here more */
    /* rows of C that do not begin at 16 bytes, in whole lines */
    row_case(TW_N, 3933, 3674, 8, "cuda_f32_r14h_hopper");
    /* r14c's two steps would be on one quarter of a multiprocessor */
    row_case(TW_N, 1899, 1, 87, "cuda_f32_r14f_flat");
    /* 17 tiles, of 7 blocks each; operands that are copied word by word */
    row_case(TW_N, 522, 1, 18011, "cuda_f32_r14c_column");
    /* of r14q's three blocks on a multiprocessor one would be alone; r14e is 4 % faster (docs/PERF-LOG.md) */
    row_case(TW_N, 896, 896, 896, "cuda_f32_r14b_boxes");
    row_case(TW_N, 300, 2000, 500, "cuda_f32_r14b_boxes");
    row_case(TW_N, 0, 7, 5, "cuda_f32_r14f_flat");
    row_case(TW_N, 4096, 16, 4096, "cuda_f32_r14t_tall");
    row_case(TW_N, 16, 4096, 4096, "cuda_f32_r14f_flat");
    row_case(TW_N, 16384, 1, 16384, "cuda_f32_r14c_column");
    row_case(TW_T, 1, 16384, 16384, "cuda_f32_r14r_row");
    packing_case(TW_T, TW_N, 204, 300, 100, " grid", 0);
    packing_case(TW_T, TW_N, 203, 300, 100, " copies A", 100 * 204 * 4 + 64);
    packing_case(TW_T, TW_N, 204, 301, 100, " copies B", 100 * 300 * 4 + 64);
    packing_case(TW_N, TW_N, 100, 300, 100, " turns A", 100 * 204 * 4 + 64);
    packing_case(TW_N, TW_T, 100, 100, 100, " turns A turns B", 100 * 204 * 4 + 64 + 100 * 300 * 4 + 64);
    packing_case(TW_T, TW_T, 203, 101, 100, " copies A turns B", 100 * 204 * 4 + 64 + 100 * 300 * 4 + 64);
    packing_case(TW_N, TW_T, 100, 100, 0, " grid", 0);
}

static void place_cases(void)
{
    static const _Alignas(256) float x[64] = {0};
    place_case("even addresses and rows", x, x, x, 100, 300, 300, true, "-DWIDE=1");
    place_case("C at an odd address", x, x, x + 1, 100, 300, 300, true, "-DWIDE=0");
    place_case("C's rows odd", x, x, x, 100, 300, 301, true, "-DWIDE=0");
    place_case("A at an odd address", x + 1, x, x, 100, 300, 300, false, "-DWIDE=1");
    place_case("B at a multiple of 8 bytes", x, x + 2, x, 100, 300, 300, false, "-DWIDE=1");
    place_case("A's rows odd", x, x, x, 101, 300, 300, false, "-DWIDE=1");
    place_case("B's rows a multiple of 8 bytes", x, x, x, 100, 302, 300, false, "-DWIDE=1");
    place_case("everything at 16 bytes", x + 4, x + 4, x + 4, 104, 304, 304, true, "-DWIDE=1");
    packing_cases();
}

/* Is the plan for a context, which may be a kept one, what would be made without any? */
static bool as_made_anew(const tw_problem *p, device_facts device, uint64_t context)
{
    char kept_text[256], made_text[256];
    plan kept, made;
    if (plan_find(p, &device, NULL, &made) != TW_OK) return false;
    device.context = context;
    if (plan_find(p, &device, NULL, &kept) != TW_OK) return false;
    plan_text(&kept, kept_text, sizeof kept_text);
    plan_text(&made, made_text, sizeof made_text);
    return memcmp(&kept.problem, p, sizeof *p) == 0 && kept.row == made.row && kept.sum_bytes == made.sum_bytes &&
           strcmp(kept_text, made_text) == 0 && strcmp(kept.options, made.options) == 0;
}

/* Every problem after every other, on every device after every other. */
static void kept_plans(void)
{
    static const device_facts devices[] = {
        {.engine = "cpu", .level = CPU_base, .threads = 4, .l1_bytes = 32768, .l2_bytes = 524288},
        {.engine = "cpu", .level = CPU_avx2, .threads = 2, .l1_bytes = 32768, .l2_bytes = 524288},
        {.engine = "cuda",
         .threads = 1,
         .copies = true,
         .sm = 80,
         .most_threads = 1024,
         .multiprocessors = 108,
         .local_bytes = 166912,
         .largest_bytes = 1 << 30},
        {.engine = "cuda",
         .threads = 1,
         .copies = true,
         .sm = 80,
         .most_threads = 1024,
         .multiprocessors = 108,
         .local_bytes = 166912,
         .largest_bytes = 1 << 30,
         .no_workspace = true}, /* of the same context as the last */
    };
    static const uint64_t contexts[] = {UINT64_MAX, UINT64_MAX - 1, UINT64_MAX - 2, UINT64_MAX - 2};
    enum { PROBLEMS = 15 };
    tw_problem base = tw_problem_make(TW_F32, TW_N, TW_N, 600, 512, 512), problems[PROBLEMS];
    base.dtype_c = TW_F32, base.align_a = base.align_b = base.align_c = 256;
    for (int i = 0; i < PROBLEMS; i++) problems[i] = base;
    problems[1].m = 700, problems[2].n = 500, problems[3].k = 500, problems[4].lda = 513, problems[5].ldb = 514,
    problems[6].ldc = 515;
    problems[7].alpha = 3, problems[8].beta = 1, problems[9].op_a = TW_T, problems[9].lda = 600,
    problems[10].op_b = TW_T;
    problems[11].align_a = 4, problems[12].align_b = 4, problems[13].align_c = 4;
    /* split-K: workspace */
    problems[14] = tw_problem_make(TW_F32, TW_N, TW_N, 64, 64, 20000), problems[14].dtype_c = TW_F32;
    bool same = true;
    if (!tap_case("plans that are kept are those that would be made")) return;
    for (int i = 0; i < PROBLEMS * PROBLEMS; i++)
        for (int d = 0; d < 4 * 4; d++)
            same = same && as_made_anew(&problems[i % PROBLEMS], devices[d % 4], contexts[d % 4]) &&
                   as_made_anew(&problems[i / PROBLEMS], devices[d / 4], contexts[d / 4]);
    const device_facts sm_90 = {.engine = "cuda",
                                .threads = 1,
                                .copies = true,
                                .sm = 90,
                                .most_threads = 1024,
                                .multiprocessors = 132,
                                .tensor_maps = true,
                                .local_bytes = 227 << 10,
                                .largest_bytes = 1 << 30};
    for (int i = 0; i < 3; i++) { /* C in f32 and in the operands' type */
        base.dtype = TW_BF16, base.dtype_c = i % 2 ? TW_BF16 : TW_F32;
        same = same && as_made_anew(&base, sm_90, UINT64_MAX - 3);
    }
    tap_result(same, "one was another's");
}

/* Where rows of B begin within a line, B is packed on a processor with an L1 of 48 KiB, and only where many tiles read
 * it, more of them where there are more threads. */
static void split_cases(void)
{
    static const struct {
        int64_t m, n, ldb, l1_bytes;
        cpu_level level;
        int threads;
        double beta;
        tw_dtype dtype;
        bool packs;
    } cases[] = {
        {1000, 1000, 1000, 49152, CPU_avx512, 1, 0, TW_F32, true},
        {1000, 1000, 1008, 49152, CPU_avx512, 1, 0, TW_F32, false},
        {1000, 1000, 1000, 32768, CPU_avx512, 1, 0, TW_F32, false},
        {1000, 1000, 1000, 49152, CPU_avx2, 1, 0, TW_F32, false},
        {1000, 1000, 1000, 49152, CPU_avx512, 16, 0, TW_F32, true},
        {1000, 1000, 1000, 49152, CPU_avx512, 1, 1, TW_F32, false},
        {400, 1000, 1000, 49152, CPU_avx512, 1, 0, TW_F32, true},
        {400, 1000, 1000, 49152, CPU_avx512, 16, 0, TW_F32, false},
        {100, 1000, 1000, 49152, CPU_avx512, 1, 0, TW_F32, false},
        {1000, 30, 33, 49152, CPU_avx512, 1, 0, TW_F32, false},
        {1000, 300, 300, 49152, CPU_avx512, 1, 0, TW_F64, true},
        {1000, 300, 304, 49152, CPU_avx512, 1, 0, TW_F64, false},
    };
    bool right = true;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const device_facts facts = {.engine = "cpu",
                                    .level = cases[i].level,
                                    .threads = cases[i].threads,
                                    .l1_bytes = cases[i].l1_bytes,
                                    .l2_bytes = 2097152};
        tw_problem p, made = tw_problem_make(cases[i].dtype, TW_N, TW_N, cases[i].m, cases[i].n, 400);
        plan one;
        made.ldb = cases[i].ldb, made.beta = cases[i].beta;
        if (problem_load(&made, a, a, a, &p) == TW_OK && plan_find(&p, &facts, NULL, &one) == TW_OK &&
            one.direct_b == !cases[i].packs)
            continue;
        printf("# case %zu\n", i);
        right = false;
    }
    expect("plans: B is packed where its rows split lines and a copy costs less", right);
}

/* Rows of B that are read at a time where C has few rows, and tasks that divide C's columns before its rows; sums
 * wherever k is longer and C's old elements are wanted. */
static void stream_cases(void)
{
    static const struct {
        int64_t m, n, k, l1_bytes;
        cpu_level level;
        int threads;
        double beta;
        tw_dtype dtype;
        int64_t piece;
    } cases[] = {
        {16, 4096, 4096, 49152, CPU_avx512, 1, 0, TW_F32, 32},   {16, 4096, 4096, 32768, CPU_avx512, 1, 0, TW_F32, 128},
        {16, 4096, 4096, 32768, CPU_avx2, 2, 1, TW_F64, 128},    {4, 4096, 4096, 49152, CPU_avx512, 16, 0, TW_F64, 32},
        {4, 4096, 4096, 32768, CPU_avx512, 1, 0, TW_F32, 8},     {4, 4096, 4096, 32768, CPU_avx512, 2, 0, TW_F32, 256},
        {4, 4096, 4096, 32768, CPU_avx2, 1, 0, TW_F32, 256},     {64, 400, 8192, 49152, CPU_avx512, 1, 0, TW_F32, 80},
        {16, 4096, 1000, 49152, CPU_avx512, 1, 1, TW_F32, 32},   {16, 100000, 200, 49152, CPU_avx512, 1, 0, TW_F32, 32},
        {16, 100000, 199, 49152, CPU_avx512, 1, 1, TW_F32, 200}, {16, 100000, 0, 49152, CPU_avx512, 1, 1, TW_F32, 4},
    };
    bool right = true;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const device_facts facts = {.engine = "cpu",
                                    .level = cases[i].level,
                                    .threads = cases[i].threads,
                                    .l1_bytes = cases[i].l1_bytes,
                                    .l2_bytes = 1048576};
        tw_problem p, made = tw_problem_make(cases[i].dtype, TW_N, TW_N, cases[i].m, cases[i].n, cases[i].k);
        plan one;
        made.beta = cases[i].beta;
        bool planned = problem_load(&made, a, a, a, &p) == TW_OK && plan_find(&p, &facts, NULL, &one) == TW_OK &&
                       one.streams_b && one.direct_b && one.piece == cases[i].piece;
        planned = planned && one.kc >= one.piece && (one.sum_bytes > 0) == (p.beta != 0 && p.k > one.piece);
        for (plan less = one;
             planned &&
             plan_shrink(&less);) /* without memory: sums wherever k has several pieces, and none longer than a panel */
            planned = less.piece >= 1 && less.piece <= less.kc &&
                      (less.sum_bytes > 0) == (p.beta != 0 && p.k > less.piece);
        planned = planned &&
                  (cases[i].threads == 1 ? one.task_n == one.strip_n : one.task_m >= p.m && one.task_n < one.strip_n);
        if (planned) continue;
        printf("# case %zu: piece %" PRId64 ", kc %" PRId64 ", tasks of %" PRId64 " x %" PRId64 "\n", i, one.piece,
               one.kc, one.task_m, one.task_n);
        right = false;
    }
    expect("plans: few rows of C read few rows of B at a time, along all columns of a task", right);
    const device_facts facts = {
        .engine = "cpu", .level = CPU_avx2, .threads = 1, .l1_bytes = 32768, .l2_bytes = 1048576};
    tw_problem p, made = tw_problem_make(TW_F32, TW_N, TW_N, 64, 200000, 1);
    plan one;
    made.ldb = INT64_C(1) << 62; /* B has one row, so any distance will do */
    expect("plans: and a distance of rows whose bytes no number holds",
           problem_load(&made, a, a, a, &p) == TW_OK && plan_find(&p, &facts, NULL, &one) == TW_OK && one.streams_b);
}

/* Small products of several threads: rows divided, or, where there are few, columns; each part a product in place; of a
 * turned one whole lines of C. */
static void in_place_cases(void)
{
    static const struct {
        int64_t m, n, k;
        tw_op op;
        int threads, wanted; /* of the device; of the plan */
        int64_t least, most; /* tasks */
    } cases[] = {
        {128, 128, 128, TW_N, 4, 4, 8, 11}, {256, 256, 256, TW_N, 4, 4, 15, 16}, {4, 2000, 200, TW_N, 4, 4, 4, 8},
        {88, 88, 88, TW_N, 4, 1, 1, 1},     {96, 96, 96, TW_N, 4, 2, 4, 4},      {100, 100, 100, TW_T, 2, 2, 3, 4},
    };
    bool right = true;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const device_facts facts = {
            .engine = "cpu", .level = CPU_avx2, .threads = cases[i].threads, .l1_bytes = 32768, .l2_bytes = 1048576};
        tw_problem p, made = tw_problem_make(TW_F32, cases[i].op, cases[i].op, cases[i].m, cases[i].n, cases[i].k);
        plan one;
        bool planned = problem_load(&made, a, a, a, &p) == TW_OK && plan_find(&p, &facts, NULL, &one) == TW_OK &&
                       one.in_place && one.workspace_bytes == 0 && one.threads == cases[i].wanted;
        const int64_t tasks = planned ? ceil_div(one.near.m, one.task_m) * ceil_div(one.near.n, one.task_n) : 0;
        planned = planned && one.at_once == (one.threads == 1) && one.near.turned == (cases[i].op == TW_T) &&
                  (one.threads == 1 || (tasks >= cases[i].least && tasks <= cases[i].most));
        planned = planned && (!one.near.turned || one.task_m >= 16);
        if (planned) continue;
        printf("# case %zu: threads %d, %" PRId64 " tasks of %" PRId64 " x %" PRId64 "\n", i, one.threads, tasks,
               one.task_m, one.task_n);
        right = false;
    }
    expect("plans: small products of several threads are computed in place, part by part", right);
}

/* Plans over many shapes and made-up devices: blocks are multiples of the micro-tile, cover C, and fit the workspace
 * stated. */
static void plan_cases(void)
{
    static const int64_t lengths[] = {1, 5, 48, 333, 1000, 4097, 100000};
    static const device_facts devices[] = {
        {.engine = "cpu", .level = CPU_base, .threads = 1, .l1_bytes = 16384, .l2_bytes = 131072},
        {.engine = "cpu", .level = CPU_avx2, .threads = 8, .l1_bytes = 32768, .l2_bytes = 524288, .l3_bytes = 33554432},
        {.engine = "cpu",
         .level = CPU_avx512,
         .threads = 128,
         .l1_bytes = 49152,
         .l2_bytes = 2097152,
         .l3_bytes = 268435456},
    };
    bool multiples = true, covers = true, threads = true, same = true, text_fits = true;
    for (size_t d = 0; d < 3; d++)
        for (int x = 0; x < 7 * 7 * 7 * 2; x++) {
            tw_problem p, made = tw_problem_make(x % 2 ? TW_F32 : TW_F64, TW_N, TW_T, lengths[x / 2 % 7],
                                                 lengths[x / 14 % 7], lengths[x / 98]);
            made.beta = x % 3;
            plan one, two;
            char text[256];
            if (problem_load(&made, a, a, a, &p) != TW_OK || plan_find(&p, &devices[d], NULL, &one) != TW_OK ||
                plan_find(&p, &devices[d], NULL, &two) != TW_OK) {
                covers = false;
                continue;
            }
            int64_t mr = one.row->lab.tile_m, nr = one.row->lab.tile_n;
            multiples = multiples && one.strip_m % mr == 0 && one.task_m % mr == 0 && one.strip_n % nr == 0 &&
                        one.task_n % nr == 0;
            bool line = p.m == 1 || p.n == 1; /* nothing is packed and k is not divided */
            covers = covers && one.line == line &&
                     (!line || (one.direct_a && one.direct_b && one.workspace_bytes == 0 && one.kc == p.k &&
                                one.strip_m >= p.m && one.strip_n >= p.n));
            covers = covers && one.task_m <= one.strip_m && one.task_n <= one.strip_n && one.kc >= 1 &&
                     one.workspace_bytes == (one.packs_ahead ? 2 : 1) * (one.a_bytes + one.b_bytes) + one.sum_bytes &&
                     (one.direct_a ||
                      one.a_bytes >= (size_t)(one.strip_m * one.kc) * (size_t)tw_lab_dtype_of(p.dtype)->bytes) &&
                     one.direct_a == (one.a_bytes == 0) && one.direct_b == line && (one.b_bytes > 0) == !line &&
                     (p.beta == 0 || p.k <= one.kc || one.sum_bytes > 0);
            threads = threads && one.threads >= 1 && one.threads <= devices[d].threads;
            same = same && one.strip_m == two.strip_m && one.kc == two.kc && one.threads == two.threads &&
                   one.row == two.row;
            plan_text(&one, text, sizeof text);
            text_fits = text_fits && strlen(text) < sizeof text - 1;
        }
    expect("plans: blocks are multiples of the micro-tile", multiples);
    expect("plans: blocks cover C and fit their workspace", covers);
    expect("plans: threads within the device's", threads);
    expect("plans: the same problem has the same plan", same);
    expect("plans: their text fits", text_fits);
    tile_cases();
    deep_cases();
    split_cases();
    stream_cases();
    in_place_cases();
    plan shared, alone;
    tw_problem p, square = tw_problem_make(TW_F32, TW_N, TW_N, 1000, 1000, 1000);
    bool planned = problem_load(&square, a, a, a, &p) == TW_OK &&
                   plan_find(&p, &devices[2], &(tw_lab_choice){.kernel = "cpu_f32_r11_warp_base", .tile = 400},
                             &shared) == TW_OK &&
                   plan_find(&p, &devices[2], &(tw_lab_choice){.kernel = "cpu_f32_r10_register_base", .tile = 400},
                             &alone) == TW_OK;
    expect("plans: r11 has a thread and a workspace for each of its blocks, r10 one of each",
           planned && shared.threads == 9 && alone.threads == 1 && shared.workspace_bytes == 9 * alone.workspace_bytes);
    char text[PROBLEM_TEXT_BYTES];
    p = tw_problem_make(TW_F32, TW_N, TW_T, 512, 512, 64);
    problem_text(&p, text);
    expect("a problem prints itself", strcmp(text, "f32 nt 512x512x64 alpha 1 beta 0") == 0);
    p.ldc = 600;
    problem_text(&p, text);
    expect("and its padding", strcmp(text, "f32 nt 512x512x64 alpha 1 beta 0 ld 64,64,600") == 0);
}

/* One product of f64 with both operands transposed, and with copies of them that are not: the same bits, and nothing is
 * written beside C, whose rows are padded. */
static bool turned_agrees(tw_context *context, int64_t m, int64_t n, int64_t k, double beta)
{
    enum { PAD = 3 };
    const int64_t ldc = n + PAD;
    double *x = malloc((size_t)(m * k) * sizeof *x), *turned_x = malloc((size_t)(m * k) * sizeof *x),
           *y = malloc((size_t)(k * n) * sizeof *y), *turned_y = malloc((size_t)(k * n) * sizeof *y),
           *one = malloc((size_t)(m * ldc) * sizeof *one), *two = malloc((size_t)(m * ldc) * sizeof *two);
    bool same = x != NULL && turned_x != NULL && y != NULL && turned_y != NULL && one != NULL && two != NULL;
    for (int64_t i = 0; same && i < m; i++)
        for (int64_t p = 0; p < k; p++)
            x[i * k + p] = turned_x[p * m + i] = (double)((i * k + p) * 7919 % 1009) / 1009 - 0.5;
    for (int64_t p = 0; same && p < k; p++)
        for (int64_t j = 0; j < n; j++)
            y[p * n + j] = turned_y[j * k + p] = (double)((p * n + j) * 104729 % 1013) / 1013 - 0.5;
    for (int64_t i = 0; same && i < m * ldc; i++) one[i] = (double)(i % 31) - 15;
    tw_problem p = tw_problem_make(TW_F64, TW_N, TW_N, m, n, k), q = tw_problem_make(TW_F64, TW_T, TW_T, m, n, k);
    p.alpha = q.alpha = 1.25, p.beta = beta, p.ldc = q.ldc = ldc;
    same = same && tw_gemm(context, &p, x, y, one) == TW_OK;
    for (int again = 0; again < 2; again++) { /* a plan made for beta 0 is recalled for another */
        q.beta = again ? beta : 0;
        for (int64_t i = 0; same && i < m * ldc; i++) two[i] = (double)(i % 31) - 15;
        same = same && tw_gemm(context, &q, turned_x, turned_y, two) == TW_OK;
    }
    same = same && memcmp(one, two, (size_t)(m * ldc) * sizeof *one) == 0;
    free(x), free(turned_x), free(y), free(turned_y), free(one), free(two);
    if (!same) printf("# %" PRId64 " x %" PRId64 " x %" PRId64 ", beta %g\n", m, n, k, beta);
    return same;
}

/* Small ones, whose C is turned as it is stored, and others. */
static void turned_cases(void)
{
    static const int64_t shapes[][3] = {{1, 1, 1},      {2, 3, 5},     {8, 8, 8},      {17, 16, 15},
                                        {33, 47, 64},   {64, 65, 66},  {7, 400, 300},  {400, 7, 300},
                                        {90, 20, 2000}, {100, 100, 8}, {300, 260, 200}};
    for (int threads = 1; threads <= 3; threads += 2) {
        tw_context *context = NULL;
        bool same = tw_open(&(tw_options){.size = sizeof(tw_options), .engine = "cpu", .threads = threads}, &context) ==
                    TW_OK;
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
            for (int beta = 0; beta < 2; beta++)
                same = same && turned_agrees(context, shapes[i][0], shapes[i][1], shapes[i][2], beta);
        expect(threads == 1 ? "both operands transposed: the bits of neither, one thread"
                            : "both operands transposed: the bits of neither, three threads",
               same);
        tw_close(context);
    }
    const device_facts facts = {
        .engine = "cpu", .level = CPU_base, .threads = 1, .l1_bytes = 32768, .l2_bytes = 1048576};
    tw_problem p, made = tw_problem_make(TW_F32, TW_T, TW_T, 64, 48, 80);
    plan one, other;
    bool planned = problem_load(&made, a, a, a, &p) == TW_OK && plan_find(&p, &facts, NULL, &one) == TW_OK;
    made.beta = 1;
    planned = planned && problem_load(&made, a, a, a, &p) == TW_OK && plan_find(&p, &facts, NULL, &other) == TW_OK;
    expect("plans: C is turned where both are transposed and its old elements are not wanted",
           planned && one.near.turned && one.near.m == 48 && !other.near.turned && !other.direct_b);
}

/* Products larger than any L2, of which the first rows, or the first columns, are computed again by themselves: those
 * read B, or A, where it lies. Every element is one sum in the same order, so the bits are those of the whole. */
static bool streams_agree(tw_context *context)
{
    enum { M = 1500, K = 1100, N = 1300 };
    static const int few[] = {1, 2, 7, 8, 9, 33, 100};
    float *x = malloc(M * K * sizeof *x), *y = malloc(K * N * sizeof *y), *old = malloc(M * N * sizeof *x),
          *whole = malloc(M * N * sizeof *x), *part = malloc(M * N * sizeof *x);
    bool same = x != NULL && y != NULL && old != NULL && whole != NULL && part != NULL;
    for (int64_t i = 0; same && i < M * K; i++) x[i] = (float)(i * 7919 % 1009) / 1009 - 0.5f;
    for (int64_t i = 0; same && i < K * N; i++) y[i] = (float)(i * 104729 % 1013) / 1013 - 0.5f;
    for (int64_t i = 0; same && i < M * N; i++) old[i] = (float)(i % 31) - 15;
    for (int beta = 0; same && beta < 2; beta++) {
        tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, M, N, K);
        p.alpha = 1.25, p.beta = beta;
        memcpy(whole, old, M * N * sizeof *old);
        same = tw_gemm(context, &p, x, y, whole) == TW_OK;
        for (int t = 0; same && t < 14; t++) {
            tw_problem q = p;
            *(t < 7 ? &q.m : &q.n) = few[t % 7];
            memcpy(part, old, M * N * sizeof *old);
            same = tw_gemm(context, &q, x, y, part) == TW_OK;
            for (int64_t i = 0; same && i < M; i++) {
                int64_t made = i < q.m ? q.n : 0; /* the rest of C is left alone */
                same = memcmp(part + i * N, whole + i * N, (size_t)made * sizeof *part) == 0 &&
                       memcmp(part + i * N + made, old + i * N + made, (size_t)(N - made) * sizeof *part) == 0;
            }
        }
    }
    free(x), free(y), free(old), free(whole), free(part);
    return same;
}

/* C is small and k long: read where they lie a part of k at a time, and the bits of a larger product, whose panels are
 * others. */
static bool deep_agrees(tw_context *context)
{
    enum { M = 30, FEW = 30, N = 200, K = 40000 };
    float *x = malloc(M * K * sizeof *x), *y = malloc(K * N * sizeof *y), *whole = malloc(M * N * sizeof *x),
          *part = malloc(M * N * sizeof *x);
    bool same = x != NULL && y != NULL && whole != NULL && part != NULL;
    for (int64_t i = 0; same && i < M * K; i++) x[i] = (float)(i * 7919 % 1009) / 1009 - 0.5f;
    for (int64_t i = 0; same && i < K * N; i++) y[i] = (float)(i * 104729 % 1013) / 1013 - 0.5f;
    for (int beta = 0; same && beta < 2; beta++) {
        tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, M, N, K), q = p;
        p.beta = q.beta = beta, q.n = FEW;
        for (int64_t i = 0; i < M * N; i++) whole[i] = part[i] = (float)(i % 31) - 15;
        same = tw_gemm(context, &p, x, y, whole) == TW_OK && tw_gemm(context, &q, x, y, part) == TW_OK;
        for (int64_t i = 0; same && i < M * N; i++) same = part[i] == (i % N < FEW ? whole[i] : (float)(i % 31) - 15);
    }
    free(x), free(y), free(whole), free(part);
    return same;
}

/* C of one row (or column) by each instruction set, beside the first row (column) of a C of two, which the micro-kernel
 * computes: the same bits, or the same NaN, whatever is transposed or padded; the gaps of C are left alone. */
static bool line_agrees(tw_context *context, tw_dtype dtype, bool row, tw_op op_a, tw_op op_b, int64_t count, int64_t k,
                        int pad, double beta)
{
    enum { MOST = 5000 * 8 };
    static double x[MOST], y[2 * MOST], line[2 * MOST], two[2 * MOST]; /* of either type */
    bool wide = dtype == TW_F64;
    tw_problem p = tw_problem_make(dtype, op_a, op_b, row ? 1 : count, row ? count : 1, k), q = p;
    *(row ? &q.m : &q.n) = 2;
    /* the vector lies with room for a second one beside it, both for one C and for two */
    if (row)
        p.lda = op_a == TW_N ? k + pad + 1 : 2 + pad, p.ldb += pad;
    else
        p.ldb = op_b == TW_N ? 2 + pad : k + pad + 1, p.lda += pad;
    p.ldc = p.n + 1 + pad, p.beta = beta, p.alpha = -1.5;
    q.lda = p.lda, q.ldb = p.ldb, q.ldc = p.ldc, q.beta = beta, q.alpha = p.alpha;
    for (int64_t i = 0; i < MOST; i++) {
        double v = i == 77 ? NAN : i == 1234 ? INFINITY : (double)(i * 7919 % 1009) / 1009 - 0.5;
        if (wide)
            x[i] = v;
        else
            ((float *)x)[i] = (float)v;
    }
    for (int64_t i = 0; i < 2 * MOST; i++) {
        double v = (double)(i * 104729 % 1013) / 1013 - 0.5, old = (double)(i % 31) - 15;
        if (wide)
            y[i] = v, line[i] = two[i] = old;
        else
            ((float *)y)[i] = (float)v, ((float *)line)[i] = ((float *)two)[i] = (float)old;
    }
    if (tw_gemm(context, &p, row ? y : x, row ? x : y, line) != TW_OK ||
        tw_gemm(context, &q, row ? y : x, row ? x : y, two) != TW_OK)
        return false;
    for (int64_t i = 0; i < (row ? 1 : count); i++)
        for (int64_t j = 0; j < p.ldc; j++) {
            int64_t at = i * p.ldc + j;
            double found = wide ? line[at] : (double)((float *)line)[at],
                   expected = wide ? two[at] : (double)((float *)two)[at];
            if (j >= p.n) expected = (double)(at % 31) - 15;
            if (!(found == expected || (isnan(found) && isnan(expected)))) return false;
        }
    return true;
}

static void line_cases(void)
{
    static const char *const sets[] = {"base", "avx2", "avx512"};
    static const int64_t counts[] = {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 61, 1000},
                         ks[] = {0, 1, 2, 3, 7, 8, 9, 16, 17, 37};
    for (int s = 0; s < 3; s++) {
        tw_context *context = NULL;
        bool same = true;
        if (!tap_case("one row or one column with %s instructions: the bits of a larger product", sets[s])) continue;
        if (tw_open(
                &(tw_options){.size = sizeof(tw_options), .engine = "cpu", .threads = 2, .instruction_set = sets[s]},
                &context) != TW_OK) {
            tap_skip(tw_error_text());
            continue;
        }
        for (int t = 0; same && t < 13 * 10 * 16; t++)
            same = line_agrees(context, t & 1 ? TW_F64 : TW_F32, t & 2, (tw_op)(t >> 2 & 1), (tw_op)(t >> 3 & 1),
                               counts[t / 16 % 13], ks[t / 16 / 13], t % 3, t % 5 ? 0.5 : 0);
        /* two blocks of sums */
        for (int t = 0; same && t < 4; t++)
            same = line_agrees(context, TW_F32, t & 1, t & 1 ? TW_N : TW_T, TW_N, 4999, 7, t / 2, 0);
        tap_result(same, "they differ");
        tw_close(context);
    }
    enum { COUNT = 5003, K = 1201 };
    float *x = malloc(COUNT * K * sizeof *x), *y = malloc(K * sizeof *y), *one = malloc(COUNT * sizeof *one),
          *many = malloc(COUNT * sizeof *many);
    bool same = x != NULL && y != NULL && one != NULL && many != NULL, divided = true;
    for (int64_t i = 0; same && i < (int64_t)COUNT * K; i++) x[i] = (float)(i * 7919 % 1009) / 1009 - 0.5f;
    for (int64_t i = 0; same && i < K; i++) y[i] = (float)(i * 104729 % 1013) / 1013 - 0.5f;
    for (int t = 0; same && t < 4; t++) {
        bool row = t & 1;
        tw_op turned = t & 2 ? TW_T : TW_N;
        tw_problem p = tw_problem_make(TW_F32, row ? TW_N : turned, row ? turned : TW_N, row ? 1 : COUNT,
                                       row ? COUNT : 1, K);
        for (int threads = 1; same && threads <= 3; threads++) {
            tw_context *context = NULL;
            tw_lab_plan made;
            same = tw_open(&(tw_options){.size = sizeof(tw_options), .engine = "cpu", .threads = threads}, &context) ==
                       TW_OK &&
                   tw_gemm(context, &p, row ? y : x, row ? x : y, threads == 1 ? one : many) == TW_OK &&
                   tw_lab_plan_of(context, NULL, &p, &made) == TW_OK;
            divided = divided && same && made.threads == threads;
            same = same && (threads == 1 || memcmp(one, many, COUNT * sizeof *one) == 0);
            tw_close(context);
        }
    }
    expect("bits of one row or column do not depend on threads", same);
    expect("and they share its outputs", divided);
    free(x), free(y), free(one), free(many);
}

/* The bits of C depend neither on whether operands are packed (rows 4 KiB apart are) nor on leading dimensions, for
 * tiles whole and cut. */
static void tier_cases(void)
{
    static const struct {
        int64_t m, n, k;
        tw_op op_a, op_b;
        bool a, b; /* read where it lies */
    } streams[] = {{8, 5000, 3000, TW_N, TW_N, true, true},     {8, 5000, 3000, TW_T, TW_N, false, true},
                   {8, 5000, 3000, TW_N, TW_T, true, false},    {5000, 8, 3000, TW_N, TW_N, true, false},
                   {5000, 8, 3000, TW_N, TW_T, true, false},    {5000, 8, 3000, TW_T, TW_N, false, false},
                   {5000, 5000, 3000, TW_N, TW_N, true, false}, {5000, 5000, 3000, TW_T, TW_N, false, false},
                   {30, 30, 40000, TW_N, TW_N, true, true},     {30, 30, 40000, TW_N, TW_T, true, false},
                   {30, 30, 40000, TW_T, TW_N, false, true}};
    enum { MOST = 129, APART = 1024 };
    static float x[MOST * APART], y[MOST * APART], packed_x[MOST * MOST], packed_y[MOST * MOST], wide[MOST * APART],
        narrow[MOST * MOST];
    static const int lengths[] = {1, 7, 8, 9, 16, 47, 48, 49, 100, MOST};
    const device_facts facts = {
        .engine = "cpu", .level = CPU_base, .threads = 1, .l1_bytes = 32768, .l2_bytes = 1 << 20};
    tw_context *context;
    bool same = true, tiers = true, streamed = true;
    for (int64_t i = 0; i < MOST * APART; i++)
        x[i] = (float)(i * 7919 % 1009) / 1009 - 0.5f, y[i] = (float)(i * 104729 % 1013) / 1013 - 0.5f;
    if (tw_open(&(tw_options){.size = sizeof(tw_options), .engine = "cpu", .threads = 1}, &context) != TW_OK)
        same = false;
    for (int t = 0; same && t < 10 * 10 * 10 * 2; t++) {
        int m = lengths[t / 2 % 10], n = lengths[t / 20 % 10], k = lengths[t / 200];
        tw_op op_a = t % 2 ? TW_T : TW_N;
        int rows = op_a == TW_N ? m : k, cols = op_a == TW_N ? k : m;
        for (int i = 0; i < rows; i++) memcpy(packed_x + i * cols, x + i * APART, (size_t)cols * sizeof *x);
        for (int i = 0; i < k; i++) memcpy(packed_y + i * n, y + i * APART, (size_t)n * sizeof *y);
        memset(wide, -1, sizeof wide), memset(narrow, -1, sizeof narrow);
        tw_problem p = tw_problem_make(TW_F32, op_a, TW_N, m, n, k), q = p, loaded;
        plan direct, packed;
        q.lda = q.ldb = q.ldc = APART;
        tiers = tiers && problem_load(&p, a, a, a, &loaded) == TW_OK &&
                plan_find(&loaded, &facts, NULL, &direct) == TW_OK && direct.direct_a && direct.direct_b &&
                direct.at_once && direct.threads == 1 && direct.workspace_bytes == 0 &&
                problem_load(&q, a, a, a, &loaded) == TW_OK && plan_find(&loaded, &facts, NULL, &packed) == TW_OK &&
                packed.direct_a == (m == 1 || n == 1) && packed.direct_b == packed.direct_a;
        same = tw_gemm(context, &p, packed_x, packed_y, narrow) == TW_OK && tw_gemm(context, &q, x, y, wide) == TW_OK;
        for (int i = 0; i < m; i++)
            same = same && memcmp(narrow + i * n, wide + i * APART, (size_t)n * sizeof *wide) == 0;
    }
    expect("bits do not depend on few rows or columns being streamed", same && streams_agree(context));
    expect("bits do not depend on a long k being read where it lies", same && deep_agrees(context));
    tw_close(context);
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {
        tw_problem p = tw_problem_make(TW_F32, streams[i].op_a, streams[i].op_b, streams[i].m, streams[i].n,
                                       streams[i].k),
                   loaded;
        plan made;
        streamed = streamed && problem_load(&p, a, a, a, &loaded) == TW_OK &&
                   plan_find(&loaded, &facts, NULL, &made) == TW_OK && made.direct_a == streams[i].a &&
                   made.direct_b == streams[i].b;
    }
    expect("plans: A is read where it lies unless it is transposed, B when C has few rows, both when k is long",
           streamed);
    expect("plans: small operands are read where they lie, but not rows 4 KiB apart", tiers);
    expect("bits do not depend on packing", same);
}

/* What is kept in words of several elements: the bits of C depend neither on leading dimensions, nor on where the sums
 * of the first panels of k are kept (in C, or, where C is still needed, beside it), nor on the threads, nor on where C
 * is cut into strips. */
static void word_cases(void)
{
    enum { M = 70, N = 4200, K = 1700, APART = 3 };
    static const char *const sets[] = {"base", "avx2", "avx512", "avx512_vnni", "avx512_bf16", "amx"};
    for (int x = 0; x < 6 * 2; x++) {
        tw_dtype dtype = x % 2 ? TW_I8 : TW_BF16;
        tw_context *one = NULL, *two = NULL;
        tw_options options = {.size = sizeof options, .engine = "cpu", .threads = 1, .instruction_set = sets[x / 2]};
        if (!tap_case("%s with %s instructions: the same bits, however it is cut", x % 2 ? "i8" : "bf16", sets[x / 2]))
            continue;
        bool opened = tw_open(&options, &one) == TW_OK;
        options.threads = 2;
        if (!opened || tw_open(&options, &two) != TW_OK) {
            tap_skip(tw_error_text());
            tw_close(one);
            continue;
        }
        size_t bytes = x % 2 ? 1 : 2;
        tw_problem p = tw_problem_make(dtype, TW_N, TW_T, M, N, K), q = p;
        q.lda += APART, q.ldb += APART, q.ldc += APART, q.beta = 1;
        char *u = malloc((size_t)(M * p.lda) * bytes), *v = malloc((size_t)(N * p.ldb) * bytes),
             *wide_u = malloc((size_t)(M * q.lda) * bytes), *wide_v = malloc((size_t)(N * q.ldb) * bytes);
        float *narrow = malloc(M * N * sizeof *narrow), *wide = calloc((size_t)(M * q.ldc), sizeof *wide);
        for (int64_t i = 0; i < M * K; i++) { /* of bf16 numbers of 0.5 to 2 and -0.5 to -2 */
            uint16_t value = (uint16_t)(i * 7919 % 1009 * 131 % 256);
            memcpy(u + (size_t)i * bytes,
                   &(uint16_t){x % 2 ? value : (uint16_t)(0x3f00 | value >> 1 | (value & 1) << 15)}, bytes);
        }
        for (int64_t i = 0; i < N * K; i++) {
            uint16_t value = (uint16_t)(i * 104729 % 1013 * 37 % 256);
            memcpy(v + (size_t)i * bytes,
                   &(uint16_t){x % 2 ? value : (uint16_t)(0x3f00 | value >> 1 | (value & 1) << 15)}, bytes);
        }
        for (int64_t i = 0; i < M; i++)
            memcpy(wide_u + (size_t)(i * q.lda) * bytes, u + (size_t)(i * K) * bytes, K * bytes);
        for (int64_t i = 0; i < N; i++)
            memcpy(wide_v + (size_t)(i * q.ldb) * bytes, v + (size_t)(i * K) * bytes, K * bytes);
        bool same = tw_gemm(one, &p, u, v, narrow) == TW_OK && tw_gemm(two, &q, wide_u, wide_v, wide) == TW_OK;
        for (int64_t i = 0; same && i < M; i++) same = memcmp(narrow + i * N, wide + i * q.ldc, N * sizeof *wide) == 0;
        p.n = 37, p.ldc = N; /* a part of C by itself */
        same = same && tw_gemm(two, &p, u, v + (size_t)(1000 * K) * bytes, wide) == TW_OK;
        for (int64_t i = 0; same && i < M; i++)
            same = memcmp(narrow + i * N + 1000, wide + i * N, 37 * sizeof *wide) == 0;
        tap_result(same, "they differ");
        free(u), free(v), free(wide_u), free(wide_v), free(narrow), free(wide);
        tw_close(one), tw_close(two);
    }
}

int main(int argc, char **argv)
{
    tap_start(argc, argv);
    error_cases();
    context_that_was_not_opened();
    special_cases();
    again_cases();
    recalled_cases();
    wide_scalar_cases();
    context_cases();
    table_cases();
    probe_cases();
    plan_cases();
    place_cases();
    kept_plans();
    tier_cases();
    turned_cases();
    line_cases();
    word_cases();
    return tap_finish();
}
