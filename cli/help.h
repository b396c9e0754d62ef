/* help.h - the texts that come out of the command table and the option table. */
#ifndef TILEWRIGHT_HELP_H
#define TILEWRIGHT_HELP_H

#include <stdio.h>
#include "opts.h"

void help_overview(FILE *out);
void help_command(FILE *out, const command *cmd);
void help_man(FILE *out);        /* a man page, section 1 */
void help_completion(FILE *out); /* for bash: tilewright help --completion > /etc/bash_completion.d/tilewright */

#endif
