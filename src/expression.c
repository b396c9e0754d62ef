/* expression.c - makes, checks and frees epilogues. */
#include "expression.h"
#include "problem.h"
#include "sized.h"
#include "tilewright_lab.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Of a bound operand; TYPE_NUMBER: of none. */
static value_type operand_type(tw_dtype dtype)
{
    const value_type type = epilogue_type(dtype);
    return type == TYPE_I8 || type == TYPE_U8 ? TYPE_NUMBER : type;
}

value_type epilogue_type(tw_dtype dtype)
{
    return dtype == TW_F64    ? TYPE_F64
           : dtype == TW_F32  ? TYPE_F32
           : dtype == TW_F16  ? TYPE_F16
           : dtype == TW_BF16 ? TYPE_BF16
           : dtype == TW_I8   ? TYPE_I8
           : dtype == TW_U8   ? TYPE_U8
                              : TYPE_NUMBER;
}

static bool is_name(const char *name)
{
    size_t length = 0;
    for (; name[length] != '\0'; length++) {
        const bool known = is_letter(name[length]) || (length > 0 && is_digit(name[length]));
        if (length == EPILOGUE_MOST_NAME || !known) return false;
    }
    return length > 0;
}

static tw_status check_name(const tw_epilogue *e, int number, const char *name)
{
    if (name == NULL) return fail(TW_BAD_ARGUMENT, "bindings[%d].name is NULL", number);
    if (!is_name(name))
        return fail(
            TW_BAD_ARGUMENT,
            "bindings[%d].name is '%.*s', expected a letter or _, then letters, digits and _, at most %d in all",
            number, (int)EPILOGUE_MOST_NAME, name, (int)EPILOGUE_MOST_NAME);
    if (strcmp(name, "acc") == 0 || strcmp(name, "i") == 0 || strcmp(name, "j") == 0)
        return fail(TW_BAD_ARGUMENT, "bindings[%d].name is '%s', which means the product, its row or its column",
                    number, name);
    for (int i = 0; i < number; i++)
        if (strcmp(name, e->names[i]) == 0)
            return fail(TW_BAD_ARGUMENT, "bindings[%d].name and bindings[%d].name are both '%s'", i, number, name);
    return TW_OK;
}

enum { BINDING_FIRST_BYTES = offsetof(tw_binding, value) + sizeof(double) }; /* of the first layout */

static tw_status take_binding(tw_epilogue *e, int number, const tw_binding *user)
{
    tw_binding b;
    TRY(sized_load("binding", user, BINDING_FIRST_BYTES, &b, sizeof b));
    TRY(check_name(e, number, b.name));
    const value_type type = operand_type(b.dtype);
    const bool is_number = b.dtype == (tw_dtype)0;
    if (!is_number && type == TYPE_NUMBER)
        return fail(TW_BAD_ARGUMENT,
                    "bindings[%d].dtype is %d, expected 0 for a number, TW_F64 (%d), TW_F32 (%d), TW_F16 (%d) or "
                    "TW_BF16 (%d)",
                    number, (int)b.dtype, (int)TW_F64, (int)TW_F32, (int)TW_F16, (int)TW_BF16);
    if (is_number != (b.at == NULL))
        return fail(TW_BAD_ARGUMENT, "bindings[%d].at is %s, and dtype %d: a number has neither, an operand both",
                    number, b.at == NULL ? "NULL" : "given", (int)b.dtype);
    if (!is_number && (uintptr_t)b.at % (size_t)dtype_find(b.dtype)->lab.bytes != 0)
        return fail(TW_BAD_ARGUMENT, "bindings[%d].at is not aligned to one element of %d bytes", number,
                    dtype_find(b.dtype)->lab.bytes);
    e->values.bound[number] = (value_binding){
        .type = type, .at = b.at, .ld = b.ld, .stride = b.stride != 0 ? b.stride : 1, .number = b.value};
    strcpy(e->names[number], b.name);
    e->values.bindings = number + 1;
    return TW_OK;
}

static tw_status fill(tw_epilogue *e, const char *text, const tw_binding *bindings, size_t count)
{
    const char *at = (const char *)bindings;
    for (size_t i = 0; i < count; i++) {
        uint32_t size;
        memcpy(&size, at, sizeof size);
        TRY(take_binding(e, (int)i, (const tw_binding *)(const void *)at));
        at += size;
    }
    strcpy(e->text, text);
    TRY(epilogue_parse(e));
    e->gpu_text = expression_text(&e->values);
    return e->gpu_text != NULL ? TW_OK : fail(TW_NO_MEMORY, "no memory for an epilogue's text");
}

