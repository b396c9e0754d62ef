/* elements.h - matrices of any type of io/ whose elements are known by their places: whole numbers from 0 to 7, which
 * every type holds. For loops that go in pieces: `about` names the lengths about a piece. */
#ifndef TILEWRIGHT_ELEMENTS_H
#define TILEWRIGHT_ELEMENTS_H

#include <stdlib.h>

#include "io_parse.h"

enum { MOST_ELEMENT = 16 };

/* One less than a piece, a piece, one more, and two with one more. */
static inline int64_t about(int64_t piece, int which) { return which < 3 ? piece - 1 + which : 2 * piece + 1; }

/* Part 1 is the imaginary one. */
static inline int number_of(int64_t i, int64_t j, int part)
{
    const uint64_t mixed = (uint64_t)(i * 1000003 + j * 2 + part + 1) * UINT64_C(0x9e3779b97f4a7c15);
    return (int)(mixed >> 61);
}

/* A small whole number as this type, which is not complex, has it on this machine. */
static inline void put_number(unsigned char *to, io_type type, int value)
{
    const double d = value;
    const io_matrix one = {.type = IO_F64, .rows = 1, .cols = 1, .row_stride = 1, .col_stride = 1, .data = &d};
    if (type == IO_F16 || type == IO_BF16 || type == IO_E4M3 || type == IO_E5M2)
        io_convert(&one, type, to);
    else
        put_value(to, type, io_host_is_big_endian(), value);
}

/* The elements of one type, numbered by the parts: 8 * imaginary + real. */
typedef struct alphabet {
    io_type type;
    size_t bytes;
    unsigned char element[64][MOST_ELEMENT];
} alphabet;

static inline alphabet alphabet_of(io_type type, bool swapped)
{
    alphabet all = {.type = type, .bytes = io_type_bytes(type)};
    const size_t part = io_type_bytes(io_type_part(type));
    for (int e = 0; e < 64; e++) {
        put_number(all.element[e], io_type_part(type), e % 8);
        if (io_type_is_complex(type)) put_number(all.element[e] + part, io_type_part(type), e / 8);
        for (size_t b = 0; swapped && b < all.bytes; b++)
            if (b % part < part / 2) {
                unsigned char *x = &all.element[e][b], *y = &all.element[e][b - b % part + part - 1 - b % part], kept;
                kept = *x, *x = *y, *y = kept;
            }
    }
    return all;
}

static inline const unsigned char *element_of(const alphabet *all, int64_t i, int64_t j, bool complex)
{
    return all->element[number_of(i, j, 0) + (complex ? 8 * number_of(i, j, 1) : 0)];
}

typedef enum elements_layout { BY_ROWS, BY_COLUMNS, SPACED, LAYOUTS } elements_layout;

/* A matrix of known elements; io_free() gives it back. */
static inline io_matrix elements_make(io_type type, bool swapped, int64_t rows, int64_t cols, elements_layout layout)
{
    const alphabet all = alphabet_of(type, swapped);
    io_matrix m = {.type = type,
                   .swapped = swapped,
                   .rows = rows,
                   .cols = cols,
                   .row_stride = layout == BY_COLUMNS ? 1
                                 : layout == BY_ROWS  ? cols
                                                      : 2 * cols + 3,
                   .col_stride = layout == BY_COLUMNS ? rows
                                 : layout == BY_ROWS  ? 1
                                                      : 2};
    m.data = m.memory = calloc((size_t)(rows * (2 * cols + 3)), all.bytes);
    assert_non_null(m.memory);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++)
            memcpy((char *)m.memory + (size_t)(i * m.row_stride + j * m.col_stride) * all.bytes,
                   element_of(&all, i, j, io_type_is_complex(type)), all.bytes);
    return m;
}

/* Are these rows x cols elements, side by side, those from (i0, j0) on? by_columns: column by column. from: the type
 * that they were converted from. what: for the reason. */
static inline void elements_check(const void *found, const alphabet *all, io_type from, int64_t i0, int64_t j0,
                                  int64_t rows, int64_t cols, bool by_columns, const char *what)
{
    const bool complex = io_type_is_complex(from) && io_type_is_complex(all->type);
    const unsigned char *at = found;
    for (int64_t x = 0; x < rows * cols; x++, at += all->bytes) {
        const int64_t i = i0 + (by_columns ? x % rows : x / cols), j = j0 + (by_columns ? x / rows : x % cols);
        if (memcmp(at, element_of(all, i, j, complex), all->bytes) != 0)
            fail_msg("%s, %s to %s, %" PRId64 " x %" PRId64 ": element (%" PRId64 ", %" PRId64 ") is another", what,
                     io_type_name(from), io_type_name(all->type), rows, cols, i, j);
    }
}

#endif
