/* help.c - help, man page and completion, all made from the two tables. */
#include "help.h"

#include <string.h>
#include "../program/layout.h"
#include "../program/term.h"
#include "tilewright.h"

typedef struct exit_row {
    int code;
    const char *meaning;
} exit_row;

static const exit_row exit_rows[] = {
    {EXIT_OK, "success"},
    {EXIT_CHECK,
     "a check failed: a product is wrong or could not be checked completely, or a measurement is impossible"},
    {EXIT_USAGE, "the command line is wrong"},
    {EXIT_DEVICE, "no usable device, or no kernel that fits, or a file that is not judged here"},
    {EXIT_BUILD, "a kernel did not compile for the device"},
    {EXIT_MEMORY, "out of memory"},
    {EXIT_INPUT, "an input file is bad, or the shapes of the operands do not match"},
    {EXIT_OUTPUT, "an output could not be written"},
    {EXIT_RUN, "the device or its driver failed while running"},
    {EXIT_INTERRUPTED, "interrupted"},
    {EXIT_PIPE, "the reader of standard output ended, as `head` does; no message is printed"},
};

enum { EXIT_ROWS = sizeof exit_rows / sizeof *exit_rows };

static const char environment[] =
    "TILEWRIGHT_CPU: the instruction set to use at most: base, avx2, avx512, avx512_vnni, avx512_bf16 or amx, "
    "on arm64 base or neon. It is an error if the processor lacks it.\n"
    "TILEWRIGHT_THREADS, OMP_NUM_THREADS: the number of threads.\n"
    "TILEWRIGHT_WAIT: how threads wait for the next product: auto, spin or sleep.\n"
    "TILEWRIGHT_STAY: 1: where the caller may run on one core only, so may the threads.\n"
    "TILEWRIGHT_CACHE: the folder for compiled kernels; off: none.\n"
    "TILEWRIGHT_TUNED: the file of your tuned rows; off: none is read.\n"
    "TILEWRIGHT_NVRTC: the file of the CUDA compiler.\n"
    "TILEWRIGHT_OPENCL_OPTIONS: more options for the OpenCL compiler.\n"
    "TILEWRIGHT_SELF_TEST: off: OpenCL's kernels are not tested at first use.\n"
    "TILEWRIGHT_MPI: the MPI of mpirun: openmpi, mpich or the path of a library; off: none.\n"
    "NO_COLOR: no colours.\n"
    "COLUMNS: the width of lines and tables, in files and pipes too, which otherwise get whole lines and all columns.\n"
    "docs/REFERENCE.md has more of them.";

static bool shown(const option_row *row, const command *cmd) { return (row->commands & cmd->bit) && row->help != NULL; }

/* "-o, --output FILE" */
static void option_name(const option_row *row, char *out, size_t size)
{
    char letter[8] = "";
    if (row->letter != 0) snprintf(letter, sizeof letter, "-%c, ", row->letter);
    snprintf(out, size, "%s--%s%s%s", letter, row->name, row->metavar != NULL ? " " : "",
             row->metavar != NULL ? row->metavar : "");
}

/* Words of text in lines of 80 columns, or COLUMNS, each line behind indent spaces; column is where the cursor
 * stands. A line break of the text stays one; the lines of an item "- ..." go on behind its dash. */
static void wrap(FILE *out, const char *text, int indent, int column)
{
    const int width = term_width_within(80);
    while (*text != '\0') {
        const int length = (int)strcspn(text, "\n");
        layout_words(out, text, length, strncmp(text, "- ", 2) == 0 ? indent + 2 : indent, column, width);
        text += length;
        if (*text == '\0') break;
        text++;
        fprintf(out, "\n%*s", *text != '\n' ? indent : 0, "");
        column = indent;
    }
    fputc('\n', out);
}

