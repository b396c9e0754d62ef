/* cmd_devices.c - `tilewright devices`: what can compute here, what was chosen why, and how fast each is, measured and
 * published. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "../lab/bench/roofs.h"
#include "../lab/chosen.h"
#include "../lab/devices.h"
#include "../program/apart.h"
#include "../program/diag.h"
#include "../program/driver.h"
#include "../program/object.h"
#include "../program/rows.h"
#include "../program/term.h"
#include "cmd.h"

enum { MOST = 64, STATE = 600, SHARED_TRIES = 3 };

/* What a device reached just now; NAN where it could not be measured. */
typedef struct ceilings {
    double peak_gflops, memory_gbps, cache_gbps, shared_gbps;
    int64_t memory_bytes, cache_bytes; /* of the working sets */
    char kernels[CHOSEN_TEXT], unused[UNUSED_TEXT];
} ceilings;

static ceilings measure(const tw_device *d)
{
    static roofs limits;
    const int threads = device_is_host(d) ? d->threads : 1;
    const tw_options wanted = {.size = sizeof wanted, .device = d->index, .engine = d->engine};
    ceilings c = {NAN, NAN, NAN, NAN, 0, device_is_host(d) ? d->l2_bytes / 2 * threads : device_last_cache(d) / 2,
                  "",  ""};
    tw_context *context;
    term_progress(d->name, -1);
    if (tw_open(&wanted, &context) == TW_OK) {
        roofs_begin(&limits, context, d);
        c.memory_bytes = limits.memory_set;
        chosen_kernels(context, c.kernels);
        chosen_unused(context, NULL, c.unused);
        c.peak_gflops = roofs_peak(&limits, TW_F32, threads, 0) * 1e-9;
        c.memory_gbps = roofs_memory_bandwidth(&limits, threads, 0) * 1e-9;
        if (c.cache_bytes > 0) c.cache_gbps = roofs_bandwidth(&limits, c.cache_bytes, threads, 0) * 1e-9;
        double shared;
        if (!device_is_host(d) && tw_lab_shared_bandwidth(context, SHARED_TRIES, &shared) == TW_OK)
            c.shared_gbps = shared * 1e-9;
        tw_close(context);
    }
    if (isnan(c.peak_gflops)) diag_tw(TW_DEVICE_FAILED);
    term_progress_end();
    return c;
}

static void print_cache(FILE *text, const char *name, int64_t bytes)
{
    if (bytes > 0) fprintf(text, "  %s %" PRId64 " KiB", name, bytes / 1024);
}

static void print_device(FILE *text, const tw_device *d)
{
    const char *limit = getenv("TILEWRIGHT_CPU");
    bool limited = limit != NULL && limit[0] != '\0';
    fprintf(text, "%s %" PRId32 "%*s%s\n", d->engine, d->index, 9 - (int)strlen(d->engine), "", d->name);
    if (device_is_host(d))
        fprintf(text, "  code     %s, %s\n  threads  %" PRId32 ", from %s\n", d->instruction_set,
                limited ? "limited by TILEWRIGHT_CPU" : "the best that processor and system support", d->threads,
                d->threads_from);
    else if (d->instruction_set[0] != '\0')
        fprintf(text, "  code     %s\n", d->instruction_set);
    if (!device_is_host(d)) fprintf(text, "  units    %" PRId32 " %s\n", d->threads, d->threads_from);
    fprintf(text, "  caches ");
    print_cache(text, "L1", d->l1_bytes);
    print_cache(text, "L2", d->l2_bytes);
    print_cache(text, "L3", d->l3_bytes);
    if (d->l1_bytes + d->l2_bytes + d->l3_bytes == 0) fprintf(text, "  unknown");
    fprintf(text, "\n  memory   %.1f GiB\n", (double)d->memory_bytes / 1073741824);
}

static void print_ceilings(FILE *text, const ceilings *c, const published_device *p)
{
    term_number peak, memory, cache;
    if (c->kernels[0] != '\0') fprintf(text, "  kernels  %s\n", c->kernels);
    layout_lines(text, "  unused   ", c->unused);
    fprintf(text, "  peak     %s GFLOP/s of multiply-adds in f32\n", term_gflops(c->peak_gflops, peak));
    fprintf(text, "  reads    %s GB/s from memory (%" PRId64 " KiB), %s GB/s from the cache (%" PRId64 " KiB)\n",
            term_gflops(c->memory_gbps, memory), c->memory_bytes / 1024, term_gflops(c->cache_gbps, cache),
            c->cache_bytes / 1024);
    if (!isnan(c->shared_gbps))
        fprintf(text, "           %s GB/s from shared memory\n", term_gflops(c->shared_gbps, memory));
    if (p == NULL)
        fprintf(text, "  published: none known\n");
    else
        fprintf(text, "  published: %.1f GFLOP/s, %.1f GB/s from memory (%d)\n           %s\n", p->peak_gflops,
                p->memory_gbps, p->year, p->source);
}

