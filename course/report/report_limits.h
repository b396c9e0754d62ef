/* report_limits.h - the access model's pictures beside what was measured. */
#ifndef TILEWRIGHT_REPORT_LIMITS_H
#define TILEWRIGHT_REPORT_LIMITS_H

#include "../../lab/devices.h"
#include "../access/access.h"
#include "report_shared.h"

/* report_launch - a step as the access model sees it, and its device's published figures (NULL: none); false: there is
 * no model of it. */
bool report_launch(const ladder_step *step, access_launch *out, const published_device **device);

/* Figures; nothing where the device or the rungs are not known. counted: L2 bytes of each step, NAN where there are
 * none. */
void report_limits(const report *r, const ladder *l);
void report_scatter(const report *r, const ladder *l, const double *counted);

#endif
