/* cublas.c - see cublas.h. Names and numbers: cuBLAS reference, 12 and 13. */
#define _GNU_SOURCE /* dlinfo */
#include "cublas.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#define CALLS(F)                                                                                                       \
    F(cublasLtCreate, (void **))                                                                                       \
    F(cublasLtDestroy, (void *))                                                                                       \
    F(cublasLtMatmulDescCreate, (void **, int compute, int scale))                                                     \
    F(cublasLtMatmulDescSetAttribute, (void *, int, const void *, size_t))                                             \
    F(cublasLtMatmulDescDestroy, (void *))                                                                             \
    F(cublasLtMatrixLayoutCreate, (void **, int type, uint64_t rows, uint64_t cols, int64_t ld))                       \
    F(cublasLtMatrixLayoutSetAttribute, (void *, int, const void *, size_t))                                           \
    F(cublasLtMatrixLayoutDestroy, (void *))                                                                           \
    F(cublasLtMatmulPreferenceCreate, (void **))                                                                       \
    F(cublasLtMatmulPreferenceSetAttribute, (void *, int, const void *, size_t))                                       \
    F(cublasLtMatmulPreferenceDestroy, (void *))                                                                       \
    F(cublasLtMatmulAlgoGetHeuristic, (void *, void *product, void *a, void *b, void *c, void *d, void *preference,    \
                                       int wanted, cublas_candidate *, int *found))                                    \
    F(cublasLtMatmulAlgoCapGetAttribute, (const void *, int, void *, size_t, size_t *))                                \
    F(cublasLtMatmulAlgoConfigGetAttribute, (const void *, int, void *, size_t, size_t *))                             \
    F(cublasLtMatmul,                                                                                                  \
      (void *, void *product, const void *alpha, const void *a, void *, const void *b, void *, const void *beta,       \
       const void *c, void *, void *d, void *, const void *algorithm, void *workspace, size_t, void *stream))

struct cublas_api {
#define F(name, parameters) int(*name) parameters;
    CALLS(F)
#undef F
    size_t (*cublasLtGetVersion)(void);
    const char *(*cublasLtGetStatusName)(int);
};

static cublas_api loaded; /* a library is never closed again: what it registers with the driver stays */

enum {
    REAL_F32 = 0,
    REAL_F64 = 1,
    REAL_F16 = 2,
    REAL_BF16 = 14,
    COMPLEX_F32 = 4,
    COMPLEX_F64 = 5,
    INTEGER_I8 = 3,
    INTEGER_U8 = 8,
    INTEGER_I32 = 10,
    REAL_E4M3 = 28,
    REAL_E5M2 = 29,
    COMPUTE_F32 = 68,
    COMPUTE_TF32 = 77,
    COMPUTE_I32 = 72,
    COMPUTE_F64 = 70,
    LAYOUT_BATCH_COUNT = 5,
    LAYOUT_BATCH_STRIDE = 6,
    PRODUCT_OP_A = 3,
    PRODUCT_OP_B = 4,
    PREFERENCE_WORKSPACE_BYTES = 1,
    CAP_NUMERICS = 15,
    CONFIG_ID = 0,
    CONFIG_TILE = 1,
    CONFIG_SPLIT_K = 2,
    CONFIG_STAGES = 6
};
/* operands enter the matrix units as f16, bf16 or tf32 */
static const uint64_t NUMERICS_LESS_THAN_F32 = (uint64_t)7 << 16;

