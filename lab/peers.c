/* peers.c - see peers.h. */
#define _GNU_SOURCE /* O_PATH */
#include "peers.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

/* The next word of *text, which is moved behind it; false: there is none. */
static bool next_word(const char **text, char *word, size_t size)
{
    *text += strspn(*text, " ");
    size_t length = strcspn(*text, " ");
    snprintf(word, size, "%.*s", (int)length, *text);
    *text += length;
    return length > 0;
}

/* The first of the names that the library has, into the function pointer at `function`. */
static bool find(void *library, const char *names, void *function)
{
    char name[80];
    while (names != NULL && next_word(&names, name, sizeof name)) {
        void *symbol = dlsym(library, name);
        if (symbol == NULL) continue;
        memcpy(function, &symbol, sizeof symbol);
        return true;
    }
    return false;
}

/* ---- how they are called ---- */

static int call_cblas(peer_function *gemm, const tw_problem *p, const void *a, const void *b, void *c)
{
    enum { ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112 };
    typedef void sgemm(int, int, int, int, int, int, float, const void *, int, const void *, int, float, void *, int);
    typedef void dgemm(int, int, int, int, int, int, double, const void *, int, const void *, int, double, void *, int);
    int op_a = p->op_a == TW_N ? PLAIN : TRANSPOSED, op_b = p->op_b == TW_N ? PLAIN : TRANSPOSED;
    int m = (int)p->m, n = (int)p->n, k = (int)p->k, lda = (int)p->lda, ldb = (int)p->ldb, ldc = (int)p->ldc;
    typedef void complex_gemm(int, int, int, int, int, int, const void *, const void *, int, const void *, int,
                              const void *, void *, int);
    static const double one[] = {1, 0}, zero[] = {0, 0};
    static const float one_f32[] = {1, 0}, zero_f32[] = {0, 0};
    if (p->dtype == TW_CF64)
        ((complex_gemm *)gemm)(ROW_MAJOR, op_a, op_b, m, n, k, one, a, lda, b, ldb, zero, c, ldc);
    else if (p->dtype == TW_CF32)
        ((complex_gemm *)gemm)(ROW_MAJOR, op_a, op_b, m, n, k, one_f32, a, lda, b, ldb, zero_f32, c, ldc);
    else if (p->dtype == TW_F64)
        ((dgemm *)gemm)(ROW_MAJOR, op_a, op_b, m, n, k, 1, a, lda, b, ldb, 0, c, ldc);
    else
        ((sgemm *)gemm)(ROW_MAJOR, op_a, op_b, m, n, k, 1, a, lda, b, ldb, 0, c, ldc);
    return 0;
}

static int call_dnnl(peer_function *gemm, const tw_problem *p, const void *a, const void *b, void *c)
{
    typedef int sgemm(char, char, int64_t, int64_t, int64_t, float, const void *, int64_t, const void *, int64_t, float,
                      void *, int64_t);
    return ((sgemm *)gemm)(p->op_a == TW_N ? 'N' : 'T', p->op_b == TW_N ? 'N' : 'T', p->m, p->n, p->k, 1, a, p->lda, b,
                           p->ldb, 0, c, p->ldc);
}

/* The shims of tools/peers: 0, or 1 where there is no code for such a product. */
static int call_shim(peer_function *gemm, const tw_problem *p, const void *a, const void *b, void *c)
{
    typedef int shim(int, int, int, int64_t, int64_t, int64_t, const void *, int64_t, const void *, int64_t, void *,
                     int64_t);
    return ((shim *)gemm)(p->dtype == TW_F64, p->op_a == TW_T, p->op_b == TW_T, p->m, p->n, p->k, a, p->lda, b, p->ldb,
                          c, p->ldc);
}

/* ---- what they say of themselves ---- */

typedef const char *text_function(void);

static void say_text(const peer *p, const char *names, char *text, size_t size)
{
    text_function *ask;
    const char *found = find(p->library, names, &ask) ? ask() : NULL;
    snprintf(text, size, "%s", found != NULL ? found : "");
}

