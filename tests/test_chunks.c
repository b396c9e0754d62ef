/* test_chunks.c - products of a k longer than a chunk: every element has the bits that the rule gives it (chunks of
 * 8192 steps of k, of 4096 in f64, each one ascending sum from 0; these sums added in ascending order), as plain loops
 * state it, for every instruction set, number of threads, neighbour, place in a batch, and however short memory is. */
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "engines/cpu/cpu_engine.h"
#include "oracle.h"
#include "plan.h"
#include "support/guard.h"
#include "support/tap.h"

enum { ROWS = 9, COLS = 50 }; /* a small C; below, larger ones of more tiles than are divided */
static const int64_t larger[3][3][2] = {{{40, 60}, {70, 50}, {80, 50}}, /* by the edges of base, AVX2, AVX-512 */
                                        {{60, 120}, {100, 80}, {200, 50}},
                                        {{72, 400}, {136, 200}, {280, 60}}};

#if defined(__x86_64__)
enum { BASE_ROUNDS_TWICE = 1 }; /* no multiply-add in one instruction */
#else
enum { BASE_ROUNDS_TWICE = 0 };
#endif

/* A type with an instruction set, and what is multiplied: A and B as stored, and their transposes. */
typedef struct work {
    tw_dtype dtype;
    cpu_features level;
    int64_t m, n, k, bytes, c_bytes; /* most of each */
    char *a[2], *b[2], *old, *c;
    bool fused, pairs;
} work;

static int64_t chunk_of(tw_dtype dtype) { return dtype == TW_F64 || dtype == TW_CF64 ? 4096 : 8192; }
static bool is_wide(tw_dtype dtype) { return dtype == TW_F64 || dtype == TW_CF64; }
static int parts_of(tw_dtype dtype) { return dtype == TW_CF32 || dtype == TW_CF64 ? 2 : 1; }

/* ---- operands ---- */

static void put(const work *w, char *at, int64_t i, uint64_t value)
{
    const double x = (double)(value % 100003) / 100003 - 0.5;
    if (w->dtype == TW_I8)
        at[i] = (char)(value >> 8);
    else if (w->dtype == TW_BF16) /* 0.5 to 2 and -0.5 to -2 */
        ((uint16_t *)(void *)at)[i] = (uint16_t)(0x3f00 | (value >> 8 & 0x7f) | (value >> 16 & 1) << 15);
    else if (is_wide(w->dtype))
        ((double *)(void *)at)[i] = x / 3;
    else
        ((float *)(void *)at)[i] = (float)x;
}

/* Part `part` of element i. */
static double get(const work *w, const char *at, int64_t i, int part)
{
    i = i * parts_of(w->dtype) + part;
    if (w->dtype == TW_I8) return (double)((const int8_t *)at)[i];
    if (w->dtype == TW_BF16) {
        const uint32_t bits = (uint32_t)((const uint16_t *)(const void *)at)[i] << 16;
        float value;
        memcpy(&value, &bits, sizeof value);
        return (double)value;
    }
    return is_wide(w->dtype) ? ((const double *)(const void *)at)[i] : (double)((const float *)(const void *)at)[i];
}

static void free_work(work *w)
{
    for (int t = 0; t < 2; t++) free(w->a[t]), free(w->b[t]);
    free(w->old), free(w->c);
}

