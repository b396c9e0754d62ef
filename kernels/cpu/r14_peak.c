/* r14_peak - the production micro-kernel of the CPU: an MR x NR tile of C in vector registers.
 *
 * IDEA      Every step of k multiplies one column of A by one row of B and adds the outer product to the tile:
 *
 *                          b[0]      b[1]      b[2]          NR / LANES loads
 *                       .---------.---------.---------.
 *              a[0] all | sum 0,0 | sum 0,1 | sum 0,2 |      MR broadcasts
 *              a[1] all | sum 1,0 | sum 1,1 | sum 1,2 |      MR * NR / LANES multiply-adds,
 *                ...    |   ...   |   ...   |   ...   |      each into a register of its own
 *                       '---------'---------'---------'
 *
 *           With v = NR / LANES vectors it takes MR + v loads for MR * v multiply-adds, and MR * v independent chains cover the
 *           latency of the multiply-add units. Packing put both operands in the order in which they are read here.
 * NUMBERS   AVX-512: 8 x 3 chains, 11 loads for 24 FMAs. AVX2: 6 x 2, 8 for 12. Baseline: 4 x 2, 6 for 8.
 * LIMITS    whole tiles only; NR a multiple of LANES. The loops around it: src/engines/cpu/loops.c.
 * SOURCE    Goto, van de Geijn 2008; Van Zee, van de Geijn 2015. */
#include "rung.h"
#include "vec.h"

enum { V = NR / LANES };
_Static_assert(NR % LANES == 0, "NR is a multiple of the vector's lanes");

static inline void write_c(const cpu_tile *t, vec sum[MR][V])
{
    real *c = t->c;
    vec alpha = vec_all((real)t->alpha), beta = vec_all((real)t->beta);
    if (t->beta == 0) {
        UNROLLED(8)
        for (int i = 0; i < MR; i++)
            UNROLLED(4)
            for (int v = 0; v < V; v++) vec_store(c + i * t->ldc + v * LANES, vec_mul(alpha, sum[i][v]));
    } else {
        UNROLLED(8)
        for (int i = 0; i < MR; i++)
            UNROLLED(4)
            for (int v = 0; v < V; v++) {
                real *at = c + i * t->ldc + v * LANES;
                vec_store(at, vec_fma(alpha, sum[i][v], vec_mul(beta, vec_load(at))));
            }
    }
}

void KERNEL(const cpu_tile *t)
{
    const real *a = t->a, *b = t->b, *sum_in = t->sum_in;
    vec sum[MR][V];
    UNROLLED(8)
    for (int i = 0; i < MR; i++)
        UNROLLED(4)
        for (int v = 0; v < V; v++) sum[i][v] = sum_in ? vec_load(sum_in + i * t->sum_in_ld + v * LANES) : vec_all(0);
    for (int64_t p = 0; p < t->k; p++, a += MR, b += NR) {
        vec row[V];
        UNROLLED(4)
        for (int v = 0; v < V; v++) row[v] = vec_load(b + v * LANES);
        UNROLLED(8)
        for (int i = 0; i < MR; i++) {
            vec column = vec_all(a[i]);
            UNROLLED(4)
            for (int v = 0; v < V; v++) sum[i][v] = vec_fma(column, row[v], sum[i][v]); /* the line that multiplies */
        }
    }
    if (t->sum_out == NULL) {
        write_c(t, sum);
        return;
    }
    real *sum_out = t->sum_out;
    UNROLLED(8)
    for (int i = 0; i < MR; i++)
        UNROLLED(4)
        for (int v = 0; v < V; v++) vec_store(sum_out + i * t->sum_out_ld + v * LANES, sum[i][v]);
}
