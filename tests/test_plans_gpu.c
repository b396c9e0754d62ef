/* test_plans_gpu.c - plans for made-up GPUs: which kernel and tile, what is packed, how k and the tiles are divided,
 * and into how much memory. */
#include <fcntl.h>
#include <inttypes.h>

#include "plan.h"
#include "support/tap.h"
#include "tuned.h"
#include "tilewright_lab.h"

static float a[64]; /* an address, of which nothing is read */

static const device_facts sm_90 = {.engine = "cuda",
                                   .threads = 1,
                                   .copies = true,
                                   .addresses = true,
                                   .sm = 90,
                                   .most_threads = 1024,
                                   .multiprocessors = 132,
                                   .tensor_maps = true,
                                   .local_bytes = 227 << 10,
                                   .largest_bytes = (int64_t)1 << 37};

/* A rung refuses transposes and says of which operand. */
static void refused_transposes(tw_op op_a, tw_op op_b, const char *refusal)
{
    const device_facts device = {
        .engine = "opencl", .threads = 1, .most_threads = 1024, .local_bytes = 48 << 10, .largest_bytes = 1 << 30};
    tw_problem p, made = tw_problem_make(TW_F32, op_a, op_b, 64, 64, 64);
    char reason[160] = "";
    if (!tap_case("a rung of opencl: A %s, B %s", op_a == TW_T ? "transposed" : "as stored",
                  op_b == TW_T ? "transposed" : "as stored"))
        return;
    const bool loaded = problem_load(&made, a, a, a, &p) == TW_OK,
               fits = kernel_fits(kernel_named("opencl_f32_r10_register"), &p, &device, 0, reason, sizeof reason);
    tap_result(loaded && fits == (refusal[0] == '\0') && strcmp(reason, refusal) == 0, "fits %d, reason '%s'", fits,
               reason);
}

/* A made-up GPU with small blocks: what fits is asked of the tile that would be used, not of the row's own. */
static void tile_case(const char *kernel, int64_t k, int tile, int most_threads, int64_t local_bytes,
                      const char *refusal)
{
    device_facts device = {.engine = "opencl",
                           .threads = 1,
                           .most_threads = most_threads,
                           .local_bytes = local_bytes,
                           .largest_bytes = 1 << 30};
    tw_problem p, made = tw_problem_make(TW_F32, TW_N, TW_N, 64, 64, k);
    tw_lab_choice choice = {.kernel = kernel, .tile = tile};
    char reason[160] = "";
    plan out;
    if (!tap_case("%s, k %d, tile %d: %d threads and %d bytes a block", kernel, (int)k, tile, most_threads,
                  (int)local_bytes))
        return;
    bool loaded = problem_load(&made, a, a, a, &p) == TW_OK,
         fits = kernel_fits(kernel_named(kernel), &p, &device, tile, reason, sizeof reason);
    tw_status status = plan_find(&p, &device, &choice, &out);
    tap_result(loaded && fits == (refusal == NULL) && (status == TW_OK) == fits &&
                   (fits || (strstr(reason, refusal) && status == TW_NO_KERNEL)),
               "fits %d, plan %s: %s", fits, tw_status_name(status), reason);
}

static void tile_cases(void)
{
    tile_case("opencl_f32_r04_banks", 64, 0, 256, 2048, NULL);
    tile_case("opencl_f32_r04_banks", 64, 8, 64, 512, NULL);
    tile_case("opencl_f32_r04_banks", 64, 32, 1024, 8192, NULL);
    tile_case("opencl_f32_r04_banks", 64, 32, 256, 8192, "its blocks have 1024 threads, this device takes 256");
    tile_case("opencl_f32_r04_banks", 64, 32, 1024, 8191, "it needs 8192 bytes of local memory, this device has 8191");
    tile_case("opencl_f32_r04_banks", 64, 16, 255, 8192, "its blocks have 256 threads, this device takes 255");
    tile_case("opencl_f32_s1_unoptimised", 32, 0, 256, 0, "its blocks have 1024 threads, this device takes 256");
    tile_case("opencl_f32_s2_shared_a", 16, 0, 256, 1024, NULL);
    tile_case("opencl_f32_s2_shared_a", 32, 0, 1024, 1024, "it needs 4096 bytes of local memory, this device has 1024");
    refused_transposes(TW_N, TW_N, "");
    refused_transposes(TW_T, TW_N, "it reads A and B as stored, the problem transposes A");
    refused_transposes(TW_N, TW_T, "it reads A and B as stored, the problem transposes B");
    refused_transposes(TW_T, TW_T, "it reads A and B as stored, the problem transposes both");
    tile_case("opencl_f32_r11_warp", 64, 0, 256, 16640, NULL);
    tile_case("opencl_f32_r11_warp", 64, 0, 128, 16640, "its blocks have 256 threads, this device takes 128");
}

/* An operand in the host's memory spans its padding. */
static void span_case(char operand, int64_t lda, int64_t ldb, int64_t ldc)
{
    tw_problem p, made = tw_problem_make(TW_F32, TW_N, TW_N, 2, 2, 2);
    const kernel_row *row = kernel_named("cuda_f32_r04_banks");
    char reason[200] = "";
    if (!tap_case("rows of %c 2^36 elements apart: two span more than 2^37 bytes", operand)) return;
    made.lda = lda, made.ldb = ldb, made.ldc = ldc;
    bool refused = problem_load(&made, a, a, a, &p) == TW_OK && !kernel_fits(row, &p, &sm_90, 0, reason, sizeof reason);
    tap_result(refused && strstr(reason, "an operand of 274877906952 bytes is larger than this device's 137438953472"),
               "%s", reason);
}

static void span_cases(void)
{
    const int64_t far = (int64_t)1 << 36;
    span_case('A', far, 2, 2);
    span_case('B', 2, far, 2);
    span_case('C', 2, 2, far);
}

/* How k is divided among blocks: by the shape and the tile, whatever the device; one part where there is no memory. */
static void deep_case(int64_t m, int64_t n, int64_t k, int tile, int64_t splits, int64_t length, int64_t bytes)
{
    const tw_lab_choice choice = {.kernel = "cuda_f32_d1_splitk", .tile = tile};
    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, m, n, k);
    p.dtype_c = TW_F32;
    plan one = {0}, many = {0}, bare = {0};
    device_facts cuda = {.engine = "cuda",
                         .sm = 75,
                         .most_threads = 1024,
                         .multiprocessors = 1,
                         .local_bytes = 48 << 10,
                         .largest_bytes = (int64_t)1 << 37};
    if (!tap_case("deep %dx%dx%d tile %d", (int)m, (int)n, (int)k, tile)) return;
    bool planned = plan_find(&p, &cuda, &choice, &one) == TW_OK;
    cuda.multiprocessors = 132;
    planned = planned && plan_find(&p, &cuda, &choice, &many) == TW_OK;
    cuda.no_workspace = true;
    planned = planned && plan_find(&p, &cuda, &choice, &bare) == TW_OK;
    tap_result(planned && memcmp(&one.gpu.k_split, &many.gpu.k_split, sizeof one.gpu.k_split) == 0 &&
                   one.gpu.k_split.splits == splits && one.gpu.k_split.length == length &&
                   (int64_t)one.workspace_bytes == bytes && one.gpu.grid_x == splits * bare.gpu.grid_x &&
                   bare.gpu.k_split.splits == 1 && bare.workspace_bytes == 0,
               "%lld parts of %lld steps, %zu bytes, %s", (long long)one.gpu.k_split.splits,
               (long long)one.gpu.k_split.length, one.workspace_bytes, planned ? "" : tw_error_text());
}

static void deep_cases(void)
{
    deep_case(64, 64, 65536, 16, 64, 64, 64 * 64 * 64 * 4);
    deep_case(64, 64, 65536, 32, 256, 8, 256 * 64 * 64 * 4);
    deep_case(40, 50, 5003, 0, 79, 4, 632064); /* 12 tiles, room for 85 parts: 313 steps by fours */
    deep_case(40, 50, 20, 0, 2, 1, 16128);     /* no more parts than steps */
    deep_case(4096, 4096, 4096, 0, 1, 0, 0);   /* tiles enough */
    deep_case(5, 5, 0, 0, 1, 0, 0);
}

/* The grid, and of stream-K the steps of a block and the workspace, of rungs that divide by the number of
 * multiprocessors. */
static void rung_case(const char *kernel, int64_t m, int64_t n, int64_t k, int multiprocessors, bool bare, int64_t grid,
                      int64_t length, int64_t bytes)
{
    const tw_lab_choice choice = {.kernel = kernel};
    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, m, n, k);
    device_facts device = sm_90;
    plan out = {0};
    p.dtype_c = TW_F32;
    p.align_a = p.align_b = p.align_c = 256;
    p.lda = round_up(max_i64(k, 1), 4), p.ldb = p.ldc = round_up(max_i64(n, 1), 4);
    device.multiprocessors = multiprocessors, device.no_workspace = bare;
    if (!tap_case("%s %dx%dx%d on %d%s", kernel, (int)m, (int)n, (int)k, multiprocessors, bare ? ", bare" : "")) return;
    const bool planned = plan_find(&p, &device, &choice, &out) == TW_OK;
    tap_result(planned && out.gpu.grid_x == grid && out.gpu.grid_y == 1 && out.gpu.k_split.length == length &&
                   (int64_t)out.workspace_bytes == bytes,
               "grid %lld x %lld, %lld steps, %zu bytes, %s", (long long)out.gpu.grid_x, (long long)out.gpu.grid_y,
               (long long)out.gpu.k_split.length, out.workspace_bytes, planned ? "" : tw_error_text());
}

