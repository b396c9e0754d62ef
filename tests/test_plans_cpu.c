/* test_plans_cpu.c - plans for made-up processors: blocks, what is packed, how threads divide a product; and a
 * problem's text. */
#include <inttypes.h>

#include "plan.h"
#include "support/expect.h"
#include "support/tap.h"
#include "tilewright_lab.h"

static float a[64]; /* an address, of which nothing is read */

/* As expect(), of plans with the tiles of x86-64's rows. */
static void expect_of_x86(const char *name, bool right)
{
    const bool here = kernel_named("cpu_f32_gemm_simd_avx512") != NULL;
    if (here)
        expect(name, right);
    else if (tap_case("%s", name))
        tap_skip("its rows are those of x86-64");
}

/* Where rows of B begin within a line, B is packed on a processor with an L1 of 48 KiB, and only where many tiles read
 * it, more of them where there are more threads. */
static void split_cases(void)
{
    static const struct {
        int64_t m, n, ldb, l1_bytes;
        cpu_features level;
        int threads;
        double beta;
        tw_dtype dtype;
        bool packs;
    } cases[] = {
        {1000, 1000, 1000, 49152, CPU_avx512, 1, 0, TW_F32, true},
        {1000, 1000, 1008, 49152, CPU_avx512, 1, 0, TW_F32, false},
        {1000, 1000, 1000, 32768, CPU_avx512, 1, 0, TW_F32, false},
        {1000, 120, 121, 49152, CPU_avx2, 1, 0, TW_F32, false},
        {1000, 1000, 1000, 49152, CPU_avx512, 16, 0, TW_F32, true},
        {1000, 1000, 1000, 49152, CPU_avx512, 1, 1, TW_F32, false},
        {400, 1000, 1000, 49152, CPU_avx512, 1, 0, TW_F32, true},
        {400, 1000, 1000, 49152, CPU_avx512, 16, 0, TW_F32, false},
        {100, 1000, 1000, 49152, CPU_avx512, 1, 0, TW_F32, false},
        {1000, 30, 33, 49152, CPU_avx512, 1, 0, TW_F32, false},
        {1000, 300, 300, 49152, CPU_avx512, 1, 0, TW_F64, true},
        {1000, 300, 304, 49152, CPU_avx512, 1, 0, TW_F64, false},
    };
    bool right = true;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const device_facts facts = {.engine = "cpu",
                                    .features = cases[i].level,
                                    .threads = cases[i].threads,
                                    .l1_bytes = cases[i].l1_bytes,
                                    .l2_bytes = 2097152};
        tw_problem p, made = tw_problem_make(cases[i].dtype, TW_N, TW_N, cases[i].m, cases[i].n, 400);
        plan one;
        made.ldb = cases[i].ldb, made.beta = cases[i].beta;
        if (problem_load(&made, a, a, a, &p) == TW_OK && plan_find(&p, &facts, NULL, &one) == TW_OK &&
            one.cpu.direct_b == !cases[i].packs)
            continue;
        printf("# case %zu\n", i);
        right = false;
    }
    expect("plans: B is packed where its rows split lines and a copy costs less", right);
}

/* Rows of B that are read at a time where C has few rows, and tasks that divide C's columns before its rows; sums
 * wherever k is longer and C's old elements are wanted. */
static void small_m_cases(void)
{
    static const struct {
        int64_t m, n, k, l1_bytes;
        cpu_features level;
        int threads;
        double beta;
        tw_dtype dtype;
        int64_t k_step;
    } cases[] = {
        {16, 4096, 4096, 49152, CPU_avx512, 1, 0, TW_F32, 32},   {16, 4096, 4096, 32768, CPU_avx512, 1, 0, TW_F32, 128},
        {16, 4096, 4096, 32768, CPU_avx2, 2, 1, TW_F64, 128},    {4, 4096, 4096, 49152, CPU_avx512, 16, 0, TW_F64, 32},
        {4, 4096, 4096, 32768, CPU_avx512, 1, 0, TW_F32, 8},     {4, 4096, 4096, 32768, CPU_avx512, 2, 0, TW_F32, 256},
        {4, 4096, 4096, 32768, CPU_avx2, 1, 0, TW_F32, 256},     {64, 400, 8192, 49152, CPU_avx512, 1, 0, TW_F32, 80},
        {16, 4096, 1000, 49152, CPU_avx512, 1, 1, TW_F32, 32},   {16, 100000, 200, 49152, CPU_avx512, 1, 0, TW_F32, 32},
        {16, 100000, 199, 49152, CPU_avx512, 1, 1, TW_F32, 200}, {16, 100000, 0, 49152, CPU_avx512, 1, 1, TW_F32, 4},
    };
    bool right = true;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const device_facts facts = {.engine = "cpu",
                                    .features = cases[i].level,
                                    .threads = cases[i].threads,
                                    .l1_bytes = cases[i].l1_bytes,
                                    .l2_bytes = 1048576};
        tw_problem p, made = tw_problem_make(cases[i].dtype, TW_N, TW_N, cases[i].m, cases[i].n, cases[i].k);
        plan one;
        made.beta = cases[i].beta;
        bool planned = problem_load(&made, a, a, a, &p) == TW_OK && plan_find(&p, &facts, NULL, &one) == TW_OK &&
                       one.cpu.small_m && one.cpu.direct_b && one.cpu.k_step == cases[i].k_step;
        planned = planned && one.cpu.kc >= one.cpu.k_step &&
                  (one.cpu.sum_bytes > 0) == (p.beta != 0 && p.k > one.cpu.k_step);
        for (plan less = one;
             planned &&
             plan_shrink(&less);) /* without memory: sums wherever k has several pieces, and none longer than a panel */
            planned = less.cpu.k_step >= 1 && less.cpu.k_step <= less.cpu.kc &&
                      (less.cpu.sum_bytes > 0) == (p.beta != 0 && p.k > less.cpu.k_step);
        planned = planned && (cases[i].threads == 1 ? one.cpu.task_n == one.cpu.macro_n
                                                    : one.cpu.task_m >= p.m && one.cpu.task_n < one.cpu.macro_n);
        if (planned) continue;
        printf("# case %zu: piece %" PRId64 ", kc %" PRId64 ", tasks of %" PRId64 " x %" PRId64 "\n", i, one.cpu.k_step,
               one.cpu.kc, one.cpu.task_m, one.cpu.task_n);
        right = false;
    }
    expect("plans: few rows of C read few rows of B at a time, along all columns of a task", right);
    const device_facts facts = {
        .engine = "cpu", .features = CPU_avx2, .threads = 1, .l1_bytes = 32768, .l2_bytes = 1048576};
    tw_problem p, made = tw_problem_make(TW_F32, TW_N, TW_N, 64, 200000, 1);
    plan one;
    made.ldb = INT64_C(1) << 62; /* B has one row, so any distance will do */
    expect("plans: and a distance of rows whose bytes no number holds",
           problem_load(&made, a, a, a, &p) == TW_OK && plan_find(&p, &facts, NULL, &one) == TW_OK && one.cpu.small_m);
}

