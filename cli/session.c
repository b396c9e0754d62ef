/* session.c - opens and closes what every command works with. */
#define _POSIX_C_SOURCE 200809L
#include "session.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "../program/diag.h"
#include "../program/driver.h"
#include "../program/guard.h"
#include "../program/hooks.h"
#include "../program/layout.h"
#include "../program/term.h"
#include "files.h"

/* A file is replaced when all is written; a pipe or device cannot be replaced and is written as it stands. */
static bool replaceable(const char *path)
{
    struct stat found;
    return stat(path, &found) != 0 || S_ISREG(found.st_mode) || S_ISDIR(found.st_mode);
}

/* A line is one write: a stop from outside cannot come inside it, nor the line of another program that appends. */
static void whole_lines(FILE *json)
{
    static char buffer[1 << 18];
    if (json != NULL) setvbuf(json, buffer, _IOFBF, sizeof buffer);
}

/* Does the file end inside a line, as one does whose writer was cut off? */
static bool is_cut(const char *path)
{
    struct stat found;
    char last = '\n';
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &found) == 0 && found.st_size > 0 && pread(fd, &last, 1, found.st_size - 1) < 0)
        last = '\n';
    if (fd >= 0) close(fd);
    return last != '\n';
}

static exit_code open_appended(session *s, const char *path)
{
    io_error error;
    bool cut = is_cut(path);
    s->json = fopen(path, "a");
    if (s->json == NULL) return diag_io(io_cannot_open(path, &error), &error);
    whole_lines(s->json);
    if (cut) fputc('\n', s->json);
    return EXIT_OK;
}

static exit_code open_replaced(session *s, const char *path)
{
    io_error error;
    guard_hold();
    io_status status = io_output_open(&s->json_file, path, &error);
    if (status == IO_OK) guard_json(&s->json_file);
    guard_release();
    if (status != IO_OK) return diag_io(status, &error);
    int fd = dup(s->json_file.fd);
    if (fd >= 0) s->json = fdopen(fd, "w");
    whole_lines(s->json);
    return s->json != NULL ? EXIT_OK : diag(EXIT_OUTPUT, "--json %s: cannot be written: %s", path, strerror(errno));
}

static exit_code open_json(session *s)
{
    const char *path = s->opt->json;
    if (path == NULL && s->opt->append) return diag(EXIT_USAGE, "--append needs --json FILE");
    if (path == NULL) return EXIT_OK;
    if (strcmp(path, "-") == 0) {
        s->json = stdout;
        s->text = stderr;
        return EXIT_OK;
    }
    if (replaceable(path)) return s->opt->append ? open_appended(s, path) : open_replaced(s, path);
    s->json = fopen(path, "w");
    return s->json != NULL ? EXIT_OK : diag(EXIT_OUTPUT, "--json %s: cannot be written: %s", path, strerror(errno));
}

/* No matrix is read beyond what this process's control groups allow: the system would end the program. */
static void allow_memory(void)
{
    const double machine_bytes = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    tw_lab_limits group;
    tw_lab_limits_read(&group);
    if (group.memory_from[0] != '\0' && (double)group.memory_bytes < machine_bytes)
        io_allow_memory((uint64_t)group.memory_bytes);
}

exit_code session_begin(session *s, const options *opt)
{
    if (opt->quiet) term_quiet();
    allow_memory();
    *s = (session){.opt = opt, .text = stdout, .json_file.fd = -1, .device.size = sizeof s->device};
    const exit_code code = open_json(s);
    s->text = layout_open(s->text);
    return code;
}

/* Of the engine's sentence what says with what it runs: "ready: 1 device, the first X, driver Y; kernels kept: ..." */
static void name_driver(session *s)
{
    char state[sizeof s->driver];
    const char *from = state;
    if (tw_lab_engine_state(s->device.engine, state, (int)sizeof state) != 1) state[0] = '\0';
    if (strncmp(from, "ready", 5) == 0) from += 5 + strspn(from + 5, ":, ");
    snprintf(s->driver, sizeof s->driver, "%.*s", (int)strcspn(from, ";"), from);
}

void session_close_device(session *s)
{
    tw_close(s->context);
    s->context = NULL;
    guard_driver(NULL, "", "");
}

