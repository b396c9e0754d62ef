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
#include "../lab/devices.h"
#include "../lab/measure.h"
#include "../lab/roofline.h"
#include "../multiply/check.h"
#include "../multiply/sampled.h"
#include "../program/diag.h"
#include "../program/guard.h"
#include "../program/term.h"
#include "../program/watch.h"
#include "files.h"
#include "keeper.h"

enum { PIECE_BYTES = 16 << 20, SAMPLES = 16 };

typedef struct job {
    session *s;
    const rank_plugin *mpi;
    rank_world world;
    operands in;
    io_format format;
    io_output out; /* of rank 0; of the others the path of the temporary file alone */
    tw_mpi_layout layout;
    char *a, *b, *c; /* this rank's blocks, row by row */
    double read_s, compute_s, write_s, check_s;
    verify_report report;
    int64_t nans, infinite;
    int sharing; /* ranks that use this rank's GPU; of all the most in the end */
} job;

/* ---- together ---- */

/* MPI failed, or a rank does not answer: nobody can be asked any more. */
static void lost(const job *j)
{
    char who[320];
    snprintf(who, sizeof who, "rank %d on %.250s: ", j->world.rank, j->world.host);
    diag_let_go(true, who);
    diag(EXIT_RUN, "%s%s", who, j->mpi->error());
    guard_end(EXIT_RUN);
}

/* The worst of all ranks' codes; the lowest rank that has it says why. */
static exit_code together(const job *j, exit_code code)
{
    int worst = EXIT_OK, rank = 0;
    char who[320] = "";
    if (j->mpi->worst((int)code, &worst, &rank) != TW_OK) lost(j);
    if (worst == EXIT_OK) return EXIT_OK;
    if (rank > 0) snprintf(who, sizeof who, "rank %d on %.250s: ", rank, j->world.host);
    diag_let_go(rank == j->world.rank, who);
    diag_hold();
    return (exit_code)worst;
}

/* A call of the plug-in: every rank has its status, but where MPI failed. */
static exit_code checked(const job *j, tw_status status)
{
    if (status == TW_DEVICE_FAILED && !j->mpi->agreed()) lost(j);
    return status == TW_OK ? EXIT_OK : diag(diag_code(status), "%s", j->mpi->error());
}

static int64_t hash_of(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (; text != NULL && *text != '\0'; text++) hash = (hash ^ (unsigned char)*text) * 0x100000001b3;
    return (int64_t)hash;
}

/* What the plan does not compare. */
static exit_code compare(const job *j)
{
    const options *opt = j->s->opt;
    const rank_value values[] = {
        {"the path of -o (its hash)", hash_of(opt->output)},
        {"--verify", opt->verify},
        {"--add", opt->add != NULL},
        {"--timeout", opt->timeout},
        {"the type of A's file", j->in.each[OPERAND_A].matrix.type},
        {"the type of B's file", j->in.each[OPERAND_B].matrix.type},
        {"the order of A's file", io_by_columns(&j->in.each[OPERAND_A].matrix)},
        {"the order of B's file", io_by_columns(&j->in.each[OPERAND_B].matrix)},
    };
    return checked(j, j->mpi->alike(values, sizeof values / sizeof *values));
}

/* ---- what is asked for ---- */

exit_code ranks_check(const options *opt, const launched *l)
{
    const bool asks = opt->network > 0 || opt->timeout > 0 || opt->grids.count > 0 || opt->panels.count > 0;
    const shape *grid = &opt->grids.items[0];
    if (l->mpi == NULL && asks)
        return diag(EXIT_USAGE, "--%s is for several ranks: start the program by mpirun",
                    opt->grids.count > 0 ? "grid"
                    : opt->network > 0   ? "network"
                    : opt->timeout > 0   ? "timeout"
                                         : "panels");
    if (opt->grids.count > 0 && (grid->m > 1 || grid->n > 1 || grid->k > 1))
        return diag(EXIT_USAGE, "--grid %" PRId64 "x%" PRId64 "x%" PRId64 ": there is one rank", grid->m, grid->n,
                    grid->k);
    return EXIT_OK;
}

