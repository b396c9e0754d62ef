/* test_first_use.c - OpenCL devices that lie, by a fake driver that computes: what a kernel's self-test finds, what is
 * used instead, what is kept for the next process, and who is told. */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>

#include "self_test.h"
#include "support/faults.h"
#include "tilewright_lab.h"

/* ---- how a kernel is tested ---- */

/* Are the tests of this plan's kernel made of its own program, and of shapes that no tile divides? */
static const char *wrong_plans(const plan *of, const device_facts *device)
{
    const tw_lab_kernel *row = &of->row->lab;
    plan made[SELF_TEST_BETAS];
    for (int way = 0; way < SELF_TEST_WAYS; way++) {
        if (!self_test_uses(of, (self_test_way)way)) continue;
        if (self_test_plans(of, device, (self_test_way)way, made) != TW_OK) return tw_error_text();
        for (int i = 0; i < SELF_TEST_BETAS; i++) {
            const tw_problem *p = &made[i].problem;
            if (strcmp(made[i].gpu.options, of->gpu.options) != 0) return "another program";
            if (kernel_form(made[i].row, p, made[i].gpu.items) != kernel_form(of->row, &of->problem, of->gpu.items))
                return "another form";
            if ((row->tile_m > 1 && p->m % row->tile_m == 0) || (row->tile_n > 1 && p->n % row->tile_n == 0) ||
                p->k % row->tile_k == 0)
                return "no tails";
            if ((made[i].gpu.k_split.count > 0) != (way == SELF_TEST_SPLITS)) return "k is not divided as it should be";
            if ((made[i].gpu.items > 1) != (way == SELF_TEST_BATCH)) return "no batch, or one";
            if ((p->beta != 0) != (i == 1)) return "beta";
        }
    }
    return NULL;
}

static void plan_case(const kernel_row *row)
{
    static const tw_dtype seconds[] = {0, TW_I8, TW_U8}, thirds[] = {0, TW_F16, TW_BF16};
    device_facts device = {.engine = "opencl",
                           .sm = 90,
                           .addresses = true,
                           .copies = true,
                           .most_threads = 1024,
                           .multiprocessors = 7,
                           .vector_bytes = row->gpu.lanes > 0 ? 64 : 0,
                           .local_bytes = 48 << 10,
                           .largest_bytes = INT64_MAX};
    const char *wrong = NULL;
    int count = 0;
    if (!tap_case("%s is tested by its own program, with tails, with k divided where it divides k, and in a batch",
                  row->lab.name))
        return;
    for (int i = 0; i < 2 * 2 * 2 * 2 * 3 * 3 * 2 && wrong == NULL; i++) {
        const bool wide = i & 1, batch = i / 144;
        tw_problem p = tw_problem_make(row->lab.dtype, i & 2 ? TW_T : TW_N, i & 4 ? TW_T : TW_N,
                                       row->lab.tile_m == 1 ? 1 : 640, row->lab.tile_n == 1 ? 1 : 640, 640);
        plan of;
        p.place_a = p.place_b = p.place_c = i & 8 ? TW_DEVICE : TW_HOST;
        p.dtype_b = seconds[i / 16 % 3], p.dtype_c = thirds[i / 48 % 3];
        if (p.dtype_c == 0) p.dtype_c = dtype_find(p.dtype)->result;
        if (p.dtype_b != 0 && !dtypes_mix(p.dtype, p.dtype_b)) continue;
        p.align_a = p.align_b = p.align_c = wide ? 256 : 8;
        if (!wide) p.lda++, p.ldb++, p.ldc++;
        if (batch && p.place_c == TW_HOST) continue;
        device.items = batch ? 50 : 0;
        if (plan_find(&p, &device, &(tw_lab_choice){.kernel = row->lab.name}, &of) != TW_OK) continue;
        wrong = wrong_plans(&of, &device);
        count++;
    }
    tap_result(wrong == NULL && count >= 16, "%d plans, of the last: %s", count, wrong != NULL ? wrong : "right");
}

