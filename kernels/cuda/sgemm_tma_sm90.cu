/* sgemm_tma_sm90 - the production kernel for f32 on sm_90 and above: r12's TMA pipeline, with operands taken from both
 * banks of the register file, and stream-K for the last tiles.
 *
 * IDEA      The register file has two banks, even and odd registers. Each delivers one word per cycle, and an FMA reads
 *           three words. One comes from the operand cache if the FMA before read it too (.reuse); of the other two, one
 *           must be in an even register and one in an odd. So the order of the FMAs and the registers of the sums
 *           decide the speed. r12 keeps A's tile K-major: in one step of k all its words of A lie in one bank. Here
 *           both tiles are MN-major. The FMAs run through a row of the 16 x 8 sums and back through the next, so that
 *           two FMAs in a row share B's word where the direction changes:
 *
 *         i = 0  7 6 5 4 3 2 1 0  a[i] is shared along the row; b[j] and sum[i][j] alternate between the banks,
 *         i = 1  0 1 2 3 4 5 6 7  one even where the other is odd
 *         i = 2  7 6 5 4 ...
 *
 *           TMA cannot transpose. So pack.cu first transposes an operand that is stored K-major, and copies one whose
 *           address or rows TMA does not take. All transposes, strides and addresses end in one kernel.
 *
 *           Full waves of tiles are computed whole, one block per tile. The tiles of the last wave would occupy only a
 *           part of the device and take as long, so they are computed by stream-K: their steps of k, tile after tile,
 *           are cut into equal runs, one for each resident block, or a few for each tile, whichever ends
 *           earlier. A run that begins or ends within a tile stores its partial sums in the workspace and signals a
 *           flag. The run that reaches the end of the tile's k does the fix-up: it adds the partial sums to its own, in
 *           the order of k, and stores C:
 *
 *           tile   |  792            |  793            |  794
 *           run    |     0     |     1     |     2     |     3     |   0, 1: the beginning of 793 first, then the
 *                  |           |  adds 0   |  adds 1   |               end of 792, so that no run waits long
 *
 *           A flag is signalled with a number that no other launch uses, and reset by the block that waited for it: the
 *           host never clears it. A block waits only for blocks that begin before it. The runs depend on the problem
 *           and the device alone, so every launch adds the same sums in the same order.
 *
 *           Residue: an edge tile with 32 rows or fewer in C computes only 32 rows, 32 x 32 for each warp; one with 32
 *           columns or fewer likewise, with the warps below each other. 5001 rows and columns leave 9 for the last
 *           tiles, which are 5 % of all. Residues come last, and count a third in the runs of stream-K.
 *
 *           Epilogue: where rows of C do not begin at multiples of 16 bytes, each thread would store single words and
 *           touch each memory line 8 times. So the sums pass through the shared-memory stages, 32 rows at a time, and
 *           whole rows are stored.
 *
 * NUMBERS   Arithmetic intensity 32 flop/byte. Per thread and step of k: 6 loads of 16 bytes for 128 FMAs; 1024 of the
 *           1086 instructions of the mainloop are FMAs, and they wait 75 cycles for a bank (WIDE = 0: 1080 and 62;
 *           r12: 1084 and 300). 168 registers, 128 threads, 3 stages of 16 KiB: three blocks per multiprocessor, which
 *           hide each other's latency better than two with more registers.
 *           H200, TFLOP/s at 2048, 4096, 5001, 8192: 50.0, 53.8, 53.0, 55.1; A transposed, nothing to pack, 4096 and
 *           8192: 54.5, 55.5. Without stream-K, A transposed, 3000 and 5001 were 45.2 and 49.4 instead of 51.9 and
 *           53.0. Of 60 orders of FMAs that were compiled and compared, this one is the fastest where C is WIDE: small
 *           changes to the text change the compiler's choice of banks and cost up to 8 %; two ways to store sums as
 *           vectors cost 40 %.
 * LIMITS    sm_90 and above. m, n >= 1. The first `whole` tiles are computed whole; the others in runs of `length`
 *           steps of 16 of k, at least 1 and at most the steps of one tile. A residue has a third as many steps,
 *           rounded up. `whole` is the number of all tiles, or at most that of the tiles that are not residues.
 *           REST: the tiles that sgemm_emulated_sm90 leaves, each whole (emulated.cuh).
 *           WIDE = 1 (128-bit stores) promises c aligned to 16 bytes and ldc a multiple of 4; WIDE = 0 takes any. Fewer
 *           than 2^31 tiles.
 * HOST      tiles = ceil(m / 128) * ceil(n / 128), grid whole + ceil(steps of the other tiles, so counted, / length),
 *           block 128, dynamic shared memory sizeof(struct ring) = 49176 bytes. whole = tiles: no stream-K; memory
 *           and flags are not used. Otherwise memory has 128 * 128 floats for each run, and flags 8 bytes for each,
 *           of any content but `epoch`. Two tensor maps, rank 2, FLOAT32, element strides 1, no interleave, no swizzle,
 *           zeros outside, L2 promotion 256 B, box {128, 16}; addresses and strides multiples of 16 bytes:
 *               a_map: op(A) transposed, k x m: dims {m, k}
 *               b_map: op(B), k x n: dims {n, k}
 * TILES     sgemm_tma_sm90, 128 x 128, is described above.
 *           128 x 64: where more than 32 columns of an edge tile lie in C, it is computed whole: 3000 columns are 24
 *           tiles of 128, the last of which is half filled, or 47 tiles of 64, 2 % less work. A block has two warps
 *           instead of four, and twice as many blocks are resident, so the mainloop is nearly the same; but A's tile
 *           serves half as many columns. This tile has no residue, and stores C word by word where its rows do not
 *           begin at multiples of 16 bytes. 21 flop/byte. 168 registers, 64 threads, 3 stages of 12 KiB, six blocks per
 *           multiprocessor. H200, A transposed, TFLOP/s, 128 x 128 and this: at 4096 55.4 and 55.0, at 3000 51.9 and
 *           52.6, at 2048 52.3 and 51.1. The cost model counts the padded area, and the time to store C.
 * CHANGED   from r12h, which has 0.99 of its speed at 4096. It adds, one by one:
 *             stream-K             r12d's, for the tiles of the last wave alone
 *             residue              edge tiles of 32 rows or columns
 *             epilogue             alpha, beta, a caller's text; by rows where C is not aligned
 *             REST                 the tiles that sgemm_emulated_sm90 leaves
 *             PDL                  r12g's wait
 * SOURCE    PTX ISA; Osama et al.: Stream-K, 2023; banks and reuse: maxas, and Jia et al.: Dissecting the NVIDIA Volta
 *           GPU architecture via microbenchmarking, 2018 */
