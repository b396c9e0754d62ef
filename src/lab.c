/* lab.c - the lab's calls: check, plan and run, each by itself, and what an engine tells of itself. */
#include "api.h"
#include "cgroup.h"
#include "first_use.h"
#include "parts.h"
#include "planners.h"
#include "run.h"
#include "tuned.h"

#include <stdio.h>
#include <stdlib.h>

int tw_lab_fits(tw_context *context, const tw_lab_choice *choice, const tw_problem *problem, char *reason,
                int reason_bytes)
{
    HOLD_CANCELLATION;
    const kernel_row *row = choice && choice->kernel ? kernel_named(choice->kernel) : NULL;
    if (row == NULL) {
        fail(TW_BAD_ARGUMENT, "no kernel is named %s", choice && choice->kernel ? choice->kernel : "NULL");
        return -1;
    }
    tw_problem p;
    if (problem_take(problem, &p) != TW_OK) return -1;
    if (p.dtype_b == 0) p.dtype_b = p.dtype;
    if (p.dtype_c == 0 && dtype_find(p.dtype) != NULL) p.dtype_c = dtype_find(p.dtype)->result;
    const tw_dtype dtypes[] = {p.dtype, p.dtype_b, p.dtype_c};
    for (int i = 0; i < 3; i++)
        if (dtype_find(dtypes[i]) == NULL) {
            fail(TW_BAD_ARGUMENT, "dtype%s is %d, which is no tw_dtype of this library",
                 (const char *const[]){"", "_b", "_c"}[i], (int)dtypes[i]);
            return -1;
        }
    if (context_find(&context) != TW_OK) return -1;
    if (p.align_a == 0) p.align_a = 256; /* not known yet: suppose the best */
    if (p.align_b == 0) p.align_b = 256;
    if (p.align_c == 0) p.align_c = 256;
    const device_facts facts = first_use_facts(context);
    const bool told = reason != NULL && reason_bytes > 0;
    return kernel_fits(row, &p, &facts, choice->tile, told ? reason : NULL, told ? (size_t)reason_bytes : 0);
}

tw_status tw_lab_plan_of(tw_context *context, const tw_lab_choice *choice, const tw_problem *problem, tw_lab_plan *out)
{
    HOLD_CANCELLATION;
    tw_problem host, p;
    tw_batch batch;
    plan made;
    if (out == NULL) return fail(TW_BAD_ARGUMENT, "plan is NULL");
    bool batched = choice != NULL && choice->batch != NULL;
    TRY(batched ? api_settle_batch(&context, problem, choice->batch, false, NULL, NULL, NULL, &p, &batch)
                : api_settle_unseen(&context, choice, problem, &host, &p));
    TRY(first_use_plan(context, &p, &(first_use_wish){.batch = batched ? &batch : NULL, .choice = choice}, &made));
    *out = (tw_lab_plan){.kernel = &made.row->lab,
                         .tile = made.tile,
                         .threads = made.threads,
                         .workspace_bytes = (int64_t)made.workspace_bytes};
    bool loops = made.row->micro != NULL, gpu = made.row->gpu.entry != NULL;
    out->block_threads = gpu ? made.gpu.threads_x * made.gpu.threads_y : 0;
    int64_t edge = max_i64(made.tile, 1);
    out->block_m = loops ? made.cpu.macro_m : gpu && made.row->lab.tile_m ? made.row->lab.tile_m : edge;
    out->block_n = loops ? made.cpu.macro_n : gpu && made.row->lab.tile_n ? made.row->lab.tile_n : edge;
    out->block_k = loops ? made.cpu.kc : gpu && made.row->lab.tile_k ? made.row->lab.tile_k : edge;
    plan_text(&made, out->text, sizeof out->text);
    const tw_problem *computed = gpu ? &made.gpu.problem : &p;
    if (!batched) plan_reason(computed, &context->facts, out->reason, sizeof out->reason);
    tuned_took_part(&context->facts, computed, made.row, out->tuned, sizeof out->tuned);
    return TW_OK;
}

