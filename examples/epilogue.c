/* epilogue.c - a linear layer in one pass: gelu_tanh(x w^T + bias), by the same text on the CPU and, where there are
 * such devices, by OpenCL and CUDA, whose results may differ from it by 1e-6.
 *
 * Prints
 *     0.841192 -0.158808 1.9546
 *     1.39957 2.48492 3.99993 */
#include <math.h>
#include <stdio.h>
#include <tilewright.h>

enum { ROWS = 2, IN = 4, OUT = 3 };

static const float x[ROWS][IN] = {{1, 0, 0, 0}, {0, 1, 2, 3}},
                   w[OUT][IN] = {{0.5f, 1, 0, 0}, {-1.5f, 0, 1, 0}, {1, 0, 0, 1}}, bias[OUT] = {0.5f, 0.5f, 1};

static tw_status layer(const char *engine, float y[ROWS][OUT])
{
    tw_binding binding = {sizeof(binding), TW_F32, "bias", bias, 1, 0, 0};
    tw_problem problem = tw_problem_make(TW_F32, TW_N, TW_T, ROWS, OUT, IN);
    tw_options options = {0};
    tw_epilogue *gelu = NULL;
    tw_context *context = NULL;
    tw_status status = tw_epilogue_make("gelu_tanh(acc + bias[j])", &binding, 1, &gelu);
    options.size = sizeof(options), options.engine = engine;
    problem.epilogue = gelu;
    if (status == TW_OK) status = tw_open(&options, &context);
    if (status == TW_OK) status = tw_gemm(context, &problem, x, w, y);
    tw_close(context), tw_epilogue_free(gelu);
    return status;
}

int main(void)
{
    static const char *const others[] = {"opencl", "cuda"};
    float on_cpu[ROWS][OUT], there[ROWS][OUT], apart = 0;
    if (layer("cpu", on_cpu) != TW_OK) {
        fprintf(stderr, "%s\n", tw_error_text());
        return 1;
    }
    for (int i = 0; i < ROWS; i++) printf("%g %g %g\n", on_cpu[i][0], on_cpu[i][1], on_cpu[i][2]);
    for (int e = 0; e < 2; e++) {
        if (layer(others[e], there) != TW_OK) {
            fprintf(stderr, "not by %s: %s\n", others[e], tw_error_text());
            continue;
        }
        for (int i = 0; i < ROWS * OUT; i++) apart = fmaxf(apart, fabsf((&there[0][0])[i] - (&on_cpu[0][0])[i]));
    }
    return !(apart <= 1e-6f);
}
