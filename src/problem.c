/* problem.c - checks, completes and prints problems. */
#include "problem.h"
#include "dtypes.h"
#include "sized.h"

#include <inttypes.h>
#include <stdio.h>

_Static_assert((sizeof(tw_problem) - PROBLEM_FIRST_BYTES) % sizeof(uint64_t) == 0,
               "problem_is_plain() looks at whole words");

static tw_status check_extent(const char *name, int64_t value)
{
    if (value < 0) return fail(TW_BAD_ARGUMENT, "%s is %" PRId64 ", expected 0 or more", name, value);
    return TW_OK;
}

/* No processor addresses as much, and what kernels reckon with, a few rows at a time, is far from overflow. */
static const int64_t MOST_SPAN_BYTES = (int64_t)1 << 57;

enum { SHORT_BITS = 27 };

/* Does an operand of rows x cols elements span at most so much? Lengths below 2^27 are not divided, which would cost a
 * tenth of a tiny product: 2^54 elements of 8 bytes span no more. */
static bool addressable(int64_t rows, int64_t cols, int64_t ld, size_t element_bytes)
{
    if ((rows | cols | ld) >> SHORT_BITS == 0 || rows == 0 || cols == 0) return true;
    int64_t most = MOST_SPAN_BYTES / (int64_t)element_bytes;
    return cols <= most && rows - 1 <= (most - cols) / ld;
}

/* Of an element, of complex types of its real part. A power of two. */
static int alignment_needed(const tw_lab_dtype *dtype) { return dtype->bytes >> (dtype->parts - 1); }

static bool aligned(const void *pointer, const tw_lab_dtype *dtype)
{
    return ((uintptr_t)pointer & (uintptr_t)(alignment_needed(dtype) - 1)) == 0;
}

static tw_status fail_aligned(const char *name, const tw_lab_dtype *dtype)
{
    return fail(TW_BAD_ARGUMENT, "%s is not aligned to one %s of %d bytes", name,
                dtype->parts == 2 ? "real part" : "element", alignment_needed(dtype));
}

/* One operand as stored: rows x cols, *ld_in_use elements apart, which becomes the least where it is long and leads to
 * no element. needed: the product really touches it. */
static tw_status check_operand(const char *name, const void *pointer, int64_t rows, int64_t cols, int64_t *ld_in_use,
                               const tw_lab_dtype *dtype, int needed)
{
    const size_t element_bytes = (size_t)dtype->bytes;
    const int64_t least = max_i64(cols, 1), ld = *ld_in_use;
    if (ld < least)
        return fail(TW_BAD_ARGUMENT,
                    "ld%s is %" PRId64 ", expected at least %" PRId64 ", the stored columns of %s (%" PRId64
                    " x %" PRId64 ")",
                    name, ld, least, name, rows, cols);
    if (!addressable(rows, cols, ld, element_bytes))
        return fail(TW_BAD_ARGUMENT,
                    "%s spans more bytes than this machine can address: %" PRId64 " rows %" PRId64
                    " elements of %zu bytes apart",
                    name, rows, ld, element_bytes);
    if (needed && rows > 0 && cols > 0 && pointer == NULL)
        return fail(TW_BAD_ARGUMENT, "%s is NULL, expected %" PRId64 " x %" PRId64 " elements", name, rows, cols);
    if (needed && !aligned(pointer, dtype)) return fail_aligned(name, dtype);
    if ((rows < 2 || cols == 0) && ld >> SHORT_BITS != 0) *ld_in_use = least;
    return TW_OK;
}

uint32_t problem_alignment(const void *pointer)
{
    uintptr_t bits = (uintptr_t)pointer | 256;
    return (uint32_t)(bits & (~bits + 1));
}

/* alpha and beta in the accumulator's type: rounded to it, but integers must be whole numbers of their type. */
static tw_status load_scalar(const char *name, tw_dtype accumulator, double *value)
{
    if (accumulator == TW_F32 || accumulator == TW_CF32) *value = (double)(float)*value;
    if (accumulator != TW_I32 && accumulator != TW_I16 && accumulator != TW_I64) return TW_OK;
    const bool wide = accumulator == TW_I64;
    const double least = wide ? 1 - 0x1p53 : INT32_MIN, most = wide ? 0x1p53 - 1 : INT32_MAX;
    if (*value >= least && *value <= most && *value == (double)(int64_t)*value) return TW_OK;
    return fail(TW_BAD_ARGUMENT, "%s is %g, expected a whole number from -2^%s: C is of integers", name, *value,
                wide ? "53 + 1 to 2^53 - 1" : "31 to 2^31 - 1");
}

