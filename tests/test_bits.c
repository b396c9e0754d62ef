/* test_bits.c - the bits of C depend on the problem alone, however operands are packed, transposed and divided; scalars
 * in full. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "engines/cpu/cpu_engine.h"
#include "integers.h"
#include "oracle.h"
#include "plan.h"
#include "support/expect.h"
#include "support/tap.h"
#include "tilewright_lab.h"

static float a[64]; /* an address, of which nothing is read */

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

/* One product of f64 with both operands transposed, and with copies of them that are not: the same bits, and nothing is
 * written beside C, whose rows are padded. */
static bool transposed_agrees(tw_context *context, int64_t m, int64_t n, int64_t k, double beta)
{
    enum { PAD = 3 };
    const int64_t ldc = n + PAD;
    double *x = malloc((size_t)(m * k) * sizeof *x), *transposed_x = malloc((size_t)(m * k) * sizeof *x),
           *y = malloc((size_t)(k * n) * sizeof *y), *transposed_y = malloc((size_t)(k * n) * sizeof *y),
           *one = malloc((size_t)(m * ldc) * sizeof *one), *two = malloc((size_t)(m * ldc) * sizeof *two);
    bool same = x != NULL && transposed_x != NULL && y != NULL && transposed_y != NULL && one != NULL && two != NULL;
    for (int64_t i = 0; same && i < m; i++)
        for (int64_t p = 0; p < k; p++)
            x[i * k + p] = transposed_x[p * m + i] = (double)((i * k + p) * 7919 % 1009) / 1009 - 0.5;
    for (int64_t p = 0; same && p < k; p++)
        for (int64_t j = 0; j < n; j++)
            y[p * n + j] = transposed_y[j * k + p] = (double)((p * n + j) * 104729 % 1013) / 1013 - 0.5;
    for (int64_t i = 0; same && i < m * ldc; i++) one[i] = (double)(i % 31) - 15;
    tw_problem p = tw_problem_make(TW_F64, TW_N, TW_N, m, n, k), q = tw_problem_make(TW_F64, TW_T, TW_T, m, n, k);
    p.alpha = q.alpha = 1.25, p.beta = beta, p.ldc = q.ldc = ldc;
    same = same && tw_gemm(context, &p, x, y, one) == TW_OK;
    for (int again = 0; again < 2; again++) { /* a plan made for beta 0 is recalled for another */
        q.beta = again ? beta : 0;
        for (int64_t i = 0; same && i < m * ldc; i++) two[i] = (double)(i % 31) - 15;
        same = same && tw_gemm(context, &q, transposed_x, transposed_y, two) == TW_OK;
    }
    same = same && memcmp(one, two, (size_t)(m * ldc) * sizeof *one) == 0;
    free(x), free(transposed_x), free(y), free(transposed_y), free(one), free(two);
    if (!same) printf("# %" PRId64 " x %" PRId64 " x %" PRId64 ", beta %g\n", m, n, k, beta);
    return same;
}

/* Small ones, whose C is transposed as it is stored, and others. */
static void transposed_cases(void)
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
                same = same && transposed_agrees(context, shapes[i][0], shapes[i][1], shapes[i][2], beta);
        expect(threads == 1 ? "both operands transposed: the bits of neither, one thread"
                            : "both operands transposed: the bits of neither, three threads",
               same);
        tw_close(context);
    }
    const device_facts facts = {
        .engine = "cpu", .features = CPU_base, .threads = 1, .l1_bytes = 32768, .l2_bytes = 1048576};
    tw_problem p, made = tw_problem_make(TW_F32, TW_T, TW_T, 64, 48, 80);
    plan one, other;
    bool planned = problem_load(&made, a, a, a, &p) == TW_OK && plan_find(&p, &facts, NULL, &one) == TW_OK;
    made.beta = 1;
    planned = planned && problem_load(&made, a, a, a, &p) == TW_OK && plan_find(&p, &facts, NULL, &other) == TW_OK;
    expect("plans: C is transposed where both are transposed and its old elements are not wanted",
           planned && one.cpu.unpacked_shape.transposed && one.cpu.unpacked_shape.m == 48 &&
               !other.cpu.unpacked_shape.transposed && !other.cpu.direct_b);
}

