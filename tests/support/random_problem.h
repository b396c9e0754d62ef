/* random_problem.h - random problems from a seed and a number, their operands between bands that nobody may write, and
 * the verdict on every byte after the call. For test_random.c, which also computes them in device memory, and soak/.
 *
 * All elements are recomputed where that costs less than WORK; else rows are, and of all rows one weighted sum: of
 * small integers modulo 2^64, where one wrong element cannot hide, else by verify_product(). */
#ifndef TILEWRIGHT_RANDOM_PROBLEM_H
#define TILEWRIGHT_RANDOM_PROBLEM_H

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "die.h"
#include "oracle.h"
#include "reference.h"

enum { BAND = 512, MOST_ITEMS = 12, LINE = 320 };
static const double WORK = 2e7;

/* ---- a problem from its number ---- */

typedef enum way { HOST, DEVICE, STREAM, BARE, WAYS } way;
static const char *const way_names[] = {"tw_gemm", "tw_gemm in device memory", "tw_enqueue",
                                        "tw_enqueue without a workspace"};

typedef struct engine {
    const char *name;
    tw_context *context;
    bool device;      /* has memory of its own that we can reach */
    int most_log2;    /* of a length */
    int64_t elements; /* of A, B and C together, most */
    int64_t count;    /* of problems, in a usual and in a full run */
    struct {
        tw_dtype dtype, dtype_b, dtype_c;
    } types[32];
    int type_count;
    char refusal[256];
} engine;

/* Lists the types that the open engine multiplies: of A, B and C, 0 where that is what A's says. */
static inline void engine_types(engine *e)
{
    static const tw_dtype dtypes[] = {TW_F64,  TW_F32,  TW_F16,  TW_BF16, TW_I8,  TW_CF32, TW_CF64,
                                      TW_TF32, TW_E4M3, TW_E5M2, TW_U8,   TW_I16, TW_I32,  TW_I64};
    static const tw_dtype others[] = {0, TW_E4M3, TW_E5M2, TW_I8, TW_U8},
                          of_c[] = {0, TW_F16, TW_BF16, TW_F32, TW_I8, TW_U8};
    enum { DTYPES = sizeof dtypes / sizeof *dtypes, OTHERS = sizeof others / sizeof *others, OF_C = 6 };
    for (int i = 0; i < DTYPES * OTHERS * OF_C; i++) {
        tw_problem p = tw_problem_make(dtypes[i / OF_C / OTHERS], TW_N, TW_N, 64, 64, 64);
        tw_lab_plan plan;
        p.dtype_b = others[i / OF_C % OTHERS], p.dtype_c = of_c[i % OF_C];
        if (p.dtype_c == element_of(p.dtype)->result) continue; /* that of 0 */
        if (p.dtype_b != 0 && element_of(p.dtype)->integer && p.dtype_c != 0) continue;
        if (p.dtype_b == p.dtype || tw_lab_plan_of(e->context, &(tw_lab_choice){0}, &p, &plan) != TW_OK) continue;
        e->types[e->type_count].dtype = p.dtype, e->types[e->type_count].dtype_b = p.dtype_b;
        e->types[e->type_count++].dtype_c = p.dtype_c;
    }
}

typedef struct job {
    int64_t number;
    tw_problem p;
    oracle_kind kind;
    way way;
    int items;               /* of a batch; 0: one product by its own call */
    bool by_address, shared; /* shared: all items of one A and one B */
    int64_t crooked[3], gap; /* elements from a multiple of 256 bytes to A, B and C; and between items */
    uint64_t seed;
} job;

static inline bool is_prime(int64_t x)
{
    for (int64_t i = 2; i * i <= x; i++)
        if (x % i == 0) return false;
    return x > 1;
}

