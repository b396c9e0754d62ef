/* numbers.c - strict parsing. strtoll and strtod skip spaces and stop where they like; these do not. */
#include "numbers.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool parse_whole(const char *text, int64_t least, int64_t most, int64_t *out)
{
    const char *digits = text[0] == '-' ? text + 1 : text;
    if (!isdigit((unsigned char)digits[0])) return false;
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno != 0 || *end != '\0' || value < least || value > most) return false;
    *out = value;
    return true;
}

bool parse_seed(const char *text, uint64_t *out)
{
    if (!isdigit((unsigned char)text[0])) return false;
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno != 0 || *end != '\0') return false;
    *out = value;
    return true;
}

bool parse_real(const char *text, double *out)
{
    if (text[0] == '\0' || isspace((unsigned char)text[0])) return false;
    char *end;
    errno = 0;
    double value = strtod(text, &end);
    bool beyond = errno == ERANGE && (isinf(value) || value == 0);
    if (end == text || *end != '\0' || beyond) return false;
    *out = value;
    return true;
}

bool parse_bytes(const char *text, int64_t least, int64_t *out)
{
    static const char letters[] = "KMGT";
    char digits[24];
    const size_t length = strspn(text, "0123456789");
    if (length == 0 || length >= sizeof digits) return false;
    memcpy(digits, text, length);
    digits[length] = '\0';
    const char *letter = text[length] != '\0' ? strchr(letters, text[length]) : NULL;
    if (text[length] != '\0' && (letter == NULL || text[length + 1] != '\0')) return false;
    const int shift = letter != NULL ? 10 * (int)(letter - letters + 1) : 0;
    int64_t value;
    if (!parse_whole(digits, 0, INT64_MAX >> shift, &value) || value << shift < least) return false;
    *out = value << shift;
    return true;
}

bool parse_complex(const char *text, double *real, double *imaginary)
{
    char first[64];
    const size_t length = strcspn(text, ",");
    *imaginary = 0;
    if (text[length] == '\0') return parse_real(text, real);
    if (length >= sizeof first) return false;
    memcpy(first, text, length);
    first[length] = '\0';
    return parse_real(first, real) && parse_real(text + length + 1, imaginary);
}

bool parse_shape(const char *text, int64_t least, int64_t most, shape *out)
{
    char part[3][24];
    for (int i = 0; i < 3; i++) {
        size_t length = strcspn(text, "x");
        bool last = i == 2;
        if (length >= sizeof part[i] || (text[length] == '\0') != last) return false;
        memcpy(part[i], text, length);
        part[i][length] = '\0';
        text += length + !last;
    }
    return parse_whole(part[0], least, most, &out->m) && parse_whole(part[1], least, most, &out->n) &&
           parse_whole(part[2], least, most, &out->k);
}

bool parse_word(const char **list, char *out, int size)
{
    if (*list == NULL || **list == '\0') return false;
    size_t length = strcspn(*list, ",");
    bool dangling = (*list)[length] == ',' && (*list)[length + 1] == '\0';
    if (length == 0 || length >= (size_t)size || dangling) {
        *list = NULL;
        return false;
    }
    memcpy(out, *list, length);
    out[length] = '\0';
    *list += length + ((*list)[length] == ',');
    return true;
}
