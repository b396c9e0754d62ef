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

static uint64_t saved_register_state(void)
{
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

/* The tiles of AMX: Linux gives them to a process that asks, for all its threads, and to those it starts. A refusal, or
 * a system that does not know the question, is a processor without them. */
static bool may_use_tiles(uint32_t d7, uint64_t state)
{
    enum {
        BF16 = 1 << 22,
        TILE = 1 << 24,
        INT8 = 1 << 25,
        NEEDED = BF16 | TILE | INT8,
        XTILE = 3 << 17,
        REQ_XCOMP_PERM = 0x1023,
        XTILEDATA = 18
    };
#ifdef SYS_arch_prctl
    return (d7 & NEEDED) == NEEDED && (state & XTILE) == XTILE &&
           syscall(SYS_arch_prctl, REQ_XCOMP_PERM, XTILEDATA) == 0;
#else
    return false;
#endif
}

/* Of products: AVX512_VNNI and AVX512_BF16, which need no registers beyond AVX-512's, and AMX. */
static cpu_features features_of_products(uint32_t c7, uint32_t d7, uint64_t state)
{
    enum { VNNI = 1 << 11, BF16 = 1 << 5 }; /* leaf 7: of ecx; its subleaf 1: of eax */
    uint32_t a, b, c, d;
    cpu_features found = c7 & VNNI ? CPU_VNNI : 0;
    if (__get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & BF16)) found |= CPU_BF16;
    if (cpu_has(CPU_avx512 | found, CPU_avx512_bf16) && may_use_tiles(d7, state)) found |= CPU_AMX;
    return found;
}

/* Intel SDM vol. 1, 14.3 and 15.2: the feature bit alone is not enough, the system must save the registers too. */
cpu_features detect_features(void)
{
    enum { XMM_YMM = 0x6, OPMASK_ZMM = 0xe6 };
    uint32_t a, b, c, d, b7, c7, d7;
    const uint32_t needed = bit_OSXSAVE | bit_AVX | bit_FMA | bit_F16C;
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & needed) != needed) return CPU_base;
    if (!__get_cpuid_count(7, 0, &a, &b7, &c7, &d7) || !(b7 & bit_AVX2)) return CPU_base;
    uint64_t state = saved_register_state();
    if ((state & XMM_YMM) != XMM_YMM) return CPU_base;
    uint32_t avx512 = bit_AVX512F | bit_AVX512DQ | bit_AVX512BW | bit_AVX512VL;
    if ((b7 & avx512) != avx512 || (state & OPMASK_ZMM) != OPMASK_ZMM) return CPU_avx2;
    return CPU_avx512 | features_of_products(c7, d7, state);
}
#elif defined(__aarch64__)
cpu_features detect_features(void) { return CPU_neon; } /* part of the architecture */
#else
cpu_features detect_features(void) { return CPU_base; }
#endif

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
