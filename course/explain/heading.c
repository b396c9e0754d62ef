/* heading.c - what every part of `tilewright explain` begins with. */
#include "explain.h"
#include "../../program/term.h"

void explain_heading(const explain *x, const char *text)
{
    term_paint paint = term_paint_for(x->text);
    fprintf(x->text, "\n%s%s%s\n", paint.bold, text, paint.plain);
}
