/* faulty_streams.c - `faulty streams` uses CUDA itself and gives the library its context, stream and memory (the
 * fake's is the host's), and prints what it met. */
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda_caller.h"
#include "faulty.h"
#include "tilewright_lab.h"

/* One call of tw_enqueue; the log tells where it begins and ends. */
static void enqueue(const char *what, tw_context *context, const tw_problem *p, const float *x, const tw_launch *launch)
{
    char line[64];
    snprintf(line, sizeof line, "begin %s", what);
    mark(line);
    tw_status status = tw_enqueue(context, p, x, x + N * N, (float *)(uintptr_t)x + 2 * N * N, launch);
    mark("end");
    tell(what, status);
}

/* The same of tw_enqueue_batched, at strides or, in device memory of the fake's, by address. */
static void enqueue_batch(const char *what, tw_context *context, const tw_problem *p, const tw_batch *batch,
                          const void *x, const tw_launch *launch)
{
    char line[64];
    snprintf(line, sizeof line, "begin %s", what);
    mark(line);
    tw_status status = tw_enqueue_batched(context, p, batch, x, x, (void *)(uintptr_t)x, launch);
    mark("end");
    tell(what, status);
}

/* A batch in one launch wants no workspace; of items one after the other each wants, and then has, the same. */
static tw_status batch_workspace(tw_context *context, const tw_problem *p, const tw_batch *batch, bool each)
{
    int64_t of_batch = -1, of_item = -1;
    if (tw_workspace_bytes_batched(context, p, batch, &of_batch) != TW_OK ||
        tw_workspace_bytes(context, p, &of_item) != TW_OK)
        return TW_NO_KERNEL;
    return of_batch == (each ? of_item : 0) && (!each || of_item > 0) ? TW_OK : TW_BAD_ARGUMENT;
}

static void use_batches(tw_context *context, const caller *me, const tw_problem *of, const float *x,
                        const tw_launch *launch)
{
    void *graph;
    tw_problem p = *of, large = *of;
    p.m = p.n = p.k = 8;
    large.m = large.n = 2304, large.lda = large.ldb = large.ldc = 2304;
    tw_batch batch = tw_batch_make(&p, 5), two = tw_batch_make(&large, 2),
             pointers = {.size = sizeof pointers, .pointers = 1, .count = 5};
    me->cuStreamBeginCapture_v2(launch->stream, CALLER_CAPTURE_GLOBAL);
    enqueue_batch("batch captured too early", context, &p, &batch, x, launch);
    me->cuStreamEndCapture(launch->stream, &graph);
    tell("prepare batch", tw_prepare_batched(context, &p, &batch));
    me->cuStreamBeginCapture_v2(launch->stream, CALLER_CAPTURE_GLOBAL);
    enqueue_batch("batch", context, &p, &batch, x, launch);
    enqueue_batch("batch by address", context, &p, &pointers, x, launch);
    me->cuStreamEndCapture(launch->stream, &graph);
    tw_prepare_batched(context, &large, &two);
    enqueue_batch("batch of large items", context, &large, &two, x, launch);
    enqueue_batch("batch of large items by address", context, &large, &pointers, x, launch);
    enqueue_batch("batch without an array", context, &p, &pointers, NULL, launch);
    batch.count = INT32_MAX, batch.stride_a = batch.stride_b = 0;
    if (getenv("FAKES") == NULL) /* elsewhere a device without multiprocessors may want a launch for each */
        enqueue_batch("batch of many items", context, &p, &batch, x, launch);
    large.lda++, two = tw_batch_make(&large, 2);
    if (getenv("FAKES") != NULL) /* elsewhere no memory may be asked for */
        tell("gemm of large items", tw_gemm_batched(context, &large, &two, x, x, (void *)(uintptr_t)x));
    tell("workspace of a batch in one launch", batch_workspace(context, &p, &pointers, false));
    tell("workspace of a batch of large items", batch_workspace(context, &large, &two, true));
    tw_problem tiles = *of;
    tiles.m = tiles.n = 128, tiles.lda = tiles.ldb = tiles.ldc = 128;
    two = tw_batch_make(&tiles, 2), two.stride_b = 0;
    tw_prepare_batched(context, &tiles, &two);
    enqueue_batch("batch of tiles", context, &tiles, &two, x, launch);
    batch.count = 0;
    enqueue_batch("batch of nothing", context, &p, &batch, x, launch);
    p.dtype = TW_BF16, batch = tw_batch_make(&p, 5), batch.stride_a++;
    enqueue_batch("batch of halves", context, &p, &batch, x, launch);
    p.dtype_c = TW_BF16;
    enqueue_batch("batch of halves to halves", context, &p, &pointers, x, launch);
    p.dtype = p.dtype_c = TW_F64;
    tw_prepare_batched(context, &p, &pointers);
    enqueue_batch("batch of doubles", context, &p, &pointers, x, launch);
    p.dtype = TW_I8, p.dtype_c = TW_I32;
    tw_prepare_batched(context, &p, &pointers);
    enqueue_batch("batch of bytes", context, &p, &pointers, x, launch);
    p.place_a = p.place_b = p.place_c = TW_HOST, p.dtype = p.dtype_c = TW_F32;
    enqueue_batch("batch in host memory", context, &p, &batch, x, launch);
    p = *of, batch = tw_batch_make(&p, 1);
    tell("gemm of a batch", tw_gemm_batched(context, &p, &batch, x, x, (void *)(uintptr_t)x));
}

