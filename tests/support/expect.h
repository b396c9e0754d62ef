/* expect.h - a case of one condition; where it does not hold, the reason is the library's last sentence. */
#ifndef TILEWRIGHT_EXPECT_H
#define TILEWRIGHT_EXPECT_H

#include "tap.h"
#include "tilewright.h"

static void expect(const char *what, bool holds)
{
    if (tap_case("%s", what)) tap_result(holds, "%s", tw_error_text());
}

#endif
