"""typed_uses.py - uses of the package, each with the type of its result. tools/types.sh checks them by mypy and
pyright; test_python runs what RUN names, where assert_type compares the result that came.

A line that checkers must refuse ends with the error that is ignored: where there is none, the comment is one.
"""
from __future__ import annotations

import typing
from typing import TYPE_CHECKING, Any, Dict, Generator, Tuple, Union

import numpy as np
import tilewright as tw
from numpy.typing import NDArray

if TYPE_CHECKING:
    import ml_dtypes
    from typing_extensions import assert_type
else:
    def assert_type(value, kind):
        alias = typing.get_origin(kind)
        if hasattr(alias, "__value__"):  # of a `type` statement, as NumPy's NDArray from 2.5 on
            kind = alias.__value__[typing.get_args(kind)]
        of, arguments = typing.get_origin(kind) or kind, typing.get_args(kind)
        wanted = typing.get_args(arguments[1])[0] if of is np.ndarray else Any
        assert kind in (Any, None) or isinstance(value, of), (type(value), kind)
        assert wanted is Any or value.dtype.type is wanted, (value.dtype, kind)


class Converted:
    """What NumPy makes an array of."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> "np.ndarray[Any, Any]":
        return f8


class Device:
    """An array that says where it lies, and no more."""

    def __dlpack_device__(self) -> Tuple[int, int]:
        raise NotImplementedError


class Other:
    """An array of a library that speaks the array API."""

    def __init__(self, array: NDArray[Any]) -> None:
        self.array, self.shape, self.dtype = array, array.shape, array.dtype

    def __dlpack_device__(self) -> Tuple[int, int]:
        return 1, 0

    def __dlpack__(self, **options: Any) -> object:
        return self.array.__dlpack__(**options)

    def __array_namespace__(self) -> Any:
        class Namespace:
            asarray = Other

        return Namespace


class Frame:
    """As pandas' frames and series: numbers, rules of their own, and every attribute of theirs a column."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> "np.ndarray[Any, Any]":
        return f8

    def __array_ufunc__(self, *given: Any, **more: Any) -> Any:
        raise NotImplementedError

    def __getattr__(self, name: str) -> "Frame":
        raise AttributeError


class Tensor:
    """An array in CUDA's memory."""

    @property
    def __cuda_array_interface__(self) -> Dict[str, Any]:
        raise NotImplementedError


f8: NDArray[np.float64] = np.ones((3, 3))
f4, f2 = f8.astype(np.float32), f8.astype(np.float16)
i1, u1 = f8.astype(np.int8), f8.astype(np.uint8)
c8, c16 = f8.astype(np.complex64), f8.astype(np.complex128)
i4, other = np.zeros((3, 3), np.int32), Other(f4)
i2, i8 = i4.astype(np.int16), i4.astype(np.int64)
u2, u4, u8 = i4.astype(np.uint16), i4.astype(np.uint32), i4.astype(np.uint64)
mask = i4.astype(np.bool_)


def types_of_operands() -> None:
    assert_type(tw.matmul(f8, f8), NDArray[np.float64])
    assert_type(tw.matmul(f8, f4, f2, alpha=np.float32(2), beta=1), NDArray[np.float64])
    assert_type(tw.matmul(f2, f8), NDArray[np.float64])
    assert_type(tw.matmul(f4, f4), NDArray[np.float32])
    assert_type(tw.matmul(f2, f2), NDArray[np.float32])
    assert_type(tw.matmul(f2, f4), NDArray[np.float32])
    assert_type(tw.matmul(i8, f8), NDArray[np.float64])
    assert_type(tw.matmul(f8, i4), NDArray[np.float64])
    assert_type(tw.matmul(f4, i8), NDArray[np.float64])
    assert_type(tw.matmul(u4, f2), NDArray[np.float64])
    assert_type(tw.matmul(mask, f8), NDArray[np.float64])
    assert_type(tw.matmul(f8, u2), NDArray[np.float64])
    assert_type(tw.matmul(u1, f4), NDArray[np.float32])
    assert_type(tw.matmul(f2, i2), NDArray[np.float32])
    assert_type(tw.matmul(f4, mask), NDArray[np.float32])
    assert_type(tw.matmul(i1, i1), NDArray[np.int32])
    assert_type(tw.matmul(i1, u1, i4, beta=-1), NDArray[np.int32])
    assert_type(tw.matmul(c8, c8, alpha=1j), NDArray[np.complex64])
    assert_type(tw.matmul(c16, c16, conjugate_b=True), NDArray[np.complex128])
    assert_type(tw.matmul(i2, i2), NDArray[np.int16])
    assert_type(tw.matmul(i4, i4, i4, alpha=3), NDArray[np.int32])
    assert_type(tw.matmul(i8, i8), NDArray[np.int64])
    assert_type(tw.matmul(u2, u2), NDArray[np.uint16])
    assert_type(tw.matmul(u4, u4), NDArray[np.uint32])
    assert_type(tw.matmul(u8, u8), NDArray[np.uint64])
    assert_type(tw.matmul(i4, i8), NDArray[Any])
    assert_type(tw.matmul(i1, i4), NDArray[Any])
    assert_type(tw.matmul(f8, f8, alpha=1j), NDArray[Any])  # complex, but with 1 + 0j float64
    assert_type(tw.matmul(c8, f8), NDArray[Any])
    assert_type(tw.matmul([[1.0, 2.0]], [[1.0], [2.0]]), NDArray[Any])
    assert_type(tw.matmul(f8, [1.0, 2.0, 3.0], engine="cpu"), NDArray[Any])
    assert_type(tw.matmul(f8, Converted()), Any)


