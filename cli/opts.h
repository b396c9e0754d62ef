/* opts.h - the options of all commands, as values and as one table. The table drives the parser, the help of each
 * command, the man page and the completion of the shell: an option is one row in opts.c. */
#ifndef TILEWRIGHT_OPTS_H
#define TILEWRIGHT_OPTS_H

#include <stddef.h>
#include "../lab/devices.h"
#include "../program/exit.h"
#include "../program/numbers.h"
#include "../program/words.h"

typedef struct session session;
typedef struct command command;

/* imaginary: 0 unless X,Y was given. */
typedef struct scalar_option {
    bool given;
    double value, imaginary;
} scalar_option;

enum { OPT_LIST = 64 };

typedef struct shape_list {
    int count;
    shape items[OPT_LIST];
} shape_list;

typedef struct number_list {
    int count;
    int64_t items[OPT_LIST];
} number_list;

typedef struct name_list {
    int count;
    char items[OPT_LIST][256]; /* a rung may be a path */
} name_list;

typedef struct text_list {
    int count;
    const char *items[OPT_LIST];
} text_list;

/* What the command line said. Zero, NULL or an empty list: not given. */
typedef struct options {
    const command *command;
    const char *operands[OPT_LIST];
    int operand_count;
    const char *output, *add, *epilogue, *gpu, *json, *html, *kernel, *export, *import, *start, *others;
    int64_t device, threads, samples, deadline, pause, pad, batch, memory, device_memory, budget, timeout, ranks, hosts,
        rate, shape_count;
    double network;
    uint64_t seed;
    scalar_option alpha, beta;
    bool all, binary, tables, transpose_a, transpose_b, conjugate_a, conjugate_b, verify, host, skinny, slides,
        explain_plan, invariant, emulate, grade, warm, padded, deep, cliffs, regret, no_self_test, show, forget, append,
        force, verbose, quiet, help, man, completion;
    name_list engines, dtypes, dtypes_c, rungs, against, sets, panels;
    shape_list shapes, grids;
    number_list sizes, tiles, element, devices;
    text_list binds;
} options;

/* The bit of each command, for the rows of the option table. */
enum {
    CMD_MULTIPLY = 1,
    CMD_VERIFY = 2,
    CMD_BENCH = 4,
    CMD_LADDER = 8,
    CMD_DEVICES = 16,
    CMD_DOCTOR = 32,
    CMD_SELFTEST = 64,
    CMD_VERSION = 128,
    CMD_HELP = 256,
    CMD_EXPLAIN = 512,
    CMD_REPORT = 1024,
    CMD_TUNE = 2048,
    CMD_GRADE = 4096
};

struct command {
    const char *name, *arguments, *summary, *examples, *details;
    int bit, least_operands, most_operands;
    exit_code (*run)(session *);
};

extern const command commands[];                /* in main.c; ends with a row without a name */
const command *command_named(const char *name); /* NULL: no such command */
words_fill words_commands;

typedef enum option_kind {
    OPT_FLAG,    /* bool */
    OPT_TEXT,    /* const char * */
    OPT_WHOLE,   /* int64_t from least to most */
    OPT_BYTES,   /* int64_t, at least `least` */
    OPT_SEED,    /* uint64_t */
    OPT_REAL,    /* double, above 0, to most */
    OPT_SCALAR,  /* scalar_option */
    OPT_SHAPES,  /* shape_list, each side from least to most; at most `list` of them, as in the kinds below */
    OPT_WHOLES,  /* number_list */
    OPT_DEVICES, /* number_list; -1: all there are */
    OPT_NAMES,   /* name_list, any names */
    OPT_CHOICES, /* name_list, words of choices */
    OPT_TYPES,   /* the same of types of elements: also by other names, of which the list has ours */
    OPT_TEXTS    /* text_list: the option may be given `list` times, each with one text */
} option_kind;

typedef struct option_row {
    const char *name;
    char letter; /* 0: none */
    option_kind kind;
    size_t offset;                        /* in options */
    int commands;                         /* bits */
    const char *metavar, *choices, *help; /* help NULL: hidden */
    int64_t least, most;
    int list;
    words_fill *words; /* that it takes, where `choices` does not name them */
} option_row;

extern const option_row option_rows[]; /* ends with a row without a name */

/* options_parse - read argv[1..] of a command. EXIT_OK, or a sentence was printed and EXIT_USAGE comes back. */
exit_code options_parse(const command *cmd, int argc, char **argv, options *out);

/* option_gpu - the published device that --gpu names; EXIT_USAGE, after a sentence that lists those that are known,
 * where there is no such model. */
exit_code option_gpu(const char *model, const published_device **out);

/* option_wants - what a row's value must be, in words: "a whole number from 1 to 4096". */
void option_wants(const option_row *row, char *text, size_t size);

#endif
