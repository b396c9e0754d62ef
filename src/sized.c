/* sized.c - takes and fills a caller's structs, which may be smaller or larger than this library's. */
#include "sized.h"

#include <string.h>

/* A size beyond this is taken for garbage, and nothing is read there. */
enum { MOST_BYTES = 4096 };

static uint32_t size_of(const void *user)
{
    uint32_t size;
    memcpy(&size, user, sizeof size);
    return size;
}

tw_status sized_check(const char *name, uint32_t size, size_t first_bytes)
{
    if (size >= first_bytes && size <= MOST_BYTES) return TW_OK;
    return fail(TW_BAD_ARGUMENT, "%s.size is %u, expected the struct's sizeof, %zu to %d", name, size, first_bytes,
                MOST_BYTES);
}

tw_status sized_load(const char *name, const void *user, size_t first_bytes, void *own, size_t own_bytes)
{
    const unsigned char *bytes = user;
    const uint32_t size = size_of(user), known = (uint32_t)own_bytes;
    TRY(sized_check(name, size, first_bytes));
    for (uint32_t i = known; i < size; i++)
        if (bytes[i] != 0)
            return fail(TW_BAD_ARGUMENT,
                        "%s.size is %u, and byte %u is not 0: libtilewright %s knows %u bytes, and a field beyond them "
                        "needs a newer version",
                        name, size, i, tw_version(), known);
    const size_t common = size < known ? size : known;
    memcpy(own, user, common);
    memset((char *)own + common, 0, own_bytes - common);
    memcpy(own, &known, sizeof known);
    return TW_OK;
}

tw_status sized_refuse(const char *name, size_t count, const reserved_field *fields)
{
    for (size_t i = 0; i < count; i++)
        if (fields[i].set)
            return fail(TW_BAD_ARGUMENT, "%s.%s is set, expected 0: libtilewright %s does nothing with it", name,
                        fields[i].name, tw_version());
    return TW_OK;
}

void sized_store(const void *own, size_t own_bytes, void *user)
{
    const uint32_t size = size_of(user);
    const size_t common = size < own_bytes ? size : own_bytes;
    memcpy(user, own, common);
    memset((char *)user + common, 0, size - common);
    memcpy(user, &size, sizeof size);
}
