/* parts.c - divides a product of host memory that has no room on the device: by spread.c where the engine can; else in
 * parts of C as large as there is room for, each of whole tiles and with the whole of k; where the smallest of those
 * have none either, parts of k, whose sums are added up unscaled on the host. */
#include "parts.h"
#include "room.h"
#include "spread.h"

#include <stdlib.h>

/* Rows and columns of parts are multiples of TILES. */
enum { TILES = 256 };

/* ---- parts of C ---- */

static int64_t parts_of(int64_t length, int64_t each) { return ceil_div(max_i64(length, 1), each); }

typedef struct split {
    tw_context *context;
    const stop *stop;
    const tw_problem *host;
    const char *a, *b;
    char *c;
    int64_t bytes, c_bytes;
    part_gemm *gemm;
} split;

/* Rows and columns of a part: those with the least to copy, among at least two that fit; or, if none fits, the smallest
 * there are. */
static void choose_parts(const split *s, int64_t room, int64_t *rows, int64_t *columns)
{
    const tw_problem *host = s->host;
    const int64_t bytes = s->bytes, c_bytes = s->c_bytes;
    double least = 0; /* none yet */
    *rows = min_i64(host->m, TILES), *columns = min_i64(host->n, TILES);
    for (int64_t down = 1; down <= parts_of(host->m, TILES); down++) {
        const int64_t m = min_i64(round_up(ceil_div(host->m, down), TILES), host->m);
        const double largest = (double)s->context->facts.largest_bytes, a = (double)m * (double)host->k * (double)bytes,
                     left = ((double)room - a) / ((double)host->k * (double)bytes + (double)m * (double)c_bytes),
                     alone = largest / (double)max_i64(max_i64(host->k * bytes, m * c_bytes), 1);
        int64_t n = a > largest ? 0 : (int64_t)(left < alone ? left : alone) / TILES * TILES;
        n = min_i64(n, down == 1 ? round_up(ceil_div(host->n, 2), TILES) : host->n);
        if (n <= 0 || (m == host->m && n >= host->n)) continue;
        const double copied = (double)parts_of(host->n, n) * (double)host->m +
                              (double)parts_of(host->m, m) * (double)host->n;
        if (least == 0 || copied < least) least = copied, *rows = m, *columns = n;
    }
}

/* The part of op(A) from row i and step p on, and of op(B) from step p and column j on. */
static const void *a_at(const split *s, int64_t i, int64_t p)
{
    return s->a + (op_transposes(s->host->op_a) ? p * s->host->lda + i : i * s->host->lda + p) * s->bytes;
}

static const void *b_at(const split *s, int64_t p, int64_t j)
{
    return s->b + (op_transposes(s->host->op_b) ? j * s->host->ldb + p : p * s->host->ldb + j) * s->bytes;
}

/* What alignments the parts have is theirs. */
static tw_problem part_of(const tw_problem *host, int64_t m, int64_t n, int64_t k)
{
    tw_problem part = *host;
    part.m = m, part.n = n, part.k = k;
    part.align_a = part.align_b = part.align_c = 0;
    return part;
}

/* Columns outermost: a part of B is wide, so that parts of A come seldom. */
static tw_status run_parts(const split *s, int64_t rows, int64_t columns)
{
    bool wrote = false;
    for (int64_t j = 0; j < s->host->n; j += columns)
        for (int64_t i = 0; i < s->host->m; i += rows) {
            const tw_problem part = part_of(s->host, min_i64(rows, s->host->m - i), min_i64(columns, s->host->n - j),
                                            s->host->k);
            tw_status status = s->gemm(s->context, s->stop, &part, a_at(s, i, 0), b_at(s, 0, j),
                                       s->c + (i * s->host->ldc + j) * s->c_bytes);
            if (status != TW_OK && status != TW_CANCELLED && wrote)
                return TW_DEVICE_FAILED; /* the part's sentence stays */
            TRY(status);
            wrote = true;
        }
    return TW_OK;
}

/* ---- parts of k ---- */

int64_t parts_depth(tw_dtype dtype)
{
    const dtype_row *row = dtype_find(dtype);
    if (row == NULL || row->lab.parts == 2) return 0;   /* complex sums depend on more than where k is divided */
    return CPU_CHUNK_BYTES / (dtype == TW_F64 ? 8 : 4); /* as the cpu engine's kernels sum */
}

/* The kernels round alpha * sum + (beta * c) once where their instructions do; x86's baseline has none that do. */
#if defined(__x86_64__)
#define WITH_FMA __attribute__((target("fma")))
#else
#define WITH_FMA
#endif

static bool rounds_once(const tw_context *context)
{
#if defined(__x86_64__)
    return context->facts.features != CPU_base; /* of GPUs, too, it is this */
#else
    (void)context;
    return true;
#endif
}

#define FINISH(name, real, attribute, expression)                                                                      \
    attribute static void name(int64_t n, real alpha, const real *sums, real beta, real *c)                            \
    {                                                                                                                  \
        for (int64_t j = 0; j < n; j++) {                                                                              \
            const real scaled = beta == 0 ? 0 : beta * c[j];                                                           \
            c[j] = beta == 0 ? alpha * sums[j] : (expression);                                                         \
        }                                                                                                              \
    }
