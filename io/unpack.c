/* unpack.c - the bytes of a file in order, inflated where it is compressed: what every reader of a stream reads. zlib
 * inflates, and what comes out is checked: its CRC, its size, and that the packed bytes end where it ends. */
#include "io_internal.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef TILEWRIGHT_ZLIB
#define ZLIB_CONST
#include <zlib.h>
#endif

/* ---- which files --------------------------------------------------------------------------------------- */

/* An empty archive is its end alone. */
io_packing io_packing_of(const void *bytes, size_t count, const char *path, const io_raw_shape *raw)
{
    const unsigned char *b = bytes;
    const io_format named = io_format_of(path);
    const bool is_raw = named == IO_FORMAT_RAW ||
                        (named == IO_FORMAT_NONE && raw != NULL && raw->rows >= 0 && !io_is_packed_name(path));
    if (is_raw || (raw != NULL && raw->plain)) return IO_PLAIN;
    if (count >= 3 && memcmp(b, "\x1f\x8b\x08", 3) == 0) return IO_GZIP;
    return count >= 4 && (memcmp(b, "PK\3\4", 4) == 0 || memcmp(b, "PK\5\6", 4) == 0) ? IO_ARCHIVE : IO_PLAIN;
}

/* ---- bytes in order ------------------------------------------------------------------------------------ */

io_status io_cannot_read(const char *path, io_error *error)
{
    return io_fail(error, IO_BAD_FILE, path, "cannot be read: %s", strerror(errno));
}

/* Where nothing is here, some of what the file brings, into room. */
static io_status fill(io_stream *s, void *room, size_t bytes, io_error *error)
{
    while (s->at == s->end && s->fd >= 0) {
        const ssize_t got = read(s->fd, room, bytes);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return io_cannot_read(s->name, error);
        if (got == 0) s->fd = -1;
        s->at = room, s->end = s->at + got;
    }
    return IO_OK;
}

io_status stream_begin(io_stream *s, io_error *error)
{
    size_t count = 0;
    io_status status = IO_OK;
    while (status == IO_OK && s->fd >= 0 && count < sizeof s->first) {
        s->at = s->end = NULL;
        status = fill(s, s->first + count, sizeof s->first - count, error);
        count += (size_t)(s->end - s->at);
    }
    s->at = s->first, s->end = s->first + count;
    return status;
}

static io_status take_inflated(io_stream *s, void *to, size_t room, size_t *got, io_error *error);

io_status stream_take(io_stream *s, void *to, size_t room, size_t *got, io_error *error)
{
    io_status status = IO_OK;
    *got = 0;
    if (s->inflater != NULL) return take_inflated(s, to, room, got, error);
    if (s->at < s->end) {
        *got = (size_t)(s->end - s->at) < room ? (size_t)(s->end - s->at) : room;
        memcpy(to, s->at, *got);
        s->at += *got;
        return IO_OK;
    }
    status = fill(s, to, room, error);
    *got = (size_t)(s->end - s->at), s->at = s->end;
    return status;
}

#ifdef TILEWRIGHT_ZLIB

/* ---- inflating ----------------------------------------------------------------------------------------- */

enum { ROOM = 1 << 16, MOST_IDLE = 1 << 20 }; /* packed bytes read at a time; of which nothing comes */

typedef struct inflater {
    z_stream z;
    bool is_member, ends; /* ends: the gzip data ended, if no more of it follows */
    bool ended;
    io_member member;
    uint64_t out, idle; /* bytes that came so far; packed ones since the last of them */
    uLong crc;
    unsigned char room[ROOM];
} inflater;

bool io_unpacks(void) { return true; }

io_status unpack_ready(const char *name, io_error *error)
{
    (void)name, (void)error;
    return IO_OK;
}

static io_status no_memory(const char *name, io_error *error)
{
    return io_fail(error, IO_NO_MEMORY, name, "no memory to inflate it");
}

io_status unpack_begin(io_stream *s, const io_member *member, io_error *error)
{
    inflater *x = calloc(1, sizeof *x);
    /* of a member the bytes alone, else with gzip's head and tail */
    if (x == NULL || inflateInit2(&x->z, member != NULL ? -MAX_WBITS : MAX_WBITS + 16) != Z_OK) {
        free(x);
        return no_memory(s->name, error);
    }
    x->is_member = member != NULL;
    if (member != NULL) x->member = *member;
    s->inflater = x;
    return IO_OK;
}

void unpack_end(io_stream *s)
{
    inflater *x = s->inflater;
    if (x != NULL) inflateEnd(&x->z);
    free(x);
    s->inflater = NULL;
}

