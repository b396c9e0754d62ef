/* explain_arithmetic.c - flop, bytes asked and their ratio, as the documents' formulas and in numbers for the shape;
 * and where that puts the bounds on published devices and on the present one. */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "../lab/bench/roofs.h"
#include "../lab/devices.h"
#include "../lab/roofline.h"
#include "explain.h"
#include "term.h"

static double element_bytes(const explain *x) { return tw_lab_dtype_of(x->kernel->dtype)->bytes; }

void explain_arithmetic(const explain *x)
{
    FILE *text = x->s->text;
    const tw_problem *p = &x->problem;
    double flops = roofline_flops(p), asked = roofline_bytes_asked(p, x->block_m, x->block_n),
           compulsory = roofline_compulsory_bytes(p);
    double mn = (double)p->m * (double)p->n, m = (double)p->m, n = (double)p->n, k = (double)p->k,
           size = element_bytes(x);
    double c_bytes = compulsory - size * (m * k + k * n);
    explain_heading(x, "In numbers");
    fprintf(text, "shape            m n k = %" PRId64 " %" PRId64 " %" PRId64 ", elements of %.0f bytes\n", p->m, p->n,
            p->k, size);
    fprintf(text, "flop             2 m n k = %.0f\n", flops);
    if (x->block_m == 1 && x->block_n == 1)
        fprintf(text, "bytes asked      %.0f (m n k + m n k) = %.0f: each product reads both its factors\n", size,
                asked);
    else
        fprintf(text,
                "bytes asked      %.0f (m k n/bn + k n m/bm) = %.0f with blocks of bm x bn = %" PRId64 " x %" PRId64
                ", rounded up\n",
                size, asked, x->block_m, x->block_n);
    fprintf(text, "flop per byte    2 bm bn / (%.0f (bm + bn)) = %.4g; with the store of C %.5g\n", size, flops / asked,
            flops / (asked + c_bytes));
    fprintf(text,
            "flop per word    %.4g (Ruiz 2024: naive 1, tiles of r r, each word once %.6g; with the writes of C "
            "%.5g%s)\n",
            flops / asked * size, flops / (m * k + k * n), flops / (m * k + k * n + mn),
            p->m == p->n && p->n == p->k ? ": n and 2n/3" : "");
    fprintf(text, "compulsory       %.0f (m k + k n) + C = %.0f bytes: A, B and C once; %.4g flop per byte\n", size,
            compulsory, flops / compulsory);
    if (x->kernel->skinny)
        fprintf(text,
                "effective        4 (m T n/T + T n m/T + m n) = %.0f bytes, m/T and n/T rounded up: 12 m n where whole "
                "(inferred from NVIDIA Best Practices)\n",
                roofline_bytes_asked(p, x->tile, x->tile) + 4 * mn);
}

/* ---- bounds ---- */

bool explain_fits(const explain *x, const published_device *d, char *why, size_t why_bytes)
{
    return predict_fits(x->kernel, x->tile, x->modelled ? x->launch.block_x * x->launch.block_y : 0, d, why, why_bytes);
}

double explain_peak_gflops(const explain *x, const published_device *d)
{
    return x->kernel->dtype == TW_F32 ? d->peak_gflops : (double)NAN;
}

static void print_bound_header(FILE *text)
{
    fprintf(text, "%-26s %8s %9s | %11s %9s | %9s %9s %9s | %s\n", "", "", "", "bound_asked", "bound", "shared",
            "issue", "traffic", "predicted");
    fprintf(text, "%-26s %8s %9s | %11s %9s | %9s %9s %9s | %s\n", "GFLOP/s", "GB/s", "peak", "no cache", "roofline",
            "banks", "rate", "no cache", "no overlap to full");
}

/* On devices with caches, which serve part of the traffic: the least of the bounds that hold there. */
static void print_least(FILE *text, const prediction *y)
{
    term_number t;
    double least = y->bound_gflops;
    const char *what = "roofline";
    if (y->issue_gflops < least) least = y->issue_gflops, what = "issue";
    if (y->shared_gflops < least) least = y->shared_gflops, what = "banks";
    fprintf(text, "at most %s: %s\n", term_gflops(least, t), what);
}