static void rung_cases(void)
{
    enum { SUMS = 128 * 128 * 4 + 8 };
    static const char stream_k[] = "cuda_f32_r12d_streamk", persistent[] = "cuda_f32_r12b_persistent",
                      pair[] = "cuda_f32_r12e_multicast", cluster[] = "cuda_f32_r12f_cluster";
    rung_case(stream_k, 4096, 2112, 4096, 132, false, 264, 264, (264 * SUMS + 255) / 256 * 256);
    rung_case(stream_k, 2560, 1920, 32, 132, false, 150, 2,
              (150 * SUMS + 255) / 256 * 256); /* none has nothing to do */
    rung_case(stream_k, 4096, 2112, 4096, 132, true, 544, 128, 0);
    rung_case(stream_k, 128, 128, 3200, 1, false, 2, 50, (2 * SUMS + 255) / 256 * 256);
    rung_case(stream_k, 128, 128, 32, 132, false, 1, 1, 0);
    rung_case(stream_k, 300, 300, 0, 132, false, 9, 1, 0);
    rung_case(stream_k, 0, 5, 5, 132, false, 0, 1, 0);
    rung_case(stream_k, 5, 0, 5, 132, false, 0, 1, 0);
    rung_case(persistent, 4096, 2112, 4096, 132, false, 264, 0, 0);
    rung_case(persistent, 300, 300, 10, 132, false, 9, 0, 0);
    rung_case(pair, 300, 300, 64, 132, false, 12, 0, 0); /* 2 x 3 tiles of 256 x 128, 2 blocks each */
    rung_case(cluster, 300, 300, 64, 132, false, 72, 0, 0);
}

static const tw_lab_choice sgemm_tma_sm90 = {.kernel = "cuda_f32_sgemm_tma_sm90_128x128"};

/* On a made-up sm_90, which kernel device operands at these addresses, rows lda, ldb, ldc apart, would have. */
static void place_case(const char *what, const void *x, const void *y, const void *z, int64_t lda, int64_t ldb,
                       int64_t ldc, bool mapped, const char *wide)
{
    tw_problem p, made = tw_problem_make(TW_F32, TW_N, TW_N, 200, 300, 100);
    char reason[200] = "";
    plan out = {0};
    if (!tap_case("device operands: %s", what)) return;
    made.place_a = made.place_b = made.place_c = TW_DEVICE;
    made.lda = lda, made.ldb = ldb, made.ldc = ldc;
    bool planned = problem_load(&made, x, y, z, &p) == TW_OK && plan_find(&p, &sm_90, &sgemm_tma_sm90, &out) == TW_OK;
    bool fits = planned && kernel_fits(kernel_named("cuda_f32_r12_async"), &p, &sm_90, 0, reason, sizeof reason);
    bool chosen = planned && out.row == kernel_named("cuda_f32_sgemm_tma_sm90_128x128") && out.gpu.pack_a.needed &&
                  out.gpu.pack_a.transposes && !out.gpu.pack_b.transposes;
    tap_result(
        chosen && fits == mapped && strstr(out.gpu.options, wide) != NULL &&
            out.gpu.pack_b.needed == (ldb % 4 != 0 || (uintptr_t)y % 16 != 0) &&
            (mapped || strstr(reason, "TMA needs addresses and rows of A and B in multiples of 16 bytes") != NULL),
        "%s %s: %s", planned ? out.row->lab.name : tw_error_text(), out.gpu.options, reason);
}

/* What the production kernel of sm_90 packs, and into how much, by transposes and rows; without a workspace another
 * kernel is chosen. */
static void packing_case(tw_op op_a, tw_op op_b, int64_t lda, int64_t ldb, int64_t k, const char *expected,
                         int64_t bytes)
{
    device_facts device = sm_90;
    static const _Alignas(256) float x[64] = {0};
    tw_problem p, made = tw_problem_make(TW_F32, op_a, op_b, 203, 300, k);
    char text[200] = "", found[40] = "";
    plan out, bare;
    if (!tap_case("packing %c%c lda %d ldb %d k %d", "nt"[op_a], "nt"[op_b], (int)lda, (int)ldb, (int)k)) return;
    made.place_a = made.place_b = made.place_c = TW_DEVICE;
    made.lda = lda, made.ldb = ldb;
    bool planned = problem_load(&made, x, x, x, &p) == TW_OK && plan_find(&p, &device, &sgemm_tma_sm90, &out) == TW_OK;
    device.no_workspace = true;
    planned = planned && plan_find(&p, &device, NULL, &bare) == TW_OK;
    if (planned)
        plan_text(&out, text, sizeof text), sscanf(text, "cuda_f32_sgemm_tma_sm90_128x128%39[ a-zA-Z] grid", found);
    tap_result(planned && strncmp(found, expected, strlen(expected)) == 0 &&
                   (int64_t)out.workspace_bytes - out.gpu.k_split.bytes == bytes && bare.workspace_bytes == 0 &&
                   bare.gpu.k_split.count == 0 && (bytes > 0) == !kernel_fits(out.row, &p, &device, 0, NULL, 0),
               "%s, without: %s", planned ? text : tw_error_text(), planned ? bare.row->lab.name : "");
}

/* How the production kernel of sm_90 divides a product on 132 multiprocessors; the shares hold the tiles that are left,
 * exactly. */
static void stream_k_case(int64_t m, int64_t n, int64_t k, const char *kernel, int64_t whole, int64_t count,
                          int64_t length)
{
    const tw_lab_choice choice = {.kernel = kernel};
    static const _Alignas(256) float x[64] = {0};
    tw_problem p, made = tw_problem_make(TW_F32, TW_T, TW_N, m, n, k);
    plan out = {0};
    if (!tap_case("shares of %s %dx%dx%d", kernel, (int)m, (int)n, (int)k)) return;
    made.place_a = made.place_b = made.place_c = TW_DEVICE;
    made.lda = (m + 3) / 4 * 4, made.ldb = (n + 3) / 4 * 4;
    bool planned = problem_load(&made, x, x, x, &p) == TW_OK && plan_find(&p, &sm_90, &choice, &out) == TW_OK;
    const k_split *s = &out.gpu.k_split;
    int64_t tile_n = planned ? out.row->lab.tile_n : 1, steps = (k + 15) / 16,
            tiles = (m + 127) / 128 * ((n + tile_n - 1) / tile_n);
    /* a tile with at most 32 rows or columns in C takes a third */
    int64_t wide = tile_n == 128 ? (m + 95) / 128 * ((n + 95) / 128) : tiles,
            left = (wide - s->whole) * steps + (tiles - wide) * ((steps + 2) / 3);
    bool exact = s->count * s->length >= left && (s->count - 1) * s->length < left && s->length < steps;
    tap_result(planned && s->whole == whole && s->count == count && s->length == length &&
                   out.gpu.grid_x == whole + count && (count > 0 ? exact && s->whole <= wide : s->whole == tiles) &&
                   (int64_t)out.workspace_bytes == s->bytes && s->bytes >= count * (128 * tile_n * 4 + 8),
               "whole %lld, %lld shares of %lld, %zu bytes %s", (long long)s->whole, (long long)s->count,
               (long long)s->length, out.workspace_bytes, planned ? "" : tw_error_text());
}

/* Shares of few and of many tiles and steps take no more than what tw_workspace_bytes() names for each
 * multiprocessor. */
static void stream_k_bytes_case(const char *kernel)
{
    enum { MULTIPROCESSORS = 3, NAMED = 560000 };
    device_facts device = sm_90;
    device.multiprocessors = MULTIPROCESSORS;
    const tw_lab_choice choice = {.kernel = kernel};
    bool planned = true;
    size_t most = 0;
    if (!tap_case("the most that shares of %s take", kernel)) return;
    for (int64_t tiles = 1; tiles < 18; tiles++)
        for (int64_t steps = 1; steps < 200; steps++) {
            for (int narrow = 0; narrow < 2; narrow++) { /* of 64 columns, or of 32 rows */
                tw_problem p = tw_problem_make(TW_F32, TW_T, TW_N, narrow ? 32 : 128 * tiles, narrow ? 384 * tiles : 64,
                                               16 * steps);
                plan out = {0};
                p.dtype_c = TW_F32, p.align_a = p.align_b = p.align_c = 256;
                planned = planned && plan_find(&p, &device, &choice, &out) == TW_OK;
                if (out.workspace_bytes > most) most = out.workspace_bytes;
            }
        }
    tap_result(planned && most > NAMED / 2 * MULTIPROCESSORS && most <= NAMED * MULTIPROCESSORS, "%zu bytes %s", most,
               planned ? "" : tw_error_text());
}

/* Deep products of f64: the tile's blocks are so many clusters of 8, whose sums go by memory; 0: none is a cluster. */
static void f64_deep_case(const char *kernel, int64_t m, int64_t n, int64_t k, bool may, bool workspace,
                          int64_t clusters)
{
    device_facts device = sm_90;
    device.clusters = may, device.no_workspace = !workspace;
    const tw_lab_choice choice = {.kernel = kernel};
    tw_problem p = tw_problem_make(TW_F64, TW_N, TW_N, m, n, k);
    char text[256] = "";
    plan out = {0};
    if (!tap_case("f64 %s %dx%dx%d, %s%s: %d clusters", kernel != NULL ? kernel : "free", (int)m, (int)n, (int)k,
                  may ? "clusters" : "no clusters", workspace ? "" : ", no workspace", (int)clusters))
        return;
    p.dtype_c = TW_F64, p.align_a = p.align_b = p.align_c = 256;
    bool planned = plan_find(&p, &device, kernel != NULL ? &choice : NULL, &out) == TW_OK;
    if (planned) plan_text(&out, text, sizeof text);
    const bool by_cluster = out.gpu.k_split.by_cluster, told = strstr(text, "in clusters") != NULL,
               built = strstr(out.gpu.options, "-DCLUSTER_REDUCE=1") != NULL;
    /* sums and a flag of each block, behind each other */
    const int64_t sums = planned ? out.row->lab.tile_m * out.row->lab.tile_n * 8 : 0,
                  bytes = out.gpu.k_split.count * (sums + 8);
    tap_result(planned && by_cluster == (clusters > 0) && told == by_cluster && built == by_cluster &&
                   (!by_cluster || (out.gpu.k_split.count == 8 * clusters && out.gpu.grid_x == 8 * clusters &&
                                    out.gpu.dynamic_bytes == out.row->gpu.dynamic_bytes + sums + 16 &&
                                    (int64_t)out.workspace_bytes >= bytes)),
               "%s, %d bytes shared, %lld blocks", planned ? text : tw_error_text(), out.gpu.dynamic_bytes,
               (long long)out.gpu.k_split.count);
}

