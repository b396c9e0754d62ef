/* engine.h - the one interface that every engine implements once.
 *
 * The functions stand in the order in which one call uses them. Nothing in an engine looks upward: no engine includes
 * api.c's or the program's headers, none calls another, none sees a plan's making, only its value. A failure is
 * described where it happens, by fail(), and forwarded unchanged. Every function may be called by many threads at once
 * on one engine, except open and close. */
#ifndef TILEWRIGHT_ENGINE_H
#define TILEWRIGHT_ENGINE_H

#include "spread.h"

typedef struct engine engine; /* each engine's own */

/* Where an operand lies for the engine's kernels: in the caller's memory (cpu), behind a handle (opencl), at an address
 * (cuda). */
typedef struct buffer {
    void *host, *memory;
    uint64_t device;
    int64_t offset; /* elements from the start of what the handle is of */
} buffer;

/* What an epilogue reads where the engine's kernels read it: the places and distances of what is bound. */
typedef struct gpu_bound {
    buffer at[MOST_BINDINGS]; /* its element of index 0, which may lie before the buffer */
    int64_t ld[MOST_BINDINGS], stride[MOST_BINDINGS];
} gpu_bound;

/* A kernel ready to be launched, and the time of its last launch where it was asked for. */
typedef struct runnable {
    const plan *plan;
    bool timed, launched; /* launched: C may have been written */
    double seconds;
    void *kernels[LAUNCH_KINDS];  /* the driver's own, of the plan's launches; NULL: it has none of this kind */
    void *stream, *begin, *event; /* likewise, of the engines that have one */
    uint64_t workspace;           /* on the device: an address, or the driver's handle */
    void *counters;               /* of a FAMILY_PANELS row, which finds zeros and leaves zeros */
    /* NULL: one product; else buffers hold the first item's operands, or arrays of addresses */
    const tw_batch *batch;
    const gpu_bound *bound; /* of the problem's epilogue; NULL: as it is bound */
    /* of the call; NULL: none cancels it. Once it is asked for, launches are left out, without an error */
    const stop *stop;
} runnable;

/* One operand in host memory: rows x cols elements, ld apart; device_ld apart in the copy that a GPU's kernels see. */
typedef struct operand {
    void *host;
    int64_t rows, cols, ld, device_ld;
    size_t element_bytes;
    /* ld and device_ld are one, and the padding is moved too: the lab wants to see whether a kernel read or wrote
     * there */
    bool whole;
    /* the host's memory is the caller's until C is brought back: an engine may compute in it */
    bool lent;
    const stop *stop; /* the same of pieces of a copy */
} operand;

/* An operand behind a handle of the caller's, as a call wants to use it. */
typedef struct placed {
    const char *name; /* for the sentence: "a" */
    void *handle;
    int64_t offset, span; /* elements before the first, and from it to the last */
    int element_bytes;
    bool read, written;
} placed;

/* Copies beside products (tw_lab_pipeline): each engine's own, and its calls. */
typedef struct pipeline pipeline;

typedef struct pipeline_ops {
    tw_status (*open)(engine *e, pipeline **out);
    tw_status (*memory)(pipeline *p, bool on_device, size_t bytes, void **out);
    tw_status (*copy)(pipeline *p, const tw_lab_copy *copy);
    /* A workspace of at least so many bytes, which may wait for the products before */
    tw_status (*reserve)(pipeline *p, size_t workspace_bytes);
    /* Before a product: where to put it, behind all copies, with the workspace */
    tw_status (*begin)(pipeline *p, tw_launch *out);
    tw_status (*turn)(pipeline *p);
    tw_status (*poll)(pipeline *p, bool all, bool *done);
    tw_status (*nccl)(pipeline *p, int *version);
    tw_status (*comm_id)(pipeline *p, char id[TW_LAB_COMM_ID]);
    tw_status (*join)(pipeline *p, const char id[TW_LAB_COMM_ID], int rank, int ranks);
    tw_status (*exchange)(pipeline *p, const tw_lab_exchange *what);
    tw_status (*exchanged)(pipeline *p, int64_t *count);
    tw_status (*leave)(pipeline *p);
    void (*close)(pipeline *p);
} pipeline_ops;

