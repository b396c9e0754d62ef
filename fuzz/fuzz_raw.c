/* fuzz_raw.c - libFuzzer target: a raw file, its promised shape in the first 20 bytes: type, shift, rows,
 * cols. */
#include "touch.h"

enum { HEAD = 20 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    if (count < HEAD) return 0;
    io_raw_shape shape = {.type = (io_type)(bytes[0] % (IO_TYPE_COUNT + 1))};
    memcpy(&shape.rows, bytes + 4, 8);
    memcpy(&shape.cols, bytes + 12, 8);
    size_t shift = bytes[1] % 8; /* the elements may lie askew */
    if (count < HEAD + shift) return 0;
    io_matrix matrix;
    io_error error;
    io_memory_cap = 1 << 20;
    io_status status = raw_parse(bytes + HEAD + shift, count - HEAD - shift, "FILE", &shape, &matrix, &error);
    touch(status, &matrix, &error);
    return 0;
}
