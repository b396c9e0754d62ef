/* output.c - an output file that appears whole or not at all: without a name until it is whole, or under another one
 * beside its target (docs/decisions/0010-outputs-that-destroy-nothing.md). */
#define _GNU_SOURCE /* O_TMPFILE */
#include "io_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- opening ------------------------------------------------------------------------------------------- */

/* What a symbolic link holds, as a path from here. NULL: errno says why. */
static char *target_of(const char *link)
{
    char target[PATH_MAX];
    ssize_t length = readlink(link, target, sizeof target - 1);
    if (length < 0) return NULL;
    const char *slash = strrchr(link, '/');
    int folder = target[0] == '/' || slash == NULL ? 0 : (int)(slash + 1 - link);
    size_t size = (size_t)folder + (size_t)length + 1;
    char *path = malloc(size);
    if (path != NULL) snprintf(path, size, "%.*s%.*s", folder, link, (int)length, target);
    return path;
}

char *io_follow(const char *path)
{
    enum { MOST_LINKS = 40 };
    struct stat found;
    if (lstat(path, &found) == 0 && S_ISLNK(found.st_mode) && stat(path, &found) == 0) return realpath(path, NULL);
    char *name = strdup(path);
    for (int links = 0; name != NULL && lstat(name, &found) == 0 && S_ISLNK(found.st_mode); links++) {
        char *next = links < MOST_LINKS ? target_of(name) : NULL;
        if (links == MOST_LINKS) errno = ELOOP;
        free(name);
        name = next;
    }
    return name;
}

io_status io_cannot_open(const char *path, io_error *error)
{
    int number = errno;
    struct stat found;
    char *name = io_follow(path), *slash = name != NULL ? strrchr(name, '/') : NULL;
    io_status status = IO_OK;
    if (slash != NULL && slash > name) {
        *slash = '\0';
        const char *wrong = stat(name, &found) == 0               ? (S_ISDIR(found.st_mode) ? NULL : "is not a folder")
                            : errno == ENOENT || errno == ENOTDIR ? "does not exist"
                                                                  : NULL;
        if (wrong != NULL)
            status = io_fail(error, IO_CANNOT_WRITE, path, "cannot be written: the folder %s %s", name, wrong);
    }
    free(name);
    errno = number;
    return status != IO_OK ? status : io_cannot_write(path, "cannot be written", error);
}

/* The file that will be replaced or made: path, or what a link leads to, so that the link stays. *mode is its mode,
 * or 0 where there is none yet. NULL, with a sentence, where it is anything but a regular file. */
static char *resolve(const char *path, mode_t *mode, io_error *error)
{
    struct stat found = {0};
    bool exists = stat(path, &found) == 0;
    char *real = exists || errno == ENOENT ? io_follow(path) : NULL;
    if (real == NULL) {
        io_cannot_open(path, error);
    } else if (exists && !S_ISREG(found.st_mode)) {
        io_fail(error, IO_CANNOT_WRITE, path, "cannot be written: it is %s, expected a regular file or none",
                S_ISDIR(found.st_mode) ? "a directory" : "a device, pipe or socket");
    } else {
        *mode = found.st_mode;
        return real;
    }
    free(real);
    return NULL;
}

/* ---- temporary names ----------------------------------------------------------------------------------- */

/* ".tilewright-BOOT-LETTERS.END": BOOT is of the kernel's boot_id and the mounted file system, END is the end of the
 * output's name, so that the file can be read under this name too. Its maker holds a flock on it until it has its own
 * name. Without a lock it is ".LETTERS.END", which nobody sweeps. */
static const char mark[] = ".tilewright-", letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
enum { BOOT = 8, LETTERS = 12, MOST_END = 200, MORE = sizeof mark + BOOT + 1 + LETTERS + 1 };

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static const char *end_of(const char *path)
{
    const size_t length = strlen(name_of(path));
    return name_of(path) + (length > MOST_END ? length - MOST_END : 0);
}

/* "" where that is longer than a path may be: nothing can be opened there. */
static void folder_of(const char *path, char folder[PATH_MAX])
{
    const int length = (int)(name_of(path) - path);
    if (snprintf(folder, PATH_MAX, "%.*s", length > 0 ? length : 1, length > 0 ? path : ".") >= PATH_MAX)
        folder[0] = '\0';
}

/* BOOT names one kernel and one mount, within which all locks are visible. Locks of other hosts may not be, nor those
 * of another mount of the same file system (FUSE). "": unknown. */
static void find_boot(const char *path, char boot[BOOT + 1])
{
    char folder[PATH_MAX];
    struct stat found;
    unsigned number;
    folder_of(path, folder);
    const int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    boot[0] = boot[BOOT] = '\0';
    if (fd < 0) return;
    if (read(fd, boot, BOOT) != BOOT || sscanf(boot, "%8x", &number) != 1 || stat(folder, &found) != 0)
        boot[0] = '\0';
    else
        snprintf(boot, BOOT + 1, "%08x", number ^ (unsigned)found.st_dev);
    close(fd);
}

