"""Epilogues: the text that matmul and Plan are given, and what its names stand for."""
from __future__ import annotations

import ctypes
import re
from ctypes import byref, c_void_p
from typing import Any, Dict, Iterable, List, Optional

import numpy as np

from ._dtypes import Operands, name_of, named
from ._layout import Ints
from ._library import CODES, ML_DTYPES, SCALED, SMALL, Binding, done, lib
from ._plain import NUMPY, array, called, element_strides, number, shows_memory

__all__: List[str] = []

# A name in a text, with a bracket behind it, which makes it a function's, or with its index.
USE = re.compile(r"(?<![\w.])([A-Za-z_]\w*)(?:\s*(\()|\s*\[\s*([ij])\s*(?:,\s*([ij])\s*)?\])?", re.ASCII)
# The types of operands that are read as they are, by the type of the sums: the others become that type.
READ = {"float32": ("float32", "float16", "bfloat16"), "float64": ("float64", "float32")}
SUMS = {"float64": "float64", "float32": "float32", "float16": "float32", "bfloat16": "float32", "int8": "float32",
        "uint8": "float32", "float8_e4m3fn": "float32", "float8_e5m2": "float32"}
MOST_BINDINGS = 16  # the library refuses more before it looks at one
BINDINGS = Binding * MOST_BINDINGS


class Epilogue:
    """A text with its operands. The first bind() makes it the library's, for products of one shape and type."""

    def __init__(self, text: str, operands: Dict[str, Any]) -> None:
        self._made: List[Any] = []  # handles, with the arrays that they read; two, if two threads bind at once
        self.text, self.operands = text, operands
        # (name, its indices) of each use of what is no function
        self.uses = [(name, [x for x in index if x]) for name, bracket, *index in USE.findall(text) if not bracket]
        self.reads_rows = any(name == "i" or "i" in index for name, index in self.uses)
        self.handle: Optional[int] = None
        self.arrays: List[Any] = []

    def __reduce__(self) -> Any:
        """For pickle and copy: a handle holds addresses of this process."""
        return Epilogue, (self.text, self.operands)

    def bind(self, operands: Operands, result: str, a: Ints, b: Ints) -> None:
        """Makes the handle for a product of these types and shapes; raises what is wrong with text or operands."""
        if self.handle is not None:
            return
        sums = SUMS.get(operands.a)
        if sums is None or operands.a in SMALL and result not in SCALED:
            advice = ("give the dtype float32, int8 or uint8" if sums else
                      "convert a and b to float64, float32, bfloat16, float16, int8 or uint8")
            raise TypeError(f"an epilogue makes no {result} of products of {operands}: {advice}")
        values = {name: operand(name, x, sums) for name, x in self.operands.items()}
        bindings = BINDINGS(*(binding(*each) for each in list(values.items())[:MOST_BINDINGS]))
        if "\0" in self.text:
            raise ValueError(f"epilogue, column {self.text.index(chr(0)) + 1}: found byte 0x00")
        made = c_void_p()
        done(lib.tw_epilogue_make(self.text.encode(errors="replace"), bindings, len(values), byref(made)))
        self._made.append((made, values))
        self._check(values, {"i": a[-2] if len(a) > 1 else 1, "j": b[-1] if len(b) > 1 else 1})
        self.operands = values  # a copy of a plan has those of its planning, too
        self.arrays = [x for x in values.values() if isinstance(x, np.ndarray)]
        self.handle = made.value

    def _check(self, values: Dict[str, Any], extents: Dict[str, int]) -> None:
        """What the library cannot know. Its parser took the text."""
        unused = self.operands.keys() - {name for name, _ in self.uses}
        if unused:
            raise TypeError(f"{unexpected(sorted(unused))}, which the epilogue does not name")
        for name, index in self.uses:
            x = values.get(name)
            if not isinstance(x, np.ndarray):
                continue
            found, wanted = x.shape, tuple([extents[each] for each in index])
            if not index and x.size != 1:
                raise ValueError(f"{name} has the shape {found}, and the epilogue reads it without an index, as one "
                                 f"number: {name}[j] has an element for each column of the product, {name}[i] for each "
                                 f"row, {name}[i, j] for both")
            if index and found != wanted:
                raise ValueError(f"{name} has the shape {found}, and the epilogue's {name}[{', '.join(index)}] needs "
                                 f"{wanted}")

    def may_share(self, out: Any) -> bool:
        """Whether writing into `out` may change an operand."""
        return any(np.may_share_memory(out, x) for x in self.arrays)

    def free(self) -> None:
        """Frees what bind() made, when no product uses it."""
        self.handle = None
        while self._made:
            lib.tw_epilogue_free(self._made.pop()[0])

    __del__ = free


def epilogue_of(caller: str, text: Any, operands: Dict[str, Any]) -> Optional[Epilogue]:
    """Of the option, and of the keywords that are no options."""
    if text is None and not operands:
        return None
    if text is None:
        raise TypeError(f"{caller}() got {unexpected(operands)}, and no epilogue")
    if not isinstance(text, str):
        raise TypeError(f"epilogue is {called(text)}, expected a string such as 'relu(acc + bias[j])'")
    return Epilogue(str.__str__(text), operands)


def unexpected(names: Iterable[str]) -> str:
    each = [repr(name) for name in names]
    return f"{'an ' if len(each) == 1 else ''}unexpected keyword argument{'s'[:len(each) - 1]} {', '.join(each)}"


def operand(name: str, x: Any, sums: str) -> Any:
    """A number as a float; or an array in host memory, of a type and in a layout that the library reads."""
    if isinstance(x, (int, float, complex, np.generic)):
        x = number(name, x)
        if isinstance(x, complex):
            raise TypeError(f"{name} is {x}, expected a real number")
        return x
    if isinstance(x, NUMPY) or not shows_memory(x):
        x = array(name, x)
    else:
        from . import _arrays, _families

        if _families.on_cuda(x):
            raise TypeError(f"{name} lies in CUDA's memory, and the product in the host's: copy it to the host's")
        x = _arrays.host_view(x, name)
    found = name_of(x.dtype)
    if found not in READ[sums]:
        if x.dtype.kind not in "biuf" and found not in ML_DTYPES:
            raise TypeError(f"{name} is {found}, expected real numbers")
        return x.astype(sums, order="C")
    steps = element_strides(x)
    if steps is None or any(step == 0 and n > 1 for step, n in zip(steps, x.shape)):
        return np.array(x, named(found), order="C")
    return x


def binding(name: str, x: Any) -> Binding:
    made = Binding(size=ctypes.sizeof(Binding), name=name.encode(errors="replace"))
    if isinstance(x, float):
        made.value = x
        return made
    steps = element_strides(x)
    assert steps is not None
    made.dtype, made.at = CODES[name_of(x.dtype)], x.__array_interface__["data"][0]
    made.stride, made.ld = steps[-1] if steps else 0, steps[-2] if len(steps) > 1 else 0
    made.ld = made.ld or 1  # of one row or none; whether there are two indices is checked above
    return made
