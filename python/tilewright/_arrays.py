"""Products of arrays that are not NumPy's: PyTorch's, CuPy's, and what speaks __cuda_array_interface__ or DLPack.

No library is imported here: who has an array of one has imported it. A family knows how to look at its library's
arrays, on which stream they are computed, and how to get memory in that stream's order from the library's own
allocator; so nothing is waited for, and a stream that is captured into a CUDA graph takes the product too.
"""
from __future__ import annotations

import ctypes
import sys
from contextlib import ExitStack, nullcontext
from ctypes import (POINTER, Structure, byref, c_int32, c_int64, c_uint8, c_uint16, c_uint64, c_void_p,
                    py_object)
from dataclasses import dataclass, replace
from operator import index
from typing import Any, ContextManager, Dict, List, Optional, Tuple

import numpy as np

from . import _host, _library
from ._dtypes import Operands, choose_types, kind_of, named, type_name, wrong_c
from ._errors import raise_for
from ._host import Conjugated
from ._layout import Call, Ints, NeedsCopy, at_strides, contiguous, plan, product_shape
from ._library import BYTES, DEVICE, FP8, MODULAR, Batch, Engine, Launch, Problem, debugging, done, lib
from ._plain import NUMPY, Number, array, bits, shows_memory

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


def all_on_cuda(a: Any, b: Any, c: Any, out: Any) -> bool:
    """Whether the arrays lie in CUDA's memory. TypeError if only some do."""
    there = {name: on_cuda(x) for name, x in (("a", a), ("b", b), ("c", c), ("out", out)) if x is not None}
    if len(set(there.values())) > 1:
        raise TypeError(f"{' and '.join(x for x in there if there[x])} in CUDA's memory, "
                        f"{' and '.join(x for x in there if not there[x])} in the host's: copy them to one place")
    return any(there.values())


def matmul(a: Any, b: Any, c: Any, alpha: Number, beta: Number, out: Any, dtype: Any, engine: Optional[Engine],
           stream: Any, conjugated: Conjugated, tf32: bool) -> Any:
    if not all_on_cuda(a, b, c, out):
        if stream is not None:
            raise TypeError("stream is given, but the operands lie in host memory: their products are waited for")
        return on_host(a, b, c, alpha, beta, out, dtype, engine, conjugated, tf32)
    return on_device(a, b, c, alpha, beta, out, dtype, engine, stream, True, conjugated, tf32)[0]


def prepare(a: Any, b: Any, c: Any, alpha: Number, beta: Number, out: Any, dtype: Any, engine: Optional[Engine],
            stream: Any, conjugated: Conjugated, tf32: bool) -> str:
    """The type of the result; compiles what it needs and computes nothing."""
    if all_on_cuda(a, b, c, out):
        return on_device(a, b, c, alpha, beta, out, dtype, engine, stream, False, conjugated, tf32)[1]
    return _host.prepare(host_view(a, "a"), host_view(b, "b"), c, alpha, beta, host_view(out, "out"), dtype, engine,
                           conjugated, tf32)[0]


# ---- host memory ----

NUMPY_VERSION = tuple(map(int, np.__version__.split(".")[:2]))