static void name_temporary(const char *path, bool swept, unsigned attempt, char *out, size_t size)
{
    struct timespec now;
    char boot[BOOT + 1] = "", unique[LETTERS + 1] = {0};
    if (swept) find_boot(path, boot);
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t seed = (uint64_t)now.tv_sec << 40 ^ (uint64_t)now.tv_nsec << 24 ^ (uint64_t)getpid() << 8 ^ attempt;
    for (int c = 0; c < LETTERS; c++) {
        seed = (seed ^ seed >> 31) * 0x9e3779b97f4a7c15;
        unique[c] = letters[(seed >> 40) % 36];
    }
    snprintf(out, size, "%.*s%s%s%s%s.%s", (int)(name_of(path) - path), path, boot[0] != '\0' ? mark : ".", boot,
             boot[0] != '\0' ? "-" : "", unique, end_of(path));
}

/* ---- what dead processes left -------------------------------------------------------------------------- */

/* how: LOCK_EX for the file's maker, LOCK_SH for a sweeper. False with EWOULDBLOCK: another process holds a lock that
 * excludes it; false with another errno: this file system has no locks. */
static bool lock(int fd, int how)
{
    int held;
    do held = flock(fd, how | LOCK_NB);
    while (held != 0 && errno == EINTR);
    return held == 0;
}

/* Is the open file still the one of that name? */
static bool has_name(int fd, int folder, const char *name)
{
    struct stat opened, named;
    return fstat(fd, &opened) == 0 && fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

static bool is_temporary(const char *name, const char *boot, const char *end)
{
    char begin[sizeof mark + BOOT + 1];
    const size_t length = (size_t)snprintf(begin, sizeof begin, "%s%s-", mark, boot);
    return strncmp(name, begin, length) == 0 && strspn(name + length, letters) == LETTERS &&
           name[length + LETTERS] == '.' && strcmp(name + length + LETTERS + 1, end) == 0;
}

/* LOCK_SH, since on NFS a descriptor that only reads can have no other lock. */
static void sweep_one(int folder, const char *name)
{
    struct stat found;
    const int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) return;
    if (fstat(fd, &found) == 0 && S_ISREG(found.st_mode) && found.st_uid == geteuid() && lock(fd, LOCK_SH) &&
        has_name(fd, folder, name))
        unlinkat(folder, name, 0);
    close(fd);
}

/* In a folder of more names, which may take seconds to list, not all are looked at. */
static void sweep(const char *path)
{
    enum { MOST_NAMES = 20000 };
    char folder[PATH_MAX], boot[BOOT + 1];
    find_boot(path, boot);
    folder_of(path, folder);
    DIR *names = boot[0] != '\0' ? opendir(folder) : NULL;
    if (names == NULL) return;
    const struct dirent *each = readdir(names);
    for (int n = 0; n < MOST_NAMES && each != NULL; n++, each = readdir(names))
        if (is_temporary(each->d_name, boot, end_of(path))) sweep_one(dirfd(names), each->d_name);
    closedir(names);
}

/* ---- the file until it has its name -------------------------------------------------------------------- */

/* A file without a name, beside path, and where it is found meanwhile; -1 where there are no such files or no /proc. */
static int open_unnamed(const char *path, char unnamed[IO_UNNAMED])
{
    char folder[PATH_MAX];
    folder_of(path, folder);
    const int fd = open(folder, O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
    snprintf(unnamed, IO_UNNAMED, "/proc/self/fd/%d", fd);
    struct stat opened, found;
    if (fd >= 0 && fstat(fd, &opened) == 0 && stat(unnamed, &found) == 0 && opened.st_dev == found.st_dev &&
        opened.st_ino == found.st_ino)
        return fd;
    if (fd >= 0) close(fd);
    unnamed[0] = '\0';
    return -1;
}

/* Kernels before 6.0 may ignore the umask for an unnamed file. So its mode is compared with that of a named file. */
static bool has_usual_mode(int fd, const char *name)
{
    struct stat found, usual;
    if (fstat(fd, &found) != 0 || (found.st_mode & 0777) != 0666) return true;
    const int other = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    const bool same = other >= 0 && fstat(other, &usual) == 0 && usual.st_mode == found.st_mode;
    if (other >= 0) unlink(name), close(other);
    return same;
}

/* Can an unnamed file get a name here? Tried with a second file, since a file that lost its name cannot get another. */
static bool can_be_named(const char *path, const char *temp_path)
{
    char unnamed[IO_UNNAMED];
    const int fd = open_unnamed(path, unnamed);
    const bool can = fd >= 0 && linkat(AT_FDCWD, unnamed, AT_FDCWD, temp_path, AT_SYMLINK_FOLLOW) == 0;
    if (can) unlink(temp_path);
    const bool usual = can && has_usual_mode(fd, temp_path);
    if (fd >= 0) close(fd);
    return usual;
}

/* -1 and EEXIST: another name must be tried. *swept: false from then on where the file cannot be locked. */
static int open_named(const char *name, bool *swept)
{
    const int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 || !*swept) return fd;
    const bool locked = lock(fd, LOCK_EX);
    if (locked && has_name(fd, AT_FDCWD, name)) return fd;
    *swept = locked || errno == EWOULDBLOCK; /* it was swept between the two calls, or will be */
    if (!*swept) unlink(name);
    close(fd);
    errno = EEXIST;
    return -1;
}

