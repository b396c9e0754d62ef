/* test_lanes.c - no lookalikes: what each rung of both GPU ladders asks of memory, lane by lane, is what the rung is
 * said to ask.
 *
 * The text of the kernel that the library holds is compiled as C and run on this machine (host_kernel.h); each access
 * of one inner group is seen with its address. The i-th accesses of 32 neighbouring work-items make one request of a
 * warp. From its addresses follow
 *   sectors and lines   32 and 128 bytes of global memory
 *   wavefronts          passes through the 32 banks of shared memory: the most different words that one bank has to
 *                       give
 *   transactions        of a half-warp on compute capability 1.0 and 1.1 (64 bytes in order, else one each) and on 1.2
 *                       and 1.3 (segments of 128 bytes); conflicts in 16 banks
 * and must be the degrees below, for every request. No subscript stands here: a kernel whose access changes fails,
 * which the last cases show with texts that were changed. The product is checked too, so that it is the kernel that
 * ran.
 *
 *     test_lanes FILE.cl [T]      the same figures of a reader's own kernel (lab/user_kernel.h), as they are */
#include "../lab/access/access.h"
#include "../lab/user_kernel.h"
#include "support/host_kernel.h"
#include "support/tap.h"

enum { WARP = ACCESS_WARP, HALF = 16, MOST_EVENTS = 2048, LD = 160 };

/* What is said of one access. global: sectors, lines and bytes used of a warp's request; shared: wavefronts. old: a
 * half-warp on compute capability 1.x (T = 16), global: transactions on 1.0 and 1.2, shared: conflicts in 16 banks; 0:
 * nothing is said. */
typedef struct degree {
    int sectors, lines, used, wavefronts;
} degree;
typedef struct said {
    const char *rungs; /* each followed by a space */
    access_kind what;
    int per_tile[2], outside; /* accesses of a work-item for each tile of k, at T = 16 and 32, and beside these */
    degree at[2];             /* T = 16 and 32 */
    int old[2];
} said;

#define SHARED(degree_16, degree_32)                                                                                   \
    {                                                                                                                  \
        {0, 0, 0, degree_16}, { 0, 0, 0, degree_32 }                                                                   \
    }
#define ROWS_WHOLE                                                                                                     \
    {                                                                                                                  \
        {4, 2, 128, 0}, { 4, 1, 128, 0 }                                                                               \
    } /* whole rows of T words */
#define TILED "r02_tiled r03_coalesced r03t_transposed r04_banks r04d_divergence "
#define OUTER "r05_outer r06_unrolled "

