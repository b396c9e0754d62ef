/* sets.c - see sets.h. */
#include "sets.h"

#include <math.h>
#include <string.h>
#include "../devices.h"
#include "../element.h"
#include "../oracle.h"

enum { MOST_SETS = 4096, MOST_DEVICE_SETS = 1 << 16 };

static int64_t a_elements(const tw_problem *p) { return (p->op_a == TW_N ? p->m : p->k) * p->lda; }

static int64_t b_elements(const tw_problem *p) { return (p->op_b == TW_N ? p->k : p->n) * p->ldb; }

static size_t padded(int64_t elements, int bytes)
{
    return ((size_t)elements * (size_t)bytes + SETS_ALIGN) / SETS_ALIGN * SETS_ALIGN;
}

static int64_t cache_bytes(const tw_device *device)
{
    const int64_t supposed = 128 << 20; /* of a cache that nobody tells of: most are smaller */
    int64_t cache = device_last_cache(device);
    return cache > 0 ? cache : supposed;
}

operand_sets sets_for(const tw_problem *p, int64_t items, const tw_device *device)
{
    int bytes = tw_lab_dtype_of(p->dtype)->bytes;
    operand_sets s = {.a_bytes = padded(items * a_elements(p), bytes), .b_bytes = padded(items * b_elements(p), bytes)};
    s.set_bytes = s.a_bytes + s.b_bytes +
                  padded(items * p->m * p->ldc, element_of(element_of(p->dtype)->result)->bytes);
    double twice = 2 * (double)cache_bytes(device),
           most = device->memory_bytes > 0 ? (double)device->memory_bytes / 4 : INFINITY;
    double wanted = (twice < most ? twice : most) / (double)s.set_bytes + 1;
    s.wanted = wanted < MOST_SETS ? (int)wanted : MOST_SETS;
    return s;
}

operand_sets sets_beyond_l2(const tw_problem *p, int64_t items, const tw_device *device)
{
    operand_sets s = sets_for(p, items, device);
    double wanted = ceil(3 * (double)cache_bytes(device) / (double)s.set_bytes);
    s.wanted = wanted < 2 ? 2 : wanted < MOST_DEVICE_SETS ? (int)wanted : MOST_DEVICE_SETS;
    return s;
}

void sets_fill(const operand_sets *sets, const tw_problem *p, int64_t items, int count, char *first)
{
    memset(first, 0, sets->set_bytes);
    oracle_random(p->dtype, 1, items * a_elements(p), first);
    oracle_random(p->dtype, 2, items * b_elements(p), first + sets->a_bytes);
    for (int set = 1; set < count; set++) memcpy(first + (size_t)set * sets->set_bytes, first, sets->set_bytes);
}
