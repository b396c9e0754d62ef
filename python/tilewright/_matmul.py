"""matmul and Plan: products of NumPy arrays, and the way to those of other libraries."""
from __future__ import annotations

import ctypes
import importlib
import os
import struct
import sys
import warnings
from ctypes import addressof, byref, c_char
from types import GenericAlias, SimpleNamespace
from typing import TYPE_CHECKING, Any, Callable, Dict, List, NamedTuple, Optional, Tuple, Type, Union

import numpy as np

from . import _interrupt, _library
from ._errors import BadArgument
from ._layout import Call, Ints, NeedsCopy, at_strides, contiguous, plan, product_shape
from ._library import (BYTES, CODES, COMPLEX, FP8, HOST, INTEGERS, ML_DTYPES, MODULAR, RESULTS, SCALED, SMALL, TF32,
                       Batch, Engine, Problem, debugging, done, lib)

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

__all__ = ["matmul", "Plan"]

_empty, _ndarray, _buffer, _gemm = np.empty, np.ndarray, c_char.from_buffer, lib.tw_gemm
_gemm_batched, _may_share, _modules = lib.tw_gemm_batched, np.may_share_memory, sys.modules
NUMPY = np.ndarray, np.generic

# (shapes, strides, types, options) of calls that were seen -> what to do. Each entry is immutable, a lookup takes no
# lock, and losing an entry to another thread costs that thread a microsecond. No caller's object is part of a key:
# its __eq__ and __hash__ may say anything, and its value may be another one next time. An option is there as what it
# was read as, and a type only if it holds no metadata.
_recipes: Dict[Any, "Recipe"] = {}
RECIPES = 1024
MOST_OFFSETS = 1 << 16  # bytes that one of them keeps of a batch by address
ONE = 1

Number = Union[float, complex]  # complex where it has an imaginary part, else float
Conjugated = Tuple[bool, bool]  # a, b


class Operands(NamedTuple):
    """As what a and b are multiplied: types by name. tf32: both are float32, and count as rounded to tf32."""

    a: str
    b: str
    tf32: bool = False

    def __str__(self) -> str:
        return "tf32" if self.tf32 else self.a if self.a == self.b else f"{self.a} @ {self.b}"

    def codes(self) -> Tuple[int, int]:
        return (TF32, TF32) if self.tf32 else (CODES[self.a], CODES[self.b])


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

    def takes(self, a: Any, b: Any, c: Any, out: Any) -> bool:
        """Whether a call of this layout can be computed so: not if it would write into an operand."""
        if out is not None and (not out.flags.writeable or _may_share(out, a) or _may_share(out, b)):
            return False
        # The library refuses odd addresses before it writes, but behind a copy of c.
        return not self.adds or c is out or all(x is None or x.flags.aligned for x in (a, b, out))

    def run(self, a: Any, b: Any, c: Any, out: Any, to: Any = None) -> Any:
        """The product; `to` is a place for it that has c already. None where that is not given and an address is odd.

        An array lends its address fastest as a buffer. Only a writable one whose rows lie one after the other does."""
        context, problem, batch, offsets, swapped, made, copy_a, copy_b, direct, adds, cast, _, _, lends, _ = self
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
    _recipes.clear()


# A context of a GPU, of which recipes hold the handle, is of no use after a fork.
os.register_at_fork(after_in_child=_forget)


