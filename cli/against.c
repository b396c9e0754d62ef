/* against.c - see against.h. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "against.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "../lab/element.h"
#include "../lab/roofline.h"
#include "hooks.h"
#include "rows.h"
#include "say.h"
#include "term.h"

/* The side of the square at which peers are held against the peak, and how many samples of it; of each other case at
 * least as many, then no more once they have taken LIMIT_S. */
enum { PEAK_SIDE = 2048, LEAST_SAMPLES = 3, MOST_TRIES = 5, USUAL_SAMPLES = 11, DEADLINE_S = 60 };
/* what a side may need beyond the deadline: a few runs at such a speed */
static const double LIMIT_S = 30, SLOWEST_FLOPS = 2e9;

/* ---- who takes part ---- */

static exit_code add_side(against *g, const peer_row *row)
{
    if (g->count == MOST_SIDES) return say(EXIT_USAGE, "--against: %d libraries at most", MOST_SIDES - 1);
    side *x = &g->sides[g->count++];
    *x = (side){.row = row, .name = row != NULL ? row->name : "tilewright", .share = {NAN, NAN}};
    x->job = (player_job){row, g->folder, g->threads, NULL};
    x->times_s = calloc((size_t)g->samples, sizeof *x->times_s);
    return x->times_s != NULL ? EXIT_OK : say_no_memory("the samples");
}

exit_code against_row(const char *name, const char *engine, const peer_row **row)
{
    const char *names[MOST_SIDES];
    int count = 0;
    *row = peer_named(name);
    for (const peer_row *r = peer_rows; r->name != NULL && count < MOST_SIDES; r++) names[count++] = r->name;
    if (*row == NULL) {
        const char *closest = say_closest(name, names, count);
        if (closest != NULL) return say(EXIT_USAGE, "--against %s: no such library; did you mean %s?", name, closest);
        return say(EXIT_USAGE,
                   "--against %s: no such library; there are all, and one by one those of lab/peers.def, such as %s",
                   name, names[0]);
    }
    if (strcmp((*row)->engine, engine) != 0)
        return say(EXIT_USAGE, "--against %s: it is compared with the %s engine, not with %s", name, (*row)->engine,
                   engine);
    return EXIT_OK;
}

static exit_code add_named(against *g, const char *name)
{
    const peer_row *row;
    exit_code code = against_row(name, g->s->device.engine, &row);
    for (int i = 1; code == EXIT_OK && i < g->count; i++)
        if (g->sides[i].row == row) return say(EXIT_USAGE, "--against names %s twice", name);
    return code == EXIT_OK ? add_side(g, row) : code;
}

