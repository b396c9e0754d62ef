/* mistake.c - mistake.h: C is compared with the products that known mistakes make of the same operands. They are small
 * integers, so that two different products differ somewhere, and plain loops are exact. */
#include "mistake.h"

#include "reference.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_EDGE = 128, MOST_TILE = 64, LEAST_TILE = 2 };

typedef mistake_product products;

/* ---- rows and columns that are exchanged, in all or within tiles ---- */

enum { OF_A = 1, OF_B = 2, OF_C = 4 };

/* Where element (i, j) of a matrix whose rows have `cols` stands after its tiles are transposed; tile 0: none is. */
static int64_t place(int64_t i, int64_t j, int64_t cols, int64_t tile)
{
    if (tile == 0) return i * cols + j;
    return (i - i % tile + j % tile) * cols + j - j % tile + i % tile;
}

/* Is C the product that this exchange makes? What is exchanged is whole tiles. */
static bool fits_exchange(const products *s, int what, int64_t tile)
{
    const int64_t of_a = what & OF_A ? tile : 0, of_b = what & OF_B ? tile : 0, of_c = what & OF_C ? tile : 0;
    if (((what & (OF_A | OF_C)) && s->m % tile != 0) || ((what & (OF_B | OF_C)) && s->n % tile != 0) ||
        ((what & (OF_A | OF_B)) && s->k % tile != 0))
        return false;
    for (int64_t i = 0; i < s->m; i++)
        for (int64_t j = 0; j < s->n; j++) {
            double sum = 0;
            for (int64_t p = 0; p < s->k; p++) sum += s->a[place(i, p, s->k, of_a)] * s->b[place(p, j, s->n, of_b)];
            if (!(s->found[place(i, j, s->n, of_c)] == sum)) return false;
        }
    return true;
}

static bool name_exchange(const products *s, char text[MISTAKE_BYTES])
{
    static const struct {
        int what;
        const char *in_all, *within_tiles;
    } exchanges[] = {
        {OF_C, "C is the transpose of the product: its row and column are exchanged", "C"},
        {OF_A, "C is the transpose of A times B: row and column of A are exchanged", "A"},
        {OF_B, "C is A times the transpose of B: row and column of B are exchanged", "B"},
        {OF_A | OF_B, "C is the product of the transposes: row and column of A and of B are exchanged", "A and of B"}};
    const bool square = s->m == s->n && s->n == s->k;
    const size_t count = sizeof exchanges / sizeof *exchanges;
    for (size_t i = 0; square && i < count; i++)
        if (fits_exchange(s, exchanges[i].what, s->m)) {
            snprintf(text, MISTAKE_BYTES, "%s", exchanges[i].in_all);
            return true;
        }
    for (int64_t tile = MOST_TILE; tile >= LEAST_TILE; tile /= 2)
        for (size_t i = 0; i < count; i++)
            if (fits_exchange(s, exchanges[i].what, tile)) {
                snprintf(text, MISTAKE_BYTES, "within its tiles of %lld x %lld, row and column of %s are exchanged",
                         (long long)tile, (long long)tile, exchanges[i].within_tiles);
                return true;
            }
    return false;
}

/* ---- sums that lack a part ---- */

static double sum_of(const products *s, bool from_end, int64_t i, int64_t j, int64_t steps)
{
    double sum = 0;
    for (int64_t p = 0; p < steps; p++) {
        const int64_t q = from_end ? s->k - 1 - p : p;
        sum += s->a[i * s->k + q] * s->b[q * s->n + j];
    }
    return sum;
}

/* Of how many products, counted from either end, each element is the sum; -1: of no one number less than k. */
static int64_t steps_of_all(const products *s, bool from_end)
{
    for (int64_t steps = 0; steps < s->k; steps++) {
        int64_t e = 0;
        while (e < s->m * s->n && s->found[e] == sum_of(s, from_end, e / s->n, e % s->n, steps)) e++;
        if (e == s->m * s->n) return steps;
    }
    return -1;
}