def matmul(a: Any, b: Any, /, c: Any = None, *, alpha: complex = 1, beta: Optional[complex] = None, out: Any = None,
           dtype: Any = None, engine: Optional[str] = None, threads: Optional[int] = None, stream: Any = None,
           conjugate_a: bool = False, conjugate_b: bool = False, multiply_as: Optional[str] = None) -> Any:
    """alpha a @ b + beta c, by np.matmul's rules for shapes.

    >>> import numpy as np, tilewright
    >>> tilewright.matmul(np.array([[1., 2.], [3., 4.]]), np.array([1., 1.]))
    array([3., 7.])
    >>> tilewright.matmul(np.ones((2, 3), np.int8), np.ones((3, 2), np.int8), np.eye(2, dtype=np.int32))
    array([[4, 3],
           [3, 4]], dtype=int32)
    >>> tilewright.matmul(np.array([[1 + 1j, 2]]), np.array([[1j], [1]]), conjugate_b=True)
    array([[3.-1.j]])

    a, b      NumPy arrays, or what makes one; PyTorch tensors, CuPy arrays and others that speak
              __cuda_array_interface__ or DLPack, on the CPU or on CUDA. Vectors, matrices, and stacks of matrices that
              broadcast. float64, float32, float16, bfloat16, int8, uint8; int16 to int64, uint16 to uint64,
              complex128 and complex64 (CPU only); ml_dtypes' float8_e4m3fn and float8_e5m2 (CUDA only). Two types
              become the one that np.matmul multiplies in: int64 with float32 float64, uint8 with float32 float32, bool
              with any other the other, float16 with bfloat16 float32. uint8 with int8, and the two float8, are
              multiplied as they are; bool with bool only as another dtype.
    c         added to the product, broadcast to its shape. It is converted to the result's type first, of a float16
              or bfloat16 result to float32 (on CUDA in batches only), and does not widen the result: float64 is rounded
              to float32, int64 wraps around to int32. Not changed, unless it is `out` too.
    alpha     scales the product; beta scales c: 1 if c is given. With beta 0, c is not read; with alpha 0, a and b are
              not, and the result has none of their nan, as in a BLAS. One with an imaginary part makes the product of
              float types complex; one without it multiplies as a real number. Of integers whole numbers from -2**31 to
              2**31 - 1, of 64 bits below 2**53 in size; any real ones where int8 and uint8 give float32, int8 or uint8.
    conjugate_a, conjugate_b
              multiply with the complex conjugate of a, of b, without a copy of it: a @ b.T with conjugate_b is a @
              b.conj().T. A real array is its own.
    out       where the result goes: an array of the result's shape, whose type counts as dtype, if that is not given.
              It may overlap the operands, but not itself.
    dtype     type of the result. Without it float64, float32, complex types and integers of 16 bits and more stay, as
              NumPy's, modulo 2**n; int8 and uint8 give int32, and bfloat16, float16 and float8 give float32, the type
              of their sums. bfloat16 and float16 can give their own type too, float8 both of them. int8 and uint8 can
              give float32, int8 and uint8 (CPU only): exact sums modulo 2**32, scaled by alpha in float64, rounded once
              to nearest, ties to even; what int8 or uint8 does not hold becomes its least or largest. If the operands'
              types can't have this result, they are converted to it, where np.matmul's casting rule allows it; int8 and
              uint8 to floats alone.
    multiply_as
              "tf32": float32 operands count as rounded to 10 bits of fraction, to nearest even (CUDA only). Nothing
              else multiplies in tf32.
    engine    of host arrays: "cpu" (the default), "cuda" or "opencl", with a device as "cuda:1"
    threads   of products on the CPU: at most so many compute, instead of the number below; small products take fewer.
              0 is as without it. Results keep their bits. Each number that is used has threads of its own, which
              sleep between products
    stream    of CUDA arrays: a stream of their library, or its address. Default: their library's current stream; of
              arrays by __cuda_array_interface__ alone the one that it names, else, and by DLPack, the default stream.
              Who reads `out` on another stream must wait for this one

    Operands are read in place if rows or columns are contiguous: transposed, padded and sliced arrays and stacks that
    broadcast are not copied. Others, as those with a negative stride in a matrix or a row that broadcasts, are.

    Threads   TILEWRIGHT_THREADS or OMP_NUM_THREADS in the environment, which the first product reads; else the
              processors that the process may use.
    Error     |result - exact| <= |alpha| g(k+2) |a||b| + ..., element by element, with g(j) = j u / (1 - j u) and u the
              unit roundoff of the sums: tw_gemm in tilewright.h has all of it
    Returns   an array of the operands' own kind; plain arrays for np.matrix and other subclasses of NumPy's array. On
              CUDA it is computed on the stream and not waited for.
    Raises    ValueError (shapes, an `out` that overlaps itself) and TypeError (types; objects that are more than their
              numbers: labels of pandas, polars and pyarrow, masks, units, sparse and lazy arrays, of which
              to_numpy() or its like gives the numbers); what the library refuses is a subclass of
              tilewright.Error. In the main thread KeyboardInterrupt, or what another signal's handler raises, also
              while the product is computed; `out` is undefined then
    """
    if _calls is not None and threads is None:
        return _calls.matmul(a, b, c, alpha, beta, out, dtype, engine, stream, conjugate_a, conjugate_b, multiply_as)
    return product(a, b, c, alpha, beta, out, dtype, engine, stream, conjugate_a, conjugate_b, multiply_as, None,
                   threads)


