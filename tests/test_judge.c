/* test_judge.c - the teacher's grade: wrong solutions of the exercises are judged wrong, and their mistake is named.
 *
 * Each line of the table is a small edit of a rung, whose text a filled exercise is (tests/test_course.py), and what
 * the judge of `ladder --rung`, `explain` and `grade` (lanes.h) must say of it: a mistake, or "right, but" where the
 * file costs more than its rung. The edits are in OpenCL's words; in CUDA's they must be named alike. ./dev test takes
 * each in one of the two languages, of rungs that take long a half or a quarter of them; --full all in both, and has
 * them graded too: a text that nobody has read must be judged in the same words. */
#include <unistd.h>
#include "../course/judge/lanes.h"
#include "../course/judge/user_kernel.h"
#include "../course/judge/verdict.h"
#include "../program/confine.h"
#include "../course/story.h"
#include "support/changed.h"
#include "support/tap.h"
#include "table.h"

#define BARRIER "barrier(CLK_LOCAL_MEM_FENCE);"
#define BOTH    2 /* edits */

typedef struct solution {
    const char *rung;
    const char *from[BOTH], *to[BOTH];
    const char *says; /* "": it is right */
} solution;

#define ONE(rung, from, to, says)                                                                                      \
    {                                                                                                                  \
        rung, {from, NULL}, {to, NULL}, says                                                                           \
    }
#define TWO(rung, f1, t1, f2, t2, says)                                                                                \
    {                                                                                                                  \
        rung, {f1, f2}, {t1, t2}, says                                                                                 \
    }

/* ---- the mistakes ---- */

#define GROUPS_EXCHANGED "x and y of the group are exchanged: group (0, 1) stores C("
#define TOO_MANY         "a step of k too many, or is a guard missing?"
#define UNGUARDED        "is a guard missing?"
#define STORES_FIRST     "no barrier stands between the stores into a tile and its reads"
#define READS_FIRST      "no barrier stands between the reads of a tile and the next stores into it"
#define FENCE            "; a fence makes no work-item wait"
#define EARLY            "ends before a barrier that others of its "
#define UNSET            "it is not set to 0"
#define LAST_TILE        "the last 9 of the 73 products of each sum are missing"
#define A_STANDS         "columns 16 to 47 of A are never read: its tile does not move"
#define CONFLICT         " wavefronts a request where "

#define I_J "int i = get_group_id(1) * TILE + get_local_id(1), j = get_group_id(0) * TILE + get_local_id(0);"
#define I_J_OF(group_i, local_i, group_j, local_j)                                                                     \
    "int i = get_group_id(" #group_i ") * TILE + get_local_id(" #local_i "), j = get_group_id(" #group_j               \
    ") * TILE + get_local_id(" #local_j ");"
#define INSIDE "if (i >= m || j >= n) return;"
#define BLEND  "blend(&C(i, j), alpha, sum, beta);"

