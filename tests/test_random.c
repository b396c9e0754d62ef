/* test_random.c - random problems against both oracles: types, transposes, lengths from 0 on, primes and lengths about
 * tiles, scalars, leading dimensions, crooked addresses and batches, in host memory and, on CUDA, in device memory by
 * every call. All processors make problems and judge products on one context at once.
 *
 *   test_random [--seed S] [--first N] [--count N] [--seconds T] ...
 *       problems number N, N + 1, ... of seed S, so many of each engine, or for so long
 *
 * A problem follows from its number, its seed and the engine's types alone, and a failure prints what computes it
 * again. All elements are recomputed where that costs less than WORK; else rows are, and of all rows one weighted sum:
 * of small integers modulo 2^64, where one wrong element cannot hide, else by verify_product(). Nothing may change
 * beside C's elements. A problem that does not end is named, and the program with it. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "support/cuda_caller.h"
#include "oracle.h"
#include "processors.h"
#include "reference.h"
#include "support/die.h"
#include "support/tap.h"

enum { BAND = 512, MOST_ITEMS = 12, MOST_THREADS = 32, MOST_FAILURES = 8, HANG_S = 300, LINE = 320 };
static const double WORK = 2e7;

static struct {
    int64_t seed, first, count; /* count 0: the usual */
    double seconds;             /* 0: no end but count's */
} asked = {.seed = 1};

/* ---- a problem from its number ---- */

typedef enum way { HOST, DEVICE, STREAM, BARE, WAYS } way;
static const char *const way_names[] = {"tw_gemm", "tw_gemm in device memory", "tw_enqueue",
                                        "tw_enqueue without a workspace"};

typedef struct engine {
    const char *name;
    tw_context *context;
    bool device;      /* has memory of its own that we can reach */
    int most_log2;    /* of a length */
    int64_t elements; /* of A, B and C together, most */
    int64_t count;    /* of problems, in a usual and in a full run */
    struct {
        tw_dtype dtype, dtype_c;
    } types[8];
    int type_count;
    char refusal[256];
} engine;

typedef struct job {
    int64_t number;
    tw_problem p;
    oracle_kind kind;
    way way;
    int items;               /* of a batch; 0: one product by its own call */
    bool by_address, shared; /* shared: all items of one A and one B */
    int64_t crooked[3], gap; /* elements from a multiple of 256 bytes to A, B and C; and between items */
    uint64_t seed;
} job;

static bool is_prime(int64_t x)
{
    for (int64_t i = 2; i * i <= x; i++)
        if (x % i == 0) return false;
    return x > 1;
}

/* Log-uniform; or near such a length a prime, or a multiple of a tile's edge or one beside; or 0 or 1. */
static int64_t draw_length(die *d, int most_log2)
{
    static const int64_t edges[] = {8, 16, 32, 64, 96, 128, 256};
    int64_t any = (int64_t)exp2((double)roll(d, 1 << 20) * 0x1p-20 * most_log2), kind = roll(d, 8);
    if (kind == 0) return roll(d, 4) > 0;
    if (kind == 1)
        while (!is_prime(any)) any++;
    if (kind == 2 || kind == 3) {
        int64_t edge = edges[roll(d, 7)];
        any = (any + edge - 1) / edge * edge + (kind == 3 ? roll(d, 3) - 1 : 0);
    }
    return any;
}

static int64_t draw_pad(die *d) { return roll(d, 2) ? 0 : roll(d, 2) ? 8 * roll(d, 3) : roll(d, 20); }

