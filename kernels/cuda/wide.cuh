/* wide.cuh - loads and stores of four neighbours, for r09 and above; production kernels store by epilogue.cuh. WIDE = 1
 * promises that a, b and c are aligned to 16 bytes and that lda, ldb and ldc are multiples of 4; otherwise, and where
 * fewer than four are there, they are taken one by one. */
#ifndef WIDE
#define WIDE 1
#endif

/* Four neighbours from `from`, of which `count` are there; the others are 0. */
static __device__ __forceinline__ float4 load4(const float *from, int count)
{
    float4 x = {0, 0, 0, 0};
    if (WIDE && count >= 4) return *(const float4 *)from;
    if (count > 0) x.x = from[0];
    if (count > 1) x.y = from[1];
    if (count > 2) x.z = from[2];
    if (count > 3) x.w = from[3];
    return x;
}

/* c[0..3] <- alpha * x + beta * c, of which `count` are there. */
static __device__ __forceinline__ void store4(float *c, int count, float alpha, const float *x, float beta)
{
    if (WIDE && count >= 4) {
        float4 y = {0, 0, 0, 0};
        if (beta != 0) y = *(const float4 *)c;
        blend(&y.x, alpha, x[0], beta);
        blend(&y.y, alpha, x[1], beta);
        blend(&y.z, alpha, x[2], beta);
        blend(&y.w, alpha, x[3], beta);
        *(float4 *)c = y;
        return;
    }
    UNROLLED
    for (int q = 0; q < 4; q++)
        if (q < count) blend(&c[q], alpha, x[q], beta);
}
