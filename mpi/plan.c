/* plan.c - makes, describes and carries out a plan: all ranks ask for the same, then the grid, then memory, or none has
 * anything. */
#include "direct.h"
#include "mirror.h"
#include "nominal.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

enum { A_TAG = 1, B_TAG = 2, FIRST_OPTIONS = offsetof(tw_mpi_options, panels) };

/* ---- what is asked for ---- */

/* A caller's struct may be smaller or larger than this library's; what it does not know must be 0. */
static tw_status load(const char *name, const void *user, size_t first_bytes, void *own, size_t own_bytes)
{
    uint32_t size = 0;
    if (user == NULL) return failure(TW_BAD_ARGUMENT, "%s is NULL", name);
    memcpy(&size, user, sizeof size);
    if (size < first_bytes)
        return failure(TW_BAD_ARGUMENT, "%s->size is %" PRIu32 ", expected at least %zu", name, size, first_bytes);
    for (size_t i = own_bytes; i < size; i++)
        if (((const char *)user)[i] != 0)
            return failure(TW_BAD_ARGUMENT, "%s: a field is set that this version does not know", name);
    memset(own, 0, own_bytes);
    memcpy(own, user, size < own_bytes ? size : own_bytes);
    memcpy(own, &(uint32_t){(uint32_t)own_bytes}, sizeof(uint32_t));
    return TW_OK;
}

static bool transposes(tw_op op) { return op == TW_T || op == TW_C; }

/* To the type of the sums, as tw_gemm() does: one that is 0 there is 0. */
static void round_scalars(tw_problem *p)
{
    const tw_dtype sums = nominal_result(p->dtype);
    if (sums != TW_F32 && sums != TW_CF32) return;
    /* one after the other: gcc 12.2 loses the stores of four assignments */
    double *const scalars[] = {&p->alpha, &p->alpha_imaginary, &p->beta, &p->beta_imaginary};
    for (int i = 0; i < 4; i++) *scalars[i] = (double)(float)*scalars[i];
}

/* Types, ops and scalars as the engine takes them; leading dimensions are those of blocks, later. */
static tw_status settle_problem(const rank_engine *e, const tw_problem *asked, tw_problem *p)
{
    tw_status status = load("problem", asked, offsetof(tw_problem, dtype_b), p, sizeof *p);
    if (status != TW_OK) return status;
    if (e->is_other) return failure(TW_BAD_ARGUMENT, "context: ranks multiply by the cpu engine, or by cuda");
    if ((p->flags & TW_INVARIANT) != 0)
        return failure(TW_BAD_ARGUMENT, "problem->flags: TW_INVARIANT is not kept where ranks divide k");
    if (p->epilogue != NULL) return failure(TW_BAD_ARGUMENT, "problem->epilogue: ranks take none");
    if ((p->flags & (uint32_t)TW_PACKED_B) != 0) return failure(TW_BAD_ARGUMENT, "TW_PACKED_B: ranks take no packed B");
    if (p->flags != 0) return failure(TW_BAD_ARGUMENT, "problem->flags: a triangle of C is not divided among ranks");
    if (p->dtype_b == 0) p->dtype_b = p->dtype;
    if (p->dtype_c == 0) p->dtype_c = nominal_result(p->dtype);
    const tw_problem whole = tw_problem_make(p->dtype, p->op_a, p->op_b, p->m, p->n, p->k);
    p->lda = whole.lda, p->ldb = whole.ldb, p->ldc = whole.ldc;
    p->align_a = p->align_b = p->align_c = 0;
    status = e->check(e->self, p);
    if (status != TW_OK) return failure(status, "%.900s", e->error());
    p->accuracy = TW_NATIVE; /* panels that several products read are not split */
    round_scalars(p);
    return TW_OK;
}

