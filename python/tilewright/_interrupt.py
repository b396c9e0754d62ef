"""Ctrl-C in products that take long.

CPython's signal handler makes a note, and the main thread raises KeyboardInterrupt when it interprets again: behind
a product. So a long product of the main thread is computed by a thread of the library, while the main thread asks the
interpreter every so often. No bytecode runs meanwhile, in which an exception could get in between.
"""
from __future__ import annotations

import ctypes
import threading
from ctypes import Structure, c_int, c_void_p
from typing import Any, Callable, List, Optional

from . import _library
from ._library import Batch, Problem, lib

__all__: List[str] = []

# Multiply-adds of a thread, or elements in all, that a processor is busy with for some 10 ms. A thread of its own takes
# less than a hundredth of that.
THREAD_WORK, ELEMENTS = 1 << 29, 1 << 27
MILLISECONDS = 50


class Watch(Structure):
    _fields_ = [("milliseconds", c_int), ("leave", c_void_p), ("enter", c_void_p), ("asks", c_void_p)]


def watched() -> Optional[Callable[..., int]]:
    """tw_lab_gemm_watched, called with the interpreter's lock; None where the interpreter has no such functions."""
    python: Any = getattr(ctypes, "pythonapi", None)
    try:
        pointers = [ctypes.cast(getattr(python, name), c_void_p).value
                    for name in ("PyEval_SaveThread", "PyEval_RestoreThread", "PyErr_CheckSignals")]
    except AttributeError:
        return None
    found = ctypes.PyDLL(_library.FILE).tw_lab_gemm_watched
    watch = Watch(MILLISECONDS, *pointers)
    found.argtypes, found.restype = [c_void_p] * 6 + [c_void_p], c_int
    return lambda *arguments: found(*arguments, ctypes.byref(watch))


_watched = watched()


def takes_long(context: Optional[int], problem: Problem, batch: Optional[Batch]) -> bool:
    count = 1 if batch is None else batch.count
    m, n, k = problem.m, problem.n, problem.k
    if count * (m * k + k * n + m * n) >= ELEMENTS:
        return True
    if count * m * n * k < THREAD_WORK:
        return False
    device = _library.Device(size=ctypes.sizeof(_library.Device))
    return bool(lib.tw_describe(context, ctypes.byref(device)) == 0 and
                count * m * n * k >= THREAD_WORK * device.threads)


def compute(context: Optional[int], problem: Problem, batch: Optional[Batch], a: int, b: int, c: int) -> int:
    """The product at these addresses; returns the status. Raises what a signal handler does, and C is undefined."""
    at, at_batch = ctypes.addressof(problem), None if batch is None else ctypes.addressof(batch)
    if _watched is not None and threading.current_thread() is threading.main_thread():
        return _watched(context, at, at_batch, a, b, c)
    status: int = (lib.tw_gemm(context, at, a, b, c) if batch is None else
                   lib.tw_gemm_batched(context, at, at_batch, a, b, c))
    return status
