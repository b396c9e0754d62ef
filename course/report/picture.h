/* picture.h - the pictures of one rung as SVG: the footprint of an element of C, its tiles in each iteration, the steps
 * of an outer product, the figures of the skinny product, and what the lanes of a warp want of sectors and banks. Each
 * is a pure function of its values, for a page with chart_style and picture_style. */
#ifndef TILEWRIGHT_PICTURE_H
#define TILEWRIGHT_PICTURE_H

#include "../access/access.h"
#include "chart.h"

extern const char picture_style[]; /* what the pictures need beside chart_style */

/* An element of the product of an m x k and a k x n matrix. */
typedef struct picture_element {
    int64_t m, n, k, i, j;
} picture_element;

/* The row of A and the column of B in the corner of 16 x 16 that holds the element. */
enum { PICTURE_WINDOW = 16 };
void picture_footprint(FILE *out, const chart *about, const picture_element *x);

/* C in tiles of bm x bn, k in tiles of bk. */
typedef struct picture_tiles {
    picture_element of;
    int64_t bm, bn, bk;
    const char *where; /* the tiles lie while they are used: "both tiles in shared memory" */
} picture_tiles;

/* Which tiles iteration t works with; the tiles beside the element's are drawn too. */
void picture_iteration(FILE *out, const chart *about, const picture_tiles *x, int64_t t);

/* The product of 2 x 2 blocks, with the one in this row and column marked. */
void picture_blocks(FILE *out, const chart *about, int row, int col);

/* Step p of a tile: a column of A's tile times a row of B's. */
void picture_outer(FILE *out, const chart *about, const picture_tiles *x, int p, const char *words);

/* One column of tiles times one row of tiles; and a row of A's tile times B's tile. Tiles are bm x bm, k = bm. */
void picture_skinny_tiles(FILE *out, const chart *about, const picture_tiles *x);
void picture_skinny_row(FILE *out, const chart *about, const picture_tiles *x);

void picture_lanes(FILE *out, const chart *about); /* the colours of the lanes */

/* One request of a warp: byte addresses, < 0 where a lane is idle, each lane with `words` words. */
typedef struct picture_request {
    const int64_t *address;
    int words;
    char operand; /* 'A', 'B' or 'C' */
    int64_t ld;   /* in memory, in elements; of a tile of no use */
    bool transposed;
    const char *count; /* "16 sectors, 12% used" */
} picture_request;

void picture_sectors(FILE *out, const chart *about, const picture_request *x); /* of global memory, line by line */
void picture_banks(FILE *out, const chart *about, const picture_request *x); /* of shared memory; high as wavefronts */

#endif
