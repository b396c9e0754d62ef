/* embed.c - build tool: kernel files as one C file of byte arrays.
 *
 *     embed OUTPUT.c ROOT FILE...            for compilers: each with the headers it includes put in place. FILE is
 *                                            below ROOT; #include "x" and "../x" are looked for beside the file that
 *                                            includes it, and above that
 *     embed --plain OUTPUT.c ROOT FILE...    for readers: each as it stands
 *     embed --tuned OUTPUT.c ROOT FILE...    the same of tuned rows, for the library
 *     embed --digest OUTPUT.c ROOT ROWS FILE...
 *                                            for each engine a digest of what is compiled: its rows of ROWS (the text
 *                                            of kernels/rows.def), without what they say to readers, and its files,
 *                                            ENGINE/..., without comments
 *
 * #line directives keep the compilers' messages pointing at the files that people edit. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../src/sha256.h"

enum { MOST_DEPTH = 8, MOST_PATH = 2048 };

static FILE *output;
static bool plain;
static size_t bytes_written;

static void put(const char *text)
{
    for (; *text != '\0'; text++) fprintf(output, "%d,%s", (unsigned char)*text, ++bytes_written % 32 == 0 ? "\n" : "");
}

static void stop(const char *what, const char *path)
{
    fprintf(stderr, "embed: %s: %s\n", path, what);
    exit(1);
}

/* The name in a line `#include "name"`; 0 when the line is something else. */
static int included(const char *line, char name[256]) { return sscanf(line, " # include \"%255[^\"]\"", name) == 1; }

/* The path, below the root, of what a file includes by this name. */
static void find_beside(const char *path, const char *name, char found[MOST_PATH])
{
    const char *slash = strrchr(path, '/');
    int folder = slash != NULL ? (int)(slash - path) : 0;
    for (; strncmp(name, "../", 3) == 0; name += 3)
        while (folder > 0 && path[--folder] != '/') continue;
    if (snprintf(found, MOST_PATH, "%.*s%s%s", folder, path, folder > 0 ? "/" : "", name) >= MOST_PATH)
        stop("a path is too long", path);
}

static void put_file(const char *root, const char *path, int depth)
{
    char whole[MOST_PATH], line[4096], name[256], beside[MOST_PATH], directive[MOST_PATH + 32];
    if (snprintf(whole, sizeof whole, "%s/%s", root, path) >= (int)sizeof whole) stop("a path is too long", path);
    FILE *input = fopen(whole, "r");
    if (input == NULL || depth > MOST_DEPTH) stop(input == NULL ? "cannot be opened" : "includes go too deep", whole);
    snprintf(directive, sizeof directive, "#line 1 \"%s\"\n", path);
    if (!plain) put(directive);
    for (int number = 1; fgets(line, sizeof line, input) != NULL; number++) {
        if (plain || !included(line, name)) {
            put(line);
            continue;
        }
        find_beside(path, name, beside);
        put_file(root, beside, depth + 1);
        snprintf(directive, sizeof directive, "#line %d \"%s\"\n", number + 1, path);
        put(directive);
    }
    fclose(input);
}

static char *read_whole(const char *path)
{
    FILE *input = fopen(path, "r");
    char *text = NULL;
    size_t bytes = 0, got;
    if (input == NULL) stop("cannot be opened", path);
    do {
        char *more = realloc(text, bytes + 65537);
        if (more == NULL) stop("there is no memory for it", path);
        text = more;
        bytes += got = fread(text + bytes, 1, 65536, input);
    } while (got > 0);
    fclose(input);
    text[bytes] = '\0';
    return text;
}

