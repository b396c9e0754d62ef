/* expression_text.c - an epilogue's values as text for the compilers of GPUs, in words that the engines' epilogue
 * headers define: EPILOGUE_VALUES is the body of a function of `acc`, `i`, `j` and `bound`. */
#include "expression.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Text that grows; NULL once there was no memory. */
typedef struct growing {
    char *text;
    size_t used, room;
} growing;

__attribute__((format(printf, 2, 3))) static void add(growing *g, const char *format, ...)
{
    enum { LINE = 256 };
    va_list arguments;
    if (g->text == NULL) return;
    if (g->room - g->used < LINE) {
        char *more = realloc(g->text, 2 * g->room);
        if (more == NULL) free(g->text);
        g->text = more, g->room *= 2;
        if (more == NULL) return;
    }
    va_start(arguments, format);
    g->used += (size_t)vsnprintf(g->text + g->used, LINE, format, arguments);
    va_end(arguments);
}

static const char *const types[] = {[TYPE_F64] = "f64", [TYPE_F32] = "f32", [TYPE_F16] = "f16", [TYPE_BF16] = "bf16"};

/* What an operand that is bound is read by: its type, its number, and where the element lies; `step` elements before
 * that of the next column, if that is given. */
static void add_bound(growing *g, const char *how, const value_list *list, const value *v, const char *step)
{
    static const char letters[] = {[INDEX_I] = 'i', [INDEX_J] = 'j'};
    const int q = v->of[0];
    const value_type type = list->bound[q].type;
    if (type == TYPE_NUMBER)
        add(g, "BOUND_NUMBER(%d)", q);
    else if (v->of[1] == INDEX_NONE)
        add(g, "%s(%s, %d, 0)", how, types[type], q);
    else {
        const int16_t last = v->of[2] != INDEX_NONE ? v->of[2] : v->of[1];
        add(g, "%s(%s, %d, %c", how, types[type], q, letters[last]);
        if (list->bound[q].stride != 1) add(g, " * BOUND_STRIDE(%d)", q);
        if (last != v->of[1]) add(g, " + %c * BOUND_LD(%d)", letters[v->of[1]], q);
        if (step != NULL) add(g, step, q);
        add(g, ")");
    }
}

/* EPILOGUE_BOUND: OPERAND(number, type) or SCALAR(number) of each that is read, in the order of their numbers. */
static void add_list(growing *g, const value_list *list)
{
    add(g, "#define EPILOGUE_BOUND(OPERAND, SCALAR)");
    for (int q = 0; q < list->bindings; q++) {
        const value_type type = list->bound[q].type;
        if (!value_reads(list, q)) continue;
        if (type == TYPE_NUMBER)
            add(g, " SCALAR(%d)", q);
        else
            add(g, " OPERAND(%d, %s)", q, types[type]);
    }
    add(g, "\n");
}

/* Which of the vectors along that index this is, of those before it in the list. */
static int vector_number(const value_list *list, const value *v)
{
    int number = 0;
    for (const value *other = list->of; other < v; other++)
        number += other->op == VALUE_BOUND && other->of[1] == v->of[1] && other->of[2] == INDEX_NONE;
    return number;
}

/* A vector's element as BOUND_I(number, element) or BOUND_J(...): a kernel may have loaded it before. */
static void add_element(growing *g, const value_list *list, const value *v)
{
    const bool vector = v->of[1] != INDEX_NONE && v->of[2] == INDEX_NONE;
    const bool across = v->of[1] == INDEX_J || v->of[2] == INDEX_J,
               by_rows = v->of[1] == INDEX_J && v->of[2] == INDEX_I;
    const char *const step = by_rows                             ? ", BOUND_LD(%d)"
                             : list->bound[v->of[0]].stride == 1 ? ", 1"
                                                                 : ", BOUND_STRIDE(%d)";
    if (vector) add(g, "BOUND_%c(%d, ", v->of[1] == INDEX_I ? 'I' : 'J', vector_number(list, v));
    add_bound(g, across ? "BOUND_ACROSS" : "BOUND_AT", list, v, across ? step : NULL);
    if (vector) add(g, ")");
}

