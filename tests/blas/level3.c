/* level3.c - symm, syrk, syr2k, gemmtr, trmm and trsm of libtilewright_blas.so, by every name, side, triangle and op:
 * exact on small integers. Of a triangle that is not named, and of a unit diagonal, all is NaN, and stays as it was. */
#include "no_memory.h" /* first */

#include "../support/tap.h"
#include "brings.h"
#include "child.h"
#include "routines.h"

#include <stdint.h>
#include <sys/mman.h>

/* ---- each routine ---- */

enum { WHY = 320 };

/* The call judged. */
static bool right(const call *x, const judging *how, char why[WHY])
{
    trial t;
    trial_make(&t, x, how, 1);
    heard.calls = 0;
    trial_call(&t);
    bool good = heard.calls == 0;
    if (!good) snprintf(why, WHY, "the handler was told: %s, %d", heard.routine, heard.number);
    good = good && elements_right(&t, why, WHY) && rest_untouched(&t, why, WHY);
    if (!good) {
        const size_t used = strlen(why);
        snprintf(why + used, WHY - used, ": ");
        trial_describe(&t, why + used + 2, WHY - used - 2);
    }
    trial_free(&t);
    return good;
}

/* Is the call worth a sanitizer's time? */
static bool brings(const call *x, const judging *how, int setting)
{
    const int size[3] = {x->m, x->n, x->k}, place[3] = {how->padding > 0, (int)how->off, how->without_memory};
    return brings_call(x->routine, x->way, how->is_f32, size, place, setting) |
           tap_brings("scalars %d %g %g", x->routine, x->alpha, x->beta);
}

/* Every setting that the routine has. */
static bool right_in_all(call x, judging how, char why[WHY])
{
    for (int bits = 0; bits < 32; bits++) {
        const bool fixed = (bits & 1 && rank(&x)) || (bits & 4 && symmetric(&x)) || (bits & 8 && x.routine != GEMMTR) ||
                           (bits & 16 && !triangular(&x));
        x.side = "LR"[bits & 1], x.uplo = "UL"[bits >> 1 & 1], x.op_a = "NT"[bits >> 2 & 1],
        x.op_b = "NT"[bits >> 3 & 1], x.diag = "NU"[bits >> 4];
        if (!fixed && brings(&x, &how, bits) && !right(&x, &how, why)) return false;
    }
    return true;
}

static void products(routine r)
{
    static const int sizes[][3] = {{1, 1, 1},     {5, 3, 7},    {16, 17, 33}, {47, 50, 5}, {49, 33, 40}, {97, 130, 300},
                                   {290, 65, 12}, {7, 290, 70}, {0, 4, 3},    {4, 0, 3},   {4, 5, 0},    {3, 7, 1023}};
    static const double scalars[][2] = {{1, 0}, {-2, 1}, {0.5, -2}, {0, 0}, {0, 1}, {0, 2}};
    for (int is_f32 = 0; is_f32 < 2; is_f32++)
        for (way way = FORTRAN; way < WAYS; way++)
            for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
                char why[WHY] = "";
                bool good = true;
                if (!tap.full && sizes[s][1] > 60 && (size_t)way != s % WAYS) continue; /* each in one way */
                if (!tap_case("%s_%s_%s_%dx%dx%d", names[r], is_f32 ? "f32" : "f64", way_names[way], sizes[s][0],
                              sizes[s][1], sizes[s][2]))
                    continue;
                for (size_t v = 0; good && v < (sizes[s][1] > 60 ? 2 : sizeof scalars / sizeof *scalars); v++)
                    good = right_in_all((call){r, way, 0, 0, 0, 0, 0, sizes[s][0], sizes[s][1], sizes[s][2],
                                               scalars[v][0], scalars[v][1]},
                                        (judging){.is_f32 = is_f32, .padding = v % 2 ? 3 : 0}, why);
                tap_result(good, "%s", why);
            }
}

