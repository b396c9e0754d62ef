/* cpu_engine.h - what the files of the CPU engine share: detection, the thread pool, the engine, packing, the
 * ways of a product, batches, probes. */
#ifndef TILEWRIGHT_CPU_ENGINE_H
#define TILEWRIGHT_CPU_ENGINE_H

#include "../engine.h"

/* ---- detect.c ---- */

/* from CPUID feature bits and the register state that the system saves; never model names */
cpu_features detect_features(void);

typedef struct cpu_caches {
    int64_t l1_bytes, l2_bytes, l3_bytes; /* of one core's data; 0 unknown */
} cpu_caches;
cpu_caches detect_caches(void);

void detect_name(char *name, size_t bytes);
int64_t detect_memory_bytes(void);

/* ---- signals.c ---- */

double cpu_now_s(void);   /* by a clock that only advances */
void pause_briefly(void); /* in a loop that waits for another thread */

/* ---- threads.c: a pool made at first use, safe under fork, nesting and many callers ---- */

typedef struct pool pool;
typedef struct team team; /* the threads that work on one call */

/* How workers wait for a call: a while that follows how often calls come, milliseconds, or asleep. */
typedef enum pool_wait { POOL_WAIT_AUTO, POOL_WAIT_SPIN, POOL_WAIT_SLEEP } pool_wait;

tw_status pool_open(pool_wait wait, pool **out);
void pool_stay(pool *p); /* before the first call: workers of a caller on one processor stay there (TW_STAY) */
void pool_close(pool *p);

/* pool_lend - before the first call: teams of pool_run_tasks() and pool_run_steps() are run by the caller's function,
 * as tw_options has it; NULL: they are not. */
typedef void parallel_for(void *state, size_t count, void (*task)(void *data, size_t index), void *data);
void pool_lend(pool *p, parallel_for *run, void *state);

/* pool_run - calls fn(context, team) on up to `threads` threads, the caller among them, and returns when all are done.
 * Fewer run where the pool serves another caller (or this one, further up), where tw_threads_set() says so, or where
 * the system gives no more threads: fn must be right for any number. */
typedef void pool_fn(void *context, team *team);
void pool_run(pool *p, int threads, pool_fn *fn, void *context);

/* pool_run_tasks - the same for an fn that is a single team_tasks() or team_share(). A thread that wakes when no task
 * is left is not waited for. No more than `woken` threads run where others would have to be woken first. stop: of the
 * call; once it is asked for no task begins. */
void pool_run_tasks(pool *p, int threads, int woken, pool_fn *fn, void *context, const stop *stop);

/* pool_run_steps - calls fn(context, i, team) on up to `threads` threads for the steps 0 .. count - 1, one after the
 * other. Each is a single team_for(), team_tasks() or team_share(), the last one whatever pool_run() takes. */
typedef void pool_step(void *context, int64_t step, team *team);
void pool_run_steps(pool *p, int threads, int64_t count, pool_step *fn, void *context, const stop *stop);

/* team_alone - calls fn(context, team) on this thread alone, as a part of what that team works on. */
void team_alone(const team *of, pool_fn *fn, void *context);

int team_threads(const team *t);
bool team_ends(const team *t); /* the call is cancelled: a long task may as well end */
int team_join(team *t);        /* the caller's own number, from 0 on; once before its team_tasks() or team_for() */

/* team_for - called by every thread of a team with the same arguments: calls body(context, i) once for each i in 0 ..
 * count - 1, taken from a shared counter, then waits at a barrier. */
typedef void team_body(void *context, int64_t i);
void team_for(team *t, int64_t count, team_body *body, void *context);

/* team_share - team_for() but with shares, and without the barrier in pool_run_tasks(): each thread begins with a share
 * of its own, whose operands its caches may still hold, and then takes what others have not begun. If all threads of
 * the pool take part it is the same share in each call; in a smaller team it may change. */
