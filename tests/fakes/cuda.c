/* cuda.c - a fake libcuda.so.1: one device (FAKE_CUDA "gpus=0" none, "gpus=3" three, "sm=70" another, "sm1=80" device
 * 1) whose memory is the host's, 16 GiB of it ("mib=8": 8 MiB; "mib1=4": 4 MiB of device 1). Contexts are a stack of
 * each thread; a stream belongs to the context it was made in, and FAKE_LOG gets "on" and its address after each
 * launch. While one is being captured, nothing is allocated, loaded, copied or waited for:
 * CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED. OLD: without its newest function. Events read a clock that each launch puts
 * forward by 1 ms (FAKE_CUDA "us=250": by 0.25; "us_sgemm_simt=500": that kernel's by 0.5; "lacks_sgemm_simt=1": it
 * leaves out the last step of k; "hangs_sgemm_simt=1": its launch does not return; "wavers_sgemm_simt=16": every other
 * four of its launches take 16 times as long). Devices reach each other's memory ("peer=0": they do not); "lost=1
 * after=9": device 1 fails from its tenth launch on; "stuck=1": its products never end, "slow_ms=500": they end so
 * long after their launch (both with "order=..."). Host memory that cuMemHostAlloc gave is pinned. No kernel is run,
 * but with "product=1" on the host sgemm_simt, sgemm_cpasync_sm80, sgemm_tma_sm90, sgemm_slicedk_sm80 and its like
 * by TMA, dgemm_simt, gemm_simt of bf16 and of bytes, gemm_thin_sm80, gemm_inplace_sm80 and their add, pack, the
 * passes of complex.cu, f32's gemm_batched_simt and, in tiles of "tile=32", sgemm_batched_cpasync_sm80. With "shapes=1"
 * FAKE_LOG gets m, n and k of each product, and its leading dimensions where they are arguments. With "order=..."
 * (order.h) streams are ordered by events alone, new memory holds NaN, and a copy or a product outside its device's
 * memory ends the context. */
#include <stdint.h>

#include "../../kernels/cuda/arguments.h"
#include "engines/cuda/cu_api.h"
#include "fake.h"
#include "order.h"

#define CALL(name, parameters, ...)                                                                                    \
    cu_result name parameters                                                                                          \
    {                                                                                                                  \
        FAULT(name, fault);                                                                                            \
        if (fault != 0) return fault;                                                                                  \
        __VA_ARGS__;                                                                                                   \
        return CU_SUCCESS;                                                                                             \
    }
/* What gives something back does so whatever it returns: leak checkers look at the engine. */
#define GIVE(name, parameters, ...)                                                                                    \
    cu_result name parameters                                                                                          \
    {                                                                                                                  \
        FAULT(name, fault);                                                                                            \
        __VA_ARGS__;                                                                                                   \
        return fault;                                                                                                  \
    }

static int choice(const char *name, int otherwise)
{
    int unused;
    return fake_number("FAKE_CUDA", name, otherwise, &unused);
}

static int attribute(int what, int device)
{
    char name[16];
    snprintf(name, sizeof name, "sm%d", device);
    int sm = choice(name, choice("sm", 90));
    return what == CU_ATTRIBUTE_MAJOR          ? sm / 10
           : what == CU_ATTRIBUTE_MINOR        ? sm % 10
           : what == CU_ATTRIBUTE_SHARED_OPTIN ? 232448
           : what == CU_ATTRIBUTE_L2_BYTES     ? 50 << 20
           : what == CU_ATTRIBUTE_MAX_PITCH    ? choice("pitch", INT32_MAX)
                                               : choice("multiprocessors", 132);
}

static const char *name_of(cu_result error)
{
    return error == 2     ? "CUDA_ERROR_OUT_OF_MEMORY"
           : error == 100 ? "CUDA_ERROR_NO_DEVICE"
           : error == 200 ? "CUDA_ERROR_INVALID_IMAGE"
           : error == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS"
           : error == 906 ? "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT"
           : error == 400 ? "CUDA_ERROR_INVALID_HANDLE"
           : error == 999 ? "CUDA_ERROR_UNKNOWN"
                          : NULL;
}

enum { PRIMARY = 64, DEVICES = 16, DEEPEST = 64, NO_CONTEXT = 201, NO_SUCH_HANDLE = 400, NOT_CAPTURED = 900 };
static _Thread_local cu_context contexts[DEEPEST];
static _Thread_local int depth; /* of contexts[] */
static int captures;

static void push(cu_context context)
{
    if (depth < DEEPEST) depth++;
    contexts[depth - 1] = context;
}

static cu_context current(void) { return depth > 0 ? contexts[depth - 1] : NULL; }

static cu_context primary(int device) { return (cu_context)(uintptr_t)(PRIMARY + device); }

/* Of a primary context; another is of device 0. */
static int device_of(cu_context context)
{
    const uintptr_t handle = (uintptr_t)context;
    return handle >= PRIMARY && handle < PRIMARY + DEVICES ? (int)(handle - PRIMARY) : 0;
}

static int order(void) { return choice("order", 0); }

static cu_stream make_stream(void)
{
    cu_stream stream = calloc(1, sizeof *stream);
    stream->context = current();
    add_stream(stream);
    return stream;
}

static void log_stream(cu_stream stream)
{
    char line[32];
    snprintf(line, sizeof line, "on %p", (void *)stream);
    fake_log(line);
}

static void log_cluster(unsigned blocks)
{
    char line[32];
    snprintf(line, sizeof line, "clusters of %u", blocks);
    fake_log(line);
}

static void *handle(void) { return calloc(1, sizeof(struct cu_event_)); }

