/* pieces.cuh - operands of 2 bytes at any address, copied into shared memory as they lie: in pieces of 16 bytes that
 * begin at multiples of 16, the first and the last of a line with what lies beside it. Lines that are 8 apart begin at
 * the same element of their first pieces, whatever ld is: their addresses have the same residue modulo 16. For
 * gemm_thin_sm80 and gemm_inplace_sm80. After ampere.cuh. */

typedef unsigned short element;

enum {
    PIECE = 8,   /* elements of a piece */
    RESIDUES = 8 /* of lines */
};

/* Elements that the first piece of a line has before it. */
static __device__ __forceinline__ int before(const element *line)
{
    return (int)((unsigned long long)line % 16 / sizeof(element));
}

/* The last piece of an operand, of which `count` elements are there; the others become 0. */
static __device__ __noinline__ uint4 last_piece(const element *from, int count)
{
    unsigned x[PIECE];
    UNROLLED
    for (int q = 0; q < PIECE; q++) x[q] = q < count ? from[q] : 0;
    return make_uint4(x[0] | x[1] << 16, x[2] | x[3] << 16, x[4] | x[5] << 16, x[6] | x[7] << 16);
}

/* Copies a piece of a line: `left` elements of it count, the others become 0; all of them if left <= 0 or the line is
 * not there. Of an operand that ends before `end`, without reading beyond. */
static __device__ __forceinline__ void ask_for_piece(uint4 *to, const element *from, bool there, int left,
                                                     const element *end)
{
    const int bytes = max(min(left, (int)PIECE), 0) * (int)sizeof(element);
    if (there && left > 0 && left < PIECE && end - from < PIECE)
        *to = last_piece(from, left);
    else
        COPY_16_OF_128(shared_address(to), from, there ? bytes : 0);
}
