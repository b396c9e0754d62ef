/* queue.c - a product of OpenCL buffers on an OpenCL queue. Tilewright works in the program's own context.
 *
 * Prints
 *     4 5
 *     10 11 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <tilewright.h>

static int failed(const char *why)
{
    fprintf(stderr, "%s\n", why);
    return 1;
}

int main(void)
{
    float a[2 * 3] = {1, 2, 3, 4, 5, 6}, b[3 * 2] = {1, 0, 0, 1, 1, 1}, c[2 * 2];
    const cl_mem_flags copied = CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR;
    cl_platform_id platform;
    cl_device_id device;
    cl_int error[5];
    void *done; /* the cl_event of the product */
    tw_context *opencl;
    if (clGetPlatformIDs(1, &platform, NULL) || clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
        return failed("no OpenCL device");
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &error[0]);
    cl_command_queue queue = clCreateCommandQueue(context, device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &error[1]);
    cl_mem at_a = clCreateBuffer(context, copied, sizeof a, a, &error[2]),
           at_b = clCreateBuffer(context, copied, sizeof b, b, &error[3]),
           at_c = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof c, NULL, &error[4]), workspace = NULL;
    for (int i = 0; i < 5; i++)
        if (error[i]) return failed("the device failed");
    const tw_options options = {.size = sizeof options, .engine = "opencl", .device_context = context};
    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, 2, 2, 3);
    tw_launch launch = {.size = sizeof launch, .queue = queue, .event = &done};
    p.place_a = p.place_b = p.place_c = TW_DEVICE;
    if (tw_open(&options, &opencl) != TW_OK) return failed(tw_error_text());
    if (tw_workspace_bytes(opencl, &p, &launch.workspace_bytes) != TW_OK) return failed(tw_error_text()); /* 0: none */
    if (launch.workspace_bytes > 0)
        workspace = clCreateBuffer(context, CL_MEM_READ_WRITE, (size_t)launch.workspace_bytes, NULL, NULL);
    launch.workspace = workspace;
    if (tw_enqueue(opencl, &p, at_a, at_b, at_c, &launch) != TW_OK)
        return failed(tw_error_text()); /* waits for nothing */
    if (clEnqueueReadBuffer(queue, at_c, CL_TRUE, 0, sizeof c, c, 1, (cl_event[]){done}, NULL))
        return failed("the device failed");
    tw_close(opencl);
    clReleaseEvent(done);
    if (workspace != NULL) clReleaseMemObject(workspace);
    clReleaseMemObject(at_a), clReleaseMemObject(at_b), clReleaseMemObject(at_c);
    clReleaseCommandQueue(queue), clReleaseContext(context);
    printf("%g %g\n%g %g\n", c[0], c[1], c[2], c[3]); /* 4 5, 10 11 */
    return 0;
}
