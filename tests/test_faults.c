/* test_faults.c - machines on which something is missing, too old, broken, or not allowed: each gives a sentence that
 * says what to do, the right status, and no crash; the CPU engine goes on in the same process. */
#include <fcntl.h>

#include "engines/opencl/cl_api.h"
#include "support/faults.h"
#include "tilewright_lab.h"

typedef struct fault {
    const char *name, *engine, *folders;
    const char *variables[3];
    int state, open, run;                /* -1: there is no such line */
    const char *state_says[2], *says[2]; /* parts of the sentences: of the state; of the first failure after it */
} fault;

#define CUDA   "cuda", "cuda:nvrtc"
#define OPENCL "opencl", "opencl"
static const fault faults[] = {
    {"nothing is wrong", CUDA, {NULL}, 1, TW_OK, TW_OK, {"ready: 1 device", "compiles for sm_90a"}, {NULL}},
    {"no libcuda",
     "cuda",
     "broken",
     {NULL},
     0,
     TW_NO_DEVICE,
     -1,
     {"libcuda.so", "NVIDIA's driver brings libcuda.so.1"},
     {"libcuda.so", "driver brings"}},
    {"a libcuda and no GPU",
     CUDA,
     {"FAKES=cuInit=100"},
     0,
     TW_NO_DEVICE,
     -1,
     {"cuInit failed with CUDA_ERROR_NO_DEVICE (100)", "a container must be given the GPU"},
     {"cuInit"}},
    {"cuInit fails otherwise",
     CUDA,
     {"FAKES=cuInit=999"},
     0,
     TW_NO_DEVICE,
     -1,
     {"CUDA_ERROR_UNKNOWN (999)", "driver"},
     {"cuInit"}},
    {"cuInit fails with an error that has no name",
     CUDA,
     {"FAKES=cuInit=12345"},
     0,
     TW_NO_DEVICE,
     -1,
     {"(12345)", "driver"},
     {"cuInit"}},
    {"a driver that is too old",
     "cuda",
     "cuda_old:nvrtc",
     {NULL},
     0,
     TW_NO_DEVICE,
     -1,
     {"cuOccupancyMaxActiveBlocksPerMultiprocessor: too old", "driver"},
     {"too old"}},
    {"a driver that sees no device",
     CUDA,
     {"FAKE_CUDA=gpus=0"},
     0,
     TW_NO_DEVICE,
     -1,
     {"sees no device", "CUDA_VISIBLE_DEVICES"},
     {"sees no device"}},
    {"device memory runs out",
     CUDA,
     {"FAKES=cuMemAlloc_v2=2"},
     1,
     TW_OK,
     TW_NO_MEMORY,
     {"ready"},
     {"no device memory for 2304 bytes", "CUDA_ERROR_OUT_OF_MEMORY"}},
    {"a kernel fails while running",
     CUDA,
     {"FAKES=cuStreamSynchronize=700"},
     1,
     TW_OK,
     TW_DEVICE_FAILED,
     {"ready"},
     {"cuStreamSynchronize", "CUDA_ERROR_ILLEGAL_ADDRESS (700)"}},
    {"a launch fails",
     CUDA,
     {"FAKES=cuLaunchKernel=700"},
     1,
     TW_OK,
     TW_DEVICE_FAILED,
     {"ready"},
     {"cuLaunchKernel", "CUDA_ERROR_ILLEGAL_ADDRESS (700)"}},
    {"no context for want of memory",
     CUDA,
     {"FAKES=cuDevicePrimaryCtxRetain=2"},
     1,
     TW_NO_MEMORY,
     -1,
     {"ready"},
     {"cuDevicePrimaryCtxRetain", "CUDA_ERROR_OUT_OF_MEMORY"}},
    {"no NVRTC",
     CUDA,
     {"TILEWRIGHT_NVRTC=/nowhere/libnvrtc.so"},
     1,
     TW_OK,
     TW_BUILD_FAILED,
     {"no kernel can be compiled", "nvidia-cuda-nvrtc"},
     {"/nowhere/libnvrtc.so", "TILEWRIGHT_NVRTC names the file"}},
    {"an NVRTC without cubins",
     "cuda",
     "cuda:nvrtc_old",
     {NULL},
     1,
     TW_OK,
     TW_BUILD_FAILED,
     {"no kernel can be compiled", "too old"},
     {"nvrtcGetCUBINSize", "too old"}},
    {"an NVRTC that is too new for the device",
     CUDA,
     {"FAKE_CUDA=sm=70", "FAKE_ARCHS=75 80 90"},
     1,
     TW_OK,
     TW_BUILD_FAILED,
     {"no kernel can be compiled", "an older NVRTC has it"},
     {"this device is sm_70", "knows sm_75"}},
    {"an NVRTC that is older than the device",
     CUDA,
     {"FAKE_CUDA=sm=90", "FAKE_ARCHS=70 75 80"},
     1,
     TW_OK,
     TW_OK,
     {"ready", "compute_80"},
     {NULL}},
    {"an NVRTC that does not say what it knows",
     CUDA,
     {"FAKES=nvrtcGetSupportedArchs=1"},
     1,
     TW_OK,
     TW_BUILD_FAILED,
     {"no kernel can be compiled", "does not say"},
     {"does not say"}},
    {"a kernel does not compile",
     CUDA,
     {"FAKES=nvrtcCompileProgram=6"},
     1,
     TW_OK,
     TW_BUILD_FAILED,
     {"ready"},
     {"cuda/ladder/r04_banks.cu could not be compiled", "fake.cu(3): error"}},
    {"the driver refuses a fresh binary",
     CUDA,
     {"FAKES=cuModuleLoadData=200"},
     1,
     TW_OK,
     TW_DEVICE_FAILED,
     {"ready"},
     {"cuModuleLoadData", "CUDA_ERROR_INVALID_IMAGE (200)"}},

    {"nothing is wrong", OPENCL, {NULL}, 1, TW_OK, TW_OK, {"ready: 1 device", "OpenCL fake"}, {NULL}},
    {"no OpenCL loader",
     "opencl",
     "broken",
     {NULL},
     0,
     TW_NO_DEVICE,
     -1,
     {"libOpenCL.so", "ocl-icd-libopencl1"},
     {"libOpenCL.so"}},
    {"a loader and no driver",
     OPENCL,
     {"FAKES=clGetPlatformIDs=-1001"},
     0,
     TW_NO_DEVICE,
     -1,
     {"(-1001)", "pocl-opencl-icd"},
     {"/etc/OpenCL/vendors"}},
    {"a loader that is too old",
     "opencl",
     "opencl_old",
     {NULL},
     0,
     TW_NO_DEVICE,
     -1,
     {"has no clEnqueueReadBufferRect", "ocl-icd-libopencl1"},
     {"clEnqueueReadBufferRect"}},
    {"a driver without a device",
     OPENCL,
     {"FAKES=clGetDeviceIDs=-1"},
     0,
     TW_NO_DEVICE,
     -1,
     {"no device", "pocl-opencl-icd"},
     {"no device"}},
    {"the loader runs out of memory",
     OPENCL,
     {"FAKES=clGetPlatformIDs=-6"},
     0,
     TW_NO_MEMORY,
     -1,
     {"clGetPlatformIDs", "CL_OUT_OF_HOST_MEMORY (-6)"},
     {"clGetPlatformIDs"}},
    {"no context",
     OPENCL,
     {"FAKES=clCreateContext=-2"},
     1,
     TW_DEVICE_FAILED,
     -1,
     {"ready"},
     {"clCreateContext", "CL_DEVICE_NOT_AVAILABLE (-2)"}},
    {"a kernel does not compile",
     OPENCL,
     {"FAKES=clBuildProgram=-11"},
     1,
     TW_OK,
     TW_BUILD_FAILED,
     {"ready"},
     {"opencl/ladder/r04_banks.cl could not be compiled", "fake.cl:3: error"}},
    {"device memory runs out",
     OPENCL,
     {"FAKES=clCreateBuffer=-4"},
     1,
     TW_OK,
     TW_NO_MEMORY,
     {"ready"},
     {"no device memory for 2304 bytes", "CL_MEM_OBJECT_ALLOCATION_FAILURE"}},
    {"a launch fails",
     OPENCL,
     {"FAKES=clEnqueueNDRangeKernel=-5"},
     1,
     TW_OK,
     TW_DEVICE_FAILED,
     {"ready"},
     {"clEnqueueNDRangeKernel", "CL_OUT_OF_RESOURCES (-5)"}},
    {"memory runs out as C comes down",
     OPENCL,
     {"FAKES=clEnqueueReadBuffer=-4"},
     1,
     TW_OK,
     TW_DEVICE_FAILED,
     {"ready"},
     {"clEnqueueReadBuffer", "CL_MEM_OBJECT_ALLOCATION_FAILURE"}},
    {"memory runs out as C comes down",
     CUDA,
     {"FAKES=cuMemcpyDtoH_v2=2"},
     1,
     TW_OK,
     TW_DEVICE_FAILED,
     {"ready"},
     {"cuMemcpyDtoH", "CUDA_ERROR_OUT_OF_MEMORY"}},
    {"a kernel fails while running",
     OPENCL,
     {"FAKES=clWaitForEvents=-14"},
     1,
     TW_OK,
     TW_DEVICE_FAILED,
     {"ready"},
     {"kernel", "(-14)"}},
};