/* "OpenBLAS 0.3.34 USE64BITINT DYNAMIC_ARCH ...": the name and the number. */
static void openblas_version(const peer *p, char *text, size_t size)
{
    say_text(p, "scipy_openblas_get_config openblas_get_config", text, size);
    size_t name = strcspn(text, " "), number = strspn(text + name, " ");
    text[name + number + strcspn(text + name + number, " ")] = '\0';
}

static void openblas_choice(const peer *p, char *text, size_t size)
{
    say_text(p, "scipy_openblas_get_corename openblas_get_corename", text, size);
}

/* "... Math Kernel Library Version 2026.2-Product Build ... for ...": the number. */
static void mkl_version(const peer *p, char *text, size_t size)
{
    static const char before[] = "Version ";
    char all[PEER_TEXT] = "";
    void (*ask)(char *, int);
    if (!find(p->library, "MKL_Get_Version_String", &ask)) return;
    ask(all, (int)sizeof all - 1);
    const char *number = strstr(all, before) != NULL ? strstr(all, before) + strlen(before) : all;
    snprintf(text, size, "MKL %.*s", (int)strcspn(number, "- "), number);
}

/* It keeps its code for each kind of processor in a library of its own and opens one: which, the map of this process
 * tells. */
static void mkl_choice(const peer *p, char *text, size_t size)
{
    static const char *const kinds[] = {"libmkl_avx10", "libmkl_avx512", "libmkl_avx2", "libmkl_mc3", "libmkl_def"};
    char line[PATH_MAX + 100];
    FILE *maps = fopen("/proc/self/maps", "r");
    (void)p;
    while (maps != NULL && text[0] == '\0' && fgets(line, sizeof line, maps) != NULL) {
        const char *file = strrchr(line, '/');
        for (size_t i = 0; file != NULL && i < sizeof kinds / sizeof *kinds; i++)
            if (strncmp(file + 1, kinds[i], strlen(kinds[i])) == 0)
                snprintf(text, size, "%.*s", (int)strcspn(file + 1, "."), file + 1);
    }
    if (maps != NULL) fclose(maps);
}

static void dnnl_version(const peer *p, char *text, size_t size)
{
    typedef struct parts {
        int major, minor, patch;
    } parts;
    const parts *(*ask)(void);
    if (find(p->library, "dnnl_version", &ask))
        snprintf(text, size, "oneDNN %d.%d.%d", ask()->major, ask()->minor, ask()->patch);
}

/* Its instruction sets are numbers whose bits name what each has more than the one before. */
static void dnnl_choice(const peer *p, char *text, size_t size)
{
    static const struct {
        int value;
        const char *name;
    } names[] = {{0x1, "sse41"},
                 {0x3, "avx"},
                 {0x7, "avx2"},
                 {0xf, "avx2_vnni"},
                 {0x1f, "avx2_vnni_2"},
                 {0x27, "avx512_core"},
                 {0x67, "avx512_core_vnni"},
                 {0xe7, "avx512_core_bf16"},
                 {0x1ef, "avx512_core_fp16"},
                 {0xfef, "avx512_core_amx"}};
    int (*ask)(void);
    if (!find(p->library, "dnnl_get_effective_cpu_isa", &ask)) return;
    int found = ask();
    snprintf(text, size, "instruction set %#x", (unsigned)found);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].value == found) snprintf(text, size, "%s", names[i].name);
}

/* "0.9.0", "AOCL-BLAS 5.3.0 Build ...": the name and the number. */
static void blis_version(const peer *p, char *text, size_t size)
{
    char all[PEER_TEXT];
    say_text(p, "bli_info_get_version_str", all, sizeof all);
    const char *build = strstr(all, " Build");
    bool named = all[0] < '0' || all[0] > '9';
    snprintf(text, size, "%s%.*s", named ? "" : "BLIS ", (int)(build != NULL ? (size_t)(build - all) : strlen(all)),
             all);
}

static void blis_choice(const peer *p, char *text, size_t size)
{
    int (*query)(void);
    const char *(*name)(int);
    if (find(p->library, "bli_arch_query_id", &query) && find(p->library, "bli_arch_string", &name))
        snprintf(text, size, "%s", name(query()));
}

