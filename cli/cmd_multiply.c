/* cmd_multiply.c - `tilewright multiply A B -o C`: read, compute, write, judge, and only then give the file its
 * name. What has no room in memory is left to multiply/out_of_core.c. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "../lab/busy.h"
#include "../lab/devices.h"
#include "../lab/roofline.h"
#include "../multiply/bound.h"
#include "../multiply/check.h"
#include "../multiply/sampled.h"
#include "../program/diag.h"
#include "../program/guard.h"
#include "../program/term.h"
#include "../ranks/launched.h"
#include "cheapest.h"
#include "cmd.h"
#include "files.h"

typedef struct job {
    session *s;
    operands in;
    io_output out;
    io_format format;
    void *c, *kept; /* C, m x n, row by row; memory reserved for its check, which must not run out after the product */
    size_t c_bytes, kept_bytes;
    out_of_core large;
    tw_lab_plan plan;
    bool planned;
    bool by_auto;                                       /* --engine auto chooses */
    cheapest_why why;                                   /* what it chose; "": it did not */
    double read_s, compute_s, write_s, check_s, others; /* others: as in a record, beside compute_s */
    verify_report report;
    int64_t nans, infinite; /* in C, where --verify looked */
} job;

/* Options for ranks where there is only one. */
static exit_code check_alone(const options *opt, const launched *l)
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

static exit_code check_options(const session *s, io_format *format)
{
    const options *opt = s->opt;
    const product_wish wish = session_product(s);
    if (opt->output == NULL) return diag(EXIT_USAGE, "-o FILE is missing: where C is to be written");
    *format = io_format_of(opt->output);
    if (*format == IO_FORMAT_NONE)
        return diag(EXIT_USAGE,
                    "-o %s: the ending names no format, expected .npy, .mtx, .raw or .bin; C is not compressed",
                    opt->output);
    const bool on_host = opt->engines.count == 0 || strcmp(opt->engines.items[0], "auto") == 0 ||
                         strcmp(opt->engines.items[0], "cpu") == 0;
    if (opt->device_memory > 0 && on_host)
        return diag(EXIT_USAGE, "--device-memory is for --engine cuda or opencl; the cpu engine keeps to --memory");
    const exit_code code = operands_check_options(&wish);
    return code == EXIT_OK ? bound_check(&wish) : code;
}

/* The operands, all of them in memory or open to be read in panels. */
static exit_code find_operands(job *j)
{
    const product_wish wish = session_product(j->s);
    exit_code code = out_of_core_open(&wish, &j->in, j->format, &j->large);
    if (code == EXIT_OK && !j->large.needed) {
        code = operands_read(&wish, &j->in);
        if (code == EXIT_OK) code = bound_read(&wish, &j->in);
        if (code == EXIT_OK) code = out_of_core_check(&wish, &j->in, &j->large);
    }
    if (code == EXIT_OK) operands_warn(&wish, &j->in);
    return code;
}

/* The output is opened before the work: a folder that cannot be written to is found at once. */
static exit_code open_output(job *j)
{
    io_error error;
    guard_hold();
    io_status status = io_output_open(&j->out, j->s->opt->output, &error);
    if (status == IO_OK) guard_output(j->out.temp_path);
    guard_release();
    return status == IO_OK ? EXIT_OK : diag_io(status, &error);
}

/* Writable, so that every limit counts it; zeros, which take no memory until they are written. */
static void *mapping_of(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory != MAP_FAILED ? memory : NULL;
}

static void free_mapping(void **memory, size_t bytes)
{
    if (*memory != NULL) munmap(*memory, bytes);
    *memory = NULL;
}

/* The memory that --verify takes after C is freed and its file is mapped: for the check and, for Matrix Market, the
 * text, with at most 24 letters a number. C0 is kept as the check needs it. */
