/* tuned_store.c - see tuned_store.h. */
#define _DEFAULT_SOURCE /* flock */
#include "tuned_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>
#include "../io/io.h"
#include "../program/diag.h"
#include "../program/guard.h"

#define BEGIN "# Tuned rows of Tilewright"
static const char head[] = BEGIN ", written by `tilewright tune`: docs/REFERENCE.md says what they are.\n";

enum { MOST_BYTES = 64 << 20 }; /* of rows, and of what was tried */

static exit_code cannot(exit_code code, const char *path, const char *what)
{
    tame_name name;
    return diag(code, "%s: %s: %s", diag_name(path, name), what, strerror(errno));
}

void store_free(tuned_lines *lines)
{
    for (int i = 0; i < lines->count; i++) free(lines->lines[i]);
    free(lines->lines);
    free(lines->numbers);
    *lines = (tuned_lines){0};
}

static bool add_line(tuned_lines *out, const char *text, size_t length, int number)
{
    char **more = realloc(out->lines, (size_t)(out->count + 1) * sizeof *more), *line = malloc(length + 1);
    if (more != NULL) out->lines = more;
    int *numbers = realloc(out->numbers, (size_t)(out->count + 1) * sizeof *numbers);
    if (numbers != NULL) out->numbers = numbers;
    if (more == NULL || numbers == NULL || line == NULL) {
        free(line);
        return false;
    }
    memcpy(line, text, length);
    line[length] = '\0';
    out->numbers[out->count] = number;
    out->lines[out->count++] = line;
    return true;
}

/* A row that `tune` signed, or what damage left of it. */
static bool is_like_row(const char *line)
{
    static const char *const engines[] = {"cpu ", "opencl ", "cuda "};
    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++)
        if (strncmp(line, engines[i], strlen(engines[i])) == 0) return strstr(line, " | device=") != NULL;
    return false;
}

static bool may_write(const char *text, size_t bytes, const tuned_lines *lines)
{
    int rows = 0, notes = 0;
    if (bytes == 0 || (bytes >= sizeof BEGIN - 1 && memcmp(text, BEGIN, sizeof BEGIN - 1) == 0)) return true;
    for (int i = 0; i < lines->count; i++) rows += is_like_row(lines->lines[i]);
    for (size_t i = 0; i < bytes; i++) notes += text[i] == '#' && (i == 0 || text[i - 1] == '\n');
    return rows > 0 && 2 * rows >= lines->count + notes;
}

static exit_code split(char *text, size_t bytes, tuned_lines *out)
{
    int number = 1;
    for (size_t at = 0; at < bytes; number++) {
        const char *end = memchr(text + at, '\n', bytes - at);
        const size_t length = end != NULL ? (size_t)(end - text) - at : bytes - at;
        if (length > 0 && text[at] != '#' && !add_line(out, text + at, length, number)) {
            store_free(out);
            return diag_no_memory("the tuned rows");
        }
        at += length + 1;
    }
    out->is_ours = may_write(text, bytes, out);
    return EXIT_OK;
}

exit_code store_read(const char *path, bool may_miss, tuned_lines *out)
{
    *out = (tuned_lines){.is_ours = true};
    struct stat info;
    tame_name name;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return may_miss && (errno == ENOENT || errno == ENOTDIR) ? EXIT_OK
                                                                 : cannot(EXIT_INPUT, path, "cannot be opened");
    char *text = NULL;
    size_t bytes = 0;
    exit_code code = EXIT_OK;
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size > MOST_BYTES)
        code = diag(EXIT_INPUT, "%s: it is no regular file of at most 64 MiB", diag_name(path, name));
    else if ((text = malloc((size_t)info.st_size + 1)) == NULL)
        code = diag_no_memory("the tuned rows");
    while (code == EXIT_OK && text != NULL && bytes < (size_t)info.st_size) {
        const ssize_t got = read(fd, text + bytes, (size_t)info.st_size - bytes);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) code = cannot(EXIT_INPUT, path, "cannot be read");
        if (got <= 0) break;
        bytes += (size_t)got;
    }
    close(fd);
    if (code == EXIT_OK) code = split(text, bytes, out);
    free(text);
    return code;
}

/* ---- writing ---- */

