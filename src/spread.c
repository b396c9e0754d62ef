/* spread.c - divides a product among devices, as a list of steps (engines/spread.h).
 *
 * Each device computes a region of C in tiles, each with the whole of k. A tile needs a panel of A and a panel of B
 * (spread_layout.c), which steps bring (spread_steps.c). */
#include "spread_list.h"

#include <stdlib.h>

#include "first_use.h"
#include "room.h"

static const double worth_flops = 2e9; /* of a product, for a second device to be used */

void spread_free(spread_work *work)
{
    free(work->plans), free(work->steps), free(work->needs), free(work->copies);
    *work = (spread_work){0};
}

/* ---- regions ---- */

/* A grid of at most so many regions of whole units, the largest as small as can be, and then with the least to read. */
static void choose_grid(int64_t m, int64_t n, int devices, int64_t *rows, int64_t *cols)
{
    double least = 0, least_read = 0;
    for (int down = devices; down >= 1; down--) {
        const int64_t r = min_i64(round_up(ceil_div(m, down), UNIT), m),
                      c = min_i64(round_up(ceil_div(n, devices / down), UNIT), n);
        const double area = (double)r * (double)c, read = (double)r + (double)c;
        if (least > 0 && (area > least || (area == least && read >= least_read))) continue;
        least = area, least_read = read, *rows = r, *cols = c;
    }
}

static void make_regions(spread *s)
{
    int64_t rows = s->p->m, cols = s->p->n;
    int on = 0;
    if (s->matrices[2].blocks[0].device != HOST_MEMORY) {
        for (int64_t i = 0; i < s->matrices[2].count; i++) {
            const spread_block *b = &s->matrices[2].blocks[i];
            s->devices[b->device].region = (region){b->row, b->col, b->rows, b->cols};
        }
        return;
    }
    choose_grid(s->p->m, s->p->n, s->work->devices, &rows, &cols);
    for (int64_t i = 0; i < s->p->m; i += rows)
        for (int64_t j = 0; j < s->p->n; j += cols)
            s->devices[on++].region = (region){i, j, min_i64(rows, s->p->m - i), min_i64(cols, s->p->n - j)};
}

/* Is the operand, for every device that computes, in one block of its own? */
static bool all_here(const spread *s, int x)
{
    for (int on = 0; on < s->work->devices; on++)
        if (s->devices[on].region.rows > 0 && spread_own_block(s, x, on) == NULL) return false;
    return true;
}

/* ---- steps ---- */

static tw_status make(spread *s)
{
    make_regions(s);
    for (int x = 0; x < 3; x++) s->here[x] = all_here(s, x);
    TRY(spread_choose_layout(s));
    for (int on = 0; on < s->work->devices; on++)
        if (s->devices[on].region.rows > 0) TRY(spread_make_device(s, on));
    return spread_list_steps(s);
}

tw_status spread_make(const spread_machine *machine, const tw_problem *p, const spread_matrix matrices[3],
                      spread_work *out)
{
    const tw_dtype dtypes[3] = {p->dtype, p->dtype_b, p->dtype_c};
    device devices[MOST_JOINED] = {{.tiles = NULL}};
    device_facts facts = *machine->facts;
    spread_machine of_tiles = *machine;
    facts.tiles = true, facts.context = 0;                        /* a plan that is kept was made without tiles */
    if (facts.largest_bytes > 0) facts.largest_bytes = INT64_MAX; /* no device holds a whole operand; 0: not known */
    of_tiles.facts = &facts;
    spread s = {.machine = &of_tiles, .matrices = matrices, .p = p, .devices = devices, .work = out};
    tw_problem one = *p;
    plan whole;
    *out = (spread_work){.devices = machine->devices, .reads_c = problem_reads_c(p), .keeps_memory = true};
    for (int x = 0; x < 3; x++) s.bytes[x] = dtype_find(dtypes[x])->lab.bytes;
    one.lda = spread_copy_ld(&s, 0, problem_a_cols(p)), one.ldb = spread_copy_ld(&s, 1, problem_b_cols(p));
    one.ldc = spread_copy_ld(&s, 2, p->n), one.align_a = one.align_b = one.align_c = 256;
    tw_status status = plan_find(&one, &facts, NULL, &whole);
    s.row = whole.row;
    if (status == TW_OK) status = make(&s);
    for (int on = 0; on < MOST_JOINED; on++) {
        free(devices[on].tiles);
        for (int x = 0; x < 2; x++) free(devices[on].side[x].slots);
    }
    if (status != TW_OK) spread_free(out);
    return status;
}

/* ---- host operands ---- */

bool spread_pays(const tw_context *context, const tw_problem *p)
{
    return context->device_count > 1 && p->place_c == TW_HOST && p->k > 0 && p->epilogue == NULL &&
           2.0 * (double)p->m * (double)p->n * (double)p->k >= worth_flops;
}

static spread_block whole_block(const void *matrix, int64_t rows, int64_t cols, int64_t ld)
{
    return (spread_block){HOST_MEMORY, 0, 0, rows, cols, ld, (uint64_t)(uintptr_t)matrix};
}

tw_status spread_run(tw_context *context, const stop *stop, const tw_problem *host, const void *a, const void *b,
                     void *c)
{
    const spread_block blocks[3] = {whole_block(a, problem_a_rows(host), problem_a_cols(host), host->lda),
                                    whole_block(b, problem_b_rows(host), problem_b_cols(host), host->ldb),
                                    whole_block(c, host->m, host->n, host->ldc)};
    return spread_blocks(context, stop, host,
                         (const spread_matrix[]){{&blocks[0], 1}, {&blocks[1], 1}, {&blocks[2], 1}});
}

/* Memory that others take meanwhile: smaller panels may still fit. */
tw_status spread_blocks(tw_context *context, const stop *stop, const tw_problem *p, const spread_matrix matrices[3])
{
    enum { TRIES = 4 };
    spread_machine machine = {.facts = &context->facts, .devices = context->device_count, .peers = context->peers};
    tw_status status = TW_NO_MEMORY;
    for (int on = 0; on < machine.devices; on++)
        TRY(room_find(context, context->devices[on], INT64_MAX, &machine.room[on]));
    for (int tries = 0; status == TW_NO_MEMORY && tries < TRIES; tries++) {
        spread_work work;
        TRY(spread_make(&machine, p, matrices, &work));
        work.stop = stop;
        status = context->ops->spread(context->devices, &work);
        spread_free(&work);
        for (int on = 0; on < machine.devices; on++) machine.room[on] /= 2;
    }
    return status;
}
