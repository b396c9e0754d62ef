"""A second operand that is packed once, as a layer's weights: its products pack it no more."""
from __future__ import annotations

import ctypes
import math
from ctypes import byref, c_void_p
from typing import Any, List, Optional, Tuple

import numpy as np

from . import _interrupt, _library
from ._dtypes import Operands, choose_types, name_of, named
from ._epilogue import epilogue_of
from ._host import address, check_host_out, wanted_type
from ._layout import product_shape
from ._library import CODES, FP8, PACKED_B, Batch, Problem, done, lib
from ._plain import array, element_strides

__all__: List[str] = []


class Packed:
    """b, packed in the layout that the CPU's kernels read, for any number of products.

    weights = tilewright.Packed(w.T)
    y = weights.matmul(x, epilogue="relu(acc + bias[j])", bias=bias)    # or x @ weights

    b: a matrix, k x n, of float64, float32, bfloat16, float16, integers, complex128 or complex64. The other operand of
    its products is of the same type. b is not needed afterwards. The transpose of an array, as w.T, is not copied
    first. float16 is kept as float32.

    With 2 to 64 rows a product takes about half the time that matmul takes, and has the same bits. With one row it
    gains nothing, and takes longer in bfloat16 and int8. Raises TypeError and ValueError for what is no such matrix,
    OutOfMemory.
    """

    __array_ufunc__ = None  # an array's @ leaves the product to __rmatmul__

    def __init__(self, b: Any) -> None:
        self._handle = c_void_p()  # NULL is freed, too
        b = array("b", b)
        if b.ndim != 2:
            raise ValueError(f"b has the shape {b.shape}, expected a matrix")
        name = name_of(b.dtype)
        if name not in CODES or name in FP8:
            raise TypeError(f"b is {name}, expected float64, float32, bfloat16, float16, integers of 8 to 64 bits, "
                            "complex128 or complex64: convert it with astype()")
        self.shape: Tuple[int, int] = b.shape
        self.dtype = name
        transposed, ld, b = matrix(b)
        k, n = self.shape
        self._op = int(transposed)
        self._context = _library.context("cpu", 0, None)
        problem = Problem(size=ctypes.sizeof(Problem), dtype=CODES[name], op_b=self._op, m=1, n=n, k=k, lda=max(k, 1),
                          ldb=ld, ldc=max(n, 1), alpha=1)
        done(lib.tw_b_pack(self._context, byref(problem), address(b) if b.size else None, byref(self._handle)))

    def __del__(self) -> None:
        handle, self._handle = self._handle, c_void_p()
        lib.tw_b_free(handle)

    def __reduce__(self) -> Any:
        raise TypeError("a Packed is of this process alone: pack the array again")

    def __repr__(self) -> str:
        return f"tilewright.Packed({self.shape[0]} x {self.shape[1]} {self.dtype})"

    def __rmatmul__(self, a: Any) -> Any:
        return self.matmul(a)

    def matmul(self, a: Any, /, *, out: Any = None, dtype: Any = None, epilogue: Optional[str] = None,
               **operands: Any) -> Any:
        """a @ b. a: an array of b's type, of one dimension or more; out, dtype, epilogue and its operands as matmul has
        them."""
        a = array("a", a)
        shape = product_shape(a.shape, self.shape)
        if name_of(a.dtype) != self.dtype:
            raise TypeError(f"a is {name_of(a.dtype)}, and b was packed as {self.dtype}: convert a with astype()")
        types, result = choose_types(self.dtype, self.dtype, wanted_type(out, dtype), False, False, True)
        if types != Operands(self.dtype, self.dtype):
            raise TypeError(f"products of {self.dtype} that is packed are no {result}: convert them with astype()")
        bound = epilogue_of("matmul", epilogue, operands)
        try:
            if bound is not None:
                bound.bind(types, result, a.shape, self.shape)
            if out is not None:
                check_host_out(out, shape, result)
            direct = out if out is not None and out.flags.carray and out.dtype.isnative and not (
                np.may_share_memory(out, a) or bound is not None and bound.may_share(out)) else None
            to = np.empty(shape, named(result)) if direct is None else direct
            if to.size:
                self._compute(a, to, CODES[result], bound)
        finally:
            if bound is not None:
                bound.free()
        if out is None:
            return to
        if direct is None:
            np.copyto(out, to)
        return out

    def _compute(self, a: Any, to: Any, code: int, bound: Any) -> None:
        k, n = self.shape
        items = 1
        if bound is not None and bound.reads_rows:  # whose rows begin at 0 in each matrix
            items = math.prod(a.shape[:-2])
        if a.ndim != 2:
            a = np.ascontiguousarray(a).reshape(math.prod(a.shape[:-1]), k)
        transposed, ld, a = matrix(a)
        m = a.shape[0] // items
        problem = Problem(size=ctypes.sizeof(Problem), dtype=CODES[self.dtype], dtype_c=code, op_a=int(transposed),
                          op_b=self._op, m=m, n=n, k=k, lda=ld, ldc=n, alpha=1, flags=PACKED_B,
                          epilogue=bound and bound.handle)
        batch = None
        if items > 1:
            batch = Batch(size=ctypes.sizeof(Batch), count=items, stride_a=m * k, stride_b=0, stride_c=m * n)
        places = (address(a), self._handle.value or 0, address(to)) if k else (0, 0, address(to))
        if _interrupt.takes_long(self._context, problem, batch):
            done(_interrupt.compute(self._context, problem, batch, *places))
        elif batch is None:
            done(lib.tw_gemm(self._context, byref(problem), *places))
        else:
            done(lib.tw_gemm_batched(self._context, byref(problem), byref(batch), *places))


def matrix(x: Any) -> Tuple[bool, int, Any]:
    """Whether a matrix lies transposed, its leading dimension, and itself or a copy that can be read."""
    steps = element_strides(x)
    rows, cols = x.shape
    if steps is not None and steps[1] == 1 and steps[0] >= max(cols, 1):
        return False, steps[0], x
    if steps is not None and steps[0] == 1 and steps[1] >= max(rows, 1):
        return True, steps[1], x
    return False, max(cols, 1), np.array(x, x.dtype.newbyteorder("="), order="C")
