/* plan.c - chooses the kernel of a problem, has its planner fill the plan, and keeps it for the next call. Pure: no
 * I/O, no clock, no device calls. */
#include "planners.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MOST_TILE = 65536 };

/* Does the row (NULL: none is forced) launch this text, if it is not its own? */
static tw_status check_source(const kernel_row *row, const tw_lab_source *source)
{
    if (source == NULL) return TW_OK;
    if (source->file == NULL || source->entry == NULL || source->text == NULL)
        return fail(TW_BAD_ARGUMENT, "the file, the entry or the text of a kernel's source is NULL");
    if (row == NULL || row->gpu.entry == NULL || kernel_by_tma(row) || row->gpu.adds != NULL ||
        row->gpu.family == FAMILY_SLICED_K || (row->gpu.traits & GPU_PDL))
        return fail(TW_BAD_ARGUMENT, "%s is to be launched like %s, which takes no other text", source->file,
                    row != NULL ? row->lab.name : "the planner's choice");
    return TW_OK;
}

/* Does the row take the tile that is forced on it? */
static tw_status check_tile(const kernel_row *row, int tile)
{
    if (tile > 0 && row->lab.default_tile == 0)
        return fail(TW_BAD_ARGUMENT, "tile %d is forced, but %s has no tile to choose", tile, row->lab.name);
    if (tile > 0 && (row->gpu.traits & GPU_SQUARE) && tile != 8 && tile != 16 && tile != 32)
        return fail(TW_BAD_ARGUMENT, "tile %d is forced, %s takes 8, 16 or 32", tile, row->lab.name);
    return TW_OK;
}

/* Of production rows that fit: is `one` better than `later`, which stands below it in the table? On the CPU where it
 * needs more features. */
static bool beats(const kernel_row *one, const kernel_row *later, const tw_problem *p, const device_facts *device)
{
    return later->gpu.entry != NULL ? plan_gpu_beats(one, later, p, device) : kernel_needs_more(one, later);
}

/* The row that is forced, else of the production rows that fit the best. On failure the sentence names the last that
 * was refused. */
static tw_status choose_row(const tw_problem *problem, const device_facts *device, const tw_lab_choice *choice,
                            const kernel_row **out)
{
    char reason[160] = "";
    const kernel_row *best = NULL;
    if (choice->kernel != NULL) {
        best = kernel_named(choice->kernel);
        if (best == NULL) return fail(TW_BAD_ARGUMENT, "no kernel is named %s", choice->kernel);
        TRY(check_tile(best, choice->tile));
        TRY(check_source(best, choice->source));
        if (!kernel_fits(best, problem, device, choice->tile, reason, sizeof reason)) best = NULL;
    } else {
        TRY(check_source(NULL, choice->source));
        for (int i = 0; i < kernel_count(); i++) {
            const kernel_row *row = kernel_at(i);
            if (!plan_offers(row, problem, device) || row->lab.dtype != problem->dtype ||
                strcmp(row->lab.engine, device->engine) != 0)
                continue;
            if (kernel_fits(row, problem, device, 0, reason, sizeof reason) &&
                !(best != NULL && beats(best, row, problem, device)))
                best = row;
        }
    }
    if (best == NULL && reason[0] == '\0')
        return fail(TW_NO_KERNEL, "no kernel fits: the %s engine has no production kernel for %s", device->engine,
                    dtype_find(problem->dtype)->lab.name);
    if (best == NULL && choice->kernel == NULL && problem_keeps_order(problem)) {
        tw_problem without = *problem;
        without.flags &= ~(uint32_t)TW_INVARIANT;
        if (choose_row(&without, device, choice, &best) == TW_OK)
            return fail(TW_NO_KERNEL, "no kernel fits TW_INVARIANT: %s does without it", best->lab.name);
    }
    if (best == NULL && choice->kernel == NULL && problem->epilogue != NULL) {
        tw_problem without = *problem;
        without.epilogue = NULL;
        if (choose_row(&without, device, choice, &best) == TW_OK)
            return fail(TW_NO_KERNEL, "no kernel of the %s engine fits the epilogue: %s does without", device->engine,
                        best->lab.name);
    }
    if (best == NULL) return fail(TW_NO_KERNEL, "%s: %s", choice->kernel ? choice->kernel : "no kernel fits", reason);
    *out = best;
    return choice->kernel == NULL ? check_tile(best, choice->tile) : TW_OK;
}

/* This thread's last plan, since programs multiply one shape again and again: finding the row and the blocks costs more
 * than a product of 8 x 8 x 8. */
