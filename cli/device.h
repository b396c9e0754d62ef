/* device.h - the one difference between devices that the program knows: the cpu engine computes with threads in the
 * caller's memory, the others launch blocks of threads on copies of their own. */
#ifndef TILEWRIGHT_DEVICE_H
#define TILEWRIGHT_DEVICE_H

#include <stdbool.h>
#include <string.h>
#include "../lab/devices.h"
#include "tilewright.h"

static inline bool device_is_host(const tw_device *d) { return strcmp(d->engine, "cpu") == 0; }

/* The largest cache that all of the device shares; 0 unknown: OpenCL does not tell it of GPUs, what is published
 * does. */
static inline int64_t device_last_cache(const tw_device *d)
{
    const published_device *p = devices_published(d->name);
    int64_t published_bytes = p != NULL ? (int64_t)p->cache_kib << 10 : 0;
    int64_t bytes = d->l3_bytes > 0 ? d->l3_bytes : d->l2_bytes;
    return bytes > published_bytes ? bytes : published_bytes;
}

#endif
