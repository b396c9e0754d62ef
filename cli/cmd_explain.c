/* cmd_explain.c - `tilewright explain`: what a rung does and why: its idea, its picture, what it asks of memory, where
 * its bounds lie. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "../course/explain/explain.h"
#include "../lab/bench/row.h"
#include "../lab/named.h"
#include "../program/diag.h"
#include "../program/driver.h"
#include "../program/rows.h"
#include "../program/term.h"
#include "../program/warden.h"
#include "../ranks/divided.h"
#include "cmd.h"
#include "page.h"

enum { SIZE = 4096, STATE = 600 };

/* ---- which rung, which shape ---- */

static bool is_engine(const char *wanted, const char *engine)
{
    return strcmp(wanted, "auto") == 0 || strcmp(wanted, engine) == 0;
}

/* Of the rows of one rung: CUDA's, then OpenCL's, then the CPU's; in f32 where there is one; on the CPU the last that
 * fits it. */
static int rank_of(session *s, const tw_lab_kernel *row)
{
    int rank = strcmp(row->engine, "cuda") == 0 ? 6 : strcmp(row->engine, "opencl") == 0 ? 4 : 0;
    if (row->dtype == TW_F32) rank += 2;
    if (rank > 2 || session_open_device(s, "cpu") != EXIT_OK) return rank;
    tw_lab_choice choice = {.kernel = row->name};
    tw_problem p = tw_problem_make(row->dtype, TW_N, TW_N, 64, 64, 64);
    return rank + (tw_lab_fits(s->context, &choice, &p, NULL, 0) == 1);
}

static exit_code choose_rung(session *s, explain *x, const char *word)
{
    const name_list *engines = &s->opt->engines;
    const char *wanted = engines->count > 0 ? engines->items[0] : "auto", *last = "";
    char known[1200] = "";
    words_hint meant;
    int best = -1;
    bool elsewhere = false;
    const tw_lab_kernel *row;
    for (int i = 0; (row = tw_lab_kernel_at(i)) != NULL; i++) {
        bool named = kernel_is_called(row, word);
        elsewhere = elsewhere || named;
        if (!is_engine(wanted, row->engine)) continue;
        size_t used = strlen(known);
        if (!row->family && strcmp(last, row->rung) != 0 && strstr(known, row->rung) == NULL)
            snprintf(known + used, sizeof known - used, " %s", row->rung);
        last = row->rung;
        int rank = named ? rank_of(s, row) : -1;
        if (rank > best || (rank >= 0 && rank == best && strcmp(row->engine, "cpu") == 0)) best = rank, x->kernel = row;
    }
    if (x->kernel != NULL) return EXIT_OK;
    if (elsewhere) return diag(EXIT_USAGE, "%s: the %s engine has no such rung; it has:%s", word, wanted, known);
    return diag(EXIT_USAGE, "%s: no such rung or kernel; the rungs are:%s; docs/KERNELS.md has all kernels%s", word,
                known, words_meant_of(words_rungs, word, meant));
}

static exit_code choose_shape(const options *opt, explain *x)
{
    const tw_lab_kernel *k = x->kernel;
    int64_t tile = opt->tiles.count > 0 ? opt->tiles.items[0] : 0;
    shape p = {SIZE, SIZE, k->skinny ? tile > 0 ? tile : 16 : SIZE};
    if (opt->shapes.count > 0) p = opt->shapes.items[0];
    x->problem = tw_problem_make(k->dtype, TW_N, TW_N, p.m, p.n, p.k);
    if (tile > 0 && k->default_tile == 0) return diag(EXIT_USAGE, "--tile: %s has no tile edge to choose", k->rung);
    if (k->skinny && (p.k != 16 && p.k != 32))
        return diag(EXIT_USAGE, "%s: k must be 16 or 32, found %" PRId64, k->rung, p.k);
    if (k->skinny && tile > 0 && tile != p.k)
        return diag(EXIT_USAGE, "--tile: the tile of a skinny product is its k, %" PRId64, p.k);
    bool host = strcmp(k->engine, "cpu") == 0;
    if (!host && tile > 0 && tile != 8 && tile != 16 && tile != 32)
        return diag(EXIT_USAGE, "--tile: found %" PRId64 ", a GPU rung takes 8, 16 or 32", tile);
    x->tile = k->skinny ? (int)p.k : tile > 0 ? (int)tile : k->default_tile;
    x->block_m = k->tile_m > 0 ? k->tile_m : x->tile, x->block_n = k->tile_n > 0 ? k->tile_n : x->tile;
    x->block_k = k->tile_k > 0 ? k->tile_k : x->tile;
    if (!host && k->tile_m == 1 && k->tile_n == 1) x->block_k = 0;
    x->rolled = row_is_rolled(k);
    return EXIT_OK;
}

