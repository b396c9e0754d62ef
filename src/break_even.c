/* break_even.c - from which square product on a device is faster than another, operands in host memory. */
#include "context.h"
#include "error.h"

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

enum { FIRST_EDGE = 64, TRIES = 3 };

static const double CLEARLY = 0.9; /* times as long: two timings of one product differ by less */

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The shortest of some products after one that is not counted: it compiles, and touches memory. */
static tw_status time_product(tw_context *context, const tw_problem *p, const void *a, const void *b, void *c,
                              double *shortest_s)
{
    TRY(tw_gemm(context, p, a, b, c));
    for (int i = 0; i < TRIES; i++) {
        const double begin = now_s();
        TRY(tw_gemm(context, p, a, b, c));
        const double seconds = now_s() - begin;
        if (i == 0 || seconds < *shortest_s) *shortest_s = seconds;
    }
    return TW_OK;
}

/* Of values that vary: on zeros a GPU takes less power, and is faster. */
static void fill(void *to, tw_dtype dtype, size_t elements)
{
    const tw_lab_dtype *type = tw_lab_dtype_of(dtype);
    const size_t numbers = elements * (size_t)type->parts;
    const bool wide = type->bytes / type->parts == 8;
    uint32_t state = 1;
    for (size_t i = 0; i < numbers; i++) {
        state = state * 1664525u + 1013904223u;
        const double value = (double)(state >> 8) / (double)(1 << 23) - 1;
        if (wide)
            ((double *)to)[i] = value;
        else
            ((float *)to)[i] = (float)value;
    }
}

static tw_status compare(tw_context *one, tw_context *other, tw_dtype dtype, int64_t most, void *a, void *b, void *c,
                         int64_t *edge)
{
    for (int64_t n = FIRST_EDGE; n <= most; n *= 2) {
        fill(a, dtype, (size_t)(n * n)), fill(b, dtype, (size_t)(n * n));
        const tw_problem p = tw_problem_make(dtype, TW_N, TW_N, n, n, n);
        double of_one, of_other;
        TRY(time_product(one, &p, a, b, c, &of_one));
        TRY(time_product(other, &p, a, b, c, &of_other));
        if (of_other >= CLEARLY * of_one) continue;
        *edge = n;
        return TW_OK;
    }
    return TW_OK;
}

tw_status tw_lab_break_even(tw_context *one, tw_context *other, tw_dtype dtype, int64_t most, int64_t *edge)
{
    HOLD_CANCELLATION;
    const bool times = dtype == TW_F32 || dtype == TW_F64 || dtype == TW_CF32 || dtype == TW_CF64;
    if (edge == NULL || most < 1 || most > 32768 || !times)
        return fail(TW_BAD_ARGUMENT, "edge is NULL, most is not from 1 to 32768, or dtype not f32, f64, cf32 or cf64");
    *edge = 0;
    const size_t elements = (size_t)most * (size_t)most, bytes = elements * (size_t)tw_lab_dtype_of(dtype)->bytes;
    char *room = malloc(3 * bytes);
    if (room == NULL) return fail(TW_NO_MEMORY, "no memory for three matrices of %zu bytes", bytes);
    const tw_status status = compare(one, other, dtype, most, room, room + bytes, room + 2 * bytes, edge);
    free(room);
    return status;
}