/* Device memory: "mib=8" is all there is of each; each block begins behind what is known of it. */
typedef struct block {
    struct block *next;
    size_t bytes;
    int device; /* HOST: pinned */
} block;
enum { HOST = -1, BEFORE = 256 };
static block *taken;
static size_t given_bytes[DEVICES];
__attribute__((visibility("default"))) size_t fake_most_bytes; /* that a device had given at once; a test clears it */
static _Atomic int lost[DEVICES], launches[DEVICES];           /* lost: the error of every call */

static size_t device_bytes(int device)
{
    char name[16];
    snprintf(name, sizeof name, "mib%d", device);
    return (size_t)choice(name, choice("mib", 16384)) << 20;
}

/* What allocates or loads waits for kernels that wait for another process. */
static void wait_for_others(int device)
{
    pthread_mutex_lock(&ordering);
    for (struct cu_stream_ *s = all_streams; s != NULL; s = s->next)
        while (device_of(s->context) == device && has_given(s)) force(s);
    pthread_mutex_unlock(&ordering);
}

static cu_result allocate(cu_pointer *memory, size_t bytes, int device)
{
    wait_for_others(device == HOST ? device_of(current()) : device);
    pthread_mutex_lock(&ordering);
    const bool fits = device == HOST || given_bytes[device] + bytes <= device_bytes(device);
    char *made = fits ? aligned_alloc(256, BEFORE + (bytes + 256) / 256 * 256) : NULL;
    if (made != NULL) {
        if (device != HOST) given_bytes[device] += bytes;
        if (device != HOST && given_bytes[device] > fake_most_bytes) fake_most_bytes = given_bytes[device];
        *(block *)(void *)made = (block){taken, bytes, device};
        taken = (block *)(void *)made;
        if (order() > 0) memset(made + BEFORE, 0xff, bytes);
        *memory = (cu_pointer)(uintptr_t)(made + BEFORE);
    }
    pthread_mutex_unlock(&ordering);
    return made != NULL ? CU_SUCCESS : 2;
}

static void give_back(cu_pointer memory)
{
    if (memory == 0) return;
    block *b = (block *)(void *)((char *)(uintptr_t)memory - BEFORE), **at = &taken;
    pthread_mutex_lock(&ordering);
    drain_all();
    while (*at != b) at = &(*at)->next;
    *at = b->next;
    if (b->device != HOST) given_bytes[b->device] -= b->bytes;
    if (order() > 0) memset((char *)(void *)b + BEFORE, 0xff, b->bytes);
    pthread_mutex_unlock(&ordering);
    free(b);
}

/* Does all of it lie in one block of the device? */
static bool lies_on(int device, const void *at, size_t bytes)
{
    const uintptr_t first = (uintptr_t)at;
    for (const block *b = taken; b != NULL; b = b->next) {
        const uintptr_t begin = (uintptr_t)b + BEFORE;
        if (b->device == device && first >= begin && first + bytes <= begin + b->bytes) return true;
    }
    return false;
}

/* ---- the clock ---- */

static _Atomic int64_t now_us;

static int64_t fake_now(void) { return now_us; }

/* ---- copies ---- */

static void copy_now(work *w)
{
    const int device = device_of(w->stream->context);
    if (lost[device] != 0) return;
    for (size_t i = 0; i < w->height; i++) memcpy(w->to + i * w->to_pitch, w->from + i * w->from_pitch, w->width);
}

static size_t span(const work *w, size_t pitch) { return (w->height - 1) * pitch + w->width; }

/* Put a copy on a stream; devices: that must have what is copied, and its place; HOST: nobody asks. */
static cu_result put_copy(cu_stream stream, work copy, int from, int to)
{
    work *w = malloc(sizeof *w);
    *w = copy;
    w->run = copy_now, w->next = NULL;
    pthread_mutex_lock(&ordering);
    const int device = device_of(stream->context);
    if (order() > 0 && w->height > 0 &&
        ((from != HOST && !lies_on(from, w->from, span(w, w->from_pitch))) ||
         (to != HOST && !lies_on(to, w->to, span(w, w->to_pitch)))))
        lost[device] = CU_ILLEGAL_ADDRESS;
    const int error = lost[device];
    if (error == 0)
        put(stream, w, order());
    else
        free(w);
    pthread_mutex_unlock(&ordering);
    return error;
}

static int side(int type, cu_context context) { return type == CU_MEMORY_HOST ? HOST : device_of(context); }

static work rows_of(const cu_copy_2d *c)
{
    return (work){.to = c->dst_type == CU_MEMORY_HOST ? c->dst_host : (char *)(uintptr_t)c->dst_device,
                  .from = c->src_type == CU_MEMORY_HOST ? c->src_host : (const char *)(uintptr_t)c->src_device,
                  .to_pitch = c->dst_pitch,
                  .from_pitch = c->src_pitch,
                  .width = c->width_bytes,
                  .height = c->height};
}

/* A copy that is waited for comes after all that there is. */
static cu_result copy_and_wait(work w)
{
    if (captures > 0) return NOT_CAPTURED;
    pthread_mutex_lock(&ordering);
    drain_all();
    for (size_t i = 0; i < w.height; i++) memcpy(w.to + i * w.to_pitch, w.from + i * w.from_pitch, w.width);
    pthread_mutex_unlock(&ordering);
    return lost[device_of(current())];
}

static bool too_far_apart(size_t from_pitch, size_t to_pitch)
{
    const size_t most_pitch = (size_t)attribute(CU_ATTRIBUTE_MAX_PITCH, 0);
    return from_pitch > most_pitch || to_pitch > most_pitch;
}

static cu_result put_rows(const cu_copy_2d *c, cu_stream stream)
{
    if (too_far_apart(c->src_pitch, c->dst_pitch)) return 1;
    return put_copy(stream, rows_of(c), side(c->src_type, stream->context), side(c->dst_type, stream->context));
}

