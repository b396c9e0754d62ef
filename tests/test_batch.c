/* test_batch.c - batches: every item has the bits of tw_gemm() of the same problem, whatever the form, the place, the
 * threads and the engine; nothing else is written; what is no batch is refused with a sentence. In device memory of
 * CUDA the product is exact, of small integers, and an item's bits do not depend on its place. */
#include <inttypes.h>
#include <math.h>
#include <pthread.h>

#include "support/cuda_caller.h"
#include "integers.h"
#include "support/tap.h"
#include "tilewright_lab.h"

typedef enum form { ITEMS, SHARED_A, SHARED_B, SHARED_BOTH, BESIDE, POINTERS, FORMS } form;

static const char *const form_names[] = {"at strides",     "of one A",          "of one B",
                                         "of one A and B", "side by side in C", "by address"};

/* Operands of a batch in host memory, with room between rows and items. */
typedef struct operands {
    tw_problem problem;
    tw_batch batch;
    size_t bytes, c_bytes, a_elements, b_elements, c_elements; /* bytes of an element */
    char *a, *b, *c, *expected;
    void **a_items, **b_items, **c_items;
} operands;

static uint32_t noise(uint32_t *state) { return *state = *state * 1664525u + 1013904223u; }

/* From -1 to 1; of whole numbers all there are. */
static void fill(char *x, size_t elements, tw_dtype of, uint32_t seed)
{
    const tw_dtype dtype = element_of(of)->part;
    size_t bytes = (size_t)tw_lab_dtype_of(dtype)->bytes;
    elements *= (size_t)element_of(of)->parts;
    for (size_t i = 0; i < elements; i++) {
        uint32_t bits = noise(&seed);
        double value = ((double)bits - 0x1p31) * 0x1p-31;
        float narrow = (float)value;
        if (dtype == TW_BF16)
            memcpy(x + i * bytes, (char *)&narrow + 2, bytes);
        else
            memcpy(x + i * bytes,
                   dtype == TW_F64   ? (void *)&value
                   : dtype == TW_F32 ? (void *)&narrow
                                     : (void *)((char *)&bits + 3),
                   bytes);
    }
}

static void *must(void *memory)
{
    if (memory == NULL) perror("test_batch"), exit(1);
    return memory;
}

static operands operands_make(const tw_problem *problem, int64_t count, form form)
{
    operands o = {.problem = *problem,
                  .bytes = (size_t)tw_lab_dtype_of(problem->dtype)->bytes,
                  .c_bytes = (size_t)element_of(element_of(problem->dtype)->result)->bytes};
    tw_problem *p = &o.problem;
    p->lda += 3, p->ldb += 1, p->ldc += 2;
    if (form == BESIDE) p->ldc = count * (p->n + 1);
    o.batch = tw_batch_make(p, count);
    o.batch.stride_a += 5, o.batch.stride_c += form == BESIDE ? 0 : 1;
    o.a_elements = (size_t)(count * o.batch.stride_a), o.b_elements = (size_t)(count * o.batch.stride_b);
    o.c_elements = form == BESIDE ? (size_t)(p->m * p->ldc) : (size_t)(count * o.batch.stride_c);
    /* floats of any value, which whole numbers may be too */
    const tw_dtype of_c = element_of(p->dtype)->integer ? TW_F32 : element_of(p->dtype)->result;
    o.a = must(malloc(o.a_elements * o.bytes + 8)), o.b = must(malloc(o.b_elements * o.bytes + 8));
    o.c = must(malloc(o.c_elements * o.c_bytes + 8)), o.expected = must(malloc(o.c_elements * o.c_bytes + 8));
    fill(o.a, o.a_elements, p->dtype, 1), fill(o.b, o.b_elements, p->dtype, 2), fill(o.c, o.c_elements, of_c, 3);
    memcpy(o.expected, o.c, o.c_elements * o.c_bytes);
    if (form == SHARED_A || form == SHARED_BOTH) o.batch.stride_a = 0;
    if (form == SHARED_B || form == SHARED_BOTH) o.batch.stride_b = 0;
    if (form == BESIDE) o.batch.stride_c = p->n + 1;
    o.a_items = must(calloc((size_t)count + 1, sizeof(void *))),
    o.b_items = must(calloc((size_t)count + 1, sizeof(void *)));
    o.c_items = must(calloc((size_t)count + 1, sizeof(void *)));
    for (int64_t i = 0; i < count; i++) { /* in another order than they lie in, some operands shared */
        int64_t at = (i * 7 + 3) % count;
        o.a_items[i] = o.a + (size_t)(at * o.batch.stride_a) * o.bytes;
        o.b_items[i] = o.b + (size_t)(at / 2 * o.batch.stride_b) * o.bytes;
        o.c_items[i] = o.c + (size_t)((count % 7 ? at : i) * o.batch.stride_c) * o.c_bytes;
    }
    return o;
}

static void operands_free(operands *o)
{
    free(o->a), free(o->b), free(o->c), free(o->expected), free(o->a_items), free(o->b_items), free(o->c_items);
}

