/* batch.c - gemm_batch_strided and gemm_batch of libtilewright_blas.so: each item has the bits of gemm, by every name,
 * op and order, and nothing beside the items is written. sbgemm: exact on small integers, which bf16 holds. */
#include "../support/tap.h"
#include "child.h"
#include "heard.h"

#include <tilewright_blas64.h>

#include <math.h>
#include <stdlib.h>

typedef enum way { FORTRAN, C_COLUMNS, C_ROWS, WAYS } way;
static const char *const way_names[] = {"fortran", "cblas_columns", "cblas_rows"};

enum { LD = 21, LDB = 22, LDC = 23, STRIDE = LDC * 20, ITEMS = 5, ELEMENTS = STRIDE * ITEMS };

/* One shape of one type, ITEMS of it; all have LD and STRIDE, but where B is shared. */
typedef struct shape {
    char type; /* s, d, c or z */
    way way;
    bool wide; /* by names with sizes of 64 bits */
    int op_a, op_b, m, n, k;
    bool shares_b;
} shape;

/* Room for every type: a number takes up to 16 bytes, and what lies beside is poisoned by what is there. */
typedef struct operands {
    double a[2 * ELEMENTS + 2], b[2 * ELEMENTS + 2], c[2 * ELEMENTS + 2];
} operands;

static bool is_single(char type) { return type == 's' || type == 'c'; }
static size_t bytes_of(char type) { return type == 's' ? 4 : type == 'z' ? 16 : 8; }

static void fill(char type, void *to, int seed)
{
    for (int i = 0; i < 2 * ELEMENTS; i++) {
        const double value = (i * 7 * seed % 19 - 9) / 8.0;
        if (is_single(type))
            ((float *)to)[i] = (float)value;
        else
            ((double *)to)[i] = value;
    }
}

static void fill_all(char type, operands *x) { fill(type, x->a, 1), fill(type, x->b, 2), fill(type, x->c, 3); }

static const double alpha_f64[2] = {1.5, -0.5}, beta_f64[2] = {0.5, 0.25};
static const float alpha_f32[2] = {1.5f, -0.5f}, beta_f32[2] = {0.5f, 0.25f};

#define LETTER(op) (&"NTC"[(op) - (int)CblasNoTrans])
#define OP(op)     ((CBLAS_TRANSPOSE)(op))

/* Item i by gemm itself, which other tests prove. */
static void one(const shape *x, const char *a, const char *b, char *c)
{
    const CBLAS_LAYOUT layout = x->way == C_ROWS ? CblasRowMajor : CblasColMajor;
    const void *at_a = a, *at_b = b;
    void *at_c = c;
#define ONE(s, alpha, beta)                                                                                            \
    cblas_##s##gemm(layout, OP(x->op_a), OP(x->op_b), x->m, x->n, x->k, alpha, at_a, LD, at_b, LDB, beta, at_c, LDC)
    switch (x->type) {
    case 's': ONE(s, 1.5f, 0.5f); break;
    case 'd': ONE(d, 1.5, 0.5); break;
    case 'c': ONE(c, alpha_f32, beta_f32); break;
    default: ONE(z, alpha_f64, beta_f64);
    }
}

#define STRIDED(s, SUFFIX, END, size, alpha, beta, at_alpha, at_beta)                                                  \
    do {                                                                                                               \
        const size m = x->m, n = x->n, k = x->k, ld = LD, ldb = LDB, ldc = LDC, stride = STRIDE,                       \
                   stride_b = x->shares_b ? 0 : STRIDE, count = ITEMS;                                                 \
        if (x->way == FORTRAN)                                                                                         \
            s##gemm_batch_strided##END(LETTER(x->op_a), LETTER(x->op_b), &m, &n, &k, at_alpha, a, &ld, &stride, b,     \
                                       &ldb, &stride_b, at_beta, c, &ldc, &stride, &count);                            \
        else                                                                                                           \
            cblas_##s##gemm_batch_strided##SUFFIX(layout, OP(x->op_a), OP(x->op_b), m, n, k, alpha, a, ld, stride, b,  \
                                                  ldb, stride_b, beta, c, ldc, stride, count);                         \
    } while (0)
#define STRIDED_OF(s, alpha, beta, at_alpha, at_beta)                                                                  \
    if (x->wide)                                                                                                       \
        STRIDED(s, 64_, _64_, int64_t, alpha, beta, at_alpha, at_beta);                                                \
    else                                                                                                               \
        STRIDED(s, , _, int, alpha, beta, at_alpha, at_beta);                                                          \
    break

static void strided(const shape *x, const void *a, const void *b, void *c)
{
    const CBLAS_LAYOUT layout = x->way == C_ROWS ? CblasRowMajor : CblasColMajor;
    switch (x->type) {
    case 's': STRIDED_OF(s, 1.5f, 0.5f, alpha_f32, beta_f32);
    case 'd': STRIDED_OF(d, 1.5, 0.5, alpha_f64, beta_f64);
    case 'c': STRIDED_OF(c, alpha_f32, beta_f32, alpha_f32, beta_f32);
    default: STRIDED_OF(z, alpha_f64, beta_f64, alpha_f64, beta_f64);
    }
}

/* Two groups: the first ITEMS - 1 items of x, and one with k less by 1, no beta and twice the alpha. */
#define GROUPED(s, SUFFIX, END, size, alphas, betas, number)                                                           \
    do {                                                                                                               \
        const size m[2] = {x->m, x->m}, n[2] = {x->n, x->n}, k[2] = {x->k, x->k - 1}, ld[2] = {LD, LD},                \
                   ldb[2] = {LDB, LDB}, ldc[2] = {LDC, LDC}, groups = 2, items[2] = {ITEMS - 1, 1};                    \
        const number *at_a[ITEMS], *at_b[ITEMS];                                                                       \
        number *at_c[ITEMS];                                                                                           \
        for (int i = 0; i < ITEMS; i++)                                                                                \
            at_a[i] = (const void *)(a + i * step), at_b[i] = (const void *)(b + (x->shares_b ? 0 : i * step)),        \
            at_c[i] = (void *)(c + i * step);                                                                          \
        if (x->way == FORTRAN)                                                                                         \
            s##gemm_batch##END(letters_a, letters_b, m, n, k, alphas, at_a, ld, at_b, ldb, betas, at_c, ldc, &groups,  \
                               items);                                                                                 \
        else                                                                                                           \
            cblas_##s##gemm_batch##SUFFIX(layout, ops_a, ops_b, m, n, k, alphas, at_a, ld, at_b, ldb, betas, at_c,     \
                                          ldc, groups, items);                                                         \
    } while (0)
