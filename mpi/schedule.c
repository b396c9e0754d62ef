/* schedule.c - the panels of a segment of k: the next one is on its way while one is multiplied, and of one what has
 * come is multiplied while the rest is on its way. Messages move on by polling between stripes of a product: MPI need
 * not do anything by itself. */
#include "direct.h"
#include "mirror.h"

#include <stdlib.h>
#include <string.h>

static const double stripe_s = 3e-3; /* of a product between two polls while messages are on their way */
enum { LEAST_STRIPE = 192, LEAST_RUN = 256 };

/* A panel of the segment: steps begin to begin + depth. */
typedef struct panel {
    int number;
    int64_t begin, depth;
} panel;

typedef struct work {
    tw_mpi_plan *plan;
    panel panel;
    char *c; /* where sums go */
    int64_t ldc;
    bool scales; /* sums are all there is: alpha, beta and C come in here */
    tw_status status;
} work;

/* ---- pieces ---- */

static grid_part piece_of(const side *s, int i) { return grid_divide(s->length, s->peers, i); }

/* Where a piece begins in a buffer, along the pieces. */
static int64_t place_of(const side *s, int i)
{
    const int64_t begin = piece_of(s, i).begin;
    return s->copies_own || i < s->me ? begin : begin - piece_of(s, s->me).length;
}

/* The stored block of `length` of a panel: from `place` on of what lies at data. */
static block block_at(const side *s, const char *data, int64_t place, int64_t length, int64_t depth, int64_t ld)
{
    block b = {
        .rows = s->along_rows ? length : depth, .cols = s->along_rows ? depth : length, .ld = ld, .bytes = s->bytes};
    b.data = (char *)(uintptr_t)data + (s->along_rows ? place * ld : place) * s->bytes;
    return b;
}

static block own_block(const side *s, const panel *p)
{
    const int64_t skipped = s->own == NULL ? 0 : s->along_rows ? p->begin : p->begin * s->ld; /* NULL: it is empty */
    return block_at(s, s->own + skipped * s->bytes, 0, piece_of(s, s->me).length, p->depth, s->ld);
}

static block buffer_block(const side *s, const panel *p, int64_t place, int64_t length)
{
    return block_at(s, s->buffer[p->number % 2], place, length, p->depth, s->along_rows ? p->depth : s->in_buffer);
}

static void copy_own(const side *s, const panel *p)
{
    const block from = own_block(s, p), to = buffer_block(s, p, place_of(s, s->me), piece_of(s, s->me).length);
    for (int64_t i = 0; i < from.rows && from.cols > 0; i++)
        memcpy(to.data + i * to.ld * to.bytes, from.data + i * from.ld * from.bytes, (size_t)(from.cols * from.bytes));
}

/* Peers in turn, each beginning behind itself: no two send to one at a time. */
static void post_side(pending *pending, side *s, const panel *p, const block *own)
{
    for (int d = 1; d < s->peers; d++) {
        const int from = (s->me + d) % s->peers;
        const grid_part part = piece_of(s, from);
        const block b = buffer_block(s, p, place_of(s, from), part.length);
        pending_receive(pending, &b, s->first + from * s->apart, s->tag, &s->left[p->number % 2][from]);
    }
    for (int d = 1; d < s->peers; d++) {
        const int to = (s->me + s->peers - d) % s->peers;
        pending_send(pending, own, s->first + to * s->apart, s->tag, &s->sent[p->number % 2]);
    }
}

/* The same by NCCL: with each peer in turn, in one order on all ranks. */
static void exchange_side(pending *pending, side *s, const panel *p, const block *own)
{
    for (int d = 1; d < s->peers; d++) {
        const int from = (s->me + d) % s->peers;
        const block b = mirror_arrival(s, p->number, p->depth, from);
        tw_lab_exchange both = side_exchange(s, d);
        both.sent = own->data, both.sent_bytes = mirror_bytes_of(own);
        both.received = b.data, both.received_bytes = mirror_bytes_of(&b);
        pending_exchange(pending, &both, b.rows * b.cols, &s->left[p->number % 2][from]);
    }
}

/* ---- products ---- */

/* Pieces that lie side by side in memory. */
typedef struct run {
    int first, end;
} run;

static grid_part part_of_run(const side *s, run r)
{
    const grid_part first = piece_of(s, r.first), last = piece_of(s, r.end - 1);
    return (grid_part){first.begin, last.begin + last.length - first.begin};
}

