/* selftest_exact.c - products of whole numbers through kernels, plans and batches of the CPU engine. */
#include "selftest_exact.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "far.h"

static const tw_dtype dtypes[] = {TW_F32,  TW_F64,  TW_F16, TW_BF16, TW_I8, TW_U8,
                                  TW_CF32, TW_CF64, TW_I16, TW_I32,  TW_I64};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

static bool is_complex(tw_dtype dtype) { return tw_lab_dtype_of(dtype)->parts == 2; }

/* Scalars in turns: 1 and 0, both 1, and others; of f64 some that f32 does not hold. */
static void take_scalars(tw_problem *p, int turn)
{
    static const double narrow[][2] = {{1, 0}, {-2, 0}, {1, 1}, {3, -2}, {0, 2}},
                        wide[][2] = {{0x1p24 + 1, 0}, {-1, 0}, {0x1p24 + 1, 0x1p25 + 3}, {1, 1}, {0, 0x1p25 + 3}};
    const bool is_wide = p->dtype == TW_F64 || p->dtype == TW_CF64;
    const double *pair = is_wide ? wide[turn % 5] : narrow[turn % 5],
                 *other = is_wide ? wide[turn % 4] : narrow[turn % 4];
    p->alpha = pair[0], p->beta = pair[1];
    if (is_complex(p->dtype)) p->alpha_imaginary = other[1], p->beta_imaginary = -other[1];
}

static tw_problem problem_of(tw_dtype dtype, int op, int64_t m, int64_t n, int64_t k, int turn)
{
    const bool complex = is_complex(dtype); /* all four ops */
    const tw_op op_a = (tw_op)(complex ? op % 4 : op / 2 % 2), op_b = (tw_op)(complex ? (op + turn) % 4 : op % 2);
    tw_problem p = tw_problem_make(dtype, op_a, op_b, m, n, k);
    if (dtype == TW_U8 && turn % 3 != 0) p.dtype_b = TW_I8;
    p.lda += turn % 3, p.ldb += turn / 2 % 3, p.ldc += turn / 3 % 3;
    take_scalars(&p, turn);
    return p;
}

/* Judge what a call left in x->c. */
static void judge(exact_tally *t, integers *x)
{
    const tw_problem *p = &x->problem;
    const char op_a = "ntcr"[p->op_a], op_b = "ntcr"[p->op_b];
    char text[200];
    t->products++;
    if (integers_judge(x, text, sizeof text)) return;
    t->failed = true;
    snprintf(t->text, sizeof t->text, "%s %c%c %" PRId64 "x%" PRId64 "x%" PRId64 " alpha %g beta %g: %s",
             tw_lab_dtype_of(p->dtype)->name, op_a, op_b, p->m, p->n, p->k, p->alpha, p->beta, text);
}

static tw_status run_kernel(exact_tally *t, const tw_lab_choice *choice, const tw_problem *p)
{
    integers x;
    tw_lab_run *run = NULL;
    tw_status status = integers_make(p, NULL, t->seed, &x);
    if (status != TW_OK) return status;
    status = tw_lab_run_open(t->context, choice, p, x.a, x.b, x.c, &run);
    if (status == TW_OK) status = tw_lab_run_once(run, NULL);
    if (status == TW_OK) status = tw_lab_run_fetch(run, x.c);
    tw_lab_run_close(run);
    if (status == TW_OK) judge(t, &x);
    integers_free(&x);
    return status;
}

static tw_status gemm(exact_tally *t, integers *x)
{
    tw_status status = tw_gemm(t->context, &x->problem, x->a, x->b, x->c);
    if (status == TW_OK) judge(t, x);
    return status;
}

static tw_status gemm_once(exact_tally *t, const tw_problem *p)
{
    integers x;
    tw_status status = integers_make(p, NULL, t->seed, &x);
    if (status != TW_OK) return status;
    status = gemm(t, &x);
    integers_free(&x);
    return status;
}

