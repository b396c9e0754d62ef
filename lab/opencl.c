/* opencl.c - see opencl.h. Names and numbers: the Khronos OpenCL specification, version 1.2. */
#include "opencl.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { MOST_DEVICES = 32, DEVICE_TYPE = 0x1000, DEVICE_NAME = 0x102B, TYPE_GPU = 4, MEM_READ_WRITE = 1 };
static const uint64_t TYPE_ALL = 0xFFFFFFFF;

static bool broken(opencl *x, const char *call, int error)
{
    snprintf(x->why, sizeof x->why, "%s failed with OpenCL's error %d", call, error);
    return false;
}

#define TRY(x, name, arguments)                                                                                        \
    do {                                                                                                               \
        int error_ = (x)->name arguments;                                                                              \
        if (error_ != 0) return broken(x, #name, error_);                                                              \
    } while (0)

static bool load(opencl *x)
{
    void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL), *found;
    if (library == NULL) {
        snprintf(x->why, sizeof x->why, "the OpenCL loader libOpenCL.so.1 cannot be opened: %s", dlerror());
        return false;
    }
#define F(result, name, parameters)                                                                                    \
    found = dlsym(library, #name);                                                                                     \
    memcpy(&x->name, &found, sizeof found);                                                                            \
    if (found == NULL) {                                                                                               \
        snprintf(x->why, sizeof x->why, "the OpenCL loader libOpenCL.so.1 has no %s: too old", #name);                 \
        return false;                                                                                                  \
    }
    OPENCL_CALLS(F)
#undef F
    return true;
}

static bool is_gpu(const opencl *x, void *device)
{
    uint64_t kind = 0;
    return x->clGetDeviceInfo(device, DEVICE_TYPE, sizeof kind, &kind, NULL) == 0 && (kind & TYPE_GPU) != 0;
}

/* The engine counts the devices of all platforms that can list them, GPUs first. */
static bool find_device(opencl *x, int index)
{
    void *platforms[MOST_DEVICES], *devices[MOST_DEVICES];
    unsigned platform_count = 0, count = 0, here;
    TRY(x, clGetPlatformIDs, (MOST_DEVICES, platforms, &platform_count));
    for (unsigned i = 0; i < platform_count && i < MOST_DEVICES && count < MOST_DEVICES; i++)
        if (x->clGetDeviceIDs(platforms[i], TYPE_ALL, MOST_DEVICES - count, devices + count, &here) == 0)
            count += here < MOST_DEVICES - count ? here : MOST_DEVICES - count;
    for (int gpus = 1; gpus >= 0; gpus--)
        for (unsigned i = 0; i < count; i++)
            if (is_gpu(x, devices[i]) == (gpus == 1) && index-- == 0) x->device = devices[i];
    if (x->device == NULL) snprintf(x->why, sizeof x->why, "OpenCL no longer lists the device of the engine");
    return x->device != NULL;
}

static bool has_name(opencl *x, const char *expected)
{
    char whole[512] = "", name[sizeof((tw_device *)0)->name];
    TRY(x, clGetDeviceInfo, (x->device, DEVICE_NAME, sizeof whole - 1, whole, NULL));
    snprintf(name, sizeof name, "%.*s", (int)sizeof name - 1, whole); /* cut as the engine cuts it */
    if (strcmp(name, expected) == 0) return true;
    snprintf(x->why, sizeof x->why, "OpenCL lists %s now where the engine has %s", name, expected);
    return false;
}

bool opencl_open(opencl *x, const tw_device *device)
{
    int error = 0;
    memset(x, 0, sizeof *x);
    if (!load(x) || !find_device(x, device->index) || !has_name(x, device->name)) return false;
    x->context = x->clCreateContext(NULL, 1, &x->device, NULL, NULL, &error);
    if (x->context == NULL) return broken(x, "clCreateContext", error);
    x->queue = x->clCreateCommandQueue(x->context, x->device, 0, &error);
    return x->queue != NULL || broken(x, "clCreateCommandQueue", error);
}

void opencl_close(opencl *x)
{
    if (x->queue != NULL) x->clReleaseCommandQueue(x->queue);
    if (x->context != NULL) x->clReleaseContext(x->context);
    memset(x, 0, sizeof *x);
}

bool opencl_allocate(opencl *x, size_t bytes, void **memory)
{
    int error = 0;
    *memory = x->clCreateBuffer(x->context, MEM_READ_WRITE, bytes, NULL, &error);
    return *memory != NULL || broken(x, "clCreateBuffer", error);
}

void opencl_release(opencl *x, void **memory)
{
    if (*memory != NULL) x->clReleaseMemObject(*memory);
    *memory = NULL;
}

bool opencl_up(opencl *x, void *memory, const void *host, size_t bytes)
{
    if (bytes > 0) TRY(x, clEnqueueWriteBuffer, (x->queue, memory, 1, 0, bytes, host, 0, NULL, NULL));
    return true;
}

bool opencl_down(opencl *x, void *host, void *memory, size_t bytes)
{
    if (bytes > 0) TRY(x, clEnqueueReadBuffer, (x->queue, memory, 1, 0, bytes, host, 0, NULL, NULL));
    return true;
}

bool opencl_wait(opencl *x)
{
    TRY(x, clFinish, (x->queue));
    return true;
}
