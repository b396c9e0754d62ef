/* cuda_engine.h - what the files of the CUDA engine share of the engine itself. */
#ifndef TILEWRIGHT_CUDA_ENGINE_H
#define TILEWRIGHT_CUDA_ENGINE_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "kernels.h"
#include "staging.h"

/* The stream of a call, and the events that time it. */
typedef struct lane {
    cu_stream stream;
    cu_event begin, end;
} lane;

enum { MOST_IDLE = 16 };

/* What a list of steps needs of a device, kept for the next. */
typedef struct spread_kit {
    cu_stream stream[SPREAD_LANES];
    cu_event *event;
    int64_t event_count;
    cu_pointer memory;
    int64_t bytes;
} spread_kit;

struct engine {
    const cu_api *cu;
    cu_device device;
    cu_context context;
    bool adopted; /* the context is its caller's */
    bool pdl;     /* GPU_PDL kernels are launched with PDL */
    int index;
    pid_t pid; /* the process that opened it: the state of the driver does not survive a fork */
    kernels kernels;
    pthread_mutex_t idling; /* guards the idle lanes, kept for the next calls */
    lane idle[MOST_IDLE];
    int idle_count;
    staging staging;
    pthread_mutex_t keeping; /* guards the kit, which is taken by one call at a time */
    spread_kit kit;
    _Atomic uint64_t epoch; /* the next value that signals flags, which nobody clears */
};

enum { HIGHEST_PRIORITY = -100 }; /* of a stream: the driver takes its own highest */

