/* output.c - an output file that appears whole or not at all: written beside its target, renamed over it. */
#include "io_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

/* ".XXXXXX.NAME" in the folder of path: the ending stays, so that the file can be read under this name too.
 */
static void name_temporary(const char *path, unsigned attempt, char *out, size_t size)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    size_t length = strlen(name), cut = length > 200 ? length - 200 : 0;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t seed = ((uint64_t)now.tv_nsec << 24 ^ (uint64_t)getpid() << 8 ^ attempt) * 0x9e3779b97f4a7c15;
    char unique[7] = {0};
    for (int c = 0; c < 6; c++, seed /= 36) unique[c] = letters[(seed >> 8) % 36];
    snprintf(out, size, "%.*s.%s.%s", (int)(name - path), path, unique, name + cut);
}

/* path: as the caller named it. Not mkstemp: only open() itself applies the umask without a race against other
 * threads. */
static io_status make_temporary(io_output *output, const char *path, mode_t mode, io_error *error)
{
    size_t size = strlen(output->path) + sizeof ".XXXXXX.";
    char *temp_path = malloc(size);
    for (unsigned attempt = 0; temp_path != NULL && output->fd < 0 && attempt < 100; attempt++) {
        name_temporary(output->path, attempt, temp_path, size);
        output->fd = open(temp_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (output->fd < 0 && errno != EEXIST) break;
    }
    if (output->fd >= 0) output->temp_path = temp_path;
    if (output->fd >= 0 && (mode == 0 || fchmod(output->fd, mode & 0777) == 0)) return IO_OK;
    io_status status = output->fd < 0 && errno == ENOENT
                           ? io_cannot_open(path, error)
                           : io_cannot_write(path, "cannot be written: making a temporary file beside it failed",
                                             error);
    if (output->fd < 0) free(temp_path);
    return status;
}

io_status io_output_open(io_output *output, const char *path, io_error *error)
{
    *output = (io_output){.fd = -1};
    error->text[0] = '\0';
    size_t length = strlen(path);
    if (length == 0 || path[length - 1] == '/')
        return io_fail(error, IO_CANNOT_WRITE, path, "cannot be written: the name of a file is missing");
    mode_t mode;
    output->path = resolve(path, &mode, error);
    if (output->path == NULL) return IO_CANNOT_WRITE;
    io_status status = make_temporary(output, path, mode, error);
    if (status != IO_OK) io_output_discard(output);
    return status;
}

/* ---- writing ------------------------------------------------------------------------------------------- */

/* What C may be of. */
static bool is_written(io_type type)
{
    return type == IO_F64 || type == IO_F32 || type == IO_F16 || type == IO_BF16 || type == IO_I32 ||
           io_type_is_complex(type);
}

io_status io_output_write(io_output *output, io_format format, const io_matrix *matrix, io_error *error)
{
    error->text[0] = '\0';
    if (!is_written(matrix->type))
        return io_fail(error, IO_CANNOT_WRITE, output->path,
                       "elements of %s cannot be written, expected f32, f64, f16, bf16, cf32, cf64 or i32",
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

io_status io_output_commit(io_output *output, io_error *error)
{
    io_status status = IO_OK;
    error->text[0] = '\0';
    if (fsync(output->fd) != 0) status = io_cannot_write(output->path, "cannot be written", error);
    int fd = output->fd;
    output->fd = -1;
    if (close(fd) != 0 && errno != EINTR && status == IO_OK)
        status = io_cannot_write(output->path, "cannot be written", error);
    if (status == IO_OK && rename(output->temp_path, output->path) != 0)
        status = io_cannot_write(output->path, "the temporary file could not be renamed", error);
    if (status == IO_OK) {
        free(output->temp_path);
        output->temp_path = NULL;
    }
    io_output_discard(output);
    return status;
}

void io_output_discard(io_output *output)
{
    if (output->temp_path != NULL) {
        if (output->fd >= 0) close(output->fd);
        unlink(output->temp_path);
    }
    free(output->temp_path);
    free(output->path);
    *output = (io_output){.fd = -1};
}