static block block_of_run(const side *s, const panel *p, run r)
{
    if (s->group > 0) return mirror_block(s, p->number, p->depth, r.first, r.end);
    if (!s->copies_own && r.first == s->me) return own_block(s, p);
    return buffer_block(s, p, place_of(s, r.first), part_of_run(s, r).length);
}

/* So many 64 rows (or columns) as fit, and `least` of them. */
static int64_t steps_in(double fits, int64_t least)
{
    return fits < (double)least ? least : fits < 0x1p40 ? (int64_t)fits / 64 * 64 : INT64_MAX / 2;
}

/* Rows (or columns) of the next stripe. */
static int64_t stripe_of(const work *w, int64_t across, int64_t left)
{
    if (w->plan->pipeline != NULL) return left; /* a device need not be waited for */
    const double each_s = 2.0 * (double)across * (double)w->panel.depth / w->plan->flops;
    const int64_t shows_life = w->plan->timeout_s > 0 ? steps_in(w->plan->timeout_s / LIFE_ROUNDS / each_s, 64) : left,
                  moves = w->plan->pending.count > 0 ? steps_in(stripe_s / each_s, LEAST_STRIPE) : left,
                  length = moves < shows_life ? moves : shows_life;
    return left < length + length / 2 ? left : length;
}

static tw_problem problem_of(const work *w, const block *a, const block *b, int64_t m, int64_t n)
{
    tw_problem p = w->plan->problem;
    p.m = m, p.n = n, p.k = w->panel.depth;
    p.lda = a->ld, p.ldb = b->ld, p.ldc = w->ldc;
    if (!w->scales) p.alpha = 1, p.beta = w->panel.begin > 0, p.alpha_imaginary = p.beta_imaginary = 0;
    if (w->plan->pipeline != NULL) p.place_a = p.place_b = p.place_c = TW_DEVICE;
    return p;
}

static void multiply_stripe(work *w, const block *a, const block *b, char *c, int64_t m, int64_t n)
{
    tw_mpi_plan *plan = w->plan;
    const tw_problem p = problem_of(w, a, b, m, n);
    const double start_s = failure_now_s();
    if (plan->pipeline != NULL) {
        w->status = plan->engine.device.multiply(plan->pipeline, &p, a->data, b->data, c);
    } else {
        w->status = plan->engine.gemm(plan->engine.self, &p, a->data, b->data, c);
    }
    if (w->status != TW_OK) failure(w->status, "%.900s", plan->engine.error());
    const double spent_s = failure_now_s() - start_s;
    if (spent_s > 1e-4) plan->flops = 2.0 * (double)m * (double)n * (double)p.k / spent_s;
}

/* One run of A by one of B, in stripes of its longer edge: messages move on between them, and this rank shows life. */
static void multiply(work *w, run ra, run rb)
{
    const side *sa = &w->plan->a, *sb = &w->plan->b;
    const grid_part rows = part_of_run(sa, ra), cols = part_of_run(sb, rb);
    const bool by_rows = rows.length >= cols.length;
    const int64_t along = by_rows ? rows.length : cols.length, across = by_rows ? cols.length : rows.length;
    const int64_t c_bytes = w->plan->sizes.c_bytes;
    if (across == 0 || w->status != TW_OK) return;
    for (int64_t at = 0, step; at < along && w->status == TW_OK; at += step) {
        block a = block_of_run(sa, &w->panel, ra), b = block_of_run(sb, &w->panel, rb);
        step = stripe_of(w, across, along - at);
        const int64_t i = by_rows ? at : 0, j = by_rows ? 0 : at;
        a.data += (sa->along_rows ? i * a.ld : i) * a.bytes, b.data += (sb->along_rows ? j * b.ld : j) * b.bytes;
        multiply_stripe(w, &a, &b, w->c + ((rows.begin + i) * w->ldc + cols.begin + j) * c_bytes,
                        by_rows ? step : rows.length, by_rows ? cols.length : step);
        pending_poll(&w->plan->pending);
    }
}

/* ---- in which order ---- */

static bool is_joined(const side *s, int i)
{
    if (s->group > 0) return i % s->group != 0;
    return s->copies_own || (i != s->me && i - 1 != s->me);
}

