/* html.c - see html.h. */
#include "html.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include "../../lab/record.h"

enum { REPLACEMENT = 0xfffd };

/* The next character of a text and its bytes (at least 1); REPLACEMENT where the bytes are no character. */
static uint32_t next_character(const unsigned char *s, int *bytes)
{
    static const unsigned char masks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    int length = utf8_sequence_bytes(s);
    *bytes = length > 0 ? length : 1;
    uint32_t c = length > 0 ? s[0] & masks[length] : REPLACEMENT;
    for (int i = 1; i < length; i++) c = c << 6 | (s[i] & 0x3f);
    return c;
}

/* Control characters, noncharacters, and signs that turn the direction of what follows. */
static bool must_not_stand(uint32_t c)
{
    if (c < 0x20) return c != '\n' && c != '\t';
    return (c >= 0x7f && c <= 0x9f) || (c & 0xfffe) == 0xfffe || (c >= 0xfdd0 && c <= 0xfdef) ||
           (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

static void put_character(FILE *out, const char *at, int bytes, uint32_t c)
{
    switch (c) {
    case '&': fputs("&amp;", out); break;
    case '<': fputs("&lt;", out); break;
    case '>': fputs("&gt;", out); break;
    case '"': fputs("&quot;", out); break;
    case '\'': fputs("&#39;", out); break;
    default:
        if (c == REPLACEMENT || must_not_stand(c))
            fputs("\xef\xbf\xbd", out);
        else
            fwrite(at, 1, (size_t)bytes, out);
    }
}

void html_text_of(FILE *out, const char *text, int length)
{
    for (int i = 0, bytes; i < length && text[i] != '\0'; i += bytes) {
        uint32_t c = next_character((const unsigned char *)text + i, &bytes);
        put_character(out, text + i, bytes, c);
    }
}

void html_text(FILE *out, const char *text)
{
    if (text == NULL) text = "-";
    html_text_of(out, text, (int)strlen(text));
}

static int characters(const char *text)
{
    int count = 0;
    for (int bytes; *text != '\0'; text += bytes, count++) next_character((const unsigned char *)text, &bytes);
    return count;
}

void html_text_most(FILE *out, const char *text, int most)
{
    int count = characters(text), kept = count > most ? most - 1 : count;
    for (int bytes; kept > 0; text += bytes, kept--) {
        uint32_t c = next_character((const unsigned char *)text, &bytes);
        put_character(out, text, bytes, c);
    }
    if (count > most) fputs("\xe2\x80\xa6", out);
}

void html_json(FILE *out, const char *json)
{
    for (int bytes; *json != '\0'; json += bytes) {
        uint32_t c = next_character((const unsigned char *)json, &bytes);
        if (c == REPLACEMENT)
            fputs("\xef\xbf\xbd", out);
        else if (c != '<' && !must_not_stand(c))
            fwrite(json, 1, (size_t)bytes, out);
        else if (c < 0x10000)
            fprintf(out, "\\u%04x", (unsigned)c);
        else
            fprintf(out, "\\u%04x\\u%04x", (unsigned)(0xd7c0 + (c >> 10)), (unsigned)(0xdc00 + (c & 0x3ff)));
    }
}

void html_print(FILE *out, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    for (const char *f = format; *f != '\0'; f++) {
        if (*f != '%') {
            putc(*f, out);
            continue;
        }
        int most;
        switch (*++f) {
        case 't': html_text(out, va_arg(arguments, const char *)); break;
        case 'T':
            most = va_arg(arguments, int);
            html_text_most(out, va_arg(arguments, const char *), most);
            break;
        case 'h': fputs(va_arg(arguments, const char *), out); break;
        case 'd': fprintf(out, "%d", va_arg(arguments, int)); break;
        default:
            putc('%', out);
            f -= *f == '\0';
            break;
        }
    }
    va_end(arguments);
}
