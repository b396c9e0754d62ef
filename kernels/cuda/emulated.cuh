/* emulated.cuh - which tiles of C an f32 product takes from the f16 units: what split.cu tells of the lines of A and B,
 * and the rule by which sgemm_emulated_sm90 and the kernel that computes all other tiles share them out.
 *
 * A line is a row of op(A) or a column of op(B), scaled by a power of two so that its largest element is at least
 * 2^LARGEST and below twice that. Two halves in f16 hold an element to 2^-22 of its size where that is at least 2^TINY,
 * else to 2^-36: such an element is tiny. Of a row `tiny` elements are, and `big` have sizes of at least 2^BIG; of a
 * column `small` are below 2^SMALL. So at least big - small products are at least 2^(BIG + SMALL), beside which what the
 * tiny ones are off by is within a quarter of native f32's bound where big - small >= tiny ENOUGH / min(k, 2 ENOUGH)
 * (docs/ACCURACY.md#emulated-f32).
 *
 *      size     2^-14 = 2^TINY  2^-8 = 2^SMALL    2^4 = 2^BIG      2^14
 *      row         xx                .  x    x  x  xx x xx  x x xx x x     tiny: 2, big: 11
 *      column                      x .   xx xxx x xx x x  x    x  x        small: 1 */

enum { NEVER = -1, ALWAYS = 0x7fffffff };

/* Of LINES_TOLD lines. big: the least of big - tiny ENOUGH / min(k, 2 ENOUGH), rounded down; ALWAYS where nothing is
 * tiny; NEVER where there is NaN or infinity. small: the most. */
struct told {
    int big, small;
};

/* Whether the f16 units may compute the EMULATED_EDGE x EMULATED_EDGE elements of C from row i0 and column j0 on. Whole
 * warps. */
static __device__ __forceinline__ bool may_emulate(const struct told *a, const struct told *b, int i0, int j0)
{
    enum { GROUPS = EMULATED_EDGE / LINES_TOLD };
    const unsigned all = ~0u;
    const int lane = threadIdx.x % 32, group = lane % GROUPS;
    const bool of_a = lane / GROUPS % 2 == 0;
    const struct told x = of_a ? a[i0 / LINES_TOLD + group] : b[j0 / LINES_TOLD + group];
    const int big_a = __reduce_min_sync(all, of_a ? x.big : ALWAYS),
              big_b = __reduce_min_sync(all, of_a ? ALWAYS : x.big),
              small_a = __reduce_max_sync(all, of_a ? x.small : 0),
              small_b = __reduce_max_sync(all, of_a ? 0 : x.small);
    return big_a >= small_b && big_b >= small_a;
}
