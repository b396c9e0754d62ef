/* peer.c - fakes in the names of libraries that `bench --against` knows, one fault each; what is right in them is
 * computed by libtilewright.so.
 *
 *   RIGHT    openblas: nothing is wrong; it prints when it is loaded, which must not reach the results
 *   WRONG    mkl: the last element of C is one too large
 *   HANGING  onednn: asked for its version, it does not come back
 *   CRASHING aocl: its first product aborts
 *   LACKING  blis: there is no cblas_dgemm
 *   SLOW     eigen: each product of 2048 is computed twice, so that half of the peak cannot be exceeded; of others the
 *            last is remembered with its operands, which is faster than any library
 *   SPINNING libxsmm: a thread of its own uses the processor all the time */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tilewright.h>
#include <unistd.h>

#ifdef RIGHT
__attribute__((constructor)) static void loaded(void)
{
    puts("a library that talks");
    fflush(stdout);
}
const char *openblas_get_config(void) { return "OpenBLAS 9.8.7 FAKE"; }
const char *openblas_get_corename(void) { return "fakecore"; }
void openblas_set_num_threads(int threads) { (void)threads; }
#endif

#ifdef WRONG
void MKL_Set_Num_Threads(int threads) { (void)threads; }
void MKL_Get_Version_String(char *text, int size) { snprintf(text, (size_t)size, "Library Version 7.6-Product"); }
#endif

#ifdef HANGING
int dnnl_sgemm(void) { return 0; }
void *dnnl_version(void)
{
    for (;;) pause();
}
#endif

#if defined(SLOW) || defined(SPINNING)
static void *spin(void *nothing)
{
    for (volatile unsigned turns = 0;; turns++) continue;
    return nothing;
}

/* Is x what was kept last? If not it is kept now. */
typedef struct kept {
    char *copy;
    size_t bytes;
} kept;

static int is_kept(kept *last, const void *x, size_t bytes)
{
    if (last->bytes == bytes && memcmp(last->copy, x, bytes) == 0) return 1;
    free(last->copy);
    *last = (kept){malloc(bytes), bytes};
    memcpy(last->copy, x, bytes);
    return 0;
}

const char *peer_version(void)
{
#ifdef SPINNING
    pthread_t thread;
    pthread_create(&thread, NULL, spin, NULL);
#else
    (void)spin;
#endif
    return "fake shim 1";
}
const char *peer_choice(void) { return "SSE"; }
void peer_set_threads(int threads) { (void)threads; }

int peer_gemm(int is_f64, int transpose_a, int transpose_b, int64_t m, int64_t n, int64_t k, const void *a, int64_t lda,
              const void *b, int64_t ldb, void *c, int64_t ldc)
{
    tw_op op_a = transpose_a ? TW_T : TW_N, op_b = transpose_b ? TW_T : TW_N;
    static kept last_a, last_b, last_c;
    const int large = m * n * k >= 1 << 30;
    const size_t bytes = (size_t)(m * ldc) * sizeof(float);
    if (is_f64) return 1;
    if (!large) {
        const int same_a = is_kept(&last_a, a, (size_t)((transpose_a ? k : m) * lda) * sizeof(float)),
                  same_b = is_kept(&last_b, b, (size_t)((transpose_b ? n : k) * ldb) * sizeof(float));
        if (same_a && same_b && last_c.bytes == bytes) return memcpy(c, last_c.copy, bytes) != c;
    }
    for (int i = 0; i < 1 + large; i++)
        if (tw_sgemm(NULL, op_a, op_b, m, n, k, 1, a, lda, b, ldb, 0, c, ldc) != TW_OK) return 1;
    if (!large) is_kept(&last_c, c, bytes);
    return 0;
}
#endif

#if defined(RIGHT) || defined(WRONG) || defined(CRASHING) || defined(LACKING)
void cblas_sgemm(int order, int op_a, int op_b, int m, int n, int k, float alpha, const float *a, int lda,
                 const float *b, int ldb, float beta, float *c, int ldc)
{
    (void)order;
#ifdef CRASHING
    abort();
#endif
    tw_sgemm(NULL, op_a == 112 ? TW_T : TW_N, op_b == 112 ? TW_T : TW_N, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
#ifdef WRONG
    c[(m - 1) * ldc + n - 1] += 1;
#endif
}
#ifndef LACKING
void cblas_dgemm(void) { abort(); }
#endif
void cblas_cgemm(int order, int op_a, int op_b, int m, int n, int k, const float *alpha, const void *a, int lda,
                 const void *b, int ldb, const float *beta, float *c, int ldc)
{
    tw_problem p = tw_problem_make(TW_CF32, op_a == 112 ? TW_T : TW_N, op_b == 112 ? TW_T : TW_N, m, n, k);
    p.lda = lda, p.ldb = ldb, p.ldc = ldc, p.alpha = alpha[0], p.alpha_imaginary = alpha[1];
    p.beta = beta[0], p.beta_imaginary = beta[1];
    (void)order;
    tw_gemm(NULL, &p, a, b, c);
#ifdef WRONG
    c[2 * ((m - 1) * ldc + n - 1) + 1] += 1;
#endif
}
void cblas_zgemm(void) { abort(); }
#endif
