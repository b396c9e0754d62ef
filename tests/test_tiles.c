/* test_tiles.c - the kernel of the matrix unit on machines that have none: its text with the unit's instructions in
 * plain C (fakes/tiles.c), in the loops and the panels of the library, against both oracles. tests/test_kernels runs
 * the row itself where there is a matrix unit. */
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engines/cpu/cpu_engine.h"
#include "support/guard.h"
#include "oracle.h"
#include "plan.h"
#include "support/tap.h"

cpu_micro r13_matrix_bf16, r13_matrix_i8;
cpu_gemv_kernel gemv_tiles_bf16, gemv_tiles_i8;

/* The product by the plan that a processor with a matrix unit would have, its kernel replaced; or by that plan made
 * smaller once. */
static bool multiply_by(const oracle *o, void *c, bool smaller, int threads, pool *pool)
{
    const device_facts facts = {
        .engine = "cpu", .features = CPU_amx, .threads = threads, .l1_bytes = 49152, .l2_bytes = 1 << 18};
    tw_problem p;
    plan made;
    if (problem_load(&o->problem, o->a, o->b, c, &p) != TW_OK || plan_find(&p, &facts, NULL, &made) != TW_OK)
        return false;
    if (smaller && !plan_shrink(&made)) return false;
    if (threads > 1 && !(made.cpu.divided && made.threads == threads)) return false;
    kernel_row row = *made.row;
    if (row.features != CPU_amx) return false;
    row.micro = p.dtype != TW_BF16 ? r13_matrix_i8 : r13_matrix_bf16, row.enter = row.leave = NULL;
    row.gemv = p.dtype != TW_BF16 ? gemv_tiles_i8 : gemv_tiles_bf16;
    made.row = &row;
    void *workspace = aligned_alloc(64, made.workspace_bytes > 0 ? made.workspace_bytes : 64); /* nothing behind it */
    product_run(&made, o->a, o->b, c, workspace, pool, NULL);
    free(workspace);
    return true;
}

static bool multiply(const oracle *o, void *c, bool smaller, pool *pool) { return multiply_by(o, c, smaller, 1, pool); }

/* C in shares, each packed by the thread that computes it, here one after the other. */
static void shares_case(pool *pool, tw_dtype dtype, tw_dtype dtype_c)
{
    tw_problem p = tw_problem_make(dtype, TW_N, TW_N, 300, 420, 500);
    p.dtype_c = dtype_c, p.alpha = 0.00390625, p.beta = 1, p.ldc += 3;
    if (!tap_case("%s to %s in shares", tw_lab_dtype_of(dtype)->name, tw_lab_dtype_of(dtype_c)->name)) return;
    if (kernel_named("cpu_i8_r13_matrix_amx") == NULL) {
        tap_skip("the table has no row of the matrix unit for this architecture");
        return;
    }
    oracle o;
    oracle_verdict verdict = {.text = "no such plan"};
    if (oracle_make(&p, ORACLE_BOUND, 7, 0, &o) == TW_OK) {
        void *c = malloc(oracle_c_bytes(&o));
        oracle_poison(&o, c);
        tw_threads_set(1);
        if (multiply_by(&o, c, false, 4, pool)) verdict = oracle_judge(&o, c);
        tw_threads_set(0);
        free(c);
        oracle_free(&o);
    }
    tap_result(verdict.passed, "%s", verdict.text);
}

/* A k of several chunks, whose sums are added by tasks of their own, or, in a smaller plan and of a C of another type,
 * panel by panel. */
static void chunk_case(pool *pool, tw_dtype dtype, tw_dtype dtype_c, int64_t k, bool smaller)
{
    tw_problem p = tw_problem_make(dtype, TW_N, TW_T, 33, 20, k);
    float c[33 * 20];
    p.alpha = -2, p.beta = 3, p.dtype_c = dtype_c;
    if (!tap_case("%s to %s 33x20x%d, in chunks%s", tw_lab_dtype_of(dtype)->name, tw_lab_dtype_of(dtype_c)->name,
                  (int)k, smaller ? " of panels" : ""))
        return;
    if (kernel_named("cpu_i8_r13_matrix_amx") == NULL) {
        tap_skip("the table has no row of the matrix unit for this architecture");
        return;
    }
    oracle_verdict verdict = {.passed = true};
    for (int kind = ORACLE_EXACT; verdict.passed && kind <= ORACLE_BOUND; kind++) {
        oracle o;
        verdict.passed = oracle_make_in_chunks(&p, (oracle_kind)kind, 7, 0, 8192, &o) == TW_OK;
        if (!verdict.passed) break;
        oracle_poison(&o, c);
        verdict.passed = multiply(&o, c, smaller, pool);
        if (verdict.passed) verdict = oracle_judge(&o, c);
        oracle_free(&o);
    }
    tap_result(verdict.passed, "%s", verdict.text);
}