def product(a: Any, b: Any, c: Any, alpha: Any, beta: Any, out: Any, dtype: Any, engine: Any, stream: Any,
            conjugate_a: Any, conjugate_b: Any, multiply_as: Any, key: Any, threads: Any = None) -> Any:
    """matmul without _calls.c, and what that leaves to Python, with the key that it gave the call, if it could."""
    said: Any = None
    on: Optional[Engine] = None
    if not (beta is None and dtype is None and engine is None and threads is None and conjugate_a is False and
            conjugate_b is False and multiply_as is None):
        alpha, beta, dtype, on, conjugate_a, conjugate_b, multiply_as = read(
            alpha, beta, dtype, engine, threads, conjugate_a, conjugate_b, multiply_as)
        said = (_pack(alpha.real, alpha.imag), beta if beta is None else bits(beta), dtype, on, conjugate_a,
                conjugate_b, multiply_as)
    elif alpha is not ONE:
        alpha = number("alpha", alpha)
        said = _pack(alpha.real, alpha.imag)
    if stream is None and type(a) is _ndarray and type(b) is _ndarray:
        if key is None:
            key = a.shape, a.strides, a.dtype, b.shape, b.strides, b.dtype, said
            if c is not None or out is not None:
                if (c is None or type(c) is _ndarray) and (out is None or type(out) is _ndarray):
                    key += (c is out or c is not None and (c.shape, c.strides, c.dtype),
                            out is not None and (out.shape, out.strides, out.dtype))
                else:
                    key = None
        recipe = _recipes.get(key)
        if (recipe is not None and ("logging" not in _modules or not debugging()) and
                (c is None and out is None or recipe.takes(a, b, c, out))):
            made = recipe.run(a, b, c, out)
            if made is not None:
                return made
    return _matmul(a, b, c, alpha, beta, out, dtype, on, stream, (conjugate_a, conjugate_b), multiply_as, key)


def read(alpha: Any, beta: Any, dtype: Any, engine: Any, threads: Any, conjugate_a: Any, conjugate_b: Any,
         multiply_as: Any) -> Any:
    """The options, each read once, as plain Python numbers, strings and bools."""
    return (number("alpha", alpha), None if beta is None else number("beta", beta),
            None if dtype is None else type_name(dtype), _library.engine_of(engine, threads),
            bool(conjugate_a), bool(conjugate_b), None if multiply_as is None else wants_tf32(multiply_as) and "tf32")


_pack = struct.Struct("2d").pack


def bits(x: Number) -> bytes:
    """A number for a key: -0.0 is equal to 0.0, and a NaN to none."""
    return _pack(x.real, x.imag)


def _matmul(a: Any, b: Any, c: Any, alpha: Number, beta: Optional[Number], out: Any, dtype: Optional[str],
            engine: Optional[Engine], stream: Any, conjugated: Conjugated, multiply_as: Optional[str],
            key: Any) -> Any:
    """A call without a recipe. Options as read() returns them."""
    alpha, beta = scalars(c, alpha, beta)
    tf32 = multiply_as is not None
    for operand in (a, b, c, out):
        if operand is not None and not isinstance(operand, NUMPY):
            other = elsewhere(operand)
            if other is not None:
                return other(a, b, c, alpha, beta, out, dtype, engine, stream, conjugated, tf32)
    if stream is not None:
        raise TypeError("stream is given, but the operands lie in host memory: their products are waited for")
    return on_host(a, b, c, alpha, beta, out, dtype, key, engine, conjugated, tf32)


def scalars(c: Any, alpha: Any, beta: Any) -> Tuple[Number, Number]:
    if beta is None:
        return number("alpha", alpha), 0.0 if c is None else 1.0
    scale = number("beta", beta)
    if c is None and scale != 0:
        raise ValueError(f"beta is {beta}, but there is no c that it could scale")
    return number("alpha", alpha), scale


def number(name: str, value: Any) -> Number:
    if not issubclass(type(value), (float, int, np.number)):
        check_plain(name, value)
    try:
        if type(value) is float or type(value) is int:
            return float(value)
        found = None if isinstance(value, str) else complex(value)  # which would read a string
    except (TypeError, ValueError):
        found = None
    except OverflowError:
        raise ValueError(f"{name} is beyond the largest float64, 1.8e308") from None
    if found is None:
        text = repr(value)
        raise TypeError(f"{name} is {text if len(text) < 40 and text.isprintable() else called(value)}, expected a "
                        "number")
    return found if found.imag != 0 else found.real


def wants_tf32(multiply_as: Any) -> bool:
    if multiply_as is None or isinstance(multiply_as, str) and str.__str__(multiply_as) == "tf32":
        return multiply_as is not None
    raise ValueError(f"multiply_as is {multiply_as!r}, expected None or 'tf32'")


def elsewhere(operand: Any) -> Optional[Callable[..., Any]]:
    """What multiplies an operand that is no NumPy array and does not become one; None if it does."""
    # In this order: a tensor that requires a gradient refuses to show the second with an error.
    if hasattr(operand, "__dlpack_device__") or hasattr(operand, "__cuda_array_interface__"):
        from . import _arrays

        return _arrays.matmul
    return None


# ---- NumPy ----

