/* opencl_caller.h - a program that uses OpenCL itself: contexts, queues, buffers and events of its own, through the
 * loader as it is found at run time. */
#ifndef TILEWRIGHT_OPENCL_CALLER_H
#define TILEWRIGHT_OPENCL_CALLER_H

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#include "engines/opencl/cl_api.h"

enum {
    CALLER_MEM_USE_HOST_PTR = 8,
    CALLER_MEM_COPY_HOST_PTR = 32,
    CALLER_BUFFER_CREATE_TYPE_REGION = 0x1220,
    CALLER_MEM_OBJECT_IMAGE2D = 0x10F1,
    CALLER_IMAGE_R = 0x10B0,
    CALLER_IMAGE_FLOAT = 0x10DE,
    CALLER_EVENT_STATUS = 0x11D3,
    CALLER_COMPLETE = 0
};

typedef struct caller_region {
    size_t origin, size;
} caller_region;

typedef struct caller_image_format {
    cl_uint order, type;
} caller_image_format;

typedef struct caller_image_shape {
    cl_uint type;
    size_t width, height, depth, layers, row_pitch, slice_pitch;
    cl_uint levels, samples;
    cl_memory of;
} caller_image_shape;

/* What the engine itself has no use for. */
#define CALLER_FUNCTIONS(F)                                                                                            \
    F(cl_memory, clCreateSubBuffer, (cl_memory, cl_bitfield, cl_uint, const void *, cl_int *))                         \
    F(cl_memory, clCreateImage,                                                                                        \
      (cl_context, cl_bitfield, const caller_image_format *, const caller_image_shape *, void *, cl_int *))            \
    F(cl_event, clCreateUserEvent, (cl_context, cl_int *))                                                             \
    F(cl_int, clSetUserEventStatus, (cl_event, cl_int))                                                                \
    F(cl_int, clFlush, (cl_queue))

typedef struct caller {
    const cl_api *cl; /* what the engine uses too */
#define F(result, name, parameters) result(*name) parameters;
    CALLER_FUNCTIONS(F)
#undef F
} caller;

/* False, and the name of what is missing, where there is no loader or it is too old. */
static bool caller_load(caller *out, const char **missing)
{
    void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL), *found;
    *missing = "libOpenCL.so.1";
    if (library == NULL || (out->cl = cl_api_load()) == NULL) return false;
#define F(result, name, parameters)                                                                                    \
    *missing = #name;                                                                                                  \
    found = dlsym(library, #name);                                                                                     \
    memcpy(&out->name, &found, sizeof found);                                                                          \
    if (found == NULL) return false;
    CALLER_FUNCTIONS(F)
#undef F
    return true;
}

#endif