static cu_result put_peer_rows(const cu_copy_peer *c, cu_stream stream)
{
    const work w = {.to = (char *)(uintptr_t)c->dst_device,
                    .from = (const char *)(uintptr_t)c->src_device,
                    .to_pitch = c->dst_pitch,
                    .from_pitch = c->src_pitch,
                    .width = c->width_bytes,
                    .height = c->height};
    if (too_far_apart(c->src_pitch, c->dst_pitch)) return 1;
    return put_copy(stream, w, device_of(c->src_context), device_of(c->dst_context));
}

static work line(void *to, const void *from, size_t bytes)
{
    return (work){.to = to, .from = from, .width = bytes, .height = 1};
}

/* ---- events and waits ---- */

static cu_result record(cu_event event, cu_stream stream)
{
    if (captures > 0) return NOT_CAPTURED;
    event->us = fake_now();
    if (stream == NULL) return CU_SUCCESS;
    work *w = calloc(1, sizeof *w);
    pthread_mutex_lock(&ordering);
    const int error = lost[device_of(stream->context)];
    *w = (work){.event = event, .reaches = ++event->recorded};
    event->stream = stream;
    put(stream, w, order());
    pthread_mutex_unlock(&ordering);
    return error;
}

static bool is_needed(cu_event event)
{
    for (const struct cu_stream_ *s = all_streams; s != NULL; s = s->next)
        for (const work *w = s->first; w != NULL; w = w->next)
            if (w->event == event) return true;
    return false;
}

/* What still waits for it is done. */
static void destroy_event(cu_event event)
{
    pthread_mutex_lock(&ordering);
    if (is_needed(event)) drain_all();
    pthread_mutex_unlock(&ordering);
    free(event);
}

static cu_result wait_in_stream(cu_stream stream, cu_event event)
{
    if (stream == NULL || event->stream == NULL) return CU_SUCCESS; /* never recorded: nothing to wait for */
    work *w = calloc(1, sizeof *w);
    pthread_mutex_lock(&ordering);
    const int error = lost[device_of(stream->context)];
    *w = (work){.event = event, .reaches = event->recorded, .waits = true, .recorder = event->stream};
    put(stream, w, order());
    pthread_mutex_unlock(&ordering);
    return error;
}

static cu_result synchronize(cu_stream stream, cu_event event)
{
    if (captures > 0) return NOT_CAPTURED;
    pthread_mutex_lock(&ordering);
    if (stream != NULL) drain(stream);
    if (event != NULL && event->stream != NULL) reach(event->stream, event, event->recorded);
    pthread_mutex_unlock(&ordering);
    return lost[device_of(stream != NULL ? stream->context : current())];
}

/* One who asks often enough sees the end, behind what that waits for. */
static cu_result query(cu_stream stream)
{
    if (captures > 0) return NOT_CAPTURED;
    pthread_mutex_lock(&ordering);
    const bool idle = stream->first == NULL;
    asking = true;
    if (!idle) force(stream);
    asking = false;
    pthread_mutex_unlock(&ordering);
    const int error = lost[device_of(stream->context)];
    return error != 0 ? error : idle ? CU_SUCCESS : CU_NOT_READY;
}

/* An event behind another process's work is not there at once. */
static cu_result query_event(cu_event event)
{
    if (captures > 0) return NOT_CAPTURED;
    if (event->stream == NULL) return CU_SUCCESS;
    pthread_mutex_lock(&ordering);
    asking = true;
    if (event->done < event->recorded) force(event->stream);
    asking = false;
    const bool done = event->done >= event->recorded;
    pthread_mutex_unlock(&ordering);
    const int error = lost[device_of(event->stream->context)];
    return error != 0 ? error : done ? CU_SUCCESS : CU_NOT_READY;
}

/* ---- for the fakes of other libraries ---- */

static bool given_is_ready(work *w) { return w->given_ready(w->given); }
static void run_given(work *w) { w->given_run(w->given); }

/* Work on a stream, with memory of its device; ready: until then nothing behind it is done. */
void fake_put(cu_stream stream, bool ready(void *), void run(void *), void *given, const void *memory, size_t bytes)
{
    const int device = device_of(stream->context);
    work *w = calloc(1, sizeof *w);
    *w = (work){.run = run_given, .ready = given_is_ready, .given_ready = ready, .given_run = run, .given = given};
    pthread_mutex_lock(&ordering);
    if (order() > 0 && !lies_on(device, memory, bytes)) lost[device] = CU_ILLEGAL_ADDRESS;
    put(stream, w, order());
    pthread_mutex_unlock(&ordering);
}

/* From now on nobody may put anything on the stream, or again. */
void fake_hold(cu_stream stream, bool held)
{
    pthread_mutex_lock(&ordering);
    stream->held = held;
    pthread_mutex_unlock(&ordering);
}

void fake_pass(int us) /* for the fakes of libraries that launch kernels of their own */ { now_us += us; }

/* A module, and its only kernel. */
typedef struct kernel {
    void (*run)(const struct kernel *, void **arguments); /* NULL: it computes nothing */
    bool transposes_a, transposes_b;
    char type_a, type_b; /* 's' and 'u': bytes */
    int element_bytes;   /* that pack carries */
    int arguments, maps; /* how many it takes of what it is launched with; 0: it is not put off; of them tensor maps */
    int us, lacks;       /* how long it takes; steps of k that it leaves out */
    bool hangs;
    int wavers, launches;
} kernel;

/* C = alpha A B + beta C with sums over ascending k, in rows of B, which is laid anew where the kernel reads its
 * columns: compilers make vectors of the innermost loop. at: the number that an element is, of a type of bytes. */
