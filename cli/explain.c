/* explain.c - what every part of `tilewright explain` begins with. */
#include "explain.h"

#include "term.h"

void explain_heading(const explain *x, const char *text)
{
    term_paint paint = term_paint_for(x->s->text);
    fprintf(x->s->text, "\n%s%s%s\n", paint.bold, text, paint.plain);
}