static const solution of_r01[] = {
    ONE("r01_naive", "", "", ""),
    ONE("r01_naive", I_J, I_J_OF(0, 1, 1, 0), GROUPS_EXCHANGED),
    ONE("r01_naive", I_J, I_J_OF(1, 0, 0, 1),
        "right, but load of A asks 16 sectors a request where r01_naive asks 2: uncoalesced"),
    ONE("r01_naive", I_J, I_J_OF(0, 0, 1, 1), GROUPS_EXCHANGED),
    ONE("r01_naive", INSIDE, "", UNGUARDED),
    ONE("r01_naive", INSIDE, "if (i >= m) return;", UNGUARDED),
    ONE("r01_naive", INSIDE, "if (i > m || j > n) return;", UNGUARDED),
    ONE("r01_naive", INSIDE, "if (i >= m || j >= n - 1) return;",
        "48 of the 2304 elements of C are not written, the first is C(0, 47)"),
    ONE("r01_naive", INSIDE, "return;", "C is not written"),
    ONE("r01_naive", "p < k;", "p < k + 1;", TOO_MANY),
    ONE("r01_naive", "p < k;", "p <= k;", TOO_MANY),
    ONE("r01_naive", "p < k;", "p < k - 1;", "the last of the 48 products of each sum is missing"),
    ONE("r01_naive", "int p = 0;", "int p = 1;", "the first of the 48 products of each sum is missing"),
    ONE("r01_naive", "p < k;", "p < n;", "the last 14 of the 73 products of each sum are missing"),
    ONE("r01_naive", "p++)", "p += 2)", "in each tile of 2, the last product is missing"),
    ONE("r01_naive", "A(i, p)", "A(p, i)", "row and column of A are exchanged"),
    ONE("r01_naive", "B(p, j), sum", "B(j, p), sum", "row and column of B are exchanged"),
    ONE("r01_naive", "&C(i, j)", "&C(j, i)", "C is the transpose of the product"),
    ONE("r01_naive", "A(i, p), B(p, j)", "A(j, p), B(p, i)", "C is the transpose of the product"),
    ONE("r01_naive", "A(i, p)", "A(j, p)", "the row of A follows the column of C"),
    ONE("r01_naive", "A(i, p)", "A(i, 0)", "A(i, p) and A(i, p + 1) are the same word"),
    ONE("r01_naive", "B(p, j), sum", "b[(long)p * k + j], sum",
        "B(p, j) and B(p + 1, j) are read 48 = m or n or k words apart, expected 640 = ldb"),
    ONE("r01_naive", "A(i, p)", "a[(long)i * k + p]",
        "A(i, p) and A(i + 1, p) are read 48 = m or n or k words apart, expected 160 = lda"),
    ONE("r01_naive", "&C(i, j)", "&c[(long)i * n + j]",
        "C(i, j) and C(i + 1, j) are stored 48 = m or n or k words apart, expected 672 = ldc"),
    ONE("r01_naive", "A(i, p)", "a[(long)i * lda + p]", "with A transposed, alpha 2 and beta 3: "),
    ONE("r01_naive", "float sum = 0;", "float sum;", UNSET),
    ONE("r01_naive", "fma(A(i, p), B(p, j), sum)", "A(i, p) * B(p, j)", "the first 47 of the 48 products"),
    ONE("r01_naive", BLEND, "C(i, j) = sum;", "alpha and beta are ignored: C is A B"),
    ONE("r01_naive", BLEND, "C(i, j) = alpha * sum;", "beta is ignored: C is alpha A B"),
    ONE("r01_naive", BLEND, "C(i, j) = alpha * sum + beta * C(i, j);", "C is read where beta is 0"),
    ONE("r01_naive", BLEND, "if (beta == 0) C(i, j) = sum; else " BLEND, "alpha is ignored: C is A B"),
    ONE("r01_naive", BLEND, "if (alpha == 1) C(i, j) = sum; else " BLEND, ""),
    ONE("r01_naive", BLEND, "blend(&C(i, j), alpha, sum, (int)beta);",
        "with A and B transposed, alpha 0.5 and beta -0.25: "),
    ONE("r01_naive", "float sum = 0;", "int sum = 0;", "with alpha 2 and beta 3: "),
    ONE("r01_naive", "fma(A(i, p), B", "fma(fabs(A(i, p)) * -1, B", "with alpha 2 and beta 3: "),
};

#define TILE_OF_A "i < m && a_p < k ? A(i, a_p) : 0;"
#define WAIT_1    ": 0;\n        " BARRIER
#define WAIT_2    "sum);\n        " BARRIER
#define INSIDE_2  "if (i < m && j < n) blend"

static const solution of_r02[] = {
    ONE("r02_tiled", "", "", ""),
    ONE("r02_tiled", "ceil_div(k, TILE)", "(k + TILE - 1) / TILE", ""),
    ONE("r02_tiled", "ceil_div(k, TILE)", "k / TILE", LAST_TILE),
    ONE("r02_tiled", "ceil_div(k, TILE)", "ceil_div(k - 1, TILE)",
        "the last of the 33 products of each sum is missing"),
    ONE("r02_tiled", "ceil_div(k, TILE)", "k / TILE + 1",
        "right, but store of A's tile happens 4 times per thread where r02_tiled happens 3"),
    ONE("r02_tiled", WAIT_1, ": 0;", STORES_FIRST),
    ONE("r02_tiled", WAIT_2, "sum);", READS_FIRST),
    ONE("r02_tiled", WAIT_1, ": 0; mem_fence(CLK_LOCAL_MEM_FENCE);", STORES_FIRST),
    ONE("r02_tiled", WAIT_2, "sum); mem_fence(CLK_LOCAL_MEM_FENCE);", FENCE),
    TWO("r02_tiled", WAIT_1, ": 0;", WAIT_2, "sum);", STORES_FIRST),
    ONE("r02_tiled", "float sum = 0;", "if (i >= m || j >= n) return; float sum = 0;", EARLY),
    ONE("r02_tiled", WAIT_1, ": 0;\n        if (i < m && j < n) " BARRIER, STORES_FIRST),
    ONE("r02_tiled", "a_tile[ty][p]", "a_tile[p][ty]", "row and column of A are exchanged"),
    ONE("r02_tiled", "b_tile[p][tx]", "b_tile[tx][p]", "row and column of B are exchanged"),
    ONE("r02_tiled", "a_tile[ty][p]", "a_tile[tx][p]", "the row of A follows the column of C"),
    ONE("r02_tiled", "b_tile[p][tx]", "b_tile[p][ty]", "the column of B follows the row of C"),
    ONE("r02_tiled", "a_tile[ty][p]", "a_tile[ty][0]", "the column of A does not move"),
    ONE("r02_tiled", "b_tile[p][tx]", "b_tile[0][tx]", "the row of B does not move"),
    ONE("r02_tiled", "p < TILE;", "p < TILE - 1;", "in each tile of 16, the last product is missing"),
    ONE("r02_tiled", "int p = 0;", "int p = 1;", "in each tile of 16, the first product is missing"),
    ONE("r02_tiled", TILE_OF_A, "A(i, a_p);", UNGUARDED),
    ONE("r02_tiled", TILE_OF_A, "i < m && a_p <= k ? A(i, a_p) : 0;", TOO_MANY),
    ONE("r02_tiled", "int a_p = t * TILE + tx", "int a_p = tx", A_STANDS),
    ONE("r02_tiled", "int a_p = t * TILE + tx", "int a_p = t + tx", "columns 18 to 47 of A are never read"),
    ONE("r02_tiled", "b_p = t * TILE + tx", "b_p = tx", "rows 16 to 47 of B are never read: its tile does not move"),
    ONE("r02_tiled", "a_tile[TILE][TILE]", "a_tile[TILE][TILE - 1]", "store the same word of a tile"),
    ONE("r02_tiled", INSIDE_2, "blend", UNGUARDED),
    ONE("r02_tiled", INSIDE_2, "if (i < m) blend", UNGUARDED),
    ONE("r02_tiled", "float sum = 0;", "float sum;", UNSET),
    ONE("r02_tiled", "a_p = t * TILE + tx, b_p", "a_p = (sum = 0, t * TILE + tx), b_p",
        "the first 32 of the 48 products"),
};