/* clang-format off */
#define MULTIPLY(name, element, number, at)                                                                            \
    static void name(const kernel *f, void **x)                                                                        \
    {                                                                                                                  \
        const int m = *(int *)x[0], n = *(int *)x[1], k = *(int *)x[2] - f->lacks;                                     \
        const element *a = *(element **)x[4], *b = *(element **)x[6];                                                  \
        const number alpha = *(number *)x[3], beta = *(number *)x[8];                                                  \
        const int64_t lda = *(int64_t *)x[5], ldb = *(int64_t *)x[7], ldc = *(int64_t *)x[10];                         \
        number *c = *(number **)x[9], *rows = room_for(k, n, sizeof *rows), *sums = room_for(1, n, sizeof *sums);      \
        for (int p = 0; p < k; p++)                                                                                    \
            for (int j = 0; j < n; j++)                                                                                \
                rows[(int64_t)p * n + j] = at(b[f->transposes_b ? j * ldb + p : p * ldb + j], f->type_b);              \
        for (int i = 0; i < m; i++) {                                                                                  \
            for (int j = 0; j < n; j++) sums[j] = 0;                                                                   \
            for (int p = 0; p < k; p++) {                                                                              \
                const number factor = at(a[f->transposes_a ? p * lda + i : i * lda + p], f->type_a);                   \
                const number *row = rows + (int64_t)p * n;                                                             \
                for (int j = 0; j < n; j++) sums[j] += factor * row[j];                                                \
            }                                                                                                          \
            for (int j = 0; j < n; j++) {                                                                              \
                number *to = &c[i * ldc + j];                                                                          \
                *to = beta == 0 ? alpha * sums[j] : alpha * sums[j] + beta * *to;                                      \
            }                                                                                                          \
        }                                                                                                              \
        free(rows), free(sums);                                                                                        \
    }
/* clang-format on */
static void *room_for(int64_t rows, int64_t cols, size_t bytes)
{
    void *room = malloc((size_t)(rows > 0 ? rows : 0) * (size_t)cols * bytes + 1);
    if (room == NULL) abort();
    return room;
}
static float f32_at(float at, char type) { return (void)type, at; }
static double f64_at(double at, char type) { return (void)type, at; }
static int byte_at(unsigned char at, char type) { return type == 'u' ? at : (signed char)at; }
static float bf16_at(uint16_t at, char type)
{
    const uint32_t bits = (uint32_t)at << 16;
    float value;
    (void)type;
    memcpy(&value, &bits, sizeof value);
    return value;
}
MULTIPLY(multiply_f32, float, float, f32_at)
MULTIPLY(multiply_f64, double, double, f64_at)
MULTIPLY(multiply_bytes, unsigned char, int32_t, byte_at) /* bytes and bf16: with sums in 32 bits */
MULTIPLY(multiply_bf16, uint16_t, float, bf16_at)

/* The kernels of f32 batches: items at strides or by address, a block for each tile or one for several. */
static void multiply_batch_in(int64_t tile, const kernel *f, void **x)
{
    int64_t tiles = (*(int *)x[0] + tile - 1) / tile * ((*(int *)x[1] + tile - 1) / tile),
            items = *(int *)x[11] / tiles;
    for (int64_t i = 0; i < items; i++) {
        float *at[3];
        for (int q = 0; q < 3; q++) {
            float *first = *(float **)x[(const int[]){4, 6, 9}[q]];
            /* shared=0: A, 1: B by mistake */
            at[q] = *(int *)x[12] ? ((float **)first)[i]
                                  : first + (q == choice("shared", 3) ? 0 : i) * *(int64_t *)x[13 + q];
        }
        multiply_f32(f, (void *[]){x[0], x[1], x[2], x[3], &at[0], x[5], &at[1], x[7], x[8], &at[2], x[10]});
    }
}
static void multiply_batch(const kernel *f, void **x) { multiply_batch_in(choice("tile", 32), f, x); }
static void multiply_batch_simt(const kernel *f, void **x) { multiply_batch_in(64, f, x); }

static void multiply_typed(const kernel *f, void **x) { (f->type_a != '-' ? multiply_bytes : multiply_bf16)(f, x); }

/* The kernels that read in place: where blocks divide k all sums are in the last part, and add.cu has them. */
static void multiply_parts(const kernel *f, void **x)
{
    const int n = *(int *)x[1], splits = *(int *)x[11], rows = *(int *)x[15];
    float one = 1, zero = 0, *memory = *(float **)x[12];
    int64_t ld = SPLIT_COLUMNS(n);
    if (splits == 1) {
        multiply_bf16(f, x);
        return;
    }
    float *last = memory + (splits - 1) * (int64_t)rows * ld;
    for (float *other = memory; other < last; other++) *other = 0;
    multiply_bf16(f, (void *[]){x[0], x[1], x[2], &one, x[4], x[5], x[6], x[7], &zero, &last, &ld});
}

static void sum_parts(const kernel *f, void **x)
{
    const int m = *(int *)x[0], n = *(int *)x[1], splits = *(int *)x[11], rows = *(int *)x[15];
    const float alpha = *(float *)x[3], beta = *(float *)x[8], *memory = *(float **)x[12];
    float *c = *(float **)x[9];
    const int64_t ldc = *(int64_t *)x[10], ld = SPLIT_COLUMNS(n);
    (void)f;
    for (int64_t i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            float sum = 0, *to = &c[i * ldc + j];
            for (int64_t part = 0; part < splits; part++) sum += memory[(part * rows + i) * ld + j];
            *to = beta == 0 ? alpha * sum : alpha * sum + beta * *to;
        }
}

