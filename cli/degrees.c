/* degrees.c - see degrees.h. */
#include "degrees.h"

#include <stdlib.h>
#include "hooks.h"
#include "diag.h"
#include "term.h"

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
                              .limit_s = limit_s,
                              .hooks = &program_hooks};
    lanes_see(&q, &pair->own);
    if (pair->own.outcome == LANES_SEEN) see_rung(d, &q, pair);
}

exit_code degrees_see(const user_kernels *user, const options *opt, degrees *out)
{
    const number_list *tiles = &opt->tiles;
    const int edges = tiles->count > 0 ? tiles->count : 1;
    *out = (degrees){.count = user->count * edges};
    if (out->count == 0) return EXIT_OK;
    out->pairs = calloc((size_t)out->count, sizeof *out->pairs);
    if (out->pairs == NULL) return diag_no_memory("the accesses of the files of --rung");
    term_progress("running files work-item by work-item", -1);
    for (int i = 0; i < out->count; i++) {
        degree_pair *pair = &out->pairs[i];
        pair->user = &user->items[i / edges];
        pair->tile = tiles->count > 0 ? (int)tiles->items[i % edges] : 0;
        see_pair(out, (double)opt->deadline, pair);
    }
    term_progress_end();
    return EXIT_OK;
}

int degrees_differences(FILE *text, const degree_pair *pair, const char *more, const char *less)
{
    char sentence[HOST_WHY];
    int count = 0;
    for (int kind = 0; kind <= ACCESS_KINDS; kind++) {
        int differs = lanes_compare(&pair->own, &pair->like, pair->user->like->rung, kind, sentence);
        if (differs != 0) fprintf(text, "%s%s\n", differs > 0 ? more : less, sentence);
        count += differs != 0;
    }
    return count;
}

void degrees_tell(FILE *text, const degrees *d, const user_kernel *user, int tile, bool right)
{
    const degree_pair *pair = d->pairs;
    const char *rung = user->like->rung;
    while (pair->user != user || pair->tile != tile) pair++;
    const lanes *own = &pair->own;
    if (own->outcome == LANES_CRASHED || own->outcome == LANES_RACE || (own->outcome == LANES_WRONG && right))
        fprintf(text, "  %srun work-item by work-item on this machine: %s\n", right ? "right, but " : "", own->why);
    else if (!right)
        return;
    else if (own->outcome != LANES_SEEN)
        fprintf(text, "  its accesses were not judged: %s\n", own->why);
    else if (pair->like.outcome != LANES_SEEN)
        fprintf(text, "  its accesses were not judged: of %s, %s\n", rung, pair->like.why);
    else if (degrees_differences(text, pair, "  right, but ", "  right, and ") == 0)
        fprintf(text, "  right, and its accesses are those of %s\n", rung);
}
