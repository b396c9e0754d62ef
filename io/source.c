/* source.c - matrices larger than memory: blocks read from a file, and written into one, at the places where they lie.
 *
 * Blocks are read into the caller's memory, not mapped: what a mapping has touched counts as the process's memory, and
 * needs as much address space as the file is long (docs/decisions/0021-panels-are-read.md). */
#define _GNU_SOURCE /* fallocate */
#include "io_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE_BYTES = 1 << 16 };

bool io_by_columns(const io_matrix *matrix) { return matrix->row_stride == 1 && matrix->col_stride != 1; }

/* ---- reading ------------------------------------------------------------------------------------------- */

/* All of these bytes of the file. */
static io_status read_at(const io_source *s, void *to, size_t count, int64_t at, io_error *error)
{
    char *next = to;
    while (count > 0) {
        ssize_t got = pread(s->file.fd, next, count, at);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return io_cannot_read(s->path, error);
        if (got == 0) return io_fail(error, IO_BAD_FILE, s->path, "the file became shorter while it was in use");
        next += got, at += got, count -= (size_t)got;
    }
    return IO_OK;
}

/* The format and what the file, or its member, says of its matrix. */
static io_status describe(io_source *s, const io_member *in, const char *name, const io_raw_shape *raw, io_error *error)
{
    const size_t first = in->bytes < NPY_HEADER_MOST ? in->bytes : NPY_HEADER_MOST;
    char *bytes = malloc(first + 1);
    if (bytes == NULL) return io_fail(error, IO_NO_MEMORY, s->path, "no memory for %zu bytes of it", first);
    size_t begin = 0;
    io_status status = read_at(s, bytes, first, (int64_t)in->begin, error);
    if (status == IO_OK) {
        const io_format format = io_format_in(bytes, first, name, false, raw);
        if (format == IO_FORMAT_NPY)
            status = npy_describe(bytes, first, in->bytes, s->path, raw, &s->matrix, &begin, error);
        else if (format == IO_FORMAT_RAW)
            status = raw_describe(in->bytes, s->path, raw, &s->matrix, error);
        else
            status = io_fail(error, IO_BAD_FILE, s->path, "is no .npy and no raw file");
    }
    free(bytes);
    s->begin = (int64_t)(in->begin + begin);
    return status;
}

static io_status describe_member(io_source *s, const io_member *member, const io_raw_shape *raw, io_error *error)
{
    char *name = io_member_name(s->path, member);
    io_status status = name != NULL ? describe(s, member, name, raw, error)
                                    : io_fail(error, IO_NO_MEMORY, s->path, "no memory for the name of its member");
    free(name);
    return status;
}

/* Of a file of so many bytes that is open. */
static io_status find_matrix(io_source *s, size_t whole, const char *wanted, const io_raw_shape *raw, io_error *error)
{
    char first[4];
    io_member in = {.bytes = whole};
    const size_t count = whole < sizeof first ? whole : sizeof first;
    io_status status = read_at(s, first, count, 0, error);
    if (status != IO_OK) return status;
    const io_packing packing = io_packing_of(first, count, s->path, raw);
    s->compressed = packing == IO_GZIP;
    if (s->compressed || (packing == IO_PLAIN && wanted != NULL))
        return io_fail(error, IO_BAD_FILE, s->path, "is %s", s->compressed ? "compressed" : "no archive");
    if (packing == IO_PLAIN) return describe(s, &in, s->path, raw, error);
    void *bytes = mmap(NULL, whole, PROT_READ, MAP_PRIVATE, s->file.fd, 0);
    if (bytes == MAP_FAILED) return io_fail(error, IO_NO_MEMORY, s->path, "cannot be mapped: %s", strerror(errno));
    status = archive_find(bytes, whole, s->path, wanted, &in, error);
    s->compressed = status == IO_OK && in.deflated;
    if (s->compressed) status = io_fail(error, IO_BAD_FILE, s->path, "its member is compressed");
    if (status == IO_OK) status = describe_member(s, &in, raw, error);
    munmap(bytes, whole);
    return status;
}

io_status io_source_open(const char *path, const io_raw_shape *raw, io_source *out, io_error *error)
{
    struct stat found;
    const char *member;
    char *file = io_file_of(path, &member);
    /* a pipe is not even opened: its writer would meet nobody when it is closed again */
    const bool regular = file != NULL && strlen(file) < sizeof out->path && stat(file, &found) == 0 &&
                         S_ISREG(found.st_mode);
    *out = (io_source){.file = io_file_open(regular ? open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY) : -1)};
    error->text[0] = '\0';
    if (regular) strcpy(out->path, file);
    free(file);
    io_status status = IO_OK;
    if (!out->file.open || fstat(out->file.fd, &found) != 0 || !S_ISREG(found.st_mode) ||
        (uintmax_t)found.st_size > PTRDIFF_MAX)
        status = io_fail(error, IO_BAD_FILE, path, "is no regular file that can be read");
    if (status == IO_OK) status = find_matrix(out, (size_t)found.st_size, member, raw, error);
    if (status != IO_OK) io_source_close(out);
    return status;
}

void io_source_close(io_source *source) { io_file_close(&source->file); }

