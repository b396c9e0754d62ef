/* test_faults_cache.c - the cache of compiled kernels, which must be doubted: files that were changed, folders that
 * cannot be used, another user's, a limit; and the sums and keys that it is made of. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <time.h>

#include "jit_cache.h"
#include "sha256.h"
#include "support/faults.h"
#include "tilewright_lab.h"

static int file_count, odd_files;

static void count_file(const char *path)
{
    struct stat info;
    file_count++;
    const char *end = strrchr(path, '.');
    if (lstat(path, &info) != 0 || !S_ISREG(info.st_mode) || (info.st_mode & 0777) != 0600 || end == NULL ||
        strcmp(end, ".bin") != 0)
        odd_files++;
}

static int files_kept(void)
{
    file_count = odd_files = 0;
    each_file(cache_folder, count_file);
    return file_count;
}

static void flip_bit(const char *path)
{
    int fd = open(path, O_RDWR);
    unsigned char byte = 0;
    off_t at = lseek(fd, -3, SEEK_END);
    if (read(fd, &byte, 1) == 1 && lseek(fd, at, SEEK_SET) == at) {
        byte ^= 1;
        if (write(fd, &byte, 1) != 1) perror(path);
    }
    close(fd);
}

static void put_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    if (file == NULL) return;
    fputs(text, file);
    fclose(file);
}

static void cut(const char *path, off_t bytes)
{
    if (truncate(path, bytes) != 0) perror(path);
}

static void cut_last(const char *path)
{
    struct stat info;
    if (stat(path, &info) == 0) cut(path, info.st_size - 1);
}

static void cut_to_header(const char *path) { cut(path, 88); }
static void cut_to_half(const char *path) { cut(path, 40); }
static void cut_to_nothing(const char *path) { cut(path, 0); }
static void make_garbage(const char *path)
{
    put_text(path,
             "this is no kernel, whatever its name says; it is only long enough to have a header of its own, and more");
}
static void let_all_write(const char *path) { chmod(path, 0666); }

static void append_byte(const char *path)
{
    FILE *file = fopen(path, "a");
    if (file == NULL) return;
    fputc(1, file);
    fclose(file);
}

static void make_link(const char *path)
{
    char to[600];
    snprintf(to, sizeof to, "%s/elsewhere-%s", work, strrchr(path, '/') + 1);
    if (rename(path, to) != 0 || symlink(to, path) != 0) perror(path);
}

static void make_folder(const char *path)
{
    unlink(path);
    mkdir(path, 0700);
}

static void make_fifo(const char *path)
{
    unlink(path);
    if (mkfifo(path, 0600) != 0) perror(path);
}

static void make_socket(const char *path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    char here[4096] = "", *slash, copy[600];
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(copy, sizeof copy, "%s", path);
    slash = strrchr(copy, '/');
    *slash = '\0';
    /* 68 bytes, where the whole path may be too long */
    snprintf(at.sun_path, sizeof at.sun_path, "%.107s", slash + 1);
    unlink(path);
    if (getcwd(here, sizeof here) == NULL || chdir(copy) != 0 || bind(fd, (struct sockaddr *)&at, sizeof at) != 0 ||
        chdir(here) != 0)
        perror(path);
    close(fd);
}

static void make_unreadable(const char *path) { chmod(path, 0200); }

static void give_away(const char *path)
{
    if (chown(path, NOBODY, NOBODY) != 0) perror(path);
}

static void make_device(const char *path)
{
    unlink(path);
    if (mknod(path, S_IFCHR | 0600, makedev(1, 5)) != 0) perror(path); /* /dev/zero */
}

static bool may_make_devices(void)
{
    char path[128];
    snprintf(path, sizeof path, "%s/device", work);
    bool may = mknod(path, S_IFCHR | 0600, makedev(1, 5)) == 0;
    unlink(path);
    return may;
}

