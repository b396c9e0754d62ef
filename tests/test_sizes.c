/* test_sizes.c - structs of other versions: smaller ones, whose missing fields count as 0; larger ones, whose unknown
 * fields must be 0; and fields that are reserved. Each struct ends at a page that nobody may touch. */
#include <fcntl.h>
#include <stddef.h>
#include <string.h>

#include "support/expect.h"
#include "support/guard.h"
#include "support/tap.h"
#include "tilewright_lab.h"

enum { MORE = 24 }; /* bytes of a newer version's fields */

static guard page;
static const double a[2 * 3] = {1, 2, 3, 4, 5, 6}, b[3 * 2] = {1, 0, 0, 1, 1, 1};
static double c[2 * 2];

/* Room for a struct, aligned as structs are, that ends where the page does or less than 8 bytes before. */
static void *place_bytes(size_t bytes) { return guard_place(&page, (bytes + 7) / 8 * 8, true); }

/* A copy of `known` bytes, of which the first `bytes` count or which is `bytes` long: it ends where the page does. */
static void *place(const void *from, size_t known, size_t bytes)
{
    char *at = place_bytes(bytes);
    const uint32_t size = (uint32_t)bytes;
    memset(at, 0, bytes);
    memcpy(at, from, bytes < known ? bytes : known);
    memcpy(at, &size, sizeof size);
    return at;
}

static bool is_product(void) { return c[0] == 4 && c[1] == 5 && c[2] == 10 && c[3] == 11; }

static bool refused(tw_status status, const char *words)
{
    return status == TW_BAD_ARGUMENT && strstr(tw_error_text(), words) != NULL;
}

/* ---- the five structs, each with a call that takes it ---- */

typedef struct sized {
    const char *name;
    size_t known, first; /* bytes: of today's struct, of its first layout */
    tw_status (*call)(void *);
    const void *value;
} sized;

static tw_status call_problem(void *p)
{
    memset(c, 0, sizeof c);
    return tw_gemm(NULL, p, a, b, c);
}

static tw_status call_batch(void *batch)
{
    const tw_problem p = tw_problem_make(TW_F64, TW_N, TW_N, 2, 2, 3);
    memset(c, 0, sizeof c);
    return tw_gemm_batched(NULL, &p, batch, a, b, c);
}

/* Launches are checked before the cpu engine says that it has no streams. */
static tw_status call_launch(void *launch)
{
    const tw_problem p = tw_problem_make(TW_F64, TW_N, TW_N, 2, 2, 3);
    const tw_status status = tw_enqueue(NULL, &p, a, b, c, launch);
    const bool taken = status == TW_BAD_ARGUMENT && strstr(tw_error_text(), "no streams") != NULL;
    tw_problem again = p;
    return taken ? call_problem(&again) : status;
}

static tw_status call_options(void *options)
{
    tw_context *context = NULL;
    tw_status status = tw_open(options, &context);
    const tw_problem p = tw_problem_make(TW_F64, TW_N, TW_N, 2, 2, 3);
    memset(c, 0, sizeof c);
    if (status == TW_OK) status = tw_gemm(context, &p, a, b, c);
    tw_close(context);
    return status;
}

static tw_status call_describe(void *device)
{
    tw_status status = tw_describe(NULL, device);
    if (status == TW_OK && strcmp(((tw_device *)device)->engine, "cpu") != 0) return TW_DEVICE_FAILED;
    return call_problem(&(tw_problem){.size = sizeof(tw_problem),
                                      .dtype = TW_F64,
                                      .m = 2,
                                      .n = 2,
                                      .k = 3,
                                      .lda = 3,
                                      .ldb = 2,
                                      .ldc = 2,
                                      .alpha = 1}) == TW_OK
               ? status
               : TW_DEVICE_FAILED;
}

static void sizes_of(const sized *s)
{
    if (tap_case("%s of its first size", s->name))
        tap_result(s->call(place(s->value, s->known, s->first)) == TW_OK && is_product(), "%s", tw_error_text());
    if (tap_case("%s larger, with zeros", s->name))
        tap_result(s->call(place(s->value, s->known, s->known + MORE)) == TW_OK && is_product(), "%s", tw_error_text());
    if (tap_case("%s as large as is read", s->name))
        tap_result(s->call(place(s->value, s->known, 4096)) == TW_OK && is_product(), "%s", tw_error_text());
    for (size_t bytes = 0; bytes < s->first; bytes += bytes < 8 ? 4 : 8) {
        if (!tap_case("%s of %zu bytes", s->name, bytes)) continue;
        uint32_t *at = place(s->value, s->known, bytes < 4 ? 4 : bytes); /* the size itself can be read */
        *at = (uint32_t)bytes;
        tap_result(refused(s->call(at), "expected the struct's sizeof"), "%s", tw_error_text());
    }
    if (tap_case("%s that is too large to be one", s->name)) {
        uint32_t *at = place(s->value, s->known, 4); /* nothing behind the size may be read */
        *at = 4097;
        tap_result(refused(s->call(at), "size is 4097, expected the struct's sizeof"), "%s", tw_error_text());
    }
}