static void write_device(FILE *json, const tw_device *d, const ceilings *c, const published_device *p,
                         const char *state)
{
    object o = object_begin(json);
    object_text(&o, "engine", d->engine);
    object_number(&o, "device", d->index);
    object_text(&o, "name", d->name);
    object_text(&o, "instruction_set", d->instruction_set);
    object_text(&o, "kernels", c->kernels);
    object_text(&o, "unused_kernels", c->unused);
    object_number(&o, "threads", d->threads);
    object_text(&o, "threads_from", d->threads_from);
    object_number(&o, "l1_bytes", (double)d->l1_bytes);
    object_number(&o, "l2_bytes", (double)d->l2_bytes);
    object_number(&o, "l3_bytes", (double)d->l3_bytes);
    object_number(&o, "memory_bytes", (double)d->memory_bytes);
    object_number(&o, "peak_gflops", c->peak_gflops);
    object_number(&o, "memory_gbps", c->memory_gbps);
    object_number(&o, "cache_gbps", c->cache_gbps);
    object_number(&o, "shared_gbps", c->shared_gbps);
    object_number(&o, "published_peak_gflops", p != NULL ? p->peak_gflops : (double)NAN);
    object_number(&o, "published_memory_gbps", p != NULL ? p->memory_gbps : (double)NAN);
    object_text(&o, "published_source", p != NULL ? p->source : NULL);
    object_text(&o, "engine_state", state);
    object_end(&o);
}

enum { LIST = -1 }; /* an order: tell of the engine; others: measure that device */

typedef struct answer {
    char state[STATE];
    tw_status status;
    char sentence[STATE]; /* of a failure */
    int32_t count;
    tw_device devices[MOST];
    ceilings ceilings;
} answer;

static void ask(void *session_of, const char *engine, int order, void *out)
{
    static tw_device devices[MOST]; /* as the last list had them */
    answer *x = out;
    (void)session_of;
    if (order != LIST) {
        x->ceilings = measure(&devices[order]);
        return;
    }
    devices[0].size = sizeof devices[0];
    x->status = tw_lab_engine_devices(engine, devices, MOST, &x->count);
    snprintf(x->sentence, sizeof x->sentence, "%s", x->status == TW_BAD_ARGUMENT ? tw_error_text() : "");
    if (x->count > MOST) x->count = MOST;
    memcpy(x->devices, devices, sizeof devices);
    tw_lab_engine_state(engine, x->state, sizeof x->state);
}

/* An engine: what it runs with or what it lacks, then its devices. EXIT_RUN: its driver crashed. */
static exit_code tell_engine(session *s, apart *engines, int i, int32_t *all)
{
    static answer list, measured;
    exit_code code = EXIT_OK;
    bool lives = apart_ask(engines, i, LIST, &list);
    /* a variable of the environment */
    if (lives && list.status == TW_BAD_ARGUMENT) return diag(EXIT_USAGE, "%s", list.sentence);
    fprintf(s->text, "%-10s %s%s\n", tw_lab_engine_at(i),
            lives ? "" : "listing its devices failed: ", lives ? list.state : engines->why[i]);
    *all += list.count;
    for (int d = 0; lives && d < list.count && code == EXIT_OK; d++) {
        const tw_device *device = &list.devices[d];
        const published_device *p = devices_published(device->name);
        print_device(s->text, device);
        lives = apart_ask(engines, i, d, &measured);
        if (!lives) {
            measured.ceilings = (ceilings){NAN, NAN, NAN, NAN, 0, 0, "", ""};
            fprintf(s->text, "  measured: %s%s\n", engines->why[i], driver_advice(list.state));
        }
        if (lives) print_ceilings(s->text, &measured.ceilings, p);
        write_device(s->json, device, &measured.ceilings, p, list.state);
        s->json_lines = true;
        code = session_flush(s);
    }
    return code != EXIT_OK || lives ? code : EXIT_RUN;
}

exit_code cmd_devices(session *s)
{
    static apart engines;
    int32_t all = 0;
    exit_code code = EXIT_OK, driver = EXIT_OK;
    const busy_reading begun = busy_now();
    apart_begin(&engines, ask, s, sizeof(answer), 120); /* the probes are compiled, maybe on a busy machine */
    for (int i = 0; i < engines.count && code == EXIT_OK; i++) {
        code = tell_engine(s, &engines, i, &all);
        if (code == EXIT_RUN) driver = code, code = EXIT_OK;
    }
    apart_end(&engines);
    rows_tell_busy(s->text, &begun);
    if (code == EXIT_OK) code = driver;
    return code == EXIT_OK && all == 0 ? diag(EXIT_DEVICE, "no device was found") : code;
}
