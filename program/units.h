/* units.h - numbers with their units as people read them; "-" for what is not known. */
#ifndef TILEWRIGHT_UNITS_H
#define TILEWRIGHT_UNITS_H

enum { UNITS_TEXT = 24 };
typedef char units_text[UNITS_TEXT];
const char *units_seconds(double seconds, units_text out); /* "12.3 ms" */
/* "11.9-14.2", in beside_s's unit */
const char *units_span(double least_s, double most_s, double beside_s, units_text out);
const char *units_bytes(double bytes, units_text out);   /* "8.59 GB" (decimal) */
const char *units_percent(double share, units_text out); /* "98.7%" */
const char *units_gflops(double gflops, units_text out); /* "132.1", without a unit */
const char *units_factor(double factor, units_text out); /* "1.64" */
const char *units_number(double value, units_text out);  /* up to four digits: "6.4", "1652", "1.1e+06" */

#endif
