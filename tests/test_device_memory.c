/* test_device_memory.c - CUDA's device memory in its caller's hands, on a device: every alignment and leading dimension
 * between bytes that nobody may touch, with and without a workspace; products of host memory; memory that has run out;
 * multiprocessors that other kernels use. C has the very bits of the cpu engine's product. Skipped, and counted, where
 * there is no CUDA device. */
#include "support/device_operands.h"

static void address_cases(tw_dtype dtype)
{
    static const int64_t pads[] = {0, 1, 2, 3, 4, 8};
    static const size_t offsets[] = {0, 2, 4, 8, 16, 32, 64, 128};
    static const int64_t shapes[][3] = {{131, 136, 72}, {64, 256, 16}, {1, 129, 65}};
    size_t element = bytes_of(dtype);
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++)
        for (size_t j = 0; j < sizeof pads / sizeof *pads; j++) {
            char name[120];
            if (offsets[i] % element != 0) continue;
            snprintf(name, sizeof name, "%s at %zu bytes beyond a multiple of 256, rows padded by %" PRId64,
                     tw_lab_dtype_of(dtype)->name, offsets[i], pads[j]);
            if (!device_case(name)) continue;
            cu_stream stream = new_stream();
            bool right = true;
            /* ops, shapes, beta, which operands are moved */
            for (int which = 0; right && which < 4 * 3 * 2 * 4; which++) {
                const int64_t *s = shapes[which / 4 % 3];
                tw_problem p = problem_of(dtype, (tw_op)(which / 2 % 2), (tw_op)(which % 2), s[0], s[1], s[2], pads[j]);
                int moved = which / 24;
                size_t of_c = offsets[i] % 4 == 0 ? offsets[i] : 4; /* whose elements are of 4 bytes */
                const size_t offset[3] = {moved == 0 || moved == 3 ? offsets[i] : 0,
                                          moved == 1 || moved == 3 ? offsets[i] : 0, moved >= 2 ? of_c : 0};
                p.alpha = 2, p.beta = which / 12 % 2 ? -1 : 0;
                right = product(&p, offset, stream, false) && product(&p, offset, stream, true);
            }
            me.cu->cuStreamDestroy_v2(stream);
            verdict(right);
        }
}

/* A type that is multiplied at all is where addresses and rows are even. */
static void aligned_case(tw_dtype dtype)
{
    char name[80];
    snprintf(name, sizeof name, "%s at even addresses is multiplied as tw_gemm does, or neither is",
             tw_lab_dtype_of(dtype)->name);
    if (!device_case(name)) return;
    tw_problem p = problem_of(dtype, TW_N, TW_N, 256, 512, 128, 0), host = p;
    p.place_a = p.place_b = p.place_c = TW_DEVICE;
    verdict(tw_prepare(context, &p) == tw_prepare(context, &host) || refused("tw_prepare"));
}

/* So large that tw_gemm copies its operands beside the work, in panels of C: it must come to the same as the device's
 * own. */
static void large_case(tw_dtype dtype, tw_op op_b, int64_t pad, double beta)
{
    char name[100];
    snprintf(name, sizeof name, "%s N%c, a large product of host memory, rows padded by %" PRId64 ", beta %g",
             tw_lab_dtype_of(dtype)->name, "NT"[op_b], pad, beta);
    if (!device_case(name)) return;
    static const size_t offset[3] = {0, 0, 0};
    tw_problem p = problem_of(dtype, TW_N, op_b, 2101, 8200, 40, pad);
    p.beta = beta;
    cu_stream stream = new_stream();
    verdict(product(&p, offset, stream, true));
    me.cu->cuStreamDestroy_v2(stream);
}

static void scale_case(double alpha, int64_t k, double beta)
{
    char name[80];
    snprintf(name, sizeof name, "alpha %g, k %" PRId64 ", beta %g: A and B are not there", alpha, k, beta);
    if (!device_case(name)) return;
    static const size_t offset[3] = {4, 4, 4};
    operands o;
    cu_stream stream = new_stream();
    tw_problem p = problem_of(TW_F32, TW_N, TW_N, 130, 75, k, 1);
    p.alpha = alpha, p.beta = beta;
    const tw_launch launch = {.size = sizeof launch, .stream = stream};
    bool right = operands_make(&o, &p, offset);
    right = right &&
            (tw_enqueue(context, &o.problem, NULL, NULL, at(&o.x[2]), &launch) == TW_OK || refused("tw_enqueue")) &&
            wait_for(stream);
    right = right && expect_product(&o) && as_expected(&o);
    operands_free(&o);
    me.cu->cuStreamDestroy_v2(stream);
    verdict(right);
}

