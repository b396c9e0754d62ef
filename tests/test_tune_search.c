/* test_tune_search.c - the search for tuned rows on a made-up device with a clock of its own, and the process that
 * tries candidates with a body that hangs, crashes and lies. */
#include "support/tap.h"

#include <math.h>
#include <unistd.h>

#include "tune_worker.h"
#include "measure.h"

/* ---- a made-up device ---- */

enum { LOG = 4096 };

typedef struct device {
    double clock_s, each_s; /* a trial takes that long */
    double best[TUNE_DIMS]; /* the time grows with the distance from these */
    const tune_space *space;
    char known[LOG][TUNE_ROW];
    int known_count, trials, kept;
    const char *wrong, *hangs; /* candidates that have this text */
    bool hills;                /* one or two steps from the best are no better than three */
    bool told_known;
    bool busy; /* others run beside each trial */
    int idle;  /* a parameter that changes no plan, counted from 1; 0: each does */
} device;

static double now_s(void *job) { return ((device *)job)->clock_s; }

static bool known(void *job, const char *row)
{
    device *d = job;
    for (int i = 0; i < d->known_count; i++)
        if (strcmp(d->known[i], row) == 0) return d->told_known = true;
    return false;
}

/* What a parameter is in these rows; the committed value where they do not name it. */
static double value_in(const tune_space *space, int dim, const char *rows)
{
    const tune_dim *d = &space->dims[dim];
    char name[64];
    snprintf(name, sizeof name, " %s=", d->about.name);
    for (const char *line = rows; *line != '\0'; line += strcspn(line, "\n"), line += *line == '\n') {
        char text[TUNE_ROW + 4], kernel[52];
        snprintf(text, sizeof text, "%.*s", (int)strcspn(line, "\n"), line);
        snprintf(kernel, sizeof kernel, " %s ", d->kernel);
        const char *at = strstr(text, name), *ops = strstr(text, " nn ");
        if (at != NULL && ops != NULL && strncmp(ops + 3, kernel, strlen(kernel)) == 0)
            return strtod(at + strlen(name), NULL);
    }
    return d->committed;
}

static double seconds_of(const device *d, const char *rows)
{
    double s = 1;
    for (int i = 0; i < d->space->count; i++) {
        const double far = fabs(log2(value_in(d->space, i, rows) / d->best[i]));
        if (i == d->idle - 1) continue;
        s *= d->hills && far > 0.1 && far < 3 ? 2 : 1 + 0.1 * far * far;
    }
    return s;
}

static void try_rows(void *job, const char *present, const char *candidate, double limit_s, tune_result *out)
{
    device *d = job;
    d->trials++;
    *out = (tune_result){.verdict = TUNE_NO_TIME};
    if (d->each_s > limit_s) {
        d->clock_s += limit_s;
        return;
    }
    d->clock_s += d->each_s;
    bool same = d->idle > 0;
    for (int i = 0; i < d->space->count; i++)
        same &= i == d->idle - 1 || value_in(d->space, i, present) == value_in(d->space, i, candidate);
    out->before_s = seconds_of(d, present), out->after_s = seconds_of(d, candidate);
    out->speed = out->low_speed = out->high_speed = out->before_s / out->after_s;
    out->verdict = same                                              ? TUNE_SAME
                   : d->wrong != NULL && strstr(candidate, d->wrong) ? TUNE_WRONG
                   : d->hangs != NULL && strstr(candidate, d->hangs) ? TUNE_HUNG
                   : d->busy                                         ? TUNE_BUSY
                   : out->speed > 1.02                               ? TUNE_BETTER
                                                                     : TUNE_SLOWER;
}

static tw_status tried(void *job, const char *row, const tune_result *r)
{
    device *d = job;
    (void)r;
    if (d->known_count < LOG) snprintf(d->known[d->known_count++], TUNE_ROW, "%s", row);
    return TW_OK;
}

static tw_status keep(void *job, const tune_space *space, const tune_result *r)
{
    (void)space, (void)r;
    ((device *)job)->kept++;
    return TW_OK;
}

