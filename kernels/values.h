/* values.h - an epilogue as it is computed: a list of values, each made of values before it. The last becomes the
 * element of C. src/expression_parse.c makes the list of a text; every engine computes the same list. */
#ifndef TILEWRIGHT_VALUES_H
#define TILEWRIGHT_VALUES_H

#include <stdbool.h>
#include <stdint.h>

typedef enum value_op {
    VALUE_NUMBER, /* `number` */
    VALUE_ACC,    /* alpha * sum + beta * c, in the accumulator's type; of i32 sums rounded to f32 */
    VALUE_ROW,    /* i and j, the element's row and column in C */
    VALUE_COLUMN,
    VALUE_BOUND, /* of[0]: a binding; of[1] and of[2]: the index of its rows and of its columns, see value_index */
    VALUE_ADD,   /* of[0] op of[1], as C computes it */
    VALUE_SUBTRACT,
    VALUE_MULTIPLY,
    VALUE_DIVIDE,
    VALUE_NEGATE,
    VALUE_LESS, /* 1 or 0 */
    VALUE_LESS_EQUAL,
    VALUE_EQUAL,
    VALUE_NOT_EQUAL,
#define OPERATION(id, ...) VALUE_##id,
#define DEFINED(...)
#include "../data/functions.def"
    VALUE_OPS
} value_op;

/* What a bound operand is indexed by. */
typedef enum value_index { INDEX_NONE, INDEX_I, INDEX_J } value_index;

/* The types of bound operands and of a C that is made of values. */
typedef enum value_type { TYPE_NUMBER, TYPE_F64, TYPE_F32, TYPE_F16, TYPE_BF16, TYPE_I8, TYPE_U8 } value_type;

static inline int value_bytes(value_type type)
{
    return type == TYPE_F64 ? 8 : type == TYPE_F32 ? 4 : type == TYPE_F16 || type == TYPE_BF16 ? 2 : 1;
}

typedef struct value {
    uint8_t op;    /* value_op */
    uint8_t slot;  /* where the CPU keeps it: values that are needed at the same time have different ones */
    bool uniform;  /* the same for all elements of C; these have slots of their own, and keep them */
    int16_t of[3]; /* its operands */
    double number;
} value;

/* An operand that the caller has bound, elements at[index * stride], at[row * ld + column * stride], or alone. */
typedef struct value_binding {
    value_type type; /* TYPE_NUMBER: `number` itself */
    const void *at;
    int64_t ld, stride;
    double number;
} value_binding;

/* How far functions and quotients may be from the exact number, in ulp of f32, where C is of 2 bytes: GPUs have
 * instructions for these. CUDA's __expf is the worst, within 2 + 1.173 |x| ulp, 107 where exp overflows (CUDA C++
 * Programming Guide, intrinsic functions). C itself is rounded by 2^13 such ulp (f16) or more. */
enum { VALUE_HALF_ULPS = 128 };

enum { MOST_VALUES = 256, MOST_SLOTS = 24, MOST_UNIFORMS = 64, MOST_BINDINGS = 16 };

typedef struct value_list {
    int count, bindings;
    value of[MOST_VALUES];
    value_binding bound[MOST_BINDINGS];
} value_list;

/* Does a value read what is bound as that number? */
static inline bool value_reads(const value_list *list, int number)
{
    for (int q = 0; q < list->count; q++)
        if (list->of[q].op == VALUE_BOUND && list->of[q].of[0] == number) return true;
    return false;
}

/* Elements from one row, or one column, of C to the next in what a VALUE_BOUND reads. */
static inline int64_t value_step(const value_list *list, const value *v, value_index along)
{
    const value_binding *b = &list->bound[v->of[0]];
    if (v->of[2] == INDEX_NONE) return v->of[1] == (int)along ? b->stride : 0;
    return (v->of[1] == (int)along ? b->ld : 0) + (v->of[2] == (int)along ? b->stride : 0);
}

#endif
