/* pblas.c - a user of ScaLAPACK whose products are those of libtilewright_pblas: on drawn grids, blocks and
 * submatrices, and what is refused.
 *
 *   mpirun -n P pblas products CASES SEED   whole numbers, and ScaLAPACK's own routine beside; bits of tw_gemm();
 *                                           nothing but the submatrix of C written
 *   mpirun -n P pblas refusals              each call is refused, and leaves C as it was
 *   mpirun -n P pblas moves                 how many bytes are sent where an operand and C stay
 *   mpirun -n P pblas absent                the last process never calls: the others give up
 *
 * Every process makes every element from its place. The last line of standard output is "N products, ..."; a fault is a
 * line on standard error and exit status 1. */
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <mpi.h>

#include "drawn.h"
#include "tilewright_lab.h"
#include "tilewright_pblas.h"

void Cblacs_get(int context, int what, int *value);
void Cblacs_gridmap(int *context, int *map, int ldmap, int rows, int cols);
void Cblacs_gridinfo(int context, int *rows, int *cols, int *row, int *col);
void Cblacs_gridexit(int context);
__attribute__((visibility("default"))) void blacs_abort_(const int *context, const int *code);

typedef void gemm_call(const char *, const char *, const int *, const int *, const int *, const void *, const void *,
                       const int *, const int *, const int *, const void *, const int *, const int *, const int *,
                       const void *, void *, const int *, const int *, const int *);
typedef void gemm_64_call(const char *, const char *, const int64_t *, const int64_t *, const int64_t *, const void *,
                          const void *, const int64_t *, const int64_t *, const int64_t *, const void *,
                          const int64_t *, const int64_t *, const int64_t *, const void *, void *, const int64_t *,
                          const int64_t *, const int64_t *);

/* ---- types ---- */

static const struct {
    tw_dtype dtype;
    const char *name; /* of ScaLAPACK's */
    int bytes, parts;
} types[] = {
    {TW_F64, "pdgemm_", 8, 1}, {TW_F32, "psgemm_", 4, 1}, {TW_CF64, "pzgemm_", 16, 2}, {TW_CF32, "pcgemm_", 8, 2}};
enum { TYPES = 4 };

static gemm_call *own_call(int type)
{
    static gemm_call *calls[TYPES];
    const void *functions[] = {(const void *)(uintptr_t)pdgemm_, (const void *)(uintptr_t)psgemm_,
                               (const void *)(uintptr_t)pzgemm_, (const void *)(uintptr_t)pcgemm_};
    memcpy(&calls[type], &functions[type], sizeof calls[type]);
    return calls[type];
}

static gemm_64_call *own_64_call(int type)
{
    static gemm_64_call *calls[TYPES];
    const void *functions[] = {(const void *)(uintptr_t)pdgemm_64_, (const void *)(uintptr_t)psgemm_64_,
                               (const void *)(uintptr_t)pzgemm_64_, (const void *)(uintptr_t)pcgemm_64_};
    memcpy(&calls[type], &functions[type], sizeof calls[type]);
    return calls[type];
}

static void store(int type, double re, double im, void *to)
{
    const double both[2] = {re, im};
    const float single[2] = {(float)re, (float)im};
    const bool is_single = types[type].bytes == 4 * types[type].parts;
    memcpy(to, is_single ? (const void *)single : (const void *)both, (size_t)types[type].bytes);
}

static double part_of(int type, const char *from, int part)
{
    double d[2];
    float f[2];
    if (types[type].bytes == 8 * types[type].parts) return memcpy(d, from, (size_t)types[type].bytes), d[part];
    return memcpy(f, from, (size_t)types[type].bytes), f[part];
}

/* ---- grids ---- */

typedef struct grid {
    int context, rows, cols, row, col; /* row -1: this process is in none */
} grid;

