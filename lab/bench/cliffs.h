/* cliffs.h - random shapes as callers have them, the friendlier ones that contain them, and the times of all,
 * interleaved. A shape that takes longer than a larger one that contains it is a cliff. */
#ifndef TILEWRIGHT_CLIFFS_H
#define TILEWRIGHT_CLIFFS_H

#include "cases.h"
#include "row.h"

/* What is drawn: products of least_work to most_work multiply-adds, whose operands take at most most_bytes. */
typedef struct cliff_range {
    double least_work, most_work, most_bytes;
} cliff_range;

/* cliffs_range - 2^20 to 2^36.5 multiply-adds and 1.5 GB. Less, and a power of two, where the device's measured peak or
 * bandwidth says that such a product takes longer than 30 ms, or where that is more than a 32nd of its memory. */
cliff_range cliffs_range(const bench_setup *s, roofs *limits, tw_dtype dtype);

/* cliffs_draw - the shape number `index` of a seed, which depends on the arguments alone. Three of five have m, n and k
 * log-uniform, the others are deep or thin. Two of five have 1 or 8 elements between rows. */
bench_case cliffs_draw(const cliff_range *range, tw_dtype dtype, uint64_t seed, int index);

enum { CLIFF_PROBLEMS = 6 };

/* A shape and what is timed beside it. */
typedef struct cliff_problems {
    int count;
    int aligned;    /* the place of the same extents with rows at multiples of 16 bytes; 0: the shape has such rows */
    int friendlier; /* the first of those with larger extents, up to the last; count: there are none */
    tw_problem items[CLIFF_PROBLEMS]; /* the shape first */
} cliff_problems;

/* cliffs_beside - friendlier shapes have m, n and k rounded up to 8, 16, 64 and 128, and aligned rows. Of equal ones
 * there is one; the second and further ones are left out where they take more than twice the range. */
cliff_problems cliffs_beside(const cliff_range *range, const bench_case *c, tw_dtype dtype);

/* What was found of a shape. */
typedef struct cliff {
    tw_problem problem, friendlier; /* the fastest of the friendlier ones; where there is none, the aligned one */
    const char *kernel;
    double median_s, floor_s; /* floor_s: by the roofline; NAN: unknown */
    double friendlier_s, aligned_s;
    double low, high;        /* of the rounds' median_s / friendlier_s, without the sixth of them at each end */
    double regret;           /* the time over that of best_kernel; NAN: not asked for */
    const char *best_kernel; /* of all candidates */
} cliff;

double cliff_ratio(const cliff *c); /* median_s / friendlier_s */

/* cliffs_time - times the problems interleaved, and again where the shape looks like a cliff. `shape` is the first of
 * them, judged and timed by row_run(): it takes the times of these rounds, its record also those beside it. */
tw_status cliffs_time(const bench_setup *s, roofs *limits, const row_wish *wish, const cliff_problems *problems,
                      row *shape, cliff *found);

/* cliffs_regret - the planner's regret at a shape that cliffs_time() has timed: every production kernel that fits is
 * tried, and the three fastest are timed interleaved with the planner's choice. Their products are not judged. */
tw_status cliffs_regret(const bench_setup *s, double limit_s, row *shape, cliff *found);

#endif