static void shim_version(const peer *p, char *text, size_t size) { say_text(p, "peer_version", text, size); }

static void shim_choice(const peer *p, char *text, size_t size) { say_text(p, "peer_choice", text, size); }

/* MKL's libmkl_def is not among them: it has code for AMD's processors too. */
const char *peer_code(const char *choice, int *rank)
{
    static const struct {
        const char *set, *names;
    } sets[] = {{"sse", "base generic none sse sse2 sse41 libmkl_mc3 wsm prescott core2 penryn dunnington nehalem atom "
                        "bobcat barcelona opteron opteron_sse3 nano"},
                {"avx", "avx snb sandybridge bulldozer piledriver steamroller"},
                {"avx2", "avx2 avx2_vnni avx2_vnni_2 libmkl_avx2 hsw haswell excavator zen zen2 zen3"},
                {"avx512", "avx512 avx512_vnni avx512_bf16 amx avx512_core avx512_core_vnni avx512_core_bf16 "
                           "avx512_core_fp16 avx512_core_amx libmkl_avx512 libmkl_avx10 skx clx cpx spr gnr knl knm "
                           "skylakex cooperlake sapphirerapids zen4 zen5"}};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        const char *names = sets[i].names;
        for (char name[80]; next_word(&names, name, sizeof name);)
            if (strcasecmp(name, choice) == 0) return *rank = (int)i, sets[i].set;
    }
    return NULL;
}

/* ---- the rows ---- */

const peer_row peer_rows[] = {
#define PEER(name, engine, call, files, sgemm, dgemm, cgemm, zgemm, ...)                                               \
    {name, engine, call, files, {sgemm, dgemm, cgemm, zgemm}, __VA_ARGS__},
#include "peers.def"
#undef PEER
    {0},
};

const peer_row *peer_named(const char *name)
{
    for (const peer_row *row = peer_rows; row->name != NULL; row++)
        if (strcmp(row->name, name) == 0) return row;
    return NULL;
}

int peer_type(tw_dtype dtype)
{
    return dtype == TW_F32 ? 0 : dtype == TW_F64 ? 1 : dtype == TW_CF32 ? 2 : dtype == TW_CF64 ? 3 : -1;
}

bool peer_refuses(const peer_row *row, const tw_problem *p, int threads, char *why, size_t size)
{
    double work = (double)p->m * (double)p->n * (double)p->k;
    why[0] = '\0';
    static const char *const names[PEER_TYPES] = {"f32", "f64", "cf32", "cf64"};
    const int type = peer_type(p->dtype);
    if (type < 0 || row->gemm[type] == NULL)
        snprintf(why, size, "has no product of %s", type < 0 ? "this type" : names[type]);
    else if (row->call == call_cblas && (p->m > INT32_MAX || p->n > INT32_MAX || p->k > INT32_MAX ||
                                         p->lda > INT32_MAX || p->ldb > INT32_MAX || p->ldc > INT32_MAX))
        snprintf(why, size, "takes lengths up to %d", INT32_MAX);
    else if (row->largest > 0 && work > (double)row->largest)
        snprintf(why, size, "takes m n k up to %lld, and this is %.0f", (long long)row->largest, work);
    else if (row->most_threads > 0 && threads > row->most_threads)
        snprintf(why, size, "computes with %d thread%s at most, and %d were asked for", row->most_threads,
                 row->most_threads == 1 ? "" : "s", threads);
    return why[0] != '\0';
}

static void set_variables(const char *words, int threads)
{
    char word[80], number[16];
    snprintf(number, sizeof number, "%d", threads);
    while (next_word(&words, word, sizeof word)) {
        char *value = strchr(word, '=');
        if (value != NULL) *value++ = '\0';
        setenv(word, value != NULL ? value : number, 1);
    }
}

/* A library that is opened runs. So it must belong to this user or root, and nobody else may write it. fd: the open
 * file at path. */
