/* operands.c - opens the files of `multiply` and `verify` and makes a tw_problem of them. */
#include "operands.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "../lab/element.h"
#include "../program/diag.h"
#include "../program/guard.h"
#include "../program/term.h"

/* ---- small things ---- */

void *memory_for(int64_t rows, int64_t cols, size_t element_bytes)
{
    if (rows == 0 || cols == 0) return malloc(1);
    if (rows > PTRDIFF_MAX / (int64_t)element_bytes / cols) return NULL;
    return malloc((size_t)rows * (size_t)cols * element_bytes);
}

/* Can operands of this type be multiplied with a C of the same? Others are multiplied where --dtype asks for it. */
static bool computable(io_type type) { return type == IO_F32 || type == IO_F64 || io_type_is_complex(type); }

/* Of the matrix of a role, where it is multiplied as x says. */
static io_type type_of_role(const multiplied *x, operand_role role)
{
    return role == OPERAND_A ? x->type_a : role == OPERAND_B ? x->type_b : x->type_c;
}

exit_code operands_check_options(const product_wish *wish)
{
    exit_code code = multiplied_check(wish);
    if (code != EXIT_OK) return code;
    if (wish->output != NULL && io_member_of(wish->output) != NULL)
        return diag(EXIT_USAGE, "-o %s: nothing is written into an archive, expected a file of its own", wish->output);
    if (wish->verbose && wish->quiet) return diag(EXIT_USAGE, "--verbose and --quiet: give one");
    if (wish->beta.given && wish->add == NULL)
        return diag(EXIT_USAGE, "--beta needs --add C0, the matrix that it scales");
    if (wish->add != NULL && !wish->beta.given)
        return diag(EXIT_USAGE, "--add needs --beta X, what C0 is multiplied by");
    return EXIT_OK;
}

/* ---- reading ---- */

/* What a file of this role holds, as --shape and --dtype say; rows < 0: they do not. */
static io_raw_shape raw_shape(const product_wish *wish, operand_role role)
{
    io_raw_shape raw = {.rows = -1, .result = role == OPERAND_ADD || role == OPERAND_C};
    multiplied x;
    if (!multiplied_asked(wish, &x)) return raw;
    raw.type = type_of_role(&x, role);
    if (!wish->has_shape) return raw;
    bool transposed = (role == OPERAND_A && wish->transpose_a) || (role == OPERAND_B && wish->transpose_b);
    int64_t rows = role == OPERAND_B ? wish->k : wish->m, cols = role == OPERAND_A ? wish->k : wish->n;
    raw.rows = transposed ? cols : rows;
    raw.cols = transposed ? rows : cols;
    return raw;
}

exit_code operand_read(operand *x, const io_raw_shape *raw)
{
    io_error error;
    tame_name tamed;
    term_progress(diag_name(x->path, tamed), -1);
    int reading = guard_watch(NULL, PTRDIFF_MAX, x->path);
    io_status status = io_read(x->path, raw, &x->matrix, &error);
    guard_unwatch(reading);
    if (status != IO_OK) return diag_io(status, &error);
    if (x->matrix.mapped_bytes > 0) x->watch = guard_watch(x->matrix.memory, x->matrix.mapped_bytes, x->path);
    return EXIT_OK;
}

static exit_code read_one(const product_wish *wish, operands *o, operand_role role)
{
    operand *x = &o->each[role];
    io_raw_shape raw = raw_shape(wish, role);
    if (io_named(x->path) == IO_FORMAT_RAW && raw.rows < 0)
        return diag(EXIT_USAGE, "%s: a raw file does not say its shape and type: give --shape MxNxK and --dtype T",
                    x->path);
    return operand_read(x, &raw);
}

static void name_all(const product_wish *wish, operands *o)
{
    *o = (operands){0};
    for (int role = 0; role < OPERANDS; role++) o->each[role].watch = -1;
    o->each[OPERAND_A].path = wish->a, o->each[OPERAND_B].path = wish->b;
    o->each[OPERAND_ADD].path = wish->add, o->each[OPERAND_C].path = wish->c;
}