static exit_code check_options(job *j)
{
    const options *opt = j->s->opt;
    const char *engine = opt->engines.count > 0 ? opt->engines.items[0] : "auto";
    const char *const inputs[] = {opt->operands[0], opt->operands[1], opt->add};
    if (opt->output == NULL) return diag(EXIT_USAGE, "-o FILE is missing: where C is to be written");
    j->format = io_format_of(opt->output);
    if (j->format != IO_FORMAT_NPY && j->format != IO_FORMAT_RAW)
        return diag(EXIT_USAGE, "-o %s: several ranks write .npy, .raw or .bin", opt->output);
    if (strcmp(engine, "opencl") == 0)
        return diag(EXIT_USAGE, "--engine %s: several ranks multiply by the cpu engine or by cuda", engine);
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
        if (inputs[i] != NULL && (strcmp(inputs[i], "-") == 0 || io_named(inputs[i]) == IO_FORMAT_MTX))
            return diag(EXIT_USAGE, "%s: several ranks read regular .npy, .raw and .bin files", inputs[i]);
    if (opt->panels.count > 0 && strcmp(engine, "cuda") != 0)
        return diag(EXIT_USAGE, "--panels is for ranks that multiply on GPUs: --engine cuda");
    const product_wish wish = session_product(j->s);
    return operands_check_options(&wish);
}

/* Of --panels: TW_MPI_PANELS_AUTO, ... */
static int32_t panels_of(const options *opt)
{
    const char *way = opt->panels.count > 0 ? opt->panels.items[0] : "auto";
    return strcmp(way, "nccl") == 0     ? TW_MPI_PANELS_NCCL
           : strcmp(way, "staged") == 0 ? TW_MPI_PANELS_STAGED
                                        : TW_MPI_PANELS_AUTO;
}

/* The ranks of a host take its GPUs, or those of --device, in turn. */
static exit_code open_gpu(job *j)
{
    static options own;
    const number_list *named = &j->s->opt->devices;
    int32_t count = 0;
    own = *j->s->opt;
    if (named->count > 0 && named->items[0] >= 0) {
        own.devices.items[0] = named->items[j->world.place % named->count];
    } else {
        if (tw_lab_engine_devices("cuda", NULL, 0, &count) != TW_OK) return diag_tw(TW_NO_DEVICE);
        own.devices.items[0] = j->world.place % count;
    }
    own.devices.count = 1;
    j->s->opt = &own;
    return session_open_device(j->s, "cuda");
}

/* Ranks that may run on the same processors share them. */
static exit_code open_cpu(job *j)
{
    static options own;
    exit_code code = session_open_device(j->s, "cpu");
    if (code != EXIT_OK || j->s->opt->threads > 0 || j->world.sharing < 2) return code;
    if (strcmp(j->s->device.threads_from, "TILEWRIGHT_THREADS") == 0 ||
        strcmp(j->s->device.threads_from, "OMP_NUM_THREADS") == 0)
        return code;
    own = *j->s->opt;
    own.threads = j->s->device.threads / j->world.sharing > 1 ? j->s->device.threads / j->world.sharing : 1;
    j->s->opt = &own;
    return session_open_device(j->s, "cpu");
}

static exit_code open_device(job *j)
{
    const name_list *engines = &j->s->opt->engines;
    return engines->count > 0 && strcmp(engines->items[0], "cuda") == 0 ? open_gpu(j) : open_cpu(j);
}

/* How many ranks use this rank's GPU; 0: nobody can say. */
static exit_code find_sharing(job *j)
{
    char id[64] = "";
    if (strcmp(j->s->device.engine, "cuda") != 0) return EXIT_OK;
    if (tw_lab_device_id(j->s->context, id, (int)sizeof id) != TW_OK) id[0] = '\0';
    const tw_status status = j->mpi->beside(hash_of(id), &j->sharing);
    if (id[0] == '\0') j->sharing = 0;
    return checked(j, status);
}

