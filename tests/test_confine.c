/* test_confine.c - what a confined process cannot do: read other files, reach the network or other processes, grow, or,
 * once it computes, call the system at all. Each case is a process of its own, whose exit status says what it found. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../program/confine.h"
#include "support/tap.h"

enum { REACHED = 0, REFUSED = 10, NOT_CONFINED = 11 };

static char folder[] = "/tmp/tilewright-confine.XXXXXX", own[64], other[64];
static int answers[2], kept_open;

static int opens(const char *path, int flags)
{
    const int file = open(path, flags | O_CLOEXEC, 0600);
    return file >= 0 ? REACHED : errno == EACCES || errno == EPERM ? REFUSED : NOT_CONFINED;
}

static int answered(bool reached)
{
    return reached ? REACHED : errno == EACCES || errno == EPERM ? REFUSED : NOT_CONFINED;
}

/* ---- with the rights of a compiler ---- */

static int reads_passwords(void) { return opens("/etc/passwd", O_RDONLY); }
static int reads_another_file(void) { return opens(other, O_RDONLY); }
static int reads_a_device(void) { return opens("/dev/zero", O_RDONLY); }
static int lists_the_folder_above(void) { return opens("/tmp", O_RDONLY | O_DIRECTORY); }
static int writes_elsewhere(void) { return opens(other, O_WRONLY); }
static int signals_another(void) { return answered(kill(getppid(), 0) == 0); }
static int has_a_namespace(void) { return answered(unshare(CLONE_NEWUSER) == 0); }
static int has_a_namespace_of_a_child(void)
{
    return answered(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0) >= 0);
}
static int has_a_socket(void) { return answered(socket(AF_INET, SOCK_STREAM, 0) >= 0); }
static int has_a_local_socket(void) { return answered(socket(AF_UNIX, SOCK_STREAM, 0) >= 0); }
static int reads_its_own(void) { return opens(own, O_RDONLY); }
static int writes_its_own(void) { return opens(own, O_WRONLY | O_CREAT); }
static int reads_headers(void) { return opens("/usr/include", O_RDONLY | O_DIRECTORY); }

static int runs_a_compiler(void)
{
    return system("printf 'int x;' | cc -xc -c -o $TMPDIR/x.o - && rm $TMPDIR/x.o") == 0 ? REACHED : NOT_CONFINED;
}

static int writes_much(void)
{
    static char block[1 << 20];
    const int file = open(own, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    signal(SIGXFSZ, SIG_IGN);
    for (int i = 0; i < 65; i++)
        if (write(file, block, sizeof block) < 0) return errno == EFBIG ? REFUSED : NOT_CONFINED;
    return REACHED;
}

#ifndef __SANITIZE_ADDRESS__ /* which needs more address space than there is memory */
static int takes_much(void)
{
    void *much = mmap(NULL, (size_t)3 << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                      0);
    return much != MAP_FAILED ? REACHED : errno == ENOMEM ? REFUSED : NOT_CONFINED;
}
#endif

/* ---- of a kernel that is loaded, and that computes ---- */

static int computes(void)
{
    double sum = 0;
    float *x = malloc((size_t)8 << 20);
    for (int i = 0; x != NULL && i < 1 << 20; i++) sum += x[i] = (float)i;
    free(x);
    return write(answers[1], &sum, sizeof sum) == sizeof sum ? REACHED : NOT_CONFINED;
}

static int writes_to_stderr(void) { return write(STDERR_FILENO, "", 0) == 0 ? REACHED : NOT_CONFINED; }
static int opens_a_file(void) { return opens(own, O_RDONLY); }
static int forks(void) { return fork() >= 0 ? REACHED : NOT_CONFINED; }
static int kills(void) { return kill(getppid(), 0) == 0 ? REACHED : NOT_CONFINED; }
static int runs_a_program(void) { return execl("/bin/true", "true", (char *)NULL) < 0 ? NOT_CONFINED : REACHED; }
static int asks_for_a_socket(void) { return socket(AF_INET, SOCK_STREAM, 0) >= 0 ? REACHED : NOT_CONFINED; }
static int changes_a_mode(void) { return chmod(own, 0777) == 0 ? REACHED : NOT_CONFINED; }
static int maps_code(void)
{
    return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED ? REACHED
                                                                                                     : NOT_CONFINED;
}
static int maps_a_file(void)
{
    return mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, kept_open, 0) != MAP_FAILED ? REACHED : NOT_CONFINED;
}
static int makes_code(void)
{
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0 ? REACHED : NOT_CONFINED;
}

#ifdef __x86_64__
static int calls_as_x32(void) { return syscall(0x40000000 | SYS_getpid) > 0 ? REACHED : NOT_CONFINED; }
#endif

/* ---- cases ---- */

typedef enum stage { COMPILER, LOADING, COMPUTING } stage;

static int in_process(stage at, int (*job)(void))
{
    const bool done = at == COMPILER  ? confine_compiler("/usr/bin/cc", folder, 20)
                      : at == LOADING ? confine_loading(folder, 20)
                                      : confine_loading(folder, 20) && confine_computing(answers[1]);
    return done ? job() : NOT_CONFINED;
}

