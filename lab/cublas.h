/* cublas.h - NVIDIA's cuBLASLt, opened at run time: what candidates it has for a product, and one of them put on a
 * stream. f32 is IEEE f32; tf32, bf16, f16 and fp8 (without fast accumulation) are summed in f32 and i8 in i32, as the
 * cuda engine does. Where f32 is asked for, a candidate that rounds its operands to less is left out. */
#ifndef TILEWRIGHT_CUBLAS_H
#define TILEWRIGHT_CUBLAS_H

#include "peers.h"

enum { CUBLAS_CANDIDATES = 8, CUBLAS_WORKSPACE_BYTES = 32 << 20 };

/* What the library fills in for a candidate; its own layout. */
typedef struct cublas_candidate {
    uint64_t algorithm[8];
    size_t workspace_bytes;
    int state;
    float waves;
    int reserved[4];
} cublas_candidate;

typedef struct cublas_api cublas_api;

typedef struct cublas {
    const cublas_api *api;
    void *handle, *product, *layout_a, *layout_b, *layout_c; /* the last four of the present problem */
    tw_dtype scalars; /* the type of alpha and beta: f64, f32, i32, cf32 or cf64 */
    bool is_f64;      /* or complex numbers of it */
    int count;        /* of candidates, the heuristic's own first */
    cublas_candidate candidates[CUBLAS_CANDIDATES];
    /* why: what failed last, where a function below returned false */
    char version[PEER_TEXT], file[PEER_TEXT], why[PEER_TEXT];
} cublas;

/* cublas_load - FOLDER/cublas.so, else the system's: which version it is, and where. Needs no device. */
bool cublas_load(cublas *x, const char *folder);

/* cublas_open - the same, for the device that is current. On failure too cublas_close() must follow. */
bool cublas_open(cublas *x, const char *folder);
void cublas_close(cublas *x);

/* cublas_begin - find candidates for a problem (alpha 1, beta 0) whose operands begin at multiples of 256 bytes, or for
 * a batch of so many, one after the other (0: none). false where there are none. */
bool cublas_begin(cublas *x, const tw_problem *p, int64_t batch);
void cublas_end(cublas *x); /* before the next problem, also after a failure */

/* cublas_multiply - put a candidate's product of device memory on a stream. */
bool cublas_multiply(cublas *x, int candidate, const void *a, const void *b, void *c, void *workspace, void *stream);

/* cublas_name - "algorithm 21, tile 20, stages 8, split-k 1": by the library's own numbers. */
void cublas_name(const cublas *x, int candidate, char text[PEER_TEXT]);

#endif
