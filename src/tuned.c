/* tuned.c - tuned rows: read from their text, kept for one device, and found for one product. */
#include "tuned.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "problem.h"

#define ENGINE_CPU    "cpu"
#define ENGINE_OPENCL "opencl"
#define ENGINE_CUDA   "cuda"
enum { OF_ALL, OF_EACH };
static const tuned_about parameters[TUNED_PARAMETERS] = {
#define TUNED(name, engine, kernels, ...) {#name, ENGINE_##engine, OF_##kernels == OF_EACH, __VA_ARGS__},
#include "tuned.def"
#undef TUNED
};

const tuned_about *tuned_about_at(int parameter)
{
    return parameter >= 0 && parameter < TUNED_PARAMETERS ? &parameters[parameter] : NULL;
}

/* ---- the words of a product ---- */

static const char *const shape_words[] = {"row",  "column", "few_rows", "few_columns",
                                          "deep", "small",  "medium",   "large"};
static const char *const ops_words[] = {"nn", "nt", "tn", "tt"};

const char *tuned_shape_class(const tw_problem *p)
{
    enum { FEW = 64, DEEP = 16 };
    const double volume = (double)p->m * (double)p->n * (double)p->k, small = 16777216, medium = 1073741824;
    if (p->m == 1) return "row";
    if (p->n == 1) return "column";
    if (p->k / DEEP >= max_i64(p->m, p->n)) return "deep";
    if (p->m <= FEW && p->n >= 4 * p->m) return "few_rows";
    if (p->n <= FEW && p->m >= 4 * p->n) return "few_columns";
    return volume <= small ? "small" : volume <= medium ? "medium" : "large";
}

const char *tuned_ops(const tw_problem *p) { return ops_words[2 * op_transposes(p->op_a) + op_transposes(p->op_b)]; }

/* ---- a row from its text ---- */

typedef struct reader {
    const char *at, *end;
    const char *where;
} reader;

/* The next word before the end or the bar; false: there is none. */
static bool next_word(reader *r, const char **word, size_t *length)
{
    while (r->at < r->end && *r->at == ' ') r->at++;
    *word = r->at;
    while (r->at < r->end && *r->at != ' ' && *r->at != '|') r->at++;
    *length = (size_t)(r->at - *word);
    return *length > 0;
}

static tw_status take_word(reader *r, const char *what, char *out, size_t bytes)
{
    const char *word;
    size_t length;
    if (!next_word(r, &word, &length)) return fail(TW_BAD_ARGUMENT, "%s: the %s is missing", r->where, what);
    if (length >= bytes) return fail(TW_BAD_ARGUMENT, "%s: the %s is %.40s, which is too long", r->where, what, word);
    memcpy(out, word, length);
    out[length] = '\0';
    return TW_OK;
}

static bool is_among(const char *word, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(word, words[i]) == 0) return true;
    return false;
}
#define IS_AMONG(word, words) is_among(word, words, sizeof(words) / sizeof *(words))

static bool is_numbered(const char *word, const char *before)
{
    enum { MOST_DIGITS = 6 };
    const size_t length = strlen(before),
                 digits = strspn(word + (strncmp(word, before, length) == 0 ? length : 0), "0123456789");
    return strncmp(word, before, length) == 0 && digits > 0 && digits <= MOST_DIGITS && word[length + digits] == '\0';
}

static bool is_device(const char *word)
{
    static const char *const words[] = {"*", "gpu", "nvidia", "processor"};
    return IS_AMONG(word, words) || is_numbered(word, "sm_") || is_numbered(word, "vector");
}

/* "*" at the end of the word stands for the rest. is NULL: nothing is, so that only "*" alone holds. */
static bool word_holds(const char *word, const char *is)
{
    if (is == NULL) return word[0] == '*';
    for (; *word != '*'; word++, is++) {
        if (*word != *is) return false;
        if (*word == '\0') break;
    }
    return true;
}

static bool is_kernel(const char *word, const char *engine)
{
    const char *star = strchr(word, '*');
    if (star != NULL && star[1] != '\0') return false;
    for (int i = 0; i < kernel_count(); i++) {
        const tw_lab_kernel *k = &kernel_at(i)->lab;
        if (word_holds(word, k->rung) && strcmp(k->engine, engine) == 0 && k->production) return true;
    }
    return false;
}

