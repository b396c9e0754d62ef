/* route.c - TILEWRIGHT_BLAS_ENGINE=cuda: what goes to the GPU and what stays, that both are right, and what is said
 * where there is none or it fails. What needs a GPU is skipped without one; the others meet a fake one. */
#include "../support/tap.h"
#include "child.h"

#include <tilewright_blas.h>

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

enum { N = 300, LD = 307, EDGE = 100, ITEM = EDGE * EDGE };

/* The fake GPU: what fails there, as tests/fakes/fake.h reads it, "": nothing; what FAKE_CUDA and
 * TILEWRIGHT_BLAS_BREAK_EVEN are. */
static const char *faults = "", *kernels = "product=1 sm=75", *edges = "64";

static int value(int i, int seed) { return (i * 7 + seed * 5) % 9 - 4; }

static void open_fake(void)
{
    if (dlopen(FAKES_FOLDER "/cuda/libcuda.so.1", RTLD_NOW) == NULL) _exit(99);
    setenv("FAKE_CUDA", kernels, 1);
    setenv("FAKES", faults, 1);
    setenv("TILEWRIGHT_NVRTC", FAKES_FOLDER "/nvrtc/libnvrtc.so.13", 1);
    setenv("TILEWRIGHT_CACHE", "off", 1);
    setenv("TILEWRIGHT_BLAS_ENGINE", "cuda", 1);
    setenv("TILEWRIGHT_BLAS_BREAK_EVEN", edges, 1);
}

#define JOIN_(x, y) x##y
#define JOIN(x, y)  JOIN_(x, y)
#define NAMED(name) JOIN(name, _f32)
#define BLAS(name)  cblas_s##name
#define real        float
#include "route_type.h"
#undef NAMED
#undef BLAS
#undef real
#define NAMED(name) JOIN(name, _f64)
#define BLAS(name)  cblas_d##name
#define real        double
#include "route_type.h"

/* The calls of one type. */
typedef struct type {
    const char *name, *entries, *suffix; /* "f64", "cblas_d", "_in_f64": what names of cases end with */
    int (*calls)(void), (*calls_on_a_fake)(void), (*single_and_batch)(void), (*without_old_c)(void),
        (*with_old_c)(void), (*twice)(void), (*several)(void), (*triangular)(void), (*groups)(void), (*pieces)(void),
        (*thin)(void);
} type;

#define TYPE(name, entries, suffix)                                                                                    \
    {                                                                                                                  \
#name, entries, suffix, calls_##name, calls_on_a_fake_##name, single_and_batch_##name, without_old_c_##name,   \
            with_old_c_##name, twice_##name, several_##name, triangular_##name, groups_##name, pieces_##name,          \
            thin_##name                                                                                                \
    }

static const type types[] = {TYPE(f32, "cblas_s", ""), TYPE(f64, "cblas_d", "_in_f64")};

/* Whether the line of this call says where it was computed. */
static bool is_said(const char *said, const char *call, const char *where)
{
    const char *at = strstr(said, call), *end = at != NULL ? strchr(at, '\n') : NULL,
               *found = at != NULL ? strstr(at, where) : NULL;
    return found != NULL && found < end;
}

/* What `calls` prints where the break-even is 64. */
static bool routes_are_said(const type *x, const char *said)
{
    char first[120];
    snprintf(first, sizeof first, ", on cuda | tilewright bench --engine cuda --host --dtype %s --shape 300x300x300\n",
             x->name);
    return is_said(said, "m 300 n 300 k 300 lda 307 ldb 307 ldc 307 alpha 2 beta 0", first) &&
           is_said(said, "TN m 300 n 300 k 300", ", on cuda |") &&
           is_said(said, "NT m 300 n 300 k 299", ", on cuda |") &&
           is_said(said, "TT m 300 n 300 k 40", ", on cuda |") && !is_said(said, "m 1 n 300", "on cuda") &&
           !is_said(said, "m 300 n 20 k 300", "on cuda") && !is_said(said, "m 63 n 63", "on cuda") &&
           !is_said(said, "syrk", "on cuda") && lines_of(said) == 9;
}

