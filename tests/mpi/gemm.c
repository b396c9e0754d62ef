/* gemm.c - a user of tilewright_mpi.h under mpirun: products on every grid, what is refused, and a rank that is absent.
 *
 *   mpirun -n P gemm products CASES SEED     compared with whole numbers, and bit by bit with tw_gemm()
 *   mpirun -n P gemm cuda CASES SEED TYPE    on GPUs, which the ranks of a host share; TYPE is all, or f32 alone: whole
 *                                            numbers, and the same bits at each call
 *   mpirun -n P gemm nccl CASES SEED TYPE    the same by NCCL, with the bits of panels that are staged
 *   mpirun -n P gemm lost PMxPNxPK           the GPU of rank 1 fails, and all ranks say so
 *   mpirun -n P gemm stuck WAY K             the GPU of rank 1 never ends its products; WAY of panels is nccl or staged
 *   mpirun -n P gemm once WAY PLACE M N K    one product of f32 on GPUs; PLACE of the blocks is host or device
 *   mpirun -n P gemm late SECONDS            products on GPUs end later than the deadline: others wait
 *   mpirun -n P gemm memory                  GPUs on which panels by NCCL do not fit: they are staged
 *   mpirun -n P gemm refusals
 *   mpirun -n P gemm absent                  the last rank never calls: the others give up and say so
 *   mpirun -n P gemm large                   blocks of 2^31 elements, in messages of 2 GiB together
 *   mpirun -n 3 gemm rounds                  sums of segments of k that are exchanged in several rounds
 *
 * Every rank makes every element of A, B and C0 from its place, so that nothing need be sent to check. The first line
 * of standard output is "N products" or the like; a fault is a line on standard error and exit status 1. */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "drawn.h"
#include "tilewright_lab.h"
#include "tilewright_mpi.h"

static tw_context *context; /* NULL: the CPU */

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- numbers ---- */

static int64_t bytes_of(tw_dtype dtype) { return tw_lab_dtype_of(dtype)->bytes; }
static bool is_complex(tw_dtype dtype) { return dtype == TW_CF32 || dtype == TW_CF64; }

/* A whole number, or one whose last bits tell in which order it was added. */
static void store(tw_dtype dtype, bool whole, element e, char *to)
{
    static const uint16_t halves[] = {0, 0x3c00, 0x4000, 0x4200}, brains[] = {0, 0x3f80, 0x4000, 0x4040};
    const double re = whole ? e.re : (double)(e.bits >> 11) * 0x1p-53 - 0.5, im = whole ? e.im : re * 0.7;
    const uint16_t sign = e.re < 0 ? 0x8000 : 0, random = (uint16_t)(0x3400 + (e.bits & 0x3ff));
    const uint16_t half = whole ? halves[abs(e.re)] : random,
                   brain = whole ? brains[abs(e.re)] : 0x3f00 + (e.bits & 0x7f);
    const float single[2] = {(float)re, (float)im};
    const double both[2] = {re, im};
    const int8_t byte = (int8_t)(dtype == TW_U8 ? abs(e.re) : e.re);
    const int32_t number = e.re;
    const uint16_t two = (uint16_t)((dtype == TW_F16 ? half : brain) | sign);
    switch (dtype) {
    case TW_F64:
    case TW_CF64: memcpy(to, both, (size_t)bytes_of(dtype)); break;
    case TW_F32:
    case TW_CF32: memcpy(to, single, (size_t)bytes_of(dtype)); break;
    case TW_I32: memcpy(to, &number, 4); break;
    case TW_I8:
    case TW_U8: memcpy(to, &byte, 1); break;
    default: memcpy(to, &two, 2); break;
    }
}

static double part_of(tw_dtype dtype, const char *from, int part)
{
    double d[2];
    float f[2];
    int32_t i;
    if (dtype == TW_F64 || dtype == TW_CF64) return memcpy(d, from, (size_t)bytes_of(dtype)), d[part];
    if (dtype == TW_I32) return memcpy(&i, from, 4), i;
    return memcpy(f, from, (size_t)bytes_of(dtype)), f[part];
}

/* ---- matrices ---- */

enum { A_SEED = 11, B_SEED = 23, C_SEED = 37 };

typedef struct matrix {
    tw_dtype dtype;
    int64_t rows, cols, ld;
    char *data;
} matrix;

/* Poisoned: all bits set are NaN, or -1. */
static matrix matrix_make(tw_dtype dtype, int64_t rows, int64_t cols, int64_t padding)
{
    matrix m = {dtype, rows, cols, cols + padding > 0 ? cols + padding : 1, NULL};
    const size_t bytes = (size_t)((rows * m.ld + 1) * bytes_of(dtype));
    m.data = malloc(bytes);
    if (m.data == NULL) MPI_Abort(MPI_COMM_WORLD, 5);
    memset(m.data, 0xff, bytes);
    return m;
}

static char *at(const matrix *m, int64_t i, int64_t j) { return m->data + (i * m->ld + j) * bytes_of(m->dtype); }

static void fill(const matrix *m, bool whole, uint64_t seed, int64_t row, int64_t col)
{
    for (int64_t i = 0; i < m->rows; i++)
        for (int64_t j = 0; j < m->cols; j++) store(m->dtype, whole, element_at(seed, row + i, col + j), at(m, i, j));
}

/* ---- one product ---- */

typedef struct product {
    tw_problem p;
    bool whole;
    int grid[3];
    char text[300];
} product;

static bool transposes(tw_op op) { return op == TW_T || op == TW_C; }

/* Of op(A) or op(B): its element (i, j) as whole numbers. */
static void operand(const tw_problem *p, bool of_a, int64_t i, int64_t j, double out[2])
{
    const tw_op op = of_a ? p->op_a : p->op_b;
    const tw_dtype dtype = of_a ? p->dtype : p->dtype_b;
    const element e = transposes(op) ? element_at(of_a ? A_SEED : B_SEED, j, i)
                                     : element_at(of_a ? A_SEED : B_SEED, i, j);
    out[0] = dtype == TW_U8 ? abs(e.re) : e.re;
    out[1] = !is_complex(dtype) ? 0 : op == TW_C || op == TW_R ? -e.im : e.im;
}

