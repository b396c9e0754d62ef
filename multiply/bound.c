/* bound.c - see bound.h. The text is parsed twice: first with something in place of each file, to learn how it reads
 * them, then with the files. */
#include "bound.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "../program/diag.h"
#include "../program/numbers.h"

enum { MOST_BINDS = 16, MOST_NAME = 31 };

/* A word of --bind. */
typedef struct binding {
    char name[MOST_NAME + 1];
    const char *file; /* NULL: `number` */
    double number;
} binding;

/* ---- the words ---- */

const char *bound_file(const char *word)
{
    double number;
    const char *value = strchr(word, '=');
    return value == NULL || value[1] == '\0' || parse_real(value + 1, &number) ? NULL : value + 1;
}

static size_t name_length(const char *word)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    const size_t length = strspn(word, letters);
    return length > MOST_NAME || (word[0] >= '0' && word[0] <= '9') ? 0 : length;
}

static exit_code parse_bind(const char *word, binding *out)
{
    const size_t length = name_length(word);
    if (length == 0 || word[length] != '=' || word[length + 1] == '\0')
        return diag(EXIT_USAGE,
                    "--bind %s: expected NAME=FILE or NAME=NUMBER, NAME of letters, digits and _, at most %d, no digit "
                    "first",
                    word, MOST_NAME);
    *out = (binding){.file = bound_file(word)};
    memcpy(out->name, word, length);
    if (strcmp(out->name, "acc") == 0 || strcmp(out->name, "i") == 0 || strcmp(out->name, "j") == 0)
        return diag(EXIT_USAGE, "--bind %s: %s means the product, its row or its column: expected another name", word,
                    out->name);
    if (out->file == NULL) parse_real(word + length + 1, &out->number);
    if (out->file != NULL && strcmp(out->file, "-") == 0)
        return diag(EXIT_USAGE, "--bind %s: standard input is for A, B and C0: expected the name of a file", word);
    if (out->file != NULL && io_named(out->file) == IO_FORMAT_RAW)
        return diag(EXIT_USAGE, "--bind %s: a raw file does not say its shape and type: expected .npy, .npz or .mtx",
                    word);
    return EXIT_OK;
}

/* As the library takes it, with an element of ours in place of a file. */
static tw_binding binding_of(const binding *b)
{
    static const float in_place_of_a_file;
    tw_binding made = {.size = sizeof made, .name = b->name, .value = b->number};
    if (b->file != NULL) made.dtype = TW_F32, made.at = &in_place_of_a_file, made.stride = made.ld = 1;
    return made;
}

/* The words, and how the text uses each. */
static exit_code parse(const product_wish *wish, binding binds[MOST_BINDS], int uses[MOST_BINDS])
{
    tw_binding bindings[MOST_BINDS];
    tw_epilogue *e = NULL;
    exit_code code = EXIT_OK;
    for (int q = 0; code == EXIT_OK && q < wish->bind_count; q++) {
        code = parse_bind(wish->binds[q], &binds[q]);
        if (code != EXIT_OK) return code;
        for (int before = 0; before < q; before++)
            if (strcmp(binds[before].name, binds[q].name) == 0)
                return diag(EXIT_USAGE, "--bind names %s twice: %s and %s", binds[q].name, wish->binds[before],
                            wish->binds[q]);
        bindings[q] = binding_of(&binds[q]);
    }
    const tw_status status = tw_epilogue_make(wish->epilogue, bindings, (size_t)wish->bind_count, &e);
    if (status != TW_OK) return diag_tw(status);
    for (int q = 0; code == EXIT_OK && q < wish->bind_count; q++) {
        uses[q] = tw_lab_epilogue_uses(e, q);
        if (uses[q] == 0)
            code = diag(EXIT_USAGE, "--bind %s: the epilogue does not name %s", wish->binds[q], binds[q].name);
    }
    tw_epilogue_free(e);
    return code;
}

static exit_code check_types(const multiplied *as)
{
    const bool integer = io_type_is_integer(as->type_a);
    if (io_type_is_complex(as->type_a) || (integer && !io_type_is_byte(as->type_a)))
        return diag(EXIT_USAGE, "--epilogue: the product is of %s, expected one of f32, f64, bf16, f16, i8 and u8",
                    as->a);
    if (integer && !multiplied_scales(as))
        return diag(EXIT_USAGE, "--epilogue: C is of %s, expected --dtype-c f32, i8 or u8 with --dtype %s",
                    io_type_name(as->type_c), as->a);
    return EXIT_OK;
}

exit_code bound_check(const product_wish *wish)
{
    binding binds[MOST_BINDS];
    int uses[MOST_BINDS];
    multiplied as;
    if (wish->epilogue == NULL)
        return wish->bind_count == 0
                   ? EXIT_OK
                   : diag(EXIT_USAGE, "--bind needs --epilogue TEXT, the text that names what is bound");
    const exit_code code = parse(wish, binds, uses);
    return code == EXIT_OK && multiplied_asked(wish, &as) ? check_types(&as) : code;
}

/* ---- the files ---- */

static bool is_line(int64_t rows, int64_t cols) { return rows == 1 || cols == 1; }