/* Products larger than any L2, of which the first rows, or the first columns, are computed again by themselves: those
 * read B, or A, where it lies. Every element is one sum in the same order, so the bits are those of the whole. */
static bool small_m_agrees(tw_context *context)
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
        for (int t = 0; same && t < 13 * 10 * 16; t += tap_rounds(1, 7)) /* 7: each length, depth and way */
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
        tw_op transposed = t & 2 ? TW_T : TW_N;
        tw_problem p = tw_problem_make(TW_F32, row ? TW_N : transposed, row ? transposed : TW_N, row ? 1 : COUNT,
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

static void put_real(void *to, bool doubles, int64_t at, double value)
{
    if (doubles)
        ((double *)to)[at] = value;
    else
        ((float *)to)[at] = (float)value;
}

/* A tall product of few columns and steps of k, of which one row follows the other, beside that of 50 columns, which
 * tiles compute: the same bits, and nothing else is written, where rows of C lie next to each other and where not. */
static bool sliver_agrees(tw_context *context, tw_dtype dtype, tw_op op_a, int64_t m, int64_t n, int64_t k, int pad,
                          double beta)
{
    enum { MOST = 3001, STEPS = 10, WIDE = 50, BEHIND = 64 };
    static double a[MOST * STEPS], b[STEPS * WIDE], wide[MOST * WIDE], narrow[MOST * WIDE + BEHIND],
        before[MOST * WIDE + BEHIND]; /* of either type */
    const bool doubles = dtype == TW_F64;
    const size_t bytes = doubles ? sizeof(double) : sizeof(float);
    tw_problem p = tw_problem_make(dtype, op_a, TW_N, m, n, k), q = tw_problem_make(dtype, op_a, TW_N, m, WIDE, k);
    p.ldb = q.ldb, p.ldc = n + pad, p.alpha = q.alpha = -1.5, p.beta = q.beta = beta;
    for (int64_t i = 0; i < m * k; i++)
        put_real(a, doubles, i,
                 i == 77      ? NAN
                 : i == 123   ? INFINITY
                 : i % 41 < 1 ? -0.0
                              : (double)(i * 7919 % 1009) / 1009 - 0.5);
    for (int64_t i = 0; i < STEPS * WIDE; i++) put_real(b, doubles, i, (double)(i * 104729 % 1013) / 1013 - 0.5);
    const size_t used = (size_t)(m * p.ldc + BEHIND) * bytes;
    memset(narrow, 0x5a, used);
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < WIDE; j++) {
            const double old = beta == 0 ? NAN : (double)((i * 31 + j) % 17) - 8;
            put_real(wide, doubles, i * WIDE + j, old);
            if (j < n) put_real(narrow, doubles, i * p.ldc + j, old);
        }
    }
    memcpy(before, narrow, used);
    if (tw_gemm(context, &p, a, b, narrow) != TW_OK || tw_gemm(context, &q, a, b, wide) != TW_OK) return false;
    for (int64_t i = 0; i < m; i++) /* what is to be there: what was, but for rows of C */
        memcpy((char *)before + (size_t)(i * p.ldc) * bytes, (char *)wide + (size_t)(i * WIDE) * bytes,
               (size_t)n * bytes);
    return memcmp(narrow, before, used) == 0;
}

static void sliver_cases(void)
{
    static const char *const sets[] = {"base", "avx2", "avx512"};
    static const int64_t heights[] = {5, 9, 10, 17, 64, 3001}, widths[] = {1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17};
    for (int s = 0; s < 3; s++) {
        tw_context *context = NULL;
        bool same = true;
        if (!tap_case("few columns and few steps of k with %s instructions: the bits of a wider product", sets[s]))
            continue;
        if (tw_open(
                &(tw_options){.size = sizeof(tw_options), .engine = "cpu", .threads = 2, .instruction_set = sets[s]},
                &context) != TW_OK) {
            tap_skip(tw_error_text());
            continue;
        }
        for (int t = 0; same && t < 6 * 11 * 10 * 8; t += tap_rounds(1, 23)) /* 23: each height, width and depth */
            same = sliver_agrees(context, t & 1 ? TW_F64 : TW_F32, (tw_op)(t >> 1 & 1), heights[t / 8 % 6],
                                 widths[t / 48 % 11], t / 528, t >> 2 & 1 ? 3 : 0, t % 3 ? 0 : 0.5);
        tap_result(same, "they differ");
        tw_close(context);
    }
}