static tw_status settle_options(const rank_engine *e, const tw_mpi_options *asked, tw_mpi_options *o)
{
    *o = (tw_mpi_options){.size = sizeof *o};
    const tw_status status = asked == NULL ? TW_OK : load("options", asked, FIRST_OPTIONS, o, sizeof *o);
    if (status != TW_OK) return status;
    for (int d = 0; d < 3; d++)
        if (o->grid[d] < 0)
            return failure(TW_BAD_ARGUMENT, "options->grid[%d] is %" PRId32 ", expected 0 or a number of parts", d,
                           o->grid[d]);
    if (o->network_gbps < 0 || o->memory_bytes < 0 || o->timeout_s < 0)
        return failure(TW_BAD_ARGUMENT, "options: network_gbps, memory_bytes and timeout_s may not be negative");
    if (o->panels < TW_MPI_PANELS_AUTO || o->panels > TW_MPI_PANELS_STAGED)
        return failure(TW_BAD_ARGUMENT, "options->panels is %" PRId32 ", expected TW_MPI_PANELS_AUTO, _NCCL or _STAGED",
                       o->panels);
    if (o->panels == TW_MPI_PANELS_NCCL && !e->on_device)
        return failure(TW_BAD_ARGUMENT, "options->panels asks for NCCL, and the context is not of cuda");
    return o->reserved == 0 ? TW_OK : failure(TW_BAD_ARGUMENT, "options->reserved is not 0");
}

