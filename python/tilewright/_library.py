"""Finds and loads libtilewright.so.0, and declares what include/tilewright.h declares.

Nothing here changes after import but the logger, which is the same for all, and the table of open contexts, which has a
lock of its own: free-threaded interpreters need no more.
"""
from __future__ import annotations

import ctypes
import os
import re
import sys
import threading
from ctypes import (POINTER, Structure, c_char, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t, c_uint32,
                    c_void_p)
from operator import index
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from ._errors import raise_for

__all__: List[str] = []

__version__ = "0.2.0"
SONAME = "libtilewright.so.0"
FOLDER = os.path.dirname(os.path.abspath(__file__))


# ---- the structs, each with its size first: the library takes a caller's older, shorter layout ----

class Device(Structure):
    _fields_ = [("size", c_uint32), ("index", c_int32), ("engine", c_char * 16), ("name", c_char * 96),
                ("instruction_set", c_char * 32), ("threads_from", c_char * 64), ("threads", c_int32),
                ("reserved", c_int32), ("memory_bytes", c_int64), ("l1_bytes", c_int64), ("l2_bytes", c_int64),
                ("l3_bytes", c_int64)]


class Options(Structure):
    _fields_ = [("size", c_uint32), ("device", c_int32), ("engine", c_char_p), ("instruction_set", c_char_p),
                ("threads", c_int32), ("device_context", c_void_p)]


class Problem(Structure):
    _fields_ = [("size", c_uint32), ("dtype", c_int), ("dtype_c", c_int), ("op_a", c_int), ("op_b", c_int),
                ("place_a", c_int), ("place_b", c_int), ("place_c", c_int), ("m", c_int64), ("n", c_int64),
                ("k", c_int64), ("lda", c_int64), ("ldb", c_int64), ("ldc", c_int64), ("alpha", c_double),
                ("beta", c_double), ("align_a", c_uint32), ("align_b", c_uint32), ("align_c", c_uint32),
                ("reserved", c_uint32), ("dtype_b", c_int), ("flags", c_uint32), ("accuracy", c_uint32),
                ("scale_kind", c_uint32), ("alpha_imaginary", c_double), ("beta_imaginary", c_double),
                ("scale_a", c_void_p), ("scale_b", c_void_p), ("scale_c", c_void_p), ("epilogue", c_void_p)]


class Batch(Structure):
    _fields_ = [("size", c_uint32), ("pointers", c_uint32), ("count", c_int64), ("stride_a", c_int64),
                ("stride_b", c_int64), ("stride_c", c_int64)]


class Launch(Structure):
    _fields_ = [("size", c_uint32), ("reserved", c_uint32), ("stream", c_void_p), ("workspace", c_void_p),
                ("workspace_bytes", c_int64)]


class Binding(Structure):
    _fields_ = [("size", c_uint32), ("dtype", c_int), ("name", c_char_p), ("at", c_void_p), ("stride", c_int64),
                ("ld", c_int64), ("value", c_double)]


STRUCTS = {"tw_device": Device, "tw_options": Options, "tw_problem": Problem, "tw_batch": Batch, "tw_launch": Launch,
           "tw_binding": Binding}

# tw_dtype by NumPy's names, and the types of C that go with each: the first is the default.
CODES = {"float64": 1, "float32": 2, "float16": 3, "bfloat16": 4, "int8": 5, "int32": 6, "complex64": 7,
         "complex128": 8, "float8_e4m3fn": 10, "float8_e5m2": 11, "uint8": 12, "int16": 13, "int64": 14,
         "uint16": 13, "uint32": 6, "uint64": 14}
TF32 = 9  # of float32 operands that count as rounded
RESULTS = {"float64": ("float64",), "float32": ("float32",), "float16": ("float32", "float16"),
           "bfloat16": ("float32", "bfloat16"), "float8_e4m3fn": ("float32", "bfloat16", "float16"),
           "float8_e5m2": ("float32", "bfloat16", "float16"), "int8": ("int32",), "uint8": ("int32",),
           "complex64": ("complex64",), "complex128": ("complex128",), "int16": ("int16",), "int32": ("int32",),
           "int64": ("int64",), "uint16": ("uint16",), "uint32": ("uint32",), "uint64": ("uint64",)}
BYTES = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "int8": 1, "int32": 4, "complex64": 8,
         "complex128": 16, "float8_e4m3fn": 1, "float8_e5m2": 1, "uint8": 1, "int16": 2, "int64": 8, "uint16": 2,
         "uint32": 4, "uint64": 8}