static exit_code read_all(const product_wish *wish, operands *o)
{
    for (operand_role role = OPERAND_A; role < OPERANDS; role++) {
        if (o->each[role].path == NULL) continue;
        exit_code code = read_one(wish, o, role);
        if (code != EXIT_OK) return code;
    }
    return EXIT_OK;
}

/* ---- shapes ---- */

static exit_code check_result_shape(const operand *x, int64_t m, int64_t n)
{
    const io_matrix *c = &x->matrix;
    if (x->path == NULL || (c->rows == m && c->cols == n)) return EXIT_OK;
    return diag(EXIT_INPUT,
                "%s: is %" PRId64 " x %" PRId64 ", expected %" PRId64 " x %" PRId64 ", the shape of the product",
                x->path, c->rows, c->cols, m, n);
}

static exit_code check_shapes(const product_wish *wish, operands *o, int64_t *m, int64_t *n, int64_t *k)
{
    const operand *a = &o->each[OPERAND_A], *b = &o->each[OPERAND_B];
    int64_t b_rows = wish->transpose_b ? b->matrix.cols : b->matrix.rows;
    *m = wish->transpose_a ? a->matrix.cols : a->matrix.rows;
    *k = wish->transpose_a ? a->matrix.rows : a->matrix.cols;
    *n = wish->transpose_b ? b->matrix.rows : b->matrix.cols;
    if (*k != b_rows)
        return diag(EXIT_INPUT,
                    "%s is %" PRId64 " x %" PRId64 "%s and %s is %" PRId64 " x %" PRId64
                    "%s: the columns of the first, %" PRId64 ", and the rows of the second, %" PRId64 ", must be equal",
                    a->path, a->matrix.rows, a->matrix.cols, wish->transpose_a ? ", transposed," : "", b->path,
                    b->matrix.rows, b->matrix.cols, wish->transpose_b ? ", transposed" : "", *k, b_rows);
    if (wish->has_shape && (wish->m != *m || wish->n != *n || wish->k != *k))
        return diag(EXIT_USAGE,
                    "--shape %" PRId64 "x%" PRId64 "x%" PRId64 ": the operands are %" PRId64 "x%" PRId64 "x%" PRId64
                    " (m x n x k)",
                    wish->m, wish->n, wish->k, *m, *n, *k);
    exit_code code = check_result_shape(&o->each[OPERAND_ADD], *m, *n);
    return code == EXIT_OK ? check_result_shape(&o->each[OPERAND_C], *m, *n) : code;
}

/* ---- the compute type ---- */

/* An element that does not fit: where it is, and its text. */
typedef struct misfit {
    const char *path;
    io_type type; /* that it is to be of */
    int64_t i, j;
    char value[64];
} misfit;

typedef bool fitting(const io_matrix *matrix, io_type to, int64_t *i, int64_t *j, char *value, size_t value_size);

/* Of every value of one type another one holds all, so that there is nothing to look at. */
static bool holds(io_type type, io_type from)
{
    return type == from || (from != IO_I64 && from != IO_U64 && io_result_type(type, from) == type);
}

/* Of an operand that is open, some elements of a row or column at a time. What cannot be read is told when it is
 * multiplied. */