/* Of the first rows x cols processes, in one of three orders. */
static grid make_grid(int rows, int cols, int order)
{
    grid g = {.rows = rows, .cols = cols};
    int map[64];
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < cols; j++)
            map[i + j * rows] = order == 0   ? i * cols + j
                                : order == 1 ? j * rows + i
                                             : rows * cols - 1 - (j * rows + i);
    Cblacs_get(-1, 0, &g.context);
    Cblacs_gridmap(&g.context, map, rows, rows, cols);
    g.row = -1;
    if (g.context >= 0) Cblacs_gridinfo(g.context, &g.rows, &g.cols, &g.row, &g.col);
    return g;
}

/* ---- matrices ---- */

enum { DTYPE, CTXT, M, N, MB, NB, RSRC, CSRC, LLD, ENTRIES, ENTRIES_OF_2 = 11 };

typedef struct matrix {
    int type, rows, cols, i, j;  /* the submatrix: its size, and where it begins, from 1 */
    int imb, inb, desc[ENTRIES]; /* as of type 1 */
    int given[ENTRIES_OF_2];     /* of type 1 or 2 */
    int64_t given_64[ENTRIES_OF_2], i_64, j_64, bytes;
    int64_t *down, *across; /* where this process has a row, or column, of the matrix; -1: another one has it */
    char *data;
} matrix;

enum { LONG_BLOCK = 1 << 20 }; /* longer than any matrix here */

/* Fills in where the indices of a dimension are; how many this process has. */
static int deal(int64_t *places, int length, int first_block, int block, int process, int first, int processes)
{
    int owner = first, left = first_block, found = 0;
    for (int index = 0; index < length; index++, left--) {
        if (left == 0) owner = (owner + 1) % processes, left = block;
        places[index] = owner == process ? found++ : -1;
    }
    return found;
}

static int64_t *make_places(int length)
{
    int64_t *places = malloc((size_t)(length + 1) * sizeof *places);
    if (places == NULL) MPI_Abort(MPI_COMM_WORLD, 5);
    return places;
}

/* The descriptor as it is given: of type 2 with first blocks of their own; of 64 bits with blocks as long as can be. */
static void give(matrix *x, bool of_type_2)
{
    const int *d = x->desc,
              longer[ENTRIES_OF_2] = {2, d[CTXT], d[M], d[N], x->imb, x->inb, d[MB], d[NB], d[RSRC], d[CSRC], d[LLD]};
    if (of_type_2)
        memcpy(x->given, longer, sizeof longer);
    else
        memcpy(x->given, d, sizeof x->desc);
    for (int e = 0; e < ENTRIES_OF_2; e++) x->given_64[e] = x->given[e] == LONG_BLOCK ? INT64_MAX : x->given[e];
    x->i_64 = x->i, x->j_64 = x->j;
}

static matrix draw_matrix(int type, const grid *g, int rows, int cols)
{
    static const int blocks[] = {1, 2, 3, 4, 5, 7, 16, 64, LONG_BLOCK};
    matrix x = {.type = type, .rows = rows, .cols = cols, .i = 1 + (int)draw(7), .j = 1 + (int)draw(7)};
    x.desc[DTYPE] = 1, x.desc[CTXT] = g->context;
    x.desc[M] = x.i - 1 + rows + (int)draw(5), x.desc[N] = x.j - 1 + cols + (int)draw(5);
    x.desc[MB] = blocks[draw(9)], x.desc[NB] = blocks[draw(9)];
    if (draw(2) == 0) x.desc[NB] = x.desc[MB];
    const bool of_type_2 = draw(3) == 0;
    const int imb = 1 + (int)draw(9), inb = 1 + (int)draw(9);
    x.imb = of_type_2 ? imb : x.desc[MB], x.inb = of_type_2 ? inb : x.desc[NB];
    x.desc[RSRC] = (int)draw(g->rows), x.desc[CSRC] = (int)draw(g->cols);
    const int padding = (int)draw(3);
    if (g->row < 0) return x;
    x.down = make_places(x.desc[M]), x.across = make_places(x.desc[N]);
    const int down = deal(x.down, x.desc[M], x.imb, x.desc[MB], g->row, x.desc[RSRC], g->rows),
              across = deal(x.across, x.desc[N], x.inb, x.desc[NB], g->col, x.desc[CSRC], g->cols);
    x.desc[LLD] = down + padding > 0 ? down + padding : 1;
    give(&x, of_type_2);
    x.bytes = ((int64_t)x.desc[LLD] * across + 1) * types[type].bytes;
    x.data = malloc((size_t)x.bytes);
    if (x.data == NULL) MPI_Abort(MPI_COMM_WORLD, 5);
    memset(x.data, 0xff, (size_t)x.bytes); /* NaN */
    return x;
}

