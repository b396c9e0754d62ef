/* test_strides.c - a host's padding is neither read, written nor copied, on every engine: rows on pages of their own
 * with nothing mapped between them, up to 16 GiB apart; and what an odd leading dimension means for a kernel that is
 * chosen, and for one that is forced. */
#include <fcntl.h>
#include <inttypes.h>

#include "far.h"
#include "support/spaced.h"
#include "support/tap.h"
#include "tilewright_lab.h"

enum { M = 9, N = 7, K = 6 };

static double value(int i, int j, int which) { return (i * 5 + j * 3 + which) % 7 - 3; }

static void fill(const spaced *s, int which)
{
    for (int i = 0; i < s->rows; i++)
        for (int j = 0; j < s->cols; j++) *spaced_at(s, i, j) = (float)value(i, j, which);
}

/* Small integers: the one right answer. */
static bool product_right(const tw_problem *p, const spaced *a, const spaced *b, const spaced *c, char why[128])
{
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            double sum = 0;
            for (int q = 0; q < K; q++)
                sum += (double)*(p->op_a == TW_N ? spaced_at(a, i, q) : spaced_at(a, q, i)) *
                       (double)*(p->op_b == TW_N ? spaced_at(b, q, j) : spaced_at(b, j, q));
            double expected = p->alpha * sum + (p->beta != 0 ? p->beta * value(i, j, 2) : 0),
                   found = (double)*spaced_at(c, i, j);
            snprintf(why, 128, "C[%d, %d] is %g, expected %g", i, j, found, expected);
            if (!(found == expected)) return false;
        }
    return true;
}

static void stride_case(const char *engine, tw_context *context, const char *refusal, int op, int64_t pages,
                        bool at_end, double beta)
{
    char why[128] = "";
    tw_problem p = tw_problem_make(TW_F32, (tw_op)(op / 2), (tw_op)(op % 2), M, N, K);
    if (!tap_case("%s %c%c rows %" PRId64 " pages apart, %s of their pages, beta %g", engine, "nt"[op / 2],
                  "nt"[op % 2], pages, at_end ? "at the end" : "at the beginning", beta))
        return;
    if (context == NULL) {
        tap_skip(refusal);
        return;
    }
    spaced a = spaced_make(p.op_a == TW_N ? M : K, p.op_a == TW_N ? K : M, pages, at_end);
    spaced b = spaced_make(p.op_b == TW_N ? K : N, p.op_b == TW_N ? N : K, pages, at_end),
           c = spaced_make(M, N, pages, at_end);
    fill(&a, 0), fill(&b, 1);
    if (beta != 0) fill(&c, 2);
    p.lda = a.ld, p.ldb = b.ld, p.ldc = c.ld, p.alpha = 2, p.beta = beta;
    tw_status status = tw_gemm(context, &p, a.at, b.at, c.at);
    bool right = status == TW_OK && product_right(&p, &a, &b, &c, why);
    tap_result(right && spaced_is_clean(&c), "%s",
               status != TW_OK ? tw_error_text()
               : right         ? "C's padding was written"
                               : why);
    spaced_free(&a), spaced_free(&b), spaced_free(&c);
}

/* A GPU's copies have rows of whole 16 bytes whatever the host's are; a kernel that is forced sees what the caller
 * has. */
static void plan_case(const char *engine, tw_context *context, const char *refusal)
{
    char kernel[48];
    tw_lab_choice choice = {.kernel = kernel};
    tw_lab_plan chosen, forced;
    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, 333, 333, 333);
    snprintf(kernel, sizeof kernel, "%s_f32_r11_warp", engine);
    if (!tap_case("%s: odd leading dimensions cost no wide loads", engine)) return;
    if (context == NULL) {
        tap_skip(refusal);
        return;
    }
    bool planned = tw_lab_plan_of(context, NULL, &p, &chosen) == TW_OK &&
                   tw_lab_plan_of(context, &choice, &p, &forced) == TW_OK;
    /* a processor's packed panels need no alignment */
    bool wide = planned && (strstr(chosen.text, "-DWIDE=1") != NULL || strstr(chosen.text, "_gemm_panels_") != NULL);
    tap_result(wide && strstr(forced.text, "-DWIDE=0") != NULL, "%s", planned ? chosen.text : tw_error_text());
}

