/* dl.c - opens the CUDA driver, NVRTC and NCCL at run time, so that one binary also runs where there is none. */
#define _GNU_SOURCE /* secure_getenv: a privileged program must not load what its user names */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "nccl_api.h"

static cu_api driver;
static nvrtc_api compiler;
static nccl_api nccl;
static int driver_loaded, compiler_loaded, nccl_loaded;
static char driver_why[256], compiler_why[256], nccl_why[512];

/* The first of these libraries that opens; why says what is wrong with the last. */
static void *open_first(const char *const *names, char why[256])
{
    for (; *names != NULL; names++) {
        void *library = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
        if (library != NULL) return library;
        const char *cause = dlerror();
        snprintf(why, 256, "%s", cause ? cause : *names);
    }
    return NULL;
}

static int look_up(void *library, const char *name, void *slot, char why[256])
{
    void *found = dlsym(library, name);
    memcpy(slot, &found, sizeof found);
    if (found == NULL) snprintf(why, 256, "it has no %s: too old", name);
    return found != NULL;
}

/* TILEWRIGHT_NVRTC as the first call saw it that opened the driver, or the compiler alone */
static char own_nvrtc[1024];
static bool nccl_blocks; /* by NCCL_COMM_BLOCKING, which NCCL takes for what a communicator asks for */

static void read_environment(void)
{
    const char *own = secure_getenv("TILEWRIGHT_NVRTC"), *blocks = getenv("NCCL_COMM_BLOCKING");
    nccl_blocks = blocks != NULL && strtol(blocks, NULL, 0) == 1;
    snprintf(own_nvrtc, sizeof own_nvrtc, "%s", own ? own : "");
}

static void read_environment_once(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_environment);
}

