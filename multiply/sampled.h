/* sampled.h - the check of `multiply --verify` where the matrices are larger than the memory that they may take. */
#ifndef TILEWRIGHT_SAMPLED_H
#define TILEWRIGHT_SAMPLED_H

#include "../lab/oracle.h"
#include "out_of_core.h"

/* A part of C, and how many of its rows and columns are looked at. */
typedef struct sampled_region {
    int64_t row, col, rows, cols;
    int samples;
} sampled_region;

/* sampled_judge - elements of each block of the region (NULL: of C), drawn by --seed, read back from the temporary file
 * and judged one by one. EXIT_OK, EXIT_CHECK or what else went wrong, after a sentence. report: of all together. */
exit_code sampled_judge(const product_wish *wish, const operands *in, const io_output *out, const out_of_core *x,
                        const sampled_region *region, verify_report *report);

#endif
