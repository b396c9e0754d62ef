/* listing.c - see listing.h. */
#include "listing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *listing_class_text(listing_class c)
{
    static const char *const texts[CODE_CLASSES] = {
        "multiply-adds", "other arithmetic on reals", "loads", "loads from shared memory", "stores", "barriers",
        "branches",      "addresses, counters, moves"};
    return texts[c];
}

/* ---- classes ---- */

typedef struct class_row {
    const char *prefix;
    listing_class class;
} class_row;

/* The first row whose prefix a mnemonic has. */
static const class_row sass[] = {
    {"FFMA", CODE_FMA},        {"DFMA", CODE_FMA},         {"HMMA", CODE_FMA},         {"HGMMA", CODE_FMA},
    {"FADD", CODE_ADD},        {"FMUL", CODE_ADD},         {"LDSM", CODE_LOAD_SHARED}, {"LDS", CODE_LOAD_SHARED},
    {"LDG", CODE_LOAD_GLOBAL}, {"LDL", CODE_LOAD_GLOBAL},  {"LD.", CODE_LOAD_GLOBAL},  {"UTMALDG", CODE_LOAD_GLOBAL},
    {"STS", CODE_STORE},       {"STG", CODE_STORE},        {"STL", CODE_STORE},        {"ST.", CODE_STORE},
    {"BAR", CODE_BARRIER},     {"WARPSYNC", CODE_BARRIER}, {"SYNCS", CODE_BARRIER},    {"WARPGROUP", CODE_BARRIER},
    {"BRA", CODE_BRANCH},      {"EXIT", CODE_BRANCH},      {"BRX", CODE_BRANCH},       {NULL, CODE_INTEGER}};
static const class_row ptx[] = {{"fma", CODE_FMA},
                                {"wgmma.mma", CODE_FMA},
                                {"mma", CODE_FMA},
                                {"mad.f", CODE_FMA},
                                {"mad.rn.f", CODE_FMA},
                                {"add.f", CODE_ADD},
                                {"mul.f", CODE_ADD},
                                {"add.rn.f", CODE_ADD},
                                {"mul.rn.f", CODE_ADD},
                                {"ld.shared", CODE_LOAD_SHARED},
                                {"ld.global", CODE_LOAD_GLOBAL},
                                {"ld.param", CODE_INTEGER},
                                {"ld", CODE_LOAD_GLOBAL},
                                {"cp.async.bulk", CODE_LOAD_GLOBAL},
                                {"st.", CODE_STORE},
                                {"bar", CODE_BARRIER},
                                {"mbarrier", CODE_BARRIER},
                                {"wgmma", CODE_BARRIER},
                                {"bra", CODE_BRANCH},
                                {"ret", CODE_BRANCH},
                                {NULL, CODE_INTEGER}};
static const class_row host[] = {
    {"vfmadd", CODE_FMA},      {"vfnmadd", CODE_FMA},     {"fmla", CODE_FMA},        {"fmadd", CODE_FMA},
    {"mulps", CODE_FMA},       {"mulss", CODE_FMA},       {"mulpd", CODE_FMA},       {"mulsd", CODE_FMA},
    {"vmulp", CODE_FMA},       {"vmuls", CODE_FMA},       {"addps", CODE_ADD},       {"addss", CODE_ADD},
    {"addpd", CODE_ADD},       {"addsd", CODE_ADD},       {"vaddp", CODE_ADD},       {"vadds", CODE_ADD},
    {"fmul", CODE_FMA},        {"fadd", CODE_ADD},        {"j", CODE_BRANCH},        {"call", CODE_BRANCH},
    {"ret", CODE_BRANCH},      {"b.", CODE_BRANCH},       {"cb", CODE_BRANCH},       {"tb", CODE_BRANCH},
    {"ldr", CODE_LOAD_GLOBAL}, {"ldp", CODE_LOAD_GLOBAL}, {"ld1", CODE_LOAD_GLOBAL}, {"str", CODE_STORE},
    {"stp", CODE_STORE},       {"st1", CODE_STORE},       {NULL, CODE_INTEGER}};

