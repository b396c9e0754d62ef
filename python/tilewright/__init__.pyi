# __init__.pyi - what type checkers know of the package: the names of __init__.py, and overloads of matmul and Plan,
# whose result has the type that the arguments give it. No program reads this file. tools/types.sh compares it with the
# code, tests/typed_uses.py with results.
#
# The first row that takes the arguments counts. Operands of bfloat16 or float8, real beside complex, two complex or
# integer types, and an epilogue without dtype or `out` give an array of Any; operands that the checker does not know,
# and pandas' frames, which are refused, give Any. Two vectors, whose product is a scalar, are typed as an array, as
# NumPy's own a @ b is.
from collections.abc import Sequence
from types import GenericAlias
from typing import Any, Generic, Literal, Protocol, SupportsComplex, SupportsFloat, SupportsIndex, overload

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Never, TypeAlias, TypeVar

from ._errors import (BadArgument, BuildFailed, Cancelled, CheckFailed, DeviceFailed, Error, NoDevice, NoKernel,
                      OutOfMemory)
from ._lab import Records, bench, devices, explain, ladder, tune
from ._threads import register_threadpoolctl, threads

__all__ = ["BadArgument", "BuildFailed", "Cancelled", "CheckFailed", "DeviceFailed", "Error", "NoDevice", "NoKernel",
           "OutOfMemory", "Packed", "Plan", "Records", "__version__", "bench", "devices", "explain", "ladder", "matmul",
           "register_threadpoolctl", "threads", "tune"]

__version__: str

class _Converts(Protocol):  # what NumPy makes an array of
    def __array__(self) -> np.ndarray[Any, Any]: ...

class _DLPack(Protocol):
    def __dlpack_device__(self) -> tuple[Any, Any]: ...

class _CudaArray(Protocol):  # PyTorch's tensors, those on the CPU too, CuPy's arrays, and others
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...  # no Any: pandas' __getattr__ has every name

class _ApiArray(_DLPack, Protocol):  # of the array API standard, NumPy's too: rows for those go first
    def __array_namespace__(self) -> Any: ...

_Item: TypeAlias = NDArray[Any] | np.generic | complex
_Host: TypeAlias = NDArray[Any] | Sequence[_Item] | Sequence[Sequence[_Item]] | Sequence[Sequence[Sequence[_Item]]]
_Added: TypeAlias = _Host | np.generic | complex
_Array: TypeAlias = NDArray[Any] | _DLPack | _CudaArray
_Operand: TypeAlias = _Host | _Converts | _DLPack | _CudaArray
_Own = TypeVar("_Own", bound=_ApiArray | _CudaArray)  # the result is one, too
_Out = TypeVar("_Out", bound=_Array)
_Result = TypeVar("_Result", default=Any, covariant=True)

_Scalar = TypeVar("_Scalar", bound=np.generic)
_DType: TypeAlias = type[_Scalar] | np.dtype[_Scalar]
# Products of these are float32, but float64 where one is of the last two rows.
_Narrow: TypeAlias = np.float32 | np.float16
_Short: TypeAlias = np.bool_ | np.int8 | np.uint8 | np.int16 | np.uint16
_Long: TypeAlias = np.int32 | np.uint32 | np.int64 | np.uint64
_Double: TypeAlias = np.float64
_Byte: TypeAlias = np.int8 | np.uint8
# only Any, or a kind of any size, is one
_Unsure: TypeAlias = (np.floating[Never] | np.complexfloating[Never, Never] | np.signedinteger[Never] |
                      np.unsignedinteger[Never])
# what keeps its type, if both are of one
_Kept = TypeVar("_Kept", np.complex64, np.complex128, np.int16, np.int32, np.int64, np.uint16, np.uint32, np.uint64)

_Bound: TypeAlias = _Operand | float  # what a name in an epilogue stands for

_Number: TypeAlias = complex | SupportsComplex | SupportsFloat | SupportsIndex
_Real: TypeAlias = float | np.floating[Any] | np.integer[Any]  # another scalar may make a product of floats complex
_MultiplyAs: TypeAlias = Literal["tf32"] | None
_Accuracy: TypeAlias = Literal["native", "emulated"] | None

