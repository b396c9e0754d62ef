/* opencl_gemm.h - what the fake OpenCL driver knows of programs and kernels, so that it can compute the products of
 * sgemm_simt, gemm_simt and its like, and of every rung, by plain loops (FAKE_OPENCL "gemm=1"), and lie about them:
 *
 *   wrong=1    every element      2: the last one of incomplete tiles     3: the first one where k is divided
 *   wrong=4    C is read where beta is 0     5: the element behind a row of C is written
 *   wrong=6    every element of a batch's items but the first's
 *   local=N    launches that need more bytes of local memory fail
 *   tile=N     all this only of rows whose tile is ROW_M * 1000 + ROW_N
 *   nobuild=N  that tile does not compile; 1: nothing in double precision does */
#ifndef TILEWRIGHT_FAKE_OPENCL_GEMM_H
#define TILEWRIGHT_FAKE_OPENCL_GEMM_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "fake.h"

enum { FAKE_OPTIONS = 800, FAKE_ARGUMENTS = 24, COMMON = 11 };

typedef struct fake_program {
    char options[FAKE_OPTIONS];
} fake_program;

typedef union fake_argument {
    int32_t of_int;
    int64_t of_long;
    float of_float;
    double of_double;
    unsigned char *memory;
} fake_argument;

typedef struct fake_kernel {
    char options[FAKE_OPTIONS], name[64];
    fake_argument arguments[FAKE_ARGUMENTS];
    uint32_t count;
} fake_kernel;

static int fake_choice(const char *name, int otherwise)
{
    int unused;
    return fake_number("FAKE_OPENCL", name, otherwise, &unused);
}

/* The number behind "-DNAME=" */
static int macro_of(const char *options, const char *name)
{
    char key[40];
    snprintf(key, sizeof key, "-D%s=", name);
    const char *at = strstr(options, key);
    return at != NULL ? atoi(at + strlen(key)) : 0;
}

static int tile_of(const char *options) { return macro_of(options, "ROW_M") * 1000 + macro_of(options, "ROW_N"); }

static bool is_liar(const fake_kernel *k)
{
    const int tile = fake_choice("tile", 0);
    return tile == 0 || tile == tile_of(k->options);
}

static int build_error(const char *options)
{
    enum { BUILD_PROGRAM_FAILURE = -11 };
    const int refused = fake_choice("nobuild", 0);
    const bool refuses = refused == 1 ? strstr(options, "SUMS_F64") != NULL : refused == tile_of(options);
    return refused != 0 && refuses ? BUILD_PROGRAM_FAILURE : 0;
}

/* Two tiles of A and of B, each line of which is 4 numbers longer than its edge. */
static int launch_error(const fake_kernel *k)
{
    enum { OUT_OF_RESOURCES = -5 };
    const int most = is_liar(k) ? fake_choice("local", 0) : 0, number = strstr(k->options, "SUMS_F64") != NULL ? 8 : 4,
              edges = macro_of(k->options, "ROW_M") + macro_of(k->options, "ROW_N") + 8;
    return most > 0 && 2 * macro_of(k->options, "ROW_K") * edges * number > most ? OUT_OF_RESOURCES : 0;
}

/* ---- elements, by the types that a macro names ---- */

typedef enum fake_type { F32, F64, F16, BF16, S8, U8, S32 } fake_type;

static fake_type type_of(const char *options, const char *macro)
{
    static const char *const names[] = {"f32 ", "f64 ", "f16 ", "bf16 ", "s8 ", "u8 ", "s32 "};
    char key[40];
    snprintf(key, sizeof key, "-D%s=", macro);
    const char *at = strstr(options, key);
    for (int i = 0; at != NULL && i < (int)(sizeof names / sizeof *names); i++)
        if (strncmp(at + strlen(key), names[i], strlen(names[i])) == 0) return (fake_type)i;
    return F32;
}

static size_t bytes_of(fake_type type)
{
    static const size_t bytes[] = {4, 8, 2, 2, 1, 1, 4};
    return bytes[type];
}

static double load(fake_type type, const unsigned char *x)
{
    float single;
    double wide;
    int32_t whole;
    uint16_t half;
    memcpy(&half, x, type == F16 || type == BF16 ? sizeof half : 0);
    const uint32_t bits = (uint32_t)half << 16;
    switch (type) {
    case F64: memcpy(&wide, x, sizeof wide); return wide;
    case F32: memcpy(&single, x, sizeof single); return single;
    case BF16: memcpy(&single, &bits, sizeof single); return single;
    case S32: memcpy(&whole, x, sizeof whole); return whole;
    case S8: return (int8_t)x[0];
    case U8: return x[0];
    case F16: break;
    }
    const int exponent = half >> 10 & 31;
    wide = exponent == 31 ? (double)NAN : exponent == 0 ? 0 : ldexp(1024 + (half & 1023), exponent - 25);
    return half >> 15 ? -wide : wide;
}