/* Random data, odd addresses. */
static void other_ways(routine r)
{
    char why[WHY] = "";
    if (tap_case("%s_at_odd_addresses", names[r])) {
        call x = {.routine = r, .way = C_COLUMNS, .m = 50, .n = 33, .k = 20, .alpha = 2, .beta = -1};
        bool good = right_in_all(x, (judging){.is_f32 = true, .padding = 1, .off = 1}, why);
        x.way = C_ROWS, x.beta = 0;
        good = good && right_in_all(x, (judging){.padding = 1, .off = 3}, why);
        tap_result(good, "%s", why);
    }
    for (way way = FORTRAN; way < WAYS; way++) {
        if (!tap_case("%s_scalars_that_no_float_holds_%s", names[r], way_names[way])) continue;
        const call x = {.routine = r, .way = way, .m = 5, .n = 3, .k = 4, .alpha = 1 + 0x1p-30, .beta = 1 + 0x1p-31};
        tap_result(right_in_all(x, (judging){.random = true}, why), "%s", why);
    }
    for (int is_f32 = 0; is_f32 < 2; is_f32++) {
        if (tap_case("%s_%s_of_random_numbers", names[r], is_f32 ? "f32" : "f64")) {
            call x = {.routine = r, .way = C_ROWS, .m = 130, .n = 65, .k = 300, .alpha = 0.7, .beta = -1.3};
            if (is_f32) x.alpha = (double)0.7f, x.beta = (double)-1.3f;
            bool good = right_in_all(x, (judging){.is_f32 = is_f32, .random = true}, why);
            x.way = C_COLUMNS, x.m = 7, x.n = 290, x.k = 3;
            good = good && right_in_all(x, (judging){.is_f32 = is_f32, .random = true, .padding = 2}, why);
            tap_result(good, "%s", why);
        }
    }
}

/* A symmetric or triangular matrix that is cut into many blocks. */
static void large(routine r)
{
    for (int right_side = 0; right_side < 2; right_side++) {
        char why[WHY] = "";
        if (!tap_case("%s_of_order_1100_on_the_%s", names[r], right_side ? "right" : "left")) continue;
        call x = {.routine = r,
                  .side = "LR"[right_side],
                  .uplo = 'L',
                  .op_a = 'N',
                  .op_b = 'N',
                  .diag = 'N',
                  .m = right_side ? 17 : 1100,
                  .n = right_side ? 1100 : 17,
                  .alpha = 2,
                  .beta = 1};
        bool good = true;
        for (int upper = 0; good && upper < 2; upper++) {
            x.uplo = "LU"[upper];
            good = right(&x, &(judging){.padding = upper}, why) &&
                   (tap_spares() || (right(&x, &(judging){.random = true}, why) &&
                                     right(&x, &(judging){.is_f32 = true, .random = true}, why)));
        }
        tap_result(good, "%s", why);
    }
}

/* The same by every name and layout, side, triangle and op; the other side of the product is short. */
static void several_blocks(routine r)
{
    enum { SHORT = 3 };
    const int order = r == SYMM ? 530 : 300; /* up to 512 a symmetric matrix is copied whole */
    for (int is_f32 = 0; is_f32 < 2; is_f32++)
        for (way way = FORTRAN; way < WAYS; way++) {
            char why[WHY] = "";
            if (!tap_case("%s_%s_%s_of_several_blocks", names[r], is_f32 ? "f32" : "f64", way_names[way])) continue;
            call x = {.routine = r, .way = way, .m = SHORT, .n = order, .k = SHORT, .alpha = -2, .beta = 0.5};
            bool good = right_in_all(x, (judging){.is_f32 = is_f32}, why);
            x.m = order, x.n = SHORT;
            if (!rank(&x)) good = good && right_in_all(x, (judging){.is_f32 = is_f32, .padding = 3}, why);
            tap_result(good, "%s", why);
        }
}

/* ---- what arithmetic with NaN and infinity must show ---- */

