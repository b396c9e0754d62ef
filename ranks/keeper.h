/* keeper.h - a process beside the program that removes a temporary file when the program is killed: some launchers end
 * all ranks of a job by SIGKILL when one has failed, and no handler runs. */
#ifndef TILEWRIGHT_KEEPER_H
#define TILEWRIGHT_KEEPER_H

/* keeper_begin - start it; before there are threads. It ends with the program. Where there is no process to be had, the
 * file stays. */
void keeper_begin(void);
void keeper_file(const char *path); /* remove this file; NULL: none any more */

#endif
