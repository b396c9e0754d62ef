/* test_faults_ahead.c - kernels that somebody built ahead, on a machine without NVRTC. */
#include <fcntl.h>

#include "support/faults.h"
#include "tilewright_lab.h"

static char folder[96]; /* the kernels */

/* Makes the folder, once for all cases, with the compiler that TILEWRIGHT_NVRTC names; what the tool printed. */
static const outcome *make_folder(void)
{
    static outcome made = {.exit = -1};
    char program[] = AHEAD_PROGRAM;
    if (folder[0] != '\0') return &made;
    snprintf(folder, sizeof folder, "%s/ahead", work);
    run_program((char *[]){program, folder, NULL}, "",
                (const char *const[]){"TILEWRIGHT_NVRTC=" FAKES_FOLDER "/nvrtc/libnvrtc.so.13", NULL}, &made);
    return &made;
}

static void open_to_all(const char *path) { chmod(path, 0644); }
static void let_all_write(const char *path) { chmod(path, 0666); }
static void close_again(const char *path) { chmod(path, 0600); }

static void cut(const char *path)
{
    if (truncate(path, 90) != 0) perror(path);
}

/* Done twice, it is undone. */
static void flip_bit(const char *path)
{
    const int fd = open(path, O_RDWR);
    char byte = 0;
    if (fd < 0 || pread(fd, &byte, 1, 90) != 1) perror(path);
    byte ^= 1;
    if (fd < 0 || pwrite(fd, &byte, 1, 90) != 1) perror(path);
    if (fd >= 0) close(fd);
}

static void rename_file(const char *path)
{
    char other[520];
    snprintf(other, sizeof other, "%s.old", path);
    if (rename(path, other) != 0) perror(path);
}

static void rename_back(const char *path)
{
    char other[520];
    snprintf(other, sizeof other, "%.*s", (int)strlen(path) - 4, path);
    if (rename(path, other) != 0) perror(path);
}

/* Does a product come out with the folder that this variable names, and what is said of it? */
static void named_case(const char *variable, bool made, bool multiplies, const char *says)
{
    char text[1024], why[1024];
    outcome o;
    run_child("cuda", "cuda", (const char *const[]){"TILEWRIGHT_NVRTC=/nowhere/libnvrtc.so", variable, NULL}, &o);
    int status = told(&o, "gemm", why);
    told(&o, "state", text);
    tap_result(made && sane(&o) && strstr(text, says) != NULL && (status == TW_OK) == multiplies &&
                   (multiplies || (status == TW_BUILD_FAILED && strstr(why, "NVRTC") != NULL)) &&
                   all_given_back("", why),
               "%s %s; exit %d:\n%s", made ? "" : "the folder could not be made", why, o.exit, o.text);
}

/* The folder gets this mode, and each of its files is changed, and changed back. */
static void ahead_case(const char *name, void (*change)(const char *path), void (*undo)(const char *path), mode_t mode,
                       bool multiplies, const char *says)
{
    char named[120];
    if (!tap_case("cuda, kernels built ahead: %s", name)) return;
    const bool made = make_folder()->exit == 0 && each_file(folder, change) > 0 && chmod(folder, mode) == 0;
    snprintf(named, sizeof named, "TILEWRIGHT_KERNELS=%s", folder);
    named_case(named, made, multiplies, says);
    each_file(folder, undo);
    chmod(folder, 0700);
}

static void absent_case(const char *name, const char *variable, const char *says)
{
    if (tap_case("cuda, kernels built ahead: %s", name)) named_case(variable, true, false, says);
}

/* A C of few columns, for which swap-AB has other options than for few rows; on sm_89 fp8, whose own kernels are not
 * built. */