static const solution of_r03[] = {
    ONE("r03_coalesced", "", "", ""),
    ONE("r03_coalesced", "b_tile[tx][ty] = b_p < k && j < n ? B(b_p, j) : 0;",
        "b_p = t * TILE + tx; int b_j = get_group_id(0) * TILE + ty;\n"
        "        b_tile[ty][tx] = b_p < k && b_j < n ? B(b_p, b_j) : 0;",
        "right, but load of B asks 16 sectors a request where r03_coalesced asks 4: uncoalesced"),
    TWO("r03_coalesced", "b_tile[tx][ty] = b_p", "b_tile[ty][tx] = b_p", "b_tile[tx][p], sum", "b_tile[p][tx], sum",
        ""),
    ONE("r03_coalesced", "b_tile[tx][ty] = b_p", "b_tile[ty][tx] = b_p", "row and column of B are exchanged"),
    ONE("r03_coalesced", "b_tile[tx][p], sum", "b_tile[p][tx], sum", "row and column of B are exchanged"),
    ONE("r03_coalesced", "B(b_p, j)", "B(j, b_p)", "row and column of B are exchanged"),
    ONE("r03_coalesced", "B(b_p, j)", "b[(long)b_p * k + j]",
        "B(p, j) and B(p + 1, j) are read 48 = m or n or k words apart"),
    ONE("r03_coalesced", "b_p = t * TILE + ty", "b_p = t * TILE + tx", "row"),
    ONE("r03_coalesced", "b_tile[tx][p], sum", "b_tile[ty][p], sum", "the column of B follows the row of C"),
    ONE("r03_coalesced", "b_p < k && j < n ? B(b_p, j) : 0", "B(b_p, j)", UNGUARDED),
};

#define I_OF_R04 "int i = get_group_id(1) * TILE + ty, j = get_group_id(0) * TILE + tx;"

static const solution of_r04[] = {
    ONE("r04_banks", "", "", ""),
    TWO("r04_banks", "b_tile[TILE][TILE];", "b_tile[TILE][TILE + 1];", "b_tile[p][tx], sum",
        "(&b_tile[0][0])[p * (TILE + 1) + tx], sum",
        "right, but store of B's tile takes 2 wavefronts a request where r04_banks takes 1: bank conflict"),
    ONE("r04_banks", I_OF_R04, "int i = get_group_id(0) * TILE + ty, j = get_group_id(1) * TILE + tx;",
        GROUPS_EXCHANGED),
    TWO("r04_banks", "b_tile[ty][tx] = b_p", "b_tile[tx][ty] = b_p", "b_tile[p][tx], sum", "b_tile[tx][p], sum",
        "right, but store of B's tile takes 8 wavefronts a request where r04_banks takes 1: bank conflict"),
    ONE("r04_banks", "b_tile[ty][tx] = b_p", "b_tile[tx][ty] = b_p",
        "within its tiles of 16 x 16, row and column of B are exchanged"),
    ONE("r04_banks", "b_tile[p][tx], sum", "b_tile[tx][p], sum", "row and column of B are exchanged"),
    ONE("r04_banks", WAIT_1, ": 0; sub_group_barrier(CLK_LOCAL_MEM_FENCE);", STORES_FIRST),
    ONE("r04_banks", WAIT_2, "sum); mem_fence(CLK_LOCAL_MEM_FENCE);", READS_FIRST),
    ONE("r04_banks", WAIT_2, "sum);\n        if (t % 2 == 0) " BARRIER, READS_FIRST),
    ONE("r04_banks", WAIT_1, ": 0;\n        if (tx < 8) " BARRIER, STORES_FIRST),
    ONE("r04_banks", "b_p < k && j < n ? B(b_p, j) : 0", "j < n ? B(b_p, j) : 0", TOO_MANY),
    ONE("r04_banks", "a_tile[ty][tx] = i < m && a_p < k ? A(i, a_p) : 0;",
        "if (i < m && a_p < k) a_tile[ty][tx] = A(i, a_p);", "reads a word of a tile that nobody stores"),
};

