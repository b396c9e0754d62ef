/* predict.h - what a rung's launch costs on a device of data/devices.def: bytes, wavefronts and instructions by the
 * access model, times by published figures alone. Nothing is fitted.
 *
 * Time is predicted twice: memory and the multiprocessors (the longer of instructions and wavefronts) one after the
 * other, and the longer of the two as if they overlapped whole; the truth lies between where nothing else counts. Left
 * out: latency that too few warps hide, the first and last instructions of a kernel, refresh and turning round of the
 * memory, that requests to few partitions go on beside others, and on devices with caches what these serve: there the
 * traffic is an upper bound. */
#ifndef TILEWRIGHT_PREDICT_H
#define TILEWRIGHT_PREDICT_H

#include "../../lab/devices.h"
#include "access.h"

/* Averages as hardware counters give them: over all instructions of a kind, weighted by how often each runs. NAN: it
 * has none. */
typedef struct predict_degrees {
    double sectors_per_load, bank_degree_load, bank_degree_store;
} predict_degrees;
predict_degrees predict_average(const access_launch *l, access_era era);

typedef struct prediction {
    /* moved: by the rule of the device's generation, caches left out */
    double asked_bytes, compulsory_bytes, moved_bytes;
    /* the documents', which caches may beat; the roofline's, which nothing may */
    double bound_asked_gflops, bound_gflops;
    /* as wavefronts and instructions alone allow; shared NAN: none is used */
    double shared_gflops, issue_gflops;
    double memory_s, shared_s, issue_s, serial_s, overlapped_s;
    double conflict_s; /* of issue_s: instructions that bank conflicts issue again, on 1.x */
} prediction;
prediction predict_on(const access_launch *l, const published_device *d);

/* What caches leave of the traffic, on devices from 7.0 on; NAN: not predicted. The model has no fitted number
 * (docs/perf/traffic-model.md has it beside the counters):
 *   L2     each block asks once for each sector that it wants of A and B, and stores C. Where the L2 has two
 *          partitions, half of what memory sends belongs to the other one, passes both and counts once more
 *   DRAM   a wave is as many blocks as the device holds. Blocks in step read what their wave wants once (low, which the
 *          L2's term takes too); out of step each row of blocks reads its B by itself (high; columns and A where
 *          rasterisation goes down columns). Where the L2 holds A and B, each is read once */
typedef struct predict_traffic {
    double resident_blocks; /* of a multiprocessor */
    double l2_bytes, dram_low_bytes, dram_high_bytes;
} predict_traffic;
predict_traffic predict_cached(const access_launch *l, const published_device *d);

/* predict_fits - can the device run blocks of this kernel? If not, why says it with the numbers. threads: of a block;
 * 0: unknown. */
bool predict_fits(const tw_lab_kernel *kernel, int tile, int threads, const published_device *d, char *why,
                  size_t why_bytes);

/* predict_effective_gbps - as NVIDIA Best Practices counts: each block reads its two tiles and writes its tile once,
 * over that time. */
double predict_effective_gbps(const access_launch *l, double seconds);

#endif
