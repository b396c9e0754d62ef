/* gemm.c - a program written for BLAS: linked against libtilewright_blas.so alone, with a cblas_xerbla of its own. Operands are small
 * integers, so that every sum is exact; what no product may read or write is NaN. */
#include "../tap.h"

#include <tilewright_blas.h>

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the program's own handler ---- */

static struct {
    int calls, number;
    char routine[40], text[300];
} heard;

void cblas_xerbla(int number, const char *routine, const char *format, ...)
{
    va_list arguments;
    heard.calls++;
    heard.number = number;
    snprintf(heard.routine, sizeof heard.routine, "%s", routine);
    va_start(arguments, format);
    vsnprintf(heard.text, sizeof heard.text, format, arguments);
    va_end(arguments);
}

/* ---- memory that can run out ---- */

static bool no_memory;
static int refused;

void *aligned_alloc(size_t alignment, size_t bytes)
{
    void *memory = NULL;
    if (no_memory) refused++;
    return no_memory || posix_memalign(&memory, alignment, bytes) != 0 ? NULL : memory;
}

/* ---- products ---- */

typedef enum way { FORTRAN, C_COLUMNS, C_ROWS, WAYS } way;
static const char *const way_names[] = {"fortran", "cblas_columns", "cblas_rows"};

/* A matrix as BLAS sees it: element (i, j) of rows x cols, stored by rows or by columns, the gaps between them NaN. */
typedef struct matrix {
    bool is_f32, by_rows;
    int rows, cols, ld;
    size_t bytes;
    void *data;
} matrix;

static matrix matrix_new(bool is_f32, bool by_rows, int rows, int cols, int padding)
{
    matrix x = {is_f32, by_rows, rows, cols, (by_rows ? cols : rows) + padding, 0, NULL};
    if (x.ld < 1) x.ld = 1;
    x.bytes = (size_t)x.ld * (size_t)(by_rows ? rows : cols) * (is_f32 ? 4 : 8);
    x.data = malloc(x.bytes + 8);
    if (x.data == NULL) exit(5);
    memset(x.data, 0xff, x.bytes); /* all bits 1: a NaN in both types */
    return x;
}

static size_t place(const matrix *x, int i, int j)
{
    return x->by_rows ? (size_t)i * (size_t)x->ld + (size_t)j : (size_t)j * (size_t)x->ld + (size_t)i;
}

static double get(const matrix *x, int i, int j)
{
    return x->is_f32 ? (double)((float *)x->data)[place(x, i, j)] : ((double *)x->data)[place(x, i, j)];
}

static void put(matrix *x, int i, int j, double value)
{
    if (x->is_f32)
        ((float *)x->data)[place(x, i, j)] = (float)value;
    else
        ((double *)x->data)[place(x, i, j)] = value;
}

/* Whole numbers from -4 to 4, the same for the same seed. */
static void fill(matrix *x, unsigned seed)
{
    for (int i = 0; i < x->rows; i++)
        for (int j = 0; j < x->cols; j++) {
            seed = seed * 1664525u + 1013904223u;
            put(x, i, j, (double)(seed >> 16) - 9 * (double)((seed >> 16) / 9) - 4);
        }
}

static CBLAS_TRANSPOSE number_of(char op)
{
    return strchr("Nn", op) ? CblasNoTrans : strchr("Tt", op) ? CblasTrans : CblasConjTrans;
}

