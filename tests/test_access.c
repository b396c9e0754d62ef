/* test_access.c - the access model (course/access/access.def) against the kernels: every address that a rung touches,
 * on any shape, is the one that the model names, in its order; and the totals that the model derives in closed form are
 * those of counting every request. And a barrier stands wherever a word of a tile goes from one work-item to another:
 * without a GPU no other test sees one that is missing from a rung of CUDA above r07.
 *
 * The text that the library holds is compiled as C and run on this machine (host_kernel.h) with every access seen.
 * A model that is changed must fail, which the last cases show. */
#include "../course/access/predict.h"
#include "../course/judge/host_kernel.h"
#include "../course/judge/witness.h"
#include "engines/gpu.h"
#include "plan.h"
#include "support/changed.h"
#include "support/tap.h"

#include <math.h>

enum { WHY = 256 };

static const device_facts device = {
    .sm = 90, .most_threads = 1024, .local_bytes = 48 << 10, .largest_bytes = (int64_t)1 << 40, .threads = 1};

/* ---- what a group's work-items touched ---- */

typedef struct event {
    int64_t address;        /* within its operand, or within the tiles */
    bool tile, store, wide; /* wide: one of four words that are accessed at once */
    access_kind operand;    /* LOAD_A, LOAD_B or STORE_C; of tiles nothing */
} event;

typedef struct trace {
    event *events;
    int count, room;
} trace;

static struct {
    trace of[HOST_MOST_THREADS];
    const host_run *run;
    const access_launch *model;
    witness *races; /* of one shape, since watching takes time; NULL: not watched */
    int checked;    /* accesses that were compared */
    int odd_bytes;  /* of an access that is neither of 4 bytes nor of 16 */
    bool wrong;
    char why[WHY];
} seen;

static void differs(const host_place *block, int thread, access_kind kind, const char *what, int64_t found,
                    int64_t expected)
{
    if (seen.wrong) return;
    seen.wrong = true;
    snprintf(seen.why, WHY, "block (%u, %u), work-item %d, %s: %s %lld, the model says %lld", block->x, block->y,
             thread, access_kind_text(kind), what, (long long)found, (long long)expected);
}

static bool see(void *job, host_place block, int thread, const host_access *access)
{
    static const access_kind operands[] = {[HOST_A] = LOAD_A, [HOST_B] = LOAD_B, [HOST_C] = STORE_C};
    event e = {.address = access->address,
               .tile = access->where == HOST_TILES,
               .store = access->store,
               .wide = access->bytes == 16};
    (void)job;
    if (access->where == HOST_OUTSIDE) {
        differs(&block, thread, LOAD_A, "outside of the operands, bytes", access->bytes, 0);
        return false;
    }
    if (e.tile && seen.races != NULL && !seen.wrong && !witness_see(seen.races, block, thread, access)) {
        seen.wrong = true;
        snprintf(seen.why, WHY, "%.250s", witness_why(seen.races));
    }
    if (!e.tile) e.operand = operands[access->where];
    trace *t = &seen.of[thread];
    if (access->bytes != 4 && access->bytes != 16) {
        seen.odd_bytes = access->bytes;
        return true;
    }
    if (t->count + 4 > t->room) {
        t->room = t->room == 0 ? 256 : 2 * t->room;
        t->events = realloc(t->events, (size_t)t->room * sizeof *t->events);
        if (t->events == NULL) exit(1);
    }
    /* What is read again at once stays in a register: the compiler of a device sees that too. */
    if (!e.store && t->count > 0 && e.tile && t->events[t->count - 1].tile && !t->events[t->count - 1].store &&
        t->events[t->count - 1].address == e.address)
        return true;
    for (int w = 0; w < access->bytes / 4; w++, e.address += 4) t->events[t->count++] = e;
    return true;
}

/* ---- what the model says they touch ---- */

/* Bytes of A's tile, up to the last word that is read. */
static int64_t a_tile_bytes(const access_launch *l)
{
    int64_t end = 0, address[ACCESS_WARP];
    for (int i = 0; i < l->rows; i++) {
        access_place loops = access_loops(l, l->row[i]), v = {0};
        if (l->row[i]->kind != READ_A_TILE) continue;
        v.p = loops.p - 1, v.e = loops.e - 1;
        for (v.t = 0; v.t < 2; v.t++)
            for (int warp = 0; warp < access_warps(l); warp++) {
                access_lanes(l, l->row[i], &v, warp, address);
                for (int lane = 0; lane < ACCESS_WARP; lane++)
                    if (address[lane] >= end) end = address[lane] + 4 * l->row[i]->words;
            }
    }
    return end;
}

/* The first tile store of a group's first work-item goes to word 0 of A's tile; the first outside it to that of B's. */
static void find_tiles(const access_launch *l, int64_t *a_base, int64_t *b_base)
{
    const trace *t = &seen.of[0];
    int64_t bytes = a_tile_bytes(l);
    *a_base = *b_base = -1;
    for (int i = 0; i < t->count && *b_base < 0; i++) {
        if (!t->events[i].tile || !t->events[i].store) continue;
        if (*a_base < 0)
            *a_base = t->events[i].address;
        else if (t->events[i].address < *a_base || t->events[i].address >= *a_base + bytes)
            *b_base = t->events[i].address;
    }
}

static bool has_kind(const access_launch *l, access_kind kind)
{
    for (int i = 0; i < l->rows; i++)
        if (l->row[i]->kind == kind) return true;
    return false;
}

static bool is_of_kind(const event *e, access_kind kind, int64_t a_base, int64_t b_base)
{
    bool b_tile = b_base >= 0 && (b_base > a_base ? e->address >= b_base : e->address < a_base);
    if (access_is_global(kind)) return !e->tile && e->operand == kind && e->store == access_is_store(kind);
    return e->tile && e->store == access_is_store(kind) && b_tile == (kind == STORE_B_TILE || kind == READ_B_TILE);
}

/* The next word of this kind that a work-item touched, and whether it came with three others; false: no more. */
static bool next_word(const trace *t, access_kind kind, int64_t a_base, int64_t b_base, int *at, int64_t *address,
                      bool *wide)
{
    for (; *at < t->count; ++*at) {
        const event *e = &t->events[*at];
        if (!is_of_kind(e, kind, a_base, b_base)) continue;
        *wide = e->wide;
        *address = e->address - (!e->tile ? 0 : kind == STORE_B_TILE || kind == READ_B_TILE ? b_base : a_base);
        ++*at;
        return true;
    }
    return false;
}

