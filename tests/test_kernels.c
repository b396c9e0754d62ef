/* test_kernels.c - every kernel of the table against both oracles: shapes around its tiles, all transposes, alpha and
 * beta, padding, NaN poison, guard pages, special values; and the same bits for any number of threads. */
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>

#include "element.h"
#include "support/guard.h"
#include "integers.h"
#include "oracle.h"
#include "support/tap.h"

enum { ARENA_BYTES = 66 << 20 };
static guard arena[3]; /* a, b, c */

/* Does OpenCL C stand for the kernel's instructions here (kernels/opencl/sm80.clh)? */
static bool is_emulated(const tw_lab_kernel *kernel)
{
    return !tap.gpu && strcmp(kernel->engine, "opencl") == 0 && strncmp(kernel->needs, "sm_", 3) == 0;
}

/* Is it not optimised here, and slow where k is long? */
static bool takes_long(const tw_lab_kernel *kernel)
{
    return !tap.full && !tap.gpu && strcmp(kernel->engine, "opencl") == 0;
}

/* In the covering set a production file of OpenCL has all pairs of ops in its first row alone, since each is compiled
 * anew; they go round its other rows. -1: all. */
static int only_op(const tw_lab_kernel *kernel)
{
    int before = 0;
    if (!takes_long(kernel) || !kernel->production) return -1;
    for (int i = 0; tw_lab_kernel_at(i) != kernel; i++) before += strcmp(tw_lab_kernel_at(i)->file, kernel->file) == 0;
    return before == 0 ? -1 : before % 4;
}

/* In the covering set f32 and f64 show all tiles of an OpenCL file, bf16 and i8 of gemm_simt the first row and the
 * smallest tile; f16 and u8, which differ from these by a conversion, that alone. */
static bool is_left_out(const tw_lab_kernel *kernel)
{
    const bool halves = kernel->dtype == TW_F16 || kernel->dtype == TW_U8;
    bool is_first = true, is_smallest = true, is_before = true;
    if (!takes_long(kernel) || kernel->dtype == TW_F32 || kernel->dtype == TW_F64 || is_emulated(kernel)) return false;
    if (!halves && strncmp(kernel->rung, "gemm_simt", 9) != 0) return false;
    for (int i = 0; i < tw_lab_kernel_count(); i++) {
        const tw_lab_kernel *other = tw_lab_kernel_at(i);
        const int64_t size = kernel->tile_m * kernel->tile_n, its = other->tile_m * other->tile_n;
        if (other == kernel) is_before = false;
        if (other->dtype != kernel->dtype || strcmp(other->file, kernel->file) != 0) continue;
        if (is_before) is_first = false;
        if (its < size || (its == size && halves && is_before)) is_smallest = false;
    }
    return !is_smallest && (halves || !is_first);
}

/* Is a smaller tile of the same text and type run too? */
static bool has_smaller_tile(const tw_lab_kernel *kernel)
{
    for (int i = 0; i < tw_lab_kernel_count(); i++) {
        const tw_lab_kernel *other = tw_lab_kernel_at(i);
        if (other->dtype == kernel->dtype && strcmp(other->file, kernel->file) == 0 &&
            other->tile_m * other->tile_n < kernel->tile_m * kernel->tile_n && !is_left_out(other))
            return true;
    }
    return false;
}

/* The device that a kernel's engine has here; NULL, and why, where it has none. In the covering set PoCL does not
 * optimise, which takes it ten times as long as all cases of a kernel, and no kernel has a self-test, which compiles a
 * division of k for each: what they compute is judged here. With --full what tw_gemm runs is compiled as it
 * compiles it. */
static tw_context *context_of(const tw_lab_kernel *kernel, const char **why)
{
    enum { USUAL, UNOPTIMISED, EMULATED };
    static const char *const compiler_options[] = {NULL, "-cl-opt-disable", "-DEMULATED_SM80=1 -cl-opt-disable"};
    static struct {
        const char *engine;
        int way;
        tw_context *context;
        char why[256];
    } opened[6];
    const int way = is_emulated(kernel) ? EMULATED
                    : tap.gpu || strcmp(kernel->engine, "opencl") != 0 || (tap.full && kernel->production)
                        ? USUAL
                        : UNOPTIMISED;
    int i = 0;
    while (opened[i].engine != NULL && (strcmp(opened[i].engine, kernel->engine) != 0 || opened[i].way != way)) i++;
    if (opened[i].engine == NULL) {
        tw_options options = {.size = sizeof options, .engine = kernel->engine};
        opened[i].engine = kernel->engine, opened[i].way = way;
        if (way != USUAL) setenv("TILEWRIGHT_OPENCL_OPTIONS", compiler_options[way], 1);
        if (!tap.full && !tap.gpu) setenv("TILEWRIGHT_SELF_TEST", "off", 1);
        if (tw_open(&options, &opened[i].context) != TW_OK)
            snprintf(opened[i].why, sizeof opened[i].why, "no %s device: %.200s", kernel->engine, tw_error_text());
        if (way != USUAL) unsetenv("TILEWRIGHT_OPENCL_OPTIONS");
    }
    *why = opened[i].why;
    return opened[i].context;
}

/* May the kernel compute this here? If not the case is skipped, with the reason. */
static tw_context *context_or_skip(const tw_lab_kernel *kernel, const tw_problem *p)
{
    static char reason[256];
    const char *why;
    tw_lab_choice choice = {.kernel = kernel->name};
    tw_context *context = context_of(kernel, &why);
    if (context != NULL && tw_lab_fits(context, &choice, p, reason, sizeof reason) == 1) return context;
    tap_skip(context == NULL ? why : reason);
    return NULL;
}

enum { ALIGNED = 1000 }; /* a variant of shape_case from here on: whatever kernel it is */

/* Rows of A and B in multiples of 16 bytes, where TMA needs them: production kernels take any. ALIGNED: rows of C
 * too. */
static void align_rows(const tw_lab_kernel *kernel, int variant, tw_problem *p)
{
    if (variant < ALIGNED && (strncmp(kernel->needs, "sm_", 3) != 0 || kernel->production)) return;
    p->lda = (p->lda + 7) / 8 * 8, p->ldb = (p->ldb + 7) / 8 * 8;
    if (variant >= ALIGNED) p->ldc = (p->ldc + 7) / 8 * 8;
}

static bool is_complex(const tw_lab_kernel *kernel) { return element_of(kernel->dtype)->parts == 2; }

/* Pairs of ops that the kernel takes, and the i-th of them. */
static int ops_of(const tw_lab_kernel *kernel) { return is_complex(kernel) ? 16 : kernel->transposes ? 4 : 1; }
static tw_op op_a_of(const tw_lab_kernel *kernel, int i) { return (tw_op)(is_complex(kernel) ? i / 4 : i / 2); }
static tw_op op_b_of(const tw_lab_kernel *kernel, int i) { return (tw_op)(is_complex(kernel) ? i % 4 : i % 2); }

static const char op_letters[] = "ntcr"; /* in the order of tw_op */

static tw_dtype dtype_of_c(const tw_problem *p) { return p->dtype_c != 0 ? p->dtype_c : element_of(p->dtype)->result; }

/* Another type in which the kernel gives C too; 0: none. */
static tw_dtype other_c(tw_context *context, const tw_lab_choice *choice, tw_problem p, int variant)
{
    static const tw_dtype of_bytes[] = {TW_F32, TW_I8, TW_U8};
    const tw_dtype other = variant / 2 % 2 ? TW_F16 : TW_BF16;
    p.dtype_c = element_of(p.dtype)->bytes == 2 ? p.dtype
                : element_of(p.dtype)->integer  ? of_bytes[variant / 2 % 3]
                                                : other;
    return element_of(p.dtype)->result != p.dtype && tw_lab_fits(context, choice, &p, NULL, 0) == 1 ? p.dtype_c : 0;
}