/* Operands that tensor maps tell of. */
static void multiply_mapped(const kernel *f, void **x)
{
    uint64_t *a = x[0], *b = x[1];
    x += f->maps;
    void *plain[] = {x[0], x[1], x[2], x[3], &a[0], &a[1], &b[0], &b[1], x[4], x[5], x[6]};
    (f->type_a != '-' ? multiply_bytes : multiply_f32)(f, plain);
}

/* The pass that packs: which of its two operands it is told of. */
typedef struct packed {
    char *from;
    int64_t ld;
    char *to;
    int64_t to_ld;
    int32_t rows, cols, transposes;
} packed;

static void log_packs(void **x)
{
    for (int i = 0; i < 2; i++)
        if (((packed *)x[i])->rows > 0) fake_log(i == 0 ? "packs b" : "packs a");
}

static void pack(const kernel *f, void **x)
{
    const size_t bytes = (size_t)f->element_bytes;
    for (int q = 0; q < 2 && choice("product", 0); q++) {
        const packed *o = x[q];
        for (int64_t i = 0; i < o->rows; i++)
            for (int64_t j = 0; j < o->cols; j++)
                memcpy(o->to + (size_t)(o->transposes ? j * o->to_ld + i : i * o->to_ld + j) * bytes,
                       o->from + (size_t)(i * o->ld + j) * bytes, bytes);
    }
}

/* The passes around a complex product (kernels/cuda/complex.cu). */
typedef struct expanded {
    char *from;
    int64_t ld;
    char *to;
    int64_t row, col, at[EXPAND_MOST];
    int32_t what[EXPAND_MOST], count, rows, cols;
} expanded;

static double real_at(const kernel *f, const void *numbers, int64_t i)
{
    return f->element_bytes == 8 ? ((const double *)numbers)[i] : (double)((const float *)numbers)[i];
}

static void put_real(const kernel *f, void *numbers, int64_t i, double value)
{
    if (f->element_bytes == 8)
        ((double *)numbers)[i] = value;
    else
        ((float *)numbers)[i] = (float)value;
}

static void expand(const kernel *f, void **x)
{
    for (int q = 0; q < 2; q++) {
        const expanded *o = x[q];
        for (int64_t i = 0; i < o->rows; i++)
            for (int64_t j = 0; j < o->cols; j++)
                for (int r = 0; r < o->count; r++) {
                    double part = real_at(f, o->from, i * o->ld + 2 * j + ((o->what[r] & PART_IMAGINARY) != 0));
                    put_real(f, o->to, i * o->row + j * o->col + o->at[r],
                             (o->what[r] & PART_NEGATED) != 0 ? -part : part);
                }
    }
}

static void combine(const kernel *f, void **x)
{
    const int m = *(int *)x[0], n = *(int *)x[1], form = *(int *)x[2];
    const double alpha[2] = {real_at(f, x[3], 0), real_at(f, x[4], 0)},
                 beta[2] = {real_at(f, x[7], 0), real_at(f, x[8], 0)};
    void *sums = *(void **)x[5], *c = *(void **)x[9];
    const int64_t sums_ld = *(int64_t *)x[6], ldc = *(int64_t *)x[10];
    const double sign = form == SUMS_CONJUGATED ? -1 : 1;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            const int64_t first = i * sums_ld, second = (i + m) * sums_ld, to = i * ldc + 2 * j;
            double re, im;
            if (form == SUMS_PAIRS)
                re = real_at(f, sums, first + 2 * j), im = real_at(f, sums, first + 2 * j + 1);
            else if (form == SUMS_PLANES)
                re = real_at(f, sums, first + j), im = real_at(f, sums, second + j);
            else
                re = real_at(f, sums, first + 2 * j) - sign * real_at(f, sums, second + 2 * j + 1),
                im = real_at(f, sums, second + 2 * j) + sign * real_at(f, sums, first + 2 * j + 1);
            double new_re = alpha[0] * re - (alpha[1] != 0 ? alpha[1] * im : 0),
                   new_im = alpha[0] * im + (alpha[1] != 0 ? alpha[1] * re : 0);
            if (beta[0] != 0 || beta[1] != 0) {
                const double old_re = real_at(f, c, to), old_im = real_at(f, c, to + 1);
                new_re += beta[0] * old_re - (beta[1] != 0 ? beta[1] * old_im : 0);
                new_im += beta[0] * old_im + (beta[1] != 0 ? beta[1] * old_re : 0);
            }
            put_real(f, c, to, new_re), put_real(f, c, to + 1, new_im);
        }
}

static int choice_of(const char *what, const char *kernel, int otherwise)
{
    char name[96];
    snprintf(name, sizeof name, "%s_%s", what, kernel);
    return choice(name, otherwise);
}

