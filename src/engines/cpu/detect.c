/* detect.c - what this processor and its memory are. */
#define _GNU_SOURCE /* syscall */
#include "../../first_line.h"
#include "cpu_engine.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>

/* The tiles of AMX: Linux gives them to a process that asks, for all its threads, and to those it starts. A refusal, or
 * a system that does not know the question, is a processor without them. */
static bool asks_for_tiles(void)
{
#ifdef SYS_arch_prctl
    enum { REQ_XCOMP_PERM = 0x1023, XTILEDATA = 18 };
    return syscall(SYS_arch_prctl, REQ_XCOMP_PERM, XTILEDATA) == 0;
#else
    return false;
#endif
}

/* What rows of sets.def ask. */
enum { EAX, EBX, ECX, EDX };
static bool cpuid_has(uint32_t leaf, uint32_t subleaf, int in, uint32_t bits)
{
    uint32_t found[4];
    return __get_cpuid_count(leaf, subleaf, &found[EAX], &found[EBX], &found[ECX], &found[EDX]) &&
           (found[in] & bits) == bits;
}
#define CPUID(leaf, subleaf, in, bits) cpuid_has(leaf, subleaf, in, bits)

static bool saves_registers(uint32_t bits)
{
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low & bits) == bits;
}
#define SAVES(bits) saves_registers(bits)
#endif

cpu_features detect_features(void)
{
    cpu_features found = CPU_base;
#if defined(__x86_64__) || defined(__aarch64__)
#define TAKE_SET(name, machine, below, feature, vectors, bytes, flags, when, ...)                                      \
    CPU_OF_##machine(if (cpu_has(found, CPU_##below) && (when)) found |= CPU_##feature;)
    CPU_SETS(TAKE_SET, )
#endif
    return found;
}

static int64_t with_suffix(const char *text)
{
    char *end;
    long long value = strtoll(text, &end, 10);
    return *end == 'K' ? value * 1024 : *end == 'M' ? value * 1048576 : value;
}

cpu_caches detect_caches(void)
{
    cpu_caches caches = {0, 0, 0};
    for (int i = 0; i < 8; i++) {
        char path[96], level[8], type[16], size[16];
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/level", i);
        if (!first_line(path, level, sizeof level)) break;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/type", i);
        if (!first_line(path, type, sizeof type) || strcmp(type, "Instruction") == 0) continue;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
        if (!first_line(path, size, sizeof size)) continue;
        int64_t *slot = level[0] == '1'   ? &caches.l1_bytes
                        : level[0] == '2' ? &caches.l2_bytes
                        : level[0] == '3' ? &caches.l3_bytes
                                          : NULL;
        if (slot != NULL) *slot = with_suffix(size);
    }
    return caches;
}

void detect_name(char *name, size_t bytes)
{
    char line[256];
    snprintf(name, bytes, "CPU");
    FILE *file = fopen("/proc/cpuinfo", "re");
    if (file == NULL) return;
    while (fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || colon == NULL) continue;
        line[strcspn(line, "\n")] = '\0';
        snprintf(name, bytes, "%s", colon + 1 + strspn(colon + 1, " "));
        break;
    }
    fclose(file);
}

int64_t detect_memory_bytes(void) { return (int64_t)sysconf(_SC_PHYS_PAGES) * (int64_t)sysconf(_SC_PAGESIZE); }
