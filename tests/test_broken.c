/* test_broken.c - a wrong kernel is caught: copies of opencl/ladder/r04_banks.cl, each broken in one way, against both
 * oracles.
 *
 * A copy is the text of the kernel with one change. It runs on this machine, compiled as C (host_kernel.h), and on
 * the first OpenCL device, if there is one, through the API itself, since the library runs no kernel but its own. The
 * unbroken copy must pass, and so must one that is off by half of what rounding may do; all others must be refused. */
#include <math.h>

#include "../course/judge/host_kernel.h"
#include "engines/gpu.h"
#include "engines/opencl/cl_api.h"
#include "oracle.h"
#include "plan.h"
#include "support/changed.h"
#include "support/tap.h"

enum {
    M = 37,
    N = 45,
    K = 53,
    LDA = 60,
    LDB = 58,
    LDC = 64,
    ROW = 5,
    COL = 7,
    EXACT = 1 << ORACLE_EXACT,
    BOUND = 1 << ORACLE_BOUND
};

typedef struct fault {
    const char *name, *from, *to; /* from NULL: nothing is changed */
    int kinds;                    /* the oracles that must refuse it */
    double alpha, beta;
    double bounds; /* > 0: DELTA, which the text uses, is so many times the bound of C[ROW, COL] */
    bool passes, host_only;
    const char *says; /* what the verdict names, where it is one place */
} fault;

#define STORE "if (i < m && j < n) blend(&C(i, j), alpha, sum, beta);"
#define AT    "i == 5 && j == 7" /* ROW and COL */
#define THERE .says = "C[5, 7]"

static const fault faults[] = {
    {"nothing", NULL, NULL, EXACT | BOUND, 1, 0, .passes = true},
    {"nothing, with the old C", NULL, NULL, EXACT | BOUND, -2, 3, .passes = true},
    {"nothing, alpha 0", NULL, NULL, EXACT | BOUND, 0, 2, .passes = true},
    {"one element is not written", STORE, "if (i < m && j < n && !(" AT ")) blend(&C(i, j), alpha, sum, beta);",
     EXACT | BOUND, 1, 0, THERE},
    {"one element is not written, with the old C", STORE,
     "if (i < m && j < n && !(" AT ")) blend(&C(i, j), alpha, sum, beta);", EXACT | BOUND, 1, 1, THERE},
    {"one element is NaN", "alpha, sum, beta);\n}", "alpha, " AT " ? 0.0f / 0.0f : sum, beta);\n}", EXACT | BOUND, 1, 0,
     THERE},
    {"one element is infinite", "alpha, sum, beta);\n}", "alpha, " AT " ? 1.0f / 0.0f : sum, beta);\n}", EXACT | BOUND,
     1, 0, THERE},
    {"one element is off by one", "alpha, sum, beta);\n}", "alpha, sum + (" AT "), beta);\n}", EXACT | BOUND, 1, 0,
     THERE},
    {"one element is off by one unit in the last place", "alpha, sum, beta);\n}",
     "alpha, " AT " ? sum * (1 + 0x1p-23f) : sum, beta);\n}", EXACT, 1, 0, THERE},
    {"one element is off by twice its bound", "alpha, sum, beta);\n}", "alpha, sum + (" AT " ? DELTA : 0), beta);\n}",
     BOUND, 1, 0, .bounds = 2, THERE},
    {"one element is off by minus twice its bound", "alpha, sum, beta);\n}",
     "alpha, sum - (" AT " ? DELTA : 0), beta);\n}", BOUND, 1, 0, .bounds = 2, THERE},
    {"one element is off by half its bound", "alpha, sum, beta);\n}", "alpha, sum + (" AT " ? DELTA : 0), beta);\n}",
     BOUND, 1, 0, .bounds = 0.5, .passes = true},
    {"a tile of A is stale", "a_tile[ty][tx] = i", "if (t != 1) a_tile[ty][tx] = i", EXACT | BOUND, 1, 0},
    {"one word of a tile of B is stale", "b_tile[ty][tx] = b_p",
     "if (t != 2 || tx != 3 || ty != 4) b_tile[ty][tx] = b_p", EXACT | BOUND, 1, 0},
    {"the barrier before the loop is missing", "barrier(CLK_LOCAL_MEM_FENCE);\n        ROLLED", "ROLLED", EXACT | BOUND,
     1, 0, .host_only = true},
    {"the barrier after the loop is missing", "barrier(CLK_LOCAL_MEM_FENCE);\n    }", "}", EXACT | BOUND, 1, 0,
     .host_only = true},
    {"A's padding is read", "a_p < k ?", "a_p < k + (i < m - 1) ?", EXACT | BOUND, 1, 0},
    {"B's padding is read", "? B(b_p, j)", "? B(b_p, j == n - 1 && b_p < k - 1 ? n : j)", EXACT | BOUND, 1, 0},
    {"C's padding is written", STORE, "if (i < m && j < n + (i < m - 1)) blend(&C(i, j), alpha, sum, beta);",
     EXACT | BOUND, 1, 0, .says = "padding"},
    {"C's padding is written, with the old C", STORE,
     "if (i < m && j < n + (i < m - 1)) *(&C(i, j)) = j < n ? fma(alpha, sum, beta * C(i, j)) : 0;", EXACT | BOUND, 1,
     1, .says = "padding"},
    {"the old C is read though beta is 0", "*c = beta == 0 ?", "*c = beta == 12345 ?", EXACT | BOUND, 1, 0},
    {"the old C is not read though beta is 1", "*c = beta == 0 ?", "*c = beta == 1 ?", EXACT | BOUND, 1, 1},
    {"A is read though alpha is 0", "float sum = 0;", "float sum = 0 * A(i < m ? i : 0, 0);", EXACT | BOUND, 0, 2},
    {"k mod T is dropped (5kk73, Hotbingsoo, Ruiz)", "ceil_div(k, TILE); t++", "k / TILE; t++", EXACT | BOUND, 1, 0},
    {"C's stride is k (Hotbingsoo)", "c[(long)(i)*ldc + (j)]", "c[(long)(i)*k + (j)]", EXACT | BOUND, 1, 0},
    {"B's tile is that of by (5kk73)", "j < n ? B(b_p, j)",
     "get_group_id(1) * TILE + tx < n ? B(b_p, get_group_id(1) * TILE + tx)", EXACT | BOUND, 1, 0},
    {"A and B change places", "fma(a_tile[ty][p], b_tile[p][tx], sum)", "fma(b_tile[ty][p], a_tile[p][tx], sum)",
     EXACT | BOUND, 1, 0},
};

