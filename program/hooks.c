/* hooks.c - see hooks.h. */
#include "hooks.h"

#include "diag.h"
#include "guard.h"
#include "term.h"
#include "watch.h"

static void progress(const char *what) { term_progress(what, -1); }

static void tell(const char *sentence) { diag(EXIT_OK, "%s", sentence); }

const bench_hooks program_hooks = {guard_hold, guard_release, guard_leave, progress, tell, guard_foreign, watch_file};