/* ---- products on the fake device ---- */

enum { EDGE = 136, MOST_TEXT = 1024 };

/* The context that this device, and this cache (NULL: off), give. */
static tw_context *open_fake(const char *device, const char *cache)
{
    const tw_options options = {.size = sizeof options, .engine = "opencl"};
    tw_context *context;
    char text[200];
    snprintf(text, sizeof text, "gemm=1 %s", device);
    setenv("FAKE_OPENCL", text, 1);
    setenv("TILEWRIGHT_CACHE", cache != NULL ? cache : "off", 1);
    return tw_open(&options, &context) == TW_OK ? context : NULL;
}

static double element(tw_dtype dtype, const void *x, int i)
{
    return dtype == TW_F64 ? ((const double *)x)[i] : (double)((const float *)x)[i];
}

/* A square product of small integers in host memory, of f32 or f64. TW_OK: it is right. TW_BAD_ARGUMENT: it is wrong.
 * Else what the call returned, and C is as it was. */
static tw_status multiply(tw_context *context, tw_dtype dtype)
{
    static double room[3][EDGE * EDGE];
    static int values[2][EDGE * EDGE];
    const tw_problem p = tw_problem_make(dtype, TW_N, TW_T, EDGE, EDGE, EDGE);
    for (int i = 0; i < EDGE * EDGE; i++) {
        values[0][i] = i * 7 % 11 - 5, values[1][i] = i * 5 % 13 - 6;
        for (int x = 0; x < 3; x++) {
            const int value = x < 2 ? values[x][i] : 99;
            if (dtype == TW_F64)
                room[x][i] = value;
            else
                ((float *)room[x])[i] = (float)value;
        }
    }
    const tw_status status = tw_gemm(context, &p, room[0], room[1], room[2]);
    for (int i = 0; i < EDGE; i++)
        for (int j = 0; j < EDGE; j++) {
            int sum = 0;
            for (int q = 0; q < EDGE; q++) sum += values[0][i * EDGE + q] * values[1][j * EDGE + q];
            if (element(dtype, room[2], i * EDGE + j) != (status == TW_OK ? sum : 99)) return TW_BAD_ARGUMENT;
        }
    return status;
}

/* Which kernel computes that product. */
static const char *kernel_of(tw_context *context, tw_dtype dtype)
{
    const tw_problem p = tw_problem_make(dtype, TW_N, TW_T, EDGE, EDGE, EDGE);
    tw_lab_plan plan;
    return tw_lab_plan_of(context, NULL, &p, &plan) == TW_OK ? plan.kernel->name : "none";
}

static int launches(void) { return logged("clEnqueueNDRangeKernel"); }

/* The kernel that an honest device computes the product with, and its tile. */
static char usual[64];
static int usual_tile;

static bool find_usual(void)
{
    tw_context *context = open_fake("", NULL);
    snprintf(usual, sizeof usual, "%s", context != NULL ? kernel_of(context, TW_F32) : "none");
    const tw_lab_kernel *kernel = tw_lab_kernel_named(usual);
    if (kernel != NULL) usual_tile = kernel->tile_m * 1000 + kernel->tile_n;
    const bool right = context != NULL && kernel != NULL && multiply(context, TW_F32) == TW_OK &&
                       tw_lab_unused_at(context, NULL, 0, NULL, 0) == NULL;
    tw_close(context);
    return right;
}

