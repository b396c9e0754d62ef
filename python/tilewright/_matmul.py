"""matmul and Plan: products of NumPy arrays, and the way to those of other libraries."""
from __future__ import annotations

import ctypes
import importlib
import os
import sys
import warnings
from types import GenericAlias
from typing import Any, Callable, Dict, List, Optional, Tuple, Type

import numpy as np

from . import _library
from ._dtypes import NAMES, TYPES, type_name
from ._epilogue import epilogue_of
from ._host import Flags, Recipe, on_host, prepare, recipes
from ._layout import product_shape
from ._library import Engine, debugging, done, lib
from ._plain import NUMPY, Number, bits, called, check_plain, number, shows_memory

__all__ = ["matmul", "Plan"]

_empty, _ndarray, _modules = np.empty, np.ndarray, sys.modules
_gemm, _gemm_batched = lib.tw_gemm, lib.tw_gemm_batched
ONE = 1


def matmul(a: Any, b: Any, /, c: Any = None, *, alpha: complex = 1, beta: Optional[complex] = None, out: Any = None,
           dtype: Any = None, engine: Optional[str] = None, threads: Optional[int] = None, stream: Any = None,
           conjugate_a: bool = False, conjugate_b: bool = False, multiply_as: Optional[str] = None,
           invariant: bool = False, accuracy: Optional[str] = None, epilogue: Optional[str] = None,
           **operands: Any) -> Any:
    """alpha a @ b + beta c, by np.matmul's rules for shapes; with an epilogue, what this makes of each element.

    >>> import numpy as np, tilewright
    >>> tilewright.matmul(np.array([[1., 2.], [3., 4.]]), np.array([1., 1.]))
    array([3., 7.])
    >>> tilewright.matmul(np.ones((2, 3), np.int8), np.ones((3, 2), np.int8), np.eye(2, dtype=np.int32))
    array([[4, 3],
           [3, 4]], dtype=int32)
    >>> tilewright.matmul(np.array([[1 + 1j, 2]]), np.array([[1j], [1]]), conjugate_b=True)
    array([[3.-1.j]])
    >>> tilewright.matmul(np.ones((2, 3)), np.ones((3, 2)), epilogue="relu(acc + bias[j])", bias=np.array([-5., 1.]))
    array([[0., 4.],
           [0., 4.]])

    a, b      NumPy arrays, or what makes one; PyTorch tensors, CuPy arrays and others that speak
              __cuda_array_interface__ or DLPack, on the CPU or on CUDA. Vectors, matrices, and stacks of matrices that
              broadcast. float64, float32, float16, bfloat16, int8, uint8; int16 to int64, uint16 to uint64,
              complex128 and complex64 (CPU and CUDA); ml_dtypes' float8_e4m3fn and float8_e5m2 (CUDA only). Two types
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
    invariant
              The bits of a row of the result depend on this row of a and c, as converted, on b and the scalars alone:
              not on other rows, batches, strides, addresses, threads, or how many devices compute. On the CPU every
              product is so, except complex ones into an `out` in order F. An `out` in order F is then copied into. On
              CUDA k is not divided, which takes longer where the result has few rows and columns. NoKernel is raised
              for float8, for floats on OpenCL, on a GPU before sm_90 for bfloat16, float16 and "tf32", and before
              sm_80 for float64.
    accuracy  "emulated": on a GPU of sm_90 (Hopper) float32 and complex64 may be computed from float16 products, within
              the error bound below: up to 4.7 times as fast as cuBLAS. No effect elsewhere, nor with `invariant`. Bits
              may depend on neighbouring rows and columns. "native", None: never.
    epilogue  an expression, computed in the same pass. Its value becomes the element of the result in row i and column
              j, rounded once to the result's type (operands in host memory):

                  acc             alpha a @ b + beta c, of float64 in float64, of other types rounded to float32
                  i, j            row and column, from 0 in each matrix of a stack, and 0 of a vector
                  name            a number, or an array of one element
                  name[i]         an element of a vector, which has one for each row; name[j]: for each column
                  name[i, j]      an element of a matrix of the result's shape; name[j, i]: of its transpose's
                  + - * / < <= > >= == !=, brackets, numbers
                  abs min max where sqrt exp log tanh erf neg rsqrt clamp relu sigmoid silu gelu gelu_tanh

              It takes float64, float32, bfloat16 and float16, and int8 and uint8 with the dtype float32, int8 or uint8.
              An `out` in order F is then copied into. tw_epilogue_make in tilewright.h has all of it.
    operands  What the epilogue's names stand for, as further keywords: numbers, and arrays in host memory, of the kinds
              that a and b may be of. A name is none of the arguments here. All matrices of a stack share the operands,
              and `out` may overlap them. float32, bfloat16 and float16 are read where they lie; where the sums are
              float64, so are float64 and float32. Other real types are converted to that of the sums, by a copy, and
              what repeats elements by a stride of 0, or does not lie at whole elements, is copied too.
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
              Of an epilogue see docs/ACCURACY.md.
    Returns   an array of the operands' own kind; plain arrays for np.matrix and other subclasses of NumPy's array. On
              CUDA it is computed on the stream and not waited for.
    Raises    ValueError (shapes, an `out` that overlaps itself, an epilogue's text) and TypeError (types; objects that
              are more than their numbers: labels of pandas, polars and pyarrow, masks, units, sparse and lazy arrays,
              of which to_numpy() or its like gives the numbers); what the library refuses is a subclass of
              tilewright.Error. In the main thread KeyboardInterrupt, or what another signal's handler raises, also
              while the product is computed; `out` is undefined then
    """
    if epilogue is not None or operands:
        return with_epilogue(a, b, c, alpha, beta, out, dtype, engine, threads, stream, conjugate_a, conjugate_b,
                             multiply_as, invariant, accuracy, epilogue_of("matmul", epilogue, operands))
    if _calls is not None and threads is None and accuracy is None:
        return _calls.matmul(a, b, c, alpha, beta, out, dtype, engine, stream, conjugate_a, conjugate_b, multiply_as,
                             invariant)
    return product(a, b, c, alpha, beta, out, dtype, engine, stream, conjugate_a, conjugate_b, multiply_as,
                   invariant, None, threads, accuracy)