/* The call that waits takes device memory too, and the lab's runs do. */
static void waiting_case(const char *kernel)
{
    char name[120];
    snprintf(name, sizeof name, "device memory and %s", kernel != NULL ? kernel : "tw_gemm");
    if (!device_case(name)) return;
    static const size_t offset[3] = {0, 0, 0};
    operands o;
    tw_lab_run *run = NULL;
    const tw_lab_choice choice = {.kernel = kernel};
    tw_problem p = problem_of(TW_F32, TW_N, TW_N, 200, 132, 64, 0);
    bool right = operands_make(&o, &p, offset);
    if (right && kernel == NULL)
        right = tw_gemm(context, &o.problem, at(&o.x[0]), at(&o.x[1]), at(&o.x[2])) == TW_OK || refused("tw_gemm");
    if (right && kernel != NULL) {
        right = (tw_lab_run_open(context, &choice, &o.problem, at(&o.x[0]), at(&o.x[1]), at(&o.x[2]), &run) == TW_OK &&
                 tw_lab_run_once(run, NULL) == TW_OK) ||
                refused("tw_lab_run");
        tw_lab_run_close(run);
    }
    right = right && expect_product(&o) && as_expected(&o);
    operands_free(&o);
    verdict(right);
}

/* ---- half of the multiprocessors in use ---- */

enum { CROWD_MS = 60000 };

/* Blocks of the caller's on half of the multiprocessors, each with all of the shared memory of its own, until *flag is
 * not 0; after CROWD_MS it becomes 2. The word behind it counts them; true: all are there. */
static bool launch_crowd(cu_stream stream, cu_pointer flag)
{
    static cu_function crowd;
    static const char text[] =
        ".version 6.3\n.target sm_75\n.address_size 64\n"
        ".visible .entry crowd(.param .u64 flag, .param .u64 limit) {\n"
        ".reg .b64 at, limit_ns, begin, now; .reg .b32 told; .reg .pred ends, stays;\n"
        "ld.param.u64 at, [flag]; ld.param.u64 limit_ns, [limit]; mov.u64 begin, %globaltimer;\nred.global.add.u32 "
        "[at+4], 1;\nagain: ld.volatile.global.u32 told, [at]; setp.ne.u32 ends, told, 0; @ends bra end;\nmov.u64 now, "
        "%globaltimer; sub.u64 now, now, begin; setp.lt.u64 stays, now, limit_ns; @stays bra "
        "again;\nst.volatile.global.u32 [at], 2;\nend: ret; }\n";
    uint64_t limit_ns = CROWD_MS * 1000000ull;
    void *arguments[] = {&flag, &limit_ns};
    cu_device device;
    cu_module module;
    int multiprocessors, shared_bytes;
    uint32_t words[2] = {0, 0};
    CU(me.cu->cuCtxGetDevice(&device));
    CU(me.cu->cuDeviceGetAttribute(&multiprocessors, CU_ATTRIBUTE_MULTIPROCESSORS, device));
    CU(me.cu->cuDeviceGetAttribute(&shared_bytes, CU_ATTRIBUTE_SHARED_OPTIN, device));
    if (crowd == NULL) {
        CU(me.cu->cuModuleLoadData(&module, text));
        CU(me.cu->cuModuleGetFunction(&crowd, module, "crowd"));
    }
    CU(me.cu->cuFuncSetAttribute(crowd, CU_FUNCTION_MAX_DYNAMIC_SHARED, shared_bytes));
    CU(me.cu->cuLaunchKernel(crowd, (unsigned)(multiprocessors / 2), 1, 1, 1, 1, 1, (unsigned)shared_bytes, stream,
                             arguments, NULL));
    while (words[0] == 0 && words[1] < (uint32_t)(multiprocessors / 2))
        CU(me.cu->cuMemcpyDtoH_v2(words, flag, sizeof words));
    snprintf(why, sizeof why, "half of the multiprocessors were not to be had");
    return words[0] == 0;
}

/* A product, or a batch of items, of A, B and C that lie one behind the other. */
typedef struct crowded {
    tw_problem problem;
    int64_t items; /* 0: no batch */
    size_t bytes[3];
    cu_pointer at[3], flag;
    tw_launch launch;
} crowded;