/* ---- the same text on an OpenCL device ---- */

static struct {
    const cl_api *cl;
    cl_device device;
    cl_context context;
    cl_queue queue;
    char why_not[256];
} opencl;

static void opencl_open(void)
{
    cl_platform platforms[8];
    cl_uint platform_count = 0, device_count = 0;
    cl_int error = 0;
    if ((opencl.cl = cl_api_load()) == NULL) {
        snprintf(opencl.why_not, sizeof opencl.why_not, "%.250s", tw_error_text());
        return;
    }
    opencl.cl->clGetPlatformIDs(8, platforms, &platform_count);
    for (cl_uint i = 0; i < platform_count && i < 8 && device_count == 0; i++)
        opencl.cl->clGetDeviceIDs(platforms[i], (cl_bitfield)CL_DEVICE_TYPE_ALL, 1, &opencl.device, &device_count);
    if (device_count > 0) opencl.context = opencl.cl->clCreateContext(NULL, 1, &opencl.device, NULL, NULL, &error);
    if (opencl.context != NULL)
        opencl.queue = opencl.cl->clCreateCommandQueue(opencl.context, opencl.device, 0, &error);
    if (opencl.queue == NULL) snprintf(opencl.why_not, sizeof opencl.why_not, "no OpenCL device");
}

