/* user_kernel.c - see user_kernel.h. */
#define _POSIX_C_SOURCE 200809L
#include "user_kernel.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../story.h"

enum { MOST_DEPTH = 8 };

/* The file being read, and the place for an error's sentence. */
typedef struct reading {
    const char *path, *engine;
    const char *text;
    char *bare; /* as long, its comments and strings blank */
    char *why;
    size_t why_bytes;
} reading;

static tw_status refuse(const reading *in, const char *format, ...) __attribute__((format(printf, 2, 3)));
static tw_status refuse(const reading *in, const char *format, ...)
{
    va_list arguments;
    int used = snprintf(in->why, in->why_bytes, "%s: ", in->path);
    va_start(arguments, format);
    if (used >= 0 && (size_t)used < in->why_bytes)
        vsnprintf(in->why + used, in->why_bytes - (size_t)used, format, arguments);
    va_end(arguments);
    return TW_BAD_ARGUMENT;
}

static bool ends_with(const char *word, const char *ending)
{
    size_t length = strlen(word), tail = strlen(ending);
    return length > tail && strcmp(word + length - tail, ending) == 0;
}

bool user_kernel_is_path(const char *word) { return strpbrk(word, "/.") != NULL; }

/* ---- the text ---- */

static tw_status check_text(const reading *in, size_t bytes)
{
    if (bytes == 0) return refuse(in, "is empty, expected a kernel");
    if (bytes > USER_KERNEL_MOST_BYTES)
        return refuse(in, "is longer than the %d bytes that a kernel may have", USER_KERNEL_MOST_BYTES);
    if (strlen(in->text) < bytes) return refuse(in, "byte %zu is 0, expected the text of a kernel", strlen(in->text));
    return TW_OK;
}

const char *user_kernel_skip(const char *at)
{
    const char *end;
    if (strncmp(at, "//", 2) == 0) return at + strcspn(at, "\n");
    if (strncmp(at, "/*", 2) == 0) return (end = strstr(at + 2, "*/")) != NULL ? end + 2 : at + strlen(at);
    if (*at != '"' && *at != '\'') return at;
    for (end = at + 1; *end != *at && *end != '\n' && *end != '\0'; end++)
        if (end[0] == '\\' && end[1] != '\0') end++;
    return *end == *at ? end + 1 : end;
}

static tw_status make_bare(reading *in)
{
    size_t bytes = strlen(in->text) + 1;
    in->bare = malloc(bytes);
    if (in->bare == NULL) return TW_NO_MEMORY;
    memcpy(in->bare, in->text, bytes);
    for (const char *at = in->text; *at != '\0';) {
        const char *end = user_kernel_skip(at);
        for (const char *c = at; c < end; c++)
            if (*c != '\n') in->bare[c - in->text] = ' ';
        at = end > at ? end : at + 1;
    }
    return TW_OK;
}

/* ---- its kernel ---- */

static bool in_word(char c)
{
    return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '_'; /* in any locale */
}

size_t user_kernel_word(const char *at)
{
    size_t length = 0;
    while (in_word(at[length])) length++;
    return length;
}

/* The next place where this word stands by itself; NULL: nowhere. */
static const char *find_word(const char *text, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = text; (at = strstr(at, word)) != NULL; at += length)
        if ((at == text || !in_word(at[-1])) && !in_word(at[length])) return at;
    return NULL;
}

static const char *skip_blank(const char *at) { return at + strspn(at, " \t\r\n"); }

/* Behind the bracket that closes the one at `at`; the end of the text where none does. */
static const char *skip_brackets(const char *at)
{
    int depth = 0;
    do {
        depth += (*at == '(') - (*at == ')');
        at++;
    } while (depth > 0 && *at != '\0');
    return at;
}

static int line_of(const reading *in, const char *at)
{
    int line = 1;
    for (const char *c = in->bare; c < at; c++) line += *c == '\n';
    return line;
}

/* The kernel's name stands behind `void` and attributes such as __launch_bounds__(256); behind it (PARAMETERS). */
static tw_status read_entry(const reading *in, const char *kernel, char entry[USER_KERNEL_ENTRY])
{
    size_t length;
    const char *at = find_word(kernel, "void");
    if (at == NULL)
        return refuse(in, "line %d: found no `void NAME(PARAMETERS)` behind the kernel's mark", line_of(in, kernel));
    for (at = skip_blank(at + 4);; at = skip_blank(*at == '(' ? skip_brackets(at) : at)) {
        for (length = 0; in_word(at[length]);) length++;
        if (length < 2 || strncmp(at, "__", 2) != 0) break;
        at = skip_blank(at + length);
    }
    if (length == 0 || length >= USER_KERNEL_ENTRY || isdigit((unsigned char)*at))
        return refuse(in, "line %d: found no name of at most %d letters behind the kernel's `void`", line_of(in, at),
                      USER_KERNEL_ENTRY - 1);
    snprintf(entry, USER_KERNEL_ENTRY, "%.*s", (int)length, at);
    const char *open = skip_blank(at + length), *word = skip_blank(open + (*open == '('));
    bool same = *open == '(' && find_word(word, "PARAMETERS") == word &&
                *skip_blank(word + strlen("PARAMETERS")) == ')';
    return same ? TW_OK
                : refuse(in, "line %d: the parameters of %s are not the ladder's, expected %s(PARAMETERS)",
                         line_of(in, at), entry, entry);
}