/* Each of many threads copies the rows of B that it multiplies: more than twelve tiles of rows of C, or two where rows
 * of B conflict, but no more than 512, nor for fewer threads, a short k or few columns. Without memory it does not. */
static void own_copies(void)
{
    static const struct {
        tw_dtype dtype;
        cpu_features level;
        int threads;
        int64_t m, n, k, k_step, copy_n;
    } cases[] = {
        {TW_F32, CPU_avx512, 8, 64, 4096, 4096, 128, 96},   {TW_F32, CPU_avx512, 7, 64, 4096, 4096, 32, 0},
        {TW_F32, CPU_avx512, 8, 17, 4096, 4096, 128, 96},   {TW_F32, CPU_avx512, 8, 16, 4096, 4096, 32, 0},
        {TW_F32, CPU_avx512, 8, 97, 4097, 4096, 128, 96},   {TW_F32, CPU_avx512, 8, 96, 4097, 4096, 32, 0},
        {TW_F32, CPU_avx512, 8, 512, 4097, 4096, 128, 96},  {TW_F32, CPU_avx512, 8, 513, 4097, 4096, 0, 0},
        {TW_F32, CPU_avx512, 8, 97, 4097, 128, 128, 96},    {TW_F32, CPU_avx512, 8, 97, 4097, 127, 32, 0},
        {TW_F32, CPU_avx512, 8, 97, 384, 8000, 128, 96},    {TW_F32, CPU_avx512, 8, 97, 383, 8000, 84, 0},
        {TW_F32, CPU_avx2, 8, 191, 4097, 4096, 128, 128},   {TW_F32, CPU_avx2, 8, 192, 4097, 4096, 0, 0},
        {TW_F64, CPU_avx512, 16, 129, 4097, 4096, 128, 48}, {TW_F32, CPU_avx512, 16, 512, 4097, 200, 100, 96},
    };
    bool right = true;
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        const device_facts facts = {.engine = "cpu",
                                    .features = cases[i / 2].level,
                                    .threads = cases[i / 2].threads,
                                    .l1_bytes = 49152,
                                    .l2_bytes = 1048576};
        const int64_t k_step = cases[i / 2].k_step, copy_n = cases[i / 2].copy_n,
                      bytes = cases[i / 2].dtype == TW_F64 ? 8 : 4;
        tw_problem p,
            made = tw_problem_make(cases[i / 2].dtype, TW_N, TW_N, cases[i / 2].m, cases[i / 2].n, cases[i / 2].k);
        made.beta = i % 2 && made.k > 256;
        plan one, less;
        bool planned = problem_load(&made, a, a, a, &p) == TW_OK && plan_find(&p, &facts, NULL, &one) == TW_OK &&
                       one.cpu.small_m == (k_step > 0) && (k_step == 0 || one.cpu.k_step == k_step) &&
                       (i % 2 ? (one.cpu.copy_n > 0) == (copy_n > 0) : one.cpu.copy_n == copy_n) &&
                       one.cpu.copy_bytes % 64 == 0 &&
                       (int64_t)one.cpu.copy_bytes >= one.cpu.copy_n * one.cpu.k_step * bytes &&
                       (copy_n > 0) == (one.cpu.copy_bytes > 0);
        size_t bytes_before = one.workspace_bytes;
        for (less = one; planned && plan_shrink(&less); bytes_before = less.workspace_bytes)
            planned = less.workspace_bytes <= bytes_before;
        if (!planned)
            printf("# %" PRId64 " x %" PRId64 " x %" PRId64 ", %d threads: steps of %" PRId64 ", copies of %" PRId64
                   " columns, %zu bytes\n",
                   p.m, p.n, p.k, facts.threads, one.cpu.k_step, one.cpu.copy_n, one.cpu.copy_bytes);
        right = right && planned && less.cpu.copy_n == 0 && less.cpu.copy_bytes == 0;
    }
    expect_of_x86("plans: each of many threads copies the rows of B that it multiplies, where that pays", right);
}

/* Few rows of C, rows of B that lie a multiple of a page apart and take less than one: B is packed. */
static void conflicting_rows(void)
{
    const device_facts facts = {
        .engine = "cpu", .features = CPU_avx2, .threads = 1, .l1_bytes = 32768, .l2_bytes = 1048576};
    bool right = true;
    for (int64_t n = 64; n <= 4096; n *= 8)
        for (int64_t ldb = 4096; ldb <= 4104; ldb += 8) {
            tw_problem p, made = tw_problem_make(TW_F64, TW_N, TW_N, 48, n, 2048);
            plan one;
            made.ldb = ldb;
            const bool packs = n * 8 < 4096 && ldb == 4096;
            right = right && problem_load(&made, a, a, a, &p) == TW_OK && plan_find(&p, &facts, NULL, &one) == TW_OK &&
                    one.cpu.direct_b == !packs;
        }
    expect("plans: short rows of B that share cache sets are packed", right);
}

/* With AVX2, and no wider, B is packed though it fits the caches, of enough rows and columns and of operands that take
 * three eighths of the L2, and A beside it for few steps, many columns or many threads. */
