/* test_packed.c - products with a B that was packed before (tw_b_pack): C has the bits that it has without, for every
 * type, transpose, edge and thread count, in batches, triangles and with epilogues, and what B was made of is not read
 * again. What is refused, by a sentence each. */
#include "element.h"
#include "support/die.h"
#include "support/tap.h"
#include "tilewright_lab.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static tw_context *contexts[2]; /* of one thread, of three */

/* A product and its operands; of a batch `items` of A and of C. */
typedef struct work {
    tw_problem p;
    int64_t items;
    char *a, *b, *c, *packed_c;
    size_t c_bytes;
} work;

static tw_dtype type_of_c(const tw_problem *p) { return p->dtype_c != 0 ? p->dtype_c : element_of(p->dtype)->result; }

static int64_t rows_of(const tw_problem *p, bool of_a)
{
    const tw_op op = of_a ? p->op_a : p->op_b;
    const int64_t lines = of_a ? p->m : p->k, along = of_a ? p->k : p->n;
    return op == TW_T || op == TW_C ? along : lines;
}

/* Random numbers, or whole ones of the type's own range. */
static char *fill(tw_dtype dtype, int64_t count, die *d)
{
    const element *type = element_part(dtype); /* of complex types their parts */
    char *at = malloc((size_t)(count + 1) * (size_t)tw_lab_dtype_of(dtype)->bytes);
    const int64_t parts = element_of(dtype)->parts;
    for (int64_t i = 0; at != NULL && i < parts * count; i++) {
        const double value = type->integer ? (double)(roll(d, 200) - (dtype == TW_U8 ? 0 : 100))
                                           : (double)(roll(d, 1 << 20) - (1 << 19)) * 0x1p-19;
        type->store(at, i, 1, &value);
    }
    return at;
}

static void work_free(work *w)
{
    free(w->a), free(w->b), free(w->c), free(w->packed_c);
    *w = (work){.a = NULL};
}

static bool work_make(work *w, const tw_problem *p, int64_t items, die *d)
{
    const size_t c_bytes = (size_t)tw_lab_dtype_of(type_of_c(p))->bytes;
    *w = (work){.p = *p, .items = items, .c_bytes = (size_t)(items * p->m * p->ldc) * c_bytes};
    w->a = fill(p->dtype, items * rows_of(p, true) * p->lda, d);
    w->b = fill(p->dtype_b != 0 ? p->dtype_b : p->dtype, rows_of(p, false) * p->ldb, d);
    w->c = fill(type_of_c(p), items * p->m * p->ldc, d);
    w->packed_c = malloc(w->c_bytes + 1);
    if (w->a == NULL || w->b == NULL || w->c == NULL || w->packed_c == NULL) return false;
    memcpy(w->packed_c, w->c, w->c_bytes);
    return true;
}

static tw_status multiply(tw_context *context, const work *w, const tw_problem *p, const void *b, char *c)
{
    tw_batch batch = tw_batch_make(p, w->items);
    batch.stride_b = 0;
    return w->items > 1 ? tw_gemm_batched(context, p, &batch, w->a, b, c) : tw_gemm(context, p, w->a, b, c);
}

/* Has C the same bytes by either way? What was packed is overwritten before it is used. */
static bool same_bits(tw_context *context, const tw_problem *p, int64_t items, die *d)
{
    work w;
    tw_packed_b *packed = NULL;
    tw_problem with = *p;
    with.flags |= TW_PACKED_B;
    bool right = work_make(&w, p, items, d) && multiply(context, &w, p, w.b, w.c) == TW_OK &&
                 tw_b_pack(context, p, w.b, &packed) == TW_OK;
    if (right) memset(w.b, 0xff, (size_t)(rows_of(p, false) * p->ldb) * (size_t)tw_lab_dtype_of(p->dtype)->bytes);
    right = right && multiply(context, &w, &with, packed, w.packed_c) == TW_OK &&
            memcmp(w.c, w.packed_c, w.c_bytes) == 0;
    if (!right)
        printf("# %s, B %d, C %d: op %d, %d, %dx%dx%d, beta %g, flags %u, %d items: %s\n",
               tw_lab_dtype_of(p->dtype)->name, (int)p->dtype_b, (int)p->dtype_c, (int)p->op_a, (int)p->op_b, (int)p->m,
               (int)p->n, (int)p->k, p->beta, p->flags, (int)items, tw_error_text());
    tw_b_free(packed);
    work_free(&w);
    return right;
}