static void progress(void *job, const tune_tally *tally, double left_s) { (void)job, (void)tally, (void)left_s; }

/* The cpu's parameters, or opencl's with two kernels; all at the committed values, which the build knows. */
static tune_space space_of(const char *engine)
{
    static const double cpu[] = {512, 4096, 24, 12, 4, 67108864, 0.5, 3, 6, 262144, 2097152};
    tune_space s = {.engine = "", .dtype = "f32", .shape_class = "large", .ops = "nn"};
    tw_lab_parameter about;
    snprintf(s.engine, sizeof s.engine, "%s", engine);
    for (int i = 0, own = 0; tw_lab_parameter_at(i, &about); i++) {
        if (strcmp(about.engine, engine) != 0) continue;
        if (strcmp(engine, "cpu") == 0 &&
            (own == (int)(sizeof cpu / sizeof *cpu) || cpu[own] < about.least || cpu[own] > about.most)) {
            printf("Bail out! %s: cpu[] is not of the parameters of the cpu engine\n", about.name);
            exit(1);
        }
        for (int k = 0; k < (about.each_kernel ? 2 : 1); k++) {
            tune_dim *d = &s.dims[s.count++];
            *d = (tune_dim){.about = about, .committed = strcmp(engine, "cpu") == 0 ? cpu[own] : 0.4 * about.most};
            if (about.whole) d->committed = ceil(d->committed);
            snprintf(d->kernel, sizeof d->kernel, "%s",
                     about.each_kernel ? k ? "gemm_simt_64x64" : "gemm_simt_32x32" : "*");
            d->at = d->committed;
        }
        own++;
    }
    return s;
}

static tune_bench bench_of(device *d, const tune_space *space)
{
    *d = (device){.each_s = 1, .space = space};
    for (int i = 0; i < space->count; i++) d->best[i] = space->dims[i].committed;
    return (tune_bench){d, now_s, known, try_rows, tried, keep, progress};
}

/* From what another class of devices would have: everything four or eight times too large or too small. */
static void leave(tune_space *space)
{
    for (int i = 0; i < space->count; i++) {
        tune_dim *d = &space->dims[i];
        const double far = i % 3 == 0 ? 8 : i % 3 == 1 ? 0.25 : 1;
        d->at = fmin(fmax(d->about.whole ? ceil(d->committed * far) : d->committed * far, d->about.least),
                     d->about.most);
    }
}

static device made;

static void recovers_case(const char *engine)
{
    if (!tap_case("%s: from another device's defaults the search comes back to the committed choice", engine)) return;
    tune_space space = space_of(engine);
    tune_bench bench = bench_of(&made, &space);
    tune_tally tally;
    char rows[TUNE_ROWS];
    leave(&space);
    tune_rows(&space, rows);
    const double before = seconds_of(&made, rows);
    const tw_status status = tune_search(&space, &bench, 1e9, &tally);
    tune_rows(&space, rows);
    const double after = seconds_of(&made, rows);
    tap_result(status == TW_OK && tally.finished && after < 1.05 && before > 2 * after &&
                   fabs(tally.gain - before / after) < 1e-6 * tally.gain && made.kept == tally.better,
               "from %g to %g, %d tried, rows %s", before, after, tally.tried, rows);
}

static void hills_case(void)
{
    if (!tap_case("where no step is better the search leaps over what lies between")) return;
    tune_space space = space_of("cpu");
    tune_bench bench = bench_of(&made, &space);
    tune_tally tally;
    char rows[TUNE_ROWS];
    made.hills = true;
    space.dims[0].at = 64, space.dims[2].at = space.dims[2].committed * 8; /* three steps from the best */
    const tw_status status = tune_search(&space, &bench, 1e9, &tally);
    tune_rows(&space, rows);
    tap_result(status == TW_OK && tally.finished && rows[0] == '\0', "rows %s", rows);
}

