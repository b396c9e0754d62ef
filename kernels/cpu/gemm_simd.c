/* gemm_simd - the production micro-kernel of the CPU: an MR x NR tile of C in vector registers.
 *
 * IDEA      Every step of k multiplies one column of A by one row of B and adds the outer product to the tile:
 *
 *                          b[0]      b[1]      b[2]          NR / LANES loads
 *                       .---------.---------.---------.
 *              a[0] all | sum 0,0 | sum 0,1 | sum 0,2 |      MR broadcasts
 *              a[1] all | sum 1,0 | sum 1,1 | sum 1,2 |      MR * NR / LANES multiply-adds,
 *                ...    |   ...   |   ...   |   ...   |      each into a register of its own
 *                       '---------'---------'---------'
 *
 *           With v = NR / LANES vectors it takes MR + v loads for MR * v multiply-adds, and MR * v independent chains
 *           cover the latency of the multiply-add units. Packing put both operands in the order in which they are read
 *           here.
 * NUMBERS   AVX-512 and NEON: 8 x 3 chains, 11 loads for 24 FMAs. AVX2: 6 x 2, 8 for 12. Baseline: 4 x 2, 6 for 8.
 *           Edge tiles: a copy of this code for each number of rows and vectors. The last vector is masked, or is half
 *           a vector where that suffices. Missing rows cost no flops, and nothing outside C is touched.
 *           Unpacked operands are read in place: the same sums in the same order.
 *           B may lie in panels and A as it is, since a broadcast reads rows as well as slivers.
 *           Every step of k prefetches a cache line of A and one of C for the next tiles. Once a tile whose B lies in
 *           panels has prefetched all of C, MR steps are one block of code: on some processors address arithmetic takes
 *           the ports of multiply-adds.
 *           Small operands (KERNEL_unpacked): C is divided evenly among as few tiles as possible, since a tile of one
 *           row or of half a vector takes as long as a larger one. If both operands are transposed, C^T = B A needs no
 *           transpose of either: a block of it is computed beside C and transposed in registers as it is stored, which
 *           is less work than to pack both.
 *           Slivers: where B, of few steps and at most a vector wide, fits into registers, rows of A stream past it.
 *           Complex (PARTS 2): the columns of a row of B are its real and imaginary parts side by side, the rows of a
 *           column of A likewise, so that the tile above computes re(a) b and im(a) b of MR / 2 rows of C, by as many
 *           multiply-adds as four real products. At the end of a panel each two rows become one: re(a) b + i im(a) b,
 *           a swap of neighbours and a multiply-add by +-1. Conjugated operands change these signs and nothing else.
 *           bf16 and int8: panels hold words of two or four neighbours along k, and one instruction multiplies and adds
 *           them all (vec_step): 2 or 4 times the flops for the same loads.
 *           Integers of 16, 32 and 64 bits: an instruction multiplies, another adds (without AVX-512 more, of 64 bits),
 *           so that 8 x 2 chains are enough and leave registers for products.
 * LIMITS    NR a multiple of LANES, at most 3 of them; MR at most 8; 24 KiB on the stack for a block of C^T. The loops
 *           around it: src/engines/cpu/loops.c.
 * SOURCE    Goto, van de Geijn 2008; Van Zee, van de Geijn 2015. */
#include "epilogue.h"
#include "rung.h"
#include "vec.h"

#ifndef PARTS
#define PARTS 1
#endif

/* Columns of real numbers are counted in units: half a vector where there are such. An element of C has PARTS rows of
 * sums in a tile, and as many columns. */
enum { V = NR / LANES, UNIT = HAS_HALVES ? LANES / 2 : LANES, UNITS = NR / UNIT };
typedef struct element {
    real part[PARTS];
} element;
enum { SIZE = sizeof(element), TILE_ROWS = MR / PARTS, TILE_COLS = NR / PARTS, UNIT_COLS = (UNIT + PARTS - 1) / PARTS };
_Static_assert(NR % LANES == 0, "NR is a multiple of the vector's lanes");
_Static_assert(TILE_ROWS *TILE_COLS *SIZE <= CPU_MOST_TILE_BYTES, "a tile may be computed beside C");
_Static_assert(MR <= 8 && UNITS <= 6, "there is a copy of the tile's code for each number of rows and units");

#define ALWAYS static inline __attribute__((always_inline))

