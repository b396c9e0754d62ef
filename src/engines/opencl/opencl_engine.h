/* opencl_engine.h - what the files of the OpenCL engine share of the engine itself. */
#ifndef TILEWRIGHT_OPENCL_ENGINE_H
#define TILEWRIGHT_OPENCL_ENGINE_H

#include <pthread.h>
#include <sys/types.h>

#include "../../jit_cache.h"
#include "../engine.h"
#include "cl_api.h"

typedef struct built built; /* a compiled program */

struct engine {
    const cl_api *cl;
    cl_device device;
    cl_context context;
    cl_queue queue, timed_queue; /* the second, which profiles, is made when a launch is to be timed */
    int index;
    int warp;           /* so many neighbouring work-items wait for each other alone; 0: only a whole group does */
    int vector_bytes;   /* cl_vector_bytes() */
    pid_t pid;          /* that opened it: the driver's state does not survive a fork */
    char identity[640]; /* platform, device and driver with their versions: part of every cache key */
    char extra[256];    /* TILEWRIGHT_OPENCL_OPTIONS */
    jit_cache *cache;   /* NULL: nothing is kept */
    pthread_mutex_t building; /* guards the list below, the cache and the making of timed_queue */
    built *built;
};

/* ---- engine.c ---- */

/* cl_fail, CL_TRY - the sentence for a call of the driver that failed; and forward it. */
tw_status cl_fail(const char *call, cl_int error);

#define CL_TRY(call_name, call)                                                                                        \
    do {                                                                                                               \
        cl_int cl_error_ = (call);                                                                                     \
        if (cl_error_ != CL_SUCCESS) return cl_fail(call_name, cl_error_);                                             \
    } while (0)

uint64_t cl_device_number(const cl_api *cl, cl_device device, cl_uint what, size_t bytes);
bool cl_is_kind(const cl_api *cl, cl_device device, cl_bitfield kind);

/* cl_vector_bytes - of a vector register, where the device is a processor; else 0. */
int cl_vector_bytes(const cl_api *cl, cl_device device);

/* cl_find_or_build - the program, built at first use, and a kernel object of it: one for each caller, since arguments
 * belong to it. */
tw_status cl_find_or_build(engine *e, const tw_lab_source *source, const char *options, cl_kernel *out);

/* cl_upload, cl_release - as in engine_ops. */
tw_status cl_upload(engine *e, const operand *from, bool copies, buffer *out);
void cl_release(engine *e, buffer *b);

/* cl_queue_for - the queue for a launch: only a timed one wants profiling, which costs every launch something. */
tw_status cl_queue_for(engine *e, bool timed, cl_queue *out);

/* cl_end_event - wait for an event, take the time from the first one's begin (NULL: its own) if it is asked for, give
 * it back. */
tw_status cl_end_event(engine *e, cl_event first, cl_event event, double *seconds);

/* ---- probe.c: as in engine_ops ---- */

tw_status cl_peak_flops(engine *e, tw_dtype dtype, int threads, int tries, double *flops_per_s);
tw_status cl_bandwidth(engine *e, int64_t bytes, int threads, int tries, double *bytes_per_s);
tw_status cl_shared_bandwidth(engine *e, int tries, double *bytes_per_s);
tw_status cl_shared_pattern(engine *e, int step, int wrap, int shift, int tries, double *words_per_s);

#endif
