/* warden.h - a user's kernel runs with this user's rights, on the CPU in a process of the program: what it starts there
 * must not outlive the command, whatever sessions and process groups it makes. */
#ifndef TILEWRIGHT_WARDEN_H
#define TILEWRIGHT_WARDEN_H

#include <stdbool.h>

/* warden_begin - from now on this is another process, two below the caller's. The one between is the subreaper of all
 * that come from the command: it kills each process that loses its parent, and, when the command has ended, all that
 * are left. Both hand on the signals that stop a program and end as the command does. Finds its children in /proc.
 * Before there are threads. false: no process could be started, errno says why. */
bool warden_begin(void);

#endif