# The complex type whose parts hold a type's numbers.
COMPLEX = {"float64": "complex128", "complex128": "complex128", "float32": "complex64", "float16": "complex64",
           "bfloat16": "complex64", "float8_e4m3fn": "complex64", "float8_e5m2": "complex64",
           "complex64": "complex64"}
SMALL, FP8 = ("int8", "uint8"), ("float8_e4m3fn", "float8_e5m2")  # of each, a may be one and b the other
SCALED = ("float32",) + SMALL  # what their sums become by a scale, rounded once (CPU only)
MODULAR = ("int16", "int32", "int64", "uint16", "uint32", "uint64")  # products as NumPy's, modulo 2**n (CPU only)
INTEGERS = SMALL + MODULAR
ML_DTYPES = ("bfloat16",) + FP8  # types of the package ml_dtypes, which NumPy has not
HOST, DEVICE = 0, 1
INVARIANT, PACKED_B = 4, 8  # in a problem's flags
EMULATED = 1  # its accuracy


# ---- the file ----

def checkout() -> Optional[str]:
    """The source tree in which this package lies, or None."""
    root = os.path.dirname(os.path.dirname(FOLDER))
    return root if os.path.exists(os.path.join(root, "include", "tilewright.h")) else None


def candidates(name: str, inside: str) -> List[str]:
    """Files of this name: the wheel's own, and a source tree's."""
    root = checkout()
    return [os.path.join(FOLDER, inside, name)] + ([os.path.join(root, "build", name)] if root else [])


def load() -> Tuple[ctypes.CDLL, str]:
    """The library and its file name. ImportError says what was tried."""
    named = os.environ.get("TILEWRIGHT_LIBRARY")
    tried: List[str] = []
    for name in [named] if named else candidates(SONAME, "lib") + [SONAME]:
        if os.sep in name and not os.path.exists(name):
            tried.append(f"{name}: no such file")
            continue
        try:
            return check(ctypes.CDLL(name), name), name
        except OSError as error:
            tried.append(str(error) if name in str(error) else f"{name}: {error}")
    if named:
        raise ImportError(f"TILEWRIGHT_LIBRARY is {named}, expected the file of {SONAME}: {'; '.join(tried)}")
    raise ImportError(f"tilewright found no {SONAME}. Tried: {'; '.join(tried)}. Build it (./dev build), or set "
                      "TILEWRIGHT_LIBRARY to its file.")


def check(library: ctypes.CDLL, name: str) -> ctypes.CDLL:
    """Refuses what is not the library, or one of another minor version, with which this package was not tested."""
    try:
        library.tw_version.restype = c_char_p
        found, wanted = library.tw_version().decode(), __version__
    except AttributeError:
        raise ImportError(f"{name} is not Tilewright's library: it has no tw_version") from None
    if found.split(".")[:2] != wanted.split(".")[:2]:
        raise ImportError(f"{name} is version {found}; this package, {wanted}, needs {wanted.rsplit('.', 1)[0]}.x")
    return library


lib, FILE = load()

_context_and_problem = [c_void_p, c_void_p]
_operands = [c_void_p, c_void_p, c_void_p]
for _name, _types in {
        "tw_devices": [c_void_p, c_int32, POINTER(c_int32)],
        "tw_open": [c_void_p, POINTER(c_void_p)],
        "tw_close": [c_void_p],
        "tw_describe": [c_void_p, c_void_p],
        "tw_gemm": _context_and_problem + _operands,
        "tw_gemm_batched": _context_and_problem + [c_void_p] + _operands,
        "tw_enqueue": _context_and_problem + _operands + [c_void_p],
        "tw_enqueue_batched": _context_and_problem + [c_void_p] + _operands + [c_void_p],
        "tw_workspace_bytes": _context_and_problem + [POINTER(c_int64)],
        "tw_workspace_bytes_batched": _context_and_problem + [c_void_p, POINTER(c_int64)],
        "tw_prepare": _context_and_problem,
        "tw_prepare_batched": _context_and_problem + [c_void_p],
        "tw_epilogue_make": [c_char_p, c_void_p, c_size_t, POINTER(c_void_p)],
        "tw_epilogue_free": [c_void_p],
        "tw_b_pack": _context_and_problem + [c_void_p, POINTER(c_void_p)],
        "tw_b_free": [c_void_p],
        "tw_threads_set": [c_int32],
        "tw_threads_get": []}.items():
    getattr(lib, _name).argtypes = _types
    getattr(lib, _name).restype = c_int