static bool source_fits(const io_source *s, fitting *one_fits, misfit *x)
{
    enum { PIECE_BYTES = 1 << 16 };
    _Alignas(16) char piece[PIECE_BYTES];
    const io_matrix *m = &s->matrix;
    const bool columns = io_by_columns(m);
    const int64_t lines = columns ? m->cols : m->rows, length = columns ? m->rows : m->cols,
                  most = PIECE_BYTES / (int64_t)io_type_bytes(m->type);
    io_error error;
    if (length == 0 || holds(x->type, m->type)) return true; /* of no elements there may be 2^63 lines */
    for (int64_t l = 0; l < lines; l++)
        for (int64_t at = 0; at < length; at += most) {
            const int64_t some = length - at < most ? length - at : most, i = columns ? at : l, j = columns ? l : at;
            io_matrix part = *m;
            part.rows = columns ? some : 1, part.cols = columns ? 1 : some;
            part.row_stride = part.cols, part.col_stride = 1, part.swapped = false, part.data = piece;
            if (io_source_read(s, i, j, part.rows, part.cols, m->type, false, piece, &error) != IO_OK) return true;
            if (one_fits(&part, x->type, &x->i, &x->j, x->value, sizeof x->value)) continue;
            x->i += i, x->j += j;
            return false;
        }
    return true;
}

static bool fits(const operands *o, operand_role end, fitting *one_fits, misfit *x)
{
    for (operand_role role = OPERAND_A; role < end; role++) {
        x->path = o->each[role].path, x->type = type_of_role(&o->as, role);
        if (x->path != NULL && o->each[role].source.file.open) {
            if (!source_fits(&o->each[role].source, one_fits, x)) return false;
            continue;
        }
        if (x->path != NULL && !one_fits(&o->each[role].matrix, x->type, &x->i, &x->j, x->value, sizeof x->value))
            return false;
    }
    return true;
}

/* "-128 to 127", "0 to 2^64 - 1" */
static void range_text(io_type type, char *text, size_t size)
{
    const int digits = (int)(8 * io_type_bytes(type)) - !io_type_is_unsigned(type);
    if (digits > 16)
        snprintf(text, size, io_type_is_unsigned(type) ? "0 to 2^%d - 1" : "-2^%d to 2^%d - 1", digits, digits);
    else
        snprintf(text, size, "%d to %d", io_type_is_unsigned(type) ? 0 : -(1 << digits), (1 << digits) - 1);
}

/* --dtype rounds the operands, but whole numbers stay what they are. */
static exit_code check_whole(const operands *o)
{
    misfit x;
    char range[64];
    const operand_role end = io_type_is_integer(o->as.type_c) ? OPERANDS : OPERAND_ADD;
    if (!io_type_is_integer(o->as.type_a) || fits(o, end, io_fits_exactly, &x)) return EXIT_OK;
    range_text(x.type, range, sizeof range);
    return diag(EXIT_INPUT,
                "%s: element [%" PRId64 ", %" PRId64 "] is %s, which %s does not hold: it holds whole numbers of %s",
                x.path, x.i, x.j, x.value, io_type_name(x.type), range);
}

/* By fp8 no number becomes infinite or NaN. The operands are real. */
static exit_code check_range(const operands *o)
{
    misfit x;
    const bool fp8 = io_type_is_fp8(o->as.type_a);
    if (!fp8 || fits(o, OPERAND_ADD, io_fits_range, &x)) return EXIT_OK;
    return diag(EXIT_INPUT,
                "%s: element [%" PRId64 ", %" PRId64
                "] is %s, which %s does not hold: its largest number is %d; scale the operand and give --alpha the "
                "inverse",
                x.path, x.i, x.j, x.value, io_type_name(x.type), x.type == IO_E4M3 ? 448 : 57344);
}

/* What f16 does not hold becomes infinite, seldom what was wanted. Not of files in panels, which this would read once
 * more. */
static void warn_of_range(const operands *o)
{
    misfit x;
    const bool panels = o->each[OPERAND_A].source.file.open || o->each[OPERAND_B].source.file.open;
    if (panels || o->as.type_a != IO_F16 || fits(o, OPERAND_ADD, io_fits_range, &x)) return;
    diag(EXIT_OK,
         "warning: %s: element [%" PRId64 ", %" PRId64
         "] is %s and becomes infinite: the largest number of f16 is 65504",
         x.path, x.i, x.j, x.value);
}

