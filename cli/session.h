/* session.h - what every command works with: its options, where results go, and the device. */
#ifndef TILEWRIGHT_SESSION_H
#define TILEWRIGHT_SESSION_H

#include <stdio.h>
#include "../io/io.h"
#include "../lab/bench/row.h"
#include "../lab/records.h"
#include "../multiply/wish.h"
#include "../program/exit.h"
#include "opts.h"

struct session {
    const options *opt;
    FILE *text; /* results for people: stdout, or stderr where JSON has stdout */
    FILE *json; /* NULL: not asked for */
    bool json_lines;
    io_output json_file; /* path NULL: json is a stream that is not replaced */
    records *kept;       /* NULL; or where the records of this run are kept too, for a page */
    tw_context *context; /* after session_open_device */
    tw_device device;
    char driver[300]; /* what the engine says of its driver; "" where it has none */
};

exit_code session_begin(session *s, const options *opt);

/* session_several - does --device name several devices, or all? */
bool session_several(const options *opt);

/* session_open_device - open the device of --device of that engine, or several, and close what was open. */
exit_code session_open_device(session *s, const char *engine);

/* session_try_device - the same, but a failure is told by tw_error_text() alone. */
tw_status session_try_device(session *s, const char *engine);

void session_close_device(session *s);

/* session_each_engine - open each engine of --engine in turn (`otherwise` where none was named) and call run(s, job)
 * with it. What fails with one engine does not stop the others, unless the command line or an output is at fault; the
 * first failure is returned, a failed check before any other. */
exit_code session_each_engine(session *s, const char *otherwise, exit_code (*run)(session *, void *), void *job);

const char *session_gpu(void); /* the engine of a GPU, CUDA's where it has a device: what is named where none was */

tw_dtype session_dtype(const session *s); /* the first of --dtype, else f32 */

/* session_flush - a line of results is complete: out with it. EXIT_OUTPUT, after a sentence, when that failed. */
exit_code session_flush(session *s);
/* write the record where JSON was asked for, keep it where a page was, and flush */
exit_code session_record(session *s, const record *r);

/* session_row - a row's line is complete: a sentence on stderr where its time is impossible; then its record. */
exit_code session_row(session *s, const row *r);

/* session_product - what multiply/ takes of it: the product that is asked for, and the device that is open. */
product_wish session_product(const session *s);

/* setup_of - what lab/bench takes of it: options as plain values, and the program's hooks. */
bench_setup setup_of(const session *s);

/* session_end - close everything, put the JSON file in its place; returns code, or the first failure of these. */
exit_code session_end(session *s, exit_code code);

#endif