static tw_status check_words(const reader *r, const tuned_row *row)
{
    static const char *const engines[] = {ENGINE_CPU, ENGINE_OPENCL, ENGINE_CUDA};
    const struct {
        const char *what, *word;
        bool known;
    } checks[] = {{"engine", row->engine, IS_AMONG(row->engine, engines)},
                  {"device", row->device, is_device(row->device)},
                  {"dtype", row->dtype, row->dtype[0] == '*' || tw_lab_dtype_named(row->dtype) != NULL},
                  {"shape", row->shape, row->shape[0] == '*' || IS_AMONG(row->shape, shape_words)},
                  {"ops", row->ops, row->ops[0] == '*' || IS_AMONG(row->ops, ops_words)},
                  {"kernel", row->kernel, is_kernel(row->kernel, row->engine)}};
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
        if (!checks[i].known)
            return fail(TW_BAD_ARGUMENT, "%s: the %s is %s, which is none", r->where, checks[i].what, checks[i].word);
    return TW_OK;
}

double tuned_number_read(const char *text, const char **end)
{
    enum { MOST_DIGITS = 15, MOST_POWER = 99 }; /* such digits are exact, so that a quotient is rounded once */
    int64_t digits = 0;
    int count = 0, power = 0, given = 0;
    const char *at = text, *point = NULL;
    for (; (*at >= '0' && *at <= '9' && count < MOST_DIGITS) || (*at == '.' && point == NULL); at++) {
        if (*at == '.')
            point = at;
        else
            digits = 10 * digits + (*at - '0'), count++, power -= point != NULL;
    }
    *end = count > 0 ? at : text;
    if (count > 0 && *at == 'e' && (at[1] == '-' || at[1] == '+') && at[2] >= '0' && at[2] <= '9') {
        for (at += 2; *at >= '0' && *at <= '9'; at++) given = given <= MOST_POWER ? 10 * given + (*at - '0') : given;
        power += (*end)[1] == '-' ? -given : given, *end = at;
    }
    double ten = 1;
    for (int i = power < 0 ? -power : power; i > 0; i--) ten *= 10;
    return power < 0 ? (double)digits / ten : (double)digits * ten;
}

const char *tuned_number_text(double value, int digits, char text[32])
{
    snprintf(text, 32, "%.*g", digits, value);
    const size_t point = strspn(text, "-+0123456789"), bytes = strcspn(text + point, "e0123456789");
    if (bytes == 0) return text;
    text[point] = '.'; /* the locale's may be another, and of several bytes */
    memmove(text + point + 1, text + point + bytes, strlen(text + point + bytes) + 1);
    return text;
}

static tw_status take_value(const reader *r, tuned_row *row, const char *word, size_t length)
{
    char text[64];
    if (length >= sizeof text) return fail(TW_BAD_ARGUMENT, "%s: %.40s is too long", r->where, word);
    memcpy(text, word, length);
    text[length] = '\0';
    const char *end;
    char *equals = strchr(text, '=');
    if (equals == NULL) return fail(TW_BAD_ARGUMENT, "%s: found %s, expected name=value", r->where, text);
    *equals = '\0';
    for (int i = 0; i < TUNED_PARAMETERS; i++) {
        const tuned_about *about = &parameters[i];
        if (strcmp(about->name, text) != 0 || strcmp(about->engine, row->engine) != 0) continue;
        const double value = tuned_number_read(equals + 1, &end);
        const bool whole = about->least == (double)(int64_t)about->least;
        if (end == equals + 1 || *end != '\0' || !(value >= about->least && value <= about->most) ||
            (whole && value != (double)(int64_t)value))
            return fail(TW_BAD_ARGUMENT, "%s: %s is %s, expected a %snumber from %g to %g", r->where, text, equals + 1,
                        whole ? "whole " : "", about->least, about->most);
        for (int j = 0; j < row->count; j++)
            if (row->values[j].parameter == (tuned_parameter)i)
                return fail(TW_BAD_ARGUMENT, "%s: %s is given twice", r->where, text);
        row->values[row->count].parameter = (tuned_parameter)i;
        row->values[row->count++].value = value;
        return TW_OK;
    }
    return fail(TW_BAD_ARGUMENT, "%s: the %s engine's planner has no parameter %s", r->where, row->engine, text);
}

