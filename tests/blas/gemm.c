/* gemm.c - a program written for BLAS: linked against libtilewright_blas.so alone, with a cblas_xerbla of its own.
 * Operands are small integers, so that every sum is exact; what no product may read or write is NaN. */
#include "no_memory.h" /* first */

#include "../support/tap.h"
#include "child.h"
#include "heard.h"
#include "matrix.h"

#include <tilewright_blas.h>

#include <dirent.h>
#include <math.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- products ---- */

static void gemm(way way, char op_a, char op_b, int k, double alpha, const matrix *a, const matrix *b, double beta,
                 matrix *c)
{
    int m = c->rows, n = c->cols;
    CBLAS_LAYOUT layout = way == C_ROWS ? CblasRowMajor : CblasColMajor;
    float alpha_f32 = (float)alpha, beta_f32 = (float)beta;
    if (way == FORTRAN && c->is_f32)
        sgemm_(&op_a, &op_b, &m, &n, &k, &alpha_f32, a->data, &a->ld, b->data, &b->ld, &beta_f32, c->data, &c->ld);
    else if (way == FORTRAN)
        dgemm_(&op_a, &op_b, &m, &n, &k, &alpha, a->data, &a->ld, b->data, &b->ld, &beta, c->data, &c->ld);
    else if (c->is_f32)
        cblas_sgemm(layout, number_of(op_a), number_of(op_b), m, n, k, alpha_f32, a->data, a->ld, b->data, b->ld,
                    beta_f32, c->data, c->ld);
    else
        cblas_dgemm(layout, number_of(op_a), number_of(op_b), m, n, k, alpha, a->data, a->ld, b->data, b->ld, beta,
                    c->data, c->ld);
}

/* The first element of C that is not as it must be, in `why`; true: there is none. */
static bool as_expected(const matrix *c, const double *expected, const matrix *before, char why[160])
{
    size_t element = c->is_f32 ? 4 : 8;
    matrix gaps = *before; /* what was there, with the elements as they are now: all bytes must be equal */
    gaps.data = malloc(c->bytes + 8);
    if (gaps.data == NULL) exit(5);
    memcpy(gaps.data, before->data, c->bytes);
    bool right = true;
    for (int i = 0; right && i < c->rows; i++)
        for (int j = 0; right && j < c->cols; j++) {
            size_t at = element * place(c, i, j);
            memcpy((char *)gaps.data + at, (char *)c->data + at, element);
            right = get(c, i, j) == expected[(size_t)i * (size_t)c->cols + (size_t)j];
            if (!right)
                snprintf(why, 160, "C(%d, %d) is %g, expected %g", i, j, get(c, i, j),
                         expected[(size_t)i * (size_t)c->cols + (size_t)j]);
        }
    if (right && memcmp(gaps.data, c->data, c->bytes) != 0)
        right = false, snprintf(why, 160, "the gap beyond C's elements was written");
    free(gaps.data);
    return right;
}

/* One product, judged. Where nothing of A and B may be read they are NaN, and C where beta is 0. */
static bool product(bool is_f32, way way, char op_a, char op_b, const int size[3], double alpha, double beta,
                    int padding, char why[160])
{
    int m = size[0], n = size[1], k = size[2];
    bool transposes_a = !strchr("Nn", op_a), transposes_b = !strchr("Nn", op_b), reads = alpha != 0 && k > 0;
    matrix a = matrix_new(is_f32, way == C_ROWS, transposes_a ? k : m, transposes_a ? m : k, padding);
    matrix b = matrix_new(is_f32, way == C_ROWS, transposes_b ? n : k, transposes_b ? k : n, 2 * padding);
    matrix c = matrix_new(is_f32, way == C_ROWS, m, n, 3 * padding),
           before = matrix_new(is_f32, way == C_ROWS, m, n, 3 * padding);
    double *expected = calloc((size_t)m * (size_t)n + 1, sizeof *expected);
    if (expected == NULL) exit(5);
    if (reads) fill(&a, 1), fill(&b, 2);
    if (beta != 0) fill(&c, 3);
    memcpy(before.data, c.data, c.bytes);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int p = 0; reads && p < k; p++)
                sum += (transposes_a ? get(&a, p, i) : get(&a, i, p)) * (transposes_b ? get(&b, j, p) : get(&b, p, j));
            expected[i * n + j] = (reads ? alpha * sum : 0) + (beta != 0 ? beta * get(&c, i, j) : 0);
        }
    heard.calls = 0;
    gemm(way, op_a, op_b, k, alpha, &a, &b, beta, &c);
    bool right = as_expected(&c, expected, &before, why);
    if (right && heard.calls > 0)
        right = false, snprintf(why, 160, "the handler was called: %d %.100s", heard.number, heard.text);
    free(a.data), free(b.data), free(c.data), free(before.data), free(expected);
    return right;
}

