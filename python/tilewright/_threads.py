"""A limit for the threads of products on the CPU."""
from __future__ import annotations

from contextlib import contextmanager
from operator import index
from typing import Iterator, List

from ._library import done, lib

__all__: List[str] = []


@contextmanager
def threads(most: int) -> Iterator[None]:
    """At most so many threads for each product on the CPU that begins inside the block; 0: as many as without a limit.

    >>> import numpy as np, tilewright
    >>> with tilewright.threads(1):
    ...     tilewright.matmul(np.ones((2, 3)), np.ones((3, 1)))
    array([[3.],
           [3.]])

    The limit is the process's: products of other threads have it too. Behind the block stands the one from before it.
    Results keep their bits.

    Raises    ValueError (less than 0, more than 4096), TypeError (no whole number)
    """
    before, wanted = lib.tw_threads_get(), index(most)
    done(lib.tw_threads_set(max(-1, min(wanted, 4097))))
    try:
        yield
    finally:
        lib.tw_threads_set(before)