static job draw(const engine *e, int64_t number)
{
    static const double alphas[] = {1, 1, 1, 1, -1, 2, 0.5, -2.5, 0}, betas[] = {0, 0, 0, 1, -1, 2, 0.5, 1.5};
    die d = {.seed = element_mix((uint64_t)asked.seed, (uint64_t)number)};
    int type = (int)roll(&d, e->type_count);
    tw_dtype dtype = e->types[type].dtype;
    job j = {
        .number = number, .seed = element_mix(d.seed, UINT64_MAX), .kind = roll(&d, 2) ? ORACLE_BOUND : ORACLE_EXACT};
    const int ops = element_of(dtype)->parts == 2 ? 4 : 2; /* of one operand */
    int64_t x[3], *largest = &x[0], op = roll(&d, ops * ops);
    for (int i = 0; i < 3; i++) x[i] = draw_length(&d, e->most_log2);
    if (roll(&d, 6) == 0)
        j.items = 1 + (int)roll(&d, MOST_ITEMS), j.by_address = roll(&d, 2), j.shared = roll(&d, 3) == 0;
    int64_t elements = e->elements / (j.items > 1 ? j.items : 1);
    while (x[0] * x[2] + x[2] * x[1] + x[0] * x[1] > elements) {
        for (int i = 0; i < 3; i++)
            if (x[i] > *largest) largest = &x[i];
        *largest = (*largest + 1) / 2;
    }
    j.p = tw_problem_make(dtype, (tw_op)(op / ops), (tw_op)(op % ops), x[0], x[1], x[2]);
    j.p.dtype_c = e->types[type].dtype_c;
    j.p.alpha = alphas[roll(&d, 9)], j.p.beta = betas[roll(&d, 8)];
    if (ops == 4 && roll(&d, 2)) j.p.alpha_imaginary = alphas[roll(&d, 9)], j.p.beta_imaginary = betas[roll(&d, 8)];
    if (element_of(dtype)->integer) j.p.alpha = trunc(j.p.alpha), j.p.beta = trunc(j.p.beta);
    j.p.lda += draw_pad(&d), j.p.ldb += draw_pad(&d), j.p.ldc += draw_pad(&d);
    for (int i = 0; i < 3; i++) j.crooked[i] = draw_pad(&d);
    j.gap = draw_pad(&d);
    j.way = e->device ? (way)roll(&d, WAYS) : HOST;
    if (j.way == BARE || (j.way != HOST && j.by_address)) j.p.dtype_c = 0; /* then C of 2 bytes each has no kernel */
    if (j.way != HOST) j.p.place_a = j.p.place_b = j.p.place_c = TW_DEVICE;
    return j;
}

static const element *type_of_c(const job *j)
{
    return element_of(j->p.dtype_c ? j->p.dtype_c : element_of(j->p.dtype)->result);
}

static void describe(const job *j, char text[LINE])
{
    const tw_problem *p = &j->p;
    int used = snprintf(text, LINE,
                        "%s %c%c %" PRId64 "x%" PRId64 "x%" PRId64 " alpha %g %+gi beta %g %+gi ld %" PRId64 " %" PRId64
                        " %" PRId64 " C %s, crooked by %" PRId64 " %" PRId64 " %" PRId64 ", %s, %s",
                        tw_lab_dtype_of(p->dtype)->name, "ntcr"[p->op_a], "ntcr"[p->op_b], p -> m, p -> n, p -> k,
                        p -> alpha, p -> alpha_imaginary, p -> beta, p -> beta_imaginary, p -> lda, p -> ldb, p -> ldc,
                        tw_lab_dtype_of(type_of_c(j)->dtype) -> name, j -> crooked[0], j -> crooked[1], j -> crooked[2],
                        way_names[j->way], j -> kind == ORACLE_EXACT ? "exact" : "bound");
    if (j->items > 0)
        snprintf(text + used, (size_t)(LINE - used), ", %d items%s%s %" PRId64 " apart", j->items,
                 j->by_address ? " by address" : "", j->shared ? " of one A and B" : "", j->gap);
}

/* ---- operands and verdict ---- */

/* Bytes in a block of memory: of an item of A, B or C, from the block's begin to the first and from item to item. */
typedef struct place {
    size_t bytes, at, stride;
} place;

/* A, B, C and the addresses of items, each between bands of bytes that are NaN in most types. The block begins at a
 * multiple of 256. */
typedef struct operands {
    oracle o[MOST_ITEMS];
    place x[3];
    size_t addresses, bytes;
    int made, count; /* oracles; items, 1 where there is no batch */
    char *before, *after;
    char why[512];
} operands;

static void operands_free(operands *s)
{
    for (int i = 0; i < s->made; i++) oracle_free(&s->o[i]);
    free(s->before), free(s->after);
}