/* seed-definitions.md, section 3. */
static const said table[] = {
    {"r01_naive ", LOAD_A, {16, 32}, 0, {{2, 2, 8, 0}, {1, 1, 4, 0}}, {16, 1}},
    {"r01_naive ", LOAD_B, {16, 32}, 0, {{2, 1, 64, 0}, {4, 1, 128, 0}}, {1, 1}},
    {"r01_naive " TILED, STORE_C, {0, 0}, 1, ROWS_WHOLE, {1, 1}},

    {TILED, LOAD_A, {1, 1}, 0, ROWS_WHOLE, {1, 1}},
    {"r02_tiled ", LOAD_B, {1, 1}, 0, {{16, 16, 128, 0}, {32, 32, 128, 0}}, {16, 16}},
    {"r03_coalesced r03t_transposed r04_banks r04d_divergence ", LOAD_B, {1, 1}, 0, ROWS_WHOLE, {1, 1}},
    {TILED, STORE_A_TILE, {1, 1}, 0, SHARED(1, 1), {1, 0}},
    {"r02_tiled r03_coalesced ", STORE_B_TILE, {1, 1}, 0, SHARED(8, 32), {16, 0}},
    {"r03t_transposed r04_banks r04d_divergence ", STORE_B_TILE, {1, 1}, 0, SHARED(1, 1), {1, 0}},
    {TILED, READ_A_TILE, {16, 32}, 0, SHARED(1, 1), {1, 0}},
    {"r02_tiled r04_banks r04d_divergence ", READ_B_TILE, {16, 32}, 0, SHARED(1, 1), {1, 0}},
    {"r03_coalesced r03t_transposed ", READ_B_TILE, {16, 32}, 0, SHARED(8, 32), {16, 0}},

    {OUTER, LOAD_A, {4, 4}, 0, {{4, 2, 128, 0}, {4, 2, 128, 0}}, {1, 1}},
    {"r07_prefetch ", LOAD_A, {4, 4}, 4, {{4, 2, 128, 0}, {4, 2, 128, 0}}, {1, 1}},
    {OUTER "r07_prefetch ", LOAD_B, {16, 16}, 0, {{4, 1, 128, 0}, {4, 1, 128, 0}}, {1, 1}},
    {OUTER, STORE_A_TILE, {4, 4}, 0, SHARED(2, 2), {0, 0}},
    {"r07_prefetch ", STORE_A_TILE, {4, 4}, 4, SHARED(2, 2), {0, 0}},
    {OUTER "r07_prefetch ", READ_A_TILE, {256, 256}, 0, SHARED(1, 1), {1, 0}},
    {OUTER "r07_prefetch ", STORE_C, {0, 0}, 16, {{4, 1, 128, 0}, {4, 1, 128, 0}}, {1, 1}},

    {"s1_unoptimised ", LOAD_A, {16, 32}, 0, {{2, 1, 8, 0}, {1, 1, 4, 0}}, {16, 1}},
    {"s1_unoptimised s2_shared_a ", LOAD_B, {16, 32}, 0, {{2, 1, 64, 0}, {4, 1, 128, 0}}, {1, 1}},
    {"s2_shared_a s3_shared_ab ", LOAD_A, {1, 1}, 0, {{4, 1, 128, 0}, {4, 1, 128, 0}}, {1, 1}},
    {"s3_shared_ab ", LOAD_B, {1, 1}, 0, ROWS_WHOLE, {1, 1}},
    {"s2_shared_a s3_shared_ab ", STORE_A_TILE, {1, 1}, 0, SHARED(1, 1), {1, 0}},
    {"s3_shared_ab ", STORE_B_TILE, {1, 1}, 0, SHARED(1, 1), {1, 0}},
    {"s2_shared_a s3_shared_ab ", READ_A_TILE, {16, 32}, 0, SHARED(1, 1), {1, 0}},
    {"s3_shared_ab ", READ_B_TILE, {16, 32}, 0, SHARED(1, 1), {1, 0}},
    {"s1_unoptimised s2_shared_a s3_shared_ab ", STORE_C, {0, 0}, 1, ROWS_WHOLE, {1, 1}},
};

/* Barriers: of the group for each tile and beside these, of a warp. */
static const struct {
    const char *rungs;
    int per_tile, outside, warp;
} barriers[] = {
    {"r01_naive s1_unoptimised ", 0, 0, 0},
    {TILED OUTER, 2, 0, 0},
    {"r07_prefetch ", 1, 1, 0},
    {"s3_shared_ab ", 1, 0, 0},
    {"s2_shared_a ", 0, 0, 1},
};

static bool names(const char *rungs, const char *rung)
{
    const char *found = strstr(rungs, rung);
    return found != NULL && found[strlen(rung)] == ' ';
}

/* ---- requests and their degrees, by the rules of lab/access/access.c ---- */

static degree degree_of(access_kind what, const int64_t address[WARP])
{
    access_cost now = access_price(ERA_NOW, what, address, 1);
    if (!access_is_global(what)) return (degree){.wavefronts = (int)now.transactions};
    return (degree){(int)now.transactions, (int)now.lines, (int)now.used, 0};
}

/* Transactions or conflicts of a warp's first half. */
static int of_half(access_era era, access_kind what, const int64_t address[WARP])
{
    int64_t half[WARP];
    for (int i = 0; i < WARP; i++) half[i] = i < HALF ? address[i] : -1;
    return (int)access_price(era, what, half, 1).transactions;
}

/* ---- one inner group, seen ---- */

typedef struct event {
    int64_t address;  /* within its operand, or within the tiles */
    signed char what; /* access_kind; -1: tile memory, whose kind is not known yet */
    bool store;
} event;

static struct {
    const host_kernel *kernel;
    const host_run *run;
    size_t c_bytes;
    event events[HOST_MOST_THREADS][MOST_EVENTS];
    int count[HOST_MOST_THREADS];
    bool too_many;
} seen;

static bool in_range(const void *address, const void *first, size_t bytes)
{
    return (uintptr_t)address - (uintptr_t)first < bytes;
}

