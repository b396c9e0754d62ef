/* named.c - see named.h. */
#include "named.h"

#include <string.h>

static bool begins(const char *name, const char *word)
{
    size_t length = strlen(word);
    return strncmp(word, name, length) == 0 && (name[length] == '\0' || name[length] == '_');
}

bool kernel_is_called(const tw_lab_kernel *row, const char *word)
{
    return begins(row->rung, word) || (row->formerly != NULL && begins(row->formerly, word)) ||
           strcmp(row->name, word) == 0;
}