#define LOAD_OF_A "A(min(i0 + row + e, m - 1), min(p0 + col, k - 1));"
#define STEPS     "p < min(BK, k - p0);"

static const solution of_r05[] = {
    ONE("r05_outer", "", "", ""),
    ONE("r05_outer", "long b_step = OP_B ? 1 : ldb;",
        "\n#if OP_B\n    long b_step = 1;\n#else\n    long b_step = ldb;\n#endif\n", ""),
    ONE("r05_outer", "long b_step = OP_B ? 1 : ldb;",
        "\n#if OP_A\n    long b_step = 1;\n#else\n    long b_step = OP_B ? 1 : ldb;\n#endif\n", "with A transposed, "),
    ONE("r05_outer", "b_p += b_step)", "b_p += ldb)", "with B transposed, alpha 2 and beta 3: "),
    ONE("r05_outer", "b_p += b_step)", "b_p += 1)",
        "B(p, j) and B(p + 1, j) are read 1 words apart, expected 640 = ldb"),
    ONE("r05_outer", "b_p += b_step)", "b_p += k)", "B(p, j) and B(p + 1, j) are read 48 = m or k words apart"),
    ONE("r05_outer", "b_p += b_step)", "b_p += 0)", "B(p, j) and B(p + 1, j) are the same word"),
    ONE("r05_outer", STEPS, "p < BK;", TOO_MANY),
    ONE("r05_outer", STEPS, "p < min(BK, k - p0) - 1;", "rows 45 to 47 of B are never read"),
    ONE("r05_outer", "a_tile[p], *b_p", "a_tile[0], *b_p", "the column of A does not move"),
    ONE("r05_outer", "a_tile[p], *b_p", "a_tile[p], B(p, min(j, n - 1))",
        "rows 16 to 47 of B are never read: its tile does not move"),
    ONE("r05_outer", "sum[i] = fma(a_p[i], b_pj, sum[i])", "sum[0] = fma(a_p[i], b_pj, sum[0])",
        "all products are added to one sum"),
    ONE("r05_outer", "fma(a_p[i], b_pj", "fma(a_p[0], b_pj", "the row of A does not move"),
    ONE("r05_outer", "fma(a_p[i], b_pj, sum[i])", "fma(a_p[i], b_pj, sum[0])",
        "8586 of the 9216 elements are wrong, all in rows 1 to 47"),
    ONE("r05_outer", "float sum[BM] = {0};", "float sum[BM];", UNSET),
    ONE("r05_outer", "ROW = BM + 4", "ROW = BM",
        "right, but store of A's tile takes 8 wavefronts a request where r05_outer takes 2: bank conflict"),
    ONE("r05_outer", "ROW = BM + 4", "ROW = BM - 1", "store the same word of a tile"),
    ONE("r05_outer", LOAD_OF_A, "A(min(i0 + row + e, m - 1), col);", "columns 16 to 47 of A are never read"),
    ONE("r05_outer", LOAD_OF_A, "A(min(i0 + row + e, m - 1), p0 + col);", TOO_MANY),
    ONE("r05_outer", LOAD_OF_A, "A(i0 + row + e, min(p0 + col, k - 1));", UNGUARDED),
    ONE("r05_outer", LOAD_OF_A, "A(min(i0 + row, m - 1), min(p0 + col, k - 1));",
        "elements are wrong, all in rows 4 to 47"),
    ONE("r05_outer", "p0 += BK", "p0 += 1", TOO_MANY),
    ONE("r05_outer", "p0 < k;", "p0 < k - 1;", "the last of the 33 products of each sum is missing"),
    ONE("r05_outer", "k - 1));\n        " BARRIER, "k - 1));", STORES_FIRST),
    ONE("r05_outer", "*b_p);\n        " BARRIER, "*b_p);", READS_FIRST),
    ONE("r05_outer", "float sum[BM] = {0};", "if (j >= n) return; float sum[BM] = {0};", EARLY),
    ONE("r05_outer", "if (i0 + i < m && j < n)", "if (i0 + i < m)", UNGUARDED),
    ONE("r05_outer", "i0 = get_group_id(1) * BM, j = get_group_id(0) * BN + tid",
        "i0 = get_group_id(0) * BM, j = get_group_id(1) * BN + tid", GROUPS_EXCHANGED),
    ONE("r05_outer", "row = tid / BK", "row = tid % BK", "store the same word of a tile"),
};

