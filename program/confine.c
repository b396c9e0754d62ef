/* confine.c - see confine.h. The rules of Landlock: https://docs.kernel.org/userspace-api/landlock.html */
#define _GNU_SOURCE
#include "confine.h"

#include <stddef.h>

#ifdef __linux__
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#if defined __linux__ && defined __x86_64__
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined __linux__ && defined __aarch64__
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#ifdef ARCHITECTURE

enum { COMPILER_MIB = 2048, COMPILED_MIB = 64, KERNEL_MIB = 1024 };

const char *confine_why_not(void)
{
    const uint32_t action = SECCOMP_RET_KILL_PROCESS;
    return syscall(__NR_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0 ? NULL
                                                                            : "this kernel has no seccomp filters";
}

/* ---- files ---- */

/* Of <linux/landlock.h>, which systems of 2020 and before lack. The numbers of its calls are those of all processors.
 */
enum { CREATE_RULESET = 444, ADD_RULE = 445, RESTRICT_SELF = 446, OF_VERSION = 1, BENEATH = 1 };
enum {
    EXECUTE = 1 << 0,
    WRITE_FILE = 1 << 1,
    READ_FILE = 1 << 2,
    READ_DIR = 1 << 3,
    ALL_OF_1 = (1 << 13) - 1,
    REFER = 1 << 13,
    TRUNCATE = 1 << 14,
    IOCTL_DEVICE = 1 << 15,
    READS = EXECUTE | READ_FILE | READ_DIR
};

typedef struct ruleset {
    uint64_t files, network, scoped;
} ruleset;

typedef struct beneath {
    uint64_t allowed;
    int32_t parent;
} __attribute__((packed)) beneath;

static long version(void) { return syscall(CREATE_RULESET, NULL, 0, OF_VERSION); }

bool confine_keeps_files(void) { return version() >= 1; }

/* What this version of Landlock knows of. */
static ruleset all_of(long of)
{
    ruleset all = {.files = ALL_OF_1};
    if (of >= 2) all.files |= REFER;
    if (of >= 3) all.files |= TRUNCATE;
    if (of >= 4) all.network = 3; /* TCP's bind and connect */
    if (of >= 5) all.files |= IOCTL_DEVICE;
    if (of >= 6) all.scoped = 3; /* abstract sockets, signals */
    return all;
}

static size_t bytes_of(long of) { return (of >= 6 ? 3 : of >= 4 ? 2 : 1) * sizeof(uint64_t); }

/* Nothing is wrong with a path that is not there. */
static bool allow(int rules, const char *path, uint64_t what)
{
    enum { OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE };
    beneath rule = {.allowed = what, .parent = open(path, O_PATH | O_CLOEXEC)};
    if (rule.parent < 0) return true;
    bool done = syscall(ADD_RULE, rules, BENEATH, &rule, 0) == 0;
    rule.allowed &= OF_FILES; /* what a file that is no folder can have */
    if (!done && errno == EINVAL) done = syscall(ADD_RULE, rules, BENEATH, &rule, 0) == 0;
    close(rule.parent);
    return done;
}

/* Programs and their parts, by where systems install them; of a compiler elsewhere what stands beside its own folder
 * under the usual names, and nothing else: it may be somebody's home. */
static bool allow_compiler(int rules, const char *path)
{
    static const char *const installed[] = {"/usr",
                                            "/bin",
                                            "/lib",
                                            "/lib32",
                                            "/lib64",
                                            "/etc/alternatives",
                                            "/etc/ld.so.cache",
                                            "/etc/ld.so.conf",
                                            "/etc/ld.so.conf.d",
                                            "/nix/store",
                                            "/gnu/store"};
    static const char *const beside[] = {"bin", "lib", "lib64", "libexec", "include", "share"};
    char real[PATH_MAX], *slash;
    bool done = allow(rules, "/dev/null", READ_FILE | WRITE_FILE);
    for (size_t i = 0; i < sizeof installed / sizeof *installed; i++) done = done && allow(rules, installed[i], READS);
    if (realpath(path, real) == NULL) return false;
    done = done && allow(rules, path, READS) && allow(rules, real, READS);
    for (int up = 0; up < 2 && (slash = strrchr(real, '/')) != NULL; up++) *slash = '\0';
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
        char folder[PATH_MAX + 16];
        snprintf(folder, sizeof folder, "%s/%s", real, beside[i]);
        done = done && allow(rules, folder, READS);
    }
    return done;
}

