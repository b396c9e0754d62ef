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
 *           A tile that C cuts off has a copy of this code for its number of rows and vectors, the last vector behind a mask: no flop of a
 *           row that is not there, and nothing outside is touched. Operands that are not packed are read where they lie: the same
 *           sums in the same order.
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

/* The tile with its numbers of rows and vectors as constants; cut: the last vector may not be whole; packed: see cpu.h. */
ALWAYS void tile_of(const cpu_tile *t, const int rows, const int vectors, const bool cut, const bool packed)
{
    const real *a = t->a, *b = t->b, *sum_in = t->sum_in;
    const int64_t a_rs = packed ? 1 : t->a_rs, a_cs = packed ? MR : t->a_cs, b_rs = packed ? NR : t->b_rs;
    const some last = vec_first(t->cols - (vectors - 1) * LANES);
    vec sum[MR][V];
    UNROLLED(8)
    for (int i = 0; i < rows; i++)
        UNROLLED(4)
        for (int v = 0; v < vectors; v++) {
            sum[i][v] = sum_in ? load_at(sum_in + i * t->sum_in_ld, v, cut && v == vectors - 1, last) : vec_all(0);
            if (DOT == DOT_U8) sum[i][v] = vec_add(sum[i][v], vec_all(a[i])); /* a panel's first step: -128 times each row's sum */
        }
    if (DOT == DOT_U8) a += MR;
    real *out = t->sum_out != NULL ? t->sum_out : t->c;
    const int64_t out_ld = t->sum_out != NULL ? t->sum_out_ld : t->ldc;
    if (t->next != NULL)
        UNROLLED(8)
        for (int i = 0; i < rows; i++)
            UNROLLED(4)
            for (int v = 0; v < vectors; v++) __builtin_prefetch((const void *)((uintptr_t)t->next + ((size_t)(i * out_ld) + (size_t)v * LANES) * sizeof(real)));
    for (int64_t p = 0; p < t->k; p++, a += a_cs, b += b_rs) {
        vec row[V];
        UNROLLED(4)
        for (int v = 0; v < vectors; v++) row[v] = load_at(b, v, cut && v == vectors - 1, last);
        if (!packed) /* these rows of the columns to the right come next */
            UNROLLED(4)
            for (int v = 0; v < vectors; v++) __builtin_prefetch((const void *)((uintptr_t)(const void *)b + NR * sizeof(real) + (size_t)v * 64));
        UNROLLED(8)
        for (int i = 0; i < rows; i++) {
            vec column = vec_all(a[i * a_rs]);
            UNROLLED(4)
            for (int v = 0; v < vectors; v++) sum[i][v] = vec_step(column, row[v], sum[i][v]); /* the line that multiplies */
        }
    }
    const vec alpha = vec_all(real_of(t->alpha)), beta = vec_all(real_of(t->beta));
    const bool ends = t->sum_out == NULL, reads_c = t->beta != 0; /* known before C is written: it might be t, for all the compiler knows */
    UNROLLED(8)
    for (int i = 0; i < rows; i++)
        UNROLLED(4)
        for (int v = 0; v < vectors; v++) {
            real *at = out + i * out_ld;
            bool end = cut && v == vectors - 1;
            vec x = sum[i][v];
            if (ends) x = reads_c ? vec_fma(alpha, x, vec_mul(beta, load_at(at, v, end, last))) : vec_mul(alpha, x);
            store_at(at, v, end, last, x);
        }
}

/* A tile that is not whole, by its numbers of rows and vectors. */
#define CASE(r, v)                                                                                                     \
    case (v)*8 + (r)-1:                                                                                                \
        if ((r) <= MR && (v) <= V) tile_of(t, (r) <= MR ? (r) : MR, (v) <= V ? (v) : V, true, false);                  \
        break;
#define CASES(v) CASE(1, v) CASE(2, v) CASE(3, v) CASE(4, v) CASE(5, v) CASE(6, v) CASE(7, v) CASE(8, v)
static __attribute__((noinline)) void cut_tile(const cpu_tile *t)
{
    switch ((t->cols + LANES - 1) / LANES * 8 + t->rows - 1) { CASES(1) CASES(2) CASES(3) }
}

void KERNEL(const cpu_tile *t)
{
    bool whole = t->rows == MR && t->cols == NR;
    if (whole && t->packed)
        tile_of(t, MR, V, false, true);
    else if (whole)
        tile_of(t, MR, V, false, false);
    else
        cut_tile(t);
}
