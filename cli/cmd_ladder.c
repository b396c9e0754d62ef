/* cmd_ladder.c - `tilewright ladder`: every rung in order, verified, timed, and set beside the bounds of this
 * machine. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "../course/climb.h"
#include "../course/rungs.h"
#include "../course/skinny.h"
#include "../lab/devices.h"
#include "../lab/named.h"
#include "../program/diag.h"
#include "../program/rows.h"
#include "../program/term.h"
#include "../program/warden.h"
#include "../program/watch.h"
#include "cmd.h"
#include "page.h"

/* Seconds of samples per row; seconds that one run of the slowest rung may take. */
static const double LIMIT_S = 1, LONGEST_S = 3;

static const shape DEEP = {64, 64, 65536};

enum { CPU_SIZE = 1024, GPU_SIZE = 4096, LEAST_WIDTH = 16 };

_Static_assert((int)ROW_MOST > (int)OPT_LIST, "a rung and all files of --rung that are launched like it take turns");
_Static_assert((int)USER_KERNELS_MOST >= (int)OPT_LIST, "all words of --rung may be files");
_Static_assert((int)CURVES_PLACES >= (int)OPT_LIST, "each size and each edge has a place");

typedef struct ladder {
    session *s;
    tw_problem problem;
    rung_list rungs;
    user_kernels user; /* files among the rungs */
    degrees degrees;   /* what they ask of memory */
    trial trial;
    roofs limits;
    climb climb;
} ladder;

/* ---- what is to be computed ---- */

static rung_wish rungs_of(const session *s)
{
    const options *opt = s->opt;
    return (rung_wish){.context = s->context,
                       .device = &s->device,
                       .text = s->text,
                       .count = opt->rungs.count,
                       .words = opt->rungs.items,
                       .all = opt->all,
                       .skinny = opt->skinny,
                       .deep = opt->deep};
}

static void keep_tiled(rung_list *rungs)
{
    int kept = 0;
    for (int i = 0; i < rungs->count; i++)
        if (rungs->rows[i]->default_tile > 0) rungs->rows[kept++] = rungs->rows[i];
    rungs->count = kept, rungs->planned = false;
}

/* Columns of a rung's name. */
static int width_of(const rung_list *rungs)
{
    int width = LEAST_WIDTH;
    for (int i = 0; i < rungs->count; i++)
        if ((int)strlen(rungs->rows[i]->rung) > width) width = (int)strlen(rungs->rows[i]->rung);
    return width;
}

static exit_code check_user_kernel(const ladder *l, tw_dtype dtype)
{
    for (int i = 0; i < l->user.count; i++) {
        const user_kernel *user = &l->user.items[i];
        if (dtype != TW_F32)
            return diag(EXIT_USAGE, "--dtype %s: %s is a kernel of f32", tw_lab_dtype_of(dtype)->name,
                        user->source.file);
        if (l->s->opt->tiles.count > 0 && user->like->default_tile == 0)
            return diag(EXIT_USAGE, "--tile: %s is launched like %s, which has no tile edge to choose",
                        user->source.file, user->like->rung);
    }
    return EXIT_OK;
}

/* In the order of storage that the options ask for: a column-major matrix is the transpose of a row-major one. */
static tw_problem problem_of(const ladder *l, tw_dtype dtype, int64_t m, int64_t n, int64_t k)
{
    const options *opt = l->s->opt;
    return tw_problem_make(dtype, opt->transpose_a ? TW_T : TW_N, opt->transpose_b ? TW_T : TW_N, m, n, k);
}

static exit_code choose(ladder *l)
{
    const options *opt = l->s->opt;
    int64_t n = device_is_host(&l->s->device) ? CPU_SIZE : GPU_SIZE;
    tw_dtype dtype = session_dtype(l->s);
    if (opt->sizes.count > 0) n = opt->sizes.items[l->climb.size];
    shape p = opt->shapes.count > 0                ? opt->shapes.items[0]
              : opt->deep && opt->sizes.count == 0 ? DEEP
                                                   : (shape){n, n, n};
    l->problem = problem_of(l, dtype, p.m, p.n, p.k);
    const rung_wish wish = rungs_of(l->s);
    exit_code code = rungs_choose(&wish, &l->problem, &l->user, &l->rungs);
    if (code == EXIT_OK && opt->tiles.count > 0) keep_tiled(&l->rungs);
    if (code == EXIT_OK && l->rungs.count == 0 && opt->tiles.count > 0)
        return diag(EXIT_USAGE, "none of these rungs has a tile edge that --tile could choose");
    const tw_lab_kernel *slowest = l->rungs.count > 0 ? l->rungs.rows[0] : l->rungs.takes;
    if (code != EXIT_OK || opt->sizes.count + opt->shapes.count > 0 || opt->deep || slowest == NULL) return code;
    code = rows_side(setup_of(l->s), l->s->text, slowest, 0, n, LONGEST_S, &n);
    l->problem = problem_of(l, dtype, n, n, n);
    return code;
}

