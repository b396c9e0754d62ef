/* test_stack.c - how much stack calls take: a thread with a painted one makes each kind of call of the cpu engine, and
 * lists devices; it loses no more of the paint than include/tilewright.h says. */
#include <pthread.h>
#include <stdatomic.h>

#include "support/tap.h"
#include "tilewright_lab.h"

enum { DOCUMENTED = 48 << 10, DRIVERS = 256 << 10, PAINT = 0x5a, SIDE = 180 };

static _Alignas(4096) unsigned char stack[2 * DRIVERS];
static double a[2 * SIDE * SIDE], b[2 * SIDE * SIDE], c[4 * SIDE * SIDE]; /* complex */
static atomic_bool no_memory;

/* In place of the system's, for the library in this program: without memory blocks are made on the stack. */
void *aligned_alloc(size_t alignment, size_t bytes)
{
    void *memory;
    return !atomic_load(&no_memory) && posix_memalign(&memory, alignment, bytes) == 0 ? memory : NULL;
}

/* A kind of call, and what it is made with. */
typedef struct work {
    void (*call)(const struct work *);
    tw_context *context;
    tw_problem problem;
    tw_status expected;
    const unsigned char *top; /* of the call's stack */
} work;

static tw_status last_status;

static void open_and_close(const work *w)
{
    tw_context *context;
    const tw_options options = {.size = sizeof options, .threads = 2};
    tw_device device = {.size = sizeof device};
    (void)w;
    last_status = tw_open(&options, &context);
    if (last_status == TW_OK) last_status = tw_describe(context, &device);
    tw_close(context);
}

static void open_nothing(const work *w)
{
    tw_context *context;
    const tw_options options = {.size = sizeof options, .engine = "cpu", .instruction_set = "mmx"};
    (void)w;
    last_status = tw_open(&options, &context);
}

static void list_devices(const work *w)
{
    int32_t count;
    (void)w;
    last_status = tw_devices(NULL, 0, &count);
}

static void multiply(const work *w) { last_status = tw_gemm(w->context, &w->problem, a, b, c); }

static void multiply_batch(const work *w)
{
    tw_batch batch = tw_batch_make(&w->problem, 2);
    batch.stride_a = batch.stride_b = 0;
    last_status = tw_gemm_batched(w->context, &w->problem, &batch, a, b, c);
}

/* Diagonal blocks as high as there are, of a product and a solve, b by rows and by columns. */
static void multiply_blocks(const work *w)
{
    static double t[TW_LAB_TRIANGLE_EDGE * TW_LAB_TRIANGLE_EDGE], x[TW_LAB_TRIANGLE_EDGE * TW_LAB_TRIANGLE_EDGE];
    tw_lab_triangle block = {.dtype = w->problem.dtype,
                             .m = TW_LAB_TRIANGLE_EDGE,
                             .n = TW_LAB_TRIANGLE_EDGE,
                             .t = t,
                             .b = x,
                             .t_rs = TW_LAB_TRIANGLE_EDGE,
                             .t_cs = 1,
                             .alpha = 1};
    last_status = TW_OK;
    for (int i = 0; i < 8 && last_status == TW_OK; i++) {
        block.solves = i & 1, block.lower = i >> 1 & 1;
        block.b_rs = i & 4 ? 1 : TW_LAB_TRIANGLE_EDGE, block.b_cs = i & 4 ? TW_LAB_TRIANGLE_EDGE : 1;
        last_status = tw_lab_triangle_compute(w->context, &block);
    }
}

static void *run(void *argument)
{
    unsigned char here;
    work *w = argument;
    w->top = &here;
    w->call(w);
    return NULL;
}

/* Bytes of stack below the thread's own frame, of twice what is documented; a call of another status counts as all. */
static size_t painted_over(work *w, size_t documented)
{
    const size_t all = 2 * documented;
    pthread_attr_t attributes;
    pthread_t thread;
    size_t clean = 0;
    memset(stack, PAINT, all);
    pthread_attr_init(&attributes);
    if (pthread_attr_setstack(&attributes, stack, all) != 0 || pthread_create(&thread, &attributes, run, w) != 0)
        return all;
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    while (clean < all && stack[clean] == PAINT) clean++;
    return last_status == w->expected ? (size_t)(w->top - (stack + clean)) : all;
}