static exit_code open_operands(job *j)
{
    const product_wish wish = session_product(j->s);
    exit_code code;
    const operand *whole = operands_open(&wish, &j->in);
    if (whole == NULL) {
        code = operands_settle(&wish, &j->in);
        if (code == EXIT_OK) operands_warn(&wish, &j->in);
        return code;
    }
    if (whole->source.compressed)
        return diag(EXIT_INPUT, "%s: is compressed: several ranks read regular .npy, .raw and .bin files as they lie",
                    whole->path);
    operands_free(&j->in);
    code = operands_read(&wish, &j->in); /* which says what is wrong */
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

static exit_code make_plan(job *j, double timeout_s)
{
    const options *opt = j->s->opt;
    const shape *grid = &opt->grids.items[0];
    rank_engine engine = rank_engine_of(j->s->context);
    engine.gemm = engine_gemm;
    engine.device.multiply = engine_multiply, engine.device.prepare = engine_prepare;
    tw_mpi_options asked = {.size = sizeof asked, .network_gbps = opt->network, .timeout_s = timeout_s};
    asked.panels = panels_of(opt);
    if (opt->grids.count > 0)
        asked.grid[0] = (int32_t)grid->m, asked.grid[1] = (int32_t)grid->n, asked.grid[2] = (int32_t)grid->k;
    /* the least of all ranks, as the most of what is left of 2^53 */
    const product_wish wish = session_product(j->s);
    const int64_t usable = out_of_core_usable(&wish) / (opt->memory > 0 ? 1 : j->world.beside);
    double left = usable < (int64_t)1 << 53 ? 0x1p53 - (double)usable : 0;
    if (j->mpi->most(&left, 1) != TW_OK) lost(j);
    asked.memory_bytes = (int64_t)(0x1p53 - left);
    tw_problem p = j->in.problem;
    const tw_problem whole = tw_problem_make(p.dtype, p.op_a, p.op_b, p.m, p.n, p.k);
    p.lda = whole.lda, p.ldb = whole.ldb, p.ldc = whole.ldc;
    if (j->in.each[OPERAND_ADD].path == NULL) p.beta = p.beta_imaginary = 0;
    return checked(j, j->mpi->make(&engine, &p, &asked, &j->layout));
}

/* ---- files ---- */

/* A block of a matrix in a file, in pieces of whole lines, or of parts of one. */
typedef struct pieces {
    int64_t begin, line, bytes; /* of the file: its first element, elements of a line, bytes of an element */
    tw_mpi_block block;
    int64_t lines, length; /* of a piece */
    int64_t across, count; /* pieces of a line; of the block */
} pieces;

static pieces pieces_of(int64_t begin, int64_t line, int64_t bytes, const tw_mpi_block *block)
{
    pieces p = {.begin = begin, .line = line, .bytes = bytes, .block = *block};
    const int64_t most = PIECE_BYTES / bytes;
    if (block->rows == 0 || block->cols == 0) return p;
    p.length = block->cols < most ? block->cols : most, p.lines = most / p.length;
    p.across = (block->cols + p.length - 1) / p.length;
    p.count = p.across * ((block->rows + p.lines - 1) / p.lines);
    return p;
}

/* The piece of that number as a part of the block; empty behind the last. */
static tw_mpi_block piece_at(const pieces *p, int64_t number)
{
    if (number >= p->count) return (tw_mpi_block){0};
    tw_mpi_block at = {.row = number / p->across * p->lines, .col = number % p->across * p->length};
    at.rows = p->block.rows - at.row < p->lines ? p->block.rows - at.row : p->lines;
    at.cols = p->block.cols - at.col < p->length ? p->block.cols - at.col : p->length;
    return at;
}

static rank_piece place_of(const pieces *p, const tw_mpi_block *at)
{
    if (at->rows == 0) return (rank_piece){0};
    return (rank_piece){p->begin + ((p->block.row + at->row) * p->line + p->block.col + at->col) * p->bytes,
                        at->cols * p->bytes, at->rows, p->line * p->bytes};
}

/* A rank with fewer pieces takes part in the reading of the others'. */
static int64_t rounds(const job *j, const pieces *p)
{
    double most = (double)p->count;
    if (j->mpi->most(&most, 1) != TW_OK) lost(j);
    return (int64_t)most;
}

/* Element (i, j) of a piece goes to place i * rows_apart + j * cols_apart. */
static void scatter(const io_matrix *piece, io_type to, char *scratch, char *out, int64_t rows_apart,
                    int64_t cols_apart)
{
    const int64_t bytes = (int64_t)io_type_bytes(to);
    io_convert(piece, to, cols_apart == 1 && rows_apart == piece->cols ? out : scratch);
    if (cols_apart == 1 && rows_apart == piece->cols) return;
    for (int64_t i = 0; i < piece->rows; i++)
        for (int64_t j = 0; j < piece->cols; j++)
            memcpy(out + (i * rows_apart + j * cols_apart) * bytes, scratch + (i * piece->cols + j) * bytes,
                   (size_t)bytes);
}

/* A block of an operand as its file has it, or of one that lies by columns by rows. */
static exit_code read_block(job *j, operand_role role, const tw_mpi_block *block, io_type to, bool turns, char *out)
{
    const operand *x = &j->in.each[role];
    const io_matrix *m = &x->matrix;
    const int64_t bytes = (int64_t)io_type_bytes(to);
    const pieces p = pieces_of(x->source.begin, io_by_columns(m) ? m->rows : m->cols, (int64_t)io_type_bytes(m->type),
                               block);
    const bool direct = m->type == to && !m->swapped && !turns;
    const size_t room = (size_t)(p.lines * p.length);
    char *piece = direct ? NULL : malloc(room * (size_t)p.bytes + 1),
         *scratch = turns ? malloc(room * (size_t)bytes + 1) : NULL;
    rank_file *file = NULL;
    exit_code code = (direct || piece != NULL) && (!turns || scratch != NULL) ? EXIT_OK : diag_no_memory(x->path);
    code = together(j, code);
    tw_status status = code == EXIT_OK ? j->mpi->open(x->source.path, false, &file) : TW_OK;
    if (status != TW_OK) code = diag(EXIT_INPUT, "%s", j->mpi->error());
    if (code == EXIT_OK) code = together(j, code);
    for (int64_t i = 0, end = code == EXIT_OK ? rounds(j, &p) : 0; i < end; i++) {
        const tw_mpi_block at = piece_at(&p, i);
        const rank_piece place = place_of(&p, &at);
        char *const whole = out + (at.row * block->cols + at.col) * bytes; /* whole lines, or a part of one */
        status = j->mpi->read(file, &place, direct ? whole : piece);
        watch_alive();
        if (status != TW_OK && code == EXIT_OK) code = diag(EXIT_INPUT, "%s", j->mpi->error());
        if (code != EXIT_OK || direct || at.rows == 0) continue;
        const io_matrix view = {m->type, m->swapped, at.rows, at.cols, at.cols, 1, piece, NULL, 0};
        if (turns)
            scatter(&view, to, scratch, out + (at.row + at.col * block->rows) * bytes, 1, block->rows);
        else
            scatter(&view, to, NULL, whole, at.cols, 1);
    }
    if (file != NULL && j->mpi->close(file) != TW_OK && code == EXIT_OK) code = diag(EXIT_INPUT, "%s", j->mpi->error());
    free(piece), free(scratch);
    return code;
}

static exit_code read_operands(job *j)
{
    const tw_mpi_layout *l = &j->layout;
    const operand *add = &j->in.each[OPERAND_ADD];
    const bool multiplies = (j->in.problem.alpha != 0 || j->in.problem.alpha_imaginary != 0);
    exit_code code = EXIT_OK;
    watch_stage("A is read");
    if (multiplies) code = together(j, read_block(j, OPERAND_A, &l->a, j->in.as.type_a, false, j->a));
    watch_stage("B is read");
    if (multiplies && code == EXIT_OK)
        code = together(j, read_block(j, OPERAND_B, &l->b, j->in.as.type_b, false, j->b));
    watch_stage("C0 is read");
    if (code != EXIT_OK || add->path == NULL) return code;
    const bool turns = io_by_columns(&add->matrix);
    const tw_mpi_block own = turns ? (tw_mpi_block){l->c.col, l->c.row, l->c.cols, l->c.rows} : l->c;
    return together(j, read_block(j, OPERAND_ADD, &own, j->in.as.type_c, turns, j->c));
}

static exit_code allocate(job *j)
{
    const tw_mpi_layout *l = &j->layout;
    j->a = memory_for(l->a.rows, l->a.cols, io_type_bytes(j->in.as.type_a));
    j->b = memory_for(l->b.rows, l->b.cols, io_type_bytes(j->in.as.type_b));
    j->c = memory_for(l->c.rows, l->c.cols, io_type_bytes(j->in.as.type_c));
    return j->a != NULL && j->b != NULL && j->c != NULL ? EXIT_OK : diag_no_memory("this rank's blocks of A, B and C");
}

/* Is the temporary file, which rank 0 has made, also here? Else MPI would wait for this rank where C is written. */
static exit_code see_output(const job *j)
{
    tame_name name;
    const int fd = open(j->out.temp_path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return diag(EXIT_OUTPUT,
                    "-o %s: rank 0 has made the temporary file, and this rank cannot open it: %s. All hosts must share "
                    "the folder of the output",
                    diag_name(j->s->opt->output, name), strerror(errno));
    close(fd);
    return EXIT_OK;
}

/* Rank 0 makes the file, its header and its room; each rank removes it if it is stopped. */
static exit_code open_output(job *j)
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
        io_status status = io_output_open_named(&j->out, j->s->opt->output, &error);
        if (status == IO_OK) guard_output(j->out.temp_path), keeper_file(j->out.temp_path);
        guard_release();
        if (status == IO_OK) status = io_output_begin(&j->out, j->format, &c, &error);
        if (status != IO_OK) code = diag_io(status, &error);
        if (status == IO_OK && j->out.blocks.swapped)
            code = diag(EXIT_USAGE, "several ranks write .npy on hosts of little-endian byte order alone");
        if (status == IO_OK) snprintf(told, sizeof told, "%" PRId64 " %s", j->out.begin, j->out.temp_path);
    }
    code = together(j, code);
    if (code != EXIT_OK) return code;
    if (j->mpi->tell(told, sizeof told) != TW_OK) lost(j);
    if (j->world.rank > 0) {
        char *path = strchr(told, ' ');
        j->out = (io_output){.fd = -1, .temp_path = path + 1, .begin = strtoll(told, NULL, 10)};
        guard_output(j->out.temp_path);
        code = see_output(j);
    }
    return together(j, code);
}