/* Of 16 bits only what they hold exactly. */
static void store(fake_type type, unsigned char *x, double value)
{
    const float single = (float)value;
    const uint32_t whole = isnan(value) ? 0 : (uint32_t)(int64_t)value;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    const uint32_t magnitude = bits & 0x7fffffff;
    const uint16_t bf16 = (uint16_t)(bits >> 16),
                   f16 = (uint16_t)((bf16 & 0x8000) | (magnitude != 0 ? (magnitude >> 13) - (112 << 10) : 0));
    switch (type) {
    case F64: memcpy(x, &value, sizeof value); return;
    case F32: memcpy(x, &single, sizeof single); return;
    case BF16: memcpy(x, &bf16, sizeof bf16); return;
    case F16: memcpy(x, isnan(value) ? &(uint16_t){0x7e00} : &f16, sizeof f16); return;
    default: memcpy(x, &whole, sizeof whole);
    }
}

/* ---- the product ---- */

static double scalar_of(const fake_kernel *k, const fake_argument *x)
{
    return strstr(k->options, "SUMS_F64") != NULL   ? x->of_double
           : strstr(k->options, "SUMS_S32") != NULL ? x->of_int
                                                    : x->of_float;
}

/* How far element (i, j) is made wrong. */
static double lie(int wrong, const fake_kernel *k, int item, bool divided, int i, int j)
{
    const int m = k->arguments[0].of_int, n = k->arguments[1].of_int;
    if (wrong == 2)
        return i == m - 1 && j == n - 1 && m % macro_of(k->options, "ROW_M") != 0 &&
               n % macro_of(k->options, "ROW_N") != 0;
    return wrong == 1 || (wrong == 6 && item > 0) || (wrong == 3 && divided && i == 0 && j == 0);
}

/* r04_banks, s1_unoptimised, d1_splitk: a letter and a digit. */
static bool is_rung(const fake_kernel *k) { return k->name[1] >= '0' && k->name[1] <= '9'; }

static void compute(const fake_kernel *k, int item)
{
    const bool adds = strcmp(k->name, "gemm_add") == 0 || strcmp(k->name, "d1_splitk_add") == 0,
               typed = adds || strcmp(k->name, "gemm_simt") == 0 || strcmp(k->name, "gemv_simt") == 0 ||
                       strcmp(k->name, "gemm_slicedk_simt") == 0 || strcmp(k->name, "d1_splitk") == 0,
               divided = typed && k->arguments[COMMON].of_int > 1;
    if ((!typed && !is_rung(k) && strcmp(k->name, "sgemm_simt") != 0) || (divided && !adds)) return;
    const fake_type a_type = type_of(k->options, "TYPE_A"), b_type = type_of(k->options, "TYPE_B"),
                    c_type = type_of(k->options, "TYPE_C");
    const fake_argument *x = k->arguments, *offsets = x + COMMON + (typed ? 2 : 0);
    const bool has_offsets = k->count > COMMON + (typed ? 2 : 0);
    int64_t first[3] = {0};
    for (int i = 0; i < 3 && has_offsets; i++) first[i] = offsets[i].of_long + item * offsets[3 + i].of_long;
    const int m = x[0].of_int, n = x[1].of_int, depth = x[2].of_int, wrong = is_liar(k) ? fake_choice("wrong", 0) : 0;
    const double alpha = scalar_of(k, &x[3]), beta = scalar_of(k, &x[8]);
    const unsigned char *a = x[4].memory + (size_t)first[0] * bytes_of(a_type),
                        *b = x[6].memory + (size_t)first[1] * bytes_of(b_type);
    unsigned char *c = x[9].memory + (size_t)first[2] * bytes_of(c_type);
    const size_t lda = (size_t)x[5].of_long, ldb = (size_t)x[7].of_long, ldc = (size_t)x[10].of_long,
                 a_row = macro_of(k->options, "OP_A") ? 1 : lda, a_next = macro_of(k->options, "OP_A") ? lda : 1,
                 b_row = macro_of(k->options, "OP_B") ? 1 : ldb, b_next = macro_of(k->options, "OP_B") ? ldb : 1;
    /* B once as numbers that a compiler makes vectors of, behind a row of sums */
    double *sums = malloc(((size_t)depth + 1) * (size_t)n * sizeof *sums), *of_b = sums + n;
    if (sums == NULL) abort();
    for (int p = 0; p < depth; p++)
        for (int j = 0; j < n; j++)
            of_b[(size_t)p * (size_t)n + (size_t)j] = load(b_type, b + ((size_t)p * b_row + (size_t)j * b_next) *
                                                                           bytes_of(b_type));
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < n; j++) sums[j] = 0;
        for (int p = 0; p < depth; p++) {
            const double by = load(a_type, a + ((size_t)i * a_row + (size_t)p * a_next) * bytes_of(a_type));
            for (int j = 0; j < n; j++) sums[j] += by * of_b[(size_t)p * (size_t)n + (size_t)j];
        }
        for (int j = 0; j < n; j++) {
            unsigned char *to = c + ((size_t)i * ldc + (size_t)j) * bytes_of(c_type);
            if (beta != 0 || wrong == 4)
                store(c_type, to, alpha * sums[j] + beta * load(c_type, to) + lie(wrong, k, item, divided, i, j));
            else
                store(c_type, to, alpha * sums[j] + lie(wrong, k, item, divided, i, j));
            if (wrong == 5 && j == n - 1 && ldc > (size_t)n) store(c_type, to + bytes_of(c_type), 0);
        }
    }
    free(sums);
}

static void compute_items(const fake_kernel *k, int items)
{
    for (int i = 0; i < items; i++) compute(k, i);
}

#endif
