/* blas.c - products by libtilewright_blas.so: gemm and level 3, by Fortran and CBLAS in both orders. BLAS has no
 * status: whatever memory was refused, the product must be right. */
#include "../blas/no_memory.h" /* first */

#include "../blas/routines.h"
#include "../support/die.h"
#include "soak.h"

static int draw_size(die *d, int most_log2)
{
    if (roll(d, 16) == 0) return (int)roll(d, 2);
    return (int)exp2((double)roll(d, 1 << 16) * 0x1p-16 * most_log2);
}

static call draw_call(die *d)
{
    static const double alphas[] = {1, 1, 1, -1, 2, -2, 0.5, 0}, betas[] = {0, 0, 1, 1, -1, 2, 0.5};
    call x = {.routine = (routine)roll(d, ROUTINES), .way = (way)roll(d, WAYS)};
    x.side = "LR"[roll(d, 2)], x.uplo = "UL"[roll(d, 2)], x.op_a = "NTC"[roll(d, 3)], x.op_b = "NTC"[roll(d, 3)],
    x.diag = "NU"[roll(d, 2)];
    const int most_log2 = roll(d, 8) ? 7 : 9;
    x.m = draw_size(d, most_log2), x.n = draw_size(d, most_log2), x.k = draw_size(d, most_log2 + 1);
    if (roll(d, 6) == 0) /* worth several threads */
        x.m = 100 + (int)roll(d, 300), x.n = 100 + (int)roll(d, 300), x.k = 100 + (int)roll(d, 300);
    x.alpha = alphas[roll(d, 8)], x.beta = betas[roll(d, 7)];
    return x;
}

static bool blas_draw(soak_product *x, uint64_t seed, tw_context *context)
{
    trial *t = malloc(sizeof *t);
    die d = {.seed = seed};
    (void)context; /* the library has its own */
    if (t == NULL) return soak_fail("no memory for a product");
    const call drawn = draw_call(&d);
    const judging how = {.is_f32 = roll(&d, 2),
                         .random = roll(&d, 3) == 0,
                         .padding = (int)(roll(&d, 2) * roll(&d, 20)),
                         .off = roll(&d, 8) ? 0 : (size_t)roll(&d, 8)};
    trial_make(t, &drawn, &how, (unsigned)seed);
    x->state = t, x->exact = !how.random;
    trial_describe(t, x->text, sizeof x->text);
    return true;
}

static void blas_call(soak_product *x)
{
    trial *t = x->state;
    t->how.without_memory = x->refused;
    trial_call(t);
}

static bool blas_judge(soak_product *x, char *why, size_t why_bytes)
{
    trial *t = x->state;
    if (heard.calls == 0) return elements_right(t, why, why_bytes) && rest_untouched(t, why, why_bytes);
    snprintf(why, why_bytes, "the handler was told: %s, %d: %s", heard.routine, heard.number, heard.text);
    return false;
}

static bool blas_spoil(soak_product *x, plant what)
{
    trial *t = x->state;
    if (height_of(&t->x) == 0 || t->x.n == 0 || t->a.bytes == 0 || what == BITS) return false;
    if (what == PADDING) *(char *)t->a.data ^= 1;
    if (what == ELEMENT) put(&t->c, 0, 0, get(&t->c, 0, 0) + 1 + fabs(get(&t->c, 0, 0)));
    return true;
}

static void blas_end(soak_product *x)
{
    trial_free(x->state);
    free(x->state);
}

void memory_refuse(int granted) { spared = granted, no_memory = true; }
void memory_allow(void) { no_memory = false; }

const product_kind blas_kind = {blas_draw, blas_call, blas_judge, blas_spoil, blas_end};