/* All went well, and so many kernels were compiled (-1: some). */
static bool ran(const char *const *variables, int compiled, char why[OUTPUT])
{
    outcome o;
    char text[1024];
    run_child("cuda", "cuda:nvrtc", variables, &o);
    int found = logged("nvrtcCompileProgram");
    bool right = sane(&o) && told(&o, "run", text) == TW_OK && told(&o, "gemm", text) == TW_OK &&
                 (compiled < 0 ? found > 0 : found == compiled);
    if (!right) snprintf(why, OUTPUT, "%d kernels were compiled, expected %d: %.7000s", found, compiled, o.text);
    return right;
}

/* Kept files that are changed are compiled again, put in place, and used once more. */
static void file_case(const char *what, void (*change)(const char *))
{
    const char *const variables[] = {cache_variable, NULL};
    char why[OUTPUT] = "";
    if (!tap_case("cache: kept kernels, then %s", what)) return;
    if ((change == give_away && geteuid() != 0) || (change == make_unreadable && geteuid() == 0) ||
        (change == make_device && !may_make_devices())) {
        tap_skip(change == make_unreadable ? "root reads all files" : "this user cannot make such a file");
        return;
    }
    forget_cache();
    bool right = ran(variables, -1, why);
    int all = logged("nvrtcCompileProgram"), kept = files_kept();
    if (right && (kept == 0 || odd_files > 0)) {
        right = false;
        snprintf(why, sizeof why, "%d files kept, %d that are not plain files of their owner named .bin", kept,
                 odd_files);
    }
    right = right && ran(variables, 0, why); /* from the cache */
    if (change != NULL) each_file(cache_folder, change);
    right = right && ran(variables, change == NULL ? 0 : change == make_folder ? -1 : all, why);
    /* a folder in the file's place stays in the way */
    right = right && ran(variables, change == make_folder ? -1 : 0, why);
    if (right && change != make_folder && (files_kept() != kept || odd_files > 0)) {
        right = false;
        snprintf(why, sizeof why, "%d files, %d odd, expected %d and 0", files_kept(), odd_files, kept);
    }
    tap_result(right, "%s", why);
}

typedef struct place {
    const char *name;
    const char *variables[4];
    const char *state[2]; /* parts of the sentence */
    mode_t mode;          /* of the folder that is there before; 0: none */
    bool owned_by_root, link, file, kept;
} place;

/* A folder that cannot be used is said, with what to do, and nothing fails. */
static void place_case(const place *p)
{
    outcome o;
    char text[1024];
    const char *variables[6] = {cache_variable, "FAULTS_DROP=1"};
    if (!tap_case("cache: %s", p->name)) return;
    if (p->owned_by_root && geteuid() != 0) {
        tap_skip("only root can make a folder that belongs to another");
        return;
    }
    forget_cache();
    if (p->file)
        put_text(cache_folder, "");
    else if (p->link && symlink(work, cache_folder) != 0)
        perror(cache_folder);
    else if (p->mode != 0 && (mkdir(cache_folder, 0700) != 0 ||
                              (!p->owned_by_root && geteuid() == 0 && chown(cache_folder, NOBODY, NOBODY) != 0) ||
                              chmod(cache_folder, p->mode) != 0))
        perror(cache_folder);
    for (int i = 0; p->variables[i] != NULL; i++) variables[2 + i] = p->variables[i];
    run_child("cuda", "cuda:nvrtc", variables, &o);
    char run[1024], state[1024];
    bool right = sane(&o) && told(&o, "run", run) == TW_OK && told(&o, "gemm", text) == TW_OK &&
                 told(&o, "state", state) == 1;
    right = right && says(state, p->state) && (p->kept || strstr(state, "; compiled kernels are not kept") != NULL);
    if (p->mode != 0 && !p->owned_by_root && geteuid() == 0) chmod(cache_folder, 0700);
    int kept = p->link || p->file ? 0 : files_kept();
    tap_result(right && (kept > 0) == p->kept && odd_files == 0,
               "%d files kept, %d odd; expected \"%s\" \"%s\"; exit %d:\n%s", kept, odd_files, p->state[0],
               p->state[1] ? p->state[1] : "", o.exit, o.text);
}

