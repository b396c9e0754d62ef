/* test_triangle.c - a triangle of C (TW_LOWER, TW_UPPER) has the bits of the whole product, and the rest of C is
 * neither read nor written; what cannot compute one says so. The diagonal blocks of trmm and trsm, with each
 * instruction set. */
#include "support/expect.h"
#include "support/guard.h"
#include "support/tap.h"
#include "tilewright_lab.h"

#include <fenv.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool inside(uint32_t flags, int64_t i, int64_t j) { return flags & TW_LOWER ? j <= i : j >= i; }

static size_t bytes_of(tw_dtype dtype) { return (size_t)tw_lab_dtype_of(dtype)->bytes; }

static void *operand(tw_dtype dtype, int64_t elements, unsigned seed)
{
    const int parts = tw_lab_dtype_of(dtype)->parts;
    const size_t bytes = bytes_of(dtype) / (size_t)parts;
    const int64_t count = elements * parts;
    void *x = aligned_alloc(64, ((size_t)count * bytes + 64) / 64 * 64);
    if (x == NULL) exit(5);
    for (int64_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        const double value = (double)(seed >> 8) / (1 << 24) - 0.5;
        if (dtype == TW_I16)
            ((int16_t *)x)[i] = (int16_t)(seed >> 16);
        else if (bytes == 8)
            ((double *)x)[i] = value;
        else
            ((float *)x)[i] = (float)value;
    }
    return x;
}

static bool same_bits(tw_context *context, tw_dtype dtype, int op, int64_t n, int64_t k, uint32_t flags, double beta,
                      char why[160])
{
    const size_t bytes = bytes_of(dtype);
    const bool complex = tw_lab_dtype_of(dtype)->parts == 2; /* nc, cn, rt, tr */
    const tw_op op_a = complex ? (tw_op[]){TW_N, TW_C, TW_R, TW_T}[op] : (tw_op)(op / 2),
                op_b = complex ? (tw_op[]){TW_C, TW_N, TW_T, TW_R}[op] : (tw_op)(op % 2);
    tw_problem p = tw_problem_make(dtype, op_a, op_b, n, n, k);
    p.lda += 3, p.ldb += 5, p.ldc += 7, p.alpha = 0.7, p.beta = beta;
    if (dtype == TW_I16) p.alpha = 7, p.beta = 10 * beta;
    if (complex) p.alpha_imaginary = -0.4, p.beta_imaginary = beta;
    const int64_t elements = n * p.ldc;
    char *a = operand(dtype, (n > k ? n : k) * p.lda, 1), *b = operand(dtype, (n > k ? n : k) * p.ldb, 2),
         *all = operand(dtype, elements, 3), *part = operand(dtype, elements, 3);
    bool right = true;
    for (int64_t i = 0; i < elements; i++)
        if (beta == 0 || !inside(flags, i / p.ldc, i % p.ldc) || i % p.ldc >= n)
            memset(part + (size_t)i * bytes, 0xff, bytes); /* NaN */
    right = tw_gemm(context, &p, a, b, all) == TW_OK;
    p.flags = flags | (n % 2 ? TW_INVARIANT : 0); /* which changes nothing here */
    right = right && tw_gemm(context, &p, a, b, part) == TW_OK;
    if (!right) snprintf(why, 160, "%.150s", tw_error_text());
    for (int64_t i = 0; right && i < elements; i++) {
        static const unsigned char untouched[16] = {255, 255, 255, 255, 255, 255, 255, 255,
                                                    255, 255, 255, 255, 255, 255, 255, 255};
        const bool is_in = inside(flags, i / p.ldc, i % p.ldc) && i % p.ldc < n;
        right = memcmp(part + (size_t)i * bytes, is_in ? all + (size_t)i * bytes : (const char *)untouched, bytes) == 0;
        if (!right)
            snprintf(why, 160, "row %lld, column %lld %s (op %d, beta %g)", (long long)(i / p.ldc),
                     (long long)(i % p.ldc), is_in ? "has other bits" : "was written", op, beta);
    }
    free(a), free(b), free(all), free(part);
    return right;
}