def array(name: str, x: Any) -> "np.ndarray[Any, Any]":
    if x is None or isinstance(x, (str, bytes)):
        raise TypeError(f"{name} is {type(x).__name__}, expected an array")
    check_plain(name, x)
    made = np.asarray(x)
    if made.ndim == 0 and made.dtype == object:  # of what NumPy reads no elements
        raise TypeError(f"{name} is {called(x)}, expected an array: {plainly(name, x)}")
    return made


def check_plain(name: str, x: object) -> None:
    """Refuse an object that is more than its numbers: labels, units, a mask, zeros that are not stored, work to be done
    later. np.matmul lets those compute that have __array_ufunc__, and @ those of a higher priority; we would multiply
    their numbers alone. A list is read as numbers, whatever it holds."""
    kind = type(x)
    if kind is _ndarray:
        return
    if isinstance(x, np.ma.MaskedArray):
        if name == "out":
            raise TypeError("out is a masked array, and the product would be written below the mask: give out.data")
        raise TypeError(f"{name} is a masked array, and the product would be of the numbers below the mask: "
                        f"multiply with np.ma.dot(), or give what stands for them, {name}.filled(0)")
    if issubclass(kind, NUMPY):
        asked = getattr(kind, "__array_ufunc__", None)
        own = issubclass(kind, _ndarray) and asked is not _ndarray.__array_ufunc__
    else:  # a priority above an array's, which is 0, says that its own operators go first
        own = any(hasattr(kind, protocol) for protocol in ("__array_ufunc__", "__array_function__"))
        priority = getattr(kind, "__array_priority__", 0)
        own |= isinstance(priority, (int, float)) and priority > 0 and hasattr(kind, "__rmatmul__")
        if not own and hasattr(kind, "columns") and hasattr(kind, "__array__"):  # polars' frames, pyarrow's tables
            raise TypeError(f"{name} is {called(x)}, whose columns have names: {plainly(name, x)}")
    if own:
        use = "use its @, or " if name in ("a", "b") and hasattr(kind, "__matmul__") else ""
        raise TypeError(f"{name} is {called(x)}, which multiplies by rules of its own: {use}{plainly(name, x)}")


def called(x: object) -> str:
    """An object's class, with its library's name, except Python's own."""
    kind = type(x)
    library = kind.__module__.partition(".")[0]
    return kind.__name__ if library == "builtins" else f"{library}'s {kind.__name__}"


# How objects of other libraries give their numbers, by what their classes have. The first counts.
WAYS = {"to_numpy": "to_numpy()", "column_names": "to_pandas().to_numpy()", "toarray": "toarray()",
        "todense": "todense()", "magnitude": "magnitude", "to_value": "to_value()", "to_dataarray": "to_dataarray()",
        "collect": "collect()", "compute": "compute()"}


def plainly(name: str, x: object) -> str:
    way = None if name == "out" else next((way for attribute, way in WAYS.items() if hasattr(type(x), attribute)), None)
    if name in ("alpha", "beta"):
        return "give its number" + (f", {name}.{way}" if way else "")
    return f"give its numbers, {name}.{way}" if way else "give an array of NumPy's"


def named(name: str) -> "np.dtype[Any]":
    """NumPy's type of this name; bfloat16 and float8 are ml_dtypes'."""
    if name in ML_DTYPES:
        try:
            import ml_dtypes
        except ImportError:
            raise TypeError(f"NumPy has no {name} of its own: install ml_dtypes") from None
        found: "np.dtype[Any]" = np.dtype(getattr(ml_dtypes, name))
        return found
    return _types[name]


# NumPy's types, and the names of them and of their classes: asking takes longer than a product of 8 x 8.
_types: Dict[str, "np.dtype[Any]"] = {name: np.dtype(name) for name in CODES if name not in ML_DTYPES}
_names: Dict[Any, str] = {x: name for name, found in _types.items() for x in (found, found.type)}


def name_of(dtype: "np.dtype[Any]") -> str:
    return _names.get(dtype) or str(dtype.name if dtype.name in CODES else dtype)


def type_name(dtype: Any) -> Optional[str]:
    """A type argument as a name: NumPy's types, their names, and those of PyTorch."""
    if dtype is None or type(dtype) is str and dtype in CODES:
        return dtype
    if type(dtype) is type or issubclass(type(dtype), np.dtype):  # with the standard comparison and hash
        known = _names.get(dtype)
        if known is not None:
            return known
    text = str.__str__(str(dtype))  # not a subclass
    if text.startswith("torch."):
        return text[6:]
    try:
        like: DTypeLike = dtype
        return text if text in CODES else str(np.dtype(like).name)
    except TypeError:
        raise TypeError(f"dtype is {dtype!r}, expected one of {', '.join(CODES)}") from None


