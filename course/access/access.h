/* access.h - which addresses the lanes of a warp touch in every load and store of a GPU rung, and what that costs on
 * each generation of devices. No GPU is needed: the rows of access.def say where each lane goes, the rules below
 * say what comes of it, and totals are exact for any shape. tests/test_lanes.c holds the rows against the kernels' own
 * text.
 *
 * The rules, each with its source:
 *   1.0, 1.1  a half-warp's request is one transaction of 64 bytes where lane i wants word i of 64 aligned bytes (two
 *             of 128 where words are of 16 bytes), else one of 32 bytes for each lane (CUDA C Programming Guide 3.0,
 *             G.3.2.1; NVIDIA Best Practices)
 *   1.2, 1.3  the 128-byte segments that a half-warp's lanes touch, each cut to its half or quarter where that holds
 *             all of it (CUDA C Programming Guide 3.0, G.3.2.2)
 *   2.x       a warp loads lines of 128 bytes; it stores sectors of 32 (CUDA C Programming Guide 4.0, F.4.2)
 *   since     a warp's request moves sectors of 32 bytes (CUDA C Programming Guide, compute capability 5.x to 9.x)
 *   shared    1.x: a half-warp and 16 banks, each step serves one word to all that want it, and of the other banks one
 *             lane each (guide 3.0, G.3.3); since: a warp and 32 banks, all lanes that want one word are served
 *             together. Lanes of 16 bytes go by half-warps (measured on an H200: a broadcast takes 2 wavefronts; lanes
 *             that share with others than their half take fewer, and no row has such); on 1.x they are four accesses of
 *             a word
 *   TMA       a box is read as sectors, row by row, and no lane has an address. That is no request of a warp */
#ifndef TILEWRIGHT_ACCESS_H
#define TILEWRIGHT_ACCESS_H

#include <stdbool.h>
#include "tilewright_lab.h"

enum { ACCESS_WARP = 32, ACCESS_MOST_ROWS = 12 };

typedef enum access_kind {
    LOAD_A,
    LOAD_B,
    STORE_C,
    STORE_A_TILE,
    STORE_B_TILE,
    READ_A_TILE,
    READ_B_TILE,
    ACCESS_KINDS
} access_kind;
typedef enum access_era { ERA_1_0, ERA_1_2, ERA_2_0, ERA_NOW, ACCESS_ERAS } access_era;

const char *access_kind_text(access_kind kind); /* "load of A" */
const char *access_era_text(access_era era);    /* "1.0, 1.1" */
static inline bool access_is_global(access_kind kind) { return kind <= STORE_C; }
static inline bool access_is_store(access_kind kind)
{
    return kind == STORE_C || kind == STORE_A_TILE || kind == STORE_B_TILE;
}

/* access_era_of - of a compute capability such as "1.3"; ERA_NOW for other devices' "". */
access_era access_era_of(const char *capability);

/* What requests cost. A request is one instruction of a warp, on 1.x of a half-warp, that has a lane at work. Counts
 * are doubles: exact up to 2^53. */
typedef struct access_cost {
    double requests;
    double transactions; /* global: as the era's rule says; shared: wavefronts, passes through the banks */
    /* bytes that the transactions move, and of these the bytes that lanes wanted, each counted once */
    double moved, used;
    double lines; /* global: 128-byte lines touched */
} access_cost;

/* access_price - of one instruction of a warp: byte addresses, < 0 where a lane is idle; each lane moves `words` words
 * (1 or 4). */
access_cost access_price(access_era era, access_kind kind, const int64_t address[ACCESS_WARP], int words);

/* Which of a row's instructions: block, tile, step, one of the row's `times`. */
typedef struct access_place {
    int64_t by, bx, t, p, e;
} access_place;

enum { OVER_T = 1, OVER_P = 2, OVER_K = 4 }; /* loops: the tiles of k; the steps of a tile; the steps of k */

typedef struct access_launch access_launch;

/* A row of the table, one instruction of a rung: what it accesses, in which loops, where its lanes go. */
typedef struct access_row {
    const char *rungs; /* each followed by a space */
    access_kind kind;
    int over;         /* OVER_T | OVER_P | OVER_K */
    int times, words; /* instructions side by side in the innermost loop; words of a lane */
    bool (*at)(const access_launch *l, const access_place *v, int64_t tx, int64_t ty, int64_t where[2]);
    const char *subscripts; /* as in the table */
    bool parts; /* of the row before, whose four words are taken one by one: e is 4 times its e and the word's number */
    int box_rows, box_cols; /* of a TMA box, for which no lane has an address; 0: lanes access */
} access_row;

/* A launch of a rung: the problem on blocks of threads. */
struct access_launch {
    const tw_lab_kernel *kernel;
    int64_t m, n, k, lda, ldb, ldc;
    bool transposed_a, transposed_b; /* A or B lies transposed */
    bool past_l1;                    /* A and B are loaded past the L1 */
    bool wide;                       /* all operands are aligned to 16 bytes, and so are their rows */
    int tile;                        /* T; 0 where the rung has none */
    int block_x, block_y;            /* threads */
    int group_m;                     /* rows of blocks that are taken together; 0: blocks are taken row by row */
    int registers;                   /* of a thread, on sm_90; 0: not known */
    int block_m, block_n, block_k;   /* of C that a block owns, and the depth of a tile */
    int64_t grid_x, grid_y, tiles;   /* blocks; tiles of k */
    int rows;
    const access_row *row[ACCESS_MOST_ROWS];
};

/* access_open - how this kernel would be launched on this problem; tile 0: the row's own. False, and why, where there
 * is no model: the rung's addresses are explained in words then, or the problem is not for it. */
bool access_open(access_launch *out, const tw_lab_kernel *kernel, int tile, const tw_problem *problem, char *why,
                 int why_bytes);

/* How often each of a row's loops runs: t, p and e of a place are below these. */
access_place access_loops(const access_launch *l, const access_row *row);
int access_warps(const access_launch *l); /* of a block */

/* access_block - where the block of this number in the order of the launch stands: by and bx of the place. */
access_place access_block(const access_launch *l, int64_t number);

/* access_owner - the thread of its block that stores C(i, j). */
int access_owner(const access_launch *l, int64_t i, int64_t j);

/* access_lanes - byte addresses of a warp's lanes within the operand, or within the tile; -1 where a lane is idle, as
 * all are where TMA copies. */
void access_lanes(const access_launch *l, const access_row *row, const access_place *place, int warp,
                  int64_t address[ACCESS_WARP]);

/* access_count - all requests of one row (or kind: of all rows of it) over the whole product, for each era. */
void access_count(const access_launch *l, const access_row *row, access_cost total[ACCESS_ERAS]);
void access_count_kind(const access_launch *l, access_kind kind, access_cost total[ACCESS_ERAS]);

#endif
