#!/usr/bin/env python3
"""overhead.py - what a call of tilewright.matmul costs beside its product, and beside NumPy's: docs/perf/python.md.

    PYTHONPATH=python python3 -B python/tests/overhead.py [N]

Microseconds of one product of N x N float64 (8), on one thread: medians of 41 rounds, in each of which all calls come
in turns, 2000 times each.
"""
import ctypes
import os
import statistics
import sys
import timeit

os.environ.setdefault("TILEWRIGHT_THREADS", "1")

import numpy as np  # noqa: E402
import tilewright  # noqa: E402
from tilewright import _library  # noqa: E402

n = int(sys.argv[1]) if len(sys.argv) > 1 else 8
a, b, out = np.random.rand(n, n), np.random.rand(n, n), np.empty((n, n))
fortran, fixed = np.asfortranarray(b), b.copy()
fixed.flags.writeable = False
stack = np.random.rand(10, n, n)
plan = tilewright.Plan(a, b)
problem = _library.Problem(size=ctypes.sizeof(_library.Problem), dtype=1, m=n, n=n, k=n, lda=n, ldb=n, ldc=n, alpha=1)
bare = _library.lib.tw_gemm, ctypes.addressof(problem), a.ctypes.data, b.ctypes.data, out.ctypes.data
calls = {
    "floor: np.matmul(a, b)": lambda: np.matmul(a, b),
    "floor: tw_gemm by ctypes, addresses known": lambda: bare[0](None, *bare[1:]),
    "matmul(a, b)": lambda: tilewright.matmul(a, b),
    "Plan: plan(a, b)": lambda: plan(a, b),
    "np.matmul(a, b, out=out)": lambda: np.matmul(a, b, out=out),
    "matmul(a, b, out=out)": lambda: tilewright.matmul(a, b, out=out),
    "Plan: plan(a, b, out=out)": lambda: plan(a, b, out=out),
    "np.matmul(a, b), b in Fortran order": lambda: np.matmul(a, fortran),
    "matmul(a, b), b in Fortran order": lambda: tilewright.matmul(a, fortran),
    "np.matmul(a, b), b read-only": lambda: np.matmul(a, fixed),
    "matmul(a, b), b read-only": lambda: tilewright.matmul(a, fixed),
    "np.matmul(a, b), 10 products": lambda: np.matmul(stack, stack),
    "matmul(a, b), 10 products": lambda: tilewright.matmul(stack, stack),
}
times = {name: [] for name in calls}
for _ in range(41):
    for name, call in calls.items():
        times[name].append(timeit.timeit(call, number=2000) / 2000 * 1e6)
print(f"NumPy {np.__version__}, Python {sys.version.split()[0]}, {n} x {n}")
for name, each in times.items():
    print(f"{statistics.median(each):7.2f} us  (least {min(each):.2f})  {name}")