static void columns_case(const char *driver, const char *dtype, const char *family)
{
    char named[120], type[40], text[1024], plan[1024];
    outcome o;
    if (!tap_case("cuda, kernels built ahead: a C of few columns of %s, %s", dtype, driver)) return;
    const bool made = make_folder()->exit == 0;
    snprintf(type, sizeof type, "FAULTS_COLUMNS=%s", dtype);
    snprintf(named, sizeof named, "TILEWRIGHT_KERNELS=%s", folder);
    run_child("cuda", "cuda", (const char *const[]){"TILEWRIGHT_NVRTC=/nowhere/libnvrtc.so", named, type, driver, NULL},
              &o);
    const int status = told(&o, "columns", text);
    told(&o, "columns plan", plan);
    tap_result(made && sane(&o) && status == TW_OK && strstr(plan, family) != NULL, "%d, %s; exit %d:\n%s", status,
               plan, o.exit, o.text);
}

/* The tool takes the compiler that TILEWRIGHT_NVRTC names, and tells how far it is, then what there is. */
static void ahead_tool_cases(void)
{
    char program[] = AHEAD_PROGRAM, first[64], last[200];
    outcome o;
    if (tap_case("cuda, kernels built ahead: how far that is, and what there is then")) {
        const outcome *made = make_folder();
        int count = each_file(folder, NULL);
        snprintf(first, sizeof first, "kernel 1 of %d: ", count);
        snprintf(last, sizeof last, "\n%s: %d kernels, 0.0 MB, for sm_80 and sm_90a\n", folder, count);
        size_t length = strlen(made->text), tail = strlen(last);
        tap_result(made->exit == 0 && count > 0 && strncmp(made->text, first, strlen(first)) == 0 && length > tail &&
                       strcmp(made->text + length - tail, last) == 0,
                   "%d files, exit %d:\n%s", count, made->exit, made->text);
    }
    if (tap_case("cuda, kernels built ahead: TILEWRIGHT_NVRTC names no library")) {
        char nothing[96];
        snprintf(nothing, sizeof nothing, "%s/nothing", work);
        run_program((char *[]){program, nothing, NULL}, "nvrtc",
                    (const char *const[]){"TILEWRIGHT_NVRTC=/nowhere/libnvrtc.so", NULL}, &o);
        tap_result(o.exit == 1 &&
                       strstr(o.text, "NVRTC, the CUDA run-time compiler, cannot be used: /nowhere/libnvrtc.so") !=
                           NULL,
                   "exit %d:\n%s", o.exit, o.text);
    }
}

static void ahead_cases(void)
{
    static const char found[] = "; kernels built ahead: ";
    ahead_tool_cases();
    ahead_case("no compiler is needed", NULL, NULL, 0700, true, "but no other kernel can be compiled");
    columns_case("FAKE_CUDA=sm=90", "bf16", "gemm_swapab_sm90");
    columns_case("FAKE_CUDA=sm=89", "e4m3", "gemm_simt");
    ahead_case("readable by all", open_to_all, close_again, 0755, true, found);
    ahead_case("writable by others", NULL, NULL, 0777, false,
               "can be written by other users: chmod go-w makes it usable");
    ahead_case("files writable by others", let_all_write, close_again, 0700, false, found);
    ahead_case("files changed", flip_bit, flip_bit, 0700, false, found);
    ahead_case("of another version", rename_file, rename_back, 0700, false, "but no kernel can be compiled");
    ahead_case("files cut off", cut, NULL, 0700, false, found); /* the last: what is cut is lost */
    absent_case("no folder of that name", "TILEWRIGHT_KERNELS=/nowhere/at/all",
                "none: /nowhere/at/all No such file or directory");
    absent_case("a folder by a relative path", "TILEWRIGHT_KERNELS=tmp", "none: tmp is not an absolute path");
    absent_case("a file for a folder", "TILEWRIGHT_KERNELS=/etc/passwd", "none: /etc/passwd is not a folder");
}

int main(int argc, char **argv)
{
    if (!faults_start(argc, argv)) return 1;
    ahead_cases();
    return faults_finish();
}