static void matrix_free(matrix *x) { free(x->down), free(x->across), free(x->data); }

/* Of the submatrix, from 0; NULL: another process has it. */
static char *at(const matrix *x, int row, int col)
{
    const int64_t down = x->down[x->i - 1 + row], across = x->across[x->j - 1 + col];
    return down < 0 || across < 0 ? NULL : x->data + (down + across * x->desc[LLD]) * types[x->type].bytes;
}

static void make(int type, bool whole, uint64_t seed, int i, int j, void *to)
{
    const element e = element_at(seed, i, j);
    const double re = (double)(e.bits >> 11) * 0x1p-53 - 0.5;
    store(type, whole ? e.re : re, whole ? e.im : re * 0.7, to);
}

static void fill(const matrix *x, bool whole, uint64_t seed)
{
    for (int i = 0; i < x->rows; i++)
        for (int j = 0; j < x->cols; j++) {
            char *to = at(x, i, j);
            if (to != NULL) make(x->type, whole, seed, i, j, to);
        }
}

/* ---- one product ---- */

enum { A_SEED = 11, B_SEED = 23, C_SEED = 37 };

typedef struct product {
    int type, m, n, k;
    char op_a, op_b;
    bool whole, wide;
    double alpha[2], beta[2];
    matrix a, b, c;
    char text[400];
} product;

static int of_one_process; /* products with the bits of tw_gemm(), of those that were compared */

static tw_op op_of(const product *x, char op)
{
    return op == 'N' ? TW_N : op == 'C' && types[x->type].parts == 2 ? TW_C : TW_T;
}

/* tw_gemm() of the whole; or of each of some segments of k, added in ascending order. */
static void compute_alone(const product *x, int segments, char *c)
{
    const int bytes = types[x->type].bytes;
    const bool ta = x->op_a != 'N', tb = x->op_b != 'N';
    char *a = malloc((size_t)(x->m * x->k * bytes + 1)), *b = malloc((size_t)(x->k * x->n * bytes + 1)),
         *part = malloc((size_t)(x->m * x->n * bytes + 1)), *sum = malloc((size_t)(x->m * x->n * bytes + 1));
    if (a == NULL || b == NULL || part == NULL || sum == NULL) MPI_Abort(MPI_COMM_WORLD, 5);
    const int a_rows = ta ? x->k : x->m, a_cols = ta ? x->m : x->k, b_rows = tb ? x->n : x->k,
              b_cols = tb ? x->k : x->n;
    for (int i = 0; i < a_rows; i++)
        for (int j = 0; j < a_cols; j++) make(x->type, x->whole, A_SEED, i, j, a + ((int64_t)j * a_rows + i) * bytes);
    for (int i = 0; i < b_rows; i++)
        for (int j = 0; j < b_cols; j++) make(x->type, x->whole, B_SEED, i, j, b + ((int64_t)j * b_rows + i) * bytes);
    for (int i = 0; i < x->m; i++)
        for (int j = 0; j < x->n; j++) make(x->type, x->whole, C_SEED, i, j, c + ((int64_t)j * x->m + i) * bytes);
    tw_problem p = tw_problem_make(types[x->type].dtype, op_of(x, x->op_b), op_of(x, x->op_a), x->n, x->m, x->k);
    p.lda = b_rows > 0 ? b_rows : 1, p.ldb = a_rows > 0 ? a_rows : 1, p.ldc = x->m > 0 ? x->m : 1;
    p.dtype_c = p.dtype;
    p.alpha = x->alpha[0], p.alpha_imaginary = x->alpha[1], p.beta = x->beta[0], p.beta_imaginary = x->beta[1];
    tw_status status = TW_OK;
    if (x->m == 0 || x->n == 0) {
        /* nothing */
    } else if (segments == 1) {
        status = tw_gemm(NULL, &p, b, a, c);
    } else {
        p.alpha = 1, p.beta = 0;
        for (int s = 0, k = 0; status == TW_OK && s < segments; k += (int)p.k, s++) {
            p.k = x->k / segments + (s < x->k % segments);
            status = tw_gemm(NULL, &p, b + (int64_t)k * (tb ? b_rows : 1) * bytes,
                             a + (int64_t)k * (ta ? 1 : a_rows) * bytes, part);
            if (status == TW_OK)
                status = tw_lab_finish_sums(NULL, p.dtype_c, x->n, x->m, 1, part, x->m, s > 0, sum, x->m);
        }
        if (status == TW_OK)
            status = tw_lab_finish_sums(NULL, p.dtype_c, x->n, x->m, x->alpha[0], sum, x->m, x->beta[0], c, x->m);
    }
    if (status != TW_OK) FAULT("%s: alone: %s", x->text, tw_error_text());
    free(a), free(b), free(part), free(sum);
}

