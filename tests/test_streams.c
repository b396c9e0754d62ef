/* test_streams.c - CUDA's device memory, streams, contexts and graphs in their caller's hands, on a device: every
 * alignment and leading dimension between bytes that nobody may touch, several streams, threads and contexts, capture
 * and replay, with and without a workspace to pack operands into; memory that has run out, contexts that are lost,
 * forks; multiprocessors that others use. C has the very bits of the cpu engine's product. Skipped, and counted, where
 * there is no CUDA device. test_faults_calls.c has what can be seen without one. */
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/cuda_caller.h"
#include "element.h"
#include "support/tap.h"
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

static bool broken(const char *call, cu_result error)
{
    snprintf(why, sizeof why, "%s failed with %s (%d)", call, cu_error_name(me.cu, error), error);
    return false;
}

static bool refused(const char *call)
{
    snprintf(why, sizeof why, "%s: %s", call, tw_error_text());
    return false;
}

/* The library's calls and ours run in the context that is current. */
static cu_stream new_stream(void)
{
    cu_stream stream = NULL;
    me.cuStreamCreateWithPriority(&stream, CALLER_NON_BLOCKING, 0);
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
} operands;

static size_t bytes_of(tw_dtype dtype) { return (size_t)tw_lab_dtype_of(dtype)->bytes; }
static void *at(const matrix *x) { return (void *)(uintptr_t)(x->memory + x->offset); }

/* Small integers: products and sums are exact in every order. C's are not 0, whose sign a scaling may change. */
static double value(int64_t i, int64_t j, int which)
{
    return (double)((i * 5 + j * 3 + i * j + which) % 7 - (which < 2 ? 3 : -1));
}

static bool matrix_make(matrix *x, int64_t rows, int64_t cols, int64_t ld, tw_dtype dtype, size_t offset, int which)
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

static void operands_free(operands *o)
{
    for (int i = 0; i < MOST_OPERANDS; i++) {
        if (o->x[i].memory != 0) me.cu->cuMemFree_v2(o->x[i].memory);
        free(o->x[i].image);
    }
    if (o->launch.workspace != NULL) me.cu->cuMemFree_v2((cu_pointer)(uintptr_t)o->launch.workspace);
}

static uint32_t alignment(const void *p)
{
    uintptr_t address = (uintptr_t)p % 256;
    return address == 0 ? 256 : (uint32_t)(address & -address);
}

/* Operands for p, each `offset` bytes beyond a multiple of 256; C is NaN where it is not read. */
static bool operands_make(operands *o, const tw_problem *p, const size_t offset[3])
{
    memset(o, 0, sizeof *o);
    o->problem = *p;
    o->launch.size = sizeof o->launch;
    o->problem.place_a = o->problem.place_b = o->problem.place_c = TW_DEVICE;
    bool a_turned = p->op_a == TW_T, b_turned = p->op_b == TW_T;
    bool made = matrix_make(&o->x[0], a_turned ? p->k : p->m, a_turned ? p->m : p->k, p->lda, p->dtype, offset[0], 0) &&
                matrix_make(&o->x[1], b_turned ? p->n : p->k, b_turned ? p->k : p->n, p->ldb, p->dtype, offset[1], 1) &&
                matrix_make(&o->x[2], p->m, p->n, p->ldc, element_of(p->dtype)->result, offset[2],
                            p->beta != 0 ? 2 : -1);
    o->problem.align_a = alignment(at(&o->x[0])), o->problem.align_b = alignment(at(&o->x[1])),
    o->problem.align_c = alignment(at(&o->x[2]));
    return made;
}

/* The elements of an operand as f32, for free(). */
static float *as_f32(const matrix *x, tw_dtype dtype)
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
static bool expect_product(operands *o)
{
    const tw_problem *p = &o->problem;
    float *a = as_f32(&o->x[0], p->dtype), *b = as_f32(&o->x[1], p->dtype);
    bool there = a != NULL && b != NULL;
    there = there && (tw_sgemm(judge, p->op_a, p->op_b, p->m, p->n, p->k, (float)p->alpha, a,
                               o->x[0].cols > 0 ? o->x[0].cols : 1, b, o->x[1].cols > 0 ? o->x[1].cols : 1,
                               (float)p->beta, (float *)(void *)(o->x[2].image + o->x[2].offset), p->ldc) == TW_OK ||
                      refused("tw_sgemm"));
    free(a), free(b);
    return there;
}

/* All bytes of the three allocations, guards and padding included. */
static bool as_expected(const operands *o)
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

static bool enqueue(tw_context *by, operands *o, cu_stream stream)
{
    o->launch.stream = stream;
    return tw_enqueue(by, &o->problem, at(&o->x[0]), at(&o->x[1]), at(&o->x[2]), &o->launch) == TW_OK ||
           refused("tw_enqueue");
}

static bool wait_for(cu_stream stream)
{
    CU(me.cu->cuStreamSynchronize(stream));
    return true;
}

/* Name a case that needs the device, with its primary context current. */
static bool device_case(const char *name)
{
    if (!tap_case("%s", name)) return false;
    snprintf(why, sizeof why, "no reason was given");
    if (context == NULL) tap_skip(refusal);
    return context != NULL;
}

static void verdict(bool passed) { tap_result(passed, "%s", why); }

/* ---- addresses and leading dimensions ---- */

static tw_problem problem_of(tw_dtype dtype, tw_op op_a, tw_op op_b, int64_t m, int64_t n, int64_t k, int64_t pad)
{
    tw_problem p = tw_problem_make(dtype, op_a, op_b, m, n, k);
    p.lda += pad, p.ldb += pad, p.ldc += pad;
    return p;
}