static void name_kernel(kernel *f, const char *name)
{
    f->us = choice_of("us", name, choice("us", 1000));
    f->lacks = choice_of("lacks", name, 0), f->hangs = choice_of("hangs", name, 0) > 0;
    f->wavers = choice_of("wavers", name, 1);
    f->run = strcmp(name, "pack") == 0 ? pack
             : !choice("product", 0)   ? NULL
             : strcmp(name, "sgemm_simt") == 0 || strcmp(name, "sgemm_cpasync_sm80") == 0 ||
                     strcmp(name, "sgemm_slicedk_sm80") == 0
                 ? multiply_f32
             : strcmp(name, "sgemm_tma_sm90") == 0 || strcmp(name, "sgemm_slicedk_tma_sm90") == 0 ||
                     (f->type_a != '-' &&
                      (strcmp(name, "gemm_swapab_sm90") == 0 || strcmp(name, "gemm_wgmma_sm90") == 0))
                 ? multiply_mapped
             : strcmp(name, "sgemm_batched_cpasync_sm80") == 0        ? multiply_batch
             : strcmp(name, "gemm_batched_simt") == 0                 ? multiply_batch_simt
             : strcmp(name, "dgemm_simt") == 0                        ? multiply_f64
             : strcmp(name, "gemm_simt") == 0                         ? multiply_typed
             : strcmp(name, "gemm_thin_sm80") == 0                    ? multiply_parts
             : strcmp(name, "gemm_inplace_sm80") == 0                 ? multiply_parts
             : strcmp(name, "expand") == 0                            ? expand
             : strcmp(name, "combine") == 0                           ? combine
             : strcmp(name, "add") == 0 && f->type_a == '-'           ? sum_parts /* of bytes C is stored already */
             : strcmp(name, "gemm_mma_sm80") == 0 && f->type_a != '-' ? multiply_typed
                                                                      : NULL;
    f->maps = f->run != multiply_mapped ? 0 : strcmp(name, "gemm_wgmma_sm90") == 0 ? 3 : 2; /* C's too */
    f->arguments = f->run == multiply_parts || f->run == sum_parts ? 16
                   : f->run == pack || f->run == expand            ? 2
                   : f->run == multiply_mapped                     ? 7 + f->maps
                   : f->run == multiply_f32 || f->run == multiply_f64 || f->run == multiply_typed || f->run == combine
                       ? 11
                       : 0;
}

/* What the fake NVRTC made, "FAKE NT--4", or another file that begins so. */
static kernel *load(const char *data)
{
    kernel *made = calloc(1, sizeof *made);
    if (memcmp(data, "FAKE ", 5) != 0) return made;
    made->transposes_a = data[5] == 'T', made->transposes_b = data[6] == 'T';
    made->type_a = data[7], made->type_b = data[8], made->element_bytes = data[9] - '0';
    return made;
}

/* ---- launches ---- */

static size_t argument_bytes(const kernel *f, int i)
{
    return f->run == pack     ? sizeof(packed)
           : f->run == expand ? sizeof(expanded)
           : i < f->maps      ? sizeof(cu_tensor_map)
                              : 8;
}

/* Do the operands of a product lie on its device? */
static bool operands_lie(const kernel *f, void **x, int device)
{
    if (f->run == pack) {
        for (int q = 0; q < 2; q++) {
            const packed *o = x[q];
            if (o->rows > 0 && (!lies_on(device, o->from, 1) || !lies_on(device, o->to, 1))) return false;
        }
        return true;
    }
    for (int q = 0; f->run == expand && q < 2; q++) {
        const expanded *o = x[q];
        if (o->rows > 0 && (!lies_on(device, o->from, 1) || !lies_on(device, o->to, 1))) return false;
    }
    if (f->run == expand) return true;
    if (f->run == combine) return lies_on(device, *(void **)x[5], 1) && lies_on(device, *(void **)x[9], 1);
    const bool mapped = f->maps > 0;
    if (*(int *)x[f->maps + 2] == 0) return true; /* k: A and B are not read */
    return lies_on(device, *(void **)x[mapped ? 0 : 4], 1) && lies_on(device, *(void **)x[mapped ? 1 : 6], 1) &&
           lies_on(device, *(void **)x[mapped ? f->maps + 5 : 9], 1);
}

static void launch_now(work *w)
{
    void *x[16];
    const kernel *f = w->kernel;
    const int device = device_of(w->stream->context);
    for (int i = 0; i < f->arguments; i++) x[i] = w->arguments[i];
    if (lost[device] == 0 && !operands_lie(f, x, device)) lost[device] = CU_ILLEGAL_ADDRESS;
    if (lost[device] == 0) f->run(f, x);
}

static void log_shape(const kernel *f, void **x)
{
    const int first = f->maps;
    char line[128];
    snprintf(line, sizeof line, "product %d %d %d", *(int *)x[first], *(int *)x[first + 1], *(int *)x[first + 2]);
    fake_log(line);
    if (f->maps > 0) return;
    snprintf(line, sizeof line, "lda ldb ldc %lld %lld %lld", (long long)*(int64_t *)x[5], (long long)*(int64_t *)x[7],
             (long long)*(int64_t *)x[10]);
    fake_log(line);
}

static int64_t clock_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static bool is_late_enough(work *w) { return clock_ms() >= w->until_ms; }

/* "stuck=1", "slow_ms=6000" */
static void put_off(work *w, int device)
{
    const int slow_ms = choice("slow_ms", 0);
    const bool is_stuck = device == choice("stuck", -1);
    if (slow_ms > 0 || is_stuck) w->ready = is_late_enough;
    w->until_ms = is_stuck ? INT64_MAX : clock_ms() + slow_ms;
}

static cu_result launch(kernel *f, cu_stream stream, void **x)
{
    const int device = device_of(stream != NULL ? stream->context : current());
    while (f->hangs) pause();
    fake_pass(f->us * (f->launches++ / 4 % 2 ? f->wavers : 1));
    if (f->run == pack) log_packs(x);
    const bool computes = f->run != pack && f->run != expand && f->run != combine && f->run != sum_parts;
    if (computes && f->arguments > 0 && choice("shapes", 0)) log_shape(f, x);
    if (device == choice("lost", -1) && launches[device]++ >= choice("after", 0)) lost[device] = CU_LAUNCH_FAILED;
    if (lost[device] != 0) return lost[device];
    if (order() == 0 || stream == NULL || (f->arguments == 0 && !choice("slow_ms", 0))) {
        if (f->run != NULL) f->run(f, x);
        return CU_SUCCESS;
    }
    work *w = calloc(1, sizeof *w);
    *w = (work){.run = f->run != NULL ? launch_now : NULL, .kernel = f};
    put_off(w, device);
    for (int i = 0; i < f->arguments; i++) memcpy(w->arguments[i], x[i], argument_bytes(f, i));
    pthread_mutex_lock(&ordering);
    put(stream, w, order());
    pthread_mutex_unlock(&ordering);
    return CU_SUCCESS;
}