static bool make_work(tw_dtype dtype, cpu_features level, int64_t m, int64_t n, int64_t k, work *w)
{
    const int parts = parts_of(dtype);
    uint64_t state = 12345;
    *w = (work){.dtype = dtype, .level = level, .m = m, .n = n, .k = k, .bytes = tw_lab_dtype_of(dtype)->bytes};
    w->fused = level != CPU_base || !BASE_ROUNDS_TWICE;
    w->pairs = dtype == TW_BF16 && level == CPU_avx512_bf16;
    w->c_bytes = dtype == TW_BF16 || dtype == TW_I8 ? 4 : w->bytes;
    bool made = true;
    for (int t = 0; t < 2; t++)
        w->a[t] = malloc((size_t)(m * k * w->bytes)), w->b[t] = malloc((size_t)(k * n * w->bytes)),
        made = made && w->a[t] != NULL && w->b[t] != NULL;
    w->old = malloc((size_t)(m * n * w->c_bytes)), w->c = malloc((size_t)(m * n * w->c_bytes));
    if (!made || w->old == NULL || w->c == NULL) return false;
    for (int64_t i = 0; i < m * k * parts; i++) put(w, w->a[0], i, (state = state * 6364136223846793005u + 1) >> 32);
    for (int64_t i = 0; i < k * n * parts; i++) put(w, w->b[0], i, (state = state * 6364136223846793005u + 1) >> 32);
    for (int64_t i = 0; i < m * n * parts; i++)
        if (dtype == TW_I8)
            ((int32_t *)(void *)w->old)[i] = (int32_t)(i * 7919);
        else if (is_wide(dtype))
            ((double *)(void *)w->old)[i] = (double)(i % 31) / 7 - 2;
        else
            ((float *)(void *)w->old)[i] = (float)(i % 31) / 7 - 2;
    const size_t bytes = (size_t)w->bytes;
    for (int64_t p = 0; p < k; p++) {
        for (int64_t i = 0; i < m; i++)
            memcpy(w->a[1] + (p * m + i) * w->bytes, w->a[0] + (i * k + p) * w->bytes, bytes);
        for (int64_t j = 0; j < n; j++)
            memcpy(w->b[1] + (j * k + p) * w->bytes, w->b[0] + (p * n + j) * w->bytes, bytes);
    }
    return true;
}

static tw_problem problem_of(const work *w, int op_a, int op_b, int64_t m, int64_t n, int64_t k, bool adds)
{
    const bool complex = parts_of(w->dtype) == 2;
    tw_problem p = tw_problem_make(w->dtype, op_a ? TW_T : TW_N, op_b ? TW_T : TW_N, m, n, k);
    p.lda = op_a ? w->m : w->k, p.ldb = op_b ? w->k : w->n, p.ldc = w->n;
    p.alpha = w->dtype == TW_I8 ? 3 : 1.25, p.beta = !adds ? 0 : w->dtype == TW_I8 ? -2 : 0.75;
    if (complex) p.alpha_imaginary = 0; /* alike for both parts */
    return p;
}

static const char *a_at(const work *w, const tw_problem *p, int64_t i)
{
    return w->a[p->op_a == TW_T] + i * (p->op_a == TW_T ? 1 : p->lda) * w->bytes;
}
static const char *b_at(const work *w, const tw_problem *p, int64_t j)
{
    return w->b[p->op_b == TW_T] + j * (p->op_b == TW_T ? p->ldb : 1) * w->bytes;
}

/* ---- the rule ---- */

static double round_to(const work *w, double x) { return is_wide(w->dtype) ? x : (double)(float)x; }

static double multiply_add(const work *w, double a, double b, double sum)
{
    if (is_wide(w->dtype)) return w->fused ? fma(a, b, sum) : a * b + sum;
    return w->fused ? (double)fmaf((float)a, (float)b, (float)sum) : (double)((float)(a * b) + (float)sum);
}

/* One part of the sum of steps first .. last - 1, of real types ascending from 0; of complex ones in panels, at whose
 * end the products of A's imaginary parts, which are summed apart, join those of its real parts. */
static double chunk_sum(const work *w, int64_t i, int64_t j, int64_t first, int64_t last, int64_t panel, int part)
{
    double sum = 0;
    if (parts_of(w->dtype) == 1) {
        for (int64_t p = first; p < last; p++) {
            /* of a pair the second product first */
            const int64_t at = !w->pairs ? p : p % 2 != 0 ? p - 1 : p + 1 < last ? p + 1 : p;
            sum = multiply_add(w, get(w, w->a[0], i * w->k + at, 0), get(w, w->b[0], at * w->n + j, 0), sum);
        }
        return sum;
    }
    for (int64_t p0 = first; p0 < last; p0 += panel) {
        double other = 0;
        for (int64_t p = p0; p < last && p < p0 + panel; p++) {
            sum = multiply_add(w, get(w, w->a[0], i * w->k + p, 0), get(w, w->b[0], p * w->n + j, part), sum);
            other = multiply_add(w, get(w, w->a[0], i * w->k + p, 1), get(w, w->b[0], p * w->n + j, 1 - part), other);
        }
        sum = round_to(w, part == 0 ? sum - other : sum + other);
    }
    return sum;
}

