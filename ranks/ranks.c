/* ranks.c - see ranks.h. Every stage ends with all ranks agreeing on its outcome, so that all go on or none does; the
 * lowest rank that failed says why. The output is one temporary file, which rank 0 makes and renames. */
#define _POSIX_C_SOURCE 200809L
#include "ranks.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "../lab/measure.h"
#include "../multiply/check.h"
#include "../multiply/sampled.h"
#include "../program/diag.h"
#include "../program/guard.h"
#include "../program/watch.h"
#include "keeper.h"

enum { SAMPLES = 16 };

static int64_t hash_of(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (; text != NULL && *text != '\0'; text++) hash = (hash ^ (unsigned char)*text) * 0x100000001b3;
    return (int64_t)hash;
}

/* What the plan does not compare. */
static exit_code compare(const rank_job *j)
{
    const product_wish *wish = &j->wish.product;
    const rank_value values[] = {
        {"the path of -o (its hash)", hash_of(wish->output)},
        {"--verify", wish->verify},
        {"--add", wish->add != NULL},
        {"--timeout", j->wish.timeout_s},
        {"the type of A's file", j->in.each[OPERAND_A].matrix.type},
        {"the type of B's file", j->in.each[OPERAND_B].matrix.type},
        {"the order of A's file", io_by_columns(&j->in.each[OPERAND_A].matrix)},
        {"the order of B's file", io_by_columns(&j->in.each[OPERAND_B].matrix)},
    };
    return ranks_checked(j, j->mpi->alike(values, sizeof values / sizeof *values));
}

/* ---- what is asked for ---- */

/* Of --panels: TW_MPI_PANELS_AUTO, ... */
static int32_t panels_of(const char *way)
{
    if (way == NULL) return TW_MPI_PANELS_AUTO;
    return strcmp(way, "nccl") == 0     ? TW_MPI_PANELS_NCCL
           : strcmp(way, "staged") == 0 ? TW_MPI_PANELS_STAGED
                                        : TW_MPI_PANELS_AUTO;
}

/* How many ranks use this rank's GPU; 0: nobody can say. */
static exit_code find_sharing(rank_job *j)
{
    char id[64] = "";
    if (strcmp(j->wish.product.device->engine, "cuda") != 0) return EXIT_OK;
    if (tw_lab_device_id(j->wish.product.context, id, (int)sizeof id) != TW_OK) id[0] = '\0';
    const tw_status status = j->mpi->beside(hash_of(id), &j->sharing);
    if (id[0] == '\0') j->sharing = 0;
    return ranks_checked(j, status);
}

static exit_code open_operands(rank_job *j)
{
    const product_wish *wish = &j->wish.product;
    exit_code code;
    const operand *whole = operands_open(wish, &j->in);
    if (whole == NULL) {
        code = operands_settle(wish, &j->in);
        if (code == EXIT_OK) operands_warn(wish, &j->in);
        return code;
    }
    if (whole->source.compressed)
        return diag(EXIT_INPUT, "%s: is compressed: several ranks read regular .npy, .raw and .bin files as they lie",
                    whole->path);
    operands_free(&j->in);
    code = operands_read(wish, &j->in); /* which says what is wrong */
    operands_free(&j->in);
    return code != EXIT_OK ? code : diag(EXIT_INPUT, "several ranks read regular .npy, .raw and .bin files");
}

/* ---- the engine ---- */

static tw_status engine_gemm(tw_context *context, const tw_problem *problem, const void *a, const void *b, void *c)
{
    const tw_status status = tw_gemm(context, problem, a, b, c);
    watch_alive();
    return status;
}

static tw_status engine_multiply(tw_lab_pipeline *pipeline, const tw_problem *problem, const void *a, const void *b,
                                 void *c)
{
    const tw_status status = tw_lab_pipeline_multiply(pipeline, problem, a, b, c);
    watch_alive();
    return status;
}

static tw_status engine_prepare(tw_lab_pipeline *pipeline, const tw_problem *problem, const void *a, const void *b,
                                const void *c)
{
    const tw_status status = tw_lab_pipeline_prepare(pipeline, problem, a, b, c);
    watch_alive();
    return status;
}

