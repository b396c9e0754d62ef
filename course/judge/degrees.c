/* degrees.c - see degrees.h. */
#include "degrees.h"

#include <stdlib.h>
#include <string.h>
#include "../../program/diag.h"
#include "../../program/hooks.h"
#include "../../program/term.h"

static void see_rung(const degrees *d, const lanes_question *of_file, degree_pair *pair)
{
    lanes_question q = *of_file;
    q.source = NULL;
    for (const degree_pair *known = d->pairs; known != pair; known++)
        if (known->user->like == pair->user->like && known->tile == pair->tile && known->own.outcome == LANES_SEEN) {
            pair->like = known->like;
            return;
        }
    lanes_see(&q, &pair->like);
}

static void see_pair(const degrees *d, double limit_s, degree_pair *pair)
{
    const lanes_question q = {.kernel = pair->user->like,
                              .source = &pair->user->source,
                              .tile = pair->tile,
                              .transposes = pair->user->bears_rung,
                              .limit_s = limit_s,
                              .hooks = &program_hooks};
    lanes_see(&q, &pair->own);
    if (pair->own.outcome == LANES_SEEN) see_rung(d, &q, pair);
}

exit_code degrees_see(const user_kernels *user, const int64_t *tiles, int count, double limit_s, degrees *out)
{
    const int edges = count > 0 ? count : 1;
    *out = (degrees){.count = user->count * edges};
    if (out->count == 0) return EXIT_OK;
    out->pairs = calloc((size_t)out->count, sizeof *out->pairs);
    if (out->pairs == NULL) return diag_no_memory("the accesses of the files of --rung");
    term_progress("running files work-item by work-item", -1);
    for (int i = 0; i < out->count; i++) {
        degree_pair *pair = &out->pairs[i];
        pair->user = &user->items[i / edges];
        pair->tile = count > 0 ? (int)tiles[i % edges] : 0;
        see_pair(out, limit_s, pair);
    }
    term_progress_end();
    return EXIT_OK;
}

const degree_pair *degrees_of(const degrees *d, const tw_lab_source *source, int tile)
{
    const degree_pair *pair = d->pairs;
    while (&pair->user->source != source || pair->tile != tile) pair++;
    return pair;
}

const char *degrees_wrong(const degree_pair *pair) { return pair->own.outcome == LANES_WRONG ? pair->own.why : NULL; }

exit_code degrees_crashed(const degrees *d)
{
    for (const degree_pair *pair = d->pairs; pair < d->pairs + d->count; pair++)
        if (pair->own.outcome == LANES_CRASHED)
            return diag(EXIT_RUN, "%s, launched like %s: %s", pair->user->source.file, pair->user->like->rung,
                        pair->own.why);
    return EXIT_OK;
}

exit_code degrees_tell(FILE *text, const char *indent, const degree_pair *pair)
{
    const char *rung = pair->user->like->rung;
    char sentence[HOST_WHY];
    int count = 0, worse = 0;
    if (pair->own.outcome != LANES_SEEN) {
        fprintf(text, "%sits accesses were not judged: %s\n", indent, pair->own.why);
        return EXIT_OK;
    }
    if (pair->like.outcome != LANES_SEEN) {
        fprintf(text, "%sits accesses were not judged: of %s, %s\n", indent, rung, pair->like.why);
        return EXIT_OK;
    }
    for (int kind = 0; kind < LANES_COMPARED; kind++) {
        const int differs = lanes_compare(&pair->own, &pair->like, rung, kind, sentence);
        if (differs != 0) fprintf(text, "%sright, %s %s\n", indent, differs > 0 ? "but" : "and", sentence);
        count += differs != 0, worse += differs > 0;
    }
    if (count == 0) fprintf(text, "%sright, and its accesses are those of %s\n", indent, rung);
    return worse == 0 || !pair->user->bears_rung
               ? EXIT_OK
               : diag(EXIT_CHECK, "%s asks more of memory than %s, whose name it bears", pair->user->source.file, rung);
}
