"""Products of NumPy arrays: each layout is arranged once, and remembered as a recipe."""
from __future__ import annotations

import ctypes
import os
from ctypes import addressof, byref, c_char
from types import SimpleNamespace
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import numpy as np

from . import _interrupt, _library
from ._dtypes import Operands, choose_types, is_complex, name_of, named, type_name, wrong_c
from ._errors import BadArgument
from ._layout import Call, Ints, NeedsCopy, at_strides, contiguous, plan, product_shape
from ._library import (BYTES, CODES, EMULATED, FP8, HOST, INVARIANT, MODULAR, SCALED, SMALL, Batch, Engine, Problem,
                       debugging, done, lib)
from ._plain import NUMPY, Number, array, check_plain, element_strides, number, shows_memory

__all__: List[str] = []

_empty, _ndarray, _buffer, _may_share = np.empty, np.ndarray, c_char.from_buffer, np.may_share_memory
_gemm, _gemm_batched = lib.tw_gemm, lib.tw_gemm_batched

# (shapes, strides, types, options) of calls that were seen -> what to do. Each entry is immutable, a lookup takes no
# lock, and losing an entry to another thread costs that thread a microsecond. No caller's object is part of a key:
# its __eq__ and __hash__ may say anything, and its value may be another one next time. An option is there as what it
# was read as, and a type only if it holds no metadata.
recipes: Dict[Any, "Recipe"] = {}
RECIPES = 1024
MOST_OFFSETS = 1 << 16  # bytes that one of them keeps of a batch by address


class Flags(NamedTuple):
    """The options that are on or off, as matmul has them (tf32: multiply_as, emulated: accuracy), and the epilogue."""

    conjugate_a: bool = False
    conjugate_b: bool = False
    tf32: bool = False
    invariant: bool = False
    emulated: bool = False
    epilogue: Optional[Any] = None


class Recipe(NamedTuple):
    """A product of host arrays that are laid out alike, and what is done before and behind it: all that doesn't depend
    on their addresses. _calls.c reads the fields before `problem`, by their places."""

    context: Optional[int]
    at_problem: int
    at_batch: Optional[int]
    offsets: Optional[bytes]  # of a batch by address: int64, in bytes, of each item of the first operand, second, and C
    swapped: bool  # computed as the transpose of C: the first operand is b
    made: Tuple[Ints, "np.dtype[Any]"]  # of a new array that is computed in
    copy_a: Optional[Dict[str, Any]]  # how np.array() copies an operand that cannot be read in place
    copy_b: Optional[Dict[str, Any]]
    direct: bool  # `out` is computed in
    adds: bool  # c is read
    cast: Optional["np.dtype[Any]"]  # what a new array is rounded to in the end
    problem: Problem
    batch: Optional[Batch]
    lends: bool  # all three lend their addresses as buffers
    long: bool  # a signal may end it: by addresses, and not remembered
    epilogue: Optional[Any]  # to which `problem` points

    def takes(self, a: Any, b: Any, c: Any, out: Any) -> bool:
        """Whether a call of this layout can be computed so: not if it would write into an operand."""
        if out is not None and (not out.flags.writeable or _may_share(out, a) or _may_share(out, b) or
                                self.epilogue is not None and self.epilogue.may_share(out)):
            return False
        # The library refuses odd addresses before it writes, but behind a copy of c.
        return not self.adds or c is out or all(x is None or x.flags.aligned for x in (a, b, out))

    def run(self, a: Any, b: Any, c: Any, out: Any, to: Any = None) -> Any:
        """The product; `to` is a place for it that has c already. None where that is not given and an address is odd.

        An array lends its address fastest as a buffer. Only a writable one whose rows lie one after the other does."""
        context, problem, batch, offsets, swapped, made, copy_a, copy_b, direct, adds, cast, _, _, lends, _, _ = self
        known = to is None
        if copy_a is not None:
            a = np.array(a, **copy_a)
        if copy_b is not None:
            b = np.array(b, **copy_b)
        if to is None:
            to = out if direct else _empty(*made)
            if adds and c is not to:
                np.copyto(to, c, casting="same_kind")
        if swapped:
            a, b = b, a
        if not lends or offsets is not None:
            status = self.at_addresses(a, b, to)
        else:
            try:
                if batch is None:
                    status = _gemm(context, problem, byref(_buffer(a)), byref(_buffer(b)), byref(_buffer(to)))
                else:
                    status = _gemm_batched(context, problem, batch, byref(_buffer(a)), byref(_buffer(b)),
                                           byref(_buffer(to)))
            except (TypeError, ValueError, BufferError):
                status = self.at_addresses(a, b, to)
        if status:
            if known and status == BadArgument.status:
                return None
            done(status)
        return to if out is None and to.ndim and cast is None else finished(to, out, cast)

    def at_addresses(self, first: Any, second: Any, c: Any) -> int:
        """Computes, for any arrays, and returns the status."""
        places: Any = [address(x) for x in (first, second, c)]
        if self.offsets is not None:
            lists = np.frombuffer(self.offsets, np.int64).reshape(3, -1) + np.array(places)[:, None]
            places = [address(x) for x in lists]
        if self.long:
            return _interrupt.compute(self.context, self.problem, self.batch, *places)
        status: int = (_gemm(self.context, self.at_problem, *places) if self.at_batch is None else
                       _gemm_batched(self.context, self.at_problem, self.at_batch, *places))
        return status


