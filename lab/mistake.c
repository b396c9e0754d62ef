/* mistake.c - mistake.h: C is compared with the products that known mistakes make of the same operands. They are small
 * integers, so that two different products differ somewhere, and plain loops are exact. */
#include "mistake.h"

#include "reference.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_EDGE = 128, MOST_TILE = 64, LEAST_TILE = 2 };

/* The operands and both Cs, in doubles, row by row. */
typedef struct products {
    int64_t m, n, k;
    double *a, *b, *before, *found, *expected; /* before: C0 */
    bool untouched;                            /* not one element of C was written */
} products;

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

/* Is C x A B + y C0? */
static bool fits_scalars(const products *s, double x, double y)
{
    for (int64_t i = 0; i < s->m; i++)
        for (int64_t j = 0; j < s->n; j++)
            if (!(s->found[i * s->n + j] == x * sum_of(s, false, i, j, s->k) + y * s->before[i * s->n + j]))
                return false;
    return true;
}

static bool name_scalars(const products *s, double alpha, double beta, char text[MISTAKE_BYTES])
{
    const struct {
        double x, y;
        const char *text;
    } mistakes[] = {{1, 0, "alpha and beta are ignored: C is A B"},
                    {alpha, 0, "beta is ignored: C is alpha A B"},
                    {1, beta, "alpha is ignored: C is A B + beta C"},
                    {alpha, 1, "beta is taken as 1: C is alpha A B + C"},
                    {1, 1, "alpha and beta are ignored: C is A B + C"},
                    {alpha, alpha * beta, "alpha multiplies C too: C is alpha (A B + beta C)"},
                    {alpha * alpha, beta, "alpha is applied twice: C is alpha^2 A B + beta C"}};
    if (fits_scalars(s, alpha, beta)) return false;
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++)
        if (fits_scalars(s, mistakes[i].x, mistakes[i].y)) {
            snprintf(text, MISTAKE_BYTES, "%s", mistakes[i].text);
            return true;
        }
    return false;
}

/* ---- */

static bool name(const products *s, char text[MISTAKE_BYTES])
{
    if (fits_multiple(s, 1)) return false;
    if (s->untouched) {
        snprintf(text, MISTAKE_BYTES,
                 "all of C is still NaN: not written, or computed from what must not be read (C where beta is 0, or "
                 "beyond A and B)");
        return true;
    }
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
    else
        return name_part(s, text);
    return true;
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
    const products s = {.m = p->m,
                        .n = p->n,
                        .k = p->k,
                        .a = room,
                        .b = room + p->m * p->k,
                        .before = room + p->m * p->k + p->k * p->n,
                        .found = room + p->m * p->k + p->k * p->n + p->m * p->n,
                        .expected = o->reference,
                        .untouched = memcmp(c, o->c0, oracle_c_bytes(o)) == 0};
    view_load(x.a, 0, s.m, 0, s.k, s.a, s.k);
    view_load(x.b, 0, s.k, 0, s.n, s.b, s.n);
    view_load((view){.type = x.type_c, .base = o->c0, .row = x.problem.ldc, .col = 1}, 0, s.m, 0, s.n, s.before, s.n);
    view_load((view){.type = x.type_c, .base = c, .row = x.problem.ldc, .col = 1}, 0, s.m, 0, s.n, s.found, s.n);
    const bool named = p->alpha == 1 && p->beta == 0 ? name(&s, text) : name_scalars(&s, p->alpha, p->beta, text);
    free(room);
    return named;
}