def product(a: Any, b: Any, c: Any, alpha: Any, beta: Any, out: Any, dtype: Any, engine: Any, stream: Any,
            conjugate_a: Any, conjugate_b: Any, multiply_as: Any, invariant: Any, key: Any, threads: Any = None,
            accuracy: Any = None) -> Any:
    """matmul without _calls.c, and what that leaves to Python, with the key that it gave the call, if it could."""
    said: Any = None
    on: Optional[Engine] = None
    flags: Any = ()
    if not (beta is None and dtype is None and engine is None and threads is None and conjugate_a is False and
            conjugate_b is False and multiply_as is None and invariant is False and accuracy is None):
        alpha, beta, dtype, on, flags = read(alpha, beta, dtype, engine, threads, conjugate_a, conjugate_b,
                                             multiply_as, invariant, accuracy)
        said = bits(alpha), beta if beta is None else bits(beta), dtype, on, flags
    elif alpha is not ONE:
        alpha = number("alpha", alpha)
        said = bits(alpha)
    if stream is None and type(a) is _ndarray and type(b) is _ndarray:
        if key is None:
            key = a.shape, a.strides, a.dtype, b.shape, b.strides, b.dtype, said
            if c is not None or out is not None:
                if (c is None or type(c) is _ndarray) and (out is None or type(out) is _ndarray):
                    key += (c is out or c is not None and (c.shape, c.strides, c.dtype),
                            out is not None and (out.shape, out.strides, out.dtype))
                else:
                    key = None
        recipe = recipes.get(key)
        if (recipe is not None and ("logging" not in _modules or not debugging()) and
                (c is None and out is None or recipe.takes(a, b, c, out))):
            made = recipe.run(a, b, c, out)
            if made is not None:
                return made
    return _matmul(a, b, c, alpha, beta, out, dtype, on, stream, Flags(*flags), key)


