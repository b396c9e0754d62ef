/* sentences.c - what is wrong with a file, in one sentence that begins with its name. */
#include "io_internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A name that is long keeps its end: the sentence after it must have room. */
#define MOST_NAME 320

io_status io_fail(io_error *error, io_status status, const char *name, const char *format, ...)
{
    size_t length = strlen(name);
    bool cut = length > MOST_NAME;
    int used = snprintf(error->text, sizeof error->text, "%s%s: ", cut ? "..." : "",
                        cut ? name + length - MOST_NAME : name);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text + used, sizeof error->text - (size_t)used, format, arguments);
    va_end(arguments);
    for (char *c = error->text; *c != '\0'; c++) {
        if ((unsigned char)*c < ' ' || *c == 127) *c = '?';
    }
    return status;
}

io_status io_cannot_write(const char *path, const char *what, io_error *error)
{
    return io_fail(error, IO_CANNOT_WRITE, path, "%s: %s", what, strerror(errno));
}

void io_quote(char *text, size_t size, const void *bytes, size_t count)
{
    const unsigned char *from = bytes;
    size_t used = 0;
    for (size_t b = 0; b < count; b++) {
        bool printable = from[b] >= ' ' && from[b] < 127;
        size_t needed = printable ? 1 : 4, reserved = b + 1 < count ? 4 : 1; /* "..." and '\0' */
        if (used + needed + reserved > size) {
            memcpy(text + used, "...", 4);
            return;
        }
        snprintf(text + used, needed + 1, printable ? "%c" : "\\x%02x", from[b]);
        used += needed;
    }
    text[used] = '\0';
}

/* As numpy.savetxt() and spreadsheets write them. */
static bool is_text_of_numbers(const char *text, size_t count)
{
    static const char digits[] = "0123456789.+-eE", between[] = ",; \t\r\n";
    bool separated = false;
    for (size_t i = 0; i < count && i < 64; i++) {
        const bool separates = text[i] != '\0' && strchr(between, text[i]) != NULL;
        if (text[i] == '\0' || (!separates && strchr(digits, text[i]) == NULL)) return false;
        separated |= separates;
    }
    return separated;
}

const char *io_other_kind(const void *bytes, size_t count)
{
    if (is_text_of_numbers(bytes, count))
        return "; numbers as text become one by numpy.save(\"FILE.npy\", numpy.loadtxt(...))";
    if (count >= 4 && memcmp(bytes, "PK\3\4", 4) == 0) return "; it is an archive: unpack it first";
    return count >= 2 && memcmp(bytes, "\x1f\x8b", 2) == 0 ? "; it is compressed: unpack it first" : "";
}
