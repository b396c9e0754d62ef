/* listing.h - machine code as disassemblers and compilers print it: instructions, their classes, and the loop where a
 * kernel spends its time. */
#ifndef TILEWRIGHT_LISTING_H
#define TILEWRIGHT_LISTING_H

#include <stdbool.h>
#include <stdint.h>

/* HOST: objdump's, of this machine's processor */
typedef enum listing_form { LISTING_SASS, LISTING_PTX, LISTING_HOST } listing_form;

typedef enum listing_class {
    CODE_FMA,         /* multiply-adds, also of matrix units; on processors without them the multiplications */
    CODE_ADD,         /* other arithmetic on real numbers: additions beside such multiplications, and the rest */
    CODE_LOAD_GLOBAL, /* and any load of a CPU */
    CODE_LOAD_SHARED,
    CODE_STORE,
    CODE_BARRIER,
    CODE_BRANCH,
    CODE_INTEGER, /* addresses, counters, compares, moves: all the rest */
    CODE_CLASSES
} listing_class;
const char *listing_class_text(listing_class c);

typedef struct instruction {
    const char *text; /* from its mnemonic or guard on, to the line's end */
    int length, function;
    uint64_t address; /* its number where the form has none */
    int64_t target;   /* where it jumps or calls to, as an address; -1: nowhere known */
    bool calls;
    listing_class class;
} instruction;

typedef struct listing {
    listing_form form;
    instruction *code;
    int count, room;
    char (*functions)[96]; /* names */
    int function_count, function_room;
    const char **labels; /* with the number of the instruction that follows in label_at */
    int *label_at;
    int label_count, label_room;
} listing;

/* Where a kernel multiplies. On a GPU: the loop with the most multiply-adds that no inner loop holds, since the steps
 * of a whole tile stand side by side there and the loop within is an edge's; one of a matrix unit outweighs all others.
 * On a CPU: the innermost loop whose instructions multiply the most elements each. */
typedef struct code_loop {
    int first, last; /* instructions; inner loops between them are not counted */
    int total, of[CODE_CLASSES];
} code_loop;

/* listing_read - false: out of memory. text must stay; it is changed nowhere. */
bool listing_read(listing *l, listing_form form, const char *text);
void listing_free(listing *l);

/* listing_loop - of the function of this name and those that it calls (NULL: of all). false: no loop multiplies, or no
 * such function. */
bool listing_loop(const listing *l, const char *function, code_loop *out);
/* does this instruction belong to a loop within? */
bool listing_in_inner(const listing *l, const code_loop *loop, int at);

#endif