static void triangles(void)
{
    static const int64_t sizes[][2] = {{1, 1},   {5, 9},     {6, 6},     {8, 8},      {24, 30}, {49, 100},
                                       {97, 33}, {130, 700}, {257, 900}, {1100, 900}, {40, 0}};
    for (int threads = 1; threads <= 2; threads++) {
        tw_context *context = NULL;
        if (!tap.list &&
            tw_open(&(tw_options){.size = sizeof(tw_options), .engine = "cpu", .threads = threads}, &context) != TW_OK)
            exit(5);
        for (int d = 0; d < 5; d++)
            for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
                for (uint32_t flags = TW_LOWER; flags <= TW_UPPER; flags++) {
                    static const tw_dtype dtypes[] = {TW_F32, TW_F64, TW_CF32, TW_CF64, TW_I16};
                    char why[160] = "";
                    bool right = true;
                    if (d > 1 && sizes[s][0] > 300 && !tap.full) continue;
                    /* of f32 both triangles with two threads, of others smaller ones */
                    if (tap_spares() && sizes[s][0] > (d == 0 ? 300 : 200) &&
                        (threads == 1 || (d == 1 && sizes[s][0] > 300)))
                        continue;
                    if (!tap_case("%s %s %lldx%lld, %d threads", tw_lab_dtype_of(dtypes[d])->name,
                                  flags == TW_LOWER ? "lower" : "upper", (long long)sizes[s][0], (long long)sizes[s][1],
                                  threads))
                        continue;
                    for (int op = 0; right && op < 4; op++)
                        for (int beta = 0; right && beta < 2; beta++) /* of large ones each op once, unless in full */
                            if (tap.full || sizes[s][0] < 200 || beta == (op + threads + (int)flags + d) % 2)
                                right = same_bits(context, dtypes[d], op, sizes[s][0], sizes[s][1], flags,
                                                  beta ? -1.3 : 0, why);
                    tap_result(right, "%s", why);
                }
        tw_close(context);
    }
}

static void batches(void)
{
    enum { N = 20, COUNT = 5 };
    static float x[COUNT * N * N], c[COUNT * N * N];
    if (!tap_case("a batch of triangles")) return;
    for (int i = 0; i < COUNT * N * N; i++) x[i] = (float)(i % 7 - 3), c[i] = -1;
    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_T, N, N, N);
    p.flags = TW_LOWER;
    const tw_batch batch = tw_batch_make(&p, COUNT);
    bool right = tw_gemm_batched(NULL, &p, &batch, x, x, c) == TW_OK;
    for (int i = 0; right && i < COUNT * N * N; i++) {
        float sum = 0;
        for (int q = 0; q < N; q++) sum += x[i / N * N + q] * x[(i / (N * N) * N + i % N) * N + q];
        right = c[i] == (i % N <= i / N % N ? sum : -1);
    }
    tap_result(right, "%s", tw_error_text());
}

static tw_problem square(tw_dtype dtype, uint32_t flags)
{
    tw_problem p = tw_problem_make(dtype, TW_N, TW_N, 4, 4, 4);
    p.flags = flags;
    return p;
}

static bool refused(const tw_problem *p, const char *says)
{
    static double a[64], c[64];
    return tw_gemm(NULL, p, a, a, c) != TW_OK && strstr(tw_error_text(), says) != NULL;
}

