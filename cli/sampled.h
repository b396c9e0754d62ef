/* sampled.h - the check of `multiply --verify` where the matrices are larger than the memory that they may take. */
#ifndef TILEWRIGHT_SAMPLED_H
#define TILEWRIGHT_SAMPLED_H

#include "../lab/oracle.h"
#include "out_of_core.h"

/* sampled_judge - elements of each block, drawn by --seed, read back from the temporary file and judged one by one.
 * EXIT_OK, EXIT_CHECK or what else went wrong, after a sentence. report: of all together. */
exit_code sampled_judge(session *s, const operands *in, const io_output *out, const out_of_core *x,
                        verify_report *report);

#endif