/* alpha s + beta c0 is rounded as by every other kernel: beta c0, then once. The sums are those of k = 1. */
static void scaled_case(pool *pool, int64_t m, int64_t n)
{
    enum { MOST = 33 };
    if (!tap_case("bf16: alpha s + beta c0 is one fused multiply-add, %dx%d", (int)m, (int)n)) return;
    uint16_t a[MOST], b[MOST];
    float c[MOST * MOST], expected[MOST * MOST];
    oracle o = {.problem = tw_problem_make(TW_BF16, TW_N, TW_N, m, n, 1), .a = a, .b = b};
    const float alpha = 0.3f, beta = -1.7f;
    o.problem.alpha = alpha, o.problem.beta = beta;
    for (int i = 0; i < MOST; i++) a[i] = (uint16_t)(0x3f80 + 3 * i), b[i] = 0x3f80; /* 1 + 3 i / 128, and 1 */
    for (int e = 0; e < m * n; e++) {
        const float c0 = (float)e / 7000, scaled = beta * c0;
        c[e] = c0, expected[e] = fmaf(alpha, 1 + 3 * (float)(e / n) / 128, scaled);
    }
    const bool done = multiply(&o, c, false, pool);
    tap_result(done && memcmp(c, expected, (size_t)(m * n) * sizeof *c) == 0, "C has other bits");
}

int main(int argc, char **argv)
{
    static const int64_t ms[] = {1, 15, 16, 17, 31, 32, 33, 100}, ns[] = {1, 16, 17, 32, 33, 61, 64, 130},
                         ks[] = {0, 1, 2, 3, 15, 31, 32, 33, 63, 64, 65, 127, 1023, 1100};
    /* no float holds 2^24 + 1 */
    static const double scalars[][2] = {{1, 0}, {1, 1}, {-2, 3}, {0, 2}}, wide[2] = {16777217, -16777219};
    static const tw_dtype of_bytes[] = {TW_F32, TW_I8, TW_U8};
    pool *pool = NULL;
    tap_start(argc, argv);
    guard arena = guard_make(1 << 20);
    if (pool_open(POOL_WAIT_AUTO, &pool) != TW_OK) return 1;
    for (int x = 0; x < 2 * 8 * 8 * 14; x++) {
        /* bytes of both signs in turn */
        const tw_dtype bytes[2] = {x / 8 % 2 ? TW_U8 : TW_I8, x / 4 % 2 ? TW_U8 : TW_I8};
        tw_dtype dtype = x % 2 ? bytes[0] : TW_BF16;
        int64_t m = ms[x / 2 % 8], n = ns[x / 16 % 8], k = ks[x / 128];
        int variant = x / 2 + x / 16 + x / 128; /* of transposes, paddings and scalars, which go round */
        const int way = m == 1 || n == 1 ? 1 : k == 0 ? 2 : 0;
        if (!(tap_brings("%d %d m %d", dtype, way, (int)m) | tap_brings("%d %d n %d", dtype, way, (int)n) |
              tap_brings("%d %d k %d", dtype, way, (int)k) | tap_brings("%d %d op %d", dtype, way, variant % 4)))
            continue;
        if (!tap_case("%s by %s %c%c %dx%dx%d", tw_lab_dtype_of(dtype)->name,
                      tw_lab_dtype_of(x % 2 ? bytes[1] : dtype)->name, "nt"[variant / 2 % 2], "nt"[variant % 2], (int)m,
                      (int)n, (int)k))
            continue;
        if (kernel_named("cpu_i8_r13_matrix_amx") == NULL) {
            tap_skip("the table has no row of the matrix unit for this architecture");
            continue;
        }
        tw_problem p = tw_problem_make(dtype, (tw_op)(variant / 2 % 2), (tw_op)(variant % 2), m, n, k);
        if (x % 2) p.dtype_b = bytes[1];
        p.lda += variant % 3, p.ldb += variant % 5, p.ldc += variant % 2 * 7;
        p.alpha = scalars[variant % 4][0], p.beta = scalars[variant % 4][1];
        if (x % 2 && k <= 65 && variant % 4 == 2) p.alpha = wide[0], p.beta = wide[1];
        if (variant / 4 % 2) p.dtype_c = x % 2 ? of_bytes[variant / 8 % 3] : TW_BF16;
        if (x % 2 && p.dtype_c != 0) p.alpha = scalars[variant % 4][0] / 64, p.beta = scalars[variant % 4][1];
        bool passed = true;
        oracle_verdict verdict = {.passed = true};
        for (int kind = ORACLE_EXACT; passed && kind <= ORACLE_BOUND; kind++) {
            oracle o;
            passed = oracle_make(&p, (oracle_kind)kind, (uint64_t)x, 0, &o) == TW_OK;
            if (!passed) break;
            void *c = guard_place(&arena, oracle_c_bytes(&o), x % 4 < 2);
            oracle_poison(&o, c);
            passed = multiply(&o, c, false, pool);
            if (passed) verdict = oracle_judge(&o, c);
            passed = passed && verdict.passed;
            oracle_free(&o);
        }
        tap_result(passed, "%s", verdict.text);
    }
    for (int x = 0; x < 2 * 2 * 2; x++) {
        const tw_dtype dtype = x % 2 ? TW_I8 : TW_BF16;
        const int64_t k = x / 2 % 2 ? 16500 : 8200;
        chunk_case(pool, dtype, x % 2 ? TW_I32 : TW_F32, k, x / 4);
        chunk_case(pool, dtype, x % 2 ? TW_F32 : TW_BF16, k, x / 4);
    }
    shares_case(pool, TW_BF16, TW_F32), shares_case(pool, TW_BF16, TW_BF16);
    shares_case(pool, TW_I8, TW_F32), shares_case(pool, TW_U8, TW_I8);
    scaled_case(pool, 33, 20), scaled_case(pool, 1, 33), scaled_case(pool, 33, 1);
    pool_close(pool);
    return tap_finish();
}
