/* behind.c - a BLAS loaded behind ours that has OpenBLAS's limit of threads, and tells which one it was given. */
void openblas_set_num_threads(int threads);
int behind_limit(void);

static int limit = -1; /* none yet */

void openblas_set_num_threads(int threads) { limit = threads; }
int behind_limit(void) { return limit; }
