/* clblast.c - a fake libclblast.so.1: f32 and f64 on any OpenCL device, computed by the host on what it reads from the
 * buffers.
 *
 *   FAKE_CLBLAST  "wrong=1 workspace=64": the last element of C is one too large; it wants so many bytes of workspace
 *                 (default 256) and takes none but a buffer of these */
#include <dlfcn.h>
#include <stddef.h>

#include "fake.h"

enum { PLAIN = 111, INVALID_MATRIX_A = -1022, NO_WORKSPACE = -2050 };

typedef int read_function(void *, void *, unsigned, size_t, size_t, void *, unsigned, void *const *, void **);
typedef int write_function(void *, void *, unsigned, size_t, size_t, const void *, unsigned, void *const *, void **);

typedef struct product {
    int op_a, op_b;
    size_t m, n, k, items, element_bytes;
    double alpha, beta;
    void *queue;
} product;

typedef struct matrix {
    void *buffer, *host;
    size_t ld, stride, bytes; /* of all items */
} matrix;

static int choice(const char *name, int otherwise)
{
    int unused;
    return fake_number("FAKE_CLBLAST", name, otherwise, &unused);
}

/* Of the OpenCL loader that the program has opened. */
static void find(const char *name, void *function)
{
    void *loader = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL), *found = dlsym(loader, name);
    memcpy(function, &found, sizeof found);
    dlclose(loader);
}

static int bring(const product *p, matrix *x, size_t rows, size_t cols)
{
    read_function *down;
    find("clEnqueueReadBuffer", &down);
    x->bytes = ((p->items - 1) * x->stride + (rows - 1) * x->ld + cols) * p->element_bytes;
    x->host = malloc(x->bytes);
    return x->host == NULL ? -6 : down(p->queue, x->buffer, 1, 0, x->bytes, x->host, 0, NULL, NULL);
}

static double load(const product *p, const matrix *x, size_t at)
{
    return p->element_bytes == 4 ? (double)((const float *)x->host)[at] : ((const double *)x->host)[at];
}

static void store(const product *p, const matrix *x, size_t at, double value)
{
    if (p->element_bytes == 4)
        ((float *)x->host)[at] = (float)value;
    else
        ((double *)x->host)[at] = value;
}

static void multiply(const product *p, const matrix *a, const matrix *b, const matrix *c)
{
    for (size_t item = 0; item < p->items; item++)
        for (size_t row = 0; row < p->m; row++)
            for (size_t col = 0; col < p->n; col++) {
                size_t at = item * c->stride + row * c->ld + col;
                double sum = 0;
                for (size_t i = 0; i < p->k; i++)
                    sum += load(p, a, item * a->stride + (p->op_a == PLAIN ? row * a->ld + i : i * a->ld + row)) *
                           load(p, b, item * b->stride + (p->op_b == PLAIN ? i * b->ld + col : col * b->ld + i));
                if (row == p->m - 1 && col == p->n - 1) sum += choice("wrong", 0);
                store(p, c, at, p->alpha * sum + (p->beta != 0 ? p->beta * load(p, c, at) : 0));
            }
}

static int run(const product *p, matrix a, matrix b, matrix c)
{
    write_function *up;
    find("clEnqueueWriteBuffer", &up);
    int error = p->op_a == PLAIN ? bring(p, &a, p->m, p->k) : bring(p, &a, p->k, p->m);
    if (error == 0) error = p->op_b == PLAIN ? bring(p, &b, p->k, p->n) : bring(p, &b, p->n, p->k);
    if (error == 0) error = bring(p, &c, p->m, p->n);
    if (error == 0) multiply(p, &a, &b, &c);
    if (error == 0) error = up(p->queue, c.buffer, 1, 0, c.bytes, c.host, 0, NULL, NULL);
    free(a.host), free(b.host), free(c.host);
    return error;
}

#define PLACE(x) void *x, size_t x##_offset, size_t x##_ld

#define FUNCTIONS(type, S)                                                                                             \
    int CLBlast##S##GemmTempBufferSize(int layout, int op_a, int op_b, size_t m, size_t n, size_t k, size_t a_offset,  \
                                       size_t a_ld, size_t b_offset, size_t b_ld, size_t c_offset, size_t c_ld,        \
                                       void **queue, size_t *bytes)                                                    \
    {                                                                                                                  \
        FAULT(CLBlast##S##GemmTempBufferSize, fault);                                                                  \
        (void)layout, (void)op_a, (void)op_b, (void)m, (void)n, (void)k, (void)a_offset, (void)a_ld, (void)b_offset,   \
            (void)b_ld, (void)c_offset, (void)c_ld, (void)queue;                                                       \
        *bytes = (size_t)choice("workspace", 256);                                                                     \
        return fault;                                                                                                  \
    }                                                                                                                  \
    int CLBlast##S##gemmWithTempBuffer(int layout, int op_a, int op_b, size_t m, size_t n, size_t k, type alpha,       \
                                       PLACE(a), PLACE(b), type beta, PLACE(c), void **queue, void **event,            \
                                       void *workspace)                                                                \
    {                                                                                                                  \
        FAULT(CLBlast##S##gemmWithTempBuffer, fault);                                                                  \
        if (fault != 0) return fault;                                                                                  \
        if ((workspace != NULL) != (choice("workspace", 256) > 0)) return NO_WORKSPACE;                                \
        if (layout != 101 || a_offset + b_offset + c_offset != 0 || event != NULL) return INVALID_MATRIX_A;            \
        const product p = {op_a, op_b, m, n, k, 1, sizeof(type), (double)alpha, (double)beta, *queue};                 \
        return run(&p, (matrix){a, NULL, a_ld, 0, 0}, (matrix){b, NULL, b_ld, 0, 0}, (matrix){c, NULL, c_ld, 0, 0});   \
    }                                                                                                                  \
    int CLBlast##S##gemmStridedBatched(int layout, int op_a, int op_b, size_t m, size_t n, size_t k, type alpha,       \
                                       PLACE(a), size_t a_stride, PLACE(b), size_t b_stride, type beta, PLACE(c),      \
                                       size_t c_stride, size_t items, void **queue, void **event)                      \
    {                                                                                                                  \
        FAULT(CLBlast##S##gemmStridedBatched, fault);                                                                  \
        if (fault != 0) return fault;                                                                                  \
        if (layout != 101 || a_offset + b_offset + c_offset != 0 || event != NULL) return INVALID_MATRIX_A;            \
        const product p = {op_a, op_b, m, n, k, items, sizeof(type), (double)alpha, (double)beta, *queue};             \
        return run(&p, (matrix){a, NULL, a_ld, a_stride, 0}, (matrix){b, NULL, b_ld, b_stride, 0},                     \
                   (matrix){c, NULL, c_ld, c_stride, 0});                                                              \
    }

FUNCTIONS(float, S)
FUNCTIONS(double, D)
