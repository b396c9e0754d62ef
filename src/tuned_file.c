/* tuned_file.c - see tuned_file.h. The file is trusted with nothing but speed: a row gives a planner numbers within the
 * limits of src/tuned.def. */
#define _GNU_SOURCE /* secure_getenv */
#include "tuned_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sha256.h"

enum { CHECK = 16, MOST_FILE_BYTES = 1 << 20, MOST_ROWS = 512 };

/* Text of a driver as it may stand between bars: printable, and no bar. */
static void tame(const char *text, char *out, size_t bytes)
{
    size_t used = 0;
    for (; *text != '\0' && used + 1 < bytes; text++)
        out[used++] = (unsigned char)*text < ' ' || *text == 127 ? ' ' : *text == '|' ? '/' : *text;
    while (used > 0 && out[used - 1] == ' ') used--;
    out[used] = '\0';
}

void tuned_sign_here(const char *engine, const char *device, const char *driver, tuned_signature *out)
{
    *out = (tuned_signature){.engine = engine};
    tame(device, out->device, sizeof out->device);
    tame(driver, out->driver, sizeof out->driver);
    snprintf(out->version, sizeof out->version, "%s", tw_version());
    for (const kernel_digest *d = kernel_digests; d->engine != NULL; d++)
        if (strcmp(d->engine, engine) == 0) snprintf(out->kernels, sizeof out->kernels, "%.16s", d->digest);
}

/* ---- a line ---- */

static void checksum(const char *text, size_t length, char check[CHECK + 1])
{
    char hex[65];
    sha256 sum;
    sha256_init(&sum);
    sha256_add(&sum, text, length);
    sha256_hex(&sum, hex);
    snprintf(check, CHECK + 1, "%.*s", (int)CHECK, hex);
}

/* The text of " | name=..." up to the next bar or the end; false: the line has no such field, or a longer one. */
static bool field(const char *line, const char *name, char *out, size_t bytes)
{
    const size_t length = strlen(name);
    for (const char *bar = strstr(line, " | "); bar != NULL; bar = strstr(bar + 1, " | ")) {
        const char *at = bar + 3;
        if (strncmp(at, name, length) != 0 || at[length] != '=') continue;
        const char *value = at + length + 1, *end = strstr(value, " | ");
        const size_t size = end != NULL ? (size_t)(end - value) : strlen(value);
        if (size >= bytes) return false;
        memcpy(out, value, size);
        out[size] = '\0';
        return true;
    }
    return false;
}

static double number(const char *line, const char *name)
{
    char text[40];
    const char *end;
    return field(line, name, text, sizeof text) ? tuned_number_read(text, &end) : 0;
}

static bool is_whole(const char *line)
{
    char check[CHECK + 1], found[CHECK + 1];
    const char *last = strstr(line, " | check=");
    if (last == NULL || !field(line, "check", found, sizeof found)) return false;
    checksum(line, (size_t)(last - line), check);
    return strcmp(last + strlen(" | check="), check) == 0;
}

static void refuse(tw_lab_tuned *out, int state, const char *format, const char *one, const char *other)
{
    out->state = state;
    snprintf(out->why, sizeof out->why, format, one, other);
}

/* Does it hold here? */
static void compare(const tuned_signature *here, tw_lab_tuned *out)
{
    if (strcmp(out->engine, here->engine) != 0 || strcmp(out->device, here->device) != 0)
        refuse(out, TW_LAB_TUNED_ELSEWHERE, "it is for %.80s of the %.8s engine", out->device, out->engine);
    else if (strcmp(out->version, here->version) != 0)
        refuse(out, TW_LAB_TUNED_STALE, "it was tuned with version %.16s, this is %.16s", out->version, here->version);
    else if (strcmp(out->kernels, here->kernels) != 0)
        refuse(out, TW_LAB_TUNED_STALE, "its kernels have digest %.20s, those of this version %.20s", out->kernels,
               here->kernels);
    else if (strcmp(out->driver, here->driver) != 0)
        refuse(out, TW_LAB_TUNED_STALE, "it was tuned with %.160s, this is %.160s", out->driver, here->driver);
}