tw_status exact_kernel(exact_tally *t, const tw_lab_kernel *kernel)
{
    const int64_t mr = kernel->tile_m, nr = kernel->tile_n, kc = kernel->tile_k;
    const int64_t depths[] = {1, 2, 3, 5, 8, 17, 63, 64, 65, 255, 257, 1023, 1025, kc - 1, kc, kc + 1, 2 * kc + 3};
    tw_lab_choice choice = {.kernel = kernel->name, .threads = t->threads};
    tw_status status = TW_OK;
    int turn = 0;
    for (int64_t m = 1; status == TW_OK && !t->failed && m <= 2 * mr; m++) /* remainders of both edges */
        for (int64_t n = m; status == TW_OK && !t->failed && n <= 2 * nr; n += 2 * mr, turn++) {
            if (t->quick && turn % 4 != turn / 4 % 4) continue;
            const tw_problem p = problem_of(kernel->dtype, turn, m, n, 1 + turn % 9, turn);
            status = run_kernel(t, &choice, &p);
        }
    for (size_t d = 0; status == TW_OK && d < sizeof depths / sizeof *depths; d++)
        for (int op = 0; status == TW_OK && !t->failed && op < 4; op++, turn++) {
            if (t->quick && op != (int)d % 4) continue;
            const tw_problem packed = problem_of(kernel->dtype, op, mr + 1 + turn % 2, nr + 1 + turn % 3, depths[d],
                                                 turn + (int)d);
            const tw_problem line = problem_of(kernel->dtype, op, turn % 2 ? 1 : nr + 1, turn % 2 ? nr + 1 : 1,
                                               depths[d], turn + (int)d);
            const tw_problem short_line = problem_of(kernel->dtype, op, turn % 2 ? 1 : 3, turn % 2 ? 3 : 1, depths[d],
                                                     turn + (int)d);
            choice.threads = t->threads > 0 ? t->threads : 1 + turn % 2;
            status = run_kernel(t, &choice, &packed);
            if (status == TW_OK && !t->failed) status = run_kernel(t, &choice, &line);
            if (status == TW_OK && !t->failed) status = run_kernel(t, &choice, &short_line);
        }
    return status;
}

tw_status exact_rung(exact_tally *t, const tw_lab_kernel *kernel)
{
    const tw_lab_choice choice = {
        .kernel = kernel->name, .threads = t->threads, .tile = kernel->default_tile > 1 ? 16 : 0};
    tw_status status = TW_OK;
    for (int op = 0; status == TW_OK && !t->failed && op < 4; op++) {
        const tw_problem p = problem_of(kernel->dtype, op, 37, 45, 101, op);
        status = run_kernel(t, &choice, &p);
    }
    return status;
}

tw_status exact_plans(exact_tally *t)
{
    /* In place, packed, several strips, streamed, deep, GEMV; most on several threads. */
    static const int64_t shapes[][3] = {{130, 120, 110}, {300, 310, 700}, {4200, 30, 20}, {30, 4200, 20},
                                        {20, 3000, 400}, {3000, 20, 400}, {40, 60, 6000}, {1, 6000, 300},
                                        {6000, 1, 300},  {5, 7, 0}};
    enum { SHAPES = sizeof shapes / sizeof *shapes };
    tw_status status = TW_OK;
    for (int i = 0; status == TW_OK && i < SHAPES * 4 * DTYPES; i++) {
        const int64_t *shape = shapes[i / (4 * DTYPES)];
        const tw_dtype dtype = dtypes[i / 4 % DTYPES];
        if (t->quick && i % 4 != (i / 4 + i / (4 * DTYPES)) % 4) continue;
        for (int adds = 0; status == TW_OK && !t->failed && adds < (dtype == TW_F32 ? 2 : 1); adds++) {
            tw_problem p = problem_of(dtype, i, shape[0], shape[1], shape[2], i);
            take_scalars(&p, 2 * (dtype == TW_F32 ? adds : i / 2) + i / (4 * DTYPES) % 2);
            status = gemm_once(t, &p);
        }
    }
    return status;
}

enum { FIELDS = 11 };

/* The problem with one field changed: another product, whose plan is another one or must take the change up. */
static void change_field(tw_problem *p, int field)
{
    switch (field) {
    case 0: p->m++; break;
    case 1: p->n++; break;
    case 2: p->k++; break;
    case 3: p->lda++; break;
    case 4: p->ldb++; break;
    case 5: p->ldc++; break;
    case 6: p->op_a = p->op_a == TW_N ? TW_T : TW_N; break;
    case 7: p->op_b = p->op_b == TW_N ? TW_T : TW_N; break;
    case 8: p->alpha = p->dtype == TW_F64 ? 0x1p24 + 1 : 3; break;
    case 9: p->beta = p->beta == 0 ? 2 : 0; break;
    default: p->dtype = p->dtype == TW_F32 ? TW_BF16 : TW_F32; /* bf16 has C in f32 too */
    }
}