static void copied_operands(void)
{
    static const struct {
        int64_t m, n, k;
        int threads;
        bool unpacked, direct_a, direct_b;
    } cases[] = {
        {127, 300, 300, 1, true, true, true},     {128, 300, 300, 1, false, true, false},
        {300, 127, 300, 1, true, true, true},     {300, 128, 300, 1, false, true, false},
        {181, 181, 180, 1, true, true, true},     {182, 181, 181, 1, false, true, false}, /* the L2 */
        {49, 500, 525, 1, true, true, true},      {50, 500, 525, 1, false, true, false},  /* which B takes */
        {50, 500, 524, 1, true, true, true},      {79, 500, 525, 2, true, true, true},
        {80, 500, 525, 2, false, true, false},    {700, 700, 63, 1, false, false, false},
        {650, 640, 63, 1, true, true, true},      {191, 4000, 63, 1, true, true, true},
        {192, 4000, 63, 1, false, false, false},  {300, 1599, 300, 1, false, true, false},
        {300, 1600, 300, 1, false, false, false}, {300, 300, 300, 7, false, true, false},
        {191, 300, 120, 8, true, true, true},     {192, 300, 120, 8, false, false, false},
        {192, 300, 31, 8, true, true, true},
    };
    bool right = true;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        device_facts facts = {.engine = "cpu", .threads = cases[i].threads, .l1_bytes = 32768, .l2_bytes = 1048576};
        tw_problem p, made = tw_problem_make(TW_F32, TW_N, TW_N, cases[i].m, cases[i].n, cases[i].k);
        plan one = {.threads = 0};
        facts.features = CPU_avx2;
        bool planned = problem_load(&made, a, a, a, &p) == TW_OK && plan_find(&p, &facts, NULL, &one) == TW_OK;
        if (!planned || one.cpu.unpacked != cases[i].unpacked || one.cpu.direct_a != cases[i].direct_a ||
            one.cpu.direct_b != cases[i].direct_b) {
            printf("# case %zu: unpacked %d, direct %d%d\n", i, one.cpu.unpacked, one.cpu.direct_a, one.cpu.direct_b);
            right = false;
        }
        facts.features = CPU_avx512;
        if (plan_find(&p, &facts, NULL, &one) != TW_OK || !one.cpu.direct_a) right = false;
    }
    expect_of_x86("plans: AVX2 packs B, and A where that pays", right);
}

/* Eight threads or more pack A of a C with more than 512 rows and columns, on cores with vectors of 64 bytes and an L1
 * of more than 32 KiB. */
static void packed_by_many(void)
{
    static const struct {
        int64_t m, n;
        cpu_features level;
        int threads;
        int64_t l1_bytes;
        tw_dtype dtype;
        uint32_t flags;
        int64_t k;
        int beta;
        bool packs;
    } cases[] = {
        {1000, 1000, CPU_avx512, 16, 49152, TW_F32, 0, 1000, 0, true},
        {1000, 1000, CPU_avx512, 8, 49152, TW_F64, 0, 1000, 0, true},
        {1000, 1000, CPU_avx512, 7, 49152, TW_F64, 0, 1000, 0, false},
        {1000, 1000, CPU_avx512, 16, 32768, TW_F32, 0, 1000, 0, false},
        {1000, 1000, CPU_base, 16, 49152, TW_F32, 0, 1000, 0, false},
        {513, 2000, CPU_avx512, 16, 49152, TW_F32, 0, 1000, 0, true},
        {512, 9000, CPU_avx512, 16, 49152, TW_F32, 0, 1000, 0, false},
        {2000, 513, CPU_avx512, 16, 49152, TW_F32, 0, 1000, 0, true},
        {2000, 512, CPU_avx512, 16, 49152, TW_F32, 0, 1000, 0, false},
        {513, 513, CPU_avx512, 16, 49152, TW_F32, 0, 1000, 0, false}, /* in place */
        {2000, 2000, CPU_avx512, 16, 49152, TW_F32, 0, 64, 0, true},
        {2000, 2000, CPU_avx512, 16, 49152, TW_F32, 0, 63, 0, false},
        {1000, 1000, CPU_avx512, 16, 49152, TW_F32, 0, 1000, 1, false},
        {1000, 1000, CPU_avx512, 16, 49152, TW_F32, TW_LOWER, 1000, 0, false},
        {1000, 1000, CPU_avx512, 16, 49152, TW_CF32, 0, 1000, 0, false},
    };
    bool right = true;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const device_facts facts = {.engine = "cpu",
                                    .features = cases[i].level,
                                    .threads = cases[i].threads,
                                    .l1_bytes = cases[i].l1_bytes,
                                    .l2_bytes = 2097152};
        tw_problem p, made = tw_problem_make(cases[i].dtype, TW_N, TW_N, cases[i].m, cases[i].n, cases[i].k);
        plan one;
        made.flags = cases[i].flags, made.beta = cases[i].beta;
        bool planned = problem_load(&made, a, a, a, &p) == TW_OK && plan_find(&p, &facts, NULL, &one) == TW_OK &&
                       one.cpu.direct_a == !cases[i].packs;
        if (!planned) printf("# case %zu: A is %s\n", i, cases[i].packs ? "not packed" : "packed");
        right = right && planned;
    }
    expect_of_x86("plans: many threads pack A", right);
}

/* A triangle of C is half the work, so it takes half the threads. */
static void triangles(void)
{
    const device_facts facts = {
        .engine = "cpu", .features = CPU_avx2, .threads = 1000, .l1_bytes = 32768, .l2_bytes = 1048576};
    tw_problem p, made = tw_problem_make(TW_F64, TW_N, TW_T, 256, 256, 256);
    plan whole, part;
    bool planned = problem_load(&made, a, a, a, &p) == TW_OK && plan_find(&p, &facts, NULL, &whole) == TW_OK;
    made.flags = TW_LOWER;
    planned = planned && problem_load(&made, a, a, a, &p) == TW_OK && plan_find(&p, &facts, NULL, &part) == TW_OK;
    expect("plans: a triangle takes half the threads",
           planned && whole.threads > 1 && (part.threads == whole.threads / 2) && !part.cpu.unpacked);
}

