/* clblast.h - CLBlast, opened at run time, by its C interface: one of its products, or a batch at fixed strides, put on
 * an OpenCL queue. It chooses its kernels by a database of its own, compiles them at the first call, and enqueues
 * several where it packs operands. */
#ifndef TILEWRIGHT_CLBLAST_H
#define TILEWRIGHT_CLBLAST_H

#include "peers.h"

typedef struct clblast {
    peer_function *size[2], *gemm[2], *gemm_strided[2]; /* of f32 and f64 */
    /* why: what failed last, where a function below returned false */
    char version[PEER_TEXT], file[PEER_TEXT], why[PEER_TEXT];
} clblast;

/* clblast_load - FOLDER/clblast.so, else the system's: which version it is, and where. Needs no device. */
bool clblast_load(clblast *x, const char *folder);

/* clblast_takes - is there such a product, equal to the opencl engine's? */
bool clblast_takes(clblast *x, const tw_problem *p);

/* clblast_workspace - the bytes that it wants to pack operands in; 0: none. */
bool clblast_workspace(clblast *x, const tw_problem *p, void *queue, size_t *bytes);

/* clblast_multiply - put C = op(A) op(B) of OpenCL buffers on a queue. workspace: a buffer of as many bytes as it
 * wants; NULL: it allocates them at each call. */
bool clblast_multiply(clblast *x, const tw_problem *p, void *const abc[3], void *workspace, void *queue);

/* clblast_multiply_batch - the same of a batch in one call. It allocates its workspace each time. */
bool clblast_multiply_batch(clblast *x, const tw_problem *p, const tw_batch *batch, void *const abc[3], void *queue);

/* clblast_name - "CLBlastSgemmWithTempBuffer": it does not tell which kernels it chose. */
const char *clblast_name(const tw_problem *p, bool batched);

#endif