static void see(int thread, const void *address, int bytes, bool store)
{
    const host_now *now = seen.kernel->now;
    const host_run *r = seen.run;
    event e = {.store = store};
    if (now->block.x != 1 || now->block.y != 1) return;
    if (in_range(address, r->a, LD * LD * 4))
        e.what = LOAD_A, e.address = (int64_t)((const char *)address - (const char *)r->a);
    else if (in_range(address, r->b, 4 * LD * LD * 4))
        e.what = LOAD_B, e.address = (int64_t)((const char *)address - (const char *)r->b);
    else if (in_range(address, r->c, seen.c_bytes))
        e.what = STORE_C, e.address = (int64_t)((const char *)address - (const char *)r->c);
    else if (in_range(address, now->tiles, (size_t)(now->tiles_end - now->tiles)))
        e.what = -1, e.address = (int64_t)((const char *)address - now->tiles);
    else
        return; /* a work-item's own */
    if (seen.count[thread] == MOST_EVENTS || bytes != 4)
        seen.too_many = true;
    else
        seen.events[thread][seen.count[thread]++] = e;
}

/* Elements of A are negative, of B positive: what lies in a tile's word after the group has run says whose tile it
 * is. */
static void name_tiles(host_place block)
{
    if (block.x != 1 || block.y != 1) return;
    for (int t = 0; t < HOST_MOST_THREADS; t++)
        for (int i = 0; i < seen.count[t]; i++) {
            event *e = &seen.events[t][i];
            if (e->what != -1) continue;
            bool a = *(const float *)(seen.kernel->now->tiles + e->address) < 0;
            e->what = (signed char)(e->store ? (a ? STORE_A_TILE : STORE_B_TILE) : (a ? READ_A_TILE : READ_B_TILE));
        }
}

/* What was seen of one kind of access: the degree if all requests agree. */
typedef struct summary {
    int per_thread, requests, old[2];
    degree at;
} summary;

static bool summarise(int threads, summary out[ACCESS_KINDS], char why[256])
{
    memset(out, 0, ACCESS_KINDS * sizeof *out);
    for (int first = 0; first < threads; first += WARP)
        for (int i = 0; i < seen.count[first]; i++) {
            const event *lead = &seen.events[first][i];
            summary *s = &out[(int)lead->what];
            int64_t address[WARP];
            for (int lane = 0; lane < WARP; lane++) {
                const event *e = &seen.events[first + lane][i];
                if (seen.count[first + lane] != seen.count[first] || e->what != lead->what || e->store != lead->store) {
                    snprintf(why, 256, "lanes of one warp part ways in an inner group");
                    return false;
                }
                address[lane] = e->address;
            }
            if (lead->what <= LOAD_B && lead->store) {
                snprintf(why, 256, "A or B is written");
                return false;
            }
            access_kind what = (access_kind)lead->what;
            degree d = degree_of(what, address);
            int old[2] = {of_half(ERA_1_0, what, address),
                          access_is_global(what) ? of_half(ERA_1_2, what, address) : 0};
            if (s->requests++ == 0) s->at = d, s->old[0] = old[0], s->old[1] = old[1];
            if (memcmp(&s->at, &d, sizeof d) != 0 || s->old[0] != old[0] || s->old[1] != old[1]) {
                snprintf(why, 256, "requests of one kind differ: %s has %d sectors, %d wavefronts, then %d, %d",
                         access_kind_text((access_kind)lead->what), s->at.sectors, s->at.wavefronts, d.sectors,
                         d.wavefronts);
                return false;
            }
            if (first == 0) s->per_thread++;
        }
    return true;
}

/* ---- one kernel ---- */

typedef struct subject {
    const kernel_row *row;
    int tile;
    const char *from[2], *to[2]; /* changes of its text */
    const char *options;         /* more of them */
    const tw_lab_source *source; /* not NULL: the text, launched like the row */
} subject;

static const device_facts device = {
    .sm = 90, .most_threads = 1024, .local_bytes = 48 << 10, .largest_bytes = (int64_t)1 << 40, .threads = 1};

/* The text with its changes; NULL where one does not apply. */
static char *text_of(const subject *s)
{
    char *text = strdup(s->source != NULL ? s->source->text : gpu_source(s->row->lab.file));
    for (int i = 0; i < 2 && s->from[i] != NULL && text != NULL; i++) {
        char *changed = host_replace(text, s->from[i], s->to[i], 1);
        free(text);
        text = changed;
    }
    return text;
}

