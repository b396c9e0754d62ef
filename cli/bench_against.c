/* bench_against.c - see bench_against.h. */
#include "bench_against.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "../program/diag.h"
#include "../program/rows.h"

/* ---- who takes part ---- */

typedef struct peer_list {
    int count;
    const peer_row *rows[MOST_SIDES - 1];
} peer_list;

static exit_code add_peer(peer_list *peers, const peer_row *row)
{
    if (peers->count == MOST_SIDES - 1) return diag(EXIT_USAGE, "--against: %d libraries at most", MOST_SIDES - 1);
    peers->rows[peers->count++] = row;
    return EXIT_OK;
}

exit_code against_row(const char *name, const char *engine, const peer_row **row)
{
    words_hint meant;
    *row = peer_named(name);
    if (*row == NULL) {
        words_meant_of(words_peers, name, meant);
        return diag(EXIT_USAGE, "--against %s: no such library%s", name,
                    meant[0] != '\0' ? meant : "; give all, or names in lab/peers.def such as openblas");
    }
    if (strcmp((*row)->engine, engine) != 0)
        return diag(EXIT_USAGE, "--against %s: this library is compared with the %s engine, not with %s", name,
                    (*row)->engine, engine);
    return EXIT_OK;
}

static exit_code add_named(peer_list *peers, const char *name, const char *engine)
{
    const peer_row *row;
    exit_code code = against_row(name, engine, &row);
    for (int i = 0; code == EXIT_OK && i < peers->count; i++)
        if (peers->rows[i] == row) return diag(EXIT_USAGE, "--against names %s twice", name);
    return code == EXIT_OK ? add_peer(peers, row) : code;
}

static exit_code choose_peers(const session *s, peer_list *peers)
{
    const name_list *named = &s->opt->against;
    exit_code code = EXIT_OK;
    bool all = named->count == 1 && strcmp(named->items[0], "all") == 0;
    for (const peer_row *row = peer_rows; code == EXIT_OK && all && row->name != NULL; row++)
        if (strcmp(row->engine, s->device.engine) == 0) code = add_peer(peers, row);
    for (int i = 0; code == EXIT_OK && !all && i < named->count; i++)
        code = add_named(peers, named->items[i], s->device.engine);
    if (code == EXIT_OK && peers->count == 0)
        return diag(EXIT_USAGE, "--against: no library is compared with the %s engine", s->device.engine);
    return code;
}

/* TILEWRIGHT_PEERS, else the folder `peers` beside the program. */
void against_folder(against_path out)
{
    const char *named = getenv("TILEWRIGHT_PEERS");
    char program[sizeof(against_path) - 16];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = '\0';
    char *end = strrchr(program, '/');
    if (end != NULL) *end = '\0';
    if (named != NULL && named[0] != '\0')
        snprintf(out, sizeof(against_path), "%s", named);
    else
        snprintf(out, sizeof(against_path), "%s/peers", end != NULL ? program : ".");
}

/* ---- cases ---- */

exit_code against_code(tw_status status)
{
    return status == TW_OK          ? EXIT_OK
           : status == TW_NO_MEMORY ? EXIT_MEMORY
           : status == TW_NO_DEVICE ? EXIT_DEVICE
                                    : EXIT_RUN;
}

/* Judge and time all sides on a problem. A wrong product of Tilewright's own is EXIT_CHECK, after all were timed. */
static exit_code run_case(const session *s, against *g, const tw_problem *problem, int samples)
{
    trial t;
    exit_code code = rows_trial(setup_of(s), problem, &t);
    if (code != EXIT_OK) return code;
    tw_status status = against_judge(g, problem, &t);
    trial_close(&t);
    if (status == TW_OK) status = against_time(g, samples);
    return status == TW_OK && g->sides[0].outcome == SIDE_WRONG ? EXIT_CHECK : against_code(status);
}

static tw_problem square_of(tw_dtype dtype)
{
    return tw_problem_make(dtype, TW_N, TW_N, PEAK_SIDE, PEAK_SIDE, PEAK_SIDE);
}

