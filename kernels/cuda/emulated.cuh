/* emulated.cuh - which tiles of C an f32 product takes from the matrix units for f16: what split.cu counts in the lines
 * of A and B, and the rule by which sgemm_emulated_sm90 and sgemm_tma_sm90 share the tiles out.
 *
 * A line is a row of op(A) or a column of op(B), scaled by a power of two so that its largest magnitude is at least
 * 2^LARGEST and below twice that. Two numbers of f16 hold an element to 2^-22 of its magnitude if that is at least
 * 2^TINY, else to 2^-36. In each line are counted:
 *
 *     tiny      elements that are not 0, with magnitudes below 2^TINY
 *     big       magnitudes of at least 2^BIG
 *     small     magnitudes below 2^SMALL, zeros among them
 *
 * At least big - small products of a row and a column are 2^(BIG + SMALL) or more. If big - small >= tiny ENOUGH /
 * min(k, 2 ENOUGH), the tiny elements of the row add less than a third of f32's error bound
 * (docs/ACCURACY.md#emulated-f32).
 *
 *     log2          -14         -8            5          14
 *     row       x  x |           | x   x  xx  |  x xx x xx|      tiny: 2, big: 6
 *     column         |       x   |  x xx x xx x| x  x  x  |      small: 1 */
#include "emulated.h"

enum { NEVER = -1, ALWAYS = 0x7fffffff };

/* Of COUNTED_LINES lines. margin: the least of big - tiny ENOUGH / min(k, 2 ENOUGH), rounded down; ALWAYS for a line
 * without tiny elements, NEVER for one with NaN or infinity. small: the most; 0 for a line of zeros, whose products are
 * 0 whatever they meet. */
struct line_counts {
    int margin, small;
};
ASSUME(sizeof(struct line_counts) == LINE_COUNTS_BYTES)

/* Whether the f16 units may compute the EMULATED_EDGE x EMULATED_EDGE elements of C from row i0 and column j0 on. Whole
 * warps. */
static __device__ __forceinline__ bool may_emulate(const struct line_counts *a, const struct line_counts *b, int i0,
                                                   int j0)
{
    enum { GROUPS = EMULATED_EDGE / COUNTED_LINES };
    const unsigned all = ~0u;
    const int lane = threadIdx.x % 32, group = lane % GROUPS;
    const bool of_a = lane / GROUPS % 2 == 0;
    const struct line_counts x = of_a ? a[i0 / COUNTED_LINES + group] : b[j0 / COUNTED_LINES + group];
    const int margin_a = __reduce_min_sync(all, of_a ? x.margin : ALWAYS),
              margin_b = __reduce_min_sync(all, of_a ? ALWAYS : x.margin),
              small_a = __reduce_max_sync(all, of_a ? x.small : 0),
              small_b = __reduce_max_sync(all, of_a ? 0 : x.small);
    return margin_a >= small_b && margin_b >= small_a;
}