static void products(void)
{
    static const int sizes[][3] = {{1, 1, 1},    {8, 8, 8},       {5, 7, 3}, {17, 33, 65}, {31, 50, 1023}, {300, 1, 2},
                                   {1, 300, 40}, {150, 140, 130}, {0, 5, 3}, {5, 0, 3},    {0, 0, 0},      {5, 4, 0}};
    static const double scalars[][2] = {{1, 0}, {1, 1}, {-2, 0.5}, {0.5, 3}, {0, 0}, {0, 1}, {0, 2}};
    static const char ops[] = "NnTtCc";
    for (int is_f32 = 0; is_f32 < 2; is_f32++)
        for (way way = FORTRAN; way < WAYS; way++)
            for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
                char why[160] = "";
                bool right = true;
                if (!tap_case("product_%s_%s_%dx%dx%d", is_f32 ? "f32" : "f64", way_names[way], sizes[s][0],
                              sizes[s][1], sizes[s][2]))
                    continue;
                /* of the large ones 8 pairs, all combinations among them */
                int step = sizes[s][0] * sizes[s][1] * sizes[s][2] > 1000000 ? 5 : 1;
                for (int ab = 0; right && ab < 36; ab += step)
                    for (size_t x = 0; right && x < sizeof scalars / sizeof *scalars; x++)
                        for (int padding = 0; right && padding < 2; padding++)
                            if ((tap_brings("ops %d %zu %d", is_f32, s, ab) |
                                 tap_brings("name %d %d %d", is_f32, way, ab) |
                                 tap_brings("scalars %d %zu %zu", is_f32, s, x) |
                                 tap_brings("padding %d %d %d %zu", is_f32, way, padding, s)) &&
                                !product(is_f32, way, ops[ab / 6], ops[ab % 6], sizes[s], scalars[x][0], scalars[x][1],
                                         padding, why)) {
                                right = false;
                                snprintf(why + strlen(why), 160 - strlen(why),
                                         " (ops %c %c, alpha %g, beta %g, padding %d)", ops[ab / 6], ops[ab % 6],
                                         scalars[x][0], scalars[x][1], padding);
                            }
                tap_result(right, "%s", why);
            }
}

/* Scalars that float cannot hold. */
static void wide_scalars(void)
{
    static const int sizes[][3] = {{5, 7, 3}, {1, 9, 4}, {31, 50, 300}};
    for (way way = FORTRAN; way < WAYS; way++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            char why[160] = "";
            if (!tap_case("wide_scalars_%s_%dx%dx%d", way_names[way], sizes[s][0], sizes[s][1], sizes[s][2])) continue;
            const bool right = product(false, way, 'N', 'N', sizes[s], 0x1p24 + 1, 0, 0, why) &&
                               product(false, way, 'T', 'N', sizes[s], 0x1p24 + 1, 0x1p25 + 3, 1, why);
            tap_result(right, "%s", why);
        }
}

/* ---- what alpha, beta and NaN must do to single values ---- */