/* One work-item's accesses of one kind, in order, as far as they were compared. */
typedef struct reader {
    const access_launch *l;
    host_place block;
    int thread, at;
    access_kind kind;
    int64_t a_base, b_base;
} reader;

/* One instruction of a row: the compiler may make 16 bytes of words of a tile, of others the text must say so. */
static bool compare_access(reader *r, const access_row *row, const access_place *v)
{
    int64_t address[ACCESS_WARP], found;
    bool wide;
    access_lanes(r->l, row, v, r->thread / ACCESS_WARP, address);
    int64_t expected = address[r->thread % ACCESS_WARP];
    for (int w = 0; expected >= 0 && w < row->words; w++, seen.checked++) {
        if (!next_word(&seen.of[r->thread], r->kind, r->a_base, r->b_base, &r->at, &found, &wide)) {
            differs(&r->block, r->thread, r->kind, "no more accesses where byte", -1, expected + 4 * w);
            return false;
        }
        if (found != expected + 4 * w) differs(&r->block, r->thread, r->kind, "byte", found, expected + 4 * w);
        if (wide ? row->words == 1 : row->words == 4 && access_is_global(r->kind))
            differs(&r->block, r->thread, r->kind, "words at once", wide ? 4 : 1, row->words);
    }
    return true;
}

/* One work-item's accesses of one kind, in order, against the rows of that kind. */
static void compare_kind(reader *r)
{
    const access_launch *l = r->l;
    int64_t found;
    bool wide;
    for (int i = 0; i < l->rows; i++) {
        const access_row *row = l->row[i];
        if (row->kind != r->kind || row->parts) continue;
        access_place loops = access_loops(l, row), v = access_block(l, r->block.x + r->block.y * seen.run->grid.x);
        for (v.t = 0; v.t < loops.t; v.t++)
            for (v.p = 0; v.p < loops.p; v.p++)
                for (v.e = 0; v.e < loops.e; v.e++) {
                    if (!compare_access(r, row, &v)) return;
                    access_place part = v;
                    for (int q = 0; q < 4 && i + 1 < l->rows && l->row[i + 1]->parts; q++) {
                        part.e = 4 * v.e + q;
                        if (!compare_access(r, l->row[i + 1], &part)) return;
                    }
                }
    }
    if (next_word(&seen.of[r->thread], r->kind, r->a_base, r->b_base, &r->at, &found, &wide))
        differs(&r->block, r->thread, r->kind, "one access more, of byte", found, -1);
}

static void compare_block(void *job, host_place block, const char *tiles)
{
    const access_launch *l = seen.model;
    (void)job, (void)tiles;
    reader r = {.l = l, .block = block};
    if (seen.races != NULL) witness_next_group(seen.races);
    find_tiles(l, &r.a_base, &r.b_base);
    if (!has_kind(l, STORE_B_TILE)) r.b_base = -1;
    if (seen.odd_bytes > 0) differs(&block, 0, LOAD_A, "an access of bytes", seen.odd_bytes, 4);
    for (r.thread = 0; r.thread < l->block_x * l->block_y; r.thread++)
        for (int kind = 0; kind < ACCESS_KINDS && !seen.wrong; kind++) {
            r.kind = (access_kind)kind, r.at = 0;
            compare_kind(&r);
        }
    for (int thread = 0; thread < HOST_MOST_THREADS; thread++) seen.of[thread].count = 0;
}

/* ---- one kernel ---- */

typedef struct subject {
    const kernel_row *row;
    int tile;
    tw_op op_a, op_b;
    const char *from, *to; /* a change of its text, or NULL */
} subject;

/* Are there instructions of 16 bytes in its text? */
static bool is_wide(const kernel_row *row) { return (row->gpu.traits & GPU_WIDE) != 0; }

/* Odd shapes, one that divides, and the smallest; rows are padded. Where 16 bytes are loaded at once shapes are
 * smaller, one has more rows of blocks than rasterisation takes together, and an odd one has aligned rows. */
static tw_problem problem_of(const subject *s, int which)
{
    const tw_lab_kernel *lab = &s->row->lab;
    int64_t bm = lab->default_tile > 0 ? s->tile : lab->tile_m, bn = lab->default_tile > 0 ? s->tile : lab->tile_n,
            bk = lab->default_tile > 0 ? s->tile : lab->tile_k, pad = which == 1 ? 0 : 3;
    const int64_t shapes[][3] = {{2 * bm + 5, 2 * bn + 3, 3 * bk + 7}, {bm, 3 * bn, 2 * bk}, {1, 1, 1}},
                  small[][3] = {
                      {bm + 5, bn + 7, bk + 6}, {bm, bn, 2 * bk}, {9 * bm + 1, bn + 1, 1}, {bm + 5, bn + 7, bk + 6}};
    const int64_t *size = is_wide(s->row) ? small[which] : shapes[which];
    tw_problem x = tw_problem_make(TW_F32, s->op_a, s->op_b, size[0], size[1], lab->skinny ? s->tile : size[2]);
    x.dtype_c = TW_F32, x.align_a = x.align_b = x.align_c = 256;
    x.lda += pad, x.ldb += pad, x.ldc += pad;
    if (which == 3) x.lda += -x.lda & 3, x.ldb += -x.ldb & 3, x.ldc += -x.ldc & 3;
    return x;
}

static size_t elements(int64_t rows, int64_t cols, int64_t ld)
{
    return (size_t)(rows > cols ? rows : cols) * (size_t)ld;
}