static void refusals(void)
{
    tw_problem p = square(TW_F64, 3);
    expect("both triangles", refused(&p, "flags is 3, expected 0, TW_LOWER (1) or TW_UPPER (2)"));
    p.flags = 7;
    expect("both triangles, TW_INVARIANT", refused(&p, "flags is 7, expected 0, TW_LOWER (1) or TW_UPPER (2)"));
    p.flags = 16;
    expect("an unknown flag", refused(&p, "flags is 16, expected 0"));
    p = square(TW_F64, TW_LOWER), p.n = 3;
    expect("a C that is not square", refused(&p, "m is 4 and n 3, expected the same"));
    p = square(TW_I8, TW_LOWER);
    expect("integers", refused(&p, "it computes all of C, the problem wants a triangle"));
    tw_lab_choice choice = {.kernel = "cpu_f64_r05_outer"};
    tw_lab_plan plan;
    p = square(TW_F64, TW_UPPER);
    expect("a rung of the ladder", tw_lab_plan_of(NULL, &choice, &p, &plan) == TW_NO_KERNEL &&
                                       strstr(tw_error_text(), "it computes all of C") != NULL);
    double a[16], c[16];
    for (int i = 0; i < 16; i++) a[i] = 1, c[i] = 0;
    p = square(TW_F64, 0);
    bool whole = tw_gemm(NULL, &p, a, a, c) == TW_OK && c[3] == 4;
    p.flags = TW_LOWER, c[3] = 7;
    bool part = tw_gemm(NULL, &p, a, a, c) == TW_OK && c[3] == 7 && c[12] == 4;
    p.flags = 0;
    expect("a plan of the whole is not taken for a triangle, nor the other way round",
           whole && part && tw_gemm(NULL, &p, a, a, c) == TW_OK && c[3] == 4);
}

/* ---- diagonal blocks ---- */

static const char *const levels[] = {"base", "neon", "avx2", "avx512"};

static double value_at(tw_dtype dtype, const void *x, int64_t at)
{
    return dtype == TW_F64 ? ((const double *)x)[at] : (double)((const float *)x)[at];
}

static void set_value(tw_dtype dtype, void *x, int64_t at, double value)
{
    if (dtype == TW_F64)
        ((double *)x)[at] = value;
    else
        ((float *)x)[at] = (float)value;
}

/* Judges the block against its own residual in long double: alpha b and T b are as near as 2m + 1 roundings allow. What
 * is not to be read is NaN, behind the last element lies a guard page, and what is not to be written stays. */
static bool right_block(tw_context *context, tw_lab_triangle x, bool by_columns, char why[160])
{
    enum { EDGE = TW_LAB_TRIANGLE_EDGE + 3, WIDE = 203 };
    static char room_old[EDGE * WIDE * sizeof(double)];
    static guard guards[2];
    if (guards[0].memory == NULL)
        guards[0] = guard_make(EDGE * EDGE * sizeof(double)), guards[1] = guard_make(sizeof room_old);
    const long double u = x.dtype == TW_F64 ? 0x1p-53L : 0x1p-24L;
    unsigned seed = 7;
    x.t_rs = by_columns ? 1 : EDGE, x.t_cs = by_columns ? EDGE : 1, x.b_rs = by_columns ? 1 : x.n + 3,
    x.b_cs = by_columns ? EDGE : 1;
    const size_t t_bytes = (size_t)((x.m - 1) * (EDGE + 1) + 1) * bytes_of(x.dtype),
                 bytes = (size_t)((x.m - 1) * x.b_rs + (x.n - 1) * x.b_cs + 1) * bytes_of(x.dtype);
    void *room_t = guard_place(&guards[0], t_bytes, true), *room_b = guard_place(&guards[1], bytes, true);
    memset(room_t, 0xff, t_bytes), memset(room_b, 0xff, bytes);
    x.t = room_t, x.b = room_b;
    for (int64_t i = 0; i < x.m; i++) {
        for (int64_t p = 0; p < x.m; p++) {
            seed = seed * 1664525u + 1013904223u;
            const double value = (double)(seed >> 8) / 0x1p23 - 1;
            if (i == p ? !x.unit : x.lower == (p < i))
                set_value(x.dtype, room_t, i * x.t_rs + p * x.t_cs, i == p ? value + (value < 0 ? -1 : 1) : value / 8);
        }
        for (int64_t j = 0; j < x.n; j++) {
            seed = seed * 1664525u + 1013904223u;
            set_value(x.dtype, room_b, i * x.b_rs + j * x.b_cs, (double)(seed >> 8) / 0x1p23 - 1);
        }
    }
    memcpy(room_old, room_b, bytes);
    bool right = tw_lab_triangle_compute(context, &x) == TW_OK;
    if (!right) snprintf(why, 160, "%.150s", tw_error_text());
    for (int64_t i = 0; right && i < x.m; i++)
        for (int64_t j = 0; right && j < x.n; j++) {
            const void *factor = x.solves ? room_b : room_old, *given = x.solves ? room_old : room_b;
            long double sum = 0, size = 0, alpha = (long double)x.alpha;
            for (int64_t p = x.lower ? 0 : i; p <= (x.lower ? i : x.m - 1); p++) {
                const double t = i == p && x.unit ? 1 : value_at(x.dtype, room_t, i * x.t_rs + p * x.t_cs);
                const long double term = (long double)t *
                                         (long double)value_at(x.dtype, factor, p * x.b_rs + j * x.b_cs);
                sum += term, size += fabsl(term);
            }
            const long double there = (long double)value_at(x.dtype, given, i * x.b_rs + j * x.b_cs),
                              off = x.solves ? fabsl(sum - alpha * there) : fabsl(there - alpha * sum),
                              wide = x.solves ? size + fabsl(alpha * there) : fabsl(alpha) * size;
            right = off <= (2 * (long double)x.m + 2) * u * wide; /* more than g(2m+1), with the sums here */
            if (!right) snprintf(why, 160, "row %d, column %d is off by %Lg", (int)i, (int)j, off);
        }
    for (int64_t i = 0; right && i < x.m; i++)
        for (int64_t j = 0; j < x.n; j++)
            set_value(x.dtype, room_b, i * x.b_rs + j * x.b_cs, value_at(x.dtype, room_old, i * x.b_rs + j * x.b_cs));
    if (right && memcmp(room_b, room_old, bytes) != 0)
        right = false, snprintf(why, 160, "what is not to be written was written");
    if (!right)
        snprintf(why + strlen(why), 160 - strlen(why), " (%s%s%s %dx%d%s)", x.solves ? "solves " : "",
                 x.lower ? "lower" : "upper", x.unit ? " unit" : "", (int)x.m, (int)x.n, by_columns ? " columns" : "");
    return right;
}

