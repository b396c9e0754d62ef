"""Fast matrix multiplication for NumPy, PyTorch, CuPy and other arrays, on the CPU, CUDA and OpenCL.

>>> import numpy as np, tilewright
>>> tilewright.matmul(np.array([[1., 2., 3.], [4., 5., 6.]]), np.array([[1., 0.], [0., 1.], [1., 1.]]))
array([[ 4.,  5.],
       [10., 11.]])

matmul and Plan multiply, Packed is an operand of many products, and threads limits on how many threads, as
threadpoolctl may; devices, ladder, bench and explain measure and describe, tune finds faster parameters; `python -m
tilewright` is the program. Which kernel a product takes goes to the logger "tilewright", at level DEBUG.
TILEWRIGHT_LIBRARY names another libtilewright.so.0.
"""
from typing import TYPE_CHECKING, Any, List

from ._errors import (BadArgument, BuildFailed, Cancelled, CheckFailed, DeviceFailed, Error, NoDevice, NoKernel,
                      OutOfMemory)
from ._library import __version__
from ._matmul import Plan, matmul
from ._packed import Packed
from ._threads import register_threadpoolctl, threads

if TYPE_CHECKING:
    from ._lab import Records, bench, devices, explain, ladder, tune

__all__ = ["BadArgument", "BuildFailed", "Cancelled", "CheckFailed", "DeviceFailed", "Error", "NoDevice", "NoKernel",
           "OutOfMemory", "Packed", "Plan", "Records", "__version__", "bench", "devices", "explain", "ladder", "matmul",
           "register_threadpoolctl", "threads", "tune"]


def __getattr__(name: str) -> Any:
    """What the program does: whoever only multiplies does not wait for what starts it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import _lab

    return globals().setdefault(name, getattr(_lab, name))


def __dir__() -> List[str]:
    return sorted({*globals(), *__all__})