static void gemm(way way, char op_a, char op_b, int k, double alpha, const matrix *a, const matrix *b, double beta, matrix *c)
{
    int m = c->rows, n = c->cols;
    CBLAS_LAYOUT layout = way == C_ROWS ? CblasRowMajor : CblasColMajor;
    float alpha_f32 = (float)alpha, beta_f32 = (float)beta;
    if (way == FORTRAN && c->is_f32)
        sgemm_(&op_a, &op_b, &m, &n, &k, &alpha_f32, a->data, &a->ld, b->data, &b->ld, &beta_f32, c->data, &c->ld);
    else if (way == FORTRAN)
        dgemm_(&op_a, &op_b, &m, &n, &k, &alpha, a->data, &a->ld, b->data, &b->ld, &beta, c->data, &c->ld);
    else if (c->is_f32)
        cblas_sgemm(layout, number_of(op_a), number_of(op_b), m, n, k, alpha_f32, a->data, a->ld, b->data, b->ld, beta_f32, c->data, c->ld);
    else
        cblas_dgemm(layout, number_of(op_a), number_of(op_b), m, n, k, alpha, a->data, a->ld, b->data, b->ld, beta, c->data, c->ld);
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
            if (!right) snprintf(why, 160, "C(%d, %d) is %g, expected %g", i, j, get(c, i, j), expected[(size_t)i * (size_t)c->cols + (size_t)j]);
        }
    if (right && memcmp(gaps.data, c->data, c->bytes) != 0) right = false, snprintf(why, 160, "the gap beyond C's elements was written");
    free(gaps.data);
    return right;
}

/* One product, judged. Where nothing of A and B may be read they are NaN, and C where beta is 0. */
static bool product(bool is_f32, way way, char op_a, char op_b, const int size[3], double alpha, double beta, int padding, char why[160])
{
    int m = size[0], n = size[1], k = size[2];
    bool turns_a = !strchr("Nn", op_a), turns_b = !strchr("Nn", op_b), reads = alpha != 0 && k > 0;
    matrix a = matrix_new(is_f32, way == C_ROWS, turns_a ? k : m, turns_a ? m : k, padding);
    matrix b = matrix_new(is_f32, way == C_ROWS, turns_b ? n : k, turns_b ? k : n, 2 * padding);
    matrix c = matrix_new(is_f32, way == C_ROWS, m, n, 3 * padding), before = matrix_new(is_f32, way == C_ROWS, m, n, 3 * padding);
    double *expected = calloc((size_t)m * (size_t)n + 1, sizeof *expected);
    if (expected == NULL) exit(5);
    if (reads) fill(&a, 1), fill(&b, 2);
    if (beta != 0) fill(&c, 3);
    memcpy(before.data, c.data, c.bytes);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int p = 0; reads && p < k; p++) sum += (turns_a ? get(&a, p, i) : get(&a, i, p)) * (turns_b ? get(&b, j, p) : get(&b, p, j));
            expected[i * n + j] = (reads ? alpha * sum : 0) + (beta != 0 ? beta * get(&c, i, j) : 0);
        }
    heard.calls = 0;
    gemm(way, op_a, op_b, k, alpha, &a, &b, beta, &c);
    bool right = as_expected(&c, expected, &before, why);
    if (right && heard.calls > 0) right = false, snprintf(why, 160, "the handler was called: %d %.100s", heard.number, heard.text);
    free(a.data), free(b.data), free(c.data), free(before.data), free(expected);
    return right;
}