enum { WORDS_OF_X = 4000000, WORDS_OF_Y = 600000 };
static uint16_t words_x[WORDS_OF_X], words_y[WORDS_OF_Y];

/* Bytes of all kinds, or numbers of bf16 from 2^-3 to 2^4, every 31st of them subnormal. */
static void fill_words(bool bytes)
{
    for (int64_t i = 0; i < WORDS_OF_X + WORDS_OF_Y; i++) {
        const uint32_t r = (uint32_t)i * UINT32_C(2654435761) >> 13;
        const uint16_t word = (uint16_t)(bytes ? r : i % 31 == 0 ? r & 0x807f : 0x3e00 + (r & 0x83ff));
        *(i < WORDS_OF_X ? &words_x[i] : &words_y[i - WORDS_OF_X]) = word;
    }
}

/* The same of bf16 and of bytes, signed or not: an element's bits are those of a product of 33 rows or columns. */
static bool word_line_agrees(tw_context *context, tw_dtype dtype, tw_dtype dtype_b, bool row, tw_op op_a, tw_op op_b,
                             int64_t count, int64_t k, int64_t pad, double beta)
{
    enum { FEW = 33, MOST_OF_C = FEW * 4600 };
    static uint32_t line[MOST_OF_C], more[MOST_OF_C];
    const int64_t bytes = dtype == TW_BF16 ? 2 : 1;
    tw_problem p = tw_problem_make(dtype, op_a, op_b, row ? 1 : count, row ? count : 1, k), q = p;
    *(row ? &q.m : &q.n) = FEW;
    if (dtype != TW_BF16) p.dtype_b = q.dtype_b = dtype_b;
    if (row)
        p.lda = op_a == TW_N ? k + pad + 1 : FEW + pad, p.ldb += pad;
    else
        p.ldb = op_b == TW_N ? FEW + pad : k + pad + 1, p.lda += pad;
    p.ldc = p.n + FEW + pad, p.beta = beta, p.alpha = -3;
    q.lda = p.lda, q.ldb = p.ldb, q.ldc = p.ldc, q.beta = beta, q.alpha = p.alpha;
    if ((count + pad) * (k + pad) * bytes > 2 * WORDS_OF_X || FEW * (k + pad + 1 + FEW) > WORDS_OF_Y ||
        (row ? FEW : count) * p.ldc > MOST_OF_C)
        return false;
    for (int64_t i = 0; i < MOST_OF_C; i++)
        line[i] = more[i] = dtype == TW_BF16 ? 0x40000000 + (uint32_t)i : (uint32_t)i;
    if (tw_gemm(context, &p, row ? words_y : words_x, row ? words_x : words_y, line) != TW_OK ||
        tw_gemm(context, &q, row ? words_y : words_x, row ? words_x : words_y, more) != TW_OK)
        return false;
    for (int64_t i = 0; i < (row ? 1 : count); i++)
        for (int64_t j = 0; j < p.ldc; j++) {
            const int64_t at = i * p.ldc + j;
            const uint32_t old = dtype == TW_BF16 ? 0x40000000 + (uint32_t)at : (uint32_t)at;
            if (line[at] != (j < p.n ? more[at] : old)) return false;
        }
    return true;
}

