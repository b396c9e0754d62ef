/* fuzz_npy.c - libFuzzer target: any bytes as a .npy file. */
#include "touch.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    io_matrix matrix;
    io_error error;
    const io_raw_shape nameless = {.type = (io_type)(count % IO_TYPE_COUNT), .rows = -1}; /* of raw bytes */
    io_memory_cap = 1 << 20;
    io_status status = npy_parse(bytes, count, "FILE", &nameless, &matrix, &error);
    size_t need;
    /* a stream would lack bytes */
    if (npy_need(bytes, count, "FILE", &nameless, &need, &error) == IO_OK && status == IO_OK && need > count) abort();
    touch(status, &matrix, &error);
    return 0;
}
