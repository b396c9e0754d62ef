/* test_lanes.c - no lookalikes: what each rung of both GPU ladders asks of memory, lane by lane, is what the rung is
 * said to ask.
 *
 * The text of the kernel that the library holds is compiled as C and run on this machine (lanes.h); each access of
 * one inner group is seen with its address. The i-th accesses of 32 neighbouring work-items make one request of a
 * warp. From its addresses follow
 *   sectors and lines   32 and 128 bytes of global memory
 *   wavefronts          passes through the 32 banks of shared memory: the most different words that one bank has to
 *                       give
 *   transactions        of a half-warp on compute capability 1.0 and 1.1 (64 bytes in order, else one each) and on 1.2
 *                       and 1.3 (segments of 128 bytes); conflicts in 16 banks
 * and must be the degrees below, for every request. No subscript stands here: a kernel whose access changes fails,
 * which cases with texts that were changed show. The product is checked too, so that it is the kernel that ran. */
#include <sys/stat.h>
#include <unistd.h>

#include "../course/judge/lanes.h"
#include "engines/gpu.h"
#include "support/changed.h"
#include "support/tap.h"
#include "table.h"

/* What is said of one access. global: sectors, lines and bytes used of a warp's request; shared: wavefronts. old: a
 * half-warp on compute capability 1.x (T = 16), global: transactions on 1.0 and 1.2, shared: conflicts in 16 banks; 0:
 * nothing is said. */
typedef lanes_degree degree;
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
#define NAIVE "r01_naive r01u_uncached "
#define TILED "r02_tiled r03_coalesced r03t_transposed r04_banks r04d_divergence "
#define OUTER "r05_outer r06_unrolled "

/* As the rungs are defined. Of r08 to r11 an H200's counters say the same (docs/COURSE.md, from results/): 16 sectors a
 * load; of r10 3.0 wavefronts a read of a tile, (96 x 2 + 96 x 4) / 192, and 2.4 a store; of r11 2.0 and 1.6. */
static const said table[] = {
    {NAIVE, LOAD_A, {16, 32}, 0, {{2, 2, 8, 0}, {1, 1, 4, 0}}, {16, 1}},
    {NAIVE, LOAD_B, {16, 32}, 0, {{2, 1, 64, 0}, {4, 1, 128, 0}}, {1, 1}},
    {NAIVE TILED, STORE_C, {0, 0}, 1, ROWS_WHOLE, {1, 1}},

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

    {"r08_coarsened ", LOAD_A, {4, 4}, 4, {{4, 2, 128, 0}, {4, 2, 128, 0}}, {1, 1}},
    {"r08_coarsened ", LOAD_B, {64, 64}, 0, {{4, 1, 128, 0}, {4, 1, 128, 0}}, {1, 1}},
    {"r08_coarsened ", STORE_A_TILE, {4, 4}, 4, SHARED(2, 2), {0, 0}},
    {"r08_coarsened r09_wide ", READ_A_TILE, {1024, 1024}, 0, SHARED(1, 1), {1, 0}},
    {"r08_coarsened ", STORE_C, {0, 0}, 64, {{4, 1, 128, 0}, {4, 1, 128, 0}}, {1, 1}},

    {"r09_wide ", LOAD_A, {1, 1}, 1, {{16, 8, 512, 0}, {16, 8, 512, 0}}, {0, 0}},
    {"r09_wide ", LOAD_B, {16, 16}, 0, {{16, 4, 512, 0}, {16, 4, 512, 0}}, {2, 0}},
    {"r09_wide ", STORE_A_TILE, {4, 4}, 0, SHARED(2, 2), {0, 0}},
    {"r10_register ", LOAD_A, {2, 2}, 0, {{16, 8, 512, 0}, {16, 8, 512, 0}}, {0, 0}},
    {"r11_warp ", LOAD_A, {2, 2}, 0, {{16, 16, 512, 0}, {16, 16, 512, 0}}, {0, 0}},
    {"r10_register r11_warp ", LOAD_B, {2, 2}, 0, {{16, 4, 512, 0}, {16, 4, 512, 0}}, {2, 0}},
    {"r09_wide r10_register ", STORE_C, {0, 0}, 16, {{16, 4, 512, 0}, {16, 4, 512, 0}}, {2, 0}},
    {"r11_warp ", STORE_C, {0, 0}, 16, {{16, 8, 512, 0}, {16, 8, 512, 0}}, {0, 0}},
    {"r10_register ", STORE_A_TILE, {8, 8}, 8, SHARED(2, 2), {0, 0}},
    {"r11_warp ", STORE_A_TILE, {8, 8}, 4, SHARED(1, 1), {0, 0}},
    {"r10_register ", STORE_B_TILE, {2, 2}, 2, SHARED(4, 4), {0, 0}},
    {"r11_warp ", STORE_B_TILE, {2, 2}, 1, SHARED(4, 4), {0, 0}},
    {"r10_register r11_warp ", READ_A_TILE, {32, 32}, 0, SHARED(2, 2), {0, 0}},
    {"r10_register ", READ_B_TILE, {32, 32}, 0, SHARED(4, 4), {0, 0}},
    {"r11_warp ", READ_B_TILE, {32, 32}, 0, SHARED(2, 2), {0, 0}},

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
    {NAIVE "s1_unoptimised ", 0, 0, 0},
    {TILED OUTER, 2, 0, 0},
    {"r07_prefetch ", 1, 1, 0},
    {"s3_shared_ab ", 1, 0, 0},
    {"s2_shared_a ", 0, 0, 1},
    {"r08_coarsened r10_register ", 1, 1, 0},
    {"r09_wide ", 1, 0, 0},
    {"r11_warp ", 2, 1, 0},
};