tw_status tuned_parse(const char *text, size_t length, const char *where, tuned_row *out)
{
    reader r = {text, text + length, where};
    const char *word;
    size_t word_length;
    *out = (tuned_row){.count = 0};
    TRY(take_word(&r, "engine", out->engine, sizeof out->engine));
    TRY(take_word(&r, "device", out->device, sizeof out->device));
    TRY(take_word(&r, "dtype", out->dtype, sizeof out->dtype));
    TRY(take_word(&r, "shape", out->shape, sizeof out->shape));
    TRY(take_word(&r, "ops", out->ops, sizeof out->ops));
    TRY(take_word(&r, "kernel", out->kernel, sizeof out->kernel));
    TRY(check_words(&r, out));
    while (next_word(&r, &word, &word_length)) TRY(take_value(&r, out, word, word_length));
    if (out->count == 0) return fail(TW_BAD_ARGUMENT, "%s: the row gives no parameter", where);
    if (r.at == r.end || *r.at != '|')
        return fail(TW_BAD_ARGUMENT, "%s: a bar and where the row comes from are missing", where);
    return TW_OK;
}

/* ---- rows for a device ---- */

static bool holds_for_device(const tuned_row *row, const device_facts *device)
{
    const int vector_bytes = strcmp(device->engine, ENGINE_CPU) == 0 ? cpu_vector_bytes(device->features)
                                                                     : device->vector_bytes;
    if (strcmp(row->engine, device->engine) != 0) return false;
    if (row->device[0] == '*') return true;
    if (row->device[0] == 'g') return vector_bytes == 0;
    if (row->device[0] == 'n') return device->sm > 0;
    if (row->device[0] == 's') return device->sm > 0 && atoi(row->device + strlen("sm_")) == device->sm;
    return vector_bytes > 0 && (row->device[0] == 'p' || atoi(row->device + strlen("vector")) == vector_bytes);
}

/* Call take() with each committed row of this engine (NULL: of any), in order. */
static tw_status each_committed(const char *engine, tw_status (*take)(const tuned_row *row, void *job), void *job)
{
    const size_t word = engine != NULL ? strlen(engine) : 0;
    tuned_row row;
    for (const tuned_file *file = tuned_files; file->file != NULL; file++) {
        int number = 1;
        for (const char *line = file->text; *line != '\0'; number++) {
            const size_t length = strcspn(line, "\n");
            char where[96];
            snprintf(where, sizeof where, "data/tuned/%s, line %d", file->file, number);
            const bool wanted = engine == NULL || (strncmp(line, engine, word) == 0 && line[word] == ' ');
            if (length > 0 && *line != '#' && wanted) {
                TRY(tuned_parse(line, length, where, &row));
                TRY(take(&row, job));
            }
            line += length + (line[length] == '\n');
        }
    }
    return TW_OK;
}

typedef struct gathering {
    const device_facts *device;
    tuned_table *table;
} gathering;

static tw_status gather(const tuned_row *row, void *job)
{
    gathering *g = job;
    if (!holds_for_device(row, g->device)) return TW_OK;
    tuned_table *more = realloc(g->table, sizeof *more + (size_t)(g->table->count + 1) * sizeof *row);
    if (more == NULL) return fail(TW_NO_MEMORY, "no memory for the tuned rows");
    more->rows[more->count++] = *row;
    g->table = more;
    return TW_OK;
}

/* Does the row hold for every product? */
static bool is_general(const tuned_row *row)
{
    return row->dtype[0] == '*' && row->shape[0] == '*' && row->ops[0] == '*';
}

static void give(const tuned_row *row, tuned_values *out)
{
    for (int i = 0; i < row->count; i++) out->each[row->values[i].parameter] = row->values[i].value;
}

/* What the first rows say of each kernel, as far as they hold for every product: a plan does not look through them. */
static tw_status resolve(gathering *g)
{
    const int kernels = kernel_count() + 1;
    const size_t rows = sizeof *g->table + (size_t)g->table->count * sizeof(tuned_row);
    tuned_table *t = realloc(g->table, rows + (size_t)kernels * sizeof(tuned_values));
    if (t == NULL) return fail(TW_NO_MEMORY, "no memory for the tuned rows");
    g->table = t;
    t->resolved = memset((char *)t + rows, 0, (size_t)kernels * sizeof(tuned_values));
    while (t->general < t->count && is_general(&t->rows[t->general])) t->general++;
    for (int i = 0; i < kernels; i++) {
        const tw_lab_kernel *kernel = i < kernel_count() ? &kernel_at(i)->lab : NULL;
        if (kernel != NULL && strcmp(kernel->engine, g->device->engine) != 0) continue;
        for (int j = 0; j < t->general; j++)
            if (word_holds(t->rows[j].kernel, kernel != NULL ? kernel->rung : NULL)) give(&t->rows[j], &t->resolved[i]);
    }
    return TW_OK;
}