static bool operands_make(const job *j, operands *s)
{
    memset(s, 0, sizeof *s);
    s->count = j->items > 0 ? j->items : 1;
    for (int wanted = j->shared ? 1 : s->count; s->made < wanted; s->made++) {
        oracle *o = &s->o[s->made];
        tw_problem p = j->p;
        p.place_a = p.place_b = p.place_c = TW_HOST;
        tw_status status = oracle_make(&p, j->kind, j->seed + (uint64_t)s->made, WORK / wanted, o);
        /* no integers are small enough */
        if (status == TW_BAD_ARGUMENT && j->kind == ORACLE_EXACT)
            status = oracle_make(&p, ORACLE_BOUND, j->seed, WORK / wanted, o);
        if (status != TW_OK) {
            snprintf(s->why, sizeof s->why, "the oracle failed: %s, %s", tw_status_name(status), o->text);
            return false;
        }
    }
    const size_t ab_bytes = (size_t)element_of(j->p.dtype)->bytes,
                 element[3] = {ab_bytes, ab_bytes, (size_t)type_of_c(j)->bytes};
    const size_t bytes[3] = {oracle_a_bytes(&s->o[0]), oracle_b_bytes(&s->o[0]), oracle_c_bytes(&s->o[0])};
    /* complex elements are aligned to a part */
    const size_t parts = (size_t)element_of(j->p.dtype)->parts,
                 crooked_by[3] = {element[0] / parts, element[1] / parts, element[2] / parts};
    for (int i = 0; i < 3; i++) {
        bool one = i < 2 && j->shared;
        s->x[i] = (place){bytes[i], (s->bytes + BAND + 255) / 256 * 256 + (size_t)j->crooked[i] * crooked_by[i],
                          one ? 0 : bytes[i] + (size_t)j->gap * element[i]};
        s->bytes = s->x[i].at + bytes[i] + (one ? 0 : (size_t)(s->count - 1) * s->x[i].stride);
    }
    s->addresses = (s->bytes + BAND + 255) / 256 * 256;
    s->bytes = s->addresses + (size_t)s->count * 3 * sizeof(uint64_t) + BAND;
    if (posix_memalign((void **)&s->before, 256, s->bytes) != 0 ||
        posix_memalign((void **)&s->after, 256, s->bytes) != 0) {
        snprintf(s->why, sizeof s->why, "no memory for %zu bytes", s->bytes);
        return false;
    }
    memset(s->before, 0xff, s->bytes);
    for (int i = 0; i < s->count; i++) {
        const oracle *o = &s->o[j->shared ? 0 : i];
        const void *const from[3] = {o->a, o->b, o->c0};
        for (int of = 0; of < 3; of++)
            if (s->x[of].bytes > 0)
                memcpy(s->before + s->x[of].at + (size_t)i * s->x[of].stride, from[of], s->x[of].bytes);
    }
    return true;
}

/* Twice a multiple of 1/2 times the weighted sum of row i, which becomes `row`. */
static uint64_t twice_weighted(double scalar, view v, int64_t i, int64_t count, const uint64_t *weights, double *row)
{
    uint64_t sum = 0;
    if (scalar == 0) return 0;
    view_load(v, i, 1, 0, count, row, count);
    for (int64_t p = 0; p < count; p++) sum += (uint64_t)(int64_t)row[p] * weights[p];
    return (uint64_t)(int64_t)(2 * scalar) * sum;
}

/* Of integers: the sum of each row of C, weighted at random, is that of alpha A B + beta C0 modulo 2^64. Weights are
 * odd, so one wrong element is seen for certain. */