static void word_line_cases(void)
{
    static const int64_t counts[] = {1, 2, 15, 16, 17, 31, 32, 33, 63, 65, 100, 300},
                         ks[] = {1, 2, 3, 31, 32, 33, 63, 64, 65, 130, 1000};
    static const tw_dtype types[][2] = {
        {TW_BF16, TW_BF16}, {TW_I8, TW_I8}, {TW_I8, TW_U8}, {TW_U8, TW_I8}, {TW_U8, TW_U8}};
    for (int t = 0; t < 5 * 2; t++) {
        tw_context *context = NULL;
        bool same = true;
        if (!tap_case("%s by %s, one row or one column on the matrix unit, %d threads: the bits of a larger product",
                      tw_lab_dtype_of(types[t / 2][0])->name, tw_lab_dtype_of(types[t / 2][1])->name, 1 + t % 2 * 15))
            continue;
        if (tw_open(
                &(tw_options){
                    .size = sizeof(tw_options), .engine = "cpu", .threads = 1 + t % 2 * 15, .instruction_set = "amx"},
                &context) != TW_OK) {
            tap_skip(tw_error_text());
            continue;
        }
        fill_words(t > 1);
        for (int x = 0; same && x < 12 * 11; x++) /* padding and beta go round */
            for (int o = 0; same && o < 8; o++)
                same = word_line_agrees(context, types[t / 2][0], types[t / 2][1], o & 1, (tw_op)(o >> 1 & 1),
                                        (tw_op)(o >> 2 & 1), counts[x % 12], ks[x / 12], (x + o) % 3, x % 5 ? 2 : 0);
        /* several blocks of sums and, of bytes, pieces of the vector; of bf16, chunks of k */
        for (int o = 0; same && o < 8; o++)
            same = word_line_agrees(context, types[t / 2][0], types[t / 2][1], o & 1, (tw_op)(o >> 1 & 1),
                                    (tw_op)(o >> 1 & 1), o < 4 ? 4130 : 70, o < 4 ? 600 : 16700, 1, 0);
        tap_result(same, "they differ");
        tw_close(context);
    }
}

/* The bits of C depend neither on whether operands are packed (rows 4 KiB apart are) nor on leading dimensions, for
 * whole tiles and edge tiles. */
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
        .engine = "cpu", .features = CPU_base, .threads = 1, .l1_bytes = 32768, .l2_bytes = 1 << 20};
    tw_context *context;
    bool same = true, tiers = true, small_m = true;
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
                plan_find(&loaded, &facts, NULL, &direct) == TW_OK && direct.cpu.direct_a && direct.cpu.direct_b &&
                direct.at_once && direct.threads == 1 && direct.workspace_bytes == 0 &&
                problem_load(&q, a, a, a, &loaded) == TW_OK && plan_find(&loaded, &facts, NULL, &packed) == TW_OK &&
                packed.cpu.direct_a == (m == 1 || n == 1) && packed.cpu.direct_b == packed.cpu.direct_a;
        same = tw_gemm(context, &p, packed_x, packed_y, narrow) == TW_OK && tw_gemm(context, &q, x, y, wide) == TW_OK;
        for (int i = 0; i < m; i++)
            same = same && memcmp(narrow + i * n, wide + i * APART, (size_t)n * sizeof *wide) == 0;
    }
    expect("bits do not depend on few rows or columns being streamed", same && small_m_agrees(context));
    expect("bits do not depend on a long k being read where it lies", same && deep_agrees(context));
    tw_close(context);
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {
        tw_problem p = tw_problem_make(TW_F32, streams[i].op_a, streams[i].op_b, streams[i].m, streams[i].n,
                                       streams[i].k),
                   loaded;
        plan made;
        small_m = small_m && problem_load(&p, a, a, a, &loaded) == TW_OK &&
                  plan_find(&loaded, &facts, NULL, &made) == TW_OK && made.cpu.direct_a == streams[i].a &&
                  made.cpu.direct_b == streams[i].b;
    }
    expect("plans: A is read where it lies unless it is transposed, B when C has few rows, both when k is long",
           small_m);
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