/* Devices that lie about the kernel that is to compute; or about all of them. */
static const struct {
    const char *name, *device; /* "%d": that kernel's tile */
    tw_dtype dtype;
    bool none_left;
    const char *says; /* of the kernel that is not used */
} lies[] = {
    {"wrong numbers", "wrong=1 tile=%d", TW_F32, false, "computes wrong numbers on OpenCL fake: "},
    {"wrong numbers in the last tiles alone", "wrong=2 tile=%d", TW_F32, false, "element ("},
    {"wrong numbers where k is divided alone", "wrong=3 tile=%d", TW_F32, false, "parts, beta 0, element (0, 0) is "},
    {"C read where beta is 0", "wrong=4 tile=%d", TW_F32, false, "beta 0, element (0, 0) is nan, expected "},
    {"padding of C written", "wrong=5 tile=%d", TW_F32, false, "an element outside of C was written"},
    {"a kernel that does not compile", "nobuild=%d", TW_F32, false,
     "cannot be built on OpenCL fake: opencl/gemm_simt.cl could not be compiled for this device: "
     "CL_BUILD_PROGRAM_FAILURE (-11) fake.cl:3: error"},
    {"less local memory than it says", "local=9000 tile=%d", TW_F32, false,
     "cannot be run on OpenCL fake: clEnqueueNDRangeKernel failed with CL_OUT_OF_RESOURCES (-5)"},
    {"no local memory at all", "local=1", TW_F32, true, "cannot be run on OpenCL fake"},
    {"no double precision, though it says so", "nobuild=1", TW_F64, true, "cannot be built on OpenCL fake"},
    {"no double precision, and f32", "nobuild=1", TW_F32, false, NULL},
    {"wrong numbers in all kernels", "wrong=1", TW_F32, true, "element (0, 0) is "},
};

static void lie_case(const char *name, const char *device, tw_dtype dtype, bool none_left, const char *says)
{
    char text[MOST_TEXT] = "", error[MOST_TEXT] = "", lying[100];
    if (!tap_case("a device with %s", name)) return;
    snprintf(lying, sizeof lying, device, usual_tile);
    tw_context *context = open_fake(lying, NULL);
    const tw_status status = multiply(context, dtype);
    snprintf(error, sizeof error, "%.900s", tw_error_text());
    const tw_lab_kernel *unused = NULL;
    for (int i = 0; strcmp(unused != NULL ? unused->name : "", usual) != 0; i++) {
        unused = tw_lab_unused_at(context, NULL, i, text, sizeof text);
        if (unused == NULL) break;
        if (none_left) break;
    }
    const char *now = kernel_of(context, dtype), *instead = none_left ? "no kernel computes in its place" : now;
    bool right = status == (none_left ? TW_NO_KERNEL : TW_OK) && multiply(context, dtype) == status;
    if (none_left) right = right && strstr(error, "no kernel is left: opencl_") == error && strstr(error, says) != NULL;
    if (says == NULL)
        right = right && unused == NULL && strcmp(now, usual) == 0;
    else
        right = right && unused != NULL && strstr(text, unused->name) == text && strstr(text, says) != NULL &&
                strstr(text, instead) != NULL && strcmp(now, usual) != 0;
    /* who asks for it by name is told */
    const tw_problem p = tw_problem_make(dtype, TW_N, TW_T, EDGE, EDGE, EDGE);
    static double room[3][EDGE * EDGE];
    tw_lab_run *run = NULL;
    const tw_lab_choice forced = {.kernel = unused != NULL ? unused->name : usual};
    const tw_status opened = tw_lab_run_open(context, &forced, &p, room[0], room[1], room[2], &run);
    right = right && (says == NULL ? opened == TW_OK : opened == TW_NO_KERNEL && strstr(tw_error_text(), says) != NULL);
    tw_lab_run_close(run);
    tap_result(right, "%s, status %d: %s; not used: %s; forced: %d", now, (int)status, error, text, (int)opened);
    tw_close(context);
}

static void off_case(void)
{
    if (!tap_case("TILEWRIGHT_SELF_TEST=off: wrong numbers are not noticed")) return;
    setenv("TILEWRIGHT_SELF_TEST", "off", 1);
    tw_context *context = open_fake("wrong=1", NULL);
    unsetenv("TILEWRIGHT_SELF_TEST");
    const tw_status status = multiply(context, TW_F32);
    tap_result(status == TW_BAD_ARGUMENT && tw_lab_unused_at(context, NULL, 0, NULL, 0) == NULL, "%d", (int)status);
    tw_close(context);
}

/* ---- what is no kernel's fault ---- */

