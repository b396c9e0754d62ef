/* level3.c - BLAS from C: A A^T by syrk, and a triangular system solved by trsm, linked with libtilewright_blas.so.
 *
 * Prints
 *     A A^T, lower triangle: 14; 32 77
 *     T x = b: x is 1 2 */
#include <stdio.h>
#include <tilewright_blas.h>

int main(void)
{
    const double a[2 * 3] = {1, 2, 3, 4, 5, 6}; /* by rows */
    double c[2 * 2] = {0};
    cblas_dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, 2, 3, 1, a, 3, 0, c, 2);
    printf("A A^T, lower triangle: %g; %g %g\n", c[0], c[2], c[3]);

    const double t[2 * 2] = {2, 0, 1, 4}; /* lower triangular */
    double x[2] = {2, 9};                 /* b, then the solution */
    cblas_dtrsm(CblasRowMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, 2, 1, 1, t, 2, x, 1);
    printf("T x = b: x is %g %g\n", x[0], x[1]);
    return 0;
}
