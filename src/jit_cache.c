/* jit_cache.c - the folder of compiled kernels: checked at every open, files with a checksum, published by rename.
 * After the check the folder is a descriptor: whoever puts another in its place redirects nothing. */
#define _GNU_SOURCE /* secure_getenv, dladdr, O_PATH */
#include "jit_cache.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "sha256.h"

enum { NAME = 80 }; /* of a file in the folder */

struct jit_cache {
    char folder[3072];
    char state[3584];
    int fd; /* the folder, O_PATH; -1: nothing is kept, state says why */
    dev_t device;
    ino_t inode;
    bool ahead;        /* only read, may be root's */
    atomic_llong room; /* bytes that may be written before the folder's files are counted again */
};

/* A file: this header, then the binary. */
typedef struct file_header {
    char magic[16];
    uint64_t bytes;
    char checksum[64]; /* of the binary */
} file_header;

static const char magic[16] = "tilewright jit 1";

static jit_cache *make_cache(bool ahead)
{
    jit_cache *cache = calloc(1, sizeof *cache);
    if (cache != NULL) cache->fd = -1, cache->ahead = ahead;
    return cache;
}

/* The descriptor of the folder; -1 where there is none, or where the program has closed what it did not open and the
 * number means something else by now. */
static int folder_of(const jit_cache *cache)
{
    struct stat now;
    if (cache == NULL || cache->fd < 0 || fstat(cache->fd, &now) != 0) return -1;
    return now.st_dev == cache->device && now.st_ino == cache->inode ? cache->fd : -1;
}

/* fd is the folder from now on. */
static void take(jit_cache *cache, int fd, const struct stat *info)
{
    cache->fd = fd, cache->device = info->st_dev, cache->inode = info->st_ino;
    snprintf(cache->state, sizeof cache->state, "%s", cache->folder);
}

static void refuse(jit_cache *cache, const char *why)
{
    snprintf(cache->state, sizeof cache->state,
             "compiled kernels are not kept: %s %s; TILEWRIGHT_CACHE names another folder", cache->folder, why);
}

static void refuse_because(jit_cache *cache, const char *what, int error)
{
    char why[200];
    snprintf(why, sizeof why, "%scannot be used: %s", what, strerror(error));
    refuse(cache, why);
}

/* Where the folder is to be, how many bytes of that path must be there already, and which variable they are of: HOME
 * and XDG_CACHE_HOME are not made, and must be this user's, as all below them. false: state says why. */
static bool choose_folder(jit_cache *cache, size_t *there, const char **variable)
{
    const char *own = secure_getenv("TILEWRIGHT_CACHE"), *xdg = secure_getenv("XDG_CACHE_HOME"),
               *home = secure_getenv("HOME"), *base = "", *below = own;
    if (own != NULL && strcmp(own, "off") == 0) {
        snprintf(cache->state, sizeof cache->state, "compiled kernels are not kept: TILEWRIGHT_CACHE is off");
        return false;
    }
    if (own != NULL && own[0] != '\0' && own[0] != '/') {
        snprintf(cache->state, sizeof cache->state,
                 "compiled kernels are not kept: TILEWRIGHT_CACHE is %.200s, not an absolute path", own);
        return false;
    }
    if (own != NULL && own[0] == '/')
        *variable = "TILEWRIGHT_CACHE";
    else if (xdg != NULL && xdg[0] == '/')
        *variable = "XDG_CACHE_HOME", base = xdg, below = "/tilewright";
    else if (home != NULL && home[0] == '/')
        *variable = "HOME", base = home, below = "/.cache/tilewright";
    else {
        snprintf(
            cache->state, sizeof cache->state,
            "compiled kernels are not kept: none of TILEWRIGHT_CACHE, XDG_CACHE_HOME and HOME is an absolute path");
        return false;
    }
    *there = strlen(base);
    if (snprintf(cache->folder, sizeof cache->folder, "%s%s", base, below) < (int)sizeof cache->folder) return true;
    cache->folder[0] = '\0';
    snprintf(cache->state, sizeof cache->state,
             "compiled kernels are not kept: the path of the cache folder is longer than %zu bytes",
             sizeof cache->folder);
    return false;
}

/* Does the folder belong to another user? A folder that root makes in another user's HOME would lock out its owner. */
static bool is_foreign(int folder)
{
    struct stat info;
    return fstat(folder, &info) == 0 && info.st_uid != geteuid();
}

/* Open the folder at cache->folder + there below `base`, which is closed. What is missing is made, for this user only;
 * the last part may be no link. foreign not NULL: nothing is opened or made in another user's folder; *foreign is true
 * then, and cache->folder is cut to that folder. -1: so, or errno says why. */
