/* test_tuned.c - tuned rows: what the reader takes and refuses, which row gives a parameter, and that plans follow. */
#define _GNU_SOURCE
#include "support/tap.h"

#include <locale.h>
#include <unistd.h>

#include "plan.h"
#include "sha256.h"
#include "tuned.h"

static const device_facts avx2 = {.engine = "cpu",
                                  .features = CPU_avx2,
                                  .threads = 2,
                                  .l1_bytes = 32768,
                                  .l2_bytes = 524288},
                          gpu = {.engine = "opencl",
                                 .multiprocessors = 132,
                                 .most_threads = 1024,
                                 .copies = true,
                                 .local_bytes = 49152,
                                 .largest_bytes = (int64_t)1 << 32},
                          h200 = {.engine = "cuda",
                                  .sm = 90,
                                  .multiprocessors = 132,
                                  .most_threads = 1024,
                                  .copies = true,
                                  .addresses = true,
                                  .clusters = true,
                                  .tensor_maps = true,
                                  .local_bytes = 232448,
                                  .largest_bytes = (int64_t)140 << 30};

static tw_status parse(const char *text, tuned_row *row) { return tuned_parse(text, strlen(text), "line 7", row); }

static void reader_cases(void)
{
    static const struct {
        const char *text, *sentence; /* NULL: it is read */
    } cases[] = {
        {"cpu * * * * * kc=256 | by hand", NULL},
        {"cpu vector32 f32 large nn gemm_simd kc=256 b_share=0.25 |", NULL},
        {"opencl sm_90 f64 deep tt gemm_simt_64x64 share=0.5 | x", NULL},
        {"opencl nvidia f32 * * * add_cycles=20000 | x", NULL},
        {"opencl processor * few_rows * * panel_n=96 | x", NULL},
        {"cpu * * * * * kc=256", "line 7: a bar and where the row comes from are missing"},
        {"cpu * * * * * | x", "line 7: the row gives no parameter"},
        {"cpu * * *", "line 7: the ops is missing"},
        {"cuda sm_90 f32 medium nn sgemm_slicedk_sm80_64x64 cost=0.8 full=0.7 block=3000 | x", NULL},
        {"cuda gpu * * * sgemm_tma_sm90_* cost=2 | x", NULL},
        {"mpi * * * * * kc=256 | x", "line 7: the engine is mpi, which is none"},
        {"cuda * * * * * kc=256 | x", "line 7: the cuda engine's planner has no parameter kc"},
        {"cuda * * * * sgemm_tma_sm80_* cost=2 | x", "line 7: the kernel is sgemm_tma_sm80_*, which is none"},
        {"cuda * * * * sgemm_*_64x64 cost=2 | x", "line 7: the kernel is sgemm_*_64x64, which is none"},
        {"cuda * * * * r04_banks cost=2 | x", "line 7: the kernel is r04_banks, which is none"},
        {"cuda * * * * * cost=0 | x", "line 7: cost is 0, expected a number from 0.05 to 20"},
        {"cuda * * * * * few_tiles=2.5 | x", "line 7: few_tiles is 2.5, expected a whole number from 1 to 64"},
        {"cpu vector * * * * kc=256 | x", "line 7: the device is vector, which is none"},
        {"cpu vector32x * * * * kc=256 | x", "line 7: the device is vector32x, which is none"},
        {"cpu * f31 * * * kc=256 | x", "line 7: the dtype is f31, which is none"},
        {"cpu * * huge * * kc=256 | x", "line 7: the shape is huge, which is none"},
        {"cpu * * * nx * kc=256 | x", "line 7: the ops is nx, which is none"},
        {"cpu * * * * gemm_simt_64x64 kc=256 | x", "line 7: the kernel is gemm_simt_64x64, which is none"},
        {"cpu * * * * * share=0.5 | x", "line 7: the cpu engine's planner has no parameter share"},
        {"cpu * * * * * kc=-1 | x", "line 7: kc is -1, expected a whole number from 0 to 2048"},
        {"cpu * * * * * kc=2.5 | x", "line 7: kc is 2.5, expected a whole number from 0 to 2048"},
        {"cpu * * * * * b_share=nan | x", "line 7: b_share is nan, expected a number from 0.05 to 1"},
        {"cpu * * * * * kc= | x", "line 7: kc is , expected a whole number from 0 to 2048"},
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
    if (table != NULL) values = *tuned_find(&facts, p, kernel != NULL ? kernel_named(kernel) : NULL, &values);
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

/* The kernel that is planned for m x n x n with these rows; "" where there is no plan. NN if `stored`, else NT. The
 * reason and the plan are put into the text. */
static const char *planned_by(tw_dtype dtype, bool stored, int64_t m, int64_t n, const char *const *rows,
                              char text[1200])
{
    tuned_row own[4];
    int count = 0;
    device_facts facts = h200;
    plan made = {.row = NULL};
    const tw_problem given = tw_problem_make(dtype, TW_N, stored ? TW_N : TW_T, m, n, n);
    tw_problem p;
    bool right = problem_load(&given, (void *)256, (void *)256, (void *)256, &p) == TW_OK;
    for (; right && rows != NULL && rows[count] != NULL; count++) right = parse(rows[count], &own[count]) == TW_OK;
    tuned_table *table = tuned_table_make(&facts, own, count);
    facts.tuned = rows != NULL ? table : NULL;
    right = right && plan_find(&p, &facts, NULL, &made) == TW_OK;
    text[0] = '\0';
    if (right) plan_reason(&p, &facts, text, 800), plan_text(&made, text + strlen(text), 400);
    free(table);
    return right ? made.row->lab.rung : "";
}

/* What a row of cuda makes of the choice between kernels. */
static void cuda_cases(void)
{
    static const struct {
        const char *what, *rows[3];
        tw_dtype dtype;
        int64_t m, n;
        const char *kernel; /* NULL: as without rows */
    } cases[] = {
        {"no row", {NULL}, TW_F32, 500, 500, NULL},
        {"a kernel is preferred",
         {"cuda * * * * sgemm_slicedk_sm80_64x64 cost=0.4 | x"},
         TW_F32,
         500,
         500,
         "sgemm_slicedk_sm80_64x64"},
        {"a family is avoided",
         {"cuda * f32 medium * sgemm_slicedk_* cost=20 | x"},
         TW_F32,
         500,
         500,
         "sgemm_tma_sm90_128x128"},
        {"another tile of a family",
         {"cuda * bf16 * * gemm_wgmma_sm90_128x192 cost=0.5 | x"},
         TW_BF16,
         4096,
         4096,
         "gemm_wgmma_sm90_128x192"},
        {"a row of other ops", {"cuda * * * tn sgemm_slicedk_* cost=20 | x"}, TW_F32, 500, 500, NULL},
        {"a row of another device", {"cuda sm_80 * * * sgemm_slicedk_* cost=20 | x"}, TW_F32, 500, 500, NULL},
        {"a later row refines",
         {"cuda * * * * * cost=20 | x", "cuda * * medium * gemm_simt_* cost=0.05 | x"},
         TW_TF32,
         500,
         500,
         "gemm_simt_64x64"},
        {"a kernel that no model compares is preferred",
         {"cuda * * * * dgemm_simt_64x64 cost=0.5 | x"},
         TW_F64,
         500,
         500,
         "dgemm_simt_64x64"},
        {"another kernel that divides k",
         {"cuda * * * * dgemm_mma_sm80_128x128 cost=0.2 | x"},
         TW_F64,
         500,
         500,
         "dgemm_mma_sm80_128x128"},
        {"swap-AB is avoided",
         {"cuda * bf16 few_rows * gemm_swapab_* cost=20 | x"},
         TW_BF16,
         16,
         4096,
         "gemm_wgmma_sm90_64x64"},
        {"a kernel that does not fit is never taken",
         {"cuda * * * * sgemm_slicedk_tma_sm90_* cost=0.05 | x"},
         TW_F64,
         500,
         500,
         NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char reason[1200], other[1200];
        if (!tap_case("cuda: %s", cases[i].what)) continue;
        const char *plain = planned_by(cases[i].dtype, false, cases[i].m, cases[i].n, NULL, reason),
                   *with = planned_by(cases[i].dtype, false, cases[i].m, cases[i].n, cases[i].rows, other),
                   *expected = cases[i].kernel != NULL ? cases[i].kernel : plain;
        const bool moves = cases[i].kernel != NULL;
        tap_result(plain[0] != '\0' && strcmp(with, expected) == 0 && (strcmp(with, plain) != 0) == moves &&
                       (moves || strcmp(reason, other) == 0),
                   "%s, without rows %s: %s; %s", with, plain, other, reason);
    }
}

/* At one end of its range or at the other each parameter changes what the planner expects, or plans. */
static void each_is_read_case(void)
{
    static const struct {
        tw_dtype dtype;
        bool stored;
        int64_t m, n;
    } products[] = {{TW_F32, true, 16, 2000},  {TW_F32, true, 500, 500},  {TW_F32, true, 2000, 2000},
                    {TW_F32, true, 301, 999},  {TW_F64, true, 300, 300},  {TW_BF16, true, 2048, 2048},
                    {TW_BF16, true, 16, 4096}, {TW_I8, true, 16, 4096},   {TW_I8, false, 16, 1024},
                    {TW_I8, true, 40, 4096},   {TW_F32, true, 100, 6000}, {TW_BF16, true, 16, 20000},
                    {TW_BF16, true, 1, 3001},  {TW_BF16, false, 1, 3001}};
    if (!tap_case("cuda: the planner reads each parameter")) return;
    char idle[200] = "";
    for (int i = 0; tuned_about_at(i) != NULL; i++) {
        const tuned_about *about = tuned_about_at(i);
        bool moved = strcmp(about->engine, "cuda") != 0;
        for (size_t j = 0; !moved && j < 2 * sizeof products / sizeof *products; j++) {
            char row[120], plain[1200], with[1200], number[32];
            const char *const rows[] = {row, NULL};
            const size_t at = j / 2;
            snprintf(row, sizeof row, "cuda * * * * * %s=%s | x", about->name,
                     tuned_number_text(j % 2 ? about->most : about->least, 10, number));
            planned_by(products[at].dtype, products[at].stored, products[at].m, products[at].n, NULL, plain);
            planned_by(products[at].dtype, products[at].stored, products[at].m, products[at].n, rows, with);
            moved = with[0] != '\0' && strcmp(plain, with) != 0;
        }
        if (!moved) snprintf(idle + strlen(idle), sizeof idle - strlen(idle), " %s", about->name);
    }
    tap_result(idle[0] == '\0', "not read:%s", idle);
}

static void plan_cases(void)
{
    cuda_cases();
    each_is_read_case();
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
    if (tap_case("threads share columns of an unpacked product where a row limits what each reads of B")) {
        tuned_row row;
        plan made[2];
        device_facts facts = {
            .engine = "cpu", .features = CPU_avx512, .threads = 16, .l1_bytes = 49152, .l2_bytes = 2097152};
        const tw_problem given = tw_problem_make(TW_F64, TW_N, TW_N, 128, 128, 128);
        tw_problem p;
        bool right = problem_load(&given, (void *)64, (void *)64, (void *)64, &p) == TW_OK &&
                     parse("cpu * * * * * thread_b=32768 | x", &row) == TW_OK;
        tuned_table *table = tuned_table_make(&facts, &row, 1);
        right = right && plan_find(&p, &facts, NULL, &made[0]) == TW_OK;
        facts.tuned = table;
        right = right && plan_find(&p, &facts, NULL, &made[1]) == TW_OK && made[0].threads == made[1].threads;
        free(table);
        const int64_t columns = made[1].cpu.task_n, rows = made[1].cpu.task_m;
        tap_result(right && made[0].cpu.task_n >= 128 && columns * 128 * 8 == 32768 && rows > 4 && rows <= 64 &&
                       ceil_div(128, rows) * ceil_div(128, columns) >= made[1].threads,
                   "tasks are %d x %d, then %d x %d", (int)made[0].cpu.task_m, (int)made[0].cpu.task_n, (int)rows,
                   (int)columns);
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
    if (tap_case("the planner says what it expects of OpenCL's tiles, which follows the rows")) {
        tuned_row row;
        char reason[600], other[600];
        device_facts facts = gpu;
        const tw_problem given = tw_problem_make(TW_F32, TW_N, TW_N, 500, 500, 500);
        tw_problem p;
        bool right = problem_load(&given, (void *)64, (void *)64, (void *)64, &p) == TW_OK &&
                     parse("opencl * * * * gemm_simt_32x32 share=0.9 | x", &row) == TW_OK;
        tuned_table *table = tuned_table_make(&facts, &row, 1);
        plan_reason(&p, &facts, reason, sizeof reason);
        facts.tuned = table;
        plan_reason(&p, &facts, other, sizeof other);
        free(table);
        const char *one = strstr(reason, " gemm_simt_32x32 "), *two = strstr(other, " gemm_simt_32x32 ");
        right = right && strstr(reason, "cycles expected: sgemm_simt_128x128 ") == reason && one != NULL &&
                two != NULL && atof(two + 17) < atof(one + 17) && strstr(reason, "panels") == NULL;
        tap_result(right, "%s; %s", reason, other);
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

/* ---- the user's file ---- */

static char folder[] = "/tmp/tilewright-tuned-XXXXXX", path[64];

static bool write_file(const char *text)
{
    FILE *file = fopen(path, "w");
    const bool written = file != NULL && fputs(text, file) >= 0;
    return file != NULL && fclose(file) == 0 && written;
}

static tw_context *open_cpu(uint32_t flags)
{
    const tw_options options = {.size = sizeof options, .engine = "cpu", .threads = 1, .flags = flags};
    tw_context *context = NULL;
    return tw_open(&options, &context) == TW_OK ? context : NULL;
}

/* The line of a row, signed by a context of this process. */
static bool sign(const char *row, const char *verdict, char line[TW_LAB_TUNED_LINE])
{
    tw_lab_tuned what = {.speed = 1.25, .low_speed = 1.1, .high_speed = 1.3, .before_s = 0.01, .after_s = 0.008};
    tw_context *context = open_cpu(TW_UNTUNED);
    snprintf(what.row, sizeof what.row, "%s", row);
    snprintf(what.verdict, sizeof what.verdict, "%s", verdict);
    snprintf(what.shape, sizeof what.shape, "2000x2000x2000");
    snprintf(what.when, sizeof what.when, "2026-11-25T12:00:00Z");
    const bool signed_here = tw_lab_tuned_sign(context, &what, line, TW_LAB_TUNED_LINE) == TW_OK;
    tw_close(context);
    return signed_here;
}

/* Another text for a part of a line, and the checksum of the whole again: what another machine would have written. */
static void resign(char line[TW_LAB_TUNED_LINE], const char *part, const char *other)
{
    char text[2 * TW_LAB_TUNED_LINE], hex[65];
    const char *at = strstr(line, part);
    if (at == NULL) return;
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - line), line, other, at + strlen(part));
    char *check = strstr(text, " | check=");
    *check = '\0';
    sha256 sum;
    sha256_init(&sum);
    sha256_add(&sum, text, strlen(text));
    sha256_hex(&sum, hex);
    snprintf(line, TW_LAB_TUNED_LINE, "%.1900s | check=%.16s", text, hex);
}

/* How a context that is opened now plans 2000 x 2000 x 2000 in f32, and what it says of the file. */
static int planned_kc(uint32_t flags, char state[800], int *used)
{
    tw_context *context = open_cpu(flags);
    const tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, 2000, 2000, 2000);
    tw_lab_plan made;
    int kc = -1;
    if (context != NULL && tw_lab_plan_of(context, NULL, &p, &made) == TW_OK) kc = (int)made.block_k;
    tw_lab_tuned_state(context, state, 800, used);
    tw_close(context);
    return kc;
}

static void file_case(const char *name, const char *text, int kc, int used, const char *says)
{
    char state[800] = "";
    int count = -1;
    if (!tap_case("the user's file: %s", name)) return;
    const bool written = text == NULL || write_file(text);
    const int found = planned_kc(0, state, &count);
    tap_result(written && (kc < 0 || found == kc) && count == used && strstr(state, says) != NULL, "kc %d, %d rows, %s",
               found, count, state);
}

static void file_cases(void)
{
    static char good[TW_LAB_TUNED_LINE], other[TW_LAB_TUNED_LINE], text[4 * TW_LAB_TUNED_LINE];
    static const char row[] = "cpu * f32 large nn * kc=100";
    char driver[64], state[800];
    if (mkdtemp(folder) == NULL) return;
    snprintf(path, sizeof path, "%s/tuned", folder);
    setenv("TILEWRIGHT_TUNED", path, 1);
    const bool is_signed = sign(row, "better", good);
    const int kc = planned_kc(TW_UNTUNED, state, NULL);
    file_case("there is none", NULL, kc, 0, "not tuned: there is no ");
    snprintf(text, sizeof text, "# mine\n\n%s\n", is_signed ? good : "");
    file_case("a row is used", text, 100, 1, "1 row of ");
    if (tap_case("the user's file: TW_UNTUNED turns it off")) {
        int used;
        tap_result(planned_kc(TW_UNTUNED, state, &used) == kc && used == 0 && strstr(state, "TW_UNTUNED"), "%s", state);
    }
    if (tap_case("the user's file: TILEWRIGHT_TUNED=off turns it off")) {
        int used;
        setenv("TILEWRIGHT_TUNED", "off", 1);
        tap_result(planned_kc(0, state, &used) == kc && used == 0 && strstr(state, "is off"), "%s", state);
        setenv("TILEWRIGHT_TUNED", path, 1);
    }
    if (tap_case("the user's file: a row that is not read hides no variable that is ignored")) {
        tw_context *context = NULL;
        snprintf(other, sizeof other, "%s", good);
        resign(other, "kc=100", "fog=1");
        const bool written = write_file(other);
        setenv("TILEWRIGHT_THREADS", "abc", 1);
        const tw_status status = tw_lab_open_despite(&context);
        unsetenv("TILEWRIGHT_THREADS");
        tw_lab_tuned_state(context, state, sizeof state, NULL);
        tap_result(written && status == TW_OK && strstr(state, "parameter fog") != NULL &&
                       strstr(tw_error_text(), "TILEWRIGHT_THREADS is abc") != NULL,
                   "%s; %s", state, tw_error_text());
        tw_close(context);
        write_file(text);
    }
    if (tap_case("the user's file: a plan names the row that took part")) {
        tw_context *context = open_cpu(0);
        const tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, 2000, 2000, 2000),
                         q = tw_problem_make(TW_F32, TW_N, TW_T, 2000, 2000, 2000);
        tw_lab_plan one = {.threads = 0}, two = {.threads = 0};
        tw_lab_plan_of(context, NULL, &p, &one), tw_lab_plan_of(context, NULL, &q, &two);
        tw_close(context);
        tap_result(strcmp(one.tuned, row) == 0 && two.tuned[0] == '\0', "%s, %s", one.tuned, two.tuned);
    }
    snprintf(text, sizeof text, "%s\n%s\n", good, good);
    text[strlen("cpu * f32 large nn * kc=1")] = '1'; /* kc=110, and the checksum of 100 */
    file_case("a damaged line costs that line only", text, 100, 1, "line 1 is not used: its checksum does not fit");
    snprintf(text, sizeof text, "%.*s", (int)strlen(good) - 5, good);
    file_case("a cut line", text, kc, 0, "line 1 is not used: its checksum");
    snprintf(text, sizeof text, "%s\nnonsense | check=0123456789abcdef\n\x01\xff\n", good);
    file_case("lines of anything", text, 100, 1,
              "line 2 is not used: its checksum does not fit: the line was changed "
              "or cut; nor is 1 more");
    memcpy(other, good, sizeof other), resign(other, "version=0.", "version=9.");
    file_case("of another version", other, kc, 0, "it was tuned with version 9.");
    memcpy(other, good, sizeof other), resign(other, "kernels=", "kernels=0");
    file_case("of other kernels", other, kc, 0, "its kernels have digest 0");
    memcpy(other, good, sizeof other), resign(other, ", 1 thread ", ", 64 threads ");
    snprintf(driver, sizeof driver, ", 64 threads");
    file_case("of another number of threads", other, kc, 0, driver);
    memcpy(other, good, sizeof other), resign(other, "device=", "device=Another ");
    file_case("of another device, which is no fault", other, kc, 0, "not tuned: 0 rows of ");
    memcpy(other, good, sizeof other), resign(other, "kc=100", "kc=99999");
    file_case("a value beyond its limits", other, kc, 0, "kc is 99999, expected a whole number from 0 to 2048");
    memcpy(other, good, sizeof other), resign(other, "verdict=better", "verdict=wrong");
    file_case("a row that computed wrong numbers", other, kc, 0, "not tuned: 0 rows of ");
    setenv("TILEWRIGHT_TUNED", "tuned", 1);
    file_case("a relative path", NULL, kc, 0, "neither off nor an absolute path");
    setenv("TILEWRIGHT_TUNED", folder, 1);
    file_case("a folder", NULL, kc, 0, "it is no regular file");
    setenv("TILEWRIGHT_TUNED", "/dev/zero", 1);
    file_case("a device", NULL, kc, 0, "it is no regular file");
    unsetenv("TILEWRIGHT_TUNED");
    setenv("XDG_CONFIG_HOME", folder, 1);
    file_case("below XDG_CONFIG_HOME", NULL, kc, 0, "/tilewright/tuned");
    setenv("XDG_CONFIG_HOME", "", 1);
    setenv("HOME", folder, 1);
    file_case("below HOME", NULL, kc, 0, "/.config/tilewright/tuned");
    if (geteuid() != 0 || chown(folder, 65534, 65534) == 0) {
        setenv("HOME", geteuid() == 0 ? folder : "/usr", 1);
        file_case("below the HOME of another user", NULL, kc, 0, "belongs to another user; TILEWRIGHT_TUNED names");
    }
    setenv("TILEWRIGHT_TUNED", "off", 1);
    unlink(path);
    rmdir(folder);
}

/* A program that says setlocale(LC_ALL, "") in a country of decimal commas opens the engine, reads rows and writes them
 * as any other. */
static void locale_case(void)
{
    static const double values[] = {0, 0.05, 0.67, 1.25, 336, 786432, 1073741824, 1.5e-7};
    char where[] = "/tmp/tilewright-locale-XXXXXX", command[200], text[TUNED_LINE], number[32], in_program[16] = "";
    tw_context *context = NULL;
    tuned_row row;
    if (!tap_case("a locale with a decimal comma")) return;
    if (mkdtemp(where) == NULL) {
        tap_result(false, "no folder");
        return;
    }
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >/dev/null 2>&1", where);
    const bool made = system(command) == 0;
    setenv("LOCPATH", where, 1);
    const bool comma = made && setlocale(LC_ALL, "de_DE.UTF-8") != NULL;
    snprintf(in_program, sizeof in_program, "%.1f", 1.5);
    bool right = tw_open(NULL, &context) == TW_OK && parse("cpu * * * * * b_share=0.25 kc=256 | x", &row) == TW_OK;
    if (right) tuned_text(&row, text, sizeof text);
    right = right && strcmp(text, "cpu * * * * * b_share=0.25 kc=256") == 0;
    for (size_t i = 0; right && i < sizeof values / sizeof *values; i++) {
        const char *end;
        const double read = tuned_number_read(tuned_number_text(values[i], 10, number), &end);
        right = *end == '\0' && read == values[i]; /* each is a quotient of exact numbers, rounded once */
    }
    setlocale(LC_ALL, "C");
    unsetenv("LOCPATH");
    snprintf(command, sizeof command, "rm -rf %s", where);
    const bool removed = system(command) == 0;
    tw_close(context);
    if (!comma)
        tap_skip("localedef cannot make a locale with a decimal comma here");
    else
        tap_result(right && removed && strcmp(in_program, "1,5") == 0, "%s; %s; %s; %s", in_program, text, number,
                   tw_error_text());
}

int main(int argc, char **argv)
{
    tap_start(argc, argv);
    reader_cases();
    locale_case();
    order_cases();
    plan_cases();
    file_cases();
    return tap_finish();
}