static cl_kernel opencl_build(const plan *p, const char *text, char why[512])
{
    char options[PLAN_OPTIONS_BYTES + 64];
    cl_int error;
    snprintf(options, sizeof options, "-w -cl-std=CL1.2 -cl-opt-disable %s", p->gpu.options);
    cl_program program = opencl.cl->clCreateProgramWithSource(opencl.context, 1, &text, NULL, &error);
    if (error == CL_SUCCESS) error = opencl.cl->clBuildProgram(program, 1, &opencl.device, options, NULL, NULL);
    snprintf(why, 512, "%s: %s", options, cl_error_name(error));
    if (error != CL_SUCCESS) return NULL;
    cl_kernel kernel = opencl.cl->clCreateKernel(program, p->row->gpu.entry, &error);
    opencl.cl->clReleaseProgram(program);
    return kernel;
}

static bool opencl_run(const plan *p, cl_kernel kernel, const host_run *r, const size_t bytes[3], char why[512])
{
    const cl_api *cl = opencl.cl;
    const void *from[3] = {r->a, r->b, r->c};
    cl_memory memory[3];
    int64_t lda = r->lda, ldb = r->ldb, ldc = r->ldc;
    cl_int error = CL_SUCCESS;
    for (int i = 0; i < 3; i++) {
        memory[i] = cl->clCreateBuffer(opencl.context, CL_MEM_READ_WRITE, bytes[i], NULL, &error);
        error |= cl->clEnqueueWriteBuffer(opencl.queue, memory[i], 1, 0, bytes[i], from[i], 0, NULL, NULL);
    }
    const struct {
        size_t bytes;
        const void *value;
    } arguments[] = {{4, &r->m},
                     {4, &r->n},
                     {4, &r->k},
                     {4, &r->alpha},
                     {sizeof *memory, &memory[0]},
                     {8, &lda},
                     {sizeof *memory, &memory[1]},
                     {8, &ldb},
                     {4, &r->beta},
                     {sizeof *memory, &memory[2]},
                     {8, &ldc}};
    for (cl_uint i = 0; i < sizeof arguments / sizeof *arguments; i++)
        error |= cl->clSetKernelArg(kernel, i, arguments[i].bytes, arguments[i].value);
    size_t local[2] = {(size_t)p->gpu.threads_x, (size_t)p->gpu.threads_y},
           global[2] = {(size_t)p->gpu.grid_x * local[0], (size_t)p->gpu.grid_y * local[1]};
    error |= cl->clEnqueueNDRangeKernel(opencl.queue, kernel, 2, NULL, global, local, 0, NULL, NULL);
    error |= cl->clEnqueueReadBuffer(opencl.queue, memory[2], 1, 0, bytes[2], r->c, 0, NULL, NULL);
    for (int i = 0; i < 3; i++) cl->clReleaseMemObject(memory[i]);
    if (error != CL_SUCCESS) snprintf(why, 512, "the kernel did not run (%d)", (int)error);
    return error == CL_SUCCESS;
}

/* ---- one fault, one way to run it, one oracle ---- */

/* The text that was compiled last: both oracles judge one. */
static struct {
    char *text, options[PLAN_OPTIONS_BYTES];
    bool on_host;
    host_kernel host;
    cl_kernel cl;
} built;

static bool build(bool on_host, const plan *p, const char *text, char why[512])
{
    int library;
    if (built.text != NULL && built.on_host == on_host && strcmp(built.text, text) == 0 &&
        strcmp(built.options, p->gpu.options) == 0)
        return true;
    if (built.text != NULL && built.on_host) host_close(&built.host);
    if (built.text != NULL && !built.on_host) opencl.cl->clReleaseKernel(built.cl);
    free(built.text);
    built.text = NULL, built.on_host = on_host;
    if (on_host ? host_compile("opencl", p->gpu.options, text, &library, why) != HOST_BUILT ||
                      !host_load(library, p->row->gpu.entry, &built.host, why)
                : (built.cl = opencl_build(p, text, why)) == NULL)
        return false;
    built.text = strdup(text);
    strcpy(built.options, p->gpu.options);
    return true;
}

