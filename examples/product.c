/* product.c - C <- 2 A^T B + C in f64, on one thread, with the error's sentence where a call fails.
 *
 * Prints
 *     7 4
 *     9 7
 *     11 10 */
#include <stdio.h>
#include <tilewright.h>

int main(void)
{
    const double a[2 * 3] = {1, 2, 3, 2, 2, 2}; /* stored 2 x 3: op(A) is 3 x 2 */
    const double b[2 * 2] = {1, 1, 2, 0};
    double c[3 * 2] = {-3, 2, -3, 3, -3, 4};
    const tw_options options = {.size = sizeof options, .engine = "cpu", .threads = 1};
    tw_context *context;
    if (tw_open(&options, &context) != TW_OK) {
        fprintf(stderr, "%s\n", tw_error_text());
        return 1;
    }
    tw_problem problem = tw_problem_make(TW_F64, TW_T, TW_N, 3, 2, 2);
    problem.alpha = 2, problem.beta = 1;
    tw_status status = tw_gemm(context, &problem, a, b, c);
    if (status != TW_OK) fprintf(stderr, "%s: %s\n", tw_status_name(status), tw_error_text());
    tw_close(context);
    for (int i = 0; status == TW_OK && i < 3; i++) printf("%g %g\n", c[2 * i], c[2 * i + 1]);
    return status != TW_OK;
}
