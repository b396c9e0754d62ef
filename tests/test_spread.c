/* test_spread.c - products over several devices, and larger than one, by the fake CUDA driver, whose streams are
 * ordered by events alone (tests/fakes/order.h): a missing event is a wrong product. Operands are small integers, so
 * that each order of summation gives the same bits. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <unistd.h>

#include "engines/cuda/cu_api.h"
#include "support/tap.h"
#include "tilewright_lab.h"

enum { PAD = 3, MOST = 16 };

static size_t bytes_of(tw_dtype dtype) { return (size_t)tw_lab_dtype_of(dtype)->bytes; }

static unsigned seed;

static int drawn(int below)
{
    seed = seed * 1664525 + 1013904223;
    return (int)((seed >> 8) % (unsigned)below);
}

static void put(tw_dtype dtype, void *to, int64_t at, int value)
{
    const float narrow = (float)value;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    if (dtype == TW_F64 || dtype == TW_CF64)
        ((double *)to)[at] = value;
    else if (dtype == TW_F32 || dtype == TW_CF32)
        ((float *)to)[at] = narrow;
    else if (dtype == TW_I32)
        ((int32_t *)to)[at] = value;
    else if (dtype == TW_BF16)
        ((uint16_t *)to)[at] = (uint16_t)(bits >> 16);
    else
        ((int8_t *)to)[at] = (int8_t)value;
}

static void fill(tw_dtype dtype, void *to, int64_t count)
{
    const int64_t numbers = count * tw_lab_dtype_of(dtype)->parts;
    for (int64_t i = 0; i < numbers; i++) put(dtype, to, i, drawn(15) - 7);
}

/* What the fake driver's device is to be, and the product. */
typedef struct spread_case {
    const char *driver; /* FAKE_CUDA, beside "product=1" */
    int devices;        /* 0: one, which is not given as a list of devices, so that products are not tiles */
    int64_t kib;        /* of each; 0: no limit */
    tw_dtype dtype;
    tw_op op_a, op_b;
    int64_t m, n, k;
    double alpha, beta;
    bool pinned;
    const char *fault; /* FAKES */
} spread_case;

static tw_dtype c_type(const spread_case *x)
{
    return x->dtype == TW_I8 || x->dtype == TW_U8 ? TW_I32 : x->dtype == TW_BF16 ? TW_F32 : x->dtype;
}

static tw_problem problem_of(const spread_case *x)
{
    tw_problem p = tw_problem_make(x->dtype, x->op_a, x->op_b, x->m, x->n, x->k);
    p.lda += PAD, p.ldb += PAD, p.ldc += PAD, p.alpha = x->alpha, p.beta = x->beta;
    if (tw_lab_dtype_of(x->dtype)->parts == 2) p.alpha_imaginary = x->alpha == -2, p.beta_imaginary = x->beta == 2;
    return p;
}

static void set_driver(const spread_case *x)
{
    char text[200];
    snprintf(text, sizeof text, "product=1 gpus=%d %s", x->devices > 0 ? x->devices : 1, x->driver);
    setenv("FAKE_CUDA", text, 1);
    setenv("FAKES", x->fault != NULL ? x->fault : "", 1);
}

static tw_status open_devices(const spread_case *x, tw_context **context)
{
    const tw_options options = {.size = sizeof options,
                                .engine = "cuda",
                                .device_count = x->devices > 0 ? -1 : 0,
                                .threads = 3,
                                .memory_bytes = x->kib << 10};
    set_driver(x);
    return tw_open(&options, context);
}

/* Operands of a case, in memory that the driver gave where it is pinned. */
typedef struct operands {
    void *a, *b, *c, *expected;
    size_t c_bytes;
} operands;

static void *take(size_t bytes, bool pinned)
{
    void *memory = NULL;
    if (!pinned) return malloc(bytes + 1);
    return cu_api_load()->cuMemHostAlloc(&memory, bytes + 1, 0) == CU_SUCCESS ? memory : NULL;
}

static void give(void *memory, bool pinned)
{
    if (!pinned)
        free(memory);
    else if (memory != NULL)
        cu_api_load()->cuMemFreeHost(memory);
}

static bool make_operands(const spread_case *x, const tw_problem *p, operands *o)
{
    const bool a_stored = x->op_a == TW_N || x->op_a == TW_R, b_stored = x->op_b == TW_N || x->op_b == TW_R;
    const int64_t of_a = (a_stored ? x->m : x->k) * p->lda, of_b = (b_stored ? x->k : x->n) * p->ldb,
                  of_c = x->m * p->ldc;
    o->c_bytes = (size_t)of_c * bytes_of(c_type(x));
    o->a = take((size_t)of_a * bytes_of(x->dtype), x->pinned),
    o->b = take((size_t)of_b * bytes_of(x->dtype), x->pinned);
    o->c = take(o->c_bytes, x->pinned), o->expected = malloc(o->c_bytes + 1);
    if (o->a == NULL || o->b == NULL || o->c == NULL || o->expected == NULL) return false;
    fill(x->dtype, o->a, of_a), fill(x->dtype, o->b, of_b);
    if (x->beta != 0)
        fill(c_type(x), o->c, of_c);
    else
        memset(o->c, 0xff, o->c_bytes);    /* NaN, which may not be read */
    memcpy(o->expected, o->c, o->c_bytes); /* padding included, which must stay */
    return tw_gemm(NULL, p, o->a, o->b, o->expected) == TW_OK;
}