tw_status exact_recalled(exact_tally *t)
{
    /* Kept by one thread: in place, operands swapped, GEMV; and what several threads share. */
    static const struct {
        int64_t m, n, k;
        int op;
        double beta;
    } kept[] = {{9, 17, 11, 0, 0}, {9, 17, 11, 0, 1}, {9, 17, 11, 1, 0},    {9, 17, 11, 3, 0},   {2, 40, 21, 0, 0},
                {1, 40, 21, 0, 0}, {40, 1, 21, 2, 2}, {100, 90, 110, 0, 0}, {100, 90, 110, 1, 1}};
    tw_status status = TW_OK;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        for (int field = 0; status == TW_OK && !t->failed && field < 2 * FIELDS; field++) {
            integers x = {0}, y = {0};
            tw_problem first = tw_problem_make(dtypes[field / FIELDS], (tw_op)(kept[i].op / 2), (tw_op)(kept[i].op % 2),
                                               kept[i].m, kept[i].n, kept[i].k),
                       second;
            /* enough if transposed */
            first.lda = first.ldb = first.ldc = first.m + first.n + first.k + 1, first.beta = kept[i].beta;
            second = first;
            change_field(&second, field % FIELDS);
            status = integers_make(&first, NULL, t->seed, &x);
            if (status == TW_OK) status = integers_make(&second, NULL, t->seed + 5, &y);
            for (int again = 0; status == TW_OK && !t->failed && again < 2; again++) {
                for (int twice = 0; status == TW_OK && twice < 2; twice++) status = gemm(t, &x);
                if (status == TW_OK) status = gemm(t, &y);
            }
            integers_free(&x), integers_free(&y);
        }
    return status;
}

/* The same product on each context in turns, then with operands said to lie in device memory. */
static tw_status multiply_in_turns(exact_tally *t, tw_context *const context[2])
{
    enum { SIDE = 9 };
    static const tw_place places[][3] = {{TW_DEVICE, TW_DEVICE, TW_DEVICE},
                                         {TW_DEVICE, TW_HOST, TW_HOST},
                                         {TW_HOST, TW_DEVICE, TW_HOST},
                                         {TW_HOST, TW_HOST, TW_DEVICE}};
    const tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, SIDE, SIDE, SIDE),
                     other = tw_problem_make(TW_F32, TW_N, TW_N, 2, 2, 2);
    float a[SIDE * SIDE], b[SIDE * SIDE], made[4][SIDE * SIDE];
    tw_status status = TW_OK;
    for (int i = 0; i < SIDE * SIDE; i++) a[i] = 1.0f / (float)(i + 3), b[i] = 1.0f / (float)(2 * i + 7);
    /* the first of each behind another shape, whose plan is none for it */
    for (int i = 0; status == TW_OK && i < 4; i++) {
        if (i < 2) status = tw_gemm(context[i], &other, a, b, made[3]);
        if (status == TW_OK) status = tw_gemm(context[i % 2], &p, a, b, made[i]);
    }
    if (status != TW_OK) return status;
    t->products += 4;
    t->failed = memcmp(made[0], made[2], sizeof made[0]) != 0 || memcmp(made[1], made[3], sizeof made[1]) != 0;
    if (t->failed) snprintf(t->text, sizeof t->text, "one context computed by another's kernel");
    for (size_t i = 0; !t->failed && i < sizeof places / sizeof *places; i++) {
        tw_problem placed = p;
        placed.place_a = places[i][0], placed.place_b = places[i][1], placed.place_c = places[i][2];
        t->failed = tw_gemm(context[1], &placed, a, b, made[0]) == TW_OK;
        if (t->failed) snprintf(t->text, sizeof t->text, "an operand in device memory was not refused");
    }
    return TW_OK;
}

tw_status exact_contexts(exact_tally *t)
{
    const tw_options base = {.size = sizeof base, .engine = "cpu", .instruction_set = "base", .threads = 1};
    tw_context *context[2] = {NULL, t->context};
    tw_status status = tw_open(&base, &context[0]);
    if (status == TW_OK) status = multiply_in_turns(t, context);
    tw_close(context[0]);
    return status;
}