/* Of groups no part is taken. */
static bool is_complete(const side *s, run r)
{
    return s->group == 0 || (r.first % s->group == 0 && (r.end % s->group == 0 || r.end == s->peers));
}

static bool has_come(const side *s, const panel *p, int i) { return !s->taken[i] && s->left[p->number % 2][i] == 0; }

/* The longest run of pieces that have come; of a device a group. */
static run find_run(const side *s, const panel *p)
{
    run best = {0, 0};
    for (int i = 0; i < s->peers; i++) {
        run r = {i, i};
        while (r.end < s->peers && has_come(s, p, r.end) && (r.end == i || is_joined(s, r.end))) r.end++;
        if (r.end - r.first > best.end - best.first && is_complete(s, r)) best = r;
        if (r.end > i) i = r.end - 1;
    }
    return best;
}

static bool is_all(const side *s, bool begun)
{
    for (int i = 0; i < s->peers; i++)
        if (s->taken[i] != begun) return false;
    return true;
}

/* Short runs wait for more, but for the first and where no more is to come. */
static bool is_worthwhile(const side *s, const panel *p, run r)
{
    int open = 0;
    for (int i = 0; i < s->peers; i++) open += !s->taken[i] && s->left[p->number % 2][i] > 0;
    return open == 0 || s->group > 0 || part_of_run(s, r).length >= LEAST_RUN || is_all(s, false);
}

static void bring(work *w, const side *s, run r)
{
    for (int i = r.first; i < r.end && w->status == TW_OK; i++) {
        const block piece = w->plan->direct && s->peers > 1 ? mirror_arrival(s, w->panel.number, w->panel.depth, i)
                            : i == s->me                    ? own_block(s, &w->panel)
                                         : buffer_block(s, &w->panel, place_of(s, i), piece_of(s, i).length);
        w->status = mirror_bring(w->plan, s, w->panel.number, w->panel.depth, i, &piece);
    }
}

/* Takes a run of one side, and multiplies it by all that is taken of the other. */
static bool take(work *w, side *s, side *other)
{
    const run mine = find_run(s, &w->panel);
    if (mine.end == mine.first || !is_worthwhile(s, &w->panel, mine)) return false;
    bring(w, s, mine);
    for (int i = 0; i < other->peers;) {
        run theirs = {i, i};
        while (theirs.end < other->peers && other->taken[theirs.end] &&
               (theirs.end == i || is_joined(other, theirs.end)))
            theirs.end++;
        if (theirs.end > i) multiply(w, s == &w->plan->a ? mine : theirs, s == &w->plan->a ? theirs : mine);
        i = theirs.end > i ? theirs.end : i + 1;
    }
    for (int i = mine.first; i < mine.end; i++) s->taken[i] = true;
    return true;
}

/* By NCCL a rank that has failed exchanges nothing more. */
static bool gives_up(const work *w)
{
    return w->plan->direct && (w->status != TW_OK || w->plan->pending.exchange_status != TW_OK);
}

static tw_status multiply_panel(work *w)
{
    side *a = &w->plan->a, *b = &w->plan->b;
    if (a->copies_own) copy_own(a, &w->panel);
    if (b->copies_own) copy_own(b, &w->panel);
    memset(a->taken, 0, (size_t)a->peers), memset(b->taken, 0, (size_t)b->peers);
    while ((!is_all(a, true) || !is_all(b, true)) && !gives_up(w)) {
        pending_poll(&w->plan->pending);
        if (take(w, a, b) || take(w, b, a)) continue;
        const tw_status status = pending_wait(&w->plan->pending);
        if (status != TW_OK) return status;
    }
    return TW_OK;
}

static panel panel_at(const tw_mpi_plan *plan, int number)
{
    const int64_t begin = (int64_t)number * plan->grid.panel, left = plan->at.k.length - begin;
    return (panel){number, begin, left < plan->grid.panel ? left : plan->grid.panel};
}

/* ---- ahead of the first panel ---- */

static run group_at(const side *s, int first)
{
    return (run){first, first + s->group < s->peers ? first + s->group : s->peers};
}

