/* cmd_tune.c - `tilewright tune`: which classes are tuned, or what is done with the rows found. */
#include <math.h>
#include <stdlib.h>
#include "../program/diag.h"
#include "../tune/classes.h"
#include "../tune/tuned_rows.h"
#include "case_list.h"
#include "cmd.h"

_Static_assert((int)AGENDA >= (int)OPT_LIST * 8, "each shape in each type has a place");

/* Shapes of the usual classes; none of a single row or column. */
static const bench_case usual[] = {
    {"large", TW_N, TW_N, 2048, 2048, 2048, 0},     {"medium", TW_N, TW_N, 768, 768, 768, 0},
    {"small", TW_N, TW_N, 192, 192, 192, 0},        {"few_rows", TW_N, TW_N, 16, 4096, 4096, 0},
    {"few_columns", TW_N, TW_N, 4096, 16, 4096, 0}, {"deep", TW_N, TW_N, 64, 64, 8192, 0},
    {"large", TW_N, TW_T, 2048, 2048, 2048, 0},     {"large", TW_T, TW_N, 2048, 2048, 2048, 0},
};

static exit_code choose(const options *opt, agenda *out)
{
    static case_list cases;
    exit_code code = cases_choose(opt, &cases);
    if (code != EXIT_OK) return code;
    out->count = out->left_out = 0;
    const bool named = opt->shapes.count + opt->sizes.count + opt->sets.count > 0;
    if (!named) {
        cases.count = 0;
        for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
            bench_case *c = &cases.items[cases.count++];
            *c = usual[i];
            if (opt->transpose_a) c->op_a = TW_T;
            if (opt->transpose_b) c->op_b = TW_T;
        }
    }
    for (int d = 0; opt->engines.count > 0 && d < opt->dtypes.count; d++) {
        const tw_dtype dtype = tw_lab_dtype_named(opt->dtypes.items[d])->dtype,
                       kernels = tw_lab_kernel_dtype(opt->engines.items[0], dtype);
        if (kernels != dtype)
            return diag(EXIT_USAGE, "--dtype %s: on %s the kernels of %s multiply it: tune these", opt->dtypes.items[d],
                        opt->engines.items[0], tw_lab_dtype_of(kernels)->name);
    }
    for (int d = 0; d == 0 || d < opt->dtypes.count; d++)
        for (int i = 0; i < cases.count; i++) {
            const char *dtype = opt->dtypes.count > 0 ? opt->dtypes.items[d] : "f32";
            const tw_problem p = case_problem(&cases.items[i], tw_lab_dtype_named(dtype)->dtype);
            agenda_add(out, &p);
        }
    return EXIT_OK;
}

static exit_code flush(void *job) { return session_flush(job); }

static exit_code written(void *job)
{
    session *s = job;
    s->json_lines = true;
    return session_flush(s);
}

static tuning_wish wish_of(session *s)
{
    const options *o = s->opt;
    return (tuning_wish){.device = {.engine = o->engines.count > 0 ? o->engines.items[0] : NULL,
                                    .device = (int)o->device,
                                    .threads = (int)o->threads,
                                    .seed = o->seed,
                                    .others = o->others != NULL ? strtod(o->others, NULL) / 100 : NAN},
                         .patience_s = o->deadline > 0 ? (double)o->deadline : 60,
                         .budget_s = o->budget > 0 ? (double)o->budget : 120,
                         .text = s->text,
                         .json = s->json,
                         .flush = flush,
                         .written = written,
                         .job = s};
}

exit_code cmd_tune(session *s)
{
    static agenda list;
    const options *opt = s->opt;
    const int actions = opt->show + opt->forget + (opt->export != NULL) + (opt->import != NULL);
    if (actions > 1) return diag(EXIT_USAGE, "--show, --export, --import and --forget exclude each other: give one");
    if (actions == 1 && (opt->dtypes.count + opt->shapes.count + opt->sizes.count + opt->sets.count > 0 ||
                         opt->transpose_a || opt->transpose_b))
        return diag(EXIT_USAGE, "--show, --export, --import and --forget take the rows of --engine, of all types and "
                                "shapes: leave out --dtype, --shape, --size, --set, --transpose-a, --transpose-b");
    tuning_wish wish = wish_of(s);
    if (opt->show) return tuned_show(&wish);
    if (opt->forget) return tuned_forget(&wish);
    if (opt->export != NULL) return tuned_export(&wish, opt->export, opt->force);
    if (opt->import != NULL) return tuned_import(&wish, opt->import);
    const exit_code code = choose(opt, &list);
    return code == EXIT_OK ? classes_tune(&wish, &list, opt->start) : code;
}