/* What the variable names is not made, which is said; where it is there, the folder below it is made. */
static void base_case(const char *variable, const char *other, const char *below)
{
    outcome o;
    char base[128], named[200], place[300], state[1024], sentence[300];
    struct stat info;
    if (!tap_case("cache: below %s, which must be there", variable)) return;
    snprintf(base, sizeof base, "%s/base", work);
    snprintf(named, sizeof named, "%s=%s", variable, base);
    snprintf(place, sizeof place, "%s/%s", base, below);
    snprintf(sentence, sizeof sentence,
             "compiled kernels are not kept: %s (%s) cannot be used: No such file or directory; TILEWRIGHT_CACHE", base,
             variable);
    const char *const variables[] = {"TILEWRIGHT_CACHE=", other, named, NULL};
    run_child("cuda", "cuda:nvrtc", variables, &o);
    told(&o, "state", state);
    bool right = sane(&o) && strstr(state, sentence) != NULL && lstat(base, &info) != 0 && errno == ENOENT;
    mkdir(base, 0755);
    if (right) run_child("cuda", "cuda:nvrtc", variables, &o);
    told(&o, "state", state);
    right = right && sane(&o) && strstr(state, "kernels kept: /") != NULL && stat(place, &info) == 0 &&
            (info.st_mode & 0777) == 0700;
    snprintf(named, sizeof named, "rm -rf '%s'", base);
    tap_result(system(named) == 0 && right, "expected \"%s\", then kernels kept; exit %d:\n%s", sentence, o.exit,
               o.text);
}

/* A folder of another user, named so or behind a link: nothing is made in it, which is said. Only root can make one; to
 * others /usr is one. */
static void foreign_case(const char *variable, const char *other, bool link)
{
    outcome o;
    char theirs[128] = "/usr", home[128], place[200], named[200], state[1024], sentence[300];
    struct stat info;
    if (!tap_case("cache: below %s%s, which is another user's", variable, link ? "/.cache, a link" : "")) return;
    if (geteuid() == 0) {
        snprintf(theirs, sizeof theirs, "%s/theirs", work);
        if (mkdir(theirs, 0755) != 0) perror(theirs);
        give_away(theirs);
    }
    snprintf(home, sizeof home, "%s/home", work);
    snprintf(place, sizeof place, "%s/.cache", home);
    if (link && (mkdir(home, 0700) != 0 || symlink(theirs, place) != 0)) perror(place);
    snprintf(named, sizeof named, "%s=%s", variable, link ? home : theirs);
    snprintf(sentence, sizeof sentence, "compiled kernels are not kept: %s belongs to another user; TILEWRIGHT_CACHE",
             link ? place : theirs);
    run_child("cuda", "cuda:nvrtc", (const char *const[]){"TILEWRIGHT_CACHE=", other, named, NULL}, &o);
    told(&o, "state", state);
    bool right = sane(&o) && strstr(state, sentence) != NULL;
    for (int i = 0; i < 2; i++) {
        snprintf(place, sizeof place, "%s/%s", theirs, i == 0 ? ".cache" : "tilewright");
        right = right && lstat(place, &info) != 0 && errno == ENOENT;
    }
    snprintf(named, sizeof named, "rm -rf '%s/theirs' '%s'", work, home);
    tap_result(system(named) == 0 && right, "expected \"%s\"; exit %d:\n%s", sentence, o.exit, o.text);
}

static bool holds(const char *folder, const jit_key *key)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s.bin", folder, key->hex);
    return access(path, F_OK) == 0;
}

