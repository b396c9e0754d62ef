/* read.c - opening a matrix file: map or stream it, see which format it is, hand it to that parser. */
#include "io_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

io_format io_recognise(const void *bytes, size_t count)
{
    return npy_recognised(bytes, count) ? IO_FORMAT_NPY : mtx_recognised(bytes, count) ? IO_FORMAT_MTX : IO_FORMAT_NONE;
}

/* What was gzip data is called as its file, without .gz; with that name, but other content, a file is not raw. */
io_format io_format_in(const void *bytes, size_t count, const char *name, bool was_gz, const io_raw_shape *raw)
{
    io_format format = io_recognise(bytes, count);
    if (format == IO_FORMAT_NONE && !was_gz && io_is_gz(name)) return format;
    if (format == IO_FORMAT_NONE) format = io_named(name);
    return format == IO_FORMAT_NONE && raw != NULL && raw->rows >= 0 ? IO_FORMAT_RAW : format;
}

/* ---- content ------------------------------------------------------------------------------------------- */

/* The bytes of a matrix: those of a mapping or a malloc block, or of a part of it. */
typedef struct content {
    char *path;         /* of the file */
    const char *member; /* that is asked for */
    char *name;         /* of the input, for sentences */
    bool was_gz;
    void *memory;
    size_t mapped_bytes; /* > 0: memory is a mapping */
    const unsigned char *bytes;
    size_t count;
    io_file file; /* open where it is a regular one */
} content;

static void release(content *c)
{
    io_matrix owner = {.memory = c->memory, .mapped_bytes = c->mapped_bytes, .file = c->file};
    io_free(&owner);
    free(c->path), free(c->name);
}

static io_format format_of(const content *c, const io_raw_shape *raw)
{
    return io_format_in(c->bytes, c->count, c->name, c->was_gz, raw);
}

/* Read on until there are `need` bytes, or the stream ends. Memory grows with what came, not with what was promised. */
static io_status read_until(io_stream *s, size_t need, content *c, bool *ended, io_error *error)
{
    size_t room = c->count;
    io_status status = IO_OK;
    while (status == IO_OK && !*ended && c->count < need) {
        if (c->count == room) {
            room = room < 1 << 15 ? 1 << 16 : 2 * room;
            if (room > need) room = need;
            void *larger = realloc(c->memory, room);
            if (larger == NULL)
                return io_fail(error, IO_NO_MEMORY, c->name, "%zu bytes were read and more follow: no memory for them",
                               c->count);
            c->bytes = c->memory = larger;
        }
        size_t got = 0;
        status = stream_take(s, (char *)c->memory + c->count, room - c->count, &got, error);
        *ended = got == 0;
        c->count += got;
    }
    return status;
}

/* The end of what is inflated must be seen for its CRC; a byte before it would be one too many. */
static io_status read_end(io_stream *s, const content *c, io_error *error)
{
    char more;
    size_t got = 0;
    io_status status = stream_take(s, &more, 1, &got, error);
    if (status != IO_OK || got == 0) return status;
    return io_fail(error, IO_BAD_FILE, c->name, "inflates to more than the %zu bytes that its header announces",
                   c->count);
}

/* A stream may never end: its first bytes say what it is, and so how much of it is read. */
static io_status read_stream(io_stream *s, const io_raw_shape *raw, content *c, io_error *error)
{
    size_t need = 64;
    bool ended = false;
    io_status status = IO_OK;
    while (status == IO_OK && !ended && c->count < need) {
        status = read_until(s, need, c, &ended, error);
        if (status != IO_OK || ended) break;
        switch (format_of(c, raw)) {
        case IO_FORMAT_NPY: status = npy_need(c->bytes, c->count, c->name, raw, &need, error); break;
        case IO_FORMAT_MTX: status = mtx_need(c->bytes, c->count, c->name, &need, error); break;
        case IO_FORMAT_RAW: status = raw_need(c->count, c->name, raw, &need, error); break;
        case IO_FORMAT_NONE: return IO_OK;
        }
    }
    return status == IO_OK && !ended && s->inflater != NULL ? read_end(s, c, error) : status;
}

/* ---- what is compressed, or a member of an archive ----------------------------------------------------- */

static io_status check_plain(const content *c, io_error *error)
{
    if (c->member == NULL) return IO_OK;
    return io_fail(error, IO_BAD_FILE, c->path, "is no archive, so it has no member '%.64s'", c->member);
}

/* All inflated bytes of the stream, in memory of their own, in the place of the mapping. */
static io_status inflate_all(io_stream *s, const io_member *member, const io_raw_shape *raw, content *c,
                             io_error *error)
{
    content packed = *c;
    c->memory = NULL, c->mapped_bytes = 0, c->bytes = NULL, c->count = 0, c->was_gz = member == NULL;
    io_status status = unpack_begin(s, member, error);
    if (status == IO_OK) status = read_stream(s, raw, c, error);
    unpack_end(s);
    packed.file.open = false, packed.path = packed.name = NULL;
    release(&packed);
    return status;
}

static io_stream stream_of(const content *c)
{
    return (io_stream){.name = c->name, .fd = -1, .at = c->bytes, .end = c->bytes + c->count};
}

static io_status unpack_member(content *c, const io_raw_shape *raw, io_error *error)
{
    io_member member;
    io_status status = archive_find(c->bytes, c->count, c->path, c->member, &member, error);
    if (status != IO_OK) return status;
    free(c->name);
    c->name = io_member_name(c->path, &member);
    if (c->name == NULL) return io_fail(error, IO_NO_MEMORY, c->path, "no memory for the name of its member");
    c->bytes += member.begin, c->count = member.packed;
    if (!member.deflated) return unpack_check(c->bytes, &member, c->name, error);
    io_stream s = stream_of(c);
    return inflate_all(&s, &member, raw, c, error);
}

