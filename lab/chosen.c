/* chosen.c - see chosen.h. */
#include "chosen.h"

#include <stdio.h>
#include <string.h>

void chosen_kernels(tw_context *context, char text[CHOSEN_TEXT])
{
    static const tw_dtype dtypes[] = {
#define DTYPE(id, ...) TW_##id,
#include "../data/dtypes.def"
#undef DTYPE
    };
    text[0] = '\0';
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        tw_problem square = tw_problem_make(dtypes[i], TW_N, TW_N, 4096, 4096, 4096);
        tw_lab_plan plan;
        size_t used = strlen(text);
        if (tw_lab_plan_of(context, NULL, &square, &plan) != TW_OK) continue; /* it has none for the type */
        snprintf(text + used, CHOSEN_TEXT - used, "%s%s %s", used > 0 ? ", " : "", tw_lab_dtype_of(dtypes[i])->name,
                 plan.kernel->name);
    }
}

void chosen_unused(tw_context *context, const tw_problem *problem, char text[UNUSED_TEXT])
{
    enum { MOST = 128 };
    const tw_lab_kernel *kernel, *told[MOST];
    char sentence[UNUSED_TEXT / 3];
    size_t used = 0;
    int count = 0, left_out = 0;
    text[0] = '\0';
    for (int i = 0; (kernel = tw_lab_unused_at(context, problem, i, sentence, sizeof sentence)) != NULL; i++) {
        int at = 0; /* one form of a kernel stands for the others */
        while (at < count && told[at] != kernel) at++;
        if (at < count || count == MOST) continue;
        told[count++] = kernel;
        if (used + strlen(sentence) + 40 < UNUSED_TEXT)
            used += (size_t)snprintf(text + used, UNUSED_TEXT - used, "%s%s", used > 0 ? "\n" : "", sentence);
        else
            left_out++;
    }
    if (left_out > 0) snprintf(text + used, UNUSED_TEXT - used, "\nand %d more kernels", left_out);
}
