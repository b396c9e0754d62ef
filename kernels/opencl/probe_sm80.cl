/* probe_sm80.cl - do the instructions of sm80.clh do what its kernels expect? One warp multiplies 16 x 16 of A by 16 x
 * 16 of B, both of bf16, and hands the words of A on. src/engines/opencl/ptx.c knows what is to come out. */
#include "rung.clh"
#define TYPE_A bf16
#define TYPE_B bf16
#define TYPE_C f32
#include "types.clh"
#include "sm80.clh"

enum { LANES = 32, WORDS = 128 }; /* of a matrix: 16 rows of 32 bytes */

/* in: A, then B; made: C, then A. The last row of B is asked for as if it were not there. */
__kernel __attribute__((reqd_work_group_size(LANES, 1, 1))) void probe_sm80(__global const uint *in,
                                                                            __global float *made)
{
    __local __attribute__((aligned(128))) uint tile[3][WORDS];
    SM80_LOCAL(LANES)
    const int lane = get_local_id(0), row = lane % 16, half_row = lane / 16;
    uint a[4], b[4];
    number sum[2][4] = {{0}};
    for (int i = 0; i < 4; i++) tile[1][lane * 4 + i] = ~0u;
    barrier(CLK_LOCAL_MEM_FENCE);
    copy_16(&tile[0][lane * 4], in + lane * 4, 16);
    copy_16(&tile[1][lane * 4], in + WORDS + lane * 4, lane < 30 ? 16 : 0);
    for (int i = 0; i < 4; i++) copy_4(&tile[2][i * LANES + lane], in + i * LANES + lane, 4);
    copies_commit();
    COPIES_WAIT(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    MATRIX_LOAD(a, tile, &tile[0][row * 8 + half_row * 4], false);
    MATRIX_LOAD(b, tile, &tile[1][row * 8 + half_row * 4], true);
    for (int j = 0; j < 2; j++) {
        WARP_MULTIPLY(sum[j], a, &b[2 * j]);
        for (int e = 0; e < 4; e++) made[(lane / 4 + e / 2 * 8) * 16 + j * 8 + lane % 4 * 2 + e % 2] = sum[j][e];
    }
    for (int i = 0; i < 4; i++) made[256 + i * LANES + lane] = as_float(tile[2][i * LANES + lane]);
}
