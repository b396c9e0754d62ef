/* devices.h - what the makers publish of their devices, the rows of data/devices.def; and what measuring must know of
 * one. */
#ifndef TILEWRIGHT_DEVICES_H
#define TILEWRIGHT_DEVICES_H

#include <stdbool.h>
#include "tilewright.h"

typedef struct published_device {
    const char *name; /* a pattern of fnmatch() */
    int year, cores, multiprocessors;
    double peak_gflops, memory_gbps; /* multiply-adds in f32 counted as two; decimal */
    int cache_kib;                   /* 0: none or not published */
    int partitions;                  /* of the memory, 256 bytes after 256 bytes; 0: spread otherwise */
    const char *capability, *source;
} published_device;

const published_device *devices_at(int index); /* NULL beyond the last */

/* devices_model - by what people call it: "GTX 280", "8800 GT", "P100" (the first row that has these words); NULL: no
 * such row. */
const published_device *devices_model(const char *model);

enum { DEVICES_NAME = 64 };
const char *devices_name(const published_device *d, char out[DEVICES_NAME]); /* its pattern without the stars */

const published_device *
devices_published(const char *name); /* by the name that the driver gives; NULL: nothing is known */

/* device_is_host - the one difference between devices: the cpu engine computes with threads in the caller's memory, the
 * others launch blocks of threads on copies of their own. */
bool device_is_host(const tw_device *d);

/* device_last_cache - bytes of the largest cache that all of the device shares; 0 unknown: OpenCL does not tell it of
 * GPUs, what is published does. */
int64_t device_last_cache(const tw_device *d);

#endif