static tw_status find_entry(const reading *in, char entry[USER_KERNEL_ENTRY])
{
    const bool cuda = strcmp(in->engine, "cuda") == 0;
    const char *mark = cuda ? "__global__" : "__kernel", *kernel = find_word(in->bare, mark);
    if (kernel == NULL && !cuda) mark = "kernel", kernel = find_word(in->bare, mark);
    if (kernel == NULL) return refuse(in, "found no kernel: no function is marked %s", cuda ? mark : "__kernel");
    const char *second = find_word(kernel + strlen(mark), mark);
    if (second != NULL)
        return refuse(in, "line %d: found a second kernel, expected one in a file", line_of(in, second));
    return read_entry(in, kernel, entry);
}

/* Does this begin like the kernel's name, up to the underscore? */
static bool shares_word(const char *rung, const char *entry)
{
    size_t length = strcspn(entry, "_");
    return rung != NULL && strncmp(rung, entry, length) == 0 && rung[length] == '_';
}

/* Is the kernel named like this family, sgemm_simt of sgemm_simt_128x128, and maybe more? */
static bool is_of_family(const char *rung, const char *entry)
{
    size_t length = (size_t)(strrchr(rung, '_') - rung);
    return strncmp(rung, entry, length) == 0 && (entry[length] == '\0' || entry[length] == '_');
}

/* The row of the engine whose rung, now or formerly, the kernel's name means: r05_mine means r05_outer; else r01's. */
static const tw_lab_kernel *row_like(const char *engine, const char *entry, bool *bears_rung)
{
    const tw_lab_kernel *row, *first = NULL;
    for (int i = 0; (row = tw_lab_kernel_at(i)) != NULL; i++) {
        if (strcmp(row->engine, engine) != 0 || row->dtype != TW_F32) continue;
        if (first == NULL) first = row;
        if (row->family ? is_of_family(row->rung, entry) || shares_word(row->formerly, entry)
                        : shares_word(row->rung, entry)) {
            *bears_rung = true;
            return row;
        }
    }
    return first;
}

/* ---- the text for the compiler ---- */

/* The header of kernels/ that a line of this length includes, and nothing besides; NULL: it is another line. bare as in
 * put_text(). */
static const char *header_of(const char *engine, const char *line, const char *bare, size_t length, char name[256])
{
    char file[320];
    int end = 0;
    if (line[strspn(line, " \t")] != '#') return NULL; /* sscanf would look for it beyond the line */
    if (sscanf(line, " # include \"%255[^\"\n]\"%n", name, &end) != 1 || end == 0 || (size_t)end > length) return NULL;
    if (bare != NULL && (bare[strspn(line, " \t")] != '#' || strspn(bare + end, " \t\r") < length - (size_t)end))
        return NULL;
    const char *below = name; /* a copy of a rung includes "../rung.clh" */
    while (strncmp(below, "../", 3) == 0) below += 3;
    snprintf(file, sizeof file, "%s/%s", engine, below);
    return story_text_of(file);
}

/* A #line directive: the next line is that number of that file. */
static void put_line(FILE *out, const char *file, int number)
{
    fprintf(out, "#line %d \"", number);
    for (const char *c = file; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\') fputc('\\', out);
        fputc((unsigned char)*c < ' ' ? '?' : *c, out);
    }
    fputs("\"\n", out);
}

/* text with the headers of kernels/ in place of the lines that include them; others are left to the compiler. bare:
 * NULL, or the text without its comments. */
static void put_text(FILE *out, const char *engine, const char *file, const char *text, const char *bare, int depth)
{
    char name[256];
    put_line(out, file, 1);
    for (int number = 1; *text != '\0'; number++) {
        size_t length = strcspn(text, "\n");
        const char *header = header_of(engine, text, bare, length, name);
        if (header != NULL && depth < MOST_DEPTH) {
            put_text(out, engine, name, header, NULL, depth + 1);
            put_line(out, file, number + 1);
        } else {
            fprintf(out, "%.*s\n", (int)length, text);
        }
        size_t step = length + (text[length] == '\n');
        text += step;
        if (bare != NULL) bare += step;
    }
}

static tw_status make_source(const reading *in, user_kernel *out)
{
    size_t bytes;
    FILE *stream = open_memstream(&out->memory, &bytes);
    if (stream == NULL) return TW_NO_MEMORY;
    put_text(stream, in->engine, in->path, in->text, in->bare, 0);
    bool whole = !ferror(stream);
    if (fclose(stream) != 0 || !whole || out->memory == NULL) {
        free(out->memory);
        return TW_NO_MEMORY;
    }
    out->source = (tw_lab_source){.file = in->path, .entry = out->entry, .text = out->memory};
    return TW_OK;
}