#define GROUPED_OF(s, alphas, betas, number)                                                                           \
    if (x->wide)                                                                                                       \
        GROUPED(s, 64_, _64_, int64_t, alphas, betas, number);                                                         \
    else                                                                                                               \
        GROUPED(s, , _, int, alphas, betas, number);                                                                   \
    break

static void grouped(const shape *x, const char *a, const char *b, char *c)
{
    static const float real_f32[2] = {1.5f, 3}, real_beta_f32[2] = {0.5f, 0}, pair_f32[4] = {1.5f, -0.5f, 3, -1},
                       pair_beta_f32[4] = {0.5f, 0.25f, 0, 0};
    static const double real_f64[2] = {1.5, 3}, real_beta_f64[2] = {0.5, 0}, pair_f64[4] = {1.5, -0.5, 3, -1},
                        pair_beta_f64[4] = {0.5, 0.25, 0, 0};
    const CBLAS_LAYOUT layout = x->way == C_ROWS ? CblasRowMajor : CblasColMajor;
    const CBLAS_TRANSPOSE ops_a[2] = {OP(x->op_a), OP(x->op_a)}, ops_b[2] = {OP(x->op_b), OP(x->op_b)};
    const char letters_a[2] = {*LETTER(x->op_a), *LETTER(x->op_a)}, letters_b[2] = {*LETTER(x->op_b), *LETTER(x->op_b)};
    const size_t step = STRIDE * bytes_of(x->type);
    switch (x->type) {
    case 's': GROUPED_OF(s, real_f32, real_beta_f32, float);
    case 'd': GROUPED_OF(d, real_f64, real_beta_f64, double);
    case 'c': GROUPED_OF(c, pair_f32, pair_beta_f32, void);
    default: GROUPED_OF(z, pair_f64, pair_beta_f64, void);
    }
}

/* The last item of grouped(). */
static void last_one(const shape *x, const char *a, const char *b, char *c)
{
    static const float pair_f32[2] = {3, -1}, none_f32[2] = {0, 0};
    static const double pair_f64[2] = {3, -1}, none_f64[2] = {0, 0};
    const CBLAS_LAYOUT layout = x->way == C_ROWS ? CblasRowMajor : CblasColMajor;
    const void *at_a = a, *at_b = b;
    void *at_c = c;
    shape less = *x;
    less.k--, x = &less;
    switch (x->type) {
    case 's': ONE(s, 3, 0); break;
    case 'd': ONE(d, 3, 0); break;
    case 'c': ONE(c, pair_f32, none_f32); break;
    default: ONE(z, pair_f64, none_f64);
    }
}

/* Operands lie `off` bytes beside their alignment. */
static bool same_bits(const shape *x, bool groups, size_t off, char why[160])
{
    static operands batch, each;
    const size_t step = STRIDE * bytes_of(x->type);
    fill_all(x->type, &batch), fill_all(x->type, &each);
    char *const of_batch[3] = {(char *)batch.a + off, (char *)batch.b + off, (char *)batch.c + off};
    if (off > 0)
        for (int i = 0; i < 3; i++) memmove(of_batch[i], of_batch[i] - off, sizeof batch.a - off);
    heard.calls = 0;
    if (groups)
        grouped(x, of_batch[0], of_batch[1], of_batch[2]);
    else
        strided(x, of_batch[0], of_batch[1], of_batch[2]);
    for (size_t i = 0; i < ITEMS; i++) {
        const char *a = (char *)each.a + i * step, *b = (char *)each.b + (x->shares_b ? 0 : i * step);
        (groups && i == ITEMS - 1 ? last_one : one)(x, a, b, (char *)each.c + i * step);
    }
    const bool same = memcmp(of_batch[2], each.c, ELEMENTS * bytes_of(x->type)) == 0;
    if (!same || heard.calls > 0)
        snprintf(why, 160, "ops %d %d, %d x %d x %d, shares B %d: %.60s", x->op_a, x->op_b, x->m, x->n, x->k,
                 x->shares_b, heard.calls > 0 ? heard.text : "other bits than gemm");
    return same && heard.calls == 0;
}

static void batches(char type, bool groups)
{
    static const int sizes[][3] = {{1, 1, 1}, {3, 5, 7}, {8, 8, 8}, {20, 9, 19}, {2, 3, 1}};
    for (way way = FORTRAN; way < WAYS; way++)
        for (int wide = 0; wide < 2; wide++) {
            char why[160] = "";
            bool good = true;
            if (!tap_case("%cgemm_batch%s_%s_%d_bits", type, groups ? "" : "_strided", way_names[way], wide ? 64 : 32))
                continue;
            for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
                for (int ops = 0; good && ops < 9; ops++) {
                    const shape x = {type,        way,         wide,        111 + ops % 3, 111 + ops / 3,
                                     sizes[s][0], sizes[s][1], sizes[s][2], ops % 2};
                    good = same_bits(&x, groups, 0, why) && same_bits(&x, groups, ops % 2 ? 1 : 4, why);
                }
            tap_result(good, "%s", why);
        }
}

/* One item of one element, the sum of 1023 ones, by every name of one type. */
#define LONG_SUM(s, T, number, SUFFIX, END, size, alpha)                                                               \
    do {                                                                                                               \
        const size one = 1, none = 0, k = K;                                                                           \
        const CBLAS_TRANSPOSE no = CblasNoTrans, yes = CblasTrans;                                                     \
        const T scalar[2] = {1, 0}, zero[2] = {0, 0};                                                                  \
        const number *at = ones;                                                                                       \
        T c[4][2] = {{0}};                                                                                             \
        number *at_c[2] = {c[2], c[3]};                                                                                \
        s##gemm_batch_strided##END("N", "T", &one, &one, &k, scalar, ones, &one, &none, ones, &one, &none, zero, c[0], \
                                   &one, &one, &one);                                                                  \
        cblas_##s##gemm_batch_strided##SUFFIX(CblasColMajor, no, yes, 1, 1, k, alpha(scalar), ones, 1, 0, ones, 1, 0,  \
                                              alpha(zero), c[1], 1, 1, 1);                                             \
        s##gemm_batch##END("N", "T", &one, &one, &k, scalar, &at, &one, &at, &one, zero, &at_c[0], &one, &one, &one);  \
        cblas_##s##gemm_batch##SUFFIX(CblasColMajor, &no, &yes, &one, &one, &k, scalar, &at, &one, &at, &one, zero,    \
                                      &at_c[1], &one, 1, &one);                                                        \
        for (int i = 0; i < 4; i++) wrong += c[i][0] != K || c[i][1] != 0;                                             \
    } while (0)
