/* cmd_grade.c - `tilewright grade`: readers' kernel files, one or a folder of them, judged by the course's words. */
#define _XOPEN_SOURCE 700
#include <errno.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "../course/judge/verdict.h"
#include "../lab/named.h"
#include "../program/diag.h"
#include "../program/object.h"
#include "../program/term.h"
#include "../program/warden.h"
#include "../program/words.h"
#include "cmd.h"

enum { MOST_FILES = 100000, OPEN_FOLDERS = 32 };

typedef struct path_list {
    int count, room;
    char **paths;
    bool failed; /* memory ran out */
    int unread;  /* folders whose files nobody has seen */
} path_list;

typedef struct telling {
    session *s;
    const path_list *files;
    term_paint paint;
    int counts[VERDICT_UNJUDGED + 1];
    exit_code written;
} telling;

/* ---- which files ---- */

static path_list found; /* nftw() hands nothing on */

static bool add(path_list *to, const char *path)
{
    if (to->count == to->room) {
        const int room = to->room > 0 ? 2 * to->room : 64;
        char **more = realloc(to->paths, (size_t)room * sizeof *more);
        if (more == NULL) return to->failed = true, false;
        to->paths = more, to->room = room;
    }
    char *copy = strdup(path);
    if (copy == NULL) return to->failed = true, false;
    to->paths[to->count++] = copy;
    return true;
}

static void free_paths(path_list *of)
{
    for (int i = 0; i < of->count; i++) free(of->paths[i]);
    free(of->paths);
    *of = (path_list){0};
}

static bool is_kernel_name(const char *path)
{
    const size_t length = strlen(path);
    return length > 3 && (strcmp(path + length - 3, ".cl") == 0 || strcmp(path + length - 3, ".cu") == 0);
}

/* Of a folder: regular files by their endings; a link may lead anywhere, so it is left. */
static int visit(const char *path, const struct stat *info, int kind, struct FTW *at)
{
    (void)at;
    if (kind == FTW_DNR || kind == FTW_NS) {
        diag(EXIT_INPUT, "%s: cannot be read", path);
        found.unread++;
        return 0;
    }
    if (!is_kernel_name(path) || kind == FTW_D) return 0;
    if (kind == FTW_F && S_ISREG(info->st_mode)) return !add(&found, path) || found.count > MOST_FILES;
    diag(EXIT_OK, "%s is left out: it is no regular file", path);
    return 0;
}

static int by_name(const void *x, const void *y) { return strcmp(*(char *const *)x, *(char *const *)y); }

static exit_code find_files(const char *path)
{
    struct stat info;
    if (stat(path, &info) != 0) return diag(EXIT_INPUT, "%s: %s", path, strerror(errno));
    if (!S_ISDIR(info.st_mode)) return add(&found, path) ? EXIT_OK : diag_no_memory("the names of files");
    const int before = found.count;
    char *folder = realpath(path, NULL); /* which may be a link: nftw() does not follow it */
    const bool is_link = lstat(path, &info) == 0 && S_ISLNK(info.st_mode);
    const bool walked = nftw(is_link && folder != NULL ? folder : path, visit, OPEN_FOLDERS, FTW_PHYS) != -1;
    const int reason = errno;
    free(folder);
    if (found.failed) return diag_no_memory("the names of files");
    if (!walked) return diag(EXIT_INPUT, "%s: %s", path, strerror(reason));
    if (found.count > MOST_FILES) return diag(EXIT_INPUT, "there are more than %d kernels in all", MOST_FILES);
    if (found.count == before) return diag(EXIT_INPUT, "%s: no .cl or .cu file is in this folder or below it", path);
    qsort(found.paths + before, (size_t)(found.count - before), sizeof *found.paths, by_name);
    return EXIT_OK;
}

/* ---- what is said of them ---- */

static const char *const words[] = {
    [VERDICT_PASS] = "pass", [VERDICT_WRONG] = "WRONG", [VERDICT_UNJUDGED] = "not judged"};

