/* host_kernel.c - see host_kernel.h. */
#define _POSIX_C_SOURCE 200809L
#include "host_kernel.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "../../lab/command.h"
#include "../story.h"
#include "user_kernel.h"
#ifdef TILEWRIGHT_HAS_SWAPCONTEXT
#include <ucontext.h>
#endif

enum { STACK = 1 << 16, UNSET_BYTES = 1 << 12, MOST_WORDS = 64, PATH = 4096, WARP = 32 };

static const double COMPILER_S = 30;
static const char SHIM[] = "../course/judge/host_shim.h"; /* as CMakeLists.txt names it, from kernels/ */

/* ---- the compiler ---- */

/* The words of a line, between blanks, put into words[count ...]; line is cut. */
static int split(char *line, const char *words[], int count)
{
    char *rest = NULL;
    for (char *word = strtok_r(line, " ", &rest); word != NULL && count < MOST_WORDS; word = strtok_r(NULL, " ", &rest))
        words[count++] = word;
    return count;
}

bool host_compiler(char path[COMMAND_PATH])
{
    static const char *const names[] = {"cc", "gcc", "clang"};
    const char *wanted = getenv("CC");
    char first[COMMAND_PATH];
    if (wanted != NULL && sscanf(wanted, " %1023[^ ]", first) == 1) return command_find(first, path);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (command_find(names[i], path)) return true;
    return false;
}

const char *host_why_not(void)
{
    char path[COMMAND_PATH];
#if defined __SANITIZE_THREAD__
    return "ThreadSanitizer does not follow work-items from stack to stack";
#elif !defined TILEWRIGHT_HAS_SWAPCONTEXT
    return "this program was built without swapcontext()";
#endif
    return host_compiler(path) ? NULL
           : getenv("CC") != NULL && strspn(getenv("CC"), " ") < strlen(getenv("CC"))
               ? "CC names no C compiler that is here"
               : "no C compiler is here: PATH has no cc, gcc or clang, and CC names none";
}

/* ---- the text as C ---- */

static const char *line_end(const char *at)
{
    while (*at != '\0' && *at != '\n') at += at[0] == '\\' && at[1] != '\0' ? 2 : 1;
    return at;
}

/* Does what stands behind __local declare memory that a group shares? Not a pointer to some. */
static bool declares_tile(const char *at) { return at[strcspn(at, "*;=[(")] != '*'; }

static bool is_local(const char *at, size_t length)
{
    return (length == 7 && strncmp(at, "__local", 7) == 0) || (length == 5 && strncmp(at, "local", 5) == 0);
}

bool host_local_is_plain(const char *text)
{
    char before = ';';
    int depth = 0;                       /* of parentheses: parameters and casts */
    bool begins = true, in_line = false; /* a line; one of the preprocessor */
    for (const char *at = text, *end; *at != '\0'; at = end) {
        const size_t word = user_kernel_word(at);
        end = user_kernel_skip(at);
        in_line = in_line ? *at != '\n' || at[-1] == '\\' : begins && *at == '#';
        if (word > 0) {
            end = at + word;
            if (is_local(at, word) && (in_line || (depth == 0 && declares_tile(end) && strchr(";{}", before) == NULL)))
                return false;
            before = 'a';
        } else if (end == at) {
            end = at + 1;
            depth += (*at == '(') - (*at == ')');
            if (strchr(" \t\r\n", *at) == NULL && !in_line) before = *at;
        }
        begins = *at == '\n' || (begins && strchr(" \t\r", *at) != NULL);
    }
    return true;
}

/* A line of the preprocessor: ROLLED's pragma says nothing to a compiler of C, and is counted instead. */
static void put_line(FILE *out, const char *at, const char *end)
{
    static const char pragma[] = "_Pragma(\"unroll 1\")";
    while (at < end) {
        const bool found = strncmp(at, pragma, sizeof pragma - 1) == 0;
        fputs(found ? "HOST_ROLLED" : (char[]){*at, '\0'}, out);
        at += found ? sizeof pragma - 1 : 1;
    }
}