static exit_code write_result(job *j)
{
    const int64_t bytes = (int64_t)io_type_bytes(j->in.as.type_c);
    const pieces p = pieces_of(j->out.begin, j->in.problem.n, bytes, &j->layout.c);
    rank_file *file = NULL;
    watch_stage("C is written");
    exit_code code = j->mpi->open(j->out.temp_path, true, &file) == TW_OK ? EXIT_OK
                                                                          : diag(EXIT_OUTPUT, "%s", j->mpi->error());
    code = together(j, code);
    for (int64_t i = 0, end = code == EXIT_OK ? rounds(j, &p) : 0; i < end; i++) {
        const tw_mpi_block at = piece_at(&p, i);
        const rank_piece place = place_of(&p, &at);
        const tw_status status = j->mpi->write(file, &place, j->c + (at.row * j->layout.c.cols + at.col) * bytes);
        watch_alive();
        if (status != TW_OK && code == EXIT_OK) code = diag(EXIT_OUTPUT, "%s", j->mpi->error());
    }
    if (file != NULL && j->mpi->close(file) != TW_OK && code == EXIT_OK)
        code = diag(EXIT_OUTPUT, "%s", j->mpi->error());
    return together(j, code);
}

/* ---- the product, its check, its end ---- */

static exit_code compute(job *j)
{
    const tw_mpi_layout *l = &j->layout;
    watch_stage("the product is computed");
    const double start_s = measure_now_s();
    const exit_code code = checked(j, j->mpi->gemm(j->a, l->a.cols > 0 ? l->a.cols : 1, j->b,
                                                   l->b.cols > 0 ? l->b.cols : 1, j->c, l->c.cols > 0 ? l->c.cols : 1));
    j->compute_s = measure_now_s() - start_s;
    free(j->a), free(j->b);
    j->a = j->b = NULL;
    j->mpi->drop();
    return together(j, code);
}