/* What the lab alone asks: what there is to run with, compiled code, and ceilings that are measured. */
typedef struct lab_ops {
    void (*state)(char *text, size_t bytes); /* where devices() found some: what they run with, in a sentence */
    /* what compiles without a device, in a sentence. NULL: nothing does */
    tw_status (*compiler)(char *text, size_t bytes);
    void (*resources)(engine *e, const runnable *r, tw_lab_resources *out); /* NULL: nothing to tell */
    /* NULL: code is not made at run time. CUDA: e may be NULL, then sm is for which device */
    tw_status (*code)(engine *e, const plan *p, int sm, bool ptx, tw_lab_code *out);
    /* Is the plan's kernel here, so that nothing is compiled for it? NULL: nobody can say, or there is no code */
    bool (*kept)(engine *e, const plan *p);
    tw_status (*peak_flops)(engine *e, tw_dtype dtype, int threads, int tries, double *flops_per_s);
    tw_status (*bandwidth)(engine *e, int64_t bytes, int threads, int tries, double *bytes_per_s);
    /* NULL, both: blocks share no memory of their own */
    tw_status (*shared_bandwidth)(engine *e, int tries, double *bytes_per_s);
    tw_status (*shared_pattern)(engine *e, int step, int wrap, int shift, int tries, double *words_per_s);
} lab_ops;

typedef struct engine_ops {
    const char *name;
    tw_status (*devices)(tw_device *devices, int32_t capacity, int32_t *count); /* fills up to capacity, counts all */
    /* despite: a wrong word of the environment counts as not set, and on TW_OK tw_error_text() names it; "": none */
    tw_status (*open)(const tw_options *options, bool despite, engine **out);
    void (*describe)(const engine *e, tw_device *out);
    void (*facts)(const engine *e, device_facts *out);
    /* The verdict on the plan's kernel that keep_verdict() kept for this device and driver; "": none. NULL, both:
     * kernels are not tested at first use */
    tw_status (*kept_verdict)(engine *e, const plan *p, char *text, size_t bytes);
    void (*keep_verdict)(engine *e, const plan *p, const char *text);
    /* what measured times depend on beside the device: driver, settings */
    void (*identity)(const engine *e, char *text, size_t bytes);
    /* what no other device has; text stays as it is where nobody can say. NULL: nothing */
    void (*id)(const engine *e, char *text, size_t bytes);
    tw_status (*prepare)(engine *e, const plan *p, runnable *out); /* out refers to p, which must stay */
    /* device memory that is free now. NULL: nobody can say */
    tw_status (*room)(engine *e, int64_t *bytes);
    tw_status (*upload)(engine *e, const operand *from, bool copies, buffer *out);
    /* may return early. TW_NO_MEMORY without r->launched: for the plan's workspace, and C is untouched */
    tw_status (*launch)(engine *e, runnable *r, const buffer *a, const buffer *b, const buffer *c);
    /* Compute a plan that is in place (plan.h), with these scalars for the plan's. NULL: there are no such plans */
    void (*compute)(engine *e, const plan *p, double alpha, double beta, const void *a, const void *b, void *c);
    tw_status (*wait)(engine *e, runnable *r);
    tw_status (*download)(engine *e, const buffer *from, const operand *to);
    void (*release)(engine *e, buffer *b);
    void (*drop)(engine *e, runnable *r);
    /* Of engines of devices of one host: TW_OK where they may compute a product together; *peers: each reaches the
     * memory of each other; text: how, in a sentence. NULL, both: a product is computed on one device */
    tw_status (*join)(engine *const *devices, int count, bool *peers, char *text, size_t bytes);
    /* Carry out the steps and wait. TW_NO_MEMORY: nothing was written */
    tw_status (*spread)(engine *const *devices, const spread_work *work);
    /* Is the operand what it has to be, and where and how aligned (a power of two up to 256)? NULL: operands in device
     * memory are addresses, which nobody can look at */
    tw_status (*find)(engine *e, const placed *x, buffer *out, uint32_t *align);
    /* Prepare and launch on the caller's stream or queue at once, with nothing allocated, copied or waited for. p NULL:
     * an empty product, which has no operands, but its event where there are some. NULL: there is no queue to share */
    tw_status (*enqueue)(engine *e, const plan *p, const tw_batch *batch, const tw_launch *to, const buffer *a,
                         const buffer *b, const buffer *c);
    /* Pack B as the products of this plan's row read it, in memory for free(). NULL: none reads a packed B */
    tw_status (*pack_b)(engine *e, const plan *p, const void *b, void **memory);
    /* NULL: no triangular blocks */
    tw_status (*triangle)(engine *e, const tw_lab_triangle *block);
    const pipeline_ops *pipeline; /* NULL: there is no memory to copy to */
    const lab_ops *lab;
    void (*close)(engine *e);
} engine_ops;

extern const engine_ops cpu_engine, opencl_engine, cuda_engine;

#endif
