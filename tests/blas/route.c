/* route.c - TILEWRIGHT_BLAS_ENGINE=cuda: what goes to the GPU and what stays, that both are right, and what is said
 * where there is none or it fails. What needs a GPU is skipped without one; the others meet a fake one. */
#include "../support/tap.h"
#include "child.h"

#include <tilewright_blas.h>

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

enum { N = 300, LD = 307 };

static float a[N * LD], b[N * LD], c[N * LD];
static double wide[N * N], wide_c[N * N];

static int value(int i, int seed) { return (i * 7 + seed * 5) % 9 - 4; }

/* Products of small integers, whose sums are exact: the number of wrong elements. */
static int wrong_elements(int m, int n, int k, bool transposes, float beta)
{
    int wrong = 0;
    for (int i = 0; i < N * LD; i++) a[i] = (float)value(i, 1), b[i] = (float)value(i, 2), c[i] = (float)value(i, 3);
    cblas_sgemm(CblasRowMajor, transposes ? CblasTrans : CblasNoTrans, CblasNoTrans, m, n, k, 2, a, LD, b, LD, beta, c,
                LD);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < LD; j++) {
            int sum = 0;
            for (int p = 0; j < n && p < k; p++)
                sum += value(transposes ? p * LD + i : i * LD + p, 1) * value(p * LD + j, 2);
            const float expected = j < n ? 2 * (float)sum + beta * (float)value(i * LD + j, 3)
                                         : (float)value(i * LD + j, 3);
            wrong += c[i * LD + j] != expected;
        }
    return wrong;
}

/* Exit status: 0, or 1 where something is wrong. */
static int calls(void)
{
    int wrong = wrong_elements(N, N, N, false, 0) + wrong_elements(N, N, N, true, -1) + /* the GPU's */
                wrong_elements(N, N, 40, false, 1) + wrong_elements(1, N, N, false, 0) +
                wrong_elements(N, 20, N, false, 0) + wrong_elements(63, 63, 63, true, 0);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, N, N, N, 1, wide, N, wide, N, 0, wide_c, N);
    for (int i = 0; i < N * LD; i++) a[i] = 1, b[i] = 1;
    cblas_ssyrk(CblasRowMajor, CblasLower, CblasNoTrans, N, N, 1, a, LD, 0, c, LD);
    cblas_strmm(CblasRowMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, N, N, 1, a, LD, b, LD);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) wrong += b[i * LD + j] != (float)(i + 1) || (j <= i && c[i * LD + j] != N);
    return wrong != 0;
}

/* How often the line of this call says where it was computed. */
static bool is_said(const char *said, const char *call, const char *where)
{
    const char *at = strstr(said, call), *end = at != NULL ? strchr(at, '\n') : NULL,
               *found = at != NULL ? strstr(at, where) : NULL;
    return found != NULL && found < end;
}

static void routes(void)
{
    char said[SAID];
    if (!tap_case("products_above_the_break_even_are_the_gpu_s")) return;
    setenv("TILEWRIGHT_BLAS_ENGINE", "cuda", 1);
    setenv("TILEWRIGHT_BLAS_BREAK_EVEN", "64", 1);
    const int status = run_with("TILEWRIGHT_VERBOSE", "1", calls, said);
    const char *ignored = strstr(said, "TILEWRIGHT_BLAS_ENGINE=cuda is ignored");
    if (ignored != NULL) {
        tap_skip("CUDA cannot be used here");
        return;
    }
    tap_result(status == 0 &&
                   is_said(said, "m 300 n 300 k 300 lda 307 ldb 307 ldc 307 alpha 2 beta 0",
                           ", on cuda | tilewright bench --engine cuda --host --dtype f32 --shape 300x300x300\n") &&
                   is_said(said, "TN m 300 n 300 k 300", ", on cuda |") &&
                   is_said(said, "m 300 n 300 k 40", ", on cuda |") && !is_said(said, "m 1 n 300", "on cuda") &&
                   !is_said(said, "m 300 n 20 k 300", "on cuda") && !is_said(said, "m 63 n 63", "on cuda") &&
                   !is_said(said, "cblas_dgemm", "on cuda") && !is_said(said, "cblas_ssyrk", "on cuda") &&
                   lines_of(said) == 9,
               "status %d, said: %s", status, said);
}

static void measured(void)
{
    char said[SAID];
    if (!tap_case("without_a_break_even_it_is_measured")) return;
    setenv("TILEWRIGHT_BLAS_ENGINE", "cuda", 1);
    unsetenv("TILEWRIGHT_BLAS_BREAK_EVEN");
    const int status = run_with("TILEWRIGHT_VERBOSE", "0", calls, said);
    /* nothing is said where a size was found */
    tap_result(status == 0 && (said[0] == '\0' || (lines_of(said) == 1 &&
                                                   strstr(said, "TILEWRIGHT_BLAS_ENGINE=cuda is ignored: ") != NULL)),
               "status %d, said: %s", status, said);
}

