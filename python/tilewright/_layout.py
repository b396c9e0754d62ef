"""How two arrays become one call of the library: leading dimensions, transposes and batches, from shapes and strides
alone. Nothing is computed or copied here, and nothing depends on the kind of array.

Strides count elements here.
"""
from __future__ import annotations

from typing import List, NamedTuple, Optional, Sequence, Tuple

__all__: List[str] = []

Ints = Tuple[int, ...]


def matrix(rows: int, columns: int, row_stride: int, column_stride: int) -> Optional[Tuple[int, int]]:
    """(op, leading dimension) of a matrix that the library reads in place; None if it must be copied."""
    if (column_stride == 1 or columns <= 1) and (rows <= 1 or row_stride >= max(columns, 1)):
        return 0, row_stride if rows > 1 else max(columns, 1)
    if (row_stride == 1 or rows <= 1) and (columns <= 1 or column_stride >= max(rows, 1)):
        return 1, column_stride if columns > 1 else max(rows, 1)
    return None


def contiguous(shape: Ints) -> Ints:
    """The strides of a new array."""
    strides: List[int] = []
    step = 1
    for n in reversed(shape):
        strides.append(step)
        step *= n
    return tuple(reversed(strides))


def product_shape(a: Ints, b: Ints) -> Ints:
    """The shape of a @ b by np.matmul's rules. ValueError names both shapes."""
    for name, shape in (("a", a), ("b", b)):
        if not shape:
            raise ValueError(f"{name} has no dimensions: expected a vector, a matrix or a stack of matrices; "
                             f"the shapes are {a} and {b}")
    k = b[-2:][0]  # of a vector its only dimension
    if a[-1] != k:
        raise ValueError(f"shapes {a} and {b} do not fit: each row of a has {a[-1]} elements, each column of b {k}")
    batch = broadcast(a[:-2], b[:-2])
    if batch is None:
        raise ValueError(f"shapes {a} and {b} do not fit: their batches {a[:-2]} and {b[:-2]} cannot be broadcast")
    return batch + a[-2:-1] + (b[-1:] if len(b) > 1 else ())


def broadcast(a: Ints, b: Ints) -> Optional[Ints]:
    if not a or not b:
        return a or b
    longest = max(len(a), len(b))
    a, b = (1,) * (longest - len(a)) + a, (1,) * (longest - len(b)) + b
    if any(x != y and x != 1 and y != 1 for x, y in zip(a, b)):
        return None
    return tuple(y if x == 1 else x for x, y in zip(a, b))


def spread(strides: Ints, shape: Ints, wanted: Ints) -> Ints:
    """The batch strides of an operand of this batch shape, broadcast to the wanted one: 0 where it is repeated."""
    missing = len(wanted) - len(shape)
    return (0,) * missing + tuple(0 if have == 1 else stride for have, stride in zip(shape, strides))


class Call(NamedTuple):
    """One call: alpha op(A) op(B) + beta C, once or for each index of a batch.

    A column-major C is computed as its transpose, B^T A^T: `swapped`. `batch` has a row (count, stride of A, stride of
    B, stride of C) for each dimension that is left of the batch; the last varies fastest."""

    m: int
    n: int
    k: int
    op_a: int
    op_b: int
    lda: int
    ldb: int
    ldc: int
    swapped: bool
    batch: List[Tuple[int, int, int, int]]


def merged(batch: Sequence[Tuple[int, int, int, int]]) -> List[Tuple[int, int, int, int]]:
    """Neighbouring dimensions that one stride can walk through become one."""
    done: List[Tuple[int, int, int, int]] = []
    for outer in reversed([row for row in batch if row[0] != 1]):
        if done and all(stride == done[-1][0] * inner for stride, inner in zip(outer[1:], done[-1][1:])):
            inner_row = done.pop()
            done.append((outer[0] * inner_row[0],) + inner_row[1:])
        else:
            done.append(outer)
    return done[::-1]


class NeedsCopy(Exception):
    """An operand (0: a, 1: b, 2: the result) has a layout that the library does not take."""


def plan(a: Ints, a_strides: Ints, b: Ints, b_strides: Ints, c: Ints, c_strides: Ints, by_rows: bool,
         by_items: bool = False) -> Call:
    """The call for operands of these shapes and strides. NeedsCopy names the first operand that must be copied.

    by_rows: rows of c are rows of the library's C: it promises nothing of columns, and an epilogue tells them apart.
    by_items: in a stack, rows are counted within each matrix."""
    if len(a) == 1:
        a, a_strides = (1,) + a, (0,) + a_strides
        c, c_strides = c[:-1] + (1,) + c[-1:], c_strides[:-1] + (0,) + c_strides[-1:]
        if len(b) == 1:
            c, c_strides = (1,), (0,)
    if len(b) == 1:
        b, b_strides, c, c_strides = b + (1,), b_strides + (0,), c + (1,), c_strides + (0,)
    m, k, n = a[-2], a[-1], b[-1]
    rows, columns = matrix(m, k, *a_strides[-2:]), matrix(k, n, *b_strides[-2:])
    if rows is None:
        raise NeedsCopy(0)
    if columns is None:
        raise NeedsCopy(1)
    result = matrix(m, n, *c_strides[-2:])
    if result is None or by_rows and result[0] == 1:
        raise NeedsCopy(2)
    shape = c[:-2]
    strides_a: Ints = ()
    strides_b: Ints = ()
    if shape:
        strides_a, strides_b = spread(a_strides[:-2], a[:-2], shape), spread(b_strides[:-2], b[:-2], shape)
    swapped, ldc = result[0] == 1, result[1]
    if swapped:
        m, n, strides_a, strides_b = n, m, strides_b, strides_a
        rows, columns = (1 - columns[0], columns[1]), (1 - rows[0], rows[1])
    batch = merged(list(zip(shape, strides_a, strides_b, c_strides[:-2]))) if shape else []
    (op_a, lda), (op_b, ldb) = rows, columns
    # A stack of matrices times one matrix is one tall product.
    if len(batch) == 1 and batch[0][2] == 0 and op_a == 0 and not by_items:
        count, stride_a, _, stride_c = batch[0]
        if (stride_a >= k if m == 1 else stride_a == m * lda) and (stride_c >= n if m == 1 else stride_c == m * ldc):
            if m == 1:
                lda, ldc = max(stride_a, 1), stride_c
            m, batch = count * m, []
    return Call(m, n, k, op_a, op_b, lda, ldb, ldc, swapped, batch)


def at_strides(call: Call) -> bool:
    """Whether the batch is one tw_batch at strides; else its items have addresses of their own."""
    if len(call.batch) != 1:
        return False
    count, stride_a, stride_b, stride_c = call.batch[0]
    apart = stride_c >= (call.m - 1) * call.ldc + call.n or call.n <= stride_c <= call.ldc // count
    return apart and stride_a >= 0 and stride_b >= 0
