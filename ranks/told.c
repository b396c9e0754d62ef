/* told.c - the product of all ranks in a few lines, and as a record. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "../lab/devices.h"
#include "../lab/roofline.h"
#include "../program/diag.h"
#include "../program/term.h"
#include "ranks.h"

static void gather_numbers(rank_job *j, int64_t *words)
{
    double seconds[] = {j->read_s, j->compute_s, j->write_s, j->check_s, j->report.element_ratio, (double)j->sharing};
    int64_t counts[] = {j->nans, j->infinite, j->report.elements, j->mpi->received()};
    if (j->mpi->most(seconds, 6) != TW_OK || j->mpi->add(counts, 4) != TW_OK) ranks_lost(j);
    j->read_s = seconds[0], j->compute_s = seconds[1], j->write_s = seconds[2], j->check_s = seconds[3];
    j->report.element_ratio = seconds[4], j->sharing = (int)seconds[5];
    j->nans = counts[0], j->infinite = counts[1], j->report.elements = counts[2];
    *words = counts[3];
}

static bool on_gpus(const rank_job *j) { return strcmp(j->wish.product.device->engine, "cuda") == 0; }

/* "2 threads each", "a GPU each". */
static void share_text(const rank_job *j, char text[64])
{
    const int threads = (int)j->wish.product.device->threads;
    if (!on_gpus(j))
        snprintf(text, 64, "%d thread%s each", threads, threads == 1 ? "" : "s");
    else if (j->sharing > 1)
        snprintf(text, 64, "up to %d on one GPU", j->sharing);
    else
        snprintf(text, 64, "%s", j->sharing == 1 ? "a GPU each" : "on GPUs");
}

static void tell_ranks(const rank_job *j, int64_t words)
{
    char share[64];
    const tw_mpi_layout *l = &j->layout;
    term_number memory;
    share_text(j, share);
    fprintf(j->wish.product.text, "ranks      %d", l->ranks);
    if (l->ranks < j->world.ranks)
        fprintf(j->wish.product.text, " of %d, %s", j->world.ranks,
                j->wish.has_grid ? "as --grid says" : "more would be slower");
    fprintf(j->wish.product.text,
            ": %d x %d x %d of m x n x k, %s; %" PRId64 " elements received by each, buffers of %s", l->grid[0],
            l->grid[1], l->grid[2], share, words / l->ranks, term_bytes((double)l->buffer_bytes, memory));
    fputs(l->grid[2] > 1 ? "; sums of k's segments added in order: other last bits than of one rank\n"
          : on_gpus(j)   ? "; last bits are of this grid and these GPUs\n"
                         : "\n",
          j->wish.product.text);
}

/* How this rank's block of C would be computed in one piece. Its pieces may take another kernel. */
static bool plan_block(const rank_job *j, tw_lab_plan *out)
{
    const tw_problem *p = &j->in.problem;
    tw_problem own = tw_problem_make(p->dtype, p->op_a, p->op_b, j->layout.c.rows, j->layout.c.cols, p->k);
    own.dtype_b = p->dtype_b, own.dtype_c = p->dtype_c;
    own.alpha = p->alpha, own.alpha_imaginary = p->alpha_imaginary;
    own.beta = p->beta, own.beta_imaginary = p->beta_imaginary;
    return tw_lab_plan_of(j->wish.product.context, NULL, &own, out) == TW_OK;
}

void ranks_tell(rank_job *j, const char *replaced)
{
    const tw_problem *p = &j->in.problem;
    FILE *text = j->wish.product.text;
    term_number read_, compute_, write_, check, speed;
    tame_name name;
    int64_t words = 0;
    gather_numbers(j, &words);
    term_progress_end();
    if (j->wish.product.quiet) return;
    if (j->wish.product.verbose) {
        operands_tell(&j->in, text);
        tw_lab_plan plan;
        fprintf(text, "mpi        %s\n", diag_name(j->world.library, name));
        if (plan_block(j, &plan)) fprintf(text, "kernel     %s, for this rank's block in one piece\n", plan.text);
        if (on_gpus(j)) fprintf(text, "panels     %s\n", j->mpi->panels());
    }
    tell_ranks(j, words);
    if (j->wish.product.verbose)
        fprintf(text, "time       read %s, compute %s, write %s, check %s\n", term_seconds(j->read_s, read_),
                term_seconds(j->compute_s, compute_), term_seconds(j->write_s, write_),
                term_seconds(j->check_s, check));
    fprintf(text, "%s: %" PRId64 " x %" PRId64 " %s, %s, %s GFLOP/s, ", diag_name(j->wish.product.output, name), p->m,
            p->n, io_type_name(j->in.as.type_c), term_seconds(j->compute_s, compute_),
            term_gflops(roofline_flops(p) / j->compute_s / 1e9, speed));
    if (j->wish.product.verify)
        fprintf(text, "verified by %" PRId64 " of its elements, some of each block", j->report.elements);
    else
        fputs("not verified", text);
    if (j->nans > 0) fprintf(text, ", %" PRId64 " NaN", j->nans);
    if (j->infinite > 0) fprintf(text, ", %" PRId64 " infinite", j->infinite);
    fprintf(text, "%s\n", replaced);
}

record ranks_record(rank_job *j)
{
    const tw_problem *p = &j->in.problem;
    record r = record_blank();
    r.engine = j->wish.product.device->engine, r.device = j->wish.product.device->name;
    char gpus[120] = "";
    const char *way = j->mpi->panels(); /* "staged through host memory: ", and why */
    if (j->sharing > 0) snprintf(gpus, sizeof gpus, ", %d on a GPU", j->sharing);
    if (on_gpus(j))
        snprintf(gpus + strlen(gpus), sizeof gpus - strlen(gpus), ", panels %.*s", (int)strcspn(way, ":"), way);
    snprintf(j->method, sizeof j->method, "tw_mpi_gemm, %d of %d ranks as %d x %d x %d%s, once", j->layout.ranks,
             j->world.ranks, j->layout.grid[0], j->layout.grid[1], j->layout.grid[2], gpus);
    r.method = j->method;
    r.dtype = j->in.as.a, r.dtype_b = j->in.as.b, r.dtype_c = io_type_name(j->in.as.type_c);
    r.m = p->m, r.n = p->n, r.k = p->k;
    r.op_a = "ntcr"[p->op_a], r.op_b = "ntcr"[p->op_b];
    r.alpha = p->alpha, r.beta = p->beta;
    if (io_type_is_complex(j->in.as.type_a))
        r.alpha_imaginary = p->alpha_imaginary, r.beta_imaginary = p->beta_imaginary;
    if (device_is_host(j->wish.product.device)) r.threads = (int)j->wish.product.device->threads;
    r.samples = r.repeats = r.sets = 1;
    r.min_s = r.median_s = r.p95_s = r.max_s = j->compute_s;
    r.gflops = roofline_flops(p) / j->compute_s / 1e9;
    r.compulsory_bytes = roofline_compulsory_bytes(p);
    r.verified = j->wish.product.verify ? "elements sampled" : "no";
    if (j->wish.product.verify) r.error_ratio = j->report.element_ratio;
    r.read_s = j->read_s, r.write_s = j->write_s;
    if (plan_block(j, &j->plan)) r.kernel = j->plan.kernel->name, r.rung = j->plan.kernel->rung, r.plan = j->plan.text;
    return r;
}