static _Thread_local struct {
    uint64_t context; /* device_facts.context; 0: nothing yet */
    bool no_workspace;
    const kernel_verdict *verdicts;
    plan plan;
} last;

/* Would the two problems get the same blocks and the same row? Of alpha only whether it is complex decides something,
 * alignments nothing on the CPU. */
static bool plans_alike(const plan *made, const tw_problem *p)
{
    const tw_problem *q = &made->problem;
    bool cpu = made->row->gpu.entry == NULL;
    return p->dtype == q->dtype && p->dtype_b == q->dtype_b && p->dtype_c == q->dtype_c && p->place_c == q->place_c &&
           p->op_a == q->op_a && p->op_b == q->op_b && p->m == q->m && p->n == q->n && p->k == q->k &&
           p->lda == q->lda && p->ldb == q->ldb && p->ldc == q->ldc && p->flags == q->flags &&
           p->accuracy == q->accuracy && problem_reads_c(p) == problem_reads_c(q) &&
           (p->alpha_imaginary != 0) == (q->alpha_imaginary != 0) &&
           (p->beta_imaginary != 0) == (q->beta_imaginary != 0) && (p->epilogue != NULL) == (q->epilogue != NULL) &&
           (cpu || (p->align_a == q->align_a && p->align_b == q->align_b && p->align_c == q->align_c));
}

/* Can this device compute a complex product so? forced: NULL, or the kernel that is to. */
static tw_status check_complex(const tw_problem *p, const device_facts *device, const gpu_complex *by,
                               const char *forced)
{
    const kernel_row *row = forced != NULL ? kernel_named(forced) : NULL;
    if (device->tiles) return fail(TW_NO_KERNEL, "no kernel fits: complex products are not divided among devices");
    if (device->no_workspace && (by->a_ld > 0 || by->b_ld > 0))
        return fail(TW_NO_KERNEL, "no kernel fits: on CUDA complex products want a workspace");
    if (row == NULL || row->lab.production) return TW_OK;
    return fail(TW_NO_KERNEL, "%s: it multiplies %s, the problem is %s", forced, dtype_find(row->lab.dtype)->lab.name,
                dtype_find(p->dtype)->lab.name);
}

static tw_status fill_plan(const tw_problem *problem, const device_facts *device, const tw_lab_choice *choice,
                           plan *out)
{
    const kernel_row *row = NULL;
    tw_problem real;
    gpu_complex by;
    const bool complex = complex_find(problem, device, &real, &by);
    if (complex) TRY(check_complex(problem, device, &by, choice->kernel));
    TRY(choose_row(complex ? &real : problem, device, choice, &row));
    *out = (plan){.problem = *problem, .row = row, .finish = kernel_finish(row, problem)};
    if (row->gpu.entry != NULL) {
        out->gpu = (gpu_plan){.problem = complex ? real : *problem};
        plan_gpu(out, device, choice);
        if (complex) complex_place(out, &by);
    } else if (row->micro != NULL)
        plan_loops(out, device, choice->threads);
    else
        plan_rung(out, device, choice);
    return TW_OK;
}

/* Without a workspace the plan is the usual one, if that needs none: who was told of 0 bytes gets what was planned. */
static tw_status make_plan(const tw_problem *problem, const device_facts *device, const tw_lab_choice *choice,
                           plan *out)
{
    device_facts usual = *device;
    usual.no_workspace = false;
    if (device->no_workspace && device->copies && fill_plan(problem, &usual, choice, out) == TW_OK &&
        out->workspace_bytes == 0)
        return TW_OK;
    return fill_plan(problem, device, choice, out);
}

tw_status plan_find(const tw_problem *problem, const device_facts *device, const tw_lab_choice *choice, plan *out)
{
    static const tw_lab_choice free_choice = {0};
    bool recalls = choice == NULL && device->context != 0 && device->items < 2;
    if (recalls && last.context == device->context && last.no_workspace == device->no_workspace &&
        last.verdicts == device->verdicts && plans_alike(&last.plan, problem)) {
        *out = last.plan;
        out->problem = *problem;
        gpu_complex by;
        if (out->row->gpu.entry != NULL && !complex_find(problem, device, &out->gpu.problem, &by))
            out->gpu.problem = *problem;
        return TW_OK;
    }
    if (choice == NULL) choice = &free_choice;
    if (choice->tile < 0 || choice->tile > MOST_TILE || choice->threads < 0 || choice->threads > MOST_THREADS)
        return fail(TW_BAD_ARGUMENT, "tile %d and threads %d are forced, expected 0 to %d and 0 to %d", choice->tile,
                    choice->threads, MOST_TILE, MOST_THREADS);
    TRY(make_plan(problem, device, choice, out));
    if (recalls) {
        last.context = device->context, last.no_workspace = device->no_workspace, last.verdicts = device->verdicts;
        last.plan = *out;
    }
    return TW_OK;
}