/* Each rank looks at elements of its own block of C. */
static exit_code judge(job *j)
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
    if (!j->s->opt->verify) return EXIT_OK;
    watch_stage("C is checked");
    if (own->rows > 0 && own->cols > 0) {
        operands of_block = j->in;
        of_block.problem.m = own->rows, of_block.problem.n = own->cols;
        j->nans = check_nans(&of_block, j->c, NULL, &j->infinite);
        const product_wish wish = session_product(j->s);
        code = sampled_judge(&wish, &j->in, &j->out, &sizes, &region, &j->report);
    }
    return together(j, code);
}

static exit_code finish_output(job *j)
{
    io_error error;
    watch_stage("the output gets its name");
    exit_code code = together(j, operands_unchanged(&j->in));
    if (code != EXIT_OK) return code;
    if (j->world.rank == 0) {
        code = files_recheck(j->s->opt->output);
        const io_status status = code == EXIT_OK ? io_output_commit(&j->out, &error) : IO_OK;
        if (status != IO_OK) code = diag_io(status, &error);
    }
    code = together(j, code);
    if (code == EXIT_OK) guard_output(NULL);
    return code;
}

/* ---- telling ---- */

static void gather_numbers(job *j, int64_t *words)
{
    double seconds[] = {j->read_s, j->compute_s, j->write_s, j->check_s, j->report.element_ratio, (double)j->sharing};
    int64_t counts[] = {j->nans, j->infinite, j->report.elements, j->mpi->received()};
    if (j->mpi->most(seconds, 6) != TW_OK || j->mpi->add(counts, 4) != TW_OK) lost(j);
    j->read_s = seconds[0], j->compute_s = seconds[1], j->write_s = seconds[2], j->check_s = seconds[3];
    j->report.element_ratio = seconds[4], j->sharing = (int)seconds[5];
    j->nans = counts[0], j->infinite = counts[1], j->report.elements = counts[2];
    *words = counts[3];
}