static void wrong_break_even(void)
{
    char said[SAID];
    if (!tap_case("a_wrong_break_even_is_told")) return;
    setenv("TILEWRIGHT_BLAS_ENGINE", "cuda", 1);
    const int status = run_with("TILEWRIGHT_BLAS_BREAK_EVEN", "12x", calls, said);
    const bool no_gpu = strstr(said, "TILEWRIGHT_BLAS_ENGINE=cuda is ignored: ") == said + strlen("tilewright: ");
    tap_result(status == 0 && (no_gpu || strstr(said, "TILEWRIGHT_BLAS_BREAK_EVEN is 12x, expected a size") != NULL),
               "status %d, said: %s", status, said);
}

/* ---- on a fake GPU, which multiplies with alpha 1 and beta 0 ---- */

enum { EDGE = 100, ITEM = EDGE * EDGE };

static const char *faults; /* what fails, as tests/fakes/fake.h reads it; "": nothing */

static void open_fake(void)
{
    if (dlopen(FAKES_FOLDER "/cuda/libcuda.so.1", RTLD_NOW) == NULL) _exit(99);
    setenv("FAKE_CUDA", "product=1 sm=75", 1);
    setenv("FAKES", faults, 1);
    setenv("TILEWRIGHT_NVRTC", FAKES_FOLDER "/nvrtc/libnvrtc.so.13", 1);
    setenv("TILEWRIGHT_CACHE", "off", 1);
    setenv("TILEWRIGHT_BLAS_ENGINE", "cuda", 1);
    setenv("TILEWRIGHT_BLAS_BREAK_EVEN", "64", 1);
    for (int i = 0; i < N * LD; i++) a[i] = 1, b[i] = 2, c[i] = 3;
}

static int differ(int elements, float expected)
{
    int wrong = 0;
    for (int i = 0; i < elements; i++) wrong += c[i] != expected;
    return wrong != 0;
}

static int single_and_batch(void)
{
    open_fake();
    cblas_sgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, EDGE, EDGE, EDGE, 1, a, EDGE, b, EDGE, 0, c, EDGE);
    const int wrong = differ(ITEM, 2 * EDGE);
    memset(c, 0, sizeof c);
    cblas_sgemm_batch_strided(CblasColMajor, CblasNoTrans, CblasNoTrans, EDGE, EDGE, EDGE, 1, a, EDGE, ITEM, b, EDGE,
                              ITEM, 0, c, EDGE, ITEM, 3);
    return wrong || differ(3 * ITEM, 2 * EDGE);
}

static int without_old_c(void)
{
    open_fake();
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, EDGE, EDGE, EDGE, 1, a, EDGE, b, EDGE, 0, c, EDGE);
    return differ(ITEM, 2 * EDGE);
}

static int with_old_c(void)
{
    open_fake();
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, EDGE, EDGE, EDGE, 1, a, EDGE, b, EDGE, 1, c, EDGE);
    return 0;
}

/* After a failure all is the cpu's. */
static int twice(void)
{
    open_fake();
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, EDGE, EDGE, EDGE, 1, a, EDGE, b, EDGE, 1, c, EDGE);
    for (int i = 0; i < ITEM; i++) c[i] = 3;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, EDGE, EDGE, EDGE, 1, a, EDGE, b, EDGE, 1, c, EDGE);
    return differ(ITEM, 2 * EDGE + 3);
}

/* Of each kind of failure the first is told. */
static int several(void)
{
    int wrong = 0;
    open_fake();
    for (int i = 0; i < 4; i++) {
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, EDGE, EDGE, EDGE, 1, a, EDGE, b, EDGE, 0, c, EDGE);
        wrong |= differ(ITEM, 2 * EDGE);
    }
    return wrong;
}

static int triangular(void)
{
    open_fake();
    cblas_strmm(CblasRowMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, N, N, 1, a, N, b, N);
    return 0;
}

static int thin(void)
{
    static const int sizes[][3] = {{20, N, N}, {N, 20, N}, {N, N, 20}};
    int wrong = 0;
    open_fake();
    for (int i = 0; i < 3; i++) {
        const int m = sizes[i][0], n = sizes[i][1], k = sizes[i][2];
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, a, N, b, N, 0, c, n);
        wrong |= differ(m * n, 2 * (float)k);
    }
    return wrong;
}

