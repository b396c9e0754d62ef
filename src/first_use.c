/* first_use.c - see first_use.h: the verdicts of a context, from the cache on disk or from a test. */
#include "first_use.h"
#include "self_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a kept verdict says; a sentence follows the second. */
static const char passed[] = "passed", failed[] = "failed: ";
enum { KEPT_BYTES = sizeof failed + VERDICT_BYTES };

device_facts first_use_facts(const tw_context *context)
{
    device_facts facts = context->facts;
    facts.verdicts = atomic_load_explicit(&context->verdicts, memory_order_acquire);
    return facts;
}

static tw_status find(const tw_problem *p, const device_facts *facts, const first_use_wish *w, plan *out)
{
    return w->batch != NULL ? plan_find_batch(p, w->batch, facts, out) : plan_find(p, facts, w->choice, out);
}

/* context->testing is held, and there is none for this plan. failure: "" where it passed. */
static tw_status add(tw_context *context, const plan *p, const char *failure)
{
    kernel_verdict *made = calloc(1, sizeof *made);
    if (made == NULL) return fail(TW_NO_MEMORY, "no memory for the verdict on a kernel");
    *made = (kernel_verdict){.next = atomic_load_explicit(&context->verdicts, memory_order_relaxed),
                             .row = p->row,
                             .form = kernel_form(p->row, &p->problem, p->gpu.items),
                             .passed = failure[0] == '\0',
                             .problem = p->problem,
                             .items = p->gpu.items};
    made->problem.epilogue = NULL; /* which may be freed before the verdict */
    snprintf(made->text, sizeof made->text, "%s", failure);
    atomic_store_explicit(&context->verdicts, made, memory_order_release);
    return TW_OK;
}

/* What a kernel computed is kept, also for other processes. */
static tw_status test(tw_context *context, const plan *p)
{
    self_test_result result;
    TRY(self_test_run(context->ops, context->engine, &context->facts, p, &result));
    const bool is_good = result.text[0] == '\0';
    char kept[KEPT_BYTES];
    snprintf(kept, sizeof kept, "%s%s", is_good ? passed : failed, result.text);
    if (result.lasts) context->ops->keep_verdict(context->engine, p, kept);
    return add(context, p, result.text);
}

/* Finds the verdict on a plan's kernel, or makes it. */
static tw_status judge(tw_context *context, const plan *p)
{
    char kept[KEPT_BYTES];
    TRY(context->ops->kept_verdict(context->engine, p, kept, sizeof kept));
    pthread_mutex_lock(&context->testing);
    const device_facts facts = first_use_facts(context);
    tw_status status = TW_OK;
    if (kernel_verdict_of(facts.verdicts, p->row, &p->problem, p->gpu.items) != NULL) /* another thread's */
        status = TW_OK;
    else if (strcmp(kept, passed) == 0)
        status = add(context, p, "");
    else if (strncmp(kept, failed, sizeof failed - 1) == 0)
        status = add(context, p, kept + sizeof failed - 1);
    else
        status = test(context, p);
    pthread_mutex_unlock(&context->testing);
    return status;
}

static bool is_tested(const plan *p, const first_use_wish *w)
{
    return p->row->lab.production && (w->choice == NULL || w->choice->source == NULL);
}

/* Did the kernel fail in the form that one product of this problem has, which it would fit? facts: without verdicts. */
static bool failed_for(const kernel_verdict *v, const tw_problem *p, const device_facts *facts)
{
    return !v->passed && v->form == kernel_form(v->row, p, 0) && kernel_fits(v->row, p, facts, 0, NULL, 0);
}

/* No kernel was found. Was one refused only because it had failed? The first of them is the planner's choice. */
static tw_status fail_failed(const tw_context *context, const tw_problem *p, const first_use_wish *w)
{
    const kernel_row *forced = w->choice != NULL && w->choice->kernel != NULL ? kernel_named(w->choice->kernel) : NULL;
    const kernel_verdict *first = NULL;
    device_facts facts = context->facts;
    facts.no_workspace = w->no_workspace;
    for (const kernel_verdict *v = first_use_facts(context).verdicts; v != NULL; v = v->next)
        if ((forced == NULL || v->row == forced) && failed_for(v, p, &facts)) first = v;
    if (first == NULL) return TW_NO_KERNEL;
    return fail(TW_NO_KERNEL, "%s%s", forced != NULL ? "" : "no kernel is left: ", first->text);
}

tw_status first_use_plan(tw_context *context, const tw_problem *p, const first_use_wish *w, plan *out)
{
    if (!context->tests && !w->no_workspace) return find(p, &context->facts, w, out);
    for (;;) {
        device_facts facts = first_use_facts(context);
        facts.no_workspace = w->no_workspace;
        const tw_status status = find(p, &facts, w, out);
        if (status == TW_NO_KERNEL) return fail_failed(context, p, w);
        if (status != TW_OK || !context->tests || !is_tested(out, w)) return status;
        /* it passed, since it fits */
        if (kernel_verdict_of(facts.verdicts, out->row, p, out->gpu.items) != NULL) return TW_OK;
        TRY(judge(context, out));
    }
}

const kernel_verdict *first_use_failed(const tw_context *context, const tw_problem *p, int index)
{
    const kernel_verdict *v = first_use_facts(context).verdicts;
    while (v != NULL && !((p != NULL ? failed_for(v, p, &context->facts) : !v->passed) && index-- == 0)) v = v->next;
    return v;
}

void first_use_close(tw_context *context)
{
    const kernel_verdict *next;
    for (const kernel_verdict *v = atomic_load(&context->verdicts); v != NULL; v = next) {
        next = v->next;
        free((void *)(uintptr_t)v);
    }
    pthread_mutex_destroy(&context->testing);
}
