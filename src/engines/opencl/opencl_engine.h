/* opencl_engine.h - what the files of the OpenCL engine share of the engine itself. */
#ifndef TILEWRIGHT_OPENCL_ENGINE_H
#define TILEWRIGHT_OPENCL_ENGINE_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "../../jit_cache.h"
#include "../engine.h"
#include "cl_api.h"

typedef struct built built; /* a compiled program */

/* A kernel object that no call uses: arguments belong to it, so that two threads must not share one. */
typedef struct idle_kernel {
    const built *of;
    const char *entry;
    cl_kernel kernel;
} idle_kernel;

enum { MOST_IDLE = 16 };

struct engine {
    const cl_api *cl;
    cl_device device;
    cl_context context;
    cl_queue queue, timed_queue; /* the second, which profiles, is made when a launch is to be timed */
    int index;
    int warp;            /* so many neighbouring work-items wait for each other alone; 0: only a whole group does */
    int sm;              /* cl_find_sm() */
    bool emulated;       /* sm80.clh has OpenCL C in the place of PTX: a test asks for that */
    int vector_bytes;    /* cl_vector_bytes() */
    pid_t pid;           /* that opened it: the driver's state does not survive a fork */
    char identity[640];  /* platform, device and driver with their versions: part of every cache key */
    char compiler[256];  /* the platform's version: likewise */
    char extra[256];     /* TILEWRIGHT_OPENCL_OPTIONS */
    jit_cache *cache;    /* NULL: nothing is kept */
    bool keeps_binaries; /* there, beside verdicts */
    pthread_mutex_t building; /* held during a build; guards the cache, and what is added to the list */
    built *_Atomic built;
    pthread_mutex_t idling; /* guards what follows, and the making of timed_queue; never held for long */
    idle_kernel idle[MOST_IDLE];
    int idle_count;
};

/* ---- device.c ---- */

/* cl_status, cl_fail, CL_TRY - of a call of the driver that failed: its status; and the sentence; and forward it. */
tw_status cl_status(cl_int error);
tw_status cl_fail(const char *call, cl_int error);

#define CL_TRY(call_name, call)                                                                                        \
    do {                                                                                                               \
        cl_int cl_error_ = (call);                                                                                     \
        if (cl_error_ != CL_SUCCESS) return cl_fail(call_name, cl_error_);                                             \
    } while (0)

/* cl_check_process - refuses a child of the process that opened the engine. */
tw_status cl_check_process(const engine *e);

uint64_t cl_device_number(const cl_api *cl, cl_device device, cl_uint what, size_t bytes);
bool cl_is_kind(const cl_api *cl, cl_device device, cl_bitfield kind);

/* cl_vector_bytes - of a vector register, where the device is a processor; else 0. */
int cl_vector_bytes(const cl_api *cl, cl_device device);

/* ---- copies.c: as in engine_ops ---- */

tw_status cl_upload(engine *e, const operand *from, bool copies, buffer *out);
tw_status cl_download(engine *e, const buffer *from, const operand *to);
void cl_release(engine *e, buffer *b);

/* ---- ptx.c ---- */

/* cl_find_sm - 10 major + minor of the compute capability, from 80 on, where kernels may hold PTX; else 0. */
int cl_find_sm(engine *e);

/* ---- offsets.c, programs.c ---- */

/* cl_offsets_text - a copy of a kernel's text, for free(), whose kernels have six more parameters: where a, b and c
 * begin, and how far apart their items of a batch lie, in elements. NULL without memory. */
char *cl_offsets_text(const char *text);

/* cl_find_or_build - the program, built at first use, and a kernel object of it: one for each caller, since arguments
 * belong to it. offsets: by cl_offsets_text(). Waits for another thread's build only where the program is not there. */
tw_status cl_find_or_build(engine *e, const kernel_text *text, bool offsets, cl_kernel *out);

/* cl_take_kernel, cl_give_kernel - the same with offsets, of the kernel objects that are kept: one is made only where
 * none is idle. It may be given back when what uses it is enqueued. */
tw_status cl_take_kernel(engine *e, const kernel_text *text, idle_kernel *out);
void cl_give_kernel(engine *e, idle_kernel *k);

void cl_close_programs(engine *e, bool releases);

/* cl_kept_verdict, cl_keep_verdict, cl_code - as in engine_ops. */
tw_status cl_kept_verdict(engine *e, const plan *p, char *text, size_t bytes);
void cl_keep_verdict(engine *e, const plan *p, const char *text);
tw_status cl_code(engine *e, const plan *p, int sm, bool ptx, tw_lab_code *out);

/* ---- launch.c ---- */

/* The commands of one call, each behind the one before it. */
typedef struct commands {
    cl_queue queue;
    bool in_order;                /* the queue keeps their order by itself; else events do */
    bool tells_first, tells_last; /* whose event is wanted */
    bool begun;
    cl_uint wait_count; /* what the next command waits for */
    const cl_event *wait_list;
    cl_event first, last; /* NULL: not wanted, or not there yet; may be the same */
} commands;

/* cl_launch_items - put the kernels of a product, or of all items of a batch, on a queue. On failure events of what is
 * on the queue already are left. */
tw_status cl_launch_items(engine *e, runnable *r, commands *q, const buffer at[3]);

/* cl_clear_counters - what a kernel wants to find 0 in a workspace that was not its own before. */
tw_status cl_clear_counters(engine *e, const runnable *r, commands *q);

void cl_drop_commands(engine *e, commands *q);

/* cl_launch, cl_wait - as in engine_ops. */
tw_status cl_launch(engine *e, runnable *r, const buffer *a, const buffer *b, const buffer *c);
tw_status cl_wait(engine *e, runnable *r);

/* cl_queue_for - the queue for a launch: only a timed one wants profiling, which costs every launch something. */
tw_status cl_queue_for(engine *e, bool timed, cl_queue *out);

/* cl_end_event - wait for an event, take the time from the first one's begin (NULL: its own) if it is asked for, give
 * it back. */
tw_status cl_end_event(engine *e, cl_event first, cl_event event, double *seconds);

/* ---- queue.c: as in engine_ops ---- */

tw_status cl_find_operand(engine *e, const placed *x, buffer *out, uint32_t *align);
tw_status cl_enqueue(engine *e, const plan *p, const tw_batch *batch, const tw_launch *to, const buffer *a,
                     const buffer *b, const buffer *c);

/* ---- probe.c: as in engine_ops ---- */

tw_status cl_peak_flops(engine *e, tw_dtype dtype, int threads, int tries, double *flops_per_s);
tw_status cl_bandwidth(engine *e, int64_t bytes, int threads, int tries, double *bytes_per_s);
tw_status cl_shared_bandwidth(engine *e, int tries, double *bytes_per_s);
tw_status cl_shared_pattern(engine *e, int step, int wrap, int shift, int tries, double *words_per_s);

#endif