static tw_status prepare_product(const work *w, run ra, run rb)
{
    const side *sa = &w->plan->a, *sb = &w->plan->b;
    const grid_part rows = part_of_run(sa, ra), cols = part_of_run(sb, rb);
    const block a = block_of_run(sa, &w->panel, ra), b = block_of_run(sb, &w->panel, rb);
    const tw_problem p = problem_of(w, &a, &b, rows.length, cols.length);
    if (rows.length == 0 || cols.length == 0) return TW_OK;
    life_computes(&w->plan->life);
    const tw_status status = w->plan->engine.device.prepare(
        w->plan->pipeline, &p, a.data, b.data, w->c + (rows.begin * w->ldc + cols.begin) * w->plan->sizes.c_bytes);
    return status == TW_OK ? TW_OK : failure(status, "%.900s", w->plan->engine.error());
}

tw_status schedule_prepare(tw_mpi_plan *plan, char *c, int64_t ldc)
{
    const block to = mirror_c(plan, c, ldc);
    const int64_t last = (plan->at.k.length - 1) / plan->grid.panel, numbers[] = {0, 1, last};
    work w = {.plan = plan, .c = to.data, .ldc = to.ld, .scales = plan->whole};
    tw_status status = TW_OK;
    for (int i = 0; i < 3 && numbers[i] <= last && plan->at.k.length > 0; i++) { /* all others are as panel 1 */
        w.panel = panel_at(plan, (int)numbers[i]);
        for (int a = 0; a < plan->a.peers; a += plan->a.group)
            for (int b = 0; b < plan->b.peers && status == TW_OK; b += plan->b.group)
                status = prepare_product(&w, group_at(&plan->a, a), group_at(&plan->b, b));
    }
    return status;
}

/* ---- a segment ---- */

/* Sends and receives of a panel. What lies on the device comes from there first, to where the panel before the last was
 * sent from. */
static tw_status post(work *w, int number)
{
    tw_mpi_plan *plan = w->plan;
    const panel p = panel_at(plan, number);
    side *const sides[] = {&plan->a, &plan->b};
    for (int i = 0; i < 2 && p.depth > 0 && !gives_up(w); i++) {
        side *s = sides[i];
        block own = own_block(s, &p);
        while (plan->sizes.resident && s->sent[number % 2] > 0) {
            const tw_status status = pending_wait(&plan->pending);
            if (status != TW_OK) return status;
        }
        w->status = mirror_fetch(plan, s, number, &own, w->status);
        if (!plan->direct) post_side(&plan->pending, s, &p, &own);
        if (plan->direct && !gives_up(w)) exchange_side(&plan->pending, s, &p, &own);
    }
    return TW_OK;
}

tw_status schedule_run(tw_mpi_plan *plan, char *c, int64_t ldc, tw_status before)
{
    const tw_problem *p = &plan->problem;
    const bool beside = plan->sums != NULL;
    char *const home = beside ? plan->sums : c;
    const int64_t ld = beside ? plan->at.n.length : ldc, ld_home = ld < 1 ? 1 : ld;
    const block to = mirror_c(plan, home, ld_home);
    work w = {.plan = plan, .c = to.data, .ldc = to.ld, .scales = plan->whole, .status = before};
    if (w.status == TW_OK) w.status = mirror_begin(plan, home, ld_home);
    tw_status status = post(&w, 0);
    for (int number = 0; status == TW_OK && !gives_up(&w) && (int64_t)number * plan->grid.panel < plan->at.k.length;
         number++) {
        w.panel = panel_at(plan, number);
        if (w.status == TW_OK) w.status = mirror_turn(plan);
        status = post(&w, number + 1);
        if (status == TW_OK) status = multiply_panel(&w);
    }
    if (status == TW_OK && !gives_up(&w)) status = pending_wait_all(&plan->pending);
    if (plan->pending.status != TW_OK) return status;
    if (status == TW_OK && gives_up(&w)) status = w.status != TW_OK ? w.status : plan->pending.exchange_status;
    if (plan->direct && status != TW_OK) return direct_stop(plan, status);
    if (w.status == TW_OK && plan->at.k.length > 0) w.status = mirror_end(plan, home, ld_home);
    if (w.status != TW_OK || plan->whole || plan->grid.pk > 1) return w.status;
    if (!beside && p->alpha == 1) return TW_OK;
    status = plan->engine.finish(plan->engine.self, p->dtype_c, plan->at.m.length, plan->at.n.length, p->alpha, home,
                                 ld_home, p->beta, c, ldc);
    return status == TW_OK ? TW_OK : failure(status, "%.900s", plan->engine.error());
}
