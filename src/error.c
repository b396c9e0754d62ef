/* error.c - status names and texts, and the calling thread's last failure. */
#include "error.h"

#include <stdarg.h>
#include <stdio.h>

static _Thread_local char last_failure[4096];

tw_status fail(tw_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(last_failure, sizeof last_failure, format, arguments);
    va_end(arguments);
    return status;
}

const char *tw_error_text(void) { return last_failure; }

static const struct {
    tw_status status;
    const char *name, *text;
} statuses[] = {
#define STATUS(status, text) {status, #status, text},
#include "status.def"
#undef STATUS
};

const char *tw_status_name(tw_status status)
{
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
        if (statuses[i].status == status) return statuses[i].name;
    return "unknown status";
}

const char *tw_status_text(tw_status status)
{
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
        if (statuses[i].status == status) return statuses[i].text;
    return "unknown status";
}
