/* error.h - one sentence per failure, kept per thread: fail() where a fault is found, TRY in every caller above. */
#ifndef TILEWRIGHT_ERROR_H
#define TILEWRIGHT_ERROR_H

#include "tilewright.h"

/* fail - keep the sentence for tw_error_text() and return the status. */
tw_status fail(tw_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        tw_status try_status_ = (call);                                                                                \
        if (try_status_ != TW_OK) return try_status_;                                                                  \
    } while (0)

#endif
