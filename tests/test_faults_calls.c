/* test_faults_calls.c - the calls that the engines make of their drivers: each of them fails once, those on a caller's
 * stream are compared one by one, allocations fail, and a driver crashes. */
#include "engines/cuda/cu_api.h"
#include "engines/opencl/cl_api.h"
#include "support/faults.h"
#include "tilewright_lab.h"

/* ---- a caller's own context, stream and memory ---- */

/* What the log has between "begin WHAT" and "end", in one line, STREAM for the line that tells the caller's; "?" where
 * it has no such part. */
static void section(const char *what, const char *stream, char out[512])
{
    char line[256], begin[80];
    bool inside = false;
    snprintf(begin, sizeof begin, "begin %s", what);
    snprintf(out, 512, "?");
    FILE *log = fopen(log_path, "r");
    while (log != NULL && fgets(line, sizeof line, log) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (strcmp(line, begin) == 0)
            out[0] = '\0', inside = true;
        else if (strcmp(line, "end") == 0)
            inside = false;
        else if (inside)
            snprintf(out + strlen(out), 512 - strlen(out), "%s%s", out[0] != '\0' ? " " : "",
                     strcmp(line, stream) == 0 ? "STREAM" : line);
    }
    if (log != NULL) fclose(log);
}

#define TRANSPOSED                                                                                                     \
    "cuCtxPushCurrent_v2 cuLaunchKernelEx STREAM packs b packs a cuTensorMapEncodeTiled cuTensorMapEncodeTiled "       \
    "cuLaunchKernelEx STREAM cuCtxPopCurrent_v2"
#define COPIED                                                                                                         \
    "cuCtxPushCurrent_v2 cuLaunchKernelEx STREAM packs a cuTensorMapEncodeTiled cuTensorMapEncodeTiled "               \
    "cuLaunchKernelEx STREAM cuCtxPopCurrent_v2"
#define ONE_EARLY "cuCtxPushCurrent_v2 cuLaunchKernelEx STREAM cuCtxPopCurrent_v2"
#define MAPPED                                                                                                         \
    "cuCtxPushCurrent_v2 cuTensorMapEncodeTiled cuTensorMapEncodeTiled cuLaunchKernelEx STREAM cuCtxPopCurrent_v2"

/* What the child tells of a call, and, where it is known here, every call of the driver that it made. STREAM: on the
 * caller's own. */
