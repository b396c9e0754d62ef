/* expression_parse.c - makes the list of values of an epilogue's text.
 *
 *     text     compare
 *     compare  sum [ ("<" | "<=" | ">" | ">=" | "==" | "!=") sum ]
 *     sum      product { ("+" | "-") product }
 *     product  unary { ("*" | "/") unary }
 *     unary    "-" unary | primary
 *     primary  number | name | name "[" index [ "," index ] "]" | function "(" text { "," text } ")" | "(" text ")"
 *
 * A value that is already in the list is not made again. */
#include "expression.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_DEPTH = 64, MOST_OPERANDS = 3 };

/* A text that is being read: the caller's, or that of a function, whose names x, y and z are its operands. */
typedef struct reader {
    struct tw_epilogue *epilogue;
    const char *text, *at;
    const int *operands; /* of the function; NULL: the caller's text */
    int column;          /* of the function's call */
    int depth;
} reader;

static const struct function {
    const char *name;
    int operands;
    value_op op;
    const char *text; /* of a function that is defined by others; else NULL */
} functions[] = {
#define OPERATION(id, name, operands, ...) {#name, operands, VALUE_##id, NULL},
#define DEFINED(name, operands, text)      {#name, operands, VALUE_OPS, text},
#include "../data/functions.def"
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

static void skip_blanks(reader *r)
{
    while (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r') r->at++;
}

static int column_of(const reader *r) { return r->operands != NULL ? r->column : (int)(r->at - r->text) + 1; }

/* What stands there, for a sentence. */
static const char *found(const reader *r, char text[24])
{
    const unsigned char c = (unsigned char)*r->at;
    if (c == '\0')
        snprintf(text, 24, "the end");
    else if (c > ' ' && c < 127)
        snprintf(text, 24, "'%c'", c);
    else
        snprintf(text, 24, "byte 0x%02x", c);
    return text;
}

static tw_status expected(const reader *r, const char *what)
{
    char text[24];
    return fail(TW_BAD_ARGUMENT, "epilogue, column %d: found %s, expected %s", column_of(r), found(r, text), what);
}

/* ---- values ---- */

static bool alike(const value *x, const value *y)
{
    return x->op == y->op && memcmp(x->of, y->of, sizeof x->of) == 0 &&
           memcmp(&x->number, &y->number, sizeof x->number) == 0;
}

static tw_status put(reader *r, value v, int *out)
{
    value_list *list = &r->epilogue->values;
    for (int i = 0; i < list->count; i++)
        if (alike(&list->of[i], &v)) {
            *out = i;
            return TW_OK;
        }
    if (list->count == MOST_VALUES)
        return fail(TW_BAD_ARGUMENT, "epilogue, column %d: more than %d values and operations", column_of(r),
                    (int)MOST_VALUES);
    *out = list->count;
    list->of[list->count++] = v;
    return TW_OK;
}

static tw_status put_number(reader *r, double number, int *out)
{
    return put(r, (value){.op = VALUE_NUMBER, .uniform = true, .number = number}, out);
}

/* An operation on up to three values; arithmetic of numbers is done here. */
static tw_status put_operation(reader *r, value_op op, const int *of, int operands, int *out)
{
    const value *x = &r->epilogue->values.of[of[0]], *y = &r->epilogue->values.of[operands > 1 ? of[1] : of[0]];
    value v = {.op = (uint8_t)op, .uniform = true};
    for (int i = 0; i < operands; i++)
        v.of[i] = (int16_t)of[i], v.uniform = v.uniform && r->epilogue->values.of[of[i]].uniform;
    if (x->op == VALUE_NUMBER && y->op == VALUE_NUMBER) {
        if (op == VALUE_ADD) return put_number(r, x->number + y->number, out);
        if (op == VALUE_SUBTRACT) return put_number(r, x->number - y->number, out);
        if (op == VALUE_MULTIPLY) return put_number(r, x->number * y->number, out);
        if (op == VALUE_DIVIDE) return put_number(r, x->number / y->number, out);
        if (op == VALUE_NEGATE) return put_number(r, -x->number, out);
    }
    return put(r, v, out);
}

/* ---- the grammar ---- */

static tw_status read_text(reader *r, int *out);

/* Reads this character behind blanks, if it stands there. */
static bool takes(reader *r, char c)
{
    skip_blanks(r);
    if (*r->at != c) return false;
    r->at++;
    return true;
}

static tw_status read_name(reader *r, char name[EPILOGUE_MOST_NAME + 1])
{
    size_t length = 0;
    while (is_letter(r->at[length]) || is_digit(r->at[length])) length++;
    if (length > EPILOGUE_MOST_NAME)
        return fail(TW_BAD_ARGUMENT, "epilogue, column %d: a name of %zu characters, expected at most %d", column_of(r),
                    length, (int)EPILOGUE_MOST_NAME);
    memcpy(name, r->at, length);
    name[length] = '\0';
    r->at += length;
    return TW_OK;
}

/* Operands of a function between its brackets. */
static tw_status read_operands(reader *r, const struct function *f, int of[MOST_OPERANDS])
{
    for (int i = 0; i < f->operands; i++) {
        if (i > 0 && !takes(r, ','))
            return fail(TW_BAD_ARGUMENT, "epilogue, column %d: %s takes %d operands, expected ','", column_of(r),
                        f->name, f->operands);
        TRY(read_text(r, &of[i]));
    }
    if (takes(r, ')')) return TW_OK;
    return fail(TW_BAD_ARGUMENT, "epilogue, column %d: %s takes %d operand%s, expected ')'", column_of(r), f->name,
                f->operands, f->operands > 1 ? "s" : "");
}

/* functions + FUNCTIONS: there is none of that name. */
static const struct function *function_named(const char *name)
{
    const struct function *f = functions;
    while (f < functions + FUNCTIONS && strcmp(f->name, name) != 0) f++;
    return f;
}

static tw_status read_call(reader *r, const char *name, const char *start, int *out)
{
    int of[MOST_OPERANDS] = {0};
    const struct function *f = function_named(name);
    if (f == functions + FUNCTIONS) {
        char names[FUNCTIONS * 16] = "";
        for (int i = 0; i < FUNCTIONS; i++) {
            const size_t used = strlen(names);
            snprintf(names + used, sizeof names - used, "%s%s", i > 0 ? ", " : "", functions[i].name);
        }
        r->at = start;
        return fail(TW_BAD_ARGUMENT, "epilogue, column %d: no function is named %s; there are %s", column_of(r), name,
                    names);
    }
    TRY(read_operands(r, f, of));
    if (f->text == NULL) return put_operation(r, f->op, of, f->operands, out);
    reader inner = {.epilogue = r->epilogue, .text = f->text, .at = f->text, .operands = of};
    inner.column = r->operands != NULL ? r->column : (int)(start - r->text) + 1;
    return read_text(&inner, out);
}

static tw_status read_index(reader *r, int16_t *out)
{
    skip_blanks(r);
    if ((*r->at != 'i' && *r->at != 'j') || is_letter(r->at[1]) || is_digit(r->at[1]))
        return expected(r, "the index i or j");
    *out = *r->at++ == 'i' ? INDEX_I : INDEX_J;
    return TW_OK;
}

/* A bound operand: alone, [i], [j], or [i, j] and [j, i]. */
static tw_status read_bound(reader *r, int binding, const char *start, int *out)
{
    const struct tw_epilogue *e = r->epilogue;
    const value_binding *b = &e->values.bound[binding];
    value v = {.op = VALUE_BOUND, .of = {(int16_t)binding}};
    if (takes(r, '[')) {
        TRY(read_index(r, &v.of[1]));
        if (takes(r, ',')) {
            TRY(read_index(r, &v.of[2]));
            if (v.of[2] == v.of[1])
                return fail(TW_BAD_ARGUMENT, "epilogue, column %d: a matrix has the index i, j or j, i", column_of(r));
            if (b->ld == 0)
                return fail(TW_BAD_ARGUMENT, "epilogue, column %d: %s has two indices, and its ld is 0", column_of(r),
                            e->names[binding]);
        }
        if (!takes(r, ']')) return expected(r, v.of[2] != INDEX_NONE ? "']'" : "',' or ']'");
    }
    v.uniform = v.of[1] == INDEX_NONE;
    const bool is_number = b->type == TYPE_NUMBER;
    if (is_number && !v.uniform) {
        r->at = start;
        return fail(TW_BAD_ARGUMENT, "epilogue, column %d: %s is bound to a number, which has no index", column_of(r),
                    e->names[binding]);
    }
    if (is_number) v = (value){.op = VALUE_BOUND, .uniform = true, .of = {(int16_t)binding}};
    return put(r, v, out);
}

static tw_status fail_unknown(reader *r, const char *name, const char *start)
{
    const struct tw_epilogue *e = r->epilogue;
    char names[MOST_BINDINGS * (EPILOGUE_MOST_NAME + 3)] = "";
    for (int i = 0; i < e->values.bindings; i++) {
        const size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, ", %s", e->names[i]);
    }
    r->at = start;
    if (function_named(name) != functions + FUNCTIONS)
        return fail(TW_BAD_ARGUMENT, "epilogue, column %d: %s is a function, expected what it is of, as in %s(acc)",
                    column_of(r), name, name);
    return fail(TW_BAD_ARGUMENT, "epilogue, column %d: nothing is bound to the name %s; there are acc, i, j%s",
                column_of(r), name, names);
}

static tw_status read_named(reader *r, int *out)
{
    char name[EPILOGUE_MOST_NAME + 1];
    const char *const start = r->at;
    TRY(read_name(r, name));
    if (takes(r, '(')) return read_call(r, name, start, out);
    if (r->operands != NULL) {
        *out = r->operands[name[0] - 'x'];
        return TW_OK;
    }
    if (strcmp(name, "acc") == 0) return put(r, (value){.op = VALUE_ACC}, out);
    if (strcmp(name, "i") == 0) return put(r, (value){.op = VALUE_ROW}, out);
    if (strcmp(name, "j") == 0) return put(r, (value){.op = VALUE_COLUMN}, out);
    for (int i = 0; i < r->epilogue->values.bindings; i++)
        if (strcmp(name, r->epilogue->names[i]) == 0) return read_bound(r, i, start, out);
    return fail_unknown(r, name, start);
}

/* Digits with a point among them or not, and an exponent or none, whatever the locale says of decimal commas: at most
 * 19 digits count. *end is behind the last character; text itself where no digit stands. */
static double decimal(const char *text, const char **end)
{
    enum { MOST_POWER = 9999 };
    const uint64_t most = (UINT64_MAX - 9) / 10;
    uint64_t digits = 0;
    int count = 0, power = 0, given = 0;
    const char *at = text, *point = NULL;
    for (; is_digit(*at) || (*at == '.' && point == NULL); at++) {
        if (*at == '.') {
            point = at;
            continue;
        }
        count++;
        if (digits <= most)
            digits = 10 * digits + (uint64_t)(*at - '0'), power -= point != NULL;
        else
            power += point == NULL;
    }
    *end = count > 0 ? at : text;
    const bool negative = *at == 'e' && at[1] == '-';
    const char *exponent = at + 1 + (negative || at[*at == 'e'] == '+');
    if (count > 0 && *at == 'e' && is_digit(*exponent)) {
        for (at = exponent; is_digit(*at); at++) given = given < MOST_POWER ? 10 * given + (*at - '0') : given;
        power += negative ? -given : given, *end = at;
    }
    if (digits == 0) return 0;
    return (double)(power < 0 ? (long double)digits / powl(10, -power) : (long double)digits * powl(10, power));
}

static tw_status read_number(reader *r, int *out)
{
    const char *end;
    const double number = decimal(r->at, &end);
    if (end == r->at || is_letter(*end) || is_digit(*end) || *end == '.')
        return expected(r, "a number such as 0.5 or 1e-5");
    if (!isfinite(number))
        return fail(TW_BAD_ARGUMENT, "epilogue, column %d: the number is too large for a double", column_of(r));
    r->at = end;
    return put_number(r, number, out);
}

static tw_status read_primary(reader *r, int *out)
{
    skip_blanks(r);
    if (is_letter(*r->at)) return read_named(r, out);
    if (is_digit(*r->at) || *r->at == '.') return read_number(r, out);
    if (!takes(r, '(')) return expected(r, "a number, a name or '('");
    TRY(read_text(r, out));
    return takes(r, ')') ? TW_OK : expected(r, "')' or an operator");
}

static tw_status read_unary(reader *r, int *out)
{
    bool negative = false;
    while (takes(r, '-')) negative = !negative;
    TRY(read_primary(r, out));
    return negative ? put_operation(r, VALUE_NEGATE, out, 1, out) : TW_OK;
}

/* Operators of one precedence, from left to right. */
static tw_status read_operators(reader *r, const char *operators, const value_op *ops,
                                tw_status (*read)(reader *r, int *out), int *out)
{
    int of[2];
    TRY(read(r, &of[0]));
    for (;;) {
        skip_blanks(r);
        const char *which = *r->at != '\0' ? strchr(operators, *r->at) : NULL;
        if (which == NULL) break;
        r->at++;
        TRY(read(r, &of[1]));
        TRY(put_operation(r, ops[which - operators], of, 2, &of[0]));
    }
    *out = of[0];
    return TW_OK;
}

static tw_status read_product(reader *r, int *out)
{
    static const value_op ops[] = {VALUE_MULTIPLY, VALUE_DIVIDE};
    return read_operators(r, "*/", ops, read_unary, out);
}

static tw_status read_sum(reader *r, int *out)
{
    static const value_op ops[] = {VALUE_ADD, VALUE_SUBTRACT};
    return read_operators(r, "+-", ops, read_product, out);
}

static tw_status read_comparison(reader *r, int *out)
{
    int of[2];
    TRY(read_sum(r, &of[0]));
    skip_blanks(r);
    const char sign = *r->at;
    const bool or_equal = sign != '\0' && r->at[1] == '=';
    *out = of[0];
    if (sign != '<' && sign != '>' && !(or_equal && (sign == '=' || sign == '!'))) return TW_OK;
    r->at += or_equal ? 2 : 1;
    TRY(read_sum(r, &of[1]));
    const int turned[2] = {of[1], of[0]};
    const value_op op = sign == '='   ? VALUE_EQUAL
                        : sign == '!' ? VALUE_NOT_EQUAL
                        : or_equal    ? VALUE_LESS_EQUAL
                                      : VALUE_LESS;
    return put_operation(r, op, sign == '>' ? turned : of, 2, out);
}

static tw_status read_text(reader *r, int *out)
{
    if (++r->depth > MOST_DEPTH + 1)
        return fail(TW_BAD_ARGUMENT, "epilogue, column %d: more than %d brackets within each other", column_of(r),
                    (int)MOST_DEPTH);
    TRY(read_comparison(r, out));
    r->depth--;
    return TW_OK;
}

/* ---- slots ---- */

int value_operands(const value *v)
{
    if (v->op < VALUE_ADD) return 0;
    if (v->op == VALUE_NEGATE) return 1;
    for (int i = 0; i < FUNCTIONS; i++)
        if (functions[i].op == v->op) return functions[i].operands;
    return 2;
}

/* Keeps what the last value needs, in its order, and that last. */
static void drop_unused(value_list *list, int last)
{
    bool used[MOST_VALUES] = {false};
    int16_t moved[MOST_VALUES];
    int count = 0;
    used[last] = true;
    for (int i = last; i >= 0; i--)
        for (int q = 0; used[i] && q < value_operands(&list->of[i]); q++) used[list->of[i].of[q]] = true;
    for (int i = 0; i <= last; i++) {
        if (!used[i]) continue;
        value v = list->of[i];
        for (int q = 0; q < value_operands(&v); q++) v.of[q] = moved[v.of[q]];
        moved[i] = (int16_t)count;
        list->of[count++] = v;
    }
    list->count = count;
}

/* A slot for each value, free again behind the last that needs it. */
static tw_status give_slots(value_list *list)
{
    int last_use[MOST_VALUES] = {0}, uniforms = 0;
    bool taken[MOST_SLOTS] = {false};
    for (int i = 0; i < list->count; i++)
        for (int q = 0; q < value_operands(&list->of[i]); q++) last_use[list->of[i].of[q]] = i;
    for (int i = 0; i < list->count; i++) {
        value *v = &list->of[i];
        for (int q = 0; q < value_operands(v); q++) {
            const value *x = &list->of[v->of[q]];
            if (!x->uniform && last_use[v->of[q]] == i) taken[x->slot] = false;
        }
        int slot = v->uniform ? uniforms++ : 0;
        while (!v->uniform && slot < MOST_SLOTS && taken[slot]) slot++;
        if (v->uniform && slot == MOST_UNIFORMS)
            return fail(TW_BAD_ARGUMENT, "epilogue: more than %d values do not depend on the element",
                        (int)MOST_UNIFORMS);
        if (!v->uniform && slot == MOST_SLOTS)
            return fail(TW_BAD_ARGUMENT, "epilogue: more than %d values are needed at the same time", (int)MOST_SLOTS);
        if (!v->uniform) taken[slot] = true;
        v->slot = (uint8_t)slot;
    }
    return TW_OK;
}

tw_status epilogue_parse(struct tw_epilogue *e)
{
    reader r = {.epilogue = e, .text = e->text, .at = e->text};
    int last = 0;
    TRY(read_text(&r, &last));
    skip_blanks(&r);
    if (*r.at != '\0') return expected(&r, "an operator or the end");
    drop_unused(&e->values, last);
    return give_slots(&e->values);
}