/* The workspace that the product wants and no more, NaN in every type; nothing where it wants none. */
static bool workspace_make(tw_context *by, operands *o)
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
static bool host_as_expected(const operands *o, void *c)
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
static bool product(const tw_problem *p, const size_t offset[3], cu_stream stream, bool has_workspace)
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

static void address_cases(tw_dtype dtype)
{
    static const int64_t pads[] = {0, 1, 2, 3, 4, 8};
    static const size_t offsets[] = {0, 2, 4, 8, 16, 32, 64, 128};
    static const int64_t shapes[][3] = {{131, 136, 72}, {64, 256, 16}, {1, 129, 65}};
    size_t element = bytes_of(dtype);
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++)
        for (size_t j = 0; j < sizeof pads / sizeof *pads; j++) {
            char name[120];
            if (offsets[i] % element != 0) continue;
            snprintf(name, sizeof name, "%s at %zu bytes beyond a multiple of 256, rows padded by %" PRId64,
                     tw_lab_dtype_of(dtype)->name, offsets[i], pads[j]);
            if (!device_case(name)) continue;
            cu_stream stream = new_stream();
            bool right = true;
            /* ops, shapes, beta, which operands are moved */
            for (int which = 0; right && which < 4 * 3 * 2 * 4; which++) {
                const int64_t *s = shapes[which / 4 % 3];
                tw_problem p = problem_of(dtype, (tw_op)(which / 2 % 2), (tw_op)(which % 2), s[0], s[1], s[2], pads[j]);
                int moved = which / 24;
                size_t of_c = offsets[i] % 4 == 0 ? offsets[i] : 4; /* whose elements are of 4 bytes */
                const size_t offset[3] = {moved == 0 || moved == 3 ? offsets[i] : 0,
                                          moved == 1 || moved == 3 ? offsets[i] : 0, moved >= 2 ? of_c : 0};
                p.alpha = 2, p.beta = which / 12 % 2 ? -1 : 0;
                right = product(&p, offset, stream, false) && product(&p, offset, stream, true);
            }
            me.cu->cuStreamDestroy_v2(stream);
            verdict(right);
        }
}

/* A type that is multiplied at all is where addresses and rows are even. */
static void aligned_case(tw_dtype dtype)
{
    char name[80];
    snprintf(name, sizeof name, "%s at even addresses is multiplied as tw_gemm does, or neither is",
             tw_lab_dtype_of(dtype)->name);
    if (!device_case(name)) return;
    tw_problem p = problem_of(dtype, TW_N, TW_N, 256, 512, 128, 0), host = p;
    p.place_a = p.place_b = p.place_c = TW_DEVICE;
    verdict(tw_prepare(context, &p) == tw_prepare(context, &host) || refused("tw_prepare"));
}

/* So large that tw_gemm copies its operands beside the work, in panels of C: it must come to the same as the device's
 * own. */
static void large_case(tw_dtype dtype, tw_op op_b, int64_t pad, double beta)
{
    char name[100];
    snprintf(name, sizeof name, "%s N%c, a large product of host memory, rows padded by %" PRId64 ", beta %g",
             tw_lab_dtype_of(dtype)->name, "NT"[op_b], pad, beta);
    if (!device_case(name)) return;
    static const size_t offset[3] = {0, 0, 0};
    tw_problem p = problem_of(dtype, TW_N, op_b, 2101, 8200, 40, pad);
    p.beta = beta;
    cu_stream stream = new_stream();
    verdict(product(&p, offset, stream, true));
    me.cu->cuStreamDestroy_v2(stream);
}

static void scale_case(double alpha, int64_t k, double beta)
{
    char name[80];
    snprintf(name, sizeof name, "alpha %g, k %" PRId64 ", beta %g: A and B are not there", alpha, k, beta);
    if (!device_case(name)) return;
    static const size_t offset[3] = {4, 4, 4};
    operands o;
    cu_stream stream = new_stream();
    tw_problem p = problem_of(TW_F32, TW_N, TW_N, 130, 75, k, 1);
    p.alpha = alpha, p.beta = beta;
    const tw_launch launch = {.size = sizeof launch, .stream = stream};
    bool right = operands_make(&o, &p, offset);
    right = right &&
            (tw_enqueue(context, &o.problem, NULL, NULL, at(&o.x[2]), &launch) == TW_OK || refused("tw_enqueue")) &&
            wait_for(stream);
    right = right && expect_product(&o) && as_expected(&o);
    operands_free(&o);
    me.cu->cuStreamDestroy_v2(stream);
    verdict(right);
}

/* The call that waits takes device memory too, and the lab's runs do. */
static void waiting_case(const char *kernel)
{
    char name[120];
    snprintf(name, sizeof name, "device memory and %s", kernel != NULL ? kernel : "tw_gemm");
    if (!device_case(name)) return;
    static const size_t offset[3] = {0, 0, 0};
    operands o;
    tw_lab_run *run = NULL;
    const tw_lab_choice choice = {.kernel = kernel};
    tw_problem p = problem_of(TW_F32, TW_N, TW_N, 200, 132, 64, 0);
    bool right = operands_make(&o, &p, offset);
    if (right && kernel == NULL)
        right = tw_gemm(context, &o.problem, at(&o.x[0]), at(&o.x[1]), at(&o.x[2])) == TW_OK || refused("tw_gemm");
    if (right && kernel != NULL) {
        right = (tw_lab_run_open(context, &choice, &o.problem, at(&o.x[0]), at(&o.x[1]), at(&o.x[2]), &run) == TW_OK &&
                 tw_lab_run_once(run, NULL) == TW_OK) ||
                refused("tw_lab_run");
        tw_lab_run_close(run);
    }
    right = right && expect_product(&o) && as_expected(&o);
    operands_free(&o);
    verdict(right);
}