/* The other type that may stand beside it, where there is one. */
static tw_dtype partner_of(tw_dtype dtype)
{
    return dtype == TW_E4M3   ? TW_E5M2
           : dtype == TW_E5M2 ? TW_E4M3
           : dtype == TW_I8   ? TW_U8
           : dtype == TW_U8   ? TW_I8
                              : 0;
}

typedef struct scalars {
    double alpha, beta, alpha_imaginary, beta_imaginary;
} scalars;
static const scalars real_scalars[] = {{1, 0, 0, 0}, {1, 1, 0, 0}, {-2, 0, 0, 0}, {2, -1, 0, 0},
                                       {0, 2, 0, 0}, {0, 0, 0, 0}, {-1, 4, 0, 0}};
static const scalars complex_scalars[] = {{1, 0, 0, 0},  {1, 1, 0, 0}, {0, 0, -2, 0}, {2, -1, -1, 3},
                                          {0, 2, 0, -1}, {0, 0, 0, 0}, {-1, 0, 0, 4}};
enum { SCALARS = sizeof real_scalars / sizeof *real_scalars };

/* The i-th of them; for f64 and cf64 in place of 2 and -1 those that float cannot hold. */
static void set_scalars(tw_problem *p, int i)
{
    const bool complex = element_of(p->dtype)->parts == 2;
    scalars x = complex ? complex_scalars[i % SCALARS] : real_scalars[i % SCALARS];
    if (x.alpha == 2 && (p->dtype == TW_F64 || p->dtype == TW_CF64))
        x = (scalars){0x1p24 + 1, 0x1p25 + 3, complex ? 0x1p24 + 3 : 0, complex ? 0x1p25 + 1 : 0};
    p->alpha = x.alpha, p->beta = x.beta, p->alpha_imaginary = x.alpha_imaginary, p->beta_imaginary = x.beta_imaginary;
}

static bool alpha_is_0(const tw_problem *p) { return p->alpha == 0 && p->alpha_imaginary == 0; }

/* Against the front guard, the back one, and of complex types, where nothing else is at an odd multiple of a part, one
 * part behind the front. */
typedef enum where { FRONT, BACK, ODD_PART } where;

static void *place(int which, size_t bytes, where at, const tw_problem *p)
{
    const size_t shift = at == ODD_PART ? (size_t)element_part(p->dtype)->bytes : 0;
    return (char *)guard_place(&arena[which], bytes + shift, at == BACK) + shift;
}

/* Run one kernel on one oracle's operands, placed at guard pages. True when it passed; else the reason is in text. */
static bool run_case(tw_context *context, const tw_lab_choice *choice, const oracle *o, where at, char text[512])
{
    const tw_problem *p = &o->problem;
    size_t a_bytes = oracle_a_bytes(o), b_bytes = oracle_b_bytes(o), c_bytes = oracle_c_bytes(o);
    void *a = place(0, a_bytes, at, p), *b = place(1, b_bytes, at, p), *c = place(2, c_bytes, at, p);
    if (a_bytes > 0) memcpy(a, o->a, a_bytes);
    if (b_bytes > 0) memcpy(b, o->b, b_bytes);
    oracle_poison(o, c);
    tw_lab_run *run;
    tw_status status = tw_lab_run_open(context, choice, p, a, b, c, &run);
    if (status == TW_OK) {
        status = tw_lab_run_once(run, NULL);
        if (status == TW_OK) status = tw_lab_run_fetch(run, c);
        tw_lab_run_close(run);
    }
    if (status != TW_OK) {
        snprintf(text, 512, "%s", tw_error_text());
        return false;
    }
    oracle_verdict verdict = oracle_judge(o, c);
    if (!verdict.passed) snprintf(text, 512, "%s", verdict.text);
    return verdict.passed;
}

/* For sanitizers: whose text the kernel is. Production kernels differ in tiles and layouts of panels, a rung's in the
 * width of an element. */
static const char *text_of(const tw_lab_kernel *kernel)
{
    static char text[80];
    snprintf(text, sizeof text, "%s %d", kernel->production ? kernel->name : kernel->rung,
             element_of(kernel->dtype)->bytes);
    return text;
}

/* Does a shape bring sanitizers a length, a depth or a pair of ops that its way did not have: of nothing, of a line, of
 * whole matrices? */
static bool brings_a_shape(const tw_lab_kernel *kernel, tw_op op_a, tw_op op_b, int64_t m, int64_t n, int64_t k)
{
    const char *text = text_of(kernel), *way = m * n * k == 0 ? "nothing" : m == 1 || n == 1 ? "line" : "matrix";
    if (m * n * k == 0) return tap_brings("%s %d%d%d", text, m == 0, n == 0, k == 0);
    return tap_brings("%s %s m %d", text, way, (int)m) | tap_brings("%s %s n %d", text, way, (int)n) |
           tap_brings("%s %s k %d", text, way, (int)k) | tap_brings("%s %s %d%d", text, way, op_a, op_b);
}

/* One shape and transpose of one kernel: both oracles, the scalars and paddings that `variant` picks, or all of
 * them. */
static void shape_case(const tw_lab_kernel *kernel, tw_op op_a, tw_op op_b, int64_t m, int64_t n, int64_t k,
                       int variant)
{
    char text[512] = "", words[160] = "";
    tw_problem p = tw_problem_make(kernel->dtype, op_a, op_b, m, n, k);
    tw_lab_choice choice = {.kernel = kernel->name};
    if (!brings_a_shape(kernel, op_a, op_b, m, n, k) ||
        !tap_case("%s %c%c %" PRId64 "x%" PRId64 "x%" PRId64, kernel->name, op_letters[op_a], op_letters[op_b], m, n,
                  k))
        return;
    align_rows(kernel, variant, &p);
    tw_context *context = context_or_skip(kernel, &p);
    if (context == NULL) return;
    bool guards = strcmp(kernel->engine, "cpu") == 0; /* a GPU's operands lie in memory of its own */
    bool passed = true;
    const tw_dtype own_c = other_c(context, &choice, p, variant);
    int64_t lda = p.lda, ldb = p.ldb, ldc = p.ldc;
    bool all = tap.full && guards; /* the whole product on the CPU; scalars and paddings in turns elsewhere */
    for (int i = 0; passed && i < (all ? SCALARS * 2 : tap.full ? 4 : 2); i++) {
        int pick = all ? i : variant * 2 + i;
        int pad = pick % 2 * (1 + variant % 3);
        p.lda = lda + pad, p.ldb = ldb + 2 * pad, p.ldc = ldc + 3 * pad;
        /* such a kernel packs what the engine does not take */
        if (!own_c || pad == 0 || variant >= ALIGNED) align_rows(kernel, variant, &p);
        if (own_c && pad == 0) p.ldc = (p.ldc + 7) / 8 * 8; /* and brings C back by the engine where that takes it */
        set_scalars(&p, pick / 2);
        if (kernel->skinny && alpha_is_0(&p)) continue; /* then k counts as 0, which these refuse */
        if (own_c) p.dtype_c = (variant + i) % 2 ? own_c : 0;
        if ((variant / 2 + i) % 2) p.dtype_b = partner_of(p.dtype);
        for (int kind = tap_spares() ? ORACLE_BOUND : ORACLE_EXACT; passed && kind <= ORACLE_BOUND; kind++) {
            oracle o;
            tw_problem q = p;
            const bool scaled = element_of(p.dtype)->integer && p.dtype_c != 0;
            if (scaled) q.alpha /= 64; /* ties, and not all beyond the ends */
            if (kind == ORACLE_BOUND && (!element_of(p.dtype)->integer || scaled) && (variant + i) % 3 != 0)
                q.alpha *= scaled ? 0.7 : 0.75, q.beta *= 0.75; /* mostly no integers, and not 1 */
            tw_status status = oracle_make(&q, (oracle_kind)kind, (uint64_t)(variant + 1), 0, &o);
            if (status != TW_OK) {
                snprintf(text, sizeof text, "the oracle failed: %s", tw_status_name(status));
                passed = false;
                break;
            }
            for (int at = 0; passed && at < 1 + guards + (guards && is_complex(kernel)); at++)
                passed = run_case(context, &choice, &o, (where)at, text);
            snprintf(words, sizeof words, "alpha %g %gi beta %g %gi pad %d C %s %s", q.alpha, p.alpha_imaginary, q.beta,
                     p.beta_imaginary, pad, tw_lab_dtype_of(dtype_of_c(&p))->name,
                     kind == ORACLE_EXACT ? "exact" : "bound");
            oracle_free(&o);
        }
    }
    tap_result(passed, "%s: %s", words, text);
}