def holder(name: str) -> str:
    """How to convert a type that has no product."""
    if name == "object":
        return "astype(float) converts it, if each element is a number; None becomes nan"
    try:
        found = {"f": "float64", "c": "complex128"}.get(np.dtype(name).kind)
    except TypeError:
        found = "float32" if name.startswith("float") else None
    return "convert it with astype()" + (f", such as {found}" if found is not None else "")


def results(operands: str, scales: bool) -> Tuple[str, ...]:
    """The types that products of these operands can have, the default first. scales: on the CPU."""
    return RESULTS.get(operands, ()) + (SCALED if scales and operands in SMALL else ())


def choose_types(a: str, b: str, wanted: Optional[str], turns: bool = False, tf32: bool = False,
                 scales: bool = False) -> Tuple[Operands, str]:
    """(the operands' types, the result's) for types by name; turns: a scalar has an imaginary part; scales: as in
    results(). TypeError names what there is no product of."""
    for operand, name in (("a", a), ("b", b)):
        if name not in RESULTS and name != "bool":
            raise TypeError(f"{operand} is {name}; there are products of float64, float32, bfloat16, float16, integers "
                            "of 8 to 64 bits, complex128, complex64 and, on CUDA, float8_e4m3fn and float8_e5m2: "
                            f"{holder(name)}")
    given, operands = Operands(a, b), Operands(a, b) if mixes(a, b) else both(common(a, b))
    if turns and operands.a in COMPLEX:
        given = operands = both(COMPLEX[operands.a])
    if wanted is None and operands.a == "bool":
        raise TypeError("a and b are bool, of which NumPy's product is a logical or: give a dtype, such as 'int32', "
                        "which counts")
    can = results(operands.a, scales)
    result = can[0] if wanted is None else wanted
    if result not in can:
        operands = both(converted(given, operands, result, can))
    if turns and not is_complex(operands.a):
        raise TypeError(f"alpha or beta has an imaginary part, and a and b are {operands}: convert them")
    if tf32 and operands != both("float32"):
        raise TypeError(f"multiply_as='tf32' multiplies float32, and a and b are {operands}: convert them with "
                        "astype()")
    return operands._replace(tf32=tf32), result


def both(name: str) -> Operands:
    return Operands(name, name)


def mixes(a: str, b: str) -> bool:
    """Whether a and b of these types are multiplied as they are."""
    return a == b or a in SMALL and b in SMALL or a in FP8 and b in FP8


def common(a: str, b: str) -> str:
    """The type that np.matmul converts both to. bfloat16 and float8 count as float32 beside integers; beside each other
    and beside float16 the one that holds both."""
    if a not in ML_DTYPES and b not in ML_DTYPES:
        return str(np.promote_types(a, b).name)
    ours, other = (a, b) if a in ML_DTYPES else (b, a)
    if other in INTEGERS:
        return str(np.promote_types("float32", other).name)
    if other == "bool" or is_complex(other):
        return ours if other == "bool" else other
    return "float32" if {a, b} == {"float16", "bfloat16"} else a if BYTES[a] > BYTES[b] else b


KINDS = "bool", "uint", "int", "float", "complex"


def kind_of(name: str) -> int:
    """A type's kind: NumPy's casting rule "same_kind" never goes to a lower one."""
    return next(place for place, kind in enumerate(KINDS) if kind in name)


def converted(given: Operands, operands: Operands, wanted: str, own: Tuple[str, ...]) -> str:
    """The type that both are converted to for a result that is none of `own`, those of `operands`: the result's, if
    np.matmul's casting rule takes what is given there. int8 and uint8 become floats alone."""
    can = sorted((x for x in RESULTS if x in RESULTS[x] and all(kind_of(y) <= kind_of(x) for y in given[:2])),
                 key=kind_of)
    if operands.a in SMALL:
        can = [x for x in can if kind_of(x) == KINDS.index("float")]
    if wanted in can:
        return wanted
    are = " or ".join(dict.fromkeys((*own, *can)))
    raise TypeError(f"the result cannot be {wanted}: products of {operands} are {are}")


def is_complex(name: str) -> bool:
    return name in ("complex128", "complex64")


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