/* ---- streams, threads, contexts ---- */

enum { ROUNDS = 20 };

/* The operands of a product and a workspace to pack them into, NULL where they are not to be packed. Not made: *skip
 * says so where this device packs nothing. */
static bool make_for(tw_context *by, operands *o, const tw_problem *p, bool packs, bool *skip)
{
    static const size_t offset[3] = {0, 0, 4};
    *skip = false;
    if (!operands_make(o, p, offset) || (packs && !workspace_make(by, o))) return false;
    *skip = packs && o->launch.workspace_bytes == 0;
    return !*skip;
}

static const char *packing_text(bool packs) { return packs ? "operands packed into a workspace" : "no workspace"; }

static void verdict_or_skip(bool passed, bool skip)
{
    if (skip)
        tap_skip("this device's kernels read these operands as they lie");
    else
        verdict(passed);
}

/* Many products in turns on two streams, none waited for between. */
static void two_streams_case(tw_dtype dtype, bool packs)
{
    char name[100];
    snprintf(name, sizeof name, "two streams in turns, %s, %s", tw_lab_dtype_of(dtype)->name, packing_text(packs));
    if (!device_case(name)) return;
    operands o[2] = {0};
    bool skip[2] = {0};
    cu_stream streams[2] = {new_stream(), new_stream()};
    tw_problem p = problem_of(dtype, TW_N, TW_T, 300, 200, 150, 0), q = problem_of(dtype, TW_T, TW_N, 129, 257, 333, 3);
    bool right = make_for(context, &o[0], &p, packs, &skip[0]) && make_for(context, &o[1], &q, packs, &skip[1]);
    for (int i = 0; right && i < 2 * ROUNDS; i++) right = enqueue(context, &o[i % 2], streams[i % 2]);
    for (int i = 0; i < 2; i++) right = wait_for(streams[i]) && right && expect_product(&o[i]) && as_expected(&o[i]);
    for (int i = 0; i < 2; i++) operands_free(&o[i]), me.cu->cuStreamDestroy_v2(streams[i]);
    verdict_or_skip(right, skip[0] || skip[1]);
}

/* Each product reads what the one before it has written: X <- X P, where P moves each column to the next. Several items
 * (0: no batch) have a P each. */
static void chain_case(int64_t edge, int64_t items)
{
    enum { LINKS = 40 };
    char name[120];
    snprintf(name, sizeof name, "a chain of %d products of edge %" PRId64 ", batches of %" PRId64, (int)LINKS, edge,
             items);
    if (!device_case(name)) return;
    const int64_t count = items > 0 ? items : 1, elements = count * edge * edge;
    const size_t bytes = (size_t)elements * 4;
    tw_problem p = problem_of(TW_F32, TW_N, TW_N, edge, edge, edge, 0);
    p.place_a = p.place_b = p.place_c = TW_DEVICE;
    const tw_batch batch = tw_batch_make(&p, count);
    float *x = malloc(bytes), *move = calloc((size_t)elements, 4);
    cu_pointer at[3] = {0};
    cu_stream stream = new_stream();
    bool right = x != NULL && move != NULL;
    for (int64_t e = 0; right && e < elements; e++) x[e] = (float)(e % 1021);
    for (int64_t row = 0; right && row < count * edge; row++) move[row * edge + (row % edge + 1) % edge] = 1;
    for (int i = 0; right && i < 3; i++)
        right = me.cu->cuMemAlloc_v2(&at[i], bytes) == 0 &&
                me.cu->cuMemcpyHtoD_v2(at[i], i == 2 ? move : x, bytes) == 0;
    const tw_launch launch = {.size = sizeof launch, .stream = stream};
    for (int link = 0; right && link < LINKS; link++) {
        void *from = (void *)(uintptr_t)at[link % 2], *to = (void *)(uintptr_t)at[(link + 1) % 2],
             *by = (void *)(uintptr_t)at[2];
        tw_status status = items > 0 ? tw_enqueue_batched(context, &p, &batch, from, by, to, &launch)
                                     : tw_enqueue(context, &p, from, by, to, &launch);
        right = status == TW_OK || refused("tw_enqueue");
    }
    right = right && wait_for(stream) && me.cu->cuMemcpyDtoH_v2(x, at[LINKS % 2], bytes) == 0;
    int64_t wrong = 0;
    for (int64_t e = 0; right && e < elements; e++)
        wrong += x[e] != (float)((e / edge * edge + (e % edge + LINKS * edge - LINKS) % edge) % 1021);
    if (right)
        snprintf(why, sizeof why, "%" PRId64 " of %" PRId64 " elements are not those of the last link", wrong,
                 elements);
    for (int i = 0; i < 3; i++) me.cu->cuMemFree_v2(at[i]);
    free(x), free(move);
    me.cu->cuStreamDestroy_v2(stream);
    verdict(right && wrong == 0);
}

/* ---- half of the multiprocessors in use ---- */

enum { CROWD_MS = 60000 };

/* Blocks of the caller's on half of the multiprocessors, each with all of the shared memory of its own, until *flag is
 * not 0; after CROWD_MS it becomes 2. The word behind it counts them; true: all are there. */