/* Another folder with the same name, while the cache is open: nothing is written there, read there or removed there. */
static void swapped_case(void)
{
    char moved[200], command[1000];
    size_t bytes;
    if (!tap_case("cache: another folder in its place while it is open")) return;
    jit_key mine = jit_key_of(1, (const char *const[]){"mine"}),
            theirs = jit_key_of(1, (const char *const[]){"theirs"}),
            later = jit_key_of(1, (const char *const[]){"later"});
    snprintf(moved, sizeof moved, "%s-moved", cache_folder);
    forget_cache();
    setenv("TILEWRIGHT_CACHE", cache_folder, 1);
    jit_cache *cache = jit_cache_open();
    jit_cache_put(cache, &mine, "mine", 5);
    jit_cache_put(cache, &theirs, "theirs", 7);
    snprintf(command, sizeof command, "mv '%s' '%s' && mkdir -m 700 '%s' && mv '%s/%s.bin' '%s'", cache_folder, moved,
             cache_folder, moved, theirs.hex, cache_folder);
    bool made = system(command) == 0;
    void *read_there = jit_cache_get(cache, &theirs, &bytes), *read_here = jit_cache_get(cache, &mine, &bytes);
    jit_cache_put(cache, &later, "later", 6);
    bool written_there = holds(cache_folder, &later), written_here = holds(moved, &later);
    tap_result(made && read_there == NULL && read_here != NULL && !written_there && written_here,
               "made %d, read there %d, here %d, written there %d, here %d", made, read_there != NULL,
               read_here != NULL, written_there, written_here);
    free(read_there), free(read_here);
    jit_cache_close(cache);
    snprintf(command, sizeof command, "rm -rf '%s'", moved);
    if (system(command) != 0) perror(moved);
    forget_cache();
}

/* A program closes all descriptors and opens folders of its own: none is taken for the cache, nor closed. */
static void lost_case(void)
{
    char here[] = ".";
    size_t bytes;
    int last = 0;
    if (!tap_case("cache: its descriptor was closed, and is another folder's now")) return;
    jit_key mine = jit_key_of(1, (const char *const[]){"mine"});
    forget_cache();
    setenv("TILEWRIGHT_CACHE", cache_folder, 1);
    int before = dup(STDERR_FILENO);
    jit_cache *cache = jit_cache_open();
    close(before);
    for (int fd = before; fd < before + 8; fd++) close(fd);
    for (int fd = before; fd < before + 8; fd++) last = open(here, O_RDONLY | O_DIRECTORY);
    jit_cache_put(cache, &mine, "mine", 5);
    void *read = jit_cache_get(cache, &mine, &bytes);
    bool usable = jit_cache_usable(cache), there = holds(here, &mine);
    const char *state = strstr(jit_cache_state(cache), "could not be kept");
    jit_cache_close(cache);
    bool open_still = true;
    for (int fd = before; fd < before + 8; fd++) open_still = close(fd) == 0 && open_still;
    tap_result(last >= before && read == NULL && !usable && !there && state != NULL && open_still,
               "read %d, usable %d, written there %d, told %d, the folder open %d", read != NULL, usable, there,
               state != NULL, open_still);
    free(read);
    forget_cache();
}