/* signal_expected: 0: none ends it. */
static void confined_case(const char *about, stage at, int (*job)(void), int expected, int signal_expected)
{
    int status = 0;
    if (!tap_case("%s", about)) return;
    if (confine_why_not() != NULL) {
        tap_skip(confine_why_not());
        return;
    }
    if (expected == REFUSED && signal_expected == 0 && !confine_keeps_files() && strstr(about, "file") != NULL) {
        tap_skip("this kernel has no Landlock");
        return;
    }
#ifdef __SANITIZE_ADDRESS__
    if (at != COMPILER) {
        tap_skip("AddressSanitizer asks the system for more than is allowed");
        return;
    }
#endif
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) _exit(in_process(at, job));
    if (child < 0 || waitpid(child, &status, 0) != child) status = NOT_CONFINED << 8;
    const bool by_signal = WIFSIGNALED(status);
    tap_result(signal_expected != 0 ? by_signal && WTERMSIG(status) == signal_expected
                                    : !by_signal && WEXITSTATUS(status) == expected,
               "%s %d", by_signal ? "signal" : "exit status", by_signal ? WTERMSIG(status) : WEXITSTATUS(status));
}

int main(int argc, char **argv)
{
    tap_start(argc, argv);
    if (mkdtemp(folder) == NULL || pipe(answers) != 0 || setenv("TMPDIR", folder, 1) != 0) return 1;
    snprintf(own, sizeof own, "%s/own", folder);
    snprintf(other, sizeof other, "%s.txt", folder);
    FILE *file = fopen(other, "w");
    if (file == NULL || fputs("secret", file) < 0 || fclose(file) != 0) return 1;
    kept_open = open(other, O_RDONLY | O_CLOEXEC);

    confined_case("a compiler reads no file of passwords", COMPILER, reads_passwords, REFUSED, 0);
    confined_case("a compiler reads no other file in the folder above", COMPILER, reads_another_file, REFUSED, 0);
    confined_case("a compiler reads no file that is a device", COMPILER, reads_a_device, REFUSED, 0);
    confined_case("a compiler lists no files of the folder above", COMPILER, lists_the_folder_above, REFUSED, 0);
    confined_case("a compiler writes no file elsewhere", COMPILER, writes_elsewhere, REFUSED, 0);
    confined_case("a compiler sends no signal to another", COMPILER, signals_another, REFUSED, 0);
    confined_case("a compiler has no namespace of its own", COMPILER, has_a_namespace, REFUSED, 0);
    confined_case("nor has a child of it", COMPILER, has_a_namespace_of_a_child, REFUSED, 0);
    confined_case("a compiler has no socket", COMPILER, has_a_socket, REFUSED, 0);
    confined_case("a compiler has no local socket either", COMPILER, has_a_local_socket, REFUSED, 0);
    confined_case("a compiler writes files of its folder", COMPILER, writes_its_own, REACHED, 0);
    confined_case("a compiler reads them", COMPILER, reads_its_own, REACHED, 0);
    confined_case("a compiler reads headers", COMPILER, reads_headers, REACHED, 0);
    confined_case("a compiler runs", COMPILER, runs_a_compiler, REACHED, 0);
    confined_case("a compiler writes no file of more than 64 MiB", COMPILER, writes_much, REFUSED, 0);
#ifndef __SANITIZE_ADDRESS__
    confined_case("a compiler takes no 3 GiB", COMPILER, takes_much, REFUSED, 0);
#endif

    confined_case("what is loaded reads no file of passwords", LOADING, reads_passwords, REFUSED, 0);
    confined_case("nor a file where compilers are", LOADING, reads_headers, REFUSED, 0);
    confined_case("it starts no process as it is loaded", LOADING, forks, REFUSED, SIGSYS);
    confined_case("it runs no program then", LOADING, runs_a_program, REFUSED, SIGSYS);
    confined_case("it changes no mode of a file", LOADING, changes_a_mode, REFUSED, SIGSYS);
    confined_case("it reads its own", LOADING, reads_its_own, REACHED, 0);
    confined_case("it does not write it: no file", LOADING, writes_its_own, REFUSED, 0);

    confined_case("what computes takes memory, and answers", COMPUTING, computes, REACHED, 0);
    confined_case("it writes nowhere else", COMPUTING, writes_to_stderr, REFUSED, SIGSYS);
    confined_case("it opens nothing", COMPUTING, opens_a_file, REFUSED, SIGSYS);
    confined_case("it starts no process", COMPUTING, forks, REFUSED, SIGSYS);
    confined_case("it sends no signal", COMPUTING, kills, REFUSED, SIGSYS);
    confined_case("it runs no program", COMPUTING, runs_a_program, REFUSED, SIGSYS);
    confined_case("it has no socket", COMPUTING, asks_for_a_socket, REFUSED, SIGSYS);
    confined_case("it maps no code", COMPUTING, maps_code, REFUSED, SIGSYS);
    confined_case("it maps no file that is open", COMPUTING, maps_a_file, REFUSED, SIGSYS);
    confined_case("it makes no code", COMPUTING, makes_code, REFUSED, SIGSYS);
#ifdef __x86_64__
    confined_case("it calls the system in no other way", COMPUTING, calls_as_x32, REFUSED, SIGSYS);
#endif
    remove(own), remove(other), rmdir(folder);
    return tap_finish();
}
