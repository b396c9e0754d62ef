/* scalapack.c - a program written for ScaLAPACK, which knows nothing of this project: a product and a system of
 * equations, each checked.
 *
 *   mpirun -n P scalapack          prints "product and solution are right", or what is wrong and exits with 1
 *   mpirun -n P scalapack wrong    with a leading dimension that is too small on the second process
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void blacs_pinfo_(int *me, int *all);
void blacs_get_(const int *context, const int *what, int *value);
void blacs_gridinit_(int *context, const char *order, const int *rows, const int *cols);
void blacs_gridinfo_(const int *context, int *rows, int *cols, int *row, int *col);
void blacs_gridexit_(const int *context);
void blacs_exit_(const int *goes_on);
void descinit_(int *desc, const int *m, const int *n, const int *mb, const int *nb, const int *rsrc, const int *csrc,
               const int *context, const int *lld, int *info);
int numroc_(const int *n, const int *nb, const int *process, const int *source, const int *processes);
void pdelset_(double *a, const int *i, const int *j, const int *desc, const double *value);
void pdelget_(const char *scope, const char *top, double *value, const double *a, const int *i, const int *j,
              const int *desc);
void pdgemm_(const char *op_a, const char *op_b, const int *m, const int *n, const int *k, const double *alpha,
             const double *a, const int *ia, const int *ja, const int *desc_a, const double *b, const int *ib,
             const int *jb, const int *desc_b, const double *beta, double *c, const int *ic, const int *jc,
             const int *desc_c);
void pdgesv_(const int *n, const int *columns, double *a, const int *ia, const int *ja, const int *desc_a, int *pivots,
             double *b, const int *ib, const int *jb, const int *desc_b, int *info);

enum { SIDE = 150, BLOCK = 16 };
static const int one = 1, side = SIDE;
static int desc[9];

static double *matrix(int lld, int cols) { return calloc((size_t)(lld * cols + 1), sizeof(double)); }

static double element(int i, int j) { return (i * 7 + j * 3 + i * j) % 11 - 5 + (i == j ? 40 : 0); }

static double get(const double *a, int i, int j)
{
    double value = 0;
    pdelget_("All", " ", &value, a, &i, &j, desc);
    return value;
}

int main(int argc, char **argv)
{
    int me, all, context, rows = 1, cols, row, col, info, wrong = 0;
    blacs_pinfo_(&me, &all);
    for (int r = 1; r * r <= all; r++)
        if (all % r == 0) rows = r;
    cols = all / rows;
    blacs_get_(&(int){-1}, &(int){0}, &context);
    blacs_gridinit_(&context, "Row", &rows, &cols);
    blacs_gridinfo_(&context, &rows, &cols, &row, &col);
    const int block = BLOCK, down = numroc_(&side, &block, &row, &(int){0}, &rows),
              across = numroc_(&side, &block, &col, &(int){0}, &cols), lld = down > 0 ? down : 1;
    descinit_(desc, &side, &side, &block, &block, &(int){0}, &(int){0}, &context, &lld, &info);
    if (argc > 1 && argv[1][0] == 'w' && me == 1) desc[8] = 1;
    double *a = matrix(lld, across), *b = matrix(lld, across), *c = matrix(lld, across);
    int *pivots = calloc((size_t)(lld + BLOCK), sizeof *pivots);
    for (int i = 1; i <= SIDE; i++)
        for (int j = 1; j <= SIDE; j++) pdelset_(a, &i, &j, desc, &(double){element(i, j)});
    for (int i = 1; i <= SIDE; i++) pdelset_(b, &i, &i, desc, &(double){2});
    pdgemm_("T", "N", &side, &side, &side, &(double){0.5}, a, &one, &one, desc, b, &one, &one, desc, &(double){0}, c,
            &one, &one, desc); /* C = A^T */
    for (int i = 1; i <= SIDE; i += 13)
        for (int j = 1; j <= SIDE; j++) wrong += get(c, i, j) != element(j, i);
    pdgemm_("N", "N", &side, &one, &side, &(double){1}, a, &one, &one, desc, b, &one, &one, desc, &(double){0}, c, &one,
            &one, desc); /* a column of C = 2 A e1; the solution of A x = C is 2 e1 */
    pdgesv_(&side, &one, a, &one, &one, desc, pivots, c, &one, &one, desc, &info);
    for (int i = 1; i <= SIDE; i++) wrong += !(fabs(get(c, i, 1) - (i == 1 ? 2 : 0)) < 1e-10);
    if (info != 0 || wrong > 0)
        printf("info %d, %d elements are wrong\n", info, wrong);
    else if (me == 0)
        printf("product and solution are right\n");
    free(a), free(b), free(c), free(pivots);
    blacs_gridexit_(&context);
    blacs_exit_(&(int){0});
    return info != 0 || wrong > 0;
}