static void f64_deep_cases(void)
{
    f64_deep_case(NULL, 64, 64, 65536, true, true, 15);
    f64_deep_case(NULL, 64, 64, 65536, false, true, 0);
    f64_deep_case(NULL, 64, 64, 65536, true, false, 0);
    f64_deep_case(NULL, 64, 64, 4096, true, true, 0); /* tiles of 32 x 32 */
    f64_deep_case(NULL, 128, 128, 128, true, true, 0);
    f64_deep_case(NULL, 256, 64, 20000, true, true, 0); /* tiles of 32 x 32 are faster */
    f64_deep_case(NULL, 100, 60, 30000, true, true, 0);
    f64_deep_case("cuda_f64_dgemm_tma_sm90_64x64", 100, 90, 1000, true, true, 4 * 3);
    /* 8 tiles of 2 clusters are not all resident */
    f64_deep_case("cuda_f64_dgemm_tma_sm90_64x64", 512, 64, 20000, true, true, 0);
    for (int i = 0; i < kernel_count(); i++) /* what tools/ahead.c builds for clusters */
        if (kernel_at(i)->gpu.clusters) f64_deep_case(kernel_at(i)->lab.name, 4, 4, 1280, true, true, 10);
}

/* Which row the planner takes on 132 multiprocessors. */
static void row_case(tw_op op_a, int64_t m, int64_t n, int64_t k, const char *expected)
{
    device_facts device = sm_90;
    device.clusters = true;
    tw_problem p = tw_problem_make(TW_F32, op_a, TW_N, m, n, k);
    plan out;
    if (!tap_case("the row of %c %d x %d x %d", "nt"[op_a], (int)m, (int)n, (int)k)) return;
    p.dtype_c = TW_F32, p.align_a = p.align_b = p.align_c = 256;
    bool planned = plan_find(&p, &device, NULL, &out) == TW_OK;
    tap_result(planned && out.row == kernel_named(expected), "%s, expected %s",
               planned ? out.row->lab.name : tw_error_text(), expected);
}

/* So many blocks (-1: any number) divide k: those of a tile are a cluster, which needs no workspace, or their sums go
 * by memory. */
static void cluster_case(const char *kernel, int64_t m, int64_t n, int64_t k, bool clusters, int64_t blocks,
                         bool by_cluster)
{
    device_facts device = sm_90;
    device.clusters = clusters;
    const tw_lab_choice choice = {.kernel = kernel};
    device_facts bare = device;
    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, m, n, k);
    char text[256] = "";
    plan out = {0}, without = {0};
    if (!tap_case("%s %s %dx%dx%d: parts of a tile %s", clusters ? "clusters," : "no clusters,", kernel, (int)m, (int)n,
                  (int)k, by_cluster ? "meet" : "go by memory"))
        return;
    p.dtype_c = TW_F32, p.align_a = p.align_b = p.align_c = 256;
    bare.no_workspace = true;
    bool planned = plan_find(&p, &device, &choice, &out) == TW_OK && plan_find(&p, &bare, &choice, &without) == TW_OK;
    if (planned) plan_text(&out, text, sizeof text);
    int64_t tile_bytes = planned ? out.row->lab.tile_m * out.row->lab.tile_n * 4 : 0;
    bool told = strstr(out.gpu.options, "-DCLUSTER_REDUCE=1") != NULL && strstr(text, "in clusters") != NULL;
    tap_result(planned && (blocks < 0 || out.gpu.k_split.count == blocks) && out.gpu.k_split.by_cluster == by_cluster &&
                   told == by_cluster && (out.workspace_bytes == 0) == (by_cluster || blocks == 0) &&
                   out.gpu.dynamic_bytes == out.row->gpu.dynamic_bytes + (by_cluster ? (int)tile_bytes + 16 : 0) &&
                   (!by_cluster || without.gpu.k_split.by_cluster),
               "%s, %d bytes shared, without workspace %lld blocks", planned ? text : tw_error_text(),
               planned ? out.gpu.dynamic_bytes : 0, planned ? (long long)without.gpu.k_split.count : 0);
}

static void cluster_cases(void)
{
    cluster_case("cuda_f32_sgemm_slicedk_sm80_16x32", 16, 16, 1024, true, 4, true);
    cluster_case("cuda_f32_sgemm_slicedk_sm80_16x32", 16, 16, 1024, false, 4, false);
    cluster_case("cuda_f32_sgemm_slicedk_sm80_32x16", 200, 30, 4000, true, 14 * 8, true);
    cluster_case("cuda_f32_sgemm_slicedk_sm80_64x32", 474, 170, 288, true, 48 * 2, true);
    cluster_case("cuda_f32_sgemm_slicedk_tma_sm90_64x32", 128, 128, 128, true, 8 * 8, true);
    /* two blocks on a multiprocessor, with room for what they send */
    cluster_case("cuda_f32_sgemm_slicedk_sm80_64x64", 128, 128, 128, true, 4 * 2, true);
    cluster_case("cuda_f32_sgemm_slicedk_sm80_16x32", 32, 32, 32768, true, 2 * 66,
                 false); /* more parts than a cluster has blocks */
    cluster_case("cuda_f32_sgemm_slicedk_tma_sm90_64x128", 64, 1024, 16384, true, 8 * 16, false);
    cluster_case("cuda_f32_sgemm_slicedk_sm80_64x32", 512, 512, 512, true, 0, false);
    for (int i = 0; i < kernel_count(); i++) /* what tools/ahead.c builds for clusters */
        if (kernel_at(i)->gpu.family == FAMILY_SLICED_K)
            cluster_case(kernel_at(i)->lab.name, 4, 4, 1280, true, -1, true);
}

/* Which tile bf16 gets on sm_90, and what is packed, as the plan says it. */
static void matrix_case(tw_op op_a, tw_op op_b, int64_t m, int64_t n, int64_t k, int64_t pad, tw_dtype dtype_c,
                        const char *expected, int64_t bytes)
{
    tw_problem p = tw_problem_make(TW_BF16, op_a, op_b, m, n, k);
    char text[256] = "";
    plan out;
    if (!tap_case("matrix units %c%c %dx%dx%d pad %d", "nt"[op_a], "nt"[op_b], (int)m, (int)n, (int)k, (int)pad))
        return;
    p.dtype_c = dtype_c, p.align_a = p.align_b = p.align_c = 256, p.lda += pad, p.ldb += pad;
    bool planned = plan_find(&p, &sm_90, NULL, &out) == TW_OK;
    if (planned) plan_text(&out, text, sizeof text);
    tap_result(planned && strncmp(text, expected, strlen(expected)) == 0 && (int64_t)out.workspace_bytes == bytes &&
                   strstr(out.gpu.options, dtype_c == TW_F32 ? "-DC_HALF=0" : "-DC_HALF=1") != NULL,
               "%s, expected %s and %d bytes", planned ? text : tw_error_text(), expected, (int)bytes);
}

/* Few tiles and a deep k: split-K fills the device, and add.cu makes C of partial sums; not without a workspace. */
static void split_k_case(tw_dtype dtype, tw_dtype dtype_c, int64_t splits, int64_t length, const char *adds)
{
    enum { M = 256, N = 250, K = 176640, COLUMNS = 252 };
    tw_problem p = tw_problem_make(dtype, TW_N, TW_T, M, N, K);
    device_facts bare = sm_90;
    plan out, without;
    gpu_launch launches[LAUNCH_KINDS];
    if (!tap_case("%s %dx%dx%d by split-K", dtype_find(dtype)->lab.name, M, N, K)) return;
    p.dtype_c = dtype_c, p.align_a = p.align_b = p.align_c = 256, bare.no_workspace = true;
    const bool planned = plan_find(&p, &sm_90, NULL, &out) == TW_OK && plan_find(&p, &bare, NULL, &without) == TW_OK;
    const int count = planned ? plan_launches(&out, launches) : 0;
    const k_split *s = &out.gpu.k_split;
    const int64_t tiles = planned ? ceil_div(M, out.gpu.block_m) * ceil_div(N, out.gpu.block_n) : 0;
    tap_result(count == 2 && s->splits == splits && s->length == length && s->count == tiles * splits &&
                   s->bytes == splits * M * COLUMNS * 4 && strstr(out.gpu.options, "-DC_HALF=0") != NULL &&
                   strstr(out.gpu.options, "-DWIDE=1") != NULL && strstr(out.gpu.options, "-DSPLIT_K=1") != NULL &&
                   launches[0].kind == LAUNCH_TILES && launches[1].kind == LAUNCH_ADD &&
                   strcmp(launches[1].kernel.source.file, "cuda/add.cu") == 0 &&
                   strcmp(launches[1].kernel.options, adds) == 0 && launches[1].grid_x == M * N / 128 &&
                   launches[1].threads_x == 32 && launches[1].threads_y == 8 && without.gpu.k_split.count == 0 &&
                   strstr(without.gpu.options, "SPLIT_K") == NULL,
               "%d launches, %s: %d parts of %d steps, added by %s", count,
               planned ? out.row->lab.name : tw_error_text(), planned ? (int)s->splits : 0,
               planned ? (int)s->length : 0, count == 2 ? launches[1].kernel.options : "");
}

/* Does the planner emulate this product of f32? */
static bool emulates(tw_problem p, const device_facts *device, plan *out)
{
    p.dtype_c = p.dtype, p.align_a = p.align_b = p.align_c = 256;
    p.place_a = p.place_b = p.place_c = TW_DEVICE;
    return plan_find(&p, device, NULL, out) == TW_OK && out->row->lab.emulates;
}