/* The items of x by address, in another order than they lie in. */
static tw_status gemm_by_address(exact_tally *t, const integers *x)
{
    const tw_problem *p = &x->problem;
    const int64_t count = x->batch.count, bytes = tw_lab_dtype_of(p->dtype)->bytes,
                  c_bytes = element_of(element_of(p->dtype)->result)->bytes;
    const tw_batch by_address = {.size = sizeof by_address, .pointers = 1, .count = count};
    void **all = malloc(3 * (size_t)count * sizeof *all);
    if (all == NULL) return TW_NO_MEMORY;
    for (int64_t i = 0; i < count; i++) {
        const int64_t at = count - 1 - i;
        all[i] = (char *)x->a + at * x->batch.stride_a * bytes,
        all[count + i] = (char *)x->b + at * x->batch.stride_b * bytes;
        all[2 * count + i] = (char *)x->c + at * x->batch.stride_c * c_bytes;
    }
    tw_status status = tw_gemm_batched(t->context, p, &by_address, all, all + count, all + 2 * count);
    free(all);
    return status;
}

/* The same batch at strides, and by address. */
static tw_status batch_both_ways(exact_tally *t, const tw_problem *p, const tw_batch *batch)
{
    integers x;
    tw_status status = integers_make(p, batch, t->seed, &x);
    if (status != TW_OK) return status;
    status = tw_gemm_batched(t->context, p, batch, x.a, x.b, x.c);
    if (status == TW_OK) judge(t, &x);
    if (status == TW_OK && !t->failed) {
        status = gemm_by_address(t, &x);
        if (status == TW_OK) judge(t, &x);
    }
    integers_free(&x);
    return status;
}

tw_status exact_batches(exact_tally *t)
{
    /* In place, GEMV, packed, several tiles and panels, and large items that all threads share. */
    static const int64_t shapes[][4] = {{2, 3, 4, 65539}, {1, 3, 2, 65539}, {3, 2, 5, 1030},   {1, 9, 6, 1024},
                                        {9, 20, 7, 40},   {65, 33, 129, 5}, {40, 50, 1100, 3}, {300, 200, 300, 2}};
    enum { SHAPES = sizeof shapes / sizeof *shapes };
    tw_status status = TW_OK;
    for (int i = 0; i < SHAPES * 4 * 3; i++) {
        const int64_t *shape = shapes[i / 12];
        const int turn = i / 3, shared = i % 3;
        if (shape[3] > 60000 && i % 4 != i / 12) continue; /* of the largest some */
        if (t->quick && shared != turn % 3) continue;
        const tw_problem p = problem_of(dtypes[(turn + i / 12) % DTYPES], turn, shape[0], shape[1], shape[2],
                                        turn + 2 * shared);
        tw_batch batch = tw_batch_make(&p, shape[3]);
        batch.stride_a += 3, batch.stride_b += 1, batch.stride_c += 2;
        if (shared == 1) batch.stride_a = 0;
        if (shared == 2) batch.stride_b = 0;
        if (status == TW_OK && !t->failed) status = batch_both_ways(t, &p, &batch);
    }
    return status;
}

/* In place, packed, GEMV, and several tasks; the second row, or item, begins beyond 2^31 elements, the third beyond
 * 2^32. */
tw_status exact_far(exact_tally *t)
{
    static const int64_t shapes[][3] = {{9, 7, 37}, {1, 9, 21}, {9, 1, 21}, {100, 90, 110}};
    enum { SHAPES = sizeof shapes / sizeof *shapes };
    tw_status status = TW_OK;
    for (int i = 0; status == TW_OK && !t->failed && i < 4 * DTYPES * SHAPES; i++) {
        const int64_t *shape = shapes[i / (4 * DTYPES)];
        const bool items = i % 3 == 2, paged = i % 2;
        if (t->quick && i % 4 != (i / 4 + i / (4 * DTYPES)) % 4) continue;
        const tw_problem p = problem_of(dtypes[i / 4 % DTYPES], i, shape[0], shape[1], shape[2], i);
        const tw_batch batch = tw_batch_make(&p, 4);
        integers x;
        status = integers_make(&p, items ? &batch : NULL, t->seed, &x);
        if (status != TW_OK) return status;
        far_verdict verdict = far_product(t->context, &x, items, ((int64_t)1 << 31) + (paged ? 4096 : 5), t->text,
                                          sizeof t->text);
        integers_free(&x);
        t->failed = verdict == FAR_WRONG;
        if (verdict == FAR_NO_ROOM) return TW_OK; /* an address limit; no product was refused */
        t->products += 2;
    }
    return status;
}