static bool compare_shape(const subject *s, host_kernel *kernel, const tw_problem *x, const plan *p, bool for_races)
{
    access_launch model;
    tw_problem stored = *x;
    char why[WHY];
    if (!access_open(&model, &s->row->lab, s->tile, &stored, why, sizeof why)) {
        snprintf(seen.why, WHY, "no model: %.200s", why);
        return false;
    }
    if (p->gpu.transposes_b) stored.ldb = x->k;
    const size_t a_bytes = 4 * elements(x->m, x->k, x->lda), b_bytes = 4 * elements(x->k, x->n, stored.ldb),
                 c_bytes = 4 * elements(x->m, x->n, x->ldc);
    float *a = calloc(1, a_bytes), *b = calloc(1, b_bytes), *c = calloc(1, c_bytes);
    if (a == NULL || b == NULL || c == NULL) exit(1);
    host_run run = {.m = (int)x->m,
                    .n = (int)x->n,
                    .k = (int)x->k,
                    .alpha = 1,
                    .a = a,
                    .b = b,
                    .c = c,
                    .lda = x->lda,
                    .ldb = stored.ldb,
                    .ldc = x->ldc,
                    .a_bytes = a_bytes,
                    .b_bytes = b_bytes,
                    .c_bytes = c_bytes,
                    .grid = {(unsigned)p->gpu.grid_x, (unsigned)p->gpu.grid_y, 1},
                    .size = {(unsigned)p->gpu.threads_x, (unsigned)p->gpu.threads_y, 1},
                    .note = see,
                    .after_block = compare_block};
    seen.run = &run, seen.model = &model;
    int64_t grid_x = model.group_m > 0 ? model.grid_x * model.grid_y : model.grid_x,
            grid_y = model.group_m > 0 ? 1 : model.grid_y;
    bool same_launch = grid_x == p->gpu.grid_x && grid_y == p->gpu.grid_y && model.block_x == p->gpu.threads_x &&
                       model.block_y == p->gpu.threads_y;
    seen.races = for_races ? witness_open(&run, (const int[3]){0}) : NULL; /* places in tiles name mistakes alone */
    if (for_races && seen.races == NULL) exit(1);
    if (same_launch)
        host_launch(kernel, &run);
    else
        snprintf(seen.why, WHY, "the model launches %lld x %lld blocks of %d x %d", (long long)grid_x,
                 (long long)grid_y, model.block_x, model.block_y);
    witness_close(seen.races);
    free(a), free(b), free(c);
    return same_launch && !seen.wrong;
}

/* The text with its change; NULL where that does not apply. gcc reports no access to four words that are handed over by
 * value: r09 does so once, and gets the same four from load4(). */
static char *text_of(const subject *s)
{
    const char *text = gpu_source(s->row->lab.file), *by_value = "*(const float4 *)&B(p0 + p, j)";
    char *made = strstr(text, by_value) != NULL ? changed_text(text, by_value, "load4(&B(p0 + p, j), 4)", 1)
                                                : strdup(text);
    if (s->from == NULL || made == NULL) return made;
    char *changed = changed_text(made, s->from, s->to, 1);
    free(made);
    return changed;
}

static bool compare(const subject *s)
{
    bool same = true, built = false;
    host_kernel kernel = {0};
    device_facts facts = device;
    facts.engine = s->row->lab.engine;
    seen.wrong = false, seen.checked = 0, seen.odd_bytes = 0, seen.why[0] = '\0';
    for (int which = 0; same && which < (is_wide(s->row) ? 4 : 3); which++) {
        tw_problem x = problem_of(s, which);
        tw_lab_choice choice = {.kernel = s->row->lab.name, .tile = s->row->lab.default_tile > 0 ? s->tile : 0};
        plan p;
        if (plan_find(&x, &facts, &choice, &p) != TW_OK) return snprintf(seen.why, WHY, "%.250s", tw_error_text()) < 0;
        if (!built || is_wide(s->row)) { /* WIDE is the problem's */
            char log[HOST_WHY];
            int library;
            if (built) host_close(&kernel);
            char *text = text_of(s);
            built = text != NULL && host_compile(facts.engine, p.gpu.options, text, &library, log) == HOST_BUILT &&
                    host_load(library, p.gpu.source.entry, &kernel, log);
            free(text);
            if (!built) return snprintf(seen.why, WHY, "%.250s", log) < 0;
        }
        same = compare_shape(s, &kernel, &x, &p, which == 0);
    }
    host_close(&kernel);
    return same && seen.checked > 0;
}

static void rung_case(const subject *s)
{
    if (!tap_case("%s T=%d %c%c addresses", s->row->lab.name, s->tile, "nt"[s->op_a == TW_T], "nt"[s->op_b == TW_T]))
        return;
    if (host_why_not() != NULL)
        tap_skip(host_why_not());
    else
        tap_result(compare(s), "%s", seen.why);
}

static void changed_case(const char *about, const subject *s)
{
    if (!tap_case("%s T=%d changed: %s", s->row->lab.name, s->tile, about)) return;
    if (host_why_not() != NULL)
        tap_skip(host_why_not());
    else
        tap_result(!compare(s) && seen.wrong, "the change was not noticed %s", seen.why);
}

static bool modelled(const kernel_row *row, tw_op op_a, tw_op op_b)
{
    access_launch l;
    char why[WHY];
    tw_problem x = tw_problem_make(TW_F32, op_a, op_b, 16, 16, 16);
    return row->gpu.entry != NULL && access_open(&l, &row->lab, 0, &x, why, sizeof why) &&
           (row->lab.transposes || op_a + op_b == TW_N);
}

/* Copies past the registers, TMA, and OpenCL C's half have no counterpart in C. Vectors of both languages are told
 * alike, so OpenCL's come with --full. */
static bool is_c(const kernel_row *row)
{
    const char *text = gpu_source(row->lab.file);
    if (is_wide(row) && strcmp(row->lab.engine, "opencl") == 0 && !tap.full) return false;
    return !kernel_by_tma(row) && strstr(text, "ampere.cuh\"") == NULL && strstr(text, "types.clh\"") == NULL;
}

/* ---- totals ---- */

/* Sectors and lines of a box, element by element. */
static void count_box(const access_launch *l, const access_row *row, const access_place *v, access_cost *total)
{
    int64_t at[2], rows = row->kind == LOAD_A ? l->m : l->k, cols = row->kind == LOAD_A ? l->k : l->n;
    row->at(l, v, 0, 0, at);
    for (int64_t i = at[0]; i < at[0] + row->box_rows && i < rows; i++)
        for (int64_t j = at[1]; j < at[1] + row->box_cols && j < cols; j++) {
            int64_t byte = 4 * (i * (row->kind == LOAD_A ? l->lda : l->ldb) + j);
            bool first = j == at[1];
            total->transactions += first || byte % 32 == 0, total->moved += first || byte % 32 == 0 ? 32 : 0;
            total->lines += first || byte % 128 == 0, total->used += 4;
        }
}