static exit_code keep_for_check(job *j)
{
    enum { MOST_LETTERS = 25 };
    const tw_problem *p = &j->in.problem;
    const product_wish wish = session_product(j->s);
    const void *c0;
    term_number room;
    if (!j->s->opt->verify) return EXIT_OK;
    if (j->in.each[OPERAND_ADD].path != NULL) {
        const exit_code code = operand_dense(&j->in.each[OPERAND_ADD], j->in.as.type_c, &c0);
        if (code != EXIT_OK) return code;
    }
    const double text = (double)p->m * (double)p->n * tw_lab_dtype_of(p->dtype)->parts * MOST_LETTERS,
                 bytes = check_bytes(&wish, p) + (j->format == IO_FORMAT_MTX ? text : 0);
    j->kept_bytes = (size_t)bytes;
    j->kept = bytes < 0x1p62 ? mapping_of(j->kept_bytes) : NULL;
    return j->kept != NULL ? EXIT_OK
                           : diag(EXIT_MEMORY, "memory ran out: there is no room for --verify, which takes %s",
                                  term_bytes(bytes, room));
}

static void take_c0(job *j)
{
    if (j->in.each[OPERAND_ADD].path != NULL) io_convert(&j->in.each[OPERAND_ADD].matrix, j->in.as.type_c, j->c);
}

static exit_code make_result(job *j)
{
    const tw_problem *p = &j->in.problem;
    const size_t element = io_type_bytes(j->in.as.type_c);
    if (j->large.needed) return EXIT_OK;
    if ((double)p->m * (double)p->n * (double)element < 0x1p62) {
        j->c_bytes = (size_t)(p->m * p->n) * element + 1;
        j->c = mapping_of(j->c_bytes);
    }
    if (j->c == NULL)
        return diag(EXIT_MEMORY, "memory ran out: there is no room for C, %" PRId64 " x %" PRId64 " elements of %s",
                    p->m, p->n, io_type_name(j->in.as.type_c));
    take_c0(j);
    return keep_for_check(j);
}

static exit_code choose_engine(job *j)
{
    if (!j->by_auto) return EXIT_OK;
    if (j->s->opt->epilogue != NULL) {
        snprintf(j->why, sizeof j->why, "cpu, since there is an --epilogue; --engine cuda takes a GPU");
        return EXIT_OK;
    }
    if (j->s->opt->invariant) { /* which engine is faster depends on the number of rows */
        snprintf(j->why, sizeof j->why, "cpu, since --invariant leaves no choice by size; --engine cuda takes a GPU");
        return EXIT_OK;
    }
    if (!j->large.needed) return cheapest_open(j->s, &j->in.problem, j->why);
    snprintf(j->why, sizeof j->why, "cpu, since the product is computed in panels; --engine cuda takes a GPU");
    return EXIT_OK;
}

static void tell_engine(const job *j)
{
    if (j->s->opt->verbose && j->why[0] != '\0') fprintf(j->s->text, "engine     %s\n", j->why);
}

static void find_plan(job *j)
{
    const product_wish wish = session_product(j->s);
    const tw_problem p = j->large.needed ? out_of_core_block(&wish, &j->in, &j->large) : j->in.problem;
    j->planned = tw_lab_plan_of(j->s->context, NULL, &p, &j->plan) == TW_OK;
}

static exit_code multiply(job *j)
{
    const tw_problem *p = &j->in.problem;
    tw_status status = tw_gemm(j->s->context, p, j->in.a, j->in.b, j->c);
    if (status != TW_OK && j->by_auto && strcmp(j->s->device.engine, "cuda") == 0) {
        const exit_code code = cheapest_fall_back(j->s, status, j->why);
        if (code != EXIT_OK) return code;
        term_progress_end();
        tell_engine(j);
        find_plan(j);
        take_c0(j);
        status = tw_gemm(j->s->context, p, j->in.a, j->in.b, j->c);
    }
    return status == TW_OK ? EXIT_OK : diag_tw(status);
}

