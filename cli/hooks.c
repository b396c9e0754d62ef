/* hooks.c - see hooks.h. */
#include "hooks.h"

#include "guard.h"
#include "diag.h"
#include "term.h"
#include "watch.h"

static void progress(const char *what) { term_progress(what, -1); }

static void tell(const char *sentence) { diag(EXIT_OK, "%s", sentence); }

const bench_hooks program_hooks = {guard_hold, guard_release, guard_leave, progress, tell, guard_foreign, watch_file};

bench_setup setup_of(const session *s)
{
    return (bench_setup){.context = s->context,
                         .device = &s->device,
                         .driver = s->driver,
                         .threads = (int)s->opt->threads,
                         .samples = (int)s->opt->samples,
                         .seed = s->opt->seed,
                         .hooks = &program_hooks};
}