static void cache_cases(void)
{
    static const struct {
        const char *what;
        void (*change)(const char *);
    } changes[] = {{"nothing changed", NULL},
                   {"a bit flipped", flip_bit},
                   {"a byte cut off", cut_last},
                   {"a byte added", append_byte},
                   {"only the header left", cut_to_header},
                   {"half a header left", cut_to_half},
                   {"nothing left", cut_to_nothing},
                   {"something else in its place", make_garbage},
                   {"others may write it", let_all_write},
                   {"a link in its place", make_link},
                   {"a folder in its place", make_folder},
                   {"no file left", remove_file},
                   {"a FIFO in its place", make_fifo},
                   {"a socket in its place", make_socket},
                   {"a device in its place", make_device},
                   {"another user's file", give_away},
                   {"a file that cannot be read", make_unreadable}};
    static const place places[] = {
        {"a folder that is made", {NULL}, {"kernels kept: /"}, 0, .kept = true},
        {"a folder that is there", {NULL}, {"kernels kept: /"}, 0700, .kept = true},
        {"off", {"TILEWRIGHT_CACHE=off"}, {"compiled kernels are not kept", "TILEWRIGHT_CACHE is off"}, 0},
        {"read-only", {NULL}, {"is not writable", "TILEWRIGHT_CACHE"}, 0500},
        {"foreign-owned", {NULL}, {"belongs to another user", "TILEWRIGHT_CACHE"}, 0700, .owned_by_root = true},
        {"foreign-owned and open to all",
         {NULL},
         {"belongs to another user", "TILEWRIGHT_CACHE"},
         0777,
         .owned_by_root = true},
        {"the system's folder", {"TILEWRIGHT_CACHE=/usr"}, {"belongs to another user", "TILEWRIGHT_CACHE"}, 0},
        {"world-writable", {NULL}, {"can be reached by other users", "chmod 700"}, 0777},
        {"readable by others", {NULL}, {"can be reached by other users", "chmod 700"}, 0755},
        {"a link", {NULL}, {"a link is not followed", "TILEWRIGHT_CACHE"}, 0, .link = true},
        {"a file", {NULL}, {"is not a folder", "TILEWRIGHT_CACHE"}, 0, .file = true},
        {"below a file",
         {"TILEWRIGHT_CACHE=/dev/null/kernels"},
         {"compiled kernels are not kept", "TILEWRIGHT_CACHE"},
         0},
        {"where nothing may be made",
         {"TILEWRIGHT_CACHE=/proc/kernels"},
         {"compiled kernels are not kept", "TILEWRIGHT_CACHE"},
         0},
        {"no home",
         {"TILEWRIGHT_CACHE=", "XDG_CACHE_HOME=", "HOME="},
         {"compiled kernels are not kept", "none of TILEWRIGHT_CACHE, XDG_CACHE_HOME and HOME"},
         0},
        {"not an absolute path",
         {"TILEWRIGHT_CACHE=kernels"},
         {"compiled kernels are not kept", "not an absolute path"},
         0},
        {"full", {"FAULTS_FULL=yes"}, {"compiled kernels are not kept", "TILEWRIGHT_CACHE"}, 0},
        {"full after some bytes", {"FAULTS_FULL=later"}, {"compiled kernels are not kept", "TILEWRIGHT_CACHE"}, 0},
    };
    const char *first_refused[] = {cache_variable, "FAKES=cuModuleLoadData=200@1", NULL};
    char why[OUTPUT] = "";
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) file_case(changes[i].what, changes[i].change);
    if (tap_case("cache: the driver refuses a kept kernel, and takes it compiled anew")) {
        forget_cache();
        bool right = ran((const char *const[]){cache_variable, NULL}, -1, why) && ran(first_refused, 1, why) &&
                     ran((const char *const[]){cache_variable, NULL}, 0, why);
        tap_result(right, "%s", why);
    }
    if (tap_case("cache: another NVRTC is another key")) {
        forget_cache();
        bool right = ran((const char *const[]){cache_variable, NULL}, -1, why);
        right = right && ran((const char *const[]){cache_variable, "FAKE_CUDA=sm=80", NULL}, -1, why);
        tap_result(right, "%s", why);
    }
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) place_case(&places[i]);
    base_case("HOME", "XDG_CACHE_HOME=", ".cache/tilewright");
    base_case("XDG_CACHE_HOME", "HOME=/", "tilewright");
    foreign_case("HOME", "XDG_CACHE_HOME=", false);
    foreign_case("HOME", "XDG_CACHE_HOME=", true);
    foreign_case("XDG_CACHE_HOME", "HOME=/", false);
    swapped_case();
    lost_case();
    forget_cache();
}

/* ---- the pieces of the cache ---- */

static void sum_case(const char *name, const char *text, int times, const char *expected)
{
    char hex[65];
    sha256 sum;
    if (!tap_case("sha256 of %s", name)) return;
    sha256_init(&sum);
    for (int i = 0; i < times; i++) sha256_add(&sum, text, strlen(text));
    sha256_hex(&sum, hex);
    tap_result(strcmp(hex, expected) == 0, "%s", hex);
}

/* A file of this length (with a hole for what is in it) in the cache's folder, last used so many seconds ago. */
static void make_old(const char *name, int64_t bytes, int seconds)
{
    char path[512];
    struct timespec times[2] = {{.tv_sec = time(NULL) - seconds}, {.tv_sec = time(NULL) - seconds}};
    snprintf(path, sizeof path, "%s/%s", cache_folder, name);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || ftruncate(fd, bytes) != 0 || futimens(fd, times) != 0) perror(path);
    close(fd);
}

static bool is_there(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", cache_folder, name);
    return access(path, F_OK) == 0;
}

