/* cgroup.h - what the control groups (cgroups) of this process leave it: version 1, version 2 or both. */
#ifndef TILEWRIGHT_CGROUP_H
#define TILEWRIGHT_CGROUP_H

#include "tilewright_lab.h"

/* cgroup_read - the tightest limits of the groups that /proc/self/cgroup names and of those above them, as far as
 * /proc/self/mountinfo says that they are mounted: in a container, up to its own. root stands before each path: "", or
 * a folder that holds copies. What cannot be read limits nothing. */
void cgroup_read(const char *root, tw_lab_limits *out);

#endif