static const struct {
    const char *name, *variable, *line;
    int number;
    const char *says, *calls;
} streams[] = {
    {"a kernel that is built is launched on the caller's stream, and that is all", NULL, "enqueue", TW_OK, "", MAPPED},
    {"the same with a workspace", NULL, "with a workspace", TW_OK, "", MAPPED},
    {"a workspace that is too small", NULL, "workspace too small", TW_BAD_ARGUMENT,
     "launch.workspace_bytes is 64, expected at least 2097152", ""},
    {"operands that lie along k are transposed on the stream before", NULL, "turned", TW_OK, "", TRANSPOSED},
    {"rows that TMA does not take are copied before", NULL, "copied", TW_OK, "", COPIED},
    {"by a driver before 12.3 none is launched early", "FAKE_CUDA=multiprocessors=1 driver=12020", "turned", TW_OK, "",
     "cuCtxPushCurrent_v2 cuLaunchKernel STREAM packs b packs a cuTensorMapEncodeTiled cuTensorMapEncodeTiled "
     "cuLaunchKernel STREAM cuCtxPopCurrent_v2"},
    {"nor as a cluster", "FAKE_CUDA=multiprocessors=132 driver=12020", "meeting", TW_OK, "",
     "cuCtxPushCurrent_v2 cuLaunchKernel STREAM cuCtxPopCurrent_v2"},
    {"the same while the stream is captured", NULL, "captured", TW_OK, "", MAPPED},
    {"the same on the default stream", NULL, "default stream", TW_OK, "",
     "cuCtxPushCurrent_v2 cuTensorMapEncodeTiled cuTensorMapEncodeTiled cuLaunchKernelEx on (nil) cuCtxPopCurrent_v2"},
    {"a kernel that waits itself for what is ahead of it is launched early", NULL, "half", TW_OK, "",
     "cuCtxPushCurrent_v2 cuTensorMapEncodeTiled cuTensorMapEncodeTiled cuTensorMapEncodeTiled cuLaunchKernelEx STREAM "
     "cuCtxPopCurrent_v2"},
    {"blocks that add through shared memory are launched as clusters", "FAKE_CUDA=multiprocessors=132", "meeting",
     TW_OK, "", "cuCtxPushCurrent_v2 cuLaunchKernelEx STREAM clusters of 4 cuCtxPopCurrent_v2"},
    {"as several clusters of 8 where k is long", "FAKE_CUDA=multiprocessors=132", "deep", TW_OK, "",
     "cuCtxPushCurrent_v2 cuTensorMapEncodeTiled cuTensorMapEncodeTiled cuLaunchKernelEx STREAM clusters of 8 "
     "cuCtxPopCurrent_v2"},
    {"C is scaled on the stream where k is 0", NULL, "scaled", TW_OK, "", NULL},
    {"nothing is enqueued where m is 0", NULL, "nothing", TW_OK, "", ""},
    {"a capture does not wait for a kernel to be built", NULL, "captured too early", TW_BUILD_FAILED,
     "launch.stream is being captured and cuda/sgemm_tma_sm90.cu",
     "cuCtxPushCurrent_v2 cuStreamIsCapturing cuCtxPopCurrent_v2"},
    {"addresses that TMA does not take have another kernel", NULL, "unaligned", TW_OK, "", NULL},
    {"rows that it does not take have another kernel", NULL, "unpadded", TW_OK, "", NULL},
    {"they have another kernel in bf16 too", NULL, "odd half", TW_OK, "", NULL},
    {"so has C in bf16", NULL, "own c", TW_OK, "", NULL},
    {"a batch is one launch, also while the stream is captured", NULL, "batch", TW_OK, "", ONE_EARLY},
    {"a batch by address too", NULL, "batch by address", TW_OK, "", ONE_EARLY},
    {"so are types whose items lie at odd addresses", NULL, "batch of halves", TW_OK, "", NULL},
    {"a capture does not wait for a batch's kernel to be built", NULL, "batch captured too early", TW_BUILD_FAILED,
     "launch.stream is being captured and cuda/sgemm_batched_cpasync_sm80.cu",
     "cuCtxPushCurrent_v2 cuStreamIsCapturing cuCtxPopCurrent_v2"},
    {"large items of a batch follow each other", NULL, "batch of large items", TW_OK, "",
     "cuCtxPushCurrent_v2 cuTensorMapEncodeTiled cuTensorMapEncodeTiled cuLaunchKernelEx STREAM cuTensorMapEncodeTiled "
     "cuTensorMapEncodeTiled cuLaunchKernelEx STREAM cuCtxPopCurrent_v2"},
    {"items that fill tiles of 128 come through tensor maps, in one launch", NULL, "batch of tiles", TW_OK, "",
     "cuCtxPushCurrent_v2 cuTensorMapEncodeTiled cuTensorMapEncodeTiled cuTensorMapEncodeTiled cuLaunchKernelEx STREAM "
     "cuCtxPopCurrent_v2"},
    {"a batch in one launch wants no workspace", NULL, "workspace of a batch in one launch", TW_OK, "", NULL},
    {"items that follow each other want what one wants", NULL, "workspace of a batch of large items", TW_OK, "", NULL},
    {"large items by address are one launch", NULL, "batch of large items by address", TW_OK, "", NULL},
    {"more items than blocks can count are several launches", NULL, "batch of many items", TW_OK, "",
     "cuCtxPushCurrent_v2 cuLaunchKernelEx STREAM cuLaunchKernelEx STREAM cuCtxPopCurrent_v2"},
    {"a batch by address of a C of 2 bytes", NULL, "batch of halves to halves", TW_OK, "", NULL},
    {"a batch by address of doubles", NULL, "batch of doubles", TW_OK, "", ONE_EARLY},
    {"a batch by address of bytes that do not lie along k, without a workspace", NULL, "batch of bytes", TW_OK, "",
     ONE_EARLY},
    {"a batch by address where no unit and no copy is", "FAKE_CUDA=sm=75", "batch by address", TW_OK, "",
     "cuCtxPushCurrent_v2 cuLaunchKernel STREAM cuCtxPopCurrent_v2"},
    {"large items do without a workspace where there is no memory for it", "FAKES=cuMemAlloc_v2=2",
     "gemm of large items", TW_OK, "", NULL},
    {"addresses that are not there", NULL, "batch without an array", TW_BAD_ARGUMENT,
     "a is NULL, expected an array of 5 addresses", ""},
    {"nothing is enqueued of an empty batch", NULL, "batch of nothing", TW_OK, "", ""},
    {"a batch of host memory on a stream", NULL, "batch in host memory", TW_BAD_ARGUMENT,
     "are TW_HOST, expected TW_DEVICE", ""},
    {"the kernel of a batch is built ahead", NULL, "prepare batch", TW_OK, "", NULL},
    {"a batch of device memory that is waited for", NULL, "gemm of a batch", TW_OK, "", NULL},
    {"no workspace is wanted", NULL, "bytes", 0, "", NULL},
    {"the kernel is built ahead", NULL, "prepare", TW_OK, "", NULL},
    {"so is one that wants a workspace and has no other", NULL, "prepare half", TW_OK, "", NULL},
    {"a product of device memory that is waited for", NULL, "gemm", TW_OK, "", NULL},
    {"memory runs out while the kernel writes C", "FAKES=cuStreamSynchronize=2", "gemm", TW_DEVICE_FAILED,
     "CUDA_ERROR_OUT_OF_MEMORY", NULL},
    {"a stream of another context", NULL, "foreign", TW_BAD_ARGUMENT, "launch.stream is of another CUDA context", NULL},
    {"a launch of another size", NULL, "launch of no size", TW_BAD_ARGUMENT, "launch.size is 8, expected ", ""},
    {"a launch of its first size", NULL, "launch of the first size", TW_OK, "", MAPPED},
    {"a launch with a reserved field", NULL, "launch with a queue", TW_BAD_ARGUMENT, "launch.queue is set", ""},
    {"a launch with an offset", NULL, "launch with an offset", TW_BAD_ARGUMENT, "launch.offset_c is set", ""},
    {"a workspace that is not there", NULL, "workspace of NULL", TW_BAD_ARGUMENT,
     "launch.workspace_bytes is 256 and launch.workspace is NULL", ""},
    {"a workspace at an odd address", NULL, "workspace not aligned", TW_BAD_ARGUMENT,
     "launch.workspace is not aligned to 256 bytes", ""},
    {"host memory on a stream", NULL, "host memory", TW_BAD_ARGUMENT, "are TW_HOST, expected TW_DEVICE", ""},
    {"a rung that transposes B on the host", NULL, "forced", TW_NO_KERNEL,
     "it wants B transposed on the host, here B is in device memory", NULL},
    {"the context's device is not the one that is named", NULL, "another device", TW_BAD_ARGUMENT,
     "options.device is 3, but options.device_context is of device 0", NULL},
    {"after fork() nothing is enqueued", NULL, "enqueue after fork", TW_NO_DEVICE, "opened before fork()", NULL},
    {"after fork() nothing is built", NULL, "prepare after fork", TW_NO_DEVICE, "opened before fork()", NULL},
    {"the caller's context stays the current one", NULL, "current", 1, "", NULL},
    {"a lost context is told as lost", "FAKES=cuLaunchKernelEx=700", "enqueue", TW_DEVICE_FAILED,
     "CUDA_ERROR_ILLEGAL_ADDRESS (700): the CUDA context was ended", NULL},
    {"any other failure of a launch is not", "FAKES=cuLaunchKernelEx=400", "enqueue", TW_DEVICE_FAILED,
     "CUDA_ERROR_INVALID_HANDLE (400)", NULL},
    {"a capture of another stream in the way", "FAKES=cuStreamIsCapturing=906", "captured too early", TW_DEVICE_FAILED,
     "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT (906)", NULL},
    {"device memory that has run out is not missed", "FAKES=cuMemAlloc_v2=2", "enqueue", TW_OK, "", MAPPED},
    {"a context that is not one", "FAKES=cuCtxGetDevice=201", "open", TW_DEVICE_FAILED, "cuCtxGetDevice failed", NULL},
};