static bool is_byte(const operand *x) { return io_type_is_byte(x->matrix.type); }

/* Integers that i8 and u8 multiply exactly are multiplied in f32 unless --dtype, or the C of `verify`, asks. */
static void hint_at_bytes(const product_wish *wish, const operands *o)
{
    const operand *a = &o->each[OPERAND_A], *b = &o->each[OPERAND_B], *c = &o->each[OPERAND_C];
    const char *of_a = io_type_name(a->matrix.type), *of_b = io_type_name(b->matrix.type);
    const bool one = a->matrix.type == b->matrix.type, asked = c->path != NULL && c->matrix.type == o->as.type_c;
    if (wish->type_count > 0 || asked || !is_byte(a) || !is_byte(b)) return;
    diag(EXIT_OK, "hint: %s and %s hold 8-bit integers and are multiplied in %s; --dtype %s%s%s multiplies them in i32",
         a->path, b->path, o->as.a, of_a, one ? "" : ",", one ? "" : of_b);
}

void operands_warn(const product_wish *wish, const operands *o)
{
    if (wish->quiet) return;
    warn_of_range(o);
    hint_at_bytes(wish, o);
}

/* Has a scalar an imaginary part? */
static bool is_turning(const product_wish *wish) { return wish->alpha.imaginary != 0 || wish->beta.imaginary != 0; }

static io_type common_type(const operands *o)
{
    io_type type = o->each[OPERAND_A].matrix.type;
    for (operand_role role = OPERAND_B; role < OPERANDS; role++)
        if (o->each[role].path != NULL) type = io_result_type(type, o->each[role].matrix.type);
    return type;
}

/* Nothing that is imaginary is dropped: a real type takes no complex operand or scalar. */
static exit_code check_real(const product_wish *wish, const operands *o)
{
    if (io_type_is_complex(o->as.type_a)) return EXIT_OK;
    for (operand_role role = OPERAND_A; role < OPERANDS; role++)
        if (o->each[role].path != NULL && io_type_is_complex(o->each[role].matrix.type))
            return diag(EXIT_USAGE, "%s is complex and the product is to be of %s, expected cf32 or cf64",
                        o->each[role].path, o->as.a);
    if (is_turning(wish))
        return diag(EXIT_USAGE,
                    "--%s has an imaginary part and the product is to be of %s, expected --dtype cf32 or cf64; if the "
                    "comma stands for a decimal point, write a point, as in 1.5",
                    wish->alpha.imaginary != 0 ? "alpha" : "beta", o->as.a);
    return EXIT_OK;
}

/* Is the C that `verify` judges of integers that are multiplied modulo 2^n, as o->as says, and all else of integers
 * that it holds? */
static bool judges_integers(const operands *o)
{
    const operand *c = &o->each[OPERAND_C];
    misfit x;
    if (c->path == NULL || !io_type_is_integer(c->matrix.type) || o->as.type_c != c->matrix.type) return false;
    for (operand_role role = OPERAND_A; role < OPERAND_C; role++)
        if (o->each[role].path != NULL && !io_type_is_integer(o->each[role].matrix.type)) return false;
    return fits(o, OPERANDS, io_fits_exactly, &x);
}

/* What --dtype asks for; else the type of the C that `verify` judges; else the common type of the operands. If no
 * kernel computes in that type, or it does not hold a large integer: the first of f32 and f64, or of cf32 and cf64,
 * that holds every value. */