/* EPILOGUE_I or EPILOGUE_J: HOLD(number, element) of each vector along that index, and how many there are. */
static void add_vectors(growing *g, const value_list *list, value_index along, char letter)
{
    int count = 0;
    add(g, "#define EPILOGUE_%c(HOLD)", letter);
    for (const value *v = list->of; v < list->of + list->count; v++) {
        if (v->op != VALUE_BOUND || v->of[1] != (int)along || v->of[2] != INDEX_NONE) continue;
        add(g, " HOLD(%d, ", count++), add_bound(g, "BOUND_AT", list, v, NULL), add(g, ")");
    }
    add(g, "\n#define EPILOGUE_COUNT_%c %d\n", letter, count);
}

/* EPILOGUE_MATRICES: where there are matrices, to ask for an element of each. */
static void add_matrices(growing *g, const value_list *list)
{
    bool any = false;
    for (const value *v = list->of; v < list->of + list->count; v++) {
        if (v->op != VALUE_BOUND || v->of[2] == INDEX_NONE) continue;
        add(g, any ? " " : "#define EPILOGUE_MATRICES "), add_bound(g, "PREFETCH_AT", list, v, NULL);
        any = true;
    }
    if (any) add(g, "\n");
}

/* A number by its bits in f64 and in f32: no digits are lost, infinities and NaN have no digits, and a locale may print
 * a comma. */
static void add_number(growing *g, double number)
{
    const float single = (float)number;
    uint64_t bits;
    uint32_t single_bits;
    memcpy(&bits, &number, sizeof bits), memcpy(&single_bits, &single, sizeof single_bits);
    add(g, "LITERAL(0x%016llx, 0x%08x)", (unsigned long long)bits, (unsigned)single_bits);
}

static void add_value(growing *g, const value_list *list, const value *v)
{
    static const char *const names[VALUE_OPS] = {
        [VALUE_ADD] = "add",
        [VALUE_SUBTRACT] = "subtract",
        [VALUE_MULTIPLY] = "multiply",
        [VALUE_DIVIDE] = "divide",
        [VALUE_NEGATE] = "negate",
        [VALUE_LESS] = "less",
        [VALUE_LESS_EQUAL] = "less_equal",
        [VALUE_EQUAL] = "equal",
        [VALUE_NOT_EQUAL] = "not_equal",
#define OPERATION(id, name, ...) [VALUE_##id] = #name,
#define DEFINED(...)
#include "../data/functions.def"
    };
    const int operands = value_operands(v);
    if (v->op == VALUE_NUMBER)
        add_number(g, v->number);
    else if (v->op == VALUE_BOUND)
        add_element(g, list, v);
    else if (v->op < VALUE_ADD)
        add(g, v->op == VALUE_ACC ? "acc" : v->op == VALUE_ROW ? "ROW_INDEX" : "COLUMN_INDEX");
    for (int q = 0; q < operands; q++)
        add(g, "%s%s%sv%d%s", q == 0 ? "value_" : "", q == 0 ? names[v->op] : "", q == 0 ? "(" : ", ", v->of[q],
            q + 1 == operands ? ")" : "");
}

char *expression_text(const value_list *list)
{
    growing g = {.room = 4096};
    g.text = malloc(g.room);
    add_list(&g, list);
    add_vectors(&g, list, INDEX_I, 'I');
    add_vectors(&g, list, INDEX_J, 'J');
    add_matrices(&g, list);
    add(&g, "#define EPILOGUE_VALUES");
    for (int i = 0; i < list->count; i++) {
        add(&g, " VALUE v%d = ", i);
        add_value(&g, list, &list->of[i]);
        add(&g, ";");
    }
    add(&g, " return v%d;\n", list->count - 1);
    return g.text;
}
