/* split - an f32 operand as two numbers of f16 for each float, for sgemm_emulated_sm90: scan finds the power of two
 * that scales each line, and counts what emulated.cuh wants; split scales and writes the numbers.
 *
 * For a scaled element x, high is x rounded to f16, and low is 2^11 (x - high) rounded to f16; the difference is exact.
 * A line of the result has steps of 32 of k: 32 high numbers, then their 32 low ones, 128 bytes in all. Beyond k, up to
 * a multiple of 32, both are 0.
 *
 * NUMBERS   scan reads 4 bytes for each element, split reads 4 and writes 4.
 * LIMITS    sm_90 and above. lines >= 1, 1 <= k < 2^30, any ld; to aligned to 128 bytes.
 * HOST      scan: grid ceil(lines / 128) * 4 of both, block 1024. split: grid ceil(lines / 64) * ceil(k / 64) of both,
 *           block 256. exponents has ceil(lines / 128) * 128, lines_counts ceil(lines / 128) * 4. *left is set to 0; a
 *           kernel that leaves a tile sets it to 1. Both may be launched with PDL. */
#include "rung.cuh"
#include "arguments.h"
#include "pdl.cuh"
#include "emulated.cuh"

enum {
    SCANNERS = SCAN_THREADS,
    THREADS = HALVES_THREADS,
    STEP = HALVES_STEP,
    EDGE = HALVES_TILE,
    INFINITE = 0x7f800000
};

/* A line's elements are `along` apart, lines `across`: one of them is 1. */
struct operand {
    const float *from;
    long along, across;
    unsigned short *to;
    int *exponents;
    struct line_counts *lines_counts;
    int lines, k;
};

/* log2 of a finite size above 0 that has these bits, rounded down. */
static __device__ __forceinline__ int log2_of(unsigned bits)
{
    return bits >> 23 ? (int)(bits >> 23) - 127 : -118 - __clz(bits);
}

/* x 2^e; exact where the result is normal. */
static __device__ __forceinline__ float scaled_by(float x, int e)
{
    const int half = e / 2;
    return x * __int_as_float((half + 127) << 23) * __int_as_float((e - half + 127) << 23);
}

/* Sizes of a line, as bits: the largest, and the least but 0, and whether there is a 0. */
struct sizes {
    unsigned largest, least;
    int zero;
};

#define NO_SIZES                                                                                                       \
    {                                                                                                                  \
        0, ~0u, 0                                                                                                      \
    }
#define NO_LINE                                                                                                        \
    {                                                                                                                  \
        ALWAYS, 0                                                                                                      \
    }

static __device__ __forceinline__ void add_size(struct sizes *s, float x)
{
    const unsigned bits = __float_as_uint(x) & 0x7fffffff;
    s->largest = max(s->largest, bits);
    s->least = min(s->least, bits - 1); /* 0 becomes the largest */
    s->zero |= bits == 0;
}

static __device__ __forceinline__ struct sizes merged(struct sizes x, struct sizes y)
{
    return {max(x.largest, y.largest), min(x.least, y.least), x.zero | y.zero};
}

/* Of the lane whose number differs in this bit. */
static __device__ __forceinline__ struct sizes from_lane(struct sizes x, int bit)
{
    return {__shfl_xor_sync(~0u, x.largest, bit), __shfl_xor_sync(~0u, x.least, bit),
            __shfl_xor_sync(~0u, x.zero, bit)};
}

static __device__ __forceinline__ bool is_finite(const struct sizes *s) { return s->largest < INFINITE; }

/* The power of two by which a line is scaled; of zeros alone, and of what no half can hold, 0. */
static __device__ __forceinline__ int scale_of(const struct sizes *s)
{
    return s->largest == 0 || !is_finite(s) ? 0 : LARGEST - log2_of(s->largest);
}

/* Elements of a line that are tiny, big and small (emulated.cuh). */
struct counts {
    int tiny, big, small;
};

static __device__ __forceinline__ void count(struct counts *c, float x, int scale)
{
    const unsigned bits = __float_as_uint(x) & 0x7fffffff;
    const int size = bits == 0 ? 2 * TINY : log2_of(bits) + scale;
    c->tiny += bits != 0 && size < TINY, c->big += size >= BIG, c->small += size < SMALL;
}

static __device__ __forceinline__ struct counts merged(struct counts x, struct counts y)
{
    return {x.tiny + y.tiny, x.big + y.big, x.small + y.small};
}

static __device__ __forceinline__ struct counts from_lane(struct counts x, int bit)
{
    return {__shfl_xor_sync(~0u, x.tiny, bit), __shfl_xor_sync(~0u, x.big, bit), __shfl_xor_sync(~0u, x.small, bit)};
}

/* Has the line small elements, or zeros, which are, too? Else it is not read again. */
static __device__ __forceinline__ bool has_small(const struct sizes *s)
{
    return is_finite(s) && s->largest > 0 && (s->zero || log2_of(s->least + 1) + scale_of(s) < SMALL);
}