static exit_code choose_type(const product_wish *wish, operands *o)
{
    static const io_type raised[2][2] = {{IO_F32, IO_F64}, {IO_CF32, IO_CF64}};
    const operand *c = &o->each[OPERAND_C];
    misfit x;
    if (multiplied_asked(wish, &o->as)) return check_whole(o);
    const io_type type = c->path != NULL ? c->matrix.type : common_type(o);
    char modulo[64] = "";
    multiplied_of(io_type_name(type), &o->as);
    if (judges_integers(o)) return EXIT_OK;
    if (computable(type) && (c->path != NULL || fits(o, OPERANDS, io_fits_exactly, &x))) return EXIT_OK;
    for (size_t t = 0; t < 2; t++) {
        multiplied_of(io_type_name(raised[io_type_is_complex(type)][t]), &o->as);
        if (fits(o, OPERANDS, io_fits_exactly, &x)) return EXIT_OK;
    }
    if (io_type_is_integer(type))
        snprintf(modulo, sizeof modulo, "--dtype %s multiplies modulo 2^64, ", io_type_name(type));
    return diag(EXIT_INPUT,
                "%s: element [%" PRId64 ", %" PRId64 "] is %s, which neither f32 nor f64 holds exactly; %s--dtype %s "
                "rounds it",
                x.path, x.i, x.j, x.value, modulo, o->as.a);
}

/* ---- placing ---- */

exit_code operand_dense(operand *x, io_type type, const void **data)
{
    const io_matrix *s = &x->matrix;
    bool in_order = (s->col_stride == 1 || s->cols <= 1) && (s->row_stride == s->cols || s->rows <= 1);
    *data = s->data;
    if (s->type == type && !s->swapped && in_order) return EXIT_OK;
    if (x->block == NULL) {
        x->block = memory_for(s->rows, s->cols, io_type_bytes(type));
        if (x->block == NULL) return diag_no_memory(x->path);
        io_convert(s, type, x->block);
    }
    *data = x->block;
    return EXIT_OK;
}

/* A view whose rows or columns are contiguous is used in place: contiguous columns are the transpose, row by row. */
static exit_code place(operand *x, io_type type, bool transposed, bool conjugated, const void **data, tw_op *op,
                       int64_t *ld)
{
    const tw_op as_it_is = conjugated ? TW_R : TW_N, turned = conjugated ? TW_C : TW_T;
    const io_matrix *s = &x->matrix;
    bool own = s->type == type && !s->swapped;
    bool by_rows = (s->col_stride == 1 || s->cols <= 1) && (s->row_stride >= s->cols || s->rows <= 1);
    bool by_cols = (s->row_stride == 1 || s->rows <= 1) && (s->col_stride >= s->rows || s->cols <= 1);
    *op = transposed ? turned : as_it_is;
    *ld = s->cols > 1 ? s->cols : 1;
    *data = s->data;
    if (own && by_rows && s->rows > 1 && s->row_stride > *ld) *ld = s->row_stride;
    if (own && by_rows) return EXIT_OK;
    if (!own || !by_cols) return operand_dense(x, type, data);
    *op = transposed ? as_it_is : turned;
    *ld = s->rows > 1 ? s->rows : 1;
    if (s->cols > 1 && s->col_stride > *ld) *ld = s->col_stride;
    return EXIT_OK;
}

/* alpha and beta are rounded to the compute type: one that becomes infinite by that is a slip of the keyboard. */
static exit_code check_factor(const char *name, product_scalar factor, const multiplied *as)
{
    const double largest = fmax(fabs(factor.value), fabs(factor.imaginary));
    const bool scales = multiplied_scales(as), whole = io_type_is_integer(as->type_c) && !scales,
               wide = whole && io_type_bytes(as->type_c) == 8;
    const double least = wide ? 1 - 0x1p53 : INT32_MIN, most = wide ? 0x1p53 - 1 : INT32_MAX;
    if (whole && !(factor.value >= least && factor.value <= most && factor.value == floor(factor.value)))
        return diag(EXIT_USAGE, "--%s: found %g, expected a whole number from -2^%s with --dtype %s", name,
                    factor.value, wide ? "53 + 1 to 2^53 - 1" : "31 to 2^31 - 1", as->a);
    if (as->type_a == IO_F64 || as->type_a == IO_CF64 || whole || scales || largest <= (double)FLT_MAX) return EXIT_OK;
    return diag(EXIT_USAGE, "--%s: found %g, expected at most %g, the largest f32; --dtype %s computes in f64", name,
                largest == fabs(factor.value) ? factor.value : factor.imaginary, (double)FLT_MAX,
                as->type_a == IO_CF32 ? "cf64" : "f64");
}

