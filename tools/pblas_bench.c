/* pblas_bench.c - one process of tools/pblas_bench.py: products of n x n x n in f64 by several libraries in turns.
 *
 *   mpirun -n P pblas_bench N BLOCK ROWS COLS TURNS SCALAPACK PBLAS MPI [COSMA]
 *
 * ScaLAPACK's pdgemm_(), that of libtilewright_pblas, and tw_mpi_gemm() on blocks that lie as its plan wants them; with
 * COSMA (tools/peers/cosma.cc) its pdgemm, and its multiply() on matrices that lie as it wants them. Each has elements
 * of its C checked in every turn. Process (0, 0) prints a line "name seconds error" for each: the slowest
 * process's time, and the largest error of all as a share of its bound. */
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tilewright_mpi.h"

typedef void gemm_call(const char *, const char *, const int *, const int *, const int *, const double *,
                       const double *, const int *, const int *, const int *, const double *, const int *, const int *,
                       const int *, const double *, double *, const int *, const int *, const int *);

enum { CHECKED = 40, A_SEED = 1, B_SEED = 2 }; /* elements of C that each process checks */

static int rank, ranks, n;

static void fail(const char *what)
{
    fprintf(stderr, "pblas_bench: %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

static void *open_library(const char *name, int flags)
{
    void *library = dlopen(name, RTLD_NOW | flags);
    if (library == NULL) fail(dlerror());
    return library;
}

static void find(void *library, const char *name, void *function)
{
    void *found = dlsym(library, name);
    if (found == NULL) fail(dlerror());
    memcpy(function, &found, sizeof found);
}

static double element(uint64_t seed, int64_t i, int64_t j)
{
    uint64_t x = seed * 0x9e3779b97f4a7c15 + (uint64_t)i * 0x100000001b3 + (uint64_t)j;
    x = (x ^ x >> 31) * 0x7fb5d329728ea185, x = (x ^ x >> 27) * 0x81dadef4bc2dd44d;
    return (double)((x ^ x >> 33) >> 11) * 0x1p-53 - 0.5;
}

/* Of A B[i, j] as it was found; a share of (n + 2) u sum |a| |b|. */
static double error_of(int64_t i, int64_t j, double found)
{
    long double sum = 0, size = 0;
    for (int64_t k = 0; k < n; k++) {
        const long double term = (long double)element(A_SEED, i, k) * element(B_SEED, k, j);
        sum += term, size += fabsl(term);
    }
    return isnan(found) ? INFINITY : (double)(fabsl(sum - found) / ((n + 2) * 0x1p-53L * size));
}

/* Rows and columns of a matrix that this process holds, and where it begins in memory. */
typedef struct held {
    int64_t rows, cols, down, across; /* elements from one row, and one column, to the next */
    int64_t *row, *col;               /* which they are */
    double *data;
} held;

static held hold(int64_t rows, int64_t cols, bool by_rows)
{
    held h = {rows, cols, by_rows ? cols : 1, by_rows ? 1 : rows, NULL, NULL, NULL};
    h.row = malloc((size_t)(rows + 1) * sizeof *h.row), h.col = malloc((size_t)(cols + 1) * sizeof *h.col);
    h.data = malloc((size_t)(rows * cols + 1) * sizeof *h.data);
    if (h.row == NULL || h.col == NULL || h.data == NULL) fail("no memory");
    return h;
}

static void fill(const held *h, uint64_t seed)
{
    for (int64_t i = 0; i < h->rows; i++)
        for (int64_t j = 0; j < h->cols; j++)
            h->data[i * h->down + j * h->across] = element(seed, h->row[i], h->col[j]);
}

static void poison(const held *h)
{
    for (int64_t x = 0; x < h->rows * h->cols; x++) h->data[x] = NAN;
}

static double error_in(const held *c, int turn)
{
    double worst = 0;
    for (int x = 0; x < CHECKED && c->rows > 0 && c->cols > 0; x++) {
        const int64_t i = (int64_t)((element(3, turn, x) + 0.5) * (double)c->rows),
                      j = (int64_t)((element(4, turn, x) + 0.5) * (double)c->cols);
        const double error = error_of(c->row[i], c->col[j], c->data[i * c->down + j * c->across]);
        worst = error > worst ? error : worst;
    }
    return worst;
}

static void report(const char *name, double seconds, double error)
{
    double mine[2] = {seconds, error}, most[2];
    MPI_Reduce(mine, most, 2, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("%s %.9f %.6g\n", name, most[0], most[1]), fflush(stdout);
}

/* ---- ScaLAPACK's matrices ---- */

typedef struct cyclic {
    int desc[9];
    held a, b, c;
} cyclic;

static held hold_cyclic(int block, int rows, int cols, int row, int col)
{
    int64_t down = 0, across = 0;
    for (int g = 0; g < n; g++) down += g / block % rows == row, across += g / block % cols == col;
    held h = hold(down, across, false);
    down = across = 0;
    for (int g = 0; g < n; g++) {
        if (g / block % rows == row) h.row[down++] = g;
        if (g / block % cols == col) h.col[across++] = g;
    }
    return h;
}

static cyclic make_cyclic(void *scalapack, int block, int rows, int cols)
{
    void (*get)(int, int, int *), (*start)(int *, const char *, int, int), (*info)(int, int *, int *, int *, int *);
    int context, row, col;
    find(scalapack, "Cblacs_get", &get), find(scalapack, "Cblacs_gridinit", &start);
    find(scalapack, "Cblacs_gridinfo", &info);
    get(-1, 0, &context), start(&context, "Row", rows, cols), info(context, &rows, &cols, &row, &col);
    cyclic x = {.a = hold_cyclic(block, rows, cols, row, col),
                .b = hold_cyclic(block, rows, cols, row, col),
                .c = hold_cyclic(block, rows, cols, row, col)};
    const int desc[9] = {1, context, n, n, block, block, 0, 0, x.a.rows > 0 ? (int)x.a.rows : 1};
    memcpy(x.desc, desc, sizeof desc);
    fill(&x.a, A_SEED), fill(&x.b, B_SEED);
    return x;
}

static void time_pdgemm(const char *name, gemm_call *gemm, const cyclic *x, int turn)
{
    const int one = 1;
    const double alpha = 1, beta = 0;
    poison(&x->c);
    MPI_Barrier(MPI_COMM_WORLD);
    const double start_s = MPI_Wtime();
    gemm("N", "N", &n, &n, &n, &alpha, x->a.data, &one, &one, x->desc, x->b.data, &one, &one, x->desc, &beta, x->c.data,
         &one, &one, x->desc);
    const double seconds = MPI_Wtime() - start_s;
    report(name, seconds, error_in(&x->c, turn));
}

/* ---- blocks of a plan ---- */

typedef struct blocks {
    tw_status (*gemm)(tw_mpi_plan *, const void *, int64_t, const void *, int64_t, void *, int64_t);
    tw_mpi_plan *plan;
    held a, b, c;
} blocks;

static held hold_block(const tw_mpi_block *block)
{
    held h = hold(block->rows, block->cols, true);
    for (int64_t i = 0; i < h.rows; i++) h.row[i] = block->row + i;
    for (int64_t j = 0; j < h.cols; j++) h.col[j] = block->col + j;
    return h;
}

static blocks make_blocks(void *library)
{
    tw_status (*make)(tw_context *, const tw_problem *, MPI_Comm, const tw_mpi_options *, tw_mpi_plan **);
    tw_status (*layout)(const tw_mpi_plan *, tw_mpi_layout *);
    blocks x;
    tw_mpi_layout l = {.size = sizeof l};
    const tw_problem problem = tw_problem_make(TW_F64, TW_N, TW_N, n, n, n);
    find(library, "tw_mpi_plan_make", &make), find(library, "tw_mpi_plan_layout", &layout);
    find(library, "tw_mpi_gemm", &x.gemm);
    if (make(NULL, &problem, MPI_COMM_WORLD, NULL, &x.plan) != TW_OK || layout(x.plan, &l) != TW_OK) fail("no plan");
    x.a = hold_block(&l.a), x.b = hold_block(&l.b), x.c = hold_block(&l.c);
    fill(&x.a, A_SEED), fill(&x.b, B_SEED);
    return x;
}

static void time_blocks(const blocks *x, int turn)
{
    poison(&x->c);
    MPI_Barrier(MPI_COMM_WORLD);
    const double start_s = MPI_Wtime();
    const tw_status status = x->gemm(x->plan, x->a.data, x->a.cols, x->b.data, x->b.cols, x->c.data, x->c.cols);
    const double seconds = MPI_Wtime() - start_s;
    if (status != TW_OK) fail("tw_mpi_gemm() failed");
    report("tw_mpi_gemm", seconds, error_in(&x->c, turn));
}

/* ---- COSMA's matrices ---- */

typedef struct native {
    double *(*element)(int, int64_t, int64_t *, int64_t *);
    void (*multiply)(void);
    int64_t count[3]; /* elements of A, B and C that this process holds */
} native;

static native make_native(void *library)
{
    native x;
    void (*make)(int, int64_t *);
    find(library, "peer_cosma_make", &make), find(library, "peer_cosma_element", &x.element);
    find(library, "peer_cosma_multiply", &x.multiply);
    make(n, x.count);
    int64_t i, j;
    for (int64_t e = 0; e < x.count[0]; e++) {
        double *at = x.element(0, e, &i, &j);
        *at = element(A_SEED, i, j);
    }
    for (int64_t e = 0; e < x.count[1]; e++) {
        double *at = x.element(1, e, &i, &j);
        *at = element(B_SEED, i, j);
    }
    return x;
}

static void time_native(const native *x, int turn)
{
    int64_t i, j;
    double *c = x->element(2, 0, &i, &j), worst = 0;
    for (int64_t e = 0; e < x->count[2]; e++) c[e] = NAN;
    MPI_Barrier(MPI_COMM_WORLD);
    const double start_s = MPI_Wtime();
    x->multiply();
    const double seconds = MPI_Wtime() - start_s;
    for (int e = 0; e < CHECKED && x->count[2] > 0; e++) {
        const double *at = x->element(2, (int64_t)((element(5, turn, e) + 0.5) * (double)x->count[2]), &i, &j);
        const double error = error_of(i, j, *at);
        worst = error > worst ? error : worst;
    }
    report("cosma_multiply", seconds, worst);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank), MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 9 && argc != 10) fail("usage: pblas_bench N BLOCK ROWS COLS TURNS SCALAPACK PBLAS MPI [COSMA]");
    n = atoi(argv[1]);
    void *scalapack = open_library(argv[6], RTLD_GLOBAL);
    const cyclic x = make_cyclic(scalapack, atoi(argv[2]), atoi(argv[3]), atoi(argv[4]));
    const blocks y = make_blocks(open_library(argv[8], 0));
    gemm_call *theirs, *ours;
    find(scalapack, "pdgemm_", &theirs), find(open_library(argv[7], 0), "pdgemm_", &ours);
    gemm_call *cosma = NULL;
    native z = {0};
    if (argc == 10) {
        void *library = open_library(argv[9], 0);
        find(library, "cosma_pdgemm_", &cosma), z = make_native(library);
    }
    for (int turn = -1; turn < atoi(argv[5]); turn++) { /* the first warms up, and is left out by its name */
        if (rank == 0 && turn < 0) printf("warm-up\n");
        time_pdgemm("scalapack", theirs, &x, turn);
        time_pdgemm("pblas", ours, &x, turn);
        time_blocks(&y, turn);
        if (cosma != NULL) time_pdgemm("cosma_pdgemm", cosma, &x, turn), time_native(&z, turn);
        if (rank == 0 && turn < 0) printf("turns\n");
    }
    MPI_Finalize();
    return 0;
}
