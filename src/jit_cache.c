/* jit_cache.c - the folder of compiled kernels: checked at every open, files with a checksum, published by rename. */
#define _GNU_SOURCE /* secure_getenv, mkostemp, dladdr */
#include "jit_cache.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "sha256.h"

struct jit_cache {
    char folder[3072];
    char state[3584];
    int usable, ahead; /* ahead: only read, may be root's */
};

/* A file: this header, then the binary. */
typedef struct file_header {
    char magic[16];
    uint64_t bytes;
    char checksum[64]; /* of the binary */
} file_header;

static const char magic[16] = "tilewright jit 1";

static void refuse(jit_cache *cache, const char *why)
{
    cache->usable = 0;
    snprintf(cache->state, sizeof cache->state, "compiled kernels are not kept: %s %s; TILEWRIGHT_CACHE names another folder", cache->folder, why);
}

static int choose_folder(jit_cache *cache)
{
    const char *own = secure_getenv("TILEWRIGHT_CACHE"), *xdg = secure_getenv("XDG_CACHE_HOME"), *home = secure_getenv("HOME");
    int length;
    if (own != NULL && strcmp(own, "off") == 0) {
        snprintf(cache->state, sizeof cache->state, "compiled kernels are not kept: TILEWRIGHT_CACHE is off");
        return 0;
    }
    if (own != NULL && own[0] != '\0' && own[0] != '/') {
        snprintf(cache->state, sizeof cache->state, "compiled kernels are not kept: TILEWRIGHT_CACHE is %.200s, not an absolute path", own);
        return 0;
    }
    if (own != NULL && own[0] == '/')
        length = snprintf(cache->folder, sizeof cache->folder, "%s", own);
    else if (xdg != NULL && xdg[0] == '/')
        length = snprintf(cache->folder, sizeof cache->folder, "%s/tilewright", xdg);
    else if (home != NULL && home[0] == '/')
        length = snprintf(cache->folder, sizeof cache->folder, "%s/.cache/tilewright", home);
    else {
        snprintf(cache->state, sizeof cache->state, "compiled kernels are not kept: none of TILEWRIGHT_CACHE, XDG_CACHE_HOME and HOME is an absolute path");
        return 0;
    }
    if (length < 0 || (size_t)length >= sizeof cache->folder) {
        cache->folder[0] = '\0';
        snprintf(cache->state, sizeof cache->state, "compiled kernels are not kept: the path of the cache folder is longer than %zu bytes", sizeof cache->folder);
        return 0;
    }
    return 1;
}

/* Make the folder and those above it that are missing, for this user only. */
static void make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    mkdir(path, 0700);
}

static void refuse_because(jit_cache *cache, int error)
{
    char why[160];
    snprintf(why, sizeof why, "cannot be used: %s", strerror(error));
    refuse(cache, why);
}

/* Does a small file fit? A full disk is better found now than at every kernel. errno says why not. */
static int takes_a_file(const jit_cache *cache)
{
    char path[3328], block[4096] = {0};
    snprintf(path, sizeof path, "%s/try.XXXXXX", cache->folder);
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0) return 0;
    ssize_t written = write(fd, block, sizeof block);
    int cause = written < 0 ? errno : ENOSPC;
    close(fd);
    unlink(path);
    errno = cause;
    return written == (ssize_t)sizeof block;
}

jit_cache *jit_cache_open(void)
{
    struct stat info;
    jit_cache *cache = calloc(1, sizeof *cache);
    if (cache == NULL || !choose_folder(cache)) return cache;
    make_folders(cache->folder);
    if (lstat(cache->folder, &info) != 0)
        refuse_because(cache, errno);
    else if (!S_ISDIR(info.st_mode))
        refuse(cache, "is not a folder (a link is not followed)");
    else if (info.st_uid != geteuid())
        refuse(cache, "belongs to another user");
    else if ((info.st_mode & 077) != 0)
        refuse(cache, "can be reached by other users: chmod 700 makes it usable");
    else if (access(cache->folder, W_OK | X_OK) != 0)
        refuse(cache, "is not writable");
    else if (!takes_a_file(cache))
        refuse_because(cache, errno);
    else {
        cache->usable = 1;
        snprintf(cache->state, sizeof cache->state, "%s", cache->folder);
    }
    return cache;
}