static void load_imaginary(tw_problem *p)
{
    if (p->dtype == TW_CF64) return;
    p->alpha_imaginary = (double)(float)p->alpha_imaginary, p->beta_imaginary = (double)(float)p->beta_imaginary;
}

static tw_status check_op(const char *name, tw_op op, const dtype_row *dtype)
{
    if (op == TW_N || op == TW_T) return TW_OK;
    if (dtype->lab.parts == 2)
        return op_conjugates(op) ? TW_OK
                                 : fail(TW_BAD_ARGUMENT, "%s is %d, expected TW_N, TW_T, TW_C or TW_R", name, (int)op);
    return fail(TW_BAD_ARGUMENT, "%s is %d, expected TW_N or TW_T", name, (int)op);
}

static tw_status check_accuracy(const tw_problem *p)
{
    if (p->accuracy <= TW_EMULATED) return TW_OK;
    return fail(TW_BAD_ARGUMENT, "accuracy is %u, expected TW_NATIVE (%d) or TW_EMULATED (%d)", p->accuracy,
                (int)TW_NATIVE, (int)TW_EMULATED);
}

/* Fields that nothing is computed with yet. */
static tw_status check_reserved(const tw_problem *p)
{
    const bool real = !problem_is_complex(p);
    const reserved_field fields[] = {{"scale_kind", p->scale_kind != 0},
                                     {"alpha_imaginary", real && p->alpha_imaginary != 0},
                                     {"beta_imaginary", real && p->beta_imaginary != 0},
                                     {"scale_a", p->scale_a != NULL},
                                     {"scale_b", p->scale_b != NULL},
                                     {"scale_c", p->scale_c != NULL}};
    return sized_refuse("problem", sizeof fields / sizeof *fields, fields);
}

static tw_status check_flags(const tw_problem *p)
{
    const uint32_t triangle = problem_triangle(p);
    if ((p->flags & ~(uint32_t)(TW_LOWER | TW_UPPER | TW_INVARIANT | TW_PACKED_B)) != 0 ||
        triangle == (TW_LOWER | TW_UPPER))
        return fail(TW_BAD_ARGUMENT,
                    "flags is %u, expected 0, TW_LOWER (%d) or TW_UPPER (%d), and with any TW_INVARIANT (%d) and "
                    "TW_PACKED_B (%d)",
                    p->flags, (int)TW_LOWER, (int)TW_UPPER, (int)TW_INVARIANT, (int)TW_PACKED_B);
    if (triangle == 0 || p->m == p->n) return TW_OK;
    return fail(TW_BAD_ARGUMENT, "m is %" PRId64 " and n %" PRId64 ", expected the same: a square C has triangles",
                p->m, p->n);
}

tw_status problem_take(const tw_problem *user, tw_problem *p)
{
    if (user == NULL) return fail(TW_BAD_ARGUMENT, "problem is NULL");
    if (user->size == sizeof *user)
        *p = *user;
    else
        TRY(sized_load("problem", user, PROBLEM_FIRST_BYTES, p, sizeof *p));
    if (problem_is_plain(p)) return TW_OK;
    TRY(check_reserved(p));
    return check_accuracy(p);
}

/* The types that are accepted, as they stand in sentences: "0, 2 or 4". How many beside 0. */
static int accepted_text(char text[64], tw_dtype dtype, bool accepts(tw_dtype, tw_dtype), tw_dtype first)
{
    int used = snprintf(text, 64, "0"), last = -1, count = 0;
    for (int i = 1; i < DTYPES_END; i++) {
        const int next = i == 1 ? (int)first : i <= (int)first ? i - 1 : i;
        if (!accepts(dtype, (tw_dtype)next)) continue;
        if (last > 0) used += snprintf(text + used, 64 - (size_t)used, ", %d", last);
        last = next, count++;
    }
    snprintf(text + used, 64 - (size_t)used, " or %d", last);
    return count;
}

