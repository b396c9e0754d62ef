/* record.c - what the parts of `tilewright explain` found, as a record. */
#include "explain.h"

#include <math.h>
#include "../../lab/roofline.h"
#include "../../program/object.h"

void explain_record(const explain *x, FILE *json)
{
    const tw_problem *p = &x->problem;
    const tw_lab_kernel *k = x->kernel;
    double asked = roofline_bytes_asked(p, x->block_m, x->block_n);
    object o = object_begin(json);
    object_text(&o, "engine", k->engine);
    object_text(&o, "rung", k->rung);
    object_text(&o, "dtype", tw_lab_dtype_of(k->dtype)->name);
    object_number(&o, "m", (double)p->m);
    object_number(&o, "n", (double)p->n);
    object_number(&o, "k", (double)p->k);
    object_number(&o, "tile", x->tile);
    object_number(&o, "flop", roofline_flops(p));
    object_number(&o, "bytes_asked", asked);
    object_number(&o, "compulsory_bytes", roofline_compulsory_bytes(p));
    object_number(&o, "flop_per_byte", roofline_flops(p) / asked);
    predict_degrees d = {NAN, NAN, NAN};
    if (x->modelled) d = predict_average(&x->launch, ERA_NOW);
    object_number(&o, "sectors_per_load", d.sectors_per_load);
    object_number(&o, "bank_degree_load", d.bank_degree_load);
    object_number(&o, "bank_degree_store", d.bank_degree_store);
    object_text(&o, "no_model", x->modelled ? NULL : x->no_model);
    object_text(&o, "binary", x->binary);
    object_number(&o, "loop_instructions", x->binary[0] != '\0' ? x->loop.total : (double)NAN);
    object_number(&o, "loop_multiply_adds", x->binary[0] != '\0' ? x->loop.of[CODE_FMA] : (double)NAN);
    if (x->gpu != NULL) {
        char name[DEVICES_NAME];
        object_text(&o, "gpu", devices_name(x->gpu, name));
        prediction y = {.moved_bytes = NAN, .serial_s = NAN, .overlapped_s = NAN};
        char why[200];
        bool fits = explain_fits(x, x->gpu, why, sizeof why);
        predict_traffic t = {NAN, NAN, NAN, NAN};
        if (fits && x->modelled) y = predict_on(&x->launch, x->gpu), t = predict_cached(&x->launch, x->gpu);
        double memory = fits ? x->gpu->memory_gbps * 1e9 : (double)NAN, peak = explain_peak_gflops(x, x->gpu) * 1e9;
        object_text(&o, "does_not_fit", fits ? NULL : why);
        object_number(&o, "bound_asked_gflops",
                      fits ? fmin(roofline_no_cache_flops(p, asked, memory), peak) / 1e9 : (double)NAN);
        object_number(&o, "bound_gflops", roofline_bound_flops(p, peak, memory) / 1e9);
        object_number(&o, "moved_bytes", y.moved_bytes);
        object_number(&o, "predicted_s", y.serial_s);
        object_number(&o, "predicted_overlapped_s", y.overlapped_s);
        object_number(&o, "resident_blocks", t.resident_blocks);
        object_number(&o, "predicted_l2_bytes", t.l2_bytes);
        object_number(&o, "dram_low_bytes", t.dram_low_bytes);
        object_number(&o, "dram_high_bytes", t.dram_high_bytes);
    }
    object_end(&o);
}
