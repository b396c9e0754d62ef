/* probe.c - the ceiling of the micro-kernel: independent multiply-add chains in registers, nothing loaded or stored.
 *
 * CHAINS covers latency x throughput of every machine we know (4 to 5 cycles on 2 ports, 4 on 4 of a Neoverse V1) and
 * fits the register file beside the factor and the addend. The chain x <- x * f + e stays near 1, so that no operand is
 * special. */
#include "rung.h"
#include "vec.h"

#include <stddef.h>

enum { CHAINS = REGISTERS / 4 * 3 };

double KERNEL(int64_t rounds, double *sink)
{
    /* volatile: the compiler must not know them */
    volatile real near_one = REAL_IS_INT ? (real)0x7f6f5f4f : (real)0.999,
                  rest = REAL_IS_INT ? (real)0x01020304 : (real)0.001;
    vec factor = vec_all(near_one), addend = vec_all(rest), chain[CHAINS];
    UNROLLED(24)
    for (int i = 0; i < CHAINS; i++) chain[i] = vec_all((real)1 + (real)i / (REAL_IS_INT ? 1 : 64));
    for (int64_t r = 0; r < rounds; r++) {
        UNROLLED(24)
        for (int i = 0; i < CHAINS; i++) /* where one instruction adds as it multiplies, its sum is the chain */
            chain[i] = DOT == DOT_BF16 || DOT_GROUP == 4 ? vec_step(factor, addend, chain[i])
                                                         : vec_step(chain[i], factor, addend);
    }
    real lane[LANES];
    double sum = 0;
    for (int i = 0; i < CHAINS; i++) {
        vec_store(lane, chain[i]);
        for (int j = 0; j < LANES; j++) sum += (double)lane[j];
    }
    *sink = sum;
    return 2.0 * CHAINS * LANES * DOT_GROUP * (double)rounds;
}