/* Do these letters stand in an instruction? */
static bool has_letters(const instruction *x, const char *letters)
{
    size_t length = strlen(letters);
    for (int at = 0; at + (int)length <= x->length; at++)
        if (strncmp(x->text + at, letters, length) == 0) return true;
    return false;
}

static bool begins(const char *text, const char *prefix) { return strncmp(text, prefix, strlen(prefix)) == 0; }

/* x86: what has its last operand in memory stores, what has another one there loads. */
static listing_class class_of_move(const char *text, int length)
{
    const char *open = memchr(text, '(', (size_t)length);
    if (open == NULL) return CODE_INTEGER;
    const char *close = memchr(open, ')', (size_t)(text + length - open));
    return close != NULL && memchr(close, ',', (size_t)(text + length - close)) != NULL ? CODE_LOAD_GLOBAL : CODE_STORE;
}

static listing_class class_of(listing_form form, const char *text, int length)
{
    const class_row *row = form == LISTING_SASS ? sass : form == LISTING_PTX ? ptx : host;
    while (row->prefix != NULL && !begins(text, row->prefix)) row++;
    /* v: of vectors, also gathers and inserts. */
    bool moves = form == LISTING_HOST && row->prefix == NULL && (begins(text, "mov") || begins(text, "v"));
    return moves ? class_of_move(text, length) : row->class;
}

/* ---- reading ---- */

/* Room for one more. */
static bool grow(void *list, int *room, int count, size_t size)
{
    if (count < *room) return true;
    int more = *room == 0 ? 256 : 2 * *room;
    void *made = realloc(*(void **)list, (size_t)more * size);
    if (made == NULL) return false;
    *(void **)list = made;
    *room = more;
    return true;
}

static bool add_function(listing *l, const char *name, int length)
{
    if (!grow(&l->functions, &l->function_room, l->function_count, sizeof *l->functions)) return false;
    snprintf(l->functions[l->function_count++], sizeof *l->functions, "%.*s", length < 95 ? length : 95, name);
    return true;
}

static bool add_label(listing *l, const char *name)
{
    int room = l->label_room;
    if (!grow(&l->label_at, &room, l->label_count, sizeof *l->label_at)) return false;
    if (!grow(&l->labels, &l->label_room, l->label_count, sizeof *l->labels)) return false;
    l->labels[l->label_count] = name;
    l->label_at[l->label_count++] = l->count;
    return true;
}

static bool add_instruction(listing *l, listing_form form, const char *text, int length, uint64_t address)
{
    if (!grow(&l->code, &l->room, l->count, sizeof *l->code)) return false;
    const char *word = text; /* the mnemonic, behind a guard such as @!P0 */
    if (*word == '@') word += strcspn(word, " \t"), word += strspn(word, " \t");
    l->code[l->count] = (instruction){.text = text,
                                      .length = length,
                                      .function = l->function_count - 1,
                                      .address = address,
                                      .target = -1,
                                      .class = class_of(form, word, length - (int)(word - text))};
    l->count++;
    return true;
}

/* One line of objdump's, "  4a310:\tpush   %r15", or "000000000004a310 <name>:". */
static bool read_host(listing *l, const char *line, int length)
{
    char *end;
    if (length > 0 && line[0] != ' ') {
        const char *open = memchr(line, '<', (size_t)length), *close = memchr(line, '>', (size_t)length);
        return open == NULL || close == NULL || close < open || add_function(l, open + 1, (int)(close - open - 1));
    }
    uint64_t address = strtoull(line, &end, 16);
    if (end == line || end[0] != ':' || end[1] != '\t' || end + 2 >= line + length) return true;
    return add_instruction(l, LISTING_HOST, end + 2, length - (int)(end + 2 - line), address);
}