/* Where a caller allows it and it is faster, f32 is made of halves: a scan, the halves of B and A, and two kernels that
 * share the tiles out; not without a workspace, in tiles of another product, or with TW_INVARIANT. */
static void emulated_case(void)
{
    static const char *const files[] = {"cuda/split.cu", "cuda/split.cu", "cuda/sgemm_emulated_sm90.cu", "cuda/pack.cu",
                                        "cuda/sgemm_tma_sm90.cu"};
    const int64_t halves = 4096 * 2048 * 2 * 2, told = 4096 * 4 + 4096 / 32 * 8 + 256;
    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_T, 4096, 4096, 2048), other = p;
    device_facts bare = sm_90, tile = sm_90, older = sm_90, kept = sm_90; /* kept: the last plan is found again */
    gpu_launch launches[LAUNCH_KINDS];
    plan out;
    bool right = true;
    if (!tap_case("f32 from halves, where it is allowed")) return;
    bare.no_workspace = tile.tiles = true, older.sm = 80, older.tensor_maps = false, kept.context = 1;
    right = right && !emulates(p, &sm_90, &out) && !emulates(p, &kept, &out);
    p.accuracy = other.accuracy = TW_EMULATED;
    right = right && emulates(p, &kept, &out);
    right = right && !emulates(p, &bare, &out) && !emulates(p, &tile, &out) && !emulates(p, &older, &out);
    other.flags = TW_INVARIANT;
    right = right && !emulates(other, &sm_90, &out);
    other = tw_problem_make(TW_F32, TW_N, TW_N, 200, 200, 200), other.accuracy = TW_EMULATED;
    right = right && !emulates(other, &sm_90, &out);
    other = tw_problem_make(TW_F32, TW_N, TW_N, 8192, 8192, 80), other.accuracy = TW_EMULATED;
    right = right && !emulates(other, &sm_90, &out);
    right = right && emulates(p, &sm_90, &out) && out.workspace_bytes == (size_t)(2 * (halves + told)) &&
            plan_launches(&out, launches) == 5;
    for (int i = 0; right && i < 5; i++)
        right = launches[i].kind == (launch_kind)(LAUNCH_SCAN + i) &&
                strcmp(launches[i].kernel.source.file, files[i]) == 0;
    right = right && out.gpu.grid_x == 128 && launches[4].grid_x == 32 * 32 && launches[4].threads_x == 128 &&
            strstr(launches[4].kernel.options, "-DOP_A=1 -DOP_B=0 -DWIDE=1 -DREST=1") != NULL;
    p.op_a = TW_T, p.op_b = TW_N, p.lda = p.m, p.ldb = p.n; /* nothing is packed for the rest */
    right = right && emulates(p, &sm_90, &out) && plan_launches(&out, launches) == 4;
    tap_result(right, "%s, %zu bytes of workspace", out.row->lab.name, out.workspace_bytes);
}

/* A complex product is planned as a real one, beside whose launches A or B is written as real numbers before, and C is
 * made behind where that is needed: by squares of B, or where A is much smaller, by planes of A. */
static void complex_case(tw_dtype dtype, int64_t m, tw_op op_a, tw_op op_b, bool scales, bool reads_c, bool emulated)
{
    const int64_t n = 1000, k = 800, bytes = dtype == TW_CF32 ? 4 : 8, whole = 128 / bytes;
    const bool planes = m < 100, across = op_a == TW_T || op_a == TW_C, along = op_b == TW_T || op_b == TW_C,
               combines = planes || scales;
    const int64_t real_m = planes ? 2 * m : m, real_n = planes && along ? n : 2 * n,
                  real_k = planes && !along ? k : 2 * k, lda = round_up(across ? real_m : real_k, whole),
                  ldb = 2 * (along ? k : n) + 10, sums = planes || (scales && reads_c) ? round_up(real_n, whole) : 0;
    tw_problem p = tw_problem_make(dtype, op_a, op_b, m, n, k);
    gpu_launch launches[LAUNCH_KINDS];
    plan out = {.row = NULL}, like = {.row = NULL};
    device_facts bare = sm_90, tile = sm_90, kept = sm_90;
    if (!tap_case("complex: %s %c%c, %d rows%s%s%s", bytes == 4 ? "cf32" : "cf64", "ntcr"[op_a], "ntcr"[op_b], (int)m,
                  scales ? ", complex alpha" : "", reads_c ? ", beta" : "", emulated ? ", emulated" : ""))
        return;
    bare.no_workspace = tile.tiles = true, kept.context = 77;
    p.dtype_c = p.dtype_b = dtype, p.align_a = p.align_b = p.align_c = 8, p.ldb += 5, p.ldc += 1;
    p.place_a = p.place_b = p.place_c = TW_DEVICE;
    p.beta = reads_c, p.accuracy = emulated ? TW_EMULATED : TW_NATIVE;
    /* found again, but for the scalar; and then whole */
    bool right = plan_find(&p, &kept, NULL, &out) == TW_OK;
    p.alpha_imaginary = scales ? -2 : 0;
    right = right && plan_find(&p, &kept, NULL, &out) == TW_OK && plan_find(&p, &kept, NULL, &out) == TW_OK;
    const tw_problem *real = &out.gpu.problem;
    const gpu_complex *by = &out.gpu.complex;
    right = right && real->m == real_m && real->n == real_n && real->k == real_k && real->alpha_imaginary == 0 &&
            real->dtype == (bytes == 4 ? TW_F32 : TW_F64) && real->op_a == (across ? TW_T : TW_N) &&
            real->op_b == (planes && along ? TW_T : TW_N) && real->lda == (planes || across ? lda : 2 * k) &&
            real->ldb == (planes ? ldb : round_up(2 * n, whole)) && real->align_a == (planes || across ? 256 : 8) &&
            real->align_b == (planes ? 8 : 256) && real->ldc == (sums > 0 ? sums : 2 * p.ldc) &&
            real->beta == (reads_c && !combines) && out.problem.n == n;
    right = right && plan_find(real, &sm_90, NULL, &like) == TW_OK && like.row == out.row &&
            out.row->lab.emulates == emulated;
    const int of_real = right ? plan_launches(&like, launches) : 0, count = right ? plan_launches(&out, launches) : 0;
    right = right && count == of_real + 1 + combines && launches[0].kind == LAUNCH_EXPAND &&
            (launches[count - 1].kind == LAUNCH_COMBINE) == combines;
    right = right && by->b_at >= (int64_t)like.workspace_bytes &&
            by->a_at - by->b_at == (planes ? 0 : round_up(2 * k * round_up(2 * n, whole) * bytes, 256)) &&
            out.workspace_bytes == (size_t)(by->sums_at + real_m * sums * bytes) &&
            (bytes > 4 ||
             out.workspace_bytes <= /* tw_workspace_bytes */
                 (size_t)(2 * (4 * (2 * k + 31) * (2 * m + 2 * n + 62) + 512 + 560000 * 132) + 16 * m * (n + 16)));
    right = right && plan_find(&p, &bare, NULL, &like) == TW_NO_KERNEL &&
            plan_find(&p, &tile, NULL, &like) == TW_NO_KERNEL;
    tw_problem other = p;
    other.beta = 1, other.beta_imaginary = 3;
    right = right && plan_find(&p, &kept, NULL, &like) == TW_OK && plan_find(&other, &kept, NULL, &like) == TW_OK &&
            like.gpu.complex.combines;
    /* which way is taken depends on m, but not where the bits of a row may not */
    p.flags = TW_INVARIANT;
    right = right && (plan_find(&p, &sm_90, NULL, &like) != TW_OK || like.gpu.complex.sums == 0);
    tap_result(right, "%s, %d x %d x %d by %s, %d launches, %zu bytes of workspace", tw_error_text(), (int)real->m,
               (int)real->n, (int)real->k, out.row != NULL ? out.row->lab.name : "none", count, out.workspace_bytes);
}

