#!/usr/bin/python3 -B
"""test_several_gpus.py - tools/several_gpus.py on two devices of the fake CUDA driver, with NumPy in PyTorch's place.

    test_several_gpus.py [--list] [--only TEXT] [PROGRAM]

Prints TAP. Needs NumPy: without it all is skipped.
"""
import contextlib
import ctypes
import importlib.util
import io
import json
import os
import subprocess
import sys

from support.program import BUILD, ROOT, clean_environment
from support.tap import Skip, case, main

TOOL = os.path.join(ROOT, "tools", "several_gpus.py")
FAKES = os.path.join(BUILD, "tests", "fakes")
try:
    import numpy as np
except ImportError:
    np = None
else:
    specification = importlib.util.spec_from_file_location("several_gpus", TOOL)
    tool = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(tool)


class Numpy:
    """What Torch of the tool does, in the fake driver's memory."""

    types, join, name = {"f32": "f4", "f64": "f8"}, staticmethod(lambda parts: np.concatenate(parts)), "fake"

    def __init__(self, devices):
        self.devices, self.driver, self.contexts = devices, ctypes.CDLL("libcuda.so.1"), {}
        assert self.driver.cuInit(0) == 0
        for device in devices:
            self.contexts[device] = ctypes.c_void_p()
            assert self.driver.cuDevicePrimaryCtxRetain(ctypes.byref(self.contexts[device]), device) == 0

    def empty(self, rows, columns, letter, device, pinned=False):
        if device == tool.HOST and not pinned:
            return np.empty((rows, columns), self.types[letter])
        at, size = ctypes.c_void_p(), rows * columns * np.dtype(self.types[letter]).itemsize
        if device == tool.HOST:
            assert self.driver.cuMemHostAlloc(ctypes.byref(at), ctypes.c_size_t(size), 0) == 0
        else:
            assert self.driver.cuCtxPushCurrent_v2(self.contexts[device]) == 0
            assert self.driver.cuMemAlloc_v2(ctypes.byref(at), ctypes.c_size_t(size)) == 0
            assert self.driver.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p())) == 0
        return np.frombuffer((ctypes.c_char * size).from_address(at.value), self.types[letter]).reshape(rows, columns)

    def address(self, x):
        return x.ctypes.data

    def draw(self, x, seed, integers):
        rng = np.random.default_rng(seed)
        x[:] = rng.integers(-7, 8, x.shape) if integers else rng.uniform(-1, 1, x.shape)

    def f64(self, x):
        return x.astype("f8")

    def factors(self, n):
        return np.random.default_rng(3).integers(-512, 512, (n, 2)).astype("f8")

    def nan(self, x):
        x[:] = np.nan

    def same(self, x, y):
        return int((x.view(f"i{x.itemsize}") != y.view(f"i{y.itemsize}")).sum())

    def wait(self):
        pass

    def free(self):
        pass

    def gathered_product(self, a, b, whole_b, c):
        first = 0
        for block in b:
            for full in whole_b:
                full[first:first + len(block)] = block
            first += len(block)
        for left, full, out in zip(a, whole_b, c):
            np.matmul(left, full, out=out)


def on_the_fake_driver(*words, status=0, **fakes):
    """Output, standard error and records of the tool in a process of its own."""
    if os.path.exists("records"):
        os.remove("records")
    text = (f"import sys; sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r}); import test_several_gpus as test\n"
            "asked = test.tool.parsed(sys.argv[1:]); test.tool.TYPES.pop('bf16'); sys.exit(test.tool.measure(test.Numpy(asked.devices), asked) > 0)")
    fake = {"FAKE_CUDA": "product=1 sm=75 gpus=2 order=last", **fakes}
    done = subprocess.run([sys.executable, "-B", "-c", text, *words, "--json", "records"], capture_output=True, text=True, timeout=120, check=False,
                          env=clean_environment(LD_LIBRARY_PATH=os.path.join(FAKES, "cuda"), TILEWRIGHT_LIBRARY=os.path.join(BUILD, "libtilewright.so.0"),
                                                TILEWRIGHT_NVRTC=os.path.join(FAKES, "nvrtc", "libnvrtc.so.13"), **fake))
    assert done.returncode == status, f"exit {done.returncode}: {done.stdout}{done.stderr}"
    records = [json.loads(line) for line in open("records", encoding="utf-8")] if os.path.exists("records") else []
    return done.stdout, done.stderr, records


@case
def each_part_runs_and_is_verified():
    out, err, records = on_the_fake_driver("a", "d", "e", "--size", "1100", "--turns", "2")
    print(out, err)


if __name__ == "__main__":
    main()