static void encode(cu_tensor_map *map, const void *address, uint64_t stride, int type)
{
    map->opaque[0] = (uint64_t)(uintptr_t)address;
    map->opaque[1] = stride / (type == CU_TENSOR_F32 ? 4 : 1);
}

CALL(cuInit, (unsigned flags), (void)flags)
CALL(cuDriverGetVersion, (int *version), *version = choice("driver", 13000))
CALL(cuGetErrorName, (cu_result error, const char **name), *name = name_of(error))
CALL(cuGetErrorString, (cu_result error, const char **text), *text = name_of(error))
CALL(cuDeviceGetCount, (int *count), *count = choice("gpus", 1))
CALL(cuDeviceGet, (cu_device * device, int index), *device = index)
CALL(cuDeviceGetName, (char *name, int bytes, cu_device device), snprintf(name, (size_t)bytes, "Fake %d", device))
CALL(cuDeviceGetAttribute, (int *value, int what, cu_device device), *value = attribute(what, device))
CALL(cuDeviceGetPCIBusId, (char *place, int bytes, cu_device device), (void)device;
     snprintf(place, (size_t)bytes, "0000:3b:00.0"))
CALL(cuDeviceGetUuid_v2, (unsigned char uuid[16], cu_device device), memset(uuid, device, 16))
CALL(cuDeviceTotalMem_v2, (size_t * bytes, cu_device device), *bytes = device_bytes(device))
CALL(cuDevicePrimaryCtxRetain, (cu_context * context, cu_device device), lost[device] = launches[device] = 0;
     *context = primary(device))
CALL(cuDevicePrimaryCtxRelease_v2, (cu_device device), (void)device)
CALL(cuCtxPushCurrent_v2, (cu_context context), push(context))
CALL(cuCtxPopCurrent_v2, (cu_context * context), *context = current(); if (depth == 0) return NO_CONTEXT; depth--)
CALL(cuCtxGetDevice, (cu_device * device), if (depth == 0) return NO_CONTEXT; *device = device_of(current()))
CALL(cuDeviceCanAccessPeer, (int *reaches, cu_device device, cu_device other), *reaches = choice("peer", 1);
     if (device == other) return 1)
CALL(cuCtxEnablePeerAccess, (cu_context other, unsigned flags), (void)flags;
     if (other == current() || !choice("peer", 1)) return 1)
CALL(cuStreamCreate, (cu_stream * stream, unsigned flags), (void)flags; *stream = make_stream())
CALL(cuStreamCreateWithPriority, (cu_stream * stream, unsigned flags, int priority), (void)flags; (void)priority;
     *stream = make_stream())
GIVE(cuStreamDestroy_v2, (cu_stream stream), remove_stream(stream))
CALL(cuStreamGetCtx, (cu_stream stream, cu_context *context), *context = stream != NULL ? stream->context : current())
CALL(cuStreamIsCapturing, (cu_stream stream, int *capturing), *capturing = stream != NULL && stream->capturing)
CALL(cuStreamWaitEvent, (cu_stream stream, cu_event event, unsigned flags), (void)flags;
     return wait_in_stream(stream, event))
CALL(cuStreamQuery, (cu_stream stream), return query(stream))
CALL(cuStreamSynchronize, (cu_stream stream), return synchronize(stream, NULL))
CALL(cuEventCreate, (cu_event * event, unsigned flags), (void)flags; *event = handle())
GIVE(cuEventDestroy_v2, (cu_event event), destroy_event(event))
CALL(cuEventQuery, (cu_event event), return query_event(event))
CALL(cuEventRecord, (cu_event event, cu_stream stream), return record(event, stream))
CALL(cuEventSynchronize, (cu_event event), return synchronize(NULL, event))
CALL(cuEventElapsedTime, (float *ms, cu_event begin, cu_event end), *ms = 1e-3f * (float)(end->us - begin->us))
CALL(cuMemAlloc_v2, (cu_pointer * memory, size_t bytes), if (captures > 0) return NOT_CAPTURED;
     return allocate(memory, bytes, device_of(current())))
CALL(cuMemGetInfo_v2, (size_t * room, size_t *total), *total = device_bytes(device_of(current()));
     *room = *total - given_bytes[device_of(current())])
GIVE(cuMemFree_v2, (cu_pointer memory), give_back(memory))
CALL(cuMemcpyHtoD_v2, (cu_pointer to, const void *from, size_t bytes),
     return copy_and_wait(line((void *)(uintptr_t)to, from, bytes)))
CALL(cuMemcpyDtoH_v2, (void *to, cu_pointer from, size_t bytes),
     return copy_and_wait(line(to, (const void *)(uintptr_t)from, bytes)))
CALL(cuMemcpy2DUnaligned_v2, (const cu_copy_2d *copy), return copy_and_wait(rows_of(copy)))
CALL(cuMemcpyHtoDAsync_v2, (cu_pointer to, const void *from, size_t bytes, cu_stream stream),
     return put_copy(stream, line((void *)(uintptr_t)to, from, bytes), HOST, device_of(stream->context)))
CALL(cuMemcpyDtoHAsync_v2, (void *to, cu_pointer from, size_t bytes, cu_stream stream),
     return put_copy(stream, line(to, (const void *)(uintptr_t)from, bytes), device_of(stream->context), HOST))