void tuned_judge(const char *line, size_t length, const tuned_signature *here, tw_lab_tuned *out, tuned_row *row)
{
    char text[TW_LAB_TUNED_LINE];
    *out = (tw_lab_tuned){.state = TW_LAB_TUNED_USED};
    if (length >= sizeof text || memchr(line, '\0', length) != NULL) {
        refuse(out, TW_LAB_TUNED_DAMAGED, "%s%s", "it is no line of text of the length that a row may have", "");
        return;
    }
    memcpy(text, line, length);
    text[length] = '\0';
    for (size_t i = 0; i < length; i++) /* the sentences that tell of a row go to terminals */
        if ((unsigned char)text[i] < ' ' || text[i] == '\x7f') text[0] = '\0';
    if (!is_whole(text)) {
        refuse(out, TW_LAB_TUNED_DAMAGED, "%s%s", "its checksum does not fit: the line was changed or cut", "");
        return;
    }
    if (tuned_parse(text, length, "it is not read", row) != TW_OK) {
        refuse(out, TW_LAB_TUNED_DAMAGED, "%s%s", tw_error_text(), "");
        return;
    }
    const char *bar = strstr(text, " | ");
    if (bar == NULL || (size_t)(bar - text) >= sizeof out->row ||
        !field(text, "device", out->device, sizeof out->device) ||
        !field(text, "driver", out->driver, sizeof out->driver) ||
        !field(text, "kernels", out->kernels, sizeof out->kernels) ||
        !field(text, "version", out->version, sizeof out->version) ||
        !field(text, "verdict", out->verdict, sizeof out->verdict)) {
        refuse(out, TW_LAB_TUNED_DAMAGED, "%s%s", "device, driver, kernels, version or verdict is missing", "");
        return;
    }
    memcpy(out->row, text, (size_t)(bar - text));
    memcpy(out->engine, row->engine, sizeof out->engine);
    memcpy(out->dtype, row->dtype, sizeof out->dtype);
    memcpy(out->shape_class, row->shape, sizeof out->shape_class);
    memcpy(out->ops, row->ops, sizeof out->ops);
    memcpy(out->kernel, row->kernel, sizeof out->kernel);
    if (!field(text, "shape", out->shape, sizeof out->shape)) out->shape[0] = '\0';
    if (!field(text, "when", out->when, sizeof out->when)) out->when[0] = '\0';
    if (!field(text, "plan", out->plan, sizeof out->plan)) out->plan[0] = '\0';
    if (!field(text, "why", out->why, sizeof out->why)) out->why[0] = '\0';
    out->before_s = number(text, "before_s"), out->after_s = number(text, "after_s");
    out->speed = number(text, "speed"), out->low_speed = number(text, "low"), out->high_speed = number(text, "high");
    if (here != NULL) compare(here, out);
}

tw_status tuned_line(const tw_lab_tuned *what, const tuned_signature *here, char *line, size_t bytes)
{
    char text[TW_LAB_TUNED_LINE], check[CHECK + 1], why[sizeof what->why], number[5][32];
    tuned_row row;
    tame(what->why, why, sizeof why);
    int length = snprintf(text, sizeof text,
                          "%s | device=%s | driver=%s | kernels=%s | version=%s | verdict=%s | shape=%s | "
                          "before_s=%s | after_s=%s | speed=%s | low=%s | high=%s | when=%s | plan=%s | why=%s",
                          what->row, here->device, here->driver, here->kernels, here->version, what->verdict,
                          what->shape, tuned_number_text(what->before_s, 6, number[0]),
                          tuned_number_text(what->after_s, 6, number[1]), tuned_number_text(what->speed, 4, number[2]),
                          tuned_number_text(what->low_speed, 4, number[3]),
                          tuned_number_text(what->high_speed, 4, number[4]), what->when, what->plan, why);
    if (length < 0 || (size_t)length + CHECK + 10 >= bytes || length >= (int)sizeof text)
        return fail(TW_BAD_ARGUMENT, "a tuned row of %d bytes is longer than a line may be", length);
    TRY(tuned_parse(text, (size_t)length, "the tuned row", &row));
    checksum(text, (size_t)length, check);
    snprintf(line, bytes, "%s | check=%s", text, check);
    return TW_OK;
}

/* ---- the user's file ---- */

/* Does an existing folder of the path, from its first `there` bytes on, belong to another user? path is then a
 * sentence. A folder that root makes in another user's HOME would lock out its owner. */
static bool is_foreign(char *path, size_t bytes, size_t there)
{
    char part[4096];
    struct stat info;
    for (const char *end = path + there; end != NULL; end = strchr(end + 1, '/')) {
        if (snprintf(part, sizeof part, "%.*s/", (int)(end - path), path) >= (int)sizeof part) return false;
        if (stat(part, &info) != 0) return false;
        if (info.st_uid == geteuid()) continue;
        if (end > path) part[end - path] = '\0';
        snprintf(path, bytes, "%.400s belongs to another user; TILEWRIGHT_TUNED names another file", part);
        return true;
    }
    return false;
}