static void fault_case(const fault *f)
{
    outcome o;
    char state_text[1024], open_text[1024], run_text[1024];
    if (!tap_case("%s: %s", f->engine, f->name)) return;
    run_child(f->engine, f->folders, f->variables, &o);
    int state = told(&o, "state", state_text), open = told(&o, "open", open_text), run = told(&o, "run", run_text);
    const char *failure = open > 0 ? open_text : run_text;
    bool right = sane(&o) && state == f->state && open == f->open && run == f->run;
    tap_result(right && says(state_text, f->state_says) && says(failure, f->says),
               "expected state %d, open %d, run %d, \"%s\" \"%s\", \"%s\" \"%s\"; exit %d:\n%s", f->state, f->open,
               f->run, f->state_says[0], f->state_says[1] ? f->state_says[1] : "", f->says[0] ? f->says[0] : "",
               f->says[1] ? f->says[1] : "", o.exit, o.text);
}

static bool is_ready(const fault *f) { return strncmp(f->state_says[0], "ready", 5) == 0; }

/* Would doctor, whose self-tests take seconds, have another thing to say of this fault than of those before it: an
 * engine that is missing, cannot be used as it is, fails, or works? --full asks it of all. */
static bool asks_doctor(const fault *f)
{
    if (tap.full) return true;
    for (const fault *g = faults; g < f; g++)
        if (strcmp(g->engine, f->engine) == 0 && g->state == f->state && is_ready(g) == is_ready(f) &&
            (g->run == TW_OK) == (f->run == TW_OK))
            return false;
    return true;
}