static exit_code compute(job *j)
{
    const busy_reading begun = busy_now();
    double start_s = measure_now_s();
    const product_wish wish = session_product(j->s);
    exit_code code;
    if (j->large.needed) {
        code = out_of_core_run(&wish, &j->in, &j->out, j->format, &j->large);
        j->compute_s = measure_now_s() - start_s;
        j->nans = j->large.nans, j->infinite = j->large.infinite;
    } else {
        term_progress("multiplying", -1);
        code = multiply(j);
        j->compute_s = measure_now_s() - start_s;
    }
    const busy_reading ended = busy_now();
    j->others = busy_share(&begun, &ended);
    return code;
}

static exit_code write_result(job *j)
{
    const tw_problem *p = &j->in.problem;
    io_matrix c = {
        .type = j->in.as.type_c, .rows = p->m, .cols = p->n, .row_stride = p->n, .col_stride = 1, .data = j->c};
    io_error error;
    double start_s = measure_now_s();
    if (j->large.needed) return EXIT_OK; /* it is written */
    term_progress("writing", -1);
    io_status status = io_output_write(&j->out, j->format, &c, &error);
    j->write_s = measure_now_s() - start_s;
    return status == IO_OK ? EXIT_OK : diag_io(status, &error);
}

/* ---- --verify: judge the bytes of the temporary file, not the memory that they were written from ---- */

static io_status parse(const job *j, const void *bytes, size_t count, io_matrix *out, io_error *error)
{
    const tw_problem *p = &j->in.problem;
    io_raw_shape raw = {j->in.as.type_c, p->m, p->n};
    const char *name = j->out.path;
    if (j->format == IO_FORMAT_NPY) return npy_parse(bytes, count, name, &raw, out, error);
    if (j->format == IO_FORMAT_MTX) return mtx_parse(bytes, count, name, out, error);
    return raw_parse(bytes, count, name, &raw, out, error);
}

/* A mapping of the temporary file; *bytes is "" when the file is empty, NULL when it cannot be mapped. */
static void map_temporary(const job *j, void **bytes, size_t *count)
{
    static char nothing[1];
    struct stat found;
    int fd = open(io_output_readable(&j->out), O_RDONLY | O_CLOEXEC);
    *bytes = NULL;
    if (fd >= 0 && fstat(fd, &found) == 0) {
        *count = (size_t)found.st_size;
        *bytes = *count > 0 ? mmap(NULL, *count, PROT_READ, MAP_PRIVATE, fd, 0) : nothing;
        if (*bytes == MAP_FAILED) *bytes = NULL;
    }
    if (fd >= 0) close(fd);
}

static exit_code judge_bytes(job *j, const void *bytes, size_t count)
{
    operand written = {.path = j->s->opt->output, .watch = -1};
    const product_wish wish = session_product(j->s);
    const void *c = NULL;
    io_error error;
    io_status status = parse(j, bytes, count, &written.matrix, &error);
    if (status != IO_OK) return diag_io(IO_CANNOT_WRITE, &error);
    exit_code code = operand_dense(&written, j->in.as.type_c, &c);
    if (code == EXIT_OK) code = check_product(&wish, &j->in, c, written.path, &j->report);
    if (code == EXIT_OK) j->nans = check_nans(&j->in, c, NULL, &j->infinite);
    io_free(&written.matrix);
    free(written.block);
    return code;
}

static exit_code judge(job *j)
{
    void *bytes;
    size_t count = 0;
    double start_s = measure_now_s();
    if (!j->s->opt->verify) return EXIT_OK;
    if (j->large.needed) {
        const product_wish wish = session_product(j->s);
        exit_code checked = sampled_judge(&wish, &j->in, &j->out, &j->large, NULL, &j->report);
        j->check_s = measure_now_s() - start_s;
        return checked;
    }
    free_mapping(&j->c, j->c_bytes), free_mapping(&j->kept, j->kept_bytes);
    map_temporary(j, &bytes, &count);
    if (bytes == NULL) return diag(EXIT_OUTPUT, "%s: cannot be read back: %s", j->s->opt->output, strerror(errno));
    int watch = guard_watch(bytes, count, j->s->opt->output);
    exit_code code = judge_bytes(j, bytes, count);
    guard_unwatch(watch);
    if (count > 0) munmap(bytes, count);
    j->check_s = measure_now_s() - start_s;
    return code;
}

