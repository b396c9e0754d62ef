/* gpu.c - see gpu.h. */
#include "gpu.h"

#include <stdio.h>
#include <string.h>
#include "diag.h"
#include "words.h"

exit_code gpu_named(const char *model, const published_device **out)
{
    words_hint meant;
    char known[1200] = "", name[DEVICES_NAME];
    if ((*out = devices_model(model)) != NULL) return EXIT_OK;
    for (int i = 0; devices_at(i) != NULL; i++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s %s", i > 0 ? "," : "", devices_name(devices_at(i), name));
    }
    return diag(EXIT_USAGE, "--gpu %s: no published figures of it are here; there are:%s%s", model, known,
                words_meant_of(words_gpus, model, meant));
}
