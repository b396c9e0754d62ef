/* faults.h - runs faulty.c, or a program of ours, among fakes in the drivers' names (tests/fakes), found through
 * LD_LIBRARY_PATH, and reads what it printed and what the fakes logged. Permission tests drop to an unprivileged user
 * where they run as root. */
#ifndef TILEWRIGHT_FAULTS_H
#define TILEWRIGHT_FAULTS_H

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "faulty.h"
#include "tap.h"

enum { OUTPUT = 65536 };
static char work[] = "/tmp/tilewright-faults.XXXXXX", log_path[64], cache_folder[128], cache_variable[160];

typedef struct outcome {
    int exit; /* -1: a signal ended it */
    char text[OUTPUT];
} outcome;

/* Run a program with these variables set ("NAME=value", ends with NULL); what it prints. folders: of fakes, separated
 * by colons; behind them what is no library hides this machine's own drivers. "": none are hidden. */
static inline void run_program(char *const *arguments, const char *folders, const char *const *variables, outcome *out)
{
    int ends[2], status = 0;
    size_t length = 0;
    ssize_t got;
    unlink(log_path);
    *out = (outcome){.exit = -1};
    fflush(stdout);
    if (pipe(ends) != 0) return;
    pid_t pid = fork();
    if (pid == 0) {
        char path[1024] = "", part[256];
        for (const char *at = folders; *at != '\0'; at += strcspn(at, ":"), at += *at == ':') {
            snprintf(part, sizeof part, "%s%s/%.*s", path[0] != '\0' ? ":" : "", FAKES_FOLDER, (int)strcspn(at, ":"),
                     at);
            strcat(path, part);
        }
        dup2(ends[1], 1), dup2(ends[1], 2);
        close(ends[0]), close(ends[1]);
        if (path[0] != '\0') setenv("LD_LIBRARY_PATH", strcat(path, ":" FAKES_FOLDER "/broken"), 1);
        setenv("FAKE_LOG", log_path, 1);
        setenv("TILEWRIGHT_CACHE", "off", 1);
        setenv("TILEWRIGHT_SELF_TEST", "off", 1); /* the fakes compute nothing */
        unsetenv("TILEWRIGHT_NVRTC");
        unsetenv("TILEWRIGHT_KERNELS");
        unsetenv("TILEWRIGHT_OPENCL_OPTIONS");
        for (; *variables != NULL; variables++) {
            snprintf(part, sizeof part, "%.*s", (int)strcspn(*variables, "="), *variables);
            setenv(part, strchr(*variables, '=') + 1, 1);
        }
        execv(arguments[0], arguments);
        _exit(127);
    }
    close(ends[1]);
    while (pid > 0 && length < OUTPUT - 1 && (got = read(ends[0], out->text + length, OUTPUT - 1 - length)) > 0)
        length += (size_t)got;
    close(ends[0]);
    if (pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status)) out->exit = WEXITSTATUS(status);
}

static inline void run_child(const char *engine, const char *folders, const char *const *variables, outcome *out)
{
    char program[] = FAULTY_PROGRAM, name[16];
    snprintf(name, sizeof name, "%s", engine);
    run_program((char *[]){program, name, NULL}, folders, variables, out);
}

/* "what:number:text" of the child's output: the number (-1 where there is no such line) and the text. */
static inline int told(const outcome *o, const char *what, char text[1024])
{
    char key[32];
    snprintf(key, sizeof key, "%s:", what);
    const char *at = strncmp(o->text, key, strlen(key)) == 0 ? o->text : strstr(o->text, key);
    text[0] = '\0';
    if (at == NULL) return -1;
    const char *colon = strchr(at + strlen(key), ':');
    if (colon != NULL) snprintf(text, 1024, "%.*s", (int)strcspn(colon + 1, "\n"), colon + 1);
    return atoi(at + strlen(key));
}

/* It ended well, the CPU computes, and every block of the library's has been given back. */
static inline bool sane(const outcome *o)
{
    char text[1024];
    return o->exit == 0 && strstr(o->text, "cpu:right") != NULL && strstr(o->text, "C came back changed") == NULL &&
           told(o, "live", text) == 0;
}

