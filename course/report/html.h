/* html.h - text into a page so that nothing of it can be taken for markup. */
#ifndef TILEWRIGHT_HTML_H
#define TILEWRIGHT_HTML_H

#include <stdio.h>

/* html_text - escaped; what must not stand in a page (control characters, broken UTF-8, signs that turn the direction
 * of writing) becomes U+FFFD. html_text_of: the first `length` bytes. html_text_most: at most so many characters, the
 * last of them "..." where some are left out. */
void html_text(FILE *out, const char *text);
void html_text_of(FILE *out, const char *text, int length);
void html_text_most(FILE *out, const char *text, int most);

/* html_json - JSON inside a script element: no character of it can end the element. */
void html_json(FILE *out, const char *json);

/* html_print - print with four conversions: %t a text, %T a text of at most so many characters (an int comes before
 * it), %h markup as it stands, %d an int; %% is a percent sign. */
void html_print(FILE *out, const char *format, ...);

#endif