/* One part of the sum of element (i, j). */
static double total_of(const work *w, int64_t i, int64_t j, int64_t k, int64_t panel, int part)
{
    const int64_t chunk = chunk_of(w->dtype);
    double total = chunk_sum(w, i, j, 0, min_i64(chunk, k), panel, part);
    for (int64_t first = chunk; first < k; first += chunk)
        total = round_to(w, total + chunk_sum(w, i, j, first, min_i64(first + chunk, k), panel, part));
    return total;
}

/* alpha times it, plus beta times what C held. */
static double blend(const work *w, const tw_problem *p, double total, int64_t i, int64_t j, int part)
{
    if (p->beta == 0) return round_to(w, p->alpha * total);
    const int64_t at = (i * w->n + j) * parts_of(w->dtype) + part;
    const double old = is_wide(w->dtype) ? ((double *)(void *)w->old)[at] : (double)((float *)(void *)w->old)[at];
    return multiply_add(w, p->alpha, total, round_to(w, p->beta * old));
}

/* Integers: modulo 2^32. */
static uint32_t integer_total(const work *w, int64_t i, int64_t j, int64_t k)
{
    uint32_t sum = 0;
    for (int64_t q = 0; q < k; q++)
        sum += (uint32_t)(((const int8_t *)w->a[0])[i * w->k + q] * ((const int8_t *)w->b[0])[q * w->n + j]);
    return sum;
}

static uint32_t integer_blend(const work *w, const tw_problem *p, uint32_t total, int64_t i, int64_t j)
{
    const uint32_t sum = total * (uint32_t)(int32_t)p->alpha;
    return p->beta == 0 ? sum : sum + (uint32_t)(int32_t)p->beta * ((uint32_t *)(void *)w->old)[i * w->n + j];
}

/* The first rows and columns of C as they must be, with beta 0 and another. */
typedef struct answers {
    char *c[2];
} answers;

static void answer_at(const work *w, const answers *out, int64_t k, int64_t panel, int64_t i, int64_t j)
{
    const uint32_t integer = w->dtype == TW_I8 ? integer_total(w, i, j, k) : 0;
    for (int part = 0; part < parts_of(w->dtype); part++) {
        const double total = w->dtype == TW_I8 ? 0 : total_of(w, i, j, k, panel, part);
        const int64_t at = (i * COLS + j) * parts_of(w->dtype) + part;
        for (int adds = 0; adds < 2; adds++) {
            const tw_problem p = problem_of(w, 0, 0, ROWS, COLS, k, adds);
            if (w->dtype == TW_I8)
                ((uint32_t *)(void *)out->c[adds])[at] = integer_blend(w, &p, integer, i, j);
            else if (is_wide(w->dtype))
                ((double *)(void *)out->c[adds])[at] = blend(w, &p, total, i, j, part);
            else
                ((float *)(void *)out->c[adds])[at] = (float)blend(w, &p, total, i, j, part);
        }
    }
}

static bool make_answers(const work *w, int64_t k, int64_t panel, answers *out)
{
    for (int adds = 0; adds < 2; adds++) {
        out->c[adds] = malloc((size_t)(ROWS * COLS * w->c_bytes));
        if (out->c[adds] == NULL) return false;
    }
    for (int64_t x = 0; x < ROWS * COLS; x++) answer_at(w, out, k, panel, x / COLS, x % COLS);
    return true;
}

static bool agrees(const work *w, const answers *right, bool adds, const char *c, const char *what)
{
    const size_t row = (size_t)(COLS * w->c_bytes);
    for (int64_t i = 0; i < ROWS; i++)
        if (memcmp(c + i * w->n * w->c_bytes, right->c[adds] + (size_t)i * row, row) != 0) {
            printf("# row %" PRId64 " differs: %s\n", i, what);
            return false;
        }
    return true;
}

/* ---- the ways to compute ---- */

/* C in pieces of so many rows and columns, each a call. */
static bool by_pieces(tw_context *context, const work *w, tw_problem p, int64_t high, int64_t wide)
{
    const int64_t m = p.m, n = p.n;
    memcpy(w->c, w->old, (size_t)(w->m * w->n * w->c_bytes));
    for (int64_t i = 0; i < m; i += high)
        for (int64_t j = 0; j < n; j += wide) {
            p.m = min_i64(high, m - i), p.n = min_i64(wide, n - j);
            if (tw_gemm(context, &p, a_at(w, &p, i), b_at(w, &p, j), w->c + (i * p.ldc + j) * w->c_bytes) != TW_OK)
                return false;
        }
    return true;
}

static guard arena; /* for workspaces */