static void values(void)
{
    double a = 0, b = 1, c = -0.0;
    if (tap_case("quick_return_leaves_minus_zero")) {
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 1, 1, 1, 0, &a, 1, &b, 1, 1, &c, 1);
        tap_result(c == 0 && signbit(c), "C is %g", c);
    }
    if (tap_case("nan_in_a_reaches_c")) {
        a = NAN;
        cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, 1, 1, 1, 1, &a, 1, &b, 1, 0, &c, 1);
        tap_result(isnan(c), "C is %g", c);
    }
}

/* ---- wrong arguments: what reaches a program's cblas_xerbla, as the reference passes it ---- */

typedef struct wrong {
    const char *name;
    int layout, op_a, op_b, m, n, k, lda, ldb, ldc, number;
} wrong;

static const wrong wrongs[] = {
    {"layout", 100, 111, 111, 3, 4, 5, 5, 5, 5, 1},
    {"columns_op_a", 102, 110, 111, 3, 4, 5, 5, 5, 5, 2},
    {"columns_op_b", 102, 111, 110, 3, 4, 5, 5, 5, 5, 3},
    {"columns_m", 102, 111, 111, -1, 4, 5, 5, 5, 5, 4},
    {"columns_n", 102, 111, 111, 3, -1, 5, 5, 5, 5, 5},
    {"columns_k", 102, 111, 111, 3, 4, -1, 5, 5, 5, 6},
    {"columns_lda", 102, 111, 111, 3, 4, 5, 2, 5, 5, 9},
    {"columns_lda_transposed", 102, 112, 111, 3, 4, 5, 4, 5, 5, 9},
    {"columns_ldb", 102, 111, 111, 3, 4, 5, 3, 4, 5, 11},
    {"columns_ldb_transposed", 102, 111, 113, 3, 4, 5, 3, 3, 5, 11},
    {"columns_ldc", 102, 111, 111, 3, 4, 5, 3, 5, 2, 14},
    {"columns_all", 102, 111, 111, -3, -4, -5, 0, 0, 0, 4},
    {"columns_ld_0_of_nothing", 102, 111, 111, 0, 4, 5, 0, 5, 1, 9},
    {"rows_op_a", 101, 110, 111, 3, 4, 5, 5, 5, 5, 2},
    {"rows_op_b", 101, 111, 110, 3, 4, 5, 5, 5, 5, 3},
    {"rows_m", 101, 111, 111, -1, 4, 5, 5, 5, 5, 5},
    {"rows_n", 101, 111, 111, 3, -1, 5, 5, 5, 5, 4},
    {"rows_k", 101, 111, 111, 3, 4, -1, 5, 5, 5, 6},
    {"rows_lda", 101, 111, 111, 3, 4, 5, 4, 4, 4, 11},
    {"rows_ldb", 101, 111, 111, 3, 4, 5, 5, 3, 4, 9},
    {"rows_ldc", 101, 111, 111, 3, 4, 5, 5, 4, 3, 14},
    {"rows_all", 101, 111, 111, -3, -4, -5, 0, 0, 0, 4},
};

static void wrong_arguments(void)
{
    for (int is_f32 = 0; is_f32 < 2; is_f32++)
        for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
            const wrong *w = &wrongs[i];
            const char *name = is_f32 ? "cblas_sgemm" : "cblas_dgemm";
            double operand[64] = {0}, c[64] = {7};
            float f[64] = {0}, c_f32[64] = {7};
            if (!tap_case("wrong_%s_%s", w->name, is_f32 ? "f32" : "f64")) continue;
            memset(&heard, 0, sizeof heard);
            if (is_f32)
                cblas_sgemm((CBLAS_LAYOUT)w->layout, (CBLAS_TRANSPOSE)w->op_a, (CBLAS_TRANSPOSE)w->op_b, w->m, w->n,
                            w->k, 1, f, w->lda, f, w->ldb, 0, c_f32, w->ldc);
            else
                cblas_dgemm((CBLAS_LAYOUT)w->layout, (CBLAS_TRANSPOSE)w->op_a, (CBLAS_TRANSPOSE)w->op_b, w->m, w->n,
                            w->k, 1, operand, w->lda, operand, w->ldb, 0, c, w->ldc);
            tap_result(heard.calls == 1 && heard.number == w->number && strcmp(heard.routine, name) == 0 && c[0] == 7 &&
                           c_f32[0] == 7,
                       "%d calls of the handler, the last for argument %d of '%s', expected 1 for %d of '%s'",
                       heard.calls, heard.number, heard.routine, w->number, name);
        }
}