static void check_whole(const product *x, const matrix *c, const tw_mpi_block *own)
{
    const tw_problem *p = &x->p;
    for (int64_t i = 0; i < own->rows; i++)
        for (int64_t j = 0; j < own->cols; j++) {
            const element c0 = element_at(C_SEED, own->row + i, own->col + j);
            double sum[2] = {0, 0}, expected[2], u[2], v[2];
            const double scaled[2] = {p->beta * c0.re, is_complex(p->dtype_c) ? p->beta * c0.im : 0};
            for (int64_t k = 0; p->alpha != 0 && k < p->k; k++) {
                operand(p, true, own->row + i, k, u), operand(p, false, k, own->col + j, v);
                sum[0] += u[0] * v[0] - u[1] * v[1], sum[1] += u[0] * v[1] + u[1] * v[0];
            }
            for (int part = 0; part < (is_complex(p->dtype_c) ? 2 : 1); part++) {
                expected[part] = p->alpha * sum[part] + scaled[part];
                const double found = part_of(p->dtype_c, at(c, i, j), part);
                if (!(found == expected[part])) {
                    FAULT("%s: C[%" PRId64 ", %" PRId64 "] part %d is %.17g, expected %.17g", x->text, own->row + i,
                          own->col + j, part, found, expected[part]);
                    return;
                }
            }
        }
}

/* tw_gemm() on the whole; or, where k is divided among ranks, on each segment, added up in ascending order. */
static void compute_alone(const product *x, int segments, matrix *c)
{
    const tw_problem *p = &x->p;
    const bool ta = transposes(p->op_a), tb = transposes(p->op_b);
    matrix a = matrix_make(p->dtype, ta ? p->k : p->m, ta ? p->m : p->k, 0),
           b = matrix_make(p->dtype_b, tb ? p->n : p->k, tb ? p->k : p->n, 0),
           part = matrix_make(p->dtype_c, p->m, p->n, 0), sum = matrix_make(p->dtype_c, p->m, p->n, 0);
    fill(&a, x->whole, A_SEED, 0, 0), fill(&b, x->whole, B_SEED, 0, 0);
    tw_problem q = *p;
    q.lda = a.ld, q.ldb = b.ld, q.ldc = c->ld;
    tw_status status = TW_OK;
    if (segments == 1 || p->alpha == 0 || p->k == 0) {
        status = tw_gemm(NULL, &q, a.data, b.data, c->data);
    } else {
        const int64_t each = p->k / segments, more = p->k % segments;
        q.alpha = 1, q.beta = 0, q.ldc = part.ld;
        for (int64_t s = 0, k = 0; s < segments; k += q.k, s++) {
            q.k = each + (s < more);
            if (q.k == 0) memset(part.data, 0, (size_t)(p->m * part.ld * bytes_of(p->dtype_c)));
            if (q.k > 0)
                status = tw_gemm(NULL, &q, ta ? at(&a, k, 0) : at(&a, 0, k), tb ? at(&b, 0, k) : at(&b, k, 0),
                                 part.data);
            if (status == TW_OK)
                status = tw_lab_finish_sums(NULL, p->dtype_c, p->m, p->n, 1, part.data, part.ld, s > 0, sum.data,
                                            sum.ld);
        }
        if (status == TW_OK)
            status = tw_lab_finish_sums(NULL, p->dtype_c, p->m, p->n, p->alpha, sum.data, sum.ld, p->beta, c->data,
                                        c->ld);
    }
    if (status != TW_OK) FAULT("%s: alone: %s", x->text, tw_error_text());
    free(a.data), free(b.data), free(part.data), free(sum.data);
}

static void check_bits(const product *x, int segments, const matrix *c, const tw_mpi_block *own)
{
    matrix alone = matrix_make(x->p.dtype_c, x->p.m, x->p.n, 0);
    const size_t line = (size_t)(own->cols * bytes_of(x->p.dtype_c));
    if (x->p.beta != 0) fill(&alone, x->whole, C_SEED, 0, 0);
    compute_alone(x, segments, &alone);
    for (int64_t i = 0; i < own->rows; i++)
        if (memcmp(at(c, i, 0), at(&alone, own->row + i, own->col), line) != 0) {
            FAULT("%s: row %" PRId64 " of C has other bits than one process gives", x->text, own->row + i);
            break;
        }
    free(alone.data);
}

static void check_padding(const product *x, const matrix *c)
{
    for (int64_t i = 0; i < c->rows; i++)
        for (const char *byte = at(c, i, c->cols), *end = at(c, i, c->ld); byte < end; byte++)
            if ((unsigned char)*byte != 0xff) {
                FAULT("%s: the padding of row %" PRId64 " of C was written", x->text, i);
                return;
            }
}

/* Exactly what the plan says, and all together what the formula says. */
static void check_words(const product *x, const tw_mpi_plan *plan, const tw_mpi_layout *l)
{
    const int64_t mine = tw_mpi_received_words(plan);
    const bool moves = x->p.k > 0 && x->p.alpha != 0;
    const double m = (double)x->p.m, n = (double)x->p.n, k = moves ? (double)x->p.k : 0;
    const int *g = l->grid;
    const double formula = m * k / g[0] / g[2] * (1 - 1.0 / g[1]) + k * n / g[2] / g[1] * (1 - 1.0 / g[0]) +
                           m * n / g[0] / g[1] * (1 - 1.0 / g[2]);
    int64_t all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    if (moves && mine != l->words)
        FAULT("%s: %" PRId64 " elements were received, the plan says %" PRId64, x->text, mine, l->words);
    if (moves && !((double)all <= formula * l->ranks * (1 + 1e-12) + 1e-6 &&
                   (double)all >= formula * l->ranks * (1 - 1e-12) - 1e-6))
        FAULT("%s: %" PRId64 " elements in all, the formula says %.17g", x->text, all, formula * l->ranks);
}

