/* devices.c - see devices.h. */
#define _POSIX_C_SOURCE 200809L
#include "devices.h"

#include <fnmatch.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

static const published_device rows[] = {
#define DEVICE(name, year, cores, multiprocessors, peak, memory, cache, partitions, capability, source)                \
    {name, year, cores, multiprocessors, peak, memory, cache, partitions, capability, source},
#include "../data/devices.def"
#undef DEVICE
};

enum { ROWS = sizeof rows / sizeof *rows };

const published_device *devices_at(int index) { return index >= 0 && index < ROWS ? &rows[index] : NULL; }

const published_device *devices_published(const char *name)
{
    for (int i = 0; i < ROWS; i++)
        if (fnmatch(rows[i].name, name, 0) == 0) return &rows[i];
    return NULL;
}

const char *devices_name(const published_device *d, char out[DEVICES_NAME])
{
    int used = 0;
    for (const char *c = d->name; *c != '\0' && used < DEVICES_NAME - 1; c++)
        if (*c != '*') out[used++] = *c;
    while (used > 0 && out[used - 1] == '-') used--;
    out[used] = '\0';
    return out;
}

/* Do the words of model stand in name, as whole words side by side? */
static bool has_words(const char *name, const char *model)
{
    size_t length = strlen(model);
    for (const char *at = name; *at != '\0'; at++) {
        bool begins = at == name || strchr(" -", at[-1]) != NULL,
             ends = strlen(at) >= length && strchr(" -", at[length]) != NULL;
        if (begins && ends && strncasecmp(at, model, length) == 0) return true;
    }
    return false;
}

const published_device *devices_model(const char *model)
{
    char name[DEVICES_NAME];
    const published_device *exact = devices_published(model);
    for (int i = 0; exact == NULL && model[0] != '\0' && i < ROWS; i++)
        if (has_words(devices_name(&rows[i], name), model)) exact = &rows[i];
    return exact;
}

bool device_is_host(const tw_device *d) { return strcmp(d->engine, "cpu") == 0; }

int64_t device_last_cache(const tw_device *d)
{
    const published_device *p = devices_published(d->name);
    int64_t published_bytes = p != NULL ? (int64_t)p->cache_kib << 10 : 0;
    int64_t bytes = d->l3_bytes > 0 ? d->l3_bytes : d->l2_bytes;
    return bytes > published_bytes ? bytes : published_bytes;
}
