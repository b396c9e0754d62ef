/* out_of_core.h - `multiply` where the matrices are larger than the memory that they may take: C block by block, from
 * panels that are read from the files of A and B. */
#ifndef TILEWRIGHT_OUT_OF_CORE_H
#define TILEWRIGHT_OUT_OF_CORE_H

#include "panels.h"

typedef struct out_of_core {
    int64_t limit;     /* bytes */
    bool needed;       /* by out_of_core_open */
    double in_core;    /* bytes that the product takes in memory as a whole */
    const char *whole; /* an operand that is not read in panels; NULL: all may be */
    blocks_problem problem;
    blocks blocks;
    int64_t bytes; /* that it takes in blocks, workspaces included */
    double bytes_read, read_s, waited_s, multiply_s, write_s;
    int64_t panels, nans, infinite;
} out_of_core;

/* out_of_core_usable - bytes that the process may use: --memory, else three quarters of what there is. */
int64_t out_of_core_usable(const product_wish *wish);

/* out_of_core_open - find out what the product takes in memory and what it may take. needed: operands are open
 * (operands_open) and settled, and the blocks chosen; else nothing is open. EXIT_OK, or a sentence. */
exit_code out_of_core_open(const product_wish *wish, operands *in, io_format format, out_of_core *x);

/* out_of_core_check - operands that were read as a whole, beside C: are they within --memory? EXIT_OK, or EXIT_MEMORY
 * after a sentence. */
exit_code out_of_core_check(const product_wish *wish, const operands *in, const out_of_core *x);

/* out_of_core_run - read, compute and write all of C, whose file is made and empty. */
exit_code out_of_core_run(const product_wish *wish, const operands *in, io_output *out, io_format format,
                          out_of_core *x);

/* out_of_core_block - a block as it is multiplied. */
tw_problem out_of_core_block(const product_wish *wish, const operands *in, const out_of_core *x);

/* out_of_core_tell - with what memory, in which blocks, and how much is read. */
void out_of_core_tell(const product_wish *wish, const out_of_core *x);

#endif