/* Command lines; one that is too long goes on behind a backslash, which the shell takes, before one of its options. */
static void put_examples(FILE *out, const char *text)
{
    const int width = term_width_within(80);
    for (int column = 0; *text != '\0';) {
        const char *option = strstr(text + 1, " --");
        int line = (int)strcspn(text, "\n"),
            length = option != NULL && option - text < line ? (int)(option - text) : line;
        bool last = length == line;
        if (column > 0 && column + length + (last ? 0 : 2) > width) column = fprintf(out, " \\\n     ") - 3;
        column += fprintf(out, "%.*s", length, text);
        text += length;
        if (!last) continue;
        fputc('\n', out);
        text += *text == '\n';
        column = 0;
    }
}

static void wrap_option(FILE *out, const option_row *row)
{
    enum { INDENT = 25 };
    char name[80];
    option_name(row, name, sizeof name);
    fprintf(out, "  %-*s ", INDENT - 3, name);
    wrap(out, row->help, INDENT, INDENT);
    if (row->choices != NULL) fprintf(out, "%*s", INDENT, ""), wrap(out, row->choices, INDENT, INDENT);
}

void help_overview(FILE *out)
{
    wrap(out, "Tilewright multiplies matrices and shows where the time goes.", 0, 0);
    fprintf(out, "\nUSAGE\n  tilewright COMMAND [OPTION]... [FILE]...\n\nCOMMANDS\n");
    for (const command *c = commands; c->name != NULL; c++)
        fprintf(out, "  %-10s ", c->name), wrap(out, c->summary, 13, 13);
    fprintf(out, "\n`tilewright help COMMAND` describes one of them.\n\n"
                 "EXAMPLES\n"
                 "  tilewright multiply A.npy B.npy -o C.npy --verify\n"
                 "  tilewright ladder\n"
                 "  tilewright bench --set square --dtype f32,f64\n\n"
                 "EXIT STATUS\n");
    for (int i = 0; i < EXIT_ROWS; i++)
        fprintf(out, "  %3d  ", exit_rows[i].code), wrap(out, exit_rows[i].meaning, 7, 7);
    fprintf(out, "\nENVIRONMENT\n  ");
    wrap(out, environment, 2, 2);
}

void help_command(FILE *out, const command *cmd)
{
    char title[200];
    snprintf(title, sizeof title, "tilewright %s - %s", cmd->name, cmd->summary);
    wrap(out, title, 0, 0);
    fputc('\n', out);
    wrap(out, cmd->details, 0, 0);
    fprintf(out, "\nUSAGE\n  tilewright %s %s\n\nOPTIONS\n", cmd->name, cmd->arguments);
    for (const option_row *row = option_rows; row->name != NULL; row++)
        if (shown(row, cmd)) wrap_option(out, row);
    fprintf(out, "\nEXAMPLES\n");
    put_examples(out, cmd->examples);
}

/* ---- man page ---- */

/* Text for troff: hyphens and backslashes escaped, no line that begins with a dot or a quote. */
static void troff(FILE *out, const char *text)
{
    bool starts = true;
    for (const char *c = text; *c != '\0'; c++) {
        if (starts && (*c == '.' || *c == '\'')) fputs("\\&", out);
        if (*c == '-' || *c == '\\') fputc('\\', out);
        fputc(*c == '\\' ? 'e' : *c, out);
        starts = *c == '\n';
    }
}

/* The same of paragraphs: a line break stays one. */
static void troff_text(FILE *out, const char *text)
{
    while (*text != '\0') {
        char line[800];
        int length = (int)strcspn(text, "\n");
        snprintf(line, sizeof line, "%.*s", length, text);
        troff(out, line);
        text += length;
        if (text[0] == '\n') fputs(text[1] == '\n' ? "\n.PP\n" : "\n.br\n", out);
        text += (text[0] == '\n') + (text[0] == '\n' && text[1] == '\n');
    }
    fputc('\n', out);
}

static void troff_line(FILE *out, const char *request, const char *text)
{
    fprintf(out, "%s", request);
    troff(out, text);
    fputc('\n', out);
}

