/* raw.c - elements and nothing else, in C order and this machine's byte order; the caller knows the shape. */
#include "io_internal.h"

#include <inttypes.h>

io_status raw_describe(size_t count, const char *name, const io_raw_shape *shape, io_matrix *out, io_error *error)
{
    *out = (io_matrix){0};
    error->text[0] = '\0';
    if (shape == NULL || shape->rows < 0 || shape->cols < 0 || io_type_bytes(shape->type) == 0)
        return io_fail(error, IO_BAD_FILE, name,
                       "a raw file does not say what it holds: its rows, columns and element type must be given");
    size_t promised;
    io_status status = io_size(name, shape->type, shape->rows, shape->cols, &promised, error);
    if (status != IO_OK) return status;
    if (promised != count)
        return io_fail(error, IO_BAD_FILE, name,
                       "%" PRId64 " x %" PRId64 " elements of %s are %zu bytes, the file has %zu", shape->rows,
                       shape->cols, io_type_name(shape->type), promised, count);
    out->type = shape->type;
    out->rows = shape->rows;
    out->cols = shape->cols;
    out->row_stride = shape->cols;
    out->col_stride = 1;
    return IO_OK;
}

io_status raw_parse(const void *bytes, size_t count, const char *name, const io_raw_shape *shape, io_matrix *out,
                    io_error *error)
{
    io_status status = raw_describe(count, name, shape, out, error);
    return status == IO_OK ? io_place(name, bytes, out, error) : status;
}

io_status raw_need(size_t count, const char *name, const io_raw_shape *shape, size_t *need, io_error *error)
{
    size_t promised = 0;
    *need = count;
    if (shape == NULL || shape->rows < 0 || shape->cols < 0 || io_type_bytes(shape->type) == 0) return IO_OK;
    io_status status = io_size(name, shape->type, shape->rows, shape->cols, &promised, error);
    if (status == IO_OK) status = io_fits(name, promised, error);
    if (status == IO_OK && count > promised)
        return io_fail(error, IO_BAD_FILE, name,
                       "%" PRId64 " x %" PRId64 " elements of %s are %zu bytes, and more follow", shape->rows,
                       shape->cols, io_type_name(shape->type), promised);
    *need = promised + 1;
    return status;
}

io_status raw_write(io_output *output, const io_matrix *matrix, io_error *error)
{
    return io_put_elements(output, matrix, io_host_is_big_endian(), error);
}
