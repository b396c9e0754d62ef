/* first_line.h - small files of the system, as those of /proc and /sys. */
#ifndef TILEWRIGHT_FIRST_LINE_H
#define TILEWRIGHT_FIRST_LINE_H

#include <stdbool.h>
#include <stddef.h>

/* first_line - the first line of a file, without its newline; false when it cannot be read. */
bool first_line(const char *path, char *line, size_t bytes);

#endif
