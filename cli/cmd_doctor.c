/* cmd_doctor.c - `tilewright doctor`: the facts of a bug report, what stands in the way, and a quick self test. */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>
#include "../lab/chosen.h"
#include "../lab/clblast.h"
#include "../lab/cublas.h"
#include "../lab/records.h"
#include "../program/apart.h"
#include "../program/diag.h"
#include "../program/driver.h"
#include "../program/object.h"
#include "../program/term.h"
#include "bench_against.h"
#include "cmd.h"

enum { STATE_TEXT = 560 };

typedef struct doctor {
    session *s;
    object out;
    FILE *facts, *advice; /* kept until the verdict is known, which goes first */
    char *fact_text, *advice_text;
    size_t fact_bytes, advice_bytes;
    int advised;
    apart engines;
    struct {
        bool usable, unready;   /* it has a device; its driver is there and cannot be used as it is */
        char state[STATE_TEXT]; /* its own sentence, which names the cure */
    } found[APART_ENGINES];
} doctor;

/* What an engine is asked. */
enum { STATE, SELF_TEST, BREAK_EVEN };

typedef struct answer {
    int usable;
    char state[STATE_TEXT];
    exit_code code;
    selftest_count count;
    char tuned[700]; /* what became of the user's rows */
    char failure[STATE_TEXT];
    char unused[UNUSED_TEXT];
    int64_t edges[2]; /* BREAK_EVEN: of f32 and of f64; 0: none */
} answer;

/* One fact, for people and for programs. */
static void fact(doctor *d, const char *name, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void fact(doctor *d, const char *name, const char *format, ...)
{
    char text[UNUSED_TEXT]; /* the kernels that are not used are the longest */
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(d->facts, "%-18s  %s\n", name, text);
    object_text(&d->out, name, text);
}

static void advise(doctor *d, const char *text)
{
    char name[24];
    snprintf(name, sizeof name, "advice %d", ++d->advised);
    fprintf(d->advice, "%-18s  %s\n", name, text);
    object_text(&d->out, name, text);
}

/* The text after `key` on the first line that begins with it; the first line itself for "". false: no such file or
 * line. */
static bool line_of(const char *path, const char *key, char *out, size_t size)
{
    char line[512];
    FILE *file = fopen(path, "r");
    bool found = false;
    if (file == NULL) return false;
    while (!found && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, key, strlen(key)) != 0) continue;
        const char *value = line + strlen(key) + strspn(line + strlen(key), " \t\"");
        snprintf(out, size, "%.*s", (int)strcspn(value, "\"\n"), value);
        found = true;
    }
    fclose(file);
    return found;
}

static const char *compiler(void)
{
#if defined(__clang__)
    return "clang " __clang_version__;
#elif defined(__GNUC__)
    return "gcc " __VERSION__;
#else
    return "an unknown compiler";
#endif
}

static void tell_build(doctor *d)
{
    fact(d, "program", "tilewright %s, built with %s", tw_version(), compiler());
#ifndef __OPTIMIZE__
    advise(d,
           "this program was built without optimisation: its times mean little; build with -DCMAKE_BUILD_TYPE=Release");
#endif
}

static void tell_readers(doctor *d)
{
    fact(d, "compressed",
         io_unpacks() ? "reads .gz and .npz, with zlib"
                      : "not in this build, which found no zlib to read .gz and .npz; Debian: zlib1g-dev");
    if (records_can_read())
        fact(d, "report", "reads records, with jansson");
    else
        fact(d, "report",
             "not in this build, which found no jansson to read records; Debian: libjansson-dev. `ladder "
             "--html` works without it");
}

static void tell_system(doctor *d)
{
    char libc[64] = "unknown", name[200] = "unknown", memory[64] = "unknown";
    struct utsname u;
#ifdef _CS_GNU_LIBC_VERSION
    confstr(_CS_GNU_LIBC_VERSION, libc, sizeof libc);
#endif
    line_of("/etc/os-release", "PRETTY_NAME=", name, sizeof name);
    line_of("/proc/meminfo", "MemAvailable:", memory, sizeof memory);
    if (uname(&u) == 0) fact(d, "system", "%s, %s %s, %s", name, u.sysname, u.release, u.machine);
    fact(d, "libc", "%s", libc);
    fact(d, "memory free", "%s", memory);
}