static const solution of_r06[] = {
    ONE("r06_unrolled", "", "", ""),
    ONE("r06_unrolled", "UNROLLED\n            for (int p = 0; p < BK", "ROLLED\n            for (int p = 0; p < BK",
        "right, but a work-item begins 4 rolled loops where r06_unrolled begins 1"),
    ONE("r06_unrolled", "p0 + BK <= k", "p0 + BK < k",
        "right, but a work-item begins 2 rolled loops where r06_unrolled begins 1"),
    ONE("r06_unrolled", "p < BK;", "p < min(BK, k - p0);",
        "right, but a work-item asks 51 times for the end of an unrolled loop where r06_unrolled asks 0"),
    ONE("r06_unrolled", "p < BK;", "p < k - p0 && p < BK;",
        "right, but a work-item asks 51 times for the end of an unrolled loop where r06_unrolled asks 0"),
    ONE("r06_unrolled", "p0 + BK <= k", "p0 < k", TOO_MANY),
    ONE("r06_unrolled", "p0 + BK <= k", "p0 + BK - 1 <= k", TOO_MANY),
    ONE("r06_unrolled", "p < k - p0", "p < BK", TOO_MANY),
    ONE("r06_unrolled", "p < k - p0", "p < k", TOO_MANY),
    ONE("r06_unrolled", "p < BK;", "p < BK - 1;", "rows 45 to 47 of B are never read"),
    ONE("r06_unrolled", "k - 1));\n        " BARRIER, "k - 1)); mem_fence(CLK_LOCAL_MEM_FENCE);", FENCE),
};

#define NEXT "int p_next = p0 + BK < k ? p0 + BK : p0;"

static const solution of_r07[] = {
    ONE("r07_prefetch", "", "", ""),
    ONE("r07_prefetch", NEXT, "int p_next = p0 + BK;", ""),
    ONE("r07_prefetch", NEXT, "int p_next = p0;", "each tile of A after the first is the one before it"),
    ONE("r07_prefetch", NEXT, "int p_next = p0 + 2 * BK;", "columns 16 to 31 of A are never read"),
    ONE("r07_prefetch", NEXT, "int p_next = BK;", "columns 32 to 47 of A are never read"),
    ONE("r07_prefetch", "now ^= 1;", "", READS_FIRST),
    ONE("r07_prefetch", "a_tile[now][col][row + e * BN / BK] = next[e]",
        "a_tile[now ^ 1][col][row + e * BN / BK] = next[e]", READS_FIRST),
    ONE("r07_prefetch", "e * BN / BK] = next[e];\n        " BARRIER, "e * BN / BK] = next[e];",
        "no barrier stands between"),
    ONE("r07_prefetch", "e * BN / BK] = next[e];\n        " BARRIER,
        "e * BN / BK] = next[e];\n        mem_fence(CLK_LOCAL_MEM_FENCE);", FENCE),
    ONE("r07_prefetch", "m - 1), col);\n    " BARRIER, "m - 1), col);", STORES_FIRST),
    ONE("r07_prefetch", "e * BN / BK] = next[e]", "e * BN / BK] = next[0]", "elements are wrong"),
    ONE("r07_prefetch", "p0 + BK <= k", "p0 + BK < k",
        "right, but a work-item begins 2 rolled loops where r07_prefetch begins 1"),
    ONE("r07_prefetch", "p < k - p0", "p < k", TOO_MANY),
};

static const solution of_r08[] = {
    ONE("r08_coarsened", "", "", ""),
    ONE("r08_coarsened", "j + q * THREADS, n - 1", "j * COLS + q, n - 1",
        "elements are wrong, all in columns 1 to 766"),
    ONE("r08_coarsened", "min(j + q * THREADS, n - 1)", "j + q * THREADS", UNGUARDED),
    ONE("r08_coarsened", "&& j + q * THREADS < n)", "&& j < n)", UNGUARDED),
    ONE("r08_coarsened", "long b_step = OP_B ? 1 : ldb;", "long b_step = ldb;", "with B transposed"),
    ONE("r08_coarsened", "alpha, sum[q][i]", "alpha, sum[0][i]", "elements are wrong, all in columns 64 to 767"),
    ONE("r08_coarsened", "if (col < k) a_tile", "a_tile", TOO_MANY),
    ONE("r08_coarsened", "now ^= 1;", "", READS_FIRST),
    ONE("r08_coarsened", "fma(a_p[i], b[q]", "fma(a_p[i], b[0]", "elements are wrong, all in columns 64 to 767"),
};

#define MISALIGNED "a vector at an address that is no multiple of its 16 bytes"

