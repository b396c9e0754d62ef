/* operands.h - from files named on the command line to a tw_problem and its pointers: open, check the shapes, choose
 * the compute type, use in place what can be used in place and convert the rest. */
#ifndef TILEWRIGHT_OPERANDS_H
#define TILEWRIGHT_OPERANDS_H

#include "multiplied.h"

typedef struct operand {
    const char *path; /* NULL: this operand is not part of the call */
    io_source source; /* open: the elements are read block by block, and matrix has none */
    io_matrix matrix;
    void *block; /* elements converted to the compute type, row by row; NULL: used in place */
    int watch;   /* of guard_watch */
} operand;

typedef enum operand_role { OPERAND_A, OPERAND_B, OPERAND_ADD, OPERAND_C, OPERANDS } operand_role;

typedef struct operands {
    operand each[OPERANDS];
    operand *bound; /* what an epilogue reads (bound_read), a path where it is a file; NULL: there is none */
    int bound_count;
    tw_epilogue *epilogue;
    multiplied as; /* its type_c: of C and --add */
    tw_problem problem;
    const void *a, *b; /* where the problem's operands lie */
} operands;

/* operands_read - the files of `multiply` (A, B, --add) or `verify` (and C). On failure a sentence was printed; call
 * operands_free in every case. */
exit_code operands_read(const product_wish *wish, operands *o);
void operands_free(operands *o);

/* operands_open - the same, but nothing of the elements is kept: A, B and --add are open to be read block by block, and
 * the problem's leading dimensions are still to be set. Returns NULL; or, without a sentence, the first that is none of
 * the files of io_source_open(), or of which operands_read() has something to say. */
const operand *operands_open(const product_wish *wish, operands *o);
/* operands_settle - of operands that are open: choose the type, make the problem. */
exit_code operands_settle(const product_wish *wish, operands *o);

/* operands_unchanged - after the last read of elements: EXIT_INPUT, after a sentence, if an operand's file was changed
 * since it was opened, so that the product may mix old and new elements. */
exit_code operands_unchanged(const operands *o);

/* operands_warn - once they are settled: warns on stderr, unless --quiet, where the product's type may surprise. */
void operands_warn(const product_wish *wish, const operands *o);

/* operands_bytes - of A, B, --add and C in memory as operands_read() leaves them, with their conversions; and of what
 * an epilogue reads, once that is read. */
double operands_bytes(const product_wish *wish, const operands *o);

/* operand_read - the file at x->path; raw: as io_read() has it. EXIT_OK, or a sentence. */
exit_code operand_read(operand *x, const io_raw_shape *raw);

/* operand_op - how an operand that lies as its file has it is multiplied. */
tw_op operand_op(const operands *o, const product_wish *wish, operand_role role);

/* operand_dense - the elements of one operand in the compute type, row by row without padding: in place or a block that
 * operands_free gives back. NULL, after a sentence, when memory ran out. *data is NULL for an empty operand. */
exit_code operand_dense(operand *x, io_type type, const void **data);

/* operands_tell - a line for each operand: its file, shape, type, and whether it is used in place. operand_tell - that
 * of one, which is used as `type`. */
void operands_tell(const operands *o, FILE *text);
void operand_tell(const operand *x, const char *name, io_type type, FILE *text);

/* memory_for - rows * cols elements, or NULL when that is more than the machine has; 0 elements give one byte. */
void *memory_for(int64_t rows, int64_t cols, size_t element_bytes);

exit_code operands_check_options(const product_wish *wish); /* the rules between options that both commands share */

#endif
