/* ptx.c - whether OpenCL C may hold the instructions of NVIDIA's sm_80 here: no extension says so, a probe shows it. */
#include <stdio.h>
#include <string.h>

#include "opencl_engine.h"

enum { EDGE = 16, WORDS = EDGE * EDGE / 2, LANES = 32, EMULATED_SM = 90 };

typedef struct expected {
    uint32_t in[2 * WORDS]; /* A and B, of bf16 */
    float made[EDGE * EDGE + WORDS];
} expected;

static uint32_t bf16_of(int value)
{
    const float single = (float)value;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    return bits >> 16;
}

/* Small integers. The kernel asks for B without its last row. */
static void expect(expected *x)
{
    int a[EDGE][EDGE], b[EDGE][EDGE];
    memset(x, 0, sizeof *x);
    for (int i = 0; i < EDGE; i++)
        for (int j = 0; j < EDGE; j++) {
            a[i][j] = (i * 7 + j * 3) % 11 - 5, b[i][j] = (i * 5 + j * 2) % 13 - 6;
            x->in[(i * EDGE + j) / 2] |= bf16_of(a[i][j]) << 16 * (j % 2);
            x->in[WORDS + (i * EDGE + j) / 2] |= bf16_of(b[i][j]) << 16 * (j % 2);
        }
    for (int i = 0; i < EDGE; i++)
        for (int j = 0; j < EDGE; j++) {
            int sum = 0;
            for (int p = 0; p < EDGE - 1; p++) sum += a[i][p] * b[p][j];
            x->made[i * EDGE + j] = (float)sum;
        }
    memcpy(&x->made[EDGE * EDGE], x->in, WORDS * sizeof *x->in);
}

static operand operand_of(const void *host, size_t bytes)
{
    return (operand){.host = (void *)(uintptr_t)host,
                     .rows = 1,
                     .cols = (int64_t)bytes / 4,
                     .ld = (int64_t)bytes / 4,
                     .device_ld = (int64_t)bytes / 4,
                     .element_bytes = 4};
}

static tw_status run(engine *e, cl_kernel kernel, const buffer at[2], void *found, size_t bytes)
{
    const size_t lanes = LANES;
    for (cl_uint i = 0; i < 2; i++)
        CL_TRY("clSetKernelArg", e->cl->clSetKernelArg(kernel, i, sizeof at[i].memory, &at[i].memory));
    CL_TRY("clEnqueueNDRangeKernel",
           e->cl->clEnqueueNDRangeKernel(e->queue, kernel, 1, NULL, &lanes, &lanes, 0, NULL, NULL));
    CL_TRY("clEnqueueReadBuffer",
           e->cl->clEnqueueReadBuffer(e->queue, at[1].memory, 1, 0, bytes, found, 0, NULL, NULL));
    return TW_OK;
}

static bool computes(engine *e, cl_kernel kernel)
{
    expected x;
    float found[EDGE * EDGE + WORDS];
    memset(found, 0xff, sizeof found);
    expect(&x);
    const operand from[2] = {operand_of(x.in, sizeof x.in), operand_of(found, sizeof found)};
    buffer at[2] = {{0}};
    bool right = cl_upload(e, &from[0], true, &at[0]) == TW_OK && cl_upload(e, &from[1], true, &at[1]) == TW_OK &&
                 run(e, kernel, at, found, sizeof found) == TW_OK && memcmp(found, x.made, sizeof found) == 0;
    for (int i = 0; i < 2; i++) cl_release(e, &at[i]);
    return right;
}

/* Compilers of others are not asked: what they make of an instruction that they don't know is not said. Where tests
 * have the kernels emulate these instructions, any device will do. */
int cl_find_sm(engine *e)
{
    char extensions[8192] = "";
    cl_kernel kernel;
    e->emulated = strstr(e->extra, "EMULATED_SM80=1") != NULL;
    e->cl->clGetDeviceInfo(e->device, CL_DEVICE_EXTENSIONS, sizeof extensions - 1, extensions, NULL);
    if (!e->emulated && strstr(extensions, "cl_nv_device_attribute_query") == NULL) return 0;
    const kernel_text probe = {{"opencl/probe_sm80.cl", "probe_sm80", NULL}, "", 0};
    if (cl_find_or_build(e, &probe, false, &kernel) != TW_OK) return 0;
    const bool right = computes(e, kernel);
    e->cl->clReleaseKernel(kernel);
    if (!right || e->emulated) return right ? EMULATED_SM : 0;
    return 10 * (int)cl_device_number(e->cl, e->device, CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV, 4) +
           (int)cl_device_number(e->cl, e->device, CL_DEVICE_COMPUTE_CAPABILITY_MINOR_NV, 4);
}