/* Lengths that matter to a tile of `tile`: one, and around it; unless `once`, also none, two tiles and one, primes. */
static int lengths_around(int tile, bool once, int64_t out[16])
{
    const int64_t all[] = {1, tile - 1, tile, tile + 1, 0, 2 * tile + 1, 17, 61};
    int count = 0;
    for (size_t i = 0; i < (once ? 4 : sizeof all / sizeof *all); i++) {
        bool seen = all[i] < 0;
        for (int j = 0; j < count; j++) seen = seen || out[j] == all[i];
        if (!seen) out[count++] = all[i];
    }
    return count;
}

/* The edges of the tile that the shapes go around: of a CPU rung its register tile (of r09 and above the largest, that
 * of AVX-512); its cache blocks are tested by tile_cases. */
static void edges_of(const tw_lab_kernel *kernel, int *m, int *n)
{
    bool rung = strcmp(kernel->engine, "cpu") == 0 && !kernel->production, wide = strcmp(kernel->rung, "r09") > 0;
    *m = rung ? (wide ? 12 : 8) : kernel->tile_m > 0 ? kernel->tile_m : kernel->default_tile;
    *n = rung ? (wide ? 32 : 8) : kernel->tile_n > 0 ? kernel->tile_n : kernel->default_tile;
}

static void shape_cases(const tw_lab_kernel *kernel)
{
    int64_t ms[16], ns[16], ks[16];
    int m_edge, n_edge;
    edges_of(kernel, &m_edge, &n_edge);
    const bool once = takes_long(kernel) && kernel->production && has_smaller_tile(kernel);
    int m_count = lengths_around(m_edge, once, ms), n_count = lengths_around(n_edge, once, ns);
    int k_count = lengths_around(kernel->tile_k > 8 && !kernel->production ? 16 : 8, false, ks);
    if (kernel->tile_k > 1) { /* a second panel of k */
        ks[k_count++] = kernel->tile_k + 1;
        if (once) ks[k_count - 1] = ks[0], ks[0] = kernel->tile_k + 1; /* of few shapes, too */
    }
    if (kernel->skinny) k_count = 2, ks[0] = 16, ks[1] = 32;
    for (int i = 0, variant = 0; i < m_count; i++)
        for (int j = 0; j < n_count; j++)
            for (int q = 0; q < k_count; q++)
                for (int op = 0; op < ops_of(kernel); op++, variant++) {
                    /* The covering set: each m with each n, k and the transposes going round; of a GPU's rungs nn and
                     * tt, since each of them is compiled anew (nt and tn: tile_cases, r14, and the text of all in
                     * test_access). The full one: all of them, on a GPU's engine with k still going round. */
                    bool cpu = strcmp(kernel->engine, "cpu") == 0;
                    int round = only_op(kernel) >= 0        ? only_op(kernel)
                                : is_complex(kernel)        ? (i + 4 * j + q) % 16
                                : cpu || kernel->production ? (i + 2 * j + q) % 4
                                                            : 3 * ((i / 2 + j) % 2);
                    bool this_k = q == (i + j) % k_count, this_op = !kernel->transposes || op == round;
                    if ((this_k || (tap.full && cpu)) && (this_op || tap.full))
                        shape_case(kernel, op_a_of(kernel, op), op_b_of(kernel, op), ms[i], ns[j], ks[q], variant);
                }
}

/* More blocks of k than a ring of stages has, twice; and more tiles than a GPU has multiprocessors (132), so that a
 * block takes a second one. */
static void ring_cases(const tw_lab_kernel *kernel)
{
    if (strncmp(kernel->needs, "sm_90", 5) != 0 || !kernel->production) return;
    for (int op = 0; op < 4; op++)
        shape_case(kernel, (tw_op)(op / 2), (tw_op)(op % 2), kernel->tile_m + 1, kernel->tile_n + 8,
                   19 * kernel->tile_k + 8, 2 * op);
    /* and where blocks divide k, for each of the most that do (128) */
    if (kernel->dtype == TW_F64)
        for (int op = 0; op < 4; op++)
            shape_case(kernel, (tw_op)(op / 2), (tw_op)(op % 2), 31, 29, 128 * 19 * kernel->tile_k + 8, 2 * op);
    shape_case(kernel, TW_N, TW_N, 12 * kernel->tile_m - 3, 12 * kernel->tile_n + 8, 3 * kernel->tile_k + 8, 0);
    shape_case(kernel, TW_T, TW_T, 12 * kernel->tile_m - 3, 12 * kernel->tile_n + 5, 3 * kernel->tile_k + 5, 1);
}

/* All rows at 16 bytes, tiles that C cuts: by multiples of 4, one piece of 16 bytes and several, and by others; a step
 * of k for a warp, which k cuts for one; and where a row divides k many steps for each, of parts that meet in a cluster
 * or by memory. A copy of too much shows under compute-sanitizer alone. */
static void edge_cases(const tw_lab_kernel *kernel)
{
    if (!kernel->production || strncmp(kernel->needs, "sm_", 3) != 0) return;
    for (int op = 0; op < 4; op++)
        for (int by = 3; by <= 12; by += by == 3 ? 1 : 8)
            shape_case(kernel, (tw_op)(op / 2), (tw_op)(op % 2), kernel->tile_m + by, kernel->tile_n + by,
                       3 * kernel->tile_k + by, ALIGNED + by);
    if (kernel->dtype != TW_F32 || kernel->tile_m > 64) return;
    shape_case(kernel, TW_N, TW_N, kernel->tile_m + 12, kernel->tile_n + 12, 131 * kernel->tile_k + 4, ALIGNED);
    shape_case(kernel, TW_T, TW_N, kernel->tile_m + 12, kernel->tile_n + 12, 259 * kernel->tile_k + 4, ALIGNED + 1);
    shape_case(kernel, TW_N, TW_T, kernel->tile_m + 12, kernel->tile_n + 12, 259 * kernel->tile_k + 4, ALIGNED + 2);
    shape_case(kernel, TW_T, TW_T, 11 * kernel->tile_m + 4, 11 * kernel->tile_n + 4, 131 * kernel->tile_k + 8,
               ALIGNED + 3);
}

/* Every remainder of the register tile up to twice its size, at the guard pages. */
static void remainder_cases(const tw_lab_kernel *kernel)
{
    int m_edge, n_edge;
    edges_of(kernel, &m_edge, &n_edge);
    if (strcmp(kernel->engine, "cpu") != 0 || tap_spares()) return; /* others have no guard pages */
    for (int64_t m = 1; m <= 2 * m_edge; m++)
        for (int64_t n = 1; n <= 2 * n_edge; n++)
            if (tap.full || m == 1 + n % (2 * m_edge)) shape_case(kernel, TW_N, TW_N, m, n, 3, (int)(m + n));
}

static void set_element(void *data, tw_dtype dtype, int64_t i, double value)
{
    element_of(dtype)->store(data, i, 1, &value);
}