static void name_missing(const products *s, const char *which, int64_t count, char text[MISTAKE_BYTES])
{
    if (count == 1)
        snprintf(text, MISTAKE_BYTES, "the %s of the %lld products of each sum is missing", which, (long long)s->k);
    else
        snprintf(text, MISTAKE_BYTES, "the %s %lld of the %lld products of each sum are missing", which,
                 (long long)count, (long long)s->k);
}

static bool fits_multiple(const products *s, double factor)
{
    for (int64_t e = 0; e < s->m * s->n; e++)
        if (s->found[e] != factor * s->expected[e]) return false;
    return true;
}

/* ---- a part of C ---- */

/* "rows 3 to 9", "row 3"; "" where it does not tell them apart. */
static void name_range(bool tells, const char *what, int64_t first, int64_t last, char text[60])
{
    text[0] = '\0';
    if (tells && first == last) snprintf(text, 60, "%s %lld", what, (long long)first);
    if (tells && first < last) snprintf(text, 60, "%ss %lld to %lld", what, (long long)first, (long long)last);
}

/* Where the wrong elements lie, if some whole rows or columns are right. */
static bool name_part(const products *s, char text[MISTAKE_BYTES])
{
    int64_t first_row = s->m, last_row = -1, first_col = s->n, last_col = -1, count = 0;
    for (int64_t i = 0; i < s->m; i++)
        for (int64_t j = 0; j < s->n; j++) {
            if (s->found[i * s->n + j] == s->expected[i * s->n + j]) continue;
            count++;
            first_row = i < first_row ? i : first_row, last_row = i > last_row ? i : last_row;
            first_col = j < first_col ? j : first_col, last_col = j > last_col ? j : last_col;
        }
    const bool rows = first_row > 0 || last_row<s->m - 1, cols = first_col> 0 || last_col < s->n - 1;
    char of_rows[60], of_cols[60];
    if (count == 0 || (!rows && !cols)) return false;
    name_range(rows, "row", first_row, last_row, of_rows);
    name_range(cols, "column", first_col, last_col, of_cols);
    snprintf(text, MISTAKE_BYTES, "%lld of the %lld elements %s wrong, all in %s%s%s", (long long)count,
             (long long)(s->m * s->n), count == 1 ? "is" : "are", of_rows, rows && cols ? " and " : "", of_cols);
    return true;
}

/* ---- alpha and beta ---- */

/* Is C x A B + y C0? With y 0 C0 is not looked at. */
static bool fits_scalars(const products *s, double x, double y)
{
    for (int64_t e = 0; e < s->m * s->n; e++) {
        const double added = y == 0 ? 0 : y * s->before[e];
        if (!(s->found[e] == x * sum_of(s, false, e / s->n, e % s->n, s->k) + added)) return false;
    }
    return true;
}

static bool name_scalars(const products *s, char text[MISTAKE_BYTES])
{
    const double alpha = s->alpha, beta = s->beta;
    const struct {
        double x, y;
        const char *text;
    } mistakes[] = {{1, 0, beta == 0 ? "alpha is ignored: C is A B" : "alpha and beta are ignored: C is A B"},
                    {alpha, 0, "beta is ignored: C is alpha A B"},
                    {1, beta, "alpha is ignored: C is A B + beta C"},
                    {alpha, 1, "beta is taken as 1: C is alpha A B + C"},
                    {1, 1, "alpha and beta are ignored: C is A B + C"},
                    {alpha, alpha * beta, "alpha multiplies C too: C is alpha (A B + beta C)"},
                    {alpha * alpha, beta, "alpha is applied twice: C is alpha^2 A B + beta C"}};
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++)
        if (fits_scalars(s, mistakes[i].x, mistakes[i].y)) {
            snprintf(text, MISTAKE_BYTES, "%s", mistakes[i].text);
            return true;
        }
    return false;
}

/* ---- sums of something else ---- */

static bool fits_plus(const products *s, double more)
{
    for (int64_t e = 0; e < s->m * s->n; e++)
        if (s->found[e] != s->expected[e] + more) return false;
    return true;
}

/* A subscript within tiles that is taken for another, or that stays at the tile's first; products that each tile
 * lacks. */
