/* test_pipeline.c - blocks that are copied to a device beside products (tw_lab_pipeline), by the fake CUDA driver,
 * whose streams are ordered by events alone (tests/fakes/order.h): a missing event is a wrong product. */
#define _GNU_SOURCE
#include <unistd.h>

#include "support/tap.h"
#include "tilewright_lab.h"

enum { M = 37, N = 29, DEPTH = 16, PANELS = 5, K = DEPTH * PANELS, LD = 32 };

/* What the fake driver is to be, and how B's panels come: whole, or in two pieces of columns beside each other. */
typedef struct pipeline_case {
    const char *driver, *fault;
    bool pinned, in_pieces;
    int64_t limit; /* tw_options.memory_bytes */
} pipeline_case;

typedef struct work {
    tw_lab_pipeline *pipeline;
    float *a, *b, *c;                         /* of the host: M x K, K x N, M x N */
    float *there_a[2], *there_b[2], *there_c; /* of the device: M x LD, DEPTH x LD, M x LD */
} work;

static float a_at(int i, int p) { return (float)((i * 7 + p * 3) % 11 - 5); }
static float b_at(int p, int j) { return (float)((p * 5 + j * 2) % 13 - 6); }

static tw_status take(const work *w, bool on_device, size_t floats, float **memory)
{
    void *found = NULL;
    const tw_status status = tw_lab_pipeline_memory(w->pipeline, on_device, (int64_t)(floats * sizeof(float)), &found);
    *memory = found;
    return status;
}

static tw_status take_all(work *w)
{
    tw_status status = take(w, true, M * LD, &w->there_c);
    for (int i = 0; i < 2 && status == TW_OK; i++) status = take(w, true, M * LD, &w->there_a[i]);
    for (int i = 0; i < 2 && status == TW_OK; i++) status = take(w, true, DEPTH * LD, &w->there_b[i]);
    return status;
}

static tw_status await(const work *w, int all)
{
    tw_status status = TW_OK;
    for (int done = 0; status == TW_OK && !done;) status = tw_lab_pipeline_poll(w->pipeline, all, &done);
    return status;
}

static tw_status up(const work *w, float *to, const float *from, int from_ld, int rows, int cols, int alone)
{
    const tw_lab_copy copy = {.to = to,
                              .from = from,
                              .to_pitch = LD * sizeof(float),
                              .from_pitch = from_ld * (int64_t)sizeof(float),
                              .width = cols * (int64_t)sizeof(float),
                              .rows = rows,
                              .way = TW_LAB_UP,
                              .alone = alone};
    return tw_lab_pipeline_copy(w->pipeline, &copy);
}

static tw_status run_panel(const work *w, bool in_pieces, int number)
{
    float *const a = w->there_a[number % 2], *const b = w->there_b[number % 2];
    const float *const from = w->b + number * DEPTH * N;
    const int first = in_pieces ? N / 2 : N;
    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, M, N, DEPTH);
    p.lda = p.ldb = p.ldc = LD, p.place_a = p.place_b = p.place_c = TW_DEVICE, p.beta = number > 0;
    tw_status status = tw_lab_pipeline_turn(w->pipeline);
    if (status == TW_OK) status = await(w, 0);
    if (status == TW_OK) status = up(w, a, w->a + number * DEPTH, K, M, DEPTH, 0);
    if (status == TW_OK && in_pieces) status = up(w, b + first, from + first, N, DEPTH, N - first, 1);
    if (status == TW_OK) status = up(w, b, from, N, DEPTH, first, in_pieces);
    return status == TW_OK ? tw_lab_pipeline_multiply(w->pipeline, &p, a, b, w->there_c) : status;
}

