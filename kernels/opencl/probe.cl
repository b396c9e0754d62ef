/* probe.cl - the ceilings of a device, measured: multiply-adds in registers, bytes read from global memory, words read
 * from local memory. Nothing here multiplies matrices. */
enum { PATTERN_WORDS = 1024 + 32 };
#define THREADS 256

/* What the multiply-adds are of: REAL in vectors of LANES, 8 or 16; and how many CHAINS of them a work-item has. A GPU
 * takes the lanes one by one; a CPU should have registers for all. */
#ifndef REAL
#define REAL   float
#define LANES  8
#define CHAINS 16
#endif
#define JOIN(x, y)  JOIN_(x, y)
#define JOIN_(x, y) x##y
typedef JOIN(REAL, LANES) reals;
typedef JOIN(REAL, 8) eight_reals;

static inline eight_reals eighth_of(int i) { return (eight_reals)(0, 1, 2, 3, 4, 5, 6, 7) / 1024 + i; }
#if LANES == 16
static inline reals each_other(void) { return (reals)(eighth_of(0), eighth_of(1) / 2); }
static inline eight_reals folded(reals x) { return x.lo + x.hi; }
#else
static inline reals each_other(void) { return eighth_of(0); }
static inline eight_reals folded(reals x) { return x; }
#endif

/* Independent chains x <- x * f + e near 1: `rounds` times CHAINS multiply-adds of LANES lanes per work-item. Vectors,
 * because a CPU's driver may not join work-items into vectors by itself. */
__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void probe_fma(__global float *sink, int rounds,
                                                                             float factor, float addend)
{
    /* every lane another value: a compiler that takes them one by one must not find them equal */
    reals chain[CHAINS];
    for (int i = 0; i < CHAINS; i++) chain[i] = 1 + (REAL)i / 64 + each_other();
    for (int r = 0; r < rounds; r++)
#pragma unroll
        for (int i = 0; i < CHAINS; i++) chain[i] = fma(chain[i], (reals)(factor), (reals)(addend));
    reals all = 0;
    for (int i = 0; i < CHAINS; i++) all += chain[i];
    eight_reals sum = folded(all);
    JOIN(REAL, 4) half_sum = sum.lo + sum.hi;
    /* never, but the compiler cannot know */
    if (half_sum.x + half_sum.y + half_sum.z + half_sum.w == 12345.0f) sink[0] = (float)sum.s0;
}

#ifndef RUNS
#define RUNS 0
#endif

/* Every work-item reads 16 bytes at a time, `count` vectors in all, `rounds` times: neighbours side by side, as a GPU
 * likes it, or with RUNS = 1 each a run of its own, as a CPU does. */
__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void probe_read(__global float *sink, int rounds,
                                                                              __global const float4 *data, long count)
{
    float4 sum = 0;
    long items = get_global_size(0), run = count / items, step = RUNS ? 1 : items;
    long first = RUNS ? get_global_id(0) * run : get_global_id(0), end = RUNS ? first + run : count;
    for (int r = 0; r < rounds; r++)
#pragma unroll 8
        for (long i = first; i < end; i += step) sum += data[i] * (float)(r + 1); /* r: every round must read */
    if ((sum.x + sum.y) + (sum.z + sum.w) == 12345.0f) sink[0] = sum.x;
}

/* 16-byte reads from local memory: `rounds` times 8 of them per work-item. */
__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void probe_shared(__global float *sink, int rounds)
{
    __local float4 tile[8 * THREADS];
    int me = get_local_id(0);
    for (int i = 0; i < 8; i++) tile[i * THREADS + me] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    float4 sum = 0;
    for (int r = 0; r < rounds; r++)
#pragma unroll
        for (int i = 0; i < 8; i++) sum += tile[i * THREADS + (me ^ (r & 31))] * (float)(r + 1);
    /* all four: a word that nobody wants is not loaded */
    if ((sum.x + sum.y) + (sum.z + sum.w) == 12345.0f) sink[0] = sum.x;
}

/* Words read from local memory in a pattern: `rounds` times 8 per work-item. Lane l of 32 reads word
 * l * step % wrap + shift, and then the words 32, 64 ... further on, which lie in the same banks. */
__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void probe_pattern(__global float *sink, int rounds,
                                                                                 int step, int wrap, int shift)
{
    __local float tile[PATTERN_WORDS + 8 * 32];
    for (int i = get_local_id(0); i < PATTERN_WORDS + 8 * 32; i += THREADS) tile[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    const volatile __local float *mine = tile + get_local_id(0) % 32 * step % wrap + shift;
    float sum = 0;
    for (int r = 0; r < rounds; r++)
#pragma unroll
        for (int i = 0; i < 8; i++) sum += mine[i * 32];
    if (sum == 12345.0f) sink[0] = sum;
}