static void blameless_cases(void)
{
    const tw_options options = {.size = sizeof options, .engine = "opencl"};
    static const struct {
        const char *name, *fault;
        tw_status status;
        const char *says;
    } faults[] = {
        {"memory that runs out", "clCreateBuffer=-4", TW_NO_MEMORY, "no device memory for "},
        {"memory that runs out while it runs", "clWaitForEvents=-4", TW_NO_MEMORY, "the kernel"},
        {"memory that runs out while C comes", "clEnqueueReadBuffer=-4", TW_DEVICE_FAILED,
         "clEnqueueReadBuffer failed"},
        {"copies that fail", "clEnqueueWriteBuffer=-5", TW_DEVICE_FAILED, "clEnqueueWriteBuffer failed"},
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        if (!tap_case("%s: no kernel is blamed", faults[i].name)) continue;
        tw_context *context = open_fake("", NULL);
        setenv("FAKES", faults[i].fault, 1);
        const tw_status status = multiply(context, TW_F32);
        const bool said = strstr(tw_error_text(), faults[i].says) != NULL;
        unsetenv("FAKES");
        tap_result(status == faults[i].status && said && tw_lab_unused_at(context, NULL, 0, NULL, 0) == NULL &&
                       multiply(context, TW_F32) == TW_OK && strcmp(kernel_of(context, TW_F32), usual) == 0,
                   "%d: %s", (int)status, tw_error_text());
        tw_close(context);
    }
    if (!tap_case("a device that gives no queue: tw_open() says so")) return;
    tw_context *context;
    setenv("FAKES", "clCreateCommandQueue=-5", 1);
    const tw_status status = tw_open(&options, &context);
    unsetenv("FAKES");
    tap_result(status == TW_DEVICE_FAILED && context == NULL &&
                   strstr(tw_error_text(), "clCreateCommandQueue failed with CL_OUT_OF_RESOURCES (-5)") != NULL,
               "%d: %s", (int)status, tw_error_text());
}

static void option_case(void)
{
    const tw_options options = {.size = sizeof options, .engine = "opencl"};
    char words[300] = "-DX=";
    tw_status last = TW_OK;
    if (!tap_case("compiler options of 255 characters are taken, and longer ones refused")) return;
    for (int length = 255; length <= 256; length++) {
        tw_context *context = NULL;
        memset(words + 4, '1', (size_t)length - 4);
        setenv("TILEWRIGHT_OPENCL_OPTIONS", words, 1);
        last = tw_open(&options, &context);
        if ((last == TW_OK) != (length == 255)) break;
        tw_close(context);
    }
    unsetenv("TILEWRIGHT_OPENCL_OPTIONS");
    tap_result(last == TW_BAD_ARGUMENT && strstr(tw_error_text(), "has 256 characters, expected at most 255") != NULL,
               "%d: %s", (int)last, tw_error_text());
}

static void large_case(void)
{
    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, 40000, 40000, 40000); /* the fake takes operands of 4 GiB */
    if (!tap_case("tw_prepare() takes what tw_gemm() computes in parts, and refuses it on the device")) return;
    tw_context *context = open_fake("", NULL);
    const tw_status host = tw_prepare(context, &p);
    p.place_a = p.place_b = p.place_c = TW_DEVICE;
    const tw_status device = tw_prepare(context, &p);
    tap_result(host == TW_OK && device == TW_NO_KERNEL, "%d, %d: %s", (int)host, (int)device, tw_error_text());
    tw_close(context);
}

/* ---- what is kept ---- */

/* The launches of a first product on this device; -1 where it is wrong. *kernel: which one computed it. */
static int first_launches(const char *device, const char *cache, char kernel[64])
{
    unlink(log_path);
    tw_context *context = open_fake(device, cache);
    const bool right = multiply(context, TW_F32) == TW_OK;
    const int count = launches();
    snprintf(kernel, 64, "%s", kernel_of(context, TW_F32));
    tw_close(context);
    return right ? count : -1;
}

static void cut_file(const char *path)
{
    if (truncate(path, 90) != 0) perror(path);
}