/* Unknown fields of structs that the library reads, each byte by itself. */
static void unknown_fields_of(const sized *s)
{
    for (size_t i = 0; i < MORE; i++) {
        if (!tap_case("%s with byte %zu of an unknown field", s->name, i)) continue;
        char *at = place(s->value, s->known, s->known + MORE);
        at[s->known + i] = 1;
        tap_result(refused(s->call(at), "needs a newer version"), "%s", tw_error_text());
    }
}

/* Calls that are not given operands read the problem's alignments themselves. */
static void unseen(void)
{
    int64_t bytes;
    uint32_t *at = place_bytes(4);
    *at = 8;
    expect("a problem of 8 bytes is not prepared", refused(tw_prepare(NULL, (tw_problem *)(void *)at), "size is 8"));
    expect("and no workspace is named",
           refused(tw_workspace_bytes(NULL, (tw_problem *)(void *)at, &bytes), "problem.size is 8"));
}

/* ---- devices: a list whose stride is the caller's size ---- */

static void devices(void)
{
    enum { MOST = 16 };
    static tw_device own[MOST];
    int32_t count = 0, again = 0;
    own[0].size = sizeof *own;
    const bool listed = tw_devices(own, MOST, &count) == TW_OK && count >= 1;
    const int32_t kept = count < MOST ? count : MOST;
    const uint32_t size = sizeof *own + MORE;
    char *all = guard_place(&page, (size_t)kept * size, true);
    memset(all, -1, (size_t)kept * size);
    memcpy(all, &size, sizeof size);
    bool same = listed && tw_devices((tw_device *)(void *)all, kept, &again) == TW_OK && again == count;
    bool zero = true;
    for (int32_t i = 0; same && i < kept; i++) {
        const char *at = all + (size_t)i * size;
        same = memcmp(at, &size, sizeof size) == 0 && memcmp(at + 4, (char *)&own[i] + 4, sizeof *own - 4) == 0;
        for (size_t x = sizeof *own; x < size; x++) zero = zero && at[x] == 0;
    }
    expect("larger devices: the same list", same);
    expect("larger devices: unknown fields become 0", same && zero);
    static char less[2 * (sizeof(tw_device) + MORE)];
    memset(less, -1, sizeof less);
    memcpy(less, &size, sizeof size);
    bool one = tw_devices((tw_device *)(void *)less, 1, &again) == TW_OK && again == count;
    for (size_t x = size; x < sizeof less; x++) one = one && less[x] == (char)-1;
    expect("larger devices: no more than there is room for", one);
    memcpy(less, &size, sizeof size);
    expect("one larger device is described",
           tw_describe(NULL, (tw_device *)(void *)less) == TW_OK && memcmp(less, &size, sizeof size) == 0);
    uint32_t odd = 8;
    expect("devices of no size", refused(tw_devices((tw_device *)(void *)memcpy(less, &odd, 4), 1, &count),
                                         "devices[0].size is 8, expected the struct's sizeof"));
    expect("the lab takes its own size alone",
           refused(tw_lab_engine_devices("cpu", (tw_device *)(void *)memcpy(less, &size, 4), 1, &count),
                   "devices[0].size is"));
}

/* ---- reserved fields ---- */