def types_asked_for() -> None:
    assert_type(tw.matmul(f2, f2, dtype=np.float16), NDArray[np.float16])
    assert_type(tw.matmul(f8, f4, dtype=np.dtype(np.float32)), NDArray[np.float32])
    assert_type(tw.matmul(i1, u1, dtype=np.int8, alpha=0.5), NDArray[np.int8])
    assert_type(tw.matmul(i1, i1, dtype=np.float32, alpha=0.5), NDArray[np.float32])
    assert_type(tw.matmul(f4, f4, dtype=np.complex64, alpha=1j), NDArray[np.complex64])
    assert_type(tw.matmul([[1.0]], [[2.0]], dtype=np.float32), NDArray[np.float32])
    assert_type(tw.matmul(f4, f4, dtype="float64"), NDArray[Any])
    assert_type(tw.matmul(f8, f8, out=np.empty_like(f8)), NDArray[np.float64])
    assert_type(tw.matmul(f2, f2, out=f2.copy(), dtype="float16"), NDArray[np.float16])


def other_libraries() -> None:
    assert_type(tw.matmul(other, f4), Other)
    assert_type(tw.matmul(f4, other), Other)
    assert_type(tw.matmul(other, other, dtype="float64"), Other)
    assert_type(tw.matmul(f4, f4, np.ones(3), out=other), Other)
    assert_type(tw.Plan(other, f4)(other, f4), Other)
    assert_type(tw.Plan(f4, other)(f4, other), Other)
    assert_type(tw.Plan(other, other, out=other), tw.Plan[Other])


def plans() -> None:
    product = tw.Plan(f8, f8)
    assert_type(product, tw.Plan[NDArray[np.float64]])
    assert_type(product(f8, f8), NDArray[np.float64])
    assert_type(product(f8, f8, out=f8.copy()), NDArray[np.float64])
    assert_type(product.shape, Tuple[int, ...])
    assert_type(product.dtype, str)
    assert_type(tw.Plan(f8, f4)(f8, f4), NDArray[np.float64])
    assert_type(tw.Plan(f2, f8, alpha=2)(f2, f8), NDArray[np.float64])
    assert_type(tw.Plan(f4, u8)(f4, u8), NDArray[np.float64])
    assert_type(tw.Plan(i2, f8)(i2, f8), NDArray[np.float64])
    assert_type(tw.Plan(mask, f4)(mask, f4), NDArray[np.float32])
    assert_type(tw.Plan(f2, f4)(f2, f4), NDArray[np.float32])
    assert_type(tw.Plan(i1, u1, i4)(i1, u1, i4), NDArray[np.int32])
    assert_type(tw.Plan(c8, c8, alpha=2j)(c8, c8), NDArray[np.complex64])
    assert_type(tw.Plan(u4, u4)(u4, u4), NDArray[np.uint32])
    assert_type(tw.Plan(f4, f4, alpha=2j)(f4, f4), NDArray[Any])
    assert_type(tw.Plan(f2, f2, dtype=np.float16)(f2, f2), NDArray[np.float16])
    assert_type(tw.Plan(f2, f2, out=f2.copy())(f2, f2), NDArray[np.float16])


