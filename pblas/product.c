/* product.c - checks a call, lets all processes agree on it, and multiplies by a plan of mpi/.
 *
 * Arrays are stored by columns and blocks of a plan by rows, so C^T <- op(B)^T op(A)^T is computed: the plan's A is B,
 * its m is n. If the plan takes the caller's grid, its blocks of m and n are what C's array holds on each process, in
 * that order: C is computed where it lies. k stays in its order, so the sums have the bits of one process. */
#include "product.h"
#include "blacs.h"
#include "../mpi/plan.h"
#include "relay.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- arguments ---- */

static tw_op op_of(char letter)
{
    return toupper((unsigned char)letter) == 'N' ? TW_N : letter == 'C' || letter == 'c' ? TW_C : TW_T;
}

static bool is_op(char letter) { return letter != '\0' && strchr("NnTtCc", letter) != NULL; }

static bool is_zero(const double x[2]) { return x[0] == 0 && x[1] == 0; }

/* Blocks longer than the matrix are as long as it is. */
static cyclic cyclic_of(const pblas_matrix *x, int length, int first_block, int block, int first, int processes)
{
    const int64_t *d = x->descriptor, most = d[length] > 1 ? d[length] : 1;
    return (cyclic){d[first_block] < most ? d[first_block] : most, d[block] < most ? d[block] : most, (int)d[first],
                    processes};
}

static cyclic rows_of(const pblas_matrix *x, const blacs_grid *g) { return cyclic_of(x, M, IMB, MB, RSRC, g->rows); }

static cyclic cols_of(const pblas_matrix *x, const blacs_grid *g) { return cyclic_of(x, N, INB, NB, CSRC, g->cols); }

