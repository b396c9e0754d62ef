/* peers.h - other libraries' products under one call: found in a folder or in the system, opened at run time, asked for
 * their version and for the code that they chose. The rows stand in peers.def. Meant for a process of its own: a
 * library is never closed again, and may break it. */
#ifndef TILEWRIGHT_PEERS_H
#define TILEWRIGHT_PEERS_H

#include <stdbool.h>
#include <stddef.h>
#include "tilewright.h"

typedef void peer_function(void); /* what dlsym finds, before it is called as what it is */
typedef struct peer peer;

enum { PEER_TYPES = 4 }; /* f32, f64, cf32, cf64 */

typedef struct peer_row {
    const char *name, *engine;
    /* C = op(A) op(B); 0, or the library's own status. */
    int (*call)(peer_function *gemm, const tw_problem *p, const void *a, const void *b, void *c);
    const char *files, *gemm[PEER_TYPES];
    int64_t largest;
    int most_threads;
    const char *set_threads, *variables;
    void (*version)(const peer *p, char *text, size_t size), (*choice)(const peer *p, char *text, size_t size);
} peer_row;

extern const peer_row peer_rows[]; /* ends with a row without a name */

struct peer {
    const peer_row *row;
    void *library;
    peer_function *gemm[PEER_TYPES];
};

enum { PEER_TEXT = 256 };

const peer_row *peer_named(const char *name); /* NULL: no such row */
int peer_type(tw_dtype dtype);                /* its place in gemm[]; -1: no library is asked for this type */

/* peer_refuses - does the row's library not take such a problem, with that many threads? true, and why says so. */
bool peer_refuses(const peer_row *row, const tw_problem *p, int threads, char *why, size_t size);

/* peer_library - FOLDER/NAME.so, or where there is none the system's, as dlopen gives it. NULL, and why says what was
 * looked for. */
void *peer_library(const peer_row *row, const char *folder, char *why, size_t size);

/* peer_open - FOLDER/NAME.so, or where there is none the system's; told to compute with `threads` threads, by the
 * environment of this process too. false, and why says what is missing. */
bool peer_open(const peer_row *row, const char *folder, int threads, peer *out, char *why, size_t size);

/* peer_multiply - C = op(A) op(B). 0, or the library's own status. */
int peer_multiply(const peer *p, const tw_problem *problem, const void *a, const void *b, void *c);

/* peer_code - the instruction set that a library's own name for its code (peer_choice) or a device's name
 * (tw_device.instruction_set) stands for: "sse", "avx", "avx2" or "avx512", and its rank among them. NULL: unknown. */
const char *peer_code(const char *choice, int *rank);

/* The library's own words on its version and the code it chose; "": none. Some name the code after a first product. */
void peer_version(const peer *p, char text[PEER_TEXT]);
void peer_choice(const peer *p, char text[PEER_TEXT]);

#endif
