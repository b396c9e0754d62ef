"""A limit for the threads of products on the CPU."""
from __future__ import annotations

from contextlib import AbstractContextManager, contextmanager
from operator import index
from threading import Lock
from typing import Dict, Generator, List

from ._library import done, lib

__all__: List[str] = []

MOST = 4096
_lock = Lock()
_blocks: Dict[object, int] = {}  # those that are open, the newest last, and their limits
_outside = 0  # the limit without them


def threads(most: int) -> AbstractContextManager[None]:
    """At most so many threads for each product on the CPU that begins inside the block; 0: as many as without a limit.

    >>> import numpy as np, tilewright
    >>> with tilewright.threads(1):
    ...     tilewright.matmul(np.ones((2, 3)), np.ones((3, 1)))
    array([[3.],
           [3.]])

    The limit is the process's: products of other threads have it too. After the block the limit from before it holds
    again; of blocks that overlap in several threads, that of the newest still open. Results keep their bits.

    Raises    ValueError (less than 0, more than 4096), TypeError (no whole number)
    """
    wanted = index(most)
    if not 0 <= wanted <= MOST:
        raise ValueError(f"most is {wanted}, expected 0 to {MOST} threads")
    return _limited(wanted)


@contextmanager
def _limited(most: int) -> Generator[None, None, None]:
    global _outside
    block = object()
    with _lock:
        if not _blocks:
            _outside = lib.tw_threads_get()
        _blocks[block] = most
        done(lib.tw_threads_set(most))
    try:
        yield
    finally:
        with _lock:
            del _blocks[block]
            lib.tw_threads_set(next(reversed(_blocks.values()), _outside))