static bool run_text(bool on_host, const plan *p, const char *text, const oracle *o, void *c, char why[512])
{
    const tw_problem *x = &o->problem;
    host_run run = {.m = M,
                    .n = N,
                    .k = x->alpha == 0 ? 0 : K,
                    .alpha = (float)x->alpha,
                    .beta = (float)x->beta,
                    .a = o->a,
                    .b = o->b,
                    .c = c,
                    .lda = LDA,
                    .ldb = LDB,
                    .ldc = LDC};
    if (!build(on_host, p, text, why)) return false;
    if (!on_host)
        return opencl_run(p, built.cl, &run,
                          (const size_t[]){((M - 1) * LDA + K) * 4, ((K - 1) * LDB + N) * 4, ((M - 1) * LDC + N) * 4},
                          why);
    run.grid = (host_place){(unsigned)p->gpu.grid_x, (unsigned)p->gpu.grid_y, 1};
    run.size = (host_place){(unsigned)p->gpu.threads_x, (unsigned)p->gpu.threads_y, 1};
    return host_launch(&built.host, &run);
}

/* The bound of C[ROW, COL], as the oracle's verdict on a C that is far off there tells it. */
static double bound_there(const oracle *o, const float *right, float *c)
{
    memcpy(c, right, oracle_c_bytes(o));
    c[ROW * LDC + COL] += 1000;
    return oracle_judge(o, c).bound;
}

/* True if the oracle says of the changed text what it must. */
static bool judged_right(bool on_host, const fault *f, oracle_kind kind, char why[512])
{
    static const device_facts device = {
        .engine = "opencl", .most_threads = 1024, .local_bytes = 32 << 10, .largest_bytes = 1 << 30, .threads = 1};
    tw_problem x = tw_problem_make(TW_F32, TW_N, TW_N, M, N, K);
    tw_lab_choice choice = {.kernel = "opencl_f32_r04_banks"};
    float c[M * LDC], right[M * LDC];
    plan p;
    oracle o;
    x.dtype_c = TW_F32, x.lda = LDA, x.ldb = LDB, x.ldc = LDC, x.alpha = f->alpha, x.beta = f->beta,
    x.align_a = x.align_b = x.align_c = 4;
    const char *original = gpu_source("opencl/ladder/r04_banks.cl");
    char *text = f->from != NULL ? changed_text(original, f->from, f->to, 1) : strdup(original);
    snprintf(why, 512, "the text to be changed is not there");
    if (text == NULL || plan_find(&x, &device, &choice, &p) != TW_OK || oracle_make(&x, kind, 7, 0, &o) != TW_OK)
        return false;
    oracle_poison(&o, c);
    bool ran = true;
    if (f->bounds > 0) {
        oracle_poison(&o, right);
        ran = run_text(on_host, &p, original, &o, right, why);
        size_t used = strlen(p.gpu.options);
        snprintf(p.gpu.options + used, sizeof p.gpu.options - used, " -DDELTA=%.6ef",
                 f->bounds * bound_there(&o, right, c));
        oracle_poison(&o, c);
    }
    ran = ran && run_text(on_host, &p, text, &o, c, why);
    oracle_verdict verdict = oracle_judge(&o, c);
    if (ran) snprintf(why, 512, "%s", verdict.passed ? "the oracle let it pass" : verdict.text);
    oracle_free(&o);
    free(text);
    return ran && verdict.passed == f->passes && (f->says == NULL || strstr(verdict.text, f->says) != NULL);
}

int main(int argc, char **argv)
{
    tap_start(argc, argv);
    for (int on_host = 1; on_host >= 0; on_host--)
        for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
            for (int kind = ORACLE_EXACT; kind <= ORACLE_BOUND; kind++) {
                const fault *f = &faults[i];
                char why[512] = "";
                if (!(f->kinds & 1 << kind) || (f->host_only && !on_host)) continue;
                if (!tap_case("%s: %s, %s oracle", on_host ? "as C" : "OpenCL", f->name,
                              kind == ORACLE_EXACT ? "exact" : "bound"))
                    continue;
                if (!on_host && opencl.cl == NULL) opencl_open();
                if (on_host ? host_why_not() != NULL : opencl.queue == NULL)
                    tap_skip(on_host ? host_why_not() : opencl.why_not);
                else
                    tap_result(judged_right(on_host, f, (oracle_kind)kind, why), "%s", why);
            }
    return tap_finish();
}
