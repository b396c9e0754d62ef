/* batch.cuh - what the kernels of whole batches share: the address of an item, and copies to shared memory that overlap
 * with the FMAs. A tile of an operand lies there as it is stored: K-major (A as stored, B transposed) or MN-major. */
#include "ampere.cuh"
#include "pdl.cuh"
#ifndef WIDE
#define WIDE 1
#endif

/* Item number `item`: the address in an array of them, or so many strides from the first. */
template <typename T>
static __device__ __forceinline__ T *item_of(const void *items, int pointers, long stride, int item)
{
    return pointers ? ((T *const *)items)[item] : (T *)items + stride * item;
}

/* Bring a tile of EDGE rows or columns of C and DEPTH of k from `from`, as stored: lines of k (ALONG) or of the edge,
 * ld apart, into lines of LD; `edges` and `steps` are there, the others 0. All THREADS take part. WIDE = 1 promises
 * addresses and ld in multiples of 16 bytes. */
template <bool ALONG, int EDGE, int DEPTH, int LD, int THREADS, typename T>
static __device__ __forceinline__ void fetch(T *tile, const T *from, long ld, int edges, int steps)
{
    const int rows = ALONG ? edges : steps, cols = ALONG ? steps : edges;
    constexpr int HEIGHT = ALONG ? EDGE : DEPTH, WIDTH = ALONG ? DEPTH : EDGE, EACH = 16 / sizeof(T),
                  PER_ROW = WIDTH / EACH, STEP = THREADS / PER_ROW;
    static_assert(THREADS % PER_ROW == 0 && HEIGHT % STEP == 0, "every thread copies as much");
    if (WIDE) {
        int i = threadIdx.x / PER_ROW, j = threadIdx.x % PER_ROW * EACH,
            bytes = min(max(cols - j, 0), EACH) * (int)sizeof(T);
        const T *x = from + i * ld + j;
        if (bytes % 16 == 0) {
            UNROLLED
            for (int e = 0; e < HEIGHT / STEP; e++, x += STEP * ld)
                copy_16(&tile[(i + e * STEP) * LD + j], x, i + e * STEP < rows ? bytes : 0);
        } else {
            ROLLED
            for (int e = 0; e < HEIGHT / STEP * EACH; e++) {
                int line = i + e / EACH * STEP, q = e % EACH;
                tile[line * LD + j + q] = line < rows && j + q < cols ? from[line * ld + j + q] : T(0);
            }
        }
    } else if (sizeof(T) == 4) {
        ROLLED
        for (int unit = threadIdx.x; unit < HEIGHT * WIDTH; unit += THREADS) {
            int i = unit / WIDTH, j = unit % WIDTH;
            bool there = i < rows && j < cols;
            copy_4(&tile[i * LD + j], there ? from + i * ld + j : from, there ? 4 : 0);
        }
    } else {
        _Pragma("unroll 4") for (int unit = threadIdx.x; unit < HEIGHT * WIDTH; unit += THREADS)
        {
            int i = unit / WIDTH, j = unit % WIDTH;
            tile[i * LD + j] = i < rows && j < cols ? from[i * ld + j] : T(0);
        }
    }
}
