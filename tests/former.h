/* former.h - what rows were called in the tree that TILEWRIGHT_BEFORE names, for comparisons with it. */
#ifndef TILEWRIGHT_FORMER_H
#define TILEWRIGHT_FORMER_H

#include <stdio.h>
#include <string.h>
#include "tilewright_lab.h"

/* The row's name with its former rung in the place of this one, and of a CPU family without the tile, in text. */
static inline const char *former_name(const tw_lab_kernel *row, char text[96])
{
    const char *rung = strstr(row->name, row->rung), *behind = rung + strlen(row->rung);
    const char *tile = row->family && strcmp(row->engine, "cpu") == 0 ? strrchr(behind, '_') : behind + strlen(behind);
    snprintf(text, 96, "%.*s%s%.*s", (int)(rung - row->name), row->name,
             row->formerly != NULL ? row->formerly : row->rung, (int)(tile - behind), behind);
    return text;
}

#endif