/* ---- types ---- */

static tw_problem draw(die *d, tw_dtype dtype, tw_dtype dtype_b, tw_dtype dtype_c, int64_t m)
{
    static const int64_t edges[] = {1, 5, 8, 47, 48, 49, 97, 200}, depths[] = {0, 1, 3, 64, 255, 256, 257, 700};
    const bool complex = dtype == TW_CF32 || dtype == TW_CF64;
    const tw_op ops[] = {TW_N, TW_T, TW_C, TW_R};
    const int64_t n = edges[roll(d, sizeof edges / sizeof *edges)],
                  k = roll(d, 8) == 0 ? 8190 + roll(d, 20) : depths[roll(d, sizeof depths / sizeof *depths)];
    tw_problem p = tw_problem_make(dtype, ops[roll(d, complex ? 4 : 2)], ops[roll(d, complex ? 4 : 2)], m, n, k);
    p.dtype_b = dtype_b, p.dtype_c = dtype_c;
    p.lda += roll(d, 3), p.ldb += roll(d, 3), p.ldc += roll(d, 3);
    p.alpha = roll(d, 4) == 0 ? 2 : 1, p.beta = roll(d, 2);
    if (complex) p.alpha_imaginary = (double)roll(d, 2), p.beta_imaginary = (double)roll(d, 2);
    return p;
}

static void type_case(tw_dtype dtype, tw_dtype dtype_b, tw_dtype dtype_c)
{
    static const int64_t heights[] = {1, 2, 6, 7, 8, 9, 17, 40, 64, 130, 300};
    enum { HEIGHTS = sizeof heights / sizeof *heights };
    if (!tap_case("%s%s%s, C of type %d: the bits are those without", tw_lab_dtype_of(dtype)->name,
                  dtype_b != 0 ? " by " : "", dtype_b != 0 ? tw_lab_dtype_of(dtype_b)->name : "", (int)dtype_c))
        return;
    die d = {.seed = 80 + (uint64_t)dtype};
    bool right = true;
    const int rounds = tap.full ? 20 : tap_rounds(2, 1);
    for (int i = 0; right && i < rounds * HEIGHTS; i++) {
        const tw_problem p = draw(&d, dtype, dtype_b, dtype_c, heights[i % HEIGHTS]);
        right = same_bits(contexts[roll(&d, 2)], &p, 1, &d);
    }
    tap_result(right, "see above");
}

/* Blocks of C that are smaller than C, both loops over rows and columns, and several panels of k. */
static void large_case(void)
{
    if (!tap_case("more than one macro-block, and panels of k")) return;
    die d = {.seed = 81};
    bool right = true;
    static const int64_t shapes[][3] = {{17, 2500, 1000}, {1300, 1100, 300}, {700, 130, 2100}, {20, 60, 20000}};
    for (int i = 0; right && i < (tap_spares() ? 1 : 4); i++) {
        tw_problem p = tw_problem_make(TW_F32, TW_N, i == 1 ? TW_N : TW_T, shapes[i][0], shapes[i][1], shapes[i][2]);
        p.beta = i == 0 ? 1 : 0;
        right = same_bits(contexts[1], &p, 1, &d) && same_bits(contexts[0], &p, 1, &d);
    }
    tap_result(right, "see above");
}

static void batch_case(void)
{
    if (!tap_case("batches, whose items share it")) return;
    die d = {.seed = 82};
    bool right = true;
    for (int i = 0; right && i < tap_rounds(12, 3); i++) {
        const tw_problem p = draw(&d, i % 2 ? TW_F32 : TW_BF16, (tw_dtype)0, (tw_dtype)0, 1 + roll(&d, 40));
        right = same_bits(contexts[i % 2], &p, 2 + roll(&d, 6), &d);
    }
    tap_result(right, "see above");
}