def element_strides(x: "np.ndarray[Any, Any]") -> Optional[Tuple[int, ...]]:
    """Strides in elements. None if the library cannot read the array where it lies: odd addresses, other byte order."""
    size = x.itemsize
    strides: List[int] = []
    if not x.flags.aligned or not x.dtype.isnative:
        return None
    for stride in x.strides:
        if stride % size:
            return None
        strides.append(stride // size)
    return tuple(strides)


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
            engine: Optional[Engine], conjugated: Conjugated, tf32: bool) -> Any:
    """The product of NumPy arrays, by the long way; with a key it leaves a recipe where the short one can follow."""
    name, device = _library.engine_and_device(engine)
    a, b = array("a", a), array("b", b)
    shape = product_shape(a.shape, b.shape)
    operands, result = choose_types(name_of(a.dtype), name_of(b.dtype), wanted_type(out, dtype),
                                    alpha.imag != 0 or beta.imag != 0, tf32, name == "cpu")
    check_engine(operands, name, a, b)
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
    apart = out is None or not (_may_share(out, a) or _may_share(out, b))
    direct = out is not None and computed == result and apart and element_strides(out) is not None
    arranged = None
    if 0 not in shape and a.shape[-1] != 0:  # else strides mean nothing
        arranged = arrange(a, b, out if direct else None, shape, types)
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
        recipe = recipe_of(call, operands, types, shape, alpha, beta, name, device, engine, conjugated, copies, direct,
                           cast, lend(types, to, *(x for x, how in zip((a, b), copies) if how is None)))
        if debugging():
            tell(call, operands, computed, name, device, recipe, told)
        made = recipe.run(a, b, None, out, to)
        if key is not None and apart and not recipe.long and len(recipe.offsets or b"") < MOST_OFFSETS and all(
                x is None or x.flags.aligned and x.dtype.metadata is None for x in (a, b, c, out)):
            if len(_recipes) >= RECIPES:
                _recipes.clear()
            _recipes[key] = recipe
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


def wrong_c(found: str, result: str) -> TypeError:
    return TypeError(f"c is {found} and the result {result}: convert c with astype(), or a and b")


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
              device: int, given: Optional[Engine], conjugated: Conjugated, copies: Any = (None, None),
              direct: bool = False, cast: Optional["np.dtype[Any]"] = None, lends: bool = False) -> Recipe:
    problem = fill(call, operands, name_of(types[2]), alpha, beta, HOST, conjugated)
    batch, offsets = batch_of(call, (types[1], types[0], types[2]) if call.swapped else types)
    context = _library.context(engine, device, given and given.threads)
    long = _interrupt.takes_long(context, problem, batch)
    return Recipe(context, addressof(problem), None if batch is None else addressof(batch), offsets, call.swapped,
                  (shape, types[2]), copies[0], copies[1], direct, beta != 0, cast, problem, batch, lends and not long,
                  long)


def arrange(a: Any, b: Any, out: Any, shape: Ints, types: Any) -> Tuple[Call, Any, str, bool]:
    """The call for operands and, if it is given, an `out` of a shape; how a and b are copied first, or None; which of
    them for their strides alone, and whether the call writes into `out`."""
    strides = [element_strides(x) if x.dtype == dtype else None for x, dtype in zip((a, b), types)]
    copies = [{"dtype": dtype, "order": "C"} if found is None else None for found, dtype in zip(strides, types)]
    to, told = None if out is None else element_strides(out), ""
    while True:
        read = [contiguous(x.shape) if found is None else found for x, found in zip((a, b), strides)]
        written = contiguous(shape) if to is None else to
        try:
            return plan(a.shape, read[0], b.shape, read[1], shape, written), copies, told, to is not None
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
         conjugated: Conjugated) -> Problem:
    first, second = conjugated if is_complex(operands.a) else (False, False)  # real operands are their own
    code, code_b = operands.codes()
    if call.swapped:
        first, second, code, code_b = second, first, code_b, code
    return Problem(size=ctypes.sizeof(Problem), dtype=code, dtype_b=0 if code == code_b else code_b,
                   dtype_c=CODES[result],
                   op_a=OPS[first][call.op_a], op_b=OPS[second][call.op_b], place_a=place, place_b=place,
                   place_c=place, m=call.m, n=call.n, k=call.k, lda=call.lda, ldb=call.ldb, ldc=call.ldc,
                   alpha=alpha.real, beta=beta.real, alpha_imaginary=alpha.imag, beta_imaginary=beta.imag)


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
        "%s:%d %s -> %s, %s%s, m %d n %d k %d lda %d ldb %d ldc %d, alpha %s beta %s, batch %d%s%s%s: %s", engine,
        device, operands, result, "NTCR"[problem.op_a], "NTCR"[problem.op_b], call.m, call.n, call.k, call.lda,
        call.ldb, call.ldc, format(alpha, "g"), format(beta, "g"), recipe.batch.count if recipe.batch else 1,
        ", by address" if recipe.batch and recipe.batch.pointers else "",
        ", as the transpose of C" if call.swapped else "", f", copied {' '.join(copied)}" if copied else "",
        _plans.text(recipe.context, recipe.problem, recipe.batch))