static bool has_bits(const product *x, const char *alone)
{
    const int bytes = types[x->type].bytes;
    for (int i = 0; i < x->m; i++)
        for (int j = 0; j < x->n; j++) {
            const char *found = at(&x->c, i, j);
            if (found != NULL && memcmp(found, alone + ((int64_t)j * x->m + i) * bytes, (size_t)bytes) != 0)
                return false;
        }
    return true;
}

static bool all_of(const grid *g, bool mine)
{
    int all = g->row < 0 || mine;
    MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return all;
}

/* Those of one process; or, where the library has divided k, of as many segments. */
static void check_bits(const product *x, const grid *g)
{
    const bool divides = types[x->type].parts == 1 && x->alpha[0] != 0;
    const int most = divides ? g->rows * g->cols : 1;
    char *alone = malloc((size_t)(x->m * x->n * types[x->type].bytes + 1));
    if (alone == NULL) MPI_Abort(MPI_COMM_WORLD, 5);
    int segments = 0;
    for (int s = 1; segments == 0 && s <= most && (s == 1 || s <= x->k); s++) {
        if (g->row >= 0) compute_alone(x, s, alone);
        if (all_of(g, g->row < 0 || has_bits(x, alone))) segments = s;
    }
    free(alone);
    if (segments == 0 && rank == 0) FAULT("%s: not the bits of tw_gemm(), in 1 to %d segments of k", x->text, most);
    if (segments > 1 && x->k < x->m + x->n && rank == 0) FAULT("%s: k is divided", x->text);
    of_one_process += segments == 1;
}

/* Real and imaginary part of op(X)[i, j]. */
static void operand(const product *x, bool of_a, int i, int j, double out[2])
{
    const char op = of_a ? x->op_a : x->op_b;
    const element e = op == 'N' ? element_at(of_a ? A_SEED : B_SEED, i, j) : element_at(of_a ? A_SEED : B_SEED, j, i);
    out[0] = e.re, out[1] = types[x->type].parts == 1 ? 0 : op == 'C' ? -e.im : e.im;
}

static void check_whole(const product *x)
{
    for (int i = 0; i < x->m; i++)
        for (int j = 0; j < x->n; j++) {
            const char *found = at(&x->c, i, j);
            if (found == NULL) continue;
            const element c0 = element_at(C_SEED, i, j);
            const double c[2] = {c0.re, types[x->type].parts == 2 ? c0.im : 0};
            double sum[2] = {0, 0}, u[2], v[2];
            for (int k = 0; k < x->k; k++) {
                operand(x, true, i, k, u), operand(x, false, k, j, v);
                sum[0] += u[0] * v[0] - u[1] * v[1], sum[1] += u[0] * v[1] + u[1] * v[0];
            }
            const double *al = x->alpha, *be = x->beta;
            const double expected[2] = {al[0] * sum[0] - al[1] * sum[1] + be[0] * c[0] - be[1] * c[1],
                                        al[0] * sum[1] + al[1] * sum[0] + be[0] * c[1] + be[1] * c[0]};
            for (int part = 0; part < types[x->type].parts; part++)
                if (!(part_of(x->type, found, part) == expected[part])) {
                    FAULT("%s: C[%d, %d] part %d is %.17g, expected %.17g", x->text, i, j, part,
                          part_of(x->type, found, part), expected[part]);
                    return;
                }
        }
}