/* What 16 threads pack each for itself has the bits of one thread, and nothing beside C is written. */
static void alone_cases(void)
{
    enum { M = 500, N = 530, K = 700, LDC = N + 7 };
    static uint32_t one[M * LDC], many[M * LDC];
    for (int x = 0; x < 2; x++) {
        const tw_dtype dtype = x ? TW_I8 : TW_BF16;
        tw_context *context[2] = {NULL, NULL};
        if (!tap_case("%s on the matrix unit: 16 threads have the bits of one", tw_lab_dtype_of(dtype)->name)) continue;
        tw_options options = {.size = sizeof options, .engine = "cpu", .threads = 1, .instruction_set = "amx"};
        bool same = tw_open(&options, &context[0]) == TW_OK;
        options.threads = 16;
        if (!same || tw_open(&options, &context[1]) != TW_OK) {
            tap_skip(tw_error_text());
            tw_close(context[0]);
            continue;
        }
        fill_words(x);
        for (int way = 0; same && way < 8; way++) {
            tw_problem p = tw_problem_make(dtype, (tw_op)(way & 1), (tw_op)(way >> 1 & 1), M, N, K);
            tw_lab_plan made;
            p.ldc = LDC, p.alpha = 2, p.beta = way & 4 ? -3 : 0;
            for (int i = 0; i < M * LDC; i++) one[i] = many[i] = 0x40000000 + (uint32_t)i;
            same = tw_gemm(context[0], &p, words_x, words_y, one) == TW_OK &&
                   tw_gemm(context[1], &p, words_x, words_y, many) == TW_OK && memcmp(one, many, sizeof one) == 0 &&
                   tw_lab_plan_of(context[1], NULL, &p, &made) == TW_OK && made.threads > 4 &&
                   strstr(made.text, " shares ") != NULL && strstr(made.text, " chunks ") == NULL;
        }
        tap_result(same, "they differ, or C is not divided");
        tw_close(context[0]), tw_close(context[1]);
    }
}

/* Panels of words are the same, whichever steps a task packs. */
static void step_cases(void)
{
    enum { MOST = 2100, WIDTH = 32, MOST_WORDS = (MOST + WIDTH) * 144 };
    static const int lengths[] = {1, 15, 31, 32, 33, 100, MOST}, ks[] = {1, 2, 3, 31, 64, 65, 130};
    static uint32_t one[MOST_WORDS], other[MOST_WORDS];
    static uint16_t source[MOST * 131];
    bool same = true;
    if (!tap_case("panels of words: the same by steps as panel by panel")) return;
    for (int i = 0; i < MOST * 131; i++) source[i] = (uint16_t)((uint32_t)i * UINT32_C(2654435761) >> 15);
    for (int x = 0; same && x < 7 * 7 * CPU_TILE_QUADS * 8; x++) {
        const cpu_layout layout = (cpu_layout)(x / 8 % CPU_TILE_QUADS + 1);
        const bool of_b = x & 1, a_unsigned = x & 2, b_unsigned = x & 4;
        if (layout == CPU_HALVES || (!of_b && cpu_layout_sums(layout))) continue;
        const int64_t length = lengths[x / 8 / CPU_TILE_QUADS % 7], k = ks[x / 8 / CPU_TILE_QUADS / 7],
                      steps = cpu_layout_steps(layout, k), apart = length + x % 2;
        memset(one, 0xa5, sizeof one), memset(other, 0xa5, sizeof other);
        pack_words(layout, of_b, a_unsigned, b_unsigned, one, source, 1, apart, length, k, WIDTH, 0,
                   ceil_div(length, WIDTH));
        for (int64_t step = 0, each = CPU_STEP_UNIT * (1 + x % 3); step < steps; step += each)
            pack_word_steps(layout, of_b, a_unsigned, b_unsigned, other, source, apart, length, k, WIDTH, step,
                            min_i64(step + each, steps));
        same = memcmp(one, other, sizeof one) == 0;
        if (!same) printf("# layout %d, of_b %d, length %d, k %d\n", (int)layout, of_b, (int)length, (int)k);
    }
    tap_result(same, "they differ");
}

/* Complex products: of one op(A), op(B) and k the bits of C depend neither on how these are stored (ops, rows 4 KiB
 * apart, at an odd multiple of a part), nor on the threads, nor on what of C is computed at once. */