def finished(computed: Any, out: Any, cast: Optional["np.dtype[Any]"]) -> Any:
    """The result of what was computed."""
    if out is None:
        made = computed if cast is None else computed.astype(cast)
        return made if made.ndim else made[()]
    if computed is not out:
        np.copyto(out, computed, casting="unsafe")
    return out


def _forget() -> None:
    recipes.clear()


# A context of a GPU, of which recipes hold the handle, is of no use after a fork.
os.register_at_fork(after_in_child=_forget)


def check_out(shape: Tuple[int, ...], found: Tuple[int, ...], dtype: str, found_dtype: str, writable: bool,
              strides: Tuple[int, ...]) -> None:
    """Strides count bytes."""
    if found != shape:
        raise ValueError(f"out has the shape {found}, expected {shape}")
    if found_dtype != dtype:
        raise TypeError(f"out is {found_dtype}, expected {dtype}")
    if not writable:
        raise ValueError("out is read-only: give a copy, or an array of your own")
    check_apart(shape, strides, BYTES[dtype])


def check_apart(shape: Tuple[int, ...], strides: Tuple[int, ...], size: int) -> None:
    """Refuses an `out` of which two elements share a byte, or where it takes too long to know: the time may double with
    each dimension. Strides and size count bytes."""
    most_work: Any = 1_000_000  # some 0.1 s; NumPy's types know -1 and 0 alone
    end = size
    for stride, n in sorted((abs(stride), n) for stride, n in zip(strides, shape) if n > 1):
        if stride < end:
            break
        end += (n - 1) * stride
    else:  # each dimension steps over all that lies in those of smaller strides
        return
    layout = {"shape": shape, "strides": strides, "typestr": f"|V{size}", "data": (1 << 40, True), "version": 3}
    rest = np.asarray(SimpleNamespace(__array_interface__=layout))  # is never read
    for axis in range(len(shape)):
        while rest.shape[axis] > 1:
            rest, other = np.array_split(rest, 2, axis)
            try:
                overlaps = np.shares_memory(rest, other, most_work)
            except RuntimeError:  # TooHardError, whose place differs by NumPy's version
                raise ValueError(f"out may overlap itself: with the shape {shape} and strides of {strides} bytes it "
                                 "takes too long to know") from None
            if overlaps:
                raise ValueError(f"out overlaps itself: with the shape {shape} and strides of {strides} bytes some of "
                                 "its elements share memory")


def check_engine(operands: Operands, engine: str, a: Any, b: Any) -> None:
    if engine not in ("cpu", "opencl", "cuda"):
        _library.context(engine, 0)  # raises NoDevice: there is no such engine
    only = next((x for x in operands[:2] if x in FP8 and engine != "cuda"), None)
    if operands.tf32 and engine != "cuda":
        only = "tf32"
    if operands.a in MODULAR and engine != "cpu":
        raise TypeError(f"{operands.a} is multiplied on the CPU only, and the engine is {engine}: leave engine out")
    if only is None:
        return
    given = only in (a.dtype.name, b.dtype.name)
    advice = ("leave multiply_as out" if operands.tf32 else
              "ask for dtype='float32' and convert the result with astype()" if not given else
              "convert a and b to float32 with astype(), which is exact")
    raise TypeError(f"{only} is multiplied on CUDA only, and the engine is {engine}: {advice}")