/* The C(3,11) that 5kk73 draws, or the element of a smaller C that is nearest to it. */
static exit_code choose_element(const options *opt, explain *x)
{
    const number_list *asked = &opt->element;
    int64_t m = x->problem.m, n = x->problem.n;
    x->i = m > 3 ? 3 : m - 1, x->j = n > 11 ? 11 : n - 1;
    if (asked->count == 0) return EXIT_OK;
    if (asked->count == 1) return diag(EXIT_USAGE, "--element: found one number, expected row and column such as 3,11");
    x->i = asked->items[0], x->j = asked->items[1];
    if (x->i < m && x->j < n) return EXIT_OK;
    return diag(EXIT_USAGE, "--element %" PRId64 ",%" PRId64 " lies outside C, which is %" PRId64 " x %" PRId64, x->i,
                x->j, m, n);
}

/* The CPU's blocks are the planner's. */
static exit_code choose_blocks(session *s, explain *x)
{
    tw_lab_plan plan;
    tw_lab_choice choice = {.kernel = x->kernel->name, .tile = s->opt->tiles.count > 0 ? x->tile : 0};
    x->modelled = access_open(&x->launch, x->kernel, x->tile, &x->problem, x->no_model, sizeof x->no_model);
    if (strcmp(x->kernel->engine, "cpu") != 0) return EXIT_OK;
    exit_code code = session_open_device(s, "cpu");
    if (code != EXIT_OK) return code;
    tw_status status = tw_lab_plan_of(s->context, &choice, &x->problem, &plan);
    if (status == TW_NO_KERNEL) return EXIT_OK; /* of another processor: the row's own blocks */
    if (status != TW_OK) return diag_tw(status);
    x->block_m = plan.block_m, x->block_n = plan.block_n, x->block_k = plan.block_k, x->tile = plan.tile;
    return EXIT_OK;
}

/* ---- the documents' tables ---- */

/* Effective bandwidths of the device that is open, at a side that takes it no longer than a moment; NAN where a rung
 * does not run. */
static exit_code measure_skinny(session *s, explain_present *out)
{
    static roofs limits;
    static row result;
    trial t;
    exit_code code = rows_side(setup_of(s), s->text, explain_skinny(s->device.engine, 0), PUBLISHED_WIDTH, SIZE, 0.05,
                               &out->side);
    if (code != EXIT_OK) return code;
    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, out->side, out->side, PUBLISHED_WIDTH);
    roofs_begin(&limits, s->context, &s->device);
    code = rows_trial(setup_of(s), &p, &t);
    if (code != EXIT_OK) return code;
    for (int i = 0; code == EXIT_OK && i < PUBLISHED_RUNGS; i++) {
        row_wish wish = {.kernel = explain_skinny(s->device.engine, i), .limit_s = 0.5};
        code = rows_run(setup_of(s), &t, &limits, &wish, 1, &result);
        out->skinny_gbps[i] = result.outcome == ROW_TIMED ? result.record.effective_gbps : (double)NAN;
        if (code == EXIT_OK && row_failed(&result)) code = diag(EXIT_CHECK, "%s: %s", wish.kernel->name, result.text);
    }
    trial_close(&t);
    term_progress_end();
    return code;
}

/* The tables of the course documents have shapes and devices of their own. */
static exit_code tables(session *s)
{
    const options *o = s->opt;
    if (o->operand_count > 0) return diag(EXIT_USAGE, "--tables takes no rung");
    if (o->html != NULL) return diag(EXIT_USAGE, "--html takes a rung: --tables has no pictures");
    if (o->engines.count + o->shapes.count + o->tiles.count + o->element.count > 0 || o->gpu != NULL || o->binary)
        return diag(EXIT_USAGE, "--tables works only with --json: other options belong to a rung");
    explain_present present = {.device = &s->device, .skinny_gbps = {NAN, NAN, NAN}};
    const busy_reading begun = busy_now();
    const char *engine = driver_is_usable("cuda", NULL, 0)     ? "cuda"
                         : driver_is_usable("opencl", NULL, 0) ? "opencl"
                                                               : "cpu";
    exit_code code = session_open_device(s, engine);
    /* what fails is said; the tables come all the same */
    if (code == EXIT_OK && !device_is_host(&s->device)) code = measure_skinny(s, &present);
    present.context = s->context;
    const exit_code of_tables = explain_tables(s->text, s->json, &present);
    rows_tell_busy(s->text, &begun);
    s->json_lines = s->json != NULL;
    exit_code flushed = session_flush(s);
    if (code == EXIT_OK) code = of_tables;
    return code != EXIT_OK ? code : flushed;
}

/* ---- ranks ---- */

