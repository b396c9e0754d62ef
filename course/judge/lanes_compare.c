/* lanes_compare.c - what one kernel asks of memory beside another, in words. */
#include <stdio.h>
#include <string.h>
#include "lanes.h"

/* One figure of both, in words; false: it is the same. */
static bool differs(const char *what, const char *verb, const char *unit, const char *of, int own, int like,
                    const char *rung, char text[HOST_WHY])
{
    if (own == like) return false;
    snprintf(text, HOST_WHY, "%s %s %d %s%s%s where %s %s %d", what, verb, own, unit, own == 1 ? "" : "s", of, rung,
             verb, like);
    return true;
}

static int compare_kind(const lanes_kind *own, const lanes_kind *like, access_kind kind, const char *rung,
                        char text[HOST_WHY])
{
    const char *what = access_kind_text(kind);
    if (own->requests == 0 && like->requests == 0) return 0;
    if (own->requests == 0) {
        snprintf(text, HOST_WHY, "there is no %s, of which %s has %d per thread", what, rung, like->per_thread);
        return -1;
    }
    if (like->requests == 0) {
        snprintf(text, HOST_WHY, "%s happens %d times per thread, in %s never%s", what, own->per_thread, rung,
                 own->at.wavefronts > 1 ? "; with bank conflicts" : "");
        return own->at.wavefronts > 1 ? 1 : -1;
    }
    if (lanes_cost(&own->at) + own->at.lines <= lanes_cost(&like->at) + like->at.lines && own->total > like->total &&
        differs(what, "happens", "time", " per thread", own->per_thread, like->per_thread, rung, text))
        return 1;
    if (own->words != like->words) {
        snprintf(text, HOST_WHY, "%s moves %d bytes a lane where %s moves %d", what, 4 * own->words, rung,
                 4 * like->words);
        return own->total > like->total ? 1 : -1;
    }
    if (differs(what, "asks", "sector", " a request", own->at.sectors, like->at.sectors, rung, text) ||
        differs(what, "touches", "line", " a request", own->at.lines, like->at.lines, rung, text) ||
        differs(what, "takes", "wavefront", " a request", own->at.wavefronts, like->at.wavefronts, rung, text)) {
        const size_t used = strlen(text);
        char in[64] = "";
        if (own->alike < own->requests) snprintf(in, sizeof in, ", in %d of %d requests", own->alike, own->requests);
        snprintf(text + used, HOST_WHY - used, "%s%s", in,
                 own->at.wavefronts > like->at.wavefronts ? ": bank conflict"
                 : own->at.sectors > like->at.sectors     ? ": uncoalesced"
                                                          : "");
        return lanes_cost(&own->at) + own->at.lines > lanes_cost(&like->at) + like->at.lines ? 1 : -1;
    }
    if (differs(what, "happens", "time", " per thread", own->per_thread, like->per_thread, rung, text))
        return own->per_thread > like->per_thread ? 1 : -1;
    if (differs(what, access_is_global(kind) ? "asks" : "takes", access_is_global(kind) ? "sector" : "wavefront",
                " in all of a group", own->total, like->total, rung, text))
        return own->total > like->total ? 1 : -1;
    if (differs(what, "uses", "byte", " a request", own->at.used, like->at.used, rung, text) ||
        differs(what, "takes", "transaction", " on 1.0", own->old[0], like->old[0], rung, text) ||
        differs(what, "takes", "transaction", " on 1.2", own->old[1], like->old[1], rung, text))
        return own->old[0] + own->old[1] > like->old[0] + like->old[1] ? 1 : -1;
    return 0;
}

int lanes_compare(const lanes *own, const lanes *like, const char *rung, int kind, char text[HOST_WHY])
{
    if (kind < ACCESS_KINDS) return compare_kind(&own->of[kind], &like->of[kind], (access_kind)kind, rung, text);
    if (kind == LANES_ROLLED)
        return own->rolled > like->rolled &&
               differs("a work-item", "begins", "rolled loop", "", own->rolled, like->rolled, rung, text);
    if (kind == LANES_ASKED)
        return own->asked > like->asked && differs("a work-item", "asks", "time", " for the end of an unrolled loop",
                                                   own->asked, like->asked, rung, text);
    for (int of_warp = 0; of_warp < 2; of_warp++)
        if (differs("a work-item", "meets", "barrier", of_warp ? " of its warp" : "", own->barriers[of_warp],
                    like->barriers[of_warp], rung, text))
            return own->barriers[of_warp] > like->barriers[of_warp] ? 1 : -1;
    return 0;
}