static void change_file(const char *path)
{
    const int fd = open(path, O_RDWR);
    char last = 0;
    if (fd < 0 || lseek(fd, -1, SEEK_END) < 0 || read(fd, &last, 1) != 1) perror(path);
    last ^= 1;
    if (fd < 0 || lseek(fd, -1, SEEK_END) < 0 || write(fd, &last, 1) != 1) perror(path);
    close(fd);
}

static void empty_file(const char *path)
{
    if (truncate(path, 0) != 0) perror(path);
}

static void kept_cases(void)
{
    static const struct {
        const char *name;
        void (*change)(const char *path);
    } damages[] = {{"cut off", cut_file}, {"changed in a bit", change_file}, {"empty", empty_file}};
    char wrong[100], one[64], two[64], three[64];
    snprintf(wrong, sizeof wrong, "wrong=1 tile=%d", usual_tile);
    if (tap_case("a kernel that passed is not tested again by the next context, but is with another driver")) {
        const int cold = first_launches("", cache_folder, one), warm = first_launches("", cache_folder, one),
                  other = first_launches("driver=2", cache_folder, two);
        tap_result(warm >= 1 && cold >= warm + 2 && other == cold && strcmp(one, usual) == 0 && strcmp(two, usual) == 0,
                   "%d launches, then %d, with another driver %d, by %s", cold, warm, other, two);
        forget_cache();
    }
    static const char *const changes[] = {"driver=2", "llvm=16"};
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        if (!tap_case("a kernel that passed and is wrong with %s is not used there", changes[i])) continue;
        const int before = first_launches("", cache_folder, one);
        snprintf(wrong, sizeof wrong, "%s wrong=1 tile=%d", changes[i], usual_tile);
        const int after = first_launches(wrong, cache_folder, two);
        tap_result(before > 0 && after > 0 && strcmp(one, usual) == 0 && strcmp(two, usual) != 0, "%s, then %s", one,
                   two);
        forget_cache();
    }
    if (tap_case("a kernel that was wrong is not tried again, but is with another driver, and without a cache")) {
        snprintf(wrong, sizeof wrong, "wrong=1 tile=%d", usual_tile);
        const int cold = first_launches(wrong, cache_folder, one), kept = first_launches("", cache_folder, two),
                  other = first_launches("driver=2", cache_folder, three);
        char off[64];
        const int without = first_launches("", NULL, off);
        tap_result(cold > kept && kept > 0 && other > 0 && without > 0 && strcmp(one, usual) != 0 &&
                       strcmp(two, one) == 0 && strcmp(three, usual) == 0 && strcmp(off, usual) == 0,
                   "%s, kept %s, then %s, %s", one, two, three, off);
        forget_cache();
    }
    if (tap_case("a kernel that did not build is tried again by the next context")) {
        snprintf(wrong, sizeof wrong, "nobuild=%d", usual_tile);
        const int cold = first_launches(wrong, cache_folder, one), again = first_launches("", cache_folder, two);
        tap_result(cold > 0 && again > 0 && strcmp(one, usual) != 0 && strcmp(two, usual) == 0, "%s, then %s", one,
                   two);
        forget_cache();
    }
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        if (!tap_case("a kept verdict that is %s is none", damages[i].name)) continue;
        snprintf(wrong, sizeof wrong, "wrong=1 tile=%d", usual_tile);
        const int cold = first_launches(wrong, cache_folder, one);
        each_file(cache_folder, damages[i].change);
        const int again = first_launches("", cache_folder, two);
        tap_result(cold > 0 && again > 0 && strcmp(one, usual) != 0 && strcmp(two, usual) == 0, "%s, then %s", one,
                   two);
        forget_cache();
    }
    if (tap_case("without a folder to keep verdicts in, each context tests")) {
        const int one_count = first_launches("", "/proc/kernels", one),
                  two_count = first_launches("", "/proc/kernels", two), off = first_launches("", NULL, three);
        tap_result(one_count > 2 && two_count == one_count && off == one_count, "%d, %d, %d launches", one_count,
                   two_count, off);
    }
}