static void products(void)
{
    static const int sizes[][3] = {{1, 1, 1}, {8, 8, 8}, {5, 7, 3}, {17, 33, 65}, {31, 50, 800}, {300, 1, 2}, {1, 300, 40}, {150, 140, 130},
                                   {0, 5, 3}, {5, 0, 3}, {0, 0, 0}, {5, 4, 0}};
    static const double scalars[][2] = {{1, 0}, {1, 1}, {-2, 0.5}, {0.5, 3}, {0, 0}, {0, 1}, {0, 2}};
    static const char ops[] = "NnTtCc";
    for (int is_f32 = 0; is_f32 < 2; is_f32++)
        for (way way = FORTRAN; way < WAYS; way++)
            for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
                char why[160] = "";
                bool right = true;
                if (!tap_case("product_%s_%s_%dx%dx%d", is_f32 ? "f32" : "f64", way_names[way], sizes[s][0], sizes[s][1], sizes[s][2])) continue;
                int step = sizes[s][0] * sizes[s][1] * sizes[s][2] > 1000000 ? 5 : 1; /* of the large ones 8 pairs, all combinations among them */
                for (int ab = 0; right && ab < 36; ab += step)
                    for (size_t x = 0; right && x < sizeof scalars / sizeof *scalars; x++)
                        for (int padding = 0; right && padding < 2; padding++)
                            if (!product(is_f32, way, ops[ab / 6], ops[ab % 6], sizes[s], scalars[x][0], scalars[x][1], padding, why)) {
                                right = false;
                                snprintf(why + strlen(why), 160 - strlen(why), " (ops %c %c, alpha %g, beta %g, padding %d)", ops[ab / 6],
                                         ops[ab % 6], scalars[x][0], scalars[x][1], padding);
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
            const bool right = product(false, way, 'N', 'N', sizes[s], 0x1p24 + 1, 0, 0, why) && product(false, way, 'T', 'N', sizes[s], 0x1p24 + 1, 0x1p25 + 3, 1, why);
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
    {"rows_op_b", 101, 111, 110, 3, 4, 5, 5, 5, 5, 2},
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
                cblas_sgemm((CBLAS_LAYOUT)w->layout, (CBLAS_TRANSPOSE)w->op_a, (CBLAS_TRANSPOSE)w->op_b, w->m, w->n, w->k, 1, f, w->lda, f,
                            w->ldb, 0, c_f32, w->ldc);
            else
                cblas_dgemm((CBLAS_LAYOUT)w->layout, (CBLAS_TRANSPOSE)w->op_a, (CBLAS_TRANSPOSE)w->op_b, w->m, w->n, w->k, 1, operand, w->lda,
                            operand, w->ldb, 0, c, w->ldc);
            tap_result(heard.calls == 1 && heard.number == w->number && strcmp(heard.routine, name) == 0 && c[0] == 7 && c_f32[0] == 7,
                       "%d calls of the handler, the last for argument %d of '%s', expected 1 for %d of '%s'", heard.calls, heard.number,
                       heard.routine, w->number, name);
        }
}

/* ---- what BLAS has no number for ---- */

/* A product of n x n ones that must fail with 0, a sentence that contains `word`, and C as it was. */
static bool fails(int n, const char *word, char why[400])
{
    size_t count = (size_t)n * (size_t)n;
    double *a = calloc(count, sizeof *a), *c = calloc(count, sizeof *c);
    if (a == NULL || c == NULL) exit(5);
    for (size_t i = 0; i < count; i++) a[i] = 1, c[i] = 7;
    memset(&heard, 0, sizeof heard);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a, n, a, n, 2, c, n);
    size_t same = 0;
    while (same < count && c[same] == 7) same++;
    snprintf(why, 400, "%d calls of the handler, number %d, %zu of %zu elements as they were, text: %.250s", heard.calls, heard.number, same, count,
             heard.text);
    free(a), free(c);
    return heard.calls == 1 && heard.number == 0 && same == count && strstr(heard.text, word) != NULL;
}

/* In a process of its own, before this one has opened the default context: its settings are read once. */
static void failure_of_settings(void)
{
    if (!tap_case("a_wrong_setting_is_reported_and_nothing_done")) return;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        char why[400];
        setenv("TILEWRIGHT_THREADS", "many", 1);
        bool right = fails(8, "TILEWRIGHT_THREADS is many", why) && fails(8, "TILEWRIGHT_THREADS is many", why);
        if (!right) fprintf(stderr, "%s\n", why);
        _exit(right ? 0 : 9);
    }
    int status = -1;
    waitpid(child, &status, 0);
    tap_result(status == 0, "the child's status is %d", status);
}

/* A workspace that is refused makes a product slower, and nothing else: C <- A A + 2 C of ones and sevens, by smaller blocks or by none. */
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
    tap_result(refused > 0 && heard.calls == 0 && same == count, "%d requests refused; %d calls of the handler, text: %.250s; %zu of %zu elements right", refused,
               heard.calls, heard.text, same, count);
    free(a), free(c);
}

int main(int argc, char **argv)
{
    tap_start(argc, argv);
    failure_of_settings();
    products();
    wide_scalars();
    values();
    wrong_arguments();
    refusal_of_memory();
    return tap_finish();
}
