/* tiles.c - gives the calling thread the matrix unit's registers and takes them back: between the two it computes, and
 * a thread that does not is not charged for saving 8 KiB when the system switches to another. */
#include "cpu.h"
#include "tiles.h"

cpu_hook cpu_tiles_enter, cpu_tiles_leave;

void cpu_tiles_enter(void) { tiles_configure(); }

void cpu_tiles_leave(void) { tiles_release(); }