static void device_cases(void)
{
    outcome o;
    char text[1024], stream[1024], calls[512];
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {
        if (!tap_case("cuda, a caller's stream: %s", streams[i].name)) continue;
        run_child("streams", "cuda:nvrtc",
                  (const char *const[]){"FAKE_CUDA=multiprocessors=1", streams[i].variable, NULL}, &o);
        told(&o, "stream", stream);
        section(streams[i].line, stream, calls);
        bool right = sane(&o) && told(&o, streams[i].line, text) == streams[i].number &&
                     strstr(text, streams[i].says) != NULL;
        tap_result(right && (streams[i].calls == NULL || strcmp(calls, streams[i].calls) == 0),
                   "calls \"%s\", expected \"%s\"; exit %d:\n%s", calls,
                   streams[i].calls != NULL ? streams[i].calls : "any", o.exit, o.text);
    }
    if (!tap_case("cuda, a caller's stream: its context is neither retained nor released, and no memory is asked for"))
        return;
    run_child("streams", "cuda:nvrtc", (const char *const[]){NULL}, &o);
    section("close after fork", "", calls);
    int pushes = logged("cuCtxPushCurrent_v2"), pops = logged("cuCtxPopCurrent_v2");
    bool left = logged("cuDevicePrimaryCtxRetain") + logged("cuDevicePrimaryCtxRelease_v2") == 0 && pushes == pops &&
                calls[0] == '\0';
    tap_result(sane(&o) && left &&
                   logged("cuMemAlloc_v2") + logged("cuMemcpyHtoD_v2") + logged("cuMemcpyDtoH_v2") +
                           logged("cuMemcpy2DUnaligned_v2") ==
                       0,
               "%d pushes, %d pops, closed after fork by \"%s\"; exit %d:\n%s", pushes, pops, calls, o.exit, o.text);
}