static void form_case(void)
{
    if (!tap_case("triangles, and epilogues")) return;
    die d = {.seed = 83};
    tw_epilogue *e = NULL;
    bool right = tw_epilogue_make("relu(acc) * 2 + i - j", NULL, 0, &e) == TW_OK;
    for (int i = 0; right && i < tap_rounds(12, 4); i++) {
        const int64_t edge = 1 + roll(&d, 150);
        tw_problem p = tw_problem_make(TW_F32, TW_N, i % 2 ? TW_T : TW_N, edge, edge, 1 + roll(&d, 300));
        p.flags = i % 4 == 0 ? 0 : i % 4 == 1 ? TW_LOWER : i % 4 == 2 ? TW_UPPER : TW_INVARIANT;
        p.epilogue = i % 3 == 0 ? e : NULL;
        right = same_bits(contexts[i % 2], &p, 1, &d);
    }
    tw_epilogue_free(e);
    tap_result(right, "see above");
}

/* ---- who uses it ---- */

/* One that was packed by a context of one thread, used by one of three, by products of other heights than it was
 * packed with; the plan says so. */
static void shared_case(void)
{
    if (!tap_case("any height, and another context")) return;
    static float a[70 * 90], b[90 * 50], c[2][70 * 50];
    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, 0, 50, 90);
    tw_packed_b *packed = NULL;
    die d = {.seed = 84};
    tw_lab_plan plan = {.text = ""};
    for (int i = 0; i < 70 * 90; i++) a[i] = (float)(roll(&d, 99) - 50) / 8;
    for (int i = 0; i < 90 * 50; i++) b[i] = (float)(roll(&d, 99) - 50) / 8;
    bool right = tw_b_pack(contexts[0], &p, b, &packed) == TW_OK;
    for (p.m = 0; right && p.m <= 70; p.m += p.m < 20 ? 1 : 25) {
        memset(c, 0, sizeof c);
        p.flags = 0, right = tw_gemm(contexts[1], &p, a, b, c[0]) == TW_OK;
        p.flags = TW_PACKED_B, right = right && tw_gemm(contexts[1], &p, a, packed, c[1]) == TW_OK;
        right = right && memcmp(c[0], c[1], sizeof *c) == 0;
    }
    p.m = 70;
    right = right && tw_lab_plan_of(contexts[1], &(tw_lab_choice){0}, &p, &plan) == TW_OK &&
            strstr(plan.text, "B packed before") != NULL;
    tw_b_free(packed);
    tap_result(right, "%d rows: %s: %s", (int)p.m, tw_error_text(), plan.text);
}

/* ---- refusals ---- */

static bool refuses(tw_status expected, const char *sentence, tw_status status)
{
    if (status == expected && strstr(tw_error_text(), sentence) != NULL) return true;
    printf("# status %d, expected %d and '%s': %s\n", (int)status, (int)expected, sentence, tw_error_text());
    return false;
}