/* Argument `number`, of a descriptor 100 times its number and the entry, is wrong. */
static tw_status wrong(const pblas_product *p, const blacs_grid *g, int number, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static tw_status wrong(const pblas_product *p, const blacs_grid *g, int number, const char *format, ...)
{
    char why[300];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    return failure(TW_BAD_ARGUMENT, "{%d,%d}: On entry to %s parameter number %d had an illegal value: %s", g->row,
                   g->col, p->routine, number, why);
}

static bool is_short(const pblas_matrix *x) { return x->descriptor[DTYPE] != 2; }

/* Of an entry in the caller's descriptor, from 1. In a short one MB and NB stand where IMB and INB do. */
static int number_of(const pblas_matrix *x, int entry)
{
    return 100 * x->number + entry + 1 - (is_short(x) && entry > INB ? 2 : 0);
}

static tw_status check_entries(const pblas_product *p, const blacs_grid *g, const pblas_matrix *x)
{
    static const char *const names[] = {"DTYPE", "CTXT", "M", "N", "IMB", "INB", "MB", "NB", "RSRC", "CSRC", "LLD"};
    const int64_t all = INT64_MAX;
    const int64_t least[ENTRIES] = {1, g->context, 0, 0, 1, 1, 1, 1, 0, 0, 1},
                  most[ENTRIES] = {2, g->context, all, all, all, all, all, all, g->rows - 1, g->cols - 1, all};
    for (int e = 0; e < ENTRIES; e++) {
        const int64_t found = x->descriptor[e];
        const char *format = most[e] == all        ? "at least %" PRId64
                             : least[e] == most[e] ? "%" PRId64
                                                   : "%" PRId64 " to %" PRId64;
        char expected[60];
        if (found >= least[e] && found <= most[e]) continue;
        snprintf(expected, sizeof expected, format, least[e], most[e]);
        return wrong(p, g, number_of(x, e), "%s_ of DESC%c is %" PRId64 ", expected %s",
                     names[is_short(x) && (e == IMB || e == INB) ? e + 2 : e], x->letter, found, expected);
    }
    return TW_OK;
}

/* The submatrix of rows x cols lies in the matrix, and the array holds what this process has of it. */
static tw_status check_matrix(const pblas_product *p, const blacs_grid *g, const pblas_matrix *x, int64_t rows,
                              int64_t cols, bool read)
{
    const char letter = x->letter;
    if (x->i < 1) return wrong(p, g, x->number - 2, "I%c is %" PRId64 ", expected at least 1", letter, x->i);
    if (x->j < 1) return wrong(p, g, x->number - 1, "J%c is %" PRId64 ", expected at least 1", letter, x->j);
    const tw_status status = check_entries(p, g, x);
    if (status != TW_OK || rows == 0 || cols == 0) return status;
    const int64_t m = x->descriptor[M], n = x->descriptor[N];
    if (x->i > m || rows > m - x->i + 1)
        return wrong(p, g, x->number - 2, "%" PRId64 " rows from I%c = %" PRId64 " on are not in M_ = %" PRId64, rows,
                     letter, x->i, m);
    if (x->j > n || cols > n - x->j + 1)
        return wrong(p, g, x->number - 1, "%" PRId64 " columns from J%c = %" PRId64 " on are not in N_ = %" PRId64,
                     cols, letter, x->j, n);
    const cyclic r = rows_of(x, g), c = cols_of(x, g);
    const int64_t mine = cyclic_count(&r, m, g->row), wide = cyclic_count(&c, n, g->col);
    if (wide > 0 && x->descriptor[LLD] < mine)
        return wrong(p, g, number_of(x, LLD),
                     "LLD_ of DESC%c is %" PRId64 ", expected at least %" PRId64 ", the rows on this process", letter,
                     x->descriptor[LLD], mine);
    if (read && x->data == NULL && mine > 0 && wide > 0)
        return wrong(p, g, x->number - 3, "%c is NULL, and this process has %" PRId64 " x %" PRId64 " of it", letter,
                     mine, wide);
    return TW_OK;
}

static tw_status check(const pblas_product *p, const blacs_grid *g)
{
    const bool ta = op_of(p->op_a) != TW_N, tb = op_of(p->op_b) != TW_N, reads = !is_zero(p->alpha);
    const struct {
        const char *name;
        int number;
        int64_t value;
    } sizes[] = {{"M", 3, p->m}, {"N", 4, p->n}, {"K", 5, p->k}};
    if (!is_op(p->op_a)) return wrong(p, g, 1, "TRANSA is '%c', expected N, T or C", p->op_a);
    if (!is_op(p->op_b)) return wrong(p, g, 2, "TRANSB is '%c', expected N, T or C", p->op_b);
    for (int s = 0; s < 3; s++)
        if (sizes[s].value < 0)
            return wrong(p, g, sizes[s].number, "%s is %" PRId64 ", expected at least 0", sizes[s].name,
                         sizes[s].value);
    tw_status status = check_matrix(p, g, &p->a, ta ? p->k : p->m, ta ? p->m : p->k, reads);
    if (status == TW_OK) status = check_matrix(p, g, &p->b, tb ? p->n : p->k, tb ? p->k : p->n, reads);
    if (status == TW_OK) status = check_matrix(p, g, &p->c, p->m, p->n, true);
    return status;
}

static int64_t bits_of(double x)
{
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Contexts and leading dimensions are each process's own. */
static tw_status compare(const pblas_product *p, const blacs_grid *g, double timeout_s)
{
    const pblas_matrix *a = &p->a, *b = &p->b, *c = &p->c;
#define OF(x, letter)                                                                                                  \
    {"I" letter, x->i}, {"J" letter, x->j}, {"M_ of DESC" letter, x->descriptor[M]},                                   \
        {"N_ of DESC" letter, x->descriptor[N]}, {"MB_ of DESC" letter, x->descriptor[MB]},                            \
        {"NB_ of DESC" letter, x->descriptor[NB]}, {"IMB_ of DESC" letter, x->descriptor[IMB]},                        \
        {"INB_ of DESC" letter, x->descriptor[INB]}, {"RSRC_ of DESC" letter, x->descriptor[RSRC]},                    \
    {                                                                                                                  \
        "CSRC_ of DESC" letter, x->descriptor[CSRC]                                                                    \
    }
    const rank_value values[] = {
        {"the type", p->dtype},
        {"TRANSA", op_of(p->op_a)},
        {"TRANSB", op_of(p->op_b)},
        {"M", p->m},
        {"N", p->n},
        {"K", p->k},
        {"the bits of ALPHA", bits_of(p->alpha[0])},
        {"the bits of ALPHA's imaginary part", bits_of(p->alpha[1])},
        {"the bits of BETA", bits_of(p->beta[0])},
        {"the bits of BETA's imaginary part", bits_of(p->beta[1])},
        OF(a, "A"),
        OF(b, "B"),
        OF(c, "C"),
    };
#undef OF
    return failure_alike(g->comm, values, sizeof values / sizeof *values, timeout_s);
}

/* ---- one product ---- */

/* The order of m, n or k in the plan: dimension d of C from `begin` on, process by process; d NULL: as it is. */
typedef struct order {
    const cyclic *d;
    int64_t begin;
} order;

typedef struct work {
    const pblas_product *p;
    const blacs_grid *grid;
    double timeout_s;
    tw_mpi_plan *plan;
    tw_mpi_block *blocks[3]; /* of A, B and C, of all ranks */
    relay a, b, c;
    pending pending;
} work;

static int ranks_of(const work *w) { return w->grid->rows * w->grid->cols; }

/* Lengths of C's rows and columns on each process row and column. */
static void measure_home(const work *w, int64_t *rows, int64_t *cols)
{
    const pblas_product *p = w->p;
    const cyclic r = rows_of(&p->c, w->grid), c = cols_of(&p->c, w->grid);
    for (int i = 0; i < r.processes; i++)
        rows[i] = cyclic_count(&r, p->c.i - 1 + p->m, i) - cyclic_count(&r, p->c.i - 1, i);
    for (int j = 0; j < c.processes; j++)
        cols[j] = cyclic_count(&c, p->c.j - 1 + p->n, j) - cyclic_count(&c, p->c.j - 1, j);
}

static tw_status make_plan(work *w, int64_t *lengths)
{
    const pblas_product *p = w->p;
    const blacs_grid *g = w->grid;
    const bool is_complex = p->dtype == TW_CF32 || p->dtype == TW_CF64;
    const tw_op op_a = op_of(p->op_a), op_b = op_of(p->op_b);
    tw_problem problem = tw_problem_make(p->dtype, !is_complex && op_b == TW_C ? TW_T : op_b,
                                         !is_complex && op_a == TW_C ? TW_T : op_a, p->n, p->m, p->k);
    problem.alpha = p->alpha[0], problem.alpha_imaginary = p->alpha[1];
    problem.beta = p->beta[0], problem.beta_imaginary = p->beta[1];
    measure_home(w, lengths, lengths + g->rows);
    const grid_home home = {.pm = g->cols,
                            .pn = g->rows,
                            .m = lengths + g->rows,
                            .n = lengths,
                            .words = (double)p->m * (double)p->n / ranks_of(w) * (is_zero(p->beta) ? 1 : 2)};
    /* C stays where it lies, and k whole, but of a long k */
    const bool is_long = p->k >= (int64_t)p->m + p->n;
    const tw_mpi_options options = {.size = sizeof options,
                                    .grid = {is_long ? 0 : home.pm, is_long ? 0 : home.pn, is_long ? 0 : 1},
                                    .timeout_s = w->timeout_s};
    const rank_engine engine = rank_engine_of(NULL);
    return plan_make(&engine, &problem, g->comm, &options, &home, &w->plan);
}

static bool open_relay(const work *w, relay *r, const pblas_matrix *x, const tw_mpi_block *blocks, int64_t rows,
                       order of_rows, int64_t cols, order of_cols)
{
    const cyclic down = rows_of(x, w->grid), across = cols_of(x, w->grid);
    *r = (relay){.ranks = ranks_of(w),
                 .me = w->grid->col * w->grid->rows + w->grid->row,
                 .process_rows = w->grid->rows,
                 .bytes = w->plan->sizes.c_bytes,
                 .blocks = blocks,
                 .array = x->data,
                 .lld = x->descriptor[LLD],
                 .tag = x->letter};
    return stretches_make(&r->rows, &across, x->j - 1, cols, of_cols.d, of_cols.begin) &&
           stretches_make(&r->cols, &down, x->i - 1, rows, of_rows.d, of_rows.begin) && relay_open(r);
}

/* All memory of a call, or none of it is used. */
static bool open_relays(work *w)
{
    const pblas_product *p = w->p;
    const bool ta = op_of(p->op_a) != TW_N, tb = op_of(p->op_b) != TW_N, home = w->plan->grid.at_home;
    const cyclic down = rows_of(&p->c, w->grid), across = cols_of(&p->c, w->grid);
    const order of_m = {home ? &down : NULL, p->c.i - 1}, of_n = {home ? &across : NULL, p->c.j - 1}, of_k = {NULL, 0};
    for (int x = 0; x < 3; x++) {
        w->blocks[x] = malloc((size_t)ranks_of(w) * sizeof **w->blocks);
        if (w->blocks[x] == NULL) return false;
    }
    for (int rank = 0; rank < ranks_of(w); rank++) {
        tw_mpi_layout l;
        plan_blocks(w->plan, rank, &l);
        w->blocks[0][rank] = l.b, w->blocks[1][rank] = l.a, w->blocks[2][rank] = l.c;
    }
    if (w->plan->sizes.k > 0) {
        if (!open_relay(w, &w->a, &p->a, w->blocks[0], ta ? p->k : p->m, ta ? of_k : of_m, ta ? p->m : p->k,
                        ta ? of_m : of_k))
            return false;
        if (!open_relay(w, &w->b, &p->b, w->blocks[1], tb ? p->n : p->k, tb ? of_n : of_k, tb ? p->k : p->n,
                        tb ? of_k : of_n))
            return false;
    }
    return open_relay(w, &w->c, &p->c, w->blocks[2], p->m, of_m, p->n, of_n);
}

/* A and B where they are multiplied, C where something is added to it. */
static tw_status move_in(work *w)
{
    relay *all[] = {&w->a, &w->b, &w->c};
    const int first = w->plan->sizes.k > 0 ? 0 : 2, behind = is_zero(w->p->beta) ? 2 : 3;
    for (int x = first; x < behind; x++) relay_begin(all[x], &w->pending, false);
    const tw_status status = pending_wait_all(&w->pending);
    for (int x = first; status == TW_OK && x < behind; x++) relay_end(all[x], false);
    return status;
}

static tw_status move_back(work *w)
{
    relay_begin(&w->c, &w->pending, true);
    const tw_status status = pending_wait_all(&w->pending);
    if (status == TW_OK) relay_end(&w->c, true);
    return status;
}

static tw_status multiply(work *w)
{
    tw_status status = open_relays(w)
                           ? TW_OK
                           : failure(TW_NO_MEMORY, "no memory for this rank's blocks of A, B and C, and messages");
    status = failure_agree(w->grid->comm, status, w->timeout_s);
    pending_begin(&w->pending, w->grid->comm, w->timeout_s);
    if (status == TW_OK) status = move_in(w);
    if (status == TW_OK) status = tw_mpi_gemm(w->plan, w->b.block, w->b.ld, w->a.block, w->a.ld, w->c.block, w->c.ld);
    if (status == TW_OK) status = move_back(w);
    return status;
}

/* lengths: room for those of C's blocks. A failure ends the program: then nothing is freed, which MPI would ask other
 * ranks for. */
static tw_status compute(const pblas_product *p, const blacs_grid *g, double timeout_s, int64_t *lengths)
{
    work w = {.p = p, .grid = g, .timeout_s = timeout_s};
    tw_status status = make_plan(&w, lengths);
    if (status == TW_OK) status = multiply(&w);
    if (status != TW_OK) return status;
    relay_close(&w.a), relay_close(&w.b), relay_close(&w.c);
    pending_free(&w.pending);
    tw_mpi_plan_free(w.plan);
    for (int x = 0; x < 3; x++) free(w.blocks[x]);
    return TW_OK;
}

/* ---- a call ---- */

/* TILEWRIGHT_PBLAS_TIMEOUT, read once; 0: wait for ever. */
static double read_timeout(void)
{
    static double timeout_s = -1;
    if (timeout_s >= 0) return timeout_s;
    const char *word = getenv("TILEWRIGHT_PBLAS_TIMEOUT");
    char *end = NULL;
    timeout_s = word != NULL ? strtod(word, &end) : 0;
    if (word == NULL || (end != word && *end == '\0' && timeout_s >= 0 && timeout_s < 1e9)) return timeout_s;
    fprintf(stderr, "tilewright: TILEWRIGHT_PBLAS_TIMEOUT is %.60s, expected a number of seconds; it is ignored\n",
            word);
    return timeout_s = 0;
}

/* What all ranks agree on is told by one of them, before any ends the others. */
static void end(const pblas_product *p, const blacs_grid *g, tw_status status)
{
    const bool agreed = g->comm != MPI_COMM_NULL && failure_is_agreed();
    if (!agreed || (g->row == 0 && g->col == 0))
        fprintf(stderr, "tilewright: %s: %s\n", p->routine, tw_mpi_error_text());
    if (agreed) failure_agree(g->comm, TW_OK, 10);
    blacs_end(g->context, (int)status);
}

void pblas_multiply(const pblas_product *p)
{
    const double timeout_s = read_timeout();
    blacs_grid grid;
    tw_status status = blacs_find_grid((int)p->a.descriptor[CTXT], &grid);
    if (status == TW_OK) status = blacs_find_comm(&grid, timeout_s);
    int64_t *lengths = status == TW_OK ? malloc((size_t)(grid.rows + grid.cols) * sizeof *lengths) : NULL;
    if (status == TW_OK) {
        status = lengths != NULL ? check(p, &grid) : failure(TW_NO_MEMORY, "no memory for the lengths of blocks");
        status = failure_agree(grid.comm, status, timeout_s);
    }
    if (status == TW_OK) status = compare(p, &grid, timeout_s);
    const bool adds = !is_zero(p->alpha) && p->k > 0, scales = !(p->beta[0] == 1 && p->beta[1] == 0);
    if (status == TW_OK && p->m > 0 && p->n > 0 && (adds || scales)) status = compute(p, &grid, timeout_s, lengths);
    free(lengths);
    if (status != TW_OK) end(p, &grid, status);
}