/* Element by element as ScaLAPACK leaves its array, what was NaN before included. */
static void check_beside(const product *x, const char *theirs)
{
    const int real = types[x->type].bytes / types[x->type].parts;
    for (int64_t i = 0; i + real <= x->c.bytes; i += real) {
        double ours = 0, other = 0;
        float f[2];
        if (real == 8) memcpy(&ours, x->c.data + i, 8), memcpy(&other, theirs + i, 8);
        if (real == 4) memcpy(&f[0], x->c.data + i, 4), memcpy(&f[1], theirs + i, 4), ours = f[0], other = f[1];
        if (!(ours == other || (isnan(ours) && isnan(other)))) {
            FAULT("%s: number %" PRId64 " of the array is %.17g, in ScaLAPACK's %.17g", x->text, i / real, ours, other);
            return;
        }
    }
}

/* All but the submatrix is NaN as before. */
static void check_untouched(const product *x)
{
    char *inside = calloc((size_t)x->c.bytes, 1);
    if (inside == NULL) MPI_Abort(MPI_COMM_WORLD, 5);
    for (int i = 0; i < x->m; i++)
        for (int j = 0; j < x->n; j++) {
            const char *found = at(&x->c, i, j);
            if (found != NULL) memset(inside + (found - x->c.data), 1, (size_t)types[x->type].bytes);
        }
    for (int64_t i = 0; i < x->c.bytes; i++)
        if (!inside[i] && (unsigned char)x->c.data[i] != 0xff) {
            FAULT("%s: byte %" PRId64 " outside of sub(C) was written", x->text, i);
            break;
        }
    free(inside);
}

static void call(const product *x, gemm_call *gemm)
{
    char alpha[16], beta[16];
    const matrix *a = &x->a, *b = &x->b, *c = &x->c;
    store(x->type, x->alpha[0], x->alpha[1], alpha), store(x->type, x->beta[0], x->beta[1], beta);
    if (!x->wide || gemm != own_call(x->type)) {
        gemm(&x->op_a, &x->op_b, &x->m, &x->n, &x->k, alpha, a->data, &a->i, &a->j, a->given, b->data, &b->i, &b->j,
             b->given, beta, c->data, &c->i, &c->j, c->given);
        return;
    }
    const int64_t m = x->m, n = x->n, k = x->k;
    own_64_call(x->type)(&x->op_a, &x->op_b, &m, &n, &k, alpha, a->data, &a->i_64, &a->j_64, a->given_64, b->data,
                         &b->i_64, &b->j_64, b->given_64, beta, c->data, &c->i_64, &c->j_64, c->given_64);
}

static void run_product(product *x, const grid *g, void *scalapack)
{
    const bool adds = x->alpha[0] != 0 || x->alpha[1] != 0, keeps = x->beta[0] != 0 || x->beta[1] != 0;
    if (g->row >= 0) {
        if (adds) fill(&x->a, x->whole, A_SEED), fill(&x->b, x->whole, B_SEED);
        if (keeps) fill(&x->c, x->whole, C_SEED);
        char *theirs = malloc((size_t)x->c.bytes);
        if (theirs == NULL) MPI_Abort(MPI_COMM_WORLD, 5);
        memcpy(theirs, x->c.data, (size_t)x->c.bytes);
        call(x, own_call(x->type));
        check_untouched(x);
        if (x->whole) {
            char *ours = x->c.data;
            gemm_call *other;
            void *found = dlsym(scalapack, types[x->type].name);
            memcpy(&other, &found, sizeof other);
            if (other == NULL || other == own_call(x->type)) MPI_Abort(MPI_COMM_WORLD, 3);
            check_whole(x);
            x->c.data = theirs;
            call(x, other);
            x->c.data = ours;
            check_beside(x, theirs);
        }
        free(theirs);
    }
    check_bits(x, g);
    matrix_free(&x->a), matrix_free(&x->b), matrix_free(&x->c);
}

