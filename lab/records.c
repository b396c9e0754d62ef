/* records.c - see records.h. */
#define _POSIX_C_SOURCE 200809L
#include "records.h"

#include <stdlib.h>
#include <string.h>

/* ---- copies ---- */

/* Behind the member's value: a string, a number, a word, or whatever stands in brackets. The JSON is well formed. */
static const char *value_end(const char *at)
{
    int depth = 0;
    for (bool quoted = false; *at != '\0'; at++) {
        if (quoted && *at == '\\')
            at++;
        else if (*at == '"')
            quoted = !quoted;
        else if (!quoted && (*at == '{' || *at == '['))
            depth++;
        else if (!quoted && (*at == '}' || *at == ']') && --depth < 0)
            break;
        else if (!quoted && depth == 0 && *at == ',')
            break;
    }
    return at;
}

/* One object on one line, `out` no longer than `line`: blanks between its members and members that are null are left
 * out. */
static void shorten(const char *line, char *out)
{
    const char *at = strchr(line, '{');
    *out++ = '{';
    for (bool first = true; at != NULL && (at += 1 + strspn(at + 1, " \t\r\n"), *at == '"');) {
        const char *end = value_end(at), *value = at + 1;
        while (*value != '"') value += *value == '\\' ? 2 : 1;
        size_t key = (size_t)(++value - at);
        value += strspn(value, " \t\r\n:");
        size_t length = (size_t)(end - value);
        while (length > 0 && strchr(" \t\r\n", value[length - 1]) != NULL) length--;
        if (length != 4 || memcmp(value, "null", 4) != 0) {
            if (!first) *out++ = ',';
            memcpy(out, at, key), out += key;
            *out++ = ':';
            memcpy(out, value, length), out += length;
            first = false;
        }
        at = *end == ',' ? end : NULL;
    }
    *out++ = '}';
    *out = '\0';
}

static size_t text_bytes(const char *text) { return text != NULL ? strlen(text) + 1 : 0; }

static const char *put_text(const char *text, char **at)
{
    if (text == NULL) return NULL;
    size_t bytes = strlen(text) + 1;
    char *copy = memcpy(*at, text, bytes);
    *at += bytes;
    return copy;
}

#define NOTHING(name)

static bool copy_row(records_row *row, const char *line)
{
    record *r = &row->r;
    size_t bytes = text_bytes(line) + 4;
#define TEXT(name) bytes += text_bytes(r->name);
    RECORD_FIELDS_BEFORE_VERSION(TEXT, NOTHING, NOTHING, NOTHING)
    RECORD_FIELDS_AFTER_VERSION(TEXT, NOTHING, NOTHING, NOTHING)
    RECORD_FIELDS_OF_RUN(TEXT)
#undef TEXT
    char *at = row->memory = malloc(bytes);
    if (at == NULL) return false;
#define TEXT(name) r->name = put_text(r->name, &at);
    RECORD_FIELDS_BEFORE_VERSION(TEXT, NOTHING, NOTHING, NOTHING)
    RECORD_FIELDS_AFTER_VERSION(TEXT, NOTHING, NOTHING, NOTHING)
    RECORD_FIELDS_OF_RUN(TEXT)
#undef TEXT
    shorten(line, at);
    row->line = at;
    return true;
}

static bool make_room(records *all)
{
    if (all->count < all->room) return true;
    int room = all->room > 0 ? 2 * all->room : 64;
    records_row *rows = realloc(all->rows, (size_t)room * sizeof *rows);
    if (rows == NULL) return false;
    all->rows = rows, all->room = room;
    return true;
}

tw_status records_add(records *all, const record *r, const counters *c, const char *line)
{
    char *printed = NULL;
    size_t size = 0;
    record_time_text now;
    record_host_text here;
    record_run_text this_run;
    records_row row = {.r = *r, .counted = c != NULL};
    if (c != NULL) row.c = *c;
    if (line == NULL) {
        row.r.version = tw_version();
        row.r.time = record_time(now);
        row.r.host = record_host(here);
        row.r.run_id = record_run(this_run);
        FILE *stream = open_memstream(&printed, &size);
        bool written = stream != NULL && record_write(stream, &row.r) == 0;
        if (stream != NULL && fclose(stream) != 0) written = false;
        if (written) line = printed;
    }
    bool kept = line != NULL && make_room(all) && copy_row(&row, line);
    if (kept) all->rows[all->count++] = row;
    free(printed);
    return kept ? TW_OK : TW_NO_MEMORY;
}

void records_free(records *all)
{
    for (int i = 0; i < all->count; i++) free(all->rows[i].memory);
    free(all->rows);
    *all = (records){0};
}
