/* read.c - opening a matrix file: map or stream it, see which format it is, hand it to that parser. */
#include "io_internal.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- content ------------------------------------------------------------------------------------------- */

io_format io_format_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *ending = strrchr(slash != NULL ? slash : path, '.');
    if (ending == NULL) return IO_FORMAT_NONE;
    if (strcasecmp(ending, ".npy") == 0) return IO_FORMAT_NPY;
    if (strcasecmp(ending, ".mtx") == 0) return IO_FORMAT_MTX;
    if (strcasecmp(ending, ".raw") == 0 || strcasecmp(ending, ".bin") == 0) return IO_FORMAT_RAW;
    return IO_FORMAT_NONE;
}

io_format io_recognise(const void *bytes, size_t count)
{
    return npy_recognised(bytes, count) ? IO_FORMAT_NPY : mtx_recognised(bytes, count) ? IO_FORMAT_MTX : IO_FORMAT_NONE;
}

/* ---- files that others may write ----------------------------------------------------------------------- */

enum { BYTES, LINKS, WRITTEN_S, WRITTEN_NS, CHANGED_S, CHANGED_NS };

/* False: of no regular file. */
static bool see(int fd, int64_t seen[6])
{
    struct stat found;
    if (fstat(fd, &found) != 0 || !S_ISREG(found.st_mode)) return false;
    const int64_t now[6] = {found.st_size,         (int64_t)found.st_nlink, found.st_mtim.tv_sec,
                            found.st_mtim.tv_nsec, found.st_ctim.tv_sec,    found.st_ctim.tv_nsec};
    memcpy(seen, now, sizeof now);
    return true;
}

io_file io_file_open(int fd)
{
    io_file file = {.open = fd >= 0, .fd = fd};
    if (file.open && !see(fd, file.seen)) file.seen[BYTES] = -1;
    return file;
}

void io_file_close(io_file *file)
{
    if (file->open) close(file->fd);
    file->open = false;
}

io_status io_unchanged(const io_file *file, const char *path, io_error *error)
{
    int64_t now[6];
    error->text[0] = '\0';
    if (!file->open || file->seen[BYTES] < 0) return IO_OK;
    const size_t times = 2 * sizeof *now;
    if (see(file->fd, now) && now[BYTES] == file->seen[BYTES] &&
        memcmp(now + WRITTEN_S, file->seen + WRITTEN_S, times) == 0 &&
        (now[LINKS] != file->seen[LINKS] || memcmp(now + CHANGED_S, file->seen + CHANGED_S, times) == 0))
        return IO_OK;
    return io_fail(error, IO_BAD_FILE, path, "the file was changed while it was in use");
}

/* The bytes of a file: a mapping (mapped_bytes > 0) or a malloc block. */
typedef struct content {
    void *bytes;
    size_t count, mapped_bytes;
    io_file file; /* open where it is a regular one */
} content;

static void release(content *c)
{
    io_matrix owner = {.memory = c->bytes, .mapped_bytes = c->mapped_bytes, .file = c->file};
    io_free(&owner);
}

static io_status cannot_read(const char *path, io_error *error)
{
    return io_fail(error, IO_BAD_FILE, path, "cannot be read: %s", strerror(errno));
}

/* The content decides, then the ending; what has neither is raw where a shape was given. */
static io_format format_of(const content *c, const char *path, const io_raw_shape *raw)
{
    io_format format = io_recognise(c->bytes, c->count);
    if (format == IO_FORMAT_NONE) format = io_format_of(path);
    return format == IO_FORMAT_NONE && raw != NULL && raw->rows >= 0 ? IO_FORMAT_RAW : format;
}

/* Read on until there are `need` bytes, or the stream ends. Memory grows with what came, not with what was promised. */
static io_status read_until(int fd, const char *path, size_t need, content *c, bool *ended, io_error *error)
{
    size_t room = c->count;
    while (c->count < need) {
        if (c->count == room) {
            room = room < 1 << 15 ? 1 << 16 : 2 * room;
            if (room > need) room = need;
            void *larger = realloc(c->bytes, room);
            if (larger == NULL)
                return io_fail(error, IO_NO_MEMORY, path, "%zu bytes were read and more follow: no memory for them",
                               c->count);
            c->bytes = larger;
        }
        ssize_t got = read(fd, (char *)c->bytes + c->count, room - c->count);
        if (got < 0 && errno != EINTR) return cannot_read(path, error);
        *ended = got == 0;
        if (*ended) return IO_OK;
        if (got > 0) c->count += (size_t)got;
    }
    return IO_OK;
}

