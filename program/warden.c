/* warden.c - see warden.h. The caller waits for a child, the subreaper, which was never anybody's parent: all its
 * children but the command are orphans of the command. */
#define _GNU_SOURCE
#include "warden.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "../lab/measure.h"
#include "guard.h"

/* How often the subreaper looks for orphans, of whom no signal tells; how long after the command's end: one may run
 * with the rights of another user, or hang in a driver. */
static const struct timespec LOOK = {.tv_nsec = 50000000};
static const double LAST_LOOK_S = 5;

static void handed_on(sigset_t *set)
{
    static const int all[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU, SIGUSR1, SIGUSR2, SIGCHLD};
    sigemptyset(set);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) sigaddset(set, all[i]);
}

static long parent_of(const char *process)
{
    char path[64], text[512];
    long parent = 0;
    snprintf(path, sizeof path, "/proc/%.20s/stat", process);
    FILE *stat = fopen(path, "re");
    const char *name_end = stat != NULL && fgets(text, sizeof text, stat) != NULL ? strrchr(text, ')') : NULL;
    if (name_end == NULL || sscanf(name_end + 1, " %*c %ld", &parent) != 1) parent = 0;
    if (stat != NULL) fclose(stat);
    return parent;
}

/* By a kernel without the list of children all processes are looked at. */
static void kill_children_but(pid_t kept)
{
    char path[64];
    long child;
    snprintf(path, sizeof path, "/proc/self/task/%ld/children", (long)getpid());
    FILE *children = fopen(path, "re");
    DIR *all = children == NULL ? opendir("/proc") : NULL;
    while (children != NULL && fscanf(children, "%ld", &child) == 1)
        if (child != (long)kept) kill((pid_t)child, SIGKILL);
    for (struct dirent *process; all != NULL && (process = readdir(all)) != NULL;) {
        child = atol(process->d_name);
        if (child > 0 && child != (long)kept && parent_of(process->d_name) == (long)getpid())
            kill((pid_t)child, SIGKILL);
    }
    if (children != NULL) fclose(children);
    if (all != NULL) closedir(all);
}

/* By the same exit status or signal, without a second core file. */
static void end_as(int status) __attribute__((noreturn));
static void end_as(int status)
{
    if (WIFSIGNALED(status)) {
        sigset_t all;
        sigfillset(&all);
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        signal(WTERMSIG(status), SIG_DFL);
        sigprocmask(SIG_UNBLOCK, &all, NULL);
        raise(WTERMSIG(status));
    }
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

/* Waits for the child, which gets the signals that come, and then ends as it did. A subreaper ends its orphans. */
static void stand_by(pid_t child, bool reaps) __attribute__((noreturn));
static void stand_by(pid_t child, bool reaps)
{
    sigset_t set;
    int ended = 0;
    double ended_s = 0;
    pid_t alive = child;
    handed_on(&set);
    guard_leave();
    for (;;) {
        const int came = reaps ? sigtimedwait(&set, NULL, &LOOK) : sigwaitinfo(&set, NULL);
        if (came > 0 && came != SIGCHLD && alive != 0) kill(alive, came);
        int status;
        pid_t got;
        while ((got = waitpid(-1, &status, WNOHANG)) > 0)
            if (got == alive) alive = 0, ended = status, ended_s = measure_now_s();
        if (reaps) kill_children_but(alive);
        if (alive == 0 && (!reaps || got < 0 || measure_now_s() - ended_s > LAST_LOOK_S)) end_as(ended);
    }
}

/* The child goes on; its parent stands by. A child whose parent is killed is asked to end. */
static bool go_below(bool reaps)
{
    const pid_t parent = getpid(), child = fork();
    if (child > 0) stand_by(child, reaps);
    /* 0: the parent is outside this PID namespace, as behind `unshare --pid` without --fork */
    if (child == 0 && (prctl(PR_SET_PDEATHSIG, SIGTERM) != 0 || (getppid() != parent && getppid() != 0)))
        _exit(128 + SIGTERM);
    return child == 0;
}

bool warden_begin(void)
{
    sigset_t set, before;
    handed_on(&set);
    fflush(NULL);
    signal(SIGCHLD, SIG_DFL); /* a caller that ignores it would leave nothing to wait for */
    sigprocmask(SIG_BLOCK, &set, &before);
    const bool below = go_below(false) && prctl(PR_SET_CHILD_SUBREAPER, 1) == 0 && go_below(true);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return below;
}