static exit_code choose_sides(against *g)
{
    const name_list *named = &g->s->opt->against;
    exit_code code = add_side(g, NULL);
    bool all = named->count == 1 && strcmp(named->items[0], "all") == 0;
    for (const peer_row *row = peer_rows; code == EXIT_OK && all && row->name != NULL; row++)
        if (strcmp(row->engine, g->s->device.engine) == 0) code = add_side(g, row);
    for (int i = 0; code == EXIT_OK && !all && i < named->count; i++) code = add_named(g, named->items[i]);
    if (code == EXIT_OK && g->count < 2)
        return say(EXIT_USAGE, "--against: no library is compared with the %s engine", g->s->device.engine);
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

/* ---- turns ---- */

static bool here(const against *g, int i) { return g->processes[i].pid != 0; }

/* It takes no further part, which a sentence says. */
static void leave(against *g, int i, const char *why)
{
    side *x = &g->sides[i];
    case_name name;
    turns_end(&g->processes[i]);
    x->outcome = SIDE_GONE;
    snprintf(x->why, sizeof x->why, "%s", why);
    if (g->problem.m > 0)
        say(EXIT_OK, "%s: at %s of %s it %s", x->name, case_text(&g->problem, name),
            tw_lab_dtype_of(g->problem.dtype)->name, why);
    else
        say(EXIT_OK, "%s: it %s", x->name, why);
}

static void wait_for_quiet(against *g)
{
    for (int busy; (busy = turns_quiet(g->processes, g->count)) >= 0;)
        leave(g, busy, "goes on using CPU time after its turn: its process was ended");
}

/* One turn of a side. false: it is gone, or its answer says why not. */
static bool turn(against *g, int i, player_what what, player_answer *answer)
{
    player_order order = {what, g->problem, g->sets, g->sets.wanted};
    char why[PEER_TEXT];
    double most_flops = 3.0 * roofline_flops(&g->problem) * (what == PLAYER_SAMPLE ? g->sides[i].repeats : 1);
    double deadline_s = (g->s->opt->deadline > 0 ? (double)g->s->opt->deadline : DEADLINE_S) +
                        most_flops / SLOWEST_FLOPS;
    char doing[sizeof(case_name) + 32];
    case_name name;
    snprintf(doing, sizeof doing, "%s: %s", case_text(&g->problem, name), g->sides[i].name);
    term_progress(doing, -1);
    *answer = (player_answer){0};
    wait_for_quiet(g);
    if (!here(g, i)) return false;
    bool answered = turns_ask(&g->processes[i], &order, sizeof order, answer, sizeof *answer, ceil(deadline_s), why,
                              sizeof why);
    if (!answered) leave(g, i, why);
    return answered && answer->done;
}

static exit_code start(against *g)
{
    /* what is still in a buffer would be written by each process that a library ends with exit() */
    exit_code code = session_flush(g->s);
    if (code != EXIT_OK) return code;
    g->memory = mmap(NULL, g->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (g->memory == MAP_FAILED) return say_no_memory("the operands");
    for (int i = 0; i < g->count; i++) {
        g->sides[i].job.memory = g->memory;
        if (!turns_start(&program_hooks, g->processes, i, player_play, &g->sides[i].job))
            return say(EXIT_RUN, "no process for %s: %s", g->sides[i].name, strerror(errno));
    }
    for (int i = 0; i < g->count; i++) {
        player_answer answer;
        side *x = &g->sides[i];
        if (turn(g, i, PLAYER_MEET, &answer))
            x->met = true, memcpy(x->version, answer.text, PEER_TEXT), memcpy(x->choice, answer.choice, PEER_TEXT);
        else if (here(g, i))
            leave(g, i, answer.text);
    }
    if (!here(g, 0)) return EXIT_RUN;
    for (int i = 1; i < g->count; i++)
        if (here(g, i)) return EXIT_OK;
    return say(EXIT_DEVICE, "there is none of the libraries to compare with");
}

static void finish(against *g)
{
    for (int i = 0; i < g->count; i++) {
        turns_end(&g->processes[i]);
        free(g->sides[i].times_s);
    }
    if (g->memory != NULL && g->memory != MAP_FAILED) munmap(g->memory, g->bytes);
}

/* ---- one case ---- */

typedef struct judged {
    against *g;
    int i;
} judged;

/* The side's product of an oracle's operands, by way of the shared memory. */
static tw_status multiply_there(void *job, const oracle *o, void *c)
{
    const judged *j = job;
    against *g = j->g;
    char *a = g->memory, *b = a + g->sets.a_bytes, *there = b + g->sets.b_bytes;
    player_answer answer;
    memcpy(a, o->a, oracle_a_bytes(o));
    memcpy(b, o->b, oracle_b_bytes(o));
    memcpy(there, c, oracle_c_bytes(o));
    if (!turn(g, j->i, PLAYER_PRODUCT, &answer)) {
        side *x = &g->sides[j->i];
        if (here(g, j->i)) snprintf(x->why, sizeof x->why, "%s", answer.text), x->outcome = SIDE_REFUSED;
        return TW_DEVICE_FAILED;
    }
    snprintf(g->sides[j->i].choice, PEER_TEXT, "%s", answer.choice);
    memcpy(c, there, oracle_c_bytes(o));
    return TW_OK;
}

/* EXIT_OK: the side's outcome says SIDE_TIMED where it may be timed now. */
static exit_code judge(against *g, int i, const trial *t)
{
    side *x = &g->sides[i];
    judged job = {g, i};
    case_name name;
    x->outcome = here(g, i) ? SIDE_TIMED : SIDE_GONE;
    if (!here(g, i)) return EXIT_OK;
    x->why[0] = '\0';
    if (x->row != NULL && peer_refuses(x->row, &g->problem, g->threads, x->why, sizeof x->why)) {
        x->outcome = SIDE_REFUSED;
        return EXIT_OK;
    }
    tw_status status = trial_judge_other(t, multiply_there, &job, &x->verdict);
    if (status == TW_NO_MEMORY) return say_no_memory("the check");
    if (status != TW_OK || x->verdict.passed) return EXIT_OK;
    x->outcome = SIDE_WRONG;
    return say(x->row == NULL ? EXIT_CHECK : EXIT_OK, "%s: at %s of %s its product is wrong: %s", x->name,
               case_text(&g->problem, name), tw_lab_dtype_of(g->problem.dtype)->name, x->verdict.text);
}

static void take_sample(against *g, int i, int at)
{
    side *x = &g->sides[i];
    player_answer answer;
    if (turn(g, i, PLAYER_SAMPLE, &answer))
        x->times_s[at] = answer.seconds;
    else if (here(g, i))
        leave(g, i, answer.text);
}

static void take_samples(against *g, int samples)
{
    int taken = 0;
    player_answer answer;
    for (int i = 0; i < g->count; i++) {
        side *x = &g->sides[i];
        if (x->outcome != SIDE_TIMED) continue;
        if (turn(g, i, PLAYER_READY, &answer))
            x->repeats = answer.repeats, x->run_s = answer.seconds;
        else if (here(g, i))
            leave(g, i, answer.text);
    }
    for (double start_s = measure_now_s(); taken < samples; taken++) {
        if (taken >= LEAST_SAMPLES && measure_now_s() - start_s > LIMIT_S) break;
        for (int turns = 0; turns < g->count; turns++) { /* another one begins each round */
            int i = (turns + taken) % g->count;
            if (g->sides[i].outcome == SIDE_TIMED) take_sample(g, i, taken);
        }
    }
    for (int i = 0; i < g->count; i++)
        if (g->sides[i].outcome == SIDE_TIMED)
            g->sides[i].result = measure_summary(g->sides[i].times_s, taken, g->sides[i].repeats);
}

/* Judge and time all sides on a problem. A wrong product of Tilewright's own is EXIT_CHECK, after all were timed. */
static exit_code run_case(against *g, const tw_problem *problem, int samples)
{
    trial t;
    exit_code code, result = EXIT_OK;
    g->problem = *problem;
    g->sets = sets_for(problem, 1, &g->s->device);
    if ((code = rows_trial(g->s, problem, &t)) != EXIT_OK) return code;
    for (int i = 0; i < g->count; i++)
        if ((code = judge(g, i, &t)) != EXIT_OK) result = code;
    trial_close(&t);
    if (result != EXIT_OK && result != EXIT_CHECK) return result;
    sets_fill(&g->sets, problem, 1, g->sets.wanted, g->memory);
    take_samples(g, samples);
    if (here(g, 0) && g->sides[0].outcome == SIDE_REFUSED) return say(EXIT_RUN, "%s", g->sides[0].why);
    return here(g, 0) ? result : EXIT_RUN;
}

/* ---- the peak ---- */

static void measure_peak(against *g, tw_dtype dtype)
{
    player_answer answer;
    double *best = &g->peak_flops[against_type(dtype)];
    g->problem = tw_problem_make(dtype, TW_N, TW_N, 1, 1, 1);
    bool measured = turn(g, 0, PLAYER_PEAK, &answer);
    if (measured && answer.seconds > *best) *best = answer.seconds;
    if (!measured) snprintf(g->why_no_peak, sizeof g->why_no_peak, "%s", answer.text);
}

/* The share of the peak that each reached at best. Who reached the least is left out of more samples; true: nobody is
 * left. */
static bool take_shares(against *g, tw_dtype dtype)
{
    int type = against_type(dtype);
    bool reached = true;
    for (int i = 0; i < g->count && g->peak_flops[type] > 0; i++) {
        side *x = &g->sides[i];
        if (x->outcome != SIDE_TIMED) continue;
        double share = roofline_flops(&g->problem) / x->result.min_s / g->peak_flops[type];
        if (!(share <= x->share[type])) x->share[type] = share;
        if (x->share[type] < AGAINST_LEAST_SHARE)
            reached = false;
        else
            x->outcome = SIDE_REFUSED;
    }
    return reached;
}

/* What all sides reach of the peak at 2048: a peer that took the wrong code for this processor is no measure of
 * anything. A share that is too small is a reason to measure again, before it is called so. */
static exit_code hold_against_peak(against *g, tw_dtype dtype)
{
    const tw_problem square = tw_problem_make(dtype, TW_N, TW_N, PEAK_SIDE, PEAK_SIDE, PEAK_SIDE);
    measure_peak(g, dtype);
    exit_code code = run_case(g, &square, LEAST_SAMPLES);
    if (code != EXIT_OK) return code;
    for (int again = 0; !take_shares(g, dtype) && again < MOST_TRIES; again++) take_samples(g, LEAST_SAMPLES);
    if (g->peak_flops[against_type(dtype)] > 0) measure_peak(g, dtype);
    against_print_sides(g, dtype);
    return session_flush(g->s);
}

/* ---- all cases ---- */

static exit_code write_record(const against *g, const side *x)
{
    const tw_problem *p = &g->problem;
    record r = record_blank();
    r.engine = g->s->device.engine, r.device = g->s->device.name;
    r.library = x->name, r.library_version = x->version[0] != '\0' ? x->version : NULL;
    r.kernel = x->choice[0] != '\0' ? x->choice : x->name;
    r.dtype = tw_lab_dtype_of(p->dtype)->name;
    r.m = p->m, r.n = p->n, r.k = p->k, r.lda = p->lda, r.ldb = p->ldb, r.ldc = p->ldc;
    r.op_a = p->op_a == TW_N ? 'n' : 't', r.op_b = p->op_b == TW_N ? 'n' : 't';
    r.alpha = p->alpha, r.beta = p->beta;
    r.align_a = r.align_b = r.align_c = SETS_ALIGN;
    r.method = g->threads > 1
                   ? "calls with host pointers, a process for each library, in turns, operands rotated beyond the cache"
                   : "calls with host pointers, CPU time of a process for each library, in turns, operands rotated "
                     "beyond the cache";
    r.threads = g->threads, r.sets = g->sets.wanted;
    r.verified = x->outcome >= SIDE_WRONG ? x->verdict.verified : "no";
    if (x->outcome < SIDE_TIMED) r.refused = x->why;
    if (x->outcome == SIDE_TIMED) {
        r.samples = x->result.samples, r.repeats = x->result.repeats;
        r.min_s = x->result.min_s, r.median_s = x->result.median_s, r.p95_s = x->result.p95_s,
        r.max_s = x->result.max_s;
        r.error_ratio = x->verdict.error_ratio;
        double peak = g->peak_flops[against_type(p->dtype)];
        record_fill_bounds(&r, p, 0, 0, peak > 0 ? peak : NAN, NAN); /* what a library asks is not known */
    }
    return session_record(g->s, &r);
}

static exit_code compare(against *g, const case_list *cases, tw_dtype dtype, against_mean *all)
{
    against_mean mean = {0};
    const char *group = NULL;
    exit_code result = EXIT_OK;
    for (int n = 0; n < cases->count; n++) {
        const bench_case *c = &cases->items[n];
        tw_problem problem = case_problem(c, dtype);
        if (group == NULL || strcmp(group, c->group) != 0) {
            if (group != NULL) against_print_mean(g->s->text, group, &mean);
            group = c->group, mean = (against_mean){0};
            against_print_header(g, group, dtype);
        }
        exit_code code = run_case(g, &problem, g->samples);
        if (code == EXIT_CHECK) result = code;
        if (code != EXIT_OK && code != EXIT_CHECK) return code;
        against_print_case(g, &mean, all);
        for (int i = 0; i < g->count; i++)
            if ((code = write_record(g, &g->sides[i])) != EXIT_OK) return code;
    }
    against_print_mean(g->s->text, group, &mean);
    return result;
}

static exit_code compare_all(against *g, const case_list *cases, const name_list *dtypes)
{
    against_mean all = {0};
    exit_code result = EXIT_OK;
    for (int d = 0; d < dtypes->count; d++) {
        tw_dtype dtype = tw_lab_dtype_named(dtypes->items[d])->dtype;
        if (d > 0) fputc('\n', g->s->text);
        exit_code code = hold_against_peak(g, dtype);
        if (code == EXIT_OK) code = compare(g, cases, dtype, &all);
        if (code != EXIT_OK && code != EXIT_CHECK) return code;
        if (code != EXIT_OK) result = code;
    }
    fputc('\n', g->s->text);
    against_print_mean(g->s->text, "all classes and types", &all);
    if (result == EXIT_OK && all.count == 0)
        return say(EXIT_DEVICE, "no product could be compared: no peer that counts was timed");
    return result;
}

static size_t bytes_for(const against *g, const tw_problem *p)
{
    operand_sets sets = sets_for(p, 1, &g->s->device);
    return (size_t)sets.wanted * sets.set_bytes;
}

/* The memory that the largest case needs. */
static void count_bytes(against *g, const case_list *cases, const name_list *dtypes)
{
    for (int d = 0; d < dtypes->count; d++)
        for (int n = -1; n < cases->count; n++) {
            static const bench_case square = {"", TW_N, TW_N, {PEAK_SIDE, PEAK_SIDE, PEAK_SIDE}};
            tw_problem p = case_problem(n < 0 ? &square : &cases->items[n],
                                        tw_lab_dtype_named(dtypes->items[d])->dtype);
            size_t bytes = bytes_for(g, &p);
            if (bytes > g->bytes) g->bytes = bytes;
        }
}

exit_code against_bench(session *s, const case_list *cases, const name_list *dtypes)
{
    static against g;
    g = (against){.s = s, .samples = s->opt->samples > 0 ? (int)s->opt->samples : USUAL_SAMPLES};
    g.threads = s->opt->threads > 0 ? (int)s->opt->threads : (int)s->device.threads;
    for (int d = 0; d < dtypes->count; d++)
        if (strcmp(dtypes->items[d], "f32") != 0 && strcmp(dtypes->items[d], "f64") != 0)
            return say(EXIT_USAGE, "--against compares f32 and f64, not %s", dtypes->items[d]);
    against_folder(g.folder);
    count_bytes(&g, cases, dtypes);
    exit_code code = choose_sides(&g);
    if (code == EXIT_OK) code = start(&g);
    if (code == EXIT_OK) code = compare_all(&g, cases, dtypes);
    finish(&g);
    return code;
}