/* The text of C without comments, and each run of blanks as one. */
static void strip(char *text)
{
    char *to = text, quote = 0;
    for (const char *at = text; *at != '\0'; at++) {
        if (quote == 0 && at[0] == '/' && (at[1] == '*' || at[1] == '/')) {
            const char *end = strstr(at + 2, at[1] == '*' ? "*/" : "\n");
            at = end == NULL ? at + strlen(at) - 1 : end + (at[1] == '*') - (at[1] == '/');
            continue;
        }
        if (quote != 0 ? *at == quote : *at == '"' || *at == '\'') quote = quote != 0 ? 0 : *at;
        if (quote != 0 && *at == '\\' && at[1] != '\0') *to++ = *at++;
        const int blank = quote == 0 && strchr(" \t\r\n", *at) != NULL;
        if (!blank || (to > text && to[-1] != ' ')) *to++ = blank ? ' ' : *at;
    }
    *to = '\0';
}

/* What a row of kernels/rows.def says to readers, out of it: the words do not change what is compiled. */
static void strip_row(char *line)
{
    static const char *const words[] = {"IDEA(\"", "SOURCE(\"", "FORMERLY"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        for (char *at, *end;
             (at = strstr(line, words[i])) != NULL && (end = strchr(at + strlen(words[i]), i < 2 ? '"' : ')')) != NULL;)
            memmove(at, end + 1, strlen(end));
}

/* A row for the engine: of its rows of the table, and of every file of its own. */
static void put_digest(const char *root, const char *rows, const char *engine, char **files, int count)
{
    char whole[MOST_PATH], hex[65], of[16];
    sha256 sum;
    sha256_init(&sum);
    char *text = read_whole(rows);
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        const bool named = sscanf(line, "%*s %15s", of) == 1;
        if (!named || !(strcmp(of, engine) == 0 || (strcmp(of, "gpu") == 0 && strcmp(engine, "cpu") != 0))) continue;
        strip_row(line);
        strip(line);
        sha256_add(&sum, line, strlen(line));
    }
    free(text);
    for (int i = 0; i < count; i++) {
        if (strncmp(files[i], engine, strlen(engine)) != 0) continue;
        if (snprintf(whole, sizeof whole, "%s/%s", root, files[i]) >= (int)sizeof whole)
            stop("a path is too long", whole);
        text = read_whole(whole);
        strip(text);
        sha256_add(&sum, text, strlen(text));
        free(text);
    }
    sha256_hex(&sum, hex);
    fprintf(output, "{\"%s\", \"%s\"},\n", engine, hex);
}

static int put_digests(const char *root, const char *rows, char **files, int count)
{
    static const char *const engines[] = {"cpu", "opencl", "cuda"};
    fprintf(output,
            "/* made by tools/embed.c */\n#include \"tuned_file.h\"\nconst kernel_digest kernel_digests[] = {\n");
    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++) put_digest(root, rows, engines[i], files, count);
    fprintf(output, "{0, 0}};\n");
    return fclose(output) == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    const char *name = argc > 0 ? argv[0] : "embed";
    const bool tuned = argc > 1 && strcmp(argv[1], "--tuned") == 0;
    const bool digest = argc > 1 && strcmp(argv[1], "--digest") == 0;
    plain = tuned || digest || (argc > 1 && strcmp(argv[1], "--plain") == 0);
    argv += plain, argc -= plain;
    if (argc < 3 + digest || (output = fopen(argv[1], "w")) == NULL)
        stop("usage: embed [--plain|--tuned|--digest] OUTPUT.c ROOT [ROWS] FILE...", name);
    if (digest) return put_digests(argv[2], argv[3], argv + 4, argc - 4);
    fprintf(output, "/* made by tools/embed.c */\n#include \"%s\"\n",
            tuned   ? "tuned.h"
            : plain ? "story.h"
                    : "engines/gpu.h");
    for (int i = 3; i < argc; i++) {
        fprintf(output, "static const char text_%d[] = {\n", i);
        put_file(argv[2], argv[i], 0);
        fprintf(output, "0};\n");
    }
    fprintf(output, "const %s[] = {\n",
            tuned   ? "tuned_file tuned_files"
            : plain ? "story_text story_texts"
                    : "embedded_source embedded_sources");
    for (int i = 3; i < argc; i++) fprintf(output, "{\"%s\", text_%d},\n", argv[i], i);
    fprintf(output, "{0, 0}};\n");
    return fclose(output) == 0 ? 0 : 1;
}