@overload
def matmul(a: _Operand, b: _Operand, /, c: _Operand | None = None, *, alpha: _Number = 1, beta: _Number | None = None,
           out: _Out, dtype: Any = None, engine: str | None = None, threads: int | None = None, stream: Any = None,
           conjugate_a: bool = False, conjugate_b: bool = False, multiply_as: _MultiplyAs = None,
           invariant: bool = False, accuracy: _Accuracy = None, epilogue: None = None) -> _Out: ...
@overload
def matmul(a: _Host, b: _Host, /, c: _Added | None = None, *, alpha: _Number = 1, beta: _Number | None = None,
           out: None = None, dtype: _DType[_Scalar], engine: str | None = None, threads: int | None = None,
           stream: Any = None, conjugate_a: bool = False, conjugate_b: bool = False,
           multiply_as: _MultiplyAs = None, invariant: bool = False,
           accuracy: _Accuracy = None, epilogue: None = None) -> NDArray[_Scalar]: ...
@overload
def matmul(a: NDArray[_Unsure], b: _Host, /, c: _Added | None = None, *, alpha: _Number = 1,
           beta: _Number | None = None, out: None = None, dtype: None = None, engine: str | None = None,
           threads: int | None = None, stream: Any = None, conjugate_a: bool = False, conjugate_b: bool = False,
           multiply_as: _MultiplyAs = None, invariant: bool = False,
           accuracy: _Accuracy = None, epilogue: None = None) -> Any: ...
@overload
def matmul(a: _Host, b: NDArray[_Unsure], /, c: _Added | None = None, *, alpha: _Number = 1,
           beta: _Number | None = None, out: None = None, dtype: None = None, engine: str | None = None,
           threads: int | None = None, stream: Any = None, conjugate_a: bool = False, conjugate_b: bool = False,
           multiply_as: _MultiplyAs = None, invariant: bool = False,
           accuracy: _Accuracy = None, epilogue: None = None) -> Any: ...
@overload
def matmul(a: NDArray[_Narrow], b: NDArray[_Narrow | _Short],  # type: ignore[overload-overlap]  # NumPy's stubs alone
           /,
           c: _Added | None = None, *, alpha: _Real = 1, beta: _Real | None = None, out: None = None,
           dtype: None = None, engine: str | None = None, threads: int | None = None, stream: Any = None,
           conjugate_a: bool = False, conjugate_b: bool = False,
           multiply_as: _MultiplyAs = None, invariant: bool = False,
           accuracy: _Accuracy = None, epilogue: None = None) -> NDArray[np.float32]: ...
@overload
def matmul(a: NDArray[_Short], b: NDArray[_Narrow], /,  # type: ignore[overload-overlap]  # in NumPy's stubs alone
           c: _Added | None = None, *, alpha: _Real = 1, beta: _Real | None = None, out: None = None,
           dtype: None = None, engine: str | None = None, threads: int | None = None, stream: Any = None,
           conjugate_a: bool = False, conjugate_b: bool = False,
           multiply_as: _MultiplyAs = None, invariant: bool = False,
           accuracy: _Accuracy = None, epilogue: None = None) -> NDArray[np.float32]: ...
@overload
def matmul(a: NDArray[_Double | _Narrow], b: NDArray[_Double | _Long], /,
           c: _Added | None = None, *, alpha: _Real = 1, beta: _Real | None = None, out: None = None,
           dtype: None = None, engine: str | None = None, threads: int | None = None, stream: Any = None,
           conjugate_a: bool = False, conjugate_b: bool = False,
           multiply_as: _MultiplyAs = None, invariant: bool = False,
           accuracy: _Accuracy = None, epilogue: None = None) -> NDArray[np.float64]: ...
@overload
def matmul(a: NDArray[_Double | _Long], b: NDArray[_Double | _Narrow], /,
           c: _Added | None = None, *, alpha: _Real = 1, beta: _Real | None = None, out: None = None,
           dtype: None = None, engine: str | None = None, threads: int | None = None, stream: Any = None,
           conjugate_a: bool = False, conjugate_b: bool = False,
           multiply_as: _MultiplyAs = None, invariant: bool = False,
           accuracy: _Accuracy = None, epilogue: None = None) -> NDArray[np.float64]: ...