static bool sums_agree(const oracle *o, const void *c, char *why, size_t bytes)
{
    product x;
    const bool made = product_make(&o->problem, o->a, o->b, o->c0, &x) == TW_OK;
    const int64_t m = o->problem.m, n = x.problem.n, k = x.problem.k;
    double *row = malloc((size_t)(n > k ? n : k) * sizeof *row + 8);
    /* of B's rows */
    uint64_t *weight = malloc((size_t)n * sizeof *weight + 8), *sum = calloc((size_t)k + 1, sizeof *sum);
    bool agree = row != NULL && weight != NULL && sum != NULL && made;
    snprintf(why, bytes, "no memory for weighted sums");
    for (int64_t j = 0; agree && j < n; j++) weight[j] = element_mix(UINT64_C(77), (uint64_t)j) | 1;
    for (int64_t p = 0; agree && x.reads_ab && p < k; p++) {
        view_load(x.b, p, 1, 0, n, row, n);
        for (int64_t j = 0; j < n; j++) sum[p] += (uint64_t)(int64_t)row[j] * weight[j];
    }
    for (int64_t i = 0; agree && i < m; i++) {
        uint64_t expected = 0, found = 0;
        if (x.reads_ab) expected += twice_weighted(x.alpha, x.a, i, k, sum, row);
        if (x.reads_ab) expected += twice_weighted(x.alpha_imaginary, x.a_turned, i, k, sum, row);
        if (x.reads_c0) expected += twice_weighted(x.beta, x.c0, i, n, weight, row);
        if (x.reads_c0) expected += twice_weighted(x.beta_imaginary, x.c0_turned, i, n, weight, row);
        view_load((view){x.type_c, c, x.problem.ldc, 1}, i, 1, 0, n, row, n);
        for (int64_t j = 0; agree && j < n; j++) {
            agree = fabs(row[j]) < 0x1p60 && 2 * row[j] == floor(2 * row[j]);
            if (agree) found += (uint64_t)(int64_t)(2 * row[j]) * weight[j];
        }
        agree = agree && found == expected;
        if (!agree)
            snprintf(why, bytes, "row %" PRId64 " of C is wrong: its weighted sum is not that of the product", i);
    }
    free(row), free(weight), free(sum);
    return agree;
}

/* One item of C. */
static bool is_product(const oracle *o, const void *c, char *why, size_t bytes)
{
    oracle_verdict verdict = oracle_judge(o, c);
    snprintf(why, bytes, "%s", verdict.text);
    if (!verdict.passed || !verdict.sampled) return verdict.passed;
    const element *type = element_of(o->problem.dtype);
    if (o->kind == ORACLE_EXACT && (o->problem.dtype_c == 0 || o->problem.dtype_c == type->result))
        return sums_agree(o, c, why, bytes);
    const verify_options few = {.seed = 3, .vectors = LANES, .samples = 64};
    verify_report report;
    if (verify_product(&o->problem, o->a, o->b, o->c0, c, &few, &report) != TW_OK) {
        snprintf(why, bytes, "verify_product failed");
        return false;
    }
    snprintf(why, bytes, "%s", report.text);
    return report.passed;
}

/* Is every item of C its product, and all else what it was? */
static bool judge(const job *j, operands *s)
{
    const place *c = &s->x[2];
    size_t from = 0;
    for (int i = 0; i <= s->count; i++) {
        size_t to = i < s->count ? c->at + (size_t)i * c->stride : s->bytes;
        if (memcmp(s->before + from, s->after + from, to - from) != 0) {
            while (s->before[from] == s->after[from]) from++;
            snprintf(s->why, sizeof s->why,
                     "byte %zu was changed, where A is at %zu, B at %zu, C at %zu (each item %zu bytes, %zu apart)",
                     from, s->x[0].at, s->x[1].at, c->at, c->bytes, c->stride);
            return false;
        }
        from = to + c->bytes;
    }
    for (int i = 0; i < s->count; i++) {
        char why[512];
        if (is_product(&s->o[j->shared ? 0 : i], s->after + c->at + (size_t)i * c->stride, why, sizeof why)) continue;
        snprintf(s->why, sizeof s->why, "item %d: %.480s", i, why);
        return false;
    }
    return true;
}

/* ---- computing ---- */

static caller me;