/* How often the fakes' log has this line. */
static inline int logged(const char *line)
{
    char text[256];
    int count = 0;
    FILE *log = fopen(log_path, "r");
    while (log != NULL && fgets(text, sizeof text, log) != NULL) {
        text[strcspn(text, "\n")] = '\0';
        count += strcmp(text, line) == 0;
    }
    if (log != NULL) fclose(log);
    return count;
}

static inline bool says(const char *text, const char *const parts[2])
{
    return (parts[0] == NULL || strstr(text, parts[0]) != NULL) && (parts[1] == NULL || strstr(text, parts[1]) != NULL);
}

/* What is made must be given back, whatever fails. */
static const struct {
    const char *made[2], *released;
} pairs[] = {
    {{"cuMemAlloc_v2"}, "cuMemFree_v2"},
    {{"cuMemHostAlloc"}, "cuMemFreeHost"},
    {{"cuStreamCreate", "cuStreamCreateWithPriority"}, "cuStreamDestroy_v2"},
    {{"cuEventCreate"}, "cuEventDestroy_v2"},
    {{"cuModuleLoadData"}, "cuModuleUnload"},
    {{"cuDevicePrimaryCtxRetain"}, "cuDevicePrimaryCtxRelease_v2"},
    {{"cuCtxPushCurrent_v2"}, "cuCtxPopCurrent_v2"},
    {{"nvrtcCreateProgram"}, "nvrtcDestroyProgram"},
    {{"clCreateContext"}, "clReleaseContext"},
    {{"clCreateCommandQueue"}, "clReleaseCommandQueue"},
    {{"clCreateBuffer"}, "clReleaseMemObject"},
    {{"clCreateProgramWithSource", "clCreateProgramWithBinary"}, "clReleaseProgram"},
    {{"clCreateKernel"}, "clReleaseKernel"},
    {{"clEnqueueNDRangeKernel"}, "clReleaseEvent"},
};

static inline bool all_given_back(const char *failing, char why[256])
{
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        int made = logged(pairs[i].made[0]) + (pairs[i].made[1] != NULL ? logged(pairs[i].made[1]) : 0),
            released = logged(pairs[i].released);
        if (strcmp(pairs[i].released, failing) == 0 || made == released) continue;
        snprintf(why, 256, "%s %d times, %s %d times", pairs[i].made[0], made, pairs[i].released, released);
        return false;
    }
    return true;
}

/* Change each file of a folder; how many there are. */
static inline int each_file(const char *folder, void (*change)(const char *path))
{
    char path[512];
    int count = 0;
    struct dirent *entry;
    DIR *opened = opendir(folder);
    while (opened != NULL && (entry = readdir(opened)) != NULL) {
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%.255s", folder, entry->d_name);
        if (change != NULL) change(path);
        count++;
    }
    if (opened != NULL) closedir(opened);
    return count;
}

static inline void remove_file(const char *path) { unlink(path); }

static inline void forget_cache(void)
{
    each_file(cache_folder, remove_file);
    struct stat info;
    char command[256];
    if (lstat(cache_folder, &info) == 0) {
        snprintf(command, sizeof command, "rm -rf '%s'", cache_folder);
        if (system(command) != 0) perror(cache_folder);
    }
}

/* A folder for all cases, and in it one where any user may write, for a cache. */
static inline bool faults_start(int argc, char **argv)
{
    char open_folder[64];
    tap_start(argc, argv);
    if (tap.list) return true;
    if (mkdtemp(work) == NULL) return false;
    chmod(work, 0755);
    snprintf(log_path, sizeof log_path, "%s/log", work);
    snprintf(cache_folder, sizeof cache_folder, "%s/open/cache", work);
    snprintf(cache_variable, sizeof cache_variable, "TILEWRIGHT_CACHE=%s", cache_folder);
    snprintf(open_folder, sizeof open_folder, "%s/open", work);
    return mkdir(open_folder, 0700) == 0 && chmod(open_folder, 0777) == 0;
}

static inline int faults_finish(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", work);
    if (!tap.list && system(command) != 0) return 1;
    return tap_finish();
}

#endif