/* A and B random, so that another order of the sums over k would show. */
static bool crowded_make(crowded *o)
{
    tw_problem *p = &o->problem;
    const int64_t items = o->items > 0 ? o->items : 1;
    const size_t element = bytes_of(p->dtype);
    uint32_t word = 1;
    cu_pointer workspace = 0;
    p->place_a = p->place_b = p->place_c = TW_DEVICE;
    const tw_batch batch = tw_batch_make(p, items);
    o->bytes[0] = (size_t)(items * p->m * p->k) * element, o->bytes[1] = (size_t)(items * p->k * p->n) * element;
    o->bytes[2] = (size_t)(items * p->m * p->n) * bytes_of(element_of(p->dtype)->result);
    CU(me.cu->cuMemAlloc_v2(&o->flag, 2 * sizeof word));
    for (int q = 0; q < 3; q++) CU(me.cu->cuMemAlloc_v2(&o->at[q], o->bytes[q]));
    for (int q = 0; q < 2; q++) {
        uint32_t *random = malloc(o->bytes[q] + sizeof *random);
        if (random == NULL) return false;
        /* f16: 1 to 2; bf16 and f32: 2^-7 to 2, so that sums are rounded; of both signs */
        for (size_t i = 0; i <= o->bytes[q] / sizeof *random; i++)
            random[i] = ((word = word * 1664525 + 1013904223) & 0x83ff83ff) | 0x3c003c00;
        cu_result error = me.cu->cuMemcpyHtoD_v2(o->at[q], random, o->bytes[q]);
        free(random);
        CU(error);
    }
    tw_status status = o->items > 0 ? tw_workspace_bytes_batched(context, p, &batch, &o->launch.workspace_bytes)
                                    : tw_workspace_bytes(context, p, &o->launch.workspace_bytes);
    if (status != TW_OK) return refused("tw_workspace_bytes");
    if (o->launch.workspace_bytes > 0) CU(me.cu->cuMemAlloc_v2(&workspace, (size_t)o->launch.workspace_bytes));
    o->launch.workspace = (void *)(uintptr_t)workspace;
    return true;
}

/* The product into c on the host, with *told 1 once it was there; 2: not before the crowd had gone. */
static bool crowded_compute(crowded *o, bool crowd, cu_stream others, void *c, uint32_t *told)
{
    const tw_batch batch = tw_batch_make(&o->problem, o->items > 0 ? o->items : 1);
    void *x[3];
    for (int q = 0; q < 3; q++) x[q] = (void *)(uintptr_t)o->at[q];
    CU(me.cu->cuMemsetD8_v2(o->at[2], 0xff, o->bytes[2]));
    CU(me.cu->cuMemsetD8_v2(o->flag, 0, 2 * sizeof *told));
    CU(me.cu->cuStreamSynchronize(NULL));
    if (crowd && !launch_crowd(others, o->flag)) return false;
    tw_status status = o->items > 0 ? tw_enqueue_batched(context, &o->problem, &batch, x[0], x[1], x[2], &o->launch)
                                    : tw_enqueue(context, &o->problem, x[0], x[1], x[2], &o->launch);
    if (status != TW_OK) return refused("tw_enqueue");
    CU(me.cu->cuStreamSynchronize(o->launch.stream));
    CU(me.cu->cuMemcpyDtoH_v2(told, o->flag, sizeof *told));
    if (*told == 0) CU(me.cu->cuMemsetD8_v2(o->flag, *told = 1, 1));
    CU(me.cu->cuStreamSynchronize(others));
    CU(me.cu->cuMemcpyDtoH_v2(c, o->at[2], o->bytes[2]));
    return true;
}

/* The bits of C do not depend on how many multiprocessors there are for it, and blocks that wait for others do not wait
 * for ever. */
static void crowded_case(tw_dtype dtype, tw_op op_b, int64_t m, int64_t n, int64_t k, int64_t items)
{
    char name[160];
    snprintf(name, sizeof name,
             "half of the multiprocessors in use, %s n%c %" PRId64 "x%" PRId64 "x%" PRId64 ", batch %" PRId64
             ": the same bits",
             tw_lab_dtype_of(dtype)->name, "nt"[op_b], m, n, k, items);
    if (!device_case(name)) return;
    crowded o = {.problem = tw_problem_make(dtype, TW_N, op_b, m, n, k),
                 .items = items,
                 .launch = {.size = sizeof o.launch, .stream = new_stream()}};
    cu_stream others = new_stream();
    uint32_t told[2] = {0, 0};
    bool right = crowded_make(&o);
    unsigned char *alone = malloc(o.bytes[2] + 1), *beside = malloc(o.bytes[2] + 1);
    right = right && alone != NULL && beside != NULL && crowded_compute(&o, false, others, alone, &told[0]) &&
            crowded_compute(&o, true, others, beside, &told[1]);
    if (right && told[1] != 1)
        right = snprintf(why, sizeof why, "the product came only when the other kernel had gone, after %d ms",
                         (int)CROWD_MS) < 0;
    if (right && memcmp(alone, beside, o.bytes[2]) != 0) right = snprintf(why, sizeof why, "the bits are others") < 0;
    free(alone), free(beside);
    for (int q = 0; q < 3; q++) me.cu->cuMemFree_v2(o.at[q]);
    me.cu->cuMemFree_v2(o.flag), me.cu->cuMemFree_v2((cu_pointer)(uintptr_t)o.launch.workspace);
    me.cu->cuStreamDestroy_v2(others), me.cu->cuStreamDestroy_v2(o.launch.stream);
    verdict(right);
}