static double get_element(const void *data, tw_dtype dtype, int64_t i)
{
    double value;
    element_of(dtype)->load(data, i, 1, 1, &value, 1);
    return value;
}

static bool same_class(double found, double expected)
{
    if (isnan(expected)) return isnan(found);
    if (isinf(expected)) return found == expected;
    return isfinite(found);
}

static bool run_plainly(tw_context *context, const tw_lab_choice *choice, const tw_problem *p, const void *a,
                        const void *b, void *c)
{
    tw_lab_run *run = NULL;
    bool passed = tw_lab_run_open(context, choice, p, a, b, c, &run) == TW_OK && tw_lab_run_once(run, NULL) == TW_OK &&
                  tw_lab_run_fetch(run, c) == TW_OK;
    tw_lab_run_close(run);
    return passed;
}

/* A NaN, an infinity or a number whose products overflow in one part of A, B or C, with all ops and kinds of scalars:
 * every element of C, through whole and edge tiles, is one that IEEE 754 allows. */
static void complex_special_case(const tw_lab_kernel *kernel, const char *what, double special)
{
    const int m = kernel->tile_m + 1, n = kernel->tile_n + 2, k = 12, count = 16 * SCALARS;
    tw_lab_choice choice = {.kernel = kernel->name};
    tw_problem p = tw_problem_make(kernel->dtype, TW_N, TW_N, m, n, k);
    char text[512] = "";
    if (!tap_case("%s special %s", kernel->name, what)) return;
    tw_context *context = context_or_skip(kernel, &p);
    if (context == NULL) return;
    const element *e = element_part(kernel->dtype);
    bool passed = true;
    for (int x = 0; passed && x < count; x += tap.full ? 1 : 3) {
        oracle o;
        verify_report report;
        p = tw_problem_make(kernel->dtype, op_a_of(kernel, x % 16), op_b_of(kernel, x % 16), m, n, k);
        set_scalars(&p, x / 16);
        passed = oracle_make(&p, ORACLE_BOUND, (uint64_t)x, 0, &o) == TW_OK;
        if (!passed) break;
        void *const operands[] = {o.a, o.b, o.c0};
        const size_t bytes[] = {oracle_a_bytes(&o), oracle_b_bytes(&o), oracle_c_bytes(&o)};
        const int into = x % 3;
        e->store(operands[into], (int64_t)bytes[into] / e->bytes / 2 + x % 2, 1, &special);
        void *c = malloc(bytes[2]);
        oracle_poison(&o, c);
        passed = run_plainly(context, &choice, &p, o.a, o.b, c) &&
                 verify_product(&p, o.a, o.b, o.c0, c, NULL, &report) == TW_OK;
        if (passed && !report.passed) passed = false, snprintf(text, sizeof text, "%d: %.490s", x, report.text);
        free(c);
        oracle_free(&o);
    }
    tap_result(passed, "%s", text[0] != '\0' ? text : tw_error_text());
}

/* NaN, infinities and denormals in the operands reach exactly the elements that IEEE 754 says, through whole and edge
 * tiles. */
static void special_case(const tw_lab_kernel *kernel, const char *what, double in_a, double in_b, double in_c)
{
    enum { M = 19, N = 56, MOST_K = 72 };
    const int K = kernel->skinny ? 32 : MOST_K;
    static const double normal = 0.5;
    tw_lab_choice choice = {.kernel = kernel->name};
    tw_problem p = tw_problem_make(kernel->dtype, TW_N, TW_N, M, N, K);
    p.beta = 2;
    if (!tap_case("%s special %s", kernel->name, what)) return;
    tw_context *context = context_or_skip(kernel, &p);
    if (context == NULL) return;
    double a[M * MOST_K], b[MOST_K * N], c[M * N], expected[M * N];
    for (int i = 0; i < M * K; i++) set_element(a, p.dtype, i, i == 5 * K + K - 4 ? in_a : normal);
    for (int i = 0; i < K * N; i++) set_element(b, p.dtype, i, i == 3 * N + 51 ? in_b : normal);
    for (int i = 0; i < M * N; i++) set_element(c, dtype_of_c(&p), i, i == 18 * N + 2 ? in_c : normal);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            double sum = 0;
            for (int q = 0; q < K; q++) sum += get_element(a, p.dtype, i * K + q) * get_element(b, p.dtype, q * N + j);
            expected[i * N + j] = sum + p.beta * get_element(c, dtype_of_c(&p), i * N + j);
        }
    bool passed = run_plainly(context, &choice, &p, a, b, c);
    int wrong = -1;
    for (int i = 0; passed && wrong < 0 && i < M * N; i++)
        if (!same_class(get_element(c, dtype_of_c(&p), i), expected[i])) wrong = i;
    tap_result(passed && wrong < 0, "C[%d, %d] is %g, expected the class of %g", wrong / N, wrong % N,
               wrong < 0 ? 0 : get_element(c, dtype_of_c(&p), wrong), wrong < 0 ? 0 : expected[wrong]);
}

/* A product of denormals with 1 must come through: nothing flushes to zero, but in rows that say so. */
/* Operands of tf32 are rounded to nearest even, whatever route they take. */
static void rounding_case(const tw_lab_kernel *kernel)
{
    enum { N = 24 };
    static const struct {
        uint32_t bits, rounded;
    } values[] = {{0x3f800fff, 0x3f800000}, {0x3f801000, 0x3f800000}, {0x3f801001, 0x3f802000},
                  {0x3f803000, 0x3f804000}, {0xbf801000, 0xbf800000}, {0x3fffffff, 0x40000000},
                  {0x3f802fff, 0x3f802000}, {0x00000000, 0x00000000}};
    enum { VALUES = sizeof values / sizeof *values };
    if (kernel->dtype != TW_TF32 || !tap_case("%s rounds to nearest", kernel->name)) return;
    tw_problem p = tw_problem_make(TW_TF32, TW_N, TW_N, N, N, N);
    tw_context *context = context_or_skip(kernel, &p);
    if (context == NULL) return;
    tw_lab_choice choice = {.kernel = kernel->name};
    static uint32_t a[N * N], b[N * N], c[N * N];
    char text[200] = "";
    for (int i = 0; i < N * N; i++) {
        a[i] = i % N == i / N ? values[i % N % VALUES].bits : 0;
        b[i] = i % N == i / N ? 0x3f800000 : 0;
    }
    bool passed = true;
    for (int turn = 0; passed && turn < 2; turn++) { /* in A, then in B */
        passed = run_plainly(context, &choice, &p, turn == 0 ? a : b, turn == 0 ? b : a, c);
        if (!passed) snprintf(text, sizeof text, "%s", tw_error_text());
        for (int i = 0; passed && i < N; i++) {
            passed = c[i * N + i] == values[i % VALUES].rounded;
            if (!passed)
                snprintf(text, sizeof text, "%08x becomes %08x, expected %08x", (unsigned)values[i % VALUES].bits,
                         (unsigned)c[i * N + i], (unsigned)values[i % VALUES].rounded);
        }
    }
    tap_result(passed, "%s", text);
}

static void denormal_case(const tw_lab_kernel *kernel)
{
    enum { N = 32 };
    const tw_dtype part = element_of(kernel->dtype)->part;
    const int parts = element_of(kernel->dtype)->parts;
    double tiny = element_of(kernel->dtype)->smallest * 3;
    tw_lab_choice choice = {.kernel = kernel->name};
    tw_problem p = tw_problem_make(kernel->dtype, TW_N, TW_N, N, N, N);
    if (!tap_case("%s special denormals", kernel->name)) return;
    tw_context *context = context_or_skip(kernel, &p);
    if (context == NULL) return;
    double a[2 * N * N], b[2 * N * N], c[2 * N * N];
    for (int i = 0; i < parts * N * N; i++) {
        set_element(a, part, i, i % (parts * (N + 1)) == 0); /* the identity */
        set_element(b, part, i, i % 3 ? tiny : -tiny);
    }
    bool passed = run_plainly(context, &choice, &p, a, b, c);
    const tw_dtype of_c = element_of(dtype_of_c(&p))->part;
    for (int i = 0; passed && i < parts * N * N; i++)
        passed = get_element(c, of_c, i) == (kernel->flushes ? 0 : get_element(b, part, i));
    tap_result(passed, "I x B is not %s for denormal B", kernel->flushes ? "0" : "B");
}