/* Item by item, with tw_gemm. */
static tw_status expect(tw_context *context, const operands *o, bool pointers)
{
    tw_status status = TW_OK;
    for (int64_t i = 0; status == TW_OK && i < o->batch.count; i++) {
        char *c = pointers ? o->c_items[i] : o->c + (size_t)(i * o->batch.stride_c) * o->c_bytes;
        status = tw_gemm(
            context, &o->problem, pointers ? o->a_items[i] : o->a + (size_t)(i * o->batch.stride_a) * o->bytes,
            pointers ? o->b_items[i] : o->b + (size_t)(i * o->batch.stride_b) * o->bytes, o->expected + (c - o->c));
    }
    return status;
}

static tw_status multiply(tw_context *context, const operands *o, bool pointers)
{
    tw_batch addresses = {.size = sizeof addresses, .pointers = 1, .count = o->batch.count};
    return pointers ? tw_gemm_batched(context, &o->problem, &addresses, o->a_items, o->b_items, o->c_items)
                    : tw_gemm_batched(context, &o->problem, &o->batch, o->a, o->b, o->c);
}

static void same_bits(const operands *o, tw_status status)
{
    size_t at = 0, bytes = o->c_elements * o->c_bytes;
    while (status == TW_OK && at < bytes && o->c[at] == o->expected[at]) at++;
    tap_result(status == TW_OK && at == bytes, "%s; C differs from element %zu of %zu on",
               status == TW_OK ? "" : tw_error_text(), at / o->c_bytes, o->c_elements);
}

typedef struct machine {
    const char *name;
    tw_context *context, *reference; /* NULL: refusal */
    char refusal[256];
} machine;

static void bits_case(const machine *machine, tw_dtype dtype, int op, int64_t m, int64_t n, int64_t k, int64_t count,
                      form form, double beta)
{
    const bool complex = tw_lab_dtype_of(dtype)->parts == 2;
    const tw_op op_a = (tw_op)(complex ? op / 4 : op / 2), op_b = (tw_op)(complex ? op % 4 : op % 2);
    tw_problem p = tw_problem_make(dtype, op_a, op_b, m, n, k);
    if (!(tap_brings("%s %d %dx%dx%d, %d", machine->name, tw_lab_dtype_of(dtype)->bytes, (int)m, (int)n, (int)k,
                     (int)count) |
          tap_brings("%s %d %dx%dx%d, form %d", machine->name, tw_lab_dtype_of(dtype)->bytes, m > 1, n > 1, k > 500,
                     form) |
          tap_brings("%s %d op %d", machine->name, tw_lab_dtype_of(dtype)->bytes, op)))
        return;
    if (!tap_case("%s: %" PRId64 " items %s %s %c%c %" PRId64 "x%" PRId64 "x%" PRId64 " beta %g", machine->name, count,
                  form_names[form], tw_lab_dtype_of(dtype)->name, "ntcr"[op_a], "ntcr"[op_b], m, n, k, beta))
        return;
    if (machine->context == NULL) {
        tap_skip(machine->refusal);
        return;
    }
    p.alpha = dtype == TW_I8 ? 3 : dtype == TW_F64 ? 1.25 + 0x1p-40 : 1.25, p.beta = beta;
    if (complex) p.alpha_imaginary = -0.75, p.beta_imaginary = -3 * beta;
    operands o = operands_make(&p, count, form);
    tw_status status = expect(machine->reference, &o, form == POINTERS);
    if (status == TW_OK) status = multiply(machine->context, &o, form == POINTERS);
    same_bits(&o, status);
    operands_free(&o);
}

/* Of one tile, of several, of a line; packed, and in several panels of k; few items and many. */
static void bits_cases(const machine *machine, bool f64)
{
    static const int64_t shapes[][4] = {{1, 1, 1, 40},      {8, 8, 8, 101},     {16, 16, 16, 57}, {32, 32, 32, 33},
                                        {5, 50, 7, 23},     {65, 33, 129, 6},   {1, 77, 30, 9},   {40, 1, 30, 9},
                                        {100, 120, 900, 3}, {128, 128, 128, 14}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int op = 0; op < 4; op++)
            for (int form = 0; form < FORMS; form++) {
                const int64_t *x = shapes[s];
                bits_case(machine, f64 && (op + form) % 2 ? TW_F64 : TW_F32, op, x[0], x[1], x[2], x[3],
                          (enum form)form, (op + form) % 3 ? 0 : -0.5);
            }
}

/* Several tiles, strips and panels of each item, which all threads share; and operands that are packed once. */
static void large_cases(const machine *machine)
{
    for (int op = 0; op < 4; op += tap_spares() ? 3 : 1) {
        bits_case(machine, TW_F32, op, 300, 280, 700, 2, SHARED_B, 0);
        bits_case(machine, TW_F64, op, 200, 5000, 300, 2, SHARED_B, 1);
        bits_case(machine, TW_F32, op, 4200, 100, 400, 3, SHARED_BOTH, 0);
        bits_case(machine, TW_F32, op, 256, 256, 256, 5, POINTERS, 0);
        for (int form = 0; form < FORMS; form++) {
            bits_case(machine, TW_BF16, op, 20, 30, 70, 12, (enum form)form, 0);
            bits_case(machine, TW_I8, op, 60, 100, 900, 5, (enum form)form, form % 2);
        }
    }
}