/* doctor tells the same sentence and ends; a named engine without a device is an error of its own. */
static void program_cases(const fault *f)
{
    const char *program = getenv("TILEWRIGHT");
    outcome o, p;
    char sentence[1024], advice[1040], path[1024], doctor[] = "doctor", ladder[] = "ladder", option[] = "--engine",
                                                   engine[16], size[] = "--size", sixteen[] = "16";
    snprintf(engine, sizeof engine, "%s", f->engine);
    snprintf(path, sizeof path, "%s", program != NULL ? program : "");
    if (asks_doctor(f) && tap_case("doctor on %s: %s", f->engine, f->name)) {
        if (program == NULL || access(program, X_OK) != 0) {
            tap_skip("TILEWRIGHT does not name the program");
        } else {
            run_child(f->engine, f->folders, f->variables, &o);
            told(&o, "state", sentence);
            run_program((char *[]){path, doctor, NULL}, f->folders, f->variables, &p);
            bool ended = f->state == 0 ? p.exit == 0 : p.exit >= 0 && p.exit <= 8;
            bool unready = f->state == 1 && strncmp(sentence, "ready", 5) != 0;
            snprintf(advice, sizeof advice, " %s: %s", f->engine, sentence);
            ended = ended && (strstr(p.text, advice) != NULL || !unready);
            tap_result(ended && strstr(p.text, sentence) != NULL, "exit %d, \"%s\" is not in\n%s", p.exit, sentence,
                       p.text);
        }
    }
    if (f->open == TW_NO_DEVICE && tap_case("ladder on %s: %s", f->engine, f->name)) {
        if (program == NULL || access(program, X_OK) != 0) {
            tap_skip("TILEWRIGHT does not name the program");
        } else {
            run_program((char *[]){path, ladder, option, engine, size, sixteen, NULL}, f->folders, f->variables, &p);
            tap_result(p.exit == 3 && strstr(p.text, f->state_says[0]) != NULL, "exit %d, expected 3 and \"%s\":\n%s",
                       p.exit, f->state_says[0], p.text);
        }
    }
}