/* A stream may never end: its first bytes say what it is, and so how much of it is read. */
static io_status read_stream(int fd, const char *path, const io_raw_shape *raw, content *c, io_error *error)
{
    size_t need = 64;
    bool ended = false;
    io_status status = IO_OK;
    while (status == IO_OK && !ended && c->count < need) {
        status = read_until(fd, path, need, c, &ended, error);
        if (status != IO_OK || ended) break;
        switch (format_of(c, path, raw)) {
        case IO_FORMAT_NPY: status = npy_need(c->bytes, c->count, path, raw, &need, error); break;
        case IO_FORMAT_MTX: status = mtx_need(c->bytes, c->count, path, &need, error); break;
        case IO_FORMAT_RAW: status = raw_need(c->count, path, raw, &need, error); break;
        case IO_FORMAT_NONE: return IO_OK;
        }
    }
    return status;
}

static io_status load(const char *path, const io_raw_shape *raw, content *c, io_error *error)
{
    const int fd = c->file.fd;
    struct stat found;
    if (fstat(fd, &found) != 0) return cannot_read(path, error);
    if (S_ISDIR(found.st_mode)) return io_fail(error, IO_BAD_FILE, path, "is a directory, expected a matrix file");
    if (S_ISREG(found.st_mode) && found.st_size > 0 && (uintmax_t)found.st_size <= PTRDIFF_MAX) {
        size_t count = (size_t)found.st_size;
        void *bytes = mmap(NULL, count, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes != MAP_FAILED) {
            c->bytes = bytes, c->count = c->mapped_bytes = count;
            return IO_OK;
        }
    }
    return read_stream(fd, path, raw, c, error);
}

static io_status load_path(const char *path, const io_raw_shape *raw, content *c, io_error *error)
{
    c->file = io_file_open(open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY));
    return c->file.open ? load(path, raw, c, error) : cannot_read(path, error);
}

static io_status parse(const content *c, const char *path, const io_raw_shape *raw, io_matrix *out, io_error *error)
{
    io_format format = format_of(c, path, raw);
    if (c->count == 0 && format != IO_FORMAT_RAW)
        return io_fail(error, IO_BAD_FILE, path, "is empty, expected a matrix");
    if (format == IO_FORMAT_NPY) return npy_parse(c->bytes, c->count, path, raw, out, error);
    if (format == IO_FORMAT_MTX) return mtx_parse(c->bytes, c->count, path, out, error);
    if (format == IO_FORMAT_RAW) return raw_parse(c->bytes, c->count, path, raw, out, error);
    char found[48];
    io_quote(found, sizeof found, c->bytes, c->count);
    return io_fail(error, IO_BAD_FILE, path,
                   "begins with '%s', expected a .npy file, a Matrix Market file, or the ending .raw or .bin%s", found,
                   io_other_kind(c->bytes, c->count));
}

io_status io_read(const char *path, const io_raw_shape *raw, io_matrix *out, io_error *error)
{
    content c = {0};
    *out = (io_matrix){0};
    error->text[0] = '\0';
    io_status status = load_path(path, raw, &c, error);
    if (status == IO_OK) status = parse(&c, path, raw, out, error);
    const bool in_place = status == IO_OK && out->memory == NULL, mapped = in_place && c.mapped_bytes > 0;
    if (status == IO_OK && !mapped) status = io_unchanged(&c.file, path, error);
    if (in_place) {
        out->memory = c.bytes, out->mapped_bytes = c.mapped_bytes;
        c.bytes = NULL, c.mapped_bytes = 0;
    }
    if (mapped) out->file = c.file, c.file.open = false;
    release(&c);
    if (status != IO_OK) io_free(out);
    return status;
}