typedef enum stray {
    A_ROW_OF_COLUMN,
    B_COLUMN_OF_ROW,
    A_ROW_STAYS,
    B_COLUMN_STAYS,
    A_STEP_STAYS,
    B_STEP_STAYS,
    A_LAGS,
    LACKS_FIRST,
    LACKS_LAST,
    STRAYS
} stray;

static double stray_sum(const products *s, stray what, int64_t tile, int64_t i, int64_t j)
{
    const int64_t row = i - i % tile, col = j - j % tile,
                  of_a = what == A_ROW_OF_COLUMN ? row + j % tile
                         : what == A_ROW_STAYS   ? row
                                                 : i,
                  of_b = what == B_COLUMN_OF_ROW  ? col + i % tile
                         : what == B_COLUMN_STAYS ? col
                                                  : j;
    double sum = 0;
    if (of_a >= s->m || of_b >= s->n) return (double)NAN;
    for (int64_t p = 0; p < s->k; p++) {
        const int64_t at = p % tile,
                      p_a = what == A_STEP_STAYS          ? p - at
                            : what == A_LAGS && p >= tile ? p - tile
                                                          : p,
                      p_b = what == B_STEP_STAYS ? p - at : p;
        if ((what == LACKS_FIRST && at == 0) || (what == LACKS_LAST && at == tile - 1)) continue;
        sum += s->a[of_a * s->k + p_a] * s->b[p_b * s->n + of_b];
    }
    return sum;
}

static bool fits_stray(const products *s, stray what, int64_t tile)
{
    for (int64_t i = 0; i < s->m; i++)
        for (int64_t j = 0; j < s->n; j++)
            if (!(s->found[i * s->n + j] == stray_sum(s, what, tile, i, j))) return false;
    return true;
}

/* Has the first row of each so many the sum of them all, and have the others 0? */
static bool fits_one_sum(const products *s, int64_t rows)
{
    for (int64_t i = 0; i < s->m; i++)
        for (int64_t j = 0; j < s->n; j++) {
            double sum = 0;
            for (int64_t other = i; i % rows == 0 && other < i + rows && other < s->m; other++)
                sum += s->expected[other * s->n + j];
            if (s->found[i * s->n + j] != sum) return false;
        }
    return true;
}

static bool name_other_sum(const products *s, char text[MISTAKE_BYTES])
{
    static const char *const strays[STRAYS] = {
        [A_ROW_OF_COLUMN] = "the row of A follows the column of C: x and y are exchanged there",
        [B_COLUMN_OF_ROW] = "the column of B follows the row of C: x and y are exchanged there",
        [A_ROW_STAYS] = "the row of A does not move: all take the tile's first",
        [B_COLUMN_STAYS] = "the column of B does not move: all take the tile's first",
        [A_STEP_STAYS] = "the column of A does not move: each step takes the tile's first",
        [B_STEP_STAYS] = "the row of B does not move: each step takes the tile's first",
        [A_LAGS] = "each tile of A after the first is the one before it",
        [LACKS_FIRST] = "the first product is missing",
        [LACKS_LAST] = "the last product is missing"};
    for (int64_t tile = MOST_TILE; tile >= LEAST_TILE; tile /= 2) {
        const bool whole = tile >= s->m && tile >= s->n; /* there are no tiles */
        if (!whole && tile > s->k) continue;
        for (int what = 0; what < (whole ? (int)A_ROW_STAYS : (int)STRAYS); what++)
            if (fits_stray(s, (stray)what, tile)) {
                char in[40] = "";
                if (!whole) snprintf(in, sizeof in, "in each tile of %lld, ", (long long)tile);
                snprintf(text, MISTAKE_BYTES, "%s%s", in, strays[what]);
                return true;
            }
        if (whole) continue;
        if (fits_one_sum(s, tile)) {
            snprintf(
                text, MISTAKE_BYTES,
                "the first of each %lld rows of C is the sum of them all, the others are 0: all products are added "
                "to one sum",
                (long long)tile);
            return true;
        }
    }
    return false;
}

/* ---- */