class Writable:
    """An array's memory, to be written."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self.__array_interface__ = {**array.__array_interface__, "data": (_host.address(array), False)}


def host_view(x: Any, name: str) -> Any:
    """A NumPy array of the same memory."""
    if x is None or isinstance(x, np.ndarray):
        return x
    if is_torch(x):
        torch = sys.modules["torch"]
        if x.requires_grad and torch.is_grad_enabled():
            raise TypeError(f"{name} requires a gradient, and matmul computes none: detach() it, or call matmul under "
                            "torch.no_grad()")
        if name == "out":  # of which a copy may be looked at below
            _host.check_apart(tuple(x.shape), tuple(step * x.element_size() for step in x.stride()), x.element_size())
        if x.dtype == torch.bfloat16:
            return x.detach().view(torch.int16).numpy().view(named("bfloat16"))
        if str(x.dtype)[6:] in FP8:
            return x.detach().view(torch.uint8).numpy().view(named(str(x.dtype)[6:]))
        return x.detach().resolve_conj().resolve_neg().numpy()
    given: object = x
    kind = type(given)
    exchanges = hasattr(kind, "__dlpack__") and not hasattr(kind, "__array_ufunc__")  # no proxy, no units
    if exchanges:
        try:
            if name != "out":
                return np.from_dlpack(x)
            if NUMPY_VERSION >= (2, 1):
                return np.from_dlpack(x, copy=False)
            # DLPack could not say then that an array may be written, or is a copy.
            return np.asarray(Writable(np.from_dlpack(x)))
        except (BufferError, RuntimeError, TypeError, ValueError):
            pass  # a type that NumPy does not know, nulls, which DLPack has not, or an `out` before it knew copy=False
    if name == "out":  # NumPy might make a copy
        raise TypeError(f"out is {type(x).__name__}, which is no array that NumPy can write into")
    # Whoever speaks DLPack has plain numbers, though its own operators may go first, as those of JAX's bfloat16.
    return np.asarray(x) if exchanges else array(name, x)


def on_host(a: Any, b: Any, c: Any, alpha: Number, beta: Number, out: Any, dtype: Any, engine: Optional[Engine],
            conjugated: Conjugated, tf32: bool) -> Any:
    first = next(x for x in (a, b, c, out)
                 if not isinstance(x, NUMPY) and shows_memory(x))
    views = [host_view(x, name) for x, name in ((a, "a"), (b, "b"), (c, "c"), (out, "out"))]
    made = _host.on_host(views[0], views[1], views[2], alpha, beta, views[3], dtype, None, engine, conjugated,
                           tf32)
    if out is not None:
        if is_torch(out) and is_lazy(out):  # its view is a copy
            out.detach().copy_(sys.modules["torch"].from_numpy(views[3]))
        elif is_torch(out):
            Torch().wrote(out)
        return out
    if is_torch(first):
        torch = sys.modules["torch"]
        made = np.asarray(made)
        if made.dtype.name == "bfloat16":
            return torch.from_numpy(made.view(np.int16)).view(torch.bfloat16)
        return torch.from_numpy(made)
    if hasattr(first, "__array_namespace__"):
        namespace = first.__array_namespace__()
        return (namespace.from_dlpack if hasattr(namespace, "from_dlpack") else namespace.asarray)(np.asarray(made))
    return made


# ---- CUDA ----

@dataclass
class Prepared:
    """What of a product doesn't depend on addresses beyond their alignment."""

    call: Call
    problem: Problem
    batch: Optional[Batch]
    offsets: List[Ints]  # in elements, of each enqueued item from the first address of A, B and C
    workspace_bytes: int


_prepared: Dict[Any, Prepared] = {}


def alignment(address: int) -> int:
    """The largest power of two up to 256 that divides an address."""
    return min(address & -address or 256, 256)