/* What a tile's last vector holds of a row: all of it, or its first lanes. */
ALWAYS vec load_at(const real *row, int v, bool masked, some last)
{
    return masked ? vec_load_some(row + v * LANES, last) : vec_load(row + v * LANES);
}

ALWAYS void store_at(real *row, int v, bool masked, some last, vec x)
{
    if (masked)
        vec_store_some(row + v * LANES, last, x);
    else
        vec_store(row + v * LANES, x);
}

/* Where a tile stands in its operands, in real numbers; with two pointers into A, the addresses of 8 rows take fewer
 * registers. */
typedef struct feed {
    const real *a_low, *a_high, *b;
    int64_t a_rs, a_twice, a_thrice, b_next; /* strides; bytes from b to what CPU_FEED_ANY prefetches of it */
} feed;

/* Row i of a column of A that is read in place. */
ALWAYS const real *a_at(const feed *f, const int i)
{
    const int row = i / PARTS, of_four = row % 4;
    return (row < 4 ? f->a_low : f->a_high) + i % PARTS +
           (of_four == 0   ? 0
            : of_four == 1 ? f->a_rs
            : of_four == 2 ? f->a_twice
                           : f->a_thrice);
}

/* One step of k: the outer product of `rows` elements of A and a row of B. */
ALWAYS void step_of(const feed *f, const int rows, const int units, const bool masked, const cpu_feed way, some last,
                    vec sum[MR][V], half rest[MR])
{
    const int vectors = units * UNIT / LANES, end = masked ? vectors - 1 : vectors;
    const bool halved = units * UNIT % LANES != 0;
    vec row[V];
    half row_rest;
    UNROLLED(4)
    for (int v = 0; v < vectors; v++) row[v] = load_at(f->b, v, !halved && v == end, last);
    if (halved) row_rest = half_load_some(f->b + vectors * LANES, last);
    if (way == CPU_FEED_ANY) {
        UNROLLED(4)
        for (int v = 0; v < vectors; v++)
            __builtin_prefetch((const void *)((uintptr_t)f->b + (uintptr_t)f->b_next + (size_t)v * CPU_LINE_BYTES));
    }
    UNROLLED(8)
    for (int i = 0; i < rows; i++) {
        const real *at = way == CPU_FEED_PANELS ? f->a_low + i : a_at(f, i);
        if (vectors == 0) { /* a broadcast of half the width is faster */
            rest[i] = half_fma(half_all(*at), row_rest, rest[i]);
            continue;
        }
        vec column = vec_all(*at);
        UNROLLED(4)
        for (int v = 0; v < vectors; v++)
            sum[i][v] = vec_step(column, row[v], sum[i][v]); /* the line that multiplies */
        if (halved) rest[i] = half_fma(half_of(column), row_rest, rest[i]);
    }
}

/* Adds the sums of the chunks of k before. */
ALWAYS void add_total(const cpu_tile *t, const int rows, const int units, const bool masked, some last, vec sum[MR][V],
                      half rest[MR])
{
    const int vectors = units * UNIT / LANES, end = masked ? vectors - 1 : vectors;
    const bool halved = units * UNIT % LANES != 0;
    if (t->total == NULL) return;
    UNROLLED(8)
    for (int i = 0; i < rows; i += PARTS) {
        const real *at = (const real *)t->total + i * t->total_ld;
        UNROLLED(4)
        for (int v = 0; v < vectors; v++) sum[i][v] = vec_add(sum[i][v], load_at(at, v, !halved && v == end, last));
        if (halved) rest[i] = half_add(rest[i], half_load_some(at + vectors * LANES, last));
    }
}

#if PARTS == 2
ALWAYS vec alternating(real even, real odd) { return vec_low(vec_all(even), vec_all(odd)); }

/* Makes one row of each two rows of sums, re(a) b and im(a) b: neighbours are real and imaginary part. */
ALWAYS void merge_parts(const cpu_complex *x, const int rows, const int vectors, vec sum[MR][V])
{
    const real sign = x->conjugates_a != x->conjugates_b ? -1 : 1;
    const vec signs = alternating(-sign, sign), conjugate = alternating(1, -1);
    UNROLLED(4)
    for (int i = 0; i < rows; i += 2) UNROLLED(4)
    for (int v = 0; v < vectors; v++) sum[i][v] = vec_fma(vec_swap(sum[i + 1][v]), signs, sum[i][v]);
    if (!x->conjugates_b) return;
    UNROLLED(4)
    for (int i = 0; i < rows; i += 2) UNROLLED(4)
    for (int v = 0; v < vectors; v++) sum[i][v] = vec_mul(sum[i][v], conjugate);
}

