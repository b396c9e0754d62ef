/* command.c - see command.h. */
#define _POSIX_C_SOURCE 200809L
#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "measure.h"

extern char **environ;

static const size_t MOST_BYTES = (size_t)256 << 20;

bool command_is_program(const char *path)
{
    struct stat info; /* folders may be run too, in their own sense */
    return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

bool command_find(const char *name, char path[COMMAND_PATH])
{
    const char *folder = getenv("PATH");
    if (strchr(name, '/') != NULL)
        return snprintf(path, COMMAND_PATH, "%s", name) < COMMAND_PATH && command_is_program(path);
    for (int length; folder != NULL && *folder != '\0'; folder += length + (folder[length] == ':')) {
        length = (int)strcspn(folder, ":");
        if (folder[0] == '/' && snprintf(path, COMMAND_PATH, "%.*s/%s", length, folder, name) < COMMAND_PATH &&
            command_is_program(path))
            return true;
    }
    return false;
}

static const int stops[] = {SIGINT, SIGTERM, SIGHUP};

void command_stops(sigset_t *set)
{
    sigemptyset(set);
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++) sigaddset(set, stops[i]);
}

bool command_stop_waits(void)
{
    struct sigaction way; /* one that is ignored waits too, as long as it is blocked */
    sigset_t sent;
    if (sigpending(&sent) != 0) return false;
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++)
        if (sigismember(&sent, stops[i]) == 1 && sigaction(stops[i], NULL, &way) == 0 && way.sa_handler != SIG_IGN)
            return true;
    return false;
}

/* Has it written, or ended? false: the time (0: no limit) is over, or this program is to end. */
static bool wait_for(int input, double until_s)
{
    const int slice_ms = 50;
    for (;;) {
        struct pollfd wait = {.fd = input, .events = POLLIN};
        int ready = poll(&wait, 1, until_s == 0 ? -1 : slice_ms);
        if (ready != 0 && !(ready < 0 && errno == EINTR)) return true;
        if (until_s != 0 && (command_stop_waits() || measure_now_s() >= until_s)) return false;
    }
}

/* All that comes; NULL where it is too much or memory runs out. *late: it was not waited for to the end. */
static char *read_all(int input, double until_s, bool *late)
{
    size_t count = 0, room = 1 << 16;
    char *text = malloc(room);
    while (text != NULL && !(*late = !wait_for(input, until_s))) {
        ssize_t got = read(input, text + count, room - count - 1);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        count += (size_t)got;
        if (room - count > 1) continue;
        char *more = room < MOST_BYTES ? realloc(text, room * 2) : NULL;
        if (more == NULL) free(text);
        text = more;
        room *= 2;
    }
    if (text != NULL) text[count] = '\0';
    return text;
}

/* No signal is blocked; where there is a limit, in a process group of its own, which then ends as a whole. */
static bool set_signals(posix_spawnattr_t *attributes, bool limited)
{
    sigset_t none;
    const int flags = POSIX_SPAWN_SETSIGMASK | (limited ? POSIX_SPAWN_SETPGROUP : 0);
    sigemptyset(&none);
    return posix_spawnattr_setflags(attributes, (short)flags) == 0 && posix_spawnattr_setpgroup(attributes, 0) == 0 &&
           posix_spawnattr_setsigmask(attributes, &none) == 0;
}

/* The program as a child whose output goes into this pipe. Between fork() and exec() a process that has threads may do
 * next to nothing, and drivers make threads: posix_spawn() does no more than that. */
static bool start(const char *const words[], bool messages, bool limited, const int ends[2], pid_t *child)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    const int kept = messages ? STDERR_FILENO : STDOUT_FILENO, dropped = messages ? STDOUT_FILENO : STDERR_FILENO;
    if (posix_spawn_file_actions_init(&actions) != 0) return false;
    if (posix_spawnattr_init(&attributes) != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return false;
    }
    bool ready = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0) == 0 &&
                 posix_spawn_file_actions_adddup2(&actions, ends[1], kept) == 0 &&
                 posix_spawn_file_actions_addopen(&actions, dropped, "/dev/null", O_WRONLY, 0) == 0 &&
                 set_signals(&attributes, limited);
    ready = ready && posix_spawn(child, words[0], &actions, &attributes, (char *const *)(uintptr_t)words, environ) == 0;
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return ready;
}

/* Waits for a child with a group of its own; false: it did not end by then, and was made to end, by SIGKILL if SIGTERM
 * was not enough. */
static bool ends_by(pid_t child, double until_s, int *ended)
{
    const double grace_s = 1;
    const struct timespec moment = {.tv_nsec = 5000000};
    bool asked = false, killed = false;
    for (;;) {
        const pid_t got = waitpid(child, ended, WNOHANG);
        if (got == child || (got < 0 && errno != EINTR)) return !asked;
        const double now = measure_now_s();
        if (!asked && now >= until_s)
            kill(-child, SIGTERM), asked = true, until_s = now + grace_s;
        else if (asked && !killed && now >= until_s)
            kill(-child, SIGKILL), killed = true;
        nanosleep(&moment, NULL);
    }
}

char *command_run(const char *const words[], bool messages, double limit_s, int *status)
{
    int ends[2], ended = 0;
    pid_t child;
    bool late = false;
    *status = -1;
    if (pipe(ends) != 0) return NULL;
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    bool started = start(words, messages, limit_s > 0, ends, &child);
    close(ends[1]);
    const double until_s = limit_s > 0 ? measure_now_s() + limit_s : 0;
    char *text = started ? read_all(ends[0], until_s, &late) : NULL;
    close(ends[0]); /* one that writes on gets a broken pipe */
    if (started && limit_s > 0) late = !ends_by(child, late ? 0 : until_s, &ended) || late;
    while (started && limit_s <= 0 && waitpid(child, &ended, 0) < 0 && errno == EINTR) continue;
    if (started && WIFEXITED(ended) && !late) *status = WEXITSTATUS(ended);
    return text;
}