static void routes(const type *x)
{
    char said[SAID];
    if (!tap_case("products_above_the_break_even_are_the_gpu_s%s", x->suffix)) return;
    setenv("TILEWRIGHT_BLAS_ENGINE", "cuda", 1);
    setenv("TILEWRIGHT_BLAS_BREAK_EVEN", "64", 1);
    const int status = run_with("TILEWRIGHT_VERBOSE", "1", x->calls, said);
    if (strstr(said, "TILEWRIGHT_BLAS_ENGINE=cuda is ignored") != NULL)
        tap_skip("CUDA cannot be used here");
    else
        tap_result(status == 0 && routes_are_said(x, said), "status %d, said: %s", status, said);
}

static void measured(const type *x)
{
    char said[SAID];
    if (!tap_case("without_a_break_even_it_is_measured%s", x->suffix)) return;
    setenv("TILEWRIGHT_BLAS_ENGINE", "cuda", 1);
    unsetenv("TILEWRIGHT_BLAS_BREAK_EVEN");
    const int status = run_with("TILEWRIGHT_VERBOSE", "0", x->calls, said);
    /* nothing is said where a size was found */
    tap_result(status == 0 && (said[0] == '\0' ||
                               (lines_of(said) == 1 && strstr(said, "TILEWRIGHT_BLAS_ENGINE=cuda is ignored") != NULL)),
               "status %d, said: %s", status, said);
}

static void wrong_break_even(void)
{
    char said[SAID];
    if (!tap_case("a_wrong_break_even_is_told")) return;
    setenv("TILEWRIGHT_BLAS_ENGINE", "cuda", 1);
    const int status = run_with("TILEWRIGHT_BLAS_BREAK_EVEN", "12x", calls_f32, said);
    const bool no_gpu = strstr(said, "TILEWRIGHT_BLAS_ENGINE=cuda is ignored: ") == said + strlen("tilewright: ");
    tap_result(status == 0 && (no_gpu || strstr(said, "TILEWRIGHT_BLAS_BREAK_EVEN is 12x, expected a size") != NULL),
               "status %d, said: %s", status, said);
}

/* ---- on a fake GPU ---- */

static void routes_on_a_fake(const type *x)
{
    char said[SAID];
    if (!tap_case("what_a_gpu_gets_is_right%s", x->suffix)) return;
    const int status = run_with("TILEWRIGHT_VERBOSE", "1", x->calls_on_a_fake, said);
    tap_result(status == 0 && routes_are_said(x, said), "status %d, said: %s", status, said);
}

/* One small size is enough: the harmonic mean of 20, 300 and 300 is 53. */
static void thin_products(const type *x)
{
    char said[SAID];
    if (!tap_case("thin_products_stay_on_the_cpu%s", x->suffix)) return;
    const int status = run_with("TILEWRIGHT_VERBOSE", "1", x->thin, said);
    tap_result(status == 0 && lines_of(said) == 3 && strstr(said, "on cuda") == NULL, "status %d, said: %s", status,
               said);
}

static void on_a_fake(const char *name, const type *x, const char *fails, int (*body)(void),
                      const char *const expected[2])
{
    char said[SAID];
    if (!tap_case("%s%s", name, x->suffix)) return;
    faults = fails;
    const int status = run_with("TILEWRIGHT_VERBOSE", "1", body, said);
    faults = "";
    tap_result(status == 0 && strstr(said, x->entries) != NULL && strstr(said, expected[0]) != NULL &&
                   strstr(said, expected[1]) != NULL,
               "status %d, said: %s", status, said);
}

