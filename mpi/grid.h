/* grid.h - how a product is divided among ranks: a pure choice, and what it costs.
 *
 * The ranks are a grid of pm x pn x pk. Rank (im, in, ik) computes block (im, in) of C over segment ik of k. It owns an
 * even share of everything, and gathers the rest of its operands from the ranks beside it:
 *
 *                         k: pk segments                          n: pn blocks, each of pm pieces
 *                       .-------.-------.                         .---.---.---.---.
 *   m: pm blocks, each  | own   |       |          k: pk segments | o |   |   |   |
 *   of pn pieces        |-------|-------|                         | w |   |   |   |
 *                       | the   |       |                         | n |   |   |   |
 *                       | block |       |                         |---|---|---|---|
 *                       '-------'-------'                         '---'---'---'---'
 *                         op(A)                                      op(B)
 *
 * A's pieces are rows, B's are columns: what a rank owns has the whole of its segment, so it can be multiplied before
 * anything has come. Of C a rank owns the rows ik of its block, which is divided into pk pieces.
 *
 *   words received by a rank, on average:  mk/(pm pk) (1 - 1/pn) + kn/(pk pn) (1 - 1/pm) + mn/(pm pn) (1 - 1/pk)
 *
 * (1, pn, 1) and (pm, pn, 1) are SUMMA, (p, p, c) is 2.5D, (1, 1, P) divides k alone. */
#ifndef TILEWRIGHT_MPI_GRID_H
#define TILEWRIGHT_MPI_GRID_H

#include <stdbool.h>
#include <stdint.h>

enum { GRID_MOST_IN_PLACE = 4 }; /* of so many peers' pieces the own one is multiplied where it lies, not copied */

/* Blocks of C that lie on the ranks already, as pm x pn of any lengths, pk = 1. Their grid is taken with these blocks,
 * unless another one is faster by more than it takes to move C. Lives as long as the plan. */
typedef struct grid_home {
    int pm, pn;           /* 0: none */
    const int64_t *m, *n; /* lengths of the pm blocks of m, of the pn blocks of n */
    double words;         /* that a rank moves in any other grid */
} grid_home;

/* What is divided. depth: sums over so many steps of k may be added up; 0: k is not divided. */
typedef struct grid_problem {
    int64_t m, n, k;
    int64_t a_bytes, b_bytes, c_bytes; /* of an element */
    int64_t depth;
    bool keeps_c0; /* beta is not 0: sums of several panels lie beside C */
    bool resident; /* blocks lie on a device: what is sent of them, and finished, has a copy on the host */
    bool direct;   /* panels come into the device's memory: there are no buffers for them on the host */
    int ranks;
    int asked[3]; /* pm, pn, pk; 0: to be chosen */
    grid_home home;
    int64_t memory_bytes; /* most that a rank's blocks and buffers may take */
    double flop_seconds;  /* of one multiply and add on a rank, */
    double byte_seconds;  /* of a byte on its link, */
    double message_seconds;
} grid_problem;

typedef struct grid {
    int pm, pn, pk;
    int64_t panel;        /* steps of k that are gathered at a time; >= 1 */
    int64_t bytes;        /* of a rank's blocks and buffers, at most */
    int64_t buffer_bytes; /* of the buffers among them */
    double words[3];      /* of A, B and sums that a rank receives, on average */
    double compute_s;     /* estimated: of the largest block, */
    double move_s;        /* of the bytes that a rank receives, */
    double message_s;     /* of their messages, */
    double seconds;       /* and of all three, without overlap */
    bool at_home;         /* its blocks are those of grid_problem.home */
} grid;

/* A part of a length that is divided into `parts` as even as can be. */
typedef struct grid_part {
    int64_t begin, length;
} grid_part;

grid_part grid_divide(int64_t length, int parts, int index);

/* grid_reduce_bytes - of the buffer for other ranks' sums of a block of C, of so many rows and bytes in a row: all of
 * them, 32 MiB, or a row of each. */
double grid_reduce_bytes(int64_t rows, int64_t line_bytes, int pk);

/* grid_choose - of all grids of at most that many ranks the one with the least estimated time; of equal ones that with
 * the fewest ranks, then the fewest parts of k, then of m; where C does not stay at home its moving is added. False:
 * none fits in the memory, and *out is the one that needs the least. */
bool grid_choose(const grid_problem *p, grid *out);

/* grid_measure - panel, bytes and buffer_bytes of a grid: of the rank with the largest blocks, on the host. */
void grid_measure(const grid_problem *p, grid *g);

/* What rank (im, in, ik) owns and computes, as parts of m, n and k. */
typedef struct grid_place {
    int im, in, ik;
    grid_part m, n, k;                 /* of its block of C and its segment */
    grid_part own_m;                   /* rows of op(A) that it owns, of m's */
    grid_part own_n;                   /* columns of op(B) */
    grid_part own_c;                   /* rows of its block of C that it owns */
    int64_t words_a, words_b, words_c; /* that it receives, exactly */
} grid_place;

grid_place grid_place_of(const grid_problem *p, const grid *g, int rank);

#endif