/* A device that says that all went well and has computed nothing: no rung gets a time. */
static void idle_case(const char *engine, const char *folders)
{
    const char *program = getenv("TILEWRIGHT");
    outcome o;
    char path[1024], name[16];
    char ladder[] = "ladder", option[] = "--engine", rung[] = "--rung", r04[] = "r04", size[] = "--size",
         sixteen[] = "16", json[] = "--json", out[] = "-";
    if (!tap_case("ladder on %s: a device that computes nothing", engine)) return;
    if (program == NULL || access(program, X_OK) != 0) {
        tap_skip("TILEWRIGHT does not name the program");
        return;
    }
    snprintf(path, sizeof path, "%s", program);
    snprintf(name, sizeof name, "%s", engine);
    run_program((char *[]){path, ladder, option, name, rung, r04, size, sixteen, json, out, NULL}, folders,
                (const char *const[]){NULL}, &o);
    bool timed = strstr(o.text, "\"median_s\": null") == NULL;
    tap_result(o.exit == 1 && strstr(o.text, "WRONG") != NULL && !timed,
               "exit %d, expected 1, WRONG and no median:\n%s", o.exit, o.text);
}

/* Runs that a row of faults[] cannot tell of: a line of the child, its number, a part of its text; "!": a part that
 * must not be there. */
static const struct {
    const char *name, *engine, *folders;
    const char *variables[4];
    struct {
        const char *line;
        int number;
        const char *says;
    } expected[4];
} tellings[] = {
    {"one of two platforms is broken: the other is used",
     OPENCL,
     {"FAKE_OPENCL=platforms=2 broken=1"},
     {{"state", 1, "platform 0 (Fake) is left out: clGetDeviceIDs failed with CL_DEVICE_NOT_AVAILABLE (-2)"},
      {"gemm", TW_OK, ""},
      {"devices", TW_OK, "opencl: platform 0 (Fake) is left out"},
      {"count", 2, ""}}},
    {"a broken engine does not hide the others",
     OPENCL,
     {"FAKES=clGetPlatformIDs=-6"},
     {{"devices", TW_OK, "opencl: clGetPlatformIDs failed with CL_OUT_OF_HOST_MEMORY (-6)"}, {"count", 1, ""}}},
    {"a platform without devices is not broken",
     OPENCL,
     {"FAKES=clGetDeviceIDs=-1@1", "FAKE_OPENCL=platforms=2"},
     {{"state", 1, "!left out"}}},
    {"a call that is not timed needs no profiling",
     OPENCL,
     {"FAKES=clGetEventProfilingInfo=-7"},
     {{"run", TW_DEVICE_FAILED, "(-7)"}, {"gemm", TW_OK, ""}, {"spaced", TW_OK, ""}}},
    {"memory runs out while a kernel writes a C in its caller's memory",
     OPENCL,
     {"FAKE_OPENCL=processor=1", "FAKES=clWaitForEvents=-6", "FAULTS_LARGE=0"},
     {{"gemm", TW_NO_MEMORY, "the kernel"}, {"large", TW_DEVICE_FAILED, "the kernel"}}},
    {"memory runs out as a processor shows a C in its caller's memory",
     OPENCL,
     {"FAKE_OPENCL=processor=1", "FAKES=clEnqueueMapBuffer=-4", "FAULTS_LARGE=0"},
     {{"large", TW_DEVICE_FAILED, "clEnqueueMapBuffer"}}},
    {"no warps: the whole group waits", OPENCL, {NULL}, {{"skinny", TW_OK, "!SUBGROUP"}}},
    {"warps: a row of the tile waits for itself",
     OPENCL,
     {"FAKE_OPENCL=warp=32"},
     {{"skinny", TW_OK, "-DSUBGROUP_BARRIER=1"}, {"gemm", TW_OK, ""}}},
    {"warps narrower than a row", OPENCL, {"FAKE_OPENCL=warp=8"}, {{"skinny", TW_OK, "!SUBGROUP"}}},
    {"rows further apart than a 2D copy may be",
     CUDA,
     {"FAKE_CUDA=pitch=1000", "FAKES=cuMemcpy2DUnaligned_v2=1"},
     {{"spaced", TW_OK, ""}, {"gemm", TW_OK, ""}}},
    {"tensor maps where driver, device and NVRTC have them",
     CUDA,
     {NULL},
     {{"plan", TW_OK, "cuda_f32_sgemm_tma_sm90_128x128"}, {"gemm", TW_OK, ""}}},
    {"no tensor maps with an NVRTC that does not know sm_90",
     CUDA,
     {"FAKE_ARCHS=70 75 80 86"},
     {{"state", 1, "compute_86"}, {"plan", TW_OK, "cuda_f32_sgemm_cpasync_sm80_128x128"}, {"gemm", TW_OK, ""}}},
    {"no tensor maps with an NVRTC of CUDA 11",
     CUDA,
     {"FAKE_NVRTC=major=11"},
     {{"state", 1, "compiles for sm_90;"},
      {"plan", TW_OK, "cuda_f32_sgemm_cpasync_sm80_128x128"},
      {"gemm", TW_OK, ""}}},
    {"tensor maps on a device that is newer than NVRTC",
     CUDA,
     {"FAKE_CUDA=sm=100", "FAKE_ARCHS=80 90"},
     {{"state", 1, "compute_90"}, {"plan", TW_OK, "cuda_f32_sgemm_tma_sm90_128x128"}, {"gemm", TW_OK, ""}}},
    {"no tensor maps before sm_90",
     CUDA,
     {"FAKE_CUDA=sm=89"},
     {{"plan", TW_OK, "cuda_f32_sgemm_cpasync_sm80_128x128"}, {"gemm", TW_OK, ""}}},
    {"no asynchronous copies before sm_80",
     CUDA,
     {"FAKE_CUDA=sm=75"},
     {{"plan", TW_OK, "cuda_f32_sgemm_simt_128x128"}, {"gemm", TW_OK, ""}}},
    {"warps whose barrier does not compile",
     OPENCL,
     {"FAKE_OPENCL=warp=32", "FAKES=clBuildProgram=-11@1"},
     {{"skinny", TW_OK, "!SUBGROUP"}, {"gemm", TW_OK, ""}}},
};

