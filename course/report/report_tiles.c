/* report_tiles.c - speed over the tile edge, where a ladder was swept: a curve for each rung with several edges. */
#include "report_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "chart.h"

/* Steps of a sweep in one type: their label is the rung and the edge. */
static bool is_point(const ladder *l, const ladder_step *step)
{
    const records_row *row = step->row;
    return row_timed(row) && ladder_compares(l, row) && row->r.tile > 0 && strchr(step->label, ' ') != NULL;
}

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* The different edges, ascending; count of them. */
static int find_edges(const ladder *l, double *edges)
{
    int count = 0, kept = 0;
    for (int i = 0; i < l->count; i++)
        if (is_point(l, &l->steps[i])) edges[count++] = (double)l->steps[i].row->r.tile;
    qsort(edges, (size_t)count, sizeof *edges, by_value);
    for (int i = 0; i < count; i++)
        if (kept == 0 || edges[i] > edges[kept - 1]) edges[kept++] = edges[i];
    return kept;
}

/* One curve for each rung with two edges or more; speeds has room for edges of each step. */
static int make_curves(const ladder *l, const double *edges, int edge_count, double *speeds, chart_curve *curves)
{
    int count = 0;
    for (int first = 0, last; first < l->count; first = last) {
        double *at = speeds + count * edge_count;
        int points = 0;
        for (int e = 0; e < edge_count; e++) at[e] = NAN;
        for (last = first; last < l->count && strcmp(row_rung(l->steps[last].row), row_rung(l->steps[first].row)) == 0;
             last++)
            for (int e = 0; e < edge_count && is_point(l, &l->steps[last]); e++)
                if (!(fabs(edges[e] - (double)l->steps[last].row->r.tile) > 0)) at[e] = row_speed(l->steps[last].row);
        for (int e = 0; e < edge_count; e++) points += !isnan(at[e]);
        if (points > 1)
            curves[count++] = (chart_curve){row_rung(l->steps[first].row), at, report_series(l->steps[first].row)};
    }
    return count;
}

void report_tiles(const report *r, const ladder *l)
{
    const size_t most = (size_t)l->count + 1;
    double *edges = calloc(most, sizeof *edges), *speeds = calloc(most * most, sizeof *speeds);
    chart_curve *curves = calloc(most, sizeof *curves);
    char title[240];
    report_device_text device;
    const bool room = edges != NULL && speeds != NULL && curves != NULL;
    const int edge_count = room ? find_edges(l, edges) : 0,
              count = room ? make_curves(l, edges, edge_count, speeds, curves) : 0;
    *r->no_memory |= !room;
    if (count > 0) {
        snprintf(title, sizeof title, "Speed over the tile edge, %.20s on %.80s",
                 report_engine_name(r->ladders->machines[l->machine].engine),
                 report_device(&r->ladders->machines[l->machine], device));
        const chart about = {
            title, "One curve per rung: the tile's edge to the right, speed upwards, both logarithmic.", false};
        fputs("<figure>\n", r->out);
        *r->no_memory |= !chart_curves(r->out, &about, "edge of the tile", edges, edge_count, curves, count);
        fputs(
            "<figcaption>A tile of edge b asks b times less of memory than none (5kk73, Ruiz 2024): speed rises until "
            "something else holds the rung, or the tiles leave the cache.</figcaption>\n</figure>\n",
            r->out);
    }
    free(edges);
    free(speeds);
    free(curves);
}