bool tuned_path(char *path, size_t bytes)
{
    const char *own = secure_getenv("TILEWRIGHT_TUNED"), *xdg = secure_getenv("XDG_CONFIG_HOME"),
               *home = secure_getenv("HOME"), *base = NULL, *below = "";
    if (own != NULL && strcmp(own, "off") == 0) {
        snprintf(path, bytes, "TILEWRIGHT_TUNED is off");
        return false;
    }
    if (own != NULL && own[0] != '\0' && own[0] != '/') {
        snprintf(path, bytes, "TILEWRIGHT_TUNED is %.200s, neither off nor an absolute path", own);
        return false;
    }
    if (own != NULL && own[0] == '/')
        base = own;
    else if (xdg != NULL && xdg[0] == '/')
        base = xdg, below = "/tilewright/tuned";
    else if (home != NULL && home[0] == '/')
        base = home, below = "/.config/tilewright/tuned";
    if (base == NULL)
        snprintf(path, bytes, "none of TILEWRIGHT_TUNED, XDG_CONFIG_HOME and HOME is an absolute path");
    else if (snprintf(path, bytes, "%s%s", base, below) >= (int)bytes)
        snprintf(path, bytes, "the path of the file of tuned rows is longer than %zu bytes", bytes);
    else
        return base == own || !is_foreign(path, bytes, strlen(base));
    return false;
}

/* All of a regular file; NULL: errno says why. For free(). */
static char *read_whole(const char *path, size_t *bytes)
{
    struct stat info;
    char *text = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), cause = 0;
    if (fd < 0) return NULL;
    if (fstat(fd, &info) != 0)
        cause = errno;
    else if (!S_ISREG(info.st_mode) || info.st_size > MOST_FILE_BYTES)
        cause = EFBIG;
    else if ((text = malloc((size_t)info.st_size + 1)) == NULL)
        cause = ENOMEM;
    *bytes = 0;
    while (text != NULL && *bytes < (size_t)info.st_size) {
        const ssize_t got = read(fd, text + *bytes, (size_t)info.st_size - *bytes);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        *bytes += (size_t)got;
    }
    close(fd);
    errno = cause;
    return text;
}

static void note_unused(tuned_own *out, const tw_lab_tuned *line, int number, int *unused)
{
    const size_t used = strlen(out->state);
    if ((*unused)++ > 0) return;
    snprintf(out->state + used, sizeof out->state - used, "; line %d is not used: %s", number, line->why);
}

/* Make room for one more. */
static bool grow(tuned_own *out)
{
    if (out->count == MOST_ROWS) return false;
    if (out->count % 16 != 0) return true;
    tuned_row *more = realloc(out->rows, (size_t)(out->count + 16) * sizeof *more);
    if (more != NULL) out->rows = more;
    return more != NULL;
}

void tuned_own_read(const tuned_signature *here, tuned_own *out)
{
    char path[4096], said[sizeof out->state];
    size_t bytes;
    int unused = 0, number = 1;
    *out = (tuned_own){.count = 0};
    if (!tuned_path(path, sizeof path)) {
        snprintf(out->state, sizeof out->state, "not tuned: %.600s", path);
        return;
    }
    char *text = read_whole(path, &bytes);
    if (text == NULL) {
        if (errno == ENOENT || errno == ENOTDIR)
            snprintf(out->state, sizeof out->state, "not tuned: there is no %.600s", path);
        else
            snprintf(out->state, sizeof out->state, "not tuned: %.400s cannot be used: %s", path,
                     errno == EFBIG ? "it is no regular file of at most 1 MiB" : strerror(errno));
        return;
    }
    for (size_t at = 0; at < bytes; number++) {
        const char *line = text + at, *end = memchr(line, '\n', bytes - at);
        const size_t length = end != NULL ? (size_t)(end - line) : bytes - at;
        tw_lab_tuned judged;
        tuned_row row;
        at += length + 1;
        if (length == 0 || line[0] == '#') continue;
        tuned_judge(line, length, here, &judged, &row);
        if (judged.state == TW_LAB_TUNED_ELSEWHERE || strcmp(judged.verdict, "better") != 0) {
            if (judged.state == TW_LAB_TUNED_DAMAGED) note_unused(out, &judged, number, &unused);
            continue;
        }
        if (judged.state != TW_LAB_TUNED_USED)
            note_unused(out, &judged, number, &unused);
        else if (grow(out))
            out->rows[out->count++] = row;
    }
    free(text);
    memcpy(said, out->state, sizeof said);
    snprintf(out->state, sizeof out->state, "%s%d row%s of %.300s%.330s",
             out->count > 0 ? "" : "not tuned: ", out->count, out->count == 1 ? "" : "s", path, said);
    if (unused > 1) {
        const size_t used = strlen(out->state);
        snprintf(out->state + used, sizeof out->state - used, "; nor %s %d more", unused == 2 ? "is" : "are",
                 unused - 1);
    }
}
