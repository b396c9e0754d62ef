/* skinny.h - `tilewright ladder --skinny`: the thin matrices of NVIDIA Best Practices, s1 to s3, and its table of
 * effective bandwidths. */
#ifndef TILEWRIGHT_SKINNY_H
#define TILEWRIGHT_SKINNY_H

#include "session.h"

/* skinny_ladders - on each engine of --engine; where none was named, on CUDA's device, else on OpenCL's. */
exit_code skinny_ladders(session *s);

#endif
