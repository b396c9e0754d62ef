/* first_line.c - small files of the system, as those of /proc and /sys. */
#include "first_line.h"

#include <stdio.h>
#include <string.h>

bool first_line(const char *path, char *line, size_t bytes)
{
    FILE *file = fopen(path, "re");
    if (file == NULL) return false;
    bool read = fgets(line, (int)bytes, file) != NULL;
    fclose(file);
    if (read) line[strcspn(line, "\n")] = '\0';
    return read;
}