/* Fills in what is 0: the type of B by that of A, the type of C by what A gives. */
static tw_status load_dtypes(tw_problem *p, const dtype_row *dtype)
{
    char accepted[64];
    if (p->dtype_b == 0) p->dtype_b = p->dtype;
    if (p->dtype_c == 0) p->dtype_c = dtype->result;
    if (!dtypes_mix(p->dtype, p->dtype_b)) {
        accepted_text(accepted, p->dtype, dtypes_mix, p->dtype);
        return fail(TW_BAD_ARGUMENT, "dtype_b is %d, expected %s: dtype is %s", (int)p->dtype_b, accepted,
                    dtype->lab.name);
    }
    if (!dtype_gives(p->dtype, p->dtype_c)) {
        const bool one = accepted_text(accepted, p->dtype, dtype_gives, dtype->result) == 1;
        return fail(TW_BAD_ARGUMENT, "dtype_c is %d, expected %s: %s operands give %s", (int)p->dtype_c, accepted,
                    dtype->lab.name, one ? "that type" : "those types");
    }
    return TW_OK;
}

tw_status problem_load(const tw_problem *user, const void *a, const void *b, const void *c, tw_problem *out)
{
    tw_problem p;
    TRY(problem_take(user, &p));
    const dtype_row *dtype = dtype_find(p.dtype);
    if (dtype == NULL) return fail(TW_BAD_ARGUMENT, "dtype is %d, which is no tw_dtype of this library", (int)p.dtype);
    TRY(load_dtypes(&p, dtype));
    TRY(check_op("op_a", p.op_a, dtype));
    TRY(check_op("op_b", p.op_b, dtype));
    if ((p.place_c != TW_HOST && p.place_c != TW_DEVICE) || p.place_a != p.place_c || p.place_b != p.place_c)
        return fail(TW_BAD_ARGUMENT,
                    "place_a, place_b, place_c are %d, %d, %d, expected all TW_HOST (%d) or all TW_DEVICE (%d)",
                    (int)p.place_a, (int)p.place_b, (int)p.place_c, (int)TW_HOST, (int)TW_DEVICE);
    TRY(check_extent("m", p.m));
    TRY(check_extent("n", p.n));
    TRY(check_extent("k", p.k));
    if (p.flags != 0) TRY(check_flags(&p));
    if (p.epilogue != NULL) TRY(epilogue_check(p.epilogue, &p));
    if (!dtype_is_integer(p.dtype) || !problem_converts_c(&p)) { /* sums of integers are converted in double */
        TRY(load_scalar("alpha", dtype->result, &p.alpha));      /* which is the accumulator's type */
        TRY(load_scalar("beta", dtype->result, &p.beta));
    }
    if (dtype->lab.parts == 2) load_imaginary(&p);
    int writes = p.m > 0 && p.n > 0, reads = writes && p.k > 0 && (p.alpha != 0 || p.alpha_imaginary != 0);
    if (problem_b_is_packed(&p)) p.ldb = max_i64(problem_b_cols(&p), 1);
    TRY(check_operand("a", a, problem_a_rows(&p), problem_a_cols(&p), &p.lda, &dtype->lab, reads));
    TRY(check_operand("b", b, problem_b_rows(&p), problem_b_cols(&p), &p.ldb, &dtype->lab, reads));
    TRY(check_operand("c", c, p.m, p.n, &p.ldc, &dtype_find(p.dtype_c)->lab, writes));
    if (!reads) p.k = 0, p.alpha = 0, p.alpha_imaginary = 0;
    p.align_a = problem_alignment(a), p.align_b = problem_alignment(b), p.align_c = problem_alignment(c);
    *out = p;
    return TW_OK;
}

/* One operand of a batch at strides: do all items end within what can be addressed, and are they aligned to an
 * element? */
static tw_status check_stride(const char *name, const tw_batch *batch, int64_t stride, int64_t rows, int64_t cols,
                              int64_t ld, size_t element_bytes)
{
    if (stride < 0) return fail(TW_BAD_ARGUMENT, "batch.stride_%s is %" PRId64 ", expected 0 or more", name, stride);
    if (rows == 0 || cols == 0 || batch->count < 2 || stride == 0) return TW_OK;
    int64_t most = MOST_SPAN_BYTES / (int64_t)element_bytes - ((rows - 1) * ld + cols);
    if (stride > most / (batch->count - 1))
        return fail(TW_BAD_ARGUMENT,
                    "%s spans more bytes than this machine can address: %" PRId64 " items %" PRId64
                    " elements of %zu bytes apart",
                    name, batch->count, stride, element_bytes);
    return TW_OK;
}

