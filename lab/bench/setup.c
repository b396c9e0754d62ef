/* setup.c - see setup.h. */
#include "setup.h"

#include <stdarg.h>
#include <stdio.h>

tw_status bench_tell(const bench_setup *s, tw_status status, const char *format, ...)
{
    char sentence[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    s->hooks->tell(sentence);
    return status;
}

tw_status bench_no_memory(const bench_setup *s, const char *what)
{
    return bench_tell(s, TW_NO_MEMORY, "memory ran out: there is no room for %s", what);
}