const tw_lab_kernel *tw_lab_unused_at(tw_context *context, const tw_problem *problem, int index, char *text,
                                      int text_bytes)
{
    HOLD_CANCELLATION;
    tw_problem host, p;
    plan instead;
    if (context_find(&context) != TW_OK ||
        (problem != NULL && api_settle_unseen(&context, NULL, problem, &host, &p) != TW_OK))
        return NULL;
    const kernel_verdict *v = first_use_failed(context, problem != NULL ? &p : NULL, index);
    if (v == NULL || text == NULL || text_bytes < 1) return v != NULL ? &v->row->lab : NULL;
    const device_facts facts = first_use_facts(context);
    const tw_batch batch = {.size = sizeof batch, .count = v->items};
    const bool is_left = (v->items > 0 ? plan_find_batch(&v->problem, &batch, &facts, &instead)
                                       : plan_find(&v->problem, &facts, NULL, &instead)) == TW_OK,
               one_by_one = is_left && v->items > 0 && instead.gpu.items == 0;
    snprintf(text, (size_t)text_bytes, "%s; %s computes in its place%s", v->text,
             is_left ? instead.row->lab.name : "no kernel", one_by_one ? ", one item after the other" : "");
    return &v->row->lab;
}

tw_status tw_lab_joined(tw_context *context, char *text, int bytes)
{
    HOLD_CANCELLATION;
    if (text == NULL || bytes < 1)
        return fail(TW_BAD_ARGUMENT, "text is NULL, or bytes is %d, expected 1 or more", bytes);
    TRY(context_find(&context));
    snprintf(text, (size_t)bytes, "%s", context->joined);
    return TW_OK;
}

tw_status tw_lab_device_id(tw_context *context, char *text, int bytes)
{
    HOLD_CANCELLATION;
    if (text == NULL || bytes < 1)
        return fail(TW_BAD_ARGUMENT, "text is NULL, or bytes is %d, expected 1 or more", bytes);
    TRY(context_find(&context));
    text[0] = '\0';
    if (context->ops->id != NULL) context->ops->id(context->engine, text, (size_t)bytes);
    return TW_OK;
}

int64_t tw_lab_sum_depth(tw_dtype dtype) { return parts_depth(dtype); }

tw_status tw_lab_finish_sums(tw_context *context, tw_dtype dtype, int64_t m, int64_t n, double alpha, const void *sums,
                             int64_t ld_sums, double beta, void *c, int64_t ldc)
{
    HOLD_CANCELLATION;
    if (dtype != TW_F32 && dtype != TW_F64 && dtype != TW_I16 && dtype != TW_I32 && dtype != TW_I64)
        return fail(TW_BAD_ARGUMENT, "dtype is %d, expected TW_F32, TW_F64, TW_I16, TW_I32 or TW_I64", (int)dtype);
    TRY(context_find(&context));
    parts_finish(context, dtype, m, n, alpha, sums, ld_sums, beta, c, ldc);
    return TW_OK;
}

tw_status tw_lab_run_open(tw_context *context, const tw_lab_choice *choice, const tw_problem *problem, const void *a,
                          const void *b, void *c, tw_lab_run **run)
{
    HOLD_CANCELLATION;
    if (run == NULL) return fail(TW_BAD_ARGUMENT, "run is NULL");
    *run = NULL;
    tw_problem host, p;
    TRY(api_settle(&context, choice, problem, a, b, c, &host, &p));
    tw_lab_run *made = calloc(1, sizeof *made);
    if (made == NULL) return fail(TW_NO_MEMORY, "no memory for a run of %zu bytes", sizeof *made);
    made->context = context;
    made->whole = choice != NULL && choice->kernel != NULL;
    made->brings_c = true;
    tw_status status = placed_check(context, &p, NULL, a, b, c);
    if (status == TW_OK) status = first_use_plan(context, &p, &(first_use_wish){.choice = choice}, &made->plan);
    if (status == TW_OK) status = run_begin(made, &host, a, b, c);
    if (status != TW_OK) {
        free(made);
        return status;
    }
    made->runnable.timed = true;
    *run = made;
    return TW_OK;
}