static bool launch_crowd(cu_stream stream, cu_pointer flag)
{
    static cu_function crowd;
    static const char text[] =
        ".version 6.3\n.target sm_75\n.address_size 64\n"
        ".visible .entry crowd(.param .u64 flag, .param .u64 limit) {\n"
        ".reg .b64 at, limit_ns, begin, now; .reg .b32 told; .reg .pred ends, stays;\n"
        "ld.param.u64 at, [flag]; ld.param.u64 limit_ns, [limit]; mov.u64 begin, %globaltimer;\nred.global.add.u32 "
        "[at+4], 1;\nagain: ld.volatile.global.u32 told, [at]; setp.ne.u32 ends, told, 0; @ends bra end;\nmov.u64 now, "
        "%globaltimer; sub.u64 now, now, begin; setp.lt.u64 stays, now, limit_ns; @stays bra "
        "again;\nst.volatile.global.u32 [at], 2;\nend: ret; }\n";
    uint64_t limit_ns = CROWD_MS * 1000000ull;
    void *arguments[] = {&flag, &limit_ns};
    cu_device device;
    cu_module module;
    int multiprocessors, shared_bytes;
    uint32_t words[2] = {0, 0};
    CU(me.cu->cuCtxGetDevice(&device));
    CU(me.cu->cuDeviceGetAttribute(&multiprocessors, CU_ATTRIBUTE_MULTIPROCESSORS, device));
    CU(me.cu->cuDeviceGetAttribute(&shared_bytes, CU_ATTRIBUTE_SHARED_OPTIN, device));
    if (crowd == NULL) {
        CU(me.cu->cuModuleLoadData(&module, text));
        CU(me.cu->cuModuleGetFunction(&crowd, module, "crowd"));
    }
    CU(me.cu->cuFuncSetAttribute(crowd, CU_FUNCTION_MAX_DYNAMIC_SHARED, shared_bytes));
    CU(me.cu->cuLaunchKernel(crowd, (unsigned)(multiprocessors / 2), 1, 1, 1, 1, 1, (unsigned)shared_bytes, stream,
                             arguments, NULL));
    while (words[0] == 0 && words[1] < (uint32_t)(multiprocessors / 2))
        CU(me.cu->cuMemcpyDtoH_v2(words, flag, sizeof words));
    snprintf(why, sizeof why, "half of the multiprocessors were not to be had");
    return words[0] == 0;
}

/* A product, or a batch of items, of A, B and C that lie one behind the other. */
typedef struct crowded {
    tw_problem problem;
    int64_t items; /* 0: no batch */
    size_t bytes[3];
    cu_pointer at[3], flag;
    tw_launch launch;
} crowded;

/* A and B random, so that another order of the sums over k would show. */
static bool crowded_make(crowded *o)
{
    tw_problem *p = &o->problem;
    const int64_t items = o->items > 0 ? o->items : 1;
    const size_t element = bytes_of(p->dtype);
    uint32_t word = 1;
    cu_pointer workspace = 0;
    p->place_a = p->place_b = p->place_c = TW_DEVICE;
    const tw_batch batch = tw_batch_make(p, items);
    o->bytes[0] = (size_t)(items * p->m * p->k) * element, o->bytes[1] = (size_t)(items * p->k * p->n) * element;
    o->bytes[2] = (size_t)(items * p->m * p->n) * bytes_of(element_of(p->dtype)->result);
    CU(me.cu->cuMemAlloc_v2(&o->flag, 2 * sizeof word));
    for (int q = 0; q < 3; q++) CU(me.cu->cuMemAlloc_v2(&o->at[q], o->bytes[q]));
    for (int q = 0; q < 2; q++) {
        uint32_t *random = malloc(o->bytes[q] + sizeof *random);
        if (random == NULL) return false;
        /* f16: 1 to 2; bf16 and f32: 2^-7 to 2, so that sums are rounded; of both signs */
        for (size_t i = 0; i <= o->bytes[q] / sizeof *random; i++)
            random[i] = ((word = word * 1664525 + 1013904223) & 0x83ff83ff) | 0x3c003c00;
        cu_result error = me.cu->cuMemcpyHtoD_v2(o->at[q], random, o->bytes[q]);
        free(random);
        CU(error);
    }
    tw_status status = o->items > 0 ? tw_workspace_bytes_batched(context, p, &batch, &o->launch.workspace_bytes)
                                    : tw_workspace_bytes(context, p, &o->launch.workspace_bytes);
    if (status != TW_OK) return refused("tw_workspace_bytes");
    if (o->launch.workspace_bytes > 0) CU(me.cu->cuMemAlloc_v2(&workspace, (size_t)o->launch.workspace_bytes));
    o->launch.workspace = (void *)(uintptr_t)workspace;
    return true;
}

/* The product into c on the host, with *told 1 once it was there; 2: not before the crowd had gone. */
static bool crowded_compute(crowded *o, bool crowd, cu_stream others, void *c, uint32_t *told)
{
    const tw_batch batch = tw_batch_make(&o->problem, o->items > 0 ? o->items : 1);
    void *x[3];
    for (int q = 0; q < 3; q++) x[q] = (void *)(uintptr_t)o->at[q];
    CU(me.cu->cuMemsetD8_v2(o->at[2], 0xff, o->bytes[2]));
    CU(me.cu->cuMemsetD8_v2(o->flag, 0, 2 * sizeof *told));
    CU(me.cu->cuStreamSynchronize(NULL));
    if (crowd && !launch_crowd(others, o->flag)) return false;
    tw_status status = o->items > 0 ? tw_enqueue_batched(context, &o->problem, &batch, x[0], x[1], x[2], &o->launch)
                                    : tw_enqueue(context, &o->problem, x[0], x[1], x[2], &o->launch);
    if (status != TW_OK) return refused("tw_enqueue");
    CU(me.cu->cuStreamSynchronize(o->launch.stream));
    CU(me.cu->cuMemcpyDtoH_v2(told, o->flag, sizeof *told));
    if (*told == 0) CU(me.cu->cuMemsetD8_v2(o->flag, *told = 1, 1));
    CU(me.cu->cuStreamSynchronize(others));
    CU(me.cu->cuMemcpyDtoH_v2(c, o->at[2], o->bytes[2]));
    return true;
}