/* By a plan made smaller so many times; false: it cannot be. One thread where blocks are small: on few processors more
 * of them mostly wait. */
static bool by_smaller_plan(pool *pool, const work *w, const tw_problem *user, int times, bool *computed)
{
    const device_facts facts = {
        .engine = "cpu", .features = w->level, .threads = times < 2 ? 2 : 1, .l1_bytes = 32768, .l2_bytes = 1 << 20};
    tw_problem p;
    plan made;
    *computed = problem_load(user, a_at(w, user, 0), b_at(w, user, 0), w->c, &p) == TW_OK &&
                plan_find(&p, &facts, NULL, &made) == TW_OK;
    for (; *computed && times > 0; times--)
        if (!plan_shrink(&made)) return false;
    void *workspace = guard_place(&arena, made.workspace_bytes, true); /* nothing behind it can be touched */
    memset(workspace, -1, made.workspace_bytes);
    memcpy(w->c, w->old, (size_t)(w->m * w->n * w->c_bytes));
    if (*computed) product_run(&made, a_at(w, user, 0), b_at(w, user, 0), w->c, workspace, pool, NULL);
    return *computed;
}

/* A batch of one product again and again, whose items share A and B: at strides of 0, or by address. */
static bool by_batch(tw_context *context, const work *w, const tw_problem *p, bool by_address, const answers *right,
                     bool adds)
{
    enum { ITEMS = 3 };
    const size_t item = (size_t)(w->m * w->n * w->c_bytes);
    char *c = malloc(ITEMS * item);
    const void *all_a[ITEMS], *all_b[ITEMS];
    void *all_c[ITEMS];
    tw_batch batch = tw_batch_make(p, ITEMS);
    batch.stride_a = batch.stride_b = batch.stride_c = 0;
    if (by_address)
        batch.pointers = 1;
    else
        batch.stride_c = w->m * w->n;
    for (int i = 0; c != NULL && i < ITEMS; i++) {
        all_a[i] = a_at(w, p, 0), all_b[i] = b_at(w, p, 0), all_c[i] = c + (size_t)i * item;
        memcpy(all_c[i], w->old, item);
    }
    bool same = c != NULL && (by_address ? tw_gemm_batched(context, p, &batch, all_a, all_b, all_c)
                                         : tw_gemm_batched(context, p, &batch, all_a[0], all_b[0], c)) == TW_OK;
    for (int i = 0; same && i < ITEMS; i++) same = agrees(w, right, adds, all_c[i], "an item of a batch");
    free(c);
    return same;
}

enum { THREADS = 6 };
static const int threads_of[THREADS] = {1, 2, 3, 7, 16, 40};

/* The ways for one k: in full all, else of each way to cut C one, of the others those that `number` makes of it.
 * contexts: one of each number of threads. */
static bool all_agree(tw_context *const contexts[THREADS], pool *pool, const work *w, int64_t k, int number,
                      const answers *right)
{
    static const int64_t pieces[][2] = {{ROWS, COLS}, {1, COLS}, {ROWS, 1}, {4, 17}};
    char what[96];
    for (int x = 0; x < 4 * THREADS; x++) {
        const int cut = x / THREADS, t = (x + cut) % THREADS, op = (x + number) % 4, adds = (x / 2 + number) % 2;
        tw_problem p = problem_of(w, op / 2, op % 2, ROWS, COLS, k, adds);
        if (!tap.full && x % THREADS != number % THREADS) continue;
        snprintf(what, sizeof what, "k %d %c%c threads %d pieces %dx%d beta %g", (int)k, "nt"[op / 2], "nt"[op % 2],
                 threads_of[t], (int)pieces[cut][0], (int)pieces[cut][1], p.beta);
        if (!by_pieces(contexts[t], w, p, pieces[cut][0], pieces[cut][1]) || !agrees(w, right, adds, w->c, what))
            return false;
        if (cut == 0 && !by_batch(contexts[t], w, &p, number % 2, right, adds)) return false;
    }
    for (int op = 0; op < 4; op++) {
        const tw_problem p = problem_of(w, op / 2, op % 2, ROWS, COLS, k, (op + number) % 3 > 0);
        bool computed = true;
        for (int times = 0; (tap.full || op == number % 4) && by_smaller_plan(pool, w, &p, times, &computed); times++) {
            snprintf(what, sizeof what, "k %d op %d, a plan made smaller %d times", (int)k, op, times);
            if (!agrees(w, right, p.beta != 0, w->c, what)) return false;
        }
        if (!computed) return false;
    }
    return true;
}

