/* explain_file.c - `tilewright explain FILE`: what each request of a user kernel's warps costs, beside the same of the
 * rung that it is launched like. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "degrees.h"
#include "diag.h"
#include "driver.h"
#include "explain.h"
#include "layout.h"
#include "object.h"
#include "rows.h"
#include "warden.h"

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

static void print_table(FILE *text, const degree_pair *pair)
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

static void write_object(const session *s, const degree_pair *pair, const explain *x)
{
    const lanes *own = &pair->own;
    char unused[HOST_WHY];
    int differences = 0;
    for (int kind = 0; kind < LANES_COMPARED; kind++)
        differences += lanes_compare(own, &pair->like, "", kind, unused) != 0;
    object o = object_begin(s->json);
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
    if (s->opt->binary) {
        object_text(&o, "binary", x->binary);
        object_number(&o, "loop_instructions", x->binary[0] != '\0' ? x->loop.total : (double)NAN);
        object_number(&o, "loop_multiply_adds", x->binary[0] != '\0' ? x->loop.of[CODE_FMA] : (double)NAN);
    }
    object_end(&o);
}

static exit_code unseen(const degree_pair *pair)
{
    static const exit_code codes[] = {
        [LANES_UNABLE] = EXIT_BUILD, [LANES_NOT_C] = EXIT_BUILD,    [LANES_CRASHED] = EXIT_RUN,
        [LANES_WRONG] = EXIT_CHECK,  [LANES_UNJUDGED] = EXIT_CHECK, [LANES_FAILED] = EXIT_MEMORY};
    const lanes *own = &pair->own;
    const char *file = pair->user->source.file;
    const bool on_device = own->outcome != LANES_CRASHED && own->outcome != LANES_FAILED;
    return diag(codes[own->outcome], "%s, launched like %s: %s%s%s%s", file, pair->user->like->rung, own->why,
                on_device ? " (`ladder --rung " : "", on_device ? file : "",
                own->outcome == LANES_WRONG ? "` times it once it is right)"
                : on_device                 ? "` judges its product on a device)"
                                            : "");
}

static exit_code check_options(const options *o, const user_kernel *user)
{
    if (o->engines.count + o->shapes.count + o->element.count > 0 || o->gpu != NULL || o->html != NULL)
        return diag(EXIT_USAGE, "a file takes --tile, --deadline, --binary and --json: other options belong to a rung");
    if (o->tiles.count == 0) return EXIT_OK;
    if (user->like->default_tile == 0)
        return diag(EXIT_USAGE, "--tile: %s is launched like %s, which has no tile edge to choose", user->source.file,
                    user->like->rung);
    const int64_t tile = o->tiles.items[0];
    return tile == 8 || tile == 16 || tile == 32
               ? EXIT_OK
               : diag(EXIT_USAGE, "--tile: found %d, a GPU rung takes 8, 16 or 32", (int)tile);
}

/* The file's inner loop as the machine has it, compiled for a device that is here, or by NVRTC alone. */
static exit_code look_into(explain *x)
{
    exit_code code = EXIT_OK;
    if (driver_is_usable(x->kernel->engine, NULL, 0)) code = session_open_device(x->s, x->kernel->engine);
    return code == EXIT_OK ? explain_binary(x) : code;
}

static exit_code tell(session *s, const degree_pair *pair)
{
    explain x = {.s = s, .kernel = pair->user->like, .user = &pair->user->source, .tile = pair->own.tile};
    exit_code code = pair->own.outcome == LANES_SEEN ? EXIT_OK : unseen(pair);
    x.rolled = row_is_rolled(x.kernel);
    if (code == EXIT_OK) {
        print_table(s->text, pair);
        const exit_code grade = degrees_tell(s->text, "", pair);
        if (s->opt->binary) code = look_into(&x);
        if (code == EXIT_OK) code = grade;
    }
    write_object(s, pair, &x);
    s->json_lines = s->json != NULL;
    exit_code flushed = session_flush(s);
    return code != EXIT_OK ? code : flushed;
}

exit_code explain_file(session *s, const char *path)
{
    static user_kernels user;
    degrees seen = {0};
    char why[512];
    tw_status status = user_kernel_read(path, &user.items[0], why, (int)sizeof why);
    if (status == TW_NO_MEMORY) return diag_no_memory("a kernel's text");
    if (status != TW_OK) return diag(status == TW_BUILD_FAILED ? EXIT_BUILD : EXIT_INPUT, "%s", why);
    user.count = 1;
    exit_code code = check_options(s->opt, &user.items[0]);
    if (code == EXIT_OK && !warden_begin()) code = diag_no_memory("the process that runs the file");
    if (code == EXIT_OK) code = degrees_see(&user, s->opt, &seen);
    if (code == EXIT_OK) code = tell(s, seen.pairs);
    free(seen.pairs);
    rungs_free_user(&user);
    return code;
}