/* More than 1,024 and 65,536 items, each with operands of its own: in place, GEMV, packed, and with scalars that float
 * cannot hold. */
static void many_cases(const machine *machine)
{
    static const int64_t counts[] = {1024, 1025, 2049, 65539};
    for (int i = 0; i < 4 * FORMS; i++) {
        const int64_t count = counts[i / FORMS];
        const form form = (enum form)(i % FORMS);
        bits_case(machine, TW_F32, i % 4, 2, 3, 4, count, form, 0);
        bits_case(machine, TW_F32, (i + 1) % 4, 1, 3, 2, count, form, 1);
        if (form != BESIDE || count < 65536) bits_case(machine, TW_I8, (i + 2) % 4, 3, 2, 5, count, form, 2);
        bits_case(machine, TW_F64, (i + 3) % 4, 3, 2, 3, count, form, 1 + 0x1p-40);
    }
}

/* Complex items with all ops: in place, of one row, in several panels of k, which are those of the item by itself, and
 * packed; many of them. */
static void complex_cases(const machine *machine)
{
    static const int64_t shapes[][4] = {
        {3, 5, 8, 40}, {1, 30, 600, 5}, {20, 1, 500, 5}, {33, 20, 600, 4}, {100, 120, 500, 2}};
    for (int i = 0; i < 5 * FORMS; i++)
        for (int d = 0; d < 2; d++) {
            const int64_t *x = shapes[i / FORMS];
            bits_case(machine, d ? TW_CF64 : TW_CF32, (7 * i + 3 * d) % 16, x[0], x[1], x[2], x[3],
                      (enum form)(i % FORMS), i % 2 ? 0.5 : 0);
        }
    bits_case(machine, TW_CF32, 9, 2, 3, 4, 65539, ITEMS, 0.5);
}

/* The same where items follow each other, by copies of their own. */
static void many_copied_cases(const machine *machine)
{
    bits_case(machine, TW_F32, 0, 2, 3, 4, 1025, ITEMS, 1);
    bits_case(machine, TW_F32, 1, 2, 3, 4, 1025, POINTERS, 0);
    if (tap.full) bits_case(machine, TW_F32, 2, 1, 1, 1, 65539, ITEMS, 0); /* 13 s on PoCL */
}

/* ---- special cases and errors ---- */

static float a[64], b[64], c[64];

static void expect_call(const char *what, tw_status found, tw_status expected, const char *words, float in_c)
{
    bool right = true;
    if (!tap_case("%s", what)) return;
    for (int i = 0; i < 64; i++) right = right && c[i] == in_c;
    tap_result(found == expected && (expected == TW_OK || strstr(tw_error_text(), words) != NULL) && right,
               "status %s, expected %s; sentence \"%s\", expected \"%s\"; C %s", tw_status_name(found),
               tw_status_name(expected), tw_error_text(), words, right ? "as it was" : "is not what it should be");
}

static tw_status with(void (*change)(tw_problem *, tw_batch *))
{
    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, 2, 3, 4);
    tw_batch batch = tw_batch_make(&p, 3);
    change(&p, &batch);
    return tw_gemm_batched(NULL, &p, &batch, a, b, c);
}

static tw_status by_address(void **a_items, void **b_items, void **c_items)
{
    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, 2, 3, 4);
    tw_batch batch = {.size = sizeof batch, .pointers = 1, .count = 2};
    return tw_gemm_batched(NULL, &p, &batch, a_items, b_items, c_items);
}

static void addressed_a(tw_problem *p, tw_batch *x) { (void)p, x->pointers = 1, x->stride_b = x->stride_c = 0; }
static void addressed_b(tw_problem *p, tw_batch *x) { (void)p, x->pointers = 1, x->stride_a = x->stride_c = 0; }
static void addressed_c(tw_problem *p, tw_batch *x) { (void)p, x->pointers = 1, x->stride_a = x->stride_b = 0; }

