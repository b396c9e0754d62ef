/* test_oclgrind.c - every OpenCL kernel at small sizes under oclgrind, which simulates a device and reports data races
 * between work-items, reads of what was never written, accesses outside a buffer, and barriers that not all work-items
 * reach. Any report fails.
 *
 * oclgrind is loaded as a driver, through a folder of .icd files that names it alone: its own wrapper crashes on
 * programs that dlopen the loader. Its exit status stays 0; its reports go to a file. Kernels are built without
 * optimisation, since it judges what is left of them. Each case is a process of its own. That reports are seen is shown
 * with kernels that have faults. Of square tiles those of 8 have beta 0, those of 16 padding and a beta; reads of what
 * was never written, whose search takes the longest, are looked for in f32's tiles up to 32 x 32, sliced-K and split-K
 * of many columns apart.
 * --full: both have both, and all are looked for. */
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engines/opencl/cl_api.h"
#include "oracle.h"
#include "support/tap.h"

static char folder[] = "/tmp/tilewright-oclgrind.XXXXXX", log_path[64], icd_path[64];

static const char *oclgrind_path(void)
{
    static const char *const paths[] = {"/usr/lib/oclgrind/liboclgrind-rt-icd.so",
                                        "/usr/local/lib/oclgrind/liboclgrind-rt-icd.so",
                                        "/usr/lib/liboclgrind-rt-icd.so", "/usr/local/lib/liboclgrind-rt-icd.so"};
    const char *own = getenv("TILEWRIGHT_OCLGRIND");
    if (own != NULL) return own;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        if (access(paths[i], R_OK) == 0) return paths[i];
    return NULL;
}

/* Where the simulator is to be had, before the loader is loaded in this process. */
static void enter_simulator(void)
{
    setenv("OCL_ICD_VENDORS", folder, 1);
    setenv("OCLGRIND_LOG", log_path, 1);
    setenv("OCLGRIND_DATA_RACES", "1", 1);
    setenv("OCLGRIND_UNINITIALIZED", "1", 1);
    setenv("OCLGRIND_MAX_ERRORS", "20", 1);
    setenv("OCLGRIND_LOCAL_MEM_SIZE", "53248", 1); /* as GPUs have it, and what emulating takes */
    setenv("TILEWRIGHT_OPENCL_OPTIONS", "-cl-opt-disable -DEMULATED_SM80=1", 1);
    setenv("TILEWRIGHT_CACHE", "off", 1);
    setenv("TILEWRIGHT_SELF_TEST", "off", 1); /* it simulates slowly */
}

enum { MANY_COLUMNS = 8 * 512 };

/* Run work in a process of its own; its reports in text. Returns its exit status, -1 if it crashed. */
static int simulate(int (*work)(const void *), const void *argument, char *text, size_t bytes)
{
    int status = -1;
    unlink(log_path);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        enter_simulator();
        alarm(600);
        _exit(work(argument));
    }
    if (child < 0 || waitpid(child, &status, 0) != child) return -1;
    FILE *log = fopen(log_path, "r");
    size_t length = log != NULL ? fread(text, 1, bytes - 1, log) : 0;
    text[length] = '\0';
    if (log != NULL) fclose(log);
    for (char *at = text; *at != '\0'; at++)
        if (*at == '\n' || *at == '\t') *at = ' ';
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* ---- the kernels ---- */

typedef struct run_case {
    const tw_lab_kernel *kernel;
    tw_problem problem;
    tw_lab_choice choice;
} run_case;

enum { RIGHT = 0, WRONG = 1, NOT_RUN = 2, NOT_SIMULATED = 3, REFUSED = 4 };

/* Does it have stages, which should come round? */
static bool stages_of(const tw_lab_kernel *kernel) { return strncmp(kernel->needs, "sm_", 3) == 0; }

static bool is_sliced_k(const tw_lab_kernel *kernel) { return strncmp(kernel->rung, "gemm_slicedk", 12) == 0; }

static int run_kernel(const void *argument)
{
    const run_case *r = argument;
    tw_options options = {.size = sizeof options, .engine = "opencl"};
    tw_device device = {.size = sizeof device};
    tw_context *context;
    tw_lab_run *run;
    oracle o;
    char reason[256];
    if (!tap.full && (r->kernel->dtype != TW_F32 || r->kernel->tile_m * r->kernel->tile_n > 1024 ||
                      is_sliced_k(r->kernel) || r->problem.n > MANY_COLUMNS))
        unsetenv("OCLGRIND_UNINITIALIZED");
    if (tw_open(&options, &context) != TW_OK || tw_describe(context, &device) != TW_OK ||
        strstr(device.name, "Oclgrind") == NULL)
        return NOT_SIMULATED;
    if (tw_lab_fits(context, &r->choice, &r->problem, reason, sizeof reason) != 1) {
        fprintf(stderr, "# %s\n", reason);
        return REFUSED;
    }
    if (oracle_make(&r->problem, ORACLE_EXACT, 1, 0, &o) != TW_OK) return NOT_RUN;
    void *c = malloc(oracle_c_bytes(&o));
    oracle_poison(&o, c);
    if (tw_lab_run_open(context, &r->choice, &r->problem, o.a, o.b, c, &run) != TW_OK ||
        tw_lab_run_once(run, NULL) != TW_OK || tw_lab_run_fetch(run, c) != TW_OK) {
        fprintf(stderr, "# %s\n", tw_error_text());
        return NOT_RUN;
    }
    int status = oracle_judge(&o, c).passed ? RIGHT : WRONG;
    tw_lab_run_close(run);
    return status;
}