/* Of the loop `for (...; x < LENGTH; ...)` that UNROLLED stands before. */
typedef struct loop_length {
    const char *condition, *first, *end; /* NULL: there is none */
} loop_length;

static loop_length length_of(const char *at)
{
    at += strspn(at, " \t\r\n");
    if (strncmp(at, "for", 3) != 0) return (loop_length){0};
    const char *condition = at + strcspn(at, ";{"), *first = condition + strcspn(condition, "<{"),
               *end = first + strcspn(first, ";{");
    if (*condition != ';' || *first != '<' || first[1] == '<' || *end != ';') return (loop_length){0};
    for (const char *c = at; c < end; c++) /* `for (;;)`, or a comment with such signs */
        if ((c > condition && c < first && *c == ';') || user_kernel_skip(c) > c) return (loop_length){0};
    return (loop_length){condition + 1, first + (first[1] == '=' ? 2 : 1), end};
}

/* How much of `(float4)(` stands here; 0: something else. */
static size_t vector_of(const char *at)
{
    int end = 0;
    return *at == '(' && sscanf(at, "( float4 ) (%n", &end) == 0 ? (size_t)end : 0;
}

/* Which word of a float4 does `.y` name, if one? CUDA's threadIdx.y and its like are none. -1: none. */
static int word_of_vector(const char *at, const char *last, size_t last_length)
{
    static const char *const places[] = {"threadIdx", "blockIdx", "blockDim", "gridDim"};
    static const char words[] = "xyzw";
    const char *found = *at == '.' && user_kernel_word(at + 1) == 1 ? strchr(words, at[1]) : NULL;
    for (size_t i = 0; found != NULL && i < sizeof places / sizeof *places; i++)
        if (strlen(places[i]) == last_length && strncmp(places[i], last, last_length) == 0) found = NULL;
    return found != NULL ? (int)(found - words) : -1;
}

/* `&y.x`, whose address not all compilers give; 0: something else. */
static size_t vector_address_of(const char *at, char before)
{
    const size_t length = *at == '&' && before != '&' ? user_kernel_word(at + 1) : 0;
    return length > 0 && word_of_vector(at + 1 + length, at + 1, length) >= 0 ? length + 3 : 0;
}

/* The text with what macros cannot replace replaced. */
static void put_as_c(FILE *out, const char *engine, const char *text)
{
    const bool opencl = strcmp(engine, "opencl") == 0;
    char before = ';';  /* what stands before, comments, blanks and lines of the preprocessor aside */
    bool begins = true; /* a line */
    loop_length loop = {0};
    const char *last = text; /* word, of so many letters, that stands before; 0: something else does */
    size_t last_length = 0;
    for (const char *at = text, *end; *at != '\0'; at = end) {
        const char *put = NULL;
        char made[256];
        size_t word = user_kernel_word(at), vector;
        const int of_vector = word_of_vector(at, last, last_length);
        if (at == loop.condition) fprintf(out, " HOST_ASK(%.*s), ", (int)(loop.end - loop.first), loop.first);
        end = user_kernel_skip(at);
        if (strncmp(at, "extern \"C\"", 10) == 0)
            end = at + 10, put = " "; /* it must not join what stands before with what stands behind */
        else if (begins && *at == '#') {
            end = line_end(at);
            put_line(out, at, end);
            put = "";
        } else if (of_vector >= 0) {
            end = at + 2, before = 'a';
            snprintf(made, sizeof made, "[%d]", of_vector), put = made;
        } else if ((vector = vector_of(at)) > 0) {
            end = at + vector, before = '(', put = "HOST_FLOAT4(";
        } else if ((vector = vector_address_of(at, before)) > 0 && vector < sizeof made / 2) {
            end = at + vector, before = 'a';
            snprintf(made, sizeof made, "((float *)&%.*s + %d)", (int)vector - 3, at + 1,
                     word_of_vector(end - 2, at + 1, vector - 3));
            put = made;
        } else if (word > 0) {
            end = at + word;
            if (word == 8 && strncmp(at, "UNROLLED", 8) == 0 && (loop = length_of(end)).condition != NULL)
                put = " ";
            else if (opencl && is_local(at, word))
                put = strchr(";{}", before) != NULL && declares_tile(end) ? "HOST_TILE" : "__local";
            before = 'a';
        } else if (end == at) {
            end = at + 1;
            if (strchr(" \t\r\n", *at) == NULL) before = *at;
        }
        if (end > at + 1 || strchr(" \t\r\n", *at) == NULL) last = at, last_length = word;
        begins = *at == '\n' || (begins && strchr(" \t\r", *at) != NULL);
        fwrite(put != NULL ? put : at, 1, put != NULL ? strlen(put) : (size_t)(end - at), out);
    }
}