static bool tell(void *to, int i, const verdict *v)
{
    telling *t = to;
    tame_name name;
    const char *path = t->files->paths[i], *rung = v->rung != NULL ? v->rung->rung : "";
    const char *colour = v->kind == VERDICT_PASS ? t->paint.good : v->kind == VERDICT_WRONG ? t->paint.bad : "";
    const int page = v->rung != NULL ? verdict_page(v->rung) : 0;
    term_progress_end();
    fprintf(t->s->text, "%s: %s%s%s", diag_name(path, name), colour, words[v->kind],
            colour[0] != '\0' ? t->paint.plain : "");
    if (v->kind == VERDICT_PASS)
        fprintf(t->s->text, ", %s\n", rung);
    else
        fprintf(t->s->text, ": %s", v->why);
    if (v->kind == VERDICT_WRONG && page > 0) fprintf(t->s->text, " (%s: docs/COURSE.md, page %d)", rung, page);
    if (v->kind != VERDICT_PASS) fputc('\n', t->s->text);
    object o = object_begin(t->s->json);
    object_text(&o, "command", "grade");
    object_text(&o, "file", path);
    object_text(&o, "engine", v->rung != NULL ? v->rung->engine : NULL);
    object_text(&o, "rung", rung);
    object_text(&o, "verdict", v->kind == VERDICT_WRONG ? "wrong" : words[v->kind]);
    object_flag(&o, "right", v->right);
    object_text(&o, "text", v->why);
    object_positive(&o, "page", page);
    object_end(&o);
    t->s->json_lines = t->s->json_lines || t->s->json != NULL;
    t->counts[v->kind]++;
    if (i + 1 < t->files->count) term_progress("judging", (double)(i + 1) / t->files->count);
    t->written = session_flush(t->s);
    return t->written == EXIT_OK;
}

static exit_code check_rung(const char *word)
{
    const tw_lab_kernel *row;
    words_hint meant;
    for (int i = 0; (row = tw_lab_kernel_at(i)) != NULL; i++)
        if (strcmp(row->engine, "cpu") != 0 && kernel_is_called(row, word)) return EXIT_OK;
    return diag(EXIT_USAGE, "--rung %s: no rung of opencl or cuda has this name%s", word,
                words_meant_of(words_rungs, word, meant));
}

/* As many as the cpu engine has threads: --threads, or what the mask and the quota of this process leave it. */
static int at_once(session *s)
{
    const int wanted = session_open_device(s, "cpu") == EXIT_OK ? s->device.threads : 1;
    session_close_device(s);
    return wanted < VERDICT_MOST_AT_ONCE ? wanted : VERDICT_MOST_AT_ONCE;
}

static exit_code judge(session *s)
{
    const options *o = s->opt;
    telling t = {.s = s, .files = &found, .paint = term_paint_for(s->text)};
    const verdict_wish wish = {.paths = (const char *const *)found.paths,
                               .count = found.count,
                               .rung = o->rungs.count > 0 ? o->rungs.items[0] : NULL,
                               .at_once = at_once(s),
                               .limit_s = (double)o->deadline};
    term_progress("judging", 0);
    const exit_code code = verdict_take(&wish, tell, &t);
    term_progress_end();
    if (code != EXIT_OK || t.written != EXIT_OK) return code != EXIT_OK ? code : t.written;
    if (found.count > 1)
        fprintf(s->text, "%d files: %d pass, %d wrong, %d not judged\n", found.count, t.counts[VERDICT_PASS],
                t.counts[VERDICT_WRONG], t.counts[VERDICT_UNJUDGED]);
    const exit_code flushed = session_flush(s);
    if (flushed != EXIT_OK) return flushed;
    return t.counts[VERDICT_WRONG] > 0                     ? EXIT_CHECK
           : t.counts[VERDICT_UNJUDGED] + found.unread > 0 ? EXIT_DEVICE
                                                           : EXIT_OK;
}

exit_code cmd_grade(session *s)
{
    const options *o = s->opt;
    exit_code code = o->rungs.count > 0 ? check_rung(o->rungs.items[0]) : EXIT_OK;
    for (int i = 0; code == EXIT_OK && i < o->operand_count; i++) code = find_files(o->operands[i]);
    if (code == EXIT_OK && !warden_begin()) code = diag_no_memory("the process that runs the files");
    if (code == EXIT_OK) code = judge(s);
    free_paths(&found);
    return code;
}