/* ---- running ---- */

static exit_code finish_row(ladder *l, const row *r, const row_wish *wish)
{
    climb_row(&l->climb, r, wish);
    return session_row(l->s, r);
}

/* What the judge found wrong with a file, which is then not run on the device; NULL: nothing. A kernel that bears no
 * rung's name was judged without transposes. */
static const char *wrong_of(const ladder *l, const user_kernel *user, int tile)
{
    const bool judged = user->bears_rung || (!l->s->opt->transpose_a && !l->s->opt->transpose_b);
    return judged ? degrees_wrong(degrees_of(&l->degrees, &user->source, tile)) : NULL;
}

/* A rung, of a tile where the edge is chosen, and the files that are launched like it: those of one build in turns. */
static exit_code run_builds(ladder *l, trial *t, row_wish wish)
{
    enum { MOST = 1 + OPT_LIST };
    static row results[2][MOST];
    const tw_lab_kernel *kernel = wish.kernel;
    row_wish wishes[MOST] = {wish};
    int count = 1, builds = 0;
    exit_code code = EXIT_OK;
    for (int i = 0; i < l->user.count; i++)
        if (l->user.items[i].like == kernel) {
            wishes[count] = wish, wishes[count].source = &l->user.items[i].source;
            wishes[count].rung = l->user.items[i].label;
            wishes[count++].wrong = wrong_of(l, &l->user.items[i], wish.tile);
        }
    term_progress(kernel->rung, -1);
    for (int wanted = row_is_rolled(kernel) ? 2 : 1; code == EXIT_OK && builds < wanted; builds += code == EXIT_OK) {
        for (int i = 0; i < count; i++) wishes[i].default_build = builds == 1;
        code = rows_run(setup_of(l->s), t, &l->limits, wishes, count, results[builds]);
        if (code == EXIT_OK && results[0][0].outcome == ROW_REFUSED) wanted = 1;
    }
    for (int i = 0; i < count * builds; i++) {
        const row *r = &results[i % builds][i / builds];
        wish = wishes[i / builds];
        wish.default_build = i % builds == 1;
        exit_code finished = finish_row(l, r, &wish);
        if (finished != EXIT_OK) return finished;
    }
    return code;
}

/* A rung of another type than the ladder's: the same shape, operands and references of its own. */
static exit_code run_typed(ladder *l, const tw_lab_kernel *kernel)
{
    trial t;
    tw_problem p = problem_of(l, kernel->dtype, l->problem.m, l->problem.n, l->problem.k);
    exit_code code = rows_trial(setup_of(l->s), &p, &t);
    if (code != EXIT_OK) return code;
    code = run_builds(l, &t, (row_wish){.kernel = kernel, .limit_s = LIMIT_S});
    trial_close(&t);
    return code;
}

/* What tw_gemm runs for this shape. */
static exit_code run_planned(ladder *l)
{
    static row result;
    const row_wish wish = {.rung = RUNG_PLANNED, .limit_s = LIMIT_S};
    term_progress(wish.rung, -1);
    exit_code code = rows_run(setup_of(l->s), &l->trial, &l->limits, &wish, 1, &result);
    return code == EXIT_OK ? finish_row(l, &result, &wish) : code;
}

/* A rung, and with it the files that are launched like it. */
static exit_code run_step(ladder *l, const tw_lab_kernel *kernel)
{
    const number_list *tiles = &l->s->opt->tiles;
    row_wish wish = {.kernel = kernel, .limit_s = LIMIT_S};
    exit_code code = EXIT_OK;
    if (kernel->dtype != l->problem.dtype) return run_typed(l, kernel);
    if (tiles->count == 0) return run_builds(l, &l->trial, wish);
    climb_sweep(&l->climb);
    for (int i = 0; code == EXIT_OK && i < tiles->count; i++) {
        wish.tile = (int)tiles->items[i];
        code = run_builds(l, &l->trial, wish);
    }
    return code;
}

/* Each file that will run in each of its builds, before anything is timed. */
static exit_code build_user_kernel(const ladder *l)
{
    const number_list *tiles = &l->s->opt->tiles;
    exit_code code = EXIT_OK;
    for (int i = 0; code == EXIT_OK && i < l->user.count; i++) {
        const user_kernel *user = &l->user.items[i];
        if (strcmp(user->like->engine, l->s->device.engine) != 0) continue;
        for (int n = 0; code == EXIT_OK && n < (tiles->count > 0 ? tiles->count : 1); n++) {
            const int tile = tiles->count > 0 ? (int)tiles->items[n] : 0;
            if (wrong_of(l, user, tile) != NULL) continue;
            for (int build = 0; code == EXIT_OK && build < (row_is_rolled(user->like) ? 2 : 1); build++)
                code = rows_build(setup_of(l->s), &(row_wish){.kernel = user->like,
                                                              .rung = user->label,
                                                              .source = &user->source,
                                                              .tile = tile,
                                                              .default_build = build == 1});
        }
    }
    return code;
}

