/* expression.h - the text that a caller gives as an epilogue, parsed. */
#ifndef TILEWRIGHT_EXPRESSION_H
#define TILEWRIGHT_EXPRESSION_H

#include "error.h"
#include "dtypes.h"
#include "../kernels/values.h"

enum { EPILOGUE_MOST_TEXT = 4096, EPILOGUE_MOST_NAME = 31, EPILOGUE_MAGIC = 0x7477e910 };

struct tw_epilogue {
    uint32_t magic; /* EPILOGUE_MAGIC */
    value_list values;
    char *gpu_text;                                    /* expression_text() of the values */
    char names[MOST_BINDINGS][EPILOGUE_MOST_NAME + 1]; /* of the bindings */
    char text[EPILOGUE_MOST_TEXT + 1];
};

/* Of names, whatever the locale. */
static inline bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* epilogue_parse - makes e->values of e->text, whose names are bound. TW_BAD_ARGUMENT: the sentence has the column. */
tw_status epilogue_parse(struct tw_epilogue *e);

/* value_operands - how many of a value's `of` are values. */
int value_operands(const value *v);

/* expression_text - the values as text for a GPU's compiler, for free(); NULL without memory. */
char *expression_text(const value_list *list);

/* epilogue_check - is this an epilogue, and may it make C of such sums? */
tw_status epilogue_check(const struct tw_epilogue *e, const tw_problem *p);

/* What the epilogue of a problem reads of an operand: elements from `first` to `last`, of the one that is bound;
 * whether all of its uses read a vector, or rows of C. */
typedef struct bound_span {
    int64_t first, last;
    bool read, vector, by_rows;
} bound_span;

bound_span epilogue_span(const tw_problem *p, int number);

/* epilogue_type - TYPE_NUMBER: no type that an epilogue reads or writes */
value_type epilogue_type(tw_dtype dtype);

#endif