/* The folder has a limit: what was not used for longest goes, and nothing that is not the cache's own. */
static void room_case(void)
{
    enum { MIB = 1 << 20 };
    char names[5][80];
    size_t bytes = 0;
    if (!tap_case("beyond its limit the cache forgets what was not used for longest")) return;
    forget_cache();
    setenv("TILEWRIGHT_CACHE", cache_folder, 1);
    jit_cache *cache = jit_cache_open();
    jit_key used = jit_key_of(1, (const char *const[]){"used"}), fresh = jit_key_of(1, (const char *const[]){"fresh"});
    for (int i = 0; i < 5; i++) {
        jit_key key = jit_key_of(1, (const char *const[]){(const char *[]){"a", "b", "c", "d", "e"}[i]});
        snprintf(names[i], sizeof names[i], "%s.bin%s", key.hex, i == 2 ? ".aBcDeF" : i == 3 ? ".UvWxYz" : "");
    }
    jit_cache_put(cache, &used, "used", 5);
    snprintf(names[4], sizeof names[4], "%s.bin", used.hex);
    make_old(names[0], 100 * MIB, 9000);
    make_old(names[1], 100 * MIB, 8000);
    make_old(names[2], 60 * MIB, 10000); /* left by somebody who was killed */
    make_old(names[3], 60 * MIB, 60);    /* being written now: not counted */
    make_old("notes.bin", 400 * MIB, 20000);
    jit_cache_close(cache);
    cache = jit_cache_open(); /* the first file that is put has the others counted */
    jit_cache_put(cache, &fresh, "a", 1);
    bool within = is_there(names[0]) && is_there(names[1]) && is_there(names[2]); /* 260 MiB are beyond the limit */
    bool kept = is_there(names[1]) && is_there(names[3]) && is_there(names[4]) && is_there("notes.bin");
    bool gone = !is_there(names[2]) && !is_there(names[0]);
    void *again = jit_cache_get(cache, &used, &bytes), *newest = jit_cache_get(cache, &fresh, &bytes);
    tap_result(!within && kept && gone && again != NULL && newest != NULL, "kept %d, gone %d, used %d, fresh %d", kept,
               gone, again != NULL, newest != NULL);
    free(again), free(newest);
    jit_cache_close(cache);
    forget_cache();
}

/* Its own files count too, though the folder is not read for each of them. */
static void filled_case(void)
{
    enum { KIB = 1 << 10 };
    static const char binary[20 * KIB];
    const char *const names[] = {"first", "second", "third"};
    char old[80];
    if (!tap_case("a cache that is written to for long stays within its limit")) return;
    forget_cache();
    setenv("TILEWRIGHT_CACHE", cache_folder, 1);
    jit_cache *cache = jit_cache_open();
    snprintf(old, sizeof old, "%s.bin", jit_key_of(1, (const char *const[]){"old"}).hex);
    make_old(old, JIT_CACHE_MOST_BYTES - 50 * KIB, 9000);
    bool kept = true;
    for (int i = 0; i < 3; i++) {
        const jit_key key = jit_key_of(1, &names[i]);
        kept = kept && is_there(old);
        jit_cache_put(cache, &key, binary, sizeof binary);
    }
    tap_result(kept && !is_there(old), "the oldest file went too early, or not at all");
    jit_cache_close(cache);
    forget_cache();
}

