/* chosen.c - see chosen.h. */
#include "chosen.h"

#include <stdio.h>
#include <string.h>

void chosen_kernels(tw_context *context, char text[CHOSEN_TEXT])
{
    static const tw_dtype dtypes[] = {TW_F64,  TW_F32,  TW_CF64, TW_CF32, TW_BF16, TW_F16,
                                      TW_TF32, TW_E4M3, TW_E5M2, TW_I8,   TW_U8};
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
