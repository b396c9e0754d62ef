/* batch.c - see batch.h. */
#include "batch.h"

#include <stdlib.h>
#include <string.h>
#include "../element.h"

/* rows x cols elements, `ld` apart, of which the one at (row, col) moves to (row - up, col - left), round and round;
 * what lies between the rows stays. */
typedef struct matrix {
    int64_t rows, cols, ld;
    size_t bytes;
} matrix;

static void move_round(const matrix *x, char *to, const char *from, int64_t up, int64_t left)
{
    size_t begin = (size_t)left * x->bytes, line = (size_t)x->cols * x->bytes, pitch = (size_t)x->ld * x->bytes;
    for (int64_t row = 0; row < x->rows; row++) {
        const char *source = from + (size_t)((row + up) % x->rows) * pitch;
        memcpy(to + (size_t)row * pitch, source + begin, line - begin);
        memcpy(to + (size_t)row * pitch + (line - begin), source, begin);
    }
}

/* Item i has A's rows moved up by i and, where they have come round, B's columns to the left: so is its product, in
 * which no element is computed from others. */
static int64_t item_up(const tw_problem *p, int64_t item) { return p->m > 0 ? item % p->m : 0; }
static int64_t item_left(const tw_problem *p, int64_t item) { return p->m > 0 && p->n > 0 ? item / p->m % p->n : 0; }

static matrix matrix_of(tw_op op, int64_t rows, int64_t cols, int64_t ld, size_t bytes)
{
    return op == TW_N || op == TW_R ? (matrix){rows, cols, ld, bytes} : (matrix){cols, rows, ld, bytes};
}

/* An operand for each item, `stride` bytes apart. */
static char *items_of(const tw_problem *p, const void *item, size_t bytes, size_t stride, int64_t count,
                      const matrix *x, tw_op op, bool has_m, bool has_n)
{
    const bool by_rows = op == TW_N || op == TW_R;
    char *made = stride <= (SIZE_MAX - 1) / (size_t)count ? calloc((size_t)count * stride + 1, 1) : NULL;
    for (int64_t i = 0; made != NULL && i < count; i++) {
        int64_t up = has_m ? item_up(p, i) : 0, left = has_n ? item_left(p, i) : 0;
        memcpy(made + (size_t)i * stride, item, bytes);
        if (bytes > 0) move_round(x, made + (size_t)i * stride, item, by_rows ? up : left, by_rows ? left : up);
    }
    return made;
}

bool batch_spread(const oracle *o, int64_t count, const void *c, batch_operands *out)
{
    const tw_problem *p = &o->problem;
    const tw_batch batch = tw_batch_make(p, count);
    size_t bytes = (size_t)element_of(p->dtype)->bytes,
           result = (size_t)element_of(element_of(p->dtype)->result)->bytes;
    size_t a = (size_t)batch.stride_a * bytes, b = (size_t)batch.stride_b * bytes, to = (size_t)batch.stride_c * result;
    *out = (batch_operands){.batch = batch,
                            .a_bytes = a * (size_t)count,
                            .b_bytes = b * (size_t)count,
                            .c_bytes = to * (size_t)count,
                            .item_bytes = oracle_c_bytes(o)};
    const matrix of_a = matrix_of(p->op_a, p->m, p->k, p->lda, bytes),
                 of_b = matrix_of(p->op_b, p->k, p->n, p->ldb, bytes), of_c = {p->m, p->n, p->ldc, result};
    out->a = items_of(p, o->a, oracle_a_bytes(o), a, count, &of_a, p->op_a, true, false);
    out->b = items_of(p, o->b, oracle_b_bytes(o), b, count, &of_b, p->op_b, false, true);
    out->c = items_of(p, c, oracle_c_bytes(o), to, count, &of_c, TW_N, true, true);
    out->back = malloc(oracle_c_bytes(o) + 1);
    if (out->a != NULL && out->b != NULL && out->c != NULL && out->back != NULL) return true;
    batch_free(out);
    return false;
}

void batch_free(batch_operands *x)
{
    free(x->a), free(x->b), free(x->c), free(x->back);
    *x = (batch_operands){0};
}

const void *batch_to_judge(const tw_problem *p, batch_operands *x)
{
    size_t stride = x->c_bytes / (size_t)x->batch.count;
    const matrix of_c = {p->m, p->n, p->ldc, (size_t)element_of(element_of(p->dtype)->result)->bytes};
    for (int64_t i = 1; i < x->batch.count && x->item_bytes > 0; i++) {
        int64_t up = item_up(p, i), left = item_left(p, i);
        memcpy(x->back, x->c + (size_t)i * stride, x->item_bytes);
        move_round(&of_c, x->back, x->c + (size_t)i * stride, up > 0 ? p->m - up : 0, left > 0 ? p->n - left : 0);
        if (memcmp(x->c, x->back, x->item_bytes) != 0) return x->back;
    }
    return x->c;
}