#define LONG_SUMS(s, T, number, alpha)                                                                                 \
    do {                                                                                                               \
        static T ones[2 * K];                                                                                          \
        const int parts = *#s == 'c' || *#s == 'z' ? 2 : 1;                                                            \
        int wrong = 0;                                                                                                 \
        if (!tap_case("a_sum_of_1023_by_every_name_of_%s", #s)) break;                                                 \
        for (int i = 0; i < K * parts; i += parts) ones[i] = 1;                                                        \
        LONG_SUM(s, T, number, , _, int, alpha);                                                                       \
        LONG_SUM(s, T, number, 64_, _64_, int64_t, alpha);                                                             \
        tap_result(wrong == 0, "%d sums are wrong", wrong);                                                            \
    } while (0)
#define BY_VALUE(x)   (x)[0]
#define BY_ADDRESS(x) (x)

static void long_sums(void)
{
    enum { K = 1023 };
    LONG_SUMS(s, float, float, BY_VALUE);
    LONG_SUMS(d, double, double, BY_VALUE);
    LONG_SUMS(c, float, void, BY_ADDRESS);
    LONG_SUMS(z, double, void, BY_ADDRESS);
}

/* ---- what is wrong, and what is nothing ---- */

static const struct {
    const char *name;
    int m, lda, ldb, ldc, stride_a, stride_b, stride_c, count, number; /* of the C call */
} wrong_calls[] = {{"m", -1, 9, 9, 9, 0, 0, 0, 2, 4},         {"lda", 3, 1, 9, 9, 0, 0, 0, 2, 9},
                   {"stride_a", 3, 9, 9, 9, -1, 0, 0, 2, 10}, {"ldb", 3, 9, 1, 9, 0, 0, 0, 2, 12},
                   {"stride_b", 3, 9, 9, 9, 0, -1, 0, 2, 13}, {"ldc", 3, 9, 9, 1, 0, 0, 0, 2, 16},
                   {"stride_c", 3, 9, 9, 9, 0, 0, -1, 2, 17}, {"count", 3, 9, 9, 9, 0, 0, 0, -1, 18}};
enum { WRONG = sizeof wrong_calls / sizeof *wrong_calls };

static double operand[100];

/* A call with one wrong argument, by sizes of 32 or 64 bits. */
#define CALL_WRONGLY(i, way, size, SUFFIX, END)                                                                        \
    do {                                                                                                               \
        const size m = wrong_calls[i].m, n = 4, k = 5, lda = wrong_calls[i].lda, ldb = wrong_calls[i].ldb,             \
                   ldc = wrong_calls[i].ldc, stride_a = wrong_calls[i].stride_a, stride_b = wrong_calls[i].stride_b,   \
                   stride_c = wrong_calls[i].stride_c, count = wrong_calls[i].count;                                   \
        const double one = 1, zero = 0;                                                                                \
        if ((way) == FORTRAN)                                                                                          \
            dgemm_batch_strided##END("N", "N", &m, &n, &k, &one, operand, &lda, &stride_a, operand, &ldb, &stride_b,   \
                                     &zero, operand, &ldc, &stride_c, &count);                                         \
        else                                                                                                           \
            cblas_dgemm_batch_strided##SUFFIX((way) == C_ROWS ? CblasRowMajor : CblasColMajor, CblasNoTrans,           \
                                              CblasNoTrans, m, n, k, one, operand, lda, stride_a, operand, ldb,        \
                                              stride_b, zero, operand, ldc, stride_c, count);                          \
    } while (0)

/* Of these calls this program has no handler: each prints a line. */
static int wrong_calls_that_print(void)
{
    for (int i = 0; i < WRONG; i++) {
        CALL_WRONGLY(i, FORTRAN, int, , _);
        CALL_WRONGLY(i, FORTRAN, int64_t, 64_, _64_);
        CALL_WRONGLY(i, C_COLUMNS, int64_t, 64_, _64_);
        CALL_WRONGLY(i, C_ROWS, int64_t, 64_, _64_);
    }
    return 0;
}

