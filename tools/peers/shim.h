/* shim.h - what a peer without a C function of its own is reached through: see call_shim in lab/peers.c. Row-major
 * C = op(A) op(B). */
#ifndef TILEWRIGHT_SHIM_H
#define TILEWRIGHT_SHIM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

int peer_gemm(int is_f64, int transpose_a, int transpose_b, int64_t m, int64_t n, int64_t k, const void *a, int64_t lda,
              const void *b, int64_t ldb, void *c, int64_t ldc); /* 0; 1: there is no code for such a product */
void peer_set_threads(int threads);
const char *peer_version(void);
const char *peer_choice(void); /* the code chosen for this processor */

#ifdef __cplusplus
}
#endif

#endif