/* The file's own name, in letters that every table and record can hold. */
static void make_label(const char *path, char label[USER_KERNEL_LABEL])
{
    const char *slash = strrchr(path, '/');
    snprintf(label, USER_KERNEL_LABEL, "own:%s", slash != NULL ? slash + 1 : path);
    for (char *c = label; *c != '\0'; c++)
        if ((unsigned char)*c < ' ' || (unsigned char)*c > 126) *c = '?';
}

/* Gaps of an exercise that are left, GAP_1 and on, are named all at once. */
static tw_status check_gaps(const reading *in)
{
    char gaps[256] = "", gap[24], defined[32];
    const char *first = NULL;
    for (const char *at = in->bare; (at = strstr(at, "GAP_")) != NULL; at += 4) {
        const size_t digits = strspn(at + 4, "0123456789"), used = strlen(gaps);
        if (digits == 0 || digits > 9 || in_word(at[4 + digits]) || (at > in->bare && in_word(at[-1]))) continue;
        snprintf(gap, sizeof gap, "%.*s", (int)digits + 4, at);
        snprintf(defined, sizeof defined, "define %s", gap);
        if (find_word(gaps, gap) != NULL || strstr(in->bare, defined) != NULL) continue;
        snprintf(gaps + used, sizeof gaps - used, "%s%s", used > 0 ? ", " : "", gap);
        if (first == NULL) first = at;
    }
    if (first == NULL) return TW_OK;
    (void)refuse(in, "line %d: left to fill: %s", line_of(in, first), gaps);
    return TW_BUILD_FAILED; /* what a compiler would say of it */
}

static tw_status make_kernel(reading *in, size_t bytes, user_kernel *out)
{
    if (!ends_with(in->path, ".cl") && !ends_with(in->path, ".cu"))
        return refuse(in, "the ending of a kernel's file names its language, expected .cl or .cu");
    in->engine = ends_with(in->path, ".cu") ? "cuda" : "opencl";
    const char *header = strcmp(in->engine, "cuda") == 0 ? "rung.cuh" : "rung.clh";
    tw_status status = check_text(in, bytes);
    if (status == TW_OK) status = make_bare(in);
    if (status == TW_OK) status = check_gaps(in);
    if (status == TW_OK) status = find_entry(in, out->entry);
    if (status == TW_OK && strstr(in->text, header) == NULL && strstr(in->text, "define PARAMETERS") == NULL)
        status = refuse(in, "found no #include \"%s\", which says what PARAMETERS, A, B and C are", header);
    if (status != TW_OK) return status;
    out->like = row_like(in->engine, out->entry, &out->bears_rung);
    make_label(in->path, out->label);
    return make_source(in, out);
}

tw_status user_kernel_make(const char *path, const char *text, size_t bytes, user_kernel *out, char *why, int why_bytes)
{
    reading in = {.path = path, .text = text, .why = why, .why_bytes = (size_t)why_bytes};
    *out = (user_kernel){0};
    tw_status status = make_kernel(&in, bytes, out);
    free(in.bare);
    if (status != TW_OK) *out = (user_kernel){0};
    return status;
}

tw_status user_kernel_read(const char *path, user_kernel *out, char *why, int why_bytes)
{
    reading in = {.path = path, .why = why, .why_bytes = (size_t)why_bytes};
    *out = (user_kernel){0};
    FILE *file = fopen(path, "rb");
    if (file == NULL) return refuse(&in, "cannot be opened: %s", strerror(errno));
    char *text = calloc(1, USER_KERNEL_MOST_BYTES + 2);
    size_t bytes = text != NULL ? fread(text, 1, USER_KERNEL_MOST_BYTES + 1, file) : 0;
    int failed = ferror(file) ? errno : 0;
    fclose(file);
    tw_status status = text == NULL  ? TW_NO_MEMORY
                       : failed != 0 ? refuse(&in, "cannot be read: %s", strerror(failed))
                                     : user_kernel_make(path, text, bytes, out, why, why_bytes);
    free(text);
    return status;
}

void user_kernel_free(user_kernel *user)
{
    free(user->memory);
    *user = (user_kernel){0};
}

/* Files of one name in several folders: "own:mine.cl", "own:mine.cl#2". A long name is cut for it. */
static void tell_apart(user_kernels *all)
{
    char *label = all->items[all->count].label;
    const size_t length = strlen(label), most = USER_KERNEL_LABEL - sizeof "#2147483647";
    int same = 1;
    for (int i = 0; i < all->count; i++) {
        const char *earlier = all->items[i].label;
        same += strncmp(earlier, label, length) == 0 && (earlier[length] == '\0' || earlier[length] == '#');
    }
    if (same > 1) snprintf(label + (length < most ? length : most), sizeof "#2147483647", "#%d", same);
}

tw_status user_kernels_add(user_kernels *all, const char *path, char *why, int why_bytes)
{
    tw_status status = user_kernel_read(path, &all->items[all->count], why, why_bytes);
    if (status != TW_OK) return status;
    tell_apart(all);
    all->count++;
    return TW_OK;
}

void user_kernels_free(user_kernels *all)
{
    while (all->count > 0) user_kernel_free(&all->items[--all->count]);
}