/* Not mkstemp: only open() itself applies the umask without a race against other threads. A file that others open is
 * not locked: on NFS the lock would keep MPI's locks of its parts waiting. */
static void make_temporary(io_output *output, bool named)
{
    const size_t size = strlen(output->path) + MORE;
    bool swept = !named;
    output->temp_path = malloc(size);
    if (output->temp_path == NULL) return;
    name_temporary(output->path, swept, 0, output->temp_path, size);
    if (!named && can_be_named(output->path, output->temp_path))
        output->fd = open_unnamed(output->path, output->unnamed);
    if (output->fd >= 0) /* the first name was seen: another user may have taken it */
        name_temporary(output->path, lock(output->fd, LOCK_EX), 1, output->temp_path, size);
    for (unsigned attempt = 1; output->fd < 0 && attempt < 100; attempt++) {
        name_temporary(output->path, swept, attempt, output->temp_path, size);
        output->fd = open_named(output->temp_path, &swept);
        if (output->fd < 0 && errno != EEXIST) return;
    }
}

static io_status open_output(io_output *output, const char *path, bool named, io_error *error)
{
    *output = (io_output){.fd = -1};
    error->text[0] = '\0';
    size_t length = strlen(path);
    if (length == 0 || path[length - 1] == '/')
        return io_fail(error, IO_CANNOT_WRITE, path, "cannot be written: the name of a file is missing");
    mode_t mode;
    output->path = resolve(path, &mode, error);
    if (output->path == NULL) return IO_CANNOT_WRITE;
    sweep(output->path);
    make_temporary(output, named);
    io_status status = IO_OK;
    if (output->fd < 0 && errno == ENOENT)
        status = io_cannot_open(path, error);
    else if (output->fd < 0 || (mode != 0 && fchmod(output->fd, mode & 0777) != 0))
        status = io_cannot_write(path, "cannot be written: making a temporary file beside it failed", error);
    if (status != IO_OK) io_output_discard(output);
    return status;
}

io_status io_output_open(io_output *output, const char *path, io_error *error)
{
    return open_output(output, path, false, error);
}

io_status io_output_open_named(io_output *output, const char *path, io_error *error)
{
    return open_output(output, path, true, error);
}

const char *io_output_readable(const io_output *output)
{
    return output->unnamed[0] != '\0' ? output->unnamed : output->temp_path;
}

/* ---- writing ------------------------------------------------------------------------------------------- */

/* What C may be of. */
static bool is_written(io_type type) { return io_type_bytes(type) > 1 || io_type_is_integer(type); }

io_status io_output_write(io_output *output, io_format format, const io_matrix *matrix, io_error *error)
{
    error->text[0] = '\0';
    if (!is_written(matrix->type))
        return io_fail(error, IO_CANNOT_WRITE, output->path,
                       "elements of %s cannot be written, expected integers or a type of 2 bytes or more",
                       io_type_name(matrix->type));
    switch (format) {
    case IO_FORMAT_NPY: return npy_write(output, matrix, error);
    case IO_FORMAT_MTX: return mtx_write(output, matrix, error);
    case IO_FORMAT_RAW: return raw_write(output, matrix, error);
    case IO_FORMAT_NONE: break;
    }
    return io_fail(error, IO_CANNOT_WRITE, output->path,
                   "the name does not say the format, expected the ending .npy, .mtx, .raw or .bin");
}

/* ---- ending -------------------------------------------------------------------------------------------- */

int io_output_name(const char *unnamed, const char *temp_path, const char *path)
{
    if (unnamed[0] != '\0') {
        if (linkat(AT_FDCWD, unnamed, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0) return 0;
        if (errno != EEXIST || linkat(AT_FDCWD, unnamed, AT_FDCWD, temp_path, AT_SYMLINK_FOLLOW) != 0) return -1;
    }
    return rename(temp_path, path);
}

/* Some file systems report errors only at close(). So a second descriptor is closed; the first keeps the lock. */
io_status io_output_commit(io_output *output, io_error *error)
{
    io_status status = IO_OK;
    error->text[0] = '\0';
    if (fsync(output->fd) != 0 || (close(dup(output->fd)) != 0 && errno != EINTR))
        status = io_cannot_write(output->path, "cannot be written", error);
    else if (io_output_name(output->unnamed, output->temp_path, output->path) != 0)
        status = io_cannot_write(output->path, "the file could not be given its name", error);
    if (status == IO_OK) {
        free(output->temp_path);
        output->temp_path = NULL;
    }
    io_output_discard(output);
    return status;
}

void io_output_discard(io_output *output)
{
    if (output->path != NULL && output->fd >= 0) {
        close(output->fd);
        if (output->temp_path != NULL) unlink(output->temp_path);
    }
    free(output->temp_path);
    free(output->path);
    *output = (io_output){.fd = -1};
}