void team_share(team *t, int64_t count, team_body *body, void *context);

/* team_tasks - runs tasks that depend on each other, without a barrier between them: calls body(context, i, team) once
 * for each i from 0 on until it returns false, there being no task i. Tasks begin in order. team_after - called by a
 * body: returns when the tasks first .. last, all before its own, have ended; none where last < first. */
typedef bool task_body(void *context, int64_t i, team *team);
void team_tasks(team *t, task_body *body, void *context);
void team_after(team *t, int64_t first, int64_t last);

/* ---- engine.c ---- */

typedef struct workspace workspace; /* kept from call to call */

enum { KEPT_WORKSPACES = 8 };

struct engine {
    cpu_features features;
    cpu_caches caches;
    int threads;
    char threads_from[64], name[96];
    pool_wait wait;
    bool stays; /* TW_STAY */
    pool *pool;
    const kernel_row *triangles[2];             /* of f32 and f64 */
    _Atomic(workspace *) kept[KEPT_WORKSPACES]; /* lock-free slots, which a fork cannot leave locked */
};

/* cpu_take - memory aligned to 64 bytes, which the engine keeps once it has been given back; NULL: there is none. */
void *cpu_take(engine *e, size_t bytes);
void cpu_give(engine *e, void *memory); /* NULL is fine */

/* ---- pack.c ---- */

/* pack_panels - copies `length` x k elements into panels of `width`: panel q, step p, lane i is source element (q *
 * width + i) * stride + p * k_stride; lanes beyond length are 0. Only panels first .. last - 1. */
void pack_panels(size_t element_bytes, void *packed, const void *source, int64_t stride, int64_t k_stride,
                 int64_t length, int64_t k, int64_t width, int64_t first, int64_t last);

/* pack_steps - the same for an MN-major operand (stride 1), and only steps first .. last - 1 of all panels: each row of
 * the source is read front to back, as much of it as some panels take, and the next is prefetched, of short rows up
 * to four. */
void pack_steps(size_t element_bytes, void *packed, const void *source, int64_t k_stride, int64_t length, int64_t k,
                int64_t width, int64_t first, int64_t last);

/* pack_half_panels, pack_half_steps - the same of f16, widened to float: of a K-major operand (k_stride 1), and of an
 * MN-major one. */
void pack_half_panels(cpu_widen *widen, void *packed, const void *source, int64_t stride, int64_t length, int64_t k,
                      int64_t width, int64_t first, int64_t last);
void pack_half_steps(cpu_widen *widen, void *packed, const void *source, int64_t k_stride, int64_t length, int64_t k,
                     int64_t width, int64_t first, int64_t last);

/* ---- pack_words.c ---- */

/* pack_words - the same into panels of words, for a row of that layout. k: elements of a panel; of_b: panels of B;
 * a_unsigned, b_unsigned: of bytes. */
void pack_words(cpu_layout layout, bool of_b, bool a_unsigned, bool b_unsigned, void *packed, const void *source,
                int64_t stride, int64_t k_stride, int64_t length, int64_t k, int64_t width, int64_t first,
                int64_t last);

/* pack_word_steps - the same for an MN-major operand (stride 1), and only steps first .. last - 1 of all panels; first
 * is a multiple of CPU_STEP_UNIT. Not for an A whose panels begin with sums. */
enum { CPU_STEP_UNIT = 16 };
void pack_word_steps(cpu_layout layout, bool of_b, bool a_unsigned, bool b_unsigned, void *packed, const void *source,
                     int64_t k_stride, int64_t length, int64_t k, int64_t width, int64_t first, int64_t last);

/* ---- in_place.c: of plans with gemv or unpacked ---- */

/* in_place_compute - on this thread alone, with these scalars. */
void in_place_compute(const plan *plan, double alpha, double beta, const void *a, const void *b, void *c);

/* in_place_compute_rows - rows first .. last - 1 of that; first is a multiple of the rows of the micro-tile. Not for
 * GEMV. */