static void telling_cases(void)
{
    outcome o;
    char text[1024];
    for (size_t i = 0; i < sizeof tellings / sizeof *tellings; i++) {
        if (!tap_case("%s: %s", tellings[i].engine, tellings[i].name)) continue;
        run_child(tellings[i].engine, tellings[i].folders, tellings[i].variables, &o);
        const char *wrong = sane(&o) ? NULL : "the child";
        for (int j = 0; j < 4 && tellings[i].expected[j].line != NULL && wrong == NULL; j++) {
            const char *says = tellings[i].expected[j].says;
            bool right = told(&o, tellings[i].expected[j].line, text) == tellings[i].expected[j].number;
            if (!right || (says[0] == '!' ? strstr(text, says + 1) != NULL : strstr(text, says) == NULL))
                wrong = tellings[i].expected[j].line;
        }
        tap_result(wrong == NULL, "%s is not as expected; exit %d:\n%s", wrong, o.exit, o.text);
    }
}

/* Each thread has two pieces of pinned memory, kept for the next copy. */
static void large_cases(void)
{
    outcome o;
    char text[1024];
    for (int threads = 1; threads <= 16; threads += 5) {
        if (!tap_case("cuda: large operands are copied through pinned memory by %d threads", threads)) continue;
        char variable[32];
        snprintf(variable, sizeof variable, "FAULTS_LARGE=%d", threads);
        run_child("cuda", "cuda:nvrtc", (const char *const[]){variable, NULL}, &o);
        int pieces = logged("cuMemcpyDtoHAsync_v2"), pinned = logged("cuMemHostAlloc"),
            streams_made = logged("cuStreamCreate");
        bool right = sane(&o) && told(&o, "large", text) == TW_OK && pieces >= 4 * 8 && pinned >= 2 &&
                     pinned <= 2 * threads;
        right = right && logged("cuMemFreeHost") == pinned && logged("cuStreamDestroy_v2") == streams_made;
        tap_result(right, "%d pieces came down through %d buffers; exit %d:\n%s", pieces, pinned, o.exit, o.text);
    }
}

static void affinity_case(void)
{
    outcome o;
    char text[1024];
    if (!tap_case("cuda: large operands are copied by as many threads as the process has processors")) return;
    run_child("cuda", "cuda:nvrtc", (const char *const[]){"FAULTS_LARGE=0", "FAULTS_ONE_PROCESSOR=1", NULL}, &o);
    int pinned = logged("cuMemHostAlloc");
    tap_result(sane(&o) && told(&o, "large", text) == TW_OK && pinned == 2,
               "%d buffers for one thread's two; exit %d:\n%s", pinned, o.exit, o.text);
}

/* A stream and its events are made once for all calls one after the other, and once for each of those that run at a
 * time. */
