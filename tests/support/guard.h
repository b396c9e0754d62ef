/* guard.h - arrays that end or begin at a page nobody may touch, so that reading one element too far is a crash. */
#ifndef TILEWRIGHT_GUARD_H
#define TILEWRIGHT_GUARD_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct guard {
    char *memory; /* the writable part */
    size_t bytes;
} guard;

static guard guard_make(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (bytes + page - 1) / page * page;
    int zero = open("/dev/zero", O_RDWR);
    char *all = mmap(NULL, whole + 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE, zero, 0);
    close(zero);
    if (all == MAP_FAILED || mprotect(all, page, PROT_NONE) != 0 ||
        mprotect(all + page + whole, page, PROT_NONE) != 0) {
        perror("guard_make");
        exit(1);
    }
    return (guard){all + page, whole};
}

/* `bytes` bytes against the back page, or against the front one. */
static void *guard_place(const guard *g, size_t bytes, bool at_back)
{
    if (bytes > g->bytes) {
        fprintf(stderr, "guard_place: %zu bytes asked for, %zu there\n", bytes, g->bytes);
        exit(1);
    }
    return at_back ? g->memory + g->bytes - bytes : g->memory;
}

#endif