@overload
def matmul(a: NDArray[_Double], b: NDArray[_Short], /,
           c: _Added | None = None, *, alpha: _Real = 1, beta: _Real | None = None, out: None = None,
           dtype: None = None, engine: str | None = None, threads: int | None = None, stream: Any = None,
           conjugate_a: bool = False, conjugate_b: bool = False,
           multiply_as: _MultiplyAs = None, invariant: bool = False,
           accuracy: _Accuracy = None, epilogue: None = None) -> NDArray[np.float64]: ...
@overload
def matmul(a: NDArray[_Short], b: NDArray[_Double], /,
           c: _Added | None = None, *, alpha: _Real = 1, beta: _Real | None = None, out: None = None,
           dtype: None = None, engine: str | None = None, threads: int | None = None, stream: Any = None,
           conjugate_a: bool = False, conjugate_b: bool = False,
           multiply_as: _MultiplyAs = None, invariant: bool = False,
           accuracy: _Accuracy = None, epilogue: None = None) -> NDArray[np.float64]: ...
@overload
def matmul(a: NDArray[_Byte], b: NDArray[_Byte], /,  # type: ignore[overload-overlap]  # in NumPy's stubs alone
           c: _Added | None = None, *, alpha: _Real = 1, beta: _Real | None = None, out: None = None,
           dtype: None = None, engine: str | None = None, threads: int | None = None, stream: Any = None,
           conjugate_a: bool = False, conjugate_b: bool = False,
           multiply_as: _MultiplyAs = None, invariant: bool = False,
           accuracy: _Accuracy = None, epilogue: None = None) -> NDArray[np.int32]: ...
@overload
def matmul(a: NDArray[_Kept], b: NDArray[_Kept], /, c: _Added | None = None, *, alpha: _Number = 1,
           beta: _Number | None = None, out: None = None, dtype: None = None, engine: str | None = None,
           threads: int | None = None, stream: Any = None, conjugate_a: bool = False, conjugate_b: bool = False,
           multiply_as: _MultiplyAs = None, invariant: bool = False,
           accuracy: _Accuracy = None, epilogue: None = None) -> NDArray[_Kept]: ...
@overload
def matmul(a: _Host, b: _Host, /, c: _Added | None = None, *, alpha: _Number = 1, beta: _Number | None = None,
           out: None = None, dtype: Any = None, engine: str | None = None, threads: int | None = None,
           stream: Any = None, conjugate_a: bool = False, conjugate_b: bool = False,
           multiply_as: _MultiplyAs = None, invariant: bool = False,
           accuracy: _Accuracy = None, epilogue: None = None) -> NDArray[Any]: ...
@overload
def matmul(a: _Host, b: _Own, /, c: _Operand | None = None, *, alpha: _Number = 1, beta: _Number | None = None,
           out: None = None, dtype: Any = None, engine: str | None = None, threads: int | None = None,
           stream: Any = None, conjugate_a: bool = False, conjugate_b: bool = False,
           multiply_as: _MultiplyAs = None, invariant: bool = False,
           accuracy: _Accuracy = None, epilogue: None = None) -> _Own: ...
@overload
def matmul(a: _Own, b: _Own | _Host, /, c: _Operand | None = None, *, alpha: _Number = 1, beta: _Number | None = None,
           out: None = None, dtype: Any = None, engine: str | None = None, threads: int | None = None,
           stream: Any = None, conjugate_a: bool = False, conjugate_b: bool = False,
           multiply_as: _MultiplyAs = None, invariant: bool = False,
           accuracy: _Accuracy = None, epilogue: None = None) -> _Own: ...
@overload
def matmul(a: _Operand, b: _Operand, /, c: _Operand | None = None, *, alpha: _Number = 1, beta: _Number | None = None,
           out: None = None, dtype: Any = None, engine: str | None = None, threads: int | None = None,
           stream: Any = None, conjugate_a: bool = False, conjugate_b: bool = False,
           multiply_as: _MultiplyAs = None, invariant: bool = False,
           accuracy: _Accuracy = None, epilogue: None = None) -> Any: ...
@overload
def matmul(a: _Operand, b: _Operand, /, c: _Operand | None = None, *,
           alpha: _Number = 1, beta: _Number | None = None, out: _Out, dtype: Any = None,
           engine: str | None = None, threads: int | None = None, stream: Any = None, conjugate_a: bool = False,
           conjugate_b: bool = False, multiply_as: _MultiplyAs = None, invariant: bool = False,
           accuracy: _Accuracy = None, epilogue: str,
           **operands: _Bound) -> _Out: ...
