/* consumer.c - a user of the installed library: tilewright.h, the shared library, nothing else of ours. Valid C99 and
 * C++. */
#include <tilewright.h>

#include <stdio.h>
#include <string.h>

static const char *const names[] = {"header and library have one version", "a product with the default context",
                                    "a product with an opened context", "a refusal has a sentence",
                                    "the library's inner names are the user's to define"};
enum { CASES = sizeof names / sizeof names[0] };

/* Names that the library has inside: a program may have its own, and the library must not call them. */
#ifdef __cplusplus
extern "C" {
#endif
int calls_astray;
void fail(void) { calls_astray++; }
void plan_find(void) { calls_astray++; }
void problem_load(void) { calls_astray++; }
void kernel_fits(void) { calls_astray++; }
void dtype_find(void) { calls_astray++; }
int cpu_engine, embedded_sources;
#ifdef __cplusplus
}
#endif

static int version_agrees(void)
{
    char header[32];
    snprintf(header, sizeof header, "%d.%d.%d", TW_VERSION_MAJOR, TW_VERSION_MINOR, TW_VERSION_PATCH);
    return strcmp(header, tw_version()) == 0;
}

static int product_is_right(tw_context *context)
{
    const double a[2 * 3] = {1, 2, 3, 4, 5, 6}, b[3 * 2] = {1, 0, 0, 1, 1, 1};
    double c[2 * 2] = {10, 20, 30, 40};
    const double expected[2 * 2] = {4 + 10, 5 + 20, 10 + 30, 11 + 40};
    return tw_dgemm(context, TW_N, TW_N, 2, 2, 3, 1, a, 3, b, 2, 1, c, 2) == TW_OK &&
           memcmp(c, expected, sizeof c) == 0;
}

static int opened_product_is_right(void)
{
    tw_options options;
    tw_context *context = NULL;
    int right;
    memset(&options, 0, sizeof options);
    options.size = (uint32_t)sizeof options;
    options.engine = "cpu";
    options.threads = 2;
    if (tw_open(&options, &context) != TW_OK) return 0;
    right = product_is_right(context);
    tw_close(context);
    return right;
}

static int refusal_speaks(void)
{
    double c[1] = {7};
    tw_problem problem = tw_problem_make(TW_F64, TW_N, TW_N, 1, 1, -1);
    return tw_gemm(NULL, &problem, c, c, c) == TW_BAD_ARGUMENT && strstr(tw_error_text(), "k") != NULL && c[0] == 7;
}

int main(int argc, char **argv)
{
    int passed[CASES], i, failed = 0;
    if (argc > 1 && strcmp(argv[1], "--list") == 0) {
        for (i = 0; i < CASES; i++) puts(names[i]);
        return 0;
    }
    passed[0] = version_agrees();
    passed[1] = product_is_right(NULL);
    passed[2] = opened_product_is_right();
    passed[3] = refusal_speaks();
    passed[4] = calls_astray == 0;
    for (i = 0; i < CASES; i++) {
        printf("%sok %d - %s\n", passed[i] ? "" : "not ", i + 1, names[i]);
        if (!passed[i]) printf("# last error: %s\n", tw_error_text());
        failed += !passed[i];
    }
    printf("1..%d\n", CASES);
    return failed > 0;
}