static exit_code run_steps(ladder *l)
{
    exit_code code = EXIT_OK;
    l->climb.planned = l->rungs.planned ? RUNG_PLANNED : NULL;
    climb_begin(&l->climb, &l->problem, width_of(&l->rungs));
    for (int i = 0; code == EXIT_OK && i < l->rungs.count; i++) code = run_step(l, l->rungs.rows[i]);
    if (code == EXIT_OK && l->rungs.planned) code = run_planned(l);
    if (code == EXIT_OK) climb_end_size(&l->climb);
    return code;
}

static exit_code run_size(ladder *l)
{
    exit_code code = choose(l);
    if (code == EXIT_OK) code = rows_trial(setup_of(l->s), &l->problem, &l->trial);
    if (code != EXIT_OK) return code;
    code = run_steps(l);
    trial_close(&l->trial);
    return code;
}

static exit_code ladder_engine(session *s, void *job)
{
    ladder *l = job;
    const options *opt = s->opt;
    int *size = &l->climb.size;
    *l = (ladder){.s = s,
                  .user = l->user,
                  .degrees = l->degrees,
                  .climb = {.text = s->text,
                            .device = &s->device,
                            .degrees = &l->degrees,
                            .deep = opt->deep,
                            .over_sizes = {.values = opt->sizes.items, .places = opt->sizes.count},
                            .over_tiles = {.values = opt->tiles.items, .places = opt->tiles.count}}};
    const busy_reading begun = busy_now();
    roofs_begin(&l->limits, s->context, &s->device);
    exit_code code = check_user_kernel(l, session_dtype(s));
    if (code == EXIT_OK) code = build_user_kernel(l);
    for (*size = 0; code == EXIT_OK && (*size == 0 || *size < opt->sizes.count); ++*size) code = run_size(l);
    if (code != EXIT_OK) return code;
    climb_end(&l->climb, &l->limits);
    rows_tell_busy(s->text, &begun);
    code = rows_verdict(&l->climb.count);
    return code == EXIT_OK && l->climb.costly > 0 ? EXIT_CHECK : code;
}

/* ---- skinny matrices ---- */

/* Seconds of samples per row, and that one run of the slowest rung may take. */
static const double SKINNY_LIMIT_S = 1, SKINNY_LONGEST_S = 0.05;

typedef struct skinny_job {
    session *s;
    rung_list rungs;
    roofs limits;
    skinny told;
} skinny_job;

/* The rungs, and the shape; k is 0 where all widths are wanted. */
static exit_code choose_skinny(skinny_job *x, shape *p)
{
    const options *opt = x->s->opt;
    int64_t n = opt->sizes.count > 0 ? opt->sizes.items[0] : GPU_SIZE;
    *p = opt->shapes.count > 0 ? opt->shapes.items[0] : (shape){n, n, 0};
    const int64_t width = p->k > 0 ? p->k : skinny_widths[0];
    tw_problem problem = tw_problem_make(session_dtype(x->s), TW_N, TW_N, p->m, p->n, width);
    const rung_wish wish = rungs_of(x->s);
    exit_code code = rungs_choose(&wish, &problem, NULL, &x->rungs);
    if (code != EXIT_OK || opt->shapes.count + opt->sizes.count > 0) return code;
    code = rows_side(setup_of(x->s), x->s->text, x->rungs.rows[0], skinny_widths[0], GPU_SIZE, SKINNY_LONGEST_S, &n);
    *p = (shape){n, n, 0};
    return code;
}

static exit_code run_skinny(skinny_job *x, const tw_problem *problem)
{
    static row result;
    trial t;
    exit_code code = rows_trial(setup_of(x->s), problem, &t);
    if (code != EXIT_OK) return code;
    for (int i = 0; code == EXIT_OK && i < x->rungs.count; i++) {
        const row_wish wish = {.kernel = x->rungs.rows[i], .limit_s = SKINNY_LIMIT_S};
        code = rows_run(setup_of(x->s), &t, &x->limits, &wish, 1, &result);
        if (code != EXIT_OK) break;
        skinny_row(&x->told, wish.kernel, problem, &result);
        code = session_row(x->s, &result);
    }
    trial_close(&t);
    return code;
}