def on_device(a: Any, b: Any, c: Any, alpha: Number, beta: Number, out: Any, dtype: Any, engine: Optional[Engine],
              stream: Any, launch: bool, conjugated: Conjugated, tf32: bool) -> Tuple[Any, str]:
    """The product of arrays in CUDA's memory, and its type. Without launch it only compiles."""
    family = family_of([x for x in (a, b, c, out) if x is not None])
    first, second = family.view(a, "a"), family.view(b, "b")
    to = family.view(out, "out") if out is not None else None
    third = to if c is out else family.view(c, "c") if c is not None and beta != 0 else None
    views = [view for view in (first, second, to, None if third is to else third) if view is not None]
    device = first.device
    if engine is not None:
        check_engine(engine, device)
    if any(view.device != device for view in views):
        raise ValueError(f"the operands lie on the devices {', '.join(str(view.device) for view in views)} of CUDA: "
                         "copy them to one")
    shape = product_shape(first.shape, second.shape)
    wanted = to.dtype if dtype is None and to is not None else type_name(dtype)
    operands, result = choose_types(first.dtype, second.dtype, wanted, alpha.imag != 0 or beta.imag != 0,
                                            tf32)
    if operands.a in MODULAR:
        raise TypeError(f"{operands.a} is multiplied on the CPU only, and the operands lie in CUDA's memory: copy them "
                        "to the host's")
    if to is not None:
        _host.check_out(shape, to.shape, result, to.dtype, to.writable, to.byte_strides)
    if third is not None:
        check_c(third, shape, result)
    handle, current = family.stream(stream, device, views)
    with current:
        settled = {id(view): family.settled(view) for view in views}
        first, second = settled[id(first)], settled[id(second)]
        to, third = (view and settled[id(view)] for view in (to, third))
        if first.dtype != operands.a:
            first = family.converted(first, operands.a)
        if second.dtype != operands.b:
            second = family.converted(second, operands.b)
        # A batch has C in the accumulator's type.
        computed = "float32" if result in ("bfloat16", "float16") and len(shape) > 2 else result
        target = to
        if (to is None or computed != result or to.overlaps(first) or to.overlaps(second) or
                third is not None and third is not to and to.overlaps(third)):
            target = family.empty(shape, computed, device)
        assert target is not None
        if third is not None and third is not target and launch:
            family.assign(target, third)
        if 0 not in shape:
            enqueue(family, first, second, target, operands, computed, alpha, beta, device, handle, launch, conjugated)
        if to is not None:
            if launch and (target is not to or to.array is not out):  # a view of `out` may be a copy
                family.assign(replace(to, array=out), target)
            elif launch:
                family.wrote(out)
            return out, result
        return (target if computed == result else family.converted(target, result)).array, result


def check_engine(engine: Engine, device: int) -> None:
    if engine.threads is not None:
        raise ValueError(f"threads is {engine.threads}, but the operands lie in CUDA's memory")
    name, index = _library.engine_and_device(engine)
    if name != "cuda":
        raise ValueError(f"engine is {engine.text!r}, but the operands lie in CUDA's memory")
    if ":" in str(engine.text) and index != device:
        raise ValueError(f"engine is {engine.text!r}, but the operands lie on device {device} of CUDA")


