/* room.h - whether a product of host memory has room on the device. */
#ifndef TILEWRIGHT_ROOM_H
#define TILEWRIGHT_ROOM_H

#include "context.h"

/* room_check_each - can each operand of the problem lie on the device, be it alone? Else TW_NO_MEMORY. */
tw_status room_check_each(const tw_context *context, const tw_problem *p);

/* room_check - does the plan's product, its workspace included, fit in what options.memory_bytes allows and, of a large
 * one, in the memory that is free? Else TW_NO_MEMORY with both numbers. */
tw_status room_check(const tw_context *context, const plan *whole);

/* room_find - bytes that a call may take on one of the context's devices: what options.memory_bytes allows and, of a
 * call that wants many `bytes`, what is free. */
tw_status room_find(const tw_context *context, engine *device, int64_t bytes, int64_t *room);

#endif