class Plan:
    """A product that is planned once and computed often.

    >>> import numpy as np, tilewright
    >>> a, b = np.ones((2, 3)), np.ones((3, 2))
    >>> product = tilewright.Plan(a, b)
    >>> product(a, b)
    array([[3., 3.],
           [3., 3.]])
    >>> product
    <tilewright.Plan (2, 3) @ (3, 2) -> (2, 2) float64>

    a, b, c   arrays of the shapes, strides and types that later calls will have; their values are not read
    others    as in matmul. Alpha, beta, dtype, engine, threads, the conjugations and multiply_as are fixed here; the
              type of an `out` counts as dtype. A call takes a, b, c, out and stream.

    On CUDA it compiles the kernels that the product needs, with and without a workspace: the first call can then
    be captured into a CUDA graph already. A plan can be pickled and copied; its first call then prepares it.
    """

    def __class_getitem__(cls, result: Any) -> GenericAlias:
        return GenericAlias(cls, result)  # Plan[NDArray[np.float64]], as __init__.pyi has it

    def __init__(self, a: Any, b: Any, /, c: Any = None, *, alpha: complex = 1, beta: Optional[complex] = None,
                 out: Any = None, dtype: Any = None, engine: Optional[str] = None, threads: Optional[int] = None,
                 stream: Any = None, conjugate_a: bool = False, conjugate_b: bool = False,
                 multiply_as: Optional[str] = None) -> None:
        alpha, beta, dtype, on, conjugate_a, conjugate_b, self._multiply_as = read(
            alpha, beta, dtype, engine, threads, conjugate_a, conjugate_b, multiply_as)
        self._conjugated, self._with_c = (conjugate_a, conjugate_b), c is not None
        self._like = layout_of(a, "a"), layout_of(b, "b")
        self._shapes = tuple(a.shape), tuple(b.shape)
        self.shape = product_shape(*self._shapes)
        scaled = scalars(c, alpha, beta)
        self._given = *scaled, dtype, on
        self._prepare(a, b, c, out, stream)
        self._given = *scaled, self.dtype, on

    def _prepare(self, a: Any, b: Any, c: Any, out: Any, stream: Any) -> None:
        alpha, beta, dtype, engine = self._given
        tf32 = self._multiply_as is not None
        self._recipe = None
        self._into: Optional[Recipe] = None  # the same, of a call with an `out`
        self._known: Dict[bytes, Recipe] = {}  # both, as _calls.c finds them
        other = next(filter(None, (elsewhere(x) for x in (a, b, out) if not isinstance(x, NUMPY))), None)
        if other is None:
            self.dtype, recipe = prepare(a, b, c, alpha, beta, out, dtype, engine, self._conjugated, tf32)
            if recipe is not None:
                self._recipe, self._into = recipe, recipe._replace(direct=True)
        else:
            from . import _arrays

            self.dtype = _arrays.prepare(a, b, c, alpha, beta, out, dtype, engine, stream, self._conjugated, tf32)
        self._prepared = True

    def __getstate__(self) -> Dict[str, Any]:
        """For pickle and copy. A recipe holds addresses of this process: the first call prepares anew."""
        return {**vars(self), "_prepared": False, "_recipe": None, "_into": None, "_known": {}}

    def __repr__(self) -> str:
        a, b = self._shapes
        return f"<tilewright.Plan {a} @ {b} -> {self.shape} {self.dtype}>"

    def __call__(self, a: Any, b: Any, /, c: Any = None, *, out: Any = None, stream: Any = None) -> Any:
        """The planned product of these arrays. ValueError if they are not laid out as the planned ones, TypeError if
        they are of other types."""
        key = None
        if _calls is not None and stream is None:
            key = made = _calls.planned(self._known, a, b, c, out)
            if made is not None and type(made) is not bytes:
                return made
        if (layout_of(a, "a"), layout_of(b, "b")) != self._like:
            self._refuse(a, b)
        recipe = self._recipe
        if (recipe is not None and type(a) is _ndarray and type(b) is _ndarray and c is None and stream is None and
                not debugging()):
            if out is None or (type(out) is _ndarray and (out.shape, out.dtype) == recipe.made and out.flags.carray):
                recipe = recipe if out is None else self._into
                if recipe is not None and recipe.takes(a, b, None, out):
                    made = recipe.run(a, b, None, out)
                    if made is not None:
                        if key is not None:
                            self._known[key] = recipe
                        return made
        if (c is not None) != self._with_c:
            raise ValueError("the product was planned " +
                             ("with a c: pass c" if self._with_c else "without c: pass c to Plan"))
        if not self._prepared:
            self._prepare(a, b, c, None, stream)
        alpha, beta, dtype, on = self._given
        return matmul(a, b, c, alpha=alpha, beta=beta, out=out, dtype=dtype, engine=on and on.text,
                      threads=on and on.threads, stream=stream, conjugate_a=self._conjugated[0],
                      conjugate_b=self._conjugated[1], multiply_as=self._multiply_as)

    def _refuse(self, a: Any, b: Any) -> None:
        differ: List[str] = []
        kind: Type[Exception] = ValueError
        for name, x, like in zip("ab", (a, b), self._like):
            layout = layout_of(x, name)
            for what, found, planned in zip(("shape", "strides", "type"), layout, like):
                if found != planned and (what != "strides" or layout[0] != like[0] or steps(layout) != steps(like)):
                    differ.append(f"{name} has the {what} {found}, planned was {planned}")
                    kind = TypeError if what == "type" else kind
        if differ:
            raise kind("; ".join(differ) + ": plan again, or pass arrays like the planned ones")