static void free_operands(const spread_case *x, operands *o)
{
    give(o->a, x->pinned), give(o->b, x->pinned), give(o->c, x->pinned), free(o->expected);
}

static bool named(const spread_case *x)
{
    return tap_case("%s: %d devices, %d KiB, %s %c%c %d x %d x %d, alpha %g, beta %g%s%s%s", x->driver, x->devices,
                    (int)x->kib, tw_lab_dtype_of(x->dtype)->name, "ntcr"[x->op_a], "ntcr"[x->op_b], (int)x -> m,
                    (int)x -> n, (int)x -> k, x -> alpha, x -> beta, x -> pinned ? ", pinned" : "",
                    x->fault != NULL ? ", " : "", x->fault != NULL ? x->fault : "");
}

/* The product, twice by one context. */
static void run_case(const spread_case *x)
{
    if (!named(x)) return;
    const tw_problem p = problem_of(x);
    operands o;
    tw_context *context = NULL;
    tw_status status = open_devices(x, &context);
    bool right = make_operands(x, &p, &o) && status == TW_OK;
    for (int times = 0; times < 2 && right; times++) {
        if (times > 0 && x->beta != 0) right = tw_gemm(NULL, &p, o.a, o.b, o.expected) == TW_OK;
        status = tw_gemm(context, &p, o.a, o.b, o.c);
        right = right && status == TW_OK && memcmp(o.c, o.expected, o.c_bytes) == 0;
    }
    tw_close(context);
    tap_result(right, "%s", status != TW_OK ? tw_error_text() : "C is wrong");
    free_operands(x, &o);
}

/* Products that grow, shrink and grow again on one context, which keeps what it has taken of its devices. */
static void changing_sizes_case(void)
{
    static const spread_case x = {
        "sm=90 multiprocessors=4 order=1", 2, 1700, TW_F32, TW_N, TW_T, 0, 0, 70, 1, 0, false, NULL};
    static const int sides[] = {700, 900, 1200, 1500, 2000, 1200, 700, 900, 2000};
    if (!tap_case("products of changing size on one context")) return;
    tw_context *context = NULL;
    tw_status status = open_devices(&x, &context);
    bool right = true;
    for (size_t i = 0; i < sizeof sides / sizeof *sides && status == TW_OK && right; i++) {
        spread_case one = x;
        operands o;
        one.m = sides[i], one.n = sides[i] + 7;
        const tw_problem p = problem_of(&one);
        right = make_operands(&one, &p, &o);
        status = tw_gemm(context, &p, o.a, o.b, o.c);
        right = right && status == TW_OK && memcmp(o.c, o.expected, o.c_bytes) == 0;
        free_operands(&one, &o);
    }
    tw_close(context);
    tap_result(right && status == TW_OK, "%s", status != TW_OK ? tw_error_text() : "C is wrong");
}

/* A failure that is told with these words; where memory ran out C is as it was. */
static void fail_case(const spread_case *x, tw_status expected, const char *says)
{
    if (!named(x)) return;
    const tw_problem p = problem_of(x);
    operands o;
    tw_context *context = NULL;
    tw_status status = open_devices(x, &context);
    const bool made = make_operands(x, &p, &o);
    if (made) memcpy(o.expected, o.c, o.c_bytes);
    if (status == TW_OK) status = tw_gemm(context, &p, o.a, o.b, o.c);
    bool right = made && status == expected && strstr(tw_error_text(), says) != NULL;
    if (expected == TW_NO_MEMORY) right = right && memcmp(o.c, o.expected, o.c_bytes) == 0;
    tap_result(right, "%d: %s", (int)status, tw_error_text());
    tw_close(context);
    free_operands(x, &o);
}

/* ---- cancelled from inside a call of the driver ---- */

static tw_context *cancelled;
static atomic_int seen, launched; /* calls that were to cancel, and others that launch */
static struct sigaction before[2];

static void cancel_by_signal(int number)
{
    (void)number;
    atomic_fetch_add(&seen, 1);
    tw_cancel(cancelled);
}

static void count_by_signal(int number)
{
    (void)number;
    atomic_fetch_add(&launched, 1);
}

