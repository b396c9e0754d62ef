/* driver.h - drivers in this process, each of which may crash it or end it
 * (docs/decisions/0008-drivers-in-the-callers-process.md). */
#ifndef TILEWRIGHT_DRIVER_H
#define TILEWRIGHT_DRIVER_H

#include <stdbool.h>

/* driver_in_use - from now on, if the driver ends the process, the program says so: see guard_driver(). name: the
 * driver's name from the engine; "" before the driver is open: its caches are then kept out of another user's HOME. */
void driver_in_use(const char *engine, const char *name);

/* driver_is_usable - has this engine a device here? state: NULL, or what it says of itself. */
bool driver_is_usable(const char *engine, char *state, int bytes);

/* driver_advice - why a driver of this name aborts or ends a program, and what to do about it; "": unknown. */
const char *driver_advice(const char *name);

#endif