static bool on_gpus(const job *j) { return strcmp(j->s->device.engine, "cuda") == 0; }

/* "2 threads each", "a GPU each". */
static void share_text(const job *j, char text[64])
{
    const int threads = (int)j->s->device.threads;
    if (!on_gpus(j))
        snprintf(text, 64, "%d thread%s each", threads, threads == 1 ? "" : "s");
    else if (j->sharing > 1)
        snprintf(text, 64, "up to %d on one GPU", j->sharing);
    else
        snprintf(text, 64, "%s", j->sharing == 1 ? "a GPU each" : "on GPUs");
}

static void tell_ranks(const job *j, int64_t words)
{
    char share[64];
    const tw_mpi_layout *l = &j->layout;
    term_number memory;
    share_text(j, share);
    fprintf(j->s->text, "ranks      %d", l->ranks);
    if (l->ranks < j->world.ranks)
        fprintf(j->s->text, " of %d, %s", j->world.ranks,
                j->s->opt->grids.count > 0 ? "as --grid says" : "more would be slower");
    fprintf(j->s->text, ": %d x %d x %d of m x n x k, %s; %" PRId64 " elements received by each, buffers of %s",
            l->grid[0], l->grid[1], l->grid[2], share, words / l->ranks, term_bytes((double)l->buffer_bytes, memory));
    fputs(l->grid[2] > 1 ? "; sums of k's segments added in order: other last bits than of one rank\n"
          : on_gpus(j)   ? "; last bits are of this grid and these GPUs\n"
                         : "\n",
          j->s->text);
}

