/* program.c - a program built with an old header, tilewright.h beside it: every struct that it passes is smaller than
 * today's. tests/test_install.sh runs it on the library as it is now. Prints a line for each case that fails. */
#include "tilewright.h"

#include <stdio.h>

/* Those of the first layout; the library must go on taking them. */
typedef char sizes_are_old[sizeof(tw_problem) == 112 && sizeof(tw_options) == 40 && sizeof(tw_launch) == 32 &&
                                   sizeof(tw_batch) == 40 && sizeof(tw_device) == 256
                               ? 1
                               : -1];

static int failed;

static void expect(const char *what, int holds)
{
    if (holds) return;
    printf("%s: %s\n", what, tw_error_text());
    failed = 1;
}

/* Behind each struct lies a byte that is not 0: the library must not read it. */
static struct {
    tw_problem problem;
    char beyond[128];
} p;
static struct {
    tw_options options;
    char beyond[128];
} o;
static struct {
    tw_batch batch;
    char beyond[128];
} x;
static struct {
    tw_device device[4];
    char beyond[512];
} d;

static int is_product(const double *c) { return c[0] == 4 && c[1] == 5 && c[2] == 10 && c[3] == 11; }

int main(void)
{
    const double a[2 * 3] = {1, 2, 3, 4, 5, 6}, b[3 * 2] = {1, 0, 0, 1, 1, 1};
    double c[2 * 2 * 2] = {0};
    tw_context *context = NULL;
    int32_t count = 0;
    size_t i;
    memset(&p, -1, sizeof p), memset(&o, -1, sizeof o), memset(&x, -1, sizeof x), memset(&d, -1, sizeof d);
    p.problem = tw_problem_make(TW_F64, TW_N, TW_N, 2, 2, 3);
    expect("tw_gemm", tw_gemm(NULL, &p.problem, a, b, c) == TW_OK && is_product(c));
    memset(c, 0, sizeof c);
    expect("tw_gemm again", tw_gemm(NULL, &p.problem, a, b, c) == TW_OK && is_product(c));

    memset(&o.options, 0, sizeof o.options);
    o.options.size = (uint32_t)sizeof o.options, o.options.engine = "cpu", o.options.threads = 2;
    expect("tw_open", tw_open(&o.options, &context) == TW_OK && context != NULL);
    expect("tw_prepare", tw_prepare(context, &p.problem) == TW_OK);

    x.batch = tw_batch_make(&p.problem, 2), x.batch.stride_a = x.batch.stride_b = 0;
    expect("tw_gemm_batched",
           tw_gemm_batched(context, &p.problem, &x.batch, a, b, c) == TW_OK && is_product(c) && is_product(c + 4));

    d.device[0].size = (uint32_t)sizeof d.device[0];
    expect("tw_devices", tw_devices(d.device, 4, &count) == TW_OK && count >= 1);
    expect("tw_devices: the first", strcmp(d.device[0].engine, "cpu") == 0 && d.device[0].threads >= 1);
    expect("tw_describe",
           tw_describe(context, &d.device[0]) == TW_OK && d.device[0].size == 256 && d.device[0].threads == 2);
    for (i = 0; i < sizeof d.beyond; i++) expect("what lies behind the devices is written", d.beyond[i] == (char)-1);

    {
        const tw_launch launch = {sizeof(tw_launch), 0, NULL, NULL, 0};
        const tw_status status = tw_enqueue(context, &p.problem, a, b, c, &launch);
        expect("tw_enqueue is refused for want of streams",
               status == TW_BAD_ARGUMENT && strstr(tw_error_text(), "no streams") != NULL);
    }
    tw_close(context);
    return failed;
}