static void failures(const type *x)
{
    static const char failing[] = "cuMemcpyDtoHAsync_v2=700 cuMemcpyDtoH_v2=700 cuMemcpy2DUnaligned_v2=700";
    on_a_fake("a_large_product_and_a_batch_of_them_are_a_gpu_s", x, "", x->single_and_batch,
              (const char *const[]){", on cuda | tilewright bench", ", on cuda\n"}); /* of gemm, of the batch */
    on_a_fake("what_a_gpu_fails_to_compute_the_cpu_does", x, failing, x->without_old_c,
              (const char *const[]){"tilewright: the GPU did not compute a product; the cpu computes all from now on: ",
                                    "GFLOP/s | tilewright bench --dtype"});
    on_a_fake("a_gpu_that_fails_may_leave_c_undefined", x, failing, x->with_old_c,
              (const char *const[]){"gemm failed, and its result is undefined: ", ""});
    on_a_fake("after_a_failure_the_cpu_computes_all", x, failing, x->twice,
              (const char *const[]){"; the cpu computes all from now on: ", "GFLOP/s | "});
    on_a_fake("lack_of_memory_is_told", x, "cuMemAlloc_v2=2", x->several,
              (const char *const[]){", which the cpu computes: ", ""});
    on_a_fake("the_loss_of_the_gpu_is_told", x, "cuMemcpyDtoH_v2=700@2", x->several,
              (const char *const[]){"; the cpu computes all from now on: ", ""});
    on_a_fake("a_triangular_product_is_computed_by_both", x, "", x->triangular,
              (const char *const[]){"trmm row-major LLNN", ", on cuda and cpu\n"});
    on_a_fake("a_triangular_product_may_fail_half_way", x, "cuMemcpyDtoH_v2=2 cuMemcpy2DUnaligned_v2=2@4",
              x->triangular, (const char *const[]){"trmm failed, and its result is undefined: ", ""});
    on_a_fake("a_group_that_fails_ends_the_call", x, "cuMemcpyDtoH_v2=700@2", x->groups,
              (const char *const[]){"gemm_batch failed, and its result is undefined: ", ""});
    on_a_fake("memory_that_runs_out_half_way_is_a_failure", x, "cuMemcpyDtoHAsync_v2=2@9", x->pieces,
              (const char *const[]){"gemm failed, and its result is undefined: ", ""});
}

/* One call of each type that may go to a GPU, large enough to be faster there, and of one that may not. */
static int one_of_each(void)
{
    enum { LARGE = 1024, ELEMENTS = LARGE * LARGE };
    static float a32[ELEMENTS], b32[ELEMENTS], c32[ELEMENTS];
    static double a64[ELEMENTS], b64[ELEMENTS], c64[ELEMENTS];
    const int size = LARGE, small = EDGE;
    open_fake();
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, size, size, size, 1, a32, size, b32, size, 0, c32, size);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, size, size, size, 1, a64, size, b64, size, 0, c64, size);
    cblas_zherk(CblasRowMajor, CblasLower, CblasNoTrans, small, small, 1, a64, small, 0, c64, small);
    return 0;
}