static exit_code make_plan(rank_job *j)
{
    const ranks_wish *wish = &j->wish;
    rank_engine engine = rank_engine_of(wish->product.context);
    engine.gemm = engine_gemm;
    engine.device.multiply = engine_multiply, engine.device.prepare = engine_prepare;
    tw_mpi_options asked = {.size = sizeof asked, .network_gbps = wish->network_gbps, .timeout_s = j->timeout_s};
    asked.panels = panels_of(wish->panels);
    memcpy(asked.grid, wish->grid, sizeof asked.grid);
    /* the least of all ranks, as the most of what is left of 2^53 */
    const int64_t usable = out_of_core_usable(&wish->product) / (wish->product.memory > 0 ? 1 : j->world.beside);
    double left = usable < (int64_t)1 << 53 ? 0x1p53 - (double)usable : 0;
    if (j->mpi->most(&left, 1) != TW_OK) ranks_lost(j);
    asked.memory_bytes = (int64_t)(0x1p53 - left);
    tw_problem p = j->in.problem;
    const tw_problem whole = tw_problem_make(p.dtype, p.op_a, p.op_b, p.m, p.n, p.k);
    p.lda = whole.lda, p.ldb = whole.ldb, p.ldc = whole.ldc;
    if (j->in.each[OPERAND_ADD].path == NULL) p.beta = p.beta_imaginary = 0;
    return ranks_checked(j, j->mpi->make(&engine, &p, &asked, &j->layout));
}

/* ---- files ---- */

static exit_code allocate(rank_job *j)
{
    const tw_mpi_layout *l = &j->layout;
    j->a = memory_for(l->a.rows, l->a.cols, io_type_bytes(j->in.as.type_a));
    j->b = memory_for(l->b.rows, l->b.cols, io_type_bytes(j->in.as.type_b));
    j->c = memory_for(l->c.rows, l->c.cols, io_type_bytes(j->in.as.type_c));
    return j->a != NULL && j->b != NULL && j->c != NULL ? EXIT_OK : diag_no_memory("this rank's blocks of A, B and C");
}