/* ---- device memory that has run out ---- */

enum { MOST_HOGS = 256 };

/* All device memory that can be had, to the last 64 KiB. */
static int take_all(cu_pointer hogs[MOST_HOGS])
{
    int count = 0;
    for (size_t bytes = (size_t)1 << 38; bytes >= 65536; bytes /= 2)
        while (count < MOST_HOGS && me.cu->cuMemAlloc_v2(&hogs[count], bytes) == CU_SUCCESS) count++;
    return count;
}

static void memory_case(void)
{
    if (!device_case("without device memory a product of host memory is refused, and one of device memory with a "
                     "workspace is not"))
        return;
    static cu_pointer hogs[MOST_HOGS];
    static float c[1000 * 1000];
    bool skip;
    operands o = {0};
    tw_problem p = problem_of(TW_F32, TW_N, TW_T, 1000, 1000, 1000, 0), host = p;
    bool right = make_for(context, &o, &p, false, &skip) && workspace_make(context, &o) &&
                 (tw_prepare(context, &o.problem) == TW_OK || refused("tw_prepare"));
    right = right && (tw_prepare(context, &p) == TW_OK || refused("tw_prepare"));
    int count = take_all(hogs);
    if (right) {
        tw_status status = tw_gemm(context, &host, o.x[0].image + o.x[0].offset, o.x[1].image + o.x[1].offset, c);
        right = status == TW_NO_MEMORY && strstr(tw_error_text(), "no device memory for ") != NULL;
        if (!right)
            snprintf(why, sizeof why, "with %d pieces of memory taken: %s: %s", count, tw_status_name(status),
                     tw_error_text());
    }
    right = right && enqueue(context, &o, NULL) && wait_for(NULL) && expect_product(&o) && as_expected(&o);
    while (count > 0) me.cu->cuMemFree_v2(hogs[--count]);
    right = right && (tw_gemm(context, &host, o.x[0].image + o.x[0].offset, o.x[1].image + o.x[1].offset, c) == TW_OK ||
                      refused("tw_gemm"));
    right = right && memcmp(c, o.x[2].image + o.x[2].offset, sizeof c) == 0;
    operands_free(&o);
    verdict(right);
}

int main(int argc, char **argv)
{
    tap_start(argc, argv);
    if (!tap.list) open_device();
    address_cases(TW_F32);
    address_cases(TW_BF16);
    address_cases(TW_F16);
    for (int i = 0; i < 3; i++) aligned_case((tw_dtype[]){TW_F32, TW_BF16, TW_F16}[i]);
    large_case(TW_F32, TW_N, 0, 0), large_case(TW_F32, TW_T, 3, -1), large_case(TW_BF16, TW_T, 0, 1),
        large_case(TW_F16, TW_N, 8, 0);
    scale_case(1, 0, 2), scale_case(0, 33, -1), scale_case(1, 0, 0), scale_case(0, 33, 0);
    waiting_case(NULL);
    waiting_case("cuda_f32_r01_naive");
    waiting_case("cuda_f32_r11_warp");
    static const int64_t crowds[][4] = {
        {2600, 2500, 500, 0}, {1000, 1000, 1000, 0}, {300, 2000, 500, 0}, {64, 64, 20000, 0}, {1, 4000, 3000, 0},
        {4000, 1, 3000, 0},   {16, 4096, 4096, 0},   {100, 90, 1000, 0},  {16, 16, 1024, 0},  {733, 781, 957, 0},
        {50, 60, 70, 300},    {128, 128, 128, 500},  {2065, 2193, 500, 0}};
    for (size_t i = 0; i < sizeof crowds / sizeof *crowds; i++)
        for (int q = 0; q < (crowds[i][3] > 0 ? 6 : 3); q++)
            crowded_case((const tw_dtype[]){TW_F32, TW_BF16, TW_F16, TW_F64, TW_I8, TW_TF32}[q], i % 2 ? TW_T : TW_N,
                         crowds[i][0], crowds[i][1], crowds[i][2], crowds[i][3]);
    memory_case();
    tw_close(judge);
    tw_close(context);
    return tap_finish();
}
