/* multiplied.h - the types of A, B and C, as --dtype and --dtype-c of `multiply` and `verify` name them. */
#ifndef TILEWRIGHT_MULTIPLIED_H
#define TILEWRIGHT_MULTIPLIED_H

#include "../io/io.h"
#include "wish.h"

/* a, b: as what A and B are multiplied, by name. type_*: how the matrices lie in memory; tf32 lies there as f32. */
typedef struct multiplied {
    const char *a, *b;
    io_type type_a, type_b, type_c;
} multiplied;

/* multiplied_of - products of two operands of one type, tf32 or a file's. */
void multiplied_of(const char *type, multiplied *out);

/* multiplied_asked - as --dtype asks; false: it is not given. */
bool multiplied_asked(const product_wish *wish, multiplied *out);

/* multiplied_check - do the values of --dtype and --dtype-c fit each other? EXIT_OK, or EXIT_USAGE after a sentence. */
exit_code multiplied_check(const product_wish *wish);

/* multiplied_check_engine - has the open device a kernel for what --dtype asks for? Before any file is read. EXIT_OK,
 * or EXIT_DEVICE after a sentence with the types, the engine and what does multiply them. */
exit_code multiplied_check_engine(const product_wish *wish);

/* multiplied_scales - are A and B of integers, and C of another type than their sums? alpha and beta are any numbers
 * then. */
bool multiplied_scales(const multiplied *x);

/* multiplied_by - has this engine kernels for the types of A, B and C? */
bool multiplied_by(const char *engine, const tw_problem *p);

/* multiplied_problem - puts the dtypes into a problem. */
void multiplied_problem(const multiplied *x, tw_problem *problem);

#endif
