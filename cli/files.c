/* files.c - see files.h. */
#define _XOPEN_SOURCE 700
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>
#include "../course/judge/user_kernel.h"
#include "../course/report/report.h"
#include "../io/io.h"
#include "../multiply/bound.h"
#include "../program/diag.h"

/* ---- what a file holds ---- */

typedef enum kind {
    KIND_EMPTY,
    KIND_NPY,
    KIND_MTX,
    KIND_JSON,
    KIND_HTML,
    KIND_SVG,
    KIND_FOREIGN,
    KIND_TABLE,
    KIND_TEXT,
    KIND_PACKED,
    KIND_PROGRAM,
    KIND_PICTURE,
    KIND_BYTES
} kind;

static const char *const kind_names[] = {[KIND_EMPTY] = "nothing",
                                         [KIND_NPY] = "a .npy matrix",
                                         [KIND_MTX] = "a Matrix Market matrix",
                                         [KIND_JSON] = "JSON",
                                         [KIND_HTML] = "HTML",
                                         [KIND_SVG] = "SVG",
                                         [KIND_FOREIGN] = "JSON, HTML or SVG of another program",
                                         [KIND_TABLE] = "a table of rungs",
                                         [KIND_TEXT] = "text",
                                         [KIND_PACKED] = "an archive or a database",
                                         [KIND_PROGRAM] = "a program",
                                         [KIND_PICTURE] = "a picture or document",
                                         [KIND_BYTES] = "other data"};

/* No control characters but those of lines. */
static bool is_text(const unsigned char *bytes, size_t count)
{
    for (size_t b = 0; b < count; b++)
        if (bytes[b] == 127 || (bytes[b] < ' ' && strchr("\t\n\r\f", bytes[b]) == NULL) || bytes[b] == 0) return false;
    return true;
}

static bool begins(const char *text, const char *word) { return strncasecmp(text, word, strlen(word)) == 0; }

/* Does JSON begin as this program's lines do? */
static bool is_our_json(const char *text)
{
    static const char version[] = "{\"version\": \"";
    static const char *const begins_with[] = {
        "{\"engine\": \"cpu\"",     "{\"engine\": \"opencl\"",          "{\"engine\": \"cuda\"",
        "{\"command\": \"verify\"", "{\"command\": \"tune\"",           "{\"command\": \"selftest\"",
        "{\"document\": \"00",      "{\"predicted\": \"access model\"", "{\"program\": \"tilewright"};
    bool ours = false;
    for (size_t i = 0; i < sizeof begins_with / sizeof *begins_with; i++) ours = ours || begins(text, begins_with[i]);
    if (!begins(text, version)) return ours;
    text += sizeof version - 1;
    text += strcspn(text, "\"\n");
    return *text == '\0' || strncmp(text, "\"}", 2) == 0; /* cut there, or that is all of it */
}

/* JSON, HTML and SVG are of their kind where this program wrote them. */
static kind kind_of_text(const char *text)
{
    if (strncmp(text, "\xef\xbb\xbf", 3) == 0) text += 3;
    text += strspn(text, " \t\r\n\f");
    if ((*text == '{' || *text == '[') && strchr("\"{}[]", text[1 + strspn(text + 1, " \t\r\n")]) != NULL)
        return is_our_json(text) ? KIND_JSON : KIND_FOREIGN;
    if (begins(text, "<svg class=\"chart\"")) return KIND_SVG;
    if (begins(text, "<svg") || (begins(text, "<?xml") && strstr(text, "<svg") != NULL)) return KIND_FOREIGN;
    if (begins(text, "| rung | idea |")) return KIND_TABLE;
    if (!begins(text, "<!doctype html") && !begins(text, "<html")) return KIND_TEXT;
    return strstr(text, "<meta name=\"generator\" content=\"tilewright\">") != NULL ? KIND_HTML : KIND_FOREIGN;
}