/* An option that belongs to --ranks without it, or beside it one that belongs to a rung. */
static exit_code check_ranks(const options *o)
{
    const bool ranks = o->ranks > 0, rung = o->operand_count > 0 || o->engines.count > 0 || o->tiles.count > 0 ||
                                            o->element.count > 0 || o->gpu != NULL || o->binary || o->html != NULL ||
                                            o->tables;
    const char *needs = o->network > 0        ? "network"
                        : o->rate > 0         ? "rate"
                        : o->hosts > 0        ? "hosts"
                        : o->grids.count > 0  ? "grid"
                        : o->memory > 0       ? "memory"
                        : o->threads > 0      ? "threads"
                        : o->dtypes.count > 0 ? "dtype"
                                              : NULL;
    if (!ranks && needs != NULL) return diag(EXIT_USAGE, "--%s belongs to --ranks, which is not given", needs);
    if (ranks && rung)
        return diag(EXIT_USAGE, "--ranks explains no rung: it takes --hosts, --network, --rate, --grid, --shape, "
                                "--dtype, --threads, --memory and --json");
    if (o->hosts > o->ranks)
        return diag(EXIT_USAGE, "--hosts %" PRId64 ": there are %" PRId64 " ranks, at least one of a host", o->hosts,
                    o->ranks);
    return EXIT_OK;
}

static exit_code divide(session *s)
{
    const options *o = s->opt;
    const shape *grid = &o->grids.items[0], p = o->shapes.count > 0 ? o->shapes.items[0] : (shape){SIZE, SIZE, SIZE};
    const divided_wish wish = {.ranks = (int)o->ranks,
                               .hosts = (int)o->hosts,
                               .threads = (int)o->threads,
                               .grid = {(int)grid->m, (int)grid->n, (int)grid->k},
                               .dtype = session_dtype(s),
                               .m = p.m,
                               .n = p.n,
                               .k = p.k,
                               .memory = o->memory,
                               .network_gbps = o->network,
                               .rate_gflops = (double)o->rate};
    const exit_code code = divided_explain(&wish, s->text, s->json);
    if (code != EXIT_OK) return code;
    s->json_lines = s->json != NULL;
    return session_flush(s);
}

/* ---- a file ---- */

static exit_code unseen(const degree_pair *pair)
{
    static const exit_code codes[] = {
        [LANES_NONE] = EXIT_MEMORY,  [LANES_UNABLE] = EXIT_BUILD, [LANES_NOT_C] = EXIT_BUILD,
        [LANES_CRASHED] = EXIT_RUN,  [LANES_WRONG] = EXIT_CHECK,  [LANES_UNJUDGED] = EXIT_CHECK,
        [LANES_FAILED] = EXIT_MEMORY};
    const lanes *own = &pair->own;
    const char *file = pair->user->source.file;
    const bool on_device = own->outcome != LANES_CRASHED && own->outcome != LANES_FAILED;
    return diag(codes[own->outcome], "%s, launched like %s: %s%s%s%s", file, pair->user->like->rung, own->why,
                on_device ? " (`ladder --rung " : "", on_device ? file : "",
                own->outcome == LANES_WRONG ? "` times it once it is right)"
                : on_device                 ? "` judges its product on a device)"
                                            : "");
}

static exit_code check_file_options(const options *o, const user_kernel *user)
{
    if (o->engines.count + o->shapes.count + o->element.count > 0 || o->gpu != NULL || o->html != NULL)
        return diag(EXIT_USAGE, "a file takes --tile, --deadline, --binary and --json: other options belong to a rung");
    if (o->tiles.count == 0) return EXIT_OK;
    if (user->like->default_tile == 0)
        return diag(EXIT_USAGE, "--tile: %s is launched like %s, which has no tile edge to choose", user->source.file,
                    user->like->rung);
    const int64_t tile = o->tiles.items[0];
    return tile == 8 || tile == 16 || tile == 32
               ? EXIT_OK
               : diag(EXIT_USAGE, "--tile: found %d, a GPU rung takes 8, 16 or 32", (int)tile);
}

/* The file's inner loop as the machine has it, compiled for a device that is here, or by NVRTC alone. */
static exit_code look_into(session *s, explain *x)
{
    exit_code code = EXIT_OK;
    if (driver_is_usable(x->kernel->engine, NULL, 0)) code = session_open_device(s, x->kernel->engine);
    x->context = s->context;
    return code == EXIT_OK ? explain_binary(x) : code;
}