/* compiler: NULL: none runs. */
static bool keep_files(const char *compiler, const char *folder)
{
    const long of = version();
    if (of < 1) return true;
    const ruleset all = all_of(of);
    const int rules = (int)syscall(CREATE_RULESET, &all, bytes_of(of), 0);
    if (rules < 0) return false;
    bool done = allow(rules, folder, compiler != NULL ? all.files : READ_FILE);
    done = done && (compiler == NULL || allow_compiler(rules, compiler));
    done = done && syscall(RESTRICT_SELF, rules, 0) == 0;
    close(rules);
    return done;
}

/* ---- calls of the system ---- */

/* Headers of older systems lack these; the numbers are those of all processors. */
#ifndef __NR_pidfd_send_signal
#define __NR_pidfd_send_signal 424
#endif
#ifndef __NR_io_uring_setup
#define __NR_io_uring_setup 425
#endif
#ifndef __NR_open_tree
#define __NR_open_tree  428
#define __NR_move_mount 429
#define __NR_fsopen     430
#define __NR_fsmount    432
#endif
#ifndef __NR_clone3
#define __NR_clone3 435
#endif
#ifndef __NR_pidfd_getfd
#define __NR_pidfd_getfd 438
#endif

#define LOAD(field)           BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define END(action)           BPF_STMT(BPF_RET | BPF_K, action)
#define UNLESS(value, skip)   BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skip)
#define IF(value, action)     UNLESS(value, 1), END(action)
#define IF_CALL(call, action) IF(__NR_##call, action)

/* What the processor's other ways of calling are called: x86-64's of 32 bits, and x32. */
#define OF_THIS_PROCESSOR                                                                                              \
    LOAD(arch), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0), END(SECCOMP_RET_KILL_PROCESS), LOAD(nr),      \
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1), END(SECCOMP_RET_KILL_PROCESS)