/* "LDS R13, [R16] ;" behind its address in a comment, or ".L_x_1:". */
static bool read_sass(listing *l, const char *line, int length)
{
    int blanks = (int)strspn(line, " \t");
    char *end;
    if (blanks == 0 && length > 1 && line[length - 1] == ':' && line[0] == '.') return add_label(l, line);
    if (blanks == 0 && length > 1 && line[length - 1] == ':') return add_function(l, line, length - 1);
    if (strncmp(line + blanks, "/*", 2) != 0) return true;
    uint64_t address = strtoull(line + blanks + 2, &end, 16);
    if (end > line + length || strncmp(end, "*/", 2) != 0) return true; /* strtoull() goes on in the next line */
    const char *text = end + 2 + strspn(end + 2, " \t"), *stop = memchr(text, ';', (size_t)(line + length - text));
    return stop == NULL || add_instruction(l, LISTING_SASS, text, (int)(stop - text), address);
}

static bool read_ptx(listing *l, const char *line, int length)
{
    int blanks = (int)strspn(line, " \t");
    const char *text = line + blanks, *entry = strstr(line, ".entry ");
    if (entry != NULL && entry < line + length) {
        const char *name = entry + 7;
        return add_function(l, name, (int)strcspn(name, "( \t\n"));
    }
    if (length > 1 && line[length - 1] == ':' && text[0] == '$') return add_label(l, text);
    bool room = true;
    for (const char *end = line + length, *stop;
         room && text < end && (stop = memchr(text, ';', (size_t)(end - text))) != NULL; text = stop + 1) {
        text += strspn(text, "{} \t"); /* of assembly within, several on a line */
        if ((text[0] >= 'a' && text[0] <= 'z') || text[0] == '@')
            room = add_instruction(l, LISTING_PTX, text, (int)(stop - text), (uint64_t)l->count);
    }
    return room;
}

/* Where an instruction jumps to: the number of an instruction by its address, or the one behind its label. */
static int at_address(const listing *l, uint64_t address)
{
    for (int low = 0, high = l->count - 1; low <= high;) {
        int middle = low + (high - low) / 2;
        if (l->code[middle].address == address) return middle;
        if (l->code[middle].address < address)
            low = middle + 1;
        else
            high = middle - 1;
    }
    return -1;
}

static int at_label(const listing *l, const instruction *x)
{
    for (int i = 0; i < l->label_count; i++) {
        int length = (int)strcspn(l->labels[i], ":");
        for (int at = 0; at + length <= x->length; at++)
            if (strncmp(x->text + at, l->labels[i], (size_t)length) == 0 &&
                (at + length == x->length || strchr(" \t);", x->text[at + length]) != NULL))
                return l->label_at[i];
    }
    return -1;
}

static void find_targets(listing *l, listing_form form)
{
    for (int i = 0; i < l->count; i++) {
        instruction *x = &l->code[i];
        if (x->class != CODE_BRANCH) continue;
        x->calls = form == LISTING_HOST && begins(x->text, "call");
        if (form != LISTING_HOST) {
            x->target = at_label(l, x);
            continue;
        }
        const char *operand = x->text + strcspn(x->text, " \t"), *angle = memchr(x->text, '<', (size_t)x->length);
        x->target = angle != NULL ? at_address(l, strtoull(operand, NULL, 16)) : -1;
    }
}

bool listing_read(listing *l, listing_form form, const char *text)
{
    bool room = true;
    *l = (listing){.form = form};
    for (const char *line = text; room && *line != '\0';) {
        int length = (int)strcspn(line, "\n");
        room = form == LISTING_HOST   ? read_host(l, line, length)
               : form == LISTING_SASS ? read_sass(l, line, length)
                                      : read_ptx(l, line, length);
        line += length + (line[length] == '\n');
    }
    find_targets(l, form);
    return room;
}

void listing_free(listing *l)
{
    free(l->code), free(l->functions), free(l->labels), free(l->label_at);
    *l = (listing){.count = 0};
}

/* ---- loops ---- */

/* A jump back in its own function ends a loop. */
static bool ends_loop(const listing *l, int at)
{
    const instruction *x = &l->code[at];
    return x->class == CODE_BRANCH && !x->calls && x->target >= 0 && x->target <= at &&
           l->code[x->target].function == x->function;
}