static exit_code tell_file(session *s, const degree_pair *pair)
{
    explain x = {.text = s->text,
                 .kernel = pair->user->like,
                 .user = &pair->user->source,
                 .tile = pair->own.tile,
                 .rolled = row_is_rolled(pair->user->like),
                 .device = &s->device,
                 .binary_wanted = s->opt->binary,
                 .deadline_s = (double)s->opt->deadline};
    exit_code code = pair->own.outcome == LANES_SEEN ? EXIT_OK : unseen(pair);
    if (code == EXIT_OK) {
        explain_file(s->text, pair);
        const exit_code grade = degrees_tell(s->text, "", pair);
        if (s->opt->binary) code = look_into(s, &x);
        if (code == EXIT_OK) code = grade;
    }
    explain_file_record(s->json, pair, &x);
    s->json_lines = s->json != NULL;
    exit_code flushed = session_flush(s);
    return code != EXIT_OK ? code : flushed;
}

/* `tilewright explain FILE` */
static exit_code file(session *s, const char *path)
{
    static user_kernels user;
    degrees seen = {0};
    char why[512];
    tw_status status = user_kernels_add(&user, path, why, (int)sizeof why);
    if (status == TW_NO_MEMORY) return diag_no_memory("a kernel's text");
    if (status != TW_OK) return diag(status == TW_BUILD_FAILED ? EXIT_BUILD : EXIT_INPUT, "%s", why);
    exit_code code = check_file_options(s->opt, &user.items[0]);
    if (code == EXIT_OK && !warden_begin()) code = diag_no_memory("the process that runs the file");
    if (code == EXIT_OK)
        code = degrees_see(&user, s->opt->tiles.items, s->opt->tiles.count, (double)s->opt->deadline, &seen);
    if (code == EXIT_OK) code = tell_file(s, seen.pairs);
    free(seen.pairs);
    user_kernels_free(&user);
    return code;
}

/* ---- a rung ---- */

/* Opens a device of the rung's engine; state: what the engine says of itself. */
static void open_device(session *s, explain *x, char state[STATE])
{
    const bool usable = driver_is_usable(x->kernel->engine, state, STATE);
    x->context = usable && session_open_device(s, x->kernel->engine) == EXIT_OK ? s->context : NULL;
}

static exit_code tell(session *s, explain *x)
{
    char state[STATE];
    if (strcmp(s->opt->operands[0], RUNG_PLANNED) == 0)
        fprintf(s->text, "%s is what tw_gemm runs for a shape: `ladder` names it; this is one of the kernels.\n\n",
                RUNG_PLANNED);
    exit_code code = explain_words(x);
    if (code != EXIT_OK) return code;
    explain_pictures(x);
    explain_arithmetic(x);
    explain_accesses(x);
    if (x->gpu == NULL) open_device(s, x, state);
    explain_bounds(x);
    explain_traffic(x);
    if (strcmp(x->kernel->engine, "cpu") != 0) open_device(s, x, state);
    explain_compiled(x, state);
    if (s->opt->binary) code = explain_binary(x);
    explain_record(x, s->json);
    s->json_lines = s->json != NULL;
    exit_code flushed = session_flush(s);
    return code != EXIT_OK ? code : flushed;
}

exit_code cmd_explain(session *s)
{
    explain x = {.text = s->text, .device = &s->device, .binary_wanted = s->opt->binary};
    page p = {0};
    const char *html = s->opt->html;
    exit_code code = check_ranks(s->opt);
    if (code != EXIT_OK) return code;
    const bool of_file = s->opt->operand_count > 0 && user_kernel_is_path(s->opt->operands[0]);
    if (s->opt->deadline > 0 && !of_file)
        return diag(EXIT_USAGE, "--deadline needs a file: a rung is explained without running it");
    if (s->opt->ranks > 0) return divide(s);
    if (s->opt->tables) return tables(s);
    if (s->opt->operand_count == 0)
        return diag(EXIT_USAGE, "found no rung: give one, as in `tilewright explain r04`, or --tables or --ranks");
    if (of_file) return file(s, s->opt->operands[0]);
    if (html != NULL && report_form_of(html) != REPORT_PAGE)
        return diag(EXIT_USAGE, "--html %s: explain writes a page: give it another ending, such as .html", html);
    code = choose_rung(s, &x, s->opt->operands[0]);
    if (code == EXIT_OK) code = choose_shape(s->opt, &x);
    if (code == EXIT_OK) code = choose_element(s->opt, &x);
    if (code == EXIT_OK) code = choose_blocks(s, &x);
    if (code == EXIT_OK && s->opt->gpu != NULL) code = option_gpu(s->opt->gpu, &x.gpu);
    if (code == EXIT_OK && html != NULL) code = page_open(&p, html, false);
    if (code == EXIT_OK) code = tell(s, &x);
    if (code == EXIT_OK && html != NULL) code = page_write_by(&p, explain_page, &x);
    page_discard(&p);
    return code;
}
