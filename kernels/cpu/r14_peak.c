/* r14_peak - the production micro-kernel of the CPU: an MR x NR tile of C in vector registers.
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
 *           With v = NR / LANES vectors it takes MR + v loads for MR * v multiply-adds, and MR * v independent chains cover the
 *           latency of the multiply-add units. Packing put both operands in the order in which they are read here.
 * NUMBERS   AVX-512: 8 x 3 chains, 11 loads for 24 FMAs. AVX2: 6 x 2, 8 for 12. Baseline: 4 x 2, 6 for 8.
 *           A tile that C cuts off has a copy of this code for its number of rows and vectors, the last vector behind a mask, half a
 *           vector where that does: no flop of a row that is not there, and nothing outside is touched. Operands that are not packed are read where they lie: the same
 *           sums in the same order.
 *           Every few steps of k some lines are asked for that tiles to come will read and write.
 *           bf16 and int8: panels hold words of two or four neighbours along k, and a multiply-add is an instruction that adds all their
 *           products (vec_step): 2 or 4 times the flops for the same loads.
 * LIMITS    NR a multiple of LANES, at most 3 of them; MR at most 8. The loops around it: src/engines/cpu/loops.c.
 * SOURCE    Goto, van de Geijn 2008; Van Zee, van de Geijn 2015. */
#include "rung.h"
#include "vec.h"

#if REAL_IS_INT
#define real_of(x) ((real)(int64_t)(x)) /* of whole numbers, negative ones too */
#else
#define real_of(x) ((real)(x))
#endif

enum { V = NR / LANES };
_Static_assert(NR % LANES == 0, "NR is a multiple of the vector's lanes");

_Static_assert(MR <= 8 && V <= 3, "KERNEL has a case for each number of rows and vectors");

#define ALWAYS static inline __attribute__((always_inline))

/* What a tile's last vector holds of a row: all of it, or its first lanes. */
ALWAYS vec load_at(const real *row, int v, bool cut, some last) { return cut ? vec_load_some(row + v * LANES, last) : vec_load(row + v * LANES); }

ALWAYS void store_at(real *row, int v, bool cut, some last, vec x)
{
    if (cut)
        vec_store_some(row + v * LANES, last, x);
    else
        vec_store(row + v * LANES, x);
}

/* Where a cpu_ahead stands. In memory, as volatile makes sure: in registers it would drive out those that the line that multiplies needs. */
typedef volatile struct asking {
    uintptr_t at;
    int64_t row;
} asking;

ALWAYS void ask_line(uintptr_t at, const bool writes)
{
    if (writes)
        __builtin_prefetch((const void *)at, 1);
    else
        __builtin_prefetch((const void *)at, 0);
}

ALWAYS void ask(asking *now, const volatile cpu_ahead *x, const bool writes)
{
    const int64_t rows = x->rows, ld = x->ld;
    int64_t left = x->each, row = now->row;
    uintptr_t at = now->at;
    for (; left >= MR && rows == MR && row == 0; left -= MR, at += CPU_LINE_BYTES)
        UNROLLED(8)
        for (int64_t i = 0; i < MR; i++) ask_line(at + (uintptr_t)(i * ld), writes);
    for (; left > 0; left--) {
        ask_line(at, writes);
        bool wraps = ++row == rows;
        at += (uintptr_t)(wraps ? CPU_LINE_BYTES - (rows - 1) * ld : ld);
        row = wraps ? 0 : row;
    }
    now->at = at, now->row = row;
}

