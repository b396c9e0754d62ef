/* route.c - sends products to a GPU: those of f32 with whole C whose harmonic mean of m, n and k is at least the edge
 * of the smallest square product that was clearly faster there, copies included. The harmonic mean is what counts:
 * flops for each byte that is copied are in proportion to it. */
#include "route.h"

#include <tilewright_lab.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Atomic(tw_context *) gpu;
static int64_t least_edge; /* set before gpu is */

/* TILEWRIGHT_BLAS_BREAK_EVEN, or what is measured now; 0: the GPU was not faster. */
static int64_t break_even(tw_context *cpu, tw_context *cuda)
{
    const char *word = getenv("TILEWRIGHT_BLAS_BREAK_EVEN");
    int64_t edge = 0;
    if (word != NULL && word[0] != '\0') {
        char *end;
        const long long wanted = strtoll(word, &end, 10);
        if (*end == '\0' && wanted > 0) return wanted;
        fprintf(stderr,
                "tilewright: TILEWRIGHT_BLAS_BREAK_EVEN is %.60s, expected a size of 1 or more; it is ignored\n", word);
    }
    if (tw_lab_break_even(cpu, cuda, TW_F32, (int)TW_LAB_BREAK_EVEN_EDGE, &edge) != TW_OK) {
        fprintf(stderr, "tilewright: TILEWRIGHT_BLAS_ENGINE=cuda is ignored: %s\n", tw_error_text());
        return 0;
    }
    if (edge == 0)
        fprintf(stderr,
                "tilewright: TILEWRIGHT_BLAS_ENGINE=cuda is ignored: up to %d x %d x %d it is not clearly faster; "
                "TILEWRIGHT_BLAS_BREAK_EVEN=N sends products from that size on\n",
                (int)TW_LAB_BREAK_EVEN_EDGE, (int)TW_LAB_BREAK_EVEN_EDGE, (int)TW_LAB_BREAK_EVEN_EDGE);
    return edge;
}

bool route_open(tw_context *cpu)
{
    const char *engine = getenv("TILEWRIGHT_BLAS_ENGINE");
    const tw_options options = {.size = sizeof options, .engine = "cuda"};
    tw_context *opened = NULL;
    if (engine == NULL || engine[0] == '\0' || strcmp(engine, "cpu") == 0) return false;
    if (strcmp(engine, "cuda") != 0) {
        fprintf(stderr, "tilewright: TILEWRIGHT_BLAS_ENGINE is %.60s, expected cpu or cuda; it is ignored\n", engine);
        return false;
    }
    if (tw_open(&options, &opened) != TW_OK) {
        fprintf(stderr, "tilewright: TILEWRIGHT_BLAS_ENGINE=cuda is ignored: %s\n", tw_error_text());
        return false;
    }
    least_edge = break_even(cpu, opened);
    if (least_edge == 0) {
        tw_close(opened);
        return false;
    }
    atomic_store(&gpu, opened);
    return true;
}

tw_context *route_gpu(const tw_problem *p)
{
    tw_context *context = atomic_load_explicit(&gpu, memory_order_acquire);
    if (context == NULL || p->dtype != TW_F32 || p->flags != 0 || p->alpha == 0 || p->m == 0 || p->n == 0 || p->k == 0)
        return NULL;
    return 3 / (1 / (double)p->m + 1 / (double)p->n + 1 / (double)p->k) >= (double)least_edge ? context : NULL;
}

void route_failed(tw_status status)
{
    static atomic_bool said[2];
    const bool for_good = status == TW_DEVICE_FAILED;
    if (!atomic_exchange(&said[for_good], true))
        fprintf(stderr, "tilewright: the GPU did not compute a product%s: %s\n",
                for_good ? "; the cpu computes all from now on" : ", which the cpu computes", tw_error_text());
    if (for_good) atomic_store(&gpu, NULL); /* others may be in it: it is not closed */
}
