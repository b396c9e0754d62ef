/* roofline.h - the two bounds of a product on a device: what its bytes asked allow, and what nothing may beat. Pure
 * functions. Sources: the documents' computation-to-memory ratio; Williams, Waterman, Patterson: Roofline, 2009. */
#ifndef TILEWRIGHT_ROOFLINE_H
#define TILEWRIGHT_ROOFLINE_H

#include "tilewright_lab.h"

double roofline_flops(const tw_problem *p); /* 2 m n k; of complex types 8 m n k */
/* (m k + k n + m n) elements, m n once more where beta != 0 */
double roofline_compulsory_bytes(const tw_problem *p);

/* roofline_bytes_asked - bytes of A and B that all workers ask of memory when C is computed in blocks of
 * block_m x block_n: m k ceil(n / block_n) + k n ceil(m / block_m) elements; C and edge guards excluded (naive: blocks
 * of 1 x 1). */
double roofline_bytes_asked(const tw_problem *p, int64_t block_m, int64_t block_n);

/* roofline_no_cache_flops - flops / bytes_asked x bandwidth: the documents' bound. Caches may beat it. */
double roofline_no_cache_flops(const tw_problem *p, double bytes_asked, double bytes_per_s);

/* roofline_bound_flops - min(peak, flops / compulsory bytes x bandwidth): nothing may beat it. */
double roofline_bound_flops(const tw_problem *p, double peak_flops, double bytes_per_s);

#endif
