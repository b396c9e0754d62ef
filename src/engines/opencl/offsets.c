/* offsets.c - a kernel's text whose operands begin at offsets.
 *
 * A buffer is a handle, to which a kernel's caller can't add anything: the kernel has to. So that its file stays what
 * readers compare with CUDA's, some parameters and one statement are put into a copy of the text:
 *
 *     __kernel void name(... a ..., ... b ..., ... c ...        , long first_a, long first_b, long first_c,
 *                                                                 long item_a, long item_b, long item_c)
 *     {                                                          a += first_a + get_group_id(2) * item_a, ...
 *
 * item_a: elements from one item of a batch to the next; the grid's third dimension is the items. All goes on lines
 * that are there, so that the compiler's messages name the lines of the file. */
#include <stdlib.h>
#include <string.h>

#include "opencl_engine.h"

static const char kernel_begin[] = "\n__kernel ", body_begin[] = ")\n{",
                  parameters[] = ", long first_a, long first_b, long first_c, long item_a, long item_b, long item_c",
                  statement[] = " a += first_a + (long)get_group_id(2) * item_a, b += first_b + (long)get_group_id(2) "
                                "* item_b, c += first_c + (long)get_group_id(2) * item_c;";

enum { KERNEL_MORE = sizeof parameters - 1 + sizeof statement - 1 };

/* The end of the parameters of the next kernel; NULL: there is none. */
static const char *next_parameters_end(const char *text)
{
    const char *begin = strstr(text, kernel_begin);
    return begin != NULL ? strstr(begin, body_begin) : NULL;
}

/* Copies `bytes` bytes to *to, which goes on. */
static void append(char **to, const char *from, size_t bytes)
{
    memcpy(*to, from, bytes);
    *to += bytes;
}

char *cl_offsets_text(const char *text)
{
    size_t kernels = 0;
    for (const char *end = text; (end = next_parameters_end(end)) != NULL; end++) kernels++;
    char *made = malloc(strlen(text) + kernels * KERNEL_MORE + 1), *to = made;
    if (made == NULL) return NULL;
    for (const char *end; (end = next_parameters_end(text)) != NULL; text = end + sizeof body_begin - 1) {
        append(&to, text, (size_t)(end - text));
        append(&to, parameters, sizeof parameters - 1);
        append(&to, body_begin, sizeof body_begin - 1);
        append(&to, statement, sizeof statement - 1);
    }
    memcpy(to, text, strlen(text) + 1);
    return made;
}
