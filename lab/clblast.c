/* clblast.c - see clblast.h. Names and numbers: clblast_c.h of CLBlast 1.5 and 1.6. */
#define _GNU_SOURCE /* dlinfo */
#include "clblast.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tilewright_lab.h"

enum { F32, F64 };

static const char *const size_names[] = {"CLBlastSGemmTempBufferSize", "CLBlastDGemmTempBufferSize"};
static const char *const gemm_names[] = {"CLBlastSgemmWithTempBuffer", "CLBlastDgemmWithTempBuffer"};
static const char *const strided_names[] = {"CLBlastSgemmStridedBatched", "CLBlastDgemmStridedBatched"};

static int type_of(tw_dtype dtype) { return dtype == TW_F32 ? F32 : dtype == TW_F64 ? F64 : -1; }

const char *clblast_name(const tw_problem *p, bool batched)
{
    return (batched ? strided_names : gemm_names)[type_of(p->dtype)];
}

static const char *status_name(int status)
{
    static const struct {
        int status;
        const char *name;
    } names[] = {{-3, "CLBlastOpenCLCompilerNotAvailable"}, {-4, "CLBlastTempBufferAllocFailure"},
                 {-5, "CLBlastOpenCLOutOfResources"},       {-6, "CLBlastOpenCLOutOfHostMemory"},
                 {-11, "CLBlastOpenCLBuildProgramFailure"}, {-36, "CLBlastInvalidCommandQueue"},
                 {-38, "CLBlastInvalidMemObject"},          {-52, "CLBlastInvalidKernelArgs"},
                 {-54, "CLBlastInvalidLocalThreadsTotal"},  {-55, "CLBlastInvalidLocalThreadsDim"},
                 {-61, "CLBlastInvalidBufferSize"},         {-1024, "CLBlastNotImplemented"},
                 {-1017, "CLBlastInvalidDimension"},        {-1011, "CLBlastInsufficientMemoryA"},
                 {-1010, "CLBlastInsufficientMemoryB"},     {-1009, "CLBlastInsufficientMemoryC"},
                 {-2046, "CLBlastInvalidLocalMemUsage"},    {-2044, "CLBlastNoDoublePrecision"},
                 {-2041, "CLBlastDatabaseError"},           {-2040, "CLBlastUnknownError"},
                 {-2039, "CLBlastUnexpectedError"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].status == status) return names[i].name;
    return "an error";
}

static bool look_up(clblast *x, void *library, const char *name, peer_function **slot)
{
    void *found = dlsym(library, name);
    memcpy(slot, &found, sizeof found);
    if (found == NULL) snprintf(x->why, sizeof x->why, "has no function %s: too old", name);
    return found != NULL;
}

/* It has no function that tells its version: the name of its file does, "libclblast.so.1.5.3". */
static void find_version(clblast *x, void *library)
{
    static const char before[] = "libclblast.so.";
    char real[PATH_MAX];
    struct link_map *map;
    snprintf(x->version, sizeof x->version, "CLBlast");
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0) return;
    snprintf(x->file, sizeof x->file, "%s", map->l_name);
    const char *number = realpath(map->l_name, real) != NULL ? strstr(real, before) : NULL;
    if (number != NULL) snprintf(x->version, sizeof x->version, "CLBlast %.32s", number + strlen(before));
}

bool clblast_load(clblast *x, const char *folder)
{
    *x = (clblast){0};
    void *library = peer_library(peer_named("clblast"), folder, x->why, sizeof x->why);
    if (library == NULL) return false;
    for (int type = F32; type <= F64; type++)
        if (!look_up(x, library, size_names[type], &x->size[type]) ||
            !look_up(x, library, gemm_names[type], &x->gemm[type]) ||
            !look_up(x, library, strided_names[type], &x->gemm_strided[type]))
            return false;
    find_version(x, library);
    return true;
}