static tw_status run_panels(work *w, bool in_pieces)
{
    tw_status status = take_all(w);
    for (int number = 0; number < PANELS && status == TW_OK; number++) status = run_panel(w, in_pieces, number);
    const tw_lab_copy down = {.to = w->c,
                              .from = w->there_c,
                              .to_pitch = N * sizeof(float),
                              .from_pitch = LD * sizeof(float),
                              .width = N * sizeof(float),
                              .rows = M,
                              .way = TW_LAB_DOWN};
    if (status == TW_OK) status = await(w, 1);
    if (status == TW_OK) status = tw_lab_pipeline_copy(w->pipeline, &down);
    return status == TW_OK ? await(w, 1) : status;
}

static bool is_right(const work *w)
{
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float sum = 0; /* of small integers: exact in any order */
            for (int p = 0; p < K; p++) sum += a_at(i, p) * b_at(p, j);
            if (!(w->c[i * N + j] == sum)) return false;
        }
    return true;
}

/* The host's side: of the pipeline, or plain. */
static tw_status take_host(work *w, bool pinned, float plain[3][M * K + K * N])
{
    float **const sides[] = {&w->a, &w->b, &w->c};
    const size_t floats[] = {M * K, K * N, M * N};
    tw_status status = TW_OK;
    for (int i = 0; i < 3 && status == TW_OK; i++)
        if (pinned)
            status = take(w, false, floats[i], sides[i]);
        else
            *sides[i] = plain[i];
    if (status != TW_OK) return status;
    for (int i = 0; i < M * K; i++) w->a[i] = a_at(i / K, i % K);
    for (int i = 0; i < K * N; i++) w->b[i] = b_at(i / N, i % N);
    memset(w->c, 0xff, M * N * sizeof(float)); /* NaN */
    return TW_OK;
}

/* says NULL: the product is right. Else it fails with these words; "": or it is right, for the fault was not met. */
static void run_case(const pipeline_case *x, tw_status expected, const char *says)
{
    static float plain[3][M * K + K * N];
    char driver[120];
    const tw_options options = {.size = sizeof options, .engine = "cuda", .threads = 2, .memory_bytes = x->limit};
    tw_context *context = NULL;
    work w = {0};
    if (!tap_case("%s%s%s%s, %s%s", x->driver, x->limit > 0 ? ", little memory" : "", x->fault != NULL ? ", " : "",
                  x->fault != NULL ? x->fault : "", x->pinned ? "pinned" : "pageable",
                  x->in_pieces ? ", in pieces" : ""))
        return;
    snprintf(driver, sizeof driver, "product=1 multiprocessors=4 %s", x->driver);
    setenv("FAKE_CUDA", driver, 1), setenv("FAKES", "", 1);
    tw_status status = tw_open(&options, &context);
    setenv("FAKES", x->fault != NULL ? x->fault : "", 1);
    if (status == TW_OK) status = tw_lab_pipeline_open(context, &w.pipeline);
    if (status == TW_OK) status = take_host(&w, x->pinned, plain);
    if (status == TW_OK) status = run_panels(&w, x->in_pieces);
    const bool right = status == TW_OK && is_right(&w), told = status != TW_OK && tw_error_text()[0] != '\0';
    if (says == NULL)
        tap_result(right, "%s", status == TW_OK ? "C is wrong" : tw_error_text());
    else if (says[0] == '\0')
        tap_result(right || told, "%d: %s", (int)status, tw_error_text());
    else
        tap_result(status == expected && strstr(tw_error_text(), says) != NULL, "%d: %s", (int)status, tw_error_text());
    tw_lab_pipeline_close(w.pipeline);
    tw_close(context);
}

static void fail_each_call(void)
{
    static const char *const calls[] = {
        "cuStreamCreate=700",     "cuEventCreate=700",      "cuMemAlloc_v2=2",          "cuMemAlloc_v2=700",
        "cuMemHostAlloc=2",       "cuMemcpy2DAsync_v2=700", "cuMemcpyHtoDAsync_v2=700", "cuMemcpyDtoHAsync_v2=700",
        "cuEventRecord=700",      "cuStreamWaitEvent=700",  "cuStreamQuery=700",        "cuLaunchKernel=700",
        "cuCtxPushCurrent_v2=700"};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        for (int call = 1; call <= 8; call++) {
            char fault[60];
            snprintf(fault, sizeof fault, "%s@%d", calls[i], call);
            run_case(&(pipeline_case){"sm=75 order=3", fault, call % 2 == 0, call % 4 < 2, 0}, TW_OK, "");
        }
}

