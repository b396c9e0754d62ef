/* probe_read.c - the ceiling of reading: vector loads into eight independent sums, front to back. */
#include "rung.h"
#include "vec.h"

enum { CHAINS = 8 };

double KERNEL(const void *data, int64_t bytes)
{
    const real *at = data;
    vec chain[CHAINS];
    for (int i = 0; i < CHAINS; i++) chain[i] = vec_all(0);
    for (int64_t read = 0; read < bytes; read += (int64_t)(CHAINS * sizeof(vec)), at += CHAINS * LANES) {
        UNROLLED(8)
        for (int i = 0; i < CHAINS; i++) chain[i] = vec_add(chain[i], vec_load(at + i * LANES));
    }
    real lane[LANES];
    double sum = 0;
    for (int i = 0; i < CHAINS; i++) {
        vec_store(lane, chain[i]);
        for (int j = 0; j < LANES; j++) sum += (double)lane[j];
    }
    return sum;
}