static void no_size(tw_problem *p, tw_batch *x) { (void)p, x->size = 0; }
static void negative_count(tw_problem *p, tw_batch *x) { (void)p, x->count = -1; }
static void odd_form(tw_problem *p, tw_batch *x) { (void)p, x->pointers = 2; }
static void negative_a(tw_problem *p, tw_batch *x) { (void)p, x->stride_a = -8; }
static void negative_b(tw_problem *p, tw_batch *x) { (void)p, x->stride_b = INT64_MIN; }
static void negative_c(tw_problem *p, tw_batch *x) { (void)p, x->stride_c = -6; }
static void huge_a(tw_problem *p, tw_batch *x) { (void)p, x->stride_a = INT64_MAX / 2; }
static void huge_count(tw_problem *p, tw_batch *x) { (void)p, x->count = INT64_MAX; }
static void same_c(tw_problem *p, tw_batch *x) { (void)p, x->stride_c = 0; }
static void near_c(tw_problem *p, tw_batch *x) { (void)p, x->stride_c = 5; }
static void beside_too_near(tw_problem *p, tw_batch *x) { p->ldc = 9, x->stride_c = 2; }
static void beside_too_many(tw_problem *p, tw_batch *x) { p->ldc = 8, x->stride_c = 3; }
static void bad_problem(tw_problem *p, tw_batch *x) { (void)x, p->ldc = 2; }
static void no_items(tw_problem *p, tw_batch *x) { (void)p, x->count = 0; }
static void no_rows(tw_problem *p, tw_batch *x) { p->m = 0, x->stride_c = 0; }

static void error_cases(void)
{
    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, 2, 3, 4);
    tw_batch batch = tw_batch_make(&p, 3);
    void *a_items[2] = {a, a + 8}, *b_items[2] = {b, b}, *c_items[2] = {c, c + 8}, *hole[2] = {c, NULL},
         *crooked[2] = {(char *)a + 2, a};
    for (int i = 0; i < 64; i++) a[i] = b[i] = 1, c[i] = 7;
    expect_call("error: batch NULL", tw_gemm_batched(NULL, &p, NULL, a, b, c), TW_BAD_ARGUMENT, "batch is NULL", 7);
    expect_call("error: problem NULL", tw_gemm_batched(NULL, NULL, &batch, a, b, c), TW_BAD_ARGUMENT, "problem is NULL",
                7);
    expect_call("error: the problem", with(bad_problem), TW_BAD_ARGUMENT, "ldc is 2, expected at least 3", 7);
    expect_call("error: size", with(no_size), TW_BAD_ARGUMENT, "batch.size is 0, expected", 7);
    expect_call("error: count", with(negative_count), TW_BAD_ARGUMENT, "batch.count is -1, expected 0 or more", 7);
    expect_call("error: form", with(odd_form), TW_BAD_ARGUMENT, "batch.pointers is 2, expected 0 or 1", 7);
    expect_call("error: stride of A", with(negative_a), TW_BAD_ARGUMENT, "batch.stride_a is -8, expected 0 or more", 7);
    expect_call("error: stride of B", with(negative_b), TW_BAD_ARGUMENT,
                "batch.stride_b is -9223372036854775808, expected 0 or more", 7);
    expect_call("error: stride of C", with(negative_c), TW_BAD_ARGUMENT, "batch.stride_c is -6, expected 0 or more", 7);
    expect_call("error: A too long", with(huge_a), TW_BAD_ARGUMENT,
                "a spans more bytes than this machine can address: 3 items", 7);
    expect_call("error: count too high", with(huge_count), TW_BAD_ARGUMENT, "spans more bytes", 7);
    expect_call("error: one C for all", with(same_c), TW_BAD_ARGUMENT,
                "batch.stride_c is 0, so that items of C overlap: expected at least 6", 7);
    expect_call("error: items of C overlap", with(near_c), TW_BAD_ARGUMENT,
                "batch.stride_c is 5, so that items of C overlap", 7);
    expect_call("error: items of C side by side overlap", with(beside_too_near), TW_BAD_ARGUMENT,
                "batch.stride_c is 2, so that items of C overlap", 7);
    expect_call("error: more items of C side by side than fit", with(beside_too_many), TW_BAD_ARGUMENT,
                "batch.stride_c is 3, so that items of C overlap", 7);
    expect_call("error: a NULL", tw_gemm_batched(NULL, &p, &batch, NULL, b, c), TW_BAD_ARGUMENT,
                "a is NULL, expected 2 x 4", 7);
    expect_call("error: no addresses", by_address(NULL, b_items, c_items), TW_BAD_ARGUMENT,
                "a is NULL, expected an array of 2 addresses", 7);
    expect_call("error: crooked addresses", by_address(a_items, (void **)((char *)b_items + 1), c_items),
                TW_BAD_ARGUMENT, "b is not aligned to an address", 7);
    expect_call("error: an address is NULL", by_address(a_items, b_items, hole), TW_BAD_ARGUMENT, "c[1] is NULL", 7);
    expect_call("error: an address is crooked", by_address(crooked, b_items, c_items), TW_BAD_ARGUMENT,
                "a[0] is not aligned to one element", 7);
    expect_call("error: addresses and a stride of A", with(addressed_a), TW_BAD_ARGUMENT,
                "stride_c are 8, 0, 0, expected 0", 7);
    expect_call("error: addresses and a stride of B", with(addressed_b), TW_BAD_ARGUMENT,
                "stride_c are 0, 12, 0, expected 0", 7);
    expect_call("error: addresses and a stride of C", with(addressed_c), TW_BAD_ARGUMENT,
                "stride_c are 0, 0, 6, expected 0", 7);
    expect_call("error: streams of the cpu engine", tw_enqueue_batched(NULL, &p, &batch, a, b, c, NULL),
                TW_BAD_ARGUMENT, "the cpu engine, which has no streams", 7);
    expect_call("error: nothing to prepare", tw_prepare_batched(NULL, &p, NULL), TW_BAD_ARGUMENT, "batch is NULL", 7);
    expect_call("no items", with(no_items), TW_OK, "", 7);
    expect_call("no items, no operands", tw_gemm_batched(NULL, &p, &(tw_batch){.size = sizeof batch}, NULL, NULL, NULL),
                TW_OK, "", 7);
    expect_call("no rows, one C", with(no_rows), TW_OK, "", 7);
    expect_call("prepared", tw_prepare_batched(NULL, &p, &batch), TW_OK, "", 7);
    batch = (tw_batch){.size = sizeof batch, .pointers = 1, .count = 2};
    expect_call("prepared by address", tw_prepare_batched(NULL, &p, &batch), TW_OK, "", 7);
    p = tw_problem_make(TW_F32, TW_N, TW_N, 4, 8, 0), p.beta = 2;
    batch = (tw_batch){.size = sizeof batch, .count = 2, .stride_c = 32};
    expect_call("k 0: C is scaled", tw_gemm_batched(NULL, &p, &batch, NULL, NULL, c), TW_OK, "", 14);
    batch.count = 6, batch.stride_a = INT64_MAX / 3, batch.stride_b = INT64_MAX, batch.stride_c = 0, p.m = 0;
    expect_call("strides of operands that are not read", tw_gemm_batched(NULL, &p, &batch, a, b, c), TW_OK, "", 14);
    p.m = 1, p.n = 1, batch.stride_c = 1, p.beta = 1;
    expect_call("the same where C is", tw_gemm_batched(NULL, &p, &batch, a, b, c), TW_OK, "", 14);
    p.m = 4, p.n = 8;
    p.beta = 0.5, p.k = 3, p.lda = 3, p.alpha = 0;
    void *halves[2] = {c + 32, c};
    batch = (tw_batch){.size = sizeof batch, .pointers = 1, .count = 2};
    expect_call("alpha 0, by address: A and B are not looked at", tw_gemm_batched(NULL, &p, &batch, NULL, NULL, halves),
                TW_OK, "", 7);
    p.beta = 1, p.align_c = 1;
    expect_call("by address: an alignment in host memory is not read",
                tw_gemm_batched(NULL, &p, &batch, NULL, NULL, halves), TW_OK, "", 7);
    p.align_c = 0;
    const void *nowhere = (const void *)(uintptr_t)8;
    expect_call("by address: arrays of A and B that are not read",
                tw_gemm_batched(NULL, &p, &batch, nowhere, nowhere, halves), TW_OK, "", 7);
    p.beta = 0;
    for (int i = 0; i < 64; i++) c[i] = NAN;
    expect_call("beta 0: C is not read", tw_gemm_batched(NULL, &p, &batch, NULL, NULL, halves), TW_OK, "", 0);
}

