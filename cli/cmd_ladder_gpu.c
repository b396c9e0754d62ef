/* cmd_ladder_gpu.c - `tilewright ladder --gpu MODEL`: the ladder predicted for a published device; nothing is run. */
#include <inttypes.h>
#include <string.h>
#include "../course/predicted.h"
#include "../course/rungs.h"
#include "../lab/named.h"
#include "../program/diag.h"
#include "cmd.h"
#include "page.h"

enum { SIDE = 4096 };

_Static_assert((int)PREDICTED_MOST >= (int)RUNGS_MOST * (int)OPT_LIST, "all rungs at all edges of --tile have room");

static exit_code check_options(const options *o)
{
    const bool more = o->all || o->skinny || o->deep || o->append || o->device > 0 || o->threads > 0 ||
                      o->samples > 0 || o->slides;
    if (more || o->dtypes.count > 0)
        return diag(EXIT_USAGE, "--gpu predicts and runs nothing: it takes --engine, --rung, --size, --shape, --tile, "
                                "--transpose-a, --transpose-b, --json and --html");
    for (int i = 0; i < o->rungs.count; i++)
        if (user_kernel_is_path(o->rungs.items[i]))
            return diag(EXIT_USAGE, "--gpu takes no file: `explain %s` shows what its warps ask of memory",
                        o->rungs.items[i]);
    if (o->sizes.count > 1) return diag(EXIT_USAGE, "--gpu takes one --size");
    for (int i = 0; i < o->tiles.count; i++)
        if (o->tiles.items[i] != 8 && o->tiles.items[i] != 16 && o->tiles.items[i] != 32)
            return diag(EXIT_USAGE, "--tile: found %" PRId64 ", a GPU rung takes 8, 16 or 32", o->tiles.items[i]);
    if (o->engines.count > 1 || (o->engines.count == 1 && strcmp(o->engines.items[0], "cpu") == 0))
        return diag(EXIT_USAGE, "--gpu: the engine is cuda or opencl, one of them");
    return EXIT_OK;
}

static bool is_asked_for(const options *o, const tw_lab_kernel *row)
{
    if (o->rungs.count == 0) return !row->family && !row->skinny && !row->deep;
    for (int i = 0; i < o->rungs.count; i++)
        if (kernel_is_called(row, o->rungs.items[i])) return true;
    return false;
}

static exit_code check_rungs(const options *o, const char *engine)
{
    words_hint meant;
    for (int i = 0; i < o->rungs.count; i++) {
        const tw_lab_kernel *row = NULL;
        bool named = false;
        if (strcmp(o->rungs.items[i], RUNG_PLANNED) == 0)
            return diag(EXIT_USAGE, "--rung " RUNG_PLANNED ": the planner chooses it for a device that is here");
        for (int k = 0; !named && (row = tw_lab_kernel_at(k)) != NULL; k++)
            named = strcmp(row->engine, engine) == 0 && kernel_is_called(row, o->rungs.items[i]);
        if (!named)
            return diag(EXIT_USAGE, "--rung %s: the %s engine has no such rung%s", o->rungs.items[i], engine,
                        words_meant_of(words_rungs, o->rungs.items[i], meant));
    }
    return EXIT_OK;
}

/* Some rungs have a row for each of several types: the first stands for all. */
static bool is_there(const predicted *x, const tw_lab_kernel *row)
{
    for (int i = 0; i < x->count; i++)
        if (strcmp(x->steps[i].kernel->rung, row->rung) == 0) return true;
    return false;
}

static void add_steps(predicted *x, const options *o)
{
    const tw_lab_kernel *row;
    for (int i = 0; (row = tw_lab_kernel_at(i)) != NULL; i++) {
        const bool swept = o->tiles.count > 0;
        if (!rung_in_ladder(x->engine, TW_F32, row) || !is_asked_for(o, row) || is_there(x, row)) continue;
        if (swept && row->default_tile == 0) continue;
        for (int t = 0; t < (swept ? o->tiles.count : 1); t++)
            predicted_add(x, row, swept ? (int)o->tiles.items[t] : 0);
    }
}

static exit_code choose(predicted *x, const options *o)
{
    exit_code code = check_options(o);
    if (code == EXIT_OK) code = option_gpu(o->gpu, &x->gpu);
    if (code != EXIT_OK) return code;
    const int64_t n = o->sizes.count > 0 ? o->sizes.items[0] : SIDE;
    const shape p = o->shapes.count > 0 ? o->shapes.items[0] : (shape){n, n, n};
    x->engine = o->engines.count > 0 && strcmp(o->engines.items[0], "opencl") == 0 ? "opencl" : "cuda";
    x->problem = tw_problem_make(TW_F32, o->transpose_a ? TW_T : TW_N, o->transpose_b ? TW_T : TW_N, p.m, p.n, p.k);
    code = check_rungs(o, x->engine);
    if (code != EXIT_OK) return code;
    add_steps(x, o);
    if (x->count == 0) return diag(EXIT_USAGE, "none of these rungs has a tile edge that --tile could choose");
    return EXIT_OK;
}

exit_code cmd_ladder_gpu(session *s)
{
    static predicted x;
    page p = {0};
    const char *html = s->opt->html;
    x.count = 0;
    if (html != NULL && report_form_of(html) != REPORT_PAGE)
        return diag(EXIT_USAGE, "--html %s: --gpu writes a page: give it another ending, such as .html", html);
    exit_code code = choose(&x, s->opt);
    if (code == EXIT_OK && html != NULL) code = page_open(&p, html, false);
    if (code == EXIT_OK) {
        predicted_print(&x, s->text);
        predicted_record(&x, s->json);
        s->json_lines = s->json != NULL;
        code = session_flush(s);
    }
    if (code == EXIT_OK && html != NULL) code = page_write_by(&p, predicted_page, &x);
    page_discard(&p);
    return code;
}