static void count_all(const access_launch *l, const access_row *row, access_cost total[ACCESS_ERAS])
{
    access_place loops = access_loops(l, row), v;
    memset(total, 0, ACCESS_ERAS * sizeof *total);
    for (v.by = 0; v.by < loops.by; v.by++)
        for (v.bx = 0; v.bx < loops.bx; v.bx++)
            for (v.t = 0; v.t < loops.t; v.t++)
                for (v.p = 0; v.p < loops.p; v.p++)
                    for (v.e = 0; v.e < loops.e; v.e++)
                        if (row->box_rows > 0)
                            count_box(l, row, &v, &total[ERA_NOW]);
                        else
                            for (int warp = 0; warp < access_warps(l); warp++) {
                                int64_t address[ACCESS_WARP];
                                access_lanes(l, row, &v, warp, address);
                                for (int era = 0; era < ACCESS_ERAS; era++) {
                                    access_cost c = access_price((access_era)era, row->kind, address, row->words);
                                    total[era].requests += c.requests, total[era].transactions += c.transactions;
                                    total[era].moved += c.moved, total[era].used += c.used, total[era].lines += c.lines;
                                }
                            }
}

static bool totals_agree(const tw_lab_kernel *kernel, int tile, const tw_problem *x, char why[WHY])
{
    access_launch l;
    if (!access_open(&l, kernel, tile, x, why, WHY)) return false;
    for (int i = 0; i < l.rows; i++) {
        access_cost all[ACCESS_ERAS], total[ACCESS_ERAS];
        count_all(&l, l.row[i], all);
        access_count(&l, l.row[i], total);
        for (int era = 0; era < ACCESS_ERAS; era++)
            if (memcmp(&all[era], &total[era], sizeof all[era]) != 0) {
                snprintf(why, WHY,
                         "%lldx%lldx%lld ld %lld %lld %lld, %s, %s: %g requests, %g transactions, %g of %g bytes; "
                         "counted %g, %g, %g of %g",
                         (long long)x->m, (long long)x->n, (long long)x->k, (long long)x->lda, (long long)x->ldb,
                         (long long)x->ldc, access_kind_text(l.row[i]->kind), access_era_text((access_era)era),
                         total[era].requests, total[era].transactions, total[era].used, total[era].moved,
                         all[era].requests, all[era].transactions, all[era].used, all[era].moved);
                return false;
            }
    }
    return true;
}

static void totals_case(const kernel_row *row, int tile, bool all)
{
    static const int64_t shapes[][3] = {{45, 75, 37}, {5, 777, 21}, {133, 33, 16}};
    char why[WHY] = "";
    bool agree = true;
    if (!tap_case("%s T=%d totals%s", row->lab.name, tile, all ? "" : " of nn, and of tt padded most")) return;
    for (size_t i = 0; agree && i < sizeof shapes / sizeof *shapes; i++)
        for (int variant = 0; agree && variant < (modelled(row, TW_T, TW_T) ? 6 : 3); variant++) {
            if (!all && variant % 5 != 0) continue;
            tw_problem x = tw_problem_make(TW_F32, variant / 3 ? TW_T : TW_N, variant / 3 ? TW_T : TW_N, shapes[i][0],
                                           shapes[i][1], row->lab.skinny ? tile : shapes[i][2]);
            /* rows begin anywhere in their line */
            x.lda += variant % 3 * 5, x.ldb += variant % 3, x.ldc += variant % 3 * 4;
            if (is_wide(row) && variant == 2) x.lda += -x.lda & 3, x.ldb += -x.ldb & 3, x.ldc += -x.ldc & 3;
            agree = totals_agree(&row->lab, tile, &x, why);
        }
    tap_result(agree, "%s", why);
}

/* ---- figures that were published or counted ---- */

static bool open_square(access_launch *l, const char *name, int tile, int64_t k, char why[WHY])
{
    tw_problem x = tw_problem_make(TW_F32, TW_N, TW_N, 4096, 4096, k);
    return access_open(l, &kernel_named(name)->lab, tile, &x, why, WHY);
}

/* Bytes that s1 to s3 move per element of C on the devices of NVIDIA Best Practices; its effective bandwidths, each
 * predicted from the devices' published figures: all in their order, five within a factor of 1.5. The sixth, s1 on the
 * 8800 GTX, is 1.64 times too high: what 16 transactions of one address cost there beyond their bytes was not
 * published. */
static const char *skinny_wrong(const char *model, const double per_element[3], const double published[3],
                                const double factor[3], char why[WHY])
{
    static const char *const names[] = {"cuda_f32_s1_unoptimised", "cuda_f32_s2_shared_a", "cuda_f32_s3_shared_ab"};
    const published_device *d = devices_model(model);
    double before = 0;
    for (int i = 0; i < 3; i++) {
        access_launch l;
        if (d == NULL || !open_square(&l, names[i], 16, 16, why)) return "no such device or no model";
        prediction x = predict_on(&l, d);
        double gbps = predict_effective_gbps(&l, x.serial_s),
               off = gbps > published[i] ? gbps / published[i] : published[i] / gbps;
        snprintf(why, WHY, "%s on %s: %g bytes per element, expected %g; %g GB/s, published %g", names[i], model,
                 x.moved_bytes / 4096 / 4096, per_element[i], gbps, published[i]);
        if (x.moved_bytes != per_element[i] * 4096 * 4096 || !(off <= factor[i]) || !(gbps > before)) return why;
        before = gbps;
    }
    return NULL;
}

static void skinny_case(void)
{
    char why[WHY] = "";
    if (tap_case("NVIDIA Best Practices on a GTX 280")) {
        const char *wrong = skinny_wrong("GTX 280", (double[]){100, 72, 12}, (double[]){8.7, 14.3, 29.7},
                                         (double[]){1.5, 1.5, 1.5}, why);
        tap_result(wrong == NULL, "%s", wrong);
    }
    if (tap_case("NVIDIA Best Practices on an 8800 GTX")) {
        const char *wrong = skinny_wrong("8800 GTX", (double[]){580, 72, 12}, (double[]){0.7, 8.2, 15.7},
                                         (double[]){1.65, 1.5, 1.5}, why);
        tap_result(wrong == NULL, "%s", wrong);
    }
}