/* Is a real matrix its own conjugate? */
static bool conjugates(const operands *o, bool asked) { return asked && io_type_is_complex(o->as.type_a); }

tw_op operand_op(const operands *o, const product_wish *wish, operand_role role)
{
    const bool of_a = role == OPERAND_A, transposed = of_a ? wish->transpose_a : wish->transpose_b,
               turned = transposed != io_by_columns(&o->each[role].matrix);
    const bool conjugated = conjugates(o, of_a ? wish->conjugate_a : wish->conjugate_b);
    return turned ? (conjugated ? TW_C : TW_T) : conjugated ? TW_R : TW_N;
}

static exit_code begin_problem(const product_wish *wish, operands *o, int64_t m, int64_t n, int64_t k)
{
    tw_problem *p = &o->problem;
    exit_code code = check_factor("alpha", wish->alpha, &o->as);
    if (code == EXIT_OK) code = check_factor("beta", wish->beta, &o->as);
    *p = tw_problem_make(TW_F32, TW_N, TW_N, m, n, k);
    multiplied_problem(&o->as, p);
    if (wish->invariant) p->flags = TW_INVARIANT;
    if (wish->emulate) p->accuracy = TW_EMULATED;
    p->alpha = wish->alpha.value, p->alpha_imaginary = wish->alpha.imaginary;
    p->beta = wish->beta.value, p->beta_imaginary = wish->beta.imaginary;
    return code;
}

static exit_code make_problem(const product_wish *wish, operands *o, int64_t m, int64_t n, int64_t k)
{
    tw_problem *p = &o->problem;
    exit_code code = begin_problem(wish, o, m, n, k);
    if (code == EXIT_OK)
        code = place(&o->each[OPERAND_A], o->as.type_a, wish->transpose_a, conjugates(o, wish->conjugate_a), &o->a,
                     &p->op_a, &p->lda);
    if (code == EXIT_OK)
        code = place(&o->each[OPERAND_B], o->as.type_b, wish->transpose_b, conjugates(o, wish->conjugate_b), &o->b,
                     &p->op_b, &p->ldb);
    return code;
}

static exit_code settle_type(const product_wish *wish, operands *o, int64_t *m, int64_t *n, int64_t *k)
{
    exit_code code = check_shapes(wish, o, m, n, k);
    if (code == EXIT_OK) code = choose_type(wish, o);
    if (code == EXIT_OK) code = check_real(wish, o);
    return code == EXIT_OK ? check_range(o) : code;
}

exit_code operands_read(const product_wish *wish, operands *o)
{
    int64_t m = 0, n = 0, k = 0;
    name_all(wish, o);
    exit_code code = read_all(wish, o);
    if (code == EXIT_OK) code = settle_type(wish, o, &m, &n, &k);
    return code == EXIT_OK ? make_problem(wish, o, m, n, k) : code;
}

/* ---- block by block ---- */

const operand *operands_open(const product_wish *wish, operands *o)
{
    io_error error;
    name_all(wish, o);
    for (operand_role role = OPERAND_A; role < OPERANDS; role++) {
        operand *x = &o->each[role];
        const io_raw_shape raw = raw_shape(wish, role);
        if (x->path == NULL) continue;
        const int reading = guard_watch(NULL, PTRDIFF_MAX, x->path);
        const io_status status = io_source_open(x->path, &raw, &x->source, &error);
        guard_unwatch(reading);
        if (status != IO_OK) return x;
        x->matrix = x->source.matrix;
    }
    return NULL;
}

