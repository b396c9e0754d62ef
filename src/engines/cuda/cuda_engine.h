/* cuda_engine.h - what the files of the CUDA engine share of the engine itself. */
#ifndef TILEWRIGHT_CUDA_ENGINE_H
#define TILEWRIGHT_CUDA_ENGINE_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "kernels.h"
#include "staging.h"

/* What a call launches into and takes its time with. */
typedef struct lane {
    cu_stream stream;
    cu_event begin, end;
} lane;

enum { MOST_IDLE = 16 };

struct engine {
    const cu_api *cu;
    cu_device device;
    cu_context context;
    bool adopted; /* the context is its caller's */
    bool early;   /* GPU_EARLY kernels may be launched so */
    int index;
    pid_t pid; /* that opened it: the driver's state does not survive a fork */
    kernels kernels;
    pthread_mutex_t idling; /* guards the lanes that no call is using, kept for the next ones */
    lane idle[MOST_IDLE];
    int idle_count;
    staging staging;
    _Atomic uint64_t ticket; /* what a call raises its flags to, in memory that nobody has cleared */
};

#define CU_TRY(name, arguments)                                                                                        \
    do {                                                                                                               \
        cu_result cu_error_ = e->cu->name arguments;                                                                   \
        if (cu_error_ != CU_SUCCESS) return cu_fail(e->cu, #name, cu_error_);                                          \
    } while (0)

/* ---- engine.c ---- */

/* cuda_enter, cuda_leave - every call runs with the engine's context on top of the thread's stack. cuda_leave gives the
 * status back. */
tw_status cuda_enter(engine *e);
tw_status cuda_leave(engine *e, tw_status status);

int cuda_attribute(const cu_api *cu, cu_device device, int what);

/* cuda_take_lane - one that is idle, else a new one, for r. The engine's context is current. */
tw_status cuda_take_lane(engine *e, runnable *r);
void cuda_give_lane(engine *e, runnable *r);

/* cuda_takes_attributes - can a kernel be launched with attributes, and that be recorded in a graph too (CUDA 12.3)?
 * From sm_90 on, whose kernels then look for them. */
bool cuda_takes_attributes(const engine *e);

/* ---- launch.c ---- */

/* cuda_launch_items - what r's plan packs, computes and adds, on r's stream; of a batch one item after the other, when
 * the workspace is free again, or all at once. */
tw_status cuda_launch_items(engine *e, runnable *r, const buffer *a, const buffer *b, const buffer *c);

/* ---- probe.c: as in engine_ops ---- */

tw_status cuda_peak_flops(engine *e, tw_dtype dtype, int threads, int tries, double *flops_per_s);
tw_status cuda_bandwidth(engine *e, int64_t bytes, int threads, int tries, double *bytes_per_s);
tw_status cuda_shared_bandwidth(engine *e, int tries, double *bytes_per_s);

#endif
