/* ranks.h - `multiply` started by mpirun: one product over all ranks, each holding its share of A, B and C. */
#ifndef TILEWRIGHT_RANKS_H
#define TILEWRIGHT_RANKS_H

#include "launched.h"
#include "session.h"

exit_code ranks_multiply(session *s, const launched *l);

/* ranks_check - options for ranks where there is only one. EXIT_OK, or EXIT_USAGE after a sentence. */
exit_code ranks_check(const options *opt, const launched *l);

#endif
