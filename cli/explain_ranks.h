/* explain_ranks.h - `tilewright explain --ranks N`: how a product would be divided among ranks, and what it
 * would take. */
#ifndef TILEWRIGHT_EXPLAIN_RANKS_H
#define TILEWRIGHT_EXPLAIN_RANKS_H

#include "session.h"

/* explain_ranks_check - EXIT_USAGE, after a sentence, for an option that belongs to --ranks without it, or beside it to
 * a rung. */
exit_code explain_ranks_check(const options *o);

exit_code explain_ranks(session *s);

#endif