/* Small products of several threads: rows divided, or, where there are few, columns; each part a product in place; of a
 * transposed one whole lines of C. */
static void unpacked_cases(void)
{
    static const struct {
        int64_t m, n, k;
        tw_op op;
        int threads, wanted; /* of the device; of the plan */
        int64_t least, most; /* tasks */
    } cases[] = {
        {128, 128, 128, TW_N, 4, 4, 8, 11},    {180, 180, 180, TW_N, 4, 4, 12, 16}, {4, 2000, 200, TW_N, 4, 4, 4, 8},
        {60, 60, 60, TW_N, 4, 1, 1, 1},        {96, 96, 96, TW_N, 4, 4, 4, 4},      {100, 100, 100, TW_T, 2, 2, 3, 4},
        {146, 146, 146, TW_N, 16, 16, 15, 15}, {200000, 4, 4, TW_N, 1, 1, 1, 1},
    };
    bool right = true;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const device_facts facts = {
            .engine = "cpu", .features = CPU_avx2, .threads = cases[i].threads, .l1_bytes = 32768, .l2_bytes = 1048576};
        tw_problem p, made = tw_problem_make(TW_F32, cases[i].op, cases[i].op, cases[i].m, cases[i].n, cases[i].k);
        plan one;
        bool planned = problem_load(&made, a, a, a, &p) == TW_OK && plan_find(&p, &facts, NULL, &one) == TW_OK &&
                       one.cpu.unpacked && one.workspace_bytes == 0 && one.threads == cases[i].wanted;
        const int64_t tasks = planned ? ceil_div(one.cpu.unpacked_shape.m, one.cpu.task_m) *
                                            ceil_div(one.cpu.unpacked_shape.n, one.cpu.task_n)
                                      : 0;
        planned = planned && one.in_place && one.at_once == (one.threads == 1) &&
                  one.cpu.unpacked_shape.transposed == (cases[i].op == TW_T) &&
                  (one.threads == 1 || (tasks >= cases[i].least && tasks <= cases[i].most));
        planned = planned && (!one.cpu.unpacked_shape.transposed || one.cpu.task_m >= 16);
        if (planned) continue;
        printf("# case %zu: threads %d, %" PRId64 " tasks of %" PRId64 " x %" PRId64 "\n", i, one.threads, tasks,
               one.cpu.task_m, one.cpu.task_n);
        right = false;
    }
    const device_facts wide = {
        .engine = "cpu", .features = CPU_avx512, .threads = 2, .l1_bytes = 32768, .l2_bytes = 1048576};
    tw_problem p, made = tw_problem_make(TW_CF32, TW_N, TW_N, 100, 100, 100);
    plan one;
    right = right && problem_load(&made, a, a, a, &p) == TW_OK && plan_find(&p, &wide, NULL, &one) == TW_OK &&
            one.cpu.unpacked && !one.in_place; /* its scalars are complex */
    expect("plans: small products of several threads are computed in place, part by part", right);
}

/* The work of the thread that ends last, in parts of an even share: each task goes to the thread that is free first. */
static double last_share(const plan *x)
{
    const tw_problem *p = &x->problem;
    const cpu_plan *cpu = &x->cpu;
    double busy[64] = {0}, all = 0, last = 0;
    for (int64_t p0 = 0; p0 < p->k; p0 += cpu->kc)
        for (int64_t j = 0; j < p->n; j += cpu->task_n)
            for (int64_t i = 0; i < p->m; i += cpu->task_m) {
                int first = 0;
                for (int t = 1; t < x->threads; t++)
                    if (busy[t] < busy[first]) first = t;
                const double work = (double)min_i64(cpu->task_m, p->m - i) * (double)min_i64(cpu->task_n, p->n - j);
                busy[first] += work, all += work;
                if (busy[first] > last) last = busy[first];
            }
    return last / (all / x->threads);
}

