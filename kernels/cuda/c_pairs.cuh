/* c_pairs.cuh - two neighbours of C at a time, as the sums of the matrix units lie in a lane, of any type of C. After
 * rung.cuh, from sm_80 on. WIDE = 1 promises c aligned to 16 bytes and rows of C a multiple of 16 bytes apart. */
#ifndef WIDE
#define WIDE 1
#endif
#include "c_types.cuh"

#if !C_HALF
struct __align__(8) two { number x, y; };
#endif

/* Both rounded, x in the low half. */
static __device__ __forceinline__ unsigned pair_of(float x, float y)
{
    unsigned pair;
    asm("cvt.rn." MATRIX_TYPE "x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(y), "f"(x));
    return pair;
}

/* c[0], c[1] <- alpha * (x, y) + beta * c, of which `count` lie in C. */
static __device__ __forceinline__ void put(element_c *c, int count, number alpha, number x, number y, number beta)
{
#if C_HALF
    unsigned old = 0;
    float new_x = 0, new_y = 0;
    if (beta != 0) {
        if (WIDE && count >= 2)
            old = *(const unsigned *)c;
        else
            old = (count > 0 ? c[0] : 0) | (unsigned)(count > 1 ? c[1] : 0) << 16;
        new_x = float_of((unsigned short)old), new_y = float_of((unsigned short)(old >> 16));
    }
    blend(&new_x, alpha, x, beta);
    blend(&new_y, alpha, y, beta);
    old = pair_of(new_x, new_y);
    if (WIDE && count >= 2)
        *(unsigned *)c = old;
    else {
        if (count > 0) c[0] = (unsigned short)old;
        if (count > 1) c[1] = (unsigned short)(old >> 16);
    }
#else
    if (WIDE && count >= 2) {
        struct two both = {0, 0};
        if (beta != 0) both = *(const struct two *)c;
        blend(&both.x, alpha, x, beta);
        blend(&both.y, alpha, y, beta);
        *(struct two *)c = both;
        return;
    }
    if (count > 0) blend(&c[0], alpha, x, beta);
    if (count > 1) blend(&c[1], alpha, y, beta);
#endif
}
