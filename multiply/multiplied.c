/* multiplied.c - see multiplied.h. */
#include "multiplied.h"

#include <string.h>
#include "../program/diag.h"

/* instead: what multiplies the same numbers on any engine. passed: the library's type; NULL: the same. */
typedef struct product_row {
    const char *name;
    io_type stored, c;
    const char *instead, *passed;
} product_row;

#define IN_F32 "convert the files to f32, which holds the same numbers, and leave --dtype out"

#define ROW_REAL(id, name, c)    {#name, IO_##id, IO_##c, NULL, NULL},
#define ROW_COMPLEX(id, name, c) ROW_REAL(id, name, c)
#define ROW_HALF(id, name, c)    ROW_REAL(id, name, c)
#define ROW_ROUNDED(id, name, c) {#name, IO_##c, IO_##c, "give --dtype f32", NULL},
#define ROW_FP8(id, name, c)     {#name, IO_##id, IO_##c, IN_F32, NULL},
#define ROW_BYTE(id, name, c)    ROW_FP8(id, name, c)
#define ROW_WHOLE(id, name, c)   ROW_REAL(id, name, c)
static const product_row rows[] = {
#define DTYPE(id, name, bytes, class, c, ...) ROW_##class(id, name, c)
#include "../data/dtypes.def"
#undef DTYPE
    {"u16", IO_U16, IO_U16, NULL, "i16"}, /* modulo 2^n the bits are those of signed integers */
    {"u32", IO_U32, IO_U32, NULL, "i32"},
    {"u64", IO_U64, IO_U64, NULL, "i64"},
};

enum { ROWS = sizeof rows / sizeof *rows };
_Static_assert(ROWS == IO_TYPE_COUNT + 1, "a row for each type of a file, and for tf32");

/* Of each word that --dtype takes, and of each type of a file. */
static const product_row *row_named(const char *name)
{
    int r = 0;
    while (strcmp(rows[r].name, name) != 0) r++;
    return &rows[r];
}

/* May A and B be of these? */
static bool mix(const product_row *a, const product_row *b)
{
    return a == b || (io_type_is_byte(a->stored) && io_type_is_byte(b->stored)) ||
           (io_type_is_fp8(a->stored) && io_type_is_fp8(b->stored));
}

static bool gives(const product_row *row, io_type c)
{
    return c == row->c || (io_type_is_half(row->stored) && c == row->stored) ||
           (io_type_is_fp8(row->stored) && io_type_is_half(c)) ||
           (io_type_is_byte(row->stored) && (c == IO_F32 || io_type_is_byte(c)));
}

static const char *word_of_b(const product_wish *wish) { return wish->types[wish->type_count - 1]; }

void multiplied_of(const char *type, multiplied *out)
{
    const product_row *row = row_named(type);
    *out = (multiplied){row->name, row->name, row->stored, row->stored, row->c};
}

bool multiplied_asked(const product_wish *wish, multiplied *out)
{
    multiplied b;
    if (wish->type_count == 0) return false;
    multiplied_of(wish->types[0], out), multiplied_of(word_of_b(wish), &b);
    out->b = b.b, out->type_b = b.type_b;
    if (wish->type_c != NULL) io_type_parse(wish->type_c, &out->type_c);
    return true;
}

exit_code multiplied_check(const product_wish *wish)
{
    const product_row *a = wish->type_count > 0 ? row_named(wish->types[0]) : NULL;
    const product_row *b = wish->type_count > 0 ? row_named(word_of_b(wish)) : NULL;
    io_type c;
    if (wish->type_count > 1 && !mix(a, b))
        return diag(EXIT_USAGE,
                    "--dtype %s,%s: expected one type, or that of A and that of B, both of i8 and u8 or both of e4m3 "
                    "and e5m2",
                    wish->types[0], word_of_b(wish));
    if (wish->type_c == NULL) return EXIT_OK;
    if (a == NULL) return diag(EXIT_USAGE, "--dtype-c %s: needs --dtype T, the type that is multiplied", wish->type_c);
    if (!io_type_parse(wish->type_c, &c) || !gives(a, c))
        return diag(EXIT_USAGE, "--dtype-c %s: products of %s are %s%s%s", wish->type_c, a->name, io_type_name(a->c),
                    io_type_is_half(a->stored)   ? " or "
                    : io_type_is_fp8(a->stored)  ? ", bf16 or f16"
                    : io_type_is_byte(a->stored) ? ", f32, i8 or u8"
                                                 : "",
                    io_type_is_half(a->stored) ? a->name : "");
    return EXIT_OK;
}

