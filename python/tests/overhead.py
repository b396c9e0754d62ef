#!/usr/bin/env python3
"""overhead.py - what a call of tilewright.matmul costs beside NumPy's, by the extension and by ctypes, and what
importing the package costs behind NumPy: docs/perf/python.md.

    PYTHONPATH=python python3 -B python/tests/overhead.py [--size N] [--rounds N]

The library is that of build/ (./dev build), or of TILEWRIGHT_LIBRARY: $PWD/build/ci/libtilewright.so.0.
Microseconds of the thread's processor time for one product of N x N float64 (8), on one thread, so that other work on
the machine counts little: the median of the rounds (31), in each of which all calls come in turns, 300 times each, and
in brackets half the distance of their quartiles. Imports are new processes, in turns too, of which the first writes the
bytecode. Without the extension its column is empty.
"""
import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("TILEWRIGHT_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np  # noqa: E402
import tilewright  # noqa: E402
from tilewright import _host, _library, _matmul  # noqa: E402

CALLS = 300
IMPORT = """
import time
begin = time.process_time()
import numpy
middle = time.process_time()
import tilewright
print(middle - begin, time.process_time() - middle)
"""


def cases(n):
    """What is called: NumPy's way and ours."""
    rng = np.random.default_rng(1)
    a, b, c, v, w = *rng.standard_normal((3, n, n)), *rng.standard_normal((2, n))
    out, fortran, single = np.zeros((n, n)), np.zeros((n, n), order="F"), b.astype(np.float32)
    fixed, stack, rows = b.copy(), rng.standard_normal((10, n, n)), rng.standard_normal((3, 1, n, n))
    fixed.flags.writeable = False
    multiply, plan, recipes = tilewright.matmul, tilewright.Plan(a, b), _host.recipes

    def accumulate():
        nonlocal out
        out += np.matmul(a, b)

    def unseen():
        recipes.clear()
        multiply(a, b)

    return {
        "a @ b": (lambda: np.matmul(a, b), lambda: multiply(a, b)),
        "a @ b, by a Plan": (lambda: np.matmul(a, b), lambda: plan(a, b)),
        "a @ b, out=": (lambda: np.matmul(a, b, out=out), lambda: multiply(a, b, out=out)),
        "a @ b, out=, by a Plan": (lambda: np.matmul(a, b, out=out), lambda: plan(a, b, out=out)),
        "a @ b.T": (lambda: np.matmul(a, b.T), lambda: multiply(a, b.T)),
        "a @ b, b read-only": (lambda: np.matmul(a, fixed), lambda: multiply(a, fixed)),
        "a @ v": (lambda: np.matmul(a, v), lambda: multiply(a, v)),
        "10 products at strides": (lambda: np.matmul(stack, stack), lambda: multiply(stack, stack)),
        "2.5 a @ b": (lambda: 2.5 * np.matmul(a, b), lambda: multiply(a, b, alpha=2.5)),
        "out += a @ b": (accumulate, lambda: multiply(a, b, out, out=out)),
        "a @ b + c": (lambda: np.matmul(a, b) + c, lambda: multiply(a, b, c)),
        "a @ b, out= in order F": (lambda: np.matmul(a, b, out=fortran), lambda: multiply(a, b, out=fortran)),
        "a @ b, b float32": (lambda: np.matmul(a, single), lambda: multiply(a, single)),
        "v @ w": (lambda: np.matmul(v, w), lambda: multiply(v, w)),
        "a @ b[::-1]": (lambda: np.matmul(a, b[::-1]), lambda: multiply(a, b[::-1])),
        "10 matrices @ b": (lambda: np.matmul(stack, b), lambda: multiply(stack, b)),
        "3 x 10 broadcast": (lambda: np.matmul(rows, stack), lambda: multiply(rows, stack)),
        "a layout not seen before": (lambda: np.matmul(a, b), unseen),
    }


def spread(samples, scale=1.0):
    low, middle, high = statistics.quantiles(samples, n=4)
    return f"{middle * scale:6.2f} ({(high - low) / 2 * scale:.2f})"


def seconds(call):
    call()
    begin = time.thread_time()
    for _ in range(CALLS):
        call()
    return (time.thread_time() - begin) / CALLS


def print_calls(n, rounds):
    ways = ("NumPy", None), ("extension", _matmul._calls), ("ctypes", None)
    times = {}
    for _ in range(rounds):
        for name, (theirs, ours) in cases(n).items():
            for way, calls in ways:
                if way == "extension" and calls is None:
                    continue
                before, _matmul._calls = _matmul._calls, calls
                times.setdefault((name, way), []).append(seconds(theirs if way == "NumPy" else ours))
                _matmul._calls = before
    print(f"{n} x {n} float64, us{'NumPy':>20}{'extension':>16}{'ctypes':>16}   extension - NumPy")
    for name in cases(n):
        line = [spread(times[name, way], 1e6) if (name, way) in times else "-" for way, _ in ways]
        ours, theirs = times.get((name, "extension"), [float("nan")]), times[name, "NumPy"]
        more = statistics.median(ours) - statistics.median(theirs)
        print(f"{name:25}" + "".join(f"{each:>16}" for each in line) + f"{more * 1e6:16.2f}")


def print_imports(rounds):
    """Of a copy beside which bytecode may be written, as an installed package has it."""
    with tempfile.TemporaryDirectory(prefix="tilewright.") as folder:
        shutil.copytree(_library.FOLDER, f"{folder}/tilewright", ignore=shutil.ignore_patterns("__pycache__"))
        environment = {**os.environ, "PYTHONPATH": folder, "TILEWRIGHT_LIBRARY": _library.FILE}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        times = {"NumPy": [], "extension": [], "ctypes": []}
        for number in range(rounds + 1):
            for way in ("extension", "ctypes"):
                done = subprocess.run([sys.executable, "-c", IMPORT], check=True, capture_output=True, text=True,
                                      env={**environment, "TILEWRIGHT_CTYPES": "1" if way == "ctypes" else ""})
                numpy_s, package_s = map(float, done.stdout.split())
                if number > 0:
                    times["NumPy"].append(numpy_s), times[way].append(package_s)
    print(f"{'import, ms':25}{spread(times['NumPy'], 1e3):>16}"
          + "".join(f"{'+' + spread(times[way], 1e3).strip():>16}" for way in ("extension", "ctypes")))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=8, metavar="N", help="of the matrices (8)")
    parser.add_argument("--rounds", type=int, default=31, metavar="N", help="at least 2 (31)")
    asked = parser.parse_args()
    print(f"tilewright {tilewright.__version__}, NumPy {np.__version__}, Python {sys.version.split()[0]}; load "
          f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    print_calls(asked.size, asked.rounds)
    print_imports(asked.rounds)


if __name__ == "__main__":
    main()
