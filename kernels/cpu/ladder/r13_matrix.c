/* r13_matrix - the production micro-kernel on the processor's matrix unit (AMX): a 32 x 32 tile of C in four of its
 * tiles.
 *
 * IDEA      One instruction multiplies 16 rows of A by 16 columns of B, 64 bytes deep: 32 bf16 or 64 int8.
 *
 *                          B: 16 words deep        b 0      b 1      two tiles of B, two of A, four of sums:
 *                          of 16 columns        .--------.--------.  four loads for four products
 *              A: 16 rows,                 a 0  | sum 00 | sum 01 |
 *              64 bytes of k each          a 1  | sum 10 | sum 11 |
 *                                               '--------'--------'
 *
 *           A word is two bf16 or four int8, neighbours along k, as everywhere where panels hold words. A's panel lies
 *           block by block: 16 words of each of its rows, so that a tile is 1 KiB without gaps; B's as always, step
 *           after step.
 * NUMBERS   A product takes 16 cycles, 1024 flop a cycle in bf16 and 2048 in int8: 16 and 32 times what two ports of
 *           AVX-512 do in f32. Four loads of 1 KiB in 64 cycles, which the L2 must deliver: panels are 2 KiB deep. Half
 *           as deep, A's part would stay in the L1, but C be brought from memory and taken back twice as often, which
 *           costs more (docs/perf/cpu-bf16-int8.md).
 *           Sums of bf16: of each block of 32 along k the even and the odd products each add up in f32 from 0, then the
 *           two, then what was before; what is subnormal counts as 0 (Intel SDM 2, TDPBF16PS).
 * LIMITS    MR and NR are 32. Rows and columns beyond C are zeros of the panels; their sums go no further than the
 *           stack. The thread has configured the tiles (kernels/cpu/tiles.c).
 * SOURCE    Intel SDM 1, chapter 18; Intel Optimization Reference Manual, chapter 20. */
#include "../rung.h"
#include "../tiles.h"

#include <string.h>

enum { WORDS = TILE_BYTES / 4, PART_BYTES = NR * 4 };
_Static_assert(MR == 2 * TILE_EDGE && NR == 2 * TILE_EDGE, "four tiles of sums");

#define EACH_SUM(do_it, at, stride)                                                                                    \
    do {                                                                                                               \
        char *const at_ = (char *)(uintptr_t)(const void *)(at);                                                       \
        const int64_t stride_ = (stride);                                                                              \
        do_it(0, at_, stride_);                                                                                        \
        do_it(1, at_ + TILE_BYTES, stride_);                                                                           \
        do_it(2, at_ + TILE_EDGE * stride_, stride_);                                                                  \
        do_it(3, at_ + TILE_EDGE * stride_ + TILE_BYTES, stride_);                                                     \
    } while (0)

static void begin_sums(const cpu_tile *t, bool whole, real part[MR][NR])
{
    const real *sums = t->sum_in;
    if (sums == NULL) {
        tile_zero(0);
        tile_zero(1);
        tile_zero(2);
        tile_zero(3);
        return;
    }
    if (!whole) {
        memset(part, 0, sizeof(real[MR][NR]));
        for (int64_t i = 0; i < t->rows; i++) memcpy(part[i], sums + i * t->sum_in_ld, (size_t)t->cols * sizeof(real));
        tiles_ordered();
    }
    EACH_SUM(tile_load, whole ? sums : part[0], whole ? t->sum_in_ld * 4 : PART_BYTES);
}

static void end_sums(const cpu_tile *t, bool whole, real part[MR][NR])
{
    real *out = t->sum_out != NULL ? t->sum_out : t->c;
    if (whole && t->sum_out != NULL && t->total == NULL) {
        EACH_SUM(tile_store, out, t->sum_out_ld * 4);
        return;
    }
    EACH_SUM(tile_store, part[0], PART_BYTES);
    const real *total = t->total;
    for (int64_t i = 0; total != NULL && i < t->rows; i++)
        for (int64_t j = 0; j < t->cols; j++) part[i][j] = total[i * t->total_ld + j] + part[i][j];
    const real alpha = real_of(t->alpha), beta = real_of(t->beta);
    for (int64_t i = 0; i < t->rows; i++) {
        real *row = out + i * (t->sum_out != NULL ? t->sum_out_ld : t->ldc);
        if (t->sum_out != NULL)
            memcpy(row, part[i], (size_t)t->cols * sizeof(real));
        else if (!epilogue_reads(t->beta))
            for (int64_t j = 0; j < t->cols; j++) row[j] = alpha * part[i][j];
        else
            for (int64_t j = 0; j < t->cols; j++) row[j] = times_plus(alpha, part[i][j], beta * row[j]);
    }
}

/* The sums, of each 16 words of k; which bytes are unsigned is a constant. */
static inline __attribute__((always_inline)) void add_products(const cpu_tile *t, const int kind)
{
    const bool low = t->rows > TILE_EDGE, right = t->cols > TILE_EDGE;
    const char *a = t->a, *b = t->b;
    for (int64_t p = 0; p < t->k; p += WORDS, a += MR * TILE_BYTES, b += WORDS * PART_BYTES) {
        tile_load(4, a, TILE_BYTES);
        tile_load(6, b, PART_BYTES);
        tile_step(kind, 0, 4, 6);
        if (right) {
            tile_load(7, b + TILE_BYTES, PART_BYTES);
            tile_step(kind, 1, 4, 7);
        }
        if (!low) continue;
        tile_load(5, a + TILE_EDGE * TILE_BYTES, TILE_BYTES);
        tile_step(kind, 2, 5, 6);
        if (right) tile_step(kind, 3, 5, 7);
    }
}

void KERNEL(const cpu_tile *t)
{
    _Alignas(64) real part[MR][NR];
    const bool whole = t->rows == MR && t->cols == NR;
    begin_sums(t, whole, part);
    const int64_t out_bytes = (t->sum_out != NULL ? t->sum_out_ld : t->ldc) * (int64_t)sizeof(real);
    for (int64_t i = 0; i < MR; i++) /* at once: a panel is longer than the memory's answer */
        for (int64_t line = 0; line < PART_BYTES; line += CPU_LINE_BYTES)
            __builtin_prefetch((const void *)(t->c_next + (uintptr_t)(i * out_bytes + line)));
    if (!IS_INT8 || (!t->a_unsigned && !t->b_unsigned))
        add_products(t, 0);
    else if (!t->a_unsigned)
        add_products(t, 1);
    else if (!t->b_unsigned)
        add_products(t, 2);
    else
        add_products(t, 3);
    end_sums(t, whole, part);
}
