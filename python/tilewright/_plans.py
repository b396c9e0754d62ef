"""The planner's choice in one line, for logging at level DEBUG.

It asks tw_lab_plan_of, which promises nothing from one release to the next: a library without it, or of another
version than this package, gives no line.
"""
from __future__ import annotations

import ctypes
from ctypes import POINTER, Structure, addressof, byref, c_char, c_char_p, c_int, c_int64, c_void_p
from typing import List, Optional

from ._library import Batch, Problem, __version__, lib

__all__: List[str] = []


class LabChoice(Structure):
    _fields_ = [("kernel", c_char_p), ("tile", c_int), ("threads", c_int), ("default_build", c_int),
                ("source", c_void_p), ("batch", c_void_p)]


class LabPlan(Structure):
    _fields_ = [("kernel", POINTER(c_char_p)), ("tile", c_int), ("threads", c_int), ("block_m", c_int64),
                ("block_n", c_int64), ("block_k", c_int64), ("workspace_bytes", c_int64), ("block_threads", c_int),
                ("text", c_char * 256), ("reason", c_char * 600), ("tuned", c_char * 600)]


STRUCTS = {"tw_lab_choice": LabChoice, "tw_lab_plan": LabPlan}
known = lib.tw_version().decode() == __version__ and hasattr(lib, "tw_lab_plan_of")
if known:
    lib.tw_lab_plan_of.argtypes, lib.tw_lab_plan_of.restype = [c_void_p] * 4, c_int


def text(context: Optional[int], problem: Problem, batch: Optional[Batch]) -> str:
    """The plan as the library prints it; "" where it says none."""
    if not known:
        return ""
    plan = LabPlan()
    choice = LabChoice(batch=addressof(batch) if batch is not None else None)
    if lib.tw_lab_plan_of(context, byref(choice), byref(problem), byref(plan)):
        return ""
    kernel = plan.kernel[0].decode() if plan.kernel else ""
    return f"{kernel}: {ctypes.string_at(plan.text).decode()}"