/* How many threads there are, and how many are woken: by work, types, transposes and triangles. */
static void counted_threads(void)
{
    static const struct {
        tw_dtype dtype;
        tw_op op_b;
        int64_t m, n, k;
        uint32_t flags;
        cpu_features level;
        int64_t l1_bytes;
        int threads, wanted, woken; /* of the device; of the plan */
    } cases[] = {
        {TW_F32, TW_N, 58, 58, 58, 0, CPU_avx512, 49152, 16, 1, 1}, /* two, which save less than a hand-off */
        {TW_F32, TW_N, 64, 64, 64, 0, CPU_avx512, 49152, 16, 4, 1},
        {TW_F64, TW_N, 64, 64, 64, 0, CPU_avx512, 49152, 16, 8, 1},
        {TW_F32, TW_N, 128, 128, 128, 0, CPU_avx512, 49152, 16, 16, 1},
        {TW_F32, TW_N, 80, 80, 80, 0, CPU_avx512, 49152, 2, 1, 1}, /* two on one core */
        {TW_F32, TW_N, 81, 81, 81, 0, CPU_avx512, 49152, 2, 2, 1},
        {TW_F32, TW_N, 63, 63, 63, 0, CPU_avx512, 32768, 2, 1, 1},
        {TW_F32, TW_N, 64, 64, 64, 0, CPU_avx512, 32768, 2, 2, 1},
        {TW_F32, TW_N, 63, 63, 63, 0, CPU_avx2, 32768, 2, 1, 1},
        {TW_F32, TW_N, 64, 64, 64, 0, CPU_avx2, 32768, 2, 2, 1},
        {TW_F32, TW_T, 80, 80, 80, 0, CPU_avx512, 49152, 16, 1, 1}, /* B is packed */
        {TW_F32, TW_T, 128, 128, 128, 0, CPU_avx512, 49152, 16, 8, 1},
        {TW_CF32, TW_N, 64, 64, 64, 0, CPU_avx512, 49152, 16, 4, 1},
        {TW_F32, TW_N, 80, 80, 80, TW_LOWER, CPU_avx512, 32768, 16, 1, 1},
        {TW_F32, TW_N, 102, 102, 102, TW_LOWER, CPU_avx512, 32768, 16, 2, 1},
        {TW_F32, TW_T, 81, 81, 81, 0, CPU_avx512, 32768, 2, 2, 1},
        {TW_F32, TW_N, 128, 128, 128, 0, CPU_avx512, 49152, 128, 16, 1}, /* more than were measured */
        {TW_F32, TW_N, 256, 256, 256, 0, CPU_avx512, 49152, 128, 64, 10},
        {TW_F32, TW_N, 10000, 10000, 0, 0, CPU_avx512, 49152, 16, 16, 16},
        {TW_BF16, TW_N, 10000, 10000, 0, 0, CPU_amx, 49152, 16, 16, 11},
        {TW_BF16, TW_N, 128, 128, 128, 0, CPU_amx, 49152, 16, 1, 1},
        {TW_BF16, TW_N, 160, 160, 160, 0, CPU_amx, 49152, 16, 3, 1},
        {TW_BF16, TW_N, 162, 162, 162, 0, CPU_amx, 49152, 2, 2, 1},
        {TW_BF16, TW_N, 128, 128, 128, 0, CPU_avx2, 32768, 2, 2, 1},
        {TW_BF16, TW_N, 16, 1024, 1024, 0, CPU_amx, 49152, 16, 8, 8}, /* few rows: all are woken */
        {TW_BF16, TW_N, 16, 512, 700, 0, CPU_amx, 49152, 16, 2, 2},
        {TW_BF16, TW_N, 1000, 1, 5000, 0, CPU_amx, 49152, 16, 16, 12}, /* nothing is packed */
        {TW_BF16, TW_N, 200, 1, 1000, 0, CPU_amx, 49152, 16, 3, 1},
        {TW_BF16, TW_N, 131, 1, 1000, 0, CPU_amx, 49152, 16, 1, 1},
        {TW_I8, TW_N, 1, 1000, 1000, 0, CPU_amx, 49152, 16, 15, 2},
        {TW_BF16, TW_N, 1000, 1, 5000, 0, CPU_avx512_bf16, 49152, 16, 2, 2}, /* both are packed here */
        {TW_F16, TW_N, 1000, 1, 5000, 0, CPU_amx, 49152, 16, 2, 2},          /* not measured with more */
    };
    bool right = true;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const device_facts facts = {.engine = "cpu",
                                    .features = cases[i].level,
                                    .threads = cases[i].threads,
                                    .l1_bytes = cases[i].l1_bytes,
                                    .l2_bytes = 2097152};
        tw_problem p, made = tw_problem_make(cases[i].dtype, TW_N, cases[i].op_b, cases[i].m, cases[i].n, cases[i].k);
        plan one = {.threads = 0};
        made.flags = cases[i].flags, made.beta = cases[i].k == 0 ? 0.5 : 0;
        if (problem_load(&made, a, a, a, &p) == TW_OK && plan_find(&p, &facts, NULL, &one) == TW_OK &&
            one.threads == cases[i].wanted && one.woken == cases[i].woken)
            continue;
        printf("# case %zu: threads %d, woken %d\n", i, one.threads, one.woken);
        right = false;
    }
    expect_of_x86("plans: threads by the work that they take off the caller", right);
}

/* No thread has more than a tenth above its share, of products in place, of one panel, of few rows and GEMV. */
static void even_cases(void)
{
    static const struct {
        int64_t m, n, k;
        int threads, wanted; /* of the device; of the plan */
        tw_dtype dtype;
    } cases[] = {
        {73, 73, 73, 16, 5, TW_F32},      {189, 189, 189, 16, 16, TW_F32},  {112, 112, 112, 16, 16, TW_F64},
        {91, 91, 91, 16, 11, TW_F32},     {128, 128, 128, 16, 16, TW_F32},  {128, 128, 128, 16, 16, TW_F64},
        {160, 160, 160, 16, 16, TW_F64},  {192, 192, 192, 16, 16, TW_F32},  {192, 192, 192, 16, 16, TW_F64},
        {96, 96, 96, 16, 16, TW_F64},     {96, 96, 96, 2, 2, TW_F32},       {256, 256, 256, 16, 16, TW_F32},
        {320, 320, 320, 16, 16, TW_F64},  {4096, 4096, 64, 16, 16, TW_F32}, {64, 4096, 4096, 16, 16, TW_F32},
        {64, 4096, 4096, 16, 16, TW_F64}, {4096, 64, 4096, 16, 16, TW_F32}, {1412, 1, 4529, 16, 16, TW_F32},
    };
    bool right = true;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const device_facts facts = {.engine = "cpu",
                                    .features = CPU_avx512,
                                    .threads = cases[i].threads,
                                    .l1_bytes = 49152,
                                    .l2_bytes = 2097152};
        tw_problem p, made = tw_problem_make(cases[i].dtype, TW_N, TW_N, cases[i].m, cases[i].n, cases[i].k);
        plan one = {.threads = 0};
        bool planned = problem_load(&made, a, a, a, &p) == TW_OK && plan_find(&p, &facts, NULL, &one) == TW_OK &&
                       one.threads == cases[i].wanted && last_share(&one) <= 1.1;
        if (planned) continue;
        printf("# case %zu: threads %d, tasks of %" PRId64 " x %" PRId64 ", the last has %.2f of its share\n", i,
               one.threads, one.cpu.task_m, one.cpu.task_n, one.threads > 0 ? last_share(&one) : 0);
        right = false;
    }
    expect("plans: no thread has much more work than another", right);
}

/* A small C and a long k: both operands are read in place, but A is packed where more than 16 rows are a multiple of 64
 * KiB apart, and more than two tiles and 64 columns of f32, 32 of f64, use the copy. */
