/* product.c - what a product of BLAS needs beside tw_gemm(), since no caller would learn that one was skipped: a
 * context whatever the environment holds, operands that are not aligned to an element, memory that has run out; and the
 * line of TILEWRIGHT_VERBOSE. */
#include "product.h"

#include "arguments.h"
#include "plain.h"
#include "profile.h"
#include "route.h"
#include "switch.h"

#include <tilewright_lab.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

_Atomic(tw_context *) blas_quiet_context;

/* ---- the context, opened at the first product ---- */

static _Atomic(tw_context *) opened;
static atomic_bool prints, watches; /* each call has a line; is timed, for that or for the profile */
static _Thread_local struct {
    bool cpu, gpu, wrote; /* who computed some of the result; some of it may be written */
} so_far;                 /* by this thread's call */

/* Of threads that come at once the first tells what is wrong in the environment, and the others do not wait for it: a
 * child of a fork would for ever. */
tw_context *blas_context(void)
{
    tw_context *made, *context = atomic_load(&opened);
    if (context != NULL) return context;
    if (tw_lab_open_despite(&made) != TW_OK) return NULL;
    if (!atomic_compare_exchange_strong(&opened, &context, made)) {
        tw_close(made);
        return context;
    }
    if (tw_error_text()[0] != '\0') fprintf(stderr, "tilewright: %s; it is ignored\n", tw_error_text());
    const bool has_lines = switch_is_on("TILEWRIGHT_VERBOSE", getenv("TILEWRIGHT_VERBOSE")), profiles = profile_open();
    atomic_store(&prints, has_lines);
    atomic_store(&watches, has_lines || profiles);
    const bool has_routes = route_open();
    if (!has_lines && !profiles && !has_routes) atomic_store(&blas_quiet_context, made);
    return made;
}

/* ---- operands as they may lie ---- */

static size_t bytes_of(const tw_problem *p) { return (size_t)blas_bytes(p->dtype); }

static bool transposes(tw_op op) { return op == TW_T || op == TW_C; }

static bool reads(const tw_problem *p) { return (p->alpha != 0 || p->alpha_imaginary != 0) && p->k > 0; }

static bool reads_c(const tw_problem *p) { return p->beta != 0 || p->beta_imaginary != 0; }

/* The columns of row i of C that are computed: *first .. *last - 1. */
static void columns_of(const tw_problem *p, int64_t i, int64_t *first, int64_t *last)
{
    *first = p->flags == TW_UPPER ? i : 0, *last = p->flags == TW_LOWER ? i + 1 : p->n;
}

static matrix operand(const void *at, int64_t rows, int64_t cols, int64_t ld, tw_op op)
{
    return (matrix){(char *)(uintptr_t)at, rows, cols, ld, transposes(op), op == TW_C || op == TW_R};
}

/* Needs no memory and no context, and is slow. */
static void multiply_plainly(const tw_problem *p, const void *a, const void *b, void *c)
{
    const matrix of_a = operand(a, p->m, p->k, p->lda, p->op_a), of_b = operand(b, p->k, p->n, p->ldb, p->op_b),
                 of_c = operand(c, p->m, p->n, p->ldc, TW_N);
    plain_multiply(p->dtype, (scalar){p->alpha, p->alpha_imaginary}, &of_a, &of_b, (scalar){p->beta, p->beta_imaginary},
                   &of_c, p->flags);
}

/* To a real number, which is a part of a complex one. */
static bool misaligned(const tw_problem *p, const void *x)
{
    return (uintptr_t)x % (bytes_of(p) / (blas_is_complex(p->dtype) ? 2 : 1)) != 0;
}

static void copy_rows(void *to, int64_t to_ld, const void *from, int64_t from_ld, int64_t rows, int64_t cols,
                      size_t bytes)
{
    for (int64_t i = 0; i < rows; i++)
        memcpy((char *)to + (size_t)(i * to_ld) * bytes, (const char *)from + (size_t)(i * from_ld) * bytes,
               (size_t)cols * bytes);
}

