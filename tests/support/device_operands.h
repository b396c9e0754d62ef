/* device_operands.h - operands in CUDA's device memory, between bytes that nobody may touch, for the tests that need a
 * device: what they hold, what they must be after a product, byte for byte, and the product itself. */
#ifndef TILEWRIGHT_DEVICE_OPERANDS_H
#define TILEWRIGHT_DEVICE_OPERANDS_H

#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>

#include "cuda_caller.h"
#include "element.h"
#include "tap.h"
#include "tilewright_lab.h"

enum { GUARD = 512, MOST_OPERANDS = 3 };

static caller me;
static tw_context *context; /* on the device's primary context */
static tw_context *judge;   /* the cpu engine */
static cu_context primary;
static char refusal[300]; /* why there is none */

#define CU(call)                                                                                                       \
    do {                                                                                                               \
        cu_result error_ = (call);                                                                                     \
        if (error_ != CU_SUCCESS) return broken(#call, error_);                                                        \
    } while (0)

static _Thread_local char why[1024]; /* the last thing that was wrong */

static inline bool broken(const char *call, cu_result error)
{
    snprintf(why, sizeof why, "%s failed with %s (%d)", call, cu_error_name(me.cu, error), error);
    return false;
}

static inline bool refused(const char *call)
{
    snprintf(why, sizeof why, "%s: %s", call, tw_error_text());
    return false;
}

/* The library's calls and ours run in the context that is current. */
static inline cu_stream new_stream(void)
{
    cu_stream stream = NULL;
    me.cu->cuStreamCreateWithPriority(&stream, CALLER_NON_BLOCKING, 0);
    return stream;
}

/* ---- operands ---- */

/* One operand on the device and, byte for byte, what it has to be: guards and padding are NaN in every type. */
typedef struct matrix {
    int64_t rows, cols, ld;
    size_t element_bytes, offset, bytes; /* of element 0 in the allocation; of all of it */
    unsigned char *image;
    cu_pointer memory;
} matrix;

typedef struct operands {
    tw_problem problem;
    matrix x[MOST_OPERANDS];
    tw_launch launch;
    const tw_epilogue *on_host; /* the problem's, with operands in host memory */
} operands;

static inline size_t bytes_of(tw_dtype dtype) { return (size_t)tw_lab_dtype_of(dtype)->bytes; }
static inline void *at(const matrix *x) { return (void *)(uintptr_t)(x->memory + x->offset); }

/* Small integers: products and sums are exact in every order. C's are not 0, whose sign a scaling may change. */
static inline double value(int64_t i, int64_t j, int which)
{
    return (double)((i * 5 + j * 3 + i * j + which) % 7 - (which < 2 ? 3 : -1));
}

static inline bool matrix_make(matrix *x, int64_t rows, int64_t cols, int64_t ld, tw_dtype dtype, size_t offset,
                               int which)
{
    *x = (matrix){.rows = rows, .cols = cols, .ld = ld, .element_bytes = bytes_of(dtype), .offset = GUARD + offset};
    x->bytes = x->offset + (size_t)(rows * ld) * x->element_bytes + GUARD;
    x->image = malloc(x->bytes);
    if (x->image == NULL) return false;
    memset(x->image, 0xff, x->bytes);
    for (int64_t i = 0; which >= 0 && i < rows; i++)
        for (int64_t j = 0; j < cols; j++) {
            double element = value(i, j, which);
            element_of(dtype)->store(x->image + x->offset, i * ld + j, 1, &element);
        }
    CU(me.cu->cuMemAlloc_v2(&x->memory, x->bytes));
    CU(me.cu->cuMemcpyHtoD_v2(x->memory, x->image, x->bytes));
    /* a copy out of memory that is not pinned may still be on its way, and streams here wait for no other */
    CU(me.cu->cuStreamSynchronize(NULL));
    return true;
}

static inline void operands_free(operands *o)
{
    for (int i = 0; i < MOST_OPERANDS; i++) {
        if (o->x[i].memory != 0) me.cu->cuMemFree_v2(o->x[i].memory);
        free(o->x[i].image);
    }
    if (o->launch.workspace != NULL) me.cu->cuMemFree_v2((cu_pointer)(uintptr_t)o->launch.workspace);
}

static inline uint32_t alignment(const void *p)
{
    uintptr_t address = (uintptr_t)p % 256;
    return address == 0 ? 256 : (uint32_t)(address & -address);
}

/* Operands for p, each `offset` bytes beyond a multiple of 256; C is NaN where it is not read. */
static inline bool operands_make(operands *o, const tw_problem *p, const size_t offset[3])
{
    memset(o, 0, sizeof *o);
    o->problem = *p;
    o->launch.size = sizeof o->launch;
    o->problem.place_a = o->problem.place_b = o->problem.place_c = TW_DEVICE;
    bool a_transposed = p->op_a == TW_T, b_transposed = p->op_b == TW_T;
    bool made = matrix_make(&o->x[0], a_transposed ? p->k : p->m, a_transposed ? p->m : p->k, p->lda, p->dtype,
                            offset[0], 0) &&
                matrix_make(&o->x[1], b_transposed ? p->n : p->k, b_transposed ? p->k : p->n, p->ldb, p->dtype,
                            offset[1], 1) &&
                matrix_make(&o->x[2], p->m, p->n, p->ldc, element_of(p->dtype)->result, offset[2],
                            p->beta != 0 ? 2 : -1);
    o->problem.align_a = alignment(at(&o->x[0])), o->problem.align_b = alignment(at(&o->x[1])),
    o->problem.align_c = alignment(at(&o->x[2]));
    return made;
}

/* The elements of an operand as f32, for free(). */
static inline float *as_f32(const matrix *x, tw_dtype dtype)
{
    size_t count = (size_t)(x->rows * x->cols);
    float *out = malloc((count + 1) * sizeof *out);
    for (size_t i = 0; out != NULL && i < count; i++) {
        double element;
        element_of(dtype)->load(x->image + x->offset, (int64_t)i / x->cols * x->ld + (int64_t)i % x->cols, 1, 1,
                                &element, 1);
        out[i] = (float)element;
    }
    return out;
}

/* Bring C's image to what it must be after the product, by the cpu engine. */
static inline bool expect_product(operands *o)
{
    const tw_problem *p = &o->problem;
    float *a = as_f32(&o->x[0], p->dtype), *b = as_f32(&o->x[1], p->dtype);
    bool there = a != NULL && b != NULL;
    tw_problem host = tw_problem_make(TW_F32, p->op_a, p->op_b, p->m, p->n, p->k);
    host.lda = o->x[0].cols > 0 ? o->x[0].cols : 1, host.ldb = o->x[1].cols > 0 ? o->x[1].cols : 1, host.ldc = p->ldc;
    host.alpha = p->alpha, host.beta = p->beta, host.epilogue = o->on_host;
    there = there && (tw_gemm(judge, &host, a, b, o->x[2].image + o->x[2].offset) == TW_OK || refused("tw_gemm"));
    free(a), free(b);
    return there;
}

/* All bytes of the three allocations, guards and padding included. */
static inline bool as_expected(const operands *o)
{
    bool same = true;
    for (int q = 0; same && q < MOST_OPERANDS; q++) {
        const matrix *x = &o->x[q];
        unsigned char *found = malloc(x->bytes);
        if (found == NULL) return false;
        if (me.cu->cuMemcpyDtoH_v2(found, x->memory, x->bytes) != CU_SUCCESS) same = broken("cuMemcpyDtoH", 1);
        for (size_t i = 0; same && i < x->bytes; i++) {
            if (found[i] == x->image[i]) continue;
            int64_t element = ((int64_t)i - (int64_t)x->offset) / (int64_t)x->element_bytes;
            snprintf(why, sizeof why,
                     "byte %zu of %c's allocation (row %" PRId64 ", column %" PRId64 " of %" PRId64 " x %" PRId64
                     ", rows %" PRId64 " apart) is %02x, expected %02x",
                     i, "ABC"[q], element / x->ld, element % x->ld, x->rows, x->cols, x->ld, found[i], x->image[i]);
            same = false;
        }
        free(found);
    }
    return same;
}

static inline bool enqueue(tw_context *by, operands *o, cu_stream stream)
{
    o->launch.stream = stream;
    return tw_enqueue(by, &o->problem, at(&o->x[0]), at(&o->x[1]), at(&o->x[2]), &o->launch) == TW_OK ||
           refused("tw_enqueue");
}

static inline bool wait_for(cu_stream stream)
{
    CU(me.cu->cuStreamSynchronize(stream));
    return true;
}

/* Name a case that needs the device, with its primary context current. */
static inline bool device_case(const char *name)
{
    if (!tap_case("%s", name)) return false;
    snprintf(why, sizeof why, "no reason was given");
    if (context == NULL) tap_skip(refusal);
    return context != NULL;
}

static inline void verdict(bool passed) { tap_result(passed, "%s", why); }

static inline tw_problem problem_of(tw_dtype dtype, tw_op op_a, tw_op op_b, int64_t m, int64_t n, int64_t k,
                                    int64_t pad)
{
    tw_problem p = tw_problem_make(dtype, op_a, op_b, m, n, k);
    p.lda += pad, p.ldb += pad, p.ldc += pad;
    return p;
}

/* The workspace that the product wants and no more, NaN in every type; nothing where it wants none. */
static inline bool workspace_make(tw_context *by, operands *o)
{
    cu_pointer memory;
    if (tw_workspace_bytes(by, &o->problem, &o->launch.workspace_bytes) != TW_OK) return refused("tw_workspace_bytes");
    if (o->launch.workspace_bytes == 0) return true;
    CU(me.cu->cuMemAlloc_v2(&memory, (size_t)o->launch.workspace_bytes));
    CU(me.cu->cuMemsetD8_v2(memory, 0xff, (size_t)o->launch.workspace_bytes));
    CU(me.cu->cuStreamSynchronize(NULL));
    o->launch.workspace = (void *)(uintptr_t)memory;
    return true;
}

/* Is the engine's product of host memory the same as the cpu engine's? c is what C was before. */
static inline bool host_as_expected(const operands *o, void *c)
{
    const matrix *x = o->x;
    tw_problem p = o->problem;
    p.place_a = p.place_b = p.place_c = TW_HOST;
    if (tw_gemm(context, &p, x[0].image + x[0].offset, x[1].image + x[1].offset, (char *)c + x[2].offset) != TW_OK)
        return refused("tw_gemm");
    snprintf(why, sizeof why, "the product of host memory is another");
    return memcmp(c, x[2].image, x[2].bytes) == 0;
}

/* One product, on the device and of host memory. */
static inline bool product(const tw_problem *p, const size_t offset[3], cu_stream stream, bool has_workspace)
{
    operands o;
    bool right = operands_make(&o, p, offset) && (!has_workspace || workspace_make(context, &o));
    unsigned char *before = right ? malloc(o.x[2].bytes) : NULL;
    if (before != NULL) memcpy(before, o.x[2].image, o.x[2].bytes);
    right = before != NULL && enqueue(context, &o, stream) && expect_product(&o) && host_as_expected(&o, before);
    free(before);
    right = right && wait_for(stream) && as_expected(&o);
    operands_free(&o);
    return right;
}

/* The operands of a product and a workspace to pack them into, NULL where they are not to be packed. Not made: *skip
 * says so where this device packs nothing. */
static inline bool make_for(tw_context *by, operands *o, const tw_problem *p, bool packs, bool *skip)
{
    static const size_t offset[3] = {0, 0, 4};
    *skip = false;
    if (!operands_make(o, p, offset) || (packs && !workspace_make(by, o))) return false;
    *skip = packs && o->launch.workspace_bytes == 0;
    return !*skip;
}

static inline const char *packing_text(bool packs)
{
    return packs ? "operands packed into a workspace" : "no workspace";
}

static inline void verdict_or_skip(bool passed, bool skip)
{
    if (skip)
        tap_skip("this device's kernels read these operands as they lie");
    else
        verdict(passed);
}

static inline void open_device(void)
{
    tw_options options = {.size = sizeof options, .engine = "cuda"};
    const tw_options cpu = {.size = sizeof cpu, .engine = "cpu"};
    if (tw_open(&cpu, &judge) != TW_OK)
        snprintf(refusal, sizeof refusal, "no cpu engine to judge by: %.250s", tw_error_text());
    else if (tw_open(&options, &context) != TW_OK)
        snprintf(refusal, sizeof refusal, "no cuda device: %.250s", tw_error_text());
    else if (!caller_enter(&me, &primary, refusal, sizeof refusal))
        tw_close(context), context = NULL;
}

#endif
