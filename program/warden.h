/* warden.h - a user's kernel runs with this user's rights, on the CPU in a process of the program. Processes that it
 * starts there must not outlive the command, whatever sessions and process groups it makes. */
#ifndef TILEWRIGHT_WARDEN_H
#define TILEWRIGHT_WARDEN_H

#include <stdbool.h>

/* warden_begin - forks twice and returns in the grandchild, which is the command from now on. Its parent is the
 * subreaper of the command's processes: it kills each one that loses its parent and, after the command's end, all that
 * are left. It finds them in /proc. The two processes above the command pass on the signals that stop a program, and
 * end as the command does. Call it before there are threads. false: no process could be started, errno says why. */
bool warden_begin(void);

#endif