static bool complex_agrees(tw_dtype dtype, int64_t m, int64_t n, int64_t k)
{
    const size_t bytes = (size_t)element_of(dtype)->bytes, part = bytes / 2;
    char *first = malloc((size_t)(m * n) * bytes), *c = malloc((size_t)(m * (n + 5)) * bytes + part);
    bool same = first != NULL && c != NULL;
    for (int x = 0; same && x < 2 * 16; x += tap_spares() ? 5 : 1) { /* 5: each op of A and of B, padding, threads */
        tw_context *context = NULL;
        oracle o;
        tw_problem p = tw_problem_make(dtype, (tw_op)(x / 4 % 4), (tw_op)(x % 4), m, n, k);
        p.alpha = 0.7, p.alpha_imaginary = -0.4, p.beta = -1.3, p.beta_imaginary = 0.2;
        if (x % 3 == 1) p.lda = (p.lda * (int64_t)bytes + 4095) / 4096 * 4096 / (int64_t)bytes;
        if (x % 3 == 2) p.lda += 1, p.ldb += 3, p.ldc += 5;
        same = tw_open(&(tw_options){.size = sizeof(tw_options), .engine = "cpu", .threads = 1 + x % 3}, &context) ==
                   TW_OK &&
               oracle_make(&p, ORACLE_BOUND, 1, 1, &o) == TW_OK;
        if (!same) break;
        char *at = c + (x % 2 ? part : 0);
        oracle_poison(&o, at);
        if (x < 16) {
            same = tw_gemm(context, &p, o.a, o.b, at) == TW_OK;
        } else { /* the upper rows and the lower ones, each in two pieces of columns */
            for (int piece = 0; same && piece < 4; piece++) {
                tw_problem q = p;
                const int64_t i = piece / 2 ? m / 3 : 0, j = piece % 2 ? n / 4 + 1 : 0;
                const bool a_rows = p.op_a == TW_N || p.op_a == TW_R, b_rows = p.op_b == TW_N || p.op_b == TW_R;
                q.m = piece / 2 ? m - i : m / 3, q.n = piece % 2 ? n - j : n / 4 + 1;
                same = tw_gemm(context, &q, (char *)o.a + (size_t)(a_rows ? i * p.lda : i) * bytes,
                               (char *)o.b + (size_t)(b_rows ? j : j * p.ldb) * bytes,
                               at + (size_t)(i * p.ldc + j) * bytes) == TW_OK;
            }
        }
        for (int64_t i = 0; same && i < m; i++) {
            char *row = at + (size_t)(i * p.ldc) * bytes, *expected = first + (size_t)(i * n) * bytes;
            if (x == 0) memcpy(expected, row, (size_t)n * bytes);
            same = memcmp(expected, row, (size_t)n * bytes) == 0;
        }
        if (!same) printf("# %c%c, %d threads\n", "ntcr"[p.op_a], "ntcr"[p.op_b], 1 + x % 3);
        oracle_free(&o);
        tw_close(context);
    }
    free(first), free(c);
    return same;
}

static void complex_cases(void)
{
    static const int64_t shapes[][3] = {{5, 7, 9},     {1, 40, 700},  {40, 1, 700},    {17, 33, 64},   {40, 33, 300},
                                        {9, 500, 900}, {300, 9, 900}, {70, 130, 1700}, {130, 300, 600}};
    for (int i = 0; i < 2 * 9; i++) {
        const int64_t *x = shapes[i / 2];
        const tw_dtype dtype = i % 2 ? TW_CF64 : TW_CF32;
        if (tap_spares() && (i / 2 + i) % 2 != 0) continue; /* each shape in one width */
        if (!tap_case("%s %dx%dx%d: the same bits, however it is stored and cut", tw_lab_dtype_of(dtype)->name,
                      (int)x[0], (int)x[1], (int)x[2]))
            continue;
        tap_result(complex_agrees(dtype, x[0], x[1], x[2]), "they differ");
    }
}

/* Elements between -0.5 and 0.5, so that sums in another order have other last bits. */
static void fill(tw_dtype dtype, void *x, int64_t count, int64_t factor)
{
    for (int64_t i = 0; i < count; i++) {
        const double value = (double)(i * factor % 1009) / 1009 - 0.5;
        if (dtype == TW_F64)
            ((double *)x)[i] = value;
        else
            ((float *)x)[i] = (float)value;
    }
}

/* A product, or two that share B, of which each of eight threads copies rows of B, beside the same on one thread, which
 * copies none. apart: elements behind each row. No L2 holds the operands, or their rows conflict: small operands are
 * not copied. */
typedef struct copying {
    tw_dtype dtype;
    tw_op op_a;
    int64_t m, n, k, apart, items;
    double beta;
} copying;

