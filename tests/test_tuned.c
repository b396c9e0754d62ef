/* test_tuned.c - tuned rows: what the reader takes and refuses, which row gives a parameter, and that plans follow. */
#include "support/tap.h"

#include "plan.h"
#include "tuned.h"

static const device_facts avx2 = {.engine = "cpu",
                                  .level = CPU_avx2,
                                  .threads = 2,
                                  .l1_bytes = 32768,
                                  .l2_bytes = 524288},
                          gpu = {.engine = "opencl",
                                 .multiprocessors = 132,
                                 .most_threads = 1024,
                                 .copies = true,
                                 .local_bytes = 49152,
                                 .largest_bytes = (int64_t)1 << 32};

static tw_status parse(const char *text, tuned_row *row) { return tuned_parse(text, strlen(text), "line 7", row); }

static void reader_cases(void)
{
    static const struct {
        const char *text, *sentence; /* NULL: it is read */
    } cases[] = {
        {"cpu * * * * * kc=256 | by hand", NULL},
        {"cpu vector32 f32 large nn gemm_simd kc=256 b_share=0.25 |", NULL},
        {"opencl sm_90 f64 deep tt gemm_simt_64x64 share=0.5 | x", NULL},
        {"opencl processor * few_rows * * panel_n=96 | x", NULL},
        {"cpu * * * * * kc=256", "line 7: a bar and where the row comes from are missing"},
        {"cpu * * * * * | x", "line 7: the row gives no parameter"},
        {"cpu * * *", "line 7: the ops is missing"},
        {"cuda * * * * * kc=256 | x", "line 7: the engine is cuda, which is none"},
        {"cpu vector * * * * kc=256 | x", "line 7: the device is vector, which is none"},
        {"cpu vector32x * * * * kc=256 | x", "line 7: the device is vector32x, which is none"},
        {"cpu * f31 * * * kc=256 | x", "line 7: the dtype is f31, which is none"},
        {"cpu * * huge * * kc=256 | x", "line 7: the shape is huge, which is none"},
        {"cpu * * * nx * kc=256 | x", "line 7: the ops is nx, which is none"},
        {"cpu * * * * gemm_simt_64x64 kc=256 | x", "line 7: the kernel is gemm_simt_64x64, which is none"},
        {"cpu * * * * * share=0.5 | x", "line 7: the cpu engine's planner has no parameter share"},
        {"cpu * * * * * kc=-1 | x", "line 7: kc is -1, expected a whole number from 0 to 8192"},
        {"cpu * * * * * kc=2.5 | x", "line 7: kc is 2.5, expected a whole number from 0 to 8192"},
        {"cpu * * * * * b_share=nan | x", "line 7: b_share is nan, expected a number from 0.05 to 1"},
        {"cpu * * * * * kc= | x", "line 7: kc is , expected a whole number from 0 to 8192"},
        {"cpu * * * * * kc=1 kc=2 | x", "line 7: kc is given twice"},
        {"cpu * * * * * kc | x", "line 7: found kc, expected name=value"},
    };
    tuned_row row;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (!tap_case("reads or refuses: %s", cases[i].text)) continue;
        const tw_status status = parse(cases[i].text, &row);
        const bool right = cases[i].sentence == NULL
                               ? status == TW_OK
                               : status == TW_BAD_ARGUMENT && strcmp(tw_error_text(), cases[i].sentence) == 0;
        tap_result(right, "%s", status == TW_OK ? "it was read" : tw_error_text());
    }
}

static tuned_values find(const device_facts *device, const char *const *rows, const tw_problem *p, const char *kernel)
{
    tuned_row own[4];
    int count = 0;
    device_facts facts = *device;
    tuned_values values = {.each = {0}};
    for (; count < 4 && rows[count] != NULL; count++)
        if (parse(rows[count], &own[count]) != TW_OK) return values;
    tuned_table *table = tuned_table_make(device, own, count);
    facts.tuned = table;
    if (table != NULL) tuned_find(&facts, p, kernel != NULL ? kernel_named(kernel) : NULL, &values);
    free(table);
    return values;
}