FINISH(finish_f32, float, , alpha *sums[j] + scaled)
FINISH(finish_f64, double, , alpha *sums[j] + scaled)
FINISH(finish_f32_once, float, WITH_FMA, __builtin_fmaf(alpha, sums[j], scaled))
FINISH(finish_f64_once, double, WITH_FMA, __builtin_fma(alpha, sums[j], scaled))

/* Modulo 2^n, as every kernel. */
#define FINISH_INTEGERS(type)                                                                                          \
    static void finish_##type(int64_t n, double alpha, const type *sums, double beta, type *c)                         \
    {                                                                                                                  \
        const uint64_t by = (uint64_t)(int64_t)alpha, scale = (uint64_t)(int64_t)beta;                                 \
        for (int64_t j = 0; j < n; j++)                                                                                \
            c[j] = (type)(by * (uint64_t)sums[j] + (scale == 0 ? 0 : scale * (uint64_t)c[j]));                         \
    }
FINISH_INTEGERS(int16_t)
FINISH_INTEGERS(int32_t)
FINISH_INTEGERS(int64_t)

void parts_finish(const tw_context *context, tw_dtype dtype, int64_t m, int64_t n, double alpha, const void *sums,
                  int64_t ld_sums, double beta, void *c, int64_t ldc)
{
    const bool once = rounds_once(context);
    for (int64_t i = 0; i < m; i++) {
        const int64_t from = i * ld_sums, to = i * ldc;
        if (dtype == TW_F64)
            (once ? finish_f64_once : finish_f64)(n, alpha, (const double *)sums + from, beta, (double *)c + to);
        else if (dtype == TW_F32)
            (once ? finish_f32_once : finish_f32)(n, (float)alpha, (const float *)sums + from, (float)beta,
                                                  (float *)c + to);
        else if (dtype == TW_I16)
            finish_int16_t(n, alpha, (const int16_t *)sums + from, beta, (int16_t *)c + to);
        else if (dtype == TW_I64)
            finish_int64_t(n, alpha, (const int64_t *)sums + from, beta, (int64_t *)c + to);
        else
            finish_int32_t(n, alpha, (const int32_t *)sums + from, beta, (int32_t *)c + to);
    }
}

/* The sums over parts_depth() steps of k each, added up in ascending order; k has more steps. */
static tw_status run_depths(const split *s, int64_t depth)
{
    const tw_problem *p = s->host;
    void *sums = malloc((size_t)(p->m * p->n * s->c_bytes));
    if (sums == NULL)
        return fail(TW_NO_MEMORY, "no memory for %lld sums, beside no room on the device for the whole of k",
                    (long long)(p->m * p->n));
    tw_status status = TW_OK;
    for (int64_t at = 0; status == TW_OK && at < p->k; at += depth) {
        tw_problem part = part_of(p, p->m, p->n, min_i64(depth, p->k - at));
        part.alpha = 1, part.beta = at > 0, part.ldc = p->n;
        status = s->gemm(s->context, s->stop, &part, a_at(s, 0, at), b_at(s, at, 0), sums);
    }
    if (status == TW_OK) parts_finish(s->context, p->dtype_c, p->m, p->n, p->alpha, sums, p->n, p->beta, s->c, p->ldc);
    free(sums);
    return status;
}

tw_status parts_run(tw_context *context, const stop *stop, const tw_problem *host, const void *a, const void *b,
                    void *c, part_gemm *gemm)
{
    const split s = {
        context, stop, host, a, b, c, dtype_find(host->dtype)->lab.bytes, dtype_find(host->dtype_c)->lab.bytes, gemm};
    const int64_t depth = parts_depth(host->dtype);
    if (problem_triangle(host) != 0) return TW_NO_MEMORY;
    if (host->epilogue != NULL)
        return fail(TW_NO_MEMORY, "no device memory for the product at once, and an epilogue is not applied in parts");
    if (context->ops->spread != NULL && host->k > 0) {
        const tw_status status = spread_run(context, stop, host, a, b, c);
        if (status != TW_NO_MEMORY && status != TW_NO_KERNEL) return status;
    }
    if (host->m > TILES || host->n > TILES) {
        int64_t room, rows, columns;
        TRY(room_find(context, context->engine, INT64_MAX, &room));
        choose_parts(&s, room, &rows, &columns);
        return run_parts(&s, rows, columns);
    }
    /* a narrow C holds no sums */
    if (problem_is_complex(host) && host->k > 1)
        return fail(TW_NO_MEMORY, "no device memory for a k of %lld: of complex types it is not divided",
                    (long long)host->k);
    if (depth == 0 || host->k <= depth || host->dtype_c != dtype_find(host->dtype)->result) return TW_NO_MEMORY;
    if (!problem_keeps_order(host)) return run_depths(&s, depth);
    return fail(TW_NO_MEMORY, "TW_INVARIANT: k is not divided, and a k of %lld has no room on the device",
                (long long)host->k);
}