static void wrong_arguments(void)
{
    if (tap_case("lines_of_wrong_arguments_have_the_callers_numbers")) {
        static char said[SAID], expected[SAID];
        size_t used = 0;
        for (int i = 0; i < WRONG; i++)
            for (int line = 0; line < 4; line++) {
                const int number = wrong_calls[i].number; /* Fortran's is one less */
                used += (size_t)snprintf(expected + used, sizeof expected - used,
                                         line < 2 ? " ** On entry to DGEMM_BATCH_STRIDED parameter number %2d had an "
                                                    "illegal value\n"
                                                  : "Parameter %d to routine cblas_dgemm_batch_strided64_ was "
                                                    "incorrect\n",
                                         line < 2 ? number - 1 : number);
            }
        const int status = run_with("TILEWRIGHT_VERBOSE", "0", wrong_calls_that_print, said);
        tap_result(status == 0 && strcmp(said, expected) == 0, "status %d, said: %s", status, said);
    }
    for (int i = 0; i < 2 * WRONG; i++) {
        const bool rows = i % 2;
        const int expected = wrong_calls[i / 2].number;
        if (!tap_case("wrong_%s_by_%s", wrong_calls[i / 2].name, rows ? "rows" : "columns")) continue;
        memset(&heard, 0, sizeof heard);
        CALL_WRONGLY(i / 2, rows ? C_ROWS : C_COLUMNS, int, , _);
        tap_result(heard.calls == 1 && heard.number == expected, "%d calls, number %d, expected %d", heard.calls,
                   heard.number, expected);
    }
    if (tap_case("settings_that_do_not_exist_by_rows")) {
        int numbers[2];
        memset(&heard, 0, sizeof heard);
        for (int i = 0; i < 2; i++) {
            cblas_dgemm_batch_strided(CblasRowMajor, OP(i == 0 ? 7 : 111), OP(i == 1 ? 7 : 111), 1, 1, 1, 1, operand, 1,
                                      1, operand, 1, 1, 0, operand, 1, 1, 1);
            numbers[i] = heard.number;
        }
        tap_result(heard.calls == 2 && numbers[0] == 2 && numbers[1] == 3, "%d calls, numbers %d %d", heard.calls,
                   numbers[0], numbers[1]);
    }
    if (tap_case("of_two_wrong_arguments_the_first_is_told")) {
        int numbers[3];
        memset(&heard, 0, sizeof heard);
        cblas_dgemm_batch_strided(CblasColMajor, CblasNoTrans, CblasNoTrans, 3, 4, 5, 1, operand, 9, -1, operand, 1, 0,
                                  0, operand, 9, 0, 2);
        numbers[0] = heard.number;
        cblas_dgemm_batch_strided(CblasColMajor, CblasNoTrans, CblasNoTrans, 3, 4, 5, 1, operand, 9, 0, operand, 9, -1,
                                  0, operand, 1, 0, 2);
        numbers[1] = heard.number;
        cblas_dgemm_batch((CBLAS_LAYOUT)7, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                          -1, NULL);
        numbers[2] = heard.number;
        tap_result(heard.calls == 3 && numbers[0] == 10 && numbers[1] == 13 && numbers[2] == 1, "%d calls, %d %d %d",
                   heard.calls, numbers[0], numbers[1], numbers[2]);
    }
    if (tap_case("a_wrong_group_ends_the_call")) {
        double x = 2, c[2] = {0, 0};
        const double *at[2] = {&x, &x}, ones[3] = {1, 1, 1}, zeros[3] = {0, 0, 0};
        double *at_c[2] = {&c[0], &c[1]};
        const int m[3] = {1, -1, 1}, n[3] = {1, 1, 1}, size[3] = {1, 0, 1};
        const CBLAS_TRANSPOSE ops[3] = {CblasNoTrans, CblasNoTrans, CblasNoTrans};
        memset(&heard, 0, sizeof heard);
        cblas_dgemm_batch(CblasColMajor, ops, ops, m, n, n, ones, at, n, at, n, zeros, at_c, n, 3, size);
        tap_result(heard.calls == 1 && heard.number == 4 && c[0] == 0 && c[1] == 0, "%d calls, number %d, %g %g",
                   heard.calls, heard.number, c[0], c[1]);
    }
    if (tap_case("null_is_told_and_nothing_is_nothing")) {
        double x[4] = {1, 2, 3, 4}, c[4] = {5, 6, 7, 8};
        memset(&heard, 0, sizeof heard);
        cblas_dgemm_batch_strided(CblasColMajor, CblasNoTrans, CblasNoTrans, 2, 2, 2, 1, NULL, 2, 0, x, 2, 0, 0, c, 2,
                                  4, 1);
        const bool told = heard.calls == 1 &&
                          strcmp(heard.text, "cblas_dgemm_batch_strided did nothing: a is NULL\n") == 0;
        cblas_dgemm_batch_strided(CblasColMajor, CblasNoTrans, CblasNoTrans, 2, 2, 2, 1, NULL, 2, 0, NULL, 2, 0, 0,
                                  NULL, 2, 4, 0);
        cblas_dgemm_batch_strided(CblasColMajor, CblasNoTrans, CblasNoTrans, 0, 2, 2, 1, NULL, 2, 0, NULL, 2, 0, 0,
                                  NULL, 2, 4, 3);
        cblas_dgemm_batch(CblasColMajor, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                          0, NULL);
        tap_result(told && heard.calls == 1 && c[0] == 5, "%d calls, %s", heard.calls, heard.text);
    }
}

/* Groups that do nothing before, between and behind others, each in its own way: without products, without rows,
 * columns or depth. What they name in the arrays is theirs all the same, and nobody else's. */
enum { MOST_GROUPS = 7, MOST_PRODUCTS = 12 };

typedef struct idle_groups {
    int groups, m[MOST_GROUPS], n[MOST_GROUPS], k[MOST_GROUPS], size[MOST_GROUPS];
    int64_t wide_m[MOST_GROUPS], wide_n[MOST_GROUPS], wide_k[MOST_GROUPS], wide_size[MOST_GROUPS];
} idle_groups;

/* At each place one of: two products, one product, no products, no rows, no columns, no depth (C is multiplied by
 * beta). */
static void draw_groups(idle_groups *x, unsigned drawn)
{
    static const int kinds[][4] = {{2, 2, 2, 2}, {2, 2, 2, 1}, {2, 2, 2, 0}, {0, 2, 2, 2}, {2, 0, 2, 1}, {2, 2, 0, 1}};
    memset(x, 0, sizeof *x);
    x->groups = 2 + (int)(drawn % 5);
    for (int g = 0; g < x->groups; g++) {
        drawn = drawn * 1664525u + 1013904223u;
        const int *kind = kinds[(drawn >> 16) % 6];
        x->wide_m[g] = x->m[g] = kind[0], x->wide_n[g] = x->n[g] = kind[1], x->wide_k[g] = x->k[g] = kind[2];
        x->wide_size[g] = x->size[g] = kind[3];
    }
}

/* Group g has alpha g + 1 and beta 2, product i of all has A i + 1 everywhere and B 1: C, once 1, becomes alpha A B +
 * 2. */