static void fork_case(void)
{
    outcome o;
    char calls[512], text[1024];
    if (!tap_case("opencl: a child closes its parent's context without the driver")) return;
    run_child("opencl", "opencl", (const char *const[]){"FAULTS_FORK=1", NULL}, &o);
    section("close after fork", "", calls);
    tap_result(sane(&o) && told(&o, "gemm", text) == TW_OK && calls[0] == '\0' && logged("end") == 1,
               "closed after fork by \"%s\"; exit %d:\n%s", calls, o.exit, o.text);
}

/* ---- each call of each driver fails once ---- */

static const char *const cuda_calls[] = {
#define F(name, ...) #name,
    CU_FUNCTIONS(F) NVRTC_FUNCTIONS(F)
#undef F
        NULL};
static const char *const opencl_calls[] = {
#define F(result, name, parameters) #name,
    CL_FUNCTIONS(F)
#undef F
        NULL};

/* Calls whose failure need not end anything: names and numbers that are only told, and what gives things back. */
static const char may_fail[] =
    " cuGetErrorName cuGetErrorString cuDeviceGetName cuDeviceGetAttribute cuDeviceTotalMem_v2 cuCtxPopCurrent_v2 "
    "cuDevicePrimaryCtxRelease_v2 cuStreamDestroy_v2 cuEventDestroy_v2 cuMemFree_v2 cuModuleUnload cuFuncSetAttribute "
    "cuMemFreeHost cuPointerGetAttribute cuFuncGetAttribute cuOccupancyMaxActiveBlocksPerMultiprocessor "
    "nvrtcDestroyProgram "
    "nvrtcGetProgramLogSize nvrtcGetProgramLog nvrtcGetPTXSize nvrtcGetPTX clGetPlatformInfo clGetDeviceInfo "
    "clReleaseContext clReleaseCommandQueue clReleaseMemObject clCreateProgramWithBinary clGetProgramInfo "
    "clGetProgramBuildInfo clReleaseProgram clReleaseKernel clReleaseEvent clFinish ";