bool session_several(const options *opt)
{
    return opt->devices.count > 1 || (opt->devices.count == 1 && opt->devices.items[0] == -1);
}

static void tell_joined(const session *s)
{
    char text[256] = "";
    tw_lab_joined(s->context, text, (int)sizeof text);
    if (text[0] != '\0' && !s->opt->quiet) fprintf(s->text, "devices    %s\n", text);
}

/* Words of the command, where the library would name fields of tw_options. */
static exit_code check_several(const options *opt, const char *engine)
{
    const number_list *given = &opt->devices;
    if (strcmp(engine, "cuda") != 0)
        return diag(EXIT_USAGE, "--device names several: several devices need --engine cuda");
    for (int i = 0; i < given->count; i++)
        for (int j = 0; j < i; j++)
            if (given->items[j] == given->items[i])
                return diag(EXIT_USAGE, "--device names %d twice", (int)given->items[i]);
    return EXIT_OK;
}

tw_status session_try_device(session *s, const char *engine)
{
    const number_list *given = &s->opt->devices;
    int32_t devices[OPT_LIST] = {0};
    for (int i = 0; i < given->count; i++) devices[i] = (int32_t)given->items[i];
    const bool several = session_several(s->opt), all = several && devices[0] == -1;
    tw_options wanted = {.size = sizeof wanted,
                         .device = (int32_t)(several            ? 0
                                             : given->count > 0 ? devices[0]
                                                                : s->opt->device),
                         .device_count = all       ? -1
                                         : several ? given->count
                                                   : 0,
                         .devices = several && !all ? devices : NULL,
                         .engine = engine,
                         .threads = (int32_t)s->opt->threads,
                         .memory_bytes = s->opt->device_memory};
    session_close_device(s);
    driver_in_use(engine, "");
    tw_status status = tw_open(&wanted, &s->context);
    if (status == TW_OK) status = tw_describe(s->context, &s->device);
    if (status == TW_OK) name_driver(s);
    if (status == TW_OK) driver_in_use(engine, s->driver);
    if (status == TW_OK && several) tell_joined(s);
    return status;
}

exit_code session_open_device(session *s, const char *engine)
{
    const exit_code code = session_several(s->opt) ? check_several(s->opt, engine) : EXIT_OK;
    if (code != EXIT_OK) return code;
    const tw_status status = session_try_device(s, engine);
    return status == TW_OK ? EXIT_OK : diag_tw(status);
}

const char *session_gpu(void) { return driver_is_usable("cuda", NULL, 0) ? "cuda" : "opencl"; }

exit_code session_each_engine(session *s, const char *otherwise, exit_code (*run)(session *, void *), void *job)
{
    const name_list *engines = &s->opt->engines;
    exit_code result = EXIT_OK;
    const int64_t named = s->opt->devices.count > 0 ? s->opt->devices.items[0] : s->opt->device;
    if (engines->count > 1 && named > 0)
        return diag(EXIT_USAGE, "--device %d counts within one engine: name one with --engine", (int)named);
    if (engines->count > 1 && session_several(s->opt))
        return diag(EXIT_USAGE, "several devices are of one engine: name one with --engine");
    for (int i = 0; i == 0 || i < engines->count; i++) {
        exit_code code = session_open_device(s, engines->count > 0 ? engines->items[i] : otherwise);
        if (i > 0 && code == EXIT_OK) fputc('\n', s->text);
        if (code == EXIT_OK) code = run(s, job);
        if (code == EXIT_USAGE || code == EXIT_OUTPUT) return code;
        if (result == EXIT_OK || code == EXIT_CHECK) result = code;
    }
    return result;
}

tw_dtype session_dtype(const session *s)
{
    return tw_lab_dtype_named(s->opt->dtypes.count > 0 ? s->opt->dtypes.items[0] : "f32")->dtype;
}

static exit_code flush_stream(FILE *stream, const char *name)
{
    if (stream == NULL || (fflush(stream) == 0 && !ferror(stream))) return EXIT_OK;
    return diag(EXIT_OUTPUT, "%s: could not be written: %s", name, strerror(errno));
}