io_status unpack_check(const void *bytes, const io_member *member, const char *name, io_error *error)
{
    if (crc32_z(0, bytes, member->bytes) == member->crc) return IO_OK;
    return io_fail(error, IO_BAD_FILE, name, "is damaged: its CRC is not the one that the archive has");
}

/* A member ended: is it all that was promised? */
static io_status check_member(const io_stream *s, const inflater *x, io_error *error)
{
    if (s->at < s->end)
        return io_fail(error, IO_BAD_FILE, s->name, "is damaged: %td of its %zu packed bytes are behind its end",
                       s->end - s->at, x->member.packed);
    if (x->out != x->member.bytes)
        return io_fail(error, IO_BAD_FILE, s->name, "is damaged: it has %llu bytes, the archive says %zu",
                       (unsigned long long)x->out, x->member.bytes);
    if (x->crc != x->member.crc)
        return io_fail(error, IO_BAD_FILE, s->name, "is damaged: its CRC is not the one that the archive has");
    return IO_OK;
}

static io_status damaged(const io_stream *s, const inflater *x, int result, io_error *error)
{
    if (result == Z_MEM_ERROR) return no_memory(s->name, error);
    return io_fail(error, IO_BAD_FILE, s->name, "its compressed bytes are damaged: %s",
                   x->z.msg != NULL ? x->z.msg : "they go on nowhere");
}

/* Inflate some of what is here. Returns zlib's result. */
static int inflate_some(io_stream *s, inflater *x, void *to, size_t room, size_t *got)
{
    const size_t here = (size_t)(s->end - s->at);
    x->z.next_in = s->at, x->z.avail_in = here < UINT_MAX ? (uInt)here : UINT_MAX;
    x->z.next_out = to, x->z.avail_out = room < UINT_MAX ? (uInt)room : UINT_MAX;
    const int result = inflate(&x->z, Z_NO_FLUSH);
    *got = (size_t)(x->z.next_out - (unsigned char *)to);
    x->idle = *got > 0 ? 0 : x->idle + (uint64_t)(x->z.next_in - s->at);
    x->out += *got, s->at = x->z.next_in;
    if (x->is_member) x->crc = crc32_z(x->crc, to, *got);
    return result;
}

/* What follows the end of gzip data is gzip data too: files that were put together. */
static io_status go_on(const io_stream *s, inflater *x, io_error *error)
{
    if (*s->at != 0x1f) return io_fail(error, IO_BAD_FILE, s->name, "other bytes follow its gzip data");
    inflateReset(&x->z);
    x->ends = false;
    return IO_OK;
}

static io_status take_inflated(io_stream *s, void *to, size_t room, size_t *got, io_error *error)
{
    inflater *x = s->inflater;
    io_status status = IO_OK;
    while (status == IO_OK && *got == 0 && !x->ended) {
        status = fill(s, x->room, sizeof x->room, error);
        if (status != IO_OK) break;
        x->ended = s->at == s->end && x->ends;
        if (x->ended) break;
        if (s->at == s->end)
            return io_fail(error, IO_BAD_FILE, s->name, "its compressed bytes end too early: it was cut short");
        if (x->ends) status = go_on(s, x, error);
        if (status != IO_OK) break;
        const int result = inflate_some(s, x, to, room, got);
        if (result != Z_OK && result != Z_STREAM_END) return damaged(s, x, result, error);
        if (x->idle > MOST_IDLE)
            return io_fail(error, IO_BAD_FILE, s->name, "nothing comes of %d compressed bytes and more follow",
                           MOST_IDLE);
        if (x->is_member && x->out > x->member.bytes)
            return io_fail(error, IO_BAD_FILE, s->name,
                           "is damaged: it has more than the %zu bytes that the archive says", x->member.bytes);
        if (result != Z_STREAM_END) continue;
        x->ends = !x->is_member, x->ended = x->is_member;
        if (x->is_member) status = check_member(s, x, error);
    }
    return status;
}

#else

bool io_unpacks(void) { return false; }

io_status unpack_ready(const char *name, io_error *error)
{
    return io_fail(error, IO_BAD_FILE, name,
                   "is compressed or an archive: this program was built without zlib, which reads .gz and .npz "
                   "(Debian: zlib1g-dev)");
}

io_status unpack_begin(io_stream *s, const io_member *member, io_error *error)
{
    (void)member;
    return unpack_ready(s->name, error);
}

void unpack_end(io_stream *s) { (void)s; }

io_status unpack_check(const void *bytes, const io_member *member, const char *name, io_error *error)
{
    (void)bytes, (void)member;
    return unpack_ready(name, error);
}

static io_status take_inflated(io_stream *s, void *to, size_t room, size_t *got, io_error *error)
{
    (void)to, (void)room, (void)got;
    return unpack_ready(s->name, error);
}

#endif
