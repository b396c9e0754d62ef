/* curves.c - see curves.h. */
#include "curves.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>
#include "../program/layout.h"
#include "../program/term.h"

enum { LINES = 24, COLUMN = 9 };

void curves_note(curves *c, const char *label, int place, double gflops)
{
    int at = 0;
    while (at < c->count && strcmp(c->items[at].label, label) != 0) at++;
    if (at == CURVES_MOST) return;
    if (at == c->count) {
        snprintf(c->items[at].label, CURVES_LABEL, "%s", label);
        for (int s = 0; s < CURVES_PLACES; s++) c->items[at].gflops[s] = NAN;
        c->count++;
    }
    c->items[at].gflops[place] = gflops;
}

static char letter(int curve)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    return letters[curve % (int)(sizeof letters - 1)];
}

/* Columns of the longest label. */
static int width_of(const curves *c)
{
    int width = 20;
    for (int i = 0; i < c->count; i++)
        if ((int)strlen(c->items[i].label) > width) width = (int)strlen(c->items[i].label);
    return width;
}

/* The places of values side by side. */
typedef struct part {
    int first, end;
} part;

static void print_values(FILE *out, const curves *c, part p, const char *first)
{
    fprintf(out, "%-*s", 2 + width_of(c), first);
    for (int s = p.first; s < p.end; s++) fprintf(out, "%*" PRId64, COLUMN, c->values[s]);
    fputc('\n', out);
}

static void print_table(FILE *out, const curves *c, part p)
{
    print_values(out, c, p, "GFLOP/s");
    for (int i = 0; i < c->count; i++) {
        fprintf(out, "%c %-*s", letter(i), width_of(c), c->items[i].label);
        for (int s = p.first; s < p.end; s++) {
            term_number speed;
            fprintf(out, "%*s", COLUMN, term_gflops(c->items[i].gflops[s], speed));
        }
        fputc('\n', out);
    }
}

/* The line of a speed, 0 the topmost, on a logarithmic axis. */
static int line_of(double gflops, double least, double most)
{
    if (!(most > least)) return 0;
    return (int)(log(most / gflops) / log(most / least) * (LINES - 1) + 0.5);
}

/* The nearest of 1, 2, 5, 10, 20, 50 ... and of 0.5, 0.2 ...: the largest up to x, or the least from x on. */
static double round_number(double x, bool above)
{
    static const double steps[] = {1, 2, 5, 10};
    const double decade = pow(10, floor(log10(x)));
    int at = above ? 0 : 3;
    while (above && at < 3 && steps[at] * decade < x) at++;
    while (!above && at > 0 && steps[at] * decade > x) at--;
    return steps[at] * decade;
}

/* The axis has round numbers at its ends and at the lines that are nearest to the others. */
static void print_tick(FILE *out, const curves *c, int line, double least, double most)
{
    double tick = least;
    while (line_of(tick, least, most) > line) tick = round_number(1.5 * tick, true);
    if (line_of(tick, least, most) == line)
        fprintf(out, tick < 1 ? "%*g |" : "%*.0f |", width_of(c), tick);
    else
        fprintf(out, "%*s |", width_of(c), "");
}

static void print_line(FILE *out, const curves *c, part p, int line, double least, double most)
{
    print_tick(out, c, line, least, most);
    for (int s = p.first; s < p.end; s++) {
        char here[COLUMN] = "";
        int count = 0;
        for (int i = 0; i < c->count; i++) {
            double gflops = c->items[i].gflops[s];
            if (isnan(gflops) || line_of(gflops, least, most) != line || count == COLUMN - 1) continue;
            here[count] = count == COLUMN - 2 ? '+' : letter(i);
            count++;
        }
        fprintf(out, "%*s", COLUMN, here);
    }
    fputc('\n', out);
}

void curves_print(FILE *out, const curves *c, const char *about)
{
    double least = INFINITY, most = 0;
    for (int i = 0; i < c->count; i++)
        for (int s = 0; s < c->places; s++)
            least = fmin(least, c->items[i].gflops[s]), most = fmax(most, c->items[i].gflops[s]);
    if (c->places < 2 || !(least > 0) || !(most > 0)) return;
    const int width = layout_width(out), have = width > 0 ? (width - 2 - width_of(c)) / COLUMN : c->places,
              fit = have > 1 ? have : 1;
    fprintf(out, "\n%s\n\n", about);
    least = round_number(least, false), most = round_number(most, true);
    for (part p = {0}; p.first < c->places; p.first = p.end) { /* one below the other where they are too wide */
        p.end = p.first + fit < c->places ? p.first + fit : c->places;
        print_table(out, c, p);
        fputc('\n', out);
        for (int line = 0; line < LINES; line++) print_line(out, c, p, line, least, most);
        print_values(out, c, p, "");
        fputc('\n', out);
    }
}
