/* cmd.h - the commands, one function each; main.c has the table of them. */
#ifndef TILEWRIGHT_CMD_H
#define TILEWRIGHT_CMD_H

#include "session.h"

exit_code cmd_multiply(session *s);
exit_code cmd_verify(session *s);
exit_code cmd_bench(session *s);
exit_code cmd_ladder(session *s);
exit_code cmd_explain(session *s);
exit_code cmd_report(session *s);
exit_code cmd_devices(session *s);
exit_code cmd_doctor(session *s);
exit_code cmd_selftest(session *s);
exit_code cmd_tune(session *s);

/* of `tune`, without a search: tuned_rows.c */
exit_code tuned_show(session *s);
exit_code tuned_export(session *s);
exit_code tuned_forget(session *s);
bool tuned_is_wanted(const session *s, const char *engine); /* is a row of this engine among those of --engine? */

#endif
