/* nvrtc.c - a fake libnvrtc.so.13: compiles everything to "FAKE" and what of the operands it was compiled for, and
 * notes the architecture in FAKE_LOG. FAKE_ARCHS, "75 80", is what it knows; FAKE_NVRTC "major=11" its version, and
 * "slow_ms=1500" how long it takes. OLD:
 * without cubins, else with builtins, which it opens as NVRTC 13.0 does: by a bare name. */
#include <dlfcn.h>
#include <time.h>

#include "engines/cuda/cu_api.h"
#include "fake.h"

#define CALL(name, parameters, ...)                                                                                    \
    nvrtc_result name parameters                                                                                       \
    {                                                                                                                  \
        FAULT(name, fault);                                                                                            \
        if (fault != 0) return fault;                                                                                  \
        __VA_ARGS__;                                                                                                   \
        return fault;                                                                                                  \
    }
/* What gives something back does so whatever it returns: leak checkers look at the engine. */
#define GIVE(name, parameters, ...)                                                                                    \
    nvrtc_result name parameters                                                                                       \
    {                                                                                                                  \
        FAULT(name, fault);                                                                                            \
        __VA_ARGS__;                                                                                                   \
        return fault;                                                                                                  \
    }

static const char message[] = "fake.cu(3): error: the fake compiler was told to refuse";

/* of A and of B: the operations, N or T, and the types, s or u of bytes; bytes of an element */
typedef char binary[sizeof "FAKE NN--4"];

static nvrtc_result compile(char *to, int count, const char *const *options)
{
    int unused;
#ifndef OLD
    if (fake_number("FAKE_NVRTC", "major", 13, &unused) == 13) {
        void *builtins = dlopen("libnvrtc-builtins.so.13.0", RTLD_LAZY); /* not a toolkit's */
        if (builtins == NULL || dlsym(builtins, "fake_builtins") == NULL) return 7;
    }
#endif
    const int slow_ms = fake_number("FAKE_NVRTC", "slow_ms", 0, &unused);
    nanosleep(&(struct timespec){.tv_sec = slow_ms / 1000, .tv_nsec = slow_ms % 1000 * 1000000L}, NULL);
    memcpy(to, "FAKE NN--4", sizeof(binary));
    for (int i = 0; i < count; i++) {
        if (strncmp(options[i], "-DTYPE_A=", 9) == 0) to[7] = options[i][9];
        if (strcmp(options[i], "-DSUMS_S32=1") == 0 && to[7] == '-') to[7] = 's';
        if (strncmp(options[i], "-DTYPE_B=", 9) == 0) to[8] = options[i][9];
        if (strncmp(options[i], "-DELEMENT_BYTES=", 16) == 0) to[9] = options[i][16];
        if (strncmp(options[i], "-DREAL_BYTES=", 13) == 0) to[9] = options[i][13];
        for (int q = 0; q < 2; q++)
            if (strcmp(options[i], q == 0 ? "-DOP_A=1" : "-DOP_B=1") == 0) to[5 + q] = 'T';
    }
    return 0;
}

static int list_archs(int *out)
{
    int count = 0;
    char text[256], *rest = text, *word;
    snprintf(text, sizeof text, "%s", getenv("FAKE_ARCHS") != NULL ? getenv("FAKE_ARCHS") : "75 80 86 90 100");
    while ((word = strtok_r(rest, " ", &rest)) != NULL) {
        if (out != NULL) out[count] = atoi(word);
        count++;
    }
    return count;
}

CALL(nvrtcVersion, (int *major, int *minor), int call; *major = fake_number("FAKE_NVRTC", "major", 13, &call);
     *minor = 0)
CALL(nvrtcGetNumSupportedArchs, (int *count), *count = list_archs(NULL))
CALL(nvrtcGetSupportedArchs, (int *archs), list_archs(archs))
CALL(nvrtcCreateProgram,
     (nvrtc_program * program, const char *text, const char *name, int count, const char *const *headers,
      const char *const *names),
     (void)text;
     (void)name; (void)count; (void)headers; (void)names; *program = calloc(1, sizeof(binary)))
GIVE(nvrtcDestroyProgram, (nvrtc_program * program), free(*program))
CALL(nvrtcCompileProgram, (nvrtc_program program, int count, const char *const *options),
     fault = compile((char *)program, count, options);
     if (fault == 0 && count > 0) fake_log(options[0]))
CALL(nvrtcGetProgramLogSize, (nvrtc_program program, size_t *bytes), (void)program; *bytes = sizeof message)
CALL(nvrtcGetProgramLog, (nvrtc_program program, char *log), (void)program; strcpy(log, message))
CALL(nvrtcGetPTXSize, (nvrtc_program program, size_t *bytes), (void)program; *bytes = sizeof(binary))
CALL(nvrtcGetPTX, (nvrtc_program program, char *ptx), memcpy(ptx, program, sizeof(binary)))
#ifndef OLD
CALL(nvrtcGetCUBINSize, (nvrtc_program program, size_t *bytes), (void)program; *bytes = sizeof(binary))
CALL(nvrtcGetCUBIN, (nvrtc_program program, char *cubin), memcpy(cubin, program, sizeof(binary)))
#endif