/* ---- blocks on a GPU ---- */

static tw_lab_pipeline *pipeline; /* NULL: blocks lie in this rank's memory */

static void move_bytes(void *to, const void *from, int64_t bytes, int way)
{
    const tw_lab_copy copy = {to, from, bytes, bytes, bytes, 1, way, 0};
    tw_status status = tw_lab_pipeline_copy(pipeline, &copy);
    for (int done = 0; status == TW_OK && !done;) status = tw_lab_pipeline_poll(pipeline, 1, &done);
    if (status != TW_OK) FAULT("a block of the test: %s", tw_error_text());
}

static int64_t matrix_bytes(const matrix *m) { return m->rows * m->ld * bytes_of(m->dtype); }

/* What the product is given: the matrix, or its copy on the device. */
static void *given(const matrix *m)
{
    void *there = NULL;
    if (pipeline == NULL) return m->data;
    if (tw_lab_pipeline_memory(pipeline, 1, matrix_bytes(m) + 1, &there) != TW_OK) FAULT("%s", tw_error_text());
    if (there != NULL) move_bytes(there, m->data, matrix_bytes(m), TW_LAB_UP);
    return there;
}

static char way_gone[100]; /* of the last product's panels */

/* bits: C as panels that came another way have made it; NULL: they are kept */
static void run_product(const product *x, int panels, char **bits)
{
    const tw_mpi_options options = {
        .size = sizeof options, .grid = {x->grid[0], x->grid[1], x->grid[2]}, .timeout_s = 60, .panels = panels};
    tw_mpi_layout l = {.size = sizeof l};
    tw_mpi_plan *plan;
    if (tw_mpi_plan_make(context, &x->p, MPI_COMM_WORLD, &options, &plan) != TW_OK) {
        FAULT("%s: %s", x->text, tw_mpi_error_text());
        return;
    }
    tw_mpi_plan_layout(plan, &l);
    matrix a = matrix_make(x->p.dtype, l.a.rows, l.a.cols, draw(3)),
           b = matrix_make(x->p.dtype_b, l.b.rows, l.b.cols, draw(3)),
           c = matrix_make(x->p.dtype_c, l.c.rows, l.c.cols, draw(3)), first = c;
    const size_t c_bytes = (size_t)matrix_bytes(&c);
    first.data = NULL;
    if (x->p.alpha != 0) fill(&a, x->whole, A_SEED, l.a.row, l.a.col), fill(&b, x->whole, B_SEED, l.b.row, l.b.col);
    for (int call = 0; call < 2; call++) { /* a plan may be used again */
        if (x->p.beta != 0) fill(&c, x->whole, C_SEED, l.c.row, l.c.col);
        void *const to = given(&c);
        const tw_status status = tw_mpi_gemm(plan, given(&a), a.ld, given(&b), b.ld, to, c.ld);
        if (pipeline != NULL) move_bytes(c.data, to, matrix_bytes(&c), TW_LAB_DOWN);
        if (status != TW_OK) {
            FAULT("%s: %s", x->text, tw_mpi_error_text());
            break; /* the blocks may be in use */
        }
        if (x->whole && x->p.dtype_c != TW_F16)
            check_whole(x, &c, &l.c); /* exact */
        else if (context == NULL)
            check_bits(x, l.grid[2], &c, &l.c);
        check_padding(x, &c), check_words(x, plan, &l);
        if (first.data != NULL && memcmp(first.data, c.data, c_bytes) != 0)
            FAULT("%s: the second call has other bits than the first", x->text);
        if (first.data == NULL) {
            first.data = malloc(c_bytes + 1);
            if (first.data == NULL) MPI_Abort(MPI_COMM_WORLD, 5);
            memcpy(first.data, c.data, c_bytes);
        }
        memset(c.data, 0xff, c_bytes);
    }
    const bool moves = l.grid[0] * l.grid[1] > 1 && x->p.k > 0 && x->p.alpha != 0;
    const char *way = moves ? "NCCL 2." : "none between ranks";
    snprintf(way_gone, sizeof way_gone, "%.99s", tw_mpi_panels_text(plan));
    if (panels == TW_MPI_PANELS_NCCL && strncmp(tw_mpi_panels_text(plan), way, strlen(way)) != 0)
        FAULT("%s: panels go %s", x->text, tw_mpi_panels_text(plan));
    if (*bits != NULL && first.data != NULL && memcmp(*bits, first.data, c_bytes) != 0)
        FAULT("%s: panels by NCCL give other bits than those that are staged", x->text);
    if (*bits == NULL)
        *bits = first.data;
    else
        free(first.data);
    if (faults == 0) free(a.data), free(b.data), free(c.data); /* else the product may be using them */
    tw_mpi_plan_free(plan);
}

/* Staged, and with the same draws in another way. */
static void run_both_ways(const product *x, int panels)
{
    const uint64_t before = state;
    char *bits = NULL;
    run_product(x, TW_MPI_PANELS_STAGED, &bits);
    state = before;
    run_product(x, panels, &bits);
    free(bits);
}

/* ---- drawn ---- */

static int64_t side(void)
{
    const int64_t sides[] = {
        0, 1, ranks - 1, ranks, ranks + 1, 2 * ranks + 1, 3 + draw(20), 3 + draw(20), 30 + draw(41)};
    return sides[draw(sizeof sides / sizeof *sides)];
}