static const solution of_r09[] = {
    ONE("r09_wide", "", "", ""),
    ONE("r09_wide", "j = j0 + 4 * tid", "j = j0 + tid", MISALIGNED),
    ONE("r09_wide", "% (BK / 4) * 4, i_load", "% (BK / 4), i_load", MISALIGNED),
    ONE("r09_wide", "load4(&A(i_load, col), k - col)", "load4(&A(i_load, col), 4)", TOO_MANY),
    ONE("r09_wide", "k - p_next - col", "k - p_next", TOO_MANY),
    ONE("r09_wide", "k - p_next - col", "4", TOO_MANY),
    ONE("r09_wide", "WIDE && ", "", MISALIGNED),
    ONE("r09_wide", "j0 + BN <= n && ", "", UNGUARDED),
    ONE("r09_wide", " && p0 + BK <= k", "", TOO_MANY),
    ONE("r09_wide", "p < min(BK, k - p0)", "p < BK", TOO_MANY),
    ONE("r09_wide", "n - j));", "4));", UNGUARDED),
    ONE("r09_wide", "n - j, alpha", "4, alpha", UNGUARDED),
    ONE("r09_wide", "if (i0 + i < m) store4", "store4", UNGUARDED),
    ONE("r09_wide", "row] = next.y", "row] = next.x", "C is wrong in all rows and columns"),
    ONE("r09_wide", "b.w, sum[i][3]", "b.z, sum[i][3]", "elements are wrong, all in columns 3 to 767"),
    ONE("r09_wide", "ROW = BM + 4", "ROW = BM",
        "right, but store of A's tile takes 4 wavefronts a request where r09_wide takes 2: bank conflict"),
    ONE("r09_wide", "now ^= 1;", "", READS_FIRST),
    ONE("r09_wide", "        " BARRIER, "", STORES_FIRST),
    ONE("r09_wide", "min(i0 + row, m - 1)", "i0 + row", UNGUARDED),
    ONE("r09_wide", "min(i0 + row, m - 1)", "min(i0 + row, m)", UNGUARDED),
    ONE("r09_wide", "if (WIDE && j0 + BN <= n && p0 + BK <= k)", "if (0)",
        "right, but a work-item begins 4 rolled loops where r09_wide begins 1"),
};

static const solution of_r10[] = {
    ONE("r10_register", "", "", ""),
    ONE("r10_register", "i < m ? k - p : 0", "k - p", UNGUARDED),
    ONE("r10_register", "i < m ? k - p : 0", "4", UNGUARDED),
    ONE("r10_register", "p_b < k ? n - j : 0", "n - j", TOO_MANY),
    ONE("r10_register", "[now][p][64 + ty * 4]", "[now][p][ty * 4 + 4]", "elements are wrong, all in rows 64 to 383"),
    ONE("r10_register", "[now][p][64 + tx * 4]", "[now][p][tx * 8 + 4]",
        "elements are wrong, all in columns 64 to 379"),
    ONE("r10_register", "i / 4 * 64 + ty * 4 + i % 4", "ty * 8 + i", "elements are wrong, all in rows 4 to 379"),
    ONE("r10_register", "tx = tid % 16, ty = tid / 16", "tx = tid / 16, ty = tid % 16",
        "right, but store of C touches 16 lines a request where r10_register touches 4"),
    ONE("r10_register", "A_ROW = BM + 4", "A_ROW = BM + 1", MISALIGNED),
    ONE("r10_register", "A_ROW = BM + 4", "A_ROW = BM", CONFLICT),
    ONE("r10_register", "if (row >= m) continue;", "", UNGUARDED),
    ONE("r10_register", "n - j0 - 64 - tx * 4", "n - j0 - tx * 4", UNGUARDED),
    ONE("r10_register", "now ^= 1;", "", READS_FIRST),
    ONE("r10_register", "        " BARRIER, "", STORES_FIRST),
    ONE("r10_register", "p0 = -BK", "p0 = 0", "columns 0 to 15 of A are never read"),
};

static const solution of_r11[] = {
    ONE("r11_warp", "", "", ""),
    ONE("r11_warp", "in_group % rows) * BM, j0 = in_group / rows", "in_group / rows) * BM, j0 = in_group % rows",
        "elements of C are not written"),
    ONE("r11_warp", "GROUP_M, tiles_m - group * GROUP_M)", "GROUP_M, tiles_m)", "elements of C are not written"),
    ONE("r11_warp", "in_group % rows)", "in_group % GROUP_M)", "elements of C are not written"),
    ONE("r11_warp", "warp / 4 * 64 +", "warp / 4 * 32 +", "is stored by several work-items"),
    ONE("r11_warp", "[now][p][b_at + 16]", "[now][p][b_at + 4]", "elements are wrong, all in columns 16 to 383"),
    ONE("r11_warp", "(lane / 8 * 2 + lane % 2) * 4", "lane / 4 * 4", "is stored by several work-items"),
    ONE("r11_warp", "p_b < k ? n - j : 0", "n - j", TOO_MANY),
    ONE("r11_warp", "        " BARRIER, "", STORES_FIRST),
    ONE("r11_warp", "if (row >= m) continue;", "", UNGUARDED),
};