/* The bits of C do not depend on how many multiprocessors there are for it, and blocks that wait for others do not wait
 * for ever. */
static void crowded_case(tw_dtype dtype, tw_op op_b, int64_t m, int64_t n, int64_t k, int64_t items)
{
    char name[160];
    snprintf(name, sizeof name,
             "half of the multiprocessors in use, %s n%c %" PRId64 "x%" PRId64 "x%" PRId64 ", batch %" PRId64
             ": the same bits",
             tw_lab_dtype_of(dtype)->name, "nt"[op_b], m, n, k, items);
    if (!device_case(name)) return;
    crowded o = {.problem = tw_problem_make(dtype, TW_N, op_b, m, n, k),
                 .items = items,
                 .launch = {.size = sizeof o.launch, .stream = new_stream()}};
    cu_stream others = new_stream();
    uint32_t told[2] = {0, 0};
    bool right = crowded_make(&o);
    unsigned char *alone = malloc(o.bytes[2] + 1), *beside = malloc(o.bytes[2] + 1);
    right = right && alone != NULL && beside != NULL && crowded_compute(&o, false, others, alone, &told[0]) &&
            crowded_compute(&o, true, others, beside, &told[1]);
    if (right && told[1] != 1)
        right = snprintf(why, sizeof why, "the product came only when the other kernel had gone, after %d ms",
                         (int)CROWD_MS) < 0;
    if (right && memcmp(alone, beside, o.bytes[2]) != 0) right = snprintf(why, sizeof why, "the bits are others") < 0;
    free(alone), free(beside);
    for (int q = 0; q < 3; q++) me.cu->cuMemFree_v2(o.at[q]);
    me.cu->cuMemFree_v2(o.flag), me.cu->cuMemFree_v2((cu_pointer)(uintptr_t)o.launch.workspace);
    me.cu->cuStreamDestroy_v2(others), me.cu->cuStreamDestroy_v2(o.launch.stream);
    verdict(right);
}

/* One of two threads; with a CUDA context of its own, or sharing ours. */
typedef struct worker {
    bool own, packs;
    int number;
    bool right, skip;
    char why[sizeof why];
} worker;

static bool work(worker *w, tw_context *by)
{
    operands o = {0};
    cu_stream stream = new_stream();
    tw_problem p = problem_of(TW_F32, TW_N, w->number == 0 ? TW_N : TW_T, 257 + w->number, 130, 65 + w->number,
                              w->number);
    bool right = make_for(by, &o, &p, w->packs, &w->skip);
    for (int i = 0; right && i < ROUNDS; i++) right = enqueue(by, &o, stream);
    right = wait_for(stream) && right && expect_product(&o) && as_expected(&o);
    operands_free(&o);
    me.cu->cuStreamDestroy_v2(stream);
    return right;
}

static void *work_in_thread(void *argument)
{
    worker *w = argument;
    cu_context mine = primary, found = NULL;
    tw_context *by = context;
    if (w->own)
        me.cuCtxCreate_v2(&mine, 0, 0);
    else
        me.cu->cuCtxPushCurrent_v2(mine);
    tw_options options = {.size = sizeof options, .engine = "cuda", .device_context = mine};
    bool right = !w->own || tw_open(&options, &by) == TW_OK || refused("tw_open");
    if (right) right = work(w, by);
    snprintf(w->why, sizeof w->why, "%s", why);
    if (w->own) tw_close(by);
    me.cuCtxGetCurrent(&found);
    if (found != mine) right = false, snprintf(w->why, sizeof w->why, "another context is current than before");
    me.cu->cuCtxPopCurrent_v2(&found);
    if (w->own) me.cuCtxDestroy_v2(mine);
    w->right = right;
    return NULL;
}

static void threads_case(bool own, bool packs)
{
    char name[100];
    snprintf(name, sizeof name, "two threads, %s, %s",
             own ? "each with a context of its own" : "one context, a stream each", packing_text(packs));
    if (!device_case(name)) return;
    pthread_t threads[2];
    worker workers[2] = {{.own = own, .packs = packs, .number = 0}, {.own = own, .packs = packs, .number = 1}};
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, work_in_thread, &workers[i]);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    snprintf(why, sizeof why, "thread 0: %.400s; thread 1: %.400s", workers[0].why, workers[1].why);
    verdict_or_skip(workers[0].right && workers[1].right, workers[0].skip || workers[1].skip);
}

static void foreign_case(void)
{
    if (!device_case("a stream of another context is refused")) return;
    static const size_t offset[3] = {0, 0, 0};
    operands o;
    cu_context other = NULL, popped;
    me.cuCtxCreate_v2(&other, 0, 0);
    cu_stream foreign = new_stream();
    me.cu->cuCtxPopCurrent_v2(&popped);
    tw_problem p = problem_of(TW_F32, TW_N, TW_N, 64, 64, 64, 0);
    const tw_launch launch = {.size = sizeof launch, .stream = foreign};
    bool right = operands_make(&o, &p, offset);
    if (right) {
        tw_status status = tw_enqueue(context, &o.problem, at(&o.x[0]), at(&o.x[1]), at(&o.x[2]), &launch);
        right = status == TW_BAD_ARGUMENT && strstr(tw_error_text(), "another CUDA context") != NULL;
        if (!right) snprintf(why, sizeof why, "%s: %s", tw_status_name(status), tw_error_text());
        /* nothing is spoilt */
        right = right && enqueue(context, &o, NULL) && wait_for(NULL) && expect_product(&o) && as_expected(&o);
    }
    operands_free(&o);
    me.cuCtxDestroy_v2(other);
    verdict(right);
}

enum { HOLD_S = 10 };

