#!/usr/bin/python3 -B
"""test_several_gpus.py - tools/several_gpus.py on two devices of the fake CUDA driver, with NumPy in PyTorch's place.

    test_several_gpus.py [--list] [--only TEXT] [PROGRAM]

Prints TAP. Needs NumPy: without it all is skipped.
"""
import ctypes
import json
import os
import subprocess
import sys

from support.program import BUILD, ROOT, clean_environment, sanitized
from support.tap import Skip, case, main

FAKES = os.path.join(BUILD, "tests", "fakes")
try:
    import numpy as np
except ImportError:
    np = None
else:
    sys.path.insert(0, os.path.join(ROOT, "tools"))
    import gpu_arrays
    import several_gpus as tool


class Numpy:
    """What Torch of the tool does, in the fake driver's memory."""

    types, join = {"f32": "f4", "f64": "f8"}, staticmethod(lambda parts: np.concatenate(parts))
    name, cublas = "fake", "libcublas.so.of-no-machine"

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


def on_the_fake_driver(*words, status=0, plant="", **fakes):
    """Output, standard error and records of the tool in a process of its own. `plant` is done before."""
    if os.path.exists("records"):
        os.remove("records")
    text = (f"import sys; sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r})\nimport test_several_gpus as test\n"
            f"asked = test.tool.parsed(sys.argv[1:])\ntest.tool.TYPES.pop('bf16')\narrays = test.Numpy(asked.devices)\n{plant}\n"
            "sys.exit(test.tool.measure(arrays, asked) > 0)")
    fake = {"FAKE_CUDA": "product=1 sm=75 gpus=2 order=7", **fakes}
    done = subprocess.run([sys.executable, "-B", "-c", text, *words, "--json", "records"], capture_output=True, text=True, timeout=120, check=False,
                          env=clean_environment(LD_LIBRARY_PATH=os.path.join(FAKES, "cuda"), TILEWRIGHT_LIBRARY=os.path.join(BUILD, "libtilewright.so.0"),
                                                TILEWRIGHT_NVRTC=os.path.join(FAKES, "nvrtc", "libnvrtc.so.13"), **fake))
    assert done.returncode == status, f"exit {done.returncode}: {done.stdout}{done.stderr}"
    records = [json.loads(line) for line in open("records", encoding="utf-8")] if os.path.exists("records") else []
    return done.stdout, done.stderr, records


@case
def the_parts_are_computed_and_verified():
    out, err, records = on_the_fake_driver("a", "c", "d", "e", "--size", "600", "--turns", "2")
    assert err == "", err  # no part failed
    lines = out.splitlines()[2:]
    told = [(line[0], line[10:15].strip()) for line in lines]
    assert told == [("a", "f32")] * 3 + [("a", "f64")] * 3 + [("c", "f32")] * 3 + [("d", "f32")] * 2 + [("e", "f32")] * 2 + [("e", "f64")] * 2 + [("e", "f32")] * 2, out
    assert all("the same" in line for line in lines if line[0] == "e"), out
    assert sum("cuBLASXt" in line and "left out: " in line for line in lines) == 2, out
    timed = [record for record in records if "gflops" in record]
    assert [(r["part"], r["m"]) for r in timed] == [("a", 600)] * 6 + [("c", 600), ("d", 600), ("d", 300)], timed
    assert all(0 <= r["error_ratio"] <= 1 and 0 < r["min_s"] <= r["median_s"] and r["samples"] == 2 for r in timed), timed
    assert all(r["error_ratio"] > 0 for r in timed if r["dtype"] == "f32"), timed  # f64's sums may be those that judge it
    assert all(r["ours_by_it"] == 1 for r in timed if r["name"].startswith("tilewright, 2 GPUs")), timed