/* ---- what must not keep a product from being computed ---- */

static int two_products(void)
{
    const double a[4] = {1, 2, 3, 4}, b[4] = {5, 6, 7, 8};
    double c[4] = {0}, d[4] = {0};
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 2, 2, 2, 1, a, 2, b, 2, 0, c, 2);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 2, 2, 2, 1, a, 2, b, 2, 0, d, 2);
    return heard.calls == 0 && c[0] == 19 && c[1] == 22 && c[2] == 43 && c[3] == 50 && memcmp(c, d, sizeof c) == 0 ? 0
                                                                                                                   : 9;
}

static void wrong_settings(void)
{
    static const struct {
        const char *variable, *word, *named;
    } settings[] = {{"TILEWRIGHT_THREADS", "0", "TILEWRIGHT_THREADS is 0, expected"},
                    {"TILEWRIGHT_THREADS", "2,x", "TILEWRIGHT_THREADS is 2,x, expected"},
                    {"TILEWRIGHT_THREADS", "abc", "TILEWRIGHT_THREADS is abc, expected"},
                    {"TILEWRIGHT_CPU", "nonsense", "TILEWRIGHT_CPU is nonsense, expected"},
                    {"TILEWRIGHT_VERBOSE", "yes", "TILEWRIGHT_VERBOSE is yes, expected"},
                    {"TILEWRIGHT_PROFILE", "2", "TILEWRIGHT_PROFILE is 2, expected"},
                    {"TILEWRIGHT_BLAS_ENGINE", "vulkan", "TILEWRIGHT_BLAS_ENGINE is vulkan, expected cpu or cuda"}};
    char said[SAID];
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        if (!tap_case("wrong_word_is_told_once_and_ignored_%s_%s", settings[i].variable, settings[i].word)) continue;
        int status = run_with(settings[i].variable, settings[i].word, two_products, said);
        tap_result(status == 0 && lines_of(said) == 1 && strstr(said, settings[i].named) != NULL, "status %d, said: %s",
                   status, said);
    }
    if (tap_case("instructions_above_the_processors_are_told_once_and_ignored")) {
        int status = run_with("TILEWRIGHT_CPU", "amx", two_products, said);
        bool told = lines_of(said) == 1 && strstr(said, "TILEWRIGHT_CPU asks for amx instructions") != NULL;
        /* nothing: the processor has them */
        tap_result(status == 0 && (told || said[0] == '\0'), "status %d, said: %s", status, said);
    }
}

static int threads_here(void)
{
    DIR *tasks = opendir("/proc/self/task");
    int count = 0;
    if (tasks == NULL) return 0;
    for (const struct dirent *entry = readdir(tasks); entry != NULL; entry = readdir(tasks))
        count += entry->d_name[0] != '.';
    closedir(tasks);
    return count;
}

/* A product worth more threads than three. */
static void large_product(double c[400 * 400])
{
    static double a[400 * 400];
    for (int i = 0; i < 400 * 400; i++) a[i] = i % 7 / 8.0;
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, 400, 400, 400, 1, a, 400, a, 400, 0, c, 400);
}

__attribute__((weak)) int behind_limit(void); /* tests/fakes/behind.c; not in the test of an installed library */

static int limits_of_threads(void)
{
    static const int limits[][2] = {{2, 2}, {7, 3}, {4097, 3}, {1, 1}, {-1, 3}, {1, 1}}; /* set, what a call may use */
    static double alone[400 * 400], together[400 * 400];
    if (openblas_get_num_threads() != 3) return 1;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        openblas_set_num_threads(limits[i][0]);
        if (openblas_get_num_threads() != limits[i][1]) return 2;
        if (behind_limit != NULL && behind_limit() != limits[i][0]) return 7;
    }
    large_product(alone);
    if (threads_here() != 1) return 3;
    openblas_set_num_threads(0);
    large_product(together);
    if (threads_here() != 3) return 4;
    return openblas_get_num_threads() != 3 ? 5 : memcmp(alone, together, sizeof alone) != 0 ? 6 : 0;
}