def layout_of(x: Any, name: str) -> Tuple[Any, ...]:
    if isinstance(x, _ndarray):
        return x.shape, x.strides, x.dtype
    if not hasattr(x, "shape") or not hasattr(x, "dtype") or elsewhere(x) is None:
        check_plain(name, x)
        raise TypeError(f"{name} is {called(x)}, which is no array, and a plan is made of arrays")
    strides = x.stride() if callable(getattr(x, "stride", None)) else getattr(x, "strides", None)
    return tuple(x.shape), tuple(strides) if strides else None, str(x.dtype)


def steps(layout: Tuple[Any, ...]) -> Any:
    """The strides that mean something: of more than one element."""
    shape, strides, _ = layout
    return strides and [stride for n, stride in zip(shape, strides) if n > 1]


def prepare(a: Any, b: Any, c: Any, alpha: Number, beta: Number, out: Any, dtype: Any, engine: Optional[Engine],
            conjugated: Conjugated, tf32: bool) -> Tuple[str, Optional[Recipe]]:
    """The result's type, and the recipe of host operands if they are read in place. Computes nothing."""
    check_plain("a", a)
    check_plain("b", b)
    if isinstance(c, NUMPY) or elsewhere(c) is None:
        check_plain("c", c)
    name, device = _library.engine_and_device(engine)
    operands, result = choose_types(name_of(a.dtype), name_of(b.dtype), wanted_type(out, dtype),
                                    alpha.imag != 0 or beta.imag != 0, tf32, name == "cpu")
    check_engine(operands, name, a, b)
    shape = product_shape(a.shape, b.shape)
    if out is not None:
        check_host_out(out, shape, result)
    rounded = result in ("bfloat16", "float16") and name != "cpu"
    if c is not None or not shape or 0 in shape or a.shape[-1] == 0 or rounded:
        return result, None
    types = named(operands.a), named(operands.b), named(result)
    call, copies, _, _ = arrange(a, b, None, shape, types)
    if any(copies) or call.batch and not at_strides(call):
        return result, None
    recipe = recipe_of(call, operands, types, shape, alpha, beta, name, device, engine, conjugated,
                       lends=lend(types, a, b))
    if recipe.batch is None:
        done(lib.tw_prepare(recipe.context, recipe.at_problem))
    else:
        done(lib.tw_prepare_batched(recipe.context, recipe.at_problem, recipe.at_batch))
    return result, None if recipe.long else recipe


def begin(calls: Any, long_way: Any = product) -> None:
    """Gives the module of _calls.c what it works with."""
    calls.begin(" ".join(Recipe._fields[:-4]), *(ctypes.cast(x, ctypes.c_void_p).value for x in (_gemm, _gemm_batched)),
                (_ndarray, _empty, np.array, np.copyto, {"casting": "same_kind"}, {"casting": "unsafe"}, _recipes,
                 long_way, done, debugging, (*_types, *_names)))


def extension() -> Any:
    """The module of _calls.c, beside these files or the library; None where all calls go by ctypes: TILEWRIGHT_CTYPES,
    a Python before 3.11, a build without Python's headers, and a Python without the stable ABI, as a free-threaded one."""
    if os.environ.get("TILEWRIGHT_CTYPES") or sys.version_info < (3, 11):
        return None
    package = __name__.rpartition(".")[0]
    path = sys.modules[package].__path__
    beside = [os.path.dirname(_library.FILE)] if os.sep in _library.FILE else []
    path.extend(beside)
    try:
        calls = importlib.import_module(f"{package}._calls")
        begin(calls)
    except ModuleNotFoundError:
        return None
    except ImportError as error:
        warnings.warn(f"calls go by ctypes: {error}", RuntimeWarning)
        return None
    finally:
        del path[len(path) - len(beside):]  # libtilewright.so is no module
    return calls


_calls = extension()