static void long_k_cases(void)
{
    static const struct {
        cpu_features level;
        tw_dtype dtype;
        int64_t m, n, lda;
        bool direct_a, packs_b; /* packs_b: with AVX2, beside A */
    } cases[] = {{CPU_avx512, TW_F32, 64, 128, 65536, false}, {CPU_avx512, TW_F32, 64, 128, 65552, true},
                 {CPU_avx512, TW_F32, 64, 96, 65536, true},   {CPU_avx512, TW_F32, 64, 97, 16384, false},
                 {CPU_avx512, TW_F32, 64, 128, 8192, true},   {CPU_avx512, TW_F32, 16, 128, 65536, true},
                 {CPU_avx512, TW_F32, 17, 128, 65536, false}, {CPU_avx512, TW_F64, 64, 96, 8192, false},
                 {CPU_avx512, TW_F64, 64, 96, 12288, true},   {CPU_avx2, TW_F32, 64, 64, 65536, false, true},
                 {CPU_avx2, TW_F32, 64, 63, 65536, true}};
    bool right = true;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const device_facts facts = {
            .engine = "cpu", .features = cases[i].level, .threads = 1, .l1_bytes = 49152, .l2_bytes = 2097152};
        tw_problem p, made = tw_problem_make(cases[i].dtype, TW_N, TW_N, cases[i].m, cases[i].n, 8192);
        plan one = {.threads = 0};
        made.lda = cases[i].lda;
        if (problem_load(&made, a, a, a, &p) == TW_OK && plan_find(&p, &facts, NULL, &one) == TW_OK &&
            one.cpu.direct_a == cases[i].direct_a && one.cpu.direct_b == !cases[i].packs_b)
            continue;
        printf("# case %zu: direct %d%d\n", i, one.cpu.direct_a, one.cpu.direct_b);
        right = false;
    }
    expect_of_x86("plans: a long A is packed where its rows alias in the L2 and more than two tiles read them", right);
}

/* A k of several chunks: of a C of few tiles, or of one row or column, threads share chunks, and of each as much of C
 * as gives two tasks a thread, or one where each would read more of the other operand than of its own; of a C of many
 * tiles they share its tiles. Without memory the sum of the chunks before lies in C, where that holds nothing else. */