tw_status tw_epilogue_make(const char *text, const tw_binding *bindings, size_t count, tw_epilogue **out)
{
    if (out == NULL) return fail(TW_BAD_ARGUMENT, "out is NULL");
    *out = NULL;
    if (text == NULL) return fail(TW_BAD_ARGUMENT, "text is NULL");
    if (count > 0 && bindings == NULL) return fail(TW_BAD_ARGUMENT, "bindings is NULL, expected %zu", count);
    if (count > MOST_BINDINGS)
        return fail(TW_BAD_ARGUMENT, "count is %zu, expected at most %d bindings", count, (int)MOST_BINDINGS);
    const size_t length = strlen(text);
    if (length > EPILOGUE_MOST_TEXT)
        return fail(TW_BAD_ARGUMENT, "the epilogue's text has %zu characters, expected at most %d", length,
                    (int)EPILOGUE_MOST_TEXT);
    tw_epilogue *e = calloc(1, sizeof *e);
    if (e == NULL) return fail(TW_NO_MEMORY, "no memory for an epilogue of %zu bytes", sizeof *e);
    e->magic = EPILOGUE_MAGIC;
    const tw_status status = fill(e, text, bindings, count);
    if (status == TW_OK)
        *out = e;
    else
        tw_epilogue_free(e);
    return status;
}

void tw_epilogue_free(tw_epilogue *epilogue)
{
    if (epilogue == NULL) return;
    free(epilogue->gpu_text);
    free(epilogue);
}

int tw_lab_epilogue_uses(const tw_epilogue *epilogue, int number)
{
    static const int uses[][INDEX_J + 1] = {[INDEX_NONE] = {TW_LAB_USE_FIRST},
                                            [INDEX_I] = {TW_LAB_USE_I, 0, TW_LAB_USE_IJ},
                                            [INDEX_J] = {TW_LAB_USE_J, TW_LAB_USE_JI, 0}};
    int found = 0;
    for (int i = 0; i < epilogue->values.count; i++) {
        const value *v = &epilogue->values.of[i];
        if (v->op == VALUE_BOUND && v->of[0] == number) found |= uses[v->of[1]][v->of[2]];
    }
    return found;
}

bound_span epilogue_span(const tw_problem *p, int number)
{
    const value_list *list = &p->epilogue->values;
    bound_span s = {.vector = true, .by_rows = true};
    for (const value *v = list->of; v < list->of + list->count; v++) {
        if (v->op != VALUE_BOUND || v->of[0] != number) continue;
        const int64_t down = value_step(list, v, INDEX_I) * (p->m - 1),
                      across = value_step(list, v, INDEX_J) * (p->n - 1), first = min_i64(down, 0) + min_i64(across, 0),
                      last = max_i64(down, 0) + max_i64(across, 0);
        s.first = s.read ? min_i64(s.first, first) : first, s.last = s.read ? max_i64(s.last, last) : last;
        s.by_rows = s.by_rows && v->of[1] == INDEX_I && v->of[2] == INDEX_J && list->bound[number].stride == 1;
        s.vector = s.vector && v->of[2] == INDEX_NONE;
        s.read = true;
    }
    return s;
}

/* Elements of 8 bytes that can be addressed. */
static const int64_t MOST_SPAN = (int64_t)1 << 54;

tw_status epilogue_check(const tw_epilogue *e, const tw_problem *p)
{
    const tw_dtype sums = dtype_find(p->dtype)->result;
    if (e->magic != EPILOGUE_MAGIC)
        return fail(TW_BAD_ARGUMENT, "problem.epilogue is none that tw_epilogue_make() made");
    if (sums != TW_F32 && sums != TW_F64 && !(sums == TW_I32 && p->dtype != TW_I32))
        return fail(TW_NO_KERNEL, "an epilogue takes sums of f32, f64, i8 and u8, the problem is of %s",
                    dtype_find(p->dtype)->lab.name);
    if (epilogue_type(p->dtype_c) == TYPE_NUMBER)
        return fail(TW_NO_KERNEL, "an epilogue gives C in f64, f32, f16, bf16, i8 and u8, the problem wants %s",
                    dtype_find(p->dtype_c)->lab.name);
    const bool wide = sums == TW_F64;
    for (const value *v = e->values.of; v < e->values.of + e->values.count; v++) {
        int64_t down = 0, across = 0, both = 0;
        const bool bound = v->op == VALUE_BOUND;
        if (bound && (__builtin_mul_overflow(value_step(&e->values, v, INDEX_I), p->m, &down) ||
                      __builtin_mul_overflow(value_step(&e->values, v, INDEX_J), p->n, &across) ||
                      __builtin_add_overflow(down, across, &both) || both > MOST_SPAN || both < -MOST_SPAN))
            return fail(TW_BAD_ARGUMENT, "the epilogue's %s spans more bytes than this machine can address",
                        e->names[v->of[0]]);
    }
    for (int i = 0; i < e->values.bindings; i++) {
        const value_type type = e->values.bound[i].type;
        if (type != TYPE_NUMBER && (type == TYPE_F64) != wide && !(wide && type == TYPE_F32))
            return fail(TW_NO_KERNEL, "the epilogue's %s is %s, expected %s: sums are in %s", e->names[i],
                        type == TYPE_F64   ? "f64"
                        : type == TYPE_F16 ? "f16"
                                           : "bf16",
                        wide ? "f64 or f32" : "f32, f16 or bf16", dtype_find(sums)->lab.name);
    }
    return TW_OK;
}