@case
def what_is_wrong_ends_a_part_and_not_the_others():
    """One element, of the exact product alone or of the random one alone, of the last block; and bits of a second call."""
    wrong = "run = test.tool.Call.run\ndef planted(call, *words):\n    time = run(call, *words)\n    %s\n    return time\ntest.tool.Call.run = planted"
    exact = "if float(call.a[0, 0]).is_integer(): call.blocks[-1][17, 23] += 1"
    _, err, _ = on_the_fake_driver("a", "d", "--size", "600", "--turns", "1", plant=wrong % exact, status=1)
    assert "part a: f32 tilewright, 2 GPUs: 1 of 600 rows of C are wrong" in err and "part d: f32 tilewright, one GPU" in err, err
    random = "if not float(call.a[0, 0]).is_integer(): call.blocks[-1][0, 0] += 1"
    _, err, _ = on_the_fake_driver("a", "--size", "600", "--turns", "1", plant=wrong % random, status=1)
    assert "part a: f32 tilewright, 2 GPUs: an element is " in err, err
    unwritten = "if not float(call.a[0, 0]).is_integer(): call.blocks[0][-1, -1] = np.nan"
    _, err, _ = on_the_fake_driver("a", "--size", "600", "--turns", "1", plant="import numpy as np\n" + wrong % unwritten, status=1)
    assert "part a: f32 tilewright, 2 GPUs: an element is nan bounds off" in err, err
    bits = "if call.name == '': call.blocks[0][5, 5] *= -1"
    out, err, records = on_the_fake_driver("e", "--size", "600", plant=wrong % bits, status=1)
    assert "1 of 360000 elements differ" in out and "part e: f32 on 2 GPUs twice: 1 of 360000 elements differ" in err, out + err
    assert records[0]["elements_that_differ"] == 1, records


@case
def a_driver_that_fails_is_told():
    out, err, records = on_the_fake_driver("a", "c", "--size", "1100", "--turns", "1", status=1, FAKE_CUDA="product=1 sm=75 gpus=2 lost=1 after=1")
    assert "part a: " in err and "part c: " in err and records == [], out + err


@case
def both_checks_see_one_element():
    arrays = type("Arrays", (Numpy,), {"__init__": lambda self: None})()
    for letter in ("f32", "f64"):
        a, b = (np.empty((300, 300), arrays.types[letter]) for _ in "ab")
        for integers in (True, False):
            arrays.draw(a, 1, integers), arrays.draw(b, 2, integers)
            c = (a.astype("f8") @ b.astype("f8")).astype(a.dtype)
            blocks = [c[:128], c[128:]]
            if integers:
                assert gpu_arrays.wrong_rows(arrays, a, b, blocks) == 0
            assert gpu_arrays.worst_error(arrays, a, b, blocks, letter) <= 1
            for row, column in ((0, 0), (127, 299), (128, 0), (299, 299)):
                for planted in (c[row, column] + 1, np.nan, np.inf):
                    kept, c[row, column] = c[row, column], planted
                    assert gpu_arrays.wrong_rows(arrays, a, b, blocks) == 1 or not integers, (letter, row, column, planted)
                    assert not gpu_arrays.worst_error(arrays, a, b, blocks, letter) <= 1, (letter, row, column, planted)
                    c[row, column] = kept


@case
def wrong_words_are_told():
    for words, said in ((["f"], "invalid choice: 'f'"), ([], "PART"), (["a", "--devices", "x"], "--devices"), (["a", "--turns", "few"], "--turns")):
        done = subprocess.run([sys.executable, "-B", os.path.join(ROOT, "tools", "several_gpus.py"), *words], capture_output=True, text=True, check=False)
        assert done.returncode == 2 and said in done.stderr, (words, done.stderr)
    done = subprocess.run([sys.executable, "-B", os.path.join(ROOT, "tools", "several_gpus.py"), "--help"], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "PyTorch with CUDA" in done.stdout, done.stdout + done.stderr


def prepare():
    if np is None:
        raise Skip("NumPy is not here")
    if sanitized():
        raise Skip("Python cannot load a library built with sanitizers")


if __name__ == "__main__":
    main(prepare)