/* Log-uniform; or near such a length a prime, or a multiple of a tile's edge or one beside; or 0 or 1. */
static inline int64_t draw_length(die *d, int most_log2)
{
    static const int64_t edges[] = {8, 16, 32, 64, 96, 128, 256};
    int64_t any = (int64_t)exp2((double)roll(d, 1 << 20) * 0x1p-20 * most_log2), kind = roll(d, 8);
    if (kind == 0) return roll(d, 4) > 0;
    if (kind == 1)
        while (!is_prime(any)) any++;
    if (kind == 2 || kind == 3) {
        int64_t edge = edges[roll(d, 7)];
        any = (any + edge - 1) / edge * edge + (kind == 3 ? roll(d, 3) - 1 : 0);
    }
    return any;
}

static inline int64_t draw_pad(die *d) { return roll(d, 2) ? 0 : roll(d, 2) ? 8 * roll(d, 3) : roll(d, 20); }

static inline job draw(const engine *e, int64_t seed, int64_t number)
{
    static const double alphas[] = {1, 1, 1, 1, -1, 2, 0.5, -2.5, 0}, betas[] = {0, 0, 0, 1, -1, 2, 0.5, 1.5};
    die d = {.seed = element_mix((uint64_t)seed, (uint64_t)number)};
    int type = (int)roll(&d, e->type_count);
    tw_dtype dtype = e->types[type].dtype;
    job j = {
        .number = number, .seed = element_mix(d.seed, UINT64_MAX), .kind = roll(&d, 2) ? ORACLE_BOUND : ORACLE_EXACT};
    const int ops = element_of(dtype)->parts == 2 ? 4 : 2; /* of one operand */
    int64_t x[3], *largest = &x[0], op = roll(&d, ops * ops);
    for (int i = 0; i < 3; i++) x[i] = draw_length(&d, e->most_log2);
    if (roll(&d, 6) == 0)
        j.items = 1 + (int)roll(&d, MOST_ITEMS), j.by_address = roll(&d, 2), j.shared = roll(&d, 3) == 0;
    int64_t elements = e->elements / (j.items > 1 ? j.items : 1);
    while (x[0] * x[2] + x[2] * x[1] + x[0] * x[1] > elements) {
        for (int i = 0; i < 3; i++)
            if (x[i] > *largest) largest = &x[i];
        *largest = (*largest + 1) / 2;
    }
    j.p = tw_problem_make(dtype, (tw_op)(op / ops), (tw_op)(op % ops), x[0], x[1], x[2]);
    j.p.dtype_b = e->types[type].dtype_b, j.p.dtype_c = e->types[type].dtype_c;
    j.p.alpha = alphas[roll(&d, 9)], j.p.beta = betas[roll(&d, 8)];
    if (ops == 4 && roll(&d, 2)) j.p.alpha_imaginary = alphas[roll(&d, 9)], j.p.beta_imaginary = betas[roll(&d, 8)];
    if (element_of(dtype)->integer && j.p.dtype_c != 0)
        j.p.alpha /= 64; /* not all beyond the ends of a byte */
    else if (element_of(dtype)->integer)
        j.p.alpha = trunc(j.p.alpha), j.p.beta = trunc(j.p.beta);
    j.p.lda += draw_pad(&d), j.p.ldb += draw_pad(&d), j.p.ldc += draw_pad(&d);
    for (int i = 0; i < 3; i++) j.crooked[i] = draw_pad(&d);
    j.gap = draw_pad(&d);
    j.way = e->device ? (way)roll(&d, WAYS) : HOST;
    if (j.way != HOST) j.p.place_a = j.p.place_b = j.p.place_c = TW_DEVICE;
    if (j.way != HOST && ops == 4) j.by_address = false; /* no kernel takes complex items so, or without a workspace */
    if (j.way == BARE && ops == 4) j.way = STREAM;
    return j;
}

static inline const element *type_of_c(const job *j)
{
    return element_of(j->p.dtype_c ? j->p.dtype_c : element_of(j->p.dtype)->result);
}