static product draw_product(int number)
{
    static const struct {
        tw_dtype a, b, c;
    } types[] = {{TW_F64, TW_F64, TW_F64},   {TW_F32, TW_F32, TW_F32},   {TW_F16, TW_F16, TW_F32},
                 {TW_F16, TW_F16, TW_F16},   {TW_BF16, TW_BF16, TW_F32}, {TW_I8, TW_I8, TW_I32},
                 {TW_U8, TW_U8, TW_I32},     {TW_U8, TW_I8, TW_I32},     {TW_CF32, TW_CF32, TW_CF32},
                 {TW_CF64, TW_CF64, TW_CF64}};
    static const double factors[] = {0, 1, 1, 1, -1, 2, -3};
    enum { TYPES = sizeof types / sizeof *types };
    const int t = number % TYPES;
    const bool complex = is_complex(types[t].a), divides = !complex && types[t].c != TW_F16;
    product x = {.whole = types[t].c == TW_I32 || draw(2) == 0};
    const int ops = complex ? 4 : 2;
    int64_t m = side(), n = side(), k = side();
    if (divides && draw(8) == 0) /* several panels */
        m = draw(2 * ranks) + 1, n = draw(9) + 1,
        k = (2 + draw(2)) * tw_lab_sum_depth(types[t].a) * (1 + draw(ranks)) + draw(100);
    x.p = tw_problem_make(types[t].a, (tw_op)draw(ops), (tw_op)draw(ops), m, n, k);
    x.p.dtype_b = types[t].b, x.p.dtype_c = types[t].c;
    x.p.alpha = factors[draw(7)], x.p.beta = factors[draw(7)];
    if (draw(3) > 0) { /* any grid of at most so many ranks */
        x.grid[0] = 1 + (int)draw(ranks), x.grid[1] = 1 + (int)draw(ranks / x.grid[0]);
        x.grid[2] = divides ? 1 + (int)draw(ranks / x.grid[0] / x.grid[1]) : 1;
    }
    if (divides && draw(6) == 0) x.grid[0] = x.grid[1] = 1, x.grid[2] = ranks; /* as many segments as can be */
    snprintf(x.text, sizeof x.text,
             "case %d: %s by %s to %s, %" PRId64 " x %" PRId64 " x %" PRId64
             ", ops %d %d, alpha %g, beta %g, grid %d x %d x %d, %s",
             number, tw_lab_dtype_of(types[t].a)->name, tw_lab_dtype_of(types[t].b)->name,
             tw_lab_dtype_of(types[t].c)->name, m, n, k, x.p.op_a, x.p.op_b, x.p.alpha, x.p.beta, x.grid[0], x.grid[1],
             x.grid[2], x.whole ? "whole numbers" : "random bits");
    return x;
}

/* ---- on GPUs ---- */

/* memory_bytes: most that is taken of its memory; 0: any */
static void open_gpu(int64_t memory_bytes)
{
    int32_t count = 0;
    tw_options options = {.size = sizeof options, .engine = "cuda", .threads = 2, .memory_bytes = memory_bytes};
    if (tw_lab_engine_devices("cuda", NULL, 0, &count) == TW_OK) options.device = rank % count;
    if (tw_open(&options, &context) == TW_OK) return;
    fprintf(stderr, "rank %d: %s\n", rank, tw_error_text());
    MPI_Abort(MPI_COMM_WORLD, 3);
}

/* Also with pieces that are large enough to be multiplied one by one, of A or of B. */
static product draw_on_gpu(int number, const char *type)
{
    static const tw_dtype types[][3] = {{TW_F64, TW_F64, TW_F64},
                                        {TW_F32, TW_F32, TW_F32},
                                        {TW_BF16, TW_BF16, TW_F32},
                                        {TW_I8, TW_I8, TW_I32},
                                        {TW_U8, TW_U8, TW_I32}};
    const tw_dtype *t = types[strcmp(type, "f32") == 0 ? 1 : number % (sizeof types / sizeof *types)];
    product x = draw_product(number);
    tw_problem *p = &x.p;
    p->dtype = t[0], p->dtype_b = t[1], p->dtype_c = t[2], p->op_a = (tw_op)draw(2), p->op_b = (tw_op)draw(2);
    if (draw(4) == 0) p->m = 2048 * ranks + draw(300), p->n = draw(9), p->k = draw(9);
    if (draw(4) == 0) p->n = 2048 * ranks + draw(300), p->m = draw(9), p->k = draw(9);
    x.whole = t[2] == TW_I32 || draw(4) > 0;
    const size_t used = strlen(x.text);
    snprintf(x.text + used, sizeof x.text - used, "; on a GPU: %s, %" PRId64 " x %" PRId64 ", ops %d %d",
             tw_lab_dtype_of(t[0])->name, p->m, p->n, p->op_a, p->op_b);
    return x;
}

/* ---- what is refused ---- */

static void expect(const char *what, tw_status found, tw_status expected, const char *says)
{
    if (found != expected) FAULT("%s: status %d, expected %d (%s)", what, found, expected, tw_mpi_error_text());
    if (expected != TW_OK && strstr(tw_mpi_error_text(), says) == NULL)
        FAULT("%s: '%s' is not in '%s'", what, says, tw_mpi_error_text());
}

static tw_status make_in(tw_context *in, const tw_problem *p, const tw_mpi_options *o)
{
    tw_mpi_plan *plan = NULL;
    const tw_status status = tw_mpi_plan_make(in, p, MPI_COMM_WORLD, o, &plan);
    if (status != TW_OK && plan != NULL) FAULT("a plan that failed is not NULL");
    tw_mpi_plan_free(plan);
    return status;
}

static tw_status make(const tw_problem *p, const tw_mpi_options *o) { return make_in(NULL, p, o); }

/* Where there is one; its memory on the device would be taken for the host's. */
static void refuse_opencl(const tw_problem *p, const tw_mpi_options *o)
{
    const tw_options options = {.size = sizeof options, .engine = "opencl"};
    tw_context *other;
    if (tw_open(&options, &other) != TW_OK) return;
    tw_problem there = *p;
    there.place_a = there.place_b = there.place_c = TW_DEVICE;
    expect("a context of opencl", make_in(other, p, o), TW_BAD_ARGUMENT, "by the cpu engine, or by cuda");
    expect("its blocks", make_in(other, &there, o), TW_BAD_ARGUMENT, "by the cpu engine, or by cuda");
    tw_close(other);
}

