/* driver.c - see driver.h. */
#include "driver.h"

#include <string.h>
#include "../lab/command.h"
#include "guard.h"
#include "tilewright_lab.h"

const char *driver_advice(const char *name)
{
    char path[COMMAND_PATH];
    if (strstr(name, "PoCL") == NULL) return "";
    return command_find("ld", path)
               ? ": PoCL does so where memory runs out, or its cache folder takes no file; POCL_CACHE_DIR names another"
               : ": PoCL links each kernel by ld, and PATH has none; Debian's package binutils brings it";
}

void driver_in_use(const char *engine, const char *name)
{
    const bool here = strcmp(engine, "cpu") == 0 || strcmp(engine, "auto") == 0; /* of these there is none */
    guard_driver(here ? NULL : engine, name, driver_advice(name));
}

bool driver_is_usable(const char *engine, char *state, int bytes)
{
    driver_in_use(engine, "");
    const bool usable = tw_lab_engine_state(engine, state, bytes) == 1;
    guard_driver(NULL, "", "");
    return usable;
}