/* Averages over all loads, shared loads and shared stores, as an H200's counters met them within 2 % (T = 16, then 32);
 * NAN: none. */
static void averages_case(void)
{
    static const struct {
        const char *name;
        double at[2][3];
    } rows[] = {
        {"cuda_f32_r01_naive", {{2, NAN, NAN}, {2.5, NAN, NAN}}},
        {"cuda_f32_r01u_uncached", {{2, NAN, NAN}, {2.5, NAN, NAN}}},
        {"cuda_f32_r02_tiled", {{10, 1, 4.5}, {18, 1, 16.5}}},
        {"cuda_f32_r03_coalesced", {{4, 4.5, 4.5}, {4, 16.5, 16.5}}},
        {"cuda_f32_r03t_transposed", {{4, 4.5, 1}, {4, 16.5, 1}}},
        {"cuda_f32_r04_banks", {{4, 1, 1}, {4, 1, 1}}},
        {"cuda_f32_r04d_divergence", {{4, 1, 1}, {4, 1, 1}}},
        {"cuda_f32_r05_outer", {{4, 2, 2}, {4, 2, 2}}},
        {"cuda_f32_r08_coarsened", {{4, 2, 2}, {4, 2, 2}}},
        {"cuda_f32_r09_wide", {{16, 2, 2}, {16, 2, 2}}},
        {"cuda_f32_r10_register", {{16, 3, 2.4}, {16, 3, 2.4}}},
        {"cuda_f32_r11_warp", {{16, 2, 1.6}, {16, 2, 1.6}}},
        {"cuda_f32_r11b_boxes", {{NAN, 3, NAN}, {NAN, 3, NAN}}},
        {"cuda_f32_r11c_swizzle", {{NAN, 2, NAN}, {NAN, 2, NAN}}},
        {"cuda_f32_r12_async", {{NAN, 2, NAN}, {NAN, 2, NAN}}},
        {"cuda_f32_r12a_producer", {{NAN, 2, NAN}, {NAN, 2, NAN}}},
        {"cuda_f32_sgemm_simt_128x128", {{16, 2, 1.6}, {16, 2, 1.6}}},
        {"cuda_f32_s1_unoptimised", {{2, NAN, NAN}, {2.5, NAN, NAN}}},
        {"cuda_f32_s2_shared_a", {{36.0 / 17, 1, 1}, {4, 1, 1}}},
        {"cuda_f32_s3_shared_ab", {{4, 1, 1}, {4, 1, 1}}},
    };
    if (!tap_case("averages are those of the counters")) return;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int at = 0; at < 2; at++) {
            access_launch l;
            char why[WHY] = "";
            int tile = at == 0 ? 16 : 32;
            if (!open_square(&l, rows[i].name, tile, strstr(rows[i].name, "_s") != NULL ? tile : 4096, why)) {
                tap_result(false, "%s", why);
                return;
            }
            predict_degrees d = predict_average(&l, ERA_NOW);
            const double found[3] = {d.sectors_per_load, d.bank_degree_load, d.bank_degree_store}, *is = rows[i].at[at];
            for (int q = 0; q < 3; q++)
                if (isnan(is[q]) ? !isnan(found[q]) : found[q] != is[q]) {
                    tap_result(false, "%s T=%d: %g %g %g, expected %g %g %g", rows[i].name, tile, found[0], found[1],
                               found[2], is[0], is[1], is[2]);
                    return;
                }
        }
    tap_result(true, "%s", "");
}

/* 5kk73's 1/4 and b/4, 6.4 for 16 x 64; ECE569's 180 of 9300, here of the data sheet's 732 GB/s. */
static void ratios_case(void)
{
    static const struct {
        const char *name;
        int tile;
        double flops_per_byte;
    } rows[] = {{"cuda_f32_r01_naive", 16, 0.25},  {"cuda_f32_r01_naive", 32, 0.25}, {"cuda_f32_r02_tiled", 8, 2},
                {"cuda_f32_r03_coalesced", 16, 4}, {"cuda_f32_r04_banks", 32, 8},    {"cuda_f32_r05_outer", 0, 6.4},
                {"cuda_f32_r07_prefetch", 0, 6.4}};
    const published_device *p100 = devices_model("P100");
    if (!tap_case("flop per byte asked")) return;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        access_launch l;
        char why[WHY] = "";
        if (p100 == NULL || !open_square(&l, rows[i].name, rows[i].tile, 4096, why)) {
            tap_result(false, "%s", why);
            return;
        }
        prediction x = predict_on(&l, p100);
        double ratio = 2.0 * 4096 * 4096 * 4096 / x.asked_bytes, bound = fmin(732 * rows[i].flops_per_byte, 9300);
        if (fabs(ratio - rows[i].flops_per_byte) > 1e-12 || fabs(x.bound_asked_gflops - bound) > 1e-6 ||
            x.bound_gflops != 9300) {
            tap_result(false, "%s: %g flop per byte, bounds %g and %g", rows[i].name, ratio, x.bound_asked_gflops,
                       x.bound_gflops);
            return;
        }
    }
    tap_result(true, "%s", "");
}

/* What conflicts is slower, on old devices and new: r03 than r04; and by wavefronts alone r03 on an H200 may do 1749
 * GFLOP/s (it does 1680). */
static void conflicts_case(void)
{
    access_launch r03, r04;
    char why[WHY] = "";
    const published_device *gtx = devices_model("GTX 280"), *h200 = devices_model("H200");
    if (!tap_case("conflicts cost time")) return;
    bool open = gtx != NULL && h200 != NULL && open_square(&r03, "cuda_f32_r03_coalesced", 16, 4096, why) &&
                open_square(&r04, "cuda_f32_r04_banks", 16, 4096, why);
    if (!open) {
        tap_result(false, "%s", why);
        return;
    }
    double slow = predict_on(&r03, gtx).overlapped_s / predict_on(&r04, gtx).overlapped_s,
           banks = predict_on(&r03, h200).shared_gflops;
    tap_result(slow > 2 && fabs(banks - 1749) < 1, "r03 takes %g times r04; wavefronts allow %g GFLOP/s", slow, banks);
}