static void matrix_cases(void)
{
    emulated_case();
    for (int i = 0; i < 32; i++)
        complex_case(i / 16 ? TW_CF64 : TW_CF32, i % 2 ? 16 : 3000, (tw_op)(i / 2 % 4), (tw_op)((i / 2 + i / 8) % 4),
                     i / 4 % 2, i / 8 % 2, false);
    complex_case(TW_CF32, 3000, TW_T, TW_N, true, true, true);
    split_k_case(TW_BF16, TW_F32, 33, 84, "");
    split_k_case(TW_BF16, TW_BF16, 33, 84, "-DC_HALF=1");
    split_k_case(TW_F16, TW_F16, 33, 84, "-DC_HALF=1 -DIN_F16=1");
    split_k_case(TW_I8, TW_I32, 33, 42, "-DSUMS_S32=1");
    split_k_case(TW_E4M3, TW_F16, 33, 42, "-DC_HALF=1 -DIN_F16=1");
    matrix_case(TW_N, TW_N, 4096, 4096, 4096, 0, TW_F32, "cuda_bf16_gemm_wgmma_sm90_128x128 grid 128x1", 0);
    matrix_case(TW_T, TW_N, 4096, 4096, 4096, 0, TW_BF16, "cuda_bf16_gemm_wgmma_sm90_128x128 grid 128x1", 0);
    /* 384 tiles, 2.9 rounds; of 128 x 128 4.4 */
    matrix_case(TW_N, TW_T, 3072, 3072, 3072, 0, TW_BF16, "cuda_bf16_gemm_wgmma_sm90_128x192 grid 128x1", 0);
    matrix_case(TW_T, TW_T, 768, 1536, 4096, 0, TW_F32, "cuda_bf16_gemm_wgmma_sm90_64x192 grid 96x1", 0);
    matrix_case(TW_N, TW_N, 1024, 1024, 1024, 0, TW_F32, "cuda_bf16_gemm_wgmma_sm90_64x128 grid 128x1", 0);
    matrix_case(TW_N, TW_N, 512, 512, 512, 0, TW_F32, "cuda_bf16_gemm_wgmma_sm90_64x64 grid 64x1", 0);
    matrix_case(TW_T, TW_N, 203, 304, 100, 0, TW_F32, "cuda_bf16_gemm_inplace_sm80_64x64 grid 20x1 threads", 0);
    matrix_case(TW_T, TW_N, 1003, 1004, 1000, 0, TW_F32, "cuda_bf16_gemm_wgmma_sm90_64x128 copies A copies B",
                2 * 1000 * 1024 * 2);
    matrix_case(TW_N, TW_N, 1, 8192, 8192, 0, TW_F32, "cuda_bf16_gemm_swapab_sm90_16x64 grid 128x1 threads", 0);
    matrix_case(TW_T, TW_N, 16, 8192, 8192, 0, TW_BF16, "cuda_bf16_gemm_swapab_sm90_16x64 grid 128x1 threads", 0);
    matrix_case(TW_N, TW_T, 8192, 16, 8192, 0, TW_F32, "cuda_bf16_gemm_swapab_sm90_16x64 grid 128x1 threads", 0);
    matrix_case(TW_N, TW_N, 16, 28672, 4096, 0, TW_F32,
                "cuda_bf16_gemm_swapab_sm90_16x128 grid 132x1 (132 of them runs of 109 steps)",
                132 * (16 * 128 * 4 + 8) + 224);
    matrix_case(TW_N, TW_N, 64, 8192, 8192, 0, TW_F32, "cuda_bf16_gemm_swapab_sm90_64x64 grid 128x1 threads", 0);
    matrix_case(TW_N, TW_T, 64, 28672, 4096, 0, TW_BF16, "cuda_bf16_gemm_swapab_sm90_64x128 grid 132x1 (132 of them",
                132 * (64 * 128 * 4 + 8) + 224);
    matrix_case(TW_N, TW_N, 128, 8192, 8192, 0, TW_F32, "cuda_bf16_gemm_swapab_sm90_128x64 grid 128x1 threads", 0);
    matrix_case(TW_N, TW_N, 128, 28672, 4096, 0, TW_F32, "cuda_bf16_gemm_swapab_sm90_128x128 grid 132x1 (132 of them",
                132 * (128 * 128 * 4 + 8) + 224);
    matrix_case(TW_N, TW_N, 16, 1024, 8192, 0, TW_F32,
                "cuda_bf16_gemm_swapab_sm90_16x64 grid 112x1 (112 of them runs of 19 steps)", 459776);
    matrix_case(TW_N, TW_N, 64, 64, 65536, 0, TW_F32,
                "cuda_bf16_gemm_wgmma_sm90_64x64 grid 64x1 (64 parts of 16 steps, 64 for each tile)",
                64 * 256 * 64 * 4);
    matrix_case(TW_N, TW_N, 64, 64, 64, 0, TW_F32, "cuda_bf16_gemm_wgmma_sm90_64x64 grid 1x1", 0);
    matrix_case(TW_N, TW_N, 128, 512, 512, 0, TW_F32, "cuda_bf16_gemm_wgmma_sm90_64x64 grid 16x1", 0);
    matrix_case(TW_N, TW_N, 1, 512, 512, 0, TW_F32, "cuda_bf16_gemm_swapab_sm90_16x64 grid 8x1", 0);
    matrix_case(TW_N, TW_T, 1000, 1000, 1000, 1, TW_F32, "cuda_bf16_gemm_wgmma_sm90_64x128 copies A copies B grid",
                2 * 1000 * 1024 * 2);
    /* at addresses that TMA does not take: in place where k is short, or C has few rows or columns */
    matrix_case(TW_N, TW_N, 15, 2306, 37, 0, TW_F32, "cuda_bf16_gemm_inplace_sm80_32x128 grid 19x1 threads", 0);
    matrix_case(TW_N, TW_N, 15, 2306, 37, 0, TW_BF16, "cuda_bf16_gemm_inplace_sm80_32x128 grid 19x1 threads", 0);
    matrix_case(TW_N, TW_N, 19, 746, 92841, 8, TW_F32,
                "cuda_bf16_gemm_inplace_sm80_32x128 grid 264x1 (264 parts of 33 steps, 44 for each tile)",
                44 * 19 * 748 * 4 + 64);
    matrix_case(TW_T, TW_N, 7283, 3, 10716, 8, TW_F32,
                "cuda_bf16_gemm_thin_sm80_8x128 grid 244x1 (244 parts of 21 steps, 4 for each tile)",
                4 * 7283 * 4 * 4 + 64);
    matrix_case(TW_N, TW_T, 1, 456, 8116, 1, TW_BF16,
                "cuda_bf16_gemm_thin_sm80_8x128 grid 256x1 (256 parts of 1 steps, 64 for each tile)", 64 * 456 * 4);
}

/* Few rows or columns in types that the units read along k only: the longer operand is read as it lies, and only the
 * shorter one is transposed. */
static void across_case(tw_dtype dtype, tw_op op_a, tw_op op_b, int64_t m, int64_t n, int64_t k, const char *expected,
                        const char *options, int64_t bytes)
{
    tw_problem p = tw_problem_make(dtype, op_a, op_b, m, n, k);
    char text[256] = "";
    plan out;
    if (!tap_case("few rows of %s %c%c %dx%dx%d", dtype_find(dtype)->lab.name, "nt"[op_a], "nt"[op_b], (int)m, (int)n,
                  (int)k))
        return;
    p.dtype_c = dtype_find(dtype)->result, p.align_a = p.align_b = p.align_c = 256;
    bool planned = plan_find(&p, &sm_90, NULL, &out) == TW_OK;
    if (planned) plan_text(&out, text, sizeof text);
    tap_result(planned && strncmp(text, expected, strlen(expected)) == 0 && strstr(out.gpu.options, options) != NULL &&
                   out.gpu.pack_a.bytes + out.gpu.pack_b.bytes == bytes,
               "%s with%s, expected %s with%s, and %d bytes packed", planned ? text : tw_error_text(), out.gpu.options,
               expected, options, (int)bytes);
}

static void across_cases(void)
{
    across_case(TW_I8, TW_N, TW_N, 1, 8192, 28672, "cuda_i8_gemm_swapab_sm90_16x128 grid", "-DOP_A=0 -DOP_B=0", 0);
    across_case(TW_U8, TW_N, TW_N, 64, 8192, 28672, "cuda_u8_gemm_swapab_sm90_64x128 grid", "-DOP_A=0 -DOP_B=0", 0);
    across_case(TW_E4M3, TW_N, TW_N, 16, 8192, 28672, "cuda_e4m3_gemm_swapab_sm90_16x128 grid", "-DOP_A=0 -DOP_B=0", 0);
    across_case(TW_E5M2, TW_N, TW_N, 300, 8192, 8192, "cuda_e5m2_gemm_swapab_sm90_128x128 grid", "-DOP_A=0 -DOP_B=0",
                0);
    across_case(TW_TF32, TW_N, TW_N, 16, 8192, 28672, "cuda_tf32_gemm_swapab_sm90_16x64 grid", "-DOP_A=0 -DOP_B=0", 0);
    across_case(TW_I8, TW_T, TW_T, 8192, 16, 8192, "cuda_i8_gemm_swapab_sm90_16x128 grid", "-DOP_A=1 -DOP_B=1", 0);
    /* the short operand is transposed, the long one is not */
    across_case(TW_TF32, TW_T, TW_N, 4096, 16, 4096, "cuda_tf32_gemm_swapab_sm90_16x64 transposes B grid",
                "-DOP_A=1 -DOP_B=1", 16 * 4096 * 4);
    across_case(TW_I8, TW_T, TW_N, 16, 4096, 4096, "cuda_i8_gemm_swapab_sm90_16x128 transposes A grid",
                "-DOP_A=0 -DOP_B=0", 16 * 4096);
    /* along k already */
    across_case(TW_I8, TW_N, TW_T, 16, 8192, 8192, "cuda_i8_gemm_swapab_sm90_16x64 grid", "-DOP_A=0 -DOP_B=1", 0);
    /* large products are transposed as before */
    across_case(TW_I8, TW_N, TW_N, 4096, 4096, 4096, "cuda_i8_gemm_wgmma_sm90_", "-DOP_A=0 -DOP_B=1", 4096 * 4096);
}

/* sgemm_slicedk_tma_sm90 transposes what lies along k itself, A, B or both. */
static void transposes_case(void)
{
    for (int op = 0; op < 4; op++) {
        tw_problem p = tw_problem_make(TW_F32, (tw_op)(op / 2), (tw_op)(op % 2), 1024, 1024, 1024);
        plan out;
        if (!tap_case("1024 cubed %c%c is packed nowhere", "nt"[op / 2], "nt"[op % 2])) continue;
        p.dtype_c = TW_F32, p.align_a = p.align_b = p.align_c = 256;
        bool planned = plan_find(&p, &sm_90, NULL, &out) == TW_OK;
        tap_result(planned && out.row == kernel_named("cuda_f32_sgemm_slicedk_tma_sm90_64x128") &&
                       out.workspace_bytes == 0,
                   "%s, %zu bytes", planned ? out.row->lab.name : tw_error_text(), planned ? out.workspace_bytes : 0);
    }
}

static void reads_case(void)
{
    if (!tap_case("every GPU row says how it reads A and B")) return;
    const char *wrong = "";
    const kernel_row *row;
    for (int i = 0; (row = kernel_at(i)) != NULL; i++)
        if ((row->gpu.entry != NULL) != (row->gpu.reads != READS_UNSAID)) wrong = row->lab.name;
    for (int i = 0; (row = kernel_batch_at(i)) != NULL; i++)
        if (row->gpu.reads == READS_UNSAID) wrong = row->lab.name;
    tap_result(wrong[0] == '\0', "not so: %s", wrong);
}