tw_status tw_lab_run_once(tw_lab_run *run, double *seconds)
{
    HOLD_CANCELLATION;
    if (run == NULL) return fail(TW_BAD_ARGUMENT, "run is NULL");
    TRY(run_once(run));
    if (seconds != NULL) *seconds = run->runnable.seconds;
    return TW_OK;
}

tw_status tw_lab_run_fetch(tw_lab_run *run, void *c)
{
    HOLD_CANCELLATION;
    if (run == NULL || c == NULL) return fail(TW_BAD_ARGUMENT, "run or c is NULL");
    operand to = run->operand[2];
    to.host = c;
    return run->context->ops->download(run->context->engine, &run->buffer[2], &to);
}

void tw_lab_run_close(tw_lab_run *run)
{
    HOLD_CANCELLATION;
    if (run == NULL) return;
    run_end(run);
    free(run);
}

double tw_lab_run_prepare_s(const tw_lab_run *run) { return run != NULL ? run->prepare_s : 0; }

void tw_lab_run_resources(const tw_lab_run *run, tw_lab_resources *out)
{
    HOLD_CANCELLATION;
    *out = (tw_lab_resources){-1, -1, -1, -1};
    if (run != NULL && run->context->ops->lab->resources != NULL)
        run->context->ops->lab->resources(run->context->engine, &run->runnable, out);
}

/* A device that takes every row of this engine; of CUDA's, those of this compute capability. */
static device_facts any_gpu(const char *engine, int sm)
{
    return (device_facts){.engine = engine,
                          .threads = 1,
                          .copies = true,
                          .addresses = true,
                          .sm = sm,
                          .most_threads = 1024,
                          .multiprocessors = 1,
                          .tensor_maps = sm >= 90,
                          .local_bytes = 227 << 10,
                          .vector_bytes = 64,
                          .largest_bytes = INT64_MAX};
}

/* The plan of a kernel on such a device. */
static tw_status plan_unseen(const char *engine, int sm, const tw_lab_choice *choice, const tw_problem *problem,
                             plan *made)
{
    tw_problem p;
    device_facts facts = any_gpu(engine, sm);
    if (choice == NULL || choice->kernel == NULL || problem == NULL)
        return fail(TW_BAD_ARGUMENT, "without a device, a kernel and a problem must be named");
    TRY(problem_load(problem, api_stand_in(problem->align_a), api_stand_in(problem->align_b),
                     api_stand_in(problem->align_c), &p));
    return plan_find(&p, &facts, choice, made);
}

tw_status tw_lab_code_make(tw_context *context, const tw_lab_choice *choice, const tw_problem *problem, int sm, int ptx,
                           tw_lab_code *out)
{
    HOLD_CANCELLATION;
    tw_problem host, p;
    plan made;
    if (out == NULL) return fail(TW_BAD_ARGUMENT, "code is NULL");
    *out = (tw_lab_code){.resources = {-1, -1, -1, -1}};
    if (context != NULL) {
        TRY(api_settle_unseen(&context, choice, problem, &host, &p));
        TRY(plan_find(&p, &context->facts, choice, &made));
        if (context->ops->lab->code == NULL)
            return fail(TW_NO_KERNEL, "%s is not compiled at run time: its code is the library's own",
                        made.row->lab.name);
        return context->ops->lab->code(context->engine, &made, sm, ptx != 0, out);
    }
    TRY(plan_unseen("cuda", sm, choice, problem, &made));
    return cuda_engine.lab->code(NULL, &made, sm, ptx != 0, out);
}

