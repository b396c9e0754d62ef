/* host_kernel.h - a GPU kernel's own text, compiled by this machine's C compiler and run here work-item by work-item,
 * so that each access to its operands and tiles is seen, whatever the text says. host_shim.h holds the words that are
 * not C.
 *
 * The work-items of a group take turns at barriers, on stacks of their own. Each warp of 32 runs up to the next barrier
 * of the group before another warp begins. The tiles of each group begin as NaN. Kernels of the plain kind only: (m, n,
 * k, alpha, a, lda, b, ldb, beta, c, ldc), of vector types float4 alone, and of CUDA C no C++. The text is code with
 * the caller's rights: lanes.h runs it in a process of its own. */
#ifndef TILEWRIGHT_HOST_KERNEL_H
#define TILEWRIGHT_HOST_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "../../lab/command.h"

enum { HOST_MOST_THREADS = 1024, HOST_WHY = 512 };
#define HOST_UNSET 4096.0f /* what a work-item's own memory holds before it is set */

typedef struct host_place {
    unsigned x, y, z;
} host_place;

/* As in host_shim.h. */
typedef struct host_now {
    host_place thread, block, grid, size;
    void (*wait)(bool warp_only, int place);
    void (*note)(const void *address, int bytes, bool store);
    const char *tiles, *tiles_end, *image, *image_end;
    int op_a, op_b; /* which the text may take for OP_A and OP_B */
    unsigned rolled, asked, fences;
    bool of_global;
} host_now;

typedef void host_entry(int m, int n, int k, float alpha, const float *a, long lda, const float *b, long ldb,
                        float beta, float *c, long ldc);

typedef struct host_kernel {
    void *library;
    host_entry *entry;
    host_now *now;
} host_kernel;

typedef enum host_memory { HOST_A, HOST_B, HOST_C, HOST_TILES, HOST_OUTSIDE, HOST_COMMON } host_memory;

/* An access to what is not the work-item's own. HOST_COMMON: a store into what all groups share, as variables outside
 * of functions are. */
typedef struct host_access {
    host_memory where;
    int64_t address; /* within the operand, or within the tiles */
    int bytes;
    bool store;
    int met[2];     /* barriers of the group, and of its warp, that the work-item has met */
    const void *at; /* on this machine; HOST_OUTSIDE: not to be read */
} host_access;

typedef struct host_run {
    int m, n, k;
    float alpha, beta;
    const float *a, *b;
    float *c;
    long lda, ldb, ldc;
    size_t a_bytes, b_bytes, c_bytes;
    host_place grid, size; /* groups; work-items of one */
    /* sees each access before it happens; false: the launch ends here. NULL: accesses are not watched */
    bool (*note)(void *job, host_place block, int thread, const host_access *access);
    /* sees the tiles when a group has run; may be NULL */
    void (*after_block)(void *job, host_place block, const char *tiles);
    void *job;
    bool ends_early; /* a work-item may end before a barrier of the others, as in CUDA C */
    int op_a, op_b;
    /* results */
    int barriers[2];            /* that work-item 0 of the last group met: of the group, of a warp */
    unsigned rolled, asked;     /* of all work-items, as in host_shim.h */
    unsigned fences, of_global; /* fences that they met, and barriers of the group that order global memory alone */
    char early[HOST_WHY];       /* the first work-item that ended, as it might, before a barrier of others; else "" */
    char fault[HOST_WHY];       /* why the launch ended early, if barriers were the reason; else "" */
} host_run;

/* host_compiler - the path of $CC's first word, or of the first of cc, gcc and clang that is here. */
bool host_compiler(char path[COMMAND_PATH]);

/* host_why_not - why no kernel can be run here; NULL: one can, if its text is C. */
const char *host_why_not(void);

typedef enum host_built { HOST_BUILT, HOST_UNABLE, HOST_NOT_C, HOST_NO_ROOM } host_built;

/* host_compile - the text of a kernel for this engine, with the compiler's options of its launch, by $CC, else cc, gcc
 * or clang. *library: an open file, for host_load; no other file is left. Else why: HOST_UNABLE: there is no compiler;
 * HOST_NOT_C: what it says; HOST_NO_ROOM: no memory, or no folder in $TMPDIR. */
host_built host_compile(const char *engine, const char *options, const char *text, int *library, char why[HOST_WHY]);

/* host_local_is_plain - whether each __local of OpenCL C stands where it is understood: first in the declaration of a
 * tile, or in a parameter, a cast or a pointer. Not behind other words, in a typedef or in a macro. */
bool host_local_is_plain(const char *text);

/* host_load - closes the file, whatever happens. */
bool host_load(int library, const char *entry, host_kernel *out, char why[HOST_WHY]);
void host_close(host_kernel *kernel);

/* host_launch - the whole grid, one group after the other. false: no memory, or run->note ended it, or run->fault says
 * why: work-items of a warp wait at different barriers, or one ends before a barrier of the others and may not. */
bool host_launch(const host_kernel *kernel, host_run *run);

#endif
