/* same_bits.c - do two builds of libtilewright.so compute the same bits? tests/test_before.sh runs it.
 *
 * Random problems, each by one library and by the other from the same addresses: every row that both have, forced; and
 * tw_gemm, tw_gemm_batched and, on CUDA, tw_enqueue as the planner chooses. C is compared with all that lies beside it.
 *
 *   same_bits ENGINE OLD NEW [SET]   0: the same bits; 1: a difference, named; 3: neither has a device of that engine.
 *                                    SET: the new library takes these instructions alone, and so has other bits
 *   same_bits --layout               where members lie in the structs that are handed to both libraries
 *
 * Both libraries must lay those structs out as the headers do with which this program was compiled: --layout, compiled
 * with the one tree's headers and with the other's, has to print the same. Structs that begin with their size may be
 * smaller in OLD: SAME_BITS_SIZES in the environment is what OLD takes of SIZED's, in that order. */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "former.h"
#include "tilewright_lab.h"

enum { OLD, NEW, LIBRARIES };

/* ---- two libraries ---- */

/* clang-format off */
#define FUNCTIONS(F)                                                                                                   \
    F(tw_open) F(tw_close) F(tw_error_text) F(tw_status_name) F(tw_gemm) F(tw_gemm_batched) F(tw_enqueue)              \
    F(tw_enqueue_batched) F(tw_workspace_bytes) F(tw_workspace_bytes_batched) F(tw_lab_kernel_at) F(tw_lab_run_open)   \
    F(tw_lab_run_once) F(tw_lab_run_fetch) F(tw_lab_run_close)
/* clang-format on */

typedef struct library {
#define F(name) __typeof__(name) *name;
    FUNCTIONS(F)
#undef F
    tw_context *context;
} library;

static library libraries[LIBRARIES];

/* What both libraries take. */
static struct {
    unsigned problem, batch, options, launch;
} sizes = {sizeof(tw_problem), sizeof(tw_batch), sizeof(tw_options), sizeof(tw_launch)};

static const char *const words[LIBRARIES] = {"before", "now"};

static void library_load(library *l, const char *path)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL), *found;
    if (handle == NULL) fprintf(stderr, "same_bits: %s\n", dlerror()), exit(2);
