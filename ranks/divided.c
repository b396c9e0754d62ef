/* divided.c - see divided.h. The grid is the one that `multiply` chooses under mpirun, by mpi/grid.c;
 * times are the choice's own estimate, or that at the speed of --rate. */
#include "divided.h"

#include <inttypes.h>
#include <string.h>
#include "../mpi/nominal.h"
#include "../lab/roofline.h"
#include "../program/diag.h"
#include "../program/object.h"
#include "../program/term.h"

typedef struct divided {
    const divided_wish *wish;
    FILE *text;
    nominal_machine machine;
    int hosts;
    tw_problem problem;
    grid_problem sizes;
    grid grid;         /* as the program chooses it, its times at `gflops` */
    double gflops;     /* of a rank */
    double one_rank_s; /* one rank's time for the product */
} divided;

/* ---- the choice ---- */

static void set_problem(divided *x)
{
    const divided_wish *o = x->wish;
    x->machine = (nominal_machine){.ranks = o->ranks,
                                   .threads = o->threads > 0 ? o->threads : 1,
                                   .one_host = o->hosts == 1,
                                   .network_gbps = o->network_gbps};
    x->hosts = o->hosts > 0 ? o->hosts : o->ranks;
    x->problem = tw_problem_make(o->dtype, TW_N, TW_N, o->m, o->n, o->k);
    x->problem.dtype_b = x->problem.dtype, x->problem.dtype_c = nominal_result(x->problem.dtype);
    x->sizes = nominal_problem(&x->problem, tw_lab_sum_depth(x->problem.dtype), &x->machine);
    if (o->memory > 0) x->sizes.memory_bytes = o->memory;
    memcpy(x->sizes.asked, o->grid, sizeof x->sizes.asked);
}

/* The same grid where a rank multiplies at another speed. */
static grid at_speed(const divided *x, const grid *g, double gflops)
{
    grid_problem p = x->sizes;
    grid out = *g;
    p.asked[0] = g->pm, p.asked[1] = g->pn, p.asked[2] = g->pk;
    p.flop_seconds = 2 / (gflops * 1e9);
    grid_choose(&p, &out);
    return out;
}

static exit_code choose(divided *x)
{
    const divided_wish *o = x->wish;
    const grid_problem *p = &x->sizes;
    if (!grid_choose(p, &x->grid)) {
        if (x->grid.pm == 0)
            return diag(EXIT_USAGE, "--grid %dx%dx%d (0: any) is no grid of at most %d ranks%s", p->asked[0],
                        p->asked[1], p->asked[2], p->ranks,
                        p->depth == 0 ? ", and k of these types is not divided" : "");
        return diag(EXIT_MEMORY,
                    "--memory %" PRId64 ": the smallest of %d ranks' blocks and buffers are %" PRId64
                    " bytes (grid %d x %d x %d)",
                    p->memory_bytes, p->ranks, x->grid.bytes, x->grid.pm, x->grid.pn, x->grid.pk);
    }
    x->gflops = o->rate_gflops > 0 ? o->rate_gflops : nominal_flops(x->problem.dtype, &x->machine) / 1e9;
    x->grid = at_speed(x, &x->grid, x->gflops);
    x->one_rank_s = (double)p->m * (double)p->n * (double)p->k * (2 / (x->gflops * 1e9));
    return EXIT_OK;
}

/* ---- what is derived from it ---- */

static int computing(const divided *x) { return x->grid.pm * x->grid.pn * x->grid.pk; }

static double words_of(const divided *x) { return x->grid.words[0] + x->grid.words[1] + x->grid.words[2]; }

static double bytes_of(const divided *x)
{
    const grid_problem *p = &x->sizes;
    return x->grid.words[0] * (double)p->a_bytes + x->grid.words[1] * (double)p->b_bytes +
           x->grid.words[2] * (double)p->c_bytes;
}

static double speed_up(const divided *x) { return x->one_rank_s / x->grid.seconds; }

/* What overlap can reach: A and B move beside the products, sums when these are done. */
static double overlapped_s(const divided *x)
{
    const grid *g = &x->grid;
    const double sums = g->words[2] * (double)x->sizes.c_bytes * x->sizes.byte_seconds +
                        (g->pk - 1) * x->sizes.message_seconds,
                 operands = g->move_s + g->message_s - sums;
    return (g->compute_s > operands ? g->compute_s : operands) + sums;
}

static double host_bytes(const divided *x)
{
    const int each = (x->machine.ranks + x->hosts - 1) / x->hosts, most = computing(x) < each ? computing(x) : each;
    return (double)x->grid.bytes * most;
}

/* ---- telling ---- */

static void tell_volume(const divided *x)
{
    static const char *const pieces[] = {"A    m k", "B    k n", "sums m n"};
    const grid *g = &x->grid;
    const int parts[3][3] = {{g->pm, g->pk, g->pn}, {g->pk, g->pn, g->pm}, {g->pm, g->pn, g->pk}};
    const int64_t bytes[3] = {x->sizes.a_bytes, x->sizes.b_bytes, x->sizes.c_bytes};
    FILE *text = x->text;
    term_number number;
    for (int i = 0; i < 3; i++) {
        fprintf(text, "%-10s %s / (%d %d) (1 - 1/%d)", i == 0 ? "receives" : "", pieces[i], parts[i][0], parts[i][1],
                parts[i][2]);
        fprintf(text, " = %.0f elements, %s\n", g->words[i], term_bytes(g->words[i] * (double)bytes[i], number));
    }
    fprintf(text, "           together %.0f elements by a rank on average, %s", words_of(x),
            term_bytes(bytes_of(x), number));
    fprintf(text, "; %.0f by all, %s\n", words_of(x) * computing(x), term_bytes(bytes_of(x) * computing(x), number));
}