static exit_code finish_output(job *j)
{
    io_error error;
    double start_s = measure_now_s();
    exit_code code = operands_unchanged(&j->in);
    if (code == EXIT_OK) code = files_recheck(j->s->opt->output);
    if (code != EXIT_OK) return code;
    io_status status = io_output_commit(&j->out, &error);
    guard_output(NULL);
    j->write_s += measure_now_s() - start_s;
    return status == IO_OK ? EXIT_OK : diag_io(status, &error);
}

/* ---- telling ---- */

static void tell_plan(job *j)
{
    FILE *text = j->s->text;
    tame_name name;
    find_plan(j);
    if (!j->s->opt->verbose) return;
    tell_engine(j);
    const product_wish wish = session_product(j->s);
    operands_tell(&j->in, text);
    bound_tell(&wish, &j->in);
    fprintf(text, "C          %s  %" PRId64 " x %" PRId64 " %s\n", diag_name(j->s->opt->output, name), j->in.problem.m,
            j->in.problem.n, io_type_name(j->in.as.type_c));
    if (j->planned) fprintf(text, "kernel     %s\n", j->plan.text);
}

static void tell_memory(const job *j)
{
    const product_wish wish = session_product(j->s);
    term_number takes;
    if (j->large.needed)
        out_of_core_tell(&wish, &j->large);
    else if (j->s->opt->verbose)
        fprintf(j->s->text, "memory     %s as a whole\n", term_bytes(operands_bytes(&wish, &j->in), takes));
}

static void tell_times(job *j)
{
    FILE *text = j->s->text;
    term_number read_, compute_, write_, check;
    if (!j->s->opt->verify) fprintf(text, "check      none: --verify checks the result\n");
    if (j->large.needed) {
        fprintf(text, "time       %s in all: products %s, writing %s, waiting for panels %s",
                term_seconds(j->compute_s, compute_), term_seconds(j->large.multiply_s, check),
                term_seconds(j->large.write_s, write_), term_seconds(j->large.waited_s, read_));
        if (j->s->opt->verify) fprintf(text, "; check %s", term_seconds(j->check_s, check));
        fputc('\n', text);
        return;
    }
    fprintf(text, "time       read %s, compute %s, write %s", term_seconds(j->read_s, read_),
            term_seconds(j->compute_s, compute_), term_seconds(j->write_s, write_));
    if (j->s->opt->verify) fprintf(text, ", check %s", term_seconds(j->check_s, check));
    fputc('\n', text);
}

/* "C.npy: 1000 x 1023 f64, 50 ms, 31.8 GFLOP/s, verified" */
static exit_code tell_result(job *j)
{
    const tw_problem *p = &j->in.problem;
    FILE *text = j->s->text;
    term_number time, speed;
    tame_name name;
    term_progress_end();
    if (j->s->opt->quiet) return EXIT_OK;
    if (j->s->opt->verbose) tell_times(j);
    fprintf(text, "%s: %" PRId64 " x %" PRId64 " %s, %s, %s GFLOP/s, %s", diag_name(j->s->opt->output, name), p->m,
            p->n, io_type_name(j->in.as.type_c), term_seconds(j->compute_s, time),
            term_gflops(roofline_flops(p) / j->compute_s / 1e9, speed),
            j->s->opt->verify ? "verified" : "not verified");
    if (j->large.needed && j->s->opt->verify)
        fprintf(text, " by %" PRId64 " of its elements, some of each block", j->report.elements);
    else if (check_is_sampled(p, &j->report) && j->s->opt->verify)
        fprintf(text, " by %" PRId64 " of its elements", j->report.elements);
    if (j->nans > 0) fprintf(text, ", %" PRId64 " NaN", j->nans);
    if (j->infinite > 0) fprintf(text, ", %" PRId64 " infinite", j->infinite);
    fprintf(text, "%s\n", files_replaced());
    return session_flush(j->s);
}