static void rests_case(void)
{
    if (!tap_case("on the committed choice nothing is better, and nothing is kept")) return;
    tune_space space = space_of("cpu");
    tune_bench bench = bench_of(&made, &space);
    tune_tally tally;
    char rows[TUNE_ROWS];
    const tw_status status = tune_search(&space, &bench, 1e9, &tally);
    tune_rows(&space, rows);
    tap_result(status == TW_OK && tally.finished && tally.better == 0 && made.kept == 0 && tally.gain == 1 &&
                   rows[0] == '\0',
               "%d better, %s", tally.better, rows);
}

static void tidy_case(void)
{
    if (!tap_case("what changes no plan does not stand in the rows that are found")) return;
    tune_space space = space_of("cpu");
    tune_bench bench = bench_of(&made, &space);
    tune_tally tally;
    char rows[TUNE_ROWS];
    made.idle = 2, made.best[0] = 256; /* macro_block, and kc, which the rows are to have */
    space.dims[1].at = 1024;
    const tw_status status = tune_search(&space, &bench, 1e9, &tally);
    tune_rows(&space, rows);
    tap_result(status == TW_OK && tally.finished && tally.better > 0 &&
                   strcmp(rows, "cpu * f32 large nn * kc=256 |\n") == 0,
               "rows %s", rows);
}

static void budget_case(void)
{
    if (!tap_case("the search ends with its budget, and keeps what it has")) return;
    tune_space space = space_of("cpu");
    tune_bench bench = bench_of(&made, &space);
    tune_tally tally;
    leave(&space);
    const tw_status status = tune_search(&space, &bench, 10.5, &tally);
    tap_result(status == TW_OK && !tally.finished && tally.tried == 10 && made.known_count == 10 &&
                   made.clock_s == 10.5 && made.kept == tally.better && tally.better > 0,
               "%d tried in %g s, %d better, %d kept", tally.tried, made.clock_s, tally.better, made.kept);
}

static void resumed_case(void)
{
    if (!tap_case("a resumed run tries nothing twice, and ends where one that was not stopped does")) return;
    tune_space whole = space_of("cpu"), parts = whole;
    char one[TUNE_ROWS], other[TUNE_ROWS];
    tune_tally tally;
    leave(&whole);
    parts = whole;
    tune_bench bench = bench_of(&made, &whole);
    tune_search(&whole, &bench, 1e9, &tally);
    const int trials = made.trials;
    tune_rows(&whole, one);
    bench = bench_of(&made, &parts);
    int runs = 0;
    do tune_search(&parts, &bench, made.clock_s + 5.5, &tally);
    while (!tally.finished && ++runs < 1000);
    tune_rows(&parts, other);
    bool twice = false;
    for (int i = 0; i < made.known_count; i++)
        for (int j = 0; j < i; j++) twice |= strcmp(made.known[i], made.known[j]) == 0;
    /* the order of trials differs, since each run begins with the first parameter; so may the last step */
    tap_result(!twice && runs > 2 && tally.finished && seconds_of(&made, other) < 1.05 && made.told_known,
               "%d runs, %d trials beside %d, twice %d, %s beside %s", runs, made.trials, trials, twice, other, one);
}

static void faults_case(void)
{
    if (!tap_case("a wrong or hanging candidate is never chosen, and not tried again")) return;
    tune_space space = space_of("cpu");
    tune_bench bench = bench_of(&made, &space);
    tune_tally tally;
    char rows[TUNE_ROWS];
    space.dims[0].at = 64; /* kc: the way to 512 leads over these, by steps */
    made.wrong = "kc=128", made.hangs = "kc=91";
    const tw_status status = tune_search(&space, &bench, 1e9, &tally);
    tune_rows(&space, rows);
    int wrong = 0;
    for (int i = 0; i < made.known_count; i++) wrong += strstr(made.known[i], " kc=128") != NULL;
    tap_result(status == TW_OK && tally.wrong == wrong && tally.wrong >= 1 && tally.hung >= 1 &&
                   space.dims[0].at == 512,
               "%d wrong, %d hung, %s", tally.wrong, tally.hung, rows);
}

