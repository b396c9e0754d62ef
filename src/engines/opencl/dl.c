/* dl.c - opens the OpenCL loader at run time, so that one binary also runs where there is none. */
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "../../error.h"
#include "cl_api.h"

static cl_api api;
static int loaded;
static char why_not[256];

static void load(void)
{
    static const char *const names[] = {"libOpenCL.so.1", "libOpenCL.so"};
    void *library = NULL;
    for (int i = 0; i < 2 && library == NULL; i++) library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        const char *cause = dlerror();
        strncat(why_not, cause ? cause : "libOpenCL.so.1 cannot be opened", sizeof why_not - 1);
        return;
    }
#define F(result, name, parameters)                                                                                    \
    *(void **)&api.name = dlsym(library, #name);                                                                       \
    if (api.name == NULL) {                                                                                            \
        strncat(why_not, "libOpenCL.so.1 has no " #name, sizeof why_not - 1);                                          \
        return;                                                                                                        \
    }
    CL_FUNCTIONS(F)
#undef F
    loaded = 1;
}

const cl_api *cl_api_load(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    if (loaded) return &api;
    fail(TW_NO_DEVICE, "the OpenCL loader cannot be used: %s. Debian's package ocl-icd-libopencl1 has it", why_not);
    return NULL;
}

const char *cl_error_name(cl_int error)
{
    static const struct {
        cl_int error;
        const char *name;
    } names[] = {
        {0, "CL_SUCCESS"},
        {-1, "CL_DEVICE_NOT_FOUND"},
        {-2, "CL_DEVICE_NOT_AVAILABLE"},
        {-3, "CL_COMPILER_NOT_AVAILABLE"},
        {-4, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
        {-5, "CL_OUT_OF_RESOURCES"},
        {-6, "CL_OUT_OF_HOST_MEMORY"},
        {-7, "CL_PROFILING_INFO_NOT_AVAILABLE"},
        {-11, "CL_BUILD_PROGRAM_FAILURE"},
        {-13, "CL_MISALIGNED_SUB_BUFFER_OFFSET"},
        {-14, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
        {-30, "CL_INVALID_VALUE"},
        {-33, "CL_INVALID_DEVICE"},
        {-34, "CL_INVALID_CONTEXT"},
        {-36, "CL_INVALID_COMMAND_QUEUE"},
        {-38, "CL_INVALID_MEM_OBJECT"},
        {-42, "CL_INVALID_BINARY"},
        {-43, "CL_INVALID_BUILD_OPTIONS"},
        {-44, "CL_INVALID_PROGRAM"},
        {-45, "CL_INVALID_PROGRAM_EXECUTABLE"},
        {-46, "CL_INVALID_KERNEL_NAME"},
        {-48, "CL_INVALID_KERNEL"},
        {-49, "CL_INVALID_ARG_INDEX"},
        {-50, "CL_INVALID_ARG_VALUE"},
        {-51, "CL_INVALID_ARG_SIZE"},
        {-52, "CL_INVALID_KERNEL_ARGS"},
        {-54, "CL_INVALID_WORK_GROUP_SIZE"},
        {-55, "CL_INVALID_WORK_ITEM_SIZE"},
        {-57, "CL_INVALID_EVENT_WAIT_LIST"},
        {-58, "CL_INVALID_EVENT"},
        {-61, "CL_INVALID_BUFFER_SIZE"},
        {-1001, "CL_PLATFORM_NOT_FOUND_KHR"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].error == error) return names[i].name;
    return "an OpenCL error";
}
