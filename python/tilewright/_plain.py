"""What is read as numbers: scalars, arrays, and not objects that are more than their numbers."""
from __future__ import annotations

import struct
from typing import Any, List, Optional, Tuple, Union

import numpy as np

__all__: List[str] = []

_ndarray = np.ndarray
NUMPY = np.ndarray, np.generic
Number = Union[float, complex]  # complex where it has an imaginary part, else float
_pack = struct.Struct("2d").pack


def bits(x: Number) -> bytes:
    """A number for a key: -0.0 is equal to 0.0, and a NaN to none."""
    return _pack(x.real, x.imag)


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


def array(name: str, x: Any) -> "np.ndarray[Any, Any]":
    if x is None or isinstance(x, (str, bytes)):
        raise TypeError(f"{name} is {type(x).__name__}, expected an array")
    check_plain(name, x)
    made = np.asarray(x)
    if made.ndim == 0 and made.dtype == object:  # of what NumPy reads no elements
        raise TypeError(f"{name} is {called(x)}, expected an array: {plainly(name, x)}")
    return made


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


def shows_memory(x: Any) -> bool:
    """Whether an array of another library's shows where it lies."""
    # In this order: a tensor that requires a gradient refuses to show the second with an error.
    return hasattr(x, "__dlpack_device__") or hasattr(x, "__cuda_array_interface__")