static int64_t bits_of(double x)
{
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static tw_status compare(MPI_Comm comm, const rank_engine *e, const tw_problem *p, const tw_mpi_options *o)
{
    const rank_value values[] = {
        {"the context's engine (0: cpu, 1: cuda)", e->on_device},
        {"m", p->m},
        {"n", p->n},
        {"k", p->k},
        {"dtype", p->dtype},
        {"dtype_b", p->dtype_b},
        {"dtype_c", p->dtype_c},
        {"op_a", p->op_a},
        {"op_b", p->op_b},
        {"place_c", p->place_c},
        {"the bits of alpha", bits_of(p->alpha)},
        {"the bits of beta", bits_of(p->beta)},
        {"the bits of alpha_imaginary", bits_of(p->alpha_imaginary)},
        {"the bits of beta_imaginary", bits_of(p->beta_imaginary)},
        {"grid[0]", o->grid[0]},
        {"grid[1]", o->grid[1]},
        {"grid[2]", o->grid[2]},
        {"the bits of network_gbps", bits_of(o->network_gbps)},
        {"memory_bytes", o->memory_bytes},
        {"the bits of timeout_s", bits_of(o->timeout_s)},
        {"panels (0: auto, 1: NCCL, 2: staged)", o->panels},
    };
    return failure_alike(comm, values, sizeof values / sizeof *values, o->timeout_s);
}

/* ---- the grid ---- */

/* Of the host's name: ranks with the same one are on one host. */
static int64_t host_hash(void)
{
    char name[MPI_MAX_PROCESSOR_NAME] = "";
    int length = 0;
    uint64_t hash = 0xcbf29ce484222325;
    MPI_Get_processor_name(name, &length);
    for (int i = 0; i < length; i++) hash = (hash ^ (unsigned char)name[i]) * 0x100000001b3;
    return (int64_t)hash;
}

/* The fewest threads of a rank, and whether all are on one host. */
static tw_status find_machine(const tw_mpi_plan *plan, int *fewest, bool *one_host)
{
    const int64_t host = host_hash(), mine[3] = {plan->engine.threads, host, ~host};
    int64_t least[3] = {1, 0, 0};
    const tw_status status = failure_reduce(plan->comm, mine, least, 3, MPI_MIN, "comparing the hosts",
                                            plan->timeout_s);
    *fewest = least[0] > 0 ? (int)least[0] : 1, *one_host = least[1] == ~least[2];
    return status;
}

static tw_status choose_grid(tw_mpi_plan *plan, const tw_mpi_options *o, const grid_home *home)
{
    const tw_problem *p = &plan->problem;
    nominal_machine machine = {
        .ranks = plan->ranks, .on_device = plan->engine.on_device, .network_gbps = o->network_gbps};
    const tw_status status = find_machine(plan, &machine.threads, &machine.one_host);
    if (status != TW_OK) return status;
    plan->sizes = nominal_problem(p, plan->engine.depth(p->dtype), &machine);
    for (int d = 0; d < 3; d++) plan->sizes.asked[d] = o->grid[d];
    if (o->memory_bytes > 0) plan->sizes.memory_bytes = o->memory_bytes;
    plan->sizes.resident = p->place_c == TW_DEVICE;
    plan->flops = nominal_flops(p->dtype, &machine);
    if (home != NULL) plan->sizes.home = *home;
    if (grid_choose(&plan->sizes, &plan->grid)) return TW_OK;
    if (plan->grid.pm == 0)
        return failure(TW_BAD_ARGUMENT, "options->grid: %d x %d x %d (0: any) is no grid of at most %d ranks%s",
                       o->grid[0], o->grid[1], o->grid[2], plan->ranks,
                       plan->sizes.depth == 0 ? ", and k of these types is not divided" : "");
    return failure(TW_NO_MEMORY,
                   "a rank may take %" PRId64 " bytes, and the smallest of %d ranks' blocks and buffers are %" PRId64
                   " (grid %d x %d x %d): more ranks need less each",
                   o->memory_bytes, plan->ranks, plan->grid.bytes, plan->grid.pm, plan->grid.pn, plan->grid.pk);
}

/* ---- memory ---- */

/* Two buffers where there are several panels; none where this rank owns the whole block. */
static tw_status allocate_side(tw_mpi_plan *plan, side *s)
{
    const bool many = plan->at.k.length > plan->grid.panel;
    const int64_t depth = many ? plan->grid.panel : plan->at.k.length,
                  own = grid_divide(s->length, s->peers, s->me).length;
    const int buffers = s->peers == 1 ? 0 : many ? 2 : 1;
    tw_status status = TW_OK;
    s->copies_own = s->group == 0 && s->peers > GRID_MOST_IN_PLACE;
    s->in_buffer = s->copies_own ? s->length : s->length - own;
    s->taken = calloc((size_t)s->peers, sizeof *s->taken);
    s->left[0] = calloc((size_t)s->peers, sizeof **s->left), s->left[1] = calloc((size_t)s->peers, sizeof **s->left);
    if (s->taken == NULL || s->left[0] == NULL || s->left[1] == NULL)
        return failure(TW_NO_MEMORY, "no memory for the state of %d pieces", s->peers);
    if (plan->direct) return mirror_direct(plan, s, depth, buffers);
    for (int b = 0; b < buffers && status == TW_OK; b++)
        status = mirror_host(plan, (double)s->in_buffer * (double)depth * (double)s->bytes, &s->buffer[b]);
    for (int b = 0; b < buffers && plan->sizes.resident && status == TW_OK; b++)
        status = mirror_host(plan, (double)own * (double)depth * (double)s->bytes, &s->own_sent[b]);
    return status;
}

static void free_side(const tw_mpi_plan *plan, side *s)
{
    for (int b = 0; b < 2 && plan->pipeline == NULL; b++) free(s->buffer[b]);
    free(s->left[0]), free(s->left[1]), free(s->taken);
}

/* Which pieces there are, and the pipeline. */
static tw_status open_sides(tw_mpi_plan *plan)
{
    const grid *g = &plan->grid;
    const grid_place *at = &plan->at;
    const tw_problem *p = &plan->problem;
    plan->a = (side){.along_rows = !transposes(p->op_a),
                     .peers = g->pn,
                     .me = at->in,
                     .first = at->im * g->pn * g->pk + at->ik,
                     .apart = g->pk,
                     .length = at->m.length,
                     .bytes = plan->sizes.a_bytes,
                     .tag = A_TAG};
    plan->b = (side){.along_rows = transposes(p->op_b),
                     .peers = g->pm,
                     .me = at->im,
                     .first = at->in * g->pk + at->ik,
                     .apart = g->pn * g->pk,
                     .length = at->n.length,
                     .bytes = plan->sizes.b_bytes,
                     .tag = B_TAG};
    plan->whole = g->pk == 1 && at->k.length <= g->panel;
    return mirror_open(plan);
}

static tw_status allocate_all(tw_mpi_plan *plan)
{
    const grid *g = &plan->grid;
    const grid_place *at = &plan->at;
    const int64_t bytes = plan->sizes.c_bytes, line = at->n.length * bytes;
    tw_status status = allocate_side(plan, &plan->a);
    if (status == TW_OK) status = allocate_side(plan, &plan->b);
    if (status == TW_OK) status = mirror_allocate(plan);
    const bool beside = g->pk > 1 || (plan->sizes.keeps_c0 && at->k.length > g->panel);
    if (status == TW_OK && beside) status = mirror_host(plan, (double)at->m.length * (double)line, &plan->sums);
    plan->reduced_bytes = (int64_t)grid_reduce_bytes(at->m.length, line, g->pk);
    if (status == TW_OK && plan->sizes.resident && !plan->whole)
        status = mirror_host(plan, (double)at->own_c.length * (double)line, &plan->c_host);
    if (status == TW_OK && g->pk > 1) status = mirror_host(plan, (double)plan->reduced_bytes, &plan->reduced);
    return status;
}

/* What open_sides() and allocate_all() have made. */
static void release(tw_mpi_plan *plan)
{
    free_side(plan, &plan->a), free_side(plan, &plan->b);
    if (plan->pipeline == NULL) free(plan->sums), free(plan->reduced);
    plan->sums = plan->reduced = NULL;
    mirror_close(plan);
}

void tw_mpi_plan_free(tw_mpi_plan *plan)
{
    if (plan == NULL) return;
    if (plan->lost) {
        if (plan->direct) direct_leave(plan); /* NCCL's kernels would wait for the others */
        return;
    }
    release(plan);
    pending_free(&plan->pending);
    if (plan->comm != MPI_COMM_NULL) MPI_Comm_free(&plan->comm);
    free(plan);
}

/* ---- making ---- */

/* What all ranks hear of at the end of what life_begin() has begun, however long one of them was at work. */
static tw_status agree(tw_mpi_plan *plan, tw_status status)
{
    char own[FAILURE_TEXT];
    memcpy(own, tw_mpi_error_text(), sizeof own);
    const tw_status ended = life_end(&plan->life);
    status = ended == TW_OK ? failure_agree(plan->comm, status, plan->timeout_s) : failure_unheard(status, own);
    plan->lost = status != TW_OK && !failure_is_agreed();
    return status;
}

/* Memory for the way that panels go, on all ranks, and kernels: none is built while others wait. */
static tw_status allocate(tw_mpi_plan *plan)
{
    life_begin(&plan->life, plan->comm, plan->timeout_s);
    tw_status status = plan->computes ? allocate_all(plan) : TW_OK;
    if (status == TW_OK && plan->c_mirror != NULL) status = schedule_prepare(plan, NULL, 1);
    return agree(plan, status);
}

/* Staged panels take less of the GPU's memory than those by NCCL, of which a rank has too little. */
static tw_status allocate_staged(tw_mpi_plan *plan)
{
    direct_drop(plan);
    if (plan->computes) release(plan);
    tw_status status = plan->computes ? open_sides(plan) : TW_OK;
    status = failure_agree(plan->comm, status, plan->timeout_s);
    return status == TW_OK ? allocate(plan) : status;
}

static tw_status settle(tw_mpi_plan *plan, const rank_engine *engine, const tw_problem *problem,
                        const tw_mpi_options *options, const grid_home *home)
{
    tw_mpi_options o = {0};
    tw_status status = settle_options(engine, options, &o);
    if (status == TW_OK) status = settle_problem(engine, problem, &plan->problem);
    plan->engine = *engine;
    plan->timeout_s = o.timeout_s;
    status = failure_agree(plan->comm, status, o.timeout_s);
    if (status == TW_OK) status = compare(plan->comm, engine, &plan->problem, &o);
    if (status == TW_OK) status = choose_grid(plan, &o, home);
    if (status != TW_OK) return status;
    plan->computes = plan->rank < plan->grid.pm * plan->grid.pn * plan->grid.pk;
    if (plan->computes) plan->at = grid_place_of(&plan->sizes, &plan->grid, plan->rank);
    if (plan->computes) status = open_sides(plan);
    if (engine->on_device) status = failure_agree(plan->comm, status, o.timeout_s);
    if (status == TW_OK) status = direct_make(plan, o.panels);
    if (status != TW_OK) return status; /* of all ranks alike */
    status = allocate(plan);
    if (status == TW_NO_MEMORY && failure_is_agreed() && plan->direct && o.panels == TW_MPI_PANELS_AUTO)
        status = allocate_staged(plan);
    plan->sizes.direct = plan->direct;
    grid_measure(&plan->sizes, &plan->grid);
    return status;
}

tw_status plan_make(const rank_engine *engine, const tw_problem *problem, MPI_Comm comm, const tw_mpi_options *options,
                    const grid_home *home, tw_mpi_plan **out)
{
    tw_mpi_plan *plan = calloc(1, sizeof *plan);
    *out = NULL;
    if (plan == NULL) return failure(TW_NO_MEMORY, "no memory for a plan");
    plan->comm = MPI_COMM_NULL;
    plan->pending.life = &plan->life;
    MPI_Request request;
    const double timeout_s = options != NULL && options->size >= FIRST_OPTIONS ? options->timeout_s : 0;
    tw_status status = failure_mpi(MPI_Comm_idup(comm, &plan->comm, &request), "copying the communicator");
    if (status == TW_OK) status = failure_await(&request, "copying the communicator", timeout_s);
    if (status != TW_OK) plan->comm = MPI_COMM_NULL;
    if (status == TW_OK) {
        MPI_Comm_set_errhandler(plan->comm, MPI_ERRORS_RETURN);
        MPI_Comm_rank(plan->comm, &plan->rank), MPI_Comm_size(plan->comm, &plan->ranks);
        status = settle(plan, engine, problem, options, home);
        if (status == TW_DEVICE_FAILED && !failure_is_agreed())
            plan->comm = MPI_COMM_NULL; /* to free it, MPI would ask the other ranks */
    }
    if (status == TW_OK)
        *out = plan;
    else
        tw_mpi_plan_free(plan);
    return status;
}

/* ---- describing ---- */

/* `owned` of the divided dimension and the segment of k, as they are stored. */
static tw_mpi_block stored(grid_part owned, grid_part k, bool along_rows)
{
    return along_rows ? (tw_mpi_block){owned.begin, k.begin, owned.length, k.length}
                      : (tw_mpi_block){k.begin, owned.begin, k.length, owned.length};
}

void plan_blocks(const tw_mpi_plan *plan, int rank, tw_mpi_layout *layout)
{
    layout->a = layout->b = layout->c = (tw_mpi_block){0}, layout->words = 0;
    if (rank >= plan->grid.pm * plan->grid.pn * plan->grid.pk) return;
    const grid_place at = grid_place_of(&plan->sizes, &plan->grid, rank);
    layout->a = stored(at.own_m, at.k, !transposes(plan->problem.op_a));
    layout->b = stored(at.own_n, at.k, transposes(plan->problem.op_b));
    layout->c = (tw_mpi_block){at.own_c.begin, at.n.begin, at.own_c.length, at.n.length};
    layout->words = at.words_a + at.words_b + at.words_c;
}

tw_status tw_mpi_plan_layout(const tw_mpi_plan *plan, tw_mpi_layout *layout)
{
    if (plan == NULL || layout == NULL) return failure(TW_BAD_ARGUMENT, "%s is NULL", plan == NULL ? "plan" : "layout");
    if (layout->size < sizeof *layout)
        return failure(TW_BAD_ARGUMENT, "layout->size is %" PRIu32 ", expected at least %zu", layout->size,
                       sizeof *layout);
    const grid *g = &plan->grid;
    memset((char *)layout + sizeof layout->size, 0, layout->size - sizeof layout->size);
    layout->ranks = g->pm * g->pn * g->pk;
    layout->grid[0] = g->pm, layout->grid[1] = g->pn, layout->grid[2] = g->pk;
    layout->panel = g->panel, layout->buffer_bytes = g->buffer_bytes;
    layout->mean_words = g->words[0] + g->words[1] + g->words[2], layout->seconds = g->seconds;
    plan_blocks(plan, plan->rank, layout);
    return TW_OK;
}

const char *tw_mpi_panels_text(const tw_mpi_plan *plan) { return plan == NULL ? "" : plan->panels_text; }

int64_t tw_mpi_received_words(const tw_mpi_plan *plan) { return plan == NULL ? 0 : plan->pending.received; }

/* ---- computing ---- */

static tw_status check_block(const tw_mpi_plan *plan, const char *name, const void *data, int64_t ld,
                             const tw_mpi_block *b, int64_t element_bytes)
{
    if (b->rows == 0 || b->cols == 0) return TW_OK;
    if (data == NULL)
        return failure(TW_BAD_ARGUMENT, "%s is NULL, and this rank owns %" PRId64 " x %" PRId64 " of it", name, b->rows,
                       b->cols);
    if (ld < b->cols)
        return failure(TW_BAD_ARGUMENT,
                       "ld%s is %" PRId64 ", expected at least %" PRId64 ", the columns "
                       "that this rank owns",
                       name, ld, b->cols);
    const int64_t part_bytes = element_bytes / tw_lab_dtype_of(plan->problem.dtype)->parts;
    if ((uintptr_t)data % (uintptr_t)part_bytes != 0)
        return failure(TW_BAD_ARGUMENT, "%s is not aligned to %" PRId64 " bytes", name, part_bytes);
    return TW_OK;
}

/* C <- beta C, of what this rank owns. */
static tw_status scale(tw_mpi_plan *plan, const tw_mpi_block *own, void *c, int64_t ldc)
{
    tw_problem p = plan->problem;
    p.m = own->rows, p.n = own->cols, p.k = 0;
    p.lda = transposes(p.op_a) && p.m > 0 ? p.m : 1, p.ldb = !transposes(p.op_b) && p.n > 0 ? p.n : 1;
    p.ldc = ldc > 0 ? ldc : 1;
    const tw_status status = plan->engine.gemm(plan->engine.self, &p, NULL, NULL, c);
    return status == TW_OK ? TW_OK : failure(status, "%.900s", plan->engine.error());
}

static tw_status compute(tw_mpi_plan *plan, const tw_mpi_layout *own, const void *a, int64_t lda, const void *b,
                         int64_t ldb, void *c, int64_t ldc)
{
    plan->a.own = a, plan->a.ld = lda;
    plan->b.own = b, plan->b.ld = ldb;
    if (plan->sizes.k == 0) return own->c.rows == 0 || own->c.cols == 0 ? TW_OK : scale(plan, &own->c, c, ldc);
    if (plan->at.k.length == 0 && plan->sums != NULL) /* a segment without steps */
        memset(plan->sums, 0, (size_t)(plan->at.m.length * plan->at.n.length * plan->sizes.c_bytes));
    const bool beside = plan->c_host != NULL;
    char *const to = beside ? plan->c_host : c;
    const int64_t ld = beside ? own->c.cols : ldc;
    tw_status status = beside && plan->sizes.keeps_c0 ? mirror_move_c(plan, c, ldc, TW_LAB_DOWN) : TW_OK;
    status = schedule_run(plan, to, ld, status);
    if (status != TW_OK) mirror_drain(plan);
    if (plan->grid.pk > 1 && plan->pending.status == TW_OK) status = reduce_run(plan, to, ld, status);
    if (status == TW_OK && beside) status = mirror_move_c(plan, c, ldc, TW_LAB_UP);
    if (status == TW_OK && plan->pending.received != own->words)
        status = failure(TW_DEVICE_FAILED, "this rank has received %" PRId64 " elements, and the plan says %" PRId64,
                         plan->pending.received, own->words);
    return status;
}

tw_status tw_mpi_gemm(tw_mpi_plan *plan, const void *a, int64_t lda, const void *b, int64_t ldb, void *c, int64_t ldc)
{
    tw_mpi_layout own = {.size = sizeof own};
    tw_status status = tw_mpi_plan_layout(plan, &own);
    if (status != TW_OK) return status;
    if (plan->lost) return failure(TW_BAD_ARGUMENT, "plan: an earlier call has lost other ranks: make another plan");
    if (plan->sizes.k > 0) {
        status = check_block(plan, "a", a, lda, &own.a, plan->sizes.a_bytes);
        if (status == TW_OK) status = check_block(plan, "b", b, ldb, &own.b, plan->sizes.b_bytes);
    }
    if (status == TW_OK) status = check_block(plan, "c", c, ldc, &own.c, plan->sizes.c_bytes);
    if (status == TW_OK && plan->ended)
        status = failure(TW_BAD_ARGUMENT, "plan: an earlier call has failed, and %s: make another plan",
                         plan->pending.stuck ? "the device does not answer" : "NCCL was left");
    life_begin(&plan->life, plan->comm, plan->timeout_s);
    if (status == TW_OK && plan->pipeline != NULL && plan->c_mirror == NULL)
        status = schedule_prepare(plan, c, ldc); /* of a C on the GPU: its address and ldc decide the kernels */
    status = agree(plan, status);
    if (status != TW_OK) return status;
    life_begin(&plan->life, plan->comm, plan->timeout_s);
    pending_begin(&plan->pending, plan->comm, plan->timeout_s);
    plan->stopped = false;
    if (plan->computes) status = compute(plan, &own, a, lda, b, ldb, c, ldc);
    plan->ended = plan->pending.stuck;
    plan->lost = plan->pending.status != TW_OK;
    if (plan->lost) return TW_DEVICE_FAILED; /* whatever has failed, nobody can be told */
    if (plan->pending.heard) status = TW_OK; /* the rank that has failed says why */
    status = agree(plan, status);
    if (status == TW_OK || !plan->direct || plan->lost) return status;
    const tw_status ended = direct_end(plan);
    return ended == TW_OK ? status : ended;
}
