/* fuzz_api.c - libFuzzer target: calls of tilewright.h with structs in which any bytes may stand, of any size.
 *
 * The input is a list of calls. Each starts from a small valid product, some bytes of whose structs are overwritten.
 * Structs and operands are allocated to the byte that the call may use, so that AddressSanitizer sees a read or a write
 * beyond. Where that would be too much memory or work, the operands are NULL. Every product that succeeds is compared
 * with three loops; after a failure C must be as it was. */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "tilewright.h"

enum {
    MOST_BYTES = 1 << 20,
    MOST_ITEMS = 16,
    MOST_CALLS = 8,
    READ_SIZE = 4096 /* of structs; larger ones are refused */
};

static const double MOST_FLOPS = 1 << 21;

#define REQUIRE(holds)                                                                                                 \
    do {                                                                                                               \
        if (!(holds)) {                                                                                                \
            fprintf(stderr, "fuzz_api: not so: %s; \"%s\"\n", #holds, tw_error_text());                                \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

/* ---- the input ---- */

static const uint8_t *input;
static size_t left;

static uint8_t byte(void) { return left > 0 ? (left--, *input++) : 0; }

static uint64_t word(void)
{
    uint64_t bits = 0;
    for (int i = 0; i < 8; i++) bits = bits << 8 | byte();
    return bits;
}

/* Numbers at which a check may go wrong. */
static uint64_t odd_number(void)
{
    const uint8_t kind = byte();
    switch (kind % 8) {
    case 0: return 0;
    case 1: return UINT64_MAX;
    case 2: return (uint64_t)INT64_MAX;
    case 3: return (uint64_t)1 << byte() % 64;
    case 4: return ((uint64_t)1 << byte() % 64) - 1;
    case 5: return kind / 8;
    case 6: return byte();
    default: return word();
    }
}

/* overwrite - put some odd numbers into the struct behind its size. */
static void overwrite(void *value, size_t bytes)
{
    for (int count = byte() % 4; count > 0; count--) {
        const size_t width = byte() & 1 ? 8 : 4, at = width + byte() % ((bytes - width) / width) * width;
        const uint64_t number = odd_number();
        if (at + width <= bytes) memcpy((char *)value + at, &number, width);
    }
}

/* resized - a copy of the struct in memory of its own, of a size that may be odd; the struct itself becomes what the
 * library will see of it. */
static void *resized(void *value, size_t bytes)
{
    const uint8_t kind = byte();
    uint32_t size = (uint32_t)bytes;
    if (kind % 8 == 1) size = (uint32_t)odd_number();
    if (kind % 8 == 2) size = (uint32_t)(bytes + kind / 8);
    if (kind % 8 == 3) size = (uint32_t)(bytes - kind / 8 * 4 % bytes);
    const size_t all = size > READ_SIZE || size < 4 ? 4 : size;
    char *copy = malloc(all);
    REQUIRE(copy != NULL);
    memset(copy, kind % 16 == 10 ? 1 : 0, all);
    memcpy(copy, value, all < bytes ? all : bytes);
    memcpy(copy, &size, sizeof size);
    if (all < bytes) memset((char *)value + all, 0, bytes - all);
    return copy;
}

/* ---- operands ---- */

/* Of a complex element the type of both parts. */
static tw_dtype part_of(tw_dtype dtype) { return dtype == TW_CF64 ? TW_F64 : dtype == TW_CF32 ? TW_F32 : dtype; }

static bool is_complex(tw_dtype dtype) { return part_of(dtype) != dtype; }

static size_t bytes_of(tw_dtype dtype)
{
    switch (dtype) {
    case TW_CF64: return 16;
    case TW_CF32:
    case TW_I64:
    case TW_F64: return 8;
    case TW_F32:
    case TW_TF32:
    case TW_I32: return 4;
    case TW_F16:
    case TW_I16:
    case TW_BF16: return 2;
    case TW_E4M3:
    case TW_E5M2:
    case TW_U8:
    case TW_I8: return 1;
    }
    return 0;
}

static bool is_byte(tw_dtype dtype) { return dtype == TW_I8 || dtype == TW_U8; }

static bool is_whole(tw_dtype dtype) { return is_byte(dtype) || dtype == TW_I16 || dtype == TW_I32 || dtype == TW_I64; }

static tw_dtype type_of_c(const tw_problem *p)
{
    if (p->dtype_c != 0 || is_complex(p->dtype)) return p->dtype_c != 0 ? p->dtype_c : p->dtype;
    return p->dtype == TW_F64 ? TW_F64 : is_byte(p->dtype) ? TW_I32 : is_whole(p->dtype) ? p->dtype : TW_F32;
}

typedef struct operand {
    int64_t rows, cols, ld, stride, count;
    size_t element, bytes; /* bytes of one item, or of all at strides */
    tw_dtype dtype;
    char *items[MOST_ITEMS]; /* by address */
    char *all;               /* at strides; NULL: none */
} operand;

/* Bytes from the first element to the last; a negative number: more than the target allocates. */
static int64_t span_of(const operand *x)
{
    if (x->rows <= 0 || x->cols <= 0 || x->ld < 0 || x->stride < 0 || x->count < 1) return 0;
    const double elements = (double)(x->rows - 1) * (double)x->ld + (double)x->cols +
                            (double)(x->count - 1) * (double)x->stride;
    return elements * (double)x->element <= MOST_BYTES ? (int64_t)(elements * (double)x->element) : -1;
}

static void put(char *at, tw_dtype dtype, int value)
{
    const float single = (float)value;
    const double wide = value;
    const int32_t whole = value;
    uint32_t bits;
    memcpy(&bits, &single, 4);
    const uint16_t upper = (uint16_t)(bits >> 16);
    const int8_t small = (int8_t)value;
    const int16_t shorter = (int16_t)value;
    const int64_t longer = value;
    switch (dtype) {
    case TW_F64: memcpy(at, &wide, 8); break;
    case TW_F32: memcpy(at, &single, 4); break;
    case TW_I16: memcpy(at, &shorter, 2); break;
    case TW_I32: memcpy(at, &whole, 4); break;
    case TW_I64: memcpy(at, &longer, 8); break;
    case TW_U8:
    case TW_I8: memcpy(at, &small, 1); break;
    default: memcpy(at, &upper, 2); break;
    }
}

static int64_t get_whole(const char *at, tw_dtype dtype)
{
    int16_t shorter;
    int32_t whole;
    int64_t longer;
    switch (dtype) {
    case TW_I16: memcpy(&shorter, at, 2); return shorter;
    case TW_I32: memcpy(&whole, at, 4); return whole;
    case TW_I64: memcpy(&longer, at, 8); return longer;
    case TW_I8: return *(const signed char *)at;
    default: return *(const unsigned char *)at;
    }
}

static double get(const char *at, tw_dtype dtype)
{
    double wide;
    float single;
    uint16_t upper;
    if (is_whole(dtype)) return (double)get_whole(at, dtype);
    switch (dtype) {
    case TW_F64: memcpy(&wide, at, 8); return wide;
    case TW_F32: memcpy(&single, at, 4); return (double)single;
    default: break;
    }
    memcpy(&upper, at, 2);
    const uint32_t bits = (uint32_t)upper << 16;
    memcpy(&single, &bits, 4);
    return (double)single;
}

/* Small whole numbers everywhere, the gaps too. */
static void fill(char *at, size_t bytes, const operand *x, int seed)
{
    const size_t step = is_complex(x->dtype) ? x->element / 2 : x->element;
    for (size_t i = 0; i + step <= bytes; i += step)
        put(at + i, part_of(x->dtype), (int)((i / step + (size_t)seed) * 7 % 5) - 2);
}

/* False: no operand could be made. */
static bool make(operand *x, bool by_address, int seed)
{
    const int64_t count = x->count;
    if (by_address) x->count = 1, x->stride = 0;
    const int64_t span = span_of(x);
    x->count = count, x->all = NULL;
    if (span < 0 || x->element == 0 || (by_address && count > MOST_ITEMS)) return false;
    x->bytes = (size_t)span;
    for (int i = 0; i < (by_address ? (int)count : 1); i++) {
        char *at = malloc(x->bytes + 1);
        REQUIRE(at != NULL);
        fill(at, x->bytes, x, seed + i);
        x->items[i] = at;
        if (!by_address) x->all = at;
    }
    return true;
}

static void drop(operand *x, bool by_address, bool made)
{
    for (int i = 0; made && i < (by_address ? (int)x->count : 1); i++) free(x->items[i]);
}

static char *item(const operand *x, bool by_address, int64_t i)
{
    /* of an operand that is not read the stride may be anything */
    return by_address ? x->items[i] : (char *)((uintptr_t)x->all + (size_t)i * (size_t)x->stride * x->element);
}

static char *element(const operand *x, char *base, int64_t row, int64_t col)
{
    return base + (size_t)(row * x->ld + col) * x->element;
}

/* ---- products and their check ---- */

typedef struct product {
    tw_problem p;
    tw_batch batch;
    bool is_batch, by_address;
    operand a, b, c;
} product;

/* One element against its sum, in the library's terms: |error| <= g(k+2) |alpha| sum + g(2) |beta c0|, rounded up. */
static void check_element(const product *x, const char *a, const char *b, int64_t i, int64_t j, double before,
                          const char *at)
{
    const double found = get(at, x->c.dtype);
    const bool wide = x->p.dtype == TW_F64, whole = is_whole(x->p.dtype);
    const double alpha = wide || whole ? x->p.alpha : (double)(float)x->p.alpha,
                 beta = wide || whole ? x->p.beta : (double)(float)x->p.beta, unit = wide ? 0x1p-53 : 0x1p-23;
    double sum = 0, size = 0;
    for (int64_t q = 0; alpha != 0 && q < x->p.k; q++) {
        const double left_factor = get(x->p.op_a == TW_N ? element(&x->a, (char *)a, i, q)
                                                         : element(&x->a, (char *)a, q, i),
                                       x->a.dtype),
                     right_factor = get(x->p.op_b == TW_N ? element(&x->b, (char *)b, q, j)
                                                          : element(&x->b, (char *)b, j, q),
                                        x->b.dtype);
        sum += left_factor * right_factor, size += fabs(left_factor * right_factor);
    }
    if (whole) { /* modulo 2^n; all factors are whole numbers */
        const uint64_t expected = (uint64_t)(int64_t)alpha * (uint64_t)(int64_t)sum +
                                  (uint64_t)(int64_t)beta * (uint64_t)(int64_t)before;
        REQUIRE((((uint64_t)get_whole(at, x->c.dtype) ^ expected) << (64 - 8 * x->c.element)) == 0);
        return;
    }
    const double scaled = (alpha != 0 ? alpha * sum : 0) + (beta != 0 ? beta * before : 0);
    const double k = (double)x->p.k, terms = fabs(alpha) * size * (k + 2) + 2 * fabs(beta * before);
    if (!(terms < (wide ? 1e300 : 1e37)) || fabs(alpha) * size > (wide ? 1e300 : 1e37)) return; /* it may overflow */
    const double tiny = (fmax(1, fabs(alpha)) * k + 1) * (wide ? 0x1p-1074 : 0x1p-125);
    REQUIRE(!(fabs(found - scaled) > 2 * unit * terms + tiny));
}

typedef struct parts {
    double re, im;
} parts;

static parts get_parts(const char *at, tw_dtype dtype)
{
    return (parts){get(at, part_of(dtype)), get(at + bytes_of(part_of(dtype)), part_of(dtype))};
}

/* Element (i, j) of op(X). */
static parts factor(const operand *x, const char *base, tw_op op, int64_t i, int64_t j)
{
    const bool transposed = op == TW_T || op == TW_C;
    parts value = get_parts(element(x, (char *)base, transposed ? j : i, transposed ? i : j), x->dtype);
    if (op == TW_C || op == TW_R) value.im = -value.im;
    return value;
}

static parts times(parts x, parts y) { return (parts){x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re}; }

static double size_of(parts x) { return fabs(x.re) + fabs(x.im); }

/* The same of a complex element, whose parts both are within the sum of all sizes. */
static void check_complex(const product *x, const char *a, const char *b, int64_t i, int64_t j, parts before,
                          parts found)
{
    const bool wide = x->p.dtype == TW_CF64;
    const parts alpha = wide ? (parts){x->p.alpha, x->p.alpha_imaginary}
                             : (parts){(double)(float)x->p.alpha, (double)(float)x->p.alpha_imaginary},
                beta = wide ? (parts){x->p.beta, x->p.beta_imaginary}
                            : (parts){(double)(float)x->p.beta, (double)(float)x->p.beta_imaginary};
    const bool reads = alpha.re != 0 || alpha.im != 0, adds = beta.re != 0 || beta.im != 0;
    parts sum = {0, 0};
    double size = 0;
    for (int64_t q = 0; reads && q < x->p.k; q++) {
        const parts u = factor(&x->a, a, x->p.op_a, i, q), v = factor(&x->b, b, x->p.op_b, q, j), w = times(u, v);
        sum.re += w.re, sum.im += w.im, size += size_of(u) * size_of(v);
    }
    const parts scaled = times(alpha, sum), old = times(beta, before);
    const double k = (double)x->p.k, unit = wide ? 0x1p-53 : 0x1p-24,
                 terms = (reads ? size_of(alpha) * size * (2 * k + 4) : 0) +
                         (adds ? 4 * size_of(beta) * size_of(before) : 0);
    if (!(terms < (wide ? 1e300 : 1e37))) return; /* it may overflow */
    const double tiny = (fmax(1, size_of(alpha)) * 2 * k + 2) * (wide ? 0x1p-1074 : 0x1p-149);
    const double re = (reads ? scaled.re : 0) + (adds ? old.re : 0), im = (reads ? scaled.im : 0) + (adds ? old.im : 0);
    REQUIRE(fabs(found.re - re) <= 2 * unit * terms + tiny);
    REQUIRE(fabs(found.im - im) <= 2 * unit * terms + tiny);
}

/* Every element is the product's, and every byte between them is as it was. */
static void check(product *x, char *const *before)
{
    for (int64_t i = 0; i < x->batch.count; i++) {
        const char *a = item(&x->a, x->by_address, i), *b = item(&x->b, x->by_address, i);
        char *c = item(&x->c, x->by_address, i);
        char *old = x->by_address ? before[i] : before[0] + (c - x->c.all);
        for (int64_t row = 0; row < x->p.m; row++)
            for (int64_t col = 0; col < x->p.n; col++) {
                char *at = element(&x->c, c, row, col), *was = element(&x->c, old, row, col);
                if (is_complex(x->c.dtype))
                    check_complex(x, a, b, row, col, get_parts(was, x->c.dtype), get_parts(at, x->c.dtype));
                else
                    check_element(x, a, b, row, col, get(was, x->c.dtype), at);
                memcpy(was, at, x->c.element); /* what is left must be equal */
            }
    }
}

static void run(tw_context *context, product *x)
{
    x->p.epilogue = NULL; /* like a, b and c it must be what it says; test_expression has texts that mean harm */
    tw_problem *problem = resized(&x->p, sizeof x->p);
    tw_batch *batch = x->is_batch ? resized(&x->batch, sizeof x->batch) : NULL;
    const tw_problem *p = &x->p;
    x->by_address = x->is_batch && x->batch.pointers != 0;
    const int64_t count = x->batch.count;
    const tw_dtype own = type_of_c(p), b_dtype = p->dtype_b != 0 ? p->dtype_b : p->dtype;
    const bool a_transposed = p->op_a == TW_T || p->op_a == TW_C, b_transposed = p->op_b == TW_T || p->op_b == TW_C;
    x->a = (operand){a_transposed ? p->k : p->m,
                     a_transposed ? p->m : p->k,
                     p->lda,
                     x->batch.stride_a,
                     count,
                     bytes_of(p->dtype),
                     0,
                     p->dtype,
                     {0},
                     NULL};
    x->b = (operand){b_transposed ? p->n : p->k,
                     b_transposed ? p->k : p->n,
                     p->ldb,
                     x->batch.stride_b,
                     count,
                     bytes_of(b_dtype),
                     0,
                     b_dtype,
                     {0},
                     NULL};
    x->c = (operand){p->m, p->n, p->ldc, x->batch.stride_c, count, bytes_of(own), 0, own, {0}, NULL};
    const double flops = (double)p->m * (double)p->n * (double)(p->k > 0 ? p->k : 1) * (double)(count > 0 ? count : 1);
    const bool work = flops <= MOST_FLOPS && count >= 0 && count <= MOST_BYTES;
    bool made_a = work && make(&x->a, x->by_address, 1), made_b = made_a && make(&x->b, x->by_address, 2),
         made_c = made_b && make(&x->c, x->by_address, 3);
    char *before[MOST_ITEMS] = {0};
    for (int i = 0; made_c && i < (x->by_address ? (int)count : 1); i++) {
        before[i] = malloc(x->c.bytes + 1);
        REQUIRE(before[i] != NULL);
        memcpy(before[i], x->c.items[i], x->c.bytes);
    }
    const void *a = made_c ? x->by_address ? (void *)x->a.items : x->a.all : NULL,
               *b = made_c ? x->by_address ? (void *)x->b.items : x->b.all : NULL;
    void *c = made_c ? x->by_address ? (void *)x->c.items : x->c.all : NULL;
    for (int tries = 1 + byte() % 2; tries > 0; tries--) {
        const tw_status status = x->is_batch ? tw_gemm_batched(context, problem, batch, a, b, c)
                                             : tw_gemm(context, problem, a, b, c);
        REQUIRE(status >= TW_OK && status <= TW_DEVICE_FAILED);
        REQUIRE(status == TW_OK || tw_error_text()[0] != '\0');
        if (status == TW_OK && made_c && p->m > 0 && p->n > 0) check(x, before);
        for (int i = 0; made_c && i < (x->by_address ? (int)count : 1); i++)
            REQUIRE(memcmp(before[i], x->c.items[i], x->c.bytes) == 0);
    }
    int64_t bytes = -1;
    tw_launch launch = {.size = sizeof launch};
    overwrite(&launch, sizeof launch);
    tw_launch *other = resized(&launch, sizeof launch);
    REQUIRE(tw_workspace_bytes(context, problem, &bytes) != TW_OK); /* the cpu engine has no streams */
    REQUIRE(tw_enqueue(context, problem, a, b, c, other) != TW_OK);
    if (x->is_batch) REQUIRE(tw_enqueue_batched(context, problem, batch, a, b, c, other) != TW_OK);
    const tw_status ready = x->is_batch ? tw_prepare_batched(context, problem, batch) : tw_prepare(context, problem);
    REQUIRE(ready == TW_OK || tw_error_text()[0] != '\0');
    for (int i = 0; i < MOST_ITEMS; i++) free(before[i]);
    drop(&x->a, x->by_address, made_a), drop(&x->b, x->by_address, made_b), drop(&x->c, x->by_address, made_c);
    free(problem), free(batch), free(other);
}

static void multiply(tw_context *context)
{
    static const tw_dtype dtypes[] = {TW_F64, TW_F32, TW_BF16, TW_I8, TW_CF32, TW_CF64, TW_I16, TW_I32, TW_I64};
    const tw_dtype dtype = dtypes[byte() % 9];
    const int ops = is_complex(dtype) ? 4 : 2;
    const tw_op op_a = (tw_op)(byte() % ops), op_b = (tw_op)(byte() % ops);
    product x = {.p = tw_problem_make(dtype, op_a, op_b, byte() % 40, byte() % 40, byte() % 40)};
    x.p.lda += byte() % 4, x.p.ldb += byte() % 4, x.p.ldc += byte() % 4;
    x.p.alpha = (double)(byte() % 4) - 1, x.p.beta = (double)(byte() % 4) - 1;
    if (ops == 4) x.p.alpha_imaginary = (double)(byte() % 4) - 1, x.p.beta_imaginary = (double)(byte() % 4) - 1;
    x.is_batch = byte() & 1;
    x.batch = tw_batch_make(&x.p, x.is_batch ? byte() % 6 : 1);
    if (!x.is_batch) x.batch.stride_a = x.batch.stride_b = x.batch.stride_c = 0;
    overwrite(&x.p, sizeof x.p);
    if (x.is_batch && byte() % 4 == 0) x.batch.pointers = 1, x.batch.stride_a = x.batch.stride_b = x.batch.stride_c = 0;
    if (x.is_batch) overwrite(&x.batch, sizeof x.batch);
    run(context, &x);
}

/* ---- contexts and devices ---- */

static void open_and_close(void)
{
    static const char *const names[] = {NULL, "cpu", "auto", "", "abacus"}, *const sets[] = {NULL, "base", "avx2", "",
                                                                                             "mmx"};
    tw_options options = {.size = sizeof options, .threads = byte() % 4};
    overwrite(&options, sizeof options);
    options.engine = names[byte() % 5], options.instruction_set = sets[byte() % 5]; /* strings are what they say */
    tw_options *other = resized(&options, sizeof options);
    tw_context *context = NULL;
    const tw_status status = tw_open(other, &context);
    REQUIRE((status == TW_OK) == (context != NULL));
    if (status == TW_OK && options.threads <= 8) multiply(context);
    tw_close(context);
    free(other);
}

static void describe(void)
{
    tw_device device = {.size = sizeof device};
    overwrite(&device, sizeof device);
    tw_device *other = resized(&device, sizeof device);
    const tw_status status = tw_describe(NULL, other);
    REQUIRE(status == TW_BAD_ARGUMENT || (status == TW_OK && strcmp(other->engine, "cpu") == 0));
    free(other);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    input = bytes, left = count;
    for (int calls = 0; calls < MOST_CALLS && left > 0; calls++) {
        const uint8_t kind = byte() % 16;
        if (kind == 0)
            open_and_close();
        else if (kind == 1)
            describe();
        else
            multiply(NULL);
    }
    return 0;
}