void in_place_compute_rows(const plan *plan, double alpha, double beta, const void *a, const void *b, void *c,
                           int64_t first, int64_t last);

/* in_place_share - the same on several threads. */
void in_place_share(const plan *plan, double alpha, double beta, const void *a, const void *b, void *c, pool *p);

/* in_place_walk - called by every thread of a team: the same, with the problem's scalars. */
void in_place_walk(const plan *plan, const void *a, const void *b, void *c, team *team);

/* cpu_epilogue_of - what a plan's `finish`, if it has one, makes of sums, in a C that begins at c. */
static inline cpu_epilogue cpu_epilogue_of(const plan *plan, double alpha, double beta, void *c)
{
    const tw_problem *p = &plan->problem;
    return (cpu_epilogue){.finish = plan->finish,
                          .c = c,
                          .ldc = p->ldc,
                          .c_bytes = plan->finish != NULL ? dtype_find(p->dtype_c)->lab.bytes : problem_sum_bytes(p),
                          .sum_bytes = problem_sum_bytes(p),
                          .i0 = plan->cpu.i0,
                          .j0 = plan->cpu.j0,
                          .c_type = epilogue_type(p->dtype_c),
                          .alpha = alpha,
                          .beta = beta,
                          .values = p->epilogue != NULL ? &p->epilogue->values : NULL};
}

/* ---- loops.c ---- */

/* loops_walk - called by every thread of a team: the five loops, or in_place_walk(), of a plan that is not divided.
 * all_a, all_b: what loops_pack_all packed; NULL: nothing. workspace: what the plan says, 64-byte aligned. */
void loops_walk(const plan *plan, const void *a, const void *b, void *c, void *all_a, void *all_b, void *workspace,
                team *team);

/* loops_pack_all - called by every thread of a team: packs all of A, or of B, for products that share it. */
void loops_pack_all(const plan *plan, bool of_a, const void *source, void *packed, team *team);

static inline cpu_complex cpu_complex_of(const tw_problem *p)
{
    return (cpu_complex){p->alpha_imaginary, p->beta_imaginary, op_conjugates(p->op_a), op_conjugates(p->op_b)};
}

/* ---- chunks.c ---- */

/* chunks_walk - called by every thread of a team: a product whose plan is divided. workspace: what the plan says. */
void chunks_walk(const plan *plan, const void *a, const void *b, void *c, void *workspace, team *team);

/* ---- product.c ---- */

/* product_run - a product by a production kernel. workspace: plan->workspace_bytes, 64-byte aligned. */
void product_run(const plan *plan, const void *a, const void *b, void *c, void *workspace, pool *p, const stop *stop);

/* product_pack_b - packs all of B for products with TW_PACKED_B. memory: cpu_whole_bytes(), 64-byte aligned. */
void product_pack_b(const plan *plan, const void *b, void *memory, pool *p);

/* product_walk - called by every thread of a team: one item of a batch. all_a, all_b: as of loops_walk(). workspace:
 * plan->each_bytes. */
void product_walk(const plan *plan, const void *a, const void *b, void *c, void *all_a, void *all_b, void *workspace,
                  team *team);

/* ---- batch.c ---- */

/* batch_run - all items of a batch. workspace: plan->workspace_bytes, 64-byte aligned. */
void batch_run(const plan *plan, const tw_batch *batch, const void *a, const void *b, void *c, void *workspace, pool *p,
               const stop *stop);

/* ---- triangle.c: as in engine_ops ---- */

tw_status cpu_triangle_compute(engine *e, const tw_lab_triangle *block);

/* ---- probe.c: as in engine_ops ---- */

tw_status cpu_peak_flops(engine *e, tw_dtype dtype, int threads, int tries, double *flops_per_s);
tw_status cpu_bandwidth(engine *e, int64_t bytes, int threads, int tries, double *bytes_per_s);

#endif