static exit_code skinny_engine(session *s, void *job)
{
    skinny_job *x = job;
    shape p;
    const busy_reading begun = busy_now();
    *x = (skinny_job){.s = s, .told = {.text = s->text, .device = &s->device}};
    exit_code code = choose_skinny(x, &p);
    if (code != EXIT_OK) return code;
    roofs_begin(&x->limits, s->context, &s->device);
    skinny_begin(&x->told, session_dtype(s), p.m, p.n);
    for (int w = 0; code == EXIT_OK && w < (p.k > 0 ? 1 : SKINNY_WIDTHS); w++) {
        const int64_t width = p.k > 0 ? p.k : skinny_widths[w];
        const tw_problem problem = tw_problem_make(session_dtype(s), TW_N, TW_N, p.m, p.n, width);
        code = run_skinny(x, &problem);
    }
    if (code != EXIT_OK) return code;
    skinny_end(&x->told, &x->limits);
    rows_tell_busy(s->text, &begun);
    return rows_verdict(&x->told.count);
}

/* ---- the command ---- */

static exit_code climb_all(session *s)
{
    static skinny_job skinny_ladder;
    static ladder l;
    if (s->opt->skinny) return session_each_engine(s, session_gpu(), skinny_engine, &skinny_ladder);
    const double deadline_s = s->opt->deadline > 0 ? (double)s->opt->deadline : WATCH_FILE_S;
    exit_code code = rungs_read_user(s->opt->rungs.items, s->opt->rungs.count, &l.user);
    if (code == EXIT_OK && l.user.count > 0 && !warden_begin())
        code = diag_no_memory("the process that runs the files of --rung");
    if (code == EXIT_OK)
        code = degrees_see(&l.user, s->opt->tiles.items, s->opt->tiles.count, (double)s->opt->deadline, &l.degrees);
    if (code == EXIT_OK) code = degrees_crashed(&l.degrees);
    if (code == EXIT_OK && l.user.count > 0 && !watch_file_begin(deadline_s))
        code = diag_no_memory("the thread that keeps --deadline");
    if (code == EXIT_OK)
        code = session_each_engine(s,
                                   l.user.count > 0 ? l.user.items[0].like->engine
                                   : s->opt->deep   ? session_gpu()
                                                    : "auto",
                                   ladder_engine, &l);
    session_close_device(s); /* which knows the files' texts */
    free(l.degrees.pairs);
    user_kernels_free(&l.user);
    return code;
}

/* With --html the records of the run are kept, and become a page: also of a run in which a check failed, or an
 * engine. */
static exit_code climb_to_page(session *s)
{
    records kept = {0};
    page p = {0};
    exit_code code = page_open(&p, s->opt->html, s->opt->slides);
    if (code != EXIT_OK) return code;
    s->kept = &kept;
    code = climb_all(s);
    s->kept = NULL;
    term_progress_end();
    exit_code written = kept.count > 0 && code != EXIT_OUTPUT ? page_write(&p, &kept) : EXIT_OK;
    page_discard(&p);
    records_free(&kept);
    return code != EXIT_OK ? code : written;
}

static const char *first_file(const options *opt)
{
    for (int i = 0; i < opt->rungs.count; i++)
        if (user_kernel_is_path(opt->rungs.items[i])) return opt->rungs.items[i];
    return NULL;
}

exit_code cmd_ladder(session *s)
{
    const options *opt = s->opt;
    const char *file = first_file(opt);
    if (opt->deadline > 0 && file == NULL)
        return diag(EXIT_USAGE, "--deadline needs a file in --rung: Tilewright's own rungs have no deadline");
    if (opt->gpu != NULL && (opt->sizes.count == 0 || opt->shapes.count == 0)) return cmd_ladder_gpu(s);
    if (opt->sizes.count > 0 && opt->shapes.count > 0)
        return diag(EXIT_USAGE, "--size and --shape exclude each other: give one");
    if (opt->skinny && opt->tiles.count > 0)
        return diag(EXIT_USAGE, "--tile does not work with --skinny: the tile of a skinny product is its k, 16 or 32");
    if (opt->skinny && file != NULL)
        return diag(EXIT_USAGE, "--skinny takes no file: time %s with --shape instead", file);
    if (opt->skinny && opt->sizes.count > 1) return diag(EXIT_USAGE, "--skinny takes one --size, the side of C");
    if (opt->skinny && (opt->transpose_a || opt->transpose_b))
        return diag(EXIT_USAGE, "--skinny does not work with --transpose-a or -b: its rungs read A and B as stored");
    if (opt->deep && opt->skinny) return diag(EXIT_USAGE, "--deep and --skinny exclude each other: give one");
    if (opt->all && (opt->skinny || opt->tiles.count > 0))
        return diag(EXIT_USAGE, "--all does not work with --skinny or --tile: production kernels have no skinny form "
                                "and no edge to choose");
    if (opt->slides && opt->html == NULL) return diag(EXIT_USAGE, "--slides needs --html FILE, the page to write");
    return opt->html != NULL ? climb_to_page(s) : climb_all(s);
}