/* A kernel that the models of divided k weigh without numbers of its own would be expected to reach the whole peak. */
static void cost_case(void)
{
    if (!tap_case("every kernel that divides k has coefficients of its own, of a lone block one share")) return;
    const char *wrong = "";
    const tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, 500, 500, 500);
    for (int i = 0; i < kernel_count(); i++) {
        const kernel_row *row = kernel_at(i);
        const gpu_family_id family = row->gpu.family;
        const bool divides = family == FAMILY_SLICED_K || family == FAMILY_SPLITS,
                   weighed = divides || family == FAMILY_STREAM_K;
        tuned_values room;
        if (strcmp(row->lab.engine, "cuda") != 0) continue;
        const tuned_values own = *tuned_find(&sm_90, &p, row, &room);
        /* an H200's multiprocessor has room for a second block */
        const bool two_fit = 2 * row->gpu.dynamic_bytes <= 227 << 10;
        if ((weighed && own.full == 1) || (divides && (own.alone == 1 || (!two_fit && own.full != own.alone))) ||
            (family == FAMILY_SLICED_K && own.copy == 1) || own.cost != 1)
            wrong = row->lab.name;
    }
    tap_result(wrong[0] == '\0', "not so: %s", wrong);
}

static void packing_cases(void)
{
    cost_case();
    reads_case();
    cluster_cases();
    f64_deep_cases();
    rung_cases();
    transposes_case();
    matrix_cases();
    across_cases();
    stream_k_bytes_case("cuda_f32_sgemm_tma_sm90_128x128");
    stream_k_bytes_case("cuda_f32_sgemm_tma_sm90_128x64");
    stream_k_bytes_case("cuda_f32_sgemm_slicedk_tma_sm90_64x128");
    stream_k_case(4096, 4096, 4096, "cuda_f32_sgemm_tma_sm90_128x128", 792, 396, 150);
    stream_k_case(2048, 2048, 2048, "cuda_f32_sgemm_tma_sm90_128x128", 0, 395, 83);
    stream_k_case(1024, 1024, 1024, "cuda_f32_sgemm_tma_sm90_128x128", 0, 256, 16);
    stream_k_case(512, 512, 512, "cuda_f32_sgemm_tma_sm90_128x128", 0, 64, 8);
    stream_k_case(512, 512, 512, "cuda_f32_sgemm_tma_sm90_128x64", 0, 128, 8);
    stream_k_case(3000, 3000, 3000, "cuda_f32_sgemm_tma_sm90_128x64", 792, 790, 80);
    stream_k_case(5001, 5001, 5001, "cuda_f32_sgemm_tma_sm90_128x128", 1188, 395, 285);
    stream_k_case(5001, 5001, 5001, "cuda_f32_sgemm_tma_sm90_128x64", 3160, 0, 0);
    stream_k_case(4095, 4097, 4099, "cuda_f32_sgemm_tma_sm90_128x128", 792, 395, 158);
    stream_k_case(4097, 4095, 4099, "cuda_f32_sgemm_tma_sm90_128x128", 792, 395, 158);
    stream_k_case(32, 100000, 4096, "cuda_f32_sgemm_tma_sm90_128x128", 782, 0, 0); /* narrow, six to a multiprocessor */
    stream_k_case(32, 50688, 16384, "cuda_f32_sgemm_tma_sm90_128x128", 396, 0, 0); /* a share would be a tile */
    stream_k_case(32, 25000, 16384, "cuda_f32_sgemm_tma_sm90_128x128", 0, 395, 170);
    stream_k_case(161, 160, 4096, "cuda_f32_sgemm_tma_sm90_128x128", 0, 22, 32);
    stream_k_case(8192, 8192, 8192, "cuda_f32_sgemm_tma_sm90_128x128", 3960, 396, 176);
    stream_k_case(4224, 1536, 4096, "cuda_f32_sgemm_tma_sm90_128x128", 396, 0, 0);
    stream_k_case(64, 64, 65536, "cuda_f32_sgemm_tma_sm90_128x64", 0, 16, 256);
    stream_k_case(128, 128, 128, "cuda_f32_sgemm_tma_sm90_128x128", 1, 0, 0);
    stream_k_case(128, 128, 16, "cuda_f32_sgemm_tma_sm90_128x128", 1, 0, 0);
    stream_k_case(1, 1, 0, "cuda_f32_sgemm_tma_sm90_128x128", 1, 0, 0);
    stream_k_case(1, 1, 1, "cuda_f32_sgemm_tma_sm90_128x128", 1, 0, 0);
    row_case(TW_T, 4096, 4096, 4096,
             "cuda_f32_sgemm_tma_sm90_128x128"); /* 8 tiles for the busiest, or 16 of half the width */
    /* of the last tiles only 8 rows and columns, which it spares */
    row_case(TW_T, 5000, 5000, 5000, "cuda_f32_sgemm_tma_sm90_128x128");
    row_case(TW_T, 5040, 5040, 5040, "cuda_f32_sgemm_tma_sm90_128x64");  /* padded to 5120 x 5120, or to 5056 columns */
    row_case(TW_T, 2048, 2048, 2048, "cuda_f32_sgemm_tma_sm90_128x128"); /* one or two halves, which end no earlier */
    row_case(TW_T, 180000, 180000, 1, "cuda_f32_sgemm_tma_sm90_128x128");
    row_case(TW_N, 2048, 2048, 2048, "cuda_f32_sgemm_tma_sm90_128x128"); /* with A to be transposed by a pass before */
    row_case(TW_N, 3000, 3000, 3000, "cuda_f32_sgemm_tma_sm90_128x64");
    row_case(TW_N, 4096, 4096, 4096, "cuda_f32_sgemm_tma_sm90_128x128");
    row_case(TW_N, 64, 64, 64, "cuda_f32_sgemm_slicedk_sm80_16x32");
    row_case(TW_N, 256, 256, 256, "cuda_f32_sgemm_slicedk_sm80_16x32");
    row_case(TW_N, 512, 512, 512, "cuda_f32_sgemm_slicedk_sm80_64x32");
    row_case(TW_N, 1024, 1024, 1024, "cuda_f32_sgemm_slicedk_tma_sm90_64x128");
    row_case(TW_N, 1000, 1000, 1000, "cuda_f32_sgemm_slicedk_tma_sm90_64x128");
    row_case(TW_N, 500, 300, 700, "cuda_f32_sgemm_slicedk_tma_sm90_64x32");
    row_case(TW_N, 768, 768, 768, "cuda_f32_sgemm_slicedk_tma_sm90_64x32");
    row_case(TW_N, 64, 64, 65536, "cuda_f32_sgemm_slicedk_tma_sm90_64x32");
    row_case(TW_N, 733, 781, 957,
             "cuda_f32_sgemm_slicedk_tma_sm90_64x32");               /* packing costs less than copies of 4 bytes */
    row_case(TW_N, 958, 68, 3, "cuda_f32_sgemm_slicedk_sm80_64x32"); /* and here more */
    /* rows of C that do not begin at 16 bytes, in whole lines */
    row_case(TW_N, 3933, 3674, 8, "cuda_f32_sgemm_tma_sm90_128x128");
    /* sgemm_slicedk_sm80_32x4's two steps would be on one quarter of a multiprocessor */
    row_case(TW_N, 1899, 1, 87, "cuda_f32_sgemm_slicedk_sm80_16x32");
    /* 17 tiles, of 7 blocks each; operands that are copied word by word */
    row_case(TW_N, 522, 1, 18011, "cuda_f32_sgemm_slicedk_sm80_32x4");
    /* of sgemm_slicedk_sm80_64x64's three blocks on a multiprocessor one would be alone; sgemm_slicedk_tma_sm90_64x32
     * is 4 % faster (docs/perf/planner.md#clusters-and-copies) */
    row_case(TW_N, 896, 896, 896, "cuda_f32_sgemm_slicedk_tma_sm90_64x128");
    row_case(TW_N, 300, 2000, 500, "cuda_f32_sgemm_slicedk_tma_sm90_64x128");
    row_case(TW_N, 0, 7, 5, "cuda_f32_sgemm_slicedk_sm80_16x32");
    row_case(TW_N, 4096, 16, 4096, "cuda_f32_sgemm_slicedk_sm80_32x16");
    row_case(TW_N, 16, 4096, 4096, "cuda_f32_sgemm_slicedk_sm80_16x32");
    row_case(TW_N, 16384, 1, 16384, "cuda_f32_sgemm_slicedk_sm80_32x4");
    row_case(TW_T, 1, 16384, 16384, "cuda_f32_sgemm_slicedk_sm80_4x128");
    packing_case(TW_T, TW_N, 204, 300, 100, " grid", 0);
    packing_case(TW_T, TW_N, 203, 300, 100, " copies A", 100 * 204 * 4 + 64);
    packing_case(TW_T, TW_N, 204, 301, 100, " copies B", 100 * 300 * 4 + 64);
    packing_case(TW_N, TW_N, 100, 300, 100, " transposes A", 100 * 204 * 4 + 64);
    packing_case(TW_N, TW_T, 100, 100, 100, " transposes A transposes B", 100 * 204 * 4 + 64 + 100 * 300 * 4 + 64);
    packing_case(TW_T, TW_T, 203, 101, 100, " copies A transposes B", 100 * 204 * 4 + 64 + 100 * 300 * 4 + 64);
    packing_case(TW_N, TW_T, 100, 100, 0, " grid", 0);
}

static void place_cases(void)
{
    static const _Alignas(256) float x[64] = {0};
    place_case("even addresses and rows", x, x, x, 100, 300, 300, true, "-DWIDE=1");
    place_case("C at an odd address", x, x, x + 1, 100, 300, 300, true, "-DWIDE=0");
    place_case("C's rows odd", x, x, x, 100, 300, 301, true, "-DWIDE=0");
    place_case("A at an odd address", x + 1, x, x, 100, 300, 300, false, "-DWIDE=1");
    place_case("B at a multiple of 8 bytes", x, x + 2, x, 100, 300, 300, false, "-DWIDE=1");
    place_case("A's rows odd", x, x, x, 101, 300, 300, false, "-DWIDE=1");
    place_case("B's rows a multiple of 8 bytes", x, x, x, 100, 302, 300, false, "-DWIDE=1");
    place_case("everything at 16 bytes", x + 4, x + 4, x + 4, 104, 304, 304, true, "-DWIDE=1");
    packing_cases();
}