static void lane_cases(void)
{
    outcome o;
    char text[1024];
    for (int threads = 0; threads < 2; threads++) {
        if (!tap_case("cuda: streams are kept for the next calls, %s", threads ? "of many threads" : "of one thread"))
            continue;
        run_child("cuda", "cuda:nvrtc", (const char *const[]){threads ? "FAULTS_THREADS=1" : NULL, NULL}, &o);
        int streams = logged("cuStreamCreate"), events = logged("cuEventCreate"),
            calls = logged("cuLaunchKernel") + logged("cuLaunchKernelEx");
        bool right = sane(&o) && told(&o, "gemm", text) == TW_OK && told(&o, "threads", text) == (threads ? TW_OK : -1);
        right = right && calls >= (threads ? THREADS * CALLS : 5) && streams >= 1 &&
                streams <= (threads ? THREADS : 1) && events == 2 * streams;
        tap_result(right && logged("cuStreamDestroy_v2") == streams && logged("cuEventDestroy_v2") == events,
                   "%d launches with %d streams, %d events; exit %d:\n%s", calls, streams, events, o.exit, o.text);
    }
}

/* The machine's own loader, with no driver in sight. */
static void real_loader_case(void)
{
    outcome o;
    char text[1024];
    if (!tap_case("opencl: this machine's loader without its drivers")) return;
    if (cl_api_load() == NULL) {
        tap_skip("no OpenCL loader is installed");
        return;
    }
    run_child("opencl", "", (const char *const[]){"OCL_ICD_VENDORS=/nowhere", NULL}, &o);
    int state = told(&o, "state", text);
    if (state == 1)
        tap_skip("this machine's loader finds drivers without OCL_ICD_VENDORS, as NVIDIA's does");
    else
        tap_result(sane(&o) && state == 0 && strstr(text, "-1001") != NULL && strstr(text, "pocl-opencl-icd") != NULL,
                   "exit %d:\n%s", o.exit, o.text);
}

/* More options for the compiler come from the environment, but not into a program that runs for another user. */
static void option_cases(void)
{
    const char *const variables[] = {"TILEWRIGHT_OPENCL_OPTIONS=-DOF_THE_ENVIRONMENT", NULL};
    char library[128], program[128], command[2600], engine[] = "opencl", named[200];
    outcome o;
    if (tap_case("opencl: options of the environment reach the compiler")) {
        run_child("opencl", "opencl", variables, &o);
        tap_result(sane(&o) && logged("options of the environment") > 0, "exit %d:\n%s", o.exit, o.text);
    }
    if (!tap_case(
            "opencl: options of the environment do not reach the compiler of a program that runs for another user"))
        return;
#ifdef LIBRARY_IS_SHARED
    tap_skip("the library is shared here, and such a program does not look for it in its own folder");
    return;
#endif
    snprintf(program, sizeof program, "%s/privileged", work);
    snprintf(library, sizeof library, "%s/libOpenCL.so.1", work);
    snprintf(named, sizeof named, "FAULTS_PRIVILEGED=%s", library);
    snprintf(command, sizeof command,
             "cp '%s' '%s' && cp '%s/opencl/libOpenCL.so.1' '%s' && chown %d '%s' 2>/dev/null && chmod 4755 '%s'",
             FAULTY_PROGRAM, program, FAKES_FOLDER, library, NOBODY, program, program);
    if (system(command) != 0) {
        tap_skip("only root can make a program that runs for another user");
        return;
    }
    chmod(work, 0777); /* for the log, which is nobody's */
    run_program((char *[]){program, engine, NULL}, "opencl", (const char *const[]){variables[0], named, NULL}, &o);
    chmod(work, 0755);
    if (o.exit == 96)
        tap_skip("programs here do not run for their owner");
    else
        tap_result(sane(&o) && logged("clBuildProgram") > 0 && logged("options of the environment") == 0 &&
                       logged("a program with warnings") == 0,
                   "%d programs were built, %d with these options; exit %d:\n%s", logged("clBuildProgram"),
                   logged("options of the environment"), o.exit, o.text);
}

int main(int argc, char **argv)
{
    if (!faults_start(argc, argv)) return 1;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) fault_case(&faults[i]);
    real_loader_case();
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) program_cases(&faults[i]);
    telling_cases();
    affinity_case();
    lane_cases();
    large_cases();
    idle_case("cuda", "cuda:nvrtc");
    idle_case("opencl", "opencl");
    option_cases();
    return faults_finish();
}