/* ---- drawn ---- */

static int side(void)
{
    const int64_t sides[] = {
        0, 1, ranks - 1, ranks, ranks + 1, 2 * ranks + 1, 3 + draw(20), 3 + draw(20), 30 + draw(41), 30 + draw(41)};
    return (int)sides[draw(10)];
}

static product draw_product(int number, const grid *g)
{
    static const double factors[] = {0, 1, 1, 1, -1, 2, -3};
    product x = {.type = number % TYPES, .whole = draw(2) == 0, .wide = draw(4) == 0};
    x.op_a = "NTC"[draw(3)], x.op_b = "NTC"[draw(3)];
    x.m = side(), x.n = side(), x.k = side();
    if (draw(10) == 0) x.m = 10 + (int)draw(9), x.n = 10 + (int)draw(9), x.k = 20000; /* divided among ranks */
    x.alpha[0] = factors[draw(7)], x.beta[0] = factors[draw(7)];
    if (types[x.type].parts == 2 && draw(2) == 0) x.alpha[1] = factors[draw(7)], x.beta[1] = factors[draw(7)];
    x.a = draw_matrix(x.type, g, x.op_a == 'N' ? x.m : x.k, x.op_a == 'N' ? x.k : x.m);
    x.b = draw_matrix(x.type, g, x.op_b == 'N' ? x.k : x.n, x.op_b == 'N' ? x.n : x.k);
    x.c = draw_matrix(x.type, g, x.m, x.n);
    if (x.op_a == 'C' && draw(2) == 0) x.op_a = 'c';
    snprintf(
        x.text, sizeof x.text,
        "case %d: %s%s, %d x %d x %d, ops %c %c, alpha %g+%gi, beta %g+%gi, grid %d x %d, blocks %dx%d %dx%d %dx%d, "
        "from (%d,%d) (%d,%d) (%d,%d), first (%d,%d) (%d,%d) (%d,%d), descriptors of type %d %d %d, %s",
        number, types[x.type].name, x.wide ? " of 64 bits" : "", x.m, x.n, x.k, x.op_a, x.op_b, x.alpha[0], x.alpha[1],
        x.beta[0], x.beta[1], g->rows, g->cols, x.a.desc[MB], x.a.desc[NB], x.b.desc[MB], x.b.desc[NB], x.c.desc[MB],
        x.c.desc[NB], x.a.i, x.a.j, x.b.i, x.b.j, x.c.i, x.c.j, x.a.desc[RSRC], x.a.desc[CSRC], x.b.desc[RSRC],
        x.b.desc[CSRC], x.c.desc[RSRC], x.c.desc[CSRC], x.a.given[DTYPE], x.b.given[DTYPE], x.c.given[DTYPE],
        x.whole ? "whole numbers" : "random bits");
    if (x.op_a == 'c') x.op_a = 'C';
    return x;
}

static void products(int cases, void *scalapack)
{
    for (int number = 0; number < cases; number++) {
        const int rows = 1 + (int)draw(ranks), cols = draw(4) == 0 ? 1 + (int)draw(ranks / rows) : ranks / rows;
        const grid g = make_grid(rows, cols, (int)draw(3));
        product x = draw_product(number, &g);
        run_product(&x, &g, scalapack);
        if (g.row >= 0) Cblacs_gridexit(g.context);
    }
}

/* ---- what moves ---- */

static int64_t sent_bytes;

/* In place of MPI's, for the library too. */
__attribute__((visibility("default"))) int MPI_Isend(const void *data, int elements, MPI_Datatype of, int to, int tag,
                                                     MPI_Comm comm, MPI_Request *request)
{
    int bytes;
    MPI_Type_size(of, &bytes);
    sent_bytes += (int64_t)elements * bytes;
    return PMPI_Isend(data, elements, of, to, tag, comm, request);
}

static int count(int length, int block, int process, int first, int processes)
{
    int64_t places[1000];
    return deal(places, length, block, block, process, first, processes);
}

static int share(int length, int index) { return length / ranks + (index < length % ranks); }

