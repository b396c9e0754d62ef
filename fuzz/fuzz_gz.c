/* fuzz_gz.c - libFuzzer target: any bytes as a .gz file of any format. */
#include "touch.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    io_matrix matrix;
    io_error error;
    const io_raw_shape shape = {.type = IO_U8, .rows = count % 2 != 0 ? 2 : -1, .cols = 3};
    io_memory_cap = 1 << 16;
    touch(io_parse(bytes, count, "FILE.gz", NULL, &shape, &matrix, &error), &matrix, &error);
    return 0;
}