static bool is_trusted(int fd, const char *path, mode_t kind, char *why, size_t size)
{
    struct stat info;
    const char *wrong = NULL;
    if (fd < 0 || fstat(fd, &info) != 0)
        wrong = strerror(errno);
    else if ((info.st_mode & S_IFMT) != kind)
        wrong = "is not a regular file";
    else if (info.st_uid != geteuid() && info.st_uid != 0)
        wrong = "belongs neither to this user nor to root";
    else if ((info.st_mode & 022) != 0)
        wrong = "can be written by other users: chmod go-w makes it usable";
    if (wrong != NULL) snprintf(why, size, "is not opened: %s %s", path, wrong);
    return wrong == NULL;
}

static int open_folder(const char *path) { return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC); }

/* Load the library that is open as fd, by its own path, not by that of a link to it nor by the descriptor: so it finds
 * those beside it. The folder where it lies is looked at too: nobody else puts another in its place there. */
static void *load(int fd, const char *path, char *why, size_t size)
{
    char link[40], real[PATH_MAX], place[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, real, sizeof real - 1);
    real[length > 0 ? length : 0] = '\0';
    if (length <= 0) {
        snprintf(why, size, "is not opened: /proc does not say where %s lies", path);
        return NULL;
    }
    snprintf(place, sizeof place, "%.*s", (int)(strrchr(real, '/') - real), real);
    int folder = open_folder(place[0] != '\0' ? place : "/");
    bool trusted = is_trusted(folder, place, S_IFDIR, why, size) && is_trusted(fd, real, S_IFREG, why, size);
    if (folder >= 0) close(folder);
    if (!trusted) return NULL;
    void *library = dlopen(real, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) snprintf(why, size, "cannot be opened: %s", dlerror());
    return library;
}

void *peer_library(const peer_row *row, const char *folder, char *why, size_t size)
{
    char path[PATH_MAX], name[80];
    const char *names = row->files;
    snprintf(path, sizeof path, "%s/%s.so", folder, row->name);
    snprintf(name, sizeof name, "%s.so", row->name);
    int here = open_folder(folder), fd = -1;
    if (here >= 0) fd = openat(here, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* no FIFO is waited for */
    if (here >= 0 && (fd >= 0 || errno != ENOENT)) {
        void *library = NULL;
        if (fd < 0)
            snprintf(why, size, "is not opened: %s %s", path, strerror(errno));
        else if (is_trusted(here, folder, S_IFDIR, why, size))
            library = load(fd, path, why, size);
        if (fd >= 0) close(fd);
        close(here);
        return library;
    }
    if (here >= 0) close(here);
    while (next_word(&names, name, sizeof name)) {
        void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        if (library != NULL) return library;
    }
    snprintf(why, size, "was not found: neither %s nor %s; %s", path,
             row->files[0] != '\0' ? row->files : "any of the system's",
             strcmp(row->engine, "cuda") == 0 ? "NVIDIA's CUDA toolkit has it, PyPI as nvidia-cublas"
                                              : "./dev peers fetches it");
    return NULL;
}

bool peer_open(const peer_row *row, const char *folder, int threads, peer *out, char *why, size_t size)
{
    *out = (peer){.row = row};
    set_variables(row->variables, threads);
    out->library = peer_library(row, folder, why, size);
    if (out->library == NULL) return false;
    for (int type = 0; type < PEER_TYPES; type++) {
        if (row->gemm[type] == NULL || find(out->library, row->gemm[type], &out->gemm[type])) continue;
        snprintf(why, size, "has no function %s", row->gemm[type]);
        return false;
    }
    void (*set_threads)(int);
    if (row->set_threads != NULL && !find(out->library, row->set_threads, &set_threads)) {
        snprintf(why, size, "has no function %s", row->set_threads);
        return false;
    }
    if (row->set_threads != NULL) set_threads(threads);
    return true;
}

int peer_multiply(const peer *p, const tw_problem *problem, const void *a, const void *b, void *c)
{
    return p->row->call(p->gemm[peer_type(problem->dtype)], problem, a, b, c);
}

void peer_version(const peer *p, char text[PEER_TEXT])
{
    text[0] = '\0';
    p->row->version(p, text, PEER_TEXT);
}

void peer_choice(const peer *p, char text[PEER_TEXT])
{
    text[0] = '\0';
    p->row->choice(p, text, PEER_TEXT);
}