static void refusals(void)
{
    const tw_problem good = tw_problem_make(TW_F64, TW_N, TW_N, 20, 30, 40);
    tw_mpi_options o = {.size = sizeof o};
    tw_problem p = good;
    expect("a good one", make(&good, &o), TW_OK, "");
    p.m += rank == ranks - 1;
    if (ranks > 1) expect("another m on one rank", make(&p, &o), TW_BAD_ARGUMENT, "m is 20 on one and 21 on another");
    p = good, p.alpha = rank == 0 ? 1 : 1.5;
    if (ranks > 1) expect("another alpha", make(&p, &o), TW_BAD_ARGUMENT, "alpha");
    p = good, p.op_b = rank == 0 ? TW_T : TW_N;
    if (ranks > 1) expect("another op", make(&p, &o), TW_BAD_ARGUMENT, "op_b");
    p = good, p.n = rank == ranks - 1 ? -1 : 30;
    expect("a negative n on the last rank", make(&p, &o), TW_BAD_ARGUMENT, "n ");
    p = good, p.flags = TW_LOWER;
    expect("a triangle", make(&p, &o), TW_BAD_ARGUMENT, "triangle");
    p = good, p.dtype = TW_E4M3;
    expect("a type of GPUs", make(&p, &o), TW_NO_KERNEL, "");
    p = good, p.place_a = p.place_b = p.place_c = TW_DEVICE;
    expect("blocks on a device that is none", make(&p, &o), TW_NO_KERNEL, "in device memory");
    p = good, p.place_c = rank == 0 ? TW_DEVICE : TW_HOST;
    expect("C elsewhere than A", make(&p, &o), TW_BAD_ARGUMENT, "");
    p = good, p.size = 8;
    expect("a size of 8", make(&p, &o), TW_BAD_ARGUMENT, "problem->size is 8");
    refuse_opencl(&good, &o);
    expect("a pipeline of the cpu", tw_lab_pipeline_open(NULL, &pipeline), TW_NO_KERNEL, "");
    expect("no problem", make(NULL, &o), TW_BAD_ARGUMENT, "problem is NULL");
    o.grid[0] = ranks + 1;
    expect("a grid of more ranks than there are", make(&good, &o), TW_BAD_ARGUMENT, "grid");
    o.grid[0] = -1;
    expect("a negative grid", make(&good, &o), TW_BAD_ARGUMENT, "grid[0] is -1");
    o = (tw_mpi_options){.size = sizeof o, .memory_bytes = 100};
    expect("100 bytes", make(&good, &o), TW_NO_MEMORY, "100 bytes");
    o = (tw_mpi_options){.size = sizeof o, .grid = {0, 0, 2}};
    p = tw_problem_make(TW_CF64, TW_N, TW_N, 20, 30, 40);
    if (ranks > 1) expect("k of a complex product divided", make(&p, &o), TW_BAD_ARGUMENT, "not divided");
    o = (tw_mpi_options){.size = sizeof o, .network_gbps = -1};
    expect("a negative speed", make(&good, &o), TW_BAD_ARGUMENT, "negative");
    o = (tw_mpi_options){.size = sizeof o, .panels = 3};
    expect("panels that go nowhere", make(&good, &o), TW_BAD_ARGUMENT, "options->panels is 3");
    o.panels = TW_MPI_PANELS_NCCL;
    expect("panels of the cpu by NCCL", make(&good, &o), TW_BAD_ARGUMENT, "not of cuda");
    o = (tw_mpi_options){.size = sizeof o, .panels = rank == ranks - 1 ? TW_MPI_PANELS_STAGED : 0};
    if (ranks > 1) expect("other panels on one rank", make(&good, &o), TW_BAD_ARGUMENT, "panels (0: auto");
    o = (tw_mpi_options){.size = sizeof o, .reserved = 1};
    expect("a reserved field", make(&good, &o), TW_BAD_ARGUMENT, "options->reserved");
    o = (tw_mpi_options){.size = offsetof(tw_mpi_options, panels)};
    o.panels = 3; /* of a caller who does not know it */
    expect("options without panels", make(&good, &o), TW_OK, "");

    o = (tw_mpi_options){.size = sizeof o, .grid = {ranks, 1, 1}};
    tw_mpi_plan *plan;
    tw_mpi_layout l = {.size = sizeof l};
    double a[20 * 40], b[40 * 30], c[20 * 30];
    expect("a plan to be used wrongly", tw_mpi_plan_make(NULL, &good, MPI_COMM_WORLD, &o, &plan), TW_OK, "");
    tw_mpi_plan_layout(plan, &l);
    memset(a, 0, sizeof a), memset(b, 0, sizeof b), memset(c, 0xff, sizeof c);
    expect("an ldc that is too small on the last rank", tw_mpi_gemm(plan, a, 40, b, 30, c, rank == ranks - 1 ? 29 : 30),
           TW_BAD_ARGUMENT, "ldc is 29");
    expect("no B on rank 0", tw_mpi_gemm(plan, a, 40, rank == 0 ? NULL : b, 30, c, 30), TW_BAD_ARGUMENT, "b is NULL");
    for (size_t i = 0; i < sizeof c; i++)
        if (((unsigned char *)c)[i] != 0xff) FAULT("a refused product has written C");
    expect("a layout without a size", tw_mpi_plan_layout(plan, &(tw_mpi_layout){.size = 0}), TW_BAD_ARGUMENT,
           "layout->size");
    expect("C at an odd address on the last rank", tw_mpi_gemm(plan, a, 40, b, 30, (char *)c + (rank == ranks - 1), 30),
           TW_BAD_ARGUMENT, "c is not aligned to 8 bytes");
    if (!isnan(c[0])) FAULT("C was written, %g", c[0]);
    expect("the same plan used well", tw_mpi_gemm(plan, a, 40, b, 30, c, 30), TW_OK, "");
    tw_mpi_plan_free(plan);
    tw_mpi_plan_free(NULL);

    tw_problem vanishing = tw_problem_make(TW_F32, TW_N, TW_N, 20, 30, 40); /* alpha, in f32 */
    float one[20 * 30];
    for (int i = 0; i < 20 * 30; i++) one[i] = 1;
    vanishing.alpha = 1e-50, vanishing.beta = 2;
    expect("an alpha that rounds to 0", tw_mpi_plan_make(NULL, &vanishing, MPI_COMM_WORLD, &o, &plan), TW_OK, "");
    tw_mpi_plan_layout(plan, &l);
    expect("A and B that are not read", tw_mpi_gemm(plan, NULL, 40, NULL, 30, one, 30), TW_OK, "");
    if (l.c.rows > 0 && one[0] != 2) FAULT("C is %g, expected 2", one[0]);
    tw_mpi_plan_free(plan);

    tw_problem small = tw_problem_make(TW_F64, TW_N, TW_N, 8, 8, 8);
    expect("a small product", tw_mpi_plan_make(NULL, &small, MPI_COMM_WORLD, NULL, &plan), TW_OK, "");
    tw_mpi_plan_layout(plan, &l);
    if (l.ranks != 1) FAULT("8 x 8 x 8 is computed by %d ranks", l.ranks);
    tw_mpi_plan_free(plan);
}