/* On CUDA operands in device memory are one launch; but items at strides that fill the device by themselves follow each
 * other in the kernel that is best for one. */
static tw_status find_batch_cuda(const tw_problem *p, const tw_batch *batch, const device_facts *device, plan *out)
{
    char reason[160];
    const kernel_row *row = plan_batch_row(p, batch, device, reason, sizeof reason);
    bool by_item = !batch->pointers && (row == NULL || plan_batch_fills(row, p, device));
    tw_status each = by_item ? plan_find(p, device, NULL, out) : TW_NO_KERNEL;
    if (each == TW_OK || (row == NULL && !batch->pointers)) return each;
    if (row == NULL) return fail(TW_NO_KERNEL, "no kernel takes a batch by address: %s", reason);
    plan_one_launch(p, device, row, out);
    return TW_OK;
}

/* On OpenCL operands in device memory are one launch, but where items that divide k are faster one by one, or no kernel
 * is left that passed its self-test in a batch. */
static tw_status find_batch_opencl(const tw_problem *p, const tw_batch *batch, const device_facts *device, plan *out)
{
    device_facts together = *device;
    together.items = batch->count;
    TRY(plan_find(p, device, NULL, out));
    if (p->place_c != TW_DEVICE || batch->count < 2 || plan_opencl_alone(out, &together)) return TW_OK;
    const plan each = *out;
    const tw_status status = plan_find(p, &together, NULL, out);
    if (status == TW_NO_KERNEL) *out = each;
    return status == TW_NO_KERNEL ? TW_OK : status;
}

tw_status plan_find_batch(const tw_problem *problem, const tw_batch *batch, const device_facts *device, plan *out)
{
    if (strcmp(device->engine, "cuda") == 0) return find_batch_cuda(problem, batch, device, out);
    if (strcmp(device->engine, "opencl") == 0) return find_batch_opencl(problem, batch, device, out);
    TRY(plan_find(problem, device, NULL, out));
    if (out->row->micro == NULL) return TW_OK;
    const bool together = plan_batch_shares(out, batch, device);
    if (!together && out->threads > 1) TRY(plan_find(problem, device, &(tw_lab_choice){.threads = 1}, out));
    plan_batch_cpu(batch, device, together, out);
    return TW_OK;
}

const plan *plan_recall(const tw_problem *user, uint64_t context)
{
    const tw_problem *q = &last.plan.problem;
    bool ours = last.context == context && last.plan.in_place && q->epilogue == NULL && user != NULL &&
                problem_is_plain(user);
    bool alike = ours && user->m == q->m && user->n == q->n && user->k == q->k && user->lda == q->lda &&
                 user->ldb == q->ldb && user->ldc == q->ldc && user->dtype == q->dtype &&
                 (user->dtype_c == q->dtype_c || (user->dtype_c == 0 && last.plan.finish == NULL)) &&
                 user->op_a == q->op_a && user->op_b == q->op_b && user->place_a == q->place_a &&
                 user->place_b == q->place_b && user->place_c == q->place_c;
    /* whether B is packed for several threads depends on whether C is read */
    alike = alike && (last.plan.at_once || (user->beta != 0) == (q->beta != 0));
    /* of integers types of B and scalars beyond floats differ, too */
    alike = alike && !dtype_is_integer(q->dtype);
    return alike && q->k > 0 && (!last.plan.cpu.unpacked_shape.transposed || user->beta == 0) ? &last.plan : NULL;
}

/* What happens to an operand, A or B, before the kernel reads it. */
static const char *packing_text(const plan *plan, const packing *p, const char *const how[3])
{
    return !p->needed ? "" : how[plan->gpu.rest != NULL ? 2 : p->transposes ? 0 : 1];
}

