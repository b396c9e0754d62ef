#ifndef IN_F16
#define IN_F16 0
#endif
#if IN_F16
#define MATRIX_TYPE "f16"
#endif
#include "rung.cuh"
#include "wide.cuh"
#include "hopper.cuh"
#ifndef STAGES_
#define STAGES_ 4
#endif
#ifndef GROUP_
#define GROUP_ 16
#endif
enum { BM = 128, BN = 256, BK = 64, STAGES = STAGES_, CONSUMERS = 256, THREADS = CONSUMERS + 128, GROUP = GROUP_ };

struct stage {
    unsigned short a[BM][BK], b[BN / 64][BK][64];
};

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    r13_matrix(const __grid_constant__ tensor_map a_map, const __grid_constant__ tensor_map b_map, int m, int n, int k, float alpha, float beta,
               float *__restrict__ c, long ldc)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    struct stage *ring = (struct stage *)memory;
    unsigned full = shared_address(ring + STAGES), empty = full + 8 * STAGES;
    int tid = threadIdx.x, lane = tid % 32, warp = tid / 32, blocks = ceil_div(k, BK), s = 0, phase = 0;
    int tiles_m = ceil_div(m, BM), tiles_n = ceil_div(n, BN);
    if (tid == 0) {
        for (int at = 0; at < STAGES; at++) barrier_init(full + 8 * at, 1), barrier_init(empty + 8 * at, CONSUMERS / 32);
        barrier_init_done();
    }
    __syncthreads();
    if (warp >= CONSUMERS / 32) {
        REGISTERS_KEEP(24);
        if (tid != CONSUMERS) return;
        for (int tile = blockIdx.x; tile < tiles_m * tiles_n; tile += gridDim.x) {
            int group = tile / (GROUP * tiles_n), rows = min(GROUP, tiles_m - group * GROUP), in_group = tile % (GROUP * tiles_n);
            int i0 = (group * GROUP + in_group % rows) * BM, j0 = in_group / rows * BN;
            for (int p = 0; p < blocks * BK; p += BK) {
                barrier_wait(empty + 8 * s, phase ^ 1);
                barrier_expect(full + 8 * s, sizeof(struct stage));
                copy_box(shared_address(ring[s].a), &a_map, p, i0, full + 8 * s);
                for (int j = 0; j < BN / 64; j++) copy_box(shared_address(ring[s].b[j]), &b_map, j0 + 64 * j, p, full + 8 * s);
                if (++s == STAGES) s = 0, phase ^= 1;
            }
        }
    } else {
        REGISTERS_TAKE(240);
        float sum[128];
        int row_at = warp * 16 + lane / 4 + lane % 2 * 8, col_at = lane / 2 % 2 * 4;
        for (int tile = blockIdx.x; tile < tiles_m * tiles_n; tile += gridDim.x) {
            int group = tile / (GROUP * tiles_n), rows = min(GROUP, tiles_m - group * GROUP), in_group = tile % (GROUP * tiles_n);
            int i0 = (group * GROUP + in_group % rows) * BM, j0 = in_group / rows * BN;
            int before = 0;
            for (int block = 0; block < blocks; block++) {
                barrier_wait(full + 8 * s, phase);
                unsigned long long a = matrix_descriptor(shared_address(ring[s].a[warp / 4 * 64]), 1024, 0);
                unsigned long long b = matrix_descriptor(shared_address(ring[s].b), 1024, sizeof ring[s].b[0]);
                matrix_begin();
                UNROLLED
                for (int p = 0; p < BK; p += 16) matrix_multiply(sum, a + p * 2 / 16, b + p * 128 / 16, block | p);
                matrix_commit();
                MATRIX_WAIT(1);
                if (block > 0 && lane == 0) barrier_arrive(empty + 8 * before);
                before = s;
                if (++s == STAGES) s = 0, phase ^= 1;
            }
            MATRIX_WAIT(0);
            if (lane == 0) barrier_arrive(empty + 8 * before);
            UNROLLED
            for (int i = 0; i < 128; i++) asm volatile("" : "+f"(sum[i])::"memory");
            int row = i0 + row_at, odd = lane % 2;
            UNROLLED
            for (int j = 0; j < 32; j++) {
                float *d = &sum[4 * j], x[4];
                float g0 = __shfl_xor_sync(~0u, odd ? d[0] : d[2], 1), g1 = __shfl_xor_sync(~0u, odd ? d[1] : d[3], 1);
                x[0] = odd ? g0 : d[0], x[1] = odd ? g1 : d[1], x[2] = odd ? d[2] : g0, x[3] = odd ? d[3] : g1;
                int col = j0 + 8 * j + col_at;
                if (row < m) store4(&C(row, col), n - col, alpha, x, beta);
            }
        }
    }
}