/* From now on these calls of the driver cancel. */
static void arm(const char *driver_call)
{
    const struct sigaction cancels = {.sa_handler = cancel_by_signal}, counts = {.sa_handler = count_by_signal};
    char raises[80]; /* signals that no thread of the library blocks */
    snprintf(raises, sizeof raises, "%s=%d cuLaunchKernel=%d", driver_call, SIGTRAP, SIGFPE);
    atomic_store(&seen, 0), atomic_store(&launched, 0);
    sigaction(SIGTRAP, &cancels, &before[0]), sigaction(SIGFPE, &counts, &before[1]);
    setenv("FAKE_CRASH", raises, 1);
}

static void disarm(void)
{
    unsetenv("FAKE_CRASH");
    sigaction(SIGTRAP, &before[0], NULL), sigaction(SIGFPE, &before[1], NULL);
}

/* Such a call cancels the product: there are few more of them, no kernel is launched if the call was a copy, C is not
 * brought back (of several devices a thread may have begun to), and the next product is right. */
static void cancel_case(const spread_case *x, const char *driver_call, int most)
{
    operands o = {NULL, NULL, NULL, NULL, 0};
    if (!tap_case("%s: %d devices, %d KiB, %s %d x %d x %d, ends at %s", x->driver, x->devices, (int)x->kib,
                  tw_lab_dtype_of(x->dtype)->name, (int)x->m, (int)x->n, (int)x->k, driver_call))
        return;
    const tw_problem p = problem_of(x);
    const tw_options options = {
        .size = sizeof options, .engine = "cuda", .device_count = -1, .threads = 1, .memory_bytes = x->kib << 10};
    set_driver(x);
    bool right = tw_open(&options, &cancelled) == TW_OK && make_operands(x, &p, &o);
    arm(driver_call);
    const tw_status status = tw_gemm(cancelled, &p, o.a, o.b, o.c);
    disarm();
    right = right && status == TW_CANCELLED && strstr(tw_error_text(), "tw_cancel() has ended the call") != NULL;
    if (strstr(driver_call, "DtoH") == NULL)
        right = right && atomic_load(&launched) == 0 && (x->devices > 1 || memcmp(o.c, "\xff\xff\xff\xff", 4) == 0);
    const bool next = tw_gemm(cancelled, &p, o.a, o.b, o.c) == TW_OK && memcmp(o.c, o.expected, o.c_bytes) == 0;
    tap_result(right && atomic_load(&seen) >= 1 && atomic_load(&seen) <= most && next,
               "status %d: %s, %d calls of the driver, %d launches; the next product is %s", (int)status,
               tw_error_text(), atomic_load(&seen), atomic_load(&launched), next ? "right" : "wrong");
    tw_close(cancelled);
    free_operands(x, &o);
}

static void *device_memory(int device, size_t bytes)
{
    cu_context context, popped;
    cu_pointer memory = 0;
    const cu_api *cu = cu_api_load();
    cu->cuDevicePrimaryCtxRetain(&context, device);
    cu->cuCtxPushCurrent_v2(context);
    cu->cuMemAlloc_v2(&memory, bytes);
    cu->cuCtxPopCurrent_v2(&popped);
    return (void *)(uintptr_t)memory;
}

/* Items of a batch that are launched one by one. */
static void cancel_batch_case(void)
{
    enum { ITEMS = 6 };
    static const spread_case x = {"sm=80 order=1", 1, 0, TW_F32, TW_N, TW_N, 3072, 3072, 4, 1, 0, false, NULL};
    void *memory[3];
    if (!tap_case("a batch in device memory ends at its first launch")) return;
    tw_problem p = problem_of(&x);
    const tw_batch batch = tw_batch_make(&p, ITEMS);
    p.place_a = p.place_b = p.place_c = TW_DEVICE;
    const bool opened = open_devices(&x, &cancelled) == TW_OK;
    const int64_t elements[3] = {batch.stride_a, batch.stride_b, batch.stride_c};
    for (int i = 0; i < 3; i++) memory[i] = device_memory(0, 4 * ITEMS * (size_t)elements[i]);
    arm("cuLaunchKernel");
    const tw_status status = tw_gemm_batched(cancelled, &p, &batch, memory[0], memory[1], memory[2]);
    disarm();
    tap_result(opened && status == TW_CANCELLED && atomic_load(&seen) == 1, "status %d: %s, %d launches", (int)status,
               tw_error_text(), atomic_load(&seen));
    for (int i = 0; i < 3; i++) cu_api_load()->cuMemFree_v2((cu_pointer)(uintptr_t)memory[i]);
    tw_close(cancelled);
}

enum { ANY_SM = 0 };

/* Bytes are multiplied by kernels of each architecture. */
static int sm_of(int sm, unsigned number) { return sm != ANY_SM ? sm : (const int[]){75, 80, 90}[number % 3]; }