#define IDLE_GROUPS(T, number, s, parts, wide, way, x)                                                                 \
    do {                                                                                                               \
        static T a[MOST_PRODUCTS][4][parts], b[4][parts];                                                              \
        T c[MOST_PRODUCTS][4][parts], alpha[MOST_GROUPS][parts] = {{0}}, beta[MOST_GROUPS][parts] = {{0}};             \
        const number *at_a[MOST_PRODUCTS], *at_b[MOST_PRODUCTS];                                                       \
        number *at_c[MOST_PRODUCTS];                                                                                   \
        for (int i = 0; i < MOST_PRODUCTS; i++)                                                                        \
            for (int e = 0; e < 4; e++) a[i][e][0] = (T)(i + 1), b[e][0] = 1, c[i][e][0] = 1, c[i][e][(parts)-1] = 1;  \
        for (int i = 0; i < MOST_PRODUCTS; i++)                                                                        \
            at_a[i] = (const void *)a[i], at_b[i] = (const void *)b, at_c[i] = (void *)c[i];                           \
        for (int g = 0; g < MOST_GROUPS; g++) alpha[g][0] = (T)(g + 1), beta[g][0] = 2;                                \
        if ((wide) && (way) == FORTRAN)                                                                                \
            s##gemm_batch_64_(letters, letters, (x)->wide_m, (x)->wide_n, (x)->wide_k, (const void *)alpha, at_a,      \
                              wide_lds, at_b, wide_lds, (const void *)beta, at_c, wide_lds, &wide_groups,              \
                              (x)->wide_size);                                                                         \
        else if (wide)                                                                                                 \
            cblas_##s##gemm_batch64_(layout, ops, ops, (x)->wide_m, (x)->wide_n, (x)->wide_k, (const void *)alpha,     \
                                     at_a, wide_lds, at_b, wide_lds, (const void *)beta, at_c, wide_lds, wide_groups,  \
                                     (x)->wide_size);                                                                  \
        else if ((way) == FORTRAN)                                                                                     \
            s##gemm_batch_(letters, letters, (x)->m, (x)->n, (x)->k, (const void *)alpha, at_a, lds, at_b, lds,        \
                           (const void *)beta, at_c, lds, &(x)->groups, (x)->size);                                    \
        else                                                                                                           \
            cblas_##s##gemm_batch(layout, ops, ops, (x)->m, (x)->n, (x)->k, (const void *)alpha, at_a, lds, at_b, lds, \
                                  (const void *)beta, at_c, lds, (x)->groups, (x)->size);                              \
        for (int g = 0, i = 0; g < (x)->groups; g++)                                                                   \
            for (int last = i + (x)->size[g]; i < last; i++)                                                           \
                for (int e = 0; e < 4; e++) {                                                                          \
                    const bool is_written = (x)->m[g] > 0 && (x)->n[g] > 0;                                            \
                    const double wanted = is_written ? (g + 1) * (i + 1) * (x)->k[g] + 2 : 1;                          \
                    wrong += (double)c[i][e][0] != wanted;                                                             \
                    wrong += (parts) > 1 && (double)c[i][e][(parts)-1] != (is_written ? 2 : 1);                        \
                }                                                                                                      \
    } while (0)

static void idle_groups_case(char type, way way, bool wide)
{
    static const int lds[MOST_GROUPS] = {2, 2, 2, 2, 2, 2, 2};
    static const int64_t wide_lds[MOST_GROUPS] = {2, 2, 2, 2, 2, 2, 2};
    const CBLAS_TRANSPOSE ops[MOST_GROUPS] = {CblasNoTrans, CblasNoTrans, CblasNoTrans, CblasNoTrans,
                                              CblasNoTrans, CblasNoTrans, CblasNoTrans};
    const char *const letters = "NNNNNNN";
    const CBLAS_LAYOUT layout = way == C_ROWS ? CblasRowMajor : CblasColMajor;
    int wrong = 0;
    if (!tap_case("%cgemm_batch_with_idle_groups_%s_%d_bits", type, way_names[way], wide ? 64 : 32)) return;
    heard.calls = 0;
    for (unsigned drawn = 0; drawn < 200; drawn++) {
        idle_groups x;
        draw_groups(&x, drawn);
        const int64_t wide_groups = x.groups;
        switch (type) {
        case 's': IDLE_GROUPS(float, float, s, 1, wide, way, &x); break;
        case 'd': IDLE_GROUPS(double, double, d, 1, wide, way, &x); break;
        case 'c': IDLE_GROUPS(float, void, c, 2, wide, way, &x); break;
        default: IDLE_GROUPS(double, void, z, 2, wide, way, &x);
        }
    }
    tap_result(wrong == 0 && heard.calls == 0, "%d elements are wrong; %d calls of the handler", wrong, heard.calls);
}

static void idle_groups_cases(void)
{
    for (const char *type = "sdcz"; *type != '\0'; type++)
        for (int x = 0; x < 2 * WAYS; x++) idle_groups_case(*type, (way)(x / 2), x % 2);
}

/* The text of a call of two groups of two, in which one address of one array is NULL, or the array. */
static const char *told_of_address(CBLAS_LAYOUT layout, int array, int index, double c[4])
{
    const CBLAS_TRANSPOSE ops[2] = {CblasNoTrans, CblasNoTrans};
    const int ones[2] = {1, 1}, size[2] = {2, 2};
    const double factor[2] = {1, 1}, keep[2] = {1, 1};
    const double *a[4] = {operand, operand, operand, operand}, *b[4] = {operand, operand, operand, operand};
    double *at_c[4] = {&c[0], &c[1], &c[2], &c[3]};
    if (index >= 0 && array == 0) a[index] = NULL;
    if (index >= 0 && array == 1) b[index] = NULL;
    if (index >= 0 && array == 2) at_c[index] = NULL;
    memset(&heard, 0, sizeof heard);
    cblas_dgemm_batch(layout, ops, ops, ones, ones, ones, factor, index < 0 && array == 0 ? NULL : a, ones,
                      index < 0 && array == 1 ? NULL : b, ones, keep, index < 0 && array == 2 ? NULL : at_c, ones, 2,
                      size);
    return heard.text;
}

static void missing_addresses(void)
{
    if (!tap_case("a_missing_address_is_named_before_anything_is_computed")) return;
    char wrong_ones[400] = "";
    size_t used = 0;
    operand[0] = 3;
    for (int i = 0; i < 30; i++) {
        const int array = i / 2 % 3, index = i / 6 - 1; /* -1: the array */
        char expected[80], where[8] = "";
        double c[4] = {1, 2, 3, 4};
        if (index >= 0) snprintf(where, sizeof where, "[%d]", index);
        snprintf(expected, sizeof expected, "cblas_dgemm_batch did nothing: %c_array%s is NULL\n", "abc"[array], where);
        const char *told = told_of_address(i % 2 ? CblasRowMajor : CblasColMajor, array, index, c);
        if ((strcmp(told, expected) != 0 || heard.calls != 1 || heard.number != 0 || c[0] != 1 || c[3] != 4) &&
            used < sizeof wrong_ones)
            used += (size_t)snprintf(wrong_ones + used, sizeof wrong_ones - used, "%s", told);
    }
    operand[0] = 0;
    tap_result(used == 0, "%s", wrong_ones);
}

