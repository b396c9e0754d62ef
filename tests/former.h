/* former.h - what rows were called in the tree that TILEWRIGHT_BEFORE names, for comparisons with it. */
#ifndef TILEWRIGHT_FORMER_H
#define TILEWRIGHT_FORMER_H

#include <stdio.h>
#include <string.h>
#include "tilewright_lab.h"

/* The row's name with its former rung in the place of this one. It stays in text, or is the row's own. */
static inline const char *former_name(const tw_lab_kernel *row, char text[96])
{
    const char *rung = row->formerly != NULL ? strstr(row->name, row->rung) : NULL;
    if (rung == NULL) return row->name;
    snprintf(text, 96, "%.*s%s%s", (int)(rung - row->name), row->name, row->formerly, rung + strlen(row->rung));
    return text;
}

#endif