static void thread_limits(void)
{
    char said[SAID];
    if (!tap_case("openblas_set_num_threads_limits_the_threads_of_a_call")) return;
    const int status = run_with("TILEWRIGHT_THREADS", "3", limits_of_threads, said);
    tap_result(status == 0 && said[0] == '\0', "exit %d, said: %s", WEXITSTATUS(status), said);
}

static int two_wrong_letters(void)
{
    const int two = 2;
    const double one = 1;
    double x[4] = {0};
    dgemm_("X", "N", &two, &two, &two, &one, x, &two, x, &two, &one, x, &two);
    dgemm_("N", "X", &two, &two, &two, &one, x, &two, x, &two, &one, x, &two);
    return 0;
}

static void wrong_letters(void)
{
    static const char told[] = " ** On entry to DGEMM  parameter number  1 had an illegal value\n"
                               " ** On entry to DGEMM  parameter number  2 had an illegal value\n";
    char said[SAID];
    if (!tap_case("wrong_letters_are_told")) return;
    const int status = run_with("TILEWRIGHT_THREADS", "1", two_wrong_letters, said);
    tap_result(status == 0 && strcmp(said, told) == 0, "status %d, said: %s", status, said);
}

/* From C a setting that does not exist goes to cblas_xerbla, with its own number. */
static void wrong_ops(void)
{
    for (int second = 0; second < 2; second++) {
        double x[4] = {0};
        if (!tap_case("wrong_op_of_%s_is_told", second ? "b" : "a")) continue;
        memset(&heard, 0, sizeof heard);
        cblas_dgemm(CblasColMajor, second ? CblasNoTrans : (CBLAS_TRANSPOSE)9,
                    second ? (CBLAS_TRANSPOSE)9 : CblasNoTrans, 2, 2, 2, 1, x, 2, x, 2, 0, x, 2);
        tap_result(heard.calls == 1 && heard.number == 2 + second &&
                       strcmp(heard.text, second ? "Illegal TransB setting, 9\n" : "Illegal TransA setting, 9\n") == 0,
                   "%d calls, number %d: %s", heard.calls, heard.number, heard.text);
        memset(&heard, 0, sizeof heard); /* processes to come inherit it */
    }
}

static int three_calls(void)
{
    const int m = 2, n = 3, k = 1, ld = 4;
    const float one = 1, zero = 0;
    static double x[32], y[32];
    static float z[32], u[32];
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, n, k, 1, x, 5, x, 6, 2, y, 7);
    cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, m, n, k, 1, x, 5, x, 6, 2, y, 7);
    sgemm_("n", "t", &m, &n, &k, &one, z, &ld, z, &ld, &zero, u, &ld);
    return 0;
}

/* The profile is printed as a process ends by exit(), a child's with its own calls alone. */
static int profiled_calls(void)
{
    for (int i = 0; i < 42; i++) three_calls();
    if (fork() == 0) _exit(0);
    exit(0);
}

static int profiled_child(void)
{
    int status = -1;
    for (int i = 0; i < 42; i++) three_calls();
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) three_calls(), exit(0);
    waitpid(child, &status, 0);
    _exit(status); /* tells nothing of its own */
}

static int calls_of_many_shapes(void)
{
    static double x[4000], y[4000];
    for (int n = 1; n <= 1200; n++)
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 1, n, 1, 1, x, 1, x, n, 0, y, n);
    exit(0);
}

