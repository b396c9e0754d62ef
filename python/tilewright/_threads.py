"""A limit for the threads of products on the CPU, and how threadpoolctl finds it."""
from __future__ import annotations

import ctypes
import importlib
import sys
from contextlib import AbstractContextManager, ContextDecorator
from threading import Lock
from typing import Any, Dict, List

from ._library import SONAME, Device, done, lib, thread_count

__all__: List[str] = []

_lock = Lock()
_blocks: Dict[object, int] = {}  # those that are open, the newest last, and their limits
_outside = 0  # the limit without them


def threads(most: int) -> Limit:
    """At most so many threads for each product on the CPU that begins inside the block; 0: as many as without a limit.

    >>> import numpy as np, tilewright
    >>> with tilewright.threads(1):
    ...     tilewright.matmul(np.ones((2, 3)), np.ones((3, 1)))
    array([[3.],
           [3.]])

    The limit is the process's: products of other threads have it too. After the block the limit from before it holds
    again; of blocks that overlap in several threads, that of the newest still open. Results keep their bits. What is
    returned limits nothing by itself; several blocks may begin with it, and it decorates a function whose calls are
    such blocks.

    Raises    ValueError (less than 0, more than 4096), TypeError (no whole number)
    """
    return Limit(thread_count("most", most))


class Limit(ContextDecorator, AbstractContextManager[None]):
    """What threads() returns. A block may begin inside another of the same limit, or beside it in another thread."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: List[object] = []

    def __enter__(self) -> None:
        global _outside
        block = object()
        with _lock:
            if not _blocks:
                _outside = lib.tw_threads_get()
            done(lib.tw_threads_set(self._most))
            _blocks[block] = self._most
            self._open.append(block)

    def __exit__(self, *_: object) -> None:
        with _lock:
            del _blocks[self._open.pop()]
            lib.tw_threads_set(next(reversed(_blocks.values()), _outside))


# ---- threadpoolctl ----

_registered: List[Any] = []  # with these modules


def register_threadpoolctl() -> bool:
    """Lets threadpoolctl, from 3.2 on, find the library and limit its threads, as those of a BLAS.

    >>> import tilewright
    >>> tilewright.register_threadpoolctl()  # doctest: +SKIP
    True

    Where threadpoolctl was imported first, `import tilewright` does so. False: this threadpoolctl is older, and takes
    nobody else's library.
    """
    module: Any = importlib.import_module("threadpoolctl")
    if not hasattr(module, "register"):
        return False
    if module not in _registered:
        module.register(type("Controller", (module.LibController,), {
            "user_api": "blas", "internal_api": "tilewright", "filename_prefixes": (SONAME.rpartition(".")[0],),
            "check_symbols": ("tw_threads_set",), "get_version": get_version, "get_num_threads": get_num_threads,
            "set_num_threads": set_num_threads}))
        _registered.append(module)
    return True


def default_threads() -> int:
    """Of a product without `threads` or a limit; 1 where the environment is wrong, as the first product will say."""
    device = Device(size=ctypes.sizeof(Device))
    return int(device.threads) if lib.tw_describe(None, ctypes.byref(device)) == 0 else 1


def get_version(_: Any) -> str:
    return str(lib.tw_version().decode())


def get_num_threads(_: Any) -> int:
    limit, threads = int(lib.tw_threads_get()), default_threads()
    return limit if 0 < limit < threads else threads


def set_num_threads(_: Any, num_threads: int) -> None:
    """As many as there are is no limit: then a block of threadpoolctl's leaves none behind."""
    lib.tw_threads_set(0 if num_threads >= default_threads() else max(num_threads, 1))


if "threadpoolctl" in sys.modules:
    register_threadpoolctl()