lib.tw_close.restype = lib.tw_epilogue_free.restype = lib.tw_b_free.restype = None
lib.tw_error_text.restype = c_char_p


def done(status: int) -> None:
    """Raises for any status but TW_OK, with the library's sentence. Call it in the thread of the failed call."""
    if status:
        raise_for(status, lib.tw_error_text().decode(errors="replace"))


_logger: Any = None


def debugging() -> bool:
    """Whether somebody listens to the logger "tilewright" at level DEBUG. Who does has imported logging."""
    global _logger
    if _logger is None:
        if "logging" not in sys.modules:
            return False
        import logging

        _logger = logging.getLogger("tilewright")
    listens: bool = _logger.isEnabledFor(10)
    return listens


# ---- contexts: one for each engine, device and number of threads, opened at first use, open until the end ----

_contexts: Dict[Tuple[str, int, int], int] = {}
MOST_THREADS = 4096
_lock = threading.Lock()


def after_fork() -> None:
    """A driver's state does not survive a fork, and another thread may have held the lock."""
    global _lock
    _lock = threading.Lock()
    _contexts.clear()


os.register_at_fork(after_in_child=after_fork)


class Engine(NamedTuple):
    """The options `engine` and `threads`, of which one is given."""

    text: Optional[str]
    threads: Optional[int]


def engine_of(text: Any, threads: Any) -> Optional[Engine]:
    if text is None and threads is None:
        return None
    if text is not None and not isinstance(text, str):
        raise TypeError(f"engine is {text!r}, expected 'cpu', 'cuda' or 'opencl', or one with a device as 'cuda:1'")
    return Engine(None if text is None else str.__str__(text),  # not a subclass
                  None if threads is None else thread_count("threads", threads))


def thread_count(name: str, given: Any) -> int:
    try:
        count = index(given)
    except TypeError:
        raise TypeError(f"{name} is {given!r}, expected a whole number") from None
    if not 0 <= count <= MOST_THREADS:
        raise ValueError(f"{name} is {count}, expected 0 to {MOST_THREADS} threads")
    return count


def engine_and_device(engine: Optional[Engine]) -> Tuple[str, int]:
    """"cuda:1" as ("cuda", 1); None and "auto" are the cpu."""
    text = engine.text if engine else None
    name, colon, number = (text or "cpu").partition(":")
    if colon and not re.fullmatch("[0-9]{1,9}", number):
        raise ValueError(f"engine is {text!r}, expected a name such as 'cuda', or a name and a device as 'cuda:1'")
    if engine and engine.threads is not None and name not in ("cpu", "auto"):
        raise ValueError(f"threads is {engine.threads}, but the engine is {text!r}: expected 'cpu'")
    return ("cpu" if name == "auto" else name), int(number or 0)


def context(engine: str, device: int, threads: Optional[int] = None) -> Optional[int]:
    """The handle of a context; None, the library's default, for the cpu with as many threads as it finds."""
    key = engine, device, threads or 0
    if key == ("cpu", 0, 0):
        return None
    handle = _contexts.get(key)
    if handle is None:
        with _lock:
            handle = _contexts.get(key)
            if handle is None:
                if engine == "cuda":
                    load_nvrtc()
                options = Options(size=ctypes.sizeof(Options), device=device, engine=engine.encode(), threads=key[2])
                made = c_void_p()
                done(lib.tw_open(ctypes.byref(options), ctypes.byref(made)))
                handle = _contexts[key] = made.value or 0
    return handle


def load_nvrtc() -> None:
    """Loads CUDA's compiler from PyPI's packages, which PyTorch and CuPy bring: the library then finds it by its
    name. The system's, and the one that TILEWRIGHT_NVRTC names, go first."""
    if os.environ.get("TILEWRIGHT_NVRTC"):
        return
    import glob
    import importlib.util

    for version in (13, 12):
        try:
            ctypes.CDLL(f"libnvrtc.so.{version}")
            return
        except OSError:
            pass
    spec = importlib.util.find_spec("nvidia")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        for file in sorted(glob.glob(os.path.join(folder, "*", "lib", "libnvrtc.so.1[23]")), reverse=True):
            try:
                ctypes.CDLL(file)
                return
            except OSError:
                pass