/* No array is read where its operand is not, wherever C lies. */
static void arrays_that_are_not_read(void)
{
    const CBLAS_TRANSPOSE op = CblasNoTrans;
    const int one = 1;
    const double zero = 0, half = 0.5, four = 4;
    char room[9];
    void *at = room + 1;
    double c;
    if (!tap_case("arrays_that_are_not_read_may_be_null")) return;
    memcpy(at, &four, sizeof four);
    memset(&heard, 0, sizeof heard);
    cblas_dgemm_batch(CblasColMajor, &op, &op, &one, &one, &one, &zero, NULL, &one, NULL, &one, &half, (double **)&at,
                      &one, 1, &one);
    memcpy(&c, at, sizeof c);
    tap_result(c == 2 && heard.calls == 0, "%g, %d calls: %s", c, heard.calls, heard.text);
}

/* Of sizes of 64 bits, whose names this program has no handler for: what is longer than memory. */
static int calls_beyond_memory(void)
{
    const int64_t far = (int64_t)1 << 61;
    double a = 2, b = 3, c = 7;
    cblas_dgemm_batch_strided64_(CblasColMajor, CblasNoTrans, CblasNoTrans, 1, 1, 1, 1, &a, 1, far, &b, 1, 0, 0, &c, 1,
                                 1, 2);
    cblas_dgemm_batch_strided64_(CblasRowMajor, CblasNoTrans, CblasNoTrans, 1, 1, 1, 1, &a, 1, 0, &b, 1, far, 0, &c, 1,
                                 1, 2);
    cblas_dgemm64_(CblasColMajor, CblasNoTrans, CblasNoTrans, 1, 1, 2, 1, &a, far, &b, 2, 0, &c, 1);
    cblas_dgemm64_(CblasRowMajor, CblasNoTrans, CblasNoTrans, 1, 1, 2, 1, &a, 2, &b, far, 0, &c, 1);
    cblas_dtrsm64_(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, 200, 1, 1, &a, far, &b, 200);
    cblas_dsyr2k64_(CblasColMajor, CblasLower, CblasNoTrans, 1, 2, 1, &a, 1, &b, far, 1, &c, 1);
    return c != 7;
}

static void beyond_memory(void)
{
    static const char *const calls[] = {"cblas_dgemm_batch_strided64_",
                                        "cblas_dgemm_batch_strided64_",
                                        "cblas_dgemm64_",
                                        "cblas_dgemm64_",
                                        "cblas_dtrsm64_",
                                        "cblas_dsyr2k64_"};
    static const char *const names[] = {"a", "b", "a", "b", "an operand", "an operand"};
    char said[SAID], expected[SAID];
    size_t used = 0;
    if (!tap_case("operands_longer_than_memory_are_told")) return;
    for (int i = 0; i < 6; i++)
        used += (size_t)snprintf(expected + used, sizeof expected - used,
                                 "%s did nothing: %s spans more bytes than this machine can address\n", calls[i],
                                 names[i]);
    const int status = run_with("TILEWRIGHT_VERBOSE", "0", calls_beyond_memory, said);
    tap_result(status == 0 && strcmp(said, expected) == 0, "status %d, said: %s", status, said);
}

/* ---- sbgemm and shgemm ---- */

static uint16_t bf16_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (uint16_t)(bits >> 16);
}

/* Of small whole numbers. */
static uint16_t f16_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return x == 0 ? 0 : (uint16_t)(((bits >> 16) & 0x8000) | (((bits >> 23 & 255) - 112) << 10) | (bits >> 13 & 1023));
}

static int small(int i, int seed) { return (i * 7 * seed) % 11 - 5; }

static bool half_is_right(bool f16, way way, bool wide, int ops, const int n_of[3], float beta, size_t off)
{
    enum { MOST = 142 * 142 };
    static uint16_t room_a[MOST + 1], room_b[MOST + 1];
    static float room_c[MOST + 1];
    uint16_t *a = (uint16_t *)(void *)((char *)room_a + off), *b = (uint16_t *)(void *)((char *)room_b + off);
    char *c = (char *)room_c + off;
    const int m = n_of[0], n = n_of[1], k = n_of[2], lda = 140, ldb = 141, ldc = 142;
    const bool rows = way == C_ROWS, flips_a = ops % 3 > 0, flips_b = ops / 3 > 0;
    const CBLAS_LAYOUT layout = rows ? CblasRowMajor : CblasColMajor;
    const CBLAS_TRANSPOSE op_a = OP(111 + ops % 3), op_b = OP(111 + ops / 3);
    const float alpha = 2;
    for (int i = 0; i < MOST; i++) {
        const uint16_t x = f16 ? f16_of((float)small(i, 1)) : bf16_of((float)small(i, 1)),
                       y = f16 ? f16_of((float)small(i, 2)) : bf16_of((float)small(i, 2));
        const float z = (float)small(i, 3);
        memcpy((char *)a + 2 * i, &x, 2), memcpy((char *)b + 2 * i, &y, 2), memcpy(c + 4 * i, &z, 4);
    }
    const int64_t m_64 = m, n_64 = n, k_64 = k, lda_64 = lda, ldb_64 = ldb, ldc_64 = ldc;
    if (way == FORTRAN && wide)
        (f16 ? shgemm_64_ : sbgemm_64_)(LETTER((int)op_a), LETTER((int)op_b), &m_64, &n_64, &k_64, &alpha, a, &lda_64,
                                        b, &ldb_64, &beta, (void *)c, &ldc_64);
    else if (way == FORTRAN)
        (f16 ? shgemm_ : sbgemm_)(LETTER((int)op_a), LETTER((int)op_b), &m, &n, &k, &alpha, a, &lda, b, &ldb, &beta,
                                  (void *)c, &ldc);
    else if (wide)
        (f16 ? cblas_shgemm64_ : cblas_sbgemm64_)(layout, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, (void *)c,
                                                  ldc);
    else
        (f16 ? cblas_shgemm : cblas_sbgemm)(layout, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, (void *)c, ldc);
    for (int at = 0; at < MOST; at++) {
        const int i = rows ? at / ldc : at % ldc, j = rows ? at % ldc : at / ldc;
        float expected = (float)small(at, 3), made;
        if (i < m && j < n) {
            int sum = 0;
            for (int p = 0; p < k; p++)
                sum += small(flips_a == rows ? p * lda + i : i * lda + p, 1) *
                       small(flips_b == rows ? j * ldb + p : p * ldb + j, 2);
            expected = alpha * (float)sum + beta * expected;
        }
        memcpy(&made, c + 4 * at, 4);
        if (made != expected) return false;
    }
    return true;
}

