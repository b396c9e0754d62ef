/* sha256.h - SHA-256 of a byte string (FIPS 180-4): the name under which compiled kernels are kept. */
#ifndef TILEWRIGHT_SHA256_H
#define TILEWRIGHT_SHA256_H

#include <stddef.h>
#include <stdint.h>

typedef struct sha256 {
    uint32_t state[8];
    uint64_t bytes;
    unsigned char block[64];
} sha256;

void sha256_init(sha256 *s);
void sha256_add(sha256 *s, const void *data, size_t bytes);
void sha256_hex(sha256 *s, char hex[65]); /* ends the sum */

#endif