static bool write_source(const char *path, const char *engine, const char *text)
{
    FILE *file = fopen(path, "w");
    if (file == NULL) return false;
    fputs(story_text_of(SHIM), file);
    put_as_c(file, engine, text);
    bool whole = !ferror(file);
    return fclose(file) == 0 && whole;
}

/* ---- one compilation ---- */

/* Does a message's line name a place, "mine.cl:21:13: error: ..."? */
static bool names_place(const char *line)
{
    int row, column, end = 0;
    for (const char *at = line; *at != '\0' && *at != '\n'; at++)
        if (*at == ':' && sscanf(at, ":%d:%d:%n", &row, &column, &end) == 2 && end > 0) return true;
    return false;
}

/* In `why`, what the linker misses, else the first line that names a place, else the first, with nothing in it that
 * moves a terminal. */
static void not_c(const char *messages, char why[HOST_WHY])
{
    const char *missing = strstr(messages, "undefined reference to "), *line = messages;
    while (*line != '\0' && !names_place(line)) line += strcspn(line, "\n"), line += *line == '\n';
    if (missing != NULL || *line == '\0') line = missing != NULL ? missing : messages;
    snprintf(why, HOST_WHY, "it does not compile as C: %.*s", (int)strcspn(line, "\n"), line);
    for (char *c = why; *c != '\0'; c++)
        if ((unsigned char)*c < ' ' || *c == 127) *c = '?';
}

static host_built run_compiler(const char *engine, const char *options, const char *source, const char *library,
                               char why[HOST_WHY])
{
    char path[COMMAND_PATH], of_cc[COMMAND_PATH] = "", of_launch[COMMAND_PATH];
    const char *words[MOST_WORDS + 24];
    int count = 0, status;
    const char *wanted = getenv("CC");
    if (!host_compiler(path)) return HOST_UNABLE;
    snprintf(of_cc, sizeof of_cc, "%s", wanted != NULL ? wanted : "");
    snprintf(of_launch, sizeof of_launch, "%s", options);
    count = split(of_cc, words, 0);
    words[0] = path;
    count = split(of_launch, words, count > 0 ? count : 1);
    const char *const own[] = {strcmp(engine, "cuda") == 0 ? "-DHOST_CUDA" : "-DHOST_OPENCL",
                               "-std=gnu11",
                               "-fgnu89-inline",
                               "-w",
                               "-Wno-error=implicit-function-declaration",
                               "-O0",
                               "-pipe",
                               "-fPIC",
                               "-fno-stack-protector",
                               "-U_FORTIFY_SOURCE",
                               "-fsanitize=thread",
                               "-shared",
                               "-nostdlib",
                               "-Wl,-Bsymbolic",
                               source,
                               "-o",
                               library,
                               NULL};
    memcpy(&words[count], own, sizeof own);
    char *messages = command_run(words, true, COMPILER_S, &status);
    if (messages == NULL || status < 0)
        snprintf(why, HOST_WHY, "the compiler %.200s did not end by itself within %g s", path, COMPILER_S);
    else if (status != 0)
        not_c(messages, why);
    free(messages);
    return messages != NULL && status == 0 ? HOST_BUILT : HOST_NOT_C;
}

