/* shared.c - what all formats share: memory for elements, and writing them. */
#include "io_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- memory -------------------------------------------------------------------------------------------- */

uint64_t io_memory_cap = 0;
static bool cap_is_told;

void io_allow_memory(uint64_t bytes) { io_memory_cap = bytes, cap_is_told = true; }

/* Before the number of bytes that are too few. */
static const char *whose_memory(void) { return cap_is_told ? "the limit is" : "this machine has"; }

uint64_t io_memory_limit(void)
{
    if (io_memory_cap != 0) return io_memory_cap;
    long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    return pages > 0 && page_bytes > 0 ? (uint64_t)pages * (uint64_t)page_bytes : PTRDIFF_MAX;
}

io_status io_size(const char *name, io_type type, int64_t rows, int64_t cols, size_t *bytes, io_error *error)
{
    int64_t most = (int64_t)(PTRDIFF_MAX / io_type_bytes(type));
    if (rows < 0 || cols < 0 || (cols > 0 && rows > most / cols))
        return io_fail(error, IO_BAD_FILE, name,
                       "%" PRId64 " x %" PRId64 " elements of %s are beyond what a machine can address", rows, cols,
                       io_type_name(type));
    *bytes = (size_t)(rows * cols) * io_type_bytes(type);
    return IO_OK;
}

io_status io_fits(const char *name, size_t bytes, io_error *error)
{
    uint64_t limit = io_memory_limit();
    if (bytes <= limit) return IO_OK;
    return io_fail(error, IO_NO_MEMORY, name, "a stream of %zu bytes is announced, %s %" PRIu64 " bytes of memory",
                   bytes, whose_memory(), limit);
}

io_status io_allocate(const char *name, io_matrix *out, io_error *error)
{
    size_t bytes = 0;
    io_status status = io_size(name, out->type, out->rows, out->cols, &bytes, error);
    if (status != IO_OK || bytes == 0) return status;
    uint64_t limit = io_memory_limit();
    void *memory = bytes <= limit ? calloc(1, bytes) : NULL;
    if (memory == NULL)
        return io_fail(error, IO_NO_MEMORY, name,
                       "%" PRId64 " x %" PRId64 " elements of %s need %zu bytes of memory, %s %" PRIu64 "%s", out->rows,
                       out->cols, io_type_name(out->type), bytes, whose_memory(), limit,
                       bytes <= limit ? " and gave none" : "");
    out->data = out->memory = memory;
    return IO_OK;
}

io_status io_place(const char *name, const void *bytes, io_matrix *out, io_error *error)
{
    size_t element = io_type_bytes(out->type);
    if (out->rows == 0 || out->cols == 0) return IO_OK;
    if ((uintptr_t)bytes % io_type_bytes(io_type_part(out->type)) == 0) {
        out->data = bytes;
        return IO_OK;
    }
    io_status status = io_allocate(name, out, error);
    if (status == IO_OK)
        memcpy(out->memory, bytes, (size_t)(out->rows * out->cols) * element);
    else
        *out = (io_matrix){0};
    return status;
}

void io_free(io_matrix *matrix)
{
    if (matrix->mapped_bytes > 0)
        munmap(matrix->memory, matrix->mapped_bytes);
    else
        free(matrix->memory);
    io_file_close(&matrix->file);
    *matrix = (io_matrix){0};
}

/* ---- writing ------------------------------------------------------------------------------------------- */

io_status io_put(io_output *output, const void *bytes, size_t count, io_error *error)
{
    const char *from = bytes;
    while (count > 0) {
        ssize_t done = write(output->fd, from, count);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return io_cannot_write(output->path, "cannot be written", error);
        from += done;
        count -= (size_t)done;
    }
    return IO_OK;
}

/* Rows go through a block of memory that stays in the cache. A view that claims the other byte order makes
 * io_convert swap. */
io_status io_put_elements(io_output *output, const io_matrix *matrix, bool big_endian, io_error *error)
{
    _Alignas(8) char block[1 << 16];
    if (matrix->rows == 0 || matrix->cols == 0) return IO_OK;
    int64_t room = (int64_t)(sizeof block / io_type_bytes(matrix->type));
    int64_t width = matrix->cols < room ? matrix->cols : room, height = room / width;
    size_t step = io_type_bytes(matrix->type);
    io_matrix part = *matrix;
    part.swapped = matrix->swapped != (big_endian != io_host_is_big_endian());
    for (int64_t i = 0; i < matrix->rows; i += part.rows) {
        part.rows = matrix->rows - i < height ? matrix->rows - i : height;
        for (int64_t j = 0; j < matrix->cols; j += part.cols) {
            part.cols = matrix->cols - j < width ? matrix->cols - j : width;
            part.data = (const char *)matrix->data + (size_t)(i * matrix->row_stride + j * matrix->col_stride) * step;
            io_convert(&part, matrix->type, block);
            io_status status = io_put(output, block, (size_t)(part.rows * part.cols) * step, error);
            if (status != IO_OK) return status;
        }
    }
    return IO_OK;
}