/* ---- many callers ---- */

enum { CALLERS = 4 };

static void *call(void *context)
{
    operands *o = context;
    return multiply(NULL, o, false) == TW_OK ? o : NULL;
}

static void callers_case(void)
{
    operands o[CALLERS];
    pthread_t thread[CALLERS];
    if (!tap_case("batches of %d threads at once", CALLERS)) return;
    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_T, 96, 90, 100);
    tw_status status = TW_OK;
    bool right = true;
    for (int i = 0; i < CALLERS; i++) {
        o[i] = operands_make(&p, 20, SHARED_B);
        if (status == TW_OK) status = expect(NULL, &o[i], false);
    }
    for (int i = 0; i < CALLERS; i++) pthread_create(&thread[i], NULL, call, &o[i]);
    for (int i = 0; i < CALLERS; i++) {
        void *done;
        pthread_join(thread[i], &done);
        right = right && done != NULL && memcmp(o[i].c, o[i].expected, o[i].c_elements * o[i].c_bytes) == 0;
        operands_free(&o[i]);
    }
    tap_result(status == TW_OK && right, "%s", status == TW_OK ? "a batch failed or is wrong" : tw_error_text());
}

/* ---- device memory ---- */

static caller me;
static tw_context *cuda;
static char no_device[300];

static void open_device(void)
{
    cu_context primary;
    if (tw_open(&(tw_options){.size = sizeof(tw_options), .engine = "cuda"}, &cuda) != TW_OK)
        snprintf(no_device, sizeof no_device, "no cuda device: %.250s", tw_error_text());
    else if (!caller_enter(&me, &primary, no_device, sizeof no_device))
        tw_close(cuda), cuda = NULL;
}