static int make_below(jit_cache *cache, int base, size_t there, bool *foreign)
{
    char name[sizeof cache->folder];
    for (char *path = cache->folder + there; base >= 0 && *(path += strspn(path, "/")) != '\0';) {
        if (foreign != NULL && (*foreign = is_foreign(base))) {
            close(base);
            path[-1] = '\0';
            return -1;
        }
        int length = (int)strcspn(path, "/");
        snprintf(name, sizeof name, "%.*s", length, path);
        path += length;
        int how = O_PATH | O_DIRECTORY | O_CLOEXEC | (path[strspn(path, "/")] == '\0' ? O_NOFOLLOW : 0),
            next = openat(base, name, how);
        if (next < 0 && errno == ENOENT && (mkdirat(base, name, 0700) == 0 || errno == EEXIST))
            next = openat(base, name, how);
        int cause = errno;
        close(base);
        errno = cause;
        base = next;
    }
    return base;
}

/* Make a file in the folder, named `stem`, a point and six digits that no other has. -1: errno says why. */
static int create(int folder, const char *stem, char name[NAME])
{
    enum { TRIES = 1000 };
    struct timespec now;
    int fd = -1;
    clock_gettime(CLOCK_MONOTONIC, &now);
    for (unsigned i = 0; i < TRIES && fd < 0 && (i == 0 || errno == EEXIST); i++) {
        snprintf(name, NAME, "%.68s.%06x", stem, ((unsigned)now.tv_nsec + i) & 0xffffff);
        fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    }
    return fd;
}

/* Does a small file fit? A full disk is better found now than at every kernel. errno says why not. */
static bool takes_a_file(int folder)
{
    char name[NAME], block[4096] = {0};
    int fd = create(folder, "try", name);
    if (fd < 0) return false;
    ssize_t written = write(fd, block, sizeof block);
    int cause = written < 0 ? errno : ENOSPC;
    close(fd);
    unlinkat(folder, name, 0);
    errno = cause;
    return written == (ssize_t)sizeof block;
}

jit_cache *jit_cache_open(void)
{
    struct stat info;
    size_t there;
    const char *variable;
    jit_cache *cache = make_cache(false);
    if (cache == NULL || !choose_folder(cache, &there, &variable)) return cache;
    char base[sizeof cache->folder + 1];
    snprintf(base, sizeof base, "%.*s/", (int)there, cache->folder);
    int fd = open(base, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        char what[40];
        snprintf(what, sizeof what, "(%s) ", variable);
        cache->folder[there] = '\0';
        refuse_because(cache, what, errno);
        return cache;
    }
    bool foreign = false;
    fd = make_below(cache, fd, there, there > 0 ? &foreign : NULL);
    if (foreign)
        refuse(cache, "belongs to another user");
    else if (fd < 0 && errno == ENOTDIR)
        refuse(cache, "is not a folder (a link is not followed)");
    else if (fd < 0 || fstat(fd, &info) != 0)
        refuse_because(cache, "", errno);
    else if (is_foreign(fd))
        refuse(cache, "belongs to another user");
    else if ((info.st_mode & 077) != 0)
        refuse(cache, "can be reached by other users: chmod 700 makes it usable");
    else if (faccessat(fd, ".", W_OK | X_OK, 0) != 0)
        refuse(cache, "is not writable");
    else if (!takes_a_file(fd))
        refuse_because(cache, "", errno);
    else
        take(cache, fd, &info);
    if (fd >= 0 && cache->fd < 0) close(fd);
    return cache;
}

/* Beside the program or the shared library, whichever holds this code, links followed; else where an installed program
 * has its libraries. */
static void folder_beside_us(jit_cache *cache)
{
    static const char *const places[] = {"tilewright-kernels", LIBRARIES_FROM_PROGRAMS "/tilewright-kernels"};
    Dl_info us, program;
    const bool in_program = dladdr((void *)(uintptr_t)jit_cache_open_ahead, &us) == 0 || /* linked statically */
                            (dladdr((void *)(uintptr_t)getauxval(AT_PHDR), &program) != 0 &&
                             us.dli_fbase == program.dli_fbase);
    /* for the program dli_fname is what it was called by */
    char *path = realpath(in_program ? "/proc/self/exe" : us.dli_fname, NULL),
         *slash = path != NULL ? strrchr(path, '/') : NULL;
    for (size_t i = 0; slash != NULL && cache->folder[0] == '\0' && i < sizeof places / sizeof *places; i++) {
        char place[4200]; /* realpath() gives 4095 at most */
        snprintf(place, sizeof place, "%.*s/%s", (int)(slash - path), path, places[i]);
        char *found = realpath(place, NULL);
        if (found != NULL) snprintf(cache->folder, sizeof cache->folder, "%.3000s", found);
        free(found);
    }
    free(path);
}