#define CU(call)                                                                                                       \
    do {                                                                                                               \
        cu_result error_ = (call);                                                                                     \
        if (error_ != CU_SUCCESS) {                                                                                    \
            snprintf(s->why, sizeof s->why, "%s failed with %s", #call, cu_error_name(me.cu, error_));                 \
            return false;                                                                                              \
        }                                                                                                              \
    } while (0)

static uint32_t alignment_of(size_t at) { return at % 256 == 0 ? 256 : (uint32_t)(at & -at) & 255; }

static tw_batch batch_of(const job *j, const operands *s)
{
    tw_batch batch = {.size = sizeof batch, .pointers = j->by_address, .count = j->items};
    if (j->by_address) return batch;
    batch.stride_a = (int64_t)s->x[0].stride / element_of(j->p.dtype)->bytes,
    batch.stride_b = (int64_t)s->x[1].stride / element_of(j->p.dtype)->bytes;
    batch.stride_c = (int64_t)s->x[2].stride / type_of_c(j)->bytes;
    return batch;
}

/* The call, on a block that begins at `base`. */
static tw_status multiply(const engine *e, const job *j, const operands *s, const tw_problem *p, uintptr_t base,
                          const tw_launch *launch)
{
    void *x[3];
    const tw_batch batch = batch_of(j, s);
    for (int i = 0; i < 3; i++)
        x[i] = (void *)(base + (j->items > 0 && j->by_address ? s->addresses + (size_t)(i * s->count) * sizeof(uint64_t)
                                                              : s->x[i].at));
    if (launch != NULL)
        return j->items > 0 ? tw_enqueue_batched(e->context, p, &batch, x[0], x[1], x[2], launch)
                            : tw_enqueue(e->context, p, x[0], x[1], x[2], launch);
    return j->items > 0 ? tw_gemm_batched(e->context, p, &batch, x[0], x[1], x[2])
                        : tw_gemm(e->context, p, x[0], x[1], x[2]);
}

/* The addresses of items, for a batch by address: A's, B's, then C's. */
static void put_addresses(operands *s, uintptr_t base)
{
    uint64_t *to = (uint64_t *)(void *)(s->before + s->addresses);
    for (int i = 0; i < 3; i++)
        for (int item = 0; item < s->count; item++) *to++ = base + s->x[i].at + (size_t)item * s->x[i].stride;
}

static bool said(operands *s, tw_status status)
{
    if (status != TW_OK) snprintf(s->why, sizeof s->why, "%s: %s", tw_status_name(status), tw_error_text());
    return status == TW_OK;
}

static bool run_here(const engine *e, const job *j, operands *s)
{
    put_addresses(s, (uintptr_t)s->after);
    memcpy(s->after, s->before, s->bytes);
    return said(s, multiply(e, j, s, &j->p, (uintptr_t)s->after, NULL));
}

/* memory: as large as the block, the workspace and a band behind it. */
static bool run_at(const engine *e, const job *j, operands *s, const tw_problem *p, cu_pointer memory,
                   int64_t workspace_bytes, cu_stream stream)
{
    const cu_pointer workspace = memory + (s->bytes + 255) / 256 * 256, end = workspace + (cu_pointer)workspace_bytes;
    const tw_launch launch = {.size = sizeof launch,
                              .stream = stream,
                              .workspace = workspace_bytes > 0 ? (void *)(uintptr_t)workspace : NULL,
                              .workspace_bytes = workspace_bytes};
    char band[BAND];
    put_addresses(s, (uintptr_t)memory);
    CU(me.cu->cuMemcpyHtoDAsync_v2(memory, s->before, s->bytes, stream));
    CU(me.cu->cuMemcpyHtoDAsync_v2(end, s->before, BAND, stream)); /* the block's first band */
    /* the library's own stream does not wait for ours */
    if (j->way == DEVICE) CU(me.cu->cuStreamSynchronize(stream));
    if (!said(s, multiply(e, j, s, p, (uintptr_t)memory, j->way == DEVICE ? NULL : &launch))) return false;
    CU(me.cu->cuMemcpyDtoHAsync_v2(s->after, memory, s->bytes, stream));
    CU(me.cu->cuMemcpyDtoHAsync_v2(band, end, BAND, stream));
    CU(me.cu->cuStreamSynchronize(stream));
    if (memcmp(band, s->before, BAND) == 0) return true;
    snprintf(s->why, sizeof s->why, "what follows %" PRId64 " bytes of workspace was written", workspace_bytes);
    return false;
}

static bool run_there(const engine *e, const job *j, operands *s, cu_stream stream)
{
    tw_problem p = j->p;
    int64_t workspace_bytes = 0;
    cu_pointer memory = 0;
    for (int i = 0; i < 3; i++) {
        uint32_t *const aligns[] = {&p.align_a, &p.align_b, &p.align_c};
        *aligns[i] = alignment_of(s->x[i].at | (j->items > 0 ? s->x[i].stride : 0));
    }
    const tw_batch batch = batch_of(j, s);
    if (j->way == STREAM && !said(s, j->items > 0 ? tw_workspace_bytes_batched(e->context, &p, &batch, &workspace_bytes)
                                                  : tw_workspace_bytes(e->context, &p, &workspace_bytes)))
        return false;
    CU(me.cu->cuMemAlloc_v2(&memory, s->bytes + 256 + (size_t)workspace_bytes + BAND));
    bool passed = run_at(e, j, s, &p, memory, workspace_bytes, stream);
    CU(me.cu->cuMemFree_v2(memory));
    return passed;
}

/* ---- all processors, and who watches them ---- */

typedef struct worker {
    pthread_t thread;
    _Atomic double since; /* when its problem began; 0: it has none */
    job job;
} worker;

static struct {
    const engine *engine;
    worker workers[MOST_THREADS];
    int threads;
    _Atomic int64_t next, last; /* the number to take next, and the first not to be */
    double until, longest;      /* 0: no end in time */
    int64_t done, longest_number;
    int running, failures;
    cu_context primary;
    char first_failure[1024];
    pthread_mutex_t lock;
    pthread_cond_t ended;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void note_result(const job *j, bool passed, const char *why, double seconds)
{
    char text[LINE];
    describe(j, text);
    pthread_mutex_lock(&all.lock);
    all.done++;
    if (seconds > all.longest) all.longest = seconds, all.longest_number = j->number;
    if (!passed) {
        char failure[sizeof all.first_failure];
        snprintf(failure, sizeof failure, "%s: --seed %" PRId64 " --first %" PRId64 " --count 1: %s: %s",
                 all.engine->name, asked.seed, j->number, text, why);
        printf("# %s\n", failure);
        if (all.failures++ == 0) strcpy(all.first_failure, failure);
        if (all.failures == MOST_FAILURES) atomic_store(&all.last, 0);
    }
    pthread_mutex_unlock(&all.lock);
}

static void *work(void *context)
{
    worker *self = context;
    const engine *e = all.engine;
    cu_stream stream = NULL;
    operands *s = malloc(sizeof *s);
    bool ready = s != NULL && (!e->device || (me.cu->cuCtxPushCurrent_v2(all.primary) == CU_SUCCESS &&
                                              me.cu->cuStreamCreate(&stream, CALLER_NON_BLOCKING) == CU_SUCCESS));
    for (int64_t number;
         (number = atomic_fetch_add(&all.next, 1)) < atomic_load(&all.last) && !(all.until > 0 && now() > all.until);) {
        double begin = now();
        self->job = draw(e, number);
        atomic_store(&self->since, begin);
        bool passed = ready && operands_make(&self->job, s) &&
                      (self->job.way == HOST ? run_here(e, &self->job, s) : run_there(e, &self->job, s, stream)) &&
                      judge(&self->job, s);
        note_result(&self->job, passed, ready ? s->why : "a thread got no memory or no stream", now() - begin);
        if (ready) operands_free(s);
        atomic_store(&self->since, 0);
    }
    if (stream != NULL) me.cu->cuStreamDestroy_v2(stream);
    free(s);
    pthread_mutex_lock(&all.lock);
    all.running--;
    pthread_cond_signal(&all.ended);
    pthread_mutex_unlock(&all.lock);
    return NULL;
}

/* Whose problem has taken longer than HANG_S? NULL: nobody's. */
static worker *hanging(double at)
{
    for (int i = 0; i < all.threads; i++) {
        double since = atomic_load(&all.workers[i].since);
        if (since > 0 && at - since > HANG_S) return &all.workers[i];
    }
    return NULL;
}

/* Until all threads have ended; a line each minute. */
static void watch(void)
{
    pthread_mutex_lock(&all.lock);
    for (double told = now(); all.running > 0;) {
        if (now() - told > 60) {
            told = now();
            printf("# %s: %" PRId64 " problems so far, %d failed\n", all.engine->name, all.done, all.failures);
        }
        struct timespec next;
        clock_gettime(CLOCK_REALTIME, &next);
        next.tv_sec++;
        pthread_cond_timedwait(&all.ended, &all.lock, &next);
        worker *stuck = hanging(now());
        if (stuck == NULL) continue;
        char text[LINE];
        describe(&stuck->job, text);
        printf("Bail out! %s: --seed %" PRId64 " --first %" PRId64 " --count 1: %s: has not ended in %d s\n",
               all.engine->name, asked.seed, stuck->job.number, text, HANG_S);
        fflush(stdout);
        _exit(1);
    }
    pthread_mutex_unlock(&all.lock);
}

static void random_case(engine *e)
{
    int64_t count = asked.count > 0     ? asked.count
                    : asked.seconds > 0 ? INT64_MAX / 2
                    : tap.full          ? e->count * 20
                                        : e->count;
    if (!tap_case("%s: random problems of seed %" PRId64 " from number %" PRId64 " on", e->name, asked.seed,
                  asked.first))
        return;
    if (e->refusal[0] != '\0') {
        tap_skip(e->refusal);
        return;
    }
    all.engine = e;
    all.done = all.failures = 0, all.longest = 0;
    all.until = asked.seconds > 0 ? now() + asked.seconds : 0;
    atomic_store(&all.next, asked.first), atomic_store(&all.last, asked.first + count);
    all.threads = processors_usable(NULL, 0);
    if (all.threads > MOST_THREADS) all.threads = MOST_THREADS;
    if (all.threads > count) all.threads = (int)count;
    double begin = now();
    all.running = all.threads;
    for (int i = 0; i < all.threads; i++)
        if (pthread_create(&all.workers[i].thread, NULL, work, &all.workers[i]) != 0)
            perror("test_random: pthread_create"), exit(1);
    watch();
    for (int i = 0; i < all.threads; i++) pthread_join(all.workers[i].thread, NULL);
    printf("# %s: %" PRId64 " problems, %d failed, %.1f s on %d threads; the longest, number %" PRId64 ", %.2f s\n",
           e->name, all.done, all.failures, now() - begin, all.threads, all.longest_number, all.longest);
    tap_result(all.failures == 0 && all.done > 0, "%d of %" PRId64 " failed, first %s", all.failures, all.done,
               all.first_failure);
}

/* ---- the checks themselves ---- */

/* A right C passes; with one element off by a little, or a byte beside C, it does not. row: one that has no reference
 * of its own. */
static void planted_case(engine *e, tw_dtype dtype, oracle_kind kind)
{
    if (!tap_case("a wrong %s element and a touched byte are found, %s", tw_lab_dtype_of(dtype)->name,
                  kind == ORACLE_EXACT ? "exact" : "bound"))
        return;
    job j = {.p = tw_problem_make(dtype, TW_T, TW_N, 400, 500, 300),
             .kind = kind,
             .seed = 5,
             .items = 2,
             .gap = 3,
             .crooked = {1, 2, 3}};
    j.p.alpha = 2, j.p.beta = -1, j.p.ldc += 5;
    operands s;
    const char *what = "";
    bool right = operands_make(&j, &s) && run_here(e, &j, &s) && judge(&j, &s);
    if (!right) what = "a right product is refused";
    const int parts = element_of(dtype)->parts;
    const int64_t ldc = j.p.ldc * parts;
    int64_t row = 0, col = 123;
    while (right && row < s.o[1].row_count && s.o[1].rows != NULL && s.o[1].rows[row] == row) row++;
    if (right && (s.o[1].rows == NULL || row == s.o[1].row_count)) right = false, what = "every row has a reference";
    if (right) {
        const element *type = element_part(element_of(dtype)->result);
        void *c = s.after + s.x[2].at + s.x[2].stride;
        double good, bad;
        type->load(c, row * ldc + col, 1, 1, &good, 1);
        bad = kind == ORACLE_EXACT ? good + 1 : good + 1 + fabs(good);
        type->store(c, row * ldc + col, 1, &bad);
        if (judge(&j, &s)) right = false, what = "a wrong element passes";
        type->store(c, row * ldc + col, 1, &good);
        if (right && !judge(&j, &s)) right = false, what = "the right element is refused";
        const size_t touched[] = {s.x[0].at, s.x[2].at - 1, s.x[2].at + s.x[2].bytes, s.bytes - 1};
        for (int i = 0; right && i < 4; i++) {
            s.after[touched[i]] ^= 1;
            if (judge(&j, &s)) right = false, what = "a touched byte passes";
            s.after[touched[i]] ^= 1;
        }
    }
    tap_result(right, "%s: %s", what, s.why);
    operands_free(&s);
}

static void hanging_case(void)
{
    if (!tap_case("a problem that does not end is found")) return;
    all.threads = 2;
    atomic_store(&all.workers[1].since, 1000);
    bool early = hanging(1000 + HANG_S) != NULL, late = hanging(1001 + HANG_S) == &all.workers[1];
    atomic_store(&all.workers[1].since, 0);
    tap_result(!early && late && hanging(1e9) == NULL, "after %d s: %d, after one more: %d", HANG_S, early, late);
}

/* ---- engines ---- */

/* Opens the engine and lists the types that it multiplies: pairs of A's and C's. */
static void engine_open(engine *e)
{
    if (tw_open(&(tw_options){.size = sizeof(tw_options), .engine = e->name}, &e->context) != TW_OK) {
        snprintf(e->refusal, sizeof e->refusal, "no %s device: %.200s", e->name, tw_error_text());
        return;
    }
    static const tw_dtype dtypes[] = {TW_F64, TW_F32, TW_F16, TW_BF16, TW_I8, TW_CF32, TW_CF64};
    for (size_t type = 0; type < sizeof dtypes / sizeof *dtypes; type++)
        for (int own = 0; own < 2; own++) {
            tw_problem p = tw_problem_make(dtypes[type], TW_N, TW_N, 64, 64, 64);
            tw_lab_plan plan;
            p.dtype_c = own ? p.dtype : 0;
            if ((own && element_of(p.dtype)->result == p.dtype) ||
                tw_lab_plan_of(e->context, &(tw_lab_choice){0}, &p, &plan) != TW_OK)
                continue;
            e->types[e->type_count].dtype = p.dtype, e->types[e->type_count++].dtype_c = p.dtype_c;
        }
    if (e->type_count == 0) snprintf(e->refusal, sizeof e->refusal, "%s multiplies no type here", e->name);
    if (strcmp(e->name, "cuda") == 0) e->device = caller_open(&me, &all.primary, e->refusal, sizeof e->refusal);
}

/* Takes our own options out of the command line. */
static void read_options(int *argc, char **argv)
{
    int kept = 1;
    for (int i = 1; i < *argc; i++) {
        static const char *const names[] = {"--seed", "--first", "--count", "--seconds"};
        int64_t *const numbers[] = {&asked.seed, &asked.first, &asked.count, NULL};
        int which = 0;
        while (which < 4 && strcmp(argv[i], names[which]) != 0) which++;
        if (which == 4) {
            argv[kept++] = argv[i];
            continue;
        }
        const char *word = i + 1 < *argc ? argv[++i] : "";
        char *rest;
        errno = 0;
        double value = which == 3 ? strtod(word, &rest) : (double)strtoll(word, &rest, 10);
        if (rest == word || *rest != '\0' || errno != 0 || !(value >= (which >= 2)) || value > 1e15) {
            fprintf(stderr, "test_random: %s: found '%s', expected a number from %d\n", names[which], word, which >= 2);
            exit(2);
        }
        if (which == 3)
            asked.seconds = value;
        else
            *numbers[which] = (int64_t)value;
    }
    *argc = kept;
}

int main(int argc, char **argv)
{
    static engine engines[] = {{.name = "cpu", .most_log2 = 16, .elements = 1 << 21, .count = 300},
                               {.name = "opencl", .most_log2 = 11, .elements = 1 << 16, .count = 100},
                               {.name = "cuda", .most_log2 = 16, .elements = 1 << 23, .count = 500}};
    read_options(&argc, argv);
    tap_start(argc, argv);
    for (int i = 0; i < 3 && !tap.list; i++) engine_open(&engines[i]);
    planted_case(&engines[0], TW_F32, ORACLE_EXACT);
    planted_case(&engines[0], TW_F32, ORACLE_BOUND);
    planted_case(&engines[0], TW_BF16, ORACLE_EXACT);
    planted_case(&engines[0], TW_CF64, ORACLE_EXACT);
    planted_case(&engines[0], TW_CF32, ORACLE_BOUND);
    hanging_case();
    for (int i = tap.gpu; i < 3; i++) random_case(&engines[i]);
    for (int i = 0; i < 3; i++) tw_close(engines[i].context);
    return tap_finish();
}
