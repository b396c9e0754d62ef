/* stream.c - a product of device memory on a CUDA stream. CUDA's runtime works in the primary context, and so does
 * Tilewright unless tw_options.device_context says otherwise.
 *
 * Prints
 *     4 5
 *     10 11 */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <tilewright.h>

static int failed(const char *why)
{
    fprintf(stderr, "%s\n", why);
    return 1;
}

int main(void)
{
    const float a[2 * 3] = {1, 2, 3, 4, 5, 6}, b[3 * 2] = {1, 0, 0, 1, 1, 1};
    float c[2 * 2];
    void *at_a, *at_b, *at_c; /* device addresses */
    cudaStream_t stream;      /* or a CUstream */
    tw_context *cuda;
    const tw_options options = {.size = sizeof options, .engine = "cuda"};
    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, 2, 2, 3);
    tw_launch launch = {.size = sizeof launch};
    p.place_a = p.place_b = p.place_c = TW_DEVICE;
    if (tw_open(&options, &cuda) != TW_OK) return failed(tw_error_text());
    if (tw_workspace_bytes(cuda, &p, &launch.workspace_bytes) != TW_OK) return failed(tw_error_text()); /* 0: none */
    if (cudaStreamCreate(&stream) || cudaMalloc(&at_a, sizeof a) || cudaMalloc(&at_b, sizeof b) ||
        cudaMalloc(&at_c, sizeof c) ||
        (launch.workspace_bytes > 0 && cudaMalloc(&launch.workspace, (size_t)launch.workspace_bytes)) ||
        cudaMemcpyAsync(at_a, a, sizeof a, cudaMemcpyHostToDevice, stream) ||
        cudaMemcpyAsync(at_b, b, sizeof b, cudaMemcpyHostToDevice, stream))
        return failed("cudaMalloc() or a copy failed");
    launch.stream = stream;
    if (tw_prepare(cuda, &p) != TW_OK) return failed(tw_error_text()); /* compile now: not while a graph is captured */
    if (tw_enqueue(cuda, &p, at_a, at_b, at_c, &launch) != TW_OK)
        return failed(tw_error_text()); /* waits for nothing */
    if (cudaMemcpyAsync(c, at_c, sizeof c, cudaMemcpyDeviceToHost, stream) || cudaStreamSynchronize(stream))
        return failed("the device failed");
    tw_close(cuda); /* after the last product on the stream */
    if (cudaFree(at_a) || cudaFree(at_b) || cudaFree(at_c) || cudaFree(launch.workspace) || cudaStreamDestroy(stream))
        return failed("the device failed");
    printf("%g %g\n%g %g\n", c[0], c[1], c[2], c[3]); /* 4 5, 10 11 */
    return 0;
}