/* The complex number x times a vector of them, plus another. A scalar without an imaginary part multiplies as a real
 * number, so that no infinity becomes NaN. */
ALWAYS vec times_plus(real re, real im, vec x, vec plus)
{
    const vec y = vec_fma(vec_all(re), x, plus);
    return im != 0 ? vec_fma(vec_swap(x), alternating(-im, im), y) : y;
}

ALWAYS vec times(real re, real im, vec x)
{
    const vec y = vec_mul(vec_all(re), x);
    return im != 0 ? vec_fma(vec_swap(x), alternating(-im, im), y) : y;
}

/* The epilogue: stores sums that go on, or C. */
ALWAYS void store_tile(const cpu_tile *t, const int rows, const int units, const bool masked, some last, vec sum[MR][V],
                       half rest[MR])
{
    const int vectors = units * UNIT / LANES;
    const bool ends = t->sum_out == NULL,
               reads_c = ends && (epilogue_reads(t->beta) || epilogue_reads(t->complex.beta));
    const real re = ends ? real_of(t->alpha) : 1, im = ends ? real_of(t->complex.alpha) : 0, beta_re = real_of(t->beta),
               beta_im = real_of(t->complex.beta);
    const int64_t out_ld = PARTS * (ends ? t->ldc : t->sum_out_ld);
    real *out = ends ? t->c : t->sum_out;
    if (t->k > 0 || t->sum_in == NULL) merge_parts(&t->complex, rows, vectors, sum); /* else sums that were merged */
    add_total(t, rows, units, masked, last, sum, rest);
    UNROLLED(4)
    for (int i = 0; i < rows; i += 2) {
        real *at = out + i / 2 * out_ld;
        UNROLLED(4)
        for (int v = 0; v < vectors; v++) {
            const bool in_part = masked && v == vectors - 1;
            const vec x = sum[i][v];
            store_at(at, v, in_part, last,
                     reads_c ? times_plus(re, im, x, times(beta_re, beta_im, load_at(at, v, in_part, last)))
                             : times(re, im, x));
        }
    }
}
#else
/* The epilogue: stores sums that go on, or C. */
ALWAYS void store_tile(const cpu_tile *t, const int rows, const int units, const bool masked, some last, vec sum[MR][V],
                       half rest[MR])
{
    const int vectors = units * UNIT / LANES, end = masked ? vectors - 1 : vectors;
    const bool halved = units * UNIT % LANES != 0;
    real *out = t->sum_out != NULL ? t->sum_out : t->c;
    const int64_t out_ld = t->sum_out != NULL ? t->sum_out_ld : t->ldc;
    const vec alpha = vec_all(real_of(t->alpha)), beta = vec_all(real_of(t->beta));
    const half half_alpha = half_all(real_of(t->alpha)), half_beta = half_all(real_of(t->beta));
    /* known before C is written: it might be t, for all the compiler knows */
    const bool ends = t->sum_out == NULL, reads_c = epilogue_reads(t->beta);
    add_total(t, rows, units, masked, last, sum, rest);
    UNROLLED(8)
    for (int i = 0; i < rows; i++) {
        real *at = out + i * out_ld;
        UNROLLED(4)
        for (int v = 0; v < vectors; v++) {
            vec x = sum[i][v];
            if (ends) x = EPILOGUE(vec, alpha, x, beta, reads_c, load_at(at, v, !halved && v == end, last));
            store_at(at, v, !halved && v == end, last, x);
        }
        if (halved) {
            half x = rest[i];
            if (ends) x = EPILOGUE(half, half_alpha, x, half_beta, reads_c, half_load_some(at + vectors * LANES, last));
            half_store_some(at + vectors * LANES, last, x);
        }
    }
}
#endif