/* Items of C one behind the other, or side by side in the same rows. */
static tw_status check_apart(const tw_batch *batch, const tw_problem *p)
{
    int64_t span = (p->m - 1) * p->ldc + p->n, stride = batch->stride_c;
    bool beside = stride >= p->n && stride <= (p->ldc - p->n) / max_i64(batch->count - 1, 1);
    if (batch->count < 2 || stride >= span || beside) return TW_OK;
    return fail(TW_BAD_ARGUMENT,
                "batch.stride_c is %" PRId64 ", so that items of C overlap: expected at least %" PRId64
                ", or from n to (ldc - n) / (count - 1)",
                stride, span);
}

/* One array of addresses; what lies in device memory cannot be looked at. */
static tw_status check_addresses(const char *name, int64_t count, bool host, const void *items,
                                 const tw_lab_dtype *dtype)
{
    if (items == NULL)
        return fail(TW_BAD_ARGUMENT, "%s is NULL, expected an array of %" PRId64 " addresses", name, count);
    if ((uintptr_t)items % sizeof(void *) != 0)
        return fail(TW_BAD_ARGUMENT, "%s is not aligned to an address of %zu bytes", name, sizeof(void *));
    for (int64_t i = 0; host && i < count; i++) {
        const void *item = ((void *const *)items)[i];
        if (item == NULL) return fail(TW_BAD_ARGUMENT, "%s[%" PRId64 "] is NULL", name, i);
        if (!aligned(item, dtype)) {
            char item_name[32];
            snprintf(item_name, sizeof item_name, "%s[%" PRId64 "]", name, i);
            return fail_aligned(item_name, dtype);
        }
    }
    return TW_OK;
}

tw_status batch_check_addresses(const tw_batch *batch, const tw_problem *p, const void *a, const void *b, const void *c)
{
    bool writes = p->m > 0 && p->n > 0 && batch->count > 0, reads = writes && p->k > 0;
    bool host = p->place_c == TW_HOST;
    const tw_lab_dtype *dtype = &dtype_find(p->dtype)->lab;
    if (reads) {
        TRY(check_addresses("a", batch->count, host, a, dtype));
        TRY(check_addresses("b", batch->count, host, b, dtype));
    }
    return writes ? check_addresses("c", batch->count, host, c, &dtype_find(p->dtype_c)->lab) : TW_OK;
}

static tw_status check_pointers(const tw_batch *batch)
{
    if (batch->stride_a != 0 || batch->stride_b != 0 || batch->stride_c != 0)
        return fail(TW_BAD_ARGUMENT,
                    "batch.stride_a, stride_b, stride_c are %" PRId64 ", %" PRId64 ", %" PRId64
                    ", expected 0: addresses are given",
                    batch->stride_a, batch->stride_b, batch->stride_c);
    if (batch->count > PTRDIFF_MAX / (int64_t)sizeof(void *))
        return fail(TW_BAD_ARGUMENT, "batch.count is %" PRId64 ", more addresses than this machine can hold",
                    batch->count);
    return TW_OK;
}

tw_status batch_check(const tw_batch *batch, const tw_problem *p)
{
    if (batch->pointers > 1) return fail(TW_BAD_ARGUMENT, "batch.pointers is %u, expected 0 or 1", batch->pointers);
    TRY(check_extent("batch.count", batch->count));
    if (problem_b_is_packed(p) && (batch->pointers || batch->stride_b != 0))
        return fail(TW_BAD_ARGUMENT,
                    "batch.pointers is %u and batch.stride_b %" PRId64 ", expected 0 and 0: all items share a packed B",
                    batch->pointers, batch->stride_b);
    if (batch->pointers) return check_pointers(batch);
    size_t bytes = (size_t)dtype_find(p->dtype)->lab.bytes;
    TRY(check_stride("a", batch, batch->stride_a, problem_a_rows(p), problem_a_cols(p), p->lda, bytes));
    TRY(check_stride("b", batch, batch->stride_b, problem_b_rows(p), problem_b_cols(p), p->ldb, bytes));
    TRY(check_stride("c", batch, batch->stride_c, p->m, p->n, p->ldc, (size_t)dtype_find(p->dtype_c)->lab.bytes));
    return p->m > 0 && p->n > 0 ? check_apart(batch, p) : TW_OK;
}