static void verbosity(void)
{
    static const char *const lines[] = {
        "tilewright: cblas_dgemm row-major NT m 2 n 3 k 1 lda 5 ldb 6 ldc 7 alpha 1 beta 2: ",
        "tilewright: cblas_dgemm column-major TN m 2 n 3 k 1 lda 5 ldb 6 ldc 7 alpha 1 beta 2: ",
        "tilewright: sgemm_ NT m 2 n 3 k 1 lda 4 ldb 4 ldc 4 alpha 1 beta 0: "};
    static const char *const commands[] = {" | tilewright bench --dtype f64 --shape 2x3x1 --transpose-b\n",
                                           " | tilewright bench --dtype f64 --shape 3x2x1 --transpose-b\n",
                                           " | tilewright bench --dtype f32 --shape 3x2x1 --transpose-a\n"};
    char said[SAID];
    if (tap_case("verbose_prints_a_line_per_call")) {
        int status = run_with("TILEWRIGHT_VERBOSE", "1", three_calls, said);
        bool right = status == 0 && lines_of(said) == 3;
        const char *at = said;
        for (int i = 0; right && i < 3; i++) {
            double seconds, speed;
            char unit[4] = "", rest[16] = "";
            right = strncmp(at, lines[i], strlen(lines[i])) == 0 &&
                    sscanf(at + strlen(lines[i]), "%lf %3s %lf %15s", &seconds, unit, &speed, rest) == 4 &&
                    seconds >= 0 && speed >= 0 && (strcmp(unit, "us,") == 0 || strcmp(unit, "ms,") == 0) &&
                    strcmp(rest, "GFLOP/s") == 0 && strstr(at, commands[i]) != NULL &&
                    strchr(at, '\n') == strstr(at, commands[i]) + strlen(commands[i]) - 1;
            at = strchr(at, '\n') + 1;
        }
        tap_result(right, "status %d, said: %s", status, said);
    }
    if (tap_case("profile_counts_calls_by_shape")) {
        int status = run_with("TILEWRIGHT_PROFILE", "1", profiled_calls, said);
        long long calls = 0, of_shape = 0;
        double seconds, share;
        const char *row = strstr(said, "\n    time, s"),
                   *name = strstr(said, "  cblas_dgemm row-major NT m 2 n 3 k 1\n");
        const bool told = sscanf(said, "tilewright: profile of process %*d: %lld calls", &calls) == 1 && row != NULL &&
                          name != NULL;
        for (row = name; told && row > said && row[-1] != '\n'; row--) {
        }
        const bool right = told && sscanf(row, "%lf %lf%% %lld", &seconds, &share, &of_shape) == 3;
        tap_result(status == 0 && right && calls == 126 && of_shape == 42 && lines_of(said) == 5 &&
                       strstr(said, "  cblas_dgemm column-major TN m 2 n 3 k 1\n") != NULL &&
                       strstr(said, "  sgemm_ NT m 2 n 3 k 1\n") != NULL,
                   "status %d, %lld calls, %lld of the first shape, said: %s", status, calls, of_shape, said);
    }
    if (tap_case("profile_of_a_child_has_its_own_calls")) {
        const int status = run_with("TILEWRIGHT_PROFILE", "1", profiled_child, said);
        long long calls = 0;
        const bool told = sscanf(said, "tilewright: profile of process %*d: %lld calls", &calls) == 1;
        tap_result(status == 0 && told && calls == 3, "status %d, %lld calls, said: %s", status, calls, said);
    }
    if (tap_case("profile_prints_the_longest_and_sums_the_others")) {
        int status = run_with("TILEWRIGHT_PROFILE", "1", calls_of_many_shapes, said);
        long long calls = 0;
        const char *others = strstr(said, "  all other shapes\n");
        for (; others != NULL && others > said && others[-1] != '\n'; others--) {
        }
        const bool right = others != NULL && sscanf(others, "%*f %*f%% %lld", &calls) == 1;
        tap_result(status == 0 && right && calls == 1170 && lines_of(said) == 33,
                   "status %d, %lld calls of others, said: %s", status, calls, said);
    }
    if (tap_case("verbose_0_prints_nothing")) {
        int status = run_with("TILEWRIGHT_VERBOSE", "0", three_calls, said);
        tap_result(status == 0 && said[0] == '\0', "status %d, said: %s", status, said);
    }
}