static void tell_processors(doctor *d)
{
    const tw_device *dev = &d->s->device;
    char kernels[CHOSEN_TEXT], allowed[200] = "unknown", quota[300] = "none", memory[300] = "none",
                               pages[100] = "not offered";
    tw_lab_limits group;
    term_number bytes;
    fact(d, "processor", "%s, code for %s", dev->name, dev->instruction_set);
    chosen_kernels(d->s->context, kernels);
    fact(d, "kernels", "%s", kernels);
    fact(d, "threads", "%d, from %s", (int)dev->threads, dev->threads_from);
    line_of("/proc/self/status", "Cpus_allowed_list:", allowed, sizeof allowed);
    tw_lab_limits_read(&group);
    if (group.processors_from[0] != '\0')
        snprintf(quota, sizeof quota, "%.2f processors (%s)", group.processors, group.processors_from);
    if (group.memory_from[0] != '\0')
        snprintf(memory, sizeof memory, "%s (%s)", term_bytes((double)group.memory_bytes, bytes), group.memory_from);
    fact(d, "allowed", "processors %s; cgroup quota: %s; cgroup memory: %s", allowed, quota, memory);
    line_of("/sys/kernel/mm/transparent_hugepage/enabled", "", pages, sizeof pages);
    fact(d, "huge pages", "transparent: %s", pages);
    if (strstr(pages, "[never]") != NULL)
        advise(d, "transparent huge pages are off: large products lose time in the TLB. "
                  "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled");
}

static bool any_entry(const char *folder)
{
    DIR *opened = opendir(folder);
    const struct dirent *entry = NULL;
    while (opened != NULL && (entry = readdir(opened)) != NULL && entry->d_name[0] == '.') {
    }
    if (opened != NULL) closedir(opened);
    return entry != NULL;
}

/* Does the system know a driver for this engine, whether or not it works? */
static bool driver_is_there(const char *engine)
{
    if (strcmp(engine, "cuda") == 0)
        return access("/proc/driver/nvidia/version", F_OK) == 0 || access("/dev/nvidiactl", F_OK) == 0 ||
               access("/dev/dxg", F_OK) == 0;
    return strcmp(engine, "opencl") == 0 && any_entry("/etc/OpenCL/vendors");
}

static void tell_engines(doctor *d)
{
    for (int i = 0; i < d->engines.count; i++) {
        static answer x;
        const char *engine = tw_lab_engine_at(i);
        char name[32];
        bool lives = apart_ask(&d->engines, i, STATE, &x);
        snprintf(name, sizeof name, "engine %s", engine);
        if (!lives) snprintf(x.state, sizeof x.state, "listing its devices failed: %s", d->engines.why[i]);
        fact(d, name, "%s", x.state);
        d->found[i].usable = lives && x.usable == 1;
        d->found[i].unready = !lives || (x.usable == 1 ? strncmp(x.state, "ready", 5) != 0 : driver_is_there(engine));
        memcpy(d->found[i].state, x.state, sizeof x.state);
    }
}

static void advise_engines(doctor *d)
{
    for (int i = 0; i < d->engines.count; i++) {
        char text[600];
        if (!d->found[i].unready) continue;
        snprintf(text, sizeof text, "%s: %s", tw_lab_engine_at(i), d->found[i].state);
        advise(d, text);
    }
}

static void tell_library(doctor *d, const char *name, bool found, const char *version, const char *file,
                         const char *why)
{
    char fact_name[32];
    snprintf(fact_name, sizeof fact_name, "library %s", name);
    if (found)
        fact(d, fact_name, "%s, %s", version, file);
    else
        fact(d, fact_name, "%s", why);
}

/* What engines compile with, and what `bench --against` compares GPUs with: no device is asked for. */
static void tell_libraries(doctor *d)
{
    const char *engine;
    against_path folder;
    cublas of_cuda;
    clblast of_opencl;
    for (int i = 0; (engine = tw_lab_engine_at(i)) != NULL; i++) {
        char name[32], state[560];
        snprintf(name, sizeof name, "compiler %s", engine);
        if (tw_lab_compiler_state(engine, state, sizeof state) >= 0) fact(d, name, "%s", state);
    }
    against_folder(folder);
    bool found = cublas_load(&of_cuda, folder);
    tell_library(d, "cublas", found, of_cuda.version, of_cuda.file, of_cuda.why);
    found = clblast_load(&of_opencl, folder);
    tell_library(d, "clblast", found, of_opencl.version, of_opencl.file, of_opencl.why);
}

/* A record names each; people get one list. */
static void tell_unset(doctor *d, const char *const *names, size_t count)
{
    fprintf(d->facts, "%-18s ", "not set");
    for (size_t i = 0; i < count; i++) {
        if (getenv(names[i]) != NULL) continue;
        object_text(&d->out, names[i], "not set");
        fprintf(d->facts, " %s", names[i]);
    }
    fputc('\n', d->facts);
}