static void kernel_case(const tw_lab_kernel *kernel, int tile, int variant)
{
    static const char *const outcomes[] = {"", "the product is wrong", "it could not be run",
                                           "oclgrind's device was not found", "it does not fit"};
    char text[1500];
    run_case r = {.kernel = kernel, .choice = {.kernel = kernel->name, .tile = kernel->skinny ? 0 : tile}};
    const bool stages = stages_of(kernel), sliced = is_sliced_k(kernel);
    int m = kernel->tile_m > 1 ? kernel->tile_m : tile, n = kernel->tile_n > 1 ? kernel->tile_n : tile,
        k = kernel->skinny        ? tile
            : sliced              ? 2 * kernel->tile_k + 3                                 /* both stages, one again */
            : stages              ? (kernel->dtype == TW_F64 ? 4 : 3) * kernel->tile_k + 3 /* a step more than stages */
            : kernel->tile_k == 8 ? 8 + 3                                                  /* a step and a cut one */
                                  : 16 + 3;
    tw_op op = kernel->transposes && variant ? TW_T : TW_N;
    /* Small blocks: one group more in each direction, of which little is inside C. Large ones: one group that C cuts in
     * both; then two, but of r10, which r11 takes further. Rows whose ends are aligned, then not. */
    if (sliced)
        m = 36, n = 20; /* one group is whole along m */
    else if (stages)
        m = 20, n = 20;
    else if (strncmp(kernel->rung, "gemv", 4) == 0)
        m = kernel->tile_m == 1 ? 1 : 132, n = kernel->tile_n == 1 ? 1 : 132;
    else if (m * n <= 1024)
        m += 2, n += 4;
    else if (variant && strcmp(kernel->rung, "r10_register") != 0)
        m += 2, n = 20;
    else
        m = 20, n -= 4;
    /* tiles so many that a block keeps both steps of k; f32 stands for the other types of one text */
    const bool of_most = kernel->dtype == TW_F32 || tap.full;
    if (strncmp(kernel->rung, "d1", 2) == 0 && tile == 8 && !variant && of_most) m = 8, n = MANY_COLUMNS + 8, k = 11;
    r.problem = tw_problem_make(kernel->dtype, op, op, m, n, variant || kernel->skinny ? k : k + 1);
    if (variant) r.problem.lda += 1, r.problem.ldb += 2, r.problem.ldc += 3, r.problem.alpha = 2, r.problem.beta = -1;
    if (!tap_case("%s %s %s", kernel->name,
                  tile > 0 ? (tile == 8    ? "T=8"
                              : tile == 16 ? "T=16"
                                           : "T=32")
                           : "-",
                  variant ? "padded, beta -1" : "beta 0"))
        return;
    int status = simulate(run_kernel, &r, text, sizeof text);
    tap_result(status == RIGHT && text[0] == '\0', "%s; reports: %.1200s",
               status >= 0 ? outcomes[status] : "it crashed", text);
}

/* In the covering set tiled rungs and tiles of one text have one variant each, in turns; f32's smallest has both.
 * Of slices two tiles stand for all: one stage ahead, and two. */
static bool covers(const tw_lab_kernel *kernel, int tile, int variant)
{
    if (tap.full) return true;
    if (stages_of(kernel)) return variant == (kernel->dtype == TW_I8);
    if (kernel->skinny) return true;
    if (tile > 0) return variant == (tile == 16);
    if (strcmp(kernel->rung, "r10s_scalar") == 0) return variant == 0; /* it knows no rows that are aligned */
    if (is_sliced_k(kernel)) return kernel->tile_m == 32 && variant == (kernel->tile_n < 32);
    return strncmp(kernel->rung, "gemm_simt", 9) != 0 || (kernel->dtype == TW_F32 && kernel->tile_m == 32) ||
           variant == ((int)kernel->dtype + kernel->tile_m / 32 + kernel->tile_n / 64) % 2;
}

/* ---- planted faults ---- */

typedef struct planted {
    const char *name, *text, *expected; /* part of a report; "": there must be none */
} planted;

