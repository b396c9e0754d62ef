/* drawn.c - see drawn.h. The text is parsed twice: with a number for each name, to learn how it uses them, and with the
 * operands. */
#include "drawn.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "../element.h"

enum { MOST_NAME = 31 };

typedef struct names {
    int count;
    char of[DRAWN_NAMES][MOST_NAME + 1];
} names;

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_", digits[] = "0123456789";

/* Adds a word that the text does not define: no function, which a bracket follows. */
static void add_name(names *n, const char *word, size_t length)
{
    const char *behind = word + length + strspn(word + length, " \t\r\n");
    char name[MOST_NAME + 1];
    if (*behind == '(' || length > MOST_NAME || n->count == DRAWN_NAMES) return; /* the parser has the sentence */
    memcpy(name, word, length), name[length] = '\0';
    if (strcmp(name, "acc") == 0 || strcmp(name, "i") == 0 || strcmp(name, "j") == 0) return;
    for (int q = 0; q < n->count; q++)
        if (strcmp(n->of[q], name) == 0) return;
    strcpy(n->of[n->count++], name);
}

static names names_of(const char *text)
{
    names found = {0};
    while (*text != '\0') {
        if (strchr(digits, *text) != NULL || *text == '.') { /* 1e-5 has no name */
            text += strspn(text, "0123456789.");
            if (*text == 'e' || *text == 'E') text++;
            continue;
        }
        size_t length = strspn(text, letters);
        while (length > 0 && text[length] != '\0' &&
               (strchr(letters, text[length]) != NULL || strchr(digits, text[length]) != NULL))
            length++;
        if (length > 0) add_name(&found, text, length);
        text += length > 0 ? length : 1;
    }
    return found;
}

static double uniform(uint64_t seed, uint64_t index) { return (double)(element_mix(seed, index) >> 11) * 0x1p-52 - 1; }

/* A number, or an operand as large as these uses read: a vector, or a matrix without padding. */
static tw_status draw(const tw_problem *p, const element *type, int uses, uint64_t seed, tw_binding *b, void **memory)
{
    const bool down = (uses & TW_LAB_USE_IJ) != 0, across = (uses & TW_LAB_USE_JI) != 0;
    const int64_t longer = p->m > p->n ? p->m : p->n,
                  ld = down && across ? longer
                       : down         ? p->n
                                      : p->m,
                  rows = down && across ? longer
                         : down         ? p->m
                                        : p->n,
                  matrix = down || across ? rows * ld : 0, count = matrix > longer ? matrix : longer;
    *b = (tw_binding){.size = sizeof *b, .name = b->name, .value = uniform(seed, 0)};
    if (uses == TW_LAB_USE_FIRST) return TW_OK;
    *memory = malloc((size_t)count * (size_t)type->bytes);
    if (*memory == NULL) return TW_NO_MEMORY;
    for (int64_t i = 0; i < count; i++) {
        const double value = uniform(seed, (uint64_t)i);
        type->store(*memory, i, 1, &value);
    }
    b->dtype = type->dtype, b->at = *memory, b->stride = 1, b->ld = ld;
    return TW_OK;
}

tw_status drawn_make(const char *text, const tw_problem *p, uint64_t seed, drawn *out)
{
    static const float in_place_of_operands;
    const names found = names_of(text);
    const element *type = element_of(element_of(p->dtype)->accumulator == TW_F64 ? TW_F64 : TW_F32);
    tw_binding bindings[DRAWN_NAMES];
    *out = (drawn){0};
    for (int q = 0; q < found.count; q++)
        bindings[q] = (tw_binding){.size = sizeof bindings[q],
                                   .name = found.of[q],
                                   .dtype = TW_F32,
                                   .at = &in_place_of_operands,
                                   .stride = 1,
                                   .ld = 1};
    tw_status status = tw_epilogue_make(text, bindings, (size_t)found.count, &out->epilogue);
    for (int q = 0; status == TW_OK && q < found.count; q++)
        status = draw(p, type, tw_lab_epilogue_uses(out->epilogue, q), element_mix(seed, (uint64_t)q), &bindings[q],
                      &out->memory[q]);
    tw_epilogue_free(out->epilogue);
    out->epilogue = NULL;
    return status == TW_OK ? tw_epilogue_make(text, bindings, (size_t)found.count, &out->epilogue) : status;
}

void drawn_free(drawn *d)
{
    tw_epilogue_free(d->epilogue);
    for (int q = 0; q < DRAWN_NAMES; q++) free(d->memory[q]);
    *d = (drawn){0};
}
