/* test_streams.c - streams, contexts, threads and graphs in their caller's hands, on a CUDA device: products on several
 * streams, chains of them, capture and replay, with and without a workspace to pack operands into; contexts that are
 * lost, forks. C has the very bits of the cpu engine's product. Skipped, and counted, where there is no CUDA device.
 * test_faults_calls.c has what can be seen without one. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/device_operands.h"

/* ---- streams, threads, contexts ---- */

enum { ROUNDS = 20 };

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
    /* such a copy may still be on its way, and `stream` waits for no other */
    right = right && me.cu->cuStreamSynchronize(NULL) == 0;
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

/* What an epilogue reads lies in device memory; C grows each time, and is made anew of acc. */
static void epilogue_case(int64_t k, bool packs)
{
    char name[100];
    snprintf(name, sizeof name, "captured and replayed: an epilogue, k %" PRId64 ", %s", k, packing_text(packs));
    if (!device_case(name)) return;
    enum { COLUMNS = 140 };
    float bias[COLUMNS];
    cu_pointer memory = 0;
    bool skip = false;
    operands o = {0};
    tw_epilogue *there = NULL, *here = NULL;
    for (int j = 0; j < COLUMNS; j++) bias[j] = (float)(j % 7);
    bool right = me.cu->cuMemAlloc_v2(&memory, sizeof bias) == CU_SUCCESS &&
                 me.cu->cuMemcpyHtoD_v2(memory, bias, sizeof bias) == CU_SUCCESS;
    tw_binding b = {.size = sizeof b, .dtype = TW_F32, .name = "bias", .at = (void *)(uintptr_t)memory};
    right = right && (tw_epilogue_make("max(acc, 0) + 2 * bias[j] - i", &b, 1, &there) == TW_OK || refused("make"));
    b.at = bias;
    right = right && (tw_epilogue_make("max(acc, 0) + 2 * bias[j] - i", &b, 1, &here) == TW_OK || refused("make"));
    tw_problem p = problem_of(TW_F32, TW_N, TW_T, 260, COLUMNS, k, 0);
    p.beta = 1, p.epilogue = there;
    right = right && make_for(context, &o, &p, packs, &skip);
    o.on_host = here;
    right = right && capture(&o, NULL, CALLER_CAPTURE_GLOBAL);
    operands_free(&o);
    tw_epilogue_free(there), tw_epilogue_free(here);
    me.cu->cuMemFree_v2(memory);
    verdict_or_skip(right, skip);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--lose-context") == 0) return lose_context(false);
    if (argc == 2 && strcmp(argv[1], "--lose-context-ourselves") == 0) return lose_context(true);
    tap_start(argc, argv);
    if (!tap.list) open_device();
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
        epilogue_case(96, packs);
        epilogue_case(5003, packs);
    }
    two_streams_case(TW_BF16, true);
    for (int i = 0; i < 6; i++) chain_case((const int64_t[]){16, 100, 256, 640, 1000, 1500}[i], 0);
    for (int i = 0; i < 5; i++) chain_case((const int64_t[]){20, 32, 64, 100, 128}[i], 300);
    capture_case("odd rows", TW_F16, TW_T, 96, 1, true, false);
    foreign_case();
    allocating_case();
    fork_case();
    lost_case(false);
    lost_case(true);
    tw_close(judge);
    tw_close(context);
    return tap_finish();
}