/* What a row hands to its text has room behind the plan's own options, of which there are OWN_MOST bytes at most. */
static void options_cases(void)
{
    enum { OWN_MOST = 160 };
    char text[1024];
    for (int i = 0; i < kernel_count(); i++) {
        const kernel_row *row = kernel_at(i);
        if (row->gpu.entry == NULL || !tap_case("options of %s", row->lab.name)) continue;
        text[0] = '\0';
        kernel_options(row, text, sizeof text);
        tap_result(strlen(text) + OWN_MOST < PLAN_OPTIONS_BYTES, "%zu bytes:%s", strlen(text), text);
    }
}

/* Rows that pack panels are for processors with a workspace; the widest vectors that the device has are taken. */
static void panels_row_case(int vector_bytes, bool no_workspace, const char *expected)
{
    const device_facts device = {.engine = "opencl",
                                 .threads = 1,
                                 .multiprocessors = 2,
                                 .vector_bytes = vector_bytes,
                                 .no_workspace = no_workspace,
                                 .most_threads = 1024,
                                 .local_bytes = 48 << 10,
                                 .largest_bytes = 1 << 30};
    char reason[160] = "";
    tw_problem p = tw_problem_make(TW_F64, TW_N, TW_N, 100, 100, 100);
    plan out;
    if (!tap_case("f64 on OpenCL, vectors of %d bytes%s", vector_bytes, no_workspace ? ", no workspace" : "")) return;
    p.dtype_c = TW_F64, p.align_a = p.align_b = p.align_c = 256;
    bool planned = plan_find(&p, &device, NULL, &out) == TW_OK,
         fits = kernel_fits(kernel_named("opencl_f64_gemm_panels_8x24"), &p, &device, 0, reason, sizeof reason);
    tap_result(planned && out.row == kernel_named(expected) && fits == (vector_bytes > 0 && !no_workspace) &&
                   (fits || strstr(reason, no_workspace ? "wants a workspace" : "that are processors") != NULL),
               "%s, %s", planned ? out.row->lab.name : tw_error_text(), reason);
}

/* Of f32 on 132 compute units: costs and slices of NVIDIA's GPUs are for those alone. sm 0: another maker's. expected:
 * how the row's name begins. */
static void opencl_case(int sm, int64_t m, int64_t n, int64_t k, const char *expected)
{
    const device_facts device = {.engine = "opencl",
                                 .threads = 1,
                                 .copies = true,
                                 .sm = sm,
                                 .multiprocessors = 132,
                                 .most_threads = 1024,
                                 .local_bytes = 48 << 10,
                                 .largest_bytes = (int64_t)1 << 35};
    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, m, n, k);
    plan out;
    if (!tap_case("f32 on OpenCL, sm_%d, %" PRId64 "x%" PRId64 "x%" PRId64, sm, m, n, k)) return;
    p.dtype_c = TW_F32, p.align_a = p.align_b = p.align_c = 256;
    bool planned = plan_find(&p, &device, NULL, &out) == TW_OK;
    tap_result(planned && strncmp(out.row->lab.rung, expected, strlen(expected)) == 0, "%s",
               planned ? out.row->lab.rung : tw_error_text());
}

/* Items of a batch are one launch where they lie in device memory, but on a GPU not such deep ones that dividing k
 * gives each a whole device. */
static void items_case(bool gpu, bool on_device, int64_t m, int64_t k, int64_t items, bool together)
{
    const device_facts device = {.engine = "opencl",
                                 .threads = 1,
                                 .copies = true,
                                 .addresses = true,
                                 .multiprocessors = gpu ? 132 : 2,
                                 .vector_bytes = gpu ? 0 : 64,
                                 .most_threads = 1024,
                                 .local_bytes = 48 << 10,
                                 .largest_bytes = 1 << 30};
    if (!tap_case("%" PRId64 " items of %" PRId64 "x%" PRId64 "x%" PRId64 " on an OpenCL %s, in %s memory", items, m, m,
                  k, gpu ? "GPU" : "processor", on_device ? "device" : "host"))
        return;
    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, m, m, k);
    p.dtype_c = TW_F32, p.align_a = p.align_b = p.align_c = 256;
    p.place_a = p.place_b = p.place_c = on_device ? TW_DEVICE : TW_HOST;
    const tw_batch batch = tw_batch_make(&p, items);
    plan out;
    char text[512] = "", expected[64];
    bool planned = plan_find_batch(&p, &batch, &device, &out) == TW_OK;
    if (planned) plan_text(&out, text, sizeof text);
    snprintf(expected, sizeof expected, "(for each of %" PRId64 " items", items);
    tap_result(planned && out.gpu.items == (together ? items : 0) && (strstr(text, expected) != NULL) == together &&
                   !(together && out.gpu.k_split.count > 0),
               "%s", planned ? text : tw_error_text());
}

/* On CUDA small items of every type of the matrix units are one launch, whose operands lie as they may; large ones
 * follow each other. */
static void one_launch_case(tw_dtype dtype, tw_op op_a, tw_op op_b, int64_t edge, uint32_t align, bool together)
{
    plan out;
    if (!tap_case("batch of %s %c%c %d, aligned to %u", dtype_find(dtype)->lab.name, "nt"[op_a], "nt"[op_b], (int)edge,
                  align))
        return;
    tw_problem p = tw_problem_make(dtype, op_a, op_b, edge, edge, edge);
    p.dtype_c = dtype_find(dtype)->result, p.align_a = p.align_b = p.align_c = align;
    p.place_a = p.place_b = p.place_c = TW_DEVICE;
    const tw_batch batch = tw_batch_make(&p, 1000);
    const bool planned = plan_find_batch(&p, &batch, &sm_90, &out) == TW_OK;
    tap_result(planned && out.gpu.one_launch == together && (!together || out.workspace_bytes == 0), "%s",
               planned ? out.row->lab.name : tw_error_text());
}

static void one_launch_cases(void)
{
    static const tw_dtype types[] = {TW_F64, TW_BF16, TW_I8, TW_U8, TW_TF32, TW_E4M3, TW_E5M2};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        for (int ops = 0; ops < 4; ops++)
            one_launch_case(types[i], ops & 2 ? TW_T : TW_N, ops & 1 ? TW_T : TW_N, ops & 1 ? 32 : 128, 256, true);
        one_launch_case(types[i], TW_N, TW_N, 33, (uint32_t)dtype_find(types[i])->lab.bytes, true);
        one_launch_case(types[i], TW_N, TW_T, 4096, 256, false);
    }
}

/* Integers of 16 bits and more are the CPU's. */
static void refused_types(void)
{
    static const tw_dtype types[] = {TW_I16, TW_I32, TW_I64};
    char expected[120];
    for (int i = 0; i < 2 * 3; i++) {
        const tw_problem p = tw_problem_make(types[i / 2], TW_N, TW_N, 64, 64, 64);
        device_facts device = sm_90;
        plan out;
        if (i % 2) device = (device_facts){.engine = "opencl", .threads = 1, .most_threads = 256, .local_bytes = 65536};
        snprintf(expected, sizeof expected, "no kernel fits: the %s engine has no production kernel for %s",
                 device.engine, dtype_find(types[i / 2])->lab.name);
        if (!tap_case("%s", expected)) continue;
        tap_result(plan_find(&p, &device, NULL, &out) == TW_NO_KERNEL && strcmp(tw_error_text(), expected) == 0, "%s",
                   tw_error_text());
    }
}

/* Sums of bytes are converted on the CPU alone: no row takes them, of a batch either, and the sentence says so. */
static void scaled_bytes(bool cuda)
{
    static const tw_dtype of_c[] = {TW_F32, TW_I8, TW_U8};
    device_facts device = sm_90;
    char reason[160], wrong[320] = "";
    int asked = 0;
    if (!cuda)
        device = (device_facts){.engine = "opencl",
                                .threads = 1,
                                .most_threads = 256,
                                .local_bytes = 65536,
                                .addresses = true,
                                .largest_bytes = 1 << 30,
                                .sm = 90};
    if (!tap_case("no row of %s scales sums of bytes", device.engine)) return;
    for (int i = 0; wrong[0] == '\0' && i < 2 * 3; i++) {
        plan out;
        tw_problem p = tw_problem_make(i % 2 ? TW_U8 : TW_I8, TW_N, TW_T, 64, 64, 64);
        p.place_a = p.place_b = p.place_c = TW_DEVICE, p.dtype_c = of_c[i / 2];
        p.align_a = p.align_b = p.align_c = 256;
        const tw_batch batch = tw_batch_make(&p, 100);
        const char *says = dtype_find(p.dtype_c)->lab.name;
        char expected[80];
        snprintf(expected, sizeof expected, "it gives C in i32, the problem wants %s", says);
        for (int r = 0; wrong[0] == '\0' && r < kernel_count(); r++) {
            const kernel_row *row = kernel_at(r);
            if (row->lab.dtype != p.dtype || strcmp(row->lab.engine, device.engine) != 0) continue;
            asked++;
            if (kernel_fits(row, &p, &device, 0, reason, sizeof reason) || strcmp(reason, expected) != 0)
                snprintf(wrong, sizeof wrong, "%s: '%s'", row->lab.name, reason);
        }
        for (int one = 0; wrong[0] == '\0' && one < 2; one++)
            if ((one ? plan_find(&p, &device, NULL, &out) : plan_find_batch(&p, &batch, &device, &out)) !=
                    TW_NO_KERNEL ||
                strstr(tw_error_text(), expected) == NULL)
                snprintf(wrong, sizeof wrong, "%s: '%s'", one ? "a product" : "a batch", tw_error_text());
    }
    tap_result(wrong[0] == '\0' && asked > 20, "%s, of %d", wrong, asked);
}