/* ---- on a caller's queue ---- */

static void queue_case(void)
{
    static const char *const waits[] = {"clCreateBuffer", "clCreateKernel",       "clBuildProgram",
                                        "clFinish",       "clWaitForEvents",      "clEnqueueReadBuffer",
                                        "clFlush",        "clEnqueueWriteBuffer", "clCreateProgramWithSource"};
    static float a[EDGE * EDGE], b[EDGE * EDGE], c[EDGE * EDGE];
    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, EDGE, EDGE, EDGE);
    int64_t bytes = -1;
    int queue, found = 0;
    if (!tap_case("a caller's queue: tw_prepare() tests, tw_enqueue() then neither waits nor allocates")) return;
    tw_context *context = open_fake("wrong=1 tile=128128", NULL);
    p.place_a = p.place_b = p.place_c = TW_DEVICE;
    for (int i = 0; i < EDGE * EDGE; i++) a[i] = (float)(i % 3), b[i] = i % EDGE == i / EDGE;
    tw_status status = tw_workspace_bytes(context, &p, &bytes);
    if (status == TW_OK) status = tw_prepare(context, &p);
    void *workspace = calloc(1, (size_t)bytes + 1);
    const tw_launch to = {
        .size = sizeof to, .queue = &queue, .workspace = bytes > 0 ? workspace : NULL, .workspace_bytes = bytes};
    /* the kernel object is made by the first call, and kept */
    if (status == TW_OK) status = tw_enqueue(context, &p, a, b, c, &to);
    unlink(log_path);
    if (status == TW_OK) status = tw_enqueue(context, &p, a, b, c, &to);
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) found += logged(waits[i]);
    tap_result(status == TW_OK && found == 0 && launches() > 0 && memcmp(a, c, sizeof a) == 0, "%d: %s; %d such calls",
               (int)status, tw_error_text(), found);
    free(workspace);
    tw_close(context);
}

/* ---- batches ---- */

enum { ITEMS = 5 };

typedef struct items_result {
    tw_status status;
    bool right, together; /* together: one launch is to compute all items */
    char kernel[64];      /* which computes them */
} items_result;

/* A batch of small integers in buffers, on a caller's queue. */
static items_result multiply_items(tw_context *context)
{
    static float a[ITEMS * EDGE * EDGE], b[ITEMS * EDGE * EDGE], c[ITEMS * EDGE * EDGE];
    int queue;
    items_result found = {.right = true};
    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, EDGE, EDGE, EDGE);
    p.place_a = p.place_b = p.place_c = TW_DEVICE;
    const tw_batch batch = tw_batch_make(&p, ITEMS);
    for (int i = 0; i < ITEMS * EDGE * EDGE; i++) {
        a[i] = (float)(i * 7 % 11 - 5), c[i] = 99;
        b[i] = i % EDGE == i / EDGE % EDGE ? (float)(1 + i / (EDGE * EDGE)) : 0; /* a number of its own for each item */
    }
    tw_launch to = {.size = sizeof to, .queue = &queue};
    tw_lab_plan plan;
    found.status = tw_workspace_bytes_batched(context, &p, &batch, &to.workspace_bytes);
    void *workspace = calloc(1, (size_t)to.workspace_bytes + 1);
    to.workspace = to.workspace_bytes > 0 ? workspace : NULL;
    if (found.status == TW_OK) found.status = tw_enqueue_batched(context, &p, &batch, a, b, c, &to);
    free(workspace);
    for (int i = 0; i < ITEMS * EDGE * EDGE; i++) found.right &= c[i] == a[i] * (float)(1 + i / (EDGE * EDGE));
    if (tw_lab_plan_of(context, &(tw_lab_choice){.batch = &batch}, &p, &plan) == TW_OK) {
        snprintf(found.kernel, sizeof found.kernel, "%s", plan.kernel->name);
        found.together = strstr(plan.text, "for each of 5 items, in one launch") != NULL;
    }
    return found;
}