def wanted_type(out: Any, dtype: Any) -> Optional[str]:
    """The result's type, if one is asked for: by dtype, else by `out`."""
    if dtype is not None or not isinstance(out, _ndarray):
        return type_name(dtype)
    return name_of(out.dtype)


def check_host_out(out: Any, shape: Tuple[int, ...], result: str) -> None:
    if not isinstance(out, _ndarray):
        raise TypeError(f"out is {type(out).__name__}, expected an array")
    check_plain("out", out)
    check_out(shape, out.shape, result, name_of(out.dtype), out.flags.writeable, out.strides)


def on_host(a: Any, b: Any, c: Any, alpha: Number, beta: Number, out: Any, dtype: Any, key: Any,
            engine: Optional[Engine], flags: Flags) -> Any:
    """The product of NumPy arrays, by the long way; with a key it leaves a recipe where the short one can follow."""
    name, device = _library.engine_and_device(engine)
    a, b = array("a", a), array("b", b)
    shape = product_shape(a.shape, b.shape)
    operands, result = choose_types(name_of(a.dtype), name_of(b.dtype), wanted_type(out, dtype),
                                    alpha.imag != 0 or beta.imag != 0, flags.tf32, name == "cpu")
    check_engine(operands, name, a, b)
    epilogue = flags.epilogue
    if epilogue is not None:
        epilogue.bind(operands, result, a.shape, b.shape)
        if a.shape[-1] == 0:  # an epilogue of empty sums: they have one term, which is not read
            alpha, a = 0.0, np.zeros(a.shape[:-1] + (1,), a.dtype)
            b = np.zeros(b.shape[:-2] + (1,) + b.shape[1:][-1:], b.dtype)
    if out is not None:
        check_host_out(out, shape, result)
    if beta != 0 and c is not out:
        c = array("c", c)
    # On OpenCL, in CUDA's batches, and on the CPU if c is not of the result's type, bfloat16 and float16 are rounded
    # here, once, from float32.
    as_it_is = name_of(c.dtype) == result if name == "cpu" and beta != 0 else (
        name == "cpu" or name == "cuda" and len(shape) < 3)
    computed = "float32" if result in ("bfloat16", "float16") and not as_it_is else result
    types = named(operands.a), named(operands.b), named(computed)
    apart = out is None or not (_may_share(out, a) or _may_share(out, b) or
                                epilogue is not None and epilogue.may_share(out))
    direct = out is not None and computed == result and apart and element_strides(out) is not None
    arranged = None
    if 0 not in shape and a.shape[-1] != 0:  # else strides mean nothing
        arranged = arrange(a, b, out if direct else None, shape, types, flags)
        direct = arranged[3]
    to: Any = out if direct else np.empty(shape, types[2])
    if beta != 0 and c is not to:
        if not np.can_cast(c.dtype, types[2], "same_kind"):
            raise wrong_c(name_of(c.dtype), result)
        try:
            np.copyto(to, c, casting="same_kind")
        except ValueError:
            raise ValueError(f"c has the shape {c.shape}, which cannot be broadcast to {shape}") from None
    cast = None if computed == result else named(result)
    if arranged is not None:
        call, copies, told, _ = arranged
        recipe = recipe_of(call, operands, types, shape, alpha, beta, name, device, engine, flags, copies, direct, cast,
                           lend(types, to, *(x for x, how in zip((a, b), copies) if how is None)))
        if debugging():
            tell(call, operands, computed, name, device, recipe, told)
        made = recipe.run(a, b, None, out, to)
        if key is not None and apart and not recipe.long and len(recipe.offsets or b"") < MOST_OFFSETS and all(
                x is None or x.flags.aligned and x.dtype.metadata is None for x in (a, b, c, out)):
            if len(recipes) >= RECIPES:
                recipes.clear()
            recipes[key] = recipe
        return made
    if 0 not in shape:
        if operands.a in SMALL and result in SCALED:
            scale_bytes(to, beta.real)
        elif to.dtype.kind in "iu":
            scale_integers(to, beta.real)
        elif beta == 0:
            to[...] = 0
        elif beta != 1:
            real = beta.imag == 0  # then it scales each part, as the library does
            for part in (np.real(to), np.imag(to)) if real and np.iscomplexobj(to) else (to,):
                np.multiply(part, part.dtype.type(beta.real if real else beta), out=part)
    return finished(to, out, cast)


