/* test_epilogue.c - in each way in which the CPU computes a product, every element of C is finished once, from its
 * whole sum, as the element of its row and column. A finish that says where it was called is put into the planner's
 * plans: what else is to become of sums, such as a bias of each column, is one more finish. */
#include <stdatomic.h>

#include "engines/cpu/cpu_engine.h"
#include "plan/cpu.h"
#include "support/tap.h"

enum { THREADS = 4, ITEMS = 3, PADDING = 3, MOST_STRATEGIES = 8 };

/* The product that runs: its C, what stood in it, and how often each element was finished. */
static struct {
    const tw_problem *p;
    size_t c_bytes;
    tw_dtype sums;
    int64_t depth; /* what w(p) * w(p) adds up to */
    unsigned char *old;
    atomic_uchar *times;
    atomic_bool wrong;
} now;

static int64_t u(int64_t i) { return 1 + i % 3; }
static int64_t w(int64_t p) { return 1 + p % 2; }

static double sum_of(const void *sums, int64_t q)
{
    return now.sums == TW_F64   ? ((const double *)sums)[q]
           : now.sums == TW_F32 ? (double)((const float *)sums)[q]
                                : (double)((const int32_t *)sums)[q];
}

/* What stands in C where (i, j) was finished: of few bytes it repeats, but not in neighbours. */
static uint64_t mark_of(int64_t i, int64_t j) { return (uint64_t)(i * 131 + j * 3 + 1); }

static void record(const cpu_outputs *x)
{
    for (int64_t at = 0; at < x->rows * x->cols; at++) {
        const int64_t row = at / x->cols, col = at % x->cols, i = x->i + (x->down ? col : row),
                      j = x->j + (x->down ? row : col);
        const bool inside = i >= 0 && j >= 0 && i < now.p->m && j < now.p->n;
        const uint64_t mark = mark_of(i, j);
        char *c = (char *)x->c + (size_t)(row * x->ldc + col) * now.c_bytes;
        if (!inside || x->alpha != now.p->alpha || x->beta != now.p->beta ||
            sum_of(x->sums, row * x->sums_ld + col) != (double)(u(i) * u(j) * now.depth) ||
            (x->beta != 0 && memcmp(c, now.old + (size_t)(i * now.p->ldc + j) * now.c_bytes, now.c_bytes) != 0)) {
            now.wrong = true;
            return;
        }
        now.times[i * now.p->n + j]++;
        memcpy(c, &mark, now.c_bytes);
    }
}

static bool is_wanted(int64_t i, int64_t j)
{
    return now.p->flags == 0 || (now.p->flags == TW_LOWER ? j <= i : i <= j);
}

/* Is C what the finish left, `items` times, and as it was where it is not wanted? */
static bool is_right(const unsigned char *c, int64_t items)
{
    const tw_problem *p = now.p;
    const size_t bytes = now.c_bytes;
    bool right = !now.wrong;
    for (int64_t at = 0; right && at < items * p->m * p->ldc; at++) {
        const int64_t i = at / p->ldc % p->m, j = at % p->ldc;
        const bool inside = j < p->n, wanted = inside && is_wanted(i, j);
        const uint64_t mark = mark_of(i, j);
        right = memcmp(c + (size_t)at * bytes,
                       wanted ? (const void *)&mark : now.old + (size_t)(i * p->ldc + j) * bytes, bytes) == 0 &&
                (!inside || now.times[i * p->n + j] == (wanted ? items : 0));
        if (!right) printf("# (%d, %d), finished %d times\n", (int)i, (int)j, inside ? now.times[i * p->n + j] : 0);
    }
    return right;
}

static void put(tw_dtype dtype, void *x, int64_t at, int64_t value)
{
    static const uint16_t halves[] = {0, 0x3c00, 0x4000, 0x4200, 0x4400, 0, 0x4600},
                          brains[] = {0, 0x3f80, 0x4000, 0x4040, 0x4080, 0, 0x40c0};
    if (dtype == TW_F64)
        ((double *)x)[at] = (double)value;
    else if (dtype == TW_F32)
        ((float *)x)[at] = (float)value;
    else if (dtype == TW_I8)
        ((int8_t *)x)[at] = (int8_t)value;
    else
        ((uint16_t *)x)[at] = dtype == TW_F16 ? halves[value] : brains[value];
}