/* The stream stands still until the flag is set to 1, so that whoever waits for it does not return before; after some
 * seconds it becomes 2. */
static void hold(void *flag)
{
    time_t begin = time(NULL);
    while (atomic_load((atomic_int *)flag) == 0 && time(NULL) - begin < HOLD_S) sched_yield();
    int still = 0;
    atomic_compare_exchange_strong((atomic_int *)flag, &still, 2);
}

static void returns_case(bool packs)
{
    char name[100];
    snprintf(name, sizeof name, "tw_enqueue returns before the stream has come to it, %s", packing_text(packs));
    if (!device_case(name)) return;
    static atomic_int flag;
    int held = 0;
    bool skip = false;
    operands o = {0};
    cu_stream stream = new_stream();
    tw_problem p = problem_of(TW_F32, TW_N, TW_T, 128, 128, 128, 0);
    bool right = make_for(context, &o, &p, packs, &skip) &&
                 (tw_prepare(context, &o.problem) == TW_OK || refused("tw_prepare"));
    atomic_store(&flag, 0);
    right = right && me.cuLaunchHostFunc(stream, hold, &flag) == CU_SUCCESS && enqueue(context, &o, stream);
    if (right && !atomic_compare_exchange_strong(&flag, &held, 1)) {
        snprintf(why, sizeof why, "it returned after %d s, when the stream went on", (int)HOLD_S);
        right = false;
    }
    atomic_store(&flag, 1);
    right = wait_for(stream) && right && expect_product(&o) && as_expected(&o);
    operands_free(&o);
    me.cu->cuStreamDestroy_v2(stream);
    verdict_or_skip(right, skip);
}

/* ---- graphs ---- */

static bool replay(void *graph, cu_stream stream, operands *o)
{
    void *ready = NULL;
    CU(me.cuGraphInstantiateWithFlags(&ready, graph, 0));
    bool right = true;
    for (int i = 0; right && i < 3; i++) { /* C grows by A B each time */
        right = me.cuGraphLaunch(ready, stream) == CU_SUCCESS && wait_for(stream) && expect_product(o) &&
                as_expected(o);
    }
    me.cuGraphExecDestroy(ready);
    return right;
}

/* Begin a capture on a new stream. A problem that is not prepared is refused and the capture goes on; a prepared one is
 * captured and replayed. */
static bool capture(operands *o, const tw_problem *unprepared, int mode)
{
    void *graph = NULL;
    cu_stream stream = new_stream();
    const tw_launch launch = {.size = sizeof launch, .stream = stream};
    if (tw_prepare(context, &o->problem) != TW_OK) return refused("tw_prepare");
    CU(me.cuStreamBeginCapture_v2(stream, mode));
    bool right = true;
    if (unprepared != NULL) {
        right = tw_enqueue(context, unprepared, at(&o->x[0]), at(&o->x[1]), at(&o->x[2]), &launch) == TW_BUILD_FAILED &&
                strstr(tw_error_text(), "tw_prepare() builds it before the capture") != NULL;
        if (!right) refused("an unprepared tw_enqueue while captured");
    }
    right = right && enqueue(context, o, stream);
    CU(me.cuStreamEndCapture(stream, &graph));
    right = right && as_expected(o) && replay(graph, stream, o); /* recorded, not run */
    me.cuGraphDestroy(graph);
    me.cu->cuStreamDestroy_v2(stream);
    return right;
}

static void capture_case(const char *what, tw_dtype dtype, tw_op op, int64_t k, int64_t pad, bool packs,
                         bool with_unprepared)
{
    char name[120];
    snprintf(name, sizeof name, "captured and replayed: %s, %s, %s", tw_lab_dtype_of(dtype)->name, what,
             packing_text(packs));
    if (!device_case(name)) return;
    operands o = {0};
    tw_options options = {.size = sizeof options, .engine = "cuda", .device_context = primary};
    tw_context *fresh = NULL, *before = context;
    tw_problem p = problem_of(dtype, op, op, 260, 140, k, pad),
               unprepared = problem_of(TW_F32, TW_T, TW_T, 64, 64, 64, 0);
    bool skip = false;
    unprepared.place_a = unprepared.place_b = unprepared.place_c = TW_DEVICE;
    p.beta = 1;
    bool right = make_for(context, &o, &p, packs, &skip) && (tw_open(&options, &fresh) == TW_OK || refused("tw_open"));
    if (right) context = fresh; /* which has built nothing */
    right = right && capture(&o, with_unprepared ? &unprepared : NULL, CALLER_CAPTURE_GLOBAL);
    context = before;
    tw_close(fresh);
    operands_free(&o);
    verdict_or_skip(right, skip);
}

/* A call that must allocate, made by a thread that captures: the driver refuses it, and ends the capture. Nothing
 * hangs, and after that all is as before. */
static void allocating_case(void)
{
    if (!device_case("a product of host memory while its thread captures a stream says so, and the next one comes out"))
        return;
    static const size_t offset[3] = {0, 0, 0};
    operands o;
    void *graph = NULL;
    cu_stream stream = new_stream();
    tw_problem p = problem_of(TW_F32, TW_N, TW_T, 100, 60, 80, 0);
    bool right = operands_make(&o, &p, offset) &&
                 me.cuStreamBeginCapture_v2(stream, CALLER_CAPTURE_GLOBAL) == CU_SUCCESS;
    if (right) {
        tw_problem host = p;
        float *c = calloc((size_t)(p.m * p.n), sizeof *c);
        tw_status status = tw_gemm(context, &host, o.x[0].image + o.x[0].offset, o.x[1].image + o.x[1].offset, c);
        right = status == TW_DEVICE_FAILED && strstr(tw_error_text(), "STREAM_CAPTURE") != NULL;
        snprintf(why, sizeof why, "captured: %s: %s", tw_status_name(status), tw_error_text());
        me.cuStreamEndCapture(stream, &graph);
        if (graph != NULL) me.cuGraphDestroy(graph);
        free(c);
    }
    me.cu->cuStreamDestroy_v2(stream);
    operands_free(&o);
    verdict(right && product(&p, offset, NULL, true));
}