static void halves(void)
{
    static const int sizes[][3] = {{1, 1, 1}, {5, 7, 3}, {40, 33, 51}, {130, 135, 9}, {4, 3, 0}};
    for (int x = 0; x < 4 * WAYS; x++) {
        const bool f16 = x / 2 / WAYS, wide = x % 2;
        const way way = (enum way)(x / 2 % WAYS);
        int wrong = 0;
        if (!tap_case("s%cgemm_%s_%d_bits", f16 ? 'h' : 'b', way_names[way], wide ? 64 : 32)) continue;
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (int ops = 0; ops < 9; ops++)
                wrong += !half_is_right(f16, way, wide, ops, sizes[s], 0, 0) +
                         !half_is_right(f16, way, wide, ops, sizes[s], -1, (size_t)ops % 2);
        tap_result(wrong == 0, "%d products are wrong", wrong);
    }
    if (tap_case("sbgemm_does_nothing_where_nothing_changes")) {
        char odd[5] = {0};
        memset(&heard, 0, sizeof heard);
        cblas_sbgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, 1, 1, 1, 0, NULL, 1, NULL, 1, 1, NULL, 1);
        cblas_sbgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, 1, 1, 0, 1, NULL, 1, NULL, 1, 1, NULL, 1);
        cblas_sbgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, 1, 1, 1, 0, NULL, 1, NULL, 1, 0, (void *)(odd + 1), 1);
        tap_result(heard.calls == 0, "%d calls: %s", heard.calls, heard.text);
    }
    if (tap_case("sbgemm_sums_all_of_a_long_k_at_odd_addresses")) {
        enum { K = 1023 };
        static char a[2 * K + 1], b[2 * K + 1];
        const uint16_t x = bf16_of(1), y = bf16_of(3);
        float c = 0;
        for (int i = 0; i < K; i++) memcpy(a + 1 + 2 * i, &x, 2), memcpy(b + 1 + 2 * i, &y, 2);
        cblas_sbgemm(CblasColMajor, CblasTrans, CblasNoTrans, 1, 1, K, 1, (void *)(a + 1), K, (void *)(b + 1), K, 0, &c,
                     1);
        tap_result(c == 3 * K, "%g", (double)c);
    }
    if (tap_case("shgemm_at_odd_addresses_of_subnormal_and_large_numbers")) {
        const uint16_t all[5] = {0x0001, 0x83ff, 0x0400, 0x7bff, 0xfc00}, one = 0x3c00;
        const float values[5] = {0x1p-24F, -1023 * 0x1p-24F, 0x1p-14F, 65504, -INFINITY};
        char a[11], b[3];
        float c[5] = {0};
        memcpy(a + 1, all, 10), memcpy(b + 1, &one, 2);
        cblas_shgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, 5, 1, 1, 1, (void *)(a + 1), 5, (void *)(b + 1), 1, 0,
                     c, 5);
        tap_result(memcmp(c, values, sizeof c) == 0, "%g %g %g %g %g", (double)c[0], (double)c[1], (double)c[2],
                   (double)c[3], (double)c[4]);
    }
    if (tap_case("sbgemm_tells_what_is_wrong")) {
        uint16_t x[4] = {0};
        float c[4] = {0};
        int numbers[3];
        memset(&heard, 0, sizeof heard);
        cblas_sbgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 2, 2, 2, 1, x, 1, x, 2, 0, c, 2),
            numbers[0] = heard.number;
        cblas_sbgemm(CblasColMajor, CblasNoTrans, (CBLAS_TRANSPOSE)9, 2, 2, 2, 1, x, 2, x, 2, 0, c, 2),
            numbers[1] = heard.number;
        cblas_sbgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 2, 2, 2, 1, x, 2, NULL, 2, 0, c, 2);
        const bool by_rows = strcmp(heard.text, "cblas_sbgemm did nothing: b is NULL\n") == 0;
        cblas_sbgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, 2, 2, 2, 1, NULL, 2, x, 2, 0, c, 2),
            numbers[2] = heard.number;
        tap_result(by_rows && heard.calls == 4 && numbers[0] == 9 && numbers[1] == 3 && numbers[2] == 0 &&
                       strcmp(heard.text, "cblas_sbgemm did nothing: a is NULL\n") == 0,
                   "%d calls, numbers %d %d %d: %s", heard.calls, numbers[0], numbers[1], numbers[2], heard.text);
    }
}

/* ---- gemm_s8u8s32 ---- */

typedef struct whole {
    way way;
    bool wide;
    int ops, offset; /* offset: F, C, R */
    int m, n, k, ao, bo;
    float alpha, beta;
} whole;

enum { EDGE = 72, LDA_WHOLE = EDGE - 2, LDB_WHOLE = EDGE - 1 }; /* C's is EDGE */
static uint8_t whole_a[EDGE * EDGE], whole_b[EDGE * EDGE];
static int32_t whole_c[EDGE * EDGE], whole_co[EDGE];

static void call_whole(const whole *x)
{
    const CBLAS_TRANSPOSE op_a = OP(111 + x->ops % 3), op_b = OP(111 + x->ops / 3);
    const CBLAS_OFFSET offsets[] = {CblasFixOffset, CblasColOffset, CblasRowOffset};
    const CBLAS_LAYOUT layout = x->way == C_ROWS ? CblasRowMajor : CblasColMajor;
    const int lda = LDA_WHOLE, ldb = LDB_WHOLE, ldc = EDGE;
    const int64_t m = x->m, n = x->n, k = x->k, lda_64 = LDA_WHOLE, ldb_64 = LDB_WHOLE, ldc_64 = EDGE;
    const int8_t ao = (int8_t)x->ao, bo = (int8_t)x->bo;
    const char *letter = &"FCR"[x->offset];
    if (x->way == FORTRAN && x->wide)
        gemm_s8u8s32_64_(LETTER((int)op_a), LETTER((int)op_b), letter, &m, &n, &k, &x->alpha, (int8_t *)whole_a,
                         &lda_64, &ao, whole_b, &ldb_64, &bo, &x->beta, whole_c, &ldc_64, whole_co);
    else if (x->way == FORTRAN)
        gemm_s8u8s32_(LETTER((int)op_a), LETTER((int)op_b), letter, &x->m, &x->n, &x->k, &x->alpha, (int8_t *)whole_a,
                      &lda, &ao, whole_b, &ldb, &bo, &x->beta, whole_c, &ldc, whole_co);
    else if (x->wide)
        cblas_gemm_s8u8s3264_(layout, op_a, op_b, offsets[x->offset], m, n, k, x->alpha, whole_a, lda_64, ao, whole_b,
                              ldb_64, bo, x->beta, whole_c, ldc_64, whole_co);
    else
        cblas_gemm_s8u8s32(layout, op_a, op_b, offsets[x->offset], x->m, x->n, x->k, x->alpha, whole_a, lda, ao,
                           whole_b, ldb, bo, x->beta, whole_c, ldc, whole_co);
}