/* Bytes that are all here. */
static io_status unpack(content *c, const io_raw_shape *raw, io_error *error)
{
    io_stream s = stream_of(c);
    const io_packing packing = io_packing_of(c->bytes, c->count, c->path, raw);
    if (packing == IO_ARCHIVE) return unpack_member(c, raw, error);
    const io_status status = check_plain(c, error);
    return status == IO_OK && packing == IO_GZIP ? inflate_all(&s, NULL, raw, c, error) : status;
}

/* Bytes that come. */
static io_status load_stream(const io_raw_shape *raw, content *c, io_error *error)
{
    io_stream s = {.name = c->name, .fd = c->file.fd};
    io_status status = stream_begin(&s, error);
    if (status != IO_OK) return status;
    const io_packing packing = io_packing_of(s.at, (size_t)(s.end - s.at), c->path, raw);
    if (packing == IO_ARCHIVE)
        return io_fail(error, IO_BAD_FILE, c->path,
                       "is an archive, which has its directory at its end: expected a regular file that can be mapped");
    status = check_plain(c, error);
    if (status != IO_OK) return status;
    return packing == IO_GZIP ? inflate_all(&s, NULL, raw, c, error) : read_stream(&s, raw, c, error);
}

static io_status load(const io_raw_shape *raw, content *c, io_error *error)
{
    const int fd = c->file.fd;
    struct stat found;
    if (fstat(fd, &found) != 0) return io_cannot_read(c->path, error);
    if (S_ISDIR(found.st_mode)) return io_fail(error, IO_BAD_FILE, c->path, "is a directory, expected a matrix file");
    if (S_ISREG(found.st_mode) && found.st_size > 0 && (uintmax_t)found.st_size <= PTRDIFF_MAX) {
        size_t count = (size_t)found.st_size;
        void *bytes = mmap(NULL, count, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes != MAP_FAILED) {
            c->bytes = c->memory = bytes, c->count = c->mapped_bytes = count;
            return unpack(c, raw, error);
        }
    }
    return load_stream(raw, c, error);
}

static io_status parse(const content *c, const io_raw_shape *raw, io_matrix *out, io_error *error)
{
    io_format format = format_of(c, raw);
    char found[48];
    io_quote(found, sizeof found, c->bytes, c->count);
    if (c->count == 0 && format != IO_FORMAT_RAW)
        return io_fail(error, IO_BAD_FILE, c->name, "is empty, expected a matrix");
    if (format == IO_FORMAT_NPY) return npy_parse(c->bytes, c->count, c->name, raw, out, error);
    if (format == IO_FORMAT_MTX) return mtx_parse(c->bytes, c->count, c->name, out, error);
    if (format == IO_FORMAT_RAW) return raw_parse(c->bytes, c->count, c->name, raw, out, error);
    if (!c->was_gz && io_is_gz(c->path))
        return io_fail(error, IO_BAD_FILE, c->name, "begins with '%s', expected gzip data, as its name says", found);
    return io_fail(error, IO_BAD_FILE, c->name,
                   "begins with '%s', expected a .npy file, a Matrix Market file, or the ending .raw or .bin%s", found,
                   io_other_kind(c->bytes, c->count));
}

/* The matrix of what was loaded, or nothing. */
static io_status finish(content *c, io_status status, const io_raw_shape *raw, io_matrix *out, io_error *error)
{
    if (status == IO_OK) status = parse(c, raw, out, error);
    const bool in_place = status == IO_OK && out->memory == NULL, mapped = in_place && c->mapped_bytes > 0;
    if (status == IO_OK && !mapped) status = io_unchanged(&c->file, c->path, error);
    if (in_place) {
        out->memory = c->memory, out->mapped_bytes = c->mapped_bytes;
        c->memory = NULL, c->mapped_bytes = 0;
    }
    if (mapped) out->file = c->file, c->file.open = false;
    release(c);
    if (status != IO_OK) io_free(out);
    return status;
}

/* path: the file's, or NULL where there is no memory for it. */
static io_status begin(char *path, const char *member, const char *name, content *c, io_matrix *out, io_error *error)
{
    *c = (content){.path = path, .member = member, .name = strdup(name)};
    *out = (io_matrix){0};
    error->text[0] = '\0';
    return path != NULL && c->name != NULL ? IO_OK : io_fail(error, IO_NO_MEMORY, name, "no memory for its name");
}

io_status io_read(const char *path, const io_raw_shape *raw, io_matrix *out, io_error *error)
{
    content c;
    const char *member;
    char *file = io_file_of(path, &member);
    io_status status = begin(file, member, path, &c, out, error);
    if (status == IO_OK) c.file = io_file_open(open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY));
    if (status == IO_OK) status = c.file.open ? load(raw, &c, error) : io_cannot_read(file, error);
    return finish(&c, status, raw, out, error);
}

io_status io_parse(const void *bytes, size_t count, const char *name, const char *member, const io_raw_shape *raw,
                   io_matrix *out, io_error *error)
{
    content c;
    io_status status = begin(strdup(name), member, name, &c, out, error);
    c.bytes = bytes, c.count = count;
    if (status == IO_OK) status = unpack(&c, raw, error);
    return finish(&c, status, raw, out, error);
}
