/* names64.c - the names of libtilewright_blas.so with sizes of 64 bits: the bits of those with 32, by every spelling,
 * and no size cut off. */
#include "../support/tap.h"

#include <tilewright_blas64.h>

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static void expect(const char *what, bool right)
{
    if (tap_case("%s", what)) tap_result(right, "not so");
}

/* ---- the program's own handlers ---- */

static int64_t told, told_fortran, told_narrow;

void xerbla_(const char *routine, const int *number, size_t length)
{
    (void)routine, (void)number, (void)length;
    told_narrow++;
}

void xerbla_64_(const char *routine, const int64_t *number, size_t length)
{
    (void)routine, (void)length;
    told_fortran = *number;
}

void cblas_xerbla64_(int64_t number, const char *routine, const char *format, ...)
{
    (void)routine, (void)format;
    told = number;
}

void cblas_xerbla(int number, const char *routine, const char *format, ...)
{
    (void)number, (void)routine, (void)format;
    told_narrow++;
}

/* ---- the bits of the names with 32 bits ---- */

enum { M = 13, N = 9, K = 7, LD = 17, ELEMENTS = LD * LD };

typedef struct numbers {
    double a[ELEMENTS], b[ELEMENTS], c[ELEMENTS];
    float x[ELEMENTS], y[ELEMENTS], z[ELEMENTS];
} numbers;

static void fill(numbers *n)
{
    for (int i = 0; i < ELEMENTS; i++)
        n->a[i] = (i * 7 % 19 - 9) / 8.0 + (i % (LD + 1) == 0 ? 4 : 0), n->b[i] = (i * 5 % 23 - 11) / 8.0,
        n->c[i] = (i * 3 % 17 - 8) / 8.0, n->x[i] = (float)n->a[i], n->y[i] = (float)n->b[i], n->z[i] = (float)n->c[i];
}

/* Every routine, from C in both orders and from Fortran; SUFFIX: nothing or 64_, END: _ or _64_. */
#define EACH(real, s, SUFFIX, END, size, a, b, c)                                                                      \
    do {                                                                                                               \
        const size m = M, n = N, k = K, ld = LD;                                                                       \
        const real alpha = (real)0.7, beta = (real)-1.3;                                                               \
        for (int i = 0; i < 2; i++) {                                                                                  \
            const CBLAS_LAYOUT layout = i ? CblasRowMajor : CblasColMajor;                                             \
            cblas_##s##gemm##SUFFIX(layout, CblasNoTrans, CblasTrans, m, n, k, alpha, a, ld, b, ld, beta, c, ld);      \
            cblas_##s##symm##SUFFIX(layout, CblasRight, CblasLower, m, n, alpha, a, ld, b, ld, beta, c, ld);           \
            cblas_##s##syrk##SUFFIX(layout, CblasUpper, CblasTrans, n, k, alpha, a, ld, beta, c, ld);                  \
            cblas_##s##syr2k##SUFFIX(layout, CblasLower, CblasNoTrans, n, k, alpha, a, ld, b, ld, beta, c, ld);        \
            cblas_##s##gemmtr##SUFFIX(layout, CblasLower, CblasTrans, CblasNoTrans, n, k, alpha, a, ld, b, ld, beta,   \
                                      c, ld);                                                                          \
            cblas_##s##trmm##SUFFIX(layout, CblasLeft, CblasUpper, CblasTrans, CblasUnit, m, n, alpha, a, ld, c, ld);  \
            cblas_##s##trsm##SUFFIX(layout, CblasRight, CblasLower, CblasNoTrans, CblasNonUnit, m, n, alpha, a, ld, c, \
                                    ld);                                                                               \
        }                                                                                                              \
        s##gemm##END("t", "n", &m, &n, &k, &alpha, a, &ld, b, &ld, &beta, c, &ld);                                     \
        s##symm##END("L", "U", &m, &n, &alpha, a, &ld, b, &ld, &beta, c, &ld);                                         \
        s##syrk##END("u", "N", &n, &k, &alpha, a, &ld, &beta, c, &ld);                                                 \
        s##syr2k##END("l", "T", &n, &k, &alpha, a, &ld, b, &ld, &beta, c, &ld);                                        \
        s##gemmtr##END("U", "N", "T", &n, &k, &alpha, a, &ld, b, &ld, &beta, c, &ld);                                  \
        s##trmm##END("R", "L", "N", "N", &m, &n, &alpha, a, &ld, c, &ld);                                              \
        s##trsm##END("L", "U", "C", "N", &m, &n, &alpha, a, &ld, c, &ld);                                              \
    } while (0)

