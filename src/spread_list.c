/* spread_list.c - lists that grow. */
#include "spread_list.h"

#include <stdlib.h>

tw_status spread_no_memory(void) { return fail(TW_NO_MEMORY, "no memory for the list of a product's steps"); }

void *spread_with_room(void *items, int64_t count, size_t bytes)
{
    if (count > 0 && (count < 64 || (count & (count - 1)) != 0)) return items;
    return realloc(items, (size_t)max_i64(2 * count, 64) * bytes);
}