/* The tile with its numbers of rows and of units as constants; masked: its last vector may not be whole. */
ALWAYS void tile_of(const cpu_tile *t, const int rows, const int units, const bool masked, const cpu_feed way)
{
    const int vectors = units * UNIT / LANES, end = masked ? vectors - 1 : vectors; /* this vector is masked */
    /* half a vector more, and that one is masked, not `end` */
    const bool halved = units * UNIT % LANES != 0;
    const some last = masked || halved ? vec_first(t->cols * PARTS - (halved ? vectors : vectors - 1) * LANES)
                                       : vec_first(0);
    const real *a = t->a, *b = t->b, *sum_in = t->sum_in;
    const bool panels = way == CPU_FEED_PANELS;
    const int64_t a_rs = panels ? 1 : t->a_rs * PARTS,
                  a_cs = panels                 ? MR
                         : way == CPU_FEED_ROWS ? PARTS
                                                : t->a_cs * PARTS,
                  b_rs = way != CPU_FEED_ANY ? NR : t->b_rs * PARTS;
    vec sum[MR][V];
    half rest[MR];
    UNROLLED(8)
    for (int i = 0; i < rows; i++) {
        UNROLLED(4)
        for (int v = 0; v < vectors; v++) {
            sum[i][v] = sum_in && i % PARTS == 0 ? load_at(sum_in + i * t->sum_in_ld, v, !halved && v == end, last)
                                                 : vec_all(0);
#if PARTS == 2
            if (sum_in && i % 2 == 0 && t->complex.conjugates_b) sum[i][v] = vec_mul(sum[i][v], alternating(1, -1));
#endif
            /* a panel's first step: what shifting B by 128 adds to each row, taken off */
            if (DOT_GROUP == 4) sum[i][v] = vec_add(sum[i][v], vec_all(a[i]));
        }
        if (halved) rest[i] = sum_in ? half_load_some(sum_in + i * t->sum_in_ld + vectors * LANES, last) : half_all(0);
    }
    if (DOT_GROUP == 4) a += MR;
    const int64_t a_next_step = t->a_next_step, c_step = (t->sum_out != NULL ? t->sum_out_ld : t->ldc) * SIZE;
    uintptr_t at_a = t->a_next, at_c = t->c_next;
    int64_t c_lines = (units * UNIT * (int64_t)sizeof(real) + CPU_LINE_BYTES - 1) / CPU_LINE_BYTES;
    /* lines that there will be no steps for */
    for (; c_lines * TILE_ROWS > t->k && c_lines > 1; c_lines--, at_c += CPU_LINE_BYTES) {
        UNROLLED(8)
        for (int i = 0; i < TILE_ROWS; i++) __builtin_prefetch((const void *)(at_c + (uintptr_t)(i * c_step)), 1);
    }
    feed f = {a, a + 4 * a_rs, b, a_rs, 2 * a_rs, 3 * a_rs, t->b_next};
    for (int64_t k_left = t->k; k_left > 0;) {
        /* all of C has been prefetched: MR steps without anything to count */
        if (way != CPU_FEED_ANY && c_lines <= 0 && k_left >= MR) {
            UNROLLED(8)
            for (int p = 0; p < MR; p++, f.a_low += a_cs, f.a_high += a_cs, f.b += NR) {
                __builtin_prefetch((const void *)at_a), at_a += (uintptr_t)a_next_step;
                if (p % TILE_ROWS == TILE_ROWS - 1) at_a += (uintptr_t)t->a_next_back;
                step_of(&f, rows, units, masked, way, last, sum, rest);
            }
            k_left -= MR;
            continue;
        }
        int64_t steps = smaller(TILE_ROWS, k_left);
        ROLLED
        do {
            __builtin_prefetch((const void *)at_a), __builtin_prefetch((const void *)at_c, 1);
            at_a += (uintptr_t)a_next_step, at_c += (uintptr_t)c_step;
            step_of(&f, rows, units, masked, way, last, sum, rest);
            f.a_low += a_cs, f.a_high += a_cs, f.b += b_rs;
        } while (--steps > 0);
        at_a += (uintptr_t)t->a_next_back, at_c -= (uintptr_t)(TILE_ROWS * c_step);
        at_c += --c_lines > 0 ? CPU_LINE_BYTES : 0, k_left -= TILE_ROWS;
    }
    store_tile(t, rows, units, masked, last, sum, rest);
}

#define TILE(r, u)                                                                                                     \
    static __attribute__((noinline)) void tile_##r##_##u(const cpu_tile *t)                                            \
    {                                                                                                                  \
        if ((r) <= MR && (r) % PARTS == 0 && (u) <= UNITS)                                                             \
            tile_of(t, (r) <= MR ? (r) : MR, (u) <= UNITS ? (u) : UNITS, true, CPU_FEED_ANY);                          \
    }