static void call_case(const char *what, size_t documented, work w)
{
    if (!tap_case("%s", what)) return;
    const size_t bytes = painted_over(&w, documented);
    tap_result(bytes <= documented, "%zu bytes of stack, documented %zu; %s", bytes, documented,
               tw_status_name(last_status));
}

/* Products of all kinds; the worst counts. */
static void products_case(const char *level, int threads, bool starved)
{
    static const tw_dtype dtypes[] = {TW_F32, TW_F64, TW_CF32, TW_CF64, TW_BF16, TW_I8, TW_F16, TW_I16};
    static const int64_t shapes[][3] = {{8, 8, 8},       {33, 65, 70},    {SIDE, SIDE, SIDE},
                                        {1, SIDE, SIDE}, {SIDE, 1, SIDE}, {40, SIDE, 100}};
    const tw_options options = {.size = sizeof options, .engine = "cpu", .instruction_set = level, .threads = threads};
    char worst[80] = "";
    size_t most = 0;
    work w = {.expected = TW_OK};
    if (!tap_case("products with %s instructions on %d threads%s", level, threads, starved ? ", without memory" : ""))
        return;
    tw_status opened = tw_open(&options, &w.context);
    if (opened == TW_NO_DEVICE) {
        tap_skip(tw_error_text());
        return;
    }
    atomic_store(&no_memory, starved);
    for (int i = 0; opened == TW_OK && i < 8 * 6 * 32; i++) {
        const int64_t *shape = shapes[i / 32 % 6];
        const bool real = tw_lab_dtype_of(dtypes[i / 192])->parts == 1;
        const tw_op op_a = (tw_op)(i & 1), op_b = i >> 1 & 1 ? real ? TW_T : TW_C : TW_N;
        w.problem = tw_problem_make(dtypes[i / 192], op_a, op_b, shape[0], shape[1], shape[2]);
        if (!real) w.problem.alpha_imaginary = 1;
        if (i & 16) { /* triangles */
            if (i / 192 > 3 || shape[0] != shape[1]) continue;
            w.problem.flags = TW_LOWER;
        }
        w.problem.beta = i & 4 ? 2 : 0;
        if (w.problem.dtype == TW_F16 && (i & 1)) w.problem.dtype_c = TW_F16;
        w.call = i & 8 ? multiply_batch : i % 32 == 16 && !starved && real ? multiply_blocks : multiply;
        const size_t bytes = painted_over(&w, DOCUMENTED);
        if (bytes <= most) continue;
        most = bytes;
        snprintf(worst, sizeof worst, "%s %c%c %dx%dx%d beta %g%s%s", tw_lab_dtype_of(w.problem.dtype)->name,
                 "ntcr"[op_a], "ntcr"[op_b], (int)shape[0], (int)shape[1], (int)shape[2], w.problem.beta,
                 i & 8 ? " batch" : "", i & 16 ? " triangle" : "");
    }
    atomic_store(&no_memory, false);
    tw_close(w.context);
    tap_result(opened == TW_OK && most > 0 && most <= DOCUMENTED, "%zu bytes of stack, documented %d: %s", most,
               DOCUMENTED, worst);
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED
#endif

int main(int argc, char **argv)
{
    static const char *const levels[] = {"base", "avx2", "avx512", "avx512_vnni", "avx512_bf16", "amx"};
    tap_start(argc, argv);
#if defined(SANITIZED)
    if (tap_case("stack of calls")) tap_skip("sanitizers enlarge frames");
    (void)call_case, (void)products_case, (void)open_and_close, (void)open_nothing, (void)list_devices, (void)levels;
#else
    tw_problem wrong = tw_problem_make(TW_F32, TW_N, TW_N, 8, 8, 8);
    wrong.lda = 1;
    call_case("open, describe and close", DOCUMENTED, (work){.call = open_and_close, .expected = TW_OK});
    call_case("a sentence of tw_open", DOCUMENTED, (work){.call = open_nothing, .expected = TW_BAD_ARGUMENT});
    call_case("a sentence of tw_gemm, and the default context", DOCUMENTED,
              (work){.call = multiply, .problem = wrong, .expected = TW_BAD_ARGUMENT});
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        products_case(levels[i], 1, false);
        products_case(levels[i], 3, false);
        products_case(levels[i], 1, true);
    }
    call_case("devices of all drivers that there are", DRIVERS, (work){.call = list_devices, .expected = TW_OK});
#endif
    return tap_finish();
}