/* The rules on requests of half a warp or a whole, whose cost the guides and the counters give. */
static void rules_case(void)
{
    static const struct {
        const char *about;
        access_era era;
        access_kind kind;
        /* lane l: byte first + l % group * step + l / group * group_step */
        int lanes, words, first, step, group, group_step;
        double transactions, moved; /* moved 0: not said */
    } rows[] = {
        {"64 aligned bytes in order", ERA_1_0, LOAD_A, 16, 1, 64, 4, 16, 0, 1, 64},
        {"in order, but a word aside", ERA_1_0, LOAD_A, 16, 1, 68, 4, 16, 0, 16, 512},
        {"8 lanes in order", ERA_1_0, LOAD_A, 8, 1, 64, 4, 16, 0, 1, 64},
        {"one word", ERA_1_0, LOAD_A, 16, 1, 64, 0, 16, 0, 16, 512},
        {"one word", ERA_1_2, LOAD_A, 16, 1, 64, 0, 16, 0, 1, 32},
        {"a word aside within 128 bytes", ERA_1_2, LOAD_A, 16, 1, 4, 4, 16, 0, 1, 128},
        {"split between two segments", ERA_1_2, LOAD_A, 16, 1, 80, 4, 16, 0, 2, 96},
        {"a segment each", ERA_1_2, LOAD_A, 16, 1, 0, 256, 16, 0, 16, 512},
        {"a line each", ERA_2_0, LOAD_A, 32, 1, 0, 128, 32, 0, 32, 4096},
        {"256 aligned bytes, 16 to a lane", ERA_1_0, LOAD_A, 16, 4, 128, 16, 16, 0, 2, 256},
        {"16 bytes to a lane, 64 bytes aside", ERA_1_0, LOAD_A, 16, 4, 64, 16, 16, 0, 16, 512},
        {"256 bytes, 16 to a lane", ERA_1_2, LOAD_A, 16, 4, 64, 16, 16, 0, 3, 256},
        {"512 bytes, 16 to a lane", ERA_NOW, LOAD_A, 32, 4, 0, 16, 32, 0, 16, 512},
        {"stores go by sectors", ERA_2_0, STORE_C, 32, 1, 0, 4, 32, 0, 4, 128},
        {"a word aside", ERA_NOW, LOAD_A, 32, 1, 4, 4, 32, 0, 5, 160},
        {"one word for all", ERA_1_0, READ_A_TILE, 16, 1, 0, 0, 16, 0, 1, 0},
        {"two words of two banks, 8 lanes each", ERA_1_0, READ_A_TILE, 16, 1, 0, 0, 8, 4, 2, 0},
        {"two words of two banks", ERA_NOW, READ_A_TILE, 32, 1, 0, 0, 16, 4, 1, 0},
        {"two words of one bank", ERA_NOW, READ_A_TILE, 32, 1, 0, 0, 16, 128, 2, 0},
        {"16 bytes for all", ERA_NOW, READ_A_TILE, 32, 4, 0, 0, 32, 0, 2, 0},
        {"16 bytes side by side", ERA_NOW, READ_A_TILE, 32, 4, 0, 16, 32, 0, 4, 0},
        {"16 bytes down a column of T = 16", ERA_NOW, READ_B_TILE, 32, 4, 0, 64, 16, 0, 16, 0},
        {"16 bytes down a column of T = 32", ERA_NOW, READ_B_TILE, 32, 4, 0, 128, 32, 0, 32, 0},
        {"nobody", ERA_NOW, LOAD_A, 0, 1, 0, 0, 1, 0, 0, 0},
    };
    if (!tap_case("rules of transactions and banks")) return;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t address[ACCESS_WARP];
        for (int lane = 0; lane < ACCESS_WARP; lane++)
            address[lane] = lane < rows[i].lanes ? rows[i].first + lane % rows[i].group * rows[i].step +
                                                       lane / rows[i].group * rows[i].group_step
                                                 : -1;
        access_cost c = access_price(rows[i].era, rows[i].kind, address, rows[i].words);
        if (c.transactions == rows[i].transactions && (rows[i].moved == 0 || c.moved == rows[i].moved)) continue;
        tap_result(false, "%s, %s, on %s: %g transactions of %g bytes, expected %g of %g",
                   access_kind_text(rows[i].kind), rows[i].about, access_era_text(rows[i].era), c.transactions, c.moved,
                   rows[i].transactions, rows[i].moved);
        return;
    }
    tap_result(true, "%s", "");
}

static void models_case(void)
{
    static const char *const models[][2] = {{"8800 GT", "*GeForce 8800 GT"},
                                            {"8800 gtx", "*GeForce 8800 GTX"},
                                            {"GTX 280", "*GeForce GTX 280"},
                                            {"P100", "Tesla P100-PCIE-16GB"},
                                            {"H200", "*H200"},
                                            {"NVIDIA H200", "*H200"},
                                            {"A100", "*A100-*40GB"}};
    if (!tap_case("devices by what people call them")) return;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        const published_device *d = devices_model(models[i][0]);
        if (d != NULL && strcmp(d->name, models[i][1]) == 0) continue;
        tap_result(false, "%s is %s", models[i][0], d != NULL ? d->name : "nothing");
        return;
    }
    tap_result(devices_model("8800 G") == NULL && devices_model("") == NULL && devices_model("80") == NULL,
               "half a name is a device");
}

/* A new rung gets rows in access.def, or a sentence that says why it has none. */
static void spoken_of_case(void)
{
    access_launch l;
    char why[WHY] = "";
    const tw_problem x = tw_problem_make(TW_F32, TW_N, TW_N, 16, 16, 16);
    const kernel_row *missing = NULL;
    if (!tap_case("access.def speaks of every GPU rung")) return;
    for (int i = 0; i < kernel_count() && missing == NULL; i++) {
        const kernel_row *row = kernel_at(i);
        const bool told = row->gpu.entry == NULL || access_open(&l, &row->lab, 0, &x, why, sizeof why) ||
                          strstr(why, "nothing is said") == NULL;
        if (!told) missing = row;
    }
    tap_result(missing == NULL, "%s: %s", missing != NULL ? missing->lab.name : "", why);
}

/* ---- what caches leave ---- */

enum { MOST_CELLS = 1 << 14, FEW = 3 };

