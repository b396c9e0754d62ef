/* gpu.h - the published device that --gpu names, and the ladder predicted for it. */
#ifndef TILEWRIGHT_GPU_H
#define TILEWRIGHT_GPU_H

#include "../lab/devices.h"
#include "../program/exit.h"
#include "session.h"

/* gpu_named - EXIT_USAGE, after a sentence that lists those that are known, where there is no such model. */
exit_code gpu_named(const char *model, const published_device **out);

exit_code gpu_ladder(session *s); /* `tilewright ladder --gpu MODEL`: nothing is run */

#endif