/* ---- offsets beyond 2^31 and 2^32 elements, of every type and path of the CPU ---- */

static void far_case(tw_context *context, const char *threads, tw_dtype dtype, int op, const int64_t shape[3],
                     bool paged, bool items)
{
    char text[200] = "";
    integers x;
    const bool complex = tw_lab_dtype_of(dtype)->parts == 2; /* with conjugating ops, too */
    const tw_op op_a = (tw_op)(complex ? op : op / 2), op_b = (tw_op)(complex ? (op + 1) % 4 : op % 2);
    tw_problem p = tw_problem_make(dtype, op_a, op_b, shape[0], shape[1], shape[2]);
    const tw_batch batch = tw_batch_make(&p, 4);
    p.beta = paged ? 1 : 0;
    if (complex) p.alpha_imaginary = 2, p.beta_imaginary = -p.beta;
    if (!tap_case("cpu%s %s %c%c %dx%dx%d, %s 2^31 elements and %s apart", threads, tw_lab_dtype_of(dtype)->name,
                  "ntcr"[op_a], "ntcr"[op_b], (int)p.m, (int)p.n, (int)p.k, items ? "items" : "rows",
                  paged ? "a page" : "a few"))
        return;
    bool passed = integers_make(&p, items ? &batch : NULL, 5, &x) == TW_OK &&
                  far_product(context, &x, items, ((int64_t)1 << 31) + (paged ? 4096 : 5), text, sizeof text) ==
                      FAR_RIGHT;
    tap_result(passed, "%s", text);
    integers_free(&x);
}

/* The second row, or item of a batch, begins beyond 2^31 elements, the third beyond 2^32. In place, operands swapped,
 * packed (rows a multiple of 4 KiB apart), as words, GEMV; and on two threads several tasks, along rows and columns. */
static void far_cases(tw_context *context)
{
    static const tw_dtype dtypes[] = {TW_F32, TW_F64, TW_BF16, TW_I8, TW_CF32, TW_CF64, TW_I16};
    static const int64_t shapes[][3] = {{9, 7, 37}, {1, 9, 21}, {9, 1, 21}},
                         large[][3] = {{100, 90, 110}, {700, 20, 400}, {20, 700, 400}};
    for (int i = 0; i < 7 * 3 * 4 * 4; i++)
        far_case(context, "", dtypes[i / 48], i / 4 % 4, shapes[i / 16 % 3], i % 2, i / 2 % 2);
    const tw_options two = {.size = sizeof two, .engine = "cpu", .threads = 2};
    tw_context *threads = NULL;
    if (!tap.list && tw_open(&two, &threads) != TW_OK) perror(tw_error_text()), exit(1);
    for (int i = 0; i < 3 * 3 * 4; i++)
        far_case(threads, ", two threads,", i < 24 ? dtypes[i / 12] : TW_CF64, i % 4, large[i / 4 % 3], i / 4 % 2,
                 false);
    tw_close(threads);
}

int main(int argc, char **argv)
{
    static const int64_t pages[] = {2, 977, (1 << 22) + 1};
    const char *engine;
    tap_start(argc, argv);
    for (int e = 0; (engine = tw_lab_engine_at(e)) != NULL; e++) {
        tw_options options = {.size = sizeof options, .engine = engine};
        tw_context *context = NULL;
        if (tap.gpu && strcmp(engine, "cpu") == 0) continue;
        char refusal[256] = "";
        if (!tap.list && tw_open(&options, &context) != TW_OK)
            snprintf(refusal, sizeof refusal, "no %s device: %.200s", engine, tw_error_text());
        for (int op = 0; op < 4; op++)
            for (int i = 0; i < 3; i++)
                for (int at_end = 0; at_end < 2; at_end++)
                    for (int beta = 0; beta < 2; beta++)
                        stride_case(engine, context, refusal, op, pages[i], at_end, 3 * beta);
        if (strcmp(engine, "cpu") != 0)
            plan_case(engine, context, refusal);
        else
            far_cases(context);
        tw_close(context);
    }
    return tap_finish();
}