static bool names(const char *rungs, const char *rung)
{
    const char *found = strstr(rungs, rung);
    return found != NULL && found[strlen(rung)] == ' ';
}

/* ---- one kernel ---- */

typedef struct subject {
    const kernel_row *row;
    int tile;
    const char *from[2], *to[2]; /* changes of its text */
    const char *options;         /* more of them */
} subject;

static void nothing(void) {}

static const bench_hooks no_hooks = {.hold = nothing, .release = nothing, .forked = nothing};

/* The text with its changes; NULL where one does not apply. */
static char *text_of(const subject *s)
{
    char *text = strdup(gpu_source(s->row->lab.file));
    for (int i = 0; i < 2 && s->from[i] != NULL && text != NULL; i++) {
        char *changed = changed_text(text, s->from[i], s->to[i], 1);
        free(text);
        text = changed;
    }
    return text;
}

/* Build and run; all requests of a kind must be of one degree. */
static bool look(const subject *s, lanes *found, char why[256])
{
    char *text = text_of(s);
    const tw_lab_source source = {.file = s->row->lab.file, .entry = s->row->gpu.entry, .text = text};
    const bool is_changed = s->from[0] != NULL;
    snprintf(why, 256, "the text to be changed is not there");
    if (text == NULL) return false;
    lanes_see(&(lanes_question){.kernel = &s->row->lab,
                                .source = is_changed ? &source : NULL,
                                .tile = s->row->lab.default_tile > 0 ? s->tile : 0,
                                .options = s->options,
                                .hooks = &no_hooks},
              found);
    free(text);
    snprintf(why, 256, "%.255s", found->why);
    if (found->outcome != LANES_SEEN) return false;
    for (int kind = 0; kind < ACCESS_KINDS; kind++) {
        const lanes_kind *f = &found->of[kind];
        if (f->alike == f->requests) continue;
        snprintf(why, 256, "requests of one kind differ: %s has %d sectors, %d wavefronts in %d of %d requests",
                 access_kind_text((access_kind)kind), f->at.sectors, f->at.wavefronts, f->alike, f->requests);
        return false;
    }
    return true;
}