static __device__ __forceinline__ struct line_counts counts_of(const struct sizes *s, struct counts c, int k)
{
    const int most = min(k, 2 * ENOUGH), needs = (int)(((long)c.tiny * ENOUGH + most - 1) / most);
    return {!is_finite(s) ? NEVER : c.tiny == 0 ? ALWAYS : max(c.big - needs, NEVER), c.small};
}

/* A lane's share of a line along memory. */
template <typename F> static __device__ __forceinline__ void each_along(const float *from, int k, F use)
{
    const int lane = threadIdx.x % 32;
    if (((unsigned long long)from | k * sizeof(float)) % 16 == 0) {
#pragma unroll 4
        for (int p = lane * 4; p < k; p += 128) {
            const float4 x = *(const float4 *)&from[p];
            use(x.x), use(x.y), use(x.z), use(x.w);
        }
        return;
    }
#pragma unroll 8
    for (int p = lane; p < k; p += 32) use(from[p]);
}

/* Lines along memory: each warp has one. */
static __device__ __forceinline__ struct line_counts scan_along(const struct operand *o, int line)
{
    const float *from = o->from + line * o->across;
    struct sizes s = NO_SIZES;
    struct counts c = {0, 0, 0};
    if (line >= o->lines) {
        if (threadIdx.x % 32 == 0) o->exponents[line] = 0;
        return NO_LINE;
    }
    each_along(from, o->k, [&](float x) { add_size(&s, x); });
    s = {__reduce_max_sync(~0u, s.largest), __reduce_min_sync(~0u, s.least), __any_sync(~0u, s.zero)};
    const int scale = scale_of(&s);
    if (has_small(&s)) each_along(from, o->k, [&](float x) { count(&c, x, scale); });
    if (threadIdx.x % 32 == 0) o->exponents[line] = scale;
    c = {__reduce_add_sync(~0u, c.tiny), __reduce_add_sync(~0u, c.big), __reduce_add_sync(~0u, c.small)};
    return counts_of(&s, c, o->k);
}

/* A thread's share of COUNTED_LINES lines across memory: WIDTH lines side by side, every so many steps of k. */
template <int WIDTH, typename F>
static __device__ __forceinline__ void each_across(const struct operand *o, int line, F use)
{
    enum { LANES = COUNTED_LINES / WIDTH };
    const int first = line + threadIdx.x % LANES * WIDTH;
#pragma unroll 8
    for (int p = threadIdx.x / LANES; p < o->k; p += SCANNERS / LANES) {
        const float *from = o->from + p * o->along + first;
        float x[WIDTH];
        if (WIDTH == 4 && first + WIDTH <= o->lines) {
            *(float4 *)x = *(const float4 *)from;
        } else {
#pragma unroll
            for (int q = 0; q < WIDTH; q++) x[q] = first + q < o->lines ? from[q] : 0;
        }
#pragma unroll
        for (int q = 0; q < WIDTH; q++) use(q, x[q]);
    }
}

/* What all threads have of a line, whose lines are as each_across() shares them out: that of this thread's lane. */
template <int WIDTH, typename T>
static __device__ __forceinline__ T gathered(T (*all)[COUNTED_LINES], const T *own, T none)
{
    enum { LANES = COUNTED_LINES / WIDTH };
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    __syncthreads(); /* what lay there has been read */
#pragma unroll
    for (int q = 0; q < WIDTH; q++) {
        T x = own[q];
#pragma unroll
        for (int apart = LANES; apart < 32; apart *= 2) x = merged(x, from_lane(x, apart));
        if (lane < LANES) all[warp][lane * WIDTH + q] = x;
    }
    __syncthreads();
    T x = none;
    for (int q = 0; q < SCANNERS / 32; q++) x = merged(x, all[q][lane]);
    return x;
}

/* Lines across memory: those of a warp's lanes. */
template <int WIDTH> static __device__ __forceinline__ struct line_counts scan_across(const struct operand *o, int line)
{
    __shared__ union {
        struct sizes sizes[SCANNERS / 32][COUNTED_LINES];
        struct counts counts[SCANNERS / 32][COUNTED_LINES];
    } all;
    const int lane = threadIdx.x % 32;
    struct sizes own_sizes[WIDTH];
    struct counts own_counts[WIDTH];
#pragma unroll
    for (int q = 0; q < WIDTH; q++) own_sizes[q] = NO_SIZES, own_counts[q] = {0, 0, 0};
    each_across<WIDTH>(o, line, [&](int q, float x) { add_size(&own_sizes[q], x); });
    const struct sizes s = gathered<WIDTH>(all.sizes, own_sizes, {0, ~0u, 0});
    const int scale = scale_of(&s);
    const bool inside = line + lane < o->lines;
    if (__any_sync(~0u, inside && has_small(&s))) { /* the same in all warps */
        int scales[WIDTH];
#pragma unroll
        for (int q = 0; q < WIDTH; q++) scales[q] = __shfl_sync(~0u, scale, lane % (COUNTED_LINES / WIDTH) * WIDTH + q);
        each_across<WIDTH>(o, line, [&](int q, float x) { count(&own_counts[q], x, scales[q]); });
    }
    const struct counts c = gathered<WIDTH>(all.counts, own_counts, {0, 0, 0});
    if (threadIdx.x < 32) o->exponents[line + lane] = inside ? scale : 0;
    if (!inside) return NO_LINE;
    return counts_of(&s, c, o->k);
}

