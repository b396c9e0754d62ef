/* cublas.c - a fake libcublasLt.so.13 for the fake driver, whose device memory is the host's: f32 and bf16, of any
 * shape.
 *
 *   FAKE_CUBLASLT  "candidates=3 wrong=1 tf32=2 us0=3000": so many candidates (default 3); the product of candidate 1
 *                  has a wrong last element, candidate 2 says that it rounds to TF32, and candidate 0 takes 3 ms
 *                  (default: candidate i takes 1000 - 100 i us) */
#include <dlfcn.h>
#include <stdint.h>

#include "fake.h"

#define CALL(name, parameters, ...)                                                                                    \
    int name parameters                                                                                                \
    {                                                                                                                  \
        FAULT(name, fault);                                                                                            \
        if (fault != 0) return fault;                                                                                  \
        __VA_ARGS__;                                                                                                   \
        return 0;                                                                                                      \
    }

enum { NOT_SUPPORTED = 15, MOST = 8, F32 = 0, BF16 = 14, COMPUTE_F32 = 68 };

typedef struct product {
    int compute, op[2];
} product;

typedef struct layout {
    int type;
    uint64_t rows, cols;
    int64_t ld, items, stride; /* a batch's */
} layout;

typedef struct result {
    uint64_t algorithm[8];
    size_t workspace_bytes;
    int state;
    float waves;
    int reserved[4];
} result;

static int choice(const char *name, int otherwise)
{
    int unused;
    return fake_number("FAKE_CUBLASLT", name, otherwise, &unused);
}

static int find(const layout *a, const layout *c, int wanted, result *out, int *found)
{
    if ((a->type != F32 && a->type != BF16) || c->type != F32) return NOT_SUPPORTED;
    *found = choice("candidates", 3);
    if (*found > wanted) *found = wanted;
    for (int i = 0; i < *found; i++) out[i] = (result){.algorithm = {(uint64_t)i}};
    return 0;
}

static int put(int64_t value, void *out, size_t bytes, size_t *written)
{
    *written = bytes;
    memcpy(out, &value, bytes);
    return 0;
}

static int configured(const uint64_t *algorithm, int what)
{
    return what == 0 ? 10 + (int)algorithm[0] : what == 1 ? 20 : what == 2 ? 1 : 8;
}

static float element(const void *data, const layout *x, int turned, uint64_t row, uint64_t col)
{
    uint64_t at = turned ? row * (uint64_t)x->ld + col : col * (uint64_t)x->ld + row;
    float value;
    if (x->type == F32) return ((const float *)data)[at];
    uint32_t bits = (uint32_t)((const uint16_t *)data)[at] << 16;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* On the clock of the fake driver, which the program has opened. */
static void pass(int candidate)
{
    char name[8];
    void (*fake_pass)(int);
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), *found = dlsym(driver, "fake_pass");
    memcpy(&fake_pass, &found, sizeof found);
    snprintf(name, sizeof name, "us%d", candidate % MOST);
    fake_pass(choice(name, 1000 - 100 * candidate));
    dlclose(driver);
}

static void multiply_item(const product *p, const void *a, const layout *la, const void *b, const layout *lb, float *c,
                          const layout *lc)
{
    uint64_t depth = p->op[0] ? la->rows : la->cols;
    for (uint64_t col = 0; col < lc->cols; col++)
        for (uint64_t row = 0; row < lc->rows; row++) {
            float sum = 0;
            for (uint64_t i = 0; i < depth; i++)
                sum += element(a, la, p->op[0], row, i) * element(b, lb, p->op[1], i, col);
            c[col * (uint64_t)lc->ld + row] = sum;
        }
}

static const void *item(const void *first, const layout *x, int64_t i)
{
    return (const char *)first + i * x->stride * (x->type == F32 ? 4 : 2);
}

static void multiply(const product *p, const void *a, const layout *la, const void *b, const layout *lb, float *c,
                     const layout *lc, int candidate)
{
    for (int64_t i = 0; i < lc->items; i++)
        multiply_item(p, item(a, la, i), la, item(b, lb, i), lb, c + i * lc->stride, lc);
    if (candidate == choice("wrong", -1)) c[(lc->cols - 1) * (uint64_t)lc->ld + lc->rows - 1] += 1;
    pass(candidate);
}

size_t cublasLtGetVersion(void) { return 130207; }
const char *cublasLtGetStatusName(int status)
{
    return status == NOT_SUPPORTED ? "CUBLAS_STATUS_NOT_SUPPORTED" : "CUBLAS_STATUS_EXECUTION_FAILED";
}

CALL(cublasLtCreate, (void **out), *out = malloc(1))
CALL(cublasLtDestroy, (void *x), free(x))
CALL(cublasLtMatmulDescCreate, (void **out, int compute, int scale), (void)scale; product *p = calloc(1, sizeof *p);
     p->compute = compute; *out = p)
CALL(cublasLtMatmulDescSetAttribute, (product * p, int what, const int *value, size_t bytes), (void)bytes;
     p->op[what - 3] = *value)
CALL(cublasLtMatmulDescDestroy, (void *x), free(x))
CALL(cublasLtMatrixLayoutCreate, (void **out, int type, uint64_t rows, uint64_t cols, int64_t ld),
     layout *x = malloc(sizeof *x);
     *x = (layout){type, rows, cols, ld, 1, 0}; *out = x)
CALL(cublasLtMatrixLayoutSetAttribute, (layout * x, int what, const void *value, size_t bytes), (void)bytes;
     if (what == 5) x->items = *(const int32_t *)value; else memcpy(&x->stride, value, sizeof x->stride))
CALL(cublasLtMatrixLayoutDestroy, (void *x), free(x))
CALL(cublasLtMatmulPreferenceCreate, (void **out), *out = malloc(1))
CALL(cublasLtMatmulPreferenceSetAttribute, (void *x, int what, const void *value, size_t bytes), (void)x; (void)what;
     (void)value; (void)bytes)
CALL(cublasLtMatmulPreferenceDestroy, (void *x), free(x))
CALL(cublasLtMatmulAlgoGetHeuristic,
     (void *x, const product *p, const layout *a, const layout *b, const layout *c, const layout *d, void *preference,
      int wanted, result *out, int *found),
     (void)x;
     (void)b; (void)d; (void)preference; if (p->compute != COMPUTE_F32) return NOT_SUPPORTED;
     return find(a, c, wanted, out, found))
CALL(cublasLtMatmulAlgoCapGetAttribute, (const uint64_t *algorithm, int what, void *out, size_t bytes, size_t *written),
     (void)what;
     return put((int)algorithm[0] == choice("tf32", -1) ? 4 << 16 : 8 << 16, out, bytes, written))
CALL(cublasLtMatmulAlgoConfigGetAttribute,
     (const uint64_t *algorithm, int what, void *out, size_t bytes, size_t *written),
     return put(configured(algorithm, what), out, bytes, written))
CALL(cublasLtMatmul,
     (void *x, const product *p, const void *alpha, const void *a, const layout *la, const void *b, const layout *lb,
      const void *beta, const void *c, const layout *lc, float *d, const layout *ld, const uint64_t *algorithm,
      void *workspace, size_t bytes, void *stream),
     (void)x;
     (void)alpha; (void)beta; (void)c; (void)ld; (void)workspace; (void)bytes; (void)stream;
     multiply(p, a, la, b, lb, d, lc, (int)algorithm[0]))