/* The same in a context of its own, and the launches that it takes. */
static items_result first_items(const char *device, const char *cache, int *count)
{
    unlink(log_path);
    tw_context *context = open_fake(device, cache);
    const items_result found = multiply_items(context);
    *count = launches();
    tw_close(context);
    return found;
}

static void batch_cases(void)
{
    char wrong[100], text[MOST_TEXT] = "", kernel[64];
    int count;
    const items_result honest = first_items("", NULL, &count);
    const tw_lab_kernel *row = tw_lab_kernel_named(honest.kernel);
    snprintf(wrong, sizeof wrong, "wrong=6 tile=%d", row != NULL ? row->tile_m * 1000 + row->tile_n : 0);
    if (tap_case("a batch on an honest device is one launch, and right"))
        tap_result(honest.status == TW_OK && honest.right && honest.together, "%d: %s, by %s", (int)honest.status,
                   tw_error_text(), honest.kernel);
    if (tap_case(
            "a kernel that is wrong in batches alone: another computes them, and it goes on with single products")) {
        tw_context *context = open_fake(wrong, NULL);
        const items_result found = multiply_items(context);
        const tw_lab_kernel *unused = tw_lab_unused_at(context, NULL, 0, text, sizeof text);
        tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, EDGE, EDGE, EDGE);
        const bool single = multiply(context, TW_F32) == TW_OK && strcmp(kernel_of(context, TW_F32), usual) == 0 &&
                            tw_lab_unused_at(context, &p, 0, NULL, 0) == NULL;
        tap_result(found.status == TW_OK && found.right && strcmp(found.kernel, honest.kernel) != 0 && unused == row &&
                       strstr(text, "computes wrong numbers on OpenCL fake: ") != NULL &&
                       strstr(text, ", a batch of 3, beta 0, element (0, 0) of item 1 is ") != NULL &&
                       strstr(text, found.kernel) != NULL && single,
                   "%s, status %d: %s; not used: %s; single %d", found.kernel, (int)found.status, tw_error_text(), text,
                   (int)single);
        tw_close(context);
    }
    if (tap_case("all kernels are wrong in batches: items are computed one after the other")) {
        tw_context *context = open_fake("wrong=6", NULL);
        const items_result found = multiply_items(context);
        tw_lab_unused_at(context, NULL, 0, text, sizeof text);
        tap_result(found.status == TW_OK && found.right && !found.together && found.kernel[0] != '\0' &&
                       strstr(text, " computes in its place, one item after the other") != NULL,
                   "%s, status %d: %s; %s", found.kernel, (int)found.status, tw_error_text(), text);
        tw_close(context);
    }
    if (tap_case("a verdict on single products, kept before, is none on batches")) {
        const int cold = first_launches("", cache_folder, kernel);
        const items_result found = first_items("wrong=6", cache_folder, &count);
        tap_result(cold > 0 && found.status == TW_OK && found.right && !found.together, "%s, %d launches: %s",
                   found.kernel, count, tw_error_text());
        forget_cache();
    }
    if (tap_case("a batch's kernel is tested once, right or wrong")) {
        int cold, warm, cold_wrong, warm_wrong;
        first_items("", cache_folder, &cold);
        const items_result again = first_items("", cache_folder, &warm);
        forget_cache();
        first_items(wrong, cache_folder, &cold_wrong);
        const items_result kept = first_items("", cache_folder, &warm_wrong);
        tap_result(warm == 1 && cold == warm + 2 && again.together && again.right && warm_wrong == 1 &&
                       cold_wrong > warm_wrong + 2 && kept.right && strcmp(kept.kernel, honest.kernel) != 0,
                   "%d launches, then %d; %d, then %d by %s", cold, warm, cold_wrong, warm_wrong, kept.kernel);
        forget_cache();
    }
}

/* ---- many threads ---- */

static void *multiply_once(void *context)
{
    static const float x[2 * EDGE * EDGE];
    static _Thread_local float c[EDGE * EDGE];
    const tw_problem p = tw_problem_make(TW_F32, TW_N, TW_T, EDGE, EDGE, EDGE);
    return (void *)(intptr_t)(tw_gemm(context, &p, x, x + EDGE * EDGE, c) != TW_OK);
}