/* Did one of the lines tell a failure, and does its sentence name the call? */
static bool failure_told(const outcome *o, const char *call, char text[1024])
{
    static const char *const lines[] = {
        "open", "deep",      "run",    "gemm",      "spaced",  "large",   "panels",
        "peak", "bandwidth", "shared", "workspace", "prepare", "enqueue", "captured too early"};
    char name[64];
    snprintf(name, sizeof name, "%.*s",
             (int)(strstr(call, "_v2") != NULL ? strstr(call, "_v2") - call : (long)strlen(call)), call);
    text[0] = '\0';
    for (int i = 0; i < (int)(sizeof lines / sizeof *lines); i++)
        if (told(o, lines[i], text) > 0)
            return strncmp(call, "nvrtc", 5) == 0 ? strstr(text, "NVRTC") != NULL || strstr(text, "nvrtc") != NULL
                                                  : true;
    return told(o, "state", text) == 0 && strstr(text, name) != NULL;
}

static void call_case(const char *engine, const char *folders, const char *call, int error, int only)
{
    outcome o;
    char variable[128], text[1024], why[256] = "";
    bool large = only == 0 && strcmp(engine, "cuda") == 0;
    if (only > 0)
        snprintf(variable, sizeof variable, "FAKES=%s=%d@%d", call, error, only);
    else
        snprintf(variable, sizeof variable, "FAKES=%s=%d", call, error);
    if (!tap_case("%s: %s", engine, variable + 6)) return;
    run_child(engine, folders,
              (const char *const[]){variable, large ? "FAULTS_LARGE=3" : NULL, large ? "FAULTS_PANELS=1" : NULL, NULL},
              &o);
    char word[64], failed[64];
    snprintf(word, sizeof word, " %s ", call);
    snprintf(failed, sizeof failed, "failed %s", call);
    bool right = sane(&o) && all_given_back(call, why);
    /* Every call that has failed ends something; a call that fails once may have been the one that may. */
    if (right && only == 0 && logged(failed) > 0 && strstr(may_fail, word) == NULL && !failure_told(&o, call, text)) {
        right = false;
        snprintf(why, sizeof why, "no sentence tells of it");
    }
    tap_result(right, "%s; exit %d:\n%s", why, o.exit, o.text);
}

/* On a processor, whose products begin with counters in a buffer that the host fills, each write fails once. */
static void processor_case(void)
{
    outcome o;
    char variable[64], why[256] = "";
    bool right = true, failed = true;
    int only = 0;
    if (!tap_case("opencl on a processor: each clEnqueueWriteBuffer fails once")) return;
    while (right && failed && only < 100) {
        snprintf(variable, sizeof variable, "FAKES=clEnqueueWriteBuffer=-5@%d", ++only);
        run_child("opencl", "opencl", (const char *const[]){"FAKE_OPENCL=processor=1", variable, NULL}, &o);
        failed = logged("failed clEnqueueWriteBuffer") > 0;
        right = sane(&o) && all_given_back("", why);
    }
    tap_result(right && !failed && only > 1, "%s: %s; exit %d:\n%s", variable, why, o.exit, o.text);
}

static void call_cases(void)
{
    for (int only = 0; only <= (tap.full ? 6 : 2); only++) {
        for (int i = 0; cuda_calls[i] != NULL; i++) call_case("cuda", "cuda:nvrtc", cuda_calls[i], 999, only);
        for (int i = 0; cuda_calls[i] != NULL; i++)
            if (strcmp(cuda_calls[i], "cuStreamCreateWithPriority") != 0) /* the program's own call there */
                call_case("streams", "cuda:nvrtc", cuda_calls[i], 999, only);
        for (int i = 0; opencl_calls[i] != NULL; i++) call_case("opencl", "opencl", opencl_calls[i], -5, only);
    }
}

/* How often a line stands in the part of the log that tells of the product in panels. */
static int logged_of_panels(const char *line)
{
    char text[256];
    int count = 0;
    bool inside = false;
    FILE *log = fopen(log_path, "r");
    while (log != NULL && fgets(text, sizeof text, log) != NULL) {
        text[strcspn(text, "\n")] = '\0';
        inside = strcmp(text, "begin panels") == 0 || (inside && strcmp(text, "end") != 0);
        count += inside && strcmp(text, line) == 0;
    }
    if (log != NULL) fclose(log);
    return count;
}