/* What all sides reach of the peak at 2048. */
static exit_code hold_against_peak(session *s, against *g, tw_dtype dtype)
{
    const tw_problem square = square_of(dtype);
    against_peak(g, dtype);
    exit_code code = run_case(s, g, &square, AGAINST_LEAST_SAMPLES);
    if (code != EXIT_OK) return code;
    against_shares(g, dtype);
    against_print_sides(s->text, g, dtype);
    return session_flush(s);
}

static exit_code write_record(session *s, const against *g, const side *x)
{
    const record r = against_record(g, x);
    return session_record(s, &r);
}

static exit_code compare(session *s, against *g, const case_list *cases, tw_dtype dtype, against_mean *all)
{
    against_mean mean = {0};
    layout_table table = {0};
    const char *group = NULL;
    exit_code result = EXIT_OK;
    for (int n = 0; n < cases->count; n++) {
        const bench_case *c = &cases->items[n];
        tw_problem problem = case_problem(c, dtype);
        if (group == NULL || strcmp(group, c->group) != 0) {
            if (group != NULL) against_print_mean(s->text, group, &mean);
            group = c->group, mean = (against_mean){0};
            against_print_header(s->text, g, group, dtype, &table);
        }
        exit_code code = run_case(s, g, &problem, g->samples);
        if (code == EXIT_CHECK) result = code;
        if (code != EXIT_OK && code != EXIT_CHECK) return code;
        against_print_case(&table, g, &mean, all);
        for (int i = 0; i < g->count; i++)
            if ((code = write_record(s, g, &g->sides[i])) != EXIT_OK) return code;
    }
    against_print_mean(s->text, group, &mean);
    layout_left_out(&table);
    return result;
}

static exit_code compare_all(session *s, against *g, const case_list *cases, const name_list *dtypes)
{
    against_mean all = {0};
    exit_code result = EXIT_OK;
    for (int d = 0; d < dtypes->count; d++) {
        tw_dtype dtype = tw_lab_dtype_named(dtypes->items[d])->dtype;
        if (d > 0) fputc('\n', s->text);
        exit_code code = hold_against_peak(s, g, dtype);
        if (code == EXIT_OK) code = compare(s, g, cases, dtype, &all);
        if (code != EXIT_OK && code != EXIT_CHECK) return code;
        if (code != EXIT_OK) result = code;
    }
    fputc('\n', s->text);
    against_print_mean(s->text, "all classes and types", &all);
    if (result == EXIT_OK && all.count == 0)
        return diag(EXIT_DEVICE, "no product could be compared: in no case were tilewright and a library both timed");
    return result;
}

/* The memory that the largest case needs. */
static void count_bytes(against *g, const case_list *cases, const name_list *dtypes)
{
    for (int d = 0; d < dtypes->count; d++)
        for (int n = -1; n < cases->count; n++) {
            tw_dtype dtype = tw_lab_dtype_named(dtypes->items[d])->dtype;
            tw_problem p = n < 0 ? square_of(dtype) : case_problem(&cases->items[n], dtype);
            against_need(g, &p);
        }
}

exit_code against_bench(session *s, const case_list *cases, const name_list *dtypes)
{
    static against g;
    peer_list peers = {0};
    static against_path folder; /* g, which is static, points to it */
    for (int d = 0; d < dtypes->count; d++)
        if (peer_type(tw_lab_dtype_named(dtypes->items[d])->dtype) < 0)
            return diag(EXIT_USAGE, "--against compares f32, f64, cf32 and cf64, not %s", dtypes->items[d]);
    against_folder(folder);
    g = (against){.setup = setup_of(s),
                  .deadline_s = (double)s->opt->deadline,
                  .pause_s = 1e-6 * (double)s->opt->pause,
                  .folder = folder};
    count_bytes(&g, cases, dtypes);
    exit_code code = choose_peers(s, &peers);
    if (code == EXIT_OK) code = session_flush(s);
    if (code != EXIT_OK) return code;
    code = against_code(against_begin(&g, peers.rows, peers.count));
    if (code == EXIT_OK) code = compare_all(s, &g, cases, dtypes);
    against_end(&g);
    return code;
}