static int64_t byte_value(tw_dtype dtype, uint8_t byte) { return dtype == TW_U8 ? byte : (int8_t)byte; }

/* The longest sums of bytes that int32 does not hold wrap around, and so do alpha and beta: nothing saturates, no pair
 * of products either. Of the extremes of both types, with B of either. Where k is divided, as on OpenCL, only the sum
 * of the parts is that long. */
static void wrap_case(const tw_lab_kernel *kernel)
{
    enum { M = 3, N = 5, K = (1 << 17) + 3 };
    static const uint8_t extremes[][2] = {{0x80, 0x80}, {0xff, 0x80}, {0xff, 0x7f},
                                          {0x7f, 0xff}, {0x80, 0xff}, {0xff, 0xff}};
    enum { EXTREMES = sizeof extremes / sizeof *extremes };
    tw_lab_choice choice = {.kernel = kernel->name};
    /* elsewhere such a k takes its time: the extremes that need the least */
    const bool all = strcmp(kernel->engine, "cpu") == 0 || tap.full || tap.gpu, is_u8 = kernel->dtype == TW_U8;
    const int begin = all || !is_u8 ? 0 : 2 * EXTREMES - 2, end = all ? 2 * EXTREMES : begin + 1,
              k = all || !is_u8 ? K : K / 3;
    tw_problem p = tw_problem_make(kernel->dtype, TW_N, TW_N, M, N, k);
    char text[200] = "";
    p.alpha = 3, p.beta = -2147483647;
    if (tap_spares() || (!all && has_smaller_tile(kernel)) || !tap_case("%s wraps around", kernel->name)) return;
    tw_context *context = context_or_skip(kernel, &p);
    if (context == NULL) return;
    uint8_t *a = malloc(M * K), *b = malloc(K * N);
    int32_t c[M * N];
    for (int x = begin; text[0] == '\0' && x < end; x++) {
        const uint8_t *bytes = extremes[x / 2];
        p.dtype_b = x % 2 ? partner_of(p.dtype) : p.dtype;
        const int64_t product = byte_value(p.dtype, bytes[0]) * byte_value(p.dtype_b, bytes[1]);
        memset(a, bytes[0], M * K), memset(b, bytes[1], K * N);
        for (int i = 0; i < M * N; i++) c[i] = INT32_MIN + i;
        if (!run_plainly(context, &choice, &p, a, b, c)) snprintf(text, sizeof text, "%.190s", tw_error_text());
        for (int i = 0; text[0] == '\0' && i < M * N; i++) {
            const uint32_t expected = 3 * (uint32_t)(k * product) + 2147483649U * ((uint32_t)INT32_MIN + (uint32_t)i);
            if ((uint32_t)c[i] != expected)
                snprintf(text, sizeof text, "%02x by %02x of %s: C[%d, %d] is not the product modulo 2^32", bytes[0],
                         bytes[1], tw_lab_dtype_of(p.dtype_b)->name, i / N, i % N);
        }
    }
    tap_result(text[0] == '\0', "%s", text);
    free(a), free(b);
}

/* The i-th of the numbers at the ends of a type of integers, and what it is where it is read: `bytes` bytes of it. */
static uint64_t set_extreme(void *data, int64_t i, int bytes)
{
    const uint64_t least = UINT64_C(1) << (8 * bytes - 1), all[] = {least, UINT64_MAX, least - 1, 1, least + 1};
    const uint64_t value = all[i % 5];
    memcpy((char *)data + i * bytes, &value, (size_t)bytes); /* of processors whose first byte is the lowest */
    return value;
}

/* Products and sums of the ends of their type, also as scalars, are those of NumPy: modulo 2^n, INT_MIN times -1 too.
 * Against plain loops, in whole and edge tiles, one row and one column, with all ops. */
static void extremes_case(const tw_lab_kernel *kernel)
{
    enum { K = 11, MOST = 140 };
    const int bytes = element_of(kernel->dtype)->bytes;
    const double ends[] = {bytes == 8 ? 1 - 0x1p53 : INT32_MIN, bytes == 8 ? 0x1p53 - 1 : INT32_MAX, -1, 3};
    const uint64_t mask = UINT64_MAX >> (64 - 8 * bytes);
    static uint64_t a[MOST * K], b[K * MOST], c[MOST * MOST], a_values[MOST * K], b_values[K * MOST],
        c_values[MOST * MOST];
    tw_lab_choice choice = {.kernel = kernel->name};
    char text[200] = "";
    if (tap_spares() || !tap_case("%s ends of its range", kernel->name)) return;
    for (int x = 0; text[0] == '\0' && x < 4 * 4; x++) {
        const int m = x / 4 == 2 ? 1 : kernel->tile_m * 2 + 1, n = x / 4 == 3 ? 1 : kernel->tile_n + 3;
        tw_problem p = tw_problem_make(kernel->dtype, (tw_op)(x / 2 % 2), (tw_op)(x % 2), m, n, K);
        p.alpha = ends[x % 4], p.beta = ends[(x + x / 4) % 4];
        tw_context *context = context_or_skip(kernel, &p);
        if (context == NULL) return;
        for (int i = 0; i < m * K; i++) a_values[i] = set_extreme(a, i, bytes);
        for (int i = 0; i < K * n; i++) b_values[i] = set_extreme(b, i, bytes);
        for (int i = 0; i < m * n; i++) c_values[i] = set_extreme(c, i, bytes);
        if (!run_plainly(context, &choice, &p, a, b, c)) snprintf(text, sizeof text, "%.190s", tw_error_text());
        for (int i = 0; text[0] == '\0' && i < m * n; i++) {
            const int row = i / n, column = i % n;
            uint64_t sum = 0, found = 0;
            for (int q = 0; q < K; q++)
                sum += a_values[p.op_a == TW_N ? row * K + q : q * m + row] *
                       b_values[p.op_b == TW_N ? q * n + column : column * K + q];
            sum = (uint64_t)(int64_t)p.alpha * sum + (uint64_t)(int64_t)p.beta * c_values[i];
            memcpy(&found, (char *)c + i * bytes, (size_t)bytes);
            if (found != (sum & mask))
                snprintf(text, sizeof text, "%c%c alpha %g beta %g: C[%d, %d] is not the product modulo 2^%d",
                         op_letters[p.op_a], op_letters[p.op_b], p.alpha, p.beta, row, column, 8 * bytes);
        }
    }
    tap_result(text[0] == '\0', "%s", text);
}

/* Sums on sm_90's matrix units are those that docs/ACCURACY.md derives the bound from: 1 and then, in the same step of
 * 16 or the next, what rounding to nearest would see. Each row of A against its own column of B. */