/* 2001 rows are 8 panels of 256 and what is left. A panel waits for B and its rows of A and C, and transposes those of
 * A; the lane of its copies waits for each piece, and one that comes down for the panel too. What fails on the way ends
 * the call, whichever thread meets it. */
static void panel_cases(void)
{
    static const struct {
        const char *call;
        int most; /* the call that fails: this one at the latest */
    } failing[] = {{"cuMemcpyHtoDAsync_v2", 40}, {"cuMemcpyDtoHAsync_v2", 30}, {"cuStreamWaitEvent", 100},
                   {"cuEventRecord", 100},       {"cuEventSynchronize", 60},   {"cuLaunchKernelEx", 14},
                   {"cuMemHostAlloc", 2}};
    outcome o;
    char text[1024], why[256] = "";
    for (int threads = 1; threads <= 8; threads += 7) {
        char variable[32];
        snprintf(variable, sizeof variable, "FAULTS_LARGE=%d", threads);
        if (!tap_case("cuda: a large product is copied beside the work, panel by panel, by %d threads", threads))
            continue;
        run_child("cuda", "cuda:nvrtc", (const char *const[]){variable, "FAULTS_PANELS=1", NULL}, &o);
        int launches = logged_of_panels("cuLaunchKernelEx"), up = logged_of_panels("cuMemcpyHtoDAsync_v2"),
            down = logged_of_panels("cuMemcpyDtoHAsync_v2");
        int waits = logged_of_panels("cuStreamWaitEvent");
        bool right = sane(&o) && told(&o, "panels", text) == TW_OK && launches == 2 * 8 &&
                     waits == 3 * 8 + up + 2 * down && down >= 33 && up >= down + 9;
        tap_result(right && all_given_back("", why), "%d launches, %d pieces up, %d down, %d waits; %s; exit %d:\n%s",
                   launches, up, down, waits, why, o.exit, o.text);
    }
    if (tap_case("cuda: of a large product in panels B is packed once, and the rows of A of each")) {
        run_child("cuda", "cuda:nvrtc", (const char *const[]){"FAULTS_PANELS=t", NULL}, &o);
        int launches = logged_of_panels("cuLaunchKernelEx"), of_a = logged_of_panels("packs a"),
            of_b = logged_of_panels("packs b");
        tap_result(sane(&o) && told(&o, "panels", text) == TW_OK && launches == 1 + 2 * 8 && of_a == 8 && of_b == 1,
                   "%d launches, %d pack A, %d B; exit %d:\n%s", launches, of_a, of_b, o.exit, o.text);
    }
    if (tap_case("cuda: a large product that is emulated in panels looks at, splits and computes each by itself")) {
        run_child("cuda", "cuda:nvrtc", (const char *const[]){"FAULTS_PANELS=e", NULL}, &o);
        int launches = logged_of_panels("cuLaunchKernelEx");
        tap_result(sane(&o) && told(&o, "panels", text) == TW_OK && launches == 5 * 8, "%d launches; exit %d:\n%s",
                   launches, o.exit, o.text);
    }
    if (tap_case("cuda: of a large complex product each panel writes squares of B, as the whole would")) {
        run_child("cuda", "cuda:nvrtc", (const char *const[]){"FAULTS_PANELS=c", NULL}, &o);
        int launches = logged_of_panels("cuLaunchKernelEx"); /* planes would have a pass behind, too */
        tap_result(sane(&o) && told(&o, "panels", text) == TW_OK && launches == 3 * 8, "%d launches; exit %d:\n%s",
                   launches, o.exit, o.text);
    }
    for (size_t i = 0; i < sizeof failing / sizeof *failing; i++) {
        if (!tap_case("cuda: a large product in panels in which %s fails, early or late", failing[i].call)) continue;
        char failed[64];
        snprintf(failed, sizeof failed, "failed %s", failing[i].call);
        bool right = true;
        for (int part = 1, parts = tap.full ? 5 : 2; right && part <= parts; part++) {
            char variable[64];
            snprintf(variable, sizeof variable, "FAKES=%s=999@%d", failing[i].call,
                     (failing[i].most * part + parts - 1) / parts);
            run_child("cuda", "cuda:nvrtc", (const char *const[]){variable, "FAULTS_PANELS=1", NULL}, &o);
            right = sane(&o) && all_given_back(failing[i].call, why);
            if (right && logged(failed) == 0) right = false, snprintf(why, sizeof why, "%s: nothing failed", variable);
        }
        tap_result(right, "%s; exit %d:\n%s", why, o.exit, o.text);
    }
}