static inline void describe(const job *j, char text[LINE])
{
    const tw_problem *p = &j->p;
    int used = snprintf(text, LINE,
                        "%s %c%c %" PRId64 "x%" PRId64 "x%" PRId64 " alpha %g %+gi beta %g %+gi ld %" PRId64 " %" PRId64
                        " %" PRId64 " C %s, crooked by %" PRId64 " %" PRId64 " %" PRId64 ", %s, %s",
                        tw_lab_dtype_of(p->dtype)->name, "ntcr"[p->op_a], "ntcr"[p->op_b], p -> m, p -> n, p -> k,
                        p -> alpha, p -> alpha_imaginary, p -> beta, p -> beta_imaginary, p -> lda, p -> ldb, p -> ldc,
                        tw_lab_dtype_of(type_of_c(j)->dtype) -> name, j -> crooked[0], j -> crooked[1], j -> crooked[2],
                        way_names[j->way], j -> kind == ORACLE_EXACT ? "exact" : "bound");
    if (j->items > 0)
        snprintf(text + used, (size_t)(LINE - used), ", %d items%s%s %" PRId64 " apart", j->items,
                 j->by_address ? " by address" : "", j->shared ? " of one A and B" : "", j->gap);
}

/* ---- operands and verdict ---- */

/* Bytes in a block of memory: of an item of A, B or C, from the block's begin to the first and from item to item. */
typedef struct place {
    size_t bytes, at, stride;
} place;

/* A, B, C and the addresses of items, each between bands of bytes that are NaN in most types. The block begins at a
 * multiple of 256. */
typedef struct operands {
    oracle o[MOST_ITEMS];
    place x[3];
    size_t addresses, bytes;
    int made, count; /* oracles; items, 1 where there is no batch */
    char *before, *after;
    char why[512];
} operands;

static inline void operands_free(operands *s)
{
    for (int i = 0; i < s->made; i++) oracle_free(&s->o[i]);
    free(s->before), free(s->after);
}

static inline bool operands_make(const job *j, operands *s)
{
    memset(s, 0, sizeof *s);
    s->count = j->items > 0 ? j->items : 1;
    for (int wanted = j->shared ? 1 : s->count; s->made < wanted; s->made++) {
        oracle *o = &s->o[s->made];
        tw_problem p = j->p;
        p.place_a = p.place_b = p.place_c = TW_HOST;
        tw_status status = oracle_make(&p, j->kind, j->seed + (uint64_t)s->made, WORK / wanted, o);
        /* no integers are small enough */
        if (status == TW_BAD_ARGUMENT && j->kind == ORACLE_EXACT)
            status = oracle_make(&p, ORACLE_BOUND, j->seed, WORK / wanted, o);
        if (status != TW_OK) {
            snprintf(s->why, sizeof s->why, "the oracle failed: %s, %s", tw_status_name(status), o->text);
            return false;
        }
    }
    const size_t ab_bytes = (size_t)element_of(j->p.dtype)->bytes,
                 element[3] = {ab_bytes, ab_bytes, (size_t)type_of_c(j)->bytes};
    const size_t bytes[3] = {oracle_a_bytes(&s->o[0]), oracle_b_bytes(&s->o[0]), oracle_c_bytes(&s->o[0])};
    /* complex elements are aligned to a part */
    const size_t parts = (size_t)element_of(j->p.dtype)->parts,
                 crooked_by[3] = {element[0] / parts, element[1] / parts, element[2] / parts};
    for (int i = 0; i < 3; i++) {
        bool one = i < 2 && j->shared;
        s->x[i] = (place){bytes[i], (s->bytes + BAND + 255) / 256 * 256 + (size_t)j->crooked[i] * crooked_by[i],
                          one ? 0 : bytes[i] + (size_t)j->gap * element[i]};
        s->bytes = s->x[i].at + bytes[i] + (one ? 0 : (size_t)(s->count - 1) * s->x[i].stride);
    }
    s->addresses = (s->bytes + BAND + 255) / 256 * 256;
    s->bytes = s->addresses + (size_t)s->count * 3 * sizeof(uint64_t) + BAND;
    if (posix_memalign((void **)&s->before, 256, s->bytes) != 0 ||
        posix_memalign((void **)&s->after, 256, s->bytes) != 0) {
        snprintf(s->why, sizeof s->why, "no memory for %zu bytes", s->bytes);
        return false;
    }
    memset(s->before, 0xff, s->bytes);
    for (int i = 0; i < s->count; i++) {
        const oracle *o = &s->o[j->shared ? 0 : i];
        const void *const from[3] = {o->a, o->b, o->c0};
        for (int of = 0; of < 3; of++)
            if (s->x[of].bytes > 0)
                memcpy(s->before + s->x[of].at + (size_t)i * s->x[of].stride, from[of], s->x[of].bytes);
    }
    return true;
}

