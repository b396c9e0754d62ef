/* plugin.h - the library of one MPI as the program sees it, which opens it at run time: no name of MPI, so that the
 * program, which defines TILEWRIGHT_MPI_TYPES, is built without one. */
#ifndef TILEWRIGHT_MPI_PLUGIN_H
#define TILEWRIGHT_MPI_PLUGIN_H

#include <stdbool.h>
#include "engine.h"
#include "tilewright_mpi.h"

typedef struct rank_world {
    int rank, ranks;
    int beside;  /* ranks on this host, this one among them, */
    int place;   /* which of them this one is, from 0, */
    int sharing; /* and of those the ones that may run on the same processors */
    char host[256];
    char library[128]; /* of MPI, "Open MPI v4.1.4" */
} rank_world;

/* What all ranks must have alike. */
typedef struct rank_value {
    const char *name;
    int64_t value;
} rank_value;

typedef struct rank_file rank_file;

/* Bytes of a file: `lines` runs of line_bytes each, stride_bytes from one to the next, the first at offset. */
typedef struct rank_piece {
    int64_t offset, line_bytes, lines, stride_bytes;
} rank_piece;

/* Calls are collective, unless they say otherwise. A call that fails has a sentence in error(). */
typedef struct rank_plugin {
    const char *version; /* tw_version() of the build */
    tw_status (*start)(rank_world *world);
    void (*stop)(void);
    const char *(*error)(void);                          /* not collective */
    bool (*agreed)(void);                                /* not collective: all ranks were told of what failed last */
    tw_status (*worst)(int code, int *worst, int *rank); /* the largest code of all, and the lowest rank that has it */
    tw_status (*alike)(const rank_value *values, int count);
    tw_status (*add)(int64_t *values, int count);  /* sums over all ranks */
    tw_status (*most)(double *values, int count);  /* the largest of all ranks; none is negative */
    tw_status (*tell)(char *text, int size);       /* rank 0's text to all */
    tw_status (*beside)(int64_t value, int *same); /* ranks of this host that say the same */
    tw_status (*make)(const rank_engine *engine, const tw_problem *problem, const tw_mpi_options *options,
                      tw_mpi_layout *layout);
    tw_status (*gemm)(const void *a, int64_t lda, const void *b, int64_t ldb, void *c, int64_t ldc);
    const char *(*panels)(void); /* not collective: tw_mpi_panels_text() of the last plan */
    void (*drop)(void);          /* the plan and its buffers */
    int64_t (*received)(void);   /* not collective: in the last product */
    tw_status (*open)(const char *path, bool writes, rank_file **file);
    tw_status (*read)(rank_file *file, const rank_piece *piece, void *data);
    tw_status (*write)(rank_file *file, const rank_piece *piece, const void *data);
    tw_status (*close)(rank_file *file);    /* what was written is on the disk, or it fails */
    void (*timeout)(double timeout_s);      /* not collective: of all calls to come */
    void (*while_idle)(void (*call)(void)); /* not collective: what calls do while they wait with a deadline */
    bool (*stuck)(void); /* not collective: after gemm(), this rank's device does not answer, and would be waited for */
} rank_plugin;

#define RANK_PLUGIN "tilewright_mpi_plugin" /* the one symbol, a const rank_plugin */

#endif
