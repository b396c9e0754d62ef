/* panels.c - see panels.h. */
#define _POSIX_C_SOURCE 200809L
#include "panels.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include "../lab/measure.h"
#include "../program/diag.h"

enum { ALIGNMENT = 256 };

/* ---- the reader ---- */

/* Waits for a slot that nobody multiplies from. False: no more is wanted. */
static bool await_slot(panels *p, const panel_ring *ring)
{
    pthread_mutex_lock(&p->lock);
    while (!p->stops && ring->read - ring->freed >= ring->slots) pthread_cond_wait(&p->changed, &p->lock);
    const bool wanted = !p->stops;
    pthread_mutex_unlock(&p->lock);
    return wanted;
}

static bool read_panel(panels *p, panel_ring *ring, operand_role role, int64_t i, int64_t j, int64_t rows, int64_t cols)
{
    const operand *x = &p->in->each[role];
    const bool of_a = role == OPERAND_A, turned = of_a ? p->wish->transpose_a : p->wish->transpose_b;
    const io_type to = of_a ? p->in->as.type_a : p->in->as.type_b;
    io_error error;
    if (!await_slot(p, ring)) return false;
    const double start_s = measure_now_s();
    void *slot = ring->slot[ring->read % ring->slots];
    const io_status status = turned ? io_source_read(&x->source, j, i, cols, rows, to, false, slot, &error)
                                    : io_source_read(&x->source, i, j, rows, cols, to, false, slot, &error);
    p->read_s += measure_now_s() - start_s;
    p->bytes_read += (double)rows * (double)cols * (double)io_type_bytes(x->matrix.type);
    pthread_mutex_lock(&p->lock);
    if (status == IO_OK)
        ring->read++;
    else
        p->status = status, p->error = error, p->stops = true;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
    return status == IO_OK;
}

/* Walks the places that the multiplying thread walks, and reads ahead of it as far as there are slots. */
static void *read_all(void *argument)
{
    panels *p = argument;
    blocks_at at;
    blocks_first(&p->problem, &p->blocks, &at);
    do {
        if (p->a.read < at.reads_a && !read_panel(p, &p->a, OPERAND_A, at.i, at.p, at.rows, at.depth)) break;
        if (p->b.read < at.reads_b && !read_panel(p, &p->b, OPERAND_B, at.p, at.j, at.depth, at.cols)) break;
    } while (blocks_next(&p->problem, &p->blocks, &at));
    return NULL;
}

/* Signals are the first thread's. */
static bool start_reader(panels *p)
{
    sigset_t all, before;
    sigfillset(&all);
    sigdelset(&all, SIGSEGV), sigdelset(&all, SIGBUS), sigdelset(&all, SIGFPE), sigdelset(&all, SIGILL);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool started = pthread_create(&p->reader, NULL, read_all, p) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

/* ---- the multiplying thread ---- */

static bool make_ring(panel_ring *ring, int slots, int64_t elements, int64_t element_bytes)
{
    ring->slots = slots;
    for (int i = 0; i < slots; i++) {
        void *memory = NULL;
        if (posix_memalign(&memory, ALIGNMENT, (size_t)(elements * element_bytes) + 1) != 0) return false;
        ring->slot[i] = memory;
    }
    return true;
}

static void free_ring(panel_ring *ring)
{
    for (int i = 0; i < PANELS_SLOTS; i++) free(ring->slot[i]);
}

exit_code panels_begin(panels *p, const operands *in, const product_wish *wish, const blocks_problem *problem,
                       const blocks *blocks)
{
    memset(p, 0, sizeof *p);
    p->in = in, p->wish = wish, p->problem = *problem, p->blocks = *blocks;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->changed, NULL);
    bool right = make_ring(&p->a, blocks->slots_a, blocks->m * blocks->k, problem->a_bytes) &&
                 make_ring(&p->b, blocks->slots_b, blocks->k * blocks->n, problem->b_bytes);
    if (right && start_reader(p)) return EXIT_OK;
    free_ring(&p->a), free_ring(&p->b);
    return right ? diag(EXIT_MEMORY, "the thread that reads panels could not be started")
                 : diag_no_memory("panels of A and B");
}

exit_code panels_await(panels *p, const blocks_at *at, const void **a, const void **b)
{
    const double start_s = measure_now_s();
    pthread_mutex_lock(&p->lock);
    while (p->status == IO_OK && (p->a.read < at->reads_a || p->b.read < at->reads_b))
        pthread_cond_wait(&p->changed, &p->lock);
    const bool there = p->a.read >= at->reads_a && p->b.read >= at->reads_b;
    pthread_mutex_unlock(&p->lock);
    p->waited_s += measure_now_s() - start_s;
    *a = p->a.slot[(at->reads_a - 1) % p->a.slots], *b = p->b.slot[(at->reads_b - 1) % p->b.slots];
    return there ? EXIT_OK : diag_io(p->status, &p->error);
}

void panels_free(panels *p, const blocks_at *next)
{
    pthread_mutex_lock(&p->lock);
    p->a.freed = next->reads_a - 1, p->b.freed = next->reads_b - 1;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
}

void panels_end(panels *p)
{
    pthread_mutex_lock(&p->lock);
    p->stops = true;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
    pthread_join(p->reader, NULL);
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->lock);
    free_ring(&p->a), free_ring(&p->b);
}