static void divided_cases(void)
{
    static const struct {
        int64_t m, n, k;
        int threads;
        uint32_t flags;
        int64_t share_m, share_n; /* 0: not divided */
    } cases[] = {
        {128, 128, 65536, 2, 0, 128, 128}, {128, 128, 65536, 16, 0, 64, 128},  {64, 64, 8192, 2, 0, 0, 0},
        {64, 64, 8193, 2, 0, 32, 64},      {64, 64, 8193, 1, 0, 64, 64},       {1, 1, 1000000, 2, 0, 1, 1},
        {1, 5000, 20000, 4, 0, 1, 1680},   {5000, 1, 20000, 4, 0, 1672, 1},    {1, 5000, 8192, 4, 0, 0, 0},
        {256, 256, 65536, 4, 0, 0, 0},     {256, 256, 65536, 48, 0, 48, 256},  {128, 128, 65536, 2, TW_UPPER, 0, 0},
        {8, 3000, 16384, 16, 0, 8, 192},   {9000, 9000, 20000, 16, 0, 0, 0},   {128, 128, 65000, 16, 0, 64, 128},
        {128, 128, 64000, 16, 0, 32, 128}, {384, 384, 65536, 16, 0, 0, 0},     {256, 192, 65536, 16, 0, 128, 192},
        {64, 512, 65536, 16, 0, 64, 144},  {384, 192, 65536, 16, 0, 192, 192}, {384, 192, 24576, 16, 0, 40, 192},
        {384, 192, 16384, 16, 0, 0, 0},    {384, 192, 18432, 16, 0, 40, 192},  {384, 192, 18431, 16, 0, 0, 0},
        {400, 192, 24576, 24, 0, 0, 0},    {512, 192, 65536, 16, 0, 256, 192}, {520, 192, 65536, 16, 0, 0, 0},
    };
    bool right = true;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const device_facts facts = {.engine = "cpu",
                                    .features = CPU_avx512,
                                    .threads = cases[i].threads,
                                    .l1_bytes = 32768,
                                    .l2_bytes = 1048576};
        tw_problem p, made = tw_problem_make(TW_F32, TW_N, TW_T, cases[i].m, cases[i].n, cases[i].k);
        plan one = {.threads = 0};
        made.flags = cases[i].flags;
        bool planned = problem_load(&made, a, a, a, &p) == TW_OK && plan_find(&p, &facts, NULL, &one) == TW_OK &&
                       one.threads == cases[i].threads && one.cpu.divided == (cases[i].share_m > 0) &&
                       one.cpu.share_m == cases[i].share_m && one.cpu.share_n == cases[i].share_n;
        plan less = one;
        while (planned && plan_shrink(&less))
            planned = !less.cpu.divided && less.cpu.kc <= 8192 &&
                      (less.cpu.total_bytes > 0) == (p.k > 8192 && (p.flags != 0 || less.cpu.k_step < 8192));
        if (planned) continue;
        printf("# case %zu: divided %d, threads %d, shares of %" PRId64 " x %" PRId64 "\n", i, one.cpu.divided,
               one.threads, one.cpu.share_m, one.cpu.share_n);
        right = false;
    }
    expect_of_x86("plans: threads share the chunks of a long k where C has few tiles", right);
    static const struct {
        tw_dtype dtype;
        int64_t k;
        int threads;
        int64_t chunk, share_m;
    } others[] = {{TW_I8, 65536, 16, 4096, 128},  {TW_I8, 65536, 2, 8192, 128},   {TW_U8, 16000, 16, 2048, 32},
                  {TW_BF16, 65536, 16, 8192, 64}, {TW_F64, 65536, 16, 4096, 128}, {TW_F64, 65536, 8, 4096, 128},
                  {TW_F64, 65536, 4, 4096, 0}};
    right = true;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const device_facts facts = {
            .engine = "cpu", .features = CPU_amx, .threads = others[i].threads, .l1_bytes = 49152, .l2_bytes = 2097152};
        tw_problem p, made = tw_problem_make(others[i].dtype, TW_N, TW_N, 128, 128, others[i].k);
        plan one = {.threads = 0};
        if (problem_load(&made, a, a, a, &p) == TW_OK && plan_find(&p, &facts, NULL, &one) == TW_OK &&
            one.cpu.divided == (others[i].share_m > 0) && one.cpu.share_m == others[i].share_m &&
            (!one.cpu.divided || one.cpu.chunk == others[i].chunk))
            continue;
        printf("# case %zu: divided %d, chunks of %" PRId64 ", shares of %" PRId64 " rows\n", i, one.cpu.divided,
               one.cpu.chunk, one.cpu.share_m);
        right = false;
    }
    static const struct {
        int threads;
        tw_dtype dtype;
        tw_op op_b;
        int64_t m, n, k;
        int beta;
        int64_t share_m, share_n; /* 0: the five loops */
    } alone[] = {
        {16, TW_BF16, TW_N, 512, 512, 512, 1, 128, 128},
        {16, TW_BF16, TW_N, 64, 4096, 4096, 0, 64, 256},
        {16, TW_BF16, TW_N, 64, 4096, 4096, 1, 0, 0},
        {16, TW_I8, TW_N, 4096, 64, 4096, 0, 0, 0}, /* tall: B is woven together */
        {7, TW_I8, TW_N, 4096, 64, 4096, 0, 608, 64},
        {17, TW_I8, TW_N, 4096, 64, 4096, 0, 256, 64},
        {16, TW_I8, TW_T, 4096, 64, 4096, 0, 256, 64},
        {16, TW_I8, TW_N, 4096, 32, 4096, 0, 256, 32},
        {16, TW_BF16, TW_N, 2753, 168, 1104, 0, 0, 0},
        {16, TW_BF16, TW_N, 251, 2519, 1261, 0, 251, 160}, /* wide: each copies A */
        {8, TW_BF16, TW_N, 251, 2519, 1261, 0, 251, 320},
        {7, TW_BF16, TW_N, 251, 2519, 1261, 0, 0, 0},
        {17, TW_BF16, TW_N, 251, 2519, 1261, 0, 0, 0},
        {16, TW_BF16, TW_T, 251, 2519, 1261, 0, 0, 0},
        {16, TW_BF16, TW_N, 768, 1536, 2000, 0, 384, 192},
        {16, TW_BF16, TW_N, 200, 16384, 2000, 0, 200, 1024},
        {16, TW_BF16, TW_N, 200, 16385, 2000, 0, 0, 0},
        {16, TW_BF16, TW_N, 769, 1538, 2000, 0, 0, 0},
        {16, TW_BF16, TW_N, 768, 1535, 2000, 0, 0, 0},
        {16, TW_BF16, TW_N, 2048, 2048, 2048, 0, 0, 0},
        {16, TW_I8, TW_N, 2048, 2048, 2048, 0, 0, 0},
        {16, TW_BF16, TW_N, 4096, 4096, 0, 1, 0, 0},
        {16, TW_F32, TW_N, 768, 768, 768, 0, 0, 0},
        {16, TW_BF16, TW_N, 384, 384, 384, 0, 0, 0},
        {16, TW_BF16, TW_N, 100000, 100000, 16, 0, 0, 0},
        {16, TW_BF16, TW_N, 16, 1024, 1024, 0, 16, 128},
        {16, TW_BF16, TW_N, 16, 1024, 2000, 0, 16, 96},
        {16, TW_I8, TW_N, 32, 9000, 8200, 0, 0, 0}, /* of a share k would be divided again */
    };
    for (size_t i = 0; i < sizeof alone / sizeof *alone; i++) {
        const device_facts facts = {
            .engine = "cpu", .features = CPU_amx, .threads = alone[i].threads, .l1_bytes = 49152, .l2_bytes = 2097152};
        tw_problem p, made = tw_problem_make(alone[i].dtype, TW_N, alone[i].op_b, alone[i].m, alone[i].n, alone[i].k);
        plan one = {.threads = 0};
        made.beta = alone[i].beta;
        if (problem_load(&made, a, a, a, &p) == TW_OK && plan_find(&p, &facts, NULL, &one) == TW_OK &&
            one.cpu.divided == (alone[i].share_m > 0) && one.cpu.share_m == alone[i].share_m &&
            one.cpu.share_n == alone[i].share_n)
            continue;
        printf("# alone %zu: divided %d, shares of %" PRId64 " x %" PRId64 "\n", i, one.cpu.divided, one.cpu.share_m,
               one.cpu.share_n);
        right = false;
    }
    expect_of_x86("plans: chunks of integers are as many as threads; threads of the matrix unit pack for themselves",
                  right);
}

/* Plans over many shapes and made-up devices: blocks are multiples of the micro-tile, cover C, and fit the workspace
 * stated. */