static bool name(const products *s, char text[MISTAKE_BYTES])
{
    if (fits_multiple(s, 1)) return false;
    if (name_exchange(s, text)) return true;
    const int64_t begun = steps_of_all(s, false), ended = steps_of_all(s, true);
    if (begun == 0)
        snprintf(text, MISTAKE_BYTES, "C is 0: no product was added");
    else if (begun > 0)
        name_missing(s, "last", s->k - begun, text);
    else if (ended > 0)
        name_missing(s, "first", s->k - ended, text);
    else if (fits_multiple(s, 2))
        snprintf(text, MISTAKE_BYTES, "C is twice the product: each is added twice");
    else if (s->unset != 0 && fits_plus(s, s->unset))
        snprintf(text, MISTAKE_BYTES, "each sum begins with what lay in its register: it is not set to 0");
    else
        return name_other_sum(s, text);
    return true;
}

/* With alpha and beta taken out of it, which of small integers leaves no rounding. */
static bool name_unscaled(const products *s, char text[MISTAKE_BYTES])
{
    const int64_t count = s->m * s->n;
    double *room = malloc((size_t)(2 * count) * sizeof *room);
    products plain = *s;
    if (room == NULL) return false;
    for (int64_t e = 0; e < count; e++) {
        const double more = s->beta == 0 ? 0 : s->beta * s->before[e];
        room[e] = (s->found[e] - more) / s->alpha, room[count + e] = (s->expected[e] - more) / s->alpha;
    }
    plain.found = room, plain.expected = room + count;
    const bool named = name(&plain, text);
    free(room);
    return named;
}

bool mistake_of(const mistake_product *s, char text[MISTAKE_BYTES])
{
    text[0] = '\0';
    if (fits_multiple(s, 1)) return false;
    if (s->untouched) {
        snprintf(text, MISTAKE_BYTES, "%s",
                 s->beta == 0 ? "all of C is still NaN: not written, or computed from what must not be read (C where "
                                "beta is 0, or beyond A and B)"
                              : "C is not written");
        return true;
    }
    const bool scaled = s->alpha != 1 || s->beta != 0;
    return (scaled && name_scalars(s, text)) || (s->alpha != 0 && name_unscaled(s, text));
}

bool mistake_part(const mistake_product *s, char text[MISTAKE_BYTES])
{
    text[0] = '\0';
    return name_part(s, text);
}

bool mistake_name(const oracle *o, const void *c, char text[MISTAKE_BYTES])
{
    const tw_problem *p = &o->problem;
    product x;
    text[0] = '\0';
    if (o->kind != ORACLE_EXACT || o->reference == NULL || o->rows != NULL || p->flags != 0 || p->m < 1 || p->n < 1 ||
        p->k < 1 || p->m > MOST_EDGE || p->n > MOST_EDGE || p->k > MOST_EDGE ||
        product_make(p, o->a, o->b, o->c0, &x) != TW_OK || x.parts != 1)
        return false;
    double *room = malloc((size_t)(p->m * p->k + p->k * p->n + 2 * p->m * p->n) * sizeof *room);
    if (room == NULL) return false;
    double *b = room + p->m * p->k, *before = b + p->k * p->n, *found = before + p->m * p->n;
    const products s = {.m = p->m,
                        .n = p->n,
                        .k = p->k,
                        .alpha = p->alpha,
                        .beta = p->beta,
                        .a = room,
                        .b = b,
                        .before = before,
                        .found = found,
                        .expected = o->reference,
                        .untouched = memcmp(c, o->c0, oracle_c_bytes(o)) == 0};
    view_load(x.a, 0, s.m, 0, s.k, room, s.k);
    view_load(x.b, 0, s.k, 0, s.n, b, s.n);
    view_load((view){.type = x.type_c, .base = o->c0, .row = x.problem.ldc, .col = 1}, 0, s.m, 0, s.n, before, s.n);
    view_load((view){.type = x.type_c, .base = c, .row = x.problem.ldc, .col = 1}, 0, s.m, 0, s.n, found, s.n);
    const bool named = mistake_of(&s, text) || mistake_part(&s, text);
    free(room);
    return named;
}