/* Blocks on GPUs, of which one fails at some product of a call: every rank moves its blocks to the end, and hears. */
static void lose_gpu(const char *grid)
{
    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, 50, 40, 30);
    tw_mpi_options o = {.size = sizeof o, .timeout_s = 20};
    tw_mpi_layout l = {.size = sizeof l};
    tw_mpi_plan *plan;
    if (sscanf(grid, "%dx%dx%d", &o.grid[0], &o.grid[1], &o.grid[2]) != 3) MPI_Abort(MPI_COMM_WORLD, 2);
    open_gpu(0);
    p.place_a = p.place_b = p.place_c = TW_DEVICE;
    expect("memory of the test", tw_lab_pipeline_open(context, &pipeline), TW_OK, "");
    expect("a plan", tw_mpi_plan_make(context, &p, MPI_COMM_WORLD, &o, &plan), TW_OK, "");
    tw_mpi_plan_layout(plan, &l);
    matrix a = matrix_make(TW_F32, l.a.rows, l.a.cols, 0), b = matrix_make(TW_F32, l.b.rows, l.b.cols, 0),
           c = matrix_make(TW_F32, l.c.rows, l.c.cols, 0);
    fill(&a, true, A_SEED, l.a.row, l.a.col), fill(&b, true, B_SEED, l.b.row, l.b.col);
    void *const at[] = {given(&a), given(&b), given(&c)};
    expect("a GPU that fails", tw_mpi_gemm(plan, at[0], a.ld, at[1], b.ld, at[2], c.ld), TW_DEVICE_FAILED,
           rank == 1 ? "failed" : "rank 1: ");
    if (strncmp(tw_mpi_panels_text(plan), "NCCL", 4) == 0)
        expect("a plan whose ranks have left NCCL", tw_mpi_gemm(plan, at[0], a.ld, at[1], b.ld, at[2], c.ld),
               TW_BAD_ARGUMENT, "make another plan");
    tw_mpi_plan_free(plan), tw_lab_pipeline_close(pipeline), tw_close(context);
    free(a.data), free(b.data), free(c.data);
}

/* All ranks hear what has happened on which, and no call waits for that GPU. Its context cannot be closed. */
static void stick_gpu(const char *way, int64_t k)
{
    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, 8, 6, k);
    const bool by_nccl = strcmp(way, "nccl") == 0;
    const tw_mpi_options o = {.size = sizeof o,
                              .timeout_s = 2,
                              .grid = {1, ranks, 1},
                              .panels = by_nccl ? TW_MPI_PANELS_NCCL : TW_MPI_PANELS_STAGED};
    tw_mpi_layout l = {.size = sizeof l};
    tw_mpi_plan *plan;
    open_gpu(0);
    p.dtype_b = p.dtype_c = TW_F32;
    expect("a plan", tw_mpi_plan_make(context, &p, MPI_COMM_WORLD, &o, &plan), TW_OK, "");
    tw_mpi_plan_layout(plan, &l);
    matrix a = matrix_make(TW_F32, l.a.rows, l.a.cols, 0), b = matrix_make(TW_F32, l.b.rows, l.b.cols, 0),
           c = matrix_make(TW_F32, l.c.rows, l.c.cols, 0);
    fill(&a, true, A_SEED, l.a.row, l.a.col), fill(&b, true, B_SEED, l.b.row, l.b.col);
    const tw_status status = tw_mpi_gemm(plan, a.data, a.ld, b.data, b.ld, c.data, c.ld);
    expect("a GPU that does not answer", status, TW_DEVICE_FAILED,
           rank == 1 ? "the device has not finished its products for"
                     : "rank 1: the device has not finished its products for");
    expect("a plan whose GPU does not answer", tw_mpi_gemm(plan, a.data, a.ld, b.data, b.ld, c.data, c.ld),
           TW_BAD_ARGUMENT, "make another plan");
    tw_mpi_plan_free(plan);
    if (rank != 1) free(a.data), free(b.data), free(c.data), tw_close(context); /* that GPU may still use its blocks */
}