static void plan_cases(void)
{
    static const int64_t lengths[] = {1, 5, 48, 333, 1000, 4097, 100000};
    static const device_facts devices[] = {
        {.engine = "cpu", .features = CPU_base, .threads = 1, .l1_bytes = 16384, .l2_bytes = 131072},
        {.engine = "cpu",
         .features = CPU_avx2,
         .threads = 8,
         .l1_bytes = 32768,
         .l2_bytes = 524288,
         .l3_bytes = 33554432},
        {.engine = "cpu",
         .features = CPU_avx512,
         .threads = 128,
         .l1_bytes = 49152,
         .l2_bytes = 2097152,
         .l3_bytes = 268435456},
    };
    bool multiples = true, covers = true, threads = true, woken = true, same = true, text_fits = true;
    for (size_t d = 0; d < 3; d++)
        for (int x = 0; x < 7 * 7 * 7 * 2; x++) {
            tw_problem p, made = tw_problem_make(x % 2 ? TW_F32 : TW_F64, TW_N, TW_T, lengths[x / 2 % 7],
                                                 lengths[x / 14 % 7], lengths[x / 98]);
            made.beta = x % 3;
            plan one, two;
            char text[256];
            if (problem_load(&made, a, a, a, &p) != TW_OK || plan_find(&p, &devices[d], NULL, &one) != TW_OK ||
                plan_find(&p, &devices[d], NULL, &two) != TW_OK) {
                covers = false;
                continue;
            }
            int64_t mr = one.row->lab.tile_m, nr = one.row->lab.tile_n;
            multiples = multiples && one.cpu.macro_m % mr == 0 && one.cpu.task_m % mr == 0 &&
                        one.cpu.macro_n % nr == 0 && one.cpu.task_n % nr == 0;
            const bool gemv = p.m == 1 || p.n == 1, divided = one.cpu.divided; /* of a line nothing is packed */
            const int64_t chunk = p.dtype == TW_F64 ? 4096 : 8192;
            const size_t blocks = (one.cpu.packs_ahead ? 2 : 1) * (one.cpu.a_bytes + one.cpu.b_bytes) +
                                  one.cpu.sum_bytes + one.cpu.total_bytes;
            covers = covers && one.cpu.gemv == gemv && one.cpu.kc <= chunk && one.cpu.chunk == chunk &&
                     (!gemv ||
                      (one.cpu.direct_a && one.cpu.direct_b && blocks == 0 && one.cpu.kc == min_i64(p.k, chunk)));
            covers = covers && divided == (p.k > chunk && (gemv || divided)) &&
                     one.cpu.macro_m >= (divided ? one.cpu.share_m
                                         : gemv  ? p.m
                                                 : 1) &&
                     one.cpu.macro_n >= (divided ? one.cpu.share_n
                                         : gemv  ? p.n
                                                 : 1);
            covers = covers && one.cpu.task_m <= one.cpu.macro_m && one.cpu.task_n <= one.cpu.macro_n &&
                     one.cpu.kc >= 1 &&
                     one.workspace_bytes ==
                         (divided ? (size_t)ceil_div(p.k, chunk) * one.cpu.chunk_bytes + (size_t)one.threads * blocks
                                  : blocks) &&
                     (one.cpu.direct_a || one.cpu.a_bytes >= (size_t)(one.cpu.macro_m * one.cpu.kc) *
                                                                 (size_t)tw_lab_dtype_of(p.dtype)->bytes) &&
                     one.cpu.direct_a == (one.cpu.a_bytes == 0) && one.cpu.direct_b == gemv &&
                     (one.cpu.b_bytes > 0) == !gemv &&
                     (divided || p.beta == 0 || p.k <= one.cpu.kc || one.cpu.sum_bytes > 0);
            threads = threads && one.threads >= 1 && one.threads <= devices[d].threads;
            /* of little work few are woken, of much all */
            woken = woken && one.woken >= 1 && one.woken <= one.threads &&
                    (one.woken == one.threads ||
                     (double)p.m * (double)p.n * (double)p.k < 4 * 393216.0 * (double)one.threads);
            same = same && one.cpu.macro_m == two.cpu.macro_m && one.cpu.kc == two.cpu.kc &&
                   one.threads == two.threads && one.row == two.row;
            plan_text(&one, text, sizeof text);
            text_fits = text_fits && strlen(text) < sizeof text - 1;
        }
    expect("plans: blocks are multiples of the micro-tile", multiples);
    expect("plans: blocks cover C and fit their workspace", covers);
    expect("plans: threads within the device's", threads);
    expect("plans: threads that sleep are woken for enough work", woken);
    expect("plans: the same problem has the same plan", same);
    expect("plans: their text fits", text_fits);
    split_cases();
    small_m_cases();
    own_copies();
    conflicting_rows();
    copied_operands();
    packed_by_many();
    triangles();
    unpacked_cases();
    counted_threads();
    even_cases();
    long_k_cases();
    divided_cases();
    plan shared, alone;
    tw_problem p, square = tw_problem_make(TW_F32, TW_N, TW_N, 1000, 1000, 1000);
    bool planned = problem_load(&square, a, a, a, &p) == TW_OK &&
                   plan_find(&p, &devices[2], &(tw_lab_choice){.kernel = "cpu_f32_r11_warp_base", .tile = 400},
                             &shared) == TW_OK &&
                   plan_find(&p, &devices[2], &(tw_lab_choice){.kernel = "cpu_f32_r10_register_base", .tile = 400},
                             &alone) == TW_OK;
    expect("plans: r11 has a thread and a workspace for each of its blocks, r10 one of each",
           planned && shared.threads == 9 && alone.threads == 1 && shared.workspace_bytes == 9 * alone.workspace_bytes);
}

/* Where k of a complex product is divided is part of its bits: the same for every problem of one k, whatever is packed,
 * and however short memory is. */
static void complex_panels(void)
{
    static const int64_t lengths[] = {1, 2, 7, 40, 300, 2000};
    bool same = true, bounded = true;
    for (const cpu_set *set = cpu_sets; set->name != NULL; set++)
        for (int64_t k = 1; k <= 4097; k = k * 3 / 2 + 1) {
            const device_facts facts = {
                .engine = "cpu", .features = set->features, .threads = 8, .l1_bytes = 32768, .l2_bytes = 1 << 20};
            int64_t panel[2] = {0, 0};
            for (int x = 0; x < 6 * 6 * 16 * 2; x++) {
                tw_problem p, made = tw_problem_make(x / 576 ? TW_CF64 : TW_CF32, (tw_op)(x % 4), (tw_op)(x / 4 % 4),
                                                     lengths[x / 16 % 6], lengths[x / 96 % 6], k);
                plan out;
                made.beta_imaginary = x % 3, made.ldb += x % 5;
                if (problem_load(&made, a, a, a, &p) != TW_OK || plan_find(&p, &facts, NULL, &out) != TW_OK) {
                    same = false;
                    continue;
                }
                int64_t *kc = &panel[x / 576];
                if (*kc == 0) *kc = min_i64(out.cpu.kc, k);
                bounded = bounded && out.cpu.kc <= out.row->lab.tile_k;
                do same = same && min_i64(out.cpu.kc, k) == *kc && min_i64(out.cpu.k_step, k) == *kc;
                while (plan_shrink(&out));
            }
        }
    expect("plans: k of complex types is divided the same for each problem of one k", same);
    expect("plans: a panel of complex types is no deeper than the row's", bounded);
}

int main(int argc, char **argv)
{
    tap_start(argc, argv);
    plan_cases();
    complex_panels();
    return tap_finish();
}