/* ---- device memory that has run out ---- */

enum { MOST_HOGS = 256 };

/* All device memory that can be had, to the last 64 KiB. */
static int take_all(cu_pointer hogs[MOST_HOGS])
{
    int count = 0;
    for (size_t bytes = (size_t)1 << 38; bytes >= 65536; bytes /= 2)
        while (count < MOST_HOGS && me.cu->cuMemAlloc_v2(&hogs[count], bytes) == CU_SUCCESS) count++;
    return count;
}

static void memory_case(void)
{
    if (!device_case("without device memory a product of host memory is refused, and one of device memory with a "
                     "workspace is not"))
        return;
    static cu_pointer hogs[MOST_HOGS];
    static float c[1000 * 1000];
    bool skip;
    operands o = {0};
    tw_problem p = problem_of(TW_F32, TW_N, TW_T, 1000, 1000, 1000, 0), host = p;
    bool right = make_for(context, &o, &p, false, &skip) && workspace_make(context, &o) &&
                 (tw_prepare(context, &o.problem) == TW_OK || refused("tw_prepare"));
    right = right && (tw_prepare(context, &p) == TW_OK || refused("tw_prepare"));
    int count = take_all(hogs);
    if (right) {
        tw_status status = tw_gemm(context, &host, o.x[0].image + o.x[0].offset, o.x[1].image + o.x[1].offset, c);
        right = status == TW_NO_MEMORY && strstr(tw_error_text(), "no device memory for ") != NULL;
        if (!right)
            snprintf(why, sizeof why, "with %d pieces of memory taken: %s: %s", count, tw_status_name(status),
                     tw_error_text());
    }
    right = right && enqueue(context, &o, NULL) && wait_for(NULL) && expect_product(&o) && as_expected(&o);
    while (count > 0) me.cu->cuMemFree_v2(hogs[--count]);
    right = right && (tw_gemm(context, &host, o.x[0].image + o.x[0].offset, o.x[1].image + o.x[1].offset, c) == TW_OK ||
                      refused("tw_gemm"));
    right = right && memcmp(c, o.x[2].image + o.x[2].offset, sizeof c) == 0;
    operands_free(&o);
    verdict(right);
}

/* ---- a process that forks ---- */

/* In the child nothing of the parent's context may be used, and each call says so; the cpu engine is another matter. */
static int use_after_fork(operands *o)
{
    const char *sentence = "opened before fork()";
    float c[4] = {0};
    alarm(60);
    if (enqueue(context, o, NULL) || strstr(why, sentence) == NULL) return 1;
    if (tw_prepare(context, &o->problem) != TW_NO_DEVICE || strstr(tw_error_text(), sentence) == NULL) return 2;
    if (tw_sgemm(context, TW_N, TW_N, 2, 2, 2, 1, (float[]){1, 2, 3, 4}, 2, (float[]){1, 0, 0, 1}, 2, 0, c, 2) !=
        TW_NO_DEVICE)
        return 3;
    if (!expect_product(o)) return 4;
    tw_close(context);
    return 0;
}

static void fork_case(void)
{
    if (!device_case("after fork() the child is told so, its cpu engine goes on, and the parent's context too")) return;
    static const size_t offset[3] = {0, 0, 0};
    operands o;
    int status = -1;
    tw_problem p = problem_of(TW_F32, TW_N, TW_T, 200, 100, 50, 0);
    bool right = operands_make(&o, &p, offset) && workspace_make(context, &o) && enqueue(context, &o, NULL);
    fflush(stdout);
    pid_t pid = right ? fork() : -1;
    if (pid == 0) _exit(use_after_fork(&o));
    if (pid > 0 && waitpid(pid, &status, 0) == pid && status != 0) {
        snprintf(why, sizeof why, "the child's wait status is %d, expected 0 (use_after_fork() has the numbers)",
                 status);
        right = false;
    }
    right = right && pid > 0 && enqueue(context, &o, NULL) && wait_for(NULL) && expect_product(&o) && as_expected(&o);
    operands_free(&o);
    verdict(right);
}

/* ---- a context that is lost ---- */

/* A kernel of the caller's that writes where there is no memory. */
static bool launch_faulty(cu_stream stream)
{
    static const char text[] = ".version 6.3\n.target sm_75\n.address_size 64\n.visible .entry faulty() { .reg .b64 "
                               "at; mov.u64 at, 4096; st.global.u32 [at], 1; ret; }\n";
    cu_module module;
    cu_function faulty;
    return me.cu->cuModuleLoadData(&module, text) == CU_SUCCESS &&
           me.cu->cuModuleGetFunction(&faulty, module, "faulty") == CU_SUCCESS &&
           me.cu->cuLaunchKernel(faulty, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL) == CU_SUCCESS;
}

/* In a process of its own: the CUDA context is ended by a product of memory that is not there, or by a kernel of the
 * caller's beside products that are under way. Each call after that says so, the cpu engine works, and nothing
 * hangs. */