/* NULL: no memory. rows and cols are 1 or more. */
static void *room_for(const tw_problem *p, int64_t rows, int64_t cols)
{
    enum { ALIGNMENT = 64 };
    if (rows > (PTRDIFF_MAX - ALIGNMENT) / (int64_t)bytes_of(p) / cols) return NULL;
    return aligned_alloc(ALIGNMENT,
                         ((size_t)rows * (size_t)cols * bytes_of(p) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
}

/* Puts an operand, rows x cols, where tw_gemm() takes it: where it lies, or, if that is misaligned, in a copy, *copy.
 * False: no memory. */
static bool align(const tw_problem *p, const void **x, int64_t rows, int64_t cols, int64_t *ld, void **copy)
{
    *copy = NULL;
    if (!misaligned(p, *x)) return true;
    *copy = room_for(p, rows, cols);
    if (*copy == NULL) return false;
    copy_rows(*copy, cols, *x, *ld, rows, cols, bytes_of(p));
    *x = *copy, *ld = cols;
    return true;
}

/* The computed elements of C to its copy, whose rows are n apart, or back. */
static void copy_c(const tw_problem *p, void *c, void *copy, bool back)
{
    for (int64_t i = 0; i < p->m; i++) {
        int64_t first, last;
        columns_of(p, i, &first, &last);
        char *at_c = (char *)c + (size_t)(i * p->ldc + first) * bytes_of(p),
             *at_copy = (char *)copy + (size_t)(i * p->n + first) * bytes_of(p);
        memcpy(back ? at_c : at_copy, back ? at_copy : at_c, (size_t)(last - first) * bytes_of(p));
    }
}

/* tw_gemm() by aligned copies. */
static tw_status multiply_aligned(tw_context *context, const tw_problem *p, const void *a, const void *b, void *c)
{
    tw_problem q = *p;
    void *copy[3] = {NULL, NULL, NULL}, *at_c = c;
    const bool transposes_a = transposes(p->op_a), transposes_b = transposes(p->op_b);
    bool fits = !reads(p) || (align(p, &a, transposes_a ? p->k : p->m, transposes_a ? p->m : p->k, &q.lda, &copy[0]) &&
                              align(p, &b, transposes_b ? p->n : p->k, transposes_b ? p->k : p->n, &q.ldb, &copy[1]));
    if (misaligned(p, c)) {
        at_c = copy[2] = room_for(p, p->m, p->n), q.ldc = p->n;
        fits = fits && at_c != NULL;
        if (fits && reads_c(p)) copy_c(p, c, at_c, false);
    }
    const tw_status status = fits ? tw_gemm(context, &q, a, b, at_c) : TW_NO_MEMORY;
    if (status == TW_OK && copy[2] != NULL) copy_c(p, c, at_c, true);
    for (int i = 0; i < 3; i++) free(copy[i]);
    return status;
}

/* By the GPU, if it is one for it. TW_NO_DEVICE: the cpu can compute it still. A device that fails may have written
 * some of C, whose old elements are lost then. */
static tw_status multiply_by_gpu(const tw_problem *p, const void *a, const void *b, void *c)
{
    tw_context *gpu = route_gpu(p);
    if (gpu == NULL) return TW_NO_DEVICE;
    const tw_status status = tw_gemm(gpu, p, a, b, c);
    so_far.gpu = so_far.gpu || status == TW_OK;
    so_far.wrote = so_far.wrote || status == TW_OK || status == TW_DEVICE_FAILED;
    if (status == TW_OK) return status;
    route_failed(status);
    return status == TW_DEVICE_FAILED && reads_c(p) ? status : TW_NO_DEVICE;
}

void blas_computed(void) { so_far.cpu = so_far.wrote = true; }

const char *blas_unusable(const blas_caller *caller, const tw_problem *p, const void *a, const void *b, const void *c)
{
    static const char *const null[] = {"a is NULL", "b is NULL", "c is NULL"},
                             *const far[] = {"a spans more bytes than this machine can address",
                                             "b spans more bytes than this machine can address",
                                             "c spans more bytes than this machine can address"};
    const bool transposes_a = transposes(p->op_a), transposes_b = transposes(p->op_b);
    const struct {
        const void *at;
        int64_t lines, length, ld;
        int name;
    } operands[] = {{c, p->m, p->n, p->ldc, 2},
                    {a, transposes_a ? p->k : p->m, transposes_a ? p->m : p->k, p->lda, caller->row_major ? 0 : 1},
                    {b, transposes_b ? p->n : p->k, transposes_b ? p->k : p->n, p->ldb, caller->row_major ? 1 : 0}};
    for (int i = 0; i < (reads(p) ? 3 : 1); i++) {
        if (operands[i].at == NULL) return null[operands[i].name];
        if (!blas_fits(operands[i].lines, operands[i].length, operands[i].ld, (int64_t)bytes_of(p)))
            return far[operands[i].name];
    }
    return NULL;
}

bool blas_multiply(const tw_problem *p, const void *a, const void *b, void *c)
{
    tw_context *context = blas_context();
    const bool copies = misaligned(p, c) || (reads(p) && (misaligned(p, a) || misaligned(p, b)));
    tw_status status = copies ? TW_NO_DEVICE : multiply_by_gpu(p, a, b, c);
    if (status != TW_NO_DEVICE) return status == TW_OK;
    status = context == NULL ? TW_NO_MEMORY
             : copies        ? multiply_aligned(context, p, a, b, c)
                             : tw_gemm(context, p, a, b, c);
    if (status == TW_NO_MEMORY) multiply_plainly(p, a, b, c);
    if (status != TW_OK && status != TW_NO_MEMORY) return false;
    blas_computed();
    return true;
}

/* ---- the line of a product ---- */

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double blas_start(tw_dtype dtype)
{
    route_measure(blas_context(), dtype); /* neither is part of the time */
    so_far.cpu = so_far.gpu = so_far.wrote = false;
    return atomic_load(&watches) ? now_s() : 0;
}

static const char *order_of(const blas_caller *caller)
{
    return !caller->from_c ? "" : caller->row_major ? " row-major" : " column-major";
}

/* bench: a command that measures the same product; NULL: none. */
static void print_line(const blas_caller *caller, double seconds, double flops, const char *said, const char *bench)
{
    const bool slow = seconds >= 1e-3;
    fprintf(stderr, "tilewright: %s%s %s: %.3g %s, %.3g GFLOP/s%s%s%s\n", caller->entry, order_of(caller), said,
            seconds * (slow ? 1e3 : 1e6), slow ? "ms" : "us", seconds > 0 ? flops / seconds / 1e9 : 0,
            so_far.gpu && so_far.cpu ? ", on cuda and cpu"
            : so_far.gpu             ? ", on cuda"
                                     : "",
            bench != NULL ? " | " : "", bench != NULL ? bench : "");
}

void blas_finish(const blas_caller *caller, const char *failed, double start_s, double flops, const char *said,
                 const char *bench)
{
    const double seconds = start_s > 0 ? now_s() - start_s : 0;
    if (failed != NULL) {
        blas_report_failure(caller, so_far.wrote, failed);
        return;
    }
    if (start_s > 0) profile_count(caller->entry, order_of(caller), said, seconds, flops);
    if (start_s > 0 && atomic_load(&prints)) print_line(caller, seconds, flops, said, bench);
}

const char *blas_scalar_text(char text[SCALAR_BYTES], double re, double im)
{
    const int length = snprintf(text, SCALAR_BYTES, "%g", re);
    if (im != 0) snprintf(text + length, (size_t)(SCALAR_BYTES - length), "%+gi", im);
    return text;
}

void blas_describe(const blas_caller *caller, const tw_problem *p, int64_t batch, char text[SAID_BYTES])
{
    const bool rows = caller->row_major;
    const char op_a = "NTC"[rows ? p->op_a : p->op_b], op_b = "NTC"[rows ? p->op_b : p->op_a];
    char alpha[SCALAR_BYTES], beta[SCALAR_BYTES], items[32] = "";
    if (batch > 0) snprintf(items, sizeof items, " batch %lld", (long long)batch);
    snprintf(text, SAID_BYTES, "%c%c m %lld n %lld k %lld%s lda %lld ldb %lld ldc %lld alpha %s beta %s", op_a, op_b,
             (long long)(rows ? p->m : p->n), (long long)(rows ? p->n : p->m), (long long)p->k, items,
             (long long)(rows ? p->lda : p->ldb), (long long)(rows ? p->ldb : p->lda), (long long)p->ldc,
             blas_scalar_text(alpha, p->alpha, p->alpha_imaginary), blas_scalar_text(beta, p->beta, p->beta_imaginary));
}

/* The command that measures this product. */
static void describe_bench(const tw_problem *p, char *text, size_t bytes)
{
    snprintf(text, bytes, "tilewright bench%s --dtype %s --shape %lldx%lldx%lld%s%s",
             so_far.gpu ? " --engine cuda --host" : "", tw_lab_dtype_of(p->dtype)->name, (long long)p->m,
             (long long)p->n, (long long)p->k, transposes(p->op_a) ? " --transpose-a" : "",
             transposes(p->op_b) ? " --transpose-b" : "");
}

void blas_product(const blas_caller *caller, const tw_problem *first, const void *a, const void *b, void *c)
{
    char said[SAID_BYTES] = "", bench[160] = "";
    tw_problem whole, *p = &whole;
    memset(p, 0, sizeof *p);
    memcpy(p, first, first->size); /* of the first layout: no more of it is set */
    p->size = sizeof *p;
    double start_s = blas_start(p->dtype);
    const char *failed = blas_unusable(caller, p, a, b, c);
    if (failed == NULL && !blas_multiply(p, a, b, c)) failed = tw_error_text();
    if (start_s > 0) blas_describe(caller, p, 0, said), describe_bench(p, bench, sizeof bench);
    blas_finish(caller, failed, start_s,
                (blas_is_complex(p->dtype) ? 8 : 2) * (double)p->m * (double)p->n * (double)p->k, said, bench);
}