jit_cache *jit_cache_open_ahead(void)
{
    const char *named = secure_getenv("TILEWRIGHT_KERNELS"), *why = NULL;
    struct stat info;
    jit_cache *cache = make_cache(true);
    if (cache == NULL) return NULL;
    bool is_named = named != NULL && named[0] != '\0';
    if (is_named)
        snprintf(cache->folder, sizeof cache->folder, "%.3000s", named);
    else
        folder_beside_us(cache);
    int fd = cache->folder[0] == '/' ? open(cache->folder, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    if (cache->folder[0] != '/')
        why = is_named ? "is not an absolute path" : NULL;
    else if (fd < 0 && errno == ENOTDIR)
        why = "is not a folder";
    else if (fd < 0 || fstat(fd, &info) != 0)
        why = is_named ? strerror(errno) : NULL;
    else if (info.st_uid != geteuid() && info.st_uid != 0)
        why = "belongs neither to this user nor to root";
    else if ((info.st_mode & 022) != 0)
        why = "can be written by other users: chmod go-w makes it usable";
    else
        take(cache, fd, &info);
    if (why != NULL) snprintf(cache->state, sizeof cache->state, "none: %s %s", cache->folder, why);
    if (fd >= 0 && cache->fd < 0) close(fd);
    return cache;
}

bool jit_cache_usable(const jit_cache *cache) { return folder_of(cache) >= 0; }

void jit_cache_close(jit_cache *cache)
{
    int fd = folder_of(cache);
    if (fd >= 0) close(fd);
    free(cache);
}

const char *jit_cache_state(const jit_cache *cache)
{
    return cache != NULL ? cache->state : "compiled kernels are not kept: no memory";
}

jit_key jit_key_of(int count, const char *const *pieces)
{
    jit_key key;
    sha256 sum;
    sha256_init(&sum);
    for (int i = -1; i < count; i++) {
        const char *piece = i < 0 ? tw_version() : pieces[i];
        sha256_add(&sum, piece, strlen(piece) + 1); /* with its end, so that pieces cannot run into each other */
    }
    sha256_hex(&sum, key.hex);
    return key;
}

static void checksum_of(const void *binary, size_t bytes, char checksum[64])
{
    char hex[65];
    sha256 sum;
    sha256_init(&sum);
    sha256_add(&sum, binary, bytes);
    sha256_hex(&sum, hex);
    memcpy(checksum, hex, 64);
}

/* The whole binary behind the header of an open file, or NULL where anything is not as it should be. */
static void *read_binary(FILE *file, bool ahead, size_t *bytes)
{
    enum { MOST = 1 << 28 };
    struct stat info;
    file_header header;
    char checksum[64];
    if (fstat(fileno(file), &info) != 0 || !S_ISREG(info.st_mode) || (info.st_mode & 022) != 0) return NULL;
    if (info.st_uid != geteuid() && !(ahead && info.st_uid == 0)) return NULL;
    if (fread(&header, sizeof header, 1, file) != 1 || memcmp(header.magic, magic, sizeof magic) != 0) return NULL;
    if (header.bytes == 0 || header.bytes > MOST || (uint64_t)info.st_size != sizeof header + header.bytes) return NULL;
    void *binary = malloc((size_t)header.bytes);
    if (binary == NULL) return NULL;
    if (fread(binary, (size_t)header.bytes, 1, file) == 1) {
        checksum_of(binary, (size_t)header.bytes, checksum);
        if (memcmp(checksum, header.checksum, sizeof checksum) == 0) {
            *bytes = (size_t)header.bytes;
            return binary;
        }
    }
    free(binary);
    return NULL;
}

void *jit_cache_get(const jit_cache *cache, const jit_key *key, size_t *bytes)
{
    char name[NAME];
    snprintf(name, sizeof name, "%s.bin", key->hex);
    /* a FIFO is not waited for */
    int fd = openat(folder_of(cache), name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    FILE *file = fd >= 0 ? fdopen(fd, "rb") : NULL;
    if (file == NULL) {
        if (fd >= 0) close(fd);
        return NULL;
    }
    void *binary = read_binary(file, cache->ahead, bytes);
    if (binary != NULL && !cache->ahead) futimens(fd, NULL); /* used now: see make_room() */
    fclose(file);
    return binary;
}

typedef struct kept_file {
    char name[NAME];
    int64_t bytes;
    struct timespec used;
} kept_file;

static int older(const void *one, const void *two)
{
    const struct timespec *a = &((const kept_file *)one)->used, *b = &((const kept_file *)two)->used;
    if (a->tv_sec != b->tv_sec) return a->tv_sec < b->tv_sec ? -1 : 1;
    return a->tv_nsec < b->tv_nsec ? -1 : a->tv_nsec > b->tv_nsec;
}

/* A name that jit_cache_put() gives: 64 hexadecimal digits, ".bin", and ".XXXXXX" behind that while the file is being
 * written. Nothing else in the folder is ours to remove. */
static int is_ours(const char *name)
{
    size_t length = strlen(name);
    return strspn(name, "0123456789abcdef") == 64 && strncmp(name + 64, ".bin", 4) == 0 &&
           (length == 68 || (length == 75 && name[68] == '.'));
}

/* Our files in the folder: how many, *list for free(). A temporary file of the last hour may still be written: it is
 * left out. */
static size_t list_files(DIR *folder, kept_file **list)
{
    enum { AN_HOUR = 3600 };
    const struct dirent *entry;
    struct stat info;
    size_t count = 0, room = 0;
    *list = NULL;
    while ((entry = readdir(folder)) != NULL) {
        if (!is_ours(entry->d_name) || fstatat(dirfd(folder), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(info.st_mode))
            continue;
        if (strlen(entry->d_name) > 68 && info.st_mtim.tv_sec > time(NULL) - AN_HOUR) continue;
        if (count == room) {
            kept_file *more = realloc(*list, (room = 2 * room + 64) * sizeof **list);
            if (more == NULL) break;
            *list = more;
        }
        kept_file *file = &(*list)[count++];
        *file = (kept_file){.bytes = info.st_size, .used = info.st_mtim};
        memcpy(file->name, entry->d_name, strlen(entry->d_name) + 1);
    }
    return count;
}

/* Other processes write too: the files are counted again when half of what is free has been written. */
static void make_room(jit_cache *cache, int folder_fd)
{
    kept_file *list;
    int64_t all = 0;
    int fd = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* to be read, which O_PATH is not */
    DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
    if (folder == NULL) {
        if (fd >= 0) close(fd);
        return;
    }
    size_t count = list_files(folder, &list);
    for (size_t i = 0; i < count; i++) all += list[i].bytes;
    if (all > JIT_CACHE_MOST_BYTES) {
        qsort(list, count, sizeof *list, older);
        /* the newest stays, whatever its size */
        for (size_t i = 0; i + 1 < count && all > JIT_CACHE_MOST_BYTES / 4 * 3; i++) {
            unlinkat(folder_fd, list[i].name, 0);
            all -= list[i].bytes;
        }
    }
    atomic_store(&cache->room, (JIT_CACHE_MOST_BYTES - all) / 2);
    free(list);
    closedir(folder);
}

/* Write a file of its own, then give it its name. errno says why not. */
static bool publish(int folder, const jit_key *key, const void *binary, size_t bytes)
{
    char name[NAME], temporary[NAME];
    snprintf(name, sizeof name, "%s.bin", key->hex);
    int fd = create(folder, name, temporary);
    if (fd < 0) return false;
    FILE *file = fdopen(fd, "wb");
    file_header header = {.bytes = bytes};
    memcpy(header.magic, magic, sizeof magic);
    checksum_of(binary, bytes, header.checksum);
    bool written = file != NULL && fwrite(&header, sizeof header, 1, file) == 1 && fwrite(binary, bytes, 1, file) == 1;
    int cause = errno;
    if ((file != NULL ? fclose(file) : close(fd)) != 0 && written) written = false, cause = errno;
    if (written && renameat(folder, temporary, folder, name) == 0) return true;
    if (written) cause = errno;
    unlinkat(folder, temporary, 0);
    errno = cause;
    return false;
}

void jit_cache_put(jit_cache *cache, const jit_key *key, const void *binary, size_t bytes)
{
    if (cache == NULL || cache->fd < 0) return;
    int folder = folder_of(cache);
    if (publish(folder, key, binary, bytes)) {
        if (atomic_fetch_sub(&cache->room, (long long)bytes) <= (long long)bytes) make_room(cache, folder);
    } else
        snprintf(cache->state, sizeof cache->state, "a compiled kernel could not be kept in %s: %s", cache->folder,
                 strerror(errno));
}
