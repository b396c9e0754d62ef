/* report_limits.c - what limits each rung: the access model's limits beside the measured speed, and the bytes that it
 * predicts beside those that hardware counted. */
#include "report_limits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "../../lab/devices.h"
#include "../access/predict.h"
#include "chart.h"

static tw_op op_of(char letter) { return letter == 't' ? TW_T : TW_N; }

bool report_launch(const ladder_step *step, access_launch *out, const published_device **device)
{
    const tw_lab_kernel *kernel = row_kernel(step->row);
    const record *d = &step->row->r;
    char why[200];
    *device = devices_published(d->device);
    if (kernel == NULL || strcmp(kernel->engine, "cpu") == 0) return false;
    tw_problem problem = tw_problem_make(kernel->dtype, op_of(d->op_a), op_of(d->op_b), d->m, d->n, d->k);
    return access_open(out, kernel, d->tile > 0 ? d->tile : 0, &problem, why, (int)sizeof why);
}

/* The prediction holds loops rolled where the rung does, so that the measured speed is that build's. */
static bool make_group(const ladder_step *step, chart_group *out)
{
    access_launch launch;
    const published_device *device;
    const record *d = &step->row->r;
    if (!row_timed(step->row) || !report_launch(step, &launch, &device) || device == NULL ||
        device->capability[0] == '\0')
        return false;
    const prediction y = predict_on(&launch, device);
    const bool caches = access_era_of(device->capability) > ERA_1_2;
    const double flops = report_flops(d);
    *out = (chart_group){
        .label = step->label,
        .series = report_series(step->row),
        .measured = d->gflops,
        .limits = {y.shared_gflops, y.issue_gflops, caches ? (double)NAN : flops / y.memory_s / 1e9, y.bound_gflops}};
    return true;
}

void report_limits(const report *r, const ladder *l)
{
    static const char *const names[CHART_LIMITS] = {"banks", "issue", "traffic", "roofline"};
    chart_group *groups = calloc((size_t)l->count + 1, sizeof *groups);
    char title[240];
    report_device_text device;
    int count = 0;
    *r->no_memory |= groups == NULL;
    for (int i = 0; groups != NULL && i < l->count; i++) count += make_group(&l->steps[i], &groups[count]);
    if (count > 0) {
        snprintf(title, sizeof title, "What limits each rung, %.20s on %.80s",
                 report_engine_name(r->ladders->machines[l->machine].engine),
                 report_device(&r->ladders->machines[l->machine], device));
        const chart about = {title,
                             "Of each rung what shared memory, instructions and the roofline allow, predicted, as "
                             "hollow bars, and the measured speed as a filled one.",
                             false};
        fputs("<figure>\n", r->out);
        chart_groups(r->out, &about, names, groups, count);
        fputs("<figcaption>What limits each rung. Hollow: what the passes through the banks of shared memory, the rate "
              "of "
              "instructions and the roofline allow, each alone, by the access model and published figures. Filled: "
              "measured. Where the "
              "filled bar reaches the shortest hollow one, the reason is found; where it stays below, something waits: "
              "memory's latency, or a barrier.</figcaption>\n</figure>\n",
              r->out);
    }
    free(groups);
}

void report_scatter(const report *r, const ladder *l, const double *counted)
{
    chart_pair *pairs = calloc((size_t)l->count + 1, sizeof *pairs);
    int count = 0;
    *r->no_memory |= pairs == NULL;
    for (int i = 0; pairs != NULL && i < l->count; i++) {
        access_launch launch;
        const published_device *device;
        if (!(counted[i] > 0) || !report_launch(&l->steps[i], &launch, &device) || device == NULL) continue;
        const predict_traffic t = predict_cached(&launch, device);
        if (!(t.l2_bytes > 0)) continue;
        pairs[count++] = (chart_pair){l->steps[i].label, t.l2_bytes / 1e9, counted[i] / 1e9,
                                      report_series(l->steps[i].row)};
    }
    if (count > 1) {
        const chart about = {"L2 bytes, predicted and counted",
                             "One dot per rung: predicted to the right, counted "
                             "upwards, both logarithmic.",
                             false};
        fputs("<figure>\n", r->out);
        chart_scatter(r->out, &about, pairs, count, "GB through the L2");
        fputs(
            "<figcaption>Bytes through the L2. On the dashed diagonal the model is right. Below it requests of "
            "several blocks were merged on their way to the L2, which the model leaves out.</figcaption>\n</figure>\n",
            r->out);
    }
    free(pairs);
}