static void expect(const char *what, tw_status found, tw_status expected, const char *says)
{
    if (!tap_case("%s", what)) return;
    tap_result(found == expected && (expected == TW_OK || strstr(tw_error_text(), says) != NULL), "%d: %s", (int)found,
               tw_error_text());
}

/* A workspace that could not grow is gone: the next product, of whatever size, asks for its own. */
static void lose_workspace(void)
{
    const tw_options options = {.size = sizeof options, .engine = "cuda", .threads = 2};
    tw_problem small = tw_problem_make(TW_F32, TW_N, TW_N, 512, 512, 512), large = small;
    const void *const at = (const void *)(uintptr_t)256;
    tw_context *context = NULL;
    tw_lab_pipeline *p = NULL;
    small.place_a = small.place_b = small.place_c = TW_DEVICE;
    large = small, large.m = large.lda = large.k = 1024;
    setenv("FAKE_CUDA", "sm=90 multiprocessors=4", 1), setenv("FAKES", "", 1);
    const bool open = tw_open(&options, &context) == TW_OK && tw_lab_pipeline_open(context, &p) == TW_OK;
    expect("a workspace", open ? tw_lab_pipeline_prepare(p, &small, at, at, at) : TW_NO_DEVICE, TW_OK, "");
    if (!open) return;
    setenv("FAKES", "cuMemAlloc_v2=2", 1);
    expect("the same workspace", tw_lab_pipeline_prepare(p, &small, at, at, at), TW_OK, "");
    expect("no memory for a larger one", tw_lab_pipeline_prepare(p, &large, at, at, at), TW_NO_MEMORY, "workspace");
    expect("nor for the first again", tw_lab_pipeline_prepare(p, &small, at, at, at), TW_NO_MEMORY, "workspace");
    setenv("FAKES", "", 1);
    expect("which comes back", tw_lab_pipeline_prepare(p, &small, at, at, at), TW_OK, "");
    tw_lab_pipeline_close(p), tw_close(context);
}

/* A workspace that is larger than all before it is asked for, however little larger; no other one is. */
static void grow_workspace(void)
{
    static const int64_t sides[] = {512, 576, 640, 768, 640, 896, 512};
    const tw_options options = {.size = sizeof options, .engine = "cuda", .threads = 2};
    const void *const at = (const void *)(uintptr_t)256;
    tw_context *context = NULL;
    tw_lab_pipeline *p = NULL;
    int64_t most = 0;
    int grown = 0;
    if (!tap_case("a workspace grows where a product wants more, and only there")) return;
    setenv("FAKE_CUDA", "sm=90 multiprocessors=4", 1), setenv("FAKES", "", 1);
    bool right = tw_open(&options, &context) == TW_OK && tw_lab_pipeline_open(context, &p) == TW_OK;
    for (size_t i = 0; i < sizeof sides / sizeof *sides && right; i++) {
        tw_problem x = tw_problem_make(TW_F32, TW_N, TW_N, sides[i], 512, sides[i]);
        int64_t bytes = 0;
        x.place_a = x.place_b = x.place_c = TW_DEVICE;
        right = tw_workspace_bytes(context, &x, &bytes) == TW_OK;
        const bool grows = bytes > most;
        setenv("FAKES", "cuMemAlloc_v2=2", 1);
        right = right && tw_lab_pipeline_prepare(p, &x, at, at, at) == (grows ? TW_NO_MEMORY : TW_OK);
        setenv("FAKES", "", 1);
        right = right && tw_lab_pipeline_prepare(p, &x, at, at, at) == TW_OK;
        if (grows) most = bytes, grown++;
    }
    tap_result(right && grown > 3, "after %d larger ones, the last of %lld bytes: %s", grown, (long long)most,
               tw_error_text());
    tw_lab_pipeline_close(p), tw_close(context);
}