/* One small size is enough: the harmonic mean of 20, 300 and 300 is 53. */
static void thin_products(void)
{
    char said[SAID];
    if (!tap_case("thin_products_stay_on_the_cpu")) return;
    faults = "";
    const int status = run_with("TILEWRIGHT_VERBOSE", "1", thin, said);
    tap_result(status == 0 && lines_of(said) == 3 && strstr(said, "on cuda") == NULL, "status %d, said: %s", status,
               said);
}

/* Three groups of one product each, of which the GPU fails at the second. */
static int groups(void)
{
    const CBLAS_TRANSPOSE ops[3] = {CblasNoTrans, CblasNoTrans, CblasNoTrans};
    const int edge[3] = {EDGE, EDGE, EDGE}, size[3] = {1, 1, 1};
    const float one[3] = {1, 1, 1}, *at_a[3] = {a, a, a}, *at_b[3] = {b, b, b};
    float *at_c[3] = {c, c + ITEM, c + 2 * ITEM};
    open_fake();
    cblas_sgemm_batch(CblasColMajor, ops, ops, edge, edge, edge, one, at_a, edge, at_b, edge, one, at_c, edge, 3, size);
    for (int i = 2 * ITEM; i < 3 * ITEM; i++)
        if (c[i] != 3) return 1;
    return 0;
}

/* A large C, which comes down in pieces: memory for a copy runs out after some have. */
static int pieces(void)
{
    enum { ROWS = 3072, DEPTH = 64 };
    open_fake();
    float *const large = calloc((size_t)ROWS * (ROWS + DEPTH), sizeof *large), *const thin = large + ROWS * ROWS;
    if (large == NULL) return 98;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, ROWS, ROWS, DEPTH, 1, thin, DEPTH, thin, ROWS, 1, large,
                ROWS);
    free(large);
    return 0;
}

static void on_a_fake(const char *name, const char *fails, int (*body)(void), const char *const expected[2])
{
    char said[SAID];
    if (!tap_case("%s", name)) return;
    faults = fails;
    const int status = run_with("TILEWRIGHT_VERBOSE", "1", body, said);
    tap_result(status == 0 && strstr(said, expected[0]) != NULL && strstr(said, expected[1]) != NULL,
               "status %d, said: %s", status, said);
}

static void fakes(void)
{
    static const char failing[] = "cuMemcpyDtoHAsync_v2=700 cuMemcpyDtoH_v2=700 cuMemcpy2DUnaligned_v2=700";
    on_a_fake("a_large_product_and_a_batch_of_them_are_a_gpu_s", "", single_and_batch,
              (const char *const[]){", on cuda | tilewright bench", ", on cuda\n"}); /* of sgemm, of the batch */
    on_a_fake("what_a_gpu_fails_to_compute_the_cpu_does", failing, without_old_c,
              (const char *const[]){"tilewright: the GPU did not compute a product; the cpu computes all from now on: ",
                                    "GFLOP/s | tilewright bench --dtype"});
    on_a_fake("a_gpu_that_fails_may_leave_c_undefined", failing, with_old_c,
              (const char *const[]){"cblas_sgemm failed, and its result is undefined: ", ""});
    on_a_fake("after_a_failure_the_cpu_computes_all", failing, twice,
              (const char *const[]){"; the cpu computes all from now on: ", "GFLOP/s | "});
    on_a_fake("lack_of_memory_and_the_loss_of_the_gpu_are_both_told", "cuMemAlloc_v2=2@4 cuMemcpyDtoH_v2=700@2",
              several, (const char *const[]){", which the cpu computes: ", "; the cpu computes all from now on: "});
    on_a_fake("a_triangular_product_is_computed_by_both", "", triangular,
              (const char *const[]){"cblas_strmm row-major LLNN", ", on cuda and cpu\n"});
    on_a_fake("a_triangular_product_may_fail_half_way", "cuMemcpyDtoH_v2=2 cuMemcpy2DUnaligned_v2=2@4", triangular,
              (const char *const[]){"cblas_strmm failed, and its result is undefined: ", ""});
    on_a_fake("a_group_that_fails_ends_the_call", "cuMemcpyDtoH_v2=700@2", groups,
              (const char *const[]){"cblas_sgemm_batch failed, and its result is undefined: ", ""});
    on_a_fake("memory_that_runs_out_half_way_is_a_failure", "cuMemcpyDtoHAsync_v2=2@9", pieces,
              (const char *const[]){"cblas_sgemm failed, and its result is undefined: ", ""});
}

int main(int argc, char **argv)
{
    tap_start(argc, argv);
    wrong_break_even();
    routes();
    measured();
    fakes();
    thin_products();
    return tap_finish();
}
