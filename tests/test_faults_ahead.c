/* test_faults_ahead.c - kernels that somebody built ahead, on a machine without NVRTC. */
#include "support/faults.h"
#include "tilewright_lab.h"

/* Makes the folder anew. */
static bool make_folder(const char *folder)
{
    char program[] = AHEAD_PROGRAM, name[96], command[120];
    outcome o;
    snprintf(name, sizeof name, "%s", folder);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command) != 0) return false;
    run_program((char *[]){program, name, NULL}, "cuda:nvrtc", (const char *const[]){NULL}, &o);
    return o.exit == 0;
}

/* The folder is made anew; then `change` is done to it. Does a product come out, and what is said of the folder? */
static void ahead_case(const char *name, const char *change, const char *variable, bool multiplies, const char *says)
{
    char folder[96], named[120], command[400], text[1024], why[1024];
    outcome o;
    if (!tap_case("cuda, kernels built ahead: %s", name)) return;
    snprintf(folder, sizeof folder, "%s/ahead", work);
    snprintf(named, sizeof named, "TILEWRIGHT_KERNELS=%s", folder);
    snprintf(command, sizeof command, "cd '%s' && %s", folder, change);
    const bool made = make_folder(folder) && system(command) == 0;
    run_child("cuda", "cuda",
              (const char *const[]){"TILEWRIGHT_NVRTC=/nowhere/libnvrtc.so", variable != NULL ? variable : named, NULL},
              &o);
    int status = told(&o, "gemm", why);
    told(&o, "state", text);
    tap_result(made && sane(&o) && strstr(text, says) != NULL && (status == TW_OK) == multiplies &&
                   (multiplies || (status == TW_BUILD_FAILED && strstr(why, "NVRTC") != NULL)) &&
                   all_given_back("", why),
               "%s %s; exit %d:\n%s", made ? "" : "the folder could not be made", why, o.exit, o.text);
}

/* A C of few columns, for which swap-AB has other options than for few rows; on sm_89 fp8, whose own kernels are not
 * built. */
static void columns_case(const char *driver, const char *dtype, const char *family)
{
    char folder[96], named[120], type[40], text[1024], plan[1024];
    outcome o;
    if (!tap_case("cuda, kernels built ahead: a C of few columns of %s, %s", dtype, driver)) return;
    snprintf(type, sizeof type, "FAULTS_COLUMNS=%s", dtype);
    snprintf(folder, sizeof folder, "%s/ahead", work);
    snprintf(named, sizeof named, "TILEWRIGHT_KERNELS=%s", folder);
    const bool made = make_folder(folder);
    run_child("cuda", "cuda", (const char *const[]){"TILEWRIGHT_NVRTC=/nowhere/libnvrtc.so", named, type, driver, NULL},
              &o);
    const int status = told(&o, "columns", text);
    told(&o, "columns plan", plan);
    tap_result(made && sane(&o) && status == TW_OK && strstr(plan, family) != NULL, "%d, %s; exit %d:\n%s", status,
               plan, o.exit, o.text);
}

static int files_in(const char *folder)
{
    DIR *opened = opendir(folder);
    const struct dirent *entry;
    int count = 0;
    while (opened != NULL && (entry = readdir(opened)) != NULL) count += entry->d_name[0] != '.';
    if (opened != NULL) closedir(opened);
    return count;
}

/* The tool takes the compiler that TILEWRIGHT_NVRTC names, and tells how far it is, then what there is. */
static void ahead_tool_cases(void)
{
    char program[] = AHEAD_PROGRAM, folder[96], command[120], first[64], last[200];
    const char *const named[] = {"TILEWRIGHT_NVRTC=" FAKES_FOLDER "/nvrtc/libnvrtc.so.13", NULL},
                      *const nowhere[] = {"TILEWRIGHT_NVRTC=/nowhere/libnvrtc.so", NULL};
    outcome o;
    snprintf(folder, sizeof folder, "%s/tool", work);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (tap_case("cuda, kernels built ahead: how far that is, and what there is then")) {
        bool fresh = system(command) == 0;
        run_program((char *[]){program, folder, NULL}, "", named, &o);
        int count = files_in(folder);
        snprintf(first, sizeof first, "kernel 1 of %d: ", count);
        snprintf(last, sizeof last, "\n%s: %d kernels, 0.0 MB, for sm_80 and sm_90a\n", folder, count);
        size_t length = strlen(o.text), tail = strlen(last);
        tap_result(fresh && o.exit == 0 && count > 0 && strncmp(o.text, first, strlen(first)) == 0 && length > tail &&
                       strcmp(o.text + length - tail, last) == 0,
                   "%d files, exit %d:\n%s", count, o.exit, o.text);
    }
    if (tap_case("cuda, kernels built ahead: TILEWRIGHT_NVRTC names no library")) {
        run_program((char *[]){program, folder, NULL}, "nvrtc", nowhere, &o);
        tap_result(o.exit == 1 &&
                       strstr(o.text, "NVRTC, the CUDA run-time compiler, cannot be used: /nowhere/libnvrtc.so") !=
                           NULL,
                   "exit %d:\n%s", o.exit, o.text);
    }
}

static void ahead_cases(void)
{
    ahead_tool_cases();
    ahead_case("no compiler is needed", "true", NULL, true, "but no other kernel can be compiled");
    columns_case("FAKE_CUDA=sm=90", "bf16", "gemm_swapab_sm90");
    columns_case("FAKE_CUDA=sm=89", "e4m3", "gemm_simt");
    ahead_case("readable by all", "chmod -R go+rX .", NULL, true, "; kernels built ahead: ");
    ahead_case("writable by others", "chmod 777 .", NULL, false,
               "can be written by other users: chmod go-w makes it usable");
    ahead_case("files writable by others", "chmod 666 *", NULL, false, "; kernels built ahead: ");
    ahead_case("files cut off", "for f in *; do head -c 90 \"$f\" >x && mv x \"$f\"; done", NULL, false,
               "; kernels built ahead: ");
    ahead_case("files changed",
               "for f in *; do printf x | dd of=\"$f\" bs=1 seek=90 conv=notrunc 2>/dev/null || exit; done", NULL,
               false, "; kernels built ahead: ");
    ahead_case("no folder of that name", "true", "TILEWRIGHT_KERNELS=/nowhere/at/all", false,
               "none: /nowhere/at/all No such file or directory");
    ahead_case("a folder by a relative path", "true", "TILEWRIGHT_KERNELS=tmp", false,
               "none: tmp is not an absolute path");
    ahead_case("of another version", "for f in *; do mv \"$f\" \"$f.old\"; done", NULL, false,
               "but no kernel can be compiled");
    ahead_case("a file for a folder", "true", "TILEWRIGHT_KERNELS=/etc/passwd", false,
               "none: /etc/passwd is not a folder");
}

int main(int argc, char **argv)
{
    if (!faults_start(argc, argv)) return 1;
    ahead_cases();
    return faults_finish();
}