/* clang-format off */
#define TILES(r)   TILE(r, 1) TILE(r, 2) TILE(r, 3) TILE(r, 4) TILE(r, 5) TILE(r, 6)
#define OF_ROWS(r) {tile_##r##_1, tile_##r##_2, tile_##r##_3, tile_##r##_4, tile_##r##_5, tile_##r##_6}
TILES(1) TILES(2) TILES(3) TILES(4) TILES(5) TILES(6) TILES(7) TILES(8)
static cpu_micro *const edge_tiles[8][6] = {OF_ROWS(1), OF_ROWS(2), OF_ROWS(3), OF_ROWS(4),
                                            OF_ROWS(5), OF_ROWS(6), OF_ROWS(7), OF_ROWS(8)};
/* clang-format on */

/* No row and no lane of it is missing. */
#define WHOLE(v)                                                                                                       \
    static __attribute__((noinline)) void whole_##v(const cpu_tile *t)                                                 \
    {                                                                                                                  \
        if ((v) <= V) tile_of(t, MR, ((v) <= V ? (v) : V) * LANES / UNIT, false, CPU_FEED_ANY);                        \
    }
/* clang-format off */
WHOLE(1) WHOLE(2) WHOLE(3)
static cpu_micro *const whole_tiles[] = {whole_1, whole_2, whole_3};
/* clang-format on */

ALWAYS void direct_tile(const cpu_tile *t)
{
    if (t->rows == TILE_ROWS && t->cols * PARTS % LANES == 0)
        whole_tiles[t->cols * PARTS / LANES - 1](t);
    else
        edge_tiles[t->rows * PARTS - 1][(t->cols * PARTS - 1) / UNIT](t);
}

void KERNEL(const cpu_tile *t)
{
    const bool whole = t->rows == TILE_ROWS && t->cols == TILE_COLS;
    if (whole && t->feed == CPU_FEED_PANELS)
        tile_of(t, MR, UNITS, false, CPU_FEED_PANELS);
    else if (DOT == 0 && whole && t->feed == CPU_FEED_ROWS)
        tile_of(t, MR, UNITS, false, CPU_FEED_ROWS);
    else
        direct_tile(t);
}

#if DOT == 0
/* Prefetch rows of an operand at once; rows that lie close together as one run. */
ALWAYS void prefetch_rows(const void *at, int64_t rows, int64_t ld_bytes, int64_t bytes, const bool writes)
{
    uintptr_t row = (uintptr_t)at;
    if (ld_bytes < bytes + CPU_LINE_BYTES) bytes += (rows - 1) * ld_bytes, rows = 1;
    for (int64_t i = 0; i < rows; i++, row += (uintptr_t)ld_bytes)
        for (uintptr_t q = row; q < row + (uintptr_t)bytes; q += CPU_LINE_BYTES)
            if (writes)
                __builtin_prefetch((const void *)q, 1);
            else
                __builtin_prefetch((const void *)q, 0);
}

enum { TINY_BYTES = 3584, B_AHEAD = 8 }; /* docs/perf/cpu-small.md#even-tiles */

#define JOIN(x, y)  JOIN_(x, y)
#define JOIN_(x, y) x##y

/* Slivers: a tall product with so few steps of k and so few columns, at most `lanes`, that B stays in registers. One
 * row of A after the other makes a row of C, at the rate of the memory, with the sums of tiles in their order. Where
 * rows of C follow each other and C is not read, whole vectors are stored, whose last lanes the next rows overwrite:
 * some processors take long for masked stores. */