/* ---- every allocation of ours, one at a time ---- */

static void allocation_case(const char *engine, const char *folders, bool keeps)
{
    outcome o;
    char text[1024];
    if (!tap_case("%s: each allocation fails once, and is told, with%s kept kernels", engine, keeps ? "" : "out"))
        return;
#ifdef LIBRARY_IS_SHARED
    tap_skip("the library is shared here, and its allocations are not this program's");
    return;
#endif
    run_child(engine, folders, (const char *const[]){"FAULTS_ALLOCATIONS=1", keeps ? cache_variable : NULL, NULL}, &o);
    int places = told(&o, "allocations", text);
    tap_result(sane(&o) && places > 5 && strcmp(text, "all told") == 0, "%d allocations, %s; exit %d:\n%s", places,
               text, o.exit, o.text);
    forget_cache();
}

/* ---- a driver that crashes ---- */

/* The program goes on, says which driver crashed and how, and ends with 8. */
static void crash_case(const char *command, const char *engine, const char *folders, const char *crash,
                       const char *says)
{
    const char *program = getenv("TILEWRIGHT");
    outcome o;
    char path[1024], name[16];
    if (!tap_case("%s with %s: the driver of %s %s", command, crash, engine, says)) return;
    if (program == NULL || access(program, X_OK) != 0) {
        tap_skip("TILEWRIGHT does not name the program");
        return;
    }
    snprintf(path, sizeof path, "%s", program);
    snprintf(name, sizeof name, "%s", command);
    run_program((char *[]){path, name, NULL}, folders, (const char *const[]){crash, "TILEWRIGHT_THREADS=1", NULL}, &o);
    char sentence[200];
    snprintf(sentence, sizeof sentence, "the driver of the %s engine %s", engine, says);
    bool rest = strstr(o.text, strcmp(command, "doctor") == 0 ? "self test cpu" : "cpu 0") != NULL;
    tap_result(o.exit == 8 && strstr(o.text, sentence) != NULL && rest, "exit %d, expected 8 and \"%s\":\n%s", o.exit,
               sentence, o.text);
}

/* A command that uses the driver itself ends with 8 and a sentence, whatever the driver does to the process. file: of a
 * user's kernel, which is given up after a second; NULL: a rung. */
static void end_case(const char *engine, const char *folders, const char *crash, const char *file, const char *says)
{
    const char *program = getenv("TILEWRIGHT");
    outcome o;
    char path[1024], name[16], own[200], ladder[] = "ladder", option[] = "--engine", rung[] = "--rung", r01[] = "r01",
                                         size[] = "--size", small[] = "16", deadline[] = "--deadline", second[] = "1",
                                         sentence[300];
    if (!tap_case("ladder with %s: the driver of %s %s", crash, engine, says + strspn(says, ") "))) return;
    if (program == NULL || access(program, X_OK) != 0) {
        tap_skip("TILEWRIGHT does not name the program");
        return;
    }
    snprintf(path, sizeof path, "%s", program);
    snprintf(name, sizeof name, "%s", engine);
    if (file != NULL) {
        snprintf(own, sizeof own, "%s/%s", work, file);
        FILE *text = fopen(own, "w");
        if (text == NULL || fprintf(text, "#include \"rung.%sh\"\n%s void mine(PARAMETERS) {}\n", strchr(file, '.') + 1,
                                    strcmp(engine, "cuda") == 0 ? "extern \"C\" __global__" : "__kernel") < 0)
            perror(own);
        if (text != NULL) fclose(text);
    }
    run_program((char *[]){path, ladder, option, name, rung, file != NULL ? own : r01, size, small,
                           file != NULL ? deadline : NULL, second, NULL},
                folders, (const char *const[]){crash, "CC=/nowhere/cc", NULL}, &o);
    if (file != NULL)
        snprintf(sentence, sizeof sentence, "tilewright: ladder: %s: the kernel", own);
    else
        snprintf(sentence, sizeof sentence, "tilewright: ladder: the driver of the %s engine", engine);
    const char *told = strstr(o.text, sentence);
    tap_result(o.exit == 8 && told != NULL && strstr(told, says) != NULL, "exit %d, expected 8 and \"%s\" \"%s\":\n%s",
               o.exit, sentence, says, o.text);
}