/* Element (row, p) of op(A), or (p, row) of op(B), is u(row) w(p). */
static void *operand_of(tw_dtype dtype, bool along, int64_t rows, int64_t k)
{
    void *x = calloc((size_t)(rows * k + 1), 8);
    for (int64_t i = 0; x != NULL && i < rows; i++)
        for (int64_t p = 0; p < k; p++) put(dtype, x, along ? i * k + p : p * rows + i, u(i) * w(p));
    return x;
}

/* Runs a plan, of a batch if there is one, whose items share A and B. */
static bool run(pool *pool, plan *made, const tw_batch *batch, const void *a, const void *b)
{
    const tw_problem *p = &made->problem;
    const int64_t items = batch != NULL ? ITEMS : 1;
    now.p = p, now.c_bytes = (size_t)tw_lab_dtype_of(p->dtype_c)->bytes;
    now.sums = dtype_find(p->dtype)->result, now.depth = (p->k + 1) / 2 + p->k / 2 * 4, now.wrong = false;
    const size_t item = (size_t)(p->m * p->ldc) * now.c_bytes;
    unsigned char *c = malloc((size_t)items * item);
    void *workspace = aligned_alloc(64, made->workspace_bytes + 64);
    now.old = malloc(item), now.times = calloc((size_t)(p->m * p->n), 1);
    bool right = c != NULL && workspace != NULL && now.old != NULL && now.times != NULL;
    for (size_t q = 0; right && q < item; q++) now.old[q] = (unsigned char)(200 + q * 7 % 51);
    for (int64_t i = 0; right && i < items; i++) memcpy(c + (size_t)i * item, now.old, item);
    made->finish = record;
    if (right && batch != NULL)
        batch_run(made, batch, a, b, c, workspace, pool, NULL);
    else if (right)
        product_run(made, a, b, c, workspace, pool, NULL);
    right = right && is_right(c, items);
    free(c), free(workspace), free(now.old), free(now.times);
    return right;
}

static int plans_of[MOST_STRATEGIES];

static void count_strategy(const plan *made, const device_facts *facts)
{
    cpu_case c;
    cpu_look(&c, &made->problem, made->row, facts, 0);
    for (int i = 0; i < MOST_STRATEGIES && cpu_strategy_at(i) != NULL; i++)
        plans_of[i] += cpu_strategy_at(i) == cpu_strategy_of(&c);
}

/* Shares of C, each packed by one thread, as on the matrix unit; false: sums of several panels would lie beside C,
 * for which shares have no room. */
static bool divide_c(plan *made, const device_facts *facts)
{
    cpu_case c;
    tw_problem share = made->problem;
    cpu_look(&c, &made->problem, made->row, facts, 0);
    share.m = min_i64(share.m, 2 * c.mr), share.n = min_i64(share.n, c.nr);
    cpu_fill_shares(&c, &share, made);
    made->in_place = made->at_once = false;
    cpu_count_workspace(made);
    return !cpu_keeps_c(&made->problem) || made->problem.k <= made->cpu.kc;
}

typedef struct shape {
    int64_t m, n, k;
    uint32_t flags;
} shape;

/* By the planner's plan, by one of smaller blocks after the other, by shares of C, and as a batch. */
static const char *wrong_ways(pool *pool, const tw_problem *user, const device_facts *facts)
{
    const tw_dtype dtype = user->dtype;
    void *a = operand_of(dtype, user->op_a == TW_N, user->m, user->k),
         *b = operand_of(dtype, user->op_b == TW_T, user->n, user->k);
    tw_problem p;
    plan made;
    const char *wrong = a != NULL && b != NULL && problem_load(user, a, b, a, &p) == TW_OK &&
                                plan_find(&p, facts, NULL, &made) == TW_OK
                            ? NULL
                            : tw_error_text();
    if (wrong == NULL) {
        plan smaller = made, shares = made;
        tw_batch batch = tw_batch_make(user, ITEMS);
        batch.stride_a = batch.stride_b = 0, batch.stride_c = p.m * p.ldc;
        count_strategy(&made, facts);
        if (!run(pool, &made, NULL, a, b)) wrong = "the plan";
        for (int times = 0; wrong == NULL && times < 3 && plan_shrink(&smaller); times++)
            if (!run(pool, &smaller, NULL, a, b)) wrong = "smaller blocks";
        if (wrong == NULL && p.flags == 0 && p.m > 1 && p.n > 1 && p.k > 0 && p.k <= made.cpu.chunk &&
            divide_c(&shares, facts) && !run(pool, &shares, NULL, a, b))
            wrong = "shares of C";
        if (wrong == NULL && (plan_find_batch(&p, &batch, facts, &made) != TW_OK || !run(pool, &made, &batch, a, b)))
            wrong = "a batch";
    }
    free(a), free(b);
    return wrong;
}

