/* cl.h - a stand-in for Khronos's: what examples/queue.c uses of it, as the specification of OpenCL 1.2 declares it.
 * The loader behind it is the machine's own. */
#ifndef TILEWRIGHT_CL_H
#define TILEWRIGHT_CL_H

#include <stddef.h>
#include <stdint.h>

typedef int32_t cl_int;
typedef uint32_t cl_uint, cl_bool;
typedef uint64_t cl_bitfield, cl_device_type, cl_mem_flags, cl_command_queue_properties;
typedef struct _cl_platform_id *cl_platform_id;
typedef struct _cl_device_id *cl_device_id;
typedef struct _cl_context *cl_context;
typedef struct _cl_command_queue *cl_command_queue;
typedef struct _cl_mem *cl_mem;
typedef struct _cl_event *cl_event;

#define CL_TRUE                                1
#define CL_DEVICE_TYPE_ALL                     0xFFFFFFFF
#define CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE 1
#define CL_MEM_READ_WRITE                      1
#define CL_MEM_READ_ONLY                       4
#define CL_MEM_COPY_HOST_PTR                   32

cl_int clGetPlatformIDs(cl_uint room, cl_platform_id *platforms, cl_uint *count);
cl_int clGetDeviceIDs(cl_platform_id platform, cl_device_type type, cl_uint room, cl_device_id *devices,
                      cl_uint *count);
cl_context clCreateContext(const intptr_t *properties, cl_uint count, const cl_device_id *devices,
                           void (*notify)(const char *, const void *, size_t, void *), void *user, cl_int *error);
cl_command_queue clCreateCommandQueue(cl_context context, cl_device_id device, cl_command_queue_properties properties,
                                      cl_int *error);
cl_mem clCreateBuffer(cl_context context, cl_mem_flags flags, size_t bytes, void *host, cl_int *error);
cl_int clEnqueueReadBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t bytes,
                           void *to, cl_uint wait_count, const cl_event *wait_list, cl_event *event);
cl_int clReleaseEvent(cl_event event);
cl_int clReleaseMemObject(cl_mem memory);
cl_int clReleaseCommandQueue(cl_command_queue queue);
cl_int clReleaseContext(cl_context context);

#endif
