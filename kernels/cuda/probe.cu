/* probe.cu - the ceilings of a device, measured: multiply-adds in registers, bytes read from memory (or the L2, where
 * they fit), words read from shared memory. Nothing here multiplies matrices. */
enum { THREADS = 256, CHAINS = 16, PATTERN_WORDS = 1024 + 32 };

/* Independent chains x <- x * f + e near 1: `rounds` times CHAINS multiply-adds per thread. */
extern "C" __global__ void __launch_bounds__(THREADS) probe_fma(float *sink, int rounds, float factor, float addend)
{
    float chain[CHAINS];
#pragma unroll
    for (int i = 0; i < CHAINS; i++) chain[i] = 1 + i / 64.0f;
#pragma unroll 8
    for (int r = 0; r < rounds; r++)
#pragma unroll
        for (int i = 0; i < CHAINS; i++) chain[i] = fmaf(chain[i], factor, addend);
    float sum = 0;
#pragma unroll
    for (int i = 0; i < CHAINS; i++) sum += chain[i];
    if (sum == 12345.0f) sink[0] = sum; /* never, but the compiler cannot know */
}

/* Every thread of the grid reads 16 bytes at a time, neighbours side by side; `count` vectors, `rounds` times. */
extern "C" __global__ void __launch_bounds__(THREADS)
    probe_read(float *sink, int rounds, const float4 *data, long count)
{
    float sum = 0;
    long step = (long)gridDim.x * THREADS;
    for (int r = 0; r < rounds; r++)
#pragma unroll 8
        for (long i = (long)blockIdx.x * THREADS + threadIdx.x; i < count; i += step) {
            float4 x;
            asm volatile("ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];"
                         : "=f"(x.x), "=f"(x.y), "=f"(x.z), "=f"(x.w)
                         : "l"(data + i));
            sum += x.x + x.y + x.z + x.w;
        }
    if (sum == 12345.0f) sink[0] = sum;
}

/* Words read from shared memory in a pattern: `rounds` times 8 per thread. Lane l reads word l * step % wrap + shift,
 * and then the words 32, 64 ... further on, which lie in the same banks. */
extern "C" __global__ void __launch_bounds__(THREADS)
    probe_pattern(float *sink, int rounds, int step, int wrap, int shift)
{
    __shared__ float tile[PATTERN_WORDS + 8 * 32];
    for (int i = threadIdx.x; i < PATTERN_WORDS + 8 * 32; i += THREADS) tile[i] = 0;
    __syncthreads();
    const volatile float *mine = tile + threadIdx.x % 32 * step % wrap + shift;
    float sum = 0;
    for (int r = 0; r < rounds; r++)
#pragma unroll
        for (int i = 0; i < 8; i++) sum += mine[i * 32];
    if (sum == 12345.0f) sink[0] = sum;
}

/* 16-byte reads from shared memory without conflicts: `rounds` times 8 of them per thread; volatile, or they leave the
 * loop. */
extern "C" __global__ void __launch_bounds__(THREADS) probe_shared(float *sink, int rounds)
{
    __shared__ __align__(16) float tile[8 * THREADS * 4];
    for (int i = threadIdx.x; i < 8 * THREADS * 4; i += THREADS) tile[i] = 0;
    __syncthreads();
    float sum = 0;
    for (int r = 0; r < rounds; r++)
#pragma unroll
        for (int i = 0; i < 8; i++) {
            float4 x;
            unsigned at = (unsigned)__cvta_generic_to_shared(&tile[(i * THREADS + threadIdx.x) * 4]);
            asm volatile("ld.volatile.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                         : "=f"(x.x), "=f"(x.y), "=f"(x.z), "=f"(x.w)
                         : "r"(at));
            sum += (x.x + x.y) + (x.z + x.w);
        }
    if (sum == 12345.0f) sink[0] = sum;
}