static bool put(int fd, const char *text, size_t bytes)
{
    while (bytes > 0) {
        const ssize_t done = write(fd, text, bytes);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return false;
        text += done, bytes -= (size_t)done;
    }
    return true;
}

/* A temporary file beside it, then its name. */
static exit_code write_whole(const char *path, const tuned_lines *lines, const char *added)
{
    io_output output;
    io_error error;
    guard_hold();
    io_status status = io_output_open(&output, path, &error);
    if (status == IO_OK) guard_output(output.temp_path);
    guard_release();
    if (status != IO_OK) return diag_io(status, &error);
    bool written = put(output.fd, head, sizeof head - 1);
    for (int i = 0; written && i < lines->count; i++)
        written = put(output.fd, lines->lines[i], strlen(lines->lines[i])) && put(output.fd, "\n", 1);
    written = written && put(output.fd, added, strlen(added));
    const int cause = errno;
    guard_hold();
    if (written)
        status = io_output_commit(&output, &error);
    else
        io_output_discard(&output);
    guard_output(NULL);
    guard_release();
    errno = cause;
    if (!written) return cannot(EXIT_OUTPUT, path, "cannot be written");
    return status == IO_OK ? EXIT_OK : diag_io(status, &error);
}

/* Folders that are missing on the way to the file, for this user alone. EXIT_OUTPUT after a sentence. */
static exit_code make_folders(const char *path)
{
    char part[TUNED_PATH];
    struct stat info;
    tame_name name;
    for (const char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        if ((size_t)(slash - path) >= sizeof part) break;
        snprintf(part, sizeof part, "%.*s", (int)(slash - path), path);
        if (mkdir(part, 0700) == 0 || errno == EEXIST) continue;
        const int cause = errno;
        if (stat(part, &info) == 0) continue; /* a folder of a system that is read-only, say */
        return diag(EXIT_OUTPUT, "your rows cannot be kept: %s cannot be made: %s; TILEWRIGHT_TUNED names another file",
                    diag_name(part, name), strerror(cause));
    }
    return EXIT_OK;
}

/* "process 1234 (tilewright)": who holds the lock of this file, by the kernel's list. */
static void find_holder(int fd, char *text, size_t size)
{
    struct stat info;
    char line[256], name[64], comm[32] = "";
    unsigned major_number, minor_number;
    unsigned long long inode;
    int pid = 0;
    FILE *locks = fstat(fd, &info) == 0 ? fopen("/proc/locks", "re") : NULL;
    while (pid <= 0 && locks != NULL && fgets(line, sizeof line, locks) != NULL)
        if (sscanf(line, "%*d: FLOCK %*s WRITE %d %x:%x:%llu", &pid, &major_number, &minor_number, &inode) != 4 ||
            inode != info.st_ino || makedev(major_number, minor_number) != info.st_dev)
            pid = 0;
    if (locks != NULL) fclose(locks);
    snprintf(name, sizeof name, "/proc/%d/comm", pid);
    FILE *names = pid > 0 ? fopen(name, "re") : NULL;
    if (names != NULL && fgets(comm, sizeof comm, names) == NULL) comm[0] = '\0';
    if (names != NULL) fclose(names);
    comm[strcspn(comm, "\n")] = '\0';
    if (pid <= 0)
        snprintf(text, size, "another process");
    else
        snprintf(text, size, "process %d%s%s%s", pid, comm[0] != '\0' ? " (" : "", comm, comm[0] != '\0' ? ")" : "");
}

/* Held for some ms by a program that writes. EXIT_OUTPUT, after a sentence, where it does not come free. */
static exit_code await_lock(int fd, const char *name)
{
    enum { TELL_AFTER = 1, GIVE_UP_AFTER = 10, TRIES = 50 /* a second */ };
    char holder[80];
    tame_name tamed;
    for (int tries = 0; flock(fd, LOCK_EX | LOCK_NB) != 0; tries++) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return cannot(EXIT_OUTPUT, name, "your rows cannot be kept: their lock cannot be taken");
        if (tries == TELL_AFTER * TRIES || tries == GIVE_UP_AFTER * TRIES) find_holder(fd, holder, sizeof holder);
        if (tries == TELL_AFTER * TRIES)
            diag(EXIT_OK, "%s: waiting for %s, which holds this lock", diag_name(name, tamed), holder);
        if (tries == GIVE_UP_AFTER * TRIES)
            return diag(EXIT_OUTPUT, "%s: your rows cannot be kept: %s has held their lock for %d s",
                        diag_name(name, tamed), holder, GIVE_UP_AFTER);
        nanosleep(&(struct timespec){.tv_nsec = 1000000000 / TRIES}, NULL);
    }
    return EXIT_OK;
}