static void after_fork(tw_context *context, const tw_problem *p, float *x)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        tell("enqueue after fork", tw_enqueue(context, p, x, x, x + N * N, NULL));
        tell("prepare after fork", tw_prepare(context, p));
        mark("begin close after fork");
        tw_close(context);
        mark("end");
        fflush(stdout);
        _exit(0);
    }
    waitpid(pid, NULL, 0);
}

static void use_streams(tw_context *context, const caller *me, cu_stream stream, cu_stream foreign)
{
    enum { EDGE = 512 }; /* on one multiprocessor, for which tiles of 128 x 128 are the best */
    static _Alignas(256) float x[3 * EDGE * EDGE + 1];
    int64_t bytes = -1;
    void *graph;
    tw_problem p = tw_problem_make(TW_F32, TW_T, TW_N, EDGE, EDGE, EDGE), q;
    tw_launch launch = {.size = sizeof launch, .stream = stream};
    p.place_a = p.place_b = p.place_c = TW_DEVICE;
    tell("workspace", tw_workspace_bytes(context, &p, &bytes));
    printf("bytes:%d:\n", (int)bytes);
    me->cuStreamBeginCapture_v2(stream, CALLER_CAPTURE_GLOBAL);
    enqueue("captured too early", context, &p, x, &launch);
    me->cuStreamEndCapture(stream, &graph);
    tell("prepare", tw_prepare(context, &p));
    q = p, q.dtype = TW_BF16, q.op_b = TW_T;
    tell("prepare half", tw_prepare(context, &q));
    enqueue("half", context, &q, x, &launch);
    q = tw_problem_make(TW_F32, TW_N, TW_N, 16, 16, 1024), q.place_a = q.place_b = q.place_c = TW_DEVICE;
    tw_prepare(context, &q);
    enqueue("meeting", context, &q, x, &launch);
    enqueue("enqueue", context, &p, x, &launch);
    launch.workspace = x, launch.workspace_bytes = 64;
    enqueue("with a workspace", context, &p, x, &launch);
    q = p, q.op_a = TW_N, q.op_b = TW_T;
    enqueue("workspace too small", context, &q, x, &launch);
    tw_workspace_bytes(context, &q, &bytes);
    tw_prepare(context, &q);
    launch.workspace_bytes = bytes;
    enqueue("turned", context, &q, x, &launch);
    q = p, q.lda = EDGE + 1;
    tw_prepare(context, &q);
    enqueue("copied", context, &q, x, &launch);
    q = tw_problem_make(TW_F64, TW_N, TW_N, 64, 64, 65536), q.place_a = q.place_b = q.place_c = TW_DEVICE;
    tw_workspace_bytes(context, &q, &launch.workspace_bytes);
    tw_prepare(context, &q);
    enqueue("deep", context, &q, x, &launch);
    launch.workspace = NULL, launch.workspace_bytes = 0;
    me->cuStreamBeginCapture_v2(stream, CALLER_CAPTURE_GLOBAL);
    enqueue("captured", context, &p, x, &launch);
    me->cuStreamEndCapture(stream, &graph);
    enqueue("unaligned", context, &p, x + 1, &launch);
    q = p, q.lda = EDGE + 1;
    enqueue("unpadded", context, &q, x, &launch);
    q = p, q.k = 0, q.beta = 2;
    enqueue("scaled", context, &q, x, &launch);
    q = p, q.m = 0;
    enqueue("nothing", context, &q, x, &launch);
    enqueue("default stream", context, &p, x, NULL);
    launch.stream = foreign;
    enqueue("foreign", context, &p, x, &launch);
    launch.stream = stream, launch.size = 8;
    enqueue("launch of no size", context, &p, x, &launch);
    launch.size = offsetof(tw_launch, flags), launch.queue = x; /* no part of the first layout */
    enqueue("launch of the first size", context, &p, x, &launch);
    launch.size = sizeof launch;
    enqueue("launch with a queue", context, &p, x, &launch);
    launch.queue = NULL, launch.offset_c = 1;
    enqueue("launch with an offset", context, &p, x, &launch);
    launch.offset_c = 0, launch.workspace_bytes = 256;
    enqueue("workspace of NULL", context, &p, x, &launch);
    launch.workspace = x + 1;
    enqueue("workspace not aligned", context, &p, x, &launch);
    q = p, q.place_a = q.place_b = q.place_c = TW_HOST;
    enqueue("host memory", context, &q, x, NULL);
    q = p, q.dtype = TW_BF16, q.lda = EDGE + 1, q.ldb = EDGE;
    q.op_a = TW_N;
    enqueue("odd half", context, &q, x, NULL);
    q.dtype_c = TW_BF16;
    enqueue("own c", context, &q, x, NULL);
    mark("begin gemm");
    tw_status status = tw_gemm(context, &p, x, x + EDGE * EDGE, x + 2 * EDGE * EDGE);
    mark("end");
    tell("gemm", status);
    launch = (tw_launch){.size = sizeof launch, .stream = stream};
    use_batches(context, me, &p, x, &launch);
    tell("forced", tw_lab_run_open(context, &(tw_lab_choice){.kernel = "cuda_f32_r03t_transposed"}, &p, x, x, x,
                                   &(tw_lab_run *){NULL}));
    after_fork(context, &p, x);
}

