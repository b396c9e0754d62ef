/* touch.h - what every fuzzer does with the answer of a reader: check its shape, touch each element, free it.
 */
#ifndef TILEWRIGHT_FUZZ_TOUCH_H
#define TILEWRIGHT_FUZZ_TOUCH_H

#include "../io/io_internal.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static void require(bool condition)
{
    if (!condition) abort();
}

/* A refusal is one sentence that begins with the name, of a member behind the file's, and keeps nothing. */
static void touch_refusal(const io_matrix *matrix, const io_error *error)
{
    const bool named = strncmp(error->text, "FILE:", 5) == 0 || strncmp(error->text, "FILE.gz:", 8) == 0 ||
                       strncmp(error->text, "...", 3) == 0;
    require(named && strlen(error->text) > 12);
    for (const char *c = error->text; *c != '\0'; c++) require((unsigned char)*c >= ' ');
    require(matrix->data == NULL && matrix->memory == NULL && matrix->rows == 0 && matrix->cols == 0);
}

static void touch_elements(const io_matrix *matrix)
{
    static double out[1 << 17];
    int64_t elements = matrix->rows * matrix->cols, i = 0, j = 0;
    char text[64];
    require(elements <= 1 << 17 && (uintptr_t)matrix->data % io_type_bytes(io_type_part(matrix->type)) == 0);
    io_convert(matrix, IO_F32, out);
    io_convert(matrix, IO_F64, out);
    if (elements > 4096) return; /* large matrices are mostly zeros of a coordinate file */
    for (io_type to = 0; to < IO_TYPE_COUNT; to++) {
        if (io_fits_exactly(matrix, to, &i, &j, text, sizeof text)) continue;
        require(i < matrix->rows && j < matrix->cols && strlen(text) > 0);
    }
}

static void touch(io_status status, io_matrix *matrix, const io_error *error)
{
    if (status != IO_OK) {
        touch_refusal(matrix, error);
        return;
    }
    size_t bytes;
    io_error unused = {""};
    require(error->text[0] == '\0' && matrix->row_stride >= 0 && matrix->col_stride >= 0);
    require(io_size("FILE", matrix->type, matrix->rows, matrix->cols, &bytes, &unused) == IO_OK);
    touch_elements(matrix);
    io_free(matrix);
}

#endif