/* A call whose argument's low word has one of these bits, or none of them; the number is loaded again behind it. */
#define IF_WITH(call, argument, bits, action)                                                                          \
    UNLESS(__NR_##call, 4), LOAD(args[argument]), BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1), END(action),       \
        LOAD(nr)
#define IF_WITHOUT(call, argument, bits, action)                                                                       \
    UNLESS(__NR_##call, 4), LOAD(args[argument]), BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 1, 0), END(action),       \
        LOAD(nr)

static bool keep_calls(struct sock_filter *rules, size_t count)
{
    const struct sock_fprog filter = {.len = (unsigned short)count, .filter = rules};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) == 0;
}

/* Namespaces, in which a process has rights that it had not: the flags of clone() for new ones. clone3() has them in
 * memory, where no filter looks: without it the C library calls clone(). */
enum { NEW_NAMESPACES = 0x7e020080 };

static bool keep_compiler_calls(void)
{
    const uint32_t no = SECCOMP_RET_ERRNO | EPERM, none = SECCOMP_RET_ERRNO | ENOSYS;
    struct sock_filter rules[] = {OF_THIS_PROCESSOR,
                                  IF_CALL(clone3, none),
                                  IF_WITH(clone, 0, NEW_NAMESPACES, no),
                                  IF_CALL(kill, no),
                                  IF_CALL(tkill, no),
                                  IF_CALL(tgkill, no),
                                  IF_CALL(rt_sigqueueinfo, no),
                                  IF_CALL(rt_tgsigqueueinfo, no),
                                  IF_WITH(prlimit64, 0, 0xffffffff, no), /* of another process */
                                  IF_CALL(pidfd_send_signal, no),
                                  IF_CALL(pidfd_getfd, no),
                                  IF_CALL(add_key, no),
                                  IF_CALL(request_key, no),
                                  IF_CALL(umount2, no),
                                  IF_CALL(pivot_root, no),
                                  IF_CALL(fsopen, no),
                                  IF_CALL(fsmount, no),
                                  IF_CALL(move_mount, no),
                                  IF_CALL(open_tree, no),
                                  IF_CALL(socket, no),
                                  IF_CALL(socketpair, no),
                                  IF_CALL(ptrace, no),
                                  IF_CALL(process_vm_readv, no),
                                  IF_CALL(process_vm_writev, no),
                                  IF_CALL(keyctl, no),
                                  IF_CALL(bpf, no),
                                  IF_CALL(perf_event_open, no),
                                  IF_CALL(io_uring_setup, no),
                                  IF_CALL(unshare, no),
                                  IF_CALL(setns, no),
                                  IF_CALL(mount, no),
                                  IF_CALL(chroot, no),
                                  IF_CALL(reboot, no),
                                  IF_CALL(init_module, no),
                                  IF_CALL(finit_module, no),
                                  IF_CALL(kexec_load, no),
                                  END(SECCOMP_RET_ALLOW)};
    return keep_calls(rules, sizeof rules / sizeof *rules);
}

/* Memory that no code lies in, time, an end. */
#define COMPUTES                                                                                                       \
    IF_CALL(brk, yes), IF_CALL(munmap, yes), IF_CALL(madvise, yes), IF_CALL(mremap, yes), IF_CALL(futex, yes),         \
        IF_CALL(rt_sigprocmask, yes), IF_CALL(rt_sigreturn, yes), IF_CALL(clock_gettime, yes), IF_CALL(exit, yes),     \
        IF_CALL(exit_group, yes)

bool confine_computing(int answers)
{
    const uint32_t yes = SECCOMP_RET_ALLOW, end = SECCOMP_RET_KILL_PROCESS;
    struct sock_filter rules[] = {OF_THIS_PROCESSOR,
                                  COMPUTES,
                                  IF_WITH(mmap, 2, PROT_EXEC, end),
                                  IF_WITHOUT(mmap, 3, MAP_ANONYMOUS, end),
                                  IF_CALL(mmap, yes),
                                  IF_WITH(mprotect, 2, PROT_EXEC, end),
                                  IF_CALL(mprotect, yes),
                                  UNLESS(__NR_write, 3),
                                  LOAD(args[0]),
                                  IF((uint32_t)answers, yes),
                                  END(end)};
    return keep_calls(rules, sizeof rules / sizeof *rules);
}

/* What dlopen() asks, and confine_computing() behind it: code of a library that is loaded may run before that. */
static bool keep_loading_calls(void)
{
    const uint32_t yes = SECCOMP_RET_ALLOW, end = SECCOMP_RET_KILL_PROCESS;
    struct sock_filter rules[] = {OF_THIS_PROCESSOR,
                                  COMPUTES,
                                  IF_CALL(openat, yes),
#ifdef __NR_open
                                  IF_CALL(open, yes),
#endif
                                  IF_CALL(read, yes),
                                  IF_CALL(pread64, yes),
                                  IF_CALL(lseek, yes),
                                  IF_CALL(fstat, yes),
                                  IF_CALL(newfstatat, yes),
                                  IF_CALL(close, yes),
                                  IF_CALL(fcntl, yes),
                                  IF_CALL(mmap, yes),
                                  IF_CALL(mprotect, yes),
                                  IF_CALL(write, yes),
                                  IF_CALL(seccomp, yes),
                                  IF_CALL(prctl, yes),
                                  END(end)};
    return keep_calls(rules, sizeof rules / sizeof *rules);
}

/* ---- sizes ---- */

/* What is less already stays. `more`: behind the soft limit, at which a signal says why the process ends. */
static bool limit(int what, uint64_t most, uint64_t more)
{
    struct rlimit now;
    if (getrlimit(what, &now) != 0) return false;
    const rlim_t hard = now.rlim_max < most + more ? now.rlim_max : most + more,
                 soft = now.rlim_cur < most ? now.rlim_cur : most;
    return setrlimit(what, &(struct rlimit){soft < hard ? soft : hard, hard}) == 0;
}

/* Address space is not limited under AddressSanitizer, which reserves more than there is. */
static bool limit_all(int seconds, uint64_t memory_mib, uint64_t file_mib)
{
#ifdef __SANITIZE_ADDRESS__
    const bool done = memory_mib > 0;
#else
    const bool done = limit(RLIMIT_AS, memory_mib << 20, 0);
#endif
    return done && limit(RLIMIT_CPU, (uint64_t)seconds, 1) && limit(RLIMIT_FSIZE, file_mib << 20, 0) &&
           limit(RLIMIT_CORE, 0, 0);
}

bool confine_compiler(const char *path, const char *folder, int seconds)
{
    return limit_all(seconds, COMPILER_MIB, COMPILED_MIB) && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           keep_files(path, folder) && keep_compiler_calls();
}

bool confine_loading(const char *folder, int seconds)
{
    return limit_all(seconds, KERNEL_MIB, 0) && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           keep_files(NULL, folder) && keep_loading_calls();
}

#else
const char *confine_why_not(void) { return "Linux on x86-64 and arm64 alone can confine a file's text"; }
bool confine_keeps_files(void) { return false; }
bool confine_compiler(const char *path, const char *folder, int seconds)
{
    (void)path, (void)folder, (void)seconds;
    return false;
}
bool confine_loading(const char *folder, int seconds)
{
    (void)folder, (void)seconds;
    return false;
}
bool confine_computing(int answers)
{
    (void)answers;
    return false;
}
#endif