exit_code session_flush(session *s)
{
    exit_code code = flush_stream(s->json, s->json == stdout ? "standard output" : s->opt->json);
    if (code == EXIT_OK && s->json_lines) guard_json_has_lines();
    if (code != EXIT_OK) return code;
    return flush_stream(s->text, s->json != stdout ? "standard output" : "standard error");
}

exit_code session_record(session *s, const record *r)
{
    if (s->json != NULL) {
        record_write(s->json, r);
        s->json_lines = true;
    }
    if (s->kept != NULL && records_add(s->kept, r, NULL, NULL) != TW_OK)
        return diag_no_memory("the records of the page");
    return session_flush(s);
}

exit_code session_row(session *s, const row *r)
{
    if (r->outcome == ROW_IMPOSSIBLE) diag(EXIT_CHECK, "%s: %s", r->record.kernel, r->text);
    return session_record(s, &r->record);
}

static exit_code close_json(session *s, exit_code code)
{
    io_error error;
    bool keep = (s->json_lines || code == EXIT_OK) && (s->json == NULL || !ferror(s->json));
    if (s->json != NULL && s->json != stdout && fclose(s->json) != 0) {
        keep = false;
        code = diag(EXIT_OUTPUT, "%s: could not be written: %s", s->opt->json, strerror(errno));
    }
    if (s->json_file.path == NULL) return code;
    exit_code other = keep ? files_recheck(s->opt->json) : EXIT_OK;
    if (other != EXIT_OK) keep = false, code = other;
    io_status status = IO_OK;
    guard_hold(); /* a handler names what is open under that number */
    if (keep)
        status = io_output_commit(&s->json_file, &error);
    else
        io_output_discard(&s->json_file);
    guard_json(NULL);
    guard_release();
    return status == IO_OK ? code : diag_io(status, &error);
}

exit_code session_end(session *s, exit_code code)
{
    session_close_device(s);
    term_progress_end();
    exit_code flushed = code == EXIT_OUTPUT ? EXIT_OK : session_flush(s);
    exit_code closed = close_json(s, code);
    if (code != EXIT_OK) return code;
    return closed != EXIT_OK ? closed : flushed;
}

bench_setup setup_of(const session *s)
{
    return (bench_setup){.context = s->context,
                         .device = &s->device,
                         .driver = s->driver,
                         .threads = (int)s->opt->threads,
                         .samples = (int)s->opt->samples,
                         .seed = s->opt->seed,
                         .hooks = &program_hooks};
}

static product_scalar scalar_of(const scalar_option *x) { return (product_scalar){x->given, x->value, x->imaginary}; }

product_wish session_product(const session *s)
{
    const options *o = s->opt;
    const shape *given = &o->shapes.items[0];
    return (product_wish){.a = files_input(o->operands[0]),
                          .b = files_input(o->operands[1]),
                          .add = files_input(o->add),
                          .c = o->operand_count > 2 ? files_input(o->operands[2]) : NULL,
                          .output = o->output,
                          .type_count = o->dtypes.count,
                          .types = {o->dtypes.items[0], o->dtypes.items[1]},
                          .type_c = o->dtypes_c.count > 0 ? o->dtypes_c.items[0] : NULL,
                          .has_shape = o->shapes.count > 0,
                          .m = given->m,
                          .n = given->n,
                          .k = given->k,
                          .transpose_a = o->transpose_a,
                          .transpose_b = o->transpose_b,
                          .conjugate_a = o->conjugate_a,
                          .conjugate_b = o->conjugate_b,
                          .alpha = scalar_of(&o->alpha),
                          .beta = scalar_of(&o->beta),
                          .epilogue = o->epilogue,
                          .binds = o->binds.items,
                          .bind_count = o->binds.count,
                          .memory = o->memory,
                          .seed = o->seed,
                          .threads = (int)o->threads,
                          .invariant = o->invariant,
                          .emulate = o->emulate,
                          .verify = o->verify,
                          .tells_verdict = o->command->bit == CMD_VERIFY,
                          .verbose = o->verbose,
                          .quiet = o->quiet,
                          .text = s->text,
                          .context = s->context,
                          .device = &s->device};
}