/* Build and run; the summary of an inner group. k is three tiles deep, and the grid 3 x 3 groups. */
static bool look(const subject *s, plan *p, summary found[ACCESS_KINDS], char why[256])
{
    static float a[LD * LD] __attribute__((aligned(256))), b[4 * LD * LD] __attribute__((aligned(256)));
    static float c[LD * 640] __attribute__((aligned(256)));
    char log[512];
    host_kernel kernel;
    device_facts facts = device;
    facts.engine = s->row->lab.engine;
    int block_m = s->row->lab.tile_m > 1 ? s->row->lab.tile_m : s->tile,
        block_n = s->row->lab.tile_n > 1 ? s->row->lab.tile_n : s->tile;
    int k = s->row->lab.skinny ? s->tile : 3 * s->tile;
    tw_problem x = tw_problem_make(TW_F32, TW_N, TW_N, 3 * block_m, 3 * block_n, k);
    tw_lab_choice choice = {
        .kernel = s->row->lab.name, .tile = s->row->lab.default_tile > 0 ? s->tile : 0, .source = s->source};
    x.dtype_c = TW_F32, x.align_a = x.align_b = x.align_c = 256;
    if (!s->row->lab.skinny) x.lda = LD; /* the A of NVIDIA Best Practices is T wide */
    x.ldb = x.ldc = 640;
    if (plan_find(&x, &facts, &choice, p) != TW_OK) {
        snprintf(why, 256, "%.250s", tw_error_text());
        return false;
    }
    if (p->gpu.transposes_b) x.ldb = LD;
    /* rows and columns differ: a swap shows */
    for (int i = 0; i < LD * LD; i++) a[i] = (float)-(1 + (i * 7 + i / LD) % 5);
    for (int i = 0; i < 4 * LD * LD; i++) b[i] = (float)(1 + i * 11 % 7);
    if (s->options != NULL) strncat(p->gpu.options, s->options, sizeof p->gpu.options - strlen(p->gpu.options) - 1);
    char *text = text_of(s);
    if (text == NULL) {
        snprintf(why, 256, "the text to be changed is not there");
        return false;
    }
    bool built = host_build(p, text, &kernel, log);
    free(text);
    snprintf(why, 256, "%.255s", log);
    host_run run = {.m = (int)x.m,
                    .n = (int)x.n,
                    .k = k,
                    .alpha = 1,
                    .a = a,
                    .b = b,
                    .c = c,
                    .lda = x.lda,
                    .ldb = x.ldb,
                    .ldc = x.ldc,
                    .note = see,
                    .after_block = name_tiles};
    if (!built) return false;
    seen.kernel = &kernel, seen.run = &run, seen.c_bytes = sizeof c, seen.too_many = false;
    memset(seen.count, 0, sizeof seen.count);
    memset(c, 0, sizeof c);
    host_launch(&kernel, &run);
    bool right = !seen.too_many;
    if (!right) snprintf(why, 256, "accesses that are not of 4 bytes, or more than %d", (int)MOST_EVENTS);
    for (int i = 0; right && i < x.m; i++)
        for (int j = 0; right && j < x.n; j++) {
            float sum = 0;
            for (int q = 0; q < k; q++)
                sum += a[i * x.lda + q] * (p->gpu.transposes_b ? b[j * x.ldb + q] : b[q * x.ldb + j]);
            right = c[i * x.ldc + j] == sum;
            if (!right) snprintf(why, 256, "C[%d, %d] is %g, expected %g", i, j, c[i * x.ldc + j], sum);
        }
    right = right && summarise((int)(kernel.size.x * kernel.size.y), found, why);
    host_close(&kernel);
    return right;
}