static void tell_time(const divided *x)
{
    const grid *g = &x->grid;
    FILE *text = x->text;
    term_number first, second, third;
    fprintf(text, "time       compute %s + move %s", term_seconds(g->compute_s, first),
            term_seconds(g->move_s, second));
    fprintf(text, " + messages %s", term_seconds(g->message_s, first));
    fprintf(text, " = %s; with A and B overlapped %s\n", term_seconds(g->seconds, first),
            term_seconds(overlapped_s(x), second));
    fprintf(text, "gain       one rank takes %s: %s times as long; efficiency %s\n", term_seconds(x->one_rank_s, first),
            units_factor(speed_up(x), second), term_percent(speed_up(x) / computing(x), third));
}

/* The nominal speeds choose, so that all calls have the same bits: at another rate another grid may be faster. */
static void tell_better(const divided *x)
{
    grid_problem p = x->sizes;
    grid better = x->grid;
    term_number number;
    p.flop_seconds = 2 / (x->gflops * 1e9);
    if (!grid_choose(&p, &better) || better.seconds >= x->grid.seconds) return;
    fprintf(x->text, "better     at this rate --grid %dx%dx%d: %s\n", better.pm, better.pn, better.pk,
            term_seconds(better.seconds, number));
}

static void tell(const divided *x)
{
    const tw_problem *whole = &x->problem;
    const grid_problem *p = &x->sizes;
    const grid *g = &x->grid;
    const divided_wish *o = x->wish;
    FILE *text = x->text;
    term_number first, second;
    fprintf(text, "product    %" PRId64 " x %" PRId64 " x %" PRId64 " %s, %.0f flop\n", p->m, p->n, p->k,
            tw_lab_dtype_of(whole->dtype)->name, roofline_flops(whole));
    fprintf(text, "ranks      %d of %d%s: %d x %d x %d of m x n x k, %d thread%s each\n", computing(x),
            x->machine.ranks,
            computing(x) == x->machine.ranks              ? ""
            : p->asked[0] + p->asked[1] + p->asked[2] > 0 ? ", as --grid says"
                                                          : ", more would be slower",
            g->pm, g->pn, g->pk, x->machine.threads, x->machine.threads == 1 ? "" : "s");
    fprintf(text, "rate       %s GFLOP/s of a rank%s; its link %g Gbit/s%s, a message %s\n",
            term_gflops(x->gflops, first), o->rate_gflops > 0 ? "" : " (nominal; --rate)", nominal_gbps(&x->machine),
            o->network_gbps > 0 ? "" : " (nominal; --network)", term_seconds(p->message_seconds, second));
    tell_volume(x);
    fprintf(text, "memory     %s of a rank at most, ", term_bytes((double)g->bytes, first));
    fprintf(text, "buffers of %s among them; %s of a host; panels of %" PRId64 " steps of k\n",
            term_bytes((double)g->buffer_bytes, first), term_bytes(host_bytes(x), second), g->panel);
    tell_time(x);
    if (o->rate_gflops > 0) tell_better(x);
}

static void write_object(const divided *x, FILE *json)
{
    const grid *g = &x->grid;
    object o = object_begin(json);
    object_text(&o, "engine", "cpu");
    object_text(&o, "predicted", "volume model");
    object_text(&o, "dtype", tw_lab_dtype_of(x->problem.dtype)->name);
    object_number(&o, "m", (double)x->problem.m);
    object_number(&o, "n", (double)x->problem.n);
    object_number(&o, "k", (double)x->problem.k);
    object_number(&o, "ranks", x->machine.ranks);
    object_number(&o, "hosts", x->hosts);
    object_number(&o, "threads", x->machine.threads);
    object_number(&o, "network_gbps", nominal_gbps(&x->machine));
    object_number(&o, "message_s", x->sizes.message_seconds);
    object_number(&o, "rate_gflops", x->gflops);
    object_number(&o, "pm", g->pm);
    object_number(&o, "pn", g->pn);
    object_number(&o, "pk", g->pk);
    object_number(&o, "panel", (double)g->panel);
    object_number(&o, "received_a", g->words[0]);
    object_number(&o, "received_b", g->words[1]);
    object_number(&o, "received_sums", g->words[2]);
    object_number(&o, "received_bytes", bytes_of(x));
    object_number(&o, "received_by_all", words_of(x) * computing(x));
    object_number(&o, "rank_bytes", (double)g->bytes);
    object_number(&o, "buffer_bytes", (double)g->buffer_bytes);
    object_number(&o, "host_bytes", host_bytes(x));
    object_number(&o, "compute_s", g->compute_s);
    object_number(&o, "move_s", g->move_s);
    object_number(&o, "messages_s", g->message_s);
    object_number(&o, "predicted_s", g->seconds);
    object_number(&o, "predicted_overlapped_s", overlapped_s(x));
    object_number(&o, "one_rank_s", x->one_rank_s);
    object_number(&o, "efficiency", speed_up(x) / computing(x));
    object_end(&o);
}

exit_code divided_explain(const divided_wish *wish, FILE *text, FILE *json)
{
    divided x = {.wish = wish, .text = text};
    set_problem(&x);
    const exit_code code = choose(&x);
    if (code != EXIT_OK) return code;
    tell(&x);
    write_object(&x, json);
    return EXIT_OK;
}