static void edge_case(const tw_lab_kernel *kernel)
{
    enum { N = 8, K = 32 };
    static const struct {
        int first, count;
        double a, b, expected;
        const char *what;
    } sums[] = {{16, 1, 0x1.8p-12, 0x1p-12, 1, "1 + 1.5 2^-24, a step later"},
                {16, 1, -0x1p-13, 0x1p-12, 1 - 0x1p-24, "1 - 2^-25, a step later"},
                {1, 8, 0x1p-13, 0x1p-13, 1, "1 + 8 2^-26 in a step"},
                {1, 4, 0x1p-13, 0x1p-12, 1 + 0x1p-23, "1 + 4 2^-25 in a step"},
                {1, 1, -0x1p-13, 0x1p-12, 1 - 0x1p-24, "1 - 2^-25 in a step"}};
    enum { SUMS = sizeof sums / sizeof *sums };
    tw_lab_choice choice = {.kernel = kernel->name};
    tw_problem p = tw_problem_make(kernel->dtype, TW_N, TW_N, SUMS, N, K);
    float c[SUMS * N];
    uint16_t a[SUMS * K] = {0}, b[K * N] = {0};
    if (strncmp(kernel->needs, "sm_90", 5) != 0 || element_of(kernel->dtype)->bytes != 2 ||
        !tap_case("%s cuts off", kernel->name))
        return;
    tw_context *context = context_or_skip(kernel, &p);
    if (context == NULL) return;
    for (int i = 0; i < SUMS; i++) {
        set_element(a, p.dtype, i * K, 1), set_element(b, p.dtype, i, 1);
        for (int q = sums[i].first; q < sums[i].first + sums[i].count; q++)
            set_element(a, p.dtype, i * K + q, sums[i].a), set_element(b, p.dtype, q * N + i, sums[i].b);
    }
    bool ran = run_plainly(context, &choice, &p, a, b, c);
    int wrong = -1;
    for (int i = 0; ran && i < SUMS; i++)
        if ((double)c[i * N + i] != sums[i].expected) wrong = i;
    tap_result(ran && wrong < 0, "%s: %a, expected %a", wrong < 0 ? tw_error_text() : sums[wrong].what,
               wrong < 0 ? 0 : (double)c[wrong * N + wrong], wrong < 0 ? 0 : sums[wrong].expected);
}

/* Of fp8 the matrix unit of sm_90 cuts a product off 13 bits below the largest of a step, and a part of 128 is added in
 * f32: 1, then 2^-q eight steps of k behind it, or in the next part. */
static void part_case(const tw_lab_kernel *kernel)
{
    enum { N = 16, K = 256 };
    static const struct {
        int at, size; /* 2^-size at that k */
        double expected;
    } sums[] = {
        {8, 12, 1 + 0x1p-12},   {8, 13, 1 + 0x1p-13},  {8, 14, 1}, {8, 15, 1}, {127, 13, 1 + 0x1p-13}, {127, 14, 1},
        {128, 14, 1 + 0x1p-14}, {255, 18, 1 + 0x1p-18}};
    enum { SUMS = sizeof sums / sizeof *sums };
    static uint8_t a[N * K], b[K * N];
    static float c[N * N];
    tw_problem p = tw_problem_make(kernel->dtype, TW_N, TW_N, N, N, K);
    tw_lab_choice choice = {.kernel = kernel->name};
    if (strncmp(kernel->needs, "sm_90", 5) != 0 || element_of(kernel->dtype)->part_k == 0 ||
        !tap_case("%s cuts off", kernel->name))
        return;
    tw_context *context = context_or_skip(kernel, &p);
    if (context == NULL) return;
    memset(a, 0, sizeof a), memset(b, 0, sizeof b);
    for (int i = 0; i < SUMS; i++) {
        set_element(a, p.dtype, i * K, 1), set_element(b, p.dtype, i, 1);
        set_element(a, p.dtype, i * K + sums[i].at, ldexp(1, -sums[i].size / 2));
        set_element(b, p.dtype, sums[i].at * N + i, ldexp(1, -(sums[i].size + 1) / 2));
    }
    bool ran = run_plainly(context, &choice, &p, a, b, c);
    int wrong = -1;
    for (int i = 0; ran && i < SUMS; i++)
        if ((double)c[i * N + i] != sums[i].expected) {
            printf("# 1 + 2^-%d at %d: 1 + %a\n", sums[i].size, sums[i].at, (double)c[i * N + i] - 1);
            wrong = i;
        }
    tap_result(ran && wrong < 0, "%s: %a, expected %a", wrong < 0 ? tw_error_text() : "a sum",
               wrong < 0 ? 0 : (double)c[wrong * N + wrong], wrong < 0 ? 0 : sums[wrong].expected);
}

static void special_cases(const tw_lab_kernel *kernel)
{
    rounding_case(kernel);
    part_case(kernel);
    if (is_complex(kernel)) {
        complex_special_case(kernel, "nan", (double)NAN);
        complex_special_case(kernel, "infinity", (double)INFINITY);
        complex_special_case(kernel, "-infinity", -(double)INFINITY);
        complex_special_case(kernel, "the largest", element_of(kernel->dtype)->largest);
        denormal_case(kernel);
        return;
    }
    special_case(kernel, "nan in a", NAN, 0.5, 0.5);
    special_case(kernel, "nan in b", 0.5, NAN, 0.5);
    special_case(kernel, "nan in c", 0.5, 0.5, NAN);
    special_case(kernel, "inf in a", INFINITY, 0.5, 0.5);
    special_case(kernel, "-inf in b", 0.5, -INFINITY, 0.5);
    special_case(kernel, "inf against inf", INFINITY, -INFINITY, 0.5);
    special_case(kernel, "zero against inf", INFINITY, 0, -INFINITY);
    denormal_case(kernel);
    edge_case(kernel);
}

/* The operands and the reference of a product of threads_case, made once for all kernels of the CPU that compute it: a
 * reference takes longer than most of the products that it judges. NULL: it failed. */
static const oracle *shared_oracle(const tw_problem *p, double max_work)
{
    enum { MOST = 33 }; /* three shapes, eleven types */
    static oracle made[MOST];
    static int count;
    for (int i = 0; i < MOST; i++)
        if (memcmp(&made[i].problem, p, sizeof *p) == 0) return &made[i];
    oracle *o = &made[count++ % MOST];
    oracle_free(o);
    if (oracle_make(p, ORACLE_BOUND, 7, max_work, o) == TW_OK) return o;
    o->problem = (tw_problem){0}; /* nobody finds it */
    return NULL;
}

/* Does the covering set take this number of threads beside 1? Sanitizers see with 3 what they see with 7. */
static bool is_covering(int threads) { return threads == 3 || (!tap_spares() && (threads == 2 || threads == 7)); }

/* The bits of C are the same for any number of threads, and from run to run; blocks that can be chosen are small, so
 * that there are many to share. */
static void threads_case(const tw_lab_kernel *kernel, int64_t m, int64_t n, int64_t k)
{
    char text[512] = "";
    const bool complex = is_complex(kernel);
    const int op = only_op(kernel);
    const tw_op op_a = op >= 0 ? op_a_of(kernel, op) : TW_N, op_b = op >= 0   ? op_b_of(kernel, op)
                                                                    : complex ? TW_C
                                                                              : TW_T;
    tw_problem p = tw_problem_make(kernel->dtype, op_a, op_b, m, n, k);
    tw_lab_choice choice = {
        .kernel = kernel->name, .tile = kernel->default_tile > 0 && !kernel->deep ? 33 : 0, .threads = 1};
    p.beta = element_of(kernel->dtype)->integer ? 2 : 0.5;
    if (complex) p.alpha_imaginary = -0.75, p.beta_imaginary = 0.25;
    if (!tap_case("%s threads %" PRId64 "x%" PRId64 "x%" PRId64, kernel->name, m, n, k)) return;
    tw_context *context = context_or_skip(kernel, &p);
    if (context == NULL) return;
    const bool cpu = strcmp(kernel->engine, "cpu") == 0;
    const double max_work = complex ? 2e7 : 0;
    oracle own = {0};
    const oracle *o = cpu                                                         ? shared_oracle(&p, max_work)
                      : oracle_make(&p, ORACLE_BOUND, 7, max_work, &own) == TW_OK ? &own
                                                                                  : NULL;
    if (o == NULL) {
        tap_result(false, "the oracle failed");
        return;
    }
    void *first = malloc(oracle_c_bytes(o));
    bool passed = run_case(context, &choice, o, BACK, text);
    memcpy(first, guard_place(&arena[2], oracle_c_bytes(o), true), oracle_c_bytes(o));
    for (choice.threads = 2; passed && choice.threads <= 7; choice.threads++) {
        const bool covers = !cpu                                      ? choice.threads == 2 /* from run to run */
                            : (double)m * (double)n * (double)k > 1e8 ? choice.threads == 3
                                                                      : is_covering(choice.threads);
        if (!tap.full && !tap.gpu && !covers) continue;
        passed = run_case(context, &choice, o, BACK, text);
        if (!passed || memcmp(first, guard_place(&arena[2], oracle_c_bytes(o), true), oracle_c_bytes(o)) == 0) continue;
        snprintf(text, sizeof text, "the bits differ between 1 and %d threads", choice.threads);
        passed = false;
    }
    tap_result(passed, "%s", text);
    free(first);
    oracle_free(&own);
}