static void verdict_case(void)
{
    if (!tap_case("a verdict needs times that others did not disturb, and a spread that says something")) return;
    static const struct {
        double speed, low, high, others;
        bool faster;
        tune_verdict verdict;
    } cases[] = {
        {1.1, 1.05, 1.2, 0.05, true, TUNE_BETTER},   {1.1, 1.05, 1.2, NAN, true, TUNE_BETTER},
        {1.1, 1.05, 1.2, 0.05, false, TUNE_SLOWER},  {1.0, 0.98, 1.03, 0, false, TUNE_SLOWER},
        {0.5, 0.3, 0.9, 0, false, TUNE_SLOWER}, /* a wide spread, and slower all the same */
        {1.529, 0.39, 2.1, 0, false, TUNE_UNCLEAR},  {0.9, 0.7, 1.1, 0, false, TUNE_UNCLEAR},
        {20.41, 1.19, 29.23, 0, true, TUNE_UNCLEAR}, /* faster twice, and by noise */
        {1.1, 1.05, 1.2, 0.25, true, TUNE_BUSY},     {1.1, 1.05, 1.2, 0.24, true, TUNE_BETTER},
        {20.41, 1.19, 29.23, 0.87, true, TUNE_BUSY}, {0.5, 0.3, 0.9, 1, false, TUNE_BUSY},
    };
    bool right = true;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const tune_result r = {
            .speed = cases[i].speed, .low_speed = cases[i].low, .high_speed = cases[i].high, .others = cases[i].others};
        if (tune_judge(&r, cases[i].faster) == cases[i].verdict) continue;
        right = false;
        printf("# case %zu is %s\n", i, tune_verdict_name(tune_judge(&r, cases[i].faster)));
    }
    tap_result(right, "of %zu cases", sizeof cases / sizeof *cases);
}

static void unjudged_case(void)
{
    if (!tap_case("a candidate that was not judged is neither taken nor remembered, and the next run tries it")) return;
    tune_space space = space_of("cpu");
    tune_bench bench = bench_of(&made, &space);
    tune_tally tally, quiet;
    leave(&space);
    made.busy = true;
    const tw_status status = tune_search(&space, &bench, 1e9, &tally);
    const int remembered = made.known_count, kept = made.kept;
    made.busy = false;
    tune_search(&space, &bench, 1e9, &quiet);
    tap_result(status == TW_OK && tally.busy > 10 && tally.tried + tally.better + remembered + kept == 0 &&
                   quiet.busy == 0 && quiet.better > 0 && made.kept == quiet.better,
               "busy %d, tried %d, remembered %d, kept %d; then %d better", tally.busy, tally.tried, remembered, kept,
               quiet.better);
}

/* ---- the process ---- */

static void nothing(void) {}
static void silent(const char *text) { (void)text; }
static const bench_hooks hooks = {
    .hold = nothing, .release = nothing, .forked = nothing, .progress = silent, .tell = silent, .foreign = silent};

/* Answers as tune_worker_run does; candidates make it hang, crash or answer at once. */
static void body(void *job, int orders, int answers)
{
    static tune_order order;
    static tune_answer answer;
    int begun = 0;
    (void)job;
    while (worker_take(orders, &order, sizeof order)) {
        answer = (tune_answer){.done = true};
        begun += order.what == TUNE_BEGIN;
        if (strstr(order.candidate, "hang") || (order.what == TUNE_BEGIN && order.problem.n == 9)) pause();
        if (strstr(order.candidate, "crash")) _exit(3);
        answer.result.verdict = begun == 1 && order.problem.m == 7 ? TUNE_BETTER : TUNE_WRONG;
        if (!worker_give(answers, &answer, sizeof answer)) return;
    }
}

