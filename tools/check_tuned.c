/* check_tuned.c - build tool: stops the build where a row of data/tuned/ is damaged or names what is not known. */
#include <stdio.h>

#include "tuned.h"

int main(void)
{
    if (tuned_check() == TW_OK) return 0;
    fprintf(stderr, "%s\n", tw_error_text());
    return 1;
}