/* A folder that this user alone can enter. */
static bool make_folder(char folder[PATH])
{
    const char *above = getenv("TMPDIR");
    int length = snprintf(folder, PATH - 16, "%s/tilewright-host.XXXXXX",
                          above != NULL && above[0] == '/' ? above : "/tmp");
    return length < PATH - 16 && mkdtemp(folder) != NULL;
}

static host_built compile_in(const char *folder, const char *engine, const char *options, const char *text,
                             int *library, char why[HOST_WHY])
{
    char source[PATH], made[PATH];
    snprintf(source, sizeof source, "%.4080s/kernel.c", folder);
    snprintf(made, sizeof made, "%.4080s/kernel.so", folder);
    host_built built = HOST_NO_ROOM;
    if (write_source(source, engine, text)) {
        built = run_compiler(engine, options, source, made, why);
        if (built == HOST_BUILT && (*library = open(made, O_RDONLY | O_CLOEXEC)) < 0) built = HOST_NO_ROOM;
    }
    if (built == HOST_NO_ROOM) snprintf(why, HOST_WHY, "%.300s: %s", folder, strerror(errno));
    unlink(source);
    unlink(made);
    return built;
}

host_built host_compile(const char *engine, const char *options, const char *text, int *library, char why[HOST_WHY])
{
    char folder[PATH];
    sigset_t stops, before;
    if (host_why_not() != NULL) {
        snprintf(why, HOST_WHY, "%s", host_why_not());
        return HOST_UNABLE;
    }
    command_stops(&stops); /* what ends the program waits until the folder is gone */
    pthread_sigmask(SIG_BLOCK, &stops, &before);
    host_built built = HOST_NO_ROOM;
    if (make_folder(folder)) {
        built = compile_in(folder, engine, options, text, library, why);
        rmdir(folder);
    } else {
        snprintf(why, HOST_WHY, "no folder could be made for the compiler in TMPDIR or /tmp: %s", strerror(errno));
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return built;
}

bool host_load(int library, const char *entry, host_kernel *out, char why[HOST_WHY])
{
    char path[64];
    *out = (host_kernel){0};
    snprintf(path, sizeof path, "/proc/self/fd/%d", library);
    out->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (out->library != NULL) {
        *(void **)&out->entry = dlsym(out->library, entry);
        out->now = dlsym(out->library, "host_now");
    }
    if (out->entry == NULL || out->now == NULL) {
        const char *message = dlerror();
        if (message == NULL) message = "its entry was not found";
        not_c(strncmp(message, path, strlen(path)) == 0 ? message + strlen(path) + 2 : message, why);
        host_close(out);
    }
    close(library);
    return out->library != NULL;
}

void host_close(host_kernel *kernel)
{
    if (kernel->library != NULL) dlclose(kernel->library);
    *kernel = (host_kernel){0};
}

/* ---- work-items in turns ---- */

#ifdef TILEWRIGHT_HAS_SWAPCONTEXT
typedef enum lane_state { LANE_READY, LANE_AT_GROUP, LANE_AT_WARP, LANE_DONE } lane_state;

typedef struct launch {
    const host_kernel *kernel;
    host_run *run;
    int now; /* the work-item that runs */
    bool stopped;
    unsigned char state[HOST_MOST_THREADS]; /* lane_state */
    int place[HOST_MOST_THREADS];           /* the barrier that it waits at */
    int met[HOST_MOST_THREADS][2];          /* barriers so far, as in host_access */
    char *stacks;
    ucontext_t home, lane[HOST_MOST_THREADS];
} launch;

static _Thread_local launch *running; /* the kernel's calls bring no context */

static void run_lane(void)
{
    const host_run *r = running->run;
    running->kernel->entry(r->m, r->n, r->k, r->alpha, r->a, r->lda, r->b, r->ldb, r->beta, r->c, r->ldc);
    running->state[running->now] = LANE_DONE;
}

static void go_home(void) { swapcontext(&running->lane[running->now], &running->home); }

static void wait_here(bool warp_only, int place)
{
    if (running->now == 0) running->run->barriers[warp_only]++;
    host_now *now = running->kernel->now;
    const bool of_global = now->of_global; /* of local memory nothing is ordered */
    now->of_global = false;
    running->run->of_global += of_global;
    running->met[running->now][warp_only] += !of_global;
    running->state[running->now] = warp_only ? LANE_AT_WARP : LANE_AT_GROUP;
    running->place[running->now] = place;
    go_home();
}

static bool in_range(const char *address, const void *first, size_t bytes)
{
    return (uintptr_t)address - (uintptr_t)first < bytes;
}

static void note(const void *address, int bytes, bool store)
{
    const launch *l = running;
    const host_run *r = l->run;
    const host_now *now = l->kernel->now;
    if (r->note == NULL) return;
    const struct {
        const void *first;
        size_t bytes;
    } memory[] = {{r->a, r->a_bytes},
                  {r->b, r->b_bytes},
                  {r->c, r->c_bytes},
                  {now->tiles, (size_t)(now->tiles_end - now->tiles)},
                  {now->image, (size_t)(now->image_end - now->image)},
                  {l->stacks + (size_t)l->now * STACK, STACK}};
    enum { WITH_OWN = sizeof memory / sizeof *memory, OF_IMAGE = HOST_TILES + 1 };
    int where = 0;
    while (where < WITH_OWN && !in_range(address, memory[where].first, memory[where].bytes)) where++;
    const bool common = where == OF_IMAGE && store && !in_range(address, now, sizeof *now); /* not the shim's words */
    if (where > HOST_TILES && where < WITH_OWN && !common) return; /* a constant, or the work-item's own */
    host_access access = {.where = common             ? HOST_COMMON
                                   : where < WITH_OWN ? (host_memory)where
                                                      : HOST_OUTSIDE,
                          .bytes = bytes,
                          .store = store,
                          .met = {l->met[l->now][0], l->met[l->now][1]},
                          .at = address};
    if (where < WITH_OWN) access.address = (const char *)address - (const char *)memory[where].first;
    if (r->note(r->job, now->block, l->now, &access)) return;
    running->stopped = true;
    go_home(); /* which never comes back */
}

/* Work-item i is to begin at the kernel's entry, on a stack of its own. */
static void begin_lane(launch *l, int i)
{
    const float unset = HOST_UNSET;
    l->state[i] = LANE_READY;
    l->met[i][0] = l->met[i][1] = 0;
    getcontext(&l->lane[i]);
    char *stack = l->stacks + (size_t)i * STACK;
    for (size_t at = STACK - UNSET_BYTES; at < STACK; at += sizeof unset) memcpy(stack + at, &unset, sizeof unset);
    l->lane[i].uc_stack.ss_sp = stack;
    l->lane[i].uc_stack.ss_size = STACK;
    l->lane[i].uc_link = &l->home;
    makecontext(&l->lane[i], run_lane, 0);
}

static int count_of(const launch *l, int first, int count, lane_state state)
{
    int found = 0;
    for (int i = first; i < first + count; i++) found += l->state[i] == state;
    return found;
}

/* Work-items that wait here may go on. */
static void release(launch *l, int first, int count, lane_state from)
{
    for (int i = first; i < first + count; i++)
        if (l->state[i] == from) l->state[i] = LANE_READY;
}

static void tell_of(const launch *l, int thread, const char *what, char text[HOST_WHY])
{
    const host_place block = l->kernel->now->block;
    snprintf(text, HOST_WHY, "work-item %d of group (%u, %u) %s", thread, block.x, block.y, what);
}

static void stop_for(launch *l, int thread, const char *what)
{
    tell_of(l, thread, what, l->run->fault);
    l->stopped = true;
}

/* The first work-item from here on that has ended, though others wait. */
static void ends_before(launch *l, int first, const char *what)
{
    while (l->state[first] != LANE_DONE) first++;
    if (!l->run->ends_early)
        stop_for(l, first, what);
    else if (l->run->early[0] == '\0')
        tell_of(l, first, what, l->run->early);
}

/* One warp, up to the next barrier of the group or its end. */
static void run_warp(launch *l, int first, int count)
{
    host_now *now = l->kernel->now;
    do {
        release(l, first, count, LANE_AT_WARP);
        for (int i = 0; i < count; i++) {
            l->now = first + i;
            if (l->state[l->now] != LANE_READY) continue;
            now->thread = (host_place){(unsigned)l->now % now->size.x, (unsigned)l->now / now->size.x, 0};
            swapcontext(&l->home, &l->lane[l->now]);
            if (l->stopped) return;
        }
        if (count_of(l, first, count, LANE_AT_WARP) > 0 && count_of(l, first, count, LANE_AT_GROUP) > 0)
            stop_for(l, first, "and others of its warp wait at different barriers");
        else if (count_of(l, first, count, LANE_AT_WARP) > 0 && count_of(l, first, count, LANE_DONE) > 0)
            ends_before(l, first, "ends before a barrier that others of its warp wait at");
    } while (!l->stopped && count_of(l, first, count, LANE_AT_WARP) > 0);
}

static void run_block(launch *l, int threads)
{
    memset(l->run->barriers, 0, sizeof l->run->barriers);
    memset((char *)(uintptr_t)l->kernel->now->tiles, 0xff, (size_t)(l->kernel->now->tiles_end - l->kernel->now->tiles));
    for (int i = 0; i < threads; i++) begin_lane(l, i);
    do {
        release(l, 0, threads, LANE_AT_GROUP);
        const int warps = (threads + WARP - 1) / WARP;
        for (int i = 0; i < warps && !l->stopped; i++)
            run_warp(l, WARP * i, threads - WARP * i < WARP ? threads - WARP * i : WARP);
        int first = -1, other = -1;
        for (int i = 0; i < threads; i++) {
            if (l->state[i] != LANE_AT_GROUP) continue;
            if (first < 0) first = i;
            if (l->place[i] != l->place[first]) other = i;
        }
        if (!l->stopped && other >= 0) stop_for(l, other, "waits at another barrier than others of its group");
        if (!l->stopped && first >= 0 && count_of(l, 0, threads, LANE_DONE) > 0)
            ends_before(l, 0, "ends before a barrier that others of its group wait at");
    } while (!l->stopped && count_of(l, 0, threads, LANE_AT_GROUP) > 0);
}

bool host_launch(const host_kernel *kernel, host_run *run)
{
    int threads = (int)(run->size.x * run->size.y);
    host_now *now = kernel->now;
    launch *l = calloc(1, sizeof *l);
    char *stacks = threads <= HOST_MOST_THREADS ? malloc((size_t)threads * STACK) : NULL;
    bool whole = l != NULL && stacks != NULL;
    run->fault[0] = run->early[0] = '\0';
    if (whole) {
        l->kernel = kernel, l->run = run, l->stacks = stacks;
        now->grid = run->grid, now->size = run->size, now->wait = wait_here, now->note = note;
        now->op_a = run->op_a, now->op_b = run->op_b, now->rolled = now->asked = now->fences = run->of_global = 0;
        running = l;
        for (unsigned y = 0; y < run->grid.y && !l->stopped; y++)
            for (unsigned x = 0; x < run->grid.x && !l->stopped; x++) {
                now->block = (host_place){x, y, 0};
                run_block(l, threads);
                if (!l->stopped && run->after_block != NULL) run->after_block(run->job, now->block, now->tiles);
            }
        running = NULL;
        run->rolled = now->rolled, run->asked = now->asked, run->fences = now->fences;
        whole = !l->stopped;
    }
    free(stacks);
    free(l);
    return whole;
}
#else
bool host_launch(const host_kernel *kernel, host_run *run) { return kernel == NULL && run == NULL; }
#endif
