/* announced.h - a kernel of the CPU as sanitizers see it: KERNEL tells them what the call reads and writes, then calls
 * BARE, which is the kernel compiled as in a release. A check at each access would take more time than all else that
 * the tests do; a check of each range finds the same faults of the callers, and the kernels' own are found by guard
 * pages (tests/support/guard.h) and by a build with TILEWRIGHT_SANITIZE_KERNELS. The build includes this once for each
 * kernel, after that kernel's macros.
 *
 * The ranges are those of kernels/cpu/cpu.h. */
#ifndef TILEWRIGHT_ANNOUNCED_H
#define TILEWRIGHT_ANNOUNCED_H

#include "cpu.h"
#include "vec.h"

#include <stddef.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>

static void touch(const void *at, int64_t bytes, bool writes)
{
    volatile char *wrong = bytes > 0 ? __asan_region_is_poisoned((void *)(uintptr_t)at, (size_t)bytes) : NULL;
    if (wrong == NULL) return;
    const char found = *wrong; /* reported here, as a read */
    if (writes) *wrong = found;
}
#else
void __tsan_read_range(void *at, size_t bytes);
void __tsan_write_range(void *at, size_t bytes);

static void touch(const void *at, int64_t bytes, bool writes)
{
    if (bytes > 0) (writes ? __tsan_write_range : __tsan_read_range)((void *)(uintptr_t)at, (size_t)bytes);
}
#endif

/* Element (i, j) of rows x cols at (i * rs + j * cs) * bytes. */
static void touch_matrix(const void *at, int64_t rows, int64_t cols, int64_t rs, int64_t cs, int64_t bytes, bool writes)
{
    if (cs != 1 && rs == 1) {
        touch_matrix(at, cols, rows, cs, rs, bytes, writes);
        return;
    }
    if (cs == 1 && rs == cols) cols *= rows, rows = 1;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < (cs == 1 ? 1 : cols); j++)
            touch((const char *)at + (i * rs + j * cs) * bytes, (cs == 1 ? cols : 1) * bytes, writes);
}

#define JOIN(x, y)  JOIN_(x, y)
#define JOIN_(x, y) x##y

#endif

#ifndef DOT
#define DOT 0
#endif
#ifndef PARTS
#define PARTS 1
#endif
#define SIZE (int64_t)(PARTS * sizeof(REAL))

#ifdef OF_GEMM
cpu_micro BARE;
void KERNEL(const cpu_tile *t)
{
    const int64_t a_steps = t->k + (DOT >= DOT_U8), c_ld = t->sum_out != NULL ? t->sum_out_ld : t->ldc;
    touch_matrix(t->a, t->rows, a_steps, t->a_rs, t->a_cs, SIZE, false);
    touch_matrix(t->b, t->k, t->cols, t->b_rs, 1, SIZE, false);
    if (t->sum_in != NULL) touch_matrix(t->sum_in, t->rows, t->cols, t->sum_in_ld, 1, SIZE, false);
    if (t->total != NULL) touch_matrix(t->total, t->rows, t->cols, t->total_ld, 1, SIZE, false);
    touch_matrix(t->sum_out != NULL ? t->sum_out : t->c, t->rows, t->cols, c_ld, 1, SIZE, true);
    BARE(t);
}

#if DOT == 0
cpu_unpacked_product JOIN(BARE, _unpacked);
void JOIN(KERNEL, _unpacked)(const cpu_unpacked *x, double alpha, double beta, const void *a, const void *b, void *c)
{
    touch_matrix(a, x->m, x->k, x->a_rs, x->a_cs, SIZE, false);
    touch_matrix(b, x->k, x->n, x->b_rs, 1, SIZE, false);
    touch_matrix(c, x->transposed ? x->n : x->m, x->transposed ? x->m : x->n, x->ldc, 1, SIZE, true);
    JOIN(BARE, _unpacked)(x, alpha, beta, a, b, c);
}
#endif
#endif

#ifdef OF_GEMV
cpu_gemv_kernel BARE;
void KERNEL(const cpu_gemv *line)
{
#ifdef HALF
    const int64_t bytes = 2;
#elif defined(IS_INT8)
    const int64_t bytes = IS_INT8 ? 1 : 2;
#else
    const int64_t bytes = SIZE;
#endif
    const cpu_epilogue *e = line->epilogue;
    touch_matrix(line->x, line->count, line->k, line->x_stride, line->x_k, bytes, false);
    touch_matrix(line->y, line->k, 1, line->y_stride, 1, bytes, false);
    if (e != NULL)
        touch_matrix(e->c, line->count, 1, line->down ? e->ldc : 1, 1, e->c_bytes, true);
    else
        touch_matrix(line->c, line->count, 1, line->c_stride, 1, SIZE, true);
    BARE(line);
}
#endif

#ifdef OF_TRIANGLE
cpu_triangle_kernel BARE, JOIN(BARE, _pack);

void JOIN(KERNEL, _pack)(const cpu_triangle *p)
{
    for (int64_t i = 0; i < p->m; i++) {
        const int64_t first = p->lower ? 0 : i + p->unit, last = p->lower ? i + !p->unit : p->m;
        if (last > first)
            touch_matrix((const char *)p->t + (i * p->t_rs + first * p->t_cs) * SIZE, 1, last - first, p->t_rs, p->t_cs,
                         SIZE, false);
    }
    touch(p->packed, cpu_triangle_elements(p->m) * SIZE, true);
    JOIN(BARE, _pack)(p);
}

void KERNEL(const cpu_triangle *p)
{
    touch(p->packed, cpu_triangle_elements(p->m) * SIZE, false);
    touch_matrix(p->b, p->m, p->n, p->b_rs, p->b_cs, SIZE, true);
    BARE(p);
}
#endif

#ifdef OF_RUNG
cpu_whole BARE;
void KERNEL(const cpu_problem *x)
{
    touch_matrix(x->a, x->m, x->k, x->a_rs, x->a_cs, SIZE, false);
    touch_matrix(x->b, x->k, x->n, x->b_rs, x->b_cs, SIZE, false);
    /* announced as read: each thread of a team announces all of C and writes a part, which would look like a race */
    touch_matrix(x->c, x->m, x->n, x->ldc, 1, SIZE, false);
    BARE(x);
}
#endif

#undef BARE
#undef DOT
#undef HALF
#undef IS_INT8
#undef KERNEL
#undef MR
#undef NR
#undef REAL_INT_BITS
#undef OF_GEMM
#undef OF_GEMV
#undef OF_RUNG
#undef OF_TRIANGLE
#undef PARTS
#undef REAL
#undef REAL_IS_DOUBLE
#undef SIZE