static void print_bounds(const explain *x, const char *name, double gbps, double peak_gflops, const published_device *d)
{
    FILE *text = x->s->text;
    const tw_problem *p = &x->problem;
    term_number t[8];
    double flops = roofline_flops(p), asked = roofline_bytes_asked(p, x->block_m, x->block_n);
    char why[200];
    if (d != NULL && !explain_fits(x, d, why, sizeof why)) { /* what cannot run is promised no speed */
        fprintf(text, "%-26.26s %8s %9s | %11s %9s | %9s %9s %9s | does not fit: %s\n", name, term_gflops(gbps, t[0]),
                term_gflops(peak_gflops, t[1]), "-", "-", "-", "-", "-", why);
        return;
    }
    fprintf(text, "%-26.26s %8s %9s | %11s %9s |", name, term_gflops(gbps, t[0]), term_gflops(peak_gflops, t[1]),
            term_gflops(fmin(roofline_no_cache_flops(p, asked, gbps * 1e9) / 1e9, peak_gflops), t[2]),
            term_gflops(roofline_bound_flops(p, peak_gflops * 1e9, gbps * 1e9) / 1e9, t[3]));
    if (!x->modelled || d == NULL) {
        fprintf(text, " %9s %9s %9s |\n", "-", "-", "-");
        return;
    }
    prediction y = predict_on(&x->launch, d);
    fprintf(text, " %9s %9s %9s | ", term_gflops(y.shared_gflops, t[4]), term_gflops(y.issue_gflops, t[5]),
            term_gflops(flops / y.memory_s / 1e9, t[6]));
    if (access_era_of(d->capability) > ERA_1_2)
        print_least(text, &y);
    else
        fprintf(text, "%s to %s\n", term_gflops(flops / y.serial_s / 1e9, t[0]),
                term_gflops(flops / y.overlapped_s / 1e9, t[1]));
}

/* The device of the rung's engine that is here: ceilings as measured now. */
static void print_present(const explain *x)
{
    static roofs limits;
    FILE *text = x->s->text;
    session *s = x->s;
    char state[600];
    if (tw_lab_engine_state(x->kernel->engine, state, sizeof state) != 1 ||
        session_open_device(s, x->kernel->engine) != EXIT_OK) {
        fprintf(text, "no device of the %s engine is here\n", x->kernel->engine);
        return;
    }
    const tw_device *d = &s->device;
    int threads = device_is_host(d) ? d->threads : 1;
    term_progress("measuring the device's ceilings", -1);
    roofs_begin(&limits, s->context, d);
    double peak = roofs_peak(&limits, x->kernel->dtype, threads, 0) / 1e9,
           memory = roofs_memory_bandwidth(&limits, threads, 0) / 1e9;
    term_progress_end();
    fprintf(text, "present, ceilings measured now:\n");
    const published_device *p = devices_published(d->name);
    if (p != NULL) { /* its figures, at the ceilings that were measured */
        published_device measured = *p;
        measured.memory_gbps = memory;
        print_bounds(x, d->name, memory, peak, &measured);
    } else
        print_bounds(x, d->name, memory, peak, NULL);
}

void explain_bounds(const explain *x)
{
    static const char *const models[] = {"8800 GT", "8800 GTX", "GTX 280", "P100", "H200"};
    FILE *text = x->s->text;
    char name[DEVICES_NAME];
    explain_heading(x, "Where its bounds lie");
    print_bound_header(text);
    if (x->gpu != NULL) {
        print_bounds(x, devices_name(x->gpu, name), x->gpu->memory_gbps, explain_peak_gflops(x, x->gpu), x->gpu);
        fprintf(text, "%s\n", x->gpu->source);
    } else {
        for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
            const published_device *d = devices_model(models[i]);
            if (d != NULL) print_bounds(x, devices_name(d, name), d->memory_gbps, explain_peak_gflops(x, d), d);
        }
        print_present(x);
    }
    if (x->kernel->dtype != TW_F32)
        fprintf(text, "peak         of f32 alone: %s may beat that, and has no roofline here\n",
                tw_lab_dtype_of(x->kernel->dtype)->name);
    fprintf(text,
            "bound_asked  what the bytes asked allow at memory's bandwidth, at most the peak: the documents' bound; "
            "caches may beat it\nbound        min(peak, flop / compulsory bytes x bandwidth), the roofline: nothing "
            "may beat it\nshared, issue, traffic   what wavefronts of shared memory, instructions (loops as the rung "
            "holds them, without the address arithmetic of\n             a tile's loads), and the bytes that "
            "transactions move allow, each alone; where caches are, traffic is not a bound\n");
}
