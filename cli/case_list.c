/* case_list.c - see case_list.h. */
#include "case_list.h"

#include <string.h>
#include "../program/diag.h"

/* A case with what the command line asks for beside its own. */
static void add(case_list *list, const options *opt, const bench_case *c)
{
    bench_case *added = &list->items[list->count++];
    *added = *c;
    if (opt->transpose_a) added->op_a = TW_T;
    if (opt->transpose_b) added->op_b = TW_T;
    added->pad += opt->pad;
    added->padded = opt->padded, added->emulate = opt->emulate;
}

static bool is_named(const name_list *names, const char *name)
{
    for (int i = 0; i < names->count; i++)
        if (strcmp(names->items[i], name) == 0) return true;
    return false;
}

/* The sets that were named, or square; "all" leaves out those of a GPU's sizes. */
static bool is_wanted(const options *opt, const bench_case *c)
{
    if (opt->sets.count == 0) return strcmp(c->group, "square") == 0;
    bool of_gpu = strncmp(c->group, "gpu-", 4) == 0;
    for (int i = 0; i < opt->sets.count; i++)
        if (strcmp(opt->sets.items[i], c->group) == 0 || (!of_gpu && strcmp(opt->sets.items[i], "all") == 0))
            return true;
    return false;
}

exit_code cases_choose(const options *opt, case_list *out)
{
    int ways = (opt->shapes.count > 0) + (opt->sizes.count > 0) + (opt->sets.count > 0);
    bool turn = opt->transpose_a || opt->transpose_b;
    out->count = 0;
    if (ways > 1) return diag(EXIT_USAGE, "--shape, --size and --set exclude each other: give one");
    for (int i = 0; i < opt->shapes.count; i++) {
        const shape *p = &opt->shapes.items[i];
        add(out, opt, &(bench_case){.group = "shapes", .m = p->m, .n = p->n, .k = p->k});
    }
    for (int i = 0; i < opt->sizes.count; i++) {
        const int64_t n = opt->sizes.items[i];
        add(out, opt, &(bench_case){.group = "square", .m = n, .n = n, .k = n});
    }
    const bench_case *c;
    for (int i = 0; ways - (opt->sets.count > 0) == 0 && (c = cases_at(i)) != NULL; i++) {
        if (!is_wanted(opt, c)) continue;
        if (turn && (c->op_a == TW_T || c->op_b == TW_T))
            return diag(EXIT_USAGE, "--set %s has transposes of its own: leave out --transpose-a and --transpose-b",
                        c->group);
        add(out, opt, c);
    }
    if (is_named(&opt->sets, "gpu-random")) {
        bench_case drawn[RANDOM_CASES];
        cases_random(drawn);
        for (int i = 0; i < RANDOM_CASES; i++) add(out, opt, &drawn[i]);
    }
    return EXIT_OK;
}