/* The lock of a file of that name, which stands beside it; -1 after a sentence. */
static int lock(const char *path)
{
    char name[TUNED_PATH + 8];
    if (make_folders(path) != EXIT_OK) return -1;
    snprintf(name, sizeof name, "%s.lock", path);
    const int fd = open(name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (fd < 0)
        cannot(EXIT_OUTPUT, name,
               errno == ELOOP ? "your rows cannot be kept: their lock is a link"
                              : "your rows cannot be kept: their lock cannot be made");
    if (fd < 0 || await_lock(fd, name) == EXIT_OK) return fd;
    close(fd);
    return -1;
}

/* The lines of a file that may be written again. */
static exit_code read_ours(const char *path, tuned_lines *out)
{
    tame_name name;
    const exit_code code = store_read(path, true, out);
    if (code != EXIT_OK || out->is_ours) return code;
    store_free(out);
    return diag(EXIT_OUTPUT,
                "%s holds something else than tuned rows: it stays as it is; TILEWRIGHT_TUNED names another file",
                diag_name(path, name));
}

exit_code store_ours(const char *path)
{
    tuned_lines lines;
    const exit_code code = read_ours(path, &lines);
    store_free(&lines);
    return code;
}

exit_code store_beside(const char *path)
{
    struct stat info;
    tame_name name;
    if (lstat(path, &info) == 0 && S_ISLNK(info.st_mode) && stat(path, &info) != 0 && errno == ENOENT)
        return diag(EXIT_OUTPUT, "%s: is a dangling link, which is not followed: remove it", diag_name(path, name));
    return store_ours(path);
}

exit_code store_replace(const char *path, bool (*goes)(void *job, const char *line), void *job, const char *added,
                        int *gone)
{
    tuned_lines lines;
    int kept = 0;
    exit_code code = store_ours(path); /* before a lock is made beside it */
    if (code != EXIT_OK) return code;
    const int fd = lock(path);
    if (fd < 0) return EXIT_OUTPUT;
    code = read_ours(path, &lines);
    if (code == EXIT_OK) {
        const int count = lines.count;
        for (int i = 0; i < count; i++)
            if (goes(job, lines.lines[i]))
                free(lines.lines[i]);
            else
                lines.lines[kept++] = lines.lines[i];
        lines.count = kept;
        if (gone != NULL) *gone = count - kept;
        code = write_whole(path, &lines, added);
    }
    store_free(&lines);
    close(fd); /* and the lock with it */
    return code;
}

static bool none_goes(void *job, const char *line)
{
    (void)job, (void)line;
    return false;
}

bool store_is_read_only(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && (info.st_mode & 0222) == 0;
}

exit_code store_writable(const char *path)
{
    tame_name name;
    return store_is_read_only(path)
               ? diag(EXIT_OUTPUT, "%s: the file is read-only: chmod u+w makes it writable", diag_name(path, name))
               : EXIT_OK;
}

exit_code store_check(const char *path)
{
    const exit_code code = store_writable(path);
    return code == EXIT_OK ? store_replace(path, none_goes, NULL, "", NULL) : code;
}

exit_code store_append(const char *path, const char *line)
{
    char text[4096];
    const int length = snprintf(text, sizeof text, "%s\n", line), held = lock(path);
    if (held < 0) return EXIT_OUTPUT;
    const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    const ssize_t done = fd >= 0 ? write(fd, text, (size_t)length) : -1;
    const int cause = done < 0 ? errno : ENOSPC;
    if (fd >= 0) close(fd);
    close(held);
    errno = cause;
    return done == length ? EXIT_OK : cannot(EXIT_OUTPUT, path, "cannot be written");
}

exit_code store_write(const char *path, const tuned_lines *lines) { return write_whole(path, lines, ""); }