/* Tile edges of the rungs that let theirs be chosen. */
static void tile_cases(const tw_lab_kernel *kernel)
{
    static const int cpu_edges[] = {1, 2, 3, 7, 16, 33, 100, 1000}, gpu_edges[] = {8, 16, 32};
    bool cpu = strcmp(kernel->engine, "cpu") == 0;
    const int *edges = cpu ? cpu_edges : gpu_edges;
    char text[512] = "";
    if (kernel->default_tile == 0 || kernel->skinny) return;
    for (int x = 0; x < (cpu ? 8 * 4 : 3); x++) {
        const int i = cpu ? x / 4 : x;
        if (!tap_brings("%s edge %d", text_of(kernel), edges[i])) continue;
        tw_lab_choice choice = {.kernel = kernel->name, .tile = edges[i]};
        /* of a GPU tn, tt, nt */
        tw_op op_a = cpu              ? (tw_op)(x / 2 % 2)
                     : edges[i] == 32 ? TW_N
                                      : TW_T,
              op_b = cpu             ? (tw_op)(x % 2)
                     : edges[i] != 8 ? TW_T
                                     : TW_N;
        tw_problem p = tw_problem_make(kernel->dtype, op_a, op_b, 37, 45, 101);
        if (cpu) p.lda += x % 3, p.ldb += x % 2, p.ldc += x % 5, p.beta = x % 3;
        if (cpu && kernel->dtype == TW_F64) p.alpha = 0x1p24 + 1, p.beta *= 0x1p25 + 3; /* which float cannot hold */
        if (!tap_case("%s %c%c tile %d", kernel->name, "nt"[op_a], "nt"[op_b], edges[i])) continue;
        tw_context *context = context_or_skip(kernel, &p);
        if (context == NULL) continue;
        oracle o;
        bool passed = oracle_make(&p, ORACLE_EXACT, 3, 0, &o) == TW_OK;
        if (passed) {
            passed = run_case(context, &choice, &o, BACK, text);
            oracle_free(&o);
        }
        tap_result(passed, "%s", text);
    }
}

/* A last step of k before a power of two: before 1,024, where that takes long in the smallest tile of a text alone and
 * only in tiles of up to 32 x 32. Larger ones compute all of their tile for these 9 x 7 elements. */
static void last_step_cases(const tw_lab_kernel *kernel)
{
    enum { FEW = 32 * 32 };
    if (kernel->skinny) return;
    const bool is_large = has_smaller_tile(kernel) || kernel->tile_m * kernel->tile_n > FEW;
    const int64_t k = takes_long(kernel) && is_large ? 255 : 1023;
    const int only = only_op(kernel), step = only >= 0                                                  ? 16
                                             : !kernel->transposes                                      ? 4
                                             : strcmp(kernel->engine, "cpu") != 0 || is_complex(kernel) ? 3
                                                                                                        : 1;
    for (int op = only >= 0 ? only : 0; op < (is_complex(kernel) ? 16 : 4); op += step)
        shape_case(kernel, op_a_of(kernel, op), op_b_of(kernel, op), 9, 7, k, 2 * op);
}

/* k at powers of two and one beside, up to 4,097, and around one, two and three panels of the row. */
static int depths_of(const tw_lab_kernel *kernel, int64_t out[64])
{
    int count = 0;
    for (int64_t power = 16; power <= 4096; power *= 2)
        for (int64_t k = power - 1; k <= power + 1; k++) out[count++] = k;
    for (int64_t panels = 1; panels <= 3; panels++)
        for (int64_t k = panels * kernel->tile_k - 1; k <= panels * kernel->tile_k + 1; k++) out[count++] = k;
    return count;
}

/* The op-th pair of ops, with rows as long as they ask for, and imaginary scalars. */
static void set_complex(tw_problem *p, int op, bool adds, bool f64)
{
    const tw_problem made = tw_problem_make(p->dtype, (tw_op)(op / 4), (tw_op)(op % 4), p->m, p->n, p->k);
    p->op_a = made.op_a, p->op_b = made.op_b, p->lda = made.lda + op % 3, p->ldb = made.ldb + op % 2;
    p->alpha_imaginary = f64 ? 0x1p24 + 3 : 1, p->beta_imaginary = !adds ? 0 : f64 ? 0x1p25 + 1 : -2;
}

/* Products that use every step of k, judged exactly: one row and column beyond the register tile, few rows, one row,
 * one column. f64 takes scalars that float cannot hold. Complex types take all ops in turn, k by k. */
static void depth_cases(const tw_lab_kernel *kernel)
{
    const int64_t shapes[][2] = {{kernel->tile_m + 1, kernel->tile_n + 1},
                                 {2, 3 * kernel->tile_n + 5},
                                 {1, kernel->tile_n + 3},
                                 {2 * kernel->tile_m + 3, 1},
                                 {3, 1}};
    const bool f64 = kernel->dtype == TW_F64 || kernel->dtype == TW_CF64, complex = is_complex(kernel);
    char text[256] = "";
    int64_t depths[64];
    const int count = depths_of(kernel, depths);
    if (!kernel->production || strcmp(kernel->engine, "cpu") != 0) return;
    for (int x = 0; x < 5 * 4; x++) {
        const int64_t m = shapes[x / 4][0], n = shapes[x / 4][1];
        const char *ops[] = {"nn", "nt", "tn", "tt"}, *turns[] = {"from nn", "from tn", "from cn", "from rn"};
        if ((complex && !tap.full && x % 4 != x / 4 % 4) || !tap_brings("%s depths %d", kernel->name, x / 4) ||
            !tap_case("%s %s %" PRId64 "x%" PRId64 ", every k that matters", kernel->name,
                      complex ? turns[x % 4] : ops[x % 4], m, n))
            continue;
        tw_problem p = tw_problem_make(kernel->dtype, (tw_op)(x / 2 % 2), (tw_op)(x % 2), m, n, 1);
        tw_context *context = context_or_skip(kernel, &p);
        if (context == NULL) continue;
        bool passed = true;
        for (int i = 0; passed && i < count; i += tap_rounds(1, 5)) {
            const bool adds = i % 2 != x % 2; /* else a transposed C is one of the ways */
            integers o;
            p = tw_problem_make(kernel->dtype, p.op_a, p.op_b, m, n, depths[i]);
            p.lda += i % 3, p.ldb += i % 3, p.ldc += i % 2;
            p.alpha = f64 ? 0x1p24 + 1 : -2, p.beta = !adds ? 0 : f64 ? 0x1p25 + 3 : 3;
            if (complex) set_complex(&p, (4 * x + i) % 16, adds, f64);
            passed = integers_make(&p, NULL, (uint64_t)i, &o) == TW_OK;
            if (!passed) break;
            passed = run_plainly(context, &(tw_lab_choice){.kernel = kernel->name, .threads = 1 + i % 2}, &p, o.a, o.b,
                                 o.c) &&
                     integers_judge(&o, text, sizeof text);
            integers_free(&o);
        }
        tap_result(passed, "k %" PRId64 ": %s", p.k, text[0] != '\0' ? text : tw_error_text());
    }
}

