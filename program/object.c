/* object.c - writes one JSON object, field by field. */
#include "object.h"

#include <math.h>
#include "../lab/record.h"

object object_begin(FILE *stream)
{
    if (stream != NULL) fputc('{', stream);
    return (object){stream, false};
}

static bool put_key(object *o, const char *key)
{
    if (o->stream == NULL) return false;
    if (o->any) fputs(", ", o->stream);
    o->any = true;
    json_put_text(o->stream, key);
    fputs(": ", o->stream);
    return true;
}

void object_text(object *o, const char *key, const char *value)
{
    if (!put_key(o, key)) return;
    if (value != NULL && value[0] != '\0')
        json_put_text(o->stream, value);
    else
        fputs("null", o->stream);
}

void object_number(object *o, const char *key, double value)
{
    if (put_key(o, key)) json_put_number(o->stream, value);
}

void object_positive(object *o, const char *key, double value)
{
    object_number(o, key, value > 0 ? value : (double)NAN);
}

void object_flag(object *o, const char *key, bool value)
{
    if (put_key(o, key)) fputs(value ? "true" : "false", o->stream);
}

void object_end(object *o)
{
    if (o->stream != NULL) fputs("}\n", o->stream);
}