static int lose_context(bool callers)
{
    const char *missing;
    cu_context mine = NULL;
    tw_context *by = NULL;
    operands o = {0};
    bool skip;
    alarm(60);
    if (!caller_load(&me, &missing) || me.cuCtxCreate_v2(&mine, 0, 0) != CU_SUCCESS) return 1;
    tw_options options = {.size = sizeof options, .engine = "cuda", .device_context = mine};
    tw_problem p = problem_of(TW_F32, TW_N, TW_T, 1500, 1500, 1500, 0);
    cu_stream stream = new_stream(), other = new_stream();
    if (tw_open(&options, &by) != TW_OK || !make_for(by, &o, &p, false, &skip) || !workspace_make(by, &o) ||
        !enqueue(by, &o, stream))
        return 2;
    if (me.cu->cuStreamSynchronize(stream) != CU_SUCCESS) return 3;
    for (int i = 0; i < ROUNDS; i++)
        if (!enqueue(by, &o, stream)) return 4; /* under way when the other stream faults */
    operands nowhere = o;
    for (int i = 0; i < MOST_OPERANDS; i++) nowhere.x[i].memory = 1 << 20;
    if (callers ? !launch_faulty(other) : !enqueue(by, &nowhere, other)) return 5;
    if (me.cu->cuStreamSynchronize(other) == CU_SUCCESS || me.cu->cuStreamSynchronize(stream) == CU_SUCCESS) return 6;
    if (enqueue(by, &o, stream) || strstr(why, "the CUDA context was ended") == NULL) return 7;
    float a[4] = {1, 2, 3, 4}, b[4] = {1, 0, 0, 1}, c[4] = {0};
    if (tw_sgemm(by, TW_N, TW_N, 2, 2, 2, 1, a, 2, b, 2, 0, c, 2) != TW_DEVICE_FAILED) return 8;
    tw_close(by);
    if (tw_sgemm(NULL, TW_N, TW_N, 2, 2, 2, 1, a, 2, b, 2, 0, c, 2) != TW_OK || memcmp(a, c, sizeof a) != 0) return 9;
    return 0;
}

static void lost_case(bool callers)
{
    int status = 0;
    if (!device_case(callers ? "a context that the caller's own kernel has ended beside ours is told as lost, and the "
                               "cpu engine goes on"
                             : "a context that a kernel of ours has ended is told as lost, and the cpu engine goes on"))
        return;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        execl("/proc/self/exe", "test_streams", callers ? "--lose-context-ourselves" : "--lose-context", (char *)NULL);
        _exit(127);
    }
    bool ended = pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status);
    snprintf(why, sizeof why, "the child %s %d, expected 0 (lose_context() has the numbers)",
             ended ? "returned" : "was ended by signal", ended ? WEXITSTATUS(status) : WTERMSIG(status));
    verdict(ended && WEXITSTATUS(status) == 0);
}

/* ---- */

static void open_device(void)
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

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--lose-context") == 0) return lose_context(false);
    if (argc == 2 && strcmp(argv[1], "--lose-context-ourselves") == 0) return lose_context(true);
    tap_start(argc, argv);
    if (!tap.list) open_device();
    address_cases(TW_F32);
    address_cases(TW_BF16);
    address_cases(TW_F16);
    for (int i = 0; i < 3; i++) aligned_case((tw_dtype[]){TW_F32, TW_BF16, TW_F16}[i]);
    large_case(TW_F32, TW_N, 0, 0), large_case(TW_F32, TW_T, 3, -1), large_case(TW_BF16, TW_T, 0, 1),
        large_case(TW_F16, TW_N, 8, 0);
    scale_case(1, 0, 2), scale_case(0, 33, -1), scale_case(1, 0, 0), scale_case(0, 33, 0);
    waiting_case(NULL);
    waiting_case("cuda_f32_r01_naive");
    waiting_case("cuda_f32_r11_warp");
    for (int packs = 0; packs < 2; packs++) {
        two_streams_case(TW_F32, packs);
        threads_case(false, packs);
        threads_case(true, packs);
        returns_case(packs);
        capture_case("rows as they are", TW_F32, TW_N, 96, 0, packs, false);
        capture_case("so deep that several blocks add to one", TW_F32, TW_N, 5003, 0, packs, false);
        capture_case("odd rows", TW_F32, TW_T, 96, 1, packs, false);
        capture_case("odd rows, so deep that blocks of a cluster add to one", TW_F32, TW_T, 2000, 1, packs, false);
        capture_case("after another that was refused", TW_F32, TW_N, 96, 0, packs, true);
    }
    two_streams_case(TW_BF16, true);
    for (int i = 0; i < 6; i++) chain_case((const int64_t[]){16, 100, 256, 640, 1000, 1500}[i], 0);
    for (int i = 0; i < 5; i++) chain_case((const int64_t[]){20, 32, 64, 100, 128}[i], 300);
    capture_case("odd rows", TW_F16, TW_T, 96, 1, true, false);
    static const int64_t crowds[][4] = {
        {2600, 2500, 500, 0}, {1000, 1000, 1000, 0}, {300, 2000, 500, 0}, {64, 64, 20000, 0}, {1, 4000, 3000, 0},
        {4000, 1, 3000, 0},   {16, 4096, 4096, 0},   {100, 90, 1000, 0},  {16, 16, 1024, 0},  {733, 781, 957, 0},
        {50, 60, 70, 300},    {128, 128, 128, 500},  {2065, 2193, 500, 0}};
    for (size_t i = 0; i < sizeof crowds / sizeof *crowds; i++)
        for (int q = 0; q < 3; q++)
            crowded_case((const tw_dtype[]){TW_F32, TW_BF16, TW_F16}[q], i % 2 ? TW_T : TW_N, crowds[i][0],
                         crowds[i][1], crowds[i][2], crowds[i][3]);
    foreign_case();
    allocating_case();
    memory_case();
    fork_case();
    lost_case(false);
    lost_case(true);
    tw_close(judge);
    tw_close(context);
    return tap_finish();
}
