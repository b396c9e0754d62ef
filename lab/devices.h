/* devices.h - what the makers publish of their devices: the rows of data/devices.def. */
#ifndef TILEWRIGHT_DEVICES_H
#define TILEWRIGHT_DEVICES_H

typedef struct published_device {
    const char *name; /* a pattern of fnmatch() */
    int year, cores, multiprocessors;
    double peak_gflops, memory_gbps; /* multiply-adds in f32 counted as two; decimal */
    int cache_kib;                   /* 0: none or not published */
    const char *capability, *source;
} published_device;

const published_device *devices_at(int index); /* NULL beyond the last */
const published_device *
devices_published(const char *name); /* by the name that the driver gives; NULL: nothing is known */

#endif