def with_epilogue(a: Any, b: Any, c: Any, alpha: Any, beta: Any, out: Any, dtype: Any, engine: Any, threads: Any,
                  stream: Any, conjugate_a: Any, conjugate_b: Any, multiply_as: Any, invariant: Any, accuracy: Any,
                  epilogue: Any) -> Any:
    """matmul with an epilogue of its own, which ends with the call."""
    try:
        alpha, beta, dtype, on, flags = read(alpha, beta, dtype, engine, threads, conjugate_a, conjugate_b,
                                             multiply_as, invariant, accuracy)
        return _matmul(a, b, c, alpha, beta, out, dtype, on, stream, Flags(*flags)._replace(epilogue=epilogue), None)
    finally:
        epilogue.free()


def read(alpha: Any, beta: Any, dtype: Any, engine: Any, threads: Any, conjugate_a: Any, conjugate_b: Any,
         multiply_as: Any, invariant: Any, accuracy: Any) -> Any:
    """The options, each read once, as plain Python numbers, strings and bools, of which Flags are made."""
    return (number("alpha", alpha), None if beta is None else number("beta", beta),
            None if dtype is None else type_name(dtype), _library.engine_of(engine, threads),
            (bool(conjugate_a), bool(conjugate_b), multiply_as is not None and wants_tf32(multiply_as),
             bool(invariant), accuracy is not None and wants_emulated(accuracy)))


def _matmul(a: Any, b: Any, c: Any, alpha: Number, beta: Optional[Number], out: Any, dtype: Optional[str],
            engine: Optional[Engine], stream: Any, flags: Flags, key: Any) -> Any:
    """A call without a recipe. Options as read() returns them, and Flags of them."""
    alpha, beta = scalars(c, alpha, beta)
    for operand in (a, b, c, out):
        if operand is not None and not isinstance(operand, NUMPY):
            other = elsewhere(operand)
            if other is not None:
                return other(a, b, c, alpha, beta, out, dtype, engine, stream, flags)
    if stream is not None:
        raise TypeError("stream is given, but the operands lie in host memory: their products are waited for")
    return on_host(a, b, c, alpha, beta, out, dtype, key, engine, flags)


def scalars(c: Any, alpha: Any, beta: Any) -> Tuple[Number, Number]:
    if beta is None:
        return number("alpha", alpha), 0.0 if c is None else 1.0
    scale = number("beta", beta)
    if c is None and scale != 0:
        raise ValueError(f"beta is {beta}, but there is no c that it could scale")
    return number("alpha", alpha), scale


def wants_tf32(multiply_as: Any) -> bool:
    if isinstance(multiply_as, str) and str.__str__(multiply_as) == "tf32":
        return True
    raise ValueError(f"multiply_as is {multiply_as!r}, expected None or 'tf32'")


def wants_emulated(accuracy: Any) -> bool:
    if isinstance(accuracy, str) and str.__str__(accuracy) in ("native", "emulated"):
        return str.__str__(accuracy) == "emulated"
    raise ValueError(f"accuracy is {accuracy!r}, expected None, 'native' or 'emulated'")


