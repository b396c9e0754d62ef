"""Arrays that are not NumPy's as the library needs to know them: PyTorch's, CuPy's, and what speaks
__cuda_array_interface__ or DLPack.

No library is imported here: who has an array of one has imported it. A family knows how to look at its library's
arrays, on which stream they are computed, and how to get memory in that stream's order from the library's own
allocator.
"""
from __future__ import annotations

import ctypes
import sys
from contextlib import ExitStack, nullcontext
from ctypes import (POINTER, Structure, byref, c_int32, c_int64, c_uint8, c_uint16, c_uint64, c_void_p,
                    py_object)
from dataclasses import dataclass
from operator import index
from typing import Any, ContextManager, List, Optional, Tuple

import numpy as np

from ._dtypes import named
from ._errors import raise_for
from ._layout import Ints, contiguous
from ._library import BYTES

__all__: List[str] = []


@dataclass
class View:
    """An array as the library needs to know it; strides count elements. Numbers are Python's own: keys hold them."""

    array: Any
    address: int
    shape: Ints
    strides: Ints
    dtype: str
    device: int
    writable: bool = True
    stream: Optional[int] = None  # on which its owner says that it is computed
    keeps: Any = None
    byte_strides: Ints = ()

    def __post_init__(self) -> None:
        self.address, self.device = int(index(self.address)), int(index(self.device))
        self.shape, self.strides = (tuple(int(index(x)) for x in each) for each in (self.shape, self.strides))
        self.byte_strides = self.byte_strides or tuple(x * BYTES.get(self.dtype, 1) for x in self.strides)

    def span(self) -> Tuple[int, int]:
        """The bytes from its first to its last element."""
        low = sum((n - 1) * s for n, s in zip(self.shape, self.strides) if s < 0)
        high = sum((n - 1) * s for n, s in zip(self.shape, self.strides) if s > 0)
        size = BYTES.get(self.dtype, 1)
        return self.address + low * size, self.address + (high + 1) * size

    def overlaps(self, other: "View") -> bool:
        mine, theirs = self.span(), other.span()
        return 0 not in self.shape and 0 not in other.shape and mine[0] < theirs[1] and theirs[0] < mine[1]


# ---- families ----

class Torch:
    """PyTorch tensors in CUDA's memory."""

    def __init__(self) -> None:
        self.torch: Any = sys.modules["torch"]

    def view(self, x: Any, name: str) -> View:
        if not is_torch(x):
            raise not_of(self, x, name)
        if x.layout != self.torch.strided:
            raise TypeError(f"{name} is a {x.layout} tensor, expected a dense one: to_dense() makes one")
        if x.requires_grad and self.torch.is_grad_enabled():
            raise TypeError(f"{name} requires a gradient, and matmul computes none: detach() it, or call matmul under "
                            "torch.no_grad()")
        return View(x, x.data_ptr(), tuple(x.shape), tuple(x.stride()), str(x.dtype)[6:], x.get_device())

    def settled(self, x: View) -> View:
        return self.view(x.array.resolve_neg().resolve_conj(), "") if is_lazy(x.array) else x

    def stream(self, given: Any, device: int, views: List[View]) -> Tuple[int, ContextManager[Any]]:
        if given is None:
            found = self.torch.cuda.current_stream(device)
            if self.torch.cuda.current_device() == device:
                return found.cuda_stream, nullcontext()
        else:
            found = given if isinstance(given, self.torch.cuda.Stream) else None
            if found is None:
                found = self.torch.cuda.ExternalStream(stream_handle(given), device=device)
        return found.cuda_stream, self.torch.cuda.stream(found)

    def empty(self, shape: Ints, dtype: str, device: int) -> View:
        made = self.torch.empty(shape, dtype=getattr(self.torch, dtype), device=f"cuda:{device}")
        return View(made, made.data_ptr(), shape, made.stride(), dtype, device)

    def converted(self, x: View, dtype: str) -> View:
        return self.view(x.array.to(getattr(self.torch, dtype)), "")

    def contiguous(self, x: View) -> View:
        return self.view(x.array.clone(memory_format=self.torch.contiguous_format), "")

    def assign(self, to: View, value: Any) -> None:
        to.array.copy_(value.array if isinstance(value, View) else value)

    def wrote(self, out: Any) -> None:
        """Tells autograd, which then refuses a gradient of what `out` held."""
        increment = getattr(self.torch.autograd.graph, "increment_version", None)  # PyTorch 2.1 has it
        if increment is not None and not out.is_inference():
            increment(out)


