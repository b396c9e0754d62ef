/* api.c - products by tilewright.h: tw_gemm, tw_sgemm, tw_dgemm and tw_gemm_batched, some prepared first, some once
 * more with only a triangle of C wanted, or on one thread: with the same bits, also where rounding is another one and
 * sums are not exact. */
#include "../support/random_problem.h"
#include "soak.h"

typedef enum caller { BY_PROBLEM, PREPARED, BY_VALUES, TRIANGLE, ONE_THREAD, CALLERS } caller;
static const char *const caller_names[] = {"", " prepared", " by tw_sgemm or tw_dgemm", " and a triangle",
                                           " and on one thread"};

typedef struct api {
    engine engine;
    job job;
    operands operands;
    caller by;
    /* the second call of TRIANGLE and ONE_THREAD */
    uint32_t flags;
    tw_context *alone; /* of ONE_THREAD: a context of the same instruction set */
    char *again;       /* a block as operands.after */
    tw_status status, status_again;
    char said[256]; /* tw_error_text() */
} api;

static bool is_everyday(const job *j) { return j->items == 0 && (j->p.dtype == TW_F32 || j->p.dtype == TW_F64); }

static bool all_exact(const operands *s)
{
    for (int i = 0; i < s->made; i++)
        if (s->o[i].kind != ORACLE_EXACT) return false;
    return true;
}

static void api_end(soak_product *x)
{
    api *self = x->state;
    operands_free(&self->operands);
    tw_close(self->alone);
    free(self->again), free(self);
}

/* Where the product allows: called in another way than by its problem, of a square C for a triangle of it. */
static void draw_caller(api *self, die *d)
{
    job *j = &self->job;
    self->by = (caller)roll(d, CALLERS);
    if (self->by == ONE_THREAD ? j->items > 0 : !is_everyday(j) && self->by != PREPARED) self->by = BY_PROBLEM;
    if (self->by != TRIANGLE) return;
    tw_problem *p = &j->p;
    const int64_t side = p->m < p->n ? p->m : p->n, pad_b = p->ldb - (p->op_b == TW_N ? p->n : p->k);
    const int64_t pad_a = p->lda - (p->op_a == TW_N ? p->k : p->m), pad_c = p->ldc - p->n;
    const tw_problem even = tw_problem_make(p->dtype, p->op_a, p->op_b, side, side, p->k);
    p->m = p->n = side;
    p->lda = even.lda + (pad_a > 0 ? pad_a : 0), p->ldb = even.ldb + (pad_b > 0 ? pad_b : 0), p->ldc = even.ldc + pad_c;
    self->flags = roll(d, 2) ? TW_LOWER : TW_UPPER;
}

static bool calls_again(const api *self) { return self->by == TRIANGLE || self->by == ONE_THREAD; }

static bool open_alone(api *self)
{
    tw_device device = {.size = sizeof device};
    const tw_options options = {.size = sizeof options, .instruction_set = device.instruction_set, .threads = 1};
    return (tw_describe(self->engine.context, &device) == TW_OK && tw_open(&options, &self->alone) == TW_OK) ||
           soak_fail("a context of one thread: %s", tw_error_text());
}

static bool api_draw(soak_product *x, uint64_t seed, tw_context *context)
{
    static const int64_t sizes[] = {20000, 40000, 120000, 400000}; /* from 200000 on worth several threads */
    api *self = calloc(1, sizeof *self);
    if (self == NULL) return soak_fail("no memory for a product");
    die d = {.seed = seed};
    x->state = self;
    self->engine = (engine){.name = "cpu", .context = context, .most_log2 = 12, .elements = sizes[roll(&d, 4)]};
    engine_types(&self->engine);
    self->job = draw(&self->engine, (int64_t)(seed >> 1), roll(&d, 1 << 20));
    draw_caller(self, &d);
    describe(&self->job, x->text);
    const size_t used = strlen(x->text);
    snprintf(x->text + used, sizeof x->text - used, "%s", caller_names[self->by]);
    if (!operands_make(&self->job, &self->operands)) {
        soak_fail("%s: %s", x->text, self->operands.why);
        api_end(x);
        return false;
    }
    operands *s = &self->operands;
    put_addresses(s, (uintptr_t)s->after);
    memcpy(s->after, s->before, s->bytes);
    x->exact = all_exact(s) || self->by == ONE_THREAD;
    if (!calls_again(self)) return true;
    if (posix_memalign((void **)&self->again, 256, s->bytes) != 0) return soak_fail("no memory for a second call");
    memcpy(self->again, s->before, s->bytes);
    return self->by != ONE_THREAD || open_alone(self);
}