/* All that the library and the program read; a test compares. */
static void tell_environment(doctor *d)
{
    static const char *const names[] = {"TILEWRIGHT_CPU",
                                        "TILEWRIGHT_THREADS",
                                        "OMP_NUM_THREADS",
                                        "TILEWRIGHT_STAY",
                                        "TILEWRIGHT_WAIT",
                                        "TILEWRIGHT_CACHE",
                                        "XDG_CACHE_HOME",
                                        "TILEWRIGHT_TUNED",
                                        "XDG_CONFIG_HOME",
                                        "HOME",
                                        "TILEWRIGHT_KERNELS",
                                        "TILEWRIGHT_NVRTC",
                                        "TILEWRIGHT_OPENCL_OPTIONS",
                                        "TILEWRIGHT_SELF_TEST",
                                        "TILEWRIGHT_MPI",
                                        "NCCL_COMM_BLOCKING",
                                        "TILEWRIGHT_PEERS",
                                        "TILEWRIGHT_VERBOSE",
                                        "TILEWRIGHT_PROFILE",
                                        "TILEWRIGHT_BLAS_ENGINE",
                                        "TILEWRIGHT_BLAS_BREAK_EVEN",
                                        "POCL_CACHE_DIR",
                                        "CUDA_CACHE_PATH",
                                        "PATH",
                                        "CC",
                                        "TMPDIR",
                                        "TERM",
                                        "NO_COLOR",
                                        "COLUMNS"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (getenv(names[i]) != NULL) fact(d, names[i], "%s", getenv(names[i]));
    tell_unset(d, names, sizeof names / sizeof *names);
    if (getenv("TILEWRIGHT_CPU") != NULL)
        advise(d, "TILEWRIGHT_CPU limits the instructions that are used; unset it for full speed");
    struct stat home;
    if (getenv("HOME") != NULL && stat(getenv("HOME"), &home) == 0 && home.st_uid != geteuid())
        advise(
            d,
            "HOME belongs to another user: no kernels and no tuned rows are kept there, CUDA's driver keeps none and "
            "PoCL's are among temporary files; `sudo -H` sets HOME");
    const char *openmp = getenv("OMP_NUM_THREADS"), *from = d->s->device.threads_from;
    if (openmp != NULL && openmp[0] != '\0' && strcmp(from, "OMP_NUM_THREADS") != 0 &&
        strcmp(from, "TILEWRIGHT_THREADS") != 0)
        advise(d, "OMP_NUM_THREADS is ignored: it is not a whole number from 1 to 4096, alone or before a comma");
}

static void ask(void *session_of, const char *engine, int order, void *out)
{
    session *s = session_of;
    answer *x = out;
    if (order == STATE) {
        x->usable = tw_lab_engine_state(engine, x->state, sizeof x->state);
        return;
    }
    x->code = session_open_device(s, engine);
    if (order == BREAK_EVEN) {
        for (int i = 0; i < 2 && x->code == EXIT_OK; i++)
            if (tw_lab_break_even(NULL, s->context, i == 0 ? TW_F32 : TW_F64, (int)TW_LAB_BREAK_EVEN_EDGE,
                                  &x->edges[i]) != TW_OK)
                x->code = EXIT_RUN;
    } else if (x->code == EXIT_OK) {
        tw_lab_tuned_state(s->context, x->tuned, sizeof x->tuned, NULL);
        x->code = selftest_run(s, true, false, &x->count);
        chosen_unused(s->context, NULL, x->unused);
    }
    if (x->code != EXIT_OK) snprintf(x->failure, sizeof x->failure, "%s", tw_error_text());
}

/* Judge a few kernels of one engine; what breaks down is told like any other fact. */
static exit_code test_engine(doctor *d, int i)
{
    static answer x;
    char name[80];
    const bool is_cpu = strcmp(tw_lab_engine_at(i), "cpu") == 0;
    snprintf(name, sizeof name, "self test: %s", is_cpu ? "kernels of the cpu" : "a driver compiles two kernels of ");
    if (!is_cpu) snprintf(name + strlen(name), sizeof name - strlen(name), "%s", tw_lab_engine_at(i));
    term_progress(name, -1);
    bool lives = apart_ask(&d->engines, i, SELF_TEST, &x);
    snprintf(name, sizeof name, "self test %s", tw_lab_engine_at(i));
    if (!lives)
        fact(d, name, "failed: %s", d->engines.why[i]);
    else if (x.code != EXIT_OK)
        fact(d, name, "failed: %s", x.failure);
    else
        fact(d, name,
             "%d kernels and calls passed, %d failed, %d do not fit this device; `selftest --engine %s` checks all",
             x.count.passed, x.count.failed, x.count.refused, tw_lab_engine_at(i));
    char *rest = NULL, *line = lives ? strtok_r(x.unused, "\n", &rest) : NULL;
    for (int number = 1; line != NULL; line = strtok_r(NULL, "\n", &rest), number++) {
        snprintf(name, sizeof name, "unused %s %d", tw_lab_engine_at(i), number);
        fact(d, name, "%s", line);
    }
    const char *advice = lives ? "" : driver_advice(d->found[i].state);
    if (advice[0] != '\0') advise(d, advice + strspn(advice, ": "));
    if (!lives) return EXIT_RUN;
    snprintf(name, sizeof name, "tuned %s", tw_lab_engine_at(i));
    if (x.tuned[0] != '\0') fact(d, name, "%s", x.tuned);
    return x.code == EXIT_OK && x.count.failed > 0 ? EXIT_CHECK : x.code;
}

/* From which sizes on libtilewright_blas.so would send products to a GPU, if it is asked to. */
static void tell_break_even(doctor *d, int i)
{
    static answer x;
    char text[2][80];
    if (!apart_ask(&d->engines, i, BREAK_EVEN, &x)) {
        fact(d, "blas break-even", "not measured: %s", d->engines.why[i]);
        return;
    }
    if (x.code != EXIT_OK) {
        fact(d, "blas break-even", "not measured: %s", x.failure);
        return;
    }
    for (int q = 0; q < 2; q++) {
        const long long edge = x.edges[q] == 0 ? TW_LAB_BREAK_EVEN_EDGE : x.edges[q];
        snprintf(text[q], sizeof text[q], "%s %s %lld x %lld x %lld", q == 0 ? "f32" : "f64",
                 x.edges[q] == 0 ? "not up to" : "from", edge, edge, edge);
    }
    fact(d, "blas break-even", "in host memory cuda multiplies faster than the cpu: %s, %s%s", text[0], text[1],
         x.edges[0] == 0 && x.edges[1] == 0
             ? ""
             : "; TILEWRIGHT_BLAS_ENGINE=cuda sends calls of libtilewright_blas.so there");
}

static void tell(doctor *d)
{
    d->out = object_begin(d->s->json);
    tell_build(d);
    tell_system(d);
    tell_processors(d);
    tell_engines(d);
    tell_libraries(d);
    tell_environment(d);
    tell_readers(d);
    advise_engines(d);
}

/* Engines without a device are not tested; *failed: engines that did not pass. */
static exit_code test(doctor *d, int *failed)
{
    exit_code tested = EXIT_OK;
    for (int i = 0; i < d->engines.count; i++) {
        if (d->engines.why[i][0] == '\0' && !d->found[i].usable) continue;
        const exit_code of = test_engine(d, i);
        if (tested == EXIT_OK || of == EXIT_CHECK) tested = of;
        *failed += of != EXIT_OK;
        if (of == EXIT_OK && strcmp(tw_lab_engine_at(i), "cuda") == 0) tell_break_even(d, i);
    }
    return tested;
}

static void tell_verdict(const doctor *d, int failed)
{
    FILE *text = d->s->text;
    const int mend = d->advised + failed;
    fprintf(text, "%-18s  ", "verdict");
    if (mend == 0)
        fputs("all is well: the cpu engine lacks nothing; the lines below show what other engines lack\n", text);
    else
        fprintf(text, "%d thing%s to mend:%s%s\n", mend, mend == 1 ? "" : "s", d->advised > 0 ? " see the advice" : "",
                failed == 0       ? ""
                : d->advised == 0 ? " a self test failed"
                                  : ", and the self test that failed");
    fprintf(text, "%s\n%s", d->advice_text, d->fact_text);
}

/* The streams that the verdict waits for. */
static bool open_texts(doctor *d)
{
    d->facts = open_memstream(&d->fact_text, &d->fact_bytes);
    d->advice = open_memstream(&d->advice_text, &d->advice_bytes);
    return d->facts != NULL && d->advice != NULL;
}

exit_code cmd_doctor(session *s)
{
    static doctor d;
    int failed = 0;
    d.s = s;
    apart_begin(&d.engines, ask, s, sizeof(answer), 1200); /* kernels are compiled, maybe on a busy machine */
    exit_code code = session_open_device(s, "cpu");
    if (code == EXIT_OK && !open_texts(&d)) code = diag_no_memory("what doctor found");
    if (code == EXIT_OK) {
        tell(&d);
        code = s->opt->no_self_test ? EXIT_OK : test(&d, &failed);
        if (d.advised == 0)
            object_text(&d.out, "advice",
                        "none: the cpu engine lacks nothing; the lines above show what other engines lack");
        object_end(&d.out);
        s->json_lines = true;
        term_progress_end();
        if (fclose(d.facts) != 0 || fclose(d.advice) != 0) code = diag_no_memory("what doctor found");
        if (d.fact_text != NULL && d.advice_text != NULL) tell_verdict(&d, failed);
        free(d.fact_text), free(d.advice_text);
    }
    apart_end(&d.engines);
    return code;
}
