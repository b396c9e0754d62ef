/* libxsmm.c - LIBXSMM's code for one shape, made at the first product of that shape and kept for the next. It computes
 * in columns, so that our row-major C = A B is its C = B A. It has no code for a transposed operand of ours on every
 * processor: those are refused. */
#include "shim.h"

#include <libxsmm.h>
#include <stdio.h>
#include <string.h>

typedef struct shape {
    int is_f64;
    int64_t m, n, k, lda, ldb, ldc;
} shape;

static shape made; /* for this shape */
static libxsmm_smmfunction f32_code;
static libxsmm_dmmfunction f64_code;

static void make(const shape *s)
{
    int m = (int)s->m, n = (int)s->n, k = (int)s->k, lda = (int)s->lda, ldb = (int)s->ldb, ldc = (int)s->ldc;
    const float alpha = 1, beta = 0;
    const double alpha_f64 = 1, beta_f64 = 0;
    f32_code = NULL, f64_code = NULL;
    if (s->is_f64)
        f64_code = libxsmm_dmmdispatch(n, m, k, &ldb, &lda, &ldc, &alpha_f64, &beta_f64, NULL, NULL);
    else
        f32_code = libxsmm_smmdispatch(n, m, k, &ldb, &lda, &ldc, &alpha, &beta, NULL, NULL);
    made = *s;
}

int peer_gemm(int is_f64, int transpose_a, int transpose_b, int64_t m, int64_t n, int64_t k, const void *a, int64_t lda,
              const void *b, int64_t ldb, void *c, int64_t ldc)
{
    if (transpose_a || transpose_b) return 1;
    if (made.m != m || made.n != n || made.k != k || made.is_f64 != is_f64 || made.lda != lda || made.ldb != ldb ||
        made.ldc != ldc)
        make(&(shape){is_f64, m, n, k, lda, ldb, ldc});
    if (is_f64 && f64_code != NULL)
        f64_code((const double *)b, (const double *)a, (double *)c);
    else if (!is_f64 && f32_code != NULL)
        f32_code((const float *)b, (const float *)a, (float *)c);
    else
        return 1;
    return 0;
}

void peer_set_threads(int threads) { (void)threads; }

const char *peer_version(void) { return "LIBXSMM " LIBXSMM_VERSION; }

const char *peer_choice(void) { return libxsmm_get_target_arch(); }