/* Beside the program or the shared library, whichever holds this code, links followed; else where an installed program has its libraries. */
static void folder_beside_us(jit_cache *cache)
{
    static const char *const places[] = {"tilewright-kernels", LIBRARIES_FROM_PROGRAMS "/tilewright-kernels"};
    Dl_info us;
    struct link_map *map = NULL;
    if (dladdr1((void *)(uintptr_t)jit_cache_open_ahead, &us, (void **)&map, RTLD_DL_LINKMAP) == 0 || map == NULL) return;
    char *path = realpath(map->l_name[0] != '\0' ? map->l_name : "/proc/self/exe", NULL), *slash = path != NULL ? strrchr(path, '/') : NULL;
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
    jit_cache *cache = calloc(1, sizeof *cache);
    if (cache == NULL) return NULL;
    cache->ahead = 1;
    if (named != NULL && named[0] != '\0')
        snprintf(cache->folder, sizeof cache->folder, "%.3000s", named);
    else
        folder_beside_us(cache);
    if (cache->folder[0] != '/')
        why = named != NULL && named[0] != '\0' ? "is not an absolute path" : NULL;
    else if (stat(cache->folder, &info) != 0)
        why = named != NULL && named[0] != '\0' ? strerror(errno) : NULL;
    else if (!S_ISDIR(info.st_mode))
        why = "is not a folder";
    else if (info.st_uid != geteuid() && info.st_uid != 0)
        why = "belongs neither to this user nor to root";
    else if ((info.st_mode & 022) != 0)
        why = "can be written by other users: chmod go-w makes it usable";
    else {
        cache->usable = 1;
        snprintf(cache->state, sizeof cache->state, "%s", cache->folder);
    }
    if (why != NULL) snprintf(cache->state, sizeof cache->state, "none: %s %s", cache->folder, why);
    return cache;
}

bool jit_cache_usable(const jit_cache *cache)
{
    return cache != NULL && cache->usable;
}

void jit_cache_close(jit_cache *cache)
{
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

static int path_of(const jit_cache *cache, const jit_key *key, char *path, size_t bytes)
{
    return snprintf(path, bytes, "%s/%s.bin", cache->folder, key->hex) < (int)bytes;
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
    char path[3328];
    if (cache == NULL || !cache->usable || !path_of(cache, key, path, sizeof path)) return NULL;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
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
    char name[80];
    int64_t bytes;
    struct timespec used;
} kept_file;

static int older(const void *one, const void *two)
{
    const struct timespec *a = &((const kept_file *)one)->used, *b = &((const kept_file *)two)->used;
    if (a->tv_sec != b->tv_sec) return a->tv_sec < b->tv_sec ? -1 : 1;
    return a->tv_nsec < b->tv_nsec ? -1 : a->tv_nsec > b->tv_nsec;
}

/* A name that jit_cache_put() gives: 64 hexadecimal digits, ".bin", and ".XXXXXX" behind that while the file is being written. Nothing
 * else in the folder is ours to remove. */
static int is_ours(const char *name)
{
    size_t length = strlen(name);
    return strspn(name, "0123456789abcdef") == 64 && strncmp(name + 64, ".bin", 4) == 0 && (length == 68 || (length == 75 && name[68] == '.'));
}

/* Our files in the folder: how many, *list for free(). A temporary file of the last hour may still be written: it is left out. */
static size_t list_files(DIR *folder, kept_file **list)
{
    enum { AN_HOUR = 3600 };
    const struct dirent *entry;
    struct stat info;
    size_t count = 0, room = 0;
    *list = NULL;
    while ((entry = readdir(folder)) != NULL) {
        if (!is_ours(entry->d_name) || fstatat(dirfd(folder), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(info.st_mode)) continue;
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

static void make_room(const jit_cache *cache)
{
    kept_file *list;
    int64_t all = 0;
    int fd = open(cache->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
    if (folder == NULL) {
        if (fd >= 0) close(fd);
        return;
    }
    size_t count = list_files(folder, &list);
    for (size_t i = 0; i < count; i++) all += list[i].bytes;
    if (all > JIT_CACHE_MOST_BYTES) {
        qsort(list, count, sizeof *list, older);
        for (size_t i = 0; i + 1 < count && all > JIT_CACHE_MOST_BYTES / 4 * 3; i++) { /* the newest stays, whatever its size */
            unlinkat(dirfd(folder), list[i].name, 0);
            all -= list[i].bytes;
        }
    }
    free(list);
    closedir(folder);
}

void jit_cache_put(jit_cache *cache, const jit_key *key, const void *binary, size_t bytes)
{
    char path[3328], temporary[3344];
    if (cache == NULL || !cache->usable || !path_of(cache, key, path, sizeof path)) return;
    snprintf(temporary, sizeof temporary, "%s.XXXXXX", path);
    int fd = mkostemp(temporary, O_CLOEXEC);
    FILE *file = fd >= 0 ? fdopen(fd, "wb") : NULL;
    if (file == NULL) {
        int cause = errno;
        if (fd >= 0) close(fd), unlink(temporary);
        snprintf(cache->state, sizeof cache->state, "a compiled kernel could not be kept in %s: %s", cache->folder, strerror(cause));
        return;
    }
    file_header header = {.bytes = bytes};
    memcpy(header.magic, magic, sizeof magic);
    checksum_of(binary, bytes, header.checksum);
    int written = fwrite(&header, sizeof header, 1, file) == 1 && fwrite(binary, bytes, 1, file) == 1;
    int cause = errno;
    if (fclose(file) != 0) written = 0, cause = errno;
    if (written && rename(temporary, path) == 0) {
        make_room(cache);
        return;
    }
    if (written) cause = errno;
    unlink(temporary);
    snprintf(cache->state, sizeof cache->state, "a compiled kernel could not be kept in %s: %s", cache->folder, strerror(cause));
}