/* Does what was seen agree with what is said? With old: of compute capability 1.x. */
static bool agrees(const subject *s, const summary *found, bool old, char why[256])
{
    int at = s->tile == 32, tiles = s->row->lab.skinny ? 1 : 3;
    for (int what = 0; what < ACCESS_KINDS; what++) {
        const said *is = NULL;
        const summary *f = &found[what];
        for (size_t i = 0; i < sizeof table / sizeof *table && is == NULL; i++)
            if ((int)table[i].what == what && names(table[i].rungs, s->row->lab.rung)) is = &table[i];
        int count = is != NULL ? is->per_tile[at] * tiles + is->outside : 0;
        if (f->per_thread != count) {
            snprintf(why, 256, "%s happens %d times per work-item, expected %d", access_kind_text((access_kind)what),
                     f->per_thread, count);
            return false;
        }
        if (is == NULL) continue;
        const degree *d = &is->at[at];
        if (!old && memcmp(&f->at, d, sizeof *d) != 0) {
            snprintf(why, 256, "%s: %d sectors in %d lines, %d bytes used, %d wavefronts; expected %d, %d, %d, %d",
                     access_kind_text((access_kind)what), f->at.sectors, f->at.lines, f->at.used, f->at.wavefronts,
                     d->sectors, d->lines, d->used, d->wavefronts);
            return false;
        }
        for (int i = 0; i < 2; i++)
            if (old && is->old[i] != 0 && f->old[i] != is->old[i]) {
                snprintf(why, 256, "%s on compute capability 1.%c: degree %d, expected %d",
                         access_kind_text((access_kind)what), "02"[i], f -> old[i], is -> old[i]);
                return false;
            }
    }
    return true;
}

static bool barriers_agree(const subject *s, char why[256])
{
    int tiles = s->row->lab.skinny ? 1 : 3;
    for (size_t i = 0; i < sizeof barriers / sizeof *barriers; i++) {
        if (!names(barriers[i].rungs, s->row->lab.rung)) continue;
        int whole = barriers[i].per_tile * tiles + barriers[i].outside, warp = barriers[i].warp;
        if (host.barriers[0] == whole && host.barriers[1] == warp) return true;
        snprintf(why, 256, "%d barriers of the group and %d of a warp, expected %d and %d", host.barriers[0],
                 host.barriers[1], whole, warp);
    }
    return false;
}

static void rung_case(const subject *s)
{
    char why[256] = "nothing is said about its barriers", name[128];
    summary found[ACCESS_KINDS];
    plan p;
    /* OpenCL's s2 waits for its warp alone where there are sub-groups. */
    subject with = *s;
    if (strcmp(s->row->lab.name, "opencl_f32_s2_shared_a") == 0)
        with.options = " -DSUBGROUP_BARRIER=1 -Dcl_khr_subgroups";
    snprintf(name, sizeof name, "%s T=%d", s->row->lab.name, s->tile);
    if (tap_case("%s lanes", name)) {
        if (host_why_not() != NULL)
            tap_skip(host_why_not());
        else
            tap_result(look(&with, &p, found, why) && agrees(&with, found, false, why) && barriers_agree(&with, why),
                       "%s", why);
    }
    if (s->tile == 16 && tap_case("%s lanes of compute capability 1.x", name)) {
        if (host_why_not() != NULL)
            tap_skip(host_why_not());
        else
            tap_result(look(&with, &p, found, why) && agrees(&with, found, true, why), "%s", why);
    }
}

/* A changed text: the case passes if the change is refused, and the degree of `what` is the one that the change
 * makes. */
static void changed_case(const char *about, const subject *s, access_kind what, degree expected)
{
    char why[256] = "";
    summary found[ACCESS_KINDS];
    plan p;
    if (!tap_case("%s T=%d changed: %s", s->row->lab.name, s->tile, about)) return;
    if (host_why_not() != NULL) {
        tap_skip(host_why_not());
        return;
    }
    bool looked = look(s, &p, found, why), refused = looked && !agrees(s, found, false, why);
    const degree *d = &found[what].at;
    if (looked && memcmp(d, &expected, sizeof expected) != 0) {
        snprintf(why, sizeof why, "%s: %d sectors in %d lines, %d bytes used, %d wavefronts",
                 access_kind_text((access_kind)what), d->sectors, d->lines, d->used, d->wavefronts);
        refused = false;
    }
    tap_result(refused, "%s", looked && why[0] == '\0' ? "the change was not noticed" : why);
}