/* Any product, any devices, any order. */
static void random_case(unsigned number)
{
    static const struct {
        tw_dtype dtype;
        int sm;
    } kinds[] = {{TW_F32, 80}, {TW_F32, 90}, {TW_F64, 75}, {TW_BF16, 75}, {TW_I8, ANY_SM}, {TW_U8, ANY_SM}};
    static const double scalars[] = {1, -2, 3};
    char driver[80];
    seed = number;
    const int kind = drawn(6), order = drawn(4) == 0 ? 1 : 2 + drawn(1000), devices = 1 + drawn(5);
    snprintf(driver, sizeof driver, "sm=%d multiprocessors=4 order=%d peer=%d", sm_of(kinds[kind].sm, number), order,
             drawn(4) > 0);
    spread_case x = {.driver = driver,
                     .devices = devices,
                     .dtype = kinds[kind].dtype,
                     .op_a = (tw_op)drawn(2),
                     .op_b = (tw_op)drawn(2),
                     .m = 1 + drawn(drawn(3) ? 1200 : 300),
                     .n = 1 + drawn(drawn(3) ? 1200 : 300),
                     .k = 1 + drawn(drawn(3) ? 70 : 300),
                     .alpha = scalars[drawn(3)],
                     .beta = drawn(2) ? scalars[drawn(3)] : 0,
                     .pinned = drawn(2)};
    /* four tiles of C, and from all panels down to few */
    const int64_t bytes = (int64_t)bytes_of(x.dtype), panel = 256 * x.k * bytes;
    x.kib = 64 + ((4 * 65536 * (int64_t)bytes_of(c_type(&x)) + 6 * panel) >> 10);
    x.kib += ((x.m + x.n) * x.k * bytes >> 10) / (1 + drawn(12));
    run_case(&x);
}

/* ---- blocks ---- */

enum { MOST_BLOCKS = 9 };

typedef struct blocks {
    tw_block block[MOST_BLOCKS];
    int32_t count;
    bool on_host;
} blocks;

static void copy_block(const tw_block *b, char *matrix, int64_t ld, size_t bytes, bool out)
{
    for (int64_t i = 0; i < b->rows; i++) {
        char *in_block = (char *)b->at + (size_t)(i * b->ld) * bytes,
             *in_matrix = matrix + (size_t)((b->row + i) * ld + b->column) * bytes;
        memcpy(out ? in_matrix : in_block, out ? in_block : in_matrix, (size_t)b->columns * bytes);
    }
}

/* Divides a matrix among devices: in bands down and across, in any order of devices; C with a device for each block. */
static void divide(blocks *out, int64_t rows, int64_t cols, int devices, bool is_c, bool on_host, size_t bytes)
{
    const int64_t down = 1 + drawn(is_c ? devices : 3), across = is_c ? 1 + drawn(devices / (int)down) : 1 + drawn(3),
                  first = drawn(devices), high = (rows + down - 1) / down, wide = (cols + across - 1) / across;
    out->count = 0, out->on_host = on_host;
    for (int64_t i = 0; i < rows; i += high)
        for (int64_t j = 0; j < cols; j += wide) {
            tw_block b = {.size = sizeof b, .row = i, .column = j};
            b.rows = rows - i < high ? rows - i : high, b.columns = cols - j < wide ? cols - j : wide;
            if (is_c && on_host) b.row = b.column = i = j = 0, b.rows = rows, b.columns = cols;
            b.device = on_host ? TW_BLOCK_ON_HOST : (int32_t)((first + (is_c ? out->count : drawn(devices))) % devices);
            b.ld = b.columns + (drawn(2) ? 0 : drawn(9));
            const size_t size = (size_t)(b.rows * b.ld) * bytes;
            b.at = on_host ? malloc(size) : device_memory(b.device, size);
            out->block[out->count++] = b;
            if (is_c && on_host) return;
        }
}

static void free_blocks(blocks *b)
{
    for (int i = 0; i < b->count; i++)
        if (b->on_host)
            free(b->block[i].at);
        else
            cu_api_load()->cuMemFree_v2((cu_pointer)(uintptr_t)b->block[i].at);
}

