/* raster.cuh - rasterisation: the order of tiles that keeps the L2 warm, as in r11: down GROUP_M rows of tiles before
 * the next column. For kernels by TMA. sgemm_simt and sgemm_cpasync_sm80 have it in their own text,
 * for which the compiler's best code was chosen. */

/* Where tile number `tile` of tiles_m x tiles_n begins. After BM, BN and GROUP_M. */
static __device__ __forceinline__ void raster(int tile, int tiles_m, int tiles_n, int *i0, int *j0)
{
    int group = tile / (GROUP_M * tiles_n), rows = min(GROUP_M, tiles_m - group * GROUP_M),
        in_group = tile % (GROUP_M * tiles_n);
    *i0 = (group * GROUP_M + in_group % rows) * BM, *j0 = in_group / rows * BN;
}