static void special_values(void)
{
    enum { N = 100 };
    static double t[N * N], b[N * N];
    for (int solves = 0; solves < 2; solves++) {
        if (!tap_case("nan_stays_in_rows_that_depend_on_it_%s", solves ? "trsm" : "trmm")) continue;
        for (int i = 0; i < N * N; i++) t[i] = i % N <= i / N ? 1 : NAN, b[i] = 1;
        b[60 * N + 7] = NAN; /* of column 7 rows 60 and below depend on it */
        (solves ? cblas_dtrsm : cblas_dtrmm)(CblasRowMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, N, N, 1,
                                             t, N, b, N);
        int wrong = 0;
        for (int i = 0; i < N * N; i++) wrong += isnan(b[i]) != (i % N == 7 && i / N >= 60);
        tap_result(wrong == 0, "%d elements", wrong);
    }
    if (tap_case("infinite_alpha_reaches_all_columns_alike")) {
        static double ones[25], many[5 * 64];
        int wrong = 0;
        for (int i = 0; i < 25; i++) ones[i] = 1;
        for (int i = 0; i < 5 * 64; i++) many[i] = 1;
        cblas_dtrmm(CblasColMajor, CblasLeft, CblasUpper, CblasNoTrans, CblasNonUnit, 5, 64, (double)INFINITY, ones, 5,
                    many, 5);
        for (int i = 0; i < 5 * 64; i++) wrong += !isinf(many[i]);
        tap_result(wrong == 0, "%d elements", wrong);
    }
    if (tap_case("without_k_alpha_is_not_used")) {
        double c[4] = {1, 2, 3, 4};
        cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, 2, 0, (double)NAN, NULL, 2, 2, c, 2);
        tap_result(c[0] == 2 && c[1] == 4 && c[2] == 3 && c[3] == 8, "%g %g %g %g", c[0], c[1], c[2], c[3]);
    }
    for (int n = 1; n <= 40; n += 39) { /* one element, and blocks of vectors */
        static double diagonal[64], x[8 * 40];
        int wrong = 0;
        if (!tap_case("a_diagonal_whose_inverse_overflows_is_divided_by_%d", n)) continue;
        for (int i = 0; i < 64; i++) diagonal[i] = i % 9 == 0 ? 0x1p-1070 : 0;
        for (int i = 0; i < 8 * 40; i++) x[i] = 0x1p-1069;
        cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, 8, n, 1, diagonal, 8, x, 8);
        for (int i = 0; i < 8 * n; i++) wrong += x[i] != 2;
        tap_result(wrong == 0, "%d elements", wrong);
    }
    if (tap_case("a_diagonal_whose_inverse_overflows_is_divided_by")) {
        double tiny = 0x1p-1070, x = 0x1p-1069;
        float tiny_f32 = 0x1p-140f, x_f32 = 0x1p-139f;
        cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, 1, 1, 1, &tiny, 1, &x, 1);
        cblas_strsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, 1, 1, 1, &tiny_f32, 1, &x_f32, 1);
        tap_result(x == 2 && x_f32 == 2, "%g and %g, expected 2", x, (double)x_f32);
    }
    if (tap_case("a_zero_on_the_diagonal_gives_infinity")) {
        double zero = 0, x = 3;
        cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, 1, 1, 1, &zero, 1, &x, 1);
        tap_result(isinf(x), "%g", x);
    }
    if (tap_case("null_operands_are_not_read_where_alpha_is_0")) {
        double c[5][4];
        for (int i = 0; i < 20; i++) c[i / 4][i % 4] = 1;
        heard.calls = 0;
        cblas_dsymm(CblasColMajor, CblasLeft, CblasLower, 2, 2, 0, NULL, 2, NULL, 2, 2, c[0], 2);
        cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, 2, 3, 0, NULL, 2, 2, c[1], 2);
        cblas_dsyr2k(CblasColMajor, CblasLower, CblasNoTrans, 2, 3, 0, NULL, 2, NULL, 2, 2, c[2], 2);
        cblas_dtrmm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasUnit, 2, 2, 0, NULL, 2, c[3], 2);
        cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasUnit, 2, 2, 0, NULL, 2, c[4], 2);
        static const double made[5][4] = {{2, 2, 2, 2}, {2, 2, 1, 2}, {2, 2, 1, 2}, {0, 0, 0, 0}, {0, 0, 0, 0}};
        tap_result(heard.calls == 0 && memcmp(c, made, sizeof c) == 0, "%d calls of the handler, or other elements",
                   heard.calls);
    }
    if (tap_case("null_operands_are_told")) {
        double x[4] = {1, 2, 3, 4}, kept[4] = {1, 2, 3, 4};
        memset(&heard, 0, sizeof heard);
        cblas_dtrmm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, 2, 2, 1, NULL, 2, x, 2);
        const int first = heard.number;
        cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, 2, 2, 1, x, 2, 0, NULL, 2);
        const int second = heard.number;
        cblas_dgemmtr(CblasRowMajor, CblasLower, CblasNoTrans, CblasNoTrans, 2, 2, 1, x, 2, NULL, 2, 0, x, 2);
        tap_result(strcmp(heard.text, "cblas_dgemmtr did nothing: b is NULL\n") == 0 && heard.calls == 3 &&
                       first == 0 && second == 0 && heard.number == 0 && memcmp(x, kept, 32) == 0,
                   "%d calls, for arguments %d, %d, %d: %s", heard.calls, first, second, heard.number, heard.text);
    }
}