/* On a grid of one row (or column) C and B (or A) stay: the other operand goes to even parts of m (or n) over the whole
 * of k, and is then gathered by all. */
static void moves_of(bool one_row)
{
    enum { BLOCK = 7, OUTER = 300, INNER = 150 };
    const grid g = make_grid(one_row ? 1 : ranks, one_row ? ranks : 1, 0);
    const int first = ranks - 1, none = 0, one = 1, other = 3, m = OUTER, k = INNER, from = 1 + BLOCK * (ranks + 1) + 2;
    const int side = from + OUTER, lld = side;
    const double alpha = 1, beta = 1;
    /* what stays begins at the same place of the same blocks as C; what moves begins elsewhere */
    const int stays[9] = {1, g.context, side, side, BLOCK, BLOCK, one_row ? none : first, one_row ? first : none, lld};
    const int moves[9] = {1, g.context, side, side, BLOCK, BLOCK, 0, 0, lld};
    double *a = calloc((size_t)(side * side), sizeof *a), *b = calloc((size_t)(side * side), sizeof *b),
           *c = calloc((size_t)(side * side), sizeof *c);
    if (a == NULL || b == NULL || c == NULL) MPI_Abort(MPI_COMM_WORLD, 5);
    sent_bytes = 0;
    if (one_row)
        pdgemm_("N", "N", &m, &m, &k, &alpha, a, &one, &other, moves, b, &one, &from, stays, &beta, c, &one, &from,
                stays);
    else
        pdgemm_("N", "N", &m, &m, &k, &alpha, a, &from, &one, stays, b, &other, &one, moves, &beta, c, &from, &one,
                stays);
    int64_t all = sent_bytes, expected = (int64_t)OUTER * INNER * (ranks - 1);
    for (int r = 0; r < ranks; r++)
        expected += (int64_t)share(OUTER, r) *
                    (INNER - (count(other - 1 + INNER, BLOCK, r, 0, ranks) - count(other - 1, BLOCK, r, 0, ranks)));
    MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    if (all != 8 * expected)
        FAULT("grid %d x %d: %" PRId64 " bytes were sent, expected %" PRId64, g.rows, g.cols, all, 8 * expected);
    free(a), free(b), free(c);
    Cblacs_gridexit(g.context);
}

/* ---- what is refused ---- */

static jmp_buf refused;
static bool catches;

/* In place of the BLACS's, which would end all processes: what the library calls, and found before ScaLAPACK's. */
void blacs_abort_(const int *context, const int *code)
{
    (void)context;
    if (catches) longjmp(refused, 1);
    MPI_Abort(MPI_COMM_WORLD, *code + 40);
}

/* A good call of 6 x 5 x 4 with one number changed on the processes from `from` on. */
typedef struct refusal {
    const char *what;
    int place, value, from; /* place: of the arguments of PBLAS; 100 * place + entry of a descriptor */
} refusal;

static void refuse(const grid *g, const refusal *r, double *c)
{
    int m = 6, n = 5, k = 4, i[3] = {1, 1, 1}, j[3] = {1, 1, 1},
        desc[3][9] = {{1, g->context, 6, 4, 2, 2, 0, 0, 6},
                      {1, g->context, 4, 5, 2, 2, 0, 0, 6},
                      {1, g->context, 6, 5, 2, 2, 0, 0, 6}};
    char op_a = 'N', op_b = 'N';
    double a[40] = {0}, b[40] = {0}, alpha = 1, beta = 0;
    const double *given = a;
    static const int numbers[3] = {10, 14, 19};
    if (rank >= r->from) {
        if (r->place == 1) op_a = (char)r->value;
        if (r->place == 2) op_b = (char)r->value;
        if (r->place == 3) m = r->value;
        if (r->place == 4) n = r->value;
        if (r->place == 5) k = r->value;
        if (r->place == 6) alpha = r->value;
        if (r->place == 7) given = NULL;
        for (int x = 0; x < 3; x++) {
            if (r->place == numbers[x] - 2) i[x] = r->value;
            if (r->place == numbers[x] - 1) j[x] = r->value;
            if (r->place / 100 == numbers[x]) desc[x][r->place % 100 - 1] = r->value;
        }
    }
    pdgemm_(&op_a, &op_b, &m, &n, &k, &alpha, given, &i[0], &j[0], desc[0], b, &i[1], &j[1], desc[1], &beta, c, &i[2],
            &j[2], desc[2]);
}