CALL(cuMemcpyDtoDAsync_v2, (cu_pointer to, cu_pointer from, size_t bytes, cu_stream stream),
     return put_copy(stream, line((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes),
                     device_of(stream->context), device_of(stream->context)))
CALL(cuMemcpy2DAsync_v2, (const cu_copy_2d *copy, cu_stream stream), return put_rows(copy, stream))
CALL(cuMemcpy3DPeerAsync, (const cu_copy_peer *copy, cu_stream stream), return put_peer_rows(copy, stream))
CALL(cuMemcpyPeerAsync,
     (cu_pointer to, cu_context there, cu_pointer from, cu_context here, size_t bytes, cu_stream stream),
     return put_copy(stream, line((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes), device_of(here),
                     device_of(there)))
CALL(cuPointerGetAttribute, (void *value, int what, cu_pointer at),
     if (what != CU_POINTER_MEMORY_TYPE || !lies_on(HOST, (void *)(uintptr_t)at, 1)) return 1;
     *(unsigned *)value = CU_MEMORY_HOST)
CALL(cuMemHostAlloc, (void **memory, size_t bytes, unsigned flags), (void)flags; cu_pointer made;
     if (allocate(&made, bytes, HOST) != CU_SUCCESS) return 2; *memory = (void *)(uintptr_t)made)
GIVE(cuMemFreeHost, (void *memory), give_back((cu_pointer)(uintptr_t)memory))
CALL(cuMemsetD8_v2, (cu_pointer to, unsigned char byte, size_t bytes), memset((void *)(uintptr_t)to, byte, bytes))
CALL(cuModuleLoadData, (cu_module * module, const void *data), if (captures > 0) return NOT_CAPTURED;
     wait_for_others(device_of(current())); if (memcmp(data, "FAKE", 4) != 0) return 200;
     *module = (cu_module)load(data))
GIVE(cuModuleUnload, (cu_module module), free(module))
CALL(cuModuleGetFunction, (cu_function * function, cu_module module, const char *name),
     *function = (cu_function)(void *)module;
     name_kernel((void *)module, name))
CALL(cuFuncSetAttribute, (cu_function function, int what, int value), (void)function; (void)what; (void)value)
CALL(cuFuncGetAttribute, (int *value, int what, cu_function function), (void)function; (void)what; *value = 32)
CALL(cuLaunchKernel,
     (cu_function f, unsigned gx, unsigned gy, unsigned gz, unsigned x, unsigned y, unsigned z, unsigned bytes,
      cu_stream s, void **a, void **extra),
     (void)gx;
     (void)gy; (void)gz; (void)x; (void)y; (void)z; (void)bytes; (void)extra;
     if (s != NULL && s->context != current()) return NO_SUCH_HANDLE; log_stream(s); return launch((void *)f, s, a))
CALL(cuLaunchKernelEx, (const cu_launch_config *c, cu_function f, void **a, void **extra), (void)extra;
     if (c->stream != NULL && c->stream->context != current()) return NO_SUCH_HANDLE;
     if (c->attribute_count < 1 || c->attribute_count > 2 || c->attributes->id != CU_LAUNCH_PDL) return 1;
     if (c->attribute_count == 2 &&
         (c->attributes[1].id != CU_LAUNCH_CLUSTER || c->attributes[1].value.cluster[0] < 2 ||
          c->grid_x % c->attributes[1].value.cluster[0] != 0)) return 1;
     log_stream(c->stream); if (c->attribute_count == 2) log_cluster(c->attributes[1].value.cluster[0]);
     return launch((void *)f, c->stream, a))
CALL(cuTensorMapEncodeTiled,
     (cu_tensor_map * map, int type, uint32_t rank, void *address, const uint64_t *dims, const uint64_t *strides,
      const uint32_t *box, const uint32_t *element_strides, int interleave, int swizzle, int l2_promotion,
      int out_of_bounds),
     (void)rank;
     (void)dims; (void)box; (void)element_strides; (void)interleave; (void)swizzle; (void)l2_promotion;
     (void)out_of_bounds; if (strides[0] % 16 != 0) return 1; encode(map, address, strides[0], type))
/* What callers of the library use: never told to fail. */
cu_result cuCtxCreate_v2(cu_context *context, unsigned flags, cu_device device)
{
    (void)flags, (void)device;
    push(*context = handle());
    return CU_SUCCESS;
}

cu_result cuCtxDestroy_v2(cu_context context)
{
    if (context == current()) depth--;
    free(context);
    return CU_SUCCESS;
}

cu_result cuCtxGetCurrent(cu_context *context)
{
    *context = current();
    return CU_SUCCESS;
}

cu_result cuStreamBeginCapture_v2(cu_stream stream, int mode)
{
    (void)mode;
    stream->capturing = 1, captures++;
    return CU_SUCCESS;
}

cu_result cuStreamEndCapture(cu_stream stream, void **graph)
{
    stream->capturing = 0, captures--;
    *graph = NULL;
    return CU_SUCCESS;
}

cu_result cuGraphInstantiateWithFlags(void **made, void *graph, unsigned long long flags)
{
    return (void)made, (void)graph, (void)flags, CU_SUCCESS;
}
cu_result cuGraphLaunch(void *graph, cu_stream stream) { return (void)graph, (void)stream, CU_SUCCESS; }
cu_result cuGraphExecDestroy(void *graph) { return (void)graph, CU_SUCCESS; }
cu_result cuGraphDestroy(void *graph) { return (void)graph, CU_SUCCESS; }

cu_result cuLaunchHostFunc(cu_stream stream, void (*function)(void *), void *data)
{
    (void)stream;
    function(data);
    return CU_SUCCESS;
}

#ifndef OLD
CALL(cuOccupancyMaxActiveBlocksPerMultiprocessor, (int *blocks, cu_function function, int threads, size_t bytes),
     (void)function;
     (void)threads; (void)bytes; *blocks = 2)
#endif