bool listing_in_inner(const listing *l, const code_loop *loop, int at)
{
    for (int end = at; end <= loop->last; end++) {
        if (!ends_loop(l, end)) continue;
        int first = (int)l->code[end].target;
        bool within = first >= loop->first && (end < loop->last || first > loop->first);
        if (first <= at && within && !(first == loop->first && end == loop->last)) return true;
    }
    return false;
}

static void count_loop(const listing *l, code_loop *loop)
{
    memset(loop->of, 0, sizeof loop->of);
    loop->total = 0;
    for (int i = loop->first; i <= loop->last; i++) {
        if (listing_in_inner(l, loop, i)) continue;
        loop->of[l->code[i].class]++;
        loop->total++;
    }
}

/* The functions that one calls or jumps into, and so on: marked. */
static void mark_called(const listing *l, bool *marked)
{
    for (bool more = true; more;) {
        more = false;
        for (int i = 0; i < l->count; i++) {
            const instruction *x = &l->code[i];
            if (x->class != CODE_BRANCH || x->target < 0 || x->function < 0 || !marked[x->function]) continue;
            int to = l->code[x->target].function;
            if (to < 0 || marked[to]) continue;
            marked[to] = more = true;
        }
    }
}

/* Elements that a CPU's instruction works on, as its registers say. */
static int lanes_of(const instruction *x)
{
    static const char *const registers[] = {"%zmm", "%ymm", "%xmm"};
    if (memchr(x->text, '%', (size_t)x->length) == NULL) return 4; /* not x86 */
    if (has_letters(x, "ss ") || has_letters(x, "sd ")) return 1;
    for (int r = 0; r < 3; r++)
        if (has_letters(x, registers[r])) return 16 >> r;
    return 1;
}

/* Does a loop of a processor's code multiply more often than it adds, fused or not? Such a loop scales:
 * alpha * sum + beta * C. */
static bool only_scales(const listing *l, const code_loop *loop)
{
    int products = 0, sums = 0;
    for (int i = loop->first; i <= loop->last; i++) {
        const instruction *x = &l->code[i];
        if (listing_in_inner(l, loop, i)) continue;
        bool fused = has_letters(x, "fmadd") || has_letters(x, "fnmadd") || has_letters(x, "fmla");
        products += x->class == CODE_FMA && !fused;
        sums += x->class == CODE_ADD;
    }
    return products > sums;
}

/* What makes a loop the one that multiplies. */
static double weight_of(const listing *l, const code_loop *loop)
{
    double weight = 0, matrix = 0;
    bool inner = false;
    for (int i = loop->first; i <= loop->last; i++) {
        const instruction *x = &l->code[i];
        if (listing_in_inner(l, loop, i))
            inner = true;
        else if (x->class == CODE_FMA)
            weight += l->form == LISTING_HOST ? lanes_of(x) : 1,
                matrix += has_letters(x, "GMMA") || has_letters(x, "HMMA") || has_letters(x, "mma.");
    }
    if (l->form != LISTING_HOST) return matrix > 0 ? 1e6 * matrix : weight;
    return inner || only_scales(l, loop) ? 0 : weight / loop->total;
}

bool listing_loop(const listing *l, const char *function, code_loop *out)
{
    double most = 0;
    bool *marked = calloc((size_t)l->function_count + 1, sizeof *marked);
    if (marked == NULL) return false;
    for (int f = 0; f < l->function_count; f++) marked[f] = function == NULL || strcmp(l->functions[f], function) == 0;
    mark_called(l, marked);
    for (int i = 0; i < l->count; i++) {
        if (!ends_loop(l, i) || l->code[i].function < 0 || !marked[l->code[i].function]) continue;
        code_loop loop = {.first = (int)l->code[i].target, .last = i};
        count_loop(l, &loop);
        double weight = weight_of(l, &loop);
        if (weight > most || (weight == most && weight > 0 && loop.total < out->total)) most = weight, *out = loop;
    }
    free(marked);
    return most > 0;
}
