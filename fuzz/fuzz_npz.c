/* fuzz_npz.c - libFuzzer target: any bytes as a .npz file, of which the only member is read, and the one named a. */
#include "touch.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    static const char *const members[] = {NULL, "a"};
    io_matrix matrix;
    io_error error;
    const io_raw_shape nameless = {.type = IO_F64, .rows = -1};
    io_memory_cap = 1 << 16;
    for (size_t m = 0; m < sizeof members / sizeof *members; m++)
        touch(io_parse(bytes, count, "FILE", members[m], &nameless, &matrix, &error), &matrix, &error);
    return 0;
}