/* ---- memory, threads, arguments ---- */

/* Pages of columns of C that a triangle does not touch cannot be read, with C aligned and not. */
static void other_triangle_is_not_read(void)
{
    enum { N = 1200, ELEMENTS = N * N };
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = (ELEMENTS * sizeof(double) + 2 * page) / page * page;
    for (size_t off = 0; off < 2; off++) {
        if (!tap_case("the_other_triangle_is_not_read%s", off ? "_at_odd_addresses" : "")) continue;
        char *room = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *c = room + off;
        double *a = calloc(N * 4, sizeof *a), made;
        if (room == MAP_FAILED || a == NULL) exit(5);
        for (int i = 0; i < N * 4; i++) a[i] = 1;
        /* the lower part of column 0, but its first page and what shares one with column 1 */
        const size_t guarded = N * sizeof(double) / page * page - page;
        mprotect(room + page, guarded, PROT_NONE);
        cblas_dsyrk(CblasColMajor, CblasUpper, CblasNoTrans, N, 4, 1, a, N, 1, (double *)(void *)c, N);
        memcpy(&made, c + (N * sizeof(double)), sizeof made);
        tap_result(made == 4, "element 0, 1 is %g", made); /* or it was killed by a signal */
        munmap(room, bytes);
        free(a);
    }
}

static unsigned hash_of(const double *x, int count)
{
    unsigned hash = 2166136261u;
    for (size_t i = 0; i < (size_t)count * sizeof *x; i++) hash = (hash ^ ((const unsigned char *)x)[i]) * 16777619u;
    return hash;
}

/* The hash of what each routine makes of the same numbers, in a process of its own with so many threads. */
static bool hashes_with(const char *threads, unsigned out[4])
{
    enum { N = 500 };
    static double a[N * N], b[N * N], c[N * N];
    int ends[2];
    fflush(stdout);
    if (pipe(ends) != 0) exit(5);
    const pid_t child = fork();
    if (child == 0) {
        setenv("TILEWRIGHT_THREADS", threads, 1);
        for (int i = 0; i < N * N; i++)
            a[i] = (i * 7 % 101 - 50) / 64.0 + (i % (N + 1) == 0 ? 30 : 0), b[i] = i % 13 / 3.0;
        cblas_dtrsm(CblasRowMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, N, N, 1, a, N, b, N);
        out[0] = hash_of(b, N * N);
        cblas_dtrmm(CblasRowMajor, CblasRight, CblasUpper, CblasTrans, CblasNonUnit, N, N, 1, a, N, b, N);
        out[1] = hash_of(b, N * N);
        cblas_dsymm(CblasRowMajor, CblasLeft, CblasUpper, N, N, 0.3, a, N, b, N, 0, c, N);
        out[2] = hash_of(c, N * N);
        cblas_dsyrk(CblasRowMajor, CblasLower, CblasTrans, N, N, 0.3, a, N, 0.7, c, N);
        out[3] = hash_of(c, N * N);
        _exit(write(ends[1], out, 4 * sizeof *out) != 4 * sizeof *out);
    }
    close(ends[1]);
    const bool got = read(ends[0], out, 4 * sizeof *out) == 4 * sizeof *out;
    close(ends[0]);
    waitpid(child, NULL, 0);
    return got;
}