static tw_context *open_with(const char *level, int threads)
{
    tw_context *context = NULL;
    const tw_options options = {.size = sizeof options, .engine = "cpu", .instruction_set = level, .threads = threads};
    if (tw_open(&options, &context) == TW_OK) return context;
    tap_skip(tw_error_text());
    return NULL;
}

static void blocks(void)
{
    static const int64_t ms[] = {1, 5, 6, 7, 13, 48, 100, 264}, ns[] = {1, 7, 31, 32, 33, 70};
    for (size_t l = 0; l < 2 * sizeof levels / sizeof *levels; l++)
        for (int threads = 1; threads <= 3; threads += 2) {
            const tw_dtype dtype = l % 2 ? TW_F64 : TW_F32;
            char why[160] = "";
            bool right = true;
            if (!tap_case("diagonal blocks, %s %s, %d threads", levels[l / 2], l % 2 ? "f64" : "f32", threads))
                continue;
            tw_context *context = open_with(levels[l / 2], threads);
            if (context == NULL) continue;
            for (int x = 0; right && x < 16 * 8 * 7; x++) {
                tw_lab_triangle block = {.dtype = dtype,
                                         .lower = x & 1,
                                         .unit = x >> 1 & 1,
                                         .solves = x >> 2 & 1,
                                         .alpha = x % 3 ? 1 : -0.75};
                block.m = ms[x / 16 % 8], block.n = x / 128 < 6 ? ns[x / 128] : 200;
                if (block.m < 264 ? block.n == 200 : block.n != 200 && block.n != 7) continue; /* takes long */
                if (!tap.full && (threads > 1) != (block.n == 200)) continue;
                if (tap_brings("edge %zu %d %d %d", l, x / 16 % 8, x / 128, x >> 1 & 1) |
                    tap_brings("kind %zu %d %d", l, x % 16, x / 16 % 8))
                    right = right_block(context, block, x >> 3 & 1, why);
            }
            tw_close(context);
            tap_result(right, "%s", why);
        }
}

