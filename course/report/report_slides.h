/* report_slides.h - a report as slides: one question per screen, its figure, and the answer, closed at first. */
#ifndef TILEWRIGHT_REPORT_SLIDES_H
#define TILEWRIGHT_REPORT_SLIDES_H

#include "report_shared.h"

extern const char slides_style[]; /* beside the style of the page */

/* report_slides - all between the page's head and its records: of each machine its bars, its roofline and its steps,
 * then speeds over sizes. TW_OK, TW_NO_MEMORY. */
tw_status report_slides(const report *r);

#endif
