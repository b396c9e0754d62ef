/* cgroup.c - see cgroup.h. Each controller is in one hierarchy: version 2's, or one of version 1's. A process's group
 * is a path in it; a mount shows the hierarchy from some root on: the group's folder is that path, seen from there.
 * Sources: cgroups(7), Linux Documentation/admin-guide/cgroup-v1 and cgroup-v2.rst, proc_pid_mountinfo(5). */
#define _POSIX_C_SOURCE 200809L
#include "cgroup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "first_line.h"

enum { PATH = 4096 };

/* Where a controller's limits are. */
typedef struct group {
    const char *controller; /* "": version 2's hierarchy */
    char path[PATH];        /* of the group in its hierarchy */
    char mount[PATH];       /* where that is mounted */
    char below[PATH];       /* the group's path from there: "" or "/..." */
    size_t rank;            /* of that mount; 0: there is none */
} group;

/* Is the word in this list with commas? */
static bool lists(const char *list, size_t length, const char *word)
{
    for (const char *at = list, *end = list + length; at < end; at++) {
        const size_t item = strcspn(at, ",") < (size_t)(end - at) ? strcspn(at, ",") : (size_t)(end - at);
        if (item == strlen(word) && strncmp(at, word, item) == 0) return true;
        at += item;
    }
    return false;
}

/* A line of /proc/self/cgroup, "4:cpu,cpuacct:/path" or "0::/path". */
static bool take_path(char *line, group *g)
{
    char *controllers = strchr(line, ':'), *path = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
    if (path == NULL) return false;
    const size_t length = (size_t)(path - ++controllers);
    if (g->controller[0] == '\0' ? length > 0 : !lists(controllers, length, g->controller)) return false;
    return snprintf(g->path, PATH, "%s", path + 1) < PATH;
}

/* mountinfo writes blanks and backslashes as \040 and \134. */
static void plain(char *text)
{
    char *to = text;
    for (const char *at = text; *at != '\0'; at++) {
        unsigned code;
        if (at[0] == '\\' && sscanf(at + 1, "%3o", &code) == 1 && strspn(at + 1, "01234567") >= 3)
            *to++ = (char)code, at += 3;
        else
            *to++ = *at;
    }
    *to = '\0';
}

/* A line of /proc/self/mountinfo: "36 35 0:27 ROOT MOUNT options ... - TYPE source OPTIONS". Of several mounts, the
 * one that shows most groups above this one is taken. A mount of another part of the hierarchy is taken only if there
 * is no other. */
static void take_mount(char *line, group *g)
{
    char *word[6], *rest = NULL, *super = strstr(line, " - ");
    char type[16], options[512] = "";
    if (super == NULL || sscanf(super + 3, "%15s %*s %511s", type, options) < 1) return;
    const bool second = g->controller[0] == '\0';
    if (strcmp(type, second ? "cgroup2" : "cgroup") != 0) return;
    if (!second && !lists(options, strlen(options), g->controller)) return;
    *super = '\0';
    for (int i = 0; i < 6; i++)
        if ((word[i] = strtok_r(i == 0 ? line : NULL, " ", &rest)) == NULL) return;
    char *root = word[3], *mount = word[4];
    plain(root), plain(mount);
    if (strcmp(root, "/") == 0) root = "";
    const size_t length = strlen(root);
    const bool above = strncmp(g->path, root, length) == 0 && (g->path[length] == '/' || g->path[length] == '\0');
    const char *below = above && strcmp(g->path + length, "/") != 0 ? g->path + length : "";
    if (strncmp(below, "/../", 4) == 0) below = ""; /* the group is outside of this namespace */
    const size_t rank = above ? 2 + strlen(below) : 1;
    if (rank <= g->rank) return;
    g->rank = rank;
    snprintf(g->mount, PATH, "%s", mount);
    snprintf(g->below, PATH, "%s", below);
}

/* Each line of a file in /proc, however long. */
static void each_line(const char *root, const char *path, group *g, bool (*take)(char *line, group *g))
{
    char full[PATH], *line = NULL;
    size_t room = 0;
    FILE *file = snprintf(full, PATH, "%s%s", root, path) < PATH ? fopen(full, "re") : NULL;
    bool more = file != NULL;
    while (more && getline(&line, &room, file) > 0) {
        line[strcspn(line, "\n")] = '\0';
        more = !take(line, g);
    }
    free(line);
    if (file != NULL) fclose(file);
}

static bool take_any_mount(char *line, group *g) { return take_mount(line, g), false; }

/* The numbers of a group's file; 0: there is no such limit. */
static int numbers(const char *root, const group *g, const char *file, char path[PATH], double found[2])
{
    char text[64], full[PATH];
    if (snprintf(path, PATH, "%s%s/%s", g->mount, g->below, file) >= PATH) return 0;
    if (snprintf(full, PATH, "%s%s", root, path) >= PATH || !first_line(full, text, sizeof text)) return 0;
    return sscanf(text, "%lf %lf", &found[0], &found[1]);
}

static void limit_processors(double quota, double period, const char *path, tw_lab_limits *out)
{
    if (!(quota > 0) || !(period > 0) || (out->processors > 0 && quota / period >= out->processors)) return;
    out->processors = quota / period;
    snprintf(out->processors_from, sizeof out->processors_from, "%.199s", path);
}

/* Version 1 says "none" by the largest multiple of a page. */
static void limit_memory(double bytes, const char *path, tw_lab_limits *out)
{
    if (!(bytes >= 0) || bytes >= 0x1p62 || (out->memory_from[0] != '\0' && bytes >= (double)out->memory_bytes)) return;
    out->memory_bytes = (int64_t)bytes;
    snprintf(out->memory_from, sizeof out->memory_from, "%.199s", path);
}

/* The group and those above it, up to the mount. */
static void read_limits(const char *root, group *g, tw_lab_limits *out)
{
    char path[PATH], ignored[PATH];
    double x[2], period[2];
    for (;;) {
        if (numbers(root, g, "cpu.max", path, x) == 2) limit_processors(x[0], x[1], path, out);
        if (numbers(root, g, "cpu.cfs_quota_us", path, x) > 0 &&
            numbers(root, g, "cpu.cfs_period_us", ignored, period) > 0)
            limit_processors(x[0], period[0], path, out);
        /* beyond memory.high a group is slowed down until it is below again */
        static const char *const memory[] = {"memory.max", "memory.high", "memory.limit_in_bytes"};
        for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
            if (numbers(root, g, memory[i], path, x) > 0) limit_memory(x[0], path, out);
        char *slash = strrchr(g->below, '/');
        if (slash == NULL) return;
        *slash = '\0';
    }
}

void cgroup_read(const char *root, tw_lab_limits *out)
{
    static const char *const controllers[] = {"", "cpu", "memory"};
    *out = (tw_lab_limits){0};
    for (size_t i = 0; i < sizeof controllers / sizeof *controllers; i++) {
        group g = {.controller = controllers[i]};
        each_line(root, "/proc/self/cgroup", &g, take_path);
        if (g.path[0] == '\0') continue;
        each_line(root, "/proc/self/mountinfo", &g, take_any_mount);
        if (g.rank > 0) read_limits(root, &g, out);
    }
}
