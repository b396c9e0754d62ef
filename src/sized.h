/* sized.h - takes and fills a caller's structs, which may be smaller or larger than this library's. */
#ifndef TILEWRIGHT_SIZED_H
#define TILEWRIGHT_SIZED_H

#include "error.h"

#include <stdbool.h>
#include <stddef.h>

/* sized_load - copy a struct of the caller's, which begins with its size, into own.
 *
 * name         of the struct, for the sentence
 * first_bytes  the size of its first layout: no program was built with a smaller one
 * own_bytes    its size here
 *
 * Fields that the caller's struct lacks become 0; own's size is own_bytes. TW_BAD_ARGUMENT where the size is none, or
 * where a byte beyond own_bytes is not 0: a field that this library does not know is set. */
tw_status sized_load(const char *name, const void *user, size_t first_bytes, void *own, size_t own_bytes);

/* sized_check - the size alone: is it one that a version of this library may have? */
tw_status sized_check(const char *name, uint32_t size, size_t first_bytes);

/* A field that no version computes anything with yet, and whether the caller has set it. */
typedef struct reserved_field {
    const char *name;
    bool set;
} reserved_field;

/* sized_refuse - TW_BAD_ARGUMENT with the name of the first reserved field that is set. */
tw_status sized_refuse(const char *name, size_t count, const reserved_field *fields);

/* sized_store - fill a struct of the caller's, whose size was checked and stays, from own. What own lacks becomes 0. */
void sized_store(const void *own, size_t own_bytes, void *user);

#endif
