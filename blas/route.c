/* route.c - sends products to a GPU: those of f32, f64 and their complex numbers with whole C whose harmonic mean of m,
 * n and k is at least the edge of the smallest square product of their type that was clearly faster there, copies
 * included. The harmonic mean is what counts: flops for each byte that is copied are in proportion to it. */
#include "route.h"

#include <tilewright_lab.h>

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Atomic(tw_context *) gpu;

/* The types of which products go there. In f64 a GPU has other rates, and twice the bytes to copy; complex products
 * have four times the work. */
enum { TYPES = 4, GIVEN = 2, NO_EDGE = 0 };
static struct {
    tw_dtype dtype;
    atomic_bool known;           /* its edge is measured, or a thread is at it */
    _Atomic(int64_t) least_edge; /* NO_EDGE: products stay on the cpu */
} types[TYPES] = {{.dtype = TW_F32}, {.dtype = TW_F64}, {.dtype = TW_CF32}, {.dtype = TW_CF64}};

/* TILEWRIGHT_BLAS_BREAK_EVEN, if it is set: an edge for all types, or "512,256", one for f32 and cf32 and one for f64
 * and cf64. */
static void read_edges(void)
{
    const char *word = getenv("TILEWRIGHT_BLAS_BREAK_EVEN");
    if (word == NULL || word[0] == '\0') return;
    char *end;
    long long wanted[GIVEN];
    wanted[0] = wanted[1] = strtoll(word, &end, 10);
    if (*end == ',') wanted[1] = strtoll(end + 1, &end, 10);
    if (*end != '\0' || wanted[0] < 1 || wanted[1] < 1) {
        fprintf(stderr,
                "tilewright: TILEWRIGHT_BLAS_BREAK_EVEN is %.60s, expected a size of 1 or more, or one for f32 and one "
                "for f64 with a comma between, each for its complex type too; it is ignored\n",
                word);
        return;
    }
    for (int i = 0; i < TYPES; i++) {
        atomic_store(&types[i].least_edge, wanted[i % GIVEN]);
        atomic_store(&types[i].known, true);
    }
}

/* NO_EDGE, with a reason on stderr, if the GPU was not faster. */
static int64_t break_even(tw_context *cpu, tw_context *cuda, tw_dtype dtype)
{
    const char *name = tw_lab_dtype_of(dtype)->name;
    const int most = TW_LAB_BREAK_EVEN_EDGE;
    int64_t edge = NO_EDGE;
    if (tw_lab_break_even(cpu, cuda, dtype, most, &edge) != TW_OK) {
        fprintf(stderr, "tilewright: TILEWRIGHT_BLAS_ENGINE=cuda is ignored for %s: %s\n", name, tw_error_text());
        return NO_EDGE;
    }
    if (edge == NO_EDGE)
        fprintf(stderr,
                "tilewright: TILEWRIGHT_BLAS_ENGINE=cuda is ignored for %s: up to %d x %d x %d it is not clearly "
                "faster; TILEWRIGHT_BLAS_BREAK_EVEN=N sends products from that size on\n",
                name, most, most, most);
    return edge;
}

bool route_open(void)
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
    read_edges();
    atomic_store(&gpu, opened);
    return true;
}

void route_measure(tw_context *cpu, tw_dtype dtype)
{
    tw_context *context = atomic_load_explicit(&gpu, memory_order_acquire);
    for (int i = 0; context != NULL && i < TYPES; i++)
        if (types[i].dtype == dtype && !types[i].known && !atomic_exchange(&types[i].known, true))
            atomic_store(&types[i].least_edge, break_even(cpu, context, dtype));
}

static int64_t least_edge_of(tw_dtype dtype)
{
    for (int i = 0; i < TYPES; i++)
        if (types[i].dtype == dtype) return atomic_load(&types[i].least_edge);
    return NO_EDGE;
}

tw_context *route_gpu(const tw_problem *p)
{
    tw_context *context = atomic_load_explicit(&gpu, memory_order_acquire);
    if (context == NULL || p->flags != 0 || (p->alpha == 0 && p->alpha_imaginary == 0) || p->m == 0 || p->n == 0 ||
        p->k == 0)
        return NULL;
    const int64_t edge = least_edge_of(p->dtype);
    if (edge == NO_EDGE) return NULL;
    return 3 / (1 / (double)p->m + 1 / (double)p->n + 1 / (double)p->k) >= (double)edge ? context : NULL;
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
