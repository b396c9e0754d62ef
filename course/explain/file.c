/* file.c - `tilewright explain FILE`: what each request of a user kernel's warps costs, beside the same of the
 * rung that it is launched like. */
#include <ctype.h>
#include <math.h>
#include <string.h>
#include "../../program/layout.h"
#include "../../program/object.h"
#include "explain.h"

static void cell(layout_table *t, bool has, int value)
{
    if (has)
        layout_cell(t, "%d", value);
    else
        layout_cell(t, "-");
}

static void print_kind(layout_table *t, const char *name, access_kind kind, const lanes_kind *of)
{
    const lanes_degree *d = &of->at;
    const bool global = access_is_global(kind);
    layout_cell(t, "%s", name);
    layout_cell(t, "%d", of->per_thread);
    cell(t, global, d->sectors);
    cell(t, global, d->lines);
    cell(t, global, d->used);
    cell(t, !global, d->wavefronts);
    layout_cell(t, "%d", of->old[0]);
    cell(t, global, of->old[1]);
    if (of->alike < of->requests)
        layout_gap(t), fprintf(t->out, "  %d of %d requests; others less", of->alike, of->requests);
    layout_end(t);
}

void explain_file(FILE *text, const degree_pair *pair)
{
    const char *rung = pair->user->like->rung;
    char beside[40];
    snprintf(beside, sizeof beside, "  %.30s", rung);
    fprintf(text, "%s, launched like %s, T = %d: each request of a warp in an inner group, k = %d\n\n",
            pair->user->label, rung, pair->own.tile, pair->own.k);
    static const layout_column columns[] = {{"", -18, 0},     {"per thread", 10, 0}, {"sectors", 8, 0},
                                            {"lines", 6, 0},  {"bytes", 6, 0},       {"wavefronts", 11, 0},
                                            {"on 1.0", 8, 1}, {"on 1.2", 6, 1}};
    layout_table t;
    layout_begin(&t, text, columns, sizeof columns / sizeof *columns);
    layout_titles(&t);
    for (int kind = 0; kind < ACCESS_KINDS; kind++) {
        const lanes_kind *own = &pair->own.of[kind], *like = &pair->like.of[kind];
        if (own->requests > 0) print_kind(&t, access_kind_text((access_kind)kind), (access_kind)kind, own);
        if (like->requests > 0) print_kind(&t, beside, (access_kind)kind, like);
    }
    layout_left_out(&t);
    fprintf(
        text,
        "\n%d barrier%s of the group, %d of a warp; the product is right, also on edge tiles, and no two work-items "
        "race.\nsectors of 32 bytes and lines of 128 that a request asks for; bytes that its lanes use; "
        "wavefronts: passes through the banks; on 1.0, on 1.2: transactions of a half-warp there, of tiles "
        "conflicts in 16 banks\n\n",
        pair->own.barriers[0], pair->own.barriers[0] == 1 ? "" : "s", pair->own.barriers[1]);
}

/* "read_of_b_tile_wavefronts" */
static void put_number(object *o, const char *prefix, access_kind kind, const char *what, int value)
{
    char key[80];
    size_t used = (size_t)snprintf(key, sizeof key, "%s", prefix);
    for (const char *c = access_kind_text(kind); *c != '\0' && used < sizeof key - 1; c++)
        if (strncmp(c, "'s", 2) == 0)
            c++;
        else
            key[used++] = *c == ' ' ? '_' : (char)tolower((unsigned char)*c);
    snprintf(key + used, sizeof key - used, "_%s", what);
    object_number(o, key, value);
}

static void put_lanes(object *o, const char *prefix, const lanes *seen)
{
    for (int i = 0; i < ACCESS_KINDS && seen->outcome == LANES_SEEN; i++) {
        const access_kind kind = (access_kind)i;
        const lanes_kind *of = &seen->of[i];
        if (of->requests == 0) continue;
        put_number(o, prefix, kind, "per_thread", of->per_thread);
        put_number(o, prefix, kind, access_is_global(kind) ? "sectors" : "wavefronts",
                   access_is_global(kind) ? of->at.sectors : of->at.wavefronts);
        if (access_is_global(kind)) put_number(o, prefix, kind, "lines", of->at.lines);
        if (access_is_global(kind)) put_number(o, prefix, kind, "used_bytes", of->at.used);
        put_number(o, prefix, kind, "on_1_0", of->old[0]);
        if (access_is_global(kind)) put_number(o, prefix, kind, "on_1_2", of->old[1]);
    }
}

void explain_file_record(FILE *json, const degree_pair *pair, const explain *x)
{
    const lanes *own = &pair->own;
    char unused[HOST_WHY];
    int differences = 0;
    for (int kind = 0; kind < LANES_COMPARED; kind++)
        differences += lanes_compare(own, &pair->like, "", kind, unused) != 0;
    object o = object_begin(json);
    object_text(&o, "engine", pair->user->like->engine);
    object_text(&o, "rung", pair->user->label);
    object_text(&o, "launched_like", pair->user->like->rung);
    object_number(&o, "tile", own->tile);
    object_number(&o, "k", own->k);
    object_text(&o, "no_model", own->outcome == LANES_SEEN ? NULL : own->why);
    object_number(&o, "barriers", own->outcome == LANES_SEEN ? own->barriers[0] + own->barriers[1] : (double)NAN);
    object_number(&o, "differences",
                  own->outcome == LANES_SEEN && pair->like.outcome == LANES_SEEN ? differences : (double)NAN);
    put_lanes(&o, "", own);
    put_lanes(&o, "rung_", &pair->like);
    if (x->binary_wanted) {
        object_text(&o, "binary", x->binary);
        object_number(&o, "loop_instructions", x->binary[0] != '\0' ? x->loop.total : (double)NAN);
        object_number(&o, "loop_multiply_adds", x->binary[0] != '\0' ? x->loop.of[CODE_FMA] : (double)NAN);
    }
    object_end(&o);
}
