/* driver.c - see driver.h. */
#include "driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
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

static bool is_of_another_user(const char *folder)
{
    struct stat info;
    return folder != NULL && stat(folder, &info) == 0 && info.st_uid != geteuid();
}

/* Is the folder, which may just have been made, of this user alone? No link: whoever made that could lead elsewhere. */
static bool make_own(const char *folder)
{
    struct stat info;
    (void)mkdir(folder, 0700);
    return lstat(folder, &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid() && (info.st_mode & 077) == 0;
}

/* PoCL and CUDA keep what they compile below HOME. Where that is another user's, as root may have after sudo, folders
 * of this user would lock its owner out: PoCL gets a folder of its own among temporary files, CUDA keeps nothing. What
 * the user has set stays. */
static void keep_caches_apart(void)
{
    const char *home = getenv("HOME"), *caches = getenv("XDG_CACHE_HOME"), *temporary = getenv("TMPDIR");
    char folder[COMMAND_PATH];
    const bool named = caches != NULL && caches[0] != '\0', of_home = is_of_another_user(home);
    snprintf(folder, sizeof folder, "%s/.cache", home != NULL ? home : "");
    if (of_home && getenv("CUDA_CACHE_PATH") == NULL) setenv("CUDA_CACHE_DISABLE", "1", 0);
    if (named ? !is_of_another_user(caches) : !of_home && !is_of_another_user(folder)) return;
    const int length = snprintf(folder, sizeof folder, "%s/tilewright-pocl-%u",
                                temporary != NULL && temporary[0] != '\0' ? temporary : "/tmp", (unsigned)geteuid());
    if (length >= (int)sizeof folder || getenv("POCL_CACHE_DIR") != NULL) return;
    if (make_own(folder)) setenv("POCL_CACHE_DIR", folder, 0);
}

void driver_in_use(const char *engine, const char *name)
{
    const bool here = strcmp(engine, "cpu") == 0 || strcmp(engine, "auto") == 0; /* of these there is none */
    if (!here) keep_caches_apart();
    guard_driver(here ? NULL : engine, name, driver_advice(name));
}

bool driver_is_usable(const char *engine, char *state, int bytes)
{
    driver_in_use(engine, "");
    const bool usable = tw_lab_engine_state(engine, state, bytes) == 1;
    guard_driver(NULL, "", "");
    return usable;
}