/* The same of c and z: elements are pairs, of which the arrays hold half as many. */
#define EACH_COMPLEX(real, s, SUFFIX, END, size, a, b, c)                                                              \
    do {                                                                                                               \
        const size m = M / 2, n = N / 2, k = K / 2, ld = LD / 2;                                                       \
        const real alpha[2] = {(real)0.7, (real)0.2}, beta[2] = {(real)-1.3, (real)0.4};                               \
        for (int i = 0; i < 2; i++) {                                                                                  \
            const CBLAS_LAYOUT layout = i ? CblasRowMajor : CblasColMajor;                                             \
            cblas_##s##gemm##SUFFIX(layout, CblasConjTrans, CblasTrans, m, n, k, alpha, a, ld, b, ld, beta, c, ld);    \
            cblas_##s##symm##SUFFIX(layout, CblasRight, CblasLower, m, n, alpha, a, ld, b, ld, beta, c, ld);           \
            cblas_##s##hemm##SUFFIX(layout, CblasLeft, CblasUpper, m, n, alpha, a, ld, b, ld, beta, c, ld);            \
            cblas_##s##syrk##SUFFIX(layout, CblasUpper, CblasTrans, n, k, alpha, a, ld, beta, c, ld);                  \
            cblas_##s##herk##SUFFIX(layout, CblasLower, CblasNoTrans, n, k, alpha[0], a, ld, beta[0], c, ld);          \
            cblas_##s##syr2k##SUFFIX(layout, CblasLower, CblasNoTrans, n, k, alpha, a, ld, b, ld, beta, c, ld);        \
            cblas_##s##her2k##SUFFIX(layout, CblasUpper, CblasConjTrans, n, k, alpha, a, ld, b, ld, beta[0], c, ld);   \
            cblas_##s##gemmtr##SUFFIX(layout, CblasLower, CblasTrans, CblasNoTrans, n, k, alpha, a, ld, b, ld, beta,   \
                                      c, ld);                                                                          \
            cblas_##s##trmm##SUFFIX(layout, CblasLeft, CblasUpper, CblasConjTrans, CblasUnit, m, n, alpha, a, ld, c,   \
                                    ld);                                                                               \
            cblas_##s##trsm##SUFFIX(layout, CblasRight, CblasLower, CblasNoTrans, CblasNonUnit, m, n, alpha, a, ld, c, \
                                    ld);                                                                               \
        }                                                                                                              \
        s##gemm##END("t", "C", &m, &n, &k, alpha, a, &ld, b, &ld, beta, c, &ld);                                       \
        s##symm##END("L", "U", &m, &n, alpha, a, &ld, b, &ld, beta, c, &ld);                                           \
        s##hemm##END("R", "L", &m, &n, alpha, a, &ld, b, &ld, beta, c, &ld);                                           \
        s##syrk##END("u", "N", &n, &k, alpha, a, &ld, beta, c, &ld);                                                   \
        s##herk##END("u", "C", &n, &k, alpha, a, &ld, beta, c, &ld);                                                   \
        s##syr2k##END("l", "T", &n, &k, alpha, a, &ld, b, &ld, beta, c, &ld);                                          \
        s##her2k##END("l", "N", &n, &k, alpha, a, &ld, b, &ld, beta, c, &ld);                                          \
        s##gemmtr##END("U", "N", "T", &n, &k, alpha, a, &ld, b, &ld, beta, c, &ld);                                    \
        s##trmm##END("R", "L", "N", "N", &m, &n, alpha, a, &ld, c, &ld);                                               \
        s##trsm##END("L", "U", "C", "N", &m, &n, alpha, a, &ld, c, &ld);                                               \
    } while (0)

static void same_bits(void)
{
    static numbers narrow, wide;
    fill(&narrow), fill(&wide);
    EACH(double, d, , _, int, narrow.a, narrow.b, narrow.c);
    EACH(double, d, 64_, _64_, int64_t, wide.a, wide.b, wide.c);
    expect("f64 has the bits of the names with sizes of 32 bits", memcmp(narrow.c, wide.c, sizeof wide.c) == 0);
    EACH(float, s, , _, int, narrow.x, narrow.y, narrow.z);
    EACH(float, s, 64_, _64_, int64_t, wide.x, wide.y, wide.z);
    expect("f32, too", memcmp(narrow.z, wide.z, sizeof wide.z) == 0);
    fill(&narrow), fill(&wide);
    EACH_COMPLEX(double, z, , _, int, narrow.a, narrow.b, narrow.c);
    EACH_COMPLEX(double, z, 64_, _64_, int64_t, wide.a, wide.b, wide.c);
    expect("cf64, too", memcmp(narrow.c, wide.c, sizeof wide.c) == 0);
    EACH_COMPLEX(float, c, , _, int, narrow.x, narrow.y, narrow.z);
    EACH_COMPLEX(float, c, 64_, _64_, int64_t, wide.x, wide.y, wide.z);
    expect("cf32, too", memcmp(narrow.z, wide.z, sizeof wide.z) == 0);
}

