"""Products of arrays that are not NumPy's: in CUDA's memory in the order of a stream, else in host memory.

Nothing is waited for on a stream, and one that is captured into a CUDA graph takes the product too.
"""
from __future__ import annotations

import ctypes
import sys
from ctypes import byref, c_int64
from dataclasses import dataclass, replace
from typing import Any, Dict, List, Optional, Tuple

import numpy as np

from . import _host, _library
from ._dtypes import Operands, choose_types, kind_of, named, type_name, wrong_c
from ._errors import NoKernel
from ._families import Torch, View, family_of, is_lazy, is_torch, on_cuda
from ._host import Flags
from ._layout import Call, Ints, NeedsCopy, at_strides, plan, product_shape
from ._library import BYTES, DEVICE, FP8, MODULAR, Batch, Engine, Launch, Problem, debugging, done, lib
from ._plain import NUMPY, Number, array, bits, shows_memory

__all__: List[str] = []


def all_on_cuda(a: Any, b: Any, c: Any, out: Any) -> bool:
    """Whether the arrays lie in CUDA's memory. TypeError if only some do."""
    there = {name: on_cuda(x) for name, x in (("a", a), ("b", b), ("c", c), ("out", out)) if x is not None}
    if len(set(there.values())) > 1:
        raise TypeError(f"{' and '.join(x for x in there if there[x])} in CUDA's memory, "
                        f"{' and '.join(x for x in there if not there[x])} in the host's: copy them to one place")
    return any(there.values())


def matmul(a: Any, b: Any, c: Any, alpha: Number, beta: Number, out: Any, dtype: Any, engine: Optional[Engine],
           stream: Any, flags: Flags) -> Any:
    if not all_on_cuda(a, b, c, out):
        if stream is not None:
            raise TypeError("stream is given, but the operands lie in host memory: their products are waited for")
        return on_host(a, b, c, alpha, beta, out, dtype, engine, flags)
    return on_device(a, b, c, alpha, beta, out, dtype, engine, stream, True, flags)[0]


def prepare(a: Any, b: Any, c: Any, alpha: Number, beta: Number, out: Any, dtype: Any, engine: Optional[Engine],
            stream: Any, flags: Flags) -> str:
    """The type of the result; compiles what it needs and computes nothing."""
    if all_on_cuda(a, b, c, out):
        return on_device(a, b, c, alpha, beta, out, dtype, engine, stream, False, flags)[1]
    return _host.prepare(host_view(a, "a"), host_view(b, "b"), c, alpha, beta, host_view(out, "out"), dtype, engine,
                         flags)[0]


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
            flags: Flags) -> Any:
    first = next(x for x in (a, b, c, out)
                 if not isinstance(x, NUMPY) and shows_memory(x))
    views = [host_view(x, name) for x, name in ((a, "a"), (b, "b"), (c, "c"), (out, "out"))]
    made = _host.on_host(views[0], views[1], views[2], alpha, beta, views[3], dtype, None, engine, flags)
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
              stream: Any, launch: bool, flags: Flags) -> Tuple[Any, str]:
    """The product of arrays in CUDA's memory, and its type. Without launch it only compiles."""
    if flags.epilogue is not None:
        raise NoKernel("an epilogue's operands are bound in host memory, and those of the product lie in CUDA's")
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
                                    flags.tf32)
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
            enqueue(family, first, second, target, operands, computed, alpha, beta, device, handle, launch, flags)
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
            device: int, stream: int, launch: bool, flags: Flags) -> None:
    """c <- alpha a @ b + beta c on a stream."""
    key = (a.shape, a.strides, alignment(a.address), b.shape, b.strides, alignment(b.address), c.shape, c.strides,
           alignment(c.address), operands, result, bits(alpha), bits(beta), device, flags)
    known = _prepared.get(key)
    context = _library.context("cuda", device)
    if known is None or not launch:
        a_strides, b_strides = a.strides, b.strides
        if a.shape[-1] == 0:  # strides of what is empty mean nothing
            a_strides = (0,) * (len(a.shape) - 2) + (1, 1)[-len(a.shape):]
            b_strides = (0,) * (len(b.shape) - 2) + (b.shape[-1], 1)[-len(b.shape):]
        try:
            call = plan(a.shape, a_strides, b.shape, b_strides, c.shape, c.strides, flags.invariant)
        except NeedsCopy as which:
            if which.args[0] == 0:
                a = family.contiguous(a)
            elif which.args[0] == 1:
                b = family.contiguous(b)
            else:
                whole = family.contiguous(c)
                enqueue(family, a, b, whole, operands, result, alpha, beta, device, stream, launch, flags)
                if launch:
                    family.assign(c, whole)
                return
            enqueue(family, a, b, c, operands, result, alpha, beta, device, stream, launch, flags)
            return
        known = prepared(call, a, b, c, operands, result, alpha, beta, context, flags)
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
             context: Optional[int], flags: Flags) -> Prepared:
    problem = _host.fill(call, operands, result, alpha, beta, DEVICE, flags)
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
