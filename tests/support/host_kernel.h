/* host_kernel.h - a GPU kernel's own text, compiled by the C compiler and run on this machine work-item by work-item,
 * so that each access to its operands and tiles is seen, whatever the text says. host_shim.h holds the words that are
 * not C.
 *
 * The work-items of a group take turns at barriers, on stacks of their own. Kernels of the plain kind only: (m, n, k,
 * alpha, a, lda, b, ldb, beta, c, ldc), and no vector types in OpenCL C. CMake says what TESTS_FOLDER and COMPILER
 * are. */
#ifndef TILEWRIGHT_HOST_KERNEL_H
#define TILEWRIGHT_HOST_KERNEL_H

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>
#include <unistd.h>

#include "engines/gpu.h"
#include "plan.h"

enum { HOST_STACK = 1 << 16, HOST_MOST_THREADS = 1024 };

typedef struct host_place {
    unsigned x, y, z;
} host_place;

/* As in host_shim.h. */
typedef struct host_now {
    host_place thread, block, grid, size;
    void (*wait)(bool warp_only);
    void (*note)(const void *address, int bytes, bool store);
    const char *tiles, *tiles_end;
} host_now;

typedef void host_entry(int m, int n, int k, float alpha, const float *a, long lda, const float *b, long ldb,
                        float beta, float *c, long ldc);

typedef struct host_kernel {
    void *library;
    host_entry *entry;
    host_now *now;
    host_place grid, size;
} host_kernel;

/* What is multiplied; and what sees each access (may be NULL). */
typedef struct host_run {
    int m, n, k;
    float alpha, beta;
    const float *a, *b;
    float *c;
    long lda, ldb, ldc;
    void (*note)(int thread, const void *address, int bytes, bool store);
    void (*after_block)(host_place block);
} host_run;

static struct {
    ucontext_t home, lane[HOST_MOST_THREADS];
    char *stacks;
    bool done[HOST_MOST_THREADS];
    int now, barriers[2]; /* that work-item 0 of the last group met: of the group, of a warp */
    const host_kernel *kernel;
    const host_run *run;
} host;

/* text with every `from` replaced by `to`; NULL where `from` does not occur as often as `times` (0: any number). free()
 * it. */
static char *host_replace(const char *text, const char *from, const char *to, int times)
{
    int found = 0;
    for (const char *at = text; (at = strstr(at, from)) != NULL; at += strlen(from)) found++;
    if (times > 0 && found != times) return NULL;
    char *made = malloc(strlen(text) + (size_t)found * strlen(to) + 1), *end = made;
    if (made == NULL) exit(1);
    for (const char *at; (at = strstr(text, from)) != NULL; text = at + strlen(from)) {
        memcpy(end, text, (size_t)(at - text));
        end += at - text;
        end += sprintf(end, "%s", to);
    }
    strcpy(end, text);
    return made;
}

/* host_why_not - why no kernel can be run here; NULL: one can. */
static const char *host_why_not(void)
{
#ifdef __SANITIZE_THREAD__
    return "ThreadSanitizer does not follow work-items from stack to stack";
#else
    return access(COMPILER, X_OK) == 0 ? NULL : "the compiler that built the tests, " COMPILER ", is not here";
#endif
}

static bool host_write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    bool written = file != NULL && fputs(text, file) >= 0;
    return file != NULL && fclose(file) == 0 && written;
}

/* host_build - compile the text of a row's kernel as a plan would have it built. False, and why, where the compiler
 * refuses. */
