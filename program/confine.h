/* confine.h - takes from this process, and from all that it starts, what a text that nobody has read must not have:
 * files, the network, other processes, time and memory without end. Nothing gives it back.
 *
 * Files are kept away by Landlock, system calls by a seccomp filter, the rest by limits of resources. Linux alone, on
 * x86-64 and arm64. */
#ifndef TILEWRIGHT_CONFINE_H
#define TILEWRIGHT_CONFINE_H

#include <stdbool.h>

/* confine_why_not - why nothing can be confined here; NULL: it can. */
const char *confine_why_not(void);

/* confine_keeps_files - does this system's kernel keep files away? Where it does not, calls and sizes are limited all
 * the same. */
bool confine_keeps_files(void);

/* confine_compiler - a compiler in `path` may run, read what compilers are installed with, and write into this folder
 * alone, where it may use so many seconds. No network. false: it could not be confined. */
bool confine_compiler(const char *path, const char *folder, int seconds);

/* confine_loading - from now on no file is opened but those of this folder, and no process is started. SIGXCPU ends it
 * after so many seconds of processor time. */
bool confine_loading(const char *folder, int seconds);

/* confine_computing - from now on the process computes: it takes and gives back memory of its own that no code lies in,
 * writes to this file, and ends. Any other call of the system ends it by SIGSYS. */
bool confine_computing(int answers);

#endif
