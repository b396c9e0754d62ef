/* fuzz_mtx.c - libFuzzer target: any bytes as a Matrix Market file. */
#include "touch.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    io_matrix matrix;
    io_error error;
    io_memory_cap = 1 << 16; /* a coordinate file's zeros cost time and teach nothing */
    io_status status = mtx_parse(bytes, count, "FILE", &matrix, &error);
    touch(status, &matrix, &error);
    size_t need;
    mtx_need(bytes, count, "FILE", &need, &error);
    return 0;
}
