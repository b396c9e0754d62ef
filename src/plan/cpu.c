/* cpu.c - plans a product of a CPU: the first strategy that suits fills in blocks, tasks and what is packed; a rung's
 * blocks. */
#include "cpu.h"

static const cpu_strategy *const strategies[] = {&strategy_divided,    &strategy_gemv,     &strategy_alone,
                                                 &strategy_transposed, &strategy_unpacked, &strategy_loops};

const cpu_strategy *cpu_strategy_at(int index)
{
    return index >= 0 && index < (int)(sizeof strategies / sizeof *strategies) ? strategies[index] : NULL;
}

const cpu_strategy *cpu_strategy_of(const cpu_case *c)
{
    const cpu_strategy *const *s = strategies;
    if (problem_b_is_packed(c->p)) return &strategy_loops; /* whose panels it was packed in */
    while ((*s)->suits != NULL && !(*s)->suits(c)) s++;
    return *s;
}

/* Whether a copy of B pays, though it could be read in place. AVX2's tile in place has 12 loads and prefetches for 12
 * multiply-adds, all that two a cycle allow; of a B in panels it has 9. Wider vectors load less for each flop. It takes
 * so many rows of A and columns of B, fewer of a B that the L2 does not hold beside rows of A as they are; for complex
 * types and on many threads STEPS of k, else operands of three eighths of the L2, of a short k twice the L2
 * (docs/perf/cpu-packing.md#rows-by-panels). */
static bool copies_pay(const cpu_case *c)
{
    enum { MOST = 128, LONG_B = 50, SHARED_LONG_B = 80, SHORT_K = 192, MANY_THREADS = 192, COMPLEX = 40, STEPS = 32 };
    if (!has_avx2_alone(c->device)) return false;
    const tw_problem *p = c->p;
    const int64_t edge = min_i64(p->m, p->n);
    if (c->complex) return edge >= COMPLEX && p->k >= STEPS;
    if (has_many_threads(c)) return edge >= MANY_THREADS && p->k >= STEPS;
    const double m = (double)p->m, n = (double)p->n, k = (double)p->k, bytes = (double)c->bytes,
                 l2 = (double)c->device->l2_bytes, all = (m * k + k * n + m * n) * bytes;
    if (has_short_k(c)) return edge >= SHORT_K && all >= 2 * l2;
    const bool long_b = k * n * bytes >= l2 && !c->a_transposed;
    return edge >= (!long_b ? MOST : c->threads == 1 ? LONG_B : SHARED_LONG_B) && all >= l2 * 3 / 8;
}

void cpu_look(cpu_case *c, const tw_problem *p, const kernel_row *row, const device_facts *device, int wanted_threads)
{
    c->p = p, c->row = row, c->device = device, c->tuned = tuned_find(device, p, row, &c->room);
    c->mr = row->lab.tile_m, c->nr = row->lab.tile_n, c->bytes = problem_sum_bytes(p), c->chunk = chunk_in_loops(p);
    c->complex = problem_is_complex(p), c->gemv = (p->m == 1 || p->n == 1) && row->gemv != NULL;
    c->a_transposed = op_transposes(p->op_a), c->b_transposed = op_transposes(p->op_b);
    c->a_conflicts = rows_apart(p->lda, c->bytes, PAGE_BYTES),
    c->b_conflicts = rows_apart(p->ldb, c->bytes, PAGE_BYTES);
    cpu_count_threads(c, wanted_threads);
    c->readable = row->layout == CPU_PLAIN;
    c->copies_b = c->readable && copies_pay(c);
    c->in_place = c->readable && !c->copies_b && problem_triangle(p) == 0;
}

void plan_loops(plan *plan, const device_facts *device, int wanted_threads)
{
    cpu_case c;
    cpu_look(&c, &plan->problem, plan->row, device, wanted_threads);
    plan->threads = c.threads, plan->woken = c.woken, plan->cpu.chunk = c.chunk;
    cpu_strategy_of(&c)->fill(&c, plan);
    plan->at_once = plan->in_place && plan->threads == 1;
    cpu_count_workspace(plan);
}

/* A rung keeps one block of sums, one packed block of A and one of B for each thread, each tile x tile, the edge
 * rounded up to whole register tiles. */
void plan_rung(plan *plan, const device_facts *device, const tw_lab_choice *choice)
{
    const tw_problem *p = &plan->problem;
    const kernel_row *row = plan->row;
    const int64_t longest = max_i64(max_i64(p->m, p->n), max_i64(p->k, 1));
    plan->tile = (int)min_i64(choice->tile > 0 ? choice->tile : row->lab.default_tile, longest);
    const int64_t block = max_i64(plan->tile, 1), edge = block + CPU_LONGEST_REGISTER_TILE - 1,
                  threads = row->threaded ? cpu_threads_waited(p, row, device, choice->threads) : 1;
    plan->threads = (int)max_i64(min_i64(threads, pieces_of(p->m, p->n, block, block)), 1);
    if (row->lab.default_tile > 0)
        plan->workspace_bytes = (size_t)plan->threads * 3 *
                                padded(edge * edge, (size_t)dtype_find(p->dtype)->lab.bytes);
}