static void process_case(void)
{
    if (!tap_case("a candidate that hangs or crashes costs its process, and the run goes on")) return;
    tune_worker w = {.hooks = &hooks, .body = body, .patience_s = 0.5};
    static tune_answer answer;
    const tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, 7, 7, 7);
    tune_result r[7] = {{.verdict = TUNE_SAME}};
    const bool begun = tune_worker_begin(&w, &p, 20, &answer);
    const double start_s = measure_now_s();
    tune_worker_try(&w, "", "hang", 20, &r[0]);
    const double hung_s = measure_now_s() - start_s;
    w.patience_s = 20;
    tune_worker_try(&w, "", "good", 20, &r[1]); /* another process, begun with the same problem */
    tune_worker_try(&w, "", "crash", 20, &r[2]);
    tune_worker_try(&w, "", "good", 20, &r[3]);
    tune_worker_try(&w, "", "hang", 0.2, &r[4]); /* the budget ends before the patience: nothing is known */
    tune_worker_try(&w, "", "good", 20, &r[5]);
    tune_worker_try(&w, "", "hang", 0.2, &r[4]);
    w.problem.n = 9; /* the next process does not begin before the budget ends */
    tune_worker_try(&w, "", "good", 0.2, &r[6]);
    tune_worker_end(&w);
    tap_result(begun && r[0].verdict == TUNE_HUNG && hung_s >= 0.5 && r[1].verdict == TUNE_BETTER &&
                   r[2].verdict == TUNE_FAILED && strstr(r[2].why, "exit status 3") && r[3].verdict == TUNE_BETTER &&
                   r[4].verdict == TUNE_NO_TIME && r[5].verdict == TUNE_BETTER && r[6].verdict == TUNE_NO_TIME,
               "verdicts %s, %s, %s (%s), %s, %s, %s, %s", tune_verdict_name(r[0].verdict),
               tune_verdict_name(r[1].verdict), tune_verdict_name(r[2].verdict), r[2].why,
               tune_verdict_name(r[3].verdict), tune_verdict_name(r[4].verdict), tune_verdict_name(r[5].verdict),
               tune_verdict_name(r[6].verdict));
}

/* The most production kernels of one type that an engine has, or that the search lists. */
static int kernels_of(const char *engine)
{
    const tw_lab_kernel *k, *other;
    int most = 0;
    for (int i = 0; (k = tw_lab_kernel_at(i)) != NULL; i++) {
        int count = 0;
        for (int j = 0; (other = tw_lab_kernel_at(j)) != NULL; j++)
            count += other->production && other->dtype == k->dtype && strcmp(other->engine, engine) == 0;
        if (count > most) most = count;
    }
    return most < TUNE_KERNELS ? most : TUNE_KERNELS;
}

static void room_case(void)
{
    static const char *const engines[] = {"cpu", "opencl", "cuda"};
    if (!tap_case("the search has room for every parameter of each kernel of an engine")) return;
    int parameters = 0, dims = 0;
    tw_lab_parameter about;
    while (tw_lab_parameter_at(parameters, &about)) parameters++;
    for (int e = 0; e < 3; e++) {
        int of_engine = 0;
        for (int i = 0; tw_lab_parameter_at(i, &about); i++)
            if (strcmp(about.engine, engines[e]) == 0) of_engine += about.each_kernel ? kernels_of(engines[e]) : 1;
        if (of_engine > dims) dims = of_engine;
    }
    tap_result(parameters <= TUNE_PARAMETERS && dims <= TUNE_DIMS && kernels_of("cuda") < TUNE_KERNELS,
               "%d parameters for %d, %d values for %d, %d kernels of cuda for %d", parameters, TUNE_PARAMETERS, dims,
               TUNE_DIMS, kernels_of("cuda"), TUNE_KERNELS);
}

int main(int argc, char **argv)
{
    tap_start(argc, argv);
    room_case();
    recovers_case("cpu");
    recovers_case("opencl");
    hills_case();
    rests_case();
    tidy_case();
    budget_case();
    resumed_case();
    faults_case();
    verdict_case();
    unjudged_case();
    process_case();
    return tap_finish();
}