int faulty_streams(void)
{
    caller me;
    const char *missing;
    cu_context own = NULL, other = NULL, found = NULL;
    cu_stream stream = NULL, foreign = NULL;
    tw_context *context = NULL;
    tw_options options = {.size = sizeof options, .engine = "cuda", .device = 3};
    alarm(120);
    if (!caller_load(&me, &missing)) {
        tell("open", tw_open(&options, &context));
        puts(cpu_right() ? "cpu:right" : "cpu:wrong");
        return 0;
    }
    me.cuCtxCreate_v2(&other, 0, 0), me.cu->cuStreamCreateWithPriority(&foreign, CALLER_NON_BLOCKING, 0);
    me.cuCtxCreate_v2(&own, 0, 0), me.cu->cuStreamCreateWithPriority(&stream, CALLER_NON_BLOCKING, 0);
    printf("stream:0:on %p\n", (void *)stream);
    options.device_context = own;
    tell("another device", tw_open(&options, &context));
    options.device = 0;
    tell("open", tw_open(&options, &context));
    if (context != NULL) use_streams(context, &me, stream, foreign);
    tw_close(context);
    me.cuCtxGetCurrent(&found);
    printf("current:%d:\n", found == own);
    me.cu->cuStreamDestroy_v2(stream), me.cu->cuStreamDestroy_v2(foreign);
    me.cuCtxDestroy_v2(own), me.cuCtxDestroy_v2(other);
    puts(cpu_right() ? "cpu:right" : "cpu:wrong");
    return 0;
}