/* Is the temporary file, which rank 0 has made, also here? Else MPI would wait for this rank where C is written. */
static exit_code see_output(const rank_job *j)
{
    tame_name name;
    const int fd = open(j->out.temp_path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return diag(EXIT_OUTPUT,
                    "-o %s: rank 0 has made the temporary file, and this rank cannot open it: %s. All hosts must share "
                    "the folder of the output",
                    diag_name(j->wish.product.output, name), strerror(errno));
    close(fd);
    return EXIT_OK;
}

/* Rank 0 makes the file, its header and its room; each rank removes it if it is stopped. */
static exit_code open_output(rank_job *j)
{
    const io_matrix c = {.type = j->in.as.type_c,
                         .rows = j->in.problem.m,
                         .cols = j->in.problem.n,
                         .row_stride = j->in.problem.n,
                         .col_stride = 1};
    static char told[4352 + 32]; /* the path, behind the place of the first element */
    io_error error;
    exit_code code = EXIT_OK;
    if (j->world.rank == 0) {
        guard_hold();
        io_status status = io_output_open_named(&j->out, j->wish.product.output, &error);
        if (status == IO_OK) guard_output(j->out.temp_path), keeper_file(j->out.temp_path);
        guard_release();
        if (status == IO_OK) status = io_output_begin(&j->out, io_format_of(j->wish.product.output), &c, &error);
        if (status != IO_OK) code = diag_io(status, &error);
        if (status == IO_OK && j->out.blocks.swapped)
            code = diag(EXIT_USAGE, "several ranks write .npy on hosts of little-endian byte order alone");
        if (status == IO_OK) snprintf(told, sizeof told, "%" PRId64 " %s", j->out.begin, j->out.temp_path);
    }
    code = ranks_together(j, code);
    if (code != EXIT_OK) return code;
    if (j->mpi->tell(told, sizeof told) != TW_OK) ranks_lost(j);
    if (j->world.rank > 0) {
        char *path = strchr(told, ' ');
        j->out = (io_output){.fd = -1, .temp_path = path + 1, .begin = strtoll(told, NULL, 10)};
        guard_output(j->out.temp_path);
        code = see_output(j);
    }
    return ranks_together(j, code);
}

/* ---- the product, its check, its end ---- */

static exit_code compute(rank_job *j)
{
    const tw_mpi_layout *l = &j->layout;
    watch_stage("the product is computed");
    const double start_s = measure_now_s();
    const exit_code code = ranks_checked(j, j->mpi->gemm(j->a, l->a.cols > 0 ? l->a.cols : 1, j->b,
                                                         l->b.cols > 0 ? l->b.cols : 1, j->c,
                                                         l->c.cols > 0 ? l->c.cols : 1));
    j->compute_s = measure_now_s() - start_s;
    free(j->a), free(j->b);
    j->a = j->b = NULL;
    j->mpi->drop();
    return ranks_together(j, code);
}

/* Each rank looks at elements of its own block of C. */
static exit_code judge(rank_job *j)
{
    const tw_mpi_block *own = &j->layout.c;
    const sampled_region region = {own->row, own->col, own->rows, own->cols, SAMPLES};
    const out_of_core sizes = {.limit = INT64_MAX,
                               .problem = {.a_bytes = (int64_t)io_type_bytes(j->in.as.type_a),
                                           .b_bytes = (int64_t)io_type_bytes(j->in.as.type_b),
                                           .c_bytes = (int64_t)io_type_bytes(j->in.as.type_c)},
                               .blocks = {.m = own->rows, .n = own->cols}};
    exit_code code = EXIT_OK;
    j->report = (verify_report){.passed = true};
    if (!j->wish.product.verify) return EXIT_OK;
    watch_stage("C is checked");
    if (own->rows > 0 && own->cols > 0) {
        operands of_block = j->in;
        of_block.problem.m = own->rows, of_block.problem.n = own->cols;
        j->nans = check_nans(&of_block, j->c, NULL, &j->infinite);
        code = sampled_judge(&j->wish.product, &j->in, &j->out, &sizes, &region, &j->report);
    }
    return ranks_together(j, code);
}

static exit_code finish_output(rank_job *j)
{
    io_error error;
    watch_stage("the output gets its name");
    exit_code code = ranks_together(j, operands_unchanged(&j->in));
    if (code != EXIT_OK) return code;
    if (j->world.rank == 0) {
        code = j->wish.recheck(j->wish.product.output);
        const io_status status = code == EXIT_OK ? io_output_commit(&j->out, &error) : IO_OK;
        if (status != IO_OK) code = diag_io(status, &error);
    }
    code = ranks_together(j, code);
    if (code == EXIT_OK) guard_output(NULL);
    return code;
}

/* ---- in turn ---- */

static exit_code prepare(rank_job *j, exit_code ready)
{
    exit_code code = ready;
    if (code == EXIT_OK) code = multiplied_check_engine(&j->wish.product);
    if (code == EXIT_OK) code = open_operands(j);
    return ranks_together(j, code);
}

exit_code ranks_begin(rank_job *j, const launched *l, int64_t timeout_s)
{
    *j = (rank_job){
        .out.fd = -1, .layout.size = sizeof j->layout, .timeout_s = timeout_s > 0 ? (double)timeout_s : 600};
    const exit_code code = launched_open(l, &j->mpi);
    if (code != EXIT_OK) return code;
    if (l->rank == 0) keeper_begin();
    watch_begin(j->timeout_s + 2); /* what waits by itself says more */
    j->mpi->timeout(j->timeout_s), j->mpi->while_idle(watch_alive);
    if (j->mpi->start(&j->world) != TW_OK) return diag(EXIT_DEVICE, "MPI does not start: %s", j->mpi->error());
    if (j->world.ranks < l->ranks && j->world.ranks == 1)
        return l->rank > 0 ? EXIT_DEVICE
                           : diag(EXIT_DEVICE,
                                  "%d processes were started, and the library for %s sees one: TILEWRIGHT_MPI must "
                                  "name the launcher's MPI",
                                  l->ranks, l->mpi);
    diag_hold();
    return EXIT_OK;
}

exit_code ranks_multiply(rank_job *j, const ranks_wish *wish, exit_code ready)
{
    j->wish = *wish;
    exit_code code = prepare(j, ready);
    if (code == EXIT_OK) code = ranks_together(j, compare(j));
    if (code == EXIT_OK) code = ranks_together(j, make_plan(j)); /* compares the engines */
    if (code == EXIT_OK) code = ranks_together(j, find_sharing(j));
    if (code == EXIT_OK) code = open_output(j);
    if (code == EXIT_OK) code = ranks_together(j, allocate(j));
    double start_s = measure_now_s();
    if (code == EXIT_OK) code = ranks_read(j);
    j->read_s = measure_now_s() - start_s;
    if (code == EXIT_OK) code = compute(j);
    start_s = measure_now_s();
    if (code == EXIT_OK) code = ranks_write(j);
    j->write_s = measure_now_s() - start_s, start_s = measure_now_s();
    if (code == EXIT_OK) code = judge(j);
    j->check_s = measure_now_s() - start_s;
    if (code == EXIT_OK) code = finish_output(j);
    if (j->world.rank == 0) io_output_discard(&j->out);
    guard_output(NULL), keeper_file(NULL);
    diag_let_go(true, "");
    return code;
}

void ranks_end(rank_job *j, exit_code code)
{
    operands_free(&j->in);
    free(j->a), free(j->b), free(j->c);
    watch_stage("MPI ends");
    if (code != EXIT_OK) signal(SIGTERM, SIG_IGN); /* a launcher's, to ranks that end behind the first */
    j->mpi->stop();
    watch_end();
    if (j->mpi->stuck()) guard_end(code); /* the driver would wait for it */
}