/* clang-format off */
#define SLIVERS(kind, lanes)                                                                                           \
    ALWAYS void kind##_slivers_of(const cpu_unpacked *x, double alpha, double beta, const real *a, const real *b,      \
                                  real *c, const int steps)                                                            \
    {                                                                                                                  \
        const some first = vec_first(x->n);                                                                            \
        const bool reads_c = epilogue_reads(beta), follow = x->ldc == x->n && !reads_c;                                \
        const int64_t cells = x->m * x->n, whole = follow && cells >= (lanes) ? (cells - (lanes)) / x->n + 1 : 0;      \
        const kind scale = kind##_all(real_of(alpha)), of_c = kind##_all(real_of(beta));                               \
        kind row[CPU_SLIVER_STEPS];                                                                                    \
        UNROLLED(8)                                                                                                    \
        for (int p = 0; p < steps; p++) row[p] = kind##_load_some(b + p * x->b_rs, first);                             \
        for (int64_t i = 0; i < x->m; i++, a += x->a_rs, c += x->ldc) {                                                \
            kind sum = kind##_all(0);                                                                                  \
            UNROLLED(8)                                                                                                \
            for (int p = 0; p < steps; p++) sum = kind##_fma(kind##_all(a[p * x->a_cs]), row[p], sum);                 \
            sum = EPILOGUE(kind, scale, sum, of_c, reads_c, kind##_load_some(c, first));                               \
            if (i < whole)                                                                                             \
                kind##_store(c, sum);                                                                                  \
            else                                                                                                       \
                kind##_store_some(c, first, sum);                                                                      \
        }                                                                                                              \
    }                                                                                                                  \
    static void kind##_slivers(const cpu_unpacked *x, double alpha, double beta, const real *a, const real *b,         \
                               real *c)                                                                                \
    {                                                                                                                  \
        switch (x->k) {                                                                                                \
        case 1: kind##_slivers_of(x, alpha, beta, a, b, c, 1); break;                                                  \
        case 2: kind##_slivers_of(x, alpha, beta, a, b, c, 2); break;                                                  \
        case 3: kind##_slivers_of(x, alpha, beta, a, b, c, 3); break;                                                  \
        case 4: kind##_slivers_of(x, alpha, beta, a, b, c, 4); break;                                                  \
        case 5: kind##_slivers_of(x, alpha, beta, a, b, c, 5); break;                                                  \
        case 6: kind##_slivers_of(x, alpha, beta, a, b, c, 6); break;                                                  \
        case 7: kind##_slivers_of(x, alpha, beta, a, b, c, 7); break;                                                  \
        default: kind##_slivers_of(x, alpha, beta, a, b, c, CPU_SLIVER_STEPS);                                         \
        }                                                                                                              \
    }
#if PARTS == 1
SLIVERS(vec, LANES)
SLIVERS(half, UNIT)
#endif
/* clang-format on */

static void unpacked_product(const cpu_unpacked *x, double alpha, double beta, const void *a_all, const void *b_all,
                             void *c_all)
{
    const int64_t m = x->m, n = x->n, k = x->k, a_rs = x->a_rs, a_cs = x->a_cs, b_rs = x->b_rs, ldc = x->ldc;
    const element *a = a_all;
    element *c = c_all;
#if PARTS == 1
    if (n <= LANES && k >= 1 && k <= CPU_SLIVER_STEPS && m > TILE_ROWS) {
        (n <= UNIT ? half_slivers : vec_slivers)(x, alpha, beta, a_all, b_all, c_all);
        return;
    }
#endif
    cpu_tile t; /* each field of it set that is used, since clearing it takes longer than to fill it */
    t.k = k, t.a_rs = a_rs, t.a_cs = a_cs, t.b_rs = b_rs, t.sum_in = t.total = t.sum_out = NULL, t.ldc = ldc,
    t.alpha = alpha, t.beta = beta;
    if (PARTS == 2) t.complex = x->complex;
    t.a = a, t.b = b_all, t.c = c, t.a_next = (uintptr_t)a, t.c_next = (uintptr_t)c, t.a_next_step = t.a_next_back = 0,
    t.b_next = 0;
    if (m <= TILE_ROWS && n <= TILE_COLS) {
        t.rows = m, t.cols = n;
        direct_tile(&t);
        return;
    }
    const int64_t high = (m + TILE_ROWS - 1) / TILE_ROWS, wide = (n + UNIT_COLS - 1) / UNIT_COLS,
                  across = (wide + UNITS - 1) / UNITS;
    const int64_t rows = high == 1 ? m : m / high, taller = m - rows * high, units = across == 1 ? wide : wide / across,
                  wider = wide - units * across;
    /* Each tile prefetches an equal part of the next rows of A. */
    const int64_t a_bytes = across == 1 ? TILE_ROWS * SIZE : (TILE_ROWS * SIZE + across - 1) / across,
                  a_bytes_all = (k + TILE_ROWS - 1) / TILE_ROWS * a_bytes;
    if (a_cs == 1)
        t.a_next_step = a_rs * SIZE, t.a_next_back = a_bytes - TILE_ROWS * a_rs * SIZE;
    else
        t.a_next_step = a_cs * SIZE;
    if (high > 1 && a_cs == 1) { /* the first rows; of operands whose tiles take less time than the memory, all */
        const bool tiny = m * k * SIZE <= TINY_BYTES;
        prefetch_rows(a, tiny ? m : rows, a_rs * SIZE, k * SIZE, false);
        if (tiny) prefetch_rows(c, m, ldc * SIZE, n * SIZE, true);
    }
    t.rows = rows + (taller > 0);
    for (int64_t i = 0; i < high; i++) {
        const int64_t r_next = i + 1 >= high ? 0 : rows + (i + 1 < taller);
        t.a = a, t.b = b_all, t.c = c, t.a_next = (uintptr_t)(r_next > 0 ? a + t.rows * a_rs : a);
        int64_t left = n;
        for (int64_t j = 0; j < across; j++) {
            const int64_t whole = (units + (j < wider)) * UNIT_COLS, cols = whole < left ? whole : left;
            t.cols = cols, left -= cols;
            t.c_next = (uintptr_t)(left > 0 ? (element *)t.c + cols : r_next > 0 ? c + t.rows * ldc : (element *)t.c);
            t.b_next = left > 0 && i == 0 ? cols * SIZE : B_AHEAD * b_rs * SIZE; /* the first rows of tiles bring B */
            direct_tile(&t);
            t.a_next = a_cs == 1 && r_next > 0 ? t.a_next + (uintptr_t)a_bytes_all : (uintptr_t)a;
            t.b = (const element *)t.b + cols, t.c = (element *)t.c + cols;
        }
        a += t.rows * a_rs, c += t.rows * ldc;
        t.rows = r_next;
    }
}