def elsewhere(operand: Any) -> Optional[Callable[..., Any]]:
    """What multiplies an operand that is no NumPy array and does not become one; None if it does."""
    if shows_memory(operand):
        from . import _arrays

        return _arrays.matmul
    return None


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
    others    as in matmul. Alpha, beta, dtype, engine, threads, the conjugations, multiply_as, invariant, accuracy, the
              epilogue and its operands are fixed here; the type of an `out` counts as dtype. A call takes a, b, c, out
              and stream.
    operands  The plan keeps them alive. A call reads the values that they have then; of numbers, and of what matmul
              copies, it takes those of planning.

    On CUDA it compiles the kernels that the product needs, with and without a workspace: the first call can then
    be captured into a CUDA graph already. A plan can be pickled and copied; its first call then prepares it.
    """

    def __class_getitem__(cls, result: Any) -> GenericAlias:
        return GenericAlias(cls, result)  # Plan[NDArray[np.float64]], as __init__.pyi has it

    def __init__(self, a: Any, b: Any, /, c: Any = None, *, alpha: complex = 1, beta: Optional[complex] = None,
                 out: Any = None, dtype: Any = None, engine: Optional[str] = None, threads: Optional[int] = None,
                 stream: Any = None, conjugate_a: bool = False, conjugate_b: bool = False,
                 multiply_as: Optional[str] = None, invariant: bool = False, accuracy: Optional[str] = None,
                 epilogue: Optional[str] = None, **operands: Any) -> None:
        finish = epilogue_of("Plan", epilogue, operands)
        alpha, beta, dtype, on, flags = read(alpha, beta, dtype, engine, threads, conjugate_a, conjugate_b,
                                             multiply_as, invariant, accuracy)
        self._flags, self._with_c = Flags(*flags)._replace(epilogue=finish), c is not None
        self._like = layout_of(a, "a"), layout_of(b, "b")
        self._shapes = tuple(a.shape), tuple(b.shape)
        self.shape = product_shape(*self._shapes)
        scaled = scalars(c, alpha, beta)
        self._given = *scaled, dtype, on
        try:
            self._prepare(a, b, c, out, stream)
        except BaseException:
            if finish is not None:
                finish.free()
            raise
        self._given = *scaled, self.dtype, on

    def _prepare(self, a: Any, b: Any, c: Any, out: Any, stream: Any) -> None:
        alpha, beta, dtype, engine = self._given
        self._recipe = None
        self._into: Optional[Recipe] = None  # the same, of a call with an `out`
        self._known: Dict[bytes, Recipe] = {}  # both, as _calls.c finds them
        other = next(filter(None, (elsewhere(x) for x in (a, b, out) if not isinstance(x, NUMPY))), None)
        if other is None:
            self.dtype, recipe = prepare(a, b, c, alpha, beta, out, dtype, engine, self._flags)
            if recipe is not None:
                self._recipe, self._into = recipe, recipe._replace(direct=True)
        else:
            from . import _arrays

            self.dtype = _arrays.prepare(a, b, c, alpha, beta, out, dtype, engine, stream, self._flags)
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
                        if key is not None and (out is None or recipe.epilogue is None):  # with which it may overlap
                            self._known[key] = recipe
                        return made
        if (c is not None) != self._with_c:
            raise ValueError("the product was planned " +
                             ("with a c: pass c" if self._with_c else "without c: pass c to Plan"))
        if not self._prepared:
            self._prepare(a, b, c, None, stream)
        (alpha, beta, dtype, on), flags = self._given, self._flags
        if flags.epilogue is not None:
            return _matmul(a, b, c, alpha, beta, out, dtype, on, stream, flags, None)
        return matmul(a, b, c, alpha=alpha, beta=beta, out=out, dtype=dtype, engine=on and on.text,
                      threads=on and on.threads, stream=stream, conjugate_a=flags.conjugate_a,
                      conjugate_b=flags.conjugate_b, multiply_as="tf32" if flags.tf32 else None,
                      invariant=flags.invariant, accuracy="emulated" if flags.emulated else None)

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


def begin(calls: Any, long_way: Any = product) -> None:
    """Gives the module of _calls.c what it works with."""
    calls.begin(" ".join(Recipe._fields[:-5]), *(ctypes.cast(x, ctypes.c_void_p).value for x in (_gemm, _gemm_batched)),
                (_ndarray, _empty, np.array, np.copyto, {"casting": "same_kind"}, {"casting": "unsafe"}, recipes,
                 long_way, done, debugging, (*TYPES, *NAMES)))


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