/* How this rank's block of C would be computed in one piece. Its pieces may take another kernel. */
static bool plan_block(const job *j, tw_lab_plan *out)
{
    const tw_problem *p = &j->in.problem;
    tw_problem own = tw_problem_make(p->dtype, p->op_a, p->op_b, j->layout.c.rows, j->layout.c.cols, p->k);
    own.dtype_b = p->dtype_b, own.dtype_c = p->dtype_c;
    own.alpha = p->alpha, own.alpha_imaginary = p->alpha_imaginary;
    own.beta = p->beta, own.beta_imaginary = p->beta_imaginary;
    return tw_lab_plan_of(j->s->context, NULL, &own, out) == TW_OK;
}

static exit_code tell_result(job *j)
{
    const tw_problem *p = &j->in.problem;
    FILE *text = j->s->text;
    term_number read_, compute_, write_, check, speed;
    tame_name name;
    int64_t words = 0;
    gather_numbers(j, &words);
    term_progress_end();
    if (j->s->opt->quiet) return EXIT_OK;
    if (j->s->opt->verbose) {
        operands_tell(&j->in, text);
        tw_lab_plan plan;
        fprintf(text, "mpi        %s\n", diag_name(j->world.library, name));
        if (plan_block(j, &plan)) fprintf(text, "kernel     %s, for this rank's block in one piece\n", plan.text);
        if (on_gpus(j)) fprintf(text, "panels     %s\n", j->mpi->panels());
    }
    tell_ranks(j, words);
    if (j->s->opt->verbose)
        fprintf(text, "time       read %s, compute %s, write %s, check %s\n", term_seconds(j->read_s, read_),
                term_seconds(j->compute_s, compute_), term_seconds(j->write_s, write_),
                term_seconds(j->check_s, check));
    fprintf(text, "%s: %" PRId64 " x %" PRId64 " %s, %s, %s GFLOP/s, ", diag_name(j->s->opt->output, name), p->m, p->n,
            io_type_name(j->in.as.type_c), term_seconds(j->compute_s, compute_),
            term_gflops(roofline_flops(p) / j->compute_s / 1e9, speed));
    if (j->s->opt->verify)
        fprintf(text, "verified by %" PRId64 " of its elements, some of each block", j->report.elements);
    else
        fputs("not verified", text);
    if (j->nans > 0) fprintf(text, ", %" PRId64 " NaN", j->nans);
    if (j->infinite > 0) fprintf(text, ", %" PRId64 " infinite", j->infinite);
    fprintf(text, "%s\n", files_replaced());
    return session_flush(j->s);
}

static exit_code write_record(job *j)
{
    const tw_problem *p = &j->in.problem;
    char method[260];
    record r = record_blank();
    r.engine = j->s->device.engine, r.device = j->s->device.name;
    char gpus[120] = "";
    const char *way = j->mpi->panels(); /* "staged through host memory: ", and why */
    if (j->sharing > 0) snprintf(gpus, sizeof gpus, ", %d on a GPU", j->sharing);
    if (on_gpus(j))
        snprintf(gpus + strlen(gpus), sizeof gpus - strlen(gpus), ", panels %.*s", (int)strcspn(way, ":"), way);
    snprintf(method, sizeof method, "tw_mpi_gemm, %d of %d ranks as %d x %d x %d%s, once", j->layout.ranks,
             j->world.ranks, j->layout.grid[0], j->layout.grid[1], j->layout.grid[2], gpus);
    r.method = method;
    r.dtype = j->in.as.a, r.dtype_b = j->in.as.b, r.dtype_c = io_type_name(j->in.as.type_c);
    r.m = p->m, r.n = p->n, r.k = p->k;
    r.op_a = "ntcr"[p->op_a], r.op_b = "ntcr"[p->op_b];
    r.alpha = p->alpha, r.beta = p->beta;
    if (io_type_is_complex(j->in.as.type_a))
        r.alpha_imaginary = p->alpha_imaginary, r.beta_imaginary = p->beta_imaginary;
    if (device_is_host(&j->s->device)) r.threads = (int)j->s->device.threads;
    r.samples = r.repeats = r.sets = 1;
    r.min_s = r.median_s = r.p95_s = r.max_s = j->compute_s;
    r.gflops = roofline_flops(p) / j->compute_s / 1e9;
    r.compulsory_bytes = roofline_compulsory_bytes(p);
    r.verified = j->s->opt->verify ? "elements sampled" : "no";
    if (j->s->opt->verify) r.error_ratio = j->report.element_ratio;
    r.read_s = j->read_s, r.write_s = j->write_s;
    tw_lab_plan plan;
    if (plan_block(j, &plan)) r.kernel = plan.kernel->name, r.rung = plan.kernel->rung, r.plan = plan.text;
    return session_record(j->s, &r);
}