#if PARTS == 1
/* The block of C^T that is computed at a time: whole tiles and whole squares, small enough for the L1. */
enum {
    TRANSPOSED_ROWS = CPU_LINE_BYTES / SIZE % MR == 0 ? CPU_LINE_BYTES / SIZE : CPU_LINE_BYTES * 3 / 2 / SIZE,
    TRANSPOSED_COLS = 24576 / SIZE / TRANSPOSED_ROWS
};
_Static_assert(TRANSPOSED_ROWS % LANES == 0 && TRANSPOSED_COLS % LANES == 0, "squares of LANES");

/* c <- the transpose of rows x cols elements, whose rows are TRANSPOSED_COLS apart. */
static void store_transposed(const real *from, int64_t rows, int64_t cols, real *c, int64_t ldc)
{
    for (int64_t j = 0; j < cols; j += LANES)
        for (int64_t i = 0; i < rows; i += LANES) {
            const int64_t lanes = smaller(LANES, rows - i), lines = smaller(LANES, cols - j);
            vec square[LANES], made[LANES];
            UNROLLED(16)
            for (int q = 0; q < LANES; q++) square[q] = vec_load(from + (i + q) * TRANSPOSED_COLS + j);
            vec_transpose(square, made);
            for (int q = 0; q < lines; q++)
                store_at(c + (j + q) * ldc + i, 0, lanes < LANES, vec_first(lanes), made[q]);
        }
}

/* Both operands transposed: C^T = B A. */
static void unpacked_transposed(const cpu_unpacked *x, double alpha, const real *a, const real *b, real *c)
{
    real part[TRANSPOSED_ROWS * TRANSPOSED_COLS] __attribute__((aligned(64)));
    cpu_unpacked some = {.k = x->k, .a_rs = x->a_rs, .a_cs = x->a_cs, .b_rs = x->b_rs, .ldc = TRANSPOSED_COLS};
    for (int64_t i = 0; i < x->m; i += TRANSPOSED_ROWS)
        for (int64_t j = 0; j < x->n; j += TRANSPOSED_COLS) {
            real *at = c + j * x->ldc + i;
            some.m = smaller(TRANSPOSED_ROWS, x->m - i), some.n = smaller(TRANSPOSED_COLS, x->n - j);
            prefetch_rows(at, some.n, x->ldc * SIZE, some.m * SIZE, true);
            unpacked_product(&some, alpha, 0, a + i * x->a_rs, b + j, part);
            store_transposed(part, some.m, some.n, at, x->ldc);
        }
}

#endif

void JOIN(KERNEL, _unpacked)(const cpu_unpacked *x, double alpha, double beta, const void *a, const void *b, void *c)
{
#if PARTS == 1
    if (x->transposed) {
        unpacked_transposed(x, alpha, a, b, c);
        return;
    }
#endif
    unpacked_product(x, alpha, beta, a, b, c);
}
#endif