/* Operands `offset` bytes off their place, where bit 0, 1, 2 of `which` says so, with nothing behind them: C's bytes
 * must be those of the product of the same in place. Without memory some have their first copies made. */
static bool right_when_moved(bool is_f32, way way, char op_a, char op_b, int k, double beta, size_t offset, int which)
{
    matrix x[3] = {matrix_new(is_f32, way == C_ROWS, op_a == 'N' ? 23 : k, op_a == 'N' ? k : 23, 3),
                   matrix_new(is_f32, way == C_ROWS, op_b == 'N' ? k : 31, op_b == 'N' ? 31 : k, 0),
                   matrix_new(is_f32, way == C_ROWS, 23, 31, 5)},
           moved[3] = {x[0], x[1], x[2]};
    for (unsigned i = 0; i < (beta != 0 ? 3u : 2u); i++) fill(&x[i], i + 1);
    for (int i = 0; i < 3; i++) {
        const size_t shift = which >> i & 1 ? offset : 0;
        moved[i].data = malloc(x[i].bytes + shift);
        if (moved[i].data == NULL) exit(5);
        char *to = (char *)moved[i].data + shift;
        memcpy(to, x[i].data, x[i].bytes);
        moved[i].data = to;
    }
    heard.calls = 0;
    bool kept = no_memory;
    no_memory = false;
    gemm(way, op_a, op_b, k, 2, &x[0], &x[1], beta, &x[2]);
    no_memory = kept, spared = (which + k) % 3;
    gemm(way, op_a, op_b, k, 2, &moved[0], &moved[1], beta, &moved[2]);
    bool right = heard.calls == 0 && memcmp(x[2].data, moved[2].data, x[2].bytes) == 0;
    for (int i = 0; i < 3; i++) free(x[i].data), free((char *)moved[i].data - (which >> i & 1 ? offset : 0));
    return right;
}

static void misaligned_operands(void)
{
    for (int is_f32 = 0; is_f32 < 2; is_f32++)
        for (way way = FORTRAN; way < WAYS; way++)
            for (int without = 0; without < 2; without++) {
                int wrong = 0;
                if (!tap_case("misaligned_%s_%s%s", is_f32 ? "f32" : "f64", way_names[way],
                              without ? "_without_memory" : ""))
                    continue;
                refused = 0, no_memory = without;
                for (int which = 1; which < 8; which++)
                    for (int ops = 0; ops < 4; ops++)
                        for (int x = 0; x < 4; x++)
                            wrong += !right_when_moved(is_f32, way, ops & 1 ? 'T' : 'N', ops & 2 ? 'T' : 'N',
                                                       which == 7 ? 1023 : 40, x & 1 ? 3 : 0, x & 2 && !is_f32 ? 4 : 1,
                                                       which);
                no_memory = false, spared = 0;
                tap_result(wrong == 0 && (refused > 0) == without, "%d of 112 products wrong, %d requests refused",
                           wrong, refused);
            }
}

/* The same integers by a loop, of operands and offsets with nothing behind them; the product and its sums fill whole
 * lines of a cache, so that there is nothing behind them either. */