#include "rung.cuh"
#include "arguments.h"
#include "epilogue.cuh"
#include "hopper.cuh"
#include "flags.cuh"
#ifdef REST
#include "emulated.cuh"
ASSUME(ROW_M == EMULATED_EDGE && ROW_N == EMULATED_EDGE)
#endif

enum {
    BM = ROW_M,
    BN = ROW_N,
    BK = ROW_K,
    THREADS = ROW_THREADS,
    BLOCKS = 384 / THREADS,
    STAGES = ROW_STAGES,
    GROUP_M = 8,
    RESIDUE = BN == BM ? 32 : 0,
    FASTER = 3,
    BY_ROWS = !WIDE && BN == BM
};
ASSUME(BM == 128 && BK == 16 && THREADS == BN)

struct ring {
    float a[STAGES][BK][BM], b[STAGES][BK][BN];
    barrier full[STAGES];
};
ASSUME(sizeof(struct ring) == ROW_BYTES)
ASSUME_BOXES(BK, BM, BK, BN)

/* One thread starts the copies of block number `block` of A and B into stage s, which is free. */
static __device__ __forceinline__ void fetch(struct ring *ring, const tensor_map *a_map, const tensor_map *b_map,
                                             int i0, int j0, int block, int s)
{
    barrier_expect(&ring->full[s], sizeof ring->a[s] + sizeof ring->b[s]);
    tma_load(ring->a[s], a_map, i0, block * BK, &ring->full[s]);
    tma_load(ring->b[s], b_map, j0, block * BK, &ring->full[s]);
}

/* Tiles along an edge of C, without the last if at most RESIDUE of its rows or columns lie in C. */
static __device__ __forceinline__ int wide_along(int edge, int tile) { return (edge + tile - 1 - RESIDUE) / tile; }

#include "schedule.cuh"

/* The origin of tile number `tile`: first the wide tiles in the order of tile_at(), then the residues on the right,
 * then those below. */
static __device__ __forceinline__ void tile_origin(int tile, int m, int n, int *i0, int *j0)
{
    int rows = wide_along(m, BM), columns = wide_along(n, BN), right = tile - rows * columns,
        below = tile - rows * ceil_div(n, BN);
    if (below >= 0) {
        *i0 = rows * BM, *j0 = below * BN;
    } else if (right >= 0) {
        *i0 = right * BM, *j0 = columns * BN;
    } else {
        tile_at<GROUP_M>(tile, {columns, rows}, i0, j0);
    }
}

