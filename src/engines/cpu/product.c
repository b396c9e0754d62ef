/* product.c - computes one product in the way that its plan names: in place, by the five loops, or divided into
 * products of their own. */
#include "cpu_engine.h"

typedef struct product {
    const plan *plan;
    const void *a, *b;
    void *c, *workspace;
} product;

void product_walk(const plan *plan, const void *a, const void *b, void *c, void *all_a, void *all_b, void *workspace,
                  team *team)
{
    if (plan->cpu.divided)
        chunks_walk(plan, a, b, c, workspace, team);
    else
        loops_walk(plan, a, b, c, all_a, all_b, workspace, team);
}

static void walk(void *context, team *team)
{
    const product *x = context;
    product_walk(x->plan, x->a, x->b, x->c, NULL, NULL, x->workspace, team);
}

typedef struct packing_of_b {
    const plan *plan;
    const void *b;
    void *memory;
} packing_of_b;

static void pack_walk(void *context, team *team)
{
    const packing_of_b *x = context;
    loops_pack_all(x->plan, false, x->b, x->memory, team);
}

void product_pack_b(const plan *plan, const void *b, void *memory, pool *pool)
{
    pool_run_tasks(pool, plan->threads, plan->woken, pack_walk, &(packing_of_b){plan, b, memory}, NULL);
}

void product_run(const plan *plan, const void *a, const void *b, void *c, void *workspace, pool *pool, const stop *stop)
{
    const tw_problem *p = &plan->problem;
    if (plan->at_once)
        in_place_compute(plan, p->alpha, p->beta, a, b, c);
    else
        pool_run_tasks(pool, plan->threads, plan->woken, walk, &(product){plan, a, b, c, workspace}, stop);
}