static void refusal_case(void)
{
    if (!tap_case("what is refused")) return;
    static float a[64], b[64], c[64];
    static const uint64_t none[16] = {1};
    tw_packed_b *packed = NULL, *other = NULL;
    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, 4, 5, 6), with = p, wrong;
    with.flags = TW_PACKED_B;
    bool right = refuses(TW_BAD_ARGUMENT, "out is NULL", tw_b_pack(contexts[0], &p, b, NULL)) &&
                 refuses(TW_BAD_ARGUMENT, "problem is NULL", tw_b_pack(contexts[0], NULL, b, &other)) &&
                 refuses(TW_BAD_ARGUMENT, "b is NULL", tw_b_pack(contexts[0], &p, NULL, &other)) && other == NULL &&
                 tw_b_pack(contexts[0], &p, b, &packed) == TW_OK;
    wrong = with, wrong.n = 4;
    right = right && refuses(TW_BAD_ARGUMENT, "b was packed for dtype", tw_gemm(contexts[0], &wrong, a, packed, c));
    wrong = with, wrong.k = 5;
    right = right && refuses(TW_BAD_ARGUMENT, "n 5 and k 6", tw_gemm(contexts[0], &wrong, a, packed, c));
    wrong = with, wrong.op_b = TW_T, wrong.ldb = 6;
    right = right && refuses(TW_BAD_ARGUMENT, "b was packed for", tw_gemm(contexts[0], &wrong, a, packed, c));
    wrong = with, wrong.dtype = TW_F64;
    right = right && refuses(TW_BAD_ARGUMENT, "b was packed for", tw_gemm(contexts[0], &wrong, a, packed, c)) &&
            refuses(TW_BAD_ARGUMENT, "none that tw_b_pack() made", tw_gemm(contexts[0], &with, a, none, c)) &&
            refuses(TW_BAD_ARGUMENT, "b is NULL", tw_gemm(contexts[0], &with, a, NULL, c));
    tw_batch batch = tw_batch_make(&with, 2);
    right = right && refuses(TW_BAD_ARGUMENT, "all items share a packed B",
                             tw_gemm_batched(contexts[0], &with, &batch, a, packed, c));
    wrong = with, wrong.k = 0, wrong.beta = 1;
    right = right && tw_gemm(contexts[0], &wrong, NULL, NULL, c) == TW_OK;
    tw_context *base = NULL,
               *opencl = NULL; /* whose kernels read other panels, if this processor has more than these */
    const tw_options least = {.size = sizeof least, .engine = "cpu", .instruction_set = "base"};
    tw_lab_plan here, there;
    right = right && tw_open(&least, &base) == TW_OK && tw_lab_plan_of(base, NULL, &with, &there) == TW_OK &&
            tw_lab_plan_of(contexts[0], NULL, &with, &here) == TW_OK;
    if (right && here.kernel != there.kernel)
        right = refuses(TW_BAD_ARGUMENT, "b was packed for", tw_gemm(base, &with, a, packed, c));
    wrong = with, wrong.place_a = wrong.place_b = wrong.place_c = TW_DEVICE;
    right = right && refuses(TW_NO_KERNEL, "no packed B in device memory", tw_gemm(contexts[0], &wrong, a, packed, c));
    wrong = p, wrong.place_a = wrong.place_b = wrong.place_c = TW_DEVICE;
    right = right && refuses(TW_NO_KERNEL, "in device memory", tw_b_pack(contexts[0], &wrong, b, &other));
    wrong = with, wrong.ldb = 0;
    right = right && tw_gemm(contexts[0], &wrong, a, packed, c) == TW_OK;
    tw_close(base);
    if (right && tw_open(&(tw_options){.size = sizeof(tw_options), .engine = "opencl"}, &opencl) == TW_OK)
        right = refuses(TW_NO_KERNEL, "opencl engine packs no B ahead", tw_b_pack(opencl, &p, b, &other)) &&
                refuses(TW_NO_KERNEL, "TW_PACKED_B", tw_gemm(opencl, &with, a, packed, c));
    tw_close(opencl), tw_b_free(packed), tw_b_free(NULL);
    tap_result(right, "%s", tw_error_text());
}

int main(int argc, char **argv)
{
    static const tw_dtype types[][3] = {
        {TW_F32, 0, 0}, {TW_F64, 0, 0},        {TW_BF16, 0, 0},    {TW_BF16, 0, TW_BF16},
        {TW_F16, 0, 0}, {TW_F16, 0, TW_F16},   {TW_I8, 0, 0},      {TW_I8, TW_U8, 0},
        {TW_U8, 0, 0},  {TW_U8, TW_I8, TW_I8}, {TW_I8, 0, TW_F32}, {TW_I16, 0, 0},
        {TW_I32, 0, 0}, {TW_I64, 0, 0},        {TW_CF32, 0, 0},    {TW_CF64, 0, 0}};
    tap_start(argc, argv);
    for (uint32_t i = 0; i < 2; i++)
        if (tw_open(&(tw_options){.size = sizeof(tw_options), .engine = "cpu", .threads = 1 + 2 * i}, &contexts[i]) !=
            TW_OK)
            return 1;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) type_case(types[i][0], types[i][1], types[i][2]);
    large_case();
    batch_case();
    form_case();
    shared_case();
    refusal_case();
    for (int i = 0; i < 2; i++) tw_close(contexts[i]);
    return tap_finish();
}
