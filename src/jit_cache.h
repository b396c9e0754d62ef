/* jit_cache.h - compiled kernels kept on disk, and verdicts on them, in a folder that only this user can write. What
 * lies there will be run: any doubt means compile or test again. Trouble with the cache is never a failure;
 * jit_cache_state() says what it is. */
#ifndef TILEWRIGHT_JIT_CACHE_H
#define TILEWRIGHT_JIT_CACHE_H

#include <stdbool.h>

#include "error.h"

typedef struct jit_cache jit_cache;

/* jit_cache_open - find and check the folder: TILEWRIGHT_CACHE, else XDG_CACHE_HOME/tilewright, else
 * HOME/.cache/tilewright; "off" turns it off. What is missing of it is made, but for XDG_CACHE_HOME and HOME:
 * they and what lies between must be this user's. Never fails; without a usable folder nothing is kept. NULL only
 * without memory, and every call takes NULL. */
jit_cache *jit_cache_open(void);
void jit_cache_close(jit_cache *cache);

/* jit_cache_open_ahead - find and check the folder of kernels that somebody built ahead (`./dev build --gpu-cache`),
 * which is only read: TILEWRIGHT_KERNELS, else tilewright-kernels beside the file that holds this library or where an
 * installed program has its libraries, if it is there. It and its files belong to this user or to root, and others
 * cannot write them. jit_cache_state() is "" where there is none and none was named. */
jit_cache *jit_cache_open_ahead(void);

/* jit_cache_usable - can something be had from it? */
bool jit_cache_usable(const jit_cache *cache);

/* jit_cache_state - the folder in use, or in a sentence why there is none. */
const char *jit_cache_state(const jit_cache *cache);

/* A key: everything that the compiled kernel depends on, added piece by piece. */
typedef struct jit_key {
    char hex[65];
} jit_key;
jit_key jit_key_of(int count, const char *const *pieces); /* the library's version is added to it */

/* Limit on the bytes of the folder's files. Beyond it the least recently used files are removed until a quarter is
 * free. */
#define JIT_CACHE_MOST_BYTES ((int64_t)256 << 20)

/* jit_cache_get - the kept binary (free() it), or NULL. jit_cache_put - keep one: temporary file, then rename, then
 * make room, at the first and whenever half of the room found then has been used: n files cost O(n). Processes may do
 * so at the same time: a file that one removes the other compiles again. */
void *jit_cache_get(const jit_cache *cache, const jit_key *key, size_t *bytes);
void jit_cache_put(jit_cache *cache, const jit_key *key, const void *binary, size_t bytes);

#endif