/* Does what was seen agree with what is said? With old: of compute capability 1.x. */
static bool agrees(const subject *s, const lanes *found, bool old, char why[256])
{
    int at = s->tile == 32, tiles = s->row->lab.skinny ? 1 : 3;
    for (int what = 0; what < ACCESS_KINDS; what++) {
        const said *is = NULL;
        const lanes_kind *f = &found->of[what];
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

static bool barriers_agree(const subject *s, const lanes *found, char why[256])
{
    int tiles = s->row->lab.skinny ? 1 : 3;
    for (size_t i = 0; i < sizeof barriers / sizeof *barriers; i++) {
        if (!names(barriers[i].rungs, s->row->lab.rung)) continue;
        int whole = barriers[i].per_tile * tiles + barriers[i].outside, warp = barriers[i].warp;
        if (found->barriers[0] == whole && found->barriers[1] == warp) return true;
        snprintf(why, 256, "%d barriers of the group and %d of a warp, expected %d and %d", found->barriers[0],
                 found->barriers[1], whole, warp);
    }
    return false;
}

static void rung_case(const subject *s)
{
    char why[256] = "nothing is said about its barriers", name[128];
    lanes found;
    /* OpenCL's s2 waits for its warp alone where there are sub-groups. */
    subject with = *s;
    if (strcmp(s->row->lab.name, "opencl_f32_s2_shared_a") == 0)
        with.options = " -DSUBGROUP_BARRIER=1 -Dcl_khr_subgroups";
    snprintf(name, sizeof name, "%s T=%d", s->row->lab.name, s->tile);
    bool looked = false, seen = false; /* one look serves both */
    for (int old = 0; old <= (s->tile == 16); old++) {
        if (!tap_case("%s lanes%s", name, old ? " of compute capability 1.x" : "")) continue;
        if (host_why_not() != NULL) {
            tap_skip(host_why_not());
            continue;
        }
        if (!looked) seen = look(&with, &found, why), looked = true;
        tap_result(seen && agrees(&with, &found, old, why) && (old || barriers_agree(&with, &found, why)), "%s", why);
    }
}

/* A changed text: the case passes if the change is refused, and the degree of `what` is the one that the change
 * makes. */
static void changed_case(const char *about, const subject *s, access_kind what, degree expected)
{
    char why[256] = "";
    lanes found;
    if (!tap_case("%s T=%d changed: %s", s->row->lab.name, s->tile, about)) return;
    if (host_why_not() != NULL) {
        tap_skip(host_why_not());
        return;
    }
    bool looked = look(s, &found, why), refused = looked && !agrees(s, &found, false, why);
    const degree *d = &found.of[what].at;
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

/* ---- texts that are not the ladder's ---- */

static char folder[] = "/tmp/tilewright-lanes.XXXXXX"; /* TMPDIR: nothing may be left in it */

/* opencl's r04 with a change; expected: what lanes_see must say, and a part of its reason. */
static void outcome_case(const char *about, const char *from, const char *to, lanes_outcome expected, const char *says)
{
    const kernel_row *row = kernel_named("opencl_f32_r04_banks");
    lanes found;
    if (!tap_case("%s", about)) return;
    if (expected != LANES_UNABLE && host_why_not() != NULL) {
        tap_skip(host_why_not());
        return;
    }
    char *text = changed_text(gpu_source(row->lab.file), from, to, 1);
    const tw_lab_source source = {.file = row->lab.file, .entry = row->gpu.entry, .text = text};
    if (text != NULL)
        lanes_see(&(lanes_question){.kernel = &row->lab, .source = &source, .limit_s = 1, .hooks = &no_hooks}, &found);
    tap_result(text != NULL && found.outcome == expected && strstr(found.why, says) != NULL && rmdir(folder) == 0 &&
                   mkdir(folder, 0700) == 0,
               "%s", text != NULL ? found.why : "the text to be changed is not there");
    free(text);
}

#define LOOP "        ROLLED\n"

static void outcome_cases(void)
{
    const char *loop = LOOP, *store = "blend(&C(i, j)", *load = "? B(b_p, j)";
    outcome_case("a kernel that never ends is ended", loop, "while (1);\n", LANES_CRASHED, "did not answer within 1 s");
    outcome_case("one that crashes is reported", loop, "__builtin_trap();\n", LANES_CRASHED, "crashed: signal ");
    outcome_case("a store behind C", store, "blend(&c[(long)m * ldc]", LANES_WRONG,
                 "work-item 0 of group (0, 0) stores C(48, 0), and C is 48 x 48");
    outcome_case("a store far away", store, "blend(&c[(long)1 << 44]", LANES_WRONG, "outside of A, B, C and the tiles");
    outcome_case("a load before B", load, "? b[-1]", LANES_WRONG, "reads memory outside");
    outcome_case("a store to A", store, "*(__global float *)a = 1; blend(&C(i, j)", LANES_WRONG, "A is written");
    outcome_case("what is not C is told with its line", loop, "float2 x;\n", LANES_NOT_C, "ladder/r04_banks.cl:");
    outcome_case("a function that is nowhere", loop, "native_nothing();\n", LANES_NOT_C, "native_nothing");
    outcome_case("a missing barrier is a wrong product", "barrier(CLK_LOCAL_MEM_FENCE);\n        ROLLED", "ROLLED",
                 LANES_WRONG, "no barrier stands between the stores into a tile and its reads");
    outcome_case("a barrier of the warp in place of the group's", "barrier(CLK_LOCAL_MEM_FENCE);\n        ROLLED",
                 "sub_group_barrier(CLK_LOCAL_MEM_FENCE);\n        ROLLED", LANES_WRONG,
                 "no barrier stands between the stores into a tile and its reads");
    outcome_case("a fence is not blamed for a wrong product", "p < TILE; p++)",
                 "p < TILE - 1; mem_fence(CLK_LOCAL_MEM_FENCE), p++)", LANES_WRONG,
                 "the last product is missing; C[0, 0]");
    outcome_case("a barrier of global memory alone", "barrier(CLK_LOCAL_MEM_FENCE);\n        ROLLED",
                 "barrier(CLK_GLOBAL_MEM_FENCE);\n        ROLLED", LANES_WRONG,
                 "barrier(CLK_GLOBAL_MEM_FENCE) orders global memory alone");
    outcome_case("a guard before the barriers", "    ROLLED\n    for (int t",
                 "    if (i >= m || j >= n) return;\n    for (int t", LANES_WRONG,
                 "at 29 x 59 x 73 with alpha 2 and beta 3: work-item 11 of group (3, 0) ends before");
    outcome_case("a warp that parts at barriers", loop, "if (tx == 0) sub_group_barrier(CLK_LOCAL_MEM_FENCE);\n" LOOP,
                 LANES_WRONG, "wait at different barriers");
    outcome_case("a last tile that is left out", "t < ceil_div(k, TILE)", "t < k / TILE", LANES_WRONG,
                 "the last 9 of the 73 products of each sum are missing");
    outcome_case("a guard that is missing", "? B(b_p, j)", "|| b_p >= k ? B(b_p, j)", LANES_WRONG,
                 "reads B(73, 0), and B is 73 x 59");
    outcome_case("a beta that is ignored", "alpha, sum, beta);", "alpha, sum, 0);", LANES_WRONG,
                 "with alpha 2 and beta 3");
    outcome_case("a store beyond a row of C", "if (i < m && j < n)", "if (i < m && j < n + (i + 1 < m))", LANES_WRONG,
                 "reads C(0, 59), and C is 29 x 59: is a guard missing?");
    outcome_case("lanes that part ways are not judged", loop, "if (tx % 2 == 0) sum += 0 * a_tile[ty][0];\n" LOOP,
                 LANES_UNJUDGED, "part ways");
    outcome_case("accesses without end are not judged", loop,
                 "for (int e = 0; e < 4200 * (tx + ty == 0); e++) sum += 0 * A(0, 0);\n", LANES_UNJUDGED, "more than");
    outcome_case(
        "two barriers for two halves of a group", "barrier(CLK_LOCAL_MEM_FENCE);\n        ROLLED",
        "if (ty < TILE / 2) {\nbarrier(CLK_LOCAL_MEM_FENCE);\n} else {\nbarrier(CLK_LOCAL_MEM_FENCE);\n}\nROLLED",
        LANES_WRONG, "waits at another barrier");
    outcome_case("a k of three tiles at most", "t < ceil_div(k, TILE)", "t < min(3, ceil_div(k, TILE))", LANES_WRONG,
                 "the last 25 of the 73 products of each sum are missing");
    outcome_case("a row of A too many", "i < m && a_p < k", "i <= m && a_p < k", LANES_WRONG,
                 "reads A(29, 0), and A is");
    outcome_case("no guard of A's rows", "i < m && a_p < k", "a_p < k", LANES_WRONG, "reads A(29, 0), and A is");
    outcome_case("__local behind another word is not judged", "    __local float a_tile",
                 "    volatile __local float a_tile", LANES_UNJUDGED, "__local is not the first word");
    outcome_case("__local in a macro neither", "    __local float a_tile",
                 "\n#define SHARED __local\n    SHARED float a_tile", LANES_UNJUDGED, "__local is not the first word");
    outcome_case("float4 in a comment is none", "    __local float a_tile", "    /* float4 */ __local float a_tile",
                 LANES_SEEN, "");
    outcome_case("local and uint are OpenCL's words", "    __local float a_tile",
                 "    uint none = 0; (void)none;\n    local float a_tile", LANES_SEEN, "");
    outcome_case("a tile behind a comment and a tab", "    __local float a_tile",
                 "\t/* A's, B's */ __local float a_tile", LANES_SEEN, "");
    outcome_case("a pointer into a tile is a work-item's own", loop,
                 "__local float *own = &b_tile[0][tx]; sum += 0 * own[ty];\n", LANES_SEEN, "");
    unsetenv("CC");
    setenv("PATH", "", 1);
    outcome_case("without a compiler that is said", loop, loop, LANES_UNABLE, "no C compiler is here");
    setenv("CC", "/nonexistent/cc -O0", 1);
    outcome_case("a compiler of CC that is not here", loop, loop, LANES_UNABLE, "CC names no C compiler");
    unsetenv("CC");
}

int main(int argc, char **argv)
{
    tap_start(argc, argv);
    if (mkdtemp(folder) == NULL || setenv("TMPDIR", folder, 1) != 0) return 1;
    for (int i = 0; i < kernel_count(); i++) {
        const kernel_row *row = kernel_at(i);
        bool said_of = false;
        for (size_t j = 0; j < sizeof table / sizeof *table; j++)
            said_of = said_of || names(table[j].rungs, row->lab.rung);
        /* the largest tiles take long: each in one of the two languages, --full in both */
        const bool large = strcmp(row->lab.name, "cuda_f32_r10_register") == 0 ||
                           strcmp(row->lab.name, "opencl_f32_r11_warp") == 0;
        if (row->gpu.entry == NULL || !said_of || (large && !tap.full)) continue;
        for (int tile = 16; tile <= (row->lab.default_tile > 0 ? 32 : 16); tile += 16)
            rung_case(&(subject){.row = row, .tile = tile});
    }
    changed_cases("opencl");
    changed_cases("cuda");
    outcome_cases();
    rmdir(folder);
    return tap_finish();
}
