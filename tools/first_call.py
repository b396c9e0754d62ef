#!/usr/bin/python3 -B
"""first_call.py - times the first product of a process: tw_open(), the first tw_gemm(), and the ones behind it.

    tools/first_call.py [--engine opencl] [--size 1024]

Multiplies f32 squares from host memory by the host's clock, and prints one line of JSON: open_s, first_s, and run_s, the
median of the 5 calls behind the first. The caches that the process finds decide which kernels are compiled:
TILEWRIGHT_CACHE, PoCL's POCL_CACHE_DIR, NVIDIA's CUDA_CACHE_PATH. All elements of the first and of the last C are
compared with sums of small integers, which are exact. Needs build/libtilewright.so.0 (TILEWRIGHT_LIBRARY). Exit status 1:
C is wrong; 3: the engine cannot be opened here.
"""
import argparse
import array
import ctypes
import json
import os
import statistics
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "python"))
from tilewright import _library as library  # noqa: E402 (once it can be found)

RUNS, F32 = 5, 2  # F32: of tw_dtype


def matrices(n):
    """A of small integers; B whose column j adds A's columns j and j + 1, 2 and 3 times; and what C is then."""
    a = array.array("f", ((i * 7 + i // n) % 11 - 5 for i in range(n * n)))
    b, c = array.array("f", bytes(4 * n * n)), array.array("f", bytes(4 * n * n))
    for j in range(n):
        b[j * n + j] += 2
        b[(j + 1) % n * n + j] += 3
    for i in range(0, n * n, n):
        for j in range(n):
            c[i + j] = 2 * a[i + j] + 3 * a[i + (j + 1) % n]
    return a, b, c


def seconds(f, *arguments):
    begin = time.perf_counter()
    library.done(f(*arguments))
    return time.perf_counter() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", default="opencl", help="opencl, cuda or cpu (default: opencl)")
    parser.add_argument("--size", type=int, default=1024, metavar="N", help="of the squares (default: 1024)")
    asked = parser.parse_args()
    n = asked.size
    a, b, expected = matrices(n)
    c, poison = array.array("f", bytes(4 * n * n)), array.array("f", [float("nan")]) * (n * n)
    at = [ctypes.c_void_p(x.buffer_info()[0]) for x in (a, b, c)]
    if asked.engine == "cuda":
        library.load_nvrtc()
    options = library.Options(size=ctypes.sizeof(library.Options), engine=asked.engine.encode())
    problem = library.Problem(size=ctypes.sizeof(library.Problem), dtype=F32, dtype_c=F32, m=n, n=n, k=n, lda=n, ldb=n, ldc=n, alpha=1)
    context, device = ctypes.c_void_p(), library.Device(size=ctypes.sizeof(library.Device))
    try:
        open_s = seconds(library.lib.tw_open, ctypes.byref(options), ctypes.byref(context))
    except Exception as error:  # the library's sentence, of any of the package's classes
        print("first_call.py: %s" % error, file=sys.stderr)
        sys.exit(3)
    runs, right = [], True
    for i in range(1 + RUNS):
        c[:] = poison
        runs.append(seconds(library.lib.tw_gemm, context, ctypes.byref(problem), *at))
        right = right and (0 < i < RUNS or c == expected)
    library.done(library.lib.tw_describe(context, ctypes.byref(device)))
    library.lib.tw_close(context)
    print(json.dumps({"engine": asked.engine, "device": device.name.decode(), "dtype": "f32", "m": n, "n": n, "k": n,
                      "method": "the host's clock around tw_open() and tw_gemm() of host memory, by a new process",
                      "open_s": open_s, "first_s": runs[0], "run_s": statistics.median(runs[1:]),
                      "verified": "exact" if right else "WRONG", "version": library.__version__}))
    sys.exit(not right)


if __name__ == "__main__":
    main()
