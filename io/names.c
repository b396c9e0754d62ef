/* names.c - what the name of a matrix file says: its format, whether it is packed, which member of an archive. */
#include "io_internal.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* Does the name, of so many bytes, end so, in any case? */
static bool ends_in(const char *name, size_t length, const char *ending)
{
    const size_t count = strlen(ending);
    return length >= count && strncasecmp(name + length - count, ending, count) == 0;
}

static io_format format_within(const char *path, size_t length)
{
    static const struct {
        const char *ending;
        io_format format;
    } formats[] = {{".npy", IO_FORMAT_NPY}, {".mtx", IO_FORMAT_MTX}, {".raw", IO_FORMAT_RAW}, {".bin", IO_FORMAT_RAW}};
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++)
        if (ends_in(path, length, formats[f].ending)) return formats[f].format;
    return IO_FORMAT_NONE;
}

io_format io_format_of(const char *path) { return format_within(path, strlen(path)); }

bool io_is_gz(const char *path) { return ends_in(path, strlen(path), ".gz"); }

bool io_is_packed_name(const char *path) { return io_is_gz(path) || ends_in(path, strlen(path), ".npz"); }

io_format io_named(const char *path)
{
    return format_within(path, strlen(path) - (io_is_gz(path) ? strlen(".gz") : 0));
}

const char *io_member_of(const char *path)
{
    static const char ending[] = ".npz:";
    struct stat found;
    for (const char *colon = strchr(path, ':'); colon != NULL; colon = strchr(colon + 1, ':'))
        if (ends_in(path, (size_t)(colon + 1 - path), ending)) return stat(path, &found) != 0 ? colon + 1 : NULL;
    return NULL;
}

char *io_file_of(const char *path, const char **member)
{
    *member = io_member_of(path);
    return strndup(path, *member != NULL ? (size_t)(*member - 1 - path) : strlen(path));
}

char *io_member_name(const char *path, const io_member *member)
{
    const size_t length = strlen(path), count = member->name_bytes;
    char *name = malloc(length + count + 2);
    if (name == NULL) return NULL;
    memcpy(name, path, length);
    name[length] = ':';
    memcpy(name + length + 1, member->name, count);
    name[length + 1 + count] = '\0';
    return name;
}