/* Twice a multiple of 1/2 times the weighted sum of row i, which becomes `row`. */
static inline uint64_t twice_weighted(double scalar, view v, int64_t i, int64_t count, const uint64_t *weights,
                                      double *row)
{
    uint64_t sum = 0;
    if (scalar == 0) return 0;
    view_load(v, i, 1, 0, count, row, count);
    for (int64_t p = 0; p < count; p++) sum += (uint64_t)(int64_t)row[p] * weights[p];
    return (uint64_t)(int64_t)(2 * scalar) * sum;
}

/* Of integers: the sum of each row of C, weighted at random, is that of alpha A B + beta C0 modulo 2^64. Weights are
 * odd, so one wrong element is seen for certain. */
static inline bool sums_agree(const oracle *o, const void *c, char *why, size_t bytes)
{
    product x;
    const bool made = product_make(&o->problem, o->a, o->b, o->c0, &x) == TW_OK;
    const int64_t m = o->problem.m, n = x.problem.n, k = x.problem.k;
    double *row = malloc((size_t)(n > k ? n : k) * sizeof *row + 8);
    /* of B's rows */
    uint64_t *weight = malloc((size_t)n * sizeof *weight + 8), *sum = calloc((size_t)k + 1, sizeof *sum);
    bool agree = row != NULL && weight != NULL && sum != NULL && made;
    snprintf(why, bytes, "no memory for weighted sums");
    for (int64_t j = 0; agree && j < n; j++) weight[j] = element_mix(UINT64_C(77), (uint64_t)j) | 1;
    for (int64_t p = 0; agree && x.reads_ab && p < k; p++) {
        view_load(x.b, p, 1, 0, n, row, n);
        for (int64_t j = 0; j < n; j++) sum[p] += (uint64_t)(int64_t)row[j] * weight[j];
    }
    for (int64_t i = 0; agree && i < m; i++) {
        uint64_t expected = 0, found = 0;
        if (x.reads_ab) expected += twice_weighted(x.alpha, x.a, i, k, sum, row);
        if (x.reads_ab) expected += twice_weighted(x.alpha_imaginary, x.a_by_i, i, k, sum, row);
        if (x.reads_c0) expected += twice_weighted(x.beta, x.c0, i, n, weight, row);
        if (x.reads_c0) expected += twice_weighted(x.beta_imaginary, x.c0_by_i, i, n, weight, row);
        view_load((view){x.type_c, c, x.problem.ldc, 1}, i, 1, 0, n, row, n);
        for (int64_t j = 0; agree && j < n; j++) {
            agree = fabs(row[j]) < 0x1p60 && 2 * row[j] == floor(2 * row[j]);
            if (agree) found += (uint64_t)(int64_t)(2 * row[j]) * weight[j];
        }
        agree = agree && found == expected;
        if (!agree)
            snprintf(why, bytes, "row %" PRId64 " of C is wrong: its weighted sum is not that of the product", i);
    }
    free(row), free(weight), free(sum);
    return agree;
}

