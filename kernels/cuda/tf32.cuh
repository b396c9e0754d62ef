/* tf32.cuh - an f32 rounded to tf32 as the tensor memory accelerator rounds it: to nearest even. Of a NaN the matrix
 * unit sees a NaN. sm_90 has an instruction for it. */

/* The lower 13 bits are left as they come: the matrix unit does not see them. */
static __device__ __forceinline__ unsigned tf32_by_integers(unsigned bits)
{
    float x = __uint_as_float(bits);
    return x == x ? bits + 0xfff + (bits >> 13 & 1) : 0x7fffffff; /* of an infinity no bit that counts changes */
}

static __device__ __forceinline__ unsigned tf32_seen(unsigned bits)
{
#if __CUDA_ARCH__ >= 900
    unsigned rounded;
    asm("cvt.rn.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(__uint_as_float(bits)));
    return rounded;
#else
    return tf32_by_integers(bits);
#endif
}

/* For plain multiply-adds. With the instruction of sm_90 a thread of gemm_simt needs 58 registers, and NVRTC 13.5
 * spills; without it 40, as before sm_90. */
static __device__ __forceinline__ unsigned tf32_of(unsigned bits) { return tf32_by_integers(bits) & ~0x1fffu; }