static void blocks_case(unsigned number)
{
    static const struct {
        tw_dtype dtype;
        int sm;
    } kinds[] = {{TW_F32, 80}, {TW_F32, 90}, {TW_F64, 75}, {TW_BF16, 75}, {TW_I8, ANY_SM}};
    char driver[80];
    seed = 77 * number;
    const int kind = drawn(5);
    snprintf(driver, sizeof driver, "sm=%d multiprocessors=4 order=%d peer=%d blocks=%u%s",
             sm_of(kinds[kind].sm, number), drawn(4) == 0 ? 1 : 2 + drawn(1000), drawn(4) > 0, number,
             number % 4 == 3 ? " pitch=1500" : ""); /* bytes: rows of some operands lie further apart */
    spread_case x = {.driver = driver,
                     .devices = 1 + drawn(4),
                     .dtype = kinds[kind].dtype,
                     .op_a = (tw_op)drawn(2),
                     .op_b = (tw_op)drawn(2),
                     .m = 1 + drawn(900),
                     .n = 1 + drawn(drawn(2) ? 900 : 5000),
                     .k = drawn(20) == 0 ? 0 : 1 + drawn(90),
                     .alpha = drawn(2) ? 1 : -2,
                     .beta = drawn(2) ? 3 : 0};
    if (drawn(3) == 0) x.kib = 1500 + drawn(1500);
    if (!named(&x)) return;
    const tw_problem p = problem_of(&x);
    const size_t bytes = bytes_of(x.dtype), c_bytes = bytes_of(c_type(&x));
    const int64_t a_rows = x.op_a == TW_N ? x.m : x.k, b_rows = x.op_b == TW_N ? x.k : x.n;
    blocks of[3];
    operands o;
    tw_context *context = NULL;
    tw_status status = open_devices(&x, &context);
    bool right = make_operands(&x, &p, &o) && status == TW_OK;
    divide(&of[0], a_rows, p.lda - PAD, x.devices, false, drawn(4) == 0, bytes);
    divide(&of[1], b_rows, p.ldb - PAD, x.devices, false, drawn(4) == 0, bytes);
    divide(&of[2], x.m, x.n, x.devices, true, drawn(4) == 0, c_bytes);
    for (int i = 0; i < of[0].count; i++) copy_block(&of[0].block[i], o.a, p.lda, bytes, false);
    for (int i = 0; i < of[1].count; i++) copy_block(&of[1].block[i], o.b, p.ldb, bytes, false);
    for (int i = 0; i < of[2].count; i++) copy_block(&of[2].block[i], o.c, p.ldc, c_bytes, false);
    if (right)
        status = tw_gemm_blocks(context, &p, of[0].block, of[0].count, of[1].block, of[1].count, of[2].block,
                                of[2].count);
    for (int i = 0; i < of[2].count; i++) copy_block(&of[2].block[i], o.c, p.ldc, c_bytes, true);
    right = right && status == TW_OK && memcmp(o.c, o.expected, o.c_bytes) == 0;
    tap_result(right, "%s", status != TW_OK ? tw_error_text() : "C is wrong");
    tw_close(context);
    for (int i = 0; i < 3; i++) free_blocks(&of[i]);
    free_operands(&x, &o);
}

/* Bands of rows, one for each device. */
static void divide_in_bands(blocks *out, int64_t rows, int64_t cols, int devices, size_t bytes)
{
    const int64_t high = (rows + devices - 1) / devices;
    out->count = 0, out->on_host = false;
    for (int64_t i = 0; i < rows; i += high) {
        tw_block b = {.size = sizeof b, .row = i, .columns = cols, .ld = cols, .device = (int32_t)out->count};
        b.rows = rows - i < high ? rows - i : high;
        b.at = device_memory(b.device, (size_t)(b.rows * b.ld) * bytes);
        out->block[out->count++] = b;
    }
}

/* C is larger than the memory of a device, and each has room for its band. */
static void large_operand_case(void)
{
    const spread_case x = {
        .driver = "sm=75 order=3 mib=3", .devices = 2, .dtype = TW_F32, .m = 1000, .n = 1000, .k = 64, .alpha = 1};
    if (!named(&x)) return;
    const tw_problem p = problem_of(&x);
    blocks of[3];
    operands o;
    tw_context *context = NULL;
    tw_status status = open_devices(&x, &context);
    bool right = make_operands(&x, &p, &o) && status == TW_OK;
    divide_in_bands(&of[0], x.m, x.k, x.devices, 4);
    divide_in_bands(&of[1], x.k, x.n, x.devices, 4);
    divide_in_bands(&of[2], x.m, x.n, x.devices, 4);
    for (int i = 0; i < x.devices; i++) {
        copy_block(&of[0].block[i], o.a, p.lda, 4, false), copy_block(&of[1].block[i], o.b, p.ldb, 4, false);
        copy_block(&of[2].block[i], o.c, p.ldc, 4, false);
    }
    if (right) status = tw_gemm_blocks(context, &p, of[0].block, 2, of[1].block, 2, of[2].block, 2);
    for (int i = 0; i < x.devices; i++) copy_block(&of[2].block[i], o.c, p.ldc, 4, true);
    right = right && status == TW_OK && memcmp(o.c, o.expected, o.c_bytes) == 0;
    tap_result(right, "%s", status != TW_OK ? tw_error_text() : "C is wrong");
    tw_close(context);
    for (int i = 0; i < 3; i++) free_blocks(&of[i]);
    free_operands(&x, &o);
}