static void spellings(void)
{
    static const char *const routines[] = {
        "gemm", "symm", "syrk", "syr2k", "gemmtr", "trmm", "trsm", "gemm_batch", "gemm_batch_strided",
        "hemm", "herk", "her2k"};
    static const char *const forms[4][3] = {{"cblas_%s64_", "cblas_%s_64", "scipy_cblas_%s64_"},
                                            {"%s_64_", "%s_64", "scipy_%s_64_"},
                                            {"cblas_%s", "scipy_cblas_%s", "scipy_cblas_%s"},
                                            {"%s_", "scipy_%s_", "scipy_%s_"}};
    for (int r = 0; r < 48; r++) {
        char routine[24], name[48];
        bool same = true;
        if (r / 4 > 8 && r % 4 < 2) continue; /* s and d have no Hermitian routines */
        snprintf(routine, sizeof routine, "%c%s", "sdcz"[r % 4], routines[r / 4]);
        for (int i = 0; i < 4; i++) {
            void *first = NULL;
            for (int j = 0; j < 3; j++) {
                snprintf(name, sizeof name, forms[i][j], routine);
                void *found = dlsym(RTLD_DEFAULT, name);
                if (j == 0) first = found;
                same = same && found != NULL && found == first;
            }
        }
        if (tap_case("spellings of %s", routine)) tap_result(same, "one is missing or another function");
    }
}

/* ---- no size is cut off ---- */

/* A wrong size goes to xerbla_64_, with Fortran's number, a wrong setting to cblas_xerbla64_. */
static bool is_told(int64_t of_fortran, int64_t of_c)
{
    const bool right = told_fortran == of_fortran && told == of_c && told_narrow == 0;
    if (!right) printf("# told %d by xerbla_64_, %d by cblas_xerbla64_\n", (int)told_fortran, (int)told);
    told = told_fortran = told_narrow = 0;
    return right;
}

static void large_sizes(void)
{
    const int64_t large = INT64_C(1) << 32; /* whose lower half is 0 */
    static double x[16], c[4];
    for (int i = 0; i < 16; i++) x[i] = 1;
    cblas_dgemm64_(CblasColMajor, CblasNoTrans, CblasNoTrans, -large, 1, 1, 1, x, 4, x, 4, 0, c, 4);
    expect("a large negative m is wrong", is_told(3, 0));
    cblas_dgemm64_(CblasColMajor, CblasNoTrans, CblasNoTrans, large + 1, 0, 1, 1, x, 4, x, 4, 0, c, large + 1);
    expect("a leading dimension is beside all of a large m", is_told(8, 0));
    cblas_dtrsm64_(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, 1, -large, 1, x, 4, c, 4);
    expect("a large negative n of trsm is wrong", is_told(6, 0));
    cblas_dsyrk64_(CblasColMajor, CblasLower, CblasNoTrans, 2, -large, 1, x, 4, 0, c, 4);
    expect("a large negative k of syrk is wrong", is_told(4, 0));
    cblas_dsyrk64_(CblasColMajor, (CBLAS_UPLO)7, CblasNoTrans, 2, 1, 1, x, 4, 0, c, 4);
    expect("a wrong uplo is told to the handler of 64 bits", is_told(0, 2));
    c[0] = 0;
    cblas_dgemm64_(CblasColMajor, CblasNoTrans, CblasNoTrans, 1, 1, 3, 1, x, 2, x, large + 3, 0, c, large);
    expect("a large leading dimension of a single column is taken", c[0] == 3 && is_told(0, 0));
    c[0] = 2;
    cblas_dtrmm64_(CblasColMajor, CblasLeft, CblasUpper, CblasNoTrans, CblasNonUnit, 1, 1, 3, x, large, c, large);
    expect("also by trmm", c[0] == 6 && is_told(0, 0));
    cblas_dsymm64_(CblasColMajor, CblasLeft, CblasUpper, large, 0, 1, x, large, x, large, 0, c, large);
    expect("nothing of a large matrix without columns is nothing", is_told(0, 0));
}

int main(int argc, char **argv)
{
    tap_start(argc, argv);
    same_bits();
    spellings();
    large_sizes();
    return tap_finish();
}