/* Addresses of items in device memory, last item first. */
static bool put_addresses(cu_pointer *array, cu_pointer first, int64_t stride, size_t bytes, int64_t count)
{
    cu_pointer *items = must(calloc((size_t)count, sizeof *items));
    for (int64_t i = 0; i < count; i++) items[i] = first + (cu_pointer)((count - 1 - i) * stride) * bytes;
    bool done = me.cu->cuMemAlloc_v2(array, (size_t)count * sizeof *items) == CU_SUCCESS &&
                me.cu->cuMemcpyHtoD_v2(*array, items, (size_t)count * sizeof *items) == CU_SUCCESS;
    free(items);
    return done;
}

/* Operands of a batch as they lie on the host; C comes back with all its padding. */
typedef struct operands_there {
    tw_problem problem;
    tw_batch batch;
    void *host[3];
    size_t element[3], bytes[3]; /* of an element; of the whole */
} operands_there;

static tw_status multiply_there(const operands_there *o, const cu_pointer at[3], bool pointers)
{
    const int64_t strides[3] = {o->batch.stride_a, o->batch.stride_b, o->batch.stride_c};
    cu_pointer arrays[3] = {0};
    tw_batch batch = o->batch;
    tw_problem p = o->problem;
    uint32_t *const align[3] = {&p.align_a, &p.align_b, &p.align_c}; /* of addresses that the library does not see */
    bool there = true;
    p.place_a = p.place_b = p.place_c = TW_DEVICE;
    for (int i = 0; i < 3; i++) {
        const cu_pointer bits = at[i] | (cu_pointer)strides[i] * o->element[i] | 256;
        *align[i] = (uint32_t)(bits & -bits);
        there = there && (!pointers || put_addresses(&arrays[i], at[i], strides[i], o->element[i], o->batch.count));
    }
    /* what was copied may still be on its way, and the engine's streams wait for no other */
    there = there && me.cu->cuStreamSynchronize(NULL) == CU_SUCCESS;
    if (pointers) batch = (tw_batch){.size = sizeof batch, .pointers = 1, .count = o->batch.count};
    const cu_pointer *x = pointers ? arrays : at;
    tw_status status = !there ? TW_DEVICE_FAILED
                              : tw_gemm_batched(cuda, &p, &batch, (void *)(uintptr_t)x[0], (void *)(uintptr_t)x[1],
                                                (void *)(uintptr_t)x[2]);
    for (int i = 0; i < 3; i++)
        if (arrays[i] != 0) me.cu->cuMemFree_v2(arrays[i]);
    return status;
}

/* Each operand `offset` bytes beyond what the driver allocates by; C at least an element. */
static tw_status run_there(const operands_there *o, size_t offset, bool pointers)
{
    cu_pointer memory[3] = {0}, at[3];
    bool there = true;
    for (int i = 0; there && i < 3; i++) {
        there = me.cu->cuMemAlloc_v2(&memory[i], o->bytes[i] + 16) == CU_SUCCESS;
        at[i] = memory[i] + (i == 2 && offset < o->element[2] ? o->element[2] : offset);
        there = there && (o->bytes[i] == 0 || me.cu->cuMemcpyHtoD_v2(at[i], o->host[i], o->bytes[i]) == CU_SUCCESS);
    }
    tw_status status = there ? multiply_there(o, at, pointers) : TW_NO_MEMORY;
    if (status == TW_OK && me.cu->cuMemcpyDtoH_v2(o->host[2], at[2], o->bytes[2]) != CU_SUCCESS)
        status = TW_DEVICE_FAILED;
    for (int i = 0; i < 3; i++)
        if (memory[i] != 0) me.cu->cuMemFree_v2(memory[i]);
    return status;
}

/* dtype_b: 0 where B is as A. */
static void device_case(tw_dtype dtype, tw_dtype dtype_b, int op, int64_t m, int64_t n, int64_t k, int64_t count,
                        form form, int pad, double beta)
{
    tw_problem p = tw_problem_make(dtype, (tw_op)(op / 2), (tw_op)(op % 2), m, n, k);
    if (!tap_case("device memory: %" PRId64 " items %s %s%s%s %c%c %" PRId64 "x%" PRId64 "x%" PRId64
                  " %d apart, beta %g",
                  count, form_names[form], tw_lab_dtype_of(dtype)->name, dtype_b != 0 ? " by " : "",
                  dtype_b != 0 ? tw_lab_dtype_of(dtype_b)->name : "", "nt"[op / 2], "nt"[op % 2], m, n, k, pad, beta))
        return;
    p.dtype_b = dtype_b;
    if (cuda == NULL) {
        tap_skip(no_device);
        return;
    }
    p.lda += pad, p.ldb += pad, p.ldc += pad, p.alpha = 2, p.beta = beta;
    if (form == BESIDE) p.ldc = count * ((n + 7) / 8 * 8 + pad);
    tw_batch batch = tw_batch_make(&p, count);
    if (form == SHARED_A || form == SHARED_BOTH) batch.stride_a = 0;
    if (form == SHARED_B || form == SHARED_BOTH) batch.stride_b = 0;
    if (form == BESIDE) batch.stride_c = (n + 7) / 8 * 8 + pad;
    integers x;
    char why[200] = "no memory";
    bool right = integers_make(&p, &batch, 7, &x) == TW_OK;
    if (right) {
        const size_t bytes = (size_t)element_of(dtype)->bytes,
                     c_bytes = (size_t)element_of(element_of(dtype)->result)->bytes;
        const operands_there o = {
            .problem = p,
            .batch = batch,
            .host = {x.a, x.b, x.c},
            .element = {bytes, bytes, c_bytes},
            .bytes = {(size_t)x.a_elements * bytes, (size_t)x.b_elements * bytes, (size_t)x.c_elements * c_bytes}};
        const tw_status status = run_there(&o, pad == 0 ? 0 : pad % 8 == 0 || op % 2 ? 16 : bytes, form == POINTERS);
        right = status == TW_OK && integers_judge(&x, why, sizeof why);
        if (status != TW_OK) snprintf(why, sizeof why, "%s", tw_error_text());
        integers_free(&x);
    }
    tap_result(right, "%s", why);
}