static const planted faults[] = {
    {"a kernel without a fault is not reported",
     "__kernel void planted(__global int *x) { __local int y[8]; int i = get_local_id(0); y[i] = i; "
     "barrier(CLK_LOCAL_MEM_FENCE); x[i] = y[7 - i]; }",
     ""},
    {"a race is reported",
     "__kernel void planted(__global int *x) { __local int y[8]; int i = get_local_id(0); y[i] = i; x[i] = y[7 - i]; }",
     "data race"},
    {"a race in global memory is reported", "__kernel void planted(__global int *x) { x[0] = get_local_id(0); }",
     "data race"},
    {"an uninitialised read is reported",
     "__kernel void planted(__global int *x) { __local int y[8]; int i = get_local_id(0); if (i != 3) y[i] = i; "
     "barrier(CLK_LOCAL_MEM_FENCE); x[i] = y[i] > 2 ? 1 : 2; }",
     "ninitialized"},
    {"a read outside a buffer is reported",
     "__kernel void planted(__global int *x) { int i = get_local_id(0); x[i] = x[i + 1 + 8]; }", "Invalid read"},
    {"a write outside a buffer is reported", "__kernel void planted(__global int *x) { x[get_local_id(0) + 1] = 1; }",
     "Invalid write"},
    {"a barrier that some do not reach is reported",
     "__kernel void planted(__global int *x) { if (get_local_id(0) < 4) barrier(CLK_LOCAL_MEM_FENCE); "
     "x[get_local_id(0)] = 1; }",
     "divergence"},
};

static int run_planted(const void *argument)
{
    const planted *f = argument;
    const cl_api *cl = cl_api_load();
    cl_platform platform;
    cl_device device;
    cl_int error = CL_SUCCESS;
    cl_uint count = 0;
    size_t items = 8;
    int32_t zeros[8] = {0};
    if (cl == NULL || cl->clGetPlatformIDs(1, &platform, &count) != CL_SUCCESS || count == 0) return NOT_SIMULATED;
    if (cl->clGetDeviceIDs(platform, (cl_bitfield)CL_DEVICE_TYPE_ALL, 1, &device, &count) != CL_SUCCESS)
        return NOT_SIMULATED;
    cl_context context = cl->clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    cl_queue queue = cl->clCreateCommandQueue(context, device, 0, &error);
    cl_program program = cl->clCreateProgramWithSource(context, 1, (const char **)(uintptr_t)&f->text, NULL, &error);
    if (cl->clBuildProgram(program, 1, &device, "-cl-opt-disable", NULL, NULL) != CL_SUCCESS) return NOT_RUN;
    cl_kernel kernel = cl->clCreateKernel(program, "planted", &error);
    cl_memory memory = cl->clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof zeros, NULL, &error);
    cl->clEnqueueWriteBuffer(queue, memory, 1, 0, sizeof zeros, zeros, 0, NULL, NULL);
    cl->clSetKernelArg(kernel, 0, sizeof memory, &memory);
    error |= cl->clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, &items, 0, NULL, NULL);
    error |= cl->clFinish(queue);
    return error == CL_SUCCESS ? RIGHT : NOT_RUN;
}

static void planted_case(const planted *f)
{
    char text[1500];
    if (!tap_case("%s", f->name)) return;
    int status = simulate(run_planted, f, text, sizeof text);
    bool reported = f->expected[0] != '\0' ? strstr(text, f->expected) != NULL : text[0] == '\0';
    tap_result(status == RIGHT && reported, "exit status %d, expected \"%s\", reports: %.1200s", status, f->expected,
               text);
}

int main(int argc, char **argv)
{
    tap_start(argc, argv);
    const char *driver = oclgrind_path();
    if (driver == NULL) {
        if (tap_case("OpenCL kernels under oclgrind")) tap_skip("oclgrind is not installed (Debian: oclgrind)");
        return tap_finish();
    }
    if (mkdtemp(folder) == NULL) return 1;
    snprintf(log_path, sizeof log_path, "%s/reports", folder);
    snprintf(icd_path, sizeof icd_path, "%s/oclgrind.icd", folder);
    FILE *icd = fopen(icd_path, "w");
    if (icd == NULL || fprintf(icd, "%s\n", driver) < 0 || fclose(icd) != 0) return 1;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) planted_case(&faults[i]);
    for (int i = 0; i < tw_lab_kernel_count(); i++) {
        const tw_lab_kernel *kernel = tw_lab_kernel_at(i);
        bool tiled = kernel->default_tile > 0;
        if (strcmp(kernel->engine, "opencl") != 0) continue;
        /* f16 and u8 differ from bf16 and i8 by a conversion */
        if (!tap.full && (kernel->dtype == TW_F16 || kernel->dtype == TW_U8)) continue;
        /* the text of f32's row with another type: the smallest tile, and the panels that processors here take */
        if (!tap.full && kernel->dtype != TW_F32 && kernel->tile_m != 32 && kernel->tile_m != 8 &&
            !(strstr(kernel->rung, "gemm_mma") != NULL && kernel->tile_m == 64 &&
              (kernel->dtype == TW_I8 || kernel->dtype == TW_F64)))
            continue;
        for (int tile = kernel->skinny ? 16 : tiled ? 8 : 0; tile <= (tap.full ? 32 : 16); tile = tile * 2) {
            for (int variant = 0; variant < 2; variant++)
                if (covers(kernel, tile, variant)) kernel_case(kernel, tile, variant);
            if (!tiled) break;
        }
    }
    unlink(log_path), unlink(icd_path), rmdir(folder);
    return tap_finish();
}