tuned_table *tuned_table_make(const device_facts *device, const tuned_row *own, int own_count)
{
    gathering g = {device, calloc(1, sizeof *g.table)};
    if (g.table == NULL) {
        fail(TW_NO_MEMORY, "no memory for the tuned rows");
        return NULL;
    }
    tw_status status = each_committed(device->engine, gather, &g);
    g.table->committed = g.table->count;
    for (int i = 0; status == TW_OK && i < own_count; i++) status = gather(&own[i], &g);
    if (status == TW_OK) status = resolve(&g);
    if (status == TW_OK) return g.table;
    free(g.table);
    return NULL;
}

/* ---- parameters of a product ---- */

typedef struct looking {
    const device_facts *device;
    const char *dtype, *shape, *ops, *rung;
    tuned_values *out;
} looking;

static bool holds(const tuned_row *row, const looking *l)
{
    return word_holds(row->dtype, l->dtype) && word_holds(row->shape, l->shape) && word_holds(row->ops, l->ops) &&
           word_holds(row->kernel, l->rung);
}

static void apply(const tuned_row *row, const looking *l)
{
    if (holds(row, l)) give(row, l->out);
}

static tw_status apply_if_of_device(const tuned_row *row, void *job)
{
    const looking *l = job;
    if (holds_for_device(row, l->device)) apply(row, l);
    return TW_OK;
}

static looking looking_for(const device_facts *device, const tw_problem *p, const kernel_row *row, tuned_values *out)
{
    return (looking){device,       dtype_find(p->dtype)->lab.name,     tuned_shape_class(p),
                     tuned_ops(p), row != NULL ? row->lab.rung : NULL, out};
}

const tuned_values *tuned_find(const device_facts *device, const tw_problem *p, const kernel_row *row,
                               tuned_values *room)
{
    const tuned_table *table = device->tuned;
    const tuned_values *resolved = table != NULL ? &table->resolved[kernel_index(row)] : NULL;
    if (table != NULL && table->general == table->count) return resolved;
    looking l = looking_for(device, p, row, room);
    *room = table != NULL ? *resolved : (tuned_values){.each = {0}};
    if (table == NULL)
        each_committed(device->engine, apply_if_of_device, &l); /* the build has checked them */
    else
        for (int i = table->general; i < table->count; i++) apply(&table->rows[i], &l);
    return room;
}

void tuned_text(const tuned_row *row, char *text, size_t bytes)
{
    char number[32];
    int used = snprintf(text, bytes, "%s %s %s %s %s %s", row->engine, row->device, row->dtype, row->shape, row->ops,
                        row->kernel);
    for (int i = 0; i < row->count && used >= 0 && (size_t)used < bytes; i++)
        used += snprintf(text + used, bytes - (size_t)used, " %s=%s", parameters[row->values[i].parameter].name,
                         tuned_number_text(row->values[i].value, 10, number));
}

void tuned_took_part(const device_facts *device, const tw_problem *p, const kernel_row *row, char *text, size_t bytes)
{
    const tuned_table *table = device->tuned;
    const looking l = looking_for(device, p, row, NULL);
    size_t used = 0;
    text[0] = '\0';
    for (int i = table != NULL ? table->committed : 0; table != NULL && i < table->count && used + 2 < bytes; i++) {
        if (!holds(&table->rows[i], &l)) continue;
        if (used > 0) used += (size_t)snprintf(text + used, bytes - used, "; ");
        tuned_text(&table->rows[i], text + used, bytes - used);
        used += strlen(text + used);
    }
}

/* ---- the check of the build ---- */

static tw_status note_given(const tuned_row *row, void *job)
{
    bool *given = job;
    const bool all = row->device[0] == '*' && is_general(row) && row->kernel[0] == '*';
    for (int i = 0; all && i < row->count; i++) given[row->values[i].parameter] = true;
    return TW_OK;
}

tw_status tuned_check(void)
{
    bool given[TUNED_PARAMETERS] = {false};
    TRY(each_committed(NULL, note_given, given));
    for (int i = 0; i < TUNED_PARAMETERS; i++)
        if (!given[i])
            return fail(TW_BAD_ARGUMENT, "data/tuned: no row for all products of the %s engine gives %s",
                        parameters[i].engine, parameters[i].name);
    return TW_OK;
}