def scale_integers(c: Any, beta: float) -> None:
    """c <- beta c, modulo 2**n."""
    wide, size = c.dtype.itemsize == 8, c.dtype.itemsize
    least, most = (1 - 2**53, 2**53 - 1) if wide else (-2**31, 2**31 - 1)
    if not (least <= beta <= most and beta == beta // 1):
        ends = "-2^53 + 1 to 2^53 - 1" if wide else "-2^31 to 2^31 - 1"
        raise BadArgument(f"beta is {beta:g}, expected a whole number from {ends}: C is of integers")
    if beta == 0:
        c[...] = 0
    elif beta != 1:
        np.multiply(c, np.array(int(beta) % 2**(8 * size), f"u{size}").view(c.dtype), out=c)


def scale_bytes(c: Any, beta: float) -> None:
    """c <- beta c in float64, rounded once to c's type."""
    with np.errstate(all="ignore"):
        scaled = beta * c.astype("float64") if beta != 0 else np.zeros(c.shape)
        if c.dtype.kind in "iu":
            ends = np.iinfo(c.dtype)
            scaled = np.clip(np.rint(np.where(np.isnan(scaled), 0, scaled)), ends.min, ends.max)
        c[...] = scaled


def recipe_of(call: Call, operands: Operands, types: Any, shape: Ints, alpha: Number, beta: Number, engine: str,
              device: int, given: Optional[Engine], flags: Flags, copies: Any = (None, None),
              direct: bool = False, cast: Optional["np.dtype[Any]"] = None, lends: bool = False) -> Recipe:
    problem = fill(call, operands, name_of(types[2]), alpha, beta, HOST, flags)
    batch, offsets = batch_of(call, (types[1], types[0], types[2]) if call.swapped else types)
    context = _library.context(engine, device, given and given.threads)
    long = _interrupt.takes_long(context, problem, batch)
    return Recipe(context, addressof(problem), None if batch is None else addressof(batch), offsets, call.swapped,
                  (shape, types[2]), copies[0], copies[1], direct, beta != 0, cast, problem, batch, lends and not long,
                  long, flags.epilogue)


def arrange(a: Any, b: Any, out: Any, shape: Ints, types: Any, flags: Flags) -> Tuple[Call, Any, str, bool]:
    """The call for operands and, if it is given, an `out` of a shape; how a and b are copied first, or None; which of
    them for their strides alone, and whether the call writes into `out`."""
    strides = [element_strides(x) if x.dtype == dtype else None for x, dtype in zip((a, b), types)]
    copies = [{"dtype": dtype, "order": "C"} if found is None else None for found, dtype in zip(strides, types)]
    to, told, epilogue = None if out is None else element_strides(out), "", flags.epilogue
    by_rows, by_items = flags.invariant or epilogue is not None, epilogue is not None and epilogue.reads_rows
    while True:
        read = [contiguous(x.shape) if found is None else found for x, found in zip((a, b), strides)]
        written = contiguous(shape) if to is None else to
        try:
            call = plan(a.shape, read[0], b.shape, read[1], shape, written, by_rows, by_items)
            return call, copies, told, to is not None
        except NeedsCopy as which:
            if which.args[0] == 2:
                to = None
            else:
                strides[which.args[0]], copies[which.args[0]] = None, {"dtype": types[which.args[0]], "order": "C"}
                told += "ab"[which.args[0]]


def batch_of(call: Call, types: Any) -> Tuple[Optional[Batch], Optional[bytes]]:
    """A batch at strides; or one by addresses, and where its items lie, as in Recipe."""
    if at_strides(call):
        return stride_batch(call), None
    if not call.batch:
        return None, None
    found = np.zeros((3, 1), np.int64)
    for count, *steps in call.batch:
        step = np.array([x * dtype.itemsize for x, dtype in zip(steps, types)], np.int64)
        found = (found[:, :, None] + step[:, None, None] * np.arange(count)).reshape(3, -1)
    return Batch(size=ctypes.sizeof(Batch), pointers=1, count=found.shape[1]), found.tobytes()


def fill(call: Call, operands: Operands, result: str, alpha: Number, beta: Number, place: int,
         flags: Flags) -> Problem:
    first, second = flags[:2] if is_complex(operands.a) else (False, False)  # real operands are their own
    code, code_b = operands.codes()
    if call.swapped:
        first, second, code, code_b = second, first, code_b, code
    return Problem(size=ctypes.sizeof(Problem), dtype=code, dtype_b=0 if code == code_b else code_b,
                   dtype_c=CODES[result], flags=INVARIANT if flags.invariant else 0,
                   accuracy=EMULATED if flags.emulated else 0,
                   op_a=OPS[first][call.op_a], op_b=OPS[second][call.op_b], place_a=place, place_b=place,
                   place_c=place, m=call.m, n=call.n, k=call.k, lda=call.lda, ldb=call.ldb, ldc=call.ldc,
                   alpha=alpha.real, beta=beta.real, alpha_imaginary=alpha.imag, beta_imaginary=beta.imag,
                   epilogue=flags.epilogue and flags.epilogue.handle)


OPS = (0, 1), (3, 2)  # tw_op of what is as stored, or transposed; then of what is conjugated, too


def stride_batch(call: Call) -> Batch:
    count, stride_a, stride_b, stride_c = call.batch[0]
    return Batch(size=ctypes.sizeof(Batch), count=count, stride_a=stride_a, stride_b=stride_b, stride_c=stride_c)


def lend(types: Any, *arrays: Any) -> bool:
    """Whether arrays of these types lend their addresses as buffers: writable, by rows without gaps, of NumPy's own."""
    return all(x.flags.carray for x in arrays) and all(x.isbuiltin == 1 for x in types)


def address(x: Any) -> int:
    """Where the first element lies. A buffer lends it in half the time, if the array is writable and has no gaps."""
    flags = x.flags
    if flags.writeable and flags.forc and x.size and x.dtype.isbuiltin == 1:
        return addressof(_buffer(x if flags.c_contiguous else x.T))
    found: int = x.__array_interface__["data"][0]
    return found


def tell(call: Call, operands: Operands, result: str, engine: str, device: int, recipe: Recipe,
         copied: str) -> None:
    """What was chosen, for logging."""
    import logging

    from . import _plans

    problem = recipe.problem
    alpha, beta = (number("", complex(*x)) for x in ((problem.alpha, problem.alpha_imaginary),
                                                     (problem.beta, problem.beta_imaginary)))
    logging.getLogger("tilewright").debug(
        "%s:%d %s -> %s, %s%s, m %d n %d k %d lda %d ldb %d ldc %d, alpha %s beta %s, batch %d%s%s%s%s: %s", engine,
        device, operands, result, "NTCR"[problem.op_a], "NTCR"[problem.op_b], call.m, call.n, call.k, call.lda,
        call.ldb, call.ldc, format(alpha, "g"), format(beta, "g"), recipe.batch.count if recipe.batch else 1,
        ", by address" if recipe.batch and recipe.batch.pointers else "",
        ", as the transpose of C" if call.swapped else "", f", copied {' '.join(copied)}" if copied else "",
        f", epilogue {recipe.epilogue.text!r}" if recipe.epilogue else "",
        _plans.text(recipe.context, recipe.problem, recipe.batch))


def prepare(a: Any, b: Any, c: Any, alpha: Number, beta: Number, out: Any, dtype: Any, engine: Optional[Engine],
            flags: Flags) -> Tuple[str, Optional[Recipe]]:
    """The result's type, and the recipe of host operands if they are read in place. Computes nothing."""
    check_plain("a", a)
    check_plain("b", b)
    if isinstance(c, NUMPY) or not shows_memory(c):
        check_plain("c", c)
    name, device = _library.engine_and_device(engine)
    operands, result = choose_types(name_of(a.dtype), name_of(b.dtype), wanted_type(out, dtype),
                                    alpha.imag != 0 or beta.imag != 0, flags.tf32, name == "cpu")
    check_engine(operands, name, a, b)
    shape = product_shape(a.shape, b.shape)
    if flags.epilogue is not None:
        flags.epilogue.bind(operands, result, a.shape, b.shape)
    if out is not None:
        check_host_out(out, shape, result)
    rounded = result in ("bfloat16", "float16") and name != "cpu"
    if c is not None or not shape or 0 in shape or a.shape[-1] == 0 or rounded:
        return result, None
    types = named(operands.a), named(operands.b), named(result)
    call, copies, _, _ = arrange(a, b, None, shape, types, flags)
    if any(copies) or call.batch and not at_strides(call):
        return result, None
    recipe = recipe_of(call, operands, types, shape, alpha, beta, name, device, engine, flags,
                       lends=lend(types, a, b))
    if recipe.batch is None:
        done(lib.tw_prepare(recipe.context, recipe.at_problem))
    else:
        done(lib.tw_prepare_batched(recipe.context, recipe.at_problem, recipe.at_batch))
    return result, None if recipe.long else recipe