#define F(name)                                                                                                        \
    if ((found = dlsym(handle, #name)) == NULL) fprintf(stderr, "same_bits: %s has no %s\n", path, #name), exit(2);    \
    memcpy(&l->name, &found, sizeof found);
    FUNCTIONS(F)
#undef F
}

/* A choice with room behind it, should the other library's be longer. */
typedef union roomy_choice {
    tw_lab_choice choice;
    char room[512];
} roomy_choice;

/* What is handed over, and of the lab's structs, which do not begin with their size, what is used here. */
#define SIZED(F) F(tw_problem) F(tw_batch) F(tw_options) F(tw_launch)
/* clang-format off */
#define PROBLEM(F)                                                                                                     \
    F(dtype) F(dtype_c) F(op_a) F(op_b) F(place_a) F(place_b) F(place_c) F(m) F(n) F(k) F(lda) F(ldb) F(ldc) F(alpha)  \
    F(beta) F(align_a) F(align_b) F(align_c)
/* clang-format on */
#define BATCH(F)   F(pointers) F(count) F(stride_a) F(stride_b) F(stride_c)
#define OPTIONS(F) F(engine) F(instruction_set) F(threads)
#define LAUNCH(F)  F(stream) F(workspace) F(workspace_bytes)
#define CHOICE(F)  F(kernel) F(tile) F(threads)
#define KERNEL(F)                                                                                                      \
    F(name)                                                                                                            \
    F(engine) F(dtype) F(tile_m) F(tile_n) F(tile_k) F(default_tile) F(production) F(transposes) F(skinny) F(deep)

typedef struct member {
    const char *name;
    size_t at, bytes;
} member;

static void print_layout(void)
{
#define WHOLE(type)          {#type, 0, sizeof(type)},
#define MEMBER(type, member) {#type "." #member, offsetof(type, member), sizeof(((type *)0)->member)},
#define OF_PROBLEM(x)        MEMBER(tw_problem, x)
#define OF_BATCH(x)          MEMBER(tw_batch, x)
#define OF_OPTIONS(x)        MEMBER(tw_options, x)
#define OF_LAUNCH(x)         MEMBER(tw_launch, x)
#define OF_CHOICE(x)         MEMBER(tw_lab_choice, x)
#define OF_KERNEL(x)         MEMBER(tw_lab_kernel, x)
    static const member members[] = {SIZED(WHOLE) PROBLEM(OF_PROBLEM) BATCH(OF_BATCH) OPTIONS(OF_OPTIONS)
                                         LAUNCH(OF_LAUNCH) CHOICE(OF_CHOICE) KERNEL(OF_KERNEL)};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        printf("%s at %zu, %zu bytes\n", members[i].name, members[i].at, members[i].bytes);
    printf("types %d %d %d %d %d %d, ops %d %d, places %d %d\n", TW_F64, TW_F32, TW_F16, TW_BF16, TW_I8, TW_I32, TW_N,
           TW_T, TW_HOST, TW_DEVICE);
}

/* ---- memory of CUDA's device ---- */

/* clang-format off */
#define DRIVER(F)                                                                                                      \
    F(cuInit, (unsigned))                                                                                              \
    F(cuDeviceGet, (int *, int))                                                                                       \
    F(cuDevicePrimaryCtxRetain, (void **, int))                                                                        \
    F(cuCtxSetCurrent, (void *))                                                                                       \
    F(cuMemAlloc_v2, (uintptr_t *, size_t))                                                                            \
    F(cuCtxSynchronize, (void))                                                                                        \
    F(cuMemcpyHtoD_v2, (uintptr_t, const void *, size_t))                                                              \
    F(cuMemcpyDtoH_v2, (void *, uintptr_t, size_t))
/* clang-format on */

static struct {
#define F(name, parameters) int(*name) parameters;
    DRIVER(F)
#undef F
} cu;

static bool cuda_load(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), *found, *context;
    int device;
    if (driver == NULL) return false;
#define F(name, parameters)                                                                                            \
    if ((found = dlsym(driver, #name)) == NULL) return false;                                                          \
    memcpy(&cu.name, &found, sizeof found);
    DRIVER(F)
#undef F
    return cu.cuInit(0) == 0 && cu.cuDeviceGet(&device, 0) == 0 && cu.cuDevicePrimaryCtxRetain(&context, device) == 0 &&
           cu.cuCtxSetCurrent(context) == 0;
}

/* ---- engines ---- */

typedef struct engine {
    const char *name;
    int most_log2;          /* of a length */
    double elements, steps; /* of A, B and C together; of multiply-adds: most */
    int planned;            /* products by the planner's choice, of each instruction set and number of threads */
    const char *sets[8];    /* instruction sets; "": the engine has none to choose from */
    int threads[3];
    bool device; /* has memory of its own that we can reach */
    struct {
        tw_dtype dtype, dtype_c;
    } types[10];
    int type_count;
} engine;

static engine engines[] = {
    {.name = "cpu",
     .most_log2 = 15,
     .elements = 3e6,
     .steps = 3e8,
     .planned = 100,
     .threads = {1, 2},
     .sets = {"base", "avx2", "avx512", "avx512_vnni", "avx512_bf16", "amx"}},
    {.name = "opencl", .most_log2 = 11, .elements = 6e4, .steps = 6e6, .planned = 60, .sets = {""}, .threads = {0}},
    {.name = "cuda", .most_log2 = 15, .elements = 6e6, .steps = 3e9, .planned = 600, .sets = {""}, .threads = {0}},
};

static struct {
    int products, refused, differences, rows;
    double begin;
} total;

static const char *new_set; /* not NULL: of the new library, whatever is asked for */

enum { MOST_TOLD = 200, BAND = 64, ALIGN = 256 };

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Each with a folder of its own for what it compiles. False: at least one has no such device or instructions. */
static bool open_both(const char *engine, const char *set, int threads, char why[512])
{
    tw_options options = {
        .size = sizes.options, .engine = engine, .instruction_set = set[0] != '\0' ? set : NULL, .threads = threads};
    const char *cache = getenv("SAME_BITS_CACHE");
    int opened = 0;
    for (int i = 0; i < LIBRARIES; i++) {
        char folder[1024];
        snprintf(folder, sizeof folder, "%s/%s", cache != NULL ? cache : "", words[i]);
        if (cache != NULL) setenv("TILEWRIGHT_CACHE", folder, 1);
        if (i == NEW && new_set != NULL) options.instruction_set = new_set;
        if (libraries[i].tw_open(&options, &libraries[i].context) == TW_OK)
            opened++;
        else
            snprintf(why, 512, "%s: %.480s", words[i], libraries[i].tw_error_text());
    }
    if (opened == 1) {
        printf("%s %s: one library opens it, the other does not: %s\n", engine, set, why);
        total.differences++;
    }
    return opened == LIBRARIES;
}

static void close_both(void)
{
    for (int i = 0; i < LIBRARIES; i++) libraries[i].tw_close(libraries[i].context), libraries[i].context = NULL;
}

/* ---- random problems ---- */

static uint64_t dice;

static uint64_t roll_bits(void)
{
    uint64_t x = dice += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static int64_t roll(int64_t sides) { return (int64_t)(roll_bits() % (uint64_t)sides); }

static int64_t prime_from(int64_t x)
{
    for (x = x < 2 ? 2 : x;; x++) {
        bool prime = true;
        for (int64_t i = 2; prime && i * i <= x; i++) prime = x % i != 0;
        if (prime) return x;
    }
}

/* About an edge of tiles; every 16th time 0. */
static int64_t length_near(int64_t edge)
{
    switch (roll(16)) {
    case 0: return 0;
    case 1:
    case 2: return 1;
    case 3:
    case 4: return edge - 1;
    case 5:
    case 6: return edge;
    case 7:
    case 8: return edge + 1;
    case 9: return 2 * edge + 1;
    case 10:
    case 11:
    case 12: return prime_from(roll(2 * edge) + 2);
    default: return 1 + roll(2 * edge + 8);
    }
}

/* Each power of two as likely as the next. */
static int64_t length_up_to(int log2)
{
    int64_t power = roll(log2);
    return ((int64_t)1 << power) + roll((int64_t)1 << power);
}

/* Elements of padding: none, such as leave addresses and rows at multiples of 16 bytes, or any. */
static int64_t roll_pad(int64_t kind) { return kind == 0 ? 0 : kind == 1 ? 16 * roll(3) : roll(20); }

typedef enum way { FORCED, HOST, DEVICE, STREAM, BARE, WAYS } way;
static const char *const way_names[WAYS] = {"forced", "tw_gemm", "tw_gemm in device memory", "tw_enqueue",
                                            "tw_enqueue without a workspace"};

typedef struct job {
    tw_problem p;
    way way;
    const char *row[LIBRARIES]; /* FORCED */
    int tile, threads;
    int items;              /* of a batch; 0: none */
    bool by_address, one_a; /* one_a: all items have the same A */
    bool again;             /* HOST: by a second call, which finds the plan of the first */
    int64_t crooked[3];     /* elements from a multiple of ALIGN bytes to A, B and C */
} job;

static tw_dtype type_of_c(const tw_problem *p)
{
    return p->dtype_c != 0 ? p->dtype_c : p->dtype == TW_F64 ? TW_F64 : p->dtype == TW_I8 ? TW_I32 : TW_F32;
}

static size_t bytes_of(tw_dtype type)
{
    return type == TW_F64 ? 8 : type == TW_F32 || type == TW_I32 ? 4 : type == TW_I8 ? 1 : 2;
}

static void lay_out(job *j)
{
    static const double alphas[] = {1, 1, 1, 1, -1, 2.5, 0.3, 0}, betas[] = {0, 0, 0, 1, -1, 0.7};
    tw_problem *p = &j->p;
    p->size = sizes.problem;
    p->alpha = alphas[roll(8)], p->beta = betas[roll(6)];
    if (p->dtype == TW_I8) p->alpha = (double)(int)(2 * p->alpha), p->beta = (double)(int)(3 * p->beta);
    const int64_t kind = roll(4);
    int64_t *const ld[] = {&p->lda, &p->ldb, &p->ldc};
    for (int i = 0; i < 3; i++) {
        if (kind == 1) *ld[i] = (*ld[i] + 15) / 16 * 16;
        *ld[i] += roll_pad(kind), j->crooked[i] = roll_pad(kind);
    }
}

/* Shapes for which planners have ways of their own: any; few rows; few columns; a long k; a line. */
static void draw_shape(const engine *e, int64_t x[3])
{
    int64_t shape = roll(6);
    for (int i = 0; i < 3; i++) x[i] = length_up_to(e->most_log2);
    if (shape == 0 || shape == 3) x[0] = 1 + roll(64);
    if (shape == 1 || shape == 3) x[1] = 1 + roll(64);
    if (shape == 2) x[roll(2)] = 1;
}

static void shrink(int64_t x[3], double elements, double steps)
{
    for (;;) {
        double m = (double)x[0], n = (double)x[1], k = (double)x[2];
        int longest = x[0] >= x[1] && x[0] >= x[2] ? 0 : x[1] >= x[2] ? 1 : 2;
        if (m * k + k * n + m * n <= elements && m * n * k <= steps) return;
        x[longest] = (x[longest] * 3 + 3) / 4;
    }
}

/* The first numbers are about the row's tile, those behind of all shapes. */
static job draw_forced(const engine *e, const tw_lab_kernel *row, int64_t number)
{
    static const int tiles[] = {0, 0, 0, 0, 0, 0, 8, 32};
    job j = {.way = FORCED, .threads = (int)roll(3), .tile = row->default_tile > 0 ? tiles[roll(8)] : 0};
    int64_t edge = row->default_tile > 0 ? (j.tile > 0 ? j.tile : row->default_tile) : 0,
            op = row->transposes ? number % 4 : 0, x[3];
    if (number < 40) {
        x[0] = length_near(row->tile_m > 1 ? row->tile_m : edge > 0 ? edge : 16);
        x[1] = length_near(row->tile_n > 1 ? row->tile_n : edge > 0 ? edge : 16);
        x[2] = length_near(row->tile_k > 1 ? row->tile_k : edge > 0 ? edge : 16);
        if (row->deep) x[2] = length_up_to(e->most_log2);
    } else
        draw_shape(e, x);
    if (row->skinny) x[2] = roll(2) ? 16 : 32;
    shrink(x, e->elements, row->production ? e->steps : e->steps / 8);
    if (row->skinny) x[2] = x[2] < 32 ? 16 : 32;
    j.p = tw_problem_make(row->dtype, (tw_op)(op / 2), (tw_op)(op % 2), x[0], x[1], x[2]);
    lay_out(&j);
    return j;
}

static job draw_planned(const engine *e)
{
    job j = {.way = e->device ? (way)(HOST + roll(WAYS - HOST)) : HOST};
    int type = (int)roll(e->type_count);
    int64_t x[3], op = roll(4);
    draw_shape(e, x);
    if (roll(8) == 0) x[roll(3)] = roll(2);
    if (roll(4) == 0) j.items = 1 + (int)roll(9), j.by_address = roll(2), j.one_a = roll(3) == 0;
    int copies = j.items > 1 ? j.items : 1;
    if (j.items > 0 && roll(2))
        for (int i = 0; i < 3; i++) x[i] = 1 + roll(100);
    shrink(x, e->elements / copies, e->steps / copies);
    j.p = tw_problem_make(e->types[type].dtype, (tw_op)(op / 2), (tw_op)(op % 2), x[0], x[1], x[2]);
    j.p.dtype_c = e->types[type].dtype_c;
    lay_out(&j);
    j.again = j.way == HOST && roll(4) == 0;
    if (j.way != HOST) j.p.place_a = j.p.place_b = j.p.place_c = TW_DEVICE;
    if (j.way != HOST && j.by_address) j.p.align_a = j.p.align_b = j.p.align_c = (uint32_t)bytes_of(j.p.dtype);
    return j;
}

static void describe(const job *j, char text[320])
{
    const tw_problem *p = &j->p;
    int used = snprintf(text, 320,
                        "type %d to %d, %c%c %" PRId64 "x%" PRId64 "x%" PRId64 " alpha %g beta %g ld %" PRId64
                        " %" PRId64 " %" PRId64 " crooked by %" PRId64 " %" PRId64 " %" PRId64 ", %s",
                        p->dtype, type_of_c(p), "nt"[p->op_a], "nt"[p->op_b], p -> m, p -> n, p -> k, p -> alpha,
                        p -> beta, p -> lda, p -> ldb, p -> ldc, j -> crooked[0], j -> crooked[1], j -> crooked[2],
                        way_names[j->way]);
    if (j->way == FORCED) snprintf(text + used, 320 - (size_t)used, ", tile %d, threads %d", j->tile, j->threads);
    if (j->items > 0)
        snprintf(text + used, 320 - (size_t)used, ", %d items%s%s", j->items, j->by_address ? " by address" : "",
                 j->one_a ? " of one A" : "");
}

/* ---- operands ---- */

/* Where A, B and C of all items lie in a block of the host's memory, and where the libraries see it. */
typedef struct operands {
    char *memory, *at[3], *addresses; /* addresses: of the items, for a batch by address */
    char *before, *became;            /* all of the block as it was, and as the old library left it */
    size_t each[3], bytes;            /* of an item; of the block */
    uintptr_t seen, workspace;        /* the block's begin; device memory beside it */
} operands;

enum { ARENA = 160 << 20, WORKSPACE = 224 << 20 };

static char *host_memory(size_t bytes)
{
    char *made = aligned_alloc(ALIGN, bytes);
    if (made == NULL) fprintf(stderr, "same_bits: no memory\n"), exit(2);
    return made;
}

static void operands_place(operands *o, bool device)
{
    static char *blocks;
    static uintptr_t on_device;
    if (blocks == NULL) blocks = host_memory((size_t)3 * ARENA);
    if (device && on_device == 0 && cu.cuMemAlloc_v2(&on_device, ARENA + WORKSPACE) != 0)
        fprintf(stderr, "same_bits: no device memory\n"), exit(2);
    o->memory = blocks, o->before = blocks + ARENA, o->became = blocks + (size_t)2 * ARENA;
    o->seen = device ? on_device : (uintptr_t)blocks;
    o->workspace = on_device + ARENA;
}

static void *seen(const operands *o, const char *at) { return (void *)(o->seen + (uintptr_t)(at - o->memory)); }

/* Numbers of some 7 powers of two, with all their bits. */
static void fill(char *to, tw_dtype type, size_t bytes)
{
    const size_t element = bytes_of(type);
    for (size_t i = 0; i + element <= bytes; i += element) {
        uint64_t bits = roll_bits();
        double wide = ((double)(bits >> 11) * 0x1p-53 - 0.5) * (double)(1 << (bits & 7));
        float single = (float)wide;
        uint32_t upper;
        memcpy(&upper, &single, sizeof upper);
        uint16_t half = (uint16_t)((bits & 0x83ff) | (8 + (bits >> 20) % 7) << 10), top = (uint16_t)(upper >> 16);
        const void *from = type == TW_F64    ? (void *)&wide
                           : type == TW_F32  ? (void *)&single
                           : type == TW_BF16 ? (void *)&top
                           : type == TW_F16  ? (void *)&half
                                             : (void *)&bits;
        memcpy(to + i, from, element);
    }
}

static size_t round_to(size_t x, size_t unit) { return (x + unit - 1) / unit * unit; }

static bool operands_make(const job *j, operands *o)
{
    const tw_problem *p = &j->p;
    const tw_dtype types[3] = {p->dtype, p->dtype, type_of_c(p)};
    const int64_t rows[3] = {p->op_a == TW_N ? p->m : p->k, p->op_b == TW_N ? p->k : p->n, p->m},
                  ld[3] = {p->lda, p->ldb, p->ldc};
    const size_t count = j->items > 0 ? (size_t)j->items : 1;
    size_t used = ALIGN;
    operands_place(o, j->way > HOST);
    for (int i = 0; i < 3; i++) {
        o->each[i] = (size_t)(rows[i] * ld[i]) * bytes_of(types[i]);
        used = round_to(used + BAND, ALIGN) + (size_t)j->crooked[i] * bytes_of(types[i]);
        o->at[i] = o->memory + used;
        used += o->each[i] * (i == 0 && j->one_a ? 1 : count);
    }
    used = round_to(used + BAND, ALIGN);
    o->addresses = o->memory + used;
    o->bytes = used + count * 3 * sizeof(uint64_t);
    if (o->bytes > ARENA) return false;
    memset(o->memory, 0xa5, o->bytes);
    for (int i = 0; i < 3; i++) fill(o->at[i], types[i], o->each[i] * (i == 0 && j->one_a ? 1 : count));
    for (int i = 0; i < 3; i++)
        for (size_t item = 0; item < count; item++) {
            uint64_t address = (uintptr_t)seen(o, o->at[i]) + (i == 0 && j->one_a ? 0 : item * o->each[i]);
            memcpy(o->addresses + (i * count + item) * sizeof address, &address, sizeof address);
        }
    memcpy(o->before, o->memory, o->bytes);
    return true;
}

/* ---- computing ---- */

static tw_status compute_forced(const library *l, const job *j, const operands *o, const char *row)
{
    roomy_choice choice;
    tw_lab_run *run;
    memset(&choice, 0, sizeof choice);
    choice.choice.kernel = row, choice.choice.tile = j->tile, choice.choice.threads = j->threads;
    tw_status status = l->tw_lab_run_open(l->context, &choice.choice, &j->p, o->at[0], o->at[1], o->at[2], &run);
    if (status != TW_OK) return status;
    status = l->tw_lab_run_once(run, NULL);
    if (status == TW_OK) status = l->tw_lab_run_fetch(run, o->at[2]);
    l->tw_lab_run_close(run);
    return status;
}

static tw_batch batch_of(const job *j)
{
    tw_batch batch = tw_batch_make(&j->p, j->items);
    batch.size = sizes.batch;
    batch.pointers = j->by_address;
    if (j->one_a) batch.stride_a = 0;
    if (j->by_address) batch.stride_a = batch.stride_b = batch.stride_c = 0;
    return batch;
}

static tw_status compute(const library *l, const job *j, const operands *o, const char *row)
{
    const tw_batch batch = batch_of(j);
    tw_launch launch = {.size = sizes.launch};
    void *x[3];
    tw_status status = TW_OK;
    if (j->way == FORCED) return compute_forced(l, j, o, row);
    for (int i = 0; i < 3; i++) {
        const char *list = o->addresses + (size_t)(i * j->items) * sizeof(uint64_t);
        x[i] = seen(o, j->items > 0 && j->by_address ? list : o->at[i]);
    }
    if (j->way == STREAM) {
        tw_problem p = j->p;
        if (p.align_a == 0)
            p.align_a = p.align_b = p.align_c = (uint32_t)bytes_of(p.dtype); /* the most that may be wanted */
        int64_t *bytes = &launch.workspace_bytes;
        status = j->items > 0 ? l->tw_workspace_bytes_batched(l->context, &p, &batch, bytes)
                              : l->tw_workspace_bytes(l->context, &p, bytes);
        if (status != TW_OK || *bytes > WORKSPACE) return status != TW_OK ? status : TW_NO_MEMORY;
        *bytes = WORKSPACE, launch.workspace = (void *)o->workspace;
    }
    if (j->way < STREAM && j->items > 0) return l->tw_gemm_batched(l->context, &j->p, &batch, x[0], x[1], x[2]);
    if (j->way < STREAM) return l->tw_gemm(l->context, &j->p, x[0], x[1], x[2]);
    status = j->items > 0 ? l->tw_enqueue_batched(l->context, &j->p, &batch, x[0], x[1], x[2], &launch)
                          : l->tw_enqueue(l->context, &j->p, x[0], x[1], x[2], &launch);
    return cu.cuCtxSynchronize() != 0 && status == TW_OK ? TW_DEVICE_FAILED : status;
}

/* Computes on the block as it was; what became of it lies in `memory`. */
static tw_status compute_anew(const library *l, const job *j, const operands *o, const char *row)
{
    memcpy(o->memory, o->before, o->bytes);
    if (j->again && compute(l, j, o, row) == TW_OK) memcpy(o->memory, o->before, o->bytes);
    if (j->way <= HOST) return compute(l, j, o, row);
    /* the copy may still be on its way, and an engine's streams wait for no other */
    if (cu.cuMemcpyHtoD_v2(o->seen, o->memory, o->bytes) != 0 || cu.cuCtxSynchronize() != 0) return TW_DEVICE_FAILED;
    tw_status status = compute(l, j, o, row);
    return cu.cuMemcpyDtoH_v2(o->memory, o->seen, o->bytes) != 0 ? TW_DEVICE_FAILED : status;
}

/* ---- comparing ---- */

static double value_of(const char *at, tw_dtype type)
{
    double wide;
    float single;
    int32_t whole;
    uint16_t half;
    memcpy(&half, at, sizeof half);
    if (type == TW_F64) return memcpy(&wide, at, sizeof wide), wide;
    if (type == TW_F32) return memcpy(&single, at, sizeof single), (double)single;
    if (type == TW_I32) return memcpy(&whole, at, sizeof whole), (double)whole;
    uint32_t bits = (uint32_t)half << 16;
    if (type == TW_BF16) return memcpy(&single, &bits, sizeof single), (double)single;
    int exponent = half >> 10 & 31;
    double size = (exponent > 0 ? 1 + (half & 1023) / 1024.0 : (half & 1023) / 512.0) *
                  (double)((int64_t)1 << exponent) * 0x1p-15;
    return half >> 15 ? -size : size; /* infinities of f16 are told as large numbers: the bits stand beside */
}

static uint64_t bits_of(const char *at, size_t bytes)
{
    uint64_t bits = 0;
    for (size_t i = bytes; i-- > 0;) bits = bits << 8 | (unsigned char)at[i];
    return bits;
}

/* "row 3, column 7 of C: 0x1p+0 (3f800000) before, ..." of the first byte that differs. */
static void tell_place(const job *j, const operands *o, size_t first, char text[320])
{
    const tw_dtype type = type_of_c(&j->p);
    const size_t bytes = bytes_of(type), from = (size_t)(o->at[2] - o->memory),
                 all = o->each[2] * (size_t)(j->items > 0 ? j->items : 1);
    if (first < from || first >= from + all) {
        snprintf(text, 320, "a byte outside C, %td from its begin: %02x before, %02x now",
                 (ptrdiff_t)first - (ptrdiff_t)from, (unsigned char)o->became[first], (unsigned char)o->memory[first]);
        return;
    }
    const int64_t element = (int64_t)((first - from) / bytes), item = element / (int64_t)(o->each[2] / bytes);
    const int64_t at = element % (int64_t)(o->each[2] / bytes), column = at % j->p.ldc;
    const char *x = o->became + from + (size_t)element * bytes, *y = o->memory + from + (size_t)element * bytes;
    int used = 0;
    if (j->items > 0) used = snprintf(text, 320, "item %" PRId64 ", ", item);
    snprintf(text + used, 320 - (size_t)used,
             "row %" PRId64 ", column %" PRId64 "%s of C: %a (%0*" PRIx64 ") before, %a (%0*" PRIx64 ") now",
             at / j->p.ldc, column, column >= j->p.n ? ", padding," : "", value_of(x, type), (int)(2 * bytes),
             bits_of(x, bytes), value_of(y, type), (int)(2 * bytes), bits_of(y, bytes));
}

static bool tell(const job *j, const char *what, const char *place)
{
    char text[320];
    describe(j, text);
    if (total.differences++ < MOST_TOLD) printf("%s: %s: %s\n", what, text, place);
    return false;
}

/* One problem by both. *computed: they did, and did not refuse it alike. False: they differ, which is told. */
static bool same(const job *j, const char *what, bool *computed)
{
    operands o;
    tw_status status[LIBRARIES];
    char place[320];
    *computed = false;
    if (!operands_make(j, &o)) return true;
    for (int i = 0; i < LIBRARIES; i++) {
        status[i] = compute_anew(&libraries[i], j, &o, j->row[i]);
        if (i == OLD) memcpy(o.became, o.memory, o.bytes);
    }
    *computed = status[OLD] == TW_OK && status[NEW] == TW_OK;
    total.products += *computed, total.refused += !*computed;
    if (status[OLD] != status[NEW]) {
        const library *failed = &libraries[status[OLD] == TW_OK];
        snprintf(place, sizeof place, "%s before, %s now: %.200s", failed->tw_status_name(status[OLD]),
                 failed->tw_status_name(status[NEW]),
                 status[NEW] != TW_OK ? libraries[NEW].tw_error_text() : libraries[OLD].tw_error_text());
        return tell(j, what, place);
    }
    if (memcmp(o.memory, o.became, o.bytes) == 0) return true;
    size_t first = 0;
    while (o.memory[first] == o.became[first]) first++;
    tell_place(j, &o, first, place);
    return tell(j, what, place);
}

/* ---- every row, and every way ---- */

static const tw_lab_kernel *row_named(const library *l, const char *name)
{
    const tw_lab_kernel *row;
    for (int i = 0; (row = l->tw_lab_kernel_at(i)) != NULL; i++)
        if (strcmp(row->name, name) == 0) return row;
    return NULL;
}

/* The old row that this one was: by the same name, without a CPU family's tile, or by its former rung. */
static const tw_lab_kernel *former_row(const tw_lab_kernel *row)
{
    char name[96];
    const tw_lab_kernel untiled = {
        .name = row->name, .engine = row->engine, .rung = row->rung, .family = row->family, .formerly = NULL};
    const tw_lab_kernel *found = row_named(&libraries[OLD], row->name);
    if (found == NULL) found = row_named(&libraries[OLD], former_name(&untiled, name));
    return found != NULL ? found : row_named(&libraries[OLD], former_name(row, name));
}

static void check_lost(const char *engine)
{
    const tw_lab_kernel *old, *row;
    for (int i = 0; (old = libraries[OLD].tw_lab_kernel_at(i)) != NULL; i++) {
        bool found = strcmp(old->engine, engine) != 0;
        for (int r = 0; !found && (row = libraries[NEW].tw_lab_kernel_at(r)) != NULL; r++)
            found = former_row(row) == old;
        if (found) continue;
        printf("%s: no row is, or formerly was, that one\n", old->name);
        total.differences++;
    }
}

/* At least 30 products by this row; of production rows of all shapes, too. */
static void compare_row(const engine *e, const tw_lab_kernel *row, const char *old)
{
    enum { LEAST = 30, MOST_TRIED = 400, SHAPES = 16 };
    int made = 0, tried = 0, told = 0;
    const int wanted = LEAST + (row->production ? SHAPES : 0);
    for (; made < wanted && tried < MOST_TRIED && told < 2; tried++) {
        bool computed;
        job j = draw_forced(e, row, made < LEAST ? tried % 40 : 40 + tried);
        j.row[OLD] = old, j.row[NEW] = row->name;
        told += !same(&j, row->name, &computed);
        made += computed;
    }
    total.rows += made > 0;
    if (made < wanted && told == 0)
        printf("# %s: %d products of %d problems, the others were refused by both\n", row->name, made, tried);
}

static void compare_rows(const engine *e)
{
    const tw_lab_kernel *row;
    char why[512];
    if (!open_both(e->name, "", 2, why)) return;
    check_lost(e->name);
    for (int i = 0; (row = libraries[NEW].tw_lab_kernel_at(i)) != NULL; i++) {
        const tw_lab_kernel *old = former_row(row);
        if (strcmp(row->engine, e->name) != 0) continue;
        dice = (uint64_t)i << 32;
        if (old != NULL)
            compare_row(e, row, old->name);
        else
            printf("# %s is new\n", row->name);
    }
    close_both();
}

/* The types that tw_gemm of the new library takes in host memory. */
static void find_types(engine *e)
{
    static const tw_dtype types[] = {TW_F64, TW_F32, TW_F16, TW_BF16, TW_I8};
    e->type_count = 0;
    for (int i = 0; i < 10; i++) {
        job j = {.p = tw_problem_make(types[i / 2], TW_N, TW_N, 64, 64, 64), .way = HOST};
        operands o;
        if (i % 2 && bytes_of(types[i / 2]) != 2) continue;
        if (i % 2) j.p.dtype_c = types[i / 2];
        if (!operands_make(&j, &o) || compute_anew(&libraries[NEW], &j, &o, NULL) != TW_OK) continue;
        e->types[e->type_count].dtype = j.p.dtype, e->types[e->type_count++].dtype_c = j.p.dtype_c;
    }
}

static void compare_planned(engine *e, const char *set, int threads)
{
    char why[512], what[96];
    bool computed;
    int told = 0;
    if (!open_both(e->name, set, threads, why)) {
        printf("# %s %s: %s\n", e->name, set, why);
        return;
    }
    snprintf(what, sizeof what, "%s %s, the planner's choice, threads %d", e->name, set, threads);
    find_types(e);
    dice = (uint64_t)threads << 40 | (uint64_t)strlen(set) << 33;
    for (int i = 0; i < e->planned && e->type_count > 0 && told < 5; i++) {
        const job j = draw_planned(e);
        told += !same(&j, what, &computed);
    }
    close_both();
}

int main(int argc, char **argv)
{
    engine *e = NULL;
    char why[512] = "";
    if (argc == 2 && strcmp(argv[1], "--layout") == 0) return print_layout(), 0;
    for (int i = 0; (argc == 4 || argc == 5) && i < 3; i++)
        if (strcmp(engines[i].name, argv[1]) == 0) e = &engines[i];
    const char *taken = getenv("SAME_BITS_SIZES");
    if (taken != NULL && sscanf(taken, "%u %u %u %u", &sizes.problem, &sizes.batch, &sizes.options, &sizes.launch) != 4)
        return fprintf(stderr, "same_bits: SAME_BITS_SIZES: expected four numbers, found '%s'\n", taken), 2;
    if (e == NULL) return fprintf(stderr, "usage: same_bits cpu|opencl|cuda OLD NEW [SET] | --layout\n"), 2;
    for (int i = 0; i < LIBRARIES; i++) library_load(&libraries[i], argv[2 + i]);
    new_set = argv[4];
    setvbuf(stdout, NULL, _IOLBF, 0);
    total.begin = now_s();
    e->device = strcmp(e->name, "cuda") == 0 && cuda_load();
    if (!open_both(e->name, "", 2, why)) return printf("%s\n", why), total.differences > 0 ? 1 : 3;
    close_both();
    compare_rows(e);
    const int forced = total.products;
    for (int s = 0; s < 8 && e->sets[s] != NULL; s++)
        for (int t = 0; t == 0 || (t < 3 && e->threads[t] > 0); t++) compare_planned(e, e->sets[s], e->threads[t]);
    printf("%s: %d rows, %d products by them, %d by the planner's choice, %d refused by both, %d differ, %.0f s\n",
           e->name, total.rows, forced, total.products - forced, total.refused, total.differences,
           now_s() - total.begin);
    return total.differences > 0 || total.products == 0;
}