static void load_driver(void)
{
    read_environment_once();
    static const char *const names[] = {"libcuda.so.1", "libcuda.so", NULL};
    void *library = open_first(names, driver_why);
    if (library == NULL) return;
#define F(name, parameters)                                                                                            \
    if (!look_up(library, #name, &driver.name, driver_why)) return;
    CU_FUNCTIONS(F)
#undef F
    char unused[256];
    look_up(library, "cuTensorMapEncodeTiled", &driver.cuTensorMapEncodeTiled, unused);
    look_up(library, "cuLaunchKernelEx", &driver.cuLaunchKernelEx, unused);
    look_up(library, "cuDeviceGetUuid_v2", &driver.cuDeviceGetUuid_v2, unused);
    cu_result error = driver.cuInit(0);
    if (error != CU_SUCCESS) {
        snprintf(driver_why, sizeof driver_why, "cuInit failed with %s (%d)", cu_error_name(&driver, error), error);
        return;
    }
    driver_loaded = 1;
}

const cu_api *cu_api_load(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load_driver);
    if (driver_loaded) return &driver;
    fail(TW_NO_DEVICE,
         "the CUDA driver cannot be used: %s. NVIDIA's driver brings libcuda.so.1; a container must be given the GPU",
         driver_why);
    return NULL;
}

/* NVRTC opens its builtins by a bare name, which finds a library that is loaded already. So they are loaded here: up to
 * 13.0, an NVRTC outside the loader's path, such as PyPI's, compiles nothing without them. If they do not lie beside
 * NVRTC, it looks for them itself. */
static void load_builtins(const nvrtc_api *nvrtc)
{
    char path[sizeof nvrtc->file + 64];
    const char *end = strrchr(nvrtc->file, '/');
    if (end == NULL) return;
    snprintf(path, sizeof path, "%.*s/libnvrtc-builtins.so.%d.%d", (int)(end - nvrtc->file), nvrtc->file, nvrtc->major,
             nvrtc->minor);
    dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static void load_compiler(void)
{
    read_environment_once();
    const char *const chosen[] = {own_nvrtc, NULL};
    static const char *const names[] = {"libnvrtc.so.13",
                                        "libnvrtc.so.12",
                                        "libnvrtc.so.11.2",
                                        "libnvrtc.so",
                                        "/usr/local/cuda/lib64/libnvrtc.so",
                                        NULL};
    void *library = open_first(own_nvrtc[0] != '\0' ? chosen : names, compiler_why);
    if (library == NULL) return;
#define F(name, parameters)                                                                                            \
    if (!look_up(library, #name, &compiler.name, compiler_why)) return;
    NVRTC_FUNCTIONS(F)
#undef F
    compiler_loaded = compiler.nvrtcVersion(&compiler.major, &compiler.minor) == 0;
    if (!compiler_loaded) snprintf(compiler_why, sizeof compiler_why, "nvrtcVersion failed");
    struct link_map *map;
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) == 0) snprintf(compiler.file, sizeof compiler.file, "%s", map->l_name);
    if (compiler_loaded) load_builtins(&compiler);
}

const nvrtc_api *nvrtc_api_load(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load_compiler);
    if (compiler_loaded) return &compiler;
    fail(TW_BUILD_FAILED,
         "NVRTC, the CUDA run-time compiler, cannot be used: %s. A CUDA toolkit has it, and so has PyPI's "
         "nvidia-cuda-nvrtc; TILEWRIGHT_NVRTC names the file",
         compiler_why);
    return NULL;
}

static void load_nccl(void)
{
    static const char *const names[] = {"libnccl.so.2", NULL};
    char why[256];
    read_environment_once();
    if (getauxval(AT_SECURE) != 0) {
        snprintf(nccl_why, sizeof nccl_why,
                 "it loads what its user's environment names, and this program is privileged");
        return;
    }
    if (nccl_blocks) {
        snprintf(nccl_why, sizeof nccl_why,
                 "NCCL_COMM_BLOCKING=1 lets its calls wait for a rank that never answers: unset it");
        return;
    }
    void *library = open_first(names, why);
    if (library == NULL) {
        snprintf(
            nccl_why, sizeof nccl_why,
            "%.250s. NVIDIA's package libnccl2 has it, and so have PyPI's nvidia-nccl-cu12 and -cu13, whose folder "
            "LD_LIBRARY_PATH must name",
            why);
        return;
    }
    if (!look_up(library, "ncclGetVersion", &nccl.ncclGetVersion, nccl_why)) return;
    if (nccl.ncclGetVersion(&nccl.version) != NCCL_SUCCESS || nccl.version < NCCL_OLDEST || nccl.version >= NCCL_NEXT) {
        snprintf(nccl_why, sizeof nccl_why, "its version code is %d, expected 2.14 (%d) or newer, and older than 3.0",
                 nccl.version, NCCL_OLDEST);
        return;
    }
#define F(name, parameters)                                                                                            \
    if (!look_up(library, #name, &nccl.name, nccl_why)) return;
    NCCL_FUNCTIONS(F)
#undef F
    look_up(library, "ncclGetLastError", &nccl.ncclGetLastError, why); /* NULL: too old */
    nccl_loaded = look_up(library, "ncclGetErrorString", &nccl.ncclGetErrorString, nccl_why);
}

const nccl_api *nccl_api_load(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load_nccl);
    if (nccl_loaded) return &nccl;
    fail(TW_NO_DEVICE, "NCCL cannot be used: %s", nccl_why);
    return NULL;
}

tw_status nvrtc_known(const nvrtc_api *nvrtc, int sm, int *least, int *best)
{
    int count = 0, known[128];
    *least = 1 << 30, *best = 0;
    if (nvrtc->nvrtcGetNumSupportedArchs(&count) != 0 || count < 1 || count > 128 ||
        nvrtc->nvrtcGetSupportedArchs(known) != 0)
        return fail(TW_BUILD_FAILED, "NVRTC %d.%d does not say which architectures it knows", nvrtc->major,
                    nvrtc->minor);
    for (int i = 0; i < count; i++) {
        if (known[i] <= sm && known[i] > *best) *best = known[i];
        if (known[i] < *least) *least = known[i];
    }
    return TW_OK;
}

tw_status nvrtc_arch(const nvrtc_api *nvrtc, int sm, char arch[24])
{
    int least, best;
    TRY(nvrtc_known(nvrtc, sm, &least, &best));
    if (best == 0)
        return fail(TW_BUILD_FAILED, "this device is sm_%d, NVRTC %d.%d knows sm_%d and newer: an older NVRTC has it",
                    sm, nvrtc->major, nvrtc->minor, least);
    bool special = sm >= 90 && nvrtc->major >= 12; /* "a" targets came with CUDA 12 */
    snprintf(arch, 24, best == sm ? (special ? "sm_%da" : "sm_%d") : "compute_%d", best);
    return TW_OK;
}

const char *cu_error_name(const cu_api *cu, cu_result error)
{
    const char *name = NULL;
    return cu->cuGetErrorName(error, &name) == CU_SUCCESS && name != NULL ? name
                                                                          : "an error that the driver does not name";
}

/* Errors that the driver gives to every later call too. */
static bool is_lost(cu_result error)
{
    return error == CU_ECC_UNCORRECTABLE || error == CU_ILLEGAL_ADDRESS || error == CU_LAUNCH_TIMEOUT ||
           error == CU_CONTEXT_IS_DESTROYED || error == CU_ASSERT ||
           (error >= CU_HARDWARE_STACK_ERROR && error <= CU_LAUNCH_FAILED);
}

tw_status cu_fail(const cu_api *cu, const char *call, cu_result error)
{
    return fail(error == CU_OUT_OF_MEMORY ? TW_NO_MEMORY : TW_DEVICE_FAILED, "%s failed with %s (%d)%s", call,
                cu_error_name(cu, error), error,
                is_lost(error) ? ": the CUDA context was ended, by whichever kernel in it failed or by its owner, and "
                                 "no call can use it again"
                               : "");
}