static void thread_case(void)
{
    pthread_t threads[THREADS];
    char kernel[64];
    intptr_t failures = 0;
    if (!tap_case("of %d threads at once one tests", (int)THREADS)) return;
    const int alone = first_launches("", NULL, kernel);
    tw_context *context = open_fake("", NULL);
    unlink(log_path);
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, multiply_once, context);
    for (int i = 0; i < THREADS; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        failures += (intptr_t)failed;
    }
    const int all = launches();
    unlink(log_path);
    multiply_once(context);
    const int each = launches();
    tap_result(failures == 0 && all == alone + (THREADS - 1) * each,
               "%d failed; %d launches, expected those of one, %d, and %d of each other", (int)failures, all, alone,
               each);
    tw_close(context);
}

/* ---- the program ---- */

static void program_case(const char *name, char *const *arguments, int tile, const char *before, const char *kernel)
{
    const char *program = getenv("TILEWRIGHT");
    char path[1024], lying[100], expected[200];
    outcome o;
    if (!tap_case("%s tells of a kernel that is not used", name)) return;
    if (program == NULL || access(program, X_OK) != 0) {
        tap_skip("TILEWRIGHT does not name the program");
        return;
    }
    char *words[12] = {path};
    for (int i = 0; arguments[i] != NULL; i++) words[i + 1] = arguments[i];
    snprintf(path, sizeof path, "%s", program);
    snprintf(lying, sizeof lying, "FAKE_OPENCL=gemm=1 wrong=1 tile=%d", tile);
    snprintf(expected, sizeof expected, "%s%s computes wrong numbers on OpenCL fake: ", before, kernel);
    run_program(words, "opencl", (const char *const[]){lying, "TILEWRIGHT_SELF_TEST=on", "TILEWRIGHT_THREADS=1", NULL},
                &o);
    tap_result(strstr(o.text, expected) != NULL && strstr(o.text, " computes in its place") != NULL,
               "exit %d, expected \"%s\":\n%s", o.exit, expected, o.text);
}

int main(int argc, char **argv)
{
    char fake[1024], bench[] = "bench", engine[] = "--engine", opencl[] = "opencl", size[] = "--size", edge[] = "136",
                     samples[] = "--samples", three[] = "3", explain[] = "--explain-plan", devices[] = "devices";
    if (!faults_start(argc, argv)) return 1;
    for (int i = 0; i < kernel_count(); i++) {
        const kernel_row *row = kernel_at(i);
        if (row->lab.production && strcmp(row->lab.engine, "opencl") == 0) plan_case(row);
    }
    snprintf(fake, sizeof fake, "%s/opencl/libOpenCL.so.1", FAKES_FOLDER);
    unsetenv("TILEWRIGHT_SELF_TEST");
    unsetenv("TILEWRIGHT_OPENCL_OPTIONS");
    setenv("FAKE_LOG", log_path, 1);
    if (dlopen(fake, RTLD_NOW) == NULL) { /* the engine then finds this one */
        printf("Bail out! %s\n", dlerror());
        return 1;
    }
    if (tap_case("an honest device: the product is right, and no kernel is left out"))
        tap_result(find_usual(), "%s: %s", usual, tw_error_text());
    else if (!tap.list)
        find_usual();
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++)
        lie_case(lies[i].name, lies[i].device, lies[i].dtype, lies[i].none_left, lies[i].says);
    off_case();
    blameless_cases();
    option_case();
    large_case();
    kept_cases();
    queue_case();
    batch_cases();
    thread_case();
    program_case("bench --explain-plan", (char *[]){bench, engine, opencl, size, edge, samples, three, explain, NULL},
                 usual_tile, "  unused: ", usual);
    program_case("devices", (char *[]){devices, NULL}, 128128, "  unused   ", "opencl_f32_sgemm_simt_128x128");
    return faults_finish();
}
