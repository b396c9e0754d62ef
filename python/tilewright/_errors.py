"""The exceptions: one for each status of the library, each with the library's sentence."""
from __future__ import annotations

from typing import Dict, List, NoReturn, Optional, Type

__all__: List[str] = []


class Error(Exception):
    """A call of the library failed. `str(error)` is the library's sentence, `error.status` its tw_status."""

    status: Optional[int] = None


class BadArgument(Error, ValueError):
    """An argument is not valid: nothing was written."""

    status = 1


class NoDevice(Error):
    """The named engine or device is not usable here: nothing was written."""

    status = 2


class NoKernel(Error):
    """No kernel fits this problem on this device: nothing was written."""

    status = 3


class BuildFailed(Error):
    """A kernel could not be compiled for the device: nothing was written."""

    status = 4


class OutOfMemory(Error, MemoryError):
    """Host or device memory ran out."""

    status = 5


class DeviceFailed(Error, RuntimeError):
    """The device or its driver failed while running: the result is undefined."""

    status = 6


class Cancelled(Error):
    """tw_cancel() has ended the call: the result is undefined."""

    status = 7


class CheckFailed(Error):
    """The program ended with 1: a product is wrong or was not checked, or a measurement is impossible here."""


_by_status: Dict[int, Type[Error]] = {
    kind.status: kind for kind in (BadArgument, NoDevice, NoKernel, BuildFailed, OutOfMemory, DeviceFailed, Cancelled)
    if kind.status is not None}

for _kind in (Error, CheckFailed, *_by_status.values()):
    _kind.__module__ = "tilewright"  # the name that users import, in tracebacks too


def raise_for(status: int, sentence: str) -> NoReturn:
    """Raises the exception of a status."""
    kind = _by_status.get(status)
    if kind is None:
        error = Error(sentence or f"status {status}")
        error.status = status
        raise error
    raise kind(sentence)