/* Of ops and of a beta of 0 or not some pairs, which go round, of deep products fewer; --full: all. */
static void product_case(pool *pool, tw_dtype dtype, const shape *s, int threads, int turn)
{
    enum { WAYS = 8, FEW = 3, DEEP = 5 };
    static const char letters[] = "nt";
    const device_facts facts = {
        .engine = "cpu", .features = detect_features(), .threads = threads, .l1_bytes = 32768, .l2_bytes = 1 << 20};
    if (!tap_case("%s: %dx%dx%d%s on %d threads", tw_lab_dtype_of(dtype)->name, (int)s->m, (int)s->n, (int)s->k,
                  s->flags == TW_LOWER   ? ", lower"
                  : s->flags == TW_UPPER ? ", upper"
                                         : "",
                  threads))
        return;
    const char *wrong = NULL;
    for (int way = tap.full ? 0 : turn % WAYS; wrong == NULL && way < WAYS; way += tap.full      ? 1
                                                                                   : s->k > 1000 ? DEEP
                                                                                                 : FEW) {
        tw_problem user = tw_problem_make(dtype, way & 1 ? TW_T : TW_N, way & 2 ? TW_T : TW_N, s->m, s->n, s->k);
        user.dtype_c = dtype, user.ldc = s->n + PADDING, user.flags = s->flags, user.alpha = 3,
        user.beta = way & 4 ? 2 : 0;
        wrong = wrong_ways(pool, &user, &facts);
        if (wrong != NULL) printf("# %c%c, beta %g\n", letters[way & 1], letters[way >> 1 & 1], user.beta);
    }
    tap_result(wrong == NULL, "%s", wrong);
}

int main(int argc, char **argv)
{
    static const shape shapes[] = {
        {1, 5000, 300},
        {5000, 1, 300},
        {1, 1, 5},
        {1, 100, 17000},
        {100, 1, 17000},
        {5, 7, 9},
        {20, 70, 0},
        {1, 70, 0},
        {61, 75, 40},
        {130, 290, 90},
        {500, 90, 11},
        {15, 900, 400},
        {400, 500, 30},
        {33, 65, 9000},
        {90, 190, 8500},
        {150, 150, 60, TW_LOWER},
        {150, 150, 60, TW_UPPER},
        {70, 70, 8500, TW_LOWER},
    };
    static const tw_dtype types[] = {TW_F32, TW_F64, TW_F16, TW_BF16, TW_I8};
    pool *pool = NULL;
    int turn = 0;
    tap_start(argc, argv);
    if (pool_open(POOL_WAIT_AUTO, &pool) != TW_OK) return 1;
    for (size_t type = 0; type < sizeof types / sizeof *types; type++)
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
            for (int threads = 1; threads <= THREADS; threads += THREADS - 1, turn++) {
                const bool computed = shapes[i].flags == 0 || types[type] == TW_F32 || types[type] == TW_F64;
                if (computed && (tap_brings("type %zu", type) | tap_brings("shape %zu on %d threads", i, threads)))
                    product_case(pool, types[type], &shapes[i], threads, turn);
            }
    /* shares stand for the matrix unit's strategy, which few processors have */
    if (tap.only == NULL && tap.parts == 0 && !tap_spares() && tap_case("every strategy was among these")) {
        bool all = true;
        for (int i = 0; i < MOST_STRATEGIES && cpu_strategy_at(i) != NULL; i++)
            all = all && (plans_of[i] > 0 || cpu_strategy_at(i) == &strategy_alone);
        tap_result(all, "a strategy has no plan");
    }
    pool_close(pool);
    return tap_finish();
}