#define TRY(x, name, arguments)                                                                                        \
    do {                                                                                                               \
        int error_ = (x)->api->name arguments;                                                                         \
        if (error_ != 0) return broken(x, #name, error_);                                                              \
    } while (0)

static bool broken(cublas *x, const char *call, int error)
{
    snprintf(x->why, sizeof x->why, "failed in %s with %s (%d)", call, x->api->cublasLtGetStatusName(error), error);
    return false;
}

static bool look_up(cublas *x, void *library, const char *name, void *slot)
{
    void *found = dlsym(library, name);
    memcpy(slot, &found, sizeof found);
    if (found == NULL) snprintf(x->why, sizeof x->why, "has no function %s: too old", name);
    return found != NULL;
}

bool cublas_load(cublas *x, const char *folder)
{
    *x = (cublas){0};
    void *library = peer_library(peer_named("cublas"), folder, x->why, sizeof x->why);
    if (library == NULL) return false;
#define F(name, parameters)                                                                                            \
    if (!look_up(x, library, #name, &loaded.name)) return false;
    CALLS(F)
#undef F
    if (!look_up(x, library, "cublasLtGetVersion", &loaded.cublasLtGetVersion)) return false;
    if (!look_up(x, library, "cublasLtGetStatusName", &loaded.cublasLtGetStatusName)) return false;
    x->api = &loaded;
    size_t version = loaded.cublasLtGetVersion();
    snprintf(x->version, sizeof x->version, "cuBLASLt %zu.%zu.%zu", version / 10000, version / 100 % 100,
             version % 100);
    struct link_map *map;
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) == 0) snprintf(x->file, sizeof x->file, "%s", map->l_name);
    return true;
}

bool cublas_open(cublas *x, const char *folder)
{
    if (!cublas_load(x, folder)) return false;
    TRY(x, cublasLtCreate, (&x->handle));
    return true;
}

void cublas_close(cublas *x)
{
    if (x->handle != NULL) x->api->cublasLtDestroy(x->handle);
    *x = (cublas){0};
}

static int type_of(tw_dtype dtype)
{
    switch (dtype) {
    case TW_F64: return REAL_F64;
    case TW_CF32: return COMPLEX_F32;
    case TW_CF64: return COMPLEX_F64;
    case TW_F16: return REAL_F16;
    case TW_BF16: return REAL_BF16;
    case TW_I8: return INTEGER_I8;
    case TW_U8: return INTEGER_U8;
    case TW_I32: return INTEGER_I32;
    case TW_E4M3: return REAL_E4M3;
    case TW_E5M2: return REAL_E5M2;
    default: return REAL_F32; /* tf32 lies as f32 */
    }
}

/* Rows as stored are the columns that the library thinks in: it multiplies op(B)' by op(A)', which gives C'. */
static bool describe(cublas *x, const tw_problem *p)
{
    const int type = type_of(p->dtype), type_b = type_of(p->dtype_b != 0 ? p->dtype_b : p->dtype),
              type_c = type_of(p->dtype_c != 0 ? p->dtype_c : x->scalars);
    const int compute = x->is_f64              ? COMPUTE_F64
                        : x->scalars == TW_I32 ? COMPUTE_I32
                        : p->dtype == TW_TF32  ? COMPUTE_TF32
                                               : COMPUTE_F32;
    const int32_t op_a = p->op_b == TW_T, op_b = p->op_a == TW_T;
    uint64_t m = (uint64_t)p->m, n = (uint64_t)p->n, k = (uint64_t)p->k;
    TRY(x, cublasLtMatmulDescCreate, (&x->product, compute, type_of(x->scalars)));
    TRY(x, cublasLtMatmulDescSetAttribute, (x->product, PRODUCT_OP_A, &op_a, sizeof op_a));
    TRY(x, cublasLtMatmulDescSetAttribute, (x->product, PRODUCT_OP_B, &op_b, sizeof op_b));
    TRY(x, cublasLtMatrixLayoutCreate, (&x->layout_a, type_b, op_a ? k : n, op_a ? n : k, p->ldb));
    TRY(x, cublasLtMatrixLayoutCreate, (&x->layout_b, type, op_b ? m : k, op_b ? k : m, p->lda));
    TRY(x, cublasLtMatrixLayoutCreate, (&x->layout_c, type_c, n, m, p->ldc));
    return true;
}

static bool lay_out_batch(cublas *x, const tw_problem *p, int64_t count)
{
    const tw_batch batch = tw_batch_make(p, count);
    const int32_t items = (int32_t)count;
    void *const layouts[] = {x->layout_a, x->layout_b, x->layout_c};
    const int64_t strides[] = {batch.stride_b, batch.stride_a, batch.stride_c};
    for (int i = 0; i < 3; i++) {
        TRY(x, cublasLtMatrixLayoutSetAttribute, (layouts[i], LAYOUT_BATCH_COUNT, &items, sizeof items));
        TRY(x, cublasLtMatrixLayoutSetAttribute, (layouts[i], LAYOUT_BATCH_STRIDE, &strides[i], sizeof strides[i]));
    }
    return true;
}

static bool is_exact(const cublas *x, const cublas_candidate *c)
{
    uint64_t numerics = 0;
    size_t bytes;
    /* the oracles judge */
    if (x->api->cublasLtMatmulAlgoCapGetAttribute(c->algorithm, CAP_NUMERICS, &numerics, sizeof numerics, &bytes) != 0)
        return true;
    return (numerics & NUMERICS_LESS_THAN_F32) == 0;
}

static bool ask(cublas *x, void *preference, bool exact)
{
    uint64_t workspace_bytes = CUBLAS_WORKSPACE_BYTES;
    int found = 0;
    TRY(x, cublasLtMatmulPreferenceSetAttribute,
        (preference, PREFERENCE_WORKSPACE_BYTES, &workspace_bytes, sizeof workspace_bytes));
    TRY(x, cublasLtMatmulAlgoGetHeuristic,
        (x->handle, x->product, x->layout_a, x->layout_b, x->layout_c, x->layout_c, preference, CUBLAS_CANDIDATES,
         x->candidates, &found));
    for (int i = 0; i < found; i++)
        if (x->candidates[i].state == 0 && (!exact || is_exact(x, &x->candidates[i])))
            x->candidates[x->count++] = x->candidates[i];
    if (x->count == 0) snprintf(x->why, sizeof x->why, "has no candidate for such a product");
    return x->count > 0;
}

bool cublas_begin(cublas *x, const tw_problem *p, int64_t batch)
{
    void *preference = NULL;
    x->count = 0;
    const bool complex = p->dtype == TW_CF32 || p->dtype == TW_CF64;
    x->is_f64 = p->dtype == TW_F64 || p->dtype == TW_CF64;
    x->scalars = complex || x->is_f64 ? p->dtype : p->dtype == TW_I8 || p->dtype == TW_U8 ? TW_I32 : TW_F32;
    if (!describe(x, p) || (batch > 0 && !lay_out_batch(x, p, batch))) return false;
    TRY(x, cublasLtMatmulPreferenceCreate, (&preference));
    bool found = ask(x, preference, p->dtype == TW_F32 || p->dtype == TW_CF32);
    x->api->cublasLtMatmulPreferenceDestroy(preference);
    return found;
}

void cublas_end(cublas *x)
{
    if (x->layout_c != NULL) x->api->cublasLtMatrixLayoutDestroy(x->layout_c);
    if (x->layout_b != NULL) x->api->cublasLtMatrixLayoutDestroy(x->layout_b);
    if (x->layout_a != NULL) x->api->cublasLtMatrixLayoutDestroy(x->layout_a);
    if (x->product != NULL) x->api->cublasLtMatmulDescDestroy(x->product);
    x->product = x->layout_a = x->layout_b = x->layout_c = NULL;
    x->count = 0;
}

bool cublas_multiply(cublas *x, int candidate, const void *a, const void *b, void *c, void *workspace, void *stream)
{
    static const float one[2] = {1, 0}, zero[2] = {0, 0}; /* complex types take both */
    static const double one_f64[2] = {1, 0}, zero_f64[2] = {0, 0};
    static const int32_t one_i32 = 1, zero_i32 = 0;
    const void *alpha = one, *beta = zero;
    if (x->is_f64) alpha = one_f64, beta = zero_f64;
    if (x->scalars == TW_I32) alpha = &one_i32, beta = &zero_i32;
    TRY(x, cublasLtMatmul,
        (x->handle, x->product, alpha, b, x->layout_a, a, x->layout_b, beta, c, x->layout_c, c, x->layout_c,
         x->candidates[candidate].algorithm, workspace, CUBLAS_WORKSPACE_BYTES, stream));
    return true;
}

static int config(const cublas *x, int candidate, int what)
{
    int32_t value = -1;
    size_t bytes;
    return x->api->cublasLtMatmulAlgoConfigGetAttribute(x->candidates[candidate].algorithm, what, &value, sizeof value,
                                                        &bytes) == 0
               ? value
               : -1;
}

void cublas_name(const cublas *x, int candidate, char text[PEER_TEXT])
{
    snprintf(text, PEER_TEXT, "algorithm %d, tile %d, stages %d, split-k %d", config(x, candidate, CONFIG_ID),
             config(x, candidate, CONFIG_TILE), config(x, candidate, CONFIG_STAGES),
             config(x, candidate, CONFIG_SPLIT_K));
}
