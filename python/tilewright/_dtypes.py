"""Which types are multiplied, as what, and of what type the product is."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Optional, Tuple

import numpy as np

from ._library import BYTES, CODES, COMPLEX, FP8, INTEGERS, ML_DTYPES, RESULTS, SCALED, SMALL, TF32

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

__all__: List[str] = []


class Operands(NamedTuple):
    """As what a and b are multiplied: types by name. tf32: both are float32, and count as rounded to tf32."""

    a: str
    b: str
    tf32: bool = False

    def __str__(self) -> str:
        return "tf32" if self.tf32 else self.a if self.a == self.b else f"{self.a} @ {self.b}"

    def codes(self) -> Tuple[int, int]:
        return (TF32, TF32) if self.tf32 else (CODES[self.a], CODES[self.b])


def named(name: str) -> "np.dtype[Any]":
    """NumPy's type of this name; bfloat16 and float8 are ml_dtypes'."""
    if name in ML_DTYPES:
        try:
            import ml_dtypes
        except ImportError:
            raise TypeError(f"NumPy has no {name} of its own: install ml_dtypes") from None
        found: "np.dtype[Any]" = np.dtype(getattr(ml_dtypes, name))
        return found
    return TYPES[name]


# NumPy's types, and the names of them and of their classes: asking takes longer than a product of 8 x 8.
TYPES: Dict[str, "np.dtype[Any]"] = {name: np.dtype(name) for name in CODES if name not in ML_DTYPES}
NAMES: Dict[Any, str] = {x: name for name, found in TYPES.items() for x in (found, found.type)}


def name_of(dtype: "np.dtype[Any]") -> str:
    return NAMES.get(dtype) or str(dtype.name if dtype.name in CODES else dtype)


def type_name(dtype: Any) -> Optional[str]:
    """A type argument as a name: NumPy's types, their names, and those of PyTorch."""
    if dtype is None or type(dtype) is str and dtype in CODES:
        return dtype
    if type(dtype) is type or issubclass(type(dtype), np.dtype):  # with the standard comparison and hash
        known = NAMES.get(dtype)
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
    return "float32" if BYTES[a] == BYTES[b] else a if BYTES[a] > BYTES[b] else b


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


def wrong_c(found: str, result: str) -> TypeError:
    return TypeError(f"c is {found} and the result {result}: convert c with astype(), or a and b")
