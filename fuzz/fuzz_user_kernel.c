/* fuzz_user_kernel.c - libFuzzer target: any bytes as the file of a reader's own kernel, in OpenCL C or, after a first
 * byte that is odd, CUDA C. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "judge/user_kernel.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    user_kernel user;
    char why[512] = "", *text = count > 0 ? calloc(1, count) : NULL; /* the first byte's place is the zero's */
    if (text == NULL) return 0;
    memcpy(text, bytes + 1, count - 1);
    tw_status status = user_kernel_make(bytes[0] % 2 == 0 ? "FILE.cl" : "FILE.cu", text, count - 1, &user, why,
                                        (int)sizeof why);
    if ((status == TW_OK) != (why[0] == '\0')) abort(); /* each refusal has its sentence */
    if (status != TW_OK && (user.memory != NULL || strncmp(why, "FILE.c", 6) != 0)) abort();
    if (status == TW_OK &&
        (user.like == NULL || strstr(text, user.entry) == NULL || strstr(user.source.text, user.entry) == NULL))
        abort();
    user_kernel_free(&user);
    free(text);
    return 0;
}