/* A C of more tiles, of which the answers are a corner: the five loops, triangles of it, batches whose items share an
 * operand that is packed before. In full all ways, else every second, which go round the types. */
static bool more_agree(tw_context *const contexts[THREADS], pool *pool, const work *w, const answers *right)
{
    char what[96];
    for (int x = 0; x < 8; x++) {
        const int op = x % 4, adds = x / 2 % 2, t = x % 4;
        tw_problem p = problem_of(w, op / 2, op % 2, w->m, w->n, w->k, adds);
        if (!tap.full && (x + (int)w->dtype) % 2 != 0) continue;
        snprintf(what, sizeof what, "more tiles, op %d, threads %d, beta %g", op, threads_of[t], p.beta);
        if (!by_pieces(contexts[t], w, p, w->m, w->n) || !agrees(w, right, adds, w->c, what)) return false;
        bool computed = true;
        snprintf(what, sizeof what, "more tiles, op %d, a plan made smaller %d times", op, x);
        if (by_smaller_plan(pool, w, &p, x, &computed) && !agrees(w, right, adds, w->c, what)) return false;
        if (x >= 6 && !by_batch(contexts[t], w, &p, false, right, adds)) return false;
    }
    if (w->dtype == TW_BF16 || w->dtype == TW_I8) return true; /* triangles are of the other types */
    for (int x = 0; x < 4; x++) {
        const int64_t edge = min_i64(w->m, w->n);
        tw_problem p = problem_of(w, x % 2, 1, edge, edge, w->k, x / 2);
        p.flags = x % 2 ? TW_LOWER : TW_UPPER;
        if (!by_pieces(contexts[x], w, p, edge, edge)) return false;
        for (int64_t i = 0; i < ROWS; i++)
            for (int64_t j = 0; j < ROWS; j++) {
                const bool inside = p.flags == TW_LOWER ? j <= i : j >= i;
                const char *c = w->c + (i * w->n + j) * w->c_bytes;
                if (memcmp(c, inside ? right->c[x / 2] + (i * COLS + j) * w->c_bytes : w->old + (c - w->c),
                           (size_t)w->c_bytes) != 0)
                    return printf("# triangle %d, element %d, %d\n", x, (int)i, (int)j), false;
            }
    }
    return true;
}

/* The depth of complex types' panels of this k, which the row says; of others 0. */
static int64_t panel_of(const work *w, int64_t k)
{
    const device_facts facts = {
        .engine = "cpu", .features = w->level, .threads = 1, .l1_bytes = 32768, .l2_bytes = 1 << 20};
    const tw_problem user = problem_of(w, 0, 0, ROWS, COLS, k, false);
    tw_problem p;
    plan made;
    if (parts_of(w->dtype) == 1 || problem_load(&user, w->a[0], w->b[0], w->c, &p) != TW_OK ||
        plan_find(&p, &facts, NULL, &made) != TW_OK)
        return 0;
    const int64_t whole = min_i64(k, chunk_of(w->dtype)), most = made.row->lab.tile_k, panels = ceil_div(whole, most);
    return round_up(ceil_div(whole, panels), 4);
}

/* Both oracles, with the bound of chunks, a third of the other one for three chunks and a little. */
static bool within_bound(tw_context *context, tw_dtype dtype, char text[256])
{
    const tw_problem p = tw_problem_make(dtype, TW_N, TW_T, 5, 7, 3 * chunk_of(dtype) + 7);
    float c[5 * 7 * 4];
    for (int kind = ORACLE_EXACT; kind <= ORACLE_BOUND; kind++) {
        oracle o, wider;
        const bool made = oracle_make_in_chunks(&p, (oracle_kind)kind, 5, 0, chunk_of(dtype), &o) == TW_OK &&
                          oracle_make(&p, (oracle_kind)kind, 5, 0, &wider) == TW_OK;
        oracle_verdict verdict = {.passed = false, .text = "the oracle cannot be made"};
        if (made) {
            oracle_poison(&o, c);
            if (tw_gemm(context, &p, o.a, o.b, c) == TW_OK) verdict = oracle_judge(&o, c);
            if (kind == ORACLE_BOUND && dtype != TW_I8)
                verdict.passed = verdict.passed && o.bound[0] > wider.bound[0] * 0.33 &&
                                 o.bound[0] < wider.bound[0] * 0.35;
        }
        snprintf(text, 256, "%s", verdict.text);
        oracle_free(&o), oracle_free(&wider);
        if (!verdict.passed) return false;
    }
    return true;
}