static __device__ __forceinline__ bool is_residue(int tile, int wide) { return RESIDUE > 0 && tile >= wide; }

/* The units of work of a tile's k: its steps, or a FASTER-th of them. */
static __device__ __forceinline__ int units_of(int tile, int wide, int steps)
{
    return is_residue(tile, wide) ? ceil_div(steps, FASTER) : steps;
}

/* The units of the tiles from `whole` to before `tile`. */
static __device__ __forceinline__ long units_before(int tile, int whole, int wide, int steps)
{
    return is_residue(tile, wide) ? (long)(wide - whole) * steps + (long)(tile - wide) * ceil_div(steps, FASTER)
                                  : (long)(tile - whole) * steps;
}

/* The tile that has unit number x of those. */
static __device__ __forceinline__ int tile_of(long x, int whole, int wide, int steps)
{
    long residue = x - (long)(wide - whole) * steps;
    return RESIDUE > 0 && residue >= 0 ? wide + (int)(residue / ceil_div(steps, FASTER)) : whole + (int)(x / steps);
}

/* All threads: wait for the flag and reset it. */
static __device__ __forceinline__ void wait_for_flag(unsigned long long *flag, unsigned long long epoch)
{
    if (threadIdx.x == 0) flag_wait_and_reset(flag, 0, epoch);
    __syncthreads();
}

/* Swizzle: the words of a line of sums change places within quads and halves of 32, so that lanes that store together
 * meet in no bank. */
static __device__ __forceinline__ int swap_of(int line) { return line / 4 % 4 | line / 16 * 16; }

/* Epilogue for rows of C that need not begin at multiples of 16 bytes: 32 lines at a time go through the stages, into
 * two alternating buffers, so that each row is stored as one. Word by word: vectors would tie the sums to the worst
 * registers. */
static __device__ __forceinline__ void epilogue_rows(struct ring *ring, const struct out &to, int row, int column,
                                                     float (*sum)[8])
{
    enum { LINES = 32 };
    int col = threadIdx.x, lane = col % 32, a_at = (lane / 8 * 2 + lane % 2) * 4,
        b_at = col / 32 * 32 + lane / 2 % 4 * 4, swap = swap_of(a_at);
    UNROLLED
    for (int band = 0; band < BM / LINES; band++) {
        float *lines = ring->a[0][0] + band % 2 * (LINES * BN);
        UNROLLED
        for (int i = 0; i < 4; i++) {
            UNROLLED
            for (int j = 0; j < 8; j++)
                lines[(a_at + i) * BN + (b_at + j / 4 * 16 + j % 4 ^ swap)] = sum[4 * band + i][j];
        }
        __syncthreads(); /* the lines are written, and those before the last have been read */
        ROLLED
        for (int quad = 0; quad < LINES / 4; quad++) {
            const float *from = &lines[quad * 4 * BN + (col ^ swap_of(quad * 4))];
            UNROLLED
            for (int q = 0; q < 4; q++, row++) put_one(to, row, column + col, from[q * BN]);
        }
    }
    tma_fence();
    __syncthreads(); /* all have read the lines: TMA may write the stages again */
}

/* Mainloop: steps `from` ... `to` - 1 of k of a tile. Each thread has 4 rows in each of `bands` bands of 32, beginning
 * at a_at, and 2 quads of columns, beginning at b_at. */