/* Complex products of small integers, whose C = 2i conj(A) B^T + C0 is exact. */
static int complex_calls(void)
{
    static float a32[2 * ITEM], b32[2 * ITEM], c32[2 * ITEM];
    static double a64[2 * ITEM], b64[2 * ITEM], c64[2 * ITEM];
    static const float alpha32[2] = {0, 2}, one32[2] = {1, 0};
    static const double alpha64[2] = {0, 2}, one64[2] = {1, 0};
    open_fake();
    for (int i = 0; i < 2 * ITEM; i++)
        a32[i] = (float)(a64[i] = value(i, 1)), b32[i] = (float)(b64[i] = value(i, 2)),
        c32[i] = (float)(c64[i] = value(i, 3));
    cblas_cgemm(CblasColMajor, CblasConjTrans, CblasNoTrans, EDGE, EDGE, EDGE, alpha32, a32, EDGE, b32, EDGE, one32,
                c32, EDGE);
    cblas_zgemm(CblasRowMajor, CblasNoTrans, CblasConjTrans, EDGE, EDGE, EDGE, alpha64, b64, EDGE, a64, EDGE, one64,
                c64, EDGE);
    for (int i = 0; i < EDGE; i++)
        for (int j = 0; j < EDGE; j++) {
            double re = 0, im = 0;
            for (int p = 0; p < EDGE; p++) { /* row i of B by the conjugate of row j of A */
                const int x = 2 * (i * EDGE + p), y = 2 * (j * EDGE + p);
                re += value(x, 2) * value(y, 1) + value(x + 1, 2) * value(y + 1, 1);
                im += value(x + 1, 2) * value(y, 1) - value(x, 2) * value(y + 1, 1);
            }
            const int at = 2 * (i * EDGE + j);
            if (c64[at] != value(at, 3) - 2 * im || c64[at + 1] != value(at + 1, 3) + 2 * re ||
                c32[at] != (float)c64[at] || c32[at + 1] != (float)c64[at + 1])
                return 1;
        }
    return 0;
}

static void complex_products(void)
{
    char said[SAID];
    if (!tap_case("complex_products_are_the_gpu_s_too")) return;
    const int status = run_with("TILEWRIGHT_VERBOSE", "1", complex_calls, said);
    tap_result(status == 0 && is_said(said, "cblas_cgemm", ", on cuda |") &&
                   is_said(said, "cblas_zgemm", ", on cuda |"),
               "status %d, said: %s", status, said);
}

/* Where on a fake GPU one_of_each() is computed. told: what is on stderr beside the three lines, or NULL. */
static void each_type(const char *name, const char *edge, const char *cuda, const char *fails, bool in_f32, bool in_f64,
                      const char *told)
{
    char said[SAID];
    if (!tap_case("%s", name)) return;
    edges = edge, kernels = cuda, faults = fails;
    const int status = run_with("TILEWRIGHT_VERBOSE", "1", one_of_each, said);
    edges = "64", kernels = "product=1 sm=75", faults = "";
    tap_result(status == 0 && is_said(said, "cblas_sgemm", "on cuda") == in_f32 &&
                   is_said(said, "cblas_dgemm", "on cuda") == in_f64 && !is_said(said, "cblas_zherk", "on cuda") &&
                   lines_of(said) == (told != NULL ? 4 : 3) && (told == NULL || strstr(said, told) != NULL),
               "status %d, said: %s", status, said);
}

static void break_evens(void)
{
    each_type("a_type_may_have_a_break_even_of_its_own", "1025,1024", "product=1 sm=75", "", false, true, NULL);
    /* a GPU that runs no kernel is the faster one at some size */
    each_type("each_type_is_measured", "", "sm=75", "", true, true, NULL);
    /* its kernel is the first to be loaded */
    each_type("of_a_type_that_fails_the_other_is_the_gpu_s", "", "sm=75", "cuModuleLoadData=200@1", false, true,
              "TILEWRIGHT_BLAS_ENGINE=cuda is ignored for f32: ");
    each_type("a_break_even_with_nothing_behind_the_comma_is_told", "64,", "sm=75", "", true, true,
              "TILEWRIGHT_BLAS_BREAK_EVEN is 64,, expected a size of 1 or more, or one for f32 and one for f64");
    each_type("a_break_even_of_0_is_told", "64,0", "sm=75", "", true, true,
              "TILEWRIGHT_BLAS_BREAK_EVEN is 64,0, expected a size of 1 or more");
}

int main(int argc, char **argv)
{
    tap_start(argc, argv);
    wrong_break_even();
    for (int i = 0; i < 2; i++) {
        routes(&types[i]);
        measured(&types[i]);
        routes_on_a_fake(&types[i]);
        failures(&types[i]);
        thin_products(&types[i]);
    }
    break_evens();
    complex_products();
    return tap_finish();
}
