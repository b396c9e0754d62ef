/* devices.c - see devices.h. */
#define _POSIX_C_SOURCE 200809L
#include "devices.h"

#include <fnmatch.h>
#include <stddef.h>

static const published_device rows[] = {
#define DEVICE(name, year, cores, multiprocessors, peak, memory, cache, capability, source)                            \
    {name, year, cores, multiprocessors, peak, memory, cache, capability, source},
#include "../data/devices.def"
#undef DEVICE
};

enum { ROWS = sizeof rows / sizeof *rows };

const published_device *devices_at(int index)
{
    return index >= 0 && index < ROWS ? &rows[index] : NULL;
}

const published_device *devices_published(const char *name)
{
    for (int i = 0; i < ROWS; i++)
        if (fnmatch(rows[i].name, name, 0) == 0) return &rows[i];
    return NULL;
}