#define CU_TRY(name, arguments)                                                                                        \
    do {                                                                                                               \
        cu_result cu_error_ = e->cu->name arguments;                                                                   \
        if (cu_error_ != CU_SUCCESS) return cu_fail(e->cu, #name, cu_error_);                                          \
    } while (0)

/* ---- device.c ---- */

/* cuda_enter, cuda_leave - push the context of the engine for a call, and pop it. cuda_leave returns the status that it
 * gets. */
tw_status cuda_enter(engine *e);
tw_status cuda_leave(engine *e, tw_status status);

int cuda_attribute(const cu_api *cu, cu_device device, int what);

/* cuda_take_lane - gives r an idle lane, else a new one. The context of the engine is current. */
tw_status cuda_take_lane(engine *e, runnable *r);
void cuda_give_lane(engine *e, runnable *r);
void cuda_close_lanes(engine *e); /* the idle ones */

/* ---- launch.c ---- */

/* cuda_launch_items - launches what r's plan packs, computes and adds, on r's stream; of a batch one item after the
 * other, once the workspace is free again, or all at once. */
tw_status cuda_launch_items(engine *e, runnable *r, const buffer *a, const buffer *b, const buffer *c);

/* ---- passes.c: on r's stream, by r's plan ---- */

/* cuda_launch_kernel - launches a kernel on r's stream: early by PDL, and as a cluster of so many blocks, where the
 * device can. */
tw_status cuda_launch_kernel(engine *e, const runnable *r, cu_function kernel, bool pdl, int cluster,
                             cu_launch_config config, void **arguments);

/* cuda_takes_attributes - whether kernels can be launched with attributes that a graph records too (CUDA 12.3, sm_90
 * on). */
bool cuda_takes_attributes(const engine *e);

/* cuda_pack - packs an operand, A (0) or B (1). cuda_pack_both - packs what the plan packs into the workspace, B and
 * then A, where a and b then point; left: NULL, or where it says whether tiles are left, without which nothing is
 * packed. */
tw_status cuda_pack(engine *e, const runnable *r, int operand, cu_pointer from, cu_pointer to);
tw_status cuda_pack_both(engine *e, const runnable *r, launch_kind kind, cu_pointer *left, buffer *a, buffer *b);

/* cuda_halve - looks at A and B (LAUNCH_SCAN), or writes them as halves, where a and b then point (LAUNCH_PACK). */
tw_status cuda_halve(engine *e, const runnable *r, launch_kind kind, buffer *a, buffer *b);

/* cuda_expand - writes complex operands as real numbers, where a and b then point. cuda_combine - C <- alpha sums +
 * beta C of complex numbers; sums may be C where beta is 0. */
tw_status cuda_expand(engine *e, const runnable *r, buffer *a, buffer *b);
tw_status cuda_combine(engine *e, const runnable *r, cu_pointer sums, cu_pointer c);

/* ---- product.c: as in engine_ops ---- */

tw_status cuda_prepare(engine *e, const plan *p, runnable *out);
tw_status cuda_upload(engine *e, const operand *from, bool copies, buffer *out);
tw_status cuda_launch(engine *e, runnable *r, const buffer *a, const buffer *b, const buffer *c);
tw_status cuda_enqueue(engine *e, const plan *p, const tw_batch *batch, const tw_launch *to, const buffer *a,
                       const buffer *b, const buffer *c);
tw_status cuda_wait(engine *e, runnable *r);
tw_status cuda_download(engine *e, const buffer *from, const operand *to);
void cuda_release_buffer(engine *e, buffer *b);
void cuda_drop(engine *e, runnable *r);

/* ---- pipeline.c ---- */

extern const pipeline_ops cuda_pipeline;

/* ---- nccl.c: blocks between GPUs of several processes ---- */

typedef struct exchanges exchanges;

/* cuda_nccl - TW_OK and NCCL's version code; TW_NO_DEVICE: it, or this engine's context, cannot be used. */
tw_status cuda_nccl(engine *e, int *version);
tw_status cuda_nccl_id(char id[TW_LAB_COMM_ID]);

/* The context of the engine is current. cuda_exchanges_open - begin to join; NULL where it fails. */
tw_status cuda_exchanges_open(engine *e, const char id[TW_LAB_COMM_ID], int rank, int ranks, exchanges **out);
/* cuda_exchanges_add - behind the copies that are on the stream now, and behind those before it. */
tw_status cuda_exchanges_add(exchanges *x, cu_stream copies, const tw_lab_exchange *what);
/* cuda_exchanges_after - those that are added from now on wait for the products that are on the stream now. */
tw_status cuda_exchanges_after(exchanges *x, cu_stream products);
/* cuda_exchanges_poll - moves them on; *done: how many are, -1 before all ranks have joined. */
tw_status cuda_exchanges_poll(exchanges *x, int64_t *done);
/* cuda_exchanges_close - ends those that are under way; NULL does nothing. Where it fails, NCCL's kernels may wait for
 * ever: what belongs to the exchanges stays, and so must the memory that they use. */
tw_status cuda_exchanges_close(exchanges *x);

/* ---- kit.c ---- */

/* cuda_take_kit, cuda_give_kit - the engine's, or an empty one while another call has it; back, with its memory or
 * without, or destroyed. */
void cuda_take_kit(engine *e, spread_kit *kit);
void cuda_give_kit(engine *e, spread_kit *kit, bool keeps, bool keeps_memory);

/* cuda_fill_kit - adds what it lacks of its streams, of so many bytes and events. Its context is current, as below. */
tw_status cuda_fill_kit(engine *e, spread_kit *kit, int64_t bytes, int64_t events);

void cuda_destroy_kit(engine *e, spread_kit *kit); /* all but the list of events */

/* ---- spread.c ---- */

/* cuda_is_pinned - is the host memory at this address one that the device copies by itself? The context is current. */
bool cuda_is_pinned(engine *e, uint64_t address);

/* as in engine_ops */
tw_status cuda_join(engine *const *devices, int count, bool *peers, char *text, size_t bytes);
tw_status cuda_spread(engine *const *devices, const spread_work *work);

/* ---- probe.c: as in engine_ops ---- */

tw_status cuda_peak_flops(engine *e, tw_dtype dtype, int threads, int tries, double *flops_per_s);
tw_status cuda_bandwidth(engine *e, int64_t bytes, int threads, int tries, double *bytes_per_s);
tw_status cuda_shared_bandwidth(engine *e, int tries, double *bytes_per_s);
tw_status cuda_shared_pattern(engine *e, int step, int wrap, int shift, int tries, double *words_per_s);

#endif