/* Whole groups and cut ones, whole and cut reads of k, k in parts; each transposes, as the matrix lies both ways. */
static void gemv_cases(const tw_lab_kernel *kernel)
{
    static const int64_t edges[] = {128, 261, 2}, depths[] = {64, 5003, 301};
    for (int i = 0; i < 3; i++)
        for (int op = 0; op < 4; op++)
            if (tap.full || tap.gpu || op == 3 * (kernel->tile_m == 1) || kernel->dtype == TW_F32)
                shape_case(kernel, (tw_op)(op / 2), (tw_op)(op % 2), kernel->tile_m == 1 ? 1 : edges[i],
                           kernel->tile_n == 1 ? 1 : edges[i], depths[i], (i + op) % 4);
}

/* Else a probe that fails would only leave kernels out. */
static void probe_case(void)
{
    const tw_lab_choice choice = {.kernel = "opencl_bf16_gemm_mma_sm80_64x64"};
    const tw_problem p = tw_problem_make(TW_BF16, TW_N, TW_N, 64, 64, 64);
    const char *why;
    char reason[256] = "";
    if (!tap_case("the probe of sm_80 is right where its instructions are emulated")) return;
    tw_context *context = context_of(tw_lab_kernel_named(choice.kernel), &why);
    if (context == NULL)
        tap_skip(why);
    else
        tap_result(tw_lab_fits(context, &choice, &p, reason, sizeof reason) == 1, "%s", reason);
}

/* What multiply-adds reach is no bound for matrix units. */
static void peak_case(void)
{
    static const struct {
        tw_dtype dtype;
        tw_status status;
    } expected[] = {{TW_F32, TW_OK}, {TW_F64, TW_NO_KERNEL}, {TW_BF16, TW_NO_KERNEL}, {TW_F16, TW_NO_KERNEL}};
    const char *why;
    if (!tap_case("types of the matrix units have no peak of multiply-adds")) return;
    tw_context *context = context_of(tw_lab_kernel_named("opencl_bf16_gemm_mma_sm80_64x64"), &why);
    if (context == NULL) {
        tap_skip(why);
        return;
    }
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        double flops;
        const tw_status status = tw_lab_peak_flops(context, expected[i].dtype, 1, 1, &flops);
        if (status != expected[i].status) {
            tap_result(false, "type %d: status %d, %s", expected[i].dtype, status, tw_error_text());
            return;
        }
    }
    tap_result(true, "%s", "");
}

/* In the covering set: an edge tile and whole ones, k in parts, two transposes. */
static void emulated_cases(const tw_lab_kernel *kernel)
{
    shape_case(kernel, TW_N, TW_N, 129, 130, 131, 1);
    shape_case(kernel, TW_N, TW_T, 256, 128, 96, ALIGNED);
    shape_case(kernel, TW_T, TW_T, 71, 65, 200, 3);
    if (kernel->dtype == TW_F32) shape_case(kernel, TW_T, TW_N, 40, 36, 53, ALIGNED); /* neither has a step too many */
    threads_case(kernel, 37, 45, 1003);
}

int main(int argc, char **argv)
{
    tap_start(argc, argv);
    if (!tap.gpu) probe_case(), peak_case();
    for (int i = 0; i < 3; i++) arena[i] = guard_make(ARENA_BYTES);
    for (int i = 0; i < tw_lab_kernel_count(); i++) {
        const tw_lab_kernel *kernel = tw_lab_kernel_at(i);
        if (tap.gpu && strcmp(kernel->engine, "cpu") == 0) continue;
        tap.group = (uint32_t)i + 1;
        if (is_left_out(kernel)) continue;
        if (is_emulated(kernel) && !tap.full) { /* each form takes PoCL seconds to compile */
            /* f16 and u8 differ by a word of PTX */
            const tw_dtype of_128 = kernel->tile_m == 128 ? kernel->dtype : 0;
            if (of_128 == TW_I8 || of_128 == TW_F32 || of_128 == TW_F64 ||
                (kernel->dtype == TW_BF16 && kernel->tile_m == 64))
                emulated_cases(kernel);
            continue;
        }
        shape_cases(kernel);
        ring_cases(kernel);
        edge_cases(kernel);
        remainder_cases(kernel);
        tile_cases(kernel);
        depth_cases(kernel);
        last_step_cases(kernel);
        if (element_of(kernel->dtype)->integer)
            element_of(kernel->dtype)->bytes == 1 ? wrap_case(kernel) : extremes_case(kernel);
        else if (!tap_spares()) /* which differ in numbers alone */
            special_cases(kernel);
        const bool few = takes_long(kernel);
        if ((kernel->production && !few) ||
            (strcmp(kernel->engine, "cpu") == 0 && strcmp(kernel->rung, "r11_warp") == 0)) {
            threads_case(kernel, 301, 257, 129);
            threads_case(kernel, 97, 500, 801);
            /* of production rows two strips of sums, in several panels of k unless those are 2048 deep; under
             * AddressSanitizer of f32 and of types that are packed as others */
            if (strcmp(kernel->engine, "cpu") == 0 &&
                (!tap_spares() || kernel->dtype == TW_F32 || element_of(kernel->dtype)->bytes < 4))
                threads_case(kernel, 1030, 101, 2048);
        }
        if (kernel->production && strcmp(kernel->engine, "opencl") == 0) { /* k in parts, also on two compute units */
            const int64_t k = few ? 1003 : 5003;
            if (only_op(kernel) < 0) shape_case(kernel, TW_T, TW_N, 40, 50, k, 2);
            threads_case(kernel, 37, 45, k);
        }
        if (strncmp(kernel->rung, "gemv_simt", 9) == 0) gemv_cases(kernel);
        if (strncmp(kernel->rung, "gemm_panels", 11) == 0) {
            /* few rows: whole panels of B in place, in several of k */
            shape_case(kernel, TW_N, TW_N, 5, 131, 1030, 2);
            if (only_op(kernel) < 0) { /* several blocks of columns (panel_n), of rows (panel_a_bytes); k a panel */
                shape_case(kernel, TW_N, TW_T, 5, 1100, kernel->tile_k + 9, 3);
                shape_case(kernel, TW_T, TW_N, 1100, 5, kernel->tile_k, 3);
            }
        }
        if (kernel->deep) { /* many parts of k, the last shorter; one part; the same bits from run to run */
            shape_case(kernel, TW_N, TW_N, 40, 50, 5003, 1);
            shape_case(kernel, TW_T, TW_T, 40, 50, 5003, 2);
            shape_case(kernel, TW_N, TW_T, 700, 600, 40, 3);
            threads_case(kernel, 37, 45, 5003);
        }
        /* seven runs, the same bits: nobody's order of arrival decides */
        if (kernel->production && strncmp(kernel->needs, "sm_", 3) == 0 && !is_emulated(kernel)) {
            threads_case(kernel, 300, 200, 5003);
            threads_case(kernel, 100, 90, 1000); /* rows that divide k: parts that are a cluster */
            threads_case(kernel, 15, 13, 1030);
            if (kernel->dtype == TW_F64) threads_case(kernel, 64, 60, 16384); /* many clusters */
            shape_case(kernel, TW_T, TW_N, 200, 30, 4000, 6);
            shape_case(kernel, TW_N, TW_T, 200, 30, 4000, 7);
            threads_case(kernel, 2600, 2500, 500);
            threads_case(kernel, 2065, 2193, 500);            /* 17 rows and columns beyond tiles of 128 */
            shape_case(kernel, TW_N, TW_T, 160, 289, 700, 4); /* 32, 33 */
            shape_case(kernel, TW_T, TW_N, 289, 160, 700, 5);
        }
    }
    return tap_finish();
}