/* What an item of a batch may have that gemm_batched_wgmma_sm90 does not take. */
typedef enum oddity { NO_ODDITY, BY_ADDRESS, FAR_APART, NARROW_C, EDGE_WITHIN_16, BEFORE_SM_90, AFTER_SM_90 } oddity;

/* Items at strides that lie along k are its own from two tiles of 32 on; all others are gemm_batched_kmajor_sm80's. */
static void along_case(tw_dtype dtype, tw_dtype dtype_c, tw_op op_a, tw_op op_b, int64_t edge, oddity odd,
                       const char *expected)
{
    static const char *const names[] = {"",           ", by address", ", far apart", ", C aligned to 8",
                                        ", n 2 more", ", on sm_80",   ", on sm_100"};
    plan out = {0};
    if (!tap_case("batch of %s, C in %s, %c%c %d%s: %s", dtype_find(dtype)->lab.name, dtype_find(dtype_c)->lab.name,
                  "nt"[op_a], "nt"[op_b], (int)edge, names[odd], expected))
        return;
    device_facts device = sm_90;
    tw_problem p = tw_problem_make(dtype, op_a, op_b, edge, edge, edge);
    if (odd == EDGE_WITHIN_16) p.n += 2, p.ldc = edge + 16;
    p.dtype_c = dtype_c, p.align_a = p.align_b = 256, p.align_c = odd == NARROW_C ? 8 : 256;
    p.place_a = p.place_b = p.place_c = TW_DEVICE;
    tw_batch batch = tw_batch_make(&p, 1000);
    batch.pointers = odd == BY_ADDRESS;
    if (odd == FAR_APART) batch.stride_b = (int64_t)1 << 38;
    if (odd == BEFORE_SM_90) device.sm = 89, device.tensor_maps = false;
    if (odd == AFTER_SM_90) device.sm = 100;
    const bool planned = plan_find_batch(&p, &batch, &device, &out) == TW_OK;
    tap_result(planned && out.gpu.one_launch && out.workspace_bytes == 0 && strcmp(out.row->lab.rung, expected) == 0,
               "%s", planned ? out.row->lab.name : tw_error_text());
}

static void along_cases(void)
{
    static const struct {
        tw_dtype dtype, c;
    } types[] = {{TW_I8, TW_I32},   {TW_U8, TW_I32},   {TW_TF32, TW_F32},
                 {TW_E4M3, TW_F32}, {TW_E4M3, TW_F16}, {TW_E5M2, TW_BF16}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        const tw_dtype type = types[i].dtype, c = types[i].c;
        along_case(type, c, TW_N, TW_T, 128, NO_ODDITY,
                   type == TW_TF32 ? "gemm_batched_wgmma_sm90_128x128" : "gemm_batched_wgmma_sm90_64x64");
        along_case(type, c, TW_N, TW_T, 192, NO_ODDITY, "gemm_batched_wgmma_sm90_64x64");
        along_case(type, c, TW_N, TW_T, 64, NO_ODDITY, "gemm_batched_wgmma_sm90_64x64");
        along_case(type, c, TW_N, TW_T, 32, NO_ODDITY, "gemm_batched_kmajor_sm80_32x32");
        for (int odd = BY_ADDRESS; odd <= AFTER_SM_90; odd++)
            along_case(type, c, TW_N, TW_T, 64, (oddity)odd, "gemm_batched_kmajor_sm80_64x64");
        along_case(type, c, TW_N, TW_N, 64, NO_ODDITY, "gemm_batched_kmajor_sm80_64x64");
        along_case(type, c, TW_T, TW_T, 64, NO_ODDITY, "gemm_batched_kmajor_sm80_64x64");
        along_case(type, c, TW_T, TW_N, 64, NO_ODDITY, "gemm_batched_kmajor_sm80_64x64");
    }
}

/* Blocks are whole tiles and cover C; no compute unit is without one while there are tiles for it. */
static void panels_blocks_case(void)
{
    const tw_lab_choice choice = {.kernel = "opencl_f32_gemm_panels_8x48"};
    device_facts device = {
        .engine = "opencl", .threads = 1, .vector_bytes = 64, .most_threads = 1, .largest_bytes = 1 << 30};
    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, 1, 1, 600);
    plan out = {0};
    if (!tap_case("blocks of panels")) return;
    p.dtype_c = TW_F32, p.align_a = p.align_b = p.align_c = 256;
    bool passed = true;
    for (device.multiprocessors = 1; passed && device.multiprocessors < 100; device.multiprocessors += 7)
        for (p.m = 1; passed && p.m < 3000; p.m += p.m / 3 + 1)
            for (p.n = 1; passed && p.n < 3000; p.n += p.n / 3 + 1) {
                passed = plan_find(&p, &device, &choice, &out) == TW_OK;
                const int64_t bm = out.gpu.block_m, bn = out.gpu.block_n,
                              blocks = ceil_div(p.m, bm) * ceil_div(p.n, bn),
                              tiles = ceil_div(p.m, 8) * ceil_div(p.n, 48), most = (p.m * p.n * 600) >> 23,
                              units = most < device.multiprocessors ? most : device.multiprocessors;
                passed = passed && bm > 0 && bm % 8 == 0 && bn > 0 && bn % 48 == 0 &&
                         out.gpu.grid_x <= (units > 0 ? units : 1) && out.gpu.grid_x <= blocks &&
                         (blocks >= units || 2 * blocks >= tiles) &&
                         (int64_t)out.workspace_bytes == 4 * (64 + out.gpu.grid_x * ((bm + bn) * 512 + bm * bn));
            }
    tap_result(passed, "%dx%d on %d: %dx%d", (int)p.m, (int)p.n, device.multiprocessors, (int)out.gpu.block_m,
               (int)out.gpu.block_n);
}

/* A workspace is one buffer: with many compute units it stays within the device's largest. */
static void largest_buffer_case(void)
{
    enum { C_BYTES = 4096 * 4096 * 4 };
    const tw_lab_choice choice = {.kernel = "opencl_f32_gemm_panels_8x48"};
    device_facts device = {.engine = "opencl",
                           .threads = 1,
                           .multiprocessors = 128,
                           .vector_bytes = 64,
                           .most_threads = 1,
                           .largest_bytes = 1LL << 40};
    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, 4096, 4096, 1000);
    plan at_will = {0}, out = {0};
    if (!tap_case("the workspace of panels is within the largest buffer")) return;
    p.dtype_c = TW_F32, p.align_a = p.align_b = p.align_c = 256;
    bool planned = plan_find(&p, &device, &choice, &at_will) == TW_OK;
    device.largest_bytes = C_BYTES;
    planned = planned && plan_find(&p, &device, &choice, &out) == TW_OK;
    tap_result(planned && at_will.workspace_bytes > C_BYTES && out.workspace_bytes <= C_BYTES,
               "%zu bytes, then %zu of %d, %s", at_will.workspace_bytes, out.workspace_bytes, (int)C_BYTES,
               tw_error_text());
}

static void triangle(const char *engine, tw_dtype dtype, uint32_t flags)
{
    static const _Alignas(256) float x[64 * 64] = {0};
    device_facts device = sm_90;
    tw_problem p, made = tw_problem_make(dtype, TW_N, TW_N, 64, 64, 64);
    plan out;
    if (!tap_case("no triangle of C on %s, dtype %d, flags %u", engine, (int)dtype, flags)) return;
    device.engine = engine, made.flags = flags;
    tap_result(problem_load(&made, x, x, x, &p) == TW_OK && plan_find(&p, &device, NULL, &out) == TW_NO_KERNEL &&
                   strstr(tw_error_text(), "it computes all of C, the problem wants a triangle") != NULL,
               "%s", tw_error_text());
}

int main(int argc, char **argv)
{
    tap_start(argc, argv);
    options_cases();
    tile_cases();
    span_cases();
    deep_cases();
    place_cases();
    panels_row_case(64, false, "opencl_f64_gemm_panels_8x24");
    panels_row_case(32, false, "opencl_f64_gemm_panels_6x8");
    panels_row_case(16, false, "opencl_f64_gemm_panels_6x8");
    panels_row_case(64, true, "opencl_f64_gemm_simt_128x64");
    panels_row_case(0, false, "opencl_f64_gemm_simt_128x64");
    opencl_case(90, 3000, 3000, 3000, "sgemm_cpasync_sm80_128x128");
    opencl_case(75, 3000, 3000, 3000, "sgemm_simt_128x128");
    opencl_case(90, 64, 64, 65536, "gemm_slicedk_simt_32x32");
    opencl_case(90, 1000, 1000, 1000, "gemm_slicedk_simt_64x64");
    opencl_case(90, 256, 256, 256, "gemm_slicedk_simt_32x16");
    opencl_case(0, 3000, 3000, 3000, "gemm_simt_128x64");
    opencl_case(90, 512, 512, 512, "gemm_slicedk_simt_32x32");
    opencl_case(80, 4096, 16, 4096, "gemm_slicedk_simt_");
    opencl_case(0, 512, 512, 512, "gemm_simt_");
    one_launch_cases();
    refused_types();
    scaled_bytes(false), scaled_bytes(true);
    along_cases();
    items_case(true, true, 32, 32, 1000, true);
    items_case(true, true, 64, 65536, 4, false);
    items_case(true, true, 64, 65536, 1000, true);
    items_case(true, true, 512, 512, 1, false);
    items_case(false, true, 32, 32, 1000, true);
    items_case(false, false, 32, 32, 1000, false);
    panels_blocks_case();
    largest_buffer_case();
    for (uint32_t flags = TW_LOWER; flags <= TW_UPPER; flags++) {
        triangle("opencl", TW_F32, flags);
        triangle("cuda", TW_F32, flags);
        triangle("cuda", TW_F16, flags);
    }
    return tap_finish();
}