static const solution of_s2[] = {
    ONE("s2_shared_a", "", "", ""),
    ONE("s2_shared_a", "    ROW_BARRIER();", "", STORES_FIRST),
    ONE("s2_shared_a", "    ROW_BARRIER();", "    mem_fence(CLK_LOCAL_MEM_FENCE);", FENCE),
    ONE("s2_shared_a", "A(i, tx)", "A(i, ty)", "columns"),
    ONE("s2_shared_a", "p < TILE;", "p < TILE - 1;", "the last of the 16 products of each sum is missing"),
    ONE("s2_shared_a", "B(p, j_load)", "B(p, j)", UNGUARDED),
    ONE("s2_shared_a", "B(p, j_load)", "B(tx, j_load)", "C is wrong in all rows and columns"),
    ONE("s2_shared_a", "i < m ? A(i, tx) : 0", "A(i, tx)", UNGUARDED),
    ONE("s2_shared_a", "if (i < m && j < n) blend", "if (i < m) blend", UNGUARDED),
    ONE("s2_shared_a", "int j_load", "if (i >= m || j >= n) return;\n    int j_load", EARLY),
    ONE("s2_shared_a", "float sum = 0;", "float sum;", UNSET),
};

/* ---- the judge ---- */

/* What OpenCL's words are called in CUDA, in this order (tools/exercises.py). */
static const char *const cuda_words[][2] = {{"get_group_id(0)", "blockIdx.x"},
                                            {"get_group_id(1)", "blockIdx.y"},
                                            {"get_local_id(0)", "threadIdx.x"},
                                            {"get_local_id(1)", "threadIdx.y"},
                                            {"sub_group_barrier(CLK_LOCAL_MEM_FENCE)", "__syncwarp()"},
                                            {"barrier(CLK_LOCAL_MEM_FENCE)", "__syncthreads()"},
                                            {"mem_fence(CLK_LOCAL_MEM_FENCE)", "__threadfence_block()"},
                                            {"ROW_BARRIER()", "__syncwarp()"},
                                            {"fma(", "fmaf("}};

static char *words_of(const char *text, bool cuda)
{
    char *made = strdup(text);
    for (size_t i = 0; cuda && i < sizeof cuda_words / sizeof *cuda_words; i++) {
        char *changed = changed_text(made, cuda_words[i][0], cuda_words[i][1], 0);
        free(made);
        made = changed;
    }
    return made;
}

/* The rung's text, without its first comment, with the edits; NULL where one does not apply once. */
static char *solved(const solution *s, const kernel_row *row, bool cuda)
{
    char *text = strdup(strstr(story_text_of(row->lab.file), "#include"));
    for (int i = 0; i < BOTH && text != NULL && s->from[i] != NULL && s->from[i][0] != '\0'; i++) {
        char *from = words_of(s->from[i], cuda), *to = words_of(s->to[i], cuda),
             *changed = changed_text(text, from, to, 1);
        free(from), free(to), free(text);
        text = changed;
    }
    return text;
}

static void nothing(void) {}

static const bench_hooks no_hooks = {.hold = nothing, .release = nothing, .forked = nothing};

/* What both commands say of the file: its mistake; "right, but ..." where it costs more than the rung; "". */
static void judge(const user_kernel *user, char said[HOST_WHY])
{
    static lanes like;
    static const tw_lab_kernel *seen; /* of like */
    lanes own;
    char text[HOST_WHY];
    lanes_question q = {
        .kernel = user->like, .source = &user->source, .transposes = user->bears_rung, .hooks = &no_hooks};
    lanes_see(&q, &own);
    snprintf(said, HOST_WHY, "%s", own.why);
    if (own.outcome != LANES_SEEN) return;
    q.source = NULL;
    if (seen != user->like) lanes_see(&q, &like);
    seen = user->like;
    if (like.outcome != LANES_SEEN) snprintf(said, HOST_WHY, "the rung: %.400s", like.why);
    for (int kind = 0; kind < LANES_COMPARED; kind++) /* the first */
        if (lanes_compare(&own, &like, user->like->rung, kind, text) > 0 && said[0] == '\0')
            snprintf(said, HOST_WHY, "right, but %.400s", text);
}

/* ---- graded ---- */

enum { MOST = 1000 };