static tw_status call_by_values(const api *self)
{
    const tw_problem *p = &self->job.p;
    const operands *s = &self->operands;
    const void *a = s->after + s->x[0].at, *b = s->after + s->x[1].at;
    void *c = s->after + s->x[2].at;
    return p->dtype == TW_F32 ? tw_sgemm(self->engine.context, p->op_a, p->op_b, p->m, p->n, p->k, (float)p->alpha, a,
                                         p->lda, b, p->ldb, (float)p->beta, c, p->ldc)
                              : tw_dgemm(self->engine.context, p->op_a, p->op_b, p->m, p->n, p->k, p->alpha, a, p->lda,
                                         b, p->ldb, p->beta, c, p->ldc);
}

static void api_call(soak_product *x)
{
    api *self = x->state;
    tw_problem p = self->job.p;
    const tw_batch batch = batch_of(&self->job, &self->operands);
    if (self->by == PREPARED)
        self->status = self->job.items > 0 ? tw_prepare_batched(self->engine.context, &p, &batch)
                                           : tw_prepare(self->engine.context, &p);
    if (self->status == TW_OK)
        self->status = self->by == BY_VALUES ? call_by_values(self)
                                             : multiply(&self->engine, &self->job, &self->operands, &p,
                                                        (uintptr_t)self->operands.after, NULL);
    if (self->status == TW_OK && calls_again(self)) {
        engine second = self->engine;
        if (self->alone != NULL) second.context = self->alone;
        p.flags = self->flags;
        self->status_again = multiply(&second, &self->job, &self->operands, &p, (uintptr_t)self->again, NULL);
    }
    if (self->status != TW_OK || self->status_again != TW_OK)
        snprintf(self->said, sizeof self->said, "%s", tw_error_text());
}

/* A call that found no memory has not touched C; of a batch C is undefined, and nothing else. */
static bool untouched(api *self)
{
    operands *s = &self->operands;
    if (self->job.items > 0) return only_c_changed(s);
    if (memcmp(s->before, s->after, s->bytes) == 0) return true;
    snprintf(s->why, sizeof s->why, "a call that found no memory changed something");
    return false;
}

/* Has what the second call wanted the bits of the first, and is all else what it was? */
static bool again_agrees(const api *self)
{
    const operands *s = &self->operands;
    const tw_problem *p = &self->job.p;
    const size_t bytes = (size_t)type_of_c(&self->job)->bytes;
    for (int64_t i = 0; self->status_again == TW_OK && i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++) {
            if ((self->flags == TW_LOWER && j > i) || (self->flags == TW_UPPER && j < i)) continue;
            const size_t at = s->x[2].at + (size_t)(i * p->ldc + j) * bytes;
            if (memcmp(self->again + at, s->after + at, bytes) != 0) return false;
            memcpy(self->again + at, s->before + at, bytes);
        }
    return memcmp(self->again, s->before, s->bytes) == 0;
}

static bool refused(const soak_product *x, tw_status status) { return x->starved && status == TW_NO_MEMORY; }

static bool api_judge(soak_product *x, char *why, size_t why_bytes)
{
    api *self = x->state;
    operands *s = &self->operands;
    const bool none = refused(x, self->status), not_again = refused(x, self->status_again);
    snprintf(s->why, sizeof s->why, "%s, %s: %s", tw_status_name(self->status), tw_status_name(self->status_again),
             self->said);
    bool good = (none || self->status == TW_OK) && (not_again || self->status_again == TW_OK);
    if (good && none) good = untouched(self);
    /* in another rounding mode the bound does not hold */
    if (good && !none) good = x->unusual && !all_exact(s) ? only_c_changed(s) : judge(&self->job, s);
    if (good && !none && calls_again(self) && !again_agrees(self)) {
        snprintf(s->why, sizeof s->why, "the second call's bits differ from the first's, or it touched the rest");
        good = false;
    }
    snprintf(why, why_bytes, "%s", s->why);
    return good;
}

static bool api_spoil(soak_product *x, plant what)
{
    api *self = x->state;
    char *c = self->operands.after + self->operands.x[2].at;
    const element *type = element_part(type_of_c(&self->job)->dtype); /* of a complex type the real part */
    double value;
    if (self->operands.x[2].bytes == 0 || self->status != TW_OK) return false;
    if (what == PADDING) c[-1] ^= 1;
    if (what == BITS && (self->again == NULL || self->status_again != TW_OK)) return false;
    if (what == BITS) self->again[self->operands.x[2].at] ^= 1;
    if (what != ELEMENT) return true;
    type->load(c, 0, 1, 1, &value, 1);
    value += 1 + fabs(value);
    type->store(c, 0, 1, &value);
    return true;
}

const product_kind api_kind = {api_draw, api_call, api_judge, api_spoil, api_end};