/* bytes: the first of the file, ended by a zero. */
static kind kind_of(const char *bytes, size_t count)
{
    static const struct {
        const char *magic;
        kind kind;
    } others[] = {{"PK\3\4", KIND_PACKED},
                  {"\x1f\x8b", KIND_PACKED},
                  {"\177ELF", KIND_PROGRAM},
                  {"\xfd"
                   "7zXZ",
                   KIND_PACKED},
                  {"\x28\xb5\x2f\xfd", KIND_PACKED},
                  {"BZh", KIND_PACKED},
                  {"SQLite format 3", KIND_PACKED},
                  {"II*", KIND_PICTURE},
                  {"\x89PNG", KIND_PICTURE},
                  {"\xff\xd8\xff", KIND_PICTURE},
                  {"%PDF-", KIND_PICTURE}};
    if (count == 0) return KIND_EMPTY;
    io_format format = io_recognise(bytes, count);
    if (format != IO_FORMAT_NONE) return format == IO_FORMAT_NPY ? KIND_NPY : KIND_MTX;
    for (size_t o = 0; o < sizeof others / sizeof *others; o++)
        if (count >= strlen(others[o].magic) && memcmp(bytes, others[o].magic, strlen(others[o].magic)) == 0)
            return others[o].kind;
    return is_text((const unsigned char *)bytes, count) ? kind_of_text(bytes) : KIND_BYTES;
}

/* ---- the names of a command line ---- */

typedef struct named {
    const char *option, *path; /* "--json"; "" for an operand */
    bool writes;
    kind kind;  /* what it is about to hold */
    bool known; /* what follows is: the file, or the folder and the name that it will have there */
    struct stat found;
    bool exists;
    char *name;
} named;

enum { MOST_NAMED = 2 * OPT_LIST + 8 };

typedef struct name_set {
    named items[MOST_NAMED];
    int count;
} name_set;

/* Of the command that runs. */
static name_set named_files;
static bool forced, appends;

/* The file at that path. Of one that does not exist yet, its folder stands for the device and inode. */
static void identify(named *x, const char *path)
{
    x->exists = x->known = stat(path, &x->found) == 0;
    if (x->exists || errno != ENOENT) return;
    char *end = io_follow(path), *slash = end != NULL ? strrchr(end, '/') : NULL;
    x->name = end != NULL ? strdup(slash != NULL ? slash + 1 : end) : NULL;
    if (slash != NULL) slash[slash == end] = '\0';
    x->known = x->name != NULL && stat(slash != NULL ? end : ".", &x->found) == 0;
    free(end);
}

/* What is read may be a member of an archive, which is the file. */
static void add(name_set *all, const char *option, const char *path, bool writes, kind kind)
{
    const char *member;
    if (path == NULL || all->count == MOST_NAMED) return;
    named *x = &all->items[all->count++];
    char *file = writes ? NULL : io_file_of(path, &member);
    *x = (named){.option = option, .path = path, .writes = writes, .kind = kind};
    identify(x, file != NULL ? file : path);
    free(file);
}

static bool same(const named *a, const named *b)
{
    if (!a->known || !b->known || a->exists != b->exists || (a->exists && S_ISCHR(a->found.st_mode))) return false;
    return a->found.st_dev == b->found.st_dev && a->found.st_ino == b->found.st_ino &&
           (a->exists || strcmp(a->name, b->name) == 0);
}

static kind kind_of_matrix(const char *path)
{
    switch (io_format_of(path)) {
    case IO_FORMAT_NPY: return KIND_NPY;
    case IO_FORMAT_MTX: return KIND_MTX;
    default: return KIND_BYTES;
    }
}

static kind kind_of_page(const char *path)
{
    static const kind kinds[] = {[REPORT_PAGE] = KIND_HTML, [REPORT_BARS] = KIND_SVG, [REPORT_TABLE] = KIND_TABLE};
    return kinds[report_form_of(path)];
}