static char folder[] = "/tmp/tilewright-judge.XXXXXX";
static char *kept_paths[MOST], *kept_words[MOST];
static int kept;

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void keep(const char *text, bool cuda, const char *said)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%d.%s", folder, kept, cuda ? "cu" : "cl");
    FILE *file = fopen(path, "w");
    if (kept == MOST || file == NULL || fputs(text, file) < 0 || fclose(file) != 0) fail("a text could not be kept");
    kept_paths[kept] = strdup(path), kept_words[kept++] = strdup(said);
}

/* The words of both, but for the path and what stands before and behind. */
static bool graded(void *job, int i, const verdict *v)
{
    (void)job;
    const bool right = kept_words[i][0] == '\0';
    if (tap_case("grade says so too: %.60s", kept_words[i]))
        tap_result(v->kind == (right ? VERDICT_PASS : VERDICT_WRONG) && strcmp(v->why, kept_words[i]) == 0, "%d: %s",
                   v->kind, v->why);
    remove(kept_paths[i]);
    free(kept_paths[i]), free(kept_words[i]);
    return true;
}

static void grade_all(void)
{
    const verdict_wish wish = {.paths = (const char *const *)kept_paths, .count = kept, .at_once = 2};
    if (kept > 0 && confine_why_not() != NULL) {
        if (tap_case("grade says so too")) tap_skip(confine_why_not());
        return;
    }
    if (kept > 0 && verdict_take(&wish, graded, NULL) != EXIT_OK) fail("they could not be graded");
    rmdir(folder);
}

static void solution_case(const solution *s, const char *engine)
{
    char name[64], said[HOST_WHY], path[64];
    const bool cuda = strcmp(engine, "cuda") == 0;
    user_kernel user;
    snprintf(name, sizeof name, "%s_f32_%s", engine, s->rung);
    snprintf(path, sizeof path, "%s.%s", s->rung, cuda ? "cu" : "cl");
    if (!tap_case("%s: %.60s -> %.60s %.60s", path, s->from[0], s->to[0], s->to[1] != NULL ? s->to[1] : "")) return;
    if (host_why_not() != NULL) {
        tap_skip(host_why_not());
        return;
    }
    char *text = solved(s, kernel_named(name), cuda);
    if (text == NULL || user_kernel_make(path, text, strlen(text), &user, said, HOST_WHY) != TW_OK)
        tap_result(false, "the edit does not apply");
    else {
        judge(&user, said);
        if (tap.full) keep(text, cuda, said);
        tap_result(s->says[0] == '\0' ? said[0] == '\0' : strstr(said, s->says) != NULL, "%s", said);
        user_kernel_free(&user);
    }
    free(text);
}

/* Which rung's launch a kernel gets by its name, and whether it is held to what that rung asks of memory. */
static void name_case(const char *entry, const char *rung, bool bears_rung)
{
    char text[256], why[HOST_WHY];
    user_kernel user;
    if (!tap_case("a kernel named %s is launched like %s", entry, rung)) return;
    snprintf(text, sizeof text, "#include \"rung.clh\"\n__kernel void %s(PARAMETERS) {}\n", entry);
    tw_status status = user_kernel_make("mine.cl", text, strlen(text), &user, why, HOST_WHY);
    if (status != TW_OK) {
        tap_result(false, "%s", why);
        return;
    }
    tap_result(strcmp(user.like->rung, rung) == 0 && user.bears_rung == bears_rung, "%s, %d", user.like->rung,
               user.bears_rung);
    user_kernel_free(&user);
}

int main(int argc, char **argv)
{
    static const struct {
        const solution *all;
        size_t count, share; /* without --full each of so many, in turns in one of the two languages */
    } rungs[] = {
#define OF(table, share) {table, sizeof table / sizeof *table, share}
        OF(of_r01, 2), OF(of_r02, 2), OF(of_r03, 2), OF(of_r04, 2), OF(of_r05, 4), OF(of_r06, 4),
        OF(of_r07, 4), OF(of_r08, 4), OF(of_r09, 4), OF(of_r10, 8), OF(of_r11, 8), OF(of_s2, 4)};
    tap_start(argc, argv);
    if (mkdtemp(folder) == NULL) fail("no folder could be made");
    name_case("r05_outer", "r05_outer", true);
    name_case("r05_mine", "r05_outer", true);
    name_case("sgemm_simt", "sgemm_simt_128x128", true);
    name_case("sgemm_simt_mine", "sgemm_simt_128x128", true);
    name_case("r14_mine", "sgemm_simt_128x128", true);
    name_case("sgemm", "r01_naive", false);
    name_case("mine", "r01_naive", false);
    for (size_t r = 0; r < sizeof rungs / sizeof *rungs; r++)
        for (int cuda = 0; cuda < 2; cuda++)
            for (size_t i = 0; i < rungs[r].count; i++)
                if (tap.full || i == 0 || i % rungs[r].share == (size_t)cuda * rungs[r].share / 2)
                    solution_case(&rungs[r].all[i], cuda ? "cuda" : "opencl");
    grade_all();
    return tap_finish();
}