/* Exchanges are for a pipeline that has joined ranks: here it alone. */
static void join_and_leave(void)
{
    static const char *const none = "it has not joined other ranks";
    const tw_options options = {.size = sizeof options, .engine = "cuda", .threads = 2};
    const tw_lab_exchange nothing = {0};
    char id[TW_LAB_COMM_ID];
    int64_t count;
    tw_context *context = NULL;
    tw_lab_pipeline *p = NULL;
    setenv("FAKE_CUDA", "sm=75", 1), setenv("FAKES", "", 1);
    expect("a pipeline", tw_open(&options, &context) == TW_OK ? tw_lab_pipeline_open(context, &p) : TW_NO_DEVICE, TW_OK,
           "");
    if (p == NULL) return;
    expect("an exchange before all", tw_lab_pipeline_exchange(p, &nothing), TW_BAD_ARGUMENT, none);
    expect("its end before all", tw_lab_pipeline_exchanged(p, &count), TW_BAD_ARGUMENT, none);
    expect("leaving before all", tw_lab_pipeline_leave(p), TW_OK, "");
    expect("a name", tw_lab_pipeline_comm_id(p, id), TW_OK, "");
    expect("joining", tw_lab_pipeline_join(p, id, 0, 1), TW_OK, "");
    expect("joining twice", tw_lab_pipeline_join(p, id, 0, 1), TW_BAD_ARGUMENT, "it has joined ranks already");
    expect("no exchanges", tw_lab_pipeline_exchanged(p, &count), TW_OK, "");
    expect("leaving", tw_lab_pipeline_leave(p), TW_OK, "");
    expect("an exchange after that", tw_lab_pipeline_exchange(p, &nothing), TW_BAD_ARGUMENT, none);
    expect("leaving twice", tw_lab_pipeline_leave(p), TW_OK, "");
    tw_lab_pipeline_close(p), tw_close(context);
}

int main(int argc, char **argv)
{
    const char *folders = FAKES_FOLDER "/cuda:" FAKES_FOLDER "/nvrtc:" FAKES_FOLDER "/nccl";
    if (getenv("LD_LIBRARY_PATH") == NULL || strcmp(getenv("LD_LIBRARY_PATH"), folders) != 0) {
        setenv("LD_LIBRARY_PATH", folders, 1);
        setenv("TILEWRIGHT_CACHE", "off", 1);
        unsetenv("TILEWRIGHT_NVRTC"), unsetenv("TILEWRIGHT_KERNELS"), unsetenv("FAKE_LOG");
        execv("/proc/self/exe", argv);
        return 2;
    }
    tap_start(argc, argv);
    for (int i = 0; i < 4; i++) {
        static const char *const drivers[] = {"sm=75 order=1", "sm=80 order=1",  "sm=90 order=1",
                                              "sm=75 order=4", "sm=90 order=11", "sm=75 order=1 pitch=64"};
        for (size_t d = 0; d < sizeof drivers / sizeof *drivers; d++)
            run_case(&(pipeline_case){drivers[d], NULL, i & 1, i & 2, 0}, TW_OK, NULL);
    }
    run_case(&(pipeline_case){"sm=75 order=1", NULL, true, false, 9000}, TW_NO_MEMORY, "options.memory_bytes is 9000");
    run_case(&(pipeline_case){"sm=75 order=1 lost=0 after=2", NULL, true, false, 0}, TW_DEVICE_FAILED,
             "cuLaunchKernel");
    run_case(&(pipeline_case){"sm=75 order=1", "cuStreamQuery=700", true, false, 0}, TW_DEVICE_FAILED, "cuStreamQuery");
    fail_each_call();
    lose_workspace();
    grow_workspace();
    join_and_leave();
    return tap_finish();
}