class Cupy:
    """CuPy arrays."""

    def __init__(self) -> None:
        self.cupy: Any = sys.modules["cupy"]

    def view(self, x: Any, name: str) -> View:
        if not isinstance(x, self.cupy.ndarray):
            raise not_of(self, x, name)
        size = x.dtype.itemsize
        return View(x, x.data.ptr, tuple(x.shape), tuple(stride // size for stride in x.strides), x.dtype.name,
                    x.device.id, getattr(x.flags, "writeable", True), byte_strides=tuple(x.strides))

    def settled(self, x: View) -> View:
        size = x.array.dtype.itemsize
        odd = any(stride % size for stride in x.array.strides) or x.address % size
        return self.contiguous(x) if odd else x

    def stream(self, given: Any, device: int, views: List[View]) -> Tuple[int, ContextManager[Any]]:
        handle = 0 if given is None else stream_handle(given)
        stack = ExitStack()
        stack.enter_context(self.cupy.cuda.Device(device))
        if given is None:
            return self.cupy.cuda.get_current_stream().ptr, stack
        stack.enter_context(given if hasattr(given, "__enter__") and hasattr(given, "ptr")
                            else self.cupy.cuda.ExternalStream(handle))
        return handle, stack

    def empty(self, shape: Ints, dtype: str, device: int) -> View:
        return self.view(self.cupy.empty(shape, np.uint8 if dtype == "uint8" else named(dtype)), "")

    def converted(self, x: View, dtype: str) -> View:
        return self.view(x.array.astype(named(dtype)), "")

    def contiguous(self, x: View) -> View:
        return self.view(x.array.copy(order="C"), "")

    def assign(self, to: View, value: Any) -> None:
        to.array[...] = value.array if isinstance(value, View) else value

    def wrote(self, out: Any) -> None:
        pass


class Foreign:
    """Arrays of other libraries on CUDA, by their interfaces. The result needs an `out`: nobody says how to make an
    array of theirs."""

    def view(self, x: Any, name: str) -> View:
        found = from_interface(x) or from_dlpack(x)
        if found is None:
            raise TypeError(f"{name} is {type(x).__name__}, whose type of element has no product")
        return found

    def settled(self, x: View) -> View:
        return x

    def stream(self, given: Any, device: int, views: List[View]) -> Tuple[int, ContextManager[Any]]:
        theirs = [view.stream for view in views if view.stream is not None]
        handle = stream_handle(given) if given is not None else theirs[0] if theirs else 0
        for other in theirs:
            if other != handle:
                wait_for(other, handle, device)
        return handle, nullcontext()

    def empty(self, shape: Ints, dtype: str, device: int) -> View:
        if dtype == "uint8":  # a workspace, without which slower kernels do
            return View(None, 0, shape, (1,), dtype, device)
        raise TypeError("the operands come from a library that is neither PyTorch nor CuPy: give matmul an `out` of "
                        "the result's shape and type that does not overlap them")

    def converted(self, x: View, dtype: str) -> View:
        raise TypeError(f"an operand is {x.dtype}: convert it to {dtype}")

    def contiguous(self, x: View) -> View:
        raise ValueError(f"an operand of shape {x.shape} has strides {x.strides}, of which neither of the last two is "
                         "1: copy it")

    def assign(self, to: View, value: Any) -> None:
        raise TypeError("c must be `out` too, where the operands come from a library that is neither PyTorch nor CuPy")

    def wrote(self, out: Any) -> None:
        pass


def not_of(family: Any, x: Any, name: str) -> TypeError:
    return TypeError(f"{name} is {type(x).__module__}.{type(x).__name__}, and another operand is an array of "
                     f"{type(family).__name__}'s: give arrays of one library")


def stream_handle(given: Any) -> int:
    """A CUstream of a number or of a library's stream. 1 is the legacy default stream, as 0 is."""
    for name in ("cuda_stream", "ptr", "handle"):
        if hasattr(given, name):
            given = getattr(given, name)
            given = getattr(given, "value", given)
            break
    else:
        if hasattr(given, "__cuda_stream__"):
            given = given.__cuda_stream__()[1]
    try:
        handle = int(given or 0)
    except TypeError:
        raise TypeError(f"stream is {type(given).__name__}, expected a stream or its address") from None
    return 0 if handle == 1 else handle


# ---- interfaces ----

TYPES = {"<f8": "float64", "<f4": "float32", "<f2": "float16", "|i1": "int8", "|u1": "uint8", "<i4": "int32",
         "<c8": "complex64", "<c16": "complex128"}
DL_TYPES = {(2, 64): "float64", (2, 32): "float32", (2, 16): "float16", (4, 16): "bfloat16", (0, 8): "int8",
            (1, 8): "uint8", (0, 32): "int32", (5, 64): "complex64", (5, 128): "complex128", (10, 8): "float8_e4m3fn",
            (12, 8): "float8_e5m2"}


def from_interface(x: Any) -> Optional[View]:
    """By __cuda_array_interface__; None where there is none, or its type of element is none of ours."""
    said = getattr(x, "__cuda_array_interface__", None)
    if said is None or said["typestr"] not in TYPES or said.get("mask") is not None:
        return None
    dtype, shape = TYPES[said["typestr"]], tuple(said["shape"])
    strides = said.get("strides")
    if strides is None:
        counts = contiguous(shape)
    elif any(stride % BYTES[dtype] for stride in strides):
        raise ValueError(f"strides {strides} of a {dtype} array are not multiples of {BYTES[dtype]} bytes: copy it")
    else:
        counts = tuple(stride // BYTES[dtype] for stride in strides)
    address, read_only = said["data"]
    stream = said.get("stream")
    return View(x, address or 0, shape, counts, dtype, device_of(x), not read_only,
                None if stream is None else stream_handle(stream))


class DLTensor(Structure):
    _fields_ = [("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32), ("ndim", c_int32),
                ("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16), ("shape", POINTER(c_int64)),
                ("strides", POINTER(c_int64)), ("byte_offset", c_uint64)]


_pointer_of = ctypes.PYFUNCTYPE(c_void_p, py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))


def from_dlpack(x: Any) -> Optional[View]:
    """By DLPack. The capsule is borrowed: it stays with the view, and gives the memory back when it dies."""
    if not hasattr(x, "__dlpack__"):
        return None
    capsule = x.__dlpack__(stream=1)  # what they did is then before what comes on the default stream
    tensor = ctypes.cast(_pointer_of(capsule, b"dltensor"), POINTER(DLTensor)).contents
    dtype = DL_TYPES.get((tensor.code, tensor.bits)) if tensor.lanes == 1 else None
    if dtype is None:
        return None
    shape = tuple(tensor.shape[:tensor.ndim])
    strides = tuple(tensor.strides[:tensor.ndim]) if tensor.strides else contiguous(shape)
    return View(x, (tensor.data or 0) + tensor.byte_offset, shape, strides, dtype, tensor.device_id, True, 0, capsule)


def device_of(x: Any) -> int:
    if hasattr(x, "__dlpack_device__"):
        return int(x.__dlpack_device__()[1])
    ordinal = c_int32(0)  # CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL is 9
    said = x.__cuda_array_interface__["data"][0]
    if said:
        try:
            driver().cuPointerGetAttribute(byref(ordinal), 9, c_uint64(said))
        except (OSError, AttributeError):
            pass
    return ordinal.value


def driver() -> Any:
    return ctypes.CDLL("libcuda.so.1")


def wait_for(theirs: int, ours: int, device: int) -> None:
    """Lets our stream wait, on the device, for what another has been given."""
    cuda, context, event = driver(), c_void_p(), c_void_p()

    def call(name: str, *arguments: Any) -> None:
        status = getattr(cuda, name)(*arguments)
        if status:
            raise_for(6, f"{name} failed with {status} while a stream was to wait for another")

    call("cuDevicePrimaryCtxRetain", byref(context), c_int32(device))
    try:
        call("cuCtxPushCurrent_v2", context)
        try:
            call("cuEventCreate", byref(event), 2)  # without timing
            try:
                call("cuEventRecord", event, c_void_p(theirs))
                call("cuStreamWaitEvent", c_void_p(ours), event, 0)
            finally:
                cuda.cuEventDestroy_v2(event)
        finally:
            cuda.cuCtxPopCurrent_v2(byref(context))
    finally:
        cuda.cuDevicePrimaryCtxRelease_v2(c_int32(device))


# ---- which family ----

def library_of(x: Any) -> str:
    return type(x).__module__.partition(".")[0]


def is_torch(x: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def is_lazy(x: Any) -> bool:
    """A tensor whose conjugate or negative is a mark on it, not in its memory."""
    return bool(x.is_conj() or x.is_neg())


def on_cuda(x: Any) -> bool:
    if is_torch(x):
        return bool(x.is_cuda)
    if hasattr(x, "__dlpack_device__"):
        return int(x.__dlpack_device__()[0]) in (2, 13)  # device memory of CUDA, and its managed memory
    return hasattr(x, "__cuda_array_interface__")


def family_of(arrays: List[Any]) -> Any:
    for x in arrays:
        if is_torch(x):
            return Torch()
    for x in arrays:
        if library_of(x) == "cupy" and "cupy" in sys.modules:
            return Cupy()
    return Foreign()