static bool case_agrees(tw_context *const contexts[THREADS], pool *pool, tw_dtype dtype, cpu_features level, int64_t k,
                        int number, bool more)
{
    const int64_t *shape = larger[level == CPU_base ? 0 : level < CPU_avx512 ? 1 : 2][(int)dtype % 3];
    work w;
    bool same = make_work(dtype, level, more ? shape[0] : ROWS, more ? shape[1] : COLS, k, &w);
    answers right = {{NULL}};
    same = same && make_answers(&w, k, panel_of(&w, k), &right) &&
           (more ? more_agree(contexts, pool, &w, &right) : all_agree(contexts, pool, &w, k, number, &right));
    for (int adds = 0; adds < 2; adds++) free(right.c[adds]);
    free_work(&w);
    return same;
}

static void type_cases(pool *pool, tw_dtype dtype, cpu_features level)
{
    const int64_t chunk = chunk_of(dtype);
    const struct {
        int64_t k;
        bool more;
    } cases[] = {{chunk - 1, false},     {chunk, false},         {chunk + 1, false},   {2 * chunk, false},
                 {2 * chunk + 1, false}, {3 * chunk + 7, false}, {2 * chunk + 1, true}};
    tw_context *contexts[THREADS] = {NULL};
    bool opened = !tap.list;
    for (int t = 0; opened && t < THREADS; t++)
        opened = tw_open(&(tw_options){.size = sizeof(tw_options),
                                       .engine = "cpu",
                                       .threads = threads_of[t],
                                       .instruction_set = cpu_set_name(level)},
                         &contexts[t]) == TW_OK;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (!tap.full && i < 5 && (i + level) % 2 != 0) continue; /* they go round the instruction sets */
        if (!tap_case("%s with %s instructions, k %d%s", tw_lab_dtype_of(dtype)->name, cpu_set_name(level),
                      (int)cases[i].k, cases[i].more ? ", more tiles" : ""))
            continue;
        if (!opened)
            tap_skip(tw_error_text());
        else
            tap_result(
                case_agrees(contexts, pool, dtype, level, cases[i].k, (int)i + (int)dtype + (int)level, cases[i].more),
                "%s", tw_error_text());
    }
    char text[256] = "";
    if (tap_case("%s with %s instructions: within the bound of chunks", tw_lab_dtype_of(dtype)->name,
                 cpu_set_name(level))) {
        if (!opened)
            tap_skip(tw_error_text());
        else
            tap_result(within_bound(contexts[1], dtype, text), "%s", text);
    }
    for (int t = 0; t < THREADS; t++) tw_close(contexts[t]);
}

int main(int argc, char **argv)
{
    static const struct {
        tw_dtype dtype;
        cpu_features level;
    } types[] = {
        {TW_F32, CPU_base},
        {TW_F64, CPU_base},
        {TW_CF32, CPU_base},
        {TW_CF64, CPU_base},
        {TW_BF16, CPU_base},
        {TW_I8, CPU_base},
#if defined(__aarch64__)
        {TW_F32, CPU_neon},
        {TW_F64, CPU_neon},
        {TW_CF32, CPU_neon},
        {TW_CF64, CPU_neon},
#else
        {TW_F32, CPU_avx2},
        {TW_F64, CPU_avx2},
        {TW_CF32, CPU_avx2},
        {TW_CF64, CPU_avx2},
        {TW_BF16, CPU_avx2},
        {TW_I8, CPU_avx2},
        {TW_F32, CPU_avx512},
        {TW_F64, CPU_avx512},
        {TW_CF32, CPU_avx512},
        {TW_CF64, CPU_avx512},
        {TW_BF16, CPU_avx512},
        {TW_I8, CPU_avx512},
        {TW_I8, CPU_avx512_vnni},
        {TW_BF16, CPU_avx512_bf16},
#endif
    };
    pool *pool = NULL;
    tap_start(argc, argv);
    if (pool_open(POOL_WAIT_AUTO, &pool) != TW_OK) return 1;
    arena = guard_make(64 << 20);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) type_cases(pool, types[i].dtype, types[i].level);
    pool_close(pool);
    return tap_finish();
}