static void refusals(void)
{
    static const refusal all[] = {{"an op", 1, 'X', 0},
                                  {"an op of B on the last", 2, 'Q', 1},
                                  {"m", 3, -1, 0},
                                  {"n on the last", 4, -2, 1},
                                  {"k", 5, -3, 0},
                                  {"no A", 7, 0, 0},
                                  {"ia", 8, 0, 0},
                                  {"rows that are not there", 8, 4, 0},
                                  {"ja", 9, 2, 0},
                                  {"jb", 13, 3, 0},
                                  {"ic on the last", 17, 0, 1},
                                  {"type 3", 1001, 3, 0},
                                  {"another context", 1402, 99, 0},
                                  {"M_", 1003, -1, 0},
                                  {"N_", 1904, 4, 0},
                                  {"mb", 1005, 0, 0},
                                  {"nb", 1406, -1, 1},
                                  {"rsrc", 1007, 7, 0},
                                  {"rsrc -1", 1907, -1, 0},
                                  {"csrc", 1908, 2, 0},
                                  {"lld", 1409, 1, 0},
                                  {"lld 0 on the last", 1009, 0, 1},
                                  {"m on one alone", 3, 5, 1},
                                  {"an op on one alone", 2, 'T', 1},
                                  {"alpha on one alone", 6, 3, 1},
                                  {"mb on one alone", 1905, 3, 1}};
    const grid g = make_grid(1, ranks, 0);
    double c[40];
    memset(c, 0xff, sizeof c);
    catches = true;
    for (volatile size_t r = 0; r < sizeof all / sizeof *all; r++) {
        if (rank == 0) fprintf(stderr, "%s: ", all[r].what);
        if (setjmp(refused) == 0) {
            refuse(&g, &all[r], c);
            FAULT("%s is not refused", all[r].what);
        }
        for (size_t i = 0; i < sizeof c; i++)
            if (((unsigned char *)c)[i] != 0xff) FAULT("%s: C was written", all[r].what);
        fflush(stderr);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    catches = false;
    refuse(&g, &(refusal){"nothing", 0, 0, 0}, c);
    for (int i = 0; i < 6 * count(5, 2, g.col, 0, g.cols); i++)
        if (c[i] != 0) FAULT("a good call after those gives %g", c[i]);
    Cblacs_gridexit(g.context);
}

static void absent(void)
{
    const grid g = make_grid(ranks, 1, 0);
    double c[40];
    if (rank == ranks - 1) nanosleep(&(struct timespec){.tv_sec = 600}, NULL);
    refuse(&g, &(refusal){"nothing", 0, 0, 0}, c);
    FAULT("a call without the last process has returned");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank), MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc == 4 && strcmp(argv[1], "products") == 0) {
        void *scalapack = dlopen(SCALAPACK, RTLD_NOW);
        if (scalapack == NULL) fprintf(stderr, "%s\n", dlerror()), MPI_Abort(MPI_COMM_WORLD, 2);
        state = (uint64_t)atoll(argv[3]) * 1000 + (uint64_t)ranks;
        products(atoi(argv[2]), scalapack);
    } else if (argc == 2 && strcmp(argv[1], "refusals") == 0) {
        refusals();
    } else if (argc == 2 && strcmp(argv[1], "moves") == 0) {
        moves_of(true), moves_of(false);
    } else if (argc == 2 && strcmp(argv[1], "absent") == 0) {
        absent();
    } else {
        fprintf(stderr, "usage: pblas products CASES SEED | moves | refusals | absent\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Allreduce(MPI_IN_PLACE, &faults, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%s %s, %d of one process, %d faults\n", argc > 2 ? argv[2] : "all", argv[1], of_one_process, faults);
    MPI_Finalize();
    return faults > 0;
}