/* The same two operands in every item: every C has the bits of the first. */
static void places_case(tw_dtype dtype, int64_t edge, int64_t k, form form)
{
    enum { COUNT = 300 };
    if (!tap_case("device memory: the bits of an item do not depend on its place, %s %" PRId64 "x%" PRId64 "x%" PRId64
                  " %s",
                  tw_lab_dtype_of(dtype)->name, edge, edge, k, form_names[form]))
        return;
    if (cuda == NULL) {
        tap_skip(no_device);
        return;
    }
    const tw_problem p = tw_problem_make(dtype, TW_N, TW_N, edge, edge, k);
    const size_t bytes = (size_t)element_of(dtype)->bytes,
                 c_bytes = (size_t)element_of(element_of(dtype)->result)->bytes, item = (size_t)(edge * edge) * c_bytes;
    operands_there o = {.problem = p, .batch = tw_batch_make(&p, COUNT), .element = {bytes, bytes, c_bytes}};
    for (int i = 0; i < 3; i++) {
        o.bytes[i] = i < 2 ? (size_t)(COUNT * edge * k) * bytes : COUNT * item;
        o.host[i] = must(malloc(o.bytes[i]));
        memset(o.host[i], 0xff, o.bytes[i]);
        for (size_t at = 0; i < 2 && at < o.bytes[i] / bytes; at++) {
            double value = element_uniform(element_of(dtype), (uint64_t)i, at % (size_t)(edge * k));
            element_of(dtype)->store(o.host[i], (int64_t)at, 1, &value);
        }
    }
    const tw_status status = run_there(&o, 0, form == POINTERS);
    const char *const c_items = o.host[2];
    int same = 1;
    while (status == TW_OK && same < COUNT && memcmp(c_items, c_items + (size_t)same * item, item) == 0) same++;
    tap_result(status == TW_OK && same == COUNT, "%s; item %d has other bits than the first",
               status == TW_OK ? "" : tw_error_text(), same);
    for (int i = 0; i < 3; i++) free(o.host[i]);
}

/* C of 2 bytes is C in f32 rounded once. */
static void narrow_case(tw_dtype dtype, tw_dtype dtype_c, int64_t m, int64_t n, int64_t k, int64_t count)
{
    if (!tap_case("device memory: %" PRId64 " items of %s, C in %s, nt %" PRId64 "x%" PRId64 "x%" PRId64, count,
                  tw_lab_dtype_of(dtype)->name, tw_lab_dtype_of(dtype_c)->name, m, n, k))
        return;
    if (cuda == NULL) {
        tap_skip(no_device);
        return;
    }
    const tw_problem p = tw_problem_make(dtype, TW_N, TW_T, m, n, k);
    const tw_batch batch = tw_batch_make(&p, count);
    integers x;
    char why[200] = "no memory";
    bool right = integers_make(&p, &batch, 7, &x) == TW_OK;
    if (right) {
        operands_there o = {.problem = p,
                            .batch = batch,
                            .host = {x.a, x.b, x.c},
                            .element = {1, 1, 4},
                            .bytes = {(size_t)x.a_elements, (size_t)x.b_elements, (size_t)x.c_elements * 4}};
        unsigned char *const narrow = must(malloc((size_t)x.c_elements * 2)), one[2];
        memset(narrow, 0xff, (size_t)x.c_elements * 2);
        tw_status status = run_there(&o, 0, false);
        o.problem.dtype_c = dtype_c, o.host[2] = narrow, o.element[2] = 2, o.bytes[2] = (size_t)x.c_elements * 2;
        if (status == TW_OK) status = run_there(&o, 0, false);
        if (status != TW_OK) snprintf(why, sizeof why, "%s", tw_error_text());
        right = status == TW_OK;
        for (int64_t at = 0; right && at < count * m * n; at++) {
            const double wide = ((const float *)x.c)[at];
            element_of(dtype_c)->store(one, 0, 1, &wide);
            right = memcmp(one, narrow + 2 * at, 2) == 0;
            if (!right) snprintf(why, sizeof why, "element %" PRId64 " is not %g rounded", at, wide);
        }
        right = right && integers_judge(&x, why, sizeof why);
        free(narrow);
        integers_free(&x);
    }
    tap_result(right, "%s", why);
}