static void changed_cases(const char *engine)
{
    char name[64];
#define ROW(rung) (snprintf(name, sizeof name, "%s_f32_" rung, engine), kernel_named(name))
    for (int tile = 16; tile <= 32; tile += 16) {
        int most = tile == 16 ? 8 : 32;
        subject r04 = {ROW("r04_banks"),
                       tile,
                       {"b_tile[ty][tx] = b_p", ", b_tile[p][tx], sum"},
                       {"b_tile[tx][ty] = b_p", ", b_tile[tx][p], sum"},
                       NULL};
        changed_case("the tile's subscripts swapped", &r04, READ_B_TILE, (degree){.wavefronts = most});
        changed_case("and its store", &r04, STORE_B_TILE, (degree){.wavefronts = most});
        subject r02 = {ROW("r02_tiled"),
                       tile,
                       {"b_tile[tx][ty] = b_p < k && b_j < n ? B(b_p, b_j) : 0;"},
                       {"b_p = t * TILE + ty; b_tile[ty][tx] = b_p < k && j < n ? B(b_p, j) : 0;"},
                       NULL};
        changed_case("B loaded along its rows", &r02, LOAD_B,
                     tile == 16 ? (degree){4, 2, 128, 0} : (degree){4, 1, 128, 0});
        subject padded = {ROW("r03t_transposed"), tile, {"b_tile[TILE][TILE];"}, {"b_tile[TILE][TILE + 1];"}, NULL};
        changed_case("rows of T + 1 words", &padded, READ_B_TILE, (degree){.wavefronts = 1});
        subject padded_store = {ROW("r03_coalesced"), tile, {"b_tile[TILE][TILE];"}, {"b_tile[TILE][TILE + 1];"}, NULL};
        changed_case("rows of T + 1 words", &padded_store, STORE_B_TILE, (degree){.wavefronts = tile == 16 ? 2 : 1});
    }
    subject r05 = {ROW("r05_outer"), 16, {"ROW = BM + 4"}, {"ROW = BM"}, NULL};
    changed_case("rows of 16 words", &r05, STORE_A_TILE, (degree){.wavefronts = 8});
#undef ROW
}

/* ---- a reader's own kernel ---- */

static void print_summary(access_kind kind, const summary *s)
{
    const degree *d = &s->at;
    printf("%-18s %10d ", access_kind_text(kind), s->per_thread);
    if (access_is_global(kind))
        printf("%8d %6d %6d %11s   %6d %6d\n", d->sectors, d->lines, d->used, "-", s->old[0], s->old[1]);
    else
        printf("%8s %6s %6s %11d   %6d %6s\n", "-", "-", "-", d->wavefronts, s->old[0], "-");
}

static int print_own(const char *path, int tile)
{
    user_kernel own;
    char why[512] = "";
    summary found[ACCESS_KINDS];
    plan p;
    tw_status status = user_kernel_read(path, &own, why, (int)sizeof why);
    if (status != TW_OK) return fprintf(stderr, "%s\n", status == TW_NO_MEMORY ? "memory ran out" : why), 6;
    subject s = {.row = kernel_named(own.like->name), .tile = tile, .source = &own.source};
    bool looked = host_why_not() == NULL ? look(&s, &p, found, why)
                                         : (snprintf(why, sizeof why, "%s", host_why_not()), false);
    if (!looked) fprintf(stderr, "%s: %s\n", path, why);
    if (looked) {
        printf("%s, launched like %s, T = %d: each request of a warp in an inner group, k = %d\n\n", own.label,
               own.like->rung, tile, (int)p.problem.k);
        printf("%-18s %10s %8s %6s %6s %11s   %6s %6s\n", "", "per thread", "sectors", "lines", "used B", "wavefronts",
               "on 1.0", "on 1.2");
        for (int kind = 0; kind < ACCESS_KINDS; kind++)
            if (found[kind].requests > 0) print_summary((access_kind)kind, &found[kind]);
        printf("\n%d barriers; the product is right. on 1.0, on 1.2: transactions of a half-warp there, of tiles "
               "conflicts in 16 banks\n",
               host.barriers[0]);
    }
    user_kernel_free(&own);
    return looked ? 0 : 1;
}

int main(int argc, char **argv)
{
    if (argc > 1 && user_kernel_is_path(argv[1]))
        return print_own(argv[1], argc > 2 ? (atoi(argv[2]) == 32 ? 32 : 16) : 16);
    tap_start(argc, argv);
    for (int i = 0; i < kernel_count(); i++) {
        const kernel_row *row = kernel_at(i);
        bool said_of = false;
        for (size_t j = 0; j < sizeof table / sizeof *table; j++)
            said_of = said_of || names(table[j].rungs, row->lab.rung);
        if (row->gpu.entry == NULL || !said_of) continue;
        for (int tile = 16; tile <= (row->lab.default_tile > 0 ? 32 : 16); tile += 16)
            rung_case(&(subject){.row = row, .tile = tile});
    }
    changed_cases("opencl");
    changed_cases("cuda");
    return tap_finish();
}