/* The tile with its numbers of rows and of vectors as constants; halved: half a vector more; cut: the last of them may not be whole; packed: see cpu.h. */
ALWAYS void tile_of(const cpu_tile *t, const int rows, const int vectors, const bool halved, const bool cut, const bool packed)
{
    const real *a = t->a, *b = t->b, *sum_in = t->sum_in;
    const int64_t a_rs = packed ? 1 : t->a_rs, a_cs = packed ? MR : t->a_cs, b_rs = packed ? NR : t->b_rs;
    const int end = halved || !cut ? vectors : vectors - 1; /* this vector is masked */
    const some last = vec_first(t->cols - (halved ? vectors : vectors - 1) * LANES);
    vec sum[MR][V];
    half rest[MR];
    UNROLLED(8)
    for (int i = 0; i < rows; i++) {
        UNROLLED(4)
        for (int v = 0; v < vectors; v++) {
            sum[i][v] = sum_in ? load_at(sum_in + i * t->sum_in_ld, v, v == end, last) : vec_all(0);
            if (DOT == DOT_U8) sum[i][v] = vec_add(sum[i][v], vec_all(a[i])); /* a panel's first step: -128 times each row's sum */
        }
        if (halved) rest[i] = sum_in ? half_load_some(sum_in + i * t->sum_in_ld + vectors * LANES, last) : half_all(0);
    }
    if (DOT == DOT_U8) a += MR;
    real *out = t->sum_out != NULL ? t->sum_out : t->c;
    const int64_t out_ld = t->sum_out != NULL ? t->sum_out_ld : t->ldc;
    asking ask_a = {t->ahead_a.at, 0}, ask_c = {t->ahead_c.at, 0};
    const int64_t steps = t->ahead_a.each + t->ahead_c.each > 0 ? t->ask_steps : t->k;
    for (int64_t p = 0; p < t->k;) {
        ask(&ask_a, &t->ahead_a, false), ask(&ask_c, &t->ahead_c, true);
        for (const int64_t p_last = smaller(t->k, p + steps); p < p_last; p++, a += a_cs, b += b_rs) {
            vec row[V];
            half row_rest;
            UNROLLED(4)
            for (int v = 0; v < vectors; v++) row[v] = load_at(b, v, v == end, last);
            if (halved) row_rest = half_load_some(b + vectors * LANES, last);
            if (!packed) /* these rows of the columns to the right come next */
                UNROLLED(4)
                for (int v = 0; v < vectors; v++) __builtin_prefetch((const void *)((uintptr_t)(const void *)b + NR * sizeof(real) + (size_t)v * CPU_LINE_BYTES));
            UNROLLED(8)
            for (int i = 0; i < rows; i++) {
                vec column = vec_all(a[i * a_rs]);
                UNROLLED(4)
                for (int v = 0; v < vectors; v++) sum[i][v] = vec_step(column, row[v], sum[i][v]); /* the line that multiplies */
                if (halved) rest[i] = half_fma(half_of(column), row_rest, rest[i]);
            }
        }
    }
    const vec alpha = vec_all(real_of(t->alpha)), beta = vec_all(real_of(t->beta));
    const half half_alpha = half_all(real_of(t->alpha)), half_beta = half_all(real_of(t->beta));
    const bool ends = t->sum_out == NULL, reads_c = t->beta != 0; /* known before C is written: it might be t, for all the compiler knows */
    UNROLLED(8)
    for (int i = 0; i < rows; i++) {
        real *at = out + i * out_ld;
        UNROLLED(4)
        for (int v = 0; v < vectors; v++) {
            vec x = sum[i][v];
            if (ends) x = reads_c ? vec_fma(alpha, x, vec_mul(beta, load_at(at, v, v == end, last))) : vec_mul(alpha, x);
            store_at(at, v, v == end, last, x);
        }
        if (halved) {
            half x = rest[i];
            if (ends) x = reads_c ? half_fma(half_alpha, x, half_mul(half_beta, half_load_some(at + vectors * LANES, last))) : half_mul(half_alpha, x);
            half_store_some(at + vectors * LANES, last, x);
        }
    }
}

/* A tile that is not whole, by its numbers of rows and half vectors; half a vector more or less only where there are such. */
#define CASE(r, h)                                                                                                     \
    case (h)*8 + (r)-1:                                                                                                \
        if ((r) <= MR && ((h) + 1) / 2 <= V && (HAS_HALVES || (h) % 2 == 0))                                           \
            tile_of(t, (r) <= MR ? (r) : MR, (h) / 2 <= V ? (h) / 2 : V, (h) % 2, true, false);                        \
        break;
#define CASES(h) CASE(1, h) CASE(2, h) CASE(3, h) CASE(4, h) CASE(5, h) CASE(6, h) CASE(7, h) CASE(8, h)
static __attribute__((noinline)) void cut_tile(const cpu_tile *t)
{
    const int64_t halves = HAS_HALVES ? (2 * t->cols + LANES - 1) / LANES : (t->cols + LANES - 1) / LANES * 2;
    switch (halves * 8 + t->rows - 1) { CASES(1) CASES(2) CASES(3) CASES(4) CASES(5) CASES(6) }
}

void KERNEL(const cpu_tile *t)
{
    bool whole = t->rows == MR && t->cols == NR;
    if (whole && t->packed)
        tile_of(t, MR, V, false, false, true);
    else if (whole)
        tile_of(t, MR, V, false, false, false);
    else
        cut_tile(t);
}