/* Before any other call: the first opens the context. */
static void bits_of_threads(void)
{
    unsigned one[4], three[4];
    if (!tap_case("bits_do_not_depend_on_the_number_of_threads")) return;
    const bool got = hashes_with("1", one) && hashes_with("3", three);
    tap_result(got && memcmp(one, three, sizeof one) == 0, "trsm %d, trmm %d, symm %d, syrk %d", one[0] == three[0],
               one[1] == three[1], one[2] == three[2], one[3] == three[3]);
}

static const call *starved; /* what the child below computes */
static bool starved_f32;

/* Exit status 0: right, though memory was asked for and refused. The context is there, and keeps no workspace yet. */
static int compute_without_memory(void)
{
    char why[WHY] = "";
    double one = 1, product;
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, 1, 1, 1, 1, &one, 1, &one, 1, 0, &product, 1);
    refused = 0;
    const bool good = right_in_all(*starved, (judging){.is_f32 = starved_f32, .without_memory = true, .padding = 1},
                                   why) &&
                      right_in_all(*starved, (judging){.is_f32 = starved_f32, .without_memory = true, .off = 1}, why);
    fputs(why, stderr);
    return !(good && refused > 0);
}

/* Before any other call: the engine keeps workspaces. */
static void without_memory(routine r)
{
    for (int is_f32 = 0; is_f32 < 2; is_f32++) {
        char said[SAID];
        if (!tap_case("%s_%s_without_memory", names[r], is_f32 ? "f32" : "f64")) continue;
        const call x = {.routine = r, .way = C_COLUMNS, .m = 290, .n = 66, .k = 130, .alpha = -2, .beta = 0.5};
        starved = &x, starved_f32 = is_f32;
        const int status = run_with("TILEWRIGHT_THREADS", "1", compute_without_memory, said);
        tap_result(status == 0, "status %d: %s", status, said);
    }
}

static int one_call_each(void)
{
    static double x[64], y[64];
    const int m = 2, n = 3, ld = 4;
    const double one = 1;
    for (int i = 0; i < 64; i++) x[i] = 1;
    cblas_dsymm(CblasRowMajor, CblasLeft, CblasUpper, 2, 3, 1, x, 4, x, 5, 2, y, 6);
    cblas_dsyrk(CblasRowMajor, CblasLower, CblasTrans, 3, 1, 1, x, 4, 2, y, 5);
    cblas_dsyr2k(CblasColMajor, CblasUpper, CblasNoTrans, 3, 1, 1, x, 4, x, 5, 2, y, 6);
    cblas_dgemmtr(CblasRowMajor, CblasLower, CblasNoTrans, CblasTrans, 3, 1, 1, x, 4, x, 5, 2, y, 6);
    cblas_dtrmm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasUnit, 2, 3, 2, x, 4, y, 5);
    dtrsm_("l", "u", "n", "n", &m, &n, &one, x, &ld, y, &ld);
    return 0;
}

