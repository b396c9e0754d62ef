/* test_fuzz.c - the fuzz targets (fuzz/) on their committed inputs and on mutations of them: always the same ones, and
 * without libFuzzer. Under the sanitizers each says what it finds; `./dev fuzz` searches further. */
#define _XOPEN_SOURCE 700
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/tap.h"

typedef int target(const uint8_t *bytes, size_t count);

target fuzz_api, fuzz_gz, fuzz_mtx, fuzz_npy, fuzz_npz, fuzz_raw, fuzz_user_kernel;
#ifdef TEST_RECORDS
target fuzz_records;
#endif

/* mutated: how many mutations of all inputs together. */
static const struct {
    const char *name;
    target *run;
    int mutated;
} targets[] = {
    {"npy", fuzz_npy, 80000},
    {"mtx", fuzz_mtx, 80000},
    {"raw", fuzz_raw, 200000},
    {"gz", fuzz_gz, 80000},
    {"npz", fuzz_npz, 80000},
    {"api", fuzz_api, 4000},
    {"user_kernel", fuzz_user_kernel, 30000},
#ifdef TEST_RECORDS
    {"records", fuzz_records, 4000},
#endif
};

typedef struct input {
    char path[512];
    uint8_t *bytes;
    size_t count;
} input;

enum { MOST_INPUTS = 1000, MOST_BYTES = 1 << 16 };
static input inputs[MOST_INPUTS];
static int input_count;

/* ---- what runs when one stops ---- */

static char what[64];
static const char *by = "";

static void say(void)
{
    const char *const parts[] = {what, by, "\n"};
    for (int p = 0; p < 3; p++)
        if (write(STDERR_FILENO, parts[p], strlen(parts[p])) < 0) return;
}

static void on_abort(int number)
{
    say();
    signal(number, SIG_DFL);
    raise(number);
}

/* What sanitizers ask; so that what they find comes here too. */
const char *__asan_default_options(void);
const char *__ubsan_default_options(void);
const char *__asan_default_options(void) { return "abort_on_error=1"; }
const char *__ubsan_default_options(void) { return "abort_on_error=1:print_stacktrace=1"; }

/* ---- inputs ---- */

static int by_path(const void *x, const void *y) { return strcmp(((const input *)x)->path, ((const input *)y)->path); }

static void read_input(const char *folder, const char *name)
{
    input *in = &inputs[input_count];
    if ((size_t)snprintf(in->path, sizeof in->path, "%s/%s", folder, name) >= sizeof in->path) return;
    FILE *file = name[0] != '.' ? fopen(in->path, "rb") : NULL;
    if (file == NULL) return;
    in->bytes = malloc(MOST_BYTES);
    in->count = in->bytes != NULL ? fread(in->bytes, 1, MOST_BYTES, file) : 0;
    fclose(file);
    input_count++;
}

static void read_inputs(const char *name)
{
    char folder[400];
    snprintf(folder, sizeof folder, TESTS_FOLDER "/../fuzz/corpus/%s", name);
    while (input_count > 0) free(inputs[--input_count].bytes);
    DIR *names = opendir(folder);
    for (struct dirent *e = names != NULL ? readdir(names) : NULL; e != NULL && input_count < MOST_INPUTS;
         e = readdir(names))
        read_input(folder, e->d_name);
    if (names != NULL) closedir(names);
    qsort(inputs, (size_t)input_count, sizeof *inputs, by_path);
}

/* ---- mutations ---- */

static uint64_t state;

static size_t draw(size_t below)
{
    state += 0x9e3779b97f4a7c15;
    uint64_t x = (state ^ state >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return (size_t)((x ^ x >> 31) % below);
}

/* What stands between two places of one input, in the place of what stands between two of the other. */
static size_t replace(uint8_t *bytes, size_t count, size_t at, size_t gone, const uint8_t *from, size_t added)
{
    if (count - gone + added > MOST_BYTES) return count;
    memmove(bytes + at + added, bytes + at + gone, count - at - gone);
    memcpy(bytes + at, from, added);
    return count - gone + added;
}

static size_t mutate(uint8_t *bytes, size_t count)
{
    static const char *const words[] = {"0",
                                        "-1",
                                        "1",
                                        "9223372036854775807",
                                        "4294967296",
                                        "{",
                                        "\n",
                                        "4611686018427387904",
                                        "nan",
                                        "1e999",
                                        "\377\377\377\377",
                                        "<c16",
                                        "(0, ",
                                        "complex",
                                        "\"",
                                        "/*"};
    const size_t at = draw(count + 1), rest = count - at;
    const input *other = &inputs[draw((size_t)input_count)];
    const char *word = words[draw(sizeof words / sizeof *words)];
    switch (draw(8)) {
    case 0: return at;
    case 1: return replace(bytes, count, at, draw(rest + 1), bytes, 0);
    case 2:
        return replace(bytes, count, at, rest < strlen(word) ? rest : strlen(word), (const uint8_t *)word,
                       strlen(word));
    case 3: return replace(bytes, count, at, 0, (const uint8_t *)word, strlen(word));
    case 4: {
        const size_t from = draw(other->count + 1), some = draw(other->count - from + 1);
        return replace(bytes, count, at, draw(rest + 1), other->bytes + from, some);
    }
    case 5:
        if (rest > 0) bytes[at] = (uint8_t)draw(256);
        return count;
    case 6:
        if (rest > 0 && bytes[at] >= '0' && bytes[at] <= '9') bytes[at] = (uint8_t)('0' + draw(10));
        return count;
    default:
        if (rest > 0) bytes[at] ^= (uint8_t)(1 << draw(8));
        return count;
    }
}

/* In memory of just that size, so that AddressSanitizer sees a read beyond it. */
static void run(target *of, const uint8_t *bytes, size_t count)
{
    uint8_t *copy = malloc(count > 0 ? count : 1);
    if (copy == NULL) return;
    memcpy(copy, bytes, count);
    of(copy, count);
    free(copy);
}

static void run_mutated(target *of, int number)
{
    static uint8_t bytes[MOST_BYTES];
    const input *in = &inputs[number % input_count];
    size_t count = in->count;
    state = (uint64_t)number << 20;
    memcpy(bytes, in->bytes, count);
    for (size_t changes = 1 + draw(4); changes > 0; changes--) count = mutate(bytes, count);
    snprintf(what, sizeof what, "\nstopped by mutation %d of ", number);
    by = in->path;
    run(of, bytes, count);
}

int main(int argc, char **argv)
{
    tap_start(argc, argv);
    signal(SIGABRT, on_abort);
    for (size_t t = 0; t < sizeof targets / sizeof *targets; t++) {
        if (!tap_case("%s", targets[t].name)) continue;
        read_inputs(targets[t].name);
        for (int i = 0; i < input_count; i++) {
            strcpy(what, "\nstopped by ");
            by = inputs[i].path;
            run(targets[t].run, inputs[i].bytes, inputs[i].count);
        }
        const int mutated = targets[t].mutated * (tap.full ? 20 : 1);
        for (int i = 0; input_count > 0 && i < mutated; i++) run_mutated(targets[t].run, i);
        tap_result(input_count > 0, "there are no inputs in fuzz/corpus/%s", targets[t].name);
    }
    return tap_finish();
}