/* Sectors of the stored rows x cols elements from (row, col) on, element by element. */
static double sectors_of(int64_t row, int64_t rows, int64_t col, int64_t cols, int64_t ld)
{
    double count = 0;
    for (int64_t i = row; i < row + rows; i++)
        for (int64_t j = col; j < col + cols; j++) count += j == col || 4 * (i * ld + j) % 32 == 0;
    return count;
}

static int64_t lower(int64_t x, int64_t y) { return x < y ? x : y; }

/* What every block of a wave wants, block by block: of a device with FEW multiprocessors and two halves of an L2 that
 * holds nothing. */
static predict_traffic traffic_by_blocks(const access_launch *l, int64_t held)
{
    predict_traffic x = {(double)held, 0, 0, 0};
    double a_row = 4.0 * (double)(l->m * l->k) / (double)l->grid_y,
           b_col = 4.0 * (double)(l->k * l->n) / (double)l->grid_x;
    int64_t blocks = l->grid_x * l->grid_y;
    for (int64_t first = 0; first < blocks; first += FEW * held) {
        bool row_seen[MOST_CELLS] = {false}, col_seen[MOST_CELLS] = {false};
        access_place before = {.by = -1, .bx = -1};
        for (int64_t b = first; b < blocks && b < first + FEW * held; b++) {
            access_place at = access_block(l, b);
            int64_t i = at.by * l->block_m, j = at.bx * l->block_n, rows = lower(l->block_m, l->m - i),
                    cols = lower(l->block_n, l->n - j);
            x.dram_low_bytes += (row_seen[at.by] ? 0 : a_row) + (col_seen[at.bx] ? 0 : b_col);
            x.dram_high_bytes += l->group_m > 0 || at.by != before.by ? a_row : 0;
            x.dram_high_bytes += l->group_m == 0 || at.bx != before.bx || at.by < before.by ? b_col : 0;
            row_seen[at.by] = col_seen[at.bx] = true, before = at;
            x.l2_bytes += 32 * (l->transposed_a ? sectors_of(0, l->k, i, rows, l->lda)
                                                : sectors_of(i, rows, 0, l->k, l->lda));
            x.l2_bytes += 32 * (l->transposed_b ? sectors_of(j, cols, 0, l->k, l->ldb)
                                                : sectors_of(0, l->k, j, cols, l->ldb));
            x.l2_bytes += 32 * sectors_of(i, rows, j, cols, l->ldc);
        }
    }
    x.l2_bytes += x.dram_low_bytes / 2;
    return x;
}

static void traffic_case(void)
{
    static const struct {
        const char *name;
        int tile;
        tw_op op;
        int64_t m, n, k, pad;
        int held; /* as threads, registers and shared memory leave room */
    } rows[] = {
        {"cuda_f32_r04_banks", 8, TW_N, 70, 75, 37, 0, 32},
        {"cuda_f32_r04_banks", 32, TW_T, 133, 210, 19, 3, 2},
        {"cuda_f32_r03_coalesced", 16, TW_N, 333, 777, 21, 1, 8},
        {"cuda_f32_r08_coarsened", 0, TW_N, 501, 777, 16, 0, 6},
        {"cuda_f32_r10_register", 0, TW_N, 1300, 900, 20, 4, 2},
        {"cuda_f32_r11_warp", 0, TW_N, 2500, 1100, 9, 0, 2},
        {"cuda_f32_r11_warp", 0, TW_N, 900, 3000, 16, 1, 2},
    };
    published_device few = *devices_model("H200");
    few.multiprocessors = FEW, few.cache_kib = 1;
    if (!tap_case("what caches leave, block by block")) return;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        access_launch l;
        char why[WHY] = "";
        tw_problem p = tw_problem_make(TW_F32, rows[i].op, rows[i].op, rows[i].m, rows[i].n, rows[i].k);
        p.lda += rows[i].pad, p.ldb += rows[i].pad, p.ldc += rows[i].pad;
        bool open = access_open(&l, &kernel_named(rows[i].name)->lab, rows[i].tile, &p, why, WHY);
        predict_traffic is = open ? traffic_by_blocks(&l, rows[i].held) : (predict_traffic){0},
                        found = open ? predict_cached(&l, &few) : (predict_traffic){0};
        if (open && found.resident_blocks == is.resident_blocks && fabs(found.l2_bytes / is.l2_bytes - 1) < 1e-12 &&
            fabs(found.dram_low_bytes / is.dram_low_bytes - 1) < 1e-12 &&
            fabs(found.dram_high_bytes / is.dram_high_bytes - 1) < 1e-12)
            continue;
        tap_result(false, "%s T=%d: %g blocks, L2 %.0f, DRAM %.0f to %.0f; by blocks %g, %.0f, %.0f to %.0f %s",
                   rows[i].name, rows[i].tile, found.resident_blocks, found.l2_bytes, found.dram_low_bytes,
                   found.dram_high_bytes, is.resident_blocks, is.l2_bytes, is.dram_low_bytes, is.dram_high_bytes, why);
        return;
    }
    tap_result(true, "%s", "");
}

/* An L2 that holds A and B, one that is not divided, and devices of which nothing is predicted. */
static void caches_case(void)
{
    access_launch l;
    char why[WHY] = "";
    published_device d = *devices_model("H200");
    if (!tap_case("caches of other devices")) return;
    bool right = open_square(&l, "cuda_f32_r04_banks", 16, 4096, why);
    predict_traffic h200 = predict_cached(&l, &d);
    d.cache_kib = 1 << 20;
    predict_traffic large = predict_cached(&l, &d);
    right = right && large.dram_low_bytes == 2.0 * 4096 * 4096 * 4 && large.dram_high_bytes == large.dram_low_bytes;
    d.cache_kib = 0;
    right = right && isnan(predict_cached(&l, &d).dram_low_bytes);
    d.cache_kib = 61440, d.capability = "8.9"; /* one partition, 1536 threads */
    predict_traffic whole = predict_cached(&l, &d);
    right = right && whole.resident_blocks == 6 && whole.l2_bytes == h200.l2_bytes - h200.dram_low_bytes / 2;
    right = right && isnan(predict_cached(&l, devices_model("P100")).l2_bytes) &&
            isnan(predict_cached(&l, devices_model("GTX 280")).l2_bytes);
    tap_result(right, "%g blocks, %g bytes of the L2; %s", whole.resident_blocks, whole.l2_bytes, why);
}