static __device__ __forceinline__ void mainloop(float (*sum)[8], const int bands, struct ring *ring,
                                                const tensor_map *a_map, const tensor_map *b_map, int i0, int j0,
                                                int a_at, int b_at, int from, int to, int *stage, int *phase)
{
    if (threadIdx.x == 0)
        for (int q = 0, t = *stage; q < STAGES && from + q < to; q++, t = t + 1 == STAGES ? 0 : t + 1)
            fetch(ring, a_map, b_map, i0, j0, from + q, t);
    ROLLED
    for (int block = from; block < to; block++) {
        const float *a_tile = &ring->a[*stage][0][a_at], *b_tile = &ring->b[*stage][0][b_at];
        barrier_wait(&ring->full[*stage], *phase); /* for the copies of this stage */
        ROLLED
        for (int half = 0; half < 2; half++, a_tile += BK / 2 * BM, b_tile += BK / 2 * BN) {
            UNROLLED
            for (int p = 0; p < BK / 2; p++) {
                float a_p[16], b_p[8];
                UNROLLED
                for (int i = 0; i < bands; i++) *(float4 *)&a_p[4 * i] = *(const float4 *)&a_tile[p * BM + 32 * i];
                UNROLLED
                for (int j = 0; j < 2; j++) *(float4 *)&b_p[4 * j] = *(const float4 *)&b_tile[p * BN + 16 * j];
                UNROLLED
                for (int r = 0; r < 4 * bands; r++) {
                    UNROLLED
                    for (int q = 0; q < 8; q++) {
                        /* the order of rows with fewer bank conflicts, as counted */
                        int i = BY_ROWS ? 4 * bands - 1 - r : r, j = i % 2 ? q : 7 - q;
                        sum[i][j] = fmaf(a_p[i], b_p[j], sum[i][j]);
                    }
                }
            }
        }
        __syncthreads(); /* all have read the stage */
        if (threadIdx.x == 0 && block + STAGES < to) fetch(ring, a_map, b_map, i0, j0, block + STAGES, *stage);
        if (++*stage == STAGES) *stage = 0, *phase ^= 1;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    sgemm_tma_sm90(MAPPED_ARGUMENTS(PARAMETER, float, float),
                   STREAM_K_ARGUMENTS(PARAMETER, float *__restrict__) MAYBE_COUNTS_ARGUMENTS(PARAMETER))
{
    extern __shared__ __align__(1024) struct ring ring[];
    int tid = threadIdx.x, lane = tid % 32, warp = tid / 32, s = 0, phase = 0, steps = ceil_div(k, BK),
        wide = wide_along(m, BM) * wide_along(n, BN);
    if (tid == 0) ring_init(STAGES, ring->full);
    __syncthreads();
    pdl_wait();
    /* this block has `left` units, back from `end` in its last tile */
    int run = blockIdx.x - whole, tile = blockIdx.x, end = units_of(tile, wide, steps), left = end;
    if (run >= 0) {
        long begin = (long)run * length,
             until = min(begin + length, units_before(ceil_div(m, BM) * ceil_div(n, BN), whole, wide, steps));
        tile = tile_of(until - 1, whole, wide, steps), end = until - units_before(tile, whole, wide, steps),
        left = until - begin;
    }
    ROLLED
    for (;; tile--, end = units_of(tile, wide, steps)) {
        bool residue = is_residue(tile, wide);
        int i0, j0, begin = max(end - left, 0), each = residue ? FASTER : 1, from = begin * each,
                    to = min(end * each, steps);
        float sum[16][8] = {0};
        left -= end - begin;
        tile_origin(tile, m, n, &i0, &j0);
#ifdef REST
        if (may_emulate(a_counts, b_counts, i0, j0)) return;
#endif
        bool beside = residue && i0 < wide_along(m, BM) * BM; /* each warp has 32 rows; otherwise 32 columns */
        int a_at = (lane / 8 * 2 + lane % 2) * 4 + (beside ? warp * 32 : 0),
            b_at = lane / 2 % 4 * 4 + (beside ? 0 : warp * 32);
        if (residue)
            mainloop(sum, 1, ring, &a_map, &b_map, i0, j0, a_at, b_at, from, to, &s, &phase);
        else
            mainloop(sum, 4, ring, &a_map, &b_map, i0, j0, a_at, b_at, from, to, &s, &phase);
        if (to < steps) { /* word by word: vectors would tie the sums to the worst registers */
            float *partial = memory + (long)run * (BM * BN) + tid;
            UNROLLED
            for (int e = 0; e < 128; e++) {
                if (e == 32 && residue) break;
                partial[e * THREADS] = sum[e / 8][e % 8];
            }
            signal_flag(&flags[run], epoch);
        } else {
            if (from > 0) {
                ROLLED
                for (int other = units_before(tile, whole, wide, steps) / length; other < run; other++) {
                    const volatile float *partial = memory + (long)other * (BM * BN) + tid;
                    wait_for_flag(&flags[other], epoch);
                    UNROLLED
                    for (int e = 0; e < 128; e++) {
                        if (e == 32 && residue) break;
                        sum[e / 8][e % 8] += partial[e * THREADS];
                    }
                }
            }
            if (!BY_ROWS || residue) {
                int rows = residue ? min(m, i0 + a_at + 4) : m;
                UNROLLED
                for (int i = 0; i < (BY_ROWS ? 4 : 16); i++) {
                    int row = i0 + a_at + i / 4 * 32 + i % 4;
                    if (row >= rows) continue;
                    put<4>(OUT, row, j0 + b_at, &sum[i][0]);
                    put<4>(OUT, row, j0 + b_at + 16, &sum[i][4]);
                }
            } else {
                /* read again, so that nothing derived from it occupies registers in the mainloop */
                tile_origin(tile, m, n, &i0, &j0);
                epilogue_rows(ring, OUT, i0, j0, sum);
            }
        }
        if (left == 0) break;
    }
}