static exit_code write_record(job *j)
{
    const tw_problem *p = &j->in.problem;
    record r = record_blank();
    r.engine = j->s->device.engine;
    r.device = j->s->device.name;
    r.method = "tw_gemm, host pointers, once";
    r.dtype = j->in.as.a, r.dtype_b = j->in.as.b, r.dtype_c = io_type_name(j->in.as.type_c);
    r.m = p->m, r.n = p->n, r.k = p->k;
    if (!j->large.needed) r.lda = p->lda, r.ldb = p->ldb, r.ldc = p->ldc;
    r.op_a = "ntcr"[p->op_a], r.op_b = "ntcr"[p->op_b];
    r.alpha = p->alpha, r.beta = p->beta, r.epilogue = j->s->opt->epilogue;
    if (io_type_is_complex(j->in.as.type_a))
        r.alpha_imaginary = p->alpha_imaginary, r.beta_imaginary = p->beta_imaginary;
    r.samples = r.repeats = r.sets = 1;
    r.min_s = r.median_s = r.p95_s = r.max_s = j->compute_s;
    r.gflops = roofline_flops(p) / j->compute_s / 1e9;
    r.others = j->others;
    r.compulsory_bytes = roofline_compulsory_bytes(p);
    r.verified = !j->s->opt->verify                ? "no"
                 : p->epilogue == NULL             ? "residuals+elements"
                 : check_is_sampled(p, &j->report) ? "elements sampled"
                                                   : "elements";
    if (j->s->opt->verify) r.error_ratio = j->report.element_ratio;
    if (j->large.needed) {
        r.method = "tw_gemm, out of core: with reading and writing, once";
        if (j->s->opt->verify) r.verified = "elements sampled";
        r.panels = j->large.panels, r.bytes_read = j->large.bytes_read, r.read_s = j->large.read_s;
        r.multiply_s = j->large.multiply_s, r.write_s = j->large.write_s;
        r.memory_bytes = (double)j->large.bytes;
    }
    if (j->planned) {
        r.kernel = j->plan.kernel->name;
        r.rung = j->plan.kernel->rung;
        if (device_is_host(&j->s->device))
            r.threads = j->plan.threads;
        else
            r.block_threads = j->plan.block_threads;
        r.plan = j->plan.text;
    }
    return session_record(j->s, &r);
}

static exit_code check_engine(const session *s)
{
    const product_wish wish = session_product(s);
    return multiplied_check_engine(&wish);
}

exit_code cmd_multiply(session *s)
{
    static job j;
    j.s = s;
    j.out.fd = -1;
    const launched l = launched_find();
    if (l.mpi != NULL && l.ranks != 1) return cmd_multiply_ranks(s, &l);
    exit_code code = check_alone(s->opt, &l);
    if (code == EXIT_OK) code = check_options(s, &j.format);
    const char *engine = s->opt->engines.count > 0 ? s->opt->engines.items[0] : "auto";
    j.by_auto = strcmp(engine, "auto") == 0 && s->opt->devices.count == 0;
    if (code == EXIT_OK) code = session_open_device(s, engine);
    if (code == EXIT_OK) code = check_engine(s);
    double start_s = measure_now_s();
    if (code == EXIT_OK) code = find_operands(&j);
    if (code == EXIT_OK) code = make_result(&j);
    j.read_s = measure_now_s() - start_s;
    if (code == EXIT_OK) code = open_output(&j);
    if (code == EXIT_OK) code = choose_engine(&j);
    if (code == EXIT_OK) tell_memory(&j);
    if (code == EXIT_OK) tell_plan(&j);
    if (code == EXIT_OK) code = compute(&j);
    if (code == EXIT_OK) code = write_result(&j);
    if (code == EXIT_OK) code = judge(&j);
    if (code == EXIT_OK) code = finish_output(&j);
    io_output_discard(&j.out);
    guard_output(NULL);
    if (code == EXIT_OK) code = tell_result(&j);
    if (code == EXIT_OK) code = write_record(&j);
    operands_free(&j.in);
    free_mapping(&j.c, j.c_bytes), free_mapping(&j.kept, j.kept_bytes);
    return code;
}