tw_status tw_lab_launch_of(const tw_lab_choice *choice, const tw_problem *problem, tw_lab_launch *out)
{
    HOLD_CANCELLATION;
    plan made;
    const kernel_row *row = choice != NULL && choice->kernel != NULL ? kernel_named(choice->kernel) : NULL;
    if (row == NULL || out == NULL) return fail(TW_BAD_ARGUMENT, "no kernel of the table is named, or launch is NULL");
    if (row->gpu.entry == NULL) return fail(TW_NO_KERNEL, "%s is called, not launched", row->lab.name);
    TRY(plan_unseen(row->lab.engine, 90, choice, problem, &made));
    *out = (tw_lab_launch){.grid_x = made.gpu.grid_x,
                           .grid_y = made.gpu.grid_y,
                           .threads_x = made.gpu.threads_x,
                           .threads_y = made.gpu.threads_y,
                           .transposes_b = made.gpu.transposes_b};
    _Static_assert(sizeof out->options >= sizeof made.gpu.options, "tilewright_lab.h has room for them");
    memcpy(out->options, made.gpu.options, sizeof made.gpu.options);
    return TW_OK;
}

void tw_lab_code_free(tw_lab_code *code)
{
    if (code != NULL) free(code->bytes);
    if (code != NULL) *code = (tw_lab_code){.size = 0};
}

int tw_lab_compiles(tw_context *context, const tw_problem *problem)
{
    HOLD_CANCELLATION;
    tw_problem host, p;
    plan made;
    if (api_settle_unseen(&context, NULL, problem, &host, &p) != TW_OK ||
        plan_find(&p, &context->facts, NULL, &made) != TW_OK)
        return -1;
    if (context->ops->lab->code == NULL) return 0;
    return context->ops->lab->kept != NULL ? !context->ops->lab->kept(context->engine, &made) : -1;
}

tw_status tw_lab_open_despite(tw_context **context)
{
    HOLD_CANCELLATION;
    if (context == NULL) return fail(TW_BAD_ARGUMENT, "context is NULL");
    return context_open(NULL, true, context);
}

const char *tw_lab_engine_at(int index)
{
    const engine_ops *ops = engine_at(index);
    return ops != NULL ? ops->name : NULL;
}

int tw_lab_engine_state(const char *engine, char *text, int text_bytes)
{
    HOLD_CANCELLATION;
    const engine_ops *ops = engine != NULL ? engine_named(engine) : NULL;
    int32_t count = 0;
    if (ops == NULL) return -1;
    tw_status status = ops->devices(NULL, 0, &count);
    if (text == NULL || text_bytes < 1) return status == TW_OK;
    if (status != TW_OK)
        snprintf(text, (size_t)text_bytes, "%s", tw_error_text());
    else
        ops->lab->state(text, (size_t)text_bytes);
    return status == TW_OK;
}

tw_status tw_lab_engine_devices(const char *engine, tw_device *devices, int32_t capacity, int32_t *count)
{
    HOLD_CANCELLATION;
    const engine_ops *ops = engine != NULL ? engine_named(engine) : NULL;
    if (ops == NULL) return fail(TW_NO_DEVICE, "there is no engine named %s", engine != NULL ? engine : "(NULL)");
    TRY(devices_check(devices, capacity, count));
    if (capacity > 0 && devices[0].size != sizeof *devices)
        return fail(TW_BAD_ARGUMENT, "devices[0].size is %u, expected %zu", devices[0].size, sizeof *devices);
    return ops->devices(devices, capacity, count);
}

int tw_lab_compiler_state(const char *engine, char *text, int text_bytes)
{
    HOLD_CANCELLATION;
    const engine_ops *ops = engine != NULL ? engine_named(engine) : NULL;
    if (ops == NULL || ops->lab->compiler == NULL || text == NULL || text_bytes < 1) return -1;
    tw_status status = ops->lab->compiler(text, (size_t)text_bytes);
    if (status != TW_OK) snprintf(text, (size_t)text_bytes, "%s", tw_error_text());
    return status == TW_OK;
}