exit_code operands_settle(const product_wish *wish, operands *o)
{
    int64_t m = 0, n = 0, k = 0;
    exit_code code = settle_type(wish, o, &m, &n, &k);
    if (code != EXIT_OK) return code;
    code = begin_problem(wish, o, m, n, k);
    o->problem.op_a = operand_op(o, wish, OPERAND_A), o->problem.op_b = operand_op(o, wish, OPERAND_B);
    return code;
}

double operands_bytes(const product_wish *wish, const operands *o)
{
    const io_matrix *a = &o->each[OPERAND_A].matrix, *b = &o->each[OPERAND_B].matrix;
    const bool asked = wish->type_count > 0;
    multiplied as;
    io_type type = common_type(o);
    if (!computable(type)) type = IO_F64; /* at most */
    if (!asked || !multiplied_asked(wish, &as)) multiplied_of(io_type_name(type), &as);
    double bytes = (double)(wish->transpose_a ? a->cols : a->rows) * (double)(wish->transpose_b ? b->rows : b->cols) *
                   (double)io_type_bytes(as.type_c);
    for (operand_role role = OPERAND_A; role < OPERANDS; role++) {
        const io_matrix *x = &o->each[role].matrix;
        const io_type to = type_of_role(&as, role);
        if (o->each[role].path == NULL) continue;
        bytes += (double)x->rows * (double)x->cols *
                 (double)(io_type_bytes(x->type) + (x->type != to || x->swapped ? io_type_bytes(to) : 0));
    }
    for (int q = 0; q < o->bound_count; q++) {
        const io_matrix *x = &o->bound[q].matrix;
        const double converted = o->bound[q].block != NULL ? 8 : 0; /* at most */
        bytes += (double)x->rows * (double)x->cols * ((double)io_type_bytes(x->type) + converted);
    }
    return bytes;
}

exit_code operands_unchanged(const operands *o)
{
    io_error error;
    io_status status = IO_OK;
    for (int q = 0; status == IO_OK && q < OPERANDS + o->bound_count; q++) {
        const operand *x = q < OPERANDS ? &o->each[q] : &o->bound[q - OPERANDS];
        status = io_unchanged(x->source.file.open ? &x->source.file : &x->matrix.file, x->path, &error);
    }
    return status == IO_OK ? EXIT_OK : diag_io(status, &error);
}

void operands_free(operands *o)
{
    for (int q = 0; q < OPERANDS + o->bound_count; q++) {
        operand *x = q < OPERANDS ? &o->each[q] : &o->bound[q - OPERANDS];
        guard_unwatch(x->watch);
        io_source_close(&x->source);
        io_free(&x->matrix);
        free(x->block);
    }
    free(o->bound);
    tw_epilogue_free(o->epilogue);
    *o = (operands){0};
}

void operand_tell(const operand *x, const char *name, io_type type, FILE *text)
{
    const io_matrix *s = &x->matrix;
    tame_name path;
    bool by_cols = s->row_stride == 1 && s->rows > 1 && s->cols > 1;
    fprintf(text, "%-10s %s  %" PRId64 " x %" PRId64 " %s%s%s", name, diag_name(x->path, path), s->rows, s->cols,
            io_type_name(s->type), by_cols ? ", column-major" : "", s->swapped ? ", other byte order" : "");
    if (x->block != NULL)
        fprintf(text, ", converted to %s by rows\n", io_type_name(type));
    else
        fprintf(text, x->source.file.open ? ", read in panels\n" : s->type == type ? ", in place\n" : "\n");
}

void operands_tell(const operands *o, FILE *text)
{
    static const char *const names[] = {[OPERAND_A] = "A", [OPERAND_B] = "B", [OPERAND_ADD] = "C0", [OPERAND_C] = "C"};
    term_progress_end();
    for (operand_role role = OPERAND_A; role < OPERANDS; role++)
        if (o->each[role].path != NULL) operand_tell(&o->each[role], names[role], type_of_role(&o->as, role), text);
}
