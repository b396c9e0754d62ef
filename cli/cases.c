/* cases.c - see cases.h. */
#include "cases.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "say.h"

#define SQUARE(n)    {"square", TW_N, TW_N, {n, n, n}}
#define SMALL(n)     {"small", TW_N, TW_N, {n, n, n}}
#define ODD(n)       {"odd", TW_N, TW_N, {n, n, n}}
#define SKINNY(...)  {"skinny", TW_N, TW_N, {__VA_ARGS__}}
#define TRANSPOSED(n) \
    {"transposed", TW_N, TW_T, {n, n, n}}, {"transposed", TW_T, TW_N, {n, n, n}}, {"transposed", TW_T, TW_T, {n, n, n}}

static const bench_case table[] = {
    SQUARE(512), SQUARE(768), SQUARE(1024), SQUARE(1536), SQUARE(2048), SQUARE(3072), SQUARE(4096),
    SMALL(32), SMALL(48), SMALL(64), SMALL(96), SMALL(128), SMALL(192), SMALL(256), SMALL(384),
    ODD(8), ODD(16), ODD(17), ODD(31), ODD(33), ODD(47), ODD(65), ODD(100), ODD(127), ODD(129), ODD(255), ODD(257), ODD(1000), ODD(3000),
    SKINNY(16, 4096, 4096), SKINNY(4096, 16, 4096), SKINNY(4096, 4096, 16), SKINNY(64, 64, 8192), SKINNY(20000, 64, 64),
    SKINNY(1, 4096, 4096), SKINNY(4096, 1, 4096),
    TRANSPOSED(64), TRANSPOSED(256), TRANSPOSED(1000), TRANSPOSED(2048),
};

static void add(case_list *list, const char *group, const options *opt, shape p)
{
    list->items[list->count++] = (bench_case){group, opt->transpose_a ? TW_T : TW_N, opt->transpose_b ? TW_T : TW_N, p};
}

exit_code cases_choose(const options *opt, case_list *out)
{
    int ways = (opt->shapes.count > 0) + (opt->sizes.count > 0) + (opt->set != NULL);
    const char *set = opt->set != NULL ? opt->set : "square";
    bool all = strcmp(set, "all") == 0;
    out->count = 0;
    if (ways > 1) return say(EXIT_USAGE, "--shape, --size and --set each name the shapes: give one of them");
    if ((opt->transpose_a || opt->transpose_b) && (all || strcmp(set, "transposed") == 0))
        return say(EXIT_USAGE, "--set %s says itself what is transposed: neither --transpose-a nor --transpose-b can hold with it", set);
    for (int i = 0; i < opt->shapes.count; i++) add(out, "shapes", opt, opt->shapes.items[i]);
    for (int i = 0; i < opt->sizes.count; i++) add(out, "square", opt, (shape){opt->sizes.items[i], opt->sizes.items[i], opt->sizes.items[i]});
    for (size_t i = 0; ways - (opt->set != NULL) == 0 && i < sizeof table / sizeof *table; i++) {
        if (!all && strcmp(table[i].group, set) != 0) continue;
        add(out, table[i].group, opt, table[i].p);
        if (table[i].op_a == TW_T) out->items[out->count - 1].op_a = TW_T;
        if (table[i].op_b == TW_T) out->items[out->count - 1].op_b = TW_T;
    }
    return EXIT_OK;
}

tw_problem case_problem(const bench_case *c, tw_dtype dtype)
{
    return tw_problem_make(dtype, c->op_a, c->op_b, c->p.m, c->p.n, c->p.k);
}

const char *case_text(const tw_problem *p, case_name out)
{
    int length = snprintf(out, sizeof(case_name), "%" PRId64 "x%" PRId64 "x%" PRId64, p->m, p->n, p->k);
    if (p->op_a == TW_T || p->op_b == TW_T)
        snprintf(out + length, sizeof(case_name) - (size_t)length, " %c%c", p->op_a == TW_T ? 'T' : 'N', p->op_b == TW_T ? 'T' : 'N');
    return out;
}