/* TMA's boxes are those of the kernel's row, for which its text is written (ASSUME_BOXES), and tile C. */
static void boxes_case(void)
{
    const kernel_row *row = kernel_named("cuda_f32_r12_async");
    const gpu_kernel *g = &row->gpu;
    const tw_problem x = tw_problem_make(TW_F32, TW_N, TW_N, 512, 512, 512);
    access_launch l;
    int boxes = 0;
    char why[WHY] = "";
    if (!tap_case("boxes are the row's")) return;
    bool right = access_open(&l, &row->lab, 0, &x, why, sizeof why) && l.block_x * l.block_y == g->threads_x;
    for (int i = 0; right && i < l.rows; i++) {
        const access_row *r = l.row[i];
        int64_t first[2], next[2];
        if (r->box_rows == 0) continue;
        bool a = r->kind == LOAD_A;
        right = r->box_rows == (a ? g->a_box_rows : g->b_box_rows) &&
                r->box_cols == (a ? g->a_box_cols : g->b_box_cols);
        r->at(&l, &(access_place){.by = 1, .bx = 2, .t = 3}, 0, 0, first);
        r->at(&l, &(access_place){.by = 2, .bx = 3, .t = 4}, 0, 0, next);
        right = right && first[0] == (a ? 1 : 3) * r->box_rows && first[1] == (a ? 3 : 2) * r->box_cols &&
                next[0] == first[0] + r->box_rows && next[1] == first[1] + r->box_cols;
        boxes++;
    }
    tap_result(right && boxes == 2, "%d boxes %s", boxes, why);
}

/* 2^31 rows of 2^30 words: the last byte has the number 2^63. */
static void large_case(void)
{
    access_launch l;
    access_cost total[ACCESS_ERAS];
    char why[WHY] = "";
    const tw_lab_kernel *kernel = &kernel_named("cuda_f32_r02_tiled")->lab;
    if (!tap_case("addresses that do not fit 64 bits")) return;
    tw_problem fits = tw_problem_make(TW_F32, TW_N, TW_N, (int64_t)1 << 30, (int64_t)1 << 30, (int64_t)1 << 30);
    tw_problem large = tw_problem_make(TW_F32, TW_N, TW_N, (int64_t)1 << 31, (int64_t)1 << 30, 64);
    bool opened = access_open(&l, kernel, 16, &fits, why, sizeof why);
    if (opened) access_count_kind(&l, LOAD_B, total);
    double requests = ldexp(1, 3 * 30 - 4 - 5); /* no longer exact */
    bool right = opened && fabs(total[ERA_NOW].requests / requests - 1) < 1e-12 &&
                 fabs(total[ERA_NOW].transactions / requests - 16) < 1e-10;
    bool refused = !access_open(&l, kernel, 16, &large, why, sizeof why) && strstr(why, "64 bits") != NULL;
    tap_result(right && refused, "%d %d, %g transactions of %g requests; %s", opened, refused,
               total[ERA_NOW].transactions, total[ERA_NOW].requests, why);
}

int main(int argc, char **argv)
{
    tap_start(argc, argv);
    for (int i = 0; i < kernel_count(); i++) {
        const kernel_row *row = kernel_at(i);
        if (!modelled(row, TW_N, TW_N)) continue;
        for (int tile = row->lab.skinny ? 16 : 8; tile <= 32; tile *= 2) {
            if (row->lab.default_tile == 0 && tile != 16) continue;
            for (int ops = 0; is_c(row) && ops < 4; ops++) {
                tw_op op_a = ops & 1 ? TW_T : TW_N, op_b = ops & 2 ? TW_T : TW_N;
                /* of the other tiles CUDA's texts get one, OpenCL's the other */
                const bool usual = tile == 16 ? ops == 0 || ops == 3
                                              : ops == 0 && (tile == 8) == (strcmp(row->lab.engine, "cuda") == 0);
                if (modelled(row, op_a, op_b) && (usual || (tap.full && (tile == 16 || ops == 0 || ops == 3))))
                    rung_case(&(subject){row, tile, op_a, op_b, NULL, NULL});
            }
            /* the model knows no engine */
            if (strcmp(row->lab.engine, "cuda") == 0) totals_case(row, tile, tile == 16 || tap.full);
        }
    }
    spoken_of_case();
    rules_case();
    skinny_case();
    averages_case();
    ratios_case();
    conflicts_case();
    models_case();
    large_case();
    boxes_case();
    traffic_case();
    caches_case();
    changed_case("another word of A's tile", &(subject){kernel_named("cuda_f32_r04_banks"), 16, TW_N, TW_N,
                                                        "fmaf(a_tile[ty][p]", "fmaf(a_tile[p][ty]"});
    changed_case("rows of 21 words",
                 &(subject){kernel_named("opencl_f32_r05_outer"), 16, TW_N, TW_N, "ROW = BM + 4", "ROW = BM + 5"});
    changed_case("no clamp at the edge",
                 &(subject){kernel_named("cuda_f32_s2_shared_a"), 16, TW_N, TW_N, "j < n ? j : n - 1", "j"});
    changed_case("rows of 136 words",
                 &(subject){kernel_named("cuda_f32_r10_register"), 16, TW_N, TW_N, "A_ROW = BM + 4", "A_ROW = BM + 8"});
    changed_case("lanes 4 x 8",
                 &(subject){kernel_named("cuda_f32_r11_warp"), 16, TW_N, TW_N, "lane / 2 % 4 * 4", "lane % 4 * 4"});
    changed_case("groups of 4 rows",
                 &(subject){kernel_named("cuda_f32_r11_warp"), 16, TW_N, TW_N, "GROUP_M = 8", "GROUP_M = 4"});
    changed_case("four words one by one",
                 &(subject){kernel_named("cuda_f32_r09_wide"), 16, TW_N, TW_N, "load4(&A(i_load, col), k - col)",
                            "load4(&A(i_load, col), min(3, k - col))"});
    changed_case("no barrier before the tiles are read",
                 &(subject){kernel_named("cuda_f32_r11_warp"), 16, TW_N, TW_N, "        __syncthreads();", ""});
    changed_case("one load less", &(subject){kernel_named("cuda_f32_r07_prefetch"), 16, TW_N, TW_N, "next[e] = A(",
                                             "next[e] = p_next == p0 ? 0 : A("});
    return tap_finish();
}