def check_c(c: View, shape: Ints, result: str) -> None:
    """Refuses a c that cannot be broadcast to the product, or of a wider kind."""
    if kind_of(c.dtype) > kind_of(result):
        raise wrong_c(c.dtype, result)
    try:
        fits = np.broadcast_shapes(c.shape, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(f"c has the shape {c.shape}, which cannot be broadcast to {shape}")


def enqueue(family: Any, a: View, b: View, c: View, operands: Operands, result: str, alpha: Number, beta: Number,
            device: int, stream: int, launch: bool, conjugated: Conjugated) -> None:
    """c <- alpha a @ b + beta c on a stream."""
    key = (a.shape, a.strides, alignment(a.address), b.shape, b.strides, alignment(b.address), c.shape, c.strides,
           alignment(c.address), operands, result, bits(alpha), bits(beta), device, conjugated)
    known = _prepared.get(key)
    context = _library.context("cuda", device)
    if known is None or not launch:
        a_strides, b_strides = a.strides, b.strides
        if a.shape[-1] == 0:  # strides of what is empty mean nothing
            a_strides = (0,) * (len(a.shape) - 2) + (1, 1)[-len(a.shape):]
            b_strides = (0,) * (len(b.shape) - 2) + (b.shape[-1], 1)[-len(b.shape):]
        try:
            call = plan(a.shape, a_strides, b.shape, b_strides, c.shape, c.strides)
        except NeedsCopy as which:
            if which.args[0] == 0:
                a = family.contiguous(a)
            elif which.args[0] == 1:
                b = family.contiguous(b)
            else:
                whole = family.contiguous(c)
                enqueue(family, a, b, whole, operands, result, alpha, beta, device, stream, launch, conjugated)
                if launch:
                    family.assign(c, whole)
                return
            enqueue(family, a, b, c, operands, result, alpha, beta, device, stream, launch, conjugated)
            return
        known = prepared(call, a, b, c, operands, result, alpha, beta, context, conjugated)
        if len(_prepared) >= _host.RECIPES:
            _prepared.clear()
        _prepared[key] = known
        if debugging():
            tell(known, operands, result, device, context)
    if not launch:
        if known.batch is None:
            done(lib.tw_prepare(context, byref(known.problem)))
        else:
            done(lib.tw_prepare_batched(context, byref(known.problem), byref(known.batch)))
        return
    to = Launch(size=ctypes.sizeof(Launch), stream=stream or None)
    workspace = None
    if known.workspace_bytes:
        workspace = family.empty((known.workspace_bytes,), "uint8", device)
        if workspace.address:
            to.workspace, to.workspace_bytes = workspace.address, known.workspace_bytes
    at, sizes = (a.address, b.address, c.address), (BYTES[operands.a], BYTES[operands.b], BYTES[result])
    if known.call.swapped:
        at = (at[1], at[0], at[2])  # types that mix have the same bytes
    for item in known.offsets:
        first, second, third = (x + offset * size for x, offset, size in zip(at, item, sizes))
        if known.batch is None:
            done(lib.tw_enqueue(context, byref(known.problem), first, second, third, byref(to)))
        else:
            done(lib.tw_enqueue_batched(context, byref(known.problem), byref(known.batch), first, second, third,
                                        byref(to)))


def prepared(call: Call, a: View, b: View, c: View, operands: Operands, result: str, alpha: Number, beta: Number,
             context: Optional[int], conjugated: Conjugated) -> Prepared:
    problem = _host.fill(call, operands, result, alpha, beta, DEVICE, conjugated)
    inner = call._replace(batch=call.batch[-1:])
    batch = _host.stride_batch(inner) if at_strides(inner) else None
    items: List[Ints] = [(0, 0, 0)]
    for count, x, y, z in call.batch[:-1] if batch is not None else call.batch:
        items = [(p + i * x, q + i * y, r + i * z) for p, q, r in items for i in range(count)]
    first, second = (b, a) if call.swapped else (a, b)
    sizes = BYTES[operands.a], BYTES[operands.b], BYTES[result]
    # What every item's address is a multiple of.
    problem.align_a, problem.align_b, problem.align_c = (
        min(alignment(view.address), *(alignment(item[i] * size) for item in items))
        for i, (view, size) in enumerate(zip((first, second, c), sizes)))
    bytes_wanted = c_int64(0)
    if batch is None:
        done(lib.tw_workspace_bytes(context, byref(problem), byref(bytes_wanted)))
    else:
        done(lib.tw_workspace_bytes_batched(context, byref(problem), byref(batch), byref(bytes_wanted)))
    return Prepared(call, problem, batch, items, bytes_wanted.value)


def tell(known: Prepared, operands: Operands, result: str, device: int, context: Optional[int]) -> None:
    import logging

    from . import _plans

    call = known.call
    logging.getLogger("tilewright").debug(
        "cuda:%d %s -> %s, %s%s, m %d n %d k %d lda %d ldb %d ldc %d, batch %d, launches %d, workspace %d bytes%s: %s",
        device, operands, result, "NT"[call.op_a], "NT"[call.op_b], call.m, call.n, call.k, call.lda, call.ldb,
        call.ldc, known.batch.count if known.batch else 1, len(known.offsets), known.workspace_bytes,
        ", as the transpose of C" if call.swapped else "", _plans.text(context, known.problem, known.batch))