@overload
def matmul(a: _Host, b: _Host, /, c: _Added | None = None, *,
           alpha: _Number = 1, beta: _Number | None = None, out: None = None, dtype: _DType[_Scalar],
           engine: str | None = None, threads: int | None = None, stream: Any = None, conjugate_a: bool = False,
           conjugate_b: bool = False, multiply_as: _MultiplyAs = None, invariant: bool = False,
           accuracy: _Accuracy = None, epilogue: str,
           **operands: _Bound) -> NDArray[_Scalar]: ...
@overload
def matmul(a: _Host, b: _Host, /, c: _Added | None = None, *,
           alpha: _Number = 1, beta: _Number | None = None, out: None = None, dtype: Any = None,
           engine: str | None = None, threads: int | None = None, stream: Any = None, conjugate_a: bool = False,
           conjugate_b: bool = False, multiply_as: _MultiplyAs = None, invariant: bool = False,
           accuracy: _Accuracy = None, epilogue: str,
           **operands: _Bound) -> NDArray[Any]: ...
@overload
def matmul(a: _Host, b: _Own, /, c: _Operand | None = None, *,
           alpha: _Number = 1, beta: _Number | None = None, out: None = None, dtype: Any = None,
           engine: str | None = None, threads: int | None = None, stream: Any = None, conjugate_a: bool = False,
           conjugate_b: bool = False, multiply_as: _MultiplyAs = None, invariant: bool = False,
           accuracy: _Accuracy = None, epilogue: str,
           **operands: _Bound) -> _Own: ...
@overload
def matmul(a: _Own, b: _Own | _Host, /, c: _Operand | None = None, *,
           alpha: _Number = 1, beta: _Number | None = None, out: None = None, dtype: Any = None,
           engine: str | None = None, threads: int | None = None, stream: Any = None, conjugate_a: bool = False,
           conjugate_b: bool = False, multiply_as: _MultiplyAs = None, invariant: bool = False,
           accuracy: _Accuracy = None, epilogue: str,
           **operands: _Bound) -> _Own: ...
@overload
def matmul(a: _Operand, b: _Operand, /, c: _Operand | None = None, *,
           alpha: _Number = 1, beta: _Number | None = None, out: None = None, dtype: Any = None,
           engine: str | None = None, threads: int | None = None, stream: Any = None, conjugate_a: bool = False,
           conjugate_b: bool = False, multiply_as: _MultiplyAs = None, invariant: bool = False,
           accuracy: _Accuracy = None, epilogue: str,
           **operands: _Bound) -> Any: ...

class Packed:
    shape: tuple[int, int]
    dtype: str
    __array_ufunc__: None

    def __init__(self, b: _Host | _Converts) -> None: ...
    def matmul(self, a: _Host | _Converts, /, *, out: NDArray[Any] | None = None, dtype: Any = None,
               epilogue: str | None = None, **operands: _Bound) -> NDArray[Any]: ...
    def __rmatmul__(self, a: _Host | _Converts) -> NDArray[Any]: ...
    def __del__(self) -> None: ...