static void crash_cases(void)
{
    end_case("opencl", "opencl", "FAKE_CRASH=clGetPlatformIDs=6", NULL, " aborted: signal 6");
    end_case("opencl", "opencl", "FAKE_CRASH=clBuildProgram=6", NULL, ") aborted: signal 6");
    end_case("opencl", "opencl", "FAKE_CRASH=clEnqueueNDRangeKernel=11", NULL, ") crashed: signal 11");
    end_case("opencl", "opencl", "FAKE_CRASH=clBuildProgram=4", NULL, ") crashed: signal 4");
    end_case("opencl", "opencl", "FAKE_CRASH=clBuildProgram=-1", NULL, ") ended the program");
    end_case("cuda", "cuda:nvrtc", "FAKE_CRASH=cuInit=6", NULL, " aborted: signal 6");
    end_case("cuda", "cuda:nvrtc", "FAKE_CRASH=cuLaunchKernel=6", NULL, ") aborted: signal 6");
    end_case("opencl", "opencl", "FAKE_HANG=clBuildProgram=1", "mine.cl", " did not compile within 1 s");
    end_case("cuda", "cuda:nvrtc", "FAKE_HANG=nvrtcCompileProgram=1", "mine.cu", " did not compile within 1 s");
    crash_case("devices", "opencl", "opencl", "FAKE_CRASH=clGetPlatformIDs=6", "crashed: signal 6, Aborted");
    crash_case("devices", "opencl", "opencl", "FAKE_CRASH=clGetDeviceIDs=-3", "ended its process with exit status 3");
    crash_case("devices", "opencl", "opencl", "FAKE_CRASH=clBuildProgram=9", "crashed: signal 9, Killed");
    crash_case("devices", "cuda", "cuda:nvrtc", "FAKE_CRASH=cuInit=6", "crashed: signal 6, Aborted");
    crash_case("doctor", "opencl", "opencl", "FAKE_CRASH=clGetPlatformIDs=6", "crashed: signal 6, Aborted");
    crash_case("doctor", "cuda", "cuda:nvrtc", "FAKE_CRASH=cuLaunchKernel=6", "crashed: signal 6, Aborted");
}

/* ---- memory that is wanted and not needed ---- */

/* One allocation fails, which the product can do without: it comes out all the same, and nothing is left behind. */
static void spare_case(const char *name, const char *fault, const char *large, const char *what, const char *failed)
{
    char text[1024], why[256] = "";
    outcome o;
    if (!tap_case("cuda: without %s a product comes out", name)) return;
    run_child("cuda", "cuda:nvrtc", (const char *const[]){fault, large, NULL}, &o);
    int status = told(&o, what, text), failures = logged(failed);
    tap_result(sane(&o) && status == TW_OK && failures == 1 && all_given_back("", why),
               "%d failures, %s %d: %s %s; exit %d:\n%s", failures, what, status, text, why, o.exit, o.text);
}

static void spare_cases(void)
{
    /* after three of the rung's, three operands */
    spare_case("memory for packed operands", "FAKES=cuMemAlloc_v2=2@7", NULL, "gemm", "failed cuMemAlloc_v2");
    spare_case("pinned memory for a thread beside the caller's", "FAKES=cuMemHostAlloc=2@3", "FAULTS_LARGE=8", "large",
               "failed cuMemHostAlloc");
}

int main(int argc, char **argv)
{
    if (!faults_start(argc, argv)) return 1;
    device_cases();
    fork_case();
    call_cases();
    processor_case();
    panel_cases();
    for (int keeps = 0; keeps <= 1; keeps++) {
        allocation_case("cuda", "cuda:nvrtc", keeps);
        allocation_case("opencl", "opencl", keeps);
    }
    crash_cases();
    spare_cases();
    return faults_finish();
}
