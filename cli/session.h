/* session.h - what every command works with: its options, where results go, and the device. */
#ifndef TILEWRIGHT_SESSION_H
#define TILEWRIGHT_SESSION_H

#include <stdio.h>
#include "../io/io.h"
#include "../lab/record.h"
#include "exit.h"
#include "opts.h"

struct session {
    const options *opt;
    FILE *text; /* results for people: stdout, or stderr where JSON has stdout */
    FILE *json; /* NULL: not asked for */
    bool json_lines;
    io_output json_file; /* path NULL: json is a stream that is not replaced */
    tw_context *context; /* after session_open_device */
    tw_device device;
};

exit_code session_begin(session *s, const options *opt);
exit_code session_open_device(session *s);

/* session_flush - a line of results is complete: out with it. EXIT_OUTPUT, after a sentence, when that failed. */
exit_code session_flush(session *s);
exit_code session_record(session *s, const record *r); /* write the record where JSON was asked for, and flush */

/* session_end - close everything, put the JSON file in its place; returns code, or the first failure of these. */
exit_code session_end(session *s, exit_code code);

#endif