/* For who looks at what the driver is asked for meanwhile. */
static void compute_once(const char *way, const char *place, const char *const sizes[3])
{
    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, atoll(sizes[0]), atoll(sizes[1]), atoll(sizes[2]));
    const tw_mpi_options o = {.size = sizeof o,
                              .timeout_s = 20,
                              .grid = {1, ranks, 1},
                              .panels = strcmp(way, "nccl") == 0 ? TW_MPI_PANELS_NCCL : TW_MPI_PANELS_STAGED};
    tw_mpi_layout l = {.size = sizeof l};
    tw_mpi_plan *plan;
    open_gpu(0);
    p.dtype_b = p.dtype_c = TW_F32;
    if (strcmp(place, "device") == 0) {
        p.place_a = p.place_b = p.place_c = TW_DEVICE;
        expect("memory of the test", tw_lab_pipeline_open(context, &pipeline), TW_OK, "");
    }
    expect("a plan", tw_mpi_plan_make(context, &p, MPI_COMM_WORLD, &o, &plan), TW_OK, "");
    tw_mpi_plan_layout(plan, &l);
    matrix a = matrix_make(TW_F32, l.a.rows, l.a.cols, 0), b = matrix_make(TW_F32, l.b.rows, l.b.cols, 0),
           c = matrix_make(TW_F32, l.c.rows, l.c.cols, 0);
    fill(&a, true, A_SEED, l.a.row, l.a.col), fill(&b, true, B_SEED, l.b.row, l.b.col);
    const void *const of_a = given(&a), *const of_b = given(&b);
    expect("a product", tw_mpi_gemm(plan, of_a, a.ld, of_b, b.ld, given(&c), c.ld), TW_OK, "");
    tw_mpi_plan_free(plan), tw_lab_pipeline_close(pipeline), tw_close(context);
    if (faults == 0) free(a.data), free(b.data), free(c.data); /* else the product may be using them */
}

/* A product that may take 8.5 s, by a device of one multiprocessor, and does take longer than the deadline. */
static void compute_late(double late_s)
{
    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, 3000, 6000, 5000);
    const tw_mpi_options o = {.size = sizeof o, .timeout_s = 4, .grid = {1, 2, 1}};
    tw_mpi_layout l = {.size = sizeof l};
    tw_mpi_plan *plan;
    open_gpu(0);
    p.dtype_b = p.dtype_c = TW_F32;
    expect("a plan", tw_mpi_plan_make(context, &p, MPI_COMM_WORLD, &o, &plan), TW_OK, "");
    tw_mpi_plan_layout(plan, &l);
    matrix a = matrix_make(TW_F32, l.a.rows, l.a.cols, 0), b = matrix_make(TW_F32, l.b.rows, l.b.cols, 0),
           c = matrix_make(TW_F32, l.c.rows, l.c.cols, 0);
    const double start_s = now_s();
    expect("a product that is late", tw_mpi_gemm(plan, a.data, a.ld, b.data, b.ld, c.data, c.ld), TW_OK, "");
    if (late_s <= o.timeout_s || now_s() - start_s < late_s) FAULT("no product was late: %g s", now_s() - start_s);
    tw_mpi_plan_free(plan), tw_close(context);
    if (faults == 0) free(a.data), free(b.data), free(c.data); /* else the product may be using them */
}

/* Some memory is enough for panels that are staged, and not for those by NCCL. */
static void run_short_of_memory(void)
{
    int by_nccl = 0, staged = 0, refused = 0;
    product x = {.whole = true, .grid = {1, ranks, 1}, .text = "little memory"};
    x.p = tw_problem_make(TW_F32, TW_N, TW_N, 64, 64, 64);
    x.p.dtype_b = x.p.dtype_c = TW_F32;
    for (int64_t bytes = 20000; bytes <= 80000; bytes += 2500) {
        const tw_mpi_options as_staged = {
            .size = sizeof as_staged, .grid = {1, ranks, 1}, .timeout_s = 20, .panels = TW_MPI_PANELS_STAGED};
        tw_mpi_options o = as_staged;
        open_gpu(bytes);
        o.panels = TW_MPI_PANELS_AUTO;
        if (make_in(context, &x.p, &as_staged) == TW_OK) {
            run_both_ways(&x, TW_MPI_PANELS_AUTO);
            const bool fits = strncmp(way_gone, "NCCL 2.", 7) == 0;
            o.panels = TW_MPI_PANELS_NCCL, by_nccl += fits, staged += !fits;
            if (!fits && strstr(way_gone, "options.memory_bytes is") == NULL) FAULT("panels go %s", way_gone);
            if (!fits) expect("NCCL, asked for", make_in(context, &x.p, &o), TW_NO_MEMORY, "options.memory_bytes is");
        } else {
            expect("not even staged", make_in(context, &x.p, &o), TW_NO_MEMORY, "options.memory_bytes is"), refused++;
        }
        tw_close(context);
    }
    if (by_nccl == 0 || staged == 0 || refused == 0)
        FAULT("of the sizes of memory %d were enough for NCCL, %d for staging, %d for neither", by_nccl, staged,
              refused);
}

/* Ends all ranks: messages are on their way. */
static void absent(void)
{
    const tw_problem p = tw_problem_make(TW_F64, TW_N, TW_N, ranks, 2, 2);
    const tw_mpi_options o = {.size = sizeof o, .timeout_s = 2, .grid = {ranks, 1, 1}};
    tw_mpi_plan *plan;
    double a[2] = {1, 1}, b[4] = {1, 1, 1, 1}, c[2];
    expect("a plan", tw_mpi_plan_make(NULL, &p, MPI_COMM_WORLD, &o, &plan), TW_OK, "");
    if (rank == ranks - 1) nanosleep(&(struct timespec){.tv_sec = 600}, NULL);
    const double start_s = now_s();
    expect("a rank is absent", tw_mpi_gemm(plan, a, 2, b, 2, c, 2), TW_DEVICE_FAILED, "for 2 s");
    const double waited_s = now_s() - start_s;
    if (!(waited_s >= 2 && waited_s < 10)) FAULT("gave up after %g s, expected 2 and little more", waited_s);
    if (rank == 0) printf("absent, %d faults\n", faults), fflush(stdout);
    /* All have said what they found before the first ends them. */
    nanosleep(&(struct timespec){.tv_sec = rank == 0 ? 1 : 600}, NULL);
    MPI_Abort(MPI_COMM_WORLD, 9);
}

/* ---- many elements ---- */

