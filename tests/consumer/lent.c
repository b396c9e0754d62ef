/* lent.c - a program whose threads compute (tw_options.parallel_for), in C by OpenMP or in C++ by oneTBB. EXAMPLE is
 * the file with its open_lent(). It multiplies on these threads and on one of the library's: the same bits. Prints how
 * many threads it has in the end. */
#include EXAMPLE

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

static tw_context *open_one(void)
{
    tw_options options;
    tw_context *context;
    memset(&options, 0, sizeof options);
    options.size = sizeof options, options.threads = 1;
    return tw_open(&options, &context) == TW_OK ? context : NULL;
}

static int same_bits(tw_context *lent, tw_context *one, int64_t m, int64_t n, int64_t k, int64_t count)
{
    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_T, m, n, k);
    tw_batch batch = tw_batch_make(&p, count);
    const int64_t of_a = m * k * count, of_b = k * n, of_c = m * n * count;
    float *a = (float *)malloc((size_t)(of_a + of_b + 2 * of_c) * sizeof *a), *b = a + of_a, *c = b + of_b;
    int right = a != NULL;
    batch.stride_b = 0;
    for (int64_t i = 0; right && i < of_a + of_b; i++) a[i] = (float)(i * 7919 % 100003) / 3;
    for (int i = 0; i < 2 && right; i++)
        right = tw_gemm_batched(i ? one : lent, &p, &batch, a, b, c + i * of_c) == TW_OK;
    right = right && memcmp(c, c + of_c, (size_t)of_c * sizeof *c) == 0;
    free(a);
    return right;
}

int main(void)
{
    tw_context *lent = open_lent(), *one = open_one();
    int threads = 0;
    if (lent == NULL || one == NULL || !same_bits(lent, one, 500, 400, 700, 1) ||
        !same_bits(lent, one, 1, 9000, 800, 1) || !same_bits(lent, one, 30, 40, 30000, 1) ||
        !same_bits(lent, one, 90, 100, 400, 50)) {
        fprintf(stderr, "not so: %s\n", tw_error_text());
        return 1;
    }
    DIR *tasks = opendir("/proc/self/task");
    for (const struct dirent *task; tasks != NULL && (task = readdir(tasks)) != NULL;)
        threads += task->d_name[0] != '.';
    if (tasks != NULL) closedir(tasks);
    printf("%d\n", threads);
    tw_close(lent), tw_close(one);
    return 0;
}