/* How the grid's blocks divide the work, where they do not compute a tile each. */
static void grid_text(const gpu_plan *p, const kernel_row *row, char text[96])
{
    text[0] = '\0';
    if (p->cut > 0) snprintf(text, 96, " (%" PRId64 " of more than %" PRId64 " in two parts)", p->cut, p->cut * 3 / 2);
    if (p->k_split.splits > 1 && p->k_split.whole == 0 && kernel_by_add(row))
        snprintf(text, 96, " (%" PRId64 " parts of %" PRId64 " steps, %" PRId64 " for each tile)", p->k_split.count,
                 p->k_split.length, p->k_split.splits);
    else if (p->k_split.count > 0)
        snprintf(text, 96, " (%" PRId64 " of them runs of %" PRId64 " steps%s)", p->k_split.count, p->k_split.length,
                 p->k_split.by_cluster ? ", in clusters" : "");
    if (p->items > 0) snprintf(text, 96, " (for each of %" PRId64 " items, in one launch)", p->items);
}

/* The real product that stands for a complex one, and the passes around it. */
static void complex_text(const plan *plan, char text[128])
{
    const gpu_complex *by = &plan->gpu.complex;
    const tw_problem *real = &plan->gpu.problem;
    text[0] = '\0';
    if (real->dtype == plan->problem.dtype) return;
    snprintf(text, 128, " as real %" PRId64 "x%" PRId64 "x%" PRId64 "%s%s%s", real->m, real->n, real->k,
             by->b_ld > 0   ? ", writes squares of B"
             : by->a_ld > 0 ? ", writes planes of A"
                            : "",
             by->a_ld > 0 && by->b_ld > 0 ? " and rows of A" : "", by->combines ? ", combines C" : "");
}

void plan_text(const plan *plan, char *text, size_t bytes)
{
    static const char *const of_a[] = {" transposes A", " copies A", " splits A"}, *const of_b[] = {" transposes B",
                                                                                                    " copies B",
                                                                                                    " splits B"};
    const cpu_plan *cpu = &plan->cpu;
    const gpu_plan *gpu = &plan->gpu;
    char grid[96] = "", shares[96] = "", woken[48] = "", complex[128];
    if (plan->row->gpu.entry != NULL) grid_text(gpu, plan->row, grid), complex_text(plan, complex);
    if (plan->row->micro != NULL && plan->woken > 0 && plan->woken < plan->threads)
        snprintf(woken, sizeof woken, ", after a rest %d,", plan->woken);
    if (plan->row->micro != NULL && cpu->divided)
        snprintf(shares, sizeof shares, " shares %" PRId64 "x%" PRId64, cpu->share_m, cpu->share_n);
    if (shares[0] != '\0' && cpu->chunk < plan->problem.k)
        snprintf(shares + strlen(shares), sizeof shares - strlen(shares), " of chunks of %" PRId64, cpu->chunk);
    if (plan->row->micro != NULL)
        snprintf(text, bytes,
                 "%s%s%s%s%s%s macro-block %" PRId64 "x%" PRId64 "x%" PRId64 " task %" PRId64 "x%" PRId64
                 " threads %d%s workspace %zu bytes",
                 plan->row->lab.name, cpu->gemv ? " GEMV" : "", cpu->direct_a ? "" : " packs A",
                 cpu->unpacked_shape.transposed        ? " computes C transposed"
                 : cpu->copy_n > 0                     ? " copies B"
                 : cpu->direct_b                       ? ""
                 : problem_b_is_packed(&plan->problem) ? " B packed before"
                                                       : " packs B",
                 problem_triangle(&plan->problem) == 0          ? ""
                 : problem_triangle(&plan->problem) == TW_LOWER ? " lower triangle"
                                                                : " upper triangle",
                 shares, cpu->macro_m, cpu->macro_n, cpu->kc, cpu->task_m, cpu->task_n, plan->threads, woken,
                 plan->workspace_bytes);
    else if (plan->row->gpu.entry != NULL)
        snprintf(text, bytes, "%s%s%s%s grid %" PRId64 "x%" PRId64 "%s threads %dx%d workspace %zu bytes %.*s%s%s",
                 plan->row->lab.name, complex, packing_text(plan, &gpu->pack_a, of_a),
                 packing_text(plan, &gpu->pack_b, of_b), gpu->grid_x, gpu->grid_y, grid, gpu->threads_x, gpu->threads_y,
                 plan->workspace_bytes, gpu->own_options, gpu->options, gpu->rest != NULL ? " rest " : "",
                 gpu->rest != NULL ? gpu->rest->lab.name : "");
    else
        snprintf(text, bytes, "%s tile %d threads %d workspace %zu bytes", plan->row->lab.name, plan->tile,
                 plan->threads, plan->workspace_bytes);
}