/* `count` elements side by side from `first` on, counted through the file; each step elements apart in out. */
static io_status read_run(const io_source *s, int64_t first, int64_t count, io_type to, char *out, int64_t step,
                          io_error *error)
{
    _Alignas(16) char piece[PIECE_BYTES], converted[PIECE_BYTES];
    const io_type from = s->matrix.type;
    const int64_t bytes = (int64_t)io_type_bytes(from), to_bytes = (int64_t)io_type_bytes(to);
    if (from == to && !s->matrix.swapped && step == 1)
        return read_at(s, out, (size_t)(count * bytes), s->begin + first * bytes, error);
    const int64_t most = PIECE_BYTES / (bytes > to_bytes ? bytes : to_bytes);
    for (int64_t x = 0; x < count; x += most) {
        const int64_t some = count - x < most ? count - x : most;
        io_status status = read_at(s, piece, (size_t)(some * bytes), s->begin + (first + x) * bytes, error);
        if (status != IO_OK) return status;
        const io_matrix row = {.type = from,
                               .swapped = s->matrix.swapped,
                               .rows = 1,
                               .cols = some,
                               .row_stride = some,
                               .col_stride = 1,
                               .data = piece};
        io_convert(&row, to, step == 1 ? out + x * to_bytes : converted);
        for (int64_t e = 0; step != 1 && e < some; e++)
            memcpy(out + (x + e) * step * to_bytes, converted + e * to_bytes, (size_t)to_bytes);
    }
    return IO_OK;
}

io_status io_source_read(const io_source *source, int64_t i, int64_t j, int64_t rows, int64_t cols, io_type to,
                         bool by_rows, void *out, io_error *error)
{
    const io_matrix *m = &source->matrix;
    const bool columns = io_by_columns(m), turns = columns && by_rows;
    const int64_t lines = columns ? cols : rows, length = columns ? rows : cols, whole = columns ? m->rows : m->cols,
                  line = columns ? j : i, first = columns ? i : j, bytes = (int64_t)io_type_bytes(to);
    error->text[0] = '\0';
    if (lines == 0 || length == 0) return IO_OK;
    if (length == whole && !turns) return read_run(source, line * whole, lines * whole, to, out, 1, error);
    for (int64_t l = 0; l < lines; l++) {
        char *at = (char *)out + l * (turns ? 1 : length) * bytes;
        io_status status = read_run(source, (line + l) * whole + first, length, to, at, turns ? cols : 1, error);
        if (status != IO_OK) return status;
    }
    return IO_OK;
}

/* ---- writing ------------------------------------------------------------------------------------------- */

/* A file system that cannot give room ahead finds out later that there is none. */
static io_status take_room(io_output *output, int64_t bytes, io_error *error)
{
    int taken;
    do taken = bytes == output->begin ? 0 : fallocate(output->fd, 0, 0, bytes);
    while (taken != 0 && errno == EINTR);
    if (taken == 0) return IO_OK;
    if ((errno == EOPNOTSUPP || errno == ENOSYS) && ftruncate(output->fd, bytes) == 0) return IO_OK;
    return io_cannot_write(output->path, "cannot be written: there is no room for the whole of it", error);
}

io_status io_output_begin(io_output *output, io_format format, const io_matrix *matrix, io_error *error)
{
    size_t bytes = 0;
    error->text[0] = '\0';
    output->blocks = *matrix;
    output->blocks.swapped = format == IO_FORMAT_NPY && io_host_is_big_endian();
    io_status status = io_size(output->path, matrix->type, matrix->rows, matrix->cols, &bytes, error);
    if (status == IO_OK && format == IO_FORMAT_NPY) status = npy_write_header(output, matrix, error);
    if (status != IO_OK) return status;
    output->begin = lseek(output->fd, 0, SEEK_CUR);
    return take_room(output, output->begin + (int64_t)bytes, error);
}

static io_status write_at(io_output *output, const void *bytes, size_t count, int64_t at, io_error *error)
{
    const char *from = bytes;
    while (count > 0) {
        ssize_t done = pwrite(output->fd, from, count, at);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return io_cannot_write(output->path, "cannot be written", error);
        from += done, at += done, count -= (size_t)done;
    }
    return IO_OK;
}

/* `count` elements side by side, to the place of element `first`. */
static io_status write_run(io_output *output, int64_t first, int64_t count, const char *from, io_error *error)
{
    _Alignas(16) char piece[PIECE_BYTES];
    const int64_t bytes = (int64_t)io_type_bytes(output->blocks.type), most = PIECE_BYTES / bytes;
    if (!output->blocks.swapped)
        return write_at(output, from, (size_t)(count * bytes), output->begin + first * bytes, error);
    io_status status = IO_OK;
    for (int64_t x = 0; status == IO_OK && x < count; x += most) {
        io_matrix row = output->blocks;
        row.rows = 1, row.cols = count - x < most ? count - x : most;
        row.row_stride = row.cols, row.col_stride = 1, row.data = from + x * bytes;
        io_convert(&row, row.type, piece);
        status = write_at(output, piece, (size_t)(row.cols * bytes), output->begin + (first + x) * bytes, error);
    }
    return status;
}

io_status io_output_put(io_output *output, int64_t i, int64_t j, int64_t rows, int64_t cols, const void *block,
                        io_error *error)
{
    const int64_t whole = output->blocks.cols, bytes = (int64_t)io_type_bytes(output->blocks.type);
    error->text[0] = '\0';
    if (rows == 0 || cols == 0) return IO_OK;
    if (cols == whole) return write_run(output, i * whole, rows * whole, block, error);
    io_status status = IO_OK;
    for (int64_t r = 0; status == IO_OK && r < rows; r++)
        status = write_run(output, (i + r) * whole + j, cols, (const char *)block + r * cols * bytes, error);
    return status;
}
