#!/usr/bin/python3 -B
"""level3_bench.py - level 3 of libtilewright_blas.so beside another BLAS, call by call in turns.

    tools/level3_bench.py PEER [--ours LIBRARY] [--sizes N,...] [--types dszc] [--only TEXT] [--threads T] [--turns T]

PEER is a shared library with CBLAS names, plain or with the prefix scipy_ (./dev peers fetches OpenBLAS and MKL).
Prints, for each routine, type and size, the median rate of both in GFLOP/s, and the median and quartiles of the
quotients of neighbouring turns: above 1 ours is faster. Matrices are n x n, random, column-major, the triangle lower,
not transposed. Needs NumPy. Let nothing else run beside it.
"""
import argparse
import ctypes
import os
import statistics
import time

COLUMNS, NO, LEFT, LOWER, NON_UNIT = 102, 111, 141, 122, 131


TYPES = {"d": "f8", "s": "f4", "z": "c16", "c": "c8"}


def calls(numpy, letter, n, seed):
    """The matrices, and per routine its flops, the arguments behind the layout, and whether B is to be restored."""
    random = numpy.random.default_rng(seed)
    kind, is_complex = TYPES[letter], letter in "zc"

    def matrix():
        parts = [random.uniform(-1, 1, (n, n)) for _ in range(1 + is_complex)]
        return numpy.asfortranarray((parts[0] + 1j * parts[1] if is_complex else parts[0]).astype(kind))

    a, b, c = matrix(), matrix(), matrix()
    a[numpy.diag_indices(n)] = n  # a triangle that is safe to solve with
    real = ctypes.c_float if letter in "sc" else ctypes.c_double
    at = lambda x: ctypes.c_void_p(x.ctypes.data)
    one, zero = real(1), real(0)
    if is_complex:
        one, zero = ctypes.byref((real * 2)(1, 0)), ctypes.byref((real * 2)(0, 0))
    cube = float(n) ** 3 * (4 if is_complex else 1)
    found = [
        ("gemm", 2 * cube, (NO, NO, n, n, n, one, at(a), n, at(b), n, zero, at(c), n), False),
        ("symm", 2 * cube, (LEFT, LOWER, n, n, one, at(a), n, at(b), n, zero, at(c), n), False),
        ("syrk", cube, (LOWER, NO, n, n, one, at(a), n, zero, at(c), n), False),
        ("syr2k", 2 * cube, (LOWER, NO, n, n, one, at(a), n, at(b), n, zero, at(c), n), False),
        ("trmm", cube, (LEFT, LOWER, NO, NON_UNIT, n, n, one, at(a), n, at(b), n), True),
        ("trsm", cube, (LEFT, LOWER, NO, NON_UNIT, n, n, one, at(a), n, at(b), n), True),
    ]
    if is_complex:
        found += [
            ("hemm", 2 * cube, (LEFT, LOWER, n, n, one, at(a), n, at(b), n, zero, at(c), n), False),
            ("herk", cube, (LOWER, NO, n, n, real(1), at(a), n, real(0), at(c), n), False),
            ("her2k", 2 * cube, (LOWER, NO, n, n, one, at(a), n, at(b), n, real(0), at(c), n), False),
        ]
    return (a, b, c), found


def function(library, name):
    for prefix in ("", "scipy_"):
        if hasattr(library, prefix + name):
            found = getattr(library, prefix + name)
            found.restype = None
            return found
    raise SystemExit(f"{library._name} has no {name}")


def compare(numpy, libraries, letter, n, threads, turns, only):
    matrices, routines = calls(numpy, letter, n, 1)
    b = matrices[1]
    kept = b.copy(order="F")
    for routine, flops, arguments, writes_b in routines:
        if only not in letter + routine:
            continue
        functions = [function(library, f"cblas_{letter}{routine}") for library in libraries]
        repeats = 1 if writes_b else max(1, int(2e8 / flops))
        seconds = [[], []]
        for turn in range(turns):
            for i, call in enumerate(functions):
                if writes_b:
                    b[...] = kept
                if threads > 1:
                    time.sleep(0.2)  # the threads of the one before spin for a while
                start = time.perf_counter()
                for _ in range(repeats):
                    call(COLUMNS, *arguments)
                if turn > 0:
                    seconds[i].append((time.perf_counter() - start) / repeats)
        quotients = sorted(theirs / ours for ours, theirs in zip(*seconds))
        low, middle, high = statistics.quantiles(quotients, n=4)
        rates = [flops / statistics.median(s) / 1e9 for s in seconds]
        ratio = f"{middle:.3f}  {low:.3f} .. {high:.3f}"
        print(f"{letter}{routine:6} {n:5}  {rates[0]:8.2f} {rates[1]:8.2f}   {ratio}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0].split(" - ")[1])
    parser.add_argument("peer")
    parser.add_argument("--ours", default="build/libtilewright_blas.so")
    parser.add_argument("--sizes", default="64,512,2048")
    parser.add_argument("--types", default="dszc")
    parser.add_argument("--only", default="", help="routines whose name contains this, as zgemm")
    parser.add_argument("--threads", default="1")
    parser.add_argument("--turns", type=int, default=21)
    options = parser.parse_args()
    for name in ("TILEWRIGHT", "OPENBLAS", "MKL", "OMP"):
        os.environ[name + ("_THREADS" if name == "TILEWRIGHT" else "_NUM_THREADS")] = options.threads
    import numpy  # after the threads are set

    libraries = [ctypes.CDLL(os.path.abspath(options.ours)), ctypes.CDLL(options.peer)]
    print(f"routine    n      ours     peer   ours/peer, quartiles; {options.threads} threads, {options.turns} turns")
    for letter in options.types:
        for n in (int(size) for size in options.sizes.split(",")):
            compare(numpy, libraries, letter, n, int(options.threads), options.turns, options.only)


if __name__ == "__main__":
    main()