static __device__ __forceinline__ int tiles_along(int edge, int tile) { return edge / tile + (edge % tile != 0); }

extern "C" __global__ void __launch_bounds__(SCANNERS, 1)
    scan(const __grid_constant__ struct operand first, const __grid_constant__ struct operand second, int *left)
{
    __shared__ struct line_counts each[COUNTED_LINES];
    const int before = tiles_along(first.lines, EMULATED_EDGE) * (EMULATED_EDGE / COUNTED_LINES), tid = threadIdx.x,
              lane = tid % 32, warp = tid / 32;
    const struct operand *o = (int)blockIdx.x < before ? &first : &second;
    const int group = (int)blockIdx.x < before ? blockIdx.x : blockIdx.x - before;
    pdl_wait();
    if (blockIdx.x == 0 && tid == 0) *left = 0;
    if (o->along == 1) {
        const struct line_counts x = scan_along(o, group * COUNTED_LINES + warp);
        if (lane == 0) each[warp] = x;
    } else {
        const bool wide = ((unsigned long long)o->from | o->along * sizeof(float)) % 16 == 0;
        const struct line_counts x = wide ? scan_across<4>(o, group * COUNTED_LINES)
                                          : scan_across<1>(o, group * COUNTED_LINES);
        if (warp == 0) each[lane] = x;
    }
    __syncthreads();
    if (warp > 0) return;
    const struct line_counts all = {__reduce_min_sync(~0u, each[lane].margin),
                                    __reduce_max_sync(~0u, each[lane].small)};
    if (lane == 0) o->lines_counts[group] = all;
}

static __device__ __forceinline__ unsigned short half_of(float x)
{
    unsigned short bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
}

static __device__ __forceinline__ float value_of(unsigned short bits)
{
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
    return x;
}

struct __align__(8) four { unsigned short v[4]; };

/* A tile of 64 lines and 64 of k: each thread takes four times four neighbours in memory, and writes four times four
 * neighbours of k. */
extern "C" __global__ void __launch_bounds__(THREADS, 8)
    split(const __grid_constant__ struct operand first, const __grid_constant__ struct operand second)
{
    __shared__ float tile[EDGE][EDGE + 1];
    int block = blockIdx.x;
    const int before = tiles_along(first.lines, EDGE) * tiles_along(first.k, EDGE);
    const struct operand *o = block < before ? &first : &second;
    if (block >= before) block -= before;
    const int steps = tiles_along(o->k, EDGE), i0 = block / steps * EDGE, p0 = block % steps * EDGE,
              x = threadIdx.x % 16 * 4, y = threadIdx.x / 16;
    const bool along = o->along == 1;
    const long ld = along ? o->across : o->along;
    const float *from = o->from + (along ? i0 * ld + p0 : p0 * ld + i0);
    const int rows = along ? o->lines - i0 : o->k - p0, columns = along ? o->k - p0 : o->lines - i0;
    const bool aligned = ((unsigned long long)from | ld * sizeof(float)) % 16 == 0;
    float taken[4][4];
    pdl_wait();
#pragma unroll
    for (int e = 0; e < 4; e++) {
        const int row = y + e * 16;
        if (aligned && row < rows && x + 4 <= columns) {
            *(float4 *)taken[e] = *(const float4 *)&from[row * ld + x];
        } else {
#pragma unroll
            for (int q = 0; q < 4; q++) taken[e][q] = row < rows && x + q < columns ? from[row * ld + x + q] : 0;
        }
    }
#pragma unroll
    for (int e = 0; e < 4; e++)
#pragma unroll
        for (int q = 0; q < 4; q++) tile[y + e * 16][x + q] = taken[e][q];
    __syncthreads();
    const long to_ld = (long)tiles_along(o->k, STEP) * 2 * STEP;
#pragma unroll
    for (int e = 0; e < 4; e++) {
        const int line = y + e * 16;
        if (i0 + line >= o->lines || p0 + x / STEP * STEP >= o->k) continue;
        const int scale = o->exponents[i0 + line];
        struct four high, low;
#pragma unroll
        for (int q = 0; q < 4; q++) {
            const float value = scaled_by(along ? tile[line][x + q] : tile[x + q][line], scale);
            high.v[q] = half_of(value);
            low.v[q] = half_of((value - value_of(high.v[q])) * (1 << LOW));
        }
        unsigned short *to = o->to + (i0 + line) * to_ld + (p0 + x / STEP * STEP) * 2L + x % STEP;
        *(struct four *)to = high;
        *(struct four *)(to + STEP) = low;
    }
}