/* ---- in turn ---- */

static exit_code prepare(job *j)
{
    exit_code code = check_options(j);
    if (code == EXIT_OK) code = open_device(j);
    const product_wish wish = session_product(j->s);
    if (code == EXIT_OK) code = multiplied_check_engine(&wish);
    if (code == EXIT_OK) code = open_operands(j);
    return together(j, code);
}

static exit_code multiply(job *j, double timeout_s)
{
    exit_code code = prepare(j);
    if (code == EXIT_OK) code = together(j, compare(j));
    if (code == EXIT_OK) code = together(j, make_plan(j, timeout_s)); /* compares the engines */
    if (code == EXIT_OK) code = together(j, find_sharing(j));
    if (code == EXIT_OK) code = open_output(j);
    if (code == EXIT_OK) code = together(j, allocate(j));
    double start_s = measure_now_s();
    if (code == EXIT_OK) code = read_operands(j);
    j->read_s = measure_now_s() - start_s;
    if (code == EXIT_OK) code = compute(j);
    start_s = measure_now_s();
    if (code == EXIT_OK) code = write_result(j);
    j->write_s = measure_now_s() - start_s, start_s = measure_now_s();
    if (code == EXIT_OK) code = judge(j);
    j->check_s = measure_now_s() - start_s;
    if (code == EXIT_OK) code = finish_output(j);
    if (j->world.rank == 0) io_output_discard(&j->out);
    guard_output(NULL), keeper_file(NULL);
    return code;
}

exit_code ranks_multiply(session *s, const launched *l)
{
    static job j;
    const double timeout_s = s->opt->timeout > 0 ? (double)s->opt->timeout : 600;
    j = (job){.s = s, .out.fd = -1, .layout.size = sizeof j.layout};
    exit_code code = launched_open(l, &j.mpi);
    if (code != EXIT_OK) return code;
    if (l->rank == 0) keeper_begin();
    watch_begin(timeout_s + 2); /* what waits by itself says more */
    j.mpi->timeout(timeout_s), j.mpi->while_idle(watch_alive);
    if (j.mpi->start(&j.world) != TW_OK) return diag(EXIT_DEVICE, "MPI does not start: %s", j.mpi->error());
    if (j.world.ranks < l->ranks && j.world.ranks == 1)
        return l->rank > 0 ? EXIT_DEVICE
                           : diag(EXIT_DEVICE,
                                  "%d processes were started, and the library for %s sees one: TILEWRIGHT_MPI must "
                                  "name the launcher's MPI",
                                  l->ranks, l->mpi);
    diag_hold();
    code = multiply(&j, timeout_s);
    diag_let_go(true, "");
    if (code == EXIT_OK) code = tell_result(&j);
    if (code == EXIT_OK) code = write_record(&j);
    operands_free(&j.in);
    free(j.a), free(j.b), free(j.c);
    watch_stage("MPI ends");
    if (code != EXIT_OK) signal(SIGTERM, SIG_IGN); /* a launcher's, to ranks that end behind the first */
    j.mpi->stop();
    watch_end();
    if (j.mpi->stuck()) guard_end(code); /* the driver would wait for it */
    return code;
}