static bool host_build(const plan *p, const char *text, host_kernel *out, char why[512])
{
    char folder[] = "/tmp/tilewright-host.XXXXXX", source[64], library[64], command[1024];
    bool cuda = strcmp(p->row->lab.engine, "cuda") == 0;
    *out = (host_kernel){.grid = {(unsigned)p->gpu.grid_x, (unsigned)p->gpu.grid_y, 1},
                         .size = {(unsigned)p->gpu.threads_x, (unsigned)p->gpu.threads_y, 1}};
    if (mkdtemp(folder) == NULL) return false;
    snprintf(source, sizeof source, "%s/k.c", folder);
    snprintf(library, sizeof library, "%s/k.so", folder);
    snprintf(command, sizeof command,
             "'%s' -std=gnu11 -w -O0 -fPIC -fsanitize=thread -shared -nostdlib -Wl,-Bsymbolic -include "
             "'%s/support/host_shim.h' %s %s '%s' -o '%s' 2>'%s/log'",
             COMPILER, TESTS_FOLDER, cuda ? "-DHOST_CUDA" : "-DHOST_OPENCL", p->gpu.options, source, library, folder);
    char *c = host_replace(text, cuda ? "extern \"C\" " : "\n    __local ", cuda ? "" : "\n    HOST_TILE ", 0);
    bool built = host_write_text(source, c) && system(command) == 0 &&
                 (out->library = dlopen(library, RTLD_NOW | RTLD_LOCAL)) != NULL;
    free(c);
    if (built) {
        *(void **)&out->entry = dlsym(out->library, p->gpu.source.entry);
        out->now = dlsym(out->library, "host_now");
        built = out->entry != NULL && out->now != NULL;
    }
    snprintf(why, 512, "%s", built ? "" : "the text of the kernel could not be compiled as C:");
    snprintf(command, sizeof command, "%s/log", folder);
    FILE *log = fopen(command, "r");
    if (!built && log != NULL) why[strlen(why) + fread(why + strlen(why), 1, 400, log)] = '\0';
    if (log != NULL) fclose(log);
    unlink(command), unlink(source), unlink(library), rmdir(folder);
    return built;
}

static void host_close(host_kernel *kernel)
{
    if (kernel->library != NULL) dlclose(kernel->library);
}

static void host_lane(void)
{
    const host_run *r = host.run;
    host.kernel->entry(r->m, r->n, r->k, r->alpha, r->a, r->lda, r->b, r->ldb, r->beta, r->c, r->ldc);
    host.done[host.now] = true;
}

static void host_wait(bool warp_only)
{
    if (host.now == 0) host.barriers[warp_only]++;
    swapcontext(&host.lane[host.now], &host.home);
}

static void host_note(const void *address, int bytes, bool store)
{
    if (host.run->note != NULL) host.run->note(host.now, address, bytes, store);
}

/* Work-item i is to begin at the kernel's entry, on a stack of its own. */
static void host_begin_lane(int i)
{
    host.done[i] = false;
    getcontext(&host.lane[i]);
    host.lane[i].uc_stack.ss_sp = host.stacks + (size_t)i * HOST_STACK;
    host.lane[i].uc_stack.ss_size = HOST_STACK;
    host.lane[i].uc_link = &host.home;
    makecontext(&host.lane[i], host_lane, 0);
}

/* One group: every work-item runs up to its next barrier before any goes on. */
static void host_block(int threads)
{
    int left = threads;
    host.barriers[0] = host.barriers[1] = 0;
    for (int i = 0; i < threads; i++) host_begin_lane(i);
    while (left > 0) {
        left = 0;
        for (host.now = 0; host.now < threads; host.now++) {
            if (host.done[host.now]) continue;
            host.kernel->now->thread = (host_place){(unsigned)host.now % host.kernel->size.x,
                                                    (unsigned)host.now / host.kernel->size.x, 0};
            swapcontext(&host.home, &host.lane[host.now]);
            left += !host.done[host.now];
        }
    }
}

/* host_launch - the whole grid, one group after the other. */
static void host_launch(const host_kernel *kernel, const host_run *run)
{
    int threads = (int)(kernel->size.x * kernel->size.y);
    if (host.stacks == NULL && (host.stacks = malloc((size_t)HOST_MOST_THREADS * HOST_STACK)) == NULL) exit(1);
    host.kernel = kernel, host.run = run;
    kernel->now->grid = kernel->grid, kernel->now->size = kernel->size;
    kernel->now->wait = host_wait, kernel->now->note = host_note;
    for (unsigned y = 0; y < kernel->grid.y; y++)
        for (unsigned x = 0; x < kernel->grid.x; x++) {
            kernel->now->block = (host_place){x, y, 0};
            host_block(threads);
            if (run->after_block != NULL) run->after_block(kernel->now->block);
        }
    host.kernel = NULL, host.run = NULL; /* the caller's own, gone when it returns */
}

#endif
