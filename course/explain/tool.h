/* tool.h - lab/command.h for programs that read a file, found on PATH or where CUDA's toolkit lies. */
#ifndef TILEWRIGHT_TOOL_H
#define TILEWRIGHT_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include "../../lab/command.h"

enum { TOOL_PATH = COMMAND_PATH };

/* tool_find - its path: folders of PATH that begin at the root, then /usr/local/cuda/bin. */
bool tool_find(const char *name, char path[TOOL_PATH]);

/* tool_run - run it with these words (the first is its path, NULL ends them), nothing on its standard input, its
 * messages dropped. Returns what it wrote, for free(), ended by a zero; NULL where it could not be run, failed, or
 * wrote more than 256 MiB. */
char *tool_run(const char *const words[]);

/* tool_file - bytes in a temporary file that only this user can read, which goes when the program is stopped;
 * tool_file_end removes it. */
bool tool_file(const void *bytes, size_t count, char path[TOOL_PATH]);
void tool_file_end(const char *path);

#endif