static void integers_without_memory(void)
{
    enum { M = 4, N = 12, K = 33 };
    static const CBLAS_OFFSET offsets[] = {CblasFixOffset, CblasColOffset, CblasRowOffset};
    static const size_t lengths[] = {1, M, N};
    int32_t c[2][M * N];
    if (!tap_case("gemm_s8u8s32_without_memory")) return;
    bool right = true;
    for (int x = 0; x < 8 * 3; x++) {
        const bool a_rows = (x & 1) != (x >> 1 & 1), b_rows = x & 1; /* M lines of A, K of B, in steps of K */
        const size_t a_bytes = a_rows ? M * K : (K - 1) * K + M, b_bytes = b_rows ? (K - 1) * K + N : N * K,
                     length = lengths[x / 8];
        int8_t *a = malloc(a_bytes), *b = malloc(b_bytes);
        int32_t *co = malloc(length * sizeof *co);
        if (a == NULL || b == NULL || co == NULL) exit(5);
        for (size_t i = 0; i < a_bytes; i++) a[i] = (int8_t)(i * 37);
        for (size_t i = 0; i < b_bytes; i++) b[i] = (int8_t)(i * 91);
        for (size_t i = 0; i < length; i++) co[i] = (int32_t)(i * 999) - 5000;
        for (int without = 0; without < 2; without++) {
            for (int i = 0; i < M * N; i++) c[without][i] = i - 9;
            refused = 0, no_memory = without;
            cblas_gemm_s8u8s32(x & 1 ? CblasRowMajor : CblasColMajor, x & 2 ? CblasTrans : CblasNoTrans, CblasNoTrans,
                               offsets[x / 8], M, N, K, x & 4 ? 0.5F : 1, a, K, 3, b, K, -7, x & 4 ? 2 : 1, c[without],
                               x & 1 ? N : M, co);
            right = right && (refused > 0) == without;
            no_memory = false;
        }
        right = right && memcmp(c[0], c[1], sizeof c[0]) == 0 && c[0][0] != -9;
        free(a), free(b), free(co);
    }
    tap_result(right, "the results differ, or no memory was refused");
}

static int products_without_memory(void)
{
    no_memory = true;
    int status = two_products();
    if (refused == 0) return 8; /* the context was there */
    refused = 0, no_memory = false;
    return status != 0 ? status : two_products(); /* now with one */
}

static void no_memory_for_a_context(void)
{
#ifndef __SANITIZE_THREAD__
    char said[SAID];
    if (!tap_case("without_memory_for_a_context_the_product_comes_out")) return;
    int status = run_with("TILEWRIGHT_THREADS", "1", products_without_memory, said);
    tap_result(status == 0 && said[0] == '\0', "status %d, said: %s", status, said);
#else
    (void)products_without_memory;
#endif
}

static void missing_operand(void)
{
    double a[1] = {1}, c[1] = {7};
    if (!tap_case("a_pointer_that_is_null_is_reported_as_number_0")) return;
    memset(&heard, 0, sizeof heard);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 1, 1, 1, 1, a, 1, NULL, 1, 0, c, 1);
    tap_result(heard.calls == 1 && heard.number == 0 && strstr(heard.text, "b is NULL") != NULL && c[0] == 7,
               "%d calls, number %d, text: %s", heard.calls, heard.number, heard.text);
}

/* A workspace that is refused makes a product slower, and nothing else: C <- A A + 2 C of ones and sevens, by smaller
 * blocks or by none. */
static void refusal_of_memory(void)
{
    enum { EDGE = 1200 };
    size_t count = (size_t)EDGE * EDGE, same = 0;
    if (!tap_case("without_memory_for_a_workspace_the_product_comes_out")) return;
    double *a = calloc(count, sizeof *a), *c = calloc(count, sizeof *c);
    if (a == NULL || c == NULL) exit(5);
    for (size_t i = 0; i < count; i++) a[i] = 1, c[i] = 7;
    memset(&heard, 0, sizeof heard);
    refused = 0;
    no_memory = true;
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, EDGE, EDGE, EDGE, 1, a, EDGE, a, EDGE, 2, c, EDGE);
    no_memory = false;
    while (same < count && c[same] == EDGE + 14) same++;
    tap_result(refused > 0 && heard.calls == 0 && same == count,
               "%d requests refused; %d calls of the handler, text: %.250s; %zu of %zu elements right", refused,
               heard.calls, heard.text, same, count);
    free(a), free(c);
}

int main(int argc, char **argv)
{
    tap_start(argc, argv);
    wrong_settings();
    wrong_letters();
    thread_limits();
    wrong_ops();
    verbosity();
    no_memory_for_a_context();
    products();
    wide_scalars();
    values();
    wrong_arguments();
    misaligned_operands();
    missing_operand();
    refusal_of_memory();
    integers_without_memory();
    return tap_finish();
}