class Plan(Generic[_Result]):
    shape: tuple[int, ...]
    dtype: str

    def __class_getitem__(cls, result: Any) -> GenericAlias: ...

    @overload
    def __init__(self: Plan[NDArray[_Scalar]], a: NDArray[Any], b: NDArray[Any], /, c: _Added | None = None, *,
                 alpha: _Number = 1, beta: _Number | None = None, out: NDArray[_Scalar], dtype: Any = None,
                 engine: str | None = None, threads: int | None = None, stream: Any = None, conjugate_a: bool = False,
                 conjugate_b: bool = False, multiply_as: _MultiplyAs = None, invariant: bool = False,
                 accuracy: _Accuracy = None,
                 epilogue: None = None) -> None: ...
    @overload
    def __init__(self: Plan[_Out], a: _Array, b: _Array, /, c: _Operand | None = None, *, alpha: _Number = 1,
                 beta: _Number | None = None, out: _Out, dtype: Any = None, engine: str | None = None,
                 threads: int | None = None, stream: Any = None, conjugate_a: bool = False, conjugate_b: bool = False,
                 multiply_as: _MultiplyAs = None, invariant: bool = False,
                 accuracy: _Accuracy = None, epilogue: None = None) -> None: ...
    @overload
    def __init__(self: Plan[NDArray[_Scalar]], a: NDArray[Any], b: NDArray[Any], /, c: _Added | None = None, *,
                 alpha: _Number = 1, beta: _Number | None = None, out: None = None, dtype: _DType[_Scalar],
                 engine: str | None = None, threads: int | None = None, stream: Any = None, conjugate_a: bool = False,
                 conjugate_b: bool = False, multiply_as: _MultiplyAs = None, invariant: bool = False,
                 accuracy: _Accuracy = None,
                 epilogue: None = None) -> None: ...
    @overload
    def __init__(self: Plan[Any], a: NDArray[_Unsure], b: NDArray[Any], /, c: _Added | None = None, *,
                 alpha: _Number = 1, beta: _Number | None = None, out: None = None, dtype: None = None,
                 engine: str | None = None, threads: int | None = None, stream: Any = None, conjugate_a: bool = False,
                 conjugate_b: bool = False, multiply_as: _MultiplyAs = None, invariant: bool = False,
                 accuracy: _Accuracy = None,
                 epilogue: None = None) -> None: ...
    @overload
    def __init__(self: Plan[Any], a: NDArray[Any], b: NDArray[_Unsure], /, c: _Added | None = None, *,
                 alpha: _Number = 1, beta: _Number | None = None, out: None = None, dtype: None = None,
                 engine: str | None = None, threads: int | None = None, stream: Any = None, conjugate_a: bool = False,
                 conjugate_b: bool = False, multiply_as: _MultiplyAs = None, invariant: bool = False,
                 accuracy: _Accuracy = None,
                 epilogue: None = None) -> None: ...
    @overload
    def __init__(self: Plan[NDArray[np.float32]], a: NDArray[_Narrow], b: NDArray[_Narrow | _Short], /,
                 c: _Added | None = None, *, alpha: _Real = 1, beta: _Real | None = None, out: None = None,
                 dtype: None = None, engine: str | None = None, threads: int | None = None, stream: Any = None,
                 conjugate_a: bool = False, conjugate_b: bool = False, multiply_as: _MultiplyAs = None,
                 invariant: bool = False, accuracy: _Accuracy = None, epilogue: None = None) -> None: ...
    @overload
    def __init__(self: Plan[NDArray[np.float32]], a: NDArray[_Short], b: NDArray[_Narrow], /,
                 c: _Added | None = None, *, alpha: _Real = 1, beta: _Real | None = None, out: None = None,
                 dtype: None = None, engine: str | None = None, threads: int | None = None, stream: Any = None,
                 conjugate_a: bool = False, conjugate_b: bool = False, multiply_as: _MultiplyAs = None,
                 invariant: bool = False, accuracy: _Accuracy = None, epilogue: None = None) -> None: ...
    @overload
    def __init__(self: Plan[NDArray[np.float64]], a: NDArray[_Double | _Narrow], b: NDArray[_Double | _Long], /,
                 c: _Added | None = None, *, alpha: _Real = 1, beta: _Real | None = None, out: None = None,
                 dtype: None = None, engine: str | None = None, threads: int | None = None, stream: Any = None,
                 conjugate_a: bool = False, conjugate_b: bool = False, multiply_as: _MultiplyAs = None,
                 invariant: bool = False, accuracy: _Accuracy = None, epilogue: None = None) -> None: ...
    @overload
    def __init__(self: Plan[NDArray[np.float64]], a: NDArray[_Double | _Long], b: NDArray[_Double | _Narrow], /,
                 c: _Added | None = None, *, alpha: _Real = 1, beta: _Real | None = None, out: None = None,
                 dtype: None = None, engine: str | None = None, threads: int | None = None, stream: Any = None,
                 conjugate_a: bool = False, conjugate_b: bool = False, multiply_as: _MultiplyAs = None,
                 invariant: bool = False, accuracy: _Accuracy = None, epilogue: None = None) -> None: ...
    @overload
    def __init__(self: Plan[NDArray[np.float64]], a: NDArray[_Double], b: NDArray[_Short], /,
                 c: _Added | None = None, *, alpha: _Real = 1, beta: _Real | None = None, out: None = None,
                 dtype: None = None, engine: str | None = None, threads: int | None = None, stream: Any = None,
                 conjugate_a: bool = False, conjugate_b: bool = False, multiply_as: _MultiplyAs = None,
                 invariant: bool = False, accuracy: _Accuracy = None, epilogue: None = None) -> None: ...
    @overload
    def __init__(self: Plan[NDArray[np.float64]], a: NDArray[_Short], b: NDArray[_Double], /,
                 c: _Added | None = None, *, alpha: _Real = 1, beta: _Real | None = None, out: None = None,
                 dtype: None = None, engine: str | None = None, threads: int | None = None, stream: Any = None,
                 conjugate_a: bool = False, conjugate_b: bool = False, multiply_as: _MultiplyAs = None,
                 invariant: bool = False, accuracy: _Accuracy = None, epilogue: None = None) -> None: ...
    @overload
    def __init__(self: Plan[NDArray[np.int32]], a: NDArray[_Byte], b: NDArray[_Byte], /, c: _Added | None = None, *,
                 alpha: _Real = 1, beta: _Real | None = None, out: None = None, dtype: None = None,
                 engine: str | None = None, threads: int | None = None, stream: Any = None, conjugate_a: bool = False,
                 conjugate_b: bool = False, multiply_as: _MultiplyAs = None, invariant: bool = False,
                 accuracy: _Accuracy = None,
                 epilogue: None = None) -> None: ...
    @overload
    def __init__(self: Plan[NDArray[_Kept]], a: NDArray[_Kept], b: NDArray[_Kept], /, c: _Added | None = None, *,
                 alpha: _Number = 1, beta: _Number | None = None, out: None = None, dtype: None = None,
                 engine: str | None = None, threads: int | None = None, stream: Any = None, conjugate_a: bool = False,
                 conjugate_b: bool = False, multiply_as: _MultiplyAs = None, invariant: bool = False,
                 accuracy: _Accuracy = None,
                 epilogue: None = None) -> None: ...
    @overload
    def __init__(self: Plan[NDArray[Any]], a: NDArray[Any], b: NDArray[Any], /, c: _Added | None = None, *,
                 alpha: _Number = 1, beta: _Number | None = None, out: None = None, dtype: Any = None,
                 engine: str | None = None, threads: int | None = None, stream: Any = None, conjugate_a: bool = False,
                 conjugate_b: bool = False, multiply_as: _MultiplyAs = None, invariant: bool = False,
                 accuracy: _Accuracy = None,
                 epilogue: None = None) -> None: ...
    @overload
    def __init__(self: Plan[_Own], a: NDArray[Any], b: _Own, /, c: _Operand | None = None, *, alpha: _Number = 1,
                 beta: _Number | None = None, out: None = None, dtype: Any = None, engine: str | None = None,
                 threads: int | None = None, stream: Any = None, conjugate_a: bool = False, conjugate_b: bool = False,
                 multiply_as: _MultiplyAs = None, invariant: bool = False,
                 accuracy: _Accuracy = None, epilogue: None = None) -> None: ...
    @overload
    def __init__(self: Plan[_Own], a: _Own, b: _Own | NDArray[Any], /, c: _Operand | None = None, *, alpha: _Number = 1,
                 beta: _Number | None = None, out: None = None, dtype: Any = None, engine: str | None = None,
                 threads: int | None = None, stream: Any = None, conjugate_a: bool = False, conjugate_b: bool = False,
                 multiply_as: _MultiplyAs = None, invariant: bool = False,
                 accuracy: _Accuracy = None, epilogue: None = None) -> None: ...
    @overload
    def __init__(self: Plan[Any], a: _Array, b: _Array, /, c: _Operand | None = None, *, alpha: _Number = 1,
                 beta: _Number | None = None, out: None = None, dtype: Any = None, engine: str | None = None,
                 threads: int | None = None, stream: Any = None, conjugate_a: bool = False, conjugate_b: bool = False,
                 multiply_as: _MultiplyAs = None, invariant: bool = False,
                 accuracy: _Accuracy = None, epilogue: None = None) -> None: ...
    @overload
    def __init__(self: Plan[NDArray[_Scalar]], a: NDArray[Any], b: NDArray[Any], /,
                 c: _Added | None = None, *, alpha: _Number = 1, beta: _Number | None = None,
                 out: NDArray[_Scalar], dtype: Any = None, engine: str | None = None, threads: int | None = None,
                 stream: Any = None, conjugate_a: bool = False, conjugate_b: bool = False,
                 multiply_as: _MultiplyAs = None, invariant: bool = False, accuracy: _Accuracy = None, epilogue: str,
                 **operands: _Bound) -> None: ...
    @overload
    def __init__(self: Plan[_Out], a: _Array, b: _Array, /,
                 c: _Operand | None = None, *, alpha: _Number = 1, beta: _Number | None = None,
                 out: _Out, dtype: Any = None, engine: str | None = None, threads: int | None = None,
                 stream: Any = None, conjugate_a: bool = False, conjugate_b: bool = False,
                 multiply_as: _MultiplyAs = None, invariant: bool = False, accuracy: _Accuracy = None, epilogue: str,
                 **operands: _Bound) -> None: ...
    @overload
    def __init__(self: Plan[NDArray[_Scalar]], a: NDArray[Any], b: NDArray[Any], /,
                 c: _Added | None = None, *, alpha: _Number = 1, beta: _Number | None = None,
                 out: None = None, dtype: _DType[_Scalar], engine: str | None = None, threads: int | None = None,
                 stream: Any = None, conjugate_a: bool = False, conjugate_b: bool = False,
                 multiply_as: _MultiplyAs = None, invariant: bool = False, accuracy: _Accuracy = None, epilogue: str,
                 **operands: _Bound) -> None: ...
    @overload
    def __init__(self: Plan[NDArray[Any]], a: NDArray[Any], b: NDArray[Any], /,
                 c: _Added | None = None, *, alpha: _Number = 1, beta: _Number | None = None,
                 out: None = None, dtype: Any = None, engine: str | None = None, threads: int | None = None,
                 stream: Any = None, conjugate_a: bool = False, conjugate_b: bool = False,
                 multiply_as: _MultiplyAs = None, invariant: bool = False, accuracy: _Accuracy = None, epilogue: str,
                 **operands: _Bound) -> None: ...
    @overload
    def __init__(self: Plan[_Own], a: NDArray[Any], b: _Own, /,
                 c: _Operand | None = None, *, alpha: _Number = 1, beta: _Number | None = None,
                 out: None = None, dtype: Any = None, engine: str | None = None, threads: int | None = None,
                 stream: Any = None, conjugate_a: bool = False, conjugate_b: bool = False,
                 multiply_as: _MultiplyAs = None, invariant: bool = False, accuracy: _Accuracy = None, epilogue: str,
                 **operands: _Bound) -> None: ...
    @overload
    def __init__(self: Plan[_Own], a: _Own, b: _Own | NDArray[Any], /,
                 c: _Operand | None = None, *, alpha: _Number = 1, beta: _Number | None = None,
                 out: None = None, dtype: Any = None, engine: str | None = None, threads: int | None = None,
                 stream: Any = None, conjugate_a: bool = False, conjugate_b: bool = False,
                 multiply_as: _MultiplyAs = None, invariant: bool = False, accuracy: _Accuracy = None, epilogue: str,
                 **operands: _Bound) -> None: ...
    @overload
    def __init__(self: Plan[Any], a: _Array, b: _Array, /,
                 c: _Operand | None = None, *, alpha: _Number = 1, beta: _Number | None = None,
                 out: None = None, dtype: Any = None, engine: str | None = None, threads: int | None = None,
                 stream: Any = None, conjugate_a: bool = False, conjugate_b: bool = False,
                 multiply_as: _MultiplyAs = None, invariant: bool = False, accuracy: _Accuracy = None, epilogue: str,
                 **operands: _Bound) -> None: ...

    @overload
    def __call__(self, a: _Array, b: _Array, /, c: _Operand | None = None, *, out: None = None,
                 stream: Any = None) -> _Result: ...
    @overload
    def __call__(self, a: _Array, b: _Array, /, c: _Operand | None = None, *, out: _Out,
                 stream: Any = None) -> _Out: ...