/* Blocks that are none, each with its sentence. */
static void refuse_blocks(void)
{
    static float memory[4][16];
    const tw_block whole = {.size = sizeof whole, .rows = 4, .columns = 4, .at = memory, .ld = 4};
    const struct {
        tw_block block[2];
        int32_t count;
        const char *says;
    } refused[] = {
        {{whole}, 0, "b is given, of 0 blocks: expected 1 to 1024"},
        {{whole}, 1025, "b is given, of 1025 blocks: expected 1 to 1024"},
        {{{.size = 4}}, 1, "b.size is 4, expected the struct's sizeof"},
        {{{.size = sizeof whole, .device = 2, .rows = 4, .columns = 4, .at = memory, .ld = 4}},
         1,
         "b[0].device is 2, expected TW_BLOCK_ON_HOST (-1) or one of the context's 2"},
        {{{.size = sizeof whole, .row = 1, .rows = 4, .columns = 4, .at = memory, .ld = 4}},
         1,
         "b[0] is 4 x 4 elements from (1, 0) on, of a matrix of 4 x 4"},
        {{{.size = sizeof whole, .rows = 4, .columns = 4, .at = memory, .ld = 3}},
         1,
         "b[0].ld is 3, expected at least 4, its columns"},
        {{{.size = sizeof whole, .rows = 4, .columns = 4, .ld = 4}}, 1, "b[0].at is NULL"},
        {{{.size = sizeof whole, .rows = 4, .columns = 4, .at = (char *)memory + 1, .ld = 4}},
         1,
         "b[0].at is not aligned to one element"},
        {{{.size = sizeof whole, .rows = 4, .columns = 3, .at = memory, .ld = 4}},
         1,
         "the blocks of b have 12 elements together, the matrix has 16"},
        {{whole, {.size = sizeof whole, .row = 3, .rows = 1, .columns = 1, .at = memory, .ld = 4}},
         2,
         "b[0] and b[1] overlap"},
        {{{.size = sizeof whole, .rows = 2, .columns = 4, .at = memory, .ld = 4},
          {.size = sizeof whole, .device = -1, .row = 2, .rows = 2, .columns = 4, .at = memory, .ld = 4}},
         2,
         "b[1] is in host memory and b[0] is not: expected all or none"},
    };
    const spread_case x = {.driver = "sm=80", .devices = 2};
    tw_context *context = NULL;
    const tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, 4, 4, 4);
    tw_block twice[2] = {whole, whole};
    twice[0].rows = twice[1].rows = 2, twice[1].row = 2;
    const bool opened = open_devices(&x, &context) == TW_OK;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        if (!tap_case("blocks refused: %s", refused[i].says)) continue;
        const tw_status status = tw_gemm_blocks(context, &p, &whole, 1, refused[i].block, refused[i].count, &whole, 1);
        tap_result(opened && status == TW_BAD_ARGUMENT && strstr(tw_error_text(), refused[i].says) != NULL, "%d: %s",
                   (int)status, tw_error_text());
    }
    if (tap_case("blocks refused: two of C on a device"))
        tap_result(tw_gemm_blocks(context, &p, &whole, 1, &whole, 1, twice, 2) == TW_BAD_ARGUMENT &&
                       strstr(tw_error_text(), "c[0] and c[1] are of one device") != NULL,
                   "%s", tw_error_text());
    if (tap_case("blocks refused: by the cpu"))
        tap_result(tw_gemm_blocks(NULL, &p, &whole, 1, &whole, 1, &whole, 1) == TW_NO_KERNEL &&
                       strstr(tw_error_text(), "of the cpu engine, which takes no blocks") != NULL,
                   "%s", tw_error_text());
    tw_close(context);
}

/* ---- contexts ---- */

static void open_case(const char *name, const char *driver, tw_options options, tw_status expected, const char *says)
{
    if (!tap_case("open: %s", name)) return;
    tw_context *context = NULL;
    tw_device device = {.size = sizeof device};
    setenv("FAKE_CUDA", driver, 1), setenv("FAKES", "", 1);
    options.size = sizeof options;
    tw_status status = tw_open(&options, &context);
    if (status == TW_OK) tw_describe(context, &device);
    const char *said = status == TW_OK ? device.name : tw_error_text();
    tap_result(status == expected && strstr(said, says) != NULL, "%d: %s", (int)status, said);
    tw_close(context);
}

static void open_cases(void)
{
    static const int32_t some[] = {2, 0}, twice[] = {1, 1}, many[17] = {0}, missing[] = {0, 7};
    open_case("all", "gpus=3", (tw_options){.engine = "cuda", .device_count = -1}, TW_OK, "3 x Fake 0");
    open_case("some, in this order", "gpus=3", (tw_options){.engine = "cuda", .device_count = 2, .devices = some},
              TW_OK, "2 x Fake 2");
    open_case("one twice", "gpus=3", (tw_options){.engine = "cuda", .device_count = 2, .devices = twice},
              TW_BAD_ARGUMENT, "options.devices has 1 twice");
    open_case("too many", "gpus=3", (tw_options){.engine = "cuda", .device_count = 17, .devices = many},
              TW_BAD_ARGUMENT, "a product over 17 devices: expected at most 16");
    open_case("one that is missing", "gpus=3", (tw_options){.engine = "cuda", .device_count = 2, .devices = missing},
              TW_NO_DEVICE, "device 7 was asked for, CUDA has 3 (0 to 2)");
    open_case("a count without a list", "gpus=3", (tw_options){.engine = "cuda", .device_count = 2}, TW_BAD_ARGUMENT,
              "options.device_count is 2 and options.devices is NULL");
    open_case("a device beside the list", "gpus=3",
              (tw_options){.engine = "cuda", .device = 1, .device_count = 2, .devices = some}, TW_BAD_ARGUMENT,
              "options.device is set beside options.device_count");
    open_case("devices of two kinds", "gpus=2 sm1=80", (tw_options){.engine = "cuda", .device_count = -1}, TW_NO_DEVICE,
              "devices of one context are of one kind");
    open_case("of the cpu", "gpus=2", (tw_options){.engine = "cpu", .device_count = -1}, TW_BAD_ARGUMENT,
              "options.device_count is set, expected 0: the cpu engine computes a product on one device");
}