static void sum_cases(void)
{
    /* FIPS 180-4's examples; lengths around a block in all splits. */
    sum_case("nothing", "", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    sum_case("abc", "abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    sum_case("two blocks", "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
             "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    sum_case("a million a", "aaaaaaaaaa", 100000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    if (tap_case("sha256 does not depend on how the text is handed over")) {
        char text[200], whole[65], parts[65];
        bool right = true;
        for (int length = 0; length < 200; length++) {
            sha256 one, two;
            for (int i = 0; i < length; i++) text[i] = (char)(i * 7 + length);
            sha256_init(&one), sha256_init(&two);
            sha256_add(&one, text, (size_t)length);
            sha256_add(&two, text, (size_t)length / 3),
                sha256_add(&two, text + length / 3, (size_t)(length - length / 3));
            sha256_hex(&one, whole), sha256_hex(&two, parts);
            right = right && strcmp(whole, parts) == 0;
        }
        tap_result(right, "it does");
    }
    if (tap_case("a key depends on every piece and on where it ends")) {
        jit_key a = jit_key_of(2, (const char *const[]){"ab", "c"}),
                b = jit_key_of(2, (const char *const[]){"a", "bc"});
        jit_key c = jit_key_of(1, (const char *const[]){"abc"}),
                d = jit_key_of(3, (const char *const[]){"ab", "c", ""});
        jit_key again = jit_key_of(2, (const char *const[]){"ab", "c"}),
                other = jit_key_of(2, (const char *const[]){"c", "ab"});
        bool right = strlen(a.hex) == 64 && strcmp(a.hex, again.hex) == 0 && strcmp(a.hex, b.hex) != 0 &&
                     strcmp(a.hex, c.hex) != 0 && strcmp(a.hex, d.hex) != 0 && strcmp(a.hex, other.hex) != 0;
        tap_result(right, "%s %s %s %s %s", a.hex, b.hex, c.hex, d.hex, other.hex);
    }
    if (tap_case("what is kept comes back, under its key alone")) {
        static const char binary[] = "\177ELF\0 any bytes";
        size_t bytes = 0, none = 0;
        jit_key one = jit_key_of(1, (const char *const[]){"one"}), two = jit_key_of(1, (const char *const[]){"two"});
        forget_cache();
        setenv("TILEWRIGHT_CACHE", cache_folder, 1);
        jit_cache *cache = jit_cache_open();
        void *before = jit_cache_get(cache, &one, &none);
        jit_cache_put(cache, &one, binary, sizeof binary);
        void *kept = jit_cache_get(cache, &one, &bytes), *other = jit_cache_get(cache, &two, &none);
        bool right = before == NULL && other == NULL && kept != NULL && bytes == sizeof binary &&
                     memcmp(kept, binary, bytes) == 0;
        jit_cache_put(cache, &one, "b", 1); /* the later one counts */
        free(kept);
        kept = jit_cache_get(cache, &one, &bytes);
        right = right && kept != NULL && bytes == 1 && *(char *)kept == 'b' &&
                strcmp(jit_cache_state(cache), cache_folder) == 0;
        tap_result(right, "%zu bytes; %s", bytes, jit_cache_state(cache));
        free(kept);
        jit_cache_close(cache);
        forget_cache();
    }
    room_case();
    filled_case();
    if (tap_case("no cache takes every call")) {
        size_t bytes = 0;
        jit_key one = jit_key_of(1, (const char *const[]){"one"});
        jit_cache_put(NULL, &one, "a", 1);
        tap_result(jit_cache_get(NULL, &one, &bytes) == NULL && jit_cache_state(NULL)[0] != '\0', "no sentence");
        jit_cache_close(NULL);
    }
}

/* PoCL crashes on a program binary that is not whole, and keeps what it compiles itself: it is handed none. */
static void pocl_case(void)
{
    outcome o, again;
    char state[1024];
    const char *const pocl[] = {cache_variable, "FAKE_OPENCL=pocl=1", NULL}, *const other[] = {cache_variable, NULL};
    if (!tap_case("opencl: PoCL is asked for no binary and handed none, other drivers are")) return;
    forget_cache();
    run_child("opencl", "opencl", pocl, &o);
    bool right = sane(&o) && told(&o, "state", state) == 1 && strstr(state, "PoCL keeps its kernels itself") != NULL;
    int kept = files_kept();
    right = right && logged("clGetProgramInfo") == 0;
    run_child("opencl", "opencl", other, &again);
    right = right && logged("clGetProgramInfo") > 0 && sane(&again) && files_kept() > 0;
    run_child("opencl", "opencl", other, &again);
    tap_result(right && kept == 0 && sane(&again) && logged("clCreateProgramWithBinary") > 0 &&
                   logged("clCreateProgramWithSource") == 0,
               "%d files kept of PoCL's, %d of another's; exit %d:\n%s", kept, files_kept(), o.exit, o.text);
    forget_cache();
}

int main(int argc, char **argv)
{
    if (!faults_start(argc, argv)) return 1;
    sum_cases();
    cache_cases();
    pocl_case();
    return faults_finish();
}