#define PROBLEM(field, to)                                                                                             \
    do {                                                                                                               \
        if (!tap_case("problem." #field)) break;                                                                       \
        tw_problem p = tw_problem_make(TW_F64, TW_N, TW_N, 2, 2, 3);                                                   \
        p.field = to;                                                                                                  \
        bool first = refused(call_problem(&p), "problem." #field " is set, expected 0");                               \
        p.field = 0;                                                                                                   \
        bool without = call_problem(&p) == TW_OK;                                                                      \
        p.field = to; /* now there is a plan to recall */                                                              \
        tap_result(first &&without &&refused(call_problem(&p), "problem." #field " is set"), "%s", tw_error_text());   \
    } while (0)

#define OPTION(field, to)                                                                                              \
    do {                                                                                                               \
        if (!tap_case("options." #field)) break;                                                                       \
        tw_options o = {.size = sizeof o, .field = to};                                                                \
        tap_result(refused(call_options(&o), "options." #field " is set, expected 0"), "%s", tw_error_text());         \
    } while (0)

/* Of complex types they are not reserved; a struct that ends before them has scalars without imaginary parts. */
static void complex_fields(void)
{
    static const double x[2] = {1, 2}, y[2] = {3, -1};
    double z[2] = {5, 7};
    tw_problem p = tw_problem_make(TW_CF64, TW_C, TW_R, 1, 1, 1); /* (1 - 2i)(3 + i) = 5 - 5i */
    p.alpha_imaginary = 2, p.beta_imaginary = -1;                 /* (1 + 2i)(5 - 5i) - i (5 + 7i) = 22 */
    expect("complex: imaginary parts of the scalars, and conjugating ops",
           tw_gemm(NULL, &p, x, y, z) == TW_OK && z[0] == 22 && z[1] == 0);
    z[0] = 5, z[1] = 7, p.beta = 1;
    const tw_problem *first = place(&p, sizeof p, offsetof(tw_problem, dtype_b));
    expect("complex: a problem of its first size", tw_gemm(NULL, first, x, y, z) == TW_OK && z[0] == 10 && z[1] == 2);
    p.op_a = (tw_op)4;
    expect("complex: an op that there is not",
           refused(tw_gemm(NULL, &p, x, y, z), "op_a is 4, expected TW_N, TW_T, TW_C or TW_R"));
    p.op_a = TW_N, p.dtype_b = TW_F64;
    expect("complex: a real B", refused(tw_gemm(NULL, &p, x, y, z), "dtype_b is 1, expected 0 or 8: dtype is cf64"));
}

static void reserved(void)
{
    static float one = 1;
    PROBLEM(scale_kind, UINT32_MAX);
    PROBLEM(alpha_imaginary, 0.5);
    PROBLEM(beta_imaginary, -1e-300);
    PROBLEM(scale_a, &one);
    PROBLEM(scale_b, &one);
    PROBLEM(scale_c, &one);
    tw_problem p = tw_problem_make(TW_F64, TW_N, TW_N, 2, 2, 3);
    p.epilogue = (void *)&one;
    expect("problem.epilogue that is none", refused(call_problem(&p), "problem.epilogue is none that"));
    p.epilogue = NULL;
    p.dtype_b = TW_F64, p.alpha_imaginary = -0.0;
    expect("dtype_b as dtype, and a negative zero", call_problem(&p) == TW_OK && is_product());
    p.dtype_b = TW_F32;
    expect("dtype_b of another type", refused(call_problem(&p), "dtype_b is 2, expected 0 or 1: dtype is f64"));
    p.dtype_b = 0, p.op_a = TW_C;
    expect("a conjugating op", refused(call_problem(&p), "op_a is 2, expected TW_N or TW_T"));
    p.op_a = TW_N, p.op_b = TW_R;
    expect("an op that conjugates alone", refused(call_problem(&p), "op_b is 3, expected TW_N or TW_T"));
    complex_fields();
    static const int32_t list[] = {0};
    if (tap_case("options.flags")) {
        tw_options o = {.size = sizeof o, .engine = "cpu", .flags = TW_UNTUNED};
        const bool taken = call_options(&o) == TW_OK;
        o.flags = 4;
        tap_result(taken && refused(call_options(&o),
                                    "options.flags is 4, expected 0, TW_UNTUNED (1), TW_STAY (2) or both by |"),
                   "%s", tw_error_text());
    }
    OPTION(device_count, 1);
    OPTION(devices, list);
    OPTION(device_id, &one);
    OPTION(memory_bytes, 1);
}

int main(int argc, char **argv)
{
    tap_start(argc, argv);
    page = guard_make(1 << 16);
    const tw_problem p = tw_problem_make(TW_F64, TW_N, TW_N, 2, 2, 3);
    const tw_batch batch = {.size = sizeof batch, .count = 1};
    const tw_options options = {.size = sizeof options, .engine = "cpu", .threads = 1};
    const tw_launch launch = {.size = sizeof launch};
    const tw_device device = {.size = sizeof device};
    const sized all[] = {
        {"problem", sizeof p, offsetof(tw_problem, dtype_b), call_problem, &p},
        {"batch", sizeof batch, sizeof batch, call_batch, &batch},
        {"launch", sizeof launch, offsetof(tw_launch, flags), call_launch, &launch},
        {"options", sizeof options, offsetof(tw_options, flags), call_options, &options},
        {"device", sizeof device, sizeof device, call_describe, &device},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) sizes_of(&all[i]);
    for (size_t i = 0; i < 4; i++) unknown_fields_of(&all[i]);
    unseen();
    devices();
    reserved();
    return tap_finish();
}
