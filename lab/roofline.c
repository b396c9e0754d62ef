/* roofline.c - see roofline.h. Counts are doubles: exact up to 2^53, and m n k may be larger than any integer. */
#include "roofline.h"
#include "element.h"

#include <math.h>

static double bytes_of(tw_dtype dtype)
{
    const element *type = element_of(dtype);
    return type != NULL ? type->bytes : (double)NAN;
}

static double bytes_of_c(const tw_problem *p)
{
    const element *type = element_of(p->dtype);
    return bytes_of(p->dtype_c != 0 || type == NULL ? p->dtype_c : type->result);
}

double roofline_flops(const tw_problem *p)
{
    const element *type = element_of(p->dtype);
    return (type != NULL && type->parts == 2 ? 8 : 2) * (double)p->m * (double)p->n * (double)p->k;
}

double roofline_compulsory_bytes(const tw_problem *p)
{
    double m = (double)p->m, n = (double)p->n, k = (double)p->k;
    return (m * k + k * n) * bytes_of(p->dtype) +
           m * n * (p->beta != 0 || p->beta_imaginary != 0 ? 2 : 1) * bytes_of_c(p);
}

double roofline_bytes_asked(const tw_problem *p, int64_t block_m, int64_t block_n)
{
    if (block_m < 1 || block_n < 1) return (double)NAN;
    double m = (double)p->m, n = (double)p->n, k = (double)p->k;
    double block_cols = (double)(p->n / block_n + (p->n % block_n != 0));
    double block_rows = (double)(p->m / block_m + (p->m % block_m != 0));
    return (m * k * block_cols + k * n * block_rows) * bytes_of(p->dtype);
}

double roofline_no_cache_flops(const tw_problem *p, double bytes_asked, double bytes_per_s)
{
    return roofline_flops(p) / bytes_asked * bytes_per_s;
}

double roofline_bound_flops(const tw_problem *p, double peak_flops, double bytes_per_s)
{
    double memory_flops = roofline_flops(p) / roofline_compulsory_bytes(p) * bytes_per_s;
    if (isnan(peak_flops) || isnan(memory_flops)) return (double)NAN; /* half a bound is none */
    return peak_flops < memory_flops ? peak_flops : memory_flops;
}