/* Neither invalid nor divided by zero nor overflowed, but for the elements that are wanted: b infinite or 1, T with an
 * infinity and zeros on the diagonal of a product, reciprocals that overflow in a solve. */
static bool raises_nothing(tw_context *context, tw_lab_triangle x, bool by_columns, bool infinite_b)
{
    enum { M = 49, N = 33 };
    static double t[M * M], b[M * N];
    x.t = t, x.b = b, x.n = N, x.t_rs = M, x.t_cs = 1;
    x.b_rs = by_columns ? 1 : N, x.b_cs = by_columns ? M : 1, x.alpha = 1;
    const double tiny = x.dtype == TW_F64 ? 0x1p-1030 : 0x1p-130;
    const int64_t far = x.lower ? (x.m - 1) * M : x.m - 1; /* the element of T farthest from its diagonal */
    for (int64_t i = 0; i < M * M; i++)
        set_value(x.dtype, t, i, i % M != i / M ? 0.5 : infinite_b ? 1 : x.solves ? tiny : 0);
    for (int64_t i = 0; i < M * N; i++) set_value(x.dtype, b, i, infinite_b ? (double)INFINITY : !x.solves);
    if (!infinite_b && !x.solves && x.m > 1) set_value(x.dtype, t, far, (double)INFINITY);
    if (!infinite_b && x.solves)
        set_value(x.dtype, b, (x.lower ? x.m - 1 : 0) * x.b_rs, tiny); /* whose quotient is 1 */
    if (infinite_b && x.solves)
        for (int64_t i = 0; i < M * M; i++)
            if (i % M != i / M) set_value(x.dtype, t, i, -0.5); /* sums of one sign */
    feclearexcept(FE_ALL_EXCEPT);
    return tw_lab_triangle_compute(context, &x) == TW_OK && !fetestexcept(FE_DIVBYZERO | FE_OVERFLOW | FE_INVALID);
}

static void exceptions(void)
{
    static const int64_t ms[] = {1, 3, 11, 12, 47, 48, 49};
    for (size_t l = 0; l < sizeof levels / sizeof *levels; l++) {
        if (!tap_case("exceptions of diagonal blocks, %s", levels[l])) continue;
        tw_context *context = open_with(levels[l], 1);
        if (context == NULL) continue;
        int wrong = 0;
        for (int i = 0; i < 32 * 7; i++)
            wrong += !raises_nothing(
                context,
                (tw_lab_triangle){
                    .dtype = i & 1 ? TW_F64 : TW_F32, .lower = i >> 1 & 1, .solves = i >> 2 & 1, .m = ms[i / 32]},
                i >> 3 & 1, i >> 4 & 1);
        tw_close(context);
        tap_result(wrong == 0, "%d of 224 blocks raised one", wrong);
    }
}

static void refused_blocks(void)
{
    static double t[16], b[16];
    tw_lab_triangle x = {TW_F64, 1, 0, 0, 4, 4, t, b, 4, 1, 4, 1, 1};
    expect("a block", tw_lab_triangle_compute(NULL, &x) == TW_OK);
    x.m = TW_LAB_TRIANGLE_EDGE + 1;
    expect("a block that is too high", tw_lab_triangle_compute(NULL, &x) == TW_BAD_ARGUMENT);
    x.m = 4, x.dtype = TW_I8;
    expect("a block of integers", tw_lab_triangle_compute(NULL, &x) == TW_BAD_ARGUMENT);
    x.dtype = TW_F64, x.b_cs = 2;
    expect("a block whose elements lie nowhere side by side", tw_lab_triangle_compute(NULL, &x) == TW_BAD_ARGUMENT);
    x.b_cs = 1, x.b = NULL;
    expect("a block without b", tw_lab_triangle_compute(NULL, &x) == TW_BAD_ARGUMENT);
    x.n = 0;
    expect("a block without columns", tw_lab_triangle_compute(NULL, &x) == TW_OK);
}

int main(int argc, char **argv)
{
    tap_start(argc, argv);
    triangles();
    batches();
    refusals();
    blocks();
    exceptions();
    refused_blocks();
    return tap_finish();
}