/* Operands of 1 and 4 bytes along k, in whole 16 bytes: on sm_90 by TMA. Edges within tiles and between; k of less than
 * one stage, and of more than there are. */
static void along_cases(void)
{
    static const struct {
        tw_dtype a, b;
    } types[] = {{TW_I8, 0},   {TW_U8, 0},         {TW_I8, TW_U8},     {TW_U8, TW_I8}, {TW_TF32, 0},
                 {TW_E4M3, 0}, {TW_E4M3, TW_E5M2}, {TW_E5M2, TW_E4M3}, {TW_E5M2, 0}};
    static const int64_t shapes[][4] = {{128, 128, 128, 150}, {64, 64, 128, 500}, {1, 64, 16, 9},    {65, 36, 80, 30},
                                        {130, 68, 400, 20},   {63, 256, 1104, 7}, {384, 128, 32, 50}};
    const int along = 1; /* A as stored, B transposed */
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
            for (int form = ITEMS; form <= SHARED_BOTH; form++) {
                const int64_t *x = shapes[s];
                device_case(types[t].a, types[t].b, along, x[0], x[1], x[2], x[3], (enum form)form, 16,
                            (form + (int)s) % 2 ? 3 : 0);
            }
    for (int pair = 0; pair < 4; pair++)
        for (int large = 0; large < 2; large++)
            narrow_case(pair / 2 ? TW_E5M2 : TW_E4M3, pair % 2 ? TW_F16 : TW_BF16, large ? 128 : 65, large ? 256 : 72,
                        large ? 128 : 208, 40);
}

static void device_cases(void)
{
    static const tw_dtype dtypes[] = {TW_F32, TW_F64, TW_BF16, TW_F16, TW_I8, TW_U8, TW_TF32, TW_E4M3, TW_E5M2};
    static const int64_t shapes[][4] = {
        {1, 1, 1, 700},      {8, 8, 8, 1001},     {32, 32, 32, 40},    {31, 17, 50, 40},  {64, 64, 64, 30},
        {64, 40, 96, 9},     {65, 33, 16, 9},     {128, 128, 128, 20}, {136, 264, 72, 5}, {128, 128, 40, 700},
        {228, 132, 24, 170}, {160, 132, 24, 170}, {129, 127, 200, 7},  {16, 16, 0, 5}};
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++) {
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
            for (int op = 0; op < 4; op++)
                for (int form = 0; form < FORMS; form++) {
                    /* one way of walking over items serves all forms */
                    if (d >= 4 && !tap.full && form != ITEMS && form != POINTERS) continue;
                    static const int pads[] = {0, 8, 3};
                    const int64_t *x = shapes[s];
                    int way = op + form + (int)s;
                    device_case(dtypes[d], (tw_dtype)0, op, x[0], x[1], x[2], x[3], (enum form)form, pads[way % 3],
                                way % 2 ? 3 : 0);
                }
        for (int edge = 32; edge <= 128; edge *= 2)
            for (int form = 0; form < 2; form++) places_case(dtypes[d], edge, 200, form ? POINTERS : ITEMS);
    }
    along_cases();
    tw_close(cuda);
}

static void engine_cases(const char *engine, int threads, bool f64)
{
    char name[32];
    machine machine = {.name = name};
    tw_options options = {.size = sizeof options, .engine = engine, .threads = threads};
    snprintf(name, sizeof name, threads > 0 ? "%s, %d threads" : "%s", engine, threads);
    if (!tap.full && !tap.gpu)
        setenv("TILEWRIGHT_OPENCL_OPTIONS", "-cl-opt-disable", 1); /* PoCL takes longest with it */
    if (!tap.list && tw_open(&options, &machine.context) != TW_OK)
        snprintf(machine.refusal, sizeof machine.refusal, "no %s device: %.200s", engine, tw_error_text());
    if (!tap.list && threads > 0 &&
        tw_open(&(tw_options){.size = sizeof options, .engine = engine, .threads = 1}, &machine.reference) != TW_OK)
        machine.context = NULL;
    if (threads == 0) machine.reference = machine.context;
    bits_cases(&machine, f64);
    if (threads > 0 && !(tap_spares() && threads == 7)) large_cases(&machine);
    if (threads > 0) complex_cases(&machine);
    if (threads == 1 || threads == 2) many_cases(&machine);
    if (threads == 0) many_copied_cases(&machine);
    if (machine.reference != machine.context) tw_close(machine.reference);
    tw_close(machine.context);
}

int main(int argc, char **argv)
{
    tap_start(argc, argv);
    if (!tap.gpu) {
        error_cases();
        callers_case();
        engine_cases("cpu", 1, true);
        engine_cases("cpu", 2, true);
        engine_cases("cpu", 7, true);
    }
    engine_cases("opencl", 0, false);
    engine_cases("cuda", 0, false);
    if (!tap.list) open_device();
    device_cases();
    return tap_finish();
}
