/* published.h - figures of the documents that stand beside what is measured. */
#ifndef TILEWRIGHT_PUBLISHED_H
#define TILEWRIGHT_PUBLISHED_H

/* NVIDIA Best Practices, table 1: effective GB/s of s1, s2, s3 at a width of 16. */
enum { PUBLISHED_DEVICES = 2, PUBLISHED_RUNGS = 3, PUBLISHED_WIDTH = 16 };
static const struct published_gbps {
    const char *device;
    double gbps[PUBLISHED_RUNGS];
} published[PUBLISHED_DEVICES] = {{"GTX 280", {8.7, 14.3, 29.7}}, {"8800 GTX", {0.7, 8.2, 15.7}}};

#endif