static bool whole_is_right(const whole *x)
{
    const bool rows = x->way == C_ROWS, flips_a = x->ops % 3 > 0, flips_b = x->ops / 3 > 0;
    static int32_t before[EDGE * EDGE];
    for (int i = 0; i < EDGE * EDGE; i++) {
        whole_a[i] = (uint8_t)(i * 37 + 11), whole_b[i] = (uint8_t)(i * 91 + 3);
        whole_c[i] = before[i] = (int32_t)(i * INT64_C(1000003) % 2000000011 - 700000);
    }
    for (int i = 0; i < EDGE; i++) whole_co[i] = i * 999 - 5000;
    call_whole(x);
    for (int at = 0; at < EDGE * EDGE; at++) {
        const int i = rows ? at / EDGE : at % EDGE, j = rows ? at % EDGE : at / EDGE;
        double expected = before[at];
        if (i < x->m && j < x->n) {
            double sum = 0;
            for (int p = 0; p < x->k; p++) {
                const uint8_t of_a = whole_a[flips_a == rows ? p * LDA_WHOLE + i : i * LDA_WHOLE + p],
                              of_b = whole_b[flips_b == rows ? j * LDB_WHOLE + p : p * LDB_WHOLE + j];
                sum += ((rows ? of_a : (int8_t)of_a) + x->ao) * ((rows ? (int8_t)of_b : of_b) + x->bo);
            }
            expected = nearbyint((double)x->alpha * sum + (x->beta != 0 ? (double)x->beta * before[at] : 0) +
                                 whole_co[x->offset == 0   ? 0
                                          : x->offset == 1 ? i
                                                           : j]);
            expected = fmax(fmin(expected, INT32_MAX), INT32_MIN);
        }
        if (whole_c[at] != (int32_t)expected) return false;
    }
    return true;
}

static void wholes(void)
{
    static const int sizes[][3] = {{1, 1, 1}, {5, 7, 3}, {33, 18, 40}, {67, 70, 2}, {4, 3, 0}};
    static const float scalars[][2] = {{1, 0}, {1, 1}, {1, -0.5F}, {0.5F, 0}, {-3, 0.25F}, {0, 1}, {2e6F, 1}};
    for (int x = 0; x < 2 * WAYS; x++) {
        int wrong = 0, number = 0;
        if (!tap_case("gemm_s8u8s32_%s_%d_bits", way_names[x / 2], x % 2 ? 64 : 32)) continue;
        for (int ops = 0; ops < 9; ops++)
            for (int offset = 0; offset < 3; offset++)
                for (int q = 0; q < 5 * 7; q++, number++) {
                    const int *s = sizes[q % 5];
                    const float *ab = scalars[q / 5];
                    const whole w = {(enum way)(x / 2),
                                     x % 2,
                                     ops,
                                     offset,
                                     s[0],
                                     s[1],
                                     s[2],
                                     number % 3 ? number % 251 - 125 : 0,
                                     number % 5 ? 127 - number % 256 : 0,
                                     ab[0],
                                     ab[1]};
                    wrong += !whole_is_right(&w);
                }
        tap_result(wrong == 0, "%d of %d products are wrong", wrong, number);
    }
    if (tap_case("gemm_s8u8s32_wraps_around")) { /* 255 by -128, and the offsets at their ends */
        enum { K = 70000 };
        static uint8_t a[K];
        static int8_t b[K];
        int32_t c = 7, co = -3;
        memset(a, 255, K), memset(b, -128, K);
        cblas_gemm_s8u8s32(CblasRowMajor, CblasNoTrans, CblasNoTrans, CblasFixOffset, 1, 1, K, 1, a, K, 127, b, 1, -128,
                           1, &c, 1, &co);
        tap_result((uint32_t)c == (uint32_t)(INT64_C(382) * -256 * K + 7 - 3), "%d", c);
    }
    if (tap_case("gemm_s8u8s32_tells_what_is_wrong")) {
        int numbers[4];
        int32_t c = 5;
        memset(&heard, 0, sizeof heard);
        cblas_gemm_s8u8s32(CblasRowMajor, CblasNoTrans, CblasNoTrans, (CBLAS_OFFSET)9, 1, 1, 1, 1, whole_a, 1, 0,
                           whole_b, 1, 0, 0, &c, 1, whole_co),
            numbers[0] = heard.number;
        cblas_gemm_s8u8s32(CblasRowMajor, CblasNoTrans, CblasNoTrans, CblasFixOffset, 1, 1, 2, 1, whole_a, 1, 0,
                           whole_b, 1, 0, 0, &c, 1, whole_co),
            numbers[1] = heard.number;
        cblas_gemm_s8u8s32(CblasColMajor, CblasNoTrans, CblasNoTrans, CblasFixOffset, 1, 1, 2, 1, whole_a, 1, 0,
                           whole_b, 1, 0, 0, &c, 1, whole_co),
            numbers[2] = heard.number;
        cblas_gemm_s8u8s32(CblasColMajor, CblasNoTrans, CblasNoTrans, CblasFixOffset, 1, 1, 1, 1, whole_a, 1, 0,
                           whole_b, 1, 0, 0, &c, 1, NULL),
            numbers[3] = heard.number;
        tap_result(heard.calls == 4 && numbers[0] == 4 && numbers[1] == 10 && numbers[2] == 13 && numbers[3] == 0 &&
                       heard.by_rows == 0 && c == 5 &&
                       strcmp(heard.text, "cblas_gemm_s8u8s32 did nothing: co is NULL\n") == 0,
                   "%d calls, numbers %d %d %d %d: %s", heard.calls, numbers[0], numbers[1], numbers[2], numbers[3],
                   heard.text);
    }
}

int main(int argc, char **argv)
{
    tap_start(argc, argv);
    wrong_arguments(); /* first: a part of it is a process whose context is new */
    beyond_memory();
    for (const char *type = "sdcz"; *type != '\0'; type++) batches(*type, false), batches(*type, true);
    idle_groups_cases();
    long_sums();
    missing_addresses();
    arrays_that_are_not_read();
    halves();
    wholes();
    return tap_finish();
}