tw_status tw_lab_triangle_compute(tw_context *context, const tw_lab_triangle *x)
{
    HOLD_CANCELLATION;
    if (x == NULL || (x->dtype != TW_F32 && x->dtype != TW_F64) || x->m < 0 || x->m > TW_LAB_TRIANGLE_EDGE ||
        x->n < 0 || (x->b_rs != 1 && x->b_cs != 1) || (x->m > 0 && x->n > 0 && (x->t == NULL || x->b == NULL)))
        return fail(TW_BAD_ARGUMENT, "the block is not one of f32 or f64 with at most %d rows, and b_rs or b_cs 1",
                    TW_LAB_TRIANGLE_EDGE);
    if (x->m == 0 || x->n == 0) return TW_OK;
    TRY(context_find(&context));
    if (context->ops->triangle == NULL)
        return fail(TW_NO_KERNEL, "the %s engine computes no triangular blocks", context->ops->name);
    return context->ops->triangle(context->engine, x);
}

tw_dtype tw_lab_kernel_dtype(const char *engine, tw_dtype dtype) { return complex_part(engine, dtype); }

tw_status tw_lab_peak_flops(tw_context *context, tw_dtype dtype, int threads, int tries, double *flops_per_s)
{
    HOLD_CANCELLATION;
    if (flops_per_s == NULL || threads < 1 || threads > MOST_THREADS || tries < 1 || dtype_find(dtype) == NULL)
        return fail(TW_BAD_ARGUMENT,
                    "dtype %d, threads %d, tries %d: expected a dtype, 1 to %d threads and at least 1 try", (int)dtype,
                    threads, tries, MOST_THREADS);
    TRY(context_find(&context));
    return context->ops->lab->peak_flops(context->engine, dtype, threads, tries, flops_per_s);
}

tw_status tw_lab_bandwidth(tw_context *context, int64_t bytes, int threads, int tries, double *bytes_per_s)
{
    HOLD_CANCELLATION;
    if (bytes_per_s == NULL || threads < 1 || threads > MOST_THREADS || tries < 1 || bytes < 4096)
        return fail(
            TW_BAD_ARGUMENT,
            "bytes %lld, threads %d, tries %d: expected at least 4096 bytes, 1 to %d threads and at least 1 try",
            (long long)bytes, threads, tries, MOST_THREADS);
    TRY(context_find(&context));
    return context->ops->lab->bandwidth(context->engine, bytes, threads, tries, bytes_per_s);
}

tw_status tw_lab_shared_bandwidth(tw_context *context, int tries, double *bytes_per_s)
{
    HOLD_CANCELLATION;
    if (bytes_per_s == NULL || tries < 1)
        return fail(TW_BAD_ARGUMENT, "tries %d: expected at least 1, and where to put the result", tries);
    TRY(context_find(&context));
    if (context->ops->lab->shared_bandwidth == NULL)
        return fail(TW_NO_KERNEL, "the %s engine has no memory that blocks share", context->ops->name);
    return context->ops->lab->shared_bandwidth(context->engine, tries, bytes_per_s);
}

tw_status tw_lab_shared_pattern(tw_context *context, int step, int wrap, int shift, int tries, double *words_per_s)
{
    HOLD_CANCELLATION;
    if (words_per_s == NULL || step < 0 || step > 32 || wrap < 1 || wrap > 1024 || shift < 0 || shift > 31 || tries < 1)
        return fail(TW_BAD_ARGUMENT,
                    "step %d, wrap %d, shift %d, tries %d: expected 0 to 32, 1 to 1024, 0 to 31, at least 1, and where "
                    "to put the result",
                    step, wrap, shift, tries);
    TRY(context_find(&context));
    if (context->ops->lab->shared_pattern == NULL)
        return fail(TW_NO_KERNEL, "the %s engine has no memory that blocks share", context->ops->name);
    return context->ops->lab->shared_pattern(context->engine, step, wrap, shift, tries, words_per_s);
}

void tw_lab_limits_read(tw_lab_limits *out) { cgroup_read("", out); }