static void collect(name_set *all, const options *opt)
{
    int command = opt->command->bit;
    bool reads = (command & (CMD_MULTIPLY | CMD_VERIFY | CMD_REPORT)) != 0;
    for (int i = 0; i < opt->operand_count; i++)
        if (reads || (command == CMD_EXPLAIN && user_kernel_is_path(opt->operands[i])))
            add(all, "", files_input(opt->operands[i]), false, KIND_EMPTY);
    for (int i = 0; i < opt->rungs.count; i++)
        if (user_kernel_is_path(opt->rungs.items[i])) add(all, "--rung ", opt->rungs.items[i], false, KIND_EMPTY);
    add(all, "--add ", files_input(opt->add), false, KIND_EMPTY);
    for (int i = 0; i < opt->binds.count; i++) add(all, "--bind ", bound_file(opt->binds.items[i]), false, KIND_EMPTY);
    add(all, "--import ", opt->import, false, KIND_EMPTY);
    add(all, "--export ", opt->export, true, KIND_EMPTY); /* what it may replace `tune` knows */
    /* it is refused for that */
    bool no_format = command == CMD_MULTIPLY && opt->output != NULL && io_format_of(opt->output) == IO_FORMAT_NONE;
    if (opt->output != NULL && !no_format)
        add(all, "-o ", opt->output, true,
            command == CMD_MULTIPLY ? kind_of_matrix(opt->output) : kind_of_page(opt->output));
    if (opt->html != NULL) add(all, "--html ", opt->html, true, kind_of_page(opt->html));
    if (opt->json != NULL && strcmp(opt->json, "-") != 0) add(all, "--json ", opt->json, true, KIND_JSON);
}

/* ---- the rules ---- */

enum { REPLACES_A = 1, REPLACES_B = 2, REPLACES_C0 = 4, REPLACES_BOUND = 8 };
static int replaced; /* operands that -o names too */

const char *files_replaced(void)
{
    static const char *const names[] = {"", ", in place of A", ", in place of B", ", in place of A and B"};
    if (replaced & REPLACES_BOUND) return ", in place of an operand of its epilogue";
    return replaced & REPLACES_C0 ? ", in place of C0" : names[replaced];
}

/* The bit of what is read; the operands come first. */
static int role_of(const named *x)
{
    return strcmp(x->option, "--bind ") == 0  ? REPLACES_BOUND
           : strcmp(x->option, "--add ") == 0 ? REPLACES_C0
           : x == named_files.items           ? REPLACES_A
                                              : REPLACES_B;
}

static exit_code check_pair(const named *a, const named *b, int command)
{
    if (!b->writes || !same(a, b)) return EXIT_OK;
    if (a->writes)
        return diag(EXIT_USAGE, "%s%s and %s%s name the same file: each output needs its own", a->option, a->path,
                    b->option, b->path);
    if (command == CMD_MULTIPLY &&
        strcmp(b->option, "-o ") == 0) { /* C in the place of an operand, when all is computed */
        replaced |= role_of(a);
        return EXIT_OK;
    }
    return diag(EXIT_USAGE, "%s%s names the same file as %s%s, which is read and would be lost: give another name",
                b->option, b->path, a->option, a->path);
}

static exit_code check_disk(const named *x)
{
    return x->writes && x->exists && S_ISBLK(x->found.st_mode)
               ? diag(EXIT_OUTPUT, "%s%s: is a disk, expected a regular file or none", x->option, x->path)
               : EXIT_OK;
}

/* A file that the shell has opened for us would be replaced, and what is printed would go with the old one. */
static exit_code check_stream(const named *x, int fd, const char *name)
{
    named stream = {.exists = true};
    stream.known = fstat(fd, &stream.found) == 0 && S_ISREG(stream.found.st_mode);
    return x->writes && same(x, &stream)
               ? diag(EXIT_USAGE, "%s%s is the file that %s goes to: give another name", x->option, x->path, name)
               : EXIT_OK;
}

