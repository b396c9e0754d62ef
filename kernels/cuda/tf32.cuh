/* tf32.cuh - an f32 rounded to tf32 as the tensor memory accelerator rounds it: to nearest even. A NaN keeps a
 * bit that the matrix unit sees. */

static __device__ __forceinline__ unsigned tf32_of(unsigned bits)
{
    bool finite = (bits & 0x7f800000) != 0x7f800000, nan = !finite && (bits & 0x7fffff) != 0;
    return finite ? (bits + 0xfff + (bits >> 13 & 1)) & ~0x1fffu : nan ? bits | 0x400000 : bits;
}