static bool copies_agree(const copying *x, tw_context *one, tw_context *many)
{
    const int64_t bytes = x->dtype == TW_F64 ? 8 : 4, c_count = x->m * (x->n + x->apart);
    tw_problem p = tw_problem_make(x->dtype, x->op_a, TW_N, x->m, x->n, x->k);
    p.lda += x->apart, p.ldb += x->apart, p.ldc += x->apart, p.beta = x->beta;
    const int64_t a_count = (x->op_a == TW_N ? x->m : x->k) * p.lda, b_count = x->k * p.ldb;
    tw_batch batch = tw_batch_make(&p, x->items);
    batch.stride_b = 0;
    char *a_of = malloc((size_t)(x->items * a_count * bytes)), *b_of = malloc((size_t)(b_count * bytes)),
         *all = malloc((size_t)(x->items * c_count * bytes)), *each = malloc((size_t)(x->items * c_count * bytes));
    tw_lab_plan plan;
    bool same = a_of != NULL && b_of != NULL && all != NULL && each != NULL &&
                tw_lab_plan_of(many, &(tw_lab_choice){.batch = x->items > 1 ? &batch : NULL}, &p, &plan) == TW_OK &&
                strstr(plan.text, " copies B") != NULL;
    if (same) {
        fill(x->dtype, a_of, x->items * a_count, 7919), fill(x->dtype, b_of, b_count, 104729);
        fill(x->dtype, all, x->items * c_count, 31);
        if (x->beta == 0) memset(all, -1, (size_t)(x->items * c_count * bytes)); /* NaN */
        memcpy(each, all, (size_t)(x->items * c_count * bytes));
        same = (x->items > 1 ? tw_gemm_batched(many, &p, &batch, a_of, b_of, all)
                             : tw_gemm(many, &p, a_of, b_of, all)) == TW_OK;
    }
    for (int64_t i = 0; same && i < x->items; i++)
        same = tw_gemm(one, &p, a_of + i * a_count * bytes, b_of, each + i * c_count * bytes) == TW_OK;
    same = same && memcmp(all, each, (size_t)(x->items * c_count * bytes)) == 0;
    free(a_of), free(b_of), free(all), free(each);
    return same;
}

/* A in place, transposed, and packed since its rows conflict; rows of B that conflict and do not; k beyond a chunk,
 * with sums beside C; items of a batch, computed by all threads one after the other. */
static void copying_cases(void)
{
    static const copying cases[] = {
        {TW_F32, TW_N, 140, 2100, 3000, 0, 1, 0},  {TW_F32, TW_T, 140, 2100, 3000, 1, 1, 1},
        {TW_F64, TW_N, 64, 1536, 2048, 0, 1, 0.5}, {TW_F32, TW_N, 100, 1024, 9000, 0, 1, 1},
        {TW_F64, TW_N, 70, 1024, 4500, 0, 1, 0},   {TW_F32, TW_N, 100, 1024, 9000, 0, 2, 1},
    };
    tw_context *one = NULL, *many = NULL;
    tw_options options = {.size = sizeof options, .engine = "cpu", .threads = 1};
    bool opened = tw_open(&options, &one) == TW_OK;
    options.threads = 8;
    opened = tw_open(&options, &many) == TW_OK && opened;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const copying *x = &cases[i];
        if (tap_case("each thread copies its rows of B: %s %s %" PRId64 "x%" PRId64 "x%" PRId64 ", beta %g, %" PRId64
                     " of them: the same bits",
                     tw_lab_dtype_of(x->dtype)->name, x->op_a == TW_N ? "NN" : "TN", x->m, x->n, x->k, x->beta,
                     x->items))
            tap_result(opened && copies_agree(x, one, many), "they differ, or the plan copies nothing");
    }
    if (one != NULL) tw_close(one);
    if (many != NULL) tw_close(many);
}

int main(int argc, char **argv)
{
    tap_start(argc, argv);
    wide_scalar_cases();
    tier_cases();
    copying_cases();
    transposed_cases();
    line_cases();
    sliver_cases();
    word_line_cases();
    word_cases();
    alone_cases();
    step_cases();
    complex_cases();
    return tap_finish();
}