/* Has the file what the text reads by each of its indices? One row or column is as good as the other. */
static exit_code check_size(const operand *x, const binding *b, int uses, int64_t m, int64_t n)
{
    const struct {
        int bit;
        const char *index;
        int64_t rows, cols;
    } all[] = {{TW_LAB_USE_FIRST, "", 1, 1},
               {TW_LAB_USE_I, "[i]", m, 1},
               {TW_LAB_USE_J, "[j]", n, 1},
               {TW_LAB_USE_IJ, "[i, j]", m, n},
               {TW_LAB_USE_JI, "[j, i]", n, m}};
    const io_matrix *s = &x->matrix;
    for (size_t q = 0; q < sizeof all / sizeof *all; q++) {
        const int64_t rows = all[q].rows, cols = all[q].cols;
        const bool lines = is_line(rows, cols) && is_line(s->rows, s->cols) && rows * cols == s->rows * s->cols;
        char wanted[64];
        if (!(uses & all[q].bit) || lines || (s->rows == rows && s->cols == cols)) continue;
        if (all[q].bit < TW_LAB_USE_IJ)
            snprintf(wanted, sizeof wanted, "%" PRId64 " element%s", rows, rows == 1 ? "" : "s in a row or column");
        else
            snprintf(wanted, sizeof wanted, "%" PRId64 " x %" PRId64, rows, cols);
        return diag(EXIT_INPUT,
                    "%s: is %" PRId64 " x %" PRId64 ", expected %s: the epilogue has %s%s, and C is %" PRId64
                    " x %" PRId64,
                    x->path, s->rows, s->cols, wanted, b->name, all[q].index, m, n);
    }
    return EXIT_OK;
}

/* The type in which an epilogue takes the elements of a file. */
static io_type taken_as(io_type type, const multiplied *as)
{
    if (as->type_a == IO_F64) return type == IO_F32 ? IO_F32 : IO_F64;
    return io_type_is_half(type) ? type : IO_F32;
}

static exit_code read_file(const product_wish *wish, const operands *o, const binding *b, int uses, operand *x,
                           tw_binding *out)
{
    static const double nothing;
    io_raw_shape raw = {.type = IO_F64, .rows = -1, .cols = -1, .vector = true};
    const io_matrix *s = &x->matrix;
    multiplied asked;
    x->path = b->file;
    if (multiplied_asked(wish, &asked)) raw.type = asked.type_a; /* of raw bytes in .npy */
    exit_code code = operand_read(x, &raw);
    if (code == EXIT_OK && io_type_is_complex(s->type))
        code = diag(EXIT_INPUT, "%s: is of %s, expected real numbers: an epilogue takes no others", x->path,
                    io_type_name(s->type));
    if (code == EXIT_OK) code = check_size(x, b, uses, o->problem.m, o->problem.n);
    if (code != EXIT_OK) return code;
    const io_type type = taken_as(s->type, &o->as);
    const bool in_place = s->type == type && !s->swapped;
    out->at = s->data;
    if (!in_place) code = operand_dense(x, type, &out->at);
    if (out->at == NULL) out->at = &nothing; /* there are no elements */
    const int64_t row = in_place ? s->row_stride : s->cols, col = in_place ? s->col_stride : 1;
    out->dtype = tw_lab_dtype_named(io_type_name(type))->dtype;
    out->ld = s->cols == 1 || s->rows > 1 ? row : col, out->stride = s->cols > 1 ? col : row;
    if (out->ld == 0) out->ld = 1;
    return code;
}

exit_code bound_read(const product_wish *wish, operands *o)
{
    binding binds[MOST_BINDS];
    tw_binding bindings[MOST_BINDS];
    int uses[MOST_BINDS];
    if (wish->epilogue == NULL) return EXIT_OK;
    exit_code code = check_types(&o->as);
    if (code == EXIT_OK) code = parse(wish, binds, uses);
    if (code != EXIT_OK) return code;
    o->bound = calloc((size_t)wish->bind_count + 1, sizeof *o->bound);
    if (o->bound == NULL) return diag_no_memory("the operands of the epilogue");
    o->bound_count = wish->bind_count;
    for (int q = 0; q < wish->bind_count; q++) o->bound[q].watch = -1, bindings[q] = binding_of(&binds[q]);
    for (int q = 0; code == EXIT_OK && q < wish->bind_count; q++)
        if (binds[q].file != NULL) code = read_file(wish, o, &binds[q], uses[q], &o->bound[q], &bindings[q]);
    if (code != EXIT_OK) return code;
    const tw_status status = tw_epilogue_make(wish->epilogue, bindings, (size_t)wish->bind_count, &o->epilogue);
    o->problem.epilogue = o->epilogue;
    return status == TW_OK ? EXIT_OK : diag_tw(status);
}

void bound_tell(const product_wish *wish, const operands *o)
{
    if (o->epilogue == NULL) return;
    fputs("epilogue   ", wish->text);
    for (const char *c = wish->epilogue; *c != '\0'; c++) fputc(*c < ' ' ? ' ' : *c, wish->text);
    fputc('\n', wish->text);
    for (int q = 0; q < o->bound_count; q++) {
        const operand *x = &o->bound[q];
        const int length = (int)strcspn(wish->binds[q], "=");
        char name[MOST_NAME + 1];
        snprintf(name, sizeof name, "%.*s", length, wish->binds[q]);
        if (x->path != NULL)
            operand_tell(x, name, taken_as(x->matrix.type, &o->as), wish->text);
        else
            fprintf(wish->text, "%-10s %s\n", name, wish->binds[q] + length + 1);
    }
}
