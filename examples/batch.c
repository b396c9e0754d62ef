/* batch.c - 1000 products of 4 x 4 matrices in one call. All items share B: its stride is 0.
 *
 * Prints
 *     item 0: 1 1 1 1
 *     item 999: 1000 1000 1000 1000 */
#include <stdio.h>
#include <stdlib.h>
#include <tilewright.h>

enum { COUNT = 1000, EDGE = 4, ITEM = EDGE * EDGE };

int main(void)
{
    float *a = malloc(COUNT * ITEM * sizeof *a), *c = malloc(COUNT * ITEM * sizeof *c), b[ITEM];
    if (a == NULL || c == NULL) return 1;
    for (int i = 0; i < COUNT; i++)
        for (int e = 0; e < ITEM; e++) a[i * ITEM + e] = (float)(i + 1);
    for (int e = 0; e < ITEM; e++) b[e] = 1.0f / EDGE;
    tw_problem problem = tw_problem_make(TW_F32, TW_N, TW_N, EDGE, EDGE, EDGE);
    tw_batch batch = tw_batch_make(&problem, COUNT);
    batch.stride_b = 0;
    tw_status status = tw_gemm_batched(NULL, &problem, &batch, a, b, c); /* NULL: the process's own context */
    if (status != TW_OK) fprintf(stderr, "%s\n", tw_error_text());
    for (int i = 0; status == TW_OK && i < COUNT; i += COUNT - 1)
        printf("item %d: %g %g %g %g\n", i, c[i * ITEM], c[i * ITEM + 1], c[i * ITEM + 2], c[i * ITEM + 3]);
    free(a), free(c);
    return status != TW_OK;
}