/* Copied in panels of rows, whose kernel wants a workspace to divide k where that of the whole wants none. */
static void limit_case(void)
{
    const spread_case x = {"sm=90", 1, 0, TW_F64, TW_N, TW_N, 4096, 512, 2048, 1, 0, false, NULL};
    if (!tap_case("in panels no more memory is taken than options.memory_bytes")) return;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    size_t *most = driver != NULL ? dlsym(driver, "fake_most_bytes") : NULL;
    tw_problem p = tw_problem_make(x.dtype, x.op_a, x.op_b, x.m, x.n, x.k);
    const int64_t bytes = 8 * (x.m * x.k + x.k * x.n + x.m * x.n);
    double *operands = calloc((size_t)bytes, 1), *b = operands + x.m * x.k;
    size_t taken[2] = {0, 0};
    tw_status status = most != NULL && operands != NULL ? TW_OK : TW_NO_MEMORY;
    setenv("FAKE_CUDA", "sm=90", 1);
    for (int limited = 0; status == TW_OK && limited < 2; limited++) {
        const tw_options options = {.size = sizeof options, .engine = "cuda", .memory_bytes = limited ? bytes : 0};
        tw_context *context;
        *most = 0;
        status = tw_open(&options, &context);
        if (status == TW_OK) status = tw_gemm(context, &p, operands, b, b + x.k * x.n);
        tw_close(context);
        taken[limited] = *most;
    }
    free(operands);
    tap_result(status == TW_OK && taken[0] > (size_t)bytes && taken[1] <= (size_t)bytes, "%d: %s; %zu and %zu of %zu",
               (int)status, tw_error_text(), taken[0], taken[1], (size_t)bytes);
}

