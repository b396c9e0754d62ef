/* cmd_multiply_ranks.c - `multiply` started by mpirun: what is asked for, this rank's device, and where the result
 * goes. */
#include <string.h>
#include "../program/diag.h"
#include "../ranks/ranks.h"
#include "cmd.h"
#include "files.h"

static exit_code check_options(const session *s)
{
    const options *opt = s->opt;
    const char *engine = opt->engines.count > 0 ? opt->engines.items[0] : "auto";
    const char *const inputs[] = {opt->operands[0], opt->operands[1], opt->add};
    if (opt->output == NULL) return diag(EXIT_USAGE, "-o FILE is missing: where C is to be written");
    const io_format format = io_format_of(opt->output);
    if (format != IO_FORMAT_NPY && format != IO_FORMAT_RAW)
        return diag(EXIT_USAGE, "-o %s: several ranks write .npy, .raw or .bin", opt->output);
    if (strcmp(engine, "opencl") == 0)
        return diag(EXIT_USAGE, "--engine %s: several ranks multiply by the cpu engine or by cuda", engine);
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
        if (inputs[i] != NULL && (strcmp(inputs[i], "-") == 0 || io_named(inputs[i]) == IO_FORMAT_MTX))
            return diag(EXIT_USAGE, "%s: several ranks read regular .npy, .raw and .bin files", inputs[i]);
    if (opt->invariant) return diag(EXIT_USAGE, "--invariant: several ranks divide k, which changes the bits of rows");
    if (opt->epilogue != NULL || opt->binds.count > 0)
        return diag(EXIT_USAGE, "--epilogue: several ranks take none: start one program, without mpirun");
    if (opt->panels.count > 0 && strcmp(engine, "cuda") != 0)
        return diag(EXIT_USAGE, "--panels is for ranks that multiply on GPUs: --engine cuda");
    const product_wish wish = session_product(s);
    return operands_check_options(&wish);
}

/* The ranks of a host take its GPUs, or those of --device, in turn. */
static exit_code open_gpu(session *s, const rank_world *world)
{
    static options own;
    const number_list *named = &s->opt->devices;
    int32_t count = 0;
    own = *s->opt;
    if (named->count > 0 && named->items[0] >= 0) {
        own.devices.items[0] = named->items[world->place % named->count];
    } else {
        if (tw_lab_engine_devices("cuda", NULL, 0, &count) != TW_OK) return diag_tw(TW_NO_DEVICE);
        own.devices.items[0] = world->place % count;
    }
    own.devices.count = 1;
    s->opt = &own;
    return session_open_device(s, "cuda");
}

/* Ranks that may run on the same processors share them. */
static exit_code open_cpu(session *s, const rank_world *world)
{
    static options own;
    exit_code code = session_open_device(s, "cpu");
    if (code != EXIT_OK || s->opt->threads > 0 || world->sharing < 2) return code;
    if (strcmp(s->device.threads_from, "TILEWRIGHT_THREADS") == 0 ||
        strcmp(s->device.threads_from, "OMP_NUM_THREADS") == 0)
        return code;
    own = *s->opt;
    own.threads = s->device.threads / world->sharing > 1 ? s->device.threads / world->sharing : 1;
    s->opt = &own;
    return session_open_device(s, "cpu");
}

static exit_code open_device(session *s, const rank_world *world)
{
    const name_list *engines = &s->opt->engines;
    return engines->count > 0 && strcmp(engines->items[0], "cuda") == 0 ? open_gpu(s, world) : open_cpu(s, world);
}

static ranks_wish wish_of(const session *s)
{
    const options *opt = s->opt;
    const shape *grid = &opt->grids.items[0];
    return (ranks_wish){.product = session_product(s),
                        .panels = opt->panels.count > 0 ? opt->panels.items[0] : NULL,
                        .has_grid = opt->grids.count > 0,
                        .grid = {(int32_t)grid->m, (int32_t)grid->n, (int32_t)grid->k},
                        .network_gbps = opt->network,
                        .timeout_s = opt->timeout,
                        .recheck = files_recheck};
}

static exit_code tell(session *s, rank_job *job)
{
    ranks_tell(job, files_replaced());
    const exit_code code = session_flush(s);
    if (code != EXIT_OK) return code;
    const record r = ranks_record(job);
    return session_record(s, &r);
}

exit_code cmd_multiply_ranks(session *s, const launched *l)
{
    static rank_job job;
    exit_code code = ranks_begin(&job, l, s->opt->timeout);
    if (code != EXIT_OK) return code;
    code = check_options(s);
    if (code == EXIT_OK) code = open_device(s, &job.world);
    const ranks_wish wish = wish_of(s);
    code = ranks_multiply(&job, &wish, code);
    if (code == EXIT_OK) code = tell(s, &job);
    ranks_end(&job, code);
    return code;
}