def epilogues() -> None:
    assert_type(tw.matmul(f4, f4, epilogue="relu(acc + bias[j])", bias=f4[0]), NDArray[Any])
    assert_type(tw.matmul(f8, f8, f4, dtype=np.float64, epilogue="acc * a + b[j] + s", a=2, b=[1, 2, 3], s=f4[0, 0]),
                NDArray[np.float64])
    assert_type(tw.matmul(i1, u1, dtype=np.int8, epilogue="acc * s[j]", s=Converted().__array__()[0]), NDArray[np.int8])
    assert_type(tw.matmul(f2, f4, epilogue="gelu(acc)"), NDArray[Any])
    assert_type(tw.matmul(f4, f4, out=f4.copy(), epilogue="acc + r[i, j]", r=other), NDArray[np.float32])
    assert_type(tw.matmul(other, f4, epilogue="acc"), Other)
    assert_type(tw.Plan(f4, f4, epilogue="acc + b[j]", b=f4[0])(f4, f4), NDArray[Any])
    assert_type(tw.Packed(f4).matmul(f4, epilogue="acc + b[j]", b=f4[0]), NDArray[Any])
    assert_type(tw.Plan(f2, f2, dtype=np.float16, epilogue="acc / 2")(f2, f2), NDArray[np.float16])
    assert_type(tw.Plan(other, f4, epilogue="acc / s", s=3.5)(other, f4), Other)


def the_rest() -> None:
    found = tw.explain("r04")
    assert_type(found, tw.Records)
    assert_type(found[0]["rung"], Any)
    search = tw.tune(shape="1000x1000x1000", budget=60)
    assert_type(search, Generator[Dict[str, Any], None, None])
    search.close()
    with tw.threads(1) as nothing:
        assert_type(nothing, None)


RUN = types_of_operands, types_asked_for, other_libraries, plans, epilogues, the_rest


def on_cuda(a: Tensor, b: Tensor, c: Device) -> None:
    assert_type(tw.matmul(a, b), Tensor)
    assert_type(tw.matmul(a, b, a, beta=2, stream=1, engine="cuda:1", multiply_as="tf32", invariant=True), Tensor)
    assert_type(tw.matmul(a, b, out=a, dtype="bfloat16"), Tensor)
    assert_type(tw.matmul(a, b, epilogue="acc + r[i, j]", r=a), Tensor)
    assert_type(tw.Plan(a, b)(a, b, stream=1), Tensor)
    assert_type(tw.Plan(a, b, out=a), tw.Plan[Tensor])
    assert_type(tw.Plan(a, c), tw.Plan[Any])


def what_is_not_known(anything: NDArray[Any], floats: NDArray[np.floating[Any]], plan: tw.Plan,
                      whole: NDArray[np.signedinteger[Any]], either: Union[NDArray[np.float64], Other],
                      frame: Frame) -> None:
    assert_type(tw.matmul(frame, f8), Any)  # refused, and by no means a frame
    assert_type(tw.matmul(f8, frame), Any)
    assert_type(tw.matmul(frame, frame), Any)
    assert_type(tw.matmul(anything, f4), Any)
    assert_type(tw.matmul(f4, floats), Any)
    assert_type(tw.matmul(whole, whole), Any)
    assert_type(tw.Plan(floats, f8), tw.Plan[Any])
    assert_type(tw.Plan(f8, floats), tw.Plan[Any])
    assert_type(plan(f8, f8), Any)
    assert_type(tw.matmul(either, f8), Union[NDArray[np.float64], Other])
    half = f8.astype(ml_dtypes.bfloat16)
    wanted: NDArray[np.float32] = tw.matmul(half, half)
    assert_type(wanted.shape, Tuple[Any, ...])


def subclasses(mapped: "np.memmap[Tuple[int, int], np.dtype[np.float64]]") -> None:
    assert_type(tw.matmul(mapped, mapped), NDArray[np.float64])
    assert_type(tw.matmul(f8, f8, out=mapped), "np.memmap[Tuple[int, int], np.dtype[np.float64]]")
    assert_type(tw.Plan(f8, f8, out=mapped), tw.Plan[NDArray[np.float64]])


def refused() -> None:
    tw.matmul(f8, 3)  # type: ignore[call-overload]
    tw.matmul(f8, "ab")  # type: ignore[arg-type]
    tw.matmul(f8, None)  # type: ignore[call-overload]
    tw.matmul(f8, f8, out=[[0.0]])  # type: ignore[call-overload]
    tw.matmul(f8, f8, alpha="2")  # type: ignore[call-overload]
    tw.matmul(f4, f4, multiply_as="bf16")  # type: ignore[call-overload]
    tw.Plan(f4, f4, invariant="yes")  # type: ignore[call-overload]
    tw.matmul(f8, f8, transpose_a=True)  # type: ignore[call-overload]
    tw.matmul(f8, f8, epilogue=2, bias=f8)  # type: ignore[call-overload]
    tw.matmul(f8, f8, epilogue="acc + bias", bias="2")  # type: ignore[arg-type]
    tw.Plan(f8, f8, epilogue=None, bias=f8)  # type: ignore[call-overload]
    tw.matmul(a=f8, b=f8)  # type: ignore[call-overload]
    tw.Plan(f8, [[1.0]])  # type: ignore[call-overload]
    tw.Plan(f8, f8)(f8, f8, alpha=2)  # type: ignore[call-overload]
