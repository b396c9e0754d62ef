/* device.c - what all parts of the OpenCL engine ask: numbers of a device, what a failure of the driver means, whether
 * the process is the one that opened it. */
#include "opencl_engine.h"

#include <unistd.h>

tw_status cl_status(cl_int error)
{
    return error == CL_MEM_OBJECT_ALLOCATION_FAILURE || error == CL_OUT_OF_HOST_MEMORY ||
                   error == CL_INVALID_BUFFER_SIZE
               ? TW_NO_MEMORY
               : TW_DEVICE_FAILED;
}

tw_status cl_fail(const char *call, cl_int error)
{
    return fail(cl_status(error), "%s failed with %s (%d)", call, cl_error_name(error), (int)error);
}

tw_status cl_check_process(const engine *e)
{
    if (e->pid == getpid()) return TW_OK;
    return fail(TW_NO_DEVICE, "this opencl context was opened before fork(): the child must open its own");
}

uint64_t cl_device_number(const cl_api *cl, cl_device device, cl_uint what, size_t bytes)
{
    uint64_t number = 0; /* little endian: the bytes that are not written stay 0 */
    cl->clGetDeviceInfo(device, what, bytes, &number, NULL);
    return number;
}

bool cl_is_kind(const cl_api *cl, cl_device device, cl_bitfield kind)
{
    return (cl_device_number(cl, device, CL_DEVICE_TYPE, 8) & kind) != 0;
}

int cl_vector_bytes(const cl_api *cl, cl_device device)
{
    if (!cl_is_kind(cl, device, CL_DEVICE_TYPE_CPU_BIT)) return 0;
    return (int)sizeof(float) * (int)cl_device_number(cl, device, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, 4);
}