/* ---- the engine ---- */

static bool engine_multiplies(const char *engine, tw_dtype dtype)
{
    const tw_dtype of_kernels = tw_lab_kernel_dtype(engine, dtype);
    const tw_lab_kernel *row;
    for (int i = 0; (row = tw_lab_kernel_at(i)) != NULL; i++)
        if (row->production && row->dtype == of_kernels && strcmp(row->engine, engine) == 0) return true;
    return false;
}

bool multiplied_scales(const multiplied *x) { return io_type_is_integer(x->type_a) && x->type_c != row_named(x->a)->c; }

bool multiplied_by(const char *engine, const tw_problem *p)
{
    const bool bytes = p->dtype == TW_I8 || p->dtype == TW_U8, scales = bytes && p->dtype_c != TW_I32;
    return engine_multiplies(engine, p->dtype) && engine_multiplies(engine, p->dtype_b) &&
           (!scales || strcmp(engine, "cpu") == 0);
}

/* "cuda", "opencl or cuda": the engines other than this one that have kernels for it. */
static void engines_text(const tw_problem *p, const char *but, char *text, size_t size)
{
    static const char *const engines[] = {"cpu", "opencl", "cuda"};
    text[0] = '\0';
    for (size_t e = 0; e < sizeof engines / sizeof *engines; e++) {
        const size_t used = strlen(text);
        if (strcmp(engines[e], but) != 0 && multiplied_by(engines[e], p))
            snprintf(text + used, size - used, "%s%s", used > 0 ? " or " : "", engines[e]);
    }
}

static void pair_text(const multiplied *x, const char *between, char text[32])
{
    const bool one = strcmp(x->a, x->b) == 0;
    snprintf(text, 32, "%s%s%s", x->a, one ? "" : between, one ? "" : x->b);
}

exit_code multiplied_check_engine(const product_wish *wish)
{
    const char *engine = wish->device->engine;
    multiplied x;
    tw_lab_plan plan;
    char asked[32], pair[32], others[64];
    if (!multiplied_asked(wish, &x)) return EXIT_OK;
    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, 1, 1, 1);
    multiplied_problem(&x, &p);
    const tw_status status = tw_lab_plan_of(wish->context, NULL, &p, &plan);
    if (status != TW_NO_KERNEL) return EXIT_OK; /* what else is wrong is told by the product */
    const product_row *row = row_named(x.a);
    engines_text(&p, engine, others, sizeof others);
    if (!multiplied_by(engine, &p) && engine_multiplies(engine, p.dtype) && multiplied_scales(&x))
        return diag(EXIT_DEVICE,
                    "--dtype-c %s: the %s engine gives products of %s in %s; give --engine %s, or leave --dtype-c out",
                    io_type_name(x.type_c), engine, x.a, io_type_name(row->c), others);
    if (multiplied_by(engine, &p) && p.dtype == p.dtype_b) return diag_tw(status);
    const char *instead = row->instead;
    pair_text(&x, ",", asked), pair_text(&x, " by ", pair);
    return diag(EXIT_DEVICE, "--dtype %s: the %s engine multiplies no %s; give --engine %s%s%s", asked, engine, pair,
                others, instead != NULL ? ". Or " : "", instead != NULL ? instead : "");
}

/* As the library knows it. */
static tw_dtype passed(const char *name)
{
    const product_row *row = row_named(name);
    return tw_lab_dtype_named(row->passed != NULL ? row->passed : name)->dtype;
}

void multiplied_problem(const multiplied *x, tw_problem *problem)
{
    problem->dtype = passed(x->a), problem->dtype_b = passed(x->b);
    problem->dtype_c = passed(io_type_name(x->type_c));
}