bool clblast_takes(clblast *x, const tw_problem *p)
{
    if (p->dtype == TW_F16)
        snprintf(x->why, sizeof x->why,
                 "multiplies f16 with sums and C in f16 (CLBlastHgemm), the opencl engine with both in f32: these are "
                 "not the same product");
    else if (type_of(p->dtype) < 0)
        snprintf(x->why, sizeof x->why, "has no product of %s", tw_lab_dtype_of(p->dtype)->name);
    return type_of(p->dtype) >= 0;
}

static bool failed(clblast *x, const char *call, int error)
{
    if (error != 0) snprintf(x->why, sizeof x->why, "failed in %s with %s (%d)", call, status_name(error), error);
    return error != 0;
}

/* The arguments of all its products. */
enum { ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112 };
#define OP(op)            ((op) == TW_N ? PLAIN : TRANSPOSED)
#define BEGIN             int, int, int, size_t, size_t, size_t
#define BEGIN_OF(p)       ROW_MAJOR, OP((p)->op_a), OP((p)->op_b), (size_t)(p)->m, (size_t)(p)->n, (size_t)(p)->k
#define OPERAND           void *, size_t, size_t
#define OPERAND_OF(x, ld) x, 0, (size_t)(ld)

bool clblast_workspace(clblast *x, const tw_problem *p, void *queue, size_t *bytes)
{
    typedef int size_function(BEGIN, size_t, size_t, size_t, size_t, size_t, size_t, void **, size_t *);
    const int type = type_of(p->dtype);
    *bytes = 0;
    int error = ((size_function *)x->size[type])(BEGIN_OF(p), 0, (size_t)p->lda, 0, (size_t)p->ldb, 0, (size_t)p->ldc,
                                                 &queue, bytes);
    return !failed(x, size_names[type], error);
}

bool clblast_multiply(clblast *x, const tw_problem *p, void *const abc[3], void *workspace, void *queue)
{
    typedef int sgemm(BEGIN, float, OPERAND, OPERAND, float, OPERAND, void **, void **, void *);
    typedef int dgemm(BEGIN, double, OPERAND, OPERAND, double, OPERAND, void **, void **, void *);
#define ARGUMENTS                                                                                                      \
    BEGIN_OF(p), 1, OPERAND_OF(abc[0], p->lda), OPERAND_OF(abc[1], p->ldb), 0, OPERAND_OF(abc[2], p->ldc), &queue,     \
        NULL, workspace
    const int type = type_of(p->dtype);
    int error = type == F64 ? ((dgemm *)x->gemm[F64])(ARGUMENTS) : ((sgemm *)x->gemm[F32])(ARGUMENTS);
#undef ARGUMENTS
    return !failed(x, gemm_names[type], error);
}

bool clblast_multiply_batch(clblast *x, const tw_problem *p, const tw_batch *batch, void *const abc[3], void *queue)
{
    typedef int sgemm(BEGIN, float, OPERAND, size_t, OPERAND, size_t, float, OPERAND, size_t, size_t, void **, void **);
    typedef int dgemm(BEGIN, double, OPERAND, size_t, OPERAND, size_t, double, OPERAND, size_t, size_t, void **,
                      void **);
#define ARGUMENTS                                                                                                      \
    BEGIN_OF(p), 1, OPERAND_OF(abc[0], p->lda), (size_t)batch->stride_a, OPERAND_OF(abc[1], p->ldb),                   \
        (size_t)batch->stride_b, 0, OPERAND_OF(abc[2], p->ldc), (size_t)batch->stride_c, (size_t)batch->count, &queue, \
        NULL
    const int type = type_of(p->dtype);
    int error = type == F64 ? ((dgemm *)x->gemm_strided[F64])(ARGUMENTS) : ((sgemm *)x->gemm_strided[F32])(ARGUMENTS);
#undef ARGUMENTS
    return !failed(x, strided_names[type], error);
}