static void verbosity(void)
{
    static const char *const lines[] = {
        "tilewright: cblas_dsymm row-major LU m 2 n 3 lda 4 ldb 5 ldc 6 alpha 1 beta 2: ",
        "tilewright: cblas_dsyrk row-major LT n 3 k 1 lda 4 ldc 5 alpha 1 beta 2: ",
        "tilewright: cblas_dsyr2k column-major UN n 3 k 1 lda 4 ldb 5 ldc 6 alpha 1 beta 2: ",
        "tilewright: cblas_dgemmtr row-major LNT n 3 k 1 lda 4 ldb 5 ldc 6 alpha 1 beta 2: ",
        "tilewright: cblas_dtrmm column-major RLTU m 2 n 3 lda 4 ldb 5 alpha 2: ",
        "tilewright: dtrsm_ LUNN m 2 n 3 lda 4 ldb 4 alpha 1: "};
    char said[SAID];
    if (!tap_case("verbose_prints_a_line_per_call")) return;
    const int status = run_with("TILEWRIGHT_VERBOSE", "1", one_call_each, said);
    bool good = status == 0 && lines_of(said) == 6;
    const char *at = said;
    for (int i = 0; good && i < 6; i++, at = strchr(at, '\n') + 1) good = strncmp(at, lines[i], strlen(lines[i])) == 0;
    tap_result(good, "status %d, said: %s", status, said);
}

/* gemmtr's numbers, which Debian's reference cannot be asked for: those of LAPACK 3.12.1. */
static void wrong_arguments(void)
{
    static const struct {
        int layout, uplo, op_a, op_b, n, k, lda, ldb, ldc, number; /* of cblas_xerbla */
    } cases[] = {
        {100, 121, 111, 111, 2, 3, 3, 3, 3, 1},  {102, 120, 111, 111, 2, 3, 3, 3, 3, 2},
        {102, 121, 110, 111, 2, 3, 3, 3, 3, 3},  {102, 121, 111, 110, 2, 3, 3, 3, 3, 4},
        {102, 121, 111, 111, -1, 3, 3, 3, 3, 5}, {102, 121, 111, 111, 2, -1, 3, 3, 3, 6},
        {102, 121, 111, 111, 2, 3, 1, 3, 3, 9},  {102, 121, 111, 111, 2, 3, 3, 2, 3, 11},
        {102, 121, 111, 111, 2, 3, 3, 3, 1, 14}, {102, 121, 112, 112, 2, 3, 3, 1, 3, 11},
        {101, 121, 111, 111, 2, 3, 2, 3, 3, 11}, {101, 121, 111, 111, 2, 3, 3, 1, 3, 9},
        {101, 121, 111, 111, 2, 3, 3, 3, 1, 14}, {101, 121, 112, 112, 2, 3, 1, 3, 3, 11},
    };
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        double x[9] = {0};
        float y[9] = {0};
        memset(&heard, 0, sizeof heard);
        if (!tap_case("%cgemmtr_wrong_argument_%zu", "ds"[i % 2], i / 2)) continue;
#define CALL(name, at)                                                                                                 \
    name((CBLAS_LAYOUT)cases[i / 2].layout, (CBLAS_UPLO)cases[i / 2].uplo, (CBLAS_TRANSPOSE)cases[i / 2].op_a,         \
         (CBLAS_TRANSPOSE)cases[i / 2].op_b, cases[i / 2].n, cases[i / 2].k, 1, at, cases[i / 2].lda, at,              \
         cases[i / 2].ldb, 0, at, cases[i / 2].ldc)
        if (i % 2)
            CALL(cblas_sgemmtr, y);
        else
            CALL(cblas_dgemmtr, x);
        tap_result(heard.calls == 1 && heard.number == cases[i / 2].number, "%d calls, number %d, expected %d",
                   heard.calls, heard.number, cases[i / 2].number);
    }
}

int main(int argc, char **argv)
{
    tap_start(argc, argv);
    bits_of_threads();
    verbosity();
    for (routine r = SYMM; r < GEMM; r++) without_memory(r);
    for (routine r = SYMM; r < GEMM; r++) products(r), other_ways(r), several_blocks(r);
    large(SYMM), large(TRMM), large(TRSM);
    other_triangle_is_not_read();
    wrong_arguments();
    special_values();
    return tap_finish();
}
