/* file.c - open files that others may write meanwhile. */
#include "io_internal.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BYTES, LINKS, WRITTEN_S, WRITTEN_NS, CHANGED_S, CHANGED_NS };

/* False: of no regular file. */
static bool see(int fd, int64_t seen[6])
{
    struct stat found;
    if (fstat(fd, &found) != 0 || !S_ISREG(found.st_mode)) return false;
    const int64_t now[6] = {found.st_size,         (int64_t)found.st_nlink, found.st_mtim.tv_sec,
                            found.st_mtim.tv_nsec, found.st_ctim.tv_sec,    found.st_ctim.tv_nsec};
    memcpy(seen, now, sizeof now);
    return true;
}

io_file io_file_open(int fd)
{
    io_file file = {.open = fd >= 0, .fd = fd};
    if (file.open && !see(fd, file.seen)) file.seen[BYTES] = -1;
    return file;
}

void io_file_close(io_file *file)
{
    if (file->open) close(file->fd);
    file->open = false;
}

io_status io_unchanged(const io_file *file, const char *path, io_error *error)
{
    int64_t now[6];
    error->text[0] = '\0';
    if (!file->open || file->seen[BYTES] < 0) return IO_OK;
    const size_t times = 2 * sizeof *now;
    if (see(file->fd, now) && now[BYTES] == file->seen[BYTES] &&
        memcmp(now + WRITTEN_S, file->seen + WRITTEN_S, times) == 0 &&
        (now[LINKS] != file->seen[LINKS] || memcmp(now + CHANGED_S, file->seen + CHANGED_S, times) == 0))
        return IO_OK;
    return io_fail(error, IO_BAD_FILE, path, "the file was changed while it was in use");
}