/* A block of A has more than 2^31 elements and comes as more than 2 GiB; all but some are 0. */
static void large(void)
{
    const int64_t rows = 131200 * (int64_t)ranks, depth = 16384;
    const tw_problem p = tw_problem_make(TW_I8, TW_N, TW_N, rows, ranks, depth);
    const tw_mpi_options o = {.size = sizeof o, .grid = {1, ranks, 1}};
    const int64_t marks[][2] = {{0, 0}, {65535, 16383}, {65536, 0}, {131071, 16383}, {131072, 0}, {131199, 16383}};
    tw_mpi_layout l = {.size = sizeof l};
    tw_mpi_plan *plan;
    expect("a large plan", tw_mpi_plan_make(NULL, &p, MPI_COMM_WORLD, &o, &plan), TW_OK, "");
    tw_mpi_plan_layout(plan, &l);
    if (l.a.rows * l.a.cols <= INT32_MAX) FAULT("a block of %" PRId64 " elements is not large", l.a.rows * l.a.cols);
    char *a = calloc((size_t)l.a.rows, (size_t)l.a.cols) /* pages of zeros, until they are written */,
         *b = malloc((size_t)depth);
    int32_t *c = malloc((size_t)rows * sizeof *c), *expected = calloc((size_t)rows, sizeof *expected);
    if (a == NULL || b == NULL || c == NULL || expected == NULL) MPI_Abort(MPI_COMM_WORLD, 5);
    memset(b, 1, (size_t)depth);
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        a[marks[i][0] * depth + marks[i][1]] = (char)(rank + 1 + (int)i);
        for (int r = 0; r < ranks; r++) expected[131200 * r + marks[i][0]] += r + 1 + (int)i;
    }
    expect("a large product", tw_mpi_gemm(plan, a, depth, b, 1, c, 1), TW_OK, "");
    for (int64_t i = 0; i < rows; i++)
        if (c[i] != expected[i]) FAULT("row %" PRId64 " is %d, expected %d", i, c[i], expected[i]);
    free(a), free(b), free(c), free(expected);
    tw_mpi_plan_free(plan);
}

/* ---- sums in rounds ---- */

/* A rank takes 32 MiB of the others' sums a round. First that is 600 of its rows: in the last round one rank has a row,
 * the others none. Then one row is longer than 32 MiB. */
static int sum_in_rounds(void)
{
    static const int64_t sizes[][3] = {{1801, 3495, 3}, {4, 2100001, 3}};
    int done = 0;
    for (; done < 2; done++) {
        char *bits = NULL;
        product x = {.whole = true, .grid = {1, 1, ranks}};
        x.p = tw_problem_make(TW_F64, TW_N, TW_N, sizes[done][0], sizes[done][1], sizes[done][2]);
        x.p.dtype_b = x.p.dtype_c = TW_F64, x.p.alpha = 2, x.p.beta = -1;
        snprintf(x.text, sizeof x.text, "rounds, %" PRId64 " x %" PRId64, x.p.m, x.p.n);
        run_product(&x, TW_MPI_PANELS_AUTO, &bits);
        free(bits);
    }
    return done;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank), MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int done = 0;
    const bool by_nccl = argc > 1 && strcmp(argv[1], "nccl") == 0;
    const bool on_gpu = by_nccl || (argc > 1 && strcmp(argv[1], "cuda") == 0);
    if (argc == (on_gpu ? 5 : 4) && (on_gpu || strcmp(argv[1], "products") == 0)) {
        state = (uint64_t)atoll(argv[3]) * 1000 + (uint64_t)ranks;
        if (on_gpu) open_gpu(0);
        for (; done < atoi(argv[2]); done++) {
            product x = on_gpu ? draw_on_gpu(done, argv[4]) : draw_product(done);
            if (on_gpu && draw(2) == 0) { /* all ranks draw alike */
                expect("memory of the test", tw_lab_pipeline_open(context, &pipeline), TW_OK, "");
                x.p.place_a = x.p.place_b = x.p.place_c = TW_DEVICE;
                strncat(x.text, ", blocks on it", sizeof x.text - strlen(x.text) - 1);
            }
            char *bits = NULL;
            if (by_nccl)
                run_both_ways(&x, TW_MPI_PANELS_NCCL);
            else
                run_product(&x, TW_MPI_PANELS_AUTO, &bits);
            free(bits);
            tw_lab_pipeline_close(pipeline);
            pipeline = NULL;
        }
        tw_close(context);
    } else if (argc == 3 && strcmp(argv[1], "lost") == 0) {
        lose_gpu(argv[2]), done = 1;
    } else if (argc == 4 && strcmp(argv[1], "stuck") == 0) {
        stick_gpu(argv[2], atoll(argv[3])), done = 1;
    } else if (argc == 7 && strcmp(argv[1], "once") == 0) {
        compute_once(argv[2], argv[3], (const char *const[]){argv[4], argv[5], argv[6]}), done = 1;
    } else if (argc == 3 && strcmp(argv[1], "late") == 0) {
        compute_late(atof(argv[2])), done = 1;
    } else if (argc == 2 && strcmp(argv[1], "memory") == 0) {
        run_short_of_memory(), done = 1;
    } else if (argc == 2 && strcmp(argv[1], "refusals") == 0) {
        refusals(), done = 1;
    } else if (argc == 2 && strcmp(argv[1], "absent") == 0) {
        absent();
    } else if (argc == 2 && strcmp(argv[1], "large") == 0) {
        large(), done = 1;
    } else if (argc == 2 && strcmp(argv[1], "rounds") == 0) {
        done = sum_in_rounds();
    } else {
        fprintf(stderr, "usage: gemm products CASES SEED | cuda CASES SEED TYPE | nccl CASES SEED TYPE | lost GRID | "
                        "stuck WAY K | once WAY PLACE M N K | late SECONDS | memory | refusals | absent | large | "
                        "rounds\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Allreduce(MPI_IN_PLACE, &faults, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("%d %s, %d faults\n", done, argv[1], faults);
    MPI_Finalize();
    return faults > 0;
}