static void order_cases(void)
{
    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_T, 2000, 2000, 2000);
    static const char *const rows[] = {"cpu vector32 f32 large * * kc=128 | x", "cpu * * * tn * kc=64 | x",
                                       "cpu vector64 * * * * kc=32 | x", NULL},
                             *const shares[] = {"opencl gpu * * * gemm_simt_64x64 share=0.9 | x", NULL};
    if (tap_case("the last row that holds gives a parameter, the committed ones all others")) {
        const tuned_values v = find(&avx2, rows, &p, NULL);
        p.op_a = TW_T, p.op_b = TW_N;
        const tuned_values other = find(&avx2, rows, &p, NULL);
        p.dtype = TW_F64, p.op_a = TW_N;
        const tuned_values third = find(&avx2, rows, &p, NULL);
        tap_result(v.kc == 128 && v.macro_block == 4096 && other.kc == 64 && third.kc == 0, "kc is %g, %g and %g", v.kc,
                   other.kc, third.kc);
    }
    if (tap_case("a row for a kernel is for that alone")) {
        tw_problem q = tw_problem_make(TW_F32, TW_N, TW_N, 500, 500, 500);
        const double one = find(&gpu, shares, &q, "opencl_f32_gemm_simt_64x64").share,
                     other = find(&gpu, shares, &q, "opencl_f32_gemm_simt_32x32").share,
                     any = find(&gpu, shares, &q, "opencl_f32_sgemm_simt_128x128").share;
        tap_result(one == 0.9 && other == 0.42 && any == 0.67, "shares are %g, %g and %g", one, other, any);
    }
}

static void plan_cases(void)
{
    if (tap_case("a plan follows a row, and the committed rows are its default")) {
        tuned_row row;
        plan made[3];
        device_facts facts = avx2;
        const tw_problem given = tw_problem_make(TW_F32, TW_N, TW_N, 2000, 2000, 2000);
        tw_problem p;
        bool right = problem_load(&given, (void *)64, (void *)64, (void *)64, &p) == TW_OK &&
                     parse("cpu * * * * * kc=100 macro_block=1000 | x", &row) == TW_OK;
        tuned_table *none = tuned_table_make(&facts, NULL, 0), *one = tuned_table_make(&facts, &row, 1);
        const tuned_table *tables[3] = {NULL, none, one};
        for (int i = 0; right && i < 3; i++) {
            facts.tuned = tables[i];
            right = plan_find(&p, &facts, NULL, &made[i]) == TW_OK;
        }
        right = right && made[0].cpu.kc == made[1].cpu.kc && made[0].cpu.macro_m == made[1].cpu.macro_m &&
                made[2].cpu.kc == 100 && made[2].cpu.macro_m == 1002;
        free(none);
        free(one);
        tap_result(right, "kc is %d, %d and %d", (int)made[0].cpu.kc, (int)made[1].cpu.kc, (int)made[2].cpu.kc);
    }
    if (tap_case("complex types keep their panels: their bits depend on them")) {
        static const char *const rows[] = {"cpu * * * * * kc=100 | x", NULL};
        device_facts facts = avx2;
        tuned_row row;
        plan made;
        const tw_problem given = tw_problem_make(TW_CF32, TW_N, TW_N, 2000, 2000, 2000);
        tw_problem p;
        bool right = problem_load(&given, (void *)64, (void *)64, (void *)64, &p) == TW_OK &&
                     parse(rows[0], &row) == TW_OK;
        tuned_table *table = tuned_table_make(&facts, &row, 1);
        facts.tuned = table;
        right = right && plan_find(&p, &facts, NULL, &made) == TW_OK && made.cpu.kc == 252;
        free(table);
        tap_result(right, "kc is not 252");
    }
    if (tap_case("shapes in words")) {
        static const struct {
            int64_t m, n, k;
            const char *word;
        } shapes[] = {{1, 100, 100, "row"},         {100, 1, 100, "column"},       {64, 64, 65536, "deep"},
                      {16, 4096, 4096, "few_rows"}, {4096, 16, 16, "few_columns"}, {100, 100, 100, "small"},
                      {512, 512, 512, "medium"},    {2048, 2048, 2048, "large"}};
        bool right = true;
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
            const tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, shapes[i].m, shapes[i].n, shapes[i].k);
            right = right && strcmp(tuned_shape_class(&p), shapes[i].word) == 0;
        }
        tap_result(right, "a shape has another word");
    }
}

int main(int argc, char **argv)
{
    tap_start(argc, argv);
    reader_cases();
    order_cases();
    plan_cases();
    return tap_finish();
}
