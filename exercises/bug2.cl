/* bug2.cl - a kernel with a mistake. Right for 256 x 256 x 256, wrong for most shapes.
 *
 *     tilewright ladder --rung exercises/bug2.cl --size 256
 *
 * Which work-items compute what nobody asked for? At which shapes is nobody there to do so?
 *
 * docs/COURSE.md, "Break it", leads through it; the solution is in exercises/SOLUTIONS.md.
 * Made by ./dev docs from exercises/gaps.def and kernels/opencl/ladder/r01_naive.cl: edit those. */
#include "rung.clh"

__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1))) void r01_naive(PARAMETERS)
{
    int i = get_group_id(1) * TILE + get_local_id(1), j = get_group_id(0) * TILE + get_local_id(0);
    if (i > m || j > n) return;
    float sum = 0;
    ROLLED
    for (int p = 0; p < k; p++) sum = fma(A(i, p), B(p, j), sum);
    blend(&C(i, j), alpha, sum, beta);
}