int main(int argc, char **argv)
{
    static const spread_case cases[] = {
        {"sm=80 order=1", 1, 1500, TW_F32, TW_N, TW_N, 900, 1300, 64, 1, 0, true, NULL},
        {"sm=80 order=1", 1, 1500, TW_F32, TW_T, TW_T, 900, 1300, 64, -2, 3, false, NULL},
        {"sm=80 order=5", 2, 3000, TW_F32, TW_N, TW_N, 1300, 900, 65, 1, 0, true, NULL},
        {"sm=90 order=1", 2, 3000, TW_F32, TW_N, TW_N, 1300, 900, 65, 1, 0, true, NULL},
        {"sm=90 multiprocessors=4 order=1", 2, 1700, TW_F32, TW_N, TW_N, 1500, 2000, 70, 1, 0, true, NULL},
        {"sm=90 multiprocessors=4 order=4", 4, 1700, TW_F32, TW_N, TW_T, 2100, 2300, 70, 1, 0, true, NULL},
        {"sm=90 multiprocessors=4 order=415", 2, 1345, TW_F32, TW_N, TW_T, 802, 966, 36, 1, 3, true, NULL},
        {"sm=80 order=1", 3, 1500, TW_F32, TW_N, TW_N, 2600, 700, 70, 1, 0, false, NULL},
        {"sm=90 order=7", 3, 3000, TW_F32, TW_N, TW_T, 1300, 900, 65, 3, -2, false, NULL},
        {"sm=90 order=9 peer=0", 4, 2000, TW_F32, TW_T, TW_N, 1300, 900, 65, 1, 1, false, NULL},
        {"sm=75 order=3 mib1=2", 3, 4000, TW_F64, TW_N, TW_N, 700, 900, 65, 1, 0, false, NULL},
        {"sm=80 order=11", 8, 900, TW_F32, TW_N, TW_N, 3, 1900, 70, 1, 0, true, NULL},
        {"sm=80 order=1", 2, 0, TW_F32, TW_N, TW_N, 2100, 1950, 256, 1, 0, true, NULL},
        {"sm=80 order=1", 2, 3000, TW_F32, TW_N, TW_N, 1300, 900, 65, 1, 0, false, "cuMemAlloc_v2=2@2"},
        /* of one device, in panels of rows, B packed once: 64 MiB of A and C */
        {"sm=80 order=1", 1, 0, TW_I8, TW_N, TW_N, 2100, 8200, 33, 1, 0, false, NULL},
        {"sm=80 order=1", 1, 0, TW_U8, TW_N, TW_T, 2100, 8200, 33, 1, 0, false, NULL},
        {"sm=80 order=1", 1, 0, TW_I8, TW_N, TW_T, 2100, 8200, 33, 1, 3, true, NULL},
        /* complex numbers: each panel writes squares of B, though planes would be cheaper for one; k 0; of two devices
         * one computes */
        {"sm=80 order=1", 1, 0, TW_CF32, TW_R, TW_C, 2100, 4200, 9, 1, 3, true, NULL},
        {"sm=75 order=1", 1, 0, TW_CF64, TW_C, TW_N, 3, 200, 70, -2, 0, false, NULL},
        {"sm=75 order=1", 1, 0, TW_CF64, TW_R, TW_T, 3, 200, 70, 1, 2, false, NULL},
        {"sm=80 order=1", 1, 0, TW_CF32, TW_C, TW_C, 4, 190, 71, -2, 3, false, NULL},
        {"sm=75 order=3", 1, 0, TW_CF64, TW_N, TW_T, 9, 200, 0, 1, 2, false, NULL},
        {"sm=80 order=3", 2, 0, TW_CF32, TW_N, TW_N, 70, 900, 60, 1, 0, false, NULL},
        /* few rows or columns of bf16 in place, k divided: partial sums, and the kernel that adds them */
        {"sm=80 order=1", 0, 0, TW_BF16, TW_N, TW_N, 3, 300, 4000, 1, 0, false, NULL},
        {"sm=80 order=3", 0, 0, TW_BF16, TW_T, TW_T, 301, 7, 4001, 2, -1, false, NULL},
        /* kernels of which some read the longer operand of a whole product as stored */
        {"sm=90 order=5", 2, 0, TW_I8, TW_T, TW_N, 200, 3700, 1500, 1, 0, false, NULL},
        {"sm=90 order=3", 1, 1500, TW_I8, TW_N, TW_N, 128, 3100, 1000, 1, 0, false, NULL},
        /* with --full: as the last but one, of A */
        {"sm=90 order=3", 2, 0, TW_I8, TW_N, TW_N, 128, 200, 100000, 1, 0, false, NULL},
    };
    enum { CASES = sizeof cases / sizeof *cases };
    const char *folders = FAKES_FOLDER "/cuda:" FAKES_FOLDER "/nvrtc";
    if (getenv("LD_LIBRARY_PATH") == NULL || strcmp(getenv("LD_LIBRARY_PATH"), folders) != 0) {
        setenv("LD_LIBRARY_PATH", folders, 1);
        setenv("TILEWRIGHT_CACHE", "off", 1);
        unsetenv("TILEWRIGHT_NVRTC"), unsetenv("TILEWRIGHT_KERNELS"), unsetenv("FAKE_LOG");
        execv("/proc/self/exe", argv);
        return 2;
    }
    tap_start(argc, argv);
    for (int i = 0; i < CASES - !tap.full; i++) run_case(&cases[i]);
    changing_sizes_case();
    limit_case();
    const spread_case lost = {
        "sm=80 order=6 lost=1 after=3", 2, 1500, TW_F32, TW_N, TW_N, 1300, 900, 65, 1, 0, false, NULL};
    fail_case(&lost, TW_DEVICE_FAILED, "device 1: ");
    const spread_case none = {"sm=80 order=6",  2, 1500, TW_F32, TW_N, TW_N, 1300, 900, 65, 1, 0, false,
                              "cuMemAlloc_v2=2"};
    fail_case(&none, TW_NO_MEMORY, "no device memory for ");
    static const spread_case steps = {"sm=80 order=6", 2, 1500, TW_F32, TW_N, TW_N, 1300, 900, 65, 1, 0, false, NULL},
                             panels = {"sm=80 order=1", 1, 0, TW_I8, TW_N, TW_N, 2100, 8200, 1, 1, 0, false, NULL},
                             down = {"sm=80 order=1", 1, 0, TW_F32, TW_T, TW_N, 2100, 2100, 1, 1, 0, false, NULL},
                             whole = {"sm=80 order=1", 1, 0, TW_F32, TW_N, TW_N, 90, 130, 65, 1, 0, false, NULL};
    cancel_case(&steps, "cuLaunchKernel", 1), cancel_case(&steps, "cuMemcpyHtoDAsync_v2", 2);
    cancel_case(&panels, "cuLaunchKernel", 2), cancel_case(&panels, "cuMemcpyHtoDAsync_v2", 1);
    cancel_case(&down, "cuMemcpyDtoHAsync_v2", 2);
    cancel_batch_case();
    cancel_case(&whole, "cuMemcpy2DUnaligned_v2", 2), cancel_case(&whole, "cuLaunchKernel", 1);
    for (unsigned i = 1; i <= (tap.full ? 1500 : 40); i++) random_case(i);
    for (unsigned i = 1; i <= (tap.full ? 1500 : 40); i++) blocks_case(i);
    large_operand_case();
    refuse_blocks();
    open_cases();
    return tap_finish();
}
