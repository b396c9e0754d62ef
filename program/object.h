/* object.h - one JSON object on one line, for what is not a measurement (those are lab/record.h). A NULL stream:
 * nothing is written, so that callers need not ask whether --json was given. */
#ifndef TILEWRIGHT_OBJECT_H
#define TILEWRIGHT_OBJECT_H

#include <stdbool.h>
#include <stdio.h>

typedef struct object {
    FILE *stream;
    bool any;
} object;

object object_begin(FILE *stream);
void object_text(object *o, const char *key, const char *value); /* NULL and "" are null */
void object_number(object *o, const char *key, double value);
void object_positive(object *o, const char *key, double value); /* 0, which is unknown, is null */
void object_flag(object *o, const char *key, bool value);
void object_end(object *o);

#endif