/* One item of C. */
static inline bool is_product(const oracle *o, const void *c, char *why, size_t bytes)
{
    oracle_verdict verdict = oracle_judge(o, c);
    snprintf(why, bytes, "%s", verdict.text);
    if (!verdict.passed || !verdict.sampled) return verdict.passed;
    const element *type = element_of(o->problem.dtype);
    if (o->kind == ORACLE_EXACT && (o->problem.dtype_c == 0 || o->problem.dtype_c == type->result))
        return sums_agree(o, c, why, bytes);
    const verify_options few = {.seed = 3, .vectors = LANES, .samples = 64};
    verify_report report;
    if (verify_product(&o->problem, o->a, o->b, o->c0, c, &few, &report) != TW_OK) {
        snprintf(why, bytes, "verify_product failed");
        return false;
    }
    snprintf(why, bytes, "%s", report.text);
    return report.passed;
}

/* Is all but the items of C what it was? */
static inline bool only_c_changed(operands *s)
{
    const place *c = &s->x[2];
    size_t from = 0;
    for (int i = 0; i <= s->count; i++) {
        size_t to = i < s->count ? c->at + (size_t)i * c->stride : s->bytes;
        if (memcmp(s->before + from, s->after + from, to - from) != 0) {
            while (s->before[from] == s->after[from]) from++;
            snprintf(s->why, sizeof s->why,
                     "byte %zu was changed, where A is at %zu, B at %zu, C at %zu (each item %zu bytes, %zu apart)",
                     from, s->x[0].at, s->x[1].at, c->at, c->bytes, c->stride);
            return false;
        }
        from = to + c->bytes;
    }
    return true;
}

/* Is every item of C its product, and all else what it was? */
static inline bool judge(const job *j, operands *s)
{
    const place *c = &s->x[2];
    if (!only_c_changed(s)) return false;
    for (int i = 0; i < s->count; i++) {
        char why[512];
        if (is_product(&s->o[j->shared ? 0 : i], s->after + c->at + (size_t)i * c->stride, why, sizeof why)) continue;
        snprintf(s->why, sizeof s->why, "item %d: %.480s", i, why);
        return false;
    }
    return true;
}

/* ---- the call, on host memory ---- */

static inline tw_batch batch_of(const job *j, const operands *s)
{
    tw_batch batch = {.size = sizeof batch, .pointers = j->by_address, .count = j->items};
    if (j->by_address) return batch;
    batch.stride_a = (int64_t)s->x[0].stride / element_of(j->p.dtype)->bytes,
    batch.stride_b = (int64_t)s->x[1].stride / element_of(j->p.dtype)->bytes;
    batch.stride_c = (int64_t)s->x[2].stride / type_of_c(j)->bytes;
    return batch;
}

/* The call, on a block that begins at `base`. */
static inline tw_status multiply(const engine *e, const job *j, const operands *s, const tw_problem *p, uintptr_t base,
                                 const tw_launch *launch)
{
    void *x[3];
    const tw_batch batch = batch_of(j, s);
    for (int i = 0; i < 3; i++)
        x[i] = (void *)(base + (j->items > 0 && j->by_address ? s->addresses + (size_t)(i * s->count) * sizeof(uint64_t)
                                                              : s->x[i].at));
    if (launch != NULL)
        return j->items > 0 ? tw_enqueue_batched(e->context, p, &batch, x[0], x[1], x[2], launch)
                            : tw_enqueue(e->context, p, x[0], x[1], x[2], launch);
    return j->items > 0 ? tw_gemm_batched(e->context, p, &batch, x[0], x[1], x[2])
                        : tw_gemm(e->context, p, x[0], x[1], x[2]);
}

/* The addresses of items, for a batch by address: A's, B's, then C's. */
static inline void put_addresses(operands *s, uintptr_t base)
{
    uint64_t *to = (uint64_t *)(void *)(s->before + s->addresses);
    for (int i = 0; i < 3; i++)
        for (int item = 0; item < s->count; item++) *to++ = base + s->x[i].at + (size_t)item * s->x[i].stride;
}

static inline bool said(operands *s, tw_status status)
{
    if (status != TW_OK) snprintf(s->why, sizeof s->why, "%s: %s", tw_status_name(status), tw_error_text());
    return status == TW_OK;
}

#endif