static exit_code check_kind(const named *x)
{
    char bytes[4097];
    const char *or_force = appends && x->kind == KIND_JSON ? "" : ", or --force to replace it";
    if (!x->writes || x->kind == KIND_EMPTY || !x->exists || !S_ISREG(x->found.st_mode)) return EXIT_OK;
    if ((x->found.st_mode & 0222) == 0) /* which access() does not tell root */
        return diag(EXIT_OUTPUT, "%s%s: the file is read-only: give another name%s", x->option, x->path, or_force);
    if (x->found.st_size == 0) return EXIT_OK;
    int fd = open(x->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    ssize_t count = fd >= 0 ? read(fd, bytes, sizeof bytes - 1) : -1;
    int number = errno;
    if (fd >= 0) close(fd);
    if (count < 0)
        return diag(EXIT_OUTPUT, "%s%s: its contents cannot be read (%s): give another name%s", x->option, x->path,
                    strerror(number), or_force);
    bytes[count] = '\0';
    if (access(x->path, W_OK) != 0)
        return diag(EXIT_OUTPUT, "%s%s: may not be written (%s): give another name%s", x->option, x->path,
                    strerror(errno), or_force);
    kind held = kind_of(bytes, (size_t)count);
    /* forced: lines are appended */
    if (held == x->kind || held == KIND_EMPTY || (forced && held == KIND_FOREIGN)) return EXIT_OK;
    return diag(EXIT_OUTPUT, "%s%s: holds %s, expected %s: give another name%s", x->option, x->path, kind_names[held],
                x->kind == KIND_BYTES ? "a raw matrix" : kind_names[x->kind], or_force);
}

static exit_code check_all(const name_set *all, const options *opt)
{
    exit_code code = EXIT_OK;
    for (int j = 0; code == EXIT_OK && j < all->count; j++) {
        const named *x = &all->items[j];
        for (int i = 0; code == EXIT_OK && i < j; i++) code = check_pair(&all->items[i], x, opt->command->bit);
        if (code == EXIT_OK) code = check_stream(x, STDOUT_FILENO, "standard output");
        if (code == EXIT_OK) code = check_stream(x, STDERR_FILENO, "standard error");
        if (code == EXIT_OK) code = check_disk(x);
        bool appended = opt->append && x->kind == KIND_JSON; /* which --force does not make right */
        if (code == EXIT_OK && (!opt->force || appended)) code = check_kind(x);
    }
    return code;
}

/* `-` and what else names a stream. */
static exit_code check_dashes(options *opt)
{
    static const char *const stdout_names[] = {"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"};
    const char *page = opt->html != NULL ? opt->html : opt->command->bit == CMD_REPORT ? opt->output : NULL;
    int dashes = opt->add != NULL && strcmp(opt->add, "-") == 0;
    for (int i = 0; i < opt->operand_count; i++) dashes += strcmp(opt->operands[i], "-") == 0;
    if (dashes > 1) return diag(EXIT_USAGE, "'-' stands for standard input, which can be read once: give it once");
    /* /dev/stdin opens a file anew, at its beginning */
    if (dashes > 0 && lseek(STDIN_FILENO, 0, SEEK_CUR) > 0)
        return diag(EXIT_INPUT, "-: a part of standard input, a file, was read before, and '-' would read it again: "
                                "pipe the rest, as in `cat | tilewright ...`");
    if (page != NULL && strcmp(page, "-") == 0)
        return diag(EXIT_USAGE,
                    "a page is written to a file: '-' is standard output for --json alone; ./- names a file");
    for (size_t i = 0; opt->json != NULL && i < sizeof stdout_names / sizeof *stdout_names; i++)
        if (strcmp(opt->json, stdout_names[i]) == 0) opt->json = "-";
    return EXIT_OK;
}

const char *files_input(const char *word) { return word != NULL && strcmp(word, "-") == 0 ? "/dev/stdin" : word; }

exit_code files_check(options *opt)
{
    exit_code code = check_dashes(opt);
    collect(&named_files, opt);
    forced = opt->force, appends = opt->append;
    return code == EXIT_OK ? check_all(&named_files, opt) : code;
}

exit_code files_recheck(const char *path)
{
    for (int i = 0; i < named_files.count; i++) {
        named now = named_files.items[i];
        if (!now.writes || strcmp(now.path, path) != 0) continue;
        now.exists = stat(path, &now.found) == 0;
        return forced ? EXIT_OK : check_kind(&now);
    }
    return EXIT_OK;
}