static void man_command(FILE *out, const command *cmd)
{
    char synopsis[400];
    snprintf(synopsis, sizeof synopsis, "tilewright %s %s", cmd->name, cmd->arguments);
    troff_line(out, ".SS ", synopsis);
    troff_text(out, cmd->details);
    for (const option_row *row = option_rows; row->name != NULL; row++) {
        char name[80];
        if (!shown(row, cmd)) continue;
        option_name(row, name, sizeof name);
        troff_line(out, ".TP\n.B ", name);
        troff(out, row->help);
        if (row->choices != NULL) fprintf(out, ": %s", row->choices);
        fputc('\n', out);
    }
    troff_line(out, ".PP\n.nf\n", cmd->examples);
    fputs(".fi\n", out);
}

void help_man(FILE *out)
{
    fprintf(out, ".TH TILEWRIGHT 1 \"\" \"tilewright %s\"\n.SH NAME\n", tw_version());
    fputs("tilewright \\- multiplies matrices and shows where the time goes\n.SH SYNOPSIS\n", out);
    fputs(".B tilewright\nCOMMAND [OPTION]... [FILE]...\n.SH COMMANDS\n", out);
    for (const command *c = commands; c->name != NULL; c++) man_command(out, c);
    fputs(".SH EXIT STATUS\n", out);
    for (int i = 0; i < EXIT_ROWS; i++) {
        fprintf(out, ".TP\n.B %d\n", exit_rows[i].code);
        troff_line(out, "", exit_rows[i].meaning);
    }
    fputs(".SH ENVIRONMENT\n", out);
    troff_text(out, environment);
}

/* ---- completion ---- */

static void put_words(FILE *out, const word_list *words)
{
    for (int i = 0; i < words->count; i++) fprintf(out, "%s%s", i > 0 ? "\n" : "", words->items[i]);
}

/* A branch of the script's case: words, one on a line, since a device's name has blanks. Empties the list. */
static void completion_case(FILE *out, const command *cmd, const char *last, word_list *words)
{
    if (words->count > 0) {
        fprintf(out, "    '%s %s') words='", cmd->name, last);
        put_words(out, words);
        fputs("' ;;\n", out);
    }
    words->count = 0, words->used = 0;
}

static void completion_command(FILE *out, const command *cmd)
{
    static word_list words, of_option;
    char option[80];
    if (cmd->bit == CMD_EXPLAIN) words_rungs(&words);
    if (cmd->bit == CMD_HELP) words_commands(&words);
    completion_case(out, cmd, "", &words);
    for (const option_row *row = option_rows; row->name != NULL; row++) {
        if (!shown(row, cmd)) continue;
        snprintf(option, sizeof option, "--%s", row->name);
        words_add(&words, option, (int)strlen(option));
        if (row->choices != NULL) words_choices(&of_option, row->choices);
        if (row->words != NULL) row->words(&of_option);
        completion_case(out, cmd, option, &of_option);
    }
    completion_case(out, cmd, "-", &words);
}

/* Completes a command, its operand or an option, or the value of one: the last word of a list with commas. */
void help_completion(FILE *out)
{
    static word_list words;
    words_commands(&words);
    fputs("# bash completion of tilewright; made by `tilewright help --completion`\n"
          "_tilewright() {\n"
          "    local IFS=$'\\n' words= word= here=${COMP_WORDS[COMP_CWORD]} last=${COMP_WORDS[COMP_CWORD-1]} before=\n"
          "    [[ $last == --?* ]] || last=\n"
          "    [[ $here == -* ]] && last=-\n"
          "    [[ $last == --?* && $here == *,* ]] && before=${here%,*}, here=${here##*,}\n"
          "    case \"${COMP_WORDS[1]} $last\" in\n",
          out);
    for (const command *c = commands; c->name != NULL; c++) completion_command(out, c);
    fputs("    esac\n"
          "    [[ $COMP_CWORD == 1 ]] && words='",
          out);
    put_words(out, &words);
    fputs("'\n"
          "    COMPREPLY=()\n"
          "    for word in $(compgen -W \"$words\" -- \"$here\"); do COMPREPLY+=(\"$before$(printf %q \"$word\")\"); "
          "done\n"
          "}\n"
          "complete -o default -F _tilewright tilewright\n",
          out);
}
